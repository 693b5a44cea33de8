/* A snapshot of the heap: every object after one full garbage collection, with its type, size, allocation site, birth,
 * references and roots. CLRPROF_SNAPSHOT says which collection: "end" (the last one, that the agent asks for) or a
 * number N: the first from N on that collects generation 2. Others can be asked for at any time (requests.c); the last
 * counts, and the file of the one before it goes.
 *
 * It goes to a file beside the arena, through a buffer, with the world stopped. All numbers are little-endian:
 *
 *   magic "CLRHEAP\0", version u32, gc u32
 *   objects       address u64, size u64, type u32, n u32, n × address u64    … ended by an address of 0
 *   dependents    key u64, value u64 (the key keeps the value alive)          … ended by a key of 0
 *   roots         object u64, kind u32, flags u32, function u32, 0 u32        … ended by an object of 0
 *   sites         address u64, site u32, born u32                             … ended by an address of 0
 *   statics       slot u64, object u64, type u32, field u32, of thread u32, n u32, n × UTF-16: a static field of a class, its
 *                 name and the object it holds (static_fields.c); slot: its address, 0: not known … ended by an object of 0
 *   left out      u64: classes whose static fields were not looked at
 *   end           "COMPLETE"
 *
 * A file without its end is not complete: the process was killed. Its memory is asked for before it is written, and counts
 * against the memory limit: a snapshot for which there is no room is given up. */
#define _GNU_SOURCE
#include "core/arena.h"
#include "heap/shadow_heap.h"
#include "heap/object_tracking.h"
#include "core/sorted_array.h"
#include "metadata/descriptions.h"
#include "heap/heap_snapshot.h"
#include "heap/static_fields.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BUFFER_BYTES (1u << 20)
#define STEP_BYTES (4 * BUFFER_BYTES) /* for which the file system is asked at once */

static void *info;
static const char *directory;
static uint32_t first_gc; /* 0: the last one; UINT32_MAX: none */
static bool taken, asked;
static char path[4096]; /* of the last one */
static uint64_t kept;   /* bytes of it */
bool snapshot_writing;
static int fd = -1;
static const uint64_t none[3]; /* ends a table */
struct dependent {
    uint64_t key, value;
};
static struct dependent *dependents;
static struct list dependent_list = {.size = sizeof(struct dependent)};
static uint32_t lock_word;
static uint8_t *buffer;
static uint32_t buffered;
static uint64_t written, backed; /* bytes of the file */

void snapshot_init(void *profiler_info, const char *arenas, const char *which)
{
    info = profiler_info;
    directory = arenas;
    first_gc = which == NULL || *which == 0 ? UINT32_MAX : strcmp(which, "end") == 0 ? 0 : (uint32_t)strtoul(which, NULL, 10);
}

static void give_up(void)
{
    loss(WIRE_LOSS_SNAPSHOT, 0, 0);
    snapshot_writing = false;
    if (fd >= 0 && ftruncate(fd, 0) == 0) { /* gives its memory back */
        arena_give_back(backed);
        close(fd);
    }
    fd = -1;
}

/* The last step is a part of one where there is no room for more. */
static bool has_room(uint64_t bytes)
{
    if (written + bytes <= backed)
        return true;
    uint64_t least = written + bytes - backed, step = arena_back_file(fd, backed, STEP_BYTES) ? STEP_BYTES : arena_back_file(fd, backed, least) ? least : 0;
    backed += step;
    return step != 0;
}

static void flush(void)
{
    if (snapshot_writing && !has_room(buffered))
        give_up();
    for (uint32_t done = 0; snapshot_writing && done < buffered;) {
        ssize_t n = write(fd, buffer + done, buffered - done);
        if (n > 0)
            done += (uint32_t)n;
        else if (n == 0 || errno != EINTR)
            give_up();
    }
    written += buffered;
    buffered = 0;
}

void snapshot_put(const void *bytes, uint64_t n)
{
    const uint8_t *p = bytes;
    while (snapshot_writing && n != 0) {
        uint64_t part = BUFFER_BYTES - buffered < n ? BUFFER_BYTES - buffered : n;
        memcpy(buffer + buffered, p, part);
        buffered += (uint32_t)part;
        p += part;
        n -= part;
        if (buffered == BUFFER_BYTES)
            flush();
    }
}

void snapshot_end_again(void)
{
    if (first_gc == 0)
        taken = false;
}

void snapshot_ask(bool now)
{
    __atomic_store_n(&asked, now, __ATOMIC_RELEASE);
}

