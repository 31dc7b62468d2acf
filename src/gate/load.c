/* src/gate/load.c - patch what is loaded, now and later.  SPDX-License-Identifier: Apache-2.0
 *
 * The dynamic linker calls _dl_debug_state (_r_debug.r_brk) around every change of its list of
 * objects, for debuggers: with a new object mapped, but not yet relocated or initialised, or with
 * an old one gone.  Its entry is patched to come here.  All of this file runs at start,
 * single-threaded, or under ld.so's load lock.
 *
 * The dynamic linker is in the middle of a change: nothing of it may be called, neither here nor in
 * `on_loaded`.  dl_iterate_phdr, for one, reads past the end of a thread's table of thread-local
 * storage, which does not have the new objects yet.  So this file reads the list of link maps, as
 * debuggers do. */
#include "gate/objects.h"

#include "arch/code.h"
#include "base/base.h"
#include "os/os.h"
#include "os/syscall.h"

#include <fcntl.h>
#include <link.h>
#include <sys/auxv.h>

#define SMALL_TEXT (64u << 10)      /* scanned faster than looked up */

#define MAX_HEADERS 64
#define MAX_SPACES  16              /* namespaces of glibc */

static void (*on_loaded)(const struct gate_object *);
static uintptr_t self_lo, self_hi, vdso, linker;
uint8_t gate_self_id[32];
static const struct r_debug_extended *debug_root;
static bool removed;                /* something may have been taken out since the last look */

/* Program headers of an object. */
struct headers { const Elf64_Phdr *ph; unsigned n; };
static struct headers program;      /* the program's, as the kernel tells */

/* ---- where its program headers are ------------------------------------------------------------ */
/* A link map tells where the object's dynamic section is: headers that say the same are the
 * object's. */
static bool belong(const struct link_map *lm, const struct headers *h)
{
    for (unsigned i = 0; i < h->n; i++)
        if (h->ph[i].p_type == PT_DYNAMIC) return lm->l_addr + h->ph[i].p_vaddr == (uintptr_t)lm->l_ld;
    return false;
}

static bool is_elf(const Elf64_Ehdr *eh)
{
    return *(const uint32_t *)(const void *)eh == 0x464c457f && eh->e_ident[EI_CLASS] == ELFCLASS64
           && eh->e_phentsize == sizeof(Elf64_Phdr) && eh->e_phnum && eh->e_phnum <= MAX_HEADERS && eh->e_phoff % 8 == 0;
}

/* In memory, where nearly every object begins with its ELF header.  But no link map says so. */
static bool mapped_headers(const struct link_map *lm, struct headers *h)
{
    const Elf64_Ehdr *eh = (const void *)lm->l_addr;
    if (lm->l_addr % 4096 || !os_can_read(eh) || !is_elf(eh)) return false;
    *h = (struct headers){(const void *)(lm->l_addr + eh->e_phoff), eh->e_phnum};
    return os_can_read(h->ph) && os_can_read(&h->ph[h->n - 1].p_align) && belong(lm, h);
}

static bool read_headers(const struct link_map *lm, struct headers *h)
{
    static Elf64_Phdr ph[MAX_HEADERS];
    Elf64_Ehdr eh;
    int fd = lm->l_name && *lm->l_name ? os_open(lm->l_name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0) : -1;
    if (fd < 0) return false;
    bool ok = os_pread(fd, &eh, sizeof eh, 0) == (long)sizeof eh && is_elf(&eh);
    size_t len = ok ? eh.e_phnum * sizeof *ph : 0;
    ok = ok && os_pread(fd, ph, len, eh.e_phoff) == (long)len;
    os_close(fd);
    *h = (struct headers){ph, ok ? eh.e_phnum : 0};
    return belong(lm, h);
}

static bool find_headers(const struct link_map *lm, struct headers *h)
{
    *h = program;
    if (lm == debug_root->base.r_map && belong(lm, h)) return true;     /* the program: it need not begin at l_addr */
    return mapped_headers(lm, h) || read_headers(lm, h);
}

/* ---- one object ------------------------------------------------------------------------------- */
static void copy_path(struct gate_entry *e, const char *name)
{
    static const char program_path[] = "/proc/self/exe";
    if (!name || !*name) {      /* the program itself; unknown if the dynamic linker was called to start it */
        e->path[0] = 0;
        if (!linker) return;
        name = program_path;
        /* Its name is for messages alone, and takes longer than all else that is done for a small
         * program. */
        long n = usf_verbose ? usf_syscall(__NR_readlinkat, AT_FDCWD, program_path, e->path, sizeof e->path - 1) : 0;
        if (n > 0) {
            e->path[n] = 0;
            return;
        }
    }
    size_t i = 0;
    for (; name[i] && i < sizeof e->path - 1; i++) e->path[i] = name[i];
    e->path[i] = 0;
}

