/* Which methods of a module may keep their precompiled code, when some functions of it are instrumented or marked: those that are
 * neither themselves, and have none in their code that is.
 *
 * When a module is loaded its image's own list of what is inlined where (ready_to_run.h) is read once, and each method of the module gets a byte
 * of flags; a method is then decided by one look. A module of which that cannot be known has no flags, and all of
 * its code is refused. So is that of all modules as soon as one image may have code of others': what its list says, the flags do not;
 * and that of modules without instrumented functions, too, if one is wanted that no list ever has. */
#define _GNU_SOURCE
#include "core/arena.h"
#include "metadata/jit_helpers.h"
#include "filter/r2r_inliners.h"
#include "filter/instrumentation.h"
#include "core/hash_map.h"
#include "il/ready_to_run.h"
#include "core/log_record.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define MAX_METHODS 0xFFFFFFu /* in a token */
#define IS_ANYWHERE 4u /* beside R2R_…: in a process that runs already, code of it may run that nobody finds */

struct flags { /* of the methods of a module; never freed: a module with precompiled code is not unloaded */
    uint32_t n;
    enum r2r_kind kind; /* of the module's image */
    uint8_t of[];       /* from 1 on */
};

struct scratch {
    utf16 name[WIRE_MAX_NAME];
    uint8_t record[(WIRE_MAX_NESTING + 2) * WIRE_MAX_NAME * sizeof(utf16)];
};

struct namer { /* a module's methods by name */
    void *import;
    struct scratch *scratch;
    bool is_mine;  /* its functions are instrumented, unless a rule excludes them */
    bool any;      /* rules or marks may be about whatever it has */
    bool all_listed; /* no method has an attribute for which the image's list leaves it out */
    uint32_t type; /* the last one */
    bool may;      /* rules or marks may be about some of the type */
    utf16 path[WIRE_MAX_NAME];
    uint32_t path_length;
};

static void *info;
static struct map known; /* ModuleID → struct flags */
static bool has_foreign; /* an image may have other modules' code */
static bool is_anywhere; /* what is wanted may be in any code */
static bool runs_already; /* the process does: all methods that are wanted have to be known */

/* ── images ─────────────────────────────────────────────────────────────────────────────────────────────────── */

struct loaded { /* where an image is */
    int memory; /* this process's own, as a file: reading it fails where there is none, and filters of system calls allow it */
    uintptr_t base;
};

static bool read_image(void *context, uint32_t address, void *out, uint32_t bytes)
{
    const struct loaded *at = context;
    return pread(at->memory, out, bytes, (off_t)(at->base + address)) == (ssize_t)bytes;
}

static bool may_lack_some(const struct r2r_image *image)
{
    uint8_t *piece = private_alloc(R2R_PIECE);
    bool may = piece == NULL || r2r_may_lack_some(image, piece);
    if (piece != NULL)
        private_free(piece, R2R_PIECE);
    return may;
}

/* flags: NULL, if nobody wants to know. */
static enum r2r_kind mark(const struct r2r_image *image, struct flags *flags)
{
    uint8_t *list = private_alloc(image->list_bytes);
    enum r2r_kind kind = R2R_FOREIGN;
    if (list != NULL && image->read(image->context, image->list, list, image->list_bytes))
        kind = r2r_mark(image, list, flags == NULL ? NULL : flags->of, flags == NULL ? 0 : flags->n);
    if (list != NULL)
        private_free(list, image->list_bytes);
    return kind;
}

/* ── names ──────────────────────────────────────────────────────────────────────────────────────────────────── */

static bool method_type(const struct namer *n, uint32_t method, uint32_t *type, utf16 *name, uint32_t *length)
{
    uint32_t attributes, signature_bytes, rva, implementation;
    const uint8_t *signature;
    return SLOT(n->import, IMPORT_GET_METHOD_PROPS, uint32_t, uint32_t *, utf16 *, uint32_t, uint32_t *, uint32_t *, const uint8_t **, uint32_t *, uint32_t *,
                uint32_t *)(n->import, TOKEN_METHOD_DEF | method, type, name, name == NULL ? 0 : WIRE_MAX_NAME, length, &attributes, &signature, &signature_bytes, &rva,
                            &implementation) >= 0;
}

