/* Intervals in which the operating system acted, one by one: system_events.c. */
#ifndef CLRPROF_SYSTEM_EVENTS_H
#define CLRPROF_SYSTEM_EVENTS_H

#include "core/agent.h"

struct interval;

extern uint32_t system_events; /* WIRE_EVENT_…: what is listed. 0: nothing, then the function below is not called */

void system_events_init(const char *text); /* as in CLRPROF_EVENTS; NULL: nothing is listed */
void system_events_add(const struct wire_timing *x, bool lead, const struct interval *i); /* if the system did something of that in it */

#endif
