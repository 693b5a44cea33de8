/* The arena: one file in shared memory that the collector reads, also when this process is gone.
 *
 * The file is sparse. Addresses are reserved for all of it at once, so nothing ever moves. Memory is asked of the file
 * system (fallocate, or zeros where that is refused) before it is touched: a full /dev/shm is a counted loss and never a
 * SIGBUS. Only what has memory is
 * mapped: reading a hole of a file in shared memory fills it, and others read all that a process has mapped (createdump,
 * gcore, mlockall, scanners). They would make of an arena of kilobytes one of several times the memory limit. */
#define _GNU_SOURCE
#include "core/arena.h"
#include "core/recording.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MIN_BACKING (UINT64_C(64) << 10) /* first step of a region, keeps a small process small */
#define MAX_BACKING (UINT64_C(1) << 20)  /* later steps, keeps the time of one fallocate below about 0.2 ms */
#define FULL_PAUSE_NS UINT64_C(500000000)
#define MIN_LIMIT (UINT64_C(4) << 20)    /* below this not even the framework's own start-up fits */
#define MIN_REGION (MIN_LIMIT / 8 * 3) /* regions share the limit, and none needs all of it */
#define MAX_REGION (UINT64_C(16) << 30)  /* ids of nodes, the smallest rows, have 32 bits; those of types 31 */
#define ADDRESS_SPACE_SHARE 16u          /* of a limited address space, the part of the arena; twice that with private tables */
#define STEPS_SHARE 64u /* of the limit is the largest step: what many regions have and do not use yet is little */
#define OWNER_BYTES 4096u
#define OWN_ROWS_BYTES 4096u /* as many rows as measuring the probes needs */
#define ROOM_SHARE 8u /* of the file system is left to others, */
#define MAX_ROOM_LEFT (UINT64_C(1) << 30) /* at most that: launch.reserve says the same */
#define MAX_COMMAND_LINE (64u << 10)
#define ZEROS_BYTES 4096u
#define PLACE_SHARES 2u /* of the limit are the addresses of private memory: what grows by doubling leaves as many as it has */
#define MAX_NAMES 4u /* tries to find a file name that is free */

struct arena arena;
static uint64_t mapped[WIRE_REGION_COUNT]; /* bytes of each region that this process can touch */
static bool closed[WIRE_REGION_COUNT];     /* the addresses behind them may be somebody else's */
static int arena_fd = -1;
static struct stat arena_file; /* what arena_fd was opened as */
static uint64_t arena_size;
static uint64_t total_bytes; /* shared and private */
static uint64_t file_system_room; /* when the arena was made: /dev/shm of a container often has 64 MiB */
static const char *no_arena = "no_file"; /* why there is none: the reason in the name of the file that says so */
static uint32_t lock_word;
static bool forked; /* this process is a child that has the arena only because it was forked */
static uint8_t *private_base; /* where private memory comes from, if it all lies in one place: private_place */
static uint64_t private_size, private_used;

/* A process can have a clock of its own, by a time namespace or by a library that stands before the C library's functions, as
 * libfaketime does. What all processes and the collector are compared by is the kernel's clock of the first time namespace. */
static uint64_t clock_offset; /* of the process's time namespace, modulo 2^64 */
static bool clock_is_faked;

static uint64_t nanoseconds(const struct timespec *t)
{
    return (uint64_t)t->tv_sec * 1000000000u + (uint64_t)t->tv_nsec;
}

static uint64_t program_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return nanoseconds(&now);
}

static uint64_t kernel_clock(void)
{
    struct timespec now = {0, 0};
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
    return nanoseconds(&now);
}

uint64_t monotonic_ns(void)
{
    return (UNLIKELY(clock_is_faked) ? kernel_clock() : program_clock()) - clock_offset;
}

int64_t monotonic_at(int64_t program)
{
    uint64_t ahead = UNLIKELY(clock_is_faked) ? program_clock() - monotonic_ns() : clock_offset;
    return (int64_t)((uint64_t)program - ahead);
}

