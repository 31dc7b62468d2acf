/* src/context/stub_file.c - see stub_file.h.  SPDX-License-Identifier: Apache-2.0
 *
 * The file has three segments, and every address is the offset in the file:
 *
 *   read-only    headers, note, hash table, symbols, strings, versions, relocations, unwind tables, the stub's header and its functions
 *   executable   the functions, their resolvers, the way to the resolver, the constructor
 *   writable     dynamic section and addresses that are constant after relocation; a page with the index
 *
 * Section headers are there for link editors, which look for symbols by them. */
#define STUB_FORMAT_ONLY
#include "context/stub_file.h"

#include <stdlib.h>
#include <string.h>

#include "arch/code.h"
#include "context/stub.h"

enum { UNDEFINED = 4 };         /* symbols before the functions: none, and three of libusf-context */
enum { SYM_TABLES = 1, SYM_ADD, SYM_RESOLVE };
enum { NR_DYN = 24 };

enum part { NOTE = 1, HASH, DYNSYM, DYNSTR, VERSYM, VERDEF, RELA, EH_HDR, EH_FRAME, RODATA, TEXT, DYNAMIC, GOT, DATA, SHSTRTAB, NR_PARTS };
static const char part_names[NR_PARTS][16] = {"", ".note.usf", ".gnu.hash", ".dynsym", ".dynstr", ".gnu.version", ".gnu.version_d", ".rela.dyn", ".eh_frame_hdr",
                                               ".eh_frame", ".rodata", ".text", ".dynamic", ".got", ".data", ".shstrtab"};

struct function { uint32_t symbol, hash, name, version; };

struct maker {
    const struct elf *e;
    const struct stub_request *r;
    struct function *functions;
    uint32_t nr, nr_buckets, nr_bloom;
    char *strings;
    size_t strings_size, strings_room;
    uint32_t original, original_name, soname, runpath, library, tables, add, resolve;   /* strings */
    uint32_t *versions, nr_versions;    /* names of the original's versions by their number; 0: none */
    uint32_t nr_verdefs, nr_verdauxs;
    size_t at[NR_PARTS], size[NR_PARTS], end, shdrs;
    uint8_t *file;
    bool failed;
};

/* ---- what is in it -------------------------------------------------------------------------------- */

static bool is_executable(const struct elf *e, uint64_t addr)
{
    for (unsigned i = 0; i < e->eh->e_phnum; i++)
        if (e->ph[i].p_type == PT_LOAD && e->ph[i].p_flags & PF_X && addr - e->ph[i].p_vaddr < e->ph[i].p_memsz) return true;
    return false;
}

enum stub_kind stub_kind(const struct elf *e, size_t i)
{
    static const char *const own[] = {"_init", "_fini", "_edata", "__edata", "_end", "__bss_start"};    /* each library's own, without meaning to others */
    const Elf64_Sym *s = &e->sym[i];
    if (!i || s->st_shndx == SHN_UNDEF || s->st_shndx == SHN_ABS || ELF64_ST_BIND(s->st_info) == STB_LOCAL) return STUB_NOTHING;
    if (ELF64_ST_VISIBILITY(s->st_other) != STV_DEFAULT && ELF64_ST_VISIBILITY(s->st_other) != STV_PROTECTED) return STUB_NOTHING;
    if (e->versym && !(e->versym[i] & 0x7fff)) return STUB_NOTHING;
    for (unsigned k = 0; k < sizeof own / sizeof *own; k++)
        if (strcmp(e->str + s->st_name, own[k]) == 0) return STUB_NOTHING;
    switch (ELF64_ST_TYPE(s->st_info)) {
    case STT_FUNC: case STT_GNU_IFUNC: return STUB_FUNCTION;
    case STT_NOTYPE: return is_executable(e, s->st_value) ? STUB_FUNCTION : STUB_DATA;
    case STT_OBJECT: case STT_COMMON: case STT_TLS: return STUB_DATA;
    default: return STUB_NOTHING;
    }
}

