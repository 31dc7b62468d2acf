/* src/context/elf.c - see elf.h.  SPDX-License-Identifier: Apache-2.0 */
#include "context/elf.h"
#include "arch/code.h"

#include <string.h>

static bool is_in_file(const struct elf *e, uint64_t offset, uint64_t size) { return offset <= e->size && size <= e->size - offset; }

void *elf_at(const struct elf *e, uint64_t addr, size_t size)
{
    for (unsigned i = 0; i < e->eh->e_phnum; i++) {
        const Elf64_Phdr *p = &e->ph[i];
        if (p->p_type != PT_LOAD || addr < p->p_vaddr || addr - p->p_vaddr > p->p_filesz) continue;
        if (size <= p->p_filesz - (addr - p->p_vaddr)) return e->at + p->p_offset + (addr - p->p_vaddr);
    }
    return 0;
}

/* An array of n elements, null if it is not all in the file or not aligned. */
static void *table_at(const struct elf *e, uint64_t addr, uint64_t n, size_t element, size_t align)
{
    if (n > e->size / element) return 0;
    uint8_t *p = elf_at(e, addr, n * element);
    return p && (uintptr_t)p % align == 0 ? p : 0;
}

const char *elf_string(const struct elf *e, uint64_t offset) { return offset < e->str_size ? e->str + offset : ""; }

Elf64_Dyn *elf_dyn(const struct elf *e, int64_t tag)
{
    for (size_t i = 0; i < e->nr_dyn; i++)
        if (e->dyn[i].d_tag == tag) return &e->dyn[i];
    return 0;
}

static uint64_t value(const struct elf *e, int64_t tag)
{
    const Elf64_Dyn *d = elf_dyn(e, tag);
    return d ? d->d_un.d_val : 0;
}

/* ---- opening ------------------------------------------------------------------------------------- */

static const char *check_header(struct elf *e)
{
    if (e->size < sizeof *e->eh || memcmp(e->at, ELFMAG, SELFMAG) != 0) return "not an ELF file";
    e->eh = (Elf64_Ehdr *)(void *)e->at;
    if (e->eh->e_ident[EI_CLASS] != ELFCLASS64 || e->eh->e_machine != ARCH_ELF_MACHINE) return "built for another architecture: " ARCH_NAME " is needed";
    if (e->eh->e_ident[EI_DATA] != ELFDATA2LSB || e->eh->e_version != EV_CURRENT) return "an ELF file of an unknown kind";
    if (e->eh->e_type != ET_DYN) return "not a shared library";
    if (e->eh->e_phentsize != sizeof *e->ph || !e->eh->e_phnum || e->eh->e_phoff % 8) return "damaged: program headers";
    if (!is_in_file(e, e->eh->e_phoff, e->eh->e_phnum * sizeof *e->ph)) return "damaged: it ends before its program headers do";
    e->ph = (Elf64_Phdr *)(void *)(e->at + e->eh->e_phoff);
    return 0;
}

static const char *check_segments(struct elf *e)
{
    uint64_t end = 0;
    bool any = false;
    for (unsigned i = 0; i < e->eh->e_phnum; i++) {
        const Elf64_Phdr *p = &e->ph[i];
        if (p->p_type != PT_LOAD && p->p_type != PT_DYNAMIC && p->p_type != PT_TLS && p->p_type != PT_GNU_RELRO) continue;
        if (!is_in_file(e, p->p_offset, p->p_filesz)) return "damaged: it is shorter than its headers say";
        if (p->p_memsz < p->p_filesz || p->p_vaddr > 1ull << 46 || p->p_memsz > 1ull << 46) return "damaged: sizes of segments";
        if (p->p_type != PT_LOAD) continue;
        if ((p->p_vaddr - p->p_offset) % ELF_PAGE || p->p_vaddr < end) return "damaged: places of segments";
        end = p->p_vaddr + p->p_memsz;
        any = true;
    }
    return any ? 0 : "damaged: nothing to load";
}

static const char *find_dynamic(struct elf *e)
{
    for (unsigned i = 0; i < e->eh->e_phnum; i++) {
        const Elf64_Phdr *p = &e->ph[i];
        if (p->p_type != PT_DYNAMIC) continue;
        size_t room = p->p_filesz / sizeof *e->dyn;
        e->dyn = table_at(e, p->p_vaddr, room, sizeof *e->dyn, 8);
        if (!e->dyn) return "damaged: dynamic section";
        while (e->nr_dyn < room && e->dyn[e->nr_dyn].d_tag != DT_NULL) e->nr_dyn++;
        return e->nr_dyn < room ? 0 : "damaged: dynamic section without an end";
    }
    return "no dynamic section: not a shared library";
}

