/* Exceptions that must not move: exception_pins.c. */
#ifndef CLRPROF_PINS_H
#define CLRPROF_PINS_H

#include "core/agent.h"

void pins_init(void *info);
void pins_thrown(uintptr_t object);
void pins_catch(void);  /* the innermost one: the block that handles it begins */
void pins_end(void); /* no exception is reported any more, and nobody is in the agent */
hresult pins_catcher_leave(void *self); /* the runtime's callback: it has ended */
void pins_thread_ended(void);

#endif
