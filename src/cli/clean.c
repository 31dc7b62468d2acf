/* src/cli/clean.c - usf clean: remove instances that no process uses.
 * SPDX-License-Identifier: Apache-2.0
 *
 * An instance without living members goes as it is, whatever those who died left in its records,
 * the lock included: no process will ever look at them again. */
#include "cli/cli.h"
#include "inspect/view.h"
#include "monitor/monitor.h"
#include "text/json.h"
#include "trace/trace.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* What has become of an instance: a line, or an object of the array in `machine`. */
static struct json *machine;

__attribute__((format(printf, 2, 3)))
static void tell(const char *name, const char *fmt, ...)
{
    char text[SHM_PATH_MAX + 480];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (!machine) {
        printf("instance '%s': %s\n", name, text);
        return;
    }
    json_open(machine, NULL, '{');
    json_string(machine, "instance", name);
    json_string(machine, "result", text);
    json_close(machine, '}');
}

/* It takes the dead out, and the lock from one of them: what is in use can be helped. */
static bool start_monitor(struct shm *m, const char *name)
{
    if (monitor_is_alive(&m->h->namespace[m->namespace])) return false;
    int r = monitor_ensure(m->h, m->namespace, name, m->h->monitor_linger_ns);
    if (r) usf_warn("the monitor of instance '%s' does not start: %s", name, strerror(-r));
    return !r;
}

/* The file goes, its programs go on among themselves. */
static int unlink_used(const char *name)
{
    char path[SHM_PATH_MAX];
    int r = shm_path(NULL, name, geteuid(), path, sizeof path);
    if (r > 0 && unlink(path) == 0) {
        tell(name, "%s removed while in use; its programs go on, new ones create another", path);
        return CLI_OK;
    }
    uint32_t owner = view_owner_of(name);
    if (owner != geteuid()) usf_warn("instance '%s': user %u has made it, and can remove it, or root", name, owner);
    else usf_warn("instance '%s': %s", name, strerror(r > 0 ? errno : -r));
    return CLI_FAILED;
}

/* No process uses it, and so it ended; but only the user that has made it can remove the file
 * (/dev/shm is sticky). */
static int tell_removed(const char *name)
{
    uint32_t owner = view_owner_of(name);
    if (owner == geteuid()) tell(name, "removed");
    else tell(name, "ended; its file belongs to user %u, and will be used again", owner);
    return CLI_OK;
}

static int clean_damaged(const char *name, const char *problem, bool force)
{
    char why[480];
    if (!force) {
        bool ours = view_owner_of(name) == geteuid() || !geteuid();
        usf_warn("instance '%s': %s%s", name, problem, !ours || strstr(problem, "--force") ? "" : "; --force removes it");
        return CLI_FAILED;
    }
    int r = shm_remove_unusable(NULL, name, why, sizeof why);
    if (r == 0) {
        tell(name, "%s", why);
        return CLI_OK;
    }
    usf_warn("instance '%s': %s", name, why);
    return CLI_FAILED;
}

/* The table of permits (src/tcm/table.c), if no process has it: each has a read lock of its second
 * byte. */
#define PERMITS_SUFFIX ".tcm"
static void clean_permits(const char *name)
{
    char path[128];
    struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    snprintf(path, sizeof path, SHM_DIR "/.usf-%u-%s" PERMITS_SUFFIX, geteuid(), name);
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) return;
    if (fcntl(fd, F_OFD_SETLK, &all) == 0) unlink(path);
    close(fd);
}

static int clean_one(const char *name, bool force, bool quiet_if_used)
{
    clean_permits(name);
    struct shm m;
    struct shm_config c = {.name = name};
    int r = shm_open_instance(&c, false, &m);
    if (r) trace_clean(NULL, NULL, name);
    if (r == -ENOENT) {
        if (quiet_if_used) return CLI_OK;       /* ended since it was listed */
        usf_warn("%s", m.why);
        return CLI_FAILED;
    }
    if (r) return clean_damaged(name, m.why, force);
    trace_clean(m.h, NULL, name);       /* a recorder that was killed left its file */
    if (shm_retire_if_empty(&m, NULL)) {
        shm_close(&m);
        return tell_removed(name);
    }
    uint32_t users = shm_nr_members(m.h, m.namespace);
    bool helped = !force && start_monitor(&m, name);
    shm_close(&m);
    if (force) return unlink_used(name);
    if (quiet_if_used || helped) {
        tell(name, "in use by %u process%s, kept%s", users, users == 1 ? "" : "es",
             helped ? "; it had no monitor: started one, which takes out the dead" : "");
        return CLI_OK;
    }
    usf_warn("instance '%s' is in use by %u process%s ('usf ps -i %s'); --force removes it nevertheless", name, users,
             users == 1 ? "" : "es", name);
    return CLI_FAILED;
}

/* The instance whose file with this suffix it is.  False: it is another file. */
static bool instance_of(const char *file, const char *suffix, char name[USF_NAME_MAX])
{
    char prefix[32];
    size_t before = (size_t)snprintf(prefix, sizeof prefix, ".usf-%u-", geteuid()), n = strlen(file), after = strlen(suffix);
    if (n <= before + after || n - before - after >= USF_NAME_MAX) return false;
    if (strncmp(file, prefix, before) || strcmp(file + n - after, suffix)) return false;
    snprintf(name, USF_NAME_MAX, "%.*s", (int)(n - before - after), file + before);
    return true;
}

/* Rings of recorders that were killed, and tables of permits, where nothing else of their instance
 * is left. */
static bool clean_beside(const char *file, void *arg)
{
    char name[USF_NAME_MAX];
    (void)arg;
    if (instance_of(file, TRACE_SUFFIX, name)) trace_clean(NULL, NULL, name);
    if (instance_of(file, PERMITS_SUFFIX, name)) clean_permits(name);
    return true;
}

static int clean_all(bool force)
{
    char **names;
    int n = view_instances(&names), code = CLI_OK;
    if (n < 0) {
        usf_warn("the instances cannot be listed: %s", strerror(-n));
        return CLI_FAILED;
    }
    for (int i = 0; i < n; i++)
        if (view_owner_of(names[i]) == geteuid() && clean_one(names[i], force, true)) code = CLI_FAILED;
    if (!n && !machine) puts("no instances");
    view_free(names, n);
    os_list_dir(SHM_DIR, clean_beside, NULL);
    return code;
}

/* Which warnings the programs of a run have told already (src/runtime/warned.c): they may be told
 * again. */
static void forget_warned(void)
{
    char path[64];
    snprintf(path, sizeof path, SHM_DIR "/.usf-%u-said", geteuid());
    unlink(path);
}

int cmd_clean(const struct cli_command *self, int argc, char **argv)
{
    static struct cli_args a;
    int code = cli_parse(self, &a, argc, argv);
    if (code >= 0 || (code = cli_no_more(&a, argc, argv)) >= 0) return code;
    bool force = cli_flag(&a, "force") != NULL, all = cli_flag(&a, "all") != NULL;
    bool named = config_value_of(&a.config, "instance")->origin == ORIGIN_CLI;
    if (all && named) return cli_usage("--all and --instance exclude each other");
    if (all) forget_warned();
    struct json j;
    if (cli_flag(&a, "json")) {
        json_start(&j, stdout);
        json_open(&j, NULL, '[');
        machine = &j;
    }
    code = all ? clean_all(force) : clean_one(a.config.s.instance, force, false);
    if (machine) {
        json_close(&j, ']');
        json_end(&j);
    }
    return code;
}
