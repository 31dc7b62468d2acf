/* src/gate/load.c - patch what is loaded, now and later.  SPDX-License-Identifier: Apache-2.0
 *
 * The dynamic linker calls _dl_debug_state (_r_debug.r_brk) around every change of its list of objects, for
 * debuggers: with a new object mapped, but not yet relocated or initialised, or with an old one gone.  Its
 * entry is patched to come here.  All of this file runs at start, single-threaded, or under ld.so's load lock. */
#include "gate/objects.h"

#include "base/base.h"
#include "os/os.h"
#include "os/syscall.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sys/auxv.h>

#define SMALL_TEXT (64u << 10)      /* scanned faster than looked up */

static void (*on_loaded)(const struct gate_object *);
static uintptr_t self_lo, self_hi, vdso, linker;
typedef int (*iterate_fn)(int (*each)(struct dl_phdr_info *, size_t, void *), void *arg);
static iterate_fn iterate_phdr = dl_iterate_phdr;
static const struct r_debug_extended *debug_root;

/* ---- one object ------------------------------------------------------------------------------- */
static void copy_path(struct gate_entry *e, const char *name)
{
    if (!name || !*name) {      /* the program itself; unknown if the dynamic linker was called to start it */
        e->path[0] = 0;
        if (!getauxval(AT_BASE)) return;
        long n = usf_syscall(__NR_readlinkat, AT_FDCWD, "/proc/self/exe", e->path, sizeof e->path - 1);
        e->path[n > 0 ? n : 0] = 0;
        return;
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

static void patch_entry(struct gate_entry *e, uint64_t text_size)
{
    struct gate_key key = {.len = 0};
    struct gate_list sites = {0};
    if (text_size >= SMALL_TEXT)
        gate_cache_key(&key, e->object.build_id, (unsigned)e->object.build_id_len, e->path);
    if (gate_cache_get(&key, &e->image, &sites)) usf_gate_stats.cache_hits++;
    else if (gate_scan(&e->image, &sites)) usf_warn_once("no memory to look for system calls");
    else gate_cache_put(&key, &e->image, &sites);
    if (sites.nr) e->patched = gate_patch_object(&e->image, e->object.base, &sites, &key, e->path);
    gate_list_free(&sites);
}

/* The object at base with these program headers: known, ours, or to be patched now. */
static void meet(uintptr_t base, const char *name, const Elf64_Phdr *ph, unsigned n)
{
    struct gate_image im;
    uint64_t lo, hi;
    gate_image_from_phdrs(&im, base, ph, n);
    im.linker = linker && base == linker;
    uint64_t size = text_range(&im, &lo, &hi);
    if (!size || base + lo == self_lo || (vdso && base + im.low == vdso)) return;
    struct gate_entry *e = gate_entry_by_base(base, base + lo);
    if (e) {
        e->seen = true;
        return;
    }
    e = gate_entry_new();
    if (!e) {
        usf_warn_once("too many objects: those loaded from now on are not intercepted");
        return;
    }
    *e = (struct gate_entry){.index = e->index, .seen = true, .image = im};
    copy_path(e, name);
    e->object = (struct gate_object){.base = base, .text = base + lo, .text_end = base + hi, .path = e->path,
        .build_id = e->build_id, .build_id_len = gate_build_id(base, ph, n, e->build_id, sizeof e->build_id),
        .eh_frame_hdr = im.eh_hdr ? (const void *)(base + im.eh_hdr) : NULL};
    usf_gate_stats.objects++;
    patch_entry(e, size);
    gate_entry_publish(e);
    e->fresh = true;
}

/* ---- all of them ------------------------------------------------------------------------------ */
static int each_phdr(struct dl_phdr_info *i, size_t size, void *arg)
{
    meet(i->dlpi_addr, i->dlpi_name, i->dlpi_phdr, i->dlpi_phnum);
    return 0;
}

static bool read_own(int fd, void *to, uintptr_t from, size_t len)
{
    return usf_syscall(__NR_pread64, fd, to, len, from) == (long)len;
}

/* Objects of other namespaces (dlmopen), which dl_iterate_phdr does not show: from their ELF headers, read
 * through /proc because a link map does not say that its header is mapped. */
static void meet_namespace(const struct link_map *lm, int fd)
{
    for (; lm; lm = lm->l_next) {
        Elf64_Ehdr eh;
        if (!lm->l_addr || !read_own(fd, &eh, lm->l_addr, sizeof eh) || *(const uint32_t *)(const void *)&eh != 0x464c457f
            || eh.e_phentsize != sizeof(Elf64_Phdr) || eh.e_phnum > 64)
            continue;
        const Elf64_Phdr *ph = (const void *)(lm->l_addr + eh.e_phoff);
        Elf64_Phdr last;
        if (eh.e_phnum && read_own(fd, &last, (uintptr_t)(ph + eh.e_phnum - 1), sizeof last))
            meet(lm->l_addr, lm->l_name, ph, eh.e_phnum);
    }
}

static void other_namespaces(void)
{
    if (!debug_root || debug_root->base.r_version < 2 || !debug_root->r_next) return;
    int fd = os_open("/proc/thread-self/mem", O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0) return;
    for (const struct r_debug_extended *d = debug_root->r_next; d; d = d->r_next) meet_namespace(d->base.r_map, fd);
    os_close(fd);
}

void gate_patch_loaded(void)
{
    gate_take_over_clone();
    for (struct gate_entry *e = gate_entry_next(NULL); e; e = gate_entry_next(e)) e->seen = e->fresh = false;
    iterate_phdr(each_phdr, NULL);
    other_namespaces();
    for (struct gate_entry *e = gate_entry_next(NULL); e; e = gate_entry_next(e))
        if (!e->seen) {
            gate_entry_drop(e);
            gate_free_code(e->patched.code, e->patched.len);
            gate_free_code(e->hooks.code, e->hooks.len);
        }
}

/* ---- notification ----------------------------------------------------------------------------- */
static void notify(void)
{
    for (const struct r_debug_extended *d = debug_root; d; d = d->base.r_version >= 2 ? d->r_next : NULL)
        if (d->base.r_state != RT_CONSISTENT) return;     /* another call follows when the change is done */
    gate_patch_loaded();
    for (struct gate_entry *e = gate_entry_next(NULL); e && on_loaded; e = gate_entry_next(e))
        if (e->fresh) on_loaded(&e->object);
}

/* The function is `ret`, perhaps after endbr64, and its alignment leaves room for a jump. */
static bool room_at(uintptr_t brk)
{
    struct gate_object o;
    const uint8_t *p = (const uint8_t *)brk;
    uintptr_t start, end;
    if (*(const uint32_t *)(const void *)p == 0xfa1e0ff3) p += 4;
    if (*p == 0xf3) p++;
    if (*p != 0xc3 || !gate_find_object(brk + GATE_JUMP_LEN, &o)) return false;
    for (uintptr_t a = brk + 1; a < brk + GATE_JUMP_LEN; a++)
        if (gate_function_bounds(&o, a, &start, &end) && start != brk) return false;
    return true;
}

void gate_on_load(void (*loaded)(const struct gate_object *))
{
    bool again = on_loaded || !debug_root;
    on_loaded = loaded;
    if (again) return;
    uintptr_t brk = debug_root->base.r_brk;
    uint8_t stub[16] = {0xff, 0x25, 0, 0, 0, 0}, jump[GATE_JUMP_LEN] = {0xe9};     /* jmp *0(%rip) */
    uintptr_t target = (uintptr_t)notify;
    for (unsigned i = 0; i < 8; i++) stub[6 + i] = (uint8_t)(target >> 8 * i);
    uint8_t *at = brk && room_at(brk) ? gate_alloc_stub(brk, sizeof stub) : NULL;
    if (!at || gate_write_code(at, stub, sizeof stub)) {
        usf_say("gate: the dynamic linker's notification cannot be had: objects loaded later stay as they are");
        return;
    }
    int32_t d = (int32_t)((uintptr_t)at - (brk + GATE_JUMP_LEN));
    for (unsigned i = 0; i < 4; i++) jump[1 + i] = (uint8_t)((uint32_t)d >> 8 * i);
    gate_write_code((void *)brk, jump, sizeof jump);
}

/* ---- ourselves -------------------------------------------------------------------------------- */
static const struct r_debug_extended *find_debug(const Elf64_Phdr *ph, unsigned n, uintptr_t base)
{
    for (unsigned i = 0; i < n; i++)
        if (ph[i].p_type == PT_DYNAMIC)
            for (const Elf64_Dyn *d = (const void *)(base + ph[i].p_vaddr); d->d_tag != DT_NULL; d++)
                if (d->d_tag == DT_DEBUG && d->d_un.d_ptr) return (const void *)d->d_un.d_ptr;
    return NULL;
}

static int find_self(struct dl_phdr_info *i, size_t size, void *arg)
{
    struct gate_image im;
    uint64_t lo, hi;
    if (!debug_root) debug_root = find_debug(i->dlpi_phdr, i->dlpi_phnum, i->dlpi_addr);
    gate_image_from_phdrs(&im, i->dlpi_addr, i->dlpi_phdr, i->dlpi_phnum);
    text_range(&im, &lo, &hi);
    uintptr_t here = (uintptr_t)usf_gate_entry - i->dlpi_addr;
    if (here >= lo && here < hi) self_lo = i->dlpi_addr + lo, self_hi = i->dlpi_addr + hi;
    return 0;
}

/* A program with ThreadSanitizer linked into it has one of its own, which is of no use before the program's own start. */
static void find_iterate(void)
{
    void *libc = dlvsym(RTLD_NEXT, "dl_iterate_phdr", "GLIBC_2.2.5");
    if (libc) iterate_phdr = (iterate_fn)libc;
}

int gate_init(const char *cache_dir)
{
    find_iterate();
    vdso = getauxval(AT_SYSINFO_EHDR);
    linker = getauxval(AT_BASE);
    iterate_phdr(find_self, NULL);
    gate_cache_init(cache_dir);
    return 0;
}

bool gate_contains_pc(uintptr_t pc)
{
    return (pc >= self_lo && pc < self_hi) || gate_in_stubs(pc);
}
