/* src/cli/ps_json.c - usf ps --json.  SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"
#include "cli/ps.h"
#include "monitor/monitor.h"
#include "sched/sched.h"
#include <stdio.h>
#include <string.h>

static void json_counters(struct json *j, const struct usf_counters *n)
{
    json_uint(j, "switches", n->switches);
    json_uint(j, "blocks", n->blocks);
    json_uint(j, "wakes", n->wakes);
    json_uint(j, "yields", n->yields);
    json_uint(j, "spin_yields", n->spin_yields);
    json_uint(j, "preemptions", n->preemptions);
    json_uint(j, "lends", n->lost_in_calls);
    json_uint(j, "migrations", n->migrations);
    json_uint(j, "polls", n->polls);
    json_uint(j, "work", n->work);
    json_uint(j, "work_pauses", n->work_pauses);
    json_uint(j, "work_steals", n->work_steals);
    json_uint(j, "work_wait_ns", n->work_wait_ns);
    json_uint(j, "busy_ns", n->busy_ns);
}

/* "core 3", "cache 0", "node 1", "cores 0-1,6", where it would like to run; null: anywhere. */
static void json_affinity(struct json *j, const struct usf_pol_task *t)
{
    static const char *const kinds[] = {[USF_AFFINITY_CORE] = "core", [USF_AFFINITY_LLC] = "cache", [USF_AFFINITY_NODE] = "node"};
    char text[8 + 4 * USF_MAX_CORES] = "cores ";
    bool any = t->affinity == USF_AFFINITY_ANY || t->affinity > USF_AFFINITY_MASK;
    if (t->affinity == USF_AFFINITY_MASK) {
        struct os_cpuset cores = {0};
        __builtin_memcpy(cores.w, t->mask, sizeof t->mask);
        os_cpulist_format(&cores, text + strlen(text), sizeof text - strlen(text));
    } else if (!any) {
        snprintf(text, sizeof text, "%s %u", kinds[t->affinity], t->affinity_id);
    }
    json_string(j, "affinity", any ? NULL : text);
}

/* Which of its process's groups, in the order of "groups". */
static void json_group_of(struct json *j, const struct view *v, const struct usf_task *t)
{
    uint32_t n = 0;
    const struct usf_group *g = view_next_group(v, t->proc, NULL);
    for (; g && !view_is_in(v, t, g); g = view_next_group(v, t->proc, g)) n++;
    if (g) json_uint(j, "group", n);
    else json_string(j, "group", NULL);
}

static void json_task(struct json *j, const struct view *v, struct why_reader *r, const struct usf_task *t)
{
    char name[VIEW_TASK_NAME], wait[48];
    uint32_t s = atomic_load(&t->state), c = s == USF_TASK_RUNNING ? atomic_load(&t->core) : USF_NONE;
    view_task_name(v, t, name);
    view_wait(t, wait, sizeof wait);
    json_open(j, NULL, '{');
    json_int(j, "tid", view_tid(v, t));
    json_string(j, "name", name);
    json_string(j, "state", view_state_of(v, t));
    if (c < v->h->nr_cores) json_uint(j, "core", c);
    else json_string(j, "core", NULL);
    json_group_of(j, v, t);
    json_int(j, "priority", t->pol.priority);
    if (t->pol.deadline) json_uint(j, "deadline_ns", t->pol.deadline);
    else json_string(j, "deadline_ns", NULL);
    json_affinity(j, &t->pol);
    json_bool(j, "strict", t->pol.strict);
    json_string(j, "waits_for", *wait && strcmp(view_state_of(v, t), "running") ? wait : NULL);
    if (r) {
        struct why w;
        why_of(r, t, &w);
        why_json(j, "why", &w);
    }
    json_string(j, "does_not_float", view_stays_of(v, t));
    json_counters(j, &t->n);
    json_close(j, '}');
}

/* The CPUs that the policy has told it to reckon with; null: all that it may use. */
static void json_share(struct json *j, const struct view *v, const struct usf_pol_group *p)
{
    char list[128];
    json_string(j, "share", view_share_of(v, p, list, sizeof list) ? list : NULL);
}

/* What a policy accounts for. */
static void json_account(struct json *j, const struct view *v, const struct usf_pol_group *p, uint64_t busy_ns)
{
    json_int(j, "weight", p->weight);
    json_int(j, "priority", p->priority);
    json_share(j, v, p);
    json_bool(j, "malleable", p->flags & USF_GROUP_MALLEABLE);
    json_bool(j, "no_gang", p->flags & USF_GROUP_NO_GANG);
    json_uint(j, "core_time_ns", busy_ns);
    json_uint(j, "regions", p->progress);
    json_uint(j, "width", p->width);
    json_uint(j, "queued_work", __atomic_load_n(&p->work.ready, __ATOMIC_RELAXED));
}

