/* Probes in the IL of instrumented functions, in the place of the runtime's hooks: nothing else is touched, and all other
 * code may stay precompiled. Functions that are marked, or limit what is recorded, have probes of another address, whatever
 * records their calls. The latter have no hooks: hooks come before the first probe and after the last one.
 *
 * The IL belongs to a method, the calls to a function, of which a generic method has many. There the runtime says whose code
 * the probe's return address lies in. That code may run before the runtime says that it is compiled.
 *
 * A probed function has a frame pointer, since it calls an address that the JIT does not know (regalloc.cpp), so its
 * caller's stack pointer and return address are where the hooks have them. OSR variants have frames of their own on top
 * of the first version's: they contain only the end of a call, and what it is the end of follows from the stack pointer. */
#include "probes/function_actions.h"
#include "arch/arch.h"
#include "core/arena.h"
#include "filter/declared_callees.h"
#include "metadata/hot_reload.h"
#include "filter/stack_effects.h"
#include "il/il.h"
#include "filter/r2r_inliners.h"
#include "filter/instrumentation.h"
#include "filter/probing.h"
#include "probes/ado_http_calls.h"
#include "core/hash_map.h"
#include "core/options.h"
#include "core/recording.h"
#include "arch/entry.h"
#include "metadata/descriptions.h"
#include "probes/il_probes.h"
#include "probes/rejit.h"
#include "probes/recording_scopes.h"
#include "probes/test_cases.h"
#include "os/timer.h"
#include "calls/call_tree.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#define KEPT_BYTES (64u * 1024u) /* of what is kept for rewritten methods, at once */
#define MAX_ASKED 100000u          /* times for one address, while another thread holds the lock: a tenth of a second */
#define NOT_WANTED UINT32_MAX /* why a function has no probes: it needs none */
#define MODULE_KNOWN 1u
#define MODULE_INCLUDED 2u /* functions of it may be, by rules */
#define MODULE_MARKED 4u

struct probed { /* what the probes of a method get; never freed */
    struct method method;
    bool mapped;         /* the runtime speaks of the offsets of the program's own IL */
    bool shared;     /* by functions: the probe's place shows which */
    bool records;    /* the calls; else it is there for what else is done at them */
    uint32_t scopes; /* SCOPE_… */
    uint64_t actions; /* WIRE_ACTION_… */
    uint32_t interaction; /* struct operation, kind; 0: none */
    uint32_t size;   /* of the body that the program has */
    struct rejit_method without; /* probes; without.body NULL: they stay */
    uint32_t n_runs;
    struct il_run runs[];
};

struct rewriting { /* a method that gets probes */
    uintptr_t module, function_id; /* function_id: of the function that is compiled; 0: it is not known */
    uint32_t token, size;
    const uint8_t *body; /* the program's own */
    const struct method *method;
    uint64_t value; /* of the function */
    bool shared;    /* with other functions */
    void *control;  /* of the version that gets the IL; NULL: the method gets it */
};

struct free_work {
    struct il_work work;
    uint8_t scratch[CALLEES_SCRATCH];
    struct free_work *next;
};

uint16_t probes_recording;
static void *info;
static bool controls;        /* what is recorded depends on calls of some functions */
static bool chosen_by_rules; /* they say what is included */
static bool has_lists;       /* images are asked which precompiled code may run */
static struct map modules;    /* ModuleID → MODULE_… */
static struct map signatures; /* ModuleID → token, and << 32 that of tail */
static struct map bodies;     /* address of rewritten IL → struct probed */
static struct map functions;  /* id of the function → struct probed */
static struct map places;     /* return address of a probe → struct method, with bit 0 set if it can be unloaded */
static struct map partly;     /* id of the function → why some of its calls have no probes (WIRE_NOT_PROBED_…) */
static struct free_work *free_works;
static uint8_t *kept; /* the rest of a block */
static uint32_t kept_bytes;

/* What the stubs of probes go on to: sp is the caller's stack pointer, place the return address of the probe. */
void probes_enter(const struct probed *p, uintptr_t sp, uintptr_t place);
void probes_leave(const struct probed *p, uintptr_t sp, uintptr_t place, uintptr_t own_sp);
int32_t probes_tail(const struct probed *p, uintptr_t sp, uintptr_t place, uintptr_t own_sp);
void probes_enter_traced(const struct probed *p, uintptr_t sp, uintptr_t place); /* with a call trace */
void probes_leave_traced(const struct probed *p, uintptr_t sp, uintptr_t place, uintptr_t own_sp);
void probes_enter_marked(const struct probed *p, uintptr_t sp, uintptr_t place);
void probes_leave_marked(const struct probed *p, uintptr_t sp, uintptr_t place, uintptr_t own_sp);
int32_t probes_tail_marked(const struct probed *p, uintptr_t sp, uintptr_t place, uintptr_t own_sp);

/* ── at run time ────────────────────────────────────────────────────────────────────────────────────────────── */

/* Whose code it is: the runtime knows it from before the code is first run, and says so at any time, but for the moment in which
 * another thread adds code of its own. */
