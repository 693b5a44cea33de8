/* Scenarios of system events: the list against the sums, what is counted against what happened, and its bounds. */
#define _GNU_SOURCE
#include "time_world.h"

#include <stdlib.h>
#include <string.h>

#define STEP_NS 10u
/* minor-faults, major-faults, block-reads, block-writes: as the command asks for them */
#define COUNTERS "1:0:0,2:0:0,6:0:0,7:0:0"

static const void *rows(const struct wire_header *h, uint32_t region, uint64_t size, uint64_t *n)
{
    *n = h->regions[region].used / size;
    return (const uint8_t *)h + h->regions[region].offset;
}

static const struct wire_system_event *list(const struct wire_header *h, uint64_t *n)
{
    return rows(h, WIRE_REGION_SYSTEM_EVENTS, sizeof(struct wire_system_event), n);
}

static bool are_same(const struct wire_waits *a, const struct wire_waits *b)
{
    return a->voluntary == b->voluntary && a->preempted == b->preempted && a->faults == b->faults && a->reads == b->reads && a->blocked == b->blocked &&
           a->ready == b->ready;
}

/* Each timing's sums are those of its events, and events of no other kind are there. */
static uint64_t compare_sums(const struct wire_header *h)
{
    uint64_t n_events, n_waits, n;
    const struct wire_system_event *events = list(h, &n_events);
    const struct wire_waits *waits = rows(h, WIRE_REGION_WAITS, sizeof *waits, &n_waits), none = {0};
    const struct wire_timing *timings = rows(h, WIRE_REGION_TIMINGS, sizeof *timings, &n);
    struct wire_waits(*sums)[2] = calloc(n + 1, sizeof *sums);
    for (uint64_t i = 0; i < n_events; i++) {
        const struct wire_system_event *e = &events[i];
        if (e->timing == 0 || e->timing > n || e->lead > 1)
            fake_die("event %llu of timing %u", (unsigned long long)i, e->timing);
        struct wire_waits *w = &sums[e->timing - 1][e->lead];
        w->voluntary += e->voluntary;
        w->preempted += e->preempted;
        w->faults += e->major_faults;
        w->reads += e->reads;
        w->blocked += e->blocked;
        w->ready += e->ready;
        check(e->blocked + e->ready <= e->length && e->length <= e->end, "event %llu: %llu ticks up to %llu", (unsigned long long)i, (unsigned long long)e->length,
              (unsigned long long)e->end);
        check(e->minor_faults == 0 && e->writes == 0, "what nobody counts");
    }
    for (uint64_t i = 0; i < n; i++) {
        check(are_same(&sums[i][0], timings[i].tail_waits == 0 ? &none : &waits[timings[i].tail_waits - 1]), "tail of timing %llu", (unsigned long long)i);
        check(are_same(&sums[i][1], timings[i].lead_waits == 0 ? &none : &waits[timings[i].lead_waits - 1]), "lead of timing %llu", (unsigned long long)i);
    }
    free(sums);
    return n_events;
}

/* Programs of all kinds, in which the system does what it wants. */
static void events_sums(void)
{
    setenv("CLRPROF_MECHANISMS", "gap", 1);
    setenv("CLRPROF_EVENTS", "1", 1);
    struct program p = {.seed = 77, .max_depth = 12, .max_calls = 60, .throws = true};
    const struct wire_header *h = begin(STEP_NS);
    p.gap = h->gap_ticks;
    check(h->system_events == WIRE_EVENT_SCHED && h->counters == 0, "%u is listed", h->system_events);
    run_program(&p, 1000 / SCALE);
    fake_callback(CALLBACK_SHUTDOWN, 0);
    compare(&p.model);
    check_losses(h, p.gone, 0);
    uint64_t n = compare_sums(h);
    check(n >= 1000 / SCALE, "%llu events", (unsigned long long)n);
}

static struct program programs[8];

