/* Small objects of a process that was started without the agent, by the runtime's own sampling.
 *
 * Problem: a process that runs already does not report its small objects. Its events of tracing do, for one in thousands, on the thread that
 * allocates, with type, size and address of the object. But they come in the middle of the allocation: the object is memory
 * without a type. If the thread let a collection begin now, the heap would be damaged. So the runtime cannot be asked who the code on the
 * stack is, as it is in allocations.c, because many of its answers let one begin.
 *
 * Idea: the thread copies its stack, as far as the chain of frame pointers leads, into a ring, and goes on. A thread of the agent's own
 * walks the copy later, like any stack: pointers into the stack are made pointers into the copy. Until then the object has no site. Its
 * shadow has the number of a struct waiting instead, in which collections note where the object has moved to, or that it has died.
 *
 * The runtime must not be asked about code and types that have been unloaded meanwhile, so a thread that unloads some waits until all
 * samples are counted (samples_flush). If that takes too long, the samples in the ring are lost.
 *
 * A sample stands for many objects (sample_event.c), and each counter grows by that number, so that every sum is an estimate of what it
 * would be if all objects were reported. Samples with another number or another size have sites of their own (struct wire_site_sample),
 * so that the counters of a site are multiples of one number.
 *
 * A sample is lost if the ring or the table of waiting objects is full, or if the data of the event are not as they should be. */
#define _GNU_SOURCE
#include "heap/allocation_samples.h"
#include "control/recording_state.h"
#include "core/arena.h"
#include "core/recording.h"
#include "heap/allocations.h"
#include "heap/eventpipe_gc.h"
#include "heap/gc.h"
#include "heap/sample_event.h"
#include "heap/shadow_heap.h"
#include "heap/site_growth.h"
#include "threads/threads.h"

#include <errno.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef RING_BYTES              /* tests set it */
#define RING_BYTES (16u << 20)  /* a power of two: a thousand stacks of a main thread, or what 100 MB of allocations leave; only what is used has memory */
#endif
#ifndef MOST_WAITING            /* tests set it */
#define MOST_WAITING 16384u     /* samples that are not counted yet, whose objects are followed */
#endif
#define MOST_STACK (256u << 10) /* bytes of one stack: 2,500 functions. Of one with more only the function that allocates is kept */
#define ABOVE_BYTES 256u        /* beyond the last frame: where the caller of a function without a frame pointer is found */
#define BATCH_NS 5000000        /* between two looks at the ring, so that not each sample wakes a thread */
#define LONGEST_WAIT_NS UINT64_C(2000000000) /* of those who unload code */
#define LONGEST_SLEEP_NS 500000000
#define FILLER UINT32_MAX       /* the rest of the ring, which is too short for what comes next */

struct sample { /* in the ring; the copy of the stack follows */
    uint32_t bytes, ready;
    uint32_t thread, waiting; /* id; index plus one in waiting, 0: it is not followed */
    uint32_t weight, size;
    uint32_t is_cut, stack_bytes;
    uintptr_t class_id, fp; /* address of the innermost pair, in the copy */
};

struct waiting {
    uintptr_t object;
    uint32_t weight, size;
    uint32_t died;                   /* generation plus one, 0: it is alive */
    uint32_t by_collections, by_time; /* of one that is dead: index plus one of its age, 0: it survived nothing */
    uint32_t next_free;              /* index plus one */
};

bool samples_on;
static uint8_t *ring;
static uint64_t head, tail, distrusted; /* bytes that were put in, and taken out, since the beginning; up to distrusted code may be gone */
static uint32_t ring_lock;              /* of head, rounding and the free places */
static struct sample_rounding rounding;
static struct waiting *waiting;
static uint32_t free_waiting, n_waiting; /* index plus one; how many were ever used */
static uint32_t site_lock;               /* held while a sample gets its site, and while a collection is looked at */
static bool held_by_gc;
static uint32_t news, hurry;             /* what the counting thread waits for, while it sleeps and between two looks */
static uint32_t sleeping, running, stopping;
static struct thread *walker;

/* ── objects without a site yet ─────────────────────────────────────────────────────────────────────────────── */

static struct waiting *waiting_of(uint32_t site)
{
    uint32_t i = (site & SHADOW_SITE) - SHADOW_SAMPLE;
    return (site & SHADOW_PENDING) == 0 || i >= MOST_WAITING ? NULL : &waiting[i];
}

uint32_t samples_objects_of(uint32_t site)
{
    const struct waiting *w = waiting_of(site);
    uint32_t number = site & SHADOW_SITE;
    if (w != NULL)
        return w->weight;
    if ((site & SHADOW_PENDING) != 0 || number == 0 || !shadow_has_site(number) || shadow_is_damaged(number))
        return 1;
    uint32_t weight = arena.site_samples[number - 1].weight;
    return weight == 0 ? 1 : weight;
}

