/* The timings of a thread, and those of calls that have no path of their own: shared by call_stack.c, call_tree.c and path_folding.c. */
#ifndef CLRPROF_TIMINGS_H
#define CLRPROF_TIMINGS_H

#include "arch/arch.h"
#include "core/arena.h"
#include "os/timer.h"

struct interval { /* between two events of a thread */
    uint64_t ticks, waited; /* waited: all of it or nothing */
    uint64_t end;           /* what the clock showed */
    bool acted, paused;     /* paused: a part of it was taken out */
    struct wire_waits waits;
    uint64_t counted[WIRE_MAX_COUNTERS];
};

HOT static inline struct wire_timing *timing_at(uint32_t number)
{
    return &arena.timings[number - 1];
}

/* Where CPU counters are read. */
HOT static inline struct wire_counts *counts_of(const struct wire_timing *x)
{
    return &arena.counts[x - arena.timings];
}

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

/* The same, of a call by the innermost activation, whose timing is the parent, or if the call is folded, another one. Functions
 * mostly call what they called last time, in the same order, so timings are linked in that order: the table, of which each slot is
 * another cache line, is the second choice. Above the top is still the call that ended last, without a timing if there was no room. */
HOT static inline __attribute__((always_inline)) uint32_t called_next(const struct timer *t, uint32_t parent, uint32_t function, uintptr_t return_address)
{
    const struct wire_activation *top = t->top;
    uint32_t last = top->children != 0 ? top[1].timing : 0, *link = last != 0 ? &timing_at(last)->next : &timing_at(top->timing)->first;
    if (LIKELY(*link != 0) && LIKELY(is_timing(*link, parent, function, return_address)))
        return *link;
    uint32_t number = find_timing(t, parent, function, return_address);
    if (number != 0)
        *link = number;
    return number;
}

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

HOT static inline uint64_t off_ticks(const struct sums *s)
{
    return s->waits.blocked + s->waits.ready;
}

HOT static inline void waits_add(struct wire_waits *w, const struct wire_waits *more)
{
    w->intervals += more->intervals;
    w->voluntary += more->voluntary;
    w->preempted += more->preempted;
    w->faults += more->faults;
    w->reads += more->reads;
    w->blocked += more->blocked;
    w->ready += more->ready;
}

/* ── call_tree.c ──────────────────────────────────────────────────────────────────────────────────────────────── */

extern uint64_t max_timings; /* of paths, in a process */
void timings_init(uint64_t most); /* UINT64_MAX: as many as the memory limit allows */
/* 0: no room. The last part of the memory is for those that may be made when the others may not. */
uint32_t make_timing(struct timer *t, uint32_t parent, uint32_t function, uintptr_t return_address, bool last_part);
uint32_t find_or_make(struct timer *t, uint32_t parent, uint32_t function, uintptr_t return_address, bool last_part);
struct wire_waits *waits_of(uint32_t *number); /* of what follows, NULL: no memory */
struct wire_acted *acted_of(struct wire_timing *x);
struct wire_inclusive *inclusive_of(struct wire_timing *x);

/* ── thread_timers.c ───────────────────────────────────────────────────────────────────────────────────────────────── */

struct timer *timer_attach(void); /* this thread's from now on; NULL: no memory */
void timer_give(struct timer *t); /* the next thread's that begins */
bool timer_grow(struct timer *t); /* room for twice as many activations; false: no memory */
void timers_give_back(struct wire_activation *top); /* of all; nothing but this activation is looked at any more */
/* How long nothing was recorded since the last event, of so many ticks up to now, which is the last event then. */
uint64_t timer_account_pauses(struct timer *t, uint64_t now, uint64_t ticks);
bool timer_pass_over(struct timer *t, uintptr_t sp); /* is the call, which would be recorded, none because of a pause? */
bool timer_is_unrecorded(const struct timer *t, uintptr_t sp); /* is this one of a pause, inside of the innermost activation? */
bool timer_may_hide(const struct timer *t); /* may there be any inside of the innermost activation? */
void timer_forget_unrecorded(struct timer *t, uintptr_t sp); /* if the outermost one of these has ended */

/* ── tail_calls.c ────────────────────────────────────────────────────────────────────────────────────────────────── */

enum tail { TAIL_STAYS, TAIL_JUMPS, TAIL_ENDS }; /* TAIL_ENDS: it jumps, and its activation, if it has one, ends */
/* What becomes of the call with this stack pointer of its caller, which is about to call by tail.; its own one, and a return address there. */
enum tail tails_decide(struct timer *t, uintptr_t sp, uintptr_t place, uintptr_t own_sp);
bool tails_enters(const struct timer *t, uintptr_t sp); /* does a call begin in the place of the innermost one, which has jumped? */
uintptr_t tails_place(const struct timer *t);           /* in that one: where it has jumped; 0: it is not known */
struct wire_activation *tails_repeated(const struct timer *t, uint32_t function, bool *repeated);
void tails_began(const struct timer *t, bool repeated); /* the call that enters so */

/* ── path_folding.c ─────────────────────────────────────────────────────────────────────────────────────────────────── */

void fold_init(void);
/* The timing of a call by the innermost activation, which is not folded; 0: it is to be folded. */
uint32_t fold_path(struct timer *t, uint32_t function, uintptr_t return_address);
uint32_t fold_call(struct timer *t, uint32_t function); /* that of a folded call; 0: no memory */
uint32_t fold_find(const struct timer *t, uint32_t function); /* the same, if it is there, and nothing has to be made; else 0 */
void fold_begin(uint32_t number);
void fold_add(const struct timer *t, uint32_t number, const struct interval *i); /* of no call: an interval that its caller has as one of a call */
void fold_end(struct timer *t, const struct wire_activation *a); /* its elapsed time is counted */

#endif
