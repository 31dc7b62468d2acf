/* src/cli/ps.c - usf ps: what runs, what waits, for what.  SPDX-License-Identifier: Apache-2.0
 *
 * Shows a private copy of the segment (shm_snapshot): whatever others do to the file meanwhile, nothing
 * here can crash or disturb them.  The copy is not one instant: a thread may be seen on two cores. */
#include "cli/cli.h"
#include "cli/json.h"
#include "cli/view.h"
#include "monitor/monitor.h"
#include "sched/sched.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

struct view {
    const struct usf_header *h;
    const struct usf_core *cores;
    const struct usf_proc *procs;
    const struct usf_task *tasks;
    uint32_t nr_procs, nr_tasks;
    bool alive_known;
};

static void bind(struct view *v, const struct shm *m)
{
    *v = (struct view){.h = m->h, .cores = shm_cores(m->h), .procs = shm_procs(m->h), .tasks = shm_tasks(m->h),
                       .nr_procs = atomic_load(&m->h->proc_hwm), .nr_tasks = atomic_load(&m->h->task_hwm),
                       .alive_known = view_same_pidns(m->h)};
}

static bool task_lives(const struct usf_task *t)
{
    uint32_t s = atomic_load(&t->state);
    return s != USF_TASK_FREE && s != USF_TASK_GONE;
}
static bool proc_lives(const struct usf_proc *p) { return atomic_load(&p->state) != USF_PROC_FREE; }

/* The queues belong to the policy; what every policy has is the core that a ready task ran on last. */
static uint32_t ready_of_core(const struct view *v, uint32_t core)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < v->nr_tasks; i++)
        if (atomic_load(&v->tasks[i].state) == USF_TASK_READY && v->tasks[i].pol.last_core == core) n++;
    return n;
}

static uint32_t count_tasks(const struct view *v, uint32_t proc, bool ready_only)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < v->nr_tasks; i++)
        if (task_lives(&v->tasks[i]) && (proc == USF_NONE || v->tasks[i].proc == proc))
            n += !ready_only || atomic_load(&v->tasks[i].state) == USF_TASK_READY;
    return n;
}

static uint32_t count_procs(const struct view *v)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < v->nr_procs; i++) n += proc_lives(&v->procs[i]);
    return n;
}

static const struct usf_task *task_of_core(const struct view *v, uint32_t core)
{
    uint64_t w = atomic_load(&v->cores[core].word);
    unsigned s = core_state(w);
    if (s != USF_CORE_RUNNING && s != USF_CORE_LENT && s != USF_CORE_AWAY) return NULL;
    return core_task(w) < v->nr_tasks ? &v->tasks[core_task(w)] : NULL;
}

/* A task in a system call keeps its state RUNNING while nobody has taken its core: the core's word tells. */
static const char *state_of(const struct view *v, const struct usf_task *t)
{
    uint32_t s = atomic_load(&t->state), c = atomic_load(&t->core);
    if (s == USF_TASK_RUNNING && c < v->h->nr_cores) {
        unsigned cs = core_state(atomic_load(&v->cores[c].word));
        if (cs == USF_CORE_LENT || cs == USF_CORE_AWAY) return "in-call";
    }
    return view_task_state(s);
}

static bool proc_is_dead(const struct view *v, const struct usf_proc *p)
{ return v->alive_known && !shm_proc_is_alive(p); }

static void bounded(const char *field, size_t size, char *buf, size_t cap)
{
    char tmp[sizeof ((struct usf_header *)0)->policy_why];
    snprintf(tmp, sizeof tmp, "%.*s", (int)(size < sizeof tmp ? size : sizeof tmp - 1), field);
    text_clean(tmp, buf, cap);
}

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
    uint32_t procs = count_procs(v), tasks = count_tasks(v, USF_NONE, false);
    instance_cpus(v, cpus, sizeof cpus);
    bounded(v->h->name, sizeof v->h->name, name, sizeof name);
    bounded(v->h->policy, sizeof v->h->policy, policy, sizeof policy);
    printf("%sinstance %s%s: CPUs %s, policy %s, %u process%s, %u thread%s, %u waiting for a core, ", text_on(TEXT_BOLD),
           name, text_off(), cpus, policy, procs, procs == 1 ? "" : "es", tasks, plural(tasks), atomic_load(&v->h->nr_ready));
    if (!v->alive_known) printf("of another pid namespace\n");
    else if (monitor_is_alive(v->h)) printf("monitor %d\n", atomic_load(&v->h->monitor_pid));
    else printf("%sno monitor%s\n", text_on(procs ? TEXT_WARN : TEXT_PLAIN), text_off());
    if (v->h->policy_why[0]) {
        char why[2 * sizeof v->h->policy_why];
        bounded(v->h->policy_why, sizeof v->h->policy_why, why, sizeof why);
        printf("  %s%s%s\n", text_on(TEXT_WARN), why, text_off());
    }
}