static uint32_t add_string(struct maker *m, const char *s)
{
    size_t n = strlen(s) + 1;
    if (m->failed) return 0;
    if (m->strings_size + n > m->strings_room) {
        size_t room = 2 * (m->strings_size + n);
        char *more = room < 1u << 30 ? realloc(m->strings, room) : 0;
        if (!more) return m->failed = true, 0;
        m->strings = more;
        m->strings_room = room;
    }
    memcpy(m->strings + m->strings_size, s, n);
    m->strings_size += n;
    return (uint32_t)(m->strings_size - n);
}

static const void *aligned_at(const struct elf *e, uint64_t addr, size_t size)
{
    const void *p = elf_at(e, addr, size);
    return (uintptr_t)p % 4 ? 0 : p;
}

/* Calls f for each name of each version that the original defines; the first name is that of the
 * version. */
static void each_version(struct maker *m, void (*f)(struct maker *, const Elf64_Verdef *, unsigned k, const char *name))
{
    const Elf64_Dyn *at = elf_dyn(m->e, DT_VERDEF), *nr = elf_dyn(m->e, DT_VERDEFNUM);
    uint64_t def = at ? at->d_un.d_ptr : 0;
    for (uint64_t n = at && nr ? nr->d_un.d_val : 0; n && n < 1u << 15; n--) {
        const Elf64_Verdef *d = aligned_at(m->e, def, sizeof *d);
        uint64_t aux = d ? def + d->vd_aux : 0;
        for (unsigned k = 0; d && k < d->vd_cnt; k++) {
            const Elf64_Verdaux *a = aligned_at(m->e, aux, sizeof *a);
            if (!a) return;
            f(m, d, k, elf_string(m->e, a->vda_name));
            aux += a->vda_next;
        }
        if (!d || !d->vd_next) return;
        def += d->vd_next;
    }
}

static void note_version(struct maker *m, const Elf64_Verdef *d, unsigned k, const char *name)
{
    uint32_t number = d->vd_ndx & 0x7fff;
    m->nr_verdefs += !k;
    m->nr_verdauxs++;
    if (k || d->vd_flags & VER_FLG_BASE || m->failed) return;
    if (number >= m->nr_versions) {
        uint32_t *more = realloc(m->versions, (number + 1) * sizeof *more);
        if (!more) {
            m->failed = true;
            return;
        }
        memset(more + m->nr_versions, 0, (number + 1 - m->nr_versions) * sizeof *more);
        m->versions = more;
        m->nr_versions = number + 1;
    }
    m->versions[number] = add_string(m, name);
}

static uint32_t buckets;        /* for by_bucket, while one file is made */
static int by_bucket(const void *a, const void *b)
{
    const struct function *x = a, *y = b;
    uint32_t p = x->hash % buckets, q = y->hash % buckets;
    return p != q ? (p > q) - (p < q) : (x->symbol > y->symbol) - (x->symbol < y->symbol);
}

static void choose_functions(struct maker *m, const uint8_t *left_out)
{
    m->functions = calloc(m->e->nr_sym + 1, sizeof *m->functions);
    if (!m->functions) m->failed = true;
    for (size_t i = 1; !m->failed && i < m->e->nr_sym; i++) {
        if (left_out[i] || stub_kind(m->e, i) != STUB_FUNCTION) continue;
        const char *name = m->e->str + m->e->sym[i].st_name;
        uint32_t number = m->e->versym ? m->e->versym[i] & 0x7fff : 0;
        m->functions[m->nr++] = (struct function){(uint32_t)i, elf_hash(name), add_string(m, name), number < m->nr_versions ? m->versions[number] : 0};
    }
    if (m->nr > STUB_MAX_FUNCTIONS) m->failed = true;
    m->nr_buckets = buckets = m->nr / 4 + 1;
    for (m->nr_bloom = 1; m->nr_bloom * 8 < m->nr; m->nr_bloom *= 2) {}
    if (!m->failed) qsort(m->functions, m->nr, sizeof *m->functions, by_bucket);
}

