/* Scenarios of the call trace: its events against the calls that are counted, with a collector and without. */
#define _GNU_SOURCE
#include "time_world.h"

#include <fcntl.h>
#include <glob.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST_EVENTS (1u << 21)
#define MOST_FUNCTIONS 64u

static struct wire_trace_chunk *chunks; /* of the arena, which this may write to as the collector does */
static struct wire_header *shared;
static uint64_t freed;

static void map_arena(void)
{
    char pattern[4096];
    glob_t found;
    struct stat st;
    snprintf(pattern, sizeof pattern, "%s/*.arena", directory);
    if (glob(pattern, 0, NULL, &found) != 0)
        fake_die("no arena");
    int fd = open(found.gl_pathv[0], O_RDWR);
    fstat(fd, &st);
    uint8_t *base = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (base == MAP_FAILED)
        fake_die("cannot map the arena");
    shared = (struct wire_header *)(void *)base;
    chunks = (struct wire_trace_chunk *)(void *)(base + shared->regions[WIRE_REGION_TRACE].offset);
    freed = 0;
}

/* What was taken out of chunks: heads and events, in the order of sequences when all is read. */
struct part {
    struct wire_trace_chunk_head head;
    uint64_t first; /* of the events */
};
static struct part *parts;
static struct wire_trace_event *events;
static uint64_t n_parts, n_events;

/* As the collector: chunks that are full, or all. */
static void drain(bool all)
{
    uint64_t n = __atomic_load_n(&shared->regions[WIRE_REGION_TRACE].used, __ATOMIC_ACQUIRE) / sizeof *chunks, full = 0;
    if (parts == NULL) {
        parts = calloc(MOST_EVENTS, sizeof *parts);
        events = calloc(MOST_EVENTS, sizeof *events);
    }
    for (uint64_t i = 0; i < n; i++) {
        struct wire_trace_chunk *c = &chunks[i];
        uint32_t state = __atomic_load_n(&c->head.state, __ATOMIC_ACQUIRE), used = __atomic_load_n(&c->head.used, __ATOMIC_ACQUIRE);
        if (state == WIRE_TRACE_FREE || (state == WIRE_TRACE_TAKEN && !all))
            continue;
        if (n_events + used > MOST_EVENTS)
            fake_die("more events than there is room for");
        parts[n_parts++] = (struct part){c->head, n_events};
        for (uint32_t k = 0; k < used; k++)
            events[n_events++] = c->events[k];
        __atomic_store_n(&c->head.state, WIRE_TRACE_FREE, __ATOMIC_RELEASE);
        full++;
    }
    freed += full;
    __atomic_store_n(&shared->trace_freed, freed, __ATOMIC_RELEASE);
}

static int compare_parts(const void *a, const void *b)
{
    uint64_t x = ((const struct part *)a)->head.sequence, y = ((const struct part *)b)->head.sequence;
    return x < y ? -1 : x > y;
}

struct sums {
    uint64_t enters[MOST_FUNCTIONS], exits[MOST_FUNCTIONS], others, lost;
    bool complete;
};

/* One thread: its events are in order and nest. After a gap only the calls are left that were there all the time. */
static void replay(uint32_t thread, struct sums *sums)
{
    static uint32_t stack[1 << 16];
    uint32_t depth = 0;
    uint64_t last = 0, lost = 0;
    for (uint64_t i = 0; i < n_parts; i++) {
        const struct wire_trace_chunk_head *h = &parts[i].head;
        if (h->thread != thread)
            continue;
        check((h->kept == WIRE_TRACE_ALL_KEPT) == (h->lost == lost), "%llu events lost, and %u calls kept", (unsigned long long)(h->lost - lost), h->kept);
        check(h->kept == WIRE_TRACE_ALL_KEPT || h->lost_ticks >= last, "the gap begins before it");
        for (; h->kept < depth; depth--)
            stack[depth] = 0;
        sums->complete = sums->complete && h->lost == 0;
        lost = h->lost;
        for (uint64_t k = parts[i].first; k < parts[i].first + h->used; k++) {
            const struct wire_trace_event *e = &events[k];
            uint32_t kind = e->what & ((1u << WIRE_TRACE_KIND_BITS) - 1), at = e->what >> WIRE_TRACE_KIND_BITS;
            check(e->ticks >= last, "event %llu goes back", (unsigned long long)k);
            last = e->ticks;
            if (kind == WIRE_TRACE_ENTER) {
                check(at == depth + 1 || !sums->complete, "a call at depth %u, in %u", at, depth);
                for (uint32_t d = depth + 1; d < at; d++)
                    stack[d] = 0; /* its beginning is lost */
                stack[depth = at] = e->value;
                sums->enters[e->value]++;
            } else if (kind == WIRE_TRACE_EXIT) {
                check(at == depth || !sums->complete, "an end at depth %u, in %u", at, depth);
                check(at > depth || stack[at] == 0 || stack[at] == e->value, "the end of function %u, in one of %u", e->value, stack[at]);
                while (depth < at - 1)
                    stack[++depth] = 0; /* their beginnings are lost */
                depth = at - 1;
                sums->exits[e->value]++;
            } else {
                sums->others++;
            }
        }
    }
}

