/* A made-up runtime for tests of the agent: modules, types and methods that do not exist, machine code that does.
 *
 * It loads the agent as CoreCLR does and answers exactly the calls that the agent makes; every other slot aborts.
 * "Managed code" is written into memory byte by byte with the prologues of the JIT, so that each frame layout that the
 * agent reads appears on real stacks of real threads, and the right answer is known. An id is a pointer to one of the
 * structs below; using one after its unload aborts, as it would crash a real runtime.
 *
 * Faults: every call of the agent into the runtime, and every mmap, fallocate, … has a number; one number, or all from
 * one on, can be made to fail. */
#ifndef CLRPROF_FAKE_RUNTIME_H
#define CLRPROF_FAKE_RUNTIME_H

#include "../src/core/profiler_api.h"

#include <link.h>
#include <pthread.h>
#include <stdio.h>

#define MAX_PROGRAM 4096 /* methods of one stack; more come from recursion */
#define CODE_SLOT 128u   /* bytes of one body */
#define CODE_SLOTS 32768u
#define FAKE_CODE_BASE 0x551000000000u /* the same in every run, and where each sanitizer allows it */

/* ── what programs are made of ──────────────────────────────────────────────────────────────────────────────── */

struct fake_module {
    const char *path, *name;
    uint32_t flags; /* MODULE_FLAG_… */
    void *import;   /* made when first asked for */
    bool gone;
};

enum fake_class_kind { A_CLASS, AN_ARRAY, A_COMPOSITE };

struct fake_class {
    uint32_t table[2]; /* what a MethodTable begins with: component size and flag, base size */
    enum fake_class_kind kind;
    struct fake_module *module;
    const char *name;
    struct fake_class *enclosing, *element, *arguments[80];
    uint32_t n_arguments, element_code, rank, token;
    uint32_t odd_bytes; /* what the runtime says an object has beyond what the table says */
    int32_t incomplete; /* so many questions are answered with "data incomplete" */
    bool gone;
};

enum fake_shape {
    FRAMED,
    FRAMELESS,
    FRAMELESS_PUSHES,
    FRAMELESS_LARGE,
    FRAMELESS_VERY_LARGE, /* its prologue probes with lea r11 */
    NATIVE,               /* framed, in no method: a stub of the runtime */
    NATIVE_WILD,          /* uses the frame pointer for something else: see fake_set_wild */
    STUB,                 /* the runtime's own, in assembler: leaves the frame pointer alone, */
    STUB_FRAMED,          /* or has one that its call-frame information does not describe */
    FIRST_VERSION,        /* calls the OSR variant that follows it in the program */
    FIRST_VERSION_LARGE,
    FIRST_VERSION_VERY_LARGE,
    OSR_VARIANT,
    FAULTS,           /* framed; divides by zero before it calls */
    FAULTS_FRAMELESS, /* the same without a frame pointer */
    NATIVE_BARE,      /* has no frame pointer, and leaves its caller's alone */
    SHAPES,
    PROBED /* framed, with the hooks of Enter and Leave: see fake_calls.h */
};

struct fake_method {
    const char *name;
    struct fake_module *module;
    struct fake_class *type, *arguments[80];
    uint32_t n_arguments, token, il_points, signature_bytes;
    bool dynamic, gone;
    struct fake_body *bodies[300];
    uint32_t n_bodies;
    uint32_t il_bytes; /* of its code */
    bool helper;       /* the runtime's own: it has no frame */
    bool compiling, compiled; /* its first PROBED body; the agent was asked about it: */
    int32_t hooked;
    uintptr_t client; /* what the hooks get */
};

struct fake_body {
    struct fake_method *method;
    enum fake_shape shape;
    uint8_t *start;
    uint32_t size;
    uintptr_t returns[2]; /* the two places from which it calls */
    uintptr_t places[2];  /* where to jump for that, PROBED */
    uintptr_t fault;      /* the instruction that divides */
};

void fake_class_init(struct fake_class *c, struct fake_module *m, const char *name, uint32_t base, uint32_t component);
/* Adds a body to a method (its first: the method becomes known). slot < 0: a new place for the code. */
void fake_emit(struct fake_method *m, struct fake_body *b, enum fake_shape shape, int slot);
/* Those of STUB and STUB_FRAMED: what is to be called next is in rdi, as in every function of a program. The places are
 * where the first is before its frame is made, while it is half made, and behind its call, with the bytes to the return
 * address that its call-frame information gives there. */
