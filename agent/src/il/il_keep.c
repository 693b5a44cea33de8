/* References on the stack where a probe is called.
 *
 * Before it calls a probe the JIT stores all that is on the stack in variables of its own. In code of the lowest tier these live as
 * long as the frame, so what the program has dropped would stay alive. A reference that is on the stack at a probe is therefore
 * stored in a variable that is added to the method, and loaded again, where it comes from: then the JIT needs none. There is one
 * variable for each depth of the stack, of type object, and it becomes null when the stack is empty next.
 *
 * The added code does nothing else, so depths need not be right; only what is taken for a reference must be one.
 *
 * Nothing is added for what the JIT keeps in such variables without probes, too, so that the same objects are alive: new objects, values
 * that are on the stack twice, where a block begins, or where something is stored or made, and arguments of a call beside others, if
 * there are calls among them (CallArgs::ArgsComplete in src/coreclr/jit/morph.cpp). */
#include "il/il.h"

#include <string.h>

#define ROUNDS 3u /* which references are kept; which variables branches leave set; where they become null */

enum { DUP = 0x25, CALL = 0x28, CALLI = 0x29, BR_S = 0x2B, BR = 0x38, LDIND_REF = 0x50, CALLVIRT = 0x6F, NEWOBJ = 0x73, CASTCLASS = 0x74, ISINST = 0x75,
       THROW = 0x7A, LDFLD = 0x7B, LDSFLD = 0x7E, BOX = 0x8C, NEWARR = 0x8D, LDELEM_REF = 0x9A, ENDFINALLY = 0xDC, LEAVE = 0xDD, LEAVE_S = 0xDE,
       ENDFILTER = 0xFE11, RETHROW = 0xFE1A };

struct entry {
    uint32_t from;   /* the instruction that a reference comes from, and 1; 0: it is none, or need not be kept */
    bool at_probe;   /* it was there when one was called */
    bool calls;      /* the expression has a call, */
    bool has_effect; /* or what a call may change */
};

struct stack {
    struct entry entries[IL_MAX_KEPT];
    uint32_t depth;
    uint16_t set; /* variables that are not null */
    bool known;   /* depth; else nothing is kept up to the next block */
};

/* What instructions take from the stack and put there (ECMA-335 III, table 1), but calls, returns and dup. */
static void effect_of(uint32_t op, uint32_t *pops, uint32_t *pushes)
{
    static const struct {
        uint16_t first, last;
        uint8_t pops, pushes;
    } all[] = {{0x02, 0x09, 0, 1}, {0x0A, 0x0D, 1, 0}, {0x0E, 0x0F, 0, 1}, {0x10, 0x10, 1, 0}, {0x11, 0x12, 0, 1}, {0x13, 0x13, 1, 0}, {0x14, 0x23, 0, 1},
               {0x26, 0x26, 1, 0}, {0x2C, 0x2D, 1, 0}, {0x2E, 0x37, 2, 0}, {0x39, 0x3A, 1, 0}, {0x3B, 0x44, 2, 0}, {0x45, 0x45, 1, 0}, {0x46, 0x50, 1, 1},
               {0x51, 0x57, 2, 0}, {0x58, 0x64, 2, 1}, {0x65, 0x6E, 1, 1}, {0x70, 0x70, 2, 0}, {0x71, 0x71, 1, 1}, {0x72, 0x72, 0, 1}, {0x74, 0x79, 1, 1},
               {0x7A, 0x7A, 1, 0}, {0x7B, 0x7C, 1, 1}, {0x7D, 0x7D, 2, 0}, {0x7E, 0x7F, 0, 1}, {0x80, 0x80, 1, 0}, {0x81, 0x81, 2, 0}, {0x82, 0x8E, 1, 1},
               {0x8F, 0x9A, 2, 1}, {0x9B, 0xA2, 3, 0}, {0xA3, 0xA3, 2, 1}, {0xA4, 0xA4, 3, 0}, {0xA5, 0xC6, 1, 1}, {0xD0, 0xD0, 0, 1}, {0xD1, 0xD5, 1, 1},
               {0xD6, 0xDB, 2, 1}, {0xDF, 0xDF, 2, 0}, {0xE0, 0xE0, 1, 1}, {0xFE00, 0xFE00, 0, 1}, {0xFE01, 0xFE05, 2, 1}, {0xFE06, 0xFE06, 0, 1},
               {0xFE07, 0xFE07, 1, 1}, {0xFE09, 0xFE0A, 0, 1}, {0xFE0B, 0xFE0B, 1, 0}, {0xFE0C, 0xFE0D, 0, 1}, {0xFE0E, 0xFE0E, 1, 0}, {0xFE0F, 0xFE0F, 1, 1},
               {0xFE11, 0xFE11, 1, 0}, {0xFE15, 0xFE15, 1, 0}, {0xFE17, 0xFE18, 3, 0}, {0xFE1C, 0xFE1C, 0, 1}, {0xFE1D, 0xFE1D, 1, 1}};
    *pops = *pushes = 0;
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        if (op >= all[k].first && op <= all[k].last) {
            *pops = all[k].pops;
            *pushes = all[k].pushes;
        }
}

