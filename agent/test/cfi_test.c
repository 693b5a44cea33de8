/* Call-frame information: what runtime_cfi.c reads, where this program's own says what is known, and where it is damaged. */
#define _GNU_SOURCE
#include "scenario.h"

#include "fake_runtime.h"

#include <stdlib.h>
#include <string.h>

/* The file itself, so that the test can put other memory in the place of the runtime's segments. */
#include "../src/metadata/runtime_cfi.c"

static void known_frames(void)
{
    cfi_find_runtime((uintptr_t)fake_stub);
    struct {
        const char *after; /* the instruction before this place */
        uint32_t bytes;
    } places[] = {{fake_stub_half, 0}, {fake_stub_returns, FAKE_STUB_FRAME}, {fake_stub_leaves, 8}, {fake_stub_end, 0}};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        uint32_t bytes = cfi_frame_size((uintptr_t)places[i].after);
        check(bytes == places[i].bytes, "place %zu: %u bytes to the return address, not %u", i, bytes, places[i].bytes);
    }
    check(cfi_frame_size((uintptr_t)known_frames + 5) == 0, "a function with a frame pointer needs nothing");
    check(cfi_frame_size((uintptr_t)&failures) == 0 && cfi_frame_size(FAKE_CODE_BASE) == 0 && cfi_frame_size(0) == 0,
          "something is said of what is no code of the runtime");
}

/* The part of this program's file with its call-frame information, copied into memory of just that size; all that it
 * says is relative to its own place, so the code lies as far from the copy as from the original. */
static void damaged_frames(void)
{
    cfi_find_runtime((uintptr_t)fake_stub);
    struct segment original = {0, 0};
    for (uint32_t i = 0; i < n_segments; i++)
        if (table_header >= segments[i].low && table_header < segments[i].high)
            original = segments[i];
    size_t size = original.high - table_header;
    check(table_header != 0 && size > 1000, "this program has no call-frame information");
    uint64_t seed = 7, n_right = 0, n_other = 0;
    uint32_t rounds = 20000 / SCALE;
    for (uint32_t round = 0; round < rounds; round++) {
        size_t bytes = round % 4 == 0 ? random_number(&seed) % size : size;
        uint8_t *copy = malloc(bytes);
        memcpy(copy, (const void *)table_header, bytes);
        for (uint64_t k = random_number(&seed) % 64; k > 0 && bytes != 0; k--)
            copy[random_number(&seed) % bytes] = (uint8_t)random_number(&seed);
        uintptr_t moved = (uintptr_t)copy - table_header, header = table_header;
        struct segment kept[MAX_SEGMENTS], kept_code = code;
        uint32_t n = n_segments;
        memcpy(kept, segments, sizeof kept);
        segments[0] = (struct segment){(uintptr_t)copy, (uintptr_t)copy + bytes};
        n_segments = 1;
        table_header += moved;
        code = (struct segment){code.low + moved, code.high + moved};
        for (uint32_t k = 0; k < 20; k++) {
            uintptr_t address = k == 0 ? (uintptr_t)fake_stub_returns : kept_code.low + random_number(&seed) % (kept_code.high - kept_code.low);
            uint32_t frame = cfi_frame_size(address + moved);
            check(frame <= MAX_FRAME && frame % 8 == 0, "a frame of %u bytes", frame);
            n_right += k == 0 && frame == FAKE_STUB_FRAME;
            n_other += k == 0 && frame != FAKE_STUB_FRAME;
        }
        memcpy(segments, kept, sizeof kept);
        n_segments = n;
        table_header = header;
        code = kept_code;
        free(copy);
    }
    check(n_right > rounds / 4 && n_other > rounds / 100, "%llu copies were understood, %llu not", (unsigned long long)n_right, (unsigned long long)n_other);
}

const struct scenario cfi_scenarios[] = {{"known_frames", known_frames}, {"damaged_frames", damaged_frames}, {NULL, NULL}};
