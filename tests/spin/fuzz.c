/* tests/spin/fuzz.c - arbitrary bytes as code.  SPDX-License-Identifier: Apache-2.0
 * Usage: fuzz SECONDS FILE.so...   Random bytes, and functions of the files with bytes changed, go through the
 * recogniser and the stub builder; both buffers end at an unmapped page. */
#include "elffile.h"
#include "find.h"
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>

static uint64_t rng;
static uint64_t next(void)
{
    rng ^= rng << 13;
    rng ^= rng >> 7;
    return rng ^= rng << 17;
}

#define MAX_CODE 4096
#define ELSEWHERE 0x1000000     /* analysed as if there: what lies in place is remembered */
static uint8_t *code_end, *stub_end;
static unsigned long tries, loops, failures;
static time_t stop;

static uint8_t *guarded(size_t n)
{
    uint8_t *p = mmap(NULL, n + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED || mprotect(p + n, 4096, PROT_NONE)) exit(1);
    return p + n;
}

static void found(const struct spin_loop *l, void *arg)
{
    const uint8_t *code = arg;
    uintptr_t at = (uintptr_t)code + ELSEWHERE, end = (uintptr_t)code_end + ELSEWHERE;
    struct spin_map map;
    size_t cap = next() % 4 ? SPIN_MAX_STUB : next() % SPIN_MAX_STUB;
    loops++;
    bool sane = l->head >= at && l->end <= end && l->window >= l->head && l->nr_insns <= SPIN_MAX_INSNS &&
                l->window + l->window_len <= end && l->window_len >= 5;
    size_t n = spin_build_stub(code, at, l, 3, stub_end - cap, cap, at + 0x10000000, &map);
    for (unsigned i = 0; n && i < l->nr_insns; i++) sane &= map.insn[i] < n;
    if (!sane || n > cap) failures++, printf("bad loop at %lx\n", (long)l->head);
}

static void one(size_t n)
{
    uint8_t *code = code_end - n;
    uintptr_t at = (uintptr_t)code + ELSEWHERE;
    struct spin_loop l;
    tries++;
    for (int i = 0; i < 4; i++) {
        if (spin_recognise(code, at, at + n, at + next() % n, &l) == SPIN_YES) found(&l, code);
    }
    spin_for_each_loop(code, at, at + n, found, code);
}

static void random_bytes(void)
{
    static const uint8_t often[] = { 0x90, 0xf3, 0x90, 0xeb, 0xfe, 0x74, 0xf8, 0x75, 0xf0, 0x8b, 0x07, 0x85, 0xc0, 0x48,
                                     0x39, 0x87, 0xf0, 0x0f, 0xb1, 0xff, 0xc3 };
    size_t n = 1 + next() % 200;
    for (size_t i = 0; i < n; i++)
        code_end[-(long)n + (long)i] = next() % 3 ? often[next() % sizeof often] : (uint8_t)next();
    one(n);
}

static void mutated(uint64_t start, uint64_t end, void *arg)
{
    size_t n = end - start;
    if (n > MAX_CODE || time(NULL) >= stop) return;
    const uint8_t *from = elf_at(arg, start);
    for (int round = 0; round < 8; round++) {
        memcpy(code_end - n, from, n);
        for (uint64_t k = next() % 6; k; k--) code_end[-1 - (long)(next() % n)] ^= (uint8_t)(1u << (next() % 8));
        if (next() % 4 == 0) code_end[-1 - (long)(next() % n)] = (uint8_t)next();
        one(n);
    }
    for (int k = 0; k < 20; k++) random_bytes();
}

int main(int argc, char **argv)
{
    uint64_t seed = (uint64_t)time(NULL) * 2654435761u ^ (uint64_t)getpid() << 20;
    if (getenv("SEED")) seed = strtoull(getenv("SEED"), NULL, 0);
    int seconds = argc > 1 ? atoi(argv[1]) : 2;
    rng = seed | 1;
    printf("seed %#lx\n", (long)seed);
    alarm((unsigned)seconds * 10 + 30);
    stop = time(NULL) + seconds;
    code_end = guarded(2 * MAX_CODE);
    stub_end = guarded(2 * MAX_CODE);
    while (time(NULL) < stop) {
        for (int i = 2; i < argc; i++) {
            struct elf_file f;
            if (!elf_open(&f, argv[i])) return 1;
            elf_functions(&f, mutated, &f);
            munmap((void *)f.p, f.size);
        }
        for (int i = 0; i < 1000; i++) random_bytes();
    }
    printf("%lu pieces of code, %lu loops, %lu failures\n", tries, loops, failures);
    return failures != 0;
}
