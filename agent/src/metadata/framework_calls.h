/* When functions of the framework are first called: framework_calls.c. */
#ifndef CLRPROF_FRAMEWORK_CALLS_H
#define CLRPROF_FRAMEWORK_CALLS_H

#include "core/agent.h"

struct framework_call {
    const utf16 *file, *type, *method;
    uint32_t what; /* the listener's */
    /* The function is about to run, on this thread, outside of managed code; first: it has not been before. Returns whether its
     * precompiled code may be used. */
    bool (*called)(uint32_t what, uintptr_t module, uint32_t token, bool first);
};

void framework_calls_add(const struct framework_call *calls, uint32_t n); /* they are kept */
/* Looks for them; returns the event mask for that. After all others have put their callbacks into the table. */
uint32_t framework_calls_watch(void *info, void **callbacks);
bool framework_calls_is_type(uintptr_t class_id, uint32_t what); /* that of a function with this `what` */

#endif
