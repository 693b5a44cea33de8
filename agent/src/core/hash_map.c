/* Open addressing with linear probing. Keys are never removed, so a probe ends at the first empty slot; forgetting a
 * key sets its value to 0. Readers run beside one writer: a value is stored before its key, a full table is copied
 * and replaced as a whole. Replaced tables of a shared map are not freed (a reader may be inside); together they are
 * smaller than the current one. */
#include "core/arena.h"
#include "core/hash_map.h"

#include <string.h>

struct map_slot {
    uint64_t key, value;
};

struct map_table {
    uint64_t mask; /* slots - 1 */
    struct map_slot slots[];
};

static uint64_t table_bytes(uint64_t slots)
{
    return sizeof(struct map_table) + slots * sizeof(struct map_slot);
}

static uint64_t hash(uint64_t key) /* Murmur3's finaliser: every bit of the key reaches the low ones */
{
    key ^= key >> 33;
    key *= UINT64_C(0xff51afd7ed558ccd);
    key ^= key >> 33;
    return key;
}

static struct map_table *make_table(uint64_t slots)
{
    struct map_table *table = private_alloc(table_bytes(slots));
    if (table != NULL)
        table->mask = slots - 1;
    return table;
}

bool map_init(struct map *map, uint32_t slots, bool shared)
{
    map->used = 0;
    map->shared = shared;
    map->table = make_table(slots);
    return map->table != NULL;
}

uint64_t map_get(const struct map *map, uint64_t key)
{
    const struct map_table *table = __atomic_load_n(&map->table, __ATOMIC_ACQUIRE);
    for (uint64_t i = hash(key) & table->mask;; i = (i + 1) & table->mask) {
        uint64_t found = __atomic_load_n(&table->slots[i].key, __ATOMIC_ACQUIRE);
        if (found == key)
            return __atomic_load_n(&table->slots[i].value, __ATOMIC_ACQUIRE);
        if (found == 0)
            return 0;
    }
}

uint64_t map_next(const struct map *map, uint64_t *at)
{
    while (map->table != NULL && *at <= map->table->mask) {
        uint64_t value = map->table->slots[(*at)++].value;
        if (value != 0)
            return value;
    }
    return 0;
}

uint64_t map_next_key(const struct map *map, uint64_t *at)
{
    while (map->table != NULL && *at <= map->table->mask) {
        const struct map_slot *slot = &map->table->slots[(*at)++];
        if (slot->value != 0 && slot->key != 0)
            return slot->key;
    }
    return 0;
}

static struct map_slot *find_slot(struct map_table *table, uint64_t key)
{
    uint64_t i = hash(key) & table->mask;
    while (table->slots[i].key != key && table->slots[i].key != 0)
        i = (i + 1) & table->mask;
    return &table->slots[i];
}

static bool grow(struct map *map)
{
    struct map_table *old = map->table;
    uint64_t used = 0, slots = 2 * (old->mask + 1);
    for (uint64_t i = 0; i <= old->mask && !map->shared; i++)
        used += old->slots[i].value != 0;
    if (!map->shared && used <= old->mask / 4)
        slots = old->mask + 1; /* most of its keys are forgotten: without them it is large enough */
    struct map_table *table = make_table(slots);
    if (table == NULL)
        return false;
    used = 0;
    for (uint64_t i = 0; i <= old->mask; i++) {
        if (old->slots[i].key == 0 || old->slots[i].value == 0)
            continue;
        *find_slot(table, old->slots[i].key) = old->slots[i];
        used++;
    }
    map->used = used;
    __atomic_store_n(&map->table, table, __ATOMIC_RELEASE);
    if (!map->shared)
        private_free(old, table_bytes(old->mask + 1));
    return true;
}

void map_close(struct map *map)
{
    if (map->table != NULL)
        private_free(map->table, table_bytes(map->table->mask + 1));
    map->table = NULL;
}

bool map_has_room(struct map *map)
{
    /* At most 5/8 full; when it cannot grow, up to 7/8, then it is full. */
    uint64_t slots = map->table->mask + 1;
    return map->used < slots / 8 * 5 || grow(map) || map->used < slots / 8 * 7;
}

bool map_put(struct map *map, uint64_t key, uint64_t value)
{
    if (!map_has_room(map))
        return false;
    struct map_slot *slot = find_slot(map->table, key);
    __atomic_store_n(&slot->value, value, __ATOMIC_RELEASE);
    if (slot->key == 0) {
        __atomic_store_n(&slot->key, key, __ATOMIC_RELEASE);
        map->used++;
    }
    return true;
}

void map_clear(struct map *map, uint32_t keep)
{
    struct map_table *small = map->table->mask >= keep ? make_table(keep) : NULL;
    map->used = 0;
    if (small == NULL) {
        memset(map->table->slots, 0, (map->table->mask + 1) * sizeof(struct map_slot));
        return;
    }
    map_close(map);
    map->table = small;
}

void map_drop(struct map *map, uint64_t mask, uint64_t bits)
{
    for (uint64_t i = 0; i <= map->table->mask; i++)
        if (map->table->slots[i].value != 0 && (map->table->slots[i].value & mask) == bits)
            __atomic_store_n(&map->table->slots[i].value, 0, __ATOMIC_RELEASE);
}

void map_forget(struct map *map, uint64_t key)
{
    struct map_slot *slot = find_slot(map->table, key);
    if (slot->key == key)
        __atomic_store_n(&slot->value, 0, __ATOMIC_RELEASE);
}
