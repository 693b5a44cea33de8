/* Static fields in snapshots of the heap, of classes that are made up: what is reported of them, of threads that come and go, of classes
 * that are unloaded, and of a runtime that fails. The heap itself is empty. */
#define _GNU_SOURCE
#include "scenario.h"

#include "fake_runtime.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FIELDS 6u
#define STATIC_FIELD 0x10u
#define DATA_INCOMPLETE ((hresult)0x80131351)
#define DOMAIN_ID 0xD00u

static struct fake_module app = {"/srv/app/App.dll", "App.dll", MODULE_FLAG_DISK, NULL, false};
static struct fake_module plugin = {"/srv/app/Plugin.dll", "Plugin.dll", MODULE_FLAG_DISK | MODULE_FLAG_COLLECTIBLE, NULL, false};
static struct fake_class holder, empty, late, foreign, of_foreign, text;
static uintptr_t slots[FIELDS] = {0x1000, 0, 0x3000, 0x4000, 0x5000, 0x6000}, of_thread[2] = {0x7000, 0x8000};

/* Fields of any class: a reference, one that is null, a struct, one of threads, a literal, a volatile one; then no more. */
static const struct {
    const char *name;
    uint32_t attributes;
    uint8_t signature[5];
} fields[FIELDS] = {
    {"s_items", STATIC_FIELD, {6, 0x1C}},         {"s_null", STATIC_FIELD, {6, 0x0E}},          {"s_pair", STATIC_FIELD, {6, 0x11, 0x08}},
    {"t_own", STATIC_FIELD, {6, 0x12, 0x08}},     {"Literal", STATIC_FIELD | 0x40, {6, 0x0E}},  {"s_volatile", STATIC_FIELD, {6, 0x1F, 0x81, 0x02, 0x1D}},
};
#define OF_THREAD 3u

static hresult enum_fields(void *self, void **at, uint32_t class_token, uint32_t *tokens, uint32_t capacity, uint32_t *n)
{
    (void)self;
    *n = 0;
    if (fake_call_fails())
        return HR_FAIL;
    uintptr_t from = (uintptr_t)*at;
    for (; class_token != empty.token && from < FIELDS && *n < capacity; from++)
        tokens[(*n)++] = 0x04000000u | (uint32_t)from;
    *at = (void *)from;
    return *n == 0 ? 1 : HR_OK;
}

static void close_enum(void *self, void *at)
{
    (void)self, (void)at;
}

static hresult get_field_props(void *self, uint32_t token, uint32_t *owner, utf16 *name, uint32_t capacity, uint32_t *length, uint32_t *attributes,
                               const uint8_t **signature, uint32_t *bytes, uint32_t *code, const void **value, uint32_t *count)
{
    (void)self;
    *owner = *code = *count = 0;
    *value = NULL;
    if (fake_call_fails())
        return HR_FAIL;
    uint32_t i = token & 0xFFFFFF;
    *attributes = fields[i].attributes;
    *signature = fields[i].signature;
    *bytes = sizeof fields[i].signature;
    *length = (uint32_t)strlen(fields[i].name) + 1;
    for (uint32_t k = 0; k < *length && k < capacity; k++)
        name[k] = (utf16)fields[i].name[k];
    return HR_OK;
}

static hresult get_address(void *self, uintptr_t class_id, uint32_t token, uintptr_t domain, uintptr_t *address)
{
    (void)self;
    if (fake_call_fails())
        return HR_FAIL;
    uint32_t i = token & 0xFFFFFF;
    check(domain == DOMAIN_ID, "domain %lx", (unsigned long)domain);
    if (((const struct fake_class *)class_id)->gone)
        fake_die("the agent asks about a class that was unloaded");
    if (class_id == (uintptr_t)&late)
        return DATA_INCOMPLETE;
    if (i == OF_THREAD)
        return HR_INVALID_ARGUMENT;
    *address = (uintptr_t)&slots[i];
    return HR_OK;
}

static hresult get_kind(void *self, uintptr_t class_id, uint32_t token, uint32_t *kind)
{
    (void)self, (void)class_id;
    *kind = (token & 0xFFFFFF) == OF_THREAD ? STATIC_OF_THREAD : 0;
    return fake_call_fails() ? HR_FAIL : HR_OK;
}

static hresult get_of_thread(void *self, uintptr_t class_id, uint32_t token, uintptr_t domain, uintptr_t thread, uintptr_t *address)
{
    (void)self, (void)class_id, (void)token, (void)domain;
    if (fake_call_fails())
        return HR_FAIL;
    check(thread == 0x71 || thread == 0x72, "thread %lx", (unsigned long)thread);
    *address = (uintptr_t)&of_thread[thread - 0x71];
    return HR_OK;
}

