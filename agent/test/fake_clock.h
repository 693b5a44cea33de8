/* Included before every source file of the agent that is tested: the processor's clock is the made-up runtime's. */
#ifndef CLRPROF_FAKE_CLOCK_H
#define CLRPROF_FAKE_CLOCK_H

unsigned long long fake_rdtsc(void); /* keeps the vector registers */
#define __builtin_ia32_rdtsc fake_rdtsc

#endif
