/* What the parts of the agent know of each other. See agent/README.md for the rules that hold here.
 *
 * Locking: one lock (arena_lock) guards every insertion into shared or private tables. It is only held while memory
 * is touched, never while the runtime is called: a thread that waits for the lock may be one that a garbage
 * collection waits for. Readers of the maps take no lock. */
#ifndef CLRPROF_AGENT_H
#define CLRPROF_AGENT_H

#include "clr.h"
#include "wire_gen.h"

#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define COLD __attribute__((noinline, cold))
/* What always holds, for builds that are tests. */
#ifdef CLRPROF_SANITIZED
#define ASSERT(x) ((x) ? (void)0 : __builtin_trap())
#else
#define ASSERT(x) ((void)0)
#endif
/* Thread-local variables are at fixed offsets from the thread's pointer, which glibc has room for. musl refuses a library that wants
 * that when it is loaded late: there they have descriptors (-mtls-dialect=gnu2), and an access takes 1 ns more. */
#ifdef CLRPROF_MUSL
#define AT_FIXED_PLACE
#else
#define AT_FIXED_PLACE __attribute__((tls_model("initial-exec")))
#endif
/* Reads words of other functions' frames, which AddressSanitizer would take for mistakes. */
#ifdef CLRPROF_SANITIZED
#define READS_STACK __attribute__((no_sanitize("address")))
#else
#define READS_STACK
#endif

/* ── arena.c: shared memory ─────────────────────────────────────────────────────────────────────────────────── */

struct arena {
    uint8_t *base;              /* where the file lies: what of it has memory is mapped */
    struct wire_header *header; /* base, typed */
    struct wire_ip *ips;        /* the tables of the regions, by id */
    struct wire_node *nodes;
    struct wire_site *sites;
    struct wire_site_deaths *deaths; /* by site, with lifetime */
    struct wire_timing *timings; /* with time */
    struct wire_waits *waits;
    struct wire_clock *clocks;
    struct wire_activation *activations;
    const volatile uint32_t *owner; /* see arena_is_ours */
    struct wire_acted *acted;
    struct wire_inclusive *inclusives;
};
extern struct arena arena;

/* Makes the arena file in the directory, with room in the first regions; publishes it under its final name. False: nothing was left behind. */
bool arena_create(const char *directory, uint32_t regions, uint64_t memory_limit, uint32_t max_stack_depth);
void arena_close(void); /* the agent is not wanted: lets go of memory and file, which stays for the reader */
void arena_lock(void);
void arena_unlock(void);
void word_lock(uint32_t *word); /* 0 free, 1 held, 2 held and waited for */
void word_unlock(uint32_t *word);
/* With the lock held: room for so many bytes at the end of a region, zeroed; NULL when the limit or the file system
 * is exhausted. arena_publish makes them valid for the reader. */
void *arena_reserve(uint32_t region, uint64_t bytes);
void arena_publish(uint32_t region, uint64_t bytes);
/* What is given up when memory is short, in this order: each is there as long as so many sixteenths are not used up. The last
 * is for types, threads and their sites, so that it is always known how much of what was allocated. */
enum room {
    ROOM_AGES = 8,       /* how old objects become */
    ROOM_ROOTS = 10,     /* why they survive */
    ROOM_STACKS = 12,    /* new stacks as a whole; then (truncated) and the function */
    ROOM_FUNCTIONS = 14, /* new functions; then (truncated) of their module */
    ROOM_MODULES = 15,   /* then (truncated) alone */
    ROOM_ALL = 16
};
bool arena_has_room(enum room room);
bool arena_log(uint32_t kind, const void *payload, uint32_t bytes); /* appends a record; with the lock held */
/* Private zeroed memory, counted against the limit; NULL when exhausted. */
void *private_alloc(uint64_t bytes);
void private_free(void *memory, uint64_t bytes);
bool arena_back_file(int fd, uint64_t offset, uint64_t bytes); /* memory for another file; counts as the arena's does */
void arena_give_back(uint64_t bytes);
void loss(uint32_t reason, uint64_t objects, uint64_t bytes);
uint64_t monotonic_ns(void);
uint32_t read_file(const char *path, uint8_t *out, uint32_t capacity); /* the bytes that it has, cut; 0: it cannot be read */
bool arena_is_ours_slowly(void);

