/* Scenarios of time: which functions are recorded, limits, faults, and the ends of threads and programs. */
#define _GNU_SOURCE
#include "time_world.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <sys/file.h>
#include <unistd.h>

/* ── which functions are recorded ───────────────────────────────────────────────────────────────────────────── */

/* A letter for each method: m mine, b boundary, n not hooked, d hooked and never recorded. */
static const struct rule_case {
    const char *instrument, *rules, *small, *classes;
    int place; /* 1: the program is self-contained; 2: it is part of an SDK, and all in the folder of its main assembly is the user's */
} rule_cases[] = {
    {NULL, NULL, NULL, "bbbbmmmmmmmndb", 0},
    {"boundary", "", "0", "bbbbmmmmmmmndb", 0},
    {"mine", NULL, NULL, "nnnnmmmmmmmnnn", 0},
    {"all", NULL, NULL, "mmmmmmmmmmmndm", 0},
    {NULL, NULL, "12", "nnbbmmmmmmmndb", 0},
    {NULL, NULL, "22", "nnnnnnnnnnnndb", 0},
    {NULL, NULL, NULL, "bbbbmmmmmmmndb", 1}, /* what Microsoft made is the framework, and not all that is called as that is */
    {"mine", NULL, NULL, "nnnnmmmmmmmnnn", 1},
    {NULL, NULL, NULL, "bbbbmmmmmbmndb", 2},
    {NULL, "-App", NULL, "bbbbnnnnnmmndb", 0},
    {NULL, "-app.dll", NULL, "bbbbnnnnnmmndb", 0},
    {NULL, "-app.dl", NULL, "bbbbmmmmmmmndb", 0},
    {NULL, "-*.dll", NULL, "nnnnnnnnnnmndn", 0},
    {NULL, "-App.Models", NULL, "bbbbnnnnnmmndb", 0},
    {NULL, "-App.Models.caf\xC3\xA9", NULL, "bbbbnnnnnmmndb", 0}, /* a type with those in it */
    {NULL, "-App.Models.Caf\xC3\x89", NULL, "bbbbmmmmmmmndb", 0}, /* only ASCII has no case */
    {NULL, "-App.Models.Caf\xC3\xA9/Inner", NULL, "bbbbmmmmnmmndb", 0},
    {NULL, "-App.Models.Caf\xC3\xA9.ORDER", NULL, "bbbbmnmmmmmndb", 0},
    {NULL, "-*.get_*", NULL, "bbbbmmmnmmmndb", 0},
    {NULL, "-*e*r*", NULL, "nnnnnnmnnnmndn", 0},
    {NULL, "-Append", NULL, "bbbbmmmmmmmndb", 0},
    {NULL, "-System.Text.Builder.Append", NULL, "nbbbmmmmmmmndb", 0},
    {NULL, "+App.Models*", NULL, "bbbbmmmmmbbndb", 0},
    {"mine", "+App.Models*", NULL, "nnnnmmmmmnnnnn", 0},
    {NULL, "+System.Text\n-*.Clear", NULL, "mmnbbbbbbbbndb", 0},
    {NULL, "-*.Clear\n+System.Text", NULL, "mmnbbbbbbbbndb", 0},
    {"mine", "+*", NULL, "mmmmmmmmmmmnmm", 0},
    {NULL, "+\n-\n\n-Web", NULL, "bbbnmmmmmmmndb", 0},
    {NULL, "-\xFF\xC3\xF0\x9F\x98\x80", NULL, "bbbbmmmmmmmndb", 0},
};

static bool expect_inline(char caller, char callee)
{
    return callee == 'n' || (callee == 'b' && caller != 'm');
}

