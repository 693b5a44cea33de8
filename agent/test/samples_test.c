/* The events of sampled objects: whatever their data is, nothing beyond it is read; and how many objects a sample stands for. */
#define _GNU_SOURCE
#include "scenario.h"

#include <stdlib.h>
#include <string.h>

/* The file itself, so that the data can be memory that ends where they end. */
#include "../src/heap/sample_event.c"

#define MOST_DATA 300u

static uint32_t add(uint8_t *to, uint32_t at, uint64_t value, uint32_t bytes)
{
    memcpy(to + at, &value, bytes);
    return at + bytes;
}

/* The data of an event, as the runtime writes them. Returned are the bytes. */
static uint32_t write_event(uint8_t *to, uint32_t id, const struct sample_event *e, uint32_t letters)
{
    uint32_t n = 0;
    if (id == EVENT_ALLOCATION_TICK)
        n = add(to, n, e->amount, 4);
    n = add(to, n, e->heap, 4);
    n = add(to, n, 7, 2);
    if (id == EVENT_ALLOCATION_TICK)
        n = add(to, n, e->amount, 8);
    n = add(to, n, e->class_id, 8);
    for (uint32_t i = 0; i < letters; i++)
        n = add(to, n, 'T', 2);
    n = add(to, n, 0, 2);
    if (id == EVENT_ALLOCATION_TICK)
        n = add(to, n, 3, 4);
    n = add(to, n, e->object, 8);
    n = add(to, n, e->bytes, 8);
    return id == EVENT_ALLOCATION_TICK ? n : add(to, n, 5, 8);
}

/* Reads them from memory of just that size, which sanitizers watch. */
static bool read_of(uint32_t id, const uint8_t *data, uint32_t bytes, struct sample_event *out)
{
    uint8_t *copy = malloc(bytes == 0 ? 1 : bytes);
    memcpy(copy, data, bytes);
    bool ok = sample_read(id, bytes == 0 ? NULL : copy, bytes, out);
    free(copy);
    return ok;
}

static void sample_events(void)
{
    static const uint32_t ids[] = {EVENT_ALLOCATION_TICK, EVENT_ALLOCATION_SAMPLED};
    uint8_t data[MOST_DATA];
    struct sample_event out;
    for (uint32_t k = 0; k < 2; k++)
        for (uint32_t letters = 0; letters < 100; letters += 33) {
            struct sample_event e = {0x7f1200345678, 0x7f0011223340, 36, k == 0 ? 105000 : 0, SAMPLE_PINNED};
            uint32_t n = write_event(data, ids[k], &e, letters);
            check(read_of(ids[k], data, n, &out) && out.class_id == e.class_id && out.object == e.object && out.bytes == 40 && out.amount == e.amount &&
                      out.heap == e.heap, "event %u with %u letters is read as %llx, %llu bytes", ids[k], letters, (unsigned long long)out.object,
                  (unsigned long long)out.bytes);
            for (uint32_t cut = 0; cut < n; cut++)
                check(!read_of(ids[k], data, cut, &out), "event %u is read from %u of %u bytes", ids[k], cut, n);
        }
}

/* Numbers that cannot be, and texts without an end. */
static void sample_events_wrong(void)
{
    static const struct sample_event wrong[] = {
        {0, 0x1000, 32, 1, 0}, {0x1004, 0x1000, 32, 1, 0}, {0x1000, 0, 32, 1, 0}, {0x1000, 0x1001, 32, 1, 0}, {0x1000, UINT64_C(1) << 47, 32, 1, 0},
        {UINT64_C(1) << 60, 0x1000, 32, 1, 0}, {0x1000, 0x1000, 0, 1, 0}, {0x1000, 0x1000, 16, 1, 0}, {0x1000, 0x1000, UINT64_C(1) << 32, 1, 0},
        {0x1000, 0x1000, UINT64_MAX, 1, 0}, {0x1000, 0x1000, 32, 1, 3}, {0x1000, 0x1000, 32, 0, 0},
    };
    uint8_t data[MOST_DATA];
    struct sample_event out;
    uint64_t seed = 1;
    for (uint32_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        uint32_t n = write_event(data, EVENT_ALLOCATION_TICK, &wrong[i], 4);
        check(!read_of(EVENT_ALLOCATION_TICK, data, n, &out), "wrong event %u is read", i);
    }
    for (uint32_t i = 0; i < 20000; i++) {
        uint32_t n = (uint32_t)(random_number(&seed) % MOST_DATA), id = i % 2 == 0 ? EVENT_ALLOCATION_TICK : EVENT_ALLOCATION_SAMPLED;
        for (uint32_t k = 0; k < n; k++)
            data[k] = (uint8_t)(random_number(&seed) % 3 == 0 ? 0 : random_number(&seed));
        if (read_of(id, data, n, &out))
            check(out.bytes >= 24 && out.bytes % 8 == 0 && out.heap <= 2 && out.object % 8 == 0, "it believes %llu bytes", (unsigned long long)out.bytes);
    }
    memset(data, 1, sizeof data);
    check(!read_of(EVENT_ALLOCATION_SAMPLED, data, sizeof data, &out), "a text without an end is read");
}

/* By the definition: 1/(1-(1-p)^bytes), one byte after the other. */
static double objects_of(uint64_t bytes)
{
    double none = 1;
    for (uint64_t i = 0; i < bytes; i++)
        none *= 1 - 1.0 / 102400;
    return 1 / (1 - none);
}

/* On average a sample stands for as many objects as the formula says, whatever their size; and ticks for all bytes that they tell of. */
static void sample_weights(void)
{
    static const uint64_t sizes[] = {24, 32, 104, 512, 2048, 8192, 30000, 84992};
    struct sample_rounding r = {.random = 12345};
    for (uint32_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct sample_event e = {.bytes = sizes[i]};
        double sum = 0, want = objects_of(sizes[i]), n = 20000;
        for (uint32_t k = 0; k < 20000; k++) {
            uint32_t weight = sample_weight(&e, &r);
            check(weight >= want - 1 && weight <= want + 1, "%llu bytes stand for %u objects, not %f", (unsigned long long)sizes[i], weight, want);
            sum += weight;
        }
        check(sum / n > want * 0.9994 - 0.02 && sum / n < want * 1.0006 + 0.02, "%llu bytes stand for %f objects, not %f", (unsigned long long)sizes[i], sum / n, want);
    }
    uint64_t told = 0, seed = 7;
    double stood = 0;
    for (uint32_t k = 0; k < 20000; k++) {
        struct sample_event e = {.bytes = sizes[random_number(&seed) % 5], .amount = 102400 + random_number(&seed) % 8192};
        told += e.amount;
        stood += (double)sample_weight(&e, &r) * (double)e.bytes;
    }
    check(stood > (double)told * 0.999 && stood < (double)told * 1.001, "ticks of %llu bytes stand for %f", (unsigned long long)told, stood);
}

const struct scenario samples_scenarios[] = {
    {"sample_events", sample_events},
    {"sample_events_wrong", sample_events_wrong},
    {"sample_weights", sample_weights},
    {NULL, NULL},
};
