/* See model.h. */
#define _GNU_SOURCE
#include "model.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MAX_ARGUMENT_DEPTH 40u
#define TRUNCATED "(truncated)"
#define UNKNOWN "(unknown)"

uint32_t model_max_depth = 16384;
bool model_has_bodies;

/* ── names ──────────────────────────────────────────────────────────────────────────────────────────────────── */

static uint64_t hash_bytes(uint64_t h, const void *bytes, size_t n)
{
    const uint8_t *p = bytes;
    for (size_t i = 0; i < n; i++)
        h = (h ^ p[i]) * UINT64_C(0x100000001b3);
    return h ^ h >> 29;
}

static uint64_t hash_text(const char *text)
{
    return hash_bytes(UINT64_C(0xcbf29ce484222325), text, strlen(text));
}

static uint64_t hash_frame(uint64_t h, uint64_t address, uint64_t function)
{
    uint64_t parts[2] = {address, function};
    return hash_bytes(h, parts, sizeof parts);
}

static void add_name(FILE *out, const char *name) /* the agent keeps WIRE_MAX_NAME units, one of them a zero */
{
    fprintf(out, "%.*s", (int)WIRE_MAX_NAME - 1, name);
}

static void add_nested(FILE *out, const struct fake_class *c)
{
    const char *chain[64];
    uint32_t n = 0;
    for (; c != NULL && n < WIRE_MAX_NESTING; c = c->enclosing)
        chain[n++] = c->name;
    while (n-- > 0) {
        add_name(out, chain[n]);
        fputc('/', out);
    }
}

static void add_module(FILE *out, const struct fake_module *m)
{
    if (m != NULL && (m->flags & MODULE_FLAG_DISK) != 0 && (m->flags & MODULE_FLAG_DYNAMIC) == 0)
        add_name(out, m->path);
    fputc('|', out);
    if (m != NULL)
        add_name(out, m->name);
    fputc('|', out);
}

static void add_type(FILE *out, const struct fake_class *c, uint32_t depth)
{
    if (depth > WIRE_MAX_NESTING) {
        fprintf(out, "none");
    } else if (c == NULL) {
        fprintf(out, "none");
    } else if (c->incomplete > 0) {
        fprintf(out, "unknown");
    } else if (c->kind == A_COMPOSITE) {
        fprintf(out, "other");
    } else if (c->kind == AN_ARRAY) {
        fprintf(out, "array %u%s %x ", c->rank, c->rank == 1 && c->table[1] == 32 ? "*" : "", c->element_code);
        add_type(out, c->element, depth + 1);
    } else {
        add_module(out, c->module);
        add_nested(out, c);
        for (uint32_t i = 0; i < c->n_arguments && i < WIRE_MAX_TYPE_ARGUMENTS; i++) {
            fputc('<', out);
            add_type(out, c->arguments[i], depth + 1);
        }
    }
}

static void add_method(FILE *out, const struct fake_method *m)
{
    if (m->dynamic) {
        fprintf(out, "dynamic ");
        add_name(out, m->name);
        return;
    }
    add_module(out, m->module);
    add_nested(out, m->type);
    add_name(out, m->name);
    for (uint32_t i = 0; i < m->n_arguments && i < WIRE_MAX_TYPE_ARGUMENTS; i++) {
        fputc('<', out);
        add_type(out, m->arguments[i], 0);
    }
}

static uint64_t hash_type(const struct fake_class *c)
{
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    add_type(out, c, 0);
    fclose(out);
    uint64_t h = hash_text(text);
    free(text);
    return h;
}

/* ── the model ──────────────────────────────────────────────────────────────────────────────────────────────── */

static void append(struct entries *m, struct entry e)
{
    if (m->n == m->capacity) {
        m->capacity = m->capacity == 0 ? 256 : 2 * m->capacity;
        m->list = realloc(m->list, m->capacity * sizeof *m->list);
    }
    m->list[m->n++] = e;
}

static uint64_t hash_method(const struct fake_body *b)
{
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    add_method(out, b->method);
    fclose(out);
    uint64_t h = hash_text(text);
    free(text);
    return h;
}

