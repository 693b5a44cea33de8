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
 * The lowest activation of every thread stands for "nothing recorded". It is a boundary, as code that is not
 * instrumented is: below it only instrumented functions are recorded.
 *
 * The functions named …_hook are called by the stubs in hooks.c, which keep only the general registers: they use no
 * others, and leave all but the usual case to time_…_slow, stubs that save the rest and call time_…_cold. */
#include "agent.h"

#include <errno.h>
#include <string.h>

#ifndef __clang__
#define HOT __attribute__((target("general-regs-only")))
#else
#define HOT /* the stubs save more */
#endif

#define FOLD_DEPTH 16     /* calls from the root whose inclusive times stay exact when paths are folded */
#define MAX_TRUNCATED 16u /* of a thread: below each there can be as many timings as there are functions */
#define FIRST_ACTIVATIONS 128u
#define FIRST_TIMINGS 64u /* slots of a thread's table */
#define KEPT_TIMINGS 4096u /* a bigger table is not kept for the next thread: clearing it would cost more */
#define RATE_NS 20000000u /* 20 ms: two readings are within 50 ns, so the rate is within 5 parts in a million */
#define PART 1024u        /* Overhead is in parts of a tick */

__thread struct timer *current_timer __attribute__((tls_model("initial-exec")));
static struct timer *free_timers;
static uint64_t max_timings;
static struct wire_overhead overhead; /* a copy of the header's */

HOT static inline struct wire_timing *timing_at(uint32_t number)
{
    return &arena.timings[number - 1];
}

/* That of a thread for which there is no memory: nothing of it is recorded, and each call is a loss. */
static struct wire_activation no_activation = {.caller_sp = UINTPTR_MAX, .flags = WIRE_ACTIVATION_TRUNCATED};
static struct timer no_timer = {.top = &no_activation, .bottom = &no_activation};

/* ── timings ────────────────────────────────────────────────────────────────────────────────────────────────── */

HOT static inline uint64_t timing_hash(uint32_t parent, uint32_t function, uintptr_t return_address)
{
    uint64_t h = (uint64_t)parent << 32 ^ function;
    h = (h ^ return_address * UINT64_C(0x9E3779B97F4A7C15)) * UINT64_C(0xff51afd7ed558ccd);
    return h >> 32;
}

HOT static inline bool is_timing(uint32_t number, uint32_t parent, uint32_t function, uintptr_t return_address)
{
    const struct wire_timing *x = timing_at(number);
    return x->return_address == return_address && x->parent == parent && x->function == function;
}

/* The number of a timing of this thread, 0: there is none. A slot is 0 or hash << 32 | number, so that timings with
 * other hashes, which are seldom in a cache, are not looked at. */
HOT static inline uint32_t find_timing(const struct timer *t, uint32_t parent, uint32_t function, uintptr_t return_address)
{
    uint64_t hash = timing_hash(parent, function, return_address);
    for (uint64_t i = hash;; i++) {
        uint64_t slot = t->table[i & t->mask];
        if (slot == 0)
            return 0;
        if (slot >> 32 == hash && is_timing((uint32_t)slot, parent, function, return_address))
            return (uint32_t)slot;
    }
}

static void put_slot(uint64_t *table, uint64_t mask, uint64_t slot)
{
    uint64_t i = slot >> 32;
    while (table[i & mask] != 0)
        i++;
    table[i & mask] = slot;
}

static void put_timing(const struct timer *t, uint32_t number)
{
    const struct wire_timing *x = timing_at(number);
    put_slot(t->table, t->mask, timing_hash(x->parent, x->function, x->return_address) << 32 | number);
}

/* Keeps the table at most half full. */
static bool table_has_room(struct timer *t)
{
    if (2 * (t->used + 1) <= t->mask + 1)
        return true;
    uint64_t slots = 2 * (t->mask + 1);
    uint64_t *table = private_alloc(slots * sizeof *table);
    if (table == NULL)
        return false;
    for (uint64_t i = 0; i <= t->mask; i++)
        if (t->table[i] != 0)
            put_slot(table, slots - 1, t->table[i]);
    private_free(t->table, (t->mask + 1) * sizeof *table);
    t->table = table;
    t->mask = slots - 1;
    return true;
}

