/* See time_model.h. */
#define _GNU_SOURCE
#include "time_model.h"

#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

struct wire_overhead model_overhead;

void thread_model_begin(struct thread_model *t)
{
    *t = (struct thread_model){.os_id = (uint32_t)syscall(SYS_gettid), .last = fake_now()};
}

void model_pass(int64_t ns)
{
    fake_pass(ns);
}

void model_wait(struct thread_model *t, int64_t ns, const struct wire_waits *w)
{
    fake_wait(ns, (uint32_t)w->voluntary, (uint32_t)w->preempted, (uint32_t)w->faults, (uint32_t)w->reads);
    t->acted.intervals = 1;
    t->acted.voluntary += w->voluntary;
    t->acted.preempted += w->preempted;
    t->acted.faults += w->faults;
    t->acted.reads += w->reads;
    if (w->preempted == 0)
        t->acted.blocked += (uint64_t)ns;
    else if (w->voluntary == 0)
        t->acted.ready += (uint64_t)ns;
    else
        t->acted.blocked += (uint64_t)ns; /* or ready: only the sum is compared */
}

/* The clock stands still in pauses. */
static uint64_t recorded_now(const struct thread_model *t)
{
    return (t->paused_since != 0 ? t->paused_since : fake_now()) - t->paused;
}

/* The interval that ends now; x is NULL if it is nobody's. */
static void end_interval(struct thread_model *t, struct amount *x)
{
    uint64_t now = recorded_now(t), ticks = now - t->last;
    if ((int64_t)ticks < 0) {
        t->backwards++;
        ticks = 0;
    }
    if (x != NULL) {
        x->elapsed += ticks;
        t->elapsed += ticks;
        if (t->acted.intervals != 0) {
            x->waited += ticks;
            t->waited += ticks;
            t->off += t->acted.blocked + t->acted.ready;
        }
        x->waits.intervals += t->acted.intervals;
        x->waits.voluntary += t->acted.voluntary;
        x->waits.preempted += t->acted.preempted;
        x->waits.faults += t->acted.faults;
        x->waits.reads += t->acted.reads;
        x->waits.blocked += t->acted.blocked;
        x->waits.ready += t->acted.ready;
    }
    t->acted = (struct wire_waits){0};
    t->last = now;
}

static struct seen *place(struct seen *parent, const struct method *m, uint64_t return_address)
{
    for (struct seen *s = parent->child; s != NULL; s = s->sibling)
        if (s->method == m && s->return_address == return_address)
            return s;
    struct seen *s = calloc(1, sizeof *s);
    s->parent = parent;
    s->sibling = parent->child;
    s->method = m;
    s->return_address = return_address;
    memset(s->min, 0xFF, sizeof s->min);
    parent->child = s;
    return s;
}

void model_pause(struct thread_model *t, bool settles)
{
    if (settles)
        end_interval(t, t->top == NULL ? NULL : &t->top->seen->tail);
    t->paused_since = fake_now();
}

void model_resume(struct thread_model *t)
{
    t->paused += fake_now() - t->paused_since;
    t->paused_since = 0;
}

void model_entered(struct thread_model *t)
{
    struct live *below = t->top;
    if (below != NULL && below->returned && t->depth <= below->unrecorded)
        below->unrecorded = below->returned = 0;
}

void model_begin(struct thread_model *t, struct live *l, const struct method *m, uint64_t return_address)
{
    struct live *below = t->top;
    *l = (struct live){.below = below, .depth = t->depth, .boundary = m->class == BOUNDARY};
    if (m->class != NOT_HOOKED)
        model_entered(t);
    bool only_mine = below == NULL || below->boundary || below->unrecorded != 0;
    if (m->class == NOT_HOOKED || (m->class == BOUNDARY && only_mine))
        return;
    if (t->paused_since != 0) {
        l->is_outermost = below != NULL && below->unrecorded == 0;
        if (l->is_outermost)
            below->unrecorded = l->depth;
        return;
    }
    l->seen = place(below == NULL ? &t->root : below->seen, m, only_mine ? 0 : return_address);
    end_interval(t, below == NULL ? NULL : &l->seen->lead);
    l->seen->calls++;
    l->seen->began += t->last + t->paused;
    l->begin = t->elapsed;
    l->begin_waited = t->waited;
    l->begin_off = t->off;
    t->top = l;
}

static void note(struct seen *s, int i, uint64_t elapsed, uint64_t overhead, uint64_t waited)
{
    uint64_t v = elapsed > overhead ? elapsed - overhead : 0;
    v = v > waited ? v - waited : 0;
    s->min[i] = v < s->min[i] ? v : s->min[i];
    s->max[i] = v > s->max[i] ? v : s->max[i];
}