/* No frame of its own: native code, helpers, and first versions, whose call the OSR variant stands for. */
static bool is_hidden(const struct fake_body *b)
{
    return b->method->helper || (b->shape >= NATIVE && b->shape <= FIRST_VERSION_VERY_LARGE) || b->shape == NATIVE_BARE;
}

static uint64_t address_in(const struct fake_stack *s, uint32_t i, bool in_handler)
{
    const struct fake_body *b = s->bodies[i < s->n ? i : s->n - 1];
    if (in_handler && i == s->n + s->repeat - 1)
        return b->fault + 1;
    return b->returns[i < 64 ? s->places >> i & 1 : 0];
}

void model_add(struct entries *m, const struct fake_stack *s, bool in_handler, const struct fake_class *c, bool frozen,
               uint64_t objects, uint64_t bytes)
{
    struct entry e = {.thread = (uint64_t)syscall(SYS_gettid), .frozen = frozen, .objects = objects, .bytes = bytes};
    e.type = hash_type(c);
    uint32_t n = s == NULL ? 0 : s->n + s->repeat, depth = 0, last = 0;
    const struct fake_body *named = NULL; /* the one before, with its name: of a recursion's bodies most are alike */
    uint64_t name = 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct fake_body *b = s->bodies[i < s->n ? i : s->n - 1];
        if (is_hidden(b))
            continue;
        if (b != named)
            name = hash_method(named = b);
        depth++;
        last = i;
        if (depth <= model_max_depth)
            e.stack = hash_frame(e.stack, address_in(s, i, in_handler), name);
    }
    e.depth = depth;
    if (depth == 0) {
        e.stack = hash_frame(0, 0, hash_text(UNKNOWN));
        e.depth = 1;
    } else if (depth > model_max_depth) {
        e.stack = hash_frame(e.stack, 0, hash_text(TRUNCATED));
        e.stack = hash_frame(e.stack, address_in(s, last, in_handler), hash_method(s->bodies[last < s->n ? last : s->n - 1]));
        e.depth = model_max_depth + 2;
    }
    append(m, e);
}

/* More links than the agent follows: only the innermost function is reported. */
void model_add_deep(struct entries *m, const struct fake_stack *s, const struct fake_class *c, uint64_t objects, uint64_t bytes)
{
    struct entry e = {.thread = (uint64_t)syscall(SYS_gettid), .type = hash_type(c), .depth = 2, .objects = objects, .bytes = bytes};
    e.stack = hash_frame(hash_frame(0, 0, hash_text(TRUNCATED)), address_in(s, s->n + s->repeat - 1, false), hash_method(s->bodies[s->n - 1]));
    append(m, e);
}

void model_join(struct entries *m, const struct entries *more)
{
    for (size_t i = 0; i < more->n; i++)
        append(m, more->list[i]);
}

static int by_key(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    uint64_t p[5] = {x->thread, x->stack, x->type, x->depth, x->frozen}, q[5] = {y->thread, y->stack, y->type, y->depth, y->frozen};
    for (int i = 0; i < 5; i++)
        if (p[i] != q[i])
            return p[i] < q[i] ? -1 : 1;
    return 0;
}

static void merge_equal(struct entries *m)
{
    if (m->n == 0)
        return;
    qsort(m->list, m->n, sizeof *m->list, by_key);
    size_t n = 0;
    for (size_t i = 1; i < m->n; i++) {
        if (by_key(&m->list[n], &m->list[i]) == 0) {
            m->list[n].objects += m->list[i].objects;
            m->list[n].bytes += m->list[i].bytes;
        } else {
            m->list[++n] = m->list[i];
        }
    }
    m->n = n + 1;
}

static int differ(const struct entry *model, const struct entry *arena, int so_far)
{
    const struct entry none = {0}, *m = model == NULL ? &none : model, *a = arena == NULL ? &none : arena;
    const struct entry *k = model != NULL ? m : a;
    if (so_far < 5)
        fprintf(stderr, "thread %llu stack %016llx depth %u type %016llx frozen %u: model %llu objects %llu bytes, arena %llu, %llu\n",
                (unsigned long long)k->thread, (unsigned long long)k->stack, k->depth, (unsigned long long)k->type, k->frozen,
                (unsigned long long)m->objects, (unsigned long long)m->bytes, (unsigned long long)a->objects, (unsigned long long)a->bytes);
    return so_far + 1;
}

