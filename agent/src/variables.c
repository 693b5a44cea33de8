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
#include "dormant.h"

#include <link.h>
#include <string.h>
#include <sys/mman.h>

#define HIDDEN __attribute__((visibility("hidden")))
#define PAGE_BYTES UINT64_C(4096)

/* The linker makes these. */
extern const ElfW(Ehdr) __ehdr_start HIDDEN;
extern uint8_t __start_kept[] HIDDEN, __stop_kept[] HIDDEN;

static KEPT struct {
    uint8_t *start, *loaded, *end; /* up to `loaded` from the file, behind it zeros */
    uint8_t *copy;                 /* of the former */
} own;

static const ElfW(Phdr) *segment(uint32_t type, uint32_t flags)
{
    const uint8_t *file = (const uint8_t *)&__ehdr_start;
    const ElfW(Phdr) *p = (const void *)(file + __ehdr_start.e_phoff);
    for (uint32_t i = 0; i < __ehdr_start.e_phnum; i++)
        if (p[i].p_type == type && (p[i].p_flags & flags) == flags)
            return &p[i];
    return NULL;
}

bool variables_save(void)
{
    uint8_t *base = (uint8_t *)(uintptr_t)&__ehdr_start;
    const ElfW(Phdr) *data = segment(PT_LOAD, PF_W), *constant = segment(PT_GNU_RELRO, 0);
    if (data == NULL || constant == NULL)
        return false;
    own.start = base + constant->p_vaddr + constant->p_memsz; /* before that is what the loader wrote, and made read-only */
    own.loaded = base + data->p_vaddr + data->p_filesz;
    own.end = base + data->p_vaddr + data->p_memsz;
    if (own.start > own.loaded || __start_kept < own.start || __stop_kept > own.loaded)
        return false; /* the linker has put them elsewhere */
    own.copy = mmap(NULL, (size_t)(own.loaded - own.start), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (own.copy == MAP_FAILED)
        return false;
    memcpy(own.copy, own.start, (size_t)(own.loaded - own.start));
    return true;
}

/* What is whole pages is given back to the system, and reads as zeros. */
static void clear(uint8_t *from, uint8_t *to)
{
    uint8_t *first = (uint8_t *)(((uintptr_t)from + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1)), *last = (uint8_t *)((uintptr_t)to & ~(PAGE_BYTES - 1));
    if (first >= last || madvise(first, (size_t)(last - first), MADV_DONTNEED) != 0) {
        memset(from, 0, (size_t)(to - from));
        return;
    }
    memset(from, 0, (size_t)(first - from));
    memset(last, 0, (size_t)(to - last));
}

void variables_restore(void)
{
    memcpy(own.start, own.copy, (size_t)(__start_kept - own.start));
    memcpy(__stop_kept, own.copy + (__stop_kept - own.start), (size_t)(own.loaded - __stop_kept));
    clear(own.loaded, own.end);
}

void variables_build_id(uint8_t *id)
{
    static const char owner[4] = "GNU";
    const uint8_t *base = (const uint8_t *)&__ehdr_start;
    const ElfW(Phdr) *notes = segment(PT_NOTE, 0);
    memset(id, 0, BUILD_BYTES);
    if (notes == NULL)
        return;
    const uint8_t *at = base + notes->p_vaddr, *end = at + notes->p_memsz;
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
