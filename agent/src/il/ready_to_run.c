/* Reading what a precompiled image says of inlining: see ready_to_run.h. Formats: docs/design/coreclr/botr/readytorun-format.md of the
 * runtime, nativeformatreader.h, InliningInfoNode.cs. */
#define _GNU_SOURCE
#include "il/ready_to_run.h"

#include <string.h>

#define PE32_PLUS 0x20Bu
#define OPTIONAL_BYTES 232u /* as far as the directory of the CLI header, and that with it */
#define CLI_DIRECTORY 224u
#define CLI_BYTES 72u
#define CLI_METADATA 8u
#define CLI_PRECOMPILED 64u
#define SIGNATURE 0x00525452u /* RTR */
#define MAX_SECTIONS 64u      /* the formats have 25 kinds */
#define SECTION_INLINING 114u /* the same of a component of a composite */
#define SECTION_ALL_INLINING 119u
#define IS_COMPONENT 0x20u
#define IS_LARGE_BUBBLE 0x40u /* other modules' methods may be inlined */
#define IS_UNRELATED 0x80u    /* it has code of other modules' */
#define FIRST_MAJOR 9u        /* .NET 8; before 6.3 there was no such section */
#define LAST_MAJOR 16u        /* .NET 10 */
#define FIRST_LARGE 6u        /* from here on images can have code of other modules' without a large bubble */

/* Flags of an inlinee and of an inliner in the list. */
#define INLINEE_IS_ELSEWHERE 1u
#define HAS_INLINERS_ELSEWHERE 2u
#define INLINEE_SHIFT 2u
#define INLINER_HAS_MODULE 1u

struct directory {
    uint32_t address, bytes;
};

