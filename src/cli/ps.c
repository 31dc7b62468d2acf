/* src/cli/ps.c - usf ps: what runs, what waits, for what.  SPDX-License-Identifier: Apache-2.0
 *
 * Shows a private copy of the segment (shm_snapshot): whatever others do to the file meanwhile,
 * nothing here can crash or disturb them.  The copy is not one instant: a thread may be seen on two
 * cores. */
#include "cli/cli.h"
#include "cli/ps.h"
#include "monitor/monitor.h"
#include "sched/sched.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

static bool proc_is_dead(const struct view *v, const struct usf_proc *p)
{ return view_knows(v, p) && !shm_proc_is_alive(p); }

/* ---- text ------------------------------------------------------------------------------------- */
static void instance_cpus(const struct view *v, char *buf, size_t cap)
{
    struct os_cpuset set = {{0}};
    for (uint32_t i = 0; i < v->h->nr_cores; i++) os_cpu_set(&set, v->cores[i].pol.cpu);
    os_cpulist_format(&set, buf, cap);
}

static const char *plural(uint32_t n) { return n == 1 ? "" : "s"; }

static void print_header(const struct view *v)
{
    char cpus[128], name[64], policy[64];
    uint32_t procs = view_count_procs(v), tasks = view_count_tasks(v, USF_NONE, false);
    int32_t monitor = view_monitor(v);
    instance_cpus(v, cpus, sizeof cpus);
    view_bounded(v->h->name, sizeof v->h->name, name, sizeof name);
    view_bounded(v->h->policy, sizeof v->h->policy, policy, sizeof policy);
    printf("%sinstance %s%s: CPUs %s, policy %s, %u process%s, %u thread%s, %u waiting for a core, ", text_on(TEXT_BOLD),
           name, text_off(), cpus, policy, procs, procs == 1 ? "" : "es", tasks, plural(tasks), atomic_load(&v->h->nr_ready));
    if (v->namespace == USF_NONE) printf("of another pid namespace\n");
    else if (monitor) printf("monitor %d\n", monitor);
    else printf("%sno monitor%s\n", text_on(procs ? TEXT_WARN : TEXT_PLAIN), text_off());
    if (v->h->policy_why[0]) {
        char why[2 * sizeof v->h->policy_why];
        view_bounded(v->h->policy_why, sizeof v->h->policy_why, why, sizeof why);
        printf("  %s%s%s\n", text_on(TEXT_WARN), why, text_off());
    }
}

static void print_cores(const struct view *v)
{
    printf("  %s%5s %5s %-11s %8s %8s  %s%s\n", text_on(TEXT_DIM), "CORE", "CPU", "STATE", "WAITING", "THREAD", "NAME", text_off());
    for (uint32_t i = 0; i < v->h->nr_cores; i++) {
        const struct usf_task *t = view_task_of_core(v, i);
        char name[VIEW_TASK_NAME] = "", tid[16] = "-";
        if (t) {
            snprintf(tid, sizeof tid, "%d", view_tid(v, t));
            view_task_name(v, t, name);
        }
        printf("  %5u %5u %-11s %8u %8s  %s\n", i, v->cores[i].pol.cpu, view_core_state(view_state_of_core(v, i)),
               view_ready_of_core(v, i), tid, name);
    }
}

static enum text_style style_of(uint32_t state)
{ return state == USF_TASK_RUNNING ? TEXT_GOOD : state == USF_TASK_READY ? TEXT_WARN : TEXT_PLAIN; }

