/* The hot callback: an object was allocated.
 *
 * Warm, that is with the same stack and the same class as one of the thread's recent allocations, it compares the stack with
 * that one's and adds to two counters; nothing else. Everything new goes through the slow path.
 *
 * With probes around calls the stack has what runs, not what was called. There the timing of the innermost call is part of the site,
 * and of what is compared: the same stack can be there in several calls, such as one that began in a pause. */
#include "heap/allocations.h"
#include "core/arena.h"
#include "control/recording_state.h"
#include "heap/allocation_samples.h"
#include "heap/ending.h"
#include "heap/eventpipe_gc.h"
#include "heap/shadow_heap.h"
#include "heap/object_tracking.h"
#include "core/hash_map.h"
#include "core/recording.h"
#include "metadata/descriptions.h"
#include "heap/reachable.h"
#include "stacks/recent_stacks.h"
#include "stacks/stack_walk.h"
#include "threads/threads.h"
#include "os/timer.h"
#include "control/collector_watch.h"
#include "os/own_time.h"

#include <errno.h>
#include <string.h>

#define WATCH_EACH 256u /* allocations by the slow path */
#define MAX_FROZEN_RANGES 64u /* segments of 4 MiB: 256 MiB of literals */

static void *info;
static bool frozen_heap; /* .NET 8 and later */
static bool timings_noted; /* of sites */
static uintptr_t frozen_low, frozen_span; /* around all frozen segments */
static struct clr_non_gc_range frozen_ranges[MAX_FROZEN_RANGES];
static uint32_t n_frozen;

void allocations_init(void *profiler_info, bool has_frozen_heap)
{
    info = profiler_info;
    frozen_heap = has_frozen_heap;
}

/* Heap bytes: the GC rounds sizes up to 8. Arrays and strings have their length at +8. */
static inline uint64_t heap_bytes(uintptr_t object, uint32_t base, uint32_t component)
{
    uint64_t length = *(const uint32_t *)(object + 8);
    return (base + component * length + 7) & ~UINT64_C(7);
}

/* A MethodTable begins with the component size (16 bits, valid if bit 31 is set) and the base size (methodtable.h;
 * not a contract, so the first object of each class is compared with what the runtime says). */
static void read_table(uintptr_t object, uint32_t *base, uint32_t *component)
{
    const uint32_t *table = (const uint32_t *)(*(const uintptr_t *)object & ~(uintptr_t)7);
    *component = (table[0] & 0x80000000u) != 0 ? table[0] & 0xFFFFu : 0;
    *base = table[1];
}

/* What the runtime says; if it cannot, what the MethodTable says, and then *reported is false. */
static uint64_t ask_heap_bytes(uintptr_t object, bool *reported)
{
    uint32_t base, component;
    size_t size = 0;
    *reported = SLOT(info, INFO_GET_OBJECT_SIZE2, uintptr_t, size_t *)(info, object, &size) >= 0;
    if (*reported)
        return (size + 7) & ~UINT64_C(7);
    read_table(object, &base, &component);
    return heap_bytes(object, base, component);
}

static void read_layout(struct class_info *c, uintptr_t object)
{
    bool reported;
    read_table(object, &c->base, &c->component);
    c->ask = heap_bytes(object, c->base, c->component) != ask_heap_bytes(object, &reported) || !reported;
}

static struct class_info *class_of(struct thread *t, uintptr_t class_id, uintptr_t object)
{
    struct class_info *c = &t->classes[(class_id >> 4 ^ class_id >> 10) % CLASS_CACHE_SLOTS];
    if (LIKELY(c->class_id == class_id))
        return c;
    c->class_id = 0;
    read_layout(c, object);
    c->type = type_of_class(class_id);
    reachable_note_class(class_id, c->type);
    ending_note_class(class_id, c->type);
    if (c->type != 0)
        c->class_id = class_id;
    return c;
}

