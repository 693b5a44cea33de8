/* Calls and their times: call_stack.c. */
#ifndef CLRPROF_CALLS_H
#define CLRPROF_CALLS_H

#include "core/agent.h"

struct timer;

/* What is wanted of calls. Texts are as in the variable of the environment; NULL: what each part does by itself. */
struct time_options {
    uint64_t timings;       /* CLRPROF_TIMINGS: the most paths of a process; UINT64_MAX: as many as the memory limit allows */
    const char *instrument; /* CLRPROF_INSTRUMENT */
    const char *probes;     /* CLRPROF_PROBES */
    const char *small;      /* CLRPROF_SMALL */
    const char *rules;      /* CLRPROF_RULES */
    const char *mine;       /* CLRPROF_MINE */
    const char *mine_folder; /* CLRPROF_MINE_FOLDER */
    const char *counters;   /* CLRPROF_COUNTERS */
    const char *events;     /* CLRPROF_EVENTS */
};

void time_init(const struct time_options *o);
void time_give_back(void); /* nothing is recorded any more; while all threads are stopped */
uint32_t time_event_mask(void);
void time_install(void **callbacks);
void time_installed(void **callbacks); /* those of all others are there, too */
void time_thread_ended(struct timer **keep); /* where the next thread of the same set finds its state; NULL: none will */
uint64_t time_own_begins(void); /* what this thread does now, with no event in it, is the agent's own */
void time_leave_out(uint64_t since); /* up to here; since is what that returned */
void time_own_calls(void); /* the same of system calls alone, where they are counted: the time is the program's */
void time_leave_out_calls(void);
void time_settle(void); /* what this thread did up to now is counted as it was */
/* Around a wait of this thread for a garbage collection, which is no time of the call that it is in. */
void time_wait_begins(void);
void time_wait_ends(void);
void time_look_again(void); /* is this thread recorded? It asks at its next event */
void time_leave_out_thread(void); /* what this thread calls is not the program's */
void time_forked(void); /* see thread_forked */
void time_forget_thread(ptrdiff_t distance); /* what there is of a thread whose thread-local variables are so far from this one's */
void time_end(void); /* at the runtime's shutdown */
void time_know(struct timer *t, uint32_t number); /* puts a timing into the thread's table */

#endif