/* All events that were taken out, with the calls that are counted and what was lost. */
static void compare_trace(void)
{
    struct sums sums = {.complete = true};
    uint64_t calls[MOST_FUNCTIONS] = {0}, ended[MOST_FUNCTIONS] = {0}, all = 0, have = 0;
    uint32_t n;
    const struct wire_timing *timings = model_timings(shared, &n);
    const struct wire_clock *clocks = (const void *)((const uint8_t *)shared + shared->regions[WIRE_REGION_CLOCKS].offset);
    uint32_t threads = (uint32_t)(shared->regions[WIRE_REGION_CLOCKS].used / sizeof *clocks);
    qsort(parts, n_parts, sizeof *parts, compare_parts);
    for (uint32_t i = 1; i <= threads; i++)
        replay(i, &sums);
    for (uint32_t i = 0; i < threads; i++)
        sums.lost += clocks[i].trace_lost;
    for (uint32_t i = 0; i < n; i++) {
        calls[timings[i].function] += timings[i].calls;
        ended[timings[i].function] += timings[i].ended;
    }
    for (uint32_t i = 0; i < MOST_FUNCTIONS; i++) {
        check(sums.lost != 0 || (sums.enters[i] == calls[i] && sums.exits[i] == ended[i]), "function %u: %llu + %llu events, %llu + %llu calls", i,
              (unsigned long long)sums.enters[i], (unsigned long long)sums.exits[i], (unsigned long long)calls[i], (unsigned long long)ended[i]);
        all += calls[i] + ended[i];
        have += sums.enters[i] + sums.exits[i];
    }
    check(have + sums.others + sums.lost >= all && (sums.others != 0 || have + sums.lost == all), "%llu events and %llu lost, of %llu",
          (unsigned long long)have, (unsigned long long)sums.lost, (unsigned long long)all);
    check(all > 1000 / SCALE, "only %llu events", (unsigned long long)all);
}

static void traced(struct program p, const char *memory, uint32_t each)
{
    setenv("CLRPROF_TRACE", "1", 1);
    setenv("CLRPROF_MEMORY", memory, 1);
    begin(10);
    map_arena();
    check((shared->data & WIRE_DATA_TRACE) != 0, "data %x", shared->data);
    p.max_depth = 12;
    p.max_calls = 60;
    thread_model_begin(&p.model);
    for (uint32_t i = 0; i < 3000 / SCALE; i++) {
        p.calls = 0;
        call(&p, i == 0 ? APP_0 : TOOL_0, 0);
        if (each != 0 && i % each == each - 1)
            drain(false);
    }
    fake_callback(CALLBACK_SHUTDOWN, 0);
    drain(true);
    compare_trace();
}

static uint64_t lost_of_all(void)
{
    const struct wire_clock *clocks = (const void *)((const uint8_t *)shared + shared->regions[WIRE_REGION_CLOCKS].offset);
    uint64_t sum = 0;
    for (uint64_t i = 0; i < shared->regions[WIRE_REGION_CLOCKS].used / sizeof *clocks; i++)
        sum += clocks[i].trace_lost;
    return sum;
}

static void trace_calls(void)
{
    traced((struct program){.seed = 1, .throws = true}, "1000000000", 50);
    check(lost_of_all() == 0, "events are lost");
}

static void trace_frames_gone(void)
{
    traced((struct program){.seed = 2, .vanishes = true}, "1000000000", 0);
}

/* Eight chunks, which nobody empties, or somebody who comes too seldom. */
static void trace_full(void)
{
    traced((struct program){.seed = 3}, "4194304", 0);
    check(SANITIZED || lost_of_all() > 1000, "nothing is lost");
}

static void trace_gaps(void)
{
    traced((struct program){.seed = 4}, "4194304", 1500);
    check(SANITIZED || lost_of_all() > 1000, "nothing is lost");
}

static struct program programs[8];
static bool stopped;

static void run_one(struct job *j)
{
    run_program(&programs[j->index], 2000 / SCALE);
}

static void *collect(void *unused)
{
    while (!__atomic_load_n(&stopped, __ATOMIC_ACQUIRE)) {
        drain(false);
        sched_yield();
    }
    return unused;
}

static void trace_parallel(void)
{
    struct job jobs[8];
    struct entries none = {0};
    pthread_t collector;
    setenv("CLRPROF_TRACE", "1", 1);
    setenv("CLRPROF_MEMORY", "8388608", 1);
    begin(10);
    map_arena();
    stopped = false;
    for (uint32_t i = 0; i < 8; i++)
        programs[i] = (struct program){.seed = 100 + i, .max_depth = 12, .max_calls = 60};
    pthread_create(&collector, NULL, collect, NULL);
    start_jobs(jobs, 8, run_one);
    join_jobs(jobs, 8, &none);
    __atomic_store_n(&stopped, true, __ATOMIC_RELEASE);
    pthread_join(collector, NULL);
    drain(true);
    compare_trace();
}

const struct scenario trace_scenarios[] = {
    {"trace_calls", trace_calls},
    {"trace_frames_gone", trace_frames_gone},
    {"trace_full", trace_full},
    {"trace_gaps", trace_gaps},
    {"trace_parallel", trace_parallel},
    {NULL, NULL},
};
