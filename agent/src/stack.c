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
 * Native code without frame pointers that calls back managed code: there the chain is cut. The runtime says which
 * managed frame comes next (above.c); its place is a skip of the frame that was called back, and the chain goes on. The
 * functions in between are native, or stubs without a name.
 *
 * Limits: native code that has no frame pointer but leaves rbp alone does not cut the chain, and yet the one frame that
 * called it is not on it. MAX_FRAMES links of the chain and header->max_stack_depth managed frames. Beyond the second the frames
 * nearest to the root are kept, then (truncated), then the allocating function itself, so exclusive values stay exact. */
#include "agent.h"

static struct map nodes; /* parent << 32 | ip → node, for parents with more than MAX_CHAIN children */

bool stack_init(void)
{
    return map_init(&nodes, 4096, true);
}

void stack_close(void)
{
    map_close(&nodes);
}

static uint32_t find_child(const struct wire_node *parent, uint32_t ip)
{
    uint32_t node = __atomic_load_n(&parent->child, __ATOMIC_ACQUIRE);
    for (uint32_t step = 0; node != 0 && step < MAX_CHAIN; step++) {
        const struct wire_node *child = arena_node(node);
        if (child->ip == ip)
            return node;
        node = child->sibling;
    }
    return 0;
}

/* With the lock held: the child goes to the front of its parent's chain. A parent with more children than a chain
 * may have keeps all of them in the map. */
static bool link_child(uint32_t parent, uint32_t node)
{
    struct wire_node *p = arena_node(parent);
    if (p->children == MAX_CHAIN)
        for (uint32_t child = p->child; child != 0; child = arena_node(child)->sibling)
            if (!map_put(&nodes, (uint64_t)parent << 32 | arena_node(child)->ip, child))
                return false;
    if (p->children >= MAX_CHAIN && !map_put(&nodes, (uint64_t)parent << 32 | arena_node(node)->ip, node))
        return false;
    arena_node(node)->sibling = p->child;
    __atomic_store_n(&p->child, node, __ATOMIC_RELEASE);
    __atomic_store_n(&p->children, p->children + 1, __ATOMIC_RELEASE);
    return true;
}

static COLD uint32_t make_child(uint32_t parent, uint32_t ip)
{
    arena_lock();
    uint32_t node = find_child(arena_node(parent), ip);
    if (node == 0 && arena_node(parent)->children > MAX_CHAIN)
        node = (uint32_t)map_get(&nodes, (uint64_t)parent << 32 | ip);
    struct wire_node *out = node != 0 ? NULL : arena_reserve(WIRE_REGION_NODES, sizeof *out);
    if (out != NULL) {
        node = (uint32_t)(out - arena_node(0));
        *out = (struct wire_node){.parent = parent, .ip = ip};
        arena_publish(WIRE_REGION_NODES, sizeof *out);
        if (!link_child(parent, node))
            node = 0; /* the node stays, without objects */
    }
    arena_unlock();
    return node;
}

/* Chains are in the order in which nodes are met, which is also their order in memory; a hash table of a million
 * nodes costs a cache miss for each look-up. */
static inline uint32_t child_of(uint32_t parent, uint32_t ip)
{
    const struct wire_node *p = arena_node(parent);
    uint32_t node = find_child(p, ip);
    if (LIKELY(node != 0))
        return node;
    if (__atomic_load_n(&p->children, __ATOMIC_ACQUIRE) > MAX_CHAIN)
        node = (uint32_t)map_get(&nodes, (uint64_t)parent << 32 | ip);
    return node != 0 ? node : make_child(parent, ip);
}

static inline uint32_t ip_of(struct thread *t, uintptr_t address)
{
    struct ip_slot *slot = &t->ips[(address ^ address >> 9) % IP_CACHE_SLOTS];
    if (LIKELY(slot->address == address))
        return slot->ip;
    uint32_t ip = ip_of_address(address);
    if (ip != 0)
        *slot = (struct ip_slot){address, ip};
    return ip;
}

