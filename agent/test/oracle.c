/* Variants of the agent for tests and benchmarks, never part of the product. CLRPROF_VARIANT chooses one:
 *
 *  empty     ObjectAllocated does nothing: what the runtime itself costs, the measure for everything else;
 *  emptygc   the same with COR_PRF_MONITOR_GC, the measure for lifetime;
 *  snapshot  DoStackSnapshot at every allocation, the stack thrown away: what the documented way would cost;
 *  compare   the product, and after each CLRPROF_EVERY-th allocation its stack is compared with DoStackSnapshot's;
 *  selfcheck the product with lifetime, and after each GC its shadow of the heap is compared with ObjectReferences;
 *  walk      the product, and after each GC the runtime reports every object of the heap, which are counted by class;
 *  sum       the product, and when the program makes an array of a certain size, what was counted before: see sum.c;
 *  deaf      the product with lifetime, and from the CLRPROF_EVERY-th collection on no event of the runtime's reaches it;
 *  slowblocks the product, which takes its time when a filter or catch block is about to run, so that collections come then;
 *  record    the product with lifetime, and beside it what the runtime reports of the heap is recorded: see record.c.
 *  emptyhooks Enter, Leave and Tailcall do nothing, for the functions for which the product (CLRPROF_TIME=1) would do
 *            something: what the runtime, the JIT and the stubs cost;
 *  clockhooks the same with one reading of the clock in each, the measure for the product's hooks.
 *
 * A comparison is written to CLRPROF_COMPARISON. That of selfcheck is one line, see oracle_report, and the first objects
 * that are not the same. That of stacks is written to CLRPROF_COMPARISON as lines: for the first MAX_SHOWN differences "ours", our stack,
 * "theirs" and DoStackSnapshot's, separated by tabs, leaf first, and at the end a summary
 * "equal N different N none N dynamic N": stacks compared, those without any managed frame for DoStackSnapshot, and
 * those of ours with dynamic functions. A frame
 * is "function:ip:called:flags:name" with numbers in hexadecimal. Our stack's dynamic functions are left out, as
 * DoStackSnapshot leaves out methods without metadata; so is what both have in common from the root on.
 *
 * The last walk is written to CLRPROF_WALK as lines "TYPE OBJECTS BYTES", TYPE being the agent's id. */
#define _GNU_SOURCE
#include "../src/heap/allocations.h"
#include "../src/arch/arch.h"
#include "../src/core/arena.h"
#include "../src/heap/shadow_heap.h"
#include "../src/calls/probe_overhead.h"
#include "../src/heap/object_tracking.h"
#include "../src/metadata/descriptions.h"
#include "../src/heap/reachable.h"
#include "../src/threads/threads.h"
#include "oracle.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define MAX_DEPTH 20000u
#define MAX_SHOWN 20000u
#define MONITOR_GC 0x80u
#define CALLBACK_OBJECT_REFERENCES 52
#define CALLBACK_GC_FINISHED 75


struct stack {
    uint32_t n;
    uintptr_t ips[MAX_DEPTH];
    uintptr_t functions[MAX_DEPTH];
};

static __thread struct stack *theirs, *ours;
static uint64_t n_seen, n_equal, n_different, n_none, n_dynamic, every = 1;
static int report_fd = -1;

static hresult collect_frame(uintptr_t function, uintptr_t ip, uintptr_t frame, uint32_t size, uint8_t *context, void *data)
{
    (void)frame, (void)size, (void)context;
    struct stack *s = data;
    if (function != 0 && s->n < MAX_DEPTH) {
        s->functions[s->n] = function;
        s->ips[s->n++] = ip;
    }
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

static uintptr_t function_of(uintptr_t address)
{
    uintptr_t function = 0, rejit = 0;
    if (SLOT(agent_info, INFO_GET_FUNCTION_FROM_IP3, uintptr_t, uintptr_t *, uintptr_t *)(agent_info, address, &function, &rejit) < 0)
        return 0;
    return function;
}

static bool is_dynamic_function(uintptr_t function)
{
    int32_t dynamic = 0;
    return function != 0 &&
           SLOT(agent_info, INFO_IS_FUNCTION_DYNAMIC, uintptr_t, int32_t *)(agent_info, function, &dynamic) >= 0 && dynamic != 0;
}

/* True: it has dynamic functions, which are left out. */
static bool our_stack(struct stack *s, uint32_t node)
{
    bool dynamic = false;
    s->n = 0;
    for (; node != 0 && s->n < MAX_DEPTH; node = arena_node(node)->parent) {
        const struct wire_ip *ip = arena_ip(arena_node(node)->ip);
        if (ip->address == 0)
            continue; /* (truncated), or no managed code */
        if (is_dynamic_function(function_of(ip->address)))
            dynamic = true;
        else
            s->ips[s->n++] = ip->address;
    }
    return dynamic;
}

/* Leaves out what has no frame in our stacks by design. */
static void drop_helpers(struct stack *s)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->n; i++) {
        s->ips[n] = s->ips[i];
        s->functions[n] = s->functions[i];
        n += (arena_ip(ip_of_address(s->ips[i], true))->flags & WIRE_IP_HELPER) == 0;
    }
    s->n = n;
}

