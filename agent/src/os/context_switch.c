/* Did the operating system act on this thread since its last event? And when was that?
 *
 * Warm, the answer is one compare of a word that changes when the thread is switched out. Three mechanisms, the first
 * that works is taken, for each thread:
 *
 *  rseq  the word is rseq_cs of the thread's restartable-sequences area, which points to a sequence that nobody runs. Up
 *        to Linux 6.18 the kernel clears it whenever the thread was switched out, from 6.19 on only when it was
 *        preempted, so a probe decides. Signals clear it too: getrusage confirms.
 *  perf  the word is data_head of a perf event that writes a record for each context switch. Mapped without the right to
 *        write, the ring is overwritten for ever. Not allowed where perf_event_paranoid is 3 and in most
 *        containers, and not tried where system calls are filtered.
 *  gap   no word: an interval that is longer than the shortest context switch is looked at with getrusage.
 *
 * For how long a thread could have run but had no processor, the kernel counts in each thread's schedstat.
 *
 * Facts: linux/rseq.h, perf_event_open(2), and measurements on Linux 6.1 to 7.2. */
#define _GNU_SOURCE
#include "arch/arch.h"
#include "core/arena.h"
#include "core/freestanding.h"
#include "os/context_switch.h"
#include "os/timer.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <linux/rseq.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define RING_BYTES 4096u
#define DELAY_BYTES 64u        /* three numbers of at most 20 digits */
#define STATUS_BYTES 4096u     /* a longer list of groups in front of the line is taken for a filter */
#define MAX_LOOKS 16u          /* tries to read the counters without being disturbed: where a system call takes longer than the gap, none is */
#define PROBES 8u              /* sleeps that must clear rseq_cs */
#define PROBES_SWITCHED 4u     /* at least so many of them must have been context switches */
#define MAX_FALSE_ALARMS 2000u /* by then most alarms must have been switches, or the word is somebody else's */
#define YIELDS 2000u           /* to find the shortest context switch */
#define SHORTEST_GAP_NS 400u   /* bounds of what is believed of that */
#define LONGEST_GAP_NS 2000u
#define SHORT_WAIT_NS 100000u /* after a shorter one schedstat, which takes some 4 µs, is not read ... */
#define MAX_UNREAD 16u        /* ... so often in a row: what a thread waited for a processor then is counted this late */
#define RSEQ_CS 8u /* offset of rseq_cs */

/* glibc 2.35 and later have registered an area for each thread and say where. */
extern const ptrdiff_t __rseq_offset __attribute__((weak));
extern const unsigned int __rseq_size __attribute__((weak));

/* A thread of musl unmaps its own stack at its end, and this area with it, to which the kernel may still write. */
#ifdef CLRPROF_MUSL
#define MAY_REGISTER false
#else
#define MAY_REGISTER true
#endif
static __thread struct {
    uint32_t words[8];
} own_rseq __attribute__((aligned(32))) AT_FIXED_PLACE;

static const uint64_t quiet_word; /* never changes */
static bool may_usage, may_rseq, may_perf, may_delay;
static uint64_t gap_ticks = INT64_MAX; /* until the rate of the clock is known */
static uint64_t rate;                  /* ticks per second, 0 until then */
bool clock_is_tsc;

/* ── clocks ─────────────────────────────────────────────────────────────────────────────────────────────────── */

uint64_t os_clock(void)
{
    return clock_is_tsc ? machine_ticks() : monotonic_ns();
}

/* One reading of both clocks, as near to each other as five tries get them. */
void os_pair(uint64_t *ticks, uint64_t *ns)
{
    uint64_t best = UINT64_MAX;
    for (int i = 0; i < 5; i++) {
        uint64_t before = os_clock(), now = monotonic_ns(), after = os_clock();
        if (after - before < best) {
            best = after - before;
            *ticks = before + (after - before) / 2;
            *ns = now;
        }
    }
}

/* ── rseq ───────────────────────────────────────────────────────────────────────────────────────────────────── */

static volatile uint64_t *rseq_word(void)
{
    if (&__rseq_size != NULL && __rseq_size != 0)
        return (volatile uint64_t *)(void *)((char *)__builtin_thread_pointer() + __rseq_offset + RSEQ_CS);
    if (MAY_REGISTER && (syscall(SYS_rseq, &own_rseq, sizeof own_rseq, 0, RSEQ_SIGNATURE) == 0 || errno == EBUSY)) /* this very area already is */
        return (volatile uint64_t *)(void *)&own_rseq.words[RSEQ_CS / 4];
    return NULL;
}

