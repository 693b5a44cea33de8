/* Scenarios of what is the runtime's own among what a program runs: managed helpers, and the table in which box_reporting.c
 * looks for a function. */
#define _GNU_SOURCE
#include "fake_calls.h"
#include "scenario.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define COMPILER_SERVICES "System.Runtime.CompilerServices."

static struct fake_module core = {"/app/System.Private.CoreLib.dll", "System.Private.CoreLib.dll", MODULE_FLAG_DISK, NULL, false};
static struct fake_module app = {"/app/App.dll", "App.dll", MODULE_FLAG_DISK, NULL, false};
static struct fake_module emitted = {"", "System.Private.CoreLib.dll", MODULE_FLAG_DYNAMIC, NULL, false}; /* by name alone */

static const struct {
    struct fake_module *module;
    const char *type, *nested, *method;
    bool helper;
} described[] = {
    {&app, "App.Program", NULL, "Main", false},
    {&core, COMPILER_SERVICES "CastHelpers", NULL, "Box", true},
    {&core, COMPILER_SERVICES "InitHelpers", NULL, "InitClassSlow", true},
    {&core, COMPILER_SERVICES "StaticsHelpers", "ThreadLocalData", "get_NonCollectibleTlsArrayData", true},
    {&core, "System.RuntimeTypeHandle", NULL, "InternalAllocNoChecks", true},
    {&core, "System.RuntimeTypeHandle", NULL, "<InternalAllocNoChecks>g__InternalAllocNoChecksWorker|37_0", true},
    {&core, "System.RuntimeTypeHandle", NULL, "CreateInstance", false},
    {&core, "System.Array", NULL, "CreateInstanceMDArray", true},
    {&core, "System.Array", NULL, "CreateInstanceMDArrays", false},
    {&core, "System.Array", NULL, "CreateInstance", false},
    {&core, COMPILER_SERVICES "CastHelper", NULL, "Box", false},
    {&core, "System.Runtime.EH", NULL, "RhThrowEx", false},
    {&app, COMPILER_SERVICES "CastHelpers", NULL, "Box", false},
    {&emitted, COMPILER_SERVICES "CastHelpers", NULL, "Box", false},
};
#define DESCRIBED (sizeof described / sizeof *described)
#define KINDS 4u

static struct fake_class types[DESCRIBED], nested[DESCRIBED], order;
static struct fake_method methods[KINDS][DESCRIBED];
static struct fake_body bodies[KINDS][DESCRIBED], variants[DESCRIBED];

static void make_methods(void)
{
    static const enum fake_shape shapes[KINDS] = {FRAMED, FRAMELESS, FRAMELESS_PUSHES, FIRST_VERSION};
    fake_class_init(&order, &app, "App.Order", 40, 0);
    for (uint32_t i = 0; i < DESCRIBED; i++) {
        fake_class_init(&types[i], described[i].module, described[i].type, 24, 0);
        if (described[i].nested != NULL) {
            fake_class_init(&nested[i], described[i].module, described[i].nested, 24, 0);
            nested[i].enclosing = &types[i];
        }
        for (uint32_t k = 0; k < KINDS; k++) {
            struct fake_method *m = &methods[k][i];
            *m = (struct fake_method){.name = described[i].method, .module = described[i].module, .helper = described[i].helper,
                                      .type = described[i].nested != NULL ? &nested[i] : &types[i], .il_points = 2, .il_bytes = 30};
            fake_emit(m, &bodies[k][i], shapes[k], -1);
            if (shapes[k] == FIRST_VERSION)
                fake_emit(m, &variants[i], OSR_VARIANT, -1);
        }
    }
}

static void start(void)
{
    fake_set_thread(0);
    hresult hr = fake_load(agent_path);
    check(hr == HR_OK, "Initialize returned %x", (unsigned)hr);
    fake_set_thread(0x1000);
}

static void judge(struct entries *model)
{
    struct entries found = {0};
    struct arena_facts *f = arena_read(directory, &found);
    int differences = f == NULL ? -1 : model_compare(model, &found, true);
    check(differences == 0, "%d differences", differences);
    check(f != NULL && f->objects == fake.objects && f->lost_objects == 0, "not all of %llu objects", (unsigned long long)fake.objects);
}