void clock_init(void)
{
    static const uint64_t most = 1000000000; /* between two readings, one after the other */
    char text[256], *line;
    uint32_t n = read_file("/proc/self/timens_offsets", (uint8_t *)text, sizeof text - 1);
    text[n] = 0;
    if ((line = strstr(text, "monotonic")) != NULL) { /* seconds and nanoseconds; less than none is as of two's complement */
        uint64_t seconds = strtoul(line + sizeof "monotonic" - 1, &line, 10);
        clock_offset = seconds * 1000000000u + strtoul(line, NULL, 10);
    }
    uint64_t kernel = kernel_clock(), difference = program_clock() - kernel;
    clock_is_faked = kernel != 0 && (difference + most > 2 * most || getenv("FAKETIME") != NULL);
}

void word_lock(uint32_t *word)
{
    uint32_t expected = 0;
    if (__atomic_compare_exchange_n(word, &expected, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
        return;
    while (__atomic_exchange_n(word, 2, __ATOMIC_ACQUIRE) != 0 && !forked) /* who held it is not in the child */
        syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
}

void word_unlock(uint32_t *word)
{
    if (__atomic_exchange_n(word, 0, __ATOMIC_RELEASE) == 2)
        syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

void arena_lock(void)
{
    word_lock(&lock_word);
}

void arena_unlock(void)
{
    word_unlock(&lock_word);
}

void loss(uint32_t reason, uint64_t objects, uint64_t bytes)
{
    if (recording_is_over())
        return; /* nobody asks for it any more */
    struct wire_loss_entry *entry = &arena.header->losses[reason];
    __atomic_fetch_add(&entry->events, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&entry->objects, objects, __ATOMIC_RELAXED);
    __atomic_fetch_add(&entry->bytes, bytes, __ATOMIC_RELAXED);
}

/* Room for more bytes under the memory limit? Counts them if so. The sum is kept apart from the two counters that the
 * reader sees, so that threads that ask at the same time cannot exceed the limit together. */
static bool within_limit(uint64_t *counter, uint64_t bytes)
{
    uint64_t limit = arena.header->memory_limit, total = __atomic_load_n(&total_bytes, __ATOMIC_RELAXED);
    do {
        if (bytes > limit || total > limit - bytes)
            return false;
    } while (!__atomic_compare_exchange_n(&total_bytes, &total, total + bytes, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    __atomic_fetch_add(counter, bytes, __ATOMIC_RELAXED);
    return true;
}

static void give_back(uint64_t *counter, uint64_t bytes)
{
    __atomic_fetch_sub(counter, bytes, __ATOMIC_RELAXED);
    __atomic_fetch_sub(&total_bytes, bytes, __ATOMIC_RELAXED);
}

/* A program may close descriptors that it did not open, and the number may then be another file's, which must not
 * grow. (The system call and not fstat, which is no symbol of glibc before 2.33.) */
static bool descriptor_is_ours(void)
{
    struct stat now;
    return syscall(SYS_fstat, arena_fd, &now) == 0 && now.st_dev == arena_file.st_dev && now.st_ino == arena_file.st_ino;
}

/* RLIM_INFINITY is greater than any size. */
static uint64_t address_space_limit(void)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_AS, &limit) == 0 ? limit.rlim_cur : RLIM_INFINITY;
}

static uint64_t file_size_limit(void)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) == 0 ? limit.rlim_cur : RLIM_INFINITY;
}

/* What the file system can give: others need some of it too. */
static uint64_t room_of(const struct statvfs *v)
{
    uint64_t unit = v->f_frsize, left = v->f_blocks * unit / ROOM_SHARE, free = v->f_bavail * unit;
    left = left > MAX_ROOM_LEFT ? MAX_ROOM_LEFT : left;
    return v->f_blocks == 0 ? UINT64_MAX : free > left ? free - left : 0; /* 0 blocks: it has no limit */
}

/* Zeros that are written take memory, too, and where there is none that is an error. */
static bool write_zeros(int fd, uint64_t offset, uint64_t bytes)
{
    static const uint8_t zeros[ZEROS_BYTES];
    while (bytes > 0) {
        ssize_t n = pwrite(fd, zeros, bytes < sizeof zeros ? bytes : sizeof zeros, (off_t)offset);
        if (n <= 0 && (n == 0 || errno != EINTR))
            return false;
        offset += n < 0 ? 0 : (uint64_t)n;
        bytes -= n < 0 ? 0 : (uint64_t)n;
    }
    return true;
}

bool file_back(int fd, uint64_t offset, uint64_t bytes)
{
    int rc;
    do
        rc = fallocate(fd, 0, (off_t)offset, (off_t)bytes);
    while (rc != 0 && errno == EINTR);
    return rc == 0 || ((errno == EOPNOTSUPP || errno == ENOSYS || errno == EPERM) && write_zeros(fd, offset, bytes));
}

/* Asks the file system for memory. One that is full is not asked again for a while: it takes its time to say no, and
 * each allocation of the program would wait for that. A file that would grow past RLIMIT_FSIZE would kill the process. */
static bool back(int fd, uint64_t offset, uint64_t bytes)
{
    static uint64_t ask_again_ns;
    struct statvfs v;
    if ((ask_again_ns != 0 && monotonic_ns() < ask_again_ns) || offset + bytes > file_size_limit() ||
        (fstatvfs(fd, &v) == 0 && room_of(&v) < bytes))
        return false;
    bool backed = file_back(fd, offset, bytes);
    ask_again_ns = backed ? 0 : monotonic_ns() + FULL_PAUSE_NS;
    return backed;
}

bool arena_back_file(int fd, uint64_t offset, uint64_t bytes)
{
    if (!within_limit(&arena.header->shared_bytes, bytes))
        return false;
    if (back(fd, offset, bytes))
        return true;
    give_back(&arena.header->shared_bytes, bytes);
    return false;
}

void arena_give_back(uint64_t bytes)
{
    give_back(&arena.header->shared_bytes, bytes);
}

/* Puts a part of the file that has memory at its place, in the order of addresses, so that the kernel sees one mapping.
 * When it fails, what was reserved there may be gone, and the next to ask the kernel for memory may get it: nothing may be
 * put there any more. */
static bool map_part(uint64_t offset, uint64_t bytes)
{
    void *p = mmap(arena.base + offset, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, arena_fd, (off_t)offset);
    if (p == MAP_FAILED)
        return false;
    madvise(p, bytes, MADV_DONTDUMP);
    return true;
}

/* A child that was forked has the parent's arena mapped as it was then, and no lock in common with it. */
COLD bool arena_is_ours_slowly(void)
{
    return !recording_is_over() && (uint32_t)getpid() == arena.header->pid;
}

void arena_let_go(void)
{
    *(volatile uint32_t *)(uintptr_t)arena.owner = 0;
}

bool arena_is_nameless(void)
{
    struct stat now;
    return arena_fd < 0 || (descriptor_is_ours() && syscall(SYS_fstat, arena_fd, &now) == 0 && now.st_nlink == 0);
}

/* The kernel tells whoever watches the folder. */
void arena_touch(void)
{
    if (arena_fd >= 0 && descriptor_is_ours())
        syscall(SYS_utimensat, arena_fd, NULL, NULL, 0);
}

/* Private memory takes the place of a part of the file. It is made elsewhere first: what cannot be made must not leave a hole. */
static void forget_part(uint64_t offset, uint64_t bytes)
{
    void *p = bytes == 0 ? MAP_FAILED : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p != MAP_FAILED && mremap(p, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, arena.base + offset) == MAP_FAILED)
        munmap(p, bytes);
}

