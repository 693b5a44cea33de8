/* The naive model of what the agent must have counted, and what it did count, read back from its arena.
 *
 * Both are lists of (thread, stack, type) with counters. Stacks and types are compared by what they are (addresses
 * and full names), never by the agent's ids. */
#ifndef CLRPROF_MODEL_H
#define CLRPROF_MODEL_H

#include "../src/core/wire_gen.h"
#include "fake_runtime.h"

struct entry {
    uint64_t thread, stack, type; /* os id, hash of frames, hash of name */
    uint32_t depth, frozen;
    bool folded; /* of the stack there is only what (truncated) at the root leaves of it */
    uint64_t objects, bytes;
};

struct entries {
    struct entry *list;
    size_t n, capacity;
};

extern uint32_t model_max_depth; /* CLRPROF_STACK_DEPTH */
extern bool model_has_bodies;    /* every instruction must have its body: no call of the agent failed */

/* Adds objects allocated with this stack, in the handler if the last body faulted. s NULL: no managed frame. */
void model_add(struct entries *m, const struct fake_stack *s, bool in_handler, const struct fake_class *c, bool frozen,
               uint64_t objects, uint64_t bytes);
void model_add_deep(struct entries *m, const struct fake_stack *s, const struct fake_class *c, uint64_t objects, uint64_t bytes);
void model_join(struct entries *m, const struct entries *more);

struct arena_facts {
    const struct wire_header *header;
    uint64_t objects, bytes, lost_objects, lost_bytes;
    uint32_t n_set_threads, n_sets; /* threads that share an id, and such ids */
    uint32_t n_threads, n_ips, n_nodes, n_sites, records[WIRE_RECORD_FREED + 1];
    uint32_t n_thread_names, n_thread_ends;
    uint32_t duplicates; /* nodes and sites that are there twice */
    char *type_names[1 << 17]; /* by id, as last described */
};

/* Maps the only arena of the directory and checks that everything in it refers to what is there. */
struct arena_facts *arena_read(const char *directory, struct entries *out);

/* Of the arena read last: a function's name and flags (WIRE_FUNCTION_…), the body that an address is in as its function
 * (0: none), the system's id of a thread. And a method's name as the arena would say it. */
const char *model_function(uint32_t id, uint32_t *flags);
#define MODEL_SETS 0u /* stands for all threads that share ids */
uint32_t model_function_at(uint64_t address);
uint32_t model_thread(uint32_t id);
char *model_method_name(const struct fake_method *m);

/* Number of differences; prints the first. Threads of the model that have no id of their own count as MODEL_SETS. Without
 * `exact` the arena may hold less, and stacks may be folded. */
int model_compare(struct entries *model, struct entries *arena, bool exact);
/* The same without regard to stacks: how many objects of each type each thread allocated. Not to be called before. */
int model_compare_types(struct entries *model, struct entries *arena, bool exact);

#endif