static int rules_step(uint64_t n)
{
    const struct rule_case *c = &rule_cases[n - 1];
    if (n > sizeof rule_cases / sizeof *rule_cases)
        return STEP_BEYOND;
    const char *names[] = {"CLRPROF_INSTRUMENT", "CLRPROF_RULES", "CLRPROF_SMALL"}, *values[] = {c->instrument, c->rules, c->small};
    for (int i = 0; i < 3; i++)
        if (values[i] != NULL)
            setenv(names[i], values[i], 1);
    if (c->place == 2) {
        setenv("CLRPROF_MINE_FOLDER", "*", 1);
        world_app.path = "/srv/sdk/10.0.401/agent_test.dll"; /* the main assembly is called as the executable */
        world_tool.path = "/srv/sdk/10.0.401/Sdks/System.Tool.dll"; /* in another folder */
    }
    if (c->place == 1) {
        setenv("CLRPROF_MINE_FOLDER", "", 1);
        world_core.path = "/srv/shared/app/System.Private.CoreLib.dll";
        world_web.path = "/srv/shared/app/Microsoft.Web.dll";
        world_app.path = "/srv/shared/app/agent_test.dll"; /* the main assembly is called as the executable */
        world_tool.path = "/srv/shared/app/System.Tool.dll";
    }
    begin(0);
    for (int i = 0; i < THROWER; i++)
        for (int k = 0; k < THROWER; k++)
            if (i != LAMBDA && k != LAMBDA)
                check(fake_may_inline(&methods[i].method, &methods[k].method) == expect_inline(c->classes[i], c->classes[k]),
                      "inlining of %s into %s", methods[k].name, methods[i].name);
    header();
    for (int i = 0; i < N_METHODS; i++) {
        char class = c->classes[i];
        uint32_t flags = 0, have = UINT32_MAX;
        for (uint32_t id = 1; id <= N_METHODS && have == UINT32_MAX; id++) {
            const char *name = model_function(id, &flags);
            have = name != NULL && strcmp(name, methods[i].name) == 0 ? flags : UINT32_MAX;
        }
        uint32_t want = class == 'm' ? WIRE_FUNCTION_INSTRUMENTED : class == 'b' ? WIRE_FUNCTION_BOUNDARY : 0;
        check((have & ~(uint32_t)WIRE_FUNCTION_DYNAMIC) == want, "%s has flags %x", methods[i].name, have);
        check(methods[i].method.hooked == (class != 'n'), "%s is hooked: %d", methods[i].name, methods[i].method.hooked);
        methods[i].class = class == 'm' ? MINE : class == 'b' ? BOUNDARY : NOT_HOOKED;
    }
    return STEP_PASSED;
}

static void time_rules(void)
{
    sweep(rules_step, 1);
}

/* Programs under the modes that other scenarios do not have. */
static int modes_step(uint64_t n)
{
    if (n > 2)
        return STEP_BEYOND;
    setenv("CLRPROF_INSTRUMENT", n == 1 ? "mine" : "all", 1);
    setenv("CLRPROF_MECHANISMS", "gap", 1);
    const struct wire_header *h = begin(10);
    for (int i = 0; i < N_METHODS; i++)
        if (methods[i].class == BOUNDARY)
            methods[i].class = n == 1 ? NOT_HOOKED : MINE;
    struct program p = {.seed = 50 + n, .max_depth = 12, .max_calls = 60, .gap = h->gap_ticks, .throws = true};
    run_program(&p, 1000 / SCALE);
    compare(&p.model);
    check_losses(h, 0, 0);
    check((h->instrument & ~WIRE_INSTRUMENT_IL) == (n == 1 ? WIRE_INSTRUMENT_MINE : WIRE_INSTRUMENT_ALL), "mode %u", h->instrument);
    return STEP_PASSED;
}

static void time_modes(void)
{
    sweep(modes_step, 1);
}

/* ── limits ─────────────────────────────────────────────────────────────────────────────────────────────────── */

static uint64_t counted(const struct wire_header *h, uint64_t *truncated)
{
    uint32_t n;
    uint64_t calls = 0;
    const struct wire_timing *x = model_timings(h, &n);
    *truncated = 0;
    for (uint32_t i = 0; i < n; i++)
        *(x[i].function == 0 ? truncated : &calls) += x[i].calls;
    return calls;
}

