/* The machine's part of the agent: see arch/arch.h. All else is compiled the same for every machine. */
#define _GNU_SOURCE
#if defined(__x86_64__)
#include "arch/x64/code.c"
#include "arch/x64/stubs.c"
#include "arch/x64/system.c"
#elif defined(__aarch64__)
#include "arch/arm64/code.c"
#include "arch/arm64/stubs.c"
#include "arch/arm64/system.c"
#else
#error "the agent does not know this machine: see arch/arch.h"
#endif
