/* What parts need of parts that stand above them. Each declares the functions that it calls there as a table of its own, so that it
 * need not know who has them; here, above all, the tables are filled. They are constants, so the order in which parts are
 * initialized does not matter, and they lie in read-only memory, which no stray write can change. */
#include "agent/attach.h"
#include "calls/calls.h"
#include "calls/exception_pins.h"
#include "control/lifecycle.h"
#include "filter/instrumentation.h"
#include "filter/probing.h"
#include "heap/eventpipe_gc.h"
#include "heap/object_tracking.h"
#include "metadata/descriptions.h"
#include "probes/ado_http_calls.h"
#include "probes/il_probes.h"
#include "probes/recording_scopes.h"
#include "stacks/stack_walk.h"
#include "threads/threads.h"

static void give_back(void)
{
    time_give_back();
    lifetime_give_back();
}

const struct lifecycle_hooks lifecycle_hooks = {
    .stop_events = events_stop,
    .let_go = lifetime_let_go,
    .give_back = give_back,
    .forked = thread_forked,
    .settle = time_settle,
    .is_off = scopes_off,
};

const struct description_hooks description_hooks = {
    .origin = instrument_origin,
    .classify = instrument_class,
    .old_offset = probes_old_offset,
    .forget_module = instrument_forget_module,
    .many_types = events_want,
};

static void thread_ended(struct timer **keep)
{
    pins_thread_ended();
    scopes_thread_ended();
    interactions_thread_ended();
    time_thread_ended(keep);
}

const struct thread_hooks thread_hooks = {
    .begun = stack_forget,
    .ended = thread_ended,
    .forgotten = time_forget_thread,
    .forked = time_forked,
};

const struct probing_hooks probing_hooks = {
    .init = probes_init,
    .close = probes_close,
    .forget_module = probes_forget_module,
    .records = probes_records,
    .is_marked = probes_is_marked,
    .leave_out = probes_leave_out,
    .size = probes_size,
    .operation = operations_may_be,
    .test_case = operations_is_case,
    .scope_missing = scopes_missing,
};

const struct call_hooks call_hooks = {
    .choose = probes_choose,
    .install = probes_install,
    .example = probes_example,
    .unwound = scopes_unwound,
};

void (*const versions_forget_module)(uintptr_t module) = attached_forget_module;
