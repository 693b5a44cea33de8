/* What the agent knows of the machine: the one place for registers, instructions and calling conventions.
 *
 * Each machine is a folder here. Its machine.h has what is part of hot functions, and constants; its files have the rest, and are
 * compiled by ../arch.c. Nothing outside of these folders names a register or an instruction, which internal/testkit/policy tests.
 *
 * A machine.h provides
 *   HOT             the attribute of functions that change general registers only, as far as the compiler has one: see stubs.c
 *   machine_ticks() the clock, which must not be read before what stands in front of it, nor after what follows. A macro, as it
 *                   is part of functions with different registers
 *   MACHINE_CLOCK   WIRE_CLOCK_… of this clock
 *   machine_counter() one of the processor's counters: see cpu_counters.c. MACHINE_READS_COUNTERS: 0, it cannot be read so
 *   word_pair, …    two words that are compared at once: pair_at, pair_of, pair_sum, pair_still, PAIRS_SAME, are_same
 *   ADD_BEHIND(…)   adds to the later of two counters of a hot function: who finds the later one finds the earlier one, too
 *   machine_flush() takes a line of CACHE_LINE bytes out of the caches
 *   PAGES_ARE_SO    the kernel's pages have PAGE bytes; else there are no perf events
 *   and the constants that are described there: of frames, signals, call-frame information, addresses, pages, rseq.
 * Its files define the functions below, and the stubs that probe_overhead.h and il_probes.h declare.
 *
 * What all the rest takes for granted: 64 bits, the lower byte first; a stack that grows down; and that a frame pointer points to
 * a pair of words, the caller's frame pointer and the return address (System V for x86-64 and AAPCS64 alike). Loads and stores may
 * come in any order: whatever one thread, or the agent, makes known to another thread or to the collector is published by a store with
 * release and found by a load with acquire (arena_publish, hash_map.c, and __ATOMIC_RELEASE elsewhere); what only this thread or a
 * collection, while all threads are stopped, reads again needs neither.
 *
 * Counters in hot functions are added to one after the other, and the reader takes them in the reverse order, so that no more
 * ended than began (call_stack.c; count_warm in allocations.c): ADD_BEHIND, and loads in arena.go that keep their order.
 *
 * A machine whose calls leave the return address in a register has it in the pair of what was called, and RETURN_SLOT is there: the
 * end of that pair stands for the caller's stack pointer. This is not the stack pointer that the caller has, so:
 *   KNOWN_BY_CALLER  0: a call with the prefix tail. is never known as the one that its caller decided about (tail_calls.c)
 *   CFI_SHOWS_RETURN 0: call-frame information is not read, as frames' sizes do not show the place (runtime_cfi.c)
 *   frame_of_clause() the frame below which all calls have ended when an exception runs a block of a function (call_stack.c)
 *   return_slot_of() finds the return address into a frame whose stack pointer the runtime has given */
#ifndef CLRPROF_ARCH_H
#define CLRPROF_ARCH_H

#include "core/agent.h"

#if defined(__x86_64__)
#include "arch/x64/machine.h"
#elif defined(__aarch64__)
#include "arch/arm64/machine.h"
#else
#error "the agent does not know this machine: see arch/arch.h"
#endif

/* Does the clock run at one rate in all states of the processor? */
bool machine_clock_is_steady(void);

/* Where the kernel lets a signal handler return to; 0: it is not known. Once the runtime has installed its handlers. */
uintptr_t machine_signal_return(void);

/* A restartable sequence that no thread ever runs, for the kernel: see context_switch.c. */
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
void machine_probed_il_numbered(const struct method *m); /* probes of a version: see il_probes.h */
void machine_bare_il(const struct method *m);

#endif
