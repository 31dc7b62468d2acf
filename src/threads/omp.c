/* src/threads/omp.c - OpenMP's teams follow the process's share of the cores.  SPDX-License-Identifier: Apache-2.0
 *
 * A region that does not say how many threads it wants gets as many as the policy has told its process to reckon with, unless the user
 * has said it (OMP_NUM_THREADS, omp_set_num_threads) or the region is inside of another.  A program may have made arrays by
 * omp_get_max_threads: that answers with the most that there can ever be, which no team exceeds.
 *
 * The real functions are those of the runtime that the caller would have got without us: the next one in the global scope, or, for one
 * that was loaded with RTLD_LOCAL (a Python module with an OpenMP runtime of its own), that among the caller's own libraries.
 *
 * A library of its own, libusf-teams.so, which only `usf run --malleable` preloads: a program that finds these names by a weak symbol or by
 * dlsym takes them for an OpenMP runtime that is there, and who stands before functions can only guess whose they are to be. */
#include "threads/omp_names.h"
#include "threads/threads.h"

#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *threads_omp_entry(unsigned number, uint64_t *regs, uintptr_t caller);

/* libusf.so's; without it there is none. */
extern const struct threads_share *_Atomic usf_threads_share __attribute__((weak, visibility("default")));
static const struct threads_share *share(void)
{ return &usf_threads_share ? atomic_load_explicit(&usf_threads_share, memory_order_acquire) : NULL; }

/* ---- the real functions ------------------------------------------------------------------------ */

#define NAME(name, number) [number] = #name,
static const char *const names[OMP_NAMES] = { OMP_REGIONS(NAME) OMP_OTHERS(NAME) OMP_CALLED(NAME) };

#define MAX_CALLERS 32
static struct caller {
    uintptr_t lo, hi;           /* where the object's code lies; set before it is counted */
    void *_Atomic real[OMP_NAMES];
} callers[MAX_CALLERS];
static _Atomic unsigned nr_callers;
static _Atomic unsigned adding;

struct place { uintptr_t at, lo, hi; char path[1024]; };

static int is_here(struct dl_phdr_info *o, size_t size, void *arg)
{
    struct place *p = arg;
    (void)size;
    for (unsigned i = 0; i < o->dlpi_phnum; i++) {
        const ElfW(Phdr) *ph = &o->dlpi_phdr[i];
        uintptr_t lo = o->dlpi_addr + ph->p_vaddr;
        if (ph->p_type != PT_LOAD || p->at < lo || p->at - lo >= ph->p_memsz) continue;
        p->lo = lo;
        p->hi = lo + ph->p_memsz;
        strncpy(p->path, o->dlpi_name ? o->dlpi_name : "", sizeof p->path - 1);
        return 1;
    }
    return 0;
}

static struct caller *known(uintptr_t at)
{
    unsigned n = atomic_load_explicit(&nr_callers, memory_order_acquire);
    for (unsigned i = 0; i < n; i++)
        if (at - callers[i].lo < callers[i].hi - callers[i].lo) return &callers[i];
    return NULL;
}

/* Null: of code that no object has, or there are too many. */
static struct caller *caller_of(uintptr_t at)
{
    struct caller *c = known(at);
    struct place p = { .at = at };
    unsigned free = 0;
    if (c || !dl_iterate_phdr(is_here, &p)) return c;
    if (!atomic_compare_exchange_strong(&adding, &free, 1)) return NULL;       /* another thread does: not cached this time */
    unsigned n = atomic_load(&nr_callers);
    c = known(at);
    if (!c && n < MAX_CALLERS) {
        c = &callers[n];
        c->lo = p.lo;
        c->hi = p.hi;
        atomic_store_explicit(&nr_callers, n + 1, memory_order_release);
    }
    atomic_store(&adding, 0);
    return c;
}

static void *look_up(const char *name, uintptr_t at)
{
    struct place p = { .at = at };
    void *f = dlsym(RTLD_NEXT, name);
    if (f || !dl_iterate_phdr(is_here, &p) || !p.path[0]) return f;
    void *object = dlopen(p.path, RTLD_LAZY | RTLD_NOLOAD);
    if (!object) return NULL;
    f = dlsym(object, name);
    dlclose(object);
    return f;
}

/* A caller cannot always be told: a tail call (jmp) shows the caller's caller, and objects may rely on what the one that loaded them
 * has loaded (underlinked).  Any runtime that is there is better than none. */
struct nth { unsigned left; char path[1024]; };

static int is_nth(struct dl_phdr_info *o, size_t size, void *arg)
{
    struct nth *n = arg;
    (void)size;
    if (n->left--) return 0;
    strncpy(n->path, o->dlpi_name ? o->dlpi_name : "", sizeof n->path - 1);
    return 1;
}

