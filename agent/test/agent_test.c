/* Scenarios for the agent in a made-up runtime, each in a process of its own, each with an exact expectation.
 *
 *   agent_test AGENT DIRECTORY [SCENARIO…]
 *
 * Each scenario leaves its arena in DIRECTORY/SCENARIO, with a file "totals" of what was reported to the agent. */
#define _GNU_SOURCE
#include "fake_calls.h"
#include "scenario.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "detect_leaks=0:detect_stack_use_after_return=0"; /* a fake stack has no chain of frame pointers */
}

const char *agent_path;
char directory[4000];
int failures;
static unsigned n_steps;

void check(bool ok, const char *format, ...)
{
    if (ok)
        return;
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "  ");
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "\n");
    va_end(arguments);
    failures++;
}

/* ── a world of methods and classes ─────────────────────────────────────────────────────────────────────────── */

#define PER_SHAPE 6u
static struct fake_module app = {"/srv/app/App.dll", "App.dll", MODULE_FLAG_DISK, NULL, false};
static struct fake_module library = {"/usr/lib/Library.dll", "Library.dll", MODULE_FLAG_DISK, NULL, false};
static struct fake_module emitted = {"ignored", "Emitted", MODULE_FLAG_DYNAMIC, NULL, false};
static struct fake_class program_class, order, line, text, numbers, matrix, pair, other, odd, nested;
static struct fake_class *all_classes[] = {&order, &line, &text, &numbers, &matrix, &pair, &other, &odd, &nested};
#define N_CLASSES (sizeof all_classes / sizeof *all_classes)
static struct fake_method methods[SHAPES][PER_SHAPE];
static struct fake_body bodies[SHAPES][PER_SHAPE], variants[3][PER_SHAPE];

static void make_classes(void)
{
    fake_class_init(&program_class, &app, "App.Program", 24, 0);
    fake_class_init(&order, &app, "App.Order", 40, 0);
    fake_class_init(&line, &library, "Library.Line", 24, 0);
    fake_class_init(&text, &library, "System.String", 22, 2);
    fake_class_init(&numbers, NULL, "", 16, 4);
    fake_class_init(&matrix, NULL, "", 32, 8);
    fake_class_init(&pair, &library, "Library.Pair`2", 32, 0);
    fake_class_init(&other, NULL, "", 24, 0);
    fake_class_init(&odd, &emitted, "Odd", 24, 0);
    fake_class_init(&nested, &app, "Inner", 24, 0);
    numbers.kind = matrix.kind = AN_ARRAY;
    numbers.rank = 1;
    numbers.element_code = 8;
    matrix.rank = 2;
    matrix.element_code = 0x12;
    matrix.element = &order;
    pair.n_arguments = 2;
    pair.arguments[0] = &text;
    pair.arguments[1] = &matrix;
    other.kind = A_COMPOSITE;
    odd.odd_bytes = 11;
    nested.enclosing = &program_class;
}

static const char *numbered(const char *prefix, uint32_t a, uint32_t b)
{
    char *name = NULL;
    if (asprintf(&name, "%s%u_%u", prefix, a, b) < 0)
        abort();
    return name;
}

static void make_world(void)
{
    make_classes();
    for (uint32_t s = 0; s < SHAPES; s++)
        for (uint32_t i = 0; i < PER_SHAPE; i++) {
            struct fake_method *m = &methods[s][i];
            *m = (struct fake_method){.name = numbered("Method", s, i), .module = i % 2 == 0 ? &app : &library,
                                      .type = i % 2 == 0 ? &program_class : &line, .il_points = 3 * i, .signature_bytes = i};
            if (i == 3)
                m->arguments[m->n_arguments++] = &pair;
            if (s == OSR_VARIANT)
                continue;
            fake_emit(m, &bodies[s][i], (enum fake_shape)s, -1);
            if (s >= FIRST_VERSION && s <= FIRST_VERSION_VERY_LARGE)
                fake_emit(m, &variants[s - FIRST_VERSION][i], OSR_VARIANT, -1);
        }
}

uint64_t random_number(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* Keeps a part of a stack and goes on at random from there. */
static void random_stack(struct fake_stack *s, uint32_t keep, uint32_t depth, uint64_t *seed, bool faults)
{
    if (keep > s->n)
        keep = s->n;
    if (keep > 0 && s->bodies[keep - 1]->shape >= FIRST_VERSION && s->bodies[keep - 1]->shape <= FIRST_VERSION_VERY_LARGE)
        keep--;
    if (keep > 0 && s->bodies[keep - 1]->shape >= FAULTS)
        keep--;
    s->n = keep;
    s->places = (s->places & ((UINT64_C(1) << (keep & 63)) - 1)) | random_number(seed) << (keep & 63);
    while (s->n < depth) { /* a wild frame pointer of 0 just ends the chain, and is not for here */
        uint32_t i = (uint32_t)(random_number(seed) % PER_SHAPE), shape = (uint32_t)(random_number(seed) % OSR_VARIANT);
        if (shape == NATIVE_WILD)
            shape = NATIVE;
        s->bodies[s->n++] = &bodies[shape][i];
        if (shape >= FIRST_VERSION)
            s->bodies[s->n++] = &variants[shape - FIRST_VERSION][i];
    }
    if (faults)
        s->bodies[s->n++] = &bodies[FAULTS + random_number(seed) % 2][random_number(seed) % PER_SHAPE];
}

struct work { /* what a leaf does */
    struct entries *model;
    const struct fake_stack *stack;
    struct fake_class *class;
    uint32_t length, times;
};

static uint64_t size_of(const struct fake_class *c, uint64_t length)
{
    uint64_t component = c->table[0] >> 31 != 0 ? c->table[0] & 0xFFFFu : 0;
    return (c->table[1] + component * length + c->odd_bytes + 7) & ~UINT64_C(7);
}

static void allocate(void *data, bool in_handler)
{
    const struct work *w = data;
    for (uint32_t i = 0; i < w->times; i++)
        fake_allocate(w->class, w->length);
    model_add(w->model, w->stack, in_handler, w->class, false, w->times, w->times * size_of(w->class, w->length));
}

static void run(struct entries *model, const struct fake_stack *s, struct fake_class *c, uint32_t length, uint32_t times)
{
    struct work w = {model, s, c, length, times};
    fake_run(s, allocate, &w);
}

/* Random stacks that share their outer part with the one before, random classes. */
static void work_at_random(struct entries *model, uint64_t seed, uint32_t rounds, uint32_t depth, bool faults)
{
    struct fake_stack *s = calloc(1, sizeof *s);
    for (uint32_t i = 0; i < rounds; i++) {
        uint64_t r = random_number(&seed);
        random_stack(s, (uint32_t)(r >> 8) % depth, 1 + (uint32_t)(r >> 16) % depth, &seed, faults && r % 8 == 0);
        struct fake_class *c = all_classes[(r >> 24) % N_CLASSES];
        uint32_t length = c->table[0] >> 31 != 0 ? (uint32_t)(r >> 32) % 100 : 0;
        run(model, s, c, length, 1 + (uint32_t)(r >> 40) % 5);
    }
    free(s);
}

/* ── starting and judging ───────────────────────────────────────────────────────────────────────────────────── */

static void start(void)
{
    make_world();
    fake_set_thread(0); /* the main thread is not managed while Initialize runs */
    hresult hr = fake_load(agent_path);
    check(hr == HR_OK, "Initialize returned %x", (unsigned)hr);
    fake_set_thread(0x1000);
}

#define ANY_LOSS UINT64_MAX

/* Compares the arena with the model. With losses it may hold less, and the sum must still be right. */
static struct arena_facts *judge(struct entries *model, uint64_t lost)
{
    struct entries found = {0};
    struct arena_facts *f = arena_read(directory, &found);
    if (f == NULL) {
        check(false, "no arena");
        exit(1);
    }
    if (model != NULL) {
        int differences = model_compare(model, &found, lost != ANY_LOSS);
        if (lost == ANY_LOSS)
            differences += model_compare_types(model, &found, f->lost_objects == 0);
        check(differences == 0, "%d differences", differences);
    }
    check(f->objects + f->lost_objects == fake.objects, "%llu counted + %llu lost of %llu objects", (unsigned long long)f->objects,
          (unsigned long long)f->lost_objects, (unsigned long long)fake.objects);
    check(f->bytes + f->lost_bytes == fake.bytes, "%llu counted + %llu lost of %llu bytes", (unsigned long long)f->bytes,
          (unsigned long long)f->lost_bytes, (unsigned long long)fake.bytes);
    check(lost == ANY_LOSS || f->duplicates == 0, "%u nodes or sites twice", f->duplicates);
    check(lost == ANY_LOSS || f->lost_objects == lost, "%llu objects lost", (unsigned long long)f->lost_objects);
    check(f->header->shared_bytes + f->header->private_bytes <= f->header->memory_limit, "more memory than allowed");
    return f;
}

static void write_totals(void)
{
    char path[5000];
    snprintf(path, sizeof path, "%s/totals", directory);
    FILE *f = fopen(path, "w");
    if (f == NULL)
        return; /* the scenario took the directory away */
    fprintf(f, "%llu %llu\n", (unsigned long long)fake.objects, (unsigned long long)fake.bytes);
    fclose(f);
}

/* Removes what a step left behind. */
static void remove_step(void)
{
    char path[8192];
    snprintf(path, sizeof path, "%s/%u", directory, n_steps);
    DIR *d = opendir(path);
    for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL;)
        unlinkat(dirfd(d), e->d_name, 0);
    if (d != NULL)
        closedir(d);
    rmdir(path);
}