void arena_give_back_all(bool but_time)
{
    arena_lock();
    for (uint32_t i = 0; i < (but_time ? WIRE_REGION_TIMINGS : WIRE_REGION_COUNT); i++)
        forget_part(arena.header->regions[i].offset, mapped[i]);
    if (!but_time) {
        forget_part(0, WIRE_HEADER_SIZE);
        if (descriptor_is_ours())
            close(arena_fd);
        arena_fd = -1;
    }
    arena_unlock();
}

/* A copy of its own takes the place of a part of the file. */
static void copy_part(bool has_file, uint64_t offset, uint64_t bytes)
{
    if (bytes != 0 && (!has_file || mmap(arena.base + offset, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, arena_fd,
                                         (off_t)offset) == MAP_FAILED))
        forget_part(offset, bytes);
}

void arena_forked(void)
{
    forked = true;
    bool has_file = descriptor_is_ours();
    for (uint32_t i = 0; i < WIRE_REGION_COUNT; i++)
        copy_part(has_file, arena.header->regions[i].offset, mapped[i]);
    copy_part(has_file, 0, WIRE_HEADER_SIZE);
    arena_let_go();
}

static bool back_region(uint32_t region, uint64_t needed)
{
    struct wire_region_entry *r = &arena.header->regions[region];
    while (mapped[region] < needed && !closed[region]) {
        uint64_t most = arena.header->memory_limit / STEPS_SHARE, step = r->backed, least = ((needed + 4095) & ~UINT64_C(4095)) - r->backed;
        step = step > most ? most & ~UINT64_C(4095) : step;
        step = step < MIN_BACKING ? MIN_BACKING : step > MAX_BACKING ? MAX_BACKING : step;
        if (step > r->capacity - r->backed)
            step = r->capacity - r->backed;
        if (step == 0 || !descriptor_is_ours())
            return false;
        if (!arena_back_file(arena_fd, r->offset + r->backed, step)) {
            if (least >= step || !arena_back_file(arena_fd, r->offset + r->backed, least))
                return false;
            step = least;
        }
        if (!map_part(r->offset + r->backed, step)) {
            no_arena = "no_address_space";
            closed[region] = true;
            return false; /* the memory stays counted: the file has it */
        }
        r->backed = mapped[region] += step;
    }
    return mapped[region] >= needed;
}

