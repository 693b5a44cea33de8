/* CPU counters that are read at each event of a thread: cpu_counters.c. */
#ifndef CLRPROF_COUNTERS_H
#define CLRPROF_COUNTERS_H

#include "core/agent.h"
#include "os/syscall_counts.h"

struct timer;

extern uint32_t counters_used; /* 0: none; then none of these functions is called */

struct counter_state { /* of a thread */
    uint64_t last[WIRE_MAX_COUNTERS];  /* when the interval began, that has not ended */
    uint64_t own[WIRE_MAX_COUNTERS];   /* when the agent began to do something for itself */
    uint64_t total[WIRE_MAX_COUNTERS]; /* in all intervals */
    uint64_t seen[WIRE_MAX_COUNTERS];  /* of those with a ring: when the agent began to look */
    uint32_t own_depth;                /* of what the agent does for itself, in which it can be called anew */
    struct call_names names;           /* of system calls, where they are counted */
    bool unknown, own_unknown;         /* last, own: a counter could not be read */
    void *pages[WIRE_MAX_COUNTERS];    /* of perf events that can be read without a system call: those of rings are two */
    int files[WIRE_MAX_COUNTERS];      /* of others, 0: none; */
    uint64_t ids[WIRE_MAX_COUNTERS];   /* and the events of these, as the numbers may be other files' by now */
};

void counters_init(const char *text); /* as in CLRPROF_COUNTERS; NULL: none */
void counters_attach(struct timer *t); /* to this thread */
void counters_detach(struct timer *t);
void counters_begin(struct timer *t);  /* an interval begins: the agent begins to end what it does for itself, */
void counters_resume(struct timer *t); /* and makes no system call after this */
void counters_look(struct timer *t);   /* it ends: the agent has made none yet */
/* It ends: what was counted in it. A part of it was a pause, or a counter could not be read: nothing, which is a loss. */
void counters_end(struct timer *t, bool paused, uint64_t *counted);
bool counters_have_rings(void);
bool counters_acted(const uint64_t *counted); /* does the operating system act where that was counted? */
void counters_leave_out_callbacks(void **callbacks); /* after all that they are to call: callback_accounting.c */
void counters_begin_own(struct timer *t); /* what follows is the agent's, */
void counters_end_own(struct timer *t);   /* up to here */
void counters_begin_own_calls(struct timer *t); /* the same of those with rings alone: it takes no system call */
void counters_end_own_calls(struct timer *t);

#endif