/* The innermost call of each thread is where the reader looks for it. */
static void check_clocks(const struct wire_header *h)
{
    uint32_t n;
    model_timings(h, &n);
    const struct wire_clock *clocks = (const void *)((const uint8_t *)h + h->regions[WIRE_REGION_CLOCKS].offset);
    const struct wire_activation *rows = (const void *)((const uint8_t *)h + h->regions[WIRE_REGION_ACTIVATIONS].offset);
    uint64_t n_rows = h->regions[WIRE_REGION_ACTIVATIONS].used / sizeof *rows;
    for (uint64_t i = 0; i < h->regions[WIRE_REGION_CLOCKS].used / sizeof *clocks; i++) {
        const struct wire_clock *c = &clocks[i];
        check(c->depth <= c->capacity && c->activations + c->capacity <= n_rows, "%u of %u calls at %llu of %llu", c->depth, c->capacity,
              (unsigned long long)c->activations, (unsigned long long)n_rows);
        for (uint32_t k = 0; k < c->depth; k++)
            check(rows[c->activations + k].timing - 1 < n, "call %u of thread %llu has timing %u", k, (unsigned long long)i + 1, rows[c->activations + k].timing);
    }
}

static void recurse(void *data)
{
    uint32_t *left = data;
    if ((*left)-- > 0)
        fake_call(&methods[APP_0].method, 0, recurse, left);
    else
        check_clocks(header());
}

static uint32_t depth_limit;

static void *recurse_deep(void *data)
{
    const uint32_t depths[] = {depth_limit / 2 + 1, depth_limit, depth_limit + 1, 2 * depth_limit, 5, 3 * depth_limit, 2 * depth_limit};
    uint64_t *want = data;
    for (size_t i = 0; i < sizeof depths / sizeof *depths; i++) {
        uint32_t left = depths[i] - 1;
        fake_call(&methods[APP_0].method, 0, recurse, &left);
        *want += depths[i];
    }
    return NULL;
}

/* The limit of frames is that of allocations: calls are counted however deep they are, while there is memory. */
static int depth_step(uint64_t n)
{
    static const uint32_t limits[] = {1, 7, 127, 128, 129, 1000, 20000};
    if (n > sizeof limits / sizeof *limits - THREAD_SANITIZER) /* which knows no stacks of so many calls */
        return STEP_BEYOND;
    pthread_attr_t attributes;
    pthread_t thread;
    uint64_t want = 0, truncated;
    depth_limit = limits[n - 1];
    setenv("CLRPROF_STACK_DEPTH", "7", 1);
    const struct wire_header *h = begin(0);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 256 << 20);
    pthread_create(&thread, &attributes, recurse_deep, &want);
    pthread_join(thread, NULL);
    check(counted(h, &truncated) == want, "%llu calls, not %llu", (unsigned long long)counted(h, &truncated), (unsigned long long)want);
    check(truncated == 0, "%llu calls of (truncated)", (unsigned long long)truncated);
    check(losses(h, WIRE_LOSS_CALLS_FOLDED) == 0, "%llu calls lost", (unsigned long long)losses(h, WIRE_LOSS_CALLS_FOLDED));
    check(losses(h, WIRE_LOSS_CALLS_UNMATCHED) == 0, "calls unmatched");
    return STEP_PASSED;
}

static void time_depth(void)
{
    sweep(depth_step, 1);
}

struct per_method {
    uint64_t calls, ended, exclusive, waited;
};

static void sum_model(const struct seen *s, struct per_method *sums)
{
    for (const struct seen *c = s->child; c != NULL; c = c->sibling) {
        struct per_method *own = &sums[c->method - methods];
        own->calls += c->calls;
        own->ended += c->ended;
        own->exclusive += c->tail.elapsed;
        own->waited += c->tail.waited;
        if (s->method != NULL) {
            sums[s->method - methods].exclusive += c->lead.elapsed;
            sums[s->method - methods].waited += c->lead.waited;
        }
        sum_model(c, sums);
    }
}

