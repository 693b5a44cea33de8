/* Whose calls are recorded: the classes of functions, and what the JIT learns about them.
 *
 * A function is instrumented (every call of it is recorded), a boundary (framework code: a call of it is recorded when
 * an instrumented function makes it), or neither (it is not hooked, and its time is its caller's). What is inlined has
 * no calls, so inlining is refused wherever a call would be recorded. */
#include "core/arena.h"
#include "metadata/jit_helpers.h"
#include "filter/r2r_inliners.h"
#include "filter/instrumentation.h"
#include "filter/probing.h"
#include "core/hash_map.h"
#include "core/options.h"
#include "arch/entry.h"
#include "metadata/assembly_origin.h"
#include "metadata/descriptions.h"
#include "metadata/code_origin.h"
#include "os/own_time.h"

#ifdef CLRPROF_ORACLE
#include "../../test/oracle.h"
#endif

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_RULES 64u
#define MAX_ACTIONS 256u /* patterns of functions at which something is done */
#define MAX_SETS 256u    /* of these that functions have: what there is room for in FUNCTION_IS_MARKED */
#define MAX_PATTERN 256u /* UTF-16 units of one pattern */
#define METHODS_AT_ONCE 1024u
#define IS_HOOKED (FUNCTION_IS_INSTRUMENTED | FUNCTION_IS_BOUNDARY | FUNCTION_IS_DISPATCHER)

struct rule {
    bool include;
    uint32_t action; /* number of the bit, WIRE_ACTION_… */
    uint32_t length;
    utf16 pattern[MAX_PATTERN]; /* lower case */
};

struct name {
    const utf16 *text;
    uint32_t length;
};

static void *info;
static uint32_t mode, n_rules, n_mine;
static bool any_include, has_origins;
static uint64_t small; /* IL bytes below which a method is left out */
static struct rule rules[MAX_RULES], mine[MAX_RULES]; /* mine: of modules */
static struct rule actions[MAX_ACTIONS]; /* of functions that have probes of their own */
static uint32_t n_actions;
static uint64_t sets[MAX_SETS]; /* of actions, as some function has them; [0] is none */
static uint32_t n_sets = 1;
static struct map modules;          /* ModuleID → WIRE_ORIGIN_… */
static struct map methods;          /* FunctionID → struct method, with bit 0 set if it can be unloaded */
static struct method *free_methods; /* the rest of a block */
static uint32_t n_free_methods;

/* ── names and patterns ─────────────────────────────────────────────────────────────────────────────────────── */

static utf16 lower(utf16 c)
{
    return c >= 'A' && c <= 'Z' ? (utf16)(c + 'a' - 'A') : c;
}

static bool matches(const struct rule *r, struct name n)
{
    uint32_t p = 0, i = 0, star = UINT32_MAX, from = 0;
    while (i < n.length) {
        if (p < r->length && r->pattern[p] == '*') {
            star = p++;
            from = i;
        } else if (p < r->length && r->pattern[p] == lower(n.text[i])) {
            p++;
            i++;
        } else if (star != UINT32_MAX) {
            p = star + 1;
            i = ++from;
        } else {
            return false;
        }
    }
    while (p < r->length && r->pattern[p] == '*')
        p++;
    return p == r->length && n.length != 0;
}

uint32_t instrument_decode(const char **text)
{
    const uint8_t *s = (const uint8_t *)*text;
    uint32_t n = s[0] >= 0xF0 ? 3 : s[0] >= 0xE0 ? 2 : s[0] >= 0xC0 ? 1 : 0, c = n == 0 ? s[0] : s[0] & (0x3Fu >> n);
    for (uint32_t i = 1; i <= n; i++) {
        if ((s[i] & 0xC0) != 0x80) {
            *text += 1;
            return s[0];
        }
        c = c << 6 | (s[i] & 0x3Fu);
    }
    *text += n + 1;
    return c;
}

