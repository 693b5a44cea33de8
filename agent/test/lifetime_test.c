/* Scenarios of the ends of objects.
 *
 * The made-up heap has one area for each generation. Objects are born in area 0, or in that of the large ones. A
 * collection kills some objects, moves the survivors of generations 0 and 1 up to the next one's area, and leaves the others
 * where they are. */
#define _GNU_SOURCE
#include "scenario.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define AREA_BYTES (UINT64_C(64) << 20)
#define HEAP_OBJECTS (1u << 18)
#define LARGE_OBJECT 100000u
#define RANGES 512u /* of one call, as the runtime has it */

struct heap_object {
    uintptr_t at;
    uint64_t bytes;
    uint32_t generation; /* GONE: dead */
    bool left_out;       /* not the program's */
    bool held;           /* alive when the program began to end */
};
#define GONE UINT32_MAX

static struct fake_module app = {"/srv/app/App.dll", "App.dll", MODULE_FLAG_DISK, NULL, false};
static struct fake_class program, order, line, nested, page, large, resolver;
#define HAS_FINALIZER 0x00100000u /* in the first word of a class */
static struct fake_method methods[5];
static struct fake_body bodies[5];

static struct heap_object heap[HEAP_OBJECTS];
static uint32_t n_heap, n_collections, finished; /* objects; collections begun and ended */
static uintptr_t areas[WIRE_GENERATION_COUNT], used[WIRE_GENERATION_COUNT];
static uint64_t dead[WIRE_GENERATION_COUNT][2]; /* by what the model says: objects, bytes */
static uint64_t freed[WIRE_GENERATION_COUNT][2]; /* number and bytes of the objects that died after the program began to end, having been alive then */
static bool small_only;
static uint64_t points, kill_at; /* places in a collection; the one at which the process ends */

static void point(void)
{
    if (++points == kill_at)
        kill(getpid(), SIGKILL);
}

static hresult heap_bounds(void *self, uint32_t capacity, uint32_t *n, struct clr_generation_range *out)
{
    (void)self;
    point();
    *n = WIRE_GENERATION_COUNT;
    for (uint32_t g = 0; g < WIRE_GENERATION_COUNT && g < capacity; g++)
        out[g] = (struct clr_generation_range){.generation = g, .start = areas[g], .length = used[g] - areas[g], .reserved = AREA_BYTES};
    return HR_OK;
}

static void collect(uint32_t oldest, uint32_t seed, bool induced);
static void end_open_collection(void);
static void suspend_threads(void), report_start(void);

/* How the runtime answers ForceGC while other threads collect. */
static enum { ITS_OWN, OF_ANOTHER_THREAD, BEGUN_BEFORE } answer;

static hresult heap_force_gc(void *self)
{
    (void)self;
    if (answer == BEGUN_BEFORE)
        end_open_collection();
    else
        collect(2, 1, answer == ITS_OWN);
    answer = ITS_OWN;
    return HR_OK;
}

static void make_world(void)
{
    static const char *const names[] = {"Main", "Run", "Work", "Add", "Make"};
    fake_class_init(&program, &app, "App.Program", 24, 0);
    fake_class_init(&order, &app, "App.Order", 40, 0);
    fake_class_init(&line, &app, "App.Line", 24, 0);
    fake_class_init(&nested, &app, "App.Nested", 24, 0);
    fake_class_init(&page, &app, "App.Page", 10000, 0);
    fake_class_init(&large, &app, "App.Large", LARGE_OBJECT, 0);
    fake_class_init(&resolver, &app, "App.Resolver", 24, 0);
    resolver.table[0] |= HAS_FINALIZER;
    for (uint32_t i = 0; i < 5; i++) {
        methods[i] = (struct fake_method){.name = names[i], .module = &app, .type = &program};
        fake_emit(&methods[i], &bodies[i], FRAMED, -1);
    }
}

