/* The state of each thread with time: made at its first recorded call, used again when the thread ends; and what becomes of it where
 * nothing is recorded for a while.
 *
 * Of a call that begins in a pause there is no activation. The innermost activation's level knows the outermost of these calls, so
 * that its end is not taken for one of a lost call, and so that what is called inside of it afterwards, when it is recorded
 * again, is not taken for calls by the activation's own function: only instrumented functions are recorded there. */
#include "core/arena.h"
#include "control/recording_state.h"
#include "os/context_switch.h"
#include "threads/thread_sets.h"
#include "threads/threads.h"
#include "os/timer.h"
#include "calls/call_tree.h"
#include "calls/call_trace.h"
#include "filter/probing.h"

#include <string.h>

#define FIRST_ACTIVATIONS 128u
#define FIRST_TIMINGS 64u /* slots of a thread's table */
#define KEPT_TIMINGS 4096u /* a bigger table is not kept for the next thread: clearing it would cost more */

static struct timer *free_timers;
static struct timer *all_timers;

/* Room for twice as many activations, in shared memory: the calls that run can be read when the process is gone. Only
 * memory bounds the depth of a stack. */
bool timer_grow(struct timer *t)
{
    uint32_t capacity = t->capacity == 0 ? FIRST_ACTIVATIONS : 2 * t->capacity;
    if (t->capacity > UINT32_MAX / 4)
        return false;
    uint64_t rows = 2 + (uint64_t)capacity, before = t->capacity == 0 ? 0 : 2 + (uint64_t)t->capacity; /* the lowest, and one for (truncated) */
    struct level *levels = private_alloc(rows * sizeof *levels);
    if (levels == NULL)
        return false;
    arena_lock();
    struct wire_activation *a = arena_reserve(WIRE_REGION_ACTIVATIONS, rows * sizeof *a);
    if (a != NULL) {
        if (t->capacity != 0)
            memcpy(a, t->bottom, (1 + (uint64_t)t->capacity) * sizeof *a);
        else
            *a = (struct wire_activation){.caller_sp = UINTPTR_MAX, .flags = WIRE_ACTIVATION_BOUNDARY};
        arena_publish(WIRE_REGION_ACTIVATIONS, rows * sizeof *a);
    }
    arena_unlock();
    if (a == NULL) {
        private_free(levels, rows * sizeof *levels);
        return false;
    }
    if (before != 0) {
        memcpy(levels, t->levels, before * sizeof *levels);
        private_free(t->levels, before * sizeof *levels);
    }
    t->levels = levels;
    t->top = t->capacity == 0 ? a : a + (t->top - t->bottom);
    t->bottom = a;
    t->capacity = capacity;
    t->limit = a + capacity;
    t->clock->capacity = capacity + 1;
    __atomic_store_n(&t->clock->activations, (uint64_t)(a - arena.activations) + 1, __ATOMIC_RELEASE);
    return true;
}

/* One without timings, or that which the thread before in the same set left. */
static struct timer *take_timer(void)
{
    struct thread_set *set = thread_own_set();
    if (set != NULL && set->timer != NULL) {
        struct timer *kept = set->timer;
        set->timer = NULL;
        return kept;
    }
    arena_lock();
    struct timer *t = free_timers;
    if (t != NULL)
        free_timers = t->next_free;
    arena_unlock();
    if (t != NULL || (t = private_alloc(sizeof *t)) == NULL)
        return t;
    arena_lock();
    t->next = all_timers;
    all_timers = t;
    arena_unlock();
    return t;
}

void timer_give(struct timer *t)
{
    t->thread = 0;
    arena_lock();
    t->next_free = free_timers;
    free_timers = t;
    arena_unlock();
}

static bool prepare_table(struct timer *t)
{
    if (t->table != NULL && t->mask >= KEPT_TIMINGS) {
        private_free(t->table, (t->mask + 1) * sizeof *t->table);
        t->table = NULL;
    }
    if (t->table == NULL) {
        if ((t->table = private_alloc(FIRST_TIMINGS * sizeof *t->table)) == NULL)
            return false;
        t->mask = FIRST_TIMINGS - 1;
    } else {
        memset(t->table, 0, (t->mask + 1) * sizeof *t->table);
    }
    t->used = t->truncated = t->n_marked = 0;
    t->unspent = 0;
    t->sums = (struct sums){0};
    if (t->capacity != 0) /* levels know calls by number, and a new clock counts anew */
        memset(t->levels, 0, (2 + (uint64_t)t->capacity) * sizeof *t->levels);
    return true;
}

