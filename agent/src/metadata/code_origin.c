/* The rules are those of internal/dotnet/usercode, in its order. */
#include "core/hash_map.h"
#include "metadata/code_origin.h"

#include <string.h>

/* ── rules ──────────────────────────────────────────────────────────────────────────────────────────────────── */

static size_t folder_bytes(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? 0 : (size_t)(slash - path);
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + 'a' - 'A') : c;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Is a folder called as versions are: digits, a dot, a digit? */
static bool is_version(const char *part, const char *end)
{
    const char *p = part;
    while (p < end && is_digit(*p))
        p++;
    return p > part && p + 1 < end && p[0] == '.' && is_digit(p[1]);
}

/* Does a path lead through a folder of this name and then, n levels deeper, one that is called as versions are? */
static bool is_below(const char *path, const char *folder, uint32_t n)
{
    const char *end = path + folder_bytes(path);
    size_t bytes = strlen(folder);
    for (const char *part = path, *stop; part < end; part = stop + 1) {
        stop = memchr(part, '/', (size_t)(end - part));
        if (stop == NULL)
            stop = end;
        bool equal = (size_t)(stop - part) == bytes;
        for (size_t i = 0; equal && i < bytes; i++)
            equal = lower(part[i]) == folder[i];
        const char *version = stop;
        for (uint32_t i = 1; equal && i < n && version < end; i++) {
            version = memchr(version + 1, '/', (size_t)(end - version - 1));
            if (version == NULL)
                version = end;
        }
        if (!equal || version >= end)
            continue;
        const char *version_end = memchr(version + 1, '/', (size_t)(end - version - 1));
        if (is_version(version + 1, version_end == NULL ? end : version_end))
            return true;
    }
    return false;
}

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* Is a module in memory called as those are that the framework and well-known packages emit? */
static bool is_framework_name(const char *name)
{
    static const char *const begin[] = {"System.", "Microsoft.", "DynamicProxyGenAssembly", "ProxyBuilder", "MetadataViewProxies_", "Snippets", "Anonymously Hosted"};
    for (size_t i = 0; i < sizeof begin / sizeof *begin; i++)
        if (begins(name, begin[i]))
            return true;
    return false;
}

/* Is a file called as what packages put beside tests without saying so in deps.json: adapters, which the test platform finds by
 * this name, and NUnit's engine? */
static bool is_test_adapter(const char *path)
{
    static const char adapter[] = "testadapter.dll";
    const char *name = strrchr(path, '/') == NULL ? path : strrchr(path, '/') + 1;
    size_t bytes = strlen(name), end = sizeof adapter - 1;
    bool is_adapter = bytes >= end;
    for (size_t i = 0; is_adapter && i < end; i++)
        is_adapter = lower(name[bytes - end + i]) == adapter[i];
    return is_adapter || begins(name, "nunit.engine.") || begins(name, "testcentric.");
}

static bool same_folder(const char *path, const char *other)
{
    size_t bytes = folder_bytes(path);
    return *other != 0 && bytes == folder_bytes(other) && memcmp(path, other, bytes) == 0;
}

uint32_t origin_of(const struct origin_facts *f)
{
    if (f->by_pattern)
        return WIRE_ORIGIN_PATTERN;
    if (f->in_memory)
        return is_framework_name(f->name) ? WIRE_ORIGIN_GENERATED : WIRE_ORIGIN_MEMORY;
    if (*f->folder != 0 && strlen(f->folder) == folder_bytes(f->path) && begins(f->path, f->folder))
        return WIRE_ORIGIN_FOLDER;
    if (is_below(f->path, "shared", 2))
        return WIRE_ORIGIN_FRAMEWORK;
    if (is_below(f->path, "sdk", 1))
        return WIRE_ORIGIN_SDK;
    if (f->kind != 0)
        return f->kind == DEPS_PROJECT ? WIRE_ORIGIN_PROJECT : f->kind == DEPS_RUNTIME_PACK ? WIRE_ORIGIN_FRAMEWORK : WIRE_ORIGIN_PACKAGE;
    if (is_below(f->path, "packages", 2) || is_test_adapter(f->path))
        return WIRE_ORIGIN_PACKAGE;
    if (begins(f->company, "Microsoft"))
        return WIRE_ORIGIN_MICROSOFT;
    return f->is_main || same_folder(f->path, f->main) ? WIRE_ORIGIN_BESIDE : WIRE_ORIGIN_ELSEWHERE;
}

bool origin_is_framework_file(const char *path)
{
    const char *slash = strrchr(path, '/');
    return is_below(path, "shared", 2) || begins(slash == NULL ? path : slash + 1, "System.");
}

bool origin_is_user(uint32_t origin)
{
    return origin != WIRE_ORIGIN_UNKNOWN && origin <= WIRE_ORIGIN_FOLDER;
}

/* ── deps.json ──────────────────────────────────────────────────────────────────────────────────────────────── */

/* The two parts that matter (dotnet/sdk, documentation/specs/runtime-configuration-file.md):
 *
 *   "targets": {"framework": {"LIBRARY": {"runtime": {"lib/net8.0/FILE": {…}}, "runtimeTargets": {"FILE": {…}}}}},
 *   "libraries": {"LIBRARY": {"type": "project" or "runtimepack" or "package" or …}}
 *
 * Names of libraries are compared as they are written in the file, escapes too: one writer wrote both. */
#define LEVELS 6u /* of objects whose keys are looked at, and one below */

struct text {
    const char *at;
    size_t bytes;
};

struct scanner {
    const char *at, *end;
    uint32_t depth;
    struct text keys[LEVELS]; /* the one that is open on each level, from 1 */
};

