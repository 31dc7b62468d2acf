/* tests/spawn/limits.c - descriptors, limits, roots and users.  SPDX-License-Identifier: Apache-2.0 */
#include "case.h"

#include <dirent.h>
#include <grp.h>
#include <linux/capability.h>
#include <sys/mount.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <time.h>

/* ---- descriptors -------------------------------------------------------------------------------------------------- */
/* The library's own must neither be seen nor be missed. */
static void works_without(const char *title, void (*close_them)(void))
{
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        crowd_start(4);
        close_them();
        bool good = works() && child_works();
        int fd = open("/dev/null", O_RDWR);
        good &= fd >= 0;
        nap_ms(20);
        _exit(good && !check_failed() ? fd : 200);
    }
    printf("%s: lowest free %s\n", title, end_of(pid));
}

static void range_from_3(void) { syscall(SYS_close_range, 3u, ~0u, 0u); }
static void range_from_0(void) { syscall(SYS_close_range, 0u, ~0u, 0u); }
static void range_unshare(void) { syscall(SYS_close_range, 3u, ~0u, 2u /* CLOSE_RANGE_UNSHARE */); }
static void range_cloexec(void) { syscall(SYS_close_range, 3u, ~0u, 4u /* CLOSE_RANGE_CLOEXEC */); }
static void from_3(void) { closefrom(3); }
static void loop(void)
{
    for (int fd = (int)sysconf(_SC_OPEN_MAX) > 65536 ? 65536 : (int)sysconf(_SC_OPEN_MAX); fd >= 0; fd--) close(fd);
}
static void none_allowed(void)
{
    struct rlimit l = {0, 0};
    setrlimit(RLIMIT_NOFILE, &l);
    l = (struct rlimit){1, 1};
    setrlimit(RLIMIT_NOFILE, &l);
}
static void listed(void)
{
    DIR *d = opendir("/proc/self/fd");
    struct dirent *e;
    int fd[256], n = 0;
    while (d && (e = readdir(d)) && n < 256) if (*e->d_name != '.' && atoi(e->d_name) > 2) fd[n++] = atoi(e->d_name);
    while (n) close(fd[--n]);
}

CASE(close_all)
{
    works_without("close_range from 3", range_from_3);
    works_without("close_range from 0", range_from_0);
    works_without("close_range, unshared", range_unshare);
    works_without("close_range, on exec", range_cloexec);
    works_without("closefrom", from_3);
    works_without("loop", loop);
    works_without("as /proc lists them", listed);
}

CASE(lowest)                /* what opens a file gets the lowest number that is free, whatever else goes on */
{
    int want = dup(1), wrong = 0;
    close(want);
    crowd_start(8);
    int first = dup(1);
    close(first);
    for (int i = 0; i < 150000; i++) {
        int fd = dup(1);
        wrong += fd != first;
        close(fd);
    }
    crowd_end();
    printf("%d numbers behind, %d wrong\n", first - want, wrong);
}

CASE(no_files_allowed)      /* threads, forks and waits need none */
{
    pid_t pid = fork();
    if (pid == 0) {
        none_allowed();
        _exit(works() && child_works() ? 0 : 1);
    }
    printf("%s\n", end_of(pid));
    pid = fork();
    if (pid == 0) {
        none_allowed();
        execl("/bin/busybox", "busybox", "true", NULL);     /* needs no library */
        _exit(errno == ENOENT ? 0 : errno);
    }
    printf("static program: %s\n", end_of(pid));
}

CASE(list_of_descriptors)   /* what /proc says is what it says bare */
{
    DIR *d = opendir("/proc/self/fd");
    struct dirent *e;
    while (d && (e = readdir(d))) if (*e->d_name != '.') printf("%s ", e->d_name);
    printf("\n");
}

/* ---- limits -------------------------------------------------------------------------------------------------------- */
static volatile sig_atomic_t over;
static void on_over(int sig) { over = sig; }

static void burn(void) { while (!over) for (volatile int i = 0; i < 10000; i++); }

static void within(const char *title, int what, rlim_t soft, void (*then)(void))
{
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        struct rlimit l = {soft, soft == RLIM_INFINITY ? RLIM_INFINITY : soft + 1};
        EXPECT(works());
        getrlimit(what, &l);
        l.rlim_cur = soft;
        EXPECT(setrlimit(what, &l) == 0);
        if (then) then();
        end_working();
    }
    printf("%s: %s\n", title, end_of(pid));
}

static void *one_of_them(void *arg) { return arg; }

static void too_much_memory(void)
{
    EXPECT(mmap(NULL, (size_t)64 << 30, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) == MAP_FAILED && errno == ENOMEM);
    pthread_attr_t at;
    pthread_t t;
    pthread_attr_init(&at);
    pthread_attr_setstacksize(&at, (size_t)8 << 30);
    EXPECT(pthread_create(&t, &at, one_of_them, NULL) == EAGAIN);
}

