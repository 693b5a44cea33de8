/* Calls that leave the program: commands to databases (ADO.NET) and requests over HTTP.
 *
 * Probes in the IL of the methods that make them report their begin and end (call_sites.c). What is reported is the outermost such call on
 * a thread: one method calls another, as ExecuteNonQueryAsync does ExecuteNonQuery. For that a thread knows its caller's stack pointer
 * alone, as in recording_scopes.c, and what ends a call is the same: its probe, a block that catches an exception further out, or a probe that has
 * no lower stack pointer.
 *
 * A row is of a kind, a text and a stack. The text is the characters of a string of the program, which cannot move meanwhile: the probe is
 * called as a part of the compiled code. Texts, stacks and rows are known by hashes of 64 bits.
 *
 * In a probe the runtime does not say what an address is (0x80131363), but walks the stack. So the probe takes addresses, and a thread of the
 * agent's own, or the end of the process, finds out what they are and makes a node of them. Until then rows have none.
 *
 * What returns a task lasts until the task is complete. A task has a number if somebody asks for it (Task.Id): the probe does, and the
 * function in which each task completes says which one did. Nothing is allocated, and nobody is called back. */
#define _GNU_SOURCE
#include "arch/arch.h"
#include "core/arena.h"
#include "control/recording_state.h"
#include "probes/ado_http_calls.h"
#include "core/hash_map.h"
#include "core/recording.h"
#include "probes/meters.h"
#include "probes/test_cases.h"
#include "metadata/descriptions.h"
#include "stacks/stack_walk.h"
#include "threads/threads.h"
#include "filter/probing.h"
#include "os/own_time.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MAX_TEXT WIRE_MAX_INTERACTION_TEXT
#define MAX_TEXTS 20000u  /* different ones; programs that put values into their texts have millions */
#define MAX_ROWS 100000u
#define MAX_STACK 512u    /* frames; the innermost are kept */
#define MAX_PENDING 65536u /* tasks that are not complete, at once */
#define PENDING_SLOTS 4096u
#define SEED_BYTES 8192u  /* of a CONTEXT, whose size differs by runtime */
#define STOP 1            /* S_FALSE */
#define TASK_COMPLETED 0x1000000u /* TASK_STATE_RAN_TO_COMPLETION, of Task.m_stateFlags */
#define HASH_PRIME UINT64_C(0x9E3779B97F4A7C15)

struct stack {
    struct stack *next; /* of those that have no node yet */
    uint32_t node, first_row, n;
    bool cut;
    uintptr_t ips[]; /* the innermost first */
};

struct pending { /* a task that is not complete */
    uint64_t start;
    uint32_t task, row, next; /* next: in its slot, or of those that are free */
};

static void *info;
static struct map texts, stacks, rows; /* hash → id; struct stack; number */
static uint32_t n_texts, epoch;
static uint32_t *row_next;            /* by row: the next one of a stack that has no node yet */
static struct stack *first_new, **last_new = &first_new;
static uint32_t n_new; /* stacks so far: a futex */
static struct {
    uint32_t lock, used, free, count;
    uint32_t slots[PENDING_SLOTS];
    struct pending *of; /* from 1 on */
} tasks;

struct call {
    uintptr_t at; /* caller's stack pointer of the outermost call, 0: there is none */
    uint64_t start;
    uint32_t kind, row; /* row: 0: not known, or the task says when it ends */
    uint32_t task;
    struct stack *stack;
    struct test_case test; /* which is no such call */
    struct call *next; /* of those that no thread has */
};
static __thread struct call *own AT_FIXED_PLACE; /* NULL: the thread has made no such call */
static struct call *unused_calls;

/* What the stubs of probes go on to. */
void interactions_text(const uint8_t *first, const uint8_t *second, uintptr_t kind, uintptr_t sp, uintptr_t place, uintptr_t own_sp);
void interactions_waits(uint64_t task, uintptr_t kind, uintptr_t sp);
void interactions_done(uint64_t success, uintptr_t kind, uintptr_t sp);

