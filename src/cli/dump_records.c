/* src/cli/dump_records.c - usf dump: lock, cores, processes, groups, tasks, runs.
 * SPDX-License-Identifier: Apache-2.0 */
#include "inspect/callname.h"
#include "cli/cli.h"
#include "cli/dump.h"
#include "sched/owner.h"
#include "sched/sched.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Milliseconds ago, or 0 for never.  A damaged record may have any number there. */
static long ago(const struct view *v, uint64_t at) { return at ? (long)(v->now - at) / 1000000 : 0; }

static void id_text(uint32_t id, char *buf, size_t cap)
{
    if (id == USF_NONE) snprintf(buf, cap, "-");
    else snprintf(buf, cap, "%u", id);
}

/* Behind a number that means another process here, or none. */
static const char *whose(const struct view *v, uint32_t proc)
{ return proc < v->nr_procs && !view_knows(v, &v->procs[proc]) ? " of another pid namespace" : ""; }

/* ---- lock ------------------------------------------------------------------------------------ */
void dump_owner(const struct view *v, uint32_t name, char *buf, size_t cap)
{
    char text[VIEW_TASK_NAME];
    uint32_t task = name - 1, proc = name - LOCK_NAME_PROC;
    if (!name) snprintf(buf, cap, "no thread");
    else if (name < LOCK_NAME_PROC && task < v->nr_tasks)
        snprintf(buf, cap, "task %u, thread %d (%s) of process %d%s", task, view_tid(v, &v->tasks[task]),
                 view_task_name(v, &v->tasks[task], text), view_pid_of(v, &v->tasks[task]), whose(v, atomic_load(&v->tasks[task].proc)));
    else if (name < LOCK_NAME_PROC) snprintf(buf, cap, "task %u, which does not exist", task);
    else if (name < LOCK_NAME_MONITOR && proc < v->nr_procs)
        snprintf(buf, cap, "a thread without a task of process %d%s (record %u)", v->procs[proc].pid, whose(v, proc), proc);
    else if (name >= LOCK_NAME_MONITOR && name < LOCK_NAME_MONITOR + USF_MAX_NAMESPACES)
        snprintf(buf, cap, "the monitor of pid namespace %u, process %d%s", name - LOCK_NAME_MONITOR,
                 atomic_load(&v->h->namespace[name - LOCK_NAME_MONITOR].monitor_pid),
                 name - LOCK_NAME_MONITOR == v->namespace ? "" : " of another pid namespace");
    else snprintf(buf, cap, "name 0x%x", name);
}

void dump_lock(const struct view *v)
{
    const struct usf_lock *l = &v->h->lock;
    uint32_t word = atomic_load(&l->word);
    char owner[160];
    printf("\n== scheduler lock ==\n");
    dump_owner(v, word & ~LOCK_SLEEPERS, owner, sizeof owner);
    printf("word 0x%x: held by %s%s; %u recoveries\n", word, owner,
           word & LOCK_SLEEPERS ? ", others sleep on it" : "", atomic_load(&l->epoch));
}

/* ---- cores ----------------------------------------------------------------------------------- */
static void dump_lease(const struct usf_lease *l)
{
    uint32_t word = atomic_load(&l->word);
    printf("  lease 0x%x (%s), %u of %u turns left, paused for %u of %u yields, tasks", word,
           word == USF_LEASE_NONE ? "none" : word == USF_LEASE_OPEN ? "open" : word == USF_LEASE_DEAD ? "its user has died" : "in use", l->turns,
           l->given, l->paused, l->pause);
    for (uint32_t i = 0; i < l->nr_tasks && i < USF_LEASE_TASKS; i++) printf(" %u%s", l->task[i], i == l->next ? " (next)" : "");
    putchar('\n');
}

