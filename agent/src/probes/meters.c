/* What instruments of meters (System.Diagnostics.Metrics) measure. Code of ours in the program listens to them (agent/hook), if the
 * collector wants that: call_sites.c has the runtime load it before the program. It finds the functions below by name, and asks for a row of each instrument with each set of tags. It adds to the
 * row in place, in shared memory: so whatever was measured is there, however the process ends. A row is never moved, nor taken away.
 *
 * Processes that were dormant have no such code. */
#include "core/arena.h"
#include "core/recording.h"
#include "filter/instrumentation.h"
#include "probes/meters.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define OLDEST 8u /* the first .NET that has all that the code of ours needs */
#define MAX_PATH 4096u
#define TEXTS 5u /* of a row: meter, instrument, unit, description, tags */

EXPORT void clrprof_meter_begins(void);
EXPORT void *clrprof_meter(int32_t kind, int32_t whole, const utf16 *texts, const int32_t *lengths);
EXPORT void clrprof_meter_lost(int32_t of_callbacks, int32_t times);

static utf16 hook[MAX_PATH];

static void report(uint32_t state)
{
    uint32_t record[2] = {state, 0};
    arena_lock();
    arena_log(WIRE_RECORD_METER_STATE, record, sizeof record);
    arena_unlock();
}

/* A process may see other files than the collector does, and have other rights: a hook that cannot be loaded would end it. */
bool meters_choose(void)
{
    const char *path = getenv("CLRPROF_METER_HOOK"), *text = path;
    uint32_t n = 0;
    if (path == NULL || *path == 0)
        return false;
    while (*text != 0 && n < MAX_PATH - 2) {
        uint32_t c = instrument_decode(&text);
        if (c > 0xFFFF)
            hook[n++] = (utf16)(0xD7C0 + (c >> 10));
        hook[n++] = (utf16)(c > 0xFFFF ? 0xDC00 + (c & 0x3FF) : c);
    }
    hook[n] = 0;
    bool readable = *text == 0 && access(path, R_OK) == 0, is_new = arena.header->runtime_major >= OLDEST;
    report(!is_new ? WIRE_METER_OLD_RUNTIME : readable ? WIRE_METER_WANTED : WIRE_METER_NO_FILE);
    return is_new && readable;
}

const utf16 *meters_hook(void)
{
    return hook;
}

static bool is_never(void)
{
    return dormant_on || arena.base == NULL || recording_is_over() || !arena_is_ours();
}

/* With the lock held. */
static struct wire_meter_value *new_row(int32_t whole, uint8_t *record, uint32_t bytes)
{
    uint64_t n = arena.header->regions[WIRE_REGION_METER_VALUES].used / sizeof(struct wire_meter_value);
    uint32_t id = (uint32_t)n + 1;
    struct wire_meter_value *row = n < WIRE_MAX_METER_COUNTERS && arena_has_room(ROOM_FUNCTIONS) ? arena_reserve(WIRE_REGION_METER_VALUES, sizeof *row) : NULL;
    memcpy(record, &id, sizeof id);
    if (row == NULL || !arena_log(WIRE_RECORD_METER_COUNTER, record, bytes))
        return NULL;
    double least = -__builtin_inf(), greatest = __builtin_inf();
    *row = (struct wire_meter_value){.min = INT64_MAX, .max = (uint64_t)INT64_MIN};
    if (whole == 0) {
        memcpy(&row->min, &greatest, sizeof greatest);
        memcpy(&row->max, &least, sizeof least);
    }
    arena_publish(WIRE_REGION_METER_VALUES, sizeof *row);
    return row;
}

/* The code of ours runs. */
void clrprof_meter_begins(void)
{
    if (!is_never())
        report(WIRE_METER_LISTENING);
}

/* The row of an instrument with tags, which the caller asks for once; NULL: there is no room, or nobody reads. The texts lie one behind the
 * other. */
void *clrprof_meter(int32_t kind, int32_t whole, const utf16 *texts, const int32_t *lengths)
{
    int saved_errno = errno;
    uint32_t head[4] = {0, (uint32_t)kind, whole != 0, 0}, at = sizeof head;
    uint8_t record[sizeof head + TEXTS * (sizeof(uint32_t) + WIRE_MAX_NAME * sizeof(utf16))];
    struct wire_meter_value *row = NULL;
    bool fits = kind > 0 && kind < (int32_t)WIRE_METER_KINDS;
    memcpy(record, head, sizeof head);
    for (uint32_t i = 0; i < TEXTS && fits; i++) {
        uint32_t length = (uint32_t)lengths[i];
        fits = length <= WIRE_MAX_NAME;
        if (fits) {
            memcpy(record + at, &length, sizeof length);
            memcpy(record + at + sizeof length, texts, length * sizeof *texts);
            at += (uint32_t)(sizeof length + length * sizeof *texts);
            texts += length;
        }
    }
    if (fits && !is_never()) {
        arena_lock();
        row = new_row(whole, record, at);
        arena_unlock();
    }
    errno = saved_errno;
    return row;
}

void clrprof_meter_lost(int32_t of_callbacks, int32_t times)
{
    if (times > 0 && !is_never())
        __atomic_fetch_add(&arena.header->losses[of_callbacks != 0 ? WIRE_LOSS_METER_CALLBACKS : WIRE_LOSS_METERS].events, (uint64_t)times, __ATOMIC_RELAXED);
}
