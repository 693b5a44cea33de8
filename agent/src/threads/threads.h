/* What the agent keeps for each thread: threads.c. */
#ifndef CLRPROF_THREADS_H
#define CLRPROF_THREADS_H

#include "core/agent.h"
#include "core/hash_map.h"

struct thread_set;

#define MAX_FRAMES 65536u     /* of one stack, native ones too; so many addresses beside the chain, too */
#define NEAR_PLACES 1024u     /* of the kept stack's inner end: compared at each allocation. 1,000 levels, and what is above */
#define CLASS_CACHE_SLOTS 64u /* direct-mapped: the classes a thread allocates at the moment */
#define IP_CACHE_SLOTS 256u   /* direct-mapped: the return addresses a thread meets at the moment */

struct path { /* a stack from the root on, as far as it was turned into nodes */
    uint32_t node, top, depth; /* top: id of the innermost managed IP, 0: none; depth: managed frames */
};

struct frame { /* one link of the frame-pointer chain, as it was when last walked */
    uintptr_t next;     /* the caller's frame pointer */
    uintptr_t ret;      /* return address into the caller */
    uintptr_t fp;       /* address of this pair */
    uint32_t ip;        /* id of ret */
    uint32_t node;      /* the stack up to here, from the root */
    uint32_t top;       /* id of the innermost managed IP up to here, 0: none */
    uint32_t skips_end; /* skips that belong to this frame and to those nearer to the root */
    uint32_t depth;     /* managed frames up to here */
    bool osr;           /* the frame of an OSR variant: ret is no caller */
    bool cut;           /* the chain ends here, or leaves out a function, and goes on where the runtime says */
    bool plain;         /* ret is in native code of the runtime, and nothing lies beside the chain: the path does not change here */
};

struct skip { /* a code address beside the chain, such as the caller of a function without a frame pointer */
    uintptr_t slot, ret;
    uint32_t ip;
    uint32_t frame;   /* index of the frame that it belongs to */
    struct path path; /* up to here */
};

struct ip_slot {
    uintptr_t address; /* 0: empty */
    uint32_t ip;
};

#define APPROACHES 8u      /* ways from compiled code to the agent that a thread takes: for objects, arrays, strings, … */
#define APPROACH_LINKS 12u /* of such a way */
#define RECENT 9u          /* allocations that are remembered; [0] is for one that did not come again yet */
#define RECENT_LINKS 6u    /* of such a stack, beyond what it has in common with the kept one */
#define RECENT_CREDIT 3u   /* so often one that does not come is spared before it makes room */
#define SEEN_SLOTS 32u     /* direct-mapped: the sites that took the slow path last */

struct approach { /* the runtime's own frames, from the agent's to the first that says something */
    uint64_t n;   /* 0: empty */
    struct {
        uintptr_t next, ret;     /* distance of the next pair from the agent's frame pointer; return address */
    } links[APPROACH_LINKS + 1]; /* from [1] on; [0].next is 0 */
};

struct recent { /* an allocation that may come again: what has its stack and class is counted at its site */
    uintptr_t class_id; /* 0: empty */
    struct wire_site *site;
    uint32_t base, component;  /* as in class_info */
    uint32_t leaf;             /* node of the stack */
    uint32_t credit;           /* see RECENT_CREDIT */
    struct approach *approach; /* by which it came */
    struct recent *next;       /* what came after it last time */
    uintptr_t innermost;       /* address of the innermost pair */
    uint32_t near_frame, near_skip, n_frames, n_skips; /* of the kept stack these are the stack's too */
    uint32_t n_links, n_slots;                         /* and it has these */
    bool met;                                          /* since the last garbage collection */
    uint32_t timing;                                   /* timer_innermost, where sites have timings */
    struct {
        uintptr_t next, ret, fp;
    } links[RECENT_LINKS];
    struct {
        uintptr_t slot, ret;
    } slots[RECENT_LINKS];
};

struct class_info {
    uintptr_t class_id; /* 0: empty */
    uint32_t type;      /* id */
    uint32_t base;      /* bytes of an object without elements */
    uint32_t component; /* bytes of one element, 0: no array or string */
    bool ask;           /* the layout is not the known one: the runtime is asked for every size */
};

struct thread {
    uint32_t id;
    uint32_t epoch; /* of the code that the cached stack was read from */
    uint64_t control; /* what it does is recorded for this number of changes: recording_state.h */
    uintptr_t stack_low, stack_high;