static void print_cores(const struct view *v)
{
    printf("  %s%5s %5s %-8s %8s %8s  %s%s\n", text_on(TEXT_DIM), "CORE", "CPU", "STATE", "WAITING", "THREAD", "NAME", text_off());
    for (uint32_t i = 0; i < v->h->nr_cores; i++) {
        const struct usf_task *t = task_of_core(v, i);
        char name[32] = "", tid[16] = "-";
        if (t) {
            snprintf(tid, sizeof tid, "%d", t->tid);
            bounded(t->name, sizeof t->name, name, sizeof name);
        }
        printf("  %5u %5u %-8s %8u %8s  %s\n", i, v->cores[i].pol.cpu, view_core_state(core_state(atomic_load(&v->cores[i].word))),
               ready_of_core(v, i), tid, name);
    }
}

static enum text_style style_of(uint32_t state)
{ return state == USF_TASK_RUNNING ? TEXT_GOOD : state == USF_TASK_READY ? TEXT_WARN : TEXT_PLAIN; }

static void print_tasks(const struct view *v, uint32_t proc)
{
    for (uint32_t i = 0; i < v->nr_tasks; i++) {
        const struct usf_task *t = &v->tasks[i];
        if (!task_lives(t) || t->proc != proc) continue;
        char name[32], wait[48], core[16] = "-";
        uint32_t s = atomic_load(&t->state), c = s == USF_TASK_RUNNING ? atomic_load(&t->core) : USF_NONE;
        bounded(t->name, sizeof t->name, name, sizeof name);
        view_wait(t, wait, sizeof wait);
        if (c < v->h->nr_cores) snprintf(core, sizeof core, "%u", c);
        printf("  %8d  %-16s %s%-9s%s %4s  %10lu  %s\n", t->tid, name, text_on(style_of(s)), state_of(v, t), text_off(),
               core, t->n.switches, !strcmp(state_of(v, t), "running") ? "" : wait);
    }
}

static void print_procs(const struct view *v)
{
    for (uint32_t i = 0; i < v->nr_procs; i++) {
        const struct usf_proc *p = &v->procs[i];
        if (!proc_lives(p)) continue;
        char comm[64];
        bounded(p->comm, sizeof p->comm, comm, sizeof comm);
        uint32_t threads = count_tasks(v, i, false), ready = count_tasks(v, i, true);
        printf("%sprocess %d%s %s: %u thread%s, %u waiting for a core, %lu spin loop%s, %lu unpatched site%s%s%s%s\n",
               text_on(TEXT_BOLD), p->pid, text_off(), comm, threads, plural(threads), ready, p->spin_sites,
               plural((uint32_t)p->spin_sites), p->unpatched, plural((uint32_t)p->unpatched), text_on(TEXT_BAD),
               proc_is_dead(v, p) ? " (dead)" : "", text_off());
        if (threads) printf("  %s%8s  %-16s %-9s %4s  %10s  %s%s\n", text_on(TEXT_DIM), "THREAD", "NAME", "STATE", "CORE", "SWITCHES",
                            "WAITS FOR", text_off());
        print_tasks(v, i);
    }
}

/* ---- json ------------------------------------------------------------------------------------- */
static void json_counters(struct json *j, const struct usf_counters *n)
{
    json_uint(j, "switches", n->switches);
    json_uint(j, "blocks", n->blocks);
    json_uint(j, "wakes", n->wakes);
    json_uint(j, "yields", n->yields);
    json_uint(j, "spin_yields", n->spin_yields);
    json_uint(j, "preemptions", n->preemptions);
    json_uint(j, "lends", n->lends);
    json_uint(j, "migrations", n->migrations);
    json_uint(j, "polls", n->polls);
    json_uint(j, "busy_ns", n->busy_ns);
}

static void json_task(struct json *j, const struct view *v, const struct usf_task *t)
{
    char name[32], wait[48];
    uint32_t s = atomic_load(&t->state), c = s == USF_TASK_RUNNING ? atomic_load(&t->core) : USF_NONE;
    snprintf(name, sizeof name, "%.*s", (int)sizeof t->name, t->name);
    view_wait(t, wait, sizeof wait);
    json_open(j, NULL, '{');
    json_int(j, "tid", t->tid);
    json_string(j, "name", name);
    json_string(j, "state", state_of(v, t));
    if (c < v->h->nr_cores) json_uint(j, "core", c);
    else json_string(j, "core", NULL);
    json_string(j, "waits_for", *wait && strcmp(state_of(v, t), "running") ? wait : NULL);
    json_counters(j, &t->n);
    json_close(j, '}');
}