#define KEEP_EACH 8u /* steps whose arenas stay, for the tests of the collector */

void sweep(int (*step)(uint64_t n), uint64_t stride)
{
    for (uint64_t n = 1; failures < 4; n += stride) {
        n_steps++;
        pid_t child = fork();
        if (child == 0) {
            failures = 0;
            snprintf(directory + strlen(directory), 16, "/%u", n_steps);
            mkdir(directory, 0700);
            setenv("CLRPROF_ARENAS", directory, 1);
            int end = step(n);
            write_totals();
            exit(failures != 0 ? STEP_FAILED : end);
        }
        int status = 0;
        waitpid(child, &status, 0);
        bool passed = WIFEXITED(status) && WEXITSTATUS(status) != STEP_FAILED;
        check(passed, "step %llu: status %x", (unsigned long long)n, status);
        if (passed && n_steps % KEEP_EACH != 0)
            remove_step();
        if (!WIFEXITED(status) || WEXITSTATUS(status) == STEP_BEYOND)
            return;
    }
}

static void *run_job(void *data)
{
    struct job *j = data;
    fake_set_thread(0x2000 + j->index * 8);
    j->work(j);
    fake_callback(CALLBACK_THREAD_DESTROYED, 0x2000 + j->index * 8);
    return NULL;
}

void start_jobs(struct job *jobs, uint32_t n, void (*work)(struct job *))
{
    for (uint32_t i = 0; i < n; i++) {
        jobs[i] = (struct job){.index = i, .work = work};
        if (pthread_create(&jobs[i].thread, NULL, run_job, &jobs[i]) != 0)
            fake_die("no thread");
    }
}

void join_jobs(struct job *jobs, uint32_t n, struct entries *model)
{
    for (uint32_t i = 0; i < n; i++) {
        pthread_join(jobs[i].thread, NULL);
        model_join(model, &jobs[i].model);
    }
}

/* ── scenarios ──────────────────────────────────────────────────────────────────────────────────────────────── */

static void one_of_each(void)
{
    struct entries model = {0};
    start();
    for (uint32_t shape = 0; shape < OSR_VARIANT; shape++)
        for (size_t i = 0; i < N_CLASSES && shape != NATIVE_WILD; i++)
            for (uint64_t places = 0; places < 8; places++) { /* one thing changes at a time */
                struct fake_stack s = {1, places, {&bodies[FRAMED][0]}, 0};
                s.bodies[s.n++] = &bodies[shape][1];
                if (shape >= FIRST_VERSION)
                    s.bodies[s.n++] = &variants[shape - FIRST_VERSION][1];
                run(&model, &s, all_classes[i], i == 2 || i == 3 ? 7 : 0, 1 + places % 2);
            }
    for (uint32_t i = 0; i < 6; i++) { /* native code and managed code in frames of the same size */
        struct fake_stack s = {3, 0, {&bodies[FRAMED][0], &bodies[i % 2 == 0 ? NATIVE : FRAMED][1], &bodies[i < 4 ? FRAMED : NATIVE][2]}, 0};
        run(&model, &s, &order, 0, 1);
    }
    fake_allocate(&order, 0); /* the runtime itself allocates */
    model_add(&model, NULL, false, &order, false, 1, 40);
    fake_callback(CALLBACK_SHUTDOWN, 0);
    struct arena_facts *f = judge(&model, 0);
    check(f->header->state == WIRE_STATE_SHUT_DOWN && f->header->end_ns >= f->header->start_ns, "state %u", f->header->state);
    check(f->header->runtime_major == 9 && f->header->runtime_build == 7, "runtime version");
    check(f->n_threads == 1, "%u threads", f->n_threads);
    check(fake.event_low == (ENABLE_OBJECT_ALLOCATED | MONITOR_OBJECT_ALLOCATED | MONITOR_THREADS | MONITOR_MODULE_LOADS |
                              ENABLE_STACK_SNAPSHOT | MONITOR_JIT_COMPILATION /* see inlining_guard.c */) &&
              fake.event_high == HIGH_MONITOR_DYNAMIC_FUNCTION_UNLOADS,
          "event mask %x %x", fake.event_low, fake.event_high);
}

/* A collectible world that comes and goes at the same addresses, with other names, sizes and code. */
struct generation {
    struct fake_module module;
    struct fake_class class, list;
    struct fake_method method, helper, dynamic;
    struct fake_body bodies[4];
    int slots[4];
};

static void make_generation(struct generation *g, uint64_t owner, uint32_t n)
{
    static const enum fake_shape shapes[] = {FRAMED, FRAMELESS, FRAMELESS_PUSHES, FRAMELESS_LARGE};
    uint32_t id = (uint32_t)owner;
    memset(&g->module, 0, sizeof g->module);
    g->module.path = "";
    g->module.name = numbered("Collectible", id, n);
    g->module.flags = MODULE_FLAG_COLLECTIBLE | (n % 2 == 0 ? MODULE_FLAG_DYNAMIC : 0);
    fake_class_init(&g->class, &g->module, numbered("Plugin", id, n), 24 + 8 * (n % 5), 0);
    fake_class_init(&g->list, &library, "Library.List`1", 32, 0);
    g->list.arguments[g->list.n_arguments++] = &g->class;
    g->method = (struct fake_method){.name = numbered("Run", id, n), .module = &g->module, .type = &g->class, .il_points = 2};
    /* Generic code over a collectible type belongs to a module that stays. */
    g->helper = (struct fake_method){.name = numbered("Generic", id, n), .module = &library, .type = &line, .arguments = {&g->class}, .n_arguments = 1};
    g->dynamic = (struct fake_method){.name = numbered("Lambda", id, n), .dynamic = true, .il_points = 1};
    fake_emit(&g->method, &g->bodies[0], shapes[n % 4], g->slots[0]);
    fake_emit(&g->helper, &g->bodies[1], shapes[n / 2 % 4], g->slots[1]);
    fake_emit(&g->dynamic, &g->bodies[2], shapes[n / 3 % 4], g->slots[2]);
    fake_emit(&g->dynamic, &g->bodies[3], shapes[n / 5 % 4], g->slots[3]);
}

static struct fake_method timed[3]; /* Main, Work, and framework code */
static struct fake_body timed_bodies[3];

static void make_timed(void)
{
    static struct fake_module core = {"/dotnet/shared/Microsoft.NETCore.App/9.0.7/System.Private.CoreLib.dll", "System.Private.CoreLib.dll", MODULE_FLAG_DISK, NULL, false};
    static struct fake_class thread_class;
    fake_class_init(&thread_class, &core, "System.Threading.Thread", 24, 0);
    timed[0] = (struct fake_method){.name = "Main", .module = &app, .type = &program_class, .il_points = 2};
    timed[1] = (struct fake_method){.name = "Work", .module = &app, .type = &program_class, .il_points = 2};
    timed[2] = (struct fake_method){.name = "Sleep", .module = &core, .type = &thread_class, .il_points = 2};
    for (int i = 2; i >= 0; i--) {
        fake_emit(&timed[i], &timed_bodies[i], PROBED, -1);
        fake_compile(&timed[i]);
    }
}

static void sleep_a_little(void *data)
{
    (void)data;
    usleep(100);
}

static void run_work(void *data) /* deeper than the limit of the stack */
{
    uint32_t *left = data;
    fake_call(&timed[2], *left % 2, sleep_a_little, NULL);
    if ((*left)-- > 0)
        fake_call(&timed[1], 0, run_work, data);
}

static void run_main(void *data)
{
    (void)data;
    for (uint32_t i = 0; i < 4; i++) {
        uint32_t left = i;
        fake_call(&timed[1], i % 2, run_work, &left);
    }
    fake_callback(CALLBACK_THREAD_DESTROYED, 0x1000);
    fake_callback(CALLBACK_SHUTDOWN, 0);
}

