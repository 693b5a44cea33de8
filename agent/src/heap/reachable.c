/* What is alive after the last garbage collection only because its finalizer has not run.
 *
 * Problem: .NET does not run finalizers at the end of a program. A collection that finds a dead object with a finalizer puts
 * it into the finalizer's queue, and if the finalizer's thread still works then, which it does until the runtime has shut down
 * EventPipe, user code runs that would not have run: it flushes files, throws, blocks.
 *
 * Idea: the collection does not find such objects dead, because the agent has a strong handle for each. Handles are made when
 * the collection has stopped all threads and has not marked anything yet, and given up when it is over: to the program nothing
 * has happened to these objects. What a root leads to that is not such a handle, nor the finalizer's queue, is alive. What only
 * those lead to is not, and counts as dead in this collection, as it would without a finalizer. Its shadow goes, so that nothing
 * else counts it; if the program goes on (ending.c), it stays without a site, so that later collections know the object.
 *
 * In a collection that comes when the finalizer's thread is done (the runtime calls Shutdown after that) nothing is held: the
 * roots of the finalizer's queue take the place of the handles.
 *
 * What is dead in this way is traced twice: from the roots, and then from the objects that wait. An object that neither finds
 * stays alive. Where some objects are not known (lost, made in a pause or before the agent came) nothing is traced, and nothing held.
 *
 * Objects that the agent's own threads make (eventpipe_gc.c) are kept from the finalizer as well, from their birth to the end of the
 * recording: it would make more of them, on the program's thread, where they would be taken for the program's.
 *
 * Limits: MAX_HELD handles. Tracing is estimated, not measured, at 50 to 100 ns for each object that is alive. Its stack is private memory; without it all that
 * waits counts as alive. */
#define _GNU_SOURCE
#include "core/arena.h"
#include "core/recording.h"
#include "heap/gc.h"
#include "control/recording_state.h"
#include "heap/shadow_heap.h"
#include "heap/reachable.h"

#define KNOWN_TYPES (UINT32_C(1) << 20) /* of those beyond, all may have finalizers */
#define MAX_HELD UINT64_C(1000000)      /* 16 MB of handles and of the list of them */
#define MAX_KEPT 4096u                  /* objects that are not the program's; a session of events makes a dozen */
#define HANDLE_STRONG 2u                /* COR_PRF_HANDLE_TYPE_STRONG */
#define FIRST_VERSION 8u                /* whose method tables and headers are as below */
#define LAST_VERSION 10u
#define HAS_FINALIZER 0x00100000u /* in the first word of a method table: MTFlag_HasFinalizer, by which the collector knows */
#define FINALIZER_RUN 0x40000000u /* in the header in front of an object: BIT_SBLK_FINALIZER_RUN, it is finalized or suppressed */

struct back { /* a range of survivors by where it is now */
    uintptr_t to, from;
    uint64_t length;
};

bool reachable_traces = true;
static void *info;
static bool has_handles;
static uint32_t lock_word; /* server GC scans roots from several threads */
static uint32_t finalizable[KNOWN_TYPES / 32];
static bool on, incomplete;
static uint32_t kept_lock;
static struct list kept = {.size = sizeof(void *)}; /* handles of objects that are not the program's */
static struct list held = {.size = sizeof(void **)};
static struct list roots = {.size = sizeof(uintptr_t)}, stack = {.size = sizeof(uintptr_t)};
static struct list waiting = {.size = sizeof(uintptr_t)}; /* objects that handles of the agent's hold */
static struct list queued = {.size = sizeof(uintptr_t)};  /* and those that the finalizer's queue holds */
static struct list dying = {.size = sizeof(uintptr_t)};
static struct list dependents = {.size = 2 * sizeof(uintptr_t)}, backs = {.size = sizeof(struct back)};

void reachable_init(void *profiler_info)
{
    void *info13 = NULL;
    uint32_t major = arena.header->runtime_major;
    info = profiler_info;
    has_handles = major >= FIRST_VERSION && major <= LAST_VERSION && com_query(info, &IID_INFO13, &info13) >= 0 && info13 != NULL;
}

