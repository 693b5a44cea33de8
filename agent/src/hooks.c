/* The stubs that compiled code calls at its beginning and end, and what they cost.
 *
 * Registers (linux-x64; jit/targetamd64.h, vm/amd64/asmhelpers.S of the runtime; checked by running): at Enter the client's
 * id is in r14 and the caller's stack pointer in r15, and all argument registers and rax must be kept; at Leave they are in
 * rdi and rsi, and the result (rax, rdx, xmm0, xmm1) must be kept; at Tailcall they are where Leave has them, and the
 * arguments of the function called next are kept too. r10 and r11 are free. The stack pointer is 8 off a multiple of 16.
 *
 * The hot functions use general registers only (see HOT in time.c), so the stubs keep those. The slow functions are
 * called by the hot ones through stubs of their own that keep the rest. */
#include "agent.h"

/* clang has no attribute that forbids other registers in one function, and sanitizers call functions. */
#if defined(__clang__) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define KEEP_VECTORS "sub $128,%rsp\nmovups %xmm0,(%rsp)\nmovups %xmm1,16(%rsp)\nmovups %xmm2,32(%rsp)\nmovups %xmm3,48(%rsp)\n" \
                     "movups %xmm4,64(%rsp)\nmovups %xmm5,80(%rsp)\nmovups %xmm6,96(%rsp)\nmovups %xmm7,112(%rsp)\n"
#define GIVE_VECTORS "movups (%rsp),%xmm0\nmovups 16(%rsp),%xmm1\nmovups 32(%rsp),%xmm2\nmovups 48(%rsp),%xmm3\n" \
                     "movups 64(%rsp),%xmm4\nmovups 80(%rsp),%xmm5\nmovups 96(%rsp),%xmm6\nmovups 112(%rsp),%xmm7\nadd $128,%rsp\n"
#else
#define KEEP_VECTORS ""
#define GIVE_VECTORS ""
#endif
#define PUSH(r) "push %" #r "\n.cfi_adjust_cfa_offset 8\n"
#define POP(r) "pop %" #r "\n.cfi_adjust_cfa_offset -8\n"
#define STUB(name, body) ".pushsection .text\n.balign 32\n.hidden " #name "\n.globl " #name "\n.type " #name ",@function\n" #name ":\n.cfi_startproc\n" body \
                         "ret\n.cfi_endproc\n.size " #name ",.-" #name "\n.popsection\n"
#define KEEP_ARGUMENTS PUSH(rax) PUSH(rcx) PUSH(rdx) PUSH(rsi) PUSH(rdi) PUSH(r8) PUSH(r9)
#define GIVE_ARGUMENTS POP(r9) POP(r8) POP(rdi) POP(rsi) POP(rdx) POP(rcx) POP(rax)

