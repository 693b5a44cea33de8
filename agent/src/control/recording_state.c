/* What is recorded at the moment, and what is not.
 *
 * Three levels (all processes of the session, this process, a thread) have a counter of starts and stops and one of suspensions
 * each; something is recorded where all three levels are on. The program changes them through program_api.c, for itself; the
 * collector by a file that all agents map and only read, with the last changes and their times.
 *
 * Hot paths compare one number, how often there was a change, with the one at which their thread last found that it records; if they
 * are equal, nothing else is asked. It is the sum of two that only grow: the collector's changes and the program's own. The first event
 * of a thread after a change applies the changes in the file, in order and at the times that the file has for them: so a pause has its
 * true length, even if no thread looked at the file while it lasted.
 *
 * Recording can also depend on which functions are running (--record-inside), for a thread or for the whole process:
 * recording_scopes.c.
 *
 * Locking: lock_word guards what follows it, outside of arena_lock. */
#define _GNU_SOURCE
#include "core/arena.h"
#include "control/lifecycle.h"
#include "os/own_time.h"
#include "control/recording_state.h"
#include "core/freestanding.h"
#include "os/context_switch.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOG_PART 16u /* of the memory limit: what a program that marks or pauses in a loop leaves is for what is recorded */
#define FILE_BYTES (WIRE_HEADER_SIZE + WIRE_CONTROL_RING * sizeof(struct wire_control_change))
#define MAX_PATH 4096u
#define MAX_SUSPENDED 1000000 /* more is a loop that never resumes */
#define SECOND UINT64_C(1000000000)

struct level_state {
    bool stopped;
    int32_t suspended;
};

static const uint64_t no_changes;
const uint64_t *control_shared = &no_changes;
uint64_t control_own;
bool control_was_off;

static const struct wire_control_header *file;
static uint32_t lock_word;
static struct level_state global, process;
static uint64_t applied;  /* changes of the file */
static bool off;          /* this process as a whole */
static uint64_t n_pauses; /* of that, which have begun */
static uint64_t off_since, off_ticks; /* since when; in pauses that have ended. On the clock of time */
struct thread_state { /* of a thread that has a number */
    struct level_state level;
    uint32_t os_id;
    bool settled;                 /* what it did until the level went off is counted: it did that itself */
    uint64_t since, since_paused; /* off since then, if it is, and how long the process had been off by then */
    uint64_t ticks;               /* off while the process was on, in spans that have ended */
    struct thread_state *next, **place; /* place: NULL, it is free */
};
static struct thread_state *known, *unused;
static __thread struct thread_state *own_thread AT_FIXED_PLACE; /* NULL: its level is on */
static struct { /* threads that are in calls of functions that limit what is recorded of all */
    bool only_inside, off; /* off: as it was reported */
    uint32_t inside, outside;
} in_functions;

void control_forget_thread(ptrdiff_t distance)
{
    *(struct thread_state **)variable_of_thread(&own_thread, distance) = NULL;
}

static bool is_on(const struct level_state *l)
{
    return !l->stopped && l->suspended <= 0;
}

static bool change(struct level_state *l, uint32_t op)
{
    switch (op) {
    case WIRE_CONTROL_START:
    case WIRE_CONTROL_STOP:
        l->stopped = op == WIRE_CONTROL_STOP;
        return true;
    case WIRE_CONTROL_SUSPEND:
        if (l->suspended >= MAX_SUSPENDED)
            return false;
        l->suspended++;
        return true;
    case WIRE_CONTROL_RESUME:
        if (l->suspended <= -MAX_SUSPENDED)
            return false;
        l->suspended--;
        return true;
    }
    return false;
}

/* A change was made to a level of the process, or to all. Changes can be reported a little out of order: none takes effect
 * before the last one. */
static void take_effect(uint64_t ticks)
{
    bool now_off = !is_on(&global) || !is_on(&process) || in_functions.off;
    if (now_off == off)
        return;
    if (now_off) {
        off_since = ticks > off_since ? ticks : off_since;
        n_pauses++;
        control_was_off = true;
    } else {
        uint64_t end = ticks > off_since ? ticks : off_since;
        off_ticks += end - off_since;
        off_since = end;
    }
    off = now_off;
}

/* Ticks in which the process was off, up to a moment after the last change. */
static uint64_t process_paused(uint64_t ticks)
{
    return off_ticks + (off && ticks > off_since ? ticks - off_since : 0);
}

/* ── levels of threads ──────────────────────────────────────────────────────────────────────────────────────── */

void control_thread_begins(uint32_t os_id)
{
    word_lock(&lock_word);
    struct thread_state *t = unused;
    if (t != NULL)
        unused = t->next;
    else
        t = private_alloc(sizeof *t);
    if (t != NULL) { /* else nobody can change its level */
        *t = (struct thread_state){.os_id = os_id, .next = known, .place = &known};
        if (known != NULL)
            known->place = &t->next;
        known = own_thread = t;
    }
    word_unlock(&lock_word);
}

