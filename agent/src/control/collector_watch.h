/* Ends the recording when its collector has ended: collector_watch.c. */
#ifndef CLRPROF_WATCH_H
#define CLRPROF_WATCH_H

#include "core/agent.h"

bool watch_begin(const char *arenas); /* false: there is no collector from the start */
/* In dormant processes, where a thread of the agent's own looks. Is it there at the start? Is it gone? */
bool watch_collector(const char *arenas);
bool watch_collector_is_gone(void);
void watch_forks(void);               /* from now on: once it is clear that the library stays */
void watch_look(void);                /* now and then; outside of the lock */
hresult watch_suspended(void *self);
extern uint32_t agent_event_mask;     /* what the runtime was asked for */

#endif
