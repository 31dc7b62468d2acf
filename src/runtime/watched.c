/* src/runtime/watched.c - a program that looks at its own threads, or sets them by files.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The thread cache keeps threads that have ended for the program, and the kernel goes on listing
 * them.  A program that is about to look does not get to see them: they end first.  What is written
 * to some files sets the kernel thread that writes: the thread that opens one stays at home. */
#include <fcntl.h>

#include "runtime/runtime.h"
#include "sched/carrier.h"
#include "threads/threads.h"

#define PATH_LEN   48u
#define PATIENCE_NS 20000000u       /* for the kernel to forget them */
#define AT_ONCE    64u

/* ---- what it looks at ---------------------------------------------------------------------------- */

/* The path's beginning, where it lies below /proc. */
static bool read_path(char *to, uint64_t from)
{
    static const char proc[4] = "/pro";
    uint32_t i = 0, word = 0;
    __builtin_memset(to, 0, PATH_LEN);
    for (; i + 4 < PATH_LEN && sync_read((const uint32_t *)(from + i), &word); i += 4) {
        __builtin_memcpy(to + i, &word, 4);
        if (i == 0 && __builtin_memcmp(to, proc, 4)) return false;
        if ((word - 0x01010101u) & ~word & 0x80808080u) break;      /* its end is in there */
    }
    to[PATH_LEN - 1] = 0;
    return to[0] != 0;
}

/* The id at the beginning of the text, which begins behind it then; 0: there is none. */
static uint32_t take_id(const char **text)
{
    uint32_t id = 0;
    if (**text == '0') return 0;
    for (; **text >= '0' && **text <= '9' && id <= INT32_MAX / 10; ++*text) id = id * 10 + (uint32_t)(**text - '0');
    return id;
}

static const char *after_self(const char *path)
{
    const char *p = rt_after(path, "self/");
    if (!p) p = rt_after(path, "thread-self/");
    if (p) return p;
    return take_id(&path) == (uint32_t)rt.pid && *path == '/' ? path + 1 : 0;
}

/* "/TID/file", below "task": the thread's id, or 0. */
static int32_t tid_of(const char *path, const char *file)
{
    if (*path++ != '/') return 0;
    uint32_t tid = take_id(&path);
    path = rt_after(path, file);
    return path && !*path ? (int32_t)tid : 0;
}

/* libc sets and asks for the name of a thread that the program holds, and learns nothing of
 * others. */
static bool is_name(const char *path) { return tid_of(path, "/comm") != 0; }

enum look { NOTHING, NUMBER, LIST };        /* ... of its threads */

static enum look looks_at(uint64_t path)
{
    char text[PATH_LEN];
    const char *p = read_path(text, path) ? rt_after(text, "/proc/") : 0, *end;
    if (!p || !(p = after_self(p))) return NOTHING;
    if ((end = rt_after(p, "task")) && (!*end || *end == '/')) return is_name(end) ? NOTHING : LIST;
    return ((end = rt_after(p, "stat")) && !*end) || ((end = rt_after(p, "status")) && !*end) ? NUMBER : NOTHING;
}

/* ---- what it finds ------------------------------------------------------------------------------- */

/* They need a core for that. */
static void give_way(void)
{
    struct rt_thread *t = rt_enter();
    if (!t || !sched_yield_core(&rt.sched, &t->self, false)) os_sleep(20000);
}

static void end_kept(void)
{
    int32_t tids[AT_ONCE];
    if (!rt.on) {                   /* a filter may allow no call of ours: do not wait for them */
        threads_let_go(tids, AT_ONCE);
        return;
    }
    uint64_t until = os_now() + PATIENCE_NS;
    unsigned n;
    do {
        n = threads_let_go(tids, AT_ONCE);
        for (unsigned i = 0; i < n && os_now() < until; )
            if (usf_syscall(__NR_tgkill, rt.pid, tids[i], 0)) i++;
            else give_way();
    } while (n && os_now() < until);
}

static void before_look(uint64_t path)
{
    enum look look = rt_vforked() ? NOTHING : looks_at(path);
    if (look == LIST) threads_are_watched();
    if (look != NOTHING) end_kept();
}

/* ---- threads that float -------------------------------------------------------------------------- */

/* The kernel thread that executes the thread, which floats.  0: there is none, or it stays at
 * home. */
static int32_t find_floating(int32_t tid)
{
    rt_list_lock();
    const struct rt_thread *t = rt_thread_of(tid);
    bool floats = t && t->self.home && t->self.task != USF_NONE && !t->stays_why;
    int32_t at = floats ? rt_kernel_tid(t) : 0;
    rt_list_unlock();
    return at;
}

/* A thread's name belongs to its own kernel thread, what it does just now to the one that executes
 * it. */
enum meant { AS_IT_IS, OTHER_PATH, STAT };
struct meaning { char path[PATH_LEN]; int32_t tid, at; };

