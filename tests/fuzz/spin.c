/* tests/fuzz/spin.c - arbitrary bytes as code, for the recogniser of busy-waiting.  SPDX-License-Identifier: Apache-2.0
 *
 * The first byte says where in the code to look, the second how much room a stub has; the rest is code. */
#include "fuzz.h"
#include "../spin/find.h"

#include <sys/mman.h>

#define MAX_CODE 4096u
#define ELSEWHERE 0x1000000u    /* analysed as if there: what lies in place is remembered */

static uint8_t *code_end, *stub_end;
static size_t room;

static uint8_t *guarded(size_t n)
{
    uint8_t *p = mmap(NULL, n + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED || mprotect(p + n, 4096, PROT_NONE)) exit(1);
    return p + n;
}

void fuzz_start(void)
{
    code_end = guarded(MAX_CODE);
    stub_end = guarded(2 * MAX_CODE);
}

static void found(const struct spin_loop *l, void *arg)
{
    const uint8_t *code = arg;
    uintptr_t at = (uintptr_t)code + ELSEWHERE, end = (uintptr_t)code_end + ELSEWHERE;
    struct spin_map map;
    FUZZ_CHECK(l->head >= at && l->end <= end && l->head < l->end && l->nr_insns <= SPIN_MAX_INSNS);
    FUZZ_CHECK(l->window >= l->head && l->window_len >= 5 && l->window + l->window_len <= end);
    FUZZ_CHECK(l->window_insns >= 1 && l->window_insns <= l->nr_insns);
    for (unsigned i = 1; i < l->nr_insns; i++) FUZZ_CHECK(l->insn[i].off >= l->insn[i - 1].off + l->insn[i - 1].len);
    size_t n = spin_build_stub(code, at, l, 3, stub_end - room, room, at + 0x10000000, &map);
    FUZZ_CHECK(n <= room);
    for (unsigned i = 0; n && i < l->nr_insns; i++) FUZZ_CHECK(map.insn[i] < n);
    for (unsigned i = 0; n && i < SPIN_MAX_BACK; i++) FUZZ_CHECK(map.probe[i] < n);
}

void fuzz_one(const uint8_t *data, size_t size)
{
    struct spin_loop l;
    if (size < 3) return;
    size_t n = size - 2 < MAX_CODE ? size - 2 : MAX_CODE;
    uint8_t *code = code_end - n;
    uintptr_t at = (uintptr_t)code + ELSEWHERE;
    memcpy(code, data + 2, n);
    room = data[1] ? SPIN_MAX_STUB : data[0] * 8u;
    enum spin_verdict v = spin_recognise(code, at, at + n, at + data[0] % n, &l);
    FUZZ_CHECK(*spin_verdict_name(v));
    if (v == SPIN_YES) found(&l, code);
    spin_for_each_loop(code, at, at + n, found, code);
}

size_t fuzz_seed(unsigned n, uint8_t *buf, size_t cap)
{
    static const char *const loops[] = {
        "\x01\xff" "\x8b\x07\x85\xc0\x74\xfa\xc3",                                      /* while (!*p); */
        "\x01\xff" "\xf3\x90\x8b\x07\x85\xc0\x74\xf8\xc3",                              /* ... with pause */
        "\x01\xff" "\xb8\x01\x00\x00\x00\x87\x07\x85\xc0\x75\xf5\xc3",                  /* test and set */
        "\x01\xff" "\x31\xc0\xf0\x0f\xb1\x37\x75\xf8\xc3",                              /* compare and swap */
        "\x01\xff" "\x48\x8b\x47\x08\x48\x39\x07\x75\xf7\xc3",                          /* two fields */
        "\x05\xff" "\xb9\x10\x00\x00\x00\xff\xc9\x74\x06\x8b\x07\x85\xc0\x74\xf6\xc3",  /* a bounded one */
        "\x00\xff" "\x31\xd2\x83\x3c\x97\x00\x75\x09\xff\xc2\x83\xfa\x08\x75\xf3\xeb\xef\xc3",  /* a scan over slots */
    };
    static const uint8_t len[] = {9, 11, 14, 11, 12, 18, 20};
    if (n >= sizeof len || len[n] > cap) return 0;
    memcpy(buf, loops[n], len[n]);
    return len[n];
}
