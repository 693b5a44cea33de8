/* What .NET 10 does not report: boxes.c. */
#ifndef CLRPROF_BOXES_H
#define CLRPROF_BOXES_H

#include "agent.h"

void boxes_report(void *info);  /* makes it report boxes, or says that it does not; once nothing can fail any more */
void boxes_slow_way_met(void);  /* a FUNCTION_IS_SLOW_WAY is on a stack */

#endif
