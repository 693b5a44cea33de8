/* Writes the body of a method with its probes. The same code lays out the instructions, when there is no place to write
 * to, and writes them: so both agree. */
#include "il/il.h"

#include <string.h>

#define HEADER 12u
#define FAT_FLAGS 0x3003u
#define MORE_SECTIONS 8u
#define INIT_LOCALS 0x10u
#define FAT_CLAUSES 0x41u
#define CLAUSE 24u
#define LEAVE_BYTES 2u
#define CATCH_BYTES 3u /* the handler of what the code at the end throws */
#define MAX_ROUNDS 16u /* of making branches long; then all of them are */

enum { NOP = 0x00, LDLOC_S = 0x11, STLOC_S = 0x13, LDNULL = 0x14, LDC_I8 = 0x21, POP = 0x26, CALLI = 0x29, BRTRUE = 0x3A, CONV_I = 0xD3, LEAVE = 0xDD, LEAVE_S = 0xDE, TAIL = 0xFE14, TO_LONG = 0x38 - 0x2B };

struct out {
    uint8_t *to; /* NULL: it is only counted */
    uint32_t n;
};

static void put(struct out *o, const void *bytes, uint32_t n)
{
    if (o->to != NULL && n != 0)
        memcpy(o->to + o->n, bytes, n);
    o->n += n;
}

static void put_u8(struct out *o, uint32_t value)
{
    uint8_t v = (uint8_t)value;
    put(o, &v, 1);
}

static void put_u32(struct out *o, uint32_t value)
{
    put(o, &value, 4);
}

static void put_native(struct out *o, uint64_t value)
{
    put_u8(o, LDC_I8);
    put(o, &value, 8);
    put_u8(o, CONV_I);
}

static void put_calli(struct out *o, uint32_t signature, uint64_t function, uint64_t argument)
{
    put_native(o, argument);
    put_native(o, function);
    put_u8(o, CALLI);
    put_u32(o, signature);
}

static void put_probe(struct out *o, const struct il_work *w, uint64_t function, uint64_t argument)
{
    if (function != 0)
        put_calli(o, w->probes.signature, function, argument);
}

static void put_local(struct out *o, const struct il_work *w, uint32_t op, uint32_t kept)
{
    static const uint16_t two_bytes[] = {[LDLOC_S] = 0x0CFE, [STLOC_S] = 0x0EFE};
    uint32_t number = w->first_kept + kept;
    if (number <= UINT8_MAX) {
        put_u8(o, op);
        put_u8(o, number);
    } else {
        put_u32(o, two_bytes[op] | number << 16);
    }
}

static void put_clears(struct out *o, const struct il_work *w, uint16_t mask)
{
    for (uint32_t k = 0; k < w->n_kept; k++)
        if ((mask >> k & 1) != 0) {
            put_u8(o, LDNULL);
            put_local(o, w, STLOC_S, k);
        }
}

static void put_kept(struct out *o, const struct il_work *w, uint32_t at)
{
    if (w->keeps[at] == 0)
        return;
    put_local(o, w, STLOC_S, w->keeps[at] - 1u);
    put_local(o, w, LDLOC_S, w->keeps[at] - 1u);
}

/* Both leaves go to what comes behind the handler. */
static void put_end(struct out *o, const struct il_work *w)
{
    put(o, w->probes.end, w->probes.end_bytes);
    if (w->probes.caught == 0)
        return;
    put_u8(o, LEAVE_S);
    put_u8(o, CATCH_BYTES);
    put_u8(o, POP);
    put_u8(o, LEAVE_S);
    put_u8(o, 0);
}

static void put_leave(struct out *o, const struct il_work *w)
{
    put_end(o, w);
    put_probe(o, w, w->probes.leave, w->probes.method);
    put_u8(o, NOP);
    put_u8(o, IL_RET);
}

static void put_branch(struct out *o, const struct il_work *w, const struct il_instruction *i)
{
    uint32_t target = w->at[il_target(w->code, i, 0)];
    bool is_short = il_is_short_branch(i->op);
    if (is_short && (w->marks[i->at] & IL_LONG) == 0) {
        put_u8(o, i->op);
        put_u8(o, target - (o->n + 1));
    } else {
        put_u8(o, !is_short ? i->op : i->op == LEAVE_S ? LEAVE : i->op + TO_LONG);
        put_u32(o, target - (o->n + 4));
    }
}

static void put_switch(struct out *o, const struct il_work *w, const struct il_instruction *i)
{
    uint32_t n = il_u32(w->code + i->operand), end = o->n + 5 + 4 * n;
    put_u8(o, IL_SWITCH);
    put_u32(o, n);
    for (uint32_t k = 0; k < n; k++)
        put_u32(o, w->at[il_target(w->code, i, k)] - end);
}

