/* src/inspect/elf.c - look at an ELF file's headers.  SPDX-License-Identifier: Apache-2.0
 *
 * The file is the user's and may be anything: every offset and size is checked before use. */
#include "inspect/elf.h"
#include <elf.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_SEGMENTS 512
#define MAX_SECTIONS 4096
#define MAX_DYNAMIC  65536

struct image {
    int fd;
    Elf64_Ehdr eh;
    Elf64_Phdr *ph;
    unsigned nr_ph;
};

bool elf_read(int fd, uint64_t off, void *buf, size_t n)
{
    size_t done = 0;
    if (off > INT64_MAX - n) return false;
    while (done < n) {
        ssize_t r = pread(fd, (char *)buf + done, n - done, (off_t)(off + done));
        if (r < 0 && errno == EINTR) continue;
        if (r <= 0) return false;
        done += (size_t)r;
    }
    return true;
}

/* A string at a file offset, cut to what fits. */
static bool read_string(int fd, uint64_t off, char *buf, size_t cap)
{
    if (off > INT64_MAX - cap) return false;
    ssize_t r = pread(fd, buf, cap - 1, (off_t)off);
    if (r <= 0) return false;
    buf[r] = 0;
    return true;
}

/* File offset of an address, or 0. */
static uint64_t offset_of(const struct image *im, uint64_t vaddr)
{
    for (unsigned i = 0; i < im->nr_ph; i++) {
        const Elf64_Phdr *p = &im->ph[i];
        if (p->p_type == PT_LOAD && vaddr >= p->p_vaddr && vaddr - p->p_vaddr < p->p_filesz)
            return p->p_offset + (vaddr - p->p_vaddr);
    }
    return 0;
}

static void look_at_dynamic(const struct image *im, const Elf64_Phdr *p, struct elf_facts *f)
{
    size_t n = p->p_filesz < MAX_DYNAMIC ? p->p_filesz : MAX_DYNAMIC;
    Elf64_Dyn *dyn = malloc(n ? n : 1);
    uint64_t strings = 0;
    char name[128];
    n /= sizeof *dyn;
    if (!dyn || !elf_read(im->fd, p->p_offset, dyn, n * sizeof *dyn)) n = 0;
    for (size_t i = 0; i < n && dyn[i].d_tag != DT_NULL; i++)
        if (dyn[i].d_tag == DT_STRTAB) strings = offset_of(im, dyn[i].d_un.d_ptr);
    for (size_t i = 0; i < n && strings && dyn[i].d_tag != DT_NULL; i++) {
        if (dyn[i].d_tag != DT_SONAME && dyn[i].d_tag != DT_NEEDED) continue;
        if (dyn[i].d_un.d_val > UINT32_MAX || !read_string(im->fd, strings + dyn[i].d_un.d_val, name, sizeof name)) continue;
        if (dyn[i].d_tag == DT_SONAME) f->is_loader = !strncmp(name, "ld-linux", 8) || !strncmp(name, "ld-musl", 7);
        else if (!strncmp(name, "libasan.so", 10)) f->needs_asan = true;
    }
    free(dyn);
}

static void as_hex(const unsigned char *bytes, size_t n, char *buf, size_t cap)
{
    static const char hex[] = "0123456789abcdef";
    size_t at = 0;
    for (size_t i = 0; i < n && at + 2 < cap; i++) {
        buf[at++] = hex[bytes[i] >> 4];
        buf[at++] = hex[bytes[i] & 15];
    }
    buf[at] = 0;
}

/* Both linkers write a build id: as a note of owner "GNU", type 3, or of owner "Go", type 4. */
static void look_at_notes(const struct image *im, const Elf64_Phdr *p, struct elf_facts *f)
{
    unsigned char buf[4096];
    size_t n = p->p_filesz < sizeof buf ? p->p_filesz : sizeof buf;
    if (!elf_read(im->fd, p->p_offset, buf, n)) return;
    for (size_t at = 0; n - at >= sizeof(Elf64_Nhdr);) {
        Elf64_Nhdr h;
        memcpy(&h, buf + at, sizeof h);
        at += sizeof h;
        uint64_t name = ((uint64_t)h.n_namesz + 3) & ~3ull, desc = ((uint64_t)h.n_descsz + 3) & ~3ull;
        if (name + desc > n - at) return;
        if (h.n_type == 4 && h.n_namesz >= 3 && !memcmp(buf + at, "Go", 3)) f->is_go = true;
        if (h.n_type == NT_GNU_BUILD_ID && h.n_namesz == 4 && !memcmp(buf + at, "GNU", 4))
            as_hex(buf + at + name, h.n_descsz, f->build_id, sizeof f->build_id);
        at += name + desc;
    }
}

