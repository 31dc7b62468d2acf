/* src/gate/image.h - an ELF object as the patcher sees it, loaded or in a file.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Everything is addressed by the object's own (link-time) addresses and read through gate_at, which
 * refuses what lies outside the segments: a damaged file cannot lead the scanner astray. */
#ifndef USF_GATE_IMAGE_H
#define USF_GATE_IMAGE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GATE_MAX_SEGS 16

struct gate_seg {
    uint64_t addr, len;
    uint64_t off;                           /* in the file */
    const uint8_t *data;
    bool exec;
};
struct gate_image {
    struct gate_seg seg[GATE_MAX_SEGS];     /* readable PT_LOADs, ascending addresses */
    unsigned nr_segs;
    uint64_t eh_hdr;                        /* .eh_frame_hdr, 0 = none */
    uint64_t dynamic;                       /* dynamic section, 0 = none */
    uint64_t low, high;                     /* all segments lie within */
    bool linker;                            /* it is the dynamic linker of this process */
};

/* From a file's bytes.  0, or -ENOEXEC: not a well-formed ELF object of this processor. */
int gate_image_from_file(struct gate_image *im, const void *file, size_t size);
/* From program headers of an object loaded at `base`. */
void gate_image_from_phdrs(struct gate_image *im, uintptr_t base, const Elf64_Phdr *ph, unsigned n);

/* len bytes at addr, or null. */
static inline const uint8_t *gate_at(const struct gate_image *im, uint64_t addr, uint64_t len)
{
    for (unsigned i = 0; i < im->nr_segs; i++) {
        const struct gate_seg *s = &im->seg[i];
        if (addr >= s->addr && addr - s->addr < s->len)
            return len <= s->len - (addr - s->addr) ? s->data + (addr - s->addr) : NULL;
    }
    return NULL;
}

/* Build-id in the PT_NOTE segments: its length (at most `cap` bytes copied), 0 = none. */
unsigned gate_build_id(uintptr_t base, const Elf64_Phdr *ph, unsigned n, uint8_t *out, unsigned cap);

/* ---- symbols.c: the dynamic symbol table ---------------------------------------------------------- */
/* Addresses of the object's own; base: where it is loaded, since the dynamic linker writes true
 * addresses into the section (0: a file). */
struct gate_symbols {
    const struct gate_image *im;
    uint64_t sym, str;
    uint8_t type;           /* STT_*: what is looked for */
    uint64_t gnu, old;      /* hash tables; either may be 0 */
};
bool gate_symbols_find(const struct gate_image *im, uintptr_t base, struct gate_symbols *s);
/* The functions of that name that the object defines (versions may be several), one after the
 * other: *at is 0 at first.  0: no more. */
uint64_t gate_symbols_function(const struct gate_symbols *s, const char *name, uint32_t *at);

/* Does the object use a function of that name of another object? */
bool gate_symbols_imports(const struct gate_symbols *s, const char *name);

/* ---- .eh_frame ---------------------------------------------------------------------------------- */
struct gate_fde {
    uint64_t start, end;
    uint64_t lsda;          /* 0 = none */
    bool signal;            /* a signal trampoline ('S') */
};
bool gate_fde_find(const struct gate_image *im, uint64_t pc, struct gate_fde *out);
/* The FDE that ends at pc, with its end moved to the next one's start: glibc ends the description
 * of clone just before its syscall, since it would be wrong in the child. */
bool gate_fde_before(const struct gate_image *im, uint64_t pc, struct gate_fde *out);
/* Calls fn for every landing pad of the function.  false: the table could not be read. */
bool gate_landing_pads(const struct gate_image *im, const struct gate_fde *f,
                       void (*fn)(uint64_t pc, void *arg), void *arg);
#endif
