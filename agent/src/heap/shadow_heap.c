/* The shadow heap: for each object of the GC heap its site, size and the GC before which it was born.
 *
 * Problem: an ObjectID is an address, and the GC moves objects. A table of objects would have to be searched and sorted
 * at each GC.
 *
 * Idea: every object takes at least 24 bytes, so a shadow with one 32-bit word for each 8 bytes of heap has at least
 * three words for each object: its site's number, its size in 8-byte units, and the number of GCs before its birth.
 * Noting an allocation is three stores to memory that is written from one end to the other, as the heap is.
 *
 * A word is 0 where no object begins. The dead are erased as soon as a GC has found them, so that a walk over the
 * shadow of a generation meets exactly the objects that were alive after the last GC and those born since. Pages in which
 * none begins are not read (heap_pages): a walk takes as long as there are objects, not as much heap as there is.
 *
 * Words alone would take half of the heap whatever is on it: as much for one array of 10 KB as for 400 small objects. So the first
 * objects of a page have entries at its side, and memory is paid for by the page, when it is first touched (`PAID`). A page that
 * was paid for has words at once when it is used again.
 *
 * The shadow is kept in chunks of 4 MiB of heap, and those in tables of 16 GiB, which cover the 47 bits of user addresses.
 * (One table of all chunks would be 256 MiB of nothing that dumps and mlockall take for something.) A chunk has room behind
 * its end for the words of an object that begins in its last 16 bytes. Limits: five eighths of the agent's memory limit, and
 * with all else seven, so that stacks, new threads and sites are still counted; beyond it objects are counted as allocated, and
 * as lost to lifetime. (Words that spill over into a page that is not paid for are not counted.) */
#define _GNU_SOURCE
#include "core/arena.h"
#include "heap/eventpipe_gc.h"
#include "heap/shadow_heap.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#define ENTRY_WORDS (CHUNK_WORDS + 1024u) /* entries are behind one page more: for an object that begins at the end, and what pages have */
#define CHUNK_BYTES (ENTRY_WORDS * 4u + CHUNK_PAGES * PAGE_ENTRIES * (uint32_t)sizeof(struct entry))
#define PAID_BYTES 4096u                  /* at once: a page of the system's, or there is more memory than is counted */
#define MOST_LEFT (UINT64_C(2) << 20)     /* of these shares: the next collection notes what moves */
#define CLAIMED 1u /* site of an entry, until its taker writes to it */

uint32_t **heap_tables[TABLES];
static uint32_t *no_chunks[TABLE_CHUNKS];
static uint32_t n_chunks;
static uint64_t paid_bytes;

bool heap_init(void)
{
    for (uint32_t i = 0; i < TABLES; i++)
        heap_tables[i] = no_chunks;
    return true;
}

/* With the lock held: the table around an address; NULL: no memory. */
static uint32_t **make_table(uintptr_t address)
{
    uint32_t ***table = &heap_tables[address >> TABLE_SHIFT], **made = *table;
    if (made != no_chunks)
        return made;
    made = private_alloc(TABLE_CHUNKS * sizeof *made);
    if (made != NULL)
        __atomic_store_n(table, made, __ATOMIC_RELEASE);
    return made;
}

static bool is_within_limits(void)
{
    const struct wire_header *h = arena.header;
    uint64_t used = __atomic_load_n(&h->shared_bytes, __ATOMIC_RELAXED) + __atomic_load_n(&h->private_bytes, __ATOMIC_RELAXED);
    uint64_t left = h->memory_limit / 16 < MOST_LEFT ? h->memory_limit / 16 : MOST_LEFT;
    return used + left <= h->memory_limit / 8 * 7 && __atomic_load_n(&paid_bytes, __ATOMIC_RELAXED) + left <= h->memory_limit / 8 * 5; /* see above */
}

/* With the lock held. */
static bool pay(void)
{
    if (!is_within_limits() || !private_pay(PAID_BYTES))
        return false;
    __atomic_store_n(&paid_bytes, paid_bytes + PAID_BYTES, __ATOMIC_RELAXED);
    return true;
}

