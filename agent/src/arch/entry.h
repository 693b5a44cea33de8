/* What compiled code calls, which the files of the machine define, and the functions of C that this calls: they are in parts above
 * this one, and the linker finds them. */
#ifndef CLRPROF_ENTRY_H
#define CLRPROF_ENTRY_H

#include "core/agent.h"

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

/* The code of a process that runs already gets versions with probes, which can run on when their recording has ended. So the
 * arguments of these probes have its number in their upper bits, and they do nothing in any other. 0: no recording. */
#define PROBE_NUMBER_SHIFT 48
extern uint16_t probes_recording; /* the number of the recording in which probes record */
void clrprof_probe_enter(void); /* what compiled code calls; not by C */
void clrprof_probe_leave(void);
void clrprof_probe_tail(void);
void clrprof_traced_probe_enter(void); /* with a call trace */
void clrprof_traced_probe_leave(void);
void clrprof_traced_site_enter(void);
void clrprof_traced_site_leave(void);
void clrprof_marked_enter(void);
void clrprof_marked_leave(void);
void clrprof_marked_tail(void);
void clrprof_numbered_probe_enter(void); /* in versions */
void clrprof_numbered_probe_leave(void);
void clrprof_numbered_probe_tail(void);
void clrprof_numbered_site_enter(void);
void clrprof_numbered_site_leave(void);
void clrprof_numbered_site_jump(void);
void clrprof_site_enter(void);
void clrprof_site_leave(void);
void clrprof_site_jump(void);

#endif