#define MAX_IDS (1u << 17)
static uint32_t thread_os[MAX_IDS];
static const struct wire_thread_set *sets;
static uint32_t n_sets;

static bool has_own_id(uint64_t os_id)
{
    for (uint32_t id = 1; id < MAX_IDS; id++)
        if (thread_os[id] == os_id)
            return true;
    return false;
}

static void join_sets(struct entries *m)
{
    uint64_t last = 0;
    bool own = false;
    for (size_t i = 0; i < m->n; i++) {
        if (i == 0 || m->list[i].thread != last)
            own = has_own_id(m->list[i].thread);
        last = m->list[i].thread;
        if (!own)
            m->list[i].thread = MODEL_SETS;
    }
}

int model_compare(struct entries *model, struct entries *arena, bool exact)
{
    int differences = 0;
    if (n_sets != 0)
        join_sets(model);
    merge_equal(model);
    merge_equal(arena);
    for (size_t i = 0, k = 0; i < model->n || k < arena->n;) {
        int order = i == model->n ? 1 : k == arena->n ? -1 : by_key(&model->list[i], &arena->list[k]);
        const struct entry *m = order <= 0 ? &model->list[i++] : NULL, *a = order >= 0 ? &arena->list[k++] : NULL;
        if (m != NULL && a != NULL && (exact ? m->objects == a->objects && m->bytes == a->bytes : m->objects >= a->objects && m->bytes >= a->bytes))
            continue;
        if (m != NULL && (exact ? m->objects == 0 : a == NULL))
            continue;
        if (m == NULL && (a->objects == 0 || (a->folded && !exact)))
            continue;
        differences = differ(m, a, differences);
    }
    return differences;
}

int model_compare_types(struct entries *model, struct entries *arena, bool exact)
{
    struct entries *both[] = {model, arena};
    for (uint32_t i = 0; i < 2; i++)
        for (size_t k = 0; k < both[i]->n; k++) {
            both[i]->list[k].stack = both[i]->list[k].depth = 0;
            both[i]->list[k].folded = false;
        }
    return model_compare(model, arena, exact);
}

/* ── the arena ──────────────────────────────────────────────────────────────────────────────────────────────── */

struct reader {
    const uint8_t *p, *end;
};

static uint32_t get32(struct reader *r)
{
    uint32_t v;
    if (r->end - r->p < 4)
        fake_die("arena: a record is too short");
    memcpy(&v, r->p, 4);
    r->p += 4;
    return v;
}

static void get_text(struct reader *r, FILE *out)
{
    uint32_t n = get32(r);
    if ((uint64_t)(r->end - r->p) < 2 * (uint64_t)n || n >= WIRE_MAX_NAME)
        fake_die("arena: a name of %u characters", n);
    for (uint32_t i = 0; i < n; i++, r->p += 2)
        fputc(r->p[1] != 0 || r->p[0] == 0 ? '?' : r->p[0], out);
}

static char *modules[MAX_IDS], *functions[MAX_IDS];
static uint32_t body_function[MAX_IDS], function_flags[MAX_IDS], n_bodies;
static uint64_t body_range[MAX_IDS][2];

static const char *known(char **names, uint32_t id, const char *what)
{
    if (id >= MAX_IDS || (id != 0 && names[id] == NULL))
        fake_die("arena: %s %u was never described", what, id);
    return id == 0 ? NULL : names[id];
}

static void read_names(struct reader *r, FILE *out, char after)
{
    for (uint32_t n = get32(r); n > 0; n--) {
        get_text(r, out);
        fputc(after, out);
    }
}

/* Type arguments are written after the names here, but lie before them in the record. */
static void read_arguments(struct reader *r, FILE *out, char **types)
{
    for (uint32_t n = get32(r); n > 0; n--) {
        const char *name = known(types, get32(r), "type");
        fprintf(out, "<%s", name == NULL ? "none" : name);
    }
}

