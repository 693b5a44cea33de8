/* The call trace: each event of the recorded calls, in order, for a collector that writes them to a file.
 *
 * Counters lose the order of events; a trace is that order. It cannot be counted in place, so this is the one stream that the agent
 * has, and it is bounded: each thread writes into a chunk of shared memory that only it has, and takes another one when that
 * is full. The collector reads chunks while they are filled, and gives back the full ones that it has read. If it is too slow, a thread
 * finds no free chunk and goes on without: it counts the events that it could not write (Clock.trace_lost), and the next chunk that it gets
 * begins with their number, the time of the first, and how many of its calls were on the stack all the time.
 *
 * Each counted call has its events here, with the clock values that its times are made of (call_stack.c), so the trace agrees with
 * the counters.
 *
 * Without a trace the hooks are others, which have nothing of all this: see stubs.c. */
#include "core/recording.h"
#include "calls/call_trace.h"
#include "control/recording_state.h"
#include "metadata/descriptions.h"
#include "filter/probing.h"
#include "os/own_time.h"

#include <errno.h>

#define MEMORY_SHARE 8u                      /* of the memory limit: what is recorded otherwise has the rest, */
#define MAX_BYTES (UINT64_C(256) << 20)      /* and this is what 10 million calls a second write in a second */
#define BASIC_GC_SINCE 5u                    /* the version of .NET that reports collections without slowing them down */

struct wire_trace_chunk trace_none;
static struct wire_trace_chunk *chunks; /* of which there are so many: */
static uint64_t n_chunks, max_chunks;
static uint64_t sequence, reused; /* chunks taken so far; of these, that were given back before */
static uint64_t next_chunk;       /* where to look for one that was given back */

void trace_init(void)
{
    const struct wire_header *h = arena.header;
    uint64_t bytes = h->memory_limit / MEMORY_SHARE;
    trace_on = h->regions[WIRE_REGION_TRACE].capacity != 0;
    max_chunks = (bytes < MAX_BYTES ? bytes : MAX_BYTES) / sizeof *chunks;
    chunks = (struct wire_trace_chunk *)(void *)(arena.base + h->regions[WIRE_REGION_TRACE].offset);
    n_chunks = sequence = reused = next_chunk = 0;
    trace_none.head.used = WIRE_TRACE_CHUNK_EVENTS;
}

/* With the lock held. NULL: there is none. */
static struct wire_trace_chunk *find_chunk(uint64_t freed)
{
    if (freed != reused)
        for (uint64_t i = 0; i < n_chunks; i++) {
            struct wire_trace_chunk *c = &chunks[next_chunk];
            next_chunk = (next_chunk + 1) % n_chunks;
            if (__atomic_load_n(&c->head.state, __ATOMIC_ACQUIRE) == WIRE_TRACE_FREE) {
                reused++;
                return c;
            }
        }
    if (n_chunks == max_chunks || !arena_has_room(ROOM_TRACE))
        return NULL;
    struct wire_trace_chunk *c = arena_reserve(WIRE_REGION_TRACE, sizeof *c);
    if (c != NULL) {
        arena_publish(WIRE_REGION_TRACE, sizeof *c);
        n_chunks++;
    }
    return c;
}

static void give_chunk(struct timer *t)
{
    if (t->trace != &trace_none)
        __atomic_store_n(&t->trace->head.state, WIRE_TRACE_FULL, __ATOMIC_RELEASE);
    t->trace = &trace_none;
}

COLD void trace_more(struct timer *t)
{
    give_chunk(t);
    arena_lock();
    t->trace_freed = __atomic_load_n(&arena.header->trace_freed, __ATOMIC_ACQUIRE);
    struct wire_trace_chunk *c = find_chunk(t->trace_freed);
    if (c != NULL) {
        c->head.thread = t->thread;
        __atomic_store_n(&c->head.used, 0, __ATOMIC_RELAXED);
        c->head.sequence = ++sequence;
        c->head.kept = t->trace_kept;
        c->head.lost = t->clock->trace_lost;
        c->head.lost_ticks = t->trace_kept == WIRE_TRACE_ALL_KEPT ? 0 : t->clock->trace_lost_ticks;
        __atomic_store_n(&c->head.state, WIRE_TRACE_TAKEN, __ATOMIC_RELEASE);
        t->trace = c;
        t->trace_kept = WIRE_TRACE_ALL_KEPT;
    }
    arena_unlock();
}

