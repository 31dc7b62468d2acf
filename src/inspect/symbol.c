/* src/inspect/symbol.c - the name of an address in an ELF file.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Reads, never maps, as elf.c does, and for the same reason. */
#include "inspect/symbol.h"
#include "inspect/elf.h"
#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PAGE         4096u
#define MAX_SEGMENTS 512
#define MAX_SECTIONS 8192
#define MAX_SYMBOLS  (8u << 20)
#define AT_A_TIME    1024u

static bool read_header(int fd, Elf64_Ehdr *eh)
{
    return elf_read(fd, 0, eh, sizeof *eh) && !memcmp(eh->e_ident, ELFMAG, SELFMAG) && eh->e_ident[EI_CLASS] == ELFCLASS64
           && eh->e_ident[EI_DATA] == ELFDATA2LSB;
}

bool elf_extent(int fd, uint64_t *lo, uint64_t *hi)
{
    Elf64_Ehdr eh;
    Elf64_Phdr ph;
    *lo = UINT64_MAX;
    *hi = 0;
    if (!read_header(fd, &eh) || eh.e_phentsize != sizeof ph || eh.e_phnum > MAX_SEGMENTS) return false;
    for (unsigned i = 0; i < eh.e_phnum; i++) {
        if (!elf_read(fd, eh.e_phoff + i * sizeof ph, &ph, sizeof ph)) return false;
        if (ph.p_type != PT_LOAD || ph.p_vaddr > INT64_MAX || ph.p_memsz > INT64_MAX) continue;
        if (ph.p_vaddr < *lo) *lo = ph.p_vaddr;
        if (ph.p_vaddr + ph.p_memsz > *hi) *hi = ph.p_vaddr + ph.p_memsz;
    }
    *lo &= ~(uint64_t)(PAGE - 1);
    return *lo < *hi;
}

/* The symbol of this table that holds the address; of several the one that begins last. */
static bool search_table(int fd, const Elf64_Shdr *table, uint64_t vaddr, Elf64_Sym *best)
{
    Elf64_Sym *some = malloc(AT_A_TIME * sizeof *some);
    uint64_t n = table->sh_size / sizeof *some;
    bool found = false;
    if (n > MAX_SYMBOLS) n = MAX_SYMBOLS;
    for (uint64_t at = 0; some && at < n; at += AT_A_TIME) {
        size_t k = n - at < AT_A_TIME ? n - at : AT_A_TIME;
        if (!elf_read(fd, table->sh_offset + at * sizeof *some, some, k * sizeof *some)) break;
        for (size_t i = 0; i < k; i++) {
            const Elf64_Sym *s = &some[i];
            unsigned type = ELF64_ST_TYPE(s->st_info);
            if (s->st_shndx == SHN_UNDEF || (type != STT_OBJECT && type != STT_FUNC && type != STT_GNU_IFUNC)) continue;
            if (vaddr < s->st_value || vaddr - s->st_value >= s->st_size || (found && s->st_value < best->st_value)) continue;
            *best = *s;
            found = true;
        }
    }
    free(some);
    return found;
}

static bool name_of(int fd, const Elf64_Shdr *strings, const Elf64_Sym *s, char *name, size_t cap)
{
    if (s->st_name >= strings->sh_size || strings->sh_offset > (uint64_t)INT64_MAX - s->st_name) return false;
    ssize_t r = pread(fd, name, cap - 1, (off_t)(strings->sh_offset + s->st_name));
    if (r <= 0) return false;
    name[r] = 0;
    return *name != 0;
}

static bool search_kind(int fd, const Elf64_Ehdr *eh, uint32_t kind, uint64_t vaddr, char *name, size_t cap, uint64_t *offset)
{
    Elf64_Shdr table, strings;
    Elf64_Sym s;
    for (unsigned i = 0; i < eh->e_shnum; i++) {
        if (!elf_read(fd, eh->e_shoff + i * sizeof table, &table, sizeof table)) return false;
        if (table.sh_type != kind || table.sh_entsize != sizeof s || table.sh_link >= eh->e_shnum) continue;
        if (!elf_read(fd, eh->e_shoff + table.sh_link * sizeof strings, &strings, sizeof strings)) return false;
        if (!search_table(fd, &table, vaddr, &s) || !name_of(fd, &strings, &s, name, cap)) continue;
        *offset = vaddr - s.st_value;
        return true;
    }
    return false;
}

bool elf_symbol(int fd, uint64_t vaddr, char *name, size_t cap, uint64_t *offset)
{
    Elf64_Ehdr eh;
    if (!read_header(fd, &eh) || eh.e_shentsize != sizeof(Elf64_Shdr) || eh.e_shnum > MAX_SECTIONS) return false;
    return search_kind(fd, &eh, SHT_SYMTAB, vaddr, name, cap, offset) || search_kind(fd, &eh, SHT_DYNSYM, vaddr, name, cap, offset);
}