void samples_moved(uint32_t site, uintptr_t to)
{
    struct waiting *w = waiting_of(site);
    if (w != NULL)
        w->object = to;
}

void samples_died(uint32_t site, uint32_t generation)
{
    struct waiting *w = waiting_of(site);
    if (w != NULL)
        w->died = generation + 1;
}

void samples_aged(uint32_t site, uint32_t by_collections, uint32_t by_time)
{
    struct waiting *w = waiting_of(site);
    if (w == NULL)
        return;
    w->by_collections = by_collections + 1;
    w->by_time = by_time + 1;
}

void samples_waiting(uint64_t *objects, uint64_t *bytes)
{
    *objects = *bytes = 0;
    for (uint32_t i = 0; samples_on && i < n_waiting; i++) {
        *objects += waiting[i].weight; /* a free place has none */
        *bytes += (uint64_t)waiting[i].weight * waiting[i].size;
    }
}

void samples_gc_begin(void)
{
    if (!samples_on || held_by_gc)
        return;
    word_lock(&site_lock);
    held_by_gc = true;
}

void samples_gc_end(void)
{
    if (!held_by_gc)
        return;
    held_by_gc = false;
    word_unlock(&site_lock);
}

/* With the ring's lock held. Index plus one; 0: there is none. */
static uint32_t take_place(const struct sample_event *e, uint32_t weight)
{
    uint32_t place = free_waiting != 0 ? free_waiting : n_waiting < MOST_WAITING ? ++n_waiting : 0;
    if (place == 0)
        return 0;
    struct waiting *w = &waiting[place - 1];
    free_waiting = w->next_free;
    *w = (struct waiting){.object = e->object, .weight = weight, .size = (uint32_t)e->bytes};
    return place;
}

static void give_place(uint32_t place)
{
    if (place == 0)
        return;
    word_lock(&ring_lock);
    waiting[place - 1] = (struct waiting){.next_free = free_waiting};
    free_waiting = place;
    word_unlock(&ring_lock);
}

/* ── on the thread that allocates ─────────────────────────────────────────────────────────────────────────────── */

/* How many bytes of the stack to copy: up to the last frame of the chain, and what may lie beside that. */
READS_STACK static uint32_t measure_stack(const struct thread *t, uintptr_t fp, bool *is_cut)
{
    uintptr_t at = fp;
    *is_cut = false;
    if (fp % 8 != 0 || fp < t->stack_low || fp >= t->stack_high || t->stack_high - fp < 16)
        return 0;
    while (!*is_cut) {
        uintptr_t next = *(const uintptr_t *)at;
        if (next <= at || next % 8 != 0 || next >= t->stack_high || t->stack_high - next < 16)
            break;
        *is_cut = next - fp > MOST_STACK;
        at = *is_cut ? fp + MOST_STACK - ABOVE_BYTES : next;
    }
    uintptr_t rest = t->stack_high - at;
    return (uint32_t)(at - fp + (rest < ABOVE_BYTES ? rest & ~(uintptr_t)7 : ABOVE_BYTES));
}

READS_STACK static void copy_stack(uintptr_t *to, uintptr_t from, uint32_t bytes)
{
    uintptr_t distance = (uintptr_t)to - from;
    for (uint32_t i = 0; i < bytes / sizeof *to; i++) {
        uintptr_t word = ((const uintptr_t *)from)[i];
        to[i] = word - from < bytes ? word + distance : word;
    }
}

/* Room for a sample with its stack, and a place for its object; NULL: there is none. */
static struct sample *reserve(const struct sample_event *e, uint32_t stack_bytes, uint32_t *weight)
{
    uint32_t bytes = ((uint32_t)sizeof(struct sample) + stack_bytes + 15) & ~15u;
    struct sample *s = NULL;
    word_lock(&ring_lock);
    *weight = sample_weight(e, &rounding);
    uint64_t at = head & (RING_BYTES - 1), rest = RING_BYTES - at, skip = rest < bytes ? rest : 0;
    uint32_t place = RING_BYTES - (head - __atomic_load_n(&tail, __ATOMIC_ACQUIRE)) < skip + bytes ? 0 : take_place(e, *weight);
    if (place != 0) {
        if (skip != 0)
            *(struct sample *)(void *)&ring[at] = (struct sample){.bytes = (uint32_t)skip, .ready = FILLER};
        s = (struct sample *)(void *)&ring[skip == 0 ? at : 0];
        *s = (struct sample){.bytes = bytes, .weight = *weight, .size = (uint32_t)e->bytes, .waiting = place, .stack_bytes = stack_bytes};
        __atomic_store_n(&head, head + skip + bytes, __ATOMIC_RELEASE);
    }
    word_unlock(&ring_lock);
    return s;
}

