/* From the frame pointer to a node of the calling-context tree.
 *
 * Problem: an allocation's whole managed stack must be known, and walking 20 frames one after the other costs more
 * than everything else, because each load waits for the one before.
 *
 * Idea: keep the last stack of the thread, and look whether it is still there. A frame is the pair (caller's frame
 * pointer, return address) at an address that is known from last time; if every pair still holds what it held, a walk
 * would give the same frames. These loads do not depend on each other. When only the inner end differs (the usual
 * case: another line, another callee), the walk stops where it meets a frame of the kept stack whose callers were
 * all seen unchanged.
 *
 * Functions without a frame pointer: their caller's return address is beside the chain ("skip"); see code.c. It is
 * kept and compared like the pairs.
 *
 * OSR variants: the pair at their frame holds a return address inside the first version of the same call, which is no
 * caller, and the caller's return address is beside the chain too; see code.c.
 *
 * Faults that become exceptions (null references, divisions by zero): the faulting function was interrupted, not
 * left by a call; its place is in the signal frame.
 *
 * Limits: MAX_FRAMES links of the chain and header->max_stack_depth managed frames. Beyond the second the frames
 * nearest to the root are kept, then (truncated), then the allocating function itself, so exclusive values stay exact. */
#include "agent.h"

#include <emmintrin.h>

static struct map nodes; /* parent << 32 | ip → node */

bool stack_init(void)
{
    return map_init(&nodes, 32768, true);
}

static uint32_t child_of(uint32_t parent, uint32_t ip)
{
    uint64_t key = (uint64_t)parent << 32 | ip;
    uint64_t node = map_get(&nodes, key);
    if (LIKELY(node != 0))
        return (uint32_t)node;
    arena_lock();
    node = map_get(&nodes, key);
    struct wire_node *out = node != 0 ? NULL : arena_reserve(WIRE_REGION_NODES, sizeof *out);
    if (out != NULL) {
        *out = (struct wire_node){parent, ip};
        node = (uint64_t)(out - arena_node(0));
        arena_publish(WIRE_REGION_NODES, sizeof *out);
        if (!map_put(&nodes, key, node))
            node = 0;
    }
    arena_unlock();
    return (uint32_t)node;
}

static bool frame_holds(const struct thread *t, uint32_t i)
{
    const struct frame *f = &t->frames[i];
    const uintptr_t *pair = (const uintptr_t *)f->fp;
    if (pair[0] != f->next || pair[1] != f->ret)
        return false;
    for (uint32_t k = i == 0 ? 0 : t->frames[i - 1].skips_end; k < f->skips_end; k++)
        if (*(const uintptr_t *)t->skips[k].slot != t->skips[k].ret)
            return false;
    return true;
}

/* How many of the kept frames, from the root, are still there: those above fp whose memory did not change. */
static uint32_t frames_that_hold(const struct thread *t, uintptr_t fp)
{
    uint32_t live = t->n_frames, good = 0;
    while (live > 0 && t->frames[live - 1].fp < fp)
        live--;
    while (good < live && frame_holds(t, good))
        good++;
    return good;
}

static bool on_stack(const struct thread *t, uintptr_t address)
{
    return (address & 7) == 0 && address >= t->stack_low && address < t->stack_high && t->stack_high - address >= 16;
}

static bool is_osr(uint32_t ip)
{
    return (arena_ip(ip)->flags & WIRE_IP_OSR) != 0; /* entry 0 of the table is empty */
}

struct walk {
    uint32_t n_frames, n_skips; /* in t->walk, t->walk_skips: leaf first */
    uint32_t joined;            /* kept frames that stay */
};

/* Notes the code address in a slot of the stack. An address that was interrupted is the instruction itself, a return
 * address the one after; `past` makes the first look like the second. */
static bool push_skip(struct thread *t, struct walk *w, uintptr_t slot, uintptr_t past, uint32_t *ip)
{
    if (w->n_skips == t->cap_skips && !thread_grow(t))
        return false;
    uintptr_t ret = *(const uintptr_t *)slot;
    *ip = ip_of_address(t, ret + past);
    t->walk_skips[w->n_skips++] = (struct skip){slot, ret, *ip};
    return *ip != 0;
}

/* Where a signal handler's frame (pair at fp, return address = signal return) keeps what it interrupted: struct
 * rt_sigframe of the kernel, a ucontext behind the return address; gregs[15] is rsp, gregs[16] rip. */
#define SIGNAL_SP(fp) ((fp) + 16 + 40 + 15 * 8)
#define SIGNAL_IP(fp) ((fp) + 16 + 40 + 16 * 8)

/* Code addresses beside the chain, above the pair at fp whose return address is ip. `owner` is the function whose
 * frame the pair is in; in the end the function that has the next frame of the chain. */
static bool walk_skips(struct thread *t, struct walk *w, uintptr_t fp, uint32_t ip, uint32_t *owner)
{
    uintptr_t sp = fp + 16;
    bool beside = is_osr(*owner) && (arena_ip(ip)->flags & WIRE_IP_MANAGED) != 0;
    if ((arena_ip(ip)->flags & WIRE_IP_SIGNAL) != 0 && on_stack(t, SIGNAL_IP(fp))) {
        sp = *(const uintptr_t *)SIGNAL_SP(fp);
        if (!push_skip(t, w, SIGNAL_IP(fp), 1, &ip))
            return false;
    }
    while (beside || (arena_ip(ip)->flags & WIRE_IP_FRAMELESS) != 0) {
        uintptr_t slot = sp + arena_ip(ip)->frame_size;
        if (!on_stack(t, slot))
            break;
        if (!push_skip(t, w, slot, 0, &ip))
            return false;
        sp = slot + 8;
        beside = false;
    }
    *owner = ip;
    return true;
}