static COLD const struct method *find_place(uintptr_t place)
{
    int saved_errno = errno;
    uintptr_t function_id = 0;
    hresult hr = HR_ASYNCHRONOUS_UNSAFE;
    for (uint32_t i = 0; hr == HR_ASYNCHRONOUS_UNSAFE && i < MAX_ASKED; i++) {
        if (i != 0)
            sched_yield();
        hr = SLOT(info, INFO_GET_FUNCTION_FROM_IP, uintptr_t, uintptr_t *)(info, place, &function_id);
    }
    uint64_t method = hr < 0 ? 0 : instrument_known(function_id);
    arena_lock();
    if (method != 0)
        map_put(&places, place, method); /* else it is looked for again */
    arena_unlock();
    errno = saved_errno;
    return (const struct method *)(uintptr_t)(method & ~UINT64_C(1));
}

static inline const struct method *method_at(const struct probed *p, uintptr_t place)
{
    if (LIKELY(!p->shared))
        return &p->method;
    const struct method *m = (const struct method *)(uintptr_t)(map_get(&places, place) & ~UINT64_C(1));
    return m != NULL ? m : find_place(place);
}

void probes_enter(const struct probed *p, uintptr_t sp, uintptr_t place)
{
    const struct method *m = method_at(p, place);
    if (UNLIKELY(m == NULL))
        loss(WIRE_LOSS_NOT_HOOKED, 0, 0);
    else
        time_enter_hook(m, sp);
}

void probes_enter_traced(const struct probed *p, uintptr_t sp, uintptr_t place)
{
    const struct method *m = method_at(p, place);
    if (UNLIKELY(m == NULL))
        loss(WIRE_LOSS_NOT_HOOKED, 0, 0);
    else
        time_enter_traced(m, sp);
}

/* The caller's stack pointer of the call that ends. That of an ordinary frame is right, also if the call began in a pause; over that of
 * an OSR variant lies no activation, and the innermost one that has begun outside of it is its call's. */
static COLD uintptr_t find_caller_sp(const struct method *m, uintptr_t sp, uintptr_t own_sp)
{
    const struct wire_activation *a = current_timer->top;
    while (a->caller_sp < sp)
        a--;
    if (a->caller_sp == sp)
        return sp;
    a = current_timer->top;
    while (a->caller_sp <= (own_sp | SITE_MARK))
        a--;
    return a->timing != 0 && timing_at(a->timing)->function == m->function && frame_is_variant(a->caller_sp, sp) ? a->caller_sp : sp;
}

/* Whose call ends, or is about to; sp becomes that of its caller. NULL: nothing is known of it. */
static inline const struct method *ending(const struct probed *p, uintptr_t *sp, uintptr_t place, uintptr_t own_sp)
{
    const struct timer *t = current_timer;
    if (UNLIKELY(t == NULL))
        return NULL;
    const struct method *m = &p->method;
    if (UNLIKELY(t->top->caller_sp != *sp) && (m = method_at(p, place)) != NULL)
        *sp = find_caller_sp(m, *sp, own_sp);
    return m;
}

void probes_leave(const struct probed *p, uintptr_t sp, uintptr_t place, uintptr_t own_sp)
{
    const struct method *m = ending(p, &sp, place, own_sp);
    if (LIKELY(m != NULL))
        time_leave_hook(m, sp);
}

void probes_leave_traced(const struct probed *p, uintptr_t sp, uintptr_t place, uintptr_t own_sp)
{
    const struct method *m = ending(p, &sp, place, own_sp);
    if (LIKELY(m != NULL))
        time_leave_traced(m, sp);
}

/* What is not recorded jumps, as the program wants it: calls that began in a pause, and those that are only marked. */
int32_t probes_tail(const struct probed *p, uintptr_t sp, uintptr_t place, uintptr_t own_sp)
{
    const struct method *m = ending(p, &sp, place, own_sp);
    return m == NULL || !time_stays(m, sp, place, own_sp);
}

/* The call itself is in its scope, and so is all that is done at it. */
void probes_enter_marked(const struct probed *p, uintptr_t sp, uintptr_t place)
{
    if (p->scopes != 0)
        scopes_enter(p->scopes, sp);
    actions_at(p->actions, WIRE_POINT_BEFORE, p->method.function);
    if (p->records)
        (trace_on ? probes_enter_traced : probes_enter)(p, sp, place);
    actions_at(p->actions, WIRE_POINT_TOP, p->method.function);
    if (p->interaction == INTERACTION_CASE)
        cases_enter(sp, p->method.function);
    else if (p->interaction != 0)
        interactions_enter(p->interaction, sp);
}

void probes_leave_marked(const struct probed *p, uintptr_t sp, uintptr_t place, uintptr_t own_sp)
{
    if (p->interaction == INTERACTION_CASE)
        cases_leave(sp);
    else if (p->interaction != 0)
        interactions_leave(p->interaction, sp);
    actions_at(p->actions, WIRE_POINT_BOTTOM, p->method.function);
    if (p->records)
        (trace_on ? probes_leave_traced : probes_leave)(p, sp, place, own_sp);
    actions_at(p->actions, WIRE_POINT_AFTER, p->method.function);
    if (p->scopes != 0)
        scopes_leave(p->scopes, sp);
}

