/* What is alive only because a finalizer could still have it: reachable.c. */
#ifndef CLRPROF_REACHABLE_H
#define CLRPROF_REACHABLE_H

#include "core/agent.h"

extern bool reachable_traces; /* false: what waits for finalizers counts as alive, for tests whose reference knows no roots */
void reachable_init(void *info);
void reachable_give_back(void);
void reachable_note_class(uintptr_t class_id, uint32_t type); /* the type's number, when it is new */
void reachable_keep(uintptr_t object); /* one that is not the program's was born: its finalizer will not run */
void reachable_let_kept_go(void);      /* on a thread of the agent's own */
bool reachable_can_hold(void); /* can a collection be had now after which no finalizer runs that would not have run? */
/* A collection begins; whole: it says what is alive; hold: its finalizable objects are kept from the finalizer. */
void reachable_begin(bool whole, bool hold);
bool reachable_root(uintptr_t object, uint32_t kind, uint32_t flags, uintptr_t id); /* true: it is the agent's own */
void reachable_dependents(uint32_t n, const uintptr_t *keys, const uintptr_t *values);
/* Its survivors are known: what no root but the finalizer's queue leads to counts as dead. */
void reachable_end(void);
void reachable_each_waiting(void (*found)(uintptr_t object)); /* that a finalizer would have got */

#endif
