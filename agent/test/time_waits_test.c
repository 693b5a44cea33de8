/* Scenarios of time with the real clock and the real system: what it did is asked of getrusage, around each call. */
#define _GNU_SOURCE
#include "time_world.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static struct rusage usage(void)
{
    struct rusage u;
    getrusage(RUSAGE_THREAD, &u);
    return u;
}

static uint64_t switches(const struct rusage *from, const struct rusage *to)
{
    return (uint64_t)(to->ru_nvcsw - from->ru_nvcsw + to->ru_nivcsw - from->ru_nivcsw);
}

/* ── each interval with what the system did in it ───────────────────────────────────────────────────────────── */

enum action { NOTHING, SPIN, SLEEP, PIPE, YIELD, SIGNAL, ACTIONS };

struct ping { /* a thread that answers */
    pthread_t thread;
    int to[2], from[2];
};

static void *answer(void *data)
{
    struct ping *p = data;
    char c;
    while (read(p->to[0], &c, 1) == 1)
        if (write(p->from[1], &c, 1) != 1)
            break;
    return NULL;
}

static struct ping ping;

static void act(enum action a)
{
    char c = 0;
    struct timespec pause = {0, 50000}, begin, now;
    switch (a) {
    case SPIN:
        clock_gettime(CLOCK_MONOTONIC, &begin);
        do
            clock_gettime(CLOCK_MONOTONIC, &now);
        while ((now.tv_sec - begin.tv_sec) * 1000000000 + now.tv_nsec - begin.tv_nsec < 20000);
        break;
    case SLEEP:
        nanosleep(&pause, NULL);
        break;
    case PIPE:
        if (write(ping.to[1], &c, 1) != 1 || read(ping.from[0], &c, 1) != 1)
            fake_die("no answer");
        break;
    case YIELD:
        sched_yield();
        break;
    case SIGNAL: /* the kernel clears rseq_cs, and nothing is waited for */
        raise(SIGUSR1);
        break;
    default:
        break;
    }
}

struct observed {
    enum action action;
    struct rusage first, last; /* within the call */
};

static void observe(void *data)
{
    struct observed *o = data;
    o->first = usage();
    act(o->action);
    o->last = usage();
}

static void handle_nothing(int number)
{
    (void)number;
}

static const struct wire_waits *waits_of(const struct wire_header *h, uint32_t number)
{
    static const struct wire_waits none;
    return number == 0 ? &none : (const struct wire_waits *)(const void *)((const uint8_t *)h + h->regions[WIRE_REGION_WAITS].offset) + number - 1;
}

#define WATCHED (600 / SCALE)
#define ENOUGH_QUIET (100 / SCALE)
#define MOST_WATCHED (20 * WATCHED) /* on a machine that lets a thread alone for microseconds only, some are quiet, but few */

struct watched {
    const struct wire_header *header;
    uint32_t flagged, quiet, off; /* intervals that had to be flagged, must not be, with a time without a processor */
};