static inline uint32_t flags_of(uint32_t ip)
{
    return arena_ip(ip)->flags; /* entry 0 of the table is empty */
}

/* ── what of the kept stack is still there ──────────────────────────────────────────────────────────────────── */

READS_STACK static inline bool pair_holds(const struct frame *f)
{
    const uintptr_t *pair = (const uintptr_t *)f->fp;
    return ((pair[0] ^ f->next) | (pair[1] ^ f->ret)) == 0;
}

/* The frame with the first skip that changed; `limit` if none of the frames before that has one. */
READS_STACK static uint32_t first_changed_skip(const struct thread *t, uint32_t limit)
{
    uint32_t n = limit == 0 ? 0 : t->frames[limit - 1].skips_end;
    for (uint32_t i = 0; i < n; i++)
        if (*(const uintptr_t *)t->skips[i].slot != t->skips[i].ret)
            return t->skips[i].frame;
    return limit;
}

/* How many of the kept frames, from the root, are still there: those above fp whose memory did not change. */
static uint32_t frames_that_hold(const struct thread *t, uintptr_t fp)
{
    uint32_t live = t->n_frames, good = 0;
    while (live > 0 && t->frames[live - 1].fp < fp)
        live--;
    while (good < live && pair_holds(&t->frames[good]))
        good++;
    return first_changed_skip(t, good);
}

/* ── the code addresses of one frame ────────────────────────────────────────────────────────────────────────── */

static bool on_stack(const struct thread *t, uintptr_t address)
{
    return (address & 7) == 0 && address >= t->stack_low && address < t->stack_high && t->stack_high - address >= 16;
}

struct walk {
    uint32_t n_frames, n_skips; /* in t->walk, t->walk_skips: leaf first */
    uint32_t joined;            /* kept frames that stay */
};

/* Notes the code address in a slot of the stack. An address that was interrupted is the instruction itself, a return
 * address the one after; `past` makes the first look like the second. */
READS_STACK static bool push_skip(struct thread *t, struct walk *w, uintptr_t slot, uintptr_t past, uint32_t *ip)
{
    if (w->n_skips == t->cap_skips && !thread_grow(t))
        return false;
    uintptr_t ret = *(const uintptr_t *)slot;
    *ip = ip_of(t, ret + past);
    struct skip *s = &t->walk_skips[w->n_skips++];
    s->slot = slot;
    s->ret = ret;
    s->ip = *ip;
    return *ip != 0;
}

/* Where a signal handler's frame (pair at fp, return address = signal return) keeps what it interrupted: struct
 * rt_sigframe of the kernel, a ucontext behind the return address; gregs[15] is rsp, gregs[16] rip. */
#define SIGNAL_SP(fp) ((fp) + 16 + 40 + 15 * 8)
#define SIGNAL_IP(fp) ((fp) + 16 + 40 + 16 * 8)

/* The callers of a function without a frame pointer, or of an OSR variant, whose stack pointer was sp. */
READS_STACK static bool push_callers(struct thread *t, struct walk *w, uintptr_t sp, bool beside, uint32_t *ip)
{
    while (beside || (flags_of(*ip) & WIRE_IP_FRAMELESS) != 0) {
        uintptr_t slot = sp + arena_ip(*ip)->frame_size;
        if (!on_stack(t, slot))
            break;
        if (!push_skip(t, w, slot, 0, ip))
            return false;
        sp = slot + 8;
        beside = false;
    }
    return true;
}

/* Code addresses beside the chain, above the pair at fp whose return address is *ip; osr: the pair is in the frame of
 * an OSR variant. In the end *ip is in the function that has the next frame of the chain. */
READS_STACK static bool walk_skips(struct thread *t, struct walk *w, uintptr_t fp, bool osr, uint32_t *ip)
{
    uint32_t flags = flags_of(*ip);
    bool beside = osr && (flags & WIRE_IP_MANAGED) != 0;
    if (LIKELY(!beside && (flags & (WIRE_IP_FRAMELESS | WIRE_IP_SIGNAL)) == 0))
        return true;
    uintptr_t sp = fp + 16;
    if ((flags & WIRE_IP_SIGNAL) != 0 && on_stack(t, SIGNAL_IP(fp))) {
        sp = *(const uintptr_t *)SIGNAL_SP(fp);
        if (sp <= fp)
            return true; /* no frame of this stack */
        if (!push_skip(t, w, SIGNAL_IP(fp), 1, ip))
            return false;
    }
    return push_callers(t, w, sp, beside, ip);
}

