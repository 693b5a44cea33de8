/* What the agent reads from x64 machine code: the prologues that the JIT writes, and one thunk of the runtime.
 *
 * Three kinds of functions break the chain of frame pointers, and for each the size of a frame tells where the missing
 * return address is:
 *  - functions without a frame pointer (regalloc.cpp: small, no EH, no loops, at most one call): the caller of such a
 *    function is not on the chain;
 *  - OSR variants: the optimised code goes on where the first version stopped, and lays its frame on top of the first
 *    version's, which it leaves as it is. The pair at its frame pointer holds the frame pointer of the *caller* of the
 *    first version, and as return address a place inside the first version. The real one is above the frame of
 *    the first version;
 *  - the thunk that binds a P/Invoke when it is first called (asmhelpers.S: NDirectImportThunk): it has no frame
 *    pointer, so the function with the P/Invoke is not on the chain. */
#define _GNU_SOURCE
#include "agent.h"

#include <link.h>
#include <string.h>

#define MAX_THUNK 96u /* bytes after the call; those of 3.1 and 9.0 are 68 and 72 */

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

static uintptr_t runtime_low, runtime_high; /* the runtime's code */

static int find_segment(struct dl_phdr_info *object, size_t size, void *address)
{
    (void)size;
    for (uint32_t i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &object->dlpi_phdr[i];
        uintptr_t low = object->dlpi_addr + p->p_vaddr;
        if (p->p_type != PT_LOAD || (p->p_flags & PF_X) == 0 || *(uintptr_t *)address - low >= p->p_memsz)
            continue;
        runtime_low = low;
        runtime_high = low + p->p_memsz;
        return 1;
    }
    return 0;
}

void code_find_runtime(uintptr_t address)
{
    dl_iterate_phdr(find_segment, &address);
}

/* [mov r10, rax;] movdqa xmm0…7, [rsp + n]; lea rsp, [rsp + n]; pop r64 …; jmp rax or r10. Bytes are only read while
 * those before them are as they must be, and only in the runtime's code: a damaged stack can hold any address. */
uint32_t code_thunk_size(uintptr_t address)
{
    if (address < runtime_low || address >= runtime_high)
        return 0;
    const uint8_t *p = (const uint8_t *)address, *end = (const uint8_t *)runtime_high;
    uint32_t size = 0, registers = 0;
    end = end - p > MAX_THUNK ? p + MAX_THUNK : end;
    if (starts(p, end, "\x49\x89\xC2", 3, 0))
        p += 3;
    for (; starts(p, end, "\x66\x0F\x6F", 3, 3) && p[4] == 0x24; registers++)
        p += (p[3] & 0xC0) == 0 ? 5 : 6;
    if (registers != 8)
        return 0;
    if (starts(p, end, "\x48\x8D\xA4\x24", 4, 4)) {
        size = immediate(p + 4);
        p += 8;
    } else if (starts(p, end, "\x48\x8D\x64\x24", 4, 1)) {
        size = p[4];
        p += 5;
    }
    for (; end - p >= 2; size += 8) {
        uint32_t prefix = *p == 0x41 ? 1 : 0;
        if (p[prefix] < 0x58 || p[prefix] > 0x5F || p[0] == 0x5D)
            break; /* 5D: pop rbp: it has a frame pointer */
        p += 1 + prefix;
    }
    bool jumps = starts(p, end, "\x48\xFF\xE0", 3, 0) || starts(p, end, "\xFF\xE0", 2, 0) || starts(p, end, "\x41\xFF\xE2", 3, 0);
    return jumps ? size : 0;
}
