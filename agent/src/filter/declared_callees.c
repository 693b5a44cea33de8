/* What the calls in a method's IL are of: functions as the calling code declares them.
 *
 * A call names its callee by a token of the caller's module. Which function of which module that is the runtime knows when it
 * compiles the call, and does not say; it may not even have loaded the module. So the declaration itself is described,
 * once for each token, and the collector finds the function in the module's file. Calls of functions that have probes of their own
 * are not described, nor those of which hooks report nothing either: methods of arrays, and what the JIT makes an instruction of.
 * A function without IL, of a native library or one that the runtime makes, cannot have probes: it is outside in any module.
 *
 * What runs may be another function than what is declared: that of a derived class, of an interface, of a delegate. If it is an
 * instrumented one its own probes report, as a call by the declared one. */
#include "core/arena.h"
#include "filter/declared_callees.h"
#include "metadata/jit_helpers.h"
#include "il/il.h"
#include "filter/instrumentation.h"
#include "core/hash_map.h"
#include "metadata/descriptions.h"
#include "core/log_record.h"
#include "core/metadata_signature.h"
#include "arch/entry.h"

#include <string.h>

#define CALLI 0x29u
#define CONSTRAINED 0x80000000u /* beside a token */
#define NOT_RECORDED 2u /* in the place of a method */
#define MAX_CALLEES_AT_ONCE 512u

struct member { /* a function as a module's metadata have it */
    uint32_t parent, length; /* length: of its name, in the scratch memory */
    const uint8_t *signature;
    uint32_t signature_bytes;
    bool is_extern;
};

static void *info;
static struct map callees;    /* module number << 32 | CONSTRAINED | token → struct method or NOT_RECORDED, with bit 0 set if the module can be unloaded */
static struct map assemblies; /* hash of a simple name → ModuleID, with bit 0 set if it can be unloaded */
static struct map declared;   /* hash of what distinguishes a function from others → the number of the first one that was described */
static struct map firsts;     /* number of a later one → that of the first */
static struct method *free_callees;
static uint32_t n_free;

/* ── assemblies by name ─────────────────────────────────────────────────────────────────────────────────────── */

static uint64_t name_key(const utf16 *name, uint32_t length)
{
    uint64_t key = KEY_START;
    for (uint32_t i = 0; i < length; i++) {
        uint32_t c = name[i] >= 'A' && name[i] <= 'Z' ? name[i] + 32u : name[i];
        key = key_add(key, c);
    }
    return key_made(key);
}

static uint32_t folder_of(const utf16 *path, uint32_t length)
{
    while (length > 0 && path[length - 1] != '/')
        length--;
    return length;
}

void callees_module_loaded(uintptr_t module)
{
    utf16 path[WIRE_MAX_NAME];
    uint32_t length, flags;
    if (!module_path(info, module, path, &length, &flags) || length < 4 || path[length - 4] != '.')
        return;
    uint32_t from = folder_of(path, length);
    if (from + 4 > length)
        return;
    names_module(module);
    arena_lock();
    map_put(&assemblies, name_key(path + from, length - 4 - from), module | ((flags & MODULE_FLAG_COLLECTIBLE) != 0)); /* else its file is asked */
    arena_unlock();
}

static bool begins(const utf16 *name, uint32_t length, const utf16 *with)
{
    uint32_t n = 0;
    while (n < length && with[n] != 0 && name[n] == with[n])
        n++;
    return with[n] == 0;
}

/* Assemblies between which the types of the framework were moved: one that was compiled for .NET Standard calls others than one for .NET 10. */
static bool is_framework(const utf16 *assembly, uint32_t length)
{
    return begins(assembly, length, u"System.") || (length == 6 && begins(assembly, length, u"System")) ||
           (length == 11 && begins(assembly, length, u"netstandard")) || (length == 8 && begins(assembly, length, u"mscorlib"));
}

/* Would an assembly that is not loaded be the program's own? One that lies beside the module that names it, or in the same single file, may be.
 * One that does neither is the framework's, by its name, or the program will load it itself, from memory or from somewhere else, and such are its
 * own. */
