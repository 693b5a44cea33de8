/* Calls and their times: the Enter, Leave and Tailcall hooks.
 *
 * Each thread keeps a stack of activations (calls that have not ended) and a tree of timings (function, called from one
 * place of its caller). The interval between two events of a thread goes to one counter: one that ends with a call is
 * time of the caller before this call and goes to the callee's lead; one that ends with the end of a call is the tail of
 * the function itself. Everything else is computed from these, later and elsewhere.
 *
 * An activation is known by the stack pointer of its caller, which is the same at Enter and Leave. Frames that an
 * exception cuts get no Leave: the runtime's unwind callbacks end them, and whatever is missed is found at the next
 * event, because its stack pointer is above that of a call which therefore cannot be running any more.
 *
 * With probes around calls (il_probes.c) there are two for the same stack pointer: the call as it is declared, which has SITE_MARK in
 * addition, and inside of it that of an instrumented function which runs for it.
 *
 * The lowest activation of every thread stands for "nothing recorded". It is a boundary, as code that is not
 * instrumented is: below it only instrumented functions are recorded.
 *
 * The functions named …_hook are called by the machine's stubs, which keep only the general registers: they use no
 * others, and leave all but the usual case to time_…_slow, stubs that save the rest and call time_…_cold. */
#include "arch/arch.h"
#include "core/arena.h"
#include "core/options.h"
#include "core/recording.h"
#include "arch/entry.h"
#include "calls/calls.h"
#include "metadata/runtime_cfi.h"
#include "control/recording_state.h"
#include "os/cpu_counters.h"
#include "calls/probe_overhead.h"
#include "filter/instrumentation.h"
#include "filter/probing.h"
#include "os/context_switch.h"
#include "calls/gc_waits.h"
#include "calls/exception_pins.h"
#include "calls/system_events.h"
#include "threads/threads.h"
#include "os/timer.h"
#include "calls/call_tree.h"
#include "calls/call_trace.h"
#include "control/collector_watch.h"

#include <errno.h>
#include <string.h>

#define RATE_NS 20000000u /* 20 ms: two readings are within 50 ns, so the rate is within 5 parts in a million */
#define WATCH_EACH 256u   /* events by the slow path */
#define CALLS_UNTIL_AGAIN 65536u /* after so many calls a thread measures the probes again: what fewer calls cost is too little to matter */
#define PART 1024u        /* Overhead is in parts of a tick */
#define LITTLE_PART 8u          /* of a wait for a collection at most one in so many is outside of the pause, */
#define LITTLE_OF_SECOND 10000u /* and 100 us */
#define MEASUREMENTS 5u   /* of the overhead: as many as the measuring of the rate leaves time for */

__thread struct timer *current_timer AT_FIXED_PLACE;
static struct wire_overhead overhead; /* a copy of the header's */
static bool is_quick;                 /* the usual case of a hook is all there is to do: the clock is read by an instruction, and no CPU counters are */
static bool blocks_are_reported;          /* exceptions unwind finally blocks like calls of their functions: see below */

/* That of a thread for which there is no memory: nothing of it is recorded, and each call is a loss. */
static struct wire_activation no_activation = {.caller_sp = UINTPTR_MAX, .flags = WIRE_ACTIVATION_TRUNCATED};
/* That of all threads when nobody reads any more: each event ends at the first look. */
#define OVER 0x80000000u /* beside WIRE_ACTIVATION_… */
static struct wire_activation over_activation = {.caller_sp = UINTPTR_MAX, .flags = OVER};
static struct timer over_timer = {.top = &over_activation, .bottom = &over_activation};
static struct timer no_timer = {.top = &no_activation, .bottom = &no_activation};
static struct timer left_out = {.top = &no_activation, .bottom = &no_activation}; /* that of a thread whose calls are no loss */

/* ── events ─────────────────────────────────────────────────────────────────────────────────────────────────── */

HOT static inline void begin_call(struct timer *t, struct wire_activation *top, uint32_t number, uint32_t flags, uintptr_t sp,
                                  uint64_t now)
{
    struct wire_clock *c = t->clock;
    timing_at(number)->began += now; /* first: who reads calls has at least theirs */
    timing_at(number)->calls++;
    c->calls++;
    struct wire_activation *a = top + 1;
    a->caller_sp = sp;
    a->timing = number;
    a->flags = flags;
    a->elapsed = c->elapsed;
    a->waited = c->waited;
    a->child_elapsed = 0;
    a->acted = c->acted;
    a->calls = c->calls;
    a->children = 0;
    t->top = a;
    __atomic_store_n(&c->depth, (uint32_t)(a - t->bottom), __ATOMIC_RELEASE);
}

/* A call for which there is no timing at all: it and what it calls are losses, and its time is its caller's, which stays
 * the innermost for the reader. There is always room for one such activation. */
static void begin_swallowed(struct timer *t, uintptr_t sp)
{
    *++t->top = (struct wire_activation){.caller_sp = sp, .flags = WIRE_ACTIVATION_TRUNCATED};
}

static void end_swallowed(struct timer *t)
{
    t->top--;
}

/* What was computed in a call in which the system acted: the least and the most, and what the caller gets to know. */
static void note_acted(struct timer *t, const struct wire_activation *a, uint64_t inclusive, uint64_t exclusive)
{
    const struct level *l = &t->levels[a - t->bottom];
    struct level *caller = &t->levels[a - t->bottom - 1];
    uint64_t waited = t->sums.waited - l->before.waited, off = off_ticks(&t->sums) - off_ticks(&l->before);
    uint64_t own_waited = waited - l->child_waited, own_off = off - l->child_off;
    uint64_t values[6] = {inclusive, exclusive, above_zero(inclusive, waited), above_zero(exclusive, own_waited), above_zero(inclusive, off),
                          above_zero(exclusive, own_off)};
    struct wire_timing *timing = timing_at(a->timing);
    struct wire_acted *x = acted_of(timing);
    if (x == NULL)
        loss(WIRE_LOSS_WAITS, 0, 0);
    for (int i = 0; i < 6; i++)
        if (x != NULL)
            note(&x->min[i], &x->max[i], values[i]);
        else /* no memory: from the least of the three to the largest holds for each of them */
            note(&timing->min[i % 2], &timing->max[i % 2], values[i]);
    caller->child_waited += waited;
    caller->child_off += off;
}

