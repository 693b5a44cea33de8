/* The naive model of calls and their times: what the hooks were called with, call by call, and what the arena says of it.
 *
 * It gets each call when it begins and ends, and asks the made-up clock. It keeps a tree of places for each thread
 * as the arena does, and nothing else that the agent does: no stack pointers, no mechanisms, no tables. */
#ifndef CLRPROF_TIME_MODEL_H
#define CLRPROF_TIME_MODEL_H

#include "fake_calls.h"
#include "model.h"

enum recorded_class { NOT_HOOKED, BOUNDARY, MINE };

struct method { /* with what is expected of it */
    struct fake_method method;
    struct fake_body body;
    enum recorded_class class;
    char *name;
};

struct amount { /* of intervals: their time, the part in which the system acted, and what it did */
    uint64_t elapsed, waited;
    struct wire_waits waits;
};

struct seen { /* calls of a method from one place */
    struct seen *parent, *child, *sibling;
    const struct method *method;
    uint64_t return_address, calls, began, ended, unmatched;
    struct amount lead, tail;
    uint64_t min[6], max[6]; /* as those of wire_acted */
};

struct live { /* a call that has not ended */
    struct seen *seen; /* NULL: not recorded */
    struct live *below;
    bool boundary;
    uint32_t depth, unrecorded; /* unrecorded: of the outermost call inside of it that began in a pause; 0: none runs */
    bool is_outermost;          /* it is that call */
    bool returned;              /* that is of framework code and has returned, which only the next call from there shows */
    uint64_t begin, begin_waited, begin_off, child_elapsed, child_waited, child_off, calls_below, children;
};

struct thread_model {
    uint32_t os_id;
    struct seen root;
    struct live *top;
    uint64_t last, elapsed, waited, off; /* the last event; sums of intervals: all, those in which the system acted, without a processor */
    struct wire_waits acted; /* since then */
    uint64_t backwards;      /* intervals that ended before they began */
    uint32_t depth; /* of the call that begins next, where something pauses: those that are further down on the stack have more */
    uint64_t paused, paused_since; /* in pauses that have ended; when this one began, 0: there is none */
};

void thread_model_begin(struct thread_model *t);
/* Time passes in the running thread. With a wait it must be longer than the gap: the system did something. */
void model_pass(int64_t ns);
void model_wait(struct thread_model *t, int64_t ns, const struct wire_waits *w);

/* Nothing is recorded from now on, or again. A thread that does so itself, for itself, ends an interval. */
void model_pause(struct thread_model *t, bool settles);
void model_resume(struct thread_model *t);

void model_entered(struct thread_model *t); /* an Enter, of whatever function, with t->depth */
/* A call from that return address begins (l is kept until it ends), ends, or is gone and nobody said so. */
void model_begin(struct thread_model *t, struct live *l, const struct method *m, uint64_t return_address);
void model_end(struct thread_model *t, struct live *l);
void model_gone(struct thread_model *t, struct live *l);

void model_inside(struct thread_model *t, uint32_t depth);

/* Adds what another thread did, from the root on: both share an id. */
void thread_model_join(struct seen *to, const struct seen *from);

extern struct wire_overhead model_overhead; /* of the arena, before model_end */

/* Compares; os_id 0: those that share the only such id. Returns the number of differences and prints the first. */
int thread_model_compare(const struct thread_model *t, const struct wire_header *h, const struct method *methods, size_t n_methods);

struct wire_timing *model_timings(const struct wire_header *h, uint32_t *n);
const struct wire_clock *model_clock(const struct wire_header *h, uint32_t os_id); /* NULL: none */

#endif