/* A new one; 0: no room. The last part of the memory is for those that may be made when the others may not. */
static uint32_t make_timing(struct timer *t, uint32_t parent, uint32_t function, uintptr_t return_address, bool last_part)
{
    uint64_t used = __atomic_load_n(&arena.header->regions[WIRE_REGION_TIMINGS].used, __ATOMIC_RELAXED);
    bool full = used / sizeof(struct wire_timing) >= max_timings || arena_nearly_full();
    if (!table_has_room(t) || (full && !last_part))
        return 0;
    arena_lock();
    struct wire_timing *x = arena_reserve(WIRE_REGION_TIMINGS, sizeof *x);
    if (x != NULL) {
        *x = (struct wire_timing){.parent = parent, .function = function, .return_address = return_address, .thread = t->thread};
        memset(x->min, 0xFF, sizeof x->min);
        arena_publish(WIRE_REGION_TIMINGS, sizeof *x);
    }
    arena_unlock();
    if (x == NULL)
        return 0;
    uint32_t number = (uint32_t)(x - arena.timings) + 1;
    put_timing(t, number);
    t->used++;
    return number;
}

void time_know(struct timer *t, uint32_t number)
{
    put_timing(t, number);
}

static struct wire_waits *waits_of(uint32_t *number)
{
    if (*number == 0) {
        arena_lock();
        struct wire_waits *w = arena_reserve(WIRE_REGION_WAITS, sizeof *w);
        if (w != NULL) {
            arena_publish(WIRE_REGION_WAITS, sizeof *w);
            __atomic_store_n(number, (uint32_t)(w - arena.waits) + 1, __ATOMIC_RELEASE);
        }
        arena_unlock();
    }
    return *number == 0 ? NULL : &arena.waits[*number - 1];
}

static void add_waits(uint32_t *number, const struct wire_waits *seen)
{
    struct wire_waits *w = waits_of(number);
    if (w == NULL)
        return; /* the time itself is counted; the number of events is not, which the full arena says */
    w->intervals += seen->intervals;
    w->voluntary += seen->voluntary;
    w->preempted += seen->preempted;
    w->faults += seen->faults;
    w->reads += seen->reads;
    w->off_ns += seen->off_ns;
}

/* ── threads ────────────────────────────────────────────────────────────────────────────────────────────────── */

/* Room for twice as many activations, in shared memory: the calls that run can be told when the process is gone. */
static bool grow_activations(struct timer *t)
{
    uint32_t capacity = t->capacity == 0 ? FIRST_ACTIVATIONS : 2 * t->capacity;
    if (t->capacity >= arena.header->max_stack_depth)
        return false; /* which is at most MAX_FRAMES */
    arena_lock();
    uint64_t bytes = (2 + (uint64_t)capacity) * sizeof(struct wire_activation); /* the lowest, and one for (truncated) */
    struct wire_activation *a = arena_reserve(WIRE_REGION_ACTIVATIONS, bytes);
    if (a != NULL) {
        if (t->capacity != 0)
            memcpy(a, t->bottom, (1 + (uint64_t)t->capacity) * sizeof *a);
        else
            *a = (struct wire_activation){.caller_sp = UINTPTR_MAX, .flags = WIRE_ACTIVATION_BOUNDARY};
        arena_publish(WIRE_REGION_ACTIVATIONS, bytes);
    }
    arena_unlock();
    if (a == NULL)
        return false;
    t->top = t->capacity == 0 ? a : a + (t->top - t->bottom);
    t->bottom = a;
    t->capacity = capacity;
    t->limit = a + (capacity < arena.header->max_stack_depth ? capacity : arena.header->max_stack_depth);
    t->clock->capacity = capacity + 1;
    __atomic_store_n(&t->clock->activations, (uint64_t)(a - arena.activations) + 1, __ATOMIC_RELEASE);
    return true;
}

static struct timer *take_timer(void)
{
    arena_lock();
    struct timer *t = free_timers;
    if (t != NULL)
        free_timers = t->next_free;
    arena_unlock();
    return t != NULL ? t : private_alloc(sizeof *t);
}

static void give_timer(struct timer *t)
{
    arena_lock();
    t->next_free = free_timers;
    free_timers = t;
    arena_unlock();
}