/* Lines "+pattern" or "-pattern", the value of a variable; of actions with their numbers before the sign. Returns how many there are. */
static uint32_t read_rules(struct rule *into, uint32_t room, const char *text)
{
    uint32_t n = 0;
    while (text != NULL && *text != 0 && n < room) {
        struct rule *r = &into[n];
        for (r->action = 0; *text >= '0' && *text <= '9'; text++)
            r->action = (10 * r->action + (uint32_t)(*text - '0')) % WIRE_ACTIONS;
        r->include = *text == '+';
        r->length = 0;
        if (*text == '+' || *text == '-')
            text++;
        while (*text != 0 && *text != '\n') {
            uint32_t c = instrument_decode(&text);
            if (c > 0xFFFF && r->length + 2 < MAX_PATTERN) {
                r->pattern[r->length++] = (utf16)(0xD7C0 + (c >> 10));
                c = 0xDC00 + (c & 0x3FF);
            }
            if (r->length < MAX_PATTERN)
                r->pattern[r->length++] = lower((utf16)c);
        }
        n += r->length != 0;
        text += *text == '\n';
    }
    return n;
}

/* ── modules ────────────────────────────────────────────────────────────────────────────────────────────────── */

struct module_names { /* what patterns are compared with */
    struct name file, stem;
};

static struct module_names names_of(const utf16 *path, uint32_t length)
{
    uint32_t file = 0;
    for (uint32_t i = 0; i < length; i++)
        if (path[i] == '/')
            file = i + 1;
    uint32_t stem = length >= file + 4 && path[length - 4] == '.' ? length - 4 : length;
    return (struct module_names){{path + file, length - file}, {path + file, stem - file}};
}

static bool is_mine_by_pattern(const utf16 *path, uint32_t length)
{
    struct module_names n = names_of(path, length);
    bool by_pattern = false;
    for (uint32_t i = 0; i < n_mine; i++)
        by_pattern = by_pattern || matches(&mine[i], n.file) || matches(&mine[i], n.stem);
    return by_pattern;
}

static uint32_t find_origin(uintptr_t module)
{
    utf16 path[WIRE_MAX_NAME];
    uint32_t length, flags;
    if (!module_path(info, module, path, &length, &flags))
        return WIRE_ORIGIN_BESIDE; /* nothing says that it is another's */
    bool file = (flags & MODULE_FLAG_DISK) != 0 && (flags & MODULE_FLAG_DYNAMIC) == 0;
    return module_origin(module, path, length, !file, is_mine_by_pattern(path, length));
}

static uint32_t known_origin(uintptr_t module)
{
    uint32_t origin = (uint32_t)map_get(&modules, module);
    if (origin != 0)
        return origin;
    origin = find_origin(module);
    arena_lock();
    map_put(&modules, module, origin); /* else it is looked for again */
    arena_unlock();
    return origin;
}

uint32_t instrument_origin(uintptr_t module)
{
    return mode == 0 ? WIRE_ORIGIN_UNKNOWN : known_origin(module);
}

bool instrument_is_mine(uintptr_t module)
{
    return has_origins && origin_is_user(known_origin(module));
}

bool instrument_includes_module(uintptr_t module)
{
    return mode != 0 && !any_include && (mode == WIRE_INSTRUMENT_ALL || instrument_is_mine(module));
}

bool instrument_is_mine_by_path(const utf16 *path, uint32_t length, bool *is_there)
{
    uint32_t origin = module_origin(0, path, length, false, is_mine_by_pattern(path, length));
    *is_there = origin != WIRE_ORIGIN_UNKNOWN;
    return origin_is_user(origin);
}

/* ── functions ──────────────────────────────────────────────────────────────────────────────────────────────── */

/* Can the pattern match something whose name begins so? */
static bool may_match(const struct rule *r, const utf16 *name, uint32_t length)
{
    uint32_t k = 0;
    while (k < length && k < r->length && r->pattern[k] != '*' && r->pattern[k] == lower(name[k]))
        k++;
    return k == length || k == r->length || r->pattern[k] == '*';
}