static uint32_t u32_at(const uint8_t *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

static uint32_t u16_at(const uint8_t *p)
{
    return p[0] | (uint32_t)p[1] << 8;
}

/* ── headers ────────────────────────────────────────────────────────────────────────────────────────────────── */

/* Where the precompiled code's header is. False: there is none. */
static bool find_header(struct r2r_image *image, struct directory *header)
{
    uint8_t dos[64], optional[24 + OPTIONAL_BYTES], cli[CLI_BYTES];
    if (!image->read(image->context, 0, dos, sizeof dos) || dos[0] != 'M' || dos[1] != 'Z' ||
        !image->read(image->context, u32_at(dos + 60), optional, sizeof optional) || memcmp(optional, "PE\0", 4) != 0 ||
        u16_at(optional + 24) != PE32_PLUS || u16_at(optional + 20) < OPTIONAL_BYTES)
        return false;
    uint32_t address = u32_at(optional + 24 + CLI_DIRECTORY);
    if (address == 0 || !image->read(image->context, address, cli, sizeof cli) || u32_at(cli) < CLI_BYTES)
        return false;
    image->metadata = u32_at(cli + CLI_METADATA);
    image->metadata_bytes = u32_at(cli + CLI_METADATA + 4);
    *header = (struct directory){u32_at(cli + CLI_PRECOMPILED), u32_at(cli + CLI_PRECOMPILED + 4)};
    return header->address != 0;
}

static bool find_section(const struct r2r_image *image, struct directory header, uint32_t n, uint32_t kind, struct directory *found)
{
    for (uint32_t i = 0; i < n; i++) {
        uint8_t section[12];
        if (!image->read(image->context, header.address + 16 + i * (uint32_t)sizeof section, section, sizeof section))
            return false;
        if (u32_at(section) == kind) {
            *found = (struct directory){u32_at(section + 4), u32_at(section + 8)};
            return true;
        }
    }
    return false;
}

enum r2r_kind r2r_open(struct r2r_image *image)
{
    struct directory header, section;
    uint8_t h[16];
    if (!find_header(image, &header) || !image->read(image->context, header.address, h, sizeof h) || u32_at(h) != SIGNATURE)
        return R2R_NONE;
    uint32_t major = u16_at(h + 4), flags = u32_at(h + 8), n = u32_at(h + 12);
    if ((flags & (IS_COMPONENT | IS_UNRELATED)) != 0)
        return R2R_FOREIGN;
    bool is_large = (flags & IS_LARGE_BUBBLE) != 0;
    if (major < FIRST_MAJOR || major > LAST_MAJOR)
        return is_large || major >= FIRST_LARGE ? R2R_FOREIGN : R2R_UNKNOWN;
    if (n > MAX_SECTIONS || find_section(image, header, n, SECTION_INLINING, &section) ||
        !find_section(image, header, n, SECTION_ALL_INLINING, &section) || section.bytes == 0 || section.bytes > R2R_MAX_LIST)
        return R2R_FOREIGN;
    image->list = section.address;
    image->list_bytes = section.bytes;
    image->has_modules = is_large;
    return R2R_LISTED;
}

bool r2r_may_lack_some(const struct r2r_image *image, uint8_t *piece)
{
    static const char name[] = "NonVersionableAttribute";
    const uint32_t overlap = sizeof name - 1;
    if (image->metadata_bytes > R2R_MAX_METADATA)
        return true;
    for (uint32_t at = 0; at < image->metadata_bytes; at += R2R_PIECE - overlap) {
        uint32_t n = image->metadata_bytes - at < R2R_PIECE ? image->metadata_bytes - at : R2R_PIECE;
        if (!image->read(image->context, image->metadata + at, piece, n) || memmem(piece, n, name, sizeof name - 1) != NULL)
            return true;
    }
    return false;
}

/* ── the list ───────────────────────────────────────────────────────────────────────────────────────────────── */

struct reader {
    const uint8_t *list;
    uint32_t at, end, left; /* left: numbers that may still be read, whatever the list says */
    bool failed;
};

/* The bytes of a number that begins here: its first byte's low bits say how many. */
static const uint8_t *take_number(struct reader *r, uint32_t *n)
{
    static const uint8_t bytes[] = {1, 2, 1, 3, 1, 2, 1, 4, 1, 2, 1, 3, 1, 2, 1, 5};
    if (r->failed || r->left == 0 || r->at >= r->end || (r->list[r->at] & 0x1F) == 0x1F ||
        (*n = bytes[r->list[r->at] & 0xF]) > r->end - r->at) {
        r->failed = true;
        return NULL;
    }
    const uint8_t *p = r->list + r->at;
    r->at += *n;
    r->left--;
    return p;
}

static uint32_t take_unsigned(struct reader *r)
{
    uint32_t n, v = 0;
    const uint8_t *p = take_number(r, &n);
    if (p == NULL)
        return 0;
    if (n == 5)
        return u32_at(p + 1);
    for (uint32_t i = 0; i < n; i++)
        v |= (uint32_t)p[i] << 8 * i;
    return v >> n;
}

/* Modulo 2^32, as an offset that may be negative. */
static uint32_t take_signed(struct reader *r)
{
    uint32_t start = r->at;
    uint32_t v = take_unsigned(r), bits = 7 * (r->at - start);
    if (!r->failed && bits < 32 && (v >> (bits - 1) & 1) != 0)
        v |= UINT32_MAX << bits;
    return v;
}

/* One inlinee, and who has it. */
static enum r2r_kind read_entry(struct reader *r, bool has_modules, uint8_t *methods, uint32_t n_methods)
{
    uint32_t left = take_unsigned(r), inlinee = take_unsigned(r), number = inlinee >> INLINEE_SHIFT, inliner = 0;
    uint32_t own = has_modules ? 2 : 1; /* numbers that are the inlinee's */
    if (r->failed || left < own)
        return R2R_FOREIGN;
    left -= own;
    if ((inlinee & (INLINEE_IS_ELSEWHERE | HAS_INLINERS_ELSEWHERE)) != 0 || (has_modules && take_unsigned(r) != 0))
        return R2R_FOREIGN;
    if (methods != NULL && (number == 0 || number > n_methods))
        return R2R_FOREIGN;
    for (; left > 0 && !r->failed; left--) {
        uint32_t delta = take_unsigned(r);
        if (has_modules && (delta & INLINER_HAS_MODULE) != 0)
            return R2R_FOREIGN;
        inliner += has_modules ? delta >> 1 : delta;
        if (methods == NULL || r->failed)
            continue;
        if (inliner == 0 || inliner > n_methods)
            return R2R_FOREIGN;
        if ((methods[number] & R2R_IS_WANTED) != 0)
            methods[inliner] |= R2R_HAS_WANTED;
    }
    return r->failed ? R2R_FOREIGN : R2R_LISTED;
}

/* Where a bucket of the hash table begins; it ends where the next one does. */
static uint32_t bucket_at(const uint8_t *list, uint32_t i, uint32_t index_bytes)
{
    const uint8_t *p = list + 1 + (uint64_t)i * index_bytes;
    return 1 + (index_bytes == 1 ? p[0] : index_bytes == 2 ? u16_at(p) : u32_at(p));
}

enum r2r_kind r2r_mark(const struct r2r_image *image, const uint8_t *list, uint8_t *methods, uint32_t n_methods)
{
    uint32_t bytes = image->list_bytes, shift = list[0] >> 2, index_bytes = 1u << (list[0] & 3);
    if (shift > 24 || index_bytes > 4 || (((uint64_t)1 << shift) + 1) * index_bytes + 1 > bytes)
        return R2R_FOREIGN;
    struct reader r = {.list = list, .end = bytes, .left = bytes};
    for (uint32_t i = 0; i < 1u << shift; i++) {
        struct reader bucket = r;
        bucket.at = bucket_at(list, i, index_bytes);
        bucket.end = bucket_at(list, i + 1, index_bytes);
        if (bucket.end > bytes || bucket.at > bucket.end)
            return R2R_FOREIGN;
        while (bucket.at < bucket.end) {
            uint32_t from = ++bucket.at; /* behind the low byte of the hash code */
            struct reader entry = r;
            entry.at = from + take_signed(&bucket);
            entry.left = bucket.left;
            if (bucket.failed || read_entry(&entry, image->has_modules, methods, n_methods) != R2R_LISTED)
                return R2R_FOREIGN;
            bucket.left = r.left = entry.left;
        }
    }
    return R2R_LISTED;
}
