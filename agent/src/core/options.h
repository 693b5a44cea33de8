/* What the collector wants of a recording: from the environment at the start, or from a file beside the arena later. */
#ifndef CLRPROF_OPTIONS_H
#define CLRPROF_OPTIONS_H

#include "core/agent.h"

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

#endif
