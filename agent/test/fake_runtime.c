/* See fake_runtime.h. */
#define _GNU_SOURCE
#include "fake_calls.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#define NOT_A_MANAGED_THREAD ((hresult)0x80131355)
#define DATA_INCOMPLETE ((hresult)0x80131351)
#define NOT_FOUND ((hresult)0x80131130)
#define SNAPSHOT_ABORTED ((hresult)0x80131361)
#define CODE_BASE ((uint8_t *)FAKE_CODE_BASE)
#define MAX_DEFS 32768u
#define FROZEN_SEGMENTS 80u
#define SEGMENT_BYTES 4096u
#define GARBAGE 0xABABABABu /* what a failed call leaves behind */

struct fake_state fake;
struct fake_hooks fake_hooks;
static struct fake_body *bodies[CODE_SLOTS]; /* by code slot */
static uint32_t n_slots;
static struct fake_class *class_defs[MAX_DEFS];
static struct fake_method *method_defs[MAX_DEFS];
static uint32_t n_classes, n_methods;
static uint64_t frozen_heap[FROZEN_SEGMENTS][SEGMENT_BYTES / 8];
static void *callback; /* the agent's object */
static uintptr_t native_record; /* the frame of the innermost native code without a frame pointer, as a P/Invoke leaves one; 0: none runs */
static __thread uintptr_t managed_thread;
static __thread bool in_call;

_Noreturn void fake_die(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "fake runtime: ");
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "\n");
    va_end(arguments);
    abort();
}

/* ── faults ─────────────────────────────────────────────────────────────────────────────────────────────────── */

static bool must_fail(uint64_t *count, uint64_t at, uint64_t from)
{
    uint64_t n = __atomic_add_fetch(count, 1, __ATOMIC_RELAXED);
    return n == at || (from != 0 && n >= from);
}

/* Opens every call of the agent into the runtime. */
static bool call_fails(void)
{
    bool fails = must_fail(&fake.calls, fake.fail_at, fake.fail_from);
    fake_called(1); /* the runtime does something for the agent */
    if (fake.reenter_at != 0 && fake.reenter_class != NULL && fake.calls >= fake.reenter_at && !in_call) {
        fake.reenter_at = 0;
        in_call = true;
        fake_allocate(fake.reenter_class, 0);
        in_call = false;
    }
    return fails;
}

static bool os_fails(enum fake_os_call call, int error)
{
    bool fails = must_fail(&fake.os_calls[call], fake.os_fail_at[call], fake.os_fail_from[call]);
    if (fake.os_kill_at[call] != 0 && fake.os_calls[call] >= fake.os_kill_at[call])
        kill(getpid(), SIGKILL);
    if (!fails)
        return false;
    errno = error;
    return true;
}

/* The agent is built for tests with these in the place of the real ones. */
void *fake_mmap(void *address, size_t bytes, int protection, int flags, int fd, off_t offset);
int fake_madvise(void *address, size_t bytes, int advice);
int fake_fallocate(int fd, int mode, off_t offset, off_t bytes);
int fake_ftruncate(int fd, off_t bytes);
int fake_mprotect(void *address, size_t bytes, int protection);
int fake_dl_iterate_phdr(int (*found)(struct dl_phdr_info *, size_t, void *), void *data);
int fake_link(const char *old, const char *name);
int fake_getattr_np(pthread_t thread, pthread_attr_t *attributes);
int fake_key_create(pthread_key_t *key, void (*destructor)(void *));

void *fake_mmap(void *address, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    if (os_fails(OS_MMAP, ENOMEM) || (fake.watched_alone && bytes == fake.watched_bytes && fake.watched != NULL))
        return MAP_FAILED;
    void *p = mmap(address, bytes, protection, flags, fd, offset);
    fake_called(1);
    if (p != MAP_FAILED && bytes == fake.watched_bytes && fake.watched == NULL)
        fake.watched = p;
    errno = EPROTO; /* whoever lets the agent be called wants to keep its own */
    return p;
}

int fake_madvise(void *address, size_t bytes, int advice)
{
    return os_fails(OS_MADVISE, EINVAL) ? -1 : madvise(address, bytes, advice);
}

int fake_fallocate(int fd, int mode, off_t offset, off_t bytes)
{
    if (os_fails(OS_FALLOCATE, ENOSPC))
        return -1;
    int rc = fallocate(fd, mode, offset, bytes);
    fake_called(1);
    if (rc == 0)
        errno = EPROTO; /* as above */
    return rc;
}

int fake_ftruncate(int fd, off_t bytes)
{
    return os_fails(OS_FTRUNCATE, EFBIG) ? -1 : ftruncate(fd, bytes);
}

int fake_mprotect(void *address, size_t bytes, int protection)
{
    return os_fails(OS_MPROTECT, EACCES) ? -1 : mprotect(address, bytes, protection);
}

int fake_dl_iterate_phdr(int (*found)(struct dl_phdr_info *, size_t, void *), void *data)
{
    return fake.module != NULL ? found(fake.module, sizeof *fake.module, data) : dl_iterate_phdr(found, data);
}

int fake_link(const char *old, const char *name)
{
    return os_fails(OS_LINK, fake.link_error != 0 ? fake.link_error : EEXIST) ? -1 : link(old, name);
}

int fake_getattr_np(pthread_t thread, pthread_attr_t *attributes)
{
    return os_fails(OS_STACK, EMFILE) ? EMFILE : pthread_getattr_np(thread, attributes);
}

int fake_key_create(pthread_key_t *key, void (*destructor)(void *))
{
    return os_fails(OS_KEY, EAGAIN) ? EAGAIN : pthread_key_create(key, destructor);
}

/* ── names and code ─────────────────────────────────────────────────────────────────────────────────────────── */

static void alive(bool gone, const char *what)
{
    if (gone)
        fake_die("the agent asks about a %s that was unloaded", what);
}

/* Gives a name as the runtime does: cut if too long, with its terminating zero, and the length it needs. */
static void give_name(const char *name, utf16 *out, uint32_t capacity, uint32_t *length)
{
    uint32_t n = (uint32_t)strlen(name) + 1;
    *length = n;
    for (uint32_t i = 0; i < n && i < capacity; i++)
        out[i] = i == capacity - 1 ? 0 : (utf16)(uint8_t)name[i];
}

