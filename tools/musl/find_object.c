/* _dl_find_object of glibc 2.35, which libgcc calls to find the unwind information of an address, for musl. */
#define _GNU_SOURCE
#include <link.h>
#include <stdint.h>

struct dl_find_object { /* dlfcn.h of glibc */
    unsigned long long flags;
    void *map_start, *map_end;
    struct link_map *link_map;
    void *eh_frame;
    unsigned long long reserved[7];
};

struct search {
    uintptr_t address;
    struct dl_find_object *found;
};

static int look(struct dl_phdr_info *info, size_t size, void *data)
{
    const struct search *s = data;
    uintptr_t low = 0, high = 0, frames = 0;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uintptr_t begin = info->dlpi_addr + p->p_vaddr;
        if (p->p_type == PT_GNU_EH_FRAME)
            frames = begin;
        if (p->p_type == PT_LOAD && s->address >= begin && s->address - begin < p->p_memsz) {
            low = begin;
            high = begin + p->p_memsz;
        }
    }
    if (high == 0 || frames == 0)
        return 0;
    *s->found = (struct dl_find_object){.map_start = (void *)low, .map_end = (void *)high, .eh_frame = (void *)frames};
    return 1;
}

int _dl_find_object(void *address, struct dl_find_object *found)
{
    struct search s = {(uintptr_t)address, found};
    return dl_iterate_phdr(look, &s) != 0 ? 0 : -1;
}
