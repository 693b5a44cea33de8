/* CPU counters: what the processor and the kernel count for a thread, read at each of its events.
 *
 * CLRPROF_COUNTERS lists them, KIND:TYPE:CONFIG, with commas between; the command has tried them before. What the kernel counts is
 * in getrusage(2) and in the clock of the thread's processor time, which nobody is refused, and which count what system calls do,
 * too. What the processor counts is a perf event, of user mode only, so that it is the same for all users (perf_event_paranoid 2).
 * The events are one group: they count at the same time or not at all.
 *
 * System calls and migrations only the kernel's own perf events show, for which one needs rights. Such an event writes a record
 * each time, of eight bytes, for it is to have nothing: so the end of its ring (data_head) says how many there were, and that is read
 * without a system call, of which the reading would be one more. Mapped without the right to write, the ring is overwritten for ever.
 * Where they are listed it is also reported which they were, if the kernel lets it: syscall_counts.c.
 * What the agent itself calls is between counters_look and counters_resume, and between counters_begin_own_calls and counters_end_own_calls.
 *
 * A perf event is read by an instruction where the kernel says so in the page of the event (cap_user_rdpmc); its descriptor is
 * closed then, the mapping keeps it alive. Else it is read by a system call, and the descriptors stay open, with high numbers. A
 * program may close them, and get the numbers for files of its own: so it is asked before each reading whose it is.
 *
 * An interval of which a counter is not known (it shared the processor's counters with others, or a pause was in it) counts
 * nothing, and is a loss.
 *
 * Facts: perf_event_open(2), the comments of linux/perf_event.h. */
#define _GNU_SOURCE
#include "os/cpu_counters.h"
#include "arch/arch.h"
#include "core/arena.h"
#include "os/timer.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EVENT_PAGE 4096u
#define HIGH_FILES 500 /* from this number on: programs get the lowest that is free, and few have so many */
#define RECORD 8u /* bytes: sizeof (struct perf_event_header) */
#define MAX_TRIES 1000u /* readings of a page that the kernel changes meanwhile, which takes it less than a microsecond */

uint32_t counters_used;
static struct wire_cpu_counter chosen[WIRE_MAX_COUNTERS];
static bool reads_usage;
static uint32_t events; /* those that are perf events */
static uint32_t rings;  /* those that have one */

static bool has_ring(uint32_t i)
{
    return chosen[i].kind == WIRE_COUNTER_CALLS || chosen[i].kind == WIRE_COUNTER_MIGRATIONS;
}

void counters_init(const char *text)
{
    char *end = NULL;
    counters_used = events = rings = 0;
    reads_usage = false;
    while (text != NULL && *text != 0 && counters_used < WIRE_MAX_COUNTERS) {
        struct wire_cpu_counter *c = &chosen[counters_used++];
        c->kind = (uint32_t)strtoul(text, &end, 10);
        c->type = *end == ':' ? (uint32_t)strtoul(end + 1, &end, 10) : 0;
        c->config = *end == ':' ? strtoull(end + 1, &end, 10) : 0;
        events += c->kind == WIRE_COUNTER_PERF;
        rings += has_ring(counters_used - 1);
        reads_usage = reads_usage || c->kind < WIRE_COUNTER_TASK_CLOCK;
        text = *end == ',' ? end + 1 : "";
    }
    memcpy(arena.header->cpu_counters, chosen, sizeof chosen);
    arena.header->counters = counters_used;
}

/* ── perf events ────────────────────────────────────────────────────────────────────────────────────────────── */

static int open_event(const struct wire_cpu_counter *c, int group)
{
    struct perf_event_attr a;
    memset(&a, 0, sizeof a);
    a.size = PERF_ATTR_SIZE_VER3;
    a.type = c->type;
    a.config = c->config;
    a.exclude_kernel = a.exclude_hv = 1;
    a.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    int fd = (int)syscall(SYS_perf_event_open, &a, 0, -1, group, PERF_FLAG_FD_CLOEXEC);
    int high = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, HIGH_FILES);
    if (high >= 0)
        close(fd);
    return high >= 0 ? high : fd;
}

static bool is_ours(const struct counter_state *s, uint32_t i)
{
    uint64_t id = 0;
    return ioctl(s->files[i], PERF_EVENT_IOC_ID, &id) == 0 && id == s->ids[i];
}

