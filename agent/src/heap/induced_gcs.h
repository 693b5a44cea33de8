/* Who asks for collections: induced_gcs.c. */
#ifndef CLRPROF_INDUCED_H
#define CLRPROF_INDUCED_H

#include "core/agent.h"

void induced_ended(uint32_t gc);          /* a collection that was asked for has ended; its threads do not run yet */
void induced_install(void **callbacks);

#endif
