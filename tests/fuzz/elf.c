/* tests/fuzz/elf.c - ELF files, as the patcher, the tool and `usf doctor` read them.  SPDX-License-Identifier: Apache-2.0 */
#include "inspect/elf.h"
#include "inspect/symbol.h"
#include "arch/code.h"
#include "fuzz.h"
#include "gate/gate.h"
#include "gate/scan.h"
#include "teams/teams.h"

#include <sys/mman.h>
#include <unistd.h>

static int file;

void fuzz_start(void)
{
    file = memfd_create("fuzz-elf", MFD_CLOEXEC);
    if (file < 0) exit(1);
}

static void seen(const struct gate_site *s, void *arg)
{
    FUZZ_CHECK(s->cls <= GATE_SITE_LEFT && s->why);
    (*(int *)arg)++;
}

static void pad(uint64_t pc, void *arg)
{
    (void)pc;
    (*(int *)arg)++;
}

/* What the scan says of the file, and what its records promise. */
static void scan(const uint8_t *data, size_t size)
{
    static struct gate_image im;
    int calls = 0, n = gate_scan_image(data, size, seen, &calls);
    FUZZ_CHECK(n < 0 || n == calls);
    const char *why = NULL;
    bool hidden;
    int hooks = teams_scan_image(data, size, &why, &hidden);
    FUZZ_CHECK(hooks >= -1 && (hooks >= 0 || why));
    if (gate_image_from_file(&im, data, size)) return;
    struct gate_list list = {0};
    FUZZ_CHECK(im.nr_segs <= GATE_MAX_SEGS);
    if (gate_scan(&im, &list) == 0) {
        for (uint32_t i = 0; i < list.nr; i++) {
            const struct gate_rec *r = &list.rec[i];
            FUZZ_CHECK(gate_rec_matches(&im, r));
            if (r->cls == GATE_SITE_LEFT) continue;
            FUZZ_CHECK(r->len >= ARCH_JUMP_LEN && r->len <= GATE_WINDOW_MAX && r->before + r->insn <= r->len);
            FUZZ_CHECK(r->rip_at == GATE_NO_RIP || (r->rip_at + 4 <= r->rip_end && r->rip_end <= r->len));
            if (i && list.rec[i - 1].cls != GATE_SITE_LEFT)     /* no window reaches into the next */
                FUZZ_CHECK(list.rec[i - 1].at - list.rec[i - 1].before + list.rec[i - 1].len <= r->at - r->before);
        }
    }
    gate_list_free(&list);
    struct gate_fde f;
    for (unsigned i = 0; i < im.nr_segs; i++) {
        uint64_t at = im.seg[i].addr + im.seg[i].len / 2;
        if (gate_fde_find(&im, at, &f)) {
            FUZZ_CHECK(f.start <= at && at < f.end);
            gate_landing_pads(&im, &f, pad, &calls);
        }
        gate_fde_before(&im, at, &f);
    }
}

static void inspect(const uint8_t *data, size_t size)
{
    static struct elf_facts facts;
    char name[32];
    uint64_t off, lo, hi;
    if (ftruncate(file, 0) || pwrite(file, data, size, 0) != (ssize_t)size) exit(1);
    memset(name, 0, sizeof name);
    elf_inspect(file, &facts);
    FUZZ_CHECK(memchr(facts.interp, 0, sizeof facts.interp) && memchr(facts.build_id, 0, sizeof facts.build_id));
    FUZZ_CHECK(*elf_machine_name((uint16_t)(size * 31)));
    if (elf_extent(file, &lo, &hi)) FUZZ_CHECK(lo < hi && lo % 4096 == 0);
    for (uint64_t at = 0; at < 0x4000; at += 0x333)
        if (elf_symbol(file, at, name, sizeof name, &off)) FUZZ_CHECK(*name && memchr(name, 0, sizeof name) && off <= at);
}

void fuzz_one(const uint8_t *data, size_t size)
{
    scan(data, size);
    inspect(data, size);
}

/* Enough of a header to be looked into; whole objects come as files (seed_object.c). */
size_t fuzz_seed(unsigned n, uint8_t *buf, size_t cap)
{
    return n ? 0 : fuzz_elf_header(buf, cap);
}