/* Calls a method from another one and looks what the agent says about the interval of the inner one. */
static void watch(void *data)
{
    struct watched *w = data;
    struct observed o;
    fake_call(&methods[APP_1].method, 0, observe, &(struct observed){.action = NOTHING});
    uint32_t n;
    const struct wire_timing *x = model_timings(w->header, &n);
    while (x->return_address != place_of(0))
        x++;
    for (uint32_t i = 0; i < WATCHED || (w->quiet < ENOUGH_QUIET && i < MOST_WATCHED); i++) {
        uint64_t waited = x->tail_waited, elapsed = x->tail_elapsed;
        struct wire_waits had = *waits_of(w->header, x->tail_waits);
        o.action = (enum action)(i % ACTIONS);
        struct rusage before = usage();
        fake_call(&methods[APP_1].method, 0, observe, &o);
        struct rusage after = usage();
        const struct wire_waits *have = waits_of(w->header, x->tail_waits);
        uint64_t reported = have->voluntary - had.voluntary + have->preempted - had.preempted;
        if (switches(&o.first, &o.last) != 0) { /* certainly in the interval */
            check(have->intervals == had.intervals + 1, "action %d: %llu intervals with waits", o.action, (unsigned long long)(have->intervals - had.intervals));
            check(x->tail_waited - waited == x->tail_elapsed - elapsed, "action %d: a part of an interval waited", o.action);
            check(reported >= switches(&o.first, &o.last) && reported <= switches(&before, &after), "action %d: %llu switches", o.action, (unsigned long long)reported);
            w->flagged++;
        } else if (switches(&before, &after) == 0) {
            check(have->intervals == had.intervals && x->tail_waited == waited && reported == 0, "action %d: a wait that was none", o.action);
            w->quiet++;
        }
        uint64_t off = have->blocked - had.blocked + have->ready - had.ready;
        w->off += off != 0;
        check(off <= x->tail_elapsed - elapsed, "action %d: %llu ticks of %llu without a processor", o.action, (unsigned long long)off,
              (unsigned long long)(x->tail_elapsed - elapsed));
        check(w->header->ready_measured != 0 || have->ready == had.ready || have->preempted != had.preempted, "action %d: not blocked, and nobody else ran", o.action);
    }
}

static void watch_waits(uint32_t mechanism, const char *allowed, const char *clock)
{
    setenv("CLRPROF_MECHANISMS", allowed, 1);
    setenv("CLRPROF_CLOCK", clock, 1);
    signal(SIGUSR1, handle_nothing);
    struct watched w = {begin(0), 0, 0, 0};
    if (w.header->mechanism != mechanism) {
        printf("no %s here: ", allowed);
        return;
    }
    if (pipe(ping.to) != 0 || pipe(ping.from) != 0 || pthread_create(&ping.thread, NULL, answer, &ping) != 0)
        fake_die("no thread");
    fake_call(&methods[APP_0].method, 0, watch, &w);
    close(ping.to[1]);
    pthread_join(ping.thread, NULL);
    check(w.flagged >= 150 / SCALE, "only %u intervals", w.flagged);
    if (w.quiet < ENOUGH_QUIET)
        printf("this machine lets no thread alone: ");
    check(w.off >= w.flagged / 2, "%u intervals without a processor", w.off);
    const struct wire_clock *c = model_clock(header(), (uint32_t)getpid());
    check(c != NULL && c->mechanism == mechanism, "mechanism %u", c == NULL ? 0 : c->mechanism);
    check_losses(w.header, 0, 0);
}

static void time_waits_rseq(void)
{
    watch_waits(WIRE_MECHANISM_RSEQ, "rseq", "tsc");
}

static void time_waits_perf(void)
{
    watch_waits(WIRE_MECHANISM_PERF, "perf", "tsc");
}

static void time_waits_gap(void)
{
    watch_waits(WIRE_MECHANISM_GAP, "gap", "tsc");
}

/* The kernel says for how long a thread could have run. */
static void time_waits_delay(void)
{
    watch_waits(WIRE_MECHANISM_RSEQ, "rseq,delay", "tsc");
}

static void time_waits_monotonic(void)
{
    watch_waits(WIRE_MECHANISM_RSEQ, "rseq", "monotonic");
}

/* ── the area of restartable sequences ──────────────────────────────────────────────────────────────────────── */

extern const ptrdiff_t __rseq_offset __attribute__((weak));
extern const unsigned int __rseq_size __attribute__((weak));

/* A libc that registers no area, as before glibc 2.35: the agent registers its own. */
static void time_waits_own_rseq(void)
{
    if (getenv("GLIBC_TUNABLES") != NULL) {
        check(__rseq_size == 0, "libc has registered an area");
        watch_waits(WIRE_MECHANISM_RSEQ, "rseq", "tsc");
        return;
    }
    setenv("GLIBC_TUNABLES", "glibc.pthread.rseq=0", 1);
    char parent[5000];
    snprintf(parent, sizeof parent, "%s", directory);
    char *const arguments[] = {(char *)(uintptr_t)"agent_test", (char *)(uintptr_t)agent_path, parent, (char *)(uintptr_t)"time_waits_own_rseq", NULL};
    execv("/proc/self/exe", arguments);
    fake_die("cannot run once more");
}