static void dump_core(const struct view *v, uint32_t i)
{
    const struct usf_core *c = &v->cores[i];
    uint64_t w = atomic_load(&c->word);
    uint32_t poller = atomic_load(&c->poller);
    const struct usf_task *t = view_task_of_core(v, i);
    char current[16], name[VIEW_TASK_NAME];
    id_text(c->pol.current, current, sizeof current);
    printf("core %u: CPU %u, node %u, cache %u, package %u, %s", i, c->pol.cpu, c->pol.node, c->pol.llc, c->pol.package,
           view_core_state(view_state_of_core(v, i)));
    if (t)
        printf(", task %u = thread %d (%s) of process %d%s", core_task(w), view_tid(v, t), view_task_name(v, t, name),
               view_pid_of(v, t), whose(v, atomic_load(&t->proc)));
    printf(", %u ready tasks ran here last\n", view_ready_of_core(v, i));
    printf("  word 0x%lx = state %u, task %u, sequence %lu; poller 0x%x%s\n", w, core_state(w), core_task(w),
           (unsigned long)core_seq(w), poller, poller & USF_MAIL ? " (mail)" : "");
    printf("  progress %lu, policy's current %s since %ld ms, idle since %ld ms, released provisionally (word 0x%lx, number %lu) since %ld ms\n",
           atomic_load(&c->progress), current, ago(v, c->pol.since), ago(v, c->idle_since), (unsigned long)c->release_word,
           (unsigned long)c->release_seen >> 2, ago(v, c->release_since));
    printf("  poll %lu ns (average wait %lu ns), busy %lu ns, idle %lu ns, contended until %lu\n",
           atomic_load(&c->poll_ns), atomic_load(&c->poll_avg), (unsigned long)c->busy_ns, (unsigned long)c->idle_ns,
           atomic_load(&c->contended));
    dump_lease(&c->lease);
    dump_bytes("  policy's data", c->pol.data, sizeof c->pol.data);
}

void dump_cores(const struct view *v)
{
    printf("\n== cores ==\n");
    for (uint32_t i = 0; i < v->h->nr_cores; i++) dump_core(v, i);
}

/* ---- tasks ----------------------------------------------------------------------------------- */
static void dump_counters(const char *what, const struct usf_counters *n)
{
    printf("  %s: switches %lu, blocks %lu, wakes %lu, yields %lu, spin yields %lu, preemptions %lu, lost in calls %lu, "
           "migrations %lu, polls %lu, busy %lu ns, work %lu, its pauses %lu, its steals %lu, its waits %lu ns\n",
           what, n->switches, n->blocks, n->wakes, n->yields, n->spin_yields, n->preemptions, n->lost_in_calls, n->migrations,
           n->polls, n->busy_ns, n->work, n->work_pauses, n->work_steals, n->work_wait_ns);
}

static void dump_kernel(const struct thread_view *k)
{
    char unknown[CALL_NAME_MAX];
    printf("kernel: %c, CPU %d, in %s", k->state, k->cpu, *k->wchan ? k->wchan : "?");
    if (k->call_known)
        printf(", %s(0x%lx, 0x%lx, 0x%lx, 0x%lx, 0x%lx, 0x%lx), sp 0x%lx, pc 0x%lx", call_name((uint64_t)k->call, unknown),
               k->arg[0], k->arg[1], k->arg[2], k->arg[3], k->arg[4], k->arg[5], k->sp, k->pc);
    putchar('\n');
}

static const char *park_name(uint32_t p)
{
    static const char *const names[] = {"none", "go", "asleep", "pinning", "idle", "claimed", "look"};
    if (p & USF_PARK_AT_END) return "at its waker's end";
    return p < sizeof names / sizeof *names ? names[p] : "?";
}

static void dump_signals(int32_t pid, int32_t tid)
{
    char pending[32], blocked[32], cpus[128];
    status_field(pid, tid, "SigPnd", pending, sizeof pending);
    status_field(pid, tid, "SigBlk", blocked, sizeof blocked);
    status_field(pid, tid, "Cpus_allowed_list", cpus, sizeof cpus);
    printf("  signals: pending %s, blocked %s; may run on CPUs %s\n", pending, blocked, cpus);
}

