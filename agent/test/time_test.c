/* Scenarios of time: calls whose number, places and times are known. */
#define _GNU_SOURCE
#include "time_world.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* ── a world ────────────────────────────────────────────────────────────────────────────────────────────────── */

#define SHARED "/dotnet/shared/"
struct fake_module world_core = {SHARED "Microsoft.NETCore.App/9.0.7/System.Private.CoreLib.dll", "System.Private.CoreLib.dll", MODULE_FLAG_DISK, NULL, false};
struct fake_module world_web = {SHARED "Microsoft.AspNetCore.App/9.0.7/Web.dll", "Web.dll", MODULE_FLAG_DISK, NULL, false};
struct fake_module world_app = {"/srv/app/App.dll", "App.dll", MODULE_FLAG_DISK, NULL, false};
struct fake_module world_tool = {"/srv/app/System.Tool.dll", "System.Tool.dll", MODULE_FLAG_DISK, NULL, false};
static struct fake_module script = {"Script", "Script", MODULE_FLAG_DYNAMIC, NULL, false};
static struct fake_class core_class, handler_class, web_class, app_class, inner_class, tool_class, script_class;

struct method methods[N_METHODS];
bool compile_late;

static void add_method(int i, const char *name, struct fake_module *m, struct fake_class *c, enum recorded_class recorded)
{
    methods[i] = (struct method){.method = {.name = name, .module = m, .type = c, .il_points = 2, .il_bytes = 10 + (uint32_t)i}, .class = recorded};
    fake_emit(&methods[i].method, &methods[i].body, PROBED, -1);
    methods[i].name = model_method_name(&methods[i].method);
}

/* By the default, CLRPROF_INSTRUMENT=boundary. */
static void make_methods(void)
{
    fake_class_init(&core_class, &world_core, "System.Text.Builder", 24, 0);
    fake_class_init(&handler_class, &world_core, "System.Runtime.EH", 24, 0);
    fake_class_init(&web_class, &world_web, "Web.Server", 24, 0);
    fake_class_init(&app_class, &world_app, "App.Models.Caf\xE9", 24, 0);
    fake_class_init(&inner_class, &world_app, "Inner", 24, 0);
    fake_class_init(&tool_class, &world_tool, "System.Tool.Hammer", 24, 0);
    fake_class_init(&script_class, &script, "Script.Main", 24, 0);
    inner_class.enclosing = &app_class;
    add_method(CORE_0, "Append", &world_core, &core_class, BOUNDARY);
    add_method(CORE_1, "ToString", &world_core, &core_class, BOUNDARY);
    add_method(CORE_2, "Clear", &world_core, &core_class, BOUNDARY);
    add_method(WEB_0, "Serve", &world_web, &web_class, BOUNDARY);
    add_method(APP_0, "Run", &world_app, &app_class, MINE);
    add_method(APP_1, "Order", &world_app, &app_class, MINE);
    add_method(APP_2, "Cancel", &world_app, &app_class, MINE);
    add_method(APP_3, "get_Price", &world_app, &app_class, MINE);
    add_method(INNER_0, "MoveNext", &world_app, &inner_class, MINE);
    add_method(TOOL_0, "Strike", &world_tool, &tool_class, MINE);
    add_method(SCRIPT_0, "Eval", &script, &script_class, MINE);
    add_method(LAMBDA, "lambda", NULL, NULL, NOT_HOOKED);
    methods[LAMBDA].method.dynamic = true;
    free(methods[LAMBDA].name);
    methods[LAMBDA].name = model_method_name(&methods[LAMBDA].method);
    add_method(THROWER, "RhThrowEx", &world_core, &handler_class, NOT_HOOKED); /* a dispatcher: hooked, but no call of it is recorded */
    add_method(SEARCHER, "Next", &world_core, &handler_class, BOUNDARY);
}

const struct wire_header *header(void)
{
    struct entries found = {0};
    struct arena_facts *f = arena_read(directory, &found);
    if (f == NULL)
        fake_die("no arena");
    return f->header;
}

