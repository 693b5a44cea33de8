/* Probes that are taken out of the code while nothing is recorded, so that a paused program runs at its own speed.
 *
 * Problem: a probe that records nothing still costs some nanoseconds a call, and a service can be paused for months.
 *
 * Idea: the body with probes is the one that a method was compiled from first (il_probes.c), so that is what the runtime goes back to by
 * RequestRevert, to code that it still has. In a pause RequestReJIT asks for another version of each method, with the program's own IL: it is
 * compiled when it is called. So who never pauses pays nothing, nothing is compiled when recording goes on, and no call is lost then: the
 * probes are in before recording is on. Calls that began with probes end with them. Those that began without have none at
 * their end, and are as unknown as all that begin in a pause.
 *
 * Who sees to that? In a pause there may be no event at all, and the runtime takes such requests from no thread of the program (0x80131363): so a thread of
 * the agent's own looks once a second (requests.c). It takes probes out when a pause has lasted for a second. Who is about to end a pause has it woken, and waits until they are in:
 * a thread of the program, which runs no managed code then, and the collector, before it writes such a change into the control file. It adds to `ready` there, and the
 * agent answers by the same number in the arena.
 *
 * Methods inlined into each other would be missed when recording goes on in a body that runs already, so what is recorded is not
 * inlined in a pause either.
 *
 * What stands for ever is bounded: a version of a method and its code are never given back. See MOST_PART. All of this is that thread's alone, but for `all`, which others add to, and what says so. */
#define _GNU_SOURCE
#include "core/arena.h"
#include "core/recording.h"
#include "control/recording_state.h"
#include "probes/il_probes.h"
#include "probes/rejit.h"
#include "filter/probing.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define LOOK_NS UINT64_C(1000000000)  /* between two looks; a pause that lasts longer has settled */
#define HOLD_NS UINT64_C(10000000000) /* so long probes that were put in stay in, while recording does not go on */
#define AT_ONCE 512u                  /* methods of one request: the runtime stops all threads for each, some milliseconds */
#define MOST_PART 4u                  /* of the memory limit: what all pauses together may leave behind, by these estimates: */
#define VERSION_BYTES 256u            /* of a version that is asked for, */
#define CODE_BYTES 2048u              /* and of one that is compiled, at two tiers */
#define TRIES 5000u                   /* to put probes in, or to look whether they are, a millisecond apart */

static void *info;
static bool on;
static uint64_t settled_ns;
static struct rejit_method *all;  /* the newest first */
static uint32_t changing;         /* threads of the program that are about to end a pause */
static uint64_t last_pause;       /* the number of that which was seen last, */
static uint64_t seen_ns, hold_ns; /* when it was first; and until when no probes are taken out */
static bool was_off;
static uint64_t asked, compiled; /* versions, in all pauses */
static uintptr_t modules[AT_ONCE];
static uint32_t tokens[AT_ONCE];
static hresult results[AT_ONCE];

bool rejit_is_on(void)
{
    return on;
}

uint64_t rejit_look_ns(void)
{
    return settled_ns;
}

void rejit_add(struct rejit_method *m)
{
    m->next = all;
    __atomic_store_n(&all, m, __ATOMIC_RELEASE);
}

static uint64_t left_behind(void)
{
    return asked * VERSION_BYTES + __atomic_load_n(&compiled, __ATOMIC_RELAXED) * CODE_BYTES;
}

static void rest(void)
{
    static const struct timespec millisecond = {0, 1000000};
    nanosleep(&millisecond, NULL);
}

static bool request(bool out, uint32_t n)
{
    if (out)
        return SLOT(info, INFO_REQUEST_REJIT, uint32_t, uintptr_t *, uint32_t *)(info, n, modules, tokens) >= 0;
    bool done = false;
    for (uint32_t i = 0; !done && i < TRIES; i++) {
        if (i != 0)
            rest();
        done = SLOT(info, INFO_REQUEST_REVERT, uint32_t, uintptr_t *, uint32_t *, hresult *)(info, n, modules, tokens, results) >= 0;
    }
    return done;
}

/* Takes out all probes that are in, or puts in those that are out. False: the runtime refuses. */
static bool change_all(bool out)
{
    struct rejit_method *m = __atomic_load_n(&all, __ATOMIC_ACQUIRE);
    bool done = true;
    while (done && m != NULL) {
        uint32_t n = 0;
        for (; m != NULL && n < AT_ONCE; m = m->next) {
            if (m->out == out)
                continue;
            m->out = out;
            modules[n] = m->module;
            tokens[n++] = m->token;
        }
        asked += out ? n : 0;
        done = n == 0 || request(out, n);
    }
    return done;
}