struct allocation {
    struct entries *model;
    const struct fake_stack *stack;
};

static void allocate(void *data, bool in_handler)
{
    const struct allocation *a = data;
    fake_allocate(&order, 0);
    model_add(a->model, a->stack, in_handler, &order, false, 1, 40);
}

/* Stacks of helpers and other code, each shape above and below each; every second grows out of the one before. */
static void allocate_at_random(struct entries *model, uint64_t seed, uint32_t rounds)
{
    struct fake_stack s = {0};
    for (uint32_t round = 0; round < rounds; round++) {
        uint64_t depth = 1 + random_number(&seed) % 12;
        s.n = round % 2 == 0 ? 0 : s.n - (s.n > 1 && s.bodies[s.n - 1]->shape == OSR_VARIANT ? 2 : 1);
        s.places = random_number(&seed);
        while (s.n < depth) {
            uint64_t r = random_number(&seed), i = r % DESCRIBED, k = r / DESCRIBED % KINDS;
            s.bodies[s.n++] = &bodies[k][i];
            if (s.bodies[s.n - 1]->shape == FIRST_VERSION)
                s.bodies[s.n++] = &variants[i];
        }
        struct allocation a = {model, &s};
        for (uint32_t i = 0; i < 2; i++) /* the second is warm */
            fake_run(&s, allocate, &a);
    }
}

static void helpers(void)
{
    struct entries model = {0};
    make_methods();
    start();
    allocate_at_random(&model, 1, 20000 / SCALE);
    judge(&model);
}

/* What is kept when a stack is too deep: frames of the program, and the function that allocates, never a helper. */
static void helpers_too_deep(void)
{
    struct entries model = {0};
    setenv("CLRPROF_STACK_DEPTH", "4", 1);
    model_max_depth = 4;
    make_methods();
    start();
    allocate_at_random(&model, 2, 20000 / SCALE);
    judge(&model);
}

/* With times: not hooked, whatever the user asks for. */
static void helpers_not_hooked(void)
{
    setenv("CLRPROF_TIME", "1", 1);
    setenv("CLRPROF_INSTRUMENT", "all", 1);
    setenv("CLRPROF_RULES", "+*", 1);
    make_methods();
    start();
    for (uint32_t i = 0; i < DESCRIBED; i++) {
        fake_compile(&methods[0][i]);
        check(methods[0][i].hooked == !described[i].helper, "%s.%s: hooked %d", described[i].type, described[i].method, methods[0][i].hooked);
    }
}

/* ── functions that limit what is recorded ──────────────────────────────────────────────────────────────────────── */

static void allocate_some(struct entries *model, const struct fake_stack *s, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        fake_run(s, allocate, &(struct allocation){model, s});
}

/* Outside of the function nothing is recorded. When it is compiled and can have no probe, everything is, from then on. */
static void scopes_missing(void)
{
    struct entries none = {0}, model = {0}, found = {0};
    setenv("CLRPROF_ACTIONS", "4+*.Main", 1);
    make_methods();
    start();
    struct fake_stack s = {2, 0, {&bodies[0][6], &bodies[0][0]}, 0};
    allocate_some(&none, &s, 3);
    fake_callback(CALLBACK_JIT_STARTED, (uintptr_t)&methods[0][6]); /* another one */
    allocate_some(&none, &s, 3);
    fake_callback(CALLBACK_JIT_STARTED, (uintptr_t)&methods[0][0]);
    fake.objects = fake.bytes = 0; /* for those who compare: what was outside is left out */
    allocate_some(&model, &s, 5);
    struct arena_facts *f = arena_read(directory, &found);
    check(f != NULL && model_compare(&model, &found, true) == 0 && f->objects == 5, "not only the last %llu objects", (unsigned long long)fake.objects);
    check(f != NULL && f->header->losses[WIRE_LOSS_NOT_LIMITED].events == 1, "it is not reported");
}

