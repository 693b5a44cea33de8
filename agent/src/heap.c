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
 * The shadow is kept in chunks of 4 MiB of heap, and those in tables of 16 GiB, which cover the 47 bits of user addresses.
 * (One table of all chunks would be 256 MiB of nothing that dumps and mlockall take for something.) A chunk has room behind
 * its end for the words of an object that begins in its last 16 bytes. Limits: five eighths of the agent's memory limit, and
 * with all else seven, so that stacks, new threads and sites are still counted; beyond it objects are counted as allocated, and
 * as lost to lifetime. */
#define _GNU_SOURCE
#include "arena.h"
#include "events.h"
#include "heap.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#define CHUNK_BYTES ((CHUNK_WORDS + 1024u) * 4u) /* one page more, for an object that begins at the end */

uint32_t **heap_tables[TABLES];
static uint32_t *no_chunks[TABLE_CHUNKS];
static uint32_t n_chunks;

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

COLD uint32_t *heap_make_chunk(uintptr_t address)
{
    int saved_errno = errno; /* the warm path does not keep it */
    const struct wire_header *h = arena.header;
    uint64_t used = __atomic_load_n(&h->shared_bytes, __ATOMIC_RELAXED) + __atomic_load_n(&h->private_bytes, __ATOMIC_RELAXED);
    if (address >> TABLE_SHIFT >= TABLES || used + CHUNK_BYTES > h->memory_limit / 8 * 7 || (n_chunks + UINT64_C(1)) * CHUNK_BYTES > h->memory_limit / 8 * 5)
        return NULL; /* see above */
    arena_lock();
    uint32_t *chunk = heap_chunk(address), **table = chunk != NULL ? NULL : make_table(address);
    if (table != NULL && (chunk = private_alloc(CHUNK_BYTES)) != NULL) {
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

/* A thread may be about to write to it, so its addresses stay. */
void heap_forget(void)
{
    for (uint32_t i = 0; i < TABLES; i++)
        for (uint32_t k = 0; heap_tables[i] != NULL && heap_tables[i] != no_chunks && k < TABLE_CHUNKS; k++)
            if (heap_tables[i][k] != NULL)
                madvise(heap_tables[i][k], CHUNK_BYTES, MADV_DONTNEED);
}

uint64_t heap_skip(uint32_t *chunk, uint64_t from, uint64_t end)
{
    const uint8_t *pages = heap_pages(chunk);
    while (from < end) {
        uint64_t stop = (from | (PAGE_WORDS - 1)) + 1, pair;
        if (pages[from / PAGE_WORDS] == 0) {
            from = stop;
            continue;
        }
        stop = stop < end ? stop : end;
        while (from < stop && chunk[from] == 0) /* gaps can be long: two words at a time */
            from += from + 2 <= stop && (memcpy(&pair, &chunk[from], sizeof pair), pair == 0) ? 2 : 1;
        if (from < stop)
            return from;
    }
    return end;
}

void heap_emptied(uint32_t *chunk, uint64_t from, uint64_t end)
{
    uint64_t first = (from + PAGE_WORDS - 1) / PAGE_WORDS, last = end / PAGE_WORDS;
    if (first < last)
        memset(heap_pages(chunk) + first, 0, last - first);
}

void heap_erase(uint32_t *chunk, uint64_t from, uint64_t end)
{
    for (uint64_t at = from, stop; at < end; at = stop) {
        stop = (at | (PAGE_WORDS - 1)) + 1;
        stop = stop < end ? stop : end;
        if (heap_pages(chunk)[at / PAGE_WORDS] == 0)
            continue;
        uint64_t spilled = stop == CHUNK_WORDS || end - stop > SPILLED_WORDS ? SPILLED_WORDS : end - stop;
        memset(chunk + at, 0, (stop - at + spilled) * sizeof *chunk);
    }
    heap_emptied(chunk, from, end);
}

uintptr_t heap_next(uintptr_t address, uintptr_t end)
{
    uintptr_t next;
    for (; address < end; address = next) {
        uint32_t *chunk = heap_chunk(address);
        heap_span(address, end, &next);
        if (chunk == NULL)
            continue;
        uint64_t first = (address >> 3) & (CHUNK_WORDS - 1), n = first + ((next - address) >> 3), at = heap_skip(chunk, first, n);
        if (at < n)
            return address + ((at - first) << 3);
    }
    return end;
}