static bool is_described(uint32_t op)
{
    return op == CALL || op == CALLI || op == CALLVIRT || op == NEWOBJ || op == LDFLD || op == LDSFLD;
}

static bool gives_reference(uint32_t op)
{
    return op == LDIND_REF || op == CASTCLASS || op == ISINST || op == NEWARR || op == LDELEM_REF;
}

/* Reports whether an instruction loads something other than a variable of the method, or can throw. */
static bool has_effect(uint32_t op)
{
    return (op >= 0x46 && op <= 0x50) || (op >= LDFLD && op <= 0x7F) || (op >= 0x8E && op <= LDELEM_REF) || op == 0xA3 || op == 0x71 || op == 0x79 || op == 0xA5;
}

static bool ends_block(uint32_t op)
{
    return op == IL_RET || op == THROW || op == RETHROW || op == ENDFINALLY || op == ENDFILTER || op == LEAVE || op == LEAVE_S || op == BR || op == BR_S;
}

/* Stores of variables and pop: nothing that calls, throws or branches. */
bool il_takes_result(const struct il_work *w, uint32_t at)
{
    struct il_instruction i = il_at(w, at);
    return at < w->code_bytes && (w->marks[at] & (IL_STARTS | IL_PREFIXED | IL_TARGET | IL_SITE | IL_TAILS)) == IL_STARTS &&
           ((i.op >= 0x0A && i.op <= 0x0D) || i.op == 0x13 || i.op == 0x26 || i.op == 0xFE0E);
}

/* A probe is called now. */
static void note_probe(struct stack *s)
{
    for (uint32_t k = 0; s->known && k < s->depth && k < IL_MAX_KEPT; k++)
        s->entries[k].at_probe = true;
}

static void forget_entries(struct stack *s)
{
    memset(s->entries, 0, sizeof s->entries);
}

static void begin_block(const struct il_work *w, struct stack *s, uint32_t at, bool reached)
{
    if (w->entries[at] != 0) {
        s->depth = w->entries[at] - 1u;
        s->known = true;
    } else if (!reached) { /* nothing is on the stack behind a jump, unless a jump from before brought it (III.1.7.5) */
        s->depth = 0;
        s->known = true;
    }
    if (!reached)
        s->set = 0;
    s->set |= w->left_set[at];
    forget_entries(s);
}

static void note_target(struct il_work *w, const struct stack *s, uint32_t target)
{
    w->left_set[target] |= s->set;
    if (s->known && w->entries[target] == 0 && s->depth < UINT16_MAX)
        w->entries[target] = (uint16_t)(s->depth + 1);
}

static void push(struct stack *s, struct entry e)
{
    if (s->depth < IL_MAX_KEPT)
        s->entries[s->depth] = e;
    s->depth++;
}

/* The instruction takes so many values. Returns whether one of them has a call, and an effect. */
static struct entry take(struct il_work *w, struct stack *s, uint32_t n, bool are_arguments)
{
    struct entry all = {.from = 0};
    bool calls_later = false;
    for (uint32_t k = 0; k < n; k++) {
        struct entry *e = s->depth - 1 < IL_MAX_KEPT ? &s->entries[s->depth - 1] : NULL;
        s->depth--;
        if (e == NULL)
            continue;
        bool is_kept_anyway = are_arguments && n > 1 && (e->calls || (calls_later && e->has_effect));
        if (e->from != 0 && e->at_probe && !is_kept_anyway) {
            w->keeps[e->from - 1] = (uint8_t)(s->depth + 1);
            if (w->n_kept < s->depth + 1)
                w->n_kept = s->depth + 1;
        }
        calls_later = calls_later || e->calls;
        all.has_effect = all.has_effect || e->has_effect;
    }
    all.calls = calls_later;
    return all;
}

/* The JIT ends a statement, before which it keeps what lies on the stack and may change, or changes something. */
static void end_statement(struct stack *s)
{
    for (uint32_t k = 0; k < s->depth && k < IL_MAX_KEPT; k++)
        if (s->entries[k].has_effect)
            s->entries[k] = (struct entry){.from = 0};
}

