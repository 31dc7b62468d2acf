/* src/inspect/why.c - what a thread waits for, in words.  SPDX-License-Identifier: Apache-2.0
 *
 * Two witnesses: the thread's record in the segment, which is an instant old, and the kernel now.
 * The record names the futex or the call; the kernel adds what it may tell us.  Where the two
 * disagree the thread has moved on. */
#include "inspect/why.h"
#include "inspect/callname.h"
#include "sched/sched.h"
#include "text/text.h"
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/select.h>
#include <sys/syscall.h>

#define SHOWN_FDS 4u        /* of a poll or an epoll */

void why_begin(struct why_reader *r, const struct view *v) { *r = (struct why_reader){.v = v}; }
void why_end(struct why_reader *r) { address_space_free(&r->as); }

static struct address_space *space_of(struct why_reader *r, int32_t pid)
{
    if (r->as.pid != pid) {
        address_space_free(&r->as);
        address_space_load(&r->as, pid);
    }
    return &r->as;
}

__attribute__((format(printf, 2, 3)))
static void add(struct why *w, const char *fmt, ...)
{
    size_t n = strlen(w->text);
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(w->text + n, sizeof w->text - n, fmt, ap);
    va_end(ap);
}

static void set_since(struct why *w, enum why_since kind, uint64_t at, uint64_t now)
{
    if (!at) return;
    w->since = kind;
    w->since_ns = now > at ? now - at : 0;
}

static const struct usf_task *task_of_tid(const struct view *v, uint32_t proc, int32_t tid)
{
    for (uint32_t i = 0; i < v->nr_tasks; i++)
        if (view_task_lives(&v->tasks[i]) && v->tasks[i].proc == proc && view_tid(v, &v->tasks[i]) == tid) return &v->tasks[i];
    return NULL;
}

/* ---- futexes --------------------------------------------------------------------------------- */
/* glibc's mutex begins with the word, a count, and the owner's thread. */
static void guess_holder(struct why_reader *r, const struct usf_task *t, int32_t pid, struct why *w)
{
    uint32_t words[3];
    char name[VIEW_TASK_NAME];
    if (!address_read(pid, w->address, words, sizeof words) || (words[0] != 1 && words[0] != 2)) return;
    const struct usf_task *holder = task_of_tid(r->v, t->proc, (int32_t)words[2]);
    if (!holder || holder == t) return;
    w->holder = view_tid(r->v, holder);
    add(w, "; looks like a mutex that thread %d (%s) holds", w->holder, view_task_name(r->v, holder, name));
}

/* Words of our own that a thread sleeps on. */
static const char *own_futex(const struct place *p)
{
    const char *base = strrchr(p->object, '/');
    if (p->kind != PLACE_FILE || !base || strncmp(base, "/usf-", 5)) return NULL;
    return p->offset == offsetof(struct usf_header, lock) ? "the scheduler's lock" : "a word of the instance";
}

static void futex_text(struct why_reader *r, const struct usf_task *t, uint64_t address, struct why *w)
{
    char place[512];
    int32_t pid = view_pid_here(r->v, t);
    w->kind = WHY_FUTEX;
    w->address = address;
    add(w, "futex 0x%lx", w->address);
    if (pid <= 0) return;
    address_find(space_of(r, pid), w->address, &w->place);
    place_text(&w->place, place, sizeof place);
    if (own_futex(&w->place)) add(w, " (%s)", own_futex(&w->place));
    else if (*place) add(w, " (%s)", place);
    w->value_known = address_read(pid, w->address, &w->value, sizeof w->value);
    if (!w->value_known) return;
    add(w, " = %d", (int32_t)w->value);
    if (w->place.kind == PLACE_THREAD_STACK && w->value == (uint32_t)w->place.tid) add(w, ": the end of thread %d", w->place.tid);
    else guess_holder(r, t, pid, w);
}

/* ---- system calls ---------------------------------------------------------------------------- */
static void fd_text(struct why *w, int32_t pid, int fd)
{
    char target[300];
    fd_target(pid, fd, target, sizeof target);
    add(w, "%d%s%s%s", fd, *target ? " (" : "", target, *target ? ")" : "");
}

