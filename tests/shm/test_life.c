/* tests/shm/test_life.c - an instance is made, joined, left and retired.  SPDX-License-Identifier: Apache-2.0 */
#include "check.h"
#include "shm/internal.h"
#include <sys/wait.h>

static struct shm_config config;
static char path[SHM_PATH_MAX];

static bool on_disk(void) { return access(path, F_OK) == 0; }

static void made_and_found(void)
{
    struct shm a, b;
    char why[160];
    struct stat st;
    EXPECT_EQ(shm_open_instance(&config, false, &a), -ENOENT);
    EXPECT(strstr(a.why, "there is no instance 'life'"), "%s", a.why);
    mode_t mask = umask(0777);          /* the mode does not depend on it */
    uint64_t t = os_now();
    EXPECT_EQ(shm_open_instance(&config, true, &a), 0);
    printf("made in %lu us", (unsigned long)(os_now() - t) / 1000);
    umask(mask);
    EXPECT(a.created && a.h && !a.why[0], "%s", a.why);
    EXPECT(stat(path, &st) == 0 && (st.st_mode & 07777) == 0600 && (size_t)st.st_size == a.size);
    EXPECT((size_t)st.st_blocks * 512 < 512 * 1024, "%ld KiB are used", (long)st.st_blocks / 2);

    t = os_now();
    EXPECT_EQ(shm_open_instance(&config, true, &b), 0);
    printf(", found in %lu us\n", (unsigned long)(os_now() - t) / 1000);
    EXPECT(!b.created && b.size == a.size);
    atomic_store(&a.h->monitor_event, 4711);
    EXPECT_EQ(atomic_load(&b.h->monitor_event), 4711);
    EXPECT(shm_header_is_valid(b.h, b.size, why, sizeof why), "%s", why);
    EXPECT(shm_tables_are_valid(b.h, why, sizeof why), "%s", why);
    shm_close(&b);
    shm_close(&b);                      /* twice is harmless */
    EXPECT(shm_retire_if_empty(&a, config.dir) && !on_disk());
    EXPECT(shm_retire_if_empty(&a, config.dir), "it is retired already");
    shm_close(&a);
}

static void configured(void)
{
    struct shm_config c = config;
    struct shm m;
    c.quantum_ns = 1000;
    c.poll_max_ns = SHM_NO_POLL;
    c.progress_ns = 3000;
    c.lend_ns = 4000;
    c.policy = "fifo";
    c.policy_path = "/some/where.so";
    c.build_id = "0123abc";
    EXPECT_EQ(shm_open_instance(&c, true, &m), 0);
    EXPECT(m.h->quantum_ns == 1000 && m.h->poll_max_ns == 0 && m.h->progress_ns == 3000 && m.h->lend_ns == 4000);
    EXPECT(!strcmp(m.h->policy, "fifo") &&
          !strcmp(m.h->policy_path, "/some/where.so") && !strcmp(m.h->build_id, "0123abc") && !strcmp(m.h->name, "life"));
    EXPECT(m.h->uid == geteuid() && m.h->init_tgid == (uint32_t)getpid() && m.h->pidns == os_pidns() && m.h->namespace[0].ns == os_pidns());
    EXPECT(shm_retire_if_empty(&m, config.dir));
    shm_close(&m);

    EXPECT_EQ(shm_open_instance(&config, true, &m), 0);
    EXPECT(m.h->quantum_ns == SHM_DEFAULT_QUANTUM_NS && m.h->poll_max_ns == SHM_DEFAULT_POLL_NS &&
          m.h->progress_ns == SHM_DEFAULT_PROGRESS_NS && m.h->lend_ns == SHM_DEFAULT_LEND_NS &&
          !strcmp(m.h->policy, "coop") && !m.h->policy_path[0]);
    EXPECT(shm_retire_if_empty(&m, config.dir));
    shm_close(&m);

    char long_path[USF_POLICY_PATH_MAX + 1];
    memset(long_path, 'p', sizeof long_path - 1);
    long_path[sizeof long_path - 1] = 0;
    c.policy_path = long_path;
    EXPECT_EQ(shm_open_instance(&c, true, &m), -EINVAL);
    c.policy_path = NULL;
    c.policy = "a-name-that-is-longer-than-its-field";
    EXPECT_EQ(shm_open_instance(&c, true, &m), -EINVAL);
    EXPECT(!on_disk());
}