static void start_lifetime(void)
{
    uint8_t *p = mmap(NULL, WIRE_GENERATION_COUNT * AREA_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        abort();
    for (uint32_t g = 0; g < WIRE_GENERATION_COUNT; g++)
        areas[g] = used[g] = (uintptr_t)p + g * AREA_BYTES;
    fake_answer(INFO_GET_GENERATION_BOUNDS, (void *)heap_bounds);
    fake_answer(INFO_FORCE_GC, (void *)heap_force_gc);
    setenv("CLRPROF_LIFETIME", "1", 1);
    setenv("CLRPROF_FINAL_GC", "1", 0);
    make_world();
    fake_set_thread(0); /* the main thread is not managed while Initialize runs */
    hresult hr = fake_load(agent_path);
    check(hr == HR_OK, "Initialize returned %x", (unsigned)hr);
    fake_set_thread(0x1000);
}

struct birth {
    struct fake_class *class;
    uintptr_t at;
};

static void born_here(void *data, bool in_handler)
{
    const struct birth *b = data;
    if (!in_handler)
        fake_allocate_at(b->class, b->at);
}

/* Allocates objects with a few stacks; the last class is that of large ones. */
static void allocate_objects(uint32_t n, uint32_t seed)
{
    struct fake_class *classes[] = {&order, &line, &nested, &large};
    for (uint32_t i = 0; i < n && n_heap < HEAP_OBJECTS; i++) {
        uint32_t k = (seed + i) * 2654435761u >> 20, which = k % 64 == 0 && !small_only ? 3 : k % 3, g = which == 3 ? WIRE_GENERATION_LARGE : 0;
        uint64_t bytes = (classes[which]->table[1] + 7) & ~UINT64_C(7);
        if (used[g] + bytes > areas[g] + AREA_BYTES)
            continue;
        struct fake_stack s = {2 + k % 3, 0, {&bodies[k % 2], &bodies[2], &bodies[3], &bodies[k % 5]}, 0};
        struct birth b = {classes[which], used[g]};
        heap[n_heap++] = (struct heap_object){used[g], bytes, g, false, false};
        used[g] += bytes;
        fake_run(&s, born_here, &b);
    }
}

#define AGENT(slot, ...) ((hresult(*)(void *, ##__VA_ARGS__))(*(void ***)fake_callbacks())[slot])

static void report_ranges(const uintptr_t *from, const uintptr_t *to, const size_t *lengths, uint32_t n)
{
    point();
    AGENT(CALLBACK_MOVED_REFERENCES2, uint32_t, const uintptr_t *, const uintptr_t *, const size_t *)(fake_callbacks(), n, from, to, lengths);
}

static void report_survivors(const uintptr_t *from, const uintptr_t *to, const size_t *lengths, uint32_t n)
{
    if ((fake.event_low & MONITOR_GC) != 0)
        report_ranges(from, to, lengths, n);
}

/* Reports the survivors, one range each, and moves them. */
static void move_survivors(uint32_t oldest, uint32_t seed)
{
    static uintptr_t from[RANGES], to[RANGES];
    static size_t lengths[RANGES];
    uint32_t n = 0, all = oldest == 2 ? WIRE_GENERATION_COUNT : oldest + 1;
    for (uint32_t i = 0; i < n_heap; i++) {
        struct heap_object *o = &heap[i];
        if (o->generation >= all)
            continue;
        if (((i + seed) * 2654435761u >> 24) % 3 == 0) {
            dead[o->generation][0] += !o->left_out;
            dead[o->generation][1] += o->left_out ? 0 : o->bytes;
            freed[o->generation][0] += o->held;
            freed[o->generation][1] += o->held ? o->bytes : 0;
            o->generation = GONE;
            continue;
        }
        from[n] = to[n] = o->at;
        if (o->generation < 2) {
            to[n] = o->at = used[++o->generation];
            used[o->generation] += o->bytes;
        }
        lengths[n++] = o->bytes;
        if (n == RANGES) {
            report_survivors(from, to, lengths, n);
            n = 0;
        }
    }
    report_survivors(from, to, lengths, n);
}

static void begin_collection(uint32_t oldest, bool induced)
{
    int32_t collected[WIRE_GENERATION_COUNT];
    for (uint32_t g = 0; g < WIRE_GENERATION_COUNT; g++)
        collected[g] = g <= oldest || oldest == 2;
    suspend_threads();
    point();
    AGENT(CALLBACK_GC_STARTED, int32_t, const int32_t *, uint32_t)(fake_callbacks(), WIRE_GENERATION_COUNT, collected, induced);
}

static void end_collection(void)
{
    point();
    AGENT(CALLBACK_GC_FINISHED)(fake_callbacks());
    point();
    finished++;
}

/* ── EventPipe ──────────────────────────────────────────────────────────────────────────────────────────────── */

enum event_fault { NO_FAULT, NOT_YET, NO_START, START_ELSEWHERE, RESTORE_FAILS_ONCE, RESTORE_FAILS };

static struct {
    bool refuses; /* sessions */
    enum event_fault fault;
    uint32_t left_out; /* objects that the session's start allocates */
    uint64_t gap;      /* so far behind all others */
    uint32_t own_sessions, sessions, walks;
    void (*provider)(const uint8_t *, uint32_t, uint8_t, uint64_t, uint64_t, void *, void *);
} pipe_state;
static pthread_mutex_t pipe_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t pipe_changed = PTHREAD_COND_INITIALIZER;
static const utf16 runtime_provider[] = u"Microsoft-Windows-DotNETRuntime", other_provider[] = u"System.Runtime";

static void *deliver(void *id)
{
    AGENT(CALLBACK_EVENT_DELIVERED, uintptr_t, uint32_t, uint32_t, uint32_t, const uint8_t *, uint32_t, const uint8_t *, const struct guid *, const struct guid *,
          uintptr_t, uint32_t, uintptr_t *)(fake_callbacks(), 1, (uint32_t)(uintptr_t)id, 1, 0, NULL, 0, NULL, NULL, NULL, 0, 0, NULL);
    return NULL;
}

static void deliver_elsewhere(uintptr_t id)
{
    pthread_t thread;
    pthread_create(&thread, NULL, deliver, (void *)id);
    pthread_join(thread, NULL);
}

/* The threads have been stopped, and the session says so. */
static void suspend_threads(void)
{
    if (!fake.has_info12)
        return;
    AGENT(CALLBACK_RUNTIME_SUSPEND_STARTED, uint32_t)(fake_callbacks(), 1);
    if (pipe_state.sessions != 0)
        deliver((void *)9);
    if (pipe_state.sessions != 0 && pipe_state.fault != NOT_YET)
        deliver((void *)35);
}

/* What the runtime does behind GarbageCollectionStarted: it walks if the flag is set, and writes GCStart. */
static void report_start(void)
{
    if (!fake.has_info12)
        return;
    bool skips = (fake.event_high & HIGH_MONITOR_GC_SKIP_ALLOCATED_BY_CLASS) != 0 && fake.major >= 11;
    if ((fake.event_low & MONITOR_GC) != 0 && !skips) {
        pipe_state.walks++;
        AGENT(CALLBACK_OBJECTS_ALLOCATED_BY_CLASS, uint32_t, uintptr_t *, uint32_t *)(fake_callbacks(), 0, NULL, NULL);
    }
    if (pipe_state.sessions == 0 || pipe_state.fault == NO_START || pipe_state.fault == NOT_YET)
        return;
    if (pipe_state.fault == RESTORE_FAILS_ONCE)
        fake.fail_at = fake.calls + 1;
    if (pipe_state.fault == RESTORE_FAILS)
        fake.fail_from = fake.calls + 1;
    if (pipe_state.fault == START_ELSEWHERE)
        deliver_elsewhere(1);
    else
        deliver((void *)1);
    if (pipe_state.fault == RESTORE_FAILS_ONCE)
        deliver((void *)200);
    fake.fail_from = 0;
}

static hresult pipe_start(void *self, uint32_t n, const struct clr_event_provider *providers, int32_t rundown, uint64_t *session)
{
    (void)self, (void)rundown;
    bool own = providers[0].name[0] != runtime_provider[0]; /* shorter names end before */
    used[0] += own ? 0 : pipe_state.gap;
    for (uint32_t i = 0; !own && i < pipe_state.left_out; i++) {
        heap[n_heap++] = (struct heap_object){used[0], 24, 0, true, false};
        fake_allocate_at(i % 5 == 0 ? &resolver : &line, used[0]);
        used[0] += 24;
    }
    pthread_mutex_lock(&pipe_lock);
    *session = 1;
    if (own)
        pipe_state.own_sessions += !pipe_state.refuses;
    else if (!pipe_state.refuses)
        pipe_state.sessions += n;
    if (!own)
        pthread_cond_signal(&pipe_changed);
    hresult hr = pipe_state.refuses ? HR_FAIL : HR_OK;
    pipe_state.refuses = pipe_state.refuses && own;
    pthread_mutex_unlock(&pipe_lock);
    return hr;
}

static hresult pipe_create(void *self, const utf16 *name, void *callback, uintptr_t *provider)
{
    (void)self, (void)name;
    pipe_state.provider = (void (*)(const uint8_t *, uint32_t, uint8_t, uint64_t, uint64_t, void *, void *))callback;
    *provider = 7;
    return HR_OK;
}

static hresult pipe_info(void *self, uintptr_t provider, uint32_t capacity, uint32_t *length, utf16 *name)
{
    const utf16 *text = (const utf16 *)provider;
    (void)self;
    for (*length = 0; *length < capacity && (name[*length] = text[*length]) != 0; ++*length)
        ;
    return HR_OK;
}

/* A runtime with EventPipe. Its session has been refused or is there when this returns, if one collection is enough for that. */
static void start_with_events(bool waits)
{
    fake.has_info12 = true;
    fake_answer(INFO_EVENT_PIPE_START_SESSION, (void *)pipe_start);
    fake_answer(INFO_EVENT_PIPE_CREATE_PROVIDER2, (void *)pipe_create);
    fake_answer(INFO_EVENT_PIPE_GET_PROVIDER_INFO, (void *)pipe_info);
    bool refuses = pipe_state.refuses;
    start_lifetime();
    fake_callback(CALLBACK_EVENT_PROVIDER_CREATED, (uintptr_t)runtime_provider);
    allocate_objects(1000, 1);
    collect(0, 1, false);
    check(pipe_state.sessions == 0, "a session before all sources of events are there");
    fake_callback(CALLBACK_EVENT_PROVIDER_CREATED, (uintptr_t)other_provider);
    pthread_mutex_lock(&pipe_lock);
    while (waits && pipe_state.sessions == 0 && pipe_state.refuses == refuses)
        pthread_cond_wait(&pipe_changed, &pipe_lock);
    pthread_mutex_unlock(&pipe_lock);
}

/* EventPipe ends, before the profiler does. */
static void *end_pipe(void *unused)
{
    (void)unused;
    if (pipe_state.own_sessions != 0)
        pipe_state.provider(NULL, 0, 0, 0, 0, NULL, NULL);
    pipe_state.sessions = pipe_state.own_sessions = 0;
    return NULL;
}

static void collect(uint32_t oldest, uint32_t seed, bool induced)
{
    uintptr_t pinned = heap[n_heap / 2].at;
    uint32_t kind = 3, flags = 1;
    n_collections++;
    begin_collection(oldest, induced);
    report_start();
    move_survivors(oldest, seed);
    AGENT(CALLBACK_ROOT_REFERENCES2, uint32_t, const uintptr_t *, const uint32_t *, const uint32_t *, const uintptr_t *)(
        fake_callbacks(), 1, &pinned, &kind, &flags, &pinned);
    used[0] = areas[0]; /* all that lived there has moved */
    end_collection();
}

/* What the agent counted: the deaths of all sites, and its records. */
struct ends {
    uint64_t dead[WIRE_GENERATION_COUNT][2];
    uint32_t collections, changes, whys;
    const struct wire_header *header;
};

static struct ends read_ends(void)
{
    struct ends out = {0};
    struct entries found = {0};
    struct arena_facts *f = arena_read(directory, &found);
    if (f == NULL) {
        check(false, "no arena");
        exit(1);
    }
    const uint8_t *base = (const uint8_t *)f->header;
    const struct wire_region_entry *r = &f->header->regions[WIRE_REGION_DEATHS];
    const struct wire_site_deaths *deaths = (const void *)(base + r->offset);
    for (uint64_t i = 0; i < r->used / sizeof *deaths; i++)
        for (uint32_t g = 0; g < WIRE_GENERATION_COUNT; g++) {
            out.dead[g][0] += deaths[i].dead_objects[g];
            out.dead[g][1] += deaths[i].dead_bytes[g];
        }
    out.header = f->header;
    out.collections = f->records[WIRE_RECORD_GC];
    out.changes = f->records[WIRE_RECORD_CHANGES];
    out.whys = f->records[WIRE_RECORD_WHY];
    return out;
}

static uint64_t lost(const struct ends *e, uint32_t reason)
{
    return e->header->losses[reason].events;
}

static void judge_ends(const struct ends *e)
{
    for (uint32_t g = 0; g < WIRE_GENERATION_COUNT; g++)
        check(e->dead[g][0] == dead[g][0] && e->dead[g][1] == dead[g][1], "generation %u: %llu objects and %llu bytes are dead, want %llu and %llu", g,
              (unsigned long long)e->dead[g][0], (unsigned long long)e->dead[g][1], (unsigned long long)dead[g][0], (unsigned long long)dead[g][1]);
    for (uint32_t i = WIRE_LOSS_UNTRACKED; i <= WIRE_LOSS_SNAPSHOT; i++)
        check(lost(e, i) == 0, "%llu losses %u", (unsigned long long)lost(e, i), i);
}

static void live_and_die(uint32_t rounds)
{
    for (uint32_t i = 0; i < rounds; i++) {
        allocate_objects(2000 / SCALE, i * 7919);
        collect(i % 7 == 6 ? 2 : i % 3 == 2 ? 1 : 0, i, i % 5 == 0);
    }
}

static void lives(void)
{
    start_lifetime();
    live_and_die(40);
    fake_callback(CALLBACK_SHUTDOWN, 0);
    struct ends e = read_ends();
    judge_ends(&e);
    check(e.collections == n_collections && n_collections == 41 && e.header->alive_known == 1, "%u of %u collections", e.collections, n_collections);
    check(e.changes >= 41, "%u records of changes", e.changes);
}

static void end_open_collection(void)
{
    move_survivors(2, 1);
    used[0] = areas[0];
    end_collection();
}

/* The runtime answers with a full collection that another thread's allocation began, behind the agent's question. */
static void last_of_another_thread(void)
{
    setenv("CLRPROF_ROOTS", "induced", 1);
    start_lifetime();
    allocate_objects(2000 / SCALE, 1);
    collect(0, 1, false);
    answer = OF_ANOTHER_THREAD;
    fake_callback(CALLBACK_SHUTDOWN, 0);
    struct ends e = read_ends();
    judge_ends(&e);
    check(e.collections == n_collections && n_collections == 2 && e.header->alive_known == 1, "%u of %u collections", e.collections, n_collections);
    check(e.whys != 0, "why survivors of the last collection survived is not reported");
}

/* Or with one that began before it. */
static void last_begun_before(void)
{
    start_lifetime();
    live_and_die(5);
    n_collections++;
    begin_collection(2, false);
    answer = BEGUN_BEFORE;
    fake_callback(CALLBACK_SHUTDOWN, 0);
    struct ends e = read_ends();
    judge_ends(&e);
    check(e.collections == n_collections && n_collections == 7 && e.header->alive_known == 1, "%u of %u collections", e.collections, n_collections);
}

/* Callbacks that no runtime makes in this order. What they claim is not believed; collections before and after are right. */
static void lives_in_odd_order(void)
{
    start_lifetime();
    live_and_die(5);
    uintptr_t there = heap[n_heap - 1].at, elsewhere = areas[2] + AREA_BYTES / 2;
    size_t bytes = 24;
    end_collection(); /* without a beginning */
    report_ranges(&there, &elsewhere, &bytes, 1); /* outside a collection */
    end_collection();
    allocate_objects(100, 5);
    begin_collection(0, false); /* without an end, but for that of the next one */
    live_and_die(5);
    begin_collection(2, false);
    begin_collection(0, true);
    report_ranges(&there, &there, &bytes, 0);
    collect(2, 3, true);
    fake_callback(CALLBACK_SHUTDOWN, 0);
    struct ends e = read_ends();
    judge_ends(&e);
    check(e.collections == n_collections, "%u of %u collections", e.collections, n_collections);
}

/* Survivors at places where the agent has seen no object. Those that stay in generation 2 are not looked at. */
static void lives_untracked(void)
{
    start_lifetime();
    live_and_die(3);
    used[1] = areas[1] + AREA_BYTES; /* more than is known */
    used[2] = areas[2] + AREA_BYTES;
    begin_collection(2, true);
    used[2] = areas[2] + 3 * AREA_BYTES / 4; /* beyond the strangers: survivors go there */
    uintptr_t from[3] = {areas[1] + AREA_BYTES / 2, areas[2] + AREA_BYTES / 2, areas[2] + AREA_BYTES / 2 + 4096}, to[3] = {areas[2] + AREA_BYTES / 4, from[1] + 8, from[2]};
    size_t lengths[3] = {96, 24, 72};
    report_ranges(from, to, lengths, 3);
    move_survivors(2, 4);
    used[0] = areas[0];
    used[2] = areas[2] + AREA_BYTES;
    end_collection();
    struct ends e = read_ends();
    check(lost(&e, WIRE_LOSS_UNTRACKED) == 2 && e.header->losses[WIRE_LOSS_UNTRACKED].bytes == 96 + 24, "%llu gaps, %llu bytes",
          (unsigned long long)lost(&e, WIRE_LOSS_UNTRACKED), (unsigned long long)e.header->losses[WIRE_LOSS_UNTRACKED].bytes);
    check(lost(&e, WIRE_LOSS_MOVES) == 0 && lost(&e, WIRE_LOSS_LIFETIME_FULL) == 0, "more was lost");
    for (uint32_t g = 0; g < WIRE_GENERATION_COUNT; g++)
        check(e.dead[g][0] == dead[g][0], "generation %u: %llu objects are dead, want %llu", g, (unsigned long long)e.dead[g][0], (unsigned long long)dead[g][0]);
}

#define CHUNK_WORDS (1u << 19) /* of the shadow heap: see shadow_heap.h */
#define ENTRY_WORDS (CHUNK_WORDS + 1024u)
#define PAGE_ENTRY_WORDS 32u /* of 8 entries */
#define CHUNK_BYTES ((ENTRY_WORDS + CHUNK_WORDS / 1024u * PAGE_ENTRY_WORDS) * 4u)

/* Objects of 10 KB, and a small one in front of each: what they cost does not grow with their bytes. */
static void large_cost_as_small(void)
{
    setenv("CLRPROF_MEMORY", "16777216", 1); /* words would need 32 MiB, before the first collection */
    start_lifetime();
    struct fake_stack s = {2, 0, {&bodies[0], &bodies[2]}, 0};
    for (uint32_t i = 0; i < 12000 / SCALE; i++) {
        struct fake_class *class = i % 2 == 0 ? &line : &page;
        uint64_t bytes = (class->table[1] + 7) & ~UINT64_C(7);
        struct birth b = {class, used[0]};
        heap[n_heap++] = (struct heap_object){b.at, bytes, 0, false, false};
        used[0] += bytes;
        fake_run(&s, born_here, &b);
    }
    for (uint32_t i = 0; i < 5; i++) {
        collect(i == 3 ? 2 : i % 2, i, false);
        allocate_objects(2000 / SCALE, i);
    }
    fake_callback(CALLBACK_SHUTDOWN, 0);
    struct ends e = read_ends();
    judge_ends(&e);
    check(e.header->private_bytes + e.header->shared_bytes < 8u << 20, "%llu bytes of private memory", (unsigned long long)e.header->private_bytes);
}

/* Large objects and gaps between them: a collection reads what the shadow has of the objects, and nothing of what is between them. */
static void gaps_are_not_read(void)
{
    static unsigned char resident[CHUNK_BYTES / 4096];
    setenv("CLRPROF_ROOTS", "off", 1);
    fake.watched_bytes = CHUNK_BYTES;
    start_lifetime();
    struct fake_stack s = {2, 0, {&bodies[0], &bodies[2]}, 0};
    for (uint32_t i = 0; i < 120; i++) {
        struct birth b = {&large, used[WIRE_GENERATION_LARGE]};
        heap[n_heap++] = (struct heap_object){b.at, LARGE_OBJECT, WIRE_GENERATION_LARGE, false, false};
        used[WIRE_GENERATION_LARGE] += LARGE_OBJECT;
        fake_run(&s, born_here, &b);
    }
    for (uint32_t i = 0; i < 6; i++)
        collect(2, i, true);
    check(fake.watched != NULL && mincore(fake.watched, CHUNK_BYTES, resident) == 0, "no chunk of the shadow heap was seen");
    uint32_t words = 0, pages = 0;
    for (uint32_t i = 0; i < sizeof resident; i++) {
        pages += resident[i] & 1;
        words += i < CHUNK_WORDS / 1024 ? resident[i] & 1 : 0;
    }
    check(pages > 1 && words == 0, "%u pages of %u were touched for 42 objects, %u of words, of which they need none", pages, (uint32_t)sizeof resident, words);
    struct ends e = read_ends();
    check(e.dead[WIRE_GENERATION_LARGE][0] == dead[WIRE_GENERATION_LARGE][0], "%llu are dead, want %llu", (unsigned long long)e.dead[WIRE_GENERATION_LARGE][0],
          (unsigned long long)dead[WIRE_GENERATION_LARGE][0]);
}

/* Something writes over the shadow of an object: what is found there is not believed, the walks end, and it is reported. */
static int lives_damaged_step(uint64_t n)
{
    static const uint32_t damage[][3] = {{1, 0, 0}, {1000000, 3, 0}, {0x1FFFFFFE, 3, 0}, {0x60000001, 3, 0}, {0xFFFFFFFF, 0, UINT32_MAX}};
    if (n > 3 * sizeof damage / sizeof *damage)
        return STEP_BEYOND;
    setenv("CLRPROF_ROOTS", "off", 1);
    fake.watched_bytes = CHUNK_BYTES;
    start_lifetime();
    small_only = true;
    allocate_objects(1000, 1);
    check(fake.watched != NULL, "no chunk of the shadow heap was seen");
    const struct heap_object *victim = &heap[n % 3 == 0 ? 3 : n % 3 == 1 ? 20 : 500]; /* the first ones have entries */
    uint32_t word = (uint32_t)(victim->at >> 3) % CHUNK_WORDS, *words = (uint32_t *)fake.watched + word;
    if (n % 3 == 0)
        words = (uint32_t *)fake.watched + ENTRY_WORDS + word / 1024u * PAGE_ENTRY_WORDS + 3 * 4;
    check(words[1] == victim->bytes / 8, "the shadow is elsewhere: %u", words[1]);
    memcpy(words, damage[(n - 1) / 3], sizeof damage[0]);
    collect(0, (uint32_t)n, false);
    live_and_die(6);
    fake_callback(CALLBACK_SHUTDOWN, 0);
    struct ends e = read_ends();
    uint64_t counted = e.dead[0][0] + e.dead[1][0] + e.dead[2][0], all = dead[0][0] + dead[1][0] + dead[2][0];
    bool reported = lost(&e, WIRE_LOSS_MOVES) + lost(&e, WIRE_LOSS_UNTRACKED) != 0;
    check(counted == all || (reported && counted < all), "%llu of %llu are dead, %s", (unsigned long long)counted, (unsigned long long)all, reported ? "reported" : "not reported");
    return STEP_PASSED;
}

static void lives_damaged(void)
{
    sweep(lives_damaged_step, 1);
}

/* The n-th mmap from the first object on fails, and all after it: allocations are counted all the same. */
static int lives_without_memory_step(uint64_t n)
{
    start_lifetime();
    fake.os_fail_from[OS_MMAP] = fake.os_calls[OS_MMAP] + n;
    live_and_die(8);
    fake_callback(CALLBACK_SHUTDOWN, 0);
    struct ends e = read_ends();
    uint64_t counted = 0, all = 0;
    for (uint32_t g = 0; g < WIRE_GENERATION_COUNT; g++) {
        counted += e.dead[g][0];
        all += dead[g][0];
    }
    check(counted <= all, "%llu objects are dead, %llu died", (unsigned long long)counted, (unsigned long long)all);
    bool reported = lost(&e, WIRE_LOSS_LIFETIME_FULL) + lost(&e, WIRE_LOSS_MOVES) + lost(&e, WIRE_LOSS_ARENA_FULL) + lost(&e, WIRE_LOSS_NO_THREAD_STATE) != 0;
    check(counted == all || reported, "%llu of %llu dead, and no loss", (unsigned long long)counted, (unsigned long long)all);
    return fake.os_calls[OS_MMAP] < fake.os_fail_from[OS_MMAP] ? STEP_BEYOND : STEP_PASSED;
}

static void lives_without_memory(void)
{
    sweep(lives_without_memory_step, EACH_OR_SOME);
}

/* A small memory limit, reached by the shadow, by survivors on their way, or by what is reported each collection. */
static int lives_within_limit_step(uint64_t n)
{
    char limit[32];
    if (n > 6)
        return STEP_BEYOND;
    snprintf(limit, sizeof limit, "%u", (4u << 20) + (uint32_t)n * (3u << 20));
    setenv("CLRPROF_MEMORY", limit, 1);
    start_lifetime();
    for (uint32_t i = 0; i < 200 / SCALE; i++) {
        allocate_objects(n == 6 ? 200 : 3000, i * 31);
        collect(i % 20 == 19 ? 2 : i % 2, i, false);
    }
    fake_callback(CALLBACK_SHUTDOWN, 0);
    struct ends e = read_ends();
    check(e.header->shared_bytes + e.header->private_bytes <= e.header->memory_limit, "more memory than allowed");
    for (uint32_t g = 0; g < WIRE_GENERATION_COUNT; g++)
        check(e.dead[g][0] <= dead[g][0], "generation %u: %llu objects are dead, %llu died", g, (unsigned long long)e.dead[g][0], (unsigned long long)dead[g][0]);
    return STEP_PASSED;
}

static void lives_within_limit(void)
{
    if (THREAD_SANITIZER)
        return; /* one thread */
    sweep(lives_within_limit_step, 1);
}

/* Very many collections: what is reported each stays within its share of the memory. */
static void lives_in_a_storm(void)
{
    if (THREAD_SANITIZER)
        return; /* one thread */
    setenv("CLRPROF_MEMORY", "33554432", 1);
    small_only = true; /* the shadow of large ones alone would reach the limit */
    start_lifetime();
    for (uint32_t i = 0; i < 20000 / SCALE; i++) {
        allocate_objects(20, i);
        collect(i % 64 == 63 ? 2 : 0, i, false);
        if (n_heap > HEAP_OBJECTS / 2) { /* forget the dead */
            uint32_t n = 0;
            for (uint32_t k = 0; k < n_heap; k++)
                if (heap[k].generation != GONE)
                    heap[n++] = heap[k];
            n_heap = n;
        }
        if (i % 1024 == 1023) /* and move the areas' ends back, where nothing lives behind them */
            for (uint32_t g = 1; g < WIRE_GENERATION_COUNT; g++) {
                used[g] = areas[g];
                for (uint32_t k = 0; k < n_heap; k++)
                    if (heap[k].generation == g && heap[k].at + heap[k].bytes > used[g])
                        used[g] = heap[k].at + heap[k].bytes;
            }
    }
    fake_callback(CALLBACK_SHUTDOWN, 0);
    struct ends e = read_ends();
    check(lost(&e, WIRE_LOSS_CHANGES) == 0, "changes were lost");
    check(e.collections == n_collections, "%u of %u collections", e.collections, n_collections);
}

/* The roots of each collection are asked for, and there is no room for all. */
static void roots_of_every_collection(void)
{
    if (THREAD_SANITIZER)
        return; /* one thread, and most of a minute */
    setenv("CLRPROF_MEMORY", "16777216", 1);
    setenv("CLRPROF_ROOTS", "every", 1);
    small_only = true;
    start_lifetime();
    for (uint32_t i = 0; i < 4000; i++) {
        allocate_objects(60, i);
        collect(i % 3 == 2 ? 2 : 0, i, false);
    }
    struct ends e = read_ends();
    check(e.header->regions[WIRE_REGION_LOG].used < 16777216 / 2, "%llu bytes of log", (unsigned long long)e.header->regions[WIRE_REGION_LOG].used);
    check(lost(&e, WIRE_LOSS_SURVIVORS) > 0 && lost(&e, WIRE_LOSS_SURVIVORS) < 4000, "%llu collections were not looked at", (unsigned long long)lost(&e, WIRE_LOSS_SURVIVORS));
    check(e.collections == 4000, "%u collections", e.collections);
}

/* The process is killed at the n-th place of its collections: at a callback, or in a call of the agent. */
static int lives_killed_step(uint64_t n)
{
    static uint32_t *ended;
    ended = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t child = fork();
    if (child == 0) {
        start_lifetime();
        if (n % 4 == 0)
            fake.os_kill_at[OS_FALLOCATE] = fake.os_calls[OS_FALLOCATE] + n / 4;
        else if (n % 4 == 2)
            fake.os_kill_at[OS_MMAP] = fake.os_calls[OS_MMAP] + n / 4 + 1;
        else
            kill_at = n / 2 + 1;
        for (uint32_t i = 0; i < 12; i++) {
            live_and_die(1);
            *ended = finished;
        }
        exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    struct ends e = read_ends();
    check(e.collections == *ended || e.collections == *ended + 1, "%u collections ended, %u are reported", *ended, e.collections);
    return WIFEXITED(status) && n > 200 ? STEP_BEYOND : STEP_PASSED;
}

static void lives_killed(void)
{
    sweep(lives_killed_step, SCALE > 1 ? 11 : 1);
}

/* A snapshot whose file there is already, and one for which there is no room (needs root). */
static void snapshot_refused(void)
{
    char path[5000];
    setenv("CLRPROF_SNAPSHOT", "1", 1);
    snprintf(path, sizeof path, "%s/%d-2.heap", directory, (int)getpid());
    close(open(path, O_WRONLY | O_CREAT, 0600));
    start_lifetime();
    allocate_objects(100, 1);
    collect(0, 1, false);
    collect(2, 2, false);
    live_and_die(8);
    fake_callback(CALLBACK_SHUTDOWN, 0);
    struct ends e = read_ends();
    check(lost(&e, WIRE_LOSS_SNAPSHOT) == 1 && e.collections == n_collections, "%llu snapshots lost, %u of %u collections",
          (unsigned long long)lost(&e, WIRE_LOSS_SNAPSHOT), e.collections, n_collections);
    unlink(path);
}

static void snapshot_without_room(void)
{
    struct rlimit limit;
    getrlimit(RLIMIT_FSIZE, &limit);
    setenv("CLRPROF_SNAPSHOT", "2", 1);
    setenv("CLRPROF_ROOTS", "off", 1);
    start_lifetime();
    allocate_objects(20000, 1);
    collect(0, 1, false);
    limit.rlim_cur = 100000;
    setrlimit(RLIMIT_FSIZE, &limit);
    collect(2, 2, false); /* its table of sites alone is larger */
    struct ends e = read_ends();
    check(lost(&e, WIRE_LOSS_SNAPSHOT) == 1, "%llu snapshots lost", (unsigned long long)lost(&e, WIRE_LOSS_SNAPSHOT));
    check(e.collections == 2, "%u collections", e.collections);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_FSIZE, &limit);
}

/* A heap of which a snapshot would be larger than the memory limit. */
static void snapshot_beyond_limit(void)
{
    static uintptr_t references[1000];
    char path[5000];
    struct stat st;
    setenv("CLRPROF_MEMORY", "16777216", 1);
    setenv("CLRPROF_SNAPSHOT", "2", 1);
    start_lifetime();
    allocate_objects(100, 1);
    collect(0, 1, false);
    const struct wire_header *h = read_ends().header; /* the mapping shows what changes */
    allocate_objects(1, 1);
    uintptr_t object = heap[n_heap - 1].at;
    begin_collection(2, true);
    bool on = true;
    uint32_t reported = 0;
    for (; on && reported < 4000; reported++)
        on = AGENT(CALLBACK_OBJECT_REFERENCES, uintptr_t, uintptr_t, uint32_t, const uintptr_t *)(fake_callbacks(), object, (uintptr_t)&order, 1000, references) == HR_OK;
    check(!on && reported > 200, "%u objects were reported", reported);
    check(h->shared_bytes + h->private_bytes <= h->memory_limit, "more memory than allowed");
    move_survivors(2, 2);
    used[0] = areas[0];
    end_collection();
    struct ends e = read_ends();
    check(lost(&e, WIRE_LOSS_SNAPSHOT) == 1 && e.collections == 2, "%llu snapshots lost, %u collections", (unsigned long long)lost(&e, WIRE_LOSS_SNAPSHOT), e.collections);
    check(h->shared_bytes < 4u << 20, "%llu bytes shared: they were not given back", (unsigned long long)h->shared_bytes);
    snprintf(path, sizeof path, "%s/%d-2.heap", directory, (int)getpid());
    check(stat(path, &st) == 0 && st.st_blocks == 0, "the file has %lld blocks", (long long)st.st_blocks);
}

/* The runtime walks before the session is there, and not any more then, not even for the last collection. */
static void events_shorten(void)
{
    pipe_state.left_out = 50;
    start_with_events(true);
    check(pipe_state.own_sessions == 1 && pipe_state.sessions == 1, "%u and %u sessions", pipe_state.own_sessions, pipe_state.sessions);
    check(fake.handles_made == 10 && fake.handles_destroyed == 0, "%llu objects that are left out are kept from their finalizers", (unsigned long long)fake.handles_made);
    live_and_die(20);
    end_pipe(NULL);
    check((fake.event_low & MONITOR_GC) == 0, "collections behind the last one report something");
    uint64_t counted = fake.objects;
    allocate_objects(10, 3);
    fake_callback(CALLBACK_SHUTDOWN, 0);
    struct ends e = read_ends();
    judge_ends(&e);
    check(pipe_state.walks == 1 && e.header->walks == 1, "%u walks, %llu reported", pipe_state.walks, (unsigned long long)e.header->walks);
    check(e.collections == 22 && n_collections == 22 && e.header->alive_known == 1, "%u of %u collections", e.collections, n_collections);
    check(e.header->left_out == 50 + fake.objects - counted, "%llu objects are left out", (unsigned long long)e.header->left_out);
}

/* What there is no room to follow is a loss only where the program made it. */
static void left_out_is_no_loss(void)
{
    fake.watched_bytes = CHUNK_BYTES;
    fake.watched_alone = true; /* one chunk of the shadow */
    pipe_state.left_out = 50;
    pipe_state.gap = AREA_BYTES / 2;
    small_only = true;
    start_with_events(true);
    struct ends e = read_ends();
    uint64_t moved = 0;
    for (uint32_t i = 0; i < n_heap; i++)
        moved += heap[i].generation == 1 && !heap[i].left_out;
    check(e.header->left_out == 50, "%llu objects are left out", (unsigned long long)e.header->left_out);
    check(moved != 0 && lost(&e, WIRE_LOSS_LIFETIME_FULL) == moved, "%llu objects are lost, %llu moved to where there is no room", (unsigned long long)lost(&e, WIRE_LOSS_LIFETIME_FULL),
          (unsigned long long)moved);
}

/* Without a session all is as it was; nor is the flag cleared if the session has ended unseen. */
static void events_refused(void)
{
    pipe_state.refuses = true;
    start_with_events(true);
    live_and_die(5);
    fake_callback(CALLBACK_SHUTDOWN, 0);
    struct ends e = read_ends();
    judge_ends(&e);
    check(pipe_state.walks == n_collections && e.header->walks == n_collections && n_collections == 7, "%u walks in %u collections", pipe_state.walks, n_collections);
}

static void events_end_unseen(void)
{
    fake.no_info14 = true; /* as before .NET 8 */
    start_with_events(true);
    check(pipe_state.own_sessions == 0 && pipe_state.sessions == 1, "%u and %u sessions", pipe_state.own_sessions, pipe_state.sessions);
    live_and_die(5);
    end_pipe(NULL);
    live_and_die(2);
    fake_callback(CALLBACK_SHUTDOWN, 0);
    struct ends e = read_ends();
    judge_ends(&e);
    check(pipe_state.walks == 1 + 2 + 1 && e.collections == 9, "%u walks in %u collections", pipe_state.walks, e.collections);
}

/* The session has just begun: the runtime's own code writes events already, the collector not yet. */
static void events_of_collector_later(void)
{
    start_with_events(true);
    pipe_state.fault = NOT_YET;
    live_and_die(2);
    pipe_state.fault = NO_FAULT;
    live_and_die(3);
    end_pipe(NULL);
    fake_callback(CALLBACK_SHUTDOWN, 0);
    struct ends e = read_ends();
    judge_ends(&e);
    check(pipe_state.walks == 3 && e.collections == n_collections, "%u walks in %u of %u collections", pipe_state.walks, e.collections, n_collections);
}

/* One collection in which the flag is not set again in time: what survived it is not known, and that is reported. */
static void lose_a_collection(enum event_fault fault)
{
    start_with_events(true);
    live_and_die(3);
    pipe_state.fault = fault;
    collect(0, 1, false);
    check(fault == RESTORE_FAILS || (fake.event_low & MONITOR_GC) != 0, "the flag stays cleared");
    pipe_state.fault = NO_FAULT;
    uint32_t walks = pipe_state.walks;
    live_and_die(3);
    fake_callback(CALLBACK_SHUTDOWN, 0);
    struct ends e = read_ends();
    check(lost(&e, WIRE_LOSS_MOVES) == 1, "%llu collections lost", (unsigned long long)lost(&e, WIRE_LOSS_MOVES));
    check(e.collections == n_collections && n_collections == 8, "%u of %u collections", e.collections, n_collections);
    check(pipe_state.walks == walks + (fault == RESTORE_FAILS ? 0 : 3), "%u walks behind it", pipe_state.walks - walks);
    for (uint32_t g = 0; g < WIRE_GENERATION_COUNT; g++)
        check(e.dead[g][0] <= dead[g][0], "generation %u: %llu objects are dead, %llu died", g, (unsigned long long)e.dead[g][0], (unsigned long long)dead[g][0]);
}

static void event_never_comes(void)
{
    lose_a_collection(NO_START);
}

static void event_comes_elsewhere(void)
{
    lose_a_collection(START_ELSEWHERE);
}

/* The runtime refuses to set the flag; the next event of the same collection tries again. */
static void restoring_fails(void)
{
    start_with_events(true);
    pipe_state.fault = RESTORE_FAILS_ONCE;
    live_and_die(6);
    pipe_state.fault = NO_FAULT;
    end_pipe(NULL);
    fake_callback(CALLBACK_SHUTDOWN, 0);
    struct ends e = read_ends();
    judge_ends(&e);
    check(pipe_state.walks == 1, "%u walks", pipe_state.walks);
}

/* EventPipe may not end between a collection's start and its event. */
static void *end_and_look(void *flag)
{
    end_pipe(NULL);
    *(bool *)flag = (__atomic_load_n(&fake.event_low, __ATOMIC_ACQUIRE) & MONITOR_GC) != 0;
    return NULL;
}

static void events_end_in_a_collection(void)
{
    pthread_t thread;
    bool flag = false;
    setenv("CLRPROF_FINAL_GC", "0", 1);
    start_with_events(true);
    begin_collection(0, false);
    check((fake.event_low & MONITOR_GC) == 0, "the flag is not cleared");
    pthread_create(&thread, NULL, end_and_look, &flag);
    deliver((void *)1);
    pthread_join(thread, NULL);
    check(flag, "EventPipe ended while the flag was cleared");
    end_collection();
}

/* .NET 11 is asked not to walk; should it not know how, events do the same from the next collection on. */
static void runtime_skips(void)
{
    if (SANITIZED)
        return; /* from .NET 10 on the agent searches all of the runtime's constants, which here is a test's program */
    fake.major = 11;
    start_with_events(false);
    live_and_die(5);
    fake_callback(CALLBACK_SHUTDOWN, 0);
    struct ends e = read_ends();
    judge_ends(&e);
    check((fake.event_high & HIGH_MONITOR_GC_SKIP_ALLOCATED_BY_CLASS) != 0 && pipe_state.walks == 0 && pipe_state.sessions == 0,
          "high mask %x, %u walks, %u sessions", fake.event_high, pipe_state.walks, pipe_state.sessions);
}

static void runtime_does_not_skip(void)
{
    if (SANITIZED)
        return;
    fake.major = 11;
    start_with_events(false);
    AGENT(CALLBACK_OBJECTS_ALLOCATED_BY_CLASS, uint32_t, uintptr_t *, uint32_t *)(fake_callbacks(), 0, NULL, NULL);
    collect(0, 3, false);
    pthread_mutex_lock(&pipe_lock);
    while (pipe_state.sessions == 0)
        pthread_cond_wait(&pipe_changed, &pipe_lock);
    pthread_mutex_unlock(&pipe_lock);
    fake.major = 9; /* the runtime that there is */
    live_and_die(5);
    end_pipe(NULL);
    struct ends e = read_ends();
    judge_ends(&e);
    check(pipe_state.walks == 0, "%u walks", pipe_state.walks);
}

/* ── the beginning of the end ───────────────────────────────────────────────────────────────────────────────── */

static struct fake_module hosting = {"/srv/app/Microsoft.Extensions.Hosting.dll", "Microsoft.Extensions.Hosting.dll", MODULE_FLAG_DISK, NULL, false};
static struct fake_class host;
static struct fake_method stop;
static struct fake_body stop_body;

static void make_host(void)
{
    struct fake_stack s = {2, 0, {&bodies[0], &bodies[2]}, 0};
    struct birth b = {&host, used[0]};
    heap[n_heap++] = (struct heap_object){b.at, 24, 0, false, false};
    used[0] += 24;
    fake_run(&s, born_here, &b);
}

/* The program calls a function for the first time. */
static void prepare(struct fake_method *m)
{
    AGENT(CALLBACK_JIT_STARTED, uintptr_t, int32_t)(fake_callbacks(), (uintptr_t)m, 1);
}

static struct fake_module core = {"/usr/dotnet/System.Private.CoreLib.dll", "System.Private.CoreLib.dll", MODULE_FLAG_DISK, NULL, false};
static struct fake_class context;
static struct fake_method on_exit_handlers;
static struct fake_body exit_body;

static void live_with_host(uint32_t hosts)
{
    fake_class_init(&context, &core, "System.AppContext", 24, 0);
    on_exit_handlers = (struct fake_method){.name = "OnProcessExit", .module = &core, .type = &context};
    fake_emit(&on_exit_handlers, &exit_body, FRAMED, -1);
    fake_find(&on_exit_handlers);
    fake_class_init(&host, &hosting, "Microsoft.Extensions.Hosting.Internal.ApplicationLifetime", 24, 0);
    stop = (struct fake_method){.name = "StopApplication", .module = &hosting, .type = &host};
    fake_emit(&stop, &stop_body, FRAMED, -1);
    fake_find(&stop);
    start_lifetime();
    AGENT(CALLBACK_MODULE_LOAD_FINISHED, uintptr_t, hresult)(fake_callbacks(), (uintptr_t)&app, HR_OK);
    AGENT(CALLBACK_MODULE_LOAD_FINISHED, uintptr_t, hresult)(fake_callbacks(), (uintptr_t)&hosting, HR_OK);
    AGENT(CALLBACK_MODULE_LOAD_FINISHED, uintptr_t, hresult)(fake_callbacks(), (uintptr_t)&core, HR_OK);
    for (uint32_t i = 0; i < hosts; i++)
        make_host();
    live_and_die(5);
    allocate_objects(500, 77);
    prepare(&methods[2]); /* which is no sign */
}

/* A sign comes; everything that is alive then is held. Returns how many objects that is. */
static uint64_t begin_to_end(struct fake_method *sign)
{
    uint64_t n = 0;
    prepare(sign);
    for (uint32_t i = 0; i < n_heap; i++) {
        heap[i].held = heap[i].generation != GONE;
        n += heap[i].held;
    }
    return n;
}

/* The last counters of what sites freed since a beginning. */
static void sum_freed(const struct ends *e, uint32_t beginning, uint64_t by_site[WIRE_GENERATION_COUNT][2])
{
    static uint64_t counters[4096][WIRE_GENERATION_COUNT][2];
    const struct wire_region_entry *log = &e->header->regions[WIRE_REGION_LOG];
    const uint8_t *p = (const uint8_t *)e->header + log->offset, *end = p + log->used;
    for (const struct wire_record_header *r = (const void *)p; p < end; p += r->size) {
        r = (const void *)p;
        const uint32_t *words = (const uint32_t *)(const void *)(p + sizeof *r), *at = words + 2;
        if (r->kind != WIRE_RECORD_FREED || words[0] != beginning)
            continue;
        for (uint32_t i = 0; i < words[1]; i++, at += 6) {
            check(at[0] < 4096 && at[1] < WIRE_GENERATION_COUNT, "site %u, generation %u", at[0], at[1]);
            memcpy(counters[at[0]][at[1]], at + 2, 16);
        }
    }
    for (uint32_t s = 0; s < 4096; s++)
        for (uint32_t g = 0; g < WIRE_GENERATION_COUNT; g++)
            for (uint32_t i = 0; i < 2; i++)
                by_site[g][i] += counters[s][g][i];
}

/* What records of collections say was freed, and those of what is alive of a beginning. */
static void sum_records(const struct ends *e, uint64_t freed_by_gc[WIRE_GENERATION_COUNT][2], uint32_t beginning, uint64_t *alive)
{
    const struct wire_region_entry *log = &e->header->regions[WIRE_REGION_LOG];
    const uint8_t *p = (const uint8_t *)e->header + log->offset, *end = p + log->used;
    *alive = 0;
    for (const struct wire_record_header *r = (const void *)p; p < end; p += r->size) {
        r = (const void *)p;
        const uint32_t *words = (const uint32_t *)(const void *)(p + sizeof *r);
        const uint64_t *populations = (const uint64_t *)(const void *)(words + 6) + 4; /* before, dead, promoted, after, freed, extent */
        for (uint32_t g = 0; r->kind == WIRE_RECORD_GC && g < WIRE_GENERATION_COUNT; g++)
            for (uint32_t i = 0; i < 2; i++)
                freed_by_gc[g][i] += populations[11 * g + 8 + i];
        if (r->kind == WIRE_RECORD_ALIVE && words[3] == beginning)
            *alive += *(const uint64_t *)(const void *)(words + 4);
    }
}

/* What is alive at a sign is what is alive at the end. What dies of it later counts as freed, and the rest as dead. */
static void end_by(struct fake_method *method, uint32_t sign)
{
    uint32_t before = n_collections;
    uint64_t held = begin_to_end(method), alive, by_gc[WIRE_GENERATION_COUNT][2] = {{0}}, by_site[WIRE_GENERATION_COUNT][2] = {{0}};
    struct ends e = read_ends();
    check(e.header->ending_sign == sign && e.header->ending_gc == before + 1 && n_collections == before + 1, "sign %u, collection %u of %u", e.header->ending_sign,
          e.header->ending_gc, n_collections);
    judge_ends(&e);
    prepare(method); /* again: nothing more */
    if (sign == WIRE_ENDING_EXIT)
        make_host(); /* by a handler: it ends all the same */
    live_and_die(10);
    fake_callback(CALLBACK_SHUTDOWN, 0);
    e = read_ends();
    check(e.collections == n_collections && n_collections == before + 12 && e.header->alive_known == 1, "%u of %u collections", e.collections, n_collections);
    sum_records(&e, by_gc, e.header->ending_gc, &alive);
    sum_freed(&e, e.header->ending_gc, by_site);
    check(alive == held && held != 0, "%llu objects were alive, want %llu", (unsigned long long)alive, (unsigned long long)held);
    for (uint32_t g = 0; g < WIRE_GENERATION_COUNT; g++) {
        check(by_gc[g][0] == freed[g][0] && by_gc[g][1] == freed[g][1], "generation %u: %llu objects and %llu bytes are freed, want %llu and %llu", g, (unsigned long long)by_gc[g][0],
              (unsigned long long)by_gc[g][1], (unsigned long long)freed[g][0], (unsigned long long)freed[g][1]);
        check(by_site[g][0] == freed[g][0] && by_site[g][1] == freed[g][1], "generation %u: sites freed %llu objects and %llu bytes", g, (unsigned long long)by_site[g][0],
              (unsigned long long)by_site[g][1]);
        dead[g][0] -= freed[g][0];
        dead[g][1] -= freed[g][1];
    }
    check(freed[2][0] != 0 && freed[WIRE_GENERATION_LARGE][0] != 0, "nothing was freed");
    judge_ends(&e);
}

static void ends_by_host(void)
{
    live_with_host(1);
    end_by(&stop, WIRE_ENDING_HOST);
}

static void ends_by_exit(void)
{
    live_with_host(2); /* neither host stops */
    end_by(&on_exit_handlers, WIRE_ENDING_EXIT);
}

static uint32_t count_threads(void)
{
    uint32_t n = 0;
    DIR *tasks = opendir("/proc/self/task");
    while (readdir(tasks) != NULL)
        n++;
    closedir(tasks);
    return n;
}

/* EventPipe has ended when a program without a session exits: the collection there does not begin one. */
static void exits_without_session(void)
{
    fake.has_info12 = true;
    fake_answer(INFO_EVENT_PIPE_START_SESSION, (void *)pipe_start);
    fake_answer(INFO_EVENT_PIPE_CREATE_PROVIDER2, (void *)pipe_create);
    fake_answer(INFO_EVENT_PIPE_GET_PROVIDER_INFO, (void *)pipe_info);
    live_with_host(1);
    begin_to_end(&on_exit_handlers);
    check(read_ends().header->ending_sign == WIRE_ENDING_EXIT, "no sign");
    uint32_t threads = count_threads();
    fake_callback(CALLBACK_EVENT_PROVIDER_CREATED, (uintptr_t)runtime_provider);
    fake_callback(CALLBACK_EVENT_PROVIDER_CREATED, (uintptr_t)other_provider);
    bool runs = count_threads() > threads; /* else it has ended: there is a session */
    check(!runs && pipe_state.sessions == 0, "a session is begun");
    fake_callback(CALLBACK_SHUTDOWN, 0);
}

/* Another host is made: the process did not end, and what was freed is dead after all. */
static void ends_and_goes_on(void)
{
    live_with_host(1);
    begin_to_end(&stop);
    live_and_die(3);
    make_host();
    live_and_die(1);
    struct ends e = read_ends();
    check(e.header->ending_gc == 0, "the program still ends");
    judge_ends(&e);
    live_and_die(5);
    fake_callback(CALLBACK_SHUTDOWN, 0);
    e = read_ends();
    judge_ends(&e);
    check(e.collections == n_collections && e.header->alive_known == 1 && e.header->ending_gc == 0, "%u of %u collections", e.collections, n_collections);
}

static void end_unseen(uint32_t hosts)
{
    live_with_host(hosts);
    uint32_t before = n_collections;
    begin_to_end(&stop);
    live_and_die(3);
    fake_callback(CALLBACK_SHUTDOWN, 0);
    struct ends e = read_ends();
    judge_ends(&e);
    check(e.header->ending_gc == 0 && n_collections == before + 3 + e.header->alive_known, "%u collections, the end began in %u", n_collections, e.header->ending_gc);
}

/* Of two hosts one stops: no sign. */
static void ends_without_sign(void)
{
    end_unseen(2);
}

/* No collection at the end is wanted, so there is none at its beginning. */
static void ends_without_collection(void)
{
    setenv("CLRPROF_FINAL_GC", "0", 1);
    end_unseen(1);
}

static int ends_without_memory_step(uint64_t n)
{
    live_with_host(1);
    fake.os_fail_at[OS_MMAP] = fake.os_calls[OS_MMAP] + n;
    begin_to_end(&stop);
    bool beyond = fake.os_calls[OS_MMAP] < fake.os_fail_at[OS_MMAP];
    live_and_die(3);
    fake_callback(CALLBACK_SHUTDOWN, 0);
    struct ends e = read_ends();
    for (uint32_t g = 0; g < WIRE_GENERATION_COUNT && e.header->ending_gc != 0; g++) {
        dead[g][0] -= freed[g][0];
        dead[g][1] -= freed[g][1];
    }
    if (lost(&e, WIRE_LOSS_MOVES) + lost(&e, WIRE_LOSS_LIFETIME_FULL) == 0)
        judge_ends(&e);
    check(e.collections == n_collections, "%u of %u collections", e.collections, n_collections);
    return beyond ? STEP_BEYOND : STEP_PASSED;
}

/* One part of the memory that the beginning needs is not there. */
static void ends_without_memory(void)
{
    sweep(ends_without_memory_step, 1);
}

const struct scenario lifetime_scenarios[] = {
    {"lives", lives},
    {"last_of_another_thread", last_of_another_thread},
    {"last_begun_before", last_begun_before},
    {"lives_in_odd_order", lives_in_odd_order},
    {"lives_untracked", lives_untracked},
    {"lives_damaged", lives_damaged},
    {"lives_without_memory", lives_without_memory},
    {"lives_within_limit", lives_within_limit},
    {"lives_in_a_storm", lives_in_a_storm},
    {"roots_of_every_collection", roots_of_every_collection},
    {"lives_killed", lives_killed},
    {"gaps_are_not_read", gaps_are_not_read},
    {"large_cost_as_small", large_cost_as_small},
    {"events_shorten", events_shorten},
    {"left_out_is_no_loss", left_out_is_no_loss},
    {"events_of_collector_later", events_of_collector_later},
    {"events_refused", events_refused},
    {"events_end_unseen", events_end_unseen},
    {"event_never_comes", event_never_comes},
    {"event_comes_elsewhere", event_comes_elsewhere},
    {"restoring_fails", restoring_fails},
    {"events_end_in_a_collection", events_end_in_a_collection},
    {"runtime_skips", runtime_skips},
    {"runtime_does_not_skip", runtime_does_not_skip},
    {"ends_by_host", ends_by_host},
    {"ends_by_exit", ends_by_exit},
    {"exits_without_session", exits_without_session},
    {"ends_and_goes_on", ends_and_goes_on},
    {"ends_without_sign", ends_without_sign},
    {"ends_without_collection", ends_without_collection},
    {"ends_without_memory", ends_without_memory},
    {"snapshot_refused", snapshot_refused},
    {"snapshot_without_room", snapshot_without_room},
    {"snapshot_beyond_limit", snapshot_beyond_limit},
    {NULL, NULL},
};