/* The tail has been counted. What the probes themselves took is taken out of the least and the most of one call. */
HOT static inline __attribute__((always_inline)) void end_call_as(struct timer *t, struct wire_activation *a, bool acted)
{
    struct wire_clock *c = t->clock;
    struct wire_timing *x = timing_at(a->timing);
    uint64_t elapsed = c->elapsed - a->elapsed, below = c->calls - a->calls;
    uint64_t inclusive = above_zero(elapsed, (overhead.inside + (overhead.inside + overhead.outside) * below) / PART);
    uint64_t exclusive = above_zero(elapsed - a->child_elapsed, (overhead.inside + overhead.outside * a->children) / PART);
    ADD_BEHIND(x->ended, 1);
    if (acted) {
        note_acted(t, a, inclusive, exclusive);
    } else { /* elapsed, application and CPU time are one */
        note(&x->min[0], &x->max[0], inclusive);
        note(&x->min[1], &x->max[1], exclusive);
    }
    if (UNLIKELY((a->flags & WIRE_ACTIVATION_FOLDED) != 0))
        fold_end(t, a);
    a[-1].child_elapsed += elapsed;
    a[-1].children++;
    t->top = a - 1;
    __atomic_store_n(&c->depth, (uint32_t)(t->top - t->bottom), __ATOMIC_RELEASE);
}

/* Where the way is slow anyway. */
static void trace_slowly(struct timer *t, const struct wire_activation *a, uint32_t kind, uint64_t ticks)
{
    if (!trace_on)
        return;
    if (trace_needs_room(t))
        trace_more(t);
    trace_call(t, a, kind, timing_at(a->timing)->function, ticks);
}

static void end_call(struct timer *t, struct wire_activation *a)
{
    trace_slowly(t, a, WIRE_TRACE_EXIT, t->clock->last);
    end_call_as(t, a, t->clock->acted != a->acted);
}

/* Is this one of the calls inside of an unrecorded one, while nothing is recorded? */
HOT static inline bool is_passed_over(const struct timer *t, uintptr_t sp)
{
    return sp <= t->off_sp && control_now() == t->off_at;
}

/* Does a call of the function by this activation's have a node? */
HOT static inline bool is_recorded(const struct wire_activation *top, const struct method *m)
{
    uint32_t flags = top->flags & ~(uint32_t)WIRE_ACTIVATION_FOLDED;
    return LIKELY(flags == 0) || (flags == WIRE_ACTIVATION_BOUNDARY && !m->boundary);
}

HOT static inline uintptr_t return_address_of(const struct wire_activation *top, uintptr_t sp)
{
    return top->flags == 0 ? *(const uintptr_t *)(RETURN_SLOT(sp) & ~(uintptr_t)SITE_MARK) : 0;
}

#define HOOK(name) time_##name##_hook
#define TRACED 0
#include "calls/enter_leave.h"
#undef HOOK
#undef TRACED
#define HOOK(name) time_##name##_traced
#define TRACED 1
#include "calls/enter_leave.h"

/* With probes in IL that is so only where no call before it has stayed: see tail_calls.c. */
bool time_stays(const struct method *m, uintptr_t sp, uintptr_t place, uintptr_t own_sp)
{
    struct timer *t = current_timer;
    enum tail tail = t == NULL ? TAIL_ENDS : tails_decide(t, sp, place, own_sp);
    if (tail == TAIL_ENDS && trace_on)
        time_jump_traced(m, sp);
    else if (tail == TAIL_ENDS)
        time_jump_hook(m, sp);
    return tail == TAIL_STAYS;
}

void time_site_jump(const struct method *m, uintptr_t sp)
{
    struct timer *t = current_timer;
    if (t == NULL || !tails_enters(t, sp))
        return;
    time_enter_cold(m, sp);
    if (t->top->caller_sp == sp)
        tails_decide(t, sp, 0, 0);
}

/* ── the slow way ───────────────────────────────────────────────────────────────────────────────────────────── */

/* The system acted in an interval, which cannot have been without a processor for longer than it was. */
static void set_acted(struct interval *i)
{
    i->acted = true;
    i->waited = i->ticks;
    if (i->waits.blocked > i->ticks)
        i->waits.blocked = i->ticks;
    if (i->waits.ready > i->ticks - i->waits.blocked)
        i->waits.ready = i->ticks - i->waits.blocked;
}

/* Takes out of an interval up to now that has not been looked at what was a pause. A part of it can be without a processor,
 * and nobody knows which: as much as there is room for. */
static void take_out_pauses(struct timer *t, struct interval *i, uint64_t now)
{
    uint64_t paused = timer_account_pauses(t, now, i->ticks);
    i->ticks -= paused;
    i->paused = paused != 0;
    if (paused != 0 && i->ticks == 0)
        i->waits = (struct wire_waits){0};
}

static void take_out_collections(struct timer *t, struct interval *i, uint64_t from);

/* The interval that ends now. What follows is the agent's own time, up to resume. */
static struct interval look(struct timer *t)
{
    struct interval i = {0};
    struct wire_clock *c = t->clock;
    if (t->looked) { /* all that has passed since then is the agent's */
        t->looked = false;
        i.end = c->last;
        return i;
    }
    if (counters_used != 0)
        counters_look(t);
    uint64_t now = os_clock(), fresh = now;
    i.ticks = now - c->last;
    if (*t->word != t->expect || i.ticks > t->gap)
        fresh = os_look(t, c->last, &i.waits);
    if ((int64_t)i.ticks < 0) {
        loss(WIRE_LOSS_CLOCK_BACKWARDS, 0, 0);
        i.ticks = 0;
    }
    uint64_t more = fresh > now ? fresh - now : 0;
    i.end = i.waits.intervals != 0 ? fresh : now;
    if (UNLIKELY(t->control != control_now())) {
        i.ticks += i.waits.intervals != 0 ? more : 0;
        take_out_pauses(t, &i, fresh);
        if (i.waits.intervals != 0)
            set_acted(&i);
    } else if (i.waits.intervals != 0) {
        i.ticks += more; /* the system may have acted just now */
        set_acted(&i);
    } else {
        c->own += more;
    }
    if (counters_used != 0)
        counters_end(t, i.paused, i.counted);
    if (counters_used != 0 && !i.acted && counters_acted(i.counted)) {
        i.waits.intervals = 1;
        set_acted(&i);
    }
    uint64_t from = c->last;
    c->last = fresh;
    c->mechanism = t->mechanism;
    if (i.waits.blocked != 0)
        take_out_collections(t, &i, from);
    return i;
}

/* The system acts for the first time in the calls that have begun since it did last: from here on it is known what it had
 * done before each of them. */
static void note_levels(struct timer *t)
{
    for (const struct wire_activation *a = t->top; a > t->bottom; a--) {
        struct level *l = &t->levels[a - t->bottom];
        if (a->timing == 0)
            continue;
        if (l->acted_call == a->calls)
            break;
        l->acted_call = a->calls;
        l->before = t->sums;
        l->child_waited = l->child_off = 0;
    }
}