static volatile uint64_t *rseq_word(void)
{
    return (volatile uint64_t *)(void *)((char *)__builtin_thread_pointer() + __rseq_offset + 8);
}

__asm__(".pushsection .text.test_rseq,\"ax\",@progbits\n.balign 16\n.long 0x53053053\n1: ud2\n2: ud2\n.popsection\n"
        ".pushsection .data.rel.ro.test_rseq,\"aw\",@progbits\n.balign 32\ntest_rseq_never: .long 0,0\n.quad 2b,2,1b\n.popsection\n");
extern char test_rseq_never[];

struct foreign {
    uint64_t word;
};

/* Reads the arena; one at a time. */
static const struct wire_clock *clock_of_this_thread(void)
{
    static pthread_mutex_t reading = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&reading);
    const struct wire_clock *c = model_clock(header(), (uint32_t)gettid());
    pthread_mutex_unlock(&reading);
    return c;
}

static void use_foreign(void *data)
{
    struct foreign *f = data;
    *rseq_word() = f->word;
}

static void nothing(void *data)
{
    (void)data;
}

/* Another library uses the word: the thread takes another mechanism, and leaves the word alone. Other threads do not. */
static void *be_disturbed(void *data)
{
    struct foreign f = {(uintptr_t)test_rseq_never};
    (void)data;
    fake_call(&methods[APP_0].method, 0, nothing, NULL);
    const struct wire_clock *c = clock_of_this_thread();
    check(c->mechanism == WIRE_MECHANISM_RSEQ, "mechanism %u", c->mechanism);
    while (c->mechanism == WIRE_MECHANISM_RSEQ) /* the kernel can clear the word before the agent sees it */
        fake_call(&methods[APP_0].method, 0, use_foreign, &f);
    check(c->mechanism == WIRE_MECHANISM_GAP, "mechanism %u", c->mechanism);
    for (int i = 0; i < 1000; i++) {
        *rseq_word() = i % 2 == 0 ? 0 : f.word;
        fake_call(&methods[APP_0].method, 0, nothing, NULL);
        uint64_t word = *rseq_word();
        check(word == 0 || word == f.word, "somebody else's word was changed to %llx", (unsigned long long)word);
    }
    *rseq_word() = 0;
    return NULL;
}

static void *be_foreign_first(void *data)
{
    *rseq_word() = (uintptr_t)test_rseq_never;
    fake_call(&methods[APP_0].method, 0, nothing, NULL);
    const struct wire_clock *c = clock_of_this_thread();
    uint64_t word = *rseq_word();
    check(word == (uintptr_t)test_rseq_never || c->mechanism == WIRE_MECHANISM_RSEQ || word == 0, "the word was changed to %llx", (unsigned long long)word);
    *rseq_word() = 0;
    return data;
}

static void time_foreign_rseq(void)
{
    pthread_t threads[4];
    setenv("CLRPROF_MECHANISMS", "rseq", 1);
    const struct wire_header *h = begin(0);
    if (h->mechanism != WIRE_MECHANISM_RSEQ || &__rseq_size == NULL || __rseq_size == 0) {
        printf("no rseq here: ");
        return;
    }
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, i < 3 ? be_disturbed : be_foreign_first, NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    fake_call(&methods[APP_0].method, 0, nothing, NULL);
    const struct wire_clock *c = model_clock(header(), (uint32_t)getpid());
    check(c->mechanism == WIRE_MECHANISM_RSEQ, "mechanism %u of an undisturbed thread", c->mechanism);
    check_losses(h, 0, 0);
}

/* Nothing is left of a thread's area when the agent was refused, nor when a thread ended. */
static void time_rseq_left(void)
{
    setenv("CLRPROF_MECHANISMS", "rseq", 1);
    setenv("CLRPROF_TIME", "1", 1);
    fake.fail_at = 6; /* SetEnterLeaveFunctionHooks3 */
    check_refused(fake_load(agent_path), WIRE_FAILURE_HOOKS, NULL);
    check(&__rseq_size == NULL || __rseq_size == 0 || *rseq_word() == 0, "the area refers to code that is gone");
}

