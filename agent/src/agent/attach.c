/* Calls of a process that runs already.
 *
 * Problem: probes are put into a method's IL when it is compiled (il_probes.c), and what is called in a service was compiled long ago. When the
 * recording ends the program has to have its own code again, and nothing may be left that points to what the recording had.
 *
 * Idea: ReJIT. The runtime compiles another version of each method that is recorded, with probes, when it is called next, and goes back to
 * what it had when it is asked to. Code that has such a method inlined would call none of its probes, so it is compiled again, too, from its
 * own IL: precompiled code by the lists of its image (r2r_inliners.c), other code by what the runtime knows itself.
 *
 * The order matters, or calls are missing that nobody misses:
 *
 *   - first the events of compilations: from then on nothing is inlined any more that is recorded, and no precompiled code of it is used. A thread that
 *     was about to put code in its place finds a version that is asked for meanwhile only if it was asked before, so some time must pass;
 *   - then the requests, and one for each function whose compilation nobody saw begin: what it has inlined is not known;
 *   - then, while all threads are stopped, the number of the recording, which probes compare (il_probes.h), and the events of exceptions;
 *   - at the end, stopped again, number, events and visits at once. If there were no visits any more and probes still recorded, what is compiled meanwhile
 *     would have no probes beside callers that have;
 *   - then, when nobody is in the agent, the versions are taken back.
 *
 * A call that began before has an end without a begin, and its caller's stack pointer is above all that the thread has begun since (call_stack.c).
 *
 * What the runtime keeps of each version it keeps for ever, so all recordings of a process together are bounded: see MOST_PART. */
#define _GNU_SOURCE
#include "agent/attach.h"
#include "metadata/hot_reload.h"
#include "core/arena.h"
#include "calls/calls.h"
#include "control/recording_state.h"
#include "agent/dormant.h"
#include "filter/inlined.h"
#include "filter/r2r_inliners.h"
#include "filter/instrumentation.h"
#include "filter/probing.h"
#include "core/hash_map.h"
#include "arch/entry.h"
#include "metadata/descriptions.h"
#include "os/context_switch.h"
#include "calls/exception_pins.h"
#include "probes/il_probes.h"

#include <errno.h>
#include <time.h>

#define AT_ONCE 512u             /* methods of one request: the runtime stops all threads for each */
#define SEARCHED_AT_ONCE 64u     /* of one that makes the runtime look for who has them inlined: it makes a version for each pair */
#define STEP_METHODS 512u        /* that are looked at between two rests */
#define REST_PARTS 9u            /* so many times what a step took: the program has nine tenths of the time, even where a step stops its threads */
#define LONGEST_REST_NS UINT64_C(200000000)
#define FEW 512u                 /* methods of a module */
#define MAX_RECORDINGS UINT16_MAX /* of calls, in a process: their number is a part of the arguments of probes, which never go away */
#define SETTLE_NS UINT64_C(20000000) /* between the first events and the requests: many times what a thread takes to put code in its place */
#define MOST_PART 4u             /* of the memory limit: what all recordings may leave behind, by these estimates: */
#define VERSION_BYTES 512u       /* of a version that is asked for, */
#define CODE_BYTES 2048u         /* and of one that is compiled, at two tiers */
#define NOT_CONCERNED 1u         /* of a module: it has no functions that are recorded */
#define MAX_RUNNING 16384u       /* frames of all threads: services have some hundred */

struct batch { /* methods of requests */
    uint32_t n;
    struct batch *next;
    uintptr_t modules[AT_ONCE];
    uint32_t tokens[AT_ONCE];
};

struct module {
    uintptr_t id;
    bool asked; /* for its methods */
    struct module *next;
};

static KEPT uint32_t recordings; /* of calls, up to now */
static KEPT uint64_t left;       /* bytes, by all of them */

static void *info;
static struct map modules;      /* ModuleID → struct module, or NOT_CONCERNED */
static struct map given;        /* module number << 32 | token → what probes_give says */
static struct map versions;     /* FunctionID → ReJITID of that with probes */
static struct map begun;        /* FunctionID → 1: its compilation was seen to begin, and not to end */
static struct module *all;      /* concerned modules */
static bool asking;             /* what is new has to be asked for by whoever sees it */
static bool needs_noted;        /* methods that inlined.c has noted must be compiled again */
static uint32_t examined, all_methods; /* of concerned modules */
static struct batch *batches;   /* all that was asked for; the newest first, which has room */
static struct batch *hot;       /* all that is to be asked for in the end */
static struct {
    uintptr_t function_id, ip;
} running[MAX_RUNNING];
static uint32_t n_running;

