/* tests/spin/learn.c - learned sites: kept, applied, and never trusted.  SPDX-License-Identifier: Apache-2.0 */
#include "../check.h"
#include "doubles.h"
#include "spin/spin.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

void live_barrier(void), live_short(void), live_nops(void), live_spinlock(void);
static char dir[] = "/tmp/usf-spin-XXXXXX", path[256], file[512];
static const uint8_t id[20] = { 0xde, 0xad, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 0xff };
static uint8_t original[64];

static void restore(void)
{
    for (uint32_t i = 0; i < usf_spin_nr_sites; i++) {
        struct spin_site *s = &usf_spin_sites[i];
        const struct spin_loop *l = &s->loop;
        if (s->committed) gate_write_code((void *)l->window, original + (l->window - (uintptr_t)live_barrier), l->window_len);
        s->committed = false;
    }
}
static int apply(void)
{
    int n = spin_apply_learned(dir, &test_object);
    restore();
    return n;
}
static void put(const char *text, size_t n)
{
    int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    EXPECT(fd >= 0 && write(fd, text, n) == (ssize_t)n);
    close(fd);
}
static unsigned mode_of(const char *p)
{
    struct stat st;
    return lstat(p, &st) ? 0 : st.st_mode & 07777;
}
static int files_in(const char *p)
{
    int n = 0;
    DIR *d = opendir(p);
    for (struct dirent *e; d && (e = readdir(d));) n += e->d_name[0] != '.' || strlen(e->d_name) > 2;
    if (d) closedir(d);
    return n;
}

static struct spin_loop recognised(void (*fn)(void), uintptr_t end)
{
    struct spin_loop l = { 0 };
    uintptr_t at = (uintptr_t)fn;
    enum spin_verdict v = SPIN_NO_LOOP;
    for (uintptr_t pc = at; pc < end && v != SPIN_YES; pc++) v = spin_recognise((void *)at, at, end, pc, &l);
    EXPECT(v == SPIN_YES);
    return l;
}

static void test_keep(const struct spin_loop *a, const struct spin_loop *b)
{
    EXPECT(apply() == 0);
    EXPECT(spin_learn(dir, &test_object, a) == 0);
    EXPECT(mode_of(path) == 0700 && mode_of(file) == 0600);
    EXPECT(apply() == 1);
    EXPECT(spin_learn(dir, &test_object, a) == 0);
    EXPECT(apply() == 1);
    EXPECT(spin_learn(dir, &test_object, b) == 0);
    EXPECT(apply() == 2);
    EXPECT(files_in(path) == 1);
}

static void test_distrust(void)
{
    char other[600];
    chmod(file, 0666);
    EXPECT(apply() == 0);
    chmod(file, 0600);
    chmod(path, 0755);
    EXPECT(apply() == 0);
    chmod(path, 0700);
    EXPECT(apply() == 2);
    snprintf(other, sizeof other, "%s/elsewhere", dir);
    rename(file, other);
    EXPECT(symlink(other, file) == 0 && apply() == 0);
    unlink(file);
    rename(other, file);
    rename(path, other);
    EXPECT(symlink(other, path) == 0 && apply() == 0);
    unlink(path);
    rename(other, path);
    EXPECT(apply() == 2);
    if (geteuid() == 0) {
        EXPECT(chown(file, 12345, 0) == 0 && apply() == 0);
        EXPECT(chown(file, 0, 0) == 0 && apply() == 2);
    }
    unlink(file);
    EXPECT(mkfifo(file, 0600) == 0 && apply() == 0);
    unlink(file);
}

static void test_contents(const struct spin_loop *a)
{
    char text[128];
    int n = snprintf(text, sizeof text, "usf-spin 1\n%lx\n", (long)(a->pc - test_object.base));
    put(text, (size_t)n);
    EXPECT(apply() == 1);
    put(text, (size_t)n - 1);                       /* last line not ended */
    EXPECT(apply() == 0);
    text[9] = '2';
    put(text, (size_t)n);
    EXPECT(apply() == 0);
    n = snprintf(text, sizeof text, "usf-spin 1\n%lx\n%lx\nffffffffffffffff\n%lx\n", (long)(a->pc - test_object.base + 1),
                 (long)((uintptr_t)live_spinlock - test_object.base), (long)(a->pc - test_object.base));
    put(text, (size_t)n);
    EXPECT(apply() == 0);                            /* middle of an instruction, no loop, malformed: end */
    EXPECT(spin_learn(dir, &test_object, a) == 0);
    EXPECT(apply() == 1);
}

static void test_random(unsigned seed)
{
    static const char letters[] = "0123456789abcdef\n usf-pin1x";
    char text[6000];
    srandom(seed);
    for (int i = 0; i < 300; i++) {
        size_t n = (size_t)random() % sizeof text, k = 0;
        if (random() % 2) k = (size_t)snprintf(text, sizeof text, "usf-spin 1\n");
        for (; k < n; k++) text[k] = random() % 4 ? letters[(size_t)random() % (sizeof letters - 1)] : (char)random();
        put(text, n);
        apply();
    }
}

int main(void)
{
    unsigned seed = (unsigned)time(NULL) ^ (unsigned)getpid();
    check_seed = seed;
    printf("seed %u\n", seed);
    alarm(60);
    if (!mkdtemp(dir)) return 1;
    snprintf(path, sizeof path, "%s/spin", dir);
    snprintf(file, sizeof file, "%s/dead0102030405060708090a0b0c0d0e0f1011ff", path);
    memcpy(original, (void *)live_barrier, sizeof original);
    test_object.text = (uintptr_t)live_barrier;
    test_object.text_end = (uintptr_t)live_spinlock;
    test_object.base = test_object.text & ~0xfffull;
    test_object.build_id = id;
    test_object.build_id_len = sizeof id;
    test_fstart[0] = (uintptr_t)live_barrier;
    test_fstart[1] = test_fend[0] = (uintptr_t)live_short;
    test_fstart[2] = test_fend[1] = (uintptr_t)live_nops;
    test_fend[2] = (uintptr_t)live_spinlock;
    test_nr_functions = 3;
    struct spin_loop a = recognised(live_barrier, test_fend[0]), b = recognised(live_nops, test_fend[2]), none = { 0 };
    test_keep(&a, &b);
    test_distrust();
    test_contents(&a);
    test_random(seed);
    EXPECT(spin_learn(dir, &test_object, &none) == -EINVAL);
    unlink(file);
    test_object.build_id_len = 0;       /* then by the file itself */
    EXPECT(spin_learn(dir, &test_object, &a) == -ENOENT && apply() == 0);
    test_object.path = "/proc/self/exe";
    EXPECT(spin_learn(dir, &test_object, &a) == 0 && apply() == 1 && files_in(path) == 1);
    DIR *d = opendir(path);
    for (struct dirent *e; d && (e = readdir(d));) unlinkat(dirfd(d), e->d_name, 0);
    if (d) closedir(d);
    rmdir(path);
    EXPECT(rmdir(dir) == 0);
    return check_failed();
}