static void put_name(char *out, size_t size, const utf16 *name, uint32_t length)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i + 1 < length && n + 1 < size; i++)
        out[n++] = name[i] > ' ' && name[i] < 127 ? (char)name[i] : '?';
    out[n] = 0;
}

/* The function that the call before a return address calls through a cell (call [rip + d]), as precompiled code calls
 * the runtime's helpers; 0 for other calls. */
static uintptr_t called_before(uintptr_t ip)
{
    const uint8_t *call = (const uint8_t *)(ip - 6);
    int32_t distance;
    if (call[0] != 0xFF || call[1] != 0x15)
        return 0;
    memcpy(&distance, call + 2, sizeof distance);
    return *(const uintptr_t *)(ip + (uintptr_t)(intptr_t)distance);
}

/* ":FLAGS:Namespace.Type.Method", as in metadata; P: a P/Invoke, I: implemented in the runtime. */
static void write_function(uintptr_t function)
{
    utf16 name[256];
    char type[256], method[256];
    void *import = NULL;
    uint32_t token = 0, owner = 0, length = 0, attributes = 0, bytes, rva, implementation = 0, flags;
    const uint32_t pinvoke = 0x2000, internal_call = 0x1000; /* ECMA-335 II.23.1.10, II.23.1.11 */
    const uint8_t *signature;
    if (is_dynamic_function(function) ||
        SLOT(agent_info, INFO_GET_TOKEN_AND_METADATA, uintptr_t, const struct guid *, void **, uint32_t *)(
            agent_info, function, &IID_METADATA_IMPORT, &import, &token) < 0) {
        dprintf(report_fd, "::(dynamic)");
        return;
    }
    (void)SLOT(import, IMPORT_GET_METHOD_PROPS, uint32_t, uint32_t *, utf16 *, uint32_t, uint32_t *, uint32_t *, const uint8_t **,
         uint32_t *, uint32_t *, uint32_t *)(import, token, &owner, name, 256, &length, &attributes, &signature, &bytes, &rva,
                                             &implementation);
    put_name(method, sizeof method, name, length);
    (void)SLOT(import, IMPORT_GET_TYPE_DEF_PROPS, uint32_t, utf16 *, uint32_t, uint32_t *, uint32_t *, uint32_t *)(
        import, owner, name, 256, &length, &flags, &bytes);
    put_name(type, sizeof type, name, length);
    dprintf(report_fd, ":%s%s:%s.%s", (attributes & pinvoke) != 0 ? "P" : "", (implementation & internal_call) != 0 ? "I" : "",
            type, method);
    com_release(import);
}

static void write_stack(const struct stack *s, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        uintptr_t function = s == theirs ? s->functions[i] : function_of(s->ips[i]);
        dprintf(report_fd, "\t%zx:%zx:%zx", (size_t)function, (size_t)s->ips[i], (size_t)called_before(s->ips[i]));
        write_function(function);
    }
}

/* Both stacks without what they have in common at the root. */
static void write_difference(void)
{
    uint32_t a = ours->n, b = theirs->n;
    while (a > 0 && b > 0 && ours->ips[a - 1] == theirs->ips[b - 1])
        a--, b--;
    dprintf(report_fd, "ours");
    write_stack(ours, a);
    dprintf(report_fd, "\ttheirs");
    write_stack(theirs, b);
    dprintf(report_fd, "\n");
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
    if (snapshot(theirs) != HR_OK) { /* no managed frame, or only dynamic functions */
        __atomic_fetch_add(&n_none, 1, __ATOMIC_RELAXED);
        theirs->n = 0;
    }
    drop_helpers(theirs);
    if (our_stack(ours, current_thread == NULL ? 0 : current_thread->leaf))
        __atomic_fetch_add(&n_dynamic, 1, __ATOMIC_RELAXED);
    if (ours->n == theirs->n && memcmp(ours->ips, theirs->ips, ours->n * sizeof *ours->ips) == 0) {
        __atomic_fetch_add(&n_equal, 1, __ATOMIC_RELAXED);
        return HR_OK;
    }
    if (__atomic_fetch_add(&n_different, 1, __ATOMIC_RELAXED) < MAX_SHOWN) {
        arena_lock();
        write_difference();
        arena_unlock();
    }
    return HR_OK;
}