static void names(void)
{
    static const char *const good[] = {"a", "A-z_0.9", "...", "12345678901234567890123456789012345678901234567"};
    static const char *const bad[] = {"", "a/b", "a b", "\xc3\xa4", "123456789012345678901234567890123456789012345678", "a\n"};
    struct shm m;
    struct shm_config c = config;
    for (unsigned i = 0; i < sizeof good / sizeof *good; i++) EXPECT(shm_name_is_valid(good[i]), "%s", good[i]);
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
        EXPECT(!shm_name_is_valid(bad[i]), "%s", bad[i]);
        c.name = bad[i];
        EXPECT_EQ(shm_open_instance(&c, true, &m), -EINVAL);
    }
    EXPECT(!shm_name_is_valid(NULL));
}

/* With whom it is shared is told by the name, and one name has one file. */
static void levels(void)
{
    static const struct { const char *name, *file; enum shm_level level; uint32_t id; } same[] = {
        {"n-1", "usf-7-n-1", SHM_USER, 7}, {"g5:n", "usf-g5-n", SHM_GROUP, 5}, {"g0:a-b", "usf-g0-a-b", SHM_GROUP, 0},
        {"g4294967294:n", "usf-g4294967294-n", SHM_GROUP, 4294967294}, {"public:g5-n", "usf-public-g5-n", SHM_PUBLIC, 0},
        {"public", "usf-7-public", SHM_USER, 7}, {"g5", "usf-7-g5", SHM_USER, 7},
    };
    static const char *const no_name[] = {"g:n", "g05:n", "g4294967295:n", "g5:", "g5:n:m", "publi:n", "public:", ":n", "g-1:n", "7:n",
        "g99999999999999999999:n", "public:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"};
    static const char *const no_file[] = {"usf-g5", "usf-g5-", "usf--n", "usf-07-n", "usf-publicn", "usf-4294967295-n", "n", "usf-g5-a:b"};
    char path[SHM_PATH_MAX], name[USF_NAME_MAX];
    struct shm_scope s;
    for (unsigned i = 0; i < sizeof same / sizeof *same; i++) {
        uint32_t uid = 0;
        EXPECT(shm_scope_of(same[i].name, &s) && s.level == same[i].level && s.gid == (s.level == SHM_GROUP ? same[i].id : 0), "%s", same[i].name);
        EXPECT(shm_path("/d", same[i].name, 7, path, sizeof path) > 0 && !strcmp(path + 3, same[i].file), "%s", path);
        EXPECT(shm_name_of_file(same[i].file, &uid, name) && !strcmp(name, same[i].name), "%s", same[i].file);
        EXPECT_EQ(shm_is_shared(name), s.level != SHM_USER);
    }
    for (unsigned i = 0; i < sizeof no_name / sizeof *no_name; i++) {
        EXPECT(!shm_name_is_valid(no_name[i]), "%s", no_name[i]);
        EXPECT(!shm_is_shared(no_name[i]));
    }
    for (unsigned i = 0; i < sizeof no_file / sizeof *no_file; i++) EXPECT(!shm_name_of_file(no_file[i], &(uint32_t){0}, name), "%s", no_file[i]);
    EXPECT_EQ(shm_path("/d", "../x", 7, path, sizeof path), -EINVAL);
}

static int listed;
static void list_one(const char *name, void *arg) { listed += !strcmp(name, arg); }

static void listing(void)
{
    struct shm a, b;
    struct shm_config c = config;
    char name[64];
    c.name = "other";
    EXPECT_EQ(shm_open_instance(&config, true, &a), 0);
    EXPECT_EQ(shm_open_instance(&c, true, &b), 0);
    snprintf(name, sizeof name, "usf-%u-bad name", geteuid());
    check_write(check_dir, name, "x");
    snprintf(name, sizeof name, "usf-%u-", geteuid());
    check_write(check_dir, name, "x");
    snprintf(name, sizeof name, "usf-%u-life", geteuid() + 1);
    check_write(check_dir, name, "x");
    EXPECT_EQ(shm_list(check_dir, list_one, "life"), 2);
    EXPECT_EQ(listed, 1);
    EXPECT_EQ(shm_list("/nowhere/at/all", list_one, "life"), -ENOENT);
    EXPECT(shm_retire_if_empty(&a, config.dir) && shm_retire_if_empty(&b, config.dir));
    shm_close(&a);
    shm_close(&b);
}