/* Adds an interval that the system acted in to what was waited. */
static void add_waited(struct timer *t, uint64_t *waited, uint32_t *waits, const struct interval *i)
{
    note_levels(t);
    t->clock->waited += i->waited;
    t->clock->acted++;
    t->sums.waited += i->waited;
    waits_add(&t->sums.waits, &i->waits);
    struct wire_waits *w = waits_of(waits);
    if (w != NULL)
        waits_add(w, &i->waits);
    else /* the time itself is counted */
        loss(WIRE_LOSS_WAITS, 0, 0);
    *waited += i->waited;
}

/* Adds an interval to one of a timing's two pairs of counters. What was waited comes first: the collector, if it reads
 * between the two, can keep that until the time is there, but has no place for it later. */
static void add(struct timer *t, uint64_t *elapsed, uint64_t *waited, uint32_t *waits, const struct interval *i)
{
    if (i->acted)
        add_waited(t, waited, waits, i);
    t->clock->elapsed += i->ticks;
    __atomic_store_n(elapsed, *elapsed + i->ticks, __ATOMIC_RELEASE);
}

static void add_counted(struct timer *t, uint64_t *to, const struct interval *i)
{
    for (uint32_t k = 0; k < counters_used; k++) {
        to[k] += i->counted[k];
        t->counters.total[k] += i->counted[k];
    }
}

static void add_lead(struct timer *t, struct wire_timing *x, const struct interval *i)
{
    if (counters_used != 0)
        add_counted(t, counts_of(x)->lead, i);
    add(t, &x->lead_elapsed, &x->lead_waited, &x->lead_waits, i);
    if (system_events != 0)
        system_events_add(x, true, i);
}

static void add_tail(struct timer *t, struct wire_timing *x, const struct interval *i)
{
    if (counters_used != 0)
        add_counted(t, counts_of(x)->tail, i);
    add(t, &x->tail_elapsed, &x->tail_waited, &x->tail_waits, i);
    if (system_events != 0)
        system_events_add(x, false, i);
}

/* The timing of collections that the innermost call waits for; *folded: it has no path. 0: no room. */
static uint32_t timing_of_collections(struct timer *t, bool *folded)
{
    uint32_t number = (t->top->flags & WIRE_ACTIVATION_FOLDED) != 0 ? 0 : fold_path(t, WIRE_FUNCTION_COLLECTION, 0);
    *folded = number == 0;
    return number != 0 ? number : fold_call(t, WIRE_FUNCTION_COLLECTION);
}

/* For the call the wait is what a call takes that it makes, but it is none: no probe was there. */
static void add_collection(struct timer *t, const struct interval *i)
{
    bool folded;
    uint32_t number = timing_of_collections(t, &folded);
    add_tail(t, timing_at(number != 0 ? number : t->top->timing), i);
    if (number == 0)
        return;
    if (folded)
        fold_add(t, number, i);
    t->top->child_elapsed += i->ticks;
    if (i->acted) {
        struct level *l = &t->levels[t->top - t->bottom];
        l->child_waited += i->waited;
        l->child_off += i->waits.blocked + i->waits.ready;
    }
}

/* Takes what was a wait for collections out of an interval from the last event on, and adds it. So far as the threads were stopped for
 * one, this one could not have gone on with the program, whatever it waited for: that is all of a wait which lies in pauses, but for a
 * little that the kernel and the collector take before and afterwards. What is blocked for longer waits for something else. */
static void take_out_collections(struct timer *t, struct interval *i, uint64_t from)
{
    if (t->top->timing == 0 || i->paused || trace_on)
        return;
    uint64_t stopped = pauses_within(from, i->end), little = stopped / LITTLE_PART + arena.header->ticks_per_sec / LITTLE_OF_SECOND;
    if (stopped == 0 || i->waits.blocked > stopped + little)
        return;
    uint64_t blocked = i->waits.blocked;
    struct interval part = {.ticks = blocked, .waited = blocked, .end = i->end, .acted = true, .waits = {.voluntary = i->waits.voluntary, .blocked = blocked}};
    i->ticks -= blocked;
    i->waits.voluntary = i->waits.blocked = 0;
    i->waited = i->ticks;
    i->acted = counters_used != 0 || i->waits.preempted + i->waits.faults + i->waits.reads + i->waits.ready != 0;
    if (!i->acted) {
        i->waited = 0;
        i->waits = (struct wire_waits){0};
    }
    add_collection(t, &part);
}

static void resume(struct timer *t)
{
    struct interval i = {0};
    if (counters_used != 0)
        counters_begin(t);
    uint64_t now = os_clock(), last = t->clock->last;
    if (*t->word != t->expect || (now > last && now - last > t->gap))
        now = os_look(t, last, &i.waits);
    i.ticks = now > last ? now - last : 0;
    if (UNLIKELY(t->control != control_now()))
        take_out_pauses(t, &i, now);
    if (i.waits.intervals != 0 && t->top->timing != 0) {
        i.waits.intervals = 0; /* it is a part of the one that follows */
        i.end = now;
        set_acted(&i);
        add_tail(t, timing_at(t->top->timing), &i);
    } else {
        t->clock->own += i.ticks;
    }
    t->clock->last = now;
    if (counters_used != 0)
        counters_resume(t);
}

/* Ends a call whose end was not seen. The time since the last event belongs to whoever runs now. */
static void end_unseen(struct timer *t)
{
    t->off_sp = 0;
    if (t->top->timing == 0) {
        end_swallowed(t);
        return;
    }
    if ((t->top->flags & WIRE_ACTIVATION_JUMPED) == 0) { /* else it ends with that in whose place it is */
        timing_at(t->top->timing)->unmatched++;
        loss(WIRE_LOSS_CALLS_UNMATCHED, 1, 0);
    }
    end_call(t, t->top);
}

/* Forgets what was noted last. If it is something that the runtime called in the middle of a search, that search goes on, unless an
 * exception has left it: then another one does. */
static void drop_last(struct timer *t)
{
    const struct unwinding *u = &t->unwinding[--t->n_unwinding];
    if (u->kind != RUNS_CALLED || t->dispatch_sp != 0)
        return;
    t->dispatch_sp = u->dispatch_sp;
    t->uncaught = u->uncaught;
}

/* What has ended in another way while an exception unwound it. */
static void forget_unwound(struct timer *t)
{
    for (uint32_t n; (n = t->n_unwinding) > 0; drop_last(t)) {
        const struct unwinding *u = &t->unwinding[n - 1];
        bool over = u->recorded && t->dispatch_sp == 0; /* else it is not known: it may have jumped to what is not hooked, and throws */
        if (u->depth < t->clock->depth || (u->depth == t->clock->depth && !over))
            return;
    }
}

