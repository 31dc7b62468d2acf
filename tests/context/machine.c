/* tests/context/machine.c - see machine.h.  SPDX-License-Identifier: Apache-2.0 */
#include "machine.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <ftw.h>
#include <glob.h>
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>
#include <unistd.h>

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

extern char **environ;

long machine_read(const char *path, char *buf, size_t size)
{
    int fd = open(path, O_RDONLY);
    if (fd < 0) return -1;
    ssize_t n, all = 0;
    while ((n = read(fd, buf + all, size - 1 - (size_t)all)) > 0) all += n;
    buf[all] = 0;
    close(fd);
    return all;
}

int machine_opens_nothing(void)
{
    const char *volatile path = 0;
    return open(path, O_RDONLY) < 0 ? errno : 0;
}

int machine_opens(const char *path)
{
    int fd = open(path, O_RDONLY);
    if (fd >= 0) close(fd);
    return fd >= 0;
}

/* ---- folders ----------------------------------------------------------------------------------------- */

static struct { int n; uint64_t bits; const char *folder; } found;

static void add(const char *name)
{
    char *end;
    if (strncmp(name, "cpu", 3) || name[3] < '0' || name[3] > '9') return;
    unsigned long cpu = strtoul(name + 3, &end, 10);
    if (*end) return;
    found.n++;
    if (cpu < 64) found.bits |= 1ull << cpu;
}

static void add_path(const char *path)
{
    size_t n = strlen(found.folder);
    if (!strncmp(path, found.folder, n) && path[n] == '/') add(path + n + 1);
}

static int at_file(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
    (void)st, (void)kind, (void)ftw;
    add_path(path);
    return 0;
}
static int at_file_simply(const char *path, const struct stat *st, int kind) { return (void)st, (void)kind, add_path(path), 0; }

static int by_stream(int way, DIR *dir)
{
    struct dirent *e, entry;
    if (!dir) return -1;
    while (way == BY_READDIR_R ? readdir_r(dir, &entry, &e) == 0 && e : (e = readdir(dir)) != 0) add(e->d_name);
    closedir(dir);
    return found.n;
}

static int by_scandir(const char *folder)
{
    struct dirent **list;
    int n = scandir(folder, &list, 0, alphasort);
    for (int i = 0; i < n; i++) {
        add(list[i]->d_name);
        free(list[i]);
    }
    if (n >= 0) free(list);
    return n < 0 ? -1 : found.n;
}

static int by_glob(const char *folder)
{
    char pattern[200];
    glob_t g = {0};
    snprintf(pattern, sizeof pattern, "%s/cpu[0-9]*", folder);
    int r = glob(pattern, 0, 0, &g);
    for (size_t i = 0; !r && i < g.gl_pathc; i++) add_path(g.gl_pathv[i]);
    globfree(&g);
    return r ? -1 : found.n;
}

static int by_fts(const char *folder)
{
    char *const roots[] = {(char *)(uintptr_t)folder, 0};
    FTS *fts = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, 0);
    if (!fts) return -1;
    for (FTSENT *e; (e = fts_read(fts)) != 0;)
        if (e->fts_level == 1 && e->fts_info != FTS_DP) add(e->fts_name);
    fts_close(fts);
    return found.n;
}

int machine_list(int way, const char *folder, uint64_t *bits)
{
    int n;
    found.n = 0;
    found.bits = 0;
    found.folder = folder;
    switch (way) {
    case BY_READDIR: case BY_READDIR_R: n = by_stream(way, opendir(folder)); break;
    case BY_FDOPENDIR: n = by_stream(way, fdopendir(open(folder, O_RDONLY | O_DIRECTORY))); break;
    case BY_SCANDIR: n = by_scandir(folder); break;
    case BY_GLOB: n = by_glob(folder); break;
    case BY_NFTW: n = nftw(folder, at_file, 8, FTW_PHYS) ? -1 : found.n; break;
    case BY_FTW: n = ftw(folder, at_file_simply, 8) ? -1 : found.n; break;
    default: n = by_fts(folder);
    }
    *bits = found.bits;
    return n;
}

int machine_count(const char *folder)
{
    int n = 0;
    DIR *dir = opendir(folder);
    if (!dir) return -1;
    while (readdir(dir)) n++;
    closedir(dir);
    return n;
}

