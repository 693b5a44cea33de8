/* What the JIT inlines, from the start of a dormant process on.
 *
 * Problem: when calls are recorded later (attach.c), code that has a recorded method inlined must be compiled again. The
 * runtime can search for such code, but that takes a minute in a program as large as a compiler: it makes a version for
 * each pair of methods. And it never finds methods that are made at run time, which cannot be compiled again: calls that
 * were inlined there are missing without a sign (the handlers of ASP.NET Core's endpoints).
 *
 * Idea: the JIT asks before it inlines, so an agent that listens from the start knows which method has which one inlined.
 * That costs something only while code is compiled. Into a method that cannot be compiled again only the framework's own
 * methods may be inlined; every other method is noted when something is inlined into it. The framework's own methods are
 * inlined everywhere and seldom recorded: for these the runtime has to search.
 *
 * The runtime names the function that directly has the call, not the one that is compiled, so these are followed, in each
 * thread. A compilation that fails is not reported as finished: the stack shows that it is over. What is not known has no
 * user code inlined into it, so that nothing is missing but the framework's methods in methods that are made at run time: these
 * are kept, so that they can be named if they are recorded (PUT).
 *
 * metadata/compilations.c follows compilations, too, to measure their time: in every recording, where this file has no
 * table of threads and no variable for it, and not between recordings, where this file works. */
#define _GNU_SOURCE
#include "filter/inlined.h"
#include "metadata/assembly_origin.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MODULES 4096u  /* that are told apart: a large service has some hundred */
#define NOTED_BITS 17u /* methods that have some inlined; memory is used as it is filled */
#define PUT_BITS 14u   /* the framework's methods that were put into methods that are made at run time: a large service has some hundred */
#define NESTED 8u      /* compilations of a thread in each other: the first call of a static constructor begins another */
#define COMPILING 256u /* threads that compile at once: more are as those whose compilations were not seen to begin */
#define UNKNOWN UINT32_MAX

#define IS_TRACKED 1u /* beside a ModuleID: not the framework's, */
#define IS_FIXED 2u   /* and its methods get no versions */

typedef hresult callback(void *self, uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d);

struct method_set { /* place of the module + 1 << 32 | token; only grows */
    uint64_t *keys;
    uint32_t bits, n;
    bool lacks_some;
};

static KEPT void *info;
static KEPT uintptr_t modules[MODULES]; /* ModuleID and flags; never removed, since modules that can be unloaded are not entered */
static KEPT struct method_set noted = {.bits = NOTED_BITS}, put = {.bits = PUT_BITS};

struct compilation {
    uintptr_t function_id, stack; /* where its beginning was reported: the stack grows down */
    bool looked_up;               /* what follows is known */
    uintptr_t flags;
    uint32_t place, token;
};
static KEPT struct compiling {      /* what a thread compiles */
    uint32_t thread, depth;         /* its id for the kernel; 0: free */
    struct compilation all[NESTED]; /* the innermost is the last */
} *compiling;                       /* COMPILING of them */
static __thread struct compiling *mine AT_FIXED_PLACE; /* NULL: this thread compiles nothing; there is no room for more beside what all threads have */

/* ── modules ────────────────────────────────────────────────────────────────────────────────────────────────── */

static uintptr_t flags_of(uintptr_t module, uint32_t *module_flags)
{
    utf16 path[WIRE_MAX_NAME];
    uint32_t length = 0;
    uintptr_t assembly = 0;
    const uint8_t *base = NULL;
    *module_flags = 0;
    if (SLOT(info, INFO_GET_MODULE_INFO2, uintptr_t, const uint8_t **, uint32_t, uint32_t *, utf16 *, uintptr_t *, uint32_t *)(
            info, module, &base, WIRE_MAX_NAME, &length, path, &assembly, module_flags) < 0 ||
        length == 0 || length > WIRE_MAX_NAME)
        return IS_FIXED;
    if ((*module_flags & (MODULE_FLAG_DYNAMIC | MODULE_FLAG_COLLECTIBLE)) != 0)
        return IS_FIXED;
    return modules_is_framework(path, length - 1) ? 0 : IS_TRACKED;
}

