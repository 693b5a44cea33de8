/* When functions of the framework are first called.
 *
 * Problem: probes would see each call of such a function, but its module's precompiled code would be refused for them.
 *
 * Idea: the runtime asks the agent for the code of each function before its first call, on the thread that calls it, outside of managed
 * code: whether precompiled code may be used, or else before it is compiled. A comparison of tokens for each function tells which it is. */
#define _GNU_SOURCE
#include "core/arena.h"
#include "core/recording.h"
#include "metadata/descriptions.h"
#include "metadata/framework_calls.h"

#include <errno.h>

#define MAX_LISTS 2u /* of functions: those of who listens */
#define MAX_FOUND 8u /* functions, of modules that may be loaded several times */

typedef hresult loaded_callback(void *self, uintptr_t module, hresult status);
typedef hresult jit_callback(void *self, uintptr_t function, int32_t safe_to_block);
typedef hresult search_callback(void *self, uintptr_t function, int32_t *use);

static void *info;
static loaded_callback *loaded_before;
static jit_callback *jit_before;
static search_callback *search_before;
static struct {
    const struct framework_call *calls;
    uint32_t n;
} lists[MAX_LISTS];
static uint32_t n_lists;
static struct found {
    uintptr_t module;
    uint32_t method, type, seen;
    const struct framework_call *call;
} found[MAX_FOUND];
static uint32_t n_found;

void framework_calls_add(const struct framework_call *calls, uint32_t n)
{
    lists[n_lists].calls = calls;
    lists[n_lists++].n = n;
}

static bool is_file(const utf16 *path, uint32_t length, const utf16 *file)
{
    uint32_t n = 0;
    while (file[n] != 0)
        n++;
    return length >= n && (length == n || path[length - n - 1] == '/') && __builtin_memcmp(path + length - n, file, n * sizeof *file) == 0;
}

static void find_call(uintptr_t module, const struct framework_call *call)
{
    uint32_t n = __atomic_load_n(&n_found, __ATOMIC_ACQUIRE);
    struct found f = {.module = module, .call = call};
    void *import = names_metadata(module);
    if (n == MAX_FOUND || import == NULL ||
        SLOT(import, IMPORT_FIND_TYPE_DEF, const utf16 *, uint32_t, uint32_t *)(import, call->type, 0, &f.type) < 0 ||
        SLOT(import, IMPORT_FIND_METHOD, uint32_t, const utf16 *, const uint8_t *, uint32_t, uint32_t *)(import, f.type, call->method, NULL, 0, &f.method) < 0)
        return;
    arena_lock();
    if (n_found < MAX_FOUND) {
        found[n_found] = f;
        __atomic_store_n(&n_found, n_found + 1, __ATOMIC_RELEASE);
    }
    arena_unlock();
}

static void look_at_module(uintptr_t module)
{
    utf16 path[WIRE_MAX_NAME];
    uint32_t length, flags;
    if (!module_path(info, module, path, &length, &flags))
        return;
    for (uint32_t l = 0; l < n_lists; l++)
        for (uint32_t i = 0; i < lists[l].n; i++)
            if (is_file(path, length, lists[l].calls[i].file))
                find_call(module, &lists[l].calls[i]);
}

static hresult module_loaded(void *self, uintptr_t module, hresult status)
{
    hresult hr = loaded_before(self, module, status);
    int saved_errno = errno;
    if (status >= 0 && !recording_is_over())
        look_at_module(module);
    errno = saved_errno;
    return hr;
}

bool framework_calls_is_type(uintptr_t class_id, uint32_t what)
{
    uintptr_t module = 0, parent;
    uint32_t token = 0, arguments;
    uint32_t n = __atomic_load_n(&n_found, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < n; i++) {
        if (found[i].call->what != what)
            continue;
        if (module == 0 && SLOT(info, INFO_GET_CLASS_ID_INFO2, uintptr_t, uintptr_t *, uint32_t *, uintptr_t *, uint32_t, uint32_t *, uintptr_t *)(
                               info, class_id, &module, &token, &parent, 0, &arguments, NULL) < 0)
            return false;
        if (module == found[i].module && token == found[i].type)
            return true;
    }
    return false;
}

/* Returns whether its precompiled code may be used. */
static COLD bool look_for_call(uintptr_t function)
{
    bool may = true;
    uintptr_t class_id, module = 0;
    uint32_t token = 0, n = __atomic_load_n(&n_found, __ATOMIC_ACQUIRE);
    int saved_errno = errno;
    if (recording_is_over() || !arena_is_ours() ||
        SLOT(info, INFO_GET_FUNCTION_INFO, uintptr_t, uintptr_t *, uintptr_t *, uint32_t *)(info, function, &class_id, &module, &token) < 0)
        n = 0;
    for (uint32_t i = 0; i < n; i++)
        if (found[i].method == token && found[i].module == module)
            may = found[i].call->called(found[i].call->what, module, token, __atomic_exchange_n(&found[i].seen, 1, __ATOMIC_ACQ_REL) == 0) && may;
    errno = saved_errno;
    return may;
}

/* The code of a function is looked for among what was compiled beforehand, and compiled if there is none. */
static hresult search_started(void *self, uintptr_t function, int32_t *use)
{
    bool may = look_for_call(function);
    hresult hr = search_before(self, function, use);
    if (!may)
        *use = 0;
    return hr;
}

static hresult jit_started(void *self, uintptr_t function, int32_t safe_to_block)
{
    if (safe_to_block != 0)
        (void)look_for_call(function);
    return jit_before(self, function, safe_to_block);
}

uint32_t framework_calls_watch(void *profiler_info, void **callbacks)
{
    info = profiler_info;
    loaded_before = (loaded_callback *)callbacks[CALLBACK_MODULE_LOAD_FINISHED];
    jit_before = (jit_callback *)callbacks[CALLBACK_JIT_STARTED];
    search_before = (search_callback *)callbacks[CALLBACK_CACHE_SEARCH_STARTED];
    callbacks[CALLBACK_MODULE_LOAD_FINISHED] = (void *)module_loaded;
    callbacks[CALLBACK_JIT_STARTED] = (void *)jit_started;
    callbacks[CALLBACK_CACHE_SEARCH_STARTED] = (void *)search_started;
    return MONITOR_JIT_COMPILATION | MONITOR_CACHE_SEARCHES;
}
