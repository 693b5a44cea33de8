/* The hot callback: allocations.c. */
#ifndef CLRPROF_ALLOCATIONS_H
#define CLRPROF_ALLOCATIONS_H

#include "agent.h"

void allocations_init(void *info, bool has_frozen_heap);
void allocations_note_timings(void **callbacks); /* where stacks do not show what was called: sites have timings */
hresult object_allocated(void *self, uintptr_t object, uintptr_t class_id);
hresult object_allocated_lifetime(void *self, uintptr_t object, uintptr_t class_id);

#endif
