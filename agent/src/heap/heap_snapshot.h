/* The whole heap after one collection: heap_snapshot.c. */
#ifndef CLRPROF_SNAPSHOT_H
#define CLRPROF_SNAPSHOT_H

#include "core/agent.h"

struct bound;

/* Directory, where it is written, stays the caller's; which one: see CLRPROF_SNAPSHOT, NULL: none. */
void snapshot_init(void *info, const char *directory, const char *which);
void snapshot_end_again(void); /* the one of the end was not of the end; while all threads are stopped */
void snapshot_ask(bool now); /* one, of the next full collection, or none any more */
bool snapshot_begin(uint32_t number, uint32_t collected, bool last); /* is it taken in this collection? */
extern bool snapshot_writing;
hresult snapshot_object(uintptr_t object, uintptr_t class_id, uint32_t n, const uintptr_t *references);
hresult snapshot_dependents(void *self, uint32_t n, const uintptr_t *keys, const uintptr_t *values, const uintptr_t *ids);
void snapshot_end_objects(void);
void snapshot_root(uintptr_t object, uint32_t kind, uint32_t flags, uint32_t function);
void snapshot_put(const void *bytes, uint64_t n); /* of a table of its own */
void snapshot_finish(const struct bound *bounds, uint64_t n);

#endif
