/* src/cli/instance.c - open or make the instance of a run.  SPDX-License-Identifier: Apache-2.0 */
#include "cli/instance.h"
#include "cli/cli.h"
#include "monitor/monitor.h"
#include "policy/policy.h"
#include "sharing/sharing.h"
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

int allowed_cpus(struct os_cpuset *out)
{
    _Static_assert(sizeof(cpu_set_t) <= sizeof *out, "cpu_set_t fits");
    memset(out, 0, sizeof *out);
    return sched_getaffinity(0, sizeof *out, (cpu_set_t *)(void *)out) ? -errno : 0;
}

bool cpus_meet(const struct os_cpuset *a, const struct os_cpuset *b)
{
    for (unsigned i = 0; i < OS_CPUSET_WORDS; i++)
        if (a->w[i] & b->w[i]) return true;
    return false;
}

#define MAKER_NS 300000000u

/* Who has just made the instance is about to start its monitor, too; only that one's can remove the
 * file in the end. */
static void wait_for_maker(const struct shm *m, const char *name)
{
    uint64_t end = m->h->created_ns + MAKER_NS;
    if (m->created || !shm_is_shared(name)) return;
    while (!monitor_is_alive(&m->h->namespace[m->namespace]) && os_now() < end && end < os_now() + 2 * (uint64_t)MAKER_NS) os_sleep(2000000);
}

int instance_open(const struct config *c, const struct os_cpuset *cpus, const char *build_id, struct instance *in, char *why,
                  size_t cap)
{
    const struct usf_settings *s = &c->s;
    if (*s->policy.path && shm_is_shared(s->instance)) return snprintf(why, cap, "%s", SHARING_NO_OBJECTS), -EPERM;
    const struct usf_policy_ops *ops = *s->policy.path ? policy_load(s->policy.path, why, (unsigned)cap) : 0;
    if (*s->policy.path && !ops) return -EINVAL;
    struct shm_config sc = {
        .name = s->instance, .cpus = *cpus,
        .policy = ops ? ops->name : s->policy.name, .policy_path = s->policy.path,
        .quantum_ns = s->quantum_ns, .poll_max_ns = s->poll_ns, .progress_ns = s->progress_ns, .lend_ns = s->lend_ns,
        .slice_ns = s->slice_ns, .blind = s->topology_blind,
        .build_id = build_id, .settle = true,
    };
    int r = shm_open_instance(&sc, true, &in->shm);
    if (r) {
        snprintf(why, cap, "%s", in->shm.why);
        return r;
    }
    struct usf_header *h = in->shm.h;
    bool object = h->policy_path[0] && !shm_is_shared(s->instance);
    if (object && (in->shm.created || h->pidns != in->shm.pidns) && !policy_load_same(h->policy_path, &h->policy_hash, why, (unsigned)cap))
        return -ENOEXEC;        /* another container's, which this one has not */
    memset(&in->cpus, 0, sizeof in->cpus);
    struct usf_core *cores = shm_cores(in->shm.h);
    for (unsigned i = 0; i < in->shm.h->nr_cores; i++) os_cpu_set(&in->cpus, cores[i].pol.cpu);
    wait_for_maker(&in->shm, s->instance);
    r = monitor_ensure(in->shm.h, in->shm.namespace, s->instance, s->monitor_linger_ns);
    if (r >= 0) return 0;
    snprintf(why, cap, "the monitor of instance '%s' does not start: %s", s->instance, strerror(-r));
    if (in->shm.created) shm_retire_if_empty(&in->shm, NULL);      /* without one it would stay for ever */
    return r;
}

static void differs(const struct config *c, const char *option, bool differs, const char *in_force)
{
    const struct config_value *v = config_value_of(c, option);
    if (!differs || v->origin == ORIGIN_DEFAULT) return;
    /* An outer `usf run` or a file may be meant for instances to come: worth a word to the curious
     * only. */
    if (v->origin == ORIGIN_CLI)
        usf_warn("instance '%s' exists already, with %s %s: %s %s is ignored", c->s.instance, option, in_force,
                 v->where, v->text);
    else
        usf_say("instance '%s' exists already, with %s %s", c->s.instance, option, in_force);
}

void instance_tell_differences(const struct config *c, const struct instance *in)
{
    const struct usf_header *h = in->shm.h;
    const struct usf_settings *s = &c->s;
    char text[64], policy[32], before[32];
    if (in->shm.created) return;
    snprintf(policy, sizeof policy, "%.31s", h->policy);
    snprintf(before, sizeof before, "%.31s", h->policy_was);
    differs(c, "policy", *s->policy.path ? strcmp(s->policy.path, h->policy_path) : strcmp(s->policy.name, h->policy), policy);
    if (h->policy_by == USF_POLICY_BY_REQUEST)
        usf_say("instance '%s': its policy is %s since a 'usf policy set'; it was %s before", s->instance, policy, before);
    if (h->policy_why[0]) usf_say("instance '%s': %.*s", s->instance, (int)sizeof h->policy_why, h->policy_why);
    const struct { const char *option; uint64_t want, is; unsigned unit; const char *name; } n[] = {
        {"quantum", s->quantum_ns, h->quantum_ns, 1000000, "ms"},
        {"slice", s->slice_ns, h->slice_ns, 1000000, "ms"},
        {"poll", s->poll_ns == SHM_NO_POLL ? 0 : s->poll_ns, h->poll_max_ns, 1000, "us"},
        {"progress", s->progress_ns, h->progress_ns, 1000000, "ms"},
        {"lend", s->lend_ns, h->lend_ns, 1000, "us"},
    };
    for (unsigned i = 0; i < sizeof n / sizeof *n; i++) {
        snprintf(text, sizeof text, "%g %s", (double)n[i].is / n[i].unit, n[i].name);
        differs(c, n[i].option, n[i].want != n[i].is, text);
    }
    differs(c, "topology-blind", s->topology_blind != h->blind, h->blind ? "on" : "off");
}
