/* Which methods leave the program, and what is put into their IL.
 *
 *   database  ExecuteNonQuery, ExecuteScalar, ExecuteReader, ExecuteDbDataReader and their Async forms, of System.Data.Common.DbCommand and all
 *             classes derived from it. The text is what the command's public CommandText says.
 *   HTTP      Send and SendAsync of System.Net.Http.HttpMessageInvoker and HttpClient. The text is the request's method and address.
 *   tasks     Task.FinishContinuations, through which each task goes that completes.
 *   requests  SetEndpoint of Microsoft.AspNetCore.Http.EndpointHttpContextExtensions, by which routing chooses what answers a request. The text is what
 *             the endpoint's DisplayName says.
 *   cases     tests that have parameters, by their attributes: test_cases.c. Each parameter's address is passed on.
 *   startup   ManagedStartup of System.StartupHookProvider (.NET 8), which the runtime calls before the program. Before it returns it has what
 *             meters.c says loaded as a startup hook, as the runtime itself does with those that a debugger names.
 *
 * The tokens that the code needs are made in the module's metadata. Members are named as those of the method's own class, or of what its signature
 * has: the runtime looks for them in base classes, too, and no assembly has to be named. */
#include "probes/ado_http_calls.h"
#include "probes/meters.h"
#include "probes/test_cases.h"
#include "core/metadata_signature.h"
#include "filter/probing.h"

#include <string.h>

#define MAX_BASES 64u
#define MAX_SIGNATURE 256u

enum { LDARG_0 = 0x02, LDARG_1 = 0x03, LDARGA_S = 0x0F, LDNULL = 0x14, LDC_I8 = 0x21, DUP = 0x25, CALL = 0x28, CALLI = 0x29, BRFALSE_S = 0x2C, BRTRUE_S = 0x2D, CALLVIRT = 0x6F, LDFLD = 0x7B, CONV_I = 0xD3, CONV_U = 0xE0 };

struct site { /* a method that is looked at */
    void *import, *emit;
    uint32_t token, type, signature_bytes, first, second; /* first, second: types of these parameters, if they are classes, else 0 */
    bool is_static;
    const uint8_t *signature, *result; /* result: its type */
    uint32_t result_bytes;
    utf16 name[WIRE_MAX_NAME], type_name[WIRE_MAX_NAME];
    uint32_t length, type_length; /* of the names */
    bool failed;
};

static bool is(const utf16 *text, uint32_t length, const char *name)
{
    uint32_t i = 0;
    while (i < length && name[i] != 0 && text[i] == (utf16)(uint8_t)name[i])
        i++;
    return i == length && name[i] == 0;
}

static const char *const commands[] = {"ExecuteNonQuery", "ExecuteScalar", "ExecuteReader", "ExecuteDbDataReader", "ExecuteNonQueryAsync", "ExecuteScalarAsync",
                                       "ExecuteReaderAsync", "ExecuteDbDataReaderAsync"};

static bool is_command(const utf16 *name, uint32_t length)
{
    for (uint32_t i = 0; length >= 13 && i < sizeof commands / sizeof *commands; i++)
        if (is(name, length, commands[i]))
            return true;
    return false;
}

static bool is_send(const utf16 *name, uint32_t length)
{
    return is(name, length, "Send") || is(name, length, "SendAsync");
}

bool operations_may_be(const utf16 *name, uint32_t length)
{
    return (requests_on && is(name, length, "SetEndpoint")) || (startup_on && is(name, length, "ManagedStartup")) ||
           (interactions_on && (is_command(name, length) || is_send(name, length) || is(name, length, "FinishContinuations")));
}

/* ── modules ────────────────────────────────────────────────────────────────────────────────────────────────── */

static bool ends(const utf16 *text, uint32_t length, const char *with)
{
    uint32_t n = (uint32_t)strlen(with);
    return length >= n && is(text + length - n, n, with);
}

static bool begins(const utf16 *text, uint32_t length, const char *with)
{
    uint32_t n = (uint32_t)strlen(with);
    return length >= n && is(text, n, with);
}

