/* src/inspect/address.c - what lies at an address of another process.
 * SPDX-License-Identifier: Apache-2.0 */
#include "inspect/address.h"
#include "inspect/symbol.h"
#include "inspect/threadview.h"
#include "text/text.h"
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>

#define MAX_MAPPINGS 200000u
#define MAX_STACKS   4096u
#define CACHED       64u

struct place_cached {
    uint64_t addr;
    struct place place;
};

/* ---- reading ---------------------------------------------------------------------------------- */
static bool parse_mapping(char *line, struct mapping *m)
{
    unsigned major, minor;
    int at = 0;
    line[strcspn(line, "\n")] = 0;
    if (sscanf(line, "%lx-%lx %4s %lx %x:%x %lu %n", &m->start, &m->end, m->perms, &m->offset, &major, &minor, &m->ino,
               &at) < 7 ||
        !at)
        return false;
    m->dev = makedev(major, minor);
    m->path = xasprintf("%s", line + at);
    return true;
}

bool address_space_load(struct address_space *as, int32_t pid)
{
    char name[64], *line = NULL;
    size_t cap = 0, room = 0;
    *as = (struct address_space){.pid = pid};
    snprintf(name, sizeof name, "/proc/%d/maps", pid);
    FILE *f = fopen(name, "re");
    if (!f) return false;
    while (as->nr < MAX_MAPPINGS && getline(&line, &cap, f) > 0) {
        if (as->nr == room) {
            struct mapping *more = realloc(as->map, (room = 2 * room + 64) * sizeof *more);
            if (!more) break;
            as->map = more;
        }
        if (parse_mapping(line, &as->map[as->nr])) as->nr++;
    }
    free(line);
    fclose(f);
    return as->nr > 0;
}

void address_space_free(struct address_space *as)
{
    for (unsigned i = 0; i < as->nr; i++) free(as->map[i].path);
    free(as->map);
    free(as->stack);
    free(as->cache);
    *as = (struct address_space){0};
}

bool address_read(int32_t pid, uint64_t addr, void *buf, size_t n)
{
    struct iovec to = {buf, n}, from = {(void *)addr, n};
    return process_vm_readv(pid, &to, 1, &from, 1, 0) == (ssize_t)n;
}

static void load_stacks(struct address_space *as)
{
    char name[64];
    struct thread_view v;
    as->stacks_known = true;
    snprintf(name, sizeof name, "/proc/%d/task", as->pid);
    DIR *d = opendir(name);
    as->stack = calloc(MAX_STACKS, sizeof *as->stack);
    for (struct dirent *e; d && as->stack && as->nr_stacks < MAX_STACKS && (e = readdir(d));) {
        int32_t tid = atoi(e->d_name);
        if (tid <= 0 || !thread_look(as->pid, tid, &v) || !v.sp) continue;
        as->stack[as->nr_stacks++] = (struct thread_stack){tid, v.sp};
    }
    if (d) closedir(d);
}

/* ---- objects ---------------------------------------------------------------------------------- */
const struct mapping *address_mapping(const struct address_space *as, uint64_t addr)
{
    unsigned lo = 0, hi = as->nr; /* the kernel lists them by address */
    while (lo < hi) {
        unsigned mid = (lo + hi) / 2;
        if (addr < as->map[mid].start) hi = mid;
        else if (addr >= as->map[mid].end) lo = mid + 1;
        else return &as->map[mid];
    }
    return NULL;
}

/* The file as the process sees it; not one that has taken its name since. */
static int open_mapped(int32_t pid, const struct mapping *m)
{
    char name[PATH_MAX + 32];
    struct stat st;
    snprintf(name, sizeof name, "/proc/%d/root%s", pid, m->path);
    int fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_ino == m->ino) return fd;
    if (fd >= 0) close(fd);
    return -1;
}

/* The object that the address belongs to: an object's first mapping is its file's beginning, and
 * its uninitialised data is anonymous memory behind its last. */
