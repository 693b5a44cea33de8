/* What the stubs that compiled code calls cost, measured at the start, and again and again while the program runs. The stubs are the
 * machine's: see arch/arch.h.
 *
 * Problem: what a pair of probes takes differs with what the machine does besides, by half and more, and a program of many short calls
 * consists of probes. The start says nothing about later.
 *
 * Idea: a thread that records is interrupted now and then anyway, and takes the slow path. There it measures once more: a batch of calls of
 * a function without code, with a timer and timings of its own, which no reader sees. What these calls take is the agent's own time. */
#include "arch/arch.h"
#include "arch/entry.h"
#include "calls/calls.h"
#include "os/cpu_counters.h"
#include "calls/probe_overhead.h"
#include "os/context_switch.h"
#include "os/timer.h"
#include "calls/call_tree.h"
#include "control/recording_state.h"
#include "filter/probing.h"

#include <string.h>

#define BATCHES 31u      /* the median of so many is taken */
#define BATCH 400u       /* calls: shorter than a tick of the kernel's clock */
#define LEAST_BATCH 6u   /* where a thread is not left alone for longer */
#define ENOUGH 8u        /* batches in which nothing else happened */
#define COLD_CALLS 63u
#define AGAIN_BATCHES 7u   /* the median of so many, while the program runs: with AGAIN_CALLS each 15 us, in which no collection begins */
#define AGAIN_CALLS 64u
#define AGAIN_EACH 100u    /* at most so often in a second, in whichever thread: a part in 600 of one's time */

static void (*probed_function(void))(const struct method *)
{
    if (probes_number != 0)
        return machine_probed_il_numbered;
    if (trace_on)
        return probes_on ? machine_probed_il_traced : machine_probed_traced;
    return probes_on ? machine_probed_il : machine_probed;
}

static uint64_t median(uint64_t *values, uint32_t n)
{
    for (uint32_t i = 1; i < n; i++) {
        uint64_t v = values[i];
        uint32_t k = i;
        for (; k > 0 && values[k - 1] > v; k--)
            values[k] = values[k - 1];
        values[k] = v;
    }
    return n == 0 ? 0 : values[n / 2];
}

static void flush(const void *from, uint64_t bytes)
{
    for (uint64_t i = 0; i < bytes; i += CACHE_LINE)
        machine_flush((const uint8_t *)from + i);
}

struct probe { /* of a function without code */
    uint64_t inside[BATCHES > COLD_CALLS ? BATCHES : COLD_CALLS], outside[BATCHES > COLD_CALLS ? BATCHES : COLD_CALLS];
    uint64_t counted_inside[WIRE_MAX_COUNTERS][BATCHES], counted_outside[WIRE_MAX_COUNTERS][BATCHES]; /* when warm */
    uint32_t n;
};

static uint64_t looks(const struct timer *t)
{
    return t->alarms + t->false_alarms;
}

static void keep(struct probe *p, const struct timer *t, const struct wire_timing *x, uint64_t looks_before, uint64_t calls)
{
    if (looks(t) == looks_before && x->ended == calls) { /* nothing came between */
        for (uint32_t i = 0; i < counters_used && p->n < BATCHES; i++) {
            p->counted_inside[i][p->n] = counts_of(x)->tail[i] * 1024 / calls;
            p->counted_outside[i][p->n] = counts_of(x)->lead[i] * 1024 / calls;
        }
        p->inside[p->n] = x->tail_elapsed * 1024 / calls;
        p->outside[p->n++] = x->lead_elapsed * 1024 / calls;
    }
}

static void begin_batch(struct wire_timing *x)
{
    x->lead_elapsed = x->tail_elapsed = x->ended = 0;
    if (counters_used != 0)
        *counts_of(x) = (struct wire_counts){.lead = {0}};
}

static uint64_t measure_bare(const struct method *m, uint32_t calls)
{
    uint64_t took[BATCHES];
    void (*bare)(const struct method *) = probes_on ? machine_bare_il : machine_bare;
    for (uint32_t b = 0; b < BATCHES; b++) {
        uint32_t n = 0;
        uint64_t begin = os_clock();
        do
            bare(m);
        while (++n < calls);
        took[b] = (os_clock() - begin) * 1024 / n;
    }
    return median(took, BATCHES);
}