/* A class of commands names its base class, and is called by what it reads: of modules that name neither nobody needs to know more. */
static bool names_commands(void *import)
{
    utf16 name[WIRE_MAX_NAME];
    uint32_t scope, length = 0, type = TOKEN_TYPE_REF;
    while (SLOT(import, IMPORT_GET_TYPE_REF_PROPS, uint32_t, uint32_t *, utf16 *, uint32_t, uint32_t *)(import, ++type, &scope, name, WIRE_MAX_NAME, &length) >= 0)
        if (length != 0 && length <= WIRE_MAX_NAME && (begins(name, length - 1, "System.Data.Common.Db") || ends(name, length - 1, "Command")))
            return true;
    return false;
}

/* What makes methods with parameters tests, and what gives tests arguments: xunit, NUnit, MSTest, TUnit. An attribute that extends one of
 * them is known by what gives the arguments. */
static const utf16 *const test_attributes[] = {
    u"Xunit.TheoryAttribute", u"Xunit.InlineDataAttribute", u"Xunit.MemberDataAttribute", u"Xunit.ClassDataAttribute",
    u"NUnit.Framework.TestCaseAttribute", u"NUnit.Framework.TestCaseSourceAttribute", u"NUnit.Framework.TestAttribute", u"NUnit.Framework.TheoryAttribute",
    u"Microsoft.VisualStudio.TestTools.UnitTesting.DataRowAttribute", u"Microsoft.VisualStudio.TestTools.UnitTesting.DynamicDataAttribute",
    u"Microsoft.VisualStudio.TestTools.UnitTesting.TestMethodAttribute", u"Microsoft.VisualStudio.TestTools.UnitTesting.DataTestMethodAttribute",
    u"TUnit.Core.TestAttribute", u"TUnit.Core.ArgumentsAttribute"};

static bool equals(const utf16 *text, uint32_t length, const utf16 *other)
{
    uint32_t i = 0;
    while (i < length && other[i] != 0 && text[i] == other[i])
        i++;
    return i == length && other[i] == 0;
}

static bool names_tests(void *import)
{
    utf16 name[WIRE_MAX_NAME];
    uint32_t scope, length = 0, type = TOKEN_TYPE_REF;
    while (SLOT(import, IMPORT_GET_TYPE_REF_PROPS, uint32_t, uint32_t *, utf16 *, uint32_t, uint32_t *)(import, ++type, &scope, name, WIRE_MAX_NAME, &length) >= 0)
        for (uint32_t i = 0; length != 0 && length <= WIRE_MAX_NAME && i < sizeof test_attributes / sizeof *test_attributes; i++)
            if (equals(name, length - 1, test_attributes[i]))
                return true;
    return false;
}

static bool is_test(void *import, uint32_t token)
{
    for (uint32_t i = 0; i < sizeof test_attributes / sizeof *test_attributes; i++) {
        const uint8_t *blob = NULL;
        uint32_t bytes = 0;
        if (SLOT(import, IMPORT_GET_CUSTOM_ATTRIBUTE, uint32_t, const utf16 *, const uint8_t **, uint32_t *)(import, token, test_attributes[i], &blob, &bytes) == HR_OK)
            return true;
    }
    return false;
}

bool operations_may_be_in(void *info, uintptr_t module)
{
    static const char *const own[] = {"/Microsoft.AspNetCore.Http.Abstractions.dll", "/System.Private.CoreLib.dll", "/System.Net.Http.dll", "/System.Data.Common.dll"};
    uint32_t first = requests_on ? 0 : 1, n = interactions_on ? sizeof own / sizeof *own : startup_on ? 2 : 1;
    utf16 path[WIRE_MAX_NAME];
    uint32_t length = 0, flags = 0;
    uintptr_t assembly;
    const uint8_t *loaded;
    void *import = NULL;
    if (SLOT(info, INFO_GET_MODULE_INFO2, uintptr_t, const uint8_t **, uint32_t, uint32_t *, utf16 *, uintptr_t *, uint32_t *)(
            info, module, &loaded, WIRE_MAX_NAME, &length, path, &assembly, &flags) >= 0 &&
        length != 0 && length <= WIRE_MAX_NAME)
        for (uint32_t i = first; i < n; i++)
            if (ends(path, length - 1, own[i]) || is(path, length - 1, own[i] + 1)) /* the second: of a single-file program */
                return true;
    if (!(interactions_on || cases_on) || SLOT(info, INFO_GET_MODULE_META_DATA, uintptr_t, uint32_t, const struct guid *, void **)(info, module, 0, &IID_METADATA_IMPORT, &import) != HR_OK || import == NULL)
        return false;
    bool some = (interactions_on && names_commands(import)) || (cases_on && names_tests(import));
    com_release(import);
    return some;
}

