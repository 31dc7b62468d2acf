/* src/context/plan.c - which libraries a context needs.  SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "context/context.h"
#include "context/share.h"
#include "context/stub.h"

/* ---- the list ------------------------------------------------------------------------------------ */

static int append(struct plan *p, struct library *l)
{
    if (p->nr == p->room) {
        unsigned room = p->room ? 2 * p->room : 16;
        struct library **more = realloc(p->all, room * sizeof *more);
        if (!more) return context_fail(ENOMEM, "out of memory");
        p->all = more;
        p->room = room;
    }
    p->all[p->nr++] = l;
    return 0;
}

static bool is_named(const struct library *l, const char *name) { return strcmp(l->image->soname, name) == 0; }

static struct library *find_name(const struct plan *p, const struct usf_context *c, const char *name)
{
    for (struct library *l = c->libraries; l; l = l->next)
        if (is_named(l, name)) return l;
    for (unsigned i = 0; i < p->nr; i++)
        if (is_named(p->all[i], name)) return p->all[i];
    return 0;
}

static struct library *find_image(const struct plan *p, const struct usf_context *c, const struct image *im)
{
    for (struct library *l = c->libraries; l; l = l->next)
        if (l->image == im) return l;
    for (unsigned i = 0; i < p->nr; i++)
        if (p->all[i]->image == im) return p->all[i];
    return 0;
}

static bool is_planned(const struct plan *p, const struct library *l)
{
    for (unsigned i = 0; i < p->nr; i++)
        if (p->all[i] == l) return true;
    return false;
}

void plan_free_library(struct library *l)
{
    free(l->path);
    free(l->found);
    free(l->deps);
    free(l);
}

/* ---- finding ------------------------------------------------------------------------------------- */

static const char *program_entry(int64_t tag)
{
    const char *strings = 0;
    for (const ElfW(Dyn) *d = _r_debug.r_map->l_ld; d && d->d_tag != DT_NULL; d++)
        if (d->d_tag == DT_STRTAB) strings = (const char *)d->d_un.d_ptr;
    for (const ElfW(Dyn) *d = _r_debug.r_map->l_ld; d && strings && d->d_tag != DT_NULL; d++)
        if (d->d_tag == tag) return strings + d->d_un.d_val;
    return 0;
}

/* Where l's own needs are looked for: there, then where those that have loaded it look, then where
 * the program does. */
int plan_open_for(const struct library *l, const char *name, char path[PATH_MAX])
{
    struct search_from chain[64], *from = &chain[0];
    char program[PATH_MAX] = "";
    ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
    for (; l && from < &chain[62]; l = l->loader, from++)
        *from = (struct search_from){from + 1, l->image->rpath, l->image->runpath, l->found};
    *from = (struct search_from){0, program_entry(DT_RPATH), program_entry(DT_RUNPATH), n > 0 ? program : 0};
    return search_open(chain, name, getenv("LD_LIBRARY_PATH"), path);
}

static const char *who_needs(const struct library *l) { return l ? l->path : 0; }

static int not_found(const struct library *by, const char *name)
{
    const char *who = who_needs(by);
    if (who) return context_fail(ENOENT, "%s, which %s needs, was not found: install it, or add its folder to LD_LIBRARY_PATH before the program starts", name, who);
    if (strchr(name, '/')) return context_fail(ENOENT, "%s cannot be opened: %s", name, strerror(errno));
    return context_fail(ENOENT, "no library %s was found: give its path, or add its folder to LD_LIBRARY_PATH before the program starts", name);
}

static int add_dep(struct library *to, struct library *dep)
{
    size_t n = 0;
    while (to->deps && to->deps[n]) n++;
    struct library **more = realloc(to->deps, (n + 2) * sizeof *more);
    if (!more) return context_fail(ENOMEM, "out of memory");
    to->deps = more;
    more[n] = dep;
    more[n + 1] = 0;
    return 0;
}

/* ---- shared ones --------------------------------------------------------------------------------- */

static bool is_known(const struct plan *p, const struct image *im)
{
    for (unsigned i = 0; i < p->nr_shared; i++)
        if (p->shared[i] == im) return true;
    return false;
}

