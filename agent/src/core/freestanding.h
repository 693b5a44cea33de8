/* What the agent does by itself because the process that it is loaded into may have no function for it: a host need not have loaded
 * libgcc, and before glibc 2.33 stat and fstat were no functions of the library. A test has the list of what the agent does
 * take from libc (e2e, TestLibrary). */
#ifndef CLRPROF_FREESTANDING_H
#define CLRPROF_FREESTANDING_H

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The part of `whole` that is part / of, rounded down; at most UINT64_MAX, and 0 of nothing. A compiler has multiplication to 128
 * bits inline, but calls libgcc for a division of them. The loop is only for more than 64 bits: some seconds in
 * nanoseconds, times a clock's rate. */
static inline uint64_t share(uint64_t whole, uint64_t part, uint64_t of)
{
    if (of == 0)
        return 0;
    unsigned __int128 product = (unsigned __int128)whole * part;
    uint64_t rest = (uint64_t)(product >> 64), low = (uint64_t)product;
    if (rest == 0)
        return low / of;
    if (rest >= of)
        return UINT64_MAX;
    for (int bit = 0; bit < 64; bit++) { /* bits of the result come in where those of the product leave */
        bool carry = rest >> 63 != 0;
        rest = rest << 1 | low >> 63;
        low <<= 1;
        if (carry || rest >= of) {
            rest -= of;
            low |= 1;
        }
    }
    return low;
}

/* stat and fstat. The kernel's struct stat is that of both C libraries on 64-bit machines. */
static inline int path_status(const char *path, struct stat *status)
{
    return (int)syscall(SYS_newfstatat, AT_FDCWD, path, status, 0);
}

static inline int file_status(int fd, struct stat *status)
{
    return (int)syscall(SYS_fstat, fd, status);
}

#endif
