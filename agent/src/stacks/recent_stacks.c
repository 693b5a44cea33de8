/* Allocations that come again.
 *
 * Problem: a loop that allocates at several places changes its stack with every allocation, a little. Finding out what is
 * different, and what node and site that makes, costs several times what it costs to see that all is as it was.
 *
 * Idea: a thread remembers RECENT allocations with what they were counted for. Each has its own innermost frames, and shares the
 * rest with the kept stack (stack_walk.c): so many of the kept frames are its own too. When the kept stack is cut to fewer frames,
 * those that remembered stacks still need are given to them, a few; what needs more is forgotten. Which one comes next is what
 * came next before, and whatever is expected is compared: class, and all of the stack.
 *
 * An allocation is remembered when its site comes the second time (`seen`); one that does not come for a while makes room.
 * The newest is always remembered, so that one that is repeated at once is warm, too.
 *
 * The way from compiled code through the runtime to the agent is the same for many stacks, at other addresses. It is remembered
 * by distances and return addresses (struct approach), compared as a whole, and no part of the kept stack. */
#include "core/arena.h"
#include "stacks/recent_stacks.h"
#include "threads/threads.h"

static void forget(struct thread *t, struct recent *r)
{
    r->class_id = 0;
    t->remembered &= ~(1u << (r - t->recent));
}

void recents_forget(struct thread *t)
{
    for (uint32_t i = 0; i < RECENT; i++)
        forget(t, &t->recent[i]);
    t->shared_frames = t->shared_skips = 0;
    t->last = t->expected = t->recent;
    t->approach = t->approaches;
    t->recent[0].next = t->recent;
    t->recent[0].approach = t->approaches;
}

/* Gives a remembered stack what the kept one has behind so many frames and skips. */
static void give(struct thread *t, struct recent *r, uint32_t frames, uint32_t skips)
{
    frames = r->n_frames < frames ? r->n_frames : frames;
    skips = r->n_skips < skips ? r->n_skips : skips;
    if (r->n_links + r->n_frames - frames > RECENT_LINKS || r->n_slots + r->n_skips - skips > RECENT_LINKS) {
        forget(t, r);
        return;
    }
    for (; r->n_frames > frames; r->n_links++) {
        const struct frame *f = &t->frames[--r->n_frames];
        r->links[r->n_links].fp = f->fp;
        r->links[r->n_links].next = f->next;
        r->links[r->n_links].ret = f->ret;
    }
    for (; r->n_skips > skips; r->n_slots++) {
        const struct skip *k = &t->skips[--r->n_skips];
        r->slots[r->n_slots].slot = k->slot;
        r->slots[r->n_slots].ret = k->ret;
    }
}

void recents_cut(struct thread *t, uint32_t frames, uint32_t skips)
{
    forget(t, &t->recent[0]);
    if (LIKELY(t->shared_frames <= frames && t->shared_skips <= skips))
        return;
    for (uint32_t i = 1; i < RECENT; i++)
        if (t->recent[i].class_id != 0)
            give(t, &t->recent[i], frames, skips);
    t->shared_frames = frames;
    t->shared_skips = skips;
}

/* Where one that came again is remembered: in place of one that has not come for a while, or as if it had not. */
static struct recent *make_room(struct thread *t)
{
    struct recent *r = &t->recent[t->next_recent + 1];
    t->next_recent = (t->next_recent + 1) % (RECENT - 1);
    if (r->class_id != 0 && r->credit-- != 0)
        return t->recent;
    t->shared_frames = t->n_frames;
    t->shared_skips = t->n_skips;
    return r;
}

void recents_add(struct thread *t, uintptr_t class_id, const struct class_info *c, struct wire_site *site, uintptr_t innermost)
{
    uint32_t number = (uint32_t)(site - arena.sites) + 1, *seen = &t->seen[number % SEEN_SLOTS];
    struct recent *r = *seen == number ? make_room(t) : t->recent;
    *seen = number;
    r->class_id = class_id;
    r->site = site;
    r->base = c->base;
    r->component = c->component;
    r->leaf = t->leaf;
    r->timing = t->innermost;
    r->approach = t->approach;
    r->credit = RECENT_CREDIT;
    r->met = true;
    r->innermost = innermost;
    r->near_frame = t->near_frame;
    r->near_skip = t->near_skip;
    r->n_frames = t->n_frames;
    r->n_skips = t->n_skips;
    r->n_links = r->n_slots = 0;
    t->remembered |= 1u << (r - t->recent);
    t->last->next = r;
    t->last = t->expected = r->next = r;
}

void recents_note(struct thread *t, void (*note)(uint32_t site))
{
    for (uint32_t all = t->remembered; all != 0; all &= all - 1) {
        struct recent *r = &t->recent[__builtin_ctz(all)];
        if (!r->met)
            forget(t, r);
        else
            note((uint32_t)(r->site - arena.sites) + 1);
        r->met = false;
    }
}
