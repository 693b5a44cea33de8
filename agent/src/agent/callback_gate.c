/* The callbacks of the runtime as visits: those that do not know of recordings that end while the process goes on.
 *
 * A callback has its arguments in registers, at most four words beside the object, so one function fits all of a slot's
 * callbacks, and passes on what it does not know. When there are no visits it says that all is well, and nothing else. */
#include "core/recording.h"
#include "agent/attach.h"

#define MAX_SLOTS CALLBACK_SLOTS

typedef hresult callback(void *self, uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d);

static callback *inner[MAX_SLOTS];

static hresult visit(uint32_t slot, void *self, uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d)
{
    if (!visit_begin())
        return HR_OK;
    hresult hr = inner[slot](self, a, b, c, d);
    visit_end();
    return hr;
}

#define VISITED(slot) \
    static hresult visit_##slot(void *self, uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d) \
    { \
        return visit(CALLBACK_##slot, self, a, b, c, d); \
    }
#define ALL(one) \
    one(MODULE_LOAD_FINISHED) one(JIT_STARTED) one(JIT_FINISHED) one(CACHE_SEARCH_STARTED) one(JIT_INLINING) one(REJIT_STARTED) \
    one(GET_REJIT_PARAMETERS) one(REJIT_FINISHED) one(REJIT_ERROR) one(EXCEPTION_THROWN) one(CATCHER_FOUND) one(FILTER_ENTER) \
    one(FILTER_LEAVE) one(UNWIND_FUNCTION_ENTER) one(UNWIND_FUNCTION_LEAVE) one(FINALLY_ENTER) one(FINALLY_LEAVE) \
    one(CATCHER_ENTER) one(CATCHER_LEAVE) one(RUNTIME_SUSPEND_STARTED) one(RUNTIME_RESUME_STARTED) \
    one(RUNTIME_THREAD_SUSPENDED) one(RUNTIME_THREAD_RESUMED)

ALL(VISITED)

void visits_install(void **callbacks)
{
    static const struct {
        uint32_t slot;
        callback *visit;
    } all[] = {
#define ENTRY(slot) {CALLBACK_##slot, visit_##slot},
        ALL(ENTRY)
#undef ENTRY
    };
    for (uint32_t i = 0; i < sizeof all / sizeof *all; i++) {
        inner[all[i].slot] = (callback *)callbacks[all[i].slot];
        __atomic_store_n(&callbacks[all[i].slot], (void *)all[i].visit, __ATOMIC_RELEASE);
    }
}