static uint64_t text_range(const struct gate_image *im, uint64_t *lo, uint64_t *hi)
{
    uint64_t size = 0;
    *lo = UINT64_MAX;
    *hi = 0;
    for (unsigned i = 0; i < im->nr_segs; i++) {
        const struct gate_seg *s = &im->seg[i];
        if (!s->exec) continue;
        if (s->addr < *lo) *lo = s->addr;
        if (s->addr + s->len > *hi) *hi = s->addr + s->len;
        size += s->len;
    }
    return size;
}

/* The function only returns, and its alignment leaves room for a jump. */
static bool room_at(const struct gate_image *im, uintptr_t base, uintptr_t brk)
{
    struct gate_fde f;
    const uint8_t *p = brk > base ? gate_at(im, brk - base, ARCH_RETURN_MAX + ARCH_JUMP_LEN) : NULL;
    if (!p || !arch_only_returns(p)) return false;
    for (uintptr_t a = brk - base + 1; a < brk - base + ARCH_JUMP_LEN; a++)
        if (gate_fde_find(im, a, &f) && f.start != brk - base) return false;
    return true;
}

/* The dynamic linker's notification is patched with the linker's calls: their copy in the cache has
 * that jump, too. */
static void add_notification(const struct gate_entry *e, struct gate_list *sites)
{
    uintptr_t brk = debug_root ? debug_root->base.r_brk : 0, base = e->object.base;
    struct gate_rec *r = brk && room_at(&e->image, base, brk) ? gate_list_add(sites) : NULL;
    if (r) *r = (struct gate_rec){.at = brk - base, .nr = -1, .cls = GATE_SITE_NOTIFY, .len = ARCH_JUMP_LEN};
}

static void patch_entry(struct gate_entry *e, uint64_t text_size)
{
    struct gate_key key = {.len = 0};
    struct gate_list sites = {0};
    struct gate_shared share;
    if (text_size >= SMALL_TEXT)
        gate_cache_key(&key, e->object.build_id, (unsigned)e->object.build_id_len, e->path);
    bool may_share = gate_share_begin(&share, &e->image, e->object.base, &key, e->path);
    if (may_share && gate_share_use(&share, &e->patched)) {
        if (usf_verbose && gate_cache_get(&key, &e->image, &sites)) gate_say_unpatched(&e->image, &sites, e->path);
        gate_list_free(&sites);
        return;
    }
    if (gate_cache_get(&key, &e->image, &sites)) usf_gate_stats.cache_hits++;
    else if (gate_scan(&e->image, &sites)) usf_warn_once("no memory to look for system calls");
    else gate_cache_put(&key, &e->image, &sites);
    if (e->image.linker) add_notification(e, &sites);
    if (sites.nr) e->patched = gate_patch_object(&e->image, e->object.base, &sites, may_share ? &share : NULL, e->path);
    gate_list_free(&sites);
}

/* The object of a new link map is ours, or not to be touched, or patched now. */
static void meet(const struct link_map *lm, uint32_t index)
{
    struct gate_entry *e = gate_entry_at(index);
    struct headers h;
    struct gate_image im;
    uint64_t lo, hi;
    uintptr_t base = lm->l_addr;
    usf_gate_stats.met++;
    if (!lm->l_ld || !find_headers(lm, &h)) h.n = 0;
    if (!h.n) return;
    gate_image_from_phdrs(&im, base, h.ph, h.n);
    im.linker = linker && base == linker;
    uint64_t size = text_range(&im, &lo, &hi);
    if (!size || base + lo == self_lo || (vdso && base + im.low == vdso)) return;
    if (gate_is_known(base, base + lo)) return;      /* the dynamic linker itself, which each namespace lists */
    *e = (struct gate_entry){.index = index, .image = im};
    copy_path(e, lm->l_name);
    e->object = (struct gate_object){.base = base, .text = base + lo, .text_end = base + hi, .path = e->path,
        .build_id = e->build_id, .build_id_len = gate_build_id(base, h.ph, h.n, e->build_id, sizeof e->build_id),
        .eh_frame_hdr = im.eh_hdr ? (const void *)(base + im.eh_hdr) : NULL, .index = index};
    usf_gate_stats.objects++;
    patch_entry(e, size);
    gate_entry_publish(e);
    if (on_loaded) on_loaded(&e->object);
}

static void drop(struct gate_entry *e)
{
    gate_entry_drop(e);
    gate_free_code(e->patched.code, e->patched.len);
    gate_free_code(e->hooks.code, e->hooks.len);
}

static void forget(uint32_t index)
{
    struct gate_entry *e = gate_entry_at(index);
    if (e->used) drop(e);
    gate_place_free(index);
}

/* ---- all of them ------------------------------------------------------------------------------ */
/* What is known of each namespace, in the order of its list: the dynamic linker appends to it, and
 * takes out from anywhere. */
