/* arm64: what the agent reads from machine code.
 *
 * All managed functions have a frame pointer (regalloc.cpp: genFramePointerRequired), so nothing needs to be read. */
#include "arch/arch.h"

struct frame_shape code_frame_shape(const uint8_t *start, uint64_t size)
{
    (void)start;
    (void)size;
    return (struct frame_shape){0, true, false};
}
