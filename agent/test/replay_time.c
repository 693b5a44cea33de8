/* Replays recordings of calls and exceptions to the agent's real code (call_stack.c), which leaves its counters in an arena.
 *
 *   replay_time DIRECTORY RECORDING…
 *
 * A recording is the header and the events of internal/testkit/timing/replay. Each is replayed in a process of its own, with its
 * arena in DIRECTORY/NAME, NAME being that of the recording. Linked with call_stack.c and arena.c; the rest of the agent, the
 * clock and the operating system are here (build with -include replay_time.h).
 *
 * The clock also runs while the agent does things for itself, though it does not in the recording: that time must be in
 * no interval. The operating system sometimes raises a false alarm. */
#define _GNU_SOURCE
#include "../src/core/arena.h"
#include "../src/calls/calls.h"
#include "../src/metadata/runtime_cfi.h"
#include "../src/calls/probe_overhead.h"
#include "../src/filter/instrumentation.h"
#include "../src/os/context_switch.h"
#include "../src/calls/gc_waits.h"
#include "../src/calls/exception_pins.h"
#include "../src/arch/entry.h"
#include "../src/control/lifecycle.h"
#include "../src/core/options.h"
#include "../src/threads/thread_sets.h"
#include "../src/threads/threads.h"
#include "../src/os/timer.h"
#include "../src/calls/call_trace.h"
#include "../src/control/collector_watch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define MEMORY (UINT64_C(1) << 30)
#define STACK_BYTES (UINT64_C(32) << 20) /* of each thread */
#define MAX_THREADS 16u
#define MAX_FUNCTIONS 4096u
#define OWN_TICKS 7u /* that pass each time when the agent reads the clock for itself */

enum { ENTER = 1, LEAVE, TAILCALL, FILTER, FILTER_END, UNWIND, FINALLY, FINALLY_END, UNWOUND, CATCH, VANISHED, END, TAIL };
enum { NOT_HOOKED, BOUNDARY, INSTRUMENTED, DISPATCHER };

struct head {
    uint64_t magic, events, timings, inside, outside, base, flags;
};
#define MAGIC UINT64_C(0x32656d6974726c63)
#define FLAG_TSC 1u        /* the clock is the time-stamp counter: the fast way */
#define FLAG_FALSE_ALARM 2u /* now and then */
#define FLAG_GAP 4u        /* long intervals are looked at */
#define FLAG_BLOCKS 8u     /* the runtime is .NET 9 */
#define FLAG_TAILS 16u     /* calls come by probes in IL, and some have the prefix tail.: see tails_test.go */

struct event {
    uint64_t kind, class, function, caller_sp, return_address, clock, voluntary, preempted, faults, reads, blocked, ready, thread;
};

struct played { /* of a recording with FLAG_TAILS */
    uintptr_t sp; /* of the caller */
    bool jumped;  /* it is gone */
};
#define MAX_FRAMES 65536u

struct player { /* a thread of the recording */
    struct played *frames;
    size_t n_frames;
    struct timer *timer;
    uint8_t *stack; /* its end is the base */
    uint64_t skew;  /* ticks that the agent took for itself */
    struct wire_waits pending;
    volatile uint64_t word;
};

static const char *recording;
static struct head head;
static struct player players[MAX_THREADS + 1];
static uint32_t current; /* its number */
static uint64_t now;
static bool read_once;
static void *callbacks[CALLBACK_SLOTS];
static struct method methods[MAX_FUNCTIONS];

static _Noreturn void die(const char *what)
{
    fprintf(stderr, "replay_time: %s: %s\n", recording, what);
    exit(2);
}

static void *must(void *memory)
{
    if (memory == NULL)
        die("no memory");
    return memory;
}

/* ── the operating system, and the rest of the agent ────────────────────────────────────────────────────────── */

static struct clr_clause clause;

static hresult get_notified_clause(void *self, struct clr_clause *out)
{
    (void)self;
    *out = clause;
    return HR_OK;
}

static void *info_table[INFO_GET_NOTIFIED_CLAUSE + 1] = {[INFO_GET_NOTIFIED_CLAUSE] = (void *)get_notified_clause};
static void **info_object = info_table;
void *agent_info = &info_object;

