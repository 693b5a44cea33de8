/* Reads the body of a method: its header, instructions and clauses. Offsets are checked before anything is read. */
#include "il/il.h"

#include <string.h>

#define FORMAT 3u
#define TINY 2u
#define FAT 3u
#define MORE_SECTIONS 8u
#define INIT_LOCALS 0x10u
#define FAT_HEADER 12u
#define TINY_STACK 8u
#define PROBE_STACK 2u /* argument and function */
#define ADDED_STACK 2u /* and what other code needs besides */

#define SECTION_KIND 0x3Fu
#define SECTION_CLAUSES 1u
#define SECTION_FAT 0x40u
#define SECTION_MORE 0x80u

enum { JMP = 0x27, CALL = 0x28, CALLI = 0x29, CALLVIRT = 0x6F, NEWOBJ = 0x73, ARGLIST = 0xFE00, UNALIGNED = 0xFE12, VOLATILE = 0xFE13,
       TAIL = 0xFE14, CONSTRAINED = 0xFE16, NO = 0xFE19, READONLY = 0xFE1E, LDTOKEN = 0xD0, LDFTN = 0xFE06, LDVIRTFTN = 0xFE07 };

/* Bytes of operands; s: a switch, '.': no instruction. */
static const char operands[] = "0000000000000011" "1111000000000001" "4848.00444011111" "1111111144444444" "44444s0000000000"
                               "0000000000000000" "0000000000000004" "4444440..4044444" "4400000000004404" "0000000000000000"
                               "000444.........." "...00000000....." "..40..4........." "4000000000000410" "0";
static const char operands_fe[] = "00000044.2222220" ".010044001" "0.400";

uint32_t il_u32(const uint8_t *bytes)
{
    uint32_t v;
    memcpy(&v, bytes, sizeof v);
    return v;
}

static uint32_t u16(const uint8_t *bytes)
{
    return bytes[0] | (uint32_t)bytes[1] << 8;
}

static bool read_instruction(const uint8_t *code, uint32_t bytes, uint32_t at, struct il_instruction *i)
{
    uint32_t op = code[at], length = 1;
    if (op == 0xFE) {
        if (bytes - at < 2)
            return false;
        op = 0xFE00 | code[at + 1];
        length = 2;
    }
    uint32_t low = op & 0xFF;
    char kind = length == 1 ? low < sizeof operands - 1 ? operands[low] : '.' : low < sizeof operands_fe - 1 ? operands_fe[low] : '.';
    if (kind == '.')
        return false;
    uint64_t operand = kind == 's' ? 4 : (uint64_t)(kind - '0');
    if (bytes - at < length + operand)
        return false;
    if (kind == 's')
        operand += 4 * (uint64_t)il_u32(code + at + 1);
    if (bytes - at < length + operand)
        return false;
    *i = (struct il_instruction){at, at + length, at + length + (uint32_t)operand, op};
    return true;
}

struct il_instruction il_at(const struct il_work *w, uint32_t at)
{
    struct il_instruction i = {.next = w->code_bytes};
    read_instruction(w->code, w->code_bytes, at, &i);
    return i;
}

bool il_is_short_branch(uint32_t op)
{
    return (op >= 0x2B && op <= 0x37) || op == 0xDE;
}

bool il_is_long_branch(uint32_t op)
{
    return (op >= 0x38 && op <= 0x44) || op == 0xDD;
}

uint32_t il_target(const uint8_t *code, const struct il_instruction *i, uint32_t entry)
{
    if (il_is_short_branch(i->op)) {
        int32_t distance = (int8_t)code[i->operand];
        return i->next + (uint32_t)distance;
    }
    return i->next + il_u32(code + i->operand + (i->op == IL_SWITCH ? 4 + 4 * entry : 0));
}

static bool is_prefix(uint32_t op)
{
    return op == UNALIGNED || op == VOLATILE || op == TAIL || op == CONSTRAINED || op == NO || op == READONLY;
}

bool il_is_call(uint32_t op)
{
    return op == CALL || op == CALLI || op == CALLVIRT || op == NEWOBJ;
}

