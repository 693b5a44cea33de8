/* What .NET 10 does not report: box_reporting.c. */
#ifndef CLRPROF_BOXES_H
#define CLRPROF_BOXES_H

#include "core/agent.h"

void boxes_replace(void *info, uint32_t runtime_major); /* makes it report boxes, if it can; once nothing can fail any more */
void boxes_report(void);        /* says in the arena that it does not */
void boxes_slow_way_met(void);  /* a FUNCTION_IS_SLOW_WAY is on a stack */

#endif
