/* The variant "record": the product with lifetime, and beside it everything that it learns of the heap, written to the
 * file CLRPROF_RECORDING at the runtime's shutdown, in the format of internal/testkit/heap/encoding.go. Part of oracle.c.
 *
 * What is recorded comes from the runtime and not from the agent: addresses, sizes (GetObjectSize2), frozen objects
 * (IsFrozenObject), bounds and ranges. Only the numbers of sites are the agent's.
 *
 * Entries are kept in memory, in the order in which they are reserved: an allocation's before the agent hears of it, so
 * that a garbage collection that the agent lets happen comes behind it; its site is put in afterwards. */

#define RECORD_ENTRIES (UINT64_C(1) << 27) /* 3 GiB of addresses; as much is backed as is used */
#define INFO_IS_FROZEN_OBJECT 94

enum { RECORD_ALLOC = 1, RECORD_FROZEN, RECORD_GC_START = 5, RECORD_MOVED, RECORD_SURVIVED, RECORD_GC_END, RECORD_END };

struct record_entry { /* kind and what belongs to it, followed by the rows of bounds or ranges */
    uint64_t word[3];
};

static struct record_entry *record_entries;
static uint64_t n_record_entries;
static uint32_t record_in_flight, record_stopped;
static uint64_t record_start; /* entry of the collection that is going on */
static bool record_off;       /* the collection that is going on comes after the last one */
static hresult (*recorded_started)(void *, int32_t, const int32_t *, uint32_t);
static hresult (*recorded_moved)(void *, uint32_t, const uintptr_t *, const uintptr_t *, const size_t *);
static hresult (*recorded_survived)(void *, uint32_t, const uintptr_t *, const size_t *);
static hresult (*recorded_finished)(void *);

static struct record_entry *record_reserve(uint64_t n)
{
    uint64_t at = __atomic_fetch_add(&n_record_entries, n, __ATOMIC_RELAXED);
    if (at + n > RECORD_ENTRIES) {
        fprintf(stderr, "record: too much for one recording\n");
        abort();
    }
    return &record_entries[at];
}

/* The thread's site for this type at the place of its last stack. */
static uint64_t record_site(uintptr_t class_id, bool frozen)
{
    const struct thread *t = current_thread;
    uint32_t type = type_of_class(class_id) | (frozen ? WIRE_SITE_FROZEN : 0);
    uint32_t n = t == NULL ? 0 : __atomic_load_n(&arena_node(t->leaf)->site, __ATOMIC_ACQUIRE);
    while (n != 0 && (arena.sites[n - 1].thread != t->id || arena.sites[n - 1].type != type))
        n = arena.sites[n - 1].next;
    return n;
}

static hresult allocated_record(void *self, uintptr_t object, uintptr_t class_id)
{
    __atomic_fetch_add(&record_in_flight, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&record_stopped, __ATOMIC_SEQ_CST) == 0) {
        size_t size = 0;
        int32_t frozen = 0;
        (void)SLOT(agent_info, INFO_GET_OBJECT_SIZE2, uintptr_t, size_t *)(agent_info, object, &size);
        (void)SLOT(agent_info, INFO_IS_FROZEN_OBJECT, uintptr_t, int32_t *)(agent_info, object, &frozen);
        struct record_entry *e = record_reserve(1);
        e->word[1] = object;
        e->word[2] = (size + 7) & ~UINT64_C(7);
        e->word[0] = frozen != 0 ? RECORD_FROZEN : RECORD_ALLOC;
        object_allocated_lifetime(self, object, class_id);
        e->word[0] |= record_site(class_id, frozen != 0) << 32;
    }
    __atomic_fetch_sub(&record_in_flight, 1, __ATOMIC_SEQ_CST);
    return HR_OK;
}

/* Adds an entry that is followed by GetGenerationBounds; the generation is put into the low bits of a start. */
static struct record_entry *record_bounds(uint64_t kind)
{
    static struct clr_generation_range ranges[1u << 16];
    uint32_t n = 0;
    if (SLOT(agent_info, INFO_GET_GENERATION_BOUNDS, uint32_t, uint32_t *, struct clr_generation_range *)(agent_info, 1u << 16, &n, ranges) < 0 ||
        n > 1u << 16) {
        fprintf(stderr, "record: no bounds\n");
        abort();
    }
    struct record_entry *e = record_reserve(1 + n);
    e->word[0] = kind;
    e->word[2] = n;
    for (uint32_t i = 0; i < n; i++)
        e[1 + i] = (struct record_entry){{ranges[i].start | ranges[i].generation, ranges[i].length, ranges[i].reserved}};
    return e;
}

static hresult started_record(void *self, int32_t n, const int32_t *collected, uint32_t reason)
{
    record_off = arena.header->alive_known != 0;
    if (!record_off) {
        struct record_entry *e = record_bounds(RECORD_GC_START);
        record_start = (uint64_t)(e - record_entries);
        for (int32_t i = 0; i < n; i++)
            e->word[1] |= collected[i] != 0 ? UINT64_C(1) << (8 + i) : 0;
        e->word[1] |= reason == 1;
    }
    return recorded_started(self, n, collected, reason);
}