void reachable_give_back(void)
{
    list_give_back(&kept);
    list_give_back(&held);
    list_give_back(&roots);
    list_give_back(&waiting);
    list_give_back(&queued);
    list_give_back(&dying);
    list_give_back(&stack);
    list_give_back(&dependents);
    list_give_back(&backs);
}

/* ── which objects have finalizers ──────────────────────────────────────────────────────────────────────────── */

void reachable_note_class(uintptr_t class_id, uint32_t type)
{
    if (has_handles && type < KNOWN_TYPES && (*(const uint32_t *)class_id & HAS_FINALIZER) != 0)
        __atomic_fetch_or(&finalizable[type / 32], 1u << type % 32, __ATOMIC_RELAXED);
}

static bool has_finalizer(uint32_t type)
{
    type &= ~WIRE_SITE_FROZEN;
    return type >= KNOWN_TYPES || (__atomic_load_n(&finalizable[type / 32], __ATOMIC_RELAXED) >> type % 32 & 1) != 0;
}

/* At most so many objects with finalizers are on the heap: those of sites. */
static uint64_t count_finalizable(void)
{
    uint64_t n = arena.header->regions[WIRE_REGION_SITES].used / sizeof(struct wire_site), count = 0;
    for (uint64_t i = 0; i < n; i++) {
        if (!has_finalizer(arena.sites[i].type))
            continue;
        count += __atomic_load_n(&arena.sites[i].objects, __ATOMIC_RELAXED);
        for (uint32_t g = 0; g < WIRE_GENERATION_COUNT; g++)
            count -= __atomic_load_n(&arena.deaths[i].dead_objects[g], __ATOMIC_RELAXED);
    }
    return count;
}

static bool all_are_known(void)
{
    return !dormant_on && !gc_lost && !control_was_off && !objects_were_lost();
}

bool reachable_can_hold(void)
{
    return has_handles && all_are_known() && count_finalizable() <= MAX_HELD;
}

/* ── objects of the agent's own threads ──────────────────────────────────────────────────────────────────────── */

void reachable_keep(uintptr_t object)
{
    void *handle = NULL;
    if (!has_handles || (**(const uint32_t *const *)object & HAS_FINALIZER) == 0 || kept.n >= MAX_KEPT ||
        SLOT(info, INFO_CREATE_HANDLE, uintptr_t, uint32_t, void **)(info, object, HANDLE_STRONG, &handle) < 0)
        return; /* it is finalized, as any other */
    word_lock(&kept_lock);
    if (list_reserve(&kept, kept.n + 1))
        ((void **)kept.items)[kept.n++] = handle; /* else it is kept for ever */
    word_unlock(&kept_lock);
}

void reachable_let_kept_go(void)
{
    for (; kept.n != 0; kept.n--)
        SLOT(info, INFO_DESTROY_HANDLE, void *)(info, ((void **)kept.items)[kept.n - 1]);
}

/* ── at the start of the collection ─────────────────────────────────────────────────────────────────────────── */

/* An object that is about to get its site is its thread's, and one that is not the program's has the framework's finalizer. That of one
 * that was counted as dead when the program began to end can be any. */
static bool can_be_queued(uintptr_t object, const struct shadow *s)
{
    if ((s->site & SHADOW_PENDING) != 0 || s->site == SHADOW_LEFT_OUT)
        return false;
    if (s->site == SHADOW_COUNTED ? (**(const uint32_t *const *)object & HAS_FINALIZER) == 0 : !has_finalizer(arena.sites[s->site - 1].type))
        return false;
    return (((const uint32_t *)object)[-1] & FINALIZER_RUN) == 0;
}

static void hold(uintptr_t object)
{
    void *handle = NULL;
    if (!list_reserve(&held, held.n + 1) || SLOT(info, INFO_CREATE_HANDLE, uintptr_t, uint32_t, void **)(info, object, HANDLE_STRONG, &handle) < 0)
        incomplete = true; /* there is no memory, and the collection has begun */
    else
        ((void **)held.items)[held.n++] = handle;
}

