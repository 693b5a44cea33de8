/* What begins and ends in parts that stand above this one, when the collector goes away or the program changes what is recorded:
 * agent/hooks.c has the functions. */
#ifndef CLRPROF_LIFECYCLE_H
#define CLRPROF_LIFECYCLE_H

#include "core/agent.h"

struct lifecycle_hooks {
    void (*stop_events)(uint32_t low); /* the collector has ended: of the runtime's events only these are wanted */
    void (*let_go)(void);    /* and what nothing counts in any more is given back */
    void (*give_back)(void); /* the rest, while all threads are stopped */
    void (*forked)(void);    /* this thread is that of a forked child, which records nothing */
    void (*settle)(void);    /* what this thread did up to now is counted as it was */
    bool (*is_off)(void);    /* nothing of this thread is recorded, because of the functions that it is in */
};
extern const struct lifecycle_hooks lifecycle_hooks;

#endif