/* ── selfcheck: the shadow against the runtime's own walk of the heap ───────────────────────────────────────── */

#define CHECKED 0x40000000u /* in a shadow's size: the walk met it */
#define MAX_REPORTED 20u

struct walked {
    uintptr_t object, class_id;
};

static struct walked *walked;
static uint64_t n_walked, walked_capacity, n_gcs, n_live, n_missing, n_extra, n_wrong;
static hresult (*lifetime_gc_finished)(void *);
static char reported[MAX_REPORTED][160];
static uint32_t n_reported;

static hresult walk_object(void *self, uintptr_t object, uintptr_t class_id, uint32_t n, const uintptr_t *references)
{
    (void)self, (void)n, (void)references;
    if (arena.header->alive_known != 0)
        return HR_FAIL; /* see check_gc */
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

static void report(const char *what, uintptr_t object, uint64_t ours, uint64_t theirs)
{
    if (n_reported < MAX_REPORTED)
        snprintf(reported[n_reported++], sizeof reported[0], "gc %u %s %zx ours %llu theirs %llu\n", gc_number, what, (size_t)object,
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
        report("size", w->object, units, size);
    } else if ((s->site & SHADOW_PENDING) == 0 && shadow_has_site(s->site) && arena.sites[s->site - 1].type != type) {
        n_wrong++;
        report("type", w->object, arena.sites[s->site - 1].type, type);
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
            report("extra", at, s->site, 0);
        }
        s->size &= ~CHECKED;
        at += (uintptr_t)s->size << 3;
    }
}

static hresult check_gc(void *self)
{
    static struct clr_generation_range ranges[65536];
    uint32_t n = 0;
    bool ended = arena.header->alive_known != 0;
    hresult hr = lifetime_gc_finished(self);
    if (ended || !lifetime_on) { /* threads that still run may collect once more: the agent does not follow that */
        n_walked = 0;
        return hr;
    }
    (void)SLOT(agent_info, INFO_GET_GENERATION_BOUNDS, uint32_t, uint32_t *, struct clr_generation_range *)(agent_info, 65536, &n, ranges);
    for (uint64_t i = 0; i < n_walked; i++) {
        struct shadow *s = heap_find(walked[i].object);
        if (s != NULL) {
            check_object(&walked[i], s);
            s->size |= CHECKED;
        } else if (in_a_generation(walked[i].object, ranges, n)) {
            n_missing++; /* alive, and the shadow does not know it */
            report("missing", walked[i].object, 0, type_of_class(walked[i].class_id));
        }
    }
    for (uint32_t i = 0; i < n; i++)
        find_extra(&ranges[i]);
    n_gcs++;
    n_walked = 0;
    return hr;
}
/* ── every object of the heap ───────────────────────────────────────────────────────────────────────────────── */

#define MAX_CLASSES 65536u /* a power of two */

struct class_count {
    uintptr_t class_id;
    uint64_t objects, bytes;
};
static struct class_count *counts; /* of the last GC */
static bool gc_began = true; /* counts are of the GC before */

static hresult object_references(void *self, uintptr_t object, uintptr_t class_id, uint32_t n, uintptr_t *references)
{
    (void)self, (void)n, (void)references;
    size_t size = 0;
    if (SLOT(agent_info, INFO_GET_OBJECT_SIZE2, uintptr_t, size_t *)(agent_info, object, &size) < 0)
        return HR_OK; /* the test finds it missing */
    arena_lock();
    if (gc_began)
        memset(counts, 0, MAX_CLASSES * sizeof *counts);
    gc_began = false;
    for (uintptr_t i = class_id >> 3;; i++) {
        struct class_count *c = &counts[i % MAX_CLASSES];
        if (c->class_id != 0 && c->class_id != class_id)
            continue;
        c->class_id = class_id;
        c->objects++;
        c->bytes += (size + 7) & ~(size_t)7;
        break;
    }
    arena_unlock();
    return HR_OK;
}

static hresult gc_finished(void *self)
{
    (void)self;
    gc_began = true;
    return HR_OK;
}

static void write_walk(void)
{
    for (uint32_t i = 0; i < MAX_CLASSES; i++)
        if (counts[i].class_id != 0)
            dprintf(report_fd, "%u %llu %llu\n", type_of_class(counts[i].class_id), (unsigned long long)counts[i].objects,
                    (unsigned long long)counts[i].bytes);
}