int32_t probes_tail_marked(const struct probed *p, uintptr_t sp, uintptr_t place, uintptr_t own_sp)
{
    if ((p->scopes != 0 && scopes_is_outermost(p->scopes, sp)) || (p->interaction != 0 && (interactions_is_outermost(sp) || cases_is_outermost(sp))))
        return 0; /* it stays: nothing else would show when what it jumped to ends */
    int32_t jumps = p->records ? probes_tail(p, sp, place, own_sp) : 1;
    if (jumps != 0) { /* for the clock it has ended: else it stays, and gets to its end */
        actions_at(p->actions, WIRE_POINT_BOTTOM, p->method.function);
        actions_at(p->actions, WIRE_POINT_AFTER, p->method.function);
    }
    return jumps;
}

const struct method *probes_example(void)
{
    static const struct probed example = {.method = {.function = 2}};
    return &example.method;
}

/* ── rewriting ──────────────────────────────────────────────────────────────────────────────────────────────── */

static struct free_work *take_work(void)
{
    arena_lock();
    struct free_work *w = free_works;
    if (w != NULL)
        free_works = w->next;
    arena_unlock();
    return w != NULL ? w : private_alloc(sizeof *w);
}

static void give_work(struct free_work *w)
{
    arena_lock();
    w->next = free_works;
    free_works = w;
    arena_unlock();
}

/* With the lock held: memory that is never freed. NULL: there is none. */
static void *keep(uint64_t bytes)
{
    bytes = (bytes + 15) & ~UINT64_C(15);
    if (bytes > KEPT_BYTES / 4)
        return private_alloc(bytes);
    if (kept_bytes < bytes) {
        uint8_t *block = private_alloc(KEPT_BYTES);
        if (block == NULL)
            return NULL;
        kept = block;
        kept_bytes = KEPT_BYTES;
    }
    uint8_t *p = kept;
    kept += bytes;
    kept_bytes -= (uint32_t)bytes;
    return p;
}

/* The tokens of the probes' signatures in a module, static void (native int) and << 32 static int32 (native int). 0: they cannot be had. */
static uint64_t signatures_in(uintptr_t module)
{
    static const uint8_t probe[] = {0x00, 0x01, 0x01, 0x18}, tail[] = {0x00, 0x01, 0x08, 0x18};
    uint64_t known = map_get(&signatures, module);
    uint32_t tokens[2] = {0, 0};
    void *emit = NULL;
    if (known != 0)
        return known;
    if (changeable_module(info, module))
        return 0;
    if (SLOT(info, INFO_GET_MODULE_META_DATA, uintptr_t, uint32_t, const struct guid *, void **)(info, module, OPEN_WRITE, &IID_METADATA_EMIT, &emit) != HR_OK ||
        emit == NULL)
        return 0;
    if (SLOT(emit, EMIT_GET_TOKEN_FROM_SIG, const uint8_t *, uint32_t, uint32_t *)(emit, probe, sizeof probe, &tokens[0]) >= 0 &&
        SLOT(emit, EMIT_GET_TOKEN_FROM_SIG, const uint8_t *, uint32_t, uint32_t *)(emit, tail, sizeof tail, &tokens[1]) >= 0 && tokens[1] != 0)
        known = (uint64_t)tokens[1] << 32 | tokens[0];
    com_release(emit);
    arena_lock();
    if (known != 0)
        map_put(&signatures, module, known); /* else they are asked for again, and are the same */
    arena_unlock();
    return known;
}

/* The new IL, in memory that the runtime keeps. NULL: none. */
static uint8_t *write_body(const struct il_work *w, uintptr_t module, uint32_t bytes)
{
    uint8_t *body = runtime_il_memory(info, module, bytes);
    if (body != NULL)
        il_write(w, body);
    return body;
}

/* Where the new code is from, in memory of the process's heap, of which `*n` entries. NULL: there is none. */
static struct clr_il_move *make_map(const struct il_work *w, uint32_t *n)
{
    *n = il_starts(w, NULL, 0);
    struct clr_il_move *moves = malloc(*n * sizeof *moves);
    struct il_run *starts = malloc(*n * sizeof *starts);
    if (moves != NULL && starts != NULL) {
        il_starts(w, starts, *n);
        for (uint32_t i = 0; i < *n; i++)
            moves[i] = (struct clr_il_move){starts[i].old_at, starts[i].new_at, 1};
    } else {
        free(moves);
        moves = NULL;
    }
    free(starts);
    return moves;
}

/* Informs the runtime where the new IL is from: stack traces and debuggers speak of the program's own. The map is the runtime's
 * from then on, which frees it. */
static bool report_map(const struct il_work *w, uintptr_t function_id)
{
    uint32_t n;
    struct clr_il_move *moves = make_map(w, &n);
    bool reported = moves != NULL && SLOT(info, INFO_SET_IL_CODE_MAP, uintptr_t, int32_t, uint32_t, const struct clr_il_move *)(info, function_id, 0, n, moves) >= 0;
    if (!reported)
        free(moves);
    return reported;
}

/* The same of a version. The runtime makes a copy of it, as of the IL. */
static bool report_map_of_version(const struct il_work *w, void *control)
{
    uint32_t n;
    struct clr_il_move *moves = make_map(w, &n);
    bool reported = moves != NULL && SLOT(control, CONTROL_SET_IL_MAP, uint32_t, const struct clr_il_move *)(control, n, moves) >= 0;
    free(moves);
    return reported;
}

