/* src/context/load.c - private copies are loaded.  SPDX-License-Identifier: Apache-2.0
 *
 * The dynamic linker sees, for each library, a file in memory that has the pages which it reads or
 * relocates.  All others are holes, and its executable segments are not executable there: `usf run`
 * looks for system calls in what is, and would find zeros.  When all is relocated, the root's
 * constructor maps the original's pages over those that were not changed (settle), and tells `usf
 * run`.  A library whose own code the dynamic linker executes before that (IFUNC) is copied
 * whole. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "context/context.h"
#include "context/root.h"
#include "usf/usf.h"

/* ---- names ---------------------------------------------------------------------------------------- */

/* The dynamic linker knows libraries by their paths, for ever.  So each path is spelled as none was
 * before: a number becomes redundant parts between its head and its tail. */
static int spell(char *out, size_t cap, const char *head, size_t len, const char *tail)
{
    static uint64_t numbers;
    size_t n = (size_t)snprintf(out, cap, "%.*s", (int)len, head);
    for (uint64_t i = ++numbers; i; i >>= 1) n += (size_t)snprintf(out + n, n < cap ? cap - n : 0, i & 1 ? "/." : "/");
    n += (size_t)snprintf(out + n, n < cap ? cap - n : 0, "/%s", tail);
    return n < cap ? 0 : -1;
}

/* A debugger opens it, too, and has other descriptors: so it is not below /proc/self. */
static void name_of_fd(char *name, size_t cap, int fd)
{
    char head[40] = "/proc/", tail[24];
    ssize_t n = readlink("/proc/self", head + 6, sizeof head - 7);
    snprintf(tail, sizeof tail, "fd/%d", fd);
    spell(name, cap, head, n > 0 ? 6 + (size_t)n : 6, tail);
}

/* For debuggers and dladdr: the original's path.  A later dlopen of the original must not find the
 * copy. */
static void rename_map(struct library *l)
{
    char *path, *slash = strrchr(l->path, '/');
    size_t cap = strlen(l->path) + 160;
    if (!slash || !(path = malloc(cap))) return;
    if (spell(path, cap, l->path, (size_t)(slash - l->path), slash + 1)) {
        free(path);
        return;
    }
    free(l->map->l_name);
    l->map->l_name = path;
}

/* ---- copies --------------------------------------------------------------------------------------- */

#ifndef MFD_EXEC
#define MFD_EXEC 0x10u
#endif

static int make_file(const char *name)
{
    int fd = (int)syscall(SYS_memfd_create, name, MFD_CLOEXEC | MFD_EXEC);
    return fd >= 0 || errno != EINVAL ? fd : (int)syscall(SYS_memfd_create, name, MFD_CLOEXEC);    /* Linux before 6.3 */
}

static bool write_at(int fd, const uint8_t *from, size_t size, size_t offset)
{
    while (size) {
        ssize_t n = pwrite(fd, from, size, (off_t)offset);
        if (n <= 0) return false;
        from += n, offset += (size_t)n, size -= (size_t)n;
    }
    return true;
}

/* Three letters for each context: the first is one that names of libraries do not begin with. */
static void set_tag(const struct usf_context *c, struct image *im)
{
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_+";
    const char tag[IMAGE_TAG] = {"@%=~"[c->id >> 12 & 3], digits[c->id >> 6 & 63], digits[c->id & 63]};
    for (uint32_t i = 0; i < im->nr_tags; i++) memcpy(im->elf.at + im->tags[i], tag, IMAGE_TAG);
}

static void allow_execution(Elf64_Phdr *ph, unsigned n, const struct image *im)
{
    for (unsigned i = 0; i < n; i++)
        if (im->executable[i]) ph[i].p_flags |= PF_X;
}