void *arena_reserve(uint32_t region, uint64_t bytes)
{
    struct wire_region_entry *r = &arena.header->regions[region];
    if (!arena_is_ours() || bytes > r->capacity - r->used || !back_region(region, r->used + bytes))
        return NULL;
    return arena.base + r->offset + r->used;
}

void arena_publish(uint32_t region, uint64_t bytes)
{
    struct wire_region_entry *r = &arena.header->regions[region];
    __atomic_store_n(&r->used, r->used + bytes, __ATOMIC_RELEASE);
}

bool arena_log(uint32_t kind, const void *payload, uint32_t bytes)
{
    struct wire_record_header head = {(uint32_t)((sizeof head + bytes + 7) & ~UINT64_C(7)), kind};
    uint8_t *record = arena_reserve(WIRE_REGION_LOG, head.size);
    if (record == NULL)
        return false;
    memcpy(record, &head, sizeof head);
    memcpy(record + sizeof head, payload, bytes);
    arena_publish(WIRE_REGION_LOG, head.size);
    return true;
}

void *arena_own_rows(uint32_t region)
{
    struct wire_region_entry *r = &arena.header->regions[region];
    if (r->used != 0 || r->capacity < 2 * OWN_ROWS_BYTES)
        return NULL;
    uint8_t *p = arena.base + r->offset + r->capacity - OWN_ROWS_BYTES;
    if (mprotect(p, OWN_ROWS_BYTES, PROT_READ | PROT_WRITE) != 0)
        return NULL;
    r->capacity -= OWN_ROWS_BYTES;
    madvise(p, OWN_ROWS_BYTES, MADV_DONTDUMP);
    return p;
}

bool arena_has_room(enum room room)
{
    uint64_t limit = arena.header->memory_limit, shared = __atomic_load_n(&arena.header->shared_bytes, __ATOMIC_RELAXED);
    return __atomic_load_n(&total_bytes, __ATOMIC_RELAXED) <= limit / ROOM_ALL * room && shared <= file_system_room / ROOM_ALL * room;
}