static enum il_result read_header(struct il_work *w, const uint8_t *body, uint32_t size)
{
    w->body = body;
    w->size = size;
    w->sections_at = w->locals = w->new_locals = 0;
    w->init_locals = false;
    if (size > IL_MAX_BODY)
        return IL_TOO_LARGE;
    if (size < 1)
        return IL_MALFORMED;
    uint32_t header = 1, stack = TINY_STACK;
    bool more = false;
    w->code_bytes = body[0] >> 2;
    if ((body[0] & FORMAT) == FAT) {
        if (size < FAT_HEADER || body[1] >> 4 != FAT_HEADER / 4)
            return IL_MALFORMED;
        header = FAT_HEADER;
        stack = u16(body + 2);
        w->code_bytes = il_u32(body + 4);
        w->locals = il_u32(body + 8);
        w->init_locals = (body[0] & INIT_LOCALS) != 0;
        more = (body[0] & MORE_SECTIONS) != 0;
    } else if ((body[0] & FORMAT) != TINY) {
        return IL_UNKNOWN;
    }
    if (w->code_bytes == 0 || w->code_bytes > size - header)
        return IL_MALFORMED;
    stack += PROBE_STACK + (w->probes.begin_bytes + w->probes.end_bytes != 0 ? ADDED_STACK : 0);
    if (w->code_bytes > IL_MAX_CODE || stack > UINT16_MAX)
        return IL_TOO_LARGE;
    w->code = body + header;
    w->max_stack = (uint16_t)stack;
    if (more)
        w->sections_at = (header + w->code_bytes + 3) & ~3u;
    return IL_DONE;
}

/* Does the JIT look at a call together with the instruction before it? Typeof, initial values, a delegate that is made. */
static bool is_half(uint32_t before, uint32_t op)
{
    return before == LDTOKEN || ((before == LDFTN || before == LDVIRTFTN) && op == NEWOBJ);
}

/* An instruction with the prefixes before it, the first of which is at `first`; before: the one before these. */
static enum il_result mark_call(struct il_work *w, const struct il_instruction *i, uint32_t first, bool tail, bool constrained, uint32_t before)
{
    if (tail) {
        if (!il_is_call(i->op) || i->op == NEWOBJ || i->next >= w->code_bytes || w->code[i->next] != IL_RET)
            return IL_TAIL;
        w->marks[first] |= IL_TAILS;
        w->marks[i->next] |= IL_AFTER_TAIL;
    }
    if (il_is_call(i->op) && w->probes.site != NULL && !is_half(before, i->op)) {
        uint8_t op = constrained ? IL_CONSTRAINED : (uint8_t)i->op;
        uint64_t argument = w->probes.site(w->probes.context, i->at, op, il_u32(w->code + i->operand));
        if (argument == 0)
            return IL_DONE;
        w->marks[first] |= IL_SITE;
        w->marks[i->at] |= tail ? 0 : IL_SITE_END;
        w->sites[w->n_sites++] = argument;
    }
    return IL_DONE;
}

static enum il_result scan_instructions(struct il_work *w)
{
    uint32_t first = UINT32_MAX; /* the first of some prefixes */
    uint32_t before = 0;
    bool tail = false, constrained = false;
    struct il_instruction i;
    for (uint32_t at = 0; at < w->code_bytes; at = i.next) {
        if (!read_instruction(w->code, w->code_bytes, at, &i))
            return IL_UNKNOWN;
        w->marks[at] |= IL_STARTS | (first != UINT32_MAX ? IL_PREFIXED : 0);
        if (i.op == JMP)
            return IL_JUMP;
        if (i.op == ARGLIST)
            return IL_VARARGS;
        if (is_prefix(i.op)) {
            tail = tail || i.op == TAIL;
            constrained = constrained || i.op == CONSTRAINED;
            if (first == UINT32_MAX)
                first = at;
            continue;
        }
        if (first != UINT32_MAX && (i.op == IL_RET || i.op == IL_SWITCH || il_is_short_branch(i.op) || il_is_long_branch(i.op)))
            return IL_MALFORMED; /* nothing that a prefix can be of */
        enum il_result result = mark_call(w, &i, first != UINT32_MAX ? first : at, tail, constrained, before);
        if (result != IL_DONE)
            return result;
        first = UINT32_MAX;
        tail = constrained = false;
        before = i.op;
    }
    return first == UINT32_MAX ? IL_DONE : IL_MALFORMED;
}

static bool is_start(const struct il_work *w, uint32_t at)
{
    return at < w->code_bytes && (w->marks[at] & (IL_STARTS | IL_PREFIXED)) == IL_STARTS;
}

static enum il_result mark_targets(struct il_work *w)
{
    struct il_instruction i;
    for (uint32_t at = 0; at < w->code_bytes; at = i.next) {
        i = il_at(w, at);
        uint32_t n = il_is_short_branch(i.op) || il_is_long_branch(i.op) ? 1 : i.op == IL_SWITCH ? il_u32(w->code + i.operand) : 0;
        for (uint32_t k = 0; k < n; k++) {
            uint32_t target = il_target(w->code, &i, k);
            if (!is_start(w, target))
                return IL_MALFORMED;
            w->marks[target] |= IL_TARGET;
        }
    }
    return IL_DONE;
}

