/* The managed frame above native code that has cut the chain of frame pointers, or has left that frame out of it.
 *
 * Code that was compiled without frame pointers uses the register for something else, or leaves it alone. When managed code is
 * called back by such code, what called the native code cannot be found by the chain. The runtime can find it: each call
 * of native code leaves a record on the stack (frames.h: InlinedCallFrame), and its own walk goes from record to record.
 * That walk costs as much as all the rest, so it is only asked where the chain ends, or where it comes through native
 * code that is not the runtime's; and that is seldom: the frames near the root are known from last time. */
#include "stacks/native_transition.h"
#include "arch/arch.h"

#include <string.h>

#define SNAPSHOT_REGISTER_CONTEXT 1u
#define STOP 1 /* S_FALSE */

static void *info;

void above_init(void *profiler_info)
{
    info = profiler_info;
}

static hresult find_frame(uintptr_t function, uintptr_t ip, uintptr_t frame, uint32_t size, uint8_t *context, void *data)
{
    (void)ip;
    (void)frame;
    struct frame_above *f = data;
    uintptr_t sp, next;
    if (function == 0 || context == NULL || size < CONTEXT_BYTES)
        return HR_OK;
    memcpy(&sp, context + CONTEXT_SP, sizeof sp);
    if (sp <= f->after)
        return HR_OK;
    f->sp = sp;
    memcpy(&f->fp, context + CONTEXT_FP, sizeof f->fp);
    memcpy(&next, context + CONTEXT_IP, sizeof next);
    f->slot = return_slot_of(sp, next, f->after);
    return STOP;
}

bool frame_above(struct frame_above *f)
{
    f->sp = 0;
    f->slot = UINTPTR_MAX;
    hresult hr = SLOT(info, INFO_DO_STACK_SNAPSHOT, uintptr_t, void *, uint32_t, void *, uint8_t *, uint32_t)(
        info, 0, (void *)find_frame, SNAPSHOT_REGISTER_CONTEXT, f, NULL, 0);
    return hr >= 0 || f->sp != 0;
}