static void add_strings(struct maker *m)
{
    add_string(m, "");
    m->library = add_string(m, "libusf-context.so.0");
    m->tables = add_string(m, "usf_context_stub_tables");
    m->add = add_string(m, "usf_context_stub_add");
    m->resolve = add_string(m, "usf_context_stub_resolve");
    m->original = add_string(m, m->r->original);
    m->original_name = add_string(m, m->r->original_name);
    m->soname = add_string(m, m->r->soname);
    m->runpath = m->r->runpath ? add_string(m, m->r->runpath) : 0;
    each_version(m, note_version);
}

/* ---- where it is ---------------------------------------------------------------------------------- */

static void place(struct maker *m, enum part p, size_t align, size_t size)
{
    m->at[p] = (m->end + align - 1) / align * align;
    m->size[p] = size;
    m->end = m->at[p] + size;
}

enum { NR_PH = 8 };

static void lay_out(struct maker *m)
{
    size_t path = strlen(m->r->original) + 1;
    m->end = sizeof(Elf64_Ehdr) + NR_PH * sizeof(Elf64_Phdr);
    place(m, NOTE, 8, sizeof(Elf64_Nhdr) + 4 + (path + 3) / 4 * 4);
    place(m, HASH, 8, 16 + 8 * (size_t)m->nr_bloom + 4 * (size_t)m->nr_buckets + 4 * (size_t)m->nr);
    place(m, DYNSYM, 8, (UNDEFINED + (size_t)m->nr) * sizeof(Elf64_Sym));
    place(m, DYNSTR, 1, m->strings_size);
    place(m, VERSYM, 2, m->nr_verdefs ? 2 * (UNDEFINED + (size_t)m->nr) : 0);
    place(m, VERDEF, 8, m->nr_verdefs * sizeof(Elf64_Verdef) + m->nr_verdauxs * sizeof(Elf64_Verdaux));
    place(m, RELA, 8, STUB_NR_GOT * sizeof(Elf64_Rela));
    place(m, EH_HDR, 4, STUB_EH_HDR_SIZE);
    place(m, EH_FRAME, 8, STUB_EH_FRAME_SIZE);
    place(m, RODATA, 8, sizeof(struct stub_header) + m->nr * sizeof(struct stub_function));
    place(m, TEXT, ELF_PAGE, m->nr * (STUB_CODE_SIZE + STUB_RESOLVER_SIZE) + STUB_COMMON_SIZE + STUB_INIT_SIZE);
    place(m, DYNAMIC, ELF_PAGE, NR_DYN * sizeof(Elf64_Dyn));
    place(m, GOT, 8, STUB_NR_GOT * 8);
    place(m, DATA, ELF_PAGE, 8);
    place(m, SHSTRTAB, 1, sizeof part_names);
    m->shdrs = (m->end + 7) / 8 * 8;
    m->end = m->shdrs + NR_PARTS * sizeof(Elf64_Shdr);
}

/* ---- contents ------------------------------------------------------------------------------------- */

static void *part(struct maker *m, enum part p) { return m->file + m->at[p]; }
static size_t resolvers(const struct maker *m) { return m->at[TEXT] + (size_t)m->nr * STUB_CODE_SIZE; }
static size_t common(const struct maker *m) { return resolvers(m) + (size_t)m->nr * STUB_RESOLVER_SIZE; }
static size_t init_code(const struct maker *m) { return common(m) + STUB_COMMON_SIZE; }

static void write_symbols(struct maker *m)
{
    Elf64_Sym *sym = part(m, DYNSYM);
    uint16_t *versym = m->nr_verdefs ? part(m, VERSYM) : 0;
    sym[SYM_TABLES] = (Elf64_Sym){.st_name = m->tables, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_TLS)};
    sym[SYM_ADD] = (Elf64_Sym){.st_name = m->add, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_NOTYPE)};
    sym[SYM_RESOLVE] = (Elf64_Sym){.st_name = m->resolve, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_NOTYPE)};
    for (unsigned i = 1; versym && i < UNDEFINED; i++) versym[i] = VER_NDX_GLOBAL;
    for (uint32_t k = 0; k < m->nr; k++) {
        const struct function *f = &m->functions[k];
        unsigned bind = ELF64_ST_BIND(m->e->sym[f->symbol].st_info) == STB_WEAK ? STB_WEAK : STB_GLOBAL;
        sym[UNDEFINED + k] = (Elf64_Sym){.st_name = f->name, .st_info = (unsigned char)ELF64_ST_INFO(bind, STT_FUNC), .st_shndx = TEXT,
                                         .st_value = m->at[TEXT] + (size_t)k * STUB_CODE_SIZE, .st_size = STUB_CODE_SIZE};
        if (versym) versym[UNDEFINED + k] = m->e->versym ? m->e->versym[f->symbol] : VER_NDX_GLOBAL;
    }
}