/* The program has it from now on, for all libraries.  One that is loaded already is found by its
 * name, wherever it lies.  One that is loaded by its path is known by its name only after it was
 * asked for by that. */
static int promote(const char *name, const char *path)
{
    int how = RTLD_LAZY | RTLD_GLOBAL | RTLD_NODELETE;
    if (dlopen(name, how | RTLD_NOLOAD)) return 0;
    if (!dlopen(path, how)) return context_fail(ELIBACC, "%s cannot be loaded: %s", path, dlerror());
    dlopen(name, how | RTLD_NOLOAD);
    return 0;
}

static int add_shared(struct plan *p, const struct library *by, const char *name)
{
    char path[PATH_MAX];
    const char *why;
    int fd = plan_open_for(by, name, path);
    if (fd < 0) return dlopen(name, RTLD_LAZY | RTLD_NOLOAD | RTLD_GLOBAL) ? 0 : not_found(by, name);
    struct image *im = image_of(fd, path, true, &why);
    close(fd);
    if (!im) return context_fail(ELIBBAD, "%s: %s", path, why);
    if (is_known(p, im)) return 0;
    struct image **more = realloc(p->shared, (p->nr_shared + 1) * sizeof *more);
    if (!more) return context_fail(ENOMEM, "out of memory");
    p->shared = more;
    more[p->nr_shared++] = im;
    int r = promote(name, path);
    for (char **n = im->needed; !r && n && *n; n++) r = add_shared(p, by, *n);
    return r;
}

/* ---- private ones -------------------------------------------------------------------------------- */

/* A stub library has nothing to copy: its original is meant.  Its path, or null. */
static const char *original_of(const struct image *im)
{
    size_t size;
    const char *path = im ? elf_note(&im->elf, STUB_NOTE_NAME, STUB_NOTE_TYPE, &size) : 0;
    return path && size && size <= PATH_MAX && !path[size - 1] ? path : 0;
}

/* 0, or an errno value, said. */
static int open_image(const struct plan *p, const struct library *by, const char *name, char path[PATH_MAX], struct image **im)
{
    const char *why, *original;
    int fd = plan_open_for(by ? by : p->asker, name, path);
    if (fd < 0) return not_found(by, name);
    *im = image_of(fd, path, false, &why);
    close(fd);
    if ((original = original_of(*im))) {
        fd = open(original, O_RDONLY | O_CLOEXEC);
        if (fd < 0) return context_fail(ENOENT, "%s is a stub of %s, which cannot be opened: %s", path, original, strerror(errno));
        strcpy(path, original);
        *im = image_of(fd, path, false, &why);
        close(fd);
        if (original_of(*im)) return context_fail(ELIBBAD, "%s should be the original of a stub, but is a stub itself", path);
    }
    return *im ? 0 : context_fail(ELIBBAD, "%s: %s", path, why);
}

static int make_library(struct plan *p, const struct usf_context *c, struct library *by, const char *name, struct library **made)
{
    char path[PATH_MAX];
    struct image *im = 0;
    int r = open_image(p, by, name, path, &im);
    if (r) return r;
    if ((*made = find_image(p, c, im))) return 0;
    struct library *l = calloc(1, sizeof *l);
    if (!l || !(l->path = realpath(path, 0)) || !(l->found = strdup(path))) {
        if (l) free(l->path);
        free(l);
        return context_fail(errno, "%s: %s", path, strerror(errno));
    }
    l->image = im;
    l->loader = by ? by : p->asker;
    *made = l;
    return append(p, l);
}

/* By: null: the caller asks for it. */
static int add_library(struct plan *p, struct usf_context *c, struct library *by, const char *name)
{
    struct library *l = strchr(name, '/') ? 0 : find_name(p, c, name);
    int r = l ? 0 : make_library(p, c, by, name, &l);
    /* The dynamic linker finds a library that is loaded by its SONAME alone.  The root needs all of
     * them anyway. */
    if (!r && by && !by->map && (!l->image->has_soname || strcmp(l->image->soname, name) != 0)) image_drop_need(by->image, name);
    if (!r && !is_planned(p, l)) r = append(p, l);
    if (!r && !by) p->target = l;
    return r || !by || by->constructed ? r : add_dep(by, l);
}