static void read_type(struct reader *r, FILE *out, char **types)
{
    const char *module = known(modules, get32(r), "module"), *element;
    get32(r); /* token */
    uint32_t kind = get32(r), rank = get32(r), bounds = get32(r), element_id = get32(r), code = get32(r);
    char *arguments = NULL;
    size_t n = 0;
    FILE *later = open_memstream(&arguments, &n);
    read_arguments(r, later, types);
    fclose(later);
    element = known(types, element_id, "type");
    if (kind == WIRE_TYPE_CLASS) {
        fprintf(out, "%s", module == NULL ? "||" : module);
        read_names(r, out, '/');
        fprintf(out, "%s", arguments);
    } else if (kind == WIRE_TYPE_ARRAY) {
        fprintf(out, "array %u%s %x %s", rank, bounds != 0 ? "*" : "", code, element == NULL ? "none" : element);
    } else {
        fprintf(out, "%s", kind == WIRE_TYPE_OTHER ? "other" : "unknown");
    }
    free(arguments);
}

static void read_function(struct reader *r, FILE *out, char **types, uint32_t *flags)
{
    const char *module = known(modules, get32(r), "module");
    get32(r); /* token */
    known(types, get32(r), "type");
    *flags = get32(r);
    bool dynamic = (*flags & WIRE_FUNCTION_DYNAMIC) != 0;
    char *arguments = NULL;
    size_t n = 0;
    FILE *later = open_memstream(&arguments, &n);
    read_arguments(r, later, types);
    fclose(later);
    fprintf(out, "%s", dynamic ? "dynamic " : module == NULL ? "||" : module);
    read_names(r, out, '/');
    get_text(r, out);
    fprintf(out, "%s", arguments);
    free(arguments);
}

static void read_body(struct reader *r, uint32_t id)
{
    uint32_t function = get32(r), n = get32(r);
    known(functions, function, "function");
    if (function == 0 || n == 0)
        fake_die("arena: body %u of function %u with %u ranges", id, function, n);
    body_function[id] = function;
    for (uint32_t i = 0; i < 4 * n; i++) {
        uint32_t word = get32(r);
        if (i < 4)
            ((uint32_t *)(void *)body_range[id])[i] = word;
    }
    for (uint32_t points = 2 * get32(r); points > 0; points--)
        get32(r);
}

static void read_record(struct arena_facts *f, struct reader *r, uint32_t kind)
{
    if (kind == WIRE_RECORD_CONTROL)
        return; /* what it means is tested elsewhere */
    uint32_t id = kind == WIRE_RECORD_PROCESS ? 0 : get32(r);
    if (id >= MAX_IDS && kind != WIRE_RECORD_THREAD_END && kind != WIRE_RECORD_THREAD_NAME)
        fake_die("arena: id %u", id);
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    char **place = NULL;
    if (kind == WIRE_RECORD_MODULE) {
        place = &modules[id];
        r->p += 20;
        get_text(r, out);
        fputc('|', out);
        get_text(r, out);
        fputc('|', out);
    } else if (kind == WIRE_RECORD_TYPE) {
        place = &f->type_names[id];
        read_type(r, out, f->type_names);
    } else if (kind == WIRE_RECORD_FUNCTION) {
        place = &functions[id];
        read_function(r, out, f->type_names, &function_flags[id]);
    } else if (kind == WIRE_RECORD_BODY) {
        n_bodies++;
        read_body(r, id);
    } else if (kind == WIRE_RECORD_THREAD) {
        thread_os[id] = get32(r);
        f->n_threads++;
    } else if (kind == WIRE_RECORD_THREAD_END) {
        f->n_thread_ends++;
    } else if (kind == WIRE_RECORD_THREAD_NAME) {
        f->n_thread_names++;
    } else if (kind != WIRE_RECORD_PROCESS && kind < WIRE_RECORD_GC) { /* those of lifetime are read by others */
        fake_die("arena: record of kind %u", kind);
    }
    fclose(out);
    if (place == NULL)
        free(text);
    else
        *place = text;
}