bool clock_is_tsc;
uint64_t replay_rdtsc(void)
{
    return now + players[current].skew;
}

/* The first reading at an event is its time, all others are the agent's own affair. */
uint64_t os_clock(void)
{
    if (read_once)
        players[current].skew += OWN_TICKS;
    read_once = true;
    return now + players[current].skew;
}

/* No recording reads CPU counters. */
uint64_t os_cpu_ns(void)
{
    return 0;
}

void os_pair(uint64_t *ticks, uint64_t *ns)
{
    static uint64_t calls;
    *ticks = *ns = ++calls * 1000000000u;
}

void os_init(void)
{
    clock_is_tsc = (head.flags & FLAG_TSC) != 0;
}

void os_init_gap(uint64_t ticks_per_sec)
{
    (void)ticks_per_sec;
}

bool os_is_filtered(void)
{
    return true;
}

void os_attach(struct timer *t)
{
    t->word = &players[current].word;
    t->expect = 0;
    t->gap = (head.flags & FLAG_GAP) != 0 ? 5000 : INT64_MAX;
    t->mechanism = WIRE_MECHANISM_RSEQ;
}

void os_detach(struct timer *t)
{
    t->mechanism = WIRE_MECHANISM_NONE;
}

uint64_t os_look(struct timer *t, uint64_t from, struct wire_waits *w)
{
    (void)from;
    struct player *p = &players[current];
    *w = p->pending;
    w->intervals = w->voluntary + w->preempted != 0;
    p->pending = (struct wire_waits){0};
    *t->word = t->expect;
    /* An interval in which the system acted ends when that has been found out: which takes no time here. */
    return w->intervals != 0 ? now + p->skew : os_clock();
}

void hooks_measure(struct timer *t, struct wire_timing *timings, struct wire_overhead *out)
{
    (void)t, (void)timings;
    *out = (struct wire_overhead){.inside = head.inside, .outside = head.outside};
}

void hooks_prepare(void)
{
}

void hooks_measure_again(struct timer *own)
{
    (void)own;
}

bool hooks_measure_themselves(const struct timer *t)
{
    (void)t;
    return false;
}

void time_enter_slow(const struct method *m, uintptr_t sp)
{
    time_enter_cold(m, sp);
}

void time_leave_slow(const struct method *m, uintptr_t sp)
{
    time_leave_cold(m, sp);
}

void watch_look(void)
{
}

void thread_find_stack(uintptr_t *low, uintptr_t *high)
{
    *low = (uintptr_t)players[current].stack;
    *high = *low + STACK_BYTES;
}

struct thread_set *thread_own_set(void)
{
    return NULL;
}

uint32_t thread_number(void)
{
    arena.header->threads = current > arena.header->threads ? current : arena.header->threads;
    return current;
}

uint32_t method_function(uintptr_t function_id)
{
    return methods[function_id].function;
}

/* RuntimeCode and RuntimeBytes of internal/testkit/timing. */
bool cfi_is_runtime(uintptr_t address)
{
    return address - UINT64_C(0x7d0000000000) < UINT64_C(0x10000000000);
}

/* No exception can move here. */
void pins_init(void *info)
{
    (void)info;
}

void pins_thrown(uintptr_t object)
{
    (void)object;
}

void pins_catch(void)
{
}

hresult pins_catcher_leave(void *self)
{
    (void)self;
    return HR_OK;
}

/* No function limits what is recorded. */
static void unwound(void)
{
}

static bool is_off(void)
{
    return false;
}

const struct lifecycle_hooks lifecycle_hooks = {.settle = time_settle, .is_off = is_off};

/* The order of events is not wanted. */
struct wire_trace_chunk trace_none;

void trace_init(void)
{
}

void trace_install(void **all)
{
    (void)all;
}

void trace_begin(struct timer *t, uint32_t thread)
{
    (void)t, (void)thread;
}

void trace_end(struct timer *t)
{
    (void)t;
}

void trace_more(struct timer *t)
{
    (void)t;
}

void trace_thrown(struct timer *t, uintptr_t object)
{
    (void)t, (void)object;
}

void trace_caught(struct timer *t, uintptr_t function_id)
{
    (void)t, (void)function_id;
}

/* Calls come by hooks here, and none began before. */
static void choose(const struct time_options *o)
{
    (void)o;
}