static bool has_go_section(const struct image *im)
{
    const Elf64_Ehdr *eh = &im->eh;
    Elf64_Shdr names, s;
    char name[24];
    if (eh->e_shentsize != sizeof s || eh->e_shnum > MAX_SECTIONS || eh->e_shstrndx >= eh->e_shnum) return false;
    if (!elf_read(im->fd, eh->e_shoff + (uint64_t)eh->e_shstrndx * sizeof s, &names, sizeof names)) return false;
    for (unsigned i = 0; i < eh->e_shnum; i++) {
        if (!elf_read(im->fd, eh->e_shoff + (uint64_t)i * sizeof s, &s, sizeof s)) return false;
        if (s.sh_name >= names.sh_size || !read_string(im->fd, names.sh_offset + s.sh_name, name, sizeof name)) continue;
        if (!strcmp(name, ".go.buildinfo") || !strcmp(name, ".note.go.buildid")) return true;
    }
    return false;
}

static void look_at_segments(const struct image *im, struct elf_facts *f)
{
    for (unsigned i = 0; i < im->nr_ph; i++) {
        const Elf64_Phdr *p = &im->ph[i];
        if (p->p_type == PT_INTERP) {
            f->has_interp = true;
            size_t n = p->p_filesz < sizeof f->interp ? p->p_filesz : sizeof f->interp;
            if (n && elf_read(im->fd, p->p_offset, f->interp, n)) f->interp[n - 1] = 0;
        } else if (p->p_type == PT_DYNAMIC) {
            look_at_dynamic(im, p, f);
        } else if (p->p_type == PT_NOTE) {
            look_at_notes(im, p, f);
        }
    }
    if (!f->is_go) f->is_go = has_go_section(im);
}

int elf_inspect(int fd, struct elf_facts *f)
{
    struct image im = {.fd = fd};
    memset(f, 0, sizeof *f);
    errno = 0;
    if (!elf_read(fd, 0, &im.eh, sizeof im.eh)) return errno ? -errno : 0;
    const Elf64_Ehdr *eh = &im.eh;
    if (memcmp(eh->e_ident, ELFMAG, SELFMAG)) return 0;
    f->is_elf = true;
    f->bits64 = eh->e_ident[EI_CLASS] == ELFCLASS64;
    f->little = eh->e_ident[EI_DATA] == ELFDATA2LSB;
    f->machine = eh->e_machine;     /* at the same place in both classes */
    f->type = eh->e_type;
    if (!f->little) f->machine = (uint16_t)(f->machine << 8 | f->machine >> 8);
    if (!f->bits64 || !f->little || eh->e_phentsize != sizeof(Elf64_Phdr) || eh->e_phnum > MAX_SEGMENTS) return 0;
    im.ph = calloc(eh->e_phnum ? eh->e_phnum : 1, sizeof *im.ph);
    if (!im.ph) return -ENOMEM;
    if (elf_read(fd, eh->e_phoff, im.ph, eh->e_phnum * sizeof *im.ph)) im.nr_ph = eh->e_phnum;
    look_at_segments(&im, f);
    free(im.ph);
    return 0;
}

const char *elf_machine_name(uint16_t machine)
{
    switch (machine) {
    case EM_386: return "i386";
    case EM_X86_64: return "x86-64";
    case EM_ARM: return "arm";
    case EM_AARCH64: return "aarch64";
    case EM_RISCV: return "riscv";
    case EM_PPC64: return "ppc64";
    case EM_S390: return "s390x";
    default: return "another machine";
    }
}
