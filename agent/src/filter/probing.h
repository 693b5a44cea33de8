/* How calls are recorded: by the runtime's hooks or by probes in IL, and which functions have probes of their own. Whoever decides what
 * is recorded asks this, and not the parts that stand above and do it. */
#ifndef CLRPROF_PROBING_H
#define CLRPROF_PROBING_H

#include "core/agent.h"

extern bool trace_on;     /* each event of a call is written down: call_trace.c */
extern bool probes_on;    /* calls are recorded by them */
extern bool probes_sites; /* and those of what is outside, as code names it */
extern bool probes_marks; /* some functions have probes of their own: FUNCTION_IS_MARKED */
extern bool probes_were_out; /* probes were off during a pause, so calls that began then are unknown */
extern uint16_t probes_number; /* of the recording that is made, or begins; 0: probes have none */

extern bool interactions_on; /* they are recorded */
extern bool requests_on;     /* requests that come are marked */
extern bool cases_on;        /* calls of tests with arguments are counted one by one: test_cases.c */
extern bool startup_on;      /* code of ours is called before the program: meters.c */
#define operations_on() (interactions_on || requests_on || cases_on || startup_on)

/* What these parts know: agent/hooks.c has the functions. */
struct probing_hooks {
    bool (*init)(void *info, bool has_rules, bool by_rules);  /* probes_init */
    void (*close)(void);
    void (*forget_module)(uintptr_t module);
    bool (*records)(uint32_t function);                       /* probes_records */
    bool (*is_marked)(uintptr_t function_id);                 /* probes_is_marked */
    bool (*leave_out)(uintptr_t function_id);                 /* probes_leave_out */
    uint32_t (*size)(const uint8_t *body, uint32_t size);     /* probes_size */
    bool (*operation)(const utf16 *method, uint32_t length);  /* operations_may_be */
    bool (*test_case)(uintptr_t module, uint32_t token);      /* operations_is_case */
    void (*scope_missing)(void);                              /* scopes_missing */
};
extern const struct probing_hooks probing_hooks;

#endif