/* A small arena with everything in it that an arena can have: the collector's seeds are made of it. */
static void every_record(void)
{
    static struct generation g = {.slots = {-1, -1, -1, -1}};
    struct entries model = {0};
    model_max_depth = 5;
    setenv("CLRPROF_STACK_DEPTH", "5", 1);
    setenv("CLRPROF_TIME", "1", 1);
    start();
    static const utf16 name[] = {'M', 'a', 'i', 'n', 0xE9, 0xD83D, 0xDE00}; /* é, and a pair of surrogates */
    fake_callback_name(0x1000, 7, name);
    make_generation(&g, 1, 1);
    struct fake_stack s = {4, 5, {&bodies[FRAMED][0], &bodies[FRAMELESS][3], &g.bodies[0], &g.bodies[2]}, 0};
    run(&model, &s, &g.list, 0, 2);
    for (size_t i = 0; i < N_CLASSES; i++)
        run(&model, &s, all_classes[i], i == 2 || i == 3 ? 7 : 0, 3);
    s.bodies[1] = &bodies[FIRST_VERSION][0];
    s.bodies[2] = &variants[0][0];
    s.bodies[3] = &bodies[FRAMED][4];
    s.repeat = 4;
    run(&model, &s, &order, 0, 1);
    fake_allocate(&order, 0);
    model_add(&model, NULL, false, &order, false, 1, 40);
    make_timed();
    fake_call(&timed[0], 0, run_main, NULL); /* it still runs at the end */
    judge(&model, 0);
}

static void random_stacks(void)
{
    struct entries model = {0};
    start();
    work_at_random(&model, 1, 20000 / SCALE, 24, false);
    judge(&model, 0);
}

static void faults(void)
{
    struct entries model = {0};
    if (THREAD_SANITIZER)
        return; /* it puts frames without frame pointers between the kernel and the handler */
    start();
    work_at_random(&model, 2, 5000 / SCALE, 12, true);
    judge(&model, 0);
}

static void stress(struct job *j)
{
    work_at_random(&j->model, 100 + j->index, 4000 / SCALE, 20, false);
}

static void parallel(void)
{
    struct entries model = {0};
    struct job jobs[16];
    start();
    start_jobs(jobs, 16, stress);
    join_jobs(jobs, 16, &model);
    struct arena_facts *f = judge(&model, 0);
    check(f->n_threads == 16 && f->n_thread_ends == 16, "%u threads, %u ends", f->n_threads, f->n_thread_ends);
}

static void little(struct job *j)
{
    work_at_random(&j->model, j->index, 3, 10, false);
}

#define OWN_IDS 1000u /* as in thread_sets.c */

static void short_threads(void)
{
    struct entries model = {0};
    struct job jobs[20];
    uint32_t batches = 250 / SCALE;
    start();
    for (uint32_t i = 0; i < batches; i++) {
        start_jobs(jobs, 20, little);
        join_jobs(jobs, 20, &model);
    }
    struct arena_facts *f = judge(&model, 0);
    uint32_t own = 20 * batches < OWN_IDS ? 20 * batches : OWN_IDS;
    check(f->n_threads == own && f->n_set_threads == 20 * batches - own && f->n_sets <= 20, "%u threads and %u in %u sets", f->n_threads,
          f->n_set_threads, f->n_sets);
    check(f->header->threads == own + f->n_sets, "%u ids", f->header->threads);
    check(f->header->private_bytes < 20 << 20, "%llu bytes for 20 threads at a time", (unsigned long long)f->header->private_bytes);
}

static void recursion(void)
{
    struct entries model = {0};
    start();
    struct fake_stack s = {2, 0, {&bodies[FRAMED][0], &bodies[FRAMELESS][1]}, 0};
    static const uint32_t depths[] = {10000, 10001, 9000, 1, 12000, 16380, 16382, 16383, 16384, 16390, 20000, 5};
    for (size_t i = 0; i < sizeof depths / sizeof *depths; i++)
        for (uint32_t k = 0; k < 2; k++) {
            s.bodies[1] = &bodies[k == 0 ? FRAMED : FRAMELESS][1];
            s.repeat = depths[i];
            run(&model, &s, &order, 0, 2);
        }
    judge(&model, 0);
}

static void depth_limit(void)
{
    struct entries model = {0};
    model_max_depth = 7;
    setenv("CLRPROF_STACK_DEPTH", "7", 1);
    start();
    work_at_random(&model, 3, 5000 / SCALE, 14, false);
    struct arena_facts *f = judge(&model, 0);
    check(f->header->max_stack_depth == 7, "depth %u", f->header->max_stack_depth);
}

/* Allocates at every level of a recursion that goes from fewer than MAX_FRAMES links to more. */
static void link_limit(void)
{
    struct entries model = {0};
    start();
    struct fake_stack s = {1, 0, {&bodies[FRAMED][1]}, 0};
    s.repeat = 70000;
    fake_run(&s, allocate, &(struct work){&(struct entries){0}, &s, &order, 0, 1});
    model_add_deep(&model, &s, &order, 1, 40);
    s.repeat = 3; /* and the thread goes on as ever */
    run(&model, &s, &order, 0, 2);
    s.bodies[0] = &bodies[FRAMELESS][1];
    s.repeat = 140000; /* two skips for one link, more skips than links */
    fake_run(&s, allocate, &(struct work){&(struct entries){0}, &s, &order, 0, 1});
    model_add_deep(&model, &s, &order, 1, 40);
    judge(&model, 0);
}

/* Allocates on the way up and on the way down of a recursion in steps of many levels, to more than MAX_FRAMES links. A
 * step's own links are few, so it is known which side of the limit it is on. */
struct climb {
    struct fake_stack s, whole;
    uint32_t steps, done;
    struct entries *model;
};

static void count_climbed(struct climb *c)
{
    fake_allocate(&order, 0);
    if (c->whole.n + c->whole.repeat >= 65536)
        model_add_deep(c->model, &c->whole, &order, 1, 40);
    else
        model_add(c->model, &c->whole, false, &order, false, 1, 40);
}

static void climb(void *data, bool in_handler)
{
    struct climb *c = data;
    (void)in_handler;
    count_climbed(c);
    if (c->done == c->steps)
        return;
    uint32_t before = c->whole.repeat;
    c->done++;
    c->whole.repeat += 1 + c->s.repeat;
    fake_run(&c->s, climb, c);
    c->whole.repeat = before;
    c->done--;
    count_climbed(c);
}

static void link_limit_climbed(void)
{
    static const struct {
        uint32_t step, steps;
        enum fake_shape shape;
    } ways[] = {{15000, 5, FRAMED}, {999, 75, FRAMED}, {30000, 3, FRAMELESS}, {999, 75, FRAMELESS}, {80000, 1, FRAMED}};
    struct entries model = {0};
    if (THREAD_SANITIZER)
        return; /* one thread */
    start();
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        struct fake_body *b = &bodies[ways[i].shape][1];
        struct climb c = {{1, 0, {b}, ways[i].step - 1}, {1, 0, {b}, ways[i].step - 1}, ways[i].steps - 1, 0, &model};
        fake_run(&c.s, climb, &c);
    }
    judge(&model, 0);
}

/* A tower of random stacks on top of each other, with allocations between, which grows and shrinks at random. */
struct tower {
    struct fake_stack whole;
    struct entries *model;
    uint64_t seed;
    uint32_t rounds, most;
};

static void build_tower(void *data, bool in_handler)
{
    struct tower *o = data;
    (void)in_handler;
    for (uint32_t n = o->whole.n; o->rounds > 0; o->whole.n = n) {
        uint64_t r = random_number(&o->seed);
        if (r % 4 < 3) {
            fake_allocate(&order, 0);
            model_add(o->model, &o->whole, false, &order, false, 1, 40);
        }
        o->rounds--;
        if ((r >> 8) % 16 < (n > o->most / 2 ? 9 : 6) || n + 70 > o->most)
            return;
        struct fake_stack *s = calloc(1, sizeof *s);
        random_stack(s, 0, 1 + (uint32_t)(r >> 16) % 64, &o->seed, false);
        s->places = o->whole.places = 0; /* of so many bodies the places of the first 64 alone could be distinguished */
        for (uint32_t i = 0; i < s->n; i++)
            o->whole.bodies[o->whole.n++] = s->bodies[i];
        fake_run(s, build_tower, o);
        free(s);
    }
}

static void towers(void)
{
    struct entries model = {0};
    start();
    for (uint64_t seed = 0; seed < 10 / SCALE; seed++) {
        struct tower *o = calloc(1, sizeof *o);
        *o = (struct tower){.model = &model, .seed = seed, .rounds = 200, .most = MAX_PROGRAM};
        while (o->rounds > 0)
            build_tower(o, false);
        free(o);
    }
    judge(&model, 0);
}

