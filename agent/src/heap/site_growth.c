/* By how much each site grew from one garbage collection to the next.
 *
 * Problem: a program can have millions of sites, and few change between two collections. Looking at all of them, or
 * counting in the warm path which did, would cost more than it shows.
 *
 * Idea: a site that changes is put into a list that runs through the deaths, once: by its thread when it comes there by
 * the slow path, and by a collection that finds one of its objects dead. The warm path only repeats the thread's last
 * site, so after each collection the last site of every thread goes into the next list right away; if nothing was
 * allocated there, it is not reported. What is reported are the counters themselves, so that a reader that missed some is only
 * less exact.
 *
 * Limit: collections can be many and the log is never shortened. So changes are reported for each collection at first, for
 * every second one when a CHANGES_SHARE-th of the memory limit was reported, for every fourth after as much again, and so
 * on: what is reported grows with the logarithm of the number of collections. Without room for it nothing is reported any more.
 * The collection's record says since which other one its changes are. */
#include "core/arena.h"
#include "heap/site_growth.h"
#include "heap/object_tracking.h"

#define CHANGES_SHARE 32u
#define MAX_SPACING 20u /* a million collections */
#define LAST UINT32_MAX /* ends the list: 0 is "not in it" */
#define BATCH 1024u     /* changes of one record */

static uint32_t newest, since; /* number of a site; of a collection */
static uint64_t reported;          /* bytes */
static bool full;
static struct population earlier; /* born since the last report, as of the collection before this one */
static struct {
    uint32_t gc, n;
    struct {
        uint32_t site, counter;
        uint64_t objects, bytes;
    } changes[BATCH];
} batch;

void changes_note(uint32_t site, uint32_t counter)
{
    struct wire_site_deaths *f = &arena.deaths[site - 1];
    f->counters |= 1u << counter; /* by the site's thread, or while all threads are stopped */
    if (f->changed != 0)
        return;
    uint32_t head = __atomic_load_n(&newest, __ATOMIC_RELAXED);
    do
        f->changed = head == 0 ? LAST : head;
    while (!__atomic_compare_exchange_n(&newest, &head, site, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
}

static uint32_t next_in_list(uint32_t number)
{
    uint32_t next = arena.deaths[number - 1].changed;
    return next == LAST ? 0 : next;
}

/* What was born at a site since the last GC, on the heap that is collected. */
static struct population born_at(uint32_t number)
{
    const struct wire_site *s = &arena.sites[number - 1];
    const struct wire_site_deaths *f = &arena.deaths[number - 1];
    if ((s->type & WIRE_SITE_FROZEN) != 0)
        return (struct population){0, 0};
    return (struct population){s->objects - f->counted_objects, s->bytes - f->counted_bytes};
}

struct population changes_born(void)
{
    struct population all = {0, 0};
    for (uint32_t number = newest; number != 0; number = next_in_list(number)) {
        struct population p = born_at(number);
        all.objects += p.objects;
        all.bytes += p.bytes;
    }
    return all;
}

struct population changes_count(bool others_are_dead)
{
    struct population dead = {0, 0};
    for (uint32_t number = newest; number != 0; number = next_in_list(number)) {
        const struct wire_site *s = &arena.sites[number - 1];
        struct wire_site_deaths *f = &arena.deaths[number - 1];
        struct population p = born_at(number);
        uint64_t objects = p.objects - f->other_objects, bytes = p.bytes - f->other_bytes;
        f->counted_objects = s->objects;
        f->counted_bytes = s->bytes;
        f->other_objects = f->other_bytes = 0;
        if (!others_are_dead || objects == 0)
            continue;
        f->dead_objects[0] += objects;
        f->dead_bytes[0] += bytes;
        f->counters |= 1u;
        dead.objects += objects;
        dead.bytes += bytes;
    }
    return dead;
}

static void flush(void)
{
    uint32_t bytes = (uint32_t)(8 + batch.n * sizeof batch.changes[0]);
    if (batch.n == 0 || full)
        return;
    arena_lock();
    full = !arena_log(WIRE_RECORD_CHANGES, &batch, bytes);
    arena_unlock();
    if (full)
        loss(WIRE_LOSS_CHANGES, 0, 0);
    reported += bytes;
    batch.n = 0;
}

static void add(uint32_t site, uint32_t counter, uint64_t objects, uint64_t bytes)
{
    if (batch.n == BATCH)
        flush();
    if (full)
        return;
    batch.changes[batch.n].site = site;
    batch.changes[batch.n].counter = counter;
    batch.changes[batch.n].objects = objects;
    batch.changes[batch.n++].bytes = bytes;
}

static void report_site(uint32_t number)
{
    const struct wire_site *s = &arena.sites[number - 1];
    struct wire_site_deaths *f = &arena.deaths[number - 1];
    if (s->objects != f->reported_objects)
        add(number, WIRE_CHANGE_ALLOCATED, s->objects, s->bytes);
    f->reported_objects = s->objects;
    f->reported_bytes = s->bytes;
    for (uint32_t g = 0; g < WIRE_GENERATION_COUNT; g++)
        if ((f->counters >> g & 1) != 0)
            add(number, g, f->dead_objects[g], f->dead_bytes[g]);
}

struct population changes_report(uint32_t gc, bool must, uint32_t *from)
{
    if (!full && !arena_has_room(ROOM_FUNCTIONS)) {
        full = true;
        loss(WIRE_LOSS_CHANGES, 0, 0);
    }
    uint64_t doublings = reported / (arena.header->memory_limit / CHANGES_SHARE);
    uint32_t spacing = 1u << (doublings < MAX_SPACING ? doublings : MAX_SPACING);
    bool now = !full && (must || (gc - since >= spacing && arena.header->ending_gc == 0)); /* see ending.c */
    struct population born = {0, 0}, before = earlier;
    batch.gc = gc;
    for (uint32_t number = newest, next; number != 0; number = next) {
        const struct wire_site *s = &arena.sites[number - 1];
        struct wire_site_deaths *f = &arena.deaths[number - 1];
        if ((s->type & WIRE_SITE_FROZEN) == 0) {
            born.objects += s->objects - f->reported_objects;
            born.bytes += s->bytes - f->reported_bytes;
        }
        next = f->changed == LAST ? 0 : f->changed;
        if (now) {
            report_site(number);
            f->changed = f->counters = 0;
        }
    }
    if (now) {
        flush();
        newest = 0;
    }
    now = now && !full;
    *from = now ? since : gc;
    since = now ? gc : since;
    earlier = now ? (struct population){0, 0} : born;
    return (struct population){born.objects - before.objects, born.bytes - before.bytes};
}
