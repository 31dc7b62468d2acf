/* tests/gate/shapes.c - sites of all shapes give the right result and change nothing but rax, rcx and r11.
 * SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <sys/syscall.h>
#include <unistd.h>

enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R9, R10, R11, R12, R13, R14, R15, FLAGS, SKEW, NR };
#define ARITHMETIC 0xcd5ul      /* CF PF AF ZF SF DF OF */

int shape_regs(uint64_t r[NR]);
long site_plain(long), site_after(long), site_loop(long), site_rip_before(long), site_rip_after(long),
    site_target_before(long), left_both(long), site_pair(long), site_doubled(long), site_lock_skip(long),
    site_straddle(long), site_pushes(long), site_cold(long), site_table(long);

static uint64_t random64(void)
{
    uint64_t v = 0;
    for (int i = 0; i < 5; i++) v = v << 15 ^ (uint64_t)rand();
    return v;
}

static void registers(long nr, long want)
{
    uint64_t in[NR], out[NR];
    for (int i = 0; i < NR; i++) in[i] = random64();
    in[RAX] = (uint64_t)nr;
    in[FLAGS] = (in[FLAGS] & ARITHMETIC) | 0x202;
    in[SKEW] = (unsigned)rand() % 64;
    memcpy(out, in, sizeof in);
    CHECK(shape_regs(out) == 0);        /* the red zone is whole */
    CHECK((long)out[RAX] == want);
    CHECK(out[RSP] == 0);
    for (int i = 0; i < R15 + 1; i++)
        if (i != RAX && i != RCX && i != R11 && i != RSP) CHECK(out[i] == in[i]);
    if ((out[FLAGS] ^ in[FLAGS]) & ARITHMETIC) fprintf(stderr, "flags %lx became %lx\n", in[FLAGS], out[FLAGS]);
    CHECK(((out[FLAGS] ^ in[FLAGS]) & ARITHMETIC) == 0);
}

static void one(const char *name, long (*fn)(long), long times)
{
    uint64_t before = gated() ? gate_test_calls[SYS_getppid] : 0;
    CHECK(fn(SYS_getppid) == getppid());
    if (!gated() || getenv("GATE_TEST_HANDLERS") == NULL || strcmp(getenv("GATE_TEST_HANDLERS"), "all")) return;
    long seen = (long)(gate_test_calls[SYS_getppid] - before) - 1;     /* libc's own */
    if (seen != times) fprintf(stderr, "%s: %ld calls seen\n", name, seen);
    CHECK(seen == times);
}

int main(int argc, char **argv)
{
    unsigned seed = argc > 1 ? (unsigned)atoi(argv[1]) : (unsigned)time(NULL);
    printf("seed %u, gate %s\n", seed, gated() ? "on" : "off");
    srand(seed);
    kill_after(60);
    for (int i = 0; i < 2000; i++) {
        registers(SYS_getppid, getppid());
        registers(SYS_getpid, getpid());
        registers(400 + rand() % 20, -38);          /* holes in the table of calls */
        registers(511, -38);
        registers(512, -38);
        registers(0x10000 + SYS_getppid, -38);      /* low 16 bits as getppid */
        registers(-1, -38);
    }
    one("plain", site_plain, 1);
    one("after", site_after, 1);
    one("loop", site_loop, 4);
    one("rip before", site_rip_before, 1);
    one("rip after", site_rip_after, 1);
    one("target before", site_target_before, 1);
    one("both", left_both, 0);
    one("lock skip", site_lock_skip, 1);
    one("straddle", site_straddle, 1);
    one("pushes", site_pushes, 1);
    one("cold", site_cold, 1);
    CHECK(site_cold(-1) == getppid());
    CHECK(site_doubled(SYS_sched_yield) == -9);     /* then read(24, ...) */
    CHECK(site_pair(0) == getpid());
    CHECK(site_table(0) == getppid() && site_table(1) == getpid());
    CHECK(site_table(2) == (long)getuid() && site_table(3) == (long)getgid());
    return 0;
}
