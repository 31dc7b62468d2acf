/* src/gate/code.c - executable memory, and writing to code.  SPDX-License-Identifier: Apache-2.0
 *
 * Nothing is ever writable and executable at once: code is mapped r-x and written through
 * /proc/thread-self/mem, which the kernel allows for private mappings; where /proc is missing or
 * the kernel restricts it, pages are made writable for the moment and not executable.
 *
 * Regions are only added, never unmapped: `used` grows with compare-and-swap, so that a signal
 * handler may allocate at any time.  Springboards of unloaded objects go to a small free list,
 * which belongs to the dynamic linker's load lock. */
#include "gate/internal.h"

#include "arch/code.h"
#include "base/base.h"
#include "os/os.h"
#include "os/syscall.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>

#define PAGE        4096ul
#define REGION_SIZE (64ul << 10)
#define REACH       (ARCH_JUMP_REACH - (1ul << 20))     /* with a margin */
#define MAX_REGIONS 256
#define MAX_FREE    64

/* Invariant: base == 0 (slot free) or [base, base+size) is mapped r-x and used <= size. */
static struct region { uintptr_t base; size_t size, used; } regions[MAX_REGIONS];
static struct { uintptr_t base; size_t len; } spare[MAX_FREE];

/* Holds for every region at any time, also for one that is being entered: base is written last. */
static bool region_is_valid(const struct region *r)
{
    uintptr_t base = __atomic_load_n(&r->base, __ATOMIC_ACQUIRE);
    return !base || (base % PAGE == 0 && r->size && r->size % PAGE == 0 && base + r->size <= ARCH_USER_END
                     && __atomic_load_n(&r->used, __ATOMIC_RELAXED) <= r->size);
}

/* ---- writing ---------------------------------------------------------------------------------- */
static bool hold;          /* while the library starts: a process has one thread then */
static int held = -1;      /* if something had to be written meanwhile */

void gate_hold_writer(bool on)
{
    hold = on;
    if (held >= 0) os_close(held);
    held = -1;
}

void gate_writer_open(struct gate_writer *w)
{
    w->fd = held >= 0 ? held : os_open("/proc/thread-self/mem", O_RDWR | O_CLOEXEC, 0);
    if (hold) held = w->fd;
}

void gate_writer_close(struct gate_writer *w)
{
    if (w->fd >= 0 && w->fd != held) os_close(w->fd);
    w->fd = -1;
}

bool gate_writer_is_held(void) { return hold; }

static int put_by_mprotect(uintptr_t dst, const void *src, size_t len)
{
    uintptr_t from = dst & -PAGE, to = (dst + len + PAGE - 1) & -PAGE;
    long rc = usf_syscall(__NR_mprotect, from, to - from, PROT_READ | PROT_WRITE);
    if (rc) return (int)rc;
    for (size_t i = 0; i < len; i++) ((uint8_t *)dst)[i] = ((const uint8_t *)src)[i];
    return (int)usf_syscall(__NR_mprotect, from, to - from, PROT_READ | PROT_EXEC);
}

int gate_writer_put(struct gate_writer *w, void *dst, const void *src, size_t len)
{
    size_t done = 0;
    usf_dassert(len && (uintptr_t)dst + len <= ARCH_USER_END);
    while (w->fd >= 0 && done < len) {
        long n = usf_syscall(__NR_pwrite64, w->fd, (const char *)src + done, len - done, (uintptr_t)dst + done);
        if (n == -EINTR) continue;
        if (n <= 0) {
            gate_writer_close(w);
            break;
        }
        done += (size_t)n;
    }
    return done == len ? 0 : put_by_mprotect((uintptr_t)dst + done, (const char *)src + done, len - done);
}

int gate_write_code(void *dst, const void *src, size_t len)
{
    struct gate_writer w;
    gate_writer_open(&w);
    int rc = gate_writer_put(&w, dst, src, len);
    gate_writer_close(&w);
    return rc;
}

/* ---- room in the address space ---------------------------------------------------------------- */
static bool reaches(uintptr_t lo, uintptr_t hi, uintptr_t from, uintptr_t to)
{
    return (to <= lo || to - lo < REACH) && (hi <= from || hi - from < REACH);
}