bool instrument_may_include(const utf16 *name, uint32_t length)
{
    for (uint32_t i = 0; i < n_rules; i++)
        if (rules[i].include && may_match(&rules[i], name, length))
            return true;
    return false;
}

bool instrument_may_mark(const utf16 *name, uint32_t length)
{
    for (uint32_t i = 0; i < n_actions; i++)
        if (may_match(&actions[i], name, length))
            return true;
    return false;
}

struct function_names { /* what patterns are compared with */
    struct full_name full;
    struct name all[6];
};

static void read_names(struct function_names *n, const utf16 *path, uint32_t length, const uint8_t *names, const uint8_t *end)
{
    struct full_name *f = &n->full;
    full_name_read(f, names, end);
    struct module_names of = names_of(path, length);
    struct name all[] = {of.file, of.stem, {f->text, f->namespace_end},
                         {f->text, f->outer_end}, {f->text, f->type_end}, {f->text, f->length}};
    memcpy(n->all, all, sizeof all);
}

static bool matches_any(const struct rule *r, const struct function_names *n)
{
    for (uint32_t i = 0; i < sizeof n->all / sizeof *n->all; i++)
        if (matches(r, n->all[i]))
            return true;
    return false;
}

bool instrument_may_want(const utf16 *name, uint32_t length)
{
    return operations_on() || instrument_may_include(name, length) || instrument_may_mark(name, length);
}

bool instrument_may_want_file(const utf16 *path, uint32_t length)
{
    struct name file = names_of(path, length).file;
    return instrument_may_want(file.text, file.length);
}

/* -1: a rule excludes it, 1: one includes it, 0: none is about it. */
static int ask_rules_of(const utf16 *path, uint32_t length, const uint8_t *names, const uint8_t *end)
{
    struct function_names n;
    int answer = 0;
    read_names(&n, path, length, names, end);
    for (uint32_t r = 0; r < n_rules; r++)
        if (matches_any(&rules[r], &n)) {
            if (!rules[r].include)
                return -1;
            answer = 1;
        }
    return answer;
}

/* What is done at a function. */
static uint64_t actions_of(const struct function_names *n)
{
    uint64_t answer = 0;
    for (uint32_t i = 0; i < n_actions; i++)
        if (matches_any(&actions[i], n))
            answer |= UINT64_C(1) << actions[i].action;
    return answer;
}

static bool may_be_interaction(const struct function_names *n)
{
    uint32_t method = n->full.type_end + 1; /* where its name begins */
    return operations_on() && n->full.length > method && probing_hooks.operation(n->full.text + method, n->full.length - method);
}

/* The bits of a function's value for what is done at it. 0: nothing, or there is no room to know it. */
static uint64_t ask_actions(uintptr_t module, const uint8_t *names, const uint8_t *end)
{
    utf16 path[WIRE_MAX_NAME];
    uint32_t length, flags, i = 0;
    struct function_names n;
    module_path(info, module, path, &length, &flags);
    read_names(&n, path, length, names, end);
    uint64_t of = actions_of(&n), interaction = may_be_interaction(&n) ? FUNCTION_IS_INTERACTION : 0;
    if (of == 0)
        return interaction;
    arena_lock();
    while (i < n_sets && sets[i] != of)
        i++;
    if (i == n_sets && n_sets < MAX_SETS)
        sets[n_sets++] = of;
    arena_unlock();
    if (i < MAX_SETS)
        return interaction | (uint64_t)i << FUNCTION_ACTIONS_SHIFT | (of >> WIRE_ACTION_SCOPE != 0 ? FUNCTION_CONTROLS : 0);
    probing_hooks.scope_missing();
    return interaction;
}

uint64_t instrument_actions(uint64_t value)
{
    return sets[(value & FUNCTION_IS_MARKED) >> FUNCTION_ACTIONS_SHIFT];
}

