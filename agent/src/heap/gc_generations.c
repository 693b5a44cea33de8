/* Where the generations of the GC heap are. */
#include "heap/gc.h"

#define MAX_BOUNDS (1u << 20) /* regions of 4 MiB: a heap of 4 TiB */

static void *info;
static struct list raw = {.size = sizeof(struct clr_generation_range)};

bool generations_init(void *profiler_info)
{
    info = profiler_info;
    return list_reserve(&raw, 1);
}

void generations_give_back(void)
{
    list_give_back(&raw);
}

bool generations_ask(struct list *out)
{
    uint32_t n = 0;
    for (;;) {
        uint32_t capacity = (uint32_t)raw.capacity;
        if (SLOT(info, INFO_GET_GENERATION_BOUNDS, uint32_t, uint32_t *, struct clr_generation_range *)(info, capacity, &n, raw.items) < 0)
            return false;
        if (n <= capacity)
            break;
        if (n > MAX_BOUNDS || !list_reserve(&raw, n))
            return false;
    }
    if (!list_reserve(out, n))
        return false;
    struct bound *b = out->items;
    const struct clr_generation_range *r = raw.items;
    out->n = 0;
    for (uint32_t i = 0; i < n; i++)
        if (r[i].length != 0) /* an empty one can begin where another one does, and hide it */
            b[out->n++] = (struct bound){r[i].start, r[i].start + r[i].reserved, r[i].start + r[i].length, r[i].generation};
    return list_sort(out);
}

/* The generation of an address, or WIRE_GENERATION_COUNT. Neighbours are asked for one after the other, so *last
 * remembers where the last one was. With segments several generations share reserved space: the last that starts at
 * or below the address has it. */
uint32_t generation_of(const struct list *bounds, uintptr_t address, const struct bound **last)
{
    const struct bound *b = bounds->items, *end = b + bounds->n;
    if (*last != NULL && address >= (*last)->start && address < (*last)->used)
        return (*last)->generation;
    uint64_t low = 0, high = bounds->n;
    while (low < high) {
        uint64_t middle = (low + high) / 2;
        if (b[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    for (b += low; b > (const struct bound *)bounds->items;) {
        b--;
        if (b < end && address < b->used) {
            *last = b;
            return b->generation;
        }
        if (address >= b->end)
            break;
    }
    return WIRE_GENERATION_COUNT;
}

bool generation_is_collected(const struct bound *b)
{
    return b->generation < WIRE_GENERATION_COUNT && (gc.collected >> b->generation & 1) != 0;
}

bool generations_have_pinned(void)
{
    for (uint64_t i = 0; i < gc_before.n; i++)
        if (((const struct bound *)gc_before.items)[i].generation == WIRE_GENERATION_PINNED)
            return true;
    return false;
}
