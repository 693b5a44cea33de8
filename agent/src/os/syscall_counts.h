/* Which system calls a thread makes: syscall_counts.c. */
#ifndef CLRPROF_SYSTEM_CALLS_H
#define CLRPROF_SYSTEM_CALLS_H

#include "core/agent.h"

#define CALL_RING_BYTES 16384u /* four pages: of what a thread called since its last event the last 204 are known */
#define CALL_KINDS 32u         /* different calls between two events that are distinguished; of others only the number is known */

extern bool system_calls_named; /* are their numbers to be reported? */

struct call_names { /* of a thread */
    const uint8_t *ring; /* NULL: the records do not say which call it was */
    uint32_t ring_bytes, record; /* of all, and of each of them */
    uint64_t read;       /* up to here they are taken, or left out */
    uint32_t n, n_reported;
    struct wire_system_call calls[CALL_KINDS], reported[CALL_KINDS]; /* since the interval began that has not ended; in the one that ended last */
};

/* A ring has been mapped, and the last record is that of a call with this number. False: they are not what was expected. */
bool system_calls_begin(struct call_names *c, const void *data, uint32_t bytes, uint64_t head, uint32_t number);
void system_calls_take(struct call_names *c, uint64_t head); /* what was called up to here is the program's */
void system_calls_report(struct call_names *c);                /* an interval has ended */

#endif