/* The gaps between mappings, read from /proc/self/maps a line at a time.  Only the first 48
 * characters of a line matter, and whether it names the heap. */
struct gaps { int fd; unsigned at, have; char buf[512]; };

static int next_char(struct gaps *g)
{
    if (g->at == g->have) {
        long n;
        do n = usf_syscall(__NR_read, g->fd, g->buf, sizeof g->buf);
        while (n == -EINTR);
        if (n <= 0) return -1;
        g->at = 0;
        g->have = (unsigned)n;
    }
    return (unsigned char)g->buf[g->at++];
}

static bool next_mapping(struct gaps *g, uintptr_t *start, uintptr_t *end, bool *heap)
{
    uintptr_t v[2] = {0, 0};
    int c, prev = 0, part = 0;
    *heap = false;
    while ((c = next_char(g)) >= 0 && c != '\n') {
        if (c == '-' && part == 0) part = 1;
        else if (c == ' ' && part == 1) part = 2;
        else if (part < 2) v[part] = v[part] * 16 + (uintptr_t)(c <= '9' ? c - '0' : c - 'a' + 10);
        if (prev == '[' && c == 'h') *heap = true;
        prev = c;
    }
    *start = v[0];
    *end = v[1];
    return c >= 0;
}

/* Best place for `size` bytes in [from, to): as near to the object as can be, but above a heap as
 * far off as can be, so that brk keeps its room.  0: none. */
static uintptr_t place(uintptr_t from, uintptr_t to, size_t size, uintptr_t lo, uintptr_t hi, bool after_heap)
{
    uintptr_t min = hi > REACH ? (hi - REACH + 2 * PAGE) & -PAGE : 0, max = (lo + REACH - PAGE) & -PAGE;
    if (min < 65536) min = 65536;
    if (from < min) from = min;
    if (to > max) to = max;
    if (to <= from || to - from < size) return 0;
    if (to <= lo || after_heap) return to - size;
    uintptr_t above = (hi + PAGE - 1) & -PAGE;      /* a gap on both sides of what is to be near */
    return from < above && above + size <= to ? above : from;
}

static uintptr_t find_gap(size_t size, uintptr_t lo, uintptr_t hi)
{
    struct gaps g = {.fd = os_open("/proc/self/maps", O_RDONLY | O_CLOEXEC, 0)};
    if (g.fd < 0) return 0;
    uintptr_t best = 0, best_distance = UINTPTR_MAX, prev_end = 0, start, end;
    bool heap, prev_heap = false, more;
    do {
        more = next_mapping(&g, &start, &end, &heap) && start < ARCH_USER_END;
        if (!more) start = ARCH_USER_END - PAGE;
        uintptr_t p = start > prev_end ? place(prev_end, start, size, lo, hi, prev_heap) : 0;
        uintptr_t distance = p < lo ? lo - p : p - lo;
        if (p && distance < best_distance) best = p, best_distance = distance;
        prev_end = end;
        prev_heap = heap;
    } while (more);
    os_close(g.fd);
    return best;
}

static bool mapped(void *p) { return (uintptr_t)p < -4096ul; }

static uintptr_t map_region(size_t size, uintptr_t lo, uintptr_t hi)
{
    const int prot = PROT_READ | PROT_EXEC, flags = MAP_PRIVATE | MAP_ANONYMOUS;
    /* Libraries lie together, and new mappings next to them: try without looking. */
    void *p = os_map(size, prot, flags, -1, 0);
    if (!mapped(p)) return 0;
    if (reaches(lo, hi, (uintptr_t)p, (uintptr_t)p + size)) return (uintptr_t)p;
    usf_syscall(__NR_munmap, p, size);
    for (int tries = 0; tries < 4; tries++) {      /* another thread may take the gap first */
        uintptr_t gap = find_gap(size, lo, hi);
        if (!gap) return 0;
        p = (void *)usf_syscall(__NR_mmap, gap, size, prot, flags | MAP_FIXED_NOREPLACE, -1, 0);
        if (mapped(p) && reaches(lo, hi, (uintptr_t)p, (uintptr_t)p + size)) return (uintptr_t)p;
        if (mapped(p)) usf_syscall(__NR_munmap, p, size);     /* kernel < 4.17: taken as a hint */
    }
    return 0;
}