/* Asks where the frozen segments are. Only the ends that hold objects can be relied on, so reserved lengths count. */
static void find_frozen_ranges(void)
{
    struct clr_non_gc_range ranges[MAX_FROZEN_RANGES];
    uint32_t n = 0;
    if (SLOT(info, INFO_GET_NON_GC_HEAP_BOUNDS, uint32_t, uint32_t *, struct clr_non_gc_range *)(
            info, MAX_FROZEN_RANGES, &n, ranges) < 0)
        return;
    n = n > MAX_FROZEN_RANGES ? MAX_FROZEN_RANGES : n;
    arena_lock();
    if (n > n_frozen) {
        uintptr_t low = UINTPTR_MAX, high = 0;
        for (uint32_t i = 0; i < n; i++) {
            __atomic_store_n(&frozen_ranges[i].start, ranges[i].start, __ATOMIC_RELAXED);
            __atomic_store_n(&frozen_ranges[i].reserved, ranges[i].reserved, __ATOMIC_RELAXED);
            low = ranges[i].start < low ? ranges[i].start : low;
            high = ranges[i].start + ranges[i].reserved > high ? ranges[i].start + ranges[i].reserved : high;
        }
        __atomic_store_n(&frozen_span, 0, __ATOMIC_RELAXED);
        __atomic_store_n(&frozen_low, low, __ATOMIC_RELEASE);
        __atomic_store_n(&frozen_span, high - low, __ATOMIC_RELEASE);
        __atomic_store_n(&n_frozen, n, __ATOMIC_RELEASE);
    }
    arena_unlock();
}

static bool is_frozen(uintptr_t object)
{
    uint32_t n = __atomic_load_n(&n_frozen, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < n; i++)
        if (object - __atomic_load_n(&frozen_ranges[i].start, __ATOMIC_RELAXED) <
            __atomic_load_n(&frozen_ranges[i].reserved, __ATOMIC_RELAXED))
            return true;
    return false;
}

#ifdef CLRPROF_COUNT_STEPS
__attribute__((visibility("default"))) uint64_t clrprof_steps; /* sites that were looked at */
#define COUNT_STEP() __atomic_fetch_add(&clrprof_steps, 1, __ATOMIC_RELAXED)
#else
#define COUNT_STEP() (void)0
#endif

static inline bool has_timing(const struct thread *t, uint32_t number)
{
    return !timings_noted || arena.site_timings[number - 1].timing == t->timing;
}

/* Are the site's objects counted, or its samples such as those of the thread? */
static bool has_sample(const struct thread *t, uint32_t number)
{
    const struct wire_site_sample *s = &arena.site_samples[number - 1];
    return s->weight == t->sampled.weight && s->size == t->sampled.size;
}

/* The thread's site in a node's chain, from the given number on; *steps counts the sites that were looked at. Numbers
 * descend, so what was there before the thread began ends the search. */
static uint32_t find_site(const struct thread *t, uint32_t number, uint32_t type, uint32_t most, uint32_t *steps)
{
    for (; number > t->oldest && *steps < most; ++*steps) {
        COUNT_STEP();
        const struct wire_site *site = &arena.sites[number - 1];
        if (site->thread == t->id && site->type == type && has_timing(t, number) && (!samples_on || has_sample(t, number)))
            return number;
        number = site->next;
    }
    return 0;
}

/* The number of the thread's site in its map, 0: it is not there. With timings keys are not of one site alone, and that which comes
 * later has one that follows from it; *key: where it is, or may be put. */
static uint32_t find_in_map(const struct thread *t, uint32_t type, uint64_t *key)
{
    uint32_t number;
    *key = ((uint64_t)t->leaf << 32 | type) ^ (timings_noted ? t->timing * UINT64_C(0xD6E8FEB86659FD93) : 0);
    while ((number = (uint32_t)map_get(&t->sites, *key)) != 0) {
        const struct wire_site *site = &arena.sites[number - 1];
        if (!timings_noted || (site->node == t->leaf && site->type == type && has_timing(t, number)))
            return number;
        *key = *key * UINT64_C(0x9E3779B97F4A7C15) + 1;
    }
    return 0;
}

