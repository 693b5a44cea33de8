/* Replays recordings of garbage-collected heaps to the agent's real code, which leaves its counters in an arena.
 *
 *   replay DIRECTORY RECORDING…
 *
 * The format is that of internal/testkit/heap/encoding.go. Each recording is replayed in a process of its own, with its arena
 * in DIRECTORY/NAME, NAME being that of the recording. Linked with all of agent/src; the runtime is a table with three
 * functions, and the clock shows the time of the recording (build with -Dclock_gettime=replay_clock_gettime).
 *
 * With REPLAY_THREADS=N the ranges of each collection come from N threads at once, as with server GC. */
#define _GNU_SOURCE
#include "../src/core/arena.h"
#include "../src/heap/shadow_heap.h"
#include "../src/heap/object_tracking.h"
#include "../src/threads/threads.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MEMORY (UINT64_C(64) << 30) /* of the agent: all of this is address space, little is touched */
#define THREADS 8u                  /* that can be about to say a site; as many more only allocate */
#define MAX_WORKERS 16u

enum { ALLOC = 1, FROZEN, PENDING, SETTLE, GC_START, MOVED, SURVIVED, GC_END, END };

struct batch {
    bool survived;
    uint32_t n;
    uintptr_t *from, *to;
    size_t *lengths;
};

static const uint8_t *in, *in_end;
static const char *recording;
static uint64_t last_alloc, last_from, last_to, last_start, now_ns;
static struct clr_generation_range *bounds;
static uint32_t n_bounds;
static struct thread *threads[2 * THREADS];
static struct batch *batches;
static uint32_t n_batches, batches_capacity, n_workers;
static void *callbacks[CALLBACK_SLOTS];

static _Noreturn void die(const char *what)
{
    fprintf(stderr, "replay: %s: %s\n", recording, what);
    exit(2);
}

static void *must(void *memory)
{
    if (memory == NULL)
        die("no memory");
    return memory;
}

int replay_clock_gettime(clockid_t clock, struct timespec *out);
int replay_clock_gettime(clockid_t clock, struct timespec *out)
{
    (void)clock;
    *out = (struct timespec){(time_t)(now_ns / 1000000000u), (long)(now_ns % 1000000000u)};
    return 0;
}

/* ── the runtime ────────────────────────────────────────────────────────────────────────────────────────────── */

static hresult unexpected(void)
{
    die("the agent calls something that the replayed runtime does not have");
}

static hresult get_current_thread_id(void *self, uintptr_t *id)
{
    (void)self, (void)id;
    return HR_FAIL;
}

static hresult get_generation_bounds(void *self, uint32_t capacity, uint32_t *n, struct clr_generation_range *out)
{
    (void)self;
    *n = n_bounds;
    if (n_bounds != 0)
        memcpy(out, bounds, (capacity < n_bounds ? capacity : n_bounds) * sizeof *bounds);
    return HR_OK;
}

static hresult force_gc(void *self);

static void *info_table[128];
static void **info = info_table;

static void fill_info(void)
{
    for (size_t i = 0; i < sizeof info_table / sizeof *info_table; i++)
        info_table[i] = (void *)unexpected;
    info_table[INFO_GET_CURRENT_THREAD_ID] = (void *)get_current_thread_id;
    info_table[INFO_GET_GENERATION_BOUNDS] = (void *)get_generation_bounds;
    info_table[INFO_FORCE_GC] = (void *)force_gc;
}

/* ── the recording ──────────────────────────────────────────────────────────────────────────────────────────── */

static uint8_t byte(void)
{
    if (in == in_end)
        die("it stops in the middle");
    return *in++;
}

static uint64_t number(void)
{
    uint64_t n = 0;
    for (uint32_t shift = 0; shift < 64; shift += 7) {
        uint8_t b = byte();
        n |= (uint64_t)(b & 0x7F) << shift;
        if (b < 0x80)
            return n;
    }
    die("a number of more than 64 bits");
}

static uint64_t address(uint64_t *last)
{
    uint64_t n = number();
    return *last += n >> 1 ^ (0 - (n & 1));
}

static void read_bounds(void)
{
    n_bounds = (uint32_t)number();
    free(bounds);
    bounds = must(calloc(n_bounds + 1u, sizeof *bounds));
    for (uint32_t i = 0; i < n_bounds; i++) {
        bounds[i].start = address(&last_start);
        bounds[i].length = number();
        bounds[i].reserved = number();
        bounds[i].generation = (uint32_t)number();
    }
}

