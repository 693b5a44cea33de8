/* What became of the objects.
 *
 * At each garbage collection the runtime says which generations it collects (GarbageCollectionStarted), which ranges of
 * objects survive and where they go (MovedReferences2, SurvivingReferences2; before anything is moved, and with server
 * GC from several threads), and when it is done (GarbageCollectionFinished). An object of a collected generation that is
 * in none of the ranges is dead; one of another generation is alive and has not moved. The generation of an object is
 * that of its address by GetGenerationBounds, at the start for what it was and at the end for what it became; never
 * the number of GCs it survived, since pinned objects can stay or even go back.
 *
 * At the end of each GC, with the world stopped, the shadow of the collected generations, as they were at the start, is
 * walked once from one end to the other, beside the surviving ranges in the order of their addresses: what lies in a range
 * survives, and is gathered and erased if it moves (what stays in generation 2 is passed over); what lies between them is dead,
 * counted for its site and generation, and erased. Then the gathered objects are put where they are now (a destination may
 * have been another one's source).
 *
 * Nearly all objects die in generation 0 before its next collection, and they need not be looked at: those that were born at a site
 * since the last GC are known by its counter, and those of them that survived, or were born on the heaps of large and of pinned objects, are
 * looked at anyway. The others died in generation 0. Their shadow is only erased; but for those objects which the last GC left
 * in generation 0, whose addresses are kept (`stayed`). Where this is not sure, or objects are large, generation 0 is walked
 * as the others are: after an object was lost, or was about to get its site in the last GC, or on a runtime without a pinned object heap.
 *
 * Objects on the frozen heap are in no generation, are never reported and never die; they have no shadow.
 *
 * A range whose first word is no object's is "untracked" and counted; it has not been seen on any runtime. */
#define _GNU_SOURCE
#include "allocations.h"
#include "arena.h"
#include "changes.h"
#include "control.h"
#include "events.h"
#include "heap.h"
#include "lifetime.h"
#include "names.h"
#include "recent.h"
#include "snapshot.h"
#include "survival.h"
#include "threads.h"
#include "watch.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_RANGES 4096u        /* survivors of one GC; doubled when needed */
#define MAX_BOUNDS (1u << 20)     /* regions of 4 MiB: a heap of 4 TiB */
#ifndef DENSE_BYTES /* tests set it */
#define DENSE_BYTES 256u /* objects that are larger on average are walked faster than they are erased */
#endif
#define NOT_DEAD WIRE_GENERATION_COUNT /* in a struct dead: objects that are alive, or are not of generation 0 */
#define DEAD_SLOTS 4096u          /* direct-mapped: 96 KiB, of the second cache */

struct range {
    uintptr_t from, to;
    uint64_t length;
};

struct moved { /* an object between its old and its new place */
    uintptr_t to;
    uint32_t site, size, born;
};

static void *info;
bool lifetime_on;
static bool final_wanted, final_now, is_last, lost_moves, looked_at, mark_survivors, pass_old;
static bool by_difference;      /* the dead that were born in generation 0 since the last GC are not looked at one by one */
static bool walk_next;          /* the next GC must walk */
static struct list stayed = {.size = sizeof(uintptr_t)}; /* objects that the last GC left in generation 0 */
static struct list staying = {.size = sizeof(uintptr_t)}; /* and those that this one leaves there */
static uint64_t next_stayed;
static bool collecting; /* between GarbageCollectionStarted and Finished: a runtime that loses one of them does no harm */
static uint32_t lock_word; /* ranges come from several threads at once */
static struct list ranges = {.size = sizeof(struct range)}, moves = {.size = sizeof(struct moved)};
static struct list before = {.size = sizeof(struct bound)}, after = {.size = sizeof(struct bound)};
static struct list ends = {.size = sizeof(uint64_t)}; /* when each GC ended */
static struct list large = {.size = sizeof(uintptr_t)}; /* objects of LARGE_BYTES and more that were born since the last GC */
static struct population live[WIRE_GENERATION_COUNT];      /* after the last GC; since this one started, also those in large */
static struct population known;                            /* of those born since: those in large, by place */
static struct population pending;                          /* what had no site at the end of the last GC */
static struct list raw = {.size = sizeof(struct clr_generation_range)};
uint32_t gc_number;

static struct { /* the record in the making, laid out as in the log behind its header */
    uint32_t number, collected, induced, finalizable, pinned, since;
    uint64_t suspend_ns, start_ns, end_ns, done_ns;
    struct {
        struct population before, dead, promoted, after;
    } generations[WIRE_GENERATION_COUNT];
} gc;

static void add(struct population *p, uint64_t objects, uint64_t bytes)
{
    p->objects += objects;
    p->bytes += bytes;
}

