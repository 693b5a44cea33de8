/* Recording only inside of some functions, or only outside of some: --record-inside, --record-outside.
 *
 * A thread is off while no call of a function that records inside is on its stack, and while a call of one that records outside is.
 * So is the process, of functions that are there for all its threads, by how many of these are in such calls: recording_state.c has these numbers.
 * For that it need not know these calls, only the outermost of each kind, by its caller's stack pointer: calls inside of it
 * have lower ones. So recursion costs a comparison, no depth is too much, and no table can be full.
 *
 * The outermost call is gone
 *
 *   - when it returns: its probe has this stack pointer, or is in an OSR variant of it;
 *   - when an exception has left it and the first catch, finally or fault block of a function outside of it is about to run. The
 *     runtime reports the stack pointer of the block's function. What runs before, filters and the search for them, counts as inside;
 *   - when a probe of one of these functions has no lower stack pointer: nobody has said what became of it.
 *
 * It never jumps: a call by tail. stays if it is the outermost one, and what it calls is inside (il_probes.c).
 *
 * What changes for this thread alone is not shared, and no lock is taken: what the thread knows of its state is made unknown,
 * and its next event asks. While it is off an event looks at two words of its own. */
#include "arch/arch.h"
#include "core/arena.h"
#include "core/recording.h"
#include "calls/calls.h"
#include "control/recording_state.h"
#include "probes/ado_http_calls.h"
#include "calls/exception_pins.h"
#include "probes/recording_scopes.h"
#include "probes/test_cases.h"
#include "threads/threads.h"

#include <errno.h>

enum kind { INSIDE, OUTSIDE, PROCESS_INSIDE, PROCESS_OUTSIDE, KINDS }; /* of SCOPE_…: 1 << kind */

static bool inside_only; /* nothing is recorded but in functions; no more if one of them cannot have probes */
static struct own *unused; /* with the arena's lock */
struct own {
    uintptr_t at[KINDS];    /* caller's stack pointer of the outermost call, 0: there is none */
    struct wire_scope *row; /* NULL: there is none yet */
    struct own *next;
};
static __thread struct own *own AT_FIXED_PLACE; /* NULL: the thread was in no such call; there is no room for more beside what all threads have */

static uintptr_t at(enum kind k)
{
    return own == NULL ? 0 : own->at[k];
}

bool scopes_off(void)
{
    return at(OUTSIDE) != 0 || (at(INSIDE) == 0 && __atomic_load_n(&inside_only, __ATOMIC_RELAXED));
}

/* False: there is no memory. */
static bool take_own(void)
{
    if (own != NULL)
        return true;
    arena_lock();
    own = unused;
    if (own != NULL)
        unused = own->next;
    else
        own = private_alloc(sizeof *own);
    if (own != NULL)
        *own = (struct own){.row = NULL};
    arena_unlock();
    return own != NULL;
}

/* This thread's row, for the collector. NULL: no room. */
static struct wire_scope *find_row(void)
{
    uint32_t thread = own->row != NULL ? 0 : thread_number();
    if (thread == 0)
        return own->row;
    arena_lock();
    uint64_t rows = arena.header->regions[WIRE_REGION_SCOPES].used / sizeof(struct wire_scope), wanted = thread > rows ? thread - rows : 0;
    if (wanted == 0 || arena_reserve(WIRE_REGION_SCOPES, wanted * sizeof(struct wire_scope)) != NULL) {
        own->row = &arena.scopes[thread - 1];
        arena_publish(WIRE_REGION_SCOPES, wanted * sizeof(struct wire_scope));
    }
    arena_unlock();
    if (own->row == NULL)
        loss(WIRE_LOSS_ARENA_FULL, 0, 0); /* what is recorded is right, but nobody knows how often and how long */
    return own->row;
}

static void note_begin(struct wire_spells *s)
{
    __atomic_store_n(&s->since_ns, monotonic_ns(), __ATOMIC_RELAXED);
    __atomic_store_n(&s->times, s->times + 1, __ATOMIC_RELEASE);
}

static void note_end(struct wire_spells *s)
{
    uint64_t now = monotonic_ns();
    if (s->since_ns == 0)
        return; /* there was no room for the row when it began */
    __atomic_store_n(&s->ns, s->ns + (now - s->since_ns), __ATOMIC_RELAXED);
    __atomic_store_n(&s->since_ns, 0, __ATOMIC_RELEASE);
}

/* Is this thread in a call of a function that records inside, or outside, for itself or for all? */
static bool is_in(bool outside)
{
    return (outside ? at(OUTSIDE) | at(PROCESS_OUTSIDE) : at(INSIDE) | at(PROCESS_INSIDE)) != 0;
}

/* The outermost call of a kind begins, or is gone: sp 0. */
static void change(enum kind k, uintptr_t sp)
{
    if (!take_own()) {
        scopes_missing();
        return;
    }
    struct wire_scope *row = find_row();
    bool outside = k == OUTSIDE || k == PROCESS_OUTSIDE, was_in = is_in(outside);
    if (k == INSIDE || k == OUTSIDE) {
        time_settle(); /* up to here the thread is what it was */
        own->at[k] = sp;
        time_look_again();
        if (current_thread != NULL)
            current_thread->control = CONTROL_UNKNOWN;
    } else {
        uint64_t since = control_changes_begin();
        own->at[k] = sp;
        control_in_functions(outside, sp != 0 ? 1u : UINT32_MAX);
        control_changes_end(since);
    }
    if (row == NULL)
        return;
    struct wire_spells *s = outside ? &row->outside : &row->inside;
    if (!was_in)
        note_begin(s);
    else if (!is_in(outside))
        note_end(s);
    __atomic_store_n(&row->off, scopes_off(), __ATOMIC_RELEASE);
}

