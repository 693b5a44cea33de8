/* What is alive after the last garbage collection, or when the program began to end: how many objects of each site and birth, in each generation. */
#include "core/arena.h"
#include "core/recording.h"
#include "heap/allocation_samples.h"
#include "heap/gc.h"
#include "heap/shadow_heap.h"

#include <string.h>

struct cohort { /* objects of one site and one birth in one generation */
    uint32_t site, born;
    uint64_t objects, bytes;
};

static uint32_t only_since; /* the others are reported already */
static uint32_t beginning;  /* number of the collection if the program goes on, 0: it is the last one */

static void report_cohort(const struct cohort *c, uint32_t generation)
{
    struct {
        uint32_t site, generation, born, beginning;
        uint64_t objects, bytes;
    } alive = {c->site, generation, c->born, beginning, c->objects, c->bytes};
    if (c->objects != 0 && !arena_log(WIRE_RECORD_ALIVE, &alive, sizeof alive))
        loss(WIRE_LOSS_LIFETIME_FULL, c->objects, c->bytes);
}

/* Neighbours on the heap are often of one site and birth, and a site's objects come together after compaction: a small
 * direct-mapped table collects most of a cohort before it is reported. The reader adds up what is reported in parts. */
#define COHORT_SLOTS 4096u

static void report_alive_in(uint32_t generation, struct cohort *slots)
{
    memset(slots, 0, COHORT_SLOTS * sizeof *slots);
    for (uint64_t i = 0; i < gc_after.n; i++) {
        const struct bound *b = &((const struct bound *)gc_after.items)[i];
        if (b->generation != generation)
            continue;
        for (uintptr_t at = heap_next(b->start, b->used); at < b->used; at = heap_next(at, b->used)) {
            const struct shadow *s = heap_find(at);
            uint64_t bytes = (uint64_t)s->size << 3;
            if (UNLIKELY(shadow_is_damaged(s->site))) {
                loss(WIRE_LOSS_MOVES, 0, 0);
                at += 8;
                continue;
            }
            if ((s->site & SHADOW_PENDING) != 0 || !shadow_has_site(s->site) || s->born < only_since) { /* a thread stopped before it knew the site, which has no object to report either */
                at += bytes == 0 ? 8 : bytes;
                continue;
            }
            struct cohort *c = &slots[(s->site * 31 + s->born) % COHORT_SLOTS];
            if (c->site != s->site || c->born != s->born) {
                report_cohort(c, generation);
                *c = (struct cohort){s->site, s->born, 0, 0};
            }
            c->objects += shadow_objects(s->site);
            c->bytes += shadow_objects(s->site) * bytes;
            at += bytes == 0 ? 8 : bytes;
        }
    }
    for (uint32_t i = 0; i < COHORT_SLOTS; i++)
        report_cohort(&slots[i], generation);
}

void alive_report(bool last)
{
    struct cohort *slots = private_alloc(COHORT_SLOTS * sizeof *slots);
    if (slots == NULL) {
        loss(WIRE_LOSS_LIFETIME_FULL, 0, 0);
        return;
    }
    only_since = last ? arena.header->ending_gc : 0;
    beginning = last ? 0 : gc.number;
    arena_lock();
    for (uint32_t generation = 0; generation < WIRE_GENERATION_COUNT; generation++)
        report_alive_in(generation, slots);
    if (last) {
        __atomic_store_n(&arena.header->alive_known, 1, __ATOMIC_RELAXED);
        __atomic_fetch_add(&code_epoch, 1, __ATOMIC_RELEASE); /* no thread counts what it allocates from here on */
    }
    arena_unlock();
    private_free(slots, COHORT_SLOTS * sizeof *slots);
}