/* How many methods the module has: a token beyond has no properties. */
static uint32_t count_methods(const struct namer *n)
{
    uint32_t type, length, has = 0, has_not = 1;
    while (has_not < MAX_METHODS && method_type(n, has_not, &type, NULL, &length)) {
        has = has_not;
        has_not *= 2;
    }
    while (has_not - has > 1) {
        uint32_t middle = has + (has_not - has) / 2;
        if (method_type(n, middle, &type, NULL, &length))
            has = middle;
        else
            has_not = middle;
    }
    return has;
}

/* Is a method instrumented, or marked? Methods of a type come one after the other. */
static bool is_wanted(struct namer *n, uint32_t method)
{
    uint32_t type = 0, length = 0;
    struct record r;
    struct full_name f;
    if (!method_type(n, method, &type, NULL, &length))
        return true;
    if (type == n->type && !n->may)
        return false;
    record_begin(&r, n->scratch->record, sizeof n->scratch->record);
    const uint8_t *names = r.p;
    put_type_names(&r, n->import, type, n->scratch->name);
    if (type != n->type) {
        n->type = type;
        full_name_read(&f, names, r.p);
        n->may = n->any || r.full || instrument_may_want(f.text, f.length);
        if (!n->may)
            return false;
    }
    if (!method_type(n, method, &type, n->scratch->name, &length))
        return true;
    put_name(&r, n->scratch->name, length);
    return r.full || instrument_wants(n->path, n->path_length, n->is_mine, names, r.p);
}

/* Images leave methods that never change out of their lists, as inlinees and as inliners, and they may be in the code of any other image. */
static bool is_unlisted(const struct namer *n, uint32_t method)
{
    const void *data;
    uint32_t bytes;
    return !n->all_listed && SLOT(n->import, IMPORT_GET_CUSTOM_ATTRIBUTE, uint32_t, const utf16 *, const void **, uint32_t *)(
                                 n->import, TOKEN_METHOD_DEF | method, u"System.Runtime.Versioning.NonVersionableAttribute", &data, &bytes) != HR_FALSE;
}

static struct flags *ask_rules(struct namer *n)
{
    uint32_t methods = count_methods(n);
    struct flags *flags = private_alloc(sizeof *flags + methods + 1);
    if (flags == NULL)
        return NULL;
    flags->n = methods;
    for (uint32_t i = 1; i <= methods; i++) {
        bool wanted = is_wanted(n, i), unlisted = is_unlisted(n, i);
        bool anywhere = wanted && unlisted;
        flags->of[i] = (uint8_t)((wanted ? R2R_IS_WANTED : 0) | (unlisted ? R2R_HAS_WANTED : 0) | (anywhere && runs_already ? IS_ANYWHERE : 0));
        if (anywhere && !runs_already)
            __atomic_store_n(&is_anywhere, true, __ATOMIC_RELEASE);
    }
    return flags;
}

/* NULL: the module's code is refused as a whole. */
static struct flags *new_flags(uintptr_t module, bool all_listed)
{
    struct namer n = {0};
    struct flags *flags = NULL;
    uint32_t module_flags;
    if (!module_path(info, module, n.path, &n.path_length, &module_flags) || (module_flags & MODULE_FLAG_COLLECTIBLE) != 0 ||
        SLOT(info, INFO_GET_MODULE_META_DATA, uintptr_t, uint32_t, const struct guid *, void **)(info, module, 0, &IID_METADATA_IMPORT, &n.import) != HR_OK ||
        n.import == NULL)
        return NULL;
    n.all_listed = all_listed;
    n.is_mine = instrument_includes_module(module);
    n.any = n.is_mine || instrument_may_want_file(n.path, n.path_length);
    if ((n.scratch = private_alloc(sizeof *n.scratch)) != NULL) {
        flags = ask_rules(&n);
        private_free(n.scratch, sizeof *n.scratch);
    }
    com_release(n.import);
    return flags;
}

/* ── modules ────────────────────────────────────────────────────────────────────────────────────────────────── */

