/* Whose calls are recorded: the classes of functions, and what the JIT is told about them.
 *
 * A function is instrumented (every call of it is recorded), a boundary (framework code: a call of it is recorded when
 * an instrumented function makes it), or neither (it is not hooked, and its time is its caller's). What is inlined has
 * no calls, so inlining is refused wherever a call would be recorded. */
#define _GNU_SOURCE
#include "agent.h"

#ifdef CLRPROF_ORACLE
#include "../test/oracle.h"
#endif

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define MAX_RULES 64u
#define MAX_PATTERN 256u /* UTF-16 units of one pattern */
#define METHODS_AT_ONCE 1024u
#define IS_HOOKED (FUNCTION_IS_INSTRUMENTED | FUNCTION_IS_BOUNDARY | FUNCTION_IS_DISPATCHER)
#define MODULE_MINE 1u
#define MODULE_FRAMEWORK 2u

struct rule {
    bool include;
    uint32_t length;
    utf16 pattern[MAX_PATTERN]; /* lower case */
};

struct name {
    const utf16 *text;
    uint32_t length;
};

static void *info;
static uint32_t mode, n_rules;
static bool any_include;
static uint64_t small; /* IL bytes below which a method is left out */
static struct rule rules[MAX_RULES];
static struct map modules;          /* ModuleID → MODULE_… */
static struct map methods;          /* FunctionID → struct method, with bit 0 set if it can be unloaded */
static struct method *free_methods; /* the rest of a block */
static uint32_t n_free_methods;
static char framework[4096]; /* the directory of System.Private.CoreLib, … */
static size_t shared_root;   /* … its first so many bytes are …/shared/, if it is …/shared/NAME/VERSION/ */
static bool framework_known;

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

/* One UTF-8 character; what is none is taken byte by byte. */
static uint32_t decode(const char **text)
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

/* CLRPROF_RULES: lines "+pattern" and "-pattern". */
static void read_rules(const char *text)
{
    while (text != NULL && *text != 0 && n_rules < MAX_RULES) {
        struct rule *r = &rules[n_rules];
        r->include = *text == '+';
        r->length = 0;
        if (*text == '+' || *text == '-')
            text++;
        while (*text != 0 && *text != '\n') {
            uint32_t c = decode(&text);
            if (c > 0xFFFF && r->length + 2 < MAX_PATTERN) {
                r->pattern[r->length++] = (utf16)(0xD7C0 + (c >> 10));
                c = 0xDC00 + (c & 0x3FF);
            }
            if (r->length < MAX_PATTERN)
                r->pattern[r->length++] = lower((utf16)c);
        }
        any_include = any_include || (r->include && r->length != 0);
        n_rules += r->length != 0;
        text += *text == '\n';
    }
}

/* ── modules ────────────────────────────────────────────────────────────────────────────────────────────────── */

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static bool has_framework_name(const char *file)
{
    return begins(file, "System.") || begins(file, "Microsoft.") || begins(file, "mscorlib.") || begins(file, "netstandard.") ||
           begins(file, "WindowsBase.");
}

/* Of a directory …/shared/NAME/VERSION/ the bytes up to NAME; 0: it is none, as that of a self-contained program. */
static size_t find_shared_root(const char *directory, size_t bytes)
{
    static const char shared[] = "/shared/";
    uint32_t slashes = 0;
    while (bytes > 0 && slashes < 3)
        slashes += directory[--bytes] == '/'; /* now at that before NAME */
    bool found = slashes == 3 && bytes + 1 >= sizeof shared - 1 && memcmp(directory + bytes + 2 - sizeof shared, shared, sizeof shared - 1) == 0;
    return found ? bytes + 1 : 0;
}

static void know_framework(const char *path, size_t bytes)
{
    arena_lock();
    if (!framework_known) {
        memcpy(framework, path, bytes);
        shared_root = find_shared_root(framework, bytes);
        __atomic_store_n(&framework_known, true, __ATOMIC_RELEASE);
    }
    arena_unlock();
}

/* In the directory of System.Private.CoreLib, or in that of another shared framework of the same installation. The runtime
 * finds its core library beside libcoreclr.so with symbolic links resolved, other modules by the path that the host gave
 * (clrhost.cpp, hostpolicy's TRUSTED_PLATFORM_ASSEMBLIES): of an installation of links the two differ. */
static bool is_framework_path(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *file = slash == NULL ? path : slash + 1;
    bool known = __atomic_load_n(&framework_known, __ATOMIC_ACQUIRE);
    if (!known && slash != NULL && begins(file, "System.Private.CoreLib.")) {
        know_framework(path, (size_t)(file - path));
        known = true;
    }
    if (!known || shared_root == 0 || slash == NULL)
        return has_framework_name(file);
    char resolved[PATH_MAX];
    return strncmp(path, framework, shared_root) == 0 ||
           (realpath(path, resolved) != NULL && strncmp(resolved, framework, shared_root) == 0);
}

