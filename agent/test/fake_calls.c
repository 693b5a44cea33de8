/* See fake_calls.h. */
#define _GNU_SOURCE
#include "fake_calls.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* ── hooks ──────────────────────────────────────────────────────────────────────────────────────────────────── */

struct registers {
    uint64_t rax, rbx, rcx, rdx, rsi, rdi, rbp, r8, r9, r12, r13, r14, r15;
    uint64_t xmm[8][2];
};
#define N_REGISTERS (sizeof(struct registers) / 8)

/* Calls a hook with these registers, and gives those that it left. */
void fake_hook_call(void *hook, struct registers *r);

#define EACH_VECTOR(f) f(0, 104) f(1, 120) f(2, 136) f(3, 152) f(4, 168) f(5, 184) f(6, 200) f(7, 216)
#define LOAD_VECTOR(n, at) "movups " #at "(%rax),%xmm" #n "\n"
#define STORE_VECTOR(n, at) "movups %xmm" #n "," #at "(%r11)\n"
__asm__(".text\n.globl fake_hook_call\n.type fake_hook_call,@function\nfake_hook_call:\n"
        "push %rbp\npush %rbx\npush %r12\npush %r13\npush %r14\npush %r15\npush %rsi\npush %rdi\nsub $8,%rsp\n"
        "mov %rsi,%rax\n" EACH_VECTOR(LOAD_VECTOR)
        "mov 8(%rax),%rbx\nmov 16(%rax),%rcx\nmov 24(%rax),%rdx\nmov 32(%rax),%rsi\nmov 40(%rax),%rdi\nmov 48(%rax),%rbp\n"
        "mov 56(%rax),%r8\nmov 64(%rax),%r9\nmov 72(%rax),%r12\nmov 80(%rax),%r13\nmov 88(%rax),%r14\nmov 96(%rax),%r15\n"
        "mov (%rax),%rax\ncall *8(%rsp)\nmov 16(%rsp),%r11\n" EACH_VECTOR(STORE_VECTOR)
        "mov %rax,(%r11)\nmov %rbx,8(%r11)\nmov %rcx,16(%r11)\nmov %rdx,24(%r11)\nmov %rsi,32(%r11)\nmov %rdi,40(%r11)\n"
        "mov %rbp,48(%r11)\nmov %r8,56(%r11)\nmov %r9,64(%r11)\nmov %r12,72(%r11)\nmov %r13,80(%r11)\nmov %r14,88(%r11)\n"
        "mov %r15,96(%r11)\n"
        "add $24,%rsp\npop %r15\npop %r14\npop %r13\npop %r12\npop %rbx\npop %rbp\nret\n.size fake_hook_call,.-fake_hook_call\n");

enum hook { ENTER, LEAVE, TAILCALL };

static __thread uint64_t register_seed;

/* The indices in struct registers of what a hook must keep; rbx, rbp and r12 to r15 always. */
static bool must_keep(enum hook h, size_t i)
{
    bool argument = (i >= 2 && i <= 5) || i == 7 || i == 8, callee_saved = i == 1 || i == 6 || (i >= 9 && i <= 12), vector = i >= 13;
    if (h == LEAVE)
        return callee_saved || i == 0 || i == 3 || (vector && i < 17); /* rax, rdx, xmm0, xmm1 */
    return callee_saved || argument || vector || (h == ENTER && i == 0);
}

static void call_hook(enum hook h, const struct fake_frame *f)
{
    void *const hooks[] = {fake_hooks.enter, fake_hooks.leave, fake_hooks.tailcall};
    struct registers before, after;
    uint64_t *words = (uint64_t *)(void *)&before, *left = (uint64_t *)(void *)&after;
    for (size_t i = 0; i < N_REGISTERS; i++)
        words[i] = (register_seed += UINT64_C(0x9e3779b97f4a7c15)) | 1;
    if (h == ENTER) {
        before.r14 = f->method->client;
        before.r15 = f->caller_sp;
    } else {
        before.rdi = f->method->client;
        before.rsi = f->caller_sp;
    }
    after = before;
    errno = 12345;
    fake_hook_call(hooks[h], &after);
    if (errno != 12345)
        fake_die("hook %d changed errno", h);
    for (size_t i = 0; i < N_REGISTERS; i++)
        if (words[i] != left[i] && must_keep(h, i))
            fake_die("hook %d changed register %zu", h, i);
}

