/* What a garbage collection did to the objects: the walk over their shadow.
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
 * A range whose first word is no object's is "untracked" and counted; it has not been seen on any runtime. */
#include "core/arena.h"
#include "heap/allocation_samples.h"
#include "heap/site_growth.h"
#include "heap/gc.h"
#include "control/recording_state.h"
#include "heap/ending.h"
#include "heap/shadow_heap.h"
#include "threads/threads.h"

#include <string.h>

#ifndef DENSE_BYTES /* tests set it */
#define DENSE_BYTES 256u /* objects that are larger on average are walked faster than they are erased */
#endif
#define NOT_DEAD WIRE_GENERATION_COUNT /* in a struct dead: objects that are alive, or are not of generation 0 */
#define FREED 0x100u /* with a generation: what was alive when the program began to end */
#define DEAD_SLOTS 4096u                       /* direct-mapped: 96 KiB, of the second cache */

struct moved { /* an object between its old and its new place */
    uintptr_t to;
    uint32_t site, size, born;
};

static bool pass_old;           /* what stays in generation 2 is not looked at */
static bool by_difference;      /* the dead that were born in generation 0 since the last GC are not looked at one by one */
static bool walk_next;          /* the next GC must walk */
static struct list stayed = {.size = sizeof(uintptr_t)}; /* objects that the last GC left in generation 0 */
static struct list staying = {.size = sizeof(uintptr_t)}; /* and those that this one leaves there */
static uint64_t next_stayed;
static uint32_t beginning; /* number of the collection at which the program began to end, 0: it did not */
static struct list moves = {.size = sizeof(struct moved)};
static struct list ends = {.size = sizeof(uint64_t)}; /* when each GC ended */

bool walk_init(void)
{
    return list_reserve(&moves, 1);
}

void walk_give_back(void)
{
    list_give_back(&stayed);
    list_give_back(&staying);
    list_give_back(&moves);
    list_give_back(&ends);
}

void walk_next_time(void)
{
    walk_next = true;
}

/* ── the dead ───────────────────────────────────────────────────────────────────────────────────────────────── */