/* ── waits for collections ──────────────────────────────────────────────────────────────────────────────────── */

#define SOME_NS 5000000 /* long against what the kernel takes to let a thread go on */
#define FOR_COLLECTION 1u
#define FOR_ANOTHER 2u /* COR_PRF_SUSPEND_FOR_APPDOMAIN_SHUTDOWN */

static void sleep_some(void)
{
    struct timespec t = {0, SOME_NS};
    while (nanosleep(&t, &t) != 0)
        ;
}

static void begin_pause(uint32_t reason)
{
    SLOT(fake_callbacks(), CALLBACK_RUNTIME_SUSPEND_STARTED, uint32_t)(fake_callbacks(), reason);
}

static void end_pause(void)
{
    fake_callback(CALLBACK_RUNTIME_RESUME_STARTED, 0);
}

/* The runtime stops this thread for a pause, and says so. The pause itself has not ended when the thread looks. */
static void be_stopped(void *reason)
{
    begin_pause(*(uint32_t *)reason);
    fake_callback(CALLBACK_RUNTIME_THREAD_SUSPENDED, 1);
    sleep_some();
    fake_callback(CALLBACK_RUNTIME_THREAD_RESUMED, 1);
}

struct collector { /* a thread that collects while this one waits within the allocator */
    pthread_t thread;
    int began[2], done[2];
    bool ended;
};

static void *collect(void *data)
{
    struct collector *c = data;
    begin_pause(FOR_COLLECTION);
    if (write(c->began[1], "", 1) != 1)
        fake_die("nobody waits");
    sleep_some();
    if (write(c->done[1], "", 1) != 1) /* the other one goes on before the pause is over */
        fake_die("nobody waits");
    end_pause();
    __atomic_store_n(&c->ended, true, __ATOMIC_RELEASE);
    return NULL;
}

static void wait_in_allocator(void *data)
{
    struct collector *c = data;
    char one;
    if (pthread_create(&c->thread, NULL, collect, c) != 0 || read(c->began[0], &one, 1) != 1)
        fake_die("no collector");
    fake_call(&methods[APP_2].method, 0, nothing, NULL); /* what follows is an interval of its own */
    if (read(c->done[0], &one, 1) != 1)
        fake_die("no collector");
    while (!__atomic_load_n(&c->ended, __ATOMIC_ACQUIRE)) /* the agent is to know the pause when it looks */
        ;
    fake_call(&methods[APP_2].method, 0, nothing, NULL);
}

/* A pause is in the middle of something that takes longer. */
static void sleep_beyond(void *data)
{
    (void)data;
    begin_pause(FOR_COLLECTION);
    end_pause();
    sleep_some();
}

enum { STOPPED, STOPPED_FOR_ANOTHER, ALLOCATING, SLEEPING, WAYS };

static uint64_t ready_ns[WAYS]; /* for how long this thread could have run in each, but had no processor */

static uint64_t ready_until_now(void)
{
    unsigned long long ran, ready;
    FILE *f = fopen("/proc/thread-self/schedstat", "re");
    if (f == NULL || fscanf(f, "%llu %llu", &ran, &ready) != 2)
        fake_die("no schedstat");
    fclose(f);
    return ready;
}

static void wait_in(uint32_t way, uint32_t method, uint32_t tier, void (*body)(void *), void *data)
{
    uint64_t before = ready_until_now();
    fake_call(&methods[method].method, tier, body, data);
    ready_ns[way] = ready_until_now() - before;
}

static void wait_in_all_ways(void *data)
{
    uint32_t collection = FOR_COLLECTION, another = FOR_ANOTHER;
    wait_in(STOPPED, APP_1, 0, be_stopped, &collection);
    wait_in(STOPPED_FOR_ANOTHER, APP_1, 1, be_stopped, &another);
    wait_in(ALLOCATING, APP_3, 0, wait_in_allocator, data);
    wait_in(SLEEPING, APP_3, 1, sleep_beyond, NULL);
}