/* Is this the process that the arena is of? One that was forked from it must leave it alone. */
void arena_let_go(void);        /* from now on nothing is asked of it, as in a forked child */
void arena_give_back_all(bool but_time); /* its memory is nobody's any more, and reads as 0 */
bool arena_is_nameless(void);   /* its file was removed */
static inline bool arena_is_ours(void)
{
    return LIKELY(*arena.owner != 0) || arena_is_ours_slowly();
}

static inline struct wire_ip *arena_ip(uint32_t id)
{
    return arena.ips + id;
}

static inline struct wire_node *arena_node(uint32_t id)
{
    return arena.nodes + id;
}

extern void *agent_info; /* ICorProfilerInfo9 or later: agent.c */

/* ── map.c: hash maps from non-zero 64-bit keys to non-zero values ──────────────────────────────────────────── */

struct map_table;
struct map {
    struct map_table *table; /* replaced when it grows */
    uint64_t used;           /* slots with a key */
    bool shared;             /* several threads read it: a replaced table is not freed */
};

bool map_init(struct map *map, uint32_t slots, bool shared); /* slots: a power of two */
void map_close(struct map *map);
uint64_t map_get(const struct map *map, uint64_t key);       /* 0: absent; no lock needed */
/* The rest with the lock held, or by the only user. */
bool map_has_room(struct map *map); /* for one more key: then the next map_put succeeds */
bool map_put(struct map *map, uint64_t key, uint64_t value);
void map_forget(struct map *map, uint64_t key);
void map_drop(struct map *map, uint64_t mask, uint64_t bits); /* forgets values v with (v & mask) == bits */
void map_clear(struct map *map, uint32_t keep); /* not shared; a bigger table is replaced by one of `keep` slots */

#define MAX_CHAIN 16u /* children of a node, or its sites, that are looked for one by one; more are in a map */

struct thread_set;

/* ── threads.c: what the agent keeps for each thread ────────────────────────────────────────────────────────── */

#define MAX_FRAMES 65536u     /* of one stack, native ones too; so many addresses beside the chain, too */
#define NEAR_PLACES 1024u     /* of the kept stack's inner end: compared at each allocation. 1,000 levels, and what is above */
#define CLASS_CACHE_SLOTS 64u /* direct-mapped: the classes a thread allocates at the moment */
#define IP_CACHE_SLOTS 256u   /* direct-mapped: the return addresses a thread meets at the moment */
#define SCRATCH_BYTES (192u * 1024u) /* a body with MAX_IL_MAP points, and names */

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

struct approach { /* the runtime's own frames, from the agent's to the first that tells something */
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
    uint64_t control; /* what it does is recorded for this number of changes: control.h */
    uintptr_t stack_low, stack_high;