/* Ends the innermost call now, as its Leave would. */
static void end_now(struct timer *t)
{
    struct interval i = look(t);
    add_tail(t, timing_at(t->top->timing), &i);
    end_call(t, t->top);
    resume(t);
}

static void begin_slow(struct timer *t, const struct method *m, uintptr_t sp, uintptr_t return_address)
{
    uint32_t number = 0, lead = 0, flags = m->boundary ? WIRE_ACTIVATION_BOUNDARY : 0, parent = t->top->timing;
    struct interval i = look(t);
    if (t->top < t->limit || timer_grow(t)) {
        if ((t->top->flags & WIRE_ACTIVATION_FOLDED) == 0)
            number = lead = fold_path(t, m->function, return_address);
        if (number == 0 && parent != 0)
            number = fold_call(t, m->first);
    }
    if (lead != 0 && parent != 0) {
        add_lead(t, timing_at(lead), &i);
    } else if (parent != 0) {
        add_tail(t, timing_at(parent), &i);
        timing_at(parent)->folded += number != 0; /* else the interval is nobody's call */
    }
    if (number != 0 && lead == 0) {
        fold_begin(number);
        flags |= WIRE_ACTIVATION_FOLDED;
    }
    if (number != 0) {
        begin_call(t, t->top, number, flags, sp, i.end);
        if ((flags & WIRE_ACTIVATION_FOLDED) != 0)
            memcpy(t->levels[t->top - t->bottom].counted, t->counters.total, sizeof t->counters.total);
        trace_slowly(t, t->top, WIRE_TRACE_ENTER, i.end);
    } else {
        loss(WIRE_LOSS_CALLS_FOLDED, 1, 0);
        begin_swallowed(t, sp);
    }
    resume(t);
}

static void set_dispatching(struct timer *t, uint32_t flag)
{
    if (t->top->timing != 0)
        t->top->flags |= flag;
}

/* Ends the calls down to this one, which are gone, while the search for a handler goes on; resume must follow, or what ends an
 * interval at the same moment. false: there were none. */
static bool end_at_once(struct timer *t, const struct wire_activation *last)
{
    if (t->top > last && t->top->timing == 0)
        end_swallowed(t);
    if (t->top <= last)
        return false;
    uint32_t dispatching = t->top->flags & WIRE_ACTIVATION_DISPATCHING;
    struct interval i = look(t);
    add_tail(t, timing_at(t->top->timing), &i);
    while (t->top > last)
        end_call(t, t->top);
    set_dispatching(t, dispatching);
    forget_unwound(t);
    return true;
}

static void end_down_to(struct timer *t, const struct wire_activation *last)
{
    if (end_at_once(t, last))
        resume(t);
}

/* The same in an event that can end others, too, at the same moment: resume_looked is called at its end. */
static void end_in_event(struct timer *t, const struct wire_activation *last)
{
    if (end_at_once(t, last))
        t->looked = true; /* it is written only then: threads that are not recorded share a timer */
}

/* Ends the calls that a hook shows to be gone. A search may go on. */
static void end_unseen_below(struct timer *t, uintptr_t sp)
{
    if (t->top->caller_sp >= sp)
        return;
    uint32_t dispatching = t->top->flags & WIRE_ACTIVATION_DISPATCHING;
    while (t->top->caller_sp < sp)
        end_unseen(t);
    set_dispatching(t, dispatching);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < t->n_unwinding; i++) {
        struct unwinding u = t->unwinding[i];
        if (u.depth > t->clock->depth) {
            if (u.kind == UNWINDS_TOP)
                continue;
            u.depth = t->clock->depth; /* it is not about the calls that are gone, and goes on */
        }
        t->unwinding[kept++] = u;
    }
    t->n_unwinding = kept;
}

/* Ends those that have jumped, with lower stack pointers than this one: what they jumped to has ended now. */
static void end_jumped_below(struct timer *t, uintptr_t sp)
{
    const struct wire_activation *a = t->top;
    while (a->caller_sp < sp && (a->flags & WIRE_ACTIVATION_JUMPED) != 0)
        a--;
    end_in_event(t, a);
}

/* The end of an event in which a call may have ended before what the event is about. */
static void resume_looked(struct timer *t)
{
    if (!t->looked)
        return;
    t->looked = false;
    resume(t);
}

/* The runtime's own code that looks for the handler of an exception begins. */
static void begin_dispatch(struct timer *t, uintptr_t sp)
{
    t->dispatch_sp = sp;
    set_dispatching(t, WIRE_ACTIVATION_DISPATCHING);
}

static void push_unwinding(struct timer *t, uint32_t kind, uintptr_t frame)
{
    if (t->n_unwinding == MAX_UNWINDING) {
        uint32_t oldest = 0;
        while (t->unwinding[oldest].kind == RUNS_CALLED)
            oldest++;
        memmove(t->unwinding + oldest, t->unwinding + oldest + 1, (--t->n_unwinding - oldest) * sizeof *t->unwinding);
    }
    t->unwinding[t->n_unwinding++] = (struct unwinding){.depth = t->clock->depth, .kind = kind, .frame = frame, .dispatch_sp = t->dispatch_sp, .uncaught = t->uncaught};
}

/* So many of what is noted last: up to the innermost block that runs, 0: none does. */
static uint32_t innermost_block(const struct timer *t)
{
    uint32_t n = t->n_unwinding;
    while (n > 0 && t->unwinding[n - 1].kind <= UNWINDS_TOP)
        n--;
    return n;
}

/* Does what the runtime called in the middle of a search run, and no recorded call inside of it? */
static bool in_called(const struct timer *t)
{
    uint32_t n = innermost_block(t);
    return n > 0 && t->unwinding[n - 1].kind == RUNS_CALLED && t->unwinding[n - 1].depth == t->clock->depth;
}

/* The search for a handler goes on with a call by this stack pointer: what the runtime called before has ended. */
static void end_called(struct timer *t, uintptr_t sp)
{
    for (uint32_t i = 0; i < t->n_unwinding; i++)
        if (t->unwinding[i].kind == RUNS_CALLED && t->unwinding[i].frame <= sp) {
            t->dispatch_sp = t->unwinding[i].dispatch_sp;
            t->uncaught = t->unwinding[i].uncaught;
            t->n_unwinding = i;
        }
}

