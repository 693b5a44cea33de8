/* Shared memory: arena.c. */
#ifndef CLRPROF_ARENA_H
#define CLRPROF_ARENA_H

#include "core/agent.h"

struct arena {
    uint8_t *base;              /* where the file lies: what of it has memory is mapped */
    struct wire_header *header; /* base, typed */
    struct wire_ip *ips;        /* the tables of the regions, by id */
    struct wire_node *nodes;
    struct wire_site *sites;
    struct wire_site_deaths *deaths; /* by site, with lifetime */
    struct wire_scope *scopes;  /* by thread, with scopes */
    struct wire_interaction *interactions;
    struct wire_timing *timings; /* with time */
    struct wire_waits *waits;
    struct wire_clock *clocks;
    struct wire_activation *activations;
    const volatile uint32_t *owner; /* see arena_is_ours */
    struct wire_acted *acted;
    struct wire_inclusive *inclusives;
    struct wire_counts *counts; /* by timing, where CPU counters are read */
    struct wire_site_timing *site_timings; /* by site, with probes around calls */
    struct wire_site_sample *site_samples; /* by site, where small objects are sampled */
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
/* The last addresses of a region become this process's alone: rows there have numbers as others have, and no reader sees them. To be called
 * before the region is used. NULL: there are none. */
void *arena_own_rows(uint32_t region);
/* What is given up when memory is short, in this order: each is there as long as so many sixteenths are not used up. The last
 * is for types, threads and their sites, so that it is always known how much of what was allocated. */
enum room {
    ROOM_TRACE = 7,      /* of the call trace, what the collector has not read */
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
void *private_reserve(uint64_t bytes); /* the addresses alone, for memory that is paid for when it is first touched, and not given back */
bool private_pay(uint64_t bytes);
bool private_place(void); /* from now on all of that lies in one place, which arena_close gives back. False: there is no room */
void private_free(void *memory, uint64_t bytes);
/* Gives a new part of a file memory, so that touching it cannot fail. What the file has in that part may be overwritten by zeros. */
bool file_back(int fd, uint64_t offset, uint64_t bytes);
bool arena_back_file(int fd, uint64_t offset, uint64_t bytes); /* memory for another file; counts as the arena's does */
void arena_give_back(uint64_t bytes);
void loss(uint32_t reason, uint64_t objects, uint64_t bytes);
uint64_t monotonic_ns(void); /* by the kernel's clock, which all processes share; a program may see another one */
int64_t monotonic_at(int64_t program); /* that, when the program's own clock showed so much, as far as it runs as fast */
void clock_init(void); /* before the first of these */
void arena_touch(void); /* the file has a new time */
uint32_t read_file(const char *path, uint8_t *out, uint32_t capacity); /* the bytes that it has, cut; 0: it cannot be read */
bool arena_is_ours_slowly(void);

/* Is this the process that the arena is of? One that was forked from it must leave it alone. */
void arena_let_go(void);        /* from now on nothing is asked of it, as in a forked child */
void arena_forked(void);        /* in the child: nothing that is written from now on is seen by others, and no lock is waited for */
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

#endif