void control_thread_ends(void)
{
    struct thread_state *t = own_thread;
    if (t == NULL)
        return;
    word_lock(&lock_word);
    *t->place = t->next;
    if (t->next != NULL)
        t->next->place = t->place;
    t->next = unused;
    unused = t;
    own_thread = NULL;
    word_unlock(&lock_word);
}

/* Ticks in which the thread's level was off and the process was not. */
static uint64_t thread_paused(const struct thread_state *t, uint64_t now)
{
    if (t == NULL || is_on(&t->level) || now <= t->since)
        return t == NULL ? 0 : t->ticks;
    uint64_t passed = now - t->since, paused = process_paused(now) - t->since_paused;
    return t->ticks + (passed > paused ? passed - paused : 0);
}

/* The level of a thread was changed from what it was, by the thread itself or by others. */
static void take_effect_in(struct thread_state *t, const struct level_state *was, uint64_t ticks, bool itself)
{
    struct thread_state before = *t;
    before.level = *was;
    if (is_on(was) && !is_on(&t->level)) {
        t->since = ticks > t->since ? ticks : t->since;
        t->since_paused = process_paused(t->since);
        t->settled = itself;
        control_was_off = true;
    } else if (!is_on(was) && is_on(&t->level)) {
        t->ticks = thread_paused(&before, ticks);
        t->since = ticks > t->since ? ticks : t->since;
    }
}

static void change_thread(uint32_t os_id, uint32_t op, uint64_t ticks)
{
    struct thread_state *t = known;
    while (t != NULL && t->os_id != os_id)
        t = t->next;
    if (t == NULL)
        return; /* it has ended meanwhile */
    struct level_state was = t->level;
    change(&t->level, op);
    take_effect_in(t, &was, ticks, false);
}

/* ── the collector's changes ────────────────────────────────────────────────────────────────────────────────── */

/* What the clock of time was at a moment that is past. Without time it does not matter. */
static uint64_t ticks_at(uint64_t ns)
{
    uint64_t rate = arena.header->ticks_per_sec, ticks, now;
    if (rate == 0)
        return 0;
    os_pair(&ticks, &now);
    uint64_t ago = now > ns ? now - ns : 0;
    ago = ago / SECOND * rate + ago % SECOND * rate / SECOND;
    return ticks > ago ? ticks - ago : 0;
}

static void apply(const struct wire_control_change *c)
{
    uint32_t pid = arena.header->pid;
    if (c->origin == pid)
        return; /* it was the first to know */
    if (c->level == WIRE_LEVEL_GLOBAL)
        change(&global, c->op);
    else if (c->level == WIRE_LEVEL_PROCESS && c->pid == pid)
        change(&process, c->op);
    else if (c->level == WIRE_LEVEL_THREAD && c->pid == pid)
        change_thread(c->thread, c->op, ticks_at(c->time_ns));
    else
        return;
    take_effect(ticks_at(c->time_ns));
}

/* With the lock held. */
static void apply_changes(void)
{
    const struct wire_control_change *ring = (const void *)((const uint8_t *)file + WIRE_HEADER_SIZE);
    uint64_t n = __atomic_load_n(control_shared, __ATOMIC_ACQUIRE);
    while (applied < n) {
        struct wire_control_change c = ring[applied % WIRE_CONTROL_RING];
        uint64_t after = __atomic_load_n(control_shared, __ATOMIC_ACQUIRE);
        if (after < applied + WIRE_CONTROL_RING) {
            apply(&c);
            applied++;
            continue;
        }
        /* It may have been overwritten meanwhile. What the global level is now, is reported. */
        applied = n = after;
        loss(WIRE_LOSS_CONTROL, 0, 0);
        global.stopped = file->stopped != 0;
        global.suspended = (int32_t)file->suspended;
        take_effect(ticks_at(monotonic_ns()));
    }
}