static void fds_text(struct why *w, int32_t pid, const int *fd, unsigned n, unsigned of)
{
    if (!n) return;
    add(w, " fd%s ", of == 1 ? "" : "s");
    for (unsigned i = 0; i < n; i++) {
        if (i) add(w, ", ");
        fd_text(w, pid, fd[i]);
    }
    if (of > n) add(w, ", and %u more", of - n);
}

/* The descriptors of a poll lie in the process's memory. */
static void poll_text(struct why *w, int32_t pid, const uint64_t arg[6])
{
    struct pollfd p[SHOWN_FDS];
    int fd[SHOWN_FDS];
    unsigned of = (unsigned)arg[1], n = of < SHOWN_FDS ? of : SHOWN_FDS;
    if (!n || !address_read(pid, arg[0], p, n * sizeof *p)) return;
    for (unsigned i = 0; i < n; i++) fd[i] = p[i].fd;
    fds_text(w, pid, fd, n, of);
}

/* The three sets of a select. */
static void select_text(struct why *w, int32_t pid, const uint64_t arg[6])
{
    int fd[SHOWN_FDS];
    unsigned n = 0, of = 0, max = arg[0] < FD_SETSIZE ? (unsigned)arg[0] : FD_SETSIZE;
    uint64_t set[FD_SETSIZE / 64];
    for (unsigned i = 1; i <= 3; i++) {
        if (!arg[i] || !address_read(pid, arg[i], set, (max + 63) / 64 * 8)) continue;
        for (unsigned k = 0; k < max; k++) {
            if (!(set[k / 64] >> k % 64 & 1)) continue;
            if (n < SHOWN_FDS) fd[n++] = (int)k;
            of++;
        }
    }
    fds_text(w, pid, fd, n, of);
}

static void epoll_text(struct why *w, int32_t pid)
{
    int fd[SHOWN_FDS];
    unsigned of = epoll_members(pid, w->fd, fd, SHOWN_FDS);
    if (!of) return;
    add(w, ", which watches");
    fds_text(w, pid, fd, of < SHOWN_FDS ? of : SHOWN_FDS, of);
}

static void argument_text(struct why *w, int32_t pid, int32_t first, const uint64_t *arg)
{
    switch (w->call) {
    case SYS_poll: case SYS_ppoll:
        if (arg) poll_text(w, pid, arg);
        break;
    case SYS_select: case SYS_pselect6:
        if (arg) select_text(w, pid, arg);
        break;
    case SYS_wait4:
        if (first > 0) add(w, " for process %d", first);
        else add(w, " for any child");
        break;
    case SYS_waitid:
        if (arg && first == 1 /* P_PID */) add(w, " for process %d", (int32_t)arg[1]);
        break;
    case SYS_semop: case SYS_semtimedop: add(w, " on semaphore set %d", first); break;
    case SYS_msgrcv: case SYS_msgsnd: add(w, " on message queue %d", first); break;
    default:
        if (!call_has_fd(w->call)) break;
        w->fd = first;
        if (pid > 0) fd_target(pid, first, w->target, sizeof w->target);
        add(w, " on fd %d%s%s%s", first, *w->target ? " (" : "", w->target, *w->target ? ")" : "");
        if (pid > 0 && (w->call == SYS_epoll_wait || w->call == SYS_epoll_pwait || w->call == SYS_epoll_pwait2))
            epoll_text(w, pid);
    }
}

static void call_text(struct why_reader *r, const struct usf_task *t, uint64_t nr, int32_t first, struct why *w)
{
    char unknown[CALL_NAME_MAX];
    int32_t pid = view_pid_here(r->v, t);
    bool same = w->kernel.call_known && (uint64_t)w->kernel.call == nr;
    w->kind = WHY_CALL;
    w->call = nr;
    add(w, "%s", call_name(nr, unknown));
    argument_text(w, pid, first, same ? w->kernel.arg : NULL);
}

