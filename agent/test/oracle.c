/* Variants of the agent for tests and benchmarks, never part of the product. CLRPROF_VARIANT chooses one:
 *
 *  empty     ObjectAllocated does nothing: what the runtime itself costs, the measure for everything else;
 *  emptygc   the same with COR_PRF_MONITOR_GC, the measure for lifetime;
 *  snapshot  DoStackSnapshot at every allocation, the stack thrown away: what the documented way would cost;
 *  compare   the product, and after each CLRPROF_EVERY-th allocation its stack is compared with DoStackSnapshot's;
 *  selfcheck the product with lifetime, and after each GC its shadow of the heap is compared with ObjectReferences.
 *
 * A comparison is written to CLRPROF_COMPARISON. That of selfcheck is one line, see oracle_report, and the first objects
 * that are not the same. That of stacks is a summary "equal N different N" at the end and, for the
 * first MAX_SHOWN differences, the two stacks, leaf first, as "method:ip" with our stack's dynamic functions left
 * out (DoStackSnapshot leaves out methods without metadata). */
#define _GNU_SOURCE
#include "oracle.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_DEPTH 20000u
#define MAX_SHOWN 20000u

extern void *agent_info;

struct stack {
    uint32_t n;
    uintptr_t ips[MAX_DEPTH];
};

static __thread struct stack *theirs, *ours;
static uint64_t n_seen, n_equal, n_different, every = 1;
static int report_fd = -1;

static hresult collect_frame(uintptr_t function, uintptr_t ip, uintptr_t frame, uint32_t size, uint8_t *context, void *data)
{
    (void)frame, (void)size, (void)context;
    struct stack *s = data;
    if (function != 0 && s->n < MAX_DEPTH)
        s->ips[s->n++] = ip;
    return HR_OK;
}

static hresult snapshot(struct stack *s)
{
    s->n = 0;
    return SLOT(agent_info, INFO_DO_STACK_SNAPSHOT, uintptr_t, void *, uint32_t, void *, uint8_t *, uint32_t)(
        agent_info, 0, (void *)collect_frame, 0, s, NULL, 0);
}

static hresult allocated_empty(void *self, uintptr_t object, uintptr_t class_id)
{
    (void)self, (void)object, (void)class_id;
    return HR_OK;
}

static hresult allocated_snapshot(void *self, uintptr_t object, uintptr_t class_id)
{
    (void)self, (void)object, (void)class_id;
    if (theirs == NULL)
        theirs = malloc(sizeof *theirs);
    return snapshot(theirs);
}

static bool is_dynamic(uintptr_t address)
{
    uintptr_t function = 0, rejit = 0;
    int32_t dynamic = 0;
    if (SLOT(agent_info, INFO_GET_FUNCTION_FROM_IP3, uintptr_t, uintptr_t *, uintptr_t *)(agent_info, address, &function, &rejit) < 0)
        return false;
    return SLOT(agent_info, INFO_IS_FUNCTION_DYNAMIC, uintptr_t, int32_t *)(agent_info, function, &dynamic) >= 0 && dynamic != 0;
}

static void our_stack(struct stack *s, uint32_t node)
{
    s->n = 0;
    for (; node != 0 && s->n < MAX_DEPTH; node = arena_node(node)->parent) {
        const struct wire_ip *ip = arena_ip(arena_node(node)->ip);
        if (ip->address != 0 && !is_dynamic(ip->address))
            s->ips[s->n++] = ip->address;
    }
}

static void show_function(uintptr_t function)
{
    utf16 name[128];
    void *import = NULL;
    uint32_t token = 0, owner, length = 0, attributes, bytes, rva, flags;
    const uint8_t *signature;
    if (SLOT(agent_info, INFO_GET_TOKEN_AND_METADATA, uintptr_t, const struct guid *, void **, uint32_t *)(
            agent_info, function, &IID_METADATA_IMPORT, &import, &token) < 0)
        return;
    SLOT(import, IMPORT_GET_METHOD_PROPS, uint32_t, uint32_t *, utf16 *, uint32_t, uint32_t *, uint32_t *, const uint8_t **,
         uint32_t *, uint32_t *, uint32_t *)(import, token, &owner, name, 128, &length, &attributes, &signature, &bytes, &rva, &flags);
    for (uint32_t i = 0; i + 1 < length && i < 127; i++)
        dprintf(report_fd, "%c", name[i] < 128 ? (char)name[i] : '?');
    com_release(import);
}