/* Loads the agent for time alone; with a clock that each reading advances by `step` while the probes are measured. */
const struct wire_header *begin(uint64_t step)
{
    setenv("CLRPROF_TIME", "1", 1);
    setenv("CLRPROF_NO_MEMORY", "1", 0);
    make_methods();
    fake_set_thread(0);
    if (step != 0)
        fake_clock_start(step);
    hresult hr = fake_load(agent_path);
    check(hr == HR_OK, "Initialize returned %x", (unsigned)hr);
    fake_clock.step = 0;
    fake_set_thread(0x1000);
    for (int i = 0; i < (compile_late ? CORE_0 + 1 : N_METHODS); i++) /* the core library is always first */
        fake_compile(&methods[i].method);
    const struct wire_header *h = header();
    model_overhead = h->overhead;
    return h;
}

uint64_t losses(const struct wire_header *h, uint32_t reason)
{
    return h->losses[reason].events;
}

void check_losses(const struct wire_header *h, uint64_t unmatched, uint64_t backwards)
{
    for (uint32_t i = 0; i < WIRE_LOSS_COUNT; i++)
        check(losses(h, i) == (i == WIRE_LOSS_CALLS_UNMATCHED ? unmatched : i == WIRE_LOSS_CLOCK_BACKWARDS ? backwards : 0),
              "%llu losses for reason %u", (unsigned long long)losses(h, i), i);
}

void compare(const struct thread_model *t)
{
    const struct wire_header *h = header();
    int n = thread_model_compare(t, h, methods, N_METHODS);
    check(n == 0, "%d differences in thread %u", n, t->os_id);
    const struct wire_clock *c = model_clock(h, t->os_id);
    uint32_t depth = 0;
    for (const struct live *l = t->top; l != NULL; l = l->below)
        depth++;
    check(c != NULL && c->depth == depth, "%u activations, not %u", c == NULL ? 0 : c->depth, depth);
    check(h->shared_bytes + h->private_bytes <= h->memory_limit, "more memory than allowed");
}

/* ── programs ───────────────────────────────────────────────────────────────────────────────────────────────── */

static uint32_t below(struct program *p, uint32_t n)
{
    return (uint32_t)(random_number(&p->seed) >> 20) % n;
}

static void run_call(void *data);

uint64_t place_of(uint32_t place)
{
    const struct fake_frame *f = fake_running();
    return f == NULL ? 0 : f->method->bodies[0]->returns[place];
}

#define BLOCK_DEPTH 1000u /* what a block calls is further down than all else */

static void begin_deep(struct call *c)
{
    c->blocks = c->p->blocks;
    c->p->model.depth = 1 + c->depth + BLOCK_DEPTH * c->blocks;
}

/* Calls at the same depth have the same stack pointer, wherever they are written. */
__attribute__((noinline)) void call(struct program *p, int method, uint32_t place)
{
    struct call c = {.p = p, .method = &methods[method], .caller = p->running, .depth = p->running == NULL ? 0 : p->running->depth + 1};
    p->calls++;
    p->all_calls++;
    begin_deep(&c);
    model_begin(&p->model, &c.live, c.method, place_of(place));
    p->running = &c;
    fake_call(&methods[method].method, place, run_call, &c);
    p->running = c.caller;
    if (!c.ended)
        model_end(&p->model, &c.live);
}

static void tail_call(struct program *p, int method)
{
    struct call *gone = p->running, c = {.p = p, .method = &methods[method], .caller = gone->caller, .depth = gone->depth};
    uint64_t return_address = fake_running()->return_address;
    p->calls++;
    p->all_calls++;
    gone->ended = true;
    begin_deep(&c);
    model_end(&p->model, &gone->live);
    model_begin(&p->model, &c.live, c.method, return_address);
    p->running = &c;
    fake_tail_call(&methods[method].method, run_call, &c);
    p->running = gone;
    if (!c.ended)
        model_end(&p->model, &c.live);
}

