/* Calls without a timing of their own path.
 *
 * When there is no room for more paths, or enough is taken by recursion, a call has none, and neither has what it calls: it
 * is folded. Folded calls are counted by (caller, function), below a timing that stands for all of them, (truncated): so
 * calls and exclusive times of each function and of each such pair stay exact.
 *
 * Inclusive times are measured then: the time from the outermost folded call of a function to its end, unless the
 * function is on the path of the caller that is not folded, for which it is counted already; the same for a pair. Who is on
 * that path is noted in the same timings (present), when a call is folded, and only as far as that has changed since the last
 * time: each call is noted once at most, so that costs no more than calls do. The caller that is not folded gets the time of
 * the folded calls that it made: so inclusive times of its path stay exact too.
 *
 * Paths are spent on what takes time. The first half of all goes to whoever comes first. Then each of the upper levels of the tree has a share of
 * its own, which deep code cannot take: what runs for long is called there, and often only once. Otherwise a path has to be earned: the folded
 * calls of a thread that were made by callers with paths are added up, and where the sum reaches the price of a path, the caller of the one that ends
 * then may give one more of its calls a path (granted). So what takes time gets its paths one level after the other, and what is rare and
 * deep gets none. The price rises with what was granted, and with depth.
 *
 * A function that has several numbers is known here by the first of them (declared_callees.c): else it would be taken for another one
 * where it is on the stack already, and its time counted twice. */
#include "arch/arch.h"
#include "core/arena.h"
#include "filter/declared_callees.h"
#include "os/timer.h"
#include "calls/call_tree.h"

#include <string.h>

#define RECURSION_PART 8u   /* of all timings so many, one in eight, may be of functions that are on their paths already */
#define RECURSION_REACH 64u /* timings up a path that are looked at to find out, as long as that is not reached */

#define FREE_PART 2u        /* half of all paths is for whoever comes first */
#define LEVELS 32u          /* of the tree, that have a share of their own: */
#define LEVEL_PART 128u     /* so many for each, one in 128: a quarter of all */
#define MOST_GRANTS 16u     /* that one caller can have and not have used */
#define FIRST_PRICE 2048u   /* ticks of folded calls for a path: more than making it takes, and a microsecond on most machines */
#define PRICES 32u          /* the price doubles when so large a part of all paths was granted, one in 32; no more than so often */
#define DEEPER 8u           /* levels of the tree, after which it doubles, too, */
#define CHEAP 3u            /* but not in so many of these at the top */

static uint64_t paths, recursive_paths; /* timings of the process that have one; of these, of functions that were on it already */
static uint64_t granted, price;         /* paths of calls that had shown to be expensive; ticks for the next one */
static bool free_is_used;               /* the paths for whoever comes first are used up */
static uint32_t on_level[LEVELS];       /* paths out of its share */
static bool paths_are_full;             /* there is no room for another one; it does not come back */

void fold_init(void)
{
    paths = recursive_paths = granted = 0;
    price = FIRST_PRICE;
    free_is_used = paths_are_full = false;
    memset(on_level, 0, sizeof on_level);
}

static uint64_t price_after(uint64_t grants)
{
    uint64_t each = max_timings / PRICES, doubled = grants / (each == 0 ? 1 : each);
    return (uint64_t)FIRST_PRICE << (doubled < PRICES ? doubled : PRICES);
}

static bool recursion_is_full(void)
{
    return __atomic_load_n(&recursive_paths, __ATOMIC_RELAXED) >= max_timings / RECURSION_PART;
}

/* ── timings of folded calls ────────────────────────────────────────────────────────────────────────────────── */

static uint32_t folded_function(struct timer *t, uint32_t function)
{
    if (t->truncated == 0)
        t->truncated = make_timing(t, 0, 0, 0, true);
    uint32_t number = t->truncated == 0 ? 0 : find_or_make(t, t->truncated, function, 0, true);
    return number != 0 && inclusive_of(timing_at(number)) != NULL ? number : 0;
}

