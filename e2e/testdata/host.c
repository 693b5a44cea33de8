/* A program that hosts a .NET runtime by hostfxr, and has loaded nothing but its C library: host HOSTFXR PROGRAM.dll [ARGUMENT…] */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>

typedef int32_t (*initialize)(int argc, const char **argv, const void *parameters, void **handle);
typedef int32_t (*run_app)(void *handle);

int main(int argc, char **argv)
{
    void *library = argc > 2 ? dlopen(argv[1], RTLD_LAZY) : NULL, *handle = NULL;
    if (library == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return 100;
    }
    initialize begin = (initialize)dlsym(library, "hostfxr_initialize_for_dotnet_command_line");
    run_app run = (run_app)dlsym(library, "hostfxr_run_app");
    if (begin == NULL || run == NULL || begin(argc - 2, (const char **)argv + 2, NULL, &handle) != 0)
        return 101;
    return run(handle);
}