COLD uint32_t *heap_make_chunk(uintptr_t address)
{
    int saved_errno = errno; /* the warm path does not keep it */
    if (address >> TABLE_SHIFT >= TABLES || !is_within_limits())
        return NULL;
    arena_lock();
    uint32_t *chunk = heap_chunk(address), **table = chunk != NULL ? NULL : make_table(address);
    if (table != NULL && (chunk = private_reserve(CHUNK_BYTES)) != NULL && !pay())
        chunk = NULL; /* its addresses are lost, once: others have taken the last memory meanwhile */
    if (table != NULL && chunk != NULL) {
        __atomic_store_n(&table[(address >> CHUNK_SHIFT) & (TABLE_CHUNKS - 1)], chunk, __ATOMIC_RELEASE);
        n_chunks++;
    }
    bool many = n_chunks >= EVENTS_CHUNKS;
    arena_unlock();
    if (many)
        events_want();
    errno = saved_errno;
    return chunk;
}

/* ── pages with few objects ─────────────────────────────────────────────────────────────────────────────────── */

static struct entry *entries_of(uint32_t *chunk, uint64_t page)
{
    return (struct entry *)(void *)(chunk + ENTRY_WORDS) + page * PAGE_ENTRIES;
}

/* Behind the bytes of the pages: are the entries of so many pages, which lie in one page of the system's, paid for? */
static uint8_t *paid_of_entries(uint32_t *chunk, uint64_t page)
{
    return heap_pages(chunk) + CHUNK_PAGES + page * PAGE_ENTRIES * sizeof(struct entry) / PAID_BYTES;
}

static bool is_paid(uint8_t *paid)
{
    if ((__atomic_load_n(paid, __ATOMIC_ACQUIRE) & PAID) != 0)
        return true;
    if (!is_within_limits())
        return false; /* each object asks: without the lock */
    int saved_errno = errno;
    arena_lock();
    bool now = (*paid & PAID) != 0 || pay();
    if (now)
        __atomic_fetch_or(paid, PAID, __ATOMIC_RELEASE);
    arena_unlock();
    errno = saved_errno;
    return now;
}