static void show(const char *who, const struct stack *s)
{
    dprintf(report_fd, " %s", who);
    for (uint32_t i = 0; i < s->n && i < 64; i++) {
        uintptr_t function = 0, rejit = 0;
        SLOT(agent_info, INFO_GET_FUNCTION_FROM_IP3, uintptr_t, uintptr_t *, uintptr_t *)(agent_info, s->ips[i], &function, &rejit);
        dprintf(report_fd, " ");
        show_function(function);
        dprintf(report_fd, ":%zx", (size_t)s->ips[i]);
    }
}

static hresult allocated_compare(void *self, uintptr_t object, uintptr_t class_id)
{
    object_allocated(self, object, class_id);
    if (__atomic_fetch_add(&n_seen, 1, __ATOMIC_RELAXED) % every != 0)
        return HR_OK;
    if (theirs == NULL) {
        theirs = malloc(sizeof *theirs);
        ours = malloc(sizeof *ours);
    }
    if (snapshot(theirs) != HR_OK)
        return HR_OK; /* allocations of the runtime without a managed frame */
    our_stack(ours, current_thread == NULL ? 0 : current_thread->leaf);
    if (ours->n == theirs->n && memcmp(ours->ips, theirs->ips, ours->n * sizeof *ours->ips) == 0) {
        __atomic_fetch_add(&n_equal, 1, __ATOMIC_RELAXED);
        return HR_OK;
    }
    if (__atomic_fetch_add(&n_different, 1, __ATOMIC_RELAXED) < MAX_SHOWN) {
        arena_lock();
        dprintf(report_fd, "different");
        show("ours", ours);
        show("theirs", theirs);
        dprintf(report_fd, "\n");
        arena_unlock();
    }
    return HR_OK;
}

/* ── selfcheck: the shadow against the runtime's own walk of the heap ───────────────────────────────────────── */

#define CHECKED 0x40000000u /* in a shadow's size: the walk met it */
#define MAX_TOLD 20u

struct walked {
    uintptr_t object, class_id;
};

static struct walked *walked;
static uint64_t n_walked, walked_capacity, n_gcs, n_live, n_missing, n_extra, n_wrong;
static hresult (*lifetime_gc_finished)(void *);
static char told[MAX_TOLD][160];
static uint32_t n_told;

static hresult walk_object(void *self, uintptr_t object, uintptr_t class_id, uint32_t n, const uintptr_t *references)
{
    (void)self, (void)n, (void)references;
    if (n_walked == walked_capacity) {
        walked_capacity = walked_capacity == 0 ? 1u << 16 : 2 * walked_capacity;
        walked = realloc(walked, walked_capacity * sizeof *walked);
    }
    walked[n_walked++] = (struct walked){object, class_id};
    return HR_OK;
}

static bool in_a_generation(uintptr_t address, const struct clr_generation_range *ranges, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (address - ranges[i].start < ranges[i].length)
            return true;
    return false;
}

static void tell(const char *what, uintptr_t object, uint64_t ours, uint64_t theirs)
{
    if (n_told < MAX_TOLD)
        snprintf(told[n_told++], sizeof told[0], "gc %u %s %zx ours %llu theirs %llu\n", gc_number, what, (size_t)object,
                 (unsigned long long)ours, (unsigned long long)theirs);
}

/* Is an object's size the runtime's, and its site one of its type? If the shadows of two objects changed places, the
 * set of objects would still be right. */
static void check_object(const struct walked *w, const struct shadow *s)
{
    size_t size = 0;
    hresult hr = SLOT(agent_info, INFO_GET_OBJECT_SIZE2, uintptr_t, size_t *)(agent_info, w->object, &size);
    uint32_t units = s->size & ~CHECKED, type = type_of_class(w->class_id);
    if (hr < 0 || units != (size + 7) / 8) {
        n_wrong++;
        tell("size", w->object, units, size);
    } else if ((s->site & 0x80000000u) == 0 && arena.sites[s->site - 1].type != type) {
        n_wrong++;
        tell("type", w->object, arena.sites[s->site - 1].type, type);
    }
}