static void read_list(uintptr_t module, struct loaded *at, bool is_concerned)
{
    struct r2r_image image = {.read = read_image, .context = at};
    enum r2r_kind kind = r2r_open(&image);
    bool lacks = kind == R2R_LISTED && is_concerned && may_lack_some(&image);
    bool wanted = is_concerned && (runs_already || (kind == R2R_LISTED && (lacks || !instrument_wants_whole(module))));
    struct flags *flags = wanted ? new_flags(module, !lacks) : NULL;
    if (kind == R2R_LISTED)
        kind = mark(&image, flags);
    if (kind == R2R_FOREIGN)
        __atomic_store_n(&has_foreign, true, __ATOMIC_RELEASE);
    if (flags == NULL)
        return;
    flags->kind = kind;
    arena_lock();
    map_put(&known, module, (uintptr_t)flags); /* else all its code is refused */
    arena_unlock();
}

void inliners_module_loaded(uintptr_t module, bool is_concerned)
{
    utf16 name[WIRE_MAX_NAME];
    uint32_t length = 0, module_flags = 0;
    uintptr_t assembly = 0;
    const uint8_t *base = NULL;
    if (SLOT(info, INFO_GET_MODULE_INFO2, uintptr_t, const uint8_t **, uint32_t, uint32_t *, utf16 *, uintptr_t *, uint32_t *)(
            info, module, &base, WIRE_MAX_NAME, &length, name, &assembly, &module_flags) < 0 ||
        base == NULL)
        return;
    struct loaded at = {open("/proc/self/mem", O_RDONLY | O_CLOEXEC), (uintptr_t)base};
    if (at.memory < 0) {
        __atomic_store_n(&has_foreign, true, __ATOMIC_RELEASE); /* nobody knows */
        return;
    }
    read_list(module, &at, is_concerned);
    close(at.memory);
}

/* Does a method have none of these flags, for certain? */
static bool has_none(uintptr_t module, uint32_t token, uint8_t flags)
{
    const struct flags *f = (const struct flags *)(uintptr_t)map_get(&known, module);
    uint32_t method = token & ~TOKEN_TABLE;
    return f != NULL && (token & TOKEN_TABLE) == TOKEN_METHOD_DEF && method != 0 && method <= f->n && (f->of[method] & flags) == 0;
}

bool inliners_are_anywhere(void)
{
    return __atomic_load_n(&is_anywhere, __ATOMIC_ACQUIRE);
}

bool inliners_may_run(uintptr_t module, uint32_t token)
{
    return !__atomic_load_n(&has_foreign, __ATOMIC_ACQUIRE) && !inliners_are_anywhere() && has_none(module, token, R2R_IS_WANTED | R2R_HAS_WANTED);
}

/* Code of such a method, or code that has it inlined, may run already, and nobody can find it. */
static bool is_lost(const struct flags *f, uint32_t method)
{
    bool foreign = f->kind != R2R_NONE && __atomic_load_n(&has_foreign, __ATOMIC_ACQUIRE);
    return foreign || f->kind == R2R_UNKNOWN || (f->of[method] & IS_ANYWHERE) != 0;
}

enum inliners_kind inliners_kind(uintptr_t module, uint32_t token)
{
    const struct flags *f = (const struct flags *)(uintptr_t)map_get(&known, module);
    uint32_t method = token & ~TOKEN_TABLE;
    if (f == NULL || method == 0 || method > f->n)
        return f == NULL ? INLINERS_LOST : INLINERS_PLAIN;
    if ((f->of[method] & R2R_IS_WANTED) != 0)
        return is_lost(f, method) ? INLINERS_LOST : INLINERS_WANTED;
    return (f->of[method] & R2R_HAS_WANTED) != 0 ? INLINERS_HAS_WANTED : INLINERS_PLAIN;
}

uint32_t inliners_methods(uintptr_t module)
{
    const struct flags *f = (const struct flags *)(uintptr_t)map_get(&known, module);
    return f == NULL ? 0 : f->n;
}

bool inliners_is_left_out(uintptr_t module, uint32_t token)
{
    return has_none(module, token, R2R_IS_WANTED);
}

bool inliners_init(void *profiler_info, bool later)
{
    info = profiler_info;
    runs_already = later;
    return map_init(&known, 64, true);
}

void inliners_forget_module(uintptr_t module)
{
    map_forget(&known, module);
}

void inliners_close(void)
{
    map_close(&known);
}