static const void *region(const uint8_t *base, uint32_t i, uint64_t *bytes)
{
    const struct wire_region_entry *r = &((const struct wire_header *)(const void *)base)->regions[i];
    *bytes = __atomic_load_n(&r->used, __ATOMIC_ACQUIRE);
    if (*bytes > r->backed || r->backed > r->capacity)
        fake_die("arena: region %u has %llu of %llu bytes", i, (unsigned long long)*bytes, (unsigned long long)r->backed);
    return base + r->offset;
}

static void read_log(struct arena_facts *f, const uint8_t *base)
{
    uint64_t bytes;
    const uint8_t *p = region(base, WIRE_REGION_LOG, &bytes);
    for (const uint8_t *end = p + bytes; p < end;) {
        struct wire_record_header head;
        memcpy(&head, p, sizeof head);
        if (head.size < 8 || head.size % 8 != 0 || head.size > (uint64_t)(end - p) || head.kind > WIRE_RECORD_FREED)
            fake_die("arena: record of %u bytes, kind %u", head.size, head.kind);
        struct reader r = {p + sizeof head, p + head.size};
        f->records[head.kind]++;
        read_record(f, &r, head.kind);
        p += head.size;
    }
}

const char *model_function(uint32_t id, uint32_t *flags)
{
    const char *name = known(functions, id, "function");
    *flags = function_flags[id];
    return name;
}

uint32_t model_function_at(uint64_t address)
{
    for (uint32_t id = n_bodies; id > 0; id--)
        if (address - body_range[id][0] < body_range[id][1])
            return body_function[id];
    return 0;
}

uint32_t model_thread(uint32_t id)
{
    return id < MAX_IDS ? thread_os[id] : 0;
}

char *model_method_name(const struct fake_method *m)
{
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    add_method(out, m);
    fclose(out);
    return text;
}

/* The name of an instruction's function; NULL: not managed. */
static const char *name_of_ip(const struct wire_ip *ips, uint32_t n, uint32_t id)
{
    if (id == 0 || id >= n)
        fake_die("arena: instruction %u of %u", id, n);
    if (id < WIRE_IP_FIRST)
        return id == WIRE_IP_TRUNCATED ? TRUNCATED : UNKNOWN;
    const struct wire_ip *ip = &ips[id];
    if ((ip->flags & WIRE_IP_MANAGED) == 0)
        fake_die("arena: native instruction %u in a node", id);
    const char *name = known(functions, ip->function, "function");
    if (name == NULL || (ip->body != 0 && body_function[ip->body] != ip->function))
        fake_die("arena: instruction %u has function %u, body %u", id, ip->function, ip->body);
    if (ip->body == 0 && model_has_bodies && strstr(name, TRUNCATED) == NULL) /* that of a module has none */
        fake_die("arena: instruction %u has no body", id);
    if (ip->body != 0 && ip->address - body_range[ip->body][0] >= body_range[ip->body][1])
        fake_die("arena: instruction %u is outside of its body", id);
    return name;
}

static int by_words(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return x[0] != y[0] ? (x[0] < y[0] ? -1 : 1) : x[1] != y[1] ? (x[1] < y[1] ? -1 : 1) : 0;
}

static uint32_t count_duplicates(const struct wire_node *nodes, uint32_t n_nodes, const struct wire_site *sites, uint32_t n_sites)
{
    uint64_t(*keys)[2] = calloc(n_nodes + n_sites + 1, sizeof *keys);
    size_t n = 0;
    uint32_t duplicates = 0;
    for (uint32_t i = 1; i < n_nodes; i++, n++)
        keys[n][1] = (uint64_t)nodes[i].parent << 32 | nodes[i].ip;
    for (uint32_t i = 0; i < n_sites; i++, n++) {
        keys[n][0] = sites[i].thread;
        keys[n][1] = (uint64_t)sites[i].node << 32 | sites[i].type;
    }
    qsort(keys, n, sizeof *keys, by_words);
    for (size_t i = 1; i < n; i++)
        duplicates += by_words(keys[i - 1], keys[i]) == 0;
    free(keys);
    return duplicates;
}

static void read_sets(struct arena_facts *f, const uint8_t *base)
{
    uint64_t bytes;
    sets = region(base, WIRE_REGION_THREAD_SETS, &bytes);
    f->n_sets = n_sets = (uint32_t)(bytes / sizeof *sets);
    for (uint32_t i = 0; i < n_sets; i++) {
        if (sets[i].thread >= MAX_IDS || thread_os[sets[i].thread] != MODEL_SETS)
            fake_die("arena: set of threads %u has the id %u of a thread", i, sets[i].thread);
        f->n_set_threads += sets[i].threads;
    }
}

