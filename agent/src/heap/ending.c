/* When the program begins to end, and what of the objects that were alive then it frees until it has ended.
 *
 * Problem: the last collection comes when the program has ended. What a service held is gone by then: its host has disposed of all
 * that it made, static fields were cleared. So what made it fail shows as dead.
 *
 * Idea: functions of the framework run when a program is told to end. The runtime asks the agent about each of them when it is first
 * called (framework_calls.c), before it runs, on the thread that calls it. There the agent has a full collection from a thread
 * of its own, and waits for it, but not for longer than LONGEST_WAIT_NS. What was alive after it is what is alive at the end. An object
 * from before it that a later collection finds dead stays among these: it counts as freed while the program ended (`freed`).
 *
 * Signals and hosts are no proof: a signal can mean something else to the program, and a process can have several hosts, as test runs
 * do. So they count only if the process ends within LONGEST_END_NS, and makes no other host until then. If they do not, then what was
 * freed counts as dead after all. Only when that is decided do the collector's changes tell of it. The runtime itself calls
 * AppContext.OnProcessExit, before handlers of ProcessExit: that is certain. Where EventPipe ends before it, the last collection has been
 * then, and there is nothing between the two.
 *
 * Limits: the counters of what was freed, 216 bytes for each site, are private memory. Without room for them there is no beginning, and
 * all is as if there had been no sign. Processes that were dormant have none. */
#define _GNU_SOURCE
#include "core/arena.h"
#include "heap/site_growth.h"
#include "heap/gc.h"
#include "heap/ending.h"
#include "heap/eventpipe_gc.h"
#include "heap/object_tracking.h"
#include "metadata/framework_calls.h"
#include "heap/heap_snapshot.h"
#include "os/own_time.h"

/* Hosts give up after 30 s, and containers are killed 30 s after the signal (HostOptions.ShutdownTimeout, terminationGracePeriodSeconds). */
#define LONGEST_END_NS UINT64_C(60000000000)

static uint32_t host_type; /* whose objects are hosts; 0: none was made */
static uint64_t hosts;     /* when the program began to end */
struct freed {
    uint64_t objects[WIRE_GENERATION_COUNT], bytes[WIRE_GENERATION_COUNT];
    struct wire_ages ages;
    uint32_t next;        /* site in the list of changed sites, 0: this one is not in the list */
    uint32_t generations; /* bit n: the counter of generation n changed */
};
#define LAST UINT32_MAX /* ends the list */
#define BATCH 256u      /* counters of one record */
static struct freed *freed; /* by site: what died after the program began to end, having been alive then */
static uint64_t n_freed; /* sites */
static uint32_t newest = LAST; /* number of the site that changed last */

/* ── the signs ──────────────────────────────────────────────────────────────────────────────────────────────── */

void ending_note_class(uintptr_t class_id, uint32_t type)
{
    if (host_type == 0 && framework_calls_is_type(class_id, WIRE_ENDING_HOST))
        __atomic_store_n(&host_type, type, __ATOMIC_RELAXED);
}

static uint64_t count_hosts(void)
{
    uint64_t n = __atomic_load_n(&arena.header->regions[WIRE_REGION_SITES].used, __ATOMIC_ACQUIRE) / sizeof(struct wire_site), count = 0;
    for (uint64_t i = 0; i < n && host_type != 0; i++)
        if (arena.sites[i].type == host_type)
            count += __atomic_load_n(&arena.sites[i].objects, __ATOMIC_RELAXED);
    return count;
}

/* Was what was taken for the beginning of the end another one's, or nothing? */
static bool is_refuted(uint64_t now)
{
    const struct wire_header *h = arena.header;
    if (h->ending_sign == WIRE_ENDING_EXIT)
        return false;
    return now - h->ending_ns > LONGEST_END_NS || count_hosts() != hosts;
}

static void note_sign(uint32_t sign)
{
    bool timed = (arena.header->data & WIRE_DATA_TIME) != 0;
    if (sign == WIRE_ENDING_EXIT)
        events_never(); /* else the collection here would ask for one */
    if (__atomic_load_n(&arena.header->alive_known, __ATOMIC_ACQUIRE) != 0)
        return; /* the last collection has been */
    if (__atomic_load_n(&arena.header->ending_gc, __ATOMIC_ACQUIRE) != 0 && !is_refuted(monotonic_ns()))
        return; /* it ends already */
    if (sign == WIRE_ENDING_HOST && count_hosts() > 1)
        return; /* the others may go on */
    uint64_t since = timed ? time_own_begins() : 0;
    lifetime_begin_end(sign);
    if (timed)
        time_leave_out(since);
}

static bool called(uint32_t sign, uintptr_t module, uint32_t token, bool first)
{
    (void)module, (void)token;
    if (first && lifetime_on)
        note_sign(sign);
    return true;
}

