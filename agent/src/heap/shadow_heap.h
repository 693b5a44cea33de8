/* The shadow of the GC heap: shadow_heap.c. */
#ifndef CLRPROF_HEAP_H
#define CLRPROF_HEAP_H

#include "core/agent.h"
#include "arch/arch.h"

struct shadow {
    uint32_t site; /* number (index plus one), 0: no object begins here */
    uint32_t size; /* in units of 8 bytes: objects of 32 GiB and more are not followed */
    uint32_t born; /* GCs before its birth */
};

#define CHUNK_SHIFT 22u
#define CHUNK_WORDS (1u << (CHUNK_SHIFT - 3))
#define TABLE_SHIFT 34u
#define TABLE_CHUNKS (1u << (TABLE_SHIFT - CHUNK_SHIFT))
#define TABLES (1u << (ADDRESS_BITS - TABLE_SHIFT))

/* Behind its words, and those of an object that begins in the last of them, a chunk has a byte for each page of its shadow: where is
 * what is known of the objects that begin there? In pages of gaps, and in what large objects cover, none does: they are not read. Where few
 * do, they have an entry each, in the order in which they were noted. The others of the page, and all if it was paid for before, have words. */
#define PAGE_WORDS 1024u
#define CHUNK_PAGES (CHUNK_WORDS / PAGE_WORDS)
#define SPILLED_WORDS 2u /* of an object that begins in a page's last one */
#define HAS_WORDS 1u
#define HAS_ENTRIES 2u
#define PAID 4u /* for its words: they may be touched */
#define PAGE_ENTRIES 8u /* objects of 1 KiB on average need no words, nor do those of 2 KiB with a small one each */

struct entry {
    struct shadow shadow;
    uint32_t word; /* of the chunk: where the object begins */
};

static inline uint8_t *heap_pages(uint32_t *chunk)
{
    return (uint8_t *)(chunk + CHUNK_WORDS + 16);
}

extern uint32_t **heap_tables[TABLES]; /* never NULL: where nothing is known they share an empty one */

bool heap_init(void);
void heap_forget(void);    /* gives its memory back: all reads as 0 */
uint32_t *heap_make_chunk(uintptr_t address);
struct shadow *heap_place_sparse(uint32_t *chunk, uint32_t word); /* in a page without words */
struct shadow *heap_entry(uint32_t *chunk, uint64_t word);        /* NULL: there is none */
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

/* Where an object's shadow is to be written; NULL: no memory. */
static inline struct shadow *heap_place(uintptr_t address)
{
    uint32_t *chunk = heap_chunk(address);
    if (UNLIKELY(chunk == NULL) && (chunk = heap_make_chunk(address)) == NULL)
        return NULL;
    uint32_t word = (uint32_t)(address >> 3) & (CHUNK_WORDS - 1);
    if (UNLIKELY((heap_pages(chunk)[word / PAGE_WORDS] & HAS_WORDS) == 0))
        return heap_place_sparse(chunk, word);
    return (struct shadow *)(void *)&chunk[word];
}

/* Of the object that begins at a word of a chunk; NULL: none is known there. */
static inline struct shadow *heap_at(uint32_t *chunk, uint64_t word)
{
    uint8_t has = heap_pages(chunk)[word / PAGE_WORDS];
    struct shadow *s = (struct shadow *)(void *)&chunk[word];
    if (LIKELY((has & HAS_WORDS) != 0 && s->site != 0))
        return s;
    return LIKELY((has & HAS_ENTRIES) == 0) ? NULL : heap_entry(chunk, word);
}

/* NULL: no object is known there. */
static inline struct shadow *heap_find(uintptr_t address)
{
    uint32_t *chunk = heap_chunk(address);
    return chunk == NULL ? NULL : heap_at(chunk, (address >> 3) & (CHUNK_WORDS - 1));
}

/* The end of the chunk around an address, or `end` if that comes first. */
static inline uintptr_t heap_chunk_end(uintptr_t address, uintptr_t end)
{
    uintptr_t next = ((address >> CHUNK_SHIFT) + 1) << CHUNK_SHIFT;
    return next < end ? next : end;
}

#endif