static void dump_task(struct why_reader *r, uint32_t id)
{
    const struct view *v = r->v;
    const struct usf_task *t = &v->tasks[id];
    const struct usf_thread *thread = view_thread(v, t);
    uint32_t park = atomic_load(&thread->park);
    int32_t pid = view_pid_here(v, t);
    char name[VIEW_TASK_NAME], core[16], pinned[16], last[16], since[32];
    struct why w;
    id_text(atomic_load(&t->core), core, sizeof core);
    uint32_t at = atomic_load(&thread->pinned);
    if (at == USF_PINNED_UNKNOWN) usf_format(pinned, sizeof pinned, "unknown");
    else if (at == USF_PINNED_HELD) usf_format(pinned, sizeof pinned, "held");
    else id_text(at, pinned, sizeof pinned);
    id_text(t->pol.last_core, last, sizeof last);
    printf("task %u: thread %d%s (%s), process record %u, state %u (%s) since %ld ms, core %s, pinned %s\n", id, thread->tid,
           whose(v, atomic_load(&t->proc)), view_task_name(v, t, name), atomic_load(&t->proc), atomic_load(&t->state), view_state_of(v, t),
           ago(v, atomic_load(&t->since_ns)), core, pinned);
    printf("  park %u (%s), parked %u, pending wake %u, queued because %u, on its core since %ld ms, wait %u 0x%lx, bursts %u, release %lu (%lu)\n",
           park, park_name(park), atomic_load(&thread->parked), atomic_load(&t->pending_wake), atomic_load(&t->why), ago(v, t->start_ns),
           atomic_load(&t->wait_kind), atomic_load(&t->wait_addr), atomic_load(&t->bursts),
           atomic_load(&t->release) >> 2, atomic_load(&t->release) & USF_RELEASE_BITS);
    printf(
        "  policy: id %u, group %u, last core %s, priority %d, next %d, prev %d, queued %u, held %u, ready since %ld ms\n",
        t->pol.id, t->pol.group, last, t->pol.priority, (int)t->pol.next, (int)t->pol.prev, t->pol.queued, t->pol.held,
        ago(v, t->pol.ready_since));
    dump_bytes("  policy's data", t->pol.data, sizeof t->pol.data);
    dump_counters("counters", &t->n);
    why_of(r, t, &w);
    if (w.kernel.state) {
        printf("  ");
        dump_kernel(&w.kernel);
        dump_signals(pid, thread->tid);
    } else if (pid > 0) printf("  kernel: no such thread\n");
    why_since_text(&w, since, sizeof since);
    if (w.kind) printf("  waits for: %s%s%s\n", w.text, *since ? ", " : "", since);
}

/* ---- processes ------------------------------------------------------------------------------- */
static bool has_task(const struct view *v, uint32_t proc, int32_t tid)
{
    for (uint32_t i = 0; v && i < v->nr_tasks; i++)
        if (view_task_lives(&v->tasks[i]) && v->tasks[i].proc == proc && view_tid(v, &v->tasks[i]) == tid) return true;
    return false;
}

void dump_threads(int32_t pid, const struct view *v, uint32_t proc)
{
    char path[64];
    struct thread_view k;
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    DIR *d = opendir(path);
    for (struct dirent *e; d && (e = readdir(d));) {
        int32_t tid = atoi(e->d_name);
        if (tid <= 0 || has_task(v, proc, tid) || !thread_look(pid, tid, &k)) continue;
        printf("  thread %d%s: ", tid, v ? ", not scheduled" : "");
        dump_kernel(&k);
    }
    if (d) closedir(d);
}

static const char *proc_state(uint32_t s)
{
    static const char *const names[] = {"free", "joining", "active", "leaving"};
    return s < sizeof names / sizeof *names ? names[s] : "?";
}

static void dump_process_in_kernel(const struct view *v, uint32_t i)
{
    static const char *const fields[] = {"State",     "Threads", "Cpus_allowed_list", "Seccomp", "NoNewPrivs",
                                         "TracerPid", "SigQ"};
    const struct usf_proc *p = &v->procs[i];
    char path[64], link[PATH_MAX], shown[PATH_MAX], field[128];
    if (!view_knows(v, p)) {
        printf("  of another pid namespace\n");
        return;
    }
    printf("  %s", shm_proc_is_alive(p) ? "alive" : "dead");
    snprintf(path, sizeof path, "/proc/%d/exe", p->pid);
    ssize_t n = readlink(path, link, sizeof link - 1);
    if (n > 0) {
        link[n] = 0;
        printf(", runs %s", text_clean(link, shown, sizeof shown));
    }
    for (unsigned k = 0; k < sizeof fields / sizeof *fields; k++) {
        status_field(p->pid, 0, fields[k], field, sizeof field);
        if (*field) printf(", %s %s", fields[k], field);
    }
    putchar('\n');
    if (shm_proc_is_alive(p)) dump_threads(p->pid, v, i);
}