static size_t method_of(uint32_t function)
{
    uint32_t flags;
    const char *name = model_function(function, &flags);
    for (size_t i = 0; i < N_METHODS; i++)
        if (name != NULL && strcmp(name, methods[i].name) == 0)
            return i;
    return N_METHODS; /* (truncated) */
}

static uint32_t sum_arena(const struct wire_header *h, struct per_method *sums)
{
    uint32_t n, own = 0;
    const struct wire_timing *x = model_timings(h, &n);
    for (uint32_t i = 0; i < n; i++) {
        struct per_method *m = &sums[method_of(x[i].function)];
        m->calls += x[i].calls;
        m->ended += x[i].ended;
        m->exclusive += x[i].tail_elapsed;
        m->waited += x[i].tail_waited;
        if (x[i].parent != 0) {
            m = &sums[method_of(x[x[i].parent - 1].function)];
            m->exclusive += x[i].lead_elapsed;
            m->waited += x[i].lead_waited;
        }
        own += x[i].callee == 0 && x[i].calls != 0 && x[i].parent != 0;
    }
    return own;
}

/* Paths beyond the limit of timings: calls and exclusive times of functions stay exact. */
static void time_folding(void)
{
    setenv("CLRPROF_TIMINGS", "200", 1);
    setenv("CLRPROF_MECHANISMS", "gap", 1);
    const struct wire_header *h = begin(10);
    struct program p = {.seed = 60, .max_depth = 12, .max_calls = 60, .gap = h->gap_ticks, .throws = true, .dispatched = true};
    run_program(&p, 1000 / SCALE);
    header();
    struct per_method model[N_METHODS + 1] = {{0}}, arena[N_METHODS + 1] = {{0}};
    sum_model(&p.model.root, model);
    uint32_t own = sum_arena(h, arena);
    check(own <= 200, "%u timings with a path of their own", own); /* beside roots */
    for (int i = 0; i <= N_METHODS; i++)
        check(memcmp(&model[i], &arena[i], sizeof *model) == 0, "method %d: %llu calls, %llu ended, %llu ns, %llu waited; not %llu, %llu, %llu, %llu", i,
              (unsigned long long)arena[i].calls, (unsigned long long)arena[i].ended, (unsigned long long)arena[i].exclusive,
              (unsigned long long)arena[i].waited, (unsigned long long)model[i].calls, (unsigned long long)model[i].ended,
              (unsigned long long)model[i].exclusive, (unsigned long long)model[i].waited);
    check_losses(h, 0, 0);
}

/* ── faults ─────────────────────────────────────────────────────────────────────────────────────────────────── */

static struct program workers[3];

static void work(struct job *j)
{
    run_program(&workers[j->index], 30);
}

static uint64_t expected(const struct seen *s)
{
    uint64_t calls = 0;
    for (const struct seen *c = s->child; c != NULL; c = c->sibling)
        calls += c->calls + expected(c);
    return calls;
}

/* What was reported is counted or lost, and never more is counted than there were calls. */
static void check_nothing_forgotten(const struct wire_header *h, const struct program *programs, size_t n)
{
    uint64_t all = 0, want = 0, truncated, have = counted(h, &truncated), lost = losses(h, WIRE_LOSS_CALLS_FOLDED);
    for (size_t i = 0; i < n; i++) {
        all += programs[i].all_calls;
        want += expected(&programs[i].model.root);
    }
    check(have <= all, "%llu calls of %llu counted", (unsigned long long)have, (unsigned long long)all);
    check(have + lost >= want || losses(h, WIRE_LOSS_NOT_HOOKED) != 0, "%llu calls, %llu lost, of %llu", (unsigned long long)have,
          (unsigned long long)lost, (unsigned long long)want);
    check(h->shared_bytes + h->private_bytes <= h->memory_limit, "more memory than allowed");
    check_clocks(h);
}