static void json_groups(struct json *j, const struct view *v, uint32_t proc)
{
    char name[64], cpus[128];
    json_open(j, "groups", '[');
    for (const struct usf_group *g = view_next_group(v, proc, NULL); g; g = view_next_group(v, proc, g)) {
        json_open(j, NULL, '{');
        json_string(j, "name", view_bounded(g->name, sizeof g->name, name, sizeof name));
        json_uint(j, "threads", view_count_group(v, g, false));
        json_uint(j, "ready", view_count_group(v, g, true));
        json_string(j, "cpus", view_cpus_of(v, g->pol.cores, cpus, sizeof cpus) ? cpus : NULL);
        json_string(j, "own_cpus", view_cpus_of(v, g->pol.own, cpus, sizeof cpus) ? cpus : NULL);
        json_string(j, "borrowed_cpus", view_borrowed_of(v, g, cpus, sizeof cpus) ? cpus : NULL);
        json_bool(j, "exclusive", g->kind == USF_GROUP_EXCLUSIVE);
        json_uint(j, "borrowed", g->borrowed);
        json_uint(j, "reclaimed", g->reclaimed);
        json_account(j, v, &g->pol, g->pol.busy_ns);
        json_close(j, '}');
    }
    json_close(j, ']');
}

/* A process is, to the policy, its first group, and has had the time of all of them. */
static void json_first_group(struct json *j, const struct view *v, uint32_t proc)
{
    static const struct usf_pol_group none;
    const struct usf_group *first = view_next_group(v, proc, NULL);
    uint64_t busy_ns = 0;
    for (const struct usf_group *g = first; g; g = view_next_group(v, proc, g)) busy_ns += g->pol.busy_ns;
    json_account(j, v, first ? &first->pol : &none, busy_ns);
}

static void json_procs(struct json *j, const struct view *v, struct why_reader *r)
{
    json_open(j, "processes", '[');
    for (uint32_t i = 0; i < v->nr_procs; i++) {
        const struct usf_proc *p = &v->procs[i];
        char comm[64];
        if (!view_proc_lives(p)) continue;
        snprintf(comm, sizeof comm, "%.*s", (int)sizeof p->comm, p->comm);
        json_open(j, NULL, '{');
        json_int(j, "pid", p->pid);
        json_string(j, "name", comm);
        json_bool(j, "here", view_knows(v, p));
        if (view_knows(v, p)) json_bool(j, "alive", shm_proc_is_alive(p));
        else json_string(j, "alive", NULL);
        json_uint(j, "ready", view_count_tasks(v, i, true));
        json_first_group(j, v, i);
        json_uint(j, "spin_sites", p->spin_sites);
        json_uint(j, "unpatched_sites", p->unpatched);
        json_uint(j, "threads_not_floating", p->stays);
        json_groups(j, v, i);
        json_open(j, "threads", '[');
        for (uint32_t t = 0; t < v->nr_tasks; t++)
            if (view_task_lives(&v->tasks[t]) && v->tasks[t].proc == i) json_task(j, v, r, &v->tasks[t]);
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
        const struct usf_task *t = view_task_of_core(v, i);
        json_open(j, NULL, '{');
        json_uint(j, "core", i);
        json_uint(j, "cpu", c->cpu);
        json_uint(j, "node", c->node);
        json_uint(j, "llc", c->llc);
        json_uint(j, "package", c->package);
        json_uint(j, "physical", c->phys);
        json_string(j, "state", view_core_state(view_state_of_core(v, i)));
        if (t) json_int(j, "tid", view_tid(v, t));
        else json_string(j, "tid", NULL);
        json_uint(j, "ready", view_ready_of_core(v, i));
        json_close(j, '}');
    }
    json_close(j, ']');
}

void ps_json(struct json *j, const struct view *v, struct why_reader *r)
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
    json_uint(j, "slice_ns", v->h->slice_ns);
    json_bool(j, "topology_blind", v->h->blind);
    json_uint(j, "poll_max_ns", v->h->poll_max_ns);
    json_uint(j, "progress_ns", v->h->progress_ns);
    json_uint(j, "lend_ns", v->h->lend_ns);
    json_uint(j, "ready", atomic_load(&v->h->nr_ready));
    int32_t monitor = view_monitor(v);
    if (monitor) json_int(j, "monitor_pid", monitor);
    else json_string(j, "monitor_pid", NULL);
    json_cores(j, v);
    json_procs(j, v, r);
    json_close(j, '}');
}