static void run_one(struct job *j)
{
    run_program(&programs[j->index], 200 / SCALE);
}

static void events_parallel(void)
{
    struct job jobs[8];
    struct entries none = {0};
    setenv("CLRPROF_MECHANISMS", "gap", 1);
    setenv("CLRPROF_EVENTS", "1:1000000", 1);
    const struct wire_header *h = begin(STEP_NS);
    for (uint32_t i = 0; i < 8; i++)
        programs[i] = (struct program){.seed = 500 + i, .gap = h->gap_ticks, .max_depth = 12, .max_calls = 60};
    start_jobs(jobs, 8, run_one);
    join_jobs(jobs, 8, &none);
    check_losses(h, 0, 0);
    uint64_t n = compare_sums(h);
    check(n >= 800 / SCALE, "%llu events", (unsigned long long)n);
}

#define WAIT_NS 100000

static void act(void *data)
{
    (void)data;
    fake_count(3, 7); /* of the function itself */
}

static void act_and_wait(void *data)
{
    (void)data;
    fake_count(2, 0); /* before a call: of its lead */
    fake_call(&methods[APP_2].method, 0, act, NULL);
    fake_wait(WAIT_NS, 1, 0, 1, 8);
    fake_count(1, 0);
}

static void nothing(void *data)
{
    (void)data;
}

static const struct wire_timing *timing_of(const struct wire_header *h, uint32_t number)
{
    uint64_t n;
    return (const struct wire_timing *)rows(h, WIRE_REGION_TIMINGS, sizeof(struct wire_timing), &n) + number - 1;
}

/* What was counted is attributed to the function that ran, by itself also where nobody waited; what nothing happened in is not listed. */
static void events_counted(void)
{
    setenv("CLRPROF_MECHANISMS", "gap", 1);
    setenv("CLRPROF_EVENTS", "7", 1);
    setenv("CLRPROF_COUNTERS", COUNTERS, 1);
    const struct wire_header *h = begin(STEP_NS);
    fake_call(&methods[APP_0].method, 0, nothing, NULL);
    fake_call(&methods[APP_1].method, 0, act_and_wait, NULL);
    fake_callback(CALLBACK_SHUTDOWN, 0);
    uint64_t n;
    const struct wire_system_event *e = list(h, &n);
    check(n == 3, "%llu events", (unsigned long long)n);
    if (n != 3)
        return;
    check(e[0].lead == 1 && e[0].minor_faults == 2 && e[0].writes == 0 && e[0].voluntary == 0, "before the call: %u faults", e[0].minor_faults);
    check(e[1].lead == 0 && e[1].timing == e[0].timing && e[1].minor_faults == 3 && e[1].writes == 7, "in it: %u faults, %u writes", e[1].minor_faults, e[1].writes);
    check(timing_of(h, e[1].timing)->parent == e[2].timing, "not of the caller");
    check(e[2].lead == 0 && e[2].minor_faults == 1 && e[2].major_faults == 1 && e[2].reads == 8 && e[2].voluntary == 1 && e[2].blocked + e[2].ready == WAIT_NS,
          "after it: %u faults, %u with the disk, %u reads, %u waits, %llu ns", e[2].minor_faults, e[2].major_faults, e[2].reads, e[2].voluntary,
          (unsigned long long)(e[2].blocked + e[2].ready));
    check(e[0].end <= e[1].end && e[1].end + WAIT_NS <= e[2].end && e[2].length >= WAIT_NS, "not in the order of time");
    check_losses(h, 0, 0);
}