/* What an instruction does to the stack. */
static void apply(struct il_work *w, struct stack *s, const struct il_instruction *i)
{
    struct il_effect e = {.reference = gives_reference(i->op)};
    effect_of(i->op, &e.pops, &e.pushes);
    if (i->op == DUP) { /* the JIT keeps it in a variable, so that both are the same */
        if (s->depth != 0 && s->depth <= IL_MAX_KEPT)
            s->entries[s->depth - 1] = (struct entry){.from = 0};
        push(s, (struct entry){.from = 0});
        return;
    }
    if (is_described(i->op) && !w->probes.effect(w->probes.context, i->op, il_u32(w->code + i->operand), &e))
        s->known = false;
    if (e.pops > s->depth)
        s->known = false;
    if (!s->known)
        return;
    bool is_call = il_is_call(i->op);
    struct entry given = take(w, s, e.pops, is_call);
    if (i->op == NEWOBJ || i->op == BOX) {
        given = (struct entry){.from = 0}; /* the JIT keeps it in a variable */
    } else {
        given.from = e.reference ? i->at + 1 : 0;
        given.calls = given.calls || is_call || i->op == NEWARR || i->op == CASTCLASS || i->op == ISINST;
        given.has_effect = given.has_effect || given.calls || e.reference || has_effect(i->op);
    }
    if ((e.pushes == 0 && (e.pops != 0 || is_call)) || i->op == NEWOBJ || i->op == BOX)
        end_statement(s);
    if (e.pushes != 0)
        push(s, given);
    uint8_t kept = w->keeps[i->at];
    if (kept != 0)
        s->set |= (uint16_t)(1u << (kept - 1));
}

static void leave_block(struct il_work *w, struct stack *s, const struct il_instruction *i)
{
    uint32_t n = il_is_short_branch(i->op) || il_is_long_branch(i->op) ? 1 : i->op == IL_SWITCH ? il_u32(w->code + i->operand) : 0;
    if (i->op == LEAVE || i->op == LEAVE_S) {
        s->depth = 0;
        s->known = true;
    }
    for (uint32_t k = 0; k < n; k++)
        note_target(w, s, il_target(w->code, i, k));
    if (n != 0)
        forget_entries(s);
}

static void walk(struct il_work *w)
{
    struct stack s = {.known = true};
    struct il_instruction i;
    bool reached = true;
    for (uint32_t at = 0; at < w->code_bytes; at = i.next) {
        uint8_t marks = w->marks[at];
        i = il_at(w, at);
        if (!reached || (marks & IL_TARGET) != 0 || w->entries[at] != 0)
            begin_block(w, &s, at, reached);
        w->clears[at] = 0;
        if (s.known && s.depth == 0 && (marks & IL_PREFIXED) == 0 && i.op != IL_RET) { /* with a return the frame goes */
            w->clears[at] = s.set;
            s.set = 0;
        }
        if ((marks & (IL_SITE | IL_TAILS)) != 0)
            note_probe(&s);
        apply(w, &s, &i);
        if ((marks & IL_SITE_END) != 0)
            note_probe(&s);
        leave_block(w, &s, &i);
        reached = !ends_block(i.op);
    }
}

/* The exception is on the stack where a handler or a filter begins, and what the try block has set may be. */
static void note_handlers(struct il_work *w)
{
    struct il_section section = {.size = 0};
    enum il_result result = IL_DONE;
    uint16_t all = (uint16_t)((1u << w->n_kept) - 1);
    while (il_next_section(w, &section, &result))
        for (uint32_t n = 0; n < section.n; n++) {
            struct il_clause c = il_read_clause(w, &section, n);
            w->entries[c.handler_at] = c.kind == IL_CATCH || c.kind == IL_FILTER ? 2 : 1;
            w->left_set[c.handler_at] |= all;
            if (c.kind == IL_FILTER) {
                w->entries[c.token] = 2;
                w->left_set[c.token] |= all;
            }
        }
}

void il_keep(struct il_work *w)
{
    w->n_kept = 0;
    memset(w->keeps, 0, w->code_bytes + 1);
    memset(w->clears, 0, (w->code_bytes + 1) * sizeof *w->clears);
    if (w->probes.effect == NULL || w->n_sites == 0)
        return;
    memset(w->entries, 0, (w->code_bytes + 1) * sizeof *w->entries);
    memset(w->left_set, 0, (w->code_bytes + 1) * sizeof *w->left_set);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        note_handlers(w);
        walk(w);
    }
    uint32_t token = w->n_kept == 0 ? 0 : w->probes.locals(w->probes.context, w->locals, w->n_kept, &w->first_kept);
    if (token != 0) {
        w->new_locals = token;
        return;
    }
    w->n_kept = 0;
    memset(w->keeps, 0, w->code_bytes + 1);
    memset(w->clears, 0, (w->code_bytes + 1) * sizeof *w->clears);
}
