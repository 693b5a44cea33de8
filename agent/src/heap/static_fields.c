/* Which static fields hold objects, by name: a part of a snapshot of the heap.
 *
 * Problem: to the collector of garbage a static field is a place in one of the runtime's own arrays, and a leak ends in `object[]`. The
 * runtime says where a field of a class is (GetAppDomainStaticAddress), but neither which classes there are, nor anything of the
 * fields of an instantiation of a generic class, as it asks the class without type arguments whether it is initialised.
 *
 * Idea: the runtime reports each class when it has loaded it. After the collection of a snapshot, with all threads stopped, each class
 * is asked for its static fields that can hold references, and for where these are. Nothing is loaded or initialised by
 * that: a class that is not initialised yet has none. What is found goes into the file of the snapshot, with the object that the
 * field holds, and the reader compares that with the references of the array.
 *
 * Of an instantiation it is read from where the runtime has it, from .NET 9 on: see find_instance. Nothing is believed that
 * does not name the class itself, and all is read through the kernel, which refuses where there is nothing. The fields of
 * threads are in arrays that each thread has for itself: see find_thread_data.
 *
 * A class that can be unloaded is forgotten when a module that it is made of is. That, like loading, goes on while the threads are
 * stopped: who unloads waits while a class is asked. Threads have fields of their own, and are known from their begin to their
 * end; one that ends waits, too. From before an attach there are no threads here, and those classes of which types are
 * known: of objects on the heap, of functions that were met. */
#define _GNU_SOURCE
#include "heap/static_fields.h"
#include "core/arena.h"
#include "core/recording.h"
#include "core/sorted_array.h"
#include "metadata/descriptions.h"
#include "heap/heap_snapshot.h"

#include <errno.h>
#include <sys/uio.h>
#include <unistd.h>

#define MAX_CLASSES 100000u /* the C# compiler loads 7,000, a large service some ten thousands; the pause is 5 µs longer for each */
#define MAX_THREADS 4096u   /* that are asked for their own: with 50 such fields the pause is some 20 ms longer */
#define MAX_DEPTH 16u       /* of type arguments within type arguments */
#define TOKENS 64u          /* fields that are asked for at once */
#define INSTANCE_MAJOR 9u   /* of the runtime, from which on statics of instantiations are where find_instance looks */
#define INSTANCE_WORDS 6u    /* there, before what the class points to, with itself as the last */
#define MAX_FIELD_DESCS 256u /* static fields of a generic class */
#define THREAD_WORDS 512u    /* of the runtime's Thread, among which one points to its statics: the 72nd in .NET 10 */
#define THREADS_TRIED 16u    /* that may have none, as they have not begun or are about to end */
#define ARRAY_WORDS 2u       /* of an array before its elements: its class and its length */
#define MANY UINTPTR_MAX

#define FIELD_STATIC 0x10u /* fdStatic, fdLiteral, fdHasFieldRVA of corhdr.h */
#define FIELD_LITERAL 0x40u
#define FIELD_RVA 0x100u
#define SIGNATURE_FIELD 0x06u
#define ELEMENT_STRING 0x0Eu /* ECMA-335 II.23.1.16 */
#define ELEMENT_VALUE 0x11u
#define ELEMENT_CLASS 0x12u
#define ELEMENT_VARIABLE 0x13u
#define ELEMENT_ARRAY 0x14u
#define ELEMENT_GENERIC 0x15u
#define ELEMENT_OBJECT 0x1Cu
#define ELEMENT_VECTOR 0x1Du
#define ELEMENT_REQUIRED 0x1Fu /* and ELEMENT_OPTIONAL, the next: modifiers */

struct loaded_class {
    uintptr_t id, module;
    uintptr_t collectible; /* another module that can be unloaded, of a type argument; MANY: several */
    uint32_t token;
    bool is_instance; /* it has type arguments */
};

struct field { /* a static field that can hold references */
    uint32_t token, length;
    bool is_value;
    utf16 name[WIRE_MAX_NAME];
};

struct reported { /* as in the file, before the name */
    uint64_t slot, object;
    uint32_t type, token, of_thread, length;
};