void fake_class_init(struct fake_class *c, struct fake_module *m, const char *name, uint32_t base, uint32_t component)
{
    memset(c, 0, sizeof *c);
    c->table[0] = component == 0 ? 0x1234u : 0x80000000u | component;
    c->table[1] = base;
    c->module = m;
    c->name = name;
    uint32_t n = __atomic_add_fetch(&n_classes, 1, __ATOMIC_RELAXED);
    if (n >= MAX_DEFS)
        fake_die("too many classes");
    class_defs[n] = c;
    c->token = 0x02000000u | n;
}

struct emitter {
    uint8_t *p;
};

static void bytes(struct emitter *e, const char *code, size_t n)
{
    memcpy(e->p, code, n);
    e->p += n;
}

static void u32(struct emitter *e, uint32_t v)
{
    bytes(e, (const char *)&v, 4);
}

#define CODE(e, text) bytes(e, text, sizeof text - 1)

/* In every function rdi points to what is to be called next, and the lowest bit of rsi says from which place. */
static void emit_call(struct emitter *e, struct fake_body *b)
{
    CODE(e, "\x48\x8B\x07");     /* mov rax, [rdi] */
    CODE(e, "\x48\x83\xC7\x08"); /* add rdi, 8 */
    CODE(e, "\x48\xD1\xEE");     /* shr rsi, 1 */
    CODE(e, "\x72\x04");         /* jc over the first call */
    CODE(e, "\xFF\xD0");         /* call rax */
    b->returns[0] = (uintptr_t)e->p;
    CODE(e, "\xEB\x02\xFF\xD0"); /* jmp over the second; call rax */
    b->returns[1] = (uintptr_t)e->p;
}

static void emit_fault(struct emitter *e, struct fake_body *b)
{
    CODE(e, "\x31\xC9"); /* xor ecx, ecx */
    b->fault = (uintptr_t)e->p;
    CODE(e, "\xF7\xF1"); /* div ecx */
}

static void emit_first_version(struct emitter *e, struct fake_body *b)
{
    uint32_t locals = b->shape == FIRST_VERSION ? 0x20 : b->shape == FIRST_VERSION_LARGE ? 0x1010 : 0x5010;
    CODE(e, "\x55"); /* push rbp */
    if (b->shape == FIRST_VERSION) {
        CODE(e, "\x48\x83\xEC\x20"); /* sub rsp, 32 */
    } else if (b->shape == FIRST_VERSION_LARGE) {
        CODE(e, "\x85\x84\x24");     /* test [rsp - 4096], eax */
        u32(e, (uint32_t)-0x1000);
        CODE(e, "\x48\x81\xEC");     /* sub rsp, imm32 */
        u32(e, locals);
    } else {
        CODE(e, "\x4C\x8D\x9C\x24"); /* lea r11, [rsp - locals] */
        u32(e, (uint32_t)-(int32_t)locals);
        CODE(e, "\x4C\x89\xDC");     /* mov rsp, r11 */
    }
    CODE(e, "\x48\x8D\xAC\x24"); /* lea rbp, [rsp + locals] */
    u32(e, locals);
    emit_call(e, b);
    CODE(e, "\x48\x81\xC4"); /* add rsp, locals; pop rbp; ret */
    u32(e, locals);
    CODE(e, "\x5D\xC3");
}

static void emit_frameless(struct emitter *e, struct fake_body *b)
{
    if (b->shape == FRAMELESS_PUSHES) {
        CODE(e, "\x41\x54\x53\xC5\xF8\x77\x48\x83\xEC\x18"); /* push r12; push rbx; vzeroupper; sub rsp, 24 */
        emit_call(e, b);
        CODE(e, "\x48\x83\xC4\x18\x5B\x41\x5C\xC3");
    } else if (b->shape == FRAMELESS_LARGE) {
        CODE(e, "\x85\x84\x24"); /* test [rsp - 4096], eax; sub rsp, imm32 */
        u32(e, (uint32_t)-0x1000);
        CODE(e, "\x48\x81\xEC\x08\x11\x00\x00");
        emit_call(e, b);
        CODE(e, "\x48\x81\xC4\x08\x11\x00\x00\xC3");
    } else if (b->shape == FRAMELESS_VERY_LARGE) {
        CODE(e, "\x53\x4C\x8D\x9C\x24"); /* push rbx; lea r11, [rsp - 0x5000]; mov rsp, r11 */
        u32(e, (uint32_t)-0x5000);
        CODE(e, "\x4C\x89\xDC");
        emit_call(e, b);
        CODE(e, "\x48\x81\xC4\x00\x50\x00\x00\x5B\xC3");
    } else {
        CODE(e, "\x48\x83\xEC\x08"); /* sub rsp, 8 */
        if (b->shape == FAULTS_FRAMELESS)
            emit_fault(e, b);
        emit_call(e, b);
        CODE(e, "\x48\x83\xC4\x08\xC3");
    }
}

/* push rbp; mov rbp, rsp; call fake_entered(rdi, rsi, caller's stack pointer, b); then two places: call rax */
static void emit_probed(struct emitter *e, struct fake_body *b)
{
    uintptr_t body = (uintptr_t)b, entered = (uintptr_t)fake_entered;
    CODE(e, "\x55\x48\x89\xE5\x48\x8D\x55\x10\x48\xB9"); /* lea rdx, [rbp + 16]; mov rcx, imm64 */
    bytes(e, (const char *)&body, sizeof body);
    CODE(e, "\x48\xB8"); /* mov rax, imm64; call rax; pop rbp; ret */
    bytes(e, (const char *)&entered, sizeof entered);
    CODE(e, "\xFF\xD0\x5D\xC3");
    for (uint32_t i = 0; i < 2; i++) {
        b->places[i] = (uintptr_t)e->p;
        CODE(e, "\x55\x48\x89\xE5\xFF\xD0");
        b->returns[i] = (uintptr_t)e->p;
        CODE(e, "\x5D\xC3");
    }
}