static void print_task(const struct view *v, struct why_reader *r, const struct usf_task *t)
{
    char name[VIEW_TASK_NAME], wait[48], core[16] = "-", since[32] = "";
    struct why w;
    uint32_t s = atomic_load(&t->state), c = s == USF_TASK_RUNNING ? atomic_load(&t->core) : USF_NONE;
    const char *state = view_state_of(v, t), *reason = wait;
    view_task_name(v, t, name);
    view_wait(t, wait, sizeof wait);
    if (!strcmp(state, "running")) *wait = 0;
    if (c < v->h->nr_cores) snprintf(core, sizeof core, "%u", c);
    if (r) {
        why_of(r, t, &w);
        why_since_text(&w, since, sizeof since);
        reason = w.text;
    }
    const char *stays = r ? view_stays_of(v, t) : NULL;
    printf("  %8d  %-16s %s%-9s%s %4s  %10lu  ", view_tid(v, t), name, text_on(style_of(s)), state, text_off(), core, t->n.switches);
    if (r) printf("%10s  ", since);
    printf("%s", reason);
    if (stays) printf("%sdoes not float: %s", *reason ? "; " : "", stays);
    putchar('\n');
}

static void print_tasks(const struct view *v, struct why_reader *r, const struct usf_group *g)
{
    for (uint32_t i = 0; i < v->nr_tasks; i++)
        if (view_task_lives(&v->tasks[i]) && view_is_in(v, &v->tasks[i], g)) print_task(v, r, &v->tasks[i]);
}

/* What is not as usual: ", weight 200, priority 1, share 0-3"; nothing of no group. */
static const char *policy_tells(const struct view *v, const struct usf_group *g, char *buf, size_t cap)
{
    char share[128];
    int n = 0;
    *buf = 0;
    if (!g) return buf;
    const struct usf_pol_group *p = &g->pol;
    if (p->weight != 100) n += snprintf(buf + n, cap - (size_t)n, ", weight %u", p->weight);
    if (p->priority) n += snprintf(buf + n, cap - (size_t)n, ", priority %d", p->priority);
    if (p->flags & USF_GROUP_NO_GANG) n += snprintf(buf + n, cap - (size_t)n, ", no gang");
    if (view_share_of(v, p, share, sizeof share)) snprintf(buf + n, cap - (size_t)n, ", share %s", share);
    return buf;
}

/* "0-3": it is limited to these; "0-3 of its own, 2-3 borrowed by others, ...". */
static void print_group_cpus(const struct view *v, const struct usf_group *g)
{
    char cpus[128];
    if (!(g->pol.flags & USF_GROUP_OWNS)) {
        puts(view_cpus_of(v, g->pol.cores, cpus, sizeof cpus) ? cpus : "-");
        return;
    }
    printf("%s %s", view_cpus_of(v, g->pol.own, cpus, sizeof cpus) ? cpus : "-", g->kind == USF_GROUP_EXCLUSIVE ? "for itself" : "of its own");
    if (view_borrowed_of(v, g, cpus, sizeof cpus)) printf(", %s borrowed by others", cpus);
    if (g->borrowed) printf(", borrowed others %lu times, gave them back on demand %lu times", (unsigned long)g->borrowed, (unsigned long)g->reclaimed);
    putchar('\n');
}

/* A further group of a process: what is not as usual, its CPUs. */
static void print_group(const struct view *v, const struct usf_group *g)
{
    char name[64], tells[192];
    uint32_t threads = view_count_group(v, g, false), ready = view_count_group(v, g, true);
    view_bounded(g->name, sizeof g->name, name, sizeof name);
    printf("  %sgroup %s%s: %u thread%s, %u waiting for a core%s, CPUs ", text_on(TEXT_BOLD), name, text_off(), threads,
           plural(threads), ready, policy_tells(v, g, tells, sizeof tells));
    print_group_cpus(v, g);
}

static void print_groups(const struct view *v, struct why_reader *r, uint32_t proc)
{
    const struct usf_group *first = view_next_group(v, proc, NULL);
    for (const struct usf_group *g = first; g; g = view_next_group(v, proc, g)) {
        if (g != first) print_group(v, g);
        print_tasks(v, r, g);
    }
}

/* What its tasking runtime tells; empty if it has executed nothing. */
static void work_tells(const struct view *v, uint32_t proc, const struct usf_group *g, char *buf, size_t cap)
{
    struct view_work w = view_work_of(v, proc);
    *buf = 0;
    if (w.executed)
        snprintf(buf, cap, ", %lu tasks executed after a wait of %.1f us in the mean, %u ready", w.executed,
                 (double)w.wait_ns / (double)w.executed / 1e3, g ? g->pol.work.ready : 0);
}