static bool is_own_file(const struct callees *c, const utf16 *name, uint32_t length)
{
    utf16 path[WIRE_MAX_NAME];
    uint32_t bytes, flags;
    if (!module_path(info, c->module, path, &bytes, &flags) || (bytes = folder_of(path, bytes)) + length + 4 > WIRE_MAX_NAME)
        return false;
    memcpy(path + bytes, name, length * sizeof *name);
    memcpy(path + bytes + length, u".dll", 4 * sizeof *name);
    bool is_there, is_mine = instrument_is_mine_by_path(path, bytes + length + 4, &is_there);
    return is_there ? is_mine : !is_framework(name, length) && !begins(name, length, u"Microsoft.");
}

static bool is_outside(const struct callees *c, const utf16 *assembly, uint32_t length, bool is_extern, const uint8_t *names, const uint8_t *end)
{
    utf16 path[WIRE_MAX_NAME];
    uint32_t bytes, flags;
    uintptr_t module = assembly == NULL ? c->module : (uintptr_t)map_get(&assemblies, name_key(assembly, length)) & ~UINT64_C(1);
    if (module != 0 || assembly == NULL) {
        bool is_mine = instrument_is_mine(module);
        if (!module_path(info, module, path, &bytes, &flags))
            bytes = 0;
        return instrument_is_outside(path, bytes, is_mine, is_extern, names, end);
    }
    if (length + 4 > WIRE_MAX_NAME)
        return true;
    bool is_mine = is_own_file(c, assembly, length);
    memcpy(path, assembly, length * sizeof *assembly);
    memcpy(path + length, u".dll", 4 * sizeof *assembly);
    return instrument_is_outside(path, length + 4, is_mine, is_extern, names, end);
}

/* ── metadata ───────────────────────────────────────────────────────────────────────────────────────────────── */

/* The generic type of which a TypeSpec is an instance; 0: it is something else, such as an array. */
static uint32_t generic_type(const struct callees *c, uint32_t spec)
{
    const uint8_t *b = NULL;
    uint32_t n = 0, token = 0;
    if (SLOT(c->import, IMPORT_GET_TYPE_SPEC, uint32_t, const uint8_t **, uint32_t *)(c->import, spec, &b, &n) < 0 || n < 3 ||
        b[0] != ELEMENT_GENERIC_INST || (b[1] != ELEMENT_CLASS && b[1] != ELEMENT_VALUE_TYPE))
        return 0;
    const uint8_t *at = b + 2;
    return signature_token(&at, b + n, &token) && (token & TOKEN_TABLE) != TOKEN_TYPE_SPEC ? token : 0;
}

/* Where a function is declared, and how it is called. False: it is none that is described. */
static bool find_member(const struct callees *c, uint32_t token, struct member *m)
{
    utf16 *name = (utf16 *)(void *)c->scratch;
    uint32_t attributes = 0, rva = UINT32_MAX, implementation = 0;
    hresult hr = HR_FAIL;
    *m = (struct member){0};
    if ((token & TOKEN_TABLE) == TOKEN_METHOD_DEF)
        hr = SLOT(c->import, IMPORT_GET_METHOD_PROPS, uint32_t, uint32_t *, utf16 *, uint32_t, uint32_t *, uint32_t *, const uint8_t **, uint32_t *,
                  uint32_t *, uint32_t *)(c->import, token, &m->parent, name, WIRE_MAX_NAME, &m->length, &attributes, &m->signature, &m->signature_bytes,
                                          &rva, &implementation);
    else if ((token & TOKEN_TABLE) == TOKEN_MEMBER_REF)
        hr = SLOT(c->import, IMPORT_GET_MEMBER_REF_PROPS, uint32_t, uint32_t *, utf16 *, uint32_t, uint32_t *, const uint8_t **, uint32_t *)(
            c->import, token, &m->parent, name, WIRE_MAX_NAME, &m->length, &m->signature, &m->signature_bytes);
    if (hr < 0 || m->length == 0 || m->length > WIRE_MAX_NAME) {
        loss(WIRE_LOSS_NOT_PROBED, 0, 0); /* its calls are not reported */
        return false;
    }
    m->is_extern = method_is_extern(info, c->module, token, attributes, rva, implementation);
    if ((m->parent & TOKEN_TABLE) == TOKEN_TYPE_SPEC)
        m->parent = generic_type(c, m->parent);
    return (m->parent & TOKEN_TABLE) == TOKEN_TYPE_DEF || (m->parent & TOKEN_TABLE) == TOKEN_TYPE_REF;
}