/* ── from code addresses to nodes ───────────────────────────────────────────────────────────────────────────── */

struct path { /* a stack from the root on, as far as it was turned into nodes */
    uint32_t node, top, depth;
};

static struct path path_at(const struct thread *t, uint32_t n_frames)
{
    if (n_frames == 0)
        return (struct path){0, 0, 0};
    const struct frame *f = &t->frames[n_frames - 1];
    return (struct path){f->node, f->top, f->depth};
}

/* Extends the path by one return address. Native code adds nothing. False: no room for a node. */
static inline bool extend(struct path *p, uint32_t ip)
{
    if ((flags_of(ip) & WIRE_IP_MANAGED) == 0)
        return true;
    uint32_t limit = arena.header->max_stack_depth;
    p->depth++;
    p->top = ip;
    if (p->depth > limit + 1)
        return true; /* already under (truncated) */
    p->node = child_of(p->node, p->depth > limit ? WIRE_IP_TRUNCATED : ip);
    return p->node != 0;
}

static inline void set_path(struct thread *t, struct frame *f, const struct path *p)
{
    f->node = p->node;
    f->top = p->top;
    f->depth = p->depth;
    f->skips_end = t->n_skips;
    t->n_frames++;
}

/* Completes the frame behind the kept ones, whose fp, next, ret, ip and osr are set, and keeps it. Its skips are
 * t->walk_skips[first, end), leaf first; there is room for them.
 *
 * Fields are copied one by one here and below: a whole struct that was just written in parts would be read back by
 * wider loads, each of which waits until the parts are in the cache (measured: 15 cycles a frame). */
static bool keep_frame(struct thread *t, struct path *p, uint32_t first, uint32_t end)
{
    struct frame *f = &t->frames[t->n_frames];
    for (uint32_t k = end; k-- > first;) {
        const struct skip *from = &t->walk_skips[k];
        struct skip *to = &t->skips[t->n_skips++];
        to->slot = from->slot;
        to->ret = from->ret;
        to->ip = from->ip;
        to->frame = t->n_frames;
        if (!extend(p, from->ip))
            return false;
    }
    if (!f->osr && !extend(p, f->ip)) /* under an OSR variant the pair names the same call once more */
        return false;
    f->plain = !f->osr && first == end && (flags_of(f->ip) & (WIRE_IP_MANAGED | WIRE_IP_SIGNAL)) == 0;
    set_path(t, f, p);
    return true;
}

/* ── the general way: walk the chain until it meets a kept frame ────────────────────────────────────────────── */

/* The walked frames from the returned index on are in native code. */
static uint32_t native_end(const struct thread *t, const struct walk *w)
{
    uint32_t i = w->n_frames;
    for (; i > 0; i--) {
        const struct frame *f = &t->walk[i - 1];
        uint32_t first = i == 1 ? 0 : f[-1].skips_end, flags = f->osr ? 0 : flags_of(f->ip);
        for (uint32_t k = first; k < f->skips_end; k++)
            flags |= flags_of(t->walk_skips[k].ip);
        if ((flags & WIRE_IP_MANAGED) != 0)
            break;
    }
    return i;
}

/* At the end of the chain: is it the root, or was it cut? Then *fp is the frame with which it goes on, *owner the code
 * that it belongs to, and what was walked of native code above the cut is dropped, because it may be anything. */
