/* What instructions do to the stack, as metadata say it: stack_effects.c. */
#ifndef CLRPROF_EFFECTS_H
#define CLRPROF_EFFECTS_H

#include "core/agent.h"

struct il_effect;

bool effects_init(void *info);
void effects_close(void);
void effects_forget_module(void); /* with the lock held: one was unloaded */
/* For il.h; callees: struct callees, begun. */
bool effects_of(void *callees, uint32_t op, uint32_t token, struct il_effect *e);
uint32_t effects_locals(void *callees, uint32_t token, uint32_t more, uint32_t *first);

#endif
