/* src/cli/run.c - usf run.  SPDX-License-Identifier: Apache-2.0
 *
 * Two kinds of trouble.  A mistake of the caller ends with 125 and one line.  A failure of ours
 * ends in the program running as if there were no usf, and one line that says why. */
#include "cli/cli.h"
#include "cli/instance.h"
#include "cli/preload.h"
#include "cli/program.h"
#include "cli/run.h"
#include "cli/stats.h"
#include "cli/supervise.h"
#include "config/env.h"
#include "gate/gate.h"
#include "policy/policy.h"
#include "sharing/sharing.h"
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct run {
    struct config *config;
    struct program program;
    char **argv;                /* of the program */
    struct os_cpuset allowed;   /* what this process may use, limited by --cpus */
    bool limited;               /* --cpus was given */
    char why[512];              /* it cannot be scheduled */
    struct preload library;
    struct instance instance;
    struct stats stats;
    const struct run_watch *watch;  /* or null */
};

/* ---- the caller's mistakes -------------------------------------------------------------------- */
static int check_policy(struct run *r)
{
    struct usf_policy_choice *p = &r->config->s.policy;
    const struct config_value *v = config_value_of(r->config, "policy");
    char full[PATH_MAX], why[320];
    if (!*p->path) {
        if (policy_find(p->name)) return -1;
        const char *near = policy_nearest(p->name);
        return cli_usage("%s: there is no policy '%s'; %s%s%s", v->where, p->name, near ? "the nearest is '" : "",
                         near ? near : "'usf policy list' lists them", near ? "'" : "");
    }
    if (!realpath(p->path, full)) return cli_usage("%s: %.200s: %s", v->where, p->path, strerror(errno));
    if (strlen(full) >= sizeof p->path) return cli_usage("%s: %.200s: %s", v->where, full, strerror(ENAMETOOLONG));
    strcpy(p->path, full);
    if (!policy_load(full, why, sizeof why)) return cli_usage("%s: %s", v->where, why);
    /* The library must find it from whatever directory the program changes to. */
    const struct usf_option *o = option_by_name("policy", -1);
    struct config_value *w = &r->config->v[o - usf_options];
    free(w->text);
    w->text = xasprintf("%s", full);
    return -1;
}

static int check_cpus(struct run *r)
{
    const struct os_cpuset *wanted = &r->config->s.cpus;
    const struct config_value *v = config_value_of(r->config, "cpus");
    char list[256];
    int e = allowed_cpus(&r->allowed);
    if (e) {
        snprintf(r->why, sizeof r->why, "the CPUs that may be used cannot be found out: %s", strerror(-e));
        return -1;
    }
    if (!os_cpu_count(wanted)) return -1;
    if (!cpus_meet(&r->allowed, wanted)) {
        os_cpulist_format(&r->allowed, list, sizeof list);
        return cli_usage("%s: none of the CPUs %s may be used here, only %s", v->where, v->text, list);
    }
    for (unsigned i = 0; i < OS_CPUSET_WORDS; i++) {
        if (wanted->w[i] & ~r->allowed.w[i]) usf_say("some of the CPUs %s may not be used here", v->text);
        r->allowed.w[i] &= wanted->w[i];
    }
    r->limited = true;
    return -1;
}

static int choose_instance(struct run *r)
{
    int code = share_choose(r->config);
    const struct usf_policy_choice *p = &r->config->s.policy;
    if (code >= 0 || !*p->path || !shm_is_shared(r->config->s.instance)) return code;
    return cli_usage("%s: " SHARING_NO_OBJECTS, config_value_of(r->config, "policy")->where);
}

/* Variables of the profile.  What the user has set goes before it. */
static void set_variables(const struct config *c)
{
    for (unsigned i = 0; i < c->variables.nr; i++) {
        const struct config_variable *v = &c->variables.at[i];
        if (getenv(v->name)) usf_say("%s is set already: the profile's value is not taken", v->name);
        else if (setenv(v->name, v->value, 1)) usf_warn("%s cannot be set: %s", v->name, strerror(errno));
    }
}