struct waited {
    uint64_t itself, for_collections;
};

/* What the calls waited, in the order in which they were made first, themselves and for collections. */
static void read_waits(struct waited *of)
{
    uint32_t n, ways = 0, number[WAYS];
    const struct wire_timing *all = model_timings(header(), &n);
    for (uint32_t k = 0; k < n; k++) {
        const struct wire_timing *x = &all[k];
        if (x->function == WIRE_FUNCTION_COLLECTION) {
            check(x->calls == 0 && x->tail_waited == x->tail_elapsed, "a collection is no call, and only waited for");
            for (uint32_t i = 0; i < ways; i++)
                if (number[i] == x->parent)
                    of[i].for_collections += x->tail_waited;
        } else if (x->parent == 1 && ways < WAYS) {
            of[ways].itself = x->tail_waited;
            number[ways++] = k + 1;
        }
    }
    check(ways == WAYS, "%u calls", ways);
}

/* A wait for a collection is none of the call in which it came, whether the runtime reports it or it lies in a pause. */
static void time_collections(void)
{
    struct collector c = {.ended = false};
    const struct wire_header *h = begin(0);
    if (h->mechanism == WIRE_MECHANISM_GAP) {
        printf("no switches are seen here: ");
        return;
    }
    if (pipe(c.began) != 0 || pipe(c.done) != 0)
        fake_die("no pipes");
    fake_call(&methods[APP_0].method, 0, wait_in_all_ways, &c);
    pthread_join(c.thread, NULL);
    const uint64_t some = SOME_NS * h->ticks_per_sec / 1000000000;
    struct waited of[WAYS] = {{0, 0}};
    read_waits(of);
    for (uint32_t i = 0; i < WAYS; i++) {
        bool is_for_collection = i == STOPPED || i == ALLOCATING;
        uint64_t ready = ready_ns[i] * h->ticks_per_sec / 1000000000; /* on a busy machine the call itself waits, too */
        check(is_for_collection ? of[i].for_collections >= some / 2 && of[i].itself < some / 2 + ready
                                : of[i].for_collections == 0 && of[i].itself >= some,
              "way %u: %llu ticks, and %llu for collections; a wait is %llu, and %llu were none", i,
              (unsigned long long)of[i].itself, (unsigned long long)of[i].for_collections, (unsigned long long)some,
              (unsigned long long)ready);
    }
    check(h->gc_pauses == 2 && h->gc_longest_ns <= h->gc_paused_ns && h->gc_longest_ns >= SOME_NS, "%llu pauses of %llu ns, the longest of %llu",
          (unsigned long long)h->gc_pauses, (unsigned long long)h->gc_paused_ns, (unsigned long long)h->gc_longest_ns);
    check_losses(h, 0, 0);
}

/* ── the probes themselves ──────────────────────────────────────────────────────────────────────────────────── */

/* Has this thread a processor for a tenth of a millisecond at a time? */
static bool is_let_alone(void)
{
    struct rusage before = usage(), after;
    for (int i = 0; i < 100; i++)
        act(SPIN); /* 20 µs */
    after = usage();
    return switches(&before, &after) < 20;
}

static int overhead_step(uint64_t n)
{
    static const char *const mechanisms[] = {"rseq", "perf", "gap", "rseq", "gap"};
    if (n > 5)
        return STEP_BEYOND;
    setenv("CLRPROF_MECHANISMS", mechanisms[n - 1], 1);
    setenv("CLRPROF_CLOCK", n > 3 ? "monotonic" : "tsc", 1);
    const struct wire_header *h = begin(0);
    const struct wire_overhead *o = &h->overhead;
    uint64_t both = (o->inside + o->outside) * 1000000000 / h->ticks_per_sec / 1024, cold = (o->cold_inside + o->cold_outside) * 1000000000 / h->ticks_per_sec / 1024;
    if (is_let_alone()) {
        check(both > 0 && both < 1000 * (SANITIZED ? 20 : 1), "a call's probes take %llu ns", (unsigned long long)both);
        check(cold > 0 && cold < 10000 * (SANITIZED ? 20 : 1), "cold ones %llu ns", (unsigned long long)cold);
    }
    check(h->ticks_per_sec > 100000000 && h->ticks_per_sec < UINT64_C(20000000000), "%llu ticks per second", (unsigned long long)h->ticks_per_sec);
    check(h->gap_ticks * 1000000000 / h->ticks_per_sec >= 399 && h->gap_ticks * 1000000000 / h->ticks_per_sec <= 2000, "a gap of %llu ticks",
          (unsigned long long)h->gap_ticks);
    return STEP_PASSED;
}