static const char *find_strings(struct elf *e)
{
    e->str_size = value(e, DT_STRSZ);
    e->str = e->str_size ? elf_at(e, value(e, DT_STRTAB), e->str_size) : 0;
    if (!e->str || e->str[e->str_size - 1]) return "damaged: strings";
    if (value(e, DT_FLAGS_1) & DF_1_PIE) return "a program, not a library";
    const Elf64_Dyn *name = elf_dyn(e, DT_SONAME);
    if (name && *elf_string(e, name->d_un.d_val)) e->soname = elf_string(e, name->d_un.d_val);
    return 0;
}

/* The number of symbols is what the chains of the hash table reach. */
static bool count_hashed(struct elf *e, const uint32_t *h, size_t words)
{
    e->nr_sym = e->first_hashed;
    for (uint32_t b = 0; b < e->nr_buckets; b++) {
        uint32_t i = e->bucket[b];
        if (!i) continue;
        if (i < e->first_hashed) return false;
        size_t at = (size_t)(e->chain - h) + (i - e->first_hashed);
        for (;; at++, i++) {
            if (at >= words) return false;
            if (h[at] & 1) break;
        }
        if ((size_t)i + 1 > e->nr_sym) e->nr_sym = (size_t)i + 1;
    }
    return true;
}

/* In 4-byte words, how much of the file's segment is left at p. */
static size_t words_left(const struct elf *e, const void *p)
{
    size_t offset = (size_t)((const uint8_t *)p - e->at);
    for (unsigned i = 0; i < e->eh->e_phnum; i++) {
        const Elf64_Phdr *s = &e->ph[i];
        if (s->p_type == PT_LOAD && offset >= s->p_offset && offset - s->p_offset < s->p_filesz) return (s->p_filesz - (offset - s->p_offset)) / 4;
    }
    return 0;
}

static const char *find_gnu_hash(struct elf *e)
{
    const uint32_t *h = table_at(e, value(e, DT_GNU_HASH), 4, 4, 8);
    if (!h) return "damaged: hash table";
    size_t words = words_left(e, h);
    e->nr_buckets = h[0], e->first_hashed = h[1], e->nr_bloom = h[2], e->bloom_shift = h[3];
    if (!e->nr_buckets || !e->nr_bloom || e->nr_bloom & (e->nr_bloom - 1) || e->bloom_shift > 31) return "damaged: hash table";
    if (4 + 2 * (uint64_t)e->nr_bloom + e->nr_buckets > words) return "damaged: hash table";
    e->bloom = (const uint64_t *)(const void *)(h + 4);
    e->bucket = h + 4 + 2 * e->nr_bloom;
    e->chain = e->bucket + e->nr_buckets;
    return count_hashed(e, h, words) ? 0 : "damaged: hash table";
}

/* A library that exports nothing has an empty hash table, which does not tell how many symbols it
 * imports. */
static void count_relocated(struct elf *e)
{
    static const struct { int64_t at, size; } tables[] = {{DT_RELA, DT_RELASZ}, {DT_JMPREL, DT_PLTRELSZ}};
    for (unsigned t = 0; t < 2; t++) {
        uint64_t n = value(e, tables[t].size) / sizeof(Elf64_Rela);
        const Elf64_Rela *r = n ? table_at(e, value(e, tables[t].at), n, sizeof *r, 8) : 0;
        for (uint64_t i = 0; r && i < n; i++)
            if (ELF64_R_SYM(r[i].r_info) >= e->nr_sym) e->nr_sym = (size_t)ELF64_R_SYM(r[i].r_info) + 1;
    }
}

