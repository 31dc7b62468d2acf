/* tests/spin/libraries.c - the waits of the libraries that people run.  SPDX-License-Identifier: Apache-2.0
 * Each library that is installed is looked at; 77 if none is. */
#include "elffile.h"
#include "find.h"
#include <stdio.h>

#define LIB "/usr/lib/x86_64-linux-gnu/"

/* Between least and most waits within `around` bytes of a function, or in the whole object (with_pause: counting
 * only those that say so). */
static const struct { const char *path, *function; unsigned around; int least, most; bool with_pause; } known[] = {
    { LIB "libc.so.6", "pthread_spin_lock", 0, 1, 1, true },
    { LIB "blis-pthread/libblis.so.4", "bli_thrcomm_bcast", 256, 1, 3, false },
    { LIB "blis-openmp/libblis.so.4", "bli_thrcomm_bcast", 256, 1, 3, false },
    { LIB "libgomp.so.1", NULL, 0, 10, 100, true },
    { LIB "libomp.so.5", NULL, 0, 20, 200, true },
    { LIB "libtbb.so.12", NULL, 0, 20, 200, true },
};

struct count { struct elf_file file; const char *function; uint64_t at; unsigned around; int found; bool with_pause; };

static void loop(const struct spin_loop *l, void *arg)
{
    struct count *c = arg;
    c->found += l->has_pause || !c->with_pause;
}
static void function(uint64_t start, uint64_t end, void *arg)
{
    struct count *c = arg;
    if (c->function && start - c->at > c->around && c->at - start > c->around) return;
    spin_for_each_loop(elf_at(&c->file, start), start, end, loop, c);
}
static uint64_t symbol(const struct elf_file *f, const char *name)
{
    const Elf64_Ehdr *h = (const void *)f->p;
    const Elf64_Shdr *sh = (const void *)(f->p + h->e_shoff);
    for (int i = 0; i < h->e_shnum; i++) {
        if (sh[i].sh_type != SHT_DYNSYM) continue;
        const Elf64_Sym *s = (const void *)(f->p + sh[i].sh_offset);
        const char *str = (const char *)f->p + sh[sh[i].sh_link].sh_offset;
        for (size_t k = 0; k < sh[i].sh_size / sizeof *s; k++)
            if (s[k].st_value && !strcmp(str + s[k].st_name, name)) return s[k].st_value;
    }
    return 0;
}

int main(void)
{
    int looked = 0, failures = 0;
    alarm(120);
    for (unsigned i = 0; i < sizeof known / sizeof *known; i++) {
        struct count c = { .function = known[i].function, .around = known[i].around, .with_pause = known[i].with_pause };
        if (!elf_open(&c.file, known[i].path)) continue;
        if (c.function && !(c.at = symbol(&c.file, c.function))) continue;
        looked++;
        elf_functions(&c.file, function, &c);
        printf("%s %s: %d waits\n", known[i].path, c.function ? c.function : "", c.found);
        failures += c.found < known[i].least || c.found > known[i].most;
    }
    printf("%d failures\n", failures);
    return !looked ? 77 : failures != 0;
}
