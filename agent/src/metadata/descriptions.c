/* Who modules, types, functions, bodies and instructions are.
 *
 * Each is described once, when it is first met, on the thread that met it and before that thread goes on: a process
 * that is killed leaves no number without a name, and nothing is asked of the runtime about code that may be gone.
 * The description is raw (tokens and names as in metadata); the collector makes readable names of it.
 *
 * Every function here asks the runtime first, without the lock, into scratch memory, and then takes the lock to
 * insert. Two threads may describe the same thing; the second finds the first one's id and drops its own. */
#define _GNU_SOURCE
#include "arch/arch.h"
#include "core/arena.h"
#include "metadata/box_reporting.h"
#include "metadata/runtime_cfi.h"
#include "metadata/jit_helpers.h"
#include "core/hash_map.h"
#include "metadata/descriptions.h"
#include "core/log_record.h"
#include "core/recording.h"

#include <string.h>

#define MAX_BODIES 256u /* native bodies of one function: tiers, OSR variants per loop */
#define MAX_RANGES 8u   /* hot and cold parts of one body */
#define MAX_PENDING 256u
#define MAX_NATIVE 65536u /* addresses outside of managed code that are remembered: native code without frame pointers
                             can show any number of values that are no addresses at all */

/* Values of the maps: the id, whether the code or type can be unloaded, and whether a function can be freed alone. */
#define COLLECTIBLE FUNCTION_IS_COLLECTIBLE
#define DYNAMIC (UINT64_C(1) << 33)
#define CORE_LIBRARY FUNCTION_IS_CORE /* of a module */
#define ID(value) ((uint32_t)(value))
#define FUNCTION_FLAGS 16u /* where they are in a record */

static void *info; /* ICorProfilerInfo9 or later */
#define SCRATCH_BYTES (192u * 1024u) /* a body with MAX_IL_MAP points, and names */

static struct map modules, imports, types, functions, bodies, ips;
static struct map dynamic; /* function << 32 | n → its n-th address in ips or bodies; n = 0 → how many */
static uint32_t last_module, last_type, last_function, last_body, native_ips[2], n_native;
struct scratch { /* one for each thread that describes something at the same time */
    union {
        struct scratch *next; /* of those that are free */
        uint8_t bytes[SCRATCH_BYTES];
    };
};
static struct scratch *free_scratch;
static struct {
    uintptr_t class_id;
    uint32_t type;
} pending[MAX_PENDING]; /* types the runtime could not name yet */
static uint32_t n_pending;
static uintptr_t signal_return; /* code to which the kernel returns from a signal handler */

void names_find_signal_return(void)
{
    signal_return = machine_signal_return();
}

bool names_init(void *profiler_info)
{
    info = profiler_info;
    cfi_find_runtime((uintptr_t)(**(void *const *const *)info));
    /* Ids of the ips table below IP_FIRST are reserved, so is node 0: begin with that many empty entries. */
    arena_lock();
    bool reserved = arena_reserve(WIRE_REGION_IPS, WIRE_IP_FIRST * sizeof(struct wire_ip)) != NULL &&
                    arena_reserve(WIRE_REGION_NODES, sizeof(struct wire_node)) != NULL;
    if (reserved) {
        arena_publish(WIRE_REGION_IPS, WIRE_IP_FIRST * sizeof(struct wire_ip));
        arena_publish(WIRE_REGION_NODES, sizeof(struct wire_node));
    }
    arena_unlock();
    return reserved && map_init(&modules, 256, true) && map_init(&imports, 256, true) && map_init(&types, 4096, true) &&
           map_init(&functions, 4096, true) && map_init(&bodies, 4096, true) && map_init(&ips, 16384, true) &&
           map_init(&dynamic, 256, true);
}

void names_let_go(void)
{
    uint64_t import;
    for (uint64_t at = 0; (import = map_next(&imports, &at)) != 0;)
        com_release((void *)(uintptr_t)import);
}

void names_close(void)
{
    struct map *all[] = {&modules, &imports, &types, &functions, &bodies, &ips, &dynamic};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        map_close(all[i]);
}

static struct scratch *take_scratch(void)
{
    arena_lock();
    struct scratch *s = free_scratch;
    if (s != NULL)
        free_scratch = s->next;
    arena_unlock();
    return s != NULL ? s : private_alloc(sizeof *s);
}

static void give_scratch(struct scratch *s)
{
    arena_lock();
    s->next = free_scratch;
    free_scratch = s;
    arena_unlock();
}

/* ── records in the making ──────────────────────────────────────────────────────────────────────────────────── */

/* The rest of the scratch memory behind a name. */
static void record_begin_behind_name(struct record *r, uint8_t *scratch)
{
    record_begin(r, scratch + 2 * WIRE_MAX_NAME, SCRATCH_BYTES - 2 * WIRE_MAX_NAME);
}