/* Of a function called by another one, which is known by its timing below (truncated). */
static uint32_t folded_pair(struct timer *t, uint32_t caller, uint32_t function)
{
    uint32_t number = find_or_make(t, caller, function, 0, true);
    if (number == 0 || timing_at(number)->callee != 0)
        return number;
    uint32_t callee = folded_function(t, function);
    if (callee == 0 || inclusive_of(timing_at(number)) == NULL)
        return 0;
    timing_at(number)->callee = callee; /* last: fold_find takes it for a sign that all is there */
    return number;
}

/* ── who is on the stack ────────────────────────────────────────────────────────────────────────────────────── */

static void unmark(struct timer *t, uint32_t depth)
{
    for (; t->n_marked > depth; t->n_marked--) {
        const struct level *l = &t->levels[t->n_marked];
        timing_at(l->function)->present--;
        if (l->edge != 0)
            timing_at(l->edge)->present--;
    }
}

/* Notes all calls on the stack, none of which is folded. False: no memory. */
static bool mark(struct timer *t)
{
    uint32_t depth = (uint32_t)(t->top - t->bottom), same = depth < t->n_marked ? depth : t->n_marked;
    while (same > 0 && t->levels[same].marked_call != t->bottom[same].calls)
        same--;
    unmark(t, same);
    while (t->n_marked < depth) {
        uint32_t next = t->n_marked + 1, function = callees_first(timing_at(t->bottom[next].timing)->function), edge = 0;
        struct level *l = &t->levels[next];
        if (next > 1 && (edge = folded_pair(t, t->levels[next - 1].function, function)) == 0)
            return false;
        l->edge = edge;
        l->function = edge != 0 ? timing_at(edge)->callee : folded_function(t, function);
        if (l->function == 0)
            return false;
        l->marked_call = t->bottom[next].calls;
        timing_at(l->function)->present++;
        if (edge != 0)
            timing_at(edge)->present++;
        t->n_marked = next;
    }
    return true;
}

HOT static bool is_marked(const struct timer *t)
{
    uint32_t depth = (uint32_t)(t->top - t->bottom);
    return t->n_marked == depth && t->levels[depth].marked_call == t->top->calls;
}

/* ── paths ──────────────────────────────────────────────────────────────────────────────────────────────────── */

static bool is_near_on_path(uint32_t number, uint32_t function)
{
    for (uint32_t i = 0; i < RECURSION_REACH && number != 0; i++, number = timing_at(number)->parent)
        if (timing_at(number)->function == function)
            return true;
    return false;
}

static bool is_on_path(struct timer *t, uint32_t function)
{
    if (!recursion_is_full())
        return is_near_on_path(t->top->timing, function);
    uint32_t number = mark(t) ? find_timing(t, t->truncated, callees_first(function), 0) : 0;
    return number != 0 && timing_at(number)->present != 0;
}

/* Is there a path for a call by the innermost activation without a grant? */
HOT static bool is_open(const struct timer *t)
{
    uint64_t level = (uint64_t)(t->top - t->bottom);
    return !__atomic_load_n(&free_is_used, __ATOMIC_RELAXED) || (level < LEVELS && __atomic_load_n(&on_level[level], __ATOMIC_RELAXED) <= max_timings / LEVEL_PART);
}

/* May calls by the innermost activation have paths, because they have shown to be expensive? */
HOT static bool is_granted(const struct timer *t)
{
    return timing_at(t->top->timing)->present != 0;
}

static void use_grant(const struct timer *t)
{
    timing_at(t->top->timing)->present--;
    __atomic_store_n(&price, price_after(__atomic_add_fetch(&granted, 1, __ATOMIC_RELAXED)), __ATOMIC_RELAXED);
}

static bool is_full(void)
{
    return __atomic_load_n(&paths_are_full, __ATOMIC_RELAXED);
}

