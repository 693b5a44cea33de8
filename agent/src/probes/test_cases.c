/* What each case of a test allocated: --test-cases.
 *
 * Problem: a [Theory] is called for each of its cases by the same code, so all of its cases have the same stacks, and one site.
 *
 * Idea: at the begin and the end of a test that has arguments, the thread adds up its own sites. The difference is what was allocated on
 * this thread meanwhile, which is all that has the test on its stack here. Nothing is added to what an allocation costs: a sum is made
 * twice for each case. The arguments are read by the test's own code, which passes their addresses before it does anything else; no
 * object can move there.
 *
 * A case is the outermost call of such a test on a thread, which ends as in recording_scopes.c. What an async test does after it has waited, and
 * what other threads do, is in no case. */
#include "arch/arch.h"
#include "control/recording_state.h"
#include "core/arena.h"
#include "core/metadata_signature.h"
#include "core/recording.h"
#include "os/own_time.h"
#include "probes/ado_http_calls.h"
#include "probes/test_cases.h"
#include "threads/threads.h"

#include <errno.h>
#include <string.h>

#define NO_STRING UINT32_MAX /* in the place of a length */

struct allocated {
    uint64_t objects, bytes;
};

/* What this thread has allocated so far: its sites are newer than the thread. */
static struct allocated allocated_here(void)
{
    struct allocated sum = {0, 0};
    uint32_t thread = current_thread == NULL ? 0 : current_thread->id;
    uint64_t n = arena.header->regions[WIRE_REGION_SITES].used / sizeof(struct wire_site);
    for (uint64_t i = thread == 0 ? n : current_thread->oldest; i < n; i++) {
        const struct wire_site *s = &arena.sites[i];
        if (s->thread == thread) {
            sum.objects += s->objects;
            sum.bytes += s->bytes;
        }
    }
    return sum;
}

static struct test_case *current_case(void)
{
    struct test_case *c = interactions_case(false);
    return c == NULL || c->at == 0 ? NULL : c;
}

bool cases_any(void)
{
    return current_case() != NULL;
}

bool cases_is_outermost(uintptr_t sp)
{
    const struct test_case *c = current_case();
    return c != NULL && (c->at == sp || (c->at > sp && frame_is_variant(c->at, sp)));
}

static void end_case(struct test_case *c)
{
    struct {
        uint32_t function, reserved;
        uint64_t objects, bytes;
        uint32_t n;
        uint8_t arguments[CASE_BYTES];
    } record;
    uint64_t since = (arena.header->data & WIRE_DATA_TIME) != 0 ? time_own_begins() : 0;
    struct allocated now = allocated_here();
    c->at = 0;
    record.function = c->function;
    record.reserved = 0;
    record.objects = now.objects - c->objects;
    record.bytes = now.bytes - c->bytes;
    record.n = c->n;
    memcpy(record.arguments, c->arguments, c->n);
    if (control_ask(NULL) || record.objects != 0)
        control_log(WIRE_RECORD_TEST_CASE, &record, (uint32_t)((uint8_t *)record.arguments - (uint8_t *)&record) + c->n, false);
    if (since != 0)
        time_leave_out(since);
}

static bool is_never(void)
{
    return recording_is_over() || !arena_is_ours();
}

void cases_drop(uintptr_t sp)
{
    struct test_case *c = current_case();
    if (c != NULL && c->at <= sp && !is_never())
        end_case(c);
}

void cases_enter(uintptr_t sp, uint32_t function)
{
    int saved_errno = errno;
    struct test_case *c;
    if (!is_never()) {
        cases_drop(sp);
        if ((c = interactions_case(true)) != NULL && (c->begins = c->at == 0)) {
            uint64_t since = (arena.header->data & WIRE_DATA_TIME) != 0 ? time_own_begins() : 0;
            struct allocated now = allocated_here();
            c->at = sp;
            c->function = function;
            c->objects = now.objects;
            c->bytes = now.bytes;
            c->n = 0;
            if (since != 0)
                time_leave_out(since);
        }
    }
    errno = saved_errno;
}

void cases_leave(uintptr_t sp)
{
    int saved_errno = errno;
    if (!is_never()) {
        cases_drop(sp - 1);
        if (cases_is_outermost(sp))
            end_case(current_case());
    }
    errno = saved_errno;
}

/* Bytes of a value of a kind, which is one of ELEMENT_BOOLEAN to ELEMENT_R8. */
static uint32_t size_of(enum element kind)
{
    static const uint8_t sizes[] = {1, 2, 1, 1, 2, 2, 4, 4, 8, 8, 4, 8};
    return sizes[kind - ELEMENT_BOOLEAN];
}

static bool put(struct test_case *c, const void *bytes, uint32_t n)
{
    if (n > CASE_BYTES - c->n)
        return false;
    memcpy(c->arguments + c->n, bytes, n);
    c->n += n;
    return true;
}

/* A string has its length behind the pointer to its class, and its characters follow. */
static bool put_string(struct test_case *c, const uint8_t *string)
{
    uint32_t length = string == NULL ? NO_STRING : *(const uint32_t *)(const void *)(string + 8);
    bool fits = string == NULL || (length < CASE_BYTES && sizeof length + length * sizeof(utf16) <= CASE_BYTES - c->n);
    return fits && put(c, &length, sizeof length) && (string == NULL || put(c, string + 12, length * (uint32_t)sizeof(utf16)));
}

/* One that has no room is left out with all that follow it: the last byte is kept for saying so. */
void cases_argument(const uint8_t *address, uintptr_t kind)
{
    struct test_case *c = current_case();
    if (c == NULL || !c->begins)
        return;
    uint32_t before = c->n;
    uint8_t first = (uint8_t)kind, more = CASE_MORE;
    bool done = put(c, &first, 1);
    if (done && address != NULL && kind == ELEMENT_STRING)
        done = put_string(c, *(const uint8_t *const *)(const void *)address);
    else if (done && address != NULL)
        done = put(c, address, size_of((enum element)kind));
    if (done && c->n < CASE_BYTES)
        return;
    c->n = before;
    put(c, &more, 1);
    c->begins = false;
}
