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
 * shadow of a generation meets exactly the objects that were alive after the last GC and those born since.
 *
 * The shadow is kept in chunks of 4 MiB of heap; the table of chunks covers the 47 bits of user addresses and is only
 * backed by memory where it is used. A chunk has room behind its end for the words of an object that begins in its
 * last 16 bytes. Limits: seven eighths of the agent's memory limit, so that new threads and sites are still counted; beyond
 * it objects are counted as allocated, and as lost to lifetime. */
#define _GNU_SOURCE
#include "agent.h"

#include <string.h>
#include <sys/mman.h>

#define CHUNK_BYTES ((CHUNK_WORDS + 1024u) * 4u) /* one page more, for an object that begins at the end */

uint32_t **heap_chunks;

bool heap_init(void)
{
    void *p = mmap(NULL, CHUNKS * sizeof *heap_chunks, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        return false;
    heap_chunks = p;
    return true;
}

COLD uint32_t *heap_make_chunk(uint64_t index)
{
    const struct wire_header *h = arena.header;
    uint64_t used = __atomic_load_n(&h->shared_bytes, __ATOMIC_RELAXED) + __atomic_load_n(&h->private_bytes, __ATOMIC_RELAXED);
    if (index >= CHUNKS || used + CHUNK_BYTES > h->memory_limit / 8 * 7) /* see above */
        return NULL;
    arena_lock();
    uint32_t *chunk = heap_chunks[index];
    if (chunk == NULL && (chunk = private_alloc(CHUNK_BYTES)) != NULL)
        __atomic_store_n(&heap_chunks[index], chunk, __ATOMIC_RELEASE);
    arena_unlock();
    return chunk;
}

uintptr_t heap_next(uintptr_t address, uintptr_t end)
{
    uintptr_t next;
    for (; address < end; address = next) {
        const uint32_t *words = heap_span(address, end, &next);
        if (words == NULL)
            continue;
        size_t n = (next - address) / 8, i = 0;
        while (i < n && words[i] == 0) {
            uint64_t pair; /* gaps can be long: two words at a time */
            if (i + 2 <= n && (memcpy(&pair, &words[i], sizeof pair), pair == 0))
                i += 2;
            else
                i++;
        }
        if (i < n)
            return address + 8 * i;
    }
    return end;
}