/* Are a function's calls recorded by probes? */
static bool is_probed(uint64_t value)
{
    if (!probes_on && (value & FUNCTION_CONTROLS) != 0)
        return (value & (FUNCTION_IS_INSTRUMENTED | FUNCTION_IS_BOUNDARY)) != 0; /* else they have hooks */
    return probes_on && (value & FUNCTION_IS_INSTRUMENTED) != 0;
}

bool probes_records(uint32_t function)
{
    const struct probed *p = probes_on || !controls ? NULL : (const struct probed *)(uintptr_t)(map_get(&functions, function) & ~UINT64_C(1));
    return p != NULL && p->records;
}

/* What the probes get, which may be one thing for many functions. */
static struct probed *keep_probed(const struct il_work *w, const struct method *m, uint64_t value, bool shared)
{
    uint32_t n = il_runs(w, NULL, 0);
    arena_lock();
    struct probed *p = keep(sizeof *p + n * sizeof *p->runs);
    arena_unlock();
    if (p != NULL) {
        *p = (struct probed){.method = *m, .shared = shared, .size = w->size, .n_runs = n, .records = is_probed(value),
                             .actions = instrument_actions(value)};
        p->scopes = (uint32_t)(p->actions >> WIRE_ACTION_SCOPE) & SCOPE_ALL;
        il_runs(w, p->runs, n);
    }
    return p;
}

static struct il_probes probes_to_call(uint64_t tokens)
{
    struct il_probes p = {.signature = (uint32_t)tokens, .tail_signature = (uint32_t)(tokens >> 32), .enter = (uintptr_t)clrprof_probe_enter,
                          .leave = (uintptr_t)clrprof_probe_leave, .tail = (uintptr_t)clrprof_probe_tail, .site_enter = (uintptr_t)clrprof_site_enter,
                          .site_leave = (uintptr_t)clrprof_site_leave, .site_jump = (uintptr_t)clrprof_site_jump};
    if (trace_on) {
        p.enter = (uintptr_t)clrprof_traced_probe_enter;
        p.leave = (uintptr_t)clrprof_traced_probe_leave;
        p.site_enter = (uintptr_t)clrprof_traced_site_enter;
        p.site_leave = (uintptr_t)clrprof_traced_site_leave;
    }
    if (probes_number != 0) {
        p.enter = (uintptr_t)clrprof_numbered_probe_enter;
        p.leave = (uintptr_t)clrprof_numbered_probe_leave;
        p.tail = (uintptr_t)clrprof_numbered_probe_tail;
        p.site_enter = (uintptr_t)clrprof_numbered_site_enter;
        p.site_leave = (uintptr_t)clrprof_numbered_site_leave;
        p.site_jump = (uintptr_t)clrprof_numbered_site_jump;
    }
    return p;
}

static uint64_t argument_of(uint64_t address)
{
    return address == 0 ? 0 : address | (uint64_t)probes_number << PROBE_NUMBER_SHIFT;
}

static uint64_t find_site(void *context, uint32_t offset, uint8_t opcode, uint32_t token)
{
    return argument_of(callees_site(context, offset, opcode, token));
}

/* Where tasks complete nothing else is wanted, unless something else is. */
static void add_operation(struct il_probes *p, const struct operation *o, uint64_t value)
{
    if (o->kind >= INTERACTION_COMPLETION && o->kind != INTERACTION_CASE && (value & FUNCTION_IS_MARKED) == 0 && !is_probed(value))
        p->enter = p->leave = 0;
    p->begin = o->begin;
    p->begin_bytes = o->begin_bytes;
    p->end = o->end;
    p->end_bytes = o->end_bytes;
    p->caught = o->caught;
}

/* The probes of the method can be taken out while nothing is recorded. */
static void let_go(struct probed *p, const struct rewriting *r)
{
    if (!rejit_is_on())
        return;
    arena_lock();
    p->without = (struct rejit_method){.module = r->module, .token = r->token, .body = r->body, .size = r->size};
    rejit_add(&p->without);
    arena_unlock();
}

/* The written IL is what the method is compiled from from now on. */
static bool set_body(const struct il_work *w, const struct rewriting *r, const struct probed *p, uint32_t bytes)
{
    const uint8_t *written = write_body(w, r->module, bytes);
    arena_lock();
    bool known = written != NULL && map_put(&bodies, (uintptr_t)written, (uintptr_t)p | ((r->value & FUNCTION_IS_COLLECTIBLE) != 0 ? 1u : 0u));
    arena_unlock();
    return known && SLOT(info, INFO_SET_IL_FUNCTION_BODY, uintptr_t, uint32_t, const uint8_t *)(info, r->module, r->token, written) >= 0;
}

/* The runtime copies the IL of a version. So it is written to the process's heap: private memory would leave a mapping for each
 * method in a dormant process, whose addresses are used once. */
static bool set_version(const struct il_work *w, void *control, uint32_t bytes)
{
    uint8_t *written = malloc(bytes);
    if (written == NULL)
        return false;
    il_write(w, written);
    bool taken = SLOT(control, CONTROL_SET_IL_BODY, uint32_t, const uint8_t *)(control, bytes, written) >= 0;
    free(written);
    return taken;
}

