/* The table of a thread's timings, and what belongs to a timing. */
#include "core/arena.h"
#include "calls/calls.h"
#include "os/timer.h"
#include "calls/call_tree.h"

#include <string.h>

#define DEFAULT_TIMINGS UINT64_C(1000000) /* a session of more is slow to look at */
#define MEMORY_OF_TIMING UINT64_C(2048)   /* of the limit: the collector, on the same machine, needs 1.1 KB for each */

uint64_t max_timings;

void timings_init(uint64_t most)
{
    uint64_t allowed = arena.header->memory_limit / MEMORY_OF_TIMING;
    max_timings = most != UINT64_MAX ? most : allowed < DEFAULT_TIMINGS ? allowed : DEFAULT_TIMINGS;
    fold_init();
}

static void put_slot(uint64_t *table, uint64_t mask, uint64_t slot)
{
    uint64_t i = slot >> 32;
    while (table[i & mask] != 0)
        i++;
    table[i & mask] = slot;
}

static void put_timing(const struct timer *t, uint32_t number)
{
    const struct wire_timing *x = timing_at(number);
    put_slot(t->table, t->mask, timing_hash(x->parent, x->function, x->return_address) << 32 | number);
}

/* Keeps the table at most half full. */
static bool table_has_room(struct timer *t)
{
    if (2 * (t->used + 1) <= t->mask + 1)
        return true;
    uint64_t slots = 2 * (t->mask + 1);
    uint64_t *table = private_alloc(slots * sizeof *table);
    if (table == NULL)
        return false;
    for (uint64_t i = 0; i <= t->mask; i++)
        if (t->table[i] != 0)
            put_slot(table, slots - 1, t->table[i]);
    private_free(t->table, (t->mask + 1) * sizeof *table);
    t->table = table;
    t->mask = slots - 1;
    return true;
}

uint32_t make_timing(struct timer *t, uint32_t parent, uint32_t function, uintptr_t return_address, bool last_part)
{
    if ((!last_part && !arena_has_room(ROOM_STACKS)) || !table_has_room(t))
        return 0;
    arena_lock();
    bool counts = counters_used != 0; /* each timing has some */
    struct wire_timing *x = arena_reserve(WIRE_REGION_TIMINGS, sizeof *x);
    if (x != NULL && counts && arena_reserve(WIRE_REGION_COUNTS, sizeof *arena.counts) == NULL)
        x = NULL;
    if (x != NULL) {
        if (counts)
            arena_publish(WIRE_REGION_COUNTS, sizeof *arena.counts);
        *x = (struct wire_timing){.parent = parent, .function = function, .return_address = return_address, .thread = t->thread};
        memset(x->min, 0xFF, sizeof x->min);
        arena_publish(WIRE_REGION_TIMINGS, sizeof *x);
    }
    arena_unlock();
    if (x == NULL)
        return 0;
    uint32_t number = (uint32_t)(x - arena.timings) + 1;
    put_timing(t, number);
    t->used++;
    return number;
}

uint32_t find_or_make(struct timer *t, uint32_t parent, uint32_t function, uintptr_t return_address, bool last_part)
{
    uint32_t number = find_timing(t, parent, function, return_address);
    return number != 0 ? number : make_timing(t, parent, function, return_address, last_part);
}

void time_know(struct timer *t, uint32_t number)
{
    put_timing(t, number);
}

/* The row of a region to which *number refers, made if it is 0, with all bits as `fill`. NULL: no memory. */
static void *row_of(uint32_t region, void *rows, uint64_t size, uint32_t *number, int fill)
{
    if (*number == 0) {
        arena_lock();
        uint8_t *row = arena_reserve(region, size);
        if (row != NULL) {
            memset(row, fill, size / 2); /* zeroed: the second half is that of largest values */
            arena_publish(region, size);
            __atomic_store_n(number, (uint32_t)((uint64_t)(row - (uint8_t *)rows) / size) + 1, __ATOMIC_RELEASE);
        }
        arena_unlock();
    }
    return *number == 0 ? NULL : (uint8_t *)rows + (*number - 1) * size;
}

struct wire_waits *waits_of(uint32_t *number)
{
    return row_of(WIRE_REGION_WAITS, arena.waits, sizeof *arena.waits, number, 0);
}

struct wire_acted *acted_of(struct wire_timing *x)
{
    _Static_assert(sizeof arena.acted->min == sizeof *arena.acted / 2, "row_of fills the least values");
    return row_of(WIRE_REGION_ACTED, arena.acted, sizeof *arena.acted, &x->acted, 0xFF);
}

struct wire_inclusive *inclusive_of(struct wire_timing *x)
{
    return row_of(WIRE_REGION_INCLUSIVES, arena.inclusives, sizeof *arena.inclusives, &x->inclusive, 0);
}
