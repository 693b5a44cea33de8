/* Why objects survived, for chosen garbage collections: survivor_roots.c. */
#ifndef CLRPROF_SURVIVAL_H
#define CLRPROF_SURVIVAL_H

#include "core/agent.h"

struct bound;

void survival_init(const char *policy);
bool survival_begin(uint32_t number, uint32_t collected, bool induced, bool snapshot); /* is this one looked at? */
hresult survival_roots(void *self, uint32_t n, const uintptr_t *objects, const uint32_t *kinds, const uint32_t *flags, const uintptr_t *ids);
void survival_report(uint32_t gc, const struct bound *bounds, uint64_t n, bool all_survived);
uint32_t survival_pinned(void); /* objects that roots pinned in this GC */

#endif