/* Writes the planned body, and gives it to the runtime. NULL: that did not take it, or there is no memory. */
static struct probed *put_body(struct il_work *w, const struct rewriting *r, uint32_t interaction, uint32_t bytes)
{
    struct probed *p = keep_probed(w, r->method, r->value, r->shared);
    if (p == NULL)
        return NULL;
    w->probes.method = argument_of((uintptr_t)p);
    p->interaction = interaction;
    if (!(r->control == NULL ? set_body(w, r, p, bytes) : set_version(w, r->control, bytes)))
        return NULL;
    p->mapped = r->control == NULL ? report_map(w, r->function_id) : report_map_of_version(w, r->control);
    if (r->control == NULL && p->mapped && (r->value & (FUNCTION_IS_COLLECTIBLE | FUNCTION_HAS_PROBES)) == 0)
        let_go(p, r);
    return p;
}

/* NULL: it cannot be done, and why. Two threads may do it for two functions of one method: then either body is right. */
static struct probed *rewrite(struct rewriting *r, uint32_t *why)
{
    uint64_t tokens = signatures_in(r->module);
    *why = tokens != 0 ? WIRE_NOT_PROBED_REFUSED : changeable_module(info, r->module) ? WIRE_NOT_PROBED_CHANGEABLE : WIRE_NOT_PROBED_SIGNATURE;
    struct il_probes probes = probes_to_call(tokens);
    struct operation operation = {.kind = 0};
    if ((r->value & FUNCTION_IS_INTERACTION) != 0 && !(tokens != 0 && operations_find(info, r->function_id, r->module, r->token, &operation)))
        r->value &= ~FUNCTION_IS_INTERACTION;
    if ((r->value & FUNCTION_HAS_PROBES) == 0 && !is_probed(r->value)) {
        *why = NOT_WANTED;
        return NULL;
    }
    if ((r->value & FUNCTION_HAS_PROBES) != 0) {
        probes.enter = (uintptr_t)clrprof_marked_enter;
        probes.leave = (uintptr_t)clrprof_marked_leave;
        probes.tail = (uintptr_t)clrprof_marked_tail;
    }
    add_operation(&probes, &operation, r->value);
    struct free_work *w = tokens == 0 ? NULL : take_work();
    struct probed *p = NULL;
    struct callees callees = {.collectible = (r->value & FUNCTION_IS_COLLECTIBLE) != 0};
    uint32_t bytes;
    if (w == NULL)
        return NULL;
    if (probes_sites && is_probed(r->value) && callees_begin(&callees, r->module, w->scratch)) {
        probes.site = find_site;
        probes.effect = effects_of;
        probes.locals = effects_locals;
        probes.context = &callees;
    }
    enum il_result result = il_plan(&w->work, r->body, r->size, &probes, &bytes);
    if (result != IL_DONE)
        *why = result;
    else
        p = put_body(&w->work, r, operation.kind, bytes);
    callees_end(&callees);
    give_work(w);
    return p;
}

/* Has the function, or its type, type arguments? If the runtime does not say: yes. */
static bool is_generic(uintptr_t function_id, uintptr_t *module, uint32_t *token)
{
    uintptr_t class_id = 0, parent = 0, arguments[1];
    uint32_t n = 0, type = 0;
    if (SLOT(info, INFO_GET_FUNCTION_INFO2, uintptr_t, uintptr_t, uintptr_t *, uintptr_t *, uint32_t *, uint32_t, uint32_t *, uintptr_t *)(
            info, function_id, 0, &class_id, module, token, 0, &n, arguments) < 0)
        *module = 0;
    if (n != 0 || class_id == 0)
        return true;
    return SLOT(info, INFO_GET_CLASS_ID_INFO2, uintptr_t, uintptr_t *, uint32_t *, uintptr_t *, uint32_t, uint32_t *, uintptr_t *)(
               info, class_id, module, &type, &parent, 0, &n, arguments) < 0 ||
           n != 0;
}

static struct probed *probed_at(const uint8_t *body)
{
    return (struct probed *)(uintptr_t)(map_get(&bodies, (uintptr_t)body) & ~UINT64_C(1));
}

const struct rejit_method *probes_rewritten(const uint8_t *body)
{
    const struct probed *p = probed_at(body);
    return p == NULL || p->without.body == NULL ? NULL : &p->without;
}

bool probes_can_go(void)
{
    return probes_on && !controls;
}

static bool log_not_probed(uint32_t function, uint32_t why)
{
    struct {
        uint32_t function, reason;
    } record = {function, why};
    return arena_log(WIRE_RECORD_NOT_PROBED, &record, sizeof record);
}

/* Reports, once for each function, why it has no probes. False: it was reported before. */
static bool report_not_probed(const struct method *m, uint64_t value, uint32_t why)
{
    static struct probed none = {.mapped = true};
    uint64_t known = (uintptr_t)&none | ((value & FUNCTION_IS_COLLECTIBLE) != 0 ? 1 : 0);
    arena_lock();
    bool reported = map_get(&functions, m->function) == known;
    if (!reported) {
        map_put(&functions, m->function, known);
        log_not_probed(m->function, why); /* else the loss alone says so */
    }
    arena_unlock();
    if (!reported)
        loss(WIRE_LOSS_NOT_PROBED, 0, 0);
    return !reported;
}

static bool find_body(struct rewriting *r)
{
    return SLOT(info, INFO_GET_IL_FUNCTION_BODY, uintptr_t, uint32_t, const uint8_t **, uint32_t *)(info, r->module, r->token, &r->body, &r->size) >= 0 && r->body != NULL;
}

