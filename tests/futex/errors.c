/* tests/futex/errors.c - calls that return at once.  SPDX-License-Identifier: Apache-2.0
 *
 * What each kind of bad argument gets, which of two mistakes is reported first, what is not a mistake
 * although it looks like one, and how arguments wider than the kernel's are cut.
 */
#include "worker.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define P FUTEX_PRIVATE_FLAG
#define RT FUTEX_CLOCK_REALTIME
#define BAD_POINTER ((char *)0x10)
#define KERNEL_POINTER ((char *)0xffff800000000000ul)

static char *readable, *unmapped, *no_access;

static void try_call(const char *what, uint32_t *word, uint32_t start, long op, long val, long t, long u2,
                     long val3)
{
    if ((char *)word >= (char *)sh && (char *)word < (char *)(sh + 1)) *word = start;
    long r = SYS(SYS_futex, word, op, val, t, u2, val3);
    say("%s: %s", what, show(r));
}
#define TRY(what, word, start, op, val, t, u2, val3) \
    try_call(what, (uint32_t *)(word), start, op, (long)(val), (long)(t), (long)(u2), (long)(val3))

static void wait_errors(uint32_t *w)
{
    struct timespec zero = { 0, 0 }, soon = { 0, 1000000 }, nsec = { 0, 1000000000 }, neg_ns = { 0, -1 },
                    neg_s = { -1, 0 }, past = { 1, 0 };
    TRY("wait, other value", w, 5, FUTEX_WAIT | P, 4, 0, 0, 0);
    TRY("wait, other value, shared", w, 5, FUTEX_WAIT, 4, 0, 0, 0);
    TRY("wait, zero timeout", w, 5, FUTEX_WAIT | P, 5, &zero, 0, 0);
    TRY("wait, zero timeout, other value", w, 5, FUTEX_WAIT | P, 4, &zero, 0, 0);
    TRY("wait, 1 ms", w, 5, FUTEX_WAIT | P, 5, &soon, 0, 0);
    TRY("wait, 1 ms, shared", w, 5, FUTEX_WAIT, 5, &soon, 0, 0);
    TRY("wait, nsec too large", w, 5, FUTEX_WAIT | P, 5, &nsec, 0, 0);
    TRY("wait, nsec negative", w, 5, FUTEX_WAIT | P, 5, &neg_ns, 0, 0);
    TRY("wait, sec negative", w, 5, FUTEX_WAIT | P, 5, &neg_s, 0, 0);
    TRY("wait, bad timeout, other value", w, 5, FUTEX_WAIT | P, 4, &nsec, 0, 0);
    TRY("wait, bad timeout, null word", 0, 0, FUTEX_WAIT | P, 4, &nsec, 0, 0);
    TRY("wait, bad timeout, misaligned", (char *)w + 1, 0, FUTEX_WAIT | P, 4, &nsec, 0, 0);
    TRY("wait, timeout pointer bad", w, 5, FUTEX_WAIT | P, 5, BAD_POINTER, 0, 0);
    TRY("wait, timeout pointer bad, other value", w, 5, FUTEX_WAIT | P, 4, BAD_POINTER, 0, 0);
    TRY("wait, timeout pointer in the kernel", w, 5, FUTEX_WAIT | P, 5, KERNEL_POINTER, 0, 0);
    TRY("wait, realtime flag", w, 5, FUTEX_WAIT | P | RT, 5, &soon, 0, 0);
    TRY("wait, realtime flag, other value", w, 5, FUTEX_WAIT | P | RT, 4, 0, 0, 0);
    TRY("wait bitset, zero bitset", w, 5, FUTEX_WAIT_BITSET | P, 5, 0, 0, 0);
    TRY("wait bitset, zero bitset, other value", w, 5, FUTEX_WAIT_BITSET | P, 4, 0, 0, 0);
    TRY("wait bitset, zero bitset, null word", 0, 0, FUTEX_WAIT_BITSET | P, 4, 0, 0, 0);
    TRY("wait bitset, zero bitset, bad timeout", w, 5, FUTEX_WAIT_BITSET | P, 5, &nsec, 0, 0);
    TRY("wait bitset, past", w, 5, FUTEX_WAIT_BITSET | P, 5, &past, 0, 1);
    TRY("wait bitset, past, realtime", w, 5, FUTEX_WAIT_BITSET | P | RT, 5, &past, 0, 1);
    TRY("wait bitset, past, other value", w, 5, FUTEX_WAIT_BITSET | P, 4, &past, 0, 1);
    TRY("wait bitset, absolute zero", w, 5, FUTEX_WAIT_BITSET | P, 5, &zero, 0, 1);
    TRY("wait bitset, bad timeout, realtime", w, 5, FUTEX_WAIT_BITSET | P | RT, 5, &neg_s, 0, 1);
    TRY("wait, third and fourth argument ignored", w, 5, FUTEX_WAIT | P, 4, 0, BAD_POINTER, 0);
}

