/* sim/cli/load.c - workloads, machines and policies by name. 
 * SPDX-License-Identifier: Apache-2.0 */
#include "policy/policy.h"
#include "sim/cli/cli.h"
#include "sim/linux/kernel.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void say_error(const struct lang_error *e)
{
    if (e->line) trouble("%.200s:%u:%u: %s", e->file, e->line, e->col, e->text);
    else if (*e->file) trouble("%.200s: %s", e->file, e->text);
    else trouble("%s", e->text);
}

void say_machine_error(const struct mach_error *e)
{
    if (e->line) trouble("%.200s:%u:%u: %s", e->file, e->line, e->col, e->text);
    else if (*e->file) trouble("%.200s: %s", e->file, e->text);
    else trouble("%s", e->text);
}

struct lang_workload *load_workload(const char *name, const struct list *sets)
{
    char path[1400], dir[1024];
    struct lang_error e;
    snprintf(path, sizeof path, "%s", name);
    if (!strchr(name, '/') && access(name, F_OK) && sim_library("workloads", dir, sizeof dir)) {
        snprintf(path, sizeof path, "%s/%s.usfw", dir, name);
        if (access(path, F_OK)) {
            trouble("there is no workload '%.100s': no such file here, and none of that name in the library ('usf sim workloads' lists it)", name);
            return NULL;
        }
    }
    struct lang_workload *w = lang_parse(path, NULL, 0, NULL, &e);
    for (uint32_t i = 0; w && sets && i < sets->nr; i++)
        if (lang_set(w, sets->item[i], &e)) {
            lang_free(w);
            w = NULL;
        }
    if (!w) say_error(&e);
    return w;
}

bool load_machine(const char *spec, struct sim_machine *m)
{
    struct mach_error e;
    if (!mach_find(m, spec, &e)) return true;
    sim_machine_free(m);
    say_machine_error(&e);
    return false;
}

/* `linux`: usf leaves all to the kernel, and has only turned busy-waits into yields. */
static void leave_to_kernel(struct sim_config *c)
{
    c->policy = NULL;
    c->policy_ops = NULL;
    c->spins_yield = true;
    if (!c->kernel) c->kernel = sim_kernel_find("eevdf");
}

static bool find_policy(const char *name, struct sim_config *c)
{
    static char path[PATH_MAX], why[320];
    if (!strchr(name, '/')) {
        const struct usf_policy_ops *p = policy_find(name);
        c->policy = p ? p->name : NULL;
        if (p && p->flags & USF_POLICY_KERNEL) leave_to_kernel(c);
        return p != NULL;
    }
    if (USF_CORES_MAX > 256) {
        trouble("the policy '%.100s' is built for machines of up to 256 CPUs", name);
        return false;
    }
    c->policy_ops = realpath(name, path) ? policy_load(path, why, sizeof why) : NULL;
    if (!c->policy_ops) trouble("the policy '%.100s' cannot be loaded: %s", name, *why ? why : "there is no such file");
    else c->policy = c->policy_ops->name;
    if (c->policy_ops && c->policy_ops->flags & USF_POLICY_KERNEL) {
        leave_to_kernel(c);
        return true;
    }
    return c->policy_ops != NULL;
}

void go_large(uint32_t nr_cpus)
{
    char path[4200];
    static const char name[] = "/usf-sim-large";
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - sizeof name);
    path[n > 0 ? n : 0] = 0;
    char *slash = strrchr(path, '/');
    strcpy(slash ? slash : path, name);
    if (USF_CORES_MAX <= 256) {
        sim_argv[0] = path;
        execv(path, sim_argv);
    }
    trouble("a machine of %u CPUs: this program is built for %u%s%.200s%s", nr_cpus, USF_CORES_MAX, USF_CORES_MAX <= 256 ? ", and " : "",
            USF_CORES_MAX <= 256 ? path : "", USF_CORES_MAX <= 256 ? " cannot be executed" : "");
}

bool load_policy(const char *spec, struct sim_config *c)
{
    char name[256];
    const char *at = strrchr(spec, '@');
    size_t len = at ? (size_t)(at - spec) : strlen(spec);
    if (len >= sizeof name) {
        trouble("the policy's name is too long");
        return false;
    }
    memcpy(name, spec, len);
    name[len] = 0;
    if (at && !(c->kernel = sim_kernel_find(at + 1))) {
        trouble("there is no model of a kernel '%.60s' ('usf sim policies' lists them)", at + 1);
        return false;
    }
    if (strchr(name, '/') || policy_find(name)) return find_policy(name, c);
    if (!at && (c->kernel = sim_kernel_find(name))) return true;
    const char *near = policy_nearest(name);
    trouble("there is no policy '%.60s'%s%s%s ('usf sim policies' lists them)", name, near ? "; the nearest is '" : "", near ? near : "", near ? "'" : "");
    return false;
}
