/* Pauses for garbage collections, and the threads that wait for their end.
 *
 * A thread that is in managed code, or returns to it, waits while another one collects. The runtime reports that on the
 * thread itself, right before the wait and after it (RuntimeThreadSuspended and RuntimeThreadResumed, from
 * Thread::RareDisablePreemptiveGC). So the wait is an interval of its own, and no time of the call in which it came. A thread
 * that sleeps or waits for a lock meanwhile is not reported: it does not wait for the collection.
 *
 * Not reported is a thread that waits within the allocator, because another one has begun a collection or, with server GC, because
 * the collector's own threads do what it wants. So pauses are remembered, and a wait that lies in them is one for collections,
 * too: see take_out_collections. */
#include "calls/gc_waits.h"
#include "core/arena.h"
#include "core/recording.h"
#include "calls/calls.h"
#include "control/recording_state.h"
#include "os/context_switch.h"

#include <errno.h>

#define REASON_COLLECTION 1u /* COR_PRF_SUSPEND_FOR_GC */
#define REASON_PREPARATION 7u /* COR_PRF_SUSPEND_FOR_GC_PREP: in the middle of a collection in the background */

#define RECENT_PAUSES 64u /* that are remembered: of a thread that did not look for longer it is not known what it waited for */

static struct {
    uint64_t from, to; /* of the clock of times */
} recent[RECENT_PAUSES];
static uint64_t n_recent; /* all that there ever were */
static uint64_t began;
static uint32_t reason; /* of the pause that is, or was last */
static uint64_t began_ns;
static hresult (*next_suspend_started)(void *self, uint32_t why);

static bool is_for_collection(void)
{
    uint32_t why = __atomic_load_n(&reason, __ATOMIC_RELAXED);
    return why == REASON_COLLECTION || why == REASON_PREPARATION;
}

static hresult suspend_started(void *self, uint32_t why)
{
    __atomic_store_n(&reason, why, __ATOMIC_RELAXED);
    began_ns = monotonic_ns();
    began = os_clock();
    return next_suspend_started(self, why);
}

/* No other pause begins before. */
static hresult resume_started(void *self)
{
    (void)self;
    uint64_t number, took = monotonic_ns() - began_ns;
    struct wire_header *h = arena.header;
    if (!is_for_collection() || began_ns == 0 || recording_is_over() || control_is_off(&number))
        return HR_OK;
    recent[n_recent % RECENT_PAUSES].from = began;
    recent[n_recent % RECENT_PAUSES].to = os_clock();
    __atomic_store_n(&n_recent, n_recent + 1, __ATOMIC_RELEASE);
    h->gc_pauses++;
    h->gc_paused_ns += took;
    if (took > h->gc_longest_ns)
        h->gc_longest_ns = took;
    return HR_OK;
}

uint64_t pauses_within(uint64_t from, uint64_t to)
{
    uint64_t sum = 0, n = __atomic_load_n(&n_recent, __ATOMIC_ACQUIRE), oldest = n < RECENT_PAUSES ? 0 : n - RECENT_PAUSES + 1;
    for (uint64_t i = n; i > oldest && recent[(i - 1) % RECENT_PAUSES].to > from; i--) {
        uint64_t begins = recent[(i - 1) % RECENT_PAUSES].from, ends = recent[(i - 1) % RECENT_PAUSES].to;
        begins = begins < from ? from : begins;
        ends = ends > to ? to : ends;
        sum += ends > begins ? ends - begins : 0;
    }
    return __atomic_load_n(&n_recent, __ATOMIC_ACQUIRE) - n < 2 ? sum : 0; /* else one of these was overwritten */
}

static hresult thread_suspended(void *self, uintptr_t thread)
{
    (void)self, (void)thread; /* this one */
    int saved_errno = errno;
    if (is_for_collection())
        time_wait_begins();
    errno = saved_errno;
    return HR_OK;
}

static hresult thread_resumed(void *self, uintptr_t thread)
{
    (void)self, (void)thread;
    int saved_errno = errno;
    time_wait_ends();
    errno = saved_errno;
    return HR_OK;
}

void pauses_install(void **callbacks)
{
    began_ns = 0;
    next_suspend_started = (hresult(*)(void *, uint32_t))callbacks[CALLBACK_RUNTIME_SUSPEND_STARTED];
    callbacks[CALLBACK_RUNTIME_SUSPEND_STARTED] = (void *)suspend_started;
    callbacks[CALLBACK_RUNTIME_RESUME_STARTED] = (void *)resume_started;
    callbacks[CALLBACK_RUNTIME_THREAD_SUSPENDED] = (void *)thread_suspended;
    callbacks[CALLBACK_RUNTIME_THREAD_RESUMED] = (void *)thread_resumed;
}