/* Nobody reads any more, or this is a forked child: its state stays as it is. */
static bool is_never(void)
{
    return recording_is_over() || !arena_is_ours();
}

/* Forgets what is gone if a frame with this stack pointer runs: calls that it made had the same, or lower ones. */
static void drop(uintptr_t sp)
{
    for (enum kind k = INSIDE; k < KINDS; k++)
        if (at(k) != 0 && at(k) <= sp)
            change(k, 0);
}

void scopes_enter(uint32_t scopes, uintptr_t sp)
{
    int saved_errno = errno;
    if (is_never())
        return;
    drop(sp);
    for (enum kind k = INSIDE; k < KINDS; k++)
        if ((scopes & 1u << k) != 0 && at(k) == 0)
            change(k, sp);
    errno = saved_errno;
}

/* Is this the outermost call? */
static bool is_outermost(uintptr_t at, uintptr_t sp)
{
    return at == sp || (at > sp && frame_is_variant(at, sp));
}

bool scopes_is_outermost(uint32_t scopes, uintptr_t sp)
{
    for (enum kind k = INSIDE; k < KINDS; k++)
        if ((scopes & 1u << k) != 0 && at(k) != 0 && is_outermost(at(k), sp))
            return true;
    return false;
}

void scopes_leave(uint32_t scopes, uintptr_t sp)
{
    int saved_errno = errno;
    if (is_never())
        return;
    drop(sp - 1);
    for (enum kind k = INSIDE; k < KINDS; k++)
        if ((scopes & 1u << k) != 0 && at(k) != 0 && is_outermost(at(k), sp))
            change(k, 0);
    errno = saved_errno;
}

void scopes_unwound(void)
{
    struct clr_clause c = {.frame_pointer = 0};
    if ((!is_in(false) && !is_in(true) && !interactions_any() && !cases_any()) || is_never())
        return;
    if (SLOT(agent_info, INFO_GET_NOTIFIED_CLAUSE, struct clr_clause *)(agent_info, &c) != HR_OK)
        return;
    c.frame_pointer = frame_of_clause(c.frame_pointer);
    drop(c.frame_pointer);
    interactions_drop(c.frame_pointer);
    cases_drop(c.frame_pointer);
}

void scopes_missing(void)
{
    loss(WIRE_LOSS_NOT_LIMITED, 0, 0);
    control_only_inside(false);
    if (!__atomic_exchange_n(&inside_only, false, __ATOMIC_RELAXED))
        return;
    control_look_again();
}

void scopes_thread_ended(void)
{
    if (is_never())
        return;
    for (enum kind k = PROCESS_INSIDE; k < KINDS; k++)
        if (at(k) != 0)
            change(k, 0);
    if (own == NULL)
        return;
    if (own->row != NULL) { /* it may be that of another thread next */
        note_end(&own->row->inside);
        note_end(&own->row->outside);
    }
    arena_lock();
    own->next = unused;
    unused = own;
    arena_unlock();
    own = NULL;
}

/* ── exceptions, where nobody else asks for them ────────────────────────────────────────────────────────────────── */

static hresult exception_thrown(void *self, uintptr_t object)
{
    (void)self;
    int saved_errno = errno;
    pins_thrown(object);
    errno = saved_errno;
    return HR_OK;
}

static hresult finally_enter(void *self, uintptr_t function_id)
{
    (void)self;
    (void)function_id;
    int saved_errno = errno;
    scopes_unwound();
    errno = saved_errno;
    return HR_OK;
}

static hresult catcher_enter(void *self, uintptr_t function_id, uintptr_t object)
{
    (void)self;
    (void)function_id;
    (void)object;
    int saved_errno = errno;
    pins_catch();
    scopes_unwound();
    errno = saved_errno;
    return HR_OK;
}

uint32_t scopes_begin(uint32_t scopes, void **callbacks)
{
    control_was_off = true;
    inside_only = (scopes & SCOPE_INSIDE) != 0;
    control_only_inside((scopes & SCOPE_INSIDE << SCOPE_PROCESS) != 0);
    return scopes_watch_exceptions(callbacks);
}

uint32_t scopes_watch_exceptions(void **callbacks)
{
    if ((arena.header->data & WIRE_DATA_TIME) != 0)
        return 0; /* call_stack.c asks for exceptions, and says so */
    pins_init(agent_info);
    callbacks[CALLBACK_EXCEPTION_THROWN] = (void *)exception_thrown;
    callbacks[CALLBACK_FINALLY_ENTER] = (void *)finally_enter;
    callbacks[CALLBACK_CATCHER_ENTER] = (void *)catcher_enter;
    callbacks[CALLBACK_CATCHER_LEAVE] = (void *)pins_catcher_leave;
    return MONITOR_EXCEPTIONS;
}