/* The program controls what is recorded. */
static void toggle(struct program *p)
{
    static int32_t (*control)(int32_t level, int32_t op);
    if (control == NULL)
        control = (int32_t(*)(int32_t, int32_t))dlsym(dlopen(agent_path, RTLD_LAZY | RTLD_NOLOAD), "clrprof_control");
    bool paused = p->model.paused_since != 0;
    int32_t result = control((int32_t)p->pauses, paused ? WIRE_CONTROL_RESUME : WIRE_CONTROL_SUSPEND);
    check(result == 0, "the result of a change is %d", result);
    if (paused)
        model_resume(&p->model);
    else
        model_pause(&p->model, p->pauses == WIRE_LEVEL_THREAD);
    p->n_pauses += !paused;
}

static void spend(struct program *p)
{
    if (p->pauses != 0 && below(p, 12) == 0)
        toggle(p);
    uint32_t r = below(p, 10);
    if (p->jumps && r == 9)
        model_pass(-(int64_t)below(p, 1000));
    else if (r < 5)
        model_pass(below(p, 300)); /* shorter than the gap */
    else if (r < 6 && p->gap != 0)
        model_pass((int64_t)p->gap + 1 + below(p, 5000)); /* looked at, and nothing was */
    else if (r < 7 && p->gap != 0 && !p->jumps)
        model_wait(&p->model, (int64_t)p->gap + 1 + below(p, 5000),
                   &(struct wire_waits){.voluntary = 1 + below(p, 2), .preempted = below(p, 2), .faults = below(p, 3), .reads = below(p, 2)});
    else if (r < 7)
        model_pass(below(p, 100000));
}

/* Without those that nobody learns of where something pauses: what they call cannot be distinguished from what their callers do. */
static int any_method(struct program *p)
{
    return (int)below(p, p->pauses != 0 ? LAMBDA : THROWER);
}

/* ── exceptions ─────────────────────────────────────────────────────────────────────────────────────────────── */

/* Code of a filter or a finally block of a frame that still exists: it runs on top of the stack, for that frame. */
static void run_block(struct call *c)
{
    struct program *p = c->p;
    struct call *before = p->running;
    struct fake_frame *running = fake_running();
    p->running = c;
    p->blocks++;
    fake_run_on(c->frame);
    spend(p);
    if (p->calls < p->max_calls)
        call(p, APP_0 + (int)below(p, 4), below(p, 2));
    spend(p);
    fake_run_on(running);
    p->blocks--;
    p->running = before;
}

static void ignore(void *data)
{
    (void)data;
}

/* The runtime's managed code that searches calls other framework code between the callbacks. */
static void search(struct program *p)
{
    if (p->dispatched)
        fake_call(&methods[SEARCHER].method, 1, ignore, NULL);
}

/* It need not be recorded, as in a pause. */
static bool has_blocks(const struct call *c)
{
    return c->method->class == MINE;
}

