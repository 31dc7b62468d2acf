/* src/os/build.c - the build-id of the object that this is linked into.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/base.h"
#include "os/os.h"
#include <elf.h>
#include <link.h>

extern const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden"), weak));

static bool is_build_id(const ElfW(Nhdr) *n)
{
    return n->n_type == NT_GNU_BUILD_ID && n->n_namesz == 4 && !__builtin_memcmp(n + 1, "GNU", 4);
}

static bool find_in(const ElfW(Phdr) *ph, char *hex, size_t cap)
{
    const char *p = (const char *)&__ehdr_start + ph->p_vaddr, *end = p + ph->p_filesz;
    size_t align = ph->p_align == 8 ? 8 : 4;
    while (end - p >= (long)sizeof(ElfW(Nhdr))) {
        const ElfW(Nhdr) *n = (const void *)p;
        const unsigned char *id = (const unsigned char *)(n + 1) + ((n->n_namesz + align - 1) & -align);
        for (unsigned i = 0; is_build_id(n) && i < n->n_descsz && 2 * i + 3 <= cap; i++)
            usf_format(hex + 2 * i, cap - 2 * i, "%02x", id[i]);
        if (is_build_id(n)) return true;
        p = (const char *)id + ((n->n_descsz + align - 1) & -align);
    }
    return false;
}

void os_build_id(char *hex, size_t cap)
{
    const ElfW(Ehdr) *e = &__ehdr_start;
    hex[0] = 0;
    if (!e) return;
    const ElfW(Phdr) *ph = (const void *)((const char *)e + e->e_phoff);
    for (unsigned i = 0; i < e->e_phnum; i++)
        if (ph[i].p_type == PT_NOTE && find_in(&ph[i], hex, cap)) return;
}
