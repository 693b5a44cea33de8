/* Allocations that come again: see recent.c. What each allocation does is here, so that it is one piece of code. */
#ifndef CLRPROF_RECENT_H
#define CLRPROF_RECENT_H

#include "agent.h"

#include <emmintrin.h>

/* All bits are set as long as each pair of words was the expected one. */
READS_STACK static inline __m128i still(__m128i equal, uintptr_t pair, __m128i expected)
{
    return _mm_and_si128(equal, _mm_cmpeq_epi32(_mm_loadu_si128((const __m128i *)pair), expected));
}

static inline __m128i words(const uintptr_t *pair)
{
    return _mm_loadu_si128((const __m128i *)(const void *)pair);
}

static inline __m128i frame_still(__m128i equal, const struct frame *f)
{
    return still(equal, f->fp, words(&f->next));
}

static inline __m128i four_still(__m128i equal, const struct frame *f)
{
    return frame_still(frame_still(frame_still(frame_still(equal, f), f + 1), f + 2), f + 3);
}

#define ALL_EQUAL(x) (_mm_movemask_epi8(x) == 0xFFFF)

/* Do the runtime's frames lead from fp as they did? Then the address of the first pair behind them, else 0. */
static inline uintptr_t approach_end(const struct thread *t, const struct approach *e, uintptr_t fp)
{
    uint64_t n = e->n, end = e->links[n].next;
    if (UNLIKELY(n == 0 || t->stack_high - fp < end + 16))
        return 0;
    __m128i equal = _mm_set1_epi8(-1), at = _mm_set_epi64x(0, (long long)fp);
    for (uint64_t i = 1; i <= n; i++)
        equal = still(equal, fp + e->links[i - 1].next, _mm_add_epi64(at, words(&e->links[i].next)));
    return ALL_EQUAL(equal) ? fp + end : 0;
}

/* The same, whichever way it is; it is t->approach then. */
static inline uintptr_t approach_known(struct thread *t, uintptr_t fp)
{
    uintptr_t at = 0;
    for (struct approach *e = t->approaches; e < t->approaches + APPROACHES && at == 0; e++)
        if ((at = approach_end(t, e, fp)) != 0)
            t->approach = e;
    return at;
}

/* Are the kept frames and skips as they were? */
READS_STACK static inline bool kept_hold(const struct thread *t, uint32_t from, uint32_t frames, uint32_t skip, uint32_t skips)
{
    const struct frame *f = t->frames;
    uintptr_t different = 0;
    __m128i equal = _mm_set1_epi8(-1);
    for (; frames - from >= 4; from += 4)
        equal = four_still(equal, &f[from]);
    for (; from < frames; from++)
        equal = frame_still(equal, &f[from]);
    for (uint32_t i = skip; i < skips; i++)
        different |= *(const uintptr_t *)t->skips[i].slot ^ t->skips[i].ret;
    return ALL_EQUAL(equal) && different == 0;
}

/* Is all of the stack that begins at `at` as it was with this allocation? What changes most is looked at first. */
READS_STACK static inline bool recent_holds(const struct thread *t, const struct recent *r, uintptr_t at, uintptr_t class_id)
{
    if (r->class_id != class_id || r->innermost != at)
        return false;
    uintptr_t different = 0;
    __m128i equal = _mm_set1_epi8(-1);
    for (uint32_t i = 0; i < r->n_links; i++)
        equal = still(equal, r->links[i].fp, words(&r->links[i].next));
    for (uint32_t i = 0; i < r->n_slots; i++)
        different |= *(const uintptr_t *)r->slots[i].slot ^ r->slots[i].ret;
    uint32_t inner = r->n_frames;
    if (LIKELY(inner - r->near_frame >= 4)) {
        inner -= 4;
        equal = four_still(equal, &t->frames[inner]);
    }
    return ALL_EQUAL(equal) && different == 0 && kept_hold(t, r->near_frame, inner, r->near_skip, r->n_skips);
}

/* This one is it. */
static inline struct recent *recent_met(struct thread *t, struct recent *r)
{
    r->credit = RECENT_CREDIT;
    r->met = true;
    t->leaf = r->leaf;
    t->last = r;
    t->expected = r->next;
    return r;
}

#endif