/* The return of a tail call must come directly after it. Who jumps there has not left yet. */
static void put_return(struct out *o, struct il_work *planned, const struct il_work *w, uint32_t at)
{
    if ((w->marks[at] & IL_AFTER_TAIL) != 0) {
        put_u8(o, IL_RET);
        if ((w->marks[at] & IL_TARGET) == 0)
            return;
        if (planned != NULL)
            planned->at[at] = o->n;
    }
    put_leave(o, w);
}

/* The call that begins at an offset with its prefixes, but for tail., and the return behind it. */
static void put_staying(struct out *o, const struct il_work *w, uint32_t at, bool is_site, uint64_t site)
{
    struct il_instruction i;
    if (is_site)
        put_probe(o, w, w->probes.site_enter, site);
    do {
        i = il_at(w, at);
        if (i.op != TAIL)
            put(o, w->code + at, i.next - at);
        at = i.next;
    } while ((w->marks[at] & IL_PREFIXED) != 0);
    if (is_site)
        put_probe(o, w, w->probes.site_leave, site);
    put_leave(o, w);
}

/* What comes before a call with tail. The branch goes to the call as it was. */
static void put_tail(struct out *o, const struct il_work *w, uint32_t at, uint64_t site)
{
    bool is_site = (w->marks[at] & IL_SITE) != 0;
    struct out staying = {NULL, 0};
    put_calli(o, w->probes.tail_signature, w->probes.tail, w->probes.method);
    put_staying(&staying, w, at, is_site, site);
    put_u8(o, BRTRUE);
    put_u32(o, staying.n);
    put_staying(o, w, at, is_site, site);
    if (is_site)
        put_probe(o, w, w->probes.site_jump, site);
}

/* planned: the same as w, if the offsets are to be kept. */
static void put_code(struct out *o, struct il_work *planned, const struct il_work *w)
{
    struct il_instruction i;
    uint32_t n_sites = 0;
    put_probe(o, w, w->probes.enter, w->probes.method);
    put(o, w->probes.begin, w->probes.begin_bytes);
    for (uint32_t at = 0; at < w->code_bytes; at = i.next) {
        uint8_t marks = w->marks[at];
        i = il_at(w, at);
        if (planned != NULL)
            planned->at[at] = o->n;
        put_clears(o, w, w->clears[at]);
        if ((marks & IL_TAILS) != 0) {
            put_tail(o, w, at, (marks & IL_SITE) != 0 ? w->sites[n_sites] : 0);
            n_sites += (marks & IL_SITE) != 0;
        } else if ((marks & IL_SITE) != 0)
            put_probe(o, w, w->probes.site_enter, w->sites[n_sites]);
        if (il_is_short_branch(i.op) || il_is_long_branch(i.op))
            put_branch(o, w, &i);
        else if (i.op == IL_SWITCH)
            put_switch(o, w, &i);
        else if (i.op == IL_RET)
            put_return(o, planned, w, at);
        else
            put(o, w->code + at, i.next - at);
        put_kept(o, w, at);
        if ((marks & IL_SITE_END) != 0)
            put_probe(o, w, w->probes.site_leave, w->sites[n_sites++]);
    }
    if (planned != NULL)
        planned->at[w->code_bytes] = o->n;
}

/* Makes short branches long whose targets are too far away in the last layout, or all of them. */
static bool lengthen(struct il_work *w, bool all)
{
    bool any = false;
    struct il_instruction i;
    for (uint32_t at = 0; at < w->code_bytes; at = i.next) {
        i = il_at(w, at);
        if (!il_is_short_branch(i.op) || (w->marks[at] & IL_LONG) != 0)
            continue;
        struct out before = {NULL, 0};
        put_clears(&before, w, w->clears[at]);
        int64_t distance = (int64_t)w->at[il_target(w->code, &i, 0)] - ((int64_t)w->at[at] + before.n + 2);
        if (all || distance < INT8_MIN || distance > INT8_MAX) {
            w->marks[at] |= IL_LONG;
            any = true;
        }
    }
    return any;
}

static uint32_t aligned(uint32_t n)
{
    return (n + 3) & ~3u;
}

/* How many clauses the code at the end needs: one at each return. Where calls are there twice, returns are, too: that is refused. */
static enum il_result count_caught(struct il_work *w)
{
    w->n_caught = 0;
    for (uint32_t at = 0; w->probes.caught != 0 && at < w->code_bytes; at = il_at(w, at).next) {
        if ((w->marks[at] & IL_TAILS) != 0)
            return IL_TAIL;
        w->n_caught += il_at(w, at).op == IL_RET;
    }
    return IL_DONE;
}