/* ── calls ──────────────────────────────────────────────────────────────────────────────────────────────────── */

static __thread struct fake_frame *running;

struct fake_frame *fake_running(void)
{
    return running;
}

void fake_run_on(struct fake_frame *frame)
{
    running = frame;
}

void fake_compile(struct fake_method *m)
{
    if (__atomic_load_n(&m->compiled, __ATOMIC_ACQUIRE) || fake_hooks.mapper == NULL)
        return;
    while (__atomic_exchange_n(&m->compiling, true, __ATOMIC_ACQUIRE)) /* each method once, several at a time */
        sched_yield();
    if (!m->compiled) {
        int32_t hooked = -1;
        errno = 12345;
        m->client = fake_hooks.mapper((uintptr_t)m, fake_hooks.mapper_data, &hooked);
        m->hooked = hooked;
        void *agent = fake_callbacks();
        (void)SLOT(agent, CALLBACK_JIT_FINISHED, uintptr_t, hresult, int32_t)(agent, (uintptr_t)m, HR_OK, 1);
        if (errno != 12345)
            fake_die("the agent changed errno");
        if (hooked != 0 && hooked != 1)
            fake_die("the mapper did not say whether %s is hooked", m->name);
        __atomic_store_n(&m->compiled, true, __ATOMIC_RELEASE);
    }
    __atomic_store_n(&m->compiling, false, __ATOMIC_RELEASE);
}

bool fake_may_inline(struct fake_method *caller, struct fake_method *callee)
{
    int32_t should = 1;
    void *agent = fake_callbacks();
    errno = 12345;
    (void)SLOT(agent, CALLBACK_JIT_INLINING, uintptr_t, uintptr_t, int32_t *)(agent, (uintptr_t)caller, (uintptr_t)callee, &should);
    if (errno != 12345)
        fake_die("the agent changed errno");
    return should != 0;
}

static void run_method(fake_code code, void *data, struct fake_frame *f)
{
    fake_compile(f->method);
    if (f->method->hooked)
        call_hook(ENTER, f);
    f->caller = running;
    running = f;
    code(data);
    running = f->caller;
    if (f->method->hooked && !f->tail_called)
        call_hook(LEAVE, f);
}

void fake_entered(fake_code code, void *data, uintptr_t caller_sp, struct fake_body *b)
{
    struct fake_frame f = {.method = b->method, .caller_sp = caller_sp, .return_address = *(uintptr_t *)(caller_sp - 8)};
    run_method(code, data, &f);
    __asm__ volatile(""); /* not a jump: this frame is there */
}

/* Jumps to a place of a method's body, which calls the target with two arguments. */
void fake_call_at(uintptr_t place, void *target, fake_code code, void *data);
__asm__(".text\n.globl fake_call_at\n.type fake_call_at,@function\nfake_call_at:\n"
        "mov %rdi,%r11\nmov %rsi,%rax\nmov %rdx,%rdi\nmov %rcx,%rsi\njmp *%r11\n.size fake_call_at,.-fake_call_at\n");

void fake_call(struct fake_method *m, uint32_t place, fake_code code, void *data)
{
    void *target = m->bodies[0]->start;
    if (running == NULL)
        ((void (*)(fake_code, void *))target)(code, data);
    else
        fake_call_at(running->method->bodies[0]->places[place], target, code, data);
    __asm__ volatile("");
}