/* An object that was born since the last GC is not among those that died in generation 0. */
void walk_count_other(const struct shadow *s)
{
    if ((s->site & SHADOW_PENDING) != 0 || !shadow_has_site(s->site))
        return; /* it is not counted as born yet, or never */
    struct wire_site_deaths *deaths = &arena.deaths[(s->site & SHADOW_SITE) - 1];
    deaths->other_objects++;
    deaths->other_bytes += (uint64_t)s->size << 3;
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

struct wire_ages *walk_ages_of(struct wire_site_deaths *deaths)
{
    struct wire_ages *all = (struct wire_ages *)(void *)(arena.base + arena.header->regions[WIRE_REGION_AGES].offset);
    if (deaths->ages == 0 && arena_has_room(ROOM_AGES)) {
        arena_lock();
        struct wire_ages *made = arena_reserve(WIRE_REGION_AGES, sizeof *made);
        if (made != NULL) {
            arena_publish(WIRE_REGION_AGES, sizeof *made);
            __atomic_store_n(&deaths->ages, (uint32_t)(made - all) + 1, __ATOMIC_RELEASE);
        }
        arena_unlock();
    }
    return deaths->ages == 0 ? NULL : &all[deaths->ages - 1];
}

/* Counts the dead of one site that lie together; for those that survived a GC count_age has been called. */
static void count_dead(uint32_t site, uint32_t generation, uint64_t objects, uint64_t bytes)
{
    bool freed = (generation & FREED) != 0;
    generation &= ~FREED;
    if (objects == 0 || ((site & SHADOW_PENDING) == 0 && !shadow_has_site(site)))
        return;
    objects *= shadow_objects(site);
    bytes *= shadow_objects(site);
    population_add(&gc.generations[generation].before, objects, bytes);
    population_add(&gc.generations[generation].dead, objects, bytes);
    if (freed)
        population_add(&gc.generations[generation].freed, objects, bytes);
    if ((site & SHADOW_PENDING) != 0) { /* a sample; a thread holds the object whose site it is about to know */
        samples_died(site, generation);
        return;
    }
    if (freed) {
        ending_count_freed(site, generation, objects, bytes);
        return;
    }
    struct wire_site_deaths *deaths = &arena.deaths[site - 1];
    deaths->dead_objects[generation] += objects;
    __atomic_store_n(&deaths->dead_bytes[generation], deaths->dead_bytes[generation] + bytes, __ATOMIC_RELEASE); /* as the reader takes them */
    changes_note(site, generation);
}

static void count_age(const struct shadow *s, uint32_t survived)
{
    if ((s->site & SHADOW_PENDING) != 0)
        samples_aged(s->site, gc_bucket(survived), time_bucket(gc.end_ns - end_of(s->born + 1)));
    if ((s->site & SHADOW_PENDING) != 0 || !shadow_has_site(s->site))
        return;
    uint32_t objects = shadow_objects(s->site);
    if (s->born < beginning) {
        ending_count_age(s->site, gc_bucket(survived), time_bucket(gc.end_ns - end_of(s->born + 1)));
        return;
    }
    struct wire_ages *ages = walk_ages_of(&arena.deaths[s->site - 1]);
    if (ages == NULL) {
        loss(WIRE_LOSS_AGES, objects, (uint64_t)objects * s->size << 3); /* it counts as dead, without an age */
        return;
    }
    ages->by_collections[gc_bucket(survived)] += objects;
    ages->by_time[time_bucket(gc.end_ns - end_of(s->born + 1))] += objects;
}

bool shadow_is_damaged(uint32_t site)
{
    return (site & SHADOW_PENDING) == 0 && shadow_has_site(site) && (uint64_t)site * sizeof(struct wire_site) > arena.header->regions[WIRE_REGION_SITES].used;
}

/* Something wrote over the shadow, which is the program's memory too. What is left of it cannot be believed. */
static COLD void note_damage(void)
{
    gc_lost = true;
}

/* The dead are counted together, by site and generation, before the deaths of their sites are touched: programs with many types take turns
 * between many sites, whose deaths would not stay in the cache. */
static struct dead {
    uint32_t site, generation;
    uint64_t objects, bytes;
} dead_slots[DEAD_SLOTS];
static uint16_t used_slots[DEAD_SLOTS]; /* indexes of the dead_slots to report: most collections fill few, and need not look through all */
static uint32_t n_used_slots;

static void report_dead(struct dead *d)
{
    if (d->generation != NOT_DEAD) { /* with FREED, too */
        count_dead(d->site, d->generation, d->objects, d->bytes);
    } else if (d->objects != 0) {
        arena.deaths[d->site - 1].other_objects += d->objects;
        arena.deaths[d->site - 1].other_bytes += d->bytes;
    }
    d->objects = d->bytes = 0;
}

/* The generation that an object counts in that has died: see ending.c. */
static uint32_t died_in(const struct shadow *s, uint32_t generation)
{
    return s->born < beginning ? generation | FREED : generation;
}

/* The caller counts an object there. */
static struct dead *dead_of(uint32_t site, uint32_t generation)
{
    struct dead *d = &dead_slots[site % DEAD_SLOTS];
    if (d->objects == 0)
        used_slots[n_used_slots++] = (uint16_t)(site % DEAD_SLOTS);
    if (d->site != site || d->generation != generation) {
        report_dead(d);
        d->site = site;
        d->generation = generation;
    }
    return d;
}

static void report_all_dead(void)
{
    for (uint32_t i = 0; i < n_used_slots; i++)
        report_dead(&dead_slots[used_slots[i]]);
    n_used_slots = 0;
}

/* Words of a chunk, by their indexes. Returns where the last object ends, which can be behind them. */
static uint64_t walk_dead_words(uint32_t *chunk, uint64_t from, uint64_t n, uint32_t generation)
{
    struct dead none = {0, 0, 0, 0}, *d = &none;
    uint32_t born_now = gc.number - 1;
    uint64_t i = from;
    while (i < n) {
        struct shadow *s = heap_at(chunk, i);
        if (s == NULL) {
            i = heap_skip(chunk, i, n);
            continue;
        }
        uint32_t in = died_in(s, generation);
        uint64_t size = s->size;
        if (UNLIKELY(size == 0)) {
            note_damage();
            return n;
        }
        if (s->site != d->site || in != d->generation) {
            if (UNLIKELY(shadow_is_damaged(s->site))) {
                note_damage();
                return n;
            }
            d = dead_of(s->site, in);
        }
        if (s->born != born_now)
            count_age(s, born_now - s->born);
        d->objects++;
        d->bytes += size << 3;
        s->site = s->size = s->born = 0;
        i += size;
    }
    heap_emptied(chunk, from, n);
    return i;
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
        if (UNLIKELY(shadow_is_damaged(s->site))) {
            note_damage();
            return;
        }
        struct dead *d = dead_of(s->site, died_in(s, 0));
        count_age(s, gc.number - 1 - s->born);
        d->objects++;
        d->bytes += (uint64_t)s->size << 3;
    }
    for (; at < end; at = next) {
        uint64_t from = (at >> 3) & (CHUNK_WORDS - 1);
        uint32_t *chunk = heap_chunk(at);
        next = heap_chunk_end(at, end);
        if (chunk != NULL)
            heap_erase(chunk, from, from + ((next - at) >> 3));
    }
}