    struct recent *last, *expected; /* of `recent`: the last one, and what came after it before */
    struct approach *approach;      /* of `approaches`: the last one */
    uint32_t remembered;            /* bit n: recent[n] has a class */
    uint32_t shared_frames, shared_skips; /* the most that one of recent[1, …] has of the kept stack */
    uint32_t leaf; /* node of the cached stack */
    uint32_t timing, innermost; /* where sites have timings: that of the object's site, and timer_innermost */
    uintptr_t root, root_ret; /* the frame at which the chain ends without managed code above, 0: not known yet */
    uint32_t n_frames, n_skips, cap_frames, cap_skips;
    uint32_t near_frame, near_skip; /* from which on they are compared: see stack_walk.c */
    uint64_t outer_frames, outer_skips; /* nearer to the root than [0], of a stack with more than there is room for */
    struct path outer;                  /* what these make */
    bool outer_known;                   /* else it was never walked as a whole */
    struct frame *frames; /* [0] is next to the root; see stack_walk.c for when these tables may move */
    struct skip *skips;
    struct frame *walk; /* the new part of a stack, leaf first */
    struct skip *walk_skips;

    uint32_t oldest; /* number of the newest site when the thread began: all of its own are newer */
    bool indexed;    /* the map has all sites of the thread */
    struct map sites; /* node << 32 | type → number of the site, for those far down in a node's chain */
    struct class_info classes[CLASS_CACHE_SLOTS];
    struct ip_slot ips[IP_CACHE_SLOTS];
    struct recent recent[RECENT];
    struct approach approaches[APPROACHES];
    uint32_t next_approach, next_recent; /* which makes room */
    uint32_t seen[SEEN_SLOTS];        /* numbers of sites */
    uint32_t slow; /* allocations that took the slow path */
    bool busy; /* inside the slow path */
    bool is_walker; /* not a thread of the program: it walks copies of stacks (allocation_samples.c) */
    struct wire_site_sample sampled; /* of a walker: what the sample stands for */
    bool leaf_only; /* of the stack only the innermost function is looked for */
    uintptr_t pending; /* object whose site is not known yet; kept up to date by garbage collections */
    struct thread *next_free;
    struct thread *next; /* all that were ever made */
};

/* Address 0 is no return address, but can be found in the place of one. It is not in an empty slot by chance. */
static inline void forget_ips(struct thread *t)
{
    __builtin_memset(t->ips, 0, sizeof t->ips);
    __builtin_memset(t->approaches, 0, sizeof t->approaches);
    t->ips[0].address = 1; /* whose place is another one */
}

void thread_forked(void); /* this thread is that of a forked child, which records nothing */
extern __thread struct thread *current_thread AT_FIXED_PLACE;

/* What parts that stand above this one keep of a thread: agent/hooks.c has the functions. */
struct timer;
struct thread_hooks {
    void (*begun)(struct thread *t);        /* with this state, which another thread may have had before */
    void (*ended)(struct timer **keep);     /* this one; keep: where the next thread of its set finds its timer, NULL: none will */
    void (*forgotten)(ptrdiff_t distance);  /* a recording ends: the thread whose thread-local variables are so far from this one's */
    void (*forked)(void);                   /* see thread_forked */
};
extern const struct thread_hooks thread_hooks;

bool threads_init(void);
bool thread_is_known(void); /* will this thread's variables be cleared when a recording ends, while the process goes on? */
void threads_close(void);
void threads_forget(void); /* all that threads know of themselves: a recording of a dormant process ends */
bool thread_start(void *(*run)(void *)); /* one of the agent's own, which gets no signals. False: it cannot be */
void thread_find_stack(uintptr_t *low, uintptr_t *high); /* this one's; 0: not known */
uint32_t thread_number(void);       /* the id of this thread, which is described at the first call; 0: no room */
struct thread_set *thread_own_set(void); /* that this thread's id belongs to; NULL: it has one of its own */
struct thread *thread_attach(void); /* NULL: no memory */
struct thread *thread_walker(void); /* the state of no thread, for copies of stacks; NULL: no memory */
void thread_destroyed(uintptr_t managed);
void thread_named(uintptr_t managed, const utf16 *name, uint32_t length);
bool thread_grow(struct thread *t); /* doubles the tables of frames and skips, which moves them; for stack_update alone */
struct thread *thread_of_id(uint32_t id); /* in a garbage collection */
struct thread *thread_after(const struct thread *t); /* all that were ever made; NULL: the first, or no more */

#endif
