/* The runtime's own functions among the managed ones.
 *
 * From release to release more of the runtime is written in C#. What compiled code calls without that the program has a
 * call there (casts, boxes, bases of static fields: WIRE_HELPERS) is as little part of the program as it was in C++, and
 * so is the code that finds the handler of an exception. */
#include "metadata/jit_helpers.h"
#include "metadata/descriptions.h"

#include <string.h>

static uint32_t take_u32(const uint8_t **p, const uint8_t *end)
{
    uint32_t v = 0;
    if (end - *p >= 4)
        memcpy(&v, *p, 4);
    *p += 4;
    return v;
}

static void append(struct full_name *f, const uint8_t **p, const uint8_t *end, utf16 separator)
{
    uint32_t n = take_u32(p, end);
    if (f->length + n + 1 > MAX_FULL_NAME || *p > end || n > (uint64_t)(end - *p) / 2)
        return;
    if (separator != 0)
        f->text[f->length++] = separator;
    memcpy(f->text + f->length, *p, 2 * n);
    f->length += n;
    *p += 2 * n;
}

void full_name_read(struct full_name *f, const uint8_t *p, const uint8_t *end)
{
    f->length = f->namespace_end = f->outer_end = 0;
    uint32_t types = take_u32(&p, end);
    for (uint32_t i = 0; i < types && p < end; i++) {
        append(f, &p, end, i == 0 ? 0 : '/');
        if (i == 0)
            f->outer_end = f->length;
    }
    f->type_end = f->length;
    for (uint32_t i = 0; i < f->outer_end; i++)
        if (f->text[i] == '.')
            f->namespace_end = i;
    append(f, &p, end, types == 0 ? 0 : '.');
}

/* A * at the end of the pattern stands for any rest. */
static bool is_called(const struct full_name *f, const char *pattern)
{
    uint32_t n = (uint32_t)strlen(pattern);
    bool prefix = pattern[n - 1] == '*';
    n -= prefix;
    if (prefix ? f->length < n : f->length != n)
        return false;
    for (uint32_t i = 0; i < n; i++)
        if (f->text[i] != (utf16)pattern[i])
            return false;
    return true;
}

uint64_t helper_class(const uint8_t *names, const uint8_t *end)
{
    static const char *const helpers[] = {WIRE_HELPERS};
    struct full_name f;
    full_name_read(&f, names, end);
    for (size_t i = 0; i < sizeof helpers / sizeof *helpers; i++)
        if (is_called(&f, helpers[i]))
            return FUNCTION_IS_HELPER | (is_called(&f, "System.RuntimeTypeHandle.<InternalAllocNoChecks>*") ? FUNCTION_IS_SLOW_WAY : 0);
    /* From .NET 9 on exceptions are dispatched by managed code, which the runtime enters by these (EH.CoreCLR.cs, EH.cs). */
    return is_called(&f, "System.Runtime.EH.Rh*") ? FUNCTION_IS_DISPATCHER : 0;
}