bool list_reserve(struct list *l, uint64_t n)
{
    if (n <= l->capacity)
        return true;
    uint64_t capacity = l->capacity == 0 ? FIRST_RANGES : l->capacity;
    while (capacity < n)
        capacity *= 2;
    void *items = private_alloc(capacity * l->size);
    if (items == NULL)
        return false;
    if (l->items != NULL) {
        memcpy(items, l->items, l->n * l->size);
        private_free(l->items, l->capacity * l->size);
    }
    l->items = items;
    l->capacity = capacity;
    return true;
}

bool lifetime_init(void *profiler_info, bool final_gc)
{
    info = profiler_info;
    final_wanted = final_gc;
    survival_init(getenv("CLRPROF_ROOTS"));
    snapshot_init(info);
    lifetime_on = heap_init() && list_reserve(&ranges, 1) && list_reserve(&moves, 1) && list_reserve(&before, 1) &&
         list_reserve(&after, 1) && list_reserve(&raw, 1);
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
        loss(WIRE_LOSS_LIFETIME_FULL, 1, bytes);
}

void lifetime_attribute(struct thread *t, const struct wire_site *site)
{
    if (!lifetime_on)
        return;
    struct shadow *s = t->pending == 0 ? NULL : heap_find(t->pending);
    t->pending = 0;
    if (s == NULL) {
        if (site != NULL)
            loss(WIRE_LOSS_LIFETIME_FULL, 1, 0);
    } else if (site == NULL || (site->type & WIRE_SITE_FROZEN) != 0) {
        *s = (struct shadow){0, 0, 0}; /* all of it: a walk stops at any word that is not 0 */
    } else {
        s->site = (uint32_t)(site - arena.sites) + 1;
    }
    if (site != NULL)
        changes_note((uint32_t)(site - arena.sites) + 1, WIRE_CHANGE_ALLOCATED);
}

/* ── where generations are ──────────────────────────────────────────────────────────────────────────────────── */

static uintptr_t key_at(const struct list *l, uint64_t i)
{
    return *(const uintptr_t *)(const void *)((const uint8_t *)l->items + i * l->size);
}

/* Where a run that begins at i ends. */
static uint64_t run_end(const struct list *l, uint64_t i)
{
    do
        i++;
    while (i < l->n && key_at(l, i - 1) <= key_at(l, i));
    return i;
}

/* Sorts by the word with which each item begins. What the runtime tells is nearly in the order of addresses, or in one
 * such order for each heap: merging runs that are in order already is nearly free then, and never worse than n log n. */
bool list_sort(struct list *l)
{
    while (l->n > 1 && run_end(l, 0) < l->n) {
        struct list to = {.size = l->size};
        if (!list_reserve(&to, l->n))
            return false;
        for (uint64_t i = 0; i < l->n;) {
            uint64_t left = i, middle = run_end(l, i), right = middle, end = middle < l->n ? run_end(l, middle) : l->n;
            while (left < middle || right < end) {
                uint64_t from = right == end || (left < middle && key_at(l, left) <= key_at(l, right)) ? left++ : right++;
                memcpy((uint8_t *)to.items + i++ * l->size, (const uint8_t *)l->items + from * l->size, l->size);
            }
        }
        to.n = l->n;
        private_free(l->items, l->capacity * l->size);
        *l = to;
    }
    return true;
}

static bool ask_bounds(struct list *out)
{
    uint32_t n = 0;
    for (;;) {
        uint32_t capacity = (uint32_t)raw.capacity;
        if (SLOT(info, INFO_GET_GENERATION_BOUNDS, uint32_t, uint32_t *, struct clr_generation_range *)(info, capacity, &n, raw.items) < 0)
            return false;
        if (n <= capacity)
            break;
        if (n > MAX_BOUNDS || !list_reserve(&raw, n))
            return false;
    }
    if (!list_reserve(out, n))
        return false;
    struct bound *b = out->items;
    const struct clr_generation_range *r = raw.items;
    out->n = 0;
    for (uint32_t i = 0; i < n; i++)
        if (r[i].length != 0) /* an empty one can begin where another one does, and hide it */
            b[out->n++] = (struct bound){r[i].start, r[i].start + r[i].reserved, r[i].start + r[i].length, r[i].generation};
    return list_sort(out);
}

/* The generation of an address, or WIRE_GENERATION_COUNT. Neighbours are asked for one after the other, so *last
 * remembers where the last one was. With segments several generations share reserved space: the last that starts at
 * or below the address has it. */