/* Follows the chain from fp until it meets a kept frame or ends. False: more frames than may be kept, or no memory. */
static bool walk_chain(struct thread *t, struct walk *w, uintptr_t fp)
{
    uint32_t kept = frames_that_hold(t, fp), owner = 0;
    *w = (struct walk){0, 0, 0};
    while (on_stack(t, fp)) {
        while (kept > 0 && t->frames[kept - 1].fp < fp)
            kept--;
        /* An OSR variant may have taken over a frame whose memory is unchanged: what a pair means depends on whose it is. */
        if (kept > 0 && t->frames[kept - 1].fp == fp && t->frames[kept - 1].osr == is_osr(owner)) {
            w->joined = kept;
            return true;
        }
        if (w->n_frames == t->cap_frames && !thread_grow(t))
            return false;
        const uintptr_t *pair = (const uintptr_t *)fp;
        uint32_t index = w->n_frames++; /* thread_grow moves the arrays */
        t->walk[index] = (struct frame){.fp = fp, .next = pair[0], .ret = pair[1], .osr = is_osr(owner)};
        uint32_t ip = t->walk[index].top = ip_of_address(t, pair[1]);
        if (ip == 0 || !walk_skips(t, w, fp, ip, &owner))
            return false;
        t->walk[index].skips_end = w->n_skips;
        if (pair[0] <= fp)
            return true;
        fp = pair[0];
    }
    return true;
}

struct path { /* a stack from the root on, as far as it was turned into nodes */
    uint32_t node, top, depth;
};

/* Extends the path by one return address. Native code adds nothing. False: no room for a node. */
static bool extend(struct path *p, uint32_t ip)
{
    if ((arena_ip(ip)->flags & WIRE_IP_MANAGED) == 0)
        return true;
    uint32_t limit = arena.header->max_stack_depth;
    p->depth++;
    p->top = ip;
    if (p->depth > limit + 1)
        return true; /* already under (truncated) */
    p->node = child_of(p->node, p->depth > limit ? WIRE_IP_TRUNCATED : ip);
    return p->node != 0;
}

/* Moves the walked frames behind the kept ones and gives each its node. */
static bool adopt(struct thread *t, const struct walk *w)
{
    struct path p = {0, 0, 0};
    t->n_frames = w->joined;
    t->n_skips = w->joined == 0 ? 0 : t->frames[w->joined - 1].skips_end;
    while (t->n_frames + w->n_frames > t->cap_frames || t->n_skips + w->n_skips > t->cap_skips)
        if (!thread_grow(t))
            return false;
    if (w->joined != 0) {
        const struct frame *f = &t->frames[w->joined - 1];
        p = (struct path){f->node, f->top, f->depth};
    }
    for (uint32_t i = w->n_frames; i-- > 0;) {
        struct frame f = t->walk[i];
        uint32_t own = f.top, first = i == 0 ? 0 : t->walk[i - 1].skips_end;
        for (uint32_t k = f.skips_end; k-- > first;) {
            t->skips[t->n_skips++] = t->walk_skips[k];
            if (!extend(&p, t->walk_skips[k].ip))
                return false;
        }
        if (!f.osr && !extend(&p, own)) /* under an OSR variant the pair names the same call once more */
            return false;
        f.node = p.node;
        f.top = p.top;
        f.depth = p.depth;
        f.skips_end = t->n_skips;
        t->frames[t->n_frames++] = f;
    }
    return true;
}

/* The node of the whole stack: below (truncated) the allocating function follows. */
static bool set_leaf(struct thread *t, uint32_t node, uint32_t top, bool truncated)
{
    if (top == 0)
        node = child_of(0, WIRE_IP_UNKNOWN);
    else if (truncated && node != 0)
        node = child_of(node, top);
    t->leaf = node;
    return node != 0;
}

/* A stack of more than MAX_FRAMES links: only its innermost function is told. */
static bool too_deep(struct thread *t, const struct walk *w)
{
    uint32_t top = 0;
    for (uint32_t i = 0; i < w->n_frames && top == 0; i++)
        if ((arena_ip(t->walk[i].top)->flags & WIRE_IP_MANAGED) != 0)
            top = t->walk[i].top;
    t->n_frames = t->n_skips = 0;
    return set_leaf(t, child_of(0, WIRE_IP_TRUNCATED), top, true);
}

bool stack_update(struct thread *t, uintptr_t fp)
{
    struct walk w;
    if (!walk_chain(t, &w, fp)) {
        if (w.n_frames == MAX_FRAMES)
            return too_deep(t, &w);
        t->n_frames = t->n_skips = 0;
        return false;
    }
    if (!adopt(t, &w)) {
        t->n_frames = t->n_skips = 0;
        return false;
    }
    if (t->n_frames == 0)
        return set_leaf(t, 0, 0, false);
    const struct frame *leaf = &t->frames[t->n_frames - 1];
    return set_leaf(t, leaf->node, leaf->top, leaf->depth > arena.header->max_stack_depth);
}