/* A type of another assembly and those around it, from inside out; returns the assembly's token, that of the module itself, or another. */
static uint32_t follow_refs(const struct callees *c, uint32_t type, uint32_t *chain, uint32_t *n)
{
    while ((type & TOKEN_TABLE) == TOKEN_TYPE_REF && *n < WIRE_MAX_NESTING) {
        uint32_t scope = 0, length = 0;
        if (SLOT(c->import, IMPORT_GET_TYPE_REF_PROPS, uint32_t, uint32_t *, utf16 *, uint32_t, uint32_t *)(c->import, type, &scope, NULL, 0, &length) < 0)
            return TOKEN_TABLE;
        chain[(*n)++] = type;
        type = scope;
    }
    return type;
}

/* The name of a type of another assembly, of at most WIRE_MAX_NAME; returns the length, which can be more, and 0 if there is none. */
static uint32_t ref_name(const struct callees *c, uint32_t type, utf16 *name)
{
    uint32_t scope, length = 0;
    hresult hr = SLOT(c->import, IMPORT_GET_TYPE_REF_PROPS, uint32_t, uint32_t *, utf16 *, uint32_t, uint32_t *)(
        c->import, type, &scope, name, WIRE_MAX_NAME, &length);
    return hr < 0 ? 0 : length;
}

static void put_ref_names(const struct callees *c, struct record *r, const uint32_t *chain, uint32_t n, utf16 *name)
{
    put_u32(r, n);
    while (n > 0)
        put_name(r, name, ref_name(c, chain[--n], name));
}

static bool assembly_name(const struct callees *c, uint32_t token, utf16 *name, uint32_t *length)
{
    uint64_t version[16]; /* ASSEMBLYMETADATA: what is wanted of it is nothing */
    memset(version, 0, sizeof version);
    *length = 0;
    return c->assemblies != NULL &&
           SLOT(c->assemblies, ASSEMBLIES_GET_REF_PROPS, uint32_t, const void **, uint32_t *, utf16 *, uint32_t, uint32_t *, void *, const void **, uint32_t *,
                uint32_t *)(c->assemblies, token, NULL, NULL, name, WIRE_MAX_NAME, length, version, NULL, NULL, NULL) >= 0 &&
           *length > 1 && *length <= WIRE_MAX_NAME;
}

/* Does the JIT make an instruction of it, or nothing? Then no hook would see a call either. A pair of probes would cost many times what
 * these take. */
static bool is_instruction(const uint8_t *names, const uint8_t *end)
{
    static const char *const all[] = {"System.Object..ctor", "System.String.get_Length", "System.String.get_Chars", "System.Span`1.get_Item",
                                      "System.Span`1.get_Length", "System.ReadOnlySpan`1.get_Item", "System.ReadOnlySpan`1.get_Length"};
    struct full_name f;
    full_name_read(&f, names, end);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        uint32_t n = 0;
        while (n < f.length && all[i][n] != 0 && f.text[n] == (utf16)all[i][n])
            n++;
        if (n == f.length && all[i][n] == 0)
            return true;
    }
    return false;
}

/* ── declarations of the same function ──────────────────────────────────────────────────────────────────────── */

/* The session has one function where several modules declare it, or one does for several instances. Here each has a number of its own, but
 * that of the first stands for all in what has to know whether a function is on the stack already: path_folding.c. */

struct identity {
    const struct callees *c;
    uint64_t key;
};

static void add_bytes(void *context, const uint8_t *bytes, size_t n)
{
    struct identity *i = context;
    for (size_t at = 0; at < n; at++)
        i->key = key_add(i->key, bytes[at]);
}

