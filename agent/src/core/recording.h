/* What every part asks of the recording: recording.c. */
#ifndef CLRPROF_RECORDING_H
#define CLRPROF_RECORDING_H

#include "core/agent.h"

extern uint32_t code_epoch; /* grows whenever code may have been freed */

bool recording_is_over(void); /* nothing is counted any more: the collector has ended, or this is a forked child */
/* Ends it. `asked`, unless it is NULL, is called from then on whenever a thread asks whether it is over. False: it was over. */
bool recording_end(void (*asked)(void));

extern bool dormant_on; /* the process started without being recorded, and can be later: dormant.c */

/* A visit is a time in which a thread uses what exists only while something is recorded: a recording ends when there is none.
 * False: nothing is recorded, and there is no visit to end. Where the thread neither waits nor calls the runtime, and the
 * runtime called it as a thread that runs managed code, a visit is not needed: see dormant.c. */
bool visit_begin_slowly(void);
void visit_end_slowly(void);

static inline bool visit_begin(void)
{
    return LIKELY(!dormant_on) || visit_begin_slowly();
}

static inline void visit_end(void)
{
    if (UNLIKELY(dormant_on))
        visit_end_slowly();
}

/* For dormant.c: from now on a visit can begin, or none can. Those that have begun go on. */
void visits_open(void);
void visits_close(void);
bool visits_are_open(void);
bool visits_are_over(void); /* no thread makes one */

#endif
