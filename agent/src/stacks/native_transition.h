/* Where native code has cut the chain of frame pointers, or left a function out of it: native_transition.c. */
#ifndef CLRPROF_ABOVE_H
#define CLRPROF_ABOVE_H

#include "core/agent.h"

struct frame_above {
    uintptr_t after;  /* in: the last frame of the chain that is managed code's */
    uintptr_t sp, fp; /* out: of the managed frame next to it, nearer to the root, while its call goes on; sp 0: none */
    uintptr_t slot;   /* and where that call's return address is; UINTPTR_MAX: there is no such frame, 0: not found */
};
void above_init(void *info);
bool frame_above(struct frame_above *f); /* false: the runtime does not say */

#endif
