/* The call trace: each event of the recorded calls, in order. call_trace.c. */
#ifndef CLRPROF_TRACE_H
#define CLRPROF_TRACE_H

#include "arch/arch.h"
#include "core/arena.h"
#include "os/timer.h"

extern struct wire_trace_chunk trace_none; /* that of a thread that has none: it is full */

void trace_init(void);
uint32_t trace_high_mask(uint32_t high_mask); /* with the events of collections */
void trace_install(void **callbacks);
void trace_begin(struct timer *t, uint32_t thread); /* the thread's events, from now on */
void trace_end(struct timer *t);                    /* it has no more */
void trace_thrown(struct timer *t, uintptr_t object);
void trace_caught(struct timer *t, uintptr_t function_id);
void trace_more(struct timer *t); /* looks for room: afterwards trace_needs_room is false */

/* Has the thread to look for room before its next event? If there was none, and none was given back since, it has not. */
HOT static inline bool trace_needs_room(const struct timer *t)
{
    return t->trace->head.used == WIRE_TRACE_CHUNK_EVENTS &&
           (t->trace != &trace_none || t->trace_freed != __atomic_load_n(&arena.header->trace_freed, __ATOMIC_RELAXED));
}

/* depth: of the calls on the stack, with that which begins or ends; kept: that stay there. */
HOT static inline void trace_add(struct timer *t, uint32_t kind, uint32_t depth, uint32_t kept, uint32_t value, uint64_t ticks)
{
    struct wire_trace_chunk *chunk = t->trace;
    uint32_t n = chunk->head.used;
    if (LIKELY(n < WIRE_TRACE_CHUNK_EVENTS)) {
        chunk->events[n] = (struct wire_trace_event){ticks, value, depth << WIRE_TRACE_KIND_BITS | kind};
        __atomic_store_n(&chunk->head.used, n + 1, __ATOMIC_RELEASE);
        return;
    }
    struct wire_clock *c = t->clock;
    if (t->trace_kept == WIRE_TRACE_ALL_KEPT)
        c->trace_lost_ticks = ticks;
    if (kept < t->trace_kept)
        t->trace_kept = kept;
    __atomic_store_n(&c->trace_lost, c->trace_lost + 1, __ATOMIC_RELEASE);
}

/* A call that has begun, or is about to end. */
HOT static inline void trace_call(struct timer *t, const struct wire_activation *a, uint32_t kind, uint32_t function, uint64_t ticks)
{
    uint32_t depth = (uint32_t)(a - t->bottom);
    trace_add(t, kind, depth, depth - 1, function, ticks);
}

#endif
