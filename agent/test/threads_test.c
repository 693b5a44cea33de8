/* Scenarios of many short threads: what each costs, and what becomes of those that share ids (thread_sets.c). And of agents
 * whose collector is gone (collector_watch.c). */
#define _GNU_SOURCE
#include "fake_calls.h"
#include "scenario.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define OWN_IDS 1000u  /* as in thread_sets.c: MAX_OWN_IDS */
#define MAX_NAMES 1022u /* and MAX_NAMES, without those two */
#define MOST_STEPS 20u /* sites that are looked at for one allocation: MAX_CHAIN, and some of a few threads' at the same time */
#define FEWER (SANITIZED ? 2u : 1u) /* each thread takes a sanitizer long, and none runs beside another */
#define STACKS 20u
#define CLASSES 10u
#define SITES (STACKS * CLASSES)

static struct fake_module app = {"/srv/app/App.dll", "App.dll", MODULE_FLAG_DISK, NULL, false};
static struct fake_class program, classes[CLASSES];
static struct fake_method root, methods[STACKS];
static struct fake_body root_body, bodies[STACKS];
static uint64_t *steps, most_first, most_steps;

static void make_program(void)
{
    static char names[CLASSES + STACKS][16];
    fake_class_init(&program, &app, "App.Program", 24, 0);
    root = (struct fake_method){.name = "Main", .module = &app, .type = &program};
    fake_emit(&root, &root_body, FRAMED, -1);
    for (uint32_t i = 0; i < CLASSES; i++) {
        snprintf(names[i], sizeof names[i], "App.Class%u", i);
        fake_class_init(&classes[i], &app, names[i], 24 + 8 * i, 0);
    }
    for (uint32_t i = 0; i < STACKS; i++) {
        snprintf(names[CLASSES + i], sizeof names[0], "Method%u", i);
        methods[i] = (struct fake_method){.name = names[CLASSES + i], .module = &app, .type = &program};
        fake_emit(&methods[i], &bodies[i], FRAMED, -1);
    }
    fake_set_thread(0);
}

static void count_steps(void)
{
    fake_set_thread(0x1000);
    steps = dlsym(dlopen(agent_path, RTLD_LAZY | RTLD_NOLOAD), "clrprof_steps");
}

static void start(void)
{
    make_program();
    check(fake_load(agent_path) == HR_OK, "the agent was refused");
    count_steps();
}

static void allocate_each(void *data, bool in_handler)
{
    const uint32_t *first = data;
    (void)in_handler;
    for (uint32_t c = 0; c < CLASSES; c++) {
        uint64_t before = *steps;
        fake_allocate(&classes[c], 0);
        uint64_t taken = *steps - before;
        most_steps = taken > most_steps ? taken : most_steps;
        if (*first != 0 && c == 0)
            most_first = taken > most_first ? taken : most_first;
    }
}

/* One object at each site. */
static void *work(void *managed)
{
    fake_set_thread((uintptr_t)managed);
    for (uint32_t i = 0; i < STACKS; i++) {
        struct fake_stack s = {.n = 2, .bodies = {&root_body, &bodies[i]}};
        uint32_t first = i == 0;
        fake_run(&s, allocate_each, &first);
    }
    fake_callback(CALLBACK_THREAD_DESTROYED, (uintptr_t)managed);
    return NULL;
}

static void name_thread(uintptr_t managed, const char *name)
{
    utf16 text[32];
    uint32_t n = 0;
    for (; name[n] != 0; n++)
        text[n] = (utf16)name[n];
    fake_callback_name(managed, n, text);
}

static void run_threads(uint32_t n, void (*name)(uint32_t i, uintptr_t managed))
{
    for (uint32_t i = 0; i < n; i++) {
        uintptr_t managed = 0x2000 + 64 * (uintptr_t)(i % 5000);
        pthread_t thread;
        if (name != NULL)
            name(i, managed);
        if (pthread_create(&thread, NULL, work, (void *)managed) != 0)
            fake_die("no thread");
        pthread_join(thread, NULL);
    }
}

static const void *table(const struct wire_header *h, uint32_t region)
{
    return (const uint8_t *)(const void *)h + h->regions[region].offset;
}

/* Each site of a thread or of a set has as many objects as there were threads. */
static const struct wire_header *judge(uint32_t n, uint32_t want_sets)
{
    struct entries found = {0};
    struct arena_facts *f = arena_read(directory, &found);
    const struct wire_site *sites = table(f->header, WIRE_REGION_SITES);
    const struct wire_thread_set *sets = table(f->header, WIRE_REGION_THREAD_SETS);
    uint32_t own = n < OWN_IDS ? n : OWN_IDS, wrong = 0;
    uint32_t *threads = calloc(own + f->n_sets + 2, sizeof *threads);
    for (uint32_t i = 0; i <= own; i++)
        threads[i] = 1;
    for (uint32_t i = 0; i < f->n_sets; i++)
        threads[sets[i].thread] = sets[i].threads;
    for (uint32_t i = 0; i < f->n_sites; i++)
        wrong += sites[i].objects != threads[sites[i].thread];
    check(wrong == 0 && f->duplicates == 0, "%u sites with other numbers of objects, %u twice", wrong, f->duplicates);
    check(f->n_threads == own && f->n_set_threads == n - own && f->n_sets == want_sets, "%u threads, and %u in %u sets", f->n_threads,
          f->n_set_threads, f->n_sets);
    check(f->n_sites == (own + f->n_sets) * SITES, "%u sites", f->n_sites);
    check(f->objects == (uint64_t)n * SITES && f->lost_objects == 0, "%llu objects", (unsigned long long)f->objects);
    check(most_first <= MOST_STEPS && most_steps <= MOST_STEPS, "%llu steps, %llu for the first allocation", (unsigned long long)most_steps, (unsigned long long)most_first);
    check(f->n_thread_ends == own, "%u ends", f->n_thread_ends);
    return f->header;
}

