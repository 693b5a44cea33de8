/* What compiled code calls at the beginning and the end of a function, and what that costs: stubs of the machine, call_stack.c, probe_overhead.c. */
#ifndef CLRPROF_HOOKS_H
#define CLRPROF_HOOKS_H

#include "core/agent.h"

struct timer;

/* In the stack pointer of a call that probes around it begin: stack pointers are multiples of 8. */
#define SITE_MARK 1

struct method { /* what the hooks get of a function; never freed */
    uint32_t function; /* 0: the runtime's own code that looks for the handler of an exception */
    uint32_t first;    /* the number that stands for it where it has several: declared_callees.c */
    bool boundary;     /* framework code: recorded only when instrumented code calls it */
    bool core;         /* of the core library, as what looks for handlers of exceptions is, and what that calls */
};

void time_enter_hook(const struct method *m, uintptr_t sp);
void time_leave_hook(const struct method *m, uintptr_t sp);
void time_jump_hook(const struct method *m, uintptr_t sp); /* it ends by a jump to another function: the prefix tail. */
void time_enter_traced(const struct method *m, uintptr_t sp); /* the same with a call trace */
void time_leave_traced(const struct method *m, uintptr_t sp);
void time_jump_traced(const struct method *m, uintptr_t sp);
bool time_stays(const struct method *m, uintptr_t sp, uintptr_t place, uintptr_t own_sp); /* with tail.; false: it has jumped */
void time_site_jump(const struct method *m, uintptr_t sp); /* what was jumped to is outside of what is recorded */
void time_enter_slow(const struct method *m, uintptr_t sp); /* stubs of … */
void time_leave_slow(const struct method *m, uintptr_t sp);
void time_enter_cold(const struct method *m, uintptr_t sp); /* … these */
void time_leave_cold(const struct method *m, uintptr_t sp);
void clrprof_enter(void); /* what compiled code calls; not by C */
void clrprof_leave(void);
void clrprof_tailcall(void);
void clrprof_traced_enter(void); /* with a call trace */
void clrprof_traced_leave(void);
void clrprof_traced_tailcall(void);
void hooks_measure(struct timer *t, struct wire_timing *timings, struct wire_overhead *out);
/* While the program runs: */
void hooks_prepare(void); /* before the first timing is made; else nothing is measured again */
void hooks_measure_again(struct timer *own); /* by this thread, at the end of an event, unless it was done a moment ago */
bool hooks_measure_themselves(const struct timer *t); /* is this the timer of those calls? What the hooks cannot do at once is left out there */

#endif
