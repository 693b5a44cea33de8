/* Where native code has cut the chain of frame pointers, or left a function out of it: above.c. */
#ifndef CLRPROF_ABOVE_H
#define CLRPROF_ABOVE_H

#include "agent.h"

struct frame_above {
    uintptr_t after;  /* in: the last frame of the chain that is managed code's */
    uintptr_t sp, fp; /* out: of the managed frame next to it, nearer to the root, while its call goes on; sp 0: none */
};
void above_init(void *info);
bool frame_above(struct frame_above *f); /* false: the runtime does not say */

#endif