static hresult get_assembly(void *self, uintptr_t id, uint32_t capacity, uint32_t *length, utf16 *name, uintptr_t *domain, uintptr_t *module)
{
    (void)self, (void)capacity, (void)name;
    *length = 0;
    *domain = DOMAIN_ID;
    *module = id;
    return fake_call_fails() ? HR_FAIL : HR_OK;
}

static hresult no_bounds(void *self, uint32_t capacity, uint32_t *n, struct clr_generation_range *out)
{
    (void)self, (void)capacity, (void)out;
    *n = 0;
    return HR_OK;
}

#define AGENT(slot, ...) ((hresult(*)(void *, ##__VA_ARGS__))(*(void ***)fake_callbacks())[slot])

static void loaded(struct fake_class *c, hresult status)
{
    AGENT(CALLBACK_CLASS_LOAD_FINISHED, uintptr_t, hresult)(fake_callbacks(), (uintptr_t)c, status);
}

static void start(void)
{
    fake_answer(INFO_GET_GENERATION_BOUNDS, (void *)no_bounds);
    fake_answer(INFO_GET_DOMAIN_STATIC_ADDRESS, (void *)get_address);
    fake_answer(INFO_GET_STATIC_FIELD_INFO, (void *)get_kind);
    fake_answer(INFO_GET_THREAD_STATIC_ADDRESS2, (void *)get_of_thread);
    fake_answer(INFO_GET_ASSEMBLY_INFO, (void *)get_assembly);
    fake_answer_import(IMPORT_ENUM_FIELDS, (void *)enum_fields);
    fake_answer_import(IMPORT_CLOSE_ENUM, (void *)close_enum);
    fake_answer_import(IMPORT_GET_FIELD_PROPS, (void *)get_field_props);
    setenv("CLRPROF_LIFETIME", "1", 1);
    setenv("CLRPROF_SNAPSHOT", "1", 1);
    fake_class_init(&holder, &app, "App.Holder", 24, 0);
    fake_class_init(&empty, &app, "App.Empty", 24, 0);
    fake_class_init(&late, &app, "App.Late", 24, 0);
    fake_class_init(&foreign, &plugin, "Plugin.Holder", 24, 0);
    fake_class_init(&of_foreign, &app, "App.Of", 24, 0);
    fake_class_init(&text, &app, "App.Text", 24, 0);
    of_foreign.arguments[0] = &foreign;
    of_foreign.n_arguments = 1;
    hresult hr = fake_load(agent_path);
    check(hr == HR_OK, "Initialize returned %x", (unsigned)hr);
    check((fake.event_low & MONITOR_CLASS_LOADS) != 0, "no loads of classes");
}

static void take_snapshot(void)
{
    const int32_t collected[] = {1, 1, 1, 1, 1};
    AGENT(CALLBACK_GC_STARTED, int32_t, const int32_t *, uint32_t)(fake_callbacks(), 5, collected, 1);
    AGENT(CALLBACK_GC_FINISHED)(fake_callbacks());
}

struct row { /* of the file, as heap_snapshot.c describes it */
    uint64_t slot, object;
    uint32_t type, field, of_thread, length;
};

struct found {
    uint32_t n, of_thread;
    uint64_t left_out, objects; /* the sum of their addresses */
    bool complete;
};

/* The tables before the static fields are empty. */
static struct found read_snapshot(uint32_t number)
{
    static uint8_t bytes[1u << 20];
    char path[5000];
    struct found out = {0};
    snprintf(path, sizeof path, "%s/%d-%u.heap", directory, (int)getpid(), number);
    FILE *f = fopen(path, "r");
    size_t n = f == NULL ? 0 : fread(bytes, 1, sizeof bytes, f), at = 16 + 24 + 16 + 24 + 16;
    if (f != NULL)
        fclose(f);
    for (struct row r; at + sizeof r <= n; at += r.length * sizeof(utf16)) {
        memcpy(&r, bytes + at, sizeof r);
        at += sizeof r;
        if (r.object == 0)
            break;
        const utf16 *name = (const void *)(bytes + at);
        check(r.type != 0 && r.length == strlen(fields[r.field & 0xFFFFFF].name) && name[0] == (utf16)fields[r.field & 0xFFFFFF].name[0], "field %x of type %u", r.field, r.type);
        out.n++;
        out.of_thread += r.of_thread;
        out.objects += r.object;
    }
    if (at + 16 == n) {
        memcpy(&out.left_out, bytes + at, 8);
        out.complete = memcmp(bytes + at + 8, "COMPLETE", 8) == 0;
    }
    return out;
}