static void emit_framed(struct emitter *e, struct fake_body *b)
{
    if (b->shape == NATIVE_WILD || b->shape == NATIVE_BARE) {
        uintptr_t *place = &native_record;
        CODE(e, "\x55"); /* push rbp */
        if (b->shape == NATIVE_WILD)
            CODE(e, "\x48\xBD\x00\x00\x00\x00\x00\x00\x00\x00"); /* mov rbp, imm64 */
        CODE(e, "\x48\xA1"); /* mov rax, [native_record]; push rax; push rax */
        bytes(e, (const char *)&place, sizeof place);
        CODE(e, "\x50\x50\x48\x8D\x44\x24\x10\x48\xA3"); /* lea rax, [rsp + 16]; mov [native_record], rax */
        bytes(e, (const char *)&place, sizeof place);
        emit_call(e, b);
        CODE(e, "\x58\x58\x48\xA3"); /* pop rax; pop rax; mov [native_record], rax; pop rbp; ret */
        bytes(e, (const char *)&place, sizeof place);
        CODE(e, "\x5D\xC3");
        return;
    }
    if (b->shape == OSR_VARIANT) { /* mov rax, [rbp]; push rax; sub rsp, 16; lea rbp, [rsp + 16] */
        CODE(e, "\x48\x8B\x45\x00\x50\x48\x83\xEC\x10\x48\x8D\x6C\x24\x10");
        emit_call(e, b);
        CODE(e, "\x48\x83\xC4\x18\xC3"); /* back into the first version, which does not use rbp before it pops it */
        return;
    }
    /* push rbp; push r12; push rbx; sub rsp, 16; lea rbp, [rsp + 32] */
    CODE(e, "\x55\x41\x54\x53\x48\x83\xEC\x10\x48\x8D\x6C\x24\x20");
    if (b->shape == FAULTS)
        emit_fault(e, b);
    emit_call(e, b);
    CODE(e, "\x48\x83\xC4\x10\x5B\x41\x5C\x5D\xC3");
}

/* push r12; sub rsp, 16; leave at once if there is nothing to call; call what [rdi] says, as emit_call does. */
__asm__(".text\n"
        ".globl fake_stub, fake_stub_half, fake_stub_returns, fake_stub_leaves, fake_stub_end, fake_stub_framed\n"
        ".type fake_stub, @function\n"
        "fake_stub: .cfi_startproc\n"
        "push %r12\n .cfi_adjust_cfa_offset 8\n .cfi_offset r12, -16\n"
        "fake_stub_half:\n"
        "sub $16, %rsp\n .cfi_adjust_cfa_offset 16\n"
        "test %rdi, %rdi\n jne 1f\n"
        ".cfi_remember_state\n"
        "add $16, %rsp\n .cfi_adjust_cfa_offset -16\n pop %r12\n .cfi_adjust_cfa_offset -8\n"
        "fake_stub_leaves: ret\n"
        ".cfi_restore_state\n"
        "1: mov (%rdi), %rax\n add $8, %rdi\n shr %rsi\n call *%rax\n"
        "fake_stub_returns:\n"
        "add $16, %rsp\n .cfi_adjust_cfa_offset -16\n pop %r12\n .cfi_adjust_cfa_offset -8\n ret\n"
        "fake_stub_end: .cfi_endproc\n .size fake_stub, . - fake_stub\n"
        ".type fake_stub_framed, @function\n"
        "fake_stub_framed: .cfi_startproc\n"
        "push %rbp\n .cfi_adjust_cfa_offset 8\n mov %rsp, %rbp\n sub $16, %rsp\n .cfi_adjust_cfa_offset 16\n"
        "mov (%rdi), %rax\n add $8, %rdi\n shr %rsi\n call *%rax\n"
        "add $16, %rsp\n .cfi_adjust_cfa_offset -16\n pop %rbp\n .cfi_adjust_cfa_offset -8\n ret\n"
        ".cfi_endproc\n .size fake_stub_framed, . - fake_stub_framed\n");

static int new_slot(void)
{
    if (n_slots == 0 && mmap(CODE_BASE, CODE_SLOT * CODE_SLOTS, PROT_READ | PROT_WRITE | PROT_EXEC,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE | MAP_NORESERVE, -1, 0) != CODE_BASE)
        fake_die("no memory for code");
    if (n_slots == CODE_SLOTS)
        fake_die("too many bodies");
    return (int)n_slots++;
}

void fake_emit(struct fake_method *m, struct fake_body *b, enum fake_shape shape, int slot)
{
    if (shape == STUB || shape == STUB_FRAMED) {
        *b = (struct fake_body){.method = m, .shape = shape, .start = (uint8_t *)(shape == STUB ? (uintptr_t)fake_stub : (uintptr_t)fake_stub_framed)};
        return;
    }
    if (slot < 0)
        slot = new_slot();
    *b = (struct fake_body){.method = m, .shape = shape, .start = CODE_BASE + (uint32_t)slot * CODE_SLOT};
    struct emitter e = {b->start};
    if (shape >= FIRST_VERSION && shape <= FIRST_VERSION_VERY_LARGE)
        emit_first_version(&e, b);
    else if (shape == PROBED)
        emit_probed(&e, b);
    else if (shape == FRAMED || shape == NATIVE || shape == NATIVE_WILD || shape == NATIVE_BARE || shape == OSR_VARIANT || shape == FAULTS)
        emit_framed(&e, b);
    else
        emit_frameless(&e, b);
    b->size = (uint32_t)(e.p - b->start);
    if (b->size > CODE_SLOT)
        fake_die("a body of %u bytes", b->size);
    if (shape == NATIVE || shape == NATIVE_WILD || shape == NATIVE_BARE)
        return;
    if (m->n_bodies == 0) {
        uint32_t n = __atomic_add_fetch(&n_methods, 1, __ATOMIC_RELAXED);
        if (n >= MAX_DEFS)
            fake_die("too many methods");
        method_defs[n] = m;
        m->token = 0x06000000u | n;
    }
    m->bodies[m->n_bodies++] = b;
    __atomic_store_n(&bodies[slot], b, __ATOMIC_RELEASE);
}

void fake_set_wild(struct fake_body *b, uintptr_t frame_pointer)
{
    memcpy(b->start + 3, &frame_pointer, sizeof frame_pointer);
}

void fake_forget(struct fake_method *m)
{
    for (uint32_t i = 0; i < m->n_bodies; i++)
        __atomic_store_n(&bodies[(uint32_t)(m->bodies[i]->start - CODE_BASE) / CODE_SLOT], NULL, __ATOMIC_RELEASE);
    m->n_bodies = 0;
}

