/* Small objects that are sampled: allocation_samples.c. */
#ifndef CLRPROF_ALLOCATION_SAMPLES_H
#define CLRPROF_ALLOCATION_SAMPLES_H

#include "core/agent.h"

extern bool samples_on;

bool samples_begin(void); /* with the arena, before any event. False: no memory */
/* Where an event of a sampled object was delivered: on the thread that allocates it, while no collection can begin. Nothing here may call
 * the runtime in a way that lets one. fp: the frame below which the stack is. */
void samples_take(uint32_t id, const uint8_t *data, uint32_t bytes, uintptr_t fp);
void samples_flush(void); /* waits, but not for ever, until all that was taken so far is counted */
void samples_end(bool alone); /* no event comes any more: what was taken is counted, and then nothing is. alone: no thread is in a callback */

/* In a shadow's site, with SHADOW_PENDING: a sample that is not counted yet. No thread has such an id. */
#define SHADOW_SAMPLE 0x0F000000u

/* Between these two, while a collection is looked at, no sample gets its site. */
void samples_gc_begin(void);
void samples_gc_end(void);
/* Of a sample that waits for its site: a collection has moved it, or found it dead, and how old. */
void samples_moved(uint32_t site, uintptr_t to);
void samples_died(uint32_t site, uint32_t generation);
void samples_aged(uint32_t site, uint32_t by_collections, uint32_t by_time);
void samples_waiting(uint64_t *objects, uint64_t *bytes); /* what all that wait stand for */

uint32_t samples_objects_of(uint32_t site);

/* How many objects one shadow with this site stands for. */
static inline uint32_t shadow_objects(uint32_t site)
{
    return LIKELY(!samples_on) ? 1 : samples_objects_of(site);
}

#endif