/* Also gives the module's path. */
static uint32_t module_class(uintptr_t module, utf16 *path, uint32_t *length)
{
    char text[sizeof framework];
    uint32_t flags = 0, n = 0;
    uintptr_t assembly = 0;
    const uint8_t *base = NULL;
    *length = 0;
    if (SLOT(info, INFO_GET_MODULE_INFO2, uintptr_t, const uint8_t **, uint32_t, uint32_t *, utf16 *, uintptr_t *, uint32_t *)(
            info, module, &base, WIRE_MAX_NAME, &n, path, &assembly, &flags) < 0 ||
        n == 0 || n > WIRE_MAX_NAME)
        return MODULE_MINE;
    *length = n - 1;
    for (uint32_t i = 0; i < *length; i++)
        text[i] = path[i] < 0x80 ? (char)path[i] : '?';
    text[*length] = 0;
    bool file = (flags & MODULE_FLAG_DISK) != 0 && (flags & MODULE_FLAG_DYNAMIC) == 0;
    return file && is_framework_path(text) ? MODULE_FRAMEWORK : MODULE_MINE;
}

static uint32_t known_module_class(uintptr_t module)
{
    utf16 path[WIRE_MAX_NAME];
    uint32_t class = (uint32_t)map_get(&modules, module), length;
    if (class != 0)
        return class;
    class = module_class(module, path, &length);
    arena_lock();
    map_put(&modules, module, class);
    arena_unlock();
    return class;
}

/* ── functions ──────────────────────────────────────────────────────────────────────────────────────────────── */

/* Can a rule include something whose name begins so? */
bool instrument_may_include(const utf16 *name, uint32_t length)
{
    for (uint32_t i = 0; i < n_rules; i++) {
        const struct rule *r = &rules[i];
        uint32_t k = 0;
        while (k < length && k < r->length && r->pattern[k] != '*' && r->pattern[k] == lower(name[k]))
            k++;
        if (r->include && (k == length || k == r->length || r->pattern[k] == '*'))
            return true;
    }
    return false;
}

/* -1: a rule excludes it, 1: one includes it, 0: none is about it. */
static int ask_rules(uintptr_t module, const uint8_t *names, const uint8_t *end)
{
    utf16 path[WIRE_MAX_NAME];
    struct full_name f;
    uint32_t length = 0, file = 0;
    module_class(module, path, &length);
    for (uint32_t i = 0; i < length; i++)
        if (path[i] == '/')
            file = i + 1;
    full_name_read(&f, names, end);
    uint32_t stem = length >= file + 4 && path[length - 4] == '.' ? length - 4 : length;
    struct name all[] = {{path + file, length - file}, {path + file, stem - file}, {f.text, f.namespace_end},
                         {f.text, f.outer_end}, {f.text, f.type_end}, {f.text, f.length}};
    int answer = 0;
    for (uint32_t r = 0; r < n_rules; r++)
        for (uint32_t i = 0; i < sizeof all / sizeof *all; i++)
            if (matches(&rules[r], all[i])) {
                if (!rules[r].include)
                    return -1;
                answer = 1;
            }
    return answer;
}

static bool is_small(uintptr_t module, uint32_t token)
{
    const uint8_t *header = NULL;
    uint32_t bytes = 0;
    return small != 0 &&
           SLOT(info, INFO_GET_IL_FUNCTION_BODY, uintptr_t, uint32_t, const uint8_t **, uint32_t *)(info, module, token, &header, &bytes) >= 0 &&
           probes_size(header, bytes) < small;
}

static uint64_t class_by(uint32_t module, int by_rules)
{
    uint64_t outside = mode == WIRE_INSTRUMENT_BOUNDARY ? FUNCTION_IS_BOUNDARY : 0;
    if (by_rules < 0)
        return 0;
    if (by_rules == 0 && any_include)
        return outside;
    if (by_rules > 0 || mode == WIRE_INSTRUMENT_ALL || module == MODULE_MINE)
        return FUNCTION_IS_INSTRUMENTED;
    return outside;
}

uint64_t instrument_class(uintptr_t module, uint32_t token, uint64_t own, const uint8_t *names, const uint8_t *end)
{
    if (mode != 0 && module == 0)
        loss(WIRE_LOSS_NOT_HOOKED, 0, 0); /* the runtime did not say what it is */
    if (mode == 0 || module == 0)
        return 0;
    if ((own & FUNCTION_IS_HELPER) != 0)
        return 0;
    if (mode != WIRE_INSTRUMENT_MINE && own == FUNCTION_IS_DISPATCHER)
        return own;
    if (is_small(module, token))
        return 0;
    uint64_t class = class_by(known_module_class(module), n_rules == 0 ? 0 : ask_rules(module, names, end));
    if (class == 0 || own != FUNCTION_IS_ASYNC)
        return class;
    /* Code of the lowest tier that calls a hook at its end loses what goes on later: it would wait instead (10.0.12). */
    loss(WIRE_LOSS_ASYNC_NOT_HOOKED, 0, 0);
    return 0;
}