/* What is measured has no trace: the events of a batch only need room. */
static void forget_events(struct timer *t)
{
    if (trace_on)
        t->trace->head.used = 0;
}

/* Returns how many batches were kept. */
static uint32_t measure_warm(struct probe *p, struct timer *t, struct wire_timing *x, const struct method *probed, uint32_t calls)
{
    void (*call)(const struct method *) = probed_function();
    p->n = 0;
    for (uint32_t b = 0; b < BATCHES; b++) {
        uint64_t before = looks(t);
        forget_events(t);
        call(probed);
        begin_batch(x);
        for (uint32_t i = 0; i < calls; i++)
            call(probed);
        keep(p, t, x, before, calls);
    }
    return p->n;
}

/* The same of CPU counters. What the call itself counts is that of its caller: so many instructions. */
static void measure_counters(struct timer *t, struct probe *warm, const struct method *m, uint32_t calls)
{
    void (*bare)(const struct method *) = probes_on ? machine_bare_il : machine_bare;
    uint64_t counted[WIRE_MAX_COUNTERS] = {0};
    uint32_t n = 0;
    counters_begin(t);
    counters_resume(t);
    do
        bare(m);
    while (++n < calls);
    counters_look(t);
    counters_end(t, false, counted);
    for (uint32_t i = 0; i < counters_used; i++) {
        uint64_t outside = median(warm->counted_outside[i], warm->n), own = counted[i] * 1024 / n;
        arena.header->cpu_counters[i].inside = median(warm->counted_inside[i], warm->n);
        arena.header->cpu_counters[i].outside = outside > own ? outside - own : 0;
    }
}

/* The probed function is called by an activation that is made here, as framework code calls an instrumented function. */
void hooks_measure(struct timer *t, struct wire_timing *timings, struct wire_overhead *out)
{
    const struct method *probed = call_hooks.example();
    void (*call)(const struct method *) = probed_function();
    struct wire_timing *x = &timings[1];
    struct probe warm = {.n = 0}, cold = {.n = 0};
    timings[0].function = 1;
    x->parent = 1;
    x->function = probed->function;
    time_know(t, 2);
    *++t->top = (struct wire_activation){.caller_sp = UINTPTR_MAX - 8, .timing = 1, .flags = WIRE_ACTIVATION_BOUNDARY};
    uint32_t batch = BATCH;
    while (measure_warm(&warm, t, x, probed, batch) < ENOUGH && batch > LEAST_BATCH)
        batch /= 4;
    for (uint32_t i = 0; i < COLD_CALLS; i++) {
        uint64_t before = looks(t);
        begin_batch(x);
        flush(x, sizeof *x);
        flush(t->top, 2 * sizeof *t->top);
        flush(t->table, (t->mask + 1) * sizeof *t->table);
        flush(t, sizeof *t);
        t->clock->last = os_clock();
        call(probed);
        keep(&cold, t, x, before, 1);
    }
    uint64_t bare = measure_bare(probed, batch), outside = median(warm.outside, warm.n);
    if (counters_used != 0)
        measure_counters(t, &warm, probed, batch);
    *out = (struct wire_overhead){.inside = median(warm.inside, warm.n), .outside = outside > bare ? outside - bare : 0,
                                  .cold_inside = median(cold.inside, cold.n), .cold_outside = median(cold.outside, cold.n)};
}

/* ── again, while the program runs ──────────────────────────────────────────────────────────────────────────── */

static struct { /* one thread at a time measures */
    struct wire_activation activations[4];
    struct level levels[4];
    struct wire_clock clock;
    struct timer timer;
    uint64_t table[8];
    uint64_t last;            /* when it was done */
    uint64_t inside, outside; /* sums of what was measured */
    struct wire_timing *rows; /* two; NULL: it is not done */
    uint32_t number;          /* of the first of these */
    bool held;
} again;

void hooks_prepare(void)
{
    again.rows = NULL;
    const uint8_t *own = arena_own_rows(WIRE_REGION_TIMINGS);
    uint64_t size = sizeof *again.rows, index = own == NULL ? 0 : ((uint64_t)(own - (const uint8_t *)arena.timings) + size - 1) / size;
    if (own == NULL || index + 2 > UINT32_MAX)
        return;
    again.rows = &arena.timings[index];
    again.number = (uint32_t)index + 1;
}