static enum fake_os_call failing_call;
static bool failing_for_good, failing_runtime;

static int fault_step(uint64_t n)
{
    struct job jobs[3];
    struct entries none = {0};
    begin(0);
    uint64_t *at = failing_runtime ? &fake.fail_at : &fake.os_fail_at[failing_call];
    uint64_t *from = failing_runtime ? &fake.fail_from : &fake.os_fail_from[failing_call];
    uint64_t first = (failing_runtime ? fake.calls : fake.os_calls[failing_call]) + n;
    *(failing_for_good ? from : at) = first;
    for (uint32_t i = 0; i < 3; i++)
        workers[i] = (struct program){.seed = 70 + i, .max_depth = 10, .max_calls = 40, .throws = true, .dispatched = i == 1};
    run_program(&workers[2], 60);
    start_jobs(jobs, 2, work);
    join_jobs(jobs, 2, &none);
    bool beyond = (failing_runtime ? fake.calls : fake.os_calls[failing_call]) < first;
    fake_callback(CALLBACK_SHUTDOWN, 0);
    check_nothing_forgotten(header(), workers, 3);
    return beyond ? STEP_BEYOND : STEP_PASSED;
}

static void time_faults(void)
{
    for (int good = 0; good < 2; good++) {
        failing_for_good = good != 0;
        failing_runtime = false;
        failing_call = OS_MMAP;
        sweep(fault_step, SCALE);
        failing_call = OS_FALLOCATE;
        sweep(fault_step, 1);
    }
}

/* The mapper and the questions about methods: all of them are asked while calls fail. */
static int mapper_step(uint64_t n)
{
    compile_late = true;
    begin(0);
    *(failing_for_good ? &fake.fail_from : &fake.fail_at) = fake.calls + n;
    uint64_t first = fake.calls + n;
    workers[0] = (struct program){.seed = 80, .max_depth = 10, .max_calls = 40};
    run_program(&workers[0], 40);
    bool beyond = fake.calls < first;
    uint64_t truncated, have = counted(header(), &truncated);
    check(have <= workers[0].all_calls, "%llu calls", (unsigned long long)have); /* a module that could not be asked for is the program's */
    return beyond ? STEP_BEYOND : STEP_PASSED;
}

static void time_failing_mapper(void)
{
    sweep(mapper_step, SCALE);
    failing_for_good = true;
    sweep(mapper_step, 3 * SCALE);
}

static int refusal_step(uint64_t n)
{
    setenv("CLRPROF_TIME", "1", 1);
    *(failing_runtime ? &fake.fail_from : &fake.os_fail_from[failing_call]) = n + (failing_runtime ? 4 : 0);
    hresult hr = fake_load(agent_path);
    if (hr == HR_OK)
        return STEP_BEYOND;
    bool early = !failing_runtime && n <= (failing_call == OS_FALLOCATE ? 3u : 5u); /* before there is an arena */
    uint32_t failure = early ? 0 : !failing_runtime ? WIRE_FAILURE_OUT_OF_MEMORY : n == 1 ? WIRE_FAILURE_EVENT_MASK : WIRE_FAILURE_HOOKS;
    check_refused(hr, failure, !early ? NULL : failing_call == OS_MMAP ? ".no_address_space.failed" : ".no_space.failed");
    return STEP_PASSED;
}

static void time_refusals(void)
{
    failing_call = OS_MMAP;
    sweep(refusal_step, 1);
    failing_call = OS_FALLOCATE;
    sweep(refusal_step, 1);
    failing_runtime = true;
    sweep(refusal_step, 1);
}

