/* What the agent finds out about a module, to say whose code it is: its path, who made it, and what the program's
 * deps.json says. Each folder's files are read once, when a module of it is first met. */
#define _GNU_SOURCE
#include "core/arena.h"
#include "core/freestanding.h"
#include "core/hash_map.h"
#include "metadata/assembly_origin.h"
#include "metadata/code_origin.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_PATH (3 * WIRE_MAX_NAME + 1) /* as UTF-8 */
#define MAX_DEPS (16u << 20)             /* bytes, as in usercode; the largest of an SDK has 0.6 MB */
#define FOLDER_OF_MAIN "*" /* as user_folder: the folder of the main assembly */
#define MAX_FILES 32u                    /* deps.json in one folder: programs and tests that share it */
#define MAX_HOST (64u << 20)             /* bytes of an executable, as in bundle */
#define COMMAND_LINE (64u << 10)

static void *info;
static struct map kinds;   /* deps_key → DEPS_… */
static struct map folders; /* deps_key of the folder's name → 1: read */
static char main_name[256];       /* of the main assembly, without .dll */
static char main_path[MAX_PATH];  /* …: once it is loaded */
static char main_folder[MAX_PATH]; /* …'s, without a slash at its end */
static bool main_known;
static char executable[MAX_PATH];
static const char *user_folder;

/* ── text ───────────────────────────────────────────────────────────────────────────────────────────────────── */

/* Half of a pair of surrogates is a question mark. */
static void to_utf8(const utf16 *text, uint32_t length, char *out, size_t room)
{
    size_t n = 0;
    for (uint32_t i = 0; i < length && n + 4 < room; i++) {
        uint32_t c = text[i];
        if (c >> 10 == 0x36 && i + 1 < length && text[i + 1] >> 10 == 0x37)
            c = 0x10000 + ((c & 0x3FF) << 10) + (text[++i] & 0x3FFu);
        else if (c >> 11 == 0x1B)
            c = '?';
        if (c >= 0x10000) {
            out[n++] = (char)(0xF0 | c >> 18);
            out[n++] = (char)(0x80 | (c >> 12 & 0x3F));
        } else if (c >= 0x800) {
            out[n++] = (char)(0xE0 | c >> 12);
        }
        if (c >= 0x800)
            out[n++] = (char)(0x80 | (c >> 6 & 0x3F));
        else if (c >= 0x80)
            out[n++] = (char)(0xC0 | c >> 6);
        out[n++] = (char)(c < 0x80 ? c : 0x80 | (c & 0x3F));
    }
    out[n] = 0;
}

static const char *file_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

static bool ends(const char *text, size_t length, const char *with)
{
    size_t n = strlen(with);
    return length >= n && memcmp(text + length - n, with, n) == 0;
}

/* The program is called APP for `dotnet [exec] [options] APP.dll`, else as its executable. */
static void read_main_name(void)
{
    ssize_t n = readlink("/proc/self/exe", executable, sizeof executable - 1);
    executable[n < 0 ? 0 : n] = 0;
    const char *name = file_of(executable);
    size_t length = strlen(name);
    uint8_t *line = strcmp(name, "dotnet") == 0 ? private_alloc(COMMAND_LINE) : NULL;
    uint32_t bytes = line == NULL ? 0 : read_file("/proc/self/cmdline", line, COMMAND_LINE - 1);
    for (uint32_t at = 0, first = 1; at < bytes; first = 0) {
        const char *argument = (const char *)line + at;
        size_t argument_bytes = strlen(argument);
        at += (uint32_t)argument_bytes + 1;
        if (first == 0 && ends(argument, argument_bytes, ".dll")) {
            name = file_of(argument);
            length = strlen(name) - 4;
            break;
        }
    }
    if (length < sizeof main_name)
        memcpy(main_name, name, length);
    if (line != NULL)
        private_free(line, COMMAND_LINE);
}

/* ── deps.json ──────────────────────────────────────────────────────────────────────────────────────────────── */

/* folder: the path of a file in it. */
static void add_deps(const char *text, size_t bytes, const char *folder)
{
    struct map libraries = {0};
    if (!map_init(&libraries, 256, false))
        return; /* its packages are taken for the program's own */
    arena_lock();
    deps_read(text, bytes, folder, &libraries, &kinds);
    arena_unlock();
    map_close(&libraries);
}