bool private_place(void)
{
    uint64_t size = PLACE_SHARES * arena.header->memory_limit;
    void *p = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        return false;
    private_base = p;
    private_size = size;
    return true;
}

/* Addresses are used once. MAP_FAILED: there are none left, or no memory. */
static void *take_of_place(uint64_t bytes)
{
    uint64_t whole = (bytes + 4095) & ~UINT64_C(4095), at = __atomic_fetch_add(&private_used, whole, __ATOMIC_RELAXED);
    if (at > private_size || whole > private_size - at || mprotect(private_base + at, whole, PROT_READ | PROT_WRITE) != 0)
        return MAP_FAILED;
    return private_base + at;
}

bool private_pay(uint64_t bytes)
{
    return within_limit(&arena.header->private_bytes, bytes);
}

static void *take_private(uint64_t bytes)
{
    void *p = private_base != NULL ? take_of_place(bytes) : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        return NULL;
    madvise(p, bytes, MADV_DONTDUMP); /* the dump of a crash is the program's */
    return p;
}

void *private_reserve(uint64_t bytes)
{
    void *p = take_private(bytes);
    if (p != NULL)
        madvise(p, bytes, MADV_NOHUGEPAGE); /* else 2 MiB can be there where 4 KiB are paid for */
    return p;
}

void *private_alloc(uint64_t bytes)
{
    int saved_errno = errno; /* also on the warm path: see object_allocated_slow */
    if (!private_pay(bytes))
        return NULL;
    void *p = take_private(bytes);
    if (p == NULL)
        give_back(&arena.header->private_bytes, bytes);
    errno = saved_errno;
    return p;
}

void private_free(void *memory, uint64_t bytes)
{
    if (private_base == NULL)
        munmap(memory, bytes);
    else if (madvise(memory, bytes, MADV_DONTNEED) == 0)
        mprotect(memory, (bytes + 4095) & ~UINT64_C(4095), PROT_NONE);
    give_back(&arena.header->private_bytes, bytes);
}

