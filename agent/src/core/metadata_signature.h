/* Signatures in metadata, ECMA-335 II.23.2: metadata_signature.c. */
#ifndef CLRPROF_SIGNATURES_H
#define CLRPROF_SIGNATURES_H

#include "core/agent.h"

/* II.23.1.16 */
enum element {
    ELEMENT_VOID = 0x01,
    ELEMENT_BOOLEAN = 0x02,
    ELEMENT_CHAR = 0x03,
    ELEMENT_I1 = 0x04,
    ELEMENT_I4 = 0x08,
    ELEMENT_R8 = 0x0D,
    ELEMENT_STRING = 0x0E,
    ELEMENT_PTR = 0x0F,
    ELEMENT_BYREF = 0x10,
    ELEMENT_VALUE_TYPE = 0x11,
    ELEMENT_CLASS = 0x12,
    ELEMENT_VAR = 0x13,
    ELEMENT_ARRAY = 0x14,
    ELEMENT_GENERIC_INST = 0x15,
    ELEMENT_TYPED_BY_REF = 0x16,
    ELEMENT_I = 0x18,
    ELEMENT_U = 0x19,
    ELEMENT_FUNCTION = 0x1B,
    ELEMENT_OBJECT = 0x1C,
    ELEMENT_VECTOR = 0x1D,
    ELEMENT_MVAR = 0x1E,
    ELEMENT_REQUIRED = 0x1F,
    ELEMENT_OPTIONAL = 0x20,
    ELEMENT_SENTINEL = 0x41,
};
enum { SIGNATURE_INSTANCE = 0x0A, SIGNATURE_GENERIC = 0x10, SIGNATURE_HAS_THIS = 0x20, SIGNATURE_EXPLICIT_THIS = 0x40 }; /* II.23.2.1, in the first byte of a method's */

/* These move *at behind what they read, II.23.2 and II.23.2.8; false: the signature ends, or that is none. */
bool signature_number(const uint8_t **at, const uint8_t *end, uint32_t *number);
bool signature_token(const uint8_t **at, const uint8_t *end, uint32_t *token);
bool signature_type(const uint8_t **at, const uint8_t *end); /* likewise, a whole type */

/* Goes over a method's signature: what it is called with is the bytes between tokens, and each token. False: it is none that is known. */
struct signature_parts {
    void (*bytes)(void *context, const uint8_t *bytes, size_t n);
    void (*token)(void *context, uint32_t token);
    void *context;
};
bool signature_walk(const uint8_t *signature, size_t n, const struct signature_parts *parts);

#endif