/* ── signatures ─────────────────────────────────────────────────────────────────────────────────────────────── */

/* Goes over a type that is a number or a class, or one with such arguments. */
static bool skip_type(const uint8_t **at, const uint8_t *end, uint32_t depth)
{
    uint32_t token, n;
    if (*at >= end || depth > 8)
        return false;
    uint8_t kind = *(*at)++;
    if (kind == ELEMENT_CLASS || kind == ELEMENT_VALUE_TYPE)
        return signature_token(at, end, &token);
    if (kind == ELEMENT_VAR || kind == ELEMENT_MVAR) /* type parameters */
        return signature_number(at, end, &n);
    if (kind == ELEMENT_VECTOR) /* an array */
        return skip_type(at, end, depth + 1);
    if (kind != ELEMENT_GENERIC_INST)
        return kind <= ELEMENT_STRING || kind == ELEMENT_I || kind == ELEMENT_U || kind == ELEMENT_OBJECT;
    if (*at >= end || !skip_type(at, end, depth + 1) || !signature_number(at, end, &n))
        return false;
    for (uint32_t i = 0; i < n; i++)
        if (!skip_type(at, end, depth + 1))
            return false;
    return true;
}

static bool read_signature(struct site *s)
{
    const uint8_t *at = s->signature, *end = at + s->signature_bytes;
    uint32_t n;
    if (at >= end || (*at & SIGNATURE_GENERIC) != 0)
        return false;
    s->is_static = (*at++ & SIGNATURE_HAS_THIS) == 0;
    if (!signature_number(&at, end, &n))
        return false;
    s->result = at;
    if (!skip_type(&at, end, 0))
        return false;
    s->result_bytes = (uint32_t)(at - s->result);
    s->first = s->second = 0;
    if (n != 0 && at < end && *at++ == ELEMENT_CLASS && signature_token(&at, end, &s->first) && n != 1 && at < end && *at++ == ELEMENT_CLASS)
        signature_token(&at, end, &s->second);
    return true;
}

static bool type_name(void *import, uint32_t token, utf16 *name, uint32_t *length)
{
    uint32_t flags, base;
    hresult hr = (token & TOKEN_TABLE) == TOKEN_TYPE_DEF
                     ? SLOT(import, IMPORT_GET_TYPE_DEF_PROPS, uint32_t, utf16 *, uint32_t, uint32_t *, uint32_t *, uint32_t *)(import, token, name, WIRE_MAX_NAME, length, &flags, &base)
                     : SLOT(import, IMPORT_GET_TYPE_REF_PROPS, uint32_t, uint32_t *, utf16 *, uint32_t, uint32_t *)(import, token, &base, name, WIRE_MAX_NAME, length);
    if (hr < 0 || *length == 0 || *length > WIRE_MAX_NAME || (token & TOKEN_TABLE) == TOKEN_TYPE_SPEC)
        return false;
    --*length;
    return true;
}

enum result { RETURNS, RETURNS_TASK, RETURNS_OTHER }; /* OTHER: something else that is waited for, of which nothing is known */

static enum result result_of(struct site *s)
{
    const uint8_t *at = s->result, *end = at + s->result_bytes;
    utf16 name[WIRE_MAX_NAME];
    uint32_t token, length;
    if (at[0] == ELEMENT_GENERIC_INST && s->result_bytes > 1)
        at++;
    bool is_class = at[0] == ELEMENT_CLASS;
    if ((!is_class && at[0] != ELEMENT_VALUE_TYPE) || ++at >= end || !signature_token(&at, end, &token) || !type_name(s->import, token, name, &length))
        return RETURNS;
    if (is_class)
        return is(name, length, "System.Threading.Tasks.Task") || is(name, length, "System.Threading.Tasks.Task`1") ? RETURNS_TASK : RETURNS;
    return begins(name, length, "System.Threading.Tasks.ValueTask") ? RETURNS_OTHER : RETURNS;
}

