/* Probes in IL, instead of hooks, and for marks: il_probes.c. */
#ifndef CLRPROF_PROBES_H
#define CLRPROF_PROBES_H

#include "core/agent.h"

struct method;
struct rejit_method;
struct time_options;

const struct method *probes_example(void); /* of function 2, also as an argument of probes */
void probes_choose(const struct time_options *o);
uint32_t probes_choose_marks(void *info, void **callbacks); /* the events that marks need */
bool probes_records(uint32_t function);       /* are its calls recorded by its own probes, where others have hooks? */
bool probes_leave_out(uintptr_t function_id); /* its module is not recorded, or its code is left out: no number is needed for it */
bool probes_is_marked(uintptr_t function_id); /* a function that is about to be compiled, or inlined */
void probes_install(void **callbacks);
bool probes_init(void *info, bool has_rules, bool by_rules); /* by_rules: they say what is included, in any module */
void probes_close(void);
void probes_forget_module(uintptr_t module);
extern void (*const versions_forget_module)(uintptr_t module); /* attach.c, by agent/hooks.c; with the lock held */
uint32_t probes_size(const uint8_t *body, uint32_t size);         /* of the program's own body in the place of this one */
const struct rejit_method *probes_rewritten(const uint8_t *body); /* whose body with probes it is; NULL: it is none whose probes can be taken out */
/* Versions (attach.c). Gives the runtime IL with probes for one of a method: what is to be known when it is compiled. */
uint64_t probes_give(uintptr_t module, uint32_t token, void *control);
#define GIVEN_NOTHING(why) ((uint64_t)(why) << 1 | 1)
void probes_compiled(uintptr_t function_id, uint64_t given);         /* a function is about to be compiled from it */
void probes_missing(uintptr_t function_id, uint32_t why);            /* one that should have probes, and cannot */
void probes_partly_missing(uintptr_t function_id, uint32_t why);     /* not all code of it has probes */
bool probes_see_module(uintptr_t module); /* it is loaded. Are functions of it recorded, or marked? */
bool probes_can_go(void); /* no function controls what is recorded by them */
uint32_t probes_old_offset(uint32_t function, uint32_t il);       /* the same of an offset in the IL of a function's body */

#endif