void ending_watch(void)
{
    static const struct framework_call signs[] = {
        {u"System.Private.CoreLib.dll", u"System.AppContext", u"OnProcessExit", WIRE_ENDING_EXIT, called},
        {u"System.Private.CoreLib.dll", u"System.Runtime.InteropServices.PosixSignalRegistration", u"OnPosixSignal", WIRE_ENDING_SIGNAL, called},
        {u"Microsoft.Extensions.Hosting.dll", u"Microsoft.Extensions.Hosting.Internal.ApplicationLifetime", u"StopApplication", WIRE_ENDING_HOST, called},
        {u"Microsoft.AspNetCore.Hosting.dll", u"Microsoft.AspNetCore.Hosting.ApplicationLifetime", u"StopApplication", WIRE_ENDING_HOST, called},
    };
    framework_calls_add(signs, sizeof signs / sizeof *signs);
}

/* ── what is freed ──────────────────────────────────────────────────────────────────────────────────────────── */

void ending_begin(uint32_t gc, uint32_t sign)
{
    struct wire_header *h = arena.header;
    n_freed = h->regions[WIRE_REGION_SITES].used / sizeof(struct wire_site);
    freed = n_freed == 0 ? NULL : private_alloc(n_freed * sizeof *freed);
    if (freed == NULL)
        return;
    hosts = count_hosts();
    h->ending_ns = monotonic_ns();
    h->ending_sign = sign;
    __atomic_store_n(&h->ending_gc, gc, __ATOMIC_RELEASE);
}

void ending_count_freed(uint32_t site, uint32_t generation, uint64_t objects, uint64_t bytes)
{
    if (site > n_freed)
        return; /* cannot be: it had no objects then */
    struct freed *f = &freed[site - 1];
    f->objects[generation] += objects;
    f->bytes[generation] += bytes;
    f->generations |= 1u << generation;
    if (f->next != 0)
        return;
    f->next = newest;
    newest = site;
}

struct counters { /* a record Freed */
    uint32_t beginning, n;
    struct {
        uint32_t site, generation;
        uint64_t objects, bytes;
    } of[BATCH];
};

static void flush_freed(struct counters *batch)
{
    if (batch->n != 0 && !arena_log(WIRE_RECORD_FREED, batch, (uint32_t)(8 + batch->n * sizeof batch->of[0])))
        loss(WIRE_LOSS_CHANGES, 0, 0);
    batch->n = 0;
}

/* As changes_report: the counters themselves, of the sites that changed. */
void ending_report(void)
{
    static struct counters batch;
    batch.beginning = arena.header->ending_gc;
    batch.n = 0;
    arena_lock();
    for (uint32_t site = newest; site != LAST;) {
        struct freed *f = &freed[site - 1];
        for (uint32_t g = 0; g < WIRE_GENERATION_COUNT; g++) {
            if ((f->generations >> g & 1) == 0)
                continue;
            batch.of[batch.n].site = site;
            batch.of[batch.n].generation = g;
            batch.of[batch.n].objects = f->objects[g];
            batch.of[batch.n++].bytes = f->bytes[g];
            if (batch.n == BATCH)
                flush_freed(&batch);
        }
        site = f->next;
        f->next = f->generations = 0;
    }
    newest = LAST;
    flush_freed(&batch);
    arena_unlock();
}

void ending_count_age(uint32_t site, uint32_t by_collections, uint32_t by_time)
{
    if (site > n_freed)
        return;
    freed[site - 1].ages.by_collections[by_collections]++;
    freed[site - 1].ages.by_time[by_time]++;
}

/* What of a site was freed is dead. */
static void let_die(uint32_t site, const struct freed *f)
{
    struct wire_site_deaths *deaths = &arena.deaths[site - 1];
    uint64_t objects = 0, bytes = 0;
    for (uint32_t g = 0; g < WIRE_GENERATION_COUNT; g++) {
        if (f->objects[g] == 0)
            continue;
        deaths->dead_objects[g] += f->objects[g];
        __atomic_store_n(&deaths->dead_bytes[g], deaths->dead_bytes[g] + f->bytes[g], __ATOMIC_RELEASE);
        changes_note(site, g);
        objects += f->objects[g];
        bytes += f->bytes[g];
    }
    struct wire_ages *ages = objects == 0 ? NULL : walk_ages_of(deaths);
    if (ages == NULL && objects != 0)
        loss(WIRE_LOSS_AGES, objects, bytes);
    for (uint32_t i = 0; i < WIRE_AGE_GC_BUCKETS && ages != NULL; i++)
        ages->by_collections[i] += f->ages.by_collections[i];
    for (uint32_t i = 0; i < WIRE_AGE_TIME_BUCKETS && ages != NULL; i++)
        ages->by_time[i] += f->ages.by_time[i];
}

void ending_take_back(void)
{
    for (uint64_t i = 0; i < n_freed && freed != NULL; i++)
        let_die((uint32_t)i + 1, &freed[i]);
    ending_give_back();
    snapshot_end_again();
    __atomic_store_n(&arena.header->ending_gc, 0, __ATOMIC_RELEASE);
}

void ending_check(uint64_t now)
{
    if (arena.header->ending_gc != 0 && is_refuted(now))
        ending_take_back();
}

void ending_give_back(void)
{
    if (freed != NULL)
        private_free(freed, n_freed * sizeof *freed);
    freed = NULL;
    n_freed = 0;
    newest = LAST;
}