READS_STACK static bool walk_on(struct thread *t, struct walk *w, uintptr_t *fp, uint32_t *owner)
{
    uint32_t cut = native_end(t, w);
    if (cut == w->n_frames || (t->walk[cut].fp == t->root && t->walk[cut].ret == t->root_ret))
        return false;
    struct frame_above above = {t->walk[cut].fp, 0, 0};
    bool known = frame_above(&above);
    uintptr_t slot = above.sp - 8;
    if (known && above.sp == 0) {
        t->root = above.after;
        t->root_ret = t->walk[cut].ret; /* another frame can lie there later, below managed code */
    }
    if (above.sp == 0 || slot <= above.after || above.fp <= above.after || !on_stack(t, slot) || !on_stack(t, above.fp) ||
        (flags_of(ip_of(t, *(const uintptr_t *)slot)) & WIRE_IP_MANAGED) == 0)
        return false;
    w->n_frames = cut + 1;
    w->n_skips = cut == 0 ? 0 : t->walk[cut - 1].skips_end;
    bool room = push_skip(t, w, slot, 0, owner) && push_callers(t, w, above.sp, false, owner);
    t->walk[cut].skips_end = w->n_skips;
    *fp = above.fp;
    return room;
}

/* False: more frames than may be kept, or no memory. */
READS_STACK static bool walk_chain(struct thread *t, struct walk *w, uintptr_t fp)
{
    uint32_t kept = frames_that_hold(t, fp), owner = 0;
    *w = (struct walk){0, 0, 0};
    while (on_stack(t, fp)) {
        bool osr = (flags_of(owner) & WIRE_IP_OSR) != 0;
        while (kept > 0 && t->frames[kept - 1].fp < fp)
            kept--;
        /* What a pair means depends on whose frame it is: an OSR variant may own what its first version owned. */
        if (kept > 0 && t->frames[kept - 1].fp == fp && t->frames[kept - 1].osr == osr) {
            w->joined = kept;
            return true;
        }
        if (w->n_frames == t->cap_frames && !thread_grow(t))
            return false;
        const uintptr_t *pair = (const uintptr_t *)fp;
        uint32_t index = w->n_frames++; /* walk_skips can move the arrays */
        struct frame *f = &t->walk[index];
        f->fp = fp;
        f->next = pair[0];
        f->ret = pair[1];
        f->ip = owner = ip_of(t, pair[1]);
        f->osr = osr;
        bool complete = owner != 0 && walk_skips(t, w, fp, osr, &owner);
        t->walk[index].skips_end = w->n_skips;
        if (!complete)
            return false;
        bool goes_on = pair[0] > fp && on_stack(t, pair[0]);
        fp = goes_on ? pair[0] : fp;
        if (!goes_on && !walk_on(t, w, &fp, &owner))
            return true;
    }
    return true;
}

/* Moves the walked frames behind the kept ones and gives each its node. */
static bool adopt(struct thread *t, const struct walk *w)
{
    struct path p = path_at(t, w->joined);
    t->n_frames = w->joined;
    t->n_skips = w->joined == 0 ? 0 : t->frames[w->joined - 1].skips_end;
    while (t->n_frames + w->n_frames > t->cap_frames || t->n_skips + w->n_skips > t->cap_skips)
        if (!thread_grow(t))
            return false;
    for (uint32_t i = w->n_frames; i-- > 0;) {
        const struct frame *from = &t->walk[i];
        struct frame *to = &t->frames[t->n_frames];
        to->fp = from->fp;
        to->next = from->next;
        to->ret = from->ret;
        to->ip = from->ip;
        to->osr = from->osr;
        if (!keep_frame(t, &p, i == 0 ? 0 : t->walk[i - 1].skips_end, from->skips_end))
            return false;
    }
    return true;
}

/* ── the short way: the same frames, other return addresses ─────────────────────────────────────────────────── */

enum followed { FOLLOWED, OTHER_FRAMES, NO_ROOM };

/* When the chain links the same frames as before, only what comes after the first changed return address is looked
 * up again, in place. */