struct arena_facts *arena_read(const char *directory, struct entries *out)
{
    char path[4096] = "";
    DIR *d = opendir(directory);
    for (struct dirent *e; (e = readdir(d)) != NULL;)
        if (e->d_name[0] != '.' && strstr(e->d_name, ".arena") != NULL) {
            if (path[0] != 0 || strstr(e->d_name, ".new") != NULL)
                fake_die("%s: a second file %s", directory, e->d_name);
            snprintf(path, sizeof path, "%s/%s", directory, e->d_name);
        }
    closedir(d);
    if (path[0] == 0)
        return NULL;
    int fd = open(path, O_RDONLY);
    struct stat st;
    fstat(fd, &st);
    const uint8_t *base = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    if (base == MAP_FAILED)
        fake_die("cannot map %s", path);
    struct arena_facts *f = calloc(1, sizeof *f);
    f->header = (const struct wire_header *)(const void *)base;
    read_log(f, base);
    uint64_t n_ips, n_nodes, n_sites;
    const struct wire_ip *ips = region(base, WIRE_REGION_IPS, &n_ips);
    const struct wire_node *nodes = region(base, WIRE_REGION_NODES, &n_nodes);
    const struct wire_site *sites = region(base, WIRE_REGION_SITES, &n_sites);
    read_sets(f, base);
    f->n_ips = (uint32_t)(n_ips / sizeof *ips);
    f->n_nodes = (uint32_t)(n_nodes / sizeof *nodes);
    f->n_sites = (uint32_t)(n_sites / sizeof *sites);
    struct {
        uint64_t hash;
        uint32_t depth;
        bool folded;
    } *stacks = calloc(f->n_nodes + 1, sizeof *stacks);
    for (uint32_t i = 1; i < f->n_nodes; i++) {
        if (nodes[i].parent >= i)
            fake_die("arena: node %u has parent %u", i, nodes[i].parent);
        const char *name = name_of_ip(ips, f->n_ips, nodes[i].ip);
        uint64_t address = nodes[i].ip < WIRE_IP_FIRST ? 0 : ips[nodes[i].ip].address;
        stacks[i].hash = hash_frame(stacks[nodes[i].parent].hash, address, hash_text(name));
        stacks[i].depth = stacks[nodes[i].parent].depth + 1;
        stacks[i].folded = nodes[i].parent == 0 ? nodes[i].ip == WIRE_IP_TRUNCATED : stacks[nodes[i].parent].folded;
    }
    for (uint32_t i = 0; i < f->n_sites; i++) {
        const struct wire_site *s = &sites[i];
        if (s->node == 0 || s->node >= f->n_nodes || s->thread == 0 || s->thread > f->n_threads + f->n_sets)
            fake_die("arena: site %u of thread %u at node %u", i, s->thread, s->node);
        const char *type = known(f->type_names, s->type & ~WIRE_SITE_FROZEN, "type");
        append(out, (struct entry){thread_os[s->thread], stacks[s->node].hash, hash_text(type == NULL ? "" : type), stacks[s->node].depth,
                                   (s->type & WIRE_SITE_FROZEN) != 0, stacks[s->node].folded, s->objects, s->bytes});
        f->objects += s->objects;
        f->bytes += s->bytes;
    }
    free(stacks);
    f->duplicates = count_duplicates(nodes, f->n_nodes, sites, f->n_sites);
    for (uint32_t i = 0; i < WIRE_LOSS_COUNT; i++) {
        if (i == WIRE_LOSS_CALLS_FOLDED || i == WIRE_LOSS_CALLS_UNMATCHED || i == WIRE_LOSS_CALLS_CUT)
            continue; /* those are calls */
        if (i == WIRE_LOSS_AGES)
            continue; /* those are counted */
        f->lost_objects += f->header->losses[i].objects;
        f->lost_bytes += f->header->losses[i].bytes;
    }
    return f;
}