static void json_procs(struct json *j, const struct view *v)
{
    json_open(j, "processes", '[');
    for (uint32_t i = 0; i < v->nr_procs; i++) {
        const struct usf_proc *p = &v->procs[i];
        char comm[64];
        if (!proc_lives(p)) continue;
        snprintf(comm, sizeof comm, "%.*s", (int)sizeof p->comm, p->comm);
        json_open(j, NULL, '{');
        json_int(j, "pid", p->pid);
        json_string(j, "name", comm);
        if (v->alive_known) json_bool(j, "alive", shm_proc_is_alive(p));
        else json_string(j, "alive", NULL);
        json_uint(j, "ready", count_tasks(v, i, true));
        json_uint(j, "spin_sites", p->spin_sites);
        json_uint(j, "unpatched_sites", p->unpatched);
        json_open(j, "threads", '[');
        for (uint32_t t = 0; t < v->nr_tasks; t++)
            if (task_lives(&v->tasks[t]) && v->tasks[t].proc == i) json_task(j, v, &v->tasks[t]);
        json_close(j, ']');
        json_close(j, '}');
    }
    json_close(j, ']');
}

static void json_cores(struct json *j, const struct view *v)
{
    json_open(j, "cores", '[');
    for (uint32_t i = 0; i < v->h->nr_cores; i++) {
        const struct usf_pol_core *c = &v->cores[i].pol;
        const struct usf_task *t = task_of_core(v, i);
        json_open(j, NULL, '{');
        json_uint(j, "core", i);
        json_uint(j, "cpu", c->cpu);
        json_uint(j, "node", c->node);
        json_uint(j, "llc", c->llc);
        json_uint(j, "package", c->package);
        json_string(j, "state", view_core_state(core_state(atomic_load(&v->cores[i].word))));
        if (t) json_int(j, "tid", t->tid);
        else json_string(j, "tid", NULL);
        json_uint(j, "ready", ready_of_core(v, i));
        json_close(j, '}');
    }
    json_close(j, ']');
}

static void json_instance(struct json *j, const struct view *v)
{
    char text[128];
    json_open(j, NULL, '{');
    json_string(j, "name", v->h->name);
    snprintf(text, sizeof text, "%.*s", (int)sizeof v->h->policy, v->h->policy);
    json_string(j, "policy", text);
    snprintf(text, sizeof text, "%.*s", (int)sizeof v->h->policy_why, v->h->policy_why);
    json_string(j, "policy_replaced_because", *text ? text : NULL);
    snprintf(text, sizeof text, "%.*s", (int)sizeof v->h->build_id, v->h->build_id);
    json_string(j, "build", *text ? text : NULL);
    json_uint(j, "quantum_ns", v->h->quantum_ns);
    json_uint(j, "poll_max_ns", v->h->poll_max_ns);
    json_uint(j, "progress_ns", v->h->progress_ns);
    json_uint(j, "lend_ns", v->h->lend_ns);
    json_string(j, "lock", v->h->lock_kind ? "dtlock" : "plain");
    json_uint(j, "ready", atomic_load(&v->h->nr_ready));
    if (v->alive_known && monitor_is_alive(v->h)) json_int(j, "monitor_pid", atomic_load(&v->h->monitor_pid));
    else json_string(j, "monitor_pid", NULL);
    json_cores(j, v);
    json_procs(j, v);
    json_close(j, '}');
}

/* ---- command ---------------------------------------------------------------------------------- */
/* One instance; j null: as text.  0 or -errno, said. */
static int show(const char *name, struct json *j, bool *first)
{
    struct shm m;
    struct view v;
    int r = shm_snapshot(NULL, name, &m);
    if (r) {
        usf_warn("%s", m.why);
        return r;
    }
    bind(&v, &m);
    if (j) {
        json_instance(j, &v);
    } else {
        if (!*first) putchar('\n');
        print_header(&v);
        print_cores(&v);
        print_procs(&v);
    }
    *first = false;
    shm_close(&m);
    return 0;
}

static int show_all(struct json *j)
{
    char **names;
    bool first = true;
    int n = view_instances(&names), bad = 0;
    if (n < 0) {
        usf_warn("the instances cannot be listed: %s", strerror(-n));
        return CLI_FAILED;
    }
    for (int i = 0; i < n; i++) {
        int r = show(names[i], j, &first);
        bad |= r && r != -ENOENT;       /* it may have ended since it was listed */
    }
    view_free(names, n);
    if (!n && !j) puts("no instances");
    return bad ? CLI_FAILED : CLI_OK;
}

int cmd_ps(const struct cli_command *self, int argc, char **argv)
{
    static struct cli_args a;
    struct json j;
    bool first = true;
    int code = cli_parse(self, &a, argc, argv);
    if (code >= 0 || (code = cli_no_more(&a, argc, argv)) >= 0) return code;
    bool machine = cli_flag(&a, "json") != NULL;
    bool one = config_value_of(&a.config, "instance")->origin == ORIGIN_CLI;
    if (machine) {
        json_start(&j, stdout);
        json_open(&j, NULL, '[');
    }
    int r = one ? show(a.config.s.instance, machine ? &j : NULL, &first) ? CLI_FAILED : CLI_OK : show_all(machine ? &j : NULL);
    if (machine) {
        json_close(&j, ']');
        json_end(&j);
    }
    return r;
}