static void members(void)
{
    struct shm m, late;
    int32_t pid = getpid();
    uint64_t start = os_start_time(pid);
    EXPECT_EQ(shm_open_instance(&config, true, &m), 0);
    int i = shm_join_begin(m.h, config.dir, 0, pid, start), k = shm_join_begin(m.h, config.dir, 0, pid, start);
    EXPECT(i == 0 && k == 1, "%d %d", i, k);
    struct usf_proc *p = shm_procs(m.h);
    EXPECT(p[0].pid == pid && p[0].start_time == start && atomic_load(&p[0].state) == USF_PROC_JOINING);
    EXPECT_EQ(shm_nr_members(m.h, 0), 2);
    EXPECT_EQ(atomic_load(&m.h->nr_procs_active), 2);
    EXPECT(!shm_retire_if_empty(&m, config.dir) && on_disk());
    shm_leave(m.h, 0);
    EXPECT(!shm_retire_if_empty(&m, config.dir) && on_disk());
    EXPECT_EQ(shm_join_begin(m.h, config.dir, 0, pid, start), 0);      /* a free record is used again */
    shm_leave(m.h, 0);
    EXPECT_EQ(shm_open_instance(&config, false, &late), 0);         /* opens, but is late to join */
    shm_leave(m.h, 1);
    EXPECT_EQ(atomic_load(&m.h->nr_procs_active), 0);
    EXPECT(shm_retire_if_empty(&m, config.dir) && !on_disk());
    EXPECT_EQ(shm_join_begin(late.h, config.dir, 0, pid, start), -ESTALE);
    EXPECT_EQ(shm_nr_members(late.h, 0), 0);
    shm_close(&late);
    shm_close(&m);
}

static void dead_members(void)
{
    struct shm m;
    EXPECT_EQ(shm_open_instance(&config, true, &m), 0);
    pid_t child = fork();
    if (child == 0) {
        int i = shm_join_begin(m.h, config.dir, 0, getpid(), os_start_time(getpid()));
        _exit(i == 0 ? 0 : 1);
    }
    int status = 1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    struct usf_proc *p = shm_procs(m.h);
    EXPECT(p->pid == child && !shm_proc_is_alive(p) && shm_nr_members(m.h, 0) == 0);
    /* its pid given to another process: the start time tells */
    p->pid = getpid();
    p->start_time = os_start_time(getpid()) - 1;
    EXPECT(!shm_proc_is_alive(p));
    p->start_time = os_start_time(getpid());
    EXPECT(shm_proc_is_alive(p));
    p->pid = child;
    EXPECT(shm_retire_if_empty(&m, config.dir) && !on_disk());
    shm_close(&m);
}

static void table_full(void)
{
    struct shm m;
    int32_t pid = getpid();
    EXPECT_EQ(shm_open_instance(&config, true, &m), 0);
    for (unsigned i = 0; i < USF_MAX_PROCS; i++) EXPECT_EQ(shm_join_begin(m.h, config.dir, 0, pid, 0), i);
    EXPECT_EQ(shm_join_begin(m.h, config.dir, 0, pid, 0), -EAGAIN);
    EXPECT_EQ(atomic_load(&m.h->proc_hwm), USF_MAX_PROCS);
    shm_leave(m.h, 777);
    EXPECT_EQ(shm_join_begin(m.h, config.dir, 0, pid, 0), 777);
    for (unsigned i = 0; i < USF_MAX_PROCS; i++) shm_leave(m.h, i);
    EXPECT_EQ(shm_reserve_tasks(m.h, config.dir, 1), 0);
    EXPECT_EQ(atomic_load(&m.h->task_hwm), USF_TASK_CHUNK);
    EXPECT_EQ(shm_reserve_tasks(m.h, config.dir, USF_TASK_CHUNK), 0);
    EXPECT_EQ(atomic_load(&m.h->task_hwm), USF_TASK_CHUNK);
    EXPECT_EQ(shm_reserve_tasks(m.h, config.dir, USF_MAX_TASKS), 0);
    EXPECT_EQ(atomic_load(&m.h->task_hwm), USF_MAX_TASKS);
    EXPECT_EQ(shm_reserve_tasks(m.h, config.dir, USF_MAX_TASKS + 1), -ENOSPC);
    EXPECT(shm_retire_if_empty(&m, config.dir));
    shm_close(&m);
}