static void time_overhead(void)
{
    sweep(overhead_step, 1);
}

#define MEASURED_ROUNDS 20u
#define CALLS_OF_ROUND 66000u /* more than the agent waits for until it measures again */

static void call_often(void *data)
{
    (void)data;
    for (uint32_t i = 0; i < MEASURED_ROUNDS; i++) {
        for (uint32_t k = 1; k < CALLS_OF_ROUND; k++)
            fake_call(&methods[APP_1].method, 0, nothing, NULL);
        struct observed o = {.action = SLEEP};
        fake_call(&methods[APP_1].method, 0, observe, &o); /* the slow path */
    }
}

/* While the program runs the probes are measured again, which is in none of its calls and times. */
static void time_measured_again(void)
{
    const struct wire_header *h = begin(0);
    const struct wire_overhead *o = &h->overhead;
    if (h->mechanism == WIRE_MECHANISM_GAP || h->clock == WIRE_CLOCK_MONOTONIC) {
        printf("nothing is measured again here: ");
        return;
    }
    check(o->repeated == 0, "measured %llu times at the start", (unsigned long long)o->repeated);
    fake_call(&methods[APP_0].method, 0, call_often, NULL);
    check(o->repeated > 0 || !is_let_alone(), "it is not measured again");
    uint64_t mean = o->later_inside + o->later_outside;
    check(o->repeated == 0 || (o->least <= mean + 2 && mean <= o->most && o->least > 0), "from %llu to %llu, on average %llu",
          (unsigned long long)o->least, (unsigned long long)o->most, (unsigned long long)mean);
    uint32_t n;
    const struct wire_timing *x = model_timings(h, &n);
    const struct wire_clock *c = model_clock(header(), (uint32_t)getpid());
    check(n == 2 && x[0].calls == 1 && x[1].calls == MEASURED_ROUNDS * CALLS_OF_ROUND && x[1].ended == x[1].calls, "%u timings", n);
    check(c != NULL && c->calls == 1 + MEASURED_ROUNDS * CALLS_OF_ROUND, "calls of the thread");
    check_losses(h, 0, 0);
}

/* Where system calls are filtered perf_event_open is not tried: the filter here kills for it. */
static void time_where_system_calls_are_filtered(void)
{
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {sizeof rules / sizeof *rules, rules};
    setenv("CLRPROF_MECHANISMS", "perf", 1);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) {
        printf("no filters here: ");
        return;
    }
    const struct wire_header *h = begin(0);
    check(h->mechanism == WIRE_MECHANISM_GAP, "mechanism %u", h->mechanism);
}

const struct scenario time_wait_scenarios[] = {
    {"time_waits_rseq", time_waits_rseq},
    {"time_waits_perf", time_waits_perf},
    {"time_waits_gap", time_waits_gap},
    {"time_waits_delay", time_waits_delay},
    {"time_waits_monotonic", time_waits_monotonic},
    {"time_waits_own_rseq", time_waits_own_rseq},
    {"time_foreign_rseq", time_foreign_rseq},
    {"time_rseq_left", time_rseq_left},
    {"time_collections", time_collections},
    {"time_overhead", time_overhead},
    {"time_measured_again", time_measured_again},
    {"time_where_system_calls_are_filtered", time_where_system_calls_are_filtered},
    {NULL, NULL},
};