void fake_tail_call(struct fake_method *m, fake_code code, void *data)
{
    struct fake_frame *gone = running;
    if (gone->method->hooked)
        call_hook(TAILCALL, gone);
    gone->tail_called = true;
    running = gone->caller;
    struct fake_frame f = {.method = m, .caller_sp = gone->caller_sp, .return_address = gone->return_address};
    run_method(code, data, &f);
    running = gone;
}

void fake_report(enum fake_exception what, struct fake_method *m)
{
    void *agent = fake_callbacks();
    errno = 12345;
    (void)SLOT(agent, what, uintptr_t, uintptr_t)(agent, (uintptr_t)m, 0);
    if (errno != 12345)
        fake_die("the agent changed errno");
}

/* ── the clock ──────────────────────────────────────────────────────────────────────────────────────────────── */

struct fake_clock fake_clock;
static __thread uint64_t passed; /* since fake_clock.base, in this thread */
static __thread uint64_t off;    /* of this, without a processor, */
static __thread uint64_t delay;  /* and of that, as the kernel knows, waiting for one */
static __thread struct {
    uint32_t voluntary, preempted, faults, reads, minor_faults, writes;
} usage;
static __thread struct {
    uint32_t reading;
    int64_t ns;
} preemption;

unsigned long long fake_rdtsc(void);
int fake_clock_gettime(clockid_t id, struct timespec *out);
int fake_getrusage(int who, struct rusage *out);
int fake_open(const char *path, int flags, ...);

uint64_t fake_now(void)
{
    return fake_clock.base + (passed += fake_clock.step);
}

unsigned long long fake_rdtsc(void)
{
    return fake_clock.on ? fake_now() : __builtin_ia32_rdtsc();
}

int fake_clock_gettime(clockid_t id, struct timespec *out)
{
    fake_called(id == CLOCK_THREAD_CPUTIME_ID); /* the other clock is read without a system call */
    if (!fake_clock.on)
        return clock_gettime(id, out);
    uint64_t now = fake_now() - (id == CLOCK_THREAD_CPUTIME_ID ? off : 0);
    *out = (struct timespec){(time_t)(now / 1000000000u), (long)(now % 1000000000u)};
    return 0;
}

int fake_getrusage(int who, struct rusage *out)
{
    fake_called(1);
    int result = getrusage((__rusage_who_t)who, out);
    if (!fake_clock.on || fake_clock.step != 0)
        return result;
    if (preemption.reading != 0 && --preemption.reading == 0)
        fake_wait(preemption.ns, 0, 1, 0, 0);
    memset(out, 0, sizeof *out);
    out->ru_nvcsw = usage.voluntary;
    out->ru_nivcsw = usage.preempted;
    out->ru_majflt = usage.faults;
    out->ru_inblock = usage.reads;
    out->ru_minflt = usage.minor_faults;
    out->ru_oublock = usage.writes;
    return 0;
}

/* Only what the kernel counts for a thread is made up. */
int fake_open(const char *path, int flags, ...)
{
    va_list more;
    va_start(more, flags);
    int fd, mode = (flags & O_CREAT) != 0 ? va_arg(more, int) : 0;
    va_end(more);
    if (!fake_clock.on || fake_clock.step != 0 || strcmp(path, "/proc/thread-self/schedstat") != 0)
        return open(path, flags, mode);
    fd = memfd_create("schedstat", MFD_CLOEXEC);
    if (fd >= 0 && (dprintf(fd, "1 %llu 1\n", (unsigned long long)delay) < 0 || lseek(fd, 0, SEEK_SET) != 0))
        fake_die("no file");
    return fd;
}

void fake_clock_start(uint64_t step)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    fake_clock = (struct fake_clock){true, (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec, step};
}

void fake_pass(int64_t ns)
{
    passed += (uint64_t)ns;
}

void fake_steal(int64_t ns)
{
    fake_pass(ns);
    off += (uint64_t)ns;
}

void fake_queue(int64_t ns)
{
    fake_steal(ns);
    delay += (uint64_t)ns;
}

