/* The library's own variables, as they were when it was loaded.
 *
 * Problem: each recording of a dormant process must begin as if the agent had just been loaded. Each part has variables of
 * its own, and a function of each part that sets them back is right until somebody adds a variable; what is
 * forgotten there shows only in the second recording, and seldom.
 *
 * Idea: all of them lie in one writable segment of the library. Its contents are kept as they are before the agent does
 * anything, and are put back as a whole. What is to stay is marked (KEPT) and lies in a section of its own. Nobody may be using them meanwhile:
 * that is dormant.c's business. */
#define _GNU_SOURCE
#include "agent/dormant.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>

#define HIDDEN __attribute__((visibility("hidden")))
#define PAGE_BYTES UINT64_C(4096)

/* The linker makes these. */
extern const uint8_t __ehdr_start[] HIDDEN;
extern uint8_t __start_kept[] HIDDEN, __stop_kept[] HIDDEN;

static KEPT struct {
    uint8_t *start, *loaded, *end; /* up to `loaded` from the file, behind it zeros */
    uint8_t *copy;                 /* of the former */
} own;

static const ElfW(Phdr) *segment(uint32_t type, uint32_t flags)
{
    const ElfW(Ehdr) *file = (const void *)__ehdr_start;
    const ElfW(Phdr) *p = (const void *)(__ehdr_start + file->e_phoff);
    for (uint32_t i = 0; i < file->e_phnum; i++)
        if (p[i].p_type == type && (p[i].p_flags & flags) == flags)
            return &p[i];
    return NULL;
}

/* Words, where they can be: what the linker has beside variables, addresses of functions, is read by others meanwhile. */
static READS_STACK void copy(uint8_t *to, const uint8_t *from, size_t bytes)
{
    size_t i = 0;
    for (; i < bytes && ((uintptr_t)(to + i) % sizeof(uint64_t) != 0 || bytes - i < sizeof(uint64_t)); i++)
        *(volatile uint8_t *)(to + i) = from[i];
    for (; bytes - i >= sizeof(uint64_t); i += sizeof(uint64_t))
        __atomic_store_n((uint64_t *)(void *)(to + i), *(const volatile uint64_t *)(const void *)(from + i), __ATOMIC_RELAXED);
    for (; i < bytes; i++)
        *(volatile uint8_t *)(to + i) = from[i];
}

static READS_STACK void zero(uint8_t *from, const uint8_t *to)
{
    for (; from < to; from++)
        *(volatile uint8_t *)from = 0;
}

/* glibc and musl know what is loaded by its name. Old versions of glibc have this in libdl, which .NET always needs. */
void *dlopen(const char *path, int flags) __attribute__((weak));

static int stay(struct dl_phdr_info *module, size_t size, void *stays)
{
    (void)size;
    for (uint32_t i = 0; i < module->dlpi_phnum; i++)
        if (module->dlpi_phdr[i].p_type == PT_LOAD && module->dlpi_addr + module->dlpi_phdr[i].p_vaddr == (uintptr_t)__ehdr_start) {
            *(bool *)stays = dlopen != NULL && dlopen(module->dlpi_name, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE) != NULL;
            return 1;
        }
    return 0;
}

bool library_stays(void)
{
    bool stays = false;
    dl_iterate_phdr(stay, &stays);
    return stays;
}

bool variables_save(void)
{
    uint8_t *base = (uint8_t *)(uintptr_t)__ehdr_start;
    const ElfW(Phdr) *data = segment(PT_LOAD, PF_W), *constant = segment(PT_GNU_RELRO, 0);
    if (own.copy != NULL)
        return true; /* the agent was in the process before, and has left */
    if (data == NULL || constant == NULL)
        return false;
    own.start = base + constant->p_vaddr + constant->p_memsz; /* before that is what the loader wrote, and made read-only */
    own.loaded = base + data->p_vaddr + data->p_filesz;
    own.end = base + data->p_vaddr + data->p_memsz;
    if (own.start > own.loaded || __start_kept < own.start || __stop_kept > own.loaded)
        return false; /* the linker has put them elsewhere */
    own.copy = mmap(NULL, (size_t)(own.loaded - own.start), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (own.copy == MAP_FAILED) {
        own.copy = NULL;
        return false;
    }
    copy(own.copy, own.start, (size_t)(own.loaded - own.start));
    return true;
}

/* What is whole pages is given back to the system, and reads as zeros. */
static void clear(uint8_t *from, uint8_t *to)
{
    uint8_t *first = (uint8_t *)(((uintptr_t)from + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1)), *last = (uint8_t *)((uintptr_t)to & ~(PAGE_BYTES - 1));
    if (first >= last || madvise(first, (size_t)(last - first), MADV_DONTNEED) != 0) {
        zero(from, to);
        return;
    }
    zero(from, first);
    zero(last, to);
}

void variables_restore(void)
{
    copy(own.start, own.copy, (size_t)(__start_kept - own.start));
    copy(__stop_kept, own.copy + (__stop_kept - own.start), (size_t)(own.loaded - __stop_kept));
    clear(own.loaded, own.end);
}

void variables_build_id(uint8_t *id)
{
    static const char owner[4] = "GNU";
    const ElfW(Phdr) *notes = segment(PT_NOTE, 0);
    memset(id, 0, BUILD_BYTES);
    if (notes == NULL)
        return;
    const uint8_t *at = __ehdr_start + notes->p_vaddr, *end = at + notes->p_memsz;
    while ((size_t)(end - at) >= sizeof(ElfW(Nhdr))) {
        const ElfW(Nhdr) *n = (const void *)at;
        const uint8_t *name = at + sizeof *n, *value = name + ((n->n_namesz + 3) & ~3u);
        if (n->n_type == NT_GNU_BUILD_ID && n->n_namesz == sizeof owner && memcmp(name, owner, sizeof owner) == 0 && n->n_descsz == BUILD_BYTES) {
            memcpy(id, value, BUILD_BYTES);
            return;
        }
        at = value + ((n->n_descsz + 3) & ~3u);
    }
}
