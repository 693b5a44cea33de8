/* Arrays that grow, and whose items begin with the word by which they are sorted. */
#include "core/arena.h"
#include "core/sorted_array.h"

#include <string.h>

#define FIRST_ITEMS 4096u /* doubled when needed */

bool list_reserve(struct list *l, uint64_t n)
{
    if (n <= l->capacity)
        return true;
    uint64_t capacity = l->capacity == 0 ? FIRST_ITEMS : l->capacity;
    while (capacity < n)
        capacity *= 2;
    void *items = private_alloc(capacity * l->size);
    if (items == NULL)
        return false;
    if (l->items != NULL) {
        memcpy(items, l->items, l->n * l->size);
        private_free(l->items, l->capacity * l->size);
    }
    l->items = items;
    l->capacity = capacity;
    return true;
}

static uintptr_t key_at(const struct list *l, uint64_t i)
{
    return *(const uintptr_t *)(const void *)((const uint8_t *)l->items + i * l->size);
}

/* Where a run that begins at i ends. */
static uint64_t run_end(const struct list *l, uint64_t i)
{
    do
        i++;
    while (i < l->n && key_at(l, i - 1) <= key_at(l, i));
    return i;
}

/* Sorts by the word with which each item begins. What the runtime reports is nearly in the order of addresses, or in one
 * such order for each heap: merging runs that are in order already is nearly free then, and never worse than n log n. */
bool list_sort(struct list *l)
{
    while (l->n > 1 && run_end(l, 0) < l->n) {
        struct list to = {.size = l->size};
        if (!list_reserve(&to, l->n))
            return false;
        for (uint64_t i = 0; i < l->n;) {
            uint64_t left = i, middle = run_end(l, i), right = middle, end = middle < l->n ? run_end(l, middle) : l->n;
            while (left < middle || right < end) {
                uint64_t from = right == end || (left < middle && key_at(l, left) <= key_at(l, right)) ? left++ : right++;
                memcpy((uint8_t *)to.items + i++ * l->size, (const uint8_t *)l->items + from * l->size, l->size);
            }
        }
        to.n = l->n;
        private_free(l->items, l->capacity * l->size);
        *l = to;
    }
    return true;
}

void list_give_back(struct list *l)
{
    if (l->items != NULL)
        private_free(l->items, l->capacity * l->size);
    *l = (struct list){.size = l->size};
}
