/* The callbacks of the runtime without the system calls that the agent makes in them, and the runtime for it, where these are counted.
 *
 * A callback has its arguments in registers, at most four words beside the object, so one function fits all of a slot's
 * callbacks, and passes on what it does not know. Those that end calls are not among them: they leave that out where they look at the
 * system. Nor is that of an allocation, which mostly does nothing. */
#include "os/cpu_counters.h"
#include "os/own_time.h"

typedef hresult callback(void *self, uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d);

static callback *inner[CALLBACK_SLOTS];

static hresult leave_out(uint32_t slot, void *self, uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d)
{
    time_own_calls();
    hresult hr = inner[slot](self, a, b, c, d);
    time_leave_out_calls();
    return hr;
}

#define LEFT_OUT(slot) \
    static hresult leave_out_##slot(void *self, uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d) \
    { \
        return leave_out(CALLBACK_##slot, self, a, b, c, d); \
    }
#define ALL(one) \
    one(MODULE_LOAD_FINISHED) one(MODULE_UNLOAD_STARTED) one(JIT_STARTED) one(JIT_FINISHED) one(CACHE_SEARCH_STARTED) one(JIT_INLINING) \
    one(REJIT_STARTED) one(GET_REJIT_PARAMETERS) one(REJIT_FINISHED) one(REJIT_ERROR) one(THREAD_NAME_CHANGED) one(RUNTIME_SUSPEND_STARTED) \
    one(RUNTIME_SUSPEND_FINISHED) one(OBJECT_REFERENCES) one(EXCEPTION_THROWN) one(CATCHER_LEAVE) one(GC_STARTED) one(GC_FINISHED) \
    one(FINALIZABLE_QUEUED) one(ROOT_REFERENCES2) one(MOVED_REFERENCES2) one(SURVIVING_REFERENCES2) one(DEPENDENT_REFERENCES) \
    one(DYNAMIC_METHOD_UNLOADED) one(DYNAMIC_JIT_STARTED) one(DYNAMIC_JIT_FINISHED)

ALL(LEFT_OUT)

void counters_leave_out_callbacks(void **callbacks)
{
    static const struct {
        uint32_t slot;
        callback *function;
    } all[] = {
#define ENTRY(slot) {CALLBACK_##slot, leave_out_##slot},
        ALL(ENTRY)
#undef ENTRY
    };
    for (uint32_t i = 0; i < sizeof all / sizeof *all; i++) {
        inner[all[i].slot] = (callback *)callbacks[all[i].slot];
        callbacks[all[i].slot] = (void *)all[i].function;
    }
}
