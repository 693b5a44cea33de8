/* What makes garbage collections shorter: events.c. */
#ifndef CLRPROF_EVENTS_H
#define CLRPROF_EVENTS_H

#include "agent.h"

#define EVENTS_CHUNKS 6u  /* of the shadow heap: a program that does little has four, in one for each kind of heap */
#define EVENTS_TYPES 256u /* with more types the runtime's walk takes longer for each object */

uint32_t events_init(void *info, uint32_t low, uint32_t high); /* the event mask; returns its high word */
void events_stop(uint32_t low); /* nobody reads any more: this is the mask from now on, and no flag is cleared */
void events_install(void **callbacks);
void events_want(void); /* collections may take long from now on */
bool events_thread_is_own(void); /* one that starts or stops a session */
bool events_leave_out(uint64_t bytes); /* is a new object not the program's? Then it has been counted */
void events_gc_suspending(void);
void events_gc_started(void);
bool events_gc_finished(void); /* false: what survived was not reported */
void events_end(void); /* no collection need report anything any more */
void events_close(void); /* the recording of a process that runs on ends: there is no session any more. Not on one of the runtime's threads */

#endif