struct field_desc { /* what the runtime knows of a field: field.h */
    uintptr_t class_id;
    uint32_t token_and_kind, offset_and_type;
};
#define DESC_TOKEN 0x00FFFFFFu
#define DESC_STATIC 0x01000000u
#define DESC_THREAD 0x02000000u
#define DESC_RVA 0x04000000u
#define DESC_OFFSET 0x07FFFFFFu
#define DESC_TYPE_SHIFT 27
#define INDEX_NONE UINT32_MAX /* of TLSIndex: no thread has used such a field yet */
#define INDEX_KIND_SHIFT 24   /* 0: in the array of arrays */

struct instance { /* where the static fields of an instantiation are */
    uintptr_t base;     /* 0: it is not initialised */
    uint32_t of_threads; /* where threads have theirs: TLSIndex of threadstatics.h */
    uint32_t n;
    struct field_desc fields[MAX_FIELD_DESCS];
};

static void *info;
static uint32_t lock_word, asking; /* asking: held while a class of `reported_now` is asked, and for the threads */
static struct list classes = {.size = sizeof(struct loaded_class)}, reported_now = {.size = sizeof(struct loaded_class)};
static uintptr_t threads[MAX_THREADS];
static uint32_t n_threads;
static bool too_many_threads; /* there were once */
static uint64_t no_room; /* classes for which there was none */
static uint64_t left_out; /* of a snapshot: classes whose fields were not looked at */
static uintptr_t domain;  /* the only one of a process */
static struct instance *instance; /* in the making */
static uint32_t thread_data;      /* the word of threads that find_thread_data found */

/* ── which classes there are ────────────────────────────────────────────────────────────────────────────────── */

static bool is_collectible(uintptr_t module)
{
    uint32_t length = 0, flags = 0;
    uintptr_t assembly = 0;
    const uint8_t *base = NULL;
    hresult hr = SLOT(info, INFO_GET_MODULE_INFO2, uintptr_t, const uint8_t **, uint32_t, uint32_t *, utf16 *, uintptr_t *, uint32_t *)(info, module, &base, 0, &length, NULL,
                                                                                                                                        &assembly, &flags);
    return hr < 0 || (flags & MODULE_FLAG_COLLECTIBLE) != 0;
}

/* What a class is made of. False: it has no static fields: an array, or not all of its type arguments are known. */
static bool ask_class(uintptr_t id, struct loaded_class *c, uint32_t depth)
{
    uintptr_t module = 0, parent, arguments[WIRE_MAX_TYPE_ARGUMENTS], element = 0;
    uint32_t token = 0, n = 0, code, rank;
    hresult hr = SLOT(info, INFO_GET_CLASS_ID_INFO2, uintptr_t, uintptr_t *, uint32_t *, uintptr_t *, uint32_t, uint32_t *, uintptr_t *)(
        info, id, &module, &token, &parent, WIRE_MAX_TYPE_ARGUMENTS, &n, arguments);
    if (hr == HR_CLASS_IS_ARRAY && depth > 0 && depth <= MAX_DEPTH && SLOT(info, INFO_IS_ARRAY_CLASS, uintptr_t, uint32_t *, uintptr_t *, uint32_t *)(info, id, &code, &element, &rank) == HR_OK)
        return element == 0 || ask_class(element, c, depth + 1);
    if (hr != HR_OK || token == 0 || module == 0 || n > WIRE_MAX_TYPE_ARGUMENTS || depth > MAX_DEPTH)
        return false;
    if (depth == 0) {
        *c = (struct loaded_class){.id = id, .module = module, .token = token, .is_instance = n != 0};
    } else if (module != c->module && module != c->collectible && is_collectible(module)) {
        c->collectible = c->collectible == 0 ? module : MANY;
    }
    for (uint32_t i = 0; i < n; i++)
        if (arguments[i] == 0 || !ask_class(arguments[i], c, depth + 1))
            return false;
    return true;
}

static void add_class(const struct loaded_class *c)
{
    word_lock(&lock_word);
    if (classes.n < MAX_CLASSES && list_reserve(&classes, classes.n + 1))
        ((struct loaded_class *)classes.items)[classes.n++] = *c;
    else
        no_room++;
    word_unlock(&lock_word);
}

