/* src/context/search.c - see search.h.  SPDX-License-Identifier: Apache-2.0
 *
 * The order is that of ld.so(8): RPATH of the library and of its loaders (if it has no RUNPATH),
 * LD_LIBRARY_PATH, RUNPATH, ld.so.cache, and the system's folders.  In each folder the versions for
 * newer processors (glibc-hwcaps) come first. */
#include "context/search.h"
#include "arch/code.h"

#include <elf.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* An object of the right class; others are passed over, as ld.so does. */
static bool is_ours(int fd)
{
    unsigned char head[20];
    return pread(fd, head, sizeof head, 0) == sizeof head && memcmp(head, ELFMAG, SELFMAG) == 0 && head[EI_CLASS] == ELFCLASS64 && head[18] == ARCH_ELF_MACHINE && !head[19];
}

static int try_file(const char *path, bool any)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && !any && !is_ours(fd)) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static int try_folder(const char *folder, size_t len, const char *name, char path[PATH_MAX])
{
    const char *versions[SEARCH_VERSIONS];
    unsigned n = search_versions(versions);
    for (unsigned i = 0; i <= n; i++) {
        int needed = snprintf(path, PATH_MAX, "%.*s%s%s%s", (int)len, folder, len && folder[len - 1] != '/' ? "/" : "", i < n ? versions[i] : "", name);
        int fd = needed < PATH_MAX ? try_file(path, false) : -1;
        if (fd >= 0) return fd;
    }
    return -1;
}

/* $ORIGIN, $LIB and $PLATFORM, in braces or not.  0: it is longer than there is room. */
static size_t expand(const char *text, size_t len, const char *object, char out[PATH_MAX])
{
    static const struct { const char *name, *value; } known[] = {{"{ORIGIN}", 0}, {"ORIGIN", 0}, {"{LIB}", "lib/" ARCH_LIBRARIES}, {"LIB", "lib/" ARCH_LIBRARIES},
                                                                 {"{PLATFORM}", ARCH_PLATFORM}, {"PLATFORM", ARCH_PLATFORM}};
    const char *slash = object ? strrchr(object, '/') : 0;
    size_t n = 0;
    for (size_t i = 0; i < len; i++) {
        const char *value = 0;
        size_t taken = 0, size = 0;
        for (unsigned k = 0; text[i] == '$' && !taken && k < sizeof known / sizeof *known; k++) {
            size_t l = strlen(known[k].name);
            if (len - i - 1 < l || strncmp(text + i + 1, known[k].name, l) != 0) continue;
            taken = l;
            value = known[k].value ? known[k].value : object ? object : "/proc/self/cwd/";
            size = known[k].value ? strlen(value) : slash ? (size_t)(slash - object) : strlen(value);
        }
        if (n + size + 1 >= PATH_MAX) return 0;
        if (taken) memcpy(out + n, value, size), n += size, i += taken;
        else out[n++] = text[i];
    }
    out[n] = 0;
    return n;
}

/* A list of folders, with colons between them; an empty one is the current folder. */
static int try_list(const char *list, const char *separators, const char *object, const char *name, char path[PATH_MAX])
{
    char folder[PATH_MAX];
    while (list && *list) {
        size_t len = strcspn(list, separators), n = expand(list, len, object, folder);
        int fd = n || !len ? try_folder(n ? folder : ".", n ? n : 1, name, path) : -1;
        if (fd >= 0) return fd;
        list += len + (list[len] != 0);
    }
    return -1;
}

/* ---- ld.so.cache --------------------------------------------------------------------------------- */
struct cache_head { char magic[17], version[3]; uint32_t nr, strings; uint8_t flags, pad[3]; uint32_t extension, unused[3]; };
struct cache_entry { int32_t flags; uint32_t key, value, osversion; uint64_t hwcap; };

static int try_cache_entries(const char *at, size_t size, const char *name, char path[PATH_MAX])
{
    const struct cache_head *h = (const void *)at;
    if (size < sizeof *h || memcmp(h->magic, "glibc-ld.so.cache", 17) != 0 || memcmp(h->version, "1.1", 3) != 0) return -1;
    const struct cache_entry *e = (const void *)(at + sizeof *h);
    if (h->nr > (size - sizeof *h) / sizeof *e || at[size - 1]) return -1;
    for (uint32_t i = 0; i < h->nr; i++) {
        if (e[i].flags != ARCH_CACHE_FLAGS || e[i].key >= size || e[i].value >= size || e[i].hwcap) continue;
        if (strcmp(at + e[i].key, name) != 0) continue;
        int fd = try_file(at + e[i].value, false);
        if (fd < 0) continue;
        snprintf(path, PATH_MAX, "%s", at + e[i].value);
        return fd;
    }
    return -1;
}

static int try_cache(const char *name, char path[PATH_MAX])
{
    struct stat st;
    int found = -1, fd = open("/etc/ld.so.cache", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return -1;
    if (fstat(fd, &st) == 0 && st.st_size > 0) {
        void *at = mmap(0, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (at != MAP_FAILED) {
            found = try_cache_entries(at, (size_t)st.st_size, name, path);
            munmap(at, (size_t)st.st_size);
        }
    }
    close(fd);
    return found;
}

int search_open(const struct search_from *from, const char *name, const char *library_path, char path[PATH_MAX])
{
    static const char folders[] = "/lib/" ARCH_LIBRARIES ":/usr/lib/" ARCH_LIBRARIES ":/lib64:/usr/lib64:/lib:/usr/lib";
    char full[PATH_MAX];
    int fd = -1;
    if (strchr(name, '/')) {
        size_t n = expand(name, strlen(name), from ? from->path : 0, full);
        if (!n) return -1;
        strcpy(path, full);
        return try_file(path, true);
    }
    bool has_runpath = from && from->runpath;
    for (const struct search_from *f = from; fd < 0 && !has_runpath && f; f = f->loader)
        if (!f->runpath) fd = try_list(f->rpath, ":", f->path, name, path);
    if (fd < 0) fd = try_list(library_path, ":;", 0, name, path);
    if (fd < 0 && has_runpath) fd = try_list(from->runpath, ":", from->path, name, path);
    if (fd < 0) fd = try_cache(name, path);
    if (fd < 0) fd = try_list(folders, ":", 0, name, path);
    return fd;
}
