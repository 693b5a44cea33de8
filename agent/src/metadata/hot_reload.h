/* Modules that can be changed while they run: hot_reload.c. */
#ifndef CLRPROF_CHANGEABLE_H
#define CLRPROF_CHANGEABLE_H

#include "core/agent.h"

void changeable_init(void);    /* when the runtime starts, as it asks only then; later a thread may be changing the environment */
bool changeable_modules(void); /* can there be any? */
bool changeable_module(void *info, uintptr_t module);

#endif