/* ── code ───────────────────────────────────────────────────────────────────────────────────────────────────── */

struct code {
    uint8_t *bytes;
    uint32_t n;
};

static void put_u8(struct code *c, uint32_t b)
{
    if (c->n < OPERATION_CODE)
        c->bytes[c->n] = (uint8_t)b;
    c->n++;
}

static void put_token(struct code *c, uint32_t op, uint32_t token)
{
    put_u8(c, op);
    for (uint32_t i = 0; i < 32; i += 8)
        put_u8(c, token >> i & 0xFF);
}

static void put_address(struct code *c, uint64_t value)
{
    put_u8(c, LDC_I8);
    for (uint32_t i = 0; i < 64; i += 8)
        put_u8(c, value >> i & 0xFF);
    put_u8(c, CONV_I);
}

static void put_call(struct code *c, uint32_t signature, uint64_t argument, void (*function)(void))
{
    put_address(c, argument);
    put_address(c, (uintptr_t)function);
    put_token(c, CALLI, signature);
}

/* A branch forward, to where land is called for it. */
static uint32_t put_branch(struct code *c, uint32_t op)
{
    put_u8(c, op);
    put_u8(c, 0);
    return c->n;
}

static void land(struct code *c, uint32_t branch)
{
    if (c->n <= OPERATION_CODE)
        c->bytes[branch - 1] = (uint8_t)(c->n - branch);
}

static uint32_t token_of_signature(struct site *s, const uint8_t *signature, uint32_t bytes)
{
    uint32_t token = 0;
    s->failed = SLOT(s->emit, EMIT_GET_TOKEN_FROM_SIG, const uint8_t *, uint32_t, uint32_t *)(s->emit, signature, bytes, &token) < 0 || s->failed;
    return token;
}

static uint32_t member(struct site *s, uint32_t parent, const utf16 *name, const uint8_t *signature, uint32_t bytes)
{
    uint32_t token = 0;
    s->failed = SLOT(s->emit, EMIT_DEFINE_MEMBER_REF, uint32_t, const utf16 *, const uint8_t *, uint32_t, uint32_t *)(s->emit, parent, name, signature, bytes, &token) < 0 || s->failed;
    return token;
}

/* A method without parameters that a class of this module has itself; *type: the class that it returns. */
static uint32_t own_getter(struct site *s, uint32_t parent, const utf16 *name, uint32_t *type)
{
    uint32_t token = 0, owner, length, attributes, bytes = 0, rva, implementation, n;
    const uint8_t *signature = NULL;
    if (s->failed || (parent & TOKEN_TABLE) != TOKEN_TYPE_DEF ||
        SLOT(s->import, IMPORT_FIND_METHOD, uint32_t, const utf16 *, const uint8_t *, uint32_t, uint32_t *)(s->import, parent, name, NULL, 0, &token) < 0 ||
        SLOT(s->import, IMPORT_GET_METHOD_PROPS, uint32_t, uint32_t *, utf16 *, uint32_t, uint32_t *, uint32_t *, const uint8_t **, uint32_t *, uint32_t *, uint32_t *)(
            s->import, token, &owner, NULL, 0, &length, &attributes, &signature, &bytes, &rva, &implementation) < 0) {
        s->failed = true;
        return 0;
    }
    const uint8_t *at = signature + 1, *end = signature + bytes;
    *type = 0;
    if (bytes > 3 && signature_number(&at, end, &n) && at < end && *at++ == ELEMENT_CLASS)
        signature_token(&at, end, type);
    return token;
}