/* Whatever lies between the survivors of a collected generation is dead: counted, and erased. */
static void walk_dead(uintptr_t at, uintptr_t end, uint32_t generation)
{
    if (generation == 0 && by_difference) {
        erase_dead(at, end);
        return;
    }
    while (at < end && !gc_lost) {
        uintptr_t next = heap_chunk_end(at, end);
        uint64_t from = (at >> 3) & (CHUNK_WORDS - 1);
        uint32_t *chunk = heap_chunk(at);
        at = chunk == NULL ? next : at + ((walk_dead_words(chunk, from, from + ((next - at) >> 3), generation) - from) << 3);
    }
}

void walk_let_die(struct shadow *s, uint32_t was, uint32_t is)
{
    struct population *promoted = &gc.generations[was % WIRE_GENERATION_COUNT].promoted;
    uint64_t objects = shadow_objects(s->site), bytes = (uint64_t)s->size << 3, all = objects * bytes;
    if (was >= WIRE_GENERATION_COUNT || is >= WIRE_GENERATION_COUNT)
        return; /* it stays alive */
    population_add(&gc.generations[was].before, 0 - objects, 0 - all); /* count_dead adds it again */
    population_add(&gc.generations[is].after, 0 - objects, 0 - all);
    if (is > was && was < 2)
        population_add(promoted, 0 - objects, 0 - all);
    uint32_t site = s->site & SHADOW_SITE;
    if (s->born != gc.number - 1)
        count_age(&(struct shadow){site, s->size, s->born}, gc.number - 1 - s->born);
    count_dead(site, died_in(s, was), 1, bytes);
    if (gc_goes_on)
        s->site = SHADOW_COUNTED;
    else
        *s = (struct shadow){0, 0, 0};
}

/* ── the survivors ──────────────────────────────────────────────────────────────────────────────────────────── */