/* ────────────────────────────────────────────────────────────────────────────────────────────────────────────── */

/* ── kill ───────────────────────────────────────────────────────────────────────────────────────────────────── */

static hresult (*lifetime_gc_started)(void *, int32_t, const int32_t *, uint32_t);
static hresult (*lifetime_moved)(void *, uint32_t, const uintptr_t *, const uintptr_t *, const size_t *);
static hresult (*lifetime_survived)(void *, uint32_t, const uintptr_t *, const size_t *);
static uint64_t n_callbacks;

static void maybe_die(void)
{
    if (__atomic_add_fetch(&n_callbacks, 1, __ATOMIC_RELAXED) == every)
        kill(getpid(), SIGKILL);
}

static hresult dying_started(void *self, int32_t n, const int32_t *collected, uint32_t reason)
{
    maybe_die();
    return lifetime_gc_started(self, n, collected, reason);
}

static hresult dying_moved(void *self, uint32_t n, const uintptr_t *from, const uintptr_t *to, const size_t *lengths)
{
    maybe_die();
    return lifetime_moved(self, n, from, to, lengths);
}

static hresult dying_survived(void *self, uint32_t n, const uintptr_t *from, const size_t *lengths)
{
    maybe_die();
    return lifetime_survived(self, n, from, lengths);
}

static hresult dying_finished(void *self)
{
    maybe_die();
    hresult hr = lifetime_gc_finished(self);
    maybe_die();
    return hr;
}

static void install_kill(void **callbacks)
{
    lifetime_gc_started = (hresult(*)(void *, int32_t, const int32_t *, uint32_t))callbacks[CALLBACK_GC_STARTED];
    lifetime_moved = (hresult(*)(void *, uint32_t, const uintptr_t *, const uintptr_t *, const size_t *))callbacks[CALLBACK_MOVED_REFERENCES2];
    lifetime_survived = (hresult(*)(void *, uint32_t, const uintptr_t *, const size_t *))callbacks[CALLBACK_SURVIVING_REFERENCES2];
    lifetime_gc_finished = (hresult(*)(void *))callbacks[CALLBACK_GC_FINISHED];
    callbacks[CALLBACK_GC_STARTED] = (void *)dying_started;
    callbacks[CALLBACK_MOVED_REFERENCES2] = (void *)dying_moved;
    callbacks[CALLBACK_SURVIVING_REFERENCES2] = (void *)dying_survived;
    callbacks[CALLBACK_GC_FINISHED] = (void *)dying_finished;
}

/* ── deaf ───────────────────────────────────────────────────────────────────────────────────────────────────── */

static hresult (*event_delivered)(void *, uintptr_t, uint32_t);

static hresult event_lost(void *self, uintptr_t provider, uint32_t id)
{
    const uint32_t suspend_end = 8, suspend_begin = 9, triggered = 35; /* without these the agent would not expect an event */
    if (gc_number < every || id == suspend_begin || id == suspend_end || id == triggered)
        return event_delivered(self, provider, id);
    return HR_OK;
}

#include "record.c" /* so that who builds the variants need not know of it */

#include "sum.c"

static const char *variant(void)
{
    const char *v = getenv("CLRPROF_VARIANT");
    return v == NULL ? "" : v;
}

/* ── hooks that do less ─────────────────────────────────────────────────────────────────────────────────────── */

static __thread volatile uint64_t hook_clock __attribute__((tls_model("initial-exec")));

/* Called by stubs (arch); other registers than the general ones are not kept. */
void oracle_empty_hook(const struct method *m, uintptr_t sp);
void oracle_clock_hook(const struct method *m, uintptr_t sp);
void oracle_empty_enter(void);
void oracle_empty_leave(void);
void oracle_empty_tailcall(void);
void oracle_clock_enter(void);
void oracle_clock_leave(void);
void oracle_clock_tailcall(void);

void oracle_empty_hook(const struct method *m, uintptr_t sp)
{
    (void)m, (void)sp;
}

void oracle_clock_hook(const struct method *m, uintptr_t sp)
{
    (void)m, (void)sp;
    hook_clock = machine_ticks();
}

void oracle_hooks(void **hooks)
{
    if (strcmp(variant(), "emptyhooks") == 0) {
        hooks[0] = (void *)oracle_empty_enter;
        hooks[1] = (void *)oracle_empty_leave;
        hooks[2] = (void *)oracle_empty_tailcall;
    }
    if (strcmp(variant(), "clockhooks") == 0) {
        hooks[0] = (void *)oracle_clock_enter;
        hooks[1] = (void *)oracle_clock_leave;
        hooks[2] = (void *)oracle_clock_tailcall;
    }
}

