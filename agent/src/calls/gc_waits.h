/* Pauses for garbage collections, and the threads that wait for their end: gc_waits.c. */
#ifndef CLRPROF_PAUSES_H
#define CLRPROF_PAUSES_H

#include "core/agent.h"

void pauses_install(void **callbacks); /* the callback of suspensions that is there is called, too */

/* For how long threads were stopped for collections between these two times, as far as it is remembered. */
uint64_t pauses_within(uint64_t from, uint64_t to);

#endif
