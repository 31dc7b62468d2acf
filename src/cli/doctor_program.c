/* src/cli/doctor_program.c - can this program be scheduled, and what of it is patched?  SPDX-License-Identifier: Apache-2.0
 *
 * The libraries are those that the program's own dynamic loader names with --list, which maps them and
 * runs none of their code.  What the program loads later (plug-ins, Python modules) is not among them. */
#include "cli/cli.h"
#include "cli/doctor.h"
#include "cli/program.h"
#include "gate/gate.h"
#include "gate/scan.h"
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_FILE (1ull << 31)

struct coverage {
    unsigned n[GATE_SITE_LEFT + 1];
    unsigned returns;           /* ... rt_sigreturn, which nobody wants to intercept */
    const char *why;            /* the first that was left for another reason */
};

static void count_site(const struct gate_site *s, void *arg)
{
    struct coverage *c = arg;
    if (s->cls > GATE_SITE_LEFT) return;
    if (s->cls == GATE_SITE_LEFT && s->why == gate_why_text[GATE_WHY_SIGRETURN]) {
        c->returns++;
        return;
    }
    c->n[s->cls]++;
    if (s->cls == GATE_SITE_LEFT && !c->why) c->why = s->why;
}

/* The file's bytes, in memory of our own: a mapped file that shrinks would be a SIGBUS. */
static void *read_whole(const char *path, size_t *size)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return NULL;
    void *p = NULL;
    size_t n = 0;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && (uint64_t)st.st_size < MAX_FILE && (p = malloc((size_t)st.st_size + 1))) {
        ssize_t r;
        while (n < (size_t)st.st_size && (r = pread(fd, (char *)p + n, (size_t)st.st_size - n, (off_t)n)) > 0) n += (size_t)r;
    }
    close(fd);
    *size = n;
    return p;
}

static void check_file(const char *path, struct coverage *total)
{
    size_t size;
    void *image = read_whole(path, &size);
    struct coverage c = {0};
    int r = image ? gate_scan_image(image, size, count_site, &c) : -errno;
    free(image);
    if (r < 0) {
        doctor_find(FINDING_WARN, "sites", "%s: %s", path, strerror(-r));
        return;
    }
    for (unsigned i = 0; i <= GATE_SITE_LEFT; i++) total->n[i] += c.n[i];
    total->returns += c.returns;
    unsigned all = c.n[0] + c.n[1] + c.n[2] + c.n[3], left = c.n[GATE_SITE_LEFT];
    if (left) doctor_find(FINDING_WARN, "sites", "%s: %u of %u are left alone (%s)", path, left, all, c.why ? c.why : "no reason given");
    else if (all) doctor_find(FINDING_GOOD, "sites", "%s: %u, all intercepted", path, all);
}

/* Does it carry glibc's version text?  ("GNU C Library ... version 2.36.") */
static void check_libc(const char *path)
{
    static const char mark[] = "stable release version ";
    const char *base = strrchr(path, '/');
    size_t size;
    if (strncmp(base ? base + 1 : path, "libc.so.6", 9) && strncmp(base ? base + 1 : path, "libc-2.", 7)) return;
    char *image = read_whole(path, &size);
    char *at = image ? memmem(image, size, mark, sizeof mark - 1) : NULL;
    int major = 0, minor = 0;
    if (at && sscanf(at + sizeof mark - 1, "%d.%d", &major, &minor) == 2) {
        bool tried = major == 2 && minor >= 31 && minor <= 43;
        doctor_find(tried ? FINDING_GOOD : FINDING_WARN, "glibc", "%s: %d.%d%s", path, major, minor, tried ? "" : ", never tried");
    } else {
        doctor_find(FINDING_WARN, "glibc", "%s: its version is not to be found", path);
    }
    free(image);
}

static void check_one(const char *path, struct coverage *total)
{
    check_libc(path);
    check_file(path, total);
}

