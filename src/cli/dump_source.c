/* src/cli/dump_source.c - find the bytes of an instance, named or not.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"
#include "cli/dump.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int open_file(const char *path, struct dump_source *s, char *why, size_t cap)
{
    struct stat st;
    s->fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (s->fd < 0 || fstat(s->fd, &st)) {
        snprintf(why, cap, errno == ENOENT ? "there is no instance of that name (%s)" : "%s cannot be opened", path);
        if (errno != ENOENT) snprintf(why + strlen(why), cap - strlen(why), ": %s", strerror(errno));
        if (s->fd >= 0) close(s->fd);
        return -1;
    }
    if (!S_ISREG(st.st_mode)) {
        snprintf(why, cap, "%s is not a regular file", path);
        close(s->fd);
        return -1;
    }
    s->base = 0;
    s->size = (uint64_t)st.st_size;
    snprintf(s->text, sizeof s->text, "%s, %lu bytes (%lu KiB real), inode %lu, owner %u, mode 0%o", path,
             (unsigned long)st.st_size, (unsigned long)st.st_blocks / 2, (unsigned long)st.st_ino, st.st_uid,
             st.st_mode & 07777);
    return 0;
}

int dump_open_instance(const char *name, struct dump_source *s, char *why, size_t cap)
{
    char path[SHM_PATH_MAX];
    if (!shm_name_is_valid(name) || shm_path(NULL, name, os_geteuid(), path, sizeof path) < 0) {
        snprintf(why, cap, "'%.60s' is not an instance name", name);
        return -1;
    }
    return open_file(path, s, why, cap);
}

/* Behind the last slash of a mapping's path, without what the kernel adds to that of a file that is
 * gone. */
static bool file_name(const char *path, char *name, size_t cap)
{
    static const char gone[] = " (deleted)";
    const char *base = strrchr(path, '/');
    size_t n = base ? strlen(++base) : 0;
    if (n >= sizeof gone - 1 && !strcmp(base + n - (sizeof gone - 1), gone)) n -= sizeof gone - 1;
    if (!n || n >= cap) return false;
    memcpy(name, base, n);
    name[n] = 0;
    return true;
}

/* The segment that a process has mapped: shared, from its beginning, under an instance's name. */
static const struct mapping *segment_of(const struct address_space *as)
{
    for (unsigned i = 0; i < as->nr; i++) {
        const struct mapping *m = &as->map[i];
        char file[SHM_PATH_MAX], name[USF_NAME_MAX];
        uint32_t uid;
        if (m->offset || strcmp(m->perms, "rw-s")) continue;
        /* One that got its name by a link shows none: the kernel calls it by its inode. */
        if (!file_name(m->path, file, sizeof file)) continue;
        bool named = shm_name_of_file(file, &uid, name), linked = file[0] == '#' && !strncmp(m->path, SHM_DIR "/", sizeof SHM_DIR);
        if (named || linked) return m;
    }
    return NULL;
}

static bool is_segment(int fd, uint64_t at)
{
    uint64_t magic = 0;
    return pread(fd, &magic, sizeof magic, (off_t)at) == sizeof magic && magic == USF_SHM_MAGIC;
}

/* Through the process's own memory: the file may have been unlinked, or be another by now. */
static int open_memory(int32_t pid, const struct mapping *m, struct dump_source *s, char *why, size_t cap)
{
    char path[64], shown[120];
    snprintf(path, sizeof path, "/proc/%d/mem", pid);
    s->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (s->fd < 0) {
        snprintf(why, cap, "the memory of process %d cannot be read: %s", pid, strerror(errno));
        return -1;
    }
    s->base = m->start;
    s->size = m->end - m->start;
    snprintf(s->text, sizeof s->text, "memory of process %d at 0x%lx, %lu bytes: %s, inode %lu%s", pid, m->start,
             (unsigned long)s->size, text_clean(m->path, shown, sizeof shown), m->ino,
             is_segment(s->fd, s->base) ? "" : " (does not begin as an instance does)");
    return 0;
}

static bool same_file(const char *path, const struct mapping *m)
{
    struct stat st;
    return lstat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_ino == m->ino;
}

int dump_open_process(int32_t pid, struct dump_source *s, char *why, size_t cap)
{
    struct address_space as;
    char path[PATH_MAX + 32];
    int r = -1;
    if (!address_space_load(&as, pid)) {
        snprintf(why, cap,
                 access("/proc/self/maps", R_OK) ? "/proc is not there"
                 : os_process_ended(pid)         ? "there is no process %d"
                                                 : "process %d may not be looked at (another user's?)",
                 pid);
        return -1;
    }
    const struct mapping *m = segment_of(&as);
    if (!m) {
        snprintf(why, cap, "process %d takes part in no instance", pid);
    } else {
        snprintf(path, sizeof path, "/proc/%d/root%s", pid, m->path);
        r = same_file(path, m) ? open_file(path, s, why, cap) : open_memory(pid, m, s, why, cap);
    }
    address_space_free(&as);
    return r;
}
