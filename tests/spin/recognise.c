/* tests/spin/recognise.c - every yes_ function holds a spin-wait, no no_ function does.
 * SPDX-License-Identifier: Apache-2.0
 * Usage: recognise FILE.so...   (compiled from loops.c in several ways; each stub is built as well) */
#include "elffile.h"
#include "find.h"
#include <stdio.h>

static struct elf_file file;
static int failures, checked;
static const char *path, *name;

struct seen { const uint8_t *code; uint64_t start, end; int loops; };

static void check_loop(const struct spin_loop *l, void *arg)
{
    struct seen *s = arg;
    uint8_t buf[SPIN_MAX_STUB];
    struct spin_map map;
    s->loops++;
    size_t n = spin_build_stub(s->code, s->start, l, 7, buf, sizeof buf, s->start + 0x100000, &map);
    bool ok = n > 0 && l->window >= l->head && l->window_len >= 5 && l->window + l->window_len <= s->end;
    for (unsigned i = 0; i < l->nr_insns; i++) {
        /* every instruction of the loop finds the same loop */
        struct spin_loop again;
        uintptr_t pc = l->head + l->insn[i].off;
        if (l->insn[i].flags & SPIN_I_ABSORBED) continue;
        ok &= map.insn[i] < n && spin_recognise(s->code, s->start, s->end, pc, &again) == SPIN_YES;
    }
    if (!ok) {
        printf("%s: %s: bad loop at %lx (stub %zu)\n", path, name, (long)l->head, n);
        failures++;
    }
}

static void check(uint64_t start, uint64_t size)
{
    bool yes = !strncmp(name, "yes_", 4);
    struct seen s = { elf_at(&file, start), start, start + size, 0 };
    if (!yes && strncmp(name, "no_", 3)) return;
    spin_for_each_loop(s.code, start, start + size, check_loop, &s);
    checked++;
    if (yes == (s.loops > 0)) return;
    failures++;
    printf("%s: %s [%lx, %lx): %d loops\n", path, name, (long)start, (long)(start + size), s.loops);
}

static void check_symbols(void)
{
    const Elf64_Ehdr *h = (const void *)file.p;
    const Elf64_Shdr *sh = (const void *)(file.p + h->e_shoff);
    for (int i = 0; i < h->e_shnum; i++) {
        if (sh[i].sh_type != SHT_DYNSYM) continue;
        const Elf64_Sym *sym = (const void *)(file.p + sh[i].sh_offset);
        const char *str = (const char *)file.p + sh[sh[i].sh_link].sh_offset;
        for (size_t k = 0; k < sh[i].sh_size / sizeof *sym; k++) {
            name = str + sym[k].st_name;
            if (sym[k].st_size && ELF64_ST_TYPE(sym[k].st_info) == STT_FUNC) check(sym[k].st_value, sym[k].st_size);
        }
    }
}

int main(int argc, char **argv)
{
    alarm(60);
    for (int i = 1; i < argc; i++) {
        path = argv[i];
        if (!elf_open(&file, path)) {
            printf("%s: not readable\n", path);
            return 1;
        }
        check_symbols();
    }
    printf("%d functions checked, %d failures\n", checked, failures);
    return failures || !checked;
}