void control_init(const char *directory)
{
    char path[MAX_PATH];
    if (snprintf(path, sizeof path, "%s/%s", directory, WIRE_CONTROL_FILE) >= (int)sizeof path)
        return;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    struct stat st;
    if (fd < 0)
        return; /* whoever reads does not control */
    void *p = file_status(fd, &st) == 0 && st.st_size == (off_t)FILE_BYTES ? mmap(NULL, FILE_BYTES, PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;
    close(fd);
    if (p == MAP_FAILED)
        return;
    file = p;
    if (file->magic != WIRE_CONTROL_MAGIC) {
        control_close();
        return;
    }
    applied = __atomic_load_n(&file->changes, __ATOMIC_ACQUIRE);
    global.stopped = file->stopped != 0;
    global.suspended = (int32_t)file->suspended;
    take_effect(0);
    control_shared = &file->changes;
}

const struct wire_control_header *control_file(void)
{
    return file;
}

void control_begin(uint64_t ticks)
{
    off_since = ticks;
}

void control_close(void)
{
    control_shared = &no_changes;
    if (file != NULL)
        munmap((void *)(uintptr_t)file, FILE_BYTES);
    file = NULL;
}

/* ── what an event asks ─────────────────────────────────────────────────────────────────────────────────────── */

struct control_state control_look(uint64_t now)
{
    word_lock(&lock_word);
    if (file != NULL)
        apply_changes();
    const struct thread_state *t = own_thread;
    bool thread_off = t != NULL && !is_on(&t->level);
    struct control_state s = {.changes = applied + control_own, .paused = process_paused(now) + thread_paused(t, now),
                              .thread_off = lifecycle_hooks.is_off() || (thread_off && t->settled)};
    s.off = off || thread_off || s.thread_off;
    word_unlock(&lock_word);
    return s;
}

bool control_is_off(uint64_t *number)
{
    word_lock(&lock_word);
    if (file != NULL)
        apply_changes();
    bool is_off = off;
    *number = n_pauses;
    word_unlock(&lock_word);
    return is_off;
}

bool control_ask(uint64_t *known)
{
    if (lifecycle_hooks.is_off())
        return false; /* without the lock: threads can be there all the time */
    struct control_state s = control_look(0);
    if (!s.off && known != NULL)
        *known = s.changes;
    return !s.off;
}

void control_look_again(void)
{
    word_lock(&lock_word);
    __atomic_store_n(&control_own, control_own + 1, __ATOMIC_RELEASE);
    word_unlock(&lock_word);
}

/* ── the program's own changes ──────────────────────────────────────────────────────────────────────────────── */

bool control_log(uint32_t kind, const void *payload, uint32_t bytes, bool needed)
{
    static uint64_t logged;
    arena_lock();
    bool done = (needed || logged + bytes <= arena.header->memory_limit / LOG_PART) && arena_log(kind, payload, bytes);
    logged += done ? bytes : 0;
    arena_unlock();
    if (!done)
        loss(WIRE_LOSS_MARKS, 0, 0);
    return done;
}

/* Who was off can always get on again. */
static bool log_change(uint32_t level, uint32_t op, uint32_t thread, uint32_t first, bool was_on)
{
    struct {
        uint64_t time_ns;
        uint32_t level, op, thread, first;
    } record = {monotonic_ns(), level, op, thread, first};
    return control_log(WIRE_RECORD_CONTROL, &record, sizeof record, !was_on);
}

static uint64_t ticks_now(void)
{
    return arena.header->ticks_per_sec != 0 ? os_clock() : 0;
}

/* With the lock held. What cannot be reported is not done: the next change tries again. */
static void follow_functions(void)
{
    bool now_off = (in_functions.only_inside && in_functions.inside == 0) || in_functions.outside != 0;
    if (now_off == in_functions.off || !log_change(WIRE_LEVEL_FUNCTIONS, now_off ? WIRE_CONTROL_SUSPEND : WIRE_CONTROL_RESUME, 0, 0, now_off))
        return;
    in_functions.off = now_off;
    take_effect(ticks_now());
    __atomic_store_n(&control_own, control_own + 1, __ATOMIC_RELEASE);
}

void control_in_functions(bool outside, uint32_t more)
{
    word_lock(&lock_word);
    if (file != NULL)
        apply_changes();
    *(outside ? &in_functions.outside : &in_functions.inside) += more;
    follow_functions();
    word_unlock(&lock_word);
}

void control_only_inside(bool only)
{
    word_lock(&lock_word);
    if (file != NULL)
        apply_changes();
    in_functions.only_inside = only;
    follow_functions();
    word_unlock(&lock_word);
}

static bool change_level(uint32_t level, uint32_t op, uint32_t thread, uint32_t first)
{
    struct level_state *levels[] = {&global, &process, own_thread == NULL ? NULL : &own_thread->level}, *l = levels[level - WIRE_LEVEL_GLOBAL], before;
    if (l == NULL)
        return false;
    word_lock(&lock_word);
    if (file != NULL)
        apply_changes();
    before = *l;
    bool done = change(l, op), same = done && l->stopped == before.stopped && l->suspended == before.suspended;
    if (done && !same) {
        done = log_change(level, op, thread, first, is_on(&before));
        if (!done)
            *l = before; /* what cannot be reported is not done */
    }
    if (done && !same) {
        uint64_t ticks = ticks_now();
        if (level == WIRE_LEVEL_THREAD)
            take_effect_in(own_thread, &before, ticks, true);
        else
            take_effect(ticks);
        __atomic_store_n(&control_own, control_own + 1, __ATOMIC_RELEASE);
    }
    word_unlock(&lock_word);
    return done;
}

bool control_change(uint32_t level, uint32_t op, uint32_t thread)
{
    return change_level(level, op, thread, 0);
}

bool control_stop_after(uint32_t collections)
{
    return change_level(WIRE_LEVEL_PROCESS, WIRE_CONTROL_STOP, 0, collections);
}

uint64_t control_changes_begin(void)
{
    if ((arena.header->data & WIRE_DATA_TIME) == 0)
        return 0;
    lifecycle_hooks.settle();
    return control_ask(NULL) ? time_own_begins() : 0; /* what is not recorded is no part of anything */
}

void control_changes_end(uint64_t since)
{
    if (since != 0)
        time_leave_out(since);
}
