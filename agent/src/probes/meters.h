/* What instruments of meters measure: meters.c. */
#ifndef CLRPROF_METERS_H
#define CLRPROF_METERS_H

#include "core/agent.h"

bool meters_choose(void);       /* is code of ours to be loaded that listens to them? */
const utf16 *meters_hook(void); /* its path; 0 ends it */

#endif
