/* What a thread with times has: its calls that have not ended, and what is known of them. */
#ifndef CLRPROF_TIMER_H
#define CLRPROF_TIMER_H

#include "os/cpu_counters.h"
#include "os/context_switch.h"

struct unwinding { /* a function that an exception unwinds, or a filter or finally block that runs because of one */
    uint32_t depth; /* activations */
    uint32_t kind;
    uintptr_t frame;       /* of a finally block: the stack pointer of its function; 0: it is not reported. Of code that was called: its caller's */
    uintptr_t dispatch_sp; /* of a block: of the search that runs it */
    bool recorded;         /* of code that was called: it is an activation */
    bool uncaught;         /* what the timer says of the exception for which the search goes on */
};
/* The innermost activation is the function's call, or not; the others are blocks. RUNS_CALLED: what the runtime called in the middle of
 * a search. */
enum { UNWINDS_OTHER, UNWINDS_TOP, RUNS_FINALLY, RUNS_FILTER, RUNS_CALLED };
#define MAX_UNWINDING 32u /* exceptions in finally blocks of other exceptions, with these; of the oldest the call ends unseen */
#define MAX_CALLED 16u    /* of these, RUNS_CALLED, which are never forgotten: exceptions in handlers of the first chance of others; more is lost */

struct sums { /* of what the system did in the intervals of a thread */
    uint64_t waited;
    struct wire_waits waits;
};

struct level { /* what is known of an activation beside it: only of some, and calls are compared first */
    uint64_t acted_call; /* of this call: since it began, the system acted */
    struct sums before;  /* when it began */
    uint64_t child_waited, child_off; /* in calls that it made and that ended: intervals in which the system acted; without a processor */
    uint64_t marked_call;    /* this call is noted in the timings of folded calls: see path_folding.c */
    uint32_t edge, function; /* in these */
    uint64_t tail_call;      /* this call has called by tail., and stays: see tail_calls.c */
    uintptr_t tail_at;       /* with this stack pointer; of one that has jumped a return address there */
    uint64_t repeated_call;  /* this call's function and caller are in its chain more than once */
    uint64_t unrecorded_call; /* inside this call one began while nothing was recorded, */
    uintptr_t unrecorded;     /* of which this was the caller's stack pointer; or it has ended, 0 */
    uint64_t unreported_call;     /* while this call was the innermost one others could begin without probes */
    uint64_t counted[WIRE_MAX_COUNTERS]; /* of a folded call, where CPU counters are read: their totals when it began */
};

struct timer { /* of a thread */
    struct wire_activation *top, *limit;
    struct wire_clock *clock;
    volatile uint64_t *word; /* anything but `expect`: the operating system may have acted */
    uint64_t expect, gap;    /* so may it have in an interval that is longer than `gap` */
    uint64_t *table;         /* the thread's timings, by parent, function and return address; see find_timing */
    uint64_t mask;
    struct wire_activation *bottom;
    uint32_t used, capacity, thread, mechanism;
    struct os_usage usage; /* when last looked at */
    uint64_t alarms, false_alarms;
    void *ring; /* of a perf event */
    struct unwinding unwinding[MAX_UNWINDING];
    uint32_t slow; /* events by the slow path */
    uint32_t n_unwinding;
    uint32_t truncated, n_marked; /* see path_folding.c */
    uint64_t unspent; /* ticks of folded calls for which no path was granted yet */
    uint64_t control;   /* it records for this number of changes, and all pauses before are out of the intervals */
    uint64_t off_at;    /* for this one it does not; */
    uintptr_t off_sp;   /* and this is what `unrecorded` says of the innermost call */
    uint64_t paused;    /* ticks in which the process or the level of the thread was off, at the last event */
    struct sums sums;
    struct level *levels;    /* by depth */
    uint64_t cpu_ns, cpu_at; /* the thread's processor time, and when that was read */
    uint64_t delay_ns;       /* how long it had waited for a processor, */
    uint32_t unread, guessed; /* as of so many waits before the last look, and since so many preemptions by the clock alone */
    uintptr_t before_sp;   /* calls that began before the recording have higher stack pointers than this one, also those that are inside of nothing else */
    uintptr_t stack_floor; /* calls stay above it when they call by tail.; 0: not known yet */
    uintptr_t dispatch_sp; /* of the last search for an exception's handler by managed code; 0: there was none */
    bool looked;   /* at the system and the clock, in this event: see call_stack.c, look */
    bool collecting;      /* it waits for a garbage collection: see time_wait_begins */
    uint32_t leaving_out; /* it does what is the agent's own: see time_own_begins */
    bool uncaught; /* an exception was thrown, and nothing was found yet that catches it */
    struct timer *next_free;
    struct timer *next; /* all that were ever made */
    struct wire_trace_chunk *trace; /* with a call trace: where the events go; see call_trace.c */
    uint64_t trace_freed;           /* how often chunks had been given back when there was none */
    uint32_t trace_kept;            /* while events are lost: so many calls are on the stack all the time */
    struct counter_state counters;
    uint64_t measured_calls; /* so many had begun when it measured the probes last */
};

extern __thread struct timer *current_timer AT_FIXED_PLACE;

/* The timing of this thread's innermost activation, 0: it has none. */
static inline uint32_t timer_innermost(void)
{
    const struct timer *t = current_timer;
    return t == NULL ? 0 : t->top->timing;
}

uint32_t timer_of_object(uintptr_t fp); /* that of the call in which an object is allocated; 0: only the stack shows it */

#endif