/* Does the kernel clear the word when this thread waits? */
static bool rseq_works(void)
{
    volatile uint64_t *word = rseq_word();
    uint32_t switched = 0, cleared = 0;
    if (word == NULL || *word != 0)
        return false; /* or somebody else uses it */
    for (uint32_t i = 0; i < PROBES; i++) {
        struct rusage before, after;
        struct timespec pause = {0, 60000};
        *word = (uintptr_t)machine_rseq_never;
        getrusage(RUSAGE_THREAD, &before);
        nanosleep(&pause, NULL);
        getrusage(RUSAGE_THREAD, &after);
        if (after.ru_nvcsw == before.ru_nvcsw)
            continue;
        switched++;
        cleared += *word != (uintptr_t)machine_rseq_never;
    }
    *word = 0;
    return switched >= PROBES_SWITCHED && cleared == switched;
}

/* ── perf ───────────────────────────────────────────────────────────────────────────────────────────────────── */

/* A filter of system calls can kill whoever makes one that it does not expect, and nothing is less expected than
 * perf_event_open. Most refuse it: what is given up is little. "Seccomp:" is 2 then (proc(5)). */
bool os_is_filtered(void)
{
    char text[STATUS_BYTES];
    uint32_t n = read_file("/proc/thread-self/status", (uint8_t *)text, sizeof text - 1);
    text[n] = 0;
    const char *line = strstr(text, "\nSeccomp:");
    return line == NULL || strtoul(line + sizeof "\nSeccomp:" - 1, NULL, 10) != 0;
}