static bool know_probed(const struct method *m, const struct probed *p, uint64_t value)
{
    arena_lock();
    bool known = map_put(&functions, m->function, (uintptr_t)p | ((value & FUNCTION_IS_COLLECTIBLE) != 0 ? 1u : 0u));
    arena_unlock();
    return known;
}

static bool put_probes(uintptr_t function_id, uint64_t value, const struct method *m, uint32_t *why)
{
    struct rewriting r = {.function_id = function_id, .method = m, .value = value};
    r.shared = is_generic(function_id, &r.module, &r.token);
    *why = WIRE_NOT_PROBED_REFUSED;
    if (r.module == 0 || !find_body(&r))
        return false;
    struct probed *p = probed_at(r.body);
    if (p == NULL)
        p = rewrite(&r, why);
    return p != NULL && (p->shared || p->method.function == m->function) && know_probed(m, p, value);
}

/* ── versions ───────────────────────────────────────────────────────────────────────────────────────────────── */

/* Does the runtime suspend it? Then it has no probes, whatever function of the method it is. */
static bool is_suspended(uintptr_t module, uint32_t token)
{
    uint32_t owner, length, attributes, signature_bytes, rva, implementation = 0;
    const uint8_t *signature;
    void *import = NULL;
    if (SLOT(info, INFO_GET_MODULE_META_DATA, uintptr_t, uint32_t, const struct guid *, void **)(info, module, 0, &IID_METADATA_IMPORT, &import) != HR_OK ||
        import == NULL)
        return false;
    (void)SLOT(import, IMPORT_GET_METHOD_PROPS, uint32_t, uint32_t *, utf16 *, uint32_t, uint32_t *, uint32_t *, const uint8_t **, uint32_t *, uint32_t *, uint32_t *)(
        import, token, &owner, NULL, 0, &length, &attributes, &signature, &signature_bytes, &rva, &implementation);
    com_release(import);
    return (implementation & METHOD_IMPL_ASYNC) != 0;
}

/* Of a generic method no function is known when its IL is asked for. */
uint64_t probes_give(uintptr_t module, uint32_t token, void *control)
{
    struct method generic = {0};
    struct rewriting r = {.module = module, .token = token, .control = control, .method = &generic, .value = FUNCTION_IS_INSTRUMENTED};
    uint32_t why = WIRE_NOT_PROBED_REFUSED;
    r.shared = SLOT(info, INFO_GET_FUNCTION_FROM_TOKEN, uintptr_t, uint32_t, uintptr_t *)(info, module, token, &r.function_id) < 0;
    if (!r.shared) {
        r.value = function_value(r.function_id);
        r.method = is_probed(r.value) ? instrument_method(r.function_id, r.value) : &generic;
        if (r.value == 0 || r.method == NULL)
            loss(WIRE_LOSS_NOT_HOOKED, 0, 0);
    } else if (is_suspended(module, token)) {
        r.value = 0;
    }
    if (!is_probed(r.value) || r.method == NULL)
        return GIVEN_NOTHING(NOT_WANTED);
    struct probed *p = find_body(&r) ? rewrite(&r, &why) : NULL;
    return p != NULL ? (uintptr_t)p : GIVEN_NOTHING(why);
}

void probes_compiled(uintptr_t function_id, uint64_t given)
{
    uint64_t value = function_value(function_id);
    const struct method *m = is_probed(value) ? instrument_method(function_id, value) : NULL;
    if (value == 0 || (m == NULL && is_probed(value)))
        loss(WIRE_LOSS_NOT_HOOKED, 0, 0);
    if (m == NULL)
        return;
    if ((given & 1) == 0)
        know_probed(m, (const struct probed *)(uintptr_t)given, value);
    else if ((uint32_t)(given >> 1) != NOT_WANTED)
        report_not_probed(m, value, (uint32_t)(given >> 1));
}

/* What ran when the recording began is no loss: calls that began before are in no recording. */
void probes_partly_missing(uintptr_t function_id, uint32_t why)
{
    uint64_t value = function_value(function_id), known;
    if (!is_probed(value))
        return;
    arena_lock();
    known = map_get(&partly, (uint32_t)value);
    bool is_new = (known == 0 || (known == WIRE_NOT_PROBED_RUNNING && why != known)) && map_put(&partly, (uint32_t)value, why);
    if (is_new)
        log_not_probed((uint32_t)value, why);
    arena_unlock();
    if (is_new && why != WIRE_NOT_PROBED_RUNNING)
        loss(WIRE_LOSS_NOT_PROBED, 0, 0);
}

void probes_missing(uintptr_t function_id, uint32_t why)
{
    uint64_t value = function_value(function_id);
    const struct method *m = is_probed(value) ? instrument_method(function_id, value) : NULL;
    if (m != NULL)
        report_not_probed(m, value, why);
}

/* Can some function of a module match patterns? Its types decide, but for nested ones, whose names begin like those around them; those
 * of a module that is made at run time are not there yet. */