static void record_ranges(uint64_t kind, uint32_t n, const uintptr_t *from, const uintptr_t *to, const size_t *lengths)
{
    struct record_entry *e = record_off ? NULL : record_reserve(1 + (uint64_t)n);
    if (e == NULL)
        return;
    e->word[0] = kind;
    e->word[2] = n;
    for (uint32_t i = 0; i < n; i++)
        e[1 + i] = (struct record_entry){{from[i], to[i], lengths[i]}};
}

static hresult moved_record(void *self, uint32_t n, const uintptr_t *from, const uintptr_t *to, const size_t *lengths)
{
    record_ranges(RECORD_MOVED, n, from, to, lengths);
    return recorded_moved(self, n, from, to, lengths);
}

static hresult survived_record(void *self, uint32_t n, const uintptr_t *from, const size_t *lengths)
{
    record_ranges(RECORD_SURVIVED, n, from, from, lengths);
    return recorded_survived(self, n, from, lengths);
}

static hresult finished_record(void *self)
{
    if (record_off)
        return recorded_finished(self);
    record_bounds(RECORD_GC_END)->word[1] = monotonic_ns();
    hresult hr = recorded_finished(self);
    if (arena.header->alive_known != 0)
        record_entries[record_start].word[1] |= 2 | 4;
    return hr;
}

static void record_install(void **callbacks)
{
    void *p = mmap(NULL, RECORD_ENTRIES * sizeof *record_entries, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        abort();
    record_entries = p;
    recorded_started = (hresult(*)(void *, int32_t, const int32_t *, uint32_t))callbacks[CALLBACK_GC_STARTED];
    recorded_moved = (hresult(*)(void *, uint32_t, const uintptr_t *, const uintptr_t *, const size_t *))callbacks[CALLBACK_MOVED_REFERENCES2];
    recorded_survived = (hresult(*)(void *, uint32_t, const uintptr_t *, const size_t *))callbacks[CALLBACK_SURVIVING_REFERENCES2];
    recorded_finished = (hresult(*)(void *))callbacks[CALLBACK_GC_FINISHED];
    callbacks[CALLBACK_OBJECT_ALLOCATED] = (void *)allocated_record;
    callbacks[CALLBACK_GC_STARTED] = (void *)started_record;
    callbacks[CALLBACK_MOVED_REFERENCES2] = (void *)moved_record;
    callbacks[CALLBACK_SURVIVING_REFERENCES2] = (void *)survived_record;
    callbacks[CALLBACK_GC_FINISHED] = (void *)finished_record;
}

/* ── writing ────────────────────────────────────────────────────────────────────────────────────────────────── */

static void record_number(FILE *f, uint64_t n)
{
    for (; n >= 0x80; n >>= 7)
        putc((int)(n & 0x7F) | 0x80, f);
    putc((int)n, f);
}

static void record_address(FILE *f, uint64_t *last, uint64_t address)
{
    uint64_t delta = address - *last;
    record_number(f, delta << 1 ^ (0 - (delta >> 63)));
    *last = address;
}

static void record_rows(FILE *f, const struct record_entry *e, uint64_t kind)
{
    static uint64_t last_from, last_to, last_start;
    uint64_t n = e->word[2];
    record_number(f, n);
    for (uint64_t i = 1; i <= n; i++) {
        const uint64_t *w = e[i].word;
        if (kind == RECORD_GC_START || kind == RECORD_GC_END) {
            record_address(f, &last_start, w[0] & ~UINT64_C(7));
            record_number(f, w[1]);
            record_number(f, w[2]);
            record_number(f, w[0] & 7);
            continue;
        }
        record_address(f, &last_from, w[0]);
        if (kind == RECORD_MOVED)
            record_address(f, &last_to, w[1]);
        record_number(f, w[2]);
    }
}

/* Writes one entry with its rows and returns how many there are. */
static uint64_t record_entry(FILE *f, const struct record_entry *e)
{
    static uint64_t last_alloc;
    uint64_t kind = e->word[0] & 0xFF;
    putc((int)kind, f);
    if (kind == RECORD_ALLOC || kind == RECORD_FROZEN) {
        record_address(f, &last_alloc, e->word[1]);
        record_number(f, e->word[2]);
        record_number(f, e->word[0] >> 32);
        return 1;
    }
    if (kind == RECORD_GC_START) {
        record_number(f, e->word[1] >> 8);
        record_number(f, e->word[1] & 7);
    } else if (kind == RECORD_GC_END) {
        record_number(f, e->word[1]);
    }
    record_rows(f, e, kind);
    return 1 + e->word[2];
}

/* The agent hears of no allocation after this, so its counters stay those of the recording. */
static void record_write(const char *path)
{
    __atomic_store_n(&record_stopped, 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&record_in_flight, __ATOMIC_SEQ_CST) != 0)
        sched_yield();
    FILE *f = fopen(path, "wb");
    if (f == NULL)
        return; /* the test misses it */
    fputs("clrheap1", f);
    uint64_t n = __atomic_load_n(&n_record_entries, __ATOMIC_SEQ_CST);
    for (uint64_t i = 0; i < n;)
        i += record_entry(f, &record_entries[i]);
    putc(RECORD_END, f);
    fclose(f);
}
