/* Loads a library with all its symbols at once into a process that has nothing but its C library, and asks it for a class that nobody
 * has. Prints the names of the libraries that were there before, one on a line. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>

static int print_name(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)size, (void)data;
    if (info->dlpi_name[0] == '/') /* the program itself and the kernel's page have no path */
        puts(info->dlpi_name);
    return 0;
}

int main(int argc, char **argv)
{
    dl_iterate_phdr(print_name, NULL);
    void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
    if (library == NULL) {
        puts(dlerror());
        return 1;
    }
    int32_t (*get)(const void *, const void *, void **) = (int32_t (*)(const void *, const void *, void **))dlsym(library, "DllGetClassObject");
    static const unsigned char nobody[16];
    void *object = NULL;
    return get == NULL || get(nobody, nobody, &object) >= 0 || object != NULL ? 2 : 0;
}