static bool may_have_some(uintptr_t module, bool (*may_match)(const utf16 *name, uint32_t length))
{
    utf16 name[WIRE_MAX_NAME];
    uint32_t length = 0, flags = 0, base, type = TOKEN_TYPE_DEF, file;
    uintptr_t assembly;
    const uint8_t *loaded;
    void *import = NULL;
    if (SLOT(info, INFO_GET_MODULE_INFO2, uintptr_t, const uint8_t **, uint32_t, uint32_t *, utf16 *, uintptr_t *, uint32_t *)(
            info, module, &loaded, WIRE_MAX_NAME, &length, name, &assembly, &flags) < 0 ||
        length == 0 || length > WIRE_MAX_NAME || (flags & MODULE_FLAG_DYNAMIC) != 0)
        return true;
    for (file = length - 1; file > 0 && name[file - 1] != '/';)
        file--;
    if (may_match(name + file, length - 1 - file) ||
        SLOT(info, INFO_GET_MODULE_META_DATA, uintptr_t, uint32_t, const struct guid *, void **)(info, module, 0, &IID_METADATA_IMPORT, &import) != HR_OK ||
        import == NULL)
        return true;
    bool some = false;
    while (!some && SLOT(import, IMPORT_GET_TYPE_DEF_PROPS, uint32_t, utf16 *, uint32_t, uint32_t *, uint32_t *, uint32_t *)(
                        import, ++type, name, WIRE_MAX_NAME, &length, &flags, &base) >= 0)
        some = (flags & TYPE_VISIBILITY) < TYPE_IS_NESTED &&
               (length == 0 || length > WIRE_MAX_NAME || may_match(name, length - 1));
    com_release(import);
    return some;
}

/* MODULE_… */
static uint32_t look_at_module(uintptr_t module)
{
    uint32_t known = (uint32_t)map_get(&modules, module);
    if (known == 0) {
        known = MODULE_KNOWN | (chosen_by_rules && may_have_some(module, instrument_may_include) ? MODULE_INCLUDED : 0) |
                (probes_marks && (may_have_some(module, instrument_may_mark) || (operations_on() && operations_may_be_in(info, module))) ? MODULE_MARKED : 0);
        arena_lock();
        map_put(&modules, module, known); /* else it is looked at again */
        arena_unlock();
    }
    return known;
}

/* Precompiled code of a module with functions that have probes has none, and that of others of them may be part of it. */
static bool is_concerned(uintptr_t module)
{
    if (probes_on && instrument_includes_module(module))
        return true;
    return (chosen_by_rules || probes_marks) && (look_at_module(module) & (MODULE_INCLUDED | MODULE_MARKED)) != 0;
}

static bool may_be_marked(uintptr_t function_id)
{
    uintptr_t class_id, module = 0;
    uint32_t token;
    return probes_marks &&
           SLOT(info, INFO_GET_FUNCTION_INFO, uintptr_t, uintptr_t *, uintptr_t *, uint32_t *)(info, function_id, &class_id, &module, &token) >= 0 &&
           module != 0 && (look_at_module(module) & MODULE_MARKED) != 0 && !inliners_is_left_out(module, token);
}

bool probes_is_marked(uintptr_t function_id)
{
    return may_be_marked(function_id) && (function_value(function_id) & FUNCTION_HAS_PROBES) != 0;
}

bool probes_leave_out(uintptr_t function_id)
{
    uintptr_t class_id, module = 0;
    uint32_t token;
    return probes_on && has_lists &&
           SLOT(info, INFO_GET_FUNCTION_INFO, uintptr_t, uintptr_t *, uintptr_t *, uint32_t *)(info, function_id, &class_id, &module, &token) >= 0 &&
           module != 0 && (!is_concerned(module) || inliners_is_left_out(module, token));
}

static hresult jit_started(void *self, uintptr_t function_id, int32_t safe_to_block)
{
    (void)self;
    (void)safe_to_block;
    int saved_errno = errno;
    bool wanted = !recording_is_over() && (probes_on ? !probes_leave_out(function_id) : may_be_marked(function_id));
    uint64_t value = wanted ? function_value(function_id) : FUNCTION_IS_HELPER;
    struct method only_marked = {.function = (uint32_t)value};
    if (value == 0) {
        loss(WIRE_LOSS_NOT_HOOKED, 0, 0);
        if (controls && may_be_marked(function_id))
            scopes_missing();
    } else if ((value & FUNCTION_IS_ASYNC) != 0) {
        scopes_missing();
    } else if (is_probed(value) || (value & FUNCTION_HAS_PROBES) != 0) {
        uint32_t why = 0;
        const struct method *m = is_probed(value) ? instrument_method(function_id, value) : &only_marked;
        bool put = m != NULL && put_probes(function_id, value, m, &why);
        if (m == NULL)
            loss(WIRE_LOSS_NOT_HOOKED, 0, 0);
        if (!put && why != NOT_WANTED && (m == NULL || report_not_probed(m, value, why)) && (value & FUNCTION_CONTROLS) != 0)
            scopes_missing();
    }
    errno = saved_errno;
    return HR_OK;
}

static hresult search_started(void *self, uintptr_t function_id, int32_t *use)
{
    (void)self;
    int saved_errno = errno;
    uintptr_t class_id, module = 0;
    uint32_t token;
    if (!recording_is_over() &&
        SLOT(info, INFO_GET_FUNCTION_INFO, uintptr_t, uintptr_t *, uintptr_t *, uint32_t *)(info, function_id, &class_id, &module, &token) >= 0 &&
        module != 0 && (is_concerned(module) ? !inliners_may_run(module, token) : inliners_are_anywhere()))
        *use = 0;
    errno = saved_errno;
    return HR_OK;
}

