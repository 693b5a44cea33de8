/* What the stubs that compiled code calls cost, measured at the start. The stubs are the machine's: see arch/arch.h. */
#include "arch/arch.h"
#include "calls.h"
#include "counters.h"
#include "hooks.h"
#include "os.h"
#include "probes.h"
#include "timer.h"
#include "timings.h"
#include "trace.h"

#define BATCHES 31u      /* the median of so many is taken */
#define BATCH 400u       /* calls: shorter than a tick of the kernel's clock */
#define LEAST_BATCH 6u   /* where a thread is not left alone for longer */
#define ENOUGH 8u        /* batches in which nothing else happened */
#define COLD_CALLS 63u

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
    const struct method *probed = probes_example();
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
    *out = (struct wire_overhead){median(warm.inside, warm.n), outside > bare ? outside - bare : 0, median(cold.inside, cold.n),
                                  median(cold.outside, cold.n), 0};
}