static uint32_t generation_of(const struct list *bounds, uintptr_t address, const struct bound **last)
{
    const struct bound *b = bounds->items, *end = b + bounds->n;
    if (*last != NULL && address >= (*last)->start && address < (*last)->used)
        return (*last)->generation;
    uint64_t low = 0, high = bounds->n;
    while (low < high) {
        uint64_t middle = (low + high) / 2;
        if (b[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    for (b += low; b > (const struct bound *)bounds->items;) {
        b--;
        if (b < end && address < b->used) {
            *last = b;
            return b->generation;
        }
        if (address >= b->end)
            break;
    }
    return WIRE_GENERATION_COUNT;
}

/* ── the runtime's callbacks ────────────────────────────────────────────────────────────────────────────────── */

/* An object that was born since the last GC is not among those that died in generation 0. */
static void count_other(const struct shadow *s)
{
    if ((s->site & SHADOW_PENDING) != 0 || s->site == SHADOW_LEFT_OUT)
        return; /* it is not counted as born yet, or never */
    struct wire_site_deaths *deaths = &arena.deaths[(s->site & SHADOW_SITE) - 1];
    deaths->other_objects++;
    deaths->other_bytes += (uint64_t)s->size << 3;
}

/* Most objects are born in generation 0, which each GC looks through. These are not. */
static void count_large(void)
{
    const struct bound *last = NULL;
    known = (struct population){0, 0};
    for (uint64_t i = 0; i < large.n; i++) {
        uintptr_t at = ((const uintptr_t *)large.items)[i];
        uint32_t generation = generation_of(&before, at, &last);
        const struct shadow *s = heap_find(at);
        if (s == NULL || generation < WIRE_GENERATION_LARGE || generation >= WIRE_GENERATION_COUNT)
            continue;
        add(&live[generation], 1, (uint64_t)s->size << 3);
        add(&known, 1, (uint64_t)s->size << 3);
        if (generation == WIRE_GENERATION_LARGE)
            count_other(s);
    }
    large.n = 0;
}

static bool is_collected(const struct bound *b)
{
    return b->generation < WIRE_GENERATION_COUNT && (gc.collected >> b->generation & 1) != 0;
}

static hresult gc_started(void *self, int32_t n, const int32_t *collected, uint32_t reason)
{
    (void)self;
    watch_look();
    if (arena.header->alive_known != 0 || !arena_is_ours())
        return HR_OK; /* what died since then was told as alive */
    uint64_t suspend = gc.suspend_ns;
    memset(&gc, 0, sizeof gc);
    gc.suspend_ns = suspend;
    gc.start_ns = monotonic_ns();
    gc.number = collecting ? gc_number : __atomic_add_fetch(&gc_number, 1, __ATOMIC_RELEASE);
    collecting = true;
    gc.induced = reason == 1;
    for (int32_t i = 0; i < n && i < (int32_t)WIRE_GENERATION_COUNT; i++)
        gc.collected |= collected[i] != 0 ? 1u << i : 0;
    ranges.n = 0;
    is_last = lifetime_on && __atomic_load_n(&final_now, __ATOMIC_ACQUIRE) && (gc.collected & 4) != 0;
    bool snapshot = lifetime_on && snapshot_begin(gc.number, gc.collected, is_last);
    looked_at = survival_begin(gc.number, gc.collected, gc.induced != 0 || is_last, snapshot);
    if (lifetime_on && !ask_bounds(&before))
        lost_moves = true;
    count_large();
    mark_survivors = false; /* if all is collected, all that is alive has survived */
    for (uint64_t i = 0; i < before.n && looked_at; i++)
        mark_survivors = mark_survivors || !is_collected(&((const struct bound *)before.items)[i]);
    events_gc_started();
    return HR_OK;
}

static void add_range(uintptr_t from, uintptr_t to, uint64_t length)
{
    if (list_reserve(&ranges, ranges.n + 1))
        ((struct range *)ranges.items)[ranges.n++] = (struct range){from, to, length};
    else
        lost_moves = true;
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

static void attribute_moved_pending(uint32_t site, uintptr_t to)
{
    struct thread *t = (site & SHADOW_PENDING) != 0 ? thread_of_id(site & ~(SHADOW_PENDING | SHADOW_SURVIVED)) : NULL;
    if (t != NULL)
        t->pending = to;
}

static uint32_t gc_bucket(uint32_t survived)
{
    static const uint32_t most[WIRE_AGE_GC_BUCKETS] = {0, 1, 2, 4, 8, 16, 64, UINT32_MAX};
    uint32_t i = 0;
    for (; survived > most[i]; i++)
        ;
    return i;
}

static uint32_t time_bucket(uint64_t ns)
{
    uint32_t i = 0;
    for (uint64_t limit = 1000000; i < WIRE_AGE_TIME_BUCKETS - 1 && ns >= limit; limit *= 10)
        i++;
    return i;
}

/* When a GC ended; its number counts from 1. */
static uint64_t end_of(uint32_t number)
{
    return number - 1 < ends.n ? ((const uint64_t *)ends.items)[number - 1] : 0;
}

static struct wire_ages *ages_of(struct wire_site_deaths *deaths)
{
    struct wire_ages *all = (struct wire_ages *)(void *)(arena.base + arena.header->regions[WIRE_REGION_AGES].offset);
    if (deaths->ages == 0 && arena_has_room(ROOM_AGES)) {
        arena_lock();
        struct wire_ages *made = arena_reserve(WIRE_REGION_AGES, sizeof *made);
        if (made != NULL) {
            arena_publish(WIRE_REGION_AGES, sizeof *made);
            deaths->ages = (uint32_t)(made - all) + 1;
        }
        arena_unlock();
    }
    return deaths->ages == 0 ? NULL : &all[deaths->ages - 1];
}

/* Counts the dead of one site that lie together; for those that survived a GC count_age has been called. */
static void count_dead(uint32_t site, uint32_t generation, uint64_t objects, uint64_t bytes)
{
    if (objects == 0 || site == SHADOW_LEFT_OUT)
        return;
    add(&gc.generations[generation].before, objects, bytes);
    add(&gc.generations[generation].dead, objects, bytes);
    if ((site & SHADOW_PENDING) != 0)
        return; /* cannot be: its thread holds it */
    struct wire_site_deaths *deaths = &arena.deaths[site - 1];
    deaths->dead_objects[generation] += objects;
    deaths->dead_bytes[generation] += bytes;
    changes_note(site, generation);
}

static void count_age(const struct shadow *s, uint32_t survived)
{
    if ((s->site & SHADOW_PENDING) != 0 || s->site == SHADOW_LEFT_OUT)
        return;
    struct wire_ages *ages = ages_of(&arena.deaths[s->site - 1]);
    if (ages == NULL) {
        loss(WIRE_LOSS_AGES, 1, (uint64_t)s->size << 3); /* it counts as dead, without an age */
        return;
    }
    ages->by_collections[gc_bucket(survived)]++;
    ages->by_time[time_bucket(gc.end_ns - end_of(s->born + 1))]++;
}

/* Something wrote over the shadow, which is the program's memory too. What is left of it cannot be believed. */
static COLD void note_damage(void)
{
    lost_moves = true;
}

/* Can the shadow of an object that has died say so? */
static bool is_site(uint32_t site)
{
    return (site & SHADOW_PENDING) != 0 || site == SHADOW_LEFT_OUT || (uint64_t)site * sizeof(struct wire_site) <= arena.header->regions[WIRE_REGION_SITES].used;
}
/* The dead are counted together, by site and generation, before the deaths of their sites are touched: programs with many types take turns
 * between many sites, whose deaths would not stay in the cache. */
static struct dead {
    uint32_t site, generation;
    uint64_t objects, bytes;
} dead_slots[DEAD_SLOTS];

static void tell_dead(struct dead *d)
{
    if (d->generation != NOT_DEAD) {
        count_dead(d->site, d->generation, d->objects, d->bytes);
    } else if (d->objects != 0) {
        arena.deaths[d->site - 1].other_objects += d->objects;
        arena.deaths[d->site - 1].other_bytes += d->bytes;
    }
    d->objects = d->bytes = 0;
}

static struct dead *dead_of(uint32_t site, uint32_t generation)
{
    struct dead *d = &dead_slots[site % DEAD_SLOTS];
    if (d->site != site || d->generation != generation) {
        tell_dead(d);
        d->site = site;
        d->generation = generation;
    }
    return d;
}

static void tell_all_dead(void)
{
    for (uint32_t i = 0; i < DEAD_SLOTS; i++)
        tell_dead(&dead_slots[i]);
}

static void walk_dead_words(uint32_t *words, uint64_t n, uint64_t *at, uint32_t generation)
{
    struct dead none = {0, 0, 0, 0}, *d = &none;
    uint32_t born_now = gc.number - 1;
    uint64_t i = 0;
    while (i < n) {
        struct shadow *s = (struct shadow *)(void *)&words[i];
        if (s->site == 0) {
            i++;
            continue;
        }
        if (s->site != d->site) {
            if (UNLIKELY(!is_site(s->site))) {
                note_damage();
                return;
            }
            d = dead_of(s->site, generation);
        }
        uint64_t size = s->size;
        if (UNLIKELY(size == 0)) {
            note_damage();
            return;
        }
        if (s->born != born_now)
            count_age(s, born_now - s->born);
        d->objects++;
        d->bytes += size << 3;
        s->site = s->size = s->born = 0;
        i += size;
    }
    *at += i << 3; /* the last one may reach beyond these words */
}

/* What the last GC left in generation 0 is looked at; of what was born there since, there is only the shadow. */
static void erase_dead(uintptr_t at, uintptr_t end)
{
    const uintptr_t *left = stayed.items;
    uintptr_t next;
    for (; next_stayed < stayed.n && left[next_stayed] < end; next_stayed++) {
        const struct shadow *s = left[next_stayed] < at ? NULL : heap_find(left[next_stayed]);
        if (s == NULL || s->born == gc.number - 1)
            continue;
        if (UNLIKELY(!is_site(s->site))) {
            note_damage();
            return;
        }
        struct dead *d = dead_of(s->site, 0);
        count_age(s, gc.number - 1 - s->born);
        d->objects++;
        d->bytes += (uint64_t)s->size << 3;
    }
    for (; at < end; at = next) {
        uint32_t *words = heap_span(at, end, &next);
        size_t beyond = (next & ((UINT64_C(1) << CHUNK_SHIFT) - 1)) == 0 ? 2 : 0; /* of an object that begins at a chunk's end */
        if (words != NULL)
            memset(words, 0, (((next - at) >> 3) + beyond) * sizeof *words);
    }
}

/* Whatever lies between the survivors of a collected generation is dead: counted, and erased. */
static void walk_dead(uintptr_t at, uintptr_t end, uint32_t generation)
{
    if (generation == 0 && by_difference) {
        erase_dead(at, end);
        return;
    }
    while (at < end && !lost_moves) {
        uintptr_t next;
        uint32_t *words = heap_span(at, end, &next);
        if (words == NULL)
            at = next;
        else
            walk_dead_words(words, (next - at) >> 3, &at, generation);
    }
}

static bool gather(struct shadow *s, uintptr_t to)
{
    if (moves.n == moves.capacity && !list_reserve(&moves, moves.n + 1))
        return false;
    struct moved *m = (struct moved *)moves.items + moves.n++;
    m->to = to;
    m->site = s->site;
    m->size = s->size;
    m->born = s->born;
    attribute_moved_pending(s->site, to);
    s->site = s->size = s->born = 0;
    return true;
}

/* Has the agent lost objects for a reason that is counted? Then survivors without a shadow are no surprise. */
static COLD bool objects_were_lost(void)
{
    static const uint32_t reasons[] = {WIRE_LOSS_ARENA_FULL, WIRE_LOSS_NO_THREAD_STATE, WIRE_LOSS_REENTERED, WIRE_LOSS_LIFETIME_FULL};
    for (uint32_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++)
        if (__atomic_load_n(&arena.header->losses[reasons[i]].events, __ATOMIC_RELAXED) != 0)
            return true;
    return false;
}

/* Counts neighbours that survived: where they were, and where they are. */
static void count_survivors(uint32_t was, uint32_t is, struct population p)
{
    if (was == WIRE_GENERATION_COUNT)
        return;
    add(&gc.generations[was].before, p.objects, p.bytes);
    if (is == WIRE_GENERATION_COUNT)
        return;
    add(&gc.generations[is].after, p.objects, p.bytes);
    if (is > was && was < 2)
        add(&gc.generations[was].promoted, p.objects, p.bytes);
}

/* Nothing becomes of an object of generation 2 that stays where it is: such neighbours are not looked at one by one, which
 * would be most of what a full GC of a large heap costs. How many they are follows from what is known of the others. An object
 * that was not seen allocated is found when it comes there from another generation. */
static void count_passed(void)
{
    const struct population *all = &live[2], *seen = &gc.generations[2].before;
    if (pass_old && !lost_moves && (gc.collected >> 2 & 1) != 0 && all->objects >= seen->objects && all->bytes >= seen->bytes)
        count_survivors(2, 2, (struct population){all->objects - seen->objects, all->bytes - seen->bytes});
}

static void count_newborn(const struct shadow *s)
{
    if ((s->site & SHADOW_PENDING) != 0 || s->site == SHADOW_LEFT_OUT)
        return;
    struct dead *d = dead_of(s->site, NOT_DEAD);
    d->objects++;
    d->bytes += (uint64_t)s->size << 3;
}

static void keep_stayed(uintptr_t place)
{
    if (list_reserve(&staying, staying.n + 1))
        ((uintptr_t *)staying.items)[staying.n++] = place;
    else
        walk_next = true;
}

struct part { /* of a surviving range: in one generation, or in none that is known */
    uintptr_t distance;     /* to where it is now */
    uint32_t was, is;
    bool newborn;           /* what was born since the last GC was born in generation 0 */
    struct population runs; /* neighbours that are not counted yet */
};

/* Objects that survived side by side, in one piece of the shadow. Returns where the next one should be, and is none, or the end. */
static uintptr_t walk_neighbours(uintptr_t at, uintptr_t end, struct part *p)
{
    uint32_t born_now = gc.number - 1;
    uint32_t *words = heap_span(at, end, &end);
    while (words != NULL && at < end && !lost_moves) {
        struct shadow *s = (struct shadow *)(void *)words;
        uint64_t size = s->size;
        if (s->site == 0)
            break;
        if (UNLIKELY(size == 0))
            note_damage();
        if (LIKELY((s->site & SHADOW_SITE) != SHADOW_LEFT_OUT)) {
            p->runs.objects++;
            p->runs.bytes += size << 3;
        }
        if (s->born == born_now && p->newborn)
            count_newborn(s);
        if (p->is == 0)
            keep_stayed(at + p->distance);
        if (mark_survivors)
            s->site |= SHADOW_SURVIVED;
        if (p->distance != 0 && !gather(s, at + p->distance))
            lost_moves = true;
        words += size;
        at += size << 3;
    }
    return at;
}

static void walk_survivors(uintptr_t from, uintptr_t end, uintptr_t to, uint32_t was)
{
    const struct bound *now = NULL;
    struct part p = {.distance = to - from, .was = was, .is = WIRE_GENERATION_COUNT};
    p.newborn = by_difference && was != WIRE_GENERATION_LARGE && was != WIRE_GENERATION_PINNED;
    for (uintptr_t at = from; at < end && !lost_moves;) {
        uintptr_t place = at + p.distance;
        if (UNLIKELY(now == NULL || place - now->start >= now->used - now->start)) {
            count_survivors(was, p.is, p.runs);
            p.runs = (struct population){0, 0};
            p.is = generation_of(&after, place, &now);
            if (pass_old && place == at && was == 2 && p.is == 2) {
                at = end < now->used ? end : now->used;
                continue;
            }
        }
        uintptr_t room = p.is == WIRE_GENERATION_COUNT ? 8 : now->used - place, next = walk_neighbours(at, end - at < room ? end : at + room, &p);
        if (next == at) {
            next = heap_next(at + 8, end);
            if (!objects_were_lost() && !control_was_off)
                loss(WIRE_LOSS_UNTRACKED, 0, next - at);
        }
        at = next;
    }
    count_survivors(was, p.is, p.runs);
}

/* The collected generations, as they were before, from one end to the other: survivors and what is between them. */
static void walk_collected(void)
{
    struct range *r = ranges.items, *last = r + ranges.n;
    for (uint64_t i = 0; i < before.n && !lost_moves; i++) {
        const struct bound *b = &((const struct bound *)before.items)[i];
        if (!is_collected(b) || b->used <= b->start)
            continue;
        uintptr_t at = b->start;
        for (; r < last && r->from < b->used && !lost_moves;) {
            uintptr_t end = r->from + r->length, part = end < b->used ? end : b->used;
            if (r->from < at) { /* in no collected generation that is known */
                part = end < at ? end : at;
                walk_survivors(r->from, part, r->to, WIRE_GENERATION_COUNT);
            } else {
                walk_dead(at, r->from, b->generation);
                walk_survivors(r->from, part, r->to, b->generation);
                at = part;
            }
            r->to += part - r->from;
            r->length = end - part;
            r->from = part;
            if (r->length != 0)
                break; /* it goes on in the next generation's part of a segment */
            r++;
        }
        if (!lost_moves)
            walk_dead(at, b->used, b->generation);
    }
    for (; r < last && !lost_moves; r++)
        walk_survivors(r->from, r->from + r->length, r->to, WIRE_GENERATION_COUNT);
    tell_all_dead();
}

static bool has_pinned_heap(void)
{
    for (uint64_t i = 0; i < before.n; i++)
        if (((const struct bound *)before.items)[i].generation == WIRE_GENERATION_PINNED)
            return true;
    return false;
}

/* The heap of pinned objects is small; objects of any size are born there. */
static void count_pinned_heap(void)
{
    for (uint64_t i = 0; i < before.n; i++) {
        const struct bound *b = &((const struct bound *)before.items)[i];
        if (b->generation != WIRE_GENERATION_PINNED)
            continue;
        for (uintptr_t at = heap_next(b->start, b->used); at < b->used; at = heap_next(at, b->used)) {
            const struct shadow *s = heap_find(at);
            if (s->born == gc.number - 1)
                count_other(s);
            at += s->size == 0 ? 8 : (uintptr_t)s->size << 3;
        }
    }
}

static void choose_way(void)
{
    struct population born = changes_born();
    by_difference = !lost_moves && !walk_next && (gc.collected & 1) != 0 && has_pinned_heap() && !objects_were_lost() &&
                    born.bytes <= DENSE_BYTES * born.objects && list_sort(&stayed);
    next_stayed = staying.n = 0;
    walk_next = false;
    if (by_difference)
        count_pinned_heap();
}

static void count_born_and_dead(void)
{
    struct population dead = changes_count(by_difference);
    add(&gc.generations[0].before, dead.objects, dead.bytes);
    add(&gc.generations[0].dead, dead.objects, dead.bytes);
    struct list was = stayed;
    stayed = staying;
    staying = was;
}

static void finish_gc(void)
{
    moves.n = 0;
    if (!ask_bounds(&after) || !list_sort(&ranges))
        lost_moves = true;
    pass_old = !mark_survivors && !objects_were_lost();
    choose_way();
    if (!lost_moves)
        walk_collected();
    count_born_and_dead();
    count_passed();
    for (uint64_t i = 0; i < moves.n && !lost_moves; i++) {
        const struct moved *m = &((const struct moved *)moves.items)[i];
        struct shadow *s = heap_place(m->to);
        if (s == NULL)
            loss(WIRE_LOSS_LIFETIME_FULL, 1, (uint64_t)m->size << 3);
        else
            *s = (struct shadow){m->site, m->size, m->born};
    }
    if (lost_moves) {
        loss(WIRE_LOSS_MOVES, 0, 0);
        lifetime_on = false;
    }
}

/* What was born since the last GC, and the next GC's part of it: see changes.c. */
static struct population count_born(bool last)
{
    struct population born = changes_tell(gc.number, last, &gc.since), was = pending;
    pending = (struct population){0, 0};
    for (struct thread *t = thread_after(NULL); t != NULL; t = thread_after(t)) {
        const struct shadow *s = t->pending == 0 ? NULL : heap_find(t->pending);
        recents_note(t);
        if (s != NULL)
            add(&pending, 1, (uint64_t)s->size << 3);
    }
    walk_next = walk_next || pending.objects != 0 || (gc.collected & 1) == 0;
    add(&born, pending.objects - was.objects, pending.bytes - was.bytes);
    return born;
}

/* Completes what is known of the generations that were not collected. All but those on the heaps of large and of pinned
 * objects were born in generation 0, which was looked through. Of the others the large ones are known. The rest is
 * small and was born on the pinned object heap, or if there is none, as before .NET 5, the runtime's own arrays on the
 * large object heap. Differences can be less than 0 for a while, and wrap around. */
static void count_uncollected(struct population born)
{
    struct population *rest = &live[has_pinned_heap() ? WIRE_GENERATION_PINNED : WIRE_GENERATION_LARGE];
    const struct population *young = &gc.generations[0].before;
    if (!objects_were_lost())
        add(rest, born.objects - known.objects - (young->objects - live[0].objects), born.bytes - known.bytes - (young->bytes - live[0].bytes));
    for (uint32_t g = 0; g < WIRE_GENERATION_COUNT; g++) {
        if ((gc.collected >> g & 1) == 0) {
            gc.generations[g].before = live[g];
            add(&gc.generations[g].after, live[g].objects, live[g].bytes);
        }
        live[g] = gc.generations[g].after;
    }
}

struct cohort { /* objects of one site and one birth in one generation */
    uint32_t site, born;
    uint64_t objects, bytes;
};

static void tell_cohort(const struct cohort *c, uint32_t generation)
{
    struct {
        uint32_t site, generation, born, reserved;
        uint64_t objects, bytes;
    } alive = {c->site, generation, c->born, 0, c->objects, c->bytes};
    if (c->objects != 0 && !arena_log(WIRE_RECORD_ALIVE, &alive, sizeof alive))
        loss(WIRE_LOSS_LIFETIME_FULL, c->objects, c->bytes);
}

/* Neighbours on the heap are often of one site and birth, and a site's objects come together after compaction: a small
 * direct-mapped table collects most of a cohort before it is told. The reader adds up what is told in parts. */
#define COHORT_SLOTS 4096u

static void tell_alive_in(uint32_t generation, struct cohort *slots)
{
    memset(slots, 0, COHORT_SLOTS * sizeof *slots);
    for (uint64_t i = 0; i < after.n; i++) {
        const struct bound *b = &((const struct bound *)after.items)[i];
        if (b->generation != generation)
            continue;
        for (uintptr_t at = heap_next(b->start, b->used); at < b->used; at = heap_next(at, b->used)) {
            const struct shadow *s = heap_find(at);
            uint64_t bytes = (uint64_t)s->size << 3;
            if ((s->site & SHADOW_PENDING) != 0 || s->site == SHADOW_LEFT_OUT) { /* a thread stopped before it knew the site, which is not told an object either */
                at += bytes == 0 ? 8 : bytes;
                continue;
            }
            struct cohort *c = &slots[(s->site * 31 + s->born) % COHORT_SLOTS];
            if (c->site != s->site || c->born != s->born) {
                tell_cohort(c, generation);
                *c = (struct cohort){s->site, s->born, 0, 0};
            }
            c->objects++;
            c->bytes += bytes;
            at += bytes == 0 ? 8 : bytes;
        }
    }
    for (uint32_t i = 0; i < COHORT_SLOTS; i++)
        tell_cohort(&slots[i], generation);
}

static void tell_alive(void)
{
    struct cohort *slots = private_alloc(COHORT_SLOTS * sizeof *slots);
    if (slots == NULL) {
        loss(WIRE_LOSS_LIFETIME_FULL, 0, 0);
        return;
    }
    arena_lock();
    for (uint32_t generation = 0; generation < WIRE_GENERATION_COUNT; generation++)
        tell_alive_in(generation, slots);
    __atomic_store_n(&arena.header->alive_known, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&code_epoch, 1, __ATOMIC_RELEASE); /* no thread counts what it allocates from here on */
    arena_unlock();
    private_free(slots, COHORT_SLOTS * sizeof *slots);
}

static hresult gc_finished(void *self)
{
    (void)self;
    if (!collecting)
        return HR_OK;
    collecting = false;
    if (!events_gc_finished())
        lost_moves = true;
    gc.end_ns = monotonic_ns();
    if (lifetime_on && list_reserve(&ends, ends.n + 1))
        ((uint64_t *)ends.items)[ends.n++] = gc.end_ns;
    if (lifetime_on)
        finish_gc();
    if (snapshot_writing)
        snapshot_end_objects();
    if (lifetime_on && looked_at)
        survival_tell(gc.number, after.items, after.n, !mark_survivors);
    if (snapshot_writing)
        snapshot_finish(after.items, after.n);
    gc.since = gc.number;
    gc.pinned = survival_pinned();
    if (lifetime_on)
        count_uncollected(count_born(is_last));
    if (lifetime_on && is_last)
        tell_alive();
    gc.done_ns = monotonic_ns();
    arena_lock();
    if (arena_log(WIRE_RECORD_GC, &gc, sizeof gc))
        arena.header->collections++;
    else
        loss(WIRE_LOSS_LIFETIME_FULL, 0, 0);
    arena_unlock();
    gc.suspend_ns = 0;
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

/* ForceGC is refused inside a callback; a thread of the agent's own may ask for it while the callback waits. */
void lifetime_end(void)
{
    sigset_t all, old;
    pthread_t thread;
    if (!lifetime_on || !final_wanted || arena.header->alive_known != 0)
        return;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int rc = pthread_create(&thread, NULL, last_gc, NULL);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (rc == 0)
        pthread_join(thread, NULL);
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
    struct list *all[] = {&stayed, &staying, &ranges, &moves, &before, &after, &ends, &large, &raw};
    collecting = false;
    for (uint32_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (all[i]->items != NULL)
            private_free(all[i]->items, all[i]->capacity * all[i]->size);
        *all[i] = (struct list){.size = all[i]->size};
    }
    heap_forget(); /* what a thread that was in the middle of it noted */
}

uint32_t lifetime_event_mask(void)
{
    return MONITOR_GC | MONITOR_SUSPENDS;
}

void lifetime_install(void **callbacks)
{
    callbacks[CALLBACK_OBJECT_ALLOCATED] = (void *)object_allocated_lifetime;
    callbacks[CALLBACK_RUNTIME_SUSPEND_STARTED] = (void *)gc_suspend_started;
    callbacks[CALLBACK_OBJECT_REFERENCES] = (void *)gc_references;
    callbacks[CALLBACK_GC_STARTED] = (void *)gc_started;
    callbacks[CALLBACK_GC_FINISHED] = (void *)gc_finished;
    callbacks[CALLBACK_FINALIZABLE_QUEUED] = (void *)gc_finalizable;
    callbacks[CALLBACK_DEPENDENT_REFERENCES] = (void *)snapshot_dependents;
    callbacks[CALLBACK_ROOT_REFERENCES2] = (void *)survival_roots;
    callbacks[CALLBACK_MOVED_REFERENCES2] = (void *)gc_moved;
    callbacks[CALLBACK_SURVIVING_REFERENCES2] = (void *)gc_survived;
}