/* A line of `ld.so --list`: "name => /path (0x...)", "/path (0x...)", or "name => not found". */
static void list_line(char *line, struct coverage *total)
{
    char *arrow = strstr(line, " => "), *path = arrow ? arrow + 4 : line + strspn(line, " \t");
    if (arrow && !strncmp(path, "not found", 9)) {
        *arrow = 0;
        doctor_find(FINDING_BAD, "libraries", "%s: not found: the program will not start", line + strspn(line, " \t"));
        return;
    }
    char *end = strstr(path, " (0x");
    if (*path != '/' || !end) return;       /* the vdso */
    *end = 0;
    check_one(path, total);
}

/* LD_PRELOAD and its like would show up in the list. */
static char **plain_environment(void)
{
    extern char **environ;
    size_t n = 0, k = 0;
    while (environ[n]) n++;
    char **e = calloc(n + 1, sizeof *e);
    for (size_t i = 0; e && i < n; i++)
        if (strncmp(environ[i], "LD_", 3) || !strncmp(environ[i], "LD_LIBRARY_PATH=", 16)) e[k++] = environ[i];
    return e;
}

static void check_libraries(const struct program *p, struct coverage *total)
{
    char *argv[] = {(char *)p->elf.interp, (char *)"--list", (char *)p->binary, NULL};
    int pipes[2], status;
    char line[4600];
    pid_t child;
    posix_spawn_file_actions_t fa;
    char **env = plain_environment();
    if (!env || pipe2(pipes, O_CLOEXEC)) return;
    posix_spawn_file_actions_init(&fa);
    posix_spawn_file_actions_adddup2(&fa, pipes[1], STDOUT_FILENO);
    int r = posix_spawn(&child, p->elf.interp, &fa, NULL, argv, env);
    posix_spawn_file_actions_destroy(&fa);
    close(pipes[1]);
    free(env);
    FILE *f = fdopen(pipes[0], "r");
    if (r) doctor_find(FINDING_BAD, "libraries", "the loader %s does not start: %s", p->elf.interp, strerror(r));
    while (!r && f && fgets(line, sizeof line, f)) list_line(line, total);
    if (f) fclose(f);
    if (!r && waitpid(child, &status, 0) == child && status)
        doctor_find(FINDING_WARN, "libraries", "%s --list failed: the list may be short", p->elf.interp);
}

static void report_coverage(const struct coverage *c)
{
    unsigned all = c->n[0] + c->n[1] + c->n[2] + c->n[3];
    doctor_find(c->n[GATE_SITE_LEFT] ? FINDING_WARN : FINDING_GOOD, "coverage",
                "%u system call sites: %u patched, %u through their callers, %u starts of threads and processes, %u left "
                "(and %u returns from signal handlers)", all, c->n[GATE_SITE_PATCHABLE], c->n[GATE_SITE_CANCEL],
                c->n[GATE_SITE_CLONE], c->n[GATE_SITE_LEFT], c->returns);
    doctor_find(FINDING_NOTE, "loaded later", "what it opens with dlopen (plug-ins, Python modules) is not looked at here: it is patched when "
                "it is loaded, and 'usf ps' and 'usf run --stats' count the sites that were left");
}

void doctor_program(const char *name)
{
    static struct program p;
    static struct coverage total;
    char text[600];
    doctor_section("program");
    if (program_find(name, &p)) {
        doctor_find(FINDING_BAD, "program", "%s", p.why);
        return;
    }
    program_inspect(&p);
    if (*p.why) {
        program_explain(&p, name, text, sizeof text);
        doctor_find(FINDING_NOTE, "program", "%s: it runs unscheduled", text);
        return;
    }
    if (!p.inspected || !p.elf.is_elf) {
        doctor_find(FINDING_WARN, "program", "%s cannot be looked at: %s", p.binary, p.inspected ? "no ELF file" : "not readable");
        return;
    }
    doctor_find(FINDING_GOOD, "program", "%s is scheduled", p.binary);
    check_one(p.binary, &total);
    if (p.elf.has_interp) check_libraries(&p, &total);
    report_coverage(&total);
}
