/* The events by which the runtime samples small objects.
 *
 * AllocationSampled (.NET 10): each allocated byte is drawn with the probability p = 1/WIRE_SAMPLE_BYTES, and an object is sampled
 * if one of its bytes is. So an object of s bytes is with the probability 1-(1-p)^s, and each sample of it stands for
 * 1/(1-(1-p)^s) objects (the runtime's RandomizedAllocationSampling.md): 3,200 of 32 bytes, 13 of 8 KB, 1.8 of 85 KB.
 *
 * AllocationTick (.NET 8 and 9): whatever is allocated when about 100 KB of a heap are given out. It stands for the bytes since the tick before.
 *
 * What is added up must be whole objects: the same number when they are born and when they die. So each sample's number
 * is rounded up or down at random, with the probabilities that give the right mean; above ALMOST_WHOLE it is rounded to the nearest, which is
 * wrong by 0.05 % at most, and lets alike samples share a site. */
#include "arch/arch.h"
#include "heap/sample_event.h"

#include <string.h>

#define ALMOST_WHOLE 1024.0
#define LEAST_OBJECT 24u /* a header, a class and a word */
#define TICK_UNIT 16384u /* bytes of ticks are owed to a later tick, so that the ticks of a size stand for few different numbers: the runtime hands out 8 KB at a time */

/* Fields of an event: little-endian, packed. */
struct reader {
    const uint8_t *at, *end;
    bool ok;
};

static uint64_t take(struct reader *r, uint32_t bytes)
{
    uint64_t value = 0;
    r->ok = r->ok && (uint64_t)(r->end - r->at) >= bytes;
    if (!r->ok)
        return 0;
    memcpy(&value, r->at, bytes);
    r->at += bytes;
    return value;
}

/* A text of UTF-16, and the 0 behind it. */
static void skip_text(struct reader *r)
{
    while (take(r, 2) != 0)
        ;
}

bool sample_read(uint32_t id, const uint8_t *data, uint32_t bytes, struct sample_event *out)
{
    bool ticks = id == EVENT_ALLOCATION_TICK;
    *out = (struct sample_event){0};
    if (data == NULL)
        return false;
    struct reader r = {data, data + bytes, true};
    if (ticks)
        take(&r, 4); /* the amount, in 32 bits */
    out->heap = (uint32_t)take(&r, 4);
    take(&r, 2); /* which runtime */
    if (ticks)
        out->amount = take(&r, 8);
    out->class_id = take(&r, 8);
    skip_text(&r);
    if (ticks)
        take(&r, 4); /* number of the heap */
    out->object = take(&r, 8);
    out->bytes = (take(&r, 8) + 7) & ~UINT64_C(7);
    if (!ticks)
        take(&r, 8); /* where in the object */
    return r.ok && out->class_id != 0 && out->class_id % 8 == 0 && out->object != 0 && out->object % 8 == 0 && out->object >> ADDRESS_BITS == 0 &&
           out->class_id >> ADDRESS_BITS == 0 && out->bytes >= LEAST_OBJECT && out->bytes <= UINT32_MAX && out->heap <= SAMPLE_PINNED && (!ticks || out->amount != 0);
}

/* (1-p)^n */
static double none_of(uint64_t n)
{
    double factor = 1.0 - 1.0 / WIRE_SAMPLE_BYTES, none = 1.0;
    for (; n != 0; n >>= 1, factor *= factor)
        if ((n & 1) != 0)
            none *= factor;
    return none;
}

/* The next of a sequence of numbers that look random, in [0, 1): xorshift64*. */
static double next_random(uint64_t *random)
{
    *random ^= *random >> 12;
    *random ^= *random << 25;
    *random ^= *random >> 27;
    return (double)(*random * UINT64_C(0x2545F4914F6CDD1D) >> 11) / (double)(UINT64_C(1) << 53);
}

static uint32_t whole(double n, uint64_t *random)
{
    double rounded = n < ALMOST_WHOLE ? n + next_random(random) : n + 0.5;
    return rounded < 1.0 ? 1 : rounded > (double)INT32_MAX ? INT32_MAX : (uint32_t)rounded;
}

uint32_t sample_weight(const struct sample_event *e, struct sample_rounding *r)
{
    if (e->amount == 0)
        return whole(1.0 / (1.0 - none_of(e->bytes)), &r->random);
    uint64_t all = r->owed + e->amount, bytes = all < TICK_UNIT ? all : all / TICK_UNIT * TICK_UNIT;
    r->owed = all - bytes;
    return whole((double)bytes / (double)e->bytes, &r->random);
}
