/* What became of the objects: what is noted when they are allocated, and what the runtime says of each garbage collection. What
 * this did to them is found in gc_walk.c.
 *
 * At each garbage collection the runtime says which generations it collects (GarbageCollectionStarted), which ranges of
 * objects survive and where they go (MovedReferences2, SurvivingReferences2; before anything is moved, and with server
 * GC from several threads), and when it is done (GarbageCollectionFinished). An object of a collected generation that is
 * in none of the ranges is dead; one of another generation is alive and has not moved. The generation of an object is
 * that of its address by GetGenerationBounds, at the start for what it was and at the end for what it became; never
 * the number of GCs it survived, since pinned objects can stay or even go back.
 *
 * Objects on the frozen heap are in no generation, are never reported and never die; they have no shadow. */
#define _GNU_SOURCE
#include "heap/allocations.h"
#include "core/arena.h"
#include "heap/allocation_samples.h"
#include "heap/site_growth.h"
#include "heap/gc.h"
#include "control/recording_state.h"
#include "heap/ending.h"
#include "heap/eventpipe_gc.h"
#include "heap/shadow_heap.h"
#include "heap/induced_gcs.h"
#include "heap/reachable.h"
#include "stacks/recent_stacks.h"
#include "heap/heap_snapshot.h"
#include "heap/static_fields.h"
#include "heap/survivor_roots.h"
#include "threads/threads.h"
#include "control/collector_watch.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#define LONGEST_WAIT_NS UINT64_C(5000000000) /* for the collection at the beginning of the end; a heap of 10 GB takes some seconds */

static void *info;
bool lifetime_on;
static bool left_out_lost; /* an object that is not the program's is not followed: no number has it, and none may lack it */
static bool final_wanted, final_now, final_early, is_last, looked_at;
static uint32_t beginning; /* WIRE_ENDING_… of a collection that is asked for because the program begins to end, 0: none is */
static bool collecting; /* between GarbageCollectionStarted and Finished: a runtime that loses one of them does no harm */
static uint32_t lock_word; /* ranges come from several threads at once */
static uint32_t first, first_ended; /* collections that are recorded, 0: all; of those, how many have ended */
static struct list large = {.size = sizeof(uintptr_t)}; /* objects of LARGE_BYTES and more that were born since the last GC */
static struct population known;                         /* of those born since: those in large, by place */
static struct population pending;                       /* what had no site at the end of the last GC */
uint32_t gc_number;
bool gc_lost, gc_marks_survivors, gc_goes_on;
struct collection gc;
struct list gc_ranges = {.size = sizeof(struct range)};
struct list gc_before = {.size = sizeof(struct bound)}, gc_after = {.size = sizeof(struct bound)};
struct population gc_live[WIRE_GENERATION_COUNT];

bool lifetime_init(void *profiler_info, const struct lifetime_options *o)
{
    info = profiler_info;
    final_wanted = o->final_gc;
    first = (uint32_t)o->first;
    first_ended = 0;
    survival_init(o->roots);
    snapshot_init(info, o->directory, o->snapshot);
    statics_init(info);
    reachable_init(info);
    lifetime_on = heap_init() && list_reserve(&gc_ranges, 1) && walk_init() && list_reserve(&gc_before, 1) && list_reserve(&gc_after, 1) &&
                  generations_init(info);
    return lifetime_on;
}

/* ── allocations ────────────────────────────────────────────────────────────────────────────────────────────── */

void lifetime_note_large(uintptr_t object)
{
    int saved_errno = errno; /* the warm path does not keep it */
    word_lock(&lock_word);
    if (lifetime_on && list_reserve(&large, large.n + 1))
        ((uintptr_t *)large.items)[large.n++] = object;
    word_unlock(&lock_word);
    errno = saved_errno;
}

void lifetime_note_pending(struct thread *t, uintptr_t object, uint64_t bytes)
{
    struct shadow *s = lifetime_on && bytes >> 3 <= UINT32_MAX ? heap_place(object) : NULL;
    t->pending = 0;
    if (s == NULL)
        return;
    *s = (struct shadow){SHADOW_PENDING | t->id, (uint32_t)(bytes >> 3), gc_number};
    t->pending = object;
    if (bytes >= LARGE_BYTES)
        lifetime_note_large(object);
}