static hresult end_walk(void)
{
    return HR_FAIL; /* else the runtime walks the whole heap after each GC */
}

uint32_t oracle_event_mask(void)
{
    if (strcmp(variant(), "emptygc") == 0 || strcmp(variant(), "walk") == 0)
        return MONITOR_GC;
    return strcmp(variant(), "snapshot") == 0 || strcmp(variant(), "compare") == 0 ? ENABLE_STACK_SNAPSHOT : 0;
}

static hresult (*filter_enter)(void *, uintptr_t);
static hresult (*catcher_enter)(void *, uintptr_t, uintptr_t);

static void be_slow(void)
{
    const struct timespec moment = {0, 1000};
    nanosleep(&moment, NULL);
}

static hresult filter_enter_slowly(void *self, uintptr_t function)
{
    be_slow();
    return filter_enter(self, function);
}

static hresult catcher_enter_slowly(void *self, uintptr_t function, uintptr_t object)
{
    be_slow();
    return catcher_enter(self, function, object);
}

static void install_slow_blocks(void **callbacks)
{
    filter_enter = (hresult(*)(void *, uintptr_t))callbacks[CALLBACK_FILTER_ENTER];
    catcher_enter = (hresult(*)(void *, uintptr_t, uintptr_t))callbacks[CALLBACK_CATCHER_ENTER];
    callbacks[CALLBACK_FILTER_ENTER] = (void *)filter_enter_slowly;
    callbacks[CALLBACK_CATCHER_ENTER] = (void *)catcher_enter_slowly;
}

void oracle_install(void **callbacks)
{
    const char *path = getenv("CLRPROF_COMPARISON"), *walk = getenv("CLRPROF_WALK"), *n = getenv("CLRPROF_EVERY");
    reachable_traces = false;
    every = n == NULL ? 1 : strtoull(n, NULL, 10);
    if (strcmp(variant(), "empty") == 0)
        callbacks[CALLBACK_OBJECT_ALLOCATED] = (void *)allocated_empty;
    if (strcmp(variant(), "emptygc") == 0) {
        callbacks[CALLBACK_OBJECT_ALLOCATED] = (void *)allocated_empty;
        callbacks[CALLBACK_OBJECT_REFERENCES] = (void *)end_walk;
    }
    if (strcmp(variant(), "snapshot") == 0)
        callbacks[CALLBACK_OBJECT_ALLOCATED] = (void *)allocated_snapshot;
    if (strcmp(variant(), "kill") == 0)
        install_kill(callbacks);
    if (strcmp(variant(), "slowblocks") == 0)
        install_slow_blocks(callbacks);
    if (strcmp(variant(), "deaf") == 0) {
        event_delivered = (hresult(*)(void *, uintptr_t, uint32_t))callbacks[CALLBACK_EVENT_DELIVERED];
        callbacks[CALLBACK_EVENT_DELIVERED] = (void *)event_lost;
    }
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
    if (strcmp(variant(), "sum") == 0)
        install_sum(callbacks, path);
    if (strcmp(variant(), "record") == 0)
        record_install(callbacks);
    if (strcmp(variant(), "walk") == 0 && walk != NULL) {
        callbacks[CALLBACK_OBJECT_REFERENCES] = (void *)object_references;
        callbacks[CALLBACK_GC_FINISHED] = (void *)gc_finished;
        counts = calloc(MAX_CLASSES, sizeof *counts);
        report_fd = open(walk, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    }
}

bool oracle_wants_events(void)
{
    return strcmp(variant(), "record") != 0;
}

void oracle_report(void)
{
    const char *recording = getenv("CLRPROF_RECORDING");
    if (record_entries != NULL && recording != NULL)
        record_write(recording);
    if (report_fd >= 0 && n_gcs != 0)
        dprintf(report_fd, "gcs %llu live %llu missing %llu extra %llu different %llu\n", (unsigned long long)n_gcs,
                (unsigned long long)n_live, (unsigned long long)n_missing, (unsigned long long)n_extra, (unsigned long long)n_wrong);
    for (uint32_t i = 0; i < n_reported; i++)
        dprintf(report_fd, "%s", reported[i]);
    if (report_fd >= 0 && counts != NULL)
        write_walk();
    else if (report_fd >= 0 && strcmp(variant(), "sum") != 0)
        dprintf(report_fd, "equal %llu different %llu none %llu dynamic %llu\n", (unsigned long long)n_equal,
                (unsigned long long)n_different, (unsigned long long)n_none, (unsigned long long)n_dynamic);
}
