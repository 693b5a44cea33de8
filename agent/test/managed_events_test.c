/* The function by which the runtime tells managed sources of events of a session: what becomes of its code, in one thread and in several,
 * if it is another one, and in a runtime that fails. What the changed code does is tested on real programs. */
#define _GNU_SOURCE
#include "scenario.h"

#include "fake_runtime.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define THREADS 4u

static struct fake_module core = {"/usr/share/dotnet/System.Private.CoreLib.dll", "System.Private.CoreLib.dll", MODULE_FLAG_DISK, NULL, false};
static struct fake_class provider;
static struct fake_method callback, other;
static struct fake_body bodies[2];
static const uint8_t body[] = {0x0A, 0x00, 0x2A}; /* nop; ret */
static const uint8_t known_signature[] = {0x00, 7, 0x01, 0x0F, 0x05, 0x08, 0x05, 0x0A, 0x0A, 0x0F, 0x11, 0x80, 0x99, 0x0F, 0x01};
static const uint8_t *signature;
static uint32_t signature_bytes, set, too_early;
static uint8_t memory[256] __attribute__((aligned(4)));

static hresult get_method_props(void *self, uint32_t token, uint32_t *owner, utf16 *name, uint32_t capacity, uint32_t *length, uint32_t *attributes,
                                const uint8_t **of, uint32_t *bytes, uint32_t *rva, uint32_t *implementation)
{
    (void)self, (void)token, (void)name, (void)capacity;
    *owner = *length = *attributes = *rva = *implementation = 0;
    *of = signature;
    *bytes = signature_bytes;
    return fake_call_fails() ? HR_FAIL : HR_OK;
}

static hresult get_body(void *self, uintptr_t module, uint32_t token, const uint8_t **header, uint32_t *size)
{
    (void)self, (void)token;
    check(module == (uintptr_t)&core, "the body of another module's");
    *header = body;
    *size = sizeof body;
    return fake_call_fails() ? HR_FAIL : HR_OK;
}

static uint8_t *allocate(void *self, uint32_t bytes)
{
    (void)self;
    return bytes > sizeof memory || fake_call_fails() ? NULL : memory;
}

static uint32_t release(void *self)
{
    (void)self;
    return 0;
}

static hresult get_allocator(void *self, uintptr_t module, void **out)
{
    static void *table[] = {NULL, NULL, (void *)release, (void *)allocate}, *object = table;
    (void)self, (void)module;
    *out = &object;
    return fake_call_fails() ? HR_FAIL : HR_OK;
}

static hresult set_body(void *self, uintptr_t module, uint32_t token, const uint8_t *changed)
{
    (void)self, (void)module;
    check(token == callback.token && changed == memory, "the body of method %x is set", token);
    if (fake_call_fails())
        return HR_FAIL;
    __atomic_fetch_add(&set, 1, __ATOMIC_SEQ_CST);
    return HR_OK;
}

#define AGENT(slot, ...) ((hresult(*)(void *, ##__VA_ARGS__))(*(void ***)fake_callbacks())[slot])

static void start(const uint8_t *of, uint32_t bytes)
{
    signature = of;
    signature_bytes = bytes;
    fake_class_init(&provider, &core, "System.Diagnostics.Tracing.EventPipeEventProvider", 24, 0);
    callback = (struct fake_method){.name = "Callback", .module = &core, .type = &provider};
    other = (struct fake_method){.name = "Register", .module = &core, .type = &provider};
    fake_emit(&callback, &bodies[0], FRAMED, -1);
    fake_emit(&other, &bodies[1], FRAMED, -1);
    fake_find(&callback);
    fake_answer_import(IMPORT_GET_METHOD_PROPS, (void *)get_method_props);
    fake_answer(INFO_GET_IL_FUNCTION_BODY, (void *)get_body);
    fake_answer(INFO_GET_IL_ALLOCATOR, (void *)get_allocator);
    fake_answer(INFO_SET_IL_FUNCTION_BODY, (void *)set_body);
    setenv("CLRPROF_LIFETIME", "1", 1);
    hresult hr = fake_load(agent_path);
    check(hr == HR_OK, "Initialize returned %x", (unsigned)hr);
    check((fake.event_low & (MONITOR_CACHE_SEARCHES | MONITOR_JIT_COMPILATION)) == (MONITOR_CACHE_SEARCHES | MONITOR_JIT_COMPILATION), "functions are not looked for");
}