/* All its intervals have been counted. */
static void close_call(struct thread_model *t, struct live *l)
{
    const struct wire_overhead *o = &model_overhead;
    uint64_t elapsed = t->elapsed - l->begin, waited = t->waited - l->begin_waited, off = t->off - l->begin_off;
    uint64_t inclusive = (o->inside + (o->inside + o->outside) * l->calls_below) / 1024;
    uint64_t exclusive = (o->inside + o->outside * l->children) / 1024;
    l->seen->ended++;
    note(l->seen, 0, elapsed, inclusive, 0);
    note(l->seen, 1, elapsed - l->child_elapsed, exclusive, 0);
    note(l->seen, 2, elapsed, inclusive, waited);
    note(l->seen, 3, elapsed - l->child_elapsed, exclusive, waited - l->child_waited);
    note(l->seen, 4, elapsed, inclusive, off);
    note(l->seen, 5, elapsed - l->child_elapsed, exclusive, off - l->child_off);
    if (l->below != NULL) {
        l->below->child_elapsed += elapsed;
        l->below->child_waited += waited;
        l->below->child_off += off;
        l->below->children++;
        l->below->calls_below += 1 + l->calls_below;
    }
    t->top = l->below;
}

/* The frame of a call of this depth has a block that runs: calls inside of it are gone. */
void model_inside(struct thread_model *t, uint32_t depth)
{
    if (t->top != NULL && t->top->unrecorded > depth)
        t->top->unrecorded = t->top->returned = 0;
}

void model_end(struct thread_model *t, struct live *l)
{
    if (l->is_outermost) {
        l->below->returned = l->boundary;
        l->below->unrecorded = l->boundary ? l->depth : 0;
    }
    if (l->seen == NULL)
        return;
    end_interval(t, &l->seen->tail);
    close_call(t, l);
}

void model_gone(struct thread_model *t, struct live *l)
{
    if (l->seen == NULL)
        return;
    l->seen->unmatched++;
    close_call(t, l);
}

static void join_amount(struct amount *to, const struct amount *from)
{
    to->elapsed += from->elapsed;
    to->waited += from->waited;
    to->waits.intervals += from->waits.intervals;
    to->waits.voluntary += from->waits.voluntary;
    to->waits.preempted += from->waits.preempted;
    to->waits.faults += from->waits.faults;
    to->waits.reads += from->waits.reads;
}

void thread_model_join(struct seen *to, const struct seen *from)
{
    for (const struct seen *f = from->child; f != NULL; f = f->sibling) {
        struct seen *s = place(to, f->method, f->return_address);
        s->calls += f->calls;
        s->began += f->began;
        s->ended += f->ended;
        s->unmatched += f->unmatched;
        join_amount(&s->lead, &f->lead);
        join_amount(&s->tail, &f->tail);
        for (size_t i = 0; i < sizeof s->min / sizeof *s->min; i++) {
            s->min[i] = f->min[i] < s->min[i] ? f->min[i] : s->min[i];
            s->max[i] = f->max[i] > s->max[i] ? f->max[i] : s->max[i];
        }
        thread_model_join(s, f);
    }
}

/* ── the arena ──────────────────────────────────────────────────────────────────────────────────────────────── */

static const void *table(const struct wire_header *h, uint32_t region)
{
    return (const uint8_t *)h + h->regions[region].offset;
}

struct wire_timing *model_timings(const struct wire_header *h, uint32_t *n)
{
    *n = (uint32_t)(h->regions[WIRE_REGION_TIMINGS].used / sizeof(struct wire_timing));
    return (struct wire_timing *)(uintptr_t)table(h, WIRE_REGION_TIMINGS);
}

const struct wire_clock *model_clock(const struct wire_header *h, uint32_t os_id)
{
    const struct wire_clock *clocks = table(h, WIRE_REGION_CLOCKS);
    for (uint64_t i = h->regions[WIRE_REGION_CLOCKS].used / sizeof *clocks; i > 0; i--)
        if (model_thread((uint32_t)i) == os_id)
            return &clocks[i - 1];
    return NULL;
}

static int differ(const struct seen *s, const char *what, uint64_t model, uint64_t arena, int so_far)
{
    if (so_far < 5)
        fprintf(stderr, "%s from %llx below %s: %s: model %llu, arena %llu\n", s->method->name, (unsigned long long)s->return_address,
                s->parent->method == NULL ? "the root" : s->parent->method->name, what, (unsigned long long)model, (unsigned long long)arena);
    return so_far + 1;
}

static int compare_waits(const struct seen *s, const struct wire_header *h, const struct wire_waits *m, uint32_t number, int n)
{
    static const struct wire_waits none;
    const struct wire_waits *rows = table(h, WIRE_REGION_WAITS), *a = number == 0 ? &none : &rows[number - 1];
    if ((uint64_t)number * sizeof *a > h->regions[WIRE_REGION_WAITS].used)
        fake_die("arena: waits %u", number);
    if (m->intervals != a->intervals)
        n = differ(s, "intervals with waits", m->intervals, a->intervals, n);
    if (m->voluntary != a->voluntary || m->preempted != a->preempted)
        n = differ(s, "switches", m->voluntary + m->preempted, a->voluntary + a->preempted, n);
    if (m->faults != a->faults || m->reads != a->reads)
        n = differ(s, "faults and reads", m->faults + m->reads, a->faults + a->reads, n);
    if (m->blocked + m->ready != a->blocked + a->ready)
        n = differ(s, "without a processor", m->blocked + m->ready, a->blocked + a->ready, n);
    return n;
}