static void write_hash(struct maker *m)
{
    uint32_t *h = part(m, HASH);
    uint64_t *bloom = (uint64_t *)(void *)(h + 4);
    uint32_t *bucket = h + 4 + 2 * m->nr_bloom, *chain = bucket + m->nr_buckets;
    h[0] = m->nr_buckets, h[1] = UNDEFINED, h[2] = m->nr_bloom, h[3] = 11;
    for (uint32_t k = 0; k < m->nr; k++) {
        uint32_t hash = m->functions[k].hash, b = hash % m->nr_buckets;
        bool last = k + 1 == m->nr || m->functions[k + 1].hash % m->nr_buckets != b;
        bloom[hash / 64 % m->nr_bloom] |= 1ull << hash % 64 | 1ull << (hash >> 11) % 64;
        if (!bucket[b]) bucket[b] = UNDEFINED + k;
        chain[k] = (hash & ~1u) | last;
    }
}

/* ELF's older hash, which versions have. */
static uint32_t version_hash(const char *name)
{
    uint32_t h = 0;
    for (; *name; name++) {
        h = (h << 4) + (unsigned char)*name;
        h ^= h >> 24 & 0xf0;
    }
    return h & 0x0fffffff;
}

static struct { uint8_t *at; Elf64_Verdef *last; uint32_t nr; } verdef;   /* while one file is made */

static void write_version(struct maker *m, const Elf64_Verdef *d, unsigned k, const char *name)
{
    if (!k) {
        if (verdef.last) verdef.last->vd_next = (uint32_t)(verdef.at - (uint8_t *)verdef.last);
        verdef.last = (Elf64_Verdef *)(void *)verdef.at;
        bool base = d->vd_flags & VER_FLG_BASE;
        *verdef.last = (Elf64_Verdef){.vd_version = VER_DEF_CURRENT, .vd_flags = d->vd_flags, .vd_ndx = d->vd_ndx, .vd_cnt = d->vd_cnt,
                                      .vd_hash = version_hash(base ? m->r->soname : name), .vd_aux = sizeof *d};
        verdef.at += sizeof *d;
    }
    uint32_t text = 0;
    for (uint32_t i = 0; i < m->nr_versions && !text; i++)
        if (m->versions[i] && strcmp(m->strings + m->versions[i], name) == 0) text = m->versions[i];
    if (d->vd_flags & VER_FLG_BASE) text = m->soname;
    *(Elf64_Verdaux *)(void *)verdef.at = (Elf64_Verdaux){.vda_name = text, .vda_next = k + 1 < d->vd_cnt ? sizeof(Elf64_Verdaux) : 0};
    verdef.at += sizeof(Elf64_Verdaux);
}

static void write_header(struct maker *m)
{
    struct stub_header *h = part(m, RODATA);
    struct stub_function *f = (struct stub_function *)(h + 1);
    int64_t from = (int64_t)m->at[RODATA];
    *h = (struct stub_header){.magic = STUB_MAGIC, .nr = m->nr, .original = m->original, .soname = m->original_name,
                              .index = (int64_t)m->at[DATA] - from, .functions = sizeof *h, .strings = (int64_t)m->at[DYNSTR] - from,
                              .resolvers = (int64_t)resolvers(m) - from};
    for (uint32_t k = 0; k < m->nr; k++) f[k] = (struct stub_function){m->functions[k].name, m->functions[k].version};
    Elf64_Nhdr *note = part(m, NOTE);
    *note = (Elf64_Nhdr){sizeof STUB_NOTE_NAME, (Elf64_Word)strlen(m->r->original) + 1, STUB_NOTE_TYPE};
    memcpy(note + 1, STUB_NOTE_NAME, sizeof STUB_NOTE_NAME);
    strcpy((char *)(note + 1) + 4, m->r->original);
    uint64_t *slots = part(m, GOT);
    slots[STUB_GOT_HEADER] = m->at[RODATA];
}

