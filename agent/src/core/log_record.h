/* Records of the log in the making: descriptions.c, declared_callees.c. */
#ifndef CLRPROF_RECORD_H
#define CLRPROF_RECORD_H

#include "core/arena.h"

#include <string.h>

struct record { /* grows in a piece of scratch memory; too much is cut off and remembered */
    uint8_t *start, *p, *end;
    bool full;
};

static inline void record_begin(struct record *r, uint8_t *memory, size_t bytes)
{
    *r = (struct record){memory, memory + sizeof(struct wire_record_header), memory + bytes, false};
}

static inline void put(struct record *r, const void *bytes, size_t n)
{
    if (n > (size_t)(r->end - r->p)) {
        r->full = true;
        return;
    }
    if (n == 0)
        return; /* bytes may be NULL */
    memcpy(r->p, bytes, n);
    r->p += n;
}

static inline void put_u32(struct record *r, uint32_t v)
{
    put(r, &v, sizeof v);
}

static inline void put_u64(struct record *r, uint64_t v)
{
    put(r, &v, sizeof v);
}

static inline void put_u32s(struct record *r, const uint32_t *v, uint32_t n)
{
    put_u32(r, n);
    put(r, v, n * sizeof *v);
}

/* A name as the runtime returned it: `length` counts the terminating zero and may exceed what was written. */
static inline void put_name(struct record *r, const utf16 *name, uint32_t length)
{
    if (length > WIRE_MAX_NAME) {
        loss(WIRE_LOSS_NAME_TRUNCATED, 0, 0);
        length = WIRE_MAX_NAME;
    }
    length = length == 0 ? 0 : length - 1;
    put_u32(r, length);
    put(r, name, length * sizeof *name);
}

/* descriptions.c. Names of a type and of those around it, outermost first; name: scratch memory for one. */
void put_type_names(struct record *r, void *import, uint32_t token, utf16 *name);
uint32_t names_add_callee(struct record *r); /* its id, as a function has; 0: no room */

#endif
