/* What a precompiled (ReadyToRun) image says of inlining: which methods have which others in their code.
 *
 * Pure: no state, and an image is read by a function of the caller's. Images are not trusted: each number is checked before it is
 * used, and work is bounded by the size of the list. What is not understood as a whole is no list at all.
 *
 * The list is the image's section 119 (crossgen2, InliningInfoNode): for each inlinee all methods that have it in their code,
 * directly or not, by their definitions. It lacks what is NonVersionable, and says nothing of images that are parts of a composite. The
 * runtime has a function that looks methods up in it (EnumNgenModuleMethodsInliningThisMethod), but does not find all that it has. */
#ifndef CLRPROF_R2R_H
#define CLRPROF_R2R_H

#include <stdbool.h>
#include <stdint.h>

#define R2R_MAX_LIST (16u << 20)     /* bytes; the largest of the frameworks and the SDK has 0.2 MB */
#define R2R_MAX_METADATA (256u << 20) /* bytes; the largest has 7 MB */
#define R2R_PIECE (32u << 10)        /* bytes that are read at once to find a name */

#define R2R_IS_WANTED 1u   /* of a method: the caller wants to know who has it */
#define R2R_HAS_WANTED 2u  /* it has such a one in its code */

enum r2r_kind {
    R2R_NONE,    /* not precompiled */
    R2R_LISTED,
    R2R_UNKNOWN, /* precompiled, but its list cannot be used; all its code is of its own methods */
    R2R_FOREIGN, /* it may have code of other modules' methods, or theirs in that of its own */
    R2R_KINDS
};

struct r2r_image {
    bool (*read)(void *context, uint32_t address, void *out, uint32_t bytes); /* as loaded, from its base */
    void *context;
    uint32_t list, list_bytes, metadata, metadata_bytes;
    bool has_modules; /* in the list methods have numbers of modules */
};

enum r2r_kind r2r_open(struct r2r_image *image);

/* Has the image's metadata a name that means that its list may lack something? piece: memory of R2R_PIECE bytes. */
bool r2r_may_lack_some(const struct r2r_image *image, uint8_t *piece);

/* Marks the methods that have wanted ones in their code. list: of image->list_bytes. methods: as many as the module has, each with its flags
 * at its number, or NULL: then it is only checked. */
enum r2r_kind r2r_mark(const struct r2r_image *image, const uint8_t *list, uint8_t *methods, uint32_t n_methods);

#endif