static void close_files(struct counter_state *s)
{
    for (uint32_t i = 0; i < WIRE_MAX_COUNTERS; i++) {
        if (s->files[i] != 0 && is_ours(s, i))
            close(s->files[i]);
        s->files[i] = 0;
    }
}

/* Of the ring of a counter that has one: that of system calls is longer where it has their names. */
static uint32_t ring_bytes(const struct counter_state *s, uint32_t i)
{
    return chosen[i].kind == WIRE_COUNTER_CALLS && s->names.ring != NULL ? s->names.ring_bytes : EVENT_PAGE;
}

static uint32_t record_bytes(const struct counter_state *s, uint32_t i)
{
    return chosen[i].kind == WIRE_COUNTER_CALLS && s->names.ring != NULL ? s->names.record : RECORD;
}

static void unmap_pages(struct counter_state *s)
{
    for (uint32_t i = 0; i < WIRE_MAX_COUNTERS; i++) {
        if (s->pages[i] != NULL)
            munmap(s->pages[i], EVENT_PAGE + (has_ring(i) ? ring_bytes(s, i) : 0));
        s->pages[i] = NULL;
    }
    s->names.ring = NULL;
}

/* Can all events be read by an instruction? Then their pages are mapped. */
static bool map_pages(struct counter_state *s)
{
    for (uint32_t i = 0; i < counters_used; i++) {
        if (chosen[i].kind != WIRE_COUNTER_PERF)
            continue;
        void *page = mmap(NULL, EVENT_PAGE, PROT_READ, MAP_SHARED, s->files[i], 0);
        if (page != MAP_FAILED)
            s->pages[i] = page;
        if (page == MAP_FAILED || !((const struct perf_event_mmap_page *)page)->cap_user_rdpmc) {
            unmap_pages(s);
            return false;
        }
    }
    return true;
}

/* The first of the events has the files of all in its group. */
static uint32_t leader(void)
{
    uint32_t i = 0;
    while (chosen[i].kind != WIRE_COUNTER_PERF)
        i++;
    return i;
}

static void open_events(struct counter_state *s)
{
    for (uint32_t i = leader(); i < counters_used; i++) {
        if (chosen[i].kind != WIRE_COUNTER_PERF)
            continue;
        int fd = open_event(&chosen[i], i == leader() ? -1 : s->files[leader()]);
        if (fd < 0 || ioctl(fd, PERF_EVENT_IOC_ID, &s->ids[i]) != 0)
            return; /* each reading finds that it is not known */
        s->files[i] = fd;
    }
    if (map_pages(s))
        close_files(s);
}

/* As the comment of struct perf_event_mmap_page says. False: the event was not on the processor all the time. */
static bool read_page(const volatile struct perf_event_mmap_page *page, uint64_t *value)
{
    uint32_t before, index, tries = 0;
    bool always;
    do {
        before = __atomic_load_n(&page->lock, __ATOMIC_ACQUIRE);
        index = page->index;
        *value = (uint64_t)page->offset;
        always = page->time_enabled == page->time_running;
        if (MACHINE_READS_COUNTERS && index != 0)
            *value += machine_counter(index - 1, page->pmc_width);
        __atomic_signal_fence(__ATOMIC_ACQUIRE); /* the kernel writes on this processor */
    } while (page->lock != before && ++tries < MAX_TRIES);
    return MACHINE_READS_COUNTERS && index != 0 && always && tries < MAX_TRIES;
}

static bool read_files(const struct counter_state *s, uint64_t *values)
{
    struct {
        uint64_t events, enabled, running, values[WIRE_MAX_COUNTERS];
    } group = {.events = 0};
    uint32_t next = 0;
    int fd = s->files[leader()];
    if (fd == 0 || !is_ours(s, leader()) || read(fd, &group, sizeof group) < (ssize_t)(3 * sizeof(uint64_t)) || group.events != events)
        return false;
    for (uint32_t i = 0; i < counters_used; i++)
        if (chosen[i].kind == WIRE_COUNTER_PERF)
            values[i] = group.values[next++];
    return group.enabled == group.running;
}