/* The function is called for the first time. Returns whether its precompiled code may be used. */
static bool prepare(struct fake_method *m)
{
    int32_t use = 1;
    AGENT(CALLBACK_CACHE_SEARCH_STARTED, uintptr_t, int32_t *)(fake_callbacks(), (uintptr_t)m, &use);
    return use != 0;
}

static void load_core(void)
{
    AGENT(CALLBACK_MODULE_LOAD_FINISHED, uintptr_t, hresult)(fake_callbacks(), (uintptr_t)&core, HR_OK);
}

static void managed_events_unheard(void)
{
    start(known_signature, sizeof known_signature);
    load_core();
    check(prepare(&other) && set == 0, "another function's code is refused, or changed");
    check(!prepare(&callback) && set == 1, "the function's code is used, or was changed %u times", set);
    AGENT(CALLBACK_JIT_STARTED, uintptr_t, int32_t)(fake_callbacks(), (uintptr_t)&callback, 1);
    check(!prepare(&callback) && set == 1, "the changed code was changed %u times", set);
    const uint8_t *code = memory + 12; /* behind a fat header */
    check(code[0] == 0x0E && code[28] == 0x2A && code[29] == body[1], "the code is not in front of the program's own");
}

/* A function of this name that takes something else. */
static void managed_events_unknown(void)
{
    static const uint8_t instance[] = {0x20, 7, 0x01, 0x0F, 0x05, 0x08, 0x05, 0x0A, 0x0A, 0x0F, 0x11, 0x80, 0x99, 0x0F, 0x01};
    start(instance, sizeof instance);
    load_core();
    prepare(&callback);
    check(set == 0, "another function's code is changed");
}

static void prepare_in_thread(struct job *job)
{
    (void)job;
    prepare(&callback);
    if (__atomic_load_n(&set, __ATOMIC_SEQ_CST) != 1)
        __atomic_fetch_add(&too_early, 1, __ATOMIC_SEQ_CST);
}

/* Whoever asks at the same time goes on when the code is changed. */
static void managed_events_at_once(void)
{
    struct job jobs[THREADS];
    struct entries model[THREADS + 1] = {0};
    start(known_signature, sizeof known_signature);
    load_core();
    start_jobs(jobs, THREADS, prepare_in_thread);
    join_jobs(jobs, THREADS, model);
    check(too_early == 0 && set == 1, "%u threads went on with the program's own code, which was changed %u times", too_early, set);
}

static int managed_events_fail_step(uint64_t n)
{
    start(known_signature, sizeof known_signature);
    fake.fail_at = fake.calls + n;
    load_core();
    prepare(&callback);
    bool beyond = fake.calls < fake.fail_at;
    fake.fail_at = 0;
    check(set <= 1 && (set == 1 || !beyond), "call %llu failed, and the code was changed %u times", (unsigned long long)n, set);
    return failures != 0 ? STEP_FAILED : beyond ? STEP_BEYOND : STEP_PASSED;
}

static void managed_events_fail(void)
{
    sweep(managed_events_fail_step, EACH_OR_SOME);
}

const struct scenario managed_events_scenarios[] = {
    {"managed_events_unheard", managed_events_unheard},
    {"managed_events_unknown", managed_events_unknown},
    {"managed_events_at_once", managed_events_at_once},
    {"managed_events_fail", managed_events_fail},
    {NULL, NULL},
};