static bool is_never(void)
{
    return recording_is_over() || !arena_is_ours();
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * HASH_PRIME;
    return hash ^ hash >> 29;
}

/* ── rows ───────────────────────────────────────────────────────────────────────────────────────────────────── */

static struct wire_interaction *row_at(uint32_t row)
{
    return &arena.interactions[row - 1];
}

static void add(uint64_t *to, uint64_t n)
{
    __atomic_fetch_add(to, n, __ATOMIC_RELAXED);
}

static void finish(uint32_t row, uint64_t start, bool failed)
{
    uint64_t now = monotonic_ns(), ns = now > start ? now - start : 0, seen;
    if (row == 0)
        return;
    struct wire_interaction *r = row_at(row);
    add(&r->total_ns, ns);
    seen = __atomic_load_n(&r->min_ns, __ATOMIC_RELAXED);
    while (ns < seen && !__atomic_compare_exchange_n(&r->min_ns, &seen, ns, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
    seen = __atomic_load_n(&r->max_ns, __ATOMIC_RELAXED);
    while (ns > seen && !__atomic_compare_exchange_n(&r->max_ns, &seen, ns, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
    if (failed)
        add(&r->failed, 1);
    __atomic_fetch_add(&r->ended, 1, __ATOMIC_RELEASE);
}

/* With the lock held. */
static uint32_t new_row(uint64_t key, uint32_t kind, uint32_t text, struct stack *s)
{
    uint64_t n = arena.header->regions[WIRE_REGION_INTERACTIONS].used / sizeof(struct wire_interaction);
    struct wire_interaction *r = n < MAX_ROWS && map_has_room(&rows) ? arena_reserve(WIRE_REGION_INTERACTIONS, sizeof *r) : NULL;
    if (r == NULL)
        return 0;
    uint32_t row = (uint32_t)n + 1;
    *r = (struct wire_interaction){.kind = kind, .text = text, .node = s->node, .min_ns = UINT64_MAX};
    if (s->node == 0) {
        row_next[row] = s->first_row;
        s->first_row = row;
    }
    arena_publish(WIRE_REGION_INTERACTIONS, sizeof *r);
    map_put(&rows, key, row);
    return row;
}

static uint32_t find_row(uint32_t kind, uint32_t text, struct stack *s)
{
    uint64_t key = s == NULL ? 0 : mix(mix(kind + 1, text), (uintptr_t)s);
    uint32_t row = key == 0 ? 0 : (uint32_t)map_get(&rows, key);
    if (row == 0 && key != 0) {
        arena_lock();
        row = (uint32_t)map_get(&rows, key);
        if (row == 0)
            row = new_row(key, kind, text, s);
        arena_unlock();
    }
    if (row == 0)
        loss(WIRE_LOSS_INTERACTIONS, 0, 0);
    return row;
}

/* ── texts ──────────────────────────────────────────────────────────────────────────────────────────────────── */

struct text {
    uint32_t id, cut, length; /* as in the record */
    utf16 units[MAX_TEXT];
};

static void put_unit(struct text *t, utf16 unit)
{
    if (t->length < MAX_TEXT)
        t->units[t->length++] = unit;
    else
        t->cut = 1;
}

/* A string of the program: its length is behind the pointer to its class, and its characters follow (checked at the start). */
static uint32_t string_at(const uint8_t *string, const utf16 **units)
{
    *units = (const utf16 *)(const void *)(string + 12);
    return *(const uint32_t *)(const void *)(string + 8);
}

static void put_command(struct text *t, const uint8_t *string)
{
    const utf16 *units;
    uint32_t n = string == NULL ? 0 : string_at(string, &units);
    for (uint32_t i = 0; i < n && t->cut == 0; i++)
        put_unit(t, units[i]);
}

/* Method and address without what may be secret, or different each time: user, query and fragment. */
static void put_request(struct text *t, const uint8_t *method, const uint8_t *address)
{
    const utf16 *units;
    uint32_t n, host = 0, end;
    put_command(t, method);
    put_unit(t, ' ');
    if (address == NULL)
        return;
    n = string_at(address, &units);
    n = n > MAX_TEXT + 1 ? MAX_TEXT + 1 : n;
    for (end = 0; end < n && units[end] != '?' && units[end] != '#'; end++)
        if (host == 0 && end >= 2 && units[end] == '/' && units[end - 1] == '/' && units[end - 2] == ':')
            host = end + 1;
    uint32_t authority = host, user = host;
    while (host != 0 && authority < end && units[authority] != '/')
        if (units[authority++] == '@')
            user = authority;
    for (uint32_t i = 0; i < end && t->cut == 0; i++)
        if (i < host || i >= user)
            put_unit(t, units[i]);
}

/* The id of a text, 0: there is no room for it. */
static uint32_t find_text(struct text *t)
{
    uint64_t hash = mix(HASH_PRIME, t->length);
    for (uint32_t i = 0; i < t->length; i++)
        hash = mix(hash, t->units[i]);
    hash = hash == 0 ? 1 : hash;
    uint32_t id = (uint32_t)map_get(&texts, hash);
    bool reported = true;
    if (id == 0) {
        arena_lock();
        id = (uint32_t)map_get(&texts, hash);
        if (id == 0 && n_texts < MAX_TEXTS && arena_has_room(ROOM_FUNCTIONS) && map_has_room(&texts)) {
            t->id = n_texts + 1;
            if (arena_log(WIRE_RECORD_INTERACTION_TEXT, t, (uint32_t)(offsetof(struct text, units) + t->length * sizeof *t->units))) {
                map_put(&texts, hash, id = ++n_texts);
                reported = t->cut == 0;
            }
        }
        arena_unlock();
    }
    if (id == 0 || !reported)
        loss(WIRE_LOSS_INTERACTION_TEXTS, 0, 0);
    return id;
}

/* ── stacks ─────────────────────────────────────────────────────────────────────────────────────────────────── */

struct walk {
    uint32_t n;
    bool inside; /* the innermost frame, the operation's own, was met */
    bool cut;
    uintptr_t ips[MAX_STACK];
};

static hresult take_frame(uintptr_t function, uintptr_t ip, uintptr_t frame, uint32_t size, uint8_t *context, void *data)
{
    (void)frame;
    (void)size;
    (void)context;
    struct walk *w = data;
    if (function == 0)
        return HR_OK;
    if (!w->inside) {
        w->inside = true;
        return HR_OK;
    }
    w->cut = w->n == MAX_STACK || w->n == arena.header->max_stack_depth;
    if (w->cut)
        return STOP;
    w->ips[w->n++] = ip;
    return HR_OK;
}

/* The frames of compiled code begin with the operation's own, at which the runtime cannot look for them by itself: nothing on the
 * stack says so. */
static void walk_stack(struct walk *w, uintptr_t place, uintptr_t own_sp, uintptr_t sp)
{
    uint8_t seed[SEED_BYTES] __attribute__((aligned(16))) = {0};
    uint32_t flags = CONTEXT_CONTROL;
    uintptr_t fp = FRAME_POINTER(sp);
    memcpy(seed + CONTEXT_FLAGS, &flags, sizeof flags);
    memcpy(seed + CONTEXT_SP, &own_sp, sizeof own_sp);
    memcpy(seed + CONTEXT_FP, &fp, sizeof fp);
    memcpy(seed + CONTEXT_IP, &place, sizeof place);
    w->n = 0;
    w->inside = w->cut = false;
    (void)SLOT(info, INFO_DO_STACK_SNAPSHOT, uintptr_t, void *, uint32_t, void *, uint8_t *, uint32_t)(info, 0, (void *)take_frame, 0, w, seed, SEED_BYTES);
}

static uint64_t hash_of(const struct walk *w)
{
    uint64_t hash = mix(w->cut, w->n);
    for (uint32_t i = 0; i < w->n; i++)
        hash = mix(hash, w->ips[i]);
    return hash == 0 ? 1 : hash;
}

/* With the lock held. */
static struct stack *new_stack(uint64_t hash, const struct walk *w)
{
    struct stack *s = map_has_room(&stacks) ? private_alloc(sizeof *s + w->n * sizeof *s->ips) : NULL;
    if (s == NULL)
        return NULL;
    *s = (struct stack){.n = w->n, .cut = w->cut};
    memcpy(s->ips, w->ips, w->n * sizeof *s->ips);
    map_put(&stacks, hash, (uintptr_t)s);
    *last_new = s;
    last_new = &s->next;
    __atomic_fetch_add(&n_new, 1, __ATOMIC_RELEASE);
    return s;
}

static struct stack *find_stack(uintptr_t place, uintptr_t own_sp, uintptr_t sp)
{
    struct walk w;
    walk_stack(&w, place, own_sp, sp);
    uint64_t hash = hash_of(&w);
    uint32_t now = __atomic_load_n(&code_epoch, __ATOMIC_ACQUIRE);
    struct stack *s = now == __atomic_load_n(&epoch, __ATOMIC_ACQUIRE) ? (struct stack *)(uintptr_t)map_get(&stacks, hash) : NULL;
    if (s != NULL)
        return s;
    arena_lock();
    if (epoch != now) {
        map_drop(&stacks, 0, 0); /* other code may be at these addresses now */
        __atomic_store_n(&epoch, now, __ATOMIC_RELEASE);
    }
    s = (struct stack *)(uintptr_t)map_get(&stacks, hash);
    bool is_new = s == NULL && (s = new_stack(hash, &w)) != NULL;
    arena_unlock();
    if (is_new) {
        time_own_calls();
        syscall(SYS_futex, &n_new, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
        time_leave_out_calls();
    }
    return s;
}

static void name_stack(struct stack *s)
{
    uint32_t node = s->cut ? stack_child(0, WIRE_IP_TRUNCATED) : 0;
    for (uint32_t i = s->n; i-- > 0;) {
        uint32_t ip = ip_of_address(s->ips[i], i == 0), flags = ip == 0 ? 0 : arena_ip(ip)->flags, child;
        if ((flags & WIRE_IP_MANAGED) == 0 || (flags & WIRE_IP_HELPER) != 0)
            continue;
        if ((child = stack_child(node, ip)) == 0)
            break; /* no room: what is nearer to the root is known */
        node = child;
    }
    if (node == 0)
        node = stack_child(0, WIRE_IP_UNKNOWN);
    arena_lock();
    s->node = node;
    for (uint32_t row = s->first_row; row != 0; row = row_next[row])
        __atomic_store_n(&row_at(row)->node, node, __ATOMIC_RELEASE);
    s->first_row = 0;
    arena_unlock();
}

static void name_stacks(void)
{
    for (;;) {
        arena_lock();
        struct stack *s = first_new;
        if (s != NULL && (first_new = s->next) == NULL)
            last_new = &first_new;
        arena_unlock();
        if (s == NULL)
            return;
        name_stack(s);
    }
}

static void *wait_for_stacks(void *unused)
{
    while (!recording_is_over() && arena.header->state <= WIRE_STATE_RECORDING) {
        uint32_t n = __atomic_load_n(&n_new, __ATOMIC_ACQUIRE);
        name_stacks();
        if (syscall(SYS_futex, &n_new, FUTEX_WAIT_PRIVATE, n, NULL, NULL, 0) != 0 && errno != EAGAIN && errno != EINTR)
            break; /* the end of the process does it */
    }
    return unused;
}

/* ── calls ──────────────────────────────────────────────────────────────────────────────────────────────────── */

bool interactions_any(void)
{
    return own != NULL && own->at != 0;
}

/* False: there is no room. */
static bool take_own(void)
{
    if (own != NULL)
        return true;
    arena_lock();
    own = unused_calls;
    if (own != NULL)
        unused_calls = own->next;
    else
        own = private_alloc(sizeof *own);
    arena_unlock();
    if (own == NULL)
        loss(WIRE_LOSS_INTERACTIONS, 0, 0);
    return own != NULL;
}

struct test_case *interactions_case(bool make)
{
    if (make ? !take_own() : own == NULL)
        return NULL;
    return &own->test;
}

static void end_own(bool failed)
{
    uint32_t row = own->row;
    own->at = 0;
    own->row = own->task = 0;
    finish(row, own->start, failed);
}

void interactions_drop(uintptr_t sp)
{
    if (interactions_any() && own->at <= sp)
        end_own(true);
}

bool interactions_is_outermost(uintptr_t sp)
{
    return interactions_any() && (own->at == sp || (own->at > sp && frame_is_variant(own->at, sp)));
}

/* Calls of others are not counted. */
static bool is_counted(uint32_t kind)
{
    return kind < INTERACTION_COMPLETION;
}

void interactions_enter(uint32_t kind, uintptr_t sp)
{
    int saved_errno = errno;
    if (is_counted(kind) && !is_never()) {
        interactions_drop(sp);
        if (!interactions_any() && control_ask(NULL) && take_own()) {
            own->at = sp;
            own->kind = kind;
            own->row = own->task = 0;
            own->stack = NULL;
            own->start = monotonic_ns();
        }
    }
    errno = saved_errno;
}

void interactions_leave(uint32_t kind, uintptr_t sp)
{
    int saved_errno = errno;
    if (is_counted(kind) && interactions_any() && !is_never()) {
        interactions_drop(sp - 1);
        if (interactions_is_outermost(sp))
            end_own(false);
    }
    errno = saved_errno;
}

void interactions_thread_ended(void)
{
    if (own == NULL)
        return;
    own->at = own->test.at = 0;
    arena_lock();
    own->next = unused_calls;
    unused_calls = own;
    arena_unlock();
    own = NULL;
}

/* The text of a request is what is sent in the end: its address may be relative to that of the client, which makes it whole. */
static bool is_wanted(uintptr_t kind, uintptr_t sp)
{
    return interactions_any() && (own->at == sp || (kind == WIRE_INTERACTION_HTTP && own->kind == WIRE_INTERACTION_HTTP)) && !is_never();
}

static void mark_request(const uint8_t *name)
{
    int saved_errno = errno;
    const utf16 *units;
    uint32_t n = name == NULL ? 0 : string_at(name, &units);
    if (n != 0)
        control_mark_request(units, n);
    errno = saved_errno;
}

void interactions_text(const uint8_t *first, const uint8_t *second, uintptr_t kind, uintptr_t sp, uintptr_t place, uintptr_t own_sp)
{
    struct text t;
    int saved_errno = errno;
    if (kind == INTERACTION_REQUEST) {
        mark_request(first);
        return;
    }
    if (!is_wanted(kind, sp))
        return;
    t.id = t.cut = t.length = 0;
    if (kind == WIRE_INTERACTION_HTTP)
        put_request(&t, first, second);
    else
        put_command(&t, first);
    uint32_t text = find_text(&t), before = own->row;
    if (own->stack == NULL)
        own->stack = find_stack(place, own_sp, sp);
    own->row = find_row(own->kind, text, own->stack);
    if (own->row != before && before != 0)
        __atomic_fetch_sub(&row_at(before)->started, 1, __ATOMIC_RELAXED);
    if (own->row != before && own->row != 0)
        add(&row_at(own->row)->started, 1);
    if (before == 0)
        own->start = monotonic_ns(); /* the time is the program's, not ours */
    errno = saved_errno;
}

/* ── tasks ──────────────────────────────────────────────────────────────────────────────────────────────────── */

static uint32_t new_pending(void)
{
    uint32_t i = tasks.free;
    if (i != 0)
        tasks.free = tasks.of[i].next;
    else if (tasks.used < MAX_PENDING)
        i = ++tasks.used;
    return i;
}

/* The call has returned a task that is not complete. */
void interactions_waits(uint64_t task, uintptr_t kind, uintptr_t sp)
{
    (void)kind;
    int saved_errno = errno;
    if (!interactions_is_outermost(sp) || own->row == 0 || (uint32_t)task == 0 || is_never())
        return;
    uint32_t *slot = &tasks.slots[(uint32_t)task % PENDING_SLOTS];
    word_lock(&tasks.lock);
    uint32_t i = new_pending();
    if (i != 0) {
        tasks.of[i] = (struct pending){own->start, (uint32_t)task, own->row, *slot};
        *slot = i;
        __atomic_store_n(&tasks.count, tasks.count + 1, __ATOMIC_SEQ_CST);
    }
    word_unlock(&tasks.lock);
    if (i == 0)
        add(&row_at(own->row)->unwaited, 1); /* it ends with the call */
    else {
        own->row = 0;
        own->task = (uint32_t)task;
    }
    errno = saved_errno;
}

static void complete(uint32_t task, bool failed)
{
    uint32_t done = 0;
    word_lock(&tasks.lock);
    for (uint32_t *at = &tasks.slots[task % PENDING_SLOTS]; *at != 0;) {
        struct pending *p = &tasks.of[*at];
        uint32_t i = *at;
        if (p->task != task) {
            at = &p->next;
            continue;
        }
        *at = p->next;
        p->next = done;
        done = i;
        __atomic_store_n(&tasks.count, tasks.count - 1, __ATOMIC_RELAXED);
    }
    word_unlock(&tasks.lock);
    while (done != 0) {
        struct pending p = tasks.of[done];
        finish(p.row, p.start, failed);
        word_lock(&tasks.lock);
        tasks.of[done].next = tasks.free;
        tasks.free = done;
        word_unlock(&tasks.lock);
        done = p.next;
    }
}

/* A task is complete; it has no number unless somebody asked for it. */
void interactions_completed(uint64_t task, uint64_t state, uintptr_t unused)
{
    (void)unused;
    if ((uint32_t)task == 0 || __atomic_load_n(&tasks.count, __ATOMIC_SEQ_CST) == 0)
        return;
    int saved_errno = errno;
    if (!is_never())
        complete((uint32_t)task, (state & TASK_COMPLETED) == 0);
    errno = saved_errno;
}

/* The call has returned a task that is complete by now. If it was noted that it waits, either this or what completed it is the first to say so. */
void interactions_done(uint64_t success, uintptr_t kind, uintptr_t sp)
{
    (void)kind;
    int saved_errno = errno;
    bool failed = (success & 0xFF) == 0, counts = interactions_is_outermost(sp) && !is_never();
    if (counts && own->task != 0)
        complete(own->task, failed);
    if (counts)
        end_own(failed);
    errno = saved_errno;
}

/* ── begin and end ──────────────────────────────────────────────────────────────────────────────────────────── */

bool interactions_choose(void)
{
    const char *text = getenv("CLRPROF_INTERACTIONS");
    bool wanted = text != NULL && strcmp(text, "1") == 0;
    requests_on = getenv("CLRPROF_REQUESTS") != NULL && arena.header->runtime_major >= 5;
    interactions_on = wanted && arena.header->runtime_major >= 5;
    cases_on = getenv("CLRPROF_TEST_CASES") != NULL && arena.header->runtime_major >= 5;
    startup_on = meters_choose();
    if (wanted && !interactions_on)
        loss(WIRE_LOSS_INTERACTIONS, 0, 0);
    return operations_on();
}

bool interactions_init(void *profiler_info)
{
    info = profiler_info;
    row_next = private_alloc((MAX_ROWS + 1) * sizeof *row_next);
    tasks.of = private_alloc((MAX_PENDING + 1) * sizeof *tasks.of);
    if (row_next == NULL || tasks.of == NULL || !map_init(&texts, 1024, true) || !map_init(&stacks, 1024, true) || !map_init(&rows, 1024, true))
        return false;
    thread_start(wait_for_stacks); /* else the end of the process does it */
    return true;
}

void interactions_end(void)
{
    if (interactions_on)
        name_stacks();
}