static int memory_step(uint64_t n)
{
    if (n > 2)
        return STEP_BEYOND;
    setenv("CLRPROF_MEMORY", "4194304", 1);
    setenv("CLRPROF_TIMINGS", "1000000", 1); /* by default the limit of timings is reached before */
    if (n == 2)
        setenv("CLRPROF_STACK_DEPTH", "50", 1);
    const struct wire_header *h = begin(0);
    workers[0] = (struct program){.seed = 90 + n, .max_depth = 60, .max_calls = 300, .throws = true};
    run_program(&workers[0], 4000 / SCALE);
    check_nothing_forgotten(header(), workers, 1);
    check(h->shared_bytes + h->private_bytes > h->memory_limit / 2, "the limit was not reached");
    return STEP_PASSED;
}

static void time_memory_limit(void)
{
    sweep(memory_step, 1);
}

/* ── threads and the end ────────────────────────────────────────────────────────────────────────────────────── */

#define AT_A_TIME 20u
static struct program *short_programs;

static void little(struct job *j)
{
    run_program(&short_programs[j->index], 2);
}

static void time_short_threads(void)
{
    struct job jobs[AT_A_TIME];
    struct entries none = {0};
    uint32_t batches = 150 / SCALE;
    uint64_t want = 0, truncated;
    const struct wire_header *h = begin(10);
    short_programs = calloc(AT_A_TIME, sizeof *short_programs);
    for (uint32_t b = 0; b < batches; b++) {
        for (uint32_t i = 0; i < AT_A_TIME; i++)
            short_programs[i] = (struct program){.seed = b * AT_A_TIME + i, .max_depth = 8, .max_calls = 10, .throws = i % 3 == 0};
        start_jobs(jobs, AT_A_TIME, little);
        join_jobs(jobs, AT_A_TIME, &none);
        for (uint32_t i = 0; i < AT_A_TIME; i++) {
            want += expected(&short_programs[i].model.root);
            if (b % 16 == 0 && b < 48) /* later ones share ids */
                compare(&short_programs[i].model);
        }
    }
    uint64_t have = counted(h, &truncated);
    check(have == want, "%llu calls, not %llu", (unsigned long long)have, (unsigned long long)want);
    check_losses(h, 0, 0);
    check(h->private_bytes < 4 << 20, "%llu bytes for %u threads at a time", (unsigned long long)h->private_bytes, AT_A_TIME);
}

/* Threads that share an id: what the arena says is the sum, its extremes those of all. */
static void time_shared_ids(void)
{
    enum { OWN = 1000, SHARED = 60 }; /* thread_sets.c: MAX_OWN_IDS */
    struct thread_model all = {0};
    struct entries none = {0};
    const struct wire_header *h = begin(10);
    short_programs = calloc(AT_A_TIME, sizeof *short_programs);
    for (uint32_t i = 0; i < OWN + SHARED; i++) {
        struct job job;
        short_programs[0] = (struct program){.seed = 7 * i, .max_depth = 8, .max_calls = i < OWN ? 2 : 30, .throws = i % 3 == 0};
        start_jobs(&job, 1, little);
        join_jobs(&job, 1, &none);
        if (i >= OWN)
            thread_model_join(&all.root, &short_programs[0].model.root);
    }
    compare(&all);
    check(h->threads == OWN + 1, "%u ids", h->threads);
    check_losses(h, 0, 0);
}