static bool is_concerned(uintptr_t module)
{
    return map_get(&modules, module) > NOT_CONCERNED;
}

/* ── requests ───────────────────────────────────────────────────────────────────────────────────────────────── */

static void take_back(const struct batch *b)
{
    static hresult results[AT_ONCE];
    (void)SLOT(info, INFO_REQUEST_REVERT, uint32_t, const uintptr_t *, const uint32_t *, hresult *)(info, b->n, b->modules, b->tokens, results);
}

/* What has to be taken back. False: there is no memory. */
static bool remember(const uintptr_t *ids, const uint32_t *tokens, uint32_t n)
{
    arena_lock();
    bool room = true;
    for (uint32_t i = 0; i < n && room; i++) {
        if (batches == NULL || batches->n == AT_ONCE) {
            struct batch *b = private_alloc(sizeof *b);
            room = b != NULL;
            if (!room)
                break;
            b->next = batches;
            batches = b;
        }
        batches->modules[batches->n] = ids[i];
        batches->tokens[batches->n++] = tokens[i];
    }
    arena_unlock();
    return room;
}

/* search: the runtime looks for code that has the methods inlined. There is such code only if their types are loaded. */
static bool request(struct batch *b, bool search)
{
    if (b->n == 0)
        return true;
    __atomic_fetch_add(&left, b->n * (uint64_t)VERSION_BYTES, __ATOMIC_RELAXED);
    hresult hr = HR_FAIL;
    if (remember(b->modules, b->tokens, b->n))
        hr = search ? SLOT(info, INFO_REQUEST_REJIT_WITH_INLINERS, uint32_t, uint32_t, const uintptr_t *, const uint32_t *)(
                          info, REJIT_BLOCK_INLINING | REJIT_INLINING_CALLBACKS, b->n, b->modules, b->tokens)
                    : SLOT(info, INFO_REQUEST_REJIT, uint32_t, const uintptr_t *, const uint32_t *)(info, b->n, b->modules, b->tokens);
    b->n = 0;
    return hr >= 0;
}

static bool add(struct batch *b, uintptr_t module, uint32_t token, bool search)
{
    b->modules[b->n] = module;
    b->tokens[b->n++] = token;
    return b->n < (search ? SEARCHED_AT_ONCE : AT_ONCE) || request(b, search);
}

/* Keeps a method that runs for the end of the preparation. */
static bool add_hot(uintptr_t module, uint32_t token)
{
    if (hot == NULL || hot->n == AT_ONCE) {
        struct batch *b = private_alloc(sizeof *b);
        if (b == NULL)
            return false;
        b->next = hot;
        hot = b;
    }
    hot->modules[hot->n] = module;
    hot->tokens[hot->n++] = token;
    return true;
}

/* ── small steps ────────────────────────────────────────────────────────────────────────────────────────────── */

static uint32_t is_given_up(void)
{
    if (left > arena.header->memory_limit / MOST_PART)
        return WIRE_FAILURE_VERSIONS;
    return requests_let_go() ? WIRE_FAILURE_NO_COLLECTOR : 0;
}

/* After a step that began then: the program has the processors for longer than the step took. False: it is given up. */
static bool rest_after(uint64_t *since)
{
    uint64_t rest = (monotonic_ns() - *since) * REST_PARTS;
    struct timespec t = {0, (long)(rest < LONGEST_REST_NS ? rest : LONGEST_REST_NS)};
    dormant_report_prepared(examined, all_methods);
    if (is_given_up() != 0)
        return false;
    nanosleep(&t, NULL);
    *since = monotonic_ns();
    return true;
}

static bool has_code(uintptr_t function_id)
{
    uint32_t n = 0;
    hresult hr = SLOT(info, INFO_GET_NATIVE_CODE_STARTS, uintptr_t, uintptr_t, uint32_t, uint32_t *, uintptr_t *)(info, function_id, 0, 0, &n, NULL);
    return hr < 0 || n != 0; /* of generic methods it is not known */
}