static void too_big_a_file(void)
{
    char text[5000] = "";
    signal(SIGXFSZ, on_over);
    int fd = memfd_create("file", MFD_CLOEXEC);
    EXPECT(write(fd, text, sizeof text) == 4096);
    EXPECT(write(fd, text, 1) < 0 && errno == EFBIG && over == SIGXFSZ);
}

static void too_long(void)
{
    signal(SIGXCPU, on_over);
    crowd_start(3);
    burn();
    crowd_end();
    EXPECT(over == SIGXCPU);
    struct rlimit no = {RLIM_INFINITY, RLIM_INFINITY};
    setrlimit(RLIMIT_CPU, &no);
}
static void dies_of_it(void) { burn(); }

static void no_locked_memory(void)
{
    static char page[4096] __attribute__((aligned(4096)));
    int r = mlock(page, sizeof page);       /* root may */
    EXPECT(r == 0 || errno == EPERM || errno == ENOMEM);
}

CASE(limits)
{
    within("memory", RLIMIT_AS, (rlim_t)4 << 30, too_much_memory);
    within("stack", RLIMIT_STACK, 128 << 10, NULL);
    within("stack unlimited", RLIMIT_STACK, RLIM_INFINITY, NULL);
    within("file size", RLIMIT_FSIZE, 4096, too_big_a_file);
    within("no file size", RLIMIT_FSIZE, 0, NULL);
    within("core", RLIMIT_CORE, 0, NULL);
    within("locked memory", RLIMIT_MEMLOCK, 0, no_locked_memory);
    within("data", RLIMIT_DATA, 8 << 20, NULL);
    within("pending signals", RLIMIT_SIGPENDING, 0, NULL);
    within("priority", RLIMIT_RTPRIO, 0, NULL);
    within("real time", RLIMIT_RTTIME, 1000000, NULL);
}

CASE(cpu_time)
{
    within("handled", RLIMIT_CPU, 1, too_long);
    within("not handled", RLIMIT_CPU, 1, dies_of_it);
}

CASE(plain) { printf("works %d\n", works()); }     /* the driver sets limits before the start */

/* ---- roots ---------------------------------------------------------------------------------------------------------- */
static void in_root(const char *title, bool proc, bool shm)
{
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        char dir[] = "/tmp/usf-spawn-root-XXXXXX", path[64];
        EXPECT(unshare(CLONE_NEWNS) == 0 && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
        EXPECT(mkdtemp(dir) != NULL && mount("none", dir, "tmpfs", 0, NULL) == 0);
        static const char *const bound[] = {"/usr", "/lib", "/lib64", "/bin", "/dev", "/proc"};
        for (int i = 0; i < 6; i++) {
            snprintf(path, sizeof path, "%s%s", dir, bound[i]);
            EXPECT(mkdir(path, 0755) == 0);
            if ((i == 4 && !shm) || (i == 5 && !proc)) continue;
            EXPECT(mount(bound[i], path, NULL, MS_BIND | MS_REC, NULL) == 0);
        }
        EXPECT(chroot(dir) == 0 && chdir("/") == 0);
        EXPECT(works());
        child_works();
        shell_works();
        end_working();
    }
    printf("%s: %s\n", title, end_of(pid));
    if (system("rmdir /tmp/usf-spawn-root-* 2>/dev/null") < 0) printf("no shell\n");
}

CASE(chroot)
{
    in_root("all there", true, true);
    in_root("no /proc", false, true);
    in_root("no /dev", true, false);
    in_root("neither", false, false);
}

/* ---- users ------------------------------------------------------------------------------------------------------------ */
static void as_user(const char *title, int how, bool threads)
{
    struct __user_cap_header_struct h = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct c[2] = {{0}, {0}};
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        EXPECT(works());
        if (threads) crowd_start(6);
        switch (how) {
        case 0: EXPECT(setgid(65534) == 0 && setuid(65534) == 0); break;
        case 1: EXPECT(setresuid(65534, 65534, 65534) == 0); break;
        case 2: EXPECT(seteuid(65534) == 0 && works() && seteuid(0) == 0); break;
        case 3: EXPECT(syscall(SYS_capset, &h, c) == 0); break;
        case 4: EXPECT(setgroups(0, NULL) == 0 && setregid(65534, 65534) == 0 && setreuid(65534, 65534) == 0); break;
        case 5: EXPECT(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0); break;
        case 6: EXPECT(setfsuid(65534) == 0); break;
        case 7: EXPECT(prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) == 0 && setuid(65534) == 0); break;
        case 8: EXPECT(syscall(SYS_setresuid, 65534, 65534, 65534) == 0); break;     /* this thread alone */
        }
        EXPECT(works());
        child_works();
        shell_works();
        if (threads) crowd_end();
        end_working();
    }
    printf("%s%s: %s\n", title, threads ? " with threads" : "", end_of(pid));
}

CASE(users)
{
    static const char *const title[] = {"setuid", "setresuid", "seteuid and back", "capset", "setreuid", "no new privileges, not dumpable", "setfsuid",
                                        "setuid that keeps capabilities", "raw setresuid"};
    for (int i = 0; i < 9; i++) {
        as_user(title[i], i, false);
        as_user(title[i], i, true);
    }
}