/* What a process leaves behind that dies between RETIRED and the unlink, or between RETIRED and READY. */
static void half_retired(void)
{
    struct shm m, n;
    EXPECT_EQ(shm_open_instance(&config, true, &m), 0);
    atomic_store(&m.h->state, USF_INST_RETIRED);
    EXPECT_EQ(shm_open_instance(&config, false, &n), -ENOENT);
    EXPECT(!on_disk());
    EXPECT_EQ(shm_open_instance(&config, true, &n), 0);
    EXPECT(n.created && n.h->file_ino != m.h->file_ino);
    EXPECT(shm_retire_if_empty(&m, config.dir) && on_disk(), "retiring the old one leaves the new one alone");

    int i = shm_join_begin(n.h, config.dir, 0, getpid(), os_start_time(getpid()));
    atomic_store(&n.h->state, USF_INST_RETIRED);
    shm_close(&m);
    EXPECT_EQ(shm_open_instance(&config, true, &m), 0);
    EXPECT(!m.created && m.h->file_ino == n.h->file_ino && atomic_load(&n.h->state) == USF_INST_READY);
    shm_leave(n.h, (uint32_t)i);
    EXPECT(shm_retire_if_empty(&n, config.dir));
    shm_close(&m);
    shm_close(&n);
}

static void removed_by_hand(void)
{
    struct shm m, n;
    EXPECT_EQ(shm_open_instance(&config, true, &m), 0);
    unlink(path);
    EXPECT_EQ(shm_open_instance(&config, true, &n), 0);
    EXPECT(n.created);
    EXPECT_EQ(shm_reserve_tasks(m.h, config.dir, 64), 0);
    EXPECT(shm_retire_if_empty(&m, config.dir) && on_disk());
    EXPECT(shm_retire_if_empty(&n, config.dir) && !on_disk());
    shm_close(&m);
    shm_close(&n);
}

static void snapshots(void)
{
    struct shm m, s;
    char why[160];
    EXPECT_EQ(shm_snapshot(config.dir, "life", &s), -ENOENT);
    EXPECT_EQ(shm_open_instance(&config, true, &m), 0);
    EXPECT_EQ(shm_reserve_tasks(m.h, config.dir, 64), 0);
    int i = shm_join_begin(m.h, config.dir, 0, getpid(), 0);
    snprintf(shm_tasks(m.h)[63].name, 16, "last");
    EXPECT_EQ(shm_snapshot(config.dir, "life", &s), 0);
    EXPECT(shm_tables_are_valid(s.h, why, sizeof why), "%s", why);
    EXPECT(s.snapshot && shm_procs(s.h)->pid == getpid() && !strcmp(shm_tasks(s.h)[63].name, "last"));
    shm_leave(m.h, (uint32_t)i);
    EXPECT(shm_procs(s.h)->pid == getpid(), "a copy does not change");
    EXPECT(!shm_retire_if_empty(&s, config.dir) && on_disk(), "a copy retires nothing");
    EXPECT(shm_retire_if_empty(&m, config.dir));
    shm_close(&m);
    shm_close(&s);
}

int main(void)
{
    check_begin(50);
    config.dir = check_shmdir();
    config.name = "life";
    shm_path(config.dir, config.name, geteuid(), path, sizeof path);
    made_and_found();
    configured();
    names();
    levels();
    listing();
    members();
    dead_members();
    table_full();
    half_retired();
    removed_by_hand();
    snapshots();
    check_remove();
    return check_end();
}
