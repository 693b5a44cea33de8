/* What the JIT has put into other code of a dormant process: inlined.c. */
#ifndef CLRPROF_INLINED_H
#define CLRPROF_INLINED_H

#include "core/agent.h"

/* From the start of a dormant process on. Returns the events that are wanted all the time; none, if there is no memory. */
uint32_t inlined_watch(void *info);
void inlined_install(void **callbacks); /* each calls the one whose place it takes */
bool inlined_is_own(uint32_t slot);     /* a slot whose function stays in the table between recordings */
void inlined_let_go(void);              /* none of the recording's callbacks is called any more */
/* Is all code known that has methods of this module inlined? */
bool inlined_knows(uintptr_t module);
/* Each method that has some inlined; *at: 0 at first. False: there are no more. */
bool inlined_next(uint32_t *at, uintptr_t *module, uint32_t *token);
/* May a method of the framework be inlined in one that is made at run time, which cannot be compiled again? */
bool inlined_is_put(uintptr_t module, uint32_t token);

#endif
