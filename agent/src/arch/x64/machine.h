/* x64: what is part of hot functions, and constants. See ../arch.h for what each is. */
#ifndef CLRPROF_MACHINE_H
#define CLRPROF_MACHINE_H

#include "core/agent.h"

#include <emmintrin.h>

#ifndef __clang__
#define HOT __attribute__((target("general-regs-only")))
#else
#define HOT /* the stubs save more */
#endif

/* ── the clock ──────────────────────────────────────────────────────────────────────────────────────────────── */

#define MACHINE_CLOCK WIRE_CLOCK_TSC
#define machine_ticks() __builtin_ia32_rdtsc()

#define MACHINE_READS_COUNTERS 1
/* One of the processor's counters, of so many bits, where the kernel lets user mode read them; it counts up from a negative number. */
static inline uint64_t machine_counter(uint32_t number, uint32_t width)
{
    uint32_t low, high;
    __asm__ volatile("rdpmc" : "=a"(low), "=d"(high) : "c"(number));
    uint32_t unused = 64 - width;
    return (uint64_t)((int64_t)(((uint64_t)high << 32 | low) << unused) >> unused);
}

/* ── memory ─────────────────────────────────────────────────────────────────────────────────────────────────── */

#define CACHE_LINE 64u
#define ADDRESS_BITS 47 /* of a program */
#define PAGE ((uintptr_t)4096)
#define PAGES_ARE_SO true

static inline void machine_flush(const void *line)
{
    __builtin_ia32_clflush(line);
}

/* Stores come in the order in which they stand. */
#define ADD_BEHIND(counter, n) ((counter) += (n))

/* Two words of a stack, and whether they are as they were. All bits of PAIRS_SAME are set as long as each pair was the expected one. */
typedef __m128i word_pair;
#define PAIRS_SAME _mm_set1_epi8(-1)

static inline word_pair pair_at(const uintptr_t *words)
{
    return _mm_loadu_si128((const __m128i *)(const void *)words);
}

static inline word_pair pair_of(uintptr_t first, uintptr_t second)
{
    return _mm_set_epi64x((long long)second, (long long)first);
}

static inline word_pair pair_sum(word_pair a, word_pair b)
{
    return _mm_add_epi64(a, b);
}

READS_STACK static inline word_pair pair_still(word_pair same, uintptr_t address, word_pair expected)
{
    return _mm_and_si128(same, _mm_cmpeq_epi32(_mm_loadu_si128((const __m128i *)address), expected));
}

#define are_same(x) (_mm_movemask_epi8(x) == 0xFFFF)

/* ── frames ─────────────────────────────────────────────────────────────────────────────────────────────────── */

/* Where a call puts the return address, by the caller's stack pointer; and back. */
#define RETURN_SLOT(sp) ((sp) - 8)
#define SP_OF_RETURN_SLOT(slot) ((slot) + 8)
/* The caller's stack pointer of a function with the frame pointer fp. */
#define CALLER_SP(fp) ((fp) + 16)
#define FRAME_POINTER(sp) ((sp) - 16) /* and back */
#define KNOWN_BY_CALLER 1 /* what a function calls has the function's own stack pointer for its caller's */

static inline uintptr_t return_slot_of(uintptr_t sp, uintptr_t ip, uintptr_t low)
{
    (void)ip;
    (void)low;
    return RETURN_SLOT(sp);
}

/* The runtime reports the stack pointer of the function whose block is about to run: below those of its callers, above what it called. */
static inline uintptr_t frame_of_clause(uintptr_t reported)
{
    return reported;
}

/* Where a signal handler's frame (pair at fp, return address = signal return) keeps what it interrupted: struct
 * rt_sigframe of the kernel, a ucontext behind the return address; gregs[15] is rsp, gregs[16] rip. */
#define SIGNAL_SP(fp) ((fp) + 16 + 40 + 15 * 8)
#define SIGNAL_IP(fp) ((fp) + 16 + 40 + 16 * 8)

/* The CONTEXT of Windows (winnt.h, pal.h). */
#define CONTEXT_FLAGS 0x30
#define CONTEXT_CONTROL 0x100003u /* its registers are those of a frame */
#define CONTEXT_SP 0x98
#define CONTEXT_FP 0xA0
#define CONTEXT_IP 0xF8
#define CONTEXT_BYTES 0x100u /* up to rip, which is last */

/* Call-frame information: numbers of registers (System V ABI for x86-64, figure 3.36). A call pushes the return address, so that it
 * is the word below the frame's end. */
#define CFI_STACK_POINTER 7u
#define CFI_RETURN 16u
#define CFI_RETURN_BYTES 8
#define CFI_SHOWS_RETURN 1

/* ── rseq ───────────────────────────────────────────────────────────────────────────────────────────────────── */

#define RSEQ_SIGNATURE 0x53053053u /* what the kernel, and libc when it registers an area, expect in front of an abort address */

#endif