static bool read_events(const struct counter_state *s, uint64_t *values)
{
    bool known = true, mapped = false;
    for (uint32_t i = 0; i < counters_used; i++)
        if (s->pages[i] != NULL && !has_ring(i)) {
            mapped = true;
            known = read_page(s->pages[i], &values[i]) && known;
        }
    return mapped ? known : read_files(s, values);
}

/* ── rings ──────────────────────────────────────────────────────────────────────────────────────────────────── */

static struct perf_event_mmap_page *map_ring(uint32_t i, uint64_t sample_type, uint32_t bytes)
{
    struct perf_event_attr a;
    memset(&a, 0, sizeof a);
    a.size = PERF_ATTR_SIZE_VER3;
    a.type = chosen[i].type;
    a.config = chosen[i].config;
    a.sample_period = 1;
    a.sample_type = sample_type;
    a.watermark = 1; /* nobody is to be woken */
    a.wakeup_watermark = EVENT_PAGE;
    int fd = (int)syscall(SYS_perf_event_open, &a, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (fd < 0)
        return NULL; /* each reading finds that it is not known */
    void *ring = mmap(NULL, EVENT_PAGE + bytes, PROT_READ, MAP_SHARED, fd, 0);
    close(fd); /* the mapping keeps the event alive */
    return ring == MAP_FAILED ? NULL : ring;
}

/* With their names, if the kernel gives them; a call whose name is known is the trial. */
static bool open_named(struct counter_state *s, uint32_t i)
{
    struct perf_event_mmap_page *page = map_ring(i, PERF_SAMPLE_RAW, CALL_RING_BYTES);
    if (page == NULL)
        return false;
    syscall(SYS_gettid);
    s->pages[i] = page;
    if (system_calls_begin(&s->names, (const uint8_t *)page + EVENT_PAGE, CALL_RING_BYTES, __atomic_load_n(&page->data_head, __ATOMIC_RELAXED), SYS_gettid))
        return true;
    munmap(page, EVENT_PAGE + CALL_RING_BYTES);
    return false;
}

static void open_ring(struct counter_state *s, uint32_t i)
{
    if (chosen[i].kind != WIRE_COUNTER_CALLS || !system_calls_named || !open_named(s, i))
        s->pages[i] = map_ring(i, 0, EVENT_PAGE);
}

/* How many records there were. False: not all rings are there. */
static bool read_rings(const struct counter_state *s, uint64_t *values)
{
    bool known = true;
    for (uint32_t i = 0; i < counters_used && rings != 0; i++) {
        if (!has_ring(i))
            continue;
        const struct perf_event_mmap_page *page = s->pages[i];
        if (page != NULL)
            values[i] = __atomic_load_n(&page->data_head, __ATOMIC_RELAXED) / record_bytes(s, i);
        known = known && page != NULL;
    }
    return known;
}

/* ── readings ───────────────────────────────────────────────────────────────────────────────────────────────── */

static uint64_t of_usage(const struct rusage *r, uint32_t kind)
{
    switch (kind) {
    case WIRE_COUNTER_FAULTS:
        return (uint64_t)r->ru_minflt + (uint64_t)r->ru_majflt;
    case WIRE_COUNTER_MINOR_FAULTS:
        return (uint64_t)r->ru_minflt;
    case WIRE_COUNTER_MAJOR_FAULTS:
        return (uint64_t)r->ru_majflt;
    case WIRE_COUNTER_SWITCHES:
        return (uint64_t)r->ru_nvcsw + (uint64_t)r->ru_nivcsw;
    case WIRE_COUNTER_VOLUNTARY:
        return (uint64_t)r->ru_nvcsw;
    case WIRE_COUNTER_PREEMPTED:
        return (uint64_t)r->ru_nivcsw;
    case WIRE_COUNTER_READS:
        return (uint64_t)r->ru_inblock;
    default:
        return (uint64_t)r->ru_oublock;
    }
}

/* All but rings, by system calls. False: not all could be read. */
static bool read_others(const struct counter_state *s, uint64_t *values)
{
    struct rusage usage = {0};
    if (reads_usage)
        getrusage(RUSAGE_THREAD, &usage);
    for (uint32_t i = 0; i < counters_used; i++)
        if (chosen[i].kind < WIRE_COUNTER_TASK_CLOCK)
            values[i] = of_usage(&usage, chosen[i].kind);
        else if (chosen[i].kind == WIRE_COUNTER_TASK_CLOCK)
            values[i] = os_cpu_ns();
    return events == 0 || read_events(s, values);
}

void counters_attach(struct timer *t)
{
    t->counters = (struct counter_state){.unknown = true};
    if (events != 0)
        open_events(&t->counters);
    for (uint32_t i = 0; i < counters_used && rings != 0 && PAGES_ARE_SO && !os_is_filtered(); i++)
        if (has_ring(i))
            open_ring(&t->counters, i);
    counters_begin(t);
    counters_resume(t);
}

void counters_detach(struct timer *t)
{
    unmap_pages(&t->counters);
    close_files(&t->counters);
}

void counters_begin(struct timer *t)
{
    t->counters.unknown = !read_others(&t->counters, t->counters.last);
}

/* How many system calls are in the ring up to now, where they have names: what came up to `values` is the program's. */
static void take_names(struct counter_state *s, const uint64_t *values)
{
    for (uint32_t i = 0; s->names.ring != NULL && i < counters_used; i++)
        if (chosen[i].kind == WIRE_COUNTER_CALLS)
            system_calls_take(&s->names, values[i] * s->names.record);
}

static void leave_out_names(struct counter_state *s, const uint64_t *values)
{
    for (uint32_t i = 0; s->names.ring != NULL && i < counters_used; i++)
        if (chosen[i].kind == WIRE_COUNTER_CALLS)
            s->names.read = values[i] * s->names.record;
}

void counters_resume(struct timer *t)
{
    if (!read_rings(&t->counters, t->counters.last))
        t->counters.unknown = true;
    leave_out_names(&t->counters, t->counters.last);
}

void counters_look(struct timer *t)
{
    read_rings(&t->counters, t->counters.seen);
    take_names(&t->counters, t->counters.seen);
}

void counters_end(struct timer *t, bool paused, uint64_t *counted)
{
    struct counter_state *s = &t->counters;
    uint64_t now[WIRE_MAX_COUNTERS];
    memcpy(now, s->seen, sizeof now);
    bool lost = !read_others(s, now) || s->unknown || paused;
    for (uint32_t i = 0; i < counters_used; i++) {
        counted[i] = lost || now[i] < s->last[i] ? 0 : now[i] - s->last[i];
        s->last[i] = now[i];
    }
    system_calls_report(&s->names);
    if (lost)
        loss(WIRE_LOSS_COUNTS, 0, 0);
}

bool counters_have_rings(void)
{
    return rings != 0;
}

bool counters_acted(const uint64_t *counted)
{
    bool acted = false;
    for (uint32_t i = 0; i < counters_used && rings != 0; i++)
        acted = acted || (has_ring(i) && counted[i] != 0);
    return acted;
}

void counters_begin_own_calls(struct timer *t)
{
    if (t->counters.own_depth++ != 0)
        return;
    read_rings(&t->counters, t->counters.own);
    take_names(&t->counters, t->counters.own);
}

void counters_end_own_calls(struct timer *t)
{
    struct counter_state *s = &t->counters;
    uint64_t now[WIRE_MAX_COUNTERS] = {0};
    if (s->own_depth == 0 || --s->own_depth != 0)
        return; /* the thread was not recorded yet when that began; or there is more of it */
    read_rings(s, now);
    for (uint32_t i = 0; i < counters_used; i++)
        if (has_ring(i) && s->pages[i] != NULL)
            s->last[i] += now[i] - s->own[i];
    leave_out_names(s, now);
}

void counters_begin_own(struct timer *t)
{
    counters_begin_own_calls(t);
    t->counters.own_unknown = !read_others(&t->counters, t->counters.own);
}

void counters_end_own(struct timer *t)
{
    struct counter_state *s = &t->counters;
    uint64_t now[WIRE_MAX_COUNTERS] = {0};
    s->unknown = !read_others(s, now) || s->own_unknown || s->unknown;
    for (uint32_t i = 0; i < counters_used; i++)
        if (!has_ring(i))
            s->last[i] += now[i] - s->own[i];
    counters_end_own_calls(t);
}
