/* What the operating system did meanwhile, and the clock: context_switch.c. */
#ifndef CLRPROF_OS_H
#define CLRPROF_OS_H

#include "core/agent.h"

struct timer;

struct os_usage {
    uint64_t voluntary, preempted, faults, reads;
};

extern bool clock_is_tsc;
void os_init(void);
void os_init_gap(uint64_t ticks_per_sec);
void os_close(void); /* the library will be unloaded */
uint64_t os_clock(void);
bool os_is_filtered(void); /* system calls of this process are */
uint64_t os_cpu_ns(void); /* processor time of this thread */
void os_pair(uint64_t *ticks, uint64_t *ns); /* the same moment on both clocks */
void os_attach(struct timer *t);             /* this thread */
void os_detach(struct timer *t);
/* What happened since the last look, in an interval that began at `from`; and the time after looking. */
uint64_t os_look(struct timer *t, uint64_t from, struct wire_waits *w);

#endif
