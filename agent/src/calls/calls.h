/* Calls and their times: call_stack.c. */
#ifndef CLRPROF_CALLS_H
#define CLRPROF_CALLS_H

#include "core/agent.h"

struct time_options;
struct timer;

/* What the parts that put probes into IL do for calls: agent/hooks.c has the functions. */
struct method;
struct call_hooks {
    void (*choose)(const struct time_options *o); /* probes_choose */
    void (*install)(void **callbacks);            /* probes_install */
    const struct method *(*example)(void);        /* probes_example */
    void (*unwound)(void);                        /* scopes_unwound */
};
extern const struct call_hooks call_hooks;

void time_init(const struct time_options *o);
void time_give_back(void); /* nothing is recorded any more; while all threads are stopped */
uint32_t time_event_mask(void);
void time_install(void **callbacks);
void time_installed(void **callbacks); /* those of all others are there, too */
void time_thread_ended(struct timer **keep); /* where the next thread of the same set finds its state; NULL: none will */
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
