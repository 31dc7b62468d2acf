/* src/cli/preload.c - find libusf.so, set LD_PRELOAD and USF_*.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/preload.h"
#include "arch/code.h"
#include "cli/cli.h"
#include "config/env.h"
#include "inspect/elf.h"
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LIBRARY "libusf.so"

static int sound_library(struct preload *lib, char *why, size_t why_len)
{
    struct elf_facts f;
    int fd = open(lib->path, O_RDONLY | O_CLOEXEC);
    bool read = fd >= 0 && elf_inspect(fd, &f) == 0;
    if (fd >= 0) close(fd);
    if (!read || !f.is_elf || !f.bits64 || f.machine != ARCH_ELF_MACHINE || f.type != ET_DYN) {
        snprintf(why, why_len, "%s is damaged: build or install usf again", lib->path);
        return -1;
    }
    /* ld.so splits LD_PRELOAD at both, and knows no way to quote them. */
    if (strpbrk(lib->path, ": ")) {
        snprintf(why, why_len, "%s cannot be preloaded, since its path has a blank or a colon: move it", lib->path);
        return -1;
    }
    memcpy(lib->build_id, f.build_id, sizeof lib->build_id);
    return 0;
}

int preload_find(struct preload *lib, char *why, size_t why_len)
{
    /* In the build folder, in a wheel, and by the names that distributions have for the libraries'
     * folder. */
    static const char *const places[] = {LIBRARY, "../lib/usf/" LIBRARY, "../lib/x86_64-linux-gnu/usf/" LIBRARY, "../lib64/usf/" LIBRARY};
    char self[PATH_MAX], beside[PATH_MAX + 64];
    *lib = (struct preload){0};
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n <= 0) {
        snprintf(why, why_len, "/proc is not there: " LIBRARY " cannot be found");
        return -1;
    }
    self[n] = 0;
    char *slash = strrchr(self, '/');
    if (slash) *slash = 0;
    for (unsigned i = 0; i < sizeof places / sizeof *places; i++) {
        snprintf(beside, sizeof beside, "%s/%s", self, places[i]);
        if (realpath(beside, lib->path)) return sound_library(lib, why, why_len);
    }
    snprintf(why, why_len, LIBRARY " is not there (looked in %.150s, and from there in usf/ of ../lib, ../lib64 and ../lib/x86_64-linux-gnu): build or install usf again", self);
    return -1;
}

static bool is_ours(const char *entry, size_t len)
{
    const size_t n = strlen(LIBRARY);
    return len >= n && !memcmp(entry + len - n, LIBRARY, n) && (len == n || entry[len - n - 1] == '/');
}

/* The entries of LD_PRELOAD that are not ours, joined by colons. */
static char *other_preloads(void)
{
    const char *old = getenv("LD_PRELOAD");
    char *out = xasprintf("%s", "");
    for (const char *p = old ? old : ""; *p;) {
        size_t n = strcspn(p, ": ");
        if (n && !is_ours(p, n)) {
            char *more = xasprintf("%s%s%.*s", out, *out ? ":" : "", (int)n, p);
            free(out);
            out = more;
        }
        p += n + (p[n] != 0);
    }
    return out;
}

void preload_set(const char *path)
{
    char *others = other_preloads(), *all = xasprintf("%s%s%s", path, *others ? ":" : "", others);
    setenv("LD_PRELOAD", all, 1);
    free(all);
    free(others);
}

void preload_unset(void)
{
    const char *old = getenv("LD_PRELOAD");
    if (!old || !strstr(old, LIBRARY)) return;
    char *others = other_preloads();
    if (*others) setenv("LD_PRELOAD", others, 1);
    else unsetenv("LD_PRELOAD");
    free(others);
}

/* What is the default need not be told: the library has the same table.  cache-dir must, since its
 * default depends on the home directory, which a program may change. */
void export_options(const struct config *c)
{
    for (unsigned i = 0; i < usf_nr_options; i++) {
        const struct usf_option *o = &usf_options[i];
        const struct config_value *v = config_value(c, o);
        if (!(o->flags & OPT_F_EXPORT)) continue;
        if (v->origin != ORIGIN_DEFAULT || (o->type == OPT_PATH && *v->text)) setenv(o->env, v->text, 1);
        else unsetenv(o->env);
    }
}

void export_identity(void)
{
    char path[PATH_MAX], uid[16], ns[16];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    snprintf(uid, sizeof uid, "%u", geteuid());
    setenv(USF_ENV_OWNER, uid, 1);
    snprintf(ns, sizeof ns, "%u", os_pidns_inode(os_pidns()));
    setenv(USF_ENV_PIDNS, ns, 1);
    unsetenv(USF_ENV_TOOL);
    if (n <= 0) return;
    path[n] = 0;
    setenv(USF_ENV_TOOL, path, 1);
}
