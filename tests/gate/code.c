/* tests/gate/code.c - executable memory: reach, writing with and without /proc, never W+X.
 * SPDX-License-Identifier: Apache-2.0 */
#include "gate/internal.h"
#include "test.h"

#include <pthread.h>
#include <sys/mman.h>

static const uint8_t answer_42[] = {0xb8, 42, 0, 0, 0, 0xc3}, answer_43[] = {0xb8, 43, 0, 0, 0, 0xc3};

static int call(void *code) { return ((int (*)(void))code)(); }

static void in_reach(uintptr_t near, void *code)
{
    int64_t d = (int64_t)((uintptr_t)code - near);
    CHECK(code);
    CHECK(d == (int32_t)d);
    CHECK(gate_in_stubs((uintptr_t)code) && gate_contains_pc((uintptr_t)code));
}

static void write_and_call(uintptr_t near)
{
    void *code = gate_alloc_stub(near, 32);
    in_reach(near, code);
    CHECK(gate_write_code(code, answer_42, sizeof answer_42) == 0);
    CHECK(call(code) == 42);
    struct gate_writer none = {.fd = -1};       /* as without /proc */
    CHECK(gate_writer_put(&none, code, answer_43, sizeof answer_43) == 0);
    CHECK(call(code) == 43);
}

static void no_wx(void)
{
    char line[512];
    FILE *f = fopen("/proc/self/maps", "r");
    CHECK(f);
    while (fgets(line, sizeof line, f)) CHECK(!(strstr(line, " rwx")));
    fclose(f);
}

/* An object in the middle of nowhere, and one walled in: 2 GiB on both sides taken. */
static void anywhere(void)
{
    for (uintptr_t near = 1ul << 33; near < 1ul << 46; near *= 7) write_and_call(near);
    uintptr_t centre = 20ul << 40;
    size_t wall = (4ul << 30) + (64ul << 20);
    void *p = mmap((void *)(centre - wall / 2), wall, PROT_NONE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    CHECK(p == (void *)(centre - wall / 2));
    CHECK(gate_alloc_stub(centre, 64) == NULL);
    munmap(p, wall);
    write_and_call(centre);
}

static void *many(void *arg)
{
    uint8_t **out = arg;
    for (int i = 0; i < 2000; i++) out[i] = gate_alloc_stub((uintptr_t)many, 48);
    return NULL;
}

static int by_address(const void *a, const void *b)
{
    uintptr_t x = *(const uintptr_t *)a, y = *(const uintptr_t *)b;
    return (x > y) - (x < y);
}

static void threads(void)
{
    static uint8_t *got[4 * 2000];
    pthread_t t[4];
    for (int i = 0; i < 4; i++) CHECK(pthread_create(&t[i], NULL, many, got + i * 2000) == 0);
    for (int i = 0; i < 4; i++) pthread_join(t[i], NULL);
    qsort(got, 4 * 2000, sizeof *got, by_address);
    for (int i = 0; i < 4 * 2000; i++) {
        in_reach((uintptr_t)many, got[i]);
        if (i) CHECK(got[i] - got[i - 1] >= 48);
    }
}

int main(void)
{
    kill_after(60);
    gate_init(NULL);
    write_and_call((uintptr_t)main);
    write_and_call((uintptr_t)printf);
    anywhere();
    threads();
    no_wx();
    void *brk = malloc(64 << 20);       /* room is left for the heap */
    CHECK(brk);
    free(brk);
    return 0;
}