static struct fake_body *body_at(uintptr_t address)
{
    uintptr_t offset = address - (uintptr_t)CODE_BASE;
    if (offset >= CODE_SLOT * CODE_SLOTS)
        return NULL;
    struct fake_body *b = __atomic_load_n(&bodies[offset / CODE_SLOT], __ATOMIC_ACQUIRE);
    return b != NULL && address - (uintptr_t)b->start < b->size ? b : NULL;
}

/* ── IMetaDataImport ────────────────────────────────────────────────────────────────────────────────────────── */

struct import {
    void **table;
    struct fake_module *module;
    uint32_t references;
};

static hresult no_such_slot(void)
{
    fake_die("the agent called a slot that it should not use");
}

static uint32_t import_release(void *self)
{
    struct import *i = self;
    __atomic_sub_fetch(&fake.references, 1, __ATOMIC_RELAXED);
    return __atomic_sub_fetch(&i->references, 1, __ATOMIC_RELAXED);
}

static struct import *used(void *self)
{
    struct import *i = self;
    if (__atomic_load_n(&i->references, __ATOMIC_RELAXED) == 0)
        fake_die("metadata used after its release");
    return i;
}

static hresult get_scope_props(void *self, utf16 *name, uint32_t capacity, uint32_t *length, struct guid *mvid)
{
    *length = GARBAGE;
    if (call_fails())
        return HR_FAIL;
    const struct fake_module *m = used(self)->module;
    *mvid = (struct guid){0};
    memcpy(mvid, m->name, strlen(m->name) < sizeof *mvid ? strlen(m->name) : sizeof *mvid);
    give_name(m->name, name, capacity, length);
    return HR_OK;
}

static hresult get_type_def_props(void *self, uint32_t token, utf16 *name, uint32_t capacity, uint32_t *length,
                                  uint32_t *flags, uint32_t *base)
{
    *length = *flags = *base = GARBAGE;
    used(self);
    if (call_fails())
        return HR_FAIL;
    give_name(class_defs[token & 0xFFFFFF]->name, name, capacity, length);
    return HR_OK;
}

static hresult get_nested_class_props(void *self, uint32_t token, uint32_t *enclosing)
{
    *enclosing = GARBAGE;
    used(self);
    if (call_fails())
        return HR_FAIL;
    const struct fake_class *c = class_defs[token & 0xFFFFFF];
    if (c->enclosing == NULL)
        return NOT_FOUND;
    *enclosing = c->enclosing->token;
    return HR_OK;
}

static hresult get_method_props(void *self, uint32_t token, uint32_t *owner, utf16 *name, uint32_t capacity, uint32_t *length,
                                uint32_t *attributes, const uint8_t **signature, uint32_t *signature_bytes, uint32_t *rva,
                                uint32_t *implementation)
{
    static const uint8_t blob[200 << 10];
    *owner = *length = *attributes = *signature_bytes = *rva = *implementation = GARBAGE;
    used(self);
    if (call_fails())
        return HR_FAIL;
    const struct fake_method *m = method_defs[token & 0xFFFFFF];
    *owner = m->type == NULL ? 0 : m->type->token;
    *signature = blob;
    *signature_bytes = m->signature_bytes;
    *implementation = 0; /* IL, managed */
    give_name(m->name, name, capacity, length);
    return HR_OK;
}

static void *import_table[65];

/* Who made an assembly, which is asked of nothing else: Microsoft made what is called so, and the core library. */
static hresult get_custom_attribute(void *self, uint32_t token, const utf16 *name, const uint8_t **blob, uint32_t *bytes)
{
    static const uint8_t company[] = "\1\0\x15Microsoft Corporation\0";
    const char *path = ((const struct import *)self)->module->path;
    (void)token, (void)name;
    if (strstr(path, "/Microsoft.") == NULL && strstr(path, "/System.Private.CoreLib.") == NULL)
        return 1; /* S_FALSE: there is none */
    *blob = company;
    *bytes = sizeof company;
    return HR_OK;
}