static int ask_rules(uintptr_t module, const uint8_t *names, const uint8_t *end)
{
    utf16 path[WIRE_MAX_NAME];
    uint32_t length, flags;
    module_path(info, module, path, &length, &flags);
    return ask_rules_of(path, length, names, end);
}

static bool is_small(uintptr_t module, uint32_t token)
{
    const uint8_t *header = NULL;
    uint32_t bytes = 0;
    return small != 0 &&
           SLOT(info, INFO_GET_IL_FUNCTION_BODY, uintptr_t, uint32_t, const uint8_t **, uint32_t *)(info, module, token, &header, &bytes) >= 0 &&
           probing_hooks.size(header, bytes) < small;
}

static bool is_outside(bool is_mine, int by_rules)
{
    return by_rules == 0 && (any_include || !is_mine);
}

static uint64_t class_by(bool is_mine, bool is_extern, int by_rules)
{
    uint64_t outside = mode != WIRE_INSTRUMENT_BOUNDARY ? 0 : !probes_on ? FUNCTION_IS_BOUNDARY : FUNCTION_IS_OUTSIDE; /* with probes: see declared_callees.c */
    if (by_rules < 0)
        return 0;
    if (is_extern && probes_on)
        return outside;
    return is_outside(is_mine || mode == WIRE_INSTRUMENT_ALL, by_rules) ? outside : FUNCTION_IS_INSTRUMENTED;
}

bool instrument_is_outside(const utf16 *path, uint32_t length, bool is_mine, bool is_extern, const uint8_t *names, const uint8_t *end)
{
    int by_rules = n_rules == 0 ? 0 : ask_rules_of(path, length, names, end);
    return is_extern ? by_rules >= 0 : is_outside(is_mine, by_rules);
}

bool instrument_wants(const utf16 *path, uint32_t length, bool is_mine, const uint8_t *names, const uint8_t *end)
{
    int by_rules = n_rules == 0 ? 0 : ask_rules_of(path, length, names, end);
    if (mode != 0 && class_by(is_mine, false, by_rules) == FUNCTION_IS_INSTRUMENTED)
        return true;
    struct function_names n;
    if (n_actions == 0 && !operations_on())
        return false;
    read_names(&n, path, length, names, end);
    return actions_of(&n) != 0 || may_be_interaction(&n);
}

bool instrument_wants_whole(uintptr_t module)
{
    return n_rules == 0 && instrument_includes_module(module);
}

static uint64_t recorded_class(uintptr_t module, uint32_t token, uint64_t own, const uint8_t *names, const uint8_t *end)
{
    if (mode != 0 && module == 0)
        loss(WIRE_LOSS_NOT_HOOKED, 0, 0); /* the runtime did not say what it is */
    if (mode == 0 || module == 0)
        return 0;
    if ((own & FUNCTION_IS_HELPER) != 0)
        return 0;
    if (mode != WIRE_INSTRUMENT_MINE && !probes_on && own == FUNCTION_IS_DISPATCHER)
        return own;
    if (is_small(module, token))
        return 0;
    uint64_t class = class_by(instrument_is_mine(module), own == FUNCTION_IS_EXTERN, n_rules == 0 ? 0 : ask_rules(module, names, end));
    if (own == FUNCTION_IS_DISPATCHER && class == FUNCTION_IS_OUTSIDE)
        return 0;
    if (class == 0 || class == FUNCTION_IS_OUTSIDE || own != FUNCTION_IS_ASYNC)
        return class;
    /* Code of the lowest tier that calls a hook at its end loses what goes on later: it would wait instead (10.0.12). */
    loss(WIRE_LOSS_ASYNC_NOT_HOOKED, 0, 0);
    return class == FUNCTION_IS_INSTRUMENTED ? FUNCTION_IS_UNPROBED : 0;
}

