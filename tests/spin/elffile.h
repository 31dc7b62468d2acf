/* tests/spin/elffile.h - functions of an ELF file, by its .eh_frame_hdr.  SPDX-License-Identifier: Apache-2.0 */
#ifndef USF_TEST_SPIN_ELF_H
#define USF_TEST_SPIN_ELF_H

#include <elf.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct elf_file { const uint8_t *p; size_t size; };

static inline bool elf_open(struct elf_file *e, const char *path)
{
    struct stat st;
    int fd = open(path, O_RDONLY);
    if (fd < 0 || fstat(fd, &st) < 0) return false;
    e->size = (size_t)st.st_size;
    e->p = mmap(NULL, e->size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    return e->p != MAP_FAILED && e->size > sizeof(Elf64_Ehdr) && !memcmp(e->p, "\177ELF\2", 5);
}
/* The bytes of an address in a loaded segment. */
static inline const uint8_t *elf_at(const struct elf_file *e, uint64_t vaddr)
{
    const Elf64_Ehdr *h = (const void *)e->p;
    const Elf64_Phdr *ph = (const void *)(e->p + h->e_phoff);
    for (int i = 0; i < h->e_phnum; i++)
        if (ph[i].p_type == PT_LOAD && vaddr >= ph[i].p_vaddr && vaddr < ph[i].p_vaddr + ph[i].p_filesz)
            return e->p + ph[i].p_offset + (vaddr - ph[i].p_vaddr);
    return NULL;
}
/* Calls fn for each function; only the usual encodings.  Returns their number or -1. */
static inline int elf_functions(const struct elf_file *e, void (*fn)(uint64_t start, uint64_t end, void *), void *arg)
{
    const Elf64_Ehdr *h = (const void *)e->p;
    const Elf64_Phdr *ph = (const void *)(e->p + h->e_phoff);
    for (int i = 0; i < h->e_phnum; i++) {
        if (ph[i].p_type != PT_GNU_EH_FRAME) continue;
        const uint8_t *q = e->p + ph[i].p_offset;
        if (q[1] != 0x1b || q[2] != 0x03 || q[3] != 0x3b) return -1;
        uint32_t n;
        memcpy(&n, q + 8, 4);
        for (uint32_t k = 0; k < n; k++) {
            int32_t v[2];
            memcpy(v, q + 12 + 8 * k, 8);
            uint64_t start = ph[i].p_vaddr + (uint64_t)(int64_t)v[0];
            const uint8_t *fde = q + v[1];
            uint32_t range;
            memcpy(&range, fde + 12, 4);
            if (range && elf_at(e, start)) fn(start, start + range, arg);
        }
        return (int)n;
    }
    return -1;
}
#endif