static const uint8_t returns_text[] = {SIGNATURE_HAS_THIS, 0, ELEMENT_STRING}, returns_bool[] = {SIGNATURE_HAS_THIS, 0, ELEMENT_BOOLEAN}, returns_int[] = {SIGNATURE_HAS_THIS, 0, ELEMENT_I4};
static const uint8_t takes_texts[] = {0, 3, 1, ELEMENT_STRING, ELEMENT_STRING, 0x18}, takes_int[] = {0, 2, 1, ELEMENT_I4, 0x18}, takes_ints[] = {0, 3, 1, ELEMENT_I4, ELEMENT_I4, 0x18};

static void write_command(struct site *s, struct operation *o)
{
    struct code c = {o->begin, 0};
    put_u8(&c, LDARG_0);
    put_token(&c, CALLVIRT, member(s, s->type, u"get_CommandText", returns_text, sizeof returns_text));
    put_u8(&c, LDNULL);
    put_call(&c, token_of_signature(s, takes_texts, sizeof takes_texts), o->kind, clrprof_interaction_text);
    o->begin_bytes = c.n;
}

/* A request that is not there, or has no address yet, has no text: the method says what is wrong, or makes it whole. */
static void write_request(struct site *s, struct operation *o)
{
    struct code c = {o->begin, 0};
    uint32_t uri = 0, method = 0, unused, request = s->first;
    uint32_t get_uri = own_getter(s, request, u"get_RequestUri", &uri), get_method = own_getter(s, request, u"get_Method", &method);
    uint32_t get_name = own_getter(s, method, u"get_Method", &unused);
    put_u8(&c, LDARG_1);
    uint32_t no_request = put_branch(&c, BRFALSE_S);
    put_u8(&c, LDARG_1);
    put_token(&c, CALLVIRT, get_uri);
    uint32_t no_address = put_branch(&c, BRFALSE_S);
    put_u8(&c, LDARG_1);
    put_token(&c, CALLVIRT, get_method);
    put_token(&c, CALLVIRT, get_name);
    put_u8(&c, LDARG_1);
    put_token(&c, CALLVIRT, get_uri);
    put_token(&c, CALLVIRT, uri == 0 ? 0 : member(s, uri, u"get_OriginalString", returns_text, sizeof returns_text));
    put_call(&c, token_of_signature(s, takes_texts, sizeof takes_texts), o->kind, clrprof_interaction_text);
    land(&c, no_request);
    land(&c, no_address);
    s->failed = s->failed || uri == 0 || c.n > OPERATION_CODE;
    o->begin_bytes = c.n;
}

/* Before each return, with the task on the stack: is it complete? If not, it gets a number, and is looked at once more: then either this
 * finds it complete, or who completes it finds the number. */
static void write_wait(struct site *s, struct operation *o)
{
    struct code c = {o->end, 0};
    uint32_t parent = 0;
    const uint8_t *at = s->result + 1;
    if (s->result[0] == ELEMENT_CLASS)
        s->failed = !signature_token(&at, s->result + s->result_bytes, &parent) || s->failed;
    else
        s->failed = SLOT(s->emit, EMIT_GET_TOKEN_FROM_TYPE_SPEC, const uint8_t *, uint32_t, uint32_t *)(s->emit, s->result, s->result_bytes, &parent) < 0 || s->failed;
    uint32_t is_complete = member(s, parent, u"get_IsCompleted", returns_bool, sizeof returns_bool), with_int = token_of_signature(s, takes_int, sizeof takes_int);
    put_u8(&c, DUP);
    uint32_t no_task = put_branch(&c, BRFALSE_S);
    put_u8(&c, DUP);
    put_token(&c, CALLVIRT, is_complete);
    uint32_t complete = put_branch(&c, BRTRUE_S);
    put_u8(&c, DUP);
    put_token(&c, CALLVIRT, member(s, parent, u"get_Id", returns_int, sizeof returns_int));
    put_call(&c, with_int, o->kind, clrprof_interaction_waits);
    put_u8(&c, DUP);
    put_token(&c, CALLVIRT, is_complete);
    uint32_t waits = put_branch(&c, BRFALSE_S);
    land(&c, complete);
    put_u8(&c, DUP);
    put_token(&c, CALLVIRT, member(s, parent, u"get_IsCompletedSuccessfully", returns_bool, sizeof returns_bool));
    put_call(&c, with_int, o->kind, clrprof_interaction_done);
    land(&c, no_task);
    land(&c, waits);
    s->failed = s->failed || c.n > OPERATION_CODE;
    o->end_bytes = c.n;
}