static void read_deps(const char *file, const char *folder)
{
    struct stat s;
    if (path_status(file, &s) != 0 || !S_ISREG(s.st_mode) || s.st_size <= 0 || s.st_size > MAX_DEPS)
        return;
    uint32_t bytes = (uint32_t)s.st_size;
    uint8_t *text = private_alloc(bytes);
    if (text == NULL)
        return;
    add_deps((const char *)text, read_file(file, text, bytes), folder);
    private_free(text, bytes);
}

/* The bundle of a single-file program begins with where its deps.json is (dotnet/designs, single-file). */
static void read_bundle(const char *host, size_t size, const char *folder)
{
    static const uint8_t signature[] = "\x8b\x12\x02\xb9\x6a\x61\x20\x38\x72\x7b\x93\x02\x14\xd7\xa0\x32\x13\xf5\xb9\xe6\xef\xae\x33\x18\xee\x3b\x2d\xce\x24\xb3\x6a\xae";
    const char *found = memmem(host, size < MAX_HOST ? size : MAX_HOST, signature, sizeof signature - 1);
    uint64_t header = 0, place[2];
    uint32_t head[3];
    if (found == NULL || found - host < 8)
        return;
    memcpy(&header, found - 8, 8);
    if (header == 0 || header >= size || size - header < sizeof head + 1 + 127 + sizeof place)
        return;
    memcpy(head, host + header, sizeof head);
    uint8_t id = (uint8_t)host[header + sizeof head];
    if (head[0] < 2 || id > 127)
        return;
    memcpy(place, host + header + sizeof head + 1 + id, sizeof place);
    if (place[1] <= MAX_DEPS && place[0] < size && place[1] <= size - place[0])
        add_deps(host + place[0], place[1], folder);
}

