/* A mark ends a slice of time at its own moment.
 *
 * Problem: the collector looks once a second or less, so what a program does around a mark is in one slice. Whoever compares what came
 * before a mark with what came after it, a budget after a warm-up, would have both.
 *
 * Idea: the thread that marks tells the collector, and waits until what is counted up to here has been read: nothing that it does
 * afterwards is in a slice before the mark. The collector watches the arenas' folder anyway, so it learns of a new time of the file. It
 * answers in the control file, by a futex. How long a thread waits is bounded, as is how long all of them do: a collector that is
 * stopped, or has much to read, makes the mark inexact, which the slices show, and not the program slow. */
#define _GNU_SOURCE
#include "core/arena.h"
#include "control/recording_state.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SECOND UINT64_C(1000000000)
#define ALL_WAITS_NS UINT64_C(3000000000) /* of all threads of a process: 400 marks, on a machine that does nothing else, take one */

static void tell(uint64_t time_ns)
{
    uint64_t *last = &arena.header->cut_ns, was = __atomic_load_n(last, __ATOMIC_RELAXED);
    while (was < time_ns && !__atomic_compare_exchange_n(last, &was, time_ns, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
        ;
    arena_touch();
}

void control_cut(uint64_t time_ns)
{
    static uint64_t waited;
    const struct wire_control_header *file = control_file();
    if (file == NULL || __atomic_load_n(&file->cutting, __ATOMIC_RELAXED) == 0 || __atomic_load_n(&waited, __ATOMIC_RELAXED) >= ALL_WAITS_NS)
        return;
    tell(time_ns);
    uint64_t begin = monotonic_ns(), now = begin;
    for (long failed = 0; now - begin < WIRE_CUT_WAIT && (failed == 0 || errno == EAGAIN || errno == EINTR);) {
        uint32_t cuts = __atomic_load_n(&file->cuts, __ATOMIC_ACQUIRE);
        if (__atomic_load_n(&file->cut_ns, __ATOMIC_ACQUIRE) >= time_ns)
            break;
        uint64_t longest = WIRE_CUT_WAIT - (now - begin);
        struct timespec rest = {(time_t)(longest / SECOND), (long)(longest % SECOND)};
        failed = syscall(SYS_futex, &file->cuts, FUTEX_WAIT, cuts, &rest, NULL, 0);
        now = monotonic_ns();
    }
    __atomic_fetch_add(&waited, now - begin, __ATOMIC_RELAXED);
}