static void write_completion(struct site *s, struct operation *o)
{
    struct code c = {o->begin, 0};
    static const utf16 *const fields[] = {u"m_taskId", u"m_stateFlags"};
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t token = 0;
        s->failed = SLOT(s->import, IMPORT_FIND_FIELD, uint32_t, const utf16 *, const uint8_t *, uint32_t, uint32_t *)(s->import, s->type, fields[i], NULL, 0, &token) < 0 || s->failed;
        put_u8(&c, LDARG_0);
        put_token(&c, LDFLD, token);
    }
    put_call(&c, token_of_signature(s, takes_ints, sizeof takes_ints), 0, (void (*)(void))interactions_completed);
    o->begin_bytes = c.n;
}

/* No endpoint: there is none for the request, or it was taken away. */
static void write_endpoint(struct site *s, struct operation *o)
{
    struct code c = {o->begin, 0};
    uint32_t unused;
    put_u8(&c, LDARG_1);
    uint32_t none = put_branch(&c, BRFALSE_S);
    put_u8(&c, LDARG_1);
    put_token(&c, CALLVIRT, own_getter(s, s->second, u"get_DisplayName", &unused));
    put_u8(&c, LDNULL);
    put_call(&c, token_of_signature(s, takes_texts, sizeof takes_texts), o->kind, clrprof_interaction_text);
    land(&c, none);
    o->begin_bytes = c.n;
}

/* Each argument's address, and what it is. Numbers, characters and strings are read there; of others nothing but that they are there. */
static void write_case(struct site *s, struct operation *o)
{
    struct code c = {o->begin, 0};
    const uint8_t *at = s->result + s->result_bytes, *end = s->signature + s->signature_bytes, *count = s->signature + 1;
    static const uint8_t takes_argument[] = {0, 2, ELEMENT_VOID, ELEMENT_I, ELEMENT_I};
    uint32_t n = 0, with_argument = token_of_signature(s, takes_argument, sizeof takes_argument);
    s->failed = !signature_number(&count, end, &n) || n == 0 || s->failed;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t kind = at < end ? *at : 0, position = i + (s->is_static ? 0 : 1);
        bool known = kind >= ELEMENT_BOOLEAN && kind <= ELEMENT_STRING;
        if (i == CASE_ARGUMENTS || !skip_type(&at, end, 0)) {
            put_address(&c, 0);
            put_call(&c, with_argument, CASE_MORE, (void (*)(void))cases_argument);
            break;
        }
        if (known) {
            put_u8(&c, LDARGA_S);
            put_u8(&c, position);
            put_u8(&c, CONV_U);
        } else {
            put_address(&c, 0);
        }
        put_call(&c, with_argument, kind, (void (*)(void))cases_argument);
    }
    s->failed = s->failed || c.n > OPERATION_CODE;
    o->begin_bytes = c.n;
}

/* The runtime's own function takes a path, and does nothing where startup hooks are off. It throws if it loads no such assembly, as where the
 * program has another one of that name. Nobody would catch that, and the program would end before it began. */
static void write_startup(struct site *s, struct operation *o)
{
    static const uint8_t takes_path[] = {0, 1, ELEMENT_VOID, ELEMENT_PTR, ELEMENT_CHAR};
    struct code c = {o->end, 0};
    uint32_t token = 0;
    s->failed = SLOT(s->import, IMPORT_FIND_METHOD, uint32_t, const utf16 *, const uint8_t *, uint32_t, uint32_t *)(s->import, s->type, u"CallStartupHook", takes_path, sizeof takes_path, &token) < 0 ||
                SLOT(s->import, IMPORT_FIND_TYPE_DEF, const utf16 *, uint32_t, uint32_t *)(s->import, u"System.Object", 0, &o->caught) < 0 || s->failed;
    put_address(&c, (uintptr_t)meters_hook());
    put_token(&c, CALL, token);
    o->end_bytes = c.n;
}