static int compare_row(const struct seen *s, const struct wire_header *h, const struct wire_timing *x, int n)
{
    static const char *const names[] = {"calls", "began", "ended", "unmatched", "lead", "lead waited", "tail", "tail waited"};
    const uint64_t model[] = {s->calls, s->began, s->ended, s->unmatched, s->lead.elapsed, s->lead.waited, s->tail.elapsed, s->tail.waited};
    const uint64_t arena[] = {x->calls, x->began, x->ended, x->unmatched, x->lead_elapsed, x->lead_waited, x->tail_elapsed, x->tail_waited};
    for (size_t i = 0; i < sizeof model / sizeof *model; i++)
        if (model[i] != arena[i])
            n = differ(s, names[i], model[i], arena[i], n);
    static const char *const values[] = {"elapsed inclusive", "elapsed exclusive", "application inclusive", "application exclusive", "CPU inclusive",
                                         "CPU exclusive"};
    const struct wire_acted *acted = x->acted == 0 ? NULL : (const struct wire_acted *)table(h, WIRE_REGION_ACTED) + x->acted - 1;
    for (int i = 0; i < 6; i++) {
        uint64_t least = x->min[i % 2], most = x->max[i % 2]; /* of calls in which the system did not act */
        if (acted != NULL && acted->min[i] < least)
            least = acted->min[i];
        if (acted != NULL && acted->max[i] > most)
            most = acted->max[i];
        if (s->min[i] != least)
            n = differ(s, values[i], s->min[i], least, n);
        if (s->max[i] != most)
            n = differ(s, values[i], s->max[i], most, n);
    }
    n = compare_waits(s, h, &s->lead.waits, x->lead_waits, n);
    return compare_waits(s, h, &s->tail.waits, x->tail_waits, n);
}

struct comparison {
    const struct wire_header *header;
    const struct wire_timing *timings;
    uint32_t n_timings, thread; /* the arena's id */
    const struct method **of;   /* by function */
    uint32_t *first, *next;     /* children of each timing; 0: of the root */
    uint32_t found;
};

static int compare_below(struct comparison *c, const struct seen *parent, uint32_t number, int n)
{
    uint32_t children = 0;
    for (const struct seen *s = parent->child; s != NULL; s = s->sibling) {
        uint32_t k = c->first[number], same = 0;
        for (; k != 0; k = c->next[k]) {
            const struct wire_timing *x = &c->timings[k - 1];
            if (x->thread == c->thread && c->of[x->function] == s->method && x->return_address == s->return_address)
                same = k;
        }
        children++;
        if (same == 0) {
            n = differ(s, "is not there", s->calls, 0, n);
            continue;
        }
        c->found++;
        n = compare_row(s, c->header, &c->timings[same - 1], n);
        n = compare_below(c, s, same, n);
    }
    uint32_t have = 0;
    for (uint32_t k = c->first[number]; k != 0; k = c->next[k])
        have += c->timings[k - 1].thread == c->thread;
    if (have != children && n++ < 5)
        fprintf(stderr, "%u timings below %s, not %u\n", have, parent->method == NULL ? "the root" : parent->method->name, children);
    return n;
}

int thread_model_compare(const struct thread_model *t, const struct wire_header *h, const struct method *methods, size_t n_methods)
{
    struct comparison c = {.header = h};
    c.timings = model_timings(h, &c.n_timings);
    c.of = calloc(1u << 17, sizeof *c.of);
    c.first = calloc(2 * (c.n_timings + 1), sizeof *c.first);
    c.next = c.first + c.n_timings + 1;
    for (uint32_t i = 1; i <= h->threads; i++)
        if (model_thread(i) == t->os_id)
            c.thread = i;
    for (uint32_t k = 1; k <= c.n_timings; k++) {
        const struct wire_timing *x = &c.timings[k - 1];
        uint32_t flags;
        if (x->parent >= k || x->thread == 0 || x->thread > h->threads)
            fake_die("arena: timing %u with parent %u, thread %u", k, x->parent, x->thread);
        const char *name = model_function(x->function, &flags);
        for (size_t i = 0; i < n_methods && name != NULL && c.of[x->function] == NULL; i++)
            if (strcmp(name, methods[i].name) == 0)
                c.of[x->function] = &methods[i];
        c.next[k] = c.first[x->parent];
        c.first[x->parent] = k;
    }
    int n = compare_below(&c, &t->root, 0, 0);
    free(c.of);
    free(c.first);
    return n;
}