static void dump_set(const char *what, const uint64_t cores[USF_CORE_WORDS])
{
    printf("%s", what);
    for (unsigned w = USF_CORE_WORDS; w--;) printf(" %lx", (unsigned long)cores[w]);
}

static void dump_group(const struct view *v, uint32_t i)
{
    const struct usf_group *g = &v->groups[i];
    const struct usf_pol_group *p = &g->pol;
    char name[64];
    printf("group %u: process record %u, state %u, name '%s'\n", i, g->proc, atomic_load(&g->state),
           view_bounded(g->name, sizeof g->name, name, sizeof name));
    printf("  policy: id %u, process %u, tasks %u, ready %u, weight %u, priority %d, flags %x, had %lu ms, progress %lu, width %u\n", p->id,
           p->proc, p->nr_tasks, p->nr_ready, p->weight, p->priority, p->flags, (unsigned long)(p->busy_ns / 1000000),
           (unsigned long)p->progress, p->width);
    dump_set("  cores", p->cores);
    dump_set(", own", p->own);
    dump_set(", wanted", g->wants);
    printf(" (kind %u)", g->kind);
    dump_set(", share", p->share);
    printf(" (%u), borrowed %lu, reclaimed %lu\n", p->share_gen, (unsigned long)g->borrowed, (unsigned long)g->reclaimed);
    if (p->work.ready)
        printf("  in its own queues: %u ready, priority %d, deadline %lu\n", p->work.ready, p->work.priority, (unsigned long)p->work.deadline);
    dump_bytes("  policy's data", p->data, sizeof p->data);
    dump_counters("ended threads", &g->gone);
}

static void dump_process(const struct view *v, uint32_t i)
{
    const struct usf_proc *p = &v->procs[i];
    char comm[64];
    printf("process record %u: process %d (%s), pid namespace %u, state %u (%s), start %lu, run %u, deserted %u, replaced %u\n", i, p->pid,
           view_bounded(p->comm, sizeof p->comm, comm, sizeof comm), p->namespace, atomic_load(&p->state),
           proc_state(atomic_load(&p->state)), (unsigned long)p->start_time, p->run, atomic_load(&p->deserted), atomic_load(&p->replaced));
    printf("  tasks in use %u, spin loops patched %lu, system call sites not patched %lu, threads that do not float %lu (%x)\n",
           view_count_tasks(v, i, false), atomic_load(&p->spin_sites), atomic_load(&p->unpatched), atomic_load(&p->stays),
           atomic_load(&p->stays_why));
    printf("  groups %u, the first %d", p->nr_groups, (int)p->group);
    dump_set(", cores that it may use", p->may);
    dump_set(", cores that it gets", p->cores);
    printf(", by its quota as many as %d, control group %x\n", (int)atomic_load(&p->quota), p->quota_group);
    dump_process_in_kernel(v, i);
}

void dump_processes(struct why_reader *r)
{
    const struct view *v = r->v;
    printf("\n== processes ==\n");
    for (uint32_t i = 0; i < v->nr_procs; i++)
        if (view_proc_lives(&v->procs[i])) dump_process(v, i);
    printf("\n== groups ==\n");
    for (uint32_t i = 0; i < v->nr_groups; i++)
        if (atomic_load(&v->groups[i].state) != USF_GROUP_FREE) dump_group(v, i);
    printf("\n== tasks ==\n");
    for (uint32_t i = 0; i < v->nr_tasks; i++)
        if (atomic_load(&v->tasks[i].state) != USF_TASK_FREE) dump_task(r, i);
}

void dump_runs(const struct view *v)
{
    const struct usf_run *runs = shm_runs(v->h);
    printf("\n== runs with statistics ==\n");
    for (uint32_t i = 0; i < v->h->max_runs; i++)
        if (atomic_load(&runs[i].state))
            printf("run %u: state %u, process %d of pid namespace %u, processes %lu, spin loops %lu, sites not patched %lu\n", i + 1,
                   atomic_load(&runs[i].state), runs[i].pid, runs[i].namespace, atomic_load(&runs[i].nr_procs),
                   atomic_load(&runs[i].spin_sites), atomic_load(&runs[i].unpatched));
}