/* ── methods ────────────────────────────────────────────────────────────────────────────────────────────────── */

/* The same of a generic class, whose code belongs to no class alone, by metadata: each of its base classes is generic and of this module, up to
 * one that is not, which is the one that the code names. False: it is none, or another module knows. */
static bool is_generic_command(struct site *s)
{
    uint32_t type = s->type, flags, base = 0, length, named = 0, bytes;
    utf16 name[WIRE_MAX_NAME];
    for (uint32_t i = 0; i < MAX_BASES && (type & TOKEN_TABLE) == TOKEN_TYPE_DEF; i++) {
        const uint8_t *spec = NULL;
        if (SLOT(s->import, IMPORT_GET_TYPE_DEF_PROPS, uint32_t, utf16 *, uint32_t, uint32_t *, uint32_t *, uint32_t *)(s->import, type, NULL, 0, &length, &flags, &base) < 0)
            return false;
        type = base;
        if ((base & TOKEN_TABLE) != TOKEN_TYPE_SPEC) {
            named = named == 0 ? base : named;
            continue;
        }
        if (SLOT(s->import, IMPORT_GET_TYPE_SPEC, uint32_t, const uint8_t **, uint32_t *)(s->import, base, &spec, &bytes) < 0 || bytes < 3 ||
            spec[0] != ELEMENT_GENERIC_INST || spec[1] != ELEMENT_CLASS)
            return false;
        const uint8_t *end = spec + bytes;
        spec += 2;
        if (!signature_token(&spec, end, &type))
            return false;
    }
    if (named == 0 || !type_name(s->import, type, name, &length) || !is(name, length, "System.Data.Common.DbCommand"))
        return false;
    s->type = named;
    return true;
}

/* Is the class that of all commands, or derived from it? */
static bool is_command_class(void *info, uintptr_t class_id, struct site *s)
{
    utf16 name[WIRE_MAX_NAME];
    for (uint32_t i = 0; class_id != 0 && i < MAX_BASES; i++) {
        uintptr_t module = 0, parent = 0;
        uint32_t type = 0, n = 0, length = 0;
        void *import = NULL;
        hresult hr = SLOT(info, INFO_GET_CLASS_ID_INFO2, uintptr_t, uintptr_t *, uint32_t *, uintptr_t *, uint32_t, uint32_t *, uintptr_t *)(
            info, class_id, &module, &type, &parent, 0, &n, NULL);
        if (hr >= 0 && n != 0 && i == 0)
            return is_generic_command(s);
        if (hr < 0 ||
            SLOT(info, INFO_GET_MODULE_META_DATA, uintptr_t, uint32_t, const struct guid *, void **)(info, module, 0, &IID_METADATA_IMPORT, &import) != HR_OK || import == NULL)
            return false;
        bool found = type_name(import, type, name, &length) && is(name, length, "System.Data.Common.DbCommand");
        com_release(import);
        if (found)
            return true;
        class_id = parent;
    }
    return false;
}

static uint32_t kind_of(void *info, struct site *s, uintptr_t class_id)
{
    if (cases_on && is_test(s->import, s->token))
        return INTERACTION_CASE;
    if (is(s->name, s->length, "ManagedStartup"))
        return s->is_static && is(s->type_name, s->type_length, "System.StartupHookProvider") ? INTERACTION_STARTUP : 0;
    if (s->is_static)
        return is(s->name, s->length, "SetEndpoint") && is(s->type_name, s->type_length, "Microsoft.AspNetCore.Http.EndpointHttpContextExtensions") &&
                       s->second != 0 ? INTERACTION_REQUEST : 0;
    if (is_command(s->name, s->length))
        return (class_id == 0 ? is_generic_command(s) : is_command_class(info, class_id, s)) ? WIRE_INTERACTION_DATABASE : 0;
    if (is(s->name, s->length, "FinishContinuations"))
        return is(s->type_name, s->type_length, "System.Threading.Tasks.Task") ? INTERACTION_COMPLETION : 0;
    utf16 name[WIRE_MAX_NAME];
    uint32_t length;
    bool sends = is(s->type_name, s->type_length, "System.Net.Http.HttpMessageInvoker") || is(s->type_name, s->type_length, "System.Net.Http.HttpClient");
    return sends && s->first != 0 && type_name(s->import, s->first, name, &length) && is(name, length, "System.Net.Http.HttpRequestMessage") ? WIRE_INTERACTION_HTTP : 0;
}