/* The runtime has called this function in the middle of a search; false: there is no room to note that, or it is not so. */
static bool begin_called(struct timer *t, const struct method *m, uintptr_t sp)
{
    uint32_t n = 0;
    forget_unwound(t);
    for (uint32_t i = 0; i < t->n_unwinding; i++)
        n += t->unwinding[i].kind == RUNS_CALLED;
    if (n == MAX_CALLED && m->function != 0)
        loss(WIRE_LOSS_CALLS_NESTED, 1, 0);
    if (n == MAX_CALLED)
        return false;
    /* A new search, by what was called and has no hook. Or has native code caught the exception, when calls had been unwound? */
    if (m->function == 0 && t->n_unwinding > 0 && t->unwinding[t->n_unwinding - 1].kind <= UNWINDS_TOP)
        return false;
    push_unwinding(t, RUNS_CALLED, sp);
    t->dispatch_sp = 0;
    return true;
}

/* Does the search for a handler itself make this call? It consists of functions of the core library that call each other. In its middle the
 * runtime's native code calls others, above all handlers of AppDomain.FirstChanceException: what they do is no part of it. The innermost
 * activation stays "dispatching" for when they have ended. */
static bool is_of_search(struct timer *t, const struct method *m, uintptr_t sp)
{
    if ((t->top->flags & WIRE_ACTIVATION_DISPATCHING) == 0)
        return false;
    end_called(t, sp);
    if (t->dispatch_sp == 0 || sp >= t->dispatch_sp) { /* none goes on in what was called; or the exception was handled, and nobody said so */
        t->dispatch_sp = 0;
        if (!in_called(t))
            t->top->flags &= ~(uint32_t)WIRE_ACTIVATION_DISPATCHING;
        return false;
    }
    if (m->function != 0 && m->core && !cfi_is_runtime(*(const uintptr_t *)RETURN_SLOT(sp)))
        return true;
    return !begin_called(t, m, sp);
}

static uintptr_t return_address_slowly(const struct wire_activation *top, uintptr_t sp)
{
    return (top->flags & WIRE_ACTIVATION_DISPATCHING) == 0 ? return_address_of(top, sp) :
           top->flags == WIRE_ACTIVATION_DISPATCHING       ? *(const uintptr_t *)RETURN_SLOT(sp) : 0;
}

static void begin_recorded(struct timer *t, const struct method *m, uintptr_t sp, bool in_place)
{
    uintptr_t return_address = in_place ? tails_place(t) : return_address_slowly(t->top, sp);
    bool repeated = false;
    if (timer_pass_over(t, sp))
        return;
    if (in_place) {
        const struct wire_activation *first = tails_repeated(t, m->function, &repeated);
        if (first != NULL)
            end_in_event(t, first - 1);
    }
    begin_slow(t, m, sp, return_address);
    tails_began(t, repeated);
    struct unwinding *last = t->n_unwinding == 0 ? NULL : &t->unwinding[t->n_unwinding - 1];
    if (last != NULL && last->kind == RUNS_CALLED && last->frame == sp)
        last->recorded = last->depth < t->clock->depth;
}

/* The same as is_recorded, also for an activation inside of which an unrecorded call may run, which is like framework code, and for
 * one that has jumped. */
static bool is_recorded_slowly(const struct timer *t, const struct method *m)
{
    uint32_t flags = t->top->flags & ~(uint32_t)(WIRE_ACTIVATION_FOLDED | WIRE_ACTIVATION_JUMPED | WIRE_ACTIVATION_DISPATCHING);
    return flags == 0 || ((flags == WIRE_ACTIVATION_BOUNDARY || flags == WIRE_ACTIVATION_PAUSED) && !m->boundary);
}

/* What the probes take depends on what the machine does besides, so it is measured where calls are made. */
static void measure_again(struct timer *t)
{
    if (t->clock != NULL && t->clock->calls - t->measured_calls >= CALLS_UNTIL_AGAIN)
        hooks_measure_again(t);
}

void time_enter_cold(const struct method *m, uintptr_t sp)
{
    int saved_errno = errno;
    struct timer *t = current_timer;
    if (hooks_measure_themselves(t))
        return;
    if (t != NULL && t->thread != 0 && ++t->slow % WATCH_EACH == 0)
        watch_look();
    if (recording_is_over()) {
        current_timer = &over_timer;
        errno = saved_errno;
        return;
    }
    bool is_first = t == NULL;
    if (is_first && (t = timer_attach()) == NULL) {
        t = &no_timer;
        if (thread_is_known()) /* else nobody would take that away when the recording ends */
            current_timer = t;
    } else if (is_first && probes_number != 0) {
        t->before_sp = sp;
    }
    end_jumped_below(t, sp & ~(uintptr_t)SITE_MARK);
    bool in_place = tails_enters(t, sp);
    if (!in_place)
        end_unseen_below(t, sp + 1);
    if (t->levels != NULL)
        timer_forget_unrecorded(t, sp);
    bool of_search = is_of_search(t, m, sp);
    if (m->function == 0)
        begin_dispatch(t, sp);
    else if (!of_search && is_recorded_slowly(t, m))
        begin_recorded(t, m, sp, in_place);
    else if ((t->top->flags & WIRE_ACTIVATION_TRUNCATED) != 0 && t != &left_out)
        loss(WIRE_LOSS_CALLS_FOLDED, 1, 0);
    resume_looked(t);
    measure_again(t);
    errno = saved_errno;
}

/* All calls of instrumented functions are recorded, but for those that begin where nothing is. So one that returns and is
 * not there was taken for gone before. */
static bool was_cut(const struct timer *t, const struct method *m, uintptr_t sp)
{
    return sp < t->top->caller_sp && !m->boundary && m->function != 0 &&
           (t->top->flags & (WIRE_ACTIVATION_TRUNCATED | WIRE_ACTIVATION_DISPATCHING)) == 0;
}

/* Did the call begin when the process was not recorded? Then it is outside of all that has begun since. */
static bool began_before(const struct timer *t, uintptr_t sp)
{
    return t->thread != 0 && sp > t->before_sp;
}

void time_leave_cold(const struct method *m, uintptr_t sp)
{
    if (recording_is_over()) {
        current_timer = &over_timer;
        return;
    }
    int saved_errno = errno;
    struct timer *t = current_timer;
    if (hooks_measure_themselves(t))
        return;
    bool unrecorded = t->levels != NULL && timer_is_unrecorded(t, sp); /* also in the place of one that has jumped */
    end_jumped_below(t, sp + 1);
    end_unseen_below(t, sp);
    if (began_before(t, sp))
        t->before_sp = sp;
    else if (was_cut(t, m, sp) && !unrecorded)
        loss(WIRE_LOSS_CALLS_CUT, 1, 0);
    if (t->levels != NULL)
        timer_forget_unrecorded(t, sp);
    if (t->top->caller_sp == sp && t->top->timing == 0)
        end_swallowed(t);
    else if (t->top->caller_sp == sp && t->levels != NULL) /* who has none has no calls */
        end_now(t);
    resume_looked(t);
    measure_again(t);
    errno = saved_errno;
}

