/* What the agent does itself, which is no time of the program and none of its system calls: own_time.c. */
#ifndef CLRPROF_OWN_TIME_H
#define CLRPROF_OWN_TIME_H

#include "core/agent.h"

uint64_t time_own_begins(void); /* what this thread does now, with no event in it, is the agent's own */
void time_leave_out(uint64_t since); /* up to here; since is what that returned */
void time_own_calls(void); /* the same of system calls alone, where they are counted: the time is the program's */
void time_leave_out_calls(void);

#endif