struct asker { /* for the methods of a module */
    struct batch searched, plain;
    bool knows; /* inlined.c knows the code that has them inlined, so the runtime need not search */
    bool waits; /* methods that have code are asked for at the end of the preparation */
};

/* Methods that are made at run time keep what they have inlined. */
static void name_if_put(uintptr_t function_id, uintptr_t module, uint32_t token, bool is_recorded)
{
    if (is_recorded && inlined_is_put(module, token))
        probes_partly_missing(function_id, WIRE_NOT_PROBED_MADE);
}

/* A method that is recorded, or has such ones inlined. */
static bool ask_for(struct asker *a, uintptr_t module, uint32_t token, enum inliners_kind kind)
{
    uintptr_t function_id = 0;
    hresult hr = SLOT(info, INFO_GET_FUNCTION_FROM_TOKEN, uintptr_t, uint32_t, uintptr_t *)(info, module, token, &function_id);
    if (kind == INLINERS_LOST) {
        if (hr >= 0)
            probes_missing(function_id, WIRE_NOT_PROBED_ELSEWHERE);
        return true;
    }
    if (hr >= 0)
        name_if_put(function_id, module, token, kind == INLINERS_WANTED);
    bool loaded = hr != HR_INVALID_ARGUMENT;
    if (loaded && !a->knows)
        return add(&a->searched, module, token, true);
    return loaded && a->waits && (hr < 0 || has_code(function_id)) ? add_hot(module, token) : add(&a->plain, module, token, false);
}

/* To look for who has inlined a few methods is less than to compile all again that has any inlined. */
static bool are_few(uintptr_t module, uint32_t methods)
{
    uint32_t wanted = 0;
    for (uint32_t i = 1; i <= methods && wanted <= FEW; i++)
        wanted += inliners_kind(module, TOKEN_METHOD_DEF | i) == INLINERS_WANTED;
    return wanted <= FEW;
}

/* Asks the runtime for versions with probes of a module's recorded methods, and of the methods that have recorded ones inlined. `since` is
 * NULL, or when this thread last rested: then it asks for a few methods at a time and rests in between, so that the program goes on.
 * False: the runtime refuses, there is no memory, or the collector has given up. */
static bool request_module(uintptr_t module, uint64_t *since)
{
    struct asker *a = private_alloc(sizeof *a);
    if (a == NULL)
        return false;
    uint32_t n = inliners_methods(module);
    *a = (struct asker){.knows = inlined_knows(module) && !are_few(module, n), .waits = since != NULL};
    if (a->knows)
        __atomic_store_n(&needs_noted, true, __ATOMIC_RELEASE);
    bool done = true;
    for (uint32_t i = 1; i <= n && done; i++) {
        uint32_t token = TOKEN_METHOD_DEF | i, searching = a->searched.n;
        enum inliners_kind kind = inliners_kind(module, token);
        if (kind != INLINERS_PLAIN && method_has_il(info, module, token))
            done = ask_for(a, module, token, kind);
        if (since != NULL) {
            examined++;
            done = done && ((i % STEP_METHODS != 0 && a->searched.n >= searching) || rest_after(since));
        }
    }
    done = done && request(&a->searched, true) && request(&a->plain, false);
    private_free(a, sizeof *a);
    return done;
}

/* What runs, and what has recorded methods inlined, at once: from here on the program compiles again what it calls. */
static bool request_hot(void)
{
    struct batch *b = private_alloc(sizeof *b);
    uintptr_t module;
    uint32_t token, at = 0;
    bool done = b != NULL;
    while (done && needs_noted && inlined_next(&at, &module, &token)) {
        enum inliners_kind kind = is_concerned(module) ? inliners_kind(module, token) : INLINERS_PLAIN;
        if (kind != INLINERS_WANTED && kind != INLINERS_LOST)
            done = add(b, module, token, false);
    }
    done = done && request(b, false);
    if (b != NULL)
        private_free(b, sizeof *b);
    while (hot != NULL && done) {
        struct batch *next = hot->next;
        done = request(hot, false) && is_given_up() == 0;
        private_free(hot, sizeof *hot);
        hot = next;
    }
    return done;
}

