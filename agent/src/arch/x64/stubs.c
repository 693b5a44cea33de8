/* x64: the stubs that compiled code calls.
 *
 * Registers (linux-x64; jit/targetamd64.h, vm/amd64/asmhelpers.S of the runtime; checked by running): at Enter the client's
 * id is in r14 and the caller's stack pointer in r15, and all argument registers and rax must be kept; at Leave they are in
 * rdi and rsi, and the result (rax, rdx, xmm0, xmm1) must be kept; at Tailcall they are where Leave has them, and the
 * arguments of the function called next are kept too. r10 and r11 are free. The stack pointer is 8 off a multiple of 16.
 *
 * The hot functions use general registers only (HOT), so the stubs keep those. The slow functions are
 * called by the hot ones through stubs of their own that keep the rest. */
#include "arch/arch.h"
#include "arch/entry.h"

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

/* A function without code as the JIT makes it: rdi is the method. machine_bare is the same without probes. */
#define PROBED_STUBS(name, enter, leave) \
    STUB(name, PUSH(rbp) PUSH(r14) PUSH(r15) "lea 32(%rsp),%r15\nmov %rdi,%r14\nlea " #enter "(%rip),%rax\nmov %rdi,%rbp\ncall *%rax\n" \
         "mov %rbp,%rdi\nlea 32(%rsp),%rsi\nlea " #leave "(%rip),%rcx\ncall *%rcx\n" POP(r15) POP(r14) POP(rbp))
/* The same with probes in its IL. */
#define PROBED_IL_STUBS(name, enter, leave) \
    STUB(name, PUSH(rbp) "mov %rsp,%rbp\n" PUSH(rbx) PUSH(rbx) "mov %rdi,%rbx\nlea " #enter "(%rip),%rax\ncall *%rax\n" \
         "mov %rbx,%rdi\nlea " #leave "(%rip),%rax\ncall *%rax\n" POP(rbx) POP(rbx) POP(rbp))

#ifdef CLRPROF_ORACLE /* the same around functions that do less: what the product is measured by */
__asm__(HOOK_STUBS(oracle_empty, oracle_empty_hook, oracle_empty_hook, oracle_empty_hook) HOOK_STUBS(oracle_clock, oracle_clock_hook, oracle_clock_hook, oracle_clock_hook));
#endif

__asm__(HOOK_STUBS(clrprof, time_enter_hook, time_leave_hook, time_jump_hook)
        HOOK_STUBS(clrprof_traced, time_enter_traced, time_leave_traced, time_jump_traced)
        /* A slow function's stub: keeps the vector registers that can hold arguments or a result. */
        STUB(time_enter_slow, "sub $136,%rsp\n.cfi_adjust_cfa_offset 136\nmovups %xmm0,(%rsp)\nmovups %xmm1,16(%rsp)\nmovups %xmm2,32(%rsp)\n"
             "movups %xmm3,48(%rsp)\nmovups %xmm4,64(%rsp)\nmovups %xmm5,80(%rsp)\nmovups %xmm6,96(%rsp)\nmovups %xmm7,112(%rsp)\n"
             "call time_enter_cold\nmovups (%rsp),%xmm0\nmovups 16(%rsp),%xmm1\nmovups 32(%rsp),%xmm2\nmovups 48(%rsp),%xmm3\n"
             "movups 64(%rsp),%xmm4\nmovups 80(%rsp),%xmm5\nmovups 96(%rsp),%xmm6\nmovups 112(%rsp),%xmm7\nadd $136,%rsp\n.cfi_adjust_cfa_offset -136\n")
        STUB(time_leave_slow, "sub $136,%rsp\n.cfi_adjust_cfa_offset 136\nmovups %xmm0,(%rsp)\nmovups %xmm1,16(%rsp)\nmovups %xmm2,32(%rsp)\n"
             "movups %xmm3,48(%rsp)\nmovups %xmm4,64(%rsp)\nmovups %xmm5,80(%rsp)\nmovups %xmm6,96(%rsp)\nmovups %xmm7,112(%rsp)\n"
             "call time_leave_cold\nmovups (%rsp),%xmm0\nmovups 16(%rsp),%xmm1\nmovups 32(%rsp),%xmm2\nmovups 48(%rsp),%xmm3\n"
             "movups 64(%rsp),%xmm4\nmovups 80(%rsp),%xmm5\nmovups 96(%rsp),%xmm6\nmovups 112(%rsp),%xmm7\nadd $136,%rsp\n.cfi_adjust_cfa_offset -136\n")
        PROBED_STUBS(machine_probed, clrprof_enter, clrprof_leave) PROBED_STUBS(machine_probed_traced, clrprof_traced_enter, clrprof_traced_leave)
        PROBED_IL_STUBS(machine_probed_il, clrprof_probe_enter, clrprof_probe_leave)
        PROBED_IL_STUBS(machine_probed_il_traced, clrprof_traced_probe_enter, clrprof_traced_probe_leave)
        PROBED_IL_STUBS(machine_probed_il_numbered, clrprof_numbered_probe_enter, clrprof_numbered_probe_leave)
        STUB(machine_bare_il, PUSH(rbp) "mov %rsp,%rbp\n" POP(rbp))
        STUB(machine_bare, PUSH(rbp) PUSH(r14) PUSH(r15) POP(r15) POP(r14) POP(rbp)));

/* The probes in IL, which are called as functions of C and may change what those may: the argument is in rdi. Around a call the
 * stack pointer is that of the caller for what it calls, and behind it lies a return address in the caller. */
#define PROBE(name, body) ".balign 32\n.hidden " #name "\n.globl " #name "\n.type " #name ",@function\n" #name ":\n" body ".size " #name ",.-" #name "\n"
#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)
#define AT_SITE "lea 8+" TEXT(SITE_MARK) "(%rsp),%rsi\n"
/* What the argument's upper bits say is not the recording of now: the probe does nothing. Else they are taken away. */
#define NUMBERED "mov %rdi,%rax\nshr $" TEXT(PROBE_NUMBER_SHIFT) ",%rax\ncmp %ax,probes_recording(%rip)\njne 1f\n" \
                 "shl $64-" TEXT(PROBE_NUMBER_SHIFT) ",%rdi\nshr $64-" TEXT(PROBE_NUMBER_SHIFT) ",%rdi\n"
__asm__(".pushsection .text\n"
        PROBE(clrprof_probe_enter, "mov (%rsp),%rdx\nlea 16(%rbp),%rsi\njmp probes_enter\n")
        PROBE(clrprof_probe_leave, "mov (%rsp),%rdx\nlea 16(%rbp),%rsi\nlea 8(%rsp),%rcx\njmp probes_leave\n")
        PROBE(clrprof_traced_probe_enter, "mov (%rsp),%rdx\nlea 16(%rbp),%rsi\njmp probes_enter_traced\n")
        PROBE(clrprof_traced_probe_leave, "mov (%rsp),%rdx\nlea 16(%rbp),%rsi\nlea 8(%rsp),%rcx\njmp probes_leave_traced\n")
        PROBE(clrprof_probe_tail, "mov (%rsp),%rdx\nlea 16(%rbp),%rsi\nlea 8(%rsp),%rcx\njmp probes_tail\n")
        PROBE(clrprof_marked_enter, "mov (%rsp),%rdx\nlea 16(%rbp),%rsi\njmp probes_enter_marked\n")
        PROBE(clrprof_marked_leave, "mov (%rsp),%rdx\nlea 16(%rbp),%rsi\nlea 8(%rsp),%rcx\njmp probes_leave_marked\n")
        PROBE(clrprof_marked_tail, "mov (%rsp),%rdx\nlea 16(%rbp),%rsi\nlea 8(%rsp),%rcx\njmp probes_tail_marked\n")
        PROBE(clrprof_interaction_text, "lea 16(%rbp),%rcx\nmov (%rsp),%r8\nlea 8(%rsp),%r9\njmp interactions_text\n")
        PROBE(clrprof_interaction_waits, "lea 16(%rbp),%rdx\njmp interactions_waits\n")
        PROBE(clrprof_interaction_done, "lea 16(%rbp),%rdx\njmp interactions_done\n")
        PROBE(clrprof_site_enter, AT_SITE "jmp time_enter_hook\n")
        PROBE(clrprof_site_leave, AT_SITE "jmp time_leave_hook\n")
        PROBE(clrprof_traced_site_enter, AT_SITE "jmp time_enter_traced\n")
        PROBE(clrprof_traced_site_leave, AT_SITE "jmp time_leave_traced\n")
        PROBE(clrprof_site_jump, "lea 16+" TEXT(SITE_MARK) "(%rbp),%rsi\njmp time_site_jump\n")
        PROBE(clrprof_numbered_probe_enter, NUMBERED "mov (%rsp),%rdx\nlea 16(%rbp),%rsi\njmp probes_enter\n1:\nret\n")
        PROBE(clrprof_numbered_probe_leave, NUMBERED "mov (%rsp),%rdx\nlea 16(%rbp),%rsi\nlea 8(%rsp),%rcx\njmp probes_leave\n1:\nret\n")
        PROBE(clrprof_numbered_probe_tail, NUMBERED "mov (%rsp),%rdx\nlea 16(%rbp),%rsi\nlea 8(%rsp),%rcx\njmp probes_tail\n1:\nmov $1,%eax\nret\n")
        PROBE(clrprof_numbered_site_enter, NUMBERED AT_SITE "jmp time_enter_hook\n1:\nret\n")
        PROBE(clrprof_numbered_site_leave, NUMBERED AT_SITE "jmp time_leave_hook\n1:\nret\n")
        PROBE(clrprof_numbered_site_jump, NUMBERED "lea 16+" TEXT(SITE_MARK) "(%rbp),%rsi\njmp time_site_jump\n1:\nret\n")
        ".popsection\n");
