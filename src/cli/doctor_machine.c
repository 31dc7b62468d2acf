/* src/cli/doctor_machine.c - kernel, shared memory, CPUs, library.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"
#include "cli/doctor.h"
#include "cli/instance.h"
#include "cli/preload.h"
#include "gate/gate.h"
#include <errno.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <limits.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#define TMPFS_MAGIC 0x01021994
#define SHM_LEAST_MIB 4         /* an instance of a few hundred threads needs less than 1 */

#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#endif

/* Major * 100 + minor; 0: not known. */
static int kernel_version(struct utsname *u)
{
    int major = 0, minor = 0;
    return uname(u) == 0 && sscanf(u->release, "%d.%d", &major, &minor) == 2 ? major * 100 + minor : 0;
}

static void check_kernel(void)
{
    struct utsname u = {0};
    bool old = kernel_version(&u) < 504, arch = !strcmp(u.machine, "x86_64");
    if (!u.release[0]) return;
    doctor_find(!arch ? FINDING_BAD : old ? FINDING_WARN : FINDING_GOOD, "kernel", "%s %s %s%s%s", u.sysname, u.release,
                u.machine, arch ? "" : ": usf runs on x86_64 only", old ? ": older than 5.4, never tried" : "");
}

static void check_futex(void)
{
    uint32_t word = 1;
    long r = syscall(SYS_futex, &word, FUTEX_WAIT, 0, NULL, NULL, 0);
    bool ok = r < 0 && errno == EAGAIN;
    doctor_find(ok ? FINDING_GOOD : FINDING_BAD, "futex", "%s", ok ? "works" : "does not work: nothing can be scheduled");
    r = syscall(SYS_futex_waitv, NULL, 0, 0, NULL, 0);
    ok = r < 0 && errno == EINVAL;
    doctor_find(ok ? FINDING_GOOD : FINDING_NOTE, "futex_waitv", "%s",
                ok ? "works" : "not there (needs Linux 5.16, or a filter forbids it)");
}

static void check_membarrier(void)
{
    long r = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);
    bool ok = r >= 0 && (r & MEMBARRIER_CMD_PRIVATE_EXPEDITED);
    doctor_find(ok ? FINDING_GOOD : FINDING_NOTE, "membarrier", "%s", ok ? "works" : "not there: code is patched by stopping threads only");
}

static void check_pidfd(void)
{
    long fd = syscall(SYS_pidfd_open, getpid(), 0);
    if (fd >= 0) close((int)fd);
    doctor_find(fd >= 0 ? FINDING_GOOD : FINDING_WARN, "pidfd", "%s",
                fd >= 0 ? "works" : "not there: the monitor sees deaths late");
}

static void check_user_dispatch(void)
{
    int r = prctl(PR_SET_SYSCALL_USER_DISPATCH, 0, 0, 0, 0);
    doctor_find(FINDING_NOTE, "user dispatch", "%s", r == 0 ? "works (not needed)" : "not there (not needed)");
}

/* Linux's commit 6d71a9c61604 ("Fix EEVDF entity placement bug causing scheduling lag"), which 7.0
 * reverts, is in these: each time the weight of a running group changes, what it is owed grows
 * (docs/performance.md). */
static void check_autogroup(void)
{
    struct utsname u;
    char on[8] = "";
    int version = kernel_version(&u);
    if (version < 612 || version >= 700) return;
    if (os_read_file("/proc/sys/kernel/sched_autogroup_enabled", on, sizeof on) < 0 || *on != '1') return;
    doctor_find(FINDING_NOTE, "autogroup",
                "is on: by a fault of Linux 6.12 to 6.19, a session whose threads wake each other very often may keep all others, "
                "and the kernel's own threads, from a CPU for seconds; as root: sysctl kernel.sched_autogroup_enabled=0");
}