uint64_t instrument_class(uintptr_t module, uint32_t token, uint64_t own, const uint8_t *names, const uint8_t *end)
{
    uint64_t class = recorded_class(module, token, own, names, end);
    if ((n_actions == 0 && !operations_on()) || module == 0 || (own != 0 && own != FUNCTION_IS_ASYNC && own != FUNCTION_IS_EXTERN))
        return class;
    uint64_t of = ask_actions(module, names, end);
    if (cases_on && own == 0 && probing_hooks.test_case(module, token))
        of |= FUNCTION_IS_INTERACTION;
    if (own != FUNCTION_IS_ASYNC)
        return class | of;
    return (of & FUNCTION_CONTROLS) == 0 ? class : class | of | FUNCTION_IS_ASYNC; /* without probes */
}

/* Of one that may never run: without rules its module decides, and it need not be described. */
static uint64_t class_of(uintptr_t function_id)
{
    uintptr_t class_id, module = 0;
    uint32_t token;
    if (probing_hooks.leave_out(function_id))
        return 0;
    if (n_rules != 0) {
        uint64_t value = function_value(function_id);
        return value != 0 ? value : FUNCTION_IS_INSTRUMENTED; /* not known: a loss, as soon as it is compiled */
    }
    if (SLOT(info, INFO_GET_FUNCTION_INFO, uintptr_t, uintptr_t *, uintptr_t *, uint32_t *)(info, function_id, &class_id, &module, &token) < 0 ||
        module == 0 || is_small(module, token))
        return 0;
    return class_by(instrument_is_mine(module), false, 0);
}

/* ── what the runtime asks ──────────────────────────────────────────────────────────────────────────────────── */

struct method *instrument_method(uintptr_t function_id, uint64_t value)
{
    arena_lock();
    struct method *m = (struct method *)(uintptr_t)(map_get(&methods, function_id) & ~UINT64_C(1));
    if (m == NULL && n_free_methods == 0 && (free_methods = private_alloc(METHODS_AT_ONCE * sizeof *m)) != NULL)
        n_free_methods = METHODS_AT_ONCE;
    if (m == NULL && n_free_methods != 0 && map_has_room(&methods)) {
        m = free_methods++;
        n_free_methods--;
        uint32_t function = (value & FUNCTION_IS_DISPATCHER) != 0 ? 0 : (uint32_t)value;
        *m = (struct method){function, function, (value & FUNCTION_IS_INSTRUMENTED) == 0, (value & FUNCTION_IS_CORE) != 0};
        map_put(&methods, function_id, (uintptr_t)m | ((value & FUNCTION_IS_COLLECTIBLE) != 0 ? 1u : 0u));
    }
    arena_unlock();
    return m;
}

/* Asked whenever the JIT is about to compile a function, each tier of it. */
static uintptr_t map_function(uintptr_t function_id, void *data, int32_t *hook)
{
    (void)data;
    int saved_errno = errno;
    time_own_calls();
    uint64_t value = function_value(function_id);
    struct method *m = NULL;
    bool hooked = (value & IS_HOOKED) != 0 && !probing_hooks.records((uint32_t)value);
    if (hooked)
        m = instrument_method(function_id, value);
    if (value == 0 || (m == NULL && hooked))
        loss(WIRE_LOSS_NOT_HOOKED, 0, 0);
    *hook = m != NULL;
    time_leave_out_calls();
    errno = saved_errno;
    return m != NULL ? (uintptr_t)m : function_id;
}

uint64_t instrument_known(uintptr_t function_id)
{
    return map_get(&methods, function_id);
}

uint32_t method_function(uintptr_t function_id)
{
    const struct method *m = (const struct method *)(uintptr_t)(instrument_known(function_id) & ~UINT64_C(1));
    return m == NULL ? 0 : m->function;
}

hresult instrument_inlining(void *self, uintptr_t caller, uintptr_t callee, int32_t *should)
{
    (void)self;
    int saved_errno = errno;
    uint64_t inner = mode == 0 ? 0 : class_of(callee);
    if ((inner & FUNCTION_IS_INSTRUMENTED) != 0 || (probes_marks && probing_hooks.is_marked(callee)) ||
        ((inner & FUNCTION_IS_BOUNDARY) != 0 && (class_of(caller) & FUNCTION_IS_INSTRUMENTED) != 0))
        *should = 0;
    errno = saved_errno;
    return HR_OK;
}