READS_STACK static enum followed follow(struct thread *t, uintptr_t fp)
{
    uint32_t n = t->n_frames, first = n;
    if (n == 0 || t->frames[n - 1].fp != fp)
        return OTHER_FRAMES;
    for (uint32_t i = 0; i < n; i++) {
        const struct frame *f = &t->frames[i];
        const uintptr_t *pair = (const uintptr_t *)f->fp;
        if (pair[0] != f->next)
            return OTHER_FRAMES;
        if (pair[1] != f->ret && i < first)
            first = i;
    }
    first = first_changed_skip(t, first);
    if (first == 0)
        return OTHER_FRAMES; /* the end of the chain is another: what is above it may be too */
    struct path p = path_at(t, first);
    t->n_frames = first;
    t->n_skips = first == 0 ? 0 : t->frames[first - 1].skips_end;
    while (t->n_frames < n) {
        struct frame *f = &t->frames[t->n_frames];
        struct walk w = {0, 0, 0};
        uintptr_t ret = ((const uintptr_t *)f->fp)[1];
        if (f->plain && f->ret == ret && (t->n_frames == 0 || !f[-1].osr)) {
            set_path(t, f, &p);
            continue;
        }
        if (f->ret != ret) {
            f->ret = ret;
            f->ip = ip_of(t, ret);
        }
        if (f->ip == 0)
            return NO_ROOM;
        bool cut = t->n_frames > 0 && f->next != f[-1].fp;
        if (f->osr || cut || (flags_of(f->ip) & WIRE_IP_SIGNAL) != 0)
            return OTHER_FRAMES; /* rare; the general way knows whose frame it is */
        uint32_t owner = f->ip; /* of the frame before, nearer to the root */
        if (!walk_skips(t, &w, f->fp, false, &owner))
            return NO_ROOM;
        bool owner_osr = (flags_of(owner) & WIRE_IP_OSR) != 0;
        if ((t->n_frames > 0 && f[-1].osr != owner_osr) || t->n_skips + w.n_skips > t->cap_skips)
            return OTHER_FRAMES;
        if (!keep_frame(t, &p, 0, w.n_skips))
            return NO_ROOM;
    }
    return FOLLOWED;
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

/* More than MAX_FRAMES links, or addresses beside them? */
static bool is_too_deep(const struct thread *t, const struct walk *w)
{
    uint32_t skips = w->joined == 0 ? 0 : t->frames[w->joined - 1].skips_end;
    return w->n_frames == MAX_FRAMES || w->n_skips == MAX_FRAMES || w->joined + w->n_frames > MAX_FRAMES ||
           skips + w->n_skips > MAX_FRAMES;
}

/* Of such a stack only the innermost function is told. */
static bool too_deep(struct thread *t, const struct walk *w)
{
    uint32_t top = 0, skip = 0;
    for (uint32_t i = 0; i < w->n_frames && top == 0; i++) {
        if ((flags_of(t->walk[i].ip) & WIRE_IP_MANAGED) != 0)
            top = t->walk[i].ip;
        for (; skip < t->walk[i].skips_end && top == 0; skip++)
            if ((flags_of(t->walk_skips[skip].ip) & WIRE_IP_MANAGED) != 0)
                top = t->walk_skips[skip].ip;
        skip = t->walk[i].skips_end;
    }
    if (top == 0)
        top = path_at(t, w->joined).top;
    return set_leaf(t, child_of(0, WIRE_IP_TRUNCATED), top, true);
}

/* ────────────────────────────────────────────────────────────────────────────────────────────────────────────── */

static void forget_stack(struct thread *t)
{
    t->n_frames = t->n_skips = 0;
}

bool stack_update(struct thread *t, uintptr_t fp)
{
    enum followed how = follow(t, fp);
    if (how == OTHER_FRAMES) {
        struct walk w;
        bool walked = walk_chain(t, &w, fp);
        if (is_too_deep(t, &w)) {
            bool told = too_deep(t, &w);
            forget_stack(t);
            return told;
        }
        how = walked && adopt(t, &w) ? FOLLOWED : NO_ROOM;
    }
    if (how == NO_ROOM) {
        forget_stack(t);
        return false;
    }
    struct path p = path_at(t, t->n_frames);
    return set_leaf(t, p.node, p.top, p.depth > arena.header->max_stack_depth);
}