static void *take(struct region *r, size_t len)
{
    size_t used = __atomic_load_n(&r->used, __ATOMIC_RELAXED);
    do
        if (r->size - used < len) return NULL;
    while (!__atomic_compare_exchange_n(&r->used, &used, used + len, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    usf_dassert(r->base && region_is_valid(r));
    return (void *)(r->base + used);
}

static struct region *enter_region(uintptr_t base, size_t size)
{
    for (int i = 0; i < MAX_REGIONS; i++) {
        size_t none = 0;
        /* size claims the slot, base publishes it */
        if (!__atomic_compare_exchange_n(&regions[i].size, &none, size, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            continue;
        usf_dassert(!regions[i].base && !regions[i].used);
        __atomic_store_n(&regions[i].base, base, __ATOMIC_RELEASE);
        usf_dassert(region_is_valid(&regions[i]));
        return &regions[i];
    }
    usf_syscall(__NR_munmap, base, size);
    return NULL;
}

static struct region *add_region(size_t len, uintptr_t lo, uintptr_t hi)
{
    size_t size = len > REGION_SIZE ? (len + PAGE - 1) & -PAGE : REGION_SIZE;
    uintptr_t base = map_region(size, lo, hi);
    return base ? enter_region(base, size) : NULL;
}

void *gate_claim_code(uintptr_t at, size_t len)
{
    size_t size = (len + PAGE - 1) & -PAGE;
    long p = usf_syscall(__NR_mmap, at, size, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (!mapped((void *)p)) return NULL;
    if ((uintptr_t)p != at) {           /* kernel < 4.17: taken as a hint */
        usf_syscall(__NR_munmap, p, size);
        return NULL;
    }
    struct region *r = enter_region(at, size);
    return r ? take(r, len) : NULL;
}

void *gate_alloc_code(uintptr_t lo, uintptr_t hi, size_t len)
{
    len = (len + 15) & ~15ul;
    for (int i = 0; i < MAX_REGIONS && __atomic_load_n(&regions[i].size, __ATOMIC_RELAXED); i++) {
        uintptr_t base = __atomic_load_n(&regions[i].base, __ATOMIC_ACQUIRE);
        if (!base || !reaches(lo, hi, base, base + regions[i].size)) continue;
        void *p = take(&regions[i], len);
        if (p) return p;
    }
    struct region *r = add_region(len, lo, hi);
    return r ? take(r, len) : NULL;
}

void *gate_new_code(uintptr_t lo, uintptr_t hi, size_t len)
{
    len = (len + PAGE - 1) & -PAGE;
    struct region *r = add_region(len, lo, hi);
    return r ? take(r, len) : NULL;
}

void *gate_alloc_stub(uintptr_t near, size_t len) { return gate_alloc_code(near, near, len); }

/* ---- springboards of unloaded objects ---------------------------------------------------------- */
void gate_free_code(void *p, size_t len)
{
    usf_dassert(!p || gate_in_stubs((uintptr_t)p));
    for (int i = 0; p && i < MAX_FREE; i++)
        if (!spare[i].base) {
            spare[i].len = (len + 15) & ~15ul;
            spare[i].base = (uintptr_t)p;
            return;
        }
}

void *gate_reuse_code(uintptr_t lo, uintptr_t hi, size_t len)
{
    len = (len + 15) & ~15ul;
    for (int i = 0; i < MAX_FREE; i++) {
        uintptr_t base = spare[i].base;
        if (!base || spare[i].len < len || !reaches(lo, hi, base, base + len)) continue;
        spare[i].base = 0;
        usf_dassert(gate_in_stubs(base));
        return (void *)base;
    }
    return NULL;
}

bool gate_in_stubs(uintptr_t pc)
{
    for (int i = 0; i < MAX_REGIONS && __atomic_load_n(&regions[i].size, __ATOMIC_RELAXED); i++) {
        uintptr_t base = __atomic_load_n(&regions[i].base, __ATOMIC_ACQUIRE);
        if (base && pc >= base && pc - base < regions[i].size) return true;
    }
    return false;
}