/* The same from the first object on, where no function can have one. */
static void scopes_impossible(void)
{
    struct entries model = {0}, found = {0};
    setenv("CLRPROF_ACTIONS", "4+A*\n5+*", 1);
    fake.major = 4; /* as .NET Core 3.1 says */
    make_methods();
    start();
    allocate_some(&model, &(struct fake_stack){1, 0, {&bodies[0][0]}, 0}, 5);
    struct arena_facts *f = arena_read(directory, &found);
    check(f != NULL && f->objects == 5 && f->header->losses[WIRE_LOSS_NOT_LIMITED].events == 1, "not all, or it is not reported");
}

/* ── boxes ──────────────────────────────────────────────────────────────────────────────────────────────────── */

/* A module of the loader as box_reporting.c sees it: pages of read-only data, of RELRO, and of what can be written. Its code is that of
 * this program, which has the functions of ICorProfilerInfo. */
#define PAGE 4096u
#define NAME "InternalAllocNoChecks_FastPath"
enum { DATA, RELRO, WRITABLE, SEGMENTS };
static uint8_t *segment[SEGMENTS];
static ElfW(Phdr) headers[SEGMENTS + 1];
static struct dl_phdr_info module = {.dlpi_phdr = headers, .dlpi_phnum = SEGMENTS + 1};

static void *original(void *table)
{
    return table;
}

static void put_text(uint32_t s, uint32_t offset, const char *text)
{
    memcpy(segment[s] + offset, text, strlen(text));
}

/* An entry of the table: flags, implementation, name. */
static uintptr_t *put_entry(uint32_t s, uint32_t offset, uintptr_t implementation, const void *name)
{
    uintptr_t *entry = (uintptr_t *)(void *)(segment[s] + offset);
    entry[0] = 3;
    entry[1] = implementation;
    entry[2] = (uintptr_t)name;
    return &entry[1];
}

static void make_segments(void)
{
    static const uint32_t kinds[] = {PT_LOAD, PT_GNU_RELRO, PT_LOAD}, flags[] = {PF_R, PF_R, PF_R | PF_W};
    uintptr_t code = (uintptr_t)original & ~(((uintptr_t)128 << 20) - 1); /* around all of this program's functions */
    headers[SEGMENTS] = (ElfW(Phdr)){.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_vaddr = code, .p_memsz = (uintptr_t)256 << 20};
    for (uint32_t s = 0; s < SEGMENTS; s++) {
        segment[s] = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        headers[s] = (ElfW(Phdr)){.p_type = kinds[s], .p_flags = flags[s], .p_vaddr = (uintptr_t)segment[s], .p_memsz = 2 * PAGE};
    }
    for (uint32_t at = 0; at + 32 < 2 * PAGE; at += 32) /* other entries */
        put_entry(RELRO, at, (uintptr_t)original, segment[DATA] + 8);
    fake.module = &module;
}

enum table {
    ONE,
    ONE_AT_THE_END,
    NO_NAME,
    TWO_NAMES,
    PART_OF_A_NAME,
    NAME_FIRST, /* nothing is before it */
    NAME_CUT,   /* by the end of the segment */
    NAME_CAN_BE_WRITTEN,
    NO_POINTER,
    TWO_POINTERS,
    POINTER_FIRST,
    POINTER_CAN_BE_WRITTEN,
    POINTER_IN_A_SHARED_PAGE, /* the last one, which is not protected as a whole */
    NO_CODE,
    HUGE_DATA,
    NO_MODULE,
    NO_PROTECTION, /* mprotect fails */
    NO_PROTECTION_AGAIN, /* it fails the second time */
    OLD_RUNTIME,
    NO_MEMORY_DATA,
    REFUSED, /* Initialize fails */
    TABLES
};

