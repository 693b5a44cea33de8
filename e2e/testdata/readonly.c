/* A library to preload that keeps the agent from writing to a page of the runtime's, as a hardened kernel does. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

int mprotect(void *address, size_t bytes, int protection)
{
    Dl_info by;
    if (bytes == 4096 && protection == (PROT_READ | PROT_WRITE) && dladdr(__builtin_return_address(0), &by) != 0 && strstr(by.dli_fname, "libclrprof") != NULL) {
        errno = EACCES;
        return -1;
    }
    return (int)syscall(SYS_mprotect, address, bytes, protection);
}