static void add_number(struct identity *i, uint32_t n)
{
    add_bytes(i, (const uint8_t *)&n, sizeof n);
}

/* A type in a signature by its name, as other modules have other tokens. A method of another module knows none of this one's own types. */
static void add_type(void *context, uint32_t token)
{
    struct identity *i = context;
    utf16 name[WIRE_MAX_NAME];
    uint32_t chain[WIRE_MAX_NESTING], n = 0;
    follow_refs(i->c, token, chain, &n);
    if (n == 0) {
        add_number(i, i->c->module_number);
        add_number(i, token);
    }
    while (n > 0) {
        uint32_t length = ref_name(i->c, chain[--n], name);
        add_number(i, length);
        add_bytes(i, (const uint8_t *)name, (length < WIRE_MAX_NAME ? length : WIRE_MAX_NAME) * sizeof *name);
    }
}

/* names: of the type and the function, as they are described; assembly NULL: it is one of the module's own. */
static uint64_t identity_of(const struct callees *c, const utf16 *assembly, uint32_t length, const uint8_t *names, const uint8_t *end, const struct member *m)
{
    struct identity i = {c, KEY_START};
    struct signature_parts parts = {add_bytes, add_type, &i};
    if (assembly == NULL)
        add_number(&i, c->module_number);
    else if (!is_framework(assembly, length))
        add_bytes(&i, (const uint8_t *)assembly, length * sizeof *assembly);
    add_bytes(&i, names, (size_t)(end - names));
    if (!signature_walk(m->signature, m->signature_bytes, &parts)) {
        add_number(&i, c->module_number);
        add_bytes(&i, m->signature, m->signature_bytes);
    }
    return key_made(i.key);
}

/* The number that stands for all that are the same; 0: no memory. */
static uint32_t number_first(uint64_t identity, uint32_t function)
{
    arena_lock();
    uint32_t first = (uint32_t)map_get(&declared, identity);
    if (first == 0)
        first = map_put(&declared, identity, function) ? function : 0;
    else if (!map_put(&firsts, function, first))
        first = 0;
    arena_unlock();
    return first;
}

uint32_t callees_first(uint32_t function)
{
    uint32_t first = firsts.table == NULL ? 0 : (uint32_t)map_get(&firsts, function);
    return first == 0 ? function : first;
}

/* ── descriptions ───────────────────────────────────────────────────────────────────────────────────────────── */

static struct method *new_method(uint32_t function, uint32_t first)
{
    arena_lock();
    if (n_free == 0 && (free_callees = private_alloc(MAX_CALLEES_AT_ONCE * sizeof *free_callees)) != NULL)
        n_free = MAX_CALLEES_AT_ONCE;
    struct method *m = n_free == 0 ? NULL : free_callees++;
    if (m != NULL) {
        n_free--;
        *m = (struct method){.function = function, .first = first, .boundary = true};
    }
    arena_unlock();
    return m;
}