/* With the lock held: appends the record to the log. */
static bool put_in_log(struct record *r, uint32_t kind)
{
    uint64_t size = ((uint64_t)(r->p - r->start) + 7) & ~UINT64_C(7);
    struct wire_record_header head = {(uint32_t)size, kind};
    uint8_t *out = r->full ? NULL : arena_reserve(WIRE_REGION_LOG, size);
    if (out == NULL)
        return false;
    memcpy(r->start, &head, sizeof head);
    memcpy(out, r->start, (size_t)(r->p - r->start));
    arena_publish(WIRE_REGION_LOG, size);
    return true;
}

/* Gives the described thing an id and makes it known under its key; the id of somebody who was faster if there is
 * one. The record's first field is the id. Returns the map's value, 0 without room. */
static uint64_t insert(struct map *map, uint64_t key, struct record *r, uint32_t kind, uint32_t *last, uint64_t flags)
{
    arena_lock();
    uint64_t value = map_get(map, key);
    if (value == 0) {
        uint32_t id = *last + 1;
        memcpy(r->start + sizeof(struct wire_record_header), &id, sizeof id);
        if (map_has_room(map) && put_in_log(r, kind)) {
            *last = id;
            value = id | flags;
            map_put(map, key, value);
        }
    }
    arena_unlock();
    return value;
}

static bool is_core_library(const utf16 *name, uint32_t length)
{
    static const char core[] = WIRE_CORE_LIBRARY;
    for (uint32_t i = 0; i < sizeof core && i < length; i++)
        if (name[i] != (utf16)core[i])
            return false;
    return length == sizeof core;
}

/* ── modules ────────────────────────────────────────────────────────────────────────────────────────────────── */

void *names_metadata(uintptr_t module)
{
    void *import = (void *)(uintptr_t)map_get(&imports, module);
    if (import != NULL)
        return import;
    if (SLOT(info, INFO_GET_MODULE_META_DATA, uintptr_t, uint32_t, const struct guid *, void **)(
            info, module, 0, &IID_METADATA_IMPORT, &import) != HR_OK ||
        import == NULL)
        return NULL;
    arena_lock();
    void *known = (void *)(uintptr_t)map_get(&imports, module);
    if (known == NULL)
        map_put(&imports, module, (uintptr_t)import);
    arena_unlock();
    if (known == NULL)
        return import; /* if it was not kept it is asked for again next time; the reference is the price of a full table */
    com_release(import); /* another thread was faster */
    return known;
}

static uint64_t module_of(uintptr_t module, uint8_t *scratch)
{
    uint64_t value = map_get(&modules, module);
    if (value != 0 || module == 0)
        return value;
    utf16 *name = (utf16 *)(void *)scratch;
    struct record r;
    record_begin(&r, scratch + 2 * WIRE_MAX_NAME, 8 * WIRE_MAX_NAME);
    uint32_t length = 0, flags = 0;
    uintptr_t assembly = 0;
    const uint8_t *base = NULL;
    hresult hr = SLOT(info, INFO_GET_MODULE_INFO2, uintptr_t, const uint8_t **, uint32_t, uint32_t *, utf16 *,
                      uintptr_t *, uint32_t *)(info, module, &base, WIRE_MAX_NAME, &length, name, &assembly, &flags);
    if (hr < 0) {
        length = 0;
        flags = MODULE_FLAG_COLLECTIBLE; /* it may be */
    }
    bool file = (flags & MODULE_FLAG_DISK) != 0 && (flags & MODULE_FLAG_DYNAMIC) == 0;
    put_u32(&r, 0);
    put_u32(&r, (file ? 0 : WIRE_MODULE_DYNAMIC) | description_hooks.origin(module) << WIRE_MODULE_ORIGIN_SHIFT);
    uint8_t *mvid = r.p;
    put(&r, (const uint8_t[16]){0}, 16);
    put_name(&r, name, file ? length : 0);
    void *import = names_metadata(module);
    length = 0;
    struct guid id = {0};
    if (import != NULL && SLOT(import, IMPORT_GET_SCOPE_PROPS, utf16 *, uint32_t, uint32_t *, struct guid *)(
                              import, name, WIRE_MAX_NAME, &length, &id) >= 0) {
        memcpy(mvid, &id, sizeof id);
        module_name_emitted(info, module, name, &length, WIRE_MAX_NAME);
    } else {
        length = 0;
    }
    put_name(&r, name, length);
    uint64_t what = (flags & MODULE_FLAG_COLLECTIBLE) != 0 ? COLLECTIBLE : file && is_core_library(name, length) ? CORE_LIBRARY : 0;
    return insert(&modules, module, &r, WIRE_RECORD_MODULE, &last_module, what);
}