static void write_code(struct maker *m)
{
    static const uint32_t symbol[STUB_NR_GOT] = {[STUB_GOT_TABLES] = SYM_TABLES, [STUB_GOT_ADD] = SYM_ADD, [STUB_GOT_RESOLVE] = SYM_RESOLVE};
    struct stub_places p = {.file = m->file, .nr = m->nr, .code = m->at[TEXT], .resolvers = resolvers(m), .common = common(m), .init = init_code(m),
                            .header = m->at[RODATA], .index = m->at[DATA], .eh_hdr = m->at[EH_HDR], .eh_frame = m->at[EH_FRAME]};
    for (unsigned i = 0; i < STUB_NR_GOT; i++) p.got[i] = m->at[GOT] + 8 * i;
    stub_write_code(&p);
    stub_write_unwind(&p);
    stub_write_relocations(&p, part(m, RELA), symbol);
}

static void write_dynamic(struct maker *m)
{
    Elf64_Dyn *d = part(m, DYNAMIC);
#define SET(tag, value) (*d++ = (Elf64_Dyn){tag, {value}})
    SET(DT_NEEDED, m->library);
    if (m->r->needs_original) SET(DT_NEEDED, m->original);
    SET(DT_SONAME, m->soname);
    if (m->r->runpath) SET(DT_RUNPATH, m->runpath);
    SET(DT_INIT, init_code(m));
    SET(DT_GNU_HASH, m->at[HASH]);
    SET(DT_STRTAB, m->at[DYNSTR]);
    SET(DT_SYMTAB, m->at[DYNSYM]);
    SET(DT_STRSZ, m->strings_size);
    SET(DT_SYMENT, sizeof(Elf64_Sym));
    SET(DT_RELA, m->at[RELA]);
    SET(DT_RELASZ, m->size[RELA]);
    SET(DT_RELAENT, sizeof(Elf64_Rela));
    SET(DT_RELACOUNT, 1);
    SET(DT_FLAGS, DF_STATIC_TLS | DF_BIND_NOW);
    SET(DT_FLAGS_1, DF_1_NODELETE | DF_1_NOW);
    if (m->nr_verdefs) {
        SET(DT_VERSYM, m->at[VERSYM]);
        SET(DT_VERDEF, m->at[VERDEF]);
        SET(DT_VERDEFNUM, m->nr_verdefs);
    }
#undef SET
}

static void write_headers(struct maker *m)
{
    Elf64_Ehdr *h = (void *)m->file;
    Elf64_Phdr *p = (void *)(h + 1);
    memcpy(h->e_ident, (unsigned char[]){0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT}, 7);
    h->e_type = ET_DYN, h->e_machine = ARCH_ELF_MACHINE, h->e_version = EV_CURRENT;
    h->e_ehsize = sizeof *h, h->e_phoff = sizeof *h, h->e_phentsize = sizeof *p, h->e_phnum = NR_PH;
    h->e_shoff = m->shdrs, h->e_shentsize = sizeof(Elf64_Shdr), h->e_shnum = NR_PARTS, h->e_shstrndx = SHSTRTAB;
#define RANGE(type, flags, from, to, align) (*p++ = (Elf64_Phdr){type, flags, from, from, from, (to) - (from), (to) - (from), align})
    RANGE(PT_LOAD, PF_R, 0, m->at[RODATA] + m->size[RODATA], ELF_PAGE);
    RANGE(PT_LOAD, PF_R | PF_X, m->at[TEXT], m->at[TEXT] + m->size[TEXT], ELF_PAGE);
    RANGE(PT_LOAD, PF_R | PF_W, m->at[DYNAMIC], m->at[DATA] + m->size[DATA], ELF_PAGE);
    RANGE(PT_DYNAMIC, PF_R | PF_W, m->at[DYNAMIC], m->at[DYNAMIC] + m->size[DYNAMIC], 8);
    RANGE(PT_GNU_RELRO, PF_R, m->at[DYNAMIC], m->at[DATA], 1);
    RANGE(PT_NOTE, PF_R, m->at[NOTE], m->at[NOTE] + m->size[NOTE], 4);
    RANGE(PT_GNU_EH_FRAME, PF_R, m->at[EH_HDR], m->at[EH_HDR] + m->size[EH_HDR], 4);
#undef RANGE
    *p = (Elf64_Phdr){.p_type = PT_GNU_STACK, .p_flags = PF_R | PF_W, .p_align = 16};
}