static void use_path(const struct timer *t, bool recursive, bool grant)
{
    uint64_t used = __atomic_add_fetch(&paths, 1, __ATOMIC_RELAXED);
    if (recursive)
        __atomic_fetch_add(&recursive_paths, 1, __ATOMIC_RELAXED);
    if (grant)
        use_grant(t);
    else if (__atomic_load_n(&free_is_used, __ATOMIC_RELAXED) && t->top - t->bottom < (ptrdiff_t)LEVELS)
        __atomic_fetch_add(&on_level[t->top - t->bottom], 1, __ATOMIC_RELAXED);
    if (used >= max_timings / FREE_PART)
        __atomic_store_n(&free_is_used, true, __ATOMIC_RELAXED);
    if (used >= max_timings)
        __atomic_store_n(&paths_are_full, true, __ATOMIC_RELAXED);
}

uint32_t fold_path(struct timer *t, uint32_t function, uintptr_t return_address)
{
    uint32_t parent = t->top->timing, number = find_timing(t, parent, function, return_address);
    bool root = parent == 0, recursive = false, grant = false; /* roots are few */
    if (number != 0)
        return number;
    if (!root) {
        if (is_full())
            return 0;
        grant = is_granted(t);
        recursive = !grant && is_open(t) && is_on_path(t, function);
        if (!grant && (!is_open(t) || (recursive && recursion_is_full())))
            return 0;
    }
    number = make_timing(t, parent, function, return_address, root);
    if (number == 0)
        __atomic_store_n(&paths_are_full, true, __ATOMIC_RELAXED);
    else
        use_path(t, recursive, grant);
    return number;
}

/* ── calls ──────────────────────────────────────────────────────────────────────────────────────────────────── */

static bool is_folded(const struct wire_activation *a)
{
    return (a->flags & WIRE_ACTIVATION_FOLDED) != 0;
}

uint32_t fold_call(struct timer *t, uint32_t function)
{
    uint32_t caller;
    if (is_folded(t->top)) {
        caller = timing_at(t->top->timing)->callee;
    } else {
        if (!mark(t) || inclusive_of(timing_at(t->top->timing)) == NULL)
            return 0;
        caller = t->levels[t->top - t->bottom].function;
    }
    return folded_pair(t, caller, function);
}

HOT uint32_t fold_find(const struct timer *t, uint32_t function)
{
    const struct wire_activation *top = t->top;
    bool folded = (top->flags & WIRE_ACTIVATION_FOLDED) != 0;
    if (!folded && (!is_marked(t) || timing_at(top->timing)->inclusive == 0))
        return 0;
    uint32_t caller = folded ? timing_at(top->timing)->callee : t->levels[top - t->bottom].function;
    uint32_t number = called_next(t, caller, function, 0), callee = number == 0 ? 0 : timing_at(number)->callee;
    if (callee == 0)
        return 0;
    if (!folded && !is_full() && (is_granted(t) || (is_open(t) && timing_at(callee)->present == 0)))
        return 0; /* there may be room for a path */
    return number;
}

HOT void fold_begin(uint32_t number)
{
    struct wire_timing *x = timing_at(number);
    x->present++;
    timing_at(x->callee)->present++;
}

/* What CPU counters counted in a call is added. */
HOT static void add_counted(const struct timer *t, uint64_t *to, const struct wire_activation *a)
{
    for (uint32_t i = 0; i < counters_used; i++)
        to[i] += t->counters.total[i] - t->levels[a - t->bottom].counted[i];
}

