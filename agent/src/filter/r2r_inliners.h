/* Which precompiled code has no instrumented functions in it: r2r_inliners.c, and what it needs of the rules. */
#ifndef CLRPROF_INLINERS_H
#define CLRPROF_INLINERS_H

#include "core/agent.h"

bool inliners_init(void *info, bool runs_already); /* runs_already: the process does */
void inliners_close(void);
void inliners_module_loaded(uintptr_t module, bool is_concerned); /* is_concerned: some of its functions may be instrumented, or marked */
bool inliners_may_run(uintptr_t module, uint32_t token);          /* a method's precompiled code, of one that is concerned */
bool inliners_is_left_out(uintptr_t module, uint32_t token);      /* a method that is neither instrumented nor marked; false: perhaps */
/* What a method of a module that is concerned is, in a process that runs already. */
enum inliners_kind {
    INLINERS_PLAIN,
    INLINERS_HAS_WANTED, /* its precompiled code has wanted methods inlined */
    INLINERS_WANTED,
    INLINERS_LOST        /* it is wanted, but precompiled code with it, its own or an inliner's, may run unseen: no list says where it is */
};
enum inliners_kind inliners_kind(uintptr_t module, uint32_t token);
uint32_t inliners_methods(uintptr_t module); /* how many there are */
bool inliners_are_anywhere(void); /* code of any module may have instrumented functions of another one in it, and no list says so */
void inliners_forget_module(uintptr_t module);                    /* with the lock held */

/* instrumentation.c. May rules or marks be about something of a module, by the name of its file? About a type, or what is in it, by the
 * begin of its name? */
bool instrument_may_want_file(const utf16 *path, uint32_t length);
bool instrument_may_want(const utf16 *name, uint32_t length);
/* Is a function of a module with this path instrumented, or marked? It may still be left out for what it is. is_mine: of the module. */
bool instrument_wants(const utf16 *path, uint32_t length, bool is_mine, const uint8_t *names, const uint8_t *end);
bool instrument_wants_whole(uintptr_t module); /* all functions of it */

#endif