static const uint64_t box = 8; /* of the struct, before its field */

static void statics_reported(void)
{
    start();
    loaded(&holder, HR_OK);
    loaded(&holder, HR_OK); /* reported twice */
    loaded(&empty, HR_OK);
    loaded(&late, HR_OK);
    loaded(&text, HR_FAIL);
    loaded(&foreign, HR_OK);
    loaded(&of_foreign, HR_OK);
    AGENT(CALLBACK_THREAD_CREATED, uintptr_t)(fake_callbacks(), 0x71);
    AGENT(CALLBACK_THREAD_CREATED, uintptr_t)(fake_callbacks(), 0x70);
    AGENT(CALLBACK_THREAD_CREATED, uintptr_t)(fake_callbacks(), 0x72);
    AGENT(CALLBACK_THREAD_DESTROYED, uintptr_t)(fake_callbacks(), 0x70);
    take_snapshot();
    struct found s = read_snapshot(1);
    uint64_t each = slots[0] + (uintptr_t)&slots[2] - box + slots[5] + of_thread[0] + of_thread[1];
    check(s.complete && s.n == 10 && s.of_thread == 4 && s.objects == 2 * each, "%u fields, %u of threads, objects %llx", s.n, s.of_thread, (unsigned long long)s.objects);
    check(s.left_out == 1, "%llu classes are left out: one has type arguments, and is not where .NET has it", (unsigned long long)s.left_out);
}

/* What is unloaded is not asked about any more, nor what is made of it. */
static void statics_unloaded(void)
{
    start();
    loaded(&foreign, HR_OK);
    loaded(&of_foreign, HR_OK);
    loaded(&holder, HR_OK);
    fake_callback(CALLBACK_MODULE_UNLOAD_STARTED, (uintptr_t)&plugin);
    foreign.gone = of_foreign.gone = plugin.gone = true;
    take_snapshot();
    struct found s = read_snapshot(1);
    check(s.complete && s.n == 3 && s.left_out == 0, "%u fields, %llu classes left out", s.n, (unsigned long long)s.left_out);
}

/* An instantiation as .NET 9 and later have it: what it points to has, before it, where its fields are, and itself. */
static struct {
    struct fake_class class; /* begins with what a MethodTable begins with */
    struct {
        uintptr_t class_id;
        uint32_t token_and_kind, offset_and_type;
    } descs[3];
    uintptr_t statics[2];
    uintptr_t before[6];
    struct fake_class after; /* the fifth word of a class of this runtime is that around it */
} made;

static void make_instance(void)
{
    fake_class_init(&made.class, &app, "App.Generic`1", 24, 0);
    made.class.arguments[0] = &text;
    made.class.n_arguments = 1;
    uintptr_t id = (uintptr_t)&made.class;
    loaded(&made.class, HR_OK);
    made.after = holder;
    made.class.enclosing = &made.after;
    for (uint32_t i = 0; i < 3; i++)
        made.descs[i].class_id = id;
    made.descs[0].token_and_kind = 0x01000000u | 0; /* static */
    made.descs[0].offset_and_type = 0x12u << 27 | 8;
    made.descs[1].token_and_kind = 0x01000000u | 2;
    made.descs[1].offset_and_type = 0x11u << 27 | 0;
    made.statics[0] = 0x111;
    made.statics[1] = 0x222;
    made.before[2] = (uintptr_t)made.descs;
    made.before[3] = (uintptr_t)made.statics;
    made.before[5] = id;
}

static void statics_of_instance(void)
{
    start();
    make_instance();
    take_snapshot();
    struct found s = read_snapshot(1);
    check(s.complete && s.n == 2 && s.objects == 0x333 && s.left_out == 0, "%u fields, objects %llx, %llu classes left out", s.n, (unsigned long long)s.objects,
          (unsigned long long)s.left_out);
}

/* A thread as .NET 9 and later have it: a word of it points to where its static fields are, in an array of arrays. */
struct made_thread {
    uintptr_t words[64];
    uintptr_t data[4];   /* numbers, the array of arrays, those of classes that can be unloaded, the thread */
    uintptr_t arrays[5]; /* class, length, elements */
    uintptr_t fields[4];
};
#define ARRAY_CLASS 0xA88A4u