/* A call that ended is added to the time of what was on the stack with it. */
HOT static void add_inclusive(const struct timer *t, uint32_t timing, const struct wire_activation *a)
{
    struct wire_inclusive *v = &arena.inclusives[timing_at(timing)->inclusive - 1];
    const struct wire_clock *c = t->clock;
    v->elapsed += c->elapsed - a->elapsed;
    v->waited += c->waited - a->waited;
    if (UNLIKELY(c->acted != a->acted)) {
        const struct wire_waits *now = &t->sums.waits, *before = &t->levels[a - t->bottom].before.waits;
        v->waits.intervals += now->intervals - before->intervals;
        v->waits.voluntary += now->voluntary - before->voluntary;
        v->waits.preempted += now->preempted - before->preempted;
        v->waits.faults += now->faults - before->faults;
        v->waits.reads += now->reads - before->reads;
        v->waits.blocked += now->blocked - before->blocked;
        v->waits.ready += now->ready - before->ready;
    }
    v->calls += 1 + c->calls - a->calls;
    v->times++;
    if (UNLIKELY(counters_used != 0))
        add_counted(t, counts_of(timing_at(timing))->inclusive, a);
}

/* The same of a pair, for each call by itself. */
HOT static void add_each(const struct timer *t, const struct wire_activation *a)
{
    struct wire_inclusive *v = &arena.inclusives[timing_at(a->timing)->inclusive - 1];
    const struct wire_clock *c = t->clock;
    v->each_elapsed += c->elapsed - a->elapsed;
    v->each_waited += c->waited - a->waited;
    if (UNLIKELY(c->acted != a->acted))
        v->each_off += off_ticks(&t->sums) - off_ticks(&t->levels[a - t->bottom].before);
    v->each_calls += 1 + c->calls - a->calls;
    if (UNLIKELY(counters_used != 0))
        add_counted(t, counts_of(timing_at(a->timing))->each, a);
}

static void add_interval(uint32_t number, const struct interval *i, bool each)
{
    struct wire_inclusive *v = &arena.inclusives[timing_at(number)->inclusive - 1];
    v->elapsed += i->ticks;
    v->waited += i->waited;
    waits_add(&v->waits, &i->waits);
    v->each_elapsed += each ? i->ticks : 0;
    v->each_waited += each ? i->waited : 0;
    v->each_off += each ? i->waits.blocked + i->waits.ready : 0;
    for (uint32_t k = 0; k < counters_used; k++) {
        counts_of(timing_at(number))->inclusive[k] += i->counted[k];
        counts_of(timing_at(number))->each[k] += each ? i->counted[k] : 0;
    }
}

void fold_add(const struct timer *t, uint32_t number, const struct interval *i)
{
    add_interval(number, i, true);
    add_interval(timing_at(number)->callee, i, false);
    if (!is_folded(t->top))
        add_interval(t->top->timing, i, false);
}

/* A call by one with a path has ended: if that is enough for a path, one more call by it may have one. */
HOT static void spend(struct timer *t, const struct wire_activation *a)
{
    struct wire_timing *caller = timing_at(a[-1].timing);
    uint64_t parts = (uint64_t)(a - t->bottom) / DEEPER, deeper = parts < CHEAP ? 0 : parts - CHEAP + 1;
    uint64_t each = __atomic_load_n(&price, __ATOMIC_RELAXED) << (deeper < DEEPER ? deeper : DEEPER);
    t->unspent += t->clock->elapsed - a->elapsed;
    if (LIKELY(t->unspent < each))
        return;
    uint64_t more = t->unspent / each;
    caller->present = more < MOST_GRANTS - caller->present ? caller->present + (uint32_t)more : MOST_GRANTS;
    t->unspent %= each;
}

HOT void fold_end(struct timer *t, const struct wire_activation *a)
{
    struct wire_timing *x = timing_at(a->timing), *callee = timing_at(x->callee);
    add_each(t, a);
    if (--x->present == 0)
        add_inclusive(t, a->timing, a);
    if (--callee->present == 0)
        add_inclusive(t, x->callee, a);
    if ((a[-1].flags & WIRE_ACTIVATION_FOLDED) == 0) {
        add_inclusive(t, a[-1].timing, a);
        spend(t, a);
    }
}
