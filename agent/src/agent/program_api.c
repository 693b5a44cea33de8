/* What the program itself can call: to choose what is recorded, and to mark moments. The functions are found by name in
 * this library by Clrprof.Control (integrations/control/Control.cs), and are all that it exports but DllGetClassObject and those of meters.c.
 *
 * All of them may be called by any thread at any time, and return one of the codes below. Strings are UTF-16 with a length. */
#include "core/arena.h"
#include "core/recording.h"
#include "calls/calls.h"
#include "control/recording_state.h"
#include "probes/rejit.h"
#include "threads/threads.h"
#include "control/collector_watch.h"
#include "os/own_time.h"

#include <errno.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

enum { OK, NO_SUCH_LEVEL, NO_SUCH_ID, NEVER, NO_MEMORY, IS_OFF, TOO_LONG, BAD_NAME, BAD_TIME };

EXPORT int32_t clrprof_control(int32_t level, int32_t op);
EXPORT int32_t clrprof_state(int32_t unused);
EXPORT int32_t clrprof_mark(int32_t number, const utf16 *name, int32_t name_length, const utf16 *text, int32_t text_length);
EXPORT int32_t clrprof_mark_at(int64_t time_ns, int32_t number, const utf16 *name, int32_t name_length, const utf16 *text, int32_t text_length);
EXPORT int32_t clrprof_name_thread(const utf16 *name, int32_t length);
EXPORT int32_t clrprof_name_process(const utf16 *name, int32_t length);

/* Nobody reads any more, or this is a forked child: nothing will ever be recorded again. */
static bool is_never(void)
{
    watch_look(); /* a program can mark in a loop that allocates nothing */
    return arena.base == NULL || arena.header->state != WIRE_STATE_RECORDING || recording_is_over() || !arena_is_ours();
}

/* May the program say something now? OK: it may, and visit_end follows. A dormant process is off until it is recorded. */
static int32_t enter(void)
{
    if (!visit_begin())
        return IS_OFF;
    if (!is_never())
        return OK;
    visit_end();
    return NEVER;
}

int32_t clrprof_control(int32_t level, int32_t op)
{
    int saved_errno = errno;
    int32_t result = OK;
    if (level < (int32_t)WIRE_LEVEL_GLOBAL || level > (int32_t)WIRE_LEVEL_THREAD || op < (int32_t)WIRE_CONTROL_START || op > (int32_t)WIRE_CONTROL_RESUME)
        result = NO_SUCH_LEVEL;
    else if ((result = enter()) == OK) {
        uint32_t thread = thread_number();
        if (level == (int32_t)WIRE_LEVEL_THREAD)
            time_settle(); /* up to here the thread is what it was */
        bool ends_pause = rejit_is_on() && level != (int32_t)WIRE_LEVEL_THREAD && (op == (int32_t)WIRE_CONTROL_START || op == (int32_t)WIRE_CONTROL_RESUME);
        if (ends_pause)
            rejit_ends_pause();
        result = control_change((uint32_t)level, (uint32_t)op, thread) ? OK : NO_MEMORY;
        if (ends_pause)
            rejit_ended_pause();
        visit_end();
    }
    errno = saved_errno;
    return result;
}

int32_t clrprof_state(int32_t unused)
{
    (void)unused;
    int saved_errno = errno;
    int32_t result = enter();
    if (result == OK) {
        result = control_ask(NULL) ? OK : IS_OFF;
        visit_end();
    }
    errno = saved_errno;
    return result;
}

/* Appends a string to a record. */
static uint32_t put_string(uint8_t *record, uint32_t at, const utf16 *s, uint32_t length)
{
    memcpy(record + at, &length, sizeof length);
    if (length != 0)
        memcpy(record + at + sizeof length, s, length * sizeof *s);
    return at + (uint32_t)sizeof length + length * (uint32_t)sizeof *s;
}

static int32_t write_mark(uint64_t time_ns, uint32_t number, const utf16 *name, uint32_t name_length, const utf16 *text, uint32_t text_length)
{
    uint8_t record[24 + 2 * WIRE_MAX_NAME * sizeof(utf16)];
    uint32_t thread = thread_number();
    memcpy(record, &time_ns, sizeof time_ns);
    memcpy(record + 8, &thread, sizeof thread);
    memcpy(record + 12, &number, sizeof number);
    uint32_t end = put_string(record, put_string(record, 16, name, name_length), text, text_length);
    return control_log(WIRE_RECORD_MARK, record, end, false) ? OK : NO_MEMORY;
}

