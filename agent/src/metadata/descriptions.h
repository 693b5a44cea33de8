/* Who modules, types, functions and bodies are: descriptions.c. */
#ifndef CLRPROF_NAMES_H
#define CLRPROF_NAMES_H

#include "core/agent.h"

/* What parts that stand above this one know of what is described: agent/hooks.c has the functions. */
struct description_hooks {
    uint32_t (*origin)(uintptr_t module); /* WIRE_ORIGIN_… */
    /* FUNCTION_IS_… of a method: see instrument_class */
    uint64_t (*classify)(uintptr_t module, uint32_t token, uint64_t own, const uint8_t *names, const uint8_t *end);
    uint32_t (*old_offset)(uint32_t function, uint32_t il); /* of the program's own IL, for one in the IL with probes */
    void (*forget_module)(uintptr_t module);
    void (*many_types)(void); /* there are MANY_TYPES, or more */
};
extern const struct description_hooks description_hooks;
#define MANY_TYPES 256u /* with more types the runtime's walk takes longer for each object */

bool names_init(void *info);
void names_close(void);
void names_let_go(void); /* of what the runtime keeps for the agent; the names themselves are of no use after that */
void names_find_signal_return(void); /* once the runtime has installed its signal handlers */
uint32_t type_of_class(uintptr_t class_id);                            /* id, 0: no room */
/* id, 0: no room. Of a function that allocates itself more is described with little room: see ROOM_FUNCTIONS. */
uint32_t ip_of_address(uintptr_t address, bool allocates);
uint32_t function_of_id(uintptr_t function_id);                        /* id, 0: no room */
uint64_t function_value(uintptr_t function_id);                        /* the same with FUNCTION_IS_…, */
void *names_metadata(uintptr_t module);                                /* IMetaDataImport of it, which stays the agent's; NULL: there is none */
uint32_t names_module(uintptr_t module);                               /* id, 0: no room */
bool bodies_of_id(uintptr_t function_id, uintptr_t rejit);             /* of a version, 0: the first; describes those that are new; false: no room */
#define FUNCTION_IS_COLLECTIBLE (UINT64_C(1) << 32)  /* it can be unloaded */
#define FUNCTION_IS_INSTRUMENTED (UINT64_C(1) << 34) /* with time: see instrumentation.c */
#define FUNCTION_IS_BOUNDARY (UINT64_C(1) << 35)
#define FUNCTION_IS_DISPATCHER (UINT64_C(1) << 36)
#define FUNCTION_IS_HELPER (UINT64_C(1) << 37)       /* see jit_helpers.c */
#define FUNCTION_IS_CORE (UINT64_C(1) << 38)         /* of the core library */
#define FUNCTION_IS_ASYNC (UINT64_C(1) << 40)        /* the runtime suspends it: MethodImplOptions.Async of .NET 10 */
#define FUNCTION_IS_UNPROBED (UINT64_C(1) << 45)     /* its calls would be recorded if it could have probes */
#define FUNCTION_IS_EXTERN (UINT64_C(1) << 42)      /* while it is described: see method_is_extern */
#define FUNCTION_IS_INTERACTION (UINT64_C(1) << 41) /* it may leave the program, by its name: see call_sites.c */
#define FUNCTION_CONTROLS (UINT64_C(1) << 44) /* what is recorded depends on its calls: see recording_scopes.c and function_actions.c */
/* What is done at its calls, as instrument_actions knows it. */
#define FUNCTION_ACTIONS_SHIFT 46
#define FUNCTION_IS_MARKED (UINT64_C(0xFF) << FUNCTION_ACTIONS_SHIFT)
#define FUNCTION_HAS_PROBES (FUNCTION_IS_MARKED | FUNCTION_IS_INTERACTION) /* of its own, whatever records its calls */
#define FUNCTION_IS_OUTSIDE (UINT64_C(1) << 43)       /* as a boundary, but calls of it are seen where they are made; with memory */
#define FUNCTION_IS_SLOW_WAY (UINT64_C(1) << 39)     /* one that runs only after a fast way had no memory: see box_reporting.c */
void names_forget_module(uintptr_t module);                            /* a module is being unloaded */
void names_forget_function(uintptr_t function_id);                     /* a dynamic method was freed */
void names_each_class(void (*found)(uintptr_t class_id));              /* whose type is known; while all threads are stopped */
void names_retry_types(void);                                          /* those the runtime could not name yet */

#endif
