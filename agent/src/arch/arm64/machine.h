/* arm64: what is part of hot functions, and constants. See ../arch.h for what each is. */
#ifndef CLRPROF_MACHINE_H
#define CLRPROF_MACHINE_H

#include "core/agent.h"

#include <sys/auxv.h>

#define HOT /* the stubs keep vector registers */

/* ── the clock ──────────────────────────────────────────────────────────────────────────────────────────────── */

#define MACHINE_CLOCK WIRE_CLOCK_CNTVCT

/* Without the barrier the processor may read the counter before what stands in front (Arm ARM, D11.2.2). */
#define machine_ticks() \
    __extension__({ \
        uint64_t ticks; \
        __asm__ volatile("isb\n\tmrs %0, cntvct_el0" : "=r"(ticks) : : "memory"); \
        ticks; \
    })

/* There is no instruction that reads a counter by its number, so the kernel is asked: see cpu_counters.c. */
#define MACHINE_READS_COUNTERS 0
static inline uint64_t machine_counter(uint32_t number, uint32_t width)
{
    (void)number;
    (void)width;
    return 0;
}

/* ── memory ─────────────────────────────────────────────────────────────────────────────────────────────────── */

#define CACHE_LINE 64u
#define ADDRESS_BITS 48 /* of a program that asks for no more (Documentation/arch/arm64/memory.rst) */
#define PAGE ((uintptr_t)4096)
#define PAGES_ARE_SO (getauxval(AT_PAGESZ) == PAGE) /* kernels can have larger ones */

static inline void machine_flush(const void *line)
{
    __asm__ volatile("dc civac, %0" : : "r"(line) : "memory");
}

/* Stores come in any order, so the later of two has a release. */
#define ADD_BEHIND(counter, n) __atomic_store_n(&(counter), (counter) + (n), __ATOMIC_RELEASE)

/* Two words of a stack, and what of pairs that were compared is different: the compiler loads them as a pair. */
typedef struct {
    uint64_t first, second;
} word_pair;
#define PAIRS_SAME ((word_pair){0, 0})

static inline word_pair pair_at(const uintptr_t *words)
{
    return (word_pair){words[0], words[1]};
}

static inline word_pair pair_of(uintptr_t first, uintptr_t second)
{
    return (word_pair){first, second};
}

static inline word_pair pair_sum(word_pair a, word_pair b)
{
    return (word_pair){a.first + b.first, a.second + b.second};
}

READS_STACK static inline word_pair pair_still(word_pair same, uintptr_t address, word_pair expected)
{
    const uintptr_t *words = (const uintptr_t *)address;
    return (word_pair){same.first | (words[0] ^ expected.first), same.second | (words[1] ^ expected.second)};
}

#define are_same(x) (((x).first | (x).second) == 0)

/* ── frames ─────────────────────────────────────────────────────────────────────────────────────────────────── */

/* A call leaves the return address in a register. What is called puts it into its frame, with the frame pointer: at the lower end of
 * the frame, at its upper end or in between. So neither shows where the other is. The agent takes the end of this pair for the caller's stack
 * pointer: it lies in the right order to those of all other calls, and is the same from the beginning of a call to its end. */
#define RETURN_SLOT(sp) ((sp) - 8)
#define SP_OF_RETURN_SLOT(slot) ((slot) + 8)
#define CALLER_SP(fp) ((fp) + 16)
#define FRAME_POINTER(sp) ((sp) - 16)
#define KNOWN_BY_CALLER 0
#define NEAR_WORDS 64u /* around a stack pointer, among which the return address is looked for: a frame for transitions has 20 */

/* Where the call of a frame put the return address: into the frame of what was called, which lies below; or, if that is native code, the
 * runtime has put it into the frame itself, in a record of the transition (frames.h: InlinedCallFrame). 0: it was not found. */
READS_STACK static inline uintptr_t return_slot_of(uintptr_t sp, uintptr_t ip, uintptr_t low)
{
    for (uintptr_t slot = sp; slot < sp + 8 * NEAR_WORDS; slot += 8)
        if (*(const uintptr_t *)slot == ip)
            return slot;
    for (uintptr_t slot = sp - 8; slot > low && slot >= sp - 8 * NEAR_WORDS; slot -= 8)
        if (*(const uintptr_t *)slot == ip)
            return slot;
    return 0;
}

#define CLAUSE_LINKS 65536u /* as many frames as a stack can have that is recorded whole; from more than these no call is taken to be gone */

/* The runtime reports the stack pointer that the caller of the function has whose block is about to run (Windows' establisher frame). What
 * lies below is the function's own pair, the last one of the chain, and what it called, which is on the stack still. */
READS_STACK static inline uintptr_t frame_of_clause(uintptr_t reported)
{
    uintptr_t fp = (uintptr_t)__builtin_frame_address(0), next = *(const uintptr_t *)fp;
    uint32_t links = 0;
    for (; next > fp && next < reported && links < CLAUSE_LINKS; links++) {
        fp = next;
        next = *(const uintptr_t *)fp;
    }
    return links < CLAUSE_LINKS ? fp : 0;
}

/* The runtime's handlers of faults run on a stack of their own, and continue on the thread's with a pair of the place that was
 * interrupted. So no signal's frame is in a chain: see machine_signal_return. */
#define SIGNAL_SP(fp) (fp)
#define SIGNAL_IP(fp) (fp)

/* The CONTEXT of Windows (winnt.h, pal.h). */
#define CONTEXT_FLAGS 0x0
#define CONTEXT_CONTROL 0x400001u /* its registers are those of a frame */
#define CONTEXT_SP 0x100
#define CONTEXT_FP 0xF0
#define CONTEXT_IP 0x108
#define CONTEXT_BYTES 0x110u /* up to pc */

/* Call-frame information: numbers of registers (DWARF for the Arm 64-bit architecture, 4.1). How large a frame is does not show where it
 * has the return address. The runtime's stubs all have a frame pointer, so that nothing has to be looked up. */
#define CFI_STACK_POINTER 31u
#define CFI_RETURN 30u
#define CFI_RETURN_BYTES 8
#define CFI_SHOWS_RETURN 0

/* ── rseq ───────────────────────────────────────────────────────────────────────────────────────────────────── */

#define RSEQ_SIGNATURE 0xD428BC00u /* what the kernel, and libc when it registers an area, expect in front of an abort address */

#endif