static COLD struct wire_site *make_site(struct thread *t, uint32_t type)
{
    arena_lock();
    struct wire_site *site = arena_reserve(WIRE_REGION_SITES, sizeof *site);
    struct wire_site_timing *timing = !timings_noted || site == NULL ? NULL : arena_reserve(WIRE_REGION_SITE_TIMINGS, sizeof *timing);
    struct wire_site_sample *sample = !samples_on || site == NULL ? NULL : arena_reserve(WIRE_REGION_SITE_SAMPLES, sizeof *sample);
    if ((timings_noted && timing == NULL) || (samples_on && sample == NULL) || (lifetime_on && site != NULL && arena_reserve(WIRE_REGION_DEATHS, sizeof(struct wire_site_deaths)) == NULL))
        site = NULL;
    if (site != NULL) {
        struct wire_node *node = arena_node(t->leaf);
        *site = (struct wire_site){t->id, t->leaf, type, node->site, 0, 0};
        if (timing != NULL) {
            timing->timing = t->timing;
            arena_publish(WIRE_REGION_SITE_TIMINGS, sizeof *timing);
        }
        if (sample != NULL) {
            *sample = t->sampled;
            arena_publish(WIRE_REGION_SITE_SAMPLES, sizeof *sample);
        }
        arena_publish(WIRE_REGION_SITES, sizeof *site);
        if (lifetime_on)
            arena_publish(WIRE_REGION_DEATHS, sizeof(struct wire_site_deaths));
        __atomic_store_n(&node->site, (uint32_t)(site - arena.sites) + 1, __ATOMIC_RELEASE);
    }
    arena_unlock();
    uint64_t key;
    if (site != NULL && t->indexed && find_in_map(t, type, &key) == 0)
        t->indexed = map_put(&t->sites, key, (uint64_t)(site - arena.sites) + 1);
    return site;
}

/* A chain can be long when many threads, or a generic allocator, share a node; then the map remembers the site. A set's
 * map has all of its sites, since those of the threads before can be anywhere. */
static struct wire_site *site_far_down(struct thread *t, uint32_t type)
{
    uint64_t key;
    uint32_t number = find_in_map(t, type, &key), steps = 0;
    if (number != 0)
        return &arena.sites[number - 1];
    if (!t->indexed)
        number = find_site(t, __atomic_load_n(&arena_node(t->leaf)->site, __ATOMIC_ACQUIRE), type, UINT32_MAX, &steps);
    if (number == 0)
        return make_site(t, type);
    map_put(&t->sites, key, number); /* without room it is looked for again next time */
    return &arena.sites[number - 1];
}

static struct wire_site *site_of(struct thread *t, uint32_t type)
{
    uint32_t steps = 0;
    uint32_t number = find_site(t, __atomic_load_n(&arena_node(t->leaf)->site, __ATOMIC_ACQUIRE), type, MAX_CHAIN, &steps);
    if (LIKELY(number != 0))
        return &arena.sites[number - 1];
    return steps < MAX_CHAIN ? make_site(t, type) : site_far_down(t, type);
}

/* The walker has samples of all threads, of many sizes: its map has all of its sites. */
static struct wire_site *site_of_walker(struct thread *t, uint32_t type)
{
    uint64_t key = ((uint64_t)t->leaf << 32 | type) * UINT64_C(0x9E3779B97F4A7C15);
    key = (key ^ ((uint64_t)t->id << 32 | t->sampled.size)) * UINT64_C(0xD6E8FEB86659FD93) ^ t->sampled.weight;
    for (uint32_t number; (number = (uint32_t)map_get(&t->sites, key_made(key))) != 0; key = key * UINT64_C(0x9E3779B97F4A7C15) + 1) {
        const struct wire_site *site = &arena.sites[number - 1];
        if (site->node == t->leaf && site->type == type && site->thread == t->id && has_sample(t, number))
            return &arena.sites[number - 1];
    }
    struct wire_site *made = map_has_room(&t->sites) ? make_site(t, type) : NULL;
    if (made != NULL)
        map_put(&t->sites, key_made(key), (uint64_t)(made - arena.sites) + 1);
    return made;
}

/* A site without objects was made just now, and may be the first to meet a new frozen segment. */
static struct wire_site *site_of_object(struct thread *t, uint32_t type, uintptr_t object)
{
    bool frozen = frozen_heap && is_frozen(object);
    struct wire_site *site = site_of(t, frozen ? type | WIRE_SITE_FROZEN : type);
    if (site == NULL || !frozen_heap || frozen || site->objects != 0)
        return site;
    find_frozen_ranges();
    return is_frozen(object) ? site_of(t, type | WIRE_SITE_FROZEN) : site;
}

