/* tests/shm/test_places.c - files and directories that cannot be used.  SPDX-License-Identifier: Apache-2.0 */
#include "check.h"
#include "shm/internal.h"
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>

static struct shm_config config;
static char path[SHM_PATH_MAX], why[256];

static void refused(int error, const char *words)
{
    struct shm m;
    EXPECT_EQ(shm_open_instance(&config, true, &m), error);
    EXPECT(strstr(m.why, words) && !m.h, "`%s` does not say `%s`", m.why, words);
}

static void make(void)
{
    struct shm m;
    EXPECT_EQ(shm_open_instance(&config, true, &m), 0);
    shm_close(&m);
}

static void modes(void)
{
    static const mode_t wrong[] = {0644, 0660, 0606, 0601, 0700, 0400, 01600, 04600};
    make();
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        chmod(path, wrong[i]);
        if (geteuid() == 0 || (wrong[i] & 0600) == 0600) refused(-EPERM, "instead of 0600");
    }
    chmod(path, 0644);
    refused(-EPERM, "has mode 0644 instead of 0600");
    refused(-EPERM, "usf clean");
    EXPECT_EQ(shm_remove_unusable(config.dir, config.name, why, sizeof why), 0);
    EXPECT(access(path, F_OK) != 0, "%s", why);
    make();
    unlink(path);
}

static void kinds(void)
{
    char real[SHM_PATH_MAX + 8];
    snprintf(real, sizeof real, "%s.real", path);
    make();
    rename(path, real);
    EXPECT_EQ(symlink(real, path), 0);
    refused(-EPERM, "is a symbolic link");
    EXPECT_EQ(shm_remove_unusable(config.dir, config.name, why, sizeof why), 0);
    EXPECT(access(real, F_OK) == 0, "the link is removed, not what it names");
    EXPECT_EQ(mkfifo(path, 0600), 0);
    refused(-EBADMSG, "is not a regular file");
    unlink(path);
    EXPECT_EQ(mkdir(path, 0600), 0);
    refused(-EBADMSG, "is not a regular file");
    rmdir(path);
    unlink(real);
}

static void directories(void)
{
    struct shm_config keep = config;
    char long_dir[2 * SHM_PATH_MAX];
    config.dir = "/nowhere/at/all";
    refused(-ENOENT, "the directory does not exist");
    config.dir = "/proc/version";
    refused(-ENOTDIR, "not a directory");
    config.dir = "/proc";
    struct shm m;
    EXPECT(shm_open_instance(&config, true, &m) < 0 && m.why[0]);
    memset(long_dir, 'd', sizeof long_dir - 1);
    long_dir[sizeof long_dir - 1] = 0;
    config.dir = long_dir;
    refused(-ENAMETOOLONG, "too long");
    config = keep;
}

static void in_use(void)
{
    struct shm m;
    EXPECT_EQ(shm_open_instance(&config, true, &m), 0);
    EXPECT_EQ(shm_remove_unusable(config.dir, config.name, why, sizeof why), -EBUSY);
    EXPECT(strstr(why, "in use by process"), "%s", why);
    EXPECT(shm_retire_if_empty(&m, config.dir));
    shm_close(&m);
}

/* Run in a child as user 65534, who may not do what root may. */
static int as_nobody(void)
{
    struct shm m;
    if (setgid(65534) || setuid(65534)) return SKIP;
    EXPECT_EQ(shm_open_instance(&config, true, &m), -EACCES);       /* the directory is root's */
    EXPECT(strstr(m.why, "no permission"), "%s", m.why);
    config.dir = "/tmp";
    config.name = "test-nobody";
    unlink("/tmp/usf-65534-test-nobody");
    EXPECT_EQ(shm_open_instance(&config, true, &m), 0);
    EXPECT(shm_retire_if_empty(&m, "/tmp"), "made and linked without root's rights");
    return check_end();
}

static void owners(void)
{
    int status = 0;
    if (geteuid()) return;
    make();
    EXPECT_EQ(chown(path, 12345, 0), 0);
    refused(-EPERM, "belongs to user 12345");
    EXPECT_EQ(shm_remove_unusable(config.dir, config.name, why, sizeof why), -EPERM);
    unlink(path);
    chmod(check_dir, 0755);
    pid_t child = fork();
    if (child == 0) _exit(as_nobody());
    waitpid(child, &status, 0);
    EXPECT_EQ(WEXITSTATUS(status), 0);
    /* another user's file under the name that would be ours */
    child = fork();
    if (child == 0) {
        char mine[SHM_PATH_MAX];
        shm_path(check_dir, config.name, 65534, mine, sizeof mine);
        close(open(mine, O_CREAT | O_RDWR, 0600));
        if (setgid(65534) || setuid(65534)) _exit(1);
        refused(-EPERM, "belongs to user 0, not to you (user 65534)");
        _exit(check_end());
    }
    waitpid(child, &status, 0);
    EXPECT_EQ(WEXITSTATUS(status), 0);
}

static void no_descriptors(void)
{
    struct rlimit few = {16, 16};
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        struct shm m;
        setrlimit(RLIMIT_NOFILE, &few);
        while (dup(0) >= 0) {}
        EXPECT(shm_open_instance(&config, true, &m) == -EMFILE && strstr(m.why, "too many open files"), "%s", m.why);
        _exit(check_end());
    }
    waitpid(child, &status, 0);
    EXPECT_EQ(WEXITSTATUS(status), 0);
}

int main(void)
{
    check_begin(55);
    config.dir = check_shmdir();
    config.name = "places";
    shm_path(config.dir, config.name, geteuid(), path, sizeof path);
    modes();
    kinds();
    directories();
    in_use();
    owners();
    no_descriptors();
    check_remove();
    return check_end();
}
