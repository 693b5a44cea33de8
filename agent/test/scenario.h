/* What the files of scenarios share; it is in agent_test.c. */
#ifndef CLRPROF_SCENARIO_H
#define CLRPROF_SCENARIO_H

#include "model.h"

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif
#if defined(__SANITIZE_THREAD__)
#define THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define THREAD_SANITIZER 1
#endif
#endif
#ifndef THREAD_SANITIZER
#define THREAD_SANITIZER 0
#endif

#define SCALE (SANITIZED ? 10u : 1u) /* sanitised runs do a part of the work */
/* The stride of a sweep over calls that fail. Each failure takes a path of its own, where addresses can be wrong; races
 * are between threads that go on afterwards, and do not depend on which call it was. */
#define EACH_OR_SOME (THREAD_SANITIZER ? 7u : 1u)

struct scenario {
    const char *name; /* NULL: the end of a list */
    void (*run)(void);
};
extern const struct scenario lifetime_scenarios[];
extern const struct scenario runtime_scenarios[], cfi_scenarios[];
extern const struct scenario thread_scenarios[], statics_scenarios[], freestanding_scenarios[], managed_events_scenarios[], samples_scenarios[];
extern const struct scenario time_scenarios[], time_limit_scenarios[], time_wait_scenarios[], trace_scenarios[], system_event_scenarios[];

extern const char *agent_path;
extern char directory[4000]; /* of the scenario's arena */
extern int failures;

void check(bool ok, const char *format, ...) __attribute__((format(printf, 2, 3)));
uint64_t random_number(uint64_t *state);

/* The agent refused: the library is gone, with its memory and its file descriptor. `failure` is what the arena says;
 * 0: there is none, but a note of that reason, if there is a directory. */
void check_refused(hresult hr, uint32_t failure, const char *note);

enum { STEP_PASSED, STEP_FAILED, STEP_BEYOND }; /* how the process of a step ends */

/* Runs a step in a process of its own for 1, 1 + stride, …, each with a directory, until one says that it is beyond the end. */
void sweep(int (*step)(uint64_t n), uint64_t stride);

struct job { /* of a managed thread */
    pthread_t thread;
    uint64_t index;
    void (*work)(struct job *job);
    struct entries model;
};
void start_jobs(struct job *jobs, uint32_t n, void (*work)(struct job *));
void join_jobs(struct job *jobs, uint32_t n, struct entries *model);

#endif
