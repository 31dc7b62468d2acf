/* src/cli/doctor_missing.c - why a program does not start or is not scheduled.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"
#include "cli/doctor.h"
#include "cli/program.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* The first directory of the path that is not there, or may not be searched; false: all may. */
static bool bad_directory(const char *path, char *dir, size_t cap, int *err)
{
    struct stat st;
    for (const char *p = path; (p = strchr(p + 1, '/'));) {
        snprintf(dir, cap, "%.*s", (int)(p - path), path);
        if (stat(dir, &st)) return *err = errno, true;
        if (!S_ISDIR(st.st_mode)) return *err = ENOTDIR, true;
        if (access(dir, X_OK)) return *err = errno, true;
    }
    return false;
}

static void not_executable(const char *path, const struct stat *st)
{
    struct statvfs fs;
    if (S_ISDIR(st->st_mode)) {
        doctor_find(FINDING_NOTE, "advice", "%s is a directory: name the program in it", path);
    } else if (!S_ISREG(st->st_mode)) {
        doctor_find(FINDING_NOTE, "advice", "%s is no regular file: nothing can execute it", path);
    } else if (statvfs(path, &fs) == 0 && (fs.f_flag & ST_NOEXEC)) {
        doctor_find(FINDING_NOTE, "advice",
                    "it lies on a file system that is mounted noexec: copy it elsewhere, or have it mounted with exec");
    } else if (!(st->st_mode & 0111)) {
        doctor_find(FINDING_NOTE, "advice", "it is not marked as executable: chmod +x %s", path);
    } else {
        doctor_find(FINDING_NOTE, "advice",
                    "its mode 0%o lets others execute it, not you (user %u): ask its owner (user %u)", st->st_mode & 07777,
                    geteuid(), st->st_uid);
    }
}

static void not_in_path(const char *name)
{
    const char *path = getenv("PATH");
    char here[300];
    snprintf(here, sizeof here, "./%.250s", name);
    if (access(here, F_OK) == 0) doctor_find(FINDING_NOTE, "advice", "there is a %s: say it with its directory", here);
    else
        doctor_find(FINDING_NOTE, "advice", "no directory of PATH has it (%.300s): is its package installed?",
                    path ? path : "not set");
}

static const char *found_in_path(const char *name, char *buf, size_t cap)
{
    struct stat st;
    for (const char *p = getenv("PATH"); p && *p;) {
        size_t n = strcspn(p, ":");
        snprintf(buf, cap, "%.*s/%s", (int)n, p, name);
        if (stat(buf, &st) == 0) return buf;
        p += n + (p[n] != 0);
    }
    return NULL;
}

void doctor_missing(const char *name, int code, const char *why)
{
    char dir[PATH_MAX], found[PATH_MAX];
    struct stat st;
    int err;
    const char *path = strchr(name, '/') ? name : found_in_path(name, found, sizeof found);
    doctor_find(FINDING_BAD, "program", "%s%s", why, code == CLI_NOT_FOUND ? "" : ": it cannot be executed");
    doctor_unscheduled();
    if (!path) not_in_path(name);
    else if (bad_directory(path, dir, sizeof dir, &err))
        doctor_find(FINDING_NOTE, "advice", "%s: %s", dir,
                    err == EACCES ? "you may not search this directory" : strerror(err));
    else if (stat(path, &st) == 0) not_executable(path, &st);
    else if (lstat(path, &st) == 0)
        doctor_find(FINDING_NOTE, "advice", "%s is a symbolic link to something that is not there", path);
    else doctor_find(FINDING_NOTE, "advice", "its directory is there, but has nothing of that name");
}

const char *doctor_advice(const struct program *p)
{
    switch (p->obstacle) {
    case OBSTACLE_NONE:
        return NULL;
    case OBSTACLE_SETUID:
    case OBSTACLE_SETGID:
        return "the kernel gives it another user or group, and then the loader preloads nothing for the sake of security: "
               "run it as that user "
               "to begin with, or a copy without the bit if it does not need it";
    case OBSTACLE_CAPABILITIES:
        return "with more rights than yours the loader preloads nothing, for the sake of security: run it as root, or a "
               "copy, which has "
               "no capabilities ('getcap' shows them)";
    case OBSTACLE_32_BIT:
        return "usf schedules 64-bit programs only: use a 64-bit build of it";
    case OBSTACLE_MACHINE:
        return "an emulator would run it, and that is what would be scheduled: use a build for x86-64";
    case OBSTACLE_STATIC:
        return p->elf.is_go ? "Go's runtime schedules its goroutines itself: give it fewer threads with GOMAXPROCS, so that "
                              "others have cores"
                            : "there is no loader that could preload usf: link it dynamically (without -static; for Rust, "
                              "the target x86_64-unknown-linux-gnu)";
    case OBSTACLE_GO:
        return "Go's runtime schedules its goroutines itself: give it fewer threads with GOMAXPROCS, so that others have "
               "cores";
    case OBSTACLE_LIBC:
        return "usf's library is built for glibc: use a build of the program for glibc (Debian, Fedora, Ubuntu; not "
               "Alpine), or a container with one";
    }
    return NULL;
}
