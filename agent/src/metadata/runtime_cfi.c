/* Frames of the runtime's own stubs, from its call-frame information (.eh_frame).
 *
 * Problem: the runtime has stubs in assembler that call C++ and leave the frame pointer as the managed code had it: the allocation
 * helpers of .NET 10 (RhpNewObject, RhpNewVariableSizeObject), helpers that throw, the thunk that binds a P/Invoke when
 * it is first called (NDirectImportThunk). The return address into the function that called the stub is then not on the
 * chain of frame pointers, and that function, the very one that allocates, would be missing.
 *
 * How large such a stub's frame is says the information that the assembler wrote for debuggers and for C++ exceptions:
 * where the return address is for each instruction. It is in every build of the runtime, in a library or in a
 * single-file program, since C++ needs it. It is asked once for each return address into the runtime; descriptions.c keeps
 * the answer.
 *
 * Trap: other stubs (ThePreStub, the delayed load of precompiled code) do set it and do not say so here. Their caller
 * is on the chain; stack_walk.c distinguishes them by the frame pointer that the callee saved.
 *
 * Formats: the header and its sorted table are LSB 5.0, 10.6.2; entries are DWARF 4, 6.4, with the changes of LSB 5.0,
 * 10.6.1. Everything is data of the target: each read is inside a segment of the runtime's file, each loop is bounded,
 * and what is not understood means that nothing is known. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "arch/arch.h"
#include "metadata/runtime_cfi.h"

#include <link.h>
#include <string.h>

#define MAX_SEGMENTS 8u    /* of the runtime's file; its own have 4 or 5 */
#define MAX_ENTRY 4096u    /* bytes of an entry; those of the runtime's largest functions are smaller */
#define MAX_REMEMBERED 8u  /* states within states */
#define MAX_FRAME (1u << 20)

#define TABLE_HEADER 0x3B031B01u /* version 1; .eh_frame pcrel sdata4, count udata4, table datarel sdata4: as all linkers write */
#define PCREL_SDATA4 0x1Bu

struct segment {
    uintptr_t low, high;
};

static struct segment segments[MAX_SEGMENTS], code; /* what can be read; where the runtime's instructions are */
static uint32_t n_segments;
static uintptr_t table_header; /* .eh_frame_hdr; 0: none */

static int look_at_object(struct dl_phdr_info *object, size_t size, void *address)
{
    (void)size;
    n_segments = 0;
    table_header = 0;
    code = (struct segment){0, 0};
    for (uint32_t i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &object->dlpi_phdr[i];
        struct segment s = {object->dlpi_addr + p->p_vaddr, object->dlpi_addr + p->p_vaddr + p->p_memsz};
        if (p->p_type == PT_GNU_EH_FRAME)
            table_header = s.low;
        if (p->p_type != PT_LOAD || (p->p_flags & PF_R) == 0)
            continue;
        if ((p->p_flags & PF_X) != 0 && *(const uintptr_t *)address - s.low < p->p_memsz)
            code = s;
        if (n_segments < MAX_SEGMENTS)
            segments[n_segments++] = s;
    }
    return code.high != 0;
}

void cfi_find_runtime(uintptr_t address)
{
    if (dl_iterate_phdr(look_at_object, &address) == 0)
        code = (struct segment){0, 0};
}

bool cfi_is_runtime(uintptr_t address)
{
    return address >= code.low && address < code.high;
}

/* ── reading ────────────────────────────────────────────────────────────────────────────────────────────────── */

struct cursor {
    const uint8_t *p, *end;
    bool bad; /* something was read that is not there */
};

static struct cursor cursor_at(uintptr_t address)
{
    for (uint32_t i = 0; i < n_segments && address != 0; i++)
        if (address >= segments[i].low && address < segments[i].high)
            return (struct cursor){(const uint8_t *)address, (const uint8_t *)segments[i].high, false};
    static const uint8_t nothing[1];
    return (struct cursor){nothing, nothing, true};
}

static void skip(struct cursor *c, uint64_t n)
{
    if ((uint64_t)(c->end - c->p) < n)
        c->bad = true;
    c->p = c->bad ? c->end : c->p + n;
}

static uint64_t take(struct cursor *c, uint32_t n)
{
    uint64_t value = 0;
    const uint8_t *p = c->p;
    skip(c, n);
    for (uint32_t i = 0; i < n && !c->bad; i++)
        value |= (uint64_t)p[i] << 8 * i;
    return value;
}