/* The same memory and steps for 4,000 and for 20,000 threads. */
static void threads_one_by_one(void)
{
    if (THREAD_SANITIZER)
        return; /* none runs beside another, there is no race to find */
    start();
    run_threads(4000 / SCALE, NULL);
    const struct wire_header *h = judge(4000 / SCALE, SANITIZED ? 0 : 1);
    uint64_t shared = h->shared_bytes, own = h->private_bytes;
    run_threads(16000 / SCALE, NULL);
    judge(20000 / SCALE, 1);
    check(SANITIZED || (h->shared_bytes == shared && h->private_bytes <= own + (512u << 10)), "from %llu to %llu bytes, own from %llu to %llu",
          (unsigned long long)shared, (unsigned long long)h->shared_bytes, (unsigned long long)own, (unsigned long long)h->private_bytes);
}

static void name_some(uint32_t i, uintptr_t managed)
{
    if (i % 3 == 1)
        name_thread(managed, "Worker");
    else if (i % 3 == 2)
        name_thread(managed, "Reader");
}

/* Those of one name share ids, those without one too. */
static void threads_of_some_names(void)
{
    if (THREAD_SANITIZER)
        return; /* as above */
    start();
    uint32_t n = 2400 / FEWER, each = (n - OWN_IDS) / 3;
    run_threads(n, name_some);
    const struct wire_header *h = judge(n, 3);
    const struct wire_thread_set *sets = table(h, WIRE_REGION_THREAD_SETS);
    uint32_t named = 0;
    for (uint32_t i = 0; i < 3; i++) {
        check(sets[i].threads >= each && sets[i].threads <= each + 1 && sets[i].several == 0 && sets[i].end_ns > sets[i].begin_ns, "set %u of %u threads", i, sets[i].threads);
        if (sets[i].name_at != 0) {
            const uint32_t *record = (const void *)((const uint8_t *)table(h, WIRE_REGION_LOG) + sets[i].name_at - 1);
            check(record[1] == WIRE_RECORD_THREAD_NAME && record[4] == 6, "a name of kind %u, %u characters", record[1], record[4]);
            named++;
        }
    }
    check(named == 2, "%u sets have names", named);
}

static void name_each(uint32_t i, uintptr_t managed)
{
    char name[32];
    snprintf(name, sizeof name, "Job %u", i);
    name_thread(managed, name);
}

/* Each has its own name: of those beyond the names that are kept apart all share ids. */
static void threads_of_many_names(void)
{
    if (THREAD_SANITIZER)
        return; /* as above */
    start();
    uint32_t n = 3000 / FEWER;
    run_threads(n, name_each);
    uint32_t own_names = MAX_NAMES - OWN_IDS;
    const struct wire_header *h = judge(n, own_names + 1);
    const struct wire_thread_set *sets = table(h, WIRE_REGION_THREAD_SETS);
    check(sets[own_names].several == 1 && sets[own_names].threads == n - MAX_NAMES, "%u threads of several names", sets[own_names].threads);
}

/* ── the end of the collector ───────────────────────────────────────────────────────────────────────────────── */

/* What a collector does: the directory is locked as long as it lives. */
static int lock_directory(void)
{
    int fd = open(directory, O_RDONLY | O_DIRECTORY);
    check(fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0, "cannot lock %s", directory);
    setenv("CLRPROF_COLLECTOR", "1", 1);
    return fd;
}

static bool has_arena(void)
{
    bool found = false;
    DIR *d = opendir(directory);
    for (struct dirent *e; (e = readdir(d)) != NULL;)
        found = found || strstr(e->d_name, ".arena") != NULL;
    closedir(d);
    return found;
}

/* Does the process have a file of that name in memory, removed or not? The reader's own mappings are read-only. */
static bool is_mapped(const char *name)
{
    char line[4500];
    bool found = false;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (fgets(line, sizeof line, maps) != NULL)
        found = found || (strstr(line, name) != NULL && strstr(line, " rw-s ") != NULL);
    fclose(maps);
    return found;
}

static void remove_arena(void)
{
    DIR *d = opendir(directory);
    for (struct dirent *e; (e = readdir(d)) != NULL;)
        if (strstr(e->d_name, ".arena") != NULL)
            unlinkat(dirfd(d), e->d_name, 0);
    closedir(d);
}

static void allocate_more(void)
{
    for (uint32_t i = 0; i < 4; i++) /* SITES allocations by the slow path each */
        for (uint32_t k = 0; k < STACKS; k++) {
            struct fake_stack s = {.n = 2, .bodies = {&root_body, &bodies[k]}};
            uint32_t first = 0;
            fake_run(&s, allocate_each, &first);
        }
}

static void let_time_pass(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    fake_clock.on = true;
    fake_clock.base = fake_clock.base == 0 ? (uint64_t)now.tv_sec * 1000000000u : fake_clock.base;
    fake_clock.base += 1000000000u;
}

static uint64_t counted(void)
{
    struct entries found = {0};
    return arena_read(directory, &found)->objects;
}

#define MEMORY_EVENTS (ENABLE_OBJECT_ALLOCATED | ENABLE_STACK_SNAPSHOT)
#define DORMANT_EVENTS (MEMORY_EVENTS | MONITOR_JIT_COMPILATION) /* what is inlined is always of interest */

/* The collector is killed, or ends: nothing is counted any more, and the memory is given back; that which a killed one left, as
 * soon as somebody removes it. */
static void watch(bool killed)
{
    int fd = lock_directory();
    start();
    let_time_pass();
    allocate_more();
    check(counted() == fake.objects && (fake.event_low & MONITOR_OBJECT_ALLOCATED) != 0, "%llu of %llu objects", (unsigned long long)counted(), (unsigned long long)fake.objects);
    uint64_t before = fake.objects;
    if (!killed)
        remove_arena();
    close(fd);
    let_time_pass();
    allocate_more();
    check(fake.event_low == (MEMORY_EVENTS | MONITOR_SUSPENDS) && fake.event_high == 0, "the runtime is asked for %x, %x", fake.event_low, fake.event_high);
    uint64_t at_end = killed ? counted() : 0;
    check(!killed || (at_end >= before && at_end <= before + 2 * SITES), "%llu objects counted of %llu before", (unsigned long long)at_end, (unsigned long long)before);
    allocate_more();
    run_threads(3, name_some);
    fake_callback(CALLBACK_RUNTIME_SUSPEND_FINISHED, 0);
    check(fake.event_low == (killed ? MEMORY_EVENTS | MONITOR_SUSPENDS : MEMORY_EVENTS), "the runtime is asked for %x", fake.event_low);
    check(!killed || counted() == at_end, "it goes on counting");
    remove_arena();
    fake_callback(CALLBACK_RUNTIME_SUSPEND_FINISHED, 0);
    check(fake.event_low == MEMORY_EVENTS && !is_mapped(".arena"), "the runtime is asked for %x, or the arena is still there", fake.event_low);
    allocate_more();
    run_threads(3, name_some);
    fake_callback(CALLBACK_SHUTDOWN, 0);
    fake.objects = fake.bytes = 0; /* for those who compare */
}