/* The thread's table and clock. False: no memory. */
static bool prepare_timer(struct timer *t, uint32_t thread)
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
    t->used = 0;
    t->thread = thread;
    t->n_unwinding = t->n_truncated = 0;
    t->dispatch_sp = 0;
    arena_lock();
    uint64_t rows = arena.header->regions[WIRE_REGION_CLOCKS].used / sizeof(struct wire_clock), wanted = thread > rows ? thread - rows : 0;
    bool room = wanted == 0 || arena_reserve(WIRE_REGION_CLOCKS, wanted * sizeof(struct wire_clock)) != NULL;
    if (room)
        arena_publish(WIRE_REGION_CLOCKS, wanted * sizeof(struct wire_clock));
    arena_unlock();
    if (!room)
        return false;
    t->clock = &arena.clocks[thread - 1];
    if (t->capacity == 0)
        return grow_activations(t);
    t->top = t->bottom;
    t->clock->capacity = t->capacity + 1;
    __atomic_store_n(&t->clock->activations, (uint64_t)(t->bottom - arena.activations) + 1, __ATOMIC_RELEASE);
    return true;
}

static struct timer *attach_timer(void)
{
    uint32_t thread = thread_number();
    struct timer *t = thread == 0 ? NULL : take_timer();
    if (t == NULL)
        return NULL;
    if (!prepare_timer(t, thread)) {
        give_timer(t);
        return NULL;
    }
    os_attach(t);
    t->clock->mechanism = t->mechanism;
    t->clock->last = os_clock();
    current_timer = t;
    return t;
}

/* ── events ─────────────────────────────────────────────────────────────────────────────────────────────────── */

