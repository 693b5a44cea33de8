/* The variant sum: how many bytes the product has counted at a moment that the program chooses.
 *
 * The program takes GC.GetTotalAllocatedBytes(true) and then makes an array of MARKER bytes or a little more
 * (testdata/targets/TotalHook). Just before that array is counted, what the sites of the arena have is added up and a line
 * "PID LENGTH BYTES FROZEN LOST ALL" is appended to CLRPROF_COMPARISON: the array's length, bytes of objects on the heap of the garbage
 * collector, of frozen ones, which the runtime does not count, and of those that are counted as lost; and the sum of the sizes that the
 * runtime gave for all objects that it reported. */

#define MARKER 777000u
#define MARKERS 4000u

static uint64_t reported_bytes;

static void write_sum(uint32_t length)
{
    uint64_t bytes[2] = {0, 0}, lost = 0, n = __atomic_load_n(&arena.header->regions[WIRE_REGION_SITES].used, __ATOMIC_ACQUIRE) / sizeof(struct wire_site);
    for (uint64_t i = 0; i < n; i++)
        bytes[(arena.sites[i].type & WIRE_SITE_FROZEN) != 0] += __atomic_load_n(&arena.sites[i].bytes, __ATOMIC_RELAXED);
    for (uint32_t i = 0; i < WIRE_LOSS_UNTRACKED; i++) /* reasons of objects that are in no site */
        lost += __atomic_load_n(&arena.header->losses[i].bytes, __ATOMIC_RELAXED);
    dprintf(report_fd, "%d %u %llu %llu %llu %llu\n", getpid(), length, (unsigned long long)bytes[0], (unsigned long long)bytes[1], (unsigned long long)lost,
            (unsigned long long)__atomic_load_n(&reported_bytes, __ATOMIC_RELAXED));
}

static hresult allocated_sum(void *self, uintptr_t object, uintptr_t class_id)
{
    const uint32_t *table = (const uint32_t *)(*(const uintptr_t *)object & ~(uintptr_t)7);
    uint32_t length = *(const uint32_t *)(object + 8);
    if (UNLIKELY((table[0] & 0x8000FFFFu) == 0x80000001u) /* an array of bytes */ && length - MARKER < MARKERS && report_fd >= 0)
        write_sum(length);
    size_t size = 0;
    (void)SLOT(agent_info, INFO_GET_OBJECT_SIZE2, uintptr_t, size_t *)(agent_info, object, &size);
    __atomic_fetch_add(&reported_bytes, (size + 7) & ~(size_t)7, __ATOMIC_RELAXED);
    return object_allocated(self, object, class_id);
}

static void install_sum(void **callbacks, const char *path)
{
    callbacks[CALLBACK_OBJECT_ALLOCATED] = (void *)allocated_sum;
    report_fd = path == NULL ? -1 : open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}