void lifetime_note_left_out(uintptr_t object, uint64_t bytes)
{
    struct shadow *s = lifetime_on && bytes >> 3 <= UINT32_MAX ? heap_place(object) : NULL;
    if (s != NULL)
        *s = (struct shadow){SHADOW_LEFT_OUT, (uint32_t)(bytes >> 3), gc_number};
    else if (lifetime_on)
        lifetime_lose(SHADOW_LEFT_OUT, bytes);
}

void lifetime_lose(uint32_t site, uint64_t bytes)
{
    if (site == SHADOW_LEFT_OUT)
        __atomic_store_n(&left_out_lost, true, __ATOMIC_RELAXED);
    else
        loss(WIRE_LOSS_LIFETIME_FULL, shadow_objects(site), shadow_objects(site) * bytes);
}

void lifetime_attribute(struct thread *t, const struct wire_site *site, uint64_t bytes)
{
    if (!lifetime_on)
        return;
    struct shadow *s = t->pending == 0 ? NULL : heap_find(t->pending);
    t->pending = 0;
    if (s == NULL) {
        if (site != NULL && (site->type & WIRE_SITE_FROZEN) == 0)
            loss(WIRE_LOSS_LIFETIME_FULL, 1, bytes);
    } else if (site == NULL || (site->type & WIRE_SITE_FROZEN) != 0) {
        *s = (struct shadow){0, 0, 0}; /* all of it: a walk stops at any word that is not 0 */
    } else {
        s->site = (uint32_t)(site - arena.sites) + 1;
    }
    if (site != NULL)
        changes_note((uint32_t)(site - arena.sites) + 1, WIRE_CHANGE_ALLOCATED);
}

/* ── the runtime's callbacks ────────────────────────────────────────────────────────────────────────────────── */

/* Most objects are born in generation 0, which each GC looks through. These are not. */
static void count_large(void)
{
    const struct bound *last = NULL;
    known = (struct population){0, 0};
    for (uint64_t i = 0; i < large.n; i++) {
        uintptr_t at = ((const uintptr_t *)large.items)[i];
        uint32_t generation = generation_of(&gc_before, at, &last);
        const struct shadow *s = heap_find(at);
        if (s == NULL || generation < WIRE_GENERATION_LARGE || generation >= WIRE_GENERATION_COUNT)
            continue;
        population_add(&gc_live[generation], 1, (uint64_t)s->size << 3);
        population_add(&known, 1, (uint64_t)s->size << 3);
        if (generation == WIRE_GENERATION_LARGE)
            walk_count_other(s);
    }
    large.n = 0;
}

/* Is this the collection that says what is alive when the program begins to end? One that was taken for that may not have been. */
static bool begin_end(void)
{
    uint32_t was = arena.header->ending_gc;
    bool asked = lifetime_on && !is_last && (gc.collected & 4) != 0 && __atomic_load_n(&beginning, __ATOMIC_ACQUIRE) != 0;
    if (was != 0 && lifetime_on && asked)
        ending_take_back();
    else if (was != 0 && lifetime_on)
        ending_check(gc.start_ns);
    return asked;
}

/* Does this collection say what is alive, and so collect and look at everything? */
static bool is_whole(void)
{
    return is_last || gc_goes_on;
}

static hresult gc_started(void *self, int32_t n, const int32_t *collected, uint32_t reason)
{
    (void)self;
    watch_look();
    if (arena.header->alive_known != 0 || !arena_is_ours())
        return HR_OK; /* what died since then was reported as alive */
    samples_gc_begin();
    uint64_t suspend = gc.suspend_ns;
    memset(&gc, 0, sizeof gc);
    gc.suspend_ns = suspend;
    gc.start_ns = monotonic_ns();
    gc.number = collecting ? gc_number : __atomic_add_fetch(&gc_number, 1, __ATOMIC_RELEASE);
    collecting = true;
    gc.induced = reason == 1;
    for (int32_t i = 0; i < n && i < (int32_t)WIRE_GENERATION_COUNT; i++)
        gc.collected |= collected[i] != 0 ? 1u << i : 0;
    gc_ranges.n = 0;
    is_last = lifetime_on && __atomic_load_n(&final_now, __ATOMIC_ACQUIRE) && (gc.collected & 4) != 0;
    gc_goes_on = begin_end();
    bool whole = is_whole(), snapshot = lifetime_on && snapshot_begin(gc.number, gc.collected, whole);
    looked_at = survival_begin(gc.number, gc.collected, gc.induced != 0 || whole, snapshot);
    if (lifetime_on && !generations_ask(&gc_before))
        gc_lost = true;
    reachable_begin(whole, gc_goes_on || final_early);
    count_large();
    gc_marks_survivors = false; /* if all is collected, all that is alive has survived */
    for (uint64_t i = 0; i < gc_before.n && looked_at; i++)
        gc_marks_survivors = gc_marks_survivors || !generation_is_collected(&((const struct bound *)gc_before.items)[i]);
    events_gc_started();
    return HR_OK;
}

