/* src/context/root.c - see root.h.  SPDX-License-Identifier: Apache-2.0
 *
 * One writable segment: headers, dynamic section, one empty symbol with its hash table, the
 * constructor's address, strings. */
#include "context/root.h"
#include "arch/code.h"

#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct root {
    Elf64_Ehdr eh;
    Elf64_Phdr ph[3];
    Elf64_Sym sym;
    uint64_t constructor;
    uint32_t hash[4];           /* one bucket, one symbol, both chains empty */
    Elf64_Dyn dyn[];
};

static void set(Elf64_Dyn **d, int64_t tag, uint64_t value) { *(*d)++ = (Elf64_Dyn){tag, {value}}; }

size_t root_make(void **file, const char *const *needed, size_t n, void (*constructor)(void))
{
    size_t strings = 1, nr_dyn = n + 8, at = sizeof(struct root) + nr_dyn * sizeof(Elf64_Dyn);
    for (size_t i = 0; i < n; i++) strings += strlen(needed[i]) + 1;
    struct root *r = calloc(1, at + strings);
    if (!r) return 0;
    char *text = (char *)r + at;
    Elf64_Dyn *d = r->dyn;
    memcpy(r->eh.e_ident, (unsigned char[]){0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT}, 7);
    r->eh.e_type = ET_DYN;
    r->eh.e_machine = ARCH_ELF_MACHINE;
    r->eh.e_version = EV_CURRENT;
    r->eh.e_ehsize = sizeof r->eh;
    r->eh.e_phoff = offsetof(struct root, ph);
    r->eh.e_phentsize = sizeof *r->ph;
    r->eh.e_phnum = 3;
    r->ph[0] = (Elf64_Phdr){.p_type = PT_LOAD, .p_flags = PF_R | PF_W, .p_filesz = at + strings, .p_memsz = at + strings, .p_align = 4096};
    r->ph[1] = (Elf64_Phdr){.p_type = PT_DYNAMIC, .p_flags = PF_R | PF_W, .p_offset = offsetof(struct root, dyn), .p_vaddr = offsetof(struct root, dyn),
                            .p_filesz = nr_dyn * sizeof *d, .p_memsz = nr_dyn * sizeof *d, .p_align = 8};
    r->ph[2] = (Elf64_Phdr){.p_type = PT_GNU_STACK, .p_flags = PF_R | PF_W, .p_align = 16};    /* without it stacks would become executable */
    r->constructor = (uint64_t)(uintptr_t)constructor;      /* needs no relocation: it is executed in this process */
    r->hash[0] = r->hash[1] = 1;
    size_t used = 1;
    for (size_t i = 0; i < n; i++) {
        set(&d, DT_NEEDED, used);
        strcpy(text + used, needed[i]);
        used += strlen(needed[i]) + 1;
    }
    set(&d, DT_HASH, offsetof(struct root, hash));
    set(&d, DT_STRTAB, at);
    set(&d, DT_SYMTAB, offsetof(struct root, sym));
    set(&d, DT_STRSZ, strings);
    set(&d, DT_SYMENT, sizeof r->sym);
    set(&d, DT_INIT_ARRAY, offsetof(struct root, constructor));
    set(&d, DT_INIT_ARRAYSZ, sizeof r->constructor);
    set(&d, DT_NULL, 0);
    *file = r;
    return at + strings;
}