static bool write(void *info, struct site *s, uintptr_t module, struct operation *o)
{
    enum result result = result_of(s);
    if ((result == RETURNS_OTHER && o->kind != INTERACTION_CASE) ||
        SLOT(info, INFO_GET_MODULE_META_DATA, uintptr_t, uint32_t, const struct guid *, void **)(info, module, OPEN_WRITE, &IID_METADATA_EMIT, &s->emit) != HR_OK || s->emit == NULL)
        return false;
    if (o->kind == WIRE_INTERACTION_DATABASE)
        write_command(s, o);
    else if (o->kind == WIRE_INTERACTION_HTTP)
        write_request(s, o);
    else if (o->kind == INTERACTION_REQUEST)
        write_endpoint(s, o);
    else if (o->kind == INTERACTION_STARTUP)
        write_startup(s, o);
    else if (o->kind == INTERACTION_CASE)
        write_case(s, o);
    else
        write_completion(s, o);
    if (result == RETURNS_TASK && o->kind != INTERACTION_CASE)
        write_wait(s, o);
    com_release(s->emit);
    return !s->failed;
}

bool operations_is_case(uintptr_t module, uint32_t token)
{
    uint32_t type, length, attributes, bytes = 0, rva, implementation, n = 0;
    const uint8_t *signature = NULL;
    void *import = NULL;
    if (SLOT(agent_info, INFO_GET_MODULE_META_DATA, uintptr_t, uint32_t, const struct guid *, void **)(agent_info, module, 0, &IID_METADATA_IMPORT, &import) != HR_OK || import == NULL)
        return false;
    bool known = SLOT(import, IMPORT_GET_METHOD_PROPS, uint32_t, uint32_t *, utf16 *, uint32_t, uint32_t *, uint32_t *, const uint8_t **, uint32_t *, uint32_t *, uint32_t *)(
                     import, token, &type, NULL, 0, &length, &attributes, &signature, &bytes, &rva, &implementation) >= 0 &&
                 bytes > 2 && (signature[0] & SIGNATURE_GENERIC) == 0;
    const uint8_t *at = signature + 1;
    known = known && signature_number(&at, signature + bytes, &n) && n != 0 && is_test(import, token);
    com_release(import);
    return known;
}

bool operations_find(void *info, uintptr_t function_id, uintptr_t module, uint32_t token, struct operation *o)
{
    struct site s = {.token = token};
    uint32_t attributes, rva, implementation;
    uintptr_t class_id = 0, same;
    uint32_t same_token;
    *o = (struct operation){.kind = 0};
    if (SLOT(info, INFO_GET_FUNCTION_INFO, uintptr_t, uintptr_t *, uintptr_t *, uint32_t *)(info, function_id, &class_id, &same, &same_token) < 0 ||
        SLOT(info, INFO_GET_MODULE_META_DATA, uintptr_t, uint32_t, const struct guid *, void **)(info, module, 0, &IID_METADATA_IMPORT, &s.import) != HR_OK || s.import == NULL)
        return false;
    bool found = SLOT(s.import, IMPORT_GET_METHOD_PROPS, uint32_t, uint32_t *, utf16 *, uint32_t, uint32_t *, uint32_t *, const uint8_t **, uint32_t *, uint32_t *,
                      uint32_t *)(s.import, token, &s.type, s.name, WIRE_MAX_NAME, &s.length, &attributes, &s.signature, &s.signature_bytes, &rva, &implementation) >= 0 &&
                 s.length != 0 && s.length <= WIRE_MAX_NAME && type_name(s.import, s.type, s.type_name, &s.type_length) && read_signature(&s);
    s.length--;
    found = found && (o->kind = kind_of(info, &s, class_id)) != 0 && write(info, &s, module, o);
    com_release(s.import);
    return found;
}