/* Is one taken in this collection? */
static bool is_due(uint32_t number, uint32_t collected, bool last)
{
    if ((collected >> 2 & 1) == 0)
        return false;
    if (__atomic_exchange_n(&asked, false, __ATOMIC_ACQ_REL))
        return true;
    if (taken || first_gc == UINT32_MAX || (first_gc == 0 ? !last : number < first_gc))
        return false;
    taken = true;
    return true;
}

bool snapshot_begin(uint32_t number, uint32_t collected, bool last)
{
    if (!is_due(number, collected, last))
        return false;
    if (kept != 0 && unlink(path) == 0)
        arena_give_back(kept);
    kept = 0;
    dependent_list.n = 0;
    int n = snprintf(path, sizeof path, "%s/%u-%u.heap", directory, arena.header->pid, number);
    buffer = buffer == NULL ? private_alloc(BUFFER_BYTES) : buffer;
    fd = n < 0 || (size_t)n >= sizeof path ? -1 : open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    snapshot_writing = true;
    if (fd < 0 || buffer == NULL) {
        give_up();
        return false;
    }
    struct {
        char magic[8];
        uint32_t version, gc;
    } head = {"CLRHEAP", 2, number};
    buffered = 0;
    written = backed = 0;
    snapshot_put(&head, sizeof head);
    return true;
}

hresult snapshot_object(uintptr_t object, uintptr_t class_id, uint32_t n, const uintptr_t *references)
{
    if (!snapshot_writing)
        return HR_FAIL; /* ends the runtime's walk */
    size_t size = 0;
    (void)SLOT(info, INFO_GET_OBJECT_SIZE2, uintptr_t, size_t *)(info, object, &size);
    struct {
        uint64_t address, size;
        uint32_t type, n;
    } head = {object, (size + 7) & ~UINT64_C(7), type_of_class(class_id), n};
    word_lock(&lock_word);
    snapshot_put(&head, sizeof head);
    snapshot_put(references, n * sizeof *references);
    word_unlock(&lock_word);
    return HR_OK;
}

hresult snapshot_dependents(void *self, uint32_t n, const uintptr_t *keys, const uintptr_t *values, const uintptr_t *ids)
{
    (void)self, (void)ids;
    if (!snapshot_writing)
        return HR_OK;
    word_lock(&lock_word);
    if (list_reserve(&dependent_list, dependent_list.n + n)) {
        dependents = dependent_list.items;
        for (uint32_t i = 0; i < n; i++) {
            dependents[dependent_list.n].key = keys[i];
            dependents[dependent_list.n++].value = values[i];
        }
    } else {
        give_up();
    }
    word_unlock(&lock_word);
    return HR_OK;
}

void snapshot_root(uintptr_t object, uint32_t kind, uint32_t flags, uint32_t function)
{
    struct {
        uint64_t object;
        uint32_t kind, flags, function, reserved;
    } root = {object, kind, flags, function, 0};
    if (object != 0)
        snapshot_put(&root, sizeof root);
}

void snapshot_end_objects(void)
{
    snapshot_put(none, sizeof none);
    for (uint64_t i = 0; i < dependent_list.n; i++)
        if (dependents[i].key != 0)
            snapshot_put(&dependents[i], sizeof *dependents);
    snapshot_put(none, 16);
}

void snapshot_finish(const struct bound *bounds, uint64_t n)
{
    snapshot_put(none, sizeof none); /* of the roots */
    for (uint64_t i = 0; i < n; i++)
        for (uintptr_t at = heap_next(bounds[i].start, bounds[i].used); at < bounds[i].used; at = heap_next(at, bounds[i].used)) {
            const struct shadow *s = heap_find(at);
            struct {
                uint64_t address;
                uint32_t site, born;
            } row = {at, s->site & SHADOW_SITE, s->born};
            snapshot_put(&row, sizeof row);
            at += s->size == 0 ? 8 : (uintptr_t)s->size << 3;
        }
    snapshot_put(none, 16);
    if (snapshot_writing)
        statics_report();
    snapshot_put("COMPLETE", 8);
    flush();
    if (snapshot_writing && ftruncate(fd, (off_t)written) == 0)
        arena_give_back(backed - written);
    if (snapshot_writing) {
        close(fd);
        kept = written;
        __atomic_fetch_add(&arena.header->snapshots, 1, __ATOMIC_RELEASE);
    }
    fd = -1;
    snapshot_writing = false;
}
