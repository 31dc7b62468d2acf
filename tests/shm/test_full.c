/* tests/shm/test_full.c - /dev/shm is full or read-only.  SPDX-License-Identifier: Apache-2.0
 * In a mount namespace of its own; needs root. */
#include "check.h"
#include "shm/internal.h"
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>

static struct shm_config config;

static void mount_small(const char *options)
{
    if (mount("tmpfs", check_dir, "tmpfs", 0, options)) { perror("mount"); exit(SKIP); }
}

static void refused(int error, const char *words)
{
    struct shm m;
    EXPECT_EQ(shm_open_instance(&config, true, &m), error);
    EXPECT(strstr(m.why, words), "`%s` does not say `%s`", m.why, words);
}

static int count;
static void list_one(const char *name, void *arg) { count++; }

static void nothing_fits(void)
{
    for (unsigned kib = 4; kib <= 128; kib += 4) {
        char options[32];
        snprintf(options, sizeof options, "size=%uk", kib);
        mount_small(options);
        refused(-ENOSPC, "no space is left");
        EXPECT_EQ(shm_list(check_dir, list_one, NULL), 0);
        umount(check_dir);
    }
    mount_small("size=1m,nr_inodes=1");
    refused(-ENOSPC, "no space is left");
    umount(check_dir);
}

/* Touches every record that was said to be real. */
static void touch_all(struct usf_header *h)
{
    for (uint32_t i = 0; i < h->max_cores; i++) shm_cores(h)[i].busy_ns = 1;
    for (uint32_t i = 0; i < h->max_runs; i++) shm_runs(h)[i].pid = 1;
    for (uint32_t i = 0; i < atomic_load(&h->proc_hwm); i++) shm_procs(h)[i].unpatched = 1;
    for (uint32_t i = 0; i < atomic_load(&h->group_hwm); i++) memset(shm_groups(h)[i].pol.data, 1, USF_POL_GROUP_DATA);
    for (uint32_t i = 0; i < atomic_load(&h->task_hwm); i++) memset(&shm_tasks(h)[i].n, 1, sizeof(struct usf_counters));
    memset(h->pol_data, 1, sizeof h->pol_data);
}

static void fills_up(void)
{
    struct shm m;
    int r, joined = 0;
    mount_small("size=1m");
    EXPECT_EQ(shm_open_instance(&config, true, &m), 0);
    touch_all(m.h);
    for (uint32_t n = USF_TASK_CHUNK; !(r = shm_reserve_tasks(m.h, config.dir, n)); n += USF_TASK_CHUNK) touch_all(m.h);
    EXPECT_EQ(r, -ENOSPC);
    EXPECT(atomic_load(&m.h->task_hwm) > 1000 && atomic_load(&m.h->task_hwm) < 4000, "%u", atomic_load(&m.h->task_hwm));
    touch_all(m.h);
    while ((r = shm_join_begin(m.h, config.dir, 0, getpid(), 0)) >= 0) joined++;
    EXPECT_EQ(r, -ENOSPC);
    EXPECT_EQ(joined, USF_PROC_CHUNK);
    touch_all(m.h);
    /* others open it all the same, and space that comes back is used */
    struct shm n;
    EXPECT_EQ(shm_open_instance(&config, false, &n), 0);
    shm_close(&n);
    mount("tmpfs", check_dir, "tmpfs", MS_REMOUNT, "size=4m");
    EXPECT_EQ(shm_reserve_tasks(m.h, config.dir, atomic_load(&m.h->task_hwm) + 1), 0);
    touch_all(m.h);
    shm_close(&m);
    umount(check_dir);
}

static void read_only(void)
{
    struct shm m;
    mount_small("size=1m");
    EXPECT_EQ(shm_open_instance(&config, true, &m), 0);
    shm_close(&m);
    mount("tmpfs", check_dir, "tmpfs", MS_REMOUNT | MS_RDONLY, "size=1m");
    refused(-EROFS, "read-only");
    EXPECT_EQ(shm_snapshot(config.dir, config.name, &m), 0);       /* looking is possible */
    shm_close(&m);
    config.name = "another";
    refused(-EROFS, "read-only");
    config.name = "full";
    umount(check_dir);
}

/* No O_TMPFILE there: made under a temporary name that must not stay. */
static void other_file_system(void)
{
    struct shm m;
    if (mount("ramfs", check_dir, "ramfs", 0, NULL)) return;
    EXPECT_EQ(shm_open_instance(&config, true, &m), 0);
    EXPECT(m.created && system("test $(ls -A \"$D\" | wc -l) = 1") == 0);
    EXPECT_EQ(shm_reserve_tasks(m.h, config.dir, 64), 0);
    touch_all(m.h);
    EXPECT(shm_retire_if_empty(&m, config.dir));
    shm_close(&m);
    umount(check_dir);
}

int main(void)
{
    check_begin(50);
    config.dir = check_shmdir();
    config.name = "full";
    setenv("D", check_dir, 1);
    if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL)) {
        check_remove();
        puts("needs to be root: skipped");
        return SKIP;
    }
    nothing_fits();
    fills_up();
    read_only();
    other_file_system();
    check_remove();
    return check_end();
}