/* Of a thread that has ended the chunk goes to the collector, which waits for no other event of it. What it lost last is reported by
 * its clock, or by the next thread's of the same row. */
void trace_begin(struct timer *t, uint32_t thread)
{
    if (t->trace == NULL || t->thread != thread)
        t->trace_kept = WIRE_TRACE_ALL_KEPT;
    t->trace = &trace_none;
    t->trace_freed = UINT64_MAX;
}

void trace_end(struct timer *t)
{
    if (trace_on)
        give_chunk(t);
}

/* ── events beside calls ────────────────────────────────────────────────────────────────────────────────────── */

static void note(struct timer *t, uint32_t kind, uint32_t value, uint64_t ticks)
{
    uint32_t depth = (uint32_t)(t->top - t->bottom);
    if (trace_needs_room(t))
        trace_more(t);
    trace_add(t, kind, depth, depth, value, ticks);
}

/* What the runtime is asked is the agent's time and not the program's. */
void trace_thrown(struct timer *t, uintptr_t object)
{
    uintptr_t class_id = 0;
    if (!trace_on || !control_ask(NULL))
        return;
    uint64_t now = time_own_begins();
    bool known = SLOT(agent_info, INFO_GET_CLASS_FROM_OBJECT, uintptr_t, uintptr_t *)(agent_info, object, &class_id) >= 0 && class_id != 0;
    note(t, WIRE_TRACE_THROWN, known ? type_of_class(class_id) : 0, now);
    time_leave_out(now);
}

void trace_caught(struct timer *t, uintptr_t function_id)
{
    if (!trace_on || !control_ask(NULL))
        return;
    uint64_t now = time_own_begins();
    note(t, WIRE_TRACE_CAUGHT, function_of_id(function_id), now);
    time_leave_out(now);
}

/* ── collections ────────────────────────────────────────────────────────────────────────────────────────────── */

static void report_collection(uint32_t collected, bool induced)
{
    struct {
        uint64_t time_ns;
        uint32_t thread, collected, induced, reserved;
    } record = {monotonic_ns(), current_timer == NULL ? 0 : current_timer->thread, collected, induced, 0};
    if (recording_is_over() || !arena_is_ours() || !control_ask(NULL))
        return;
    arena_lock();
    bool reported = arena_has_room(ROOM_TRACE) && arena_log(WIRE_RECORD_COLLECTION, &record, sizeof record);
    arena_unlock();
    if (!reported)
        loss(WIRE_LOSS_TRACE, 0, 0);
}

static hresult collection_started(void *self, int32_t n, const int32_t *collected, uint32_t reason)
{
    (void)self;
    int saved_errno = errno;
    uint32_t generations = 0;
    for (int32_t i = 0; i < n && i < (int32_t)WIRE_GENERATION_COUNT; i++)
        generations |= collected[i] != 0 ? 1u << i : 0;
    report_collection(generations, reason == 1);
    errno = saved_errno;
    return HR_OK;
}

static hresult collection_finished(void *self)
{
    (void)self;
    int saved_errno = errno;
    report_collection(0, false);
    errno = saved_errno;
    return HR_OK;
}

static bool reports_collections(void)
{
    return trace_on && (arena.header->data & WIRE_DATA_LIFETIME) == 0 && arena.header->runtime_major >= BASIC_GC_SINCE;
}

uint32_t trace_high_mask(uint32_t high_mask)
{
    return high_mask | (reports_collections() ? HIGH_BASIC_GC : 0);
}

void trace_install(void **callbacks)
{
    if (!reports_collections())
        return;
    callbacks[CALLBACK_GC_STARTED] = (void *)collection_started;
    callbacks[CALLBACK_GC_FINISHED] = (void *)collection_finished;
}