/* ── types ──────────────────────────────────────────────────────────────────────────────────────────────────── */

/* Names of a type and of those around it, outermost first: in metadata the chain is inner to outer. */
void put_type_names(struct record *r, void *import, uint32_t token, utf16 *name)
{
    uint32_t chain[WIRE_MAX_NESTING], n = 0;
    while (import != NULL && token != 0 && n < WIRE_MAX_NESTING) {
        chain[n++] = token;
        if (SLOT(import, IMPORT_GET_NESTED_CLASS_PROPS, uint32_t, uint32_t *)(import, token, &token) != HR_OK)
            break;
    }
    put_u32(r, n);
    while (n > 0) {
        uint32_t length = 0, flags, base;
        if (SLOT(import, IMPORT_GET_TYPE_DEF_PROPS, uint32_t, utf16 *, uint32_t, uint32_t *, uint32_t *, uint32_t *)(
                import, chain[--n], name, WIRE_MAX_NAME, &length, &flags, &base) < 0)
            length = 0;
        put_name(r, name, length);
    }
}

struct type_facts {
    uintptr_t module;
    uint32_t token, kind, rank, bounds, element_code, n_arguments;
    uintptr_t element;
    uintptr_t arguments[WIRE_MAX_TYPE_ARGUMENTS];
};

/* Is this array of rank 1 a general one, int[*], which may have a lower bound, and not a vector, int[]? The runtime
 * reports both alike. A ClassID is a MethodTable, whose second word is the size of an array without elements: 24 for a
 * vector, 8 more for each rank for any other (object.h, methodtable.h). Before .NET 5, with bit 1 set, it is an
 * ArrayTypeDesc, which begins with its CorElementType (typedesc.h). */
static bool has_bounds(uintptr_t class_id)
{
    const uintptr_t type_desc = 2;
    const uint32_t general_base = 32, element_type_array = 0x14; /* ECMA-335 II.23.1.16 */
    if ((class_id & type_desc) != 0)
        return *(const uint8_t *)(class_id - type_desc) == element_type_array;
    return ((const uint32_t *)class_id)[1] == general_base;
}

static void ask_type(uintptr_t class_id, struct type_facts *f)
{
    memset(f, 0, offsetof(struct type_facts, arguments));
    uintptr_t parent;
    hresult hr = SLOT(info, INFO_GET_CLASS_ID_INFO2, uintptr_t, uintptr_t *, uint32_t *, uintptr_t *, uint32_t,
                      uint32_t *, uintptr_t *)(info, class_id, &f->module, &f->token, &parent, WIRE_MAX_TYPE_ARGUMENTS,
                                               &f->n_arguments, f->arguments);
    if (hr == HR_CLASS_IS_ARRAY) {
        f->module = 0;
        f->token = f->n_arguments = 0;
        if (SLOT(info, INFO_IS_ARRAY_CLASS, uintptr_t, uint32_t *, uintptr_t *, uint32_t *)(
                info, class_id, &f->element_code, &f->element, &f->rank) == HR_OK)
            f->kind = WIRE_TYPE_ARRAY;
        else
            f->element = f->element_code = f->rank = 0;
        f->bounds = f->kind == WIRE_TYPE_ARRAY && f->rank == 1 && has_bounds(class_id);
        return;
    }
    f->kind = hr == HR_CLASS_IS_COMPOSITE ? WIRE_TYPE_OTHER : hr >= 0 && f->token != 0 ? WIRE_TYPE_CLASS : WIRE_TYPE_UNKNOWN;
    if (f->kind != WIRE_TYPE_CLASS) {
        f->module = 0;
        f->token = f->n_arguments = 0;
    }
    if (f->n_arguments > WIRE_MAX_TYPE_ARGUMENTS)
        f->n_arguments = WIRE_MAX_TYPE_ARGUMENTS;
}

static uint64_t type_of(uintptr_t class_id, uint8_t *scratch, uint32_t depth);