/* Only what was asked for is listed, whatever else is counted. */
static void events_of_one_kind(void)
{
    setenv("CLRPROF_MECHANISMS", "gap", 1);
    setenv("CLRPROF_EVENTS", "4", 1);
    setenv("CLRPROF_COUNTERS", COUNTERS, 1);
    const struct wire_header *h = begin(STEP_NS);
    fake_call(&methods[APP_1].method, 0, act_and_wait, NULL);
    fake_callback(CALLBACK_SHUTDOWN, 0);
    uint64_t n;
    const struct wire_system_event *e = list(h, &n);
    check(n == 2, "%llu events", (unsigned long long)n);
    for (uint64_t i = 0; i < n; i++)
        check(e[i].minor_faults + e[i].major_faults + e[i].voluntary == 0 && e[i].blocked + e[i].ready == 0 && e[i].reads + e[i].writes > 0, "event %llu of another kind",
              (unsigned long long)i);
}

#define WAITS 20u
#define ROOM 7u

static void wait_here(void *data)
{
    (void)data;
    fake_wait(WAIT_NS, 1, 0, 0, 0);
}

/* A list that is full loses what comes after, and says how much; the sums have it. */
static void events_limit(void)
{
    setenv("CLRPROF_MECHANISMS", "gap", 1);
    setenv("CLRPROF_EVENTS", "1:7", 1);
    const struct wire_header *h = begin(STEP_NS);
    for (uint32_t i = 0; i < WAITS; i++)
        fake_call(&methods[APP_1].method, 0, wait_here, NULL);
    fake_callback(CALLBACK_SHUTDOWN, 0);
    uint64_t n, n_waits, voluntary = 0;
    list(h, &n);
    const struct wire_waits *waits = rows(h, WIRE_REGION_WAITS, sizeof *waits, &n_waits);
    for (uint64_t i = 0; i < n_waits; i++)
        voluntary += waits[i].voluntary;
    check(n == ROOM && losses(h, WIRE_LOSS_SYSTEM_EVENTS) == WAITS - ROOM, "%llu events, %llu lost", (unsigned long long)n,
          (unsigned long long)losses(h, WIRE_LOSS_SYSTEM_EVENTS));
    check(voluntary == WAITS, "%llu waits", (unsigned long long)voluntary);
}

/* Nobody asks: nothing is listed. */
static void events_off(void)
{
    setenv("CLRPROF_MECHANISMS", "gap", 1);
    const struct wire_header *h = begin(STEP_NS);
    fake_call(&methods[APP_1].method, 0, wait_here, NULL);
    fake_callback(CALLBACK_SHUTDOWN, 0);
    uint64_t n;
    list(h, &n);
    check(n == 0 && h->system_events == 0 && h->regions[WIRE_REGION_SYSTEM_EVENTS].backed == 0, "%llu events", (unsigned long long)n);
    check_losses(h, 0, 0);
}

/* ── system calls and migrations ────────────────────────────────────────────────────────────────────────────── */

#define KERNEL "10:2:443,11:1:4" /* system calls and migrations */
enum { CALLS, MOVES };

/* A filter of system calls is the test's own, and with it the agent opens no event. */
static bool is_filtered(void)
{
    char line[128];
    bool filtered = false;
    FILE *f = fopen("/proc/self/status", "r");
    while (f != NULL && fgets(line, sizeof line, f) != NULL)
        filtered = filtered || (strncmp(line, "Seccomp:", 8) == 0 && atoi(line + 8) != 0);
    if (f != NULL)
        fclose(f);
    if (filtered)
        printf("SKIPPED: system calls are filtered here\n");
    return filtered;
}

static const struct wire_header *begin_kernel(const char *counters, const char *events)
{
    setenv("CLRPROF_MECHANISMS", "gap", 1);
    setenv("CLRPROF_COUNTERS", counters, 1);
    setenv("CLRPROF_EVENTS", events, 1);
    fake_events.on = true;
    return begin(STEP_NS);
}

static void call_and_move(void *data)
{
    (void)data;
    fake_called(3);
    fake_pass(70);
    fake_moved(1);
}