struct versions { struct plan *plan; struct usf_context *context; struct library *library; int result; };

/* The dynamic linker takes for granted that it knows the library by the name that stands beside the
 * version. */
static void check_version(void *arg, Elf64_Verneed *need)
{
    struct versions *v = arg;
    const struct image *im = v->library->image;
    const char *name = elf_string(&im->elf, need->vn_file);
    if (v->result) return;
    if (share_is(name)) v->result = add_shared(v->plan, v->library, name);
    else if (!image_needs(im, name)) v->result = context_fail(ELIBBAD, "%s needs versions of %s, but not the library itself", v->library->path, name);
}

/* What the library at a place of the list needs is appended to the list: breadth first, as ld.so
 * does. */
static int add_needs(struct plan *p, struct usf_context *c, struct library *l)
{
    struct versions v = {p, c, l, 0};
    if (l->map) return 0;
    for (char **n = l->image->needed; !v.result && n && *n; n++) v.result = share_is(*n) ? add_shared(p, l, *n) : add_library(p, c, l, *n);
    elf_each_verneed(&l->image->elf, check_version, &v);
    return v.result;
}

static int check_names(const struct plan *p)
{
    for (unsigned i = 0; i < p->nr; i++)
        for (unsigned k = 0; k < i; k++) {
            const struct image *a = p->all[i]->image, *b = p->all[k]->image;
            if (a != b && a->has_soname && b->has_soname && strcmp(a->soname + IMAGE_TAG, b->soname + IMAGE_TAG) == 0)
                return context_fail(ENOTSUP, "%s and %s have names that differ in their first %u letters only: they cannot be in one context", p->all[i]->path,
                                    p->all[k]->path, IMAGE_TAG);
        }
    return 0;
}

static void complete_images(struct plan *p)
{
    for (unsigned i = 0; i < p->nr; i++) {
        struct image *im = p->all[i]->image;
        if (im->complete) continue;
        bool is_shim = strcmp(im->soname, SHIM_NAME) == 0;     /* stands in for libc */
        for (unsigned k = 0; k < p->nr_shared && !is_shim; k++) image_yield(im, p->shared[k]);
        image_complete(im);
    }
}

static int make(struct plan *p, struct usf_context *c, struct library *asker, const char *const *names, unsigned n)
{
    *p = (struct plan){.asker = asker};
    int r = add_shared(p, 0, "libgcc_s.so.1");      /* the program's unwinder, which libraries may have a copy of */
    for (unsigned i = 0; !r && i < n; i++) r = add_library(p, c, 0, names[i]);
    for (unsigned i = 0; !r && i < p->nr; i++) r = add_needs(p, c, p->all[i]);
    for (struct library *l = c->libraries; !r && l; l = l->next)
        if (l->global && !is_planned(p, l)) r = append(p, l);
    if (!r) r = check_names(p);
    if (r) plan_drop(p);
    return r;
}

/* A constructor of a shared library, which has just been loaded, may have loaded into this context,
 * or added a rule. */
int plan_make(struct plan *p, struct usf_context *c, struct library *asker, const char *const *names, unsigned n)
{
    for (;;) {
        uint64_t loads = contexts.loads, rules = share_rules();
        int r = make(p, c, asker, names, n);
        if (r || (loads == contexts.loads && rules == share_rules())) {
            if (!r) complete_images(p);
            return r;
        }
        plan_drop(p);
    }
}

void plan_make_global(struct plan *p)
{
    for (unsigned i = 1; i < p->nr; i++) p->all[i]->global = true;      /* the first is the shim */
}

void plan_keep(struct plan *p, struct usf_context *c)
{
    contexts.loads++;
    for (unsigned i = 0; i < p->nr; i++) {
        struct library *l = p->all[i];
        if (l->next || c->end == &l->next) continue;    /* it is in the list */
        *c->end = l;
        c->end = &l->next;
    }
}

static bool is_kept(const struct library *l) { return l->handle != 0; }

void plan_drop(struct plan *p)
{
    for (unsigned i = 0; i < p->nr; i++)
        if (!is_kept(p->all[i])) plan_free_library(p->all[i]);
    free(p->all);
    free(p->shared);
    *p = (struct plan){0};
}