/* Describes a type in the scratch memory; what is part of it gets an id first. Returns COLLECTIBLE or 0. */
static uint64_t describe_type(struct record *r, const struct type_facts *f, uint8_t *scratch, uint32_t depth)
{
    uint32_t arguments[WIRE_MAX_TYPE_ARGUMENTS];
    uint64_t module = module_of(f->module, scratch), element = 0, flags = module;
    if (f->element != 0)
        element = type_of(f->element, scratch, depth + 1);
    flags |= element;
    for (uint32_t i = 0; i < f->n_arguments; i++) {
        uint64_t argument = f->arguments[i] == 0 ? 0 : type_of(f->arguments[i], scratch, depth + 1);
        arguments[i] = ID(argument);
        flags |= argument;
    }
    record_begin_behind_name(r, scratch);
    put_u32(r, 0);
    put_u32(r, ID(module));
    put_u32(r, f->token);
    put_u32(r, f->kind);
    put_u32(r, f->rank);
    put_u32(r, f->bounds);
    put_u32(r, ID(element));
    put_u32(r, f->element_code);
    put_u32s(r, arguments, f->n_arguments);
    put_type_names(r, f->kind == WIRE_TYPE_CLASS ? names_metadata(f->module) : NULL, f->token, (utf16 *)(void *)scratch);
    return flags & COLLECTIBLE;
}

static uint64_t type_of(uintptr_t class_id, uint8_t *scratch, uint32_t depth)
{
    uint64_t value = map_get(&types, class_id);
    if (value != 0 || depth > WIRE_MAX_NESTING)
        return value;
    struct type_facts facts;
    struct record r;
    ask_type(class_id, &facts);
    uint64_t flags = describe_type(&r, &facts, scratch, depth);
    if (facts.kind == WIRE_TYPE_UNKNOWN)
        flags = COLLECTIBLE; /* it may be */
    value = insert(&types, class_id, &r, WIRE_RECORD_TYPE, &last_type, flags);
    if (facts.kind == WIRE_TYPE_UNKNOWN && value != 0) {
        arena_lock();
        if (n_pending < MAX_PENDING) {
            pending[n_pending].class_id = class_id;
            pending[n_pending++].type = ID(value);
        }
        arena_unlock();
    }
    return value;
}

/* Describes a type once more, under its old id. */
static void retry_type(uintptr_t class_id, uint32_t id, uint8_t *scratch)
{
    struct type_facts facts;
    ask_type(class_id, &facts);
    if (facts.kind == WIRE_TYPE_UNKNOWN)
        return; /* stays as it was first described; the report counts it */
    struct record r;
    describe_type(&r, &facts, scratch, 0);
    memcpy(r.start + sizeof(struct wire_record_header), &id, sizeof id);
    arena_lock();
    bool written = put_in_log(&r, WIRE_RECORD_TYPE);
    arena_unlock();
    if (!written)
        loss(WIRE_LOSS_ARENA_FULL, 0, 0);
}

void names_retry_types(void)
{
    struct scratch *scratch = take_scratch();
    if (scratch == NULL)
        return;
    for (;;) {
        arena_lock();
        uint32_t n = n_pending == 0 ? 0 : n_pending--;
        uintptr_t class_id = n == 0 ? 0 : pending[n - 1].class_id;
        uint32_t id = n == 0 ? 0 : pending[n - 1].type;
        arena_unlock();
        if (n == 0)
            break;
        retry_type(class_id, id, scratch->bytes);
    }
    give_scratch(scratch);
}

uint32_t type_of_class(uintptr_t class_id)
{
    uint64_t value = map_get(&types, class_id);
    if (value != 0)
        return ID(value);
    struct scratch *scratch = take_scratch();
    if (scratch == NULL)
        return 0;
    value = type_of(class_id, scratch->bytes, 0);
    give_scratch(scratch);
    if (ID(value) >= MANY_TYPES)
        description_hooks.many_types();
    return ID(value);
}

void names_each_class(void (*found)(uintptr_t class_id))
{
    uint64_t class_id;
    for (uint64_t at = 0; (class_id = map_next_key(&types, &at)) != 0;)
        found(class_id);
}

/* ── functions ──────────────────────────────────────────────────────────────────────────────────────────────── */

static void describe_dynamic_function(struct record *r, uintptr_t function, uint8_t *scratch)
{
    utf16 *name = (utf16 *)(void *)scratch;
    uintptr_t module = 0;
    const uint8_t *signature = NULL;
    uint32_t signature_bytes = 0, length = 0;
    if (SLOT(info, INFO_GET_DYNAMIC_FUNCTION_INFO, uintptr_t, uintptr_t *, const uint8_t **, uint32_t *, uint32_t,
             uint32_t *, utf16 *)(info, function, &module, &signature, &signature_bytes, WIRE_MAX_NAME, &length, name) < 0)
        length = signature_bytes = 0;
    record_begin_behind_name(r, scratch);
    put_u32(r, 0);
    put_u32(r, 0);
    put_u32(r, 0);
    put_u32(r, 0);
    put_u32(r, WIRE_FUNCTION_DYNAMIC);
    put_u32(r, 0);
    put_u32(r, 0);
    put_name(r, name, length);
    put_u32(r, 0);
}