static void add_range(uintptr_t from, uintptr_t to, uint64_t length)
{
    if (list_reserve(&gc_ranges, gc_ranges.n + 1))
        ((struct range *)gc_ranges.items)[gc_ranges.n++] = (struct range){from, to, length};
    else
        gc_lost = true;
}

static hresult gc_moved(void *self, uint32_t n, const uintptr_t *from, const uintptr_t *to, const size_t *lengths)
{
    (void)self;
    word_lock(&lock_word);
    for (uint32_t i = 0; i < n && collecting; i++)
        add_range(from[i], to[i], lengths[i]);
    word_unlock(&lock_word);
    return HR_OK;
}

static hresult gc_survived(void *self, uint32_t n, const uintptr_t *from, const size_t *lengths)
{
    return gc_moved(self, n, from, from, lengths);
}

static hresult gc_finalizable(void *self, uint32_t flags, uintptr_t object)
{
    (void)self, (void)flags, (void)object;
    gc.finalizable++;
    return HR_OK;
}

static hresult gc_references(void *self, uintptr_t object, uintptr_t class_id, uint32_t n, const uintptr_t *references)
{
    (void)self;
    return snapshot_object(object, class_id, n, references);
}

static hresult gc_dependents(void *self, uint32_t n, const uintptr_t *keys, const uintptr_t *values, const uintptr_t *ids)
{
    reachable_dependents(n, keys, values);
    return snapshot_dependents(self, n, keys, values, ids);
}

static hresult gc_suspend_started(void *self, uint32_t reason)
{
    (void)self;
    if (reason == 1) {
        gc.suspend_ns = monotonic_ns();
        events_gc_suspending();
    }
    return HR_OK;
}

/* ── after a GC ─────────────────────────────────────────────────────────────────────────────────────────────── */

COLD bool objects_were_lost(void)
{
    if (__atomic_load_n(&left_out_lost, __ATOMIC_RELAXED))
        return true;
    static const uint32_t reasons[] = {WIRE_LOSS_ARENA_FULL, WIRE_LOSS_NO_THREAD_STATE, WIRE_LOSS_REENTERED, WIRE_LOSS_LIFETIME_FULL};
    for (uint32_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++)
        if (__atomic_load_n(&arena.header->losses[reasons[i]].events, __ATOMIC_RELAXED) != 0)
            return true;
    return false;
}

static void note_allocated(uint32_t site)
{
    changes_note(site, WIRE_CHANGE_ALLOCATED);
}

/* What was born since the last GC, and the next GC's part of it: see site_growth.c. */
static struct population count_born(bool last)
{
    struct population born = changes_report(gc.number, last, &gc.since), was = pending;
    samples_waiting(&pending.objects, &pending.bytes);
    for (struct thread *t = thread_after(NULL); t != NULL; t = thread_after(t)) {
        const struct shadow *s = t->pending == 0 ? NULL : heap_find(t->pending);
        recents_note(t, note_allocated);
        if (s != NULL)
            population_add(&pending, 1, (uint64_t)s->size << 3);
    }
    if (pending.objects != 0 || (gc.collected & 1) == 0)
        walk_next_time();
    population_add(&born, pending.objects - was.objects, pending.bytes - was.bytes);
    return born;
}

/* Completes what is known of the generations that were not collected. All but those on the heaps of large and of pinned
 * objects were born in generation 0, which was looked through. Of the others the large ones are known. The rest is
 * small and was born on the pinned object heap, or if there is none, as before .NET 5, the runtime's own arrays on the
 * large object heap. Differences can be less than 0 for a while, and wrap around. */
