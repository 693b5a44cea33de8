/* Hash maps from non-zero 64-bit keys to non-zero values: hash_map.c. */
#ifndef CLRPROF_MAP_H
#define CLRPROF_MAP_H

#include "core/agent.h"

struct map_table;
struct map {
    struct map_table *table; /* replaced when it grows */
    uint64_t used;           /* slots with a key */
    bool shared;             /* several threads read it: a replaced table is not freed */
};

bool map_init(struct map *map, uint32_t slots, bool shared); /* slots: a power of two */
void map_close(struct map *map);
uint64_t map_get(const struct map *map, uint64_t key);       /* 0: absent; no lock needed */
uint64_t map_next(const struct map *map, uint64_t *at); /* each value, 0: no more; *at: 0 at first */
uint64_t map_next_key(const struct map *map, uint64_t *at); /* the same of the keys that have values */
/* The rest with the lock held, or by the only user. */
bool map_has_room(struct map *map); /* for one more key: then the next map_put succeeds */
bool map_put(struct map *map, uint64_t key, uint64_t value);
void map_forget(struct map *map, uint64_t key);
void map_drop(struct map *map, uint64_t mask, uint64_t bits); /* forgets values v with (v & mask) == bits */
void map_clear(struct map *map, uint32_t keep); /* not shared; a bigger table is replaced by one of `keep` slots */

/* Keys of names: FNV-1a over bytes, or over the units of UTF-16. */
#define KEY_START UINT64_C(0xcbf29ce484222325)
static inline uint64_t key_add(uint64_t key, uint32_t unit)
{
    return (key ^ unit) * UINT64_C(0x100000001b3);
}

static inline uint64_t key_made(uint64_t key) /* 0 is no key */
{
    return key == 0 ? 1 : key;
}

#endif
