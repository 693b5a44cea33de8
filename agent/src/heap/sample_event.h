/* What an event says of a sampled object, and how many objects that stands for: sample_event.c. */
#ifndef CLRPROF_SAMPLE_EVENT_H
#define CLRPROF_SAMPLE_EVENT_H

#include "core/agent.h"

#define EVENT_ALLOCATION_TICK 10u     /* AllocationTick_V4: .NET 8 and 9 */
#define EVENT_ALLOCATION_SAMPLED 303u /* AllocationSampled: .NET 10 */

enum sample_heap { SAMPLE_SMALL, SAMPLE_LARGE, SAMPLE_PINNED }; /* which heap an object is on, as both events number them */

struct sample_event {
    uintptr_t class_id, object;
    uint64_t bytes;  /* of the object, on the heap */
    uint64_t amount; /* bytes since the tick before, AllocationTick */
    uint32_t heap;   /* enum sample_heap */
};

/* Reads the data of an event. False: they are not what the runtime writes, or a pointer or a size cannot be one. */
bool sample_read(uint32_t id, const uint8_t *data, uint32_t bytes, struct sample_event *out);

struct sample_rounding { /* what is left over when numbers of objects are made whole */
    uint64_t random;     /* of a sequence, not 0 */
    uint64_t owed;       /* bytes of ticks that no sample stands for yet */
};

/* How many objects of this one's size it stands for, at least 1. */
uint32_t sample_weight(const struct sample_event *e, struct sample_rounding *r);

#endif