/* Frameless chains of all lengths between frames, in tables without room at first. */
static void chains(void)
{
    struct entries model = {0};
    uint64_t seed = 11;
    start();
    /* The same frames as before, and more callers beside them than there is room for: three of 16 bytes on the stack for
     * each of 48. */
    for (uint32_t n = 1; n < 1024; n *= 2) {
        struct fake_stack many = {2, 0, {&bodies[FRAMED][0], &bodies[FRAMELESS_PUSHES][1]}, n - 1};
        run(&model, &many, &order, 0, 2);
        many.bodies[1] = &bodies[FRAMELESS][2];
        many.repeat = 3 * n - 1;
        run(&model, &many, &order, 0, 2);
    }
    struct fake_stack *s = calloc(1, sizeof *s);
    for (uint32_t round = 0; round < 100 / SCALE; round++) {
        uint32_t keep = (uint32_t)random_number(&seed) % (s->n + 1);
        for (s->n = keep; s->n < 2500;) {
            uint64_t r = random_number(&seed);
            uint32_t length = (uint32_t)(r >> 8) % 500 + 1;
            enum fake_shape shape = r % 8 == 0 ? STUB : r % 4 == 1 ? FRAMELESS_PUSHES : FRAMELESS;
            for (uint32_t i = 0; i < length && r % 3 != 0; i++)
                s->bodies[s->n++] = &bodies[shape][(r >> 20) % PER_SHAPE];
            for (uint32_t i = 0; i < 1 + (r >> 32) % 80 && r % 3 != 1; i++)
                s->bodies[s->n++] = &bodies[FRAMED][(r >> 40) % PER_SHAPE];
            if (r >> 60 == 0)
                break;
        }
        if (s->n == 0)
            s->bodies[s->n++] = &bodies[FRAMED][0];
        s->places = keep < 64 ? seed : s->places; /* what is more than NEAR_PLACES above must not change alone */
        run(&model, s, &order, 0, 1 + round % 2);
    }
    free(s);
    judge(&model, 0);
}

/* Stacks that differ in their innermost frames, again and again: in the same order, in another one, with others between. */
static void recurring(void)
{
    struct entries model = {0};
    start();
    struct fake_stack *s = calloc(13, sizeof *s);
    uint64_t *steps = dlsym(dlopen(agent_path, RTLD_LAZY | RTLD_NOLOAD), "clrprof_steps"), seed = 13;
    for (uint32_t trial = 0; trial < 150 / SCALE; trial++) {
        uint32_t n = 1 + trial % 12;
        random_stack(&s[12], 0, 3 + (uint32_t)random_number(&seed) % 24, &seed, false);
        for (uint32_t i = 0; i < n; i++) {
            s[i] = s[12];
            random_stack(&s[i], s[i].n - (uint32_t)random_number(&seed) % 4, s[i].n, &seed, !THREAD_SANITIZER && trial % 5 == 0 && i % 4 == 0);
        }
        for (uint32_t i = 0; i < 12 * n; i++) {
            uint64_t r = random_number(&seed);
            uint32_t k = r % 8 == 0 ? (uint32_t)(r >> 8) % 13 : i % n;
            if (k < n || k == 12)
                run(&model, &s[k], k % 3 == 2 ? &line : &order, (uint32_t)(r >> 16) % 9, r >> 60 == 0 ? 2 : 1);
        }
    }
    uint64_t before = 0;
    for (uint32_t round = 0; round < 20; round++) { /* eight places in turn are known soon, and no site is looked for */
        before = round == 5 ? *steps : before;
        for (uint32_t i = 0; i < 8; i++) {
            struct fake_stack place = {4, i & 3, {&bodies[FRAMED][0], &bodies[FRAMED][1], &bodies[FRAMED][2], &bodies[i & 4 ? FRAMELESS : FRAMED][3]}, 0};
            run(&model, &place, &order, 0, 1);
        }
    }
    check(*steps == before, "%llu sites were looked at for allocations that recur", (unsigned long long)(*steps - before));
    free(s);
    judge(&model, 0);
}

static void incomplete_types(void)
{
    struct entries model = {0};
    start();
    order.incomplete = 3;
    line.incomplete = 1000;
    struct fake_stack s = {1, 0, {&bodies[FRAMED][2]}, 0};
    for (int i = 0; i < 5; i++) {
        s.places = (uint64_t)i & 1;
        fake_run(&s, allocate, &(struct work){&(struct entries){0}, &s, &order, 0, 1});
        fake_run(&s, allocate, &(struct work){&(struct entries){0}, &s, &line, 0, 1});
    }
    order.incomplete = 0;
    fake_callback(CALLBACK_SHUTDOWN, 0);
    for (int i = 0; i < 5; i++) {
        s.places = (uint64_t)i & 1;
        model_add(&model, &s, false, &order, false, 1, 40);
        model_add(&model, &s, false, &line, false, 1, 24);
    }
    judge(&model, 0);
}

/* The shutdown comes on a thread that never allocated. */
static void *shut_down(void *nothing)
{
    fake_callback(CALLBACK_SHUTDOWN, 0);
    return nothing;
}

static void incomplete_until_shutdown(void)
{
    struct entries model = {0};
    start();
    order.incomplete = 1;
    struct fake_stack s = {1, 0, {&bodies[FRAMED][2]}, 0};
    fake_run(&s, allocate, &(struct work){&(struct entries){0}, &s, &order, 0, 1});
    pthread_t thread;
    pthread_create(&thread, NULL, shut_down, NULL);
    pthread_join(thread, NULL);
    order.incomplete = 0;
    model_add(&model, &s, false, &order, false, 1, 40);
    judge(&model, 0);
}

static void free_dynamic(struct generation *g)
{
    fake_callback(CALLBACK_DYNAMIC_METHOD_UNLOADED, (uintptr_t)&g->dynamic);
    fake_forget(&g->dynamic);
    g->dynamic.gone = true;
}

static void unload_generation(struct generation *g)
{
    fake_callback(CALLBACK_MODULE_UNLOAD_STARTED, (uintptr_t)&g->module);
    fake_forget(&g->method);
    fake_forget(&g->helper);
    g->module.gone = g->class.gone = g->list.gone = g->method.gone = g->helper.gone = true;
    fake_callback(CALLBACK_MODULE_UNLOAD_FINISHED, (uintptr_t)&g->module);
}

static int next_slot;

static void come_and_go(struct job *j)
{
    struct generation *g = calloc(1, sizeof *g);
    for (int i = 0; i < 4; i++)
        g->slots[i] = __atomic_fetch_add(&next_slot, 1, __ATOMIC_RELAXED);
    for (uint32_t n = 0; n < 60 / SCALE; n++) {
        make_generation(g, j->index, n);
        struct fake_stack s = {4, n, {&bodies[FRAMED][0], &g->bodies[0], &g->bodies[1], &g->bodies[2]}, 0};
        run(&j->model, &s, &g->class, 0, 3);
        run(&j->model, &s, &order, 0, 2);
        run(&j->model, &s, &g->list, 0, 2);
        s.bodies[3] = &g->bodies[3];
        run(&j->model, &s, &g->class, 0, 1);
        if (n % 3 == 0) { /* a dynamic method goes alone, its memory is used again at once */
            free_dynamic(g);
            g->dynamic = (struct fake_method){.name = numbered("Again", (uint32_t)j->index, n), .dynamic = true};
            fake_emit(&g->dynamic, &g->bodies[2], FRAMED, g->slots[2]);
            run(&j->model, &(struct fake_stack){3, n, {&bodies[FRAMED][0], &g->bodies[0], &g->bodies[2]}, 0}, &order, 0, 1);
        }
        free_dynamic(g);
        unload_generation(g);
        s = (struct fake_stack){1, n, {&bodies[FRAMED][0]}, 0};
        run(&j->model, &s, &order, 0, 1);
    }
}

static void come_and_go_or_stay(struct job *j)
{
    if (j->index % 2 == 0)
        come_and_go(j);
    else
        stress(j);
}

static void reserve_slots(void)
{
    static struct fake_method m = {.name = "unused"};
    static struct fake_body b[64];
    for (int i = 0; i < 64; i++)
        fake_emit(&m, &b[i], FRAMED, -1);
    next_slot = (int)((uintptr_t)b[0].start - FAKE_CODE_BASE) / (int)CODE_SLOT;
    fake_forget(&m);
}

static void unloading(void)
{
    struct entries model = {0};
    struct job jobs[8];
    start();
    reserve_slots();
    start_jobs(jobs, 8, come_and_go_or_stay);
    join_jobs(jobs, 8, &model);
    judge(&model, 0);
    /* What the agent still holds: the three modules that stay, and metadata of none that went. */
    check(fake.references == 2 || fake.references == 3, "%u references to metadata", fake.references);
}

static struct generation *between;

static void use_between(struct job *j)
{
    struct fake_stack s = {3, 0, {&bodies[FRAMED][0], &between->bodies[0], &between->bodies[2]}, 0};
    if (between->class.incomplete == 0) /* read back, a type is named as its parts were then */
        run(&j->model, &s, &between->list, 0, 1);
    run(&j->model, &s, &between->class, 0, 1);
}

/* A thread's state is used again by the next thread, after the code that it has seen is gone. */
static void unloading_between_threads(void)
{
    struct entries model = {0};
    struct job job;
    start();
    reserve_slots();
    between = calloc(1, sizeof *between);
    for (int i = 0; i < 4; i++)
        between->slots[i] = next_slot++;
    for (uint32_t n = 0; n < 20; n++) {
        make_generation(between, 7, n);
        between->class.incomplete = n % 2 == 0; /* named when it is unloaded, and then forgotten */
        start_jobs(&job, 1, use_between);
        join_jobs(&job, 1, &model);
        free_dynamic(between);
        unload_generation(between);
    }
    judge(&model, 0);
}