static void see_class(uintptr_t id)
{
    struct loaded_class c;
    if (ask_class(id, &c, 0))
        add_class(&c);
}

static hresult class_loaded(void *self, uintptr_t id, hresult status)
{
    (void)self;
    int saved_errno = errno;
    if (status >= 0 && visit_begin()) {
        see_class(id);
        visit_end();
    }
    errno = saved_errno;
    return HR_OK;
}

static bool is_of(const struct loaded_class *c, uintptr_t module)
{
    return c->module == module || c->collectible == module || c->collectible == MANY;
}

void statics_forget_module(uintptr_t module)
{
    word_lock(&lock_word);
    struct loaded_class *all = classes.items;
    uint64_t kept = 0;
    for (uint64_t i = 0; i < classes.n; i++)
        if (!is_of(&all[i], module))
            all[kept++] = all[i];
    classes.n = kept;
    word_unlock(&lock_word);
    word_lock(&asking);
    all = reported_now.items;
    for (uint64_t i = 0; i < reported_now.n; i++)
        if (is_of(&all[i], module))
            all[i].module = 0; /* its place stays: the others are being gone through */
    word_unlock(&asking);
}

static hresult thread_created(void *self, uintptr_t thread)
{
    (void)self;
    if (!visit_begin())
        return HR_OK;
    word_lock(&asking);
    if (n_threads < MAX_THREADS)
        threads[n_threads++] = thread;
    else
        too_many_threads = true;
    word_unlock(&asking);
    visit_end();
    return HR_OK;
}

void statics_forget_thread(uintptr_t thread)
{
    word_lock(&asking);
    for (uint32_t i = 0; i < n_threads; i++)
        if (threads[i] == thread)
            threads[i] = threads[--n_threads];
    word_unlock(&asking);
}

/* ── what fields a class has ────────────────────────────────────────────────────────────────────────────────── */

/* Can a field of this type hold references? Only the type itself is looked at, not what a struct has. */
static bool holds_references(const uint8_t *signature, uint32_t bytes, bool *is_value)
{
    uint32_t at = 1;
    if (bytes < 2 || signature[0] != SIGNATURE_FIELD)
        return false;
    while (at + 1 < bytes && (signature[at] == ELEMENT_REQUIRED || signature[at] == ELEMENT_REQUIRED + 1)) /* volatile */
        at += signature[at + 1] < 0x80 ? 2 : signature[at + 1] < 0xC0 ? 3 : 5;
    if (at >= bytes)
        return false;
    uint8_t type = signature[at];
    *is_value = type == ELEMENT_VALUE || (type == ELEMENT_GENERIC && at + 1 < bytes && signature[at + 1] == ELEMENT_VALUE);
    return type == ELEMENT_STRING || (type >= ELEMENT_VALUE && type <= ELEMENT_GENERIC) || type == ELEMENT_OBJECT || type == ELEMENT_VECTOR;
}

static bool ask_field(void *import, uint32_t token, struct field *f)
{
    uint32_t owner, length = 0, attributes = 0, bytes = 0, code, count;
    const uint8_t *signature = NULL;
    const void *value;
    if (SLOT(import, IMPORT_GET_FIELD_PROPS, uint32_t, uint32_t *, utf16 *, uint32_t, uint32_t *, uint32_t *, const uint8_t **, uint32_t *, uint32_t *, const void **, uint32_t *)(
            import, token, &owner, f->name, WIRE_MAX_NAME, &length, &attributes, &signature, &bytes, &code, &value, &count) < 0 ||
        (attributes & (FIELD_STATIC | FIELD_LITERAL | FIELD_RVA)) != FIELD_STATIC || signature == NULL)
        return false;
    f->token = token;
    f->length = length == 0 ? 0 : length <= WIRE_MAX_NAME ? length - 1 : WIRE_MAX_NAME - 1; /* it ends with a zero */
    return holds_references(signature, bytes, &f->is_value);
}

/* ── where they are ─────────────────────────────────────────────────────────────────────────────────────────── */

/* Reads memory of this process that may not be there. */
static bool read_words(uintptr_t from, void *to, size_t bytes)
{
    struct iovec in = {(void *)from, bytes}, out = {to, bytes}; /* NOLINT: an address */
    return process_vm_readv(getpid(), &out, 1, &in, 1, 0) == (ssize_t)bytes;
}