/* The gate writes code that is mapped r-x through /proc/self/mem, and failing that by mprotect. */
static void check_code_writes(void)
{
    long page = sysconf(_SC_PAGESIZE);
    char *code = mmap(NULL, (size_t)page, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (code == MAP_FAILED) {
        doctor_find(FINDING_BAD, "patching", "no executable memory can be mapped: %s", strerror(errno));
        return;
    }
    int fd = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
    bool mem = fd >= 0 && pwrite(fd, "\xc3", 1, (off_t)(uintptr_t)code) == 1;
    if (fd >= 0) close(fd);
    bool protect = !mem && mprotect(code, (size_t)page, PROT_READ | PROT_WRITE) == 0 &&
                   mprotect(code, (size_t)page, PROT_READ | PROT_EXEC) == 0;
    if (mem) doctor_find(FINDING_GOOD, "patching", "code can be written through /proc/self/mem");
    else if (protect) doctor_find(FINDING_NOTE, "patching", "/proc/self/mem cannot be written; mprotect is used instead");
    else doctor_find(FINDING_BAD, "patching", "code can be written neither through /proc/self/mem nor by mprotect");
    munmap(code, (size_t)page);
}

static void check_seccomp(void)
{
    char text[8192], *p;
    int mode = 0, nnp = 0;
    if (os_read_file("/proc/self/status", text, sizeof text) < 0) {
        doctor_find(FINDING_WARN, "/proc", "is not there: programs cannot be told from those that died");
        return;
    }
    if ((p = strstr(text, "\nSeccomp:"))) mode = atoi(p + 9);
    if ((p = strstr(text, "\nNoNewPrivs:"))) nnp = atoi(p + 12);
    doctor_find(mode ? FINDING_NOTE : FINDING_GOOD, "seccomp", "%s%s",
                mode == 2 ? "a filter is in force: calls may be forbidden" : mode == 1 ? "strict mode" : "off",
                nnp ? ", no_new_privs is set" : "");
}

static void check_shm(void)
{
    struct statfs fs;
    char path[64];
    if (statfs(SHM_DIR, &fs)) {
        doctor_find(FINDING_BAD, "shared memory", SHM_DIR ": %s", strerror(errno));
        return;
    }
    unsigned long size = (unsigned long)fs.f_blocks * (unsigned long)fs.f_bsize >> 20,
                  room = (unsigned long)fs.f_bavail * (unsigned long)fs.f_bsize >> 20;
    bool ro = fs.f_flags & ST_RDONLY, tmpfs = (unsigned long)fs.f_type == TMPFS_MAGIC;
    bool none = fs.f_blocks && room < 1, little = fs.f_blocks && room < SHM_LEAST_MIB;
    char sizes[80] = "without a limit";
    if (fs.f_blocks) snprintf(sizes, sizeof sizes, "%lu MiB, %lu MiB free", size, room);
    doctor_find(ro || none ? FINDING_BAD : little || !tmpfs ? FINDING_WARN : FINDING_GOOD, "shared memory",
                SHM_DIR ": %s%s%s%s%s", tmpfs ? "tmpfs, " : "not a tmpfs, ", sizes, ro ? ", read-only" : "",
                fs.f_flags & ST_NOEXEC ? ", noexec (does no harm)" : "", little ? ": too little" : "");
    snprintf(path, sizeof path, SHM_DIR "/.usf-doctor-%d", getpid());
    int fd = open(path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0) {
        doctor_find(FINDING_BAD, "shared memory", "no file can be made in " SHM_DIR ": %s", strerror(errno));
        return;
    }
    unlink(path);
    close(fd);
}

static void check_cpus(void)
{
    struct os_cpuset cpus;
    struct os_cpu_place place[1024];
    char list[256];
    if (allowed_cpus(&cpus)) {
        doctor_find(FINDING_BAD, "CPUs", "the allowed CPUs cannot be found out");
        return;
    }
    memset(place, 0, sizeof place);
    os_topology("", &cpus, place);
    uint32_t nodes = 0, llcs = 0, packages = 0;
    for (unsigned i = 0; i < 1024; i++) {
        if (!os_cpu_isset(&cpus, i)) continue;
        if (place[i].node >= nodes) nodes = place[i].node + 1;
        if (place[i].llc >= llcs) llcs = place[i].llc + 1;
        if (place[i].package >= packages) packages = place[i].package + 1;
    }
    os_cpulist_format(&cpus, list, sizeof list);
    unsigned n = os_cpu_count(&cpus), quota = os_cgroup_quota("", 0, 0);
    doctor_find(FINDING_GOOD, "CPUs", "%u (%s), %u NUMA node%s, %u last-level cache%s, %u package%s", n, list, nodes,
                nodes == 1 ? "" : "s", llcs, llcs == 1 ? "" : "s", packages, packages == 1 ? "" : "s");
    if (quota && quota < n) doctor_find(FINDING_NOTE, "cgroup quota", "programs in it get %u core%s", quota, quota == 1 ? "" : "s");
    else doctor_find(FINDING_GOOD, "cgroup quota", "%s", quota ? "does not bind" : "none");
}

static void check_library(void)
{
    static struct preload lib;
    char why[400];
    struct statfs fs;
    if (preload_find(&lib, why, sizeof why)) {
        doctor_find(FINDING_BAD, "library", "%s", why);
        return;
    }
    if (statfs(lib.path, &fs) == 0 && (fs.f_flags & ST_NOEXEC))
        doctor_find(FINDING_BAD, "library", "%s lies on a file system that is mounted noexec", lib.path);
    else doctor_find(FINDING_GOOD, "library", "%s, build %s", lib.path, *lib.build_id ? lib.build_id : "unknown");
}

static void check_cache_dir(const char *dir)
{
    const char *why = *dir ? gate_cache_flaw(dir) : NULL;
    if (!*dir) doctor_find(FINDING_NOTE, "cache", "no directory: what is learned about libraries is not kept");
    else if (why) doctor_find(FINDING_WARN, "cache", "%s %s: not used", dir, why);
    else if (access(dir, F_OK)) doctor_find(FINDING_NOTE, "cache", "%s: will be made", dir);
    else doctor_find(FINDING_GOOD, "cache", "%s", dir);
}

void doctor_machine(const struct config *c)
{
    doctor_section("machine");
    check_kernel();
    check_futex();
    check_membarrier();
    check_pidfd();
    check_user_dispatch();
    check_autogroup();
    check_code_writes();
    check_seccomp();
    check_shm();
    check_cpus();
    doctor_float_machine();
    doctor_find(FINDING_NOTE, "glibc", "%s", gnu_get_libc_version());
    check_library();
    check_cache_dir(c->s.cache_dir);
}