static void call_and_wait(void *data)
{
    (void)data;
    fake_called(5);
    fake_pass(50);
    fake_call(&methods[APP_2].method, 0, call_and_move, NULL);
    fake_pass(30);
    fake_call(&methods[APP_3].method, 0, nothing, NULL);
    fake_called(2);
    fake_wait(WAIT_NS, 1, 0, 0, 0);
}

/* System calls that do not block are the system's time, without a wait; none of the agent's own is among them. */
static void events_calls(void)
{
    if (is_filtered())
        return;
    const struct wire_header *h = begin_kernel(KERNEL ",1:0:0", "25"); /* with a counter whose reading is a system call */
    fake_call(&methods[APP_1].method, 0, call_and_wait, NULL);
    fake_callback(CALLBACK_SHUTDOWN, 0);
    uint64_t n, n_waits;
    const struct wire_system_event *e = list(h, &n);
    const struct wire_waits *waits = rows(h, WIRE_REGION_WAITS, sizeof *waits, &n_waits);
    check(n == 3, "%llu events", (unsigned long long)n);
    if (n != 3)
        return;
    check(e[0].lead == 1 && e[0].calls == 5 && e[0].migrations == 0 && e[0].blocked + e[0].ready == 0 && e[0].length >= 50, "before the call: %u calls", e[0].calls);
    check(e[1].lead == 0 && e[1].calls == 3 && e[1].migrations == 1 && e[1].timing == e[0].timing && e[1].voluntary == 0, "in it: %u calls, %u migrations", e[1].calls,
          e[1].migrations);
    check(e[2].calls == 2 && e[2].voluntary == 1 && e[2].blocked == WAIT_NS, "after it: %u calls, %llu ns", e[2].calls, (unsigned long long)e[2].blocked);
    const struct wire_timing *inner = timing_of(h, e[1].timing), *outer = timing_of(h, e[2].timing), *quiet = timing_of(h, e[1].timing + 1);
    check(inner->tail_waited == inner->tail_elapsed && inner->lead_waited == inner->lead_elapsed && outer->tail_waited >= WAIT_NS, "application time with calls");
    check(quiet->lead_elapsed >= 30 && quiet->lead_waited + quiet->tail_waited == 0, "none without");
    check(inner->tail_waits != 0 && waits[inner->tail_waits - 1].intervals == 1 && waits[inner->tail_waits - 1].voluntary == 0, "an interval without a wait");
    check(h->cpu_counters[CALLS].inside + h->cpu_counters[CALLS].outside == 0, "the probes call: %llu and %llu", (unsigned long long)h->cpu_counters[CALLS].inside,
          (unsigned long long)h->cpu_counters[CALLS].outside);
    check_losses(h, 0, 0);
}

/* Which calls an event says that there were, of the rows from `at` on: as text, and how many have a name. */
static uint32_t count_named(const struct wire_header *h, const struct wire_system_event *e, uint64_t at, uint32_t number)
{
    uint64_t n;
    uint32_t sum = 0;
    const struct wire_system_call *calls = rows(h, WIRE_REGION_SYSTEM_CALLS, sizeof *calls, &n);
    check(at + e->named <= n, "rows %llu to %llu of %llu", (unsigned long long)at, (unsigned long long)(at + e->named), (unsigned long long)n);
    for (uint64_t i = at; i < at + e->named && i < n; i++)
        sum += number == UINT32_MAX || calls[i].number == number ? calls[i].count : 0;
    return sum;
}

#define RING_CALLS 204u /* that the agent knows of between two events */
#define MANY_KINDS 40u  /* more than it distinguishes */

static void call_named(void *data)
{
    (void)data;
    fake_called_as(2, 39);
    fake_called_as(1, 0);
    fake_called_as(3, 39);
    fake_call(&methods[APP_2].method, 0, nothing, NULL);
    fake_called_as(RING_CALLS + 50, 1);
    fake_called_as(1, 2);
    fake_call(&methods[APP_2].method, 0, nothing, NULL);
    for (uint32_t i = 0; i < MANY_KINDS; i++)
        fake_called_as(1, 100 + i);
}