static void write_sections(struct maker *m)
{
    static const struct { uint32_t type, flags, link, align, entry; } of[NR_PARTS] = {
        [NOTE] = {SHT_NOTE, SHF_ALLOC, 0, 4, 0}, [HASH] = {SHT_GNU_HASH, SHF_ALLOC, DYNSYM, 8, 0}, [DYNSYM] = {SHT_DYNSYM, SHF_ALLOC, DYNSTR, 8, sizeof(Elf64_Sym)},
        [DYNSTR] = {SHT_STRTAB, SHF_ALLOC, 0, 1, 0}, [VERSYM] = {SHT_GNU_versym, SHF_ALLOC, DYNSYM, 2, 2}, [VERDEF] = {SHT_GNU_verdef, SHF_ALLOC, DYNSTR, 8, 0},
        [RELA] = {SHT_RELA, SHF_ALLOC, DYNSYM, 8, sizeof(Elf64_Rela)}, [EH_HDR] = {SHT_PROGBITS, SHF_ALLOC, 0, 4, 0}, [EH_FRAME] = {SHT_PROGBITS, SHF_ALLOC, 0, 8, 0},
        [RODATA] = {SHT_PROGBITS, SHF_ALLOC, 0, 8, 0}, [TEXT] = {SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0, 16, 0},
        [DYNAMIC] = {SHT_DYNAMIC, SHF_ALLOC | SHF_WRITE, DYNSTR, 8, sizeof(Elf64_Dyn)}, [GOT] = {SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, 0, 8, 8},
        [DATA] = {SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, 0, 8, 0}, [SHSTRTAB] = {SHT_STRTAB, 0, 0, 1, 0}};
    Elf64_Shdr *s = (void *)(m->file + m->shdrs);
    memcpy(part(m, SHSTRTAB), part_names, sizeof part_names);
    for (unsigned i = 1; i < NR_PARTS; i++) {
        if (!m->size[i]) continue;      /* (SHT_NULL) */
        s[i] = (Elf64_Shdr){.sh_name = (uint32_t)(i * sizeof *part_names), .sh_type = of[i].type, .sh_flags = of[i].flags, .sh_addr = of[i].flags ? m->at[i] : 0,
                            .sh_offset = m->at[i], .sh_size = m->size[i], .sh_link = of[i].link, .sh_addralign = of[i].align, .sh_entsize = of[i].entry};
        if (i == DYNSYM) s[i].sh_info = 1;
        if (i == VERDEF) s[i].sh_info = m->nr_verdefs;
    }
}

static void write_all(struct maker *m)
{
    write_headers(m);
    write_sections(m);
    memcpy(part(m, DYNSTR), m->strings, m->strings_size);
    write_symbols(m);
    write_hash(m);
    verdef.at = part(m, VERDEF);
    verdef.last = 0;
    each_version(m, write_version);
    write_header(m);
    write_code(m);
    write_dynamic(m);
}

size_t stub_make(void **file, uint32_t *nr, const struct elf *e, const uint8_t *left_out, const struct stub_request *r)
{
    struct maker m = {.e = e, .r = r};
    add_strings(&m);
    choose_functions(&m, left_out);
    if (!m.failed) lay_out(&m);
    if (!m.failed && (m.file = calloc(1, m.end))) write_all(&m);
    free(m.functions);
    free(m.strings);
    free(m.versions);
    *file = m.file;
    *nr = m.nr;
    return m.file ? m.end : 0;
}
