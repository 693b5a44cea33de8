/* Which precompiled code has no instrumented functions in it: inliners.c, and what it needs of the rules. */
#ifndef CLRPROF_INLINERS_H
#define CLRPROF_INLINERS_H

#include "agent.h"

bool inliners_init(void *info);
void inliners_close(void);
void inliners_module_loaded(uintptr_t module, bool is_concerned); /* is_concerned: some of its functions may be instrumented, by rules */
bool inliners_may_run(uintptr_t module, uint32_t token);          /* a method's precompiled code, of one that is concerned */
bool inliners_is_left_out(uintptr_t module, uint32_t token);      /* by the rules; false: perhaps */
void inliners_forget_module(uintptr_t module);                    /* with the lock held */

/* probes.c. Is a function one of which nobody needs to know what it is? */
bool probes_leave_out(uintptr_t function_id);

/* instrument.c. May rules include something by the name of the module's file? Do they include a function of a module with this path? */
bool instrument_may_include_file(const utf16 *path, uint32_t length);
bool instrument_is_included(const utf16 *path, uint32_t length, const uint8_t *names, const uint8_t *end);

#endif
