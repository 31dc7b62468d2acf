/* src/tasks/instance.c - take part in an instance without `usf run`.
 * SPDX-License-Identifier: Apache-2.0
 *
 * `usf run` decides what a program needs to take part: the library, the instance's name, the cache.
 * So a shell that it starts tells its environment, and stays, and with it the instance, until this
 * process has joined.  The library is loaded then.  It stands by as in a child of a program under
 * `usf run`, and joins when it is asked to (src/runtime/late.c).  What was added to the environment
 * goes again: children take part by `usf run`, or by a runtime of their own. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tasks/tasks.h"
#include "usf/usf.h"

#define MAX_VARS 64

struct vars { char *name[MAX_VARS]; unsigned n; };

/* ---- the command `usf` ---------------------------------------------------------------------------- */

static bool is_command(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

/* Beside this library in a build tree, in bin/ of its prefix when installed; else by PATH. */
static void find_command(char *path, size_t cap)
{
    static const char *const places[] = {"", "../bin/", "../../bin/", "../../../bin/"};
    Dl_info info;
    const char *slash = dladdr((void *)(uintptr_t)find_command, &info) ? strrchr(info.dli_fname, '/') : 0;
    for (size_t i = 0; slash && i < sizeof places / sizeof *places; i++) {
        int n = snprintf(path, cap, "%.*s/%susf", (int)(slash - info.dli_fname), info.dli_fname, places[i]);
        if (n > 0 && (size_t)n < cap && is_command(path)) return;
    }
    snprintf(path, cap, "usf");
}

/* ---- the shell that tells ------------------------------------------------------------------------- */

struct helper { pid_t pid; int in, out; };

static bool start_helper(struct helper *h, const struct tk_config *c)
{
    char command[PATH_MAX];
    int in[2], out[2];
    extern char **environ;
    find_command(command, sizeof command);
    /* "read" fails when our end is closed, also by our death. */
    char *argv[16] = {command, "run", "--share", (char *)c->isolation};
    unsigned n = 4;
    if (*c->instance) argv[n++] = "-i", argv[n++] = (char *)c->instance;
    argv[n++] = "--", argv[n++] = "/bin/sh", argv[n++] = "-c", argv[n++] = "cat /proc/self/environ && printf '\\0' && exec >&- && read end";
    if (pipe2(in, O_CLOEXEC)) return false;
    if (pipe2(out, O_CLOEXEC)) {
        close(in[0]), close(in[1]);
        return false;
    }
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, in[0], 0);
    posix_spawn_file_actions_adddup2(&files, out[1], 1);
    int r = posix_spawnp(&h->pid, command, &files, 0, argv, environ);
    posix_spawn_file_actions_destroy(&files);
    close(in[0]), close(out[1]);
    h->in = in[1];
    h->out = out[0];
    if (!r) return true;
    close(h->in), close(h->out);
    errno = r;
    return false;
}

/* All that it says, which ends with an empty text; null: it has failed, and said why. */
static char *read_all(int fd)
{
    size_t len = 0, room = 1u << 16;
    char *text = malloc(room);
    for (ssize_t n; text && (n = read(fd, text + len, room - len - 1)) != 0;) {
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) break;
        if ((len += (size_t)n) + 1 < room) continue;
        char *more = realloc(text, room *= 2);
        if (!more) break;
        text = more;
    }
    if (text && len >= 2 && !text[len - 1] && !text[len - 2]) return text;
    free(text);
    return 0;
}

static void end_helper(struct helper *h)
{
    close(h->in), close(h->out);
    while (waitpid(h->pid, 0, 0) < 0 && errno == EINTR) continue;
}

/* ---- joining -------------------------------------------------------------------------------------- */

/* USF_* of that environment, unless they are set here: then they are what the command has gone by.
 * The library's path. */
static const char *take_vars(char *text, struct vars *added)
{
    const char *library = 0;
    for (char *s = text; *s; s += strlen(s) + 1) {
        if (!strncmp(s, "LD_PRELOAD=", 11)) library = s + 11;
        char *value = strchr(s, '=');
        if (strncmp(s, "USF_", 4) || !value || added->n == MAX_VARS) continue;
        char *name = strndup(s, (size_t)(value - s));
        if (name && !getenv(name) && setenv(name, value + 1, 1) == 0) added->name[added->n++] = name;
        else free(name);
    }
    return library;
}

static void drop_vars(struct vars *added)
{
    while (added->n) {
        unsetenv(added->name[--added->n]);
        free(added->name[added->n]);
    }
}

static void load(const char *library)
{
    char path[PATH_MAX];
    size_t n = strcspn(library, ":");       /* `usf run` puts its own first */
    if (n >= sizeof path) return;
    memcpy(path, library, n);
    path[n] = 0;
    void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    int (*ask)(int, ...) = object ? (int (*)(int, ...))dlsym(object, "prctl") : 0;
    if (!object) usf_warn("nosv: %s", dlerror());
    else if (ask) ask(USF_PRCTL, USF_PRCTL_ASK, 0ul, 0ul, 0ul);
}

void tk_join_instance(const struct tk_config *c)
{
    struct vars added = {.n = 0};
    struct helper h;
    if (!strcmp(c->isolation, "process") || usf_task_is_scheduled() == 0) return;
    if (!start_helper(&h, c)) {
        usf_warn("nosv: the command usf cannot be started (%s): tasks share no cores with other processes", strerror(errno));
        return;
    }
    char *text = read_all(h.out);
    const char *library = text ? take_vars(text, &added) : 0;
    if (library) load(library);
    end_helper(&h);
    drop_vars(&added);
    free(text);
    if (usf_task_is_scheduled() != 0)
        usf_warn("nosv: the process could not join an instance: tasks share no cores with other processes (use 'usf run', or call nosv_init "
                 "before there are other threads)");
}