static void count_object(struct thread *t, uintptr_t object, uintptr_t class_id, uintptr_t fp, uintptr_t at)
{
    uintptr_t innermost = at != 0 ? at : stack_begin(t, fp);
    struct class_info *c = class_of(t, class_id, object);
    bool reported;
    uint64_t bytes = c->ask ? ask_heap_bytes(object, &reported) : heap_bytes(object, c->base, c->component);
    lifetime_note_pending(t, object, bytes);
    if (timings_noted) {
        t->timing = timer_of_object(fp);
        t->innermost = timer_innermost();
    }
    struct wire_site *site = c->type != 0 && stack_update(t, innermost) ? site_of_object(t, c->type, object) : NULL;
    lifetime_attribute(t, site, bytes);
    if (UNLIKELY(site == NULL)) {
        loss(WIRE_LOSS_ARENA_FULL, 1, bytes);
        return;
    }
    if (UNLIKELY(__atomic_load_n(&arena.header->alive_known, __ATOMIC_RELAXED) != 0) && events_leave_out(1, bytes))
        return; /* the last collection came meanwhile */
    site->objects++;
    site->bytes += bytes;
    if ((site->type & WIRE_SITE_FROZEN) == 0 && !c->ask && t->n_frames != 0)
        recents_add(t, class_id, c, site, innermost);
}

static void forget_code(struct thread *t, uint32_t epoch)
{
    t->epoch = epoch;
    stack_forget(t);
    memset(t->classes, 0, sizeof t->classes);
    forget_ips(t);
}

struct wire_site *allocations_site_of_sample(struct thread *walker, uintptr_t class_id, uintptr_t fp, bool is_cut)
{
    uint32_t epoch = __atomic_load_n(&code_epoch, __ATOMIC_ACQUIRE);
    if (walker->epoch != epoch)
        forget_code(walker, epoch);
    uint32_t type = type_of_class(class_id);
    if (type == 0 || !stack_of_copy(walker, fp, is_cut))
        return NULL;
    reachable_note_class(class_id, type);
    return site_of_walker(walker, type);
}

/* Is the object not the program's? Either the runtime made it because of events that the agent asked for, or it was made
 * after the last collection, at which all that was allocated is dead or alive. */
static COLD bool is_left_out(uintptr_t object)
{
    bool reported;
    uint64_t bytes = ask_heap_bytes(object, &reported);
    if (!events_leave_out(1, bytes))
        return false;
    if (!is_frozen(object))
        lifetime_note_left_out(object, bytes);
    if (events_thread_is_own())
        reachable_keep(object);
    return true;
}

/* The thread's state, made if need be. NULL: the allocation cannot be counted, which is counted. */
static COLD struct thread *prepare_thread(uintptr_t object)
{
    struct thread *t = current_thread;
    bool reported;
    if (!arena_is_ours())
        return current_thread = NULL; /* so that this way is always taken */
    if (is_left_out(object))
        return NULL;
    if (t != NULL && t->busy) {
        loss(WIRE_LOSS_REENTERED, 1, ask_heap_bytes(object, &reported));
        return NULL;
    }
    t = thread_attach();
    if (t == NULL)
        loss(WIRE_LOSS_NO_THREAD_STATE, 1, ask_heap_bytes(object, &reported));
    return t;
}

/* Something has changed since the thread was last known to record. Where it records again, frozen segments may have come
 * that no object of a new site has shown. */
static COLD bool is_recorded_again(struct thread *t)
{
    int saved_errno = errno;
    bool ours = arena_is_ours(), recorded = !ours || control_ask(t == NULL ? NULL : &t->control);
    if (ours && recorded && control_was_off && frozen_heap && !recording_is_over())
        find_frozen_ranges();
    errno = saved_errno;
    return recorded;
}

