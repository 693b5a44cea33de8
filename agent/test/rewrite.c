/* Rewrites bodies: what internal/probes tests the agent's rewriter with. Numbers are 32 bits, little-endian.
 *
 * In: the size of a body, which calls get probes (0: none, n: about one of n), whether offsets are wanted, the body.
 * Out: the result; if it is IL_DONE the size of the new body and the body, and if they are wanted the old offsets of all
 * bytes of the new code.
 *
 * Bodies are in memory of just their size, so that a sanitizer sees what is read or written beside them. */
#include "../src/il.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIGNATURE 0x11FFFFFFu
#define TAIL_SIGNATURE 0x11FFFFFEu

static struct il_work work;

static uint64_t choose(void *context, uint32_t offset, uint8_t opcode, uint32_t token)
{
    uint32_t one_of = *(const uint32_t *)context, hash = (offset ^ token) * 2654435761u;
    (void)opcode;
    return one_of == 0 || (hash >> 16) % one_of != 0 ? 0 : (uint64_t)token << 32 | (offset + 1);
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
                               .site_leave = 0x4444444444444444, .site_jump = 0x7777777777777777, .method = 0x5555555555555555, .site = sites == 0 ? NULL : choose, .context = &sites};
    uint32_t bytes = 0, result = (uint32_t)il_plan(&work, body, size, &probes, &bytes);
    give(&result, 4);
    if (result != IL_DONE)
        return;
    uint8_t *new = allocate(bytes);
    memset(new, 0xCC, bytes);
    il_write(&work, new);
    give(&bytes, 4);
    give(new, bytes);
    free(new);
    if (offsets)
        give_offsets(work.new_code_bytes);
}

int main(void)
{
    uint32_t head[3];
    while (fread(head, sizeof head, 1, stdin) == 1) {
        uint8_t *body = allocate(head[0]);
        if (head[0] != 0 && fread(body, head[0], 1, stdin) != 1)
            return 1;
        answer(body, head[0], head[1], head[2] != 0);
        free(body);
        if (fflush(stdout) != 0)
            return 1;
    }
    return 0;
}