static void address_errors(uint32_t *w)
{
    struct timespec soon = { 0, 1000000 };
    static const int ops[] = { FUTEX_WAIT, FUTEX_WAKE, FUTEX_WAIT_BITSET, FUTEX_WAKE_BITSET, FUTEX_REQUEUE,
                               FUTEX_CMP_REQUEUE, FUTEX_WAKE_OP };
    static const char *const names[] = { "wait", "wake", "wait_bitset", "wake_bitset", "requeue",
                                         "cmp_requeue", "wake_op" };
    char text[96];
    for (unsigned i = 0; i < sizeof ops / sizeof *ops; i++)
        for (int priv = 0; priv < 2; priv++) {
            int op = ops[i] | (priv ? P : 0);
            bool wait = ops[i] == FUTEX_WAIT || ops[i] == FUTEX_WAIT_BITSET;
            void *t = wait ? (void *)&soon : (void *)1;
            struct { const char *what; void *p; } bad[] = {
                { "null", NULL }, { "misaligned", (char *)w + 2 }, { "unmapped", unmapped },
                { "no access", no_access }, { "in the kernel", KERNEL_POINTER },
                { "misaligned, unmapped", unmapped + 1 }, { "misaligned, in the kernel", KERNEL_POINTER + 3 },
            };
            for (unsigned b = 0; b < sizeof bad / sizeof *bad; b++) {
                *w = 0;
                snprintf(text, sizeof text, "%s%s, word %s", names[i], priv ? "" : " shared", bad[b].what);
                TRY(text, bad[b].p, 0, op, 1, t, w + 1, wait ? 1 : 0);
                if (i < 4) continue;
                snprintf(text, sizeof text, "%s%s, second word %s", names[i], priv ? "" : " shared", bad[b].what);
                TRY(text, w, 0, op, 1, t, bad[b].p, 0);
            }
        }
    TRY("wait on read-only memory", readable, 0, FUTEX_WAIT | P, 0, &soon, 0, 0);
    TRY("wait on read-only memory, other value", readable, 0, FUTEX_WAIT | P, 1, 0, 0, 0);
    TRY("wake on read-only memory", readable, 0, FUTEX_WAKE | P, 1, 0, 0, 0);
    TRY("cmp_requeue from read-only memory", readable, 0, FUTEX_CMP_REQUEUE | P, 1, 1, w, 0);
    TRY("wake_op to read-only memory", w, 0, FUTEX_WAKE_OP | P, 1, 1, readable, FUTEX_OP(FUTEX_OP_SET, 1, 0, 0));
}

static void operation_errors(uint32_t *w)
{
    char text[64];
    for (int op = 0; op < 20; op++) {
        if (op == FUTEX_WAIT || op == FUTEX_WAIT_BITSET || op == FUTEX_LOCK_PI || op == FUTEX_LOCK_PI2) continue;
        snprintf(text, sizeof text, "operation %d on a quiet word", op);
        TRY(text, w, 5, op | P, 1, 0, w + 1, 1);
        snprintf(text, sizeof text, "operation %d with the realtime flag", op);
        TRY(text, w, 5, op | P | RT, 1, 0, w + 1, 1);
    }
    TRY("unknown flag bit 9", w, 5, 512, 5, 0, 0, 0);
    TRY("unknown flag bit 30", w, 5, FUTEX_WAKE | P | 1 << 30, 5, 0, 0, 0);
    TRY("unknown operation 127", w, 5, 127, 5, 0, 0, 0);
    TRY("operation -1", w, 5, -1, 5, 0, 0, 0);
    TRY("operation, upper half set: wake", w, 5, 0x7eaddead00000000 | FUTEX_WAKE | P, 5, 0, 0, 0);
    TRY("operation, upper half set: wait", w, 5, 0x1234567800000000 | FUTEX_WAIT | P, 4, 0, 0, 0);
    TRY("value, upper half set: other", w, 5, FUTEX_WAIT | P, 0x100000004, 0, 0, 0);
    struct timespec soon = { 0, 1000000 };
    TRY("value, upper half set: same", w, 5, FUTEX_WAIT | P, 0x100000005, &soon, 0, 0);
    TRY("value, sign-extended: same", w, 0xffffffff, FUTEX_WAIT | P, -1, &soon, 0, 0);
    TRY("value, zero-extended: same", w, 0xffffffff, FUTEX_WAIT | P, 0xffffffff, &soon, 0, 0);
    TRY("bitset, upper half only", w, 5, FUTEX_WAIT_BITSET | P, 4, 0, 0, 0x100000000);
    TRY("wake bitset, zero", w, 5, FUTEX_WAKE_BITSET | P, 1, 0, 0, 0);
    TRY("wake bitset, upper half only", w, 5, FUTEX_WAKE_BITSET | P, 1, 0, 0, 0x100000000);
    TRY("wake, timeout ignored", w, 5, FUTEX_WAKE | P, 1, BAD_POINTER, BAD_POINTER, 0);
}