static void follow(const struct sample_event *e, uint32_t place)
{
    struct shadow *s = lifetime_on ? heap_place(e->object) : NULL;
    if (s != NULL)
        *s = (struct shadow){SHADOW_PENDING | (SHADOW_SAMPLE + place - 1), (uint32_t)(e->bytes >> 3), gc_number};
}

static void wake(void)
{
    __atomic_fetch_add(&news, 1, __ATOMIC_SEQ_CST);
    if (__atomic_exchange_n(&sleeping, 0, __ATOMIC_SEQ_CST) != 0)
        syscall(SYS_futex, &news, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static void put(const struct sample_event *e, const struct thread *t, uintptr_t fp)
{
    bool is_cut;
    uint32_t stack_bytes = measure_stack(t, fp, &is_cut), weight = 0;
    struct sample *s = reserve(e, stack_bytes, &weight);
    if (s == NULL) {
        loss(WIRE_LOSS_SAMPLES, weight, weight * e->bytes);
        return;
    }
    s->thread = t->id;
    s->class_id = e->class_id;
    s->is_cut = is_cut;
    s->fp = (uintptr_t)(s + 1);
    copy_stack((uintptr_t *)(s + 1), fp, stack_bytes);
    follow(e, s->waiting);
    __atomic_store_n(&s->ready, 1, __ATOMIC_RELEASE);
    wake();
}

/* What the runtime allocates on a thread of the agent's own is not the program's. */
static void leave_out(const struct sample_event *e)
{
    word_lock(&ring_lock);
    uint32_t weight = sample_weight(e, &rounding);
    word_unlock(&ring_lock);
    events_leave_out(weight, weight * e->bytes);
}

static void take_event(const struct sample_event *e, uintptr_t fp)
{
    struct thread *t = current_thread;
    if (e->heap == SAMPLE_LARGE && e->bytes >= LARGE_BYTES)
        return; /* it is reported, and counted as such */
    if (t == NULL && (t = thread_attach()) == NULL) {
        loss(WIRE_LOSS_NO_THREAD_STATE, 0, 0);
        return;
    }
    if (t->control != control_now() && !control_ask(&t->control))
        return;
    put(e, t, fp);
}

void samples_take(uint32_t id, const uint8_t *data, uint32_t bytes, uintptr_t fp)
{
    struct sample_event e;
    int saved_errno = errno;
    if (!samples_on || __atomic_load_n(&stopping, __ATOMIC_RELAXED) != 0 || recording_is_over() || !arena_is_ours())
        return;
    if (!sample_read(id, data, bytes, &e))
        loss(WIRE_LOSS_SAMPLES, 0, 0);
    else if (events_thread_is_own())
        leave_out(&e);
    else
        take_event(&e, fp);
    errno = saved_errno;
}

/* ── on the thread that counts ────────────────────────────────────────────────────────────────────────────────── */

/* What a collection has found out about an object that it saw before its site was known. */
static void count_fate(const struct waiting *w, struct wire_site *site, uint64_t bytes)
{
    uint32_t number = (uint32_t)(site - arena.sites) + 1;
    changes_note(number, WIRE_CHANGE_ALLOCATED);
    if (w->died == 0) {
        struct shadow *s = heap_find(w->object);
        if (s != NULL && waiting_of(s->site) == w)
            s->site = number;
        else
            loss(WIRE_LOSS_LIFETIME_FULL, w->weight, bytes);
        return;
    }
    struct wire_site_deaths *deaths = &arena.deaths[number - 1];
    struct wire_ages *ages = w->by_collections == 0 ? NULL : walk_ages_of(deaths);
    deaths->dead_objects[w->died - 1] += w->weight;
    __atomic_store_n(&deaths->dead_bytes[w->died - 1], deaths->dead_bytes[w->died - 1] + bytes, __ATOMIC_RELEASE);
    changes_note(number, w->died - 1);
    if (ages != NULL) {
        ages->by_collections[w->by_collections - 1] += w->weight;
        ages->by_time[w->by_time - 1] += w->weight;
    } else if (w->by_collections != 0) {
        loss(WIRE_LOSS_AGES, w->weight, bytes);
    }
}

static void forget_object(const struct waiting *w)
{
    struct shadow *s = w->died != 0 || !lifetime_on ? NULL : heap_find(w->object);
    if (s != NULL && waiting_of(s->site) == w)
        *s = (struct shadow){0, 0, 0};
}

static void count(const struct sample *s, struct wire_site *site)
{
    uint64_t bytes = (uint64_t)s->weight * s->size;
    word_lock(&site_lock);
    if (site == NULL || events_leave_out(s->weight, bytes)) { /* the last collection came meanwhile */
        forget_object(&waiting[s->waiting - 1]);
    } else {
        site->objects += s->weight;
        site->bytes += bytes;
        if (lifetime_on)
            count_fate(&waiting[s->waiting - 1], site, bytes);
    }
    give_place(s->waiting);
    word_unlock(&site_lock);
    if (site == NULL)
        loss(WIRE_LOSS_SAMPLES, s->weight, bytes);
}

static struct wire_site *find_site_of(const struct sample *s)
{
    walker->id = s->thread;
    walker->stack_low = s->fp;
    walker->stack_high = s->fp + s->stack_bytes;
    walker->sampled = (struct wire_site_sample){s->weight, s->size};
    return allocations_site_of_sample(walker, s->class_id, s->fp, s->is_cut != 0);
}

/* All was counted: what comes next is put where the ring begins, whose memory has been used already. */
static void begin_again(void)
{
    word_lock(&ring_lock);
    if (tail == head) {
        head = (head + RING_BYTES - 1) & ~(uint64_t)(RING_BYTES - 1);
        __atomic_store_n(&tail, head, __ATOMIC_RELEASE);
    }
    word_unlock(&ring_lock);
}

/* False: there is none that is complete. */
static bool count_next(void)
{
    if (tail == __atomic_load_n(&head, __ATOMIC_ACQUIRE)) {
        begin_again();
        return false;
    }
    const struct sample *s = (const struct sample *)(const void *)&ring[tail & (RING_BYTES - 1)];
    uint32_t ready = __atomic_load_n(&s->ready, __ATOMIC_ACQUIRE);
    if (ready == 0)
        return false;
    if (ready != FILLER)
        count(s, tail < __atomic_load_n(&distrusted, __ATOMIC_ACQUIRE) ? NULL : find_site_of(s));
    __atomic_store_n(&tail, tail + s->bytes, __ATOMIC_RELEASE);
    return true;
}

static void sleep_while(uint32_t *word, uint32_t seen, long ns)
{
    struct timespec longest = {0, ns};
    syscall(SYS_futex, word, FUTEX_WAIT, seen, &longest, NULL, 0);
}

static void *count_all(void *unused)
{
    while (__atomic_load_n(&stopping, __ATOMIC_ACQUIRE) == 0) {
        uint32_t seen = __atomic_load_n(&news, __ATOMIC_SEQ_CST), hurried = __atomic_load_n(&hurry, __ATOMIC_SEQ_CST);
        while (count_next())
            ;
        __atomic_store_n(&sleeping, 1, __ATOMIC_SEQ_CST);
        sleep_while(&news, seen, LONGEST_SLEEP_NS);
        __atomic_store_n(&sleeping, 0, __ATOMIC_SEQ_CST);
        sleep_while(&hurry, hurried, BATCH_NS);
    }
    while (count_next())
        ;
    __atomic_store_n(&running, 0, __ATOMIC_RELEASE);
    return unused;
}

/* ── begin and end ──────────────────────────────────────────────────────────────────────────────────────────── */

bool samples_begin(void)
{
    ring = private_alloc(RING_BYTES);
    waiting = private_alloc(MOST_WAITING * sizeof *waiting);
    walker = thread_walker();
    rounding.random = monotonic_ns() | 1;
    if (ring == NULL || waiting == NULL || walker == NULL)
        return false;
    samples_on = true;
    running = 1;
    if (thread_start(count_all))
        return true;
    running = 0;
    return samples_on = false;
}

/* The counting thread looks now. */
static void hurry_up(void)
{
    __atomic_fetch_add(&hurry, 1, __ATOMIC_SEQ_CST);
    syscall(SYS_futex, &hurry, FUTEX_WAKE, 1, NULL, NULL, 0);
    __atomic_fetch_add(&news, 1, __ATOMIC_SEQ_CST);
    syscall(SYS_futex, &news, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static void rest(void)
{
    static const struct timespec moment = {0, 200000};
    nanosleep(&moment, NULL);
}

void samples_flush(void)
{
    uint64_t all = __atomic_load_n(&head, __ATOMIC_ACQUIRE), until = monotonic_ns() + LONGEST_WAIT_NS;
    while (samples_on && __atomic_load_n(&running, __ATOMIC_ACQUIRE) != 0 && __atomic_load_n(&tail, __ATOMIC_ACQUIRE) < all) {
        if (monotonic_ns() > until) {
            __atomic_store_n(&distrusted, all, __ATOMIC_RELEASE);
            return;
        }
        hurry_up();
        rest();
    }
}

void samples_end(bool alone)
{
    uint64_t until = monotonic_ns() + LONGEST_WAIT_NS;
    if (alone)
        samples_gc_end(); /* of one whose end was not reported */
    __atomic_store_n(&stopping, 1, __ATOMIC_RELEASE);
    while (__atomic_load_n(&running, __ATOMIC_ACQUIRE) != 0 && (alone || monotonic_ns() < until)) {
        hurry_up();
        rest();
    }
}
