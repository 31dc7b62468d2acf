/* src/context/image.c - see image.h.  SPDX-License-Identifier: Apache-2.0 */
#include "context/image.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "context/share.h"

/* A dynamic entry that the dynamic linker does not know, and ignores. */
#define DT_IGNORED 0x60000fff

static struct image *images;

/* ---- what is changed ----------------------------------------------------------------------------- */

static size_t pages_of(const struct image *im) { return (im->elf.size + ELF_PAGE - 1) / ELF_PAGE; }

static void touch(struct image *im, const void *p, size_t size)
{
    size_t from = (size_t)((const uint8_t *)p - im->elf.at);
    for (size_t page = from / ELF_PAGE; page <= (from + size - 1) / ELF_PAGE; page++) im->changed_page[page] = 1;
}

static bool add_tag(struct image *im, uint64_t string)
{
    const char *s = elf_string(&im->elf, string);
    uint32_t at = (uint32_t)((const uint8_t *)s - im->elf.at);
    if (strlen(s) <= IMAGE_TAG || !string || s[-1]) return false;     /* its end is another string's end: both would change */
    for (uint32_t i = 0; i < im->nr_tags; i++)
        if (im->tags[i] == at) return true;
    uint32_t *more = realloc(im->tags, (im->nr_tags + 1) * sizeof *more);
    if (!more) return false;
    im->tags = more;
    more[im->nr_tags++] = at;
    touch(im, s, IMAGE_TAG);
    return true;
}

static const char *add_needed(struct image *im, const char *name)
{
    size_t n = 0;
    while (im->needed && im->needed[n]) n++;
    char **more = realloc(im->needed, (n + 2) * sizeof *more);
    if (!more) return "out of memory";
    im->needed = more;
    more[n + 1] = 0;
    return (more[n] = strdup(name)) ? 0 : "out of memory";
}

static const char *list_needed(struct image *im)
{
    for (size_t i = 0; i < im->elf.nr_dyn; i++) {
        const char *why = im->elf.dyn[i].d_tag == DT_NEEDED ? add_needed(im, elf_string(&im->elf, im->elf.dyn[i].d_un.d_val)) : 0;
        if (why) return why;
    }
    return 0;
}

/* As elf_open has checked them: the first of each kind counts. */
static void take_constructors(struct image *im)
{
    const Elf64_Dyn *init = elf_dyn(&im->elf, DT_INIT), *array = elf_dyn(&im->elf, DT_INIT_ARRAY), *size = elf_dyn(&im->elf, DT_INIT_ARRAYSZ);
    if (init) im->init = init->d_un.d_ptr;
    if (!array || !size) return;
    im->init_array = array->d_un.d_ptr;
    im->nr_init = size->d_un.d_val / 8;
}

static const char *change_dynamic(struct image *im)
{
    static const char shared_string[] = "not supported: the name of a library is the end of another name in it";
    for (size_t i = 0; i < im->elf.nr_dyn; i++) {
        Elf64_Dyn *d = &im->elf.dyn[i];
        switch (d->d_tag) {
        case DT_NEEDED:
            if (share_is(elf_string(&im->elf, d->d_un.d_val))) d->d_tag = DT_IGNORED;
            else if (!add_tag(im, d->d_un.d_val)) return shared_string;
            break;
        case DT_SONAME:
            if (im->has_soname && !add_tag(im, d->d_un.d_val)) return shared_string;
            break;
        case DT_INIT: case DT_INIT_ARRAY: case DT_INIT_ARRAYSZ: d->d_tag = DT_IGNORED; break;
        case DT_RPATH: im->rpath = elf_string(&im->elf, d->d_un.d_val); d->d_tag = DT_IGNORED; break;
        case DT_RUNPATH: im->runpath = elf_string(&im->elf, d->d_un.d_val); d->d_tag = DT_IGNORED; break;
        case DT_AUXILIARY: case DT_FILTER: case DT_PREINIT_ARRAY: case DT_PREINIT_ARRAYSZ: d->d_tag = DT_IGNORED; break;
        case DT_FLAGS_1: d->d_un.d_val &= ~(uint64_t)(DF_1_NODELETE | DF_1_INITFIRST | DF_1_GLOBAL | DF_1_NOOPEN); break;
        default: break;
        }
    }
    return 0;
}

static void change_verneed(void *arg, Elf64_Verneed *v)
{
    struct image *im = arg;
    if (!share_is(elf_string(&im->elf, v->vn_file))) add_tag(im, v->vn_file);
}

/* Until the original's text is mapped there is none (load.c).  The page of the headers stays the
 * copy's: they are mended in memory. */
static void hide_text(struct image *im)
{
    for (unsigned i = 0; !im->elf.resolves && i < im->elf.eh->e_phnum; i++) {
        Elf64_Phdr *p = &im->elf.ph[i];
        im->executable[i] = p->p_type == PT_LOAD && p->p_flags & PF_X;
        if (im->executable[i]) p->p_flags &= ~(Elf64_Word)PF_X;
    }
    touch(im, im->elf.ph, im->elf.eh->e_phnum * sizeof *im->elf.ph);
}

static void demote_unique(struct image *im)
{
    for (size_t i = 0; i < im->elf.nr_sym; i++) {
        Elf64_Sym *s = &im->elf.sym[i];
        if (ELF64_ST_BIND(s->st_info) != STB_GNU_UNIQUE) continue;
        s->st_info = ELF64_ST_INFO(STB_GLOBAL, ELF64_ST_TYPE(s->st_info));
        touch(im, s, sizeof *s);
    }
}

