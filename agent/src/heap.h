/* The shadow of the GC heap: heap.c. */
#ifndef CLRPROF_HEAP_H
#define CLRPROF_HEAP_H

#include "agent.h"
#include "arch/arch.h"

struct shadow { /* at the place of an object; the words behind it are free up to the object's end */
    uint32_t site; /* number (index plus one), 0: no object begins here */
    uint32_t size; /* in units of 8 bytes: objects of 32 GiB and more are not followed */
    uint32_t born; /* GCs before its birth */
};

#define CHUNK_SHIFT 22u
#define CHUNK_WORDS (1u << (CHUNK_SHIFT - 3))
#define TABLE_SHIFT 34u
#define TABLE_CHUNKS (1u << (TABLE_SHIFT - CHUNK_SHIFT))
#define TABLES (1u << (ADDRESS_BITS - TABLE_SHIFT))

/* Behind its words, and those of an object that begins in the last of them, a chunk has a byte for each page of its shadow: may an
 * object begin there? Pages of gaps, and of what large objects cover, are not read. */
#define PAGE_WORDS 1024u
#define CHUNK_PAGES (CHUNK_WORDS / PAGE_WORDS)
#define SPILLED_WORDS 2u /* of an object that begins in a page's last one */

static inline uint8_t *heap_pages(uint32_t *chunk)
{
    return (uint8_t *)(chunk + CHUNK_WORDS + 16);
}

extern uint32_t **heap_tables[TABLES]; /* never NULL: where nothing is known they share an empty one */

bool heap_init(void);
void heap_forget(void);    /* gives its memory back: all reads as 0 */
uint32_t *heap_make_chunk(uintptr_t address);
uintptr_t heap_next(uintptr_t address, uintptr_t end); /* the first object at or after the address, or end */
/* The same of words of a chunk, by their indexes. */
uint64_t heap_skip(uint32_t *chunk, uint64_t from, uint64_t end);
void heap_erase(uint32_t *chunk, uint64_t from, uint64_t end);   /* nothing begins there any more */
void heap_emptied(uint32_t *chunk, uint64_t from, uint64_t end); /* the same, and its words are 0 */

/* The chunk around an address; NULL: there is none. */
static inline uint32_t *heap_chunk(uintptr_t address)
{
    if (UNLIKELY(address >> TABLE_SHIFT >= TABLES))
        return NULL;
    uint32_t **table = __atomic_load_n(&heap_tables[address >> TABLE_SHIFT], __ATOMIC_ACQUIRE);
    return __atomic_load_n(&table[(address >> CHUNK_SHIFT) & (TABLE_CHUNKS - 1)], __ATOMIC_ACQUIRE);
}

/* Where an object's shadow is; NULL: no memory. */
static inline struct shadow *heap_place(uintptr_t address)
{
    uint32_t *chunk = heap_chunk(address);
    if (UNLIKELY(chunk == NULL) && (chunk = heap_make_chunk(address)) == NULL)
        return NULL;
    uint32_t word = (uint32_t)(address >> 3) & (CHUNK_WORDS - 1);
    uint8_t *page = heap_pages(chunk) + word / PAGE_WORDS;
    if (UNLIKELY(*page == 0))
        *page = 1;
    return (struct shadow *)(void *)&chunk[word];
}

/* NULL: no object is known there. */
static inline struct shadow *heap_find(uintptr_t address)
{
    uint32_t *chunk = heap_chunk(address);
    struct shadow *s = chunk == NULL ? NULL : (struct shadow *)(void *)&chunk[(address >> 3) & (CHUNK_WORDS - 1)];
    return s == NULL || s->site == 0 ? NULL : s;
}

/* The words from an address to the end of its chunk or to `end`; *next is where to go on. NULL: no shadow there. */
static inline uint32_t *heap_span(uintptr_t address, uintptr_t end, uintptr_t *next)
{
    *next = ((address >> CHUNK_SHIFT) + 1) << CHUNK_SHIFT;
    if (*next > end)
        *next = end;
    uint32_t *chunk = heap_chunk(address);
    return chunk == NULL ? NULL : &chunk[(address >> 3) & (CHUNK_WORDS - 1)];
}

#endif
