/* arm64: what the processor and the kernel say. */
#include "arch/arch.h"

/* The architecture says so of the generic timer (Arm ARM, D11.1.2). */
bool machine_clock_is_steady(void)
{
    return true;
}

/* Not known: it is the kernel's own code (vdso), and no frame that the agent walks returns there. */
uintptr_t machine_signal_return(void)
{
    return 0;
}

/* A sequence of an instruction that is never executed, and what the kernel checks before its abort address. */
__asm__(".pushsection .text.rseq_never,\"ax\",@progbits\n.balign 16\n.inst 0xD428BC00\n"
        "1: .inst 0\n2: .inst 0\n.popsection\n"
        ".pushsection .data.rel.ro.rseq,\"aw\",@progbits\n.balign 32\n"
        ".hidden machine_rseq_never\n.globl machine_rseq_never\n"
        "machine_rseq_never: .long 0,0\n.quad 2b,4,1b\n.popsection\n");