static void make_thread(struct made_thread *t, uintptr_t object)
{
    t->words[9] = (uintptr_t)t->fields; /* what does not name the thread is no such thing */
    t->words[40] = (uintptr_t)t->data;
    t->data[1] = (uintptr_t)t->arrays;
    t->data[3] = (uintptr_t)t;
    t->arrays[0] = t->fields[0] = ARRAY_CLASS;
    t->arrays[1] = 3;
    t->arrays[4] = (uintptr_t)t->fields;
    t->fields[1] = 2;
    t->fields[3] = object;
    AGENT(CALLBACK_THREAD_CREATED, uintptr_t)(fake_callbacks(), (uintptr_t)t);
}

/* Two threads have the field; one has not begun, and four have not what the runtime has at these places. */
static void statics_of_instance_of_threads(void)
{
    static struct made_thread begun[2], not_begun, short_arrays, no_fields, short_fields, other_class;
    start();
    make_instance();
    made.descs[2].token_and_kind = 0x03000000u | OF_THREAD; /* static, of threads */
    made.descs[2].offset_and_type = 0x12u << 27 | 24;
    made.before[1] = (uintptr_t)4 << 32 | UINT32_MAX; /* the array's fifth word; it has no fields without references */
    AGENT(CALLBACK_THREAD_CREATED, uintptr_t)(fake_callbacks(), (uintptr_t)&not_begun);
    make_thread(&begun[0], 0x7000);
    make_thread(&begun[1], 0x80000);
    make_thread(&short_arrays, 0x900000);
    short_arrays.arrays[1] = 2;
    make_thread(&no_fields, 0xA000000);
    no_fields.arrays[4] = 0;
    make_thread(&short_fields, 0xB0000000);
    short_fields.fields[1] = 1;
    make_thread(&other_class, 0xC00000000);
    other_class.fields[0]++;
    take_snapshot();
    struct found s = read_snapshot(1);
    check(s.complete && s.n == 4 && s.of_thread == 2 && s.objects == 0x333 + 0x87000 && s.left_out == 0, "%u fields, %u of threads, objects %llx, %llu classes left out", s.n, s.of_thread,
          (unsigned long long)s.objects, (unsigned long long)s.left_out);
}

static void instance_with_index(uint32_t index, uint32_t left_out)
{
    static struct made_thread begun;
    start();
    make_instance();
    made.descs[2].token_and_kind = 0x03000000u | OF_THREAD;
    made.descs[2].offset_and_type = 0x12u << 27 | 24;
    made.before[1] = (uintptr_t)index << 32;
    make_thread(&begun, 0x7000);
    take_snapshot();
    struct found s = read_snapshot(1);
    check(s.complete && s.n == 2 && s.left_out == left_out, "%u fields, %llu classes left out", s.n, (unsigned long long)s.left_out);
}

/* Fields of a class that can be unloaded are elsewhere, and not known. */
static void statics_of_collectible_instance(void)
{
    instance_with_index(1u << 24 | 4, 1);
}

static void statics_of_no_thread_yet(void)
{
    instance_with_index(UINT32_MAX, 0);
}

static int statics_fail_step(uint64_t n)
{
    start();
    loaded(&holder, HR_OK);
    loaded(&foreign, HR_OK);
    AGENT(CALLBACK_THREAD_CREATED, uintptr_t)(fake_callbacks(), 0x71);
    fake.fail_at = fake.calls + n;
    take_snapshot();
    bool beyond = fake.calls < fake.fail_at;
    fake.fail_at = 0;
    struct found s = read_snapshot(1);
    check(s.complete && s.n <= 8 && (s.n == 8 || !beyond), "call %llu failed: %u fields, %llu classes left out", (unsigned long long)n, s.n, (unsigned long long)s.left_out);
    return failures != 0 ? STEP_FAILED : beyond ? STEP_BEYOND : STEP_PASSED;
}

static void statics_fail(void)
{
    sweep(statics_fail_step, EACH_OR_SOME);
}

const struct scenario statics_scenarios[] = {
    {"statics_reported", statics_reported},
    {"statics_unloaded", statics_unloaded},
    {"statics_of_instance", statics_of_instance},
    {"statics_of_instance_of_threads", statics_of_instance_of_threads},
    {"statics_of_collectible_instance", statics_of_collectible_instance},
    {"statics_of_no_thread_yet", statics_of_no_thread_yet},
    {"statics_fail", statics_fail},
    {NULL, NULL},
};