/* A method whose compilation nobody saw begin: it may have inlined what is recorded. */
static void request_one(uintptr_t module, uint32_t token)
{
    if (!remember(&module, &token, 1) || SLOT(info, INFO_REQUEST_REJIT, uint32_t, uintptr_t *, uint32_t *)(info, 1, &module, &token) < 0)
        loss(WIRE_LOSS_NOT_PROBED, 0, 0);
    __atomic_fetch_add(&left, VERSION_BYTES, __ATOMIC_RELAXED);
}

/* ── modules ────────────────────────────────────────────────────────────────────────────────────────────────── */

static bool is_new(uintptr_t id)
{
    arena_lock();
    bool is_new = map_get(&modules, id) == 0;
    if (is_new)
        map_put(&modules, id, NOT_CONCERNED); /* else it is looked at again */
    arena_unlock();
    return is_new;
}

/* Its methods are known. False: there is no memory. */
static bool know_module(struct module *m, uintptr_t id)
{
    if (m == NULL)
        return false;
    arena_lock();
    bool room = map_put(&modules, id, (uintptr_t)m);
    m->id = id;
    m->next = all;
    all = m;
    arena_unlock();
    return room;
}

/* Both who sees the module and who asks for all that there are can be the one that asks for its methods. */
static bool takes(struct module *m)
{
    arena_lock();
    bool takes = asking && !m->asked;
    m->asked = m->asked || takes;
    arena_unlock();
    return takes;
}

/* False: its methods could not be asked for. */
static bool see_module(uintptr_t id)
{
    if (!is_new(id) || !probes_see_module(id))
        return true;
    struct module *m = private_alloc(sizeof *m);
    return know_module(m, id) && (!takes(m) || request_module(id, NULL));
}

static hresult module_loaded(void *self, uintptr_t module, hresult status)
{
    (void)self;
    int saved_errno = errno;
    if (status >= 0 && !see_module(module))
        loss(WIRE_LOSS_NOT_PROBED, 0, 0);
    errno = saved_errno;
    return HR_OK;
}

static bool see_all_modules(uint64_t since)
{
    void *list = NULL;
    uintptr_t id;
    uint32_t n = 0;
    if (SLOT(info, INFO_ENUM_MODULES, void **)(info, &list) < 0 || list == NULL)
        return false;
    bool seen = true;
    while (seen && SLOT(list, ENUM_NEXT, uint32_t, uintptr_t *, uint32_t *)(list, 1, &id, &n) >= 0 && n == 1)
        seen = see_module(id) && rest_after(&since);
    com_release(list);
    return seen;
}

void attached_forget_module(uintptr_t module)
{
    map_forget(&modules, module);
}

/* ── what the runtime reports and asks ────────────────────────────────────────────────────────────────────────── */

static hresult jit_started(void *self, uintptr_t function_id, int32_t safe_to_block)
{
    (void)self;
    (void)safe_to_block;
    int saved_errno = errno;
    uintptr_t module;
    uint32_t token;
    arena_lock();
    map_put(&begun, function_id, 1); /* else it is asked for once more */
    arena_unlock();
    if (method_of_function(info, function_id, &module, &token) && is_concerned(module) && inliners_kind(module, token) == INLINERS_LOST)
        probes_missing(function_id, WIRE_NOT_PROBED_ELSEWHERE);
    errno = saved_errno;
    return HR_OK;
}

static hresult jit_finished(void *self, uintptr_t function_id, hresult status, int32_t safe_to_block)
{
    (void)self;
    (void)status;
    (void)safe_to_block;
    int saved_errno = errno;
    uintptr_t module;
    uint32_t token;
    arena_lock();
    bool seen = map_get(&begun, function_id) != 0, late = !seen && asking;
    if (seen)
        map_forget(&begun, function_id);
    arena_unlock();
    if (late && method_of_function(info, function_id, &module, &token) && method_has_il(info, module, token))
        request_one(module, token);
    errno = saved_errno;
    return HR_OK;
}

static uint64_t key_of(uintptr_t module, uint32_t token)
{
    uint32_t number = names_module(module);
    return number == 0 ? 0 : (uint64_t)number << 32 | token;
}