static const char *find_symbols(struct elf *e)
{
    const char *why;
    if (elf_dyn(e, DT_GNU_HASH)) {
        if ((why = find_gnu_hash(e))) return why;
        if (e->nr_sym == e->first_hashed) count_relocated(e);
    } else {
        const uint32_t *h = elf_dyn(e, DT_HASH) ? table_at(e, value(e, DT_HASH), 2, 4, 4) : 0;
        if (!h || !h[0] || h[1] > e->size / sizeof *e->sym || 2 + (uint64_t)h[0] + h[1] > words_left(e, h)) return "damaged: no hash table of symbols";
        e->nr_sym = h[1];
    }
    e->sym = table_at(e, value(e, DT_SYMTAB), e->nr_sym, sizeof *e->sym, 8);
    if (!e->sym) return "damaged: symbols";
    if (elf_dyn(e, DT_VERSYM) && !(e->versym = table_at(e, value(e, DT_VERSYM), e->nr_sym, 2, 2))) return "damaged: versions of symbols";
    for (size_t i = 0; i < e->nr_sym; i++) {
        if (e->sym[i].st_name >= e->str_size) return "damaged: names of symbols";
        if (ELF64_ST_TYPE(e->sym[i].st_info) == STT_GNU_IFUNC && e->sym[i].st_shndx) e->resolves = true;
    }
    return 0;
}

static const char *check_relocations(struct elf *e)
{
    static const struct { int64_t at, size; } tables[] = {{DT_RELA, DT_RELASZ}, {DT_JMPREL, DT_PLTRELSZ}};
    if (elf_dyn(e, DT_REL) || (elf_dyn(e, DT_PLTREL) && value(e, DT_PLTREL) != DT_RELA)) return "relocations of a kind that x86-64 does not have";
    for (unsigned t = 0; t < 2; t++) {
        uint64_t n = value(e, tables[t].size) / sizeof(Elf64_Rela);
        if (!n) continue;
        const Elf64_Rela *r = table_at(e, value(e, tables[t].at), n, sizeof *r, 8);
        if (!r) return "damaged: relocations";
        for (uint64_t i = 0; i < n; i++) {
            if (ELF64_R_SYM(r[i].r_info) >= e->nr_sym && ELF64_R_SYM(r[i].r_info)) return "damaged: symbols of relocations";
            if (ELF64_R_TYPE(r[i].r_info) == ARCH_RELOCATION_IRELATIVE) e->resolves = true;
        }
    }
    if (elf_dyn(e, DT_TEXTREL) || value(e, DT_FLAGS) & DF_TEXTREL) e->resolves = true;
    e->is_static_tls = value(e, DT_FLAGS) & DF_STATIC_TLS;
    return 0;
}

static const char *check_arrays(struct elf *e)
{
    static const struct { int64_t at, size; } arrays[] = {{DT_INIT_ARRAY, DT_INIT_ARRAYSZ}, {DT_FINI_ARRAY, DT_FINI_ARRAYSZ}};
    for (unsigned a = 0; a < 2; a++)
        if (elf_dyn(e, arrays[a].at) && !table_at(e, value(e, arrays[a].at), value(e, arrays[a].size) / 8, 8, 8)) return "damaged: constructors";
    return 0;
}

static const char *check_verneeds(struct elf *e)
{
    uint64_t at = value(e, DT_VERNEED), n = value(e, DT_VERNEEDNUM);
    for (; n; n--) {
        const Elf64_Verneed *v = table_at(e, at, 1, sizeof *v, 4);
        if (!v || v->vn_file >= e->str_size) return "damaged: needed versions";
        if (n > 1 && !v->vn_next) return "damaged: needed versions";
        at += v->vn_next;
    }
    return 0;
}

const char *elf_open(struct elf *e, void *at, size_t size)
{
    static const char *(*const steps[])(struct elf *) = {check_header, check_segments, find_dynamic, find_strings, find_symbols,
                                                         check_relocations, check_arrays, check_verneeds};
    *e = (struct elf){.at = at, .size = size};
    for (unsigned i = 0; i < sizeof steps / sizeof *steps; i++) {
        const char *why = steps[i](e);
        if (why) return why;
    }
    return 0;
}

/* ---- looking ------------------------------------------------------------------------------------- */

uint32_t elf_hash(const char *name)
{
    uint32_t h = 5381;
    for (; *name; name++) h = h * 33 + (unsigned char)*name;
    return h;
}

bool elf_exports(const struct elf *e, const char *name, uint32_t hash)
{
    if (!e->bloom) return false;
    uint64_t word = e->bloom[hash / 64 % e->nr_bloom];
    if (!(word >> (hash % 64) & 1 && word >> ((hash >> e->bloom_shift) % 64) & 1)) return false;
    uint32_t i = e->bucket[hash % e->nr_buckets];
    for (; i >= e->first_hashed && i < e->nr_sym; i++) {
        uint32_t h = e->chain[i - e->first_hashed];
        if ((h | 1) == (hash | 1) && e->sym[i].st_shndx != SHN_UNDEF && strcmp(e->str + e->sym[i].st_name, name) == 0) return true;
        if (h & 1) break;
    }
    return false;
}