/* Return addresses are looked up in the bodies of their functions, by the reader of the arena. */
hresult instrument_compiled(void *self, uintptr_t function_id, hresult status, int32_t safe_to_block)
{
    (void)self;
    (void)safe_to_block;
    int saved_errno = errno;
    uint64_t value = status < 0 || probing_hooks.leave_out(function_id) ? 0 : function_value(function_id);
    if ((value & FUNCTION_IS_INSTRUMENTED) != 0 && !bodies_of_id(function_id, 0))
        loss(WIRE_LOSS_ARENA_FULL, 0, 0);
    errno = saved_errno;
    return HR_OK;
}

void instrument_forget_module(uintptr_t module)
{
    if (has_origins)
        map_forget(&modules, module);
    if (mode != 0)
        map_drop(&methods, 1, 1);
    probing_hooks.forget_module(module);
}

uint64_t instrument_choose_actions(void *profiler_info)
{
    uint64_t all = 0;
    info = profiler_info;
    n_actions = read_rules(actions, MAX_ACTIONS, getenv("CLRPROF_ACTIONS"));
    for (uint32_t i = 0; i < n_actions; i++)
        all |= UINT64_C(1) << actions[i].action;
    return all;
}

bool instrument_init_origins(void *profiler_info, const char *mine_patterns, const char *mine_folder)
{
    info = profiler_info;
    n_mine = read_rules(mine, MAX_RULES, mine_patterns);
    has_origins = map_init(&modules, 256, true) && modules_init(info, mine_folder);
    return has_origins;
}

uint32_t instrument_init(void *profiler_info, const struct time_options *o)
{
    const char *text = o->instrument;
    mode = text == NULL || strcmp(text, "all") != 0 ? WIRE_INSTRUMENT_BOUNDARY : WIRE_INSTRUMENT_ALL;
    if (text != NULL && strcmp(text, "mine") == 0)
        mode = WIRE_INSTRUMENT_MINE;
    arena.header->instrument = mode | (probes_on ? WIRE_INSTRUMENT_IL : 0);
    small = o->small == NULL ? 0 : strtoull(o->small, NULL, 10);
    n_rules = read_rules(rules, MAX_RULES, o->rules);
    for (uint32_t i = 0; i < n_rules; i++)
        any_include = any_include || rules[i].include;
    void *hooks[] = {(void *)clrprof_enter, (void *)clrprof_leave, (void *)clrprof_tailcall};
    void *traced[] = {(void *)clrprof_traced_enter, (void *)clrprof_traced_leave, (void *)clrprof_traced_tailcall};
    if (trace_on)
        memcpy(hooks, traced, sizeof hooks);
#ifdef CLRPROF_ORACLE
    oracle_hooks(hooks);
#endif
    if (!instrument_init_origins(profiler_info, o->mine, o->mine_folder) || !map_init(&methods, 4096, true))
        return WIRE_FAILURE_OUT_OF_MEMORY;
    if ((probes_on || probes_marks) && !probing_hooks.init(info, n_rules != 0, any_include))
        return WIRE_FAILURE_OUT_OF_MEMORY;
    if (probes_on)
        return 0;
    bool hooked = SLOT(info, INFO_SET_FUNCTION_ID_MAPPER2, void *, void *)(info, (void *)map_function, NULL) >= 0 &&
                  SLOT(info, INFO_SET_ENTER_LEAVE_HOOKS3, void *, void *, void *)(info, hooks[0], hooks[1], hooks[2]) >= 0;
    return hooked ? 0 : WIRE_FAILURE_HOOKS;
}

void instrument_close(void)
{
    has_origins = false;
    map_close(&modules);
    map_close(&methods);
    modules_close();
    probing_hooks.close();
}
