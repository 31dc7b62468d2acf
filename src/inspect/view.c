/* src/inspect/view.c - names for what lies in a segment.  SPDX-License-Identifier: Apache-2.0 */
#include "inspect/view.h"
#include "inspect/callname.h"
#include "monitor/monitor.h"
#include "sched/sched.h"
#include "text/text.h"
#include "sharing/sharing.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *view_task_state(uint32_t state)
{
    static const char *const names[] = {"free", "new", "ready", "running", "blocked", "in-kernel", "by-kernel", "gone"};
    return state < sizeof names / sizeof *names ? names[state] : "?";
}

const char *view_core_state(unsigned state)
{
    static const char *const names[] = {"idle", "running", "provisional", "released"};
    return state < sizeof names / sizeof *names ? names[state] : "?";
}

void view_wait(const struct usf_task *t, char *buf, size_t cap)
{
    uint32_t kind = atomic_load(&t->wait_kind);
    uint64_t addr = atomic_load(&t->wait_addr);
    buf[0] = 0;
    if (kind == USF_WAIT_FUTEX) snprintf(buf, cap, "futex 0x%lx", addr);
    else if (kind == USF_WAIT_CORE) snprintf(buf, cap, "core");
    if (kind != USF_WAIT_SYSCALL) return;
    char unknown[CALL_NAME_MAX];
    snprintf(buf, cap, "%s", call_name(usf_wait_nr(addr), unknown));
}

/* ---- instances -------------------------------------------------------------------------------- */
struct names { char **v; int n; };

static void add(const char *name, void *arg)
{
    struct names *l = arg;
    char **more = realloc(l->v, ((size_t)l->n + 1) * sizeof *more);
    if (!more) return;
    l->v = more;
    l->v[l->n++] = xasprintf("%s", name);
}

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

int view_instances(char ***names)
{
    struct names l = {0};
    int r = shm_list(NULL, add, &l);
    *names = l.v;
    if (r < 0) {
        view_free(l.v, l.n);
        *names = NULL;
        return r;
    }
    if (l.n) qsort(l.v, (size_t)l.n, sizeof *l.v, by_name);
    return l.n;
}

void view_free(char **names, int n)
{
    for (int i = 0; i < n; i++) free(names[i]);
    free(names);
}

uint32_t view_owner_of(const char *name)
{
    char path[SHM_PATH_MAX];
    struct os_stat st = {.uid = geteuid()};
    if (shm_is_shared(name) && shm_path(NULL, name, geteuid(), path, sizeof path) > 0) (void)os_lstat(path, &st);
    return st.uid;
}

/* ---- a copy of an instance ---------------------------------------------------------------------- */
void view_bind(struct view *v, const struct shm *m)
{
    *v = (struct view){.h = m->h, .cores = shm_cores(m->h), .procs = shm_procs(m->h), .groups = shm_groups(m->h),
                       .threads = shm_threads(m->h), .tasks = shm_tasks(m->h), .nr_procs = atomic_load(&m->h->proc_hwm),
                       .nr_groups = atomic_load(&m->h->group_hwm), .nr_tasks = atomic_load(&m->h->task_hwm),
                       .namespace = sharing_find_namespace(m->h, os_pidns()), .now = os_now()};
}

bool view_task_lives(const struct usf_task *t)
{
    uint32_t s = atomic_load(&t->state);
    return s != USF_TASK_FREE && s != USF_TASK_GONE;
}

const struct usf_thread *view_thread(const struct view *v, const struct usf_task *t)
{
    static const struct usf_thread none;
    return t->thread < v->nr_tasks ? &v->threads[t->thread] : &none;
}

static const struct usf_thread *home_of(const struct view *v, const struct usf_task *t)
{
    uint32_t born = (uint32_t)(t - v->tasks) + 1;
    const struct usf_thread *at = view_thread(v, t);
    if (atomic_load(&at->born) == born) return at;
    for (uint32_t i = 0; i < v->nr_tasks; i++)
        if (atomic_load(&v->threads[i].born) == born && atomic_load(&v->threads[i].claim) == t->proc + 1) return &v->threads[i];
    return at;
}

int32_t view_tid(const struct view *v, const struct usf_task *t) { return home_of(v, t)->tid; }

bool view_proc_lives(const struct usf_proc *p) { return atomic_load(&p->state) != USF_PROC_FREE; }

bool view_knows(const struct view *v, const struct usf_proc *p) { return p->namespace == v->namespace; }