/* ── exceptions ─────────────────────────────────────────────────────────────────────────────────────────────── */

/* The runtime says which function it unwinds, not which call of it. All calls of instrumented functions are recorded, so one
 * that is unwound is the innermost activation; but for those that began in a pause, which may be of the same function. While
 * there may be such calls inside of it, names say nothing. Of framework functions only some are: such an activation is gone
 * when the call below it is unwound. Until then a finally block can run, which belongs to its function, so the call ends
 * when its unwinding ends.
 *
 * A catch or finally block that is about to run shows its frame: all activations inside of that are gone, whatever was
 * reported of them. This is what decides; ending calls earlier gives them their time, and matters where native code catches.
 *
 * From .NET 9 on the search for a handler is managed code itself, which runs on top of the frames that it unwinds. Its
 * calls are none of the program's: the innermost activation is "dispatching" while it runs, but for filters and finally
 * blocks. .NET 9 unwinds the frame of a finally block that was entered without an exception as if it were one of its
 * function, which is unwound after it, or catches. So there the end of an unwinding ends nothing: the call is gone when
 * the next frame is another function's. */

static bool is_top(const struct timer *t, uint32_t function)
{
    const uint32_t others = WIRE_ACTIVATION_DISPATCHING | WIRE_ACTIVATION_FOLDED | WIRE_ACTIVATION_PAUSED;
    return function != 0 && t->top->timing != 0 && (t->top->flags & ~others) == 0 &&
           timing_at(t->top->timing)->function == function && !timer_may_hide(t);
}

/* Ends the innermost call, which is gone. */
static void end_gone(struct timer *t)
{
    end_in_event(t, t->top - 1);
}

/* Does a filter run, and no recorded call inside of it? An exception that leaves a filter is reported as one that unwinds the
 * filter's function, which goes on. */
static bool in_filter(const struct timer *t)
{
    for (uint32_t i = t->n_unwinding; i > 0; i--)
        if (t->unwinding[i - 1].kind == RUNS_FILTER)
            return t->unwinding[i - 1].depth == t->clock->depth;
    return false;
}

/* A framework function on top of a call of this function is gone, if that is unwound or catches. */
static void end_boundary_above(struct timer *t, uint32_t function)
{
    const struct wire_activation *top = t->top;
    if (function != 0 && (top->flags & WIRE_ACTIVATION_BOUNDARY) != 0 && top->timing != 0 && top[-1].timing != 0 &&
        timing_at(top[-1].timing)->function == function && !in_filter(t) && !timer_may_hide(t))
        end_gone(t);
}

/* What has jumped has no frame. It is gone if the call is unwound in whose place it is, or the caller of that one if it is a
 * framework function. */
static void end_jumped_above(struct timer *t, uint32_t function)
{
    const struct wire_activation *a = t->top, *caller;
    while ((a->flags & WIRE_ACTIVATION_JUMPED) != 0)
        a--;
    caller = (a->flags & WIRE_ACTIVATION_BOUNDARY) != 0 && a != t->bottom ? a - 1 : a;
    if (a != t->top && function != 0 && caller->timing != 0 && timing_at(caller->timing)->function == function && !in_filter(t) && !timer_may_hide(t))
        end_in_event(t, a);
}

/* Another frame is unwound than the one that was reported before, of which no block runs: so that is gone. On .NET 9 this is
 * how calls end; elsewhere it is how they do when native code has caught the exception, since then the end of the last
 * unwinding is not reported. If it is a frame of the same function, that one may have been a finally block's, which the
 * function that catches will decide; if none does, it is taken for a call of its own. */
static void end_reported_before(struct timer *t, uint32_t function)
{
    forget_unwound(t);
    if (t->n_unwinding == 0 || t->unwinding[t->n_unwinding - 1].kind > UNWINDS_TOP)
        return;
    struct unwinding u = t->unwinding[t->n_unwinding - 1];
    if (blocks_are_reported)
        t->n_unwinding--;
    if (u.kind != UNWINDS_TOP || u.depth != t->clock->depth || (blocks_are_reported && is_top(t, function) && !t->uncaught))
        return;
    end_gone(t);
}

/* Forgets the finally blocks of frames inside of this one, which an exception has left, and what was reported of their frames because of the
 * exceptions that they ran for: if their calls have no activation, depth does not decide it. What was reported last is about this frame itself. */
static void forget_blocks_inside(struct timer *t, uintptr_t frame)
{
    uint32_t kept = t->n_unwinding;
    for (uint32_t i = kept; i > 0; i--) {
        const struct unwinding *u = &t->unwinding[i - 1];
        if (u->kind == RUNS_FILTER || (u->kind > UNWINDS_TOP && (u->frame == 0 || u->frame >= frame)))
            break;
        if (u->kind == RUNS_CALLED)
            kept = i - 1;
        if (u->kind == RUNS_FINALLY)
            kept = i > 1 && u[-1].kind <= UNWINDS_TOP ? i - 2 : i - 1;
    }
    if (kept == t->n_unwinding)
        return;
    struct unwinding last = t->unwinding[t->n_unwinding - 1];
    while (t->n_unwinding > kept)
        drop_last(t);
    if (last.kind <= UNWINDS_TOP)
        t->unwinding[t->n_unwinding++] = last;
}

/* Ends the calls inside of the frame whose catch or finally block is about to run: they are gone. Its stack pointer; 0: it is not reported. */
static uintptr_t end_inside(struct timer *t)
{
    struct clr_clause c = {.frame_pointer = 0};
    if (SLOT(agent_info, INFO_GET_NOTIFIED_CLAUSE, struct clr_clause *)(agent_info, &c) != HR_OK)
        return 0;
    c.frame_pointer = frame_of_clause(c.frame_pointer);
    const struct wire_activation *a = t->top;
    while (a->caller_sp <= (c.frame_pointer | SITE_MARK))
        a--;
    end_down_to(t, a);
    timer_forget_unrecorded(t, c.frame_pointer | SITE_MARK);
    forget_blocks_inside(t, c.frame_pointer);
    return c.frame_pointer;
}

/* NULL: nothing is known of this thread. */
static struct timer *timer_in_exception(void)
{
    struct timer *t = current_timer;
    return t == &no_timer || t == &left_out || recording_is_over() ? NULL : t;
}

static hresult exception_thrown(void *self, uintptr_t object)
{
    (void)self;
    int saved_errno = errno;
    pins_thrown(object);
    struct timer *t = timer_in_exception();
    if (t != NULL) {
        t->uncaught = true;
        trace_thrown(t, object);
    }
    errno = saved_errno;
    return HR_OK;
}