/* What a call returns need not be on the stack at the probe after it, if it is stored or dropped at once. */
static void move_ends(struct il_work *w)
{
    struct il_instruction i;
    for (uint32_t at = 0; at < w->code_bytes; at = i.next) {
        i = il_at(w, at);
        if ((w->marks[at] & IL_SITE_END) == 0 || !il_is_call(i.op) || !il_takes_result(w, i.next))
            continue;
        w->marks[at] &= (uint8_t)~IL_SITE_END;
        w->marks[i.next] |= IL_SITE_END;
    }
}

/* A section's size may be without its own four bytes: some compilers wrote that, and the runtime takes it. */
bool il_next_section(const struct il_work *w, struct il_section *s, enum il_result *result)
{
    uint32_t at = s->size == 0 ? w->sections_at : (s->at + s->size + 3) & ~3u;
    if (at == 0 || (s->size != 0 && !s->more))
        return false;
    *result = IL_MALFORMED;
    if (at > w->size || w->size - at < 4)
        return false;
    const uint8_t *p = w->body + at;
    s->at = at;
    s->fat = (p[0] & SECTION_FAT) != 0;
    s->more = (p[0] & SECTION_MORE) != 0;
    s->size = s->fat ? il_u32(p) >> 8 : p[1];
    s->n = s->size / (s->fat ? 24 : 12);
    if ((p[0] & SECTION_KIND) != SECTION_CLAUSES) {
        *result = IL_UNKNOWN;
        return false;
    }
    if (s->size < 4)
        s->size = 4;
    if (w->size - at < 4 + s->n * (s->fat ? 24 : 12) || w->size - at < s->size)
        return false;
    *result = IL_DONE;
    return true;
}

struct il_clause il_read_clause(const struct il_work *w, const struct il_section *s, uint32_t n)
{
    const uint8_t *p = w->body + s->at + 4 + n * (s->fat ? 24 : 12);
    if (s->fat)
        return (struct il_clause){il_u32(p), il_u32(p + 4), il_u32(p + 4) + il_u32(p + 8), il_u32(p + 12), il_u32(p + 12) + il_u32(p + 16), il_u32(p + 20)};
    return (struct il_clause){u16(p), u16(p + 2), u16(p + 2) + p[4], u16(p + 5), u16(p + 5) + p[7], il_u32(p + 8)};
}

/* Where a block begins or ends. The return of a tail call has two places in the new code, and is in no block. */
static bool is_edge(const struct il_work *w, uint32_t at, bool end)
{
    return (is_start(w, at) && (w->marks[at] & IL_AFTER_TAIL) == 0) || (end && at == w->code_bytes);
}

static enum il_result check_clause(const struct il_work *w, const struct il_clause *c)
{
    if (c->kind != IL_CATCH && c->kind != IL_FILTER && c->kind != IL_FINALLY && c->kind != IL_FAULT)
        return IL_UNKNOWN;
    bool right = is_edge(w, c->try_at, false) && is_edge(w, c->try_end, true) && is_edge(w, c->handler_at, false) &&
                 is_edge(w, c->handler_end, true) && c->try_at < c->try_end && c->handler_at < c->handler_end &&
                 (c->kind != IL_FILTER || is_edge(w, c->token, false));
    return right ? IL_DONE : IL_MALFORMED;
}

static enum il_result check_clauses(struct il_work *w)
{
    struct il_section s = {.size = 0};
    enum il_result result = IL_DONE;
    w->n_clauses = 0;
    while (il_next_section(w, &s, &result)) {
        for (uint32_t n = 0; n < s.n; n++) {
            struct il_clause c = il_read_clause(w, &s, n);
            if ((result = check_clause(w, &c)) != IL_DONE)
                return result;
        }
        w->n_clauses += s.n;
    }
    return result;
}

enum il_result il_scan(struct il_work *w, const uint8_t *body, uint32_t size)
{
    enum il_result result = read_header(w, body, size);
    if (result != IL_DONE)
        return result;
    memset(w->marks, 0, w->code_bytes + 1);
    w->n_sites = 0;
    if ((result = scan_instructions(w)) != IL_DONE || (result = mark_targets(w)) != IL_DONE)
        return result;
    move_ends(w);
    return check_clauses(w);
}