static struct space { uint32_t first, last; } spaces[MAX_SPACES];

static uint32_t *next_of(struct space *s, uint32_t index) { return index ? &gate_place_at(index)->next : &s->first; }

static void follow(struct space *s, const struct link_map *lm)
{
    uint32_t prev = removed ? 0 : s->last, at;
    if (prev) lm = gate_place_at(prev)->map->l_next;
    while (lm || *next_of(s, prev)) {
        at = *next_of(s, prev);
        if (!at) {
            if (!(at = gate_place_new(lm))) {
                usf_warn_once("too many objects: those loaded from now on are not intercepted");
                break;
            }
            meet(lm, *next_of(s, prev) = at);
        } else if (gate_place_at(at)->map != lm || gate_place_at(at)->base != lm->l_addr) {
            *next_of(s, prev) = *next_of(s, at);
            forget(at);
            continue;
        }
        prev = at;
        lm = lm->l_next;
    }
    s->last = prev;
}

static const struct r_debug_extended *next_space(const struct r_debug_extended *d) { return d->base.r_version >= 2 ? d->r_next : NULL; }

void gate_patch_loaded(void)
{
    struct space *s = spaces;
    gate_take_over_clone();
    for (const struct r_debug_extended *d = debug_root; d && s < spaces + MAX_SPACES; d = next_space(d)) follow(s++, d->base.r_map);
    removed = false;
}

bool gate_renewed(uintptr_t base)
{
    for (unsigned s = 0; s < MAX_SPACES; s++)
        for (uint32_t at = spaces[s].first; at; at = gate_place_at(at)->next) {
            struct gate_entry *e = gate_entry_at(at);
            if (gate_place_at(at)->base != base) continue;
            if (e->used) drop(e);
            meet(gate_place_at(at)->map, at);
            return true;
        }
    return false;
}

/* ---- notification ----------------------------------------------------------------------------- */
void gate_notify(void)
{
    bool done = true;
    for (const struct r_debug_extended *d = debug_root; d; d = next_space(d)) {
        if (d->base.r_state != RT_CONSISTENT) done = false;
        if (d->base.r_state == RT_DELETE) removed = true;
    }
    if (done) gate_patch_loaded();          /* else another call follows when the change is done */
}

void gate_on_load(void (*loaded)(const struct gate_object *))
{
    uintptr_t brk = debug_root ? debug_root->base.r_brk : 0;
    bool again = on_loaded;
    on_loaded = loaded;
    if (!again && debug_root && (!brk || !arch_is_jump((const uint8_t *)brk)))
        usf_say("gate: the dynamic linker's notification cannot be had: objects loaded later stay as they are");
}

/* ---- ourselves -------------------------------------------------------------------------------- */
extern const Elf64_Ehdr __ehdr_start __attribute__((visibility("hidden")));     /* the static linker's */

static void find_self(void)
{
    struct gate_image im;
    uint64_t lo, hi;
    const char *start = (const char *)&__ehdr_start;
    const Elf64_Phdr *ph = (const void *)(start + __ehdr_start.e_phoff);
    gate_image_from_phdrs(&im, 0, ph, __ehdr_start.e_phnum);
    text_range(&im, &lo, &hi);
    uintptr_t base = (uintptr_t)start - (im.low & -4096ul);
    self_lo = base + lo;
    self_hi = base + hi;
    gate_build_id(base, ph, __ehdr_start.e_phnum, gate_self_id, sizeof gate_self_id);
}

/* The program's own pointer, where it has one: _r_debug may be a copy that the program has made at
 * its start. */
static const struct r_debug_extended *find_debug(void)
{
    const Elf64_Dyn *d = _r_debug.r_map ? _r_debug.r_map->l_ld : NULL;
    for (; d && d->d_tag != DT_NULL; d++)
        if (d->d_tag == DT_DEBUG && d->d_un.d_ptr) return (const void *)d->d_un.d_ptr;
    return (const void *)&_r_debug;
}

bool gate_loader_is_idle(void)
{
    for (const struct r_debug_extended *d = find_debug(); d; d = next_space(d))
        if (d->base.r_state != RT_CONSISTENT) return false;
    return true;
}

int gate_init(const char *cache_dir)
{
    vdso = getauxval(AT_SYSINFO_EHDR);
    linker = getauxval(AT_BASE);
    program.ph = (const void *)getauxval(AT_PHDR);
    program.n = program.ph ? (unsigned)getauxval(AT_PHNUM) : 0;
    debug_root = find_debug();
    find_self();
    gate_cache_init(cache_dir);
    return 0;
}

bool gate_contains_pc(uintptr_t pc)
{
    return (pc >= self_lo && pc < self_hi) || gate_in_stubs(pc);
}
