/* Many short threads share ids.
 *
 * Problem: each thread has sites and timings of its own. A program that begins a thread for each piece of work has tens of
 * thousands of them in an hour, and the arena would hold a copy of all sites for each.
 *
 * Idea: the first threads have an id each. Later ones join a set: threads of one name that run one after the other, with one
 * id. What the thread before left, its state with the index of its sites, and its timings, is what the next one goes on with.
 * So nothing is copied, counters have one writer at a time, objects that are still alive belong to the site that they always
 * had, and the number of ids is bounded by that of the threads which run at the same time. Threads of the same name that do
 * run at the same time are in several sets.
 *
 * Whose name it is, is what was reported before the thread began to count for anything: a later name changes nothing. There are
 * only so many names that are kept apart. Threads of all others share sets too. */
#include "core/arena.h"
#include "core/hash_map.h"
#include "threads/thread_sets.h"

#ifndef MAX_OWN_IDS /* tests set it */
#define MAX_OWN_IDS 1000u /* threads with an id of their own: more rows than anybody reads */
#endif
#define FEW_IDS 64u       /* so many threads have one of their own even if that takes */
#define SHARE_OF_IDS 4u   /* this part of the memory limit */
#define MAX_NAMES 1024u   /* names that are kept apart, with those two: */
#define NAME_NONE 0u
#define NAME_SEVERAL 1u
#define FIRST_SLOTS 64u
#define OWN (UINT64_C(1) << 32) /* in `managed` */
#define KNOWN (UINT64_C(1) << 33)

static struct map managed; /* ThreadID → KNOWN, OWN, number of its name */
static struct map numbers; /* hash of a name → its number */
static struct {
    uint64_t at; /* as in the row */
    struct thread_set *idle;
} names[MAX_NAMES];
static uint32_t n_names = NAME_SEVERAL + 1;
static bool folding, managed_full;

bool thread_sets_init(void)
{
    return map_init(&managed, FIRST_SLOTS, false) && map_init(&numbers, FIRST_SLOTS, false);
}

void thread_sets_close(void)
{
    map_close(&managed);
    map_close(&numbers);
}

bool threads_fold(void)
{
    static const uint32_t regions[] = {WIRE_REGION_SITES, WIRE_REGION_DEATHS, WIRE_REGION_AGES, WIRE_REGION_TIMINGS, WIRE_REGION_WAITS};
    const struct wire_header *h = arena.header;
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < sizeof regions / sizeof *regions; i++)
        bytes += h->regions[regions[i]].used;
    folding = folding || h->threads >= MAX_OWN_IDS || (h->threads >= FEW_IDS && bytes > h->memory_limit / SHARE_OF_IDS);
    return folding;
}

static void note(uintptr_t thread, uint64_t value)
{
    if (thread != 0 && !map_put(&managed, thread, value | KNOWN))
        managed_full = true;
}

static uint64_t known(uintptr_t thread)
{
    return thread == 0 ? 0 : map_get(&managed, thread);
}

void thread_own(uintptr_t thread)
{
    note(thread, known(thread) | OWN);
}

/* Those that had no room in the map count as such: a record too many does no harm. */
bool thread_is_own(uintptr_t thread)
{
    uint64_t value = known(thread);
    return (value & OWN) != 0 || (value == 0 && managed_full);
}

void thread_forget(uintptr_t thread)
{
    if (known(thread) != 0)
        map_forget(&managed, thread);
}

uint64_t thread_name_hash(const utf16 *name, uint32_t length)
{
    uint64_t hash = KEY_START;
    for (uint32_t i = 0; i < length; i++)
        hash = key_add(hash, name[i]);
    /* Murmur3's last steps */
    hash = (hash ^ hash >> 33) * UINT64_C(0xff51afd7ed558ccd);
    return length == 0 ? 0 : hash | 1;
}

bool thread_name_needed(uintptr_t thread, uint64_t hash)
{
    bool is_new = hash != 0 && n_names < MAX_NAMES && map_get(&numbers, hash) == 0;
    return !threads_fold() || thread_is_own(thread) || is_new;
}

void thread_name_reported(uintptr_t thread, uint64_t hash, uint64_t at)
{
    uint64_t number = hash == 0 ? NAME_NONE : map_get(&numbers, hash);
    if (hash != 0 && number == 0) {
        number = NAME_SEVERAL;
        if (at != 0 && n_names < MAX_NAMES && map_put(&numbers, hash, n_names)) {
            names[n_names].at = at;
            number = n_names++;
        }
    }
    note(thread, (known(thread) & OWN) | number);
}

static struct thread_set *make_set(uint32_t name, uint32_t id)
{
    struct thread_set *s = private_alloc(sizeof *s);
    struct wire_thread_set *row = s == NULL ? NULL : arena_reserve(WIRE_REGION_THREAD_SETS, sizeof *row);
    if (row == NULL) {
        if (s != NULL)
            private_free(s, sizeof *s);
        return NULL;
    }
    *row = (struct wire_thread_set){.thread = id, .several = name == NAME_SEVERAL, .name_at = names[name].at, .begin_ns = monotonic_ns()};
    arena_publish(WIRE_REGION_THREAD_SETS, sizeof *row);
    arena.header->threads = id;
    s->row = row;
    s->name = name;
    return s;
}

struct thread_set *thread_set_join(uintptr_t thread, uint32_t id, uint32_t os_id)
{
    uint32_t name = (uint32_t)known(thread);
    struct thread_set *s = names[name].idle;
    if (s != NULL)
        names[name].idle = s->next;
    else if ((s = make_set(name, id)) == NULL)
        return NULL;
    __atomic_store_n(&s->row->osid, os_id, __ATOMIC_RELAXED);
    __atomic_store_n(&s->row->end_ns, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&s->row->threads, s->row->threads + 1, __ATOMIC_RELEASE);
    return s;
}

void thread_set_leave(struct thread_set *s)
{
    __atomic_store_n(&s->row->end_ns, monotonic_ns(), __ATOMIC_RELAXED);
    s->next = names[s->name].idle;
    names[s->name].idle = s;
}
