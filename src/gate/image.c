/* src/gate/image.c - segments and build-ids of ELF objects.  SPDX-License-Identifier: Apache-2.0 */
#include "gate/image.h"

#include "arch/code.h"

#include <errno.h>

static void add_segment(struct gate_image *im, const Elf64_Phdr *ph, const uint8_t *data)
{
    uint64_t addr = ph->p_vaddr, len = ph->p_filesz;
    if (im->nr_segs == GATE_MAX_SEGS || !len || addr + len < addr) return;
    im->seg[im->nr_segs++] = (struct gate_seg){.addr = addr, .len = len, .off = ph->p_offset, .data = data, .exec = ph->p_flags & PF_X};
    if (im->nr_segs == 1 || addr < im->low) im->low = addr;
    if (addr + len > im->high) im->high = addr + len;
}

int gate_image_from_file(struct gate_image *im, const void *file, size_t size)
{
    const Elf64_Ehdr *eh = file;
    *im = (struct gate_image){0};
    if (size < sizeof *eh || *(const uint32_t *)file != 0x464c457f || eh->e_ident[EI_CLASS] != ELFCLASS64
        || eh->e_ident[EI_DATA] != ELFDATA2LSB || eh->e_machine != ARCH_ELF_MACHINE
        || (eh->e_type != ET_DYN && eh->e_type != ET_EXEC) || eh->e_phentsize != sizeof(Elf64_Phdr)
        || eh->e_phoff > size || eh->e_phoff % 8 || eh->e_phnum > (size - eh->e_phoff) / sizeof(Elf64_Phdr))
        return -ENOEXEC;
    const Elf64_Phdr *ph = (const void *)((const char *)file + eh->e_phoff);
    for (unsigned i = 0; i < eh->e_phnum; i++) {
        if (ph[i].p_type == PT_GNU_EH_FRAME) im->eh_hdr = ph[i].p_vaddr;
        if (ph[i].p_type == PT_DYNAMIC) im->dynamic = ph[i].p_vaddr;
        if (ph[i].p_type != PT_LOAD || !(ph[i].p_flags & PF_R)) continue;
        if (ph[i].p_offset > size || ph[i].p_filesz > size - ph[i].p_offset) return -ENOEXEC;
        add_segment(im, &ph[i], (const uint8_t *)file + ph[i].p_offset);
    }
    return 0;
}

void gate_image_from_phdrs(struct gate_image *im, uintptr_t base, const Elf64_Phdr *ph, unsigned n)
{
    *im = (struct gate_image){0};
    for (unsigned i = 0; i < n; i++) {
        if (ph[i].p_type == PT_GNU_EH_FRAME) im->eh_hdr = ph[i].p_vaddr;
        if (ph[i].p_type == PT_DYNAMIC) im->dynamic = ph[i].p_vaddr;
        if (ph[i].p_type == PT_LOAD && ph[i].p_flags & PF_R)
            add_segment(im, &ph[i], (const uint8_t *)(base + ph[i].p_vaddr));
    }
}

unsigned gate_build_id(uintptr_t base, const Elf64_Phdr *ph, unsigned n, uint8_t *out, unsigned cap)
{
    for (unsigned i = 0; i < n; i++) {
        if (ph[i].p_type != PT_NOTE) continue;
        const uint8_t *p = (const uint8_t *)(base + ph[i].p_vaddr), *end = p + ph[i].p_memsz;
        uint64_t align = ph[i].p_align == 8 ? 8 : 4;
        while (end - p >= 12) {
            const Elf64_Nhdr *nh = (const void *)p;
            uint64_t name = (nh->n_namesz + align - 1) & -align, desc = (nh->n_descsz + align - 1) & -align;
            if (name + desc > (uint64_t)(end - p) - 12) break;
            const uint8_t *id = p + 12 + name;
            if (nh->n_type == NT_GNU_BUILD_ID && nh->n_namesz == 4 && *(const uint32_t *)(p + 12) == 0x554e47
                && nh->n_descsz && nh->n_descsz <= cap) {
                for (unsigned k = 0; k < nh->n_descsz; k++) out[k] = id[k];
                return nh->n_descsz;
            }
            p = id + desc;
        }
    }
    return 0;
}