    struct recent *last, *expected; /* of `recent`: the last one, and what came after it before */
    struct approach *approach;      /* of `approaches`: the last one */
    uint32_t remembered;            /* bit n: recent[n] has a class */
    uint32_t shared_frames, shared_skips; /* the most that one of recent[1, …] has of the kept stack */
    uint32_t leaf; /* node of the cached stack */
    uintptr_t root, root_ret; /* the frame at which the chain ends without managed code above, 0: not known yet */
    uint32_t n_frames, n_skips, cap_frames, cap_skips;
    uint32_t near_frame, near_skip; /* from which on they are compared: see stack.c */
    uint64_t outer_frames, outer_skips; /* nearer to the root than [0], of a stack with more than there is room for */
    struct path outer;                  /* what these make */
    bool outer_known;                   /* else it was never walked as a whole */
    struct frame *frames; /* [0] is next to the root; see stack.c for when these tables may move */
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

extern __thread struct thread *current_thread AT_FIXED_PLACE;

bool threads_init(void);
void threads_close(void);
uint32_t thread_number(void);       /* the id of this thread, which is described at the first call; 0: no room */
struct thread_set *thread_own_set(void); /* that this thread's id belongs to; NULL: it has one of its own */
struct thread *thread_attach(void); /* NULL: no memory */
void thread_destroyed(uintptr_t managed);
void thread_named(uintptr_t managed, const utf16 *name, uint32_t length);
bool thread_grow(struct thread *t); /* doubles the tables of frames and skips, which moves them; for stack_update alone */
struct thread *thread_of_id(uint32_t id); /* in a garbage collection */
struct thread *thread_after(const struct thread *t); /* all that were ever made; NULL: the first, or no more */

/* ── thread_sets.c: many short threads share ids ────────────────────────────────────────────────────────────── */

struct timer;
struct thread_set {
    struct wire_thread_set *row;
    struct thread *thread; /* the state that the next thread of the set goes on with; NULL: none yet, or in use */
    struct timer *timer;   /* the same with time */
    struct thread_set *next; /* that no thread has, of the same name */
    uint32_t name;
};

bool thread_sets_init(void);
void thread_sets_close(void);
/* The rest with the lock held. */
bool threads_fold(void);                /* do threads that begin now share ids? If so, all later ones do */
void thread_own(uintptr_t managed);     /* it has an id of its own */
bool thread_is_own(uintptr_t managed);
void thread_forget(uintptr_t managed);  /* it has ended */
uint64_t thread_name_hash(const utf16 *name, uint32_t length);
bool thread_name_needed(uintptr_t managed, uint64_t hash); /* is a record of this name to be written? */
void thread_name_told(uintptr_t managed, uint64_t hash, uint64_t at); /* at: of the record, as in the row; 0: none */
/* A set that no thread has, for threads of this one's name; a new one gets the id. NULL: no room. */
struct thread_set *thread_set_join(uintptr_t managed, uint32_t id, uint32_t os_id);
void thread_set_leave(struct thread_set *s);

/* ── watch.c: is somebody still reading? ─────────────────────────────────────────────────────────────────────── */

bool recording_is_over(void);         /* nobody is: nothing is counted any more */
bool watch_begin(const char *arenas); /* false: nobody is there from the start */
void watch_look(void);                /* now and then; outside of the lock */
hresult watch_suspended(void *self);
extern uint32_t agent_event_mask;     /* what the runtime was asked for */

/* ── names.c: who modules, types, functions and bodies are ──────────────────────────────────────────────────── */

bool names_init(void *info);
void names_close(void);
void names_find_signal_return(void); /* once the runtime has installed its signal handlers */
uint32_t type_of_class(uintptr_t class_id);                            /* id, 0: no room */
/* id, 0: no room. Of a function that allocates itself more is told with little room: see ROOM_FUNCTIONS. */
uint32_t ip_of_address(uintptr_t address, bool allocates);
uint32_t function_of_id(uintptr_t function_id);                        /* id, 0: no room */
uint64_t function_value(uintptr_t function_id);                        /* the same with FUNCTION_IS_…, */
uint32_t names_module(uintptr_t module);                               /* id, 0: no room */
bool bodies_of_id(uintptr_t function_id);                              /* describes those that are new; false: no room */
#define FUNCTION_IS_COLLECTIBLE (UINT64_C(1) << 32)  /* it can be unloaded */
#define FUNCTION_IS_INSTRUMENTED (UINT64_C(1) << 34) /* with time: see instrument.c */
#define FUNCTION_IS_BOUNDARY (UINT64_C(1) << 35)
#define FUNCTION_IS_DISPATCHER (UINT64_C(1) << 36)
#define FUNCTION_IS_HELPER (UINT64_C(1) << 37)       /* see helpers.c */
#define FUNCTION_IS_ASYNC (UINT64_C(1) << 40)        /* the runtime suspends it: MethodImplOptions.Async of .NET 10 */
#define FUNCTION_IS_MARKED_BEFORE (UINT64_C(1) << 41) /* its calls are, by --mark-at */
#define FUNCTION_IS_MARKED_AFTER (UINT64_C(1) << 42)  /* its returns are */
#define FUNCTION_IS_MARKED (FUNCTION_IS_MARKED_BEFORE | FUNCTION_IS_MARKED_AFTER)
#define FUNCTION_IS_SLOW_WAY (UINT64_C(1) << 39)     /* one that runs only after a fast way had no memory: see boxes.c */
void names_forget_module(uintptr_t module);                            /* a module is being unloaded */
void names_forget_function(uintptr_t function_id);                     /* a dynamic method was freed */
void names_retry_types(void);                                          /* those the runtime could not name yet */
extern uint32_t code_epoch; /* grows whenever code may have been freed */

/* ── helpers.c: the runtime's own managed functions ─────────────────────────────────────────────────────────── */

#define MAX_FULL_NAME (4 * WIRE_MAX_NAME)
struct full_name { /* Namespace.Outer/Inner.Method */
    utf16 text[MAX_FULL_NAME];
    uint32_t length, namespace_end, outer_end, type_end;
};
void full_name_read(struct full_name *f, const uint8_t *p, const uint8_t *end); /* type names, name, as in a function's record */
/* FUNCTION_IS_HELPER, …_SLOW_WAY, …_DISPATCHER or 0, of a function of the core library. */
uint64_t helper_class(const uint8_t *names, const uint8_t *end);

/* ── boxes.c: what .NET 10 does not report ──────────────────────────────────────────────────────────────────── */

void boxes_report(void *info);  /* makes it report boxes, or says that it does not; once nothing can fail any more */
void boxes_slow_way_met(void);  /* a FUNCTION_IS_SLOW_WAY is on a stack */

/* ── stack.c: from the frame pointer to a node ──────────────────────────────────────────────────────────────── */

bool stack_init(uint64_t most_nodes);
void stack_close(void);
/* Makes t->frames the stack that begins at fp and t->leaf its node. False: no room for a node. */
bool stack_update(struct thread *t, uintptr_t fp);
/* Where a stack begins, for stack_update: at the first pair behind the runtime's own frames, which are remembered, or at fp. */
uintptr_t stack_begin(struct thread *t, uintptr_t fp);
void stack_forget(struct thread *t); /* nothing of t->frames is believed any more */

/* ── recent.c: allocations that come again ──────────────────────────────────────────────────────────────────── */

void recents_forget(struct thread *t);
void recents_cut(struct thread *t, uint32_t frames, uint32_t skips); /* no more of the kept stack stays than so many */
void recents_add(struct thread *t, uintptr_t class_id, const struct class_info *c, struct wire_site *site, uintptr_t innermost);
void recents_note(struct thread *t); /* in a garbage collection: their sites may change before the next one ends */

/* ── above.c: where native code has cut the chain of frame pointers, or left a function out of it ───────────── */

struct frame_above {
    uintptr_t after;  /* in: the last frame of the chain that is managed code's */
    uintptr_t sp, fp; /* out: of the managed frame next to it, nearer to the root, while its call goes on; sp 0: none */
};
void above_init(void *info);
bool frame_above(struct frame_above *f); /* false: the runtime does not say */

/* ── cfi.c: what the runtime's file says of its own frames ──────────────────────────────────────────────────── */

void cfi_find_runtime(uintptr_t address); /* one in the runtime's code */
/* The bytes between the stack pointer and the return address of a function of the runtime that goes on at `address`
 * after a call; 0: it is not known, or the frame pointer tells. */
uint32_t cfi_frame_size(uintptr_t address);
bool cfi_is_runtime(uintptr_t address); /* is it in the runtime's code? */

/* ── heap.c: the shadow of the GC heap ──────────────────────────────────────────────────────────────────────── */

struct shadow { /* at the place of an object; the words behind it are free up to the object's end */
    uint32_t site; /* number (index plus one), 0: no object begins here */
    uint32_t size; /* in units of 8 bytes: objects of 32 GiB and more are not followed */
    uint32_t born; /* GCs before its birth */
};

#define CHUNK_SHIFT 22u
#define CHUNK_WORDS (1u << (CHUNK_SHIFT - 3))
#define TABLE_SHIFT 34u
#define TABLE_CHUNKS (1u << (TABLE_SHIFT - CHUNK_SHIFT))
#define TABLES (1u << (47 - TABLE_SHIFT))

extern uint32_t **heap_tables[TABLES]; /* never NULL: where nothing is known they share an empty one */

bool heap_init(void);
void heap_forget(void);    /* gives its memory back: all reads as 0 */
uint32_t *heap_make_chunk(uintptr_t address);
uintptr_t heap_next(uintptr_t address, uintptr_t end);    /* the first object at or after the address, or end */

/* The chunk around an address; NULL: there is none. */
static inline uint32_t *heap_chunk(uintptr_t address)
{
    if (UNLIKELY(address >> TABLE_SHIFT >= TABLES))
        return NULL;
    uint32_t **table = __atomic_load_n(&heap_tables[address >> TABLE_SHIFT], __ATOMIC_ACQUIRE);
    return __atomic_load_n(&table[(address >> CHUNK_SHIFT) & (TABLE_CHUNKS - 1)], __ATOMIC_ACQUIRE);
}

/* Where an object's shadow is; NULL: no memory. */
static inline struct shadow *heap_place(uintptr_t address)
{
    uint32_t *chunk = heap_chunk(address);
    if (UNLIKELY(chunk == NULL) && (chunk = heap_make_chunk(address)) == NULL)
        return NULL;
    return (struct shadow *)(void *)&chunk[(address >> 3) & (CHUNK_WORDS - 1)];
}

/* NULL: no object is known there. */
static inline struct shadow *heap_find(uintptr_t address)
{
    uint32_t *chunk = heap_chunk(address);
    struct shadow *s = chunk == NULL ? NULL : (struct shadow *)(void *)&chunk[(address >> 3) & (CHUNK_WORDS - 1)];
    return s == NULL || s->site == 0 ? NULL : s;
}

/* The words from an address to the end of its chunk or to `end`; *next is where to go on. NULL: no shadow there. */
static inline uint32_t *heap_span(uintptr_t address, uintptr_t end, uintptr_t *next)
{
    *next = ((address >> CHUNK_SHIFT) + 1) << CHUNK_SHIFT;
    if (*next > end)
        *next = end;
    uint32_t *chunk = heap_chunk(address);
    return chunk == NULL ? NULL : &chunk[(address >> 3) & (CHUNK_WORDS - 1)];
}

/* ── lifetime.c: what became of the objects ─────────────────────────────────────────────────────────────────── */

/* In a shadow's site, only while a garbage collection is looked at: */
#define SHADOW_PENDING 0x80000000u  /* the rest is a thread's id, which is about to give the site */
#define SHADOW_SURVIVED 0x40000000u /* its generation was collected */
#define SHADOW_ROOTED 0x20000000u   /* a root that is not weak refers to it */
#define SHADOW_SITE 0x1FFFFFFFu     /* 500 million sites are 16 GB of them */
#define SHADOW_LEFT_OUT SHADOW_SITE /* no site: an object that is not the program's, see events.c */

struct bound { /* of a generation: one of its regions, or its part of a segment */
    uintptr_t start, end; /* end: of what it may hold */
    uintptr_t used;       /* end of what it holds */
    uint32_t generation;
};

/* An array that grows; its memory is private and counted. */
struct list {
    void *items;
    uint64_t n, capacity, size;
};
bool list_reserve(struct list *l, uint64_t n);
bool list_sort(struct list *l); /* by the word with which each item begins; false: no memory */

struct population {
    uint64_t objects, bytes;
};

extern uint32_t gc_number;
extern bool lifetime_on;

/* survival.c: why objects survived; for chosen GCs. */
void survival_init(const char *policy);
bool survival_begin(uint32_t number, uint32_t collected, bool induced, bool snapshot); /* is this one looked at? */
hresult survival_roots(void *self, uint32_t n, const uintptr_t *objects, const uint32_t *kinds, const uint32_t *flags, const uintptr_t *ids);
void survival_tell(uint32_t gc, const struct bound *bounds, uint64_t n, bool all_survived);
uint32_t survival_pinned(void); /* objects that roots pinned in this GC */

/* ── changes.c: what changed from one GC to the next ────────────────────────────────────────────────────────── */

void changes_note(uint32_t site, uint32_t counter); /* the counter of the site may change before the next GC ends */
struct population changes_born(void); /* at all sites since the last GC, but for frozen objects */
/* Notes what there is now as born before this GC; if others_are_dead, what was born since the last one and is not noted as other died in
 * generation 0. Returns how many these are. */
struct population changes_count(bool others_are_dead);
/* At the end of a GC, or now and then, or if it must: tells what changed since the GC *from, which is the own number
 * if nothing is told. Returns what was born since the GC before this one. */
struct population changes_tell(uint32_t gc, bool must, uint32_t *from);

/* ── snapshot.c: the whole heap after one collection ────────────────────────────────────────────────────────── */

void snapshot_init(void *info);
void snapshot_ask(bool now); /* one, of the next full collection, or none any more */
bool snapshot_begin(uint32_t number, uint32_t collected, bool last); /* is it taken in this collection? */
extern bool snapshot_writing;
hresult snapshot_object(uintptr_t object, uintptr_t class_id, uint32_t n, const uintptr_t *references);
hresult snapshot_dependents(void *self, uint32_t n, const uintptr_t *keys, const uintptr_t *values, const uintptr_t *ids);
void snapshot_end_objects(void);
void snapshot_root(uintptr_t object, uint32_t kind, uint32_t flags, uint32_t function);
void snapshot_finish(const struct bound *bounds, uint64_t n);

bool lifetime_init(void *info, bool final_gc);
void lifetime_let_go(void);    /* nothing is followed any more */
void lifetime_give_back(void); /* the rest of its memory; while all threads are stopped */
uint32_t lifetime_event_mask(void);
void lifetime_install(void **callbacks);
void lifetime_end(void); /* at the runtime's shutdown: the last garbage collection */
/* Notes an object before its site is known, since finding that can let a garbage collection move it. */
void lifetime_note_pending(struct thread *t, uintptr_t object, uint64_t bytes);
void lifetime_attribute(struct thread *t, const struct wire_site *site); /* NULL: it has none */
#ifndef LARGE_BYTES /* tests set it */
#define LARGE_BYTES 85000u /* no object on the large object heap is smaller, but for arrays of the runtime's own */
#endif
void lifetime_note_large(uintptr_t object); /* one of LARGE_BYTES and more was born */

void lifetime_note_left_out(uintptr_t object, uint64_t bytes); /* one that is not the program's */

/* ── events.c: what makes garbage collections shorter ───────────────────────────────────────────────────────── */

#define EVENTS_CHUNKS 6u  /* of the shadow heap: a program that does little has four, in one for each kind of heap */
#define EVENTS_TYPES 256u /* with more types the runtime's walk takes longer for each object */

uint32_t events_init(void *info, uint32_t low, uint32_t high); /* the event mask; returns its high word */
void events_stop(uint32_t low); /* nobody reads any more: this is the mask from now on, and no flag is cleared */
void events_install(void **callbacks);
void events_want(void); /* collections may take long from now on */
bool events_leave_out(uint64_t bytes); /* is a new object not the program's? Then it has been counted */
void events_gc_suspending(void);
void events_gc_started(void);
bool events_gc_finished(void); /* false: what survived was not told */
void events_end(void); /* no collection need tell anything any more */

/* ── allocations.c: the hot callback ────────────────────────────────────────────────────────────────────────── */

void allocations_init(void *info, bool has_frozen_heap);
hresult object_allocated(void *self, uintptr_t object, uintptr_t class_id);
hresult object_allocated_lifetime(void *self, uintptr_t object, uintptr_t class_id);

/* ── instrument.c: whose calls are recorded ─────────────────────────────────────────────────────────────────── */

struct method { /* what the hooks get of a function; never freed */
    uint32_t function; /* 0: the runtime's own code that looks for the handler of an exception */
    bool boundary;     /* framework code: recorded only when instrumented code calls it */
};

uint32_t instrument_init(void *info); /* WIRE_FAILURE_…, or 0 */
void instrument_close(void);
uint32_t method_function(uintptr_t function_id); /* id of a function that is hooked, else 0 */
/* FUNCTION_IS_… of a method that is being described; own: of helper_class, or FUNCTION_IS_ASYNC; its names are as in the record: type names, name. */
uint64_t instrument_class(uintptr_t module, uint32_t token, uint64_t own, const uint8_t *names, const uint8_t *end);
void instrument_forget_module(uintptr_t module);
hresult instrument_inlining(void *self, uintptr_t caller, uintptr_t callee, int32_t *should);
hresult instrument_compiled(void *self, uintptr_t function_id, hresult status, int32_t safe_to_block);

struct method *instrument_method(uintptr_t function_id, uint64_t value); /* what hooks and probes get; NULL: no memory */
uint64_t instrument_known(uintptr_t function_id); /* the same of one that has been compiled, with bit 0 set if it can be unloaded; 0: none */
uint32_t instrument_origin(uintptr_t module); /* WIRE_ORIGIN_…; without time: unknown */
bool instrument_is_mine(uintptr_t module);
bool instrument_is_mine_by_path(const utf16 *path, uint32_t length); /* of one that is not loaded */
bool instrument_may_include(const utf16 *name, uint32_t length);
bool instrument_choose_marks(void *info); /* are there functions to be marked? */
bool instrument_may_mark(const utf16 *name, uint32_t length);
/* Of a function that is only declared, in a module with this path: is it outside of what is instrumented? Then its calls are recorded. */
bool instrument_is_outside(const utf16 *path, uint32_t length, bool is_mine, const uint8_t *names, const uint8_t *end);
bool instrument_module_path(uintptr_t module, utf16 *path, uint32_t *length, uint32_t *flags); /* false: the runtime does not say */

/* ── modules.c: whose code a module is ──────────────────────────────────────────────────────────────────────── */

bool modules_init(void *info);
void modules_close(void);
uint32_t module_origin(uintptr_t module, const utf16 *path, uint32_t length, bool in_memory, bool by_pattern); /* WIRE_ORIGIN_… */

/* ── callees.c: what the calls in a method's IL are of ───────────────────────────────────────────────────────── */

struct callees { /* of the methods of a module, while one of them is rewritten */
    uintptr_t module;
    uint32_t module_number;
    void *import, *assemblies; /* IMetaDataImport2, IMetaDataAssemblyImport */
    uint8_t *scratch;
    bool collectible;
};
#define CALLEES_SCRATCH (32u * 1024u)
bool callees_init(void *info);
void callees_close(void);
bool callees_begin(struct callees *c, uintptr_t module, uint8_t *scratch); /* false: nothing is known of calls */
void callees_end(struct callees *c);
uint64_t callees_site(void *callees, uint32_t offset, uint8_t opcode, uint32_t token); /* for il.h: struct method, 0: not recorded */
void callees_module_loaded(uintptr_t module);
void callees_forget_module(void); /* with the lock held: one was unloaded */

/* In the stack pointer of a call that probes around it begin: stack pointers are multiples of 8. */
#define SITE_MARK 1

/* ── probes.c: probes in IL, instead of hooks, and for marks ────────────────────────────────────────────────── */

extern bool probes_on;    /* calls are recorded by them */
extern bool probes_marks; /* some functions are marked */
const struct method *probes_example(void); /* of function 2, also as an argument of probes */
void probes_choose(void);
uint32_t probes_choose_marks(void *info, void **callbacks); /* the events that marks need */
bool probes_is_marked(uintptr_t function_id); /* a function that is about to be compiled, or inlined */
void probes_install(void **callbacks);
bool probes_init(void *info, bool by_rules); /* by_rules: they say what is included, in any module */
void probes_close(void);
void probes_forget_module(uintptr_t module);
uint32_t probes_size(const uint8_t *body, uint32_t size);         /* of the program's own body in the place of this one */
uint32_t probes_old_offset(uint32_t function, uint32_t il);       /* the same of an offset in the IL of a function's body */
void clrprof_probe_enter(void); /* what compiled code calls; not by C */
void clrprof_probe_leave(void);
void clrprof_probe_jump(void);
void clrprof_marked_enter(void);
void clrprof_marked_leave(void);
void clrprof_marked_jump(void);
void clrprof_site_enter(void);
void clrprof_site_leave(void);

/* ── os.c: what the operating system did meanwhile ──────────────────────────────────────────────────────────── */

struct os_usage {
    uint64_t voluntary, preempted, faults, reads;
};

struct unwinding { /* a function that an exception unwinds, or a filter or finally block that runs because of one */
    uint32_t depth; /* activations */
    uint32_t kind;
    uintptr_t dispatch_sp; /* of a block: of the search that runs it */
};
enum { UNWINDS_OTHER, UNWINDS_TOP, RUNS_FINALLY, RUNS_FILTER }; /* the innermost activation is the function's call; or not */
#define MAX_UNWINDING 32u /* exceptions in finally blocks of other exceptions, with these; of the oldest the call ends unseen */

struct sums { /* of what the system did in the intervals of a thread */
    uint64_t waited;
    struct wire_waits waits;
};

struct level { /* what is known of an activation beside it: only of some, and calls are compared first */
    uint64_t acted_call; /* of this call: since it began, the system acted */
    struct sums before;  /* when it began */
    uint64_t child_waited, child_off; /* in calls that it made and that ended: intervals in which the system acted; without a processor */
    uint64_t marked_call;    /* this call is noted in the timings of folded calls: see fold.c */
    uint32_t edge, function; /* in these */
    uint64_t unrecorded_call; /* inside this call one began while nothing was recorded, */
    uintptr_t unrecorded;     /* of which this was the caller's stack pointer; or it has ended, 0 */
};

struct timer { /* of a thread */
    struct wire_activation *top, *limit;
    struct wire_clock *clock;
    volatile uint64_t *word; /* anything but `expect`: the operating system may have acted */
    uint64_t expect, gap;    /* so may it have in an interval that is longer than `gap` */
    uint64_t *table;         /* the thread's timings, by parent, function and return address; see find_timing */
    uint64_t mask;
    struct wire_activation *bottom;
    uint32_t used, capacity, thread, mechanism;
    struct os_usage usage; /* when last looked at */
    uint64_t alarms, false_alarms;
    void *ring; /* of a perf event */
    struct unwinding unwinding[MAX_UNWINDING];
    uint32_t slow; /* events by the slow path */
    uint32_t n_unwinding;
    uint32_t truncated, n_marked; /* see fold.c */
    uint64_t control;   /* it records for this number of changes, and all pauses before are out of the intervals */
    uint64_t off_at;    /* for this one it does not; */
    uintptr_t off_sp;   /* and this is what `unrecorded` says of the innermost call */
    uint64_t paused;    /* ticks in which the process was off, at the last event */
    struct sums sums;
    struct level *levels;    /* by depth */
    uint64_t cpu_ns, cpu_at; /* the thread's processor time, and when that was read */
    uint64_t delay_ns;       /* how long it had waited for a processor, */
    uint32_t unread;         /* as of so many waits before the last look */
    uintptr_t dispatch_sp; /* of the last search for an exception's handler by managed code; 0: there was none */
    bool uncaught; /* an exception was thrown, and nothing was found yet that catches it */
    struct timer *next_free;
    struct timer *next; /* all that were ever made */
};

extern bool clock_is_tsc;
void os_init(void);
void os_init_gap(uint64_t ticks_per_sec);
void os_close(void); /* the library will be unloaded */
uint64_t os_clock(void);
void os_pair(uint64_t *ticks, uint64_t *ns); /* the same moment on both clocks */
void os_attach(struct timer *t);             /* this thread */
void os_detach(struct timer *t);
/* What happened since the last look, in an interval that began at `from`; and the time after looking. */
uint64_t os_look(struct timer *t, uint64_t from, struct wire_waits *w);

/* ── time.c, hooks.c: calls ─────────────────────────────────────────────────────────────────────────────────── */

extern __thread struct timer *current_timer AT_FIXED_PLACE;

void time_init(uint64_t most_timings);
void time_give_back(void); /* nothing is recorded any more; while all threads are stopped */
uint32_t time_event_mask(void);
void time_install(void **callbacks);
void time_thread_ended(struct timer **keep); /* where the next thread of the same set finds its state; NULL: none will */
void time_leave_out(uint64_t since); /* what this thread did since then, with no event in it, is the agent's own */
void time_settle(void); /* what this thread did up to now is counted as it was */
void time_leave_out_thread(void); /* what this thread calls is not the program's */
void time_end(void); /* at the runtime's shutdown */
void time_know(struct timer *t, uint32_t number); /* puts a timing into the thread's table */
void time_enter_hook(const struct method *m, uintptr_t sp);
void time_leave_hook(const struct method *m, uintptr_t sp);
void time_jump_hook(const struct method *m, uintptr_t sp); /* it ends by a jump to another function: the prefix tail. */
void time_enter_slow(const struct method *m, uintptr_t sp); /* stubs of … */
void time_leave_slow(const struct method *m, uintptr_t sp);
void time_enter_cold(const struct method *m, uintptr_t sp); /* … these */
void time_leave_cold(const struct method *m, uintptr_t sp);
void clrprof_enter(void); /* what compiled code calls; not by C */
void clrprof_leave(void);
void clrprof_tailcall(void);
void hooks_measure(struct timer *t, struct wire_timing *timings, struct wire_overhead *out);

/* ── pins.c: exceptions that must not move ──────────────────────────────────────────────────────────────────── */

void pins_init(void *info);
void pins_thrown(uintptr_t object);
void pins_catch(void);  /* the innermost one: the block that handles it begins */
void pins_caught(void); /* it has ended */
void pins_thread_ended(void);

#endif