static uint64_t describe_method(struct record *r, uintptr_t function, uint8_t *scratch)
{
    utf16 *name = (utf16 *)(void *)scratch;
    uintptr_t class_id = 0, module = 0, arguments[WIRE_MAX_TYPE_ARGUMENTS];
    uint32_t token = 0, n = 0, ids[WIRE_MAX_TYPE_ARGUMENTS];
    if (SLOT(info, INFO_GET_FUNCTION_INFO2, uintptr_t, uintptr_t, uintptr_t *, uintptr_t *, uint32_t *, uint32_t,
             uint32_t *, uintptr_t *)(info, function, 0, &class_id, &module, &token, WIRE_MAX_TYPE_ARGUMENTS, &n,
                                      arguments) < 0) {
        class_id = module = 0;
        token = n = 0;
    }
    n = n > WIRE_MAX_TYPE_ARGUMENTS ? WIRE_MAX_TYPE_ARGUMENTS : n;
    uint64_t module_value = module_of(module, scratch), type = class_id == 0 ? 0 : type_of(class_id, scratch, 0);
    uint64_t flags = module_value | type;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t argument = arguments[i] == 0 ? 0 : type_of(arguments[i], scratch, 0);
        ids[i] = ID(argument);
        flags |= argument;
    }
    void *import = module == 0 ? NULL : names_metadata(module);
    uint32_t owner = 0, length = 0, attributes = 0, rva = UINT32_MAX, implementation = 0, signature_bytes = 0;
    const uint8_t *signature = NULL;
    record_begin_behind_name(r, scratch);
    put_u32(r, 0);
    put_u32(r, ID(module_value));
    put_u32(r, token);
    put_u32(r, ID(type));
    put_u32(r, 0);
    put_u32s(r, ids, n);
    hresult hr = HR_FAIL;
    if (import != NULL)
        hr = SLOT(import, IMPORT_GET_METHOD_PROPS, uint32_t, uint32_t *, utf16 *, uint32_t, uint32_t *, uint32_t *,
                  const uint8_t **, uint32_t *, uint32_t *, uint32_t *)(import, token, &owner, NULL, 0, &length, &attributes,
                                                                        &signature, &signature_bytes, &rva, &implementation);
    size_t names = (size_t)(r->p - r->start);
    put_type_names(r, import, hr < 0 ? 0 : owner, name);
    if (hr >= 0)
        hr = SLOT(import, IMPORT_GET_METHOD_PROPS, uint32_t, uint32_t *, utf16 *, uint32_t, uint32_t *, uint32_t *,
                  const uint8_t **, uint32_t *, uint32_t *, uint32_t *)(import, token, &owner, name, WIRE_MAX_NAME, &length,
                                                                        &attributes, &signature, &signature_bytes, &rva,
                                                                        &implementation);
    if (hr < 0)
        length = signature_bytes = 0;
    put_name(r, name, length);
    if (signature_bytes + sizeof signature_bytes > (size_t)(r->end - r->p)) {
        loss(WIRE_LOSS_NAME_TRUNCATED, 0, 0);
        signature_bytes = 0; /* a part of a signature means nothing */
    }
    put_u32(r, signature_bytes);
    put(r, signature, signature_bytes);
    uint64_t own = (module_value & CORE_LIBRARY) != 0 ? helper_class(r->start + names, r->p) : 0;
    if (own == 0 && (implementation & METHOD_IMPL_ASYNC) != 0)
        own = FUNCTION_IS_ASYNC;
    else if (own == 0 && method_is_extern(info, module, token, attributes, rva, implementation))
        own = FUNCTION_IS_EXTERN;
    uint64_t class = description_hooks.classify(module, token, own, r->start + names, r->p) | (own & (FUNCTION_IS_HELPER | FUNCTION_IS_SLOW_WAY));
    uint32_t wire_flags = ((class & FUNCTION_IS_INSTRUMENTED) != 0 ? WIRE_FUNCTION_INSTRUMENTED : 0) |
                          ((class & (FUNCTION_IS_BOUNDARY | FUNCTION_IS_OUTSIDE)) != 0 ? WIRE_FUNCTION_BOUNDARY : 0) |
                          ((class & FUNCTION_IS_MARKED) != 0 ? WIRE_FUNCTION_MARKED : 0) |
                          ((class & FUNCTION_IS_UNPROBED) != 0 ? WIRE_FUNCTION_UNPROBED : 0);
    memcpy(r->start + sizeof(struct wire_record_header) + FUNCTION_FLAGS, &wire_flags, sizeof wire_flags);
    return (flags & COLLECTIBLE) | (module_value & CORE_LIBRARY) | class;
}

