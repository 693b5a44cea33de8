/* Boxes of .NET 10.
 *
 * Problem: RuntimeTypeHandle.InternalAllocNoChecks of .NET 10 asks first for InternalAllocNoChecks_FastPath, a function of the
 * runtime in C++, which takes memory from the thread's allocation context and reports nothing to a profiler (comutilnative.cpp,
 * runtimehandles.cpp). Most boxes come from there, and multicast delegates and results of async methods do. Only when the
 * context is used up does it return NULL, and then the slow way reports it: 3 of 1,000.
 *
 * Idea: let it always return NULL. The runtime finds such functions by a table of {flags, implementation, name}
 * (ecalllist.h), in memory that the loader has made read-only (RELRO), when they are first called: after Initialize, also for precompiled
 * code. The implementation is replaced in the table.
 *
 * Nothing is known of the table but its shape, so each step must have exactly one answer: the module of the runtime's own code;
 * one place of the name in its read-only data; one pointer to that in its RELRO pages; a pointer into its code before that.
 * If one has none, or several, nothing is changed, and the loss `unreported` says that boxes are missing. So it does if
 * later the slow way is met and the replacement was never asked: then the runtime does not use the table. */
#define _GNU_SOURCE
#include "arch/arch.h"
#include "core/arena.h"
#include "metadata/box_reporting.h"

#include <link.h>
#include <string.h>
#include <sys/mman.h>

#define MAX_SEARCHED (UINT64_C(256) << 20) /* bytes of a segment; the largest runtimes, linked with all of a program, have 20 MiB */
#define FIRST_WITH_FAST_PATH 10u /* major version of the runtime */

static const char name[] = "InternalAllocNoChecks_FastPath";
static KEPT bool replaced, asked;
static bool reported;

/* The replacement. The runtime calls it as a function of C, while no garbage collection can run. */
static void *no_fast_path(void *method_table)
{
    (void)method_table;
    if (UNLIKELY(!__atomic_load_n(&asked, __ATOMIC_RELAXED)))
        __atomic_store_n(&asked, true, __ATOMIC_RELAXED);
    return NULL;
}

struct span {
    uintptr_t start, end;
};

/* The segment in memory; empty if it is of another kind, or too large to be what is looked for. */
static struct span span_of(const struct dl_phdr_info *m, int i, uint32_t type, uint32_t flags)
{
    const ElfW(Phdr) *p = &m->dlpi_phdr[i];
    struct span s = {m->dlpi_addr + p->p_vaddr, m->dlpi_addr + p->p_vaddr + p->p_memsz};
    if (p->p_type != type || p->p_flags != flags || p->p_memsz > MAX_SEARCHED)
        s.end = s.start;
    return s;
}

static bool is_code(const struct dl_phdr_info *m, uintptr_t address)
{
    for (int i = 0; i < m->dlpi_phnum; i++) {
        struct span s = span_of(m, i, PT_LOAD, PF_R | PF_X);
        if (address - s.start < s.end - s.start)
            return true;
    }
    return false;
}

/* The place of the name, with zeros around it, in read-only data; 0: none, or several. */
static uintptr_t find_name(const struct dl_phdr_info *m)
{
    uintptr_t found = 0;
    for (int i = 0; i < m->dlpi_phnum; i++) {
        struct span s = span_of(m, i, PT_LOAD, PF_R);
        const char *at = (const char *)s.start, *end = (const char *)s.end;
        while ((at = memmem(at, (size_t)(end - at), name, sizeof name)) != NULL) {
            bool whole = (uintptr_t)at != s.start && at[-1] == 0;
            if (whole && found != 0)
                return 0;
            if (whole)
                found = (uintptr_t)at;
            at += sizeof name;
        }
    }
    return found;
}

/* The only word in RELRO that holds the value, and has one before it; NULL: none, or several. */
static uintptr_t *find_word(const struct dl_phdr_info *m, uintptr_t value)
{
    uintptr_t *found = NULL;
    for (int i = 0; i < m->dlpi_phnum; i++) {
        struct span s = span_of(m, i, PT_GNU_RELRO, PF_R);
        uintptr_t *first = (uintptr_t *)((s.start + 7) & ~(uintptr_t)7), *end = (uintptr_t *)(s.end & ~(PAGE - 1)); /* whole pages are protected */
        for (uintptr_t *w = first + 1; w < end; w++) {
            if (*w == value && found != NULL)
                return NULL;
            if (*w == value)
                found = w;
        }
    }
    return found;
}

static bool replace(uintptr_t *implementation)
{
    void *page = (void *)((uintptr_t)implementation & ~(PAGE - 1));
    if (mprotect(page, PAGE, PROT_READ | PROT_WRITE) != 0)
        return false;
    __atomic_store_n(implementation, (uintptr_t)no_fast_path, __ATOMIC_RELEASE);
    mprotect(page, PAGE, PROT_READ);
    return true;
}

static int look_in_module(struct dl_phdr_info *m, size_t size, void *runtime)
{
    (void)size;
    if (!is_code(m, (uintptr_t)runtime))
        return 0;
    uintptr_t place = find_name(m);
    uintptr_t *word = place == 0 ? NULL : find_word(m, place);
    replaced = word != NULL && is_code(m, word[-1]) && replace(word - 1);
    return 1;
}

static void count_unreported(void)
{
    if (!__atomic_exchange_n(&reported, true, __ATOMIC_RELAXED))
        loss(WIRE_LOSS_UNREPORTED, 0, 0);
}

void boxes_replace(void *info, uint32_t runtime_major)
{
    if (runtime_major >= FIRST_WITH_FAST_PATH)
        dl_iterate_phdr(look_in_module, **(void *const *const *)info); /* the first of its functions, in the runtime's code */
}

void boxes_report(void)
{
    if (arena.header->runtime_major >= FIRST_WITH_FAST_PATH && !replaced)
        count_unreported();
}

void boxes_slow_way_met(void)
{
    if (replaced && !__atomic_load_n(&asked, __ATOMIC_RELAXED))
        count_unreported();
}
