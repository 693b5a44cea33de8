/* x64: what the processor and the kernel say. */
#include "arch/arch.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

/* CPUID 0x80000007, EDX bit 8: the counter runs at one rate in all states of the processor. */
bool machine_clock_is_steady(void)
{
    uint32_t a = 0x80000000u, b, c, d;
    __asm__ volatile("cpuid" : "+a"(a), "=b"(b), "=c"(c), "=d"(d));
    if (a < 0x80000007u)
        return false;
    a = 0x80000007u;
    __asm__ volatile("cpuid" : "+a"(a), "=b"(b), "=c"(c), "=d"(d));
    return (d >> 8 & 1) != 0;
}

/* libc's code. The kernel's struct sigaction has it (arch/x86/include/uapi/asm/signal.h); libc's own does not. SIGFPE is one
 * of the signals by which the runtime turns faults into exceptions. */
uintptr_t machine_signal_return(void)
{
    struct {
        uintptr_t handler, flags, restorer;
        uint64_t mask;
    } action = {0, 0, 0, 0};
    return syscall(SYS_rt_sigaction, SIGFPE, NULL, &action, sizeof action.mask) == 0 ? action.restorer : 0;
}


/* A sequence of two bytes that are never executed, and what the kernel checks before its abort address. */
__asm__(".pushsection .text.rseq_never,\"ax\",@progbits\n.balign 16\n.long 0x53053053\n"
        "1: ud2\n2: ud2\n.popsection\n"
        ".pushsection .data.rel.ro.rseq,\"aw\",@progbits\n.balign 32\n"
        ".hidden machine_rseq_never\n.globl machine_rseq_never\n"
        "machine_rseq_never: .long 0,0\n.quad 2b,2,1b\n.popsection\n");