static uint64_t function_of(uintptr_t function, uint8_t *scratch)
{
    uint64_t value = map_get(&functions, function), flags = 0;
    if (value != 0)
        return value;
    struct record r;
    int32_t is_dynamic = 0;
    hresult hr = SLOT(info, INFO_IS_FUNCTION_DYNAMIC, uintptr_t, int32_t *)(info, function, &is_dynamic);
    if (hr >= 0 && is_dynamic != 0)
        describe_dynamic_function(&r, function, scratch);
    else
        flags = describe_method(&r, function, scratch);
    if (hr < 0 || is_dynamic != 0)
        flags |= DYNAMIC;
    return insert(&functions, function, &r, WIRE_RECORD_FUNCTION, &last_function, flags);
}

uint64_t function_value(uintptr_t function_id)
{
    uint64_t value = map_get(&functions, function_id);
    struct scratch *scratch = value != 0 ? NULL : take_scratch();
    if (scratch != NULL) {
        value = function_of(function_id, scratch->bytes);
        give_scratch(scratch);
    }
    return value;
}

uint32_t function_of_id(uintptr_t function_id)
{
    return ID(function_value(function_id));
}

uint32_t names_module(uintptr_t module)
{
    struct scratch *scratch = take_scratch();
    uint64_t value = scratch == NULL ? 0 : module_of(module, scratch->bytes);
    if (scratch != NULL)
        give_scratch(scratch);
    return ID(value);
}

uint32_t names_add_callee(struct record *r)
{
    arena_lock();
    uint32_t id = last_function + 1;
    memcpy(r->start + sizeof(struct wire_record_header), &id, sizeof id);
    if (put_in_log(r, WIRE_RECORD_CALLEE))
        last_function = id;
    else
        id = 0;
    arena_unlock();
    return id;
}

/* ── bodies and instructions ────────────────────────────────────────────────────────────────────────────────── */

static void put_il_map(struct record *r, uintptr_t start, uint32_t function, uint8_t *scratch)
{
    uint32_t n = 0;
    struct clr_il_map *map = (struct clr_il_map *)(void *)scratch;
    if (SLOT(info, INFO_GET_IL_TO_NATIVE_MAPPING3, uintptr_t, uint32_t, uint32_t *, struct clr_il_map *)(
            info, start, WIRE_MAX_IL_MAP, &n, map) < 0)
        n = 0;
    if (n > WIRE_MAX_IL_MAP) {
        loss(WIRE_LOSS_IL_MAP_TRUNCATED, 0, 0);
        n = WIRE_MAX_IL_MAP;
    }
    put_u32(r, n);
    for (uint32_t i = 0; i < n; i++) {
        put_u32(r, map[i].native_start);
        put_u32(r, description_hooks.old_offset(function, map[i].il));
    }
}

static uint64_t body_of(uintptr_t start, uint64_t function, const struct clr_code_info *ranges, uint32_t n, uint8_t *scratch)
{
    uint64_t value = map_get(&bodies, start);
    if (value != 0)
        return value;
    struct record r;
    record_begin(&r, scratch + WIRE_MAX_IL_MAP * sizeof(struct clr_il_map), SCRATCH_BYTES - WIRE_MAX_IL_MAP * sizeof(struct clr_il_map));
    put_u32(&r, 0);
    put_u32(&r, ID(function));
    put_u32(&r, n);
    for (uint32_t i = 0; i < n; i++) {
        put_u64(&r, ranges[i].start);
        put_u64(&r, ranges[i].size);
    }
    put_il_map(&r, start, ID(function), scratch);
    return insert(&bodies, start, &r, WIRE_RECORD_BODY, &last_body, function & COLLECTIBLE);
}

/* The body of the function that contains the address: a function has one per tier, OSR variant and so on. */
static uint32_t find_body(uintptr_t address, uintptr_t function, uintptr_t rejit, struct clr_code_info *ranges, uintptr_t *start)
{
    uintptr_t starts[MAX_BODIES];
    uint32_t n_starts = 0;
    if (SLOT(info, INFO_GET_NATIVE_CODE_STARTS, uintptr_t, uintptr_t, uint32_t, uint32_t *, uintptr_t *)(
            info, function, rejit, MAX_BODIES, &n_starts, starts) < 0)
        return 0;
    for (uint32_t i = 0; i < n_starts && i < MAX_BODIES; i++) {
        uint32_t n = 0;
        if (SLOT(info, INFO_GET_CODE_INFO4, uintptr_t, uint32_t, uint32_t *, struct clr_code_info *)(
                info, starts[i], MAX_RANGES, &n, ranges) < 0)
            continue;
        n = n > MAX_RANGES ? MAX_RANGES : n;
        for (uint32_t k = 0; k < n; k++)
            if (address - ranges[k].start < ranges[k].size) {
                *start = starts[i];
                return n;
            }
    }
    return 0;
}

