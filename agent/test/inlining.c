/* Reads what images say of inlining: what internal/capture/probes tests agent/src/il/ready_to_run.h with. Numbers are 32 bits, little-endian.
 *
 * In: the size of an image as it is loaded, how many methods it has, the image, a byte of flags for each method and one before them.
 * Out: what kind of image it is, whether its list may lack something, the flags.
 *
 * Images and lists are in memory of just their size, so that a sanitizer sees what is read beside them. */
#include "../src/il/ready_to_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct image {
    const uint8_t *bytes;
    uint32_t n;
};

static void *allocate(size_t bytes)
{
    void *p = malloc(bytes == 0 ? 1 : bytes);
    if (p == NULL)
        abort();
    return p;
}

static bool read_image(void *context, uint32_t address, void *out, uint32_t bytes)
{
    const struct image *i = context;
    if (address > i->n || bytes > i->n - address)
        return false;
    memcpy(out, i->bytes + address, bytes);
    return true;
}

static void answer(struct image *from, uint8_t *flags, uint32_t n)
{
    struct r2r_image image = {.read = read_image, .context = from};
    uint32_t kind = r2r_open(&image), lacks = 0;
    if (kind == R2R_LISTED) {
        uint8_t *piece = allocate(R2R_PIECE), *list = allocate(image.list_bytes);
        lacks = r2r_may_lack_some(&image, piece);
        kind = !read_image(from, image.list, list, image.list_bytes) ? R2R_FOREIGN : r2r_mark(&image, list, NULL, 0);
        if (kind == R2R_LISTED)
            kind = r2r_mark(&image, list, flags, n);
        free(piece);
        free(list);
    }
    fwrite(&kind, 4, 1, stdout);
    fwrite(&lacks, 4, 1, stdout);
    fwrite(flags, 1, n + 1, stdout);
    fflush(stdout);
}

int main(void)
{
    uint32_t head[2];
    while (fread(head, sizeof head, 1, stdin) == 1) {
        uint8_t *bytes = allocate(head[0]), *flags = allocate(head[1] + 1);
        if (fread(bytes, 1, head[0], stdin) != head[0] || fread(flags, 1, head[1] + 1, stdin) != head[1] + 1)
            return 1;
        answer(&(struct image){bytes, head[0]}, flags, head[1]);
        free(bytes);
        free(flags);
    }
    return 0;
}
