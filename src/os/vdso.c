/* src/os/vdso.c - find a function of the vDSO by name.  SPDX-License-Identifier: Apache-2.0
 *
 * The vDSO is an ELF image whose address is in the auxiliary vector.  Its number of dynamic symbols
 * is not stored as such: it follows from either hash table, and kernels differ in which they
 * have. */
#include "vdso.h"
#include "os/os.h"
#include "os/syscall.h"
#include <elf.h>
#include <fcntl.h>
#include <string.h>

#define PR_GET_AUXV_ 0x41555856  /* Linux 6.4; older headers lack it */

static uintptr_t sysinfo_ehdr(void)
{
    Elf64_auxv_t aux[48] = {0};  /* Linux has about 25 entries; set also for Valgrind, which does not know the call */
    long n = usf_syscall(__NR_prctl, PR_GET_AUXV_, aux, sizeof aux, 0, 0);
    if (n < 0) {
        int fd = os_open("/proc/self/auxv", O_RDONLY | O_CLOEXEC, 0);
        if (fd < 0) return 0;
        n = usf_syscall(__NR_read, fd, aux, sizeof aux);
        os_close(fd);
    }
    if (n > (long)sizeof aux) n = sizeof aux;
    for (long i = 0; i < n / (long)sizeof aux[0] && aux[i].a_type != AT_NULL; i++)
        if (aux[i].a_type == AT_SYSINFO_EHDR) return aux[i].a_un.a_val;
    return 0;
}

/* The kernel tells where it was; it may have been taken out of our memory since (Valgrind does). */
static bool is_mapped(uintptr_t page)
{
    uint8_t resident;
    return usf_syscall(__NR_mincore, page, 1, &resident) == 0;
}

/* Number of symbols = 1 + the highest index that a chain of the GNU hash table reaches. */
static uint32_t gnu_hash_symbols(const uint32_t *hash)
{
    uint32_t nbuckets = hash[0], offset = hash[1], bloom = hash[2], max = 0;
    const uint32_t *buckets = hash + 4 + 2 * bloom, *chain = buckets + nbuckets;
    for (uint32_t b = 0; b < nbuckets; b++)
        if (buckets[b] > max) max = buckets[b];
    if (max < offset) return offset;
    while (!(chain[max - offset] & 1)) max++;
    return max + 1;
}

struct image {
    uintptr_t bias;
    const Elf64_Dyn *dynamic;
    const Elf64_Sym *symbols;
    const char *strings;
    uint32_t nr_symbols;
};

static void read_dynamic(struct image *v)
{
    const uint32_t *hash = NULL, *gnu = NULL;
    for (const Elf64_Dyn *d = v->dynamic; d->d_tag != DT_NULL; d++) {
        const void *p = (const void *)(v->bias + d->d_un.d_ptr);
        if (d->d_tag == DT_SYMTAB) v->symbols = p;
        else if (d->d_tag == DT_STRTAB) v->strings = p;
        else if (d->d_tag == DT_HASH) hash = p;
        else if (d->d_tag == DT_GNU_HASH) gnu = p;
    }
    v->nr_symbols = hash ? hash[1] : gnu ? gnu_hash_symbols(gnu) : 0;
}

static bool read_image(uintptr_t base, struct image *v)
{
    const Elf64_Ehdr *e = (const void *)base;
    const Elf64_Phdr *p = (const void *)(base + e->e_phoff);
    bool loaded = false;
    memset(v, 0, sizeof *v);
    if (memcmp(e->e_ident, ELFMAG, SELFMAG) || e->e_ident[EI_CLASS] != ELFCLASS64) return false;
    for (int i = 0; i < e->e_phnum; i++) {
        if (p[i].p_type == PT_LOAD && !loaded) {
            v->bias = base + p[i].p_offset - p[i].p_vaddr;
            loaded = true;
        } else if (p[i].p_type == PT_DYNAMIC) {
            v->dynamic = (const void *)(base + p[i].p_offset);
        }
    }
    if (!loaded || !v->dynamic) return false;
    read_dynamic(v);
    return v->symbols && v->strings;
}

void *vdso_find(const char *name)
{
    struct image v;
    uintptr_t base = sysinfo_ehdr();
    if (!base || !is_mapped(base) || !read_image(base, &v)) return NULL;
    for (uint32_t i = 0; i < v.nr_symbols; i++) {
        const Elf64_Sym *s = &v.symbols[i];
        if (s->st_shndx == SHN_UNDEF || ELF64_ST_TYPE(s->st_info) != STT_FUNC) continue;
        if (!strcmp(v.strings + s->st_name, name)) return (void *)(v.bias + s->st_value);
    }
    return NULL;
}