bool bodies_of_id(uintptr_t function_id, uintptr_t rejit)
{
    uintptr_t starts[MAX_BODIES];
    uint32_t n_starts = 0;
    uint64_t function = function_value(function_id);
    if (SLOT(info, INFO_GET_NATIVE_CODE_STARTS, uintptr_t, uintptr_t, uint32_t, uint32_t *, uintptr_t *)(
            info, function_id, rejit, MAX_BODIES, &n_starts, starts) < 0)
        return true;
    struct scratch *scratch = take_scratch();
    bool room = scratch != NULL && function != 0;
    for (uint32_t i = 0; room && i < n_starts && i < MAX_BODIES; i++) {
        struct clr_code_info ranges[MAX_RANGES];
        uint32_t n = 0;
        if (map_get(&bodies, starts[i]) == 0 && SLOT(info, INFO_GET_CODE_INFO4, uintptr_t, uint32_t, uint32_t *, struct clr_code_info *)(
                                                    info, starts[i], MAX_RANGES, &n, ranges) >= 0)
            room = body_of(starts[i], function, ranges, n > MAX_RANGES ? MAX_RANGES : n, scratch->bytes) != 0;
    }
    if (scratch != NULL)
        give_scratch(scratch);
    return room;
}

/* A function that stands for all of a module, where there is no room for more. Its addresses are forgotten at the next unload,
 * whatever it is of. A dynamic method can be freed alone, and is not remembered here. */
static uint64_t module_function(uintptr_t function_id, uint8_t *scratch)
{
    static const utf16 name[] = u"(truncated)";
    uintptr_t class_id = 0, module = 0, arguments[1];
    uint32_t token = 0, n = 0;
    int32_t is_dynamic = 1;
    if (SLOT(info, INFO_IS_FUNCTION_DYNAMIC, uintptr_t, int32_t *)(info, function_id, &is_dynamic) < 0 || is_dynamic != 0 ||
        SLOT(info, INFO_GET_FUNCTION_INFO2, uintptr_t, uintptr_t, uintptr_t *, uintptr_t *, uint32_t *, uint32_t, uint32_t *, uintptr_t *)(
            info, function_id, 0, &class_id, &module, &token, 1, &n, arguments) < 0 || module == 0)
        return 0;
    uint64_t value = map_get(&functions, module | 1); /* no FunctionID is odd */
    if (value != 0)
        return value;
    uint64_t module_value = module_of(module, scratch);
    struct record r;
    record_begin_behind_name(&r, scratch);
    put_u32(&r, 0);
    put_u32(&r, ID(module_value));
    put_u32(&r, 0);
    put_u32(&r, 0);
    put_u32(&r, WIRE_FUNCTION_DYNAMIC);
    put_u32(&r, 0);
    put_u32(&r, 0);
    put_name(&r, name, sizeof name / sizeof *name);
    put_u32(&r, 0);
    return module_value == 0 ? 0 : insert(&functions, module | 1, &r, WIRE_RECORD_FUNCTION, &last_function, COLLECTIBLE);
}

/* An address in the body of a function. The value of the function is returned, 0: no room for a description. */
static uint64_t describe_ip(struct wire_ip *ip, uintptr_t function_id, uintptr_t rejit, uint8_t *scratch, uintptr_t *start)
{
    struct clr_code_info ranges[MAX_RANGES];
    bool whole = arena_has_room(ROOM_FUNCTIONS);
    uint64_t function = whole ? function_of(function_id, scratch) : module_function(function_id, scratch);
    ip->function = ID(function);
    ip->flags = WIRE_IP_MANAGED | ((function & FUNCTION_IS_HELPER) != 0 ? WIRE_IP_HELPER : 0u);
    if ((function & FUNCTION_IS_SLOW_WAY) != 0)
        boxes_slow_way_met();
    uint32_t n = function == 0 ? 0 : find_body(ip->address, function_id, rejit, ranges, start);
    if (n == 0)
        return function; /* a function whose body is unknown has no lines */
    ip->body = whole ? ID(body_of(*start, function, ranges, n, scratch)) : 0;
    struct frame_shape shape = code_frame_shape((const uint8_t *)ranges[0].start, ranges[0].size);
    ip->frame_size = shape.size;
    ip->flags |= (shape.frame_pointer ? 0u : WIRE_IP_FRAMELESS) | (shape.osr ? WIRE_IP_OSR : 0u);
    return whole && ip->body == 0 ? 0 : function;
}

/* With the lock held: an address that is to be forgotten with its function. */
static bool remember_dynamic(uint64_t function, uintptr_t address)
{
    uint64_t key = (uint64_t)ID(function) << 32, n = map_get(&dynamic, key) + 1;
    return map_put(&dynamic, key | n, address) && map_put(&dynamic, key, n);
}