/* Both passes, in the runtime's order. Never returns. */
static void dispatch(void *data)
{
    struct program *p = data;
    volatile uint8_t room[4096]; /* as a runtime needs: what blocks call is further down than what their functions do */
    room[0] = room[sizeof room - 1] = 0;
    struct call *thrower = p->running, *catcher = thrower;
    search(p);
    fake_report(EXCEPTION_THROWN, NULL);
    for (; !catcher->catches; catcher = catcher->caller) {
        search(p);
        fake_report(EXCEPTION_SEARCH_ENTER, (struct fake_method *)(uintptr_t)&catcher->method->method);
        if (has_blocks(catcher) && below(p, 4) == 0) { /* a filter that says no */
            fake_report(EXCEPTION_FILTER_ENTER, (struct fake_method *)(uintptr_t)&catcher->method->method);
            p->filtering = true;
            run_block(catcher);
            p->filtering = false;
            fake_report(EXCEPTION_FILTER_LEAVE, NULL);
        }
        fake_report(EXCEPTION_SEARCH_LEAVE, NULL);
    }
    fake_report(EXCEPTION_SEARCH_ENTER, (struct fake_method *)(uintptr_t)&catcher->method->method);
    fake_report(EXCEPTION_CATCHER_FOUND, (struct fake_method *)(uintptr_t)&catcher->method->method);
    fake_report(EXCEPTION_SEARCH_LEAVE, NULL);
    for (struct call *c = thrower; c != catcher; c = c->caller) {
        search(p);
        fake_report(EXCEPTION_UNWIND_ENTER, (struct fake_method *)(uintptr_t)&c->method->method);
        if (has_blocks(c) && below(p, 2) == 0) {
            fake_block_frame = c->frame->caller_sp - 8;
            fake_report(EXCEPTION_FINALLY_ENTER, (struct fake_method *)(uintptr_t)&c->method->method);
            model_inside(&p->model, c->live.depth);
            run_block(c);
            fake_report(EXCEPTION_FINALLY_LEAVE, NULL);
        }
        search(p);
        fake_report(EXCEPTION_UNWIND_LEAVE, NULL);
        c->ended = true;
        model_end(&p->model, &c->live);
        p->running = c->caller;
    }
    fake_report(EXCEPTION_UNWIND_ENTER, (struct fake_method *)(uintptr_t)&catcher->method->method);
    fake_block_frame = catcher->frame->caller_sp - 8;
    fake_report(EXCEPTION_CATCHER_ENTER, (struct fake_method *)(uintptr_t)&catcher->method->method);
    p->running = catcher;
    fake_run_on(catcher->frame);
    longjmp(catcher->back, 1);
}

static void throw_exception(struct program *p)
{
    p->thrown++;
    if (p->dispatched) {
        p->model.depth = p->running->live.depth + 1;
        model_entered(&p->model);
        fake_call(&methods[THROWER].method, 0, dispatch, p);
    }
    dispatch(p);
}

static struct call *catcher_of(struct program *p)
{
    struct call *c = p->running;
    while (c != NULL && !c->catches)
        c = c->caller;
    return c;
}

/* The frames up to the handler are gone, and no callback comes. */
static void vanish(struct program *p)
{
    struct call *catcher = catcher_of(p);
    for (struct call *c = p->running; c != catcher; c = c->caller) {
        c->ended = true;
        p->gone += c->live.seen != NULL;
        model_gone(&p->model, &c->live);
    }
    p->running = catcher;
    fake_run_on(catcher->frame);
    longjmp(catcher->back, 2);
}

/* ── the body of every method ───────────────────────────────────────────────────────────────────────────────── */

/* After frames vanished the next call must have an Enter: it is what reports that they are gone. */
__attribute__((noinline)) static void calls_some(struct call *c, bool vanished)
{
    struct program *p = c->p;
    for (uint32_t n = below(p, 4); n > 0 && c->depth < p->max_depth && p->calls < p->max_calls; n--) {
        call(p, vanished ? APP_1 : any_method(p), below(p, 2));
        vanished = false;
        spend(p);
    }
}

static void try_some(struct call *c)
{
    struct program *p = c->p;
    switch (setjmp(c->back)) {
    case 0:
        c->catches = true;
        calls_some(c, false);
        break;
    case 1:
        p->blocks = c->blocks;
        model_inside(&p->model, c->live.depth);
        spend(p);
        c->catches = false;
        if (p->calls < p->max_calls)
            call(p, any_method(p), below(p, 2)); /* in the catch block */
        fake_report(EXCEPTION_CATCHER_LEAVE, NULL);
        break;
    default: /* calls from where those began that are gone */
        c->catches = false;
        calls_some(c, true);
    }
    c->catches = false;
}

static void run_call(void *data)
{
    struct call *c = data;
    struct program *p = c->p;
    c->frame = fake_running();
    spend(p);
    if ((p->throws || p->vanishes) && has_blocks(c) && below(p, 3) == 0)
        try_some(c);
    else
        calls_some(c, false);
    spend(p);
    uint32_t r = below(p, 8);
    if (r == 0 && p->throws && !p->filtering && catcher_of(p) != NULL)
        throw_exception(p);
    if (r == 1 && p->vanishes && catcher_of(p) != NULL)
        vanish(p);
    if (r == 2 && c->caller != NULL && p->calls < p->max_calls && !p->dispatched)
        tail_call(p, any_method(p));
}