static hresult catcher_found(void *self, uintptr_t function_id)
{
    (void)self, (void)function_id;
    struct timer *t = timer_in_exception();
    if (t != NULL)
        t->uncaught = false;
    return HR_OK;
}

static hresult unwind_enter(void *self, uintptr_t function_id)
{
    (void)self;
    int saved_errno = errno;
    struct timer *t = timer_in_exception();
    if (t != NULL) {
        uint32_t function = method_function(function_id);
        end_reported_before(t, function);
        end_jumped_above(t, function);
        end_boundary_above(t, function);
        push_unwinding(t, is_top(t, function) && !in_filter(t) ? UNWINDS_TOP : UNWINDS_OTHER, 0);
        resume_looked(t);
    }
    errno = saved_errno;
    return HR_OK;
}

static hresult unwind_leave(void *self)
{
    (void)self;
    int saved_errno = errno;
    struct timer *t = blocks_are_reported ? NULL : timer_in_exception();
    if (t != NULL)
        forget_unwound(t);
    if (t != NULL && t->n_unwinding > 0 && t->unwinding[t->n_unwinding - 1].kind <= UNWINDS_TOP) {
        struct unwinding u = t->unwinding[--t->n_unwinding];
        if (u.kind == UNWINDS_TOP && u.depth == t->clock->depth)
            end_gone(t);
        resume_looked(t);
    }
    errno = saved_errno;
    return HR_OK;
}

/* The program's own code runs in the middle of the search. */
static void begin_block(struct timer *t, uint32_t kind, uintptr_t frame)
{
    forget_unwound(t);
    push_unwinding(t, kind, frame);
    t->top->flags &= ~(uint32_t)WIRE_ACTIVATION_DISPATCHING;
}

/* The search goes on. What is still noted of exceptions within the block was handled there, or has left the filter. */
static void end_block(uint32_t kind)
{
    int saved_errno = errno;
    struct timer *t = timer_in_exception();
    if (t == NULL)
        return;
    forget_unwound(t);
    uint32_t n = t->n_unwinding;
    while (n > 0 && t->unwinding[n - 1].kind != kind)
        n--;
    if (n > 0) {
        struct unwinding u = t->unwinding[n - 1];
        t->n_unwinding = n - 1;
        end_down_to(t, t->bottom + u.depth);
        t->dispatch_sp = u.dispatch_sp;
    } else { /* it was forgotten, and so is what came after it */
        n = innermost_block(t);
        t->n_unwinding = n > 0 && t->unwinding[n - 1].kind == RUNS_CALLED ? n : 0;
    }
    if (t->dispatch_sp != 0)
        set_dispatching(t, WIRE_ACTIVATION_DISPATCHING);
    errno = saved_errno;
}

static hresult filter_enter(void *self, uintptr_t function_id)
{
    (void)self;
    (void)function_id; /* it is only asked: nothing is gone yet */
    struct timer *t = timer_in_exception();
    if (t != NULL)
        begin_block(t, RUNS_FILTER, 0);
    return HR_OK;
}

static hresult filter_leave(void *self)
{
    (void)self;
    end_block(RUNS_FILTER);
    return HR_OK;
}

static hresult finally_enter(void *self, uintptr_t function_id)
{
    (void)self;
    (void)function_id; /* which call of it, is what matters */
    int saved_errno = errno;
    struct timer *t = timer_in_exception();
    uintptr_t frame = t == NULL ? 0 : end_inside(t);
    call_hooks.unwound();
    if (t != NULL)
        begin_block(t, RUNS_FINALLY, frame);
    errno = saved_errno;
    return HR_OK;
}

static hresult finally_leave(void *self)
{
    (void)self;
    end_block(RUNS_FINALLY);
    return HR_OK;
}

/* The search has ended, but for one in the middle of which the block that catches was called. */
static void end_dispatch(struct timer *t)
{
    t->dispatch_sp = 0;
    t->top->flags &= ~(uint32_t)WIRE_ACTIVATION_DISPATCHING;
    if (in_called(t))
        set_dispatching(t, WIRE_ACTIVATION_DISPATCHING);
}

/* The catching function was announced as one that is unwound, and is none. */
static hresult catcher_enter(void *self, uintptr_t function_id, uintptr_t object)
{
    (void)self;
    (void)object;
    int saved_errno = errno;
    pins_catch();
    struct timer *t = timer_in_exception();
    if (t != NULL) {
        end_inside(t);
        forget_unwound(t);
        if (t->n_unwinding > 0 && t->unwinding[t->n_unwinding - 1].kind <= UNWINDS_TOP)
            t->n_unwinding--;
        end_dispatch(t);
        trace_caught(t, function_id);
    }
    call_hooks.unwound();
    errno = saved_errno;
    return HR_OK;
}

/* ── begin and end ──────────────────────────────────────────────────────────────────────────────────────────── */

static void detach(struct timer *t)
{
    os_detach(t);
    if (counters_used != 0)
        counters_detach(t);
}

void time_thread_ended(struct timer **keep)
{
    struct timer *t = current_timer;
    current_timer = NULL;
    if (t == NULL || t == &no_timer || t == &left_out || t == &over_timer)
        return;
    if (recording_is_over()) {
        detach(t);
        return;
    }
    if (t->top != t->bottom && t->top->timing == 0)
        end_swallowed(t);
    if (t->top != t->bottom) {
        struct interval i = look(t);
        add_tail(t, timing_at(t->top->timing), &i);
        while (t->top != t->bottom)
            end_unseen(t);
    }
    trace_end(t);
    detach(t);
    if (keep != NULL)
        *keep = t;
    else
        timer_give(t);
}

/* Nobody is in the agent. Whoever records next begins anew. */
void time_forget_thread(ptrdiff_t distance)
{
    struct timer **own = variable_of_thread(&current_timer, distance), *t = *own;
    *own = NULL;
    if (t != NULL && t->thread != 0)
        os_detach(t);
}

void time_forked(void)
{
    current_timer = NULL; /* its calls, its clock and the ring of the kernel are its parent's */
}

void time_settle(void)
{
    struct timer *t = current_timer;
    if (t == NULL || t->clock == NULL || recording_is_over())
        return;
    struct interval i = look(t);
    if (t->top->timing != 0)
        add_tail(t, timing_at(t->top->timing), &i);
    resume(t);
}

void time_wait_begins(void)
{
    struct timer *t = current_timer;
    if (t == NULL || t->clock == NULL || t->top->timing == 0 || t->looked || t->leaving_out != 0 || trace_on || recording_is_over())
        return;
    struct interval i = look(t);
    i.waits.intervals = 0; /* it is a part of the one that follows */
    add_tail(t, timing_at(t->top->timing), &i);
    resume(t);
    t->collecting = true;
}