void fake_wait(int64_t ns, uint32_t voluntary, uint32_t preempted, uint32_t faults, uint32_t reads)
{
    if (preempted != 0 && voluntary == 0)
        fake_queue(ns);
    else
        fake_steal(ns);
    usage.voluntary += voluntary;
    usage.preempted += preempted;
    usage.faults += faults;
    usage.reads += reads;
}

void fake_count(uint32_t minor_faults, uint32_t writes)
{
    usage.minor_faults += minor_faults;
    usage.writes += writes;
}

void fake_preempt(uint32_t reading, int64_t ns)
{
    preemption.reading = reading;
    preemption.ns = ns;
}

/* ── perf events of the kernel ──────────────────────────────────────────────────────────────────────────────── */

#define RING_BYTES (5 * 4096)
#define DATA_BYTES (RING_BYTES - 4096)
#define EACH 8u /* bytes of a record that has nothing */
#define NAMED 80u /* and of one that says which call it was */

struct fake_events fake_events;
static __thread struct perf_event_mmap_page *calls, *moves; /* of this thread, which ends with its test */
static __thread bool named;                                 /* its records of calls are */
long fake_syscall(long number, ...);

static void add_records(struct perf_event_mmap_page *page, uint32_t n)
{
    if (page != NULL)
        __atomic_fetch_add(&page->data_head, EACH * n, __ATOMIC_RELAXED);
}

static void put(uint64_t at, uint32_t word)
{
    memcpy((char *)calls + RING_BYTES - DATA_BYTES + at % DATA_BYTES, &word, sizeof word);
}

void fake_called_as(uint32_t n, uint32_t number)
{
    for (; named && calls != NULL && n > 0; n--) {
        uint64_t at = calls->data_head;
        put(at, PERF_RECORD_SAMPLE);
        put(at + 4, NAMED << 16);
        put(at + 20, number);
        __atomic_store_n(&calls->data_head, at + NAMED, __ATOMIC_RELAXED);
    }
    add_records(calls, n);
}

void fake_called(uint32_t n)
{
    fake_called_as(n, FAKE_CALL);
}

void fake_moved(uint32_t n)
{
    add_records(moves, n);
}

/* Each ring is a file of its own, which the agent maps and closes. */
static long open_event(const struct perf_event_attr *a)
{
    bool of_calls = a->type == PERF_TYPE_TRACEPOINT;
    if (fake_events.refused) {
        errno = EACCES;
        return -1;
    }
    if (a->sample_period != 1 || (a->sample_type != 0 && (!of_calls || a->sample_type != PERF_SAMPLE_RAW)) || a->context_switch || (!of_calls && a->config != PERF_COUNT_SW_CPU_MIGRATIONS))
        fake_die("a perf event of type %u with %llu", a->type, (unsigned long long)a->config);
    int fd = memfd_create("ring", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, RING_BYTES) != 0)
        fake_die("no ring");
    void *page = mmap(NULL, RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (page == MAP_FAILED)
        fake_die("no ring");
    if (a->sample_type != 0 && fake_events.nameless) {
        close(fd);
        munmap(page, RING_BYTES);
        errno = EPERM;
        return -1;
    }
    if (of_calls)
        named = a->sample_type != 0;
    *(of_calls ? &calls : &moves) = page;
    __atomic_fetch_add(&fake_events.opened, 1, __ATOMIC_RELAXED);
    return fd;
}

long fake_syscall(long number, ...)
{
    long a[6] = {0};
    va_list list;
    va_start(list, number);
    for (int i = 0; i < (number == SYS_futex ? 6 : 5); i++) /* what is not passed is read from registers */
        a[i] = va_arg(list, long);
    va_end(list);
    if (fake_events.on && number == SYS_perf_event_open)
        return open_event((const struct perf_event_attr *)a[0]);
    if (number == SYS_clock_gettime)
        return fake_clock_gettime((clockid_t)a[0], (struct timespec *)a[1]);
    fake_called_as(1, (uint32_t)number);
    return syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