/* The three stubs that compiled code calls, and the functions that they call. */
#define HOOK_STUBS(name, enter, leave, jump) \
    STUB(name##_enter, KEEP_ARGUMENTS KEEP_VECTORS "mov %r14,%rdi\nmov %r15,%rsi\ncall " #enter "\n" GIVE_VECTORS GIVE_ARGUMENTS) \
    STUB(name##_leave, PUSH(rax) PUSH(rdx) PUSH(rcx) KEEP_VECTORS "call " #leave "\n" GIVE_VECTORS POP(rcx) POP(rdx) POP(rax)) \
    STUB(name##_tailcall, KEEP_ARGUMENTS KEEP_VECTORS "call " #jump "\n" GIVE_VECTORS GIVE_ARGUMENTS)

#ifdef CLRPROF_ORACLE /* the same around functions that do less: what the product is measured by */
__asm__(HOOK_STUBS(oracle_empty, oracle_empty_hook, oracle_empty_hook, oracle_empty_hook) HOOK_STUBS(oracle_clock, oracle_clock_hook, oracle_clock_hook, oracle_clock_hook));
#endif

__asm__(HOOK_STUBS(clrprof, time_enter_hook, time_leave_hook, time_jump_hook)
        /* A slow function's stub: keeps the vector registers that can hold arguments or a result. */
        STUB(time_enter_slow, "sub $136,%rsp\n.cfi_adjust_cfa_offset 136\nmovups %xmm0,(%rsp)\nmovups %xmm1,16(%rsp)\nmovups %xmm2,32(%rsp)\n"
             "movups %xmm3,48(%rsp)\nmovups %xmm4,64(%rsp)\nmovups %xmm5,80(%rsp)\nmovups %xmm6,96(%rsp)\nmovups %xmm7,112(%rsp)\n"
             "call time_enter_cold\nmovups (%rsp),%xmm0\nmovups 16(%rsp),%xmm1\nmovups 32(%rsp),%xmm2\nmovups 48(%rsp),%xmm3\n"
             "movups 64(%rsp),%xmm4\nmovups 80(%rsp),%xmm5\nmovups 96(%rsp),%xmm6\nmovups 112(%rsp),%xmm7\nadd $136,%rsp\n.cfi_adjust_cfa_offset -136\n")
        STUB(time_leave_slow, "sub $136,%rsp\n.cfi_adjust_cfa_offset 136\nmovups %xmm0,(%rsp)\nmovups %xmm1,16(%rsp)\nmovups %xmm2,32(%rsp)\n"
             "movups %xmm3,48(%rsp)\nmovups %xmm4,64(%rsp)\nmovups %xmm5,80(%rsp)\nmovups %xmm6,96(%rsp)\nmovups %xmm7,112(%rsp)\n"
             "call time_leave_cold\nmovups (%rsp),%xmm0\nmovups 16(%rsp),%xmm1\nmovups 32(%rsp),%xmm2\nmovups 48(%rsp),%xmm3\n"
             "movups 64(%rsp),%xmm4\nmovups 80(%rsp),%xmm5\nmovups 96(%rsp),%xmm6\nmovups 112(%rsp),%xmm7\nadd $136,%rsp\n.cfi_adjust_cfa_offset -136\n")
        /* A function without code as the JIT makes it: rdi is the method. clrprof_bare is the same without probes. */
        STUB(clrprof_probed, PUSH(rbp) PUSH(r14) PUSH(r15) "lea 32(%rsp),%r15\nmov %rdi,%r14\nlea clrprof_enter(%rip),%rax\nmov %rdi,%rbp\ncall *%rax\n"
             "mov %rbp,%rdi\nlea 32(%rsp),%rsi\nlea clrprof_leave(%rip),%rcx\ncall *%rcx\n" POP(r15) POP(r14) POP(rbp))
        /* The same with probes in its IL. */
        STUB(clrprof_probed_il, PUSH(rbp) "mov %rsp,%rbp\n" PUSH(rbx) PUSH(rbx) "mov %rdi,%rbx\nlea clrprof_probe_enter(%rip),%rax\ncall *%rax\n"
             "mov %rbx,%rdi\nlea clrprof_probe_leave(%rip),%rax\ncall *%rax\n" POP(rbx) POP(rbx) POP(rbp))
        STUB(clrprof_bare_il, PUSH(rbp) "mov %rsp,%rbp\n" POP(rbp))
        STUB(clrprof_bare, PUSH(rbp) PUSH(r14) PUSH(r15) POP(r15) POP(r14) POP(rbp)));

void clrprof_probed(const struct method *m);
void clrprof_bare(const struct method *m);
void clrprof_probed_il(const struct method *m);
void clrprof_bare_il(const struct method *m);

#define BATCHES 31u      /* the median of so many is taken */
#define BATCH 400u       /* calls: shorter than a tick of the kernel's clock */
#define COLD_CALLS 63u
#define CACHE_LINE 64u

static uint64_t median(uint64_t *values, uint32_t n)
{
    for (uint32_t i = 1; i < n; i++) {
        uint64_t v = values[i];
        uint32_t k = i;
        for (; k > 0 && values[k - 1] > v; k--)
            values[k] = values[k - 1];
        values[k] = v;
    }
    return n == 0 ? 0 : values[n / 2];
}

static void flush(const void *from, uint64_t bytes)
{
    for (uint64_t i = 0; i < bytes; i += CACHE_LINE)
        __builtin_ia32_clflush((const uint8_t *)from + i);
}

struct probe { /* of a function without code */
    uint64_t inside[BATCHES > COLD_CALLS ? BATCHES : COLD_CALLS], outside[BATCHES > COLD_CALLS ? BATCHES : COLD_CALLS];
    uint32_t n;
};

static uint64_t looks(const struct timer *t)
{
    return t->alarms + t->false_alarms;
}

static void keep(struct probe *p, const struct timer *t, const struct wire_timing *x, uint64_t looks_before, uint64_t calls)
{
    if (looks(t) == looks_before && x->ended == calls) { /* nothing came between */
        p->inside[p->n] = x->tail_elapsed * 1024 / calls;
        p->outside[p->n++] = x->lead_elapsed * 1024 / calls;
    }
}

static uint64_t measure_bare(const struct method *m)
{
    uint64_t took[BATCHES];
    void (*bare)(const struct method *) = probes_on ? clrprof_bare_il : clrprof_bare;
    for (uint32_t b = 0; b < BATCHES; b++) {
        uint64_t begin = os_clock();
        for (uint32_t i = 0; i < BATCH; i++)
            bare(m);
        took[b] = (os_clock() - begin) * 1024 / BATCH;
    }
    return median(took, BATCHES);
}

/* The probed function is called by an activation that is made here, as framework code calls an instrumented function. */
void hooks_measure(struct timer *t, struct wire_timing *timings, struct wire_overhead *out)
{
    const struct method *probed = probes_example();
    void (*call)(const struct method *) = probes_on ? clrprof_probed_il : clrprof_probed;
    struct wire_timing *x = &timings[1];
    struct probe warm = {.n = 0}, cold = {.n = 0};
    timings[0].function = 1;
    x->parent = 1;
    x->function = probed->function;
    time_know(t, 2);
    *++t->top = (struct wire_activation){.caller_sp = UINTPTR_MAX - 8, .timing = 1, .flags = WIRE_ACTIVATION_BOUNDARY};
    for (uint32_t b = 0; b < BATCHES; b++) {
        uint64_t before = looks(t);
        call(probed);
        x->lead_elapsed = x->tail_elapsed = x->ended = 0;
        for (uint32_t i = 0; i < BATCH; i++)
            call(probed);
        keep(&warm, t, x, before, BATCH);
    }
    for (uint32_t i = 0; i < COLD_CALLS; i++) {
        uint64_t before = looks(t);
        x->lead_elapsed = x->tail_elapsed = x->ended = 0;
        flush(x, sizeof *x);
        flush(t->top, 2 * sizeof *t->top);
        flush(t->table, (t->mask + 1) * sizeof *t->table);
        flush(t, sizeof *t);
        t->clock->last = os_clock();
        call(probed);
        keep(&cold, t, x, before, 1);
    }
    uint64_t bare = measure_bare(probed), outside = median(warm.outside, warm.n);
    *out = (struct wire_overhead){median(warm.inside, warm.n), outside > bare ? outside - bare : 0, median(cold.inside, cold.n),
                                  median(cold.outside, cold.n)};
}
