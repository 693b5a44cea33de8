/* Rewrites bodies: what internal/capture/probes tests the agent's rewriter with. Numbers are 32 bits, little-endian.
 *
 * In: the size of a body, which calls get probes (0: none, n: about one of n), whether offsets are wanted, the number of
 * effects that follow the body, or MADE_UP, the body, and of each effect the instruction, the token, and what it takes, gives, and whether
 * that is a reference.
 * Out: the result; if it is IL_DONE the size of the new body and the body, and if they are wanted the old offsets of all
 * bytes of the new code.
 *
 * Bodies are in memory of just their size, so that a sanitizer sees what is read or written beside them. */
#include "../src/il/il.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIGNATURE 0x11FFFFFFu
#define TAIL_SIGNATURE 0x11FFFFFEu
#define LOCALS 0x11FFFFFDu

static struct il_work work;

static uint64_t choose(void *context, uint32_t offset, uint8_t opcode, uint32_t token)
{
    uint32_t one_of = *(const uint32_t *)context, hash = (offset ^ token) * 2654435761u;
    (void)opcode;
    return one_of == 0 || (hash >> 16) % one_of != 0 ? 0 : (uint64_t)token << 32 | (offset + 1);
}

/* In the order of op << 32 | token. */
struct effect {
    uint32_t token, op, pops, pushes, reference;
};
static struct effect *effects;
static uint32_t n_effects;
#define MADE_UP UINT32_MAX

/* Not always known. */
static bool make_up(uint32_t op, uint32_t token, struct il_effect *e)
{
    uint32_t hash = (op ^ token) * 2654435761u;
    *e = (struct il_effect){hash >> 8 & 3, hash >> 16 & 1, (hash >> 17 & 1) != 0};
    return hash >> 28 != 0;
}

static bool effect(void *context, uint32_t op, uint32_t token, struct il_effect *e)
{
    (void)context;
    if (n_effects == MADE_UP)
        return make_up(op, token, e);
    uint32_t low = 0, high = n_effects;
    uint64_t wanted = (uint64_t)op << 32 | token;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const struct effect *f = &effects[middle];
        uint64_t key = (uint64_t)f->op << 32 | f->token;
        if (key == wanted) {
            *e = (struct il_effect){f->pops, f->pushes, f->reference != 0};
            return true;
        }
        if (key < wanted)
            low = middle + 1;
        else
            high = middle;
    }
    return false;
}

/* So many that some numbers need two bytes. */
static uint32_t locals(void *context, uint32_t token, uint32_t more, uint32_t *first)
{
    (void)context;
    *first = (token + 17 * more) % 300;
    return LOCALS;
}

static void *allocate(size_t bytes)
{
    void *p = malloc(bytes == 0 ? 1 : bytes);
    if (p == NULL)
        abort();
    return p;
}

static void give(const void *bytes, size_t n)
{
    if (fwrite(bytes, 1, n, stdout) != n)
        exit(1);
}

static void give_offsets(uint32_t bytes)
{
    uint32_t n = il_runs(&work, NULL, 0);
    struct il_run *runs = allocate(n * sizeof *runs);
    if (il_runs(&work, runs, n) != n)
        abort();
    for (uint32_t at = 0; at < bytes; at++) {
        uint32_t old = il_old_offset(runs, n, at);
        give(&old, 4);
    }
    free(runs);
}

static void answer(const uint8_t *body, uint32_t size, uint32_t sites, bool offsets)
{
    struct il_probes probes = {.signature = SIGNATURE, .tail_signature = TAIL_SIGNATURE, .enter = 0x1111111111111111, .leave = 0x2222222222222222, .tail = 0x6666666666666666, .site_enter = 0x3333333333333333,
                               .site_leave = 0x4444444444444444, .site_jump = 0x7777777777777777, .method = 0x5555555555555555, .site = sites == 0 ? NULL : choose, .effect = effect, .locals = locals, .context = &sites};
    uint32_t bytes = 0, result = (uint32_t)il_plan(&work, body, size, &probes, &bytes);
    give(&result, 4);
    if (result != IL_DONE)
        return;
    uint8_t *rewritten = allocate(bytes);
    memset(rewritten, 0xCC, bytes);
    il_write(&work, rewritten);
    give(&bytes, 4);
    give(rewritten, bytes);
    free(rewritten);
    if (offsets)
        give_offsets(work.new_code_bytes);
}

static void *take(uint64_t bytes)
{
    void *p = allocate(bytes);
    if (bytes != 0 && fread(p, bytes, 1, stdin) != 1)
        exit(1);
    return p;
}

int main(void)
{
    uint32_t head[4];
    while (fread(head, sizeof head, 1, stdin) == 1) {
        uint8_t *body = take(head[0]);
        n_effects = head[3];
        effects = take(n_effects == MADE_UP ? 0 : n_effects * sizeof *effects);
        answer(body, head[0], head[1], head[2] != 0);
        free(body);
        free(effects);
        if (fflush(stdout) != 0)
            return 1;
    }
    return 0;
}
