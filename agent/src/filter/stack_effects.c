/* What the instructions of a method do to the stack, as far as metadata say it: how many values a call takes, and whether it, or a
 * field, gives a reference. il_keep.c stores these in variables of type object, so what is not known is no reference. */
#include "core/arena.h"
#include "filter/declared_callees.h"
#include "filter/stack_effects.h"
#include "il/il.h"
#include "core/hash_map.h"
#include "core/metadata_signature.h"

#include <string.h>

enum { CALLI = 0x29, NEWOBJ = 0x73, LDFLD = 0x7B, LDSFLD = 0x7E };
#define MADE 0x80000000u /* beside a token: of newobj */
#define FIELD 0x06u      /* II.23.2.4 */
#define LOCALS 0x07u     /* II.23.2.6 */
#define SIGNATURE_KIND 0x0Fu
#define MAX_LOCALS 0xFFFEu

/* What is known of a token, in a word of a map. */
#define KNOWN 2u
#define RETURNS 4u
#define REFERENCE 8u
#define TAKES_SHIFT 8u

enum kind { KIND_UNKNOWN, KIND_VALUE, KIND_REFERENCE, KIND_VOID };

struct blob {
    const uint8_t *at, *end;
};

struct declared { /* a member, and what its type variables stand for */
    struct blob signature, type, method; /* type: of a TypeSpec; method: of a MethodSpec */
    uint32_t parent;
};

static void *info;
static struct map effects;    /* module number << 32 | MADE | token → the above, with bit 0 set if the module can be unloaded */
static struct map signatures; /* module number << 32 | how many more << 24 | row → token << 1, likewise */

static struct blob type_spec(const struct callees *c, uint32_t token)
{
    const uint8_t *b = NULL;
    uint32_t n = 0;
    if ((token & TOKEN_TABLE) != TOKEN_TYPE_SPEC ||
        SLOT(c->import, IMPORT_GET_TYPE_SPEC, uint32_t, const uint8_t **, uint32_t *)(c->import, token, &b, &n) < 0)
        n = 0;
    return (struct blob){b, b + n};
}

/* ── kinds of types ─────────────────────────────────────────────────────────────────────────────────────────── */

static enum kind kind_of(struct blob type, const struct declared *d);

/* That of an argument of a generic type or method, which is of the method that is read: its own variables are not known. */
static enum kind kind_of_argument(struct blob arguments, uint32_t number)
{
    uint32_t n;
    if (!signature_number(&arguments.at, arguments.end, &n) || number >= n)
        return KIND_UNKNOWN;
    while (number > 0 && signature_type(&arguments.at, arguments.end))
        number--;
    return number > 0 ? KIND_UNKNOWN : kind_of(arguments, NULL);
}

static enum kind kind_of_variable(struct blob type, bool of_method, const struct declared *d)
{
    uint32_t number, owner;
    struct blob b;
    if (d == NULL || !signature_number(&type.at, type.end, &number))
        return KIND_UNKNOWN;
    b = of_method ? d->method : d->type;
    if (b.at >= b.end)
        return KIND_UNKNOWN;
    if (of_method)
        return *b.at++ == SIGNATURE_INSTANCE ? kind_of_argument(b, number) : KIND_UNKNOWN;
    if (b.end - b.at < 3 || *b.at != ELEMENT_GENERIC_INST)
        return KIND_UNKNOWN;
    b.at += 2;
    return signature_token(&b.at, b.end, &owner) ? kind_of_argument(b, number) : KIND_UNKNOWN;
}

/* d: what its variables stand for; NULL: it is not known. */
static enum kind kind_of(struct blob type, const struct declared *d)
{
    uint32_t token;
    while (type.at < type.end && (*type.at == ELEMENT_REQUIRED || *type.at == ELEMENT_OPTIONAL)) {
        type.at++;
        if (!signature_token(&type.at, type.end, &token))
            return KIND_UNKNOWN;
    }
    if (type.at >= type.end)
        return KIND_UNKNOWN;
    uint8_t element = *type.at++;
    switch (element) {
    case ELEMENT_VOID:
        return KIND_VOID;
    case ELEMENT_STRING:
    case ELEMENT_CLASS:
    case ELEMENT_OBJECT:
    case ELEMENT_ARRAY:
    case ELEMENT_VECTOR:
        return KIND_REFERENCE;
    case ELEMENT_GENERIC_INST:
        return type.at < type.end && *type.at == ELEMENT_CLASS ? KIND_REFERENCE : KIND_VALUE;
    case ELEMENT_VAR:
    case ELEMENT_MVAR:
        return kind_of_variable(type, element == ELEMENT_MVAR, d);
    default:
        return KIND_VALUE;
    }
}