static void collector_ended(void)
{
    watch(false);
}

static void collector_killed(void)
{
    watch(true);
}

static void collector_killed_lifetime(void)
{
    setenv("CLRPROF_LIFETIME", "1", 1);
    watch(true);
}

/* What a killed collector left says when the process ended. */
static void collector_killed_exit(void)
{
    int fd = lock_directory();
    start();
    allocate_more();
    close(fd);
    let_time_pass();
    allocate_more();
    fake_callback(CALLBACK_SHUTDOWN, 0);
    struct entries found = {0};
    struct arena_facts *f = arena_read(directory, &found);
    check(f->header->state == WIRE_STATE_SHUT_DOWN && f->header->end_ns != 0 && f->lost_objects == 0, "state %u, %llu lost", f->header->state, (unsigned long long)f->lost_objects);
    fake.objects = f->objects;
    fake.bytes = f->bytes;
}

/* A process that begins when nobody is there any more is left alone. */
static void collector_gone(void)
{
    close(lock_directory());
    check(fake_load(agent_path) < 0 && !has_arena(), "it records for nobody");
}

/* What the program itself calls says what came of it: by a thread that the runtime does not know, in a forked process, and when
 * nobody is there any more, which a program that only marks finds out, too. */
static void program_calls(void)
{
    int fd = lock_directory();
    start();
    let_time_pass();
    void *agent = dlopen(agent_path, RTLD_LAZY | RTLD_NOLOAD);
    int32_t (*mark)(int32_t, const utf16 *, int32_t, const utf16 *, int32_t) =
        (int32_t(*)(int32_t, const utf16 *, int32_t, const utf16 *, int32_t))dlsym(agent, "clrprof_mark");
    int32_t (*name)(const utf16 *, int32_t) = (int32_t(*)(const utf16 *, int32_t))dlsym(agent, "clrprof_name_thread");
    const utf16 text[] = {'a', 'b'};
    check(mark(0, text, 2, NULL, 0) == 0 && name(text, 2) == 0, "it does not mark, or name");
    fake_set_thread(0);
    check(name(text, 2) == 2, "it names a thread that the runtime does not know");
    fake_set_thread(0x1000);
    pid_t child = fork();
    if (child == 0)
        _exit(mark(0, text, 2, NULL, 0));
    int status = 0;
    check(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 3, "a forked process marks: %x", status);
    check(mark(1, text, 0, NULL, 0) == 0, "it does not mark by a number");
    close(fd);
    let_time_pass();
    check(mark(0, text, 2, NULL, 0) == 3 && name(text, 2) == 3, "it marks for nobody");
    fake_callback(CALLBACK_SHUTDOWN, 0);
}

static void ask_for_meters(struct job *j)
{
    struct wire_meter_value *(*meter)(int32_t, int32_t, const utf16 *, const int32_t *) = (struct wire_meter_value * (*)(int32_t, int32_t, const utf16 *, const int32_t *))
        dlsym(dlopen(agent_path, RTLD_LAZY | RTLD_NOLOAD), "clrprof_meter");
    const utf16 texts[] = {'a', 'b'};
    const int32_t lengths[] = {1, 0, 0, 0, 1};
    for (uint32_t i = 0; i < WIRE_MAX_METER_COUNTERS / 4 - 1; i++) {
        struct wire_meter_value *row = meter(WIRE_METER_ADDED, 1, texts, lengths);
        check(row != NULL && row->sum == 0 && row->min == INT64_MAX && row->max == (uint64_t)INT64_MIN, "thread %llu: a row is missing, or somebody else's", (unsigned long long)j->index);
        if (row != NULL)
            row->sum = 1;
    }
}

/* Each instrument has a row of its own, up to the limit; what cannot have one is reported as that. */
static void meters(void)
{
    int fd = lock_directory();
    struct job jobs[4];
    struct entries model = {0};
    start();
    void *agent = dlopen(agent_path, RTLD_LAZY | RTLD_NOLOAD);
    void *(*meter)(int32_t, int32_t, const utf16 *, const int32_t *) = (void *(*)(int32_t, int32_t, const utf16 *, const int32_t *))dlsym(agent, "clrprof_meter");
    static const utf16 texts[5 * (WIRE_MAX_NAME + 1)];
    const int32_t none[5] = {0}, most[5] = {WIRE_MAX_NAME, WIRE_MAX_NAME, WIRE_MAX_NAME, WIRE_MAX_NAME, WIRE_MAX_NAME};
    const int32_t long_one[5] = {0, 0, 0, 0, WIRE_MAX_NAME + 1}, negative[5] = {-1, 0, 0, 0, 0};
    check(meter(0, 0, texts, none) == NULL && meter(WIRE_METER_KINDS, 0, texts, none) == NULL, "a kind that is none has a row");
    check(meter(WIRE_METER_SET, 0, texts, long_one) == NULL && meter(WIRE_METER_SET, 0, texts, negative) == NULL, "what is too long has a row");
    start_jobs(jobs, 4, ask_for_meters);
    join_jobs(jobs, 4, &model);
    for (uint32_t i = 0; i < 4; i++)
        check(meter(WIRE_METER_SET, 0, texts, most) != NULL, "%u rows are missing", 4 - i);
    check(meter(WIRE_METER_SET, 0, texts, none) == NULL, "there are more rows than may be");
    close(fd);
    let_time_pass();
    fake_callback(CALLBACK_SHUTDOWN, 0);
}

