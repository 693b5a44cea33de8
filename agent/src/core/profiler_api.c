/* Interface ids of the CLR profiling and metadata API. */
#include "core/agent.h"

const struct guid IID_UNKNOWN = {0x00000000, 0, 0, {0xC0, 0, 0, 0, 0, 0, 0, 0x46}};
const struct guid IID_CLASS_FACTORY = {0x00000001, 0, 0, {0xC0, 0, 0, 0, 0, 0, 0, 0x46}};
const struct guid IID_METADATA_IMPORT = {0x7DAC8207, 0xD3AE, 0x4C75, {0x9B, 0x67, 0x92, 0x80, 0x1A, 0x49, 0x7D, 0x44}};
const struct guid IID_METADATA_IMPORT2 = {0xFCE5EFA0, 0x8BBA, 0x4F8E, {0xA0, 0x36, 0x8F, 0x20, 0x22, 0xB0, 0x84, 0x66}};
const struct guid IID_METADATA_ASSEMBLIES = {0xEE62470B, 0xE94B, 0x424E, {0x9B, 0x7C, 0x2F, 0x00, 0xC9, 0x24, 0x9F, 0x93}};
const struct guid IID_METADATA_EMIT = {0xBA3FEE4C, 0xECB9, 0x4E41, {0x83, 0xB7, 0x18, 0x3F, 0xA4, 0x1C, 0xD8, 0x59}};
const struct guid IID_INFO9 = {0x008170DB, 0xF8CC, 0x4796, {0x9A, 0x51, 0xDC, 0x8A, 0xA0, 0xB4, 0x70, 0x12}};
const struct guid IID_INFO10 = {0x2F1B5152, 0xC869, 0x40C9, {0xAA, 0x5F, 0x3A, 0xBE, 0x02, 0x6B, 0xD7, 0x20}};
const struct guid IID_INFO12 = {0x27B24CCD, 0x1CB1, 0x47C5, {0x96, 0xEE, 0x98, 0x19, 0x0D, 0xC3, 0x09, 0x59}};
const struct guid IID_INFO13 = {0x6E6C7EE2, 0x0701, 0x4EC2, {0x9D, 0x29, 0x2E, 0x87, 0x33, 0xB6, 0x69, 0x34}};
const struct guid IID_INFO14 = {0xF460E352, 0xD76D, 0x4FE9, {0x83, 0x5F, 0xF6, 0xAF, 0x9D, 0x6E, 0x86, 0x2D}};

const struct guid IID_CALLBACKS[CALLBACK_INTERFACES] = {
    {0x176FBED1, 0xA55C, 0x4796, {0x98, 0xCA, 0xA9, 0xDA, 0x0E, 0xF8, 0x83, 0xE7}},
    {0x8A8CC829, 0xCCF2, 0x49FE, {0xBB, 0xAE, 0x0F, 0x02, 0x22, 0x28, 0x07, 0x1A}},
    {0x4FD2ED52, 0x7731, 0x4B8D, {0x94, 0x69, 0x03, 0xD2, 0xCC, 0x30, 0x86, 0xC5}},
    {0x7B63B2E3, 0x107D, 0x4D48, {0xB2, 0xF6, 0xF6, 0x1E, 0x22, 0x94, 0x70, 0xD2}},
    {0x8DFBA405, 0x8C9F, 0x45F8, {0xBF, 0xFA, 0x83, 0xB1, 0x4C, 0xEF, 0x78, 0xB5}},
    {0xFC13DF4B, 0x4448, 0x4F4F, {0x95, 0x0C, 0xBA, 0x8D, 0x19, 0xD0, 0x0C, 0x36}},
    {0xF76A2DBA, 0x1D52, 0x4539, {0x86, 0x6C, 0x2A, 0xA5, 0x18, 0xF9, 0xEF, 0xC3}},
    {0x5BED9B15, 0xC079, 0x4D47, {0xBF, 0xE2, 0x21, 0x5A, 0x14, 0x0C, 0x07, 0xE0}},
    {0x27583EC3, 0xC8F5, 0x482F, {0x80, 0x52, 0x19, 0x4B, 0x8C, 0xE4, 0x70, 0x5A}},
    {0xCEC5B60E, 0xC69C, 0x495F, {0x87, 0xF6, 0x84, 0xD2, 0x8E, 0xE1, 0x6F, 0xFB}},
    {0x42350846, 0xAAED, 0x47F7, {0xB1, 0x28, 0xFD, 0x0C, 0x98, 0x88, 0x1C, 0xDE}},
};

bool method_has_il(void *info, uintptr_t module, uint32_t token)
{
    const uint8_t *body = NULL;
    uint32_t size = 0;
    return SLOT(info, INFO_GET_IL_FUNCTION_BODY, uintptr_t, uint32_t, const uint8_t **, uint32_t *)(info, module, token, &body, &size) >= 0 && body != NULL;
}

bool method_of_function(void *info, uintptr_t function_id, uintptr_t *module, uint32_t *token)
{
    uintptr_t class_id;
    *module = 0;
    return SLOT(info, INFO_GET_FUNCTION_INFO, uintptr_t, uintptr_t *, uintptr_t *, uint32_t *)(info, function_id, &class_id, module, token) >= 0 && *module != 0;
}

bool method_is_extern(void *info, uintptr_t module, uint32_t token, uint32_t attributes, uint32_t rva, uint32_t implementation)
{
    enum { ABSTRACT = 0x400, CODE_TYPE = 0x3, INTERNAL_CALL = 0x1000 };
    return rva == 0 && (attributes & ABSTRACT) == 0 && (implementation & (CODE_TYPE | INTERNAL_CALL)) == 0 && !method_has_il(info, module, token);
}

static bool is_emitted(const utf16 *name, uint32_t length)
{
    static const char emitted[] = "RefEmit_InMemoryManifestModule"; /* AssemblyBuilder.cs */
    uint32_t i = 0;
    while (i < sizeof emitted - 1 && i < length && name[i] == (utf16)emitted[i])
        i++;
    return i == sizeof emitted - 1;
}

void module_name_emitted(void *info, uintptr_t module, utf16 *name, uint32_t *length, uint32_t capacity)
{
    uint32_t n = 0, flags;
    uintptr_t assembly = 0, domain, manifest;
    const uint8_t *base;
    if (is_emitted(name, *length) &&
        SLOT(info, INFO_GET_MODULE_INFO2, uintptr_t, const uint8_t **, uint32_t, uint32_t *, utf16 *, uintptr_t *, uint32_t *)(info, module, &base, 0, &n, NULL, &assembly,
                                                                                                                               &flags) >= 0 &&
        SLOT(info, INFO_GET_ASSEMBLY_INFO, uintptr_t, uint32_t, uint32_t *, utf16 *, uintptr_t *, uintptr_t *)(info, assembly, capacity, &n, name, &domain, &manifest) >= 0)
        *length = n < capacity ? n : capacity;
}

bool module_path(void *info, uintptr_t module, utf16 *path, uint32_t *length, uint32_t *flags)
{
    uint32_t n = 0;
    uintptr_t assembly = 0;
    const uint8_t *base = NULL;
    *length = *flags = 0;
    if (SLOT(info, INFO_GET_MODULE_INFO2, uintptr_t, const uint8_t **, uint32_t, uint32_t *, utf16 *, uintptr_t *, uint32_t *)(
            info, module, &base, WIRE_MAX_NAME, &n, path, &assembly, flags) < 0 ||
        n == 0 || n > WIRE_MAX_NAME)
        return false;
    module_name_emitted(info, module, path, &n, WIRE_MAX_NAME);
    *length = n - 1;
    return true;
}