/* The method of a callee, or NOT_RECORDED. */
static uint64_t describe(const struct callees *c, uint32_t token, bool constrained)
{
    utf16 *name = (utf16 *)(void *)c->scratch, *assembly = name + WIRE_MAX_NAME, *part = assembly + WIRE_MAX_NAME;
    struct member m;
    struct record r;
    uint32_t chain[WIRE_MAX_NESTING], n = 0, length = 0;
    if ((token & TOKEN_TABLE) == TOKEN_METHOD_SPEC) {
        uint32_t method = 0;
        if (SLOT(c->import, IMPORT_GET_METHOD_SPEC_PROPS, uint32_t, uint32_t *, const uint8_t **, uint32_t *)(c->import, token, &method, NULL, NULL) < 0)
            return NOT_RECORDED;
        token = method;
    }
    if (!find_member(c, token, &m))
        return NOT_RECORDED;
    bool is_ref = (m.parent & TOKEN_TABLE) == TOKEN_TYPE_REF;
    uint32_t scope = is_ref ? follow_refs(c, m.parent, chain, &n) : TOKEN_MODULE;
    bool is_other = (scope & TOKEN_TABLE) == TOKEN_ASSEMBLY_REF;
    if ((!is_other && (scope & TOKEN_TABLE) != TOKEN_MODULE) || (is_other && !assembly_name(c, scope, assembly, &length)))
        return NOT_RECORDED;
    record_begin(&r, c->scratch + 3 * WIRE_MAX_NAME * sizeof *name, CALLEES_SCRATCH - 3 * WIRE_MAX_NAME * sizeof *name);
    put_u32(&r, 0);
    put_u32(&r, c->module_number);
    put_u32(&r, token);
    put_u32(&r, constrained);
    put_name(&r, assembly, length);
    const uint8_t *names = r.p;
    if (is_ref)
        put_ref_names(c, &r, chain, n, part);
    else
        put_type_names(&r, c->import, m.parent, part);
    put_name(&r, name, m.length);
    if (r.full)
        loss(WIRE_LOSS_NOT_PROBED, 0, 0);
    if (r.full || !is_outside(c, is_other ? assembly : NULL, length == 0 ? 0 : length - 1, m.is_extern, names, r.p) ||
        (is_other && is_instruction(names, r.p)))
        return NOT_RECORDED;
    uint64_t identity = identity_of(c, is_other ? assembly : NULL, length == 0 ? 0 : length - 1, names, r.p, &m);
    put_u32(&r, m.signature_bytes);
    put(&r, m.signature, m.signature_bytes);
    uint32_t function = names_add_callee(&r), first = function == 0 ? 0 : number_first(identity, function);
    const struct method *method = first == 0 ? NULL : new_method(function, first);
    if (method == NULL)
        loss(WIRE_LOSS_NOT_HOOKED, 0, 0);
    return method == NULL ? NOT_RECORDED : (uintptr_t)method;
}

uint64_t callees_site(void *context, uint32_t offset, uint8_t opcode, uint32_t token)
{
    const struct callees *c = context;
    (void)offset;
    if (opcode == CALLI)
        return 0;
    bool constrained = opcode == IL_CONSTRAINED && (arena.header->data & WIRE_DATA_MEMORY) != 0; /* the caller may allocate within it */
    uint64_t key = (uint64_t)c->module_number << 32 | (constrained ? CONSTRAINED : 0) | token, value = map_get(&callees, key);
    if (value == 0) {
        value = describe(c, token, constrained) | c->collectible;
        arena_lock();
        map_put(&callees, key, value); /* else it is described again, under another number */
        arena_unlock();
    }
    value &= ~UINT64_C(1);
    return value == NOT_RECORDED ? 0 : value;
}

/* ── begin and end ──────────────────────────────────────────────────────────────────────────────────────────── */

bool callees_begin(struct callees *c, uintptr_t module, uint8_t *scratch)
{
    c->module = module;
    c->scratch = scratch;
    c->module_number = names_module(module);
    if (c->module_number == 0 ||
        SLOT(info, INFO_GET_MODULE_META_DATA, uintptr_t, uint32_t, const struct guid *, void **)(info, module, 0, &IID_METADATA_IMPORT2, &c->import) != HR_OK ||
        c->import == NULL) {
        c->import = NULL;
        loss(WIRE_LOSS_NOT_HOOKED, 0, 0);
        return false;
    }
    if (com_query(c->import, &IID_METADATA_ASSEMBLIES, &c->assemblies) != HR_OK)
        c->assemblies = NULL;
    return true;
}

void callees_end(struct callees *c)
{
    if (c->assemblies != NULL)
        com_release(c->assemblies);
    if (c->import != NULL)
        com_release(c->import);
}

bool callees_init(void *profiler_info)
{
    info = profiler_info;
    return map_init(&callees, 1024, true) && map_init(&assemblies, 256, true) && map_init(&declared, 1024, true) && map_init(&firsts, 256, true);
}

void callees_forget_module(void)
{
    map_drop(&callees, 1, 1);
    map_drop(&assemblies, 1, 1);
}

void callees_close(void)
{
    map_close(&callees);
    map_close(&assemblies);
    map_close(&declared);
    map_close(&firsts);
}
