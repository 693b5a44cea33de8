/* Why objects survived a garbage collection.
 *
 * An object is alive after a GC for one of three reasons: its generation was not collected; a root refers to it; or a
 * survivor does. Roots come from the runtime (RootReferences2, when objects are in their new places already) and cost a
 * walk over all objects here, so only some GCs are looked at: CLRPROF_ROOTS says which. What is reported is summed by site,
 * in parts that the reader adds up: neighbours on the heap are often alike, and a small table collects most of them. */
#define _GNU_SOURCE
#include "core/arena.h"
#include "heap/allocation_samples.h"
#include "heap/shadow_heap.h"
#include "heap/object_tracking.h"
#include "core/sorted_array.h"
#include "metadata/descriptions.h"
#include "heap/reachable.h"
#include "heap/heap_snapshot.h"
#include "heap/survivor_roots.h"

#include <stdlib.h>
#include <string.h>

#define ROOTS_SHARE 8u /* what is reported may take this part of the memory limit: the log is never shortened */
#define SLOTS 4096u /* of the direct-mapped tables: 400 KiB together */

struct root {
    uintptr_t object, id;
    uint32_t kind, flags;
};

struct reported_roots { /* as in the log, after its header */
    uint32_t gc, site, kind, flags, function, reserved;
    uint64_t references;
};

struct reported_why {
    uint32_t gc, site;
    uint64_t populations[3][2]; /* uncollected, rooted, reachable: objects, bytes */
};

static enum { ROOTS_GEN2, ROOTS_EVERY, ROOTS_INDUCED, ROOTS_OFF, ROOTS_NTH } policy;
static uint32_t nth, roots_lock; /* server GC scans roots from several threads */
static bool wanted, incomplete;
static uint64_t reported; /* bytes */
static struct list roots = {.size = sizeof(struct root)}, pinned = {.size = sizeof(uintptr_t)};

void survival_init(const char *text)
{
    static const char *const names[ROOTS_NTH] = {"gen2", "every", "induced", "off"};
    for (uint32_t i = 0; text != NULL && i < ROOTS_NTH; i++)
        if (strcmp(text, names[i]) == 0)
            policy = i;
    nth = text == NULL ? 0 : (uint32_t)strtoul(text, NULL, 10);
    if (nth != 0)
        policy = ROOTS_NTH;
}

bool survival_begin(uint32_t number, uint32_t collected, bool induced, bool snapshot)
{
    roots.n = pinned.n = 0;
    incomplete = false;
    wanted = snapshot || (policy == ROOTS_GEN2 && (collected >> 2 & 1) != 0) || policy == ROOTS_EVERY || (policy == ROOTS_INDUCED && induced) ||
             (policy == ROOTS_NTH && number % nth == 0);
    if (wanted && !snapshot && (reported > arena.header->memory_limit / ROOTS_SHARE || !arena_has_room(ROOM_ROOTS))) {
        wanted = false; /* a collection is reported as a whole or not at all */
        loss(WIRE_LOSS_SURVIVORS, 0, 0);
    }
    return wanted;
}

/* With the lock held. */
static void note_root(const struct root *r, bool own)
{
    if ((r->flags & ROOT_FLAG_PINNING) != 0 && r->object != 0 && list_reserve(&pinned, pinned.n + 1))
        ((uintptr_t *)pinned.items)[pinned.n++] = r->object;
    if (!wanted || own)
        return;
    if (list_reserve(&roots, roots.n + 1))
        ((struct root *)roots.items)[roots.n++] = *r;
    else
        incomplete = true;
}

hresult survival_roots(void *self, uint32_t n, const uintptr_t *objects, const uint32_t *kinds, const uint32_t *flags, const uintptr_t *ids)
{
    (void)self;
    if (!arena_is_ours())
        return HR_OK;
    word_lock(&roots_lock);
    for (uint32_t i = 0; i < n; i++) {
        struct root r = {objects[i], ids[i], kinds[i], flags[i]};
        note_root(&r, reachable_root(r.object, r.kind, r.flags, r.id));
    }
    word_unlock(&roots_lock);
    return HR_OK;
}

/* An object that the finalizer's queue would hold if the agent had not held it. */
static void note_waiting(uintptr_t object)
{
    struct root r = {object, 0, ROOT_KIND_FINALIZER, 0};
    note_root(&r, false);
}

static void report(uint32_t kind, const void *payload, uint32_t bytes)
{
    arena_lock();
    bool written = arena_log(kind, payload, bytes);
    arena_unlock();
    if (!written)
        loss(WIRE_LOSS_LIFETIME_FULL, 0, 0);
    reported += bytes;
}

static void report_roots(struct reported_roots *t)
{
    if (t->references != 0)
        report(WIRE_RECORD_ROOTS, t, sizeof *t);
    t->references = 0;
}

