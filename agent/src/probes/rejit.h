/* Probes that are taken out of the code while nothing is recorded: rejit.c. */
#ifndef CLRPROF_REJIT_H
#define CLRPROF_REJIT_H

#include "core/agent.h"

struct rejit_method { /* whose IL has probes; never freed */
    uintptr_t module;
    uint32_t token, size;
    const uint8_t *body; /* the program's own */
    bool out;            /* it is to run without probes; the agent's own thread says so */
    struct rejit_method *next;
};

uint32_t rejit_begin(void *info, void **callbacks); /* the events that it needs */
bool rejit_is_on(void);
void rejit_add(struct rejit_method *m); /* with the arena's lock held */
void rejit_look(void); /* by the agent's own thread: as often as rejit_look_ns says, and when the collector has woken it */
uint64_t rejit_look_ns(void);
/* Around a change by the program itself that may end a pause, on a thread that runs no managed code, where rejit_is_on: the probes are
 * in first, and stay until it is done. */
void rejit_ends_pause(void);
void rejit_ended_pause(void);

#endif