/* Of one that may never run: without rules its module decides, and it need not be described. */
static uint64_t class_of(uintptr_t function_id)
{
    uintptr_t class_id, module = 0;
    uint32_t token;
    if (n_rules != 0) {
        uint64_t value = function_value(function_id);
        return value != 0 ? value : FUNCTION_IS_INSTRUMENTED; /* not known: a loss, as soon as it is compiled */
    }
    if (SLOT(info, INFO_GET_FUNCTION_INFO, uintptr_t, uintptr_t *, uintptr_t *, uint32_t *)(info, function_id, &class_id, &module, &token) < 0 ||
        module == 0 || is_small(module, token))
        return 0;
    return class_by(known_module_class(module), 0);
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
        *m = (struct method){(value & FUNCTION_IS_DISPATCHER) != 0 ? 0 : (uint32_t)value, (value & FUNCTION_IS_INSTRUMENTED) == 0};
        map_put(&methods, function_id, (uintptr_t)m | ((value & FUNCTION_IS_COLLECTIBLE) != 0 ? 1u : 0u));
    }
    arena_unlock();
    return m;
}

bool instrument_is_mine(uintptr_t module)
{
    return known_module_class(module) == MODULE_MINE;
}

/* Asked whenever the JIT is about to compile a function, each tier of it. */
static uintptr_t map_function(uintptr_t function_id, void *data, int32_t *hook)
{
    (void)data;
    int saved_errno = errno;
    uint64_t value = function_value(function_id);
    struct method *m = NULL;
    if ((value & IS_HOOKED) != 0)
        m = instrument_method(function_id, value);
    if (value == 0 || (m == NULL && (value & IS_HOOKED) != 0))
        loss(WIRE_LOSS_NOT_HOOKED, 0, 0);
    *hook = m != NULL;
    errno = saved_errno;
    return m != NULL ? (uintptr_t)m : function_id;
}

uint32_t method_function(uintptr_t function_id)
{
    const struct method *m = (const struct method *)(uintptr_t)(map_get(&methods, function_id) & ~UINT64_C(1));
    return m == NULL ? 0 : m->function;
}

hresult instrument_inlining(void *self, uintptr_t caller, uintptr_t callee, int32_t *should)
{
    (void)self;
    int saved_errno = errno;
    uint64_t inner = class_of(callee);
    if ((inner & FUNCTION_IS_INSTRUMENTED) != 0 ||
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
    uint64_t value = status < 0 ? 0 : function_value(function_id);
    if ((value & FUNCTION_IS_INSTRUMENTED) != 0 && probes_on)
        probes_compiled(function_id, value);
    if ((value & FUNCTION_IS_INSTRUMENTED) != 0 && !bodies_of_id(function_id))
        loss(WIRE_LOSS_ARENA_FULL, 0, 0);
    errno = saved_errno;
    return HR_OK;
}

void instrument_forget_module(uintptr_t module)
{
    if (mode == 0)
        return;
    map_forget(&modules, module);
    map_drop(&methods, 1, 1);
    probes_forget_module(module);
}

uint32_t instrument_init(void *profiler_info)
{
    info = profiler_info;
    const char *text = getenv("CLRPROF_INSTRUMENT");
    mode = text == NULL || strcmp(text, "all") != 0 ? WIRE_INSTRUMENT_BOUNDARY : WIRE_INSTRUMENT_ALL;
    if (text != NULL && strcmp(text, "mine") == 0)
        mode = WIRE_INSTRUMENT_MINE;
    arena.header->instrument = mode;
    text = getenv("CLRPROF_SMALL");
    small = text == NULL ? 0 : strtoull(text, NULL, 10);
    read_rules(getenv("CLRPROF_RULES"));
    void *hooks[] = {(void *)clrprof_enter, (void *)clrprof_leave, (void *)clrprof_tailcall};
#ifdef CLRPROF_ORACLE
    oracle_hooks(hooks);
#endif
    if (!map_init(&modules, 256, true) || !map_init(&methods, 4096, true))
        return WIRE_FAILURE_OUT_OF_MEMORY;
    if (probes_on)
        return probes_init(info, any_include) ? 0 : WIRE_FAILURE_OUT_OF_MEMORY;
    bool hooked = SLOT(info, INFO_SET_FUNCTION_ID_MAPPER2, void *, void *)(info, (void *)map_function, NULL) >= 0 &&
                  SLOT(info, INFO_SET_ENTER_LEAVE_HOOKS3, void *, void *, void *)(info, hooks[0], hooks[1], hooks[2]) >= 0;
    return hooked ? 0 : WIRE_FAILURE_HOOKS;
}

void instrument_close(void)
{
    map_close(&modules);
    map_close(&methods);
    probes_close();
}