void time_wait_ends(void)
{
    struct timer *t = current_timer;
    if (t == NULL || t->clock == NULL || !t->collecting)
        return;
    t->collecting = false;
    if (t->top->timing == 0 || recording_is_over())
        return;
    struct interval i = look(t);
    i.waits.intervals = 0; /* it ends with no probe, which would have added to it */
    add_collection(t, &i);
    resume(t);
}

void time_look_again(void)
{
    struct timer *t = current_timer;
    if (t == NULL || t->clock == NULL)
        return; /* of no thread alone */
    t->control = t->off_at = CONTROL_UNKNOWN;
    t->off_sp = 0;
}

void time_leave_out_thread(void)
{
    current_timer = &left_out;
}

/* Uses made-up tables and this thread; leaves nothing behind. False: there is no memory. */
static bool measure_once(struct wire_overhead *out)
{
    struct wire_clock clock = {0};
    struct wire_activation activations[4] = {{.caller_sp = UINTPTR_MAX, .flags = WIRE_ACTIVATION_BOUNDARY}};
    struct wire_timing timings[4] = {{0}}, *shared = arena.timings;
    struct wire_counts counts[4] = {{{0}, {0}, {0}, {0}}}, *shared_counts = arena.counts;
    uint64_t table[8] = {0};
    struct level levels[4] = {{0}};
    struct timer t = {.clock = &clock, .levels = levels, .top = activations, .bottom = activations, .limit = activations + 3, .table = table, .mask = 7, .control = control_now()};
    if (trace_on && (t.trace = private_alloc(sizeof *t.trace)) == NULL)
        return false;
    arena.timings = timings;
    arena.counts = counts;
    os_attach(&t);
    if (counters_used != 0)
        counters_attach(&t);
    current_timer = &t;
    clock.last = os_clock();
    hooks_measure(&t, timings, out);
    current_timer = NULL;
    detach(&t);
    if (trace_on)
        private_free(t.trace, sizeof *t.trace);
    arena.timings = shared;
    arena.counts = shared_counts;
    return true;
}

static uint64_t both_sides(const struct wire_overhead *o)
{
    return o->inside + o->outside;
}

/* The middle one of several measurements, and how far it is from the others. All of them are in the first moments of the process; where
 * calls are many, it is measured again later: see probe_overhead.c. */
static void measure_overhead(void)
{
    struct wire_overhead all[MEASUREMENTS] = {{0}};
    for (uint32_t i = 0; i < MEASUREMENTS; i++) {
        struct wire_overhead one = {0};
        if (!measure_once(&one))
            return;
        uint32_t k = i;
        for (; k > 0 && both_sides(&all[k - 1]) > both_sides(&one); k--)
            all[k] = all[k - 1];
        all[k] = one;
    }
    overhead = all[MEASUREMENTS / 2];
    uint64_t middle = both_sides(&overhead), more = both_sides(&all[MEASUREMENTS - 1]) - middle, less = middle - both_sides(&all[0]);
    overhead.uncertain = middle; /* in programs probes take up to twice as much as in the loop that is measured: docs/design/0018 */
    if (overhead.uncertain < more)
        overhead.uncertain = more;
    if (overhead.uncertain < less)
        overhead.uncertain = less;
    arena.header->overhead = overhead;
}

/* The rate of the clock is measured over a while that is used to measure the probes. */
void time_init(const struct time_options *o)
{
    struct wire_header *h = arena.header;
    uint64_t ticks, ns;
    call_hooks.choose(o);
    trace_init();
    pins_init(agent_info);
    timings_init(o->timings);
    blocks_are_reported = h->runtime_major == 9; /* seen on 9.0.7; not on 3.1.2, 8.0.33 and 10.0.12 */
    os_init();
    counters_init(o->counters);
    is_quick = clock_is_tsc && counters_used == 0;
    os_pair(&h->begin_ticks, &h->begin_ns);
    control_begin(h->begin_ticks);
    measure_overhead();
    if (is_quick && !trace_on)
        hooks_prepare();
    system_events_init(o->events); /* what was measured is none */
    do
        os_pair(&ticks, &ns);
    while (ns - h->begin_ns < RATE_NS);
    h->ticks_per_sec = (ticks - h->begin_ticks) * 1000u / (ns - h->begin_ns) * 1000000u +
                       (ticks - h->begin_ticks) * 1000u % (ns - h->begin_ns) * 1000000u / (ns - h->begin_ns);
    os_init_gap(h->ticks_per_sec);
}

void time_give_back(void)
{
    timers_give_back(&over_activation);
}

void time_end(void)
{
    uint64_t ns;
    if ((arena.header->data & WIRE_DATA_TIME) == 0)
        return;
    os_pair(&arena.header->end_ticks, &ns);
}

uint32_t time_event_mask(void)
{
    return (probes_on ? MONITOR_CACHE_SEARCHES : MONITOR_ENTERLEAVE) | MONITOR_JIT_COMPILATION | MONITOR_EXCEPTIONS | MONITOR_THREADS | MONITOR_MODULE_LOADS | MONITOR_SUSPENDS;
}

void time_install(void **callbacks)
{
    callbacks[CALLBACK_EXCEPTION_THROWN] = (void *)exception_thrown;
    callbacks[CALLBACK_CATCHER_FOUND] = (void *)catcher_found;
    callbacks[CALLBACK_FILTER_ENTER] = (void *)filter_enter;
    callbacks[CALLBACK_FILTER_LEAVE] = (void *)filter_leave;
    callbacks[CALLBACK_UNWIND_FUNCTION_ENTER] = (void *)unwind_enter;
    callbacks[CALLBACK_UNWIND_FUNCTION_LEAVE] = (void *)unwind_leave;
    callbacks[CALLBACK_FINALLY_ENTER] = (void *)finally_enter;
    callbacks[CALLBACK_FINALLY_LEAVE] = (void *)finally_leave;
    callbacks[CALLBACK_CATCHER_ENTER] = (void *)catcher_enter;
    callbacks[CALLBACK_CATCHER_LEAVE] = (void *)pins_catcher_leave;
    callbacks[CALLBACK_JIT_INLINING] = (void *)instrument_inlining;
    callbacks[CALLBACK_JIT_FINISHED] = (void *)instrument_compiled;
    trace_install(callbacks);
    pauses_install(callbacks);
    if (probes_on)
        call_hooks.install(callbacks);
}

void time_installed(void **callbacks)
{
    if (counters_have_rings())
        counters_leave_out_callbacks(callbacks);
}