static uint64_t take_leb(struct cursor *c, bool is_signed)
{
    uint64_t value = 0, byte = 0x80;
    uint32_t shift = 0;
    for (; (byte & 0x80) != 0 && !c->bad; shift += 7) {
        byte = take(c, 1);
        value |= shift < 64 ? (byte & 0x7F) << shift : 0;
        c->bad = c->bad || shift > 63;
    }
    return is_signed && (byte & 0x40) != 0 && shift < 64 ? value | ~UINT64_C(0) << shift : value;
}

/* An entry of .eh_frame at an address, without its length. */
static struct cursor entry_at(uintptr_t address)
{
    struct cursor c = cursor_at(address);
    uint64_t length = take(&c, 4);
    c.bad = c.bad || length > MAX_ENTRY || length > (uint64_t)(c.end - c.p);
    if (!c.bad)
        c.end = c.p + length;
    return c;
}

/* ── entries ────────────────────────────────────────────────────────────────────────────────────────────────── */

struct common { /* what the functions of a compilation unit have in common (CIE) */
    struct cursor instructions;
    uint64_t code_unit;
    int64_t data_unit;
    bool has_data; /* its functions' entries have augmentation data */
};

/* The augmentation: a string of letters, and data that they describe. Pointers of functions must be the usual ones. */
static bool read_augmentation(struct cursor *c, const char *letters, bool *has_data)
{
    bool usual = false;
    *has_data = letters[0] == 'z';
    if (!*has_data)
        return false; /* without it pointers are absolute, which no compiler writes */
    uint64_t length = take_leb(c, false);
    const uint8_t *data = c->p;
    skip(c, length);
    struct cursor d = {data, c->p, c->bad};
    for (letters++; *letters != 0; letters++) {
        uint64_t encoding = take(&d, 1);
        if (*letters == 'R')
            usual = encoding == PCREL_SDATA4;
        else if (*letters == 'P')
            skip(&d, (encoding & 7) == 3 ? 4 : 8);
        else if (*letters != 'L')
            return false; /* S: a signal's frame */
    }
    return usual && !d.bad;
}

static bool read_common(uintptr_t address, struct common *out)
{
    char letters[8] = {0};
    struct cursor c = entry_at(address);
    if (take(&c, 4) != 0) /* its id */
        return false;
    uint64_t version = take(&c, 1);
    for (uint32_t i = 0; i < sizeof letters && (letters[i] = (char)take(&c, 1)) != 0; i++)
        if (i == sizeof letters - 1)
            return false;
    out->code_unit = take_leb(&c, false);
    out->data_unit = (int64_t)take_leb(&c, true);
    uint64_t column = version == 1 ? take(&c, 1) : take_leb(&c, false);
    if (c.bad || column != CFI_RETURN || !read_augmentation(&c, letters, &out->has_data))
        return false;
    out->instructions = c;
    return true;
}

/* The entry of the last function that begins at or before pc. */
static uintptr_t find_function(uintptr_t pc)
{
    struct cursor c = cursor_at(table_header);
    if (table_header == 0 || take(&c, 4) != TABLE_HEADER)
        return 0;
    skip(&c, 4);
    uint64_t low = 0, high = take(&c, 4);
    if (c.bad || high > (uint64_t)(c.end - c.p) / 8)
        return 0;
    const uint8_t *table = c.p;
    int32_t row[2] = {0, 0}, best[2] = {0, 0};
    while (low < high) { /* the first that begins after pc */
        uint64_t middle = (low + high) / 2;
        memcpy(row, table + 8 * middle, sizeof row);
        bool before = table_header + (uintptr_t)(intptr_t)row[0] <= pc;
        if (before)
            memcpy(best, row, sizeof best);
        low = before ? middle + 1 : low;
        high = before ? high : middle;
    }
    return low == 0 ? 0 : table_header + (uintptr_t)(intptr_t)best[1];
}

/* ── instructions ───────────────────────────────────────────────────────────────────────────────────────────── */

struct place { /* of the frame's end (CFA): a register and a distance */
    uint64_t base, distance;
    bool computed;     /* by an expression */
    bool moved_return; /* the return address is not the word below it */
};

struct machine {
    struct place now, remembered[MAX_REMEMBERED];
    uint32_t n_remembered;
    uintptr_t location;
    uint64_t code_unit;
    int64_t data_unit;
};