static void count_uncollected(struct population born)
{
    struct population *rest = &gc_live[generations_have_pinned() ? WIRE_GENERATION_PINNED : WIRE_GENERATION_LARGE];
    const struct population *young = &gc.generations[0].before;
    if (!objects_were_lost())
        population_add(rest, born.objects - known.objects - (young->objects - gc_live[0].objects), born.bytes - known.bytes - (young->bytes - gc_live[0].bytes));
    for (uint32_t g = 0; g < WIRE_GENERATION_COUNT; g++) {
        if ((gc.collected >> g & 1) == 0) {
            gc.generations[g].before = gc_live[g];
            population_add(&gc.generations[g].after, gc_live[g].objects, gc_live[g].bytes);
        }
        gc_live[g] = gc.generations[g].after;
    }
}

static void measure_extents(void)
{
    const struct bound *b = gc_after.items;
    for (uint64_t i = 0; i < gc_after.n; i++)
        if (b[i].generation < WIRE_GENERATION_COUNT)
            gc.generations[b[i].generation].extent += b[i].used - b[i].start;
}

/* A collection has ended, and the program has not gone on yet: nothing is allocated between it and the stop. One that ends in a pause is
 * not recorded. A stop that cannot be reported is tried again after the next collection. */
static void stop_after_first(void)
{
    uint64_t pauses;
    if (first_ended == first || control_is_off(&pauses))
        return;
    if (first_ended + 1 < first || control_stop_after(first))
        first_ended++;
}

static hresult gc_finished(void *self)
{
    (void)self;
    if (!collecting)
        return HR_OK;
    collecting = false;
    if (!events_gc_finished())
        gc_lost = true;
    gc.end_ns = monotonic_ns();
    if (lifetime_on)
        walk_collection();
    if (is_whole())
        reachable_end();
    if (snapshot_writing)
        snapshot_end_objects();
    if (lifetime_on && looked_at)
        survival_report(gc.number, gc_after.items, gc_after.n, !gc_marks_survivors);
    if (snapshot_writing)
        snapshot_finish(gc_after.items, gc_after.n);
    gc.since = gc.number;
    gc.pinned = survival_pinned();
    if (lifetime_on) {
        count_uncollected(count_born(is_whole()));
        measure_extents();
    }
    if (lifetime_on && is_whole())
        alive_report(is_last);
    if (lifetime_on && arena.header->ending_gc != 0)
        ending_report();
    gc.done_ns = monotonic_ns();
    arena_lock();
    if (arena_log(WIRE_RECORD_GC, &gc, sizeof gc))
        arena.header->collections++;
    else
        loss(WIRE_LOSS_LIFETIME_FULL, 0, 0);
    arena_unlock();
    if (gc.induced != 0 && !is_whole())
        induced_ended(gc.number);
    gc.suspend_ns = 0;
    if (lifetime_on && gc_goes_on)
        ending_begin(gc.number, __atomic_exchange_n(&beginning, 0, __ATOMIC_ACQ_REL));
    gc_goes_on = false;
    samples_gc_end();
    stop_after_first();
    if (is_last)
        events_end();
    else
        events_want(); /* for the next one */
    return HR_OK;
}

/* ── the end ────────────────────────────────────────────────────────────────────────────────────────────────── */

/* ForceGC waits for a full collection, which need not be its own: it is content with one that another thread's allocation or
 * GC.Collect began meanwhile. So the last collection is the first full one that begins now, whoever wants it. The one that ForceGC is
 * content with can have begun before; then the next cannot. */
static void *last_gc(void *unused)
{
    (void)unused;
    __atomic_store_n(&final_now, true, __ATOMIC_RELEASE);
    for (uint32_t i = 0; i < 2 && __atomic_load_n(&arena.header->alive_known, __ATOMIC_RELAXED) == 0; i++)
        ((hresult(*)(void *))(*(void *const *const *)info)[INFO_FORCE_GC])(info);
    __atomic_store_n(&final_now, false, __ATOMIC_RELEASE);
    return NULL;
}

/* ForceGC is refused inside a callback; a thread of the agent's own may ask for it while the callback waits. It is asked for by one
 * thread at a time: a recording can end just when the process does. */
static bool start_gc(pthread_t *thread, void *(*gc_on_thread)(void *))
{
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int rc = pthread_create(thread, NULL, gc_on_thread, NULL);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return rc == 0;
}

