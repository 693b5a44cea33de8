/* The garbage collection that is looked at: what object_tracking.c, gc_generations.c, gc_walk.c and live_objects.c share of it. All but the ranges
 * is changed while all threads are stopped. */
#ifndef CLRPROF_COLLECTION_H
#define CLRPROF_COLLECTION_H

#include "heap/object_tracking.h"
#include "core/sorted_array.h"

struct shadow;

struct collection { /* the record in the making, laid out as in the log behind its header */
    uint32_t number, collected, induced, finalizable, pinned, since;
    uint64_t suspend_ns, start_ns, end_ns, done_ns;
    struct {
        struct population before, dead, promoted, after, freed;
        uint64_t extent; /* bytes of its ranges: objects, and what is free between them */
    } generations[WIRE_GENERATION_COUNT];
};

struct range { /* of objects that survive */
    uintptr_t from, to;
    uint64_t length;
};

extern struct collection gc;
extern struct list gc_ranges;            /* struct range */
extern struct list gc_before, gc_after;  /* struct bound: where generations were, and are */
extern bool gc_lost;                     /* what became of some objects is not known, and nothing is followed any more */
extern bool gc_goes_on;                  /* the program does, after a collection that says what is alive */
extern bool gc_marks_survivors;          /* in their shadow */
extern struct population gc_live[WIRE_GENERATION_COUNT]; /* after the last GC; since this one started, also those in large */

static inline void population_add(struct population *p, uint64_t objects, uint64_t bytes)
{
    p->objects += objects;
    p->bytes += bytes;
}

/* object_tracking.c */
void lifetime_lose(uint32_t site, uint64_t bytes); /* an object for whose shadow there is no room */
bool objects_were_lost(void); /* for a reason that is counted: then survivors without a shadow are no surprise */

/* gc_generations.c: where they are. */
bool generations_init(void *info);
void generations_give_back(void);
bool generations_ask(struct list *bounds); /* sorted; false: the runtime does not say, or no memory */
uint32_t generation_of(const struct list *bounds, uintptr_t address, const struct bound **last);
bool generation_is_collected(const struct bound *b);
bool generations_have_pinned(void); /* is there a heap of pinned objects? */

/* gc_walk.c: what a collection did to the objects. */
bool walk_init(void);
void walk_give_back(void);
void walk_collection(void); /* when it has ended */
void walk_next_time(void);  /* the next GC must be walked as a whole */
void walk_count_other(const struct shadow *s);
/* Can a shadow without marks not say that? Something wrote over it, as it is the program's memory too. */
bool shadow_is_damaged(uint32_t site);
struct wire_ages *walk_ages_of(struct wire_site_deaths *deaths); /* NULL: no room */
void walk_let_die(struct shadow *s, uint32_t was, uint32_t is); /* a survivor, in these generations, is dead after all */

/* live_objects.c */
void alive_report(bool last); /* what is alive after this GC; last: nothing is counted any more */

#endif