static void attribute_moved_pending(uint32_t site, uintptr_t to)
{
    if (samples_on)
        samples_moved(site, to);
    struct thread *t = (site & SHADOW_PENDING) != 0 ? thread_of_id(site & ~(SHADOW_PENDING | SHADOW_SURVIVED)) : NULL;
    if (t != NULL)
        t->pending = to;
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

/* Counts neighbours that survived: where they were, and where they are. */
static void count_survivors(uint32_t was, uint32_t is, struct population p)
{
    if (was == WIRE_GENERATION_COUNT)
        return;
    population_add(&gc.generations[was].before, p.objects, p.bytes);
    if (is == WIRE_GENERATION_COUNT)
        return;
    population_add(&gc.generations[is].after, p.objects, p.bytes);
    if (is > was && was < 2)
        population_add(&gc.generations[was].promoted, p.objects, p.bytes);
}

/* Nothing becomes of an object of generation 2 that stays where it is: such neighbours are not looked at one by one, which
 * would be most of what a full GC of a large heap costs. How many they are follows from what is known of the others. An object
 * that was not seen allocated is found when it comes there from another generation. */
static void count_passed(void)
{
    const struct population *all = &gc_live[2], *seen = &gc.generations[2].before;
    if (pass_old && !gc_lost && (gc.collected >> 2 & 1) != 0 && all->objects >= seen->objects && all->bytes >= seen->bytes)
        count_survivors(2, 2, (struct population){all->objects - seen->objects, all->bytes - seen->bytes});
}

static void count_newborn(const struct shadow *s)
{
    if ((s->site & SHADOW_PENDING) != 0 || !shadow_has_site(s->site))
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
    uint32_t *chunk = heap_chunk(at);
    uint64_t word = (at >> 3) & (CHUNK_WORDS - 1);
    end = heap_chunk_end(at, end);
    while (chunk != NULL && at < end && !gc_lost) {
        struct shadow *s = heap_at(chunk, word);
        if (s == NULL)
            break;
        uint64_t size = s->size;
        if (UNLIKELY(size == 0))
            note_damage();
        if (LIKELY(shadow_has_site(s->site & SHADOW_SITE))) {
            uint64_t objects = shadow_objects(s->site);
            p->runs.objects += objects;
            p->runs.bytes += objects * size << 3;
        }
        if (s->born == born_now && p->newborn)
            count_newborn(s);
        if (p->is == 0)
            keep_stayed(at + p->distance);
        if (gc_marks_survivors)
            s->site |= SHADOW_SURVIVED;
        if (p->distance != 0 && !gather(s, at + p->distance))
            gc_lost = true;
        word += size;
        at += size << 3;
    }
    return at;
}

static void walk_survivors(uintptr_t from, uintptr_t end, uintptr_t to, uint32_t was)
{
    const struct bound *now = NULL;
    struct part p = {.distance = to - from, .was = was, .is = WIRE_GENERATION_COUNT};
    p.newborn = by_difference && was != WIRE_GENERATION_LARGE && was != WIRE_GENERATION_PINNED;
    for (uintptr_t at = from; at < end && !gc_lost;) {
        uintptr_t place = at + p.distance;
        if (UNLIKELY(now == NULL || place - now->start >= now->used - now->start)) {
            count_survivors(was, p.is, p.runs);
            p.runs = (struct population){0, 0};
            p.is = generation_of(&gc_after, place, &now);
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

/* ── all of it ──────────────────────────────────────────────────────────────────────────────────────────────── */

/* The next surviving range, as a copy: of one that goes on in another generation a part is taken away, and reachable.c wants all. */
static bool take_range(uint64_t *next, struct range *r)
{
    if (*next == gc_ranges.n)
        return false;
    *r = ((const struct range *)gc_ranges.items)[(*next)++];
    return true;
}

/* The collected generations, as they were before, from one end to the other: survivors and what is between them. */
static void walk_collected(void)
{
    struct range r = {0, 0, 0};
    uint64_t next = 0;
    bool more = take_range(&next, &r);
    for (uint64_t i = 0; i < gc_before.n && !gc_lost; i++) {
        const struct bound *b = &((const struct bound *)gc_before.items)[i];
        if (!generation_is_collected(b) || b->used <= b->start)
            continue;
        uintptr_t at = b->start;
        for (; more && r.from < b->used && !gc_lost;) {
            uintptr_t end = r.from + r.length, part = end < b->used ? end : b->used;
            if (r.from < at) { /* in no collected generation that is known */
                part = end < at ? end : at;
                walk_survivors(r.from, part, r.to, WIRE_GENERATION_COUNT);
            } else {
                walk_dead(at, r.from, b->generation);
                walk_survivors(r.from, part, r.to, b->generation);
                at = part;
            }
            r.to += part - r.from;
            r.length = end - part;
            r.from = part;
            if (r.length != 0)
                break; /* it goes on in the next generation's part of a segment */
            more = take_range(&next, &r);
        }
        if (!gc_lost)
            walk_dead(at, b->used, b->generation);
    }
    for (; more && !gc_lost; more = take_range(&next, &r))
        walk_survivors(r.from, r.from + r.length, r.to, WIRE_GENERATION_COUNT);
    report_all_dead();
}

/* The heap of pinned objects is small; objects of any size are born there. */
static void count_pinned_heap(void)
{
    for (uint64_t i = 0; i < gc_before.n; i++) {
        const struct bound *b = &((const struct bound *)gc_before.items)[i];
        if (b->generation != WIRE_GENERATION_PINNED)
            continue;
        for (uintptr_t at = heap_next(b->start, b->used); at < b->used; at = heap_next(at, b->used)) {
            const struct shadow *s = heap_find(at);
            if (s->born == gc.number - 1)
                walk_count_other(s);
            at += s->size == 0 ? 8 : (uintptr_t)s->size << 3;
        }
    }
}

static void choose_way(void)
{
    struct population born = changes_born();
    by_difference = !samples_on && !gc_lost && !walk_next && (gc.collected & 1) != 0 && generations_have_pinned() && !objects_were_lost() &&
                    born.bytes <= DENSE_BYTES * born.objects && list_sort(&stayed);
    next_stayed = staying.n = 0;
    walk_next = false;
    if (by_difference)
        count_pinned_heap();
}

static void count_born_and_dead(void)
{
    struct population dead = changes_count(by_difference);
    population_add(&gc.generations[0].before, dead.objects, dead.bytes);
    population_add(&gc.generations[0].dead, dead.objects, dead.bytes);
    struct list was = stayed;
    stayed = staying;
    staying = was;
}

void walk_collection(void)
{
    if (list_reserve(&ends, ends.n + 1))
        ((uint64_t *)ends.items)[ends.n++] = gc.end_ns;
    moves.n = 0;
    beginning = arena.header->ending_gc;
    if (!generations_ask(&gc_after) || !list_sort(&gc_ranges))
        gc_lost = true;
    pass_old = !gc_marks_survivors && !objects_were_lost();
    choose_way();
    if (!gc_lost)
        walk_collected();
    count_born_and_dead();
    count_passed();
    for (uint64_t i = 0; i < moves.n && !gc_lost; i++) {
        const struct moved *m = &((const struct moved *)moves.items)[i];
        struct shadow *s = heap_place(m->to);
        if (s == NULL)
            lifetime_lose(m->site & SHADOW_SITE, (uint64_t)m->size << 3);
        else
            *s = (struct shadow){m->site, m->size, m->born};
    }
    if (gc_lost) {
        loss(WIRE_LOSS_MOVES, 0, 0);
        lifetime_on = false;
    }
}