HOT static inline uint64_t above_zero(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

HOT static inline void note(uint64_t *least, uint64_t *most, uint64_t value)
{
    if (value < *least)
        *least = value;
    if (value > *most)
        *most = value;
}

HOT static inline void begin_call(struct timer *t, struct wire_activation *top, uint32_t number, uint32_t flags, uintptr_t sp)
{
    struct wire_clock *c = t->clock;
    timing_at(number)->calls++;
    c->calls++;
    struct wire_activation *a = top + 1;
    a->caller_sp = sp;
    a->timing = number;
    a->flags = flags;
    a->elapsed = c->elapsed;
    a->waited = c->waited;
    a->child_elapsed = a->child_waited = 0;
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

/* The tail has been counted. What the probes themselves took is taken out of the least and the most of one call. */
HOT static inline void end_call(struct timer *t, struct wire_activation *a)
{
    struct wire_clock *c = t->clock;
    struct wire_timing *x = timing_at(a->timing);
    uint64_t elapsed = c->elapsed - a->elapsed, waited = c->waited - a->waited;
    uint64_t below = (overhead.inside + overhead.outside) * (c->calls - a->calls);
    uint64_t inclusive = above_zero(elapsed, (overhead.inside + below) / PART);
    uint64_t exclusive = above_zero(elapsed - a->child_elapsed, (overhead.inside + overhead.outside * a->children) / PART);
    x->ended++;
    note(&x->min[0], &x->max[0], inclusive);
    note(&x->min[1], &x->max[1], exclusive);
    note(&x->min[2], &x->max[2], above_zero(inclusive, waited));
    note(&x->min[3], &x->max[3], above_zero(exclusive, waited - a->child_waited));
    a[-1].child_elapsed += elapsed;
    a[-1].child_waited += waited;
    a[-1].children++;
    t->top = a - 1;
    __atomic_store_n(&c->depth, (uint32_t)(t->top - t->bottom), __ATOMIC_RELEASE);
}

/* Does a call of the function by this activation's have a node? */
HOT static inline bool is_recorded(const struct wire_activation *top, const struct method *m)
{
    return LIKELY(top->flags == 0) || (top->flags == WIRE_ACTIVATION_BOUNDARY && !m->boundary);
}

HOT static inline uintptr_t return_address_of(const struct wire_activation *top, uintptr_t sp)
{
    return top->flags == 0 ? *(const uintptr_t *)(sp - 8) : 0;
}

/* Is it below a (truncated)? Then so is what it calls. */
HOT static inline bool is_folded(uint32_t number)
{
    uint32_t parent = number == 0 ? 0 : timing_at(number)->parent;
    return parent != 0 && timing_at(parent)->function == 0 && timing_at(parent)->parent != 0;
}

/* When the limit of timings is reached, a path that has none is folded: its function has one timing below (truncated),
 * which is below the call at FOLD_DEPTH, so that inclusive times up to there stay exact, as calls and exclusive times of
 * functions do; who called whom is lost. A thread has only so many of these; then its root's is taken. The interval before
 * such a call is counted as its caller's tail, since there is no other place for it. Gives the number of (truncated), or
 * 0 and the timing below which it is to be made. */
HOT static inline uint32_t find_truncated(const struct timer *t, uint32_t *below)
{
    const struct wire_activation *a = t->top;
    if (is_folded(a->timing))
        return timing_at(a->timing)->parent;
    if (a - t->bottom > FOLD_DEPTH)
        a = t->bottom + FOLD_DEPTH;
    *below = a->timing;
    uint32_t number = find_timing(t, *below, 0, 0);
    if (number != 0 || t->n_truncated < MAX_TRUNCATED || a == t->bottom)
        return number;
    *below = t->bottom[1].timing;
    return find_timing(t, *below, 0, 0);
}

HOT static inline uint32_t find_folded(const struct timer *t, uint32_t function)
{
    uint32_t below, truncated = find_truncated(t, &below);
    return truncated == 0 ? 0 : find_timing(t, truncated, function, 0);
}

/* The timing of a call by the innermost activation. Functions mostly call what they called last time, in the same order,
 * so timings are linked in that order: the table, of which each slot is another cache line, is the second choice. Above
 * the top there is still the activation of the call that ended last, which had no timing if there was no room. */
HOT static inline uint32_t find_called(const struct timer *t, const struct wire_activation *top, uint32_t function, uintptr_t return_address)
{
    if (UNLIKELY(top->timing == 0))
        return find_timing(t, 0, function, 0);
    uint32_t last = top->children != 0 ? top[1].timing : 0;
    uint32_t *link = last != 0 ? &timing_at(last)->next : &timing_at(top->timing)->first, number = *link;
    if (LIKELY(number != 0) && LIKELY(is_timing(number, top->timing, function, return_address)))
        return number;
    if (is_folded(top->timing))
        return 0; /* below it there is nothing */
    number = find_timing(t, top->timing, function, return_address);
    if (number != 0)
        *link = number;
    return number;
}

HOT void time_enter_hook(const struct method *m, uintptr_t sp)
{
    struct timer *t = current_timer;
    if (UNLIKELY(t == NULL)) {
        time_enter_slow(m, sp);
        return;
    }
    struct wire_activation *top = t->top;
    struct wire_clock *c = t->clock;
    if (UNLIKELY(sp >= top->caller_sp)) {
        time_enter_slow(m, sp);
        return;
    }
    if (!is_recorded(top, m)) {
        if (UNLIKELY((top->flags & (WIRE_ACTIVATION_TRUNCATED | WIRE_ACTIVATION_DISPATCHING)) != 0 || m->function == 0))
            time_enter_slow(m, sp);
        return;
    }
    uint64_t word, now;
    do {
        word = *t->word;
        now = __builtin_ia32_rdtsc();
    } while (UNLIKELY(*t->word != word));
    uint64_t interval = now - c->last;
    uint32_t number = find_called(t, top, m->function, return_address_of(top, sp)), lead = number;
    if (UNLIKELY(number == 0 && top->timing != 0 && m->function != 0))
        number = find_folded(t, m->function);
    if (UNLIKELY(word != t->expect || interval > t->gap || number == 0 || top == t->limit || !clock_is_tsc)) {
        time_enter_slow(m, sp);
        return;
    }
    if (LIKELY(top->timing != 0)) {
        c->elapsed += interval;
        if (LIKELY(lead != 0)) {
            timing_at(lead)->lead_elapsed += interval;
        } else {
            timing_at(top->timing)->tail_elapsed += interval;
            timing_at(top->timing)->folded++;
        }
    }
    c->last = now;
    begin_call(t, top, number, m->boundary ? WIRE_ACTIVATION_BOUNDARY : 0, sp);
}

HOT void time_leave_hook(const struct method *m, uintptr_t sp)
{
    struct timer *t = current_timer;
    if (UNLIKELY(t == NULL))
        return;
    struct wire_activation *a = t->top;
    struct wire_clock *c = t->clock;
    if (a->caller_sp != sp) {
        if (UNLIKELY(sp > a->caller_sp))
            time_leave_slow(m, sp);
        return; /* not recorded */
    }
    uint64_t word, now;
    do {
        word = *t->word;
        now = __builtin_ia32_rdtsc();
    } while (UNLIKELY(*t->word != word));
    uint64_t interval = now - c->last;
    if (UNLIKELY(word != t->expect || interval > t->gap || !clock_is_tsc || a->timing == 0)) {
        time_leave_slow(m, sp);
        return;
    }
    c->elapsed += interval;
    timing_at(a->timing)->tail_elapsed += interval;
    c->last = now;
    end_call(t, a);
}

/* ── the slow way ───────────────────────────────────────────────────────────────────────────────────────────── */

struct interval {
    uint64_t ticks, waited; /* waited: all of it or nothing */
    struct wire_waits waits;
};

/* The interval that ends now. What follows is the agent's own time, up to resume. */
static struct interval look(struct timer *t)
{
    struct interval i = {0};
    struct wire_clock *c = t->clock;
    uint64_t now = os_clock(), fresh = now;
    i.ticks = now - c->last;
    if (*t->word != t->expect || i.ticks > t->gap)
        fresh = os_look(t, &i.waits);
    if ((int64_t)i.ticks < 0) {
        loss(WIRE_LOSS_CLOCK_BACKWARDS, 0, 0);
        i.ticks = 0;
    }
    uint64_t more = fresh > now ? fresh - now : 0;
    if (i.waits.intervals != 0) {
        i.ticks += more; /* the system may have acted just now */
        i.waited = i.ticks;
    } else {
        c->own += more;
    }
    c->last = fresh;
    c->mechanism = t->mechanism;
    return i;
}

static void resume(struct timer *t)
{
    struct wire_waits seen = {0};
    uint64_t now = os_clock(), last = t->clock->last;
    if (*t->word != t->expect || (now > last && now - last > t->gap))
        now = os_look(t, &seen);
    uint64_t ticks = now > last ? now - last : 0;
    if (seen.intervals != 0 && t->top->timing != 0) {
        seen.intervals = 0; /* it is a part of the one that follows */
        struct wire_timing *x = timing_at(t->top->timing);
        t->clock->elapsed += ticks;
        t->clock->waited += ticks;
        x->tail_elapsed += ticks;
        x->tail_waited += ticks;
        add_waits(&x->tail_waits, &seen);
    } else {
        t->clock->own += ticks;
    }
    t->clock->last = now;
}

/* Adds an interval to one of a timing's two pairs of counters. */
static void add(struct timer *t, uint64_t *elapsed, uint64_t *waited, uint32_t *waits, const struct interval *i)
{
    t->clock->elapsed += i->ticks;
    t->clock->waited += i->waited;
    *elapsed += i->ticks;
    *waited += i->waited;
    if (i->waits.intervals != 0)
        add_waits(waits, &i->waits);
}

static void add_lead(struct timer *t, struct wire_timing *x, const struct interval *i)
{
    add(t, &x->lead_elapsed, &x->lead_waited, &x->lead_waits, i);
}

static void add_tail(struct timer *t, struct wire_timing *x, const struct interval *i)
{
    add(t, &x->tail_elapsed, &x->tail_waited, &x->tail_waits, i);
}

/* Ends a call whose end was not seen. The time since the last event belongs to whoever runs now. */
static void end_unseen(struct timer *t)
{
    if (t->top->timing == 0) {
        end_swallowed(t);
        return;
    }
    timing_at(t->top->timing)->unmatched++;
    loss(WIRE_LOSS_CALLS_UNMATCHED, 1, 0);
    end_call(t, t->top);
}

/* What has ended in another way while an exception unwound it. */
static void forget_unwound(struct timer *t)
{
    while (t->n_unwinding > 0 && t->unwinding[t->n_unwinding - 1].depth > t->clock->depth)
        t->n_unwinding--;
}

/* Ends the innermost call now, as its Leave would. */
static void end_now(struct timer *t)
{
    struct interval i = look(t);
    add_tail(t, timing_at(t->top->timing), &i);
    end_call(t, t->top);
    resume(t);
}

static uint32_t find_or_make(struct timer *t, uint32_t parent, uint32_t function, uintptr_t return_address, bool last_part)
{
    uint32_t number = find_timing(t, parent, function, return_address);
    return number != 0 ? number : make_timing(t, parent, function, return_address, last_part);
}

/* The timing of a call that has no room for one of its own; *flags are those of its activation. 0: none either. */
static uint32_t fold(struct timer *t, const struct method *m, uint32_t *flags)
{
    uint32_t below = 0, truncated = find_truncated(t, &below), number = 0;
    if (truncated == 0 && (truncated = make_timing(t, below, 0, 0, true)) != 0)
        t->n_truncated++;
    if (truncated != 0 && t->top < t->limit)
        number = find_or_make(t, truncated, m->function, 0, true);
    if (number != 0)
        return number;
    *flags = WIRE_ACTIVATION_TRUNCATED;
    loss(WIRE_LOSS_CALLS_FOLDED, 1, 0);
    return truncated;
}

static void begin_slow(struct timer *t, const struct method *m, uintptr_t sp)
{
    uint32_t number = 0, flags = m->boundary ? WIRE_ACTIVATION_BOUNDARY : 0, parent = t->top->timing;
    struct interval i = look(t);
    if (t->top < t->limit || grow_activations(t))
        number = find_or_make(t, parent, m->function, return_address_of(t->top, sp), parent == 0); /* roots are few */
    uint32_t lead = number;
    if (number == 0)
        number = fold(t, m, &flags);
    if (parent != 0 && lead != 0) {
        add_lead(t, timing_at(lead), &i);
    } else if (parent != 0) {
        add_tail(t, timing_at(parent), &i);
        timing_at(parent)->folded += number != 0; /* else the interval is nobody's call */
    }
    if (number != 0)
        begin_call(t, t->top, number, flags, sp);
    else
        begin_swallowed(t, sp);
    resume(t);
}

static void set_dispatching(struct timer *t, uint32_t flag)
{
    if (t->top->timing != 0)
        t->top->flags |= flag;
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

/* The runtime's own code that looks for the handler of an exception begins. */
static void begin_dispatch(struct timer *t, uintptr_t sp)
{
    t->dispatch_sp = sp;
    set_dispatching(t, WIRE_ACTIVATION_DISPATCHING);
}

void time_enter_cold(const struct method *m, uintptr_t sp)
{
    int saved_errno = errno;
    struct timer *t = current_timer;
    if (t == NULL && (t = attach_timer()) == NULL)
        t = current_timer = &no_timer;
    end_unseen_below(t, sp + 1);
    if ((t->top->flags & WIRE_ACTIVATION_DISPATCHING) != 0 && sp > t->dispatch_sp) {
        t->top->flags &= ~(uint32_t)WIRE_ACTIVATION_DISPATCHING; /* the exception was handled, and nobody said so */
        t->dispatch_sp = 0;
    }
    if (m->function == 0)
        begin_dispatch(t, sp);
    else if (is_recorded(t->top, m))
        begin_slow(t, m, sp);
    else if ((t->top->flags & WIRE_ACTIVATION_TRUNCATED) != 0)
        loss(WIRE_LOSS_CALLS_FOLDED, 1, 0);
    errno = saved_errno;
}

void time_leave_cold(const struct method *m, uintptr_t sp)
{
    (void)m;
    int saved_errno = errno;
    struct timer *t = current_timer;
    end_unseen_below(t, sp);
    if (t->top->caller_sp == sp && t->top->timing == 0)
        end_swallowed(t);
    else if (t->top->caller_sp == sp)
        end_now(t);
    errno = saved_errno;
}

/* ── exceptions ─────────────────────────────────────────────────────────────────────────────────────────────── */

/* The runtime says which function it unwinds, not which call of it. All calls of instrumented functions are recorded, so
 * one that is unwound is the innermost activation. Of framework functions only some are: such an activation is gone when
 * the call below it is unwound, or catches. Until then a finally block can run, which belongs to its function, so the
 * call ends when its unwinding ends.
 *
 * From .NET 9 on the search for a handler is managed code itself, which runs on top of the frames that it unwinds. Its
 * calls are none of the program's: the innermost activation is "dispatching" while it runs, but for filters and finally
 * blocks. */

static bool is_top(const struct timer *t, uint32_t function)
{
    return function != 0 && t->top->timing != 0 && (t->top->flags & ~(uint32_t)WIRE_ACTIVATION_DISPATCHING) == 0 &&
           timing_at(t->top->timing)->function == function;
}

/* Ends the innermost call, which is gone, while the search for a handler goes on. */
static void end_gone(struct timer *t)
{
    uint32_t dispatching = t->top->flags & WIRE_ACTIVATION_DISPATCHING;
    end_now(t);
    set_dispatching(t, dispatching);
    forget_unwound(t);
}

/* Does a filter run, and no recorded call inside of it? An exception that leaves a filter is told as one that unwinds the
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
        timing_at(top[-1].timing)->function == function && !in_filter(t))
        end_gone(t);
}

/* Native code can catch too: then the unwinding of the last frame began and does not end. Now another one is unwound, and
 * no block of that frame runs, so it is gone. */
static void end_caught_natively(struct timer *t)
{
    forget_unwound(t);
    if (t->n_unwinding > 0 && t->unwinding[t->n_unwinding - 1].kind == UNWINDS_TOP &&
        t->unwinding[t->n_unwinding - 1].depth == t->clock->depth)
        end_gone(t);
}

static void push_unwinding(struct timer *t, uint32_t kind)
{
    if (t->n_unwinding == MAX_UNWINDING)
        memmove(t->unwinding, t->unwinding + 1, --t->n_unwinding * sizeof *t->unwinding);
    t->unwinding[t->n_unwinding++] = (struct unwinding){t->clock->depth, kind, t->dispatch_sp};
}

/* NULL: nothing is known of this thread. */
static struct timer *timer_in_exception(void)
{
    struct timer *t = current_timer;
    return t == &no_timer ? NULL : t;
}

static hresult unwind_enter(void *self, uintptr_t function_id)
{
    (void)self;
    int saved_errno = errno;
    struct timer *t = timer_in_exception();
    if (t != NULL) {
        uint32_t function = method_function(function_id);
        end_caught_natively(t);
        end_boundary_above(t, function);
        push_unwinding(t, is_top(t, function) && !in_filter(t) ? UNWINDS_TOP : UNWINDS_OTHER);
    }
    errno = saved_errno;
    return HR_OK;
}

/* While a filter runs, .NET 9 tells of one end too many. */
static hresult unwind_leave(void *self)
{
    (void)self;
    int saved_errno = errno;
    struct timer *t = timer_in_exception();
    if (t != NULL)
        forget_unwound(t);
    if (t != NULL && t->n_unwinding > 0 && t->unwinding[t->n_unwinding - 1].kind <= UNWINDS_TOP) {
        struct unwinding u = t->unwinding[--t->n_unwinding];
        if (u.kind == UNWINDS_TOP && u.depth == t->clock->depth)
            end_gone(t);
    }
    errno = saved_errno;
    return HR_OK;
}

/* The program's own code runs in the middle of the search. */
static void begin_block(struct timer *t, uint32_t kind)
{
    forget_unwound(t);
    push_unwinding(t, kind);
    t->top->flags &= ~(uint32_t)WIRE_ACTIVATION_DISPATCHING;
}

/* The search goes on. What is still noted of exceptions within the block was handled there. */
static void end_block(uint32_t kind)
{
    struct timer *t = timer_in_exception();
    if (t == NULL)
        return;
    forget_unwound(t);
    while (t->n_unwinding > 0) {
        struct unwinding u = t->unwinding[--t->n_unwinding];
        if (u.kind == kind) {
            t->dispatch_sp = u.dispatch_sp;
            break;
        }
    }
    if (t->dispatch_sp != 0)
        set_dispatching(t, WIRE_ACTIVATION_DISPATCHING);
}

static hresult filter_enter(void *self, uintptr_t function_id)
{
    (void)self;
    (void)function_id; /* it is only asked: nothing is gone yet */
    struct timer *t = timer_in_exception();
    if (t != NULL)
        begin_block(t, RUNS_FILTER);
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
    int saved_errno = errno;
    struct timer *t = timer_in_exception();
    if (t != NULL) {
        end_boundary_above(t, method_function(function_id));
        begin_block(t, RUNS_FINALLY);
    }
    errno = saved_errno;
    return HR_OK;
}

static hresult finally_leave(void *self)
{
    (void)self;
    end_block(RUNS_FINALLY);
    return HR_OK;
}

/* The catching function was announced as one that is unwound, and is none. */
static hresult catcher_enter(void *self, uintptr_t function_id, uintptr_t object)
{
    (void)self;
    (void)object;
    int saved_errno = errno;
    struct timer *t = timer_in_exception();
    if (t != NULL) {
        end_boundary_above(t, method_function(function_id));
        forget_unwound(t);
        if (t->n_unwinding > 0 && t->unwinding[t->n_unwinding - 1].kind <= UNWINDS_TOP)
            t->n_unwinding--;
        t->top->flags &= ~(uint32_t)WIRE_ACTIVATION_DISPATCHING;
    }
    errno = saved_errno;
    return HR_OK;
}

/* ── begin and end ──────────────────────────────────────────────────────────────────────────────────────────── */

void time_thread_ended(void)
{
    struct timer *t = current_timer;
    current_timer = NULL;
    if (t == NULL || t == &no_timer)
        return;
    if (t->top != t->bottom && t->top->timing == 0)
        end_swallowed(t);
    if (t->top != t->bottom) {
        struct interval i = look(t);
        add_tail(t, timing_at(t->top->timing), &i);
        while (t->top != t->bottom)
            end_unseen(t);
    }
    os_detach(t);
    give_timer(t);
}

/* Uses made-up tables and this thread; leaves nothing behind. */
static void measure_overhead(void)
{
    struct wire_clock clock = {0};
    struct wire_activation activations[4] = {{.caller_sp = UINTPTR_MAX, .flags = WIRE_ACTIVATION_BOUNDARY}};
    struct wire_timing timings[4] = {{0}}, *shared = arena.timings;
    uint64_t table[8] = {0};
    struct timer t = {.clock = &clock, .top = activations, .bottom = activations, .limit = activations + 3, .table = table, .mask = 7};
    arena.timings = timings;
    os_attach(&t);
    current_timer = &t;
    clock.last = os_clock();
    hooks_measure(&t, timings, &arena.header->overhead);
    current_timer = NULL;
    os_detach(&t);
    arena.timings = shared;
    overhead = arena.header->overhead;
}

/* The rate of the clock is measured over a while that is used to measure the probes. */
void time_init(uint64_t most_timings)
{
    struct wire_header *h = arena.header;
    uint64_t ticks, ns;
    max_timings = most_timings;
    os_init();
    os_pair(&h->begin_ticks, &h->begin_ns);
    measure_overhead();
    do
        os_pair(&ticks, &ns);
    while (ns - h->begin_ns < RATE_NS);
    h->ticks_per_sec = (ticks - h->begin_ticks) * 1000u / (ns - h->begin_ns) * 1000000u +
                       (ticks - h->begin_ticks) * 1000u % (ns - h->begin_ns) * 1000000u / (ns - h->begin_ns);
    os_init_gap(h->ticks_per_sec);
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
    return MONITOR_ENTERLEAVE | MONITOR_JIT_COMPILATION | MONITOR_EXCEPTIONS | MONITOR_THREADS | MONITOR_MODULE_LOADS;
}

void time_install(void **callbacks)
{
    callbacks[CALLBACK_FILTER_ENTER] = (void *)filter_enter;
    callbacks[CALLBACK_FILTER_LEAVE] = (void *)filter_leave;
    callbacks[CALLBACK_UNWIND_FUNCTION_ENTER] = (void *)unwind_enter;
    callbacks[CALLBACK_UNWIND_FUNCTION_LEAVE] = (void *)unwind_leave;
    callbacks[CALLBACK_FINALLY_ENTER] = (void *)finally_enter;
    callbacks[CALLBACK_FINALLY_LEAVE] = (void *)finally_leave;
    callbacks[CALLBACK_CATCHER_ENTER] = (void *)catcher_enter;
    callbacks[CALLBACK_JIT_INLINING] = (void *)instrument_inlining;
    callbacks[CALLBACK_JIT_FINISHED] = (void *)instrument_compiled;
}
