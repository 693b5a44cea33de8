/* The user's code keeps its frames below code that is not the user's.
 *
 * Problem: what the JIT has inlined has no frame. Where it puts the user's code into other code (a lambda that the framework calls often, a
 * method that code made at run time calls, as for the endpoints of ASP.NET Core), nothing on the stack says that the user's code ran, and
 * what it allocates is the framework's. Choice: that is refused, in recordings of objects without calls (with calls, nothing that is
 * recorded is inlined). Where a function of the user's is compiled, the JIT inlines as it likes: a frame of the user's is left, at the
 * line of the call, and which objects need not be made there (escape analysis) is decided as without the agent.
 *
 * The runtime names the function that directly has the call, not the one that is compiled, so these are followed. It does not say when
 * dynamic methods are compiled: they are nobody's. */
#include "core/recording.h"
#include "filter/inlining_guard.h"
#include "filter/instrumentation.h"

#include <errno.h>
#include <stdlib.h>

typedef hresult started_callback(void *self, uintptr_t function_id, int32_t safe_to_block);
typedef hresult finished_callback(void *self, uintptr_t function_id, hresult status, int32_t safe_to_block);
typedef hresult inlining_callback(void *self, uintptr_t caller, uintptr_t callee, int32_t *should);

static void *info;
static started_callback *started_before;
static finished_callback *finished_before;
static inlining_callback *inlining_before;
static __thread uint64_t compiled AT_FIXED_PLACE; /* a bit for each function that this thread compiles, the innermost is the lowest: is it the user's? */

static bool is_mine(uintptr_t function_id)
{
    uintptr_t class_id, module = 0;
    uint32_t token;
    return SLOT(info, INFO_GET_FUNCTION_INFO, uintptr_t, uintptr_t *, uintptr_t *, uint32_t *)(info, function_id, &class_id, &module, &token) >= 0 &&
           module != 0 && instrument_is_mine(module);
}

static hresult jit_started(void *self, uintptr_t function_id, int32_t safe_to_block)
{
    int saved_errno = errno;
    compiled = compiled << 1 | (is_mine(function_id) ? 1 : 0);
    errno = saved_errno;
    return started_before(self, function_id, safe_to_block);
}

static hresult jit_finished(void *self, uintptr_t function_id, hresult status, int32_t safe_to_block)
{
    compiled >>= 1;
    return finished_before(self, function_id, status, safe_to_block);
}

static hresult jit_inlining(void *self, uintptr_t caller, uintptr_t callee, int32_t *should)
{
    int saved_errno = errno;
    hresult hr = inlining_before(self, caller, callee, should);
    if ((compiled & 1) == 0 && !recording_is_over() && is_mine(callee) && !is_mine(caller))
        *should = 0;
    errno = saved_errno;
    return hr;
}

uint32_t user_frames_keep(void *profiler_info, void **callbacks)
{
    if (!instrument_init_origins(profiler_info, getenv("CLRPROF_MINE"), getenv("CLRPROF_MINE_FOLDER")))
        return 0;
    info = profiler_info;
    started_before = (started_callback *)callbacks[CALLBACK_JIT_STARTED];
    finished_before = (finished_callback *)callbacks[CALLBACK_JIT_FINISHED];
    inlining_before = (inlining_callback *)callbacks[CALLBACK_JIT_INLINING];
    callbacks[CALLBACK_JIT_STARTED] = (void *)jit_started;
    callbacks[CALLBACK_JIT_FINISHED] = (void *)jit_finished;
    callbacks[CALLBACK_JIT_INLINING] = (void *)jit_inlining;
    return MONITOR_JIT_COMPILATION;
}
