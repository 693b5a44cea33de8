/* How many methods are compiled while the program runs, and how long that takes: compilations.c. */
#ifndef CLRPROF_COMPILATIONS_H
#define CLRPROF_COMPILATIONS_H

#include "core/agent.h"

uint32_t compiled_watch(void **callbacks); /* the callbacks that are there are called, too; what events it needs */

#endif