/* Who has a recorded method inlined keeps its own IL. */
static hresult get_parameters(void *self, uintptr_t module, uint32_t token, void *control)
{
    (void)self;
    int saved_errno = errno;
    __atomic_fetch_add(&left, CODE_BYTES, __ATOMIC_RELAXED);
    if (is_concerned(module) && inliners_kind(module, token) == INLINERS_WANTED) {
        uint64_t key = key_of(module, token), value = key == 0 ? GIVEN_NOTHING(WIRE_NOT_PROBED_REFUSED) : probes_give(module, token, control);
        arena_lock();
        if (key == 0 || !map_put(&given, key, value))
            loss(WIRE_LOSS_NOT_HOOKED, 0, 0);
        arena_unlock();
    } else {
        remember(&module, &token, 1); /* else its code stays another version of its own */
    }
    errno = saved_errno;
    return HR_OK;
}

/* Versions of earlier recordings are compiled again, too, at higher tiers. */
static uint64_t find_given(uintptr_t function_id, uintptr_t *module, uint32_t *token)
{
    uint64_t key = method_of_function(info, function_id, module, token) && is_concerned(*module) ? key_of(*module, *token) : 0;
    return key == 0 ? 0 : map_get(&given, key);
}

static hresult version_started(void *self, uintptr_t function_id, uintptr_t version, int32_t safe_to_block)
{
    (void)self;
    (void)safe_to_block;
    int saved_errno = errno;
    uintptr_t module;
    uint32_t token;
    uint64_t value = find_given(function_id, &module, &token);
    bool probed = value != 0 && (value & 1) == 0;
    if (value != 0)
        probes_compiled(function_id, value);
    name_if_put(function_id, module, token, probed);
    arena_lock();
    if (probed)
        map_put(&versions, function_id, version); /* else it is described as if it had none */
    arena_unlock();
    errno = saved_errno;
    return HR_OK;
}

static hresult version_finished(void *self, uintptr_t function_id, uintptr_t version, hresult status, int32_t safe_to_block)
{
    (void)self;
    (void)safe_to_block;
    int saved_errno = errno;
    uintptr_t module;
    uint32_t token;
    uint64_t value = status < 0 ? 0 : find_given(function_id, &module, &token);
    if (value != 0 && (value & 1) == 0 && !bodies_of_id(function_id, version))
        loss(WIRE_LOSS_ARENA_FULL, 0, 0);
    errno = saved_errno;
    return HR_OK;
}

static hresult version_failed(void *self, uintptr_t module, uint32_t token, uintptr_t function_id, hresult status)
{
    (void)self;
    (void)status;
    int saved_errno = errno;
    if (function_id != 0 && is_concerned(module) && inliners_kind(module, token) == INLINERS_WANTED)
        probes_missing(function_id, WIRE_NOT_PROBED_REFUSED);
    else
        loss(WIRE_LOSS_NOT_PROBED, 0, 0);
    errno = saved_errno;
    return HR_OK;
}

/* ── what runs when it begins ───────────────────────────────────────────────────────────────────────────────── */

static hresult note_frame(uintptr_t function_id, uintptr_t ip, uintptr_t frame, uint32_t bytes, uint8_t *context, void *data)
{
    (void)frame, (void)bytes, (void)context, (void)data;
    if (function_id != 0 && n_running < MAX_RUNNING) {
        running[n_running].function_id = function_id;
        running[n_running++].ip = ip;
    }
    return HR_OK;
}

static void note_running(void)
{
    void *list = NULL;
    uintptr_t thread;
    uint32_t n = 0;
    if (SLOT(info, INFO_ENUM_THREADS, void **)(info, &list) < 0 || list == NULL)
        return;
    while (SLOT(list, ENUM_NEXT, uint32_t, uintptr_t *, uint32_t *)(list, 1, &thread, &n) >= 0 && n == 1)
        (void)SLOT(info, INFO_DO_STACK_SNAPSHOT, uintptr_t, void *, uint32_t, void *, uint8_t *, uint32_t)(info, thread, (void *)note_frame, 0, NULL, NULL, 0);
    com_release(list);
}