const struct call_hooks call_hooks = {.choose = choose, .unwound = unwound};

/* No recording has collections. */
void pauses_install(void **all)
{
    (void)all;
}

uint64_t pauses_within(uint64_t from, uint64_t to)
{
    (void)from;
    (void)to;
    return 0;
}

bool thread_is_known(void)
{
    return true;
}

/* each function has one number */
uint32_t callees_first(uint32_t function)
{
    return function;
}

hresult instrument_inlining(void *self, uintptr_t caller, uintptr_t callee, int32_t *should)
{
    (void)self, (void)caller, (void)callee, (void)should;
    return HR_OK;
}

hresult instrument_compiled(void *self, uintptr_t function_id, hresult status, int32_t safe_to_block)
{
    (void)self, (void)function_id, (void)status, (void)safe_to_block;
    return HR_OK;
}

/* ── events ─────────────────────────────────────────────────────────────────────────────────────────────────── */

/* Where an address of the recording's stacks is in a real stack. */
static uintptr_t real_sp(uint64_t sp)
{
    if (sp > head.base || head.base - sp > STACK_BYTES - 16)
        die("a stack pointer outside of the stack");
    return (uintptr_t)players[current].stack + STACK_BYTES - (head.base - sp);
}

static void call_id(uint32_t slot, uint64_t function)
{
    ((hresult(*)(void *, uintptr_t))callbacks[slot])(NULL, (uintptr_t)function);
}

static void call_plain(uint32_t slot)
{
    ((hresult(*)(void *))callbacks[slot])(NULL);
}

static void note_os(const struct event *e)
{
    static uint64_t n;
    struct player *p = &players[current];
    p->pending.voluntary += e->voluntary;
    p->pending.preempted += e->preempted;
    p->pending.faults += e->faults;
    p->pending.reads += e->reads;
    p->pending.blocked += e->blocked;
    p->pending.ready += e->ready;
    if (e->voluntary + e->preempted != 0 || ((head.flags & FLAG_FALSE_ALARM) != 0 && ++n % 5 == 0))
        p->word = 1;
}

static void enter(const struct event *e)
{
    uintptr_t sp = real_sp(e->caller_sp), address = (uintptr_t)e->return_address;
    memcpy((void *)(sp - sizeof address), &address, sizeof address);
    time_enter_hook(&methods[e->function], sp);
}

/* The recording is of a program in which no call jumps: the caller has a frame up to its end. What the agent decides is
 * done here. A call that jumps is in the place of its caller, of whose end nothing is reported. */
static void play_tails(const struct event *e)
{
    struct player *p = &players[current];
    struct method *m = &methods[e->function];
    if (p->frames == NULL)
        p->frames = must(calloc(MAX_FRAMES, sizeof *p->frames));
    struct played *top = p->n_frames == 0 ? NULL : &p->frames[p->n_frames - 1];
    if (e->kind == ENTER && p->n_frames < MAX_FRAMES) {
        uintptr_t sp = top != NULL && top->jumped ? top->sp : real_sp(e->caller_sp);
        p->frames[p->n_frames++] = (struct played){.sp = sp};
        if (top == NULL || !top->jumped)
            memcpy((void *)(sp - sizeof sp), &e->return_address, sizeof sp);
        time_enter_hook(m, sp);
        return;
    }
    if (top == NULL)
        die("no call ends");
    switch (e->kind) {
    case TAIL:
        top->jumped = !time_stays(m, top->sp, (uintptr_t)e->return_address, real_sp(e->caller_sp));
        break;
    case LEAVE:
        p->n_frames--;
        if (!top->jumped)
            time_leave_hook(m, top->sp);
        break;
    case UNWIND:
        if (!top->jumped)
            call_id(CALLBACK_UNWIND_FUNCTION_ENTER, e->function);
        break;
    case UNWOUND:
        p->n_frames--;
        if (!top->jumped)
            call_plain(CALLBACK_UNWIND_FUNCTION_LEAVE);
        break;
    case CATCH:
        clause.frame_pointer = real_sp(e->caller_sp);
        ((hresult(*)(void *, uintptr_t, uintptr_t))callbacks[CALLBACK_CATCHER_ENTER])(NULL, (uintptr_t)e->function, 0);
        break;
    default:
        die("an event that there is not");
    }
}

