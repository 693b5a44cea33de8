/* What the agent does by itself, compared with what libgcc and libc do. */
#define _GNU_SOURCE
#include "scenario.h"

#include "../src/core/freestanding.h"

#include <sys/stat.h>

static uint64_t wide_share(uint64_t whole, uint64_t part, uint64_t of)
{
    unsigned __int128 all = of == 0 ? 0 : (unsigned __int128)whole * part / of;
    return all > UINT64_MAX ? UINT64_MAX : (uint64_t)all;
}

/* Up to `bits` bits, of which few or many are set, so that carries and borrows go far. */
static uint64_t number_of_bits(uint64_t *seed, uint32_t bits)
{
    uint64_t n = random_number(seed), kind = random_number(seed) % 4;
    n = kind == 0 ? n & random_number(seed) & random_number(seed) : kind == 1 ? n | random_number(seed) | random_number(seed) : n;
    return bits == 0 ? 0 : n >> (64 - bits);
}

static void shares(void)
{
    static const uint64_t edges[] = {0, 1, 2, 3, 1000000000, 2999999999, UINT32_MAX, UINT64_C(1) << 32, INT64_MAX, UINT64_C(1) << 63, UINT64_MAX - 1, UINT64_MAX};
    const size_t n = sizeof edges / sizeof *edges;
    uint64_t seed = 11, wide = 0, beyond = 0;
    for (size_t i = 0; i < n * n * n; i++) {
        uint64_t a = edges[i % n], b = edges[i / n % n], c = edges[i / n / n];
        check(share(a, b, c) == wide_share(a, b, c), "%llu * %llu / %llu = %llu", (unsigned long long)a, (unsigned long long)b, (unsigned long long)c,
              (unsigned long long)share(a, b, c));
    }
    for (uint32_t i = 0; i < 2000000 / SCALE && failures == 0; i++) {
        uint64_t r = random_number(&seed);
        uint64_t a = number_of_bits(&seed, (uint32_t)(r % 65)), b = number_of_bits(&seed, (uint32_t)(r / 65 % 65)), c = number_of_bits(&seed, (uint32_t)(r / 65 / 65 % 65));
        uint64_t want = wide_share(a, b, c);
        check(share(a, b, c) == want, "%llu * %llu / %llu = %llu, not %llu", (unsigned long long)a, (unsigned long long)b, (unsigned long long)c,
              (unsigned long long)share(a, b, c), (unsigned long long)want);
        bool is_wide = ((unsigned __int128)a * b) >> 64 != 0;
        wide += is_wide && want != UINT64_MAX;
        beyond += is_wide && want == UINT64_MAX;
    }
    check(wide > 10000 / SCALE && beyond > 10000 / SCALE, "%llu products of more than 64 bits, %llu results", (unsigned long long)wide, (unsigned long long)beyond);
}

static void statuses(void)
{
    static const char *const paths[] = {"/proc/self/exe", "/dev/null", "/", "/proc/self/ns/pid", "/dev/shm"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        struct stat want, have;
        int fd = open(paths[i], O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        if (fd < 0 || fstat(fd, &want) != 0) {
            check(false, "%s cannot be opened", paths[i]);
            continue;
        }
        for (int by_path = 0; by_path < 2; by_path++) {
            int rc = by_path ? path_status(paths[i], &have) : file_status(fd, &have);
            check(rc == 0 && have.st_ino == want.st_ino && have.st_dev == want.st_dev && have.st_mode == want.st_mode && have.st_size == want.st_size,
                  "%s: %d, inode %llu, mode %o, %lld bytes", paths[i], rc, (unsigned long long)have.st_ino, have.st_mode, (long long)have.st_size);
        }
        close(fd);
    }
    struct stat none;
    check(path_status("/nowhere/at/all", &none) == -1 && file_status(-1, &none) == -1, "what does not exist has a status");
}

const struct scenario freestanding_scenarios[] = {{"shares", shares}, {"statuses", statuses}, {NULL, NULL}};
