/* tests/shm/test_namespaces.c - newcomers of other pid namespaces meet their liveness locks.  SPDX-License-Identifier: Apache-2.0 */
#include "../asleep.h"
#include "check.h"
#include "shm/internal.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>

#ifndef F_OFD_SETLK
#define F_OFD_SETLK 37
#endif
#define ELSEWHERE(i) (os_pidns() ^ (1000u + (i)))   /* the same time namespace */

static struct shm_config config;
static char path[SHM_PATH_MAX];

/* As if containers 0..n-1 of others had made it, which took part and have ended.  The inode. */
static uint64_t make(uint32_t n)
{
    struct shm m;
    EXPECT_EQ(shm_open_instance(&config, true, &m), 0);
    m.h->pidns = ELSEWHERE(0);
    for (uint32_t i = 0; i < n; i++) {
        atomic_store(&m.h->namespace[i].ns, ELSEWHERE(i));
        atomic_store(&shm_runs(m.h)[i].owner, (uint64_t)i << 32 | 4711);        /* `usf run` that was killed */
    }
    uint64_t ino = m.ino;
    shm_close(&m);
    return ino;
}

static int lock(short type, int64_t first, int64_t n)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);
    struct flock l = {.l_type = type, .l_whence = 0, .l_start = SHARING_NAMESPACE_BYTE + first, .l_len = n};
    EXPECT(fcntl(fd, F_OFD_SETLK, &l) == 0);
    return fd;
}

/* Another process goes on while we wait. */
static pid_t soon(void (*what)(int fd), int fd)
{
    pid_t child = fork();
    if (child) return child;
    while (state_of(getppid()) != 'S') usleep(1000);        /* between two attempts */
    what(fd);
    _exit(0);
}

enum file { SAME, ANOTHER, EITHER };

static void open_and_end(uint64_t was, enum file file)
{
    struct shm m;
    EXPECT_EQ(shm_open_instance(&config, true, &m), 0);
    if (!m.h) {
        fprintf(stderr, "%s\n", m.why);
        return;
    }
    bool another = m.created;
    EXPECT((m.ino == was) == !another && (file == EITHER || another == (file == ANOTHER)), "file %d, created %d", file, another);
    EXPECT(sharing_is_namespace(m.h, m.namespace, os_pidns()));
    for (uint32_t i = 0; i < USF_MAX_NAMESPACES; i++)
        EXPECT_EQ(shm_runs(m.h)[i].pid, another || i == m.namespace || (file == EITHER && !shm_runs(m.h)[i].pid) ? 0 : 4711);
    EXPECT(shm_retire_if_empty(&m, config.dir));
    shm_close(&m);
}

static void replace(int fd)
{
    struct usf_header *h = mmap(NULL, sizeof *h, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    EXPECT(h != MAP_FAILED && !shm_discard(fd, path, h));
}

static void nothing(int fd) { (void)fd; }

/* Two come to one that is abandoned: who comes second waits until the first has replaced it. */
static void replaced_meanwhile(void)
{
    uint64_t ino = make(1);
    int fd = lock(F_WRLCK, 0, USF_MAX_NAMESPACES);
    pid_t child = soon(replace, fd);
    close(fd);                          /* the child has the lock, too */
    open_and_end(ino, ANOTHER);
    waitpid(child, NULL, 0);
}

/* ... or has died on its way: between two steps of the second, which then takes the place of the
 * container that has ended, else before: then it replaces the file. */
static void left_alone_meanwhile(void)
{
    uint64_t ino = make(1);
    int fd = lock(F_WRLCK, 0, USF_MAX_NAMESPACES);
    pid_t child = soon(nothing, fd);
    close(fd);
    open_and_end(ino, EITHER);
    waitpid(child, NULL, 0);
}

/* A monitor clears up the last place that could be had. */
static void cleared_up_meanwhile(void)
{
    uint64_t ino = make(USF_MAX_NAMESPACES);
    int users = lock(F_RDLCK, 0, 5), more = lock(F_RDLCK, 6, USF_MAX_NAMESPACES - 6), fd = lock(F_WRLCK, 5, 1);
    pid_t child = soon(nothing, fd);
    close(fd);
    open_and_end(ino, SAME);
    close(users);
    close(more);
    waitpid(child, NULL, 0);
}

static void refused(int error, const char *words)
{
    struct shm m;
    EXPECT_EQ(shm_open_instance(&config, true, &m), error);
    EXPECT(strstr(m.why, words) && !m.h, "`%s` does not say `%s`", m.why, words);
}

static void too_many(void)
{
    make(USF_MAX_NAMESPACES);
    int users = lock(F_RDLCK, 0, USF_MAX_NAMESPACES);
    refused(-EXDEV, "16 containers share it already");
    close(users);
    unlink(path);
}

static void for_ever(void)
{
    struct shm m;
    make(1);
    int fd = lock(F_WRLCK, 0, USF_MAX_NAMESPACES);
    refused(-ETIMEDOUT, "is being cleared up");
    close(fd);
    unlink(path);
    EXPECT_EQ(shm_open_instance(&config, true, &m), 0);
    shm_close(&m);
    fd = lock(F_WRLCK, 0, 1);           /* our own place */
    refused(-ETIMEDOUT, "is being cleared up");
    close(fd);
    unlink(path);
}

int main(void)
{
    check_begin(50);
    if (!os_pidns()) return SKIP;
    config.dir = check_shmdir();
    config.name = "namespaces";
    config.settle = true;
    shm_path(config.dir, config.name, geteuid(), path, sizeof path);
    replaced_meanwhile();
    left_alone_meanwhile();
    cleared_up_meanwhile();
    too_many();
    for_ever();
    check_remove();
    return check_end();
}