static void have_last_gc(void)
{
    pthread_t thread;
    if (lifetime_on && arena.header->alive_known == 0 && start_gc(&thread, last_gc))
        pthread_join(thread, NULL);
}

static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;

static void end(bool early)
{
    if (!lifetime_on || !final_wanted)
        return;
    pthread_mutex_lock(&one);
    final_early = early;
    if (!early || reachable_can_hold())
        have_last_gc();
    pthread_mutex_unlock(&one);
}

void lifetime_end(void)
{
    end(false);
}

void lifetime_end_early(void)
{
    end(true);
}

static uint32_t sign_seen, begun; /* begun: the thread is done */

/* As in last_gc: ForceGC may be content with a collection that began before. */
static void *first_gc_of_end(void *unused)
{
    pthread_mutex_lock(&one);
    if (lifetime_on && arena.header->alive_known == 0 && reachable_can_hold()) {
        __atomic_store_n(&beginning, sign_seen, __ATOMIC_RELEASE);
        for (uint32_t i = 0; i < 2 && __atomic_load_n(&beginning, __ATOMIC_ACQUIRE) != 0; i++)
            ((hresult(*)(void *))(*(void *const *const *)info)[INFO_FORCE_GC])(info);
        __atomic_store_n(&beginning, 0, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&one);
    __atomic_store_n(&begun, 1, __ATOMIC_RELEASE);
    return unused;
}

void lifetime_begin_end(uint32_t sign)
{
    static const struct timespec moment = {0, 200000};
    pthread_t thread;
    uint32_t none = 0;
    if (!lifetime_on || !final_wanted || !__atomic_compare_exchange_n(&sign_seen, &none, sign, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        return; /* another thread's sign is being dealt with */
    __atomic_store_n(&begun, 0, __ATOMIC_RELEASE);
    if (start_gc(&thread, first_gc_of_end))
        pthread_detach(thread);
    else
        __atomic_store_n(&begun, 1, __ATOMIC_RELEASE);
    for (uint64_t until = monotonic_ns() + LONGEST_WAIT_NS; __atomic_load_n(&begun, __ATOMIC_ACQUIRE) == 0 && monotonic_ns() < until;)
        nanosleep(&moment, NULL);
    if (__atomic_load_n(&begun, __ATOMIC_ACQUIRE) != 0)
        __atomic_store_n(&sign_seen, 0, __ATOMIC_RELEASE); /* else it is late, and may still come */
}

void lifetime_let_go(void)
{
    word_lock(&lock_word);
    lifetime_on = false;
    word_unlock(&lock_word);
    heap_forget();
}

void lifetime_give_back(void)
{
    collecting = false;
    walk_give_back();
    reachable_give_back();
    ending_give_back();
    generations_give_back();
    list_give_back(&gc_ranges);
    list_give_back(&gc_before);
    list_give_back(&gc_after);
    list_give_back(&large);
    statics_give_back();
    heap_forget(); /* what a thread that was in the middle of it noted */
}

uint32_t lifetime_event_mask(void)
{
    return MONITOR_GC | MONITOR_SUSPENDS | MONITOR_CLASS_LOADS;
}

void lifetime_install(void **callbacks)
{
    callbacks[CALLBACK_OBJECT_ALLOCATED] = (void *)object_allocated_lifetime;
    statics_install(callbacks);
    callbacks[CALLBACK_RUNTIME_SUSPEND_STARTED] = (void *)gc_suspend_started;
    induced_install(callbacks);
    callbacks[CALLBACK_OBJECT_REFERENCES] = (void *)gc_references;
    callbacks[CALLBACK_GC_STARTED] = (void *)gc_started;
    callbacks[CALLBACK_GC_FINISHED] = (void *)gc_finished;
    callbacks[CALLBACK_FINALIZABLE_QUEUED] = (void *)gc_finalizable;
    callbacks[CALLBACK_DEPENDENT_REFERENCES] = (void *)gc_dependents;
    callbacks[CALLBACK_ROOT_REFERENCES2] = (void *)survival_roots;
    callbacks[CALLBACK_MOVED_REFERENCES2] = (void *)gc_moved;
    callbacks[CALLBACK_SURVIVING_REFERENCES2] = (void *)gc_survived;
}
