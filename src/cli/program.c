/* src/cli/program.c - find a program and say whether it can be scheduled.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/program.h"
#include "arch/code.h"
#include "cli/cli.h"
#include <errno.h>
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#define MAX_INTERPRETERS 5      /* as the kernel */

extern char **environ;

int program_executable(const char *path)
{
    struct stat st;
    if (stat(path, &st)) return errno;
    if (!S_ISREG(st.st_mode)) return EACCES;
    if (faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) == 0) return 0;
    return errno == ENOSYS || errno == EPERM ? 0 : errno;   /* a sandbox without this call: the exec will tell */
}

static int not_run(struct program *p, const char *name, int err)
{
    char shown[200];
    text_clean(name, shown, sizeof shown);
    bool missing = err == ENOENT || err == ENOTDIR;
    snprintf(p->why, sizeof p->why, "%s: %s", shown, missing ? "not found" : strerror(err));
    return missing ? CLI_NOT_FOUND : CLI_NOT_EXECUTABLE;
}

int program_find(const char *name, struct program *p)
{
    const char *path = getenv("PATH");
    int err = ENOENT;
    memset(p, 0, sizeof *p);
    if (!*name) return not_run(p, "''", ENOENT);
    if (strchr(name, '/')) {
        if (strlen(name) >= sizeof p->path) return not_run(p, name, ENAMETOOLONG);
        strcpy(p->path, name);
        err = program_executable(name);
        return err ? not_run(p, name, err) : 0;
    }
    if (!path) path = "/bin:/usr/bin";
    for (;; path++) {
        size_t n = strcspn(path, ":");
        int len = snprintf(p->path, sizeof p->path, "%.*s%s%s", (int)n, path, n ? "/" : "", name);
        int e = len < (int)sizeof p->path ? program_executable(p->path) : ENAMETOOLONG;
        if (!e) return 0;
        if (e == EACCES) err = EACCES;  /* as execvp: remember, but look further */
        path += n;
        if (!*path) break;
    }
    return not_run(p, name, err);
}

/* ---- scripts --------------------------------------------------------------------------------- */
/* The interpreter that the first line names, and its argument ("" if none). */
static bool script_line(int fd, char *line, size_t cap, char **interp, char **arg)
{
    ssize_t n = pread(fd, line, cap - 1, 0);
    if (n < 3 || line[0] != '#' || line[1] != '!') return false;
    line[n] = 0;
    line[strcspn(line, "\n")] = 0;
    char *s = line + 2 + strspn(line + 2, " \t");
    size_t len = strcspn(s, " \t");
    *interp = s;
    *arg = s + len + strspn(s + len, " \t");
    s[len] = 0;
    size_t end = strlen(*arg);
    while (end && strchr(" \t\r", (*arg)[end - 1])) (*arg)[--end] = 0;
    return **interp != 0;
}

/* `env prog` runs prog: the word that it will look for, in buf; or null. */
static const char *word_of_env(const char *interp, const char *arg, char *buf, size_t cap)
{
    const char *base = strrchr(interp, '/');
    if (strcmp(base ? base + 1 : interp, "env")) return 0;
    for (const char *p = arg; *p;) {
        size_t n = strcspn(p, " \t");
        if (*p != '-' && !memchr(p, '=', n) && n < cap) {
            memcpy(buf, p, n);
            buf[n] = 0;
            return buf;
        }
        p += n;
        p += strspn(p, " \t");
    }
    return 0;
}

/* ---- reasons --------------------------------------------------------------------------------- */
/* Would the kernel give it another identity or capabilities?  Then ld.so ignores LD_PRELOAD. */
static enum obstacle privileged(int fd)
{
    struct stat st;
    struct statvfs fs;
    char caps[64];
    if (fstat(fd, &st)) return OBSTACLE_NONE;
    if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1) return OBSTACLE_NONE;
    if (fstatvfs(fd, &fs) == 0 && (fs.f_flag & ST_NOSUID)) return OBSTACLE_NONE;
    if ((st.st_mode & S_ISUID) && st.st_uid != getuid()) return OBSTACLE_SETUID;
    if ((st.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) && st.st_gid != getgid()) return OBSTACLE_SETGID;
    if (getuid() != 0 && fgetxattr(fd, "security.capability", caps, sizeof caps) > 0) return OBSTACLE_CAPABILITIES;
    return OBSTACLE_NONE;
}

