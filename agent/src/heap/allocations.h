/* The hot callback: allocations.c. */
#ifndef CLRPROF_ALLOCATIONS_H
#define CLRPROF_ALLOCATIONS_H

#include "core/agent.h"

void allocations_init(void *info, bool has_frozen_heap);
void allocations_note_timings(void **callbacks); /* where stacks do not show what was called: sites have timings */
void allocations_note_caller(uint32_t gc, uintptr_t fp); /* the stack at fp is that of who asked for a collection */
struct thread;
/* The site of a sample whose stack is a copy, see allocation_samples.c; NULL: there is no room. */
struct wire_site *allocations_site_of_sample(struct thread *walker, uintptr_t class_id, uintptr_t fp, bool is_cut);
hresult object_allocated(void *self, uintptr_t object, uintptr_t class_id);
hresult object_allocated_lifetime(void *self, uintptr_t object, uintptr_t class_id);
hresult object_allocated_large(void *self, uintptr_t object, uintptr_t class_id); /* of large objects only, with and without lifetimes and timings */

#endif
