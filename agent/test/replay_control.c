/* Replays changes of what is recorded to the agent's real code (recording_state.c), and says what an event would see.
 *
 *   replay_control DIRECTORY
 *
 * Reads lines of "TIME WHO LEVEL OP" from standard input: WHO is 1 the program, 2 the collector, 3 the collector as to another
 * process, 4 the collector as to another thread, 5 functions that limit what is recorded of
 * the process (LEVEL 0: 1 only inside of some, 2 also outside; else LEVEL 1 inside, 2 outside, OP 1 a thread more, 2 a thread less is in such a call), 0 nobody: an event, of which a line "OFF THREAD_OFF PAUSED LOSSES" is printed. The directory holds a control file.
 * The clock of time is that of the lines. The rest of the agent is here. */
#define _GNU_SOURCE
#include "../src/core/arena.h"
#include "../src/control/lifecycle.h"
#include "../src/control/recording_state.h"
#include "../src/os/context_switch.h"
#include "../src/os/own_time.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define OWN 81u /* threads */
#define OTHER 82u

struct arena arena;
static struct wire_header header;
static uint64_t now, losses;

uint64_t os_clock(void)
{
    return now;
}

uint64_t monotonic_ns(void)
{
    return now;
}

void os_pair(uint64_t *ticks, uint64_t *ns)
{
    *ticks = *ns = now;
}

/* No calls are timed here. */
static void settle(void)
{
}

uint64_t time_own_begins(void)
{
    return 0;
}

void time_leave_out(uint64_t since)
{
    (void)since;
}

/* No function limits what is recorded. */
static bool is_off(void)
{
    return false;
}

const struct lifecycle_hooks lifecycle_hooks = {.settle = settle, .is_off = is_off};

void word_lock(uint32_t *word)
{
    *word = 1;
}

void word_unlock(uint32_t *word)
{
    *word = 0;
}

void arena_lock(void)
{
}

void arena_unlock(void)
{
}

bool arena_log(uint32_t kind, const void *payload, uint32_t bytes)
{
    (void)kind, (void)payload, (void)bytes;
    return true;
}

void loss(uint32_t reason, uint64_t objects, uint64_t bytes)
{
    (void)objects, (void)bytes;
    losses += reason == WIRE_LOSS_CONTROL;
}

void *private_alloc(uint64_t bytes)
{
    return calloc(1, bytes);
}

static void append(uint8_t *file, uint32_t pid, uint32_t thread, uint32_t level, uint32_t op)
{
    struct wire_control_header *h = (void *)file;
    struct wire_control_change *ring = (void *)(file + 4096);
    ring[h->changes % WIRE_CONTROL_RING] = (struct wire_control_change){now, level, op, pid, 0, thread, 0};
    if (level == WIRE_LEVEL_GLOBAL && op <= WIRE_CONTROL_STOP)
        h->stopped = op == WIRE_CONTROL_STOP;
    else if (level == WIRE_LEVEL_GLOBAL)
        h->suspended += op == WIRE_CONTROL_SUSPEND ? 1u : UINT32_MAX;
    __atomic_store_n(&h->changes, h->changes + 1, __ATOMIC_RELEASE);
}

int main(int argc, char **argv)
{
    char path[4096];
    unsigned long long time;
    uint32_t who, level, op, last[WIRE_LEVEL_THREAD + 1]; /* Start or Stop, by level: the other one changes it */
    for (level = 0; level <= WIRE_LEVEL_THREAD; level++)
        last[level] = WIRE_CONTROL_START;
    if (argc != 2)
        return 2;
    arena.header = &header;
    header.pid = 77;
    header.ticks_per_sec = 1000000000;
    header.memory_limit = UINT64_C(1) << 40;
    snprintf(path, sizeof path, "%s/%s", argv[1], WIRE_CONTROL_FILE);
    int fd = open(path, O_RDWR);
    uint8_t *file = mmap(NULL, 4096 + WIRE_CONTROL_RING * sizeof(struct wire_control_change), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd < 0 || file == MAP_FAILED)
        return 2;
    control_init(argv[1]);
    control_begin(0);
    control_thread_begins(OWN);
    while (scanf("%llu %u %u %u", &time, &who, &level, &op) == 4) {
        now = time;
        uint64_t before = control_now();
        bool same = who == 1 && op <= WIRE_CONTROL_STOP && last[level] == op;
        if ((who == 1 || who == 2) && op <= WIRE_CONTROL_STOP)
            last[level] = op;
        same = same || who == 5;
        if (who == 1)
            control_change(level, op, 1);
        else if (who == 5 && level == 0)
            control_only_inside(op == 1);
        else if (who == 5)
            control_in_functions(level == 2, op == 1 ? 1 : UINT32_MAX);
        else if (who != 0)
            append(file, who == 3 ? 78 : 77, who == 4 ? OTHER : OWN, level, op);
        struct control_state s = who == 0 ? control_look(now) : (struct control_state){0};
        if (who == 0)
            printf("%d %d %llu %llu\n", s.off, s.thread_off, (unsigned long long)s.paused, (unsigned long long)losses);
        else if (control_now() == before && !same)
            return 3; /* a thread would not notice */
    }
    return 0;
}