static void count_slowly(uintptr_t object, uintptr_t class_id, uintptr_t fp, uintptr_t at)
{
    struct thread *t = current_thread;
    if (UNLIKELY(t == NULL || t->control != control_now()) && !is_recorded_again(t))
        return;
    int saved_errno = errno; /* whatever is called below may set it; the program may be about to read it */
    if (UNLIKELY(t == NULL || t->busy || !arena_is_ours() || __atomic_load_n(&arena.header->alive_known, __ATOMIC_RELAXED) != 0))
        t = prepare_thread(object);
    if (t != NULL) {
        if (UNLIKELY(++t->slow % WATCH_EACH == 0))
            watch_look();
    }
    if (t != NULL && !recording_is_over()) {
        t->busy = true;
        uint32_t epoch = __atomic_load_n(&code_epoch, __ATOMIC_ACQUIRE);
        if (UNLIKELY(t->epoch != epoch))
            forget_code(t, epoch);
        count_object(t, object, class_id, fp, at);
        t->busy = false;
    }
    errno = saved_errno;
}

/* The node of the thread's stack, 0: there is none. */
static uint32_t node_of_stack(struct thread *t, uintptr_t fp)
{
    uint32_t node = 0, epoch = __atomic_load_n(&code_epoch, __ATOMIC_ACQUIRE);
    t->busy = true;
    if (t->epoch != epoch)
        forget_code(t, epoch);
    if (stack_update(t, fp) && t->n_frames != 0)
        node = t->leaf;
    t->busy = false;
    return node;
}

COLD void allocations_note_caller(uint32_t gc, uintptr_t fp)
{
    int saved_errno = errno;
    if (!visit_begin())
        return;
    time_own_calls();
    struct thread *t = recording_is_over() || !arena_is_ours() ? NULL : current_thread != NULL ? current_thread : thread_attach();
    struct {
        uint32_t gc, node;
    } record = {gc, t == NULL || t->busy ? 0 : node_of_stack(t, fp)};
    arena_lock();
    if (record.node != 0 && !arena_log(WIRE_RECORD_GC_CALLER, &record, sizeof record))
        loss(WIRE_LOSS_LIFETIME_FULL, 0, 0);
    arena_unlock();
    time_leave_out_calls();
    visit_end();
    errno = saved_errno;
}

static __attribute__((noinline)) void object_allocated_slow(uintptr_t object, uintptr_t class_id, uintptr_t fp, uintptr_t at)
{
    if (LIKELY(visit_begin())) {
        time_own_calls();
        count_slowly(object, class_id, fp, at);
        time_leave_out_calls();
        visit_end();
    }
}

/* timed, here and below: a constant, so that what has no timings does not look for any. */
static inline __attribute__((always_inline)) bool is_like(const struct thread *t, const struct recent *r, uintptr_t at, uintptr_t class_id, bool timed)
{
    return recent_holds(t, r, at, class_id) && (!timed || r->timing == timer_innermost());
}

static inline __attribute__((always_inline)) struct recent *look_for_other(struct thread *t, uintptr_t class_id, uintptr_t fp, uintptr_t *at, bool timed)
{
    if (*at == 0)
        *at = approach_known(t, fp);
    else
        t->approach = t->expected->approach;
    for (uint32_t all = *at == 0 ? 0 : t->remembered; all != 0; all &= all - 1) {
        struct recent *r = &t->recent[__builtin_ctz(all)];
        if (r != t->expected && is_like(t, r, *at, class_id, timed))
            return recent_met(t, t->last->next = r);
    }
    return NULL;
}

/* Another one than that which is expected, or another way from the same code to the agent. */
static __attribute__((noinline)) struct recent *find_other(struct thread *t, uintptr_t class_id, uintptr_t fp, uintptr_t *at)
{
    return look_for_other(t, class_id, fp, at, false);
}

static __attribute__((noinline)) struct recent *find_other_timed(struct thread *t, uintptr_t class_id, uintptr_t fp, uintptr_t *at)
{
    return look_for_other(t, class_id, fp, at, true);
}

/* The recent allocation that this one is like: same class, same stack, nothing unloaded since, not frozen. NULL: none.
 * *at: where the stack begins behind the runtime's frames, 0: it is not known. */
