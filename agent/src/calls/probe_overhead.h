/* What compiled code calls at the beginning and the end of a function, and what that costs: stubs of the machine, call_stack.c, probe_overhead.c. */
#ifndef CLRPROF_HOOKS_H
#define CLRPROF_HOOKS_H

#include "core/agent.h"

struct timer;

void hooks_measure(struct timer *t, struct wire_timing *timings, struct wire_overhead *out);
/* While the program runs: */
void hooks_prepare(void); /* before the first timing is made; else nothing is measured again */
void hooks_measure_again(struct timer *own); /* by this thread, at the end of an event, unless it was done a moment ago */
bool hooks_measure_themselves(const struct timer *t); /* is this the timer of those calls? What the hooks cannot do at once is left out there */

#endif
