/* What all parts of the agent share. What each lets the others know is in a header of its own. See agent/README.md for the
 * rules that hold here.
 *
 * Locking: one lock (arena_lock) guards every insertion into shared or private tables. It is only held while memory
 * is touched, never while the runtime is called: a thread that waits for the lock may be one that a garbage
 * collection waits for. Readers of the maps take no lock. */
#ifndef CLRPROF_AGENT_H
#define CLRPROF_AGENT_H

#include "core/profiler_api.h"
#include "core/wire_gen.h"

#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define COLD __attribute__((noinline, cold))
/* Without the stack's guard, which would be the only cost that it has in a hot function: one without arrays, whose variables only the
 * agent's own functions fill. gcc before 11 cannot leave it out. */
#if __has_attribute(no_stack_protector)
#define UNGUARDED __attribute__((no_stack_protector))
#else
#define UNGUARDED
#endif
/* What always holds, for builds that are tests. */
#ifdef CLRPROF_SANITIZED
#define ASSERT(x) ((x) ? (void)0 : __builtin_trap())
#else
#define ASSERT(x) ((void)0)
#endif
/* Thread-local variables are at fixed offsets from the thread's pointer, which glibc has room for. musl refuses a library that wants
 * that when it is loaded late: there they have descriptors (-mtls-dialect=gnu2), and an access takes 1 ns more. */
#ifdef CLRPROF_MUSL
#define AT_FIXED_PLACE
#else
#define AT_FIXED_PLACE __attribute__((tls_model("initial-exec")))
#endif
/* Reads words of other functions' frames, or of what lies between variables, which AddressSanitizer would take for mistakes. */
#ifdef CLRPROF_SANITIZED
#define READS_STACK __attribute__((no_sanitize("address")))
#else
#define READS_STACK
#endif

/* What stays as it is when a recording of a dormant process ends, and all other variables become what they were at the start. */
#define KEPT __attribute__((section("kept")))

/* The variable of the thread whose thread-local variables are so far from this one's; the compiler knows only of this one's. */
static inline void *variable_of_thread(void *own, ptrdiff_t distance)
{
    volatile uintptr_t at = (uintptr_t)own + (uintptr_t)distance;
    return (void *)at;
}

/* entry.c */
extern void *agent_info; /* ICorProfilerInfo9 or later */
bool runtime_version(void *info, uint16_t *major, uint16_t *minor, uint16_t *build); /* false: it does not say */
uint32_t agent_prepare(uint64_t nodes);  /* what each recording needs, with its arena; WIRE_FAILURE_OLD_RUNTIME and so on, 0: it is there */
void callbacks_install(uint32_t data);   /* those of WIRE_DATA_MEMORY and so on; 0: none */
void **callbacks_table(void);            /* what the runtime calls */

#endif
