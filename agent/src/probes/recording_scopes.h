/* What is recorded only in some functions, or only outside of some: recording_scopes.c. */
#ifndef CLRPROF_SCOPES_H
#define CLRPROF_SCOPES_H

#include "core/agent.h"

#define SCOPE_INSIDE 1u  /* what a function is there for: --record-inside */
#define SCOPE_OUTSIDE 2u /* --record-outside */
#define SCOPE_PROCESS 2u /* shifts these: of all threads of the process */
#define SCOPE_ALL 15u

uint32_t scopes_begin(uint32_t scopes, void **callbacks); /* of all functions; returns the events that are needed */
uint32_t scopes_watch_exceptions(void **callbacks); /* for scopes_unwound; returns the events that are needed */
bool scopes_off(void); /* nothing of this thread is recorded, because of the functions that it is in */
/* A call begins or ends of a function that is there for this; sp: its caller's stack pointer, or that of an OSR variant. */
void scopes_enter(uint32_t scopes, uintptr_t sp);
void scopes_leave(uint32_t scopes, uintptr_t sp);
bool scopes_is_outermost(uint32_t scopes, uintptr_t sp); /* with its end, the thread's state changes */
void scopes_unwound(void); /* a catch or finally block is about to run: calls may be gone */
void scopes_missing(void); /* a function cannot have probes: what was to be left out is recorded */
void scopes_thread_ended(void);

#endif
