/* The managed sources of events are not told of the agent's session (eventpipe_gc.c).
 *
 * Problem: NativeRuntimeEventSource, the managed twin of the runtime's provider, has its name, so it is told of each session with that
 * provider. It then describes all events by reflection: a tenth of a second and 7,600 objects. These are not the program's,
 * but they fill caches of the framework, for which the program then makes none: of a program with an event source of its own
 * more than half of all objects were missing.
 *
 * Idea: the runtime tells managed sources by one function, EventPipeEventProvider.Callback. It gets the session's filter data, as a text
 * and its length. The agent's session has a mark there, and the function's IL returns at once if it gets that. No other managed code
 * runs, and listeners of the program's own are told as ever. The function's precompiled code is refused when it is looked
 * for, so it is compiled from the changed IL.
 *
 * Others: a session with a keyword or a level that the twin does not have (it is told of every one), another provider (without a
 * twin, but without an event in every collection), another function in the twin's place in the runtime's list (no interface for it).
 *
 * .NET 8 to 10 have this function. If there is none, or it is compiled already (a process that was dormant), then
 * what the twin makes is left out by its thread. */
#define _GNU_SOURCE
#include "core/arena.h"
#include "heap/eventpipe_gc.h"
#include "heap/managed_events.h"
#include "il/il.h"
#include "metadata/descriptions.h"
#include "metadata/framework_calls.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

enum { LDARG_S = 0x0E, LDC_I4_8 = 0x1E, LDC_I8 = 0x21, RET = 0x2A, BRFALSE_S = 0x2C, BNE_UN_S = 0x33, LDIND_I4 = 0x4A, LDIND_I8 = 0x4C, ADD = 0x58, CONV_I = 0xD3 };
enum { FILTER = 5 }; /* number of the argument: a pointer to {uint64 data, uint32 bytes, uint32 type}, EventFilterDescriptor in ep-types.h, or null */

/* The text and the 0 behind it are 8 bytes, which are compared as one number. */
static const uint8_t return_if_marked[] = {
    LDARG_S, FILTER, BRFALSE_S, 25,
    LDARG_S, FILTER, LDC_I4_8, ADD, LDIND_I4, LDC_I4_8, BNE_UN_S, 17,
    LDARG_S, FILTER, LDIND_I8, CONV_I, LDIND_I8, LDC_I8, 'c', 'l', 'r', 'p', 'r', 'o', 'f', 0, BNE_UN_S, 1,
    RET,
};

static void *info;
static bool is_changed; /* or cannot be */

/* static void (byte*, int, byte, long, long, EventFilterDescriptor*, void*), with any type of the sixth's. */
static bool has_known_signature(uintptr_t module, uint32_t token)
{
    static const uint8_t first[] = {0x00, 7, 0x01, 0x0F, 0x05, 0x08, 0x05, 0x0A, 0x0A, 0x0F, 0x11};
    uint32_t owner, length, attributes, bytes = 0, rva, implementation;
    const uint8_t *signature = NULL;
    void *import = names_metadata(module);
    return import != NULL &&
           SLOT(import, IMPORT_GET_METHOD_PROPS, uint32_t, uint32_t *, utf16 *, uint32_t, uint32_t *, uint32_t *, const uint8_t **, uint32_t *, uint32_t *, uint32_t *)(
               import, token, &owner, NULL, 0, &length, &attributes, &signature, &bytes, &rva, &implementation) >= 0 &&
           bytes >= sizeof first && memcmp(signature, first, sizeof first) == 0;
}

static void change(uintptr_t module, uint32_t token, struct il_work *w)
{
    const struct il_probes probes = {.begin = return_if_marked, .begin_bytes = sizeof return_if_marked};
    const uint8_t *body = NULL;
    uint32_t size = 0, new_size = 0;
    if (w == NULL || !has_known_signature(module, token) ||
        SLOT(info, INFO_GET_IL_FUNCTION_BODY, uintptr_t, uint32_t, const uint8_t **, uint32_t *)(info, module, token, &body, &size) < 0 || body == NULL ||
        il_plan(w, body, size, &probes, &new_size) != IL_DONE)
        return;
    uint8_t *changed = runtime_il_memory(info, module, new_size);
    if (changed == NULL)
        return;
    il_write(w, changed);
    (void)SLOT(info, INFO_SET_IL_FUNCTION_BODY, uintptr_t, uint32_t, const uint8_t *)(info, module, token, changed);
}

/* When two sessions begin at the same time, the second thread waits: it would compile the code that the first one is changing. */
static bool told(uint32_t what, uintptr_t module, uint32_t token, bool first)
{
    (void)what;
    if (first) {
        struct il_work *w = malloc(sizeof *w);
        change(module, token, w);
        free(w);
        __atomic_store_n(&is_changed, true, __ATOMIC_RELEASE);
    }
    while (!__atomic_load_n(&is_changed, __ATOMIC_ACQUIRE))
        sched_yield();
    return false;
}

void managed_events_init(void *profiler_info)
{
    static const struct framework_call call = {u"System.Private.CoreLib.dll", u"System.Diagnostics.Tracing.EventPipeEventProvider", u"Callback", 0, told};
    if (arena.header->runtime_major >= SKIPS_SINCE)
        return;
    info = profiler_info;
    framework_calls_add(&call, 1);
}
