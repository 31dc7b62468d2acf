/* src/runtime/executable.c - what the file of the program says.
 * SPDX-License-Identifier: Apache-2.0 */
#include <elf.h>
#include <sys/auxv.h>

#include "runtime/runtime.h"

/* The executable's. */
static const Elf64_Phdr *headers(void) { return (const Elf64_Phdr *)getauxval(AT_PHDR); }
static uint64_t nr_headers(void) { return headers() ? getauxval(AT_PHNUM) : 0; }

static bool same(const char *a, const char *b)
{
    while (*a && *a == *b) a++, b++;
    return *a == *b;
}

/* What the dynamic linker has relocated in place is an address, what it has left alone is one
 * relative to the executable's. */
static const void *at(uintptr_t base, uint64_t where) { return (const void *)(where < base ? base + where : where); }

struct relocations { const Elf64_Rela *first; uint64_t size; };

static bool any_names(const struct relocations *r, const Elf64_Sym *symbols, const char *strings, const char *const *names, unsigned n)
{
    for (uint64_t i = 0; r->first && i < r->size / sizeof *r->first; i++) {
        uint64_t symbol = ELF64_R_SYM(r->first[i].r_info);
        for (unsigned k = 0; k < n && symbol; k++)
            if (same(strings + symbols[symbol].st_name, names[k])) return true;
    }
    return false;
}

/* What an executable imports is what its relocations name.  The symbol need not be undefined: a
 * variable is copied into an executable at a fixed address.  The hash table does not tell how many
 * symbols there are: one of an executable that exports none says 1. */
static bool imports(const Elf64_Dyn *d, uintptr_t base, const char *const *names, unsigned n)
{
    const Elf64_Sym *symbols = 0;
    const char *strings = 0;
    struct relocations all = {0}, calls = {0};
    for (; d->d_tag != DT_NULL; d++) {
        if (d->d_tag == DT_SYMTAB) symbols = at(base, d->d_un.d_ptr);
        if (d->d_tag == DT_STRTAB) strings = at(base, d->d_un.d_ptr);
        if (d->d_tag == DT_RELA) all.first = at(base, d->d_un.d_ptr);
        if (d->d_tag == DT_RELASZ) all.size = d->d_un.d_val;
        if (d->d_tag == DT_JMPREL) calls.first = at(base, d->d_un.d_ptr);
        if (d->d_tag == DT_PLTRELSZ) calls.size = d->d_un.d_val;
    }
    return symbols && strings && (any_names(&all, symbols, strings, names, n) || any_names(&calls, symbols, strings, names, n));
}

static const Elf64_Phdr *header_of(uint32_t type)
{
    for (uint64_t i = 0, n = nr_headers(); i < n; i++)
        if (headers()[i].p_type == type) return &headers()[i];
    return 0;
}

static uintptr_t base_address(void)
{
    const Elf64_Phdr *own = header_of(PT_PHDR);
    return own ? (uintptr_t)headers() - own->p_vaddr : 0;
}

bool rt_executable_imports(const char *const *names, unsigned n)
{
    const Elf64_Phdr *dynamic = header_of(PT_DYNAMIC);
    uintptr_t base = base_address();
    return dynamic && imports((const Elf64_Dyn *)(base + dynamic->p_vaddr), base, names, n);
}

bool rt_executable_has_data(const void *from, size_t size)
{
    for (uint64_t i = 0, n = nr_headers(); i < n; i++) {
        const Elf64_Phdr *h = &headers()[i];
        uintptr_t offset = (uintptr_t)from - base_address() - h->p_vaddr;
        if (h->p_type == PT_LOAD && h->p_flags & PF_W && offset < h->p_memsz && size <= h->p_memsz - offset) return true;
    }
    return false;
}