static int reentered_step(uint64_t n)
{
    struct entries model = {0};
    start();
    work_at_random(&model, 4, 1, 1, false); /* the thread is known from now on */
    fake.reenter_class = &line;
    fake.reenter_at = fake.calls + n;
    work_at_random(&model, 5, 12, 6, false);
    bool beyond = fake.reenter_at != 0;
    struct arena_facts *f = judge(&model, beyond ? 0 : 1);
    check(f->header->losses[WIRE_LOSS_REENTERED].objects == f->lost_objects, "lost for another reason");
    return beyond ? STEP_BEYOND : STEP_PASSED;
}

static void reentered(void)
{
    sweep(reentered_step, SCALE);
}

/* ── scenarios of failing calls ─────────────────────────────────────────────────────────────────────────────── */

static int one_call_fails(uint64_t n)
{
    start();
    fake.fail_at = fake.calls + n;
    odd.odd_bytes = 0; /* its size cannot be known without asking */
    struct entries model = {0};
    work_at_random(&model, 6, 25, 8, !THREAD_SANITIZER);
    bool beyond = fake.calls < fake.fail_at;
    fake_callback(CALLBACK_SHUTDOWN, 0);
    judge(NULL, ANY_LOSS);
    return beyond ? STEP_BEYOND : STEP_PASSED;
}

static int all_calls_fail(uint64_t n)
{
    start();
    fake.fail_from = fake.calls + n;
    odd.odd_bytes = 0;
    struct entries model = {0};
    work_at_random(&model, 6, 25, 8, !THREAD_SANITIZER);
    bool beyond = fake.calls < fake.fail_from;
    judge(NULL, ANY_LOSS);
    return beyond ? STEP_BEYOND : STEP_PASSED;
}

static void failing_calls(void)
{
    sweep(one_call_fails, SCALE);
    sweep(all_calls_fail, 7 * SCALE);
}

static enum fake_os_call os_call;
static bool os_for_good; /* all calls fail from that one on */

static int os_call_fails(uint64_t n)
{
    struct entries model = {0};
    struct job jobs[3];
    model_has_bodies = true;
    start();
    uint64_t at = fake.os_calls[os_call] + n;
    *(os_for_good ? &fake.os_fail_from[os_call] : &fake.os_fail_at[os_call]) = at;
    work_at_random(&model, 7, 2500, 20, false);
    start_jobs(jobs, 3, little);
    join_jobs(jobs, 3, &model);
    judge(&model, ANY_LOSS);
    return fake.os_calls[os_call] < at ? STEP_BEYOND : STEP_PASSED;
}

/* A file system that fills up: an eighth is left to others (needs root). */
static void file_system_left(void)
{
    struct statvfs v;
    struct entries model = {0};
    if (THREAD_SANITIZER)
        return; /* one thread */
    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 || mount("none", directory, "tmpfs", 0, "size=4m") != 0) {
        printf("no right to mount: ");
        return;
    }
    start();
    work_at_random(&model, 30, 20000, 40, false);
    struct entries found = {0};
    struct arena_facts *f = arena_read(directory, &found);
    check(f != NULL && f->header->losses[WIRE_LOSS_STACKS].events > 0, "nothing is lost");
    check(statvfs(directory, &v) == 0 && v.f_bfree >= v.f_blocks / 8 && v.f_bfree < v.f_blocks / 2, "%llu of %llu blocks are free",
          (unsigned long long)v.f_bfree, (unsigned long long)v.f_blocks);
}

static void failing_mmap(void)
{
    os_call = OS_MMAP;
    sweep(os_call_fails, EACH_OR_SOME);
    os_for_good = true;
    sweep(os_call_fails, SCALE);
}

static void failing_fallocate(void)
{
    os_call = OS_FALLOCATE;
    sweep(os_call_fails, EACH_OR_SOME);
    os_for_good = true;
    sweep(os_call_fails, SCALE);
}

/* ── scenarios of Initialize ────────────────────────────────────────────────────────────────────────────────── */

static uint32_t count_lines(const char *path, const char *with)
{
    char text[4096];
    uint32_t n = 0;
    FILE *f = fopen(path, "r");
    while (f != NULL && fgets(text, sizeof text, f) != NULL)
        n += strstr(text, with) != NULL;
    if (f != NULL)
        fclose(f);
    return n;
}

static uint32_t count_open(const char *with)
{
    char link[64], target[4096];
    uint32_t n = 0;
    for (int fd = 0; fd < 256; fd++) {
        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        ssize_t length = readlink(link, target, sizeof target - 1);
        target[length < 0 ? 0 : length] = 0;
        n += strstr(target, with) != NULL;
    }
    return n;
}

/* The number of files in the directory whose name has the text in it. */
static uint32_t count_files(const char *with)
{
    uint32_t n = 0;
    DIR *d = opendir(directory);
    for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL;)
        n += e->d_name[0] != '.' && strstr(e->d_name, with) != NULL;
    if (d != NULL)
        closedir(d);
    return n;
}

void check_refused(hresult hr, uint32_t failure, const char *note)
{
    check(count_files("") == (failure != 0 || note != NULL), "%u files", count_files(""));
    check(note == NULL || count_files(note) == 1, "no note of %s", note);
    check(hr == HR_CANCEL_ACTIVATION, "Initialize returned %x", (unsigned)hr);
    check(SANITIZED || dlopen(agent_path, RTLD_LAZY | RTLD_NOLOAD) == NULL, "the library is still there");
    check(count_lines("/proc/self/maps", ".arena") == 0, "the arena is still mapped");
    check(count_open(".arena") == 0, "the arena is still open");
    struct entries found = {0};
    DIR *d = opendir(directory);
    struct arena_facts *f = d == NULL ? NULL : arena_read(directory, &found);
    check((f != NULL) == (failure != 0), "%s arena", f == NULL ? "no" : "an");
    check(f == NULL || (f->header->state == WIRE_STATE_FAILED && f->header->failure == failure), "state %u, failure %u",
          f == NULL ? 0 : f->header->state, f == NULL ? 0 : f->header->failure);
}

static int refusal_step(uint64_t n)
{
    uint32_t failure = 0;
    make_world();
    switch (n) {
    case 1:
        unsetenv("CLRPROF_ARENAS");
        break;
    case 2:
        setenv("CLRPROF_ARENAS", "", 1);
        break;
    case 3:
        strcat(directory, "/none");
        setenv("CLRPROF_ARENAS", directory, 1);
        break;
    case 4: { /* longer than a path may be */
        char *path = malloc(9000);
        memset(path, '/', 8999);
        path[8999] = 0;
        setenv("CLRPROF_ARENAS", path, 1);
        break;
    }
    case 5:
        fake.no_info9 = true;
        failure = WIRE_FAILURE_OLD_RUNTIME;
        break;
    case 6:
        fake.fail_at = 4;
        failure = WIRE_FAILURE_EVENT_MASK;
        break;
    case 7:
        fake.os_fail_at[OS_KEY] = 1;
        failure = WIRE_FAILURE_OUT_OF_MEMORY;
        break;
    case 8:
        fake.os_fail_from[OS_FTRUNCATE] = 1;
        break;
    case 9:
        fake.os_fail_from[OS_LINK] = 1;
        break;
    case 10:
        fake.os_fail_from[OS_MMAP] = 1;
        break;
    case 11: /* a limit below what an arena needs, and no signal */
    case 12:
    case 13: {
        struct rlimit limit = {n == 11 ? 0 : n == 12 ? 4096 : 1 << 20, RLIM_INFINITY};
        setrlimit(RLIMIT_FSIZE, &limit);
        break;
    }
    case 14: /* a directory that cannot be written to */
        if (geteuid() != 0)
            chmod(directory, 0500);
        else if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
                 mount("none", directory, "tmpfs", MS_RDONLY, NULL) != 0)
            return STEP_PASSED;
        break;
    default:
        return STEP_BEYOND;
    }
    hresult hr = fake_load(agent_path);
    struct rlimit none = {RLIM_INFINITY, RLIM_INFINITY};
    setrlimit(RLIMIT_FSIZE, &none);
    check_refused(hr, failure, n < 8 || n == 14 ? NULL : n == 9 ? ".no_space.failed" : ".no_address_space.failed");
    return STEP_PASSED;
}

static int initialize_without(uint64_t n) /* the n-th mmap or fallocate of Initialize fails */
{
    make_world();
    fake.os_fail_from[os_call] = n;
    hresult hr = fake_load(agent_path);
    if (hr == HR_OK)
        return STEP_BEYOND;
    bool early = n <= (os_call == OS_FALLOCATE ? 3u : 5u); /* before there is an arena */
    check_refused(hr, early ? 0 : WIRE_FAILURE_OUT_OF_MEMORY, !early ? NULL : os_call == OS_MMAP ? ".no_address_space.failed" : ".no_space.failed");
    return STEP_PASSED;
}

static void refusals(void)
{
    sweep(refusal_step, 1);
    os_call = OS_MMAP;
    sweep(initialize_without, 1);
    os_call = OS_FALLOCATE;
    sweep(initialize_without, 1);
}

