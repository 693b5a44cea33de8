/* Included before each source of a replay of calls: the clock is that of the recording. */
unsigned long replay_rdtsc(void);
#define __builtin_ia32_rdtsc replay_rdtsc
