/* Modules that can be changed while they run: changeable.c. */
#ifndef CLRPROF_CHANGEABLE_H
#define CLRPROF_CHANGEABLE_H

#include "agent.h"

bool changeable_modules(void); /* can there be any? */
bool changeable_module(void *info, uintptr_t module);

#endif
