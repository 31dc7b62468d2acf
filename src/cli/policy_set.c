/* src/cli/policy_set.c - usf policy set, weight, priority: what the instance's monitor is asked to
 * change. SPDX-License-Identifier: Apache-2.0
 *
 * Of shared objects only the one that the instance was made with can be set: all its programs have
 * loaded it at their start, and one that runs cannot load another (it may be anywhere, in malloc or
 * in the dynamic linker). */
#include "text/json.h"
#include "cli/policy.h"
#include "inspect/view.h"
#include "monitor/monitor.h"
#include "sched/sched.h"
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ANSWER_NS 5000000000u

/* The instance, with its monitor running.  False: said. */
static bool open_used(const char *name, struct shm *m)
{
    struct shm_config c = {.name = name, .keep = true};
    if (shm_open_instance(&c, false, m)) {
        usf_warn("%s", m->why);
        return false;
    }
    if (monitor_is_alive(&m->h->namespace[m->namespace])) return true;
    int r = monitor_ensure(m->h, m->namespace, name, m->h->monitor_linger_ns);
    if (r >= 0) return true;
    if (r == -ENOEXEC) usf_warn("instance '%s': its policy %s cannot be loaded in this container, which so has no part in it", name,
                                m->h->policy_path);
    else usf_warn("the monitor of instance '%s' does not start: %s", name, strerror(-r));
    shm_close(m);
    return false;
}

static int ask(const struct shm *m, const struct sched_request *r)
{
    char why[200];
    if (!sched_ask(m, r, ANSWER_NS, why, sizeof why)) return CLI_OK;
    usf_warn("instance '%s': %s", m->name, why);
    return CLI_FAILED;
}

/* Print what has changed, for which programs, and for how long. */
static void tell_set(const struct shm *m, const char *now, const char *before, bool machine)
{
    uint32_t users = shm_nr_members(m->h, m->namespace);
    struct json j;
    if (!machine) {
        printf("instance '%s': policy %s%s%s, for the %u program%s in it and those that join, until another 'usf policy set' or until the\n"
               "instance ends (%g s after its last program)\n", m->name, now, strcmp(now, before) ? " instead of " : " as before",
               strcmp(now, before) ? before : "", users, users == 1 ? "" : "s", (double)m->h->monitor_linger_ns / 1e9);
        return;
    }
    json_start(&j, stdout);
    json_open(&j, NULL, '{');
    json_string(&j, "instance", m->name);
    json_string(&j, "policy", now);
    json_string(&j, "before", before);
    json_uint(&j, "programs", users);
    json_fraction(&j, "linger_seconds", (double)m->h->monitor_linger_ns / 1e9);
    json_close(&j, '}');
    json_end(&j);
}

/* ---- set --------------------------------------------------------------------------------------- */

static bool is_the_object(const struct shm *m, const char *word)
{
    char path[PATH_MAX], why[320];
    bool same = realpath(word, path) && !strcmp(path, m->h->policy_path);
    if (same && policy_load_same(path, &m->h->policy_hash, why, sizeof why)) return true;
    if (same) usf_warn("%s", why);
    else usf_warn("instance '%s': its programs cannot load another object while they run; make an instance with it (usf run --instance NAME "
                  "--policy FILE ...); this one was made with %s", m->name, m->h->policy_path[0] ? m->h->policy_path : "none");
    return false;
}

/* The instance's object by its name, as `usf policy show` has it.  Null: that is another's. */
static const struct usf_policy_ops *object_by_name(const struct shm *m, const char *word)
{
    char why[320];
    if (!m->h->policy_path[0] || policy_find(word)) return NULL;
    const struct usf_policy_ops *ops = policy_load_same(m->h->policy_path, &m->h->policy_hash, why, sizeof why);
    return ops && !strcmp(ops->name, word) ? ops : NULL;
}

int policy_set(int argc, char **argv, bool machine)
{
    static struct policy_words w;
    struct shm m;
    char before[sizeof m.h->policy] = "";
    int code = policy_words(&w, argc, argv);
    if (code >= 0) return code;
    if (w.nr != 1) return cli_usage("'usf policy set' needs a built-in policy's name, or the shared object that the instance was created with");
    if (!open_used(w.args.config.s.instance, &m)) return CLI_FAILED;
    const char *word = w.word[0];
    memcpy(before, m.h->policy, sizeof before - 1);
    const struct usf_policy_ops *ops = object_by_name(&m, word);
    bool object = strchr(word, '/') != NULL;
    if (object && !is_the_object(&m, word)) {
        shm_close(&m);
        return CLI_FAILED;
    }
    if (!ops) ops = policy_by_word(word, &code);
    if (ops) code = ask(&m, &(struct sched_request){.kind = USF_ASK_POLICY, .policy = ops->name});
    if (ops && !code) tell_set(&m, ops->name, before, machine || w.machine);
    shm_close(&m);
    return code;
}

/* ---- weight, priority -------------------------------------------------------------------------- */

static bool has_process(const char *name, int32_t pid)
{
    struct shm m;
    struct view v;
    bool found = false;
    if (shm_snapshot(NULL, name, &m)) return false;
    view_bind(&v, &m);
    for (uint32_t i = 0; i < v.nr_procs && !found; i++)
        found = view_proc_lives(&v.procs[i]) && view_knows(&v, &v.procs[i]) && v.procs[i].pid == pid;
    shm_close(&m);
    return found;
}

/* Which instance is it in?  False: none. */
static bool find_instance(int32_t pid, char out[static USF_NAME_MAX])
{
    char **names;
    int n = view_instances(&names);
    bool found = false;
    for (int i = 0; i < n && !found; i++) {
        found = has_process(names[i], pid);
        if (found) snprintf(out, USF_NAME_MAX, "%s", names[i]);
    }
    if (n >= 0) view_free(names, n);
    return found;
}

static bool number(const char *word, long min, long max, long *out)
{
    char *end;
    errno = 0;
    *out = strtol(word, &end, 10);
    return *word && !*end && !errno && *out >= min && *out <= max;
}

static int change(int argc, char **argv, uint32_t kind, long min, long max)
{
    static struct policy_words w;
    struct shm m;
    char name[USF_NAME_MAX], shown[64];
    long pid, value;
    int code = policy_words(&w, argc, argv);
    if (code >= 0) return code;
    if (w.nr != 2) return cli_usage("usf policy %s takes a process and a number: PID N", argv[0]);
    if (!number(w.word[0], 1, INT32_MAX, &pid)) return cli_usage("'%s' is no process number", text_clean(w.word[0], shown, sizeof shown));
    if (!number(w.word[1], min, max, &value))
        return cli_usage("'%s' is not a whole number from %ld to %ld", text_clean(w.word[1], shown, sizeof shown), min, max);
    snprintf(name, sizeof name, "%s", w.args.config.s.instance);
    if (!w.named && !find_instance((int32_t)pid, name)) {
        usf_warn("process %ld takes part in no instance ('usf ps' shows who does)", pid);
        return CLI_FAILED;
    }
    if (!open_used(name, &m)) return CLI_FAILED;
    code = ask(&m, &(struct sched_request){.kind = kind, .pid = (int32_t)pid, .value = value});
    shm_close(&m);
    return code;
}

int policy_weight(int argc, char **argv, bool machine)
{
    (void)machine;
    return change(argc, argv, USF_ASK_WEIGHT, 1, SCHED_WEIGHT_MAX);
}

int policy_priority(int argc, char **argv, bool machine)
{
    (void)machine;
    return change(argc, argv, USF_ASK_PRIORITY, -SCHED_PRIORITY_MAX, SCHED_PRIORITY_MAX);
}
