/* Loads a library as a .NET runtime does, with all its symbols at once, and asks it for a class that nobody has. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>

/* Of libgcc, which every runtime loads. */
unsigned __int128 __udivti3(unsigned __int128 a, unsigned __int128 b)
{
    return b > a ? 0 : (uint64_t)a / (uint64_t)b;
}

int main(int argc, char **argv)
{
    void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
    if (library == NULL) {
        puts(dlerror());
        return 1;
    }
    int32_t (*get)(const void *, const void *, void **) = (int32_t (*)(const void *, const void *, void **))dlsym(library, "DllGetClassObject");
    static const unsigned char nobody[16];
    void *object = NULL;
    printf("%x\n", get == NULL ? 0u : (unsigned)get(nobody, nobody, &object));
    return get == NULL || object != NULL;
}
