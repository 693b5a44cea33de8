/* Calls of a process that runs already: attach.c. */
#ifndef CLRPROF_ATTACHED_H
#define CLRPROF_ATTACHED_H

#include "core/agent.h"

struct time_options;

/* What comes before the events of compilations: WIRE_FAILURE_…, or 0. The callbacks are those that the runtime will call. */
uint32_t attached_prepare(void *info, const struct time_options *o, void **callbacks);
#define ATTACHED_MASK (MONITOR_JIT_COMPILATION | MONITOR_CACHE_SEARCHES | MONITOR_MODULE_LOADS | MONITOR_THREADS | ENABLE_REJIT) /* the first events */
/* Asks for probes in the code that there is, while these events come. WIRE_FAILURE_…, or 0. */
uint32_t attached_ask(void);
/* While all threads are stopped: from now on calls are recorded; not any more. */
void attached_begin(void);
void attached_stop(void);
void attached_report_running(void); /* once the threads go on: what was in the middle of a call when it began */
void attached_forget_module(uintptr_t module); /* with the lock held */
void attached_end(void);          /* nobody is in the agent: gives back to the program its own code */

/* callback_gate.c. Each callback becomes a visit. */
void visits_install(void **callbacks);

#endif
