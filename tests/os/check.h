/* tests/os/check.h - what the tests of the lower rooms share.  SPDX-License-Identifier: Apache-2.0 */
#ifndef USF_TESTS_OS_CHECK_H
#define USF_TESTS_OS_CHECK_H

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../check.h"

#define SKIP 77

static uint64_t check_random_state;

static inline uint64_t check_random(void)
{
    uint64_t x = check_random_state += 0x9e3779b97f4a7c15ull;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
}
static inline uint32_t check_below(uint32_t n) { return (uint32_t)(check_random() % n); }

/* Every test: dies by itself, says its seed (USF_SEED repeats a run). */
static inline void check_begin(unsigned seconds)
{
    const char *seed = getenv("USF_SEED");
    check_random_state = seed ? strtoull(seed, NULL, 0) : (uint64_t)time(NULL) * 1000003u + (uint64_t)getpid();
    check_seed = check_random_state;
    printf("seed %llu\n", (unsigned long long)check_seed);
    fflush(stdout);
    alarm(seconds);
}
static inline int check_end(void)
{
    if (check_failed()) fprintf(stderr, "%d checks failed\n", *check_failures);
    return check_failed();
}

static char check_dir[64];

static inline const char *check_tempdir_in(const char *parent)
{
    snprintf(check_dir, sizeof check_dir, "%s/usf-test-%d-XXXXXX", parent, getpid());     /* tests/sweep.py knows it by the number */
    if (!mkdtemp(check_dir)) exit(SKIP);
    return check_dir;
}
static inline const char *check_tempdir(void) { return check_tempdir_in("/tmp"); }
/* Where instances live, if there is such a place. */
static inline const char *check_shmdir(void) { return check_tempdir_in(access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm"); }
/* Only below what check_tempdir made. */
static inline void check_remove(void)
{
    char command[128];
    if (!strstr(check_dir, "/usf-test-")) return;
    snprintf(command, sizeof command, "rm -rf '%s'", check_dir);
    if (system(command)) fprintf(stderr, "%s is left over\n", check_dir);
}

/* Write root/path, making its directories. */
__attribute__((format(printf, 3, 4)))
static inline void check_write(const char *root, const char *path, const char *fmt, ...)
{
    char full[1024];
    snprintf(full, sizeof full, "%s/%s", root, path);
    for (char *s = full + 1; (s = strchr(s, '/')); s++) {
        *s = 0;
        mkdir(full, 0755);
        *s = '/';
    }
    FILE *f = fopen(full, "w");
    if (!f) { perror(full); exit(1); }
    va_list ap;
    va_start(ap, fmt);
    vfprintf(f, fmt, ap);
    va_end(ap);
    fclose(f);
}

#endif
