/* How many methods the runtime compiles while the program runs, and how long that takes.
 *
 * The runtime reports the beginning and the end of each compilation on the thread that compiles. In between it can compile another method
 * on the same thread, whose time is a part of the first one's. So each compilation has a place as long as it lasts, in a table: there is no
 * room for another variable of each thread. A place is found by the thread's pointer and the function, so that only its own thread looks
 * for it.
 *
 * The end of a compilation that fails is not reported. The stack shows that it is over: a compilation within another one begins below
 * it, as the stack grows down. So whatever began at this height or below is over when another one begins, or when one above it ends.
 *
 * filter/inlined.c follows compilations, too, and stays apart: it works in dormant processes between recordings, needs the innermost
 * compilation for each call that may be inlined, and so a variable of each thread that it has only there. This file works in every
 * recording, and is asked twice for each compilation.
 *
 * The runtime compiles methods that are called often once more, on a thread that it has for that. The program does not wait for it, so
 * that is counted apart: by the name of the thread, as Linux has it.
 *
 * What the agent itself does in these callbacks is in none of the times: the callbacks that are there are called before the time is taken
 * at the beginning, and after it at the end. */
#define _GNU_SOURCE
#include "metadata/compilations.h"
#include "core/arena.h"
#include "core/recording.h"
#include "control/recording_state.h"

#include <errno.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PLACES 256u        /* compilations at once; a program has as many threads that compile as it has processors, or few more */
#define NAME_BYTES 16u     /* of a thread, for Linux */
#define BACKGROUND ".NET Tiered Com" /* …pilation Worker: Linux has 15 characters of it */

typedef hresult callback(void *self, uintptr_t function, uintptr_t b, uintptr_t c, uintptr_t d);

struct place {
    uintptr_t thread, function; /* thread 0: it is free */
    uintptr_t stack; /* where its beginning was reported: the stack grows down */
    uint64_t began;  /* processor time of the thread */
};

static struct place places[PLACES];
static callback *started_before, *finished_before, *dynamic_started_before, *dynamic_finished_before;

static uintptr_t this_thread(void)
{
    return (uintptr_t)__builtin_thread_pointer();
}

/* Processor time: what compiles can be stopped by a collection, or have no processor. */
static uint64_t worked_ns(void)
{
    struct timespec t = {0, 0};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Frees this thread's places, except `but`, whose compilations began at this stack pointer or below: those compilations are over. */
static void forget_below(uintptr_t stack, const struct place *but)
{
    for (uint32_t i = 0; i < PLACES; i++)
        if (__atomic_load_n(&places[i].thread, __ATOMIC_RELAXED) == this_thread() && &places[i] != but && places[i].stack <= stack)
            __atomic_store_n(&places[i].thread, 0, __ATOMIC_RELEASE);
}

static void begin(uintptr_t function, uintptr_t stack)
{
    uint64_t number;
    forget_below(stack, NULL);
    if (recording_is_over() || control_is_off(&number))
        return;
    for (uint32_t i = 0; i < PLACES; i++) {
        uintptr_t none = 0;
        if (__atomic_load_n(&places[i].thread, __ATOMIC_RELAXED) == 0 &&
            __atomic_compare_exchange_n(&places[i].thread, &none, this_thread(), false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
            places[i].function = function;
            places[i].stack = stack;
            places[i].began = worked_ns();
            return;
        }
    }
    __atomic_fetch_add(&arena.header->compiled_missed, 1, __ATOMIC_RELAXED);
}

/* The place of a compilation of this thread, NULL: it has none. An earlier one of the function that failed is above the one that ends. */
static struct place *place_of(uintptr_t function)
{
    struct place *found = NULL;
    for (uint32_t i = 0; i < PLACES; i++)
        if (__atomic_load_n(&places[i].thread, __ATOMIC_RELAXED) == this_thread() && places[i].function == function &&
            (found == NULL || places[i].stack < found->stack))
            found = &places[i];
    return found;
}

/* Does this thread compile something else, around what has just ended? */
static bool is_compiling(void)
{
    for (uint32_t i = 0; i < PLACES; i++)
        if (__atomic_load_n(&places[i].thread, __ATOMIC_RELAXED) == this_thread())
            return true;
    return false;
}

static bool is_background(void)
{
    char name[NAME_BYTES] = {0};
    return syscall(SYS_prctl, PR_GET_NAME, name, 0, 0, 0) == 0 && memcmp(name, BACKGROUND, sizeof BACKGROUND) == 0;
}

static void end(uintptr_t function)
{
    uint64_t now = worked_ns();
    struct place *p = place_of(function);
    if (p == NULL)
        return;
    forget_below(p->stack, p);
    uint64_t took = now - p->began;
    __atomic_store_n(&p->thread, 0, __ATOMIC_RELEASE);
    if (recording_is_over())
        return;
    struct wire_header *h = arena.header;
    bool background = is_background();
    __atomic_fetch_add(background ? &h->recompiled : &h->compiled, 1, __ATOMIC_RELAXED);
    if (!is_compiling())
        __atomic_fetch_add(background ? &h->recompiled_ns : &h->compiled_ns, took, __ATOMIC_RELAXED);
}

static hresult started(void *self, uintptr_t function, uintptr_t b, uintptr_t c, uintptr_t d)
{
    hresult hr = started_before(self, function, b, c, d);
    begin(function, (uintptr_t)__builtin_frame_address(0));
    return hr;
}

static hresult dynamic_started(void *self, uintptr_t function, uintptr_t b, uintptr_t c, uintptr_t d)
{
    hresult hr = dynamic_started_before(self, function, b, c, d);
    begin(function, (uintptr_t)__builtin_frame_address(0));
    return hr;
}

static hresult finished(void *self, uintptr_t function, uintptr_t b, uintptr_t c, uintptr_t d)
{
    int saved_errno = errno;
    end(function);
    errno = saved_errno;
    return finished_before(self, function, b, c, d);
}

static hresult dynamic_finished(void *self, uintptr_t function, uintptr_t b, uintptr_t c, uintptr_t d)
{
    int saved_errno = errno;
    end(function);
    errno = saved_errno;
    return dynamic_finished_before(self, function, b, c, d);
}

static void take(void **callbacks, uint32_t slot, callback **before, callback *own)
{
    *before = (callback *)callbacks[slot];
    callbacks[slot] = (void *)own;
}

uint32_t compiled_watch(void **callbacks)
{
    take(callbacks, CALLBACK_JIT_STARTED, &started_before, started);
    take(callbacks, CALLBACK_JIT_FINISHED, &finished_before, finished);
    take(callbacks, CALLBACK_DYNAMIC_JIT_STARTED, &dynamic_started_before, dynamic_started);
    take(callbacks, CALLBACK_DYNAMIC_JIT_FINISHED, &dynamic_finished_before, dynamic_finished);
    return MONITOR_JIT_COMPILATION;
}