/* Nobody reads any more: what runs goes on undisturbed, nothing is recorded, and the memory is given back. */
static void time_collector_gone(void)
{
    struct job job;
    struct entries none = {0};
    int fd = open(directory, O_RDONLY | O_DIRECTORY);
    check(flock(fd, LOCK_EX | LOCK_NB) == 0, "cannot lock %s", directory);
    setenv("CLRPROF_COLLECTOR", "1", 1);
    const struct wire_header *h = begin(10);
    short_programs = calloc(AT_A_TIME, sizeof *short_programs);
    struct program p = {.seed = 5, .max_depth = 8, .max_calls = 300, .throws = true};
    run_program(&p, 2);
    uint64_t truncated, calls = counted(h, &truncated);
    check(calls == expected(&p.model.root), "%llu calls", (unsigned long long)calls);
    close(fd);
    fake_clock.base += 1000000000u;
    short_programs[0] = (struct program){.seed = 6, .max_depth = 8, .max_calls = 100, .throws = true};
    start_jobs(&job, 1, little);
    join_jobs(&job, 1, &none);
    check((fake.event_low & MONITOR_ENTERLEAVE) == 0, "the runtime is asked for %x", fake.event_low);
    check(counted(h, &truncated) == calls, "the new thread is recorded");
    fake_callback(CALLBACK_RUNTIME_SUSPEND_FINISHED, 0);
    check(fake.event_low == MONITOR_SUSPENDS, "the runtime is asked for %x", fake.event_low);
    p = (struct program){.seed = 7, .max_depth = 8, .max_calls = 300, .throws = true};
    run_program(&p, 2);
    start_jobs(&job, 1, little);
    join_jobs(&job, 1, &none);
    fake_callback(CALLBACK_SHUTDOWN, 0);
    fake.objects = fake.bytes = 0;
}

static pthread_key_t late_key;
static uint64_t late_calls;

static void end_late(void *data)
{
    (void)data;
}

static void call_late(void *data) /* a destructor of thread data, after the agent's own or before */
{
    static __thread int again;
    for (int i = 0; i < 3; i++) {
        fake_call(&methods[APP_0].method, 0, end_late, NULL);
        __atomic_fetch_add(&late_calls, 1, __ATOMIC_RELAXED);
    }
    if (again++ < 5)
        pthread_setspecific(late_key, data);
}

static void end_with_calls(struct job *j)
{
    pthread_setspecific(late_key, j);
    call_late(j);
}

static void time_thread_end(void)
{
    struct job jobs[8];
    struct entries none = {0};
    uint64_t truncated;
    if (THREAD_SANITIZER)
        return; /* it has already ended the thread then */
    const struct wire_header *h = begin(0);
    pthread_key_create(&late_key, call_late);
    for (int i = 0; i < 20; i++) {
        start_jobs(jobs, 8, end_with_calls);
        join_jobs(jobs, 8, &none);
    }
    uint64_t have = counted(h, &truncated);
    check(have == late_calls && have >= 20 * 8 * 6, "%llu calls, not %llu", (unsigned long long)have, (unsigned long long)late_calls);
    check_losses(h, 0, 0);
}

/* A thread that ends while calls of it have not: pthread_exit, or the end of a foreign thread. */
static void *exit_within(void *data)
{
    fake_call(&methods[APP_0].method, 0, (fake_code)pthread_exit, data);
    return NULL;
}

static void time_exit_within(void)
{
    pthread_t thread;
    if (SANITIZED)
        return; /* they do not like frames that are skipped */
    const struct wire_header *h = begin(0);
    for (int i = 0; i < 10; i++) {
        pthread_create(&thread, NULL, exit_within, NULL);
        pthread_join(thread, NULL);
    }
    uint32_t n;
    const struct wire_timing *x = model_timings(h, &n);
    check(n == 10, "%u timings", n);
    for (uint32_t i = 0; i < n; i++)
        check(x[i].calls == 1 && x[i].ended == 1 && x[i].unmatched == 1, "timing %u has %llu calls", i, (unsigned long long)x[i].calls);
}

static void go_on(struct job *j)
{
    run_program(&workers[j->index], 500 / SCALE);
}

static void time_around_shutdown(void)
{
    struct job jobs[3];
    struct entries none = {0};
    const struct wire_header *h = begin(10);
    for (uint32_t i = 0; i < 3; i++)
        workers[i] = (struct program){.seed = 30 + i, .max_depth = 10, .max_calls = 40, .throws = true};
    start_jobs(jobs, 3, go_on);
    fake_callback(CALLBACK_SHUTDOWN, 0);
    join_jobs(jobs, 3, &none);
    for (uint32_t i = 0; i < 3; i++)
        compare(&workers[i].model);
    check(h->state == WIRE_STATE_SHUT_DOWN && h->end_ticks != 0, "state %u", h->state);
    check_losses(h, 0, 0);
}