/* A mark of now is made where this thread is, so what the thread did until then is counted before it. */
static int32_t mark(int64_t at, bool now, int32_t number, const utf16 *name, int32_t name_length, const utf16 *text, int32_t text_length)
{
    int saved_errno = errno;
    int32_t result;
    if (name_length < 0 || text_length < 0)
        result = BAD_NAME;
    else if ((uint32_t)name_length > WIRE_MAX_NAME || (uint32_t)text_length > WIRE_MAX_NAME)
        result = TOO_LONG;
    else if ((result = enter()) == OK) {
        uint64_t since = now ? control_changes_begin() : 0;
        int64_t made = now ? (int64_t)monotonic_ns() : monotonic_at(at);
        uint64_t time_ns = (uint64_t)made;
        if (at < 0 || made < 0 || time_ns < arena.header->start_ns || time_ns > monotonic_ns())
            result = BAD_TIME;
        else
            result = control_ask(NULL) ? write_mark(time_ns, (uint32_t)number, name, (uint32_t)name_length, text, (uint32_t)text_length) : IS_OFF;
        if (now && result == OK)
            control_cut(time_ns);
        control_changes_end(since);
        visit_end();
    }
    errno = saved_errno;
    return result;
}

int32_t clrprof_mark_at(int64_t time_ns, int32_t number, const utf16 *name, int32_t name_length, const utf16 *text, int32_t text_length)
{
    return mark(time_ns, false, number, name, name_length, text, text_length);
}

int32_t clrprof_mark(int32_t number, const utf16 *name, int32_t name_length, const utf16 *text, int32_t text_length)
{
    return mark(0, true, number, name, name_length, text, text_length);
}

bool control_mark_function(uint32_t function, uint32_t point)
{
    int saved_errno = errno;
    uint64_t since = (arena.header->data & WIRE_DATA_TIME) != 0 ? time_own_begins() : 0;
    bool recorded = !is_never() && control_ask(NULL);
    if (recorded) {
        struct {
            uint64_t time_ns;
            uint32_t thread, function, point, reserved;
        } record = {monotonic_ns(), thread_number(), function, point, 0};
        control_log(WIRE_RECORD_FUNCTION_MARK, &record, sizeof record, false);
    }
    if (since != 0)
        time_leave_out(since);
    errno = saved_errno;
    return recorded;
}

/* Names are as long as a program can make them. */
void control_mark_request(const utf16 *name, uint32_t length)
{
    uint64_t since = (arena.header->data & WIRE_DATA_TIME) != 0 ? time_own_begins() : 0;
    uint8_t record[24 + WIRE_MAX_NAME * sizeof(utf16)];
    if (!is_never() && control_ask(NULL)) {
        uint64_t time_ns = monotonic_ns();
        uint32_t head[2] = {thread_number(), 0};
        memcpy(record, &time_ns, sizeof time_ns);
        memcpy(record + sizeof time_ns, head, sizeof head);
        if (length > WIRE_MAX_NAME)
            loss(WIRE_LOSS_NAME_TRUNCATED, 0, 0);
        uint32_t end = put_string(record, sizeof time_ns + sizeof head, name, length > WIRE_MAX_NAME ? WIRE_MAX_NAME : length);
        control_log(WIRE_RECORD_REQUEST_MARK, record, end, false);
    }
    if (since != 0)
        time_leave_out(since);
}

int32_t clrprof_name_thread(const utf16 *name, int32_t length)
{
    int saved_errno = errno;
    int32_t result = OK;
    uintptr_t managed = 0;
    if (length <= 0 || (uint32_t)length > WIRE_MAX_NAME)
        result = length <= 0 ? BAD_NAME : TOO_LONG;
    else if ((result = enter()) == OK) {
        if (thread_number() == 0 || SLOT(agent_info, INFO_GET_CURRENT_THREAD_ID, uintptr_t *)(agent_info, &managed) < 0)
            result = NO_SUCH_ID;
        else
            thread_named(managed, name, (uint32_t)length);
        visit_end();
    }
    errno = saved_errno;
    return result;
}

int32_t clrprof_name_process(const utf16 *name, int32_t length)
{
    int saved_errno = errno;
    int32_t result;
    uint8_t record[sizeof length + WIRE_MAX_NAME * sizeof(utf16)];
    if (length <= 0 || (uint32_t)length > WIRE_MAX_NAME)
        result = length <= 0 ? BAD_NAME : TOO_LONG;
    else if ((result = enter()) == OK) {
        result = control_log(WIRE_RECORD_PROCESS_NAME, record, put_string(record, 0, name, (uint32_t)length), false) ? OK : NO_MEMORY;
        visit_end();
    }
    errno = saved_errno;
    return result;
}