/* The parameter whose {NAME} is at p, or null. */
static const struct config_variable *parameter_at(const struct config_variables *v, const char *p)
{
    const char *end = *p == '{' ? strchr(p, '}') : 0;
    for (unsigned i = 0; end && i < v->nr; i++)
        if (strlen(v->at[i].name) == (size_t)(end - p - 1) && !memcmp(v->at[i].name, p + 1, (size_t)(end - p - 1))) return &v->at[i];
    return 0;
}

static char *fill_word(const struct config_variables *v, const char *word)
{
    char *text;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    if (!f) return 0;
    for (const char *p = word; *p;) {
        const struct config_variable *found = parameter_at(v, p);
        if (found) fputs(found->value, f);
        else fputc(*p, f);
        p += found ? strlen(found->name) + 2 : 1;
    }
    bool failed = ferror(f);
    if (fclose(f) == 0 && !failed) return text;
    free(text);
    return 0;
}

/* The program's words with the profile's parameters in the place of {NAME}, as `usf tune` has put
 * them in.  Any other text in braces stays. The words live as long as this process. */
static char **fill_words(const struct config_variables *v, char **argv)
{
    unsigned n = 0;
    while (argv[n]) n++;
    char **filled = calloc(n + 1, sizeof *filled);
    for (unsigned i = 0; filled && i < n; i++)
        if (!(filled[i] = fill_word(v, argv[i]))) filled = 0;
    if (filled) return filled;
    usf_warn("out of memory");
    _exit(125);
}

/* Contexts exist without a scheduler, too, so this is not among what is exported to scheduled
 * programs alone. */
static void set_contexts(const struct config *c)
{
    const struct config_value *v = config_value_of(c, "contexts");
    if (v->origin != ORIGIN_DEFAULT) setenv(USF_ENV_CONTEXTS, v->text, 1);
}

/* ---- running ---------------------------------------------------------------------------------- */
/* In the process that becomes the program: the programs of this run say a warning once
 * (src/runtime/warned.c), and know which of them is the first (late.c). */
static void set_tree(void)
{
    char text[64];
    snprintf(text, sizeof text, "%d.%lx", getpid(), os_now());
    setenv(USF_ENV_TREE, text, 1);
}

static int exec_program(void *arg)
{
    struct run *r = arg;
    set_tree();
    int code = program_exec(&r->program, r->argv);
    usf_warn("%s", r->program.why);
    return code;
}

static int run_unscheduled(struct run *r, const char *because)
{
    if (r->watch) usf_warn("%s: it runs unscheduled, and %s", because, r->watch->what);
    else usf_warn("%s: it runs unscheduled", because);
    preload_unset();
    /* The limit holds without a scheduler, too. */
    if (r->limited) sched_setaffinity(0, sizeof r->allowed, (cpu_set_t *)(void *)&r->allowed);
    return exec_program(r);
}

/* Everything that must be there for scheduling; false: r->why. */
static bool prepare(struct run *r)
{
    if (*r->why) return false;
    if (preload_find(&r->library, r->why, sizeof r->why)) return false;
    if (instance_open(r->config, &r->allowed, r->library.build_id, &r->instance, r->why, sizeof r->why)) return false;
    if (cpus_meet(&r->instance.cpus, &r->allowed)) return true;
    char may[128], has[128];
    os_cpulist_format(&r->allowed, may, sizeof may);
    os_cpulist_format(&r->instance.cpus, has, sizeof has);
    snprintf(r->why, sizeof r->why, "instance '%s' has the CPUs %s, and this program may use %s only",
             r->config->s.instance, has, may);
    return false;
}

/* AddressSanitizer insists on being the first library; we are, and it need not be. */
static void please_asan(const struct program *p)
{
    const char *old = getenv("ASAN_OPTIONS");
    if (!p->elf.needs_asan || (old && strstr(old, "verify_asan_link_order"))) return;
    char *all = xasprintf("%s%sverify_asan_link_order=0", old ? old : "", old && *old ? ":" : "");
    setenv("ASAN_OPTIONS", all, 1);
    usf_say("ASAN_OPTIONS=%s", all);
    free(all);
}

static void set_static_tls(const struct config *c)
{
    static const char name[] = "glibc.rtld.optional_static_tls";
    const char *old = getenv("GLIBC_TUNABLES");
    if (!c->s.static_tls || (old && strstr(old, name))) return;
    char *all = xasprintf("%s%s%s=%lu", old ? old : "", old && *old ? ":" : "", name, c->s.static_tls);
    setenv("GLIBC_TUNABLES", all, 1);
    usf_say("GLIBC_TUNABLES=%s", all);
    free(all);
}

