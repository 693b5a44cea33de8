/* Whose code modules are: what internal/dotnet/usercode tests the agent's rules with. Numbers are 32 bits, little-endian; a text is
 * its size and its bytes.
 *
 * In: a kind. 0: forget all; 1: a deps.json, the path of a file beside it and the text; 2: a module, with its path, name,
 * company, the main assembly's path, the folder, and flags (1: in memory, 2: main assembly, 4: by a pattern).
 * Out: of a module the origin. */
#include "../src/core/arena.h"
#include "../src/core/hash_map.h"
#include "../src/metadata/code_origin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct map kinds;

void *private_alloc(uint64_t bytes)
{
    return calloc(1, bytes);
}

void private_free(void *memory, uint64_t bytes)
{
    (void)bytes;
    free(memory);
}

static uint32_t get_u32(void)
{
    uint32_t value;
    if (fread(&value, sizeof value, 1, stdin) != 1)
        exit(0);
    return value;
}

/* In memory of just its size, so that a sanitizer sees what is read beside it; as a string it ends with 0. */
static char *get_text(uint32_t *bytes, bool string)
{
    *bytes = get_u32();
    char *text = malloc(*bytes + string == 0 ? 1 : *bytes + string);
    if (text == NULL || (*bytes != 0 && fread(text, *bytes, 1, stdin) != 1))
        exit(1);
    if (string)
        text[*bytes] = 0;
    return text;
}

static void read_deps(void)
{
    uint32_t n;
    struct map libraries;
    char *path = get_text(&n, true), *text = get_text(&n, false);
    if (!map_init(&libraries, 16, false) || !deps_read(text, n, path, &libraries, &kinds))
        exit(1);
    map_close(&libraries);
    free(path);
    free(text);
}

static void answer(void)
{
    uint32_t n;
    char *texts[5];
    for (int i = 0; i < 5; i++)
        texts[i] = get_text(&n, true);
    uint32_t flags = get_u32();
    struct origin_facts f = {.path = texts[0], .name = texts[1], .company = texts[2], .main = texts[3], .folder = texts[4],
                             .kind = map_get(&kinds, deps_key(texts[0])), .in_memory = (flags & 1) != 0, .is_main = (flags & 2) != 0,
                             .by_pattern = (flags & 4) != 0};
    uint32_t origin = origin_of(&f);
    if (fwrite(&origin, sizeof origin, 1, stdout) != 1 || fflush(stdout) != 0)
        exit(1);
    for (int i = 0; i < 5; i++)
        free(texts[i]);
}

int main(void)
{
    if (!map_init(&kinds, 16, false)) /* a shared one would keep its smaller tables, for those who read them */
        return 1;
    for (;;)
        switch (get_u32()) {
        case 0:
            map_close(&kinds);
            if (!map_init(&kinds, 16, false))
                return 1;
            break;
        case 1:
            read_deps();
            break;
        case 2:
            answer();
            break;
        default:
            return 1;
        }
}