static enum meant meant_by(const char *path, struct meaning *m)
{
    struct rt_thread *me = &rt_self;
    const char *p = rt_after(path, "/proc/"), *q;
    if (!p || !me->self.home) return AS_IT_IS;
    bool syscall = false, stat = false, own = (q = rt_after(p, "thread-self/"));
    if (own) {
        m->tid = me->tid;
        syscall = (p = rt_after(q, "syscall")) && !*p;
        stat = (p = rt_after(q, "stat")) && !*p;
    } else if ((p = after_self(p)) && (p = rt_after(p, "task"))) {
        syscall = (m->tid = tid_of(p, "/syscall")) != 0;
        stat = !syscall && (m->tid = tid_of(p, "/stat")) != 0;
    }
    if ((syscall || stat) && (m->at = find_floating(m->tid))) {
        usf_format(m->path, PATH_LEN, "/proc/self/task/%d/syscall", m->at);
        return stat ? STAT : OTHER_PATH;
    }
    if (!own || syscall || carrier_is_home(&me->self)) return AS_IT_IS;
    usf_format(m->path, PATH_LEN, "/proc/self/task/%d/%s", me->tid, q);
    return OTHER_PATH;
}

/* ---- files by which a thread sets its own kernel thread ------------------------------------------ */

#define NAME_LEN 16u

/* One character at a time, a name that is too long as one that is none. */
struct names { char name[NAME_LEN]; uint32_t len; bool in_attr; };

static bool is_named(const struct names *n, const char *name)
{
    const char *end = n->len < NAME_LEN ? rt_after(n->name, name) : 0;
    return end && !*end;
}

/* False: the path is over, and n has its last name. */
static bool next_char(struct names *n, char c)
{
    if (c == '/') {
        n->in_attr = n->in_attr || is_named(n, "attr");
        __builtin_memset(n->name, 0, NAME_LEN);
        n->len = 0;
    } else if (c && n->len < NAME_LEN) {
        if (++n->len < NAME_LEN) n->name[n->len - 1] = c;
    }
    return c != 0;
}

/* Lists of threads of a control group or of resctrl, to which the kernel adds the thread that
 * writes 0; the user of the login; security attributes.  Programs have files of these names, too: a
 * thread that stays at home for one is only slower.  The path may begin at a folder that is open. */
static enum usf_stays why_stays(uint64_t path)
{
    struct names n = {.len = 0};
    uint32_t word, from = path % 4;
    for (uint64_t at = path - from; at < path + 4096 && sync_read((const uint32_t *)at, &word); at += 4, from = 0)
        for (; from < 4; from++)
            if (!next_char(&n, (char)(word >> 8 * from))) {
                if (n.in_attr || is_named(&n, "loginuid")) return USF_STAYS_USER;
                return is_named(&n, "cgroup.threads") || is_named(&n, "tasks") ? USF_STAYS_SCHEDULING : USF_STAYS_NOT;
            }
    return USF_STAYS_NOT;
}

/* arg: which of the call's arguments the path is.  The flags follow, or their address. */
static bool opens_to_write(const struct gate_frame *f, unsigned arg)
{
    uint64_t flags = f->arg[arg + 1];
    uint32_t in_memory;
    if (f->nr == __NR_openat2) flags = sync_read((const uint32_t *)flags, &in_memory) ? in_memory : O_RDONLY;
    else if (f->nr != __NR_open && f->nr != __NR_openat) return false;
    return (flags & O_ACCMODE) != O_RDONLY;
}

static void before_write(uint64_t path)
{
    enum usf_stays why = why_stays(path);
    if (why == USF_STAYS_NOT) return;
    rt_float_stay(&rt_self, why);
    if (rt.filtered || os_own_threads() != 1) rt_float_hand_on(&rt_self, RT_HANDS_ON_STATE);
}

/* ---- the calls that have a path ------------------------------------------------------------------ */

/* The flags of an open that only reads. */
#define STAT_FLAGS (O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW | O_NOATIME | O_LARGEFILE)

/* arg: which of the call's arguments the path is. */
static long call_with_path(struct gate_frame *f, unsigned arg)
{
    char path[PATH_LEN];
    struct meaning m;
    struct gate_frame own;
    uint64_t from = f->arg[arg];
    enum meant meant = AS_IT_IS;
    if (threads_may_be_kept()) before_look(from);
    if (USF_UNLIKELY(opens_to_write(f, arg)) && !rt_vforked()) before_write(from);
    if (USF_UNLIKELY(rt.sched.carriers != 0) && !rt_vforked() && read_path(path, from)) meant = meant_by(path, &m);
    if (meant == STAT && (f->nr == __NR_open || f->nr == __NR_openat) && !(f->arg[arg + 1] & ~(uint64_t)STAT_FLAGS)) {
        long fd = rt_open_stat(m.tid, m.at, (int)f->arg[arg + 1]);
        if (fd >= 0) return fd;
    }
    if (meant != OTHER_PATH) return rt_call_may_block(f);
    own = *f;
    own.arg[arg] = (uint64_t)m.path;
    return rt_make_call(&own);
}

static long call_path(struct gate_frame *f) { return call_with_path(f, 0); }
static long call_path_at(struct gate_frame *f) { return call_with_path(f, 1); }

static const uint16_t paths[] = {__NR_open, __NR_stat, __NR_lstat, __NR_access, __NR_chdir};
static const uint16_t paths_at[] = {__NR_openat, __NR_openat2, __NR_newfstatat, __NR_statx, __NR_faccessat, __NR_faccessat2};

void rt_install_watched(void)
{
    RT_INSTALL(paths, call_path);
    RT_INSTALL(paths_at, call_path_at);
    RT_MINOR(paths);
    RT_MINOR(paths_at);
}