static void requeue_errors(uint32_t *w)
{
    TRY("requeue, wake negative", w, 5, FUTEX_REQUEUE | P, -1, 1, w + 1, 0);
    TRY("requeue, move negative", w, 5, FUTEX_REQUEUE | P, 1, -1, w + 1, 0);
    TRY("requeue, move negative in 32 bits", w, 5, FUTEX_REQUEUE | P, 1, 0xffffffff, w + 1, 0);
    TRY("requeue, move wide", w, 5, FUTEX_REQUEUE | P, 1, 0x100000000, w + 1, 0);
    TRY("requeue, both 0", w, 5, FUTEX_REQUEUE | P, 0, 0, w + 1, 0);
    TRY("requeue onto itself", w, 5, FUTEX_REQUEUE | P, 1, 1, w, 0);
    TRY("cmp_requeue, other value", w, 5, FUTEX_CMP_REQUEUE | P, 1, 1, w + 1, 4);
    TRY("cmp_requeue, same value", w, 5, FUTEX_CMP_REQUEUE | P, 1, 1, w + 1, 5);
    TRY("cmp_requeue, wide value", w, 5, FUTEX_CMP_REQUEUE | P, 1, 1, w + 1, 0x100000005);
    TRY("cmp_requeue, other value and negative", w, 5, FUTEX_CMP_REQUEUE | P, -1, 1, w + 1, 4);
    TRY("cmp_requeue, onto itself", w, 5, FUTEX_CMP_REQUEUE | P, 1, 1, w, 5);
}

static void wake_op_values(uint32_t *w)
{
    static const uint32_t starts[] = { 0, 1, 0x80000000, 0xffffffff, 0x0f0f0f0f };
    static const int args[] = { 0, 1, 31, 32, 0x7ff, 0x800, 0xfff };
    for (int op = 0; op < 16; op++)
        for (unsigned a = 0; a < sizeof args / sizeof *args; a++) {
            uint32_t start = starts[(op + a) % 5];
            w[1] = start;
            long r = SYS(SYS_futex, w, FUTEX_WAKE_OP | P, 1, 1, w + 1,
                         (uint32_t)op << 28 | (uint32_t)args[a] << 12);
            say("wake_op op %d argument %#x on %#x: %s, word %#x", op, args[a], start, show(r), w[1]);
        }
    for (int cmp = 0; cmp < 16; cmp++) {
        w[1] = 7;
        long r = SYS(SYS_futex, w, FUTEX_WAKE_OP | P, 1, 1, w + 1, (uint32_t)FUTEX_OP_ADD << 28 | (uint32_t)cmp << 24 | 1 << 12 | 7);
        say("wake_op comparison %d: %s, word %u", cmp, show(r), w[1]);
    }
}

void scenario_errors(uint64_t seed)
{
    (void)seed;
    long page = sysconf(_SC_PAGESIZE);
    workers_start(0, false);
    char *area = mmap(NULL, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (area == MAP_FAILED) give_up("mmap");
    memset(area, 0, 3 * page);
    readable = area;
    no_access = area + page;
    unmapped = area + 2 * page;
    mprotect(readable, page, PROT_READ);
    mprotect(no_access, page, PROT_NONE);
    munmap(unmapped, page);
    uint32_t *w = sh->word;
    wait_errors(w);
    address_errors(w);
    operation_errors(w);
    requeue_errors(w);
    wake_op_values(w);
    munmap(area, 2 * page);
    workers_stop();
}