/* ── members ────────────────────────────────────────────────────────────────────────────────────────────────── */

static bool find_field(const struct callees *c, uint32_t token, struct declared *d, uint32_t *bytes)
{
    uint32_t length, attributes, type, value_length;
    const void *value;
    return SLOT(c->import, IMPORT_GET_FIELD_PROPS, uint32_t, uint32_t *, utf16 *, uint32_t, uint32_t *, uint32_t *, const uint8_t **, uint32_t *, uint32_t *,
                const void **, uint32_t *)(c->import, token, &d->parent, NULL, 0, &length, &attributes, &d->signature.at, bytes, &type, &value,
                                           &value_length) >= 0;
}

static bool find_method(const struct callees *c, uint32_t token, struct declared *d, uint32_t *bytes)
{
    uint32_t length, attributes, rva, implementation;
    return SLOT(c->import, IMPORT_GET_METHOD_PROPS, uint32_t, uint32_t *, utf16 *, uint32_t, uint32_t *, uint32_t *, const uint8_t **, uint32_t *, uint32_t *,
                uint32_t *)(c->import, token, &d->parent, NULL, 0, &length, &attributes, &d->signature.at, bytes, &rva, &implementation) >= 0;
}

static bool find_declared(const struct callees *c, uint32_t token, struct declared *d)
{
    uint32_t bytes = 0, length;
    bool found = false;
    *d = (struct declared){.parent = 0};
    if ((token & TOKEN_TABLE) == TOKEN_METHOD_SPEC) {
        const uint8_t *b = NULL;
        uint32_t n = 0, method = 0;
        if (SLOT(c->import, IMPORT_GET_METHOD_SPEC_PROPS, uint32_t, uint32_t *, const uint8_t **, uint32_t *)(c->import, token, &method, &b, &n) < 0)
            return false;
        d->method = (struct blob){b, b + n};
        token = method;
    }
    if ((token & TOKEN_TABLE) == TOKEN_METHOD_DEF)
        found = find_method(c, token, d, &bytes);
    else if ((token & TOKEN_TABLE) == TOKEN_FIELD)
        found = find_field(c, token, d, &bytes);
    else if ((token & TOKEN_TABLE) == TOKEN_MEMBER_REF)
        found = SLOT(c->import, IMPORT_GET_MEMBER_REF_PROPS, uint32_t, uint32_t *, utf16 *, uint32_t, uint32_t *, const uint8_t **, uint32_t *)(
                    c->import, token, &d->parent, NULL, 0, &length, &d->signature.at, &bytes) >= 0;
    else if ((token & TOKEN_TABLE) == TOKEN_SIGNATURE)
        found = SLOT(c->import, IMPORT_GET_SIGNATURE, uint32_t, const uint8_t **, uint32_t *)(c->import, token, &d->signature.at, &bytes) >= 0;
    d->signature.end = d->signature.at + bytes;
    d->type = type_spec(c, d->parent);
    return found && bytes > 1;
}

/* The word of a map: KNOWN and what else. Its kind comes last in a field's signature, and in the middle of a method's. */
static uint64_t describe(const struct callees *c, uint32_t token, bool made)
{
    struct declared d;
    uint32_t takes = 0, n;
    if (!find_declared(c, token, &d))
        return 0;
    uint8_t convention = *d.signature.at++;
    bool is_field = (convention & SIGNATURE_KIND) == FIELD;
    if (!is_field) {
        if ((convention & SIGNATURE_GENERIC) != 0 && !signature_number(&d.signature.at, d.signature.end, &n))
            return 0;
        if (!signature_number(&d.signature.at, d.signature.end, &takes) || takes > UINT16_MAX)
            return 0;
        takes += (convention & (SIGNATURE_HAS_THIS | SIGNATURE_EXPLICIT_THIS)) == SIGNATURE_HAS_THIS && !made;
    }
    enum kind kind = made ? KIND_VALUE : kind_of(d.signature, &d); /* what is made the JIT keeps in a variable in any case */
    return KNOWN | (uint64_t)takes << TAKES_SHIFT | (kind != KIND_VOID ? RETURNS : 0) | (kind == KIND_REFERENCE ? REFERENCE : 0);
}

