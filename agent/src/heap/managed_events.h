/* The managed sources of events are not told of the agent's session: managed_events.c. */
#ifndef CLRPROF_MANAGED_EVENTS_H
#define CLRPROF_MANAGED_EVENTS_H

#include "core/agent.h"

#define MANAGED_EVENTS_MARK u"clrprof" /* filter data of a session that they are not told of */

void managed_events_init(void *info); /* before framework_calls_watch */

#endif