/* What began before has no probes up to its end, and calls what it has inlined without. */
void attached_report_running(void)
{
    for (uint32_t i = 0; i < n_running; i++) {
        uintptr_t module, function_id = running[i].function_id, version = 0;
        uint32_t token;
        if (!method_of_function(info, function_id, &module, &token) || !is_concerned(module) || inliners_kind(module, token) != INLINERS_WANTED)
            continue;
        (void)SLOT(info, INFO_GET_FUNCTION_FROM_IP3, uintptr_t, uintptr_t *, uintptr_t *)(info, running[i].ip, &function_id, &version);
        if (version == 0 || map_get(&versions, running[i].function_id) != version)
            probes_partly_missing(running[i].function_id, WIRE_NOT_PROBED_RUNNING);
    }
}

/* ── begin and end ──────────────────────────────────────────────────────────────────────────────────────────── */

uint32_t attached_prepare(void *profiler_info, const struct time_options *o, void **callbacks)
{
    info = profiler_info;
    if (arena.header->runtime_major < 5 || changeable_modules())
        return WIRE_FAILURE_NO_PROBES;
    if (recordings == MAX_RECORDINGS || left > arena.header->memory_limit / MOST_PART)
        return WIRE_FAILURE_VERSIONS;
    probes_number = (uint16_t)++recordings;
    time_init(o);
    if (!probes_on)
        return WIRE_FAILURE_NO_PROBES;
    time_install(callbacks);
    callbacks[CALLBACK_MODULE_LOAD_FINISHED] = (void *)module_loaded;
    callbacks[CALLBACK_JIT_STARTED] = (void *)jit_started;
    callbacks[CALLBACK_JIT_FINISHED] = (void *)jit_finished;
    callbacks[CALLBACK_GET_REJIT_PARAMETERS] = (void *)get_parameters;
    callbacks[CALLBACK_REJIT_STARTED] = (void *)version_started;
    callbacks[CALLBACK_REJIT_FINISHED] = (void *)version_finished;
    callbacks[CALLBACK_REJIT_ERROR] = (void *)version_failed;
    visits_install(callbacks);
    bool room = map_init(&modules, 256, true) && map_init(&given, 1024, true) && map_init(&begun, 256, true) && map_init(&versions, 1024, true);
    return room ? instrument_init(info, o) : WIRE_FAILURE_OUT_OF_MEMORY;
}

static void settle(uint64_t since)
{
    for (uint64_t now; (now = monotonic_ns()) - since < SETTLE_NS;) {
        struct timespec rest = {0, (long)(SETTLE_NS - (now - since))};
        nanosleep(&rest, NULL);
    }
}

/* Asks for all that runs already. False: the runtime refuses, there is no memory, or it is given up. */
static bool ask_all(void)
{
    uint64_t since = monotonic_ns();
    if (!see_all_modules(since))
        return false;
    settle(since);
    arena_lock();
    asking = true;
    struct module *first = all;
    arena_unlock();
    for (const struct module *m = first; m != NULL; m = m->next)
        all_methods += inliners_methods(m->id);
    since = monotonic_ns();
    for (struct module *m = first; m != NULL; m = m->next)
        if (takes(m) && !request_module(m->id, &since))
            return false;
    return request_hot();
}

uint32_t attached_ask(void)
{
    bool done = ask_all();
    uint32_t given_up = is_given_up();
    return given_up != 0 ? given_up : done ? 0 : WIRE_FAILURE_NO_PROBES;
}

void attached_begin(void)
{
    os_pair(&arena.header->begin_ticks, &arena.header->begin_ns);
    control_begin(arena.header->begin_ticks);
    note_running();
    __atomic_store_n(&probes_recording, probes_number, __ATOMIC_RELEASE);
}

void attached_stop(void)
{
    time_end();
    __atomic_store_n(&probes_recording, 0, __ATOMIC_RELEASE);
}

void attached_end(void)
{
    uint32_t n = 0, of = 0;
    for (const struct batch *b = batches; b != NULL; b = b->next)
        of += b->n;
    for (const struct batch *b = batches; b != NULL; b = b->next) { /* what runs was asked for last, and is taken back first */
        take_back(b);
        dormant_report_prepared(n += b->n, of);
    }
    pins_end();
}