/* The implementation that is to be replaced, or just must not be touched. */
static uintptr_t *make_table(enum table t)
{
    uint32_t name_at = t == NAME_FIRST ? 0 : t == NAME_CUT ? 2 * PAGE - 8 : 100, entry_at = t == ONE_AT_THE_END ? 2 * PAGE - 24 : 640;
    uint32_t names = t == NAME_CAN_BE_WRITTEN ? WRITABLE : DATA, pointers = t == POINTER_CAN_BE_WRITTEN ? WRITABLE : RELRO;
    if (t == NAME_CUT)
        memcpy(segment[DATA] + name_at, NAME, 8);
    else if (t != NO_NAME)
        put_text(names, name_at, NAME);
    if (t == PART_OF_A_NAME)
        segment[DATA][name_at - 1] = 'X';
    if (t == TWO_NAMES)
        put_text(DATA, 1000, NAME);
    if (t == POINTER_FIRST)
        entry_at = 0;
    if (t == POINTER_IN_A_SHARED_PAGE) {
        entry_at = PAGE + 640;
        headers[RELRO].p_memsz = 2 * PAGE - 16;
    }
    uintptr_t implementation = t == NO_CODE ? (uintptr_t)segment[DATA] : (uintptr_t)original;
    uintptr_t *entry = put_entry(pointers, entry_at, implementation, t == NO_POINTER ? NULL : segment[names] + name_at);
    if (t == POINTER_FIRST) {
        entry[1] = 0;
        entry[-1] = (uintptr_t)(segment[names] + name_at); /* nothing of RELRO is before it */
    }
    if (t == TWO_POINTERS)
        put_entry(RELRO, 2048, (uintptr_t)original, segment[names] + name_at);
    if (t == HUGE_DATA)
        headers[DATA].p_memsz = (uintptr_t)1 << 40;
    if (t == NO_MODULE)
        headers[SEGMENTS].p_memsz = 1;
    return entry;
}

static bool is_writable(const void *page)
{
    int fd[2];
    if (pipe(fd) != 0)
        abort();
    ssize_t n = write(fd[1], "x", 1) == 1 ? read(fd[0], (void *)(uintptr_t)page, 1) : 0; /* the kernel writes, or refuses */
    close(fd[0]);
    close(fd[1]);
    return n == 1;
}

static int table_step(uint64_t n)
{
    enum table t = (enum table)(n - 1);
    if (t == TABLES)
        return STEP_BEYOND;
    make_methods();
    make_segments();
    uintptr_t *entry = make_table(t), before = *entry;
    uint8_t copy[2 * PAGE];
    memcpy(copy, segment[RELRO], sizeof copy);
    mprotect(segment[RELRO], 2 * PAGE, PROT_READ);
    mprotect(segment[DATA], 2 * PAGE, PROT_READ);
    fake.major = t == OLD_RUNTIME ? 9 : 10;
    fake.os_fail_at[OS_MPROTECT] = t == NO_PROTECTION ? 1 : t == NO_PROTECTION_AGAIN ? 2 : 0;
    fake.fail_from = t == REFUSED ? 4 : 0; /* nothing more works: SetEventMask2 does not */
    if (t == NO_MEMORY_DATA) {
        setenv("CLRPROF_NO_MEMORY", "1", 1);
        setenv("CLRPROF_TIME", "1", 1);
    }
    fake_set_thread(0);
    hresult hr = fake_load(agent_path);
    check((hr == HR_OK) == (t != REFUSED), "Initialize returned %x", (unsigned)hr);
    bool replaced = *entry != before, wanted = t == ONE || t == ONE_AT_THE_END || t == NO_PROTECTION_AGAIN;
    check(replaced == wanted, "table %u: replaced %d", t, replaced);
    if (replaced)
        check(((void *(*)(void *))*entry)(&order) == NULL, "the replacement returns something");
    if (replaced)
        memcpy(copy + ((uint8_t *)entry - segment[RELRO]), entry, sizeof *entry);
    check(memcmp(copy, segment[RELRO], sizeof copy) == 0, "table %u: another word was changed", t);
    check(is_writable((uint8_t *)((uintptr_t)entry & ~(uintptr_t)(PAGE - 1))) == (t == POINTER_CAN_BE_WRITTEN || t == NO_PROTECTION_AGAIN),
          "table %u: the protection is another", t);
    if (t == REFUSED)
        return failures != 0 ? STEP_FAILED : STEP_PASSED;
    struct entries found = {0};
    const struct arena_facts *f = arena_read(directory, &found);
    uint64_t losses = f->header->losses[WIRE_LOSS_UNREPORTED].events;
    check(losses == !(wanted || t == OLD_RUNTIME || t == NO_MEMORY_DATA), "table %u: %llu losses", t, (unsigned long long)losses);
    return failures != 0 ? STEP_FAILED : STEP_PASSED;
}

static void boxes(void)
{
    sweep(table_step, 1);
}