static void read_fields(uintptr_t class_id, uintptr_t at)
{
    struct field_desc *d = instance->fields;
    while (instance->n < MAX_FIELD_DESCS && read_words(at + instance->n * sizeof *d, &d[instance->n], sizeof *d) && d[instance->n].class_id == class_id &&
           (d[instance->n].token_and_kind & DESC_STATIC) != 0)
        instance->n++;
}

/* From .NET 9 on a class has, before what its fifth word points to: where threads have theirs, if it has such static fields; what the
 * runtime knows of its static fields (for an instantiation alone); the places of those with references, with bit 0 set as long as it
 * is not initialised; the places of the others; and itself (methodtable.h: ThreadStaticsInfo, GenericsStaticsInfo,
 * DynamicStaticsInfo). The second of these names the class, too, in each of its parts. */
static bool find_instance(uintptr_t class_id)
{
    uintptr_t table[5], before[INSTANCE_WORDS];
    const uint32_t self = INSTANCE_WORDS - 1, places = INSTANCE_WORDS - 3;
    instance->n = 0;
    if (!read_words(class_id, table, sizeof table) || table[4] < sizeof before || !read_words(table[4] - sizeof before, before, sizeof before) || before[self] != class_id)
        return false;
    instance->base = (before[places] & 1) == 0 ? before[places] : 0;
    instance->of_threads = (uint32_t)(before[places - 2] >> 32); /* the half for fields with references: it is read for these alone */
    read_fields(class_id, before[places - 1]);
    return instance->n != 0;
}

/* The field of the instantiation that was found last; NULL: it holds no reference. */
static const struct field_desc *instance_field(uint32_t token)
{
    for (uint32_t i = 0; i < instance->n; i++) {
        const struct field_desc *d = &instance->fields[i];
        uint32_t type = d->offset_and_type >> DESC_TYPE_SHIFT;
        if ((d->token_and_kind & DESC_TOKEN) == (token & DESC_TOKEN))
            return (d->token_and_kind & DESC_RVA) == 0 && (type == ELEMENT_CLASS || type == ELEMENT_VALUE) ? d : NULL;
    }
    return NULL;
}

/* From .NET 9 on a word of the runtime's Thread points to how many static fields it has, the array of them, those of classes that can be
 * unloaded, and the Thread itself (threadstatics.h: ThreadLocalData). */
static bool read_thread_data(uintptr_t thread, uint32_t word, uintptr_t *arrays)
{
    uintptr_t at = 0, data[4];
    if (!read_words(thread + word * sizeof at, &at, sizeof at) || at == 0 || at % sizeof at != 0 || !read_words(at, data, sizeof data) || data[3] != thread)
        return false;
    *arrays = data[1];
    return true;
}

/* Which word that is: the same for each thread. 0: none. */
static uint32_t find_thread_data(void)
{
    uintptr_t arrays;
    for (uint32_t i = 0; i < n_threads && i < THREADS_TRIED; i++)
        for (uint32_t word = 1; word < THREAD_WORDS; word++)
            if (read_thread_data(threads[i], word, &arrays))
                return word;
    return 0;
}

/* Of these arrays, which are all object[], one is of the instantiation that was found last. 0: the thread has none. Index and offset
 * are from the first word of an array on. */
static uintptr_t slot_of_thread(uintptr_t arrays, uint32_t offset)
{
    uintptr_t all[ARRAY_WORDS], own[ARRAY_WORDS], array = 0;
    uint32_t index = instance->of_threads;
    if (!read_words(arrays, all, sizeof all) || index < ARRAY_WORDS || index - ARRAY_WORDS >= (uint32_t)all[1] ||
        !read_words(arrays + index * sizeof array, &array, sizeof array) || array == 0 || !read_words(array, own, sizeof own) || own[0] != all[0] ||
        offset < sizeof own || (offset - sizeof own) / sizeof array >= (uint32_t)own[1])
        return 0;
    return array + offset;
}

/* ── reporting ────────────────────────────────────────────────────────────────────────────────────────────────── */