static void find_extra(const struct clr_generation_range *range)
{
    uintptr_t end = range->start + range->length;
    for (uintptr_t at = heap_next(range->start, end); at < end; at = heap_next(at, end)) {
        struct shadow *s = heap_find(at);
        n_live++;
        if ((s->size & CHECKED) == 0) {
            n_extra++; /* in the shadow, and not on the heap */
            tell("extra", at, s->site, 0);
        }
        s->size &= ~CHECKED;
        at += (uintptr_t)s->size << 3;
    }
}

static hresult check_gc(void *self)
{
    static struct clr_generation_range ranges[65536];
    uint32_t n = 0;
    hresult hr = lifetime_gc_finished(self);
    SLOT(agent_info, INFO_GET_GENERATION_BOUNDS, uint32_t, uint32_t *, struct clr_generation_range *)(agent_info, 65536, &n, ranges);
    for (uint64_t i = 0; i < n_walked; i++) {
        struct shadow *s = heap_find(walked[i].object);
        if (s != NULL) {
            check_object(&walked[i], s);
            s->size |= CHECKED;
        } else if (in_a_generation(walked[i].object, ranges, n)) {
            n_missing++; /* alive, and the shadow does not know it */
            tell("missing", walked[i].object, 0, type_of_class(walked[i].class_id));
        }
    }
    for (uint32_t i = 0; i < n; i++)
        find_extra(&ranges[i]);
    n_gcs++;
    n_walked = 0;
    return hr;
}

static const char *variant(void)
{
    const char *v = getenv("CLRPROF_VARIANT");
    return v == NULL ? "" : v;
}

static hresult end_walk(void)
{
    return HR_FAIL; /* else the runtime walks the whole heap after each GC */
}

uint32_t oracle_event_mask(void)
{
    if (strcmp(variant(), "emptygc") == 0)
        return MONITOR_GC;
    return strcmp(variant(), "snapshot") == 0 || strcmp(variant(), "compare") == 0 ? ENABLE_STACK_SNAPSHOT : 0;
}

void oracle_install(void **callbacks)
{
    const char *path = getenv("CLRPROF_COMPARISON"), *n = getenv("CLRPROF_EVERY");
    every = n == NULL ? 1 : strtoull(n, NULL, 10);
    if (strcmp(variant(), "empty") == 0)
        callbacks[CALLBACK_OBJECT_ALLOCATED] = (void *)allocated_empty;
    if (strcmp(variant(), "emptygc") == 0) {
        callbacks[CALLBACK_OBJECT_ALLOCATED] = (void *)allocated_empty;
        callbacks[CALLBACK_OBJECT_REFERENCES] = (void *)end_walk;
    }
    if (strcmp(variant(), "snapshot") == 0)
        callbacks[CALLBACK_OBJECT_ALLOCATED] = (void *)allocated_snapshot;
    if (strcmp(variant(), "selfcheck") == 0 && path != NULL) {
        lifetime_gc_finished = (hresult(*)(void *))callbacks[CALLBACK_GC_FINISHED];
        callbacks[CALLBACK_GC_FINISHED] = (void *)check_gc;
        callbacks[CALLBACK_OBJECT_REFERENCES] = (void *)walk_object;
        report_fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    }
    if (strcmp(variant(), "compare") == 0 && path != NULL) {
        callbacks[CALLBACK_OBJECT_ALLOCATED] = (void *)allocated_compare;
        report_fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    }
}

void oracle_report(void)
{
    if (report_fd >= 0 && n_gcs != 0)
        dprintf(report_fd, "gcs %llu live %llu missing %llu extra %llu different %llu\n", (unsigned long long)n_gcs,
                (unsigned long long)n_live, (unsigned long long)n_missing, (unsigned long long)n_extra, (unsigned long long)n_wrong);
    for (uint32_t i = 0; i < n_told; i++)
        dprintf(report_fd, "%s", told[i]);
    if (report_fd >= 0)
        dprintf(report_fd, "equal %llu different %llu\n", (unsigned long long)n_equal, (unsigned long long)n_different);
}