static void *look_everywhere(const char *name)
{
    struct place us = { .at = (uintptr_t)names };
    dl_iterate_phdr(is_here, &us);
    for (unsigned i = 0;; i++) {
        struct nth n = { .left = i };
        if (!dl_iterate_phdr(is_nth, &n)) return NULL;
        void *object = n.path[0] && strcmp(n.path, us.path) ? dlopen(n.path, RTLD_LAZY | RTLD_NOLOAD) : NULL;
        if (!object) continue;
        void *f = dlsym(object, name);
        struct place there = { .at = (uintptr_t)f };
        dlclose(object);
        if (f && dl_iterate_phdr(is_here, &there) && strcmp(there.path, us.path)) return f;
    }
}

static void *real_of(unsigned number, uintptr_t at)
{
    struct caller *c = caller_of(at);
    void *f = c ? atomic_load_explicit(&c->real[number], memory_order_relaxed) : NULL;
    if (f) return f;
    f = look_up(names[number], at);
    if (!f) f = look_everywhere(names[number]);
    /* All at once: later a thread of the team may ask while its master is in a constructor, with the dynamic linker's lock. */
    for (unsigned i = 0; c && i < OMP_NAMES; i++)
        if (!atomic_load_explicit(&c->real[i], memory_order_relaxed))
            atomic_store_explicit(&c->real[i], look_up(names[i], at), memory_order_relaxed);
    if (c) atomic_store_explicit(&c->real[number], f, memory_order_relaxed);
    return f;
}

/* ---- who has said how many --------------------------------------------------------------------- */

static __thread bool set_by_user;
static __thread uint32_t pushed;        /* what the next region of libomp asks for, or 0 */

static bool in_environment(void)
{
    static _Atomic int known_to_be;     /* 1 no, 2 yes: as the runtime, which reads it once */
    int is = atomic_load_explicit(&known_to_be, memory_order_relaxed);
    if (is) return is == 2;
    const char *v = getenv("OMP_NUM_THREADS");
    is = v && *v ? 2 : 1;
    atomic_store_explicit(&known_to_be, is, memory_order_relaxed);
    return is == 2;
}

static bool is_inner(uintptr_t at)
{
    int (*level)(void) = (int (*)(void))real_of(24, at);
    return level && level() > 0;
}

/* ---- regions ----------------------------------------------------------------------------------- */

/* The team's size, or 0: as it is.  asked: what the region itself says, or 0. */
static uint32_t team(uint32_t asked, uintptr_t at)
{
    const struct threads_share *s = share();
    if (!s || !s->is_told() || is_inner(at)) return 0;
    if (!asked && (set_by_user || in_environment())) {
        int (*max)(void) = (int (*)(void))real_of(22, at);
        asked = max ? (uint32_t)max() : 1;
    }
    return s->region(asked);
}

static void push(uint64_t loc, uint32_t n, uintptr_t at)
{
    int (*self)(void *) = (int (*)(void *))real_of(25, at);
    void (*push_num_threads)(void *, int, int) = (void (*)(void *, int, int))real_of(18, at);
    if (self && push_num_threads) push_num_threads((void *)loc, self((void *)loc), (int)n);
}

/* Programs look whether there is an OpenMP runtime by a weak symbol, and there is ours: then it is one without threads. */
static int one_thread(void) { return 1; }
static void no_threads(void) { }
static int bound(void)
{
    const struct threads_share *s = share();
    return (int)s->bound();
}

static void alone(void (*region)(void *), void *data) { region(data); }

static void *missing(unsigned number)
{
    if (number == 0) return (void *)alone;
    if (number >= 22) return (void *)one_thread;
    if (number >= 19) return (void *)no_threads;
    dprintf(2, "usf: %s: no OpenMP runtime has it\n", names[number]);
    abort();
}

static bool is_bounded(void)
{
    const struct threads_share *s = share();
    return s && s->is_told() && !set_by_user && !in_environment();
}

enum { RDX = 4, RDI = 6 };     /* in what omp.S has pushed */

void *threads_omp_entry(unsigned number, uint64_t *regs, uintptr_t caller)
{
    /* Regions name code (or data) of the object that they are in; the return address may be that of who called it. */
    if (number <= OMP_LAST_REGION || number == 18) caller = regs[RDI];
    else if (number == 17) caller = regs[RDX];
    void *real = real_of(number, caller);
    if (!real) return missing(number);
    if (number <= OMP_LAST_REGION) {
        uint32_t n = team((uint32_t)regs[RDX], caller);
        if (n) regs[RDX] = n;
    } else if (number == 17) {
        uint32_t n = team(pushed, caller);
        if (n) push(regs[RDI], n, caller);
        pushed = 0;
    } else if (number == 18) {
        pushed = (uint32_t)regs[RDX];
    } else if (number <= 21) {
        set_by_user = true;
    } else if (is_bounded() && !is_inner(caller)) {
        return (void *)bound;
    }
    return real;
}