/* ── recorded later, again and again (dormant.c) ────────────────────────────────────────────────────────────── */

#define RECORDINGS (SANITIZED ? 20u : 100u)
#define STACK_BYTES (1u << 20) /* of a thread */
#define CONTROL_BYTES (WIRE_HEADER_SIZE + WIRE_CONTROL_RING * sizeof(struct wire_control_change))

/* Threads that run are readers; who stops them waits until they are outside of the agent. */
static pthread_rwlock_t running = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
static uint32_t stops, calm, cannot_stop;

static hresult stop_threads(void *self)
{
    (void)self;
    if (stops++ % 3 == 1 || __atomic_load_n(&cannot_stop, __ATOMIC_ACQUIRE) != 0)
        return (hresult)0x80131388; /* another suspension is in progress */
    pthread_rwlock_wrlock(&running);
    return HR_OK;
}

static hresult resume_threads(void *self)
{
    (void)self;
    pthread_rwlock_unlock(&running);
    return HR_OK;
}

static void allocate_until_calm(struct job *job)
{
    fake_set_thread(0x9000 + 64 * (uintptr_t)job->index);
    while (__atomic_load_n(&calm, __ATOMIC_RELAXED) == 0) {
        pthread_rwlock_rdlock(&running);
        allocate_more();
        pthread_rwlock_unlock(&running);
    }
}

static void *map_shared(const char *path, size_t bytes, int flags)
{
    int fd = open(path, O_RDWR | flags, 0600);
    if (fd < 0 || (flags != 0 && ftruncate(fd, (off_t)bytes) != 0))
        fake_die("no %s", path);
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    return p;
}

/* The file in the directory whose name has this in it. NULL: there is none. */
static void *map_named(const char *part, size_t bytes)
{
    static char path[4500];
    DIR *d = opendir(directory);
    path[0] = 0;
    for (struct dirent *e; (e = readdir(d)) != NULL;)
        if (strstr(e->d_name, part) != NULL)
            snprintf(path, sizeof path, "%s/%s", directory, e->d_name);
    closedir(d);
    return path[0] == 0 ? NULL : map_shared(path, bytes, 0);
}

static struct wire_dormant *find_place(void)
{
    return map_named(WIRE_DORMANT_PREFIX, sizeof(struct wire_dormant));
}

