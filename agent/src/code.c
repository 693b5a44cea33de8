/* What the agent reads from x64 machine code.
 *
 * The JIT leaves out the frame pointer in small functions (regalloc.cpp: no EH, no loops, at most one call, …). The
 * caller of such a function is not on the frame-pointer chain; the size of its frame, decoded from its prologue,
 * tells where its return address is. */
#define _GNU_SOURCE
#include "agent.h"

#include <link.h>
#include <string.h>

static uintptr_t runtime_low, runtime_high; /* executable code of the library that holds the runtime */

static int find_runtime(struct dl_phdr_info *info, size_t size, void *address)
{
    (void)size;
    uintptr_t low = UINTPTR_MAX, high = 0;
    bool inside = false;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type != PT_LOAD || (segment->p_flags & PF_X) == 0)
            continue;
        uintptr_t from = info->dlpi_addr + segment->p_vaddr, to = from + segment->p_memsz;
        inside = inside || (from <= (uintptr_t)address && (uintptr_t)address < to);
        low = from < low ? from : low;
        high = to > high ? to : high;
    }
    if (!inside)
        return 0;
    runtime_low = low;
    runtime_high = high;
    return 1;
}

void code_init(void *function_of_runtime)
{
    dl_iterate_phdr(find_runtime, function_of_runtime);
}

/* Prologue forms of the JIT: push r64 (50-57, 41 50-57), sub rsp, imm8/imm32 (48 83 EC, 48 81 EC), vzeroupper. */
uint32_t code_frame_size(const uint8_t *start, uint64_t size)
{
    const uint8_t *p = start, *end = start + size;
    uint32_t frame = 0;
    if (size >= 1 && *p == 0x55) /* push rbp comes first in every function with a frame pointer */
        return UINT32_MAX;
    while (p < end) {
        if (*p >= 0x50 && *p <= 0x57) {
            frame += 8;
            p += 1;
        } else if (end - p >= 2 && p[0] == 0x41 && p[1] >= 0x50 && p[1] <= 0x57) {
            frame += 8;
            p += 2;
        } else if (end - p >= 3 && p[0] == 0xC5 && p[1] == 0xF8 && p[2] == 0x77) {
            p += 3;
        } else if (end - p >= 4 && p[0] == 0x48 && p[1] == 0x83 && p[2] == 0xEC) {
            return frame + p[3];
        } else if (end - p >= 7 && p[0] == 0x48 && p[1] == 0x81 && p[2] == 0xEC) {
            uint32_t immediate;
            memcpy(&immediate, p + 3, 4);
            return frame + immediate;
        } else {
            break;
        }
    }
    return frame;
}

static bool in_runtime(uintptr_t address)
{
    return address - runtime_low < runtime_high - runtime_low;
}

static uintptr_t relative(const uint8_t *displacement) /* rip-relative: counted from the byte after it */
{
    int32_t offset;
    memcpy(&offset, displacement, 4);
    return (uintptr_t)(displacement + 4) + (uintptr_t)(intptr_t)offset;
}

static uintptr_t load(uintptr_t address)
{
    uintptr_t value;
    memcpy(&value, (const void *)address, sizeof value);
    return value;
}

/* call rel32 (E8), perhaps to a jump stub (mov rax, imm64; jmp rax), or call [rip + disp32] (FF 15). */
bool code_calls_runtime(const uint8_t *return_address)
{
    const uint8_t *p = return_address;
    if (p[-6] == 0xFF && p[-5] == 0x15)
        return in_runtime(load(relative(p - 4)));
    if (p[-5] != 0xE8)
        return false;
    uintptr_t target = relative(p - 4);
    if (in_runtime(target))
        return true;
    const uint8_t *stub = (const uint8_t *)target;
    return stub[0] == 0x48 && stub[1] == 0xB8 && stub[10] == 0xFF && stub[11] == 0xE0 && in_runtime(load(target + 2));
}