static void advance(struct machine *m, uint64_t units)
{
    m->location += units * m->code_unit;
}

/* DW_CFA_… that say where registers are, or what the frame's end is relative to. False: not understood. */
static bool run_rule(struct machine *m, struct cursor *c, uint8_t op)
{
    switch (op) {
    case 0x05: case 0x14: case 0x09: /* offset_extended, val_offset, register */
        m->now.moved_return = take_leb(c, false) == CFI_RETURN || m->now.moved_return;
        take_leb(c, false);
        return true;
    case 0x06: case 0x07: case 0x08: case 0x2E: /* restore_extended, undefined, same_value, GNU_args_size */
        take_leb(c, false);
        return true;
    case 0x0C: /* def_cfa */
        m->now.base = take_leb(c, false);
        m->now.distance = take_leb(c, false);
        m->now.computed = false;
        return true;
    case 0x0D: /* def_cfa_register */
        m->now.base = take_leb(c, false);
        return true;
    case 0x0E: /* def_cfa_offset */
        m->now.distance = take_leb(c, false);
        return true;
    case 0x0F: /* def_cfa_expression */
        skip(c, take_leb(c, false));
        m->now.computed = true;
        return true;
    case 0x10: case 0x16: /* expression, val_expression */
        take_leb(c, false);
        skip(c, take_leb(c, false));
        return true;
    default: /* among them offset_extended_sf, def_cfa_sf: no compiler needs them here */
        return false;
    }
}

static bool run_one(struct machine *m, struct cursor *c)
{
    uint8_t op = (uint8_t)take(c, 1);
    uint8_t low = op & 0x3F;
    if (op >> 6 == 1) { /* advance_loc */
        advance(m, low);
    } else if (op >> 6 == 2) { /* offset */
        int64_t distance = (int64_t)take_leb(c, false) * m->data_unit;
        m->now.moved_return = m->now.moved_return || (low == CFI_RETURN && distance != -CFI_RETURN_BYTES);
    } else if (op >> 6 == 3 || op == 0) {
        /* restore, nop */
    } else if (op >= 0x02 && op <= 0x04) { /* advance_loc1, 2, 4 */
        advance(m, take(c, 1u << (op - 2)));
    } else if (op == 0x0A) { /* remember_state */
        if (m->n_remembered == MAX_REMEMBERED)
            return false;
        m->remembered[m->n_remembered++] = m->now;
    } else if (op == 0x0B) { /* restore_state */
        if (m->n_remembered == 0)
            return false;
        m->now = m->remembered[--m->n_remembered];
    } else {
        return run_rule(m, c, op);
    }
    return !c->bad;
}

/* Runs instructions as long as they are for places up to pc. */
static bool run(struct machine *m, struct cursor c, uintptr_t pc)
{
    while (c.p < c.end) {
        struct place before = m->now;
        if (!run_one(m, &c))
            return false;
        if (m->location > pc) {
            m->now = before;
            return true;
        }
    }
    return true;
}

uint32_t cfi_frame_size(uintptr_t address)
{
    uintptr_t pc = address - 1; /* the call */
    if (!CFI_SHOWS_RETURN || !cfi_is_runtime(pc))
        return 0;
    struct common common;
    struct cursor f = entry_at(find_function(pc));
    uintptr_t id = (uintptr_t)f.p;
    if (f.bad || !read_common(id - (uintptr_t)take(&f, 4), &common))
        return 0;
    uintptr_t begin = (uintptr_t)f.p;
    begin += (uintptr_t)(intptr_t)(int32_t)take(&f, 4);
    uint64_t length = take(&f, 4);
    skip(&f, take_leb(&f, false));
    struct machine m = {.location = begin, .code_unit = common.code_unit, .data_unit = common.data_unit};
    if (f.bad || pc - begin >= length || !run(&m, common.instructions, UINTPTR_MAX))
        return 0;
    m.location = begin; /* those in common do not advance */
    if (!run(&m, f, pc) || m.now.computed || m.now.moved_return || m.now.base != CFI_STACK_POINTER || m.now.distance < CFI_RETURN_BYTES ||
        m.now.distance > MAX_FRAME || m.now.distance % 8 != 0)
        return 0;
    return (uint32_t)m.now.distance - CFI_RETURN_BYTES;
}
