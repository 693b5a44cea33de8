/* Processes that start without being recorded, and can be later, again and again: dormant.c. */
#ifndef CLRPROF_DORMANT_H
#define CLRPROF_DORMANT_H

#include "core/agent.h"

/* The process starts without being recorded; who wants to, finds it in the directory. False: nothing was done. */
bool dormant_init(void *profiler_info, const char *directory);
/* The runtime has loaded the library into a process that runs, and gives it what the collector says: WIRE_LOAD_BYTES. */
bool dormant_init_late(void *profiler_info, const uint8_t *said, uint32_t bytes);
void dormant_detached(void); /* the runtime has let the agent go: it is nowhere any more */
void dormant_shut_down(void); /* the process ends; what is recorded was finished before */
void dormant_report_prepared(uint32_t n, uint32_t of); /* methods: how far the preparation of a recording is */

/* library_state.c: the library's own variables. */
#define BUILD_BYTES 20u
bool library_stays(void);     /* even if the runtime lets go of it: handlers of fork, and threads, are in it */
bool variables_save(void);    /* once, before any of them is of use */
void variables_restore(void); /* those that are not KEPT are what they were then */
void variables_build_id(uint8_t *id); /* BUILD_BYTES of zeros: the linker made none */

#endif