/* The flags of a module, and its place in `modules`; UNKNOWN: it is not there. */
static uintptr_t look_up(uintptr_t module, uint32_t *place)
{
    uint32_t at = (uint32_t)(module >> 4) * 2654435761u >> 20, module_flags;
    *place = UNKNOWN;
    for (uint32_t i = 0; i < MODULES; i++, at = (at + 1) % MODULES) {
        uintptr_t found = __atomic_load_n(&modules[at], __ATOMIC_ACQUIRE);
        if (found == 0) {
            uintptr_t flags = flags_of(module, &module_flags);
            if ((module_flags & MODULE_FLAG_COLLECTIBLE) != 0)
                return flags;
            if (__atomic_compare_exchange_n(&modules[at], &found, module | flags, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
                found = module | flags;
        }
        if ((found & ~(uintptr_t)(IS_TRACKED | IS_FIXED)) == module) {
            *place = at;
            return found & (IS_TRACKED | IS_FIXED);
        }
    }
    return flags_of(module, &module_flags);
}

/* ── who has what ───────────────────────────────────────────────────────────────────────────────────────────── */

static uint64_t key_of(uint32_t place, uint32_t token)
{
    return ((uint64_t)place + 1) << 32 | token;
}

/* Its place in the set, or that at which it would be. */
static uint64_t *find(const struct method_set *s, uint64_t key)
{
    uint64_t at = (key * UINT64_C(0x9E3779B97F4A7C15)) >> (64 - s->bits);
    for (;; at = (at + 1) & ((UINT64_C(1) << s->bits) - 1)) {
        uint64_t found = __atomic_load_n(&s->keys[at], __ATOMIC_ACQUIRE);
        if (found == 0 || found == key)
            return &s->keys[at];
    }
}

static void enter(struct method_set *s, uint32_t place, uint32_t token)
{
    uint64_t key = key_of(place, token);
    if (place == UNKNOWN || __atomic_load_n(&s->n, __ATOMIC_RELAXED) >= (1u << s->bits) / 4 * 3) {
        __atomic_store_n(&s->lacks_some, true, __ATOMIC_RELEASE);
        return;
    }
    for (;;) {
        uint64_t *at = find(s, key), empty = 0;
        if (__atomic_load_n(at, __ATOMIC_RELAXED) == key)
            return;
        if (__atomic_compare_exchange_n(at, &empty, key, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
            __atomic_fetch_add(&s->n, 1, __ATOMIC_RELAXED);
            return;
        }
    }
}

/* What this thread compiles. NULL: it was not seen to begin. */
static struct compilation *innermost(void)
{
    uintptr_t module;
    if (mine == NULL || mine->depth == 0 || mine->depth > NESTED)
        return NULL;
    struct compilation *c = &mine->all[mine->depth - 1];
    if (!c->looked_up) /* a method that is made at run time has no module, or one in which it has no token (10.0.12) */
        c->flags = method_of_function(info, c->function_id, &module, &c->token) && (c->token & ~TOKEN_TABLE) != 0 ? look_up(module, &c->place) : IS_FIXED;
    c->looked_up = true;
    return c;
}

/* May a method be inlined into what this thread compiles? */
static bool may_be_inlined(uintptr_t flags, uint32_t place, uint32_t token)
{
    struct compilation *c = innermost();
    bool again = c != NULL && (c->flags & IS_FIXED) == 0; /* it can be compiled again */
    if ((flags & IS_TRACKED) != 0) {
        if (again)
            enter(&noted, c->place, c->token);
        return again;
    }
    if (!again && flags == 0)
        enter(&put, place, token);
    return true;
}

/* ── callbacks ──────────────────────────────────────────────────────────────────────────────────────────────── */

static const uint32_t slots[] = {CALLBACK_JIT_STARTED,   CALLBACK_JIT_FINISHED,        CALLBACK_REJIT_STARTED,       CALLBACK_REJIT_FINISHED,
                                 CALLBACK_JIT_INLINING, CALLBACK_DYNAMIC_JIT_STARTED, CALLBACK_DYNAMIC_JIT_FINISHED};
#define N_SLOTS (sizeof slots / sizeof *slots)
enum { STARTED, FINISHED, VERSION_STARTED, VERSION_FINISHED, INLINING, DYNAMIC_STARTED, DYNAMIC_FINISHED };
static KEPT callback *before[N_SLOTS]; /* the recording's, if it wants to know, too */

static hresult pass_on(uint32_t which, void *self, uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d)
{
    callback *next = __atomic_load_n(&before[which], __ATOMIC_ACQUIRE);
    return next == NULL ? HR_OK : next(self, a, b, c, d);
}

/* May `thread` take the place of `owner`? If it is free, if it was left by an earlier thread with the same id, or, on `look_for_ended`, if
 * its owner has ended in a compilation that failed, and could not give it back. */
static bool is_free(uint32_t owner, uint32_t thread, bool look_for_ended)
{
    if (owner == 0 || owner == thread)
        return true;
    int saved_errno = errno;
    bool ended = look_for_ended && syscall(SYS_tgkill, getpid(), owner, 0) != 0 && errno == ESRCH;
    errno = saved_errno;
    return ended;
}

static struct compiling *take(void)
{
    static KEPT uint32_t first;
    uint32_t at = __atomic_fetch_add(&first, 1, __ATOMIC_RELAXED), thread = (uint32_t)syscall(SYS_gettid);
    for (uint32_t i = 0; i < 2 * COMPILING; i++) {
        struct compiling *c = &compiling[(at + i) % COMPILING];
        uint32_t owner = __atomic_load_n(&c->thread, __ATOMIC_RELAXED);
        if (is_free(owner, thread, i >= COMPILING) && __atomic_compare_exchange_n(&c->thread, &owner, thread, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
            c->depth = 0;
            return c;
        }
    }
    return NULL;
}

/* Compilations that failed are over when the thread's stack is above where they began. */
static void forget_failed(struct compiling *c, uintptr_t stack)
{
    uint32_t n = c->depth < NESTED ? c->depth : NESTED;
    while (n > 0 && c->all[n - 1].stack <= stack)
        c->depth = --n;
}

static void begins(uintptr_t function_id, uintptr_t stack)
{
    if (mine == NULL && (mine = take()) == NULL)
        return;
    forget_failed(mine, stack);
    if (mine->depth < NESTED)
        mine->all[mine->depth] = (struct compilation){.function_id = function_id, .stack = stack, .place = UNKNOWN};
    mine->depth++;
}

/* One that was not seen to begin, or to end, is not in the way of the others. */
static void ends(uintptr_t function_id)
{
    struct compiling *c = mine;
    uint32_t i = c == NULL ? 0 : c->depth;
    while (i > 0 && i <= NESTED && c->all[i - 1].function_id != function_id)
        i--;
    if (i > 0)
        c->depth = i - 1;
    if (c == NULL || c->depth > 0)
        return;
    mine = NULL;
    __atomic_store_n(&c->thread, 0, __ATOMIC_RELEASE);
}

#define STARTS(name, which) \
    static hresult name(void *self, uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d) \
    { \
        begins(a, (uintptr_t)__builtin_frame_address(0)); \
        return pass_on(which, self, a, b, c, d); \
    }
#define ENDS(name, which) \
    static hresult name(void *self, uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d) \
    { \
        ends(a); \
        return pass_on(which, self, a, b, c, d); \
    }

STARTS(started, STARTED)
STARTS(version_started, VERSION_STARTED)
STARTS(dynamic_started, DYNAMIC_STARTED)
ENDS(finished, FINISHED)
ENDS(version_finished, VERSION_FINISHED)
ENDS(dynamic_finished, DYNAMIC_FINISHED)

static hresult inlining(void *self, uintptr_t caller, uintptr_t callee, uintptr_t should, uintptr_t unused)
{
    int saved_errno = errno;
    uintptr_t module;
    uint32_t token, place;
    *(int32_t *)should = 1;
    hresult hr = pass_on(INLINING, self, caller, callee, should, unused);
    if (*(int32_t *)should != 0 && method_of_function(info, callee, &module, &token)) {
        uintptr_t flags = look_up(module, &place);
        *(int32_t *)should = may_be_inlined(flags, place, token);
    }
    errno = saved_errno;
    return hr;
}

static callback *const own[N_SLOTS] = {started, finished, version_started, version_finished, inlining, dynamic_started, dynamic_finished};

/* ── what others need ───────────────────────────────────────────────────────────────────────────────────────── */

bool inlined_is_own(uint32_t slot)
{
    bool is_own = false;
    for (uint32_t i = 0; noted.keys != NULL && i < N_SLOTS; i++)
        is_own = is_own || slots[i] == slot;
    return is_own;
}

void inlined_install(void **callbacks)
{
    for (uint32_t i = 0; noted.keys != NULL && i < N_SLOTS; i++) {
        void *there = callbacks[slots[i]];
        if (there == (void *)own[i])
            continue;
        __atomic_store_n(&before[i], (callback *)there, __ATOMIC_RELEASE);
        __atomic_store_n(&callbacks[slots[i]], (void *)own[i], __ATOMIC_RELEASE);
    }
}

void inlined_let_go(void)
{
    for (uint32_t i = 0; i < N_SLOTS; i++)
        __atomic_store_n(&before[i], NULL, __ATOMIC_RELEASE);
}

bool inlined_knows(uintptr_t module)
{
    uint32_t place;
    return noted.keys != NULL && !__atomic_load_n(&noted.lacks_some, __ATOMIC_ACQUIRE) && (look_up(module, &place) & IS_TRACKED) != 0;
}

bool inlined_next(uint32_t *at, uintptr_t *module, uint32_t *token)
{
    for (; noted.keys != NULL && *at < 1u << noted.bits; ++*at) {
        uint64_t key = __atomic_load_n(&noted.keys[*at], __ATOMIC_ACQUIRE);
        if (key == 0)
            continue;
        ++*at;
        *module = modules[(key >> 32) - 1] & ~(uintptr_t)(IS_TRACKED | IS_FIXED);
        *token = (uint32_t)key;
        return true;
    }
    return false;
}

bool inlined_is_put(uintptr_t module, uint32_t token)
{
    uint32_t place;
    if (put.keys == NULL || look_up(module, &place) != 0)
        return false;
    uint64_t key = key_of(place, token);
    return place == UNKNOWN || __atomic_load_n(&put.lacks_some, __ATOMIC_ACQUIRE) || __atomic_load_n(find(&put, key), __ATOMIC_RELAXED) == key;
}

uint32_t inlined_watch(void *profiler_info)
{
    size_t keys = (size_t)1 << NOTED_BITS | (size_t)1 << PUT_BITS, bytes = keys * sizeof *noted.keys + COMPILING * sizeof *compiling;
    void *room = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED)
        return 0;
    info = profiler_info;
    noted.keys = room;
    put.keys = noted.keys + ((size_t)1 << NOTED_BITS);
    compiling = (void *)(noted.keys + keys);
    return MONITOR_JIT_COMPILATION;
}