static void report_object(const struct loaded_class *c, const struct field *f, struct reported *t)
{
    if (t->object == 0)
        return;
    t->type = type_of_class(c->id);
    t->token = f->token;
    t->length = f->length;
    snapshot_put(t, sizeof *t);
    snapshot_put(f->name, f->length * sizeof *f->name);
}

/* A struct that has references is an object of its own, a box, and the address is in it. */
static void report_at(const struct loaded_class *c, const struct field *f, uintptr_t address, bool of_thread)
{
    struct reported t = {.slot = f->is_value ? 0 : address, .of_thread = of_thread};
    t.object = f->is_value ? address - sizeof address : *(const uintptr_t *)address;
    report_object(c, f, &t);
}

static bool report_of_threads(const struct loaded_class *c, const struct field *f)
{
    for (uint32_t i = 0; i < n_threads; i++) {
        uintptr_t address = 0;
        if (SLOT(info, INFO_GET_THREAD_STATIC_ADDRESS2, uintptr_t, uint32_t, uintptr_t, uintptr_t, uintptr_t *)(info, c->id, f->token, domain, threads[i], &address) == HR_OK &&
            address != 0)
            report_at(c, f, address, true);
    }
    return !too_many_threads && !dormant_on;
}

static void report_slot(const struct loaded_class *c, const struct field *f, uintptr_t slot, bool of_thread)
{
    struct reported t = {.slot = slot, .of_thread = of_thread};
    uintptr_t object = 0;
    if (slot != 0 && slot % sizeof slot == 0 && read_words(slot, &object, sizeof object))
        t.object = object;
    report_object(c, f, &t);
}

static bool report_instance_of_threads(const struct loaded_class *c, const struct field *f, uint32_t offset)
{
    uintptr_t arrays = 0;
    if (instance->of_threads == INDEX_NONE)
        return true;
    if (instance->of_threads >> INDEX_KIND_SHIFT != 0 || thread_data == 0)
        return false;
    for (uint32_t i = 0; i < n_threads; i++)
        if (read_thread_data(threads[i], thread_data, &arrays))
            report_slot(c, f, slot_of_thread(arrays, offset), true);
    return !too_many_threads && !dormant_on;
}

/* False: not all that it holds is known. */
static bool report_of_instance(const struct loaded_class *c, const struct field *f)
{
    const struct field_desc *d = instance_field(f->token);
    if (d != NULL && (d->token_and_kind & DESC_THREAD) != 0)
        return report_instance_of_threads(c, f, d->offset_and_type & DESC_OFFSET);
    if (d != NULL && instance->base != 0)
        report_slot(c, f, instance->base + (d->offset_and_type & DESC_OFFSET), false);
    return true;
}

/* False: not all that it holds is known. */
static bool report_field(const struct loaded_class *c, const struct field *f)
{
    uintptr_t address = 0;
    uint32_t kind = 0;
    if (c->is_instance)
        return report_of_instance(c, f);
    hresult hr = SLOT(info, INFO_GET_DOMAIN_STATIC_ADDRESS, uintptr_t, uint32_t, uintptr_t, uintptr_t *)(info, c->id, f->token, domain, &address);
    if (hr == HR_OK && address != 0)
        report_at(c, f, address, false);
    if (hr != HR_INVALID_ARGUMENT || SLOT(info, INFO_GET_STATIC_FIELD_INFO, uintptr_t, uint32_t, uint32_t *)(info, c->id, f->token, &kind) != HR_OK ||
        (kind & STATIC_OF_THREAD) == 0)
        return true;
    return report_of_threads(c, f);
}

/* False: not all that its fields hold is known. */
static bool report_fields(const struct loaded_class *c, void *import, const uint32_t *tokens, uint32_t n, struct field *f, bool *found)
{
    bool known = true;
    for (uint32_t i = 0; i < n; i++) {
        if (!ask_field(import, tokens[i], f))
            continue;
        if (c->is_instance && !*found && !(*found = arena.header->runtime_major >= INSTANCE_MAJOR && find_instance(c->id)))
            return false;
        known = report_field(c, f) && known;
    }
    return known;
}