/* Counts the roots by site, and marks the objects that they refer to. `used` has the indexes of the slots that have references: most
 * collections need few, and all slots are more memory than the rest of a small collection touches. */
static void count_roots(uint32_t gc, struct reported_roots *slots)
{
    static uint16_t used[SLOTS];
    uint32_t n_used = 0;
    for (uint64_t i = 0; i < roots.n; i++) {
        const struct root *r = (const struct root *)roots.items + i;
        struct shadow *s = r->object == 0 ? NULL : heap_find(r->object);
        uint32_t function = r->kind == ROOT_KIND_STACK && r->id != 0 ? function_of_id(r->id) : 0;
        snapshot_root(r->object, r->kind, r->flags, function);
        if (s == NULL)
            continue; /* a frozen object, or an empty handle */
        if ((r->flags & ROOT_FLAG_WEAK) == 0)
            s->site |= SHADOW_ROOTED;
        if ((s->site & SHADOW_PENDING) != 0)
            continue; /* its site is not known yet */
        uint32_t site = s->site & SHADOW_SITE;
        if (!shadow_has_site(site))
            continue;
        uint32_t at = (site * 31 + r->kind * 7 + r->flags * 3 + function * 17) % SLOTS;
        struct reported_roots *slot = &slots[at];
        if (slot->references == 0)
            used[n_used++] = (uint16_t)at;
        if (slot->references == 0 || slot->site != site || slot->kind != r->kind || slot->flags != r->flags || slot->function != function) {
            report_roots(slot);
            *slot = (struct reported_roots){gc, site, r->kind, r->flags, function, 0, 0};
        }
        slot->references++;
    }
    for (uint32_t i = 0; i < n_used; i++)
        report_roots(&slots[used[i]]);
}

static void report_why(struct reported_why *t)
{
    if (t->populations[0][0] + t->populations[1][0] + t->populations[2][0] != 0)
        report(WIRE_RECORD_WHY, t, sizeof *t);
    memset(t, 0, sizeof *t);
}

static uint16_t used_reasons[SLOTS]; /* slots that have a site */
static uint32_t n_used_reasons;

static void count_reason(uint32_t gc, struct shadow *s, bool all_survived, struct reported_why *slots)
{
    uint32_t site = s->site & SHADOW_SITE, flags = s->site & ~SHADOW_SITE;
    uint32_t reason = (flags & SHADOW_SURVIVED) == 0 && !all_survived ? 0 : (flags & SHADOW_ROOTED) != 0 ? 1 : 2;
    if ((flags & (SHADOW_SURVIVED | SHADOW_ROOTED)) != 0) /* most have none, and are not written to */
        s->site &= ~(SHADOW_SURVIVED | SHADOW_ROOTED);
    if ((flags & SHADOW_PENDING) != 0 || !shadow_has_site(site))
        return; /* its site is not known yet, or it has none */
    struct reported_why *slot = &slots[site % SLOTS];
    if (slot->site != site) {
        if (slot->site == 0)
            used_reasons[n_used_reasons++] = (uint16_t)(site % SLOTS);
        report_why(slot);
        slot->gc = gc;
        slot->site = site;
    }
    slot->populations[reason][0] += shadow_objects(site);
    slot->populations[reason][1] += (uint64_t)shadow_objects(site) * s->size << 3;
}

static void count_reasons(uint32_t gc, const struct bound *b, bool all_survived, struct reported_why *slots)
{
    for (uintptr_t at = heap_next(b->start, b->used); at < b->used; at = heap_next(at, b->used)) {
        struct shadow *s = heap_find(at);
        at += s->size == 0 ? 8 : (uintptr_t)s->size << 3;
        count_reason(gc, s, all_survived, slots);
    }
}

uint32_t survival_pinned(void)
{
    uint32_t n = 0;
    list_sort(&pinned);
    for (uint64_t i = 0; i < pinned.n; i++)
        n += i == 0 || ((const uintptr_t *)pinned.items)[i] != ((const uintptr_t *)pinned.items)[i - 1];
    return n;
}

void survival_report(uint32_t gc, const struct bound *bounds, uint64_t n, bool all_survived)
{
    static struct reported_roots by_root[SLOTS];
    static struct reported_why by_site[SLOTS];
    reachable_each_waiting(note_waiting);
    if (incomplete)
        loss(WIRE_LOSS_LIFETIME_FULL, 0, 0);
    count_roots(gc, by_root);
    for (uint64_t i = 0; i < n; i++)
        if (bounds[i].generation < WIRE_GENERATION_COUNT)
            count_reasons(gc, &bounds[i], all_survived, by_site);
    for (uint32_t i = 0; i < n_used_reasons; i++)
        report_why(&by_site[used_reasons[i]]);
    n_used_reasons = 0;
}