int32_t view_monitor(const struct view *v)
{
    const struct usf_namespace *sp = v->namespace != USF_NONE ? &v->h->namespace[v->namespace] : NULL;
    return sp && monitor_is_alive(sp) ? atomic_load(&sp->monitor_pid) : 0;
}

uint32_t view_ready_of_core(const struct view *v, uint32_t core)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < v->nr_tasks; i++)
        if (atomic_load(&v->tasks[i].state) == USF_TASK_READY && v->tasks[i].pol.last_core == core) n++;
    return n;
}

const struct usf_task *view_task_of_core(const struct view *v, uint32_t core)
{
    uint64_t w = atomic_load(&v->cores[core].word);
    unsigned s = core_state(w);
    if (s != USF_CORE_RUNNING && s != USF_CORE_RELEASED) return NULL;
    return core_task(w) < v->nr_tasks ? &v->tasks[core_task(w)] : NULL;
}

unsigned view_state_of_core(const struct view *v, uint32_t core)
{
    unsigned s = core_state(atomic_load(&v->cores[core].word));
    const struct usf_task *t = view_task_of_core(v, core);
    return s == USF_CORE_RUNNING && t && sched_is_provisional(t) ? USF_CORE_PROVISIONAL : s;
}

uint32_t view_count_tasks(const struct view *v, uint32_t proc, bool ready_only)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < v->nr_tasks; i++)
        if (view_task_lives(&v->tasks[i]) && (proc == USF_NONE || v->tasks[i].proc == proc))
            n += !ready_only || atomic_load(&v->tasks[i].state) == USF_TASK_READY;
    return n;
}

static void add_work(struct view_work *w, const struct usf_counters *n)
{
    w->executed += n->work;
    w->wait_ns += n->work_wait_ns;
}

struct view_work view_work_of(const struct view *v, uint32_t proc)
{
    struct view_work w = {0};
    for (uint32_t i = 0; i < v->nr_tasks; i++)
        if (view_task_lives(&v->tasks[i]) && v->tasks[i].proc == proc) add_work(&w, &v->tasks[i].n);
    for (const struct usf_group *g = view_next_group(v, proc, NULL); g; g = view_next_group(v, proc, g)) add_work(&w, &g->gone);
    return w;
}

static bool is_group_of(const struct view *v, uint32_t i, uint32_t proc)
{ return i < v->nr_groups && atomic_load(&v->groups[i].state) == USF_GROUP_ACTIVE && v->groups[i].proc == proc; }

const struct usf_group *view_next_group(const struct view *v, uint32_t proc, const struct usf_group *last)
{
    uint32_t first = v->procs[proc].group, is = last ? (uint32_t)(last - v->groups) : USF_NONE;
    if (!last && is_group_of(v, first, proc)) return &v->groups[first];
    for (uint32_t i = is == first || !last ? 0 : is + 1; i < v->nr_groups; i++)
        if (i != first && is_group_of(v, i, proc)) return &v->groups[i];
    return NULL;
}

bool view_is_in(const struct view *v, const struct usf_task *t, const struct usf_group *g)
{ return t->pol.group == (uint32_t)(g - v->groups) && t->proc == g->proc; }

uint32_t view_count_group(const struct view *v, const struct usf_group *g, bool ready_only)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < v->nr_tasks; i++)
        if (view_task_lives(&v->tasks[i]) && view_is_in(v, &v->tasks[i], g))
            n += !ready_only || atomic_load(&v->tasks[i].state) == USF_TASK_READY;
    return n;
}

uint32_t view_count_procs(const struct view *v)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < v->nr_procs; i++) n += view_proc_lives(&v->procs[i]);
    return n;
}

bool view_in_call(const struct view *v, const struct usf_task *t)
{
    uint32_t s = atomic_load(&t->state), c = atomic_load(&t->core);
    if (s == USF_TASK_IN_KERNEL || s == USF_TASK_BY_KERNEL) return true;
    if (s != USF_TASK_RUNNING || c >= v->h->nr_cores) return false;
    unsigned cs = view_state_of_core(v, c);
    return cs == USF_CORE_PROVISIONAL || cs == USF_CORE_RELEASED;
}

const char *view_state_of(const struct view *v, const struct usf_task *t)
{
    uint32_t s = atomic_load(&t->state);
    return s == USF_TASK_RUNNING && view_in_call(v, t) ? "in-call" : view_task_state(s);
}