/* Takes an entry that is free; other threads may take theirs. */
static struct shadow *take_entry(uint32_t *chunk, uint32_t word, uint8_t *page)
{
    struct entry *e = entries_of(chunk, word / PAGE_WORDS);
    for (uint32_t i = 0; i < PAGE_ENTRIES; i++, e++) {
        uint32_t none = 0;
        if (__atomic_load_n(&e->shadow.site, __ATOMIC_RELAXED) != 0 ||
            !__atomic_compare_exchange_n(&e->shadow.site, &none, CLAIMED, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
            continue;
        e->word = word;
        if ((__atomic_load_n(page, __ATOMIC_RELAXED) & HAS_ENTRIES) == 0)
            __atomic_fetch_or(page, HAS_ENTRIES, __ATOMIC_RELEASE);
        return &e->shadow;
    }
    return NULL;
}

struct shadow *heap_place_sparse(uint32_t *chunk, uint32_t word)
{
    uint8_t *page = heap_pages(chunk) + word / PAGE_WORDS;
    bool has_entries = (__atomic_load_n(page, __ATOMIC_RELAXED) & PAID) == 0 && is_paid(paid_of_entries(chunk, word / PAGE_WORDS));
    struct shadow *s = has_entries ? take_entry(chunk, word, page) : NULL;
    if (s != NULL || !is_paid(page))
        return s;
    __atomic_fetch_or(page, HAS_WORDS, __ATOMIC_RELEASE);
    return (struct shadow *)(void *)&chunk[word];
}

struct shadow *heap_entry(uint32_t *chunk, uint64_t word)
{
    struct entry *e = entries_of(chunk, word / PAGE_WORDS);
    for (uint32_t i = 0; i < PAGE_ENTRIES; i++)
        if (e[i].word == word && e[i].shadow.site != 0)
            return &e[i].shadow;
    return NULL;
}

/* The first object of a page that has an entry and begins at or after a word; `end`: none does before that. */
static uint64_t next_entry(uint32_t *chunk, uint64_t from, uint64_t end)
{
    const struct entry *e = entries_of(chunk, from / PAGE_WORDS);
    for (uint32_t i = 0; i < PAGE_ENTRIES; i++)
        if (e[i].shadow.site != 0 && e[i].word >= from && e[i].word < end)
            end = e[i].word;
    return end;
}

static void erase_entries(uint32_t *chunk, uint64_t from, uint64_t end)
{
    struct entry *e = entries_of(chunk, from / PAGE_WORDS);
    for (uint32_t i = 0; i < PAGE_ENTRIES; i++)
        if (e[i].word >= from && e[i].word < end)
            e[i].shadow.site = 0;
}

/* ── all of it ──────────────────────────────────────────────────────────────────────────────────────────────── */

/* A thread may be about to write to it, so its addresses stay. */
void heap_forget(void)
{
    for (uint32_t i = 0; i < TABLES; i++)
        for (uint32_t k = 0; heap_tables[i] != NULL && heap_tables[i] != no_chunks && k < TABLE_CHUNKS; k++)
            if (heap_tables[i][k] != NULL)
                madvise(heap_tables[i][k], CHUNK_BYTES, MADV_DONTNEED);
}

#define EIGHT_PAGES UINT64_C(0x0101010101010101) /* what one byte says, of eight */

/* The first page from one on in which an object may begin: most of a large heap can be few objects. */
static uint64_t next_page(const uint8_t *pages, uint64_t page)
{
    uint64_t eight;
    while (page < CHUNK_PAGES && (pages[page] & (HAS_WORDS | HAS_ENTRIES)) == 0)
        page += page % 8 == 0 && (memcpy(&eight, &pages[page], sizeof eight), eight & (HAS_WORDS | HAS_ENTRIES) * EIGHT_PAGES) == 0 ? 8 : 1;
    return page;
}

uint64_t heap_skip(uint32_t *chunk, uint64_t from, uint64_t end)
{
    while (from < end) {
        uint8_t has = heap_pages(chunk)[from / PAGE_WORDS];
        uint64_t stop = (from | (PAGE_WORDS - 1)) + 1, pair;
        if ((has & (HAS_WORDS | HAS_ENTRIES)) == 0) {
            from = next_page(heap_pages(chunk), from / PAGE_WORDS + 1) * PAGE_WORDS;
            continue;
        }
        stop = stop < end ? stop : end;
        uint64_t first = (has & HAS_ENTRIES) != 0 ? next_entry(chunk, from, stop) : stop;
        if ((has & HAS_WORDS) == 0)
            from = first;
        while (from < first && chunk[from] == 0) /* gaps can be long: two words at a time */
            from += from + 2 <= first && (memcpy(&pair, &chunk[from], sizeof pair), pair == 0) ? 2 : 1;
        if (from < stop)
            return from;
    }
    return end;
}

void heap_emptied(uint32_t *chunk, uint64_t from, uint64_t end)
{
    uint8_t *pages = heap_pages(chunk);
    uint64_t page = (from + PAGE_WORDS - 1) / PAGE_WORDS, eight;
    while (page < end / PAGE_WORDS) {
        if (page % 8 != 0 || end / PAGE_WORDS - page < 8) {
            pages[page++] &= PAID;
            continue;
        }
        memcpy(&eight, &pages[page], sizeof eight);
        eight &= PAID * EIGHT_PAGES;
        memcpy(&pages[page], &eight, sizeof eight);
        page += 8;
    }
}

void heap_erase(uint32_t *chunk, uint64_t from, uint64_t end)
{
    for (uint64_t at = from, stop; at < end; at = stop) {
        uint8_t has = heap_pages(chunk)[at / PAGE_WORDS];
        stop = (at | (PAGE_WORDS - 1)) + 1;
        if ((has & (HAS_WORDS | HAS_ENTRIES)) == 0) {
            stop = next_page(heap_pages(chunk), at / PAGE_WORDS + 1) * PAGE_WORDS;
            continue;
        }
        stop = stop < end ? stop : end;
        uint64_t spilled = stop == CHUNK_WORDS || end - stop > SPILLED_WORDS ? SPILLED_WORDS : end - stop;
        if ((has & HAS_WORDS) != 0)
            memset(chunk + at, 0, (stop - at + spilled) * sizeof *chunk);
        if ((has & HAS_ENTRIES) != 0)
            erase_entries(chunk, at, stop);
    }
    heap_emptied(chunk, from, end);
}

uintptr_t heap_next(uintptr_t address, uintptr_t end)
{
    uintptr_t next;
    for (; address < end; address = next) {
        uint32_t *chunk = heap_chunk(address);
        next = heap_chunk_end(address, end);
        if (chunk == NULL)
            continue;
        uint64_t first = (address >> 3) & (CHUNK_WORDS - 1), n = first + ((next - address) >> 3), at = heap_skip(chunk, first, n);
        if (at < n)
            return address + ((at - first) << 3);
    }
    return end;
}