void image_yield(struct image *im, const struct image *shared)
{
    for (size_t i = 1; i < im->elf.nr_sym; i++) {
        Elf64_Sym *s = &im->elf.sym[i];
        if (s->st_shndx == SHN_UNDEF || ELF64_ST_BIND(s->st_info) == STB_LOCAL || ELF64_ST_VISIBILITY(s->st_other) != STV_DEFAULT) continue;
        if (im->elf.versym && (im->elf.versym[i] & 0x7fff) != VER_NDX_GLOBAL) continue;
        const char *name = im->elf.str + s->st_name;
        if (!elf_exports(&shared->elf, name, elf_hash(name))) continue;
        s->st_shndx = SHN_UNDEF;
        s->st_value = 0;
        touch(im, s, sizeof *s);
    }
}

/* ---- what is copied ------------------------------------------------------------------------------ */

static void copy_range(void *arg, size_t from, size_t size)
{
    struct image *im = arg;
    for (size_t page = from / ELF_PAGE; size && page <= (from + size - 1) / ELF_PAGE && page < pages_of(im); page++) im->copied[page] = 1;
}

/* Pages that are not read before the original's replace them stay holes in the copy. */
static void choose_pages(struct image *im)
{
    elf_each_table(&im->elf, copy_range, im);
    for (unsigned i = 0; i < im->elf.eh->e_phnum; i++) {
        const Elf64_Phdr *p = &im->elf.ph[i];
        if (p->p_type != PT_LOAD || !(p->p_flags & PF_W) || !p->p_filesz) continue;
        copy_range(im, p->p_offset, p->p_filesz);
        memset(im->writable + p->p_offset / ELF_PAGE, 1, (p->p_offset + p->p_filesz - 1) / ELF_PAGE - p->p_offset / ELF_PAGE + 1);
    }
    for (size_t page = 0; page < pages_of(im); page++) im->copied[page] |= im->changed_page[page] || im->elf.resolves;
}

/* ---- the cache ----------------------------------------------------------------------------------- */

static void drop(struct image *im)
{
    if (im->elf.at) munmap(im->elf.at, im->elf.size);
    for (size_t i = 0; im->needed && im->needed[i]; i++) free(im->needed[i]);
    free(im->needed);
    free(im->soname);
    free(im->tags);
    free(im->copied);
    free(im->changed_page);
    free(im->writable);
    free(im->executable);
    free(im);
}

bool image_is_of(const struct image *im, const struct stat *st)
{
    return im->dev == st->st_dev && im->ino == st->st_ino && im->changed.tv_sec == st->st_mtim.tv_sec && im->changed.tv_nsec == st->st_mtim.tv_nsec &&
           (size_t)st->st_size == im->elf.size;
}

static const char *read_image(struct image *im, int fd, const char *path, const struct stat *st)
{
    static const char no_memory[] = "out of memory";
    const char *base = strrchr(path, '/'), *why;
    if (!S_ISREG(st->st_mode)) return "not a file";
    if (st->st_size < 64) return "not an ELF file";
    void *at = mmap(0, (size_t)st->st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    if (at == MAP_FAILED) return strerror(errno);
    im->elf.at = at;
    im->elf.size = (size_t)st->st_size;
    if ((why = elf_open(&im->elf, at, (size_t)st->st_size))) {
        im->elf.at = at;
        return why;
    }
    im->has_soname = im->elf.soname && strlen(im->elf.soname) > IMAGE_TAG;
    im->soname = strdup(im->has_soname ? im->elf.soname : base ? base + 1 : path);
    im->copied = calloc(pages_of(im), 1);
    im->changed_page = calloc(pages_of(im), 1);
    im->writable = calloc(pages_of(im), 1);
    im->executable = calloc(im->elf.eh->e_phnum, 1);
    if (!im->soname || !im->copied || !im->changed_page || !im->writable || !im->executable) return no_memory;
    if ((why = list_needed(im)) || im->shared) return why;
    take_constructors(im);
    if ((why = change_dynamic(im))) return why;
    elf_each_verneed(&im->elf, change_verneed, im);
    demote_unique(im);
    hide_text(im);
    return 0;
}

struct image *image_of(int fd, const char *path, bool shared, const char **why)
{
    struct stat st;
    if (fstat(fd, &st)) {
        *why = strerror(errno);
        return 0;
    }
    for (struct image *im = images; im; im = im->next)
        if (image_is_of(im, &st) && im->shared == shared && (shared || im->rules == share_rules())) return im;
    struct image *im = calloc(1, sizeof *im);
    if (!im) {
        *why = "out of memory";
        return 0;
    }
    im->dev = st.st_dev, im->ino = st.st_ino, im->changed = st.st_mtim, im->shared = shared, im->rules = share_rules();
    if ((*why = read_image(im, fd, path, &st))) {
        drop(im);
        return 0;
    }
    im->next = images;
    images = im;
    return im;
}

/* But for a tag. */
static bool is_same(const char *a, const char *b) { return strlen(a) == strlen(b) && strlen(a) > IMAGE_TAG && strcmp(a + IMAGE_TAG, b + IMAGE_TAG) == 0; }

bool image_needs(const struct image *im, const char *name)
{
    for (char **n = im->needed; n && *n; n++)
        if (is_same(*n, name)) return true;
    return false;
}

void image_drop_need(struct image *im, const char *name)
{
    for (size_t i = 0; i < im->elf.nr_dyn; i++) {
        Elf64_Dyn *d = &im->elf.dyn[i];
        if (d->d_tag == DT_NEEDED && is_same(elf_string(&im->elf, d->d_un.d_val), name)) d->d_tag = DT_IGNORED;
    }
}

void image_complete(struct image *im)
{
    choose_pages(im);
    im->complete = true;
}
