/* src/cli/doctor_libraries.c - what the program's own loader would load.
 * SPDX-License-Identifier: Apache-2.0
 *
 * It is asked with --list and with our library preloaded, as `usf run` does it: what it has to say
 * of either is found here before the program fails to start. */
#include "cli/cli.h"
#include "cli/doctor.h"
#include "cli/preload.h"
#include "cli/program.h"
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct list {
    const char *library; /* ours, or "" */
    void (*look)(const char *path, void *arg);
    void *arg;
    bool told; /* that the program does not start */
};

/* "PROG: LIB: version `GLIBC_2.38' not found (required by FILE)" */
static bool version_line(char *line, struct list *l)
{
    char *version = strstr(line, "version `"), *end = version ? strchr(version, '\'') : NULL;
    char *by = end ? strstr(end, "(required by ") : NULL;
    if (!by || strncmp(end, "' not found", 11)) return false;
    version += 9;
    by += 13;
    *end = 0;
    by[strcspn(by, ")")] = 0;
    if (l->told) return true; /* the first says it */
    l->told = true;
    bool ours = *l->library && !strcmp(by, l->library), glibc = !strncmp(version, "GLIBC_", 6);
    if (ours)
        doctor_find(
            FINDING_BAD, "glibc",
            "the program brings a C library that is too old for usf (%s needs %s): it does not start under 'usf run'", by,
            version);
    else
        doctor_find(FINDING_BAD, "libraries", "%s needs %s, which is not in %s here: it does not start", by, version,
                    glibc ? "the glibc that is" : "the library that is");
    doctor_find(FINDING_NOTE, "advice", "%s",
                ours    ? "build usf on a machine with that C library, and use that build"
                : glibc ? "it was built for a newer system: build it here, get a build for this system, or run it with a "
                          "newer glibc in a container"
                        : "install a newer version of that library");
    doctor_unscheduled();
    return true;
}

static void missing_library(const char *name, struct list *l)
{
    doctor_find(FINDING_BAD, "libraries", "%s: not found: the program does not start", name);
    if (!l->told)
        doctor_find(FINDING_NOTE, "advice", "install the package that has it, or name its directory in LD_LIBRARY_PATH");
    l->told = true;
    doctor_unscheduled();
}

/* "PROG: error while loading shared libraries: NAME: cannot ...", "ERROR: ld.so: object 'OURS' from
 * LD_PRELOAD cannot ...": the last word of the loader.  True: it was one. */
static bool error_line(char *line, struct list *l)
{
    static const char error[] = "error while loading shared libraries: ", preload[] = "cannot be preloaded";
    char *at = strstr(line, error), *end = at ? strstr(at + sizeof error - 1, ": cannot open") : NULL;
    line[strcspn(line, "\n")] = 0;
    if (end) {
        *end = 0;
        missing_library(at + sizeof error - 1, l);
        return true;
    }
    if (!at && !(*l->library && strstr(line, l->library) && strstr(line, preload))) return false;
    doctor_find(FINDING_BAD, "libraries", "%s", line);
    l->told = true;
    doctor_unscheduled();
    return true;
}

/* A line of `ld.so --list`: "name => /path (0x...)", "/path (0x...)", or "name => not found". */
static void list_line(char *line, struct list *l)
{
    if (version_line(line, l) || error_line(line, l)) return;
    char *arrow = strstr(line, " => "), *path = arrow ? arrow + 4 : line + strspn(line, " \t");
    if (arrow && !strncmp(path, "not found", 9)) {
        *arrow = 0;
        missing_library(line + strspn(line, " \t"), l);
        return;
    }
    char *end = strstr(path, " (0x");
    if (*path != '/' || !end) return; /* the vdso */
    *end = 0;
    if (strcmp(path, l->library)) l->look(path, l->arg);
}

/* Other preloads would show up in the list. */
static char **environment(const char *library)
{
    extern char **environ;
    size_t n = 0, k = 0;
    while (environ[n]) n++;
    char **e = calloc(n + 2, sizeof *e);
    for (size_t i = 0; e && i < n; i++)
        if (strncmp(environ[i], "LD_", 3) || !strncmp(environ[i], "LD_LIBRARY_PATH=", 16)) e[k++] = environ[i];
    if (e && *library) e[k] = xasprintf("LD_PRELOAD=%s", library);
    return e;
}

bool doctor_libraries(const struct program *p, void (*look)(const char *path, void *arg), void *arg)
{
    static struct preload lib;
    char *argv[] = {(char *)p->elf.interp, (char *)"--list", (char *)p->binary, NULL};
    int pipes[2], status;
    char line[4600], why[512];
    pid_t child;
    posix_spawn_file_actions_t fa;
    struct list l = {.library = preload_find(&lib, why, sizeof why) ? "" : lib.path, .look = look, .arg = arg};
    char **env = environment(l.library);
    if (!env || pipe2(pipes, O_CLOEXEC)) return true;
    posix_spawn_file_actions_init(&fa);
    posix_spawn_file_actions_adddup2(&fa, pipes[1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&fa, pipes[1], STDERR_FILENO);
    int r = posix_spawn(&child, p->elf.interp, &fa, NULL, argv, env);
    posix_spawn_file_actions_destroy(&fa);
    close(pipes[1]);
    free(env);
    FILE *f = fdopen(pipes[0], "r");
    if (r) doctor_find(FINDING_BAD, "libraries", "the loader %s does not start: %s", p->elf.interp, strerror(r));
    while (!r && f && fgets(line, sizeof line, f)) list_line(line, &l);
    if (f) fclose(f);
    if (!r && waitpid(child, &status, 0) == child && status && !l.told)
        doctor_find(FINDING_WARN, "libraries", "%s --list failed: the list may be short", p->elf.interp);
    return !l.told;
}
