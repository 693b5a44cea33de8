/* What is recorded at the moment: recording_state.c. The functions here are in hot paths. */
#ifndef CLRPROF_CONTROL_H
#define CLRPROF_CONTROL_H

#include "core/agent.h"

extern const uint64_t *control_shared; /* how many changes the collector has made */
extern uint64_t control_own;           /* and the program itself */
extern bool control_was_off;           /* something was not recorded once: objects without a shadow are no surprise */

/* How many changes there have been. Whoever has asked for the state, and knows that it is recorded, need not ask again
 * before this is another number. A macro, as it is part of functions with different registers. */
#define control_now() (__atomic_load_n(control_shared, __ATOMIC_ACQUIRE) + __atomic_load_n(&control_own, __ATOMIC_RELAXED))

#define CONTROL_UNKNOWN UINT64_MAX /* no number of changes */

struct control_state {
    uint64_t changes; /* of which it is the state */
    uint64_t paused;  /* ticks in which the process, or this thread's level, was off, up to now */
    bool off;         /* nothing of this thread is recorded now */
    bool thread_off;  /* because of what the thread itself did: since then it was off all the time */
};

void control_init(const char *directory);  /* of the arenas */
void control_begin(uint64_t ticks);        /* the clock of time runs from now on */
void control_close(void);
void control_look_again(void); /* by all threads, at their next event: something else has changed */
void control_thread_begins(uint32_t os_id); /* this thread has got a number: from now on its level can be changed by others, too */
void control_thread_ends(void);
void control_forget_thread(ptrdiff_t distance); /* the level of a thread whose thread-local variables are so far from this one's */
bool control_is_off(uint64_t *number); /* the process as a whole, up to now; *number: of pauses that have begun */
const struct wire_control_header *control_file(void); /* NULL: there is none */

/* requests.c: what the collector asks for. */
void requests_init(void *profiler_info);
void requests_begin(void *profiler_info); /* whatever is asked for from now on is answered, when requests_serve is called */
bool requests_let_go(void); /* the collector wants no more of this process, or is gone, before requests_serve is called */
void requests_serve(void); /* on this thread, until the collector wants no more of this process, or is gone */

struct control_state control_look(uint64_t now);
/* Is what this thread does recorded? If so, *known becomes the number for which that holds. */
bool control_ask(uint64_t *known);
/* A change of a level, by this thread and as to threads of this thread. False: a counter at its end, or no memory to report it. */
bool control_change(uint32_t level, uint32_t op, uint32_t thread);
/* The process stops, because so many collections were to be recorded. */
bool control_stop_after(uint32_t collections);
/* Around changes that functions of the program make: up to here the thread is what it was, and what they take is the agent's own. */
uint64_t control_changes_begin(void);
void control_changes_end(uint64_t since); /* what that returned */

/* Functions limit what is recorded of the whole process: recording_scopes.c. */
void control_only_inside(bool only); /* nothing is while no thread is in a call of those that record inside */
void control_in_functions(bool outside, uint32_t more); /* so many threads more are in such calls, or of those that record outside */

/* Reports what the program itself marked or changed, up to a part of the memory limit, or beyond it what is needed. False: there is no
 * room, which is counted. */
bool control_log(uint32_t kind, const void *payload, uint32_t bytes, bool needed);
/* Marks that this thread is at a point of a function's call. False: nothing of this thread is recorded now. */
bool control_mark_function(uint32_t function, uint32_t point);
/* Waits until the collector has read what is counted up to a mark of this thread, or not for longer: slice_cuts.c. */
void control_cut(uint64_t time_ns);
void control_mark_request(const utf16 *name, uint32_t length); /* that it has a request, by the name of its endpoint */

#endif
