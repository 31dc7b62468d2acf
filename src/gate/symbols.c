/* src/gate/symbols.c - functions by name, from an object's dynamic symbol table.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The dynamic linker's own lookups take its lock, and want an object that is relocated; this one
 * reads what the object has mapped. */
#include "gate/objects.h"

static uint64_t own_address(uint64_t v, uintptr_t base) { return base && v >= base ? v - base : v; }

bool gate_symbols_find(const struct gate_image *im, uintptr_t base, struct gate_symbols *s)
{
    *s = (struct gate_symbols){.im = im, .type = STT_FUNC};
    for (uint64_t at = im->dynamic; at; at += sizeof(Elf64_Dyn)) {
        const Elf64_Dyn *d = (const void *)gate_at(im, at, sizeof *d);
        if (!d || d->d_tag == DT_NULL) break;
        uint64_t v = own_address(d->d_un.d_ptr, base);
        if (d->d_tag == DT_SYMTAB) s->sym = v;
        if (d->d_tag == DT_STRTAB) s->str = v;
        if (d->d_tag == DT_GNU_HASH) s->gnu = v;
        if (d->d_tag == DT_HASH) s->old = v;
    }
    return s->sym && s->str && (s->gnu || s->old);
}

static bool word(const struct gate_symbols *s, uint64_t at, uint64_t index, uint32_t *v)
{
    const uint32_t *p = (const void *)gate_at(s->im, at + 4 * index, 4);
    if (p) *v = *p;
    return p;
}

static bool is_called(const struct gate_symbols *s, uint32_t name, const char *want)
{
    for (uint64_t at = s->str + name;; at++, want++) {
        const uint8_t *c = gate_at(s->im, at, 1);
        if (!c || *c != (uint8_t)*want) return false;
        if (!*want) return true;
    }
}

static uint64_t function(const struct gate_symbols *s, uint32_t i, const char *name)
{
    const Elf64_Sym *y = (const void *)gate_at(s->im, s->sym + i * sizeof *y, sizeof *y);
    bool is = y && ELF64_ST_TYPE(y->st_info) == s->type && y->st_shndx != SHN_UNDEF && y->st_value && is_called(s, y->st_name, name);
    return is ? y->st_value : 0;
}

/* Those of one hash lie side by side; the last of a bucket has an odd word. */
static uint64_t by_gnu_hash(const struct gate_symbols *s, const char *name, uint32_t *at)
{
    uint32_t h = 5381, buckets, first, bloom, i, v;
    for (const char *c = name; *c; c++) h = h * 33 + (uint8_t)*c;
    if (!word(s, s->gnu, 0, &buckets) || !word(s, s->gnu, 1, &first) || !word(s, s->gnu, 2, &bloom) || !buckets) return 0;
    uint64_t bucket = s->gnu + 16 + 8 * (uint64_t)bloom, chain = bucket + 4 * (uint64_t)buckets;
    if (!word(s, bucket, h % buckets, &i) || i < first) return 0;
    for (;; i++) {
        if (!word(s, chain, i - first, &v)) return 0;
        uint64_t f = (v | 1) == (h | 1) && i > *at ? function(s, i, name) : 0;
        if (f) {
            *at = i;
            return f;
        }
        if (v & 1) return 0;
    }
}

/* Without the newer table; its chains have as many words as there are symbols. */
static uint64_t by_all(const struct gate_symbols *s, const char *name, uint32_t *at)
{
    uint32_t n;
    if (!word(s, s->old, 1, &n)) return 0;
    for (uint32_t i = *at + 1; i < n && gate_at(s->im, s->sym + i * sizeof(Elf64_Sym), sizeof(Elf64_Sym)); i++) {
        uint64_t f = function(s, i, name);
        if (!f) continue;
        *at = i;
        return f;
    }
    return 0;
}

uint64_t gate_symbols_function(const struct gate_symbols *s, const char *name, uint32_t *at)
{
    return s->gnu ? by_gnu_hash(s, name, at) : by_all(s, name, at);
}

/* What is not defined comes before what the newer table has. */
bool gate_symbols_imports(const struct gate_symbols *s, const char *name)
{
    uint32_t n = 0;
    if (s->gnu ? !word(s, s->gnu, 1, &n) : !word(s, s->old, 1, &n)) return false;
    for (uint32_t i = 1; i < n; i++) {
        const Elf64_Sym *y = (const void *)gate_at(s->im, s->sym + i * sizeof *y, sizeof *y);
        if (!y) return false;
        if (y->st_shndx == SHN_UNDEF && is_called(s, y->st_name, name)) return true;
    }
    return false;
}

static uintptr_t find(const struct gate_object *o, const char *name, uint8_t type)
{
    struct gate_entry *e = gate_entry_of(o);
    struct gate_symbols s;
    uint32_t at = 0;
    if (!e || !gate_symbols_find(&e->image, o->base, &s)) return 0;
    s.type = type;
    uint64_t f = gate_symbols_function(&s, name, &at);
    return f ? o->base + f : 0;
}
uintptr_t gate_find_function(const struct gate_object *o, const char *name) { return find(o, name, STT_FUNC); }
uintptr_t gate_find_variable(const struct gate_object *o, const char *name) { return find(o, name, STT_OBJECT); }