static int copy_image(const struct usf_context *c, struct image *im, int fd)
{
    size_t pages = (im->elf.size + ELF_PAGE - 1) / ELF_PAGE;
    set_tag(c, im);
    if (ftruncate(fd, (off_t)im->elf.size)) return errno;
    for (size_t i = 0; i < pages; i++) {
        size_t from = i;
        while (i < pages && im->copied[i]) i++;
        size_t end = i * ELF_PAGE < im->elf.size ? i * ELF_PAGE : im->elf.size;
        if (i > from && !write_at(fd, im->elf.at + from * ELF_PAGE, end - from * ELF_PAGE, from * ELF_PAGE)) return errno;
    }
    return 0;
}

static int make_copy(const struct usf_context *c, struct library *l, int *fd)
{
    const char *base = strrchr(l->path, '/');
    if ((*fd = make_file(base ? base + 1 : l->path)) < 0) return context_fail(errno, "no file in memory for %s: memfd_create: %s", l->path, strerror(errno));
    int r = copy_image(c, l->image, *fd);
    name_of_fd(l->name, sizeof l->name, *fd);
    return r ? context_fail(r, "%s cannot be copied into memory: %s", l->path, strerror(r)) : 0;
}

/* ---- the originals' pages ------------------------------------------------------------------------- */

/* The file is still the one that the image was made of. */
static int open_original(const struct library *l)
{
    struct stat st;
    int fd = open(l->path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && (fstat(fd, &st) || !image_is_of(l->image, &st))) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static int protection(const Elf64_Phdr *p) { return (p->p_flags & PF_R ? PROT_READ : 0) | (p->p_flags & PF_W ? PROT_WRITE : 0) | (p->p_flags & PF_X ? PROT_EXEC : 0); }

/* The pages of a segment that the copy has unchanged, or not at all: from the original.  False: one
 * is missing. */
static bool map_original(const struct library *l, int fd, const Elf64_Phdr *p, int prot)
{
    const struct image *im = l->image;
    size_t first = p->p_offset / ELF_PAGE, end = (p->p_offset + p->p_filesz + ELF_PAGE - 1) / ELF_PAGE;
    char *at = (char *)(l->map->l_addr + p->p_vaddr / ELF_PAGE * ELF_PAGE);
    for (size_t i = first; i < end; i++) {
        size_t from = i;
        while (i < end && !im->changed_page[i]) i++;
        if (i > from && mmap(at + (from - first) * ELF_PAGE, (i - from) * ELF_PAGE, prot, MAP_PRIVATE | MAP_FIXED, fd, (off_t)(from * ELF_PAGE)) == MAP_FAILED) return false;
        if (i < end && mprotect(at + (i - first) * ELF_PAGE, ELF_PAGE, prot)) return false;
    }
    return true;
}

/* Memory of the copy that nothing maps any more: its pages of segments that are not writable, but
 * for changed ones. */
static void drop_pages(const struct library *l, int copy)
{
    const struct image *im = l->image;
    size_t pages = (im->elf.size + ELF_PAGE - 1) / ELF_PAGE;
    for (size_t i = 0; i < pages; i++) {
        size_t from = i;
        while (i < pages && im->copied[i] && !im->changed_page[i] && !im->writable[i]) i++;
        if (i > from) fallocate(copy, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)(from * ELF_PAGE), (off_t)((i - from) * ELF_PAGE));
    }
}

/* The headers in memory say again which segments are executable: profilers and unwinders look
 * there. */
static bool restore_headers(const struct library *l)
{
    const struct image *im = l->image;
    unsigned n = im->elf.eh->e_phnum;
    uint64_t offset = im->elf.eh->e_phoff;
    for (unsigned i = 0; i < n; i++) {
        const Elf64_Phdr *p = &im->elf.ph[i];
        if (p->p_type != PT_LOAD || offset < p->p_offset || offset + n * sizeof *p > p->p_offset + p->p_filesz) continue;
        Elf64_Phdr *at = (Elf64_Phdr *)(l->map->l_addr + p->p_vaddr + (offset - p->p_offset));
        char *page = (char *)((uintptr_t)at & -(uintptr_t)ELF_PAGE);
        size_t size = (size_t)((char *)(at + n) - page);
        if (mprotect(page, size, PROT_READ | PROT_WRITE)) return false;
        allow_execution(at, n, im);
        return mprotect(page, size, protection(p) | (im->executable[i] ? PROT_EXEC : 0)) == 0;
    }
    return true;
}

