/* What each case of a test allocated: test_cases.c. */
#ifndef CLRPROF_TEST_CASES_H
#define CLRPROF_TEST_CASES_H

#include "core/agent.h"

#define CASE_ARGUMENTS 6u /* of a test that are noted: there is no room for more code */
#define CASE_MORE 0xFFu   /* in the place of an argument's kind: there are more, which are not noted */
#define CASE_BYTES 512u   /* of noted arguments */

struct test_case { /* the outermost call of a test with arguments on a thread's stack */
    uintptr_t at;  /* its caller's stack pointer, 0: there is none */
    uint64_t objects, bytes; /* that the thread had allocated before */
    uint32_t function, n;
    bool begins; /* its arguments come next */
    uint8_t arguments[CASE_BYTES];
};

void cases_enter(uintptr_t sp, uint32_t function);
void cases_leave(uintptr_t sp);
void cases_drop(uintptr_t sp); /* a frame with this stack pointer runs: what it called is gone */
bool cases_any(void);          /* of this thread */
bool cases_is_outermost(uintptr_t sp);
void cases_argument(const uint8_t *address, uintptr_t kind); /* compiled code calls it */

#endif