int machine_glob_nocheck(const char *pattern, char *buf, size_t size)
{
    glob_t found;
    if (glob(pattern, GLOB_NOCHECK, 0, &found)) return -1;
    int n = (int)found.gl_pathc;
    snprintf(buf, size, "%s", found.gl_pathv[0]);
    globfree(&found);
    return n;
}

/* ---- memory -------------------------------------------------------------------------------------------- */

void machine_memory(struct machine_memory *m)
{
    struct sysinfo info;
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    sysinfo(&info);
    *m = (struct machine_memory){(uint64_t)info.totalram * info.mem_unit, (uint64_t)info.freeram * info.mem_unit, (uint64_t)sysconf(_SC_PHYS_PAGES) * page,
                                 (uint64_t)sysconf(_SC_AVPHYS_PAGES) * page, (uint64_t)get_phys_pages() * page, (uint64_t)get_avphys_pages() * page};
}

/* ---- programs ------------------------------------------------------------------------------------------ */

static void execute(int way, const char *command)
{
    char *argv[] = {"sh", "-c", (char *)(uintptr_t)command, 0};
    switch (way) {
    case BY_EXECV: case BY_VFORK: execv("/bin/sh", argv); break;
    case BY_EXECVP: execvp("sh", argv); break;
    case BY_EXECL: execl("/bin/sh", "sh", "-c", command, (char *)0); break;
    case BY_EXECLP: execlp("sh", "sh", "-c", command, (char *)0); break;
    case BY_EXECLE: execle("/bin/sh", "sh", "-c", command, (char *)0, environ); break;
    default: break;
    }
}

static int copy_out(FILE *from, const char *path)
{
    FILE *to = fopen(path, "w");
    if (!from || !to) return -1;
    for (int c; (c = getc(from)) != EOF;) putc(c, to);
    fclose(to);
    return pclose(from);
}

static int to_file(int way, const char *command)
{
    char *argv[] = {"sh", "-c", (char *)(uintptr_t)command, 0};
    pid_t pid;
    int status;
    if (way == BY_SPAWN || way == BY_SPAWNP) {
        if (way == BY_SPAWN ? posix_spawn(&pid, "/bin/sh", 0, 0, argv, environ) : posix_spawnp(&pid, "sh", 0, 0, argv, environ)) return -1;
    } else if ((pid = way == BY_VFORK ? vfork() : fork()) == 0) {
        execute(way, command);
        _exit(126);
    }
    return waitpid(pid, &status, 0) == pid ? status : -1;
}

int machine_start(int way, const char *command, const char *path)
{
    char text[1000];
    if (way == BY_POPEN) return copy_out(popen(command, "r"), path);
    snprintf(text, sizeof text, "{ %s\n} > '%s'", command, path);
    return way == BY_SYSTEM ? system(text) : to_file(way, text);
}

int machine_system_status(const char *command) { return system(command); }

int machine_write_to(const char *command, const char *text)
{
    FILE *f = popen(command, "w");
    if (!f) return -1;
    fputs(text, f);
    return pclose(f);
}

/* The first command reads until all ends of its pipe are closed: the second one must not have one. */
int machine_two_pipes(void)
{
    FILE *first = popen("cat > /dev/null", "w"), *second = popen("cat > /dev/null", "w");
    return first && second ? pclose(first) | pclose(second) : -1;
}

FILE *machine_popen(const char *command) { return popen(command, "r"); }

int machine_fclose(const char *command)
{
    FILE *f = popen(command, "r");
    int (*volatile close_stream)(FILE *) = fclose;      /* the compiler knows that pclose is meant */
    return f ? close_stream(f) : -1;
}

static int bind_to(int from, int to)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    for (int i = from; i < to; i++) CPU_SET(i, &set);
    return sched_setaffinity(0, sizeof set, &set);
}
int machine_bind(int cpu) { return bind_to(cpu, cpu + 1); }
int machine_bind_all(void) { return bind_to(0, CPU_SETSIZE); }

int machine_set(const char *name, const char *value) { return setenv(name, value, 1); }
const char *machine_get(const char *name) { return getenv(name); }
char **machine_environ(void) { return environ; }
void machine_set_environ(char **env) { environ = env; }

int machine_thread(pthread_t *thread, void *(*routine)(void *), void *arg) { return pthread_create(thread, 0, routine, arg); }
