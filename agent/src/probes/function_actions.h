/* What is done at functions, besides recording their calls: function_actions.c. */
#ifndef CLRPROF_ACTIONS_H
#define CLRPROF_ACTIONS_H

#include "core/agent.h"

#define ACTIONS_AT_BEFORE UINT64_C(0x0111111111111001) /* the bits of one point; those of the others are shifted by it */

void actions_do(uint64_t actions, uint32_t point, uint32_t function);

/* This thread is at a point of a call of a function. */
static inline void actions_at(uint64_t actions, uint32_t point, uint32_t function)
{
    if (UNLIKELY((actions & ACTIONS_AT_BEFORE << point) != 0))
        actions_do(actions, point, function);
}

#endif
