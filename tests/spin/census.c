/* tests/spin/census.c - list the spin-waits of ELF files.  SPDX-License-Identifier: Apache-2.0
 * Usage: census FILE...   one line per loop; census -p FILE PC...  verdicts for addresses (hex) */
#include "elffile.h"
#include "find.h"
#include <stdio.h>

static const struct elf_file *file;
static int loops, functions, quiet;

static void show(const struct spin_loop *l, void *arg)
{
    loops++;
    if (quiet) return;
    printf("%lx-%lx window %lx+%u/%u insns %u%s%s%s\n", (long)l->head, (long)l->end, (long)l->window,
           l->window_len, l->window_insns, l->nr_insns, l->pure ? " pure" : "",
           l->has_pause ? " pause" : "", l->atomic ? " atomic" : "");
}
static void look(uint64_t start, uint64_t end, void *arg)
{
    functions++;
    spin_for_each_loop(elf_at(file, start), start, end, show, NULL);
}
static void at(uint64_t start, uint64_t end, void *arg)
{
    uint64_t pc = *(uint64_t *)arg;
    if (pc < start || pc >= end) return;
    struct spin_loop l = { 0 };
    enum spin_verdict v = spin_recognise(elf_at(file, start), start, end, pc, &l);
    printf("%lx in [%lx,%lx): %s  ", (long)pc, (long)start, (long)end, spin_verdict_name(v));
    if (v == SPIN_YES) show(&l, NULL);
    else printf("\n");
}

int main(int argc, char **argv)
{
    struct elf_file e;
    bool points = argc > 3 && !strcmp(argv[1], "-p");
    int i = points ? 2 : 1;
    if (argc > 2 && !strcmp(argv[1], "-q")) quiet = 1, i = 2;
    for (; i < argc; i++) {
        if (!elf_open(&e, argv[i])) return 1;
        file = &e;
        if (points) {
            for (int k = i + 1; k < argc; k++) {
                uint64_t pc = strtoull(argv[k], NULL, 16);
                elf_functions(&e, at, &pc);
            }
            return 0;
        }
        loops = functions = 0;
        elf_functions(&e, look, NULL);
        printf("%s: %d functions, %d loops\n", argv[i], functions, loops);
    }
    return 0;
}