static bool report_class(const struct loaded_class *c, struct field *f)
{
    void *import = names_metadata(c->module), *all = NULL;
    uint32_t tokens[TOKENS], n = 0;
    bool found = false, known = import != NULL;
    hresult hr = HR_OK;
    while (import != NULL) {
        hr = SLOT(import, IMPORT_ENUM_FIELDS, void **, uint32_t, uint32_t *, uint32_t, uint32_t *)(import, &all, c->token, tokens, TOKENS, &n);
        if (hr < 0 || n == 0 || n > TOKENS)
            break;
        known = report_fields(c, import, tokens, n, f, &found) && known;
    }
    if (all != NULL)
        ((void (*)(void *, void *))(*(void *const *const *)import)[IMPORT_CLOSE_ENUM])(import, all);
    return known && hr >= 0;
}

/* All assemblies are in one domain. */
static void find_domain(uintptr_t module)
{
    uint32_t length = 0, flags = 0;
    uintptr_t assembly = 0, manifest;
    const uint8_t *base = NULL;
    if (SLOT(info, INFO_GET_MODULE_INFO2, uintptr_t, const uint8_t **, uint32_t, uint32_t *, utf16 *, uintptr_t *, uint32_t *)(info, module, &base, 0, &length, NULL, &assembly,
                                                                                                                              &flags) < 0 ||
        SLOT(info, INFO_GET_ASSEMBLY_INFO, uintptr_t, uint32_t, uint32_t *, utf16 *, uintptr_t *, uintptr_t *)(info, assembly, 0, &length, NULL, &domain, &manifest) < 0)
        domain = 0;
}

static void report_classes(struct field *f)
{
    struct loaded_class *all = reported_now.items;
    uint64_t kept = 0;
    for (uint64_t i = 0; i < reported_now.n; i++) {
        word_lock(&asking);
        if (all[i].module != 0 && domain == 0)
            find_domain(all[i].module);
        if (all[i].module != 0 && (kept == 0 || all[i].id != all[kept - 1].id)) { /* some are reported twice */
            left_out += domain != 0 && report_class(&all[i], f) ? 0 : 1;
            all[kept++] = all[i];
        }
        word_unlock(&asking);
    }
    reported_now.n = kept;
}

/* What is loaded meanwhile comes behind what was loaded before. */
static void take_classes(void)
{
    word_lock(&asking);
    if (dormant_on)
        names_each_class(see_class);
    word_lock(&lock_word);
    reported_now = classes;
    classes = (struct list){.size = sizeof(struct loaded_class)};
    word_unlock(&lock_word);
    word_unlock(&asking);
}

static void give_classes(void)
{
    word_lock(&asking);
    word_lock(&lock_word);
    struct list more = classes;
    classes = reported_now;
    reported_now = (struct list){.size = sizeof(struct loaded_class)};
    bool room = list_reserve(&classes, classes.n + more.n);
    for (uint64_t i = 0; i < more.n && room; i++)
        ((struct loaded_class *)classes.items)[classes.n++] = ((const struct loaded_class *)more.items)[i];
    no_room += room ? 0 : more.n;
    word_unlock(&lock_word);
    word_unlock(&asking);
    list_give_back(&more);
}

void statics_report(void)
{
    static const struct reported none;
    struct field *f = private_alloc(sizeof *f);
    if (instance == NULL)
        instance = private_alloc(sizeof *instance);
    take_classes();
    left_out = no_room;
    word_lock(&asking);
    if (thread_data == 0 && arena.header->runtime_major >= INSTANCE_MAJOR)
        thread_data = find_thread_data();
    word_unlock(&asking);
    if (f != NULL && instance != NULL && list_sort(&reported_now))
        report_classes(f);
    else
        left_out += reported_now.n;
    give_classes();
    snapshot_put(&none, sizeof none);
    snapshot_put(&left_out, sizeof left_out);
    if (f != NULL)
        private_free(f, sizeof *f);
}

void statics_init(void *profiler_info)
{
    info = profiler_info;
}

void statics_install(void **callbacks)
{
    callbacks[CALLBACK_CLASS_LOAD_FINISHED] = (void *)class_loaded;
    callbacks[CALLBACK_THREAD_CREATED] = (void *)thread_created;
}

void statics_give_back(void)
{
    list_give_back(&classes);
}