static int retry_step(uint64_t n)
{
    struct entries model = {0};
    if (n == 1)
        fake.os_fail_at[OS_LINK] = 1; /* somebody has that name */
    else if (n == 2)
        fake.os_fail_at[OS_MMAP] = 1; /* the address space is small: a smaller arena */
    else if (n == 3)
        setrlimit(RLIMIT_FSIZE, &(struct rlimit){100 << 20, RLIM_INFINITY});
    else if (n == 4)
        setenv("CLRPROF_MEMORY", "-1", 1);
    else if (n == 5)
        setenv("CLRPROF_MEMORY", "99999999999999999999999", 1);
    else if (n == 6)
        setenv("CLRPROF_MEMORY", "64M", 1); /* not a number: the default */
    else if (n == 7)
        setenv("CLRPROF_MEMORY", "1", 1); /* the least */
    else if (n == 8)
        fake.no_info14 = true;
    else if (n == 9)
        fake.fail_at = 3; /* no version of the runtime */
    else
        return STEP_BEYOND;
    start();
    work_at_random(&model, n, 30, 5, false);
    struct arena_facts *f = judge(&model, 0);
    check(f->header->state == WIRE_STATE_RECORDING && f->header->failure == 0, "state %u", f->header->state);
    check(n != 6 || f->header->memory_limit == 1 << 30, "limit %llu", (unsigned long long)f->header->memory_limit);
    check(n != 7 || f->header->memory_limit == 4 << 20, "limit %llu", (unsigned long long)f->header->memory_limit);
    return STEP_PASSED;
}

static void initialized_all_the_same(void)
{
    sweep(retry_step, 1);
}

static void before_initialize_ends(void)
{
    struct entries model = {0};
    make_world();
    fake_set_thread(0);
    fake.allocate_in_set_event_mask = true;
    fake.reenter_class = &order;
    check(fake_load(agent_path) == HR_OK, "Initialize");
    model_add(&model, NULL, false, &order, false, 1, 40);
    work_at_random(&model, 9, 20, 5, false);
    judge(&model, 0);
}

/* ── scenarios of limits ────────────────────────────────────────────────────────────────────────────────────── */

static char *long_name(char letter, size_t n)
{
    char *name = malloc(n + 1);
    memset(name, letter, n);
    name[n] = 0;
    return name;
}

static struct fake_class many_classes[4096];
static struct fake_method many_methods[8192];
static struct fake_body many_bodies[8192];
static pthread_barrier_t all_there;

/* All threads allocate objects of many types at the same places, more than are looked for one by one. */
static void crowd(struct job *j)
{
    struct fake_stack s = {2, 0, {&bodies[FRAMED][0], &bodies[FRAMED][1]}, 0};
    for (uint32_t round = 0; round < 3; round++) {
        pthread_barrier_wait(&all_there);
        for (uint32_t i = 0; i < N_CLASSES; i++) {
            s.places = i % 2;
            run(&j->model, &s, all_classes[i], 0, 1 + round);
        }
    }
}

static void crowded(void)
{
    struct entries model = {0};
    struct job jobs[30];
    start();
    pthread_barrier_init(&all_there, NULL, 30);
    for (uint32_t i = 0; i < 4; i++) {
        start_jobs(jobs, 30, crowd);
        join_jobs(jobs, 30, &model);
    }
    judge(&model, 0);
}

static void stay(struct job *j)
{
    little(j);
    pthread_barrier_wait(&all_there);
    little(j);
}

static int memory_limit_step(uint64_t n)
{
    struct entries model = {0};
    struct fake_stack s = {2, 0, {&bodies[FRAMED][0], &bodies[FRAMED][1]}, 0};
    if (THREAD_SANITIZER && n < 4)
        return STEP_PASSED; /* one thread, and half a minute */
    setenv("CLRPROF_MEMORY", "4194304", 1);
    model_has_bodies = true;
    start();
    if (n == 1) { /* nodes and sites */
        work_at_random(&model, 11, 60000, 40, false);
    } else if (n == 2) { /* descriptions of types */
        for (uint32_t i = 0; i < 4096; i++) {
            fake_class_init(&many_classes[i], &app, numbered(long_name('n', 1000), i, i), 24, 0);
            run(&model, &s, &many_classes[i], 0, 2);
            run(&model, &s, &order, 0, 1);
        }
    } else if (n == 3) { /* instructions, functions and bodies */
        for (uint32_t i = 0; i < 8192; i++) {
            many_methods[i] = (struct fake_method){.name = numbered("M", i, i), .module = &app, .type = &program_class, .il_points = 40};
            fake_emit(&many_methods[i], &many_bodies[i], FRAMED, -1);
            s.bodies[1] = &many_bodies[i];
            run(&model, &s, &order, 0, 2);
        }
    } else if (n == 4) { /* threads */
        static struct job jobs[400];
        uint32_t threads = THREAD_SANITIZER ? 150 : 400;
        pthread_barrier_init(&all_there, NULL, threads);
        start_jobs(jobs, threads, stay);
        join_jobs(jobs, threads, &model);
        work_at_random(&model, 12, 1000, 20, false);
    } else {
        return STEP_BEYOND;
    }
    struct arena_facts *f = judge(&model, ANY_LOSS);
    const struct wire_loss_entry *losses = f->header->losses;
    if (n == 1 || n == 3) /* types are known of all */
        check(f->lost_objects == 0 && losses[WIRE_LOSS_STACKS].events > 100, "%llu objects lost, %llu stacks",
              (unsigned long long)f->lost_objects, (unsigned long long)losses[WIRE_LOSS_STACKS].events);
    else
        check(f->lost_objects > 0 || (n == 4 && THREAD_SANITIZER), "nothing was lost");
    check(f->objects > 1000 || n == 4, "only %llu objects counted", (unsigned long long)f->objects);
    return STEP_PASSED;
}

static void memory_limit(void)
{
    sweep(memory_limit_step, 1);
}

/* The collector has little memory: what it would need for each node is more than what the agent needs. */
static void node_limit(void)
{
    struct entries model = {0};
    setenv("CLRPROF_NODES", "300", 1);
    start();
    work_at_random(&model, 31, 4000 / SCALE, 30, false);
    struct arena_facts *f = judge(&model, ANY_LOSS);
    check(f->lost_objects == 0 && f->header->losses[WIRE_LOSS_STACKS].events > 10, "%llu objects lost, %llu stacks",
          (unsigned long long)f->lost_objects, (unsigned long long)f->header->losses[WIRE_LOSS_STACKS].events);
    check(f->n_nodes <= 300 + 1 + f->n_ips, "%u nodes", f->n_nodes); /* those below (truncated): one for each place that allocates */
}

static void names_and_numbers(void)
{
    struct entries model = {0};
    static struct fake_class nest[40], arrays[40], generic, wide;
    static struct fake_body body[300];
    struct fake_module far = {long_name('p', 3000), long_name('m', 2000), MODULE_FLAG_DISK, NULL, false};
    struct fake_method long_method = {.name = long_name('f', 1024), .module = &far, .type = &nest[0], .il_points = 10000, .signature_bytes = 150 << 10};
    struct fake_method wide_method = {.name = "Wide", .module = &app, .type = &wide, .il_points = WIRE_MAX_IL_MAP, .n_arguments = 70};
    struct fake_method dynamic = {.name = long_name('d', 1023), .dynamic = true, .il_points = WIRE_MAX_IL_MAP + 1};
    start();
    for (uint32_t i = 0; i < 40; i++) {
        fake_class_init(&nest[i], &far, long_name((char)('A' + i), 1024), 24, 0);
        nest[i].enclosing = i < 39 ? &nest[i + 1] : NULL;
        fake_class_init(&arrays[i], NULL, "", 16, 8);
        arrays[i].kind = AN_ARRAY;
        arrays[i].rank = i + 1;
        arrays[i].element = i < 39 ? &arrays[i + 1] : &order;
    }
    fake_class_init(&generic, &app, "Generic", 24, 0);
    fake_class_init(&wide, &app, "Wide", 24, 0);
    wide.n_arguments = 70;
    for (uint32_t i = 0; i < 70; i++)
        wide.arguments[i] = wide_method.arguments[i] = all_classes[i % N_CLASSES];
    generic.n_arguments = 1;
    generic.arguments[0] = &generic; /* no runtime has this; it must end */
    fake_emit(&long_method, &body[0], FRAMED, -1);
    fake_emit(&wide_method, &body[1], FRAMELESS, -1);
    fake_emit(&dynamic, &body[2], FRAMED, -1);
    struct fake_stack s = {3, 0, {&body[0], &body[1], &body[2]}, 0};
    run(&model, &s, &nest[0], 0, 1);
    run(&model, &s, &nest[39], 0, 1);
    run(&model, &s, &arrays[0], 3, 1);
    run(&model, &s, &wide, 0, 1);
    struct arena_facts *f = judge(&model, 0);
    check(f->header->losses[WIRE_LOSS_NAME_TRUNCATED].events > 0, "no name was cut");
    check(f->header->losses[WIRE_LOSS_IL_MAP_TRUNCATED].events == 2, "%llu IL maps were cut", (unsigned long long)f->header->losses[WIRE_LOSS_IL_MAP_TRUNCATED].events);
    fake_allocate(&generic, 0);
    judge(NULL, ANY_LOSS);
}

