/* A library to preload that keeps the agent from restartable sequences, as a kernel without them does. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/syscall.h>

long syscall(long number, ...)
{
    static long (*libc_syscall)(long, ...);
    long a[6];
    va_list arguments;
    va_start(arguments, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(arguments, long);
    va_end(arguments);
    if (libc_syscall == NULL)
        libc_syscall = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
    if (number == SYS_rseq) {
        errno = ENOSYS;
        return -1;
    }
    return libc_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