/* With the lock held: a new row. Returns its id, 0: no room. */
static uint32_t add_ip(const struct wire_ip *ip)
{
    struct wire_ip *out = arena_reserve(WIRE_REGION_IPS, sizeof *ip);
    if (out == NULL)
        return 0;
    *out = *ip;
    arena_publish(WIRE_REGION_IPS, sizeof *ip);
    return (uint32_t)(out - arena_ip(0));
}

static uint32_t insert_ip(const struct wire_ip *ip, uint64_t function, uintptr_t body_start)
{
    arena_lock();
    uint64_t value = map_get(&ips, ip->address);
    bool room = value == 0 && map_has_room(&ips);
    if (room && (function & DYNAMIC) != 0)
        room = remember_dynamic(function, ip->address) && (body_start == 0 || remember_dynamic(function, body_start));
    uint32_t id = room ? add_ip(ip) : 0;
    if (id != 0) {
        value = id | (function & COLLECTIBLE);
        map_put(&ips, ip->address, value);
    }
    arena_unlock();
    return ID(value);
}

/* All addresses in native code share two rows, without an address: nothing is reported of them but whether it is the runtime's. */
static uint32_t native_address(uintptr_t address)
{
    bool foreign = !cfi_is_runtime(address);
    struct wire_ip row = {.flags = foreign ? WIRE_IP_FOREIGN : 0};
    arena_lock();
    uint32_t *ip = &native_ips[foreign];
    if (*ip == 0)
        *ip = add_ip(&row);
    if (*ip != 0 && address != 0 && n_native < MAX_NATIVE && map_put(&ips, address, *ip))
        n_native++;
    uint32_t id = *ip;
    arena_unlock();
    return id;
}

uint32_t ip_of_address(uintptr_t address, bool allocates)
{
    uint64_t value = map_get(&ips, address);
    if (value != 0)
        return ID(value);
    uintptr_t function_id = 0, rejit = 0;
    struct wire_ip ip = {.address = address};
    if (address == signal_return && address != 0) {
        ip.flags = WIRE_IP_SIGNAL;
        return insert_ip(&ip, 0, 0);
    }
    if (SLOT(info, INFO_GET_FUNCTION_FROM_IP3, uintptr_t, uintptr_t *, uintptr_t *)(info, address, &function_id, &rejit) < 0 ||
        function_id == 0) {
        ip.frame_size = cfi_frame_size(address);
        ip.flags = WIRE_IP_FRAMELESS;
        return ip.frame_size != 0 ? insert_ip(&ip, 0, 0) : native_address(address);
    }
    if (!arena_has_room(allocates ? ROOM_MODULES : ROOM_STACKS))
        return 0;
    struct scratch *scratch = take_scratch();
    if (scratch == NULL)
        return 0;
    uintptr_t start = 0;
    uint64_t function = describe_ip(&ip, function_id, rejit, scratch->bytes, &start);
    give_scratch(scratch);
    return function == 0 ? 0 : insert_ip(&ip, function, start);
}

/* ── unloading ──────────────────────────────────────────────────────────────────────────────────────────────── */

/* Everything collectible is forgotten, not only what belongs to the unloaded module: generic code over its types
 * belongs to other modules and is freed with it. What is still alive is described again when it is next met; the
 * collector merges equal descriptions. */
void names_forget_module(uintptr_t module)
{
    names_retry_types(); /* as long as they are there */
    arena_lock();
    void *import = (void *)(uintptr_t)map_get(&imports, module);
    map_forget(&imports, module);
    map_forget(&modules, module);
    struct map *all[] = {&modules, &types, &functions, &bodies, &ips};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        map_drop(all[i], COLLECTIBLE, COLLECTIBLE);
    description_hooks.forget_module(module);
    n_pending = 0;
    __atomic_fetch_add(&code_epoch, 1, __ATOMIC_RELEASE);
    arena_unlock();
    if (import != NULL)
        com_release(import);
}

void names_forget_function(uintptr_t function_id)
{
    uint64_t function = map_get(&functions, function_id);
    if (function == 0)
        return; /* it was never on the stack of an allocation */
    arena_lock();
    map_forget(&functions, function_id);
    uint64_t key = (uint64_t)ID(function) << 32;
    for (uint64_t n = map_get(&dynamic, key); n > 0; n--) {
        uintptr_t address = map_get(&dynamic, key | n);
        map_forget(&ips, address);
        map_forget(&bodies, address);
        map_forget(&dynamic, key | n);
    }
    map_forget(&dynamic, key);
    __atomic_fetch_add(&code_epoch, 1, __ATOMIC_RELEASE);
    arena_unlock();
}