static bool perf_open(struct timer *t)
{
    if (!PAGES_ARE_SO || os_is_filtered()) /* a ring is one page, as is what stands in front of it */
        return false;
    struct perf_event_attr a;
    memset(&a, 0, sizeof a);
    a.size = PERF_ATTR_SIZE_VER3;
    a.type = PERF_TYPE_SOFTWARE;
    a.config = PERF_COUNT_SW_DUMMY;
    a.sample_type = PERF_SAMPLE_TIME;
    a.exclude_kernel = a.exclude_hv = a.context_switch = a.sample_id_all = a.watermark = 1;
    a.wakeup_watermark = RING_BYTES;
    int fd = (int)syscall(SYS_perf_event_open, &a, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (fd < 0)
        return false;
    void *ring = mmap(NULL, 2 * RING_BYTES, PROT_READ, MAP_SHARED, fd, 0);
    close(fd); /* the mapping keeps the event alive */
    if (ring == MAP_FAILED)
        return false;
    t->ring = ring;
    t->word = (volatile uint64_t *)(void *)&((struct perf_event_mmap_page *)ring)->data_head;
    t->expect = *t->word;
    return true;
}

/* Of the time between switches out and in, of the records between two positions, which have 16 bytes (header, time):
 * nanoseconds in all, and of those in which the thread could have run. */
struct off {
    uint64_t all, ready;
};

static struct off perf_off(const struct timer *t, uint64_t from, uint64_t to)
{
    const uint8_t *data = (const uint8_t *)t->ring + RING_BYTES;
    struct off off = {0};
    uint64_t out = 0;
    bool preempted = false;
    if (to - from > RING_BYTES)
        from = to - RING_BYTES;
    for (; from < to; from += 16) {
        const struct perf_event_header *h = (const void *)(data + (from & (RING_BYTES - 1)));
        uint64_t at = *(const uint64_t *)(const void *)(data + ((from + 8) & (RING_BYTES - 1)));
        if (h->type != PERF_RECORD_SWITCH)
            continue;
        if ((h->misc & PERF_RECORD_MISC_SWITCH_OUT) != 0) {
            out = at;
            preempted = (h->misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT) != 0;
        } else if (out != 0) {
            off.all += at - out;
            off.ready += preempted ? at - out : 0;
            out = 0;
        }
    }
    return off;
}

/* ── gap ────────────────────────────────────────────────────────────────────────────────────────────────────── */

struct yielder {
    cpu_set_t cpu;
    bool stop;
    uint64_t shortest;
};

static void *yield_back(void *data)
{
    struct yielder *y = data;
    sched_setaffinity(0, sizeof y->cpu, &y->cpu);
    while (!__atomic_load_n(&y->stop, __ATOMIC_RELAXED))
        sched_yield();
    return NULL;
}

static void *yield_and_measure(void *data)
{
    struct yielder *y = data;
    struct rusage before, after;
    sched_setaffinity(0, sizeof y->cpu, &y->cpu);
    for (uint32_t i = 0; i < YIELDS; i++) {
        getrusage(RUSAGE_THREAD, &before);
        uint64_t begin = os_clock();
        sched_yield();
        uint64_t took = os_clock() - begin;
        getrusage(RUSAGE_THREAD, &after);
        if (after.ru_nivcsw > before.ru_nivcsw && took < y->shortest)
            y->shortest = took;
    }
    __atomic_store_n(&y->stop, true, __ATOMIC_RELAXED);
    return NULL;
}

/* Two threads yield to each other on one processor. A shortest switch that was measured on a busy machine is too long,
 * so less than half of it is taken, within bounds. */
static uint64_t measure_gap(uint64_t ticks_per_sec)
{
    struct yielder y = {.shortest = UINT64_MAX};
    sigset_t all, old;
    pthread_t one, two;
    int cpu = sched_getcpu();
    CPU_ZERO(&y.cpu);
    CPU_SET(cpu < 0 ? 0 : (unsigned)cpu, &y.cpu);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    if (pthread_create(&one, NULL, yield_back, &y) == 0) {
        if (pthread_create(&two, NULL, yield_and_measure, &y) == 0)
            pthread_join(two, NULL);
        __atomic_store_n(&y.stop, true, __ATOMIC_RELAXED);
        pthread_join(one, NULL);
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    uint64_t low = ticks_per_sec * SHORTEST_GAP_NS / 1000000000u, high = ticks_per_sec * LONGEST_GAP_NS / 1000000000u;
    uint64_t gap = y.shortest == UINT64_MAX ? high / 2 : y.shortest / 5 * 2;
    return gap < low ? low : gap > high ? high : gap;
}

/* ── a thread ───────────────────────────────────────────────────────────────────────────────────────────────── */

uint64_t os_cpu_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* Nanoseconds that this thread has waited for a processor up to now: the second number of "ran waited times"
 * (Documentation/scheduler/sched-stats.rst). Not all kernels count, they say "0 0 0" then. */
static bool read_delay(uint64_t *ns)
{
    char text[DELAY_BYTES], *end;
    uint32_t n = read_file("/proc/thread-self/schedstat", (uint8_t *)text, sizeof text - 1);
    text[n] = 0;
    if (strtoull(text, &end, 10) == 0 && *end == 0)
        return false;
    *ns = strtoull(end, &end, 10);
    return strtoull(end, &end, 10) != 0 && *end == '\n';
}

/* Where it is refused later, nothing has come since the last time. */
static void read_usage(struct os_usage *u)
{
    struct rusage r;
    if (getrusage(RUSAGE_THREAD, &r) == 0)
        *u = (struct os_usage){(uint64_t)r.ru_nvcsw, (uint64_t)r.ru_nivcsw, (uint64_t)r.ru_majflt, (uint64_t)r.ru_inblock};
}

static void attach(struct timer *t, bool with_rseq)
{
    volatile uint64_t *word = with_rseq ? rseq_word() : NULL;
    t->gap = INT64_MAX; /* longer ones are those of a clock that went backwards */
    t->alarms = t->false_alarms = 0;
    if (!may_usage) {
        t->word = (volatile uint64_t *)(uintptr_t)&quiet_word;
        t->expect = 0;
        t->mechanism = WIRE_MECHANISM_NONE;
    } else if (word != NULL && *word == 0) {
        t->word = word;
        t->expect = (uintptr_t)machine_rseq_never;
        *word = t->expect;
        t->mechanism = WIRE_MECHANISM_RSEQ;
    } else if (may_perf && perf_open(t)) {
        t->mechanism = WIRE_MECHANISM_PERF;
    } else {
        t->word = (volatile uint64_t *)(uintptr_t)&quiet_word;
        t->expect = 0;
        t->gap = gap_ticks;
        t->mechanism = WIRE_MECHANISM_GAP;
    }
    read_usage(&t->usage);
}

void os_attach(struct timer *t)
{
    struct os_usage now = {0};
    uint32_t looks = 0;
    attach(t, may_rseq);
    t->unread = t->guessed = 0;
    do { /* all of one moment: a thread that is preempted between them begins anew */
        read_usage(&t->usage);
        if (may_delay && !read_delay(&t->delay_ns))
            t->delay_ns = 0; /* what it waited until now counts for the first wait then */
        t->cpu_ns = os_cpu_ns();
        t->cpu_at = os_clock();
        read_usage(&now);
    } while (++looks < MAX_LOOKS && (now.voluntary != t->usage.voluntary || now.preempted != t->usage.preempted));
}

void os_detach(struct timer *t)
{
    uint64_t ours = t->expect; /* the thread may run, and have put there something of its own */
    if (t->mechanism == WIRE_MECHANISM_RSEQ)
        __atomic_compare_exchange_n(t->word, &ours, 0, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    if (t->ring != NULL)
        munmap(t->ring, 2 * RING_BYTES);
    t->ring = NULL;
    t->word = (volatile uint64_t *)(uintptr_t)&quiet_word;
    t->expect = 0;
    t->mechanism = WIRE_MECHANISM_NONE;
}

/* What the kernel counts for a thread, at one moment. */
struct counted {
    uint64_t cpu, delay; /* nanoseconds with a processor, and of waiting for one */
    bool delayed;        /* the second was read */
};

/* Must it be asked how long the thread waited for a processor? After long times without one, where a wait and a preemption
 * are in one interval, and now and then: it takes some 4 us. */
static bool asks_delay(const struct timer *t, uint64_t now, uint64_t cpu, const struct wire_waits *w)
{
    if (!may_delay || rate == 0 || w->voluntary + w->preempted == 0)
        return false;
    uint64_t used = share(cpu - t->cpu_ns, rate, 1000000000u), gone = now - t->cpu_at > used ? now - t->cpu_at - used : 0;
    return (w->voluntary != 0 && w->preempted != 0) || (w->voluntary != 0 ? t->unread : t->guessed) >= MAX_UNREAD || share(gone, 1000000000u, rate) >= SHORT_WAIT_NS;
}

/* Reads what the kernel has counted up to `now`, when t->usage was read; false if it has counted more meanwhile. */
static bool count(const struct timer *t, uint64_t now, const struct wire_waits *w, struct counted *c)
{
    c->cpu = os_cpu_ns();
    c->delayed = asks_delay(t, now, c->cpu, w);
    if (!c->delayed)
        return true;
    c->delayed = read_delay(&c->delay);
    struct os_usage after = t->usage;
    read_usage(&after);
    return after.voluntary == t->usage.voluntary && after.preempted == t->usage.preempted;
}

/* How much of `off`, the time without a processor in an interval, the thread could have run. All of it if it never waited. Else the
 * kernel measures, also of the time after a wait until the thread had a processor again, if it was asked. `gone` is all time
 * without a processor since the last look. */
static uint64_t ready_of(struct timer *t, uint64_t off, uint64_t gone, struct off reported, const struct wire_waits *w, const struct counted *c)
{
    uint64_t before = t->delay_ns;
    if (w->preempted + w->voluntary == 0)
        return 0;
    if (may_delay && w->voluntary == 0) { /* not all of this need be the kernel's: what a host takes is not */
        uint64_t guess = before + share(gone, 1000000000u, rate);
        t->delay_ns = c->delayed && c->delay < guess ? c->delay : guess;
        t->guessed = c->delayed ? 0 : t->guessed + 1;
        return off;
    }
    if (c->delayed) {
        uint64_t ready = c->delay > before ? share(c->delay - before, rate, 1000000000u) : 0;
        t->delay_ns = c->delay;
        t->unread = t->guessed = 0;
        return ready < off ? ready : off;
    }
    if (may_delay && w->preempted == 0 && t->unread < MAX_UNREAD) {
        t->unread++;
        return 0;
    }
    return reported.all != 0 ? share(off, reported.ready, reported.all) : share(off, w->preempted, w->preempted + w->voluntary);
}

/* How long the thread had no processor in an interval, and why. Since the clock of its processor time was read last, it
 * had one all the time but for what came in this interval, else the word had changed. */
static void split(struct timer *t, uint64_t from, uint64_t to, struct off reported, struct wire_waits *w, const struct counted *c)
{
    uint64_t used = share(c->cpu - t->cpu_ns, rate, 1000000000u), before = from > t->cpu_at ? from - t->cpu_at : 0;
    uint64_t all = to > from ? to - from : 0, on = used > before ? used - before : 0, off = all > on ? all - on : 0;
    uint64_t gone = to - t->cpu_at > used ? to - t->cpu_at - used : 0;
    t->cpu_ns = c->cpu;
    t->cpu_at = to;
    if (rate == 0)
        return; /* the agent measures its own probes */
    w->ready = ready_of(t, off, gone, reported, w, c);
    w->blocked = off - w->ready;
}

/* What has come since `before`. */
static struct wire_waits waits_since(const struct os_usage *before, const struct os_usage *now)
{
    struct wire_waits w = {.voluntary = now->voluntary - before->voluntary, .preempted = now->preempted - before->preempted,
                           .faults = now->faults - before->faults, .reads = now->reads - before->reads};
    w.intervals = w.voluntary + w.preempted + w.faults + w.reads != 0; /* the disk can be fast enough for the thread to stay */
    return w;
}

/* Between the last reading of the counters and the returned time nothing happens unseen, nor do the times that the kernel
 * counts have anything of what came after: a thread that is preempted while it reads them reads all anew, and that is in
 * the interval, too. */
uint64_t os_look(struct timer *t, uint64_t from, struct wire_waits *w)
{
    struct os_usage before = t->usage;
    struct counted c = {0};
    uint64_t seen = *t->word, old = t->expect, begin, now;
    uint32_t looks = 0;
    bool foreign = t->mechanism == WIRE_MECHANISM_RSEQ && seen != old && seen != 0, calm;
    do {
        begin = os_clock();
        if (t->mechanism == WIRE_MECHANISM_RSEQ && !foreign)
            *t->word = t->expect;
        seen = *t->word;
        read_usage(&t->usage);
        now = os_clock();
        *w = waits_since(&before, &t->usage);
        calm = *t->word == seen && (now <= begin || now - begin <= t->gap);
        if (calm && w->intervals != 0)
            calm = count(t, now, w, &c);
    } while (++looks < MAX_LOOKS && !calm);
    if (!calm) { /* each look was switched out, as all system calls of a traced process are (strace): what comes now is not seen */
        count(t, now, w, &c);
        if (t->mechanism == WIRE_MECHANISM_RSEQ && !foreign)
            *t->word = t->expect;
        now = os_clock();
    }
    bool switched = w->voluntary + w->preempted != 0;
    t->alarms += switched;
    t->false_alarms += !switched;
    struct off reported = {0};
    if (t->mechanism == WIRE_MECHANISM_PERF) {
        reported = perf_off(t, old, seen);
        t->expect = seen;
    }
    if (foreign || (t->mechanism == WIRE_MECHANISM_RSEQ && t->false_alarms > MAX_FALSE_ALARMS && t->false_alarms > 8 * t->alarms)) {
        attach(t, false); /* somebody else uses this thread's word, or it is nearly always a false alarm */
        c.cpu = os_cpu_ns();
        now = os_clock();
    }
    if (w->intervals != 0)
        split(t, from, now, reported, w, &c);
    return now;
}

/* CLRPROF_MECHANISMS lists those that may be used beside gap; for tests, and where one is not wanted. So does
 * CLRPROF_CLOCK=monotonic with the time-stamp counter. */
static bool may_use(const char *name)
{
    const char *list = getenv("CLRPROF_MECHANISMS");
    return list == NULL || *list == 0 || strstr(list, name) != NULL;
}

void os_init(void)
{
    const char *clock = getenv("CLRPROF_CLOCK");
    clock_is_tsc = machine_clock_is_steady() && (clock == NULL || strcmp(clock, "monotonic") != 0);
    arena.header->clock = clock_is_tsc ? MACHINE_CLOCK : WIRE_CLOCK_MONOTONIC;
    struct rusage usage;
    may_usage = getrusage(RUSAGE_THREAD, &usage) == 0;
    may_rseq = may_usage && may_use("rseq") && rseq_works();
    may_perf = may_usage && !may_rseq && may_use("perf");
    struct timer probe = {0};
    may_delay = may_use("delay") && read_delay(&probe.delay_ns);
    arena.header->ready_measured = may_delay;
    if (may_perf) {
        may_perf = perf_open(&probe); /* the first one on a machine takes 15 ms: not in the program's first call */
        os_detach(&probe);
    }
    arena.header->mechanism = !may_usage ? WIRE_MECHANISM_NONE : may_rseq ? WIRE_MECHANISM_RSEQ : may_perf ? WIRE_MECHANISM_PERF : WIRE_MECHANISM_GAP;
}

void os_close(void)
{
    if (MAY_REGISTER && (&__rseq_size == NULL || __rseq_size == 0)) /* the kernel writes to an area as long as it is registered */
        syscall(SYS_rseq, &own_rseq, sizeof own_rseq, RSEQ_FLAG_UNREGISTER, RSEQ_SIGNATURE);
}

/* Once the rate of the clock is known. */
void os_init_gap(uint64_t ticks_per_sec)
{
    rate = ticks_per_sec;
    if (arena.header->mechanism == WIRE_MECHANISM_GAP)
        gap_ticks = measure_gap(ticks_per_sec);
    else
        gap_ticks = ticks_per_sec / 1000000; /* for threads that cannot use the mechanism of the others: 1 µs */
    arena.header->gap_ticks = gap_ticks;
}