int32_t view_pid_of(const struct view *v, const struct usf_task *t)
{
    uint32_t p = atomic_load(&t->proc);
    return p < v->nr_procs ? v->procs[p].pid : 0;
}

int32_t view_pid_here(const struct view *v, const struct usf_task *t)
{
    uint32_t p = atomic_load(&t->proc);
    return p < v->nr_procs && view_knows(v, &v->procs[p]) ? v->procs[p].pid : 0;
}

bool view_share_of(const struct view *v, const struct usf_pol_group *g, char *buf, size_t cap)
{ return view_cpus_of(v, g->share, buf, cap); }

bool view_cpus_of(const struct view *v, const uint64_t cores[USF_CORE_WORDS], char *buf, size_t cap)
{
    struct os_cpuset set = {{0}};
    for (uint32_t c = 0; c < v->h->nr_cores; c++)
        if (usf_cores_has(cores, c)) os_cpu_set(&set, v->cores[c].pol.cpu);
    if (!os_cpu_count(&set)) return false;
    os_cpulist_format(&set, buf, cap);
    return true;
}

bool view_borrowed_of(const struct view *v, const struct usf_group *g, char *buf, size_t cap)
{
    uint64_t borrowed[USF_CORE_WORDS] = {0};
    for (uint32_t c = 0; c < v->h->nr_cores; c++) {
        uint32_t task = v->cores[c].pol.current, other = task < v->nr_tasks ? v->tasks[task].pol.group : USF_NONE;
        if (!(g->pol.flags & USF_GROUP_OWNS) || !usf_cores_has(g->pol.own, c) || other >= v->nr_groups) continue;
        const struct usf_pol_group *o = &v->groups[other].pol;
        if (o->proc == g->pol.proc && o->flags & USF_GROUP_OWNS && !usf_cores_has(o->own, c)) usf_cores_add(borrowed, c);
    }
    return view_cpus_of(v, borrowed, buf, cap);
}

const char *view_bounded(const char *field, size_t size, char *buf, size_t cap)
{
    char tmp[USF_POLICY_PATH_MAX];
    snprintf(tmp, sizeof tmp, "%.*s", (int)(size < sizeof tmp ? size : sizeof tmp - 1), field);
    return text_clean(tmp, buf, cap);
}

const char *view_task_name(const struct view *v, const struct usf_task *t, char buf[static VIEW_TASK_NAME])
{
    char path[OS_THREAD_FILE_MAX], comm[32];
    int32_t pid = view_pid_here(v, t);
    os_thread_file(path, view_tid(v, t), "comm");
    if (pid <= 0 || os_read_file(path, comm, sizeof comm) <= 0) return view_bounded(t->name, sizeof t->name, buf, VIEW_TASK_NAME);
    comm[strcspn(comm, "\n")] = 0;
    return text_clean(comm, buf, VIEW_TASK_NAME);
}

/* ---- threads that do not float ---------------------------------------------------------------------- */
static const char *const stays[USF_STAYS_KINDS] = {
    [USF_STAYS_PI] = "lock with priority inheritance", [USF_STAYS_SCHEDULING] = "nice value or scheduling policy of its own",
    [USF_STAYS_USER] = "user or groups of its own", [USF_STAYS_NAMESPACE] = "namespaces of its own", [USF_STAYS_TIMER] = "timer for one thread",
    [USF_STAYS_RSEQ] = "restartable sequences", [USF_STAYS_IO_URING] = "io_uring", [USF_STAYS_SIGNALFD] = "signalfd", [USF_STAYS_PERF] = "performance events or filters",
    [USF_STAYS_REGISTERS] = "registers of its own", [USF_STAYS_PRCTL] = "prctl or memory policy", [USF_STAYS_MEMORY] = "no memory, or none that may be executed",
};

const char *view_stays_of(const struct view *v, const struct usf_task *t)
{
    uint32_t why = atomic_load(&home_of(v, t)->stays);
    return why < USF_STAYS_KINDS ? stays[why] : NULL;
}

const char *view_stays(uint64_t reasons, char *buf, size_t cap)
{
    int n = 0;
    *buf = 0;
    for (unsigned i = 1; i < USF_STAYS_KINDS && n >= 0 && (size_t)n < cap; i++)
        if (reasons >> i & 1) n += snprintf(buf + n, cap - (size_t)n, "%s%s", n ? ", " : "", stays[i]);
    return buf;
}