bool hooks_measure_themselves(const struct timer *t)
{
    return UNLIKELY(t == &again.timer);
}

/* A timer to which nothing happens: the word never changes. */
static void make_timer(const struct method *probed)
{
    static volatile uint64_t quiet_word;
    struct timer *t = &again.timer;
    again.rows[0] = (struct wire_timing){.function = 1};
    again.rows[1] = (struct wire_timing){.function = probed->function, .parent = again.number};
    memset(again.table, 0, sizeof again.table);
    again.activations[0] = (struct wire_activation){.caller_sp = UINTPTR_MAX, .flags = WIRE_ACTIVATION_BOUNDARY};
    again.activations[1] = (struct wire_activation){.caller_sp = UINTPTR_MAX - 8, .timing = again.number, .flags = WIRE_ACTIVATION_BOUNDARY};
    again.clock = (struct wire_clock){0};
    t->levels = again.levels;
    t->bottom = again.activations;
    t->top = again.activations + 1;
    t->limit = again.activations + 3;
    t->clock = &again.clock;
    t->table = again.table;
    t->mask = sizeof again.table / sizeof *again.table - 1;
    t->word = &quiet_word;
    t->gap = INT64_MAX;
    t->control = control_now();
    time_know(t, again.number + 1);
}

/* False: something came between. */
static bool measure_batch(const struct timer *own, const struct method *probed, uint64_t *inside, uint64_t *outside)
{
    void (*call)(const struct method *) = probed_function(), (*bare)(const struct method *) = probes_on ? machine_bare_il : machine_bare;
    struct wire_timing *x = &again.rows[1];
    uint32_t n = 0;
    uint64_t begin = os_clock();
    do
        bare(probed);
    while (++n < AGAIN_CALLS);
    uint64_t took = (os_clock() - begin) * 1024 / n;
    again.clock.last = os_clock();
    call(probed);
    begin_batch(x);
    for (uint32_t i = 0; i < AGAIN_CALLS; i++)
        call(probed);
    *inside = x->tail_elapsed * 1024 / AGAIN_CALLS;
    *outside = above_zero(x->lead_elapsed * 1024 / AGAIN_CALLS, took);
    return x->ended == AGAIN_CALLS && *own->word == own->expect;
}

/* Of each word that the reader sees, any one is as good as the one before. */
static void add_measured(uint64_t inside, uint64_t outside)
{
    struct wire_overhead *o = &arena.header->overhead;
    uint64_t both = inside + outside;
    if (o->repeated == 0 || both < o->least)
        o->least = both;
    if (both > o->most)
        o->most = both;
    again.inside += inside;
    again.outside += outside;
    o->later_inside = again.inside / (o->repeated + 1);
    o->later_outside = again.outside / (o->repeated + 1);
    __atomic_store_n(&o->repeated, o->repeated + 1, __ATOMIC_RELEASE);
}

void hooks_measure_again(struct timer *own)
{
    uint64_t inside[AGAIN_BATCHES], outside[AGAIN_BATCHES], begin = os_clock();
    const struct method *probed = call_hooks.example();
    own->measured_calls = own->clock->calls;
    if (again.rows == NULL || begin - __atomic_load_n(&again.last, __ATOMIC_RELAXED) < arena.header->ticks_per_sec / AGAIN_EACH ||
        *own->word != own->expect || __atomic_exchange_n(&again.held, true, __ATOMIC_ACQUIRE))
        return;
    uint32_t n = 0;
    make_timer(probed);
    current_timer = &again.timer;
    while (n < AGAIN_BATCHES && measure_batch(own, probed, &inside[n], &outside[n]))
        n++;
    current_timer = own;
    if (n == AGAIN_BATCHES)
        add_measured(median(inside, n), median(outside, n));
    uint64_t now = os_clock();
    __atomic_store_n(&again.last, now, __ATOMIC_RELAXED);
    own->clock->last += now - begin;
    own->clock->own += now - begin;
    __atomic_store_n(&again.held, false, __ATOMIC_RELEASE);
}