static uint64_t add_all(uint64_t hash, struct text t)
{
    for (size_t i = 0; i < t.bytes; i++)
        hash = key_add(hash, (uint8_t)t.at[i]);
    return hash;
}

static uint64_t add_lower(uint64_t hash, uint8_t c)
{
    return key_add(hash, (uint8_t)lower((char)c));
}

static uint64_t folder_key(const char *path)
{
    return key_add(add_all(KEY_START, (struct text){path, folder_bytes(path)}), 0);
}

uint64_t deps_key(const char *path)
{
    uint64_t hash = folder_key(path);
    const char *slash = strrchr(path, '/');
    for (const char *c = slash == NULL ? path : slash + 1; *c != 0; c++)
        hash = add_lower(hash, (uint8_t)*c);
    return key_made(hash);
}

static bool is(struct text t, const char *what)
{
    return t.bytes == strlen(what) && memcmp(t.at, what, t.bytes) == 0;
}

/* The string that begins here, as it is written. */
static struct text scan_string(struct scanner *s)
{
    const char *from = ++s->at;
    while (s->at < s->end && *s->at != '"')
        s->at += *s->at == '\\' && s->at + 1 < s->end ? 2 : 1;
    struct text t = {from, (size_t)((s->at < s->end ? s->at : s->end) - from)};
    s->at = s->at < s->end ? s->at + 1 : s->end;
    return t;
}

/* The next key of an object, or a string that is a value. False: the text is at its end, or is none. */
static bool next(struct scanner *s, struct text *t, bool *is_key)
{
    while (s->at < s->end) {
        switch (*s->at) {
        case '{':
        case '[':
            s->depth++;
            break;
        case '}':
        case ']':
            if (s->depth-- <= 1)
                return false;
            break;
        case '"':
            *t = scan_string(s);
            while (s->at < s->end && (*s->at == ' ' || *s->at == '\n' || *s->at == '\r' || *s->at == '\t'))
                s->at++;
            *is_key = s->at < s->end && *s->at == ':';
            if (*is_key && s->depth < LEVELS)
                s->keys[s->depth] = *t;
            return true;
        }
        s->at++;
    }
    return false;
}

static uint32_t hex4(const char *at)
{
    uint32_t value = 0;
    for (int i = 0; i < 4; i++) {
        char c = at[i];
        value = value << 4 | (uint32_t)(c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : 0);
    }
    return value;
}

static uint64_t add_character(uint64_t hash, uint32_t c) /* as UTF-8 */
{
    if (c < 0x80)
        return add_lower(hash, (uint8_t)c);
    if (c < 0x800)
        return key_add(key_add(hash, (uint8_t)(0xC0 | c >> 6)), (uint8_t)(0x80 | (c & 0x3F)));
    hash = c < 0x10000 ? key_add(hash, (uint8_t)(0xE0 | c >> 12)) : key_add(key_add(hash, (uint8_t)(0xF0 | c >> 18)), (uint8_t)(0x80 | (c >> 12 & 0x3F)));
    return key_add(key_add(hash, (uint8_t)(0x80 | (c >> 6 & 0x3F))), (uint8_t)(0x80 | (c & 0x3F)));
}

/* The key of an asset's file, whose name stands behind the last slash. */
static uint64_t asset_key(uint64_t folder, struct text t)
{
    uint64_t hash = folder;
    for (size_t i = 0; i < t.bytes; i++) {
        uint32_t c = (uint8_t)t.at[i];
        bool escaped = c == '\\' && i + 1 < t.bytes;
        if (escaped && t.at[i + 1] == 'u' && i + 5 < t.bytes) {
            c = hex4(t.at + i + 2);
            i += 5;
            if (c >> 10 == 0x36 && i + 6 < t.bytes && t.at[i + 1] == '\\' && t.at[i + 2] == 'u') {
                c = 0x10000 + ((c & 0x3FF) << 10) + (hex4(t.at + i + 3) & 0x3FF);
                i += 6;
            }
            hash = add_character(hash, c);
        } else {
            if (escaped)
                c = (uint8_t)t.at[++i];
            hash = c < 0x80 ? add_lower(hash, (uint8_t)c) : key_add(hash, (uint8_t)c);
        }
        if (c == '/')
            hash = folder;
    }
    return key_made(hash);
}

static uint64_t library_key(struct text t)
{
    return key_made(add_all(0, t));
}

static uint64_t kind_of(struct text type)
{
    return type.bytes == 0 ? 0 : is(type, "project") ? DEPS_PROJECT : is(type, "runtimepack") ? DEPS_RUNTIME_PACK : DEPS_PACKAGE;
}

bool deps_read(const char *text, size_t bytes, const char *folder, struct map *libraries, struct map *kinds)
{
    struct text t;
    bool is_key, room = true;
    struct scanner s = {.at = text, .end = text + bytes};
    while (room && next(&s, &t, &is_key))
        if (!is_key && s.depth == 3 && is(s.keys[1], "libraries") && is(s.keys[3], "type"))
            room = map_put(libraries, library_key(s.keys[2]), kind_of(t));
    s = (struct scanner){.at = text, .end = text + bytes};
    while (room && next(&s, &t, &is_key)) {
        if (!is_key || s.depth != 5 || !is(s.keys[1], "targets") || (!is(s.keys[4], "runtime") && !is(s.keys[4], "runtimeTargets")))
            continue;
        uint64_t kind = map_get(libraries, library_key(s.keys[3])), key = asset_key(folder_key(folder), t), known = map_get(kinds, key);
        if (kind != 0 && (known == 0 || kind < known))
            room = map_put(kinds, key, kind);
    }
    return room;
}