static bool find_object(struct address_space *as, uint64_t addr, struct place *out)
{
    const struct mapping *first = NULL;
    uint64_t lo, hi;
    for (unsigned i = 0; i < as->nr && as->map[i].start <= addr; i++)
        if (as->map[i].ino && as->map[i].offset == 0 && as->map[i].path[0] == '/' &&
            (!first || first->ino != as->map[i].ino || first->dev != as->map[i].dev))
            first = &as->map[i];
    int fd = first ? open_mapped(as->pid, first) : -1;
    if (fd < 0) return false;
    bool ok = elf_extent(fd, &lo, &hi) && addr - first->start + lo < hi;
    if (ok) {
        uint64_t vaddr = addr - first->start + lo;
        out->kind = PLACE_OBJECT;
        snprintf(out->object, sizeof out->object, "%s", first->path);
        if (!elf_symbol(fd, vaddr, out->symbol, sizeof out->symbol, &out->offset)) out->offset = vaddr;
    }
    close(fd);
    return ok;
}

static bool find_stack(struct address_space *as, const struct mapping *m, struct place *out)
{
    if (!as->stacks_known) load_stacks(as);
    for (unsigned i = 0; i < as->nr_stacks; i++) {
        if (as->stack[i].sp < m->start || as->stack[i].sp >= m->end) continue;
        out->kind = PLACE_THREAD_STACK;
        out->tid = as->stack[i].tid;
        return true;
    }
    return false;
}

static void find(struct address_space *as, uint64_t addr, struct place *out)
{
    *out = (struct place){0};
    if (!as->nr) return;
    const struct mapping *m = address_mapping(as, addr);
    if (!m) {
        out->kind = PLACE_UNMAPPED;
        return;
    }
    out->size = m->end - m->start;
    out->offset = addr - m->start;
    snprintf(out->object, sizeof out->object, "%s", m->path);
    if (!strcmp(m->path, "[heap]")) out->kind = PLACE_HEAP;
    else if (!strncmp(m->path, "[stack", 6)) out->kind = PLACE_STACK;
    else if (m->path[0] == '[') out->kind = PLACE_SPECIAL;
    else if (find_object(as, addr, out)) return;
    else if (m->ino) out->kind = PLACE_FILE, out->offset += m->offset;
    else if (!find_stack(as, m, out)) out->kind = PLACE_ANONYMOUS;
}

void address_find(struct address_space *as, uint64_t addr, struct place *out)
{
    if (!as->cache) as->cache = calloc(CACHED, sizeof *as->cache);
    for (unsigned i = 0; as->cache && i < as->nr_cached && i < CACHED; i++)
        if (as->cache[i].addr == addr) {
            *out = as->cache[i].place;
            return;
        }
    find(as, addr, out);
    if (as->cache) as->cache[as->nr_cached++ % CACHED] = (struct place_cached){addr, *out};
}

const char *place_kind_name(enum place_kind k)
{
    static const char *const names[] = {"unknown", "unmapped",     "object",    "file",   "heap",
                                        "stack",   "thread stack", "anonymous", "special"};
    return names[k];
}

void place_text(const struct place *p, char *buf, size_t cap)
{
    char object[256], symbol[160];
    text_clean(p->object, object, sizeof object);
    text_clean(p->symbol, symbol, sizeof symbol);
    buf[0] = 0;
    switch (p->kind) {
    case PLACE_UNKNOWN:
        break;
    case PLACE_UNMAPPED:
        snprintf(buf, cap, "not mapped");
        break;
    case PLACE_OBJECT:
        if (*symbol) snprintf(buf, cap, "%s+0x%lx in %s", symbol, p->offset, object);
        else snprintf(buf, cap, "%s+0x%lx", object, p->offset);
        break;
    case PLACE_THREAD_STACK:
        snprintf(buf, cap, "stack of thread %d", p->tid);
        break;
    case PLACE_ANONYMOUS:
        snprintf(buf, cap, "anonymous memory, 0x%lx into %lu KiB", p->offset, p->size / 1024);
        break;
    default:
        snprintf(buf, cap, "%s+0x%lx", object, p->offset);
        break;
    }
}