static struct import *import_of(struct fake_module *m)
{
    struct import *i = __atomic_load_n((struct import **)&m->import, __ATOMIC_ACQUIRE), *none = NULL;
    if (i == NULL) {
        struct import *made = calloc(1, sizeof *made);
        made->table = import_table;
        made->module = m;
        if (__atomic_compare_exchange_n((struct import **)&m->import, &none, made, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
            i = made;
        else
            i = none;
    }
    __atomic_add_fetch(&i->references, 1, __ATOMIC_RELAXED);
    __atomic_add_fetch(&fake.references, 1, __ATOMIC_RELAXED);
    return i;
}

/* ── ICorProfilerInfo ───────────────────────────────────────────────────────────────────────────────────────── */

static hresult info_query(void *self, const struct guid *iid, void **out)
{
    static const struct guid info9 = {0x008170DB, 0xF8CC, 0x4796, {0x9A, 0x51, 0xDC, 0x8A, 0xA0, 0xB4, 0x70, 0x12}};
    static const struct guid info10 = {0x2F1B5152, 0xC869, 0x40C9, {0xAA, 0x5F, 0x3A, 0xBE, 0x02, 0x6B, 0xD7, 0x20}};
    static const struct guid info12 = {0x27B24CCD, 0x1CB1, 0x47C5, {0x96, 0xEE, 0x98, 0x19, 0x0D, 0xC3, 0x09, 0x59}};
    static const struct guid info13 = {0x6E6C7EE2, 0x0701, 0x4EC2, {0x9D, 0x29, 0x2E, 0x87, 0x33, 0xB6, 0x69, 0x34}};
    static const struct guid info14 = {0xF460E352, 0xD76D, 0x4FE9, {0x83, 0x5F, 0xF6, 0xAF, 0x9D, 0x6E, 0x86, 0x2D}};
    *out = NULL;
    if (call_fails())
        return HR_NO_INTERFACE;
    if ((guid_equal(iid, &info9) && !fake.no_info9) || guid_equal(iid, &info10) || (guid_equal(iid, &info12) && fake.has_info12) || guid_equal(iid, &info13) || (guid_equal(iid, &info14) && !fake.no_info14))
        *out = self;
    return *out != NULL ? HR_OK : HR_NO_INTERFACE;
}

static uint32_t info_reference(void *self)
{
    (void)self;
    return 1;
}

#define MAX_HANDLES 65536u
static uint8_t handles[MAX_HANDLES]; /* 1: there is one */

static hresult create_handle(void *self, uintptr_t object, uint32_t type, void **handle)
{
    (void)self, (void)object;
    uint64_t n = __atomic_fetch_add(&fake.handles_made, 1, __ATOMIC_RELAXED);
    if (type != 3 || n >= MAX_HANDLES)
        return HR_FAIL;
    handles[n] = 1;
    *handle = &handles[n];
    return HR_OK;
}

static hresult destroy_handle(void *self, void *handle)
{
    (void)self;
    if (*(uint8_t *)handle != 1)
        abort(); /* twice */
    *(uint8_t *)handle = 0;
    __atomic_fetch_add(&fake.handles_destroyed, 1, __ATOMIC_RELAXED);
    return HR_OK;
}

/* Exceptions here have no objects. */
static hresult get_class_from_object(void *self, uintptr_t object, uintptr_t *id)
{
    (void)self;
    (void)object;
    *id = GARBAGE;
    return HR_FAIL;
}

static hresult is_array_class(void *self, uintptr_t id, uint32_t *element_code, uintptr_t *element, uint32_t *rank)
{
    (void)self;
    *element_code = *rank = GARBAGE;
    *element = GARBAGE;
    if (call_fails())
        return HR_FAIL;
    const struct fake_class *c = (const struct fake_class *)id;
    alive(c->gone, "class");
    *element_code = c->element_code;
    *element = (uintptr_t)c->element;
    *rank = c->rank;
    return HR_OK;
}

static hresult get_current_thread_id(void *self, uintptr_t *id)
{
    (void)self;
    *id = GARBAGE;
    if (call_fails() || managed_thread == 0)
        return NOT_A_MANAGED_THREAD;
    *id = managed_thread;
    return HR_OK;
}

static hresult get_module_meta_data(void *self, uintptr_t id, uint32_t flags, const struct guid *iid, void **out)
{
    (void)self, (void)flags, (void)iid;
    *out = (void *)(uintptr_t)GARBAGE;
    if (call_fails())
        return HR_FAIL;
    struct fake_module *m = (struct fake_module *)id;
    alive(m->gone, "module");
    *out = import_of(m);
    return HR_OK;
}

static hresult get_function_info2(void *self, uintptr_t id, uintptr_t frame, uintptr_t *class_id, uintptr_t *module,
                                  uint32_t *token, uint32_t capacity, uint32_t *n, uintptr_t *arguments)
{
    (void)self, (void)frame;
    *class_id = *module = *token = *n = GARBAGE;
    if (call_fails())
        return HR_FAIL;
    const struct fake_method *m = (const struct fake_method *)id;
    alive(m->gone, "method");
    *class_id = (uintptr_t)m->type;
    *module = (uintptr_t)m->module;
    *token = m->token;
    *n = m->n_arguments;
    for (uint32_t i = 0; i < m->n_arguments && i < capacity; i++)
        arguments[i] = (uintptr_t)m->arguments[i];
    return HR_OK;
}

static hresult get_function_info(void *self, uintptr_t id, uintptr_t *class_id, uintptr_t *module, uint32_t *token)
{
    (void)self;
    *class_id = *module = *token = GARBAGE;
    if (call_fails())
        return HR_FAIL;
    const struct fake_method *m = (const struct fake_method *)id;
    alive(m->gone, "method");
    *class_id = (uintptr_t)m->type;
    *module = (uintptr_t)m->module;
    *token = m->token;
    return HR_OK;
}

static hresult get_il_function_body(void *self, uintptr_t module, uint32_t token, const uint8_t **header, uint32_t *size)
{
    (void)self, (void)module;
    *header = NULL;
    *size = GARBAGE;
    if (call_fails())
        return HR_FAIL;
    *size = method_defs[token & 0xFFFFFF]->il_bytes;
    return HR_OK;
}

static hresult set_function_id_mapper2(void *self, void *mapper, void *data)
{
    (void)self;
    if (call_fails())
        return HR_FAIL;
    fake_hooks.mapper = (uintptr_t(*)(uintptr_t, void *, int32_t *))mapper;
    fake_hooks.mapper_data = data;
    return HR_OK;
}

static hresult set_enter_leave_hooks3(void *self, void *enter, void *leave, void *tailcall)
{
    (void)self;
    if (call_fails() || (fake.event_low & MONITOR_ENTERLEAVE) == 0)
        return HR_FAIL;
    fake_hooks.enter = enter;
    fake_hooks.leave = leave;
    fake_hooks.tailcall = tailcall;
    if (fake.in_set_hooks != NULL)
        fake.in_set_hooks();
    return HR_OK;
}

static hresult get_class_id_info2(void *self, uintptr_t id, uintptr_t *module, uint32_t *token, uintptr_t *parent,
                                  uint32_t capacity, uint32_t *n, uintptr_t *arguments)
{
    (void)self;
    *module = *token = *n = GARBAGE;
    *parent = GARBAGE;
    if (call_fails())
        return HR_FAIL;
    struct fake_class *c = (struct fake_class *)id;
    alive(c->gone, "class");
    if (__atomic_load_n(&c->incomplete, __ATOMIC_RELAXED) > 0) {
        __atomic_sub_fetch(&c->incomplete, 1, __ATOMIC_RELAXED);
        return DATA_INCOMPLETE;
    }
    if (c->kind != A_CLASS)
        return c->kind == AN_ARRAY ? HR_CLASS_IS_ARRAY : HR_CLASS_IS_COMPOSITE;
    *module = (uintptr_t)c->module;
    *token = c->token;
    *n = c->n_arguments;
    for (uint32_t i = 0; i < c->n_arguments && i < capacity; i++)
        arguments[i] = (uintptr_t)c->arguments[i];
    return HR_OK;
}

static hresult get_runtime_information(void *self, uint16_t *instance, uint32_t *type, uint16_t *major, uint16_t *minor,
                                       uint16_t *build, uint16_t *fix, uint32_t capacity, uint32_t *length, utf16 *name)
{
    (void)self, (void)capacity, (void)name;
    *major = *minor = *build = (uint16_t)GARBAGE;
    if (call_fails())
        return HR_FAIL;
    *instance = 0;
    *type = 2;
    *major = fake.major != 0 ? fake.major : 9;
    *minor = 0;
    *build = 7;
    *fix = 0;
    *length = 6;
    return HR_OK;
}

static hresult get_module_info2(void *self, uintptr_t id, const uint8_t **base, uint32_t capacity, uint32_t *length,
                                utf16 *name, uintptr_t *assembly, uint32_t *flags)
{
    (void)self;
    *length = *flags = GARBAGE;
    if (call_fails())
        return HR_FAIL;
    const struct fake_module *m = (const struct fake_module *)id;
    alive(m->gone, "module");
    *base = NULL;
    *assembly = id;
    *flags = m->flags;
    give_name(m->path, name, capacity, length);
    return HR_OK;
}

static uint64_t object_bytes(uintptr_t object)
{
    const struct fake_class *c = *(struct fake_class *const *)object; /* the table is at the start of a class */
    uint64_t component = c->table[0] >> 31 != 0 ? c->table[0] & 0xFFFFu : 0;
    return c->table[1] + component * *(const uint32_t *)(object + 8) + c->odd_bytes;
}

static hresult get_object_size2(void *self, uintptr_t object, size_t *size)
{
    (void)self;
    *size = GARBAGE;
    if (call_fails())
        return HR_FAIL;
    *size = object_bytes(object);
    return HR_OK;
}

static hresult set_event_mask2(void *self, uint32_t low, uint32_t high)
{
    (void)self;
    if (call_fails())
        return HR_FAIL;
    fake.event_low = low;
    fake.event_high = high;
    if (fake.allocate_in_set_event_mask)
        fake_allocate(fake.reenter_class, 0);
    return HR_OK;
}

static hresult is_function_dynamic(void *self, uintptr_t id, int32_t *dynamic)
{
    (void)self;
    *dynamic = 0;
    if (call_fails())
        return HR_FAIL;
    const struct fake_method *m = (const struct fake_method *)id;
    alive(m->gone, "method");
    *dynamic = m->dynamic;
    return HR_OK;
}

static hresult get_function_from_ip3(void *self, uintptr_t address, uintptr_t *id, uintptr_t *rejit)
{
    (void)self;
    *id = *rejit = GARBAGE;
    if (call_fails())
        return HR_FAIL;
    const struct fake_body *b = body_at(address);
    if (b == NULL)
        return HR_FAIL;
    *id = (uintptr_t)b->method;
    *rejit = 0;
    return HR_OK;
}

/* Above native code without a frame pointer, the framed functions that called it are known, as far as they have called each
 * other; of other stacks, which are whole, nothing is reported but that native code is there. */
static hresult do_stack_snapshot(void *self, uintptr_t thread, void *found, uint32_t flags, void *data, uint8_t *context,
                                 uint32_t size)
{
    (void)self, (void)thread, (void)context, (void)size;
    if (call_fails())
        return HR_FAIL;
    hresult (*report_frame)(uintptr_t, uintptr_t, uintptr_t, uint32_t, uint8_t *, void *) =
        (hresult(*)(uintptr_t, uintptr_t, uintptr_t, uint32_t, uint8_t *, void *))found;
    const uintptr_t *record = (const uintptr_t *)native_record, *frame = record;
    if (flags != 1)
        fake_die("a snapshot without registers");
    if (report_frame(0, 0, 0, 0, NULL, data) != HR_OK)
        return SNAPSHOT_ABORTED;
    while (frame != NULL) {
        const struct fake_body *b = body_at(frame[1]);
        uint64_t registers[0x4D0 / 8] = {0};
        registers[0x98 / 8] = (uintptr_t)(frame + 2); /* rsp, rbp, rip */
        registers[0xA0 / 8] = frame[0];
        registers[0xF8 / 8] = frame[1];
        if (b != NULL && report_frame((uintptr_t)b->method, frame[1], 0, sizeof registers, (uint8_t *)registers, data) != HR_OK)
            return SNAPSHOT_ABORTED;
        const uintptr_t *outer = (const uintptr_t *)record[-1], *next = b == NULL ? NULL : (const uintptr_t *)frame[0];
        if (outer != NULL && (next <= frame || next > outer))
            next = record = outer;
        frame = next;
    }
    return HR_OK;
}

static hresult get_dynamic_function_info(void *self, uintptr_t id, uintptr_t *module, const uint8_t **signature,
                                         uint32_t *signature_bytes, uint32_t capacity, uint32_t *length, utf16 *name)
{
    (void)self;
    *length = *signature_bytes = GARBAGE;
    *module = GARBAGE;
    if (call_fails())
        return HR_FAIL;
    const struct fake_method *m = (const struct fake_method *)id;
    alive(m->gone, "method");
    *signature = NULL;
    *signature_bytes = 0;
    give_name(m->name, name, capacity, length);
    return HR_OK;
}

static hresult get_native_code_starts(void *self, uintptr_t id, uintptr_t rejit, uint32_t capacity, uint32_t *n, uintptr_t *starts)
{
    (void)self, (void)rejit;
    *n = GARBAGE;
    if (call_fails())
        return HR_FAIL;
    const struct fake_method *m = (const struct fake_method *)id;
    alive(m->gone, "method");
    *n = m->n_bodies;
    for (uint32_t i = 0; i < m->n_bodies && i < capacity; i++)
        starts[i] = (uintptr_t)m->bodies[i]->start;
    return HR_OK;
}

static hresult get_il_to_native_mapping3(void *self, uintptr_t start, uint32_t capacity, uint32_t *n, struct clr_il_map *map)
{
    (void)self;
    *n = GARBAGE;
    if (call_fails())
        return HR_FAIL;
    const struct fake_body *b = body_at(start);
    if (b == NULL)
        return HR_FAIL;
    *n = b->method->il_points;
    for (uint32_t i = 0; i < *n && i < capacity; i++)
        map[i] = (struct clr_il_map){i, i % b->size, i % b->size + 1};
    return HR_OK;
}

static hresult get_code_info4(void *self, uintptr_t start, uint32_t capacity, uint32_t *n, struct clr_code_info *ranges)
{
    (void)self;
    *n = GARBAGE;
    if (call_fails())
        return HR_FAIL;
    const struct fake_body *b = body_at(start);
    if (b == NULL || capacity == 0)
        return HR_FAIL;
    *n = 1;
    ranges[0] = (struct clr_code_info){start, b->size};
    return HR_OK;
}

static hresult get_non_gc_heap_bounds(void *self, uint32_t capacity, uint32_t *n, struct clr_non_gc_range *ranges)
{
    (void)self;
    *n = GARBAGE;
    if (call_fails())
        return HR_FAIL;
    uint32_t segments = __atomic_load_n(&fake.frozen_segments, __ATOMIC_ACQUIRE);
    *n = segments;
    for (uint32_t i = 0; i < segments && i < capacity; i++)
        ranges[i] = (struct clr_non_gc_range){(uint64_t)(uintptr_t)frozen_heap[i], 16, SEGMENT_BYTES};
    return HR_OK;
}

__thread uintptr_t fake_block_frame;

static hresult get_notified_clause(void *self, struct clr_clause *out)
{
    (void)self;
    *out = (struct clr_clause){.frame_pointer = fake_block_frame};
    return fake_block_frame != 0 ? HR_OK : 1;
}

static void *info_table[115];
static void *answers[115], *import_answers[65]; /* of tests */
static void **info_object = info_table;

static void fill_tables(void)
{
    for (size_t i = 0; i < 115; i++)
        info_table[i] = (void *)no_such_slot;
    for (size_t i = 0; i < 65; i++)
        import_table[i] = (void *)no_such_slot;
    info_table[0] = (void *)info_query;
    info_table[1] = info_table[2] = (void *)info_reference;
    info_table[INFO_GET_CLASS_FROM_OBJECT] = (void *)get_class_from_object;
    info_table[INFO_IS_ARRAY_CLASS] = (void *)is_array_class;
    info_table[INFO_CREATE_HANDLE] = (void *)create_handle;
    info_table[INFO_DESTROY_HANDLE] = (void *)destroy_handle;
    info_table[INFO_GET_CURRENT_THREAD_ID] = (void *)get_current_thread_id;
    info_table[INFO_GET_MODULE_META_DATA] = (void *)get_module_meta_data;
    info_table[INFO_DO_STACK_SNAPSHOT] = (void *)do_stack_snapshot;
    info_table[INFO_GET_FUNCTION_INFO2] = (void *)get_function_info2;
    info_table[INFO_GET_FUNCTION_INFO] = (void *)get_function_info;
    info_table[INFO_GET_IL_FUNCTION_BODY] = (void *)get_il_function_body;
    info_table[INFO_GET_NOTIFIED_CLAUSE] = (void *)get_notified_clause;
    info_table[INFO_SET_FUNCTION_ID_MAPPER2] = (void *)set_function_id_mapper2;
    info_table[INFO_SET_ENTER_LEAVE_HOOKS3] = (void *)set_enter_leave_hooks3;
    info_table[INFO_GET_CLASS_ID_INFO2] = (void *)get_class_id_info2;
    info_table[INFO_GET_RUNTIME_INFORMATION] = (void *)get_runtime_information;
    info_table[INFO_GET_MODULE_INFO2] = (void *)get_module_info2;
    info_table[INFO_GET_OBJECT_SIZE2] = (void *)get_object_size2;
    info_table[INFO_SET_EVENT_MASK2] = (void *)set_event_mask2;
    info_table[INFO_IS_FUNCTION_DYNAMIC] = (void *)is_function_dynamic;
    info_table[INFO_GET_FUNCTION_FROM_IP3] = (void *)get_function_from_ip3;
    info_table[INFO_GET_DYNAMIC_FUNCTION_INFO] = (void *)get_dynamic_function_info;
    info_table[INFO_GET_NATIVE_CODE_STARTS] = (void *)get_native_code_starts;
    info_table[INFO_GET_IL_TO_NATIVE_MAPPING3] = (void *)get_il_to_native_mapping3;
    info_table[INFO_GET_CODE_INFO4] = (void *)get_code_info4;
    info_table[INFO_GET_NON_GC_HEAP_BOUNDS] = (void *)get_non_gc_heap_bounds;
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++)
        if (answers[i] != NULL)
            info_table[i] = answers[i];
    import_table[2] = (void *)import_release;
    import_table[IMPORT_GET_SCOPE_PROPS] = (void *)get_scope_props;
    import_table[IMPORT_GET_TYPE_DEF_PROPS] = (void *)get_type_def_props;
    import_table[IMPORT_GET_CUSTOM_ATTRIBUTE] = (void *)get_custom_attribute;
    import_table[IMPORT_GET_METHOD_PROPS] = (void *)get_method_props;
    import_table[IMPORT_GET_NESTED_CLASS_PROPS] = (void *)get_nested_class_props;
    for (size_t i = 0; i < sizeof import_answers / sizeof *import_answers; i++)
        if (import_answers[i] != NULL)
            import_table[i] = import_answers[i];
}

/* ── running managed code ───────────────────────────────────────────────────────────────────────────────────── */

static __thread fake_leaf leaf_now;
static __thread void *leaf_data;

static void leaf_entry(void *next, uint64_t places)
{
    (void)next, (void)places;
    leaf_now(leaf_data, false);
    __asm__ volatile(""); /* not a jump: this frame is there */
}

static void divided_by_zero(int number, siginfo_t *about, void *context)
{
    (void)number;
    ucontext_t *c = context;
    if (body_at((uintptr_t)about->si_addr) == NULL)
        fake_die("a division by zero outside of managed code");
    leaf_now(leaf_data, true);
    c->uc_mcontext.gregs[REG_RIP] += 2; /* after the div */
}

void fake_run(const struct fake_stack *s, fake_leaf leaf, void *data)
{
    uint32_t n = s->n + s->repeat;
    void **program = calloc(n + 1, sizeof *program), *local[64];
    void **next = program;
    if (n + 1 < 64) {
        free(program);
        program = NULL;
        next = local;
    }
    for (uint32_t i = 0; i < n; i++)
        next[i] = s->bodies[i < s->n ? i : s->n - 1]->start;
    next[n] = (void *)leaf_entry;
    leaf_now = leaf;
    leaf_data = data;
    ((void (*)(void **, uint64_t))next[0])(next + 1, s->places);
    free(program);
}

static void report(uintptr_t object, struct fake_class *c)
{
    __atomic_fetch_add(&fake.objects, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&fake.bytes, (object_bytes(object) + 7) & ~UINT64_C(7), __ATOMIC_RELAXED);
    errno = 12345;
    (void)SLOT(callback, CALLBACK_OBJECT_ALLOCATED, uintptr_t, uintptr_t)(callback, object, (uintptr_t)c);
    if (errno != 12345)
        fake_die("the agent changed errno");
    __atomic_fetch_add(&fake.reported, 1, __ATOMIC_RELAXED);
}

void fake_allocate(struct fake_class *c, uint32_t length)
{
    uintptr_t object[2] = {(uintptr_t)c->table, length};
    report((uintptr_t)object, c);
}

void fake_allocate_at(struct fake_class *c, uintptr_t object)
{
    *(uintptr_t *)object = (uintptr_t)c->table;
    report(object, c);
}

void fake_allocate_frozen(struct fake_class *c, uint32_t segment)
{
    frozen_heap[segment][0] = (uintptr_t)c->table;
    report((uintptr_t)frozen_heap[segment], c);
}

void fake_set_thread(uintptr_t managed)
{
    managed_thread = managed;
}

/* ── loading ────────────────────────────────────────────────────────────────────────────────────────────────── */

static void query_callbacks(void *library)
{
    hresult (*get_class)(const struct guid *, const struct guid *, void **) =
        (hresult(*)(const struct guid *, const struct guid *, void **))dlsym(library, "DllGetClassObject");
    static const struct guid factory_id = {0x00000001, 0, 0, {0xC0, 0, 0, 0, 0, 0, 0, 0x46}}, ours = {1, 2, 3, {4}};
    static const struct guid callback2 = {0x8A8CC829, 0xCCF2, 0x49FE, {0xBB, 0xAE, 0x0F, 0x02, 0x22, 0x28, 0x07, 0x1A}};
    static const struct guid callback11 = {0x42350846, 0xAAED, 0x47F7, {0xB1, 0x28, 0xFD, 0x0C, 0x98, 0x88, 0x1C, 0xDE}};
    void *factory = NULL, *again = NULL, *newest = NULL, *unknown = &unknown;
    if (get_class == NULL || get_class(&ours, &factory_id, &factory) != HR_OK)
        fake_die("no class factory");
    if (SLOT(factory, 3, void *, const struct guid *, void **)(factory, NULL, &callback2, &callback) != HR_OK)
        fake_die("no ICorProfilerCallback2");
    com_release(factory);
    if (com_query(callback, &callback2, &again) != HR_OK || com_query(callback, &callback11, &newest) != HR_OK || newest != callback)
        fake_die("no ICorProfilerCallback11");
    if (com_query(callback, &ours, &unknown) != HR_NO_INTERFACE || unknown != NULL)
        fake_die("an interface that nobody has");
    unknown = &unknown;
    if (get_class(&ours, &ours, &unknown) != HR_NO_INTERFACE || unknown != NULL)
        fake_die("a factory of another kind");
    int32_t only_notifications = 0;
    (void)SLOT(callback, 97, int32_t *)(callback, &only_notifications);
    if (only_notifications != 0)
        fake_die("the agent wants to be a notification profiler");
    for (size_t i = 0; i < CALLBACK_SLOTS; i++)
        if ((*(void ***)callback)[i] == NULL)
            fake_die("slot %zu is empty", i);
}

void fake_answer(uint32_t slot, void *function)
{
    answers[slot] = function;
}

void fake_answer_import(uint32_t slot, void *function)
{
    import_answers[slot] = function;
}

#define MAX_FINDABLE 4u
static const struct fake_method *findable[MAX_FINDABLE];
static uint32_t n_findable;

static bool is_text(const utf16 *name, const char *text)
{
    while (*text != 0 && *name == (utf16)*text)
        name++, text++;
    return *text == 0 && *name == 0;
}

static hresult find_type(void *self, const utf16 *name, uint32_t enclosing, uint32_t *token)
{
    (void)self, (void)enclosing;
    for (uint32_t i = 0; i < n_findable; i++)
        if (is_text(name, findable[i]->type->name)) {
            *token = findable[i]->type->token;
            return call_fails() ? HR_FAIL : HR_OK;
        }
    return HR_FAIL;
}

static hresult find_method(void *self, uint32_t type, const utf16 *name, const uint8_t *signature, uint32_t bytes, uint32_t *token)
{
    (void)self, (void)signature, (void)bytes;
    for (uint32_t i = 0; i < n_findable; i++)
        if (type == findable[i]->type->token && is_text(name, findable[i]->name)) {
            *token = findable[i]->token;
            return call_fails() ? HR_FAIL : HR_OK;
        }
    return HR_FAIL;
}

void fake_find(const struct fake_method *m)
{
    if (n_findable == MAX_FINDABLE)
        fake_die("too many functions to find");
    findable[n_findable++] = m;
    fake_answer_import(IMPORT_FIND_TYPE_DEF, (void *)find_type);
    fake_answer_import(IMPORT_FIND_METHOD, (void *)find_method);
}

bool fake_call_fails(void)
{
    return call_fails();
}

static void *load(const char *agent)
{
    fill_tables();
    struct sigaction action = {.sa_sigaction = divided_by_zero, .sa_flags = SA_SIGINFO | SA_NODEFER};
    sigaction(SIGFPE, &action, NULL);
    void *library = dlopen(agent, RTLD_LAZY);
    if (library == NULL)
        fake_die("%s", dlerror());
    query_callbacks(library);
    return library;
}

static hresult keep(void *library, hresult hr)
{
    if (hr < 0)
        dlclose(library);
    return hr;
}

hresult fake_load(const char *agent)
{
    void *library = load(agent);
    return keep(library, SLOT(callback, CALLBACK_INITIALIZE, void *)(callback, &info_object));
}

hresult fake_load_late(const char *agent, const void *said, uint32_t bytes)
{
    void *library = load(agent);
    return keep(library, SLOT(callback, CALLBACK_INITIALIZE_FOR_ATTACH, void *, const void *, uint32_t)(callback, &info_object, said, bytes));
}

hresult fake_callback(uint32_t slot, uintptr_t argument)
{
    return SLOT(callback, slot, uintptr_t)(callback, argument);
}

void *fake_callbacks(void)
{
    return callback;
}

hresult fake_callback_name(uintptr_t thread, uint32_t length, const utf16 *name)
{
    return SLOT(callback, CALLBACK_THREAD_NAME_CHANGED, uintptr_t, uint32_t, const utf16 *)(callback, thread, length, name);
}