/* Each event says which system calls there were in it. What the ring has no more, and kinds beyond those that are distinguished, are counted and have no
 * name. */
static void events_calls_named(void)
{
    if (is_filtered())
        return;
    const struct wire_header *h = begin_kernel(KERNEL, "8");
    fake_call(&methods[APP_1].method, 0, call_named, NULL);
    fake_callback(CALLBACK_SHUTDOWN, 0);
    uint64_t n, at = 0;
    const struct wire_system_event *e = list(h, &n);
    check(n == 3, "%llu events", (unsigned long long)n);
    if (n != 3)
        return;
    check(e[0].calls == 6 && e[0].named == 2 && count_named(h, &e[0], at, 39) == 5 && count_named(h, &e[0], at, 0) == 1, "%u calls, %u kinds", e[0].calls, e[0].named);
    at += e[0].named;
    check(e[1].calls == RING_CALLS + 51 && count_named(h, &e[1], at, 1) == RING_CALLS - 1 && count_named(h, &e[1], at, 2) == 1, "%u calls, %u named", e[1].calls,
          count_named(h, &e[1], at, UINT32_MAX));
    at += e[1].named;
    check(e[2].calls == MANY_KINDS && e[2].named == 32 && count_named(h, &e[2], at, UINT32_MAX) == 32, "%u calls, %u kinds", e[2].calls, e[2].named);
    check_losses(h, 0, 0);
}

/* Where the kernel does not say which they were they are counted all the same. */
static void events_calls_nameless(void)
{
    if (is_filtered())
        return;
    fake_events.nameless = true;
    const struct wire_header *h = begin_kernel(KERNEL, "8");
    fake_call(&methods[APP_1].method, 0, call_named, NULL);
    fake_callback(CALLBACK_SHUTDOWN, 0);
    uint64_t n;
    const struct wire_system_event *e = list(h, &n);
    check(n == 3 && e[0].calls == 6 && e[1].calls == RING_CALLS + 51 && e[2].calls == MANY_KINDS, "%llu events", (unsigned long long)n);
    check(h->regions[WIRE_REGION_SYSTEM_CALLS].used == 0, "%llu bytes of names", (unsigned long long)h->regions[WIRE_REGION_SYSTEM_CALLS].used);
    check_losses(h, 0, 0);
}

#define MOST_BELOW 4u
#define KINDS 4u

struct calling {
    uint64_t seed, left, calls[N_METHODS], moves[N_METHODS];
    uint32_t depth;
    int method;
};

static uint64_t next(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *seed >> 33;
}

/* Calls of the system and of functions that are compiled just then, in any order. */
static void call_at_random(void *data)
{
    struct calling *c = data;
    int own = c->method;
    for (uint64_t i = next(&c->seed) % (2 * MOST_BELOW); i > 0 && c->left > 0; i--) {
        uint32_t calls = (uint32_t)(next(&c->seed) % 3), moves = (uint32_t)(next(&c->seed) % 2);
        fake_called_as(calls, (uint32_t)own);
        fake_moved(moves);
        fake_pass((int64_t)(next(&c->seed) % 100));
        c->calls[own] += calls;
        c->moves[own] += moves;
        c->left--;
        if (c->depth == MOST_BELOW || next(&c->seed) % 2 == 0)
            continue;
        c->method = APP_0 + (int)(next(&c->seed) % KINDS);
        c->depth++;
        fake_call(&methods[c->method].method, 0, call_at_random, c);
        c->depth--;
    }
}

