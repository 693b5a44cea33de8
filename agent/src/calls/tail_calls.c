/* Calls with the prefix tail., in functions with probes in their IL.
 *
 * Such a call need not be a jump. A probe before it decides (il.h): if the caller stays on the stack, everything is as with other calls.
 * Programs rely on jumps for recursion of any depth, so the caller does not stay
 *
 *   - if it was itself called by such a call, or by another jump from there: it is in a *chain*, at the beginning of which
 *     is a call that has stayed. That one has nothing left to do but to return. So whatever the thread does until it
 *     returns is done by the last call that jumped, or by what was entered in its place, at the same stack pointer;
 *   - if too much of the thread's stack is used. If it is in no chain then nothing shows when what it jumped to ends: the
 *     call ends with the jump, and is counted (Clock.jumps).
 *
 * A call of a chain that jumps keeps its activation: it has jumped (WIRE_ACTIVATION_JUMPED), and ends when the beginning of the chain
 * returns, or an exception leaves that. What enters in its place is a call by it, with an activation of the same stack
 * pointer on top. So that a chain is bounded, calls that repeat what is there are ended by others that do the same: see tails_repeated.
 *
 * The call of a function without probes around which there are some (SITE_MARK) begins a chain, too: it may jump to a function that
 * has its own, and the probe behind it shows when that ends. */
#include "threads/threads.h"
#include "calls/call_tree.h"
#include "arch/entry.h"

#include <errno.h>

#define MAX_STACK_PART 4u            /* calls stay as long as no more than one in so many bytes of the stack is used */
#define MAX_STACK (16u * 1024u * 1024u)
#define UNKNOWN_STACK (32u * 1024u)  /* or so many, if it is not known where it ends */

static bool is_same_place(uintptr_t sp, uintptr_t other)
{
    return ((sp ^ other) & ~(uintptr_t)SITE_MARK) == 0;
}

static struct level *level_of(const struct timer *t, const struct wire_activation *a)
{
    return &t->levels[a - t->bottom];
}

/* Was it called by a call of tail., directly, or is it in the place of one that jumped? */
static bool is_in_chain(const struct timer *t, const struct wire_activation *a)
{
    if (a == t->bottom)
        return false;
    const struct wire_activation *caller = a - 1;
    const struct level *l = level_of(t, caller);
    if ((caller->flags & WIRE_ACTIVATION_JUMPED) != 0 || (caller->caller_sp & SITE_MARK) != 0)
        return is_same_place(a->caller_sp, caller->caller_sp);
    return l->tail_call == caller->calls && is_same_place(a->caller_sp, l->tail_at);
}

/* The least stack pointer with which a call stays. */
static COLD uintptr_t find_floor(uintptr_t sp)
{
    uintptr_t low, high;
    int saved_errno = errno;
    thread_find_stack(&low, &high);
    errno = saved_errno;
    if (low == 0 || sp < low || sp >= high)
        return sp - UNKNOWN_STACK;
    uintptr_t part = (high - low) / MAX_STACK_PART;
    return high - (part < MAX_STACK ? part : MAX_STACK);
}

enum tail tails_decide(struct timer *t, uintptr_t sp, uintptr_t place, uintptr_t own_sp)
{
    struct wire_activation *a = t->top;
    if (a->caller_sp == sp && (a->flags & WIRE_ACTIVATION_JUMPED) != 0)
        return TAIL_JUMPS; /* the call began in its place, and is not recorded */
    if (!KNOWN_BY_CALLER || a->caller_sp != sp || a->timing == 0 || t->levels == NULL)
        return TAIL_ENDS;
    struct level *l = level_of(t, a);
    if (is_in_chain(t, a)) {
        l->tail_at = place;
        a->flags |= WIRE_ACTIVATION_JUMPED;
        return TAIL_JUMPS;
    }
    if (t->stack_floor == 0)
        t->stack_floor = find_floor(own_sp);
    if (own_sp < t->stack_floor)
        return TAIL_ENDS;
    l->tail_call = a->calls;
    l->tail_at = own_sp;
    return TAIL_STAYS;
}

bool tails_enters(const struct timer *t, uintptr_t sp)
{
    return (t->top->flags & WIRE_ACTIVATION_JUMPED) != 0 && is_same_place(t->top->caller_sp, sp);
}

uintptr_t tails_place(const struct timer *t)
{
    return (t->top->flags & WIRE_ACTIVATION_BOUNDARY) != 0 ? 0 : level_of(t, t->top)->tail_at;
}

static uint32_t caller_of(uint32_t timing)
{
    uint32_t parent = timing_at(timing)->parent;
    return parent == 0 ? 0 : timing_at(parent)->function;
}

/* A call of the function enters in the place of the innermost activation, which has jumped. Of each pair of caller and function
 * the first call of a chain stays there until its end, so all times are right. What comes after the last of these has its pair
 * there already. As soon as it has the same one twice, the first call of these ends, with what is above, and the new one is in its
 * place: NULL, or the first that ends. */
struct wire_activation *tails_repeated(const struct timer *t, uint32_t function, bool *repeated)
{
    uint32_t caller = timing_at(t->top->timing)->function;
    bool all_repeated = true; /* down to here */
    *repeated = false;
    for (struct wire_activation *a = t->top; is_in_chain(t, a); a--) {
        const struct level *l = level_of(t, a);
        all_repeated = all_repeated && l->repeated_call == a->calls;
        if (timing_at(a->timing)->function == function && caller_of(a->timing) == caller) {
            *repeated = true;
            return all_repeated ? a : NULL;
        }
    }
    return NULL;
}

void tails_began(const struct timer *t, bool repeated)
{
    if (repeated)
        level_of(t, t->top)->repeated_call = t->top->calls;
}
