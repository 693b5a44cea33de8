/* Becomes another program with the signals of two sets ignored and blocked: signals IGNORED BLOCKED COMMAND [ARGUMENT…], the sets as
 * hexadecimal numbers, the first signal's bit the lowest. By system calls, as libraries keep some signals to themselves. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    if (argc < 4)
        return 100;
    uint64_t ignored = strtoull(argv[1], NULL, 16), blocked = strtoull(argv[2], NULL, 16);
    for (int s = 1; s <= 64; s++) {
        struct {
            uintptr_t handler;
            unsigned long flags;
            uintptr_t restorer;
            uint64_t mask;
        } action = {ignored >> (s - 1) & 1, 0, 0, 0};
        syscall(SYS_rt_sigaction, s, &action, NULL, sizeof(uint64_t));
    }
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &blocked, NULL, sizeof blocked);
    execvp(argv[3], argv + 3);
    perror(argv[3]);
    return 101;
}