/* A word that is 0 in a process that was forked from this one (Linux 4.14; before, it is always 0). */
static const volatile uint32_t *make_owner(void)
{
    uint32_t *word = mmap(NULL, OWNER_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (word == MAP_FAILED)
        return NULL;
    *word = madvise(word, OWNER_BYTES, MADV_WIPEONFORK) == 0;
    return word;
}

/* Makes the file as large as it may be, asks for its first page and reserves addresses. File size and address space can be
 * limited (ulimit -f, -v), and of a limited address space most must be left to the program. Growing a file past
 * RLIMIT_FSIZE would kill the process with SIGXFSZ, so ask first. Returns the capacity of a region. */
static uint64_t map_file(uint64_t memory_limit, uint32_t regions)
{
    uint64_t most = address_space_limit() / ADDRESS_SPACE_SHARE;
    if (most > file_size_limit())
        most = file_size_limit();
    no_arena = "no_address_space";
    if (most < WIRE_HEADER_SIZE)
        return 0;
    uint64_t capacity = memory_limit < MAX_REGION ? memory_limit : MAX_REGION;
    if (capacity > (most - WIRE_HEADER_SIZE) / regions)
        capacity = (most - WIRE_HEADER_SIZE) / regions;
    for (capacity &= ~UINT64_C(4095); capacity >= MIN_REGION; capacity = (capacity / 2) & ~UINT64_C(4095)) {
        uint64_t size = WIRE_HEADER_SIZE + regions * capacity;
        if (ftruncate(arena_fd, (off_t)size) != 0)
            continue;
        if (!file_back(arena_fd, 0, WIRE_HEADER_SIZE)) {
            no_arena = errno == ENOSPC || errno == EDQUOT ? "no_space" : "no_file";
            return 0;
        }
        void *p = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (p == MAP_FAILED)
            continue;
        arena.base = p;
        arena_size = size;
        arena.owner = make_owner();
        if (arena.owner == NULL || !map_part(0, WIRE_HEADER_SIZE))
            return 0;
        arena.header = p;
        return capacity;
    }
    return 0;
}

static void fill_header(uint64_t capacity, uint32_t regions, uint64_t memory_limit, uint32_t max_stack_depth)
{
    struct wire_header *h = arena.header;
    h->version = WIRE_VERSION;
    h->state = WIRE_STATE_STARTING;
    h->pid = (uint32_t)getpid();
    h->parent_pid = (uint32_t)getppid();
    h->max_stack_depth = max_stack_depth;
    h->start_ns = monotonic_ns();
    h->memory_limit = memory_limit;
    h->shared_bytes = total_bytes = WIRE_HEADER_SIZE;
    for (uint32_t i = 0; i < WIRE_REGION_COUNT; i++) {
        h->regions[i].offset = WIRE_HEADER_SIZE + (i < regions ? i : regions) * capacity;
        h->regions[i].capacity = i < regions ? capacity : 0;
    }
    arena.ips = (struct wire_ip *)(void *)(arena.base + h->regions[WIRE_REGION_IPS].offset);
    arena.nodes = (struct wire_node *)(void *)(arena.base + h->regions[WIRE_REGION_NODES].offset);
    arena.sites = (struct wire_site *)(void *)(arena.base + h->regions[WIRE_REGION_SITES].offset);
    arena.deaths = (struct wire_site_deaths *)(void *)(arena.base + h->regions[WIRE_REGION_DEATHS].offset);
    arena.scopes = (struct wire_scope *)(void *)(arena.base + h->regions[WIRE_REGION_SCOPES].offset);
    arena.interactions = (struct wire_interaction *)(void *)(arena.base + h->regions[WIRE_REGION_INTERACTIONS].offset);
    arena.timings = (struct wire_timing *)(void *)(arena.base + h->regions[WIRE_REGION_TIMINGS].offset);
    arena.waits = (struct wire_waits *)(void *)(arena.base + h->regions[WIRE_REGION_WAITS].offset);
    arena.clocks = (struct wire_clock *)(void *)(arena.base + h->regions[WIRE_REGION_CLOCKS].offset);
    arena.activations = (struct wire_activation *)(void *)(arena.base + h->regions[WIRE_REGION_ACTIVATIONS].offset);
    arena.acted = (struct wire_acted *)(void *)(arena.base + h->regions[WIRE_REGION_ACTED].offset);
    arena.inclusives = (struct wire_inclusive *)(void *)(arena.base + h->regions[WIRE_REGION_INCLUSIVES].offset);
    arena.counts = (struct wire_counts *)(void *)(arena.base + h->regions[WIRE_REGION_COUNTS].offset);
    arena.site_timings = (struct wire_site_timing *)(void *)(arena.base + h->regions[WIRE_REGION_SITE_TIMINGS].offset);
    arena.site_samples = (struct wire_site_sample *)(void *)(arena.base + h->regions[WIRE_REGION_SITE_SAMPLES].offset);
    __atomic_store_n(&h->magic, WIRE_MAGIC, __ATOMIC_RELEASE);
}

uint32_t read_file(const char *path, uint8_t *out, uint32_t capacity)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    uint32_t length = 0;
    ssize_t n;
    while (length < capacity && ((n = read(fd, out + length, capacity - length)) > 0 || (n < 0 && errno == EINTR)))
        length += n < 0 ? 0 : (uint32_t)n;
    close(fd);
    return length;
}