static void read_batch(bool survived)
{
    if (n_batches == batches_capacity) {
        batches_capacity = batches_capacity == 0 ? 64 : 2 * batches_capacity;
        batches = must(realloc(batches, batches_capacity * sizeof *batches));
    }
    struct batch *b = &batches[n_batches++];
    b->survived = survived;
    b->n = (uint32_t)number();
    b->from = must(malloc((b->n + 1u) * sizeof *b->from));
    b->to = must(malloc((b->n + 1u) * sizeof *b->to));
    b->lengths = must(malloc((b->n + 1u) * sizeof *b->lengths));
    for (uint32_t i = 0; i < b->n; i++) {
        b->from[i] = address(&last_from);
        b->to[i] = survived ? 0 : address(&last_to);
        b->lengths[i] = number();
    }
}

/* ── allocations ────────────────────────────────────────────────────────────────────────────────────────────── */

/* The site with this number; those before it are made too. A site has objects of one kind: which, its first one says. */
static struct wire_site *site_of(uint64_t n, bool frozen)
{
    arena_lock();
    while (arena.header->regions[WIRE_REGION_SITES].used < n * sizeof(struct wire_site)) {
        struct wire_site *s = arena_reserve(WIRE_REGION_SITES, sizeof *s);
        if (s == NULL || arena_reserve(WIRE_REGION_DEATHS, sizeof(struct wire_site_deaths)) == NULL)
            die("no room for sites");
        arena_publish(WIRE_REGION_SITES, sizeof *s);
        arena_publish(WIRE_REGION_DEATHS, sizeof(struct wire_site_deaths));
    }
    arena_unlock();
    struct wire_site *s = &arena.sites[n - 1];
    s->type = frozen ? 1 | WIRE_SITE_FROZEN : 1;
    return s;
}

static void count(struct wire_site *s, uint64_t bytes)
{
    s->objects++;
    s->bytes += bytes;
}

static uint64_t pending_bytes[THREADS];

/* Does what object_allocated_lifetime does once it knows the site: by its fast way if the thread's last site is the
 * same, though not always. */
static void play_alloc(uint8_t kind)
{
    static uint64_t n;
    uintptr_t object = address(&last_alloc);
    uint64_t size = number(), who = number();
    if (kind == PENDING) {
        if (who == 0 || who >= THREADS)
            die("a thread that there is not");
        lifetime_note_pending(threads[who], object, size);
        pending_bytes[who] = size;
        return;
    }
    struct wire_site *s = site_of(who, kind == FROZEN);
    struct thread *t = threads[THREADS + who % THREADS];
    struct recent *r = &t->recent[0]; /* the one that the thread repeats */
    if (kind == FROZEN || t->remembered == 0 || r->site != s || ++n % 3 == 0) {
        t->remembered = 0;
        lifetime_note_pending(t, object, size);
        lifetime_attribute(t, s, size);
        count(s, size);
        if (kind == FROZEN)
            return;
        t->remembered = 1;
        r->site = s;
        r->met = true;
        return;
    }
    r->met = true;
    count(s, size);
    struct shadow *place = heap_place(object);
    if (place == NULL)
        die("no room for a shadow");
    *place = (struct shadow){(uint32_t)who, (uint32_t)(size >> 3), gc_number};
    if (size >= LARGE_BYTES)
        lifetime_note_large(object);
}

static void play_attributed(void)
{
    uint64_t thread = number(), n = number();
    if (thread == 0 || thread >= THREADS)
        die("a thread that there is not");
    struct wire_site *s = site_of(n, false);
    lifetime_attribute(threads[thread], s, pending_bytes[thread]);
    count(s, pending_bytes[thread]);
}

/* ── collections ────────────────────────────────────────────────────────────────────────────────────────────── */

static void report_batch(const struct batch *b)
{
    if (b->survived)
        ((hresult(*)(void *, uint32_t, const uintptr_t *, const size_t *))callbacks[CALLBACK_SURVIVING_REFERENCES2])(NULL, b->n, b->from,
                                                                                                                    b->lengths);
    else
        ((hresult(*)(void *, uint32_t, const uintptr_t *, const uintptr_t *, const size_t *))callbacks[CALLBACK_MOVED_REFERENCES2])(
            NULL, b->n, b->from, b->to, b->lengths);
}

static void *report_some(void *first)
{
    for (uint32_t i = *(const uint32_t *)first; i < n_batches; i += n_workers)
        report_batch(&batches[i]);
    return NULL;
}

static void report_batches(void)
{
    pthread_t workers[MAX_WORKERS];
    uint32_t numbers[MAX_WORKERS];
    for (uint32_t i = 1; i < n_workers; i++) {
        numbers[i] = i;
        if (pthread_create(&workers[i], NULL, report_some, &numbers[i]) != 0)
            die("no thread");
    }
    numbers[0] = 0;
    report_some(&numbers[0]);
    for (uint32_t i = 1; i < n_workers; i++)
        pthread_join(workers[i], NULL);
    for (uint32_t i = 0; i < n_batches; i++) {
        free(batches[i].from);
        free(batches[i].to);
        free(batches[i].lengths);
    }
    n_batches = 0;
}

