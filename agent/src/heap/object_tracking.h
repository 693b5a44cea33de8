/* What became of the objects: object_tracking.c. */
#ifndef CLRPROF_LIFETIME_H
#define CLRPROF_LIFETIME_H

#include "core/agent.h"

struct thread;

/* In a shadow's site, only while a garbage collection is looked at: */
#define SHADOW_PENDING 0x80000000u  /* the rest is a thread's id, which is about to give the site */
#define SHADOW_SURVIVED 0x40000000u /* its generation was collected */
#define SHADOW_ROOTED 0x20000000u   /* a root that is not weak refers to it */
#define SHADOW_REACHED 0x10000000u  /* see reachable.c */
#define SHADOW_SITE 0x0FFFFFFFu     /* 250 million sites are 8 GB of them */
#define SHADOW_LEFT_OUT SHADOW_SITE /* no site: an object that is not the program's, see eventpipe_gc.c */
#define SHADOW_COUNTED (SHADOW_SITE - 1) /* no site any more: it counts as dead, and lives, see reachable.c */

/* Does the site of a shadow, without marks, say whose it is? */
static inline bool shadow_has_site(uint32_t site)
{
    return site - SHADOW_COUNTED > SHADOW_LEFT_OUT - SHADOW_COUNTED; /* what no site has is damage, not an object without one */
}

struct bound { /* of a generation: one of its regions, or its part of a segment */
    uintptr_t start, end; /* end: of what it may hold */
    uintptr_t used;       /* end of what it holds */
    uint32_t generation;
};

struct population {
    uint64_t objects, bytes;
};

extern uint32_t gc_number;
extern bool lifetime_on;

struct lifetime_options {
    const char *roots, *snapshot; /* CLRPROF_ROOTS, CLRPROF_SNAPSHOT; NULL: the usual */
    const char *directory;        /* of the arenas */
    bool final_gc;                /* at the end */
    uint64_t first;               /* nothing is recorded after so many collections; 0: without limit */
};

bool lifetime_init(void *info, const struct lifetime_options *o); /* the directory stays as long as objects are followed */
void lifetime_let_go(void);    /* nothing is followed any more */
void lifetime_give_back(void); /* the rest of its memory; while all threads are stopped */
uint32_t lifetime_event_mask(void);
void lifetime_install(void **callbacks);
/* The last garbage collection, if it is wanted and was not there yet. */
void lifetime_end(void);
/* The program begins to end, by WIRE_ENDING_…: waits, but not for ever, for a collection that says what is alive then. On a thread of the
 * program's that runs no managed code. */
void lifetime_begin_end(uint32_t sign);
void lifetime_end_early(void); /* while finalizers can still run: only if none runs because of it */
/* Notes an object before its site is known, since finding that can let a garbage collection move it. */
void lifetime_note_pending(struct thread *t, uintptr_t object, uint64_t bytes);
void lifetime_attribute(struct thread *t, const struct wire_site *site, uint64_t bytes); /* NULL: it has none */
#ifndef LARGE_BYTES /* tests set it */
#define LARGE_BYTES 85000u /* no object on the large object heap is smaller, but for arrays of the runtime's own */
#endif
void lifetime_note_large(uintptr_t object); /* one of LARGE_BYTES and more was born */

void lifetime_note_left_out(uintptr_t object, uint64_t bytes); /* one that is not the program's */

#endif