/* The runtime has the executable mapped as well, and it cannot be written while it runs. */
static void read_own_bundle(const char *folder)
{
    struct stat s;
    int fd = open(executable, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    char *host = file_status(fd, &s) != 0 || s.st_size <= 0 ? MAP_FAILED : mmap(NULL, (size_t)s.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (host == MAP_FAILED)
        return;
    read_bundle(host, (size_t)s.st_size, folder);
    munmap(host, (size_t)s.st_size);
}

/* path: of a file in the folder. */
static void read_folder(const char *path)
{
    char file[MAX_PATH + 256];
    size_t folder = (size_t)(file_of(path) - path);
    uint32_t files = 0;
    memcpy(file, path, folder);
    file[folder] = 0;
    DIR *d = folder == 0 ? NULL : opendir(file);
    for (struct dirent *e; d != NULL && files < MAX_FILES && (e = readdir(d)) != NULL;) {
        size_t n = strlen(e->d_name);
        if (n > 255 || !ends(e->d_name, n, ".deps.json"))
            continue;
        memcpy(file + folder, e->d_name, n + 1);
        read_deps(file, path);
        files++;
    }
    if (d != NULL)
        closedir(d);
    bool beside = folder == 0 || ((size_t)(file_of(executable) - executable) == folder && memcmp(path, executable, folder) == 0);
    if (files == 0 && beside && strcmp(file_of(executable), "dotnet") != 0)
        read_own_bundle(path);
}

static uint64_t kind_of(const char *path)
{
    char folder[MAX_PATH];
    size_t bytes = (size_t)(file_of(path) - path);
    memcpy(folder, path, bytes);
    folder[bytes] = 0;
    uint64_t key = deps_key(folder); /* no file has this name */
    if (map_get(&folders, key) == 0) {
        read_folder(path);
        arena_lock();
        map_put(&folders, key, 1); /* else it is read again */
        arena_unlock();
    }
    return map_get(&kinds, deps_key(path));
}

/* ── the runtime's part ─────────────────────────────────────────────────────────────────────────────────────── */

/* AssemblyCompanyAttribute: 1 as two bytes, a string with a compressed length (ECMA-335 II.23.3). Only its begin matters. */
static void read_company(void *import, char *out, size_t room)
{
    static const utf16 name[] = u"System.Reflection.AssemblyCompanyAttribute";
    const uint8_t *blob = NULL;
    uint32_t bytes = 0;
    if (SLOT(import, IMPORT_GET_CUSTOM_ATTRIBUTE, uint32_t, const utf16 *, const uint8_t **, uint32_t *)(import, TOKEN_ASSEMBLY, name, &blob, &bytes) != HR_OK ||
        blob == NULL || bytes < 3 || blob[0] != 1 || blob[1] != 0 || blob[2] >= 0xE0)
        return;
    uint32_t at = blob[2] < 0x80 ? 3 : blob[2] < 0xC0 ? 4 : 6;
    size_t n = bytes < at ? 0 : bytes - at;
    if (blob[2] < 0x80 && n > blob[2])
        n = blob[2];
    n = n < room - 1 ? n : room - 1;
    memcpy(out, blob + at, n);
    out[n] = 0;
}

static void read_metadata(uintptr_t module, struct origin_facts *f, char *name, char *company, size_t room)
{
    utf16 scope[WIRE_MAX_NAME];
    uint32_t length = 0;
    void *import = NULL;
    struct guid id;
    if (SLOT(info, INFO_GET_MODULE_META_DATA, uintptr_t, uint32_t, const struct guid *, void **)(info, module, 0, &IID_METADATA_IMPORT, &import) != HR_OK ||
        import == NULL)
        return;
    if (f->in_memory && SLOT(import, IMPORT_GET_SCOPE_PROPS, utf16 *, uint32_t, uint32_t *, struct guid *)(import, scope, WIRE_MAX_NAME, &length, &id) >= 0) {
        module_name_emitted(info, module, scope, &length, WIRE_MAX_NAME);
        to_utf8(scope, length > 0 && length < WIRE_MAX_NAME ? length - 1 : 0, name, room);
    }
    if (!f->in_memory)
        read_company(import, company, room);
    com_release(import);
}

static bool is_main(const char *path)
{
    const char *name = file_of(path), *dot = strrchr(name, '.');
    size_t length = dot == NULL ? strlen(name) : (size_t)(dot - name);
    if (strlen(main_name) != length || memcmp(name, main_name, length) != 0)
        return false;
    arena_lock();
    if (!main_known) {
        memcpy(main_path, path, strlen(path) + 1);
        memcpy(main_folder, path, name == path ? 0 : (size_t)(name - path) - 1);
        __atomic_store_n(&main_known, true, __ATOMIC_RELEASE);
    }
    arena_unlock();
    return true;
}

/* Is a file that is not loaded there? Those of a single-file program have no folder (.NET 6), and only its deps.json names them. */
static bool is_there(const char *path, uint64_t kind)
{
    return kind != 0 || (strchr(path, '/') != NULL && access(path, F_OK) == 0);
}

/* module: 0, if it is a file that is not loaded: then unknown, if there is none. */
uint32_t module_origin(uintptr_t module, const utf16 *path, uint32_t length, bool in_memory, bool by_pattern)
{
    char text[MAX_PATH], name[128] = "", company[128] = "";
    struct origin_facts f = {.path = text, .name = name, .company = company, .folder = user_folder, .in_memory = in_memory, .by_pattern = by_pattern};
    int saved_errno = errno;
    to_utf8(path, length, text, sizeof text);
    if (!in_memory)
        f.kind = kind_of(text);
    if (module != 0) {
        read_metadata(module, &f, name, company, sizeof name);
    } else if (!is_there(text, f.kind)) {
        errno = saved_errno;
        return WIRE_ORIGIN_UNKNOWN;
    }
    if (!in_memory)
        f.is_main = is_main(text);
    f.main = __atomic_load_n(&main_known, __ATOMIC_ACQUIRE) ? main_path : "";
    if (strcmp(user_folder, FOLDER_OF_MAIN) == 0)
        f.folder = f.main == main_path ? main_folder : "";
    errno = saved_errno;
    return origin_of(&f);
}

bool modules_is_framework(const utf16 *path, uint32_t length)
{
    char text[MAX_PATH];
    to_utf8(path, length, text, sizeof text);
    return origin_is_framework_file(text);
}

bool modules_init(void *profiler_info, const char *folder)
{
    info = profiler_info;
    user_folder = folder == NULL ? "" : folder;
    read_main_name();
    return map_init(&kinds, 256, true) && map_init(&folders, 16, true);
}

void modules_close(void)
{
    map_close(&kinds);
    map_close(&folders);
}
