/* Calls of managed methods in the made-up runtime, with the hooks of Enter, Leave and Tailcall, and a clock.
 *
 * A method with a PROBED body is called by fake_call: through the body of the method that runs, so the return address is
 * in its code. What it does is a C function. Before its first call it is compiled, as far as the agent can notice. All
 * registers hold known values at each hook, and those that must be kept are compared after it, with errno. */
#ifndef CLRPROF_FAKE_CALLS_H
#define CLRPROF_FAKE_CALLS_H

#include "fake_runtime.h"

typedef void (*fake_code)(void *data);

/* Calls a method from one of the two places of the method that runs; from native code if none does. */
void fake_call(struct fake_method *m, uint32_t place, fake_code code, void *data);
/* The same as the last thing that the running method does, with its frame gone. */
void fake_tail_call(struct fake_method *m, fake_code code, void *data);
/* What the runtime asks the agent when it compiles a method. */
void fake_compile(struct fake_method *m);
bool fake_may_inline(struct fake_method *caller, struct fake_method *callee);

/* Where the running method's frame is, and going back to it with those above it gone: a longjmp does the rest. */
struct fake_frame {
    struct fake_method *method;
    uintptr_t caller_sp, return_address;
    bool tail_called;
    struct fake_frame *caller;
};
struct fake_frame *fake_running(void);
void fake_run_on(struct fake_frame *frame);

/* The callbacks of exceptions, in which the runtime reports a method, or 0. */
enum fake_exception {
    EXCEPTION_THROWN = 54,
    EXCEPTION_SEARCH_ENTER,
    EXCEPTION_SEARCH_LEAVE,
    EXCEPTION_FILTER_ENTER,
    EXCEPTION_FILTER_LEAVE,
    EXCEPTION_CATCHER_FOUND,
    EXCEPTION_UNWIND_ENTER = 62,
    EXCEPTION_UNWIND_LEAVE,
    EXCEPTION_FINALLY_ENTER,
    EXCEPTION_FINALLY_LEAVE,
    EXCEPTION_CATCHER_ENTER,
    EXCEPTION_CATCHER_LEAVE
};
void fake_report(enum fake_exception what, struct fake_method *m);

void fake_entered(fake_code code, void *data, uintptr_t caller_sp, struct fake_body *b); /* called by emitted code */

/* The clock that the agent reads, both of its kinds, and what the system says it did. With `on` each thread has its own,
 * which stands still but for fake_pass and, while `step` is not 0, for each reading. */
extern struct fake_clock {
    bool on;
    uint64_t base, step;
} fake_clock;
void fake_clock_start(uint64_t step);
void fake_pass(int64_t ns);
void fake_steal(int64_t ns); /* the host of a virtual machine takes the processor, which the kernel counts nowhere */
void fake_queue(int64_t ns); /* the thread waits for a processor */
void fake_wait(int64_t ns, uint32_t voluntary, uint32_t preempted, uint32_t faults, uint32_t reads);
void fake_count(uint32_t minor_faults, uint32_t writes);
/* The kernel's own perf events, of system calls and migrations, each with a ring that is made up where `on`: the agent's own
 * system calls, of those that are replaced, come into it, too. */
extern struct fake_events {
    bool on, refused, nameless; /* nameless: records that have the number are refused */
    uint32_t opened;
} fake_events;
#define FAKE_CALL 9999u /* the number of those that have none of their own */
void fake_called(uint32_t n); /* by this thread */
void fake_called_as(uint32_t n, uint32_t number);
void fake_moved(uint32_t n);
void fake_preempt(uint32_t reading, int64_t ns); /* just before this thread reads for so many times what the system did */
uint64_t fake_now(void);

#endif