/* What the record says; true: something. */
static bool recorded_text(struct why_reader *r, const struct usf_task *t, struct why *w)
{
    uint32_t kind = atomic_load(&t->wait_kind);
    uint64_t what = atomic_load(&t->wait_addr);
    if (kind == USF_WAIT_FUTEX) futex_text(r, t, what, w);
    else if (kind == USF_WAIT_SYSCALL) call_text(r, t, usf_wait_nr(what), usf_wait_arg(what), w);
    return kind == USF_WAIT_FUTEX || kind == USF_WAIT_SYSCALL;
}

/* ---- by state -------------------------------------------------------------------------------- */
static void ready_text(struct why_reader *r, const struct usf_task *t, struct why *w)
{
    static const char *const came[] = {[USF_WHY_NEW] = "new", [USF_WHY_WAKE] = "woken", [USF_WHY_RETURN] = "back from a system call",
                                       [USF_WHY_YIELD] = "yielded", [USF_WHY_PREEMPT] = "made to give way"};
    const struct view *v = r->v;
    uint32_t why = atomic_load(&t->why), core = t->pol.last_core;
    char name[VIEW_TASK_NAME], comm[64];
    w->kind = WHY_CORE;
    w->core = core < v->h->nr_cores ? core : USF_NONE;
    add(w, "a core (%s)", why < sizeof came / sizeof *came ? came[why] : "?");
    if (w->core == USF_NONE) return;
    const struct usf_task *u = view_task_of_core(v, core);
    unsigned state = view_state_of_core(v, core);
    add(w, "; ran last on core %u (CPU %u), where %u wait%s", core, v->cores[core].pol.cpu, view_ready_of_core(v, core),
        view_ready_of_core(v, core) == 1 ? "s" : "");
    if (!u) {
        add(w, " and nothing runs (%s)", view_core_state(state));
        return;
    }
    w->holder = view_tid(v, u);
    uint32_t proc = atomic_load(&u->proc);
    add(w, " and thread %d (%s) of process %d (%s) %s", view_tid(v, u), view_task_name(v, u, name), view_pid_of(v, u),
        proc < v->nr_procs ? view_bounded(v->procs[proc].comm, sizeof v->procs[proc].comm, comm, sizeof comm) : "?",
        state == USF_CORE_RUNNING ? "runs" : state == USF_CORE_PROVISIONAL ? "has released it provisionally for a system call" : "has left it for a system call");
    if (state == USF_CORE_RUNNING && u->start_ns && v->now > u->start_ns)
        add(w, " since %lu ms", (v->now - u->start_ns) / 1000000);
}

/* The record says that it runs.  If the kernel says otherwise, that is what it waits for. */
static void running_text(struct why_reader *r, const struct usf_task *t, struct why *w)
{
    char s = w->kernel.state;
    if (atomic_load(&((struct usf_thread *)view_thread(r->v, t))->parked)) {
        w->kind = WHY_STARTING;
        add(w, "its wake-up: it was given core %u and still sleeps", atomic_load(&t->core));
    } else if (s == 'T' || s == 't') {
        w->kind = WHY_STOPPED;
        add(w, s == 'T' ? "SIGCONT: it is stopped" : "its debugger: it is stopped");
    } else if ((s == 'S' || s == 'D') && w->kernel.call_known) {
        if (w->kernel.call == SYS_futex) futex_text(r, t, w->kernel.arg[0], w);
        else call_text(r, t, (uint64_t)w->kernel.call, (int32_t)w->kernel.arg[0], w);
        /* (With the policy `linux` no task has a core, and only the kernel knows.) */
        if (atomic_load(&t->core) < r->v->h->nr_cores) add(w, ", unseen by the gate: it keeps its core");
    } else if (s == 'S' || s == 'D') {
        w->kind = WHY_CALL;
        w->call = UINT64_MAX;
        add(w, "the kernel%s%s", *w->kernel.wchan ? ", in " : "", w->kernel.wchan);
    } else return;
    set_since(w, WHY_AT_MOST, atomic_load(&t->since_ns), r->v->now);
}