void run_program(struct program *p, uint32_t roots)
{
    thread_model_begin(&p->model);
    for (uint32_t i = 0; i < roots; i++) {
        p->calls = 0;
        call(p, i == 0 ? APP_0 : any_method(p), 0);
        model_pass(below(p, 1000));
    }
}

/* ── scenarios with an exact clock ──────────────────────────────────────────────────────────────────────────── */

#define STEP_NS 10u /* of the clock while the probes are measured */

static void exact(const char *clock, const char *mechanisms, struct program p)
{
    setenv("CLRPROF_CLOCK", clock, 1);
    setenv("CLRPROF_MECHANISMS", mechanisms, 1);
    const struct wire_header *h = begin(STEP_NS);
    p.gap = strcmp(mechanisms, "gap") == 0 ? h->gap_ticks : 0;
    p.max_depth = 12;
    p.max_calls = 60;
    check(h->ticks_per_sec == 1000000000, "%llu ticks per second", (unsigned long long)h->ticks_per_sec);
    check(h->clock == (strcmp(clock, "monotonic") == 0 ? WIRE_CLOCK_MONOTONIC : WIRE_CLOCK_TSC), "clock %u", h->clock);
    run_program(&p, 3000 / SCALE);
    fake_callback(CALLBACK_SHUTDOWN, 0);
    compare(&p.model);
    check_losses(h, p.gone, p.model.backwards);
    check(!p.throws || p.thrown > 50, "%llu exceptions", (unsigned long long)p.thrown);
    check(p.pauses == 0 || p.n_pauses > 50, "%llu pauses", (unsigned long long)p.n_pauses);
    uint64_t pinned = fake.handles_made - fake.handles_destroyed;
    check((fake.handles_made != 0) == (p.throws && fake.major != 8) && pinned <= 4, "%llu handles of %llu", (unsigned long long)pinned, (unsigned long long)fake.handles_made);
}

static void time_calls(void)
{
    exact("tsc", "gap", (struct program){.seed = 1});
}

static void time_calls_rseq(void)
{
    exact("tsc", "rseq", (struct program){.seed = 2});
}

static void time_calls_monotonic(void)
{
    exact("monotonic", "gap", (struct program){.seed = 3});
}

static void time_exceptions(void)
{
    exact("tsc", "gap", (struct program){.seed = 4, .throws = true});
}

static void time_exceptions_paused(void)
{
    fake.major = 8;
    exact("tsc", "rseq", (struct program){.seed = 10, .throws = true, .pauses = WIRE_LEVEL_PROCESS});
}

static void time_exceptions_paused_thread(void)
{
    exact("tsc", "rseq", (struct program){.seed = 11, .throws = true, .pauses = WIRE_LEVEL_THREAD});
}

static void time_exceptions_paused_dispatched(void)
{
    exact("tsc", "rseq", (struct program){.seed = 12, .throws = true, .dispatched = true, .pauses = WIRE_LEVEL_PROCESS});
}

static void time_exceptions_dispatched(void)
{
    exact("tsc", "gap", (struct program){.seed = 5, .throws = true, .dispatched = true});
}

static void time_frames_gone(void)
{
    exact("tsc", "gap", (struct program){.seed = 6, .vanishes = true});
}

static void time_clock_backwards(void)
{
    exact("tsc", "gap", (struct program){.seed = 7, .jumps = true});
    check(losses(header(), WIRE_LOSS_CLOCK_BACKWARDS) > 100, "the clock went backwards too seldom");
}

static void time_clock_backwards_rseq(void)
{
    exact("tsc", "rseq", (struct program){.seed = 8, .jumps = true});
}

static void time_clock_backwards_monotonic(void)
{
    exact("monotonic", "rseq", (struct program){.seed = 9, .jumps = true});
}