static int settle(struct library *l, int copy)
{
    const struct image *im = l->image;
    bool good = true;
    rename_map(l);
    if (im->elf.resolves) return 0;
    int fd = open_original(l);
    if (fd < 0) return context_fail(ESTALE, "%s was changed while it was loaded: start the program anew", l->path);
    for (unsigned i = 0; good && i < im->elf.eh->e_phnum; i++) {
        const Elf64_Phdr *p = &im->elf.ph[i];
        if (p->p_type == PT_LOAD && !(p->p_flags & PF_W) && p->p_filesz) good = map_original(l, fd, p, protection(p) | (im->executable[i] ? PROT_EXEC : 0));
    }
    good = good && restore_headers(l);
    int r = good ? 0 : context_fail(errno, "%s cannot be mapped: %s", l->path, strerror(errno));
    close(fd);
    if (!r) drop_pages(l, copy);
    usf_text_replaced((void *)l->map->l_addr);
    return r;
}

/* ---- the load ------------------------------------------------------------------------------------- */

/* What the root's constructor is to do; under ld.so's lock. */
static struct { struct plan *plan; int *fds; int result; } loading;

static struct link_map *find_map(const char *name)
{
    struct link_map *m = _r_debug.r_map;
    while (m && (!m->l_name || strcmp(m->l_name, name) != 0)) m = m->l_next;
    return m;
}

static void settle_all(void)
{
    for (unsigned i = 0; !loading.result && i < loading.plan->nr; i++) {
        struct library *l = loading.plan->all[i];
        if (l->map) continue;
        if (!(l->map = find_map(l->name))) loading.result = context_fail(ELIBACC, "%s was not loaded", l->path);
        else loading.result = settle(l, loading.fds[i]);
    }
    if (_r_debug.r_brk) ((void (*)(void))_r_debug.r_brk)();      /* a debugger reads the list of libraries anew */
}

/* The dynamic linker's message, with the libraries' real paths. */
static int refused(struct plan *p, const char *text)
{
    char said[CONTEXT_TEXT] = "";
    for (size_t n = 0; *text && n + 2 < sizeof said;) {
        const struct library *l = 0;
        for (unsigned i = 0; i < p->nr && !l; i++)
            if (*p->all[i]->name && strncmp(text, p->all[i]->name, strlen(p->all[i]->name)) == 0) l = p->all[i];
        if (l) {
            n += (size_t)snprintf(said + n, sizeof said - n, "%s", l->path);
            text += strlen(l->name);
        } else {
            said[n++] = *text++;
            said[n] = 0;
        }
    }
    if (strstr(said, "static TLS"))
        return context_fail(ELIBACC, "%s. Each copy of such a library needs room that is set aside when the program starts: start it by `usf run --static-tls KIB`, or with "
                            "GLIBC_TUNABLES=glibc.rtld.optional_static_tls=BYTES", said);
    return context_fail(ELIBACC, "%s", said);
}

static void nothing(void) {}

/* It was never constructed, and has no code perhaps: its destructors are taken out before it is
 * unloaded. */
static void disarm(const struct library *l)
{
    struct link_map *m = l->map ? l->map : find_map(l->name);
    for (ElfW(Dyn) *d = m ? m->l_ld : 0; d && d->d_tag != DT_NULL; d++) {
        char *page = (char *)((uintptr_t)d & -(uintptr_t)ELF_PAGE);
        if ((d->d_tag != DT_FINI && d->d_tag != DT_FINI_ARRAYSZ) || mprotect(page, 2 * ELF_PAGE, PROT_READ | PROT_WRITE)) continue;
        d->d_un.d_val = d->d_tag == DT_FINI ? (uintptr_t)nothing - m->l_addr : 0;
    }
}