static void ask_for(uint32_t *requests)
{
    __atomic_fetch_add(requests, 1, __ATOMIC_SEQ_CST);
    syscall(SYS_futex, requests, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

static void await(const uint32_t *word, uint32_t value)
{
    while (__atomic_load_n(word, __ATOMIC_ACQUIRE) != value)
        sched_yield();
}

static void ask_to_let_go(struct wire_control_header *control)
{
    control->request = WIRE_REQUEST_DETACH;
    ask_for(&control->requests);
}

static struct wire_control_header *let_go_at_once; /* a recording is to end before who asked for it has an answer */

static hresult set_events(void *self, uint32_t low, uint32_t high)
{
    (void)self;
    fake.event_low = low;
    fake.event_high = high;
    if ((low & MONITOR_THREADS) != 0 && let_go_at_once != NULL) {
        ask_to_let_go(let_go_at_once);
        let_go_at_once = NULL;
    }
    return HR_OK;
}

static struct wire_control_header *make_control_file(void)
{
    char path[4500];
    snprintf(path, sizeof path, "%s/%s", directory, WIRE_CONTROL_FILE);
    struct wire_control_header *control = map_shared(path, CONTROL_BYTES, O_CREAT);
    control->magic = WIRE_CONTROL_MAGIC;
    return control;
}

struct cutter {
    struct wire_control_header *control;
    const struct wire_header *header;
};

static void *cut_once(void *arg)
{
    struct cutter *c = arg;
    uint64_t at;
    while ((at = __atomic_load_n(&c->header->cut_ns, __ATOMIC_ACQUIRE)) == 0)
        sched_yield();
    __atomic_store_n(&c->control->cut_ns, at, __ATOMIC_RELEASE);
    ask_for(&c->control->cuts);
    return NULL;
}

/* Who marks goes on when the collector has read what there is, or does not, and tells nobody when marks end no slices. */
static void marks_end_slices(void)
{
    struct cutter c = {.control = make_control_file()};
    pthread_t collector;
    start();
    void *agent = dlopen(agent_path, RTLD_LAZY | RTLD_NOLOAD);
    int32_t (*mark)(int32_t, const utf16 *, int32_t, const utf16 *, int32_t) =
        (int32_t(*)(int32_t, const utf16 *, int32_t, const utf16 *, int32_t))dlsym(agent, "clrprof_mark");
    int32_t (*mark_at)(int64_t, int32_t, const utf16 *, int32_t, const utf16 *, int32_t) =
        (int32_t(*)(int64_t, int32_t, const utf16 *, int32_t, const utf16 *, int32_t))dlsym(agent, "clrprof_mark_at");
    c.header = map_named(".arena", WIRE_HEADER_SIZE);
    check(mark(1, NULL, 0, NULL, 0) == 0 && c.header->cut_ns == 0, "it asks for the end of a slice, which no mark ends");
    c.control->cutting = 1;
    check(mark_at((int64_t)c.header->start_ns, 1, NULL, 0, NULL, 0) == 0 && c.header->cut_ns == 0, "a mark in the past ends a slice");
    if (pthread_create(&collector, NULL, cut_once, &c) != 0)
        fake_die("no thread");
    check(mark(1, NULL, 0, NULL, 0) == 0 && __atomic_load_n(&c.control->cut_ns, __ATOMIC_ACQUIRE) == c.header->cut_ns,
          "it went on before what it had done was read");
    pthread_join(collector, NULL);
    uint64_t before = c.header->cut_ns;
    let_time_pass();
    check(mark(1, NULL, 0, NULL, 0) == 0 && c.header->cut_ns > before, "it does not ask a second time");
    fake_callback(CALLBACK_SHUTDOWN, 0);
}

/* The agent of start() is a dormant one, and *control a file of requests to it. */
static struct wire_dormant *start_dormant(struct wire_control_header **control)
{
    unsetenv("CLRPROF_ARENAS");
    setenv("CLRPROF_DORMANT", directory, 1);
    fake_answer(INFO_SUSPEND_RUNTIME, (void *)stop_threads);
    fake_answer(INFO_RESUME_RUNTIME, (void *)resume_threads);
    fake_answer(INFO_SET_EVENT_MASK2, (void *)set_events);
    start();
    check(fake.event_low == DORMANT_EVENTS && fake.event_high == 0, "a dormant agent asks for %x, %x", fake.event_low, fake.event_high);
    *control = make_control_file();
    return find_place();
}

/* Begins a recording into the directory. */
static void attach(struct wire_dormant *place, uint32_t data)
{
    place->data = data;
    place->memory_limit = 64u << 20;
    place->nodes = UINT64_MAX;
    strcpy((char *)place->directory, directory);
    ask_for(&place->requests);
    await(&place->answered, place->requests);
    check(place->failure == 0 && place->state == WIRE_DORMANT_RECORDING, "failure %u, state %u", place->failure, place->state);
    check(((fake.event_low & MONITOR_GC) != 0) == ((data & WIRE_DATA_LIFETIME) != 0), "the runtime is asked for %x", fake.event_low);
}

static void detach(struct wire_dormant *place, struct wire_control_header *control)
{
    ask_to_let_go(control);
    await(&place->state, WIRE_DORMANT_WAITING);
}

/* A recording into the directory. Returned are the objects that were surely allocated in it: other threads are not stopped when it ends, and
 * one of them may be about to report an object then. */
static uint64_t record_once(struct wire_dormant *place, struct wire_control_header *control, uint32_t data)
{
    attach(place, data);
    uint64_t before = __atomic_load_n(&fake.objects, __ATOMIC_RELAXED);
    pthread_rwlock_rdlock(&running);
    allocate_more();
    pthread_rwlock_unlock(&running);
    run_threads(3, name_some);
    uint64_t made = __atomic_load_n(&fake.reported, __ATOMIC_RELAXED) - before;
    detach(place, control);
    return made;
}

/* Each recording has what was allocated in it, and leaves nothing; other threads may be in the agent when it ends. */
static void dormant(void)
{
    if (THREAD_SANITIZER)
        return; /* the runtime calls by the table of callbacks while it changes: an address is one word, the old one or the new one */
    struct job jobs[3];
    struct entries model = {0};
    struct wire_control_header *control;
    struct wire_dormant *place = start_dormant(&control);
    int fd = lock_directory();
    for (uint32_t i = 0; i < RECORDINGS; i++) {
        bool loaded = i % 2 == 1;
        __atomic_store_n(&calm, 0, __ATOMIC_RELAXED);
        if (loaded)
            start_jobs(jobs, 3, allocate_until_calm);
        allocate_more();
        uint64_t made = record_once(place, control, i % 3 == 2 ? WIRE_DATA_LIFETIME : WIRE_DATA_MEMORY);
        uint64_t found = counted();
        check(loaded ? found >= made : found == made, "recording %u: %llu objects of %llu", i, (unsigned long long)found, (unsigned long long)made);
        check(!is_mapped(".arena") && fake.references == 0 && fake.event_low == DORMANT_EVENTS, "recording %u: something is left", i);
        check(fake.event_high == 0, "recording %u: the runtime is still asked for %x", i, fake.event_high);
        __atomic_store_n(&calm, 1, __ATOMIC_RELAXED);
        if (loaded)
            join_jobs(jobs, 3, &model);
        remove_arena();
    }
    let_go_at_once = control;
    ask_for(&place->requests);
    await(&place->answered, place->requests);
    await(&place->state, WIRE_DORMANT_WAITING);
    remove_arena();
    check(place->recordings == RECORDINGS + 1, "%llu recordings", (unsigned long long)place->recordings);
    close(fd); /* nobody is there: it is refused, and can be tried again */
    ask_for(&place->requests);
    await(&place->answered, place->requests);
    check(place->failure == WIRE_FAILURE_NO_COLLECTOR && !has_arena(), "failure %u", place->failure);
    fake_callback(CALLBACK_SHUTDOWN, 0);
    check(place->state == WIRE_DORMANT_ENDED && find_place() == NULL, "state %u", place->state);
    fake.objects = fake.bytes = 0; /* for those who compare */
}

/* As long as the runtime does not stop its threads, a recording does not end, and the file says what it waits for. */
static void dormant_leaves_late(void)
{
    if (THREAD_SANITIZER)
        return; /* as in dormant */
    struct wire_control_header *control;
    struct wire_dormant *place = start_dormant(&control);
    int fd = lock_directory();
    attach(place, WIRE_DATA_MEMORY);
    check(place->leaving == 0, "a recording that begins waits for %u", place->leaving);
    allocate_more();
    __atomic_store_n(&cannot_stop, 1, __ATOMIC_RELEASE);
    ask_to_let_go(control);
    await(&place->leaving, WIRE_LEAVING_THREADS);
    check(place->state == WIRE_DORMANT_LEAVING && is_mapped(".arena"), "state %u while its threads run", place->state);
    __atomic_store_n(&cannot_stop, 0, __ATOMIC_RELEASE);
    await(&place->state, WIRE_DORMANT_WAITING);
    check(place->leaving == 0 && !is_mapped(".arena"), "it waits for %u afterwards", place->leaving);
    close(fd);
    fake_callback(CALLBACK_SHUTDOWN, 0);
}

/* A thread for which there is no room ends in the middle of a recording, and its memory, with the agent's variables in it, is gone before
 * that ends. */
static void dormant_thread_without_room(void)
{
    if (THREAD_SANITIZER)
        return; /* as above */
    struct wire_control_header *control;
    struct wire_dormant *place = start_dormant(&control);
    pthread_attr_t attributes;
    pthread_t thread;
    void *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int fd = lock_directory();
    attach(place, WIRE_DATA_MEMORY);
    fake.os_fail_from[OS_FALLOCATE] = fake.os_calls[OS_FALLOCATE] + 1;
    for (uint32_t i = 0; fake.os_calls[OS_FALLOCATE] < fake.os_fail_from[OS_FALLOCATE]; i++)
        name_thread(0x2000 + 64 * (uintptr_t)i, "n"); /* until the log has no room even for this, which is less than a thread's record */
    uint64_t before = fake.objects;
    pthread_attr_init(&attributes);
    check(pthread_attr_setstack(&attributes, stack, STACK_BYTES) == 0, "no stack");
    if (pthread_create(&thread, &attributes, work, (void *)0x1040) != 0)
        fake_die("no thread");
    pthread_join(thread, NULL);
    munmap(stack, STACK_BYTES);
    detach(place, control);
    struct entries found = {0};
    struct arena_facts *f = arena_read(directory, &found);
    check(f->n_threads == 0 && f->lost_objects == fake.objects - before, "%u threads, %llu objects lost", f->n_threads, (unsigned long long)f->lost_objects);
    fake.os_fail_from[OS_FALLOCATE] = 0;
    remove_arena();
    uint64_t made = record_once(place, control, WIRE_DATA_MEMORY), objects = counted();
    check(objects == made, "%llu objects of %llu in the next recording", (unsigned long long)objects, (unsigned long long)made);
    close(fd);
    fake_callback(CALLBACK_SHUTDOWN, 0);
    fake.objects = fake.bytes = 0; /* for those who compare */
}

static hresult call_back(uint32_t slot, const void *a, const void *b, void *c)
{
    void *agent = fake_callbacks();
    return SLOT(agent, slot, const void *, const void *, void *)(agent, a, b, c);
}

static bool is_refused(const struct fake_method *caller, const struct fake_method *callee)
{
    int32_t should = 1;
    call_back(CALLBACK_JIT_INLINING, caller, callee, &should);
    return should == 0;
}

static uint32_t detaches;
static hresult detach_answer;

static hresult request_detach(void *self, uint32_t ms)
{
    (void)self, (void)ms;
    __atomic_fetch_add(&detaches, 1, __ATOMIC_SEQ_CST);
    return detach_answer;
}

static struct fake_class huge;

static uint64_t sampled_keywords;
static uint32_t sampled_level, sessions;

static hresult start_samples(void *self, uint32_t n, const struct clr_event_provider *providers, int32_t rundown, uint64_t *made)
{
    (void)self, (void)rundown;
    check(n == 1, "%u providers", n);
    sampled_keywords = providers->keywords;
    sampled_level = providers->level;
    *made = __atomic_add_fetch(&sessions, 1, __ATOMIC_SEQ_CST);
    return HR_OK;
}

static hresult stop_samples(void *self, uint64_t session)
{
    (void)self;
    check(session == sessions, "session %llu is stopped", (unsigned long long)session);
    sessions = 0;
    return HR_OK;
}

struct told { /* events of AllocationSampled */
    const struct fake_class *class;
    uint32_t n, heap, cut; /* cut: so many bytes are missing */
    uint64_t bytes;
};

static void tell(void *data, bool in_handler)
{
    (void)in_handler;
    const struct told *t = data;
    struct __attribute__((packed)) {
        uint32_t heap;
        uint16_t clr;
        uint64_t class;
        uint16_t name[2];
        uint64_t object, bytes, at;
    } e = {t->heap, 0, (uintptr_t)t->class, {'T', 0}, 0x10000, t->bytes, 0};
    for (uint32_t i = 0; i < t->n; i++, e.object += 128) {
        pthread_rwlock_rdlock(&running);
        void *agent = fake_callbacks();
        SLOT(agent, CALLBACK_EVENT_DELIVERED, uintptr_t, uint32_t, uint32_t, uint32_t, const uint8_t *, uint32_t, const void *, const void *, const void *,
             uintptr_t, uint32_t, const uintptr_t *)(agent, 1, 303, 0, 0, NULL, (uint32_t)sizeof e - t->cut, &e, NULL, NULL, 0, 0, NULL);
        pthread_rwlock_unlock(&running);
    }
}

static void allocate_huge(void *data, bool in_handler)
{
    (void)in_handler;
    for (uint32_t i = 0; i < *(const uint32_t *)data; i++)
        fake_allocate(&huge, 0);
}

/* A recording of a process into which the agent was loaded late: small objects are reported too, as where another profiler wants them. */
static void record_late(struct wire_dormant *place, struct wire_control_header *control, uint32_t n, uint32_t asked)
{
    struct fake_stack s = {.n = 2, .bodies = {&root_body, &bodies[0]}};
    attach(place, WIRE_DATA_MEMORY);
    check((fake.event_low & (ENABLE_OBJECT_ALLOCATED | MONITOR_OBJECT_ALLOCATED)) == 0 && (fake.event_high & HIGH_MONITOR_LARGE_OBJECTS) != 0,
          "it asks for %x, %x", fake.event_low, fake.event_high);
    allocate_more();
    fake_run(&s, allocate_huge, &n);
    ask_to_let_go(control);
    await(&detaches, asked);
}

/* By the runtime's events small objects are counted as often as each sample stands for, with stack, type and thread; what is no event is lost,
 * and what is on the large object heap is left to ObjectAllocated. */
static void late_samples(void)
{
    if (THREAD_SANITIZER)
        return; /* as in dormant */
    static uint8_t said[WIRE_LOAD_BYTES + 4200] = {WIRE_DATA_MEMORY};
    const uint32_t objects_of_24_bytes = 4267; /* 1/(1-(1-1/102,400)^24), rounded */
    fake.has_info12 = true;
    fake.major = 10;
    fake_class_init(&huge, &app, "App.Huge", 85000, 0);
    fake_answer(INFO_SUSPEND_RUNTIME, (void *)stop_threads);
    fake_answer(INFO_RESUME_RUNTIME, (void *)resume_threads);
    fake_answer(INFO_SET_EVENT_MASK2, (void *)set_events);
    fake_answer(INFO_REQUEST_DETACH, (void *)request_detach);
    fake_answer(INFO_EVENT_PIPE_START_SESSION, (void *)start_samples);
    fake_answer(INFO_EVENT_PIPE_STOP_SESSION, (void *)stop_samples);
    make_program();
    uint32_t bytes = WIRE_LOAD_BYTES + (uint32_t)strlen(strcpy((char *)said + WIRE_LOAD_BYTES, directory));
    check(fake_load_late(agent_path, said, bytes + 1) == HR_OK, "InitializeForAttach");
    struct wire_control_header *control = make_control_file();
    struct wire_dormant *place = find_place();
    int fd = lock_directory();
    detach_answer = (hresult)0x80131370;
    attach(place, WIRE_DATA_MEMORY | WIRE_DATA_SAMPLED);
    check(sessions == 1 && sampled_keywords == (UINT64_C(0x80000000000) | 1) && sampled_level == 4, "%u sessions, keywords %llx, level %u", sessions,
          (unsigned long long)sampled_keywords, sampled_level);
    struct entries model = {0}, found = {0};
    static struct fake_stack s; /* not on the stack that is copied */
    for (uint32_t k = 0; k < STACKS; k++) {
        s = (struct fake_stack){.n = 2, .bodies = {&root_body, &bodies[k]}, .repeat = 3 * k};
        struct told t = {&classes[k % CLASSES], k + 1, 0, 0, 24};
        fake_run(&s, tell, &t);
        model_add(&model, &s, false, t.class, false, t.n * objects_of_24_bytes, t.n * objects_of_24_bytes * 24);
    }
    s = (struct fake_stack){.n = 2, .bodies = {&root_body, &bodies[0]}};
    fake_run(&s, tell, &(struct told){&huge, 5, 1, 0, 85000});
    fake_run(&s, tell, &(struct told){&classes[0], 7, 0, 9, 24});
    fake_run(&s, allocate_huge, &(uint32_t){3});
    model_add(&model, &s, false, &huge, false, 3, 3 * 85000);
    ask_to_let_go(control);
    await(&place->state, WIRE_DORMANT_WAITING);
    struct arena_facts *f = arena_read(directory, &found);
    check(sessions == 0 && f->header->sampler == WIRE_SAMPLER_RANDOM, "%u sessions are left, sampler %u", sessions, f->header->sampler);
    check(f->header->losses[WIRE_LOSS_SAMPLES].events == 7, "%llu samples are lost of 7", (unsigned long long)f->header->losses[WIRE_LOSS_SAMPLES].events);
    check(model_compare(&model, &found, true) == 0, "the samples are others");
    close(fd);
    fake_callback(CALLBACK_SHUTDOWN, 0);
    fake.objects = fake.bytes = 0;
}

/* The runtime is asked to let the agent go; if it does not, the agent stays, and can be asked again. */
static void late(void)
{
    if (THREAD_SANITIZER)
        return; /* as in dormant */
    static uint8_t said[WIRE_LOAD_BYTES + 4200] = {WIRE_DATA_MEMORY};
    fake_class_init(&huge, &app, "App.Huge", 85000, 0);
    fake_answer(INFO_SUSPEND_RUNTIME, (void *)stop_threads);
    fake_answer(INFO_RESUME_RUNTIME, (void *)resume_threads);
    fake_answer(INFO_SET_EVENT_MASK2, (void *)set_events);
    fake_answer(INFO_REQUEST_DETACH, (void *)request_detach);
    make_program();
    uint32_t bytes = WIRE_LOAD_BYTES + (uint32_t)strlen(strcpy((char *)said + WIRE_LOAD_BYTES, directory));
    check(fake_load_late(agent_path, said, bytes) < 0, "it takes a path without an end");
    check(fake_load_late(agent_path, said, WIRE_LOAD_BYTES) < 0, "it takes no path");
    hresult hr = fake_load_late(agent_path, said, bytes + 1);
    check(hr == HR_OK && fake.event_low == 0 && fake.event_high == 0, "InitializeForAttach: %x; it asks for %x", (unsigned)hr, fake.event_low);
    count_steps();
    struct wire_control_header *control = make_control_file();
    struct wire_dormant *place = find_place();
    int fd = lock_directory();
    detach_answer = (hresult)0x80131370; /* it cannot */
    record_late(place, control, 7, 1);
    await(&place->state, WIRE_DORMANT_WAITING);
    check(counted() == 7, "%llu objects of 7", (unsigned long long)counted());
    remove_arena();
    detach_answer = HR_OK;
    record_late(place, control, 3, 2);
    await(&place->state, WIRE_DORMANT_LEAVING);
    check(counted() == 3, "%llu objects of 3", (unsigned long long)counted());
    fake_callback(CALLBACK_DETACH_SUCCEEDED, 0);
    check(place->state == WIRE_DORMANT_GONE && find_place() == NULL, "state %u when it has left", place->state);
    remove_arena();
    check(fake_load_late(agent_path, said, bytes + 1) == HR_OK && find_place() != NULL, "it does not come back");
    place = find_place();
    place->data = 0;
    ask_for(&place->requests);
    await(&detaches, 3);
    fake_callback(CALLBACK_DETACH_SUCCEEDED, 0);
    check(find_place() == NULL, "asked to leave, it has left a file");
    close(fd);
    fake.objects = fake.bytes = 0;
}

/* What dormant_inlining and those after it compile. */
static struct fake_module shared = {"/usr/dotnet/shared/Microsoft.NETCore.App/10.0.0/Linq.dll", "Linq.dll", MODULE_FLAG_DISK, NULL, false};
static const struct fake_method user = {.name = "User", .module = &app, .token = 0x06000001}, theirs = {.name = "Theirs", .module = &shared, .token = 0x06000002};
static const struct fake_method made = {.name = "made", .dynamic = true};
static const struct fake_method stub = {.name = "stub", .module = &shared, .token = 0x06000000}; /* made at run time as well, in a module */

/* So many methods are compiled in each other's compilations. */
static __attribute__((noinline)) void compile_nested(uint32_t n)
{
    call_back(CALLBACK_DYNAMIC_JIT_STARTED, &made, NULL, NULL);
    if (n > 1)
        compile_nested(n - 1);
    check(is_refused(&theirs, &user) && !is_refused(&theirs, &theirs), "%u compilations in the %uth", n - 1, 21 - n);
    call_back(CALLBACK_DYNAMIC_JIT_FINISHED, &made, NULL, NULL);
}

static __attribute__((noinline)) void compile_stub(void)
{
    volatile uint8_t deeper[64];
    deeper[0] = 1;
    call_back(CALLBACK_JIT_STARTED, &stub, NULL, NULL);
    check(is_refused(&stub, &user) && !is_refused(&stub, &theirs), "a method without a token");
    call_back(CALLBACK_JIT_FINISHED, &stub, NULL, NULL);
    deeper[1] = deeper[0];
}

/* The method that is compiled decides, not the inlinee's direct caller: a method that is made at run time gets none of the user's functions
 * inlined, not even through one of the framework's functions; and neither does a compilation whose beginning was not reported. */
static void dormant_inlining(void)
{
    struct wire_control_header *control;
    struct wire_dormant *place = start_dormant(&control);
    check(is_refused(&made, &user) && !is_refused(&made, &theirs), "a method that is made at run time");
    check(is_refused(&theirs, &user) && is_refused(&user, &user), "a compilation that was not seen to begin");
    call_back(CALLBACK_JIT_STARTED, &theirs, NULL, NULL);
    check(!is_refused(&theirs, &user) && !is_refused(&user, &user), "a method that can be compiled again");
    call_back(CALLBACK_JIT_FINISHED, &theirs, NULL, NULL);
    call_back(CALLBACK_JIT_STARTED, &user, NULL, NULL);
    compile_stub();
    compile_nested(1);
    check(!is_refused(&theirs, &user), "the compilation in which there was another one");
    compile_nested(20);
    check(!is_refused(&theirs, &user), "after more compilations in each other than are followed");
    call_back(CALLBACK_JIT_FINISHED, &user, NULL, NULL);
    fake_callback(CALLBACK_SHUTDOWN, 0);
    check(place->state == WIRE_DORMANT_ENDED, "state %u", place->state);
}

static __attribute__((noinline)) void fail_to_compile(void)
{
    volatile uint8_t deeper[256];
    deeper[0] = 1;
    call_back(CALLBACK_DYNAMIC_JIT_STARTED, &made, NULL, NULL);
    deeper[1] = deeper[0];
}

static void *fail_and_end(void *unused)
{
    fail_to_compile();
    return unused;
}

/* The runtime does not report the end of a compilation that fails: it is forgotten when the thread compiles something else, or has ended. */
static void dormant_inlining_fails(void)
{
    struct wire_control_header *control;
    struct wire_dormant *place = start_dormant(&control);
    for (uint32_t i = 0; i < 20; i++)
        fail_to_compile();
    call_back(CALLBACK_JIT_STARTED, &user, NULL, NULL);
    check(!is_refused(&theirs, &user), "after compilations that failed");
    call_back(CALLBACK_JIT_FINISHED, &user, NULL, NULL);
    for (uint32_t i = 0; i < 600; i++) { /* more than can compile at once */
        pthread_t thread;
        if (pthread_create(&thread, NULL, fail_and_end, NULL) != 0)
            fake_die("no thread");
        pthread_join(thread, NULL);
    }
    call_back(CALLBACK_JIT_STARTED, &user, NULL, NULL);
    check(!is_refused(&theirs, &user), "after threads that ended in compilations that failed");
    call_back(CALLBACK_JIT_FINISHED, &user, NULL, NULL);
    fake_callback(CALLBACK_SHUTDOWN, 0);
    check(place->state == WIRE_DORMANT_ENDED, "state %u", place->state);
}

static __attribute__((noinline)) void compile_within(void)
{
    volatile uint8_t deeper[64];
    deeper[0] = 1;
    call_back(CALLBACK_JIT_STARTED, &theirs, NULL, NULL);
    fake_clock.base += 200;
    call_back(CALLBACK_JIT_FINISHED, &theirs, NULL, NULL);
    deeper[1] = deeper[0];
}

/* Compilations that fail, nested in others and more of them than there are places, take neither places nor time from later ones. */
static void compilations_fail(void)
{
    fake_clock.on = true;
    start();
    for (uint32_t i = 0; i < 300; i++)
        fail_to_compile();
    call_back(CALLBACK_JIT_STARTED, &user, NULL, NULL);
    fake_clock.base += 1000;
    fail_to_compile();
    compile_within();
    fail_to_compile();
    fake_clock.base += 30;
    call_back(CALLBACK_JIT_FINISHED, &user, NULL, NULL);
    struct entries found = {0};
    const struct wire_header *h = arena_read(directory, &found)->header;
    check(h->compiled == 2 && h->compiled_ns == 1230, "%llu methods in %llu ns", (unsigned long long)h->compiled, (unsigned long long)h->compiled_ns);
    check(h->compiled_missed == 0, "%llu methods had no place", (unsigned long long)h->compiled_missed);
    fake_callback(CALLBACK_SHUTDOWN, 0);
}

const struct scenario thread_scenarios[] = {
    {"program_calls", program_calls},
    {"marks_end_slices", marks_end_slices},
    {"meters", meters},
    {"dormant", dormant},
    {"dormant_leaves_late", dormant_leaves_late},
    {"late", late},
    {"late_samples", late_samples},
    {"dormant_inlining", dormant_inlining},
    {"dormant_inlining_fails", dormant_inlining_fails},
    {"compilations_fail", compilations_fail},
    {"dormant_thread_without_room", dormant_thread_without_room},
    {"collector_ended", collector_ended},
    {"collector_killed", collector_killed},
    {"collector_killed_exit", collector_killed_exit},
    {"collector_killed_lifetime", collector_killed_lifetime},
    {"collector_gone", collector_gone},
    {"threads_one_by_one", threads_one_by_one},
    {"threads_of_some_names", threads_of_some_names},
    {"threads_of_many_names", threads_of_many_names},
    {NULL, NULL},
};