static enum obstacle judge_elf(const struct elf_facts *f)
{
    const char *loader = strrchr(f->interp, '/');
    loader = loader ? loader + 1 : f->interp;
    if (!f->bits64) return OBSTACLE_32_BIT;
    if (f->machine != ARCH_ELF_MACHINE || !f->little) return OBSTACLE_MACHINE;
    if (!f->has_interp && !f->is_loader) return OBSTACLE_STATIC;
    if (f->is_go) return OBSTACLE_GO;
    return f->has_interp && strncmp(loader, ARCH_LOADER, sizeof ARCH_LOADER - 1) ? OBSTACLE_LIBC : OBSTACLE_NONE;
}

static void say_why(struct program *p)
{
    const struct elf_facts *f = &p->elf;
    const char *text = "";
    switch (p->obstacle) {
    case OBSTACLE_NONE: break;
    case OBSTACLE_SETUID: text = "is setuid"; break;
    case OBSTACLE_SETGID: text = "is setgid"; break;
    case OBSTACLE_CAPABILITIES: text = "has file capabilities"; break;
    case OBSTACLE_32_BIT: text = "is a 32-bit program"; break;
    case OBSTACLE_STATIC: text = f->is_go ? "is statically linked (a Go program)" : "is statically linked"; break;
    case OBSTACLE_GO: text = "is a Go program, whose runtime makes its system calls itself"; break;
    case OBSTACLE_MACHINE: snprintf(p->why, sizeof p->why, "is built for %s", elf_machine_name(f->machine)); return;
    case OBSTACLE_LIBC: snprintf(p->why, sizeof p->why, "is not linked with glibc (its loader is %.200s)", f->interp); return;
    }
    snprintf(p->why, sizeof p->why, "%s", text);
}

static void judge(struct program *p, int fd)
{
    p->obstacle = privileged(fd);
    if (elf_inspect(fd, &p->elf) == 0) p->inspected = true;
    if (!p->obstacle && p->inspected && p->elf.is_elf) p->obstacle = judge_elf(&p->elf);
    say_why(p);
}

/* An execute-only file cannot be looked at; it is taken for one like most. */
static void inspect_env_word(struct program *p, const char *word)
{
    struct program *inner = calloc(1, sizeof *inner);
    if (inner && program_find(word, inner) == 0) {
        int fd = open(inner->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        if (fd >= 0) {
            judge(inner, fd);
            close(fd);
            *p = *inner;
        }
    }
    free(inner);
}

void program_inspect(struct program *p)
{
    char line[256], word[256], *interp, *arg;
    struct program outer;
    strcpy(p->binary, p->path);
    for (int depth = 0; depth <= MAX_INTERPRETERS; depth++) {
        int fd = open(p->binary, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        if (fd < 0) return;
        if (!script_line(fd, line, sizeof line, &interp, &arg)) {
            judge(p, fd);
            close(fd);
            return;
        }
        close(fd);
        snprintf(p->binary, sizeof p->binary, "%s", interp);
        const char *w = word_of_env(interp, arg, word, sizeof word);
        if (w) {
            outer = *p;
            inspect_env_word(p, w);
            strcpy(p->binary, *p->path && strcmp(p->path, outer.path) ? p->path : interp);
            strcpy(p->path, outer.path);
            return;
        }
    }
}

void program_explain(const struct program *p, const char *name, char *buf, size_t cap)
{
    char shown[128], binary[200];
    text_clean(name, shown, sizeof shown);
    text_clean(p->binary, binary, sizeof binary);
    if (!strcmp(p->path, p->binary)) snprintf(buf, cap, "%s %s", shown, p->why);
    else snprintf(buf, cap, "%s is a script for %s, which %s", shown, binary, p->why);
}

/* ---- exec ------------------------------------------------------------------------------------ */
/* A text file without #! is the shell's, as execvp has it. */
static void exec_by_shell(struct program *p, char **argv)
{
    int n = 0;
    while (argv[n]) n++;
    char **sh = calloc((size_t)n + 2, sizeof *sh);
    if (!sh) return;
    sh[0] = (char *)"/bin/sh";
    sh[1] = p->path;
    for (int i = 1; i <= n; i++) sh[i + 1] = argv[i];
    execve(sh[0], sh, environ);
    free(sh);
}

int program_exec(struct program *p, char **argv)
{
    execve(p->path, argv, environ);
    if (errno == ENOEXEC && !(p->inspected && p->elf.is_elf)) {
        exec_by_shell(p, argv);
        errno = ENOEXEC;
    }
    int err = errno;
    if (err == ENOENT) {
        /* The file is there: what lacks is its interpreter or loader. */
        const char *lacks = strcmp(p->binary, p->path) ? p->binary : p->elf.interp;
        if (*lacks) {
            snprintf(p->why, sizeof p->why, "%.200s: its interpreter %.200s: not found", p->path, lacks);
            return CLI_NOT_FOUND;
        }
    }
    return not_run(p, p->path, err);
}
