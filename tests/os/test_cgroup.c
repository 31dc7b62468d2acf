/* tests/os/test_cgroup.c - CPU quotas of cgroups, from trees of files.  SPDX-License-Identifier: Apache-2.0 */
#include "check.h"
#include "os/os.h"

#define V2_MOUNT "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
#define OTHERS   "23 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n" \
                 "24 23 0:22 / /proc rw - proc proc rw\n"

static char root[128];

static void fresh(const char *name)
{
    snprintf(root, sizeof root, "%s/%s", check_dir, name);
    mkdir(root, 0755);
}

static void unified(void)
{
    fresh("v2");
    check_write(root, "proc/self/cgroup", "0::/user.slice/a b/c\n");
    check_write(root, "proc/self/mountinfo", OTHERS V2_MOUNT);
    EXPECT_EQ(os_cgroup_quota(root, 0, 0), 0);
    check_write(root, "sys/fs/cgroup/user.slice/a b/c/cpu.max", "max 100000\n");
    EXPECT_EQ(os_cgroup_quota(root, 0, 0), 0);
    check_write(root, "sys/fs/cgroup/user.slice/a b/cpu.max", "350000 100000\n");
    EXPECT_EQ(os_cgroup_quota(root, 0, 0), 4);
    check_write(root, "sys/fs/cgroup/user.slice/cpu.max", "200000 100000\n");
    EXPECT_EQ(os_cgroup_quota(root, 0, 0), 2);
    check_write(root, "sys/fs/cgroup/user.slice/a b/c/cpu.max", "10000 100000\n");
    EXPECT_EQ(os_cgroup_quota(root, 0, 0), 1);
    check_write(root, "sys/fs/cgroup/user.slice/a b/c/cpu.max", "18446744073709551615 1\n");
    EXPECT_EQ(os_cgroup_quota(root, 0, 0), 2);
    check_write(root, "sys/fs/cgroup/cpu.max", "150000 100000\n");      /* the mount itself, as in a container */
    EXPECT_EQ(os_cgroup_quota(root, 0, 0), 2);
    check_write(root, "sys/fs/cgroup/cpu.max", "50000 100000\n");
    EXPECT_EQ(os_cgroup_quota(root, 0, 0), 1);
}

static void other_process(void)
{
    fresh("pid");
    check_write(root, "proc/4711/cgroup", "0::/x\n");
    check_write(root, "proc/self/mountinfo", "%s", V2_MOUNT);
    check_write(root, "sys/fs/cgroup/x/cpu.max", "300000 100000\n");
    EXPECT_EQ(os_cgroup_quota(root, 4711, 0), 3);
    EXPECT_EQ(os_cgroup_quota(root, 4712, 0), 0);
    EXPECT_EQ(os_cgroup_quota(root, 0, 0), 0);
}

static uint32_t group_of(const char *name, int32_t pid)
{
    uint32_t group = 0;
    snprintf(root, sizeof root, "%s/%s", check_dir, name);
    EXPECT_EQ(os_cgroup_quota(root, pid, &group), 1);
    EXPECT(group);
    return group;
}

/* Two containers, each with a cgroup namespace of its own. */
static void same_path(void)
{
    for (int i = 0; i < 2; i++) {
        fresh(i ? "one" : "other");
        check_write(root, "proc/1/cgroup", "0::/\n");
        check_write(root, "proc/2/cgroup", "0::/in\n");
        check_write(root, "proc/3/cgroup", "0::/in/deep\n");
        check_write(root, "proc/self/mountinfo", "%s", V2_MOUNT);
        check_write(root, "sys/fs/cgroup/cpu.max", "100000 100000\n");
        check_write(root, "sys/fs/cgroup/in/cpu.max", "10000 100000\n");
        check_write(root, "sys/fs/cgroup/in/deep/cpu.max", "max 100000\n");
    }
    EXPECT(group_of("one", 1) != group_of("other", 1));
    EXPECT(group_of("one", 1) != group_of("one", 2));
    EXPECT_EQ(group_of("one", 2), group_of("one", 3));
    fresh("host");                                          /* sees the same group elsewhere */
    check_write(root, "proc/4/cgroup", "0::/box\n");
    check_write(root, "proc/self/mountinfo", "30 23 0:26 / / rw - cgroup2 cgroup2 rw\n");
    char from[200], to[200];
    snprintf(from, sizeof from, "%s/one/sys/fs/cgroup", check_dir);
    snprintf(to, sizeof to, "%s/box", root);
    uint32_t inside = group_of("one", 1);
    EXPECT_EQ(rename(from, to), 0);
    EXPECT_EQ(group_of("host", 4), inside);
}

