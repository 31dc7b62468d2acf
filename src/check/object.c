/* src/check/object.c - what a policy's shared object shows without being run.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The loader has found it whole (its segments lie in the file); tables beyond the file's end are
 * taken for empty here. */
#include "base/base.h"
#include "check/internal.h"
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct object { const uint8_t *at; size_t size; const Elf64_Ehdr *h; };

static bool in_file(const struct object *o, uint64_t from, uint64_t len) { return from <= o->size && len <= o->size - from; }

static bool open_object(const char *path, struct object *o)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    void *p = MAP_FAILED;
    if (fd >= 0 && !fstat(fd, &st) && st.st_size >= (off_t)sizeof *o->h)
        p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (fd >= 0) close(fd);
    if (p == MAP_FAILED) return false;
    *o = (struct object){.at = p, .size = (size_t)st.st_size, .h = p};
    return true;
}

static void close_object(struct object *o) { munmap((void *)(uintptr_t)o->at, o->size); }

static const Elf64_Shdr *section(const struct object *o, unsigned i)
{
    uint64_t at = o->h->e_shoff + (uint64_t)i * sizeof(Elf64_Shdr);
    if (o->h->e_shentsize != sizeof(Elf64_Shdr) || i >= o->h->e_shnum || !in_file(o, at, sizeof(Elf64_Shdr))) return NULL;
    const Elf64_Shdr *s = (const void *)(o->at + at);
    return s->sh_type == SHT_NOBITS || in_file(o, s->sh_offset, s->sh_size) ? s : NULL;
}

/* Symbols one by one: of the table of this type (SHT_DYNSYM, SHT_SYMTAB), number i.  Null: there
 * are no more. */
static const Elf64_Sym *symbol(const struct object *o, uint32_t type, uint64_t i, const char **name)
{
    for (unsigned n = 0; n < o->h->e_shnum; n++) {
        const Elf64_Shdr *s = section(o, n), *strings = s && s->sh_type == type ? section(o, s->sh_link) : NULL;
        if (!strings) continue;
        if (i >= s->sh_size / sizeof(Elf64_Sym)) return NULL;
        const Elf64_Sym *sym = (const Elf64_Sym *)(const void *)(o->at + s->sh_offset) + i;
        bool named = sym->st_name < strings->sh_size && o->at[strings->sh_offset + strings->sh_size - 1] == 0;
        *name = named ? (const char *)o->at + strings->sh_offset + sym->st_name : "?";
        return sym;
    }
    return NULL;
}

/* Name of the symbol that covers the address. */
static const char *symbol_at(const struct object *o, uint64_t address)
{
    const Elf64_Sym *s;
    const char *name;
    static const uint32_t tables[] = {SHT_SYMTAB, SHT_DYNSYM};
    for (unsigned t = 0; t < 2; t++)
        for (uint64_t i = 0; (s = symbol(o, tables[t], i, &name)); i++)
            if (s->st_shndx != SHN_UNDEF && address >= s->st_value && address - s->st_value < s->st_size) return name;
    return "?";
}

/* Weak ones (__cxa_finalize, __gmon_start__) are the tool chain's own and run at loading alone. */
bool check_imports(const char *path, char *words, size_t cap)
{
    struct object o;
    const Elf64_Sym *s;
    const char *name;
    unsigned found = 0;
    char names[100] = "";
    if (!open_object(path, &o)) return usf_format(words, cap, "%s cannot be read", path), false;
    for (uint64_t i = 1; (s = symbol(&o, SHT_DYNSYM, i, &name)); i++) {
        size_t used = strlen(names);
        if (s->st_shndx != SHN_UNDEF || ELF64_ST_BIND(s->st_info) == STB_WEAK) continue;
        if (found++ < 4) usf_format(names + used, sizeof names - used, "%s%s", used ? ", " : "", name);
    }
    close_object(&o);
    if (found)
        usf_format(words, cap, "it needs %s%s (memset, memcpy: add -minline-all-stringops "
                   "-fno-tree-loop-distribute-patterns)", names, found > 4 ? ", ..." : "");
    return !found;
}

/* ---- vector registers -------------------------------------------------------------------------- */

bool check_vectors(const char *path, char *words, size_t cap)
{
    struct object o;
    bool clean = true;
    if (!open_object(path, &o)) return usf_format(words, cap, "%s cannot be read", path), false;
    for (unsigned n = 0; n < o.h->e_shnum && clean; n++) {
        const Elf64_Shdr *s = section(&o, n);
        if (!s || s->sh_type != SHT_PROGBITS || !(s->sh_flags & SHF_EXECINSTR)) continue;
        size_t at = check_first_vector(o.at + s->sh_offset, s->sh_size);
        clean = at == s->sh_size;
        if (!clean)
            usf_format(words, cap, "%s (at 0x%lx) uses a vector or x87 register: compile with -mgeneral-regs-only, "
                       "without floating point", symbol_at(&o, s->sh_addr + at), (unsigned long)(s->sh_addr + at));
    }
    close_object(&o);
    return clean;
}

/* ---- variables ----------------------------------------------------------------------------------- */

enum { VARIABLES_MAX = 1 << 20 };
static struct { const char *path; uintptr_t base, from; size_t size; uint8_t *copy; } variables;

/* The writable segment, less what the dynamic linker has made read-only again. */
static int find_variables(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size, (void)arg;
    if (strcmp(info->dlpi_name, variables.path)) return 0;
    uintptr_t from = 0, to = 0, relro = 0;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const Elf64_Phdr *ph = &info->dlpi_phdr[i];
        if (ph->p_type == PT_GNU_RELRO) relro = (ph->p_vaddr + ph->p_memsz) & ~4095ull;
        if (ph->p_type == PT_LOAD && ph->p_flags & PF_W && !from) from = ph->p_vaddr, to = ph->p_vaddr + ph->p_memsz;
    }
    if (relro > from) from = relro;
    variables.base = info->dlpi_addr;
    variables.from = from;
    variables.size = to > from ? to - from : 0;
    return 1;
}

void check_variables_before(const char *path)
{
    variables.path = path;
    variables.size = 0;
    dl_iterate_phdr(find_variables, NULL);
    if (variables.size > VARIABLES_MAX) variables.size = VARIABLES_MAX;
    variables.copy = variables.size ? malloc(variables.size) : NULL;
    if (!variables.copy) variables.size = 0;
    else memcpy(variables.copy, (const void *)(variables.base + variables.from), variables.size);
}

bool check_variables_after(char *words, size_t cap)
{
    const uint8_t *now = (const uint8_t *)(variables.base + variables.from);
    struct object o;
    for (size_t i = 0; i < variables.size; i++) {
        if (now[i] == variables.copy[i]) continue;
        bool open = open_object(variables.path, &o);
        usf_format(words, cap, "it has changed its variable %s: keep all state in the 'data' areas",
                   open ? symbol_at(&o, variables.from + i) : "?");
        if (open) close_object(&o);
        return false;
    }
    return true;
}