/* The thread's table and clock. False: no memory. */
static bool prepare_timer(struct timer *t, uint32_t thread)
{
    if (t->thread != thread && !prepare_table(t))
        return false;
    trace_begin(t, thread);
    t->thread = thread;
    t->n_unwinding = 0;
    t->dispatch_sp = 0;
    t->uncaught = t->collecting = false;
    t->leaving_out = 0;
    t->control = t->off_at = CONTROL_UNKNOWN;
    t->off_sp = t->stack_floor = 0;
    t->before_sp = UINTPTR_MAX;
    if (t->levels != NULL)
        t->levels[0].unrecorded = 0;
    arena_lock();
    uint64_t rows = arena.header->regions[WIRE_REGION_CLOCKS].used / sizeof(struct wire_clock), wanted = thread > rows ? thread - rows : 0;
    bool room = wanted == 0 || arena_reserve(WIRE_REGION_CLOCKS, wanted * sizeof(struct wire_clock)) != NULL;
    if (room)
        arena_publish(WIRE_REGION_CLOCKS, wanted * sizeof(struct wire_clock));
    arena_unlock();
    if (!room)
        return false;
    t->clock = &arena.clocks[thread - 1];
    t->measured_calls = t->clock->calls;
    if (t->capacity == 0)
        return timer_grow(t);
    t->top = t->bottom;
    t->clock->capacity = t->capacity + 1;
    __atomic_store_n(&t->clock->activations, (uint64_t)(t->bottom - arena.activations) + 1, __ATOMIC_RELEASE);
    return true;
}

struct timer *timer_attach(void)
{
    uint32_t thread = thread_number();
    struct timer *t = thread == 0 ? NULL : take_timer();
    if (t == NULL)
        return NULL;
    if (!prepare_timer(t, thread)) {
        timer_give(t);
        return NULL;
    }
    os_attach(t);
    if (counters_used != 0)
        counters_attach(t);
    t->clock->mechanism = t->mechanism;
    t->clock->last = os_clock();
    t->paused = control_look(t->clock->last).paused;
    current_timer = t;
    return t;
}

void timers_give_back(struct wire_activation *top)
{
    arena_lock();
    for (struct timer *t = all_timers; t != NULL; t = t->next) {
        t->top = top;
        if (t->table != NULL)
            private_free(t->table, (t->mask + 1) * sizeof *t->table);
        t->table = NULL;
    }
    arena_unlock();
}

/* fp: of a frame inside of the innermost call. An activation that lies below it is gone, and nobody has said so yet. What a filter does
 * is done by its function, which is not the innermost one; and calls that began in a pause have no activation. */
uint32_t timer_of_object(uintptr_t fp)
{
    const struct timer *t = current_timer;
    if (t == NULL)
        return 0;
    const struct wire_activation *a = t->top;
    while (a->caller_sp < fp)
        a--;
    for (uint32_t i = 0; i < t->n_unwinding; i++)
        if (t->unwinding[i].kind == RUNS_FILTER && t->unwinding[i].depth <= t->clock->depth)
            return 0;
    return a->timing == 0 || (a == t->top && timer_is_unrecorded(t, fp)) ? 0 : a->timing;
}

/* ── pauses ─────────────────────────────────────────────────────────────────────────────────────────────────── */

uint64_t timer_account_pauses(struct timer *t, uint64_t now, uint64_t ticks)
{
    struct control_state s = control_look(now);
    uint64_t paused = s.thread_off ? ticks : above_zero(s.paused, t->paused);
    if (UNLIKELY((s.off || paused != 0) && __atomic_load_n(&probes_were_out, __ATOMIC_RELAXED)) && t->levels != NULL)
        t->levels[t->top - t->bottom].unreported_call = t->top->calls;
    t->paused = s.paused;
    t->control = s.off ? CONTROL_UNKNOWN : s.changes;
    t->off_sp = 0;
    return paused < ticks ? paused : ticks;
}

/* Inside of the innermost activation, as many calls as there are began while nothing was recorded, and have no activation. If one
 * may still run, recorded calls are not the activation's own. Has the outermost of them ended? */
void timer_forget_unrecorded(struct timer *t, uintptr_t sp)
{
    struct level *l = &t->levels[t->top - t->bottom];
    if (l->unrecorded_call != t->top->calls || sp < l->unrecorded)
        return;
    l->unrecorded = t->off_sp = 0;
    t->top->flags &= ~(uint32_t)WIRE_ACTIVATION_PAUSED;
}

bool timer_is_unrecorded(const struct timer *t, uintptr_t sp)
{
    const struct level *l = &t->levels[t->top - t->bottom];
    return l->unrecorded_call == t->top->calls && sp <= l->unrecorded;
}

/* Of a function without probes no call is reported, and neither is a pause in which this thread had no event. */
bool timer_may_hide(const struct timer *t)
{
    const struct level *l = &t->levels[t->top - t->bottom];
    return (l->unrecorded_call == t->top->calls && l->unrecorded != 0) ||
           (__atomic_load_n(&probes_were_out, __ATOMIC_RELAXED) && (l->unreported_call == t->top->calls || t->control != control_now()));
}

/* Is the call, which would be recorded, passed over because nothing is at the moment? */
bool timer_pass_over(struct timer *t, uintptr_t sp)
{
    if (LIKELY(t->control == control_now()))
        return false;
    struct control_state s = control_look(os_clock());
    if (!s.off)
        return false;
    struct level *l = &t->levels[t->top - t->bottom];
    if (!timer_is_unrecorded(t, sp)) {
        l->unrecorded_call = t->top->calls;
        l->unrecorded = sp;
    }
    if ((t->top->flags & WIRE_ACTIVATION_BOUNDARY) == 0)
        t->top->flags |= WIRE_ACTIVATION_PAUSED;
    t->off_at = s.changes;
    t->off_sp = l->unrecorded;
    return true;
}