/* libc's.  AddressSanitizer's refuses RTLD_DEEPBIND, because a library would find libc's malloc
 * before the sanitizer's.  Copies do not need libc by themselves, so that they find the
 * sanitizer's. */
typedef void *dlopen_type(const char *, int);
static dlopen_type *real_dlopen(void)
{
    static dlopen_type *known;
    if (!known) *(void **)&known = dlsym(RTLD_NEXT, "dlopen");
    return known ? known : dlopen;
}

static int open_root(struct usf_context *c, struct plan *p, int fd)
{
    char name[128];
    void **roots = realloc(c->roots, (c->nr_roots + 1) * sizeof *roots);
    if (!roots) return context_fail(ENOMEM, "out of memory");
    c->roots = roots;
    name_of_fd(name, sizeof name, fd);
    void *root = real_dlopen()(name, RTLD_LAZY | RTLD_LOCAL | RTLD_DEEPBIND);
    if (!root) return refused(p, dlerror());
    if (loading.result) {
        for (unsigned i = 0; i < p->nr; i++)
            if (loading.fds[i] >= 0) disarm(p->all[i]);
        dlclose(root);
        return loading.result;
    }
    roots[c->nr_roots++] = root;
    return 0;
}

static int load_root(struct usf_context *c, struct plan *p)
{
    const char **names = calloc(p->nr + 1, sizeof *names);
    void *file = 0;
    for (unsigned i = 0; names && i < p->nr; i++) names[i] = p->all[i]->name;
    size_t size = names ? root_make(&file, names, p->nr, settle_all) : 0;
    int fd = size ? make_file("usf-context") : -1, r;
    if (!size) r = context_fail(ENOMEM, "out of memory");
    else if (fd < 0 || !write_at(fd, file, size, 0)) r = context_fail(errno, "no file in memory: %s", strerror(errno));
    else r = open_root(c, p, fd);
    if (fd >= 0) close(fd);
    free(file);
    free(names);
    return r;
}

static int load_copies(struct usf_context *c, struct plan *p)
{
    int r = 0, *fds = calloc(p->nr + 1, sizeof *fds);
    if (!fds) return context_fail(ENOMEM, "out of memory");
    for (unsigned i = 0; i < p->nr; i++) fds[i] = -1;
    for (unsigned i = 0; !r && i < p->nr; i++)
        if (!p->all[i]->map) r = make_copy(c, p->all[i], &fds[i]);
    loading.plan = p, loading.fds = fds, loading.result = 0;
    if (!r) r = load_root(c, p);
    for (unsigned i = 0; i < p->nr; i++)
        if (fds[i] >= 0) close(fds[i]);
    free(fds);
    return r;
}

/* dlsym with this handle looks in the library, then in what it needs. */
static int get_handles(struct plan *p)
{
    for (unsigned i = 0; i < p->nr; i++) {
        struct library *l = p->all[i];
        if (!l->handle && !(l->handle = dlopen(l->name, RTLD_LAZY | RTLD_NOLOAD))) return context_fail(ELIBACC, "%s: %s", l->path, dlerror());
    }
    return 0;
}

static bool is_loaded(const struct plan *p)
{
    for (unsigned i = 0; i < p->nr; i++)
        if (!p->all[i]->handle) return false;
    return true;
}

int load_plan(struct usf_context *c, struct plan *p)
{
    sigset_t all, before;
    if (is_loaded(p)) return 0;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);    /* a handler would run in the middle of a change */
    int r = load_copies(c, p);
    if (!r) r = get_handles(p);
    pthread_sigmask(SIG_SETMASK, &before, 0);
    for (unsigned i = 0; r && i < p->nr; i++)
        if (!p->all[i]->handle) p->all[i]->map = 0;
    return r;
}