static uint32_t count_in(void)
{
    uint32_t n = 0;
    for (const struct rejit_method *m = __atomic_load_n(&all, __ATOMIC_ACQUIRE); m != NULL; m = m->next)
        n += m->out ? 0 : 1;
    return n;
}

static void put_in(void)
{
    hold_ns = monotonic_ns() + HOLD_NS;
    if (arena.header->probes_out == 0)
        return;
    if (!change_all(false)) {
        loss(WIRE_LOSS_CONTROL, 0, 0);
        on = false;
    }
    __atomic_store_n(&arena.header->probes_out, 0, __ATOMIC_SEQ_CST);
}

/* Who is about to end a pause, too, first says so and then looks: so one of the two sees the other. */
static void take_out(const struct wire_control_header *file)
{
    uint32_t n = count_in();
    uint64_t number;
    if (n == 0 || left_behind() > arena.header->memory_limit / MOST_PART)
        return;
    uint32_t before = arena.header->probes_out;
    __atomic_store_n(&arena.header->probes_out, before + n, __ATOMIC_SEQ_CST);
    bool ends = __atomic_load_n(&file->ready, __ATOMIC_SEQ_CST) != arena.header->ready || __atomic_load_n(&changing, __ATOMIC_SEQ_CST) != 0;
    if (ends || !control_is_off(&number) || number != last_pause) {
        __atomic_store_n(&arena.header->probes_out, before, __ATOMIC_SEQ_CST);
        return;
    }
    __atomic_store_n(&probes_were_out, true, __ATOMIC_RELAXED); /* who ends the pause waits for this thread: then it is seen */
    on = change_all(true);
    if (!on)
        put_in(); /* the runtime refuses: whatever it has done is taken back, and not tried again */
}

void rejit_look(void)
{
    const struct wire_control_header *file = control_file();
    uint32_t ready = __atomic_load_n(&file->ready, __ATOMIC_SEQ_CST);
    if (ready != arena.header->ready || __atomic_load_n(&changing, __ATOMIC_SEQ_CST) != 0)
        put_in();
    __atomic_store_n(&arena.header->ready, ready, __ATOMIC_SEQ_CST);
    uint64_t number, now = monotonic_ns();
    bool off = control_is_off(&number);
    if (!off && arena.header->probes_out != 0) { /* the collector did not wait so long */
        loss(WIRE_LOSS_CONTROL, 0, 0);
        put_in();
    }
    if (!off || !was_off || number != last_pause) {
        seen_ns = now;
        if (number != last_pause)
            hold_ns = 0;
    }
    was_off = off;
    last_pause = number;
    if (on && off && now - seen_ns >= settled_ns && now >= hold_ns)
        take_out(file);
}

void rejit_ends_pause(void)
{
    __atomic_fetch_add(&changing, 1, __ATOMIC_SEQ_CST);
    for (uint32_t i = 0; i < TRIES && __atomic_load_n(&arena.header->probes_out, __ATOMIC_SEQ_CST) != 0 && !recording_is_over(); i++) {
        if (i != 0)
            rest(); /* the thread may have been about to sleep */
        syscall(SYS_futex, &control_file()->requests, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
    }
}

void rejit_ended_pause(void)
{
    __atomic_fetch_sub(&changing, 1, __ATOMIC_SEQ_CST);
}

/* The program's own body: what the runtime has as the method's is the one with probes. */
static hresult get_parameters(void *self, uintptr_t module, uint32_t token, void *control)
{
    (void)self;
    int saved_errno = errno;
    const uint8_t *body = NULL;
    uint32_t size = 0;
    const struct rejit_method *m = NULL;
    if (SLOT(info, INFO_GET_IL_FUNCTION_BODY, uintptr_t, uint32_t, const uint8_t **, uint32_t *)(info, module, token, &body, &size) >= 0)
        m = probes_rewritten(body);
    hresult hr = m == NULL ? HR_FAIL : SLOT(control, CONTROL_SET_IL_BODY, uint32_t, const uint8_t *)(control, m->size, m->body);
    __atomic_fetch_add(&compiled, 1, __ATOMIC_RELAXED);
    errno = saved_errno;
    return hr;
}

/* Who controls what is recorded by functions needs the probes of these, on threads that run managed code. */
uint32_t rejit_begin(void *profiler_info, void **callbacks)
{
    const char *text = getenv("CLRPROF_SETTLED"); /* for tests: nanoseconds */
    settled_ns = text == NULL ? 0 : strtoull(text, NULL, 10);
    if (settled_ns == 0)
        settled_ns = LOOK_NS;
    on = control_file() != NULL && probes_can_go();
    if (!on)
        return 0;
    info = profiler_info;
    callbacks[CALLBACK_GET_REJIT_PARAMETERS] = (void *)get_parameters;
    return ENABLE_REJIT;
}