/* Of each function there is what was called in it, whatever the agent does meanwhile, in the sums and in the list. */
static void events_calls_random(void)
{
    if (is_filtered())
        return;
    compile_late = true;
    const struct wire_header *h = begin_kernel(KERNEL ",8:0:0", "24:1000000");
    struct calling c = {.seed = 4711, .left = 20000 / SCALE};
    while (c.left > 0) {
        c.method = APP_0 + (int)(next(&c.seed) % KINDS);
        fake_call(&methods[c.method].method, 0, call_at_random, &c);
    }
    fake_callback(CALLBACK_SHUTDOWN, 0);
    uint64_t n, n_events, n_counts;
    const struct wire_system_event *e = list(h, &n_events);
    const struct wire_timing *timings = rows(h, WIRE_REGION_TIMINGS, sizeof *timings, &n);
    const struct wire_counts *counts = rows(h, WIRE_REGION_COUNTS, sizeof *counts, &n_counts);
    uint64_t all[2] = {0}, summed[2] = {0}, listed[2] = {0}, at = 0, named[KINDS] = {0};
    for (int m = APP_0; m < APP_0 + (int)KINDS; m++) {
        all[CALLS] += c.calls[m];
        all[MOVES] += c.moves[m];
    }
    for (uint64_t i = 0; i < n; i++)
        for (int k = CALLS; k <= MOVES; k++)
            summed[k] += counts[i].tail[k] + counts[i].lead[k];
    for (uint64_t i = 0; i < n_events; i++) {
        listed[CALLS] += e[i].calls;
        listed[MOVES] += e[i].migrations;
        for (uint32_t k = 0; k < KINDS; k++)
            named[k] += count_named(h, &e[i], at, APP_0 + k);
        at += e[i].named;
    }
    for (uint32_t k = 0; k < KINDS; k++)
        check(named[k] == c.calls[APP_0 + (int)k], "call %u: %llu, named %llu", APP_0 + k, (unsigned long long)c.calls[APP_0 + (int)k], (unsigned long long)named[k]);
    for (int k = CALLS; k <= MOVES; k++)
        check(all[k] != 0 && summed[k] == all[k] && listed[k] == all[k], "%llu, in sums %llu, in the list %llu", (unsigned long long)all[k], (unsigned long long)summed[k],
              (unsigned long long)listed[k]);
    check_losses(h, 0, 0);
}

/* Where the kernel refuses its events nothing is listed, each interval is a loss, and times are what they were. */
static void events_calls_refused(void)
{
    if (is_filtered())
        return;
    fake_events.refused = true;
    const struct wire_header *h = begin_kernel(KERNEL, "24");
    fake_call(&methods[APP_1].method, 0, call_and_wait, NULL);
    fake_callback(CALLBACK_SHUTDOWN, 0);
    uint64_t n;
    list(h, &n);
    const struct wire_timing *first = timing_of(h, 1);
    check(n == 0 && losses(h, WIRE_LOSS_COUNTS) != 0, "%llu events, %llu lost", (unsigned long long)n, (unsigned long long)losses(h, WIRE_LOSS_COUNTS));
    check(first->calls == 1 && first->tail_elapsed >= WAIT_NS, "%llu calls", (unsigned long long)first->calls);
}

/* Nobody asks for them: no event is opened. */
static void events_calls_off(void)
{
    const struct wire_header *h = begin_kernel("1:0:0", "3");
    fake_call(&methods[APP_1].method, 0, call_and_wait, NULL);
    fake_callback(CALLBACK_SHUTDOWN, 0);
    check(fake_events.opened == 0, "%u are open", fake_events.opened);
    check_losses(h, 0, 0);
}

const struct scenario system_event_scenarios[] = {
    {"events_sums", events_sums},
    {"events_parallel", events_parallel},
    {"events_counted", events_counted},
    {"events_of_one_kind", events_of_one_kind},
    {"events_limit", events_limit},
    {"events_off", events_off},
    {"events_calls", events_calls},
    {"events_calls_named", events_calls_named},
    {"events_calls_nameless", events_calls_nameless},
    {"events_calls_random", events_calls_random},
    {"events_calls_refused", events_calls_refused},
    {"events_calls_off", events_calls_off},
    {NULL, NULL},
};
