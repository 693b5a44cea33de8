/* Allocations that come again: see recent_stacks.c. What each allocation does is here, so that it is one piece of code. */
#ifndef CLRPROF_RECENT_H
#define CLRPROF_RECENT_H

#include "arch/arch.h"
#include "threads/threads.h"

static inline word_pair frame_still(word_pair same, const struct frame *f)
{
    return pair_still(same, f->fp, pair_at(&f->next));
}

static inline word_pair four_still(word_pair same, const struct frame *f)
{
    return frame_still(frame_still(frame_still(frame_still(same, f), f + 1), f + 2), f + 3);
}

/* Do the runtime's frames lead from fp as they did? Then the address of the first pair behind them, else 0. */
static inline uintptr_t approach_end(const struct thread *t, const struct approach *e, uintptr_t fp)
{
    uint64_t n = e->n, end = e->links[n].next;
    if (UNLIKELY(n == 0 || t->stack_high - fp < end + 16))
        return 0;
    word_pair same = PAIRS_SAME, at = pair_of(fp, 0);
    for (uint64_t i = 1; i <= n; i++)
        same = pair_still(same, fp + e->links[i - 1].next, pair_sum(at, pair_at(&e->links[i].next)));
    return are_same(same) ? fp + end : 0;
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
    word_pair same = PAIRS_SAME;
    for (; frames - from >= 4; from += 4)
        same = four_still(same, &f[from]);
    for (; from < frames; from++)
        same = frame_still(same, &f[from]);
    for (uint32_t i = skip; i < skips; i++)
        different |= *(const uintptr_t *)t->skips[i].slot ^ t->skips[i].ret;
    return are_same(same) && different == 0;
}

/* Is all of the stack that begins at `at` as it was with this allocation? What changes most is looked at first. */
READS_STACK static inline bool recent_holds(const struct thread *t, const struct recent *r, uintptr_t at, uintptr_t class_id)
{
    if (r->class_id != class_id || r->innermost != at)
        return false;
    uintptr_t different = 0;
    word_pair same = PAIRS_SAME;
    for (uint32_t i = 0; i < r->n_links; i++)
        same = pair_still(same, r->links[i].fp, pair_at(&r->links[i].next));
    for (uint32_t i = 0; i < r->n_slots; i++)
        different |= *(const uintptr_t *)r->slots[i].slot ^ r->slots[i].ret;
    uint32_t inner = r->n_frames;
    if (LIKELY(inner - r->near_frame >= 4)) {
        inner -= 4;
        same = four_still(same, &t->frames[inner]);
    }
    return are_same(same) && different == 0 && kept_hold(t, r->near_frame, inner, r->near_skip, r->n_skips);
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

void recents_forget(struct thread *t);
void recents_cut(struct thread *t, uint32_t frames, uint32_t skips); /* no more of the kept stack stays than so many */
void recents_add(struct thread *t, uintptr_t class_id, const struct class_info *c, struct wire_site *site, uintptr_t innermost);
/* Called in a garbage collection: note gets the sites of the kept stacks that were met since the collection before, whose counts may
 * go on changing until the next one. Stacks that were not met are forgotten. */
void recents_note(struct thread *t, void (*note)(uint32_t site));

#endif
