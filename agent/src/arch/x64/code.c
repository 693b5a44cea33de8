/* x64: what the agent reads from machine code, the prologues that the JIT writes.
 *
 * Two kinds of managed functions break the chain of frame pointers, and for each the size of a frame shows where the
 * missing return address is (for the runtime's own stubs see runtime_cfi.c):
 *  - functions without a frame pointer (regalloc.cpp: small, no EH, no loops, at most one call): the caller of such a
 *    function is not on the chain;
 *  - OSR variants: the optimised code goes on where the first version stopped, and lays its frame on top of the first
 *    version's, which it leaves as it is. The pair at its frame pointer holds the frame pointer of the *caller* of the
 *    first version, and as return address a place inside the first version. The real one is above the frame of
 *    the first version. */
#include "arch/arch.h"

#include <string.h>

static uint32_t immediate(const uint8_t *p)
{
    uint32_t value;
    memcpy(&value, p, 4);
    return value;
}

static bool starts(const uint8_t *p, const uint8_t *end, const char *bytes, size_t n, size_t operand)
{
    return (size_t)(end - p) >= n + operand && memcmp(p, bytes, n) == 0;
}

/* push r64; sub rsp, imm8 or imm32; for large frames first probes of the new pages (test [rsp - n], eax) or a call of
 * the probe helper (lea r11, [rsp - n]; …); vzeroupper anywhere. */
struct frame_shape code_frame_shape(const uint8_t *start, uint64_t size)
{
    const uint8_t *p = start, *end = start + size;
    struct frame_shape shape = {0, false, false};
    if (starts(p, end, "\x48\x8B\x45\x00\x50", 5, 0)) { /* mov rax, [rbp]; push rax: the prologue of OSR variants */
        shape.osr = true;
        shape.frame_pointer = true;
        return shape;
    }
    shape.frame_pointer = size != 0 && *p == 0x55; /* push rbp, always first */
    while (p < end) {
        if (*p >= 0x50 && *p <= 0x57) {
            shape.size += 8;
            p += 1;
        } else if (end - p >= 2 && p[0] == 0x41 && p[1] >= 0x50 && p[1] <= 0x57) {
            shape.size += 8;
            p += 2;
        } else if (starts(p, end, "\xC5\xF8\x77", 3, 0)) {
            p += 3;
        } else if (starts(p, end, "\x85\x84\x24", 3, 4)) {
            p += 7;
        } else if (starts(p, end, "\x48\x83\xEC", 3, 1)) {
            shape.size += p[3];
            break;
        } else if (starts(p, end, "\x48\x81\xEC", 3, 4)) {
            shape.size += immediate(p + 3);
            break;
        } else if (starts(p, end, "\x4C\x8D\x9C\x24", 4, 4)) {
            shape.size -= immediate(p + 4);
            break;
        } else {
            break;
        }
    }
    return shape;
}
