/* What the JIT inlines, from the start of a dormant process on.
 *
 * Problem: when calls are recorded later (attached.c), code that has a recorded method inlined must be compiled again. The
 * runtime can search for such code, but that takes a minute in a program as large as a compiler: it makes a version for
 * each pair of methods. And it never finds methods that are made at run time, which cannot be compiled again: calls that
 * were inlined there are missing without a sign (the handlers of ASP.NET Core's endpoints).
 *
 * Idea: the JIT asks before it inlines, so an agent that listens from the start knows which method has which one inlined.
 * That costs something only while code is compiled. Into a method that cannot be compiled again only the framework's own
 * methods may be inlined; every other method is noted when something is inlined into it. The framework's own methods are
 * inlined everywhere and seldom recorded: for these the runtime has to search.
 *
 * The runtime names the function that directly has the call, not the one that is compiled, so these are followed, in each thread. */
#define _GNU_SOURCE
#include "inlined.h"
#include "modules.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#define MODULES 4096u  /* that are told apart: a large service has some hundred */
#define NOTED (1u << 17) /* methods that have some inlined; memory is used as it is filled */
#define NESTED 8u      /* compilations of a thread in each other: the first call of a static constructor begins another */
#define COMPILING 256u /* threads that compile at once: more are as those whose compilations were not seen to begin */
#define UNKNOWN UINT32_MAX

#define IS_TRACKED 1u /* beside a ModuleID: not the framework's, */
#define IS_FIXED 2u   /* and its methods get no versions */

typedef hresult callback(void *self, uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d);

static KEPT void *info;
static KEPT uintptr_t modules[MODULES]; /* ModuleID and flags; never removed, since modules that can be unloaded are not entered */
static KEPT uint64_t *noted;            /* place of the module + 1 << 32 | token */
static KEPT uint32_t n_noted;
static KEPT bool has_gaps; /* something could not be noted */

static KEPT struct compiling { /* what a thread compiles */
    uint32_t taken, depth;
    uintptr_t functions[NESTED]; /* the innermost is the last */
} compiling[COMPILING];
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

static void note(uint32_t place, uint32_t token)
{
    uint64_t key = ((uint64_t)place + 1) << 32 | token;
    uint32_t at = (uint32_t)((key * UINT64_C(0x9E3779B97F4A7C15)) >> 47);
    if (place == UNKNOWN || __atomic_load_n(&n_noted, __ATOMIC_RELAXED) >= NOTED / 4 * 3) {
        __atomic_store_n(&has_gaps, true, __ATOMIC_RELEASE);
        return;
    }
    for (;; at = (at + 1) % NOTED) {
        uint64_t found = __atomic_load_n(&noted[at], __ATOMIC_RELAXED);
        if (found == 0 && __atomic_compare_exchange_n(&noted[at], &found, key, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
            __atomic_fetch_add(&n_noted, 1, __ATOMIC_RELAXED);
            return;
        }
        if (found == key)
            return;
    }
}

/* May this thread's compilation, or that of the caller if none was seen to begin, have a method inlined that may be recorded? */
static bool may_have(uintptr_t caller)
{
    uintptr_t module;
    uint32_t token, place;
    bool seen = mine != NULL && mine->depth <= NESTED;
    if (!seen)
        __atomic_store_n(&has_gaps, true, __ATOMIC_RELEASE);
    if (!method_of_function(info, seen ? mine->functions[mine->depth - 1] : caller, &module, &token))
        return false; /* it is made at run time */
    if ((look_up(module, &place) & IS_FIXED) != 0)
        return false;
    note(place, token);
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

static struct compiling *take(void)
{
    static KEPT uint32_t first;
    uint32_t at = __atomic_fetch_add(&first, 1, __ATOMIC_RELAXED);
    for (uint32_t i = 0; i < COMPILING; i++) {
        struct compiling *c = &compiling[(at + i) % COMPILING];
        if (__atomic_load_n(&c->taken, __ATOMIC_RELAXED) == 0 && __atomic_exchange_n(&c->taken, 1, __ATOMIC_ACQUIRE) == 0)
            return c;
    }
    return NULL;
}

static void begins(uintptr_t function_id)
{
    if (mine == NULL && (mine = take()) == NULL)
        return;
    if (mine->depth < NESTED)
        mine->functions[mine->depth] = function_id;
    mine->depth++;
}

/* One that was not seen to begin, or to end, is not in the way of the others. */
static void ends(uintptr_t function_id)
{
    struct compiling *c = mine;
    uint32_t i = c == NULL ? 0 : c->depth;
    while (i > 0 && (i > NESTED || c->functions[i - 1] != function_id))
        i--;
    if (i > 0)
        c->depth = i - 1;
    else if (c != NULL && c->depth > NESTED)
        c->depth--;
    if (c == NULL || c->depth > 0)
        return;
    mine = NULL;
    __atomic_store_n(&c->taken, 0, __ATOMIC_RELEASE);
}

#define STARTS(name, which) \
    static hresult name(void *self, uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d) \
    { \
        begins(a); \
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
    if (*(int32_t *)should != 0 && method_of_function(info, callee, &module, &token) && (look_up(module, &place) & IS_TRACKED) != 0 && !may_have(caller))
        *(int32_t *)should = 0;
    errno = saved_errno;
    return hr;
}

static callback *const own[N_SLOTS] = {started, finished, version_started, version_finished, inlining, dynamic_started, dynamic_finished};

/* ── what others need ───────────────────────────────────────────────────────────────────────────────────────── */

bool inlined_is_own(uint32_t slot)
{
    bool is_own = false;
    for (uint32_t i = 0; noted != NULL && i < N_SLOTS; i++)
        is_own = is_own || slots[i] == slot;
    return is_own;
}

void inlined_install(void **callbacks)
{
    for (uint32_t i = 0; noted != NULL && i < N_SLOTS; i++) {
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
    return noted != NULL && !__atomic_load_n(&has_gaps, __ATOMIC_ACQUIRE) && (look_up(module, &place) & IS_TRACKED) != 0;
}

bool inlined_next(uint32_t *at, uintptr_t *module, uint32_t *token)
{
    for (; noted != NULL && *at < NOTED; ++*at) {
        uint64_t key = __atomic_load_n(&noted[*at], __ATOMIC_ACQUIRE);
        if (key == 0)
            continue;
        ++*at;
        *module = modules[(key >> 32) - 1] & ~(uintptr_t)(IS_TRACKED | IS_FIXED);
        *token = (uint32_t)key;
        return true;
    }
    return false;
}

uint32_t inlined_watch(void *profiler_info)
{
    void *room = mmap(NULL, NOTED * sizeof *noted, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED)
        return 0;
    info = profiler_info;
    noted = room;
    return MONITOR_JIT_COMPILATION;
}