static void in_call_text(struct why_reader *r, const struct usf_task *t, struct why *w)
{
    uint32_t state = atomic_load(&t->state);
    bool taken = state != USF_TASK_RUNNING, by_kernel = state == USF_TASK_BY_KERNEL;
    if (by_kernel && w->kernel.state == 'R') return;   /* it runs: without a core, for the moments between its calls */
    if (!recorded_text(r, t, w)) {
        w->kind = WHY_CALL;
        w->call = UINT64_MAX;
        add(w, "a system call");
    } else if (w->kind == WHY_FUTEX) {
        add(w, ", in the kernel");
    }
    if (by_kernel) add(w, "; it needs no core when it is back (the kernel schedules it)");
    if (w->kernel.state == 'T' || w->kernel.state == 't') add(w, "; it is stopped");
    /* A provisional release has no time stamp: the thread had its core until now, and got it when
     * it began to run. */
    set_since(w, WHY_AT_MOST, taken ? t->start_ns : atomic_load(&t->since_ns), r->v->now);
}

void why_of(struct why_reader *r, const struct usf_task *t, struct why *w)
{
    const struct view *v = r->v;
    int32_t pid = view_pid_here(v, t);
    *w = (struct why){.fd = -1, .core = USF_NONE};
    if (pid > 0) thread_look(pid, view_thread(v, t)->tid, &w->kernel);
    if (view_in_call(v, t)) {
        in_call_text(r, t, w);
        return;
    }
    switch (atomic_load(&t->state)) {
    case USF_TASK_NEW:
        w->kind = WHY_STARTING;
        add(w, "its record: it is being taken on");
        break;
    case USF_TASK_READY:
        ready_text(r, t, w);
        set_since(w, WHY_SINCE, atomic_load(&t->since_ns), v->now);
        break;
    case USF_TASK_RUNNING: running_text(r, t, w); break;
    case USF_TASK_BLOCKED:
        if (!recorded_text(r, t, w)) add(w, "a wake-up");
        if (!w->kind) w->kind = WHY_FUTEX;
        set_since(w, WHY_SINCE, atomic_load(&t->since_ns), v->now);
        break;
    default: break;
    }
}

void why_since_text(const struct why *w, char *buf, size_t cap)
{
    const char *most = w->since == WHY_AT_MOST ? "<=" : "";
    buf[0] = 0;
    if (!w->since) return;
    if (w->since_ns < 10000000000ull) snprintf(buf, cap, "%s%lu ms", most, w->since_ns / 1000000);
    else snprintf(buf, cap, "%s%lu s", most, w->since_ns / 1000000000);
}

void why_json(struct json *j, const char *key, const struct why *w)
{
    static const char *const kinds[] = {NULL, "futex", "call", "core", "stopped", "starting"};
    char text[64];
    if (w->kind == WHY_NOTHING) {
        json_string(j, key, NULL);
        return;
    }
    json_open(j, key, '{');
    json_string(j, "kind", kinds[w->kind]);
    json_string(j, "text", w->text);
    if (w->since) json_uint(j, w->since == WHY_SINCE ? "since_ms" : "at_most_ms", w->since_ns / 1000000);
    if (w->kind == WHY_FUTEX && w->address) {
        snprintf(text, sizeof text, "0x%lx", w->address);
        json_string(j, "address", text);
        json_string(j, "place", place_kind_name(w->place.kind));
        json_string(j, "object", *w->place.object ? w->place.object : NULL);
        json_string(j, "symbol", *w->place.symbol ? w->place.symbol : NULL);
        json_uint(j, "offset", w->place.offset);
        if (w->value_known) json_uint(j, "value", w->value);
        if (w->holder) json_int(j, "holder", w->holder);
    }
    if (w->kind == WHY_CALL) {
        char unknown[CALL_NAME_MAX];
        json_string(j, "call", w->call == UINT64_MAX ? NULL : call_name(w->call, unknown));
        if (w->fd >= 0) json_int(j, "fd", w->fd);
        if (*w->target) json_string(j, "target", w->target);
    }
    if (w->kind == WHY_CORE && w->core != USF_NONE) {
        json_uint(j, "core", w->core);
        if (w->holder) json_int(j, "runs_there", w->holder);
    }
    snprintf(text, sizeof text, "%c", w->kernel.state);
    if (w->kernel.state) json_string(j, "kernel_state", text);
    if (*w->kernel.wchan) json_string(j, "wchan", w->kernel.wchan);
    json_close(j, '}');
}