static void play_event(const struct event *e)
{
    if ((head.flags & FLAG_TAILS) != 0 && e->kind != END) {
        play_tails(e);
        return;
    }
    switch (e->kind) {
    case ENTER:
        enter(e);
        break;
    case LEAVE:
    case TAILCALL:
        time_leave_hook(&methods[e->function], real_sp(e->caller_sp));
        break;
    case FILTER:
        call_id(CALLBACK_FILTER_ENTER, e->function);
        break;
    case FILTER_END:
        call_plain(CALLBACK_FILTER_LEAVE);
        break;
    case UNWIND:
        call_id(CALLBACK_UNWIND_FUNCTION_ENTER, e->function);
        break;
    case FINALLY:
        clause.frame_pointer = real_sp(e->caller_sp);
        call_id(CALLBACK_FINALLY_ENTER, e->function);
        break;
    case FINALLY_END:
        call_plain(CALLBACK_FINALLY_LEAVE);
        break;
    case UNWOUND:
        call_plain(CALLBACK_UNWIND_FUNCTION_LEAVE);
        break;
    case CATCH:
        clause.frame_pointer = real_sp(e->caller_sp);
        ((hresult(*)(void *, uintptr_t, uintptr_t))callbacks[CALLBACK_CATCHER_ENTER])(NULL, (uintptr_t)e->function, 0);
        break;
    case END: /* a thread with calls that run keeps its state, for the reader */
        if (current_timer != NULL && current_timer->top == current_timer->bottom)
            time_thread_ended(NULL);
        break;
    default:
        die("an event that there is not");
    }
}

static void play(const struct event *e)
{
    if (e->thread == 0 || e->thread > MAX_THREADS || e->function >= MAX_FUNCTIONS)
        die("a thread or a function that there is not");
    struct method *m = &methods[e->function];
    *m = (struct method){.function = (uint32_t)e->function, .first = (uint32_t)e->function, .boundary = e->class != INSTRUMENTED, .core = e->class != INSTRUMENTED};
    if (e->class == NOT_HOOKED || e->class == DISPATCHER)
        m->function = 0;
    current = (uint32_t)e->thread;
    struct player *p = &players[current];
    if (p->stack == NULL)
        p->stack = must(calloc(1, STACK_BYTES));
    current_timer = p->timer;
    now = e->clock;
    read_once = false;
    note_os(e);
    play_event(e);
    p->timer = current_timer;
}

static void replay(const char *directory, const char *path)
{
    char name[4096];
    recording = path;
    FILE *f = fopen(path, "rb");
    if (f == NULL || fread(&head, sizeof head, 1, f) != 1 || head.magic != MAGIC)
        die("not a recording");
    snprintf(name, sizeof name, "%s/%s", directory, strrchr(path, '/') == NULL ? path : strrchr(path, '/') + 1);
    if (mkdir(name, 0700) != 0 || !arena_create(name, WIRE_REGION_COUNT, MEMORY, 1))
        die("no arena");
    arena.header->data = WIRE_DATA_TIME;
    arena.header->runtime_major = (head.flags & FLAG_BLOCKS) != 0 ? 9 : 4;
    time_init(&(struct time_options){.timings = head.timings});
    time_install(callbacks);
    for (uint64_t i = 0; i < head.events; i++) {
        struct event e;
        if (fread(&e, sizeof e, 1, f) != 1)
            die("it stops in the middle");
        play(&e);
    }
    fclose(f);
    for (uint32_t i = 1; i <= MAX_THREADS; i++) {
        free(players[i].stack);
        free(players[i].frames);
    }
    arena.header->state = WIRE_STATE_SHUT_DOWN;
}

int main(int n_arguments, char **arguments)
{
    if (n_arguments < 3) {
        fprintf(stderr, "usage: %s DIRECTORY RECORDING...\n", arguments[0]);
        return 2;
    }
    for (int i = 2; i < n_arguments; i++) {
        int status = 0;
        pid_t child = fork();
        if (child == 0) {
            replay(arguments[1], arguments[i]);
            exit(0);
        }
        if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
            fprintf(stderr, "replay_time: %s: the agent ended with status %x\n", arguments[i], (unsigned)status);
            return 1;
        }
    }
    return 0;
}
