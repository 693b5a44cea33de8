/* Calls that leave the program, to databases and over HTTP: ado_http_calls.c, and call_sites.c for which methods make them. */
#ifndef CLRPROF_INTERACTIONS_H
#define CLRPROF_INTERACTIONS_H

#include "core/agent.h"

#define INTERACTION_COMPLETION 3u /* besides WIRE_INTERACTION_…: the function in which a task completes */
#define INTERACTION_REQUEST 4u    /* and that which learns the endpoint of a request that has come */
#define INTERACTION_STARTUP 5u    /* the function that the runtime calls before the program */
#define INTERACTION_CASE 6u       /* a test with arguments: test_cases.c */
#define OPERATION_CODE 256u

struct operation { /* what is put into the IL of a method */
    uint32_t kind; /* WIRE_INTERACTION_… or INTERACTION_… */
    uint32_t begin_bytes, end_bytes, caught; /* caught: a class, as in struct il_probes */
    uint8_t begin[OPERATION_CODE], end[OPERATION_CODE]; /* behind its begin, and before each return, the result being on the stack */
};

/* call_sites.c. By the method's name alone: may it be one? */
bool operations_may_be(const utf16 *method, uint32_t length);
bool operations_may_be_in(void *info, uintptr_t module); /* may the module have some? */
bool operations_is_case(uintptr_t module, uint32_t token); /* is it a test with parameters? */
/* What a method gets that may be one. False: it is none. */
bool operations_find(void *info, uintptr_t function_id, uintptr_t module, uint32_t token, struct operation *o);

bool interactions_choose(void);          /* are they asked for, or requests? */
struct test_case *interactions_case(bool make); /* of this thread; NULL: there is none, or no room */
bool interactions_init(void *info);      /* false: no memory */
void interactions_end(void);             /* nothing of what began stays without its caller */
/* A call of an operation begins or ends; sp: its caller's stack pointer, or that of an OSR variant. */
void interactions_enter(uint32_t kind, uintptr_t sp);
void interactions_leave(uint32_t kind, uintptr_t sp);
bool interactions_is_outermost(uintptr_t sp); /* the call that is counted */
bool interactions_any(void);             /* of this thread */
void interactions_drop(uintptr_t sp);    /* a frame with this stack pointer runs: what it called is gone */
void interactions_thread_ended(void);
void interactions_completed(uint64_t task, uint64_t state, uintptr_t unused); /* compiled code calls it, and what follows */
void clrprof_interaction_text(void);
void clrprof_interaction_waits(void);
void clrprof_interaction_done(void);

#endif
