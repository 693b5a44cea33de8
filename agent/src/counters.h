/* CPU counters that are read at each event of a thread: counters.c. */
#ifndef CLRPROF_COUNTERS_H
#define CLRPROF_COUNTERS_H

#include "agent.h"

struct timer;

extern uint32_t counters_used; /* 0: none; then none of these functions is called */

struct counter_state { /* of a thread */
    uint64_t last[WIRE_MAX_COUNTERS];  /* when the interval began, that has not ended */
    uint64_t own[WIRE_MAX_COUNTERS];   /* when the agent began to do something for itself */
    uint64_t total[WIRE_MAX_COUNTERS]; /* in all intervals */
    bool unknown, own_unknown;         /* last, own: a counter could not be read */
    void *pages[WIRE_MAX_COUNTERS];    /* of perf events that can be read without a system call */
    int files[WIRE_MAX_COUNTERS];      /* of others, 0: none; */
    uint64_t ids[WIRE_MAX_COUNTERS];   /* and the events of these, as the numbers may be other files' by now */
};

void counters_init(const char *text); /* as in CLRPROF_COUNTERS; NULL: none */
void counters_attach(struct timer *t); /* to this thread */
void counters_detach(struct timer *t);
void counters_begin(struct timer *t);  /* an interval begins */
/* It ends: what was counted in it. A part of it was a pause, or a counter could not be read: nothing, which is a loss. */
void counters_end(struct timer *t, bool paused, uint64_t *counted);
void counters_begin_own(struct timer *t); /* what follows is the agent's, */
void counters_end_own(struct timer *t);   /* up to here */

#endif