void elf_each_verneed(const struct elf *e, void (*f)(void *, Elf64_Verneed *), void *arg)
{
    uint64_t at = value(e, DT_VERNEED);
    for (uint64_t n = value(e, DT_VERNEEDNUM); n; n--) {
        Elf64_Verneed *v = elf_at(e, at, sizeof *v);
        f(arg, v);
        at += v->vn_next;
    }
}

static const void *find_note(const uint8_t *p, size_t room, const char *name, uint32_t type, size_t *size)
{
    while (room >= sizeof(Elf64_Nhdr)) {
        const Elf64_Nhdr *n = (const void *)p;
        size_t text = ((size_t)n->n_namesz + 3) / 4 * 4, desc = ((size_t)n->n_descsz + 3) / 4 * 4;
        if (text + desc > room - sizeof *n) return 0;
        const uint8_t *at = p + sizeof *n;
        *size = n->n_descsz;
        if (n->n_type == type && n->n_namesz == strlen(name) + 1 && memcmp(at, name, n->n_namesz) == 0) return at + text;
        p = at + text + desc;
        room -= sizeof *n + text + desc;
    }
    return 0;
}

const void *elf_note(const struct elf *e, const char *name, uint32_t type, size_t *size)
{
    for (unsigned i = 0; i < e->eh->e_phnum; i++) {
        const Elf64_Phdr *p = &e->ph[i];
        if (p->p_type != PT_NOTE || p->p_offset % 4 || !is_in_file(e, p->p_offset, p->p_filesz)) continue;
        const void *found = find_note(e->at + p->p_offset, p->p_filesz, name, type, size);
        if (found) return found;
    }
    return 0;
}

/* Tables whose end the dynamic section does not tell reach to the end of their segment at most;
 * nothing but tables lies behind them in a segment that is not executable, in practice. */
void elf_each_table(const struct elf *e, void (*f)(void *, size_t, size_t), void *arg)
{
    static const int64_t sized[][2] = {{DT_STRTAB, DT_STRSZ}, {DT_RELA, DT_RELASZ}, {DT_JMPREL, DT_PLTRELSZ}, {DT_RELR, DT_RELRSZ}};
    f(arg, 0, sizeof *e->eh);
    f(arg, e->eh->e_phoff, e->eh->e_phnum * sizeof *e->ph);
    for (unsigned i = 0; i < sizeof sized / sizeof *sized; i++) {
        const uint8_t *p = elf_dyn(e, sized[i][0]) ? elf_at(e, value(e, sized[i][0]), value(e, sized[i][1])) : 0;
        if (p) f(arg, (size_t)(p - e->at), value(e, sized[i][1]));
    }
    f(arg, (size_t)((uint8_t *)e->sym - e->at), e->nr_sym * sizeof *e->sym);
    if (e->versym) f(arg, (size_t)((uint8_t *)e->versym - e->at), e->nr_sym * 2);
    static const int64_t open_ended[][2] = {{DT_GNU_HASH, 0}, {DT_HASH, 0}, {DT_VERDEF, DT_VERDEFNUM}, {DT_VERNEED, DT_VERNEEDNUM}};
    for (unsigned i = 0; i < sizeof open_ended / sizeof *open_ended; i++) {
        const uint8_t *p = elf_dyn(e, open_ended[i][0]) ? elf_at(e, value(e, open_ended[i][0]), 4) : 0;
        size_t room = p ? 4 * words_left(e, p) : 0;
        if (!p) continue;
        /* A hash table has a known size; versions lie near the strings that they name, and are
         * small. */
        size_t size = open_ended[i][0] == DT_GNU_HASH ? (size_t)((const uint8_t *)(e->chain + (e->nr_sym - e->first_hashed)) - p)
                      : open_ended[i][0] == DT_HASH ? 4 * (2 + (size_t)((const uint32_t *)(const void *)p)[0] + ((const uint32_t *)(const void *)p)[1])
                      : 64 * 1024;
        f(arg, (size_t)(p - e->at), size < room ? size : room);
    }
    for (unsigned i = 0; i < e->eh->e_phnum; i++)
        if (e->ph[i].p_type == PT_NOTE && is_in_file(e, e->ph[i].p_offset, e->ph[i].p_filesz)) f(arg, e->ph[i].p_offset, e->ph[i].p_filesz);
}