/* The runtime reports that it unwinds a call which goes on. */
static void live_on(void *data)
{
    struct fake_method *m = data;
    fake_report(EXCEPTION_UNWIND_ENTER, m);
    fake_report(EXCEPTION_UNWIND_LEAVE, NULL);
}

static void call_it(void *data)
{
    fake_call(data, 1, live_on, data);
}

static void time_calls_cut(void)
{
    fake.major = 8; /* the end of an unwinding ends the call */
    const struct wire_header *h = begin(STEP_NS);
    struct fake_method *m = &methods[APP_1].method;
    for (uint32_t i = 0; i < 3; i++)
        fake_call(&methods[APP_0].method, 0, call_it, m);
    fake_callback(CALLBACK_SHUTDOWN, 0);
    check(losses(h, WIRE_LOSS_CALLS_CUT) == 3, "%llu calls were cut", (unsigned long long)losses(h, WIRE_LOSS_CALLS_CUT));
    check(losses(h, WIRE_LOSS_CALLS_UNMATCHED) == 0, "calls unmatched");
}

#define WAIT_NS 1000000 /* long enough for the agent to ask how much of it was for a processor */
#define PREEMPTED_NS 50000000
#define STOLEN_NS 20000000
#define QUEUED_NS 5000000

/* Of the calls that have ended, all by one path: what they waited. */
static const struct wire_waits *waits_of_one(const struct wire_header *h, const struct wire_timing **timing)
{
    uint32_t n;
    *timing = model_timings(h, &n);
    check(n == 1 && (*timing)->tail_waits != 0, "%u timings", n);
    return (const struct wire_waits *)(const void *)((const uint8_t *)h + h->regions[WIRE_REGION_WAITS].offset) + (*timing)->tail_waits - 1;
}

static void wait_here(void *data)
{
    (void)data;
    fake_wait(WAIT_NS, 1, 0, 0, 0);
    fake_preempt(2, PREEMPTED_NS); /* between the first reading and that of the delay */
}

/* A thread that is preempted while the agent asks how long it waited for a processor: what is reported is of the
 * interval that it is in. */
static void time_preempted_while_asking(void)
{
    setenv("CLRPROF_MECHANISMS", "gap,delay", 1);
    const struct wire_header *h = begin(STEP_NS);
    if (!h->ready_measured) {
        printf("the kernel counts no delays here: ");
        return;
    }
    fake_call(&methods[APP_1].method, 0, wait_here, NULL);
    fake_callback(CALLBACK_SHUTDOWN, 0);
    const struct wire_timing *x;
    const struct wire_waits *w = waits_of_one(h, &x);
    check(w->intervals == 1 && w->voluntary == 1 && w->preempted == 1, "%llu intervals, %llu waits, preempted %llu times", (unsigned long long)w->intervals,
          (unsigned long long)w->voluntary, (unsigned long long)w->preempted);
    check(x->tail_elapsed >= WAIT_NS + PREEMPTED_NS, "%llu ns of %d", (unsigned long long)x->tail_elapsed, WAIT_NS + PREEMPTED_NS);
    check(w->ready == PREEMPTED_NS && w->blocked == WAIT_NS, "%llu ns ready, %llu blocked", (unsigned long long)w->ready, (unsigned long long)w->blocked);
}

static void lose_processor(void *data)
{
    (void)data;
    fake_wait(WAIT_NS, 0, 1, 0, 0);
    fake_steal(STOLEN_NS);
}

static void be_preempted(void *data)
{
    (void)data;
    fake_wait(WAIT_NS, 0, 1, 0, 0);
}

static void lose_it_shortly(void *data)
{
    (void)data;
    fake_wait(WAIT_NS / 20, 0, 1, 0, 0);
    fake_steal(WAIT_NS / 50);
}

static void wait_and_queue(void *data)
{
    (void)data;
    fake_wait(WAIT_NS, 1, 0, 0, 0);
    fake_queue(QUEUED_NS);
}

static void sleep_shortly(void *data)
{
    (void)data;
    fake_wait(WAIT_NS / 20, 1, 0, 0, 0);
    fake_queue(WAIT_NS / 20 / 2);
}

