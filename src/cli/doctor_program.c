/* src/cli/doctor_program.c - can this program be scheduled, and what of it is patched?
 * SPDX-License-Identifier: Apache-2.0
 *
 * The libraries are those that the program's own dynamic loader names with --list, which maps them
 * and runs none of their code.  What the program loads later (plug-ins, Python modules) is not
 * among them. */
#include "cli/cli.h"
#include "cli/doctor.h"
#include "cli/program.h"
#include "gate/gate.h"
#include "gate/scan.h"
#include "teams/teams.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_FILE (1ull << 31)

struct coverage {
    unsigned n[GATE_SITE_LEFT + 1];
    unsigned returns;           /* ... rt_sigreturn, which need not be intercepted */
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

/* OpenMP runtimes, whose regions are to follow the program's share of the cores. */
static void check_teams(const char *path, const void *image, size_t size)
{
    const char *why;
    bool hidden;
    int n = teams_scan_image(image, size, &why, &hidden);
    if (n > 0) doctor_find(FINDING_GOOD, "openmp", "%s: its teams can follow a share (%d functions; see --malleable)", path, n);
    else if (n < 0) doctor_find(FINDING_WARN, "openmp", "%s: its teams do not follow shares: %s", path, why);
    else if (hidden) doctor_find(FINDING_NOTE, "openmp",
                                 "%s has an OpenMP runtime linked into it, which is not seen: its teams do not follow shares", path);
}

static void check_file(const char *path, struct coverage *total)
{
    size_t size;
    void *image = read_whole(path, &size);
    struct coverage c = {0};
    int r = image ? gate_scan_image(image, size, count_site, &c) : -errno;
    if (r >= 0) check_teams(path, image, size);
    if (r >= 0) doctor_float_file(path, image, size);
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

static void check_one(const char *path, void *total)
{
    check_libc(path);
    check_file(path, total);
}

static void report_coverage(const struct coverage *c)
{
    unsigned all = c->n[0] + c->n[1] + c->n[2] + c->n[3];
    doctor_find(c->n[GATE_SITE_LEFT] ? FINDING_WARN : FINDING_GOOD, "coverage",
                "%u system call sites: %u patched, %u through their callers, %u starts of threads and processes, %u left "
                "(and %u returns from signal handlers)", all, c->n[GATE_SITE_PATCHABLE], c->n[GATE_SITE_CANCEL],
                c->n[GATE_SITE_CLONE], c->n[GATE_SITE_LEFT], c->returns);
    doctor_find(FINDING_NOTE, "loaded later",
                "what it opens with dlopen (plug-ins, Python modules) is not looked at here: it is patched when it is loaded, "
                "and 'usf ps' and 'usf run --stats' count the sites that were left");
}

/* What the kernel will run, if it is not an ELF file that can be read.  True: all is said. */
static bool not_elf(const struct program *p)
{
    int e = program_executable(p->binary);
    size_t n = strlen(p->binary);
    bool script = strcmp(p->binary, p->path) != 0;
    if (e) {
        doctor_find(FINDING_BAD, "program", "%s is a script, and its interpreter %s %s: it does not start", p->path, p->binary,
                    e == ENOENT || e == ENOTDIR ? "is not there" : "cannot be executed");
        doctor_find(FINDING_NOTE, "advice", "%s", n && p->binary[n - 1] == '\r'
                    ? "its lines end as those of Windows do, and the \\r counts as part of the name: dos2unix, or sed -i 's/\\r$//'"
                    : "install the interpreter, or name another in the first line");
        doctor_unscheduled();
        return true;
    }
    if (p->inspected && p->elf.is_elf) return false;
    if (p->inspected && !script)
        doctor_find(FINDING_GOOD, "program", "%s has no '#!' line and is no ELF file: /bin/sh runs it as a script, scheduled", p->path);
    else
        doctor_find(FINDING_WARN, "program", "%s may be executed but not read: whether it is scheduled is seen when it runs", p->binary);
    return true;
}

static bool loader_is_missing(const struct program *p)
{
    if ((p->obstacle && p->obstacle != OBSTACLE_LIBC) || !p->elf.has_interp || program_executable(p->elf.interp) == 0) return false;
    doctor_find(FINDING_BAD, "program", "%s needs the loader %s, which is not there: it does not start", p->binary, p->elf.interp);
    doctor_find(FINDING_NOTE, "advice", "install the C library that it was built with, or get it built for this system");
    doctor_unscheduled();
    return true;
}

void doctor_program(const char *name)
{
    static struct program p;
    static struct coverage total;
    char text[600];
    doctor_section("program");
    int code = program_find(name, &p);
    if (code) {
        doctor_missing(name, code, p.why);
        return;
    }
    program_inspect(&p);
    if (loader_is_missing(&p)) return;
    if (*p.why) {
        program_explain(&p, name, text, sizeof text);
        doctor_find(FINDING_NOTE, "program", "%s: it runs unscheduled", text);
        if (doctor_advice(&p)) doctor_find(FINDING_NOTE, "advice", "%s", doctor_advice(&p));
        doctor_unscheduled();
        return;
    }
    if (not_elf(&p)) return;
    check_one(p.binary, &total);
    if (p.elf.has_interp && !doctor_libraries(&p, check_one, &total)) return;
    doctor_find(FINDING_GOOD, "program", "%s is scheduled", p.binary);
    report_coverage(&total);
}