/* An outer `usf run --stats` counts us, if we stay in its instance. */
static void leave_outer_run(const struct run *r)
{
    const char *outer = getenv(USF_ENV_INSTANCE);
    if (!outer || !*outer) outer = option_by_name("instance", -1)->def;
    if (strcmp(outer, r->config->s.instance)) unsetenv(USF_ENV_RUN);
}

/* The directory that a user has named.  An outer run has warned of its own. */
static void warn_of_cache(const struct run *r)
{
    const char *dir = r->config->s.cache_dir, *outer = getenv(USF_ENV_OWNER) ? getenv(USF_ENV_CACHE_DIR) : NULL;
    if (!*dir || (outer && !strcmp(outer, dir)) || config_value_of(r->config, "cache-dir")->origin == ORIGIN_DEFAULT) return;
    const char *why = gate_cache_flaw(dir);
    if (why)
        usf_warn("cache directory %s %s: what is learned about libraries is not kept", dir, why);
}

static void set_environment(struct run *r)
{
    warn_of_cache(r);
    leave_outer_run(r);             /* looks at the outer environment: before it is changed */
    preload_set(r->library.path);
    export_options(r->config);
    if (*r->instance.shm.h->policy_path) setenv(USF_ENV_ATTACH, "now", 1);   /* its object is loaded when a program starts */
    /* runs in it do not ask their user's file again */
    if (config_value_of(r->config, "share")->origin == ORIGIN_CLI && r->config->s.share.with <= USF_SHARE_USER)
        setenv(USF_ENV_SHARE, "user", 1);
    export_identity();
    if (r->config->s.keep_env) return;
    export_wait_policies();
    please_asan(&r->program);
    set_static_tls(r->config);
}

static int run_supervised(struct run *r, bool stats, bool watched)
{
    int status = supervise(exec_program, r);
    if (watched) r->watch->end(r->watch->arg);
    if (status < 0) {
        usf_warn("no child process %s (%s): %s", stats ? "for --stats" : "to watch", strerror(-status), watched ? r->watch->what : "no statistics");
        if (stats) unsetenv(USF_ENV_RUN);
        return exec_program(r);
    }
    if (stats) stats_end(&r->stats, r->argv[0], r->config->s.stats);
    end_as(status);
}

static int run_scheduled(struct run *r)
{
    instance_tell_differences(r->config, &r->instance);
    set_environment(r);
    usf_say("instance '%s' %s, preloading %s", r->config->s.instance, r->instance.shm.created ? "made" : "joined",
            r->library.path);
    bool stats = *r->config->s.stats && stats_begin(&r->stats, &r->instance);
    bool watched = r->watch && r->watch->begin(r->watch->arg, &r->instance.shm, r->argv);
    return stats || watched ? run_supervised(r, stats, watched) : exec_program(r);
}

int cmd_run(const struct cli_command *self, int argc, char **argv)
{
    static struct cli_args a;
    int code = cli_parse(self, &a, argc, argv);
    return code >= 0 ? code : run_program(self, &a.config, argv + a.rest, NULL);
}

int run_program(const struct cli_command *self, struct config *config, char **argv, const struct run_watch *watch)
{
    static struct run r;
    int code;
    r.config = config;
    r.argv = argv;
    r.watch = watch;
    if (!*r.argv) return cli_usage("no program given (usf %s [OPTION...] [--] PROGRAM [ARG...])", self->name);
    set_variables(config);
    set_contexts(config);
    if ((code = check_policy(&r)) >= 0 || (code = check_cpus(&r)) >= 0 || (code = choose_instance(&r)) >= 0) return code;
    if (config->parameters.nr) r.argv = fill_words(&config->parameters, argv);
    if ((code = program_find(*r.argv, &r.program)) != 0) {
        usf_warn("%s", r.program.why);
        return code;
    }
    program_inspect(&r.program);
    if (*r.program.why) {
        program_explain(&r.program, *r.argv, r.why, sizeof r.why);
        return run_unscheduled(&r, r.why);
    }
    if (prepare(&r)) return run_scheduled(&r);
    return run_unscheduled(&r, r.why);
}