void fake_stub(void);
void fake_stub_framed(void);
extern const char fake_stub_half[], fake_stub_returns[], fake_stub_leaves[], fake_stub_end[];
#define FAKE_STUB_FRAME 24u
void fake_set_wild(struct fake_body *b, uintptr_t frame_pointer); /* what is in the register while it calls */
void fake_forget(struct fake_method *m); /* its bodies are gone; the structs may be used again */

/* ── running ────────────────────────────────────────────────────────────────────────────────────────────────── */

struct fake_stack { /* bodies from the root on; body i calls from its place bit i of `places` */
    uint32_t n;
    uint64_t places;
    struct fake_body *bodies[MAX_PROGRAM];
    uint32_t repeat; /* the last body is called so many times more, by itself */
};

typedef void (*fake_leaf)(void *data, bool in_handler);
/* Calls the leaf with this stack below it; twice if the last body faults: first from the signal handler. */
void fake_run(const struct fake_stack *s, fake_leaf leaf, void *data);
/* Notifies the agent of a new object. Adds to fake.objects and fake.bytes. */
void fake_allocate(struct fake_class *c, uint32_t length);
void fake_allocate_at(struct fake_class *c, uintptr_t object); /* the same, and its memory is this */
void fake_allocate_frozen(struct fake_class *c, uint32_t segment);
void fake_set_thread(uintptr_t managed); /* GetCurrentThreadID of this thread; 0: none */

/* ── loading ────────────────────────────────────────────────────────────────────────────────────────────────── */

hresult fake_load(const char *agent); /* up to and with Initialize; a failure unloads the library, as the runtime does */
hresult fake_load_late(const char *agent, const void *said, uint32_t bytes); /* the same with InitializeForAttach */
hresult fake_callback(uint32_t slot, uintptr_t argument);
void *fake_callbacks(void); /* the agent's object */
extern __thread uintptr_t fake_block_frame; /* of GetNotifiedExceptionClauseInfo; 0: it says nothing */
void fake_answer(uint32_t slot, void *function); /* of ICorProfilerInfo14, before fake_load */
void fake_answer_import(uint32_t slot, void *function); /* of IMetaDataImport, likewise */
void fake_find(const struct fake_method *m); /* its class and it are found by their names, as those of earlier calls; before fake_load */
bool fake_call_fails(void); /* is a call that a test answers one of those that are to fail? */
hresult fake_callback_name(uintptr_t thread, uint32_t length, const utf16 *name);

extern struct fake_hooks { /* as the agent set them */
    uintptr_t (*mapper)(uintptr_t function, void *data, int32_t *hook);
    void *mapper_data, *enter, *leave, *tailcall;
} fake_hooks;

enum fake_os_call { OS_MMAP, OS_FALLOCATE, OS_FTRUNCATE, OS_LINK, OS_STACK, OS_KEY, OS_MPROTECT, OS_MADVISE, OS_CALLS };

extern struct fake_state {
    uint64_t objects, bytes;  /* reported to the agent, or about to be */
    uint64_t reported;        /* objects: the agent has returned */
    uint64_t calls;           /* of the agent into the runtime */
    uint64_t fail_at, fail_from; /* numbers of such calls, from 1; 0: none */
    uint64_t reenter_at;      /* a call during which the thread allocates */
    struct fake_class *reenter_class;
    uint64_t os_calls[OS_CALLS], os_fail_at[OS_CALLS], os_fail_from[OS_CALLS];
    uint64_t os_kill_at[OS_CALLS]; /* such a call kills the process */
    size_t watched_bytes; /* the first mapping of this size is remembered: the agent's own memory, for tests that damage it */
    void *watched;
    bool watched_alone; /* there is no memory for another one of this size */
    uint32_t frozen_segments; /* that the runtime reports */
    uint64_t handles_made, handles_destroyed; /* each destroyed once, after it was made */
    bool no_info9, no_info14, has_info12; /* EventPipe, whose slots a test answers */
    bool allocate_in_set_event_mask;
    void (*in_set_hooks)(void); /* what another thread could do then */
    uint32_t event_low, event_high;
    uint32_t references; /* to metadata that the agent did not release */
    int link_error;      /* EEXIST if 0 */
    uint16_t major;      /* of the runtime; 9 if 0 */
    struct dl_phdr_info *module; /* the loader reports this one alone */
} fake;

_Noreturn void fake_die(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