/* The first record: what the collector cannot read from /proc any more once the process is gone. */
static bool write_process_record(void)
{
    uint64_t room = sizeof(struct wire_record_header) + 8 + 4096 + MAX_COMMAND_LINE + 8;
    uint8_t *record = arena_reserve(WIRE_REGION_LOG, room);
    if (record == NULL)
        return false;
    uint8_t *p = record + sizeof(struct wire_record_header);
    ssize_t link = readlink("/proc/self/exe", (char *)p + 4, 4096);
    uint32_t length = link < 0 ? 0 : (uint32_t)link;
    memcpy(p, &length, 4);
    p += 4 + length;
    length = read_file("/proc/self/cmdline", p + 4, MAX_COMMAND_LINE);
    memcpy(p, &length, 4);
    p += 4 + length;
    struct wire_record_header head = {(uint32_t)(((uint64_t)(p - record) + 7) & ~UINT64_C(7)), WIRE_RECORD_PROCESS};
    memcpy(record, &head, sizeof head);
    arena_publish(WIRE_REGION_LOG, head.size);
    return true;
}

/* Gives the finished file its name, which nobody else may have. 1: done, 0: the name is taken, -1: impossible. */
static int publish_file(const char *temporary, const char *name)
{
    if (link(temporary, name) == 0) {
        unlink(temporary);
        return 1;
    }
    if (errno == EEXIST)
        return 0;
    return rename(temporary, name) == 0 ? 1 : -1; /* a file system without links */
}

/* One try under a name that has the time in it. As publish_file. */
static int create_file(const char *directory, uint32_t regions, uint64_t memory_limit, uint32_t max_stack_depth)
{
    char name[4096], temporary[4096 + 8];
    int n = snprintf(name, sizeof name, "%s/%u-%llx.arena", directory, (unsigned)getpid(),
                     (unsigned long long)monotonic_ns());
    if (n < 0 || (size_t)n >= sizeof name)
        return -1;
    snprintf(temporary, sizeof temporary, "%s.new", name);
    struct statvfs room;
    file_system_room = statvfs(directory, &room) == 0 ? room_of(&room) : UINT64_MAX;
    arena_fd = open(temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (arena_fd < 0)
        return errno == EEXIST ? 0 : -1;
    int result = -1;
    no_arena = "no_file";
    uint64_t capacity = syscall(SYS_fstat, arena_fd, &arena_file) == 0 ? map_file(memory_limit, regions) : 0;
    if (capacity != 0) {
        fill_header(capacity, regions, memory_limit, max_stack_depth);
        no_arena = "no_space";
        if (write_process_record())
            result = publish_file(temporary, name);
    }
    if (result != 1) {
        unlink(temporary);
        arena_close();
    }
    return result;
}

/* An empty file, which needs no memory, shows the collector that a process has no arena, and why. */
static void leave_note(const char *directory)
{
    char name[4096];
    int n = snprintf(name, sizeof name, "%s/%u-%llx.%s.failed", directory, (unsigned)getpid(),
                     (unsigned long long)monotonic_ns(), no_arena);
    int fd = n < 0 || (size_t)n >= sizeof name ? -1 : open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd >= 0)
        close(fd);
}

bool arena_create(const char *directory, uint32_t regions, uint64_t memory_limit, uint32_t max_stack_depth)
{
    if (memory_limit > 2 * (address_space_limit() / ADDRESS_SPACE_SHARE))
        memory_limit = 2 * (address_space_limit() / ADDRESS_SPACE_SHARE);
    if (memory_limit < MIN_LIMIT)
        memory_limit = MIN_LIMIT;
    for (uint32_t i = 0; i < MAX_NAMES; i++) {
        int result = create_file(directory, regions, memory_limit, max_stack_depth);
        if (result == 1)
            return true;
        if (result < 0)
            break;
    }
    leave_note(directory);
    return false;
}

void arena_close(void)
{
    if (arena.base != NULL)
        munmap(arena.base, arena_size);
    if (arena.owner != NULL)
        munmap((void *)(uintptr_t)arena.owner, OWNER_BYTES);
    if (private_base != NULL)
        munmap(private_base, private_size);
    private_base = NULL;
    memset(mapped, 0, sizeof mapped);
    memset(closed, 0, sizeof closed);
    if (arena_fd >= 0)
        close(arena_fd);
    arena = (struct arena){0};
    arena_fd = -1;
}