enum il_result il_plan(struct il_work *w, const uint8_t *body, uint32_t size, const struct il_probes *probes, uint32_t *new_size)
{
    w->probes = *probes;
    enum il_result result = il_scan(w, body, size);
    if (result == IL_DONE)
        result = count_caught(w);
    if (result != IL_DONE)
        return result;
    il_keep(w);
    memset(w->at, 0, (w->code_bytes + 1) * sizeof *w->at);
    uint32_t round = 0;
    do {
        struct out o = {NULL, 0};
        put_code(&o, w, w);
        w->new_code_bytes = o.n;
    } while (lengthen(w, ++round == MAX_ROUNDS));
    *new_size = HEADER + w->new_code_bytes;
    if (w->n_clauses + w->n_caught != 0)
        *new_size = aligned(*new_size) + 4 + CLAUSE * (w->n_clauses + w->n_caught);
    return IL_DONE;
}

static void put_clause(struct out *o, const struct il_clause *c)
{
    put_u32(o, c->kind);
    put_u32(o, c->try_at);
    put_u32(o, c->try_end - c->try_at);
    put_u32(o, c->handler_at);
    put_u32(o, c->handler_end - c->handler_at);
    put_u32(o, c->token);
}

/* No return is in a block of the method's own, so these clauses are in no other. */
static void put_caught(struct out *o, const struct il_work *w)
{
    for (uint32_t at = 0; w->n_caught != 0 && at < w->code_bytes; at = il_at(w, at).next) {
        if (il_at(w, at).op != IL_RET)
            continue;
        uint32_t end = w->at[at] + w->probes.end_bytes + LEAVE_BYTES;
        put_clause(o, &(struct il_clause){IL_CATCH, w->at[at], end, end, end + CATCH_BYTES, w->probes.caught});
    }
}

static void put_clauses(struct out *o, const struct il_work *w)
{
    struct il_section s = {.size = 0};
    enum il_result result = IL_DONE;
    while (o->n % 4 != 0)
        put_u8(o, 0);
    put_u32(o, FAT_CLAUSES | (4 + CLAUSE * (w->n_clauses + w->n_caught)) << 8);
    put_caught(o, w);
    while (il_next_section(w, &s, &result))
        for (uint32_t n = 0; n < s.n; n++) {
            struct il_clause c = il_read_clause(w, &s, n);
            put_clause(o, &(struct il_clause){c.kind, w->at[c.try_at], w->at[c.try_end], w->at[c.handler_at], w->at[c.handler_end],
                                              c.kind == IL_FILTER ? w->at[c.token] : c.token});
        }
}

void il_write(const struct il_work *w, uint8_t *body)
{
    struct out o = {body, 0}, code = {body + HEADER, 0};
    put_u32(&o, FAT_FLAGS | (w->n_clauses + w->n_caught != 0 ? MORE_SECTIONS : 0) | (w->init_locals ? INIT_LOCALS : 0) | (uint32_t)w->max_stack << 16);
    put_u32(&o, w->new_code_bytes);
    put_u32(&o, w->n_kept != 0 ? w->new_locals : w->locals);
    put_code(&code, NULL, w);
    o.n += code.n;
    if (w->n_clauses + w->n_caught != 0)
        put_clauses(&o, w);
}

static void add_run(struct il_run *runs, uint32_t room, uint32_t *n, uint32_t old_at, uint32_t new_at)
{
    if (*n < room)
        runs[*n] = (struct il_run){old_at, new_at};
    ++*n;
}

uint32_t il_runs(const struct il_work *w, struct il_run *runs, uint32_t room)
{
    uint32_t n = 0;
    bool apart = true; /* the instruction before is another length */
    struct il_instruction i;
    add_run(runs, room, &n, 0, 0);
    for (uint32_t at = 0; at < w->code_bytes; at = i.next) {
        i = il_at(w, at);
        bool changed = w->at[i.next] - w->at[at] != i.next - at;
        if (apart || changed)
            add_run(runs, room, &n, at, w->at[at]);
        apart = changed;
    }
    add_run(runs, room, &n, w->code_bytes, w->new_code_bytes);
    return n;
}

uint32_t il_starts(const struct il_work *w, struct il_run *starts, uint32_t room)
{
    uint32_t n = 0;
    struct il_instruction i;
    add_run(starts, room, &n, 0, 0);
    for (uint32_t at = 0; at < w->code_bytes; at = i.next) {
        i = il_at(w, at);
        add_run(starts, room, &n, at, w->at[at]);
    }
    return n;
}

uint32_t il_old_offset(const struct il_run *runs, uint32_t n, uint32_t new_offset)
{
    uint32_t low = 0, high = n; /* the run is in [low, high) */
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (runs[middle].new_at <= new_offset)
            low = middle;
        else
            high = middle;
    }
    if (n == 0 || low + 1 >= n)
        return n == 0 ? new_offset : runs[low].old_at;
    uint32_t old_bytes = runs[low + 1].old_at - runs[low].old_at, new_bytes = runs[low + 1].new_at - runs[low].new_at;
    return runs[low].old_at + (old_bytes == new_bytes ? new_offset - runs[low].new_at : 0);
}
