/* src/policy/loader.c - load a user's policy from a shared object.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The one file of this room that calls libc and the dynamic linker.  It runs at start only: from
 * the preloaded library's constructor, in the monitor and in tools; never in the gate.
 *
 * The object becomes part of every participating program of this user, so a user that can write to
 * it can run code as that user: it must belong to the user or to root, and no other user may write
 * to it. */
#include "arch/code.h"
#include "policy/policy.h"
#include "base/base.h"
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_LOADED 8      /* of different paths, in one process; tools load one or two */

static struct loaded {
    char path[1024];
    uint64_t hash;
    struct usf_policy_ops ops;
} loaded[MAX_LOADED];
static unsigned nr_loaded;

static bool file_is_trusted(const char *path, struct stat *st, char *why, unsigned why_len)
{
    if (stat(path, st)) {
        usf_format(why, why_len, "policy %s: %s", path, strerror(errno));
        return false;
    }
    if (!S_ISREG(st->st_mode)) {
        usf_format(why, why_len, "policy %s: not a regular file", path);
        return false;
    }
    if (st->st_uid != geteuid() && st->st_uid != 0) {
        usf_format(why, why_len, "policy %s: belongs to another user (uid %u)", path, (unsigned)st->st_uid);
        return false;
    }
    if (st->st_mode & (S_IWGRP | S_IWOTH)) {
        usf_format(why, why_len, "policy %s: others may write to it: chmod go-w it", path);
        return false;
    }
    return true;
}

/* The dynamic linker maps what the headers promise and is killed by SIGBUS if the file is
 * shorter. */
static bool object_is_whole(const char *path, uint64_t size, char *why, unsigned why_len)
{
    Elf64_Ehdr h;
    Elf64_Phdr ph;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool object = fd >= 0 && pread(fd, &h, sizeof h, 0) == sizeof h && !memcmp(h.e_ident, ELFMAG, SELFMAG)
                  && h.e_ident[EI_CLASS] == ELFCLASS64 && h.e_machine == ARCH_ELF_MACHINE && h.e_type == ET_DYN
                  && h.e_phentsize == sizeof ph;
    bool whole = object;
    for (unsigned i = 0; whole && i < h.e_phnum; i++) {
        whole = pread(fd, &ph, sizeof ph, (off_t)(h.e_phoff + i * sizeof ph)) == sizeof ph
                && (ph.p_type != PT_LOAD || (ph.p_offset <= size && ph.p_filesz <= size - ph.p_offset));
    }
    if (fd >= 0) close(fd);
    if (!object) usf_format(why, why_len, "policy %s: not a shared object for x86-64", path);
    else if (!whole) usf_format(why, why_len, "policy %s: the file is truncated", path);
    return whole;
}

/* Of the whole file; 0: it cannot be read. */
static uint64_t hash_of(const char *path)
{
    static uint64_t word[512];      /* not on a small stack */
    uint64_t h = 0x9e3779b97f4a7c15ull;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n;
    while (fd >= 0 && (n = read(fd, word, sizeof word)) > 0) {
        memset((char *)word + n, 0, -(size_t)n & 7);
        h = (h ^ (uint64_t)n) * 0xff51afd7ed558ccdull;
        for (unsigned i = 0; i * sizeof *word < (size_t)n; i++) {
            h = (h ^ word[i]) * 0xff51afd7ed558ccdull;
            h ^= h >> 32;
        }
    }
    if (fd < 0) return 0;
    close(fd);
    return n < 0 ? 0 : h | 1;
}

/* dlerror without the path that it starts with: our line names it already. */
static const char *link_error(const char *path)
{
    const char *e = dlerror();
    size_t n = strlen(path);
    if (!e) return "cannot be loaded";
    if (!strncmp(e, path, n) && !strncmp(e + n, ": ", 2)) return e + n + 2;
    return e;
}

static const struct usf_policy_ops *table_of(const char *path, void *object, char *why, unsigned why_len)
{
    const struct usf_policy_ops *in = dlsym(object, "usf_policy");
    char detail[160];
    if (!in) {
        usf_format(why, why_len, "policy %s: does not export usf_policy (see usf/policy.h)", path);
    } else if (!policy_ops_is_valid(in, detail, sizeof detail)) {
        usf_format(why, why_len, "policy %s: %s", path, detail);
    } else if (in->flags & USF_POLICY_KERNEL) {
        usf_format(why, why_len, "policy %s: leaves scheduling to the kernel: use the policy linux", path);
    } else if (!in->enqueue && !in->select_core && !in->yield) {
        usf_format(why, why_len, "policy %s: lacks operations: decides nothing (enqueue, pick and dequeue, or "
                   "select_core, or yield)", path);
    } else if (in->api & USF_POLICY_API_VECTOR) {
        usf_format(why, why_len, "policy %s: was compiled with vector registers: add -mgeneral-regs-only", path);
    } else if (policy_find(in->name)) {
        usf_format(why, why_len, "policy %s: %s is the name of a built-in policy: choose another", path, in->name);
    } else {
        return in;
    }
    return NULL;
}

static struct loaded *load(const char *path, char *why, unsigned why_len)
{
    struct stat before, after;
    for (unsigned i = 0; i < nr_loaded; i++)
        if (!strcmp(loaded[i].path, path)) return &loaded[i];
    if (path[0] != '/' || strlen(path) >= sizeof loaded->path) {
        usf_format(why, why_len, "policy %s: needs an absolute path of less than %u bytes", path,
                   (unsigned)sizeof loaded->path);
        return NULL;
    }
    if (nr_loaded == MAX_LOADED) {
        usf_format(why, why_len, "policy %s: %u policies are loaded already", path, MAX_LOADED);
        return NULL;
    }
    if (!file_is_trusted(path, &before, why, why_len)) return NULL;
    if (!object_is_whole(path, (uint64_t)before.st_size, why, why_len)) return NULL;
    uint64_t hash = hash_of(path);
    void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!object) {
        usf_format(why, why_len, "policy %s: %s", path, link_error(path));
        return NULL;
    }
    if (stat(path, &after) || before.st_dev != after.st_dev || before.st_ino != after.st_ino) {
        usf_format(why, why_len, "policy %s: was replaced while it was loaded: try again", path);
        return NULL;
    }
    const struct usf_policy_ops *in = table_of(path, object, why, why_len);
    if (!in) {
        dlclose(object);
        return NULL;
    }
    struct loaded *l = &loaded[nr_loaded++];
    strcpy(l->path, path);
    l->hash = hash;
    policy_resolve(in, &l->ops);
    return l;
}

const struct usf_policy_ops *policy_load(const char *path, char *why, unsigned why_len)
{
    struct loaded *l = load(path, why, why_len);
    return l ? &l->ops : NULL;
}

const struct usf_policy_ops *policy_load_same(const char *path, _Atomic uint64_t *hash, char *why, unsigned why_len)
{
    struct loaded *l = load(path, why, why_len);
    uint64_t is = 0;
    if (!l || atomic_compare_exchange_strong(hash, &is, l->hash) || is == l->hash) return l ? &l->ops : NULL;
    usf_format(why, why_len, "policy %s: the instance was made with another object of this name, in another container or before it was "
               "built anew: choose another --instance, or wait for its end", path);
    return NULL;
}