static inline __attribute__((always_inline)) struct recent *find_recent(struct thread *t, uintptr_t object, uintptr_t class_id, uintptr_t fp, uintptr_t *at,
                                                                        bool timed)
{
    if (t == NULL || t->epoch != __atomic_load_n(&code_epoch, __ATOMIC_RELAXED) || t->control != control_now() ||
        object - __atomic_load_n(&frozen_low, __ATOMIC_RELAXED) < __atomic_load_n(&frozen_span, __ATOMIC_RELAXED))
        return NULL;
    struct recent *r = t->expected;
    *at = approach_end(t, r->approach, fp);
    if (LIKELY(*at != 0 && is_like(t, r, *at, class_id, timed)))
        return recent_met(t, r);
    return timed ? find_other_timed(t, class_id, fp, at) : find_other(t, class_id, fp, at);
}

static inline uint64_t count_warm(const struct recent *r, uintptr_t object)
{
    uint64_t bytes = heap_bytes(object, r->base, r->component);
    r->site->objects++;
    ADD_BEHIND(r->site->bytes, bytes);
    return bytes;
}

static inline __attribute__((always_inline)) hresult allocated(uintptr_t object, uintptr_t class_id, uintptr_t fp, bool timed)
{
    uintptr_t at = 0;
    const struct recent *r = find_recent(current_thread, object, class_id, fp, &at, timed);
    if (LIKELY(r != NULL))
        count_warm(r, object);
    else
        object_allocated_slow(object, class_id, fp, at);
    return HR_OK;
}

static inline __attribute__((always_inline)) hresult allocated_followed(uintptr_t object, uintptr_t class_id, uintptr_t fp, bool timed)
{
    uintptr_t at = 0;
    const struct recent *r = find_recent(current_thread, object, class_id, fp, &at, timed);
    if (UNLIKELY(r == NULL)) {
        object_allocated_slow(object, class_id, fp, at);
        return HR_OK;
    }
    uint64_t bytes = count_warm(r, object);
    struct shadow *s = LIKELY(bytes >> 3 <= UINT32_MAX) ? heap_place(object) : NULL;
    if (LIKELY(s != NULL))
        *s = (struct shadow){(uint32_t)(r->site - arena.sites) + 1, (uint32_t)(bytes >> 3), gc_number};
    else
        loss(WIRE_LOSS_LIFETIME_FULL, 1, bytes);
    if (UNLIKELY(bytes >= LARGE_BYTES))
        lifetime_note_large(object);
    return HR_OK;
}

UNGUARDED hresult object_allocated(void *self, uintptr_t object, uintptr_t class_id)
{
    (void)self;
    return allocated(object, class_id, (uintptr_t)__builtin_frame_address(0), false);
}

UNGUARDED hresult object_allocated_lifetime(void *self, uintptr_t object, uintptr_t class_id)
{
    (void)self;
    return allocated_followed(object, class_id, (uintptr_t)__builtin_frame_address(0), false);
}

UNGUARDED static hresult object_allocated_timed(void *self, uintptr_t object, uintptr_t class_id)
{
    (void)self;
    return allocated(object, class_id, (uintptr_t)__builtin_frame_address(0), true);
}

UNGUARDED static hresult object_allocated_lifetime_timed(void *self, uintptr_t object, uintptr_t class_id)
{
    (void)self;
    return allocated_followed(object, class_id, (uintptr_t)__builtin_frame_address(0), true);
}

/* Where another profiler wants all objects, the runtime reports small ones here as well. */
UNGUARDED hresult object_allocated_large(void *self, uintptr_t object, uintptr_t class_id)
{
    (void)self;
    uintptr_t fp = (uintptr_t)__builtin_frame_address(0);
    bool reported;
    if (ask_heap_bytes(object, &reported) < LARGE_BYTES)
        return HR_OK;
    if (lifetime_on)
        return timings_noted ? allocated_followed(object, class_id, fp, true) : allocated_followed(object, class_id, fp, false);
    return timings_noted ? allocated(object, class_id, fp, true) : allocated(object, class_id, fp, false);
}

void allocations_note_timings(void **callbacks)
{
    timings_noted = true;
    if ((arena.header->data & WIRE_DATA_LARGE) != 0)
        return;
    callbacks[CALLBACK_OBJECT_ALLOCATED] = lifetime_on ? (void *)object_allocated_lifetime_timed : (void *)object_allocated_timed;
}