bool effects_of(void *context, uint32_t op, uint32_t token, struct il_effect *e)
{
    const struct callees *c = context;
    bool made = op == NEWOBJ;
    uint64_t key = (uint64_t)c->module_number << 32 | (made ? MADE : 0) | token, value = map_get(&effects, key);
    if (value == 0 && (value = describe(c, token, made)) != 0) {
        arena_lock();
        map_put(&effects, key, value | c->collectible); /* else it is described again */
        arena_unlock();
    }
    *e = (struct il_effect){(uint32_t)(value >> TAKES_SHIFT) + (op == CALLI || op == LDFLD), (value & RETURNS) != 0, (value & REFERENCE) != 0};
    return (value & KNOWN) != 0;
}

/* ── variables ──────────────────────────────────────────────────────────────────────────────────────────────── */

/* The signature of variables with more of them at its end, in the scratch memory; its bytes, 0: it cannot be had. */
static uint32_t add_variables(const struct callees *c, uint32_t token, uint32_t more, uint32_t *first)
{
    const uint8_t *old = NULL;
    uint32_t bytes = 0, n = 0;
    *first = 0;
    if (token != 0) {
        if (SLOT(c->import, IMPORT_GET_SIGNATURE, uint32_t, const uint8_t **, uint32_t *)(c->import, token, &old, &bytes) < 0 || bytes < 2 || *old != LOCALS)
            return 0;
        const uint8_t *end = old++ + bytes;
        if (!signature_number(&old, end, first))
            return 0;
        bytes = (uint32_t)(end - old);
    }
    uint32_t all = *first + more;
    if (all > MAX_LOCALS || bytes + more + 5 > CALLEES_SCRATCH)
        return 0;
    uint8_t *longer = c->scratch;
    longer[n++] = LOCALS;
    if (all < 0x80) {
        longer[n++] = (uint8_t)all;
    } else if (all < 0x4000) {
        longer[n++] = (uint8_t)(0x80 | all >> 8);
        longer[n++] = (uint8_t)all;
    } else {
        const uint8_t four[] = {0xC0, 0, (uint8_t)(all >> 8), (uint8_t)all};
        memcpy(longer + n, four, sizeof four);
        n += sizeof four;
    }
    if (bytes != 0)
        memcpy(longer + n, old, bytes);
    memset(longer + n + bytes, ELEMENT_OBJECT, more);
    return n + bytes + more;
}

uint32_t effects_locals(void *context, uint32_t token, uint32_t more, uint32_t *first)
{
    const struct callees *c = context;
    uint64_t key = (uint64_t)c->module_number << 32 | more << 24 | (token & ~TOKEN_TABLE);
    uint32_t bytes = add_variables(c, token, more, first), made = (uint32_t)(map_get(&signatures, key) >> 1);
    void *emit = NULL;
    if (bytes == 0 || made != 0)
        return bytes == 0 ? 0 : made;
    if (SLOT(info, INFO_GET_MODULE_META_DATA, uintptr_t, uint32_t, const struct guid *, void **)(info, c->module, OPEN_WRITE, &IID_METADATA_EMIT, &emit) !=
            HR_OK ||
        emit == NULL)
        return 0;
    if (SLOT(emit, EMIT_GET_TOKEN_FROM_SIG, const uint8_t *, uint32_t, uint32_t *)(emit, c->scratch, bytes, &made) < 0)
        made = 0;
    com_release(emit);
    if (made != 0) {
        arena_lock();
        map_put(&signatures, key, (uint64_t)made << 1 | c->collectible); /* else it is asked for again, and is the same */
        arena_unlock();
    }
    return made;
}

bool effects_init(void *profiler_info)
{
    info = profiler_info;
    return map_init(&effects, 1024, true) && map_init(&signatures, 64, true);
}

void effects_forget_module(void)
{
    map_drop(&effects, 1, 1);
    map_drop(&signatures, 1, 1);
}

void effects_close(void)
{
    map_close(&effects);
    map_close(&signatures);
}