static uint64_t gc_collected, gc_flags;

#define INDUCED 1u
#define FINAL 2u
#define ASKED 4u

static void read_start(void)
{
    gc_collected = number();
    gc_flags = number();
    read_bounds();
}

/* From behind GC_START, whose fields are read, to GC_END. */
static void play_collection(void)
{
    int32_t collected[WIRE_GENERATION_COUNT];
    for (uint32_t i = 0; i < WIRE_GENERATION_COUNT; i++)
        collected[i] = gc_collected >> i & 1;
    ((hresult(*)(void *, int32_t, const int32_t *, uint32_t))callbacks[CALLBACK_GC_STARTED])(NULL, WIRE_GENERATION_COUNT, collected, gc_flags & INDUCED);
    for (;;) {
        uint8_t kind = byte();
        if (kind != MOVED && kind != SURVIVED && kind != GC_END)
            die("not of a collection");
        if (kind == GC_END)
            break;
        read_batch(kind == SURVIVED);
    }
    report_batches();
    now_ns = number();
    read_bounds();
    ((hresult(*)(void *))callbacks[CALLBACK_GC_FINISHED])(NULL);
}

/* One event that is no collection. */
static void play_mutator(uint8_t kind)
{
    if (kind == SETTLE)
        play_attributed();
    else if (kind == ALLOC || kind == FROZEN || kind == PENDING)
        play_alloc(kind);
    else
        die("an event that there is not");
}

/* The agent asks for the last collection. Until it has come others may, and the program runs on. */
static hresult force_gc(void *self)
{
    (void)self;
    while ((gc_flags & FINAL) == 0) {
        play_collection();
        uint8_t kind;
        while ((kind = byte()) != GC_START)
            play_mutator(kind);
        read_start();
        if ((gc_flags & ASKED) == 0)
            die("the agent waits for its last collection in vain");
    }
    play_collection();
    return HR_OK;
}

static void play(void)
{
    for (uint8_t kind; (kind = byte()) != END;) {
        if (kind != GC_START) {
            play_mutator(kind);
            continue;
        }
        read_start();
        if ((gc_flags & ASKED) != 0)
            lifetime_end();
        else
            play_collection();
    }
}

static void read_recording(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (f == NULL || fseek(f, 0, SEEK_END) != 0)
        die(strerror(errno));
    size_t n = (size_t)ftell(f);
    uint8_t *bytes = must(malloc(n + 1));
    rewind(f);
    if (fread(bytes, 1, n, f) != n || n < 8 || memcmp(bytes, "clrheap1", 8) != 0)
        die("not a recording");
    fclose(f);
    in = bytes + 8;
    in_end = bytes + n;
}

static void replay(const char *directory, const char *path)
{
    char name[4096];
    recording = path;
    read_recording(path);
    snprintf(name, sizeof name, "%s/%s", directory, strrchr(path, '/') == NULL ? path : strrchr(path, '/') + 1);
    if (mkdir(name, 0700) != 0 || !arena_create(name, WIRE_REGION_COUNT, MEMORY, 64))
        die("no arena");
    fill_info();
    agent_info = &info;
    arena.header->data = WIRE_DATA_MEMORY | WIRE_DATA_LIFETIME;
    if (!threads_init() || !lifetime_init(&info, &(struct lifetime_options){.roots = getenv("CLRPROF_ROOTS"), .final_gc = true}))
        die("the agent does not start");
    lifetime_install(callbacks);
    for (uint32_t i = 0; i < 2 * THREADS; i++) {
        current_thread = NULL;
        threads[i] = must(thread_attach());
        threads[i]->id = i + 1; /* they are one thread to the operating system, and would share its number */
    }
    play();
    arena.header->state = WIRE_STATE_SHUT_DOWN;
}

int main(int n_arguments, char **arguments)
{
    const char *workers = getenv("REPLAY_THREADS");
    n_workers = workers == NULL ? 1 : (uint32_t)atoi(workers);
    if (n_arguments < 3 || n_workers == 0 || n_workers > MAX_WORKERS) {
        fprintf(stderr, "usage: %s DIRECTORY RECORDING...\n", arguments[0]);
        return 2;
    }
    for (int i = 2; i < n_arguments; i++) {
        int status = 0;
        pid_t child = fork();
        if (child == 0) {
            replay(arguments[1], arguments[i]);
            exit(0);
        }
        if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
            fprintf(stderr, "replay: %s: the agent ended with status %x\n", arguments[i], (unsigned)status);
            return 1;
        }
    }
    return 0;
}
