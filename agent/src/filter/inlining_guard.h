/* The frames of the user's code in recordings without calls: inlining_guard.c. */
#ifndef CLRPROF_USER_FRAMES_H
#define CLRPROF_USER_FRAMES_H

#include "core/agent.h"

/* Calls what the callbacks call so far, too. Returns the events that are wanted; none, if there is no memory. */
uint32_t user_frames_keep(void *info, void **callbacks);

#endif
