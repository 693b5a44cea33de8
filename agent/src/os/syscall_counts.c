/* Which system calls a thread makes, where they are counted (cpu_counters.c): the names beside the numbers.
 *
 * With PERF_SAMPLE_RAW a record of raw_syscalls:sys_enter has what the tracepoint has: the number of the call and its arguments. It is
 * longer then, but all are of one length, so the end of the ring still says how many there were; and the kernel lets everyone have that of his own
 * calls who may count them (TRACE_EVENT_FL_CAP_ANY). The ring is overwritten: what is older than it is long is counted and has no name.
 *
 * A record is a header, the length of what follows, what all tracepoints have, and then the number:
 *     u32 type, u16 misc, u16 size | u32 length | u16, u8, u8, s32 | s64 number | u64 arguments[6]
 * Kernels for real time have another second part. So whoever maps a ring makes one call, of which the record must be what is said here, or there
 * are no names. Facts: perf_event_open(2), include/trace/events/syscalls.h. */
#include "os/syscall_counts.h"

#include <linux/perf_event.h>
#include <string.h>

#define NUMBER_AT 20u

bool system_calls_named;

/* A record does not begin where the ring does when it comes round, but nothing of four bytes is in two pieces. */
static uint32_t word_at(const struct call_names *c, uint64_t at)
{
    return *(const uint32_t *)(const void *)(c->ring + (at & (c->ring_bytes - 1)));
}

static bool is_record(const struct call_names *c, uint64_t at)
{
    return word_at(c, at) == PERF_RECORD_SAMPLE && word_at(c, at + 4) >> 16 == c->record;
}

bool system_calls_begin(struct call_names *c, const void *data, uint32_t bytes, uint64_t head, uint32_t number)
{
    *c = (struct call_names){.ring = data, .ring_bytes = bytes, .read = head};
    c->record = head == 0 ? 0 : word_at(c, 4) >> 16;
    if (c->record > NUMBER_AT && c->record % 8 == 0 && head % c->record == 0 && is_record(c, head - c->record) &&
        word_at(c, head - c->record + NUMBER_AT) == number)
        return true;
    *c = (struct call_names){.ring = NULL};
    return false;
}

static void add(struct call_names *c, uint32_t number)
{
    uint32_t i = 0;
    while (i < c->n && c->calls[i].number != number)
        i++;
    if (i == CALL_KINDS)
        return;
    if (i == c->n)
        c->calls[c->n++] = (struct wire_system_call){number, 0};
    c->calls[i].count++;
}

void system_calls_take(struct call_names *c, uint64_t head)
{
    if (c->ring == NULL)
        return;
    uint64_t kept = c->ring_bytes / c->record * c->record;
    if (head - c->read > kept)
        c->read = head - kept;
    for (; c->read < head; c->read += c->record)
        if (is_record(c, c->read))
            add(c, word_at(c, c->read + NUMBER_AT));
}

void system_calls_report(struct call_names *c)
{
    memcpy(c->reported, c->calls, c->n * sizeof *c->reported);
    c->n_reported = c->n;
    c->n = 0;
}
