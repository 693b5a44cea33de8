/* Variants of the agent for tests and benchmarks only; see oracle.c. */
#ifndef CLRPROF_ORACLE_H
#define CLRPROF_ORACLE_H

#include "../src/core/agent.h"

uint32_t oracle_event_mask(void);      /* more flags for SetEventMask2 */
void oracle_install(void **callbacks); /* replaces callbacks as CLRPROF_VARIANT says */
void oracle_hooks(void **hooks);       /* replaces Enter, Leave and Tailcall in the same way */
bool oracle_wants_events(void);        /* false: every object is recorded, and none left out with the start of a session */
void oracle_report(void);              /* at the runtime's shutdown */

#endif
