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
 * Functions without a frame pointer: their caller's return address is beside the chain ("skip"); see the machine's code.c. It is
 * kept and compared like the pairs.
 *
 * OSR variants: the pair at their frame holds a return address inside the first version of the same call, which is no
 * caller, and the caller's return address is beside the chain too; see the machine's code.c.
 *
 * Faults that become exceptions (null references, divisions by zero): the faulting function was interrupted, not
 * left by a call; its place is in the signal frame.
 *
 * Native code without frame pointers that calls back managed code: there the chain is cut, if the code uses its register for something
 * else, or leads past the function that called it to that function's caller. The runtime says which managed frame comes
 * next (native_transition.c); its place is a skip of the frame that was called back, and the chain goes on. The functions in between
 * are native, or stubs without a name. Whether code has a frame pointer does not show. So the runtime is asked at each way
 * from managed code through code that is not its own (WIRE_IP_FOREIGN) to managed code, when that is walked.
 *
 * Deep recursion: only the NEAR_PLACES frames next to the leaf are compared, and as many addresses beside the chain. If
 * the outer half of these is as it was (address, return address, caller's frame), what lies nearer to the root is taken to
 * be as it was too; otherwise more are looked at, until so many in a row are. To change a frame a program returns from all
 * that are below it, so what is looked at beyond the first NEAR_PLACES is no more than what the program did.
 *
 * Limits: MAX_FRAMES links of the chain and header->max_stack_depth managed frames. Beyond the second the frames
 * nearest to the root are kept, then (truncated), then the allocating function itself, so exclusive values stay exact.
 *
 * Tables of a thread move in stack_update only, by thread_grow, where nothing points into them: what finds that there is
 * no room gives up and says so (struct walk, no_room), and is begun anew. So pointers into them are good anywhere else. */
#include "stacks/native_transition.h"
#include "arch/arch.h"
#include "core/arena.h"
#include "core/hash_map.h"
#include "metadata/descriptions.h"
#include "stacks/recent_stacks.h"
#include "stacks/stack_walk.h"
#include "threads/threads.h"

static struct map nodes; /* parent << 32 | ip → node, for parents with more than MAX_CHAIN children */

static uint32_t truncated_node; /* the child of the root for stacks that are not reported as a whole; 0: there was none yet */
static uint64_t max_nodes;

bool stack_init(uint64_t most_nodes)
{
    max_nodes = most_nodes;
    return map_init(&nodes, 4096, true);
}

void stack_close(void)
{
    map_close(&nodes);
}

static inline uint32_t next_child(uint32_t node)
{
    return __atomic_load_n(&arena_node(node)->sibling, __ATOMIC_ACQUIRE);
}

static uint32_t find_child(uint32_t parent, uint32_t ip)
{
    const struct wire_node *p = arena_node(parent);
    if (UNLIKELY(__atomic_load_n(&p->children, __ATOMIC_ACQUIRE) > MAX_CHAIN))
        return (uint32_t)map_get(&nodes, (uint64_t)parent << 32 | ip);
    uint32_t node = __atomic_load_n(&p->child, __ATOMIC_ACQUIRE);
    while (node != 0 && arena_node(node)->ip != ip)
        node = next_child(node);
    return node;
}

/* With the lock held: the child goes to the end of its parent's chain. A parent with more children than a chain
 * may have keeps all of them in the map. */
static bool link_child(uint32_t parent, uint32_t node)
{
    struct wire_node *p = arena_node(parent);
    uint32_t *end = &p->child;
    if (p->children == MAX_CHAIN)
        for (uint32_t child = p->child; child != 0; child = arena_node(child)->sibling)
            if (!map_put(&nodes, (uint64_t)parent << 32 | arena_node(child)->ip, child))
                return false;
    if (p->children >= MAX_CHAIN && !map_put(&nodes, (uint64_t)parent << 32 | arena_node(node)->ip, node))
        return false;
    while (p->children < MAX_CHAIN && *end != 0)
        end = &arena_node(*end)->sibling;
    if (p->children < MAX_CHAIN)
        __atomic_store_n(end, node, __ATOMIC_RELEASE);
    __atomic_store_n(&p->children, p->children + 1, __ATOMIC_RELEASE);
    return true;
}

/* Is there room for a new node? Not for every one: see enum room. */
static bool may_have_child(uint32_t parent, uint32_t ip)
{
    if (parent == 0 && ip == WIRE_IP_TRUNCATED)
        return true;
    if (parent != 0 && parent == __atomic_load_n(&truncated_node, __ATOMIC_RELAXED))
        return arena_has_room(ROOM_MODULES);
    return arena_has_room(ROOM_STACKS) && arena.header->regions[WIRE_REGION_NODES].used / sizeof(struct wire_node) < max_nodes;
}

static COLD uint32_t make_child(uint32_t parent, uint32_t ip)
{
    arena_lock();
    uint32_t node = find_child(parent, ip);
    bool is_new = node == 0 && may_have_child(parent, ip) && (arena_node(parent)->children < MAX_CHAIN || map_has_room(&nodes));
    struct wire_node *out = is_new ? arena_reserve(WIRE_REGION_NODES, sizeof *out) : NULL;
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
 * nodes costs a cache miss for each look-up. What a program does it often does again in the same order: after the child that was in
 * this place before comes the next one. */
static inline uint32_t child_of(uint32_t parent, uint32_t ip, uint32_t before)
{
    uint32_t node = arena_node(before)->parent == parent ? next_child(before) : 0;
    if (node != 0 && arena_node(node)->ip == ip)
        return node;
    node = find_child(parent, ip);
    return LIKELY(node != 0) ? node : make_child(parent, ip);
}

static inline uint32_t ip_of(struct thread *t, uintptr_t address)
{
    struct ip_slot *slot = &t->ips[(address ^ address >> 9) % IP_CACHE_SLOTS];
    if (LIKELY(slot->address == address))
        return slot->ip;
    uint32_t ip = ip_of_address(address, t->leaf_only);
    if (ip != 0)
        *slot = (struct ip_slot){address, ip};
    return ip;
}

static inline uint32_t flags_of(uint32_t ip)
{
    return arena_ip(ip)->flags; /* entry 0 of the table is empty */
}

/* Code of the program or of a library. Native code has no frame in a path, nor have the runtime's managed helpers. */
static inline bool has_frame(uint32_t ip)
{
    return (flags_of(ip) & (WIRE_IP_MANAGED | WIRE_IP_HELPER)) == WIRE_IP_MANAGED;
}

/* ── what of the kept stack is still there ──────────────────────────────────────────────────────────────────── */

READS_STACK static inline bool pair_holds(const struct frame *f)
{
    const uintptr_t *pair = (const uintptr_t *)f->fp;
    return ((pair[0] ^ f->next) | (pair[1] ^ f->ret)) == 0;
}

READS_STACK static inline bool skip_holds(const struct skip *k)
{
    return *(const uintptr_t *)k->slot == k->ret;
}

/* The end of the skips of the first n frames. */
static inline uint32_t skips_of(const struct thread *t, uint32_t n)
{
    return n == 0 ? 0 : t->frames[n - 1].skips_end;
}

static uint32_t near(uint32_t n)
{
    return n > NEAR_PLACES ? n - NEAR_PLACES : 0;
}

/* Enough was looked at, from `from` down to `i`, when the last that changed was `good`? */
static inline bool seen_enough(uint32_t from, uint32_t i, uint32_t good)
{
    return from - i >= NEAR_PLACES && good - i >= NEAR_PLACES / 2;
}

/* The first frame of [i, n) that is not as it was, else n. */
static uint32_t first_other(const struct thread *t, uint32_t i, uint32_t n)
{
    const struct frame *f = t->frames;
    for (; (n - i) % 4 != 0; i++)
        if (!pair_holds(&f[i]))
            return i;
    while (i < n && are_same(four_still(PAIRS_SAME, &f[i])))
        i += 4;
    uint32_t others = 0; /* of the four: which one cannot be predicted */
    for (uint32_t k = 0; k < 4 && i < n; k++)
        others |= (uint32_t)!are_same(frame_still(PAIRS_SAME, &f[i + k])) << k;
    return i + (others == 0 ? 0 : (uint32_t)__builtin_ctz(others));
}

/* How many of the first n frames, from the root, are as they were. */
static uint32_t frames_that_hold(const struct thread *t, uint32_t n)
{
    if (LIKELY(n <= NEAR_PLACES))
        return first_other(t, 0, n);
    uint32_t good = n;
    for (uint32_t i = n; i > 0 && !seen_enough(n, i, good);)
        if (!pair_holds(&t->frames[--i]))
            good = i;
    return good;
}

static uint32_t skips_that_hold(const struct thread *t, uint32_t n)
{
    uint32_t good = 0;
    while (n <= NEAR_PLACES && good < n && skip_holds(&t->skips[good]))
        good++;
    if (LIKELY(n <= NEAR_PLACES))
        return good;
    good = n;
    for (uint32_t i = n; i > 0 && !seen_enough(n, i, good);)
        if (!skip_holds(&t->skips[--i]))
            good = i;
    return good;
}

struct kept { /* what of the kept stack is still there */
    uint32_t frames, skips; /* from the root; the last skips can be of the frame after these */
};

/* Of the kept stack those parts above fp whose memory did not change. */
static struct kept what_holds(const struct thread *t, uintptr_t fp)
{
    uint32_t live = t->n_frames;
    while (live > 0 && t->frames[live - 1].fp < fp)
        live--;
    struct kept k = {frames_that_hold(t, live), 0};
    uint32_t n = k.frames < t->n_frames ? skips_of(t, k.frames + 1) : skips_of(t, k.frames);
    while (n > 0 && t->skips[n - 1].slot <= fp)
        n--;
    k.skips = skips_that_hold(t, n);
    if (k.skips < n && t->skips[k.skips].frame < k.frames)
        k.frames = t->skips[k.skips].frame;
    return k;
}

/* ── the code addresses of one frame ────────────────────────────────────────────────────────────────────────── */

static bool on_stack(const struct thread *t, uintptr_t address)
{
    return (address & 7) == 0 && address >= t->stack_low && address < t->stack_high && t->stack_high - address >= 16;
}

struct walk {
    uint32_t n_frames, n_skips; /* in t->walk, t->walk_skips: leaf first */
    struct kept kept;           /* what can be joined */
    bool joined;                /* what is left of `kept` stays */
    bool no_room;               /* in t->walk or t->walk_skips */
    bool foreign;               /* the walk is in native code, some of which is not the runtime's */
    uint32_t stored_frames;     /* a stack beyond MAX_FRAMES is counted to its end, and these are in t->walk; 0: all */
};

static inline struct frame *walked_frame(const struct thread *t, uint32_t i)
{
    ASSERT(i < t->cap_frames);
    return &t->walk[i];
}

static inline struct skip *walked_skip(const struct thread *t, uint32_t i)
{
    ASSERT(i < t->cap_skips);
    return &t->walk_skips[i];
}

/* The place for the next frame. Of the largest tables the last place is for all that are only counted. */
static struct frame *next_frame(struct thread *t, struct walk *w)
{
    uint32_t last = t->cap_frames - 1;
    w->no_room = w->no_room || (w->n_frames > last && t->cap_frames < MAX_FRAMES);
    if (w->n_frames == last && t->cap_frames == MAX_FRAMES && w->stored_frames == 0)
        w->stored_frames = last;
    uint32_t i = w->n_frames++;
    return w->no_room ? NULL : walked_frame(t, i < last ? i : last);
}

static struct skip *next_skip(struct thread *t, struct walk *w)
{
    uint32_t last = t->cap_skips - 1;
    w->no_room = w->no_room || (w->n_skips > last && t->cap_skips < MAX_FRAMES);
    if (w->n_skips == last && t->cap_skips == MAX_FRAMES && w->stored_frames == 0)
        w->stored_frames = w->n_frames; /* the last of them with those of its skips for which there is room */
    uint32_t i = w->n_skips++;
    return w->no_room ? NULL : walked_skip(t, i < last ? i : last);
}

/* Notes the code address in a slot of the stack. An address that was interrupted is the instruction itself, a return
 * address the one after; `past` makes the first look like the second. */
READS_STACK static bool push_skip(struct thread *t, struct walk *w, uintptr_t slot, uintptr_t past, uint32_t *ip)
{
    struct skip *s = next_skip(t, w);
    if (s == NULL)
        return false;
    uintptr_t ret = *(const uintptr_t *)slot;
    *ip = ip_of(t, ret + past);
    s->slot = slot;
    s->ret = ret;
    s->ip = *ip;
    return *ip != 0;
}

/* Is the address in a slot beside the chain a skip of the kept frame after those that hold, which is itself gone? Then all
 * that is above it is as it was; next: the caller's frame pointer. */
READS_STACK static bool join_skip(const struct thread *t, struct walk *w, uintptr_t slot, uintptr_t next)
{
    struct kept *k = &w->kept;
    uint32_t first = skips_of(t, k->frames);
    while (k->skips > first && t->skips[k->skips - 1].slot < slot)
        k->skips--;
    if (k->skips <= first || t->skips[k->skips - 1].slot != slot || !skip_holds(&t->skips[k->skips - 1]))
        return false;
    const struct frame *f = &t->frames[k->frames];
    w->joined = f->next == next && !f->cut && (k->frames > 0 || t->outer_frames > 0);
    return w->joined;
}

/* The callers of a function without a frame pointer, or of an OSR variant, whose stack pointer was sp; next: what was
 * in the frame pointer. A stub of the runtime that has a frame pointer, which its call-frame information does not describe, is not such a
 * function: its caller is on the chain. */
READS_STACK static bool push_callers(struct thread *t, struct walk *w, uintptr_t sp, uintptr_t next, bool beside, uint32_t *ip)
{
    while (beside || (flags_of(*ip) & WIRE_IP_FRAMELESS) != 0) {
        uintptr_t slot = sp + arena_ip(*ip)->frame_size;
        if (!on_stack(t, slot) || (slot == next + 8 && (flags_of(*ip) & WIRE_IP_MANAGED) == 0))
            break;
        if (join_skip(t, w, slot, next))
            break;
        if (!push_skip(t, w, slot, 0, ip))
            return false;
        sp = SP_OF_RETURN_SLOT(slot);
        beside = false;
    }
    return true;
}

/* Code addresses beside the chain, above the pair at fp whose return address is *ip; osr: the pair is in the frame of
 * an OSR variant. In the end *ip is in the function that has the next frame of the chain. */
READS_STACK static bool walk_skips_slowly(struct thread *t, struct walk *w, uintptr_t fp, bool beside, uint32_t *ip)
{
    uint32_t flags = flags_of(*ip);
    uintptr_t sp = CALLER_SP(fp);
    if ((flags & WIRE_IP_SIGNAL) != 0 && on_stack(t, SIGNAL_IP(fp))) {
        sp = *(const uintptr_t *)SIGNAL_SP(fp);
        if (sp <= fp)
            return true; /* no frame of this stack */
        if (!push_skip(t, w, SIGNAL_IP(fp), 1, ip))
            return false;
    }
    return push_callers(t, w, sp, *(const uintptr_t *)fp, beside, ip);
}

static inline bool walk_skips(struct thread *t, struct walk *w, uintptr_t fp, bool osr, uint32_t *ip)
{
    uint32_t flags = flags_of(*ip);
    bool beside = osr && (flags & WIRE_IP_MANAGED) != 0;
    return LIKELY(!beside && (flags & (WIRE_IP_FRAMELESS | WIRE_IP_SIGNAL)) == 0) || walk_skips_slowly(t, w, fp, beside, ip);
}

/* ── from code addresses to nodes ───────────────────────────────────────────────────────────────────────────── */

static struct path path_at(const struct thread *t, uint32_t n_frames)
{
    if (n_frames == 0)
        return t->outer;
    const struct frame *f = &t->frames[n_frames - 1];
    return (struct path){f->node, f->top, f->depth};
}

/* A stack for which there is no room goes there, with its innermost function: a node for each function and not for each stack.
 * 0: there is no room for that either. */
static COLD uint32_t truncated(void)
{
    uint32_t node = __atomic_load_n(&truncated_node, __ATOMIC_RELAXED);
    if (node == 0) {
        node = child_of(0, WIRE_IP_TRUNCATED, 0);
        __atomic_store_n(&truncated_node, node, __ATOMIC_RELAXED);
    }
    loss(WIRE_LOSS_STACKS, 0, 0);
    return node;
}

/* Extends the path by one return address; before: the node that was in its place. False: no room for a node. */
static inline bool extend(struct path *p, uint32_t ip, uint32_t before)
{
    if (!has_frame(ip))
        return true;
    uint32_t limit = arena.header->max_stack_depth;
    p->depth++;
    p->top = ip;
    if (p->depth > limit + 1)
        return true; /* already under (truncated) */
    p->node = child_of(p->node, p->depth > limit ? WIRE_IP_TRUNCATED : ip, before);
    if (UNLIKELY(p->node == 0))
        *p = (struct path){truncated(), ip, limit + 2};
    return p->node != 0;
}

/* Of the kept stack no more than so many stay. */
static inline void cut(struct thread *t, uint32_t frames, uint32_t skips)
{
    recents_cut(t, frames, skips);
    t->n_frames = frames;
    t->n_skips = skips;
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
    ASSERT(t->n_frames < t->cap_frames && t->n_skips + end - first <= t->cap_skips);
    struct frame *f = &t->frames[t->n_frames];
    for (uint32_t k = end; k-- > first;) {
        const struct skip *from = walked_skip(t, k);
        struct skip *to = &t->skips[t->n_skips++];
        to->slot = from->slot;
        to->ret = from->ret;
        to->ip = from->ip;
        to->frame = t->n_frames;
        if (!extend(p, from->ip, to->path.node))
            return false;
        to->path = *p;
    }
    if (!f->osr && !extend(p, f->ip, f->node)) /* under an OSR variant the pair names the same call once more */
        return false;
    f->plain = !f->osr && t->n_skips == skips_of(t, t->n_frames) && (flags_of(f->ip) & (WIRE_IP_MANAGED | WIRE_IP_SIGNAL | WIRE_IP_FOREIGN)) == 0;
    set_path(t, f, p);
    return true;
}

/* ── the general way: walk the chain until it meets a kept frame ────────────────────────────────────────────── */

/* The place of the innermost address in managed code that belongs to a frame; UINTPTR_MAX: all are in native code. Of a
 * walked frame the innermost skip is the first, of a kept one the last. */
static uintptr_t managed_slot(const struct frame *f, const struct skip *skips, uint32_t innermost, uint32_t n, uint32_t step)
{
    if (!f->osr && (flags_of(f->ip) & WIRE_IP_MANAGED) != 0)
        return f->fp + 8;
    for (; n > 0; n--, innermost += step)
        if ((flags_of(skips[innermost].ip) & WIRE_IP_MANAGED) != 0)
            return skips[innermost].slot;
    return UINTPTR_MAX;
}

static uintptr_t walked_slot(const struct thread *t, uint32_t i)
{
    uint32_t first = i == 0 ? 0 : walked_frame(t, i - 1)->skips_end, n = walked_frame(t, i)->skips_end - first;
    return managed_slot(walked_frame(t, i), t->walk_skips, first, n, 1);
}

/* The same of the first that has one of the frames that were joined. */
static uintptr_t joined_slot(const struct thread *t, const struct walk *w)
{
    uint32_t i = w->kept.frames, first = skips_of(t, i);
    if (w->kept.skips > first && (flags_of(t->skips[w->kept.skips - 1].ip) & WIRE_IP_MANAGED) != 0)
        return t->skips[w->kept.skips - 1].slot; /* of a frame that is itself gone */
    uintptr_t slot = UINTPTR_MAX;
    while (i > 0 && slot == UINTPTR_MAX) {
        uint32_t end = skips_of(t, i--);
        slot = managed_slot(&t->frames[i], t->skips, end - 1, end - skips_of(t, i), UINT32_MAX); /* one less each time */
    }
    return slot;
}

/* Of the first n walked frames those from the returned index on are in native code. */
static uint32_t native_end(const struct thread *t, uint32_t n)
{
    while (n > 0 && walked_slot(t, n - 1) == UINTPTR_MAX)
        n--;
    return n;
}

/* The chain is cut behind a walked frame. Goes on with the managed frame above it: then *fp is its frame, *owner the code
 * that this belongs to (0: there is no room), and what was walked of native code behind the cut is dropped, because it may
 * be anything. */
READS_STACK static bool go_on_above(struct thread *t, struct walk *w, uint32_t cut, const struct frame_above *above, uintptr_t *fp, uint32_t *owner)
{
    uintptr_t slot = above->slot;
    if (above->sp == 0 || slot <= above->after || above->fp <= above->after || !on_stack(t, slot) || !on_stack(t, above->fp))
        return false;
    uint32_t ip = ip_of(t, *(const uintptr_t *)slot);
    if (ip != 0 && (flags_of(ip) & WIRE_IP_MANAGED) == 0)
        return false;
    struct frame *f = walked_frame(t, cut);
    w->n_frames = cut + 1;
    w->n_skips = cut == 0 ? 0 : walked_frame(t, cut - 1)->skips_end;
    w->kept.skips = 0; /* what is beside a cut is not joined */
    w->joined = w->foreign = false;
    bool room = ip != 0 && push_skip(t, w, slot, 0, &ip) && push_callers(t, w, above->sp, above->fp, false, &ip);
    f->skips_end = w->n_skips;
    f->cut = true;
    *fp = above->fp;
    *owner = room ? ip : 0;
    return room;
}

/* The chain ends behind a managed function that native code has called back, and that has no frame pointer (UnmanagedCallersOnly): what
 * it has left in the register is the native code's. Goes on with the managed frame above, as go_on_above does, but what was found beside
 * the chain stays. */
READS_STACK static bool go_on_beside(struct thread *t, struct walk *w, uintptr_t *fp, uint32_t *owner)
{
    struct frame *f = walked_frame(t, w->n_frames - 1);
    uint32_t first = w->n_frames == 1 ? 0 : walked_frame(t, w->n_frames - 2)->skips_end;
    struct frame_above above = {.after = f->skips_end > first ? t->walk_skips[f->skips_end - 1].slot : f->fp};
    if (!frame_above(&above) || above.sp == 0)
        return false;
    uintptr_t slot = above.slot;
    if (slot <= above.after || above.fp <= above.after || !on_stack(t, slot) || !on_stack(t, above.fp))
        return false;
    uint32_t ip = ip_of(t, *(const uintptr_t *)slot);
    if (ip == 0 || (flags_of(ip) & WIRE_IP_MANAGED) == 0)
        return false;
    w->kept.skips = 0; /* what is beside a cut is not joined */
    w->joined = w->foreign = false;
    bool room = push_skip(t, w, slot, 0, &ip) && push_callers(t, w, above.sp, above.fp, false, &ip);
    f->skips_end = w->n_skips;
    f->cut = true;
    *fp = above.fp;
    *owner = room ? ip : 0;
    return room;
}

/* At the end of the chain: is it the root, or was it cut? */
static bool walk_on(struct thread *t, struct walk *w, uintptr_t *fp, uint32_t *owner)
{
    if (t->is_walker)
        return false;
    uint32_t cut = w->stored_frames != 0 ? w->n_frames : native_end(t, w->n_frames);
    if (cut == w->n_frames && w->stored_frames == 0 && !t->leaf_only && (flags_of(*owner) & WIRE_IP_MANAGED) == 0)
        return go_on_beside(t, w, fp, owner);
    if (cut == w->n_frames || (t->walk[cut].fp == t->root && t->walk[cut].ret == t->root_ret))
        return false;
    struct frame_above above = {.after = walked_frame(t, cut)->fp};
    if (frame_above(&above) && above.sp == 0) {
        t->root = above.after;
        t->root_ret = walked_frame(t, cut)->ret; /* another frame can lie there later, below managed code */
    }
    return go_on_above(t, w, cut, &above, fp, owner);
}

/* Behind native code that is not the runtime's, when managed code was met or joined: was a managed function left out
 * before that? Frames that the runtime does not report may come before the one that it reports. */
static COLD bool walk_left_out(struct thread *t, struct walk *w, uintptr_t *fp, uint32_t *owner)
{
    uintptr_t met = walked_slot(t, w->n_frames - 1);
    uint32_t n = w->n_frames - (met != UINTPTR_MAX), cut = native_end(t, n);
    w->foreign = false;
    if (t->leaf_only || t->is_walker || cut == n)
        return false;
    struct frame_above above = {.after = walked_frame(t, cut)->fp};
    if (met == UINTPTR_MAX)
        met = joined_slot(t, w);
    if (!frame_above(&above) || above.slot >= met)
        return false;
    while (cut + 1 < n && walked_frame(t, cut + 1)->fp < above.slot)
        cut++; /* native frames below it are compared, too */
    return go_on_above(t, w, cut, &above, fp, owner);
}

/* Meets the walk a kept frame that holds? */
static bool join_frame(const struct thread *t, struct walk *w, uintptr_t fp, bool osr)
{
    struct kept *k = &w->kept;
    while (k->frames > 0 && t->frames[k->frames - 1].fp < fp)
        k->frames--;
    /* What a pair means depends on whose frame it is: an OSR variant may own what its first version owned. */
    if (k->frames == 0 || t->frames[k->frames - 1].fp != fp || t->frames[k->frames - 1].osr != osr)
        return false;
    k->skips = skips_of(t, k->frames);
    w->joined = true;
    return true;
}

/* False: no room for the walk, or for what it met. */
READS_STACK static bool walk_chain(struct thread *t, struct walk *w, uintptr_t fp)
{
    uint32_t owner = 0;
    *w = (struct walk){.kept = what_holds(t, fp)};
    while (on_stack(t, fp)) {
        bool osr = (flags_of(owner) & WIRE_IP_OSR) != 0;
        if (join_frame(t, w, fp, osr)) {
            if (LIKELY(!w->foreign))
                return true;
            if (!walk_left_out(t, w, &fp, &owner))
                return owner != 0;
            continue;
        }
        struct frame *f = next_frame(t, w);
        if (f == NULL)
            return false;
        const uintptr_t *pair = (const uintptr_t *)fp;
        f->fp = fp;
        f->next = pair[0];
        f->ret = pair[1];
        f->ip = owner = ip_of(t, pair[1]);
        f->osr = osr;
        f->cut = false;
        bool complete = owner != 0 && walk_skips(t, w, fp, osr, &owner);
        f->skips_end = w->n_skips < t->cap_skips ? w->n_skips : t->cap_skips - 1;
        if (!complete)
            return false;
        w->foreign = w->stored_frames == 0 && (w->foreign || (flags_of(f->ip) & WIRE_IP_FOREIGN) != 0);
        bool behind = w->foreign && (w->joined || walked_slot(t, w->n_frames - 1) != UINTPTR_MAX);
        if (UNLIKELY(behind) && walk_left_out(t, w, &fp, &owner))
            continue;
        if (w->joined || owner == 0)
            return owner != 0;
        if (UNLIKELY(t->leaf_only) && (has_frame(f->ip) || has_frame(owner)))
            return true;
        bool goes_on = pair[0] > fp && on_stack(t, pair[0]);
        fp = goes_on ? pair[0] : fp;
        if (!goes_on && !walk_on(t, w, &fp, &owner))
            return !w->no_room && owner != 0;
    }
    return true;
}

/* ── more links than there is room for ──────────────────────────────────────────────────────────────────────── */

static void forget_frames(struct thread *t)
{
    recents_forget(t);
    t->n_frames = t->n_skips = 0;
    t->outer = (struct path){0, 0, 0};
    t->outer_frames = t->outer_skips = 0;
    t->outer_known = true;
}

/* Only (truncated) and the innermost function of such a stack are reported. */
static bool is_too_deep(const struct thread *t)
{
    return t->outer_frames + t->n_frames >= MAX_FRAMES || t->outer_skips + t->n_skips >= MAX_FRAMES;
}

/* How many of the kept go, where so many more come; more than must, so that it is not often. */
static uint32_t too_many(uint32_t kept, uint32_t more, uint32_t capacity)
{
    uint32_t rest = kept < capacity / 2 ? kept : capacity / 2;
    return kept + more <= capacity ? 0 : kept - (rest + more <= capacity ? rest : capacity - more);
}

/* Makes room for the walked frames behind those kept ones that were joined: of these the outer half is let go, but for
 * the path that it makes. */
static void let_outer_go(struct thread *t, struct walk *w)
{
    struct kept *k = &w->kept;
    uint32_t frames = too_many(k->frames, w->n_frames, t->cap_frames), skips = skips_of(t, frames);
    skips += too_many(k->skips - skips, w->n_skips, t->cap_skips);
    if (skips > skips_of(t, frames)) /* some of a frame's: those before it go whole */
        frames = t->skips[skips - 1].frame;
    t->outer = skips > skips_of(t, frames) ? t->skips[skips - 1].path : path_at(t, frames);
    recents_forget(t);
    t->outer_frames += frames;
    t->outer_skips += skips;
    k->frames -= frames;
    k->skips -= skips;
    __builtin_memmove(t->frames, t->frames + frames, k->frames * sizeof *t->frames);
    __builtin_memmove(t->skips, t->skips + skips, k->skips * sizeof *t->skips);
    for (uint32_t i = 0; i < k->frames; i++)
        t->frames[i].skips_end = t->frames[i].skips_end < skips ? 0 : t->frames[i].skips_end - skips;
    for (uint32_t i = 0; i < k->skips; i++)
        t->skips[i].frame -= frames;
}

/* Of a stack that was walked to its end, and is too long for the tables, the inner end is kept. What it is below is not
 * known, and need not be as long as the stack is too deep. */
static bool keep_inner_end(struct thread *t, struct walk *w)
{
    uint32_t frames = w->stored_frames, skips = walked_frame(t, frames - 1)->skips_end;
    uint64_t all_frames = w->n_frames, all_skips = w->n_skips;
    if (w->joined) {
        all_frames += t->outer_frames + w->kept.frames;
        all_skips += t->outer_skips + w->kept.skips;
    }
    forget_frames(t);
    t->outer_frames = all_frames - frames;
    t->outer_skips = all_skips - skips;
    t->outer_known = false;
    t->outer.node = child_of(0, WIRE_IP_TRUNCATED, 0);
    t->outer.depth = arena.header->max_stack_depth + 1;
    w->joined = true;
    w->kept = (struct kept){0, 0};
    w->n_frames = frames;
    w->n_skips = skips;
    return t->outer.node != 0;
}

enum result { FOLLOWED, OTHER_FRAMES, NO_ROOM, TOO_SMALL };

/* Moves the walked frames behind the kept ones and gives each its node. */
static enum result adopt(struct thread *t, struct walk *w)
{
    if (w->stored_frames != 0 && !keep_inner_end(t, w))
        return NO_ROOM;
    if (!w->joined)
        forget_frames(t);
    if (!w->joined)
        w->kept = (struct kept){0, 0};
    if (w->kept.frames + w->n_frames > t->cap_frames || w->kept.skips + w->n_skips > t->cap_skips) {
        if (t->cap_frames < MAX_FRAMES)
            return TOO_SMALL;
        let_outer_go(t, w);
    }
    bool in_frame = w->kept.skips > skips_of(t, w->kept.frames);
    struct path p = in_frame ? t->skips[w->kept.skips - 1].path : path_at(t, w->kept.frames);
    cut(t, w->kept.frames, w->kept.skips);
    for (uint32_t i = w->n_frames; i-- > 0;) {
        const struct frame *from = walked_frame(t, i);
        struct frame *to = &t->frames[t->n_frames];
        to->fp = from->fp;
        to->next = from->next;
        to->ret = from->ret;
        to->ip = from->ip;
        to->osr = from->osr;
        to->cut = from->cut;
        if (!keep_frame(t, &p, i == 0 ? 0 : walked_frame(t, i - 1)->skips_end, from->skips_end))
            return NO_ROOM;
    }
    return FOLLOWED;
}

/* ── the short way: the same frames, other return addresses ─────────────────────────────────────────────────── */

/* The first frame that is not as it was, n_frames if there is none. False: there are other frames, or one that is not
 * compared may be the first. */
READS_STACK static bool first_changed(const struct thread *t, uint32_t *changed)
{
    uint32_t n = t->n_frames, first = first_other(t, near(n), n), k = near(t->n_skips);
    for (uint32_t i = first; i < n; i++)
        if (*(const uintptr_t *)t->frames[i].fp != t->frames[i].next)
            return false;
    uint32_t end = skips_of(t, first);
    while (k < end && skip_holds(&t->skips[k]))
        k++;
    if (k < end)
        first = t->skips[k].frame;
    *changed = first;
    /* If the chain ends otherwise, what is above it may be too; and many skips are better joined than found again. */
    bool seen = (near(n) == 0 || first - near(n) >= NEAR_PLACES / 2) &&
                (near(t->n_skips) == 0 || k >= end || k - near(t->n_skips) >= NEAR_PLACES / 2);
    return first > near(n) && seen && t->n_skips - skips_of(t, first) <= NEAR_PLACES;
}

/* When the chain links the same frames as before, only what comes after the first changed return address is looked
 * up again, in place. */
READS_STACK static enum result follow(struct thread *t, uintptr_t fp)
{
    uint32_t n = t->n_frames, first = 0;
    if (n == 0 || t->frames[n - 1].fp != fp || !first_changed(t, &first))
        return OTHER_FRAMES;
    struct path p = path_at(t, first);
    cut(t, first, skips_of(t, first));
    while (t->n_frames < n) {
        struct frame *f = &t->frames[t->n_frames];
        struct walk w = {0};
        uintptr_t ret = ((const uintptr_t *)f->fp)[1];
        if (f->plain && f->ret == ret && !f[-1].osr) {
            set_path(t, f, &p);
            continue;
        }
        if (f->ret != ret) {
            f->ret = ret;
            f->ip = ip_of(t, ret);
        }
        if (f->ip == 0)
            return NO_ROOM;
        if (f->osr || f->cut || f->next != f[-1].fp || (flags_of(f->ip) & (WIRE_IP_SIGNAL | WIRE_IP_FOREIGN)) != 0)
            return OTHER_FRAMES; /* rare; the general way knows whose frame it is */
        uint32_t owner = f->ip; /* of the frame before, nearer to the root */
        if (!walk_skips(t, &w, f->fp, false, &owner))
            return w.no_room ? OTHER_FRAMES : NO_ROOM;
        bool owner_osr = (flags_of(owner) & WIRE_IP_OSR) != 0;
        if (f[-1].osr != owner_osr || w.stored_frames != 0 || t->n_skips + w.n_skips > t->cap_skips)
            return OTHER_FRAMES;
        if (!keep_frame(t, &p, 0, w.n_skips))
            return NO_ROOM;
    }
    return FOLLOWED;
}

/* ────────────────────────────────────────────────────────────────────────────────────────────────────────────── */

READS_STACK static COLD uintptr_t learn_approach(struct thread *t, uintptr_t fp)
{
    struct approach e = {0};
    uintptr_t at = fp;
    for (;; e.n++) {
        const uintptr_t *pair = (const uintptr_t *)at;
        uint32_t ip = ip_of(t, pair[1]);
        if (ip == 0 || (flags_of(ip) & (WIRE_IP_MANAGED | WIRE_IP_FRAMELESS | WIRE_IP_SIGNAL | WIRE_IP_FOREIGN)) != 0)
            break;
        if (e.n == APPROACH_LINKS || pair[0] <= at || !on_stack(t, pair[0]))
            return fp;
        at = pair[0];
        e.links[e.n + 1].next = at - fp;
        e.links[e.n + 1].ret = pair[1];
    }
    t->approach = &t->approaches[t->next_approach];
    t->next_approach = (t->next_approach + 1) % APPROACHES;
    *t->approach = e;
    return at;
}

uintptr_t stack_begin(struct thread *t, uintptr_t fp)
{
    uintptr_t at = approach_end(t, t->approach, fp);
    if (UNLIKELY(at == 0))
        at = approach_known(t, fp);
    return LIKELY(at != 0) ? at : learn_approach(t, fp);
}

static enum result walk(struct thread *t, uintptr_t fp)
{
    struct walk w;
    if (!walk_chain(t, &w, fp))
        return w.no_room ? TOO_SMALL : NO_ROOM;
    return adopt(t, &w);
}

/* The node of the whole stack: below (truncated) the allocating function follows. */
static bool set_leaf(struct thread *t)
{
    struct path p = path_at(t, t->n_frames);
    bool too_deep = is_too_deep(t), is_truncated = too_deep || p.depth > arena.header->max_stack_depth;
    uint32_t node = too_deep ? child_of(0, WIRE_IP_TRUNCATED, 0) : p.node;
    uint32_t leaf = node;
    if (p.top == 0)
        leaf = child_of(0, WIRE_IP_UNKNOWN, 0);
    else if (is_truncated && node != 0)
        leaf = child_of(node, p.top, 0);
    t->leaf = leaf != 0 ? leaf : node != 0 ? node : truncated();
    return t->leaf != 0;
}

uint32_t stack_child(uint32_t parent, uint32_t ip)
{
    return child_of(parent, ip, 0);
}

void stack_forget(struct thread *t)
{
    forget_frames(t);
    t->near_frame = t->near_skip = 0;
}

/* Where there is no room for all that is on the stack, its innermost function is enough. What leads there is kept. */
static COLD bool update_leaf(struct thread *t, uintptr_t fp)
{
    struct walk w;
    stack_forget(t);
    t->outer = (struct path){truncated(), 0, arena.header->max_stack_depth + 2};
    t->leaf_only = true;
    bool walked = walk_chain(t, &w, fp);
    t->leaf_only = false;
    w.joined = true; /* to (truncated) */
    w.kept = (struct kept){0, 0};
    if (t->outer.node != 0 && walked && adopt(t, &w) == FOLLOWED) {
        t->near_frame = near(t->n_frames);
        t->near_skip = near(t->n_skips);
        return set_leaf(t);
    }
    stack_forget(t);
    t->leaf = truncated();
    return t->leaf != 0;
}

bool stack_update(struct thread *t, uintptr_t fp)
{
    enum result result = follow(t, fp);
    while (result == OTHER_FRAMES || result == TOO_SMALL) {
        if (result == TOO_SMALL && !thread_grow(t))
            break;
        result = walk(t, fp);
        if (result == FOLLOWED && !t->outer_known && !is_too_deep(t)) {
            forget_frames(t);
            result = OTHER_FRAMES;
        }
    }
    if (result != FOLLOWED)
        return update_leaf(t, fp);
    t->near_frame = near(t->n_frames);
    t->near_skip = near(t->n_skips);
    return set_leaf(t);
}

bool stack_of_copy(struct thread *t, uintptr_t fp, bool is_cut)
{
    stack_forget(t); /* another thread's */
    return is_cut ? update_leaf(t, fp) : stack_update(t, fp);
}