/* Processor time that the host of a virtual machine takes while a thread is preempted is not in the kernel's value of how
 * long it waited for one. What a thread waits afterwards is ready and blocked all the same. */
static void time_stolen_while_preempted(void)
{
    setenv("CLRPROF_MECHANISMS", "gap,delay", 1);
    const struct wire_header *h = begin(STEP_NS);
    if (!h->ready_measured) {
        printf("the kernel counts no delays here: ");
        return;
    }
    static const struct {
        fake_code code;
        uint32_t times;
        uint64_t ready, blocked, unsure; /* of each; and what of all of them can be in what follows */
    } steps[] = {
        {lose_processor, 3, WAIT_NS + STOLEN_NS, 0, 0},
        {wait_and_queue, 2, QUEUED_NS, WAIT_NS, 0},
        {lose_it_shortly, 100, WAIT_NS / 20 + WAIT_NS / 50, 0, 0},
        {wait_and_queue, 1, QUEUED_NS, WAIT_NS, 16 * WAIT_NS / 50},
        {sleep_shortly, 8, 0, WAIT_NS / 20 + WAIT_NS / 20 / 2, 0}, /* ready, too, which is asked for later */
        {be_preempted, 1, WAIT_NS, 0, 0},
        {wait_and_queue, 1, QUEUED_NS + 8 * WAIT_NS / 40, WAIT_NS - 8 * WAIT_NS / 40, 0},
    };
    struct wire_waits before = {0};
    const struct wire_timing *x;
    for (uint32_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        for (uint32_t k = 0; k < steps[i].times; k++)
            fake_call(&methods[APP_1].method, 0, steps[i].code, NULL);
        struct wire_waits now = *waits_of_one(h, &x);
        uint64_t ready = now.ready - before.ready, blocked = now.blocked - before.blocked;
        check(ready <= steps[i].times * steps[i].ready && ready + steps[i].unsure >= steps[i].times * steps[i].ready && ready + blocked == steps[i].times * (steps[i].ready + steps[i].blocked),
              "step %u: %llu ns ready, %llu blocked", i, (unsigned long long)ready, (unsigned long long)blocked);
        before = now;
    }
    fake_callback(CALLBACK_SHUTDOWN, 0);
}

static struct program *programs;

static void run_one(struct job *j)
{
    run_program(&programs[j->index], 200 / SCALE);
}

static void time_parallel(void)
{
    struct job jobs[16];
    struct entries none = {0};
    compile_late = true;
    const struct wire_header *h = begin(STEP_NS);
    programs = calloc(16, sizeof *programs);
    for (uint32_t i = 0; i < 16; i++)
        programs[i] = (struct program){.seed = 100 + i, .max_depth = 12, .max_calls = 60, .throws = i % 2 == 0};
    start_jobs(jobs, 16, run_one);
    join_jobs(jobs, 16, &none);
    for (uint32_t i = 0; i < 16; i++)
        compare(&programs[i].model);
    check_losses(h, 0, 0);
}


const struct scenario time_scenarios[] = {
    {"time_calls", time_calls},
    {"time_calls_rseq", time_calls_rseq},
    {"time_calls_monotonic", time_calls_monotonic},
    {"time_exceptions", time_exceptions},
    {"time_exceptions_dispatched", time_exceptions_dispatched},
    {"time_exceptions_paused", time_exceptions_paused},
    {"time_exceptions_paused_thread", time_exceptions_paused_thread},
    {"time_exceptions_paused_dispatched", time_exceptions_paused_dispatched},
    {"time_frames_gone", time_frames_gone},
    {"time_calls_cut", time_calls_cut},
    {"time_clock_backwards", time_clock_backwards},
    {"time_clock_backwards_rseq", time_clock_backwards_rseq},
    {"time_clock_backwards_monotonic", time_clock_backwards_monotonic},
    {"time_preempted_while_asking", time_preempted_while_asking},
    {"time_stolen_while_preempted", time_stolen_while_preempted},
    {"time_parallel", time_parallel},
    {NULL, NULL},
};
