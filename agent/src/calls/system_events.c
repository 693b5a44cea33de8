/* System events: the intervals of threads in which the operating system acted, one by one, in the order of their ends.
 *
 * What the system did is known where an interval ends (context_switch.c, cpu_counters.c), so whose it is is exact. Sums of it are in the timings;
 * this is the list of what they are made of. CLRPROF_EVENTS is KINDS:LIMIT: what is listed, bits, and how many intervals of a
 * process at most. Those that come after that, or for which there is no memory, are losses; the sums have them. Nothing of the list
 * is ever given back, so whoever reads it needs no agreement with who writes it, and a process may be killed at any moment. */
#include "calls/system_events.h"
#include "os/syscall_counts.h"
#include "core/arena.h"
#include "calls/call_tree.h"

#include <stdlib.h>
#include <string.h>

#define DEFAULT_LIMIT 200000u
#define CALLS_EACH 8u /* kinds of system calls of an event, on average: with more the list of events is not the only one that is long */

uint32_t system_events;
static uint64_t most; /* bytes of the list */

void system_events_init(const char *text)
{
    char *end = NULL;
    system_events = text == NULL ? 0 : (uint32_t)strtoul(text, &end, 10);
    uint64_t limit = system_events != 0 && *end == ':' ? strtoull(end + 1, NULL, 10) : DEFAULT_LIMIT;
    most = (limit < UINT32_MAX ? limit : UINT32_MAX) * sizeof(struct wire_system_event);
    arena.header->system_events = system_events;
    system_calls_named = (system_events & WIRE_EVENT_CALLS) != 0;
}

static uint32_t short_of(uint64_t n)
{
    return n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
}

/* The counters that are read say more than the look at the system: also what was in intervals in which nobody waited. */
static void take_counted(struct wire_system_event *e, const uint64_t *counted)
{
    for (uint32_t k = 0; k < counters_used; k++) {
        uint32_t n = short_of(counted[k]), kind = arena.header->cpu_counters[k].kind;
        if ((system_events & WIRE_EVENT_FAULTS) != 0 && kind == WIRE_COUNTER_MINOR_FAULTS)
            e->minor_faults = n;
        else if ((system_events & WIRE_EVENT_FAULTS) != 0 && kind == WIRE_COUNTER_MAJOR_FAULTS)
            e->major_faults = n;
        else if ((system_events & WIRE_EVENT_IO) != 0 && kind == WIRE_COUNTER_READS)
            e->reads = n;
        else if ((system_events & WIRE_EVENT_IO) != 0 && kind == WIRE_COUNTER_WRITES)
            e->writes = n;
        else if ((system_events & WIRE_EVENT_CALLS) != 0 && kind == WIRE_COUNTER_CALLS)
            e->calls = n;
        else if ((system_events & WIRE_EVENT_MOVES) != 0 && kind == WIRE_COUNTER_MIGRATIONS)
            e->migrations = n;
    }
}

/* With the lock held: which system calls they were, before the event that has them. None, if there is no room, or more than were counted. */
static uint32_t append_calls(const struct wire_system_event *e, const struct call_names *names)
{
    const struct wire_region_entry *r = &arena.header->regions[WIRE_REGION_SYSTEM_CALLS];
    uint64_t bytes = names->n_reported * sizeof *names->reported, sum = 0;
    for (uint32_t i = 0; i < names->n_reported; i++)
        sum += names->reported[i].count;
    if (e->calls == 0 || bytes == 0 || sum > e->calls || r->used + bytes > most / sizeof *e * CALLS_EACH * sizeof *names->reported)
        return 0;
    struct wire_system_call *rows = arena_reserve(WIRE_REGION_SYSTEM_CALLS, bytes);
    if (rows == NULL)
        return 0;
    memcpy(rows, names->reported, bytes);
    arena_publish(WIRE_REGION_SYSTEM_CALLS, bytes);
    return names->n_reported;
}

static bool append(struct wire_system_event *e, const struct call_names *names)
{
    const struct wire_region_entry *r = &arena.header->regions[WIRE_REGION_SYSTEM_EVENTS];
    if (__atomic_load_n(&r->used, __ATOMIC_RELAXED) + sizeof *e > most || !arena_has_room(ROOM_TRACE))
        return false;
    arena_lock();
    struct wire_system_event *row = r->used + sizeof *e > most ? NULL : arena_reserve(WIRE_REGION_SYSTEM_EVENTS, sizeof *e);
    if (row != NULL) {
        e->named = append_calls(e, names);
        *row = *e;
        arena_publish(WIRE_REGION_SYSTEM_EVENTS, sizeof *e);
    }
    arena_unlock();
    return row != NULL;
}

void system_events_add(const struct wire_timing *x, bool lead, const struct interval *i)
{
    struct wire_system_event e = {.end = i->end, .length = i->ticks, .timing = (uint32_t)(x - arena.timings) + 1, .lead = lead};
    const struct wire_waits *w = &i->waits;
    if ((system_events & WIRE_EVENT_SCHED) != 0) {
        e.voluntary = short_of(w->voluntary);
        e.preempted = short_of(w->preempted);
        e.major_faults = short_of(w->faults);
        e.reads = short_of(w->reads);
        e.blocked = w->blocked;
        e.ready = w->ready;
    }
    take_counted(&e, i->counted);
    if ((e.voluntary | e.preempted | e.minor_faults | e.major_faults | e.reads | e.writes | e.calls | e.migrations) == 0 && e.blocked + e.ready == 0)
        return;
    if (!append(&e, &current_timer->counters.names))
        loss(WIRE_LOSS_SYSTEM_EVENTS, 0, 0);
}