static void print_procs(const struct view *v, struct why_reader *r)
{
    for (uint32_t i = 0; i < v->nr_procs; i++) {
        const struct usf_proc *p = &v->procs[i];
        if (!view_proc_lives(p)) continue;
        char comm[64];
        view_bounded(p->comm, sizeof p->comm, comm, sizeof comm);
        uint32_t threads = view_count_tasks(v, i, false), ready = view_count_tasks(v, i, true);
        char tells[192], work[128];
        const struct usf_group *g = view_next_group(v, i, NULL);
        work_tells(v, i, g, work, sizeof work);
        printf("%sprocess %d%s %s: %u thread%s, %u waiting for a core%s%s, %lu spin loop%s, %lu unpatched site%s%s%s%s%s\n",
               text_on(TEXT_BOLD), p->pid, text_off(), comm, threads, plural(threads), ready,
               policy_tells(v, g, tells, sizeof tells), work, p->spin_sites,
               plural((uint32_t)p->spin_sites), p->unpatched, plural((uint32_t)p->unpatched),
               v->namespace == USF_NONE || view_knows(v, p) ? "" : " (in another container)", text_on(TEXT_BAD),
               proc_is_dead(v, p) ? " (dead)" : "", text_off());
        if (threads) printf("  %s%8s  %-16s %-9s %4s  %10s  %s%s%s\n", text_on(TEXT_DIM), "THREAD", "NAME", "STATE", "CORE", "SWITCHES",
                            r ? "     SINCE  " : "", "WAITS FOR", text_off());
        print_groups(v, r, i);
    }
}

/* ---- command ---------------------------------------------------------------------------------- */
struct ask {
    struct json *j;     /* null: as text */
    bool why, first;
};

/* One instance.  0 or -errno, said. */
static int show(const char *name, struct ask *a)
{
    struct shm m;
    struct view v;
    struct why_reader reader, *asked = a->why ? &reader : NULL;
    int r = shm_snapshot(NULL, name, &m);
    if (r) {
        usf_warn("%s", m.why);
        return r;
    }
    view_bind(&v, &m);
    why_begin(&reader, &v);
    if (a->j) {
        ps_json(a->j, &v, asked);
    } else {
        if (!a->first) putchar('\n');
        print_header(&v);
        print_cores(&v);
        print_procs(&v, asked);
    }
    a->first = false;
    why_end(&reader);
    shm_close(&m);
    return 0;
}

static int show_all(struct ask *a)
{
    char **names;
    int n = view_instances(&names), bad = 0;
    if (n < 0) {
        usf_warn("the instances cannot be listed: %s", strerror(-n));
        return CLI_FAILED;
    }
    for (int i = 0; i < n; i++) {
        int r = show(names[i], a);
        /* it may have ended since it was listed; and what another user puts into /dev/shm does not
         * make this fail */
        bad |= r && r != -ENOENT && view_owner_of(names[i]) == os_geteuid();
    }
    view_free(names, n);
    if (!n && !a->j) puts("no instances");
    return bad ? CLI_FAILED : CLI_OK;
}

int cmd_ps(const struct cli_command *self, int argc, char **argv)
{
    static struct cli_args a;
    struct json j;
    struct ask ask = {.first = true};
    int code = cli_parse(self, &a, argc, argv);
    if (code >= 0 || (code = cli_no_more(&a, argc, argv)) >= 0) return code;
    bool machine = cli_flag(&a, "json") != NULL;
    bool one = config_value_of(&a.config, "instance")->origin == ORIGIN_CLI;
    ask.why = cli_flag(&a, "why") != NULL;
    if (machine) {
        ask.j = &j;
        json_start(&j, stdout);
        json_open(&j, NULL, '[');
    }
    int r = one ? show(a.config.s.instance, &ask) ? CLI_FAILED : CLI_OK : show_all(&ask);
    if (machine) {
        json_close(&j, ']');
        json_end(&j);
    }
    return r;
}