/* A function with more bodies than are looked at: its last ones have no lines, and nothing is lost. */
static void many_bodies_of_one(void)
{
    static struct fake_method m = {.name = "Tiered", .module = &app, .type = &program_class};
    struct entries model = {0};
    start();
    for (uint32_t i = 0; i < 300; i++)
        fake_emit(&m, &many_bodies[i], FRAMED, -1);
    for (uint32_t i = 0; i < 300; i++)
        run(&model, &(struct fake_stack){2, 0, {&bodies[FRAMED][0], &many_bodies[i]}, 0}, &order, 0, 1);
    judge(&model, 0);
}

/* ── scenarios of threads ───────────────────────────────────────────────────────────────────────────────────── */

static void thread_names(void)
{
    utf16 name[3000];
    for (int i = 0; i < 3000; i++)
        name[i] = 'n';
    start();
    fake_callback_name(0x1000, 4, name);
    fake_callback_name(0x1000, 0, NULL);
    fake_callback_name(0x1000, WIRE_MAX_NAME, name);
    fake_callback_name(0x1000, 3000, name);
    struct entries model = {0};
    work_at_random(&model, 13, 10, 5, false);
    struct entries found = {0};
    struct arena_facts *f = arena_read(directory, &found);
    check(f->n_thread_names == 4 && f->header->losses[WIRE_LOSS_NAME_TRUNCATED].events == 1, "%u names", f->n_thread_names);
}

static struct entries late_model;
static pthread_key_t late_key;

static void allocate_late(void *data) /* a destructor of thread data, after the agent's own or before */
{
    static __thread int again;
    (void)data;
    work_at_random(&late_model, 14, 5, 5, false);
    if (again++ < 2)
        pthread_setspecific(late_key, &late_model);
}

static void end_late(struct job *j)
{
    pthread_setspecific(late_key, j);
    little(j);
}

static void allocations_at_thread_end(void)
{
    struct entries model = {0};
    struct job job;
    if (THREAD_SANITIZER)
        return; /* it has already ended the thread then */
    start();
    pthread_key_create(&late_key, allocate_late);
    for (int i = 0; i < 10; i++) {
        start_jobs(&job, 1, end_late);
        join_jobs(&job, 1, &model);
    }
    model_join(&model, &late_model);
    judge(&model, 0);
}

/* The bounds of the stack cannot be had. On the main thread they are known in another way. */
static void unknown_stack(void)
{
    struct entries model = {0};
    struct job job;
    start();
    fake.os_fail_from[OS_STACK] = 1;
    work_at_random(&model, 15, 50, 10, false);
    start_jobs(&job, 1, little);
    join_jobs(&job, 1, &(struct entries){0});
    struct entries found = {0};
    struct arena_facts *f = arena_read(directory, &found);
    check(f->objects == fake.objects, "%llu of %llu objects", (unsigned long long)f->objects, (unsigned long long)fake.objects);
    size_t n = 0;
    for (size_t i = 0; i < found.n; i++) /* the other thread's sites */
        if (found.list[i].thread == (uint64_t)getpid())
            found.list[n++] = found.list[i];
    found.n = n;
    int differences = model_compare(&model, &found, true);
    check(differences == 0, "%d differences", differences);
}

static void endless(struct job *j)
{
    work_at_random(&j->model, j->index, 1500 / SCALE, 15, false);
}

static void around_shutdown(void)
{
    struct entries model = {0};
    struct job jobs[4];
    start();
    start_jobs(jobs, 4, endless);
    work_at_random(&model, 16, 100, 10, false);
    fake_callback(CALLBACK_SHUTDOWN, 0);
    work_at_random(&model, 17, 100, 10, false);
    join_jobs(jobs, 4, &model);
    struct arena_facts *f = judge(&model, 0);
    check(f->header->state == WIRE_STATE_SHUT_DOWN, "state %u", f->header->state);
}

/* A child that was forked and goes on as programs do must leave its parent's recording alone, with stacks that its parent had last
 * too, and also where that has grown meanwhile. Without MADV_WIPEONFORK too, and with a lock that another thread held. */
static int forked_step(uint64_t n)
{
    struct entries model = {0}, none = {0};
    int grown[2], status = 0;
    if (n > 2 || pipe(grown) != 0)
        return STEP_BEYOND;
    if (n == 2)
        fake.os_fail_from[OS_MADVISE] = 1;
    start();
    work_at_random(&model, 18, 20, 5, false);
    pid_t child = fork();
    if (child == 0) {
        char c;
        if (read(grown[0], &c, 1) != 1)
            abort();
        work_at_random(&none, 18, 20, 5, false); /* as its parent has done: what it looks at is as it was */
        work_at_random(&none, 20, 2000, 12, false);
        fake_callback(CALLBACK_SHUTDOWN, 0);
        _exit(0);
    }
    work_at_random(&model, 19, 2000, 12, false);
    if (write(grown[1], "x", 1) != 1)
        abort();
    waitpid(child, &status, 0);
    check(WIFEXITED(status), "the child ended with status %x", status);
    work_at_random(&model, 21, 20, 5, false);
    struct arena_facts *f = judge(&model, 0);
    check(f->header->state == WIRE_STATE_RECORDING, "state %u", f->header->state);
    return STEP_PASSED;
}

static void forked(void)
{
    sweep(forked_step, 1);
}

static void killed(void)
{
    int ready[2];
    if (pipe(ready) != 0)
        abort();
    pid_t child = fork();
    if (child == 0) {
        start();
        struct job jobs[4];
        struct entries model = {0};
        start_jobs(jobs, 4, endless);
        work_at_random(&model, 20, 200, 10, false);
        if (write(ready[1], "x", 1) != 1)
            abort();
        for (;;)
            work_at_random(&model, 21, 1000, 10, false);
    }
    char c;
    if (read(ready[0], &c, 1) != 1)
        abort();
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    struct entries found = {0};
    struct arena_facts *f = arena_read(directory, &found);
    check(f != NULL && f->objects >= 200 && f->header->state == WIRE_STATE_RECORDING, "an arena without much");
}

/* ── scenarios of memory ────────────────────────────────────────────────────────────────────────────────────── */

static void allocate_only(void *data, bool in_handler)
{
    (void)data, (void)in_handler;
    fake_allocate(&order, 0);
}

/* Native code that uses the frame pointer for something else calls managed code: whatever is in the register, the
 * stack is whole, nothing crashes, and values that are no addresses do not fill the arena. */
static void wild_frame_pointers(void)
{
    enum { VALUES = 100000 };
    struct entries model = {0};
    uintptr_t pair[4] = {0, 0, 0, 0}, self = (uintptr_t)__builtin_frame_address(0);
    struct fake_body *wild = &bodies[NATIVE_WILD][0];
    start();
    struct fake_stack s = {4, 0, {&bodies[FRAMED][2], &bodies[FRAMED][0], wild, &bodies[FRAMED][1]}, 0};
    const uintptr_t values[] = {0, 1, 8, self + 4, self | 1, UINTPTR_MAX, UINTPTR_MAX - 15, 0xdead0000, (uintptr_t)environ & ~(uintptr_t)7,
                                (uintptr_t)__builtin_frame_address(0) - (1 << 20), (uintptr_t)&model_max_depth & ~(uintptr_t)7};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        fake_set_wild(wild, values[i]);
        for (s.places = 0; s.places < 16; s.places++)
            run(&model, &s, &order, 0, 1 + s.places % 2);
    }
    s.places = 0;
    for (size_t i = 0; i < VALUES; i++) { /* a pair that looks like a frame, not the same as before */
        uintptr_t *here = &pair[i % 2 * 2];
        const uintptr_t nexts[] = {0, 1, UINTPTR_MAX, (uintptr_t)here, (uintptr_t)here - 8};
        fake_set_wild(wild, (uintptr_t)here);
        here[0] = nexts[i % 5];
        here[1] = i == 10 ? 0 : i % 1000 == 0 ? (uintptr_t)bodies[NATIVE][0].start + 3 : 0x10000 + 8 * i;
        fake_run(&s, allocate_only, NULL);
    }
    model_add(&model, &s, false, &order, false, VALUES, 40 * VALUES);
    struct arena_facts *f = judge(&model, 0);
    check(f->n_ips < 20 && f->header->private_bytes < 8 << 20, "%u instructions, %llu bytes", f->n_ips, (unsigned long long)f->header->private_bytes);
    pair[0] = self; /* leads past the managed frames above */
    fake_set_wild(wild, (uintptr_t)pair);
    fake_run(&s, allocate_only, NULL);
    model_add(&model, &s, false, &order, false, 1, 40);
    judge(&model, 0);
}

/* Native code with and without frame pointers, which managed functions of all shapes call, and which calls framed ones, as
 * all are that native code can call: none of them is missing, whatever is kept of the stack before. */