static void hold_all(void)
{
    for (uint64_t i = 0; i < gc_before.n; i++) {
        const struct bound *b = &((const struct bound *)gc_before.items)[i];
        for (uintptr_t at = heap_next(b->start, b->used); at < b->used; at = heap_next(at, b->used)) {
            const struct shadow *s = heap_find(at);
            if (can_be_queued(at, s))
                hold(at);
            at += s->size == 0 ? 8 : (uintptr_t)s->size << 3;
        }
    }
    if (held.n > 1)
        list_sort(&held); /* by handle, for reachable_root */
}

void reachable_begin(bool whole, bool hold)
{
    held.n = roots.n = waiting.n = queued.n = dying.n = stack.n = dependents.n = backs.n = 0; /* what waited has moved since */
    on = whole && all_are_known();
    incomplete = false;
    if (hold && on)
        hold_all();
}

/* ── its roots ──────────────────────────────────────────────────────────────────────────────────────────────── */

static void add(struct list *l, uintptr_t object)
{
    if (list_reserve(l, l->n + 1))
        ((uintptr_t *)l->items)[l->n++] = object;
    else
        incomplete = true;
}

static bool is_own(uintptr_t handle)
{
    const uintptr_t *h = held.items;
    uint64_t low = 0, high = held.n;
    while (low < high) {
        uint64_t middle = (low + high) / 2;
        if (h[middle] < handle)
            low = middle + 1;
        else
            high = middle;
    }
    return low < held.n && h[low] == handle;
}

bool reachable_root(uintptr_t object, uint32_t kind, uint32_t flags, uintptr_t id)
{
    if (!on || object == 0)
        return false;
    bool own = kind == ROOT_KIND_HANDLE && is_own(id);
    word_lock(&lock_word);
    if (own)
        add(&waiting, object);
    else if (kind == ROOT_KIND_FINALIZER)
        add(&queued, object);
    else if ((flags & ROOT_FLAG_WEAK) == 0)
        add(&roots, object);
    word_unlock(&lock_word);
    return own;
}

void reachable_dependents(uint32_t n, const uintptr_t *keys, const uintptr_t *values)
{
    if (!on)
        return;
    word_lock(&lock_word);
    if (list_reserve(&dependents, dependents.n + n)) {
        uintptr_t *pairs = (uintptr_t *)dependents.items + 2 * dependents.n;
        for (uint32_t i = 0; i < n; i++) {
            pairs[2 * i] = keys[i];
            pairs[2 * i + 1] = values[i];
        }
        dependents.n += n;
    } else {
        incomplete = true;
    }
    word_unlock(&lock_word);
}

/* ── what they lead to ──────────────────────────────────────────────────────────────────────────────────────── */

static void reach(uintptr_t object)
{
    struct shadow *s = object == 0 ? NULL : heap_find(object);
    if (s == NULL || (s->site & SHADOW_REACHED) != 0)
        return;
    s->site |= SHADOW_REACHED;
    add(&stack, object);
}

static int32_t reach_reference(uintptr_t root, const uintptr_t *reference, void *unused)
{
    (void)root, (void)unused;
    reach(*reference);
    return 1;
}

/* Follows all that is on the stack, and what is reached from there; each: called with every object. */
static void trace_stack(void (*each)(uintptr_t object))
{
    while (stack.n != 0 && !incomplete) {
        uintptr_t object = ((const uintptr_t *)stack.items)[--stack.n];
        if (each != NULL)
            each(object);
        if (SLOT(info, INFO_ENUMERATE_OBJECT_REFERENCES, uintptr_t, int32_t (*)(uintptr_t, const uintptr_t *, void *), void *)(info, object, reach_reference, NULL) < 0)
            incomplete = true;
    }
}

static bool is_reached(uintptr_t object)
{
    const struct shadow *s = object == 0 ? NULL : heap_find(object);
    return s == NULL || (s->site & SHADOW_REACHED) != 0; /* what has no shadow is frozen */
}

