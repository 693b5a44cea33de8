/* Signatures in metadata, ECMA-335 II.23.2. */
#include "core/profiler_api.h"
#include "core/metadata_signature.h"

#define MAX_DEPTH 32u /* of types in types: compilers write less than ten; it bounds the stack that is taken */

struct walk {
    const uint8_t *at, *end, *passed; /* passed: up to there all was passed on */
    const struct signature_parts *parts;
};

bool signature_number(const uint8_t **at, const uint8_t *end, uint32_t *number)
{
    const uint8_t *b = *at;
    uint32_t bytes = b >= end ? 5 : b[0] < 0x80 ? 1 : b[0] < 0xC0 ? 2 : 4;
    if (bytes > (size_t)(end - b))
        return false;
    *number = bytes == 1 ? b[0] : bytes == 2 ? (b[0] & 0x3Fu) << 8 | b[1] : (b[0] & 0x1Fu) << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
    *at += bytes;
    return true;
}

bool signature_token(const uint8_t **at, const uint8_t *end, uint32_t *token)
{
    static const uint32_t tables[] = {TOKEN_TYPE_DEF, TOKEN_TYPE_REF, TOKEN_TYPE_SPEC};
    uint32_t coded;
    if (!signature_number(at, end, &coded) || (coded & 3) == 3)
        return false;
    *token = tables[coded & 3] | coded >> 2;
    return true;
}

static bool walk_token(struct walk *w)
{
    const uint8_t *from = w->at;
    uint32_t token;
    if (!signature_token(&w->at, w->end, &token))
        return false;
    w->parts->bytes(w->parts->context, w->passed, (size_t)(from - w->passed));
    w->parts->token(w->parts->context, token);
    w->passed = w->at;
    return true;
}

static bool walk_numbers(struct walk *w, uint32_t n)
{
    uint32_t number;
    while (n > 0 && signature_number(&w->at, w->end, &number))
        n--;
    return n == 0;
}

/* Sizes or lower bounds of an array: their number, and they. */
static bool walk_bounds(struct walk *w)
{
    uint32_t n;
    return signature_number(&w->at, w->end, &n) && walk_numbers(w, n);
}

static bool walk_method(struct walk *w, uint32_t depth);

static bool walk_type(struct walk *w, uint32_t depth)
{
    uint32_t n;
    if (w->at >= w->end || depth > MAX_DEPTH)
        return false;
    uint8_t kind = *w->at++;
    switch (kind) {
    case ELEMENT_VALUE_TYPE:
    case ELEMENT_CLASS:
        return walk_token(w);
    case ELEMENT_REQUIRED:
    case ELEMENT_OPTIONAL:
        return walk_token(w) && walk_type(w, depth + 1);
    case ELEMENT_PTR:
    case ELEMENT_BYREF:
    case ELEMENT_VECTOR:
    case ELEMENT_SENTINEL:
        return walk_type(w, depth + 1);
    case ELEMENT_VAR:
    case ELEMENT_MVAR:
        return walk_numbers(w, 1);
    case ELEMENT_ARRAY:
        return walk_type(w, depth + 1) && walk_numbers(w, 1) && walk_bounds(w) && walk_bounds(w);
    case ELEMENT_FUNCTION:
        return walk_method(w, depth + 1);
    case ELEMENT_GENERIC_INST:
        if (!walk_type(w, depth + 1) || !signature_number(&w->at, w->end, &n))
            return false;
        while (n > 0 && walk_type(w, depth + 1))
            n--;
        return n == 0;
    default:
        return (kind >= ELEMENT_VOID && kind <= ELEMENT_STRING) || kind == ELEMENT_TYPED_BY_REF || kind == ELEMENT_I || kind == ELEMENT_U ||
               kind == ELEMENT_OBJECT;
    }
}

static bool walk_method(struct walk *w, uint32_t depth)
{
    uint32_t n;
    if (w->at >= w->end)
        return false;
    if ((*w->at++ & SIGNATURE_GENERIC) != 0 && !walk_numbers(w, 1))
        return false;
    if (!signature_number(&w->at, w->end, &n) || !walk_type(w, depth)) /* what it returns */
        return false;
    while (n > 0 && walk_type(w, depth))
        n--;
    return n == 0;
}

static void ignore_bytes(void *context, const uint8_t *bytes, size_t n)
{
    (void)context, (void)bytes, (void)n;
}

static void ignore_token(void *context, uint32_t token)
{
    (void)context, (void)token;
}

bool signature_type(const uint8_t **at, const uint8_t *end)
{
    static const struct signature_parts nothing = {ignore_bytes, ignore_token, NULL};
    struct walk w = {*at, end, *at, &nothing};
    bool is_type = walk_type(&w, 0);
    *at = w.at;
    return is_type;
}

bool signature_walk(const uint8_t *signature, size_t n, const struct signature_parts *parts)
{
    struct walk w = {signature, signature + n, signature, parts};
    if (!walk_method(&w, 0))
        return false;
    parts->bytes(parts->context, w.passed, (size_t)(w.at - w.passed));
    return true;
}
