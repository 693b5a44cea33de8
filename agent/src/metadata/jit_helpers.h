/* The runtime's own managed functions: jit_helpers.c. */
#ifndef CLRPROF_HELPERS_H
#define CLRPROF_HELPERS_H

#include "core/agent.h"

#define MAX_FULL_NAME (4 * WIRE_MAX_NAME)
struct full_name { /* Namespace.Outer/Inner.Method */
    utf16 text[MAX_FULL_NAME];
    uint32_t length, namespace_end, outer_end, type_end;
};
void full_name_read(struct full_name *f, const uint8_t *p, const uint8_t *end); /* type names, name, as in a function's record */
/* FUNCTION_IS_HELPER, …_SLOW_WAY, …_DISPATCHER or 0, of a function of the core library. */
uint64_t helper_class(const uint8_t *names, const uint8_t *end);

#endif