static void hybrid(void)
{
    fresh("v1");
    check_write(root, "proc/self/cgroup",
                "12:cpuset:/p\n5:cpu,cpuacct:/docker/123/sub\n2:name=systemd:/s\n1:cpuacct2:/no\n0::/\n");
    check_write(root, "proc/self/mountinfo",
                OTHERS "35 30 0:31 /docker/123 /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
                       "36 30 0:32 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n");
    check_write(root, "sys/fs/cgroup/cpu,cpuacct/sub/cpu.cfs_quota_us", "-1\n");
    check_write(root, "sys/fs/cgroup/cpu,cpuacct/sub/cpu.cfs_period_us", "100000\n");
    EXPECT_EQ(os_cgroup_quota(root, 0, 0), 0);
    check_write(root, "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "250000\n");
    EXPECT_EQ(os_cgroup_quota(root, 0, 0), 0);         /* no period */
    check_write(root, "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "50000\n");
    EXPECT_EQ(os_cgroup_quota(root, 0, 0), 5);
    check_write(root, "sys/fs/cgroup/cpuset/cpu.cfs_quota_us", "1\n");  /* not its hierarchy */
    check_write(root, "sys/fs/cgroup/cpuset/cpu.cfs_period_us", "1\n");
    EXPECT_EQ(os_cgroup_quota(root, 0, 0), 5);
    check_write(root, "sys/fs/cgroup/cpu,cpuacct/sub/cpu.cfs_quota_us", "100001\n");
    EXPECT_EQ(os_cgroup_quota(root, 0, 0), 2);
}

static void frozen(void)
{
    fresh("frozen");
    check_write(root, "proc/4711/cgroup", "12:freezer:/box\n5:cpu:/\n0::/box\n");
    check_write(root, "proc/self/mountinfo", V2_MOUNT "35 30 0:31 / /sys/fs/cgroup/freezer rw - cgroup cgroup rw,freezer\n");
    EXPECT_EQ(os_cgroup_frozen(root, 4711), false);
    check_write(root, "sys/fs/cgroup/box/cgroup.events", "populated 1\nfrozen 0\n");
    check_write(root, "sys/fs/cgroup/freezer/freezer.state", "FROZEN\n");      /* not its group */
    check_write(root, "sys/fs/cgroup/freezer/box/freezer.state", "FREEZING\n");
    EXPECT_EQ(os_cgroup_frozen(root, 4711), false);
    check_write(root, "sys/fs/cgroup/freezer/box/freezer.state", "FROZEN\n");
    EXPECT_EQ(os_cgroup_frozen(root, 4711), true);
    check_write(root, "sys/fs/cgroup/freezer/box/freezer.state", "THAWED\n");
    check_write(root, "sys/fs/cgroup/box/cgroup.events", "populated 1\nfrozen 1\n");
    EXPECT_EQ(os_cgroup_frozen(root, 4711), true);
}

static void odd_mounts(void)
{
    fresh("odd");
    check_write(root, "proc/self/cgroup", "0::/../outside\n");
    check_write(root, "proc/self/mountinfo",
                "%01500d 1 0:1 / /long rw - tmpfs x rw\n"
                "40 1 0:26 /my\\040box /cg\\040roup rw - cgroup2 c rw\n", 7);
    check_write(root, "cg roup/cpu.max", "700000 100000\n");
    EXPECT_EQ(os_cgroup_quota(root, 0, 0), 7);
    check_write(root, "proc/self/cgroup", "0::/my box/in\n");
    check_write(root, "cg roup/in/cpu.max", "600000 100000\n");
    EXPECT_EQ(os_cgroup_quota(root, 0, 0), 6);
    check_write(root, "proc/self/cgroup", "0::/my boxer/in\n");     /* another group with the same beginning */
    EXPECT_EQ(os_cgroup_quota(root, 0, 0), 7);
}

static void garbage(void)
{
    static const char *const junk[] = {"", "\n", "::", "0::", "0:/", "0::/", "5:cpu:/x\n0::/y\n", "0::/a/../../..\n",
                                       "\xff\xff", "0::relative\n", "1:cpu:relative\n", "-", " - - -", "0 0 0 / / - cgroup2 a b\n",
                                       "1 2 3 / /m r - cgroup a cpu\n", "1 2 3 \\777 /\\1 - cgroup2\n"};
    static const char *const limits[] = {"", "max", "max 1", "0 0", "1", "1 0", "0 1", "x y", "-5 100", "99999999999999999999 1"};
    enum { J = sizeof junk / sizeof *junk, L = sizeof limits / sizeof *limits };
    fresh("junk");
    for (int i = 0; i < 300; i++) {
        check_write(root, "proc/self/cgroup", "%s%s", junk[check_below(J)], junk[check_below(J)]);
        check_write(root, "proc/self/mountinfo", "%s%s", junk[check_below(J)], junk[check_below(J)]);
        check_write(root, "cpu.max", "%s", limits[check_below(L)]);
        check_write(root, "y/cpu.max", "%s", limits[check_below(L)]);
        check_write(root, "m/cpu.cfs_quota_us", "%s", limits[check_below(L)]);
        check_write(root, "m/cpu.cfs_period_us", "%s", limits[check_below(L)]);
        EXPECT(os_cgroup_quota(root, 0, 0) <= 1024);
    }
}

int main(void)
{
    check_begin(50);
    check_tempdir();
    unified();
    other_process();
    same_path();
    hybrid();
    frozen();
    odd_mounts();
    garbage();
    printf("here: %u\n", os_cgroup_quota("", 0, 0));
    check_remove();
    return check_end();
}
