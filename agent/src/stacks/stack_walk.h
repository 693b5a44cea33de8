/* From the frame pointer to a node: stack_walk.c. */
#ifndef CLRPROF_STACK_H
#define CLRPROF_STACK_H

#include "core/agent.h"

struct thread;

#define MAX_CHAIN 16u /* children of a node, or its sites, that are looked for one by one; more are in a map */

bool stack_init(uint64_t most_nodes);
void stack_close(void);
/* Makes t->frames the stack that begins at fp and t->leaf its node. False: no room for a node. */
bool stack_update(struct thread *t, uintptr_t fp);
/* The same for a copy of a stack, on any thread: where native code has cut the chain, the copy ends. is_cut: so does it elsewhere, and only the
 * innermost function is looked for. */
bool stack_of_copy(struct thread *t, uintptr_t fp, bool is_cut);
/* Where a stack begins, for stack_update: at the first pair behind the runtime's own frames, which are remembered, or at fp. */
uintptr_t stack_begin(struct thread *t, uintptr_t fp);
uint32_t stack_child(uint32_t parent, uint32_t ip); /* a node; 0: no room */
void stack_forget(struct thread *t); /* nothing of t->frames is believed any more */

#endif