/* A dependent handle leads from its key to its value. */
static void trace(void (*each)(uintptr_t object))
{
    bool again = true;
    while (again && !incomplete) {
        trace_stack(each);
        again = false;
        const uintptr_t *pairs = dependents.items;
        for (uint64_t i = 0; i < dependents.n; i++)
            if (pairs[2 * i] != 0 && is_reached(pairs[2 * i]) && !is_reached(pairs[2 * i + 1])) {
                reach(pairs[2 * i + 1]);
                again = true;
            }
    }
}

static void note_dying(uintptr_t object)
{
    add(&dying, object);
}

static void forget_reached(void)
{
    for (uint64_t i = 0; i < gc_after.n; i++) {
        const struct bound *b = &((const struct bound *)gc_after.items)[i];
        for (uintptr_t at = heap_next(b->start, b->used); at < b->used; at = heap_next(at, b->used)) {
            struct shadow *s = heap_find(at);
            s->site &= ~SHADOW_REACHED;
            at += s->size == 0 ? 8 : (uintptr_t)s->size << 3;
        }
    }
}

/* ── what is dead ───────────────────────────────────────────────────────────────────────────────────────────── */

static bool sort_backs(void)
{
    const struct range *r = gc_ranges.items;
    if (!list_reserve(&backs, gc_ranges.n))
        return false;
    for (uint64_t i = 0; i < gc_ranges.n; i++)
        ((struct back *)backs.items)[backs.n++] = (struct back){r[i].to, r[i].from, r[i].length};
    return list_sort(&backs);
}

/* Where an object was when the collection began. */
static uintptr_t place_before(uintptr_t object)
{
    const struct back *b = backs.items;
    uint64_t low = 0, high = backs.n;
    while (low < high) {
        uint64_t middle = (low + high) / 2;
        if (b[middle].to <= object)
            low = middle + 1;
        else
            high = middle;
    }
    return low == 0 || object - b[low - 1].to >= b[low - 1].length ? object : object - b[low - 1].to + b[low - 1].from;
}

static void let_die_all(void)
{
    const struct bound *was = NULL, *is = NULL;
    for (uint64_t i = 0; i < dying.n; i++) {
        uintptr_t object = ((const uintptr_t *)dying.items)[i];
        struct shadow *s = heap_find(object);
        if (s == NULL || (s->site & SHADOW_PENDING) != 0 || !shadow_has_site(s->site & SHADOW_SITE))
            continue;
        walk_let_die(s, generation_of(&gc_before, place_before(object), &was), generation_of(&gc_after, object, &is));
    }
}

static void give_up_handles(void)
{
    for (uint64_t i = 0; i < held.n; i++)
        (void)SLOT(info, INFO_DESTROY_HANDLE, void *)(info, ((void **)held.items)[i]);
    held.n = 0;
}

static void reach_all(const struct list *l)
{
    for (uint64_t i = 0; i < l->n && !incomplete; i++)
        reach(((const uintptr_t *)l->items)[i]);
}

/* Removes from the list the objects that were reached. */
static void leave_unreached(struct list *l)
{
    uintptr_t *objects = l->items;
    uint64_t n = 0;
    for (uint64_t i = 0; i < l->n; i++)
        if (!is_reached(objects[i]))
            objects[n++] = objects[i];
    l->n = n;
}

/* What only finalizers lead to is dying, and of what waits only those objects wait that nothing else leads to. */
static void find_dying(void)
{
    reach_all(&roots);
    trace(NULL);
    if (!incomplete) {
        leave_unreached(&waiting);
        leave_unreached(&queued);
    }
    reach_all(&waiting);
    reach_all(&queued);
    trace(note_dying);
    forget_reached();
}

void reachable_end(void)
{
    if (on && reachable_traces && waiting.n + queued.n != 0 && !gc_lost) {
        find_dying();
        if (!incomplete && sort_backs())
            let_die_all();
    }
    gc.finalizable = (uint32_t)(waiting.n + queued.n);
    give_up_handles();
    on = false;
}

void reachable_each_waiting(void (*found)(uintptr_t object))
{
    for (uint64_t i = 0; i < waiting.n; i++)
        found(((const uintptr_t *)waiting.items)[i]);
}