struct slow_way {
    uintptr_t *implementation;
    bool asks;
};

static void allocate_slowly(void *data, bool in_handler)
{
    const struct slow_way *w = data;
    (void)in_handler;
    if (w->asks)
        ((void *(*)(void *))*w->implementation)(&order);
    fake_allocate(&order, 0);
}

/* A runtime that does not use the table is found out when the slow way is on a stack. */
static void boxes_not_asked(void)
{
    uint32_t slow = 0;
    while (strchr(described[slow].method, '<') == NULL)
        slow++;
    make_methods();
    make_segments();
    struct slow_way w = {make_table(ONE), false};
    fake.major = 10;
    start();
    struct entries found = {0};
    const struct arena_facts *f = arena_read(directory, &found);
    const struct wire_loss_entry *lost = &f->header->losses[WIRE_LOSS_UNREPORTED];
    struct fake_stack s = {2, 0, {&bodies[0][0], &bodies[0][slow]}, 0};
    check(lost->events == 0, "a loss before anything happened");
    for (uint32_t i = 0; i < 2; i++) {
        fake_run(&s, allocate_slowly, &w);
        check(lost->events == 1, "%llu losses", (unsigned long long)lost->events);
        s.bodies[1] = &bodies[1][slow];
    }
}

static void boxes_asked(void)
{
    make_methods();
    make_segments();
    struct slow_way w = {make_table(ONE), true};
    fake.major = 10;
    start();
    for (uint32_t i = 0; i < DESCRIBED; i++) {
        struct fake_stack s = {2, 0, {&bodies[0][0], &bodies[0][i]}, 0};
        fake_run(&s, allocate_slowly, &w);
    }
    struct entries found = {0};
    const struct arena_facts *f = arena_read(directory, &found);
    check(f->header->losses[WIRE_LOSS_UNREPORTED].events == 0, "a loss");
}

/* ── frames of the user's code ──────────────────────────────────────────────────────────────────────────────────── */

/* The user's code may be inlined into the user's, and into whatever is inlined there. */
static void user_frames(void)
{
    core.path = "/dotnet/shared/Microsoft.NETCore.App/10.0.0/System.Private.CoreLib.dll";
    app.path = "/app/agent_test.dll"; /* the main assembly is called as the executable */
    make_methods();
    start();
    struct fake_method *user = &methods[0][0], *framework = &methods[0][8], *other = &methods[0][9];
    check(!fake_may_inline(framework, user), "inlined into code that nobody was seen to compile");
    fake_callback(CALLBACK_JIT_STARTED, (uintptr_t)framework);
    check(!fake_may_inline(framework, user), "inlined into the framework");
    check(fake_may_inline(framework, other) && fake_may_inline(user, other) && fake_may_inline(user, &methods[0][12]), "others are not inlined");
    fake_callback(CALLBACK_JIT_STARTED, (uintptr_t)user);
    check(fake_may_inline(framework, user), "not inlined into the framework's code within the user's");
    fake_callback(CALLBACK_JIT_FINISHED, (uintptr_t)user);
    check(!fake_may_inline(framework, user), "inlined after the inner compilation");
    fake_callback(CALLBACK_JIT_FINISHED, (uintptr_t)framework);
    check(!fake_may_inline(framework, user), "inlined after both");
}

/* Those that --mine names are the user's, too. */
static void user_frames_by_pattern(void)
{
    core.path = "/dotnet/shared/Microsoft.NETCore.App/10.0.0/System.Private.CoreLib.dll";
    setenv("CLRPROF_MINE", "+app", 1);
    make_methods();
    start();
    check(!fake_may_inline(&methods[0][8], &methods[0][0]), "inlined into the framework");
}

const struct scenario runtime_scenarios[] = {
    {"helpers", helpers},
    {"helpers_too_deep", helpers_too_deep},
    {"helpers_not_hooked", helpers_not_hooked},
    {"scopes_missing", scopes_missing},
    {"scopes_impossible", scopes_impossible},
    {"boxes", boxes},
    {"boxes_asked", boxes_asked},
    {"boxes_not_asked", boxes_not_asked},
    {"user_frames", user_frames},
    {"user_frames_by_pattern", user_frames_by_pattern},
    {NULL, NULL},
};
