/* Whose code a module is: the rules of the package usercode, on the same facts, for the agent, which must know before the
 * module's code runs.
 *
 * Pure, but for the tables it fills. */
#ifndef CLRPROF_ORIGIN_H
#define CLRPROF_ORIGIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct map;

struct origin_facts {
    const char *path; /* UTF-8; "": in memory */
    const char *name; /* of a module in memory */
    const char *company;
    const char *main;   /* the main assembly's path; "": not known */
    const char *folder; /* of which all is the user's, as nothing else is; "": none */
    uint64_t kind;      /* DEPS_… */
    bool by_pattern, in_memory, is_main;
};

uint32_t origin_of(const struct origin_facts *f); /* WIRE_ORIGIN_… */
bool origin_is_user(uint32_t origin);
bool origin_is_framework_file(const char *path); /* by its path alone; false: perhaps */

/* ── what a NAME.deps.json says of the files in its folder ──────────────────────────────────────────────────── */

enum { DEPS_PROJECT = 1, DEPS_RUNTIME_PACK, DEPS_PACKAGE }; /* of several the least holds */

uint64_t deps_key(const char *path); /* the case of ASCII letters in the file's name does not matter */
/* Adds DEPS_… by deps_key. folder: the path of any file in it; libraries: empty, used on the way. False: no memory. Any
 * text may be read: what is no such file says nothing. */
bool deps_read(const char *text, size_t bytes, const char *folder, struct map *libraries, struct map *kinds);

#endif