static void time_forked(void)
{
    const struct wire_header *h = begin(10);
    struct program p = {.seed = 33, .max_depth = 10, .max_calls = 40};
    run_program(&p, 50);
    pid_t child = fork();
    if (child == 0) {
        struct program other = {.seed = 33, .max_depth = 10, .max_calls = 40};
        run_program(&other, 50);
        fake_callback(CALLBACK_SHUTDOWN, 0);
        _exit(0);
    }
    int status;
    waitpid(child, &status, 0);
    check(status == 0, "the child ended with status %x", status);
    compare(&p.model);
    check(h->state == WIRE_STATE_RECORDING && h->end_ticks == 0, "state %u", h->state);
}

static uint32_t early;

static void call_early(void)
{
    fake_set_thread(0x1000);
    fake_call(&methods[APP_0].method, 0, recurse, &early);
}

static void time_before_initialize_ends(void)
{
    uint64_t truncated;
    early = 4;
    fake.in_set_hooks = call_early;
    const struct wire_header *h = begin(0);
    check(counted(h, &truncated) == 5, "%llu calls", (unsigned long long)counted(h, &truncated));
    check_losses(h, 0, 0);
}

/* Another method at the address of one that was unloaded. */
static void time_unloading(void)
{
    static struct fake_module plugin = {"/srv/app/Plugin.dll", "Plugin.dll", MODULE_FLAG_DISK | MODULE_FLAG_COLLECTIBLE, NULL, false};
    static struct fake_class plugin_class;
    static struct fake_method m;
    static struct fake_body body;
    static char names[40][16];
    uint32_t rounds = 40 / (SANITIZED ? 4 : 1), n;
    const struct wire_header *h = begin(0);
    fake_class_init(&plugin_class, &plugin, "Plugin", 24, 0);
    fake_emit(&m, &body, PROBED, -1);
    int slot = (int)((uintptr_t)body.start - FAKE_CODE_BASE) / (int)CODE_SLOT;
    fake_forget(&m);
    for (uint32_t i = 0; i < rounds; i++) {
        snprintf(names[i], sizeof names[i], "Run%u", i);
        m = (struct fake_method){.name = names[i], .module = &plugin, .type = &plugin_class};
        plugin.gone = false;
        fake_emit(&m, &body, PROBED, slot);
        for (uint32_t k = 0; k <= i; k++)
            fake_call(&m, 0, end_late, NULL);
        fake_callback(CALLBACK_MODULE_UNLOAD_STARTED, (uintptr_t)&plugin);
        fake_forget(&m);
        plugin.gone = true;
    }
    header();
    const struct wire_timing *x = model_timings(h, &n);
    check(n == rounds, "%u timings", n);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t flags;
        const char *name = model_function(x[i].function, &flags);
        check(x[i].calls == i + 1 && strcmp(name + strlen(name) - strlen(names[i]), names[i]) == 0, "%llu calls of %s", (unsigned long long)x[i].calls, name);
    }
}

const struct scenario time_limit_scenarios[] = {
    {"time_rules", time_rules},
    {"time_modes", time_modes},
    {"time_depth", time_depth},
    {"time_folding", time_folding},
    {"time_faults", time_faults},
    {"time_failing_mapper", time_failing_mapper},
    {"time_refusals", time_refusals},
    {"time_memory_limit", time_memory_limit},
    {"time_short_threads", time_short_threads},
    {"time_shared_ids", time_shared_ids},
    {"time_collector_gone", time_collector_gone},
    {"time_thread_end", time_thread_end},
    {"time_exit_within", time_exit_within},
    {"time_around_shutdown", time_around_shutdown},
    {"time_forked", time_forked},
    {"time_before_initialize_ends", time_before_initialize_ends},
    {"time_unloading", time_unloading},
    {NULL, NULL},
};