static void native_between(void)
{
    static const uint8_t managed[] = {FRAMED, FRAMED, FRAMELESS, FRAMELESS_PUSHES, FIRST_VERSION, FIRST_VERSION_LARGE};
    static const uint8_t native[] = {NATIVE, NATIVE_BARE, NATIVE_BARE, NATIVE_WILD};
    struct entries model = {0};
    struct fake_stack s = {0};
    uint64_t seed = 3;
    start();
    uintptr_t wilds[] = {0, 1, (uintptr_t)__builtin_frame_address(0), (uintptr_t)__builtin_frame_address(0) - (1 << 20), (uintptr_t)&s & ~(uintptr_t)7};
    for (uint32_t round = 0; round < 60000 / SCALE; round++) {
        uint64_t r = random_number(&seed);
        uint32_t depth = 2 + (uint32_t)(r >> 4) % 12;
        bool called = false; /* the last is managed, and can be reported */
        s.n = s.n > depth ? (uint32_t)(r >> 8) % depth : s.n / (1 + (uint32_t)r % 3);
        while (s.n > 0 && (s.bodies[s.n - 1]->shape == OSR_VARIANT || (s.bodies[s.n - 1]->shape >= FIRST_VERSION && s.bodies[s.n - 1]->shape <= FIRST_VERSION_VERY_LARGE)))
            s.n--;
        called = s.n > 0 && s.bodies[s.n - 1]->shape < NATIVE;
        while (s.n < depth || !called) {
            uint32_t i = (uint32_t)(random_number(&seed) % PER_SHAPE), shape = called ? managed[random_number(&seed) % 6] : FRAMED;
            if (called && s.n < depth && random_number(&seed) % 3 == 0)
                shape = native[random_number(&seed) % 4];
            else if (!called && s.n > 0 && random_number(&seed) % 4 == 0)
                shape = NATIVE; /* called by native code */
            s.bodies[s.n++] = &bodies[shape][i];
            if (shape == NATIVE_WILD)
                fake_set_wild(&bodies[shape][i], wilds[random_number(&seed) % 5]);
            called = shape < NATIVE;
            if (shape >= FIRST_VERSION && shape < OSR_VARIANT) {
                s.bodies[s.n++] = &variants[shape - FIRST_VERSION][i];
                called = true;
            }
        }
        s.places = random_number(&seed);
        run(&model, &s, &order, 0, 1 + (uint32_t)r % 2);
    }
    judge(&model, 0);
}

/* Where the chain once ended, at the root, another frame lies later, and managed code is above it. */
static void cut_at_old_root(void)
{
    struct entries model = {0};
    start();
    struct fake_stack s = {3, 0, {&bodies[NATIVE][0], &bodies[NATIVE_WILD][0], &bodies[FRAMED][1]}, 0};
    for (uint32_t i = 0; i < 4; i++) {
        s.bodies[0] = &bodies[i % 2 == 0 ? NATIVE : FRAMED][0]; /* frames of the same size */
        s.bodies[1] = &bodies[NATIVE_WILD][i % 2];
        run(&model, &s, &order, 0, 1);
    }
    judge(&model, 0);
}

struct frozen_work {
    struct entries *model;
    const struct fake_stack *stack;
    uint32_t segments;
};

static void allocate_frozen(void *data, bool in_handler)
{
    const struct frozen_work *w = data;
    for (uint32_t i = 0; i < w->segments; i++) {
        fake_allocate_frozen(&order, i);
        model_add(w->model, w->stack, in_handler, &order, true, 1, 40);
        fake_allocate(&order, 0);
        model_add(w->model, w->stack, in_handler, &order, false, 1, 40);
    }
}

static void frozen(void)
{
    struct entries model = {0};
    start();
    for (uint32_t n = 1; n <= 64; n += 21) { /* new segments appear, then new code meets them */
        fake.frozen_segments = n;
        struct fake_stack s = {2, n, {&bodies[FRAMED][1], &bodies[FRAMED][n % PER_SHAPE]}, 0};
        fake_run(&s, allocate_frozen, &(struct frozen_work){&model, &s, n});
    }
    judge(&model, 0);
}

/* The program closes files that it did not open, and opens others: the agent must not write to those. */
static void foreign_descriptor(void)
{
    struct entries model = {0};
    start();
    char path[5000], link[64], target[4096];
    snprintf(path, sizeof path, "%s/victim", directory);
    int victim = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    for (int fd = 3; fd < 256; fd++) {
        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        ssize_t length = readlink(link, target, sizeof target - 1);
        target[length < 0 ? 0 : length] = 0;
        if (strstr(target, ".arena") != NULL)
            dup2(victim, fd);
    }
    work_at_random(&model, 22, 3000, 20, false);
    struct stat st;
    fstat(victim, &st);
    check(st.st_size == 0 && st.st_blocks == 0, "a stranger's file has %lld bytes", (long long)st.st_size);
    struct arena_facts *f = judge(&model, ANY_LOSS);
    check(f->lost_objects > 0, "nothing was lost");
}

/* A real file system of 1 MiB, seen by this process alone; needs root. */
static void full_file_system(void)
{
    struct entries model = {0};
    if (geteuid() != 0 || unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("none", directory, "tmpfs", 0, "size=1m") != 0) {
        printf("not root: ");
        return;
    }
    start();
    work_at_random(&model, 23, 8000, 30, false);
    struct arena_facts *f = judge(&model, ANY_LOSS);
    check(f->header->losses[WIRE_LOSS_STACKS].events > 100 && f->objects > 0, "%llu objects, %llu lost", (unsigned long long)f->objects,
          (unsigned long long)f->lost_objects);
}

static const struct scenario scenarios[] = {
    {"one_of_each", one_of_each},
    {"every_record", every_record},
    {"random_stacks", random_stacks},
    {"faults", faults},
    {"parallel", parallel},
    {"short_threads", short_threads},
    {"recursion", recursion},
    {"depth_limit", depth_limit},
    {"link_limit", link_limit},
    {"link_limit_climbed", link_limit_climbed},
    {"towers", towers},
    {"chains", chains},
    {"recurring", recurring},
    {"incomplete_types", incomplete_types},
    {"incomplete_until_shutdown", incomplete_until_shutdown},
    {"unloading", unloading},
    {"unloading_between_threads", unloading_between_threads},
    {"crowded", crowded},
    {"reentered", reentered},
    {"failing_calls", failing_calls},
    {"file_system_left", file_system_left},
    {"failing_mmap", failing_mmap},
    {"failing_fallocate", failing_fallocate},
    {"refusals", refusals},
    {"initialized_all_the_same", initialized_all_the_same},
    {"before_initialize_ends", before_initialize_ends},
    {"memory_limit", memory_limit},
    {"node_limit", node_limit},
    {"names_and_numbers", names_and_numbers},
    {"many_bodies_of_one", many_bodies_of_one},
    {"thread_names", thread_names},
    {"allocations_at_thread_end", allocations_at_thread_end},
    {"unknown_stack", unknown_stack},
    {"around_shutdown", around_shutdown},
    {"forked", forked},
    {"killed", killed},
    {"wild_frame_pointers", wild_frame_pointers},
    {"native_between", native_between},
    {"cut_at_old_root", cut_at_old_root},
    {"frozen", frozen},
    {"foreign_descriptor", foreign_descriptor},
    {"full_file_system", full_file_system},
    {NULL, NULL},
};

static bool run_scenario(const struct scenario *s, const char *parent)
{
    printf("%s: ", s->name);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        snprintf(directory, sizeof directory, "%s/%s", parent, s->name);
        if (mkdir(directory, 0700) != 0 && errno != EEXIST) /* a reader may wait in it */
            fake_die("cannot make %s", directory);
        setenv("CLRPROF_ARENAS", directory, 1);
        s->run();
        write_totals();
        fflush(stdout);
        exit(failures != 0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    bool ok = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    printf(ok ? "ok\n" : "FAILED, status %x\n", status);
    return ok;
}

int main(int n_arguments, char **arguments)
{
    if (n_arguments < 3) {
        fprintf(stderr, "usage: %s AGENT DIRECTORY [SCENARIO...]\n", arguments[0]);
        return 2;
    }
    agent_path = arguments[1];
    setenv("CLRPROF_MINE_FOLDER", "/srv/app", 1); /* the main assembly, with which the decision begins otherwise, is not made up */
    bool ok = true;
    const struct scenario *lists[] = {scenarios, runtime_scenarios, lifetime_scenarios, time_scenarios, time_limit_scenarios, time_wait_scenarios, trace_scenarios, system_event_scenarios, cfi_scenarios, thread_scenarios, statics_scenarios, managed_events_scenarios, samples_scenarios, freestanding_scenarios};
    for (size_t l = 0; l < sizeof lists / sizeof *lists; l++)
        for (const struct scenario *s = lists[l]; s->name != NULL; s++) {
            bool wanted = n_arguments == 3;
            for (int k = 3; k < n_arguments; k++)
                wanted = wanted || strcmp(arguments[k], s->name) == 0;
            if (wanted)
                ok = run_scenario(s, arguments[2]) && ok;
        }
    return ok ? 0 : 1;
}
