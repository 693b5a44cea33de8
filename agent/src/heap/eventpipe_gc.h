/* What makes garbage collections shorter: eventpipe_gc.c. */
#ifndef CLRPROF_EVENTS_H
#define CLRPROF_EVENTS_H

#include "core/agent.h"

#define EVENTS_CHUNKS 6u  /* of the shadow heap: a program that does little has four, in one for each kind of heap */
#define SKIPS_SINCE 11u   /* the version of .NET that can be asked not to walk: it needs no events */

#define SAMPLES_SINCE 8u  /* the version of .NET whose events of allocations have the size of the object */

uint32_t events_init(void *info, uint32_t low, uint32_t high); /* the event mask; returns its high word */
void events_stop(uint32_t low); /* nobody reads any more: this is the mask from now on, and no flag is cleared */
void events_install(void **callbacks);
uint32_t events_sample(void *info, uint32_t low, uint32_t high, void **callbacks); /* small objects; as events_init, and after it */
bool events_sample_start(void); /* waits until samples come. False: they are refused */
void events_want(void); /* collections may take long from now on */
void events_never(void); /* the process exits, and EventPipe has ended: a session that has not begun never will */
bool events_thread_is_own(void); /* one that starts or stops a session */
bool events_leave_out(uint64_t objects, uint64_t bytes); /* are new objects not the program's? Then they have been counted */
void events_gc_suspending(void);
void events_gc_started(void);
bool events_gc_finished(void); /* false: what survived was not reported */
void events_end(void); /* no collection need report anything any more */
void events_close(void); /* the recording of a process that runs on ends: there is no session any more. Not on one of the runtime's threads */

#endif
