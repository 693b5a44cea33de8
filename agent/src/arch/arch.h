/* What the agent knows of the machine: the one place for registers, instructions and calling conventions.
 *
 * Each machine is a folder here. Its machine.h has what is part of hot functions, and constants; its files have the rest, and are
 * compiled by ../arch.c. Nothing outside of these folders names a register or an instruction, which internal/policy tests.
 *
 * A machine.h provides
 *   HOT             the attribute of functions that change general registers only, as far as the compiler has one: see stubs.c
 *   machine_ticks() the clock, which must not be read before what stands in front of it, nor after what follows. A macro, as it
 *                   is part of functions with different registers
 *   MACHINE_CLOCK   WIRE_CLOCK_… of this clock
 *   machine_counter() one of the processor's counters: see counters.c
 *   word_pair, …    two words that are compared at once: pair_at, pair_of, pair_sum, pair_still, PAIRS_SAME, are_same
 *   machine_flush() takes a line of CACHE_LINE bytes out of the caches
 *   and the constants that are described there: of frames, signals, call-frame information, addresses, pages, rseq.
 * Its files define the functions below, and the stubs that hooks.h and probes.h declare.
 *
 * What all the rest takes for granted: 64 bits, the lower byte first; a stack that grows down; and that a frame pointer points to
 * a pair of words, the caller's frame pointer and the return address (System V for x86-64 and AAPCS64 alike). Loads and stores may
 * come in any order: whatever one thread, or the agent, makes known to another thread or to the collector is published by a store with
 * release and found by a load with acquire (arena_publish, map.c, and __ATOMIC_RELEASE elsewhere); what only this thread or a
 * collection, while all threads are stopped, reads again needs neither.
 *
 * What is not prepared:
 *  - Counters in hot functions are added to one after the other, and the reader takes them in the reverse order, so that no more
 *    ended than began (time.c; count_warm and find_recent in allocations.c). Here stores come in the order in which they stand. A
 *    machine that does not keep it needs a release with the later of two, and an acquire with the earlier of two loads.
 *  - A machine whose calls leave the return address in a register has no RETURN_SLOT. The return address of a recorded call would
 *    have to come from the stubs (return_address_of in time.c), and callers from unwinding instead of frame sizes (cfi.c, and
 *    WIRE_IP_FRAMELESS in stack.c). */
#ifndef CLRPROF_ARCH_H
#define CLRPROF_ARCH_H

#include "../agent.h"

#if defined(__x86_64__)
#include "x64/machine.h"
#else
#error "the agent does not know this machine: see arch/arch.h"
#endif

/* Does the clock run at one rate in all states of the processor? */
bool machine_clock_is_steady(void);

/* Where the kernel lets a signal handler return to; 0: it is not known. Once the runtime has installed its handlers. */
uintptr_t machine_signal_return(void);

/* A restartable sequence that no thread ever runs, for the kernel: see os.c. */
extern char machine_rseq_never[] __attribute__((visibility("hidden")));

/* What the machine code of a function shows of its frame. */
struct frame_shape {
    uint32_t size;      /* bytes between the stack pointer and the return address, while the function runs */
    bool frame_pointer; /* it has pushed one */
    bool osr;           /* its frame lies on that of the function's first version */
};
struct frame_shape code_frame_shape(const uint8_t *start, uint64_t size);

/* Is a frame, known by the caller's stack pointer, which is lower, that of an OSR variant of a call that has a frame pointer? The variant
 * saves what the first version saved, the frame pointer of the call's caller. No other frame below has that one. */
READS_STACK static inline bool frame_is_variant(uintptr_t call_sp, uintptr_t sp)
{
    return *(const uintptr_t *)FRAME_POINTER(call_sp) == *(const uintptr_t *)FRAME_POINTER(sp);
}

/* Functions without code, with the probes of a method or without: what probes cost is measured by them. They are called as
 * the JIT's code is, and have the hooks or the probes in IL. */
struct method;
void machine_probed(const struct method *m);
void machine_probed_traced(const struct method *m); /* with a call trace: other stubs */
void machine_bare(const struct method *m);
void machine_probed_il(const struct method *m);
void machine_probed_il_traced(const struct method *m);
void machine_probed_il_numbered(const struct method *m); /* probes of a version: see probes.h */
void machine_bare_il(const struct method *m);

#endif
