/* The world of the scenarios of time, and programs that run in it; it is in time_test.c. */
#ifndef CLRPROF_TIME_WORLD_H
#define CLRPROF_TIME_WORLD_H

#include "scenario.h"
#include "time_model.h"

#include <setjmp.h>

enum { CORE_0, CORE_1, CORE_2, WEB_0, APP_0, APP_1, APP_2, APP_3, INNER_0, TOOL_0, SCRIPT_0, LAMBDA, THROWER, SEARCHER, N_METHODS };
extern struct method methods[N_METHODS];
extern struct fake_module world_core, world_web, world_app, world_tool;

struct program { /* of one thread */
    struct thread_model model;
    uint64_t seed, gap; /* gap 0: nothing waits */
    uint32_t max_depth, calls, max_calls;
    bool throws, vanishes, dispatched;
    bool jumps; /* the clock goes backwards */
    uint32_t pauses; /* and goes on, at this level; 0: not */
    uint32_t blocks; /* filters and finally blocks that run */
    uint64_t n_pauses;
    bool filtering; /* what a filter throws is of another kind than what is tested here */
    uint64_t gone, thrown, all_calls;
    struct call *running;
};

struct call {
    struct program *p;
    const struct method *method;
    struct call *caller;
    struct fake_frame *frame;
    struct live live;
    uint32_t depth, blocks; /* blocks: when it began */
    bool ended; /* reported to the model */
    jmp_buf back;
    bool catches;
};

extern bool compile_late; /* methods are not compiled before they are called */
/* Loads the agent for time alone; with a clock that each reading advances by `step` while the probes are measured. */
const struct wire_header *begin(uint64_t step);
const struct wire_header *header(void);
uint64_t losses(const struct wire_header *h, uint32_t reason);
void check_losses(const struct wire_header *h, uint64_t unmatched, uint64_t backwards); /* and no others */
void compare(const struct thread_model *t); /* the model with the arena */
void run_program(struct program *p, uint32_t roots);
/* One call of a method, which does what the program does; calls at the same depth have the same stack pointer. */
void call(struct program *p, int method, uint32_t place);
uint64_t place_of(uint32_t place); /* the return address of a call from there */

#endif