/* The signatures are best added to a module's metadata before anybody reads them. */
bool probes_see_module(uintptr_t module)
{
    bool concerned = is_concerned(module);
    if (concerned)
        signatures_in(module);
    if (has_lists || (concerned && probes_on))
        inliners_module_loaded(module, concerned);
    if (probes_sites)
        callees_module_loaded(module);
    return concerned;
}

static hresult module_loaded(void *self, uintptr_t module, hresult status)
{
    (void)self;
    int saved_errno = errno;
    if (status >= 0 && !recording_is_over())
        probes_see_module(module);
    errno = saved_errno;
    return HR_OK;
}

/* ── sizes and offsets of what was rewritten ────────────────────────────────────────────────────────────────────── */

uint32_t probes_size(const uint8_t *body, uint32_t size)
{
    const struct probed *p = probes_on || probes_marks ? probed_at(body) : NULL;
    return p == NULL ? size : p->size;
}

uint32_t probes_old_offset(uint32_t function, uint32_t il)
{
    if (!(probes_on || probes_marks) || il >= IL_NO_OFFSET)
        return il;
    const struct probed *p = (const struct probed *)(uintptr_t)(map_get(&functions, function) & ~UINT64_C(1));
    return p == NULL || p->mapped ? il : il_old_offset(p->runs, p->n_runs, il);
}

/* With the lock held: what can be unloaded is forgotten, as in descriptions.c. */
void probes_forget_module(uintptr_t module)
{
    if (!(probes_on || probes_marks))
        return;
    map_forget(&signatures, module);
    map_forget(&modules, module);
    inliners_forget_module(module);
    if (probes_number != 0)
        versions_forget_module(module);
    if (probes_sites) {
        callees_forget_module();
        effects_forget_module();
    }
    map_drop(&bodies, 1, 1);
    map_drop(&functions, 1, 1);
    map_drop(&places, 1, 1);
}

/* ── begin and end ──────────────────────────────────────────────────────────────────────────────────────────── */

void probes_choose(const struct time_options *o)
{
    const char *probes = o->probes, *mode = o->instrument;
    bool is_all = mode != NULL && strcmp(mode, "all") == 0;
    /* The optimizing JIT of .NET Core 3.1 loses the IL offsets of calls of which a probe takes the result from the stack. */
    bool is_mine = mode != NULL && strcmp(mode, "mine") == 0;
    bool can_have_sites = o->small == NULL; /* the size of what is only declared is not known */
    probes_on = probes != NULL && strcmp(probes, "il") == 0 && (is_mine || (!is_all && can_have_sites)) && arena.header->runtime_major >= 5 &&
                !changeable_modules();
    probes_sites = probes_on && !is_mine;
}

void probes_install(void **callbacks)
{
    callbacks[CALLBACK_MODULE_LOAD_FINISHED] = (void *)module_loaded;
    callbacks[CALLBACK_JIT_STARTED] = (void *)jit_started;
    callbacks[CALLBACK_CACHE_SEARCH_STARTED] = (void *)search_started;
}

/* With hooks, all precompiled code is refused in any case. */
uint32_t probes_choose_marks(void *profiler_info, void **callbacks)
{
    uint64_t all = instrument_choose_actions(profiler_info);
    uint32_t scopes = (uint32_t)(all >> WIRE_ACTION_SCOPE) & SCOPE_ALL;
    controls = all >> WIRE_ACTION_SCOPE != 0;
    probes_marks = (interactions_choose() || all != 0) && arena.header->runtime_major >= 5;
    if (!probes_marks) {
        if (controls)
            scopes_missing();
        return 0;
    }
    probes_install(callbacks);
    callbacks[CALLBACK_JIT_INLINING] = (void *)instrument_inlining;
    uint32_t low = MONITOR_JIT_COMPILATION | MONITOR_MODULE_LOADS | MONITOR_CACHE_SEARCHES;
    if (interactions_on)
        low |= ENABLE_STACK_SNAPSHOT;
    if ((interactions_on || cases_on) && scopes == 0)
        low |= scopes_watch_exceptions(callbacks);
    return low | (scopes != 0 ? scopes_begin(scopes, callbacks) : 0);
}

bool probes_init(void *profiler_info, bool has_rules, bool by_rules)
{
    info = profiler_info;
    chosen_by_rules = probes_on && by_rules;
    has_lists = probes_number != 0 || (has_rules && probes_on) || (probes_marks && (probes_on || (arena.header->data & WIRE_DATA_TIME) == 0));
    return (!interactions_on || interactions_init(info)) && (!probes_sites || (callees_init(info) && effects_init(info))) && inliners_init(info, probes_number != 0) && map_init(&signatures, 64, true) && map_init(&modules, 64, true) && map_init(&bodies, 1024, true) && map_init(&functions, 1024, true) && map_init(&places, 1024, true) && map_init(&partly, 64, true);
}

void probes_close(void)
{
    callees_close();
    effects_close();
    inliners_close();
    map_close(&signatures);
    map_close(&modules);
    map_close(&bodies);
    map_close(&functions);
    map_close(&places);
    map_close(&partly);
}
