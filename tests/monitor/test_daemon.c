/* tests/monitor/test_daemon.c - the monitor as a process of its own.  SPDX-License-Identifier: Apache-2.0 */
#include "monitor_test.h"
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>

static void link_of(pid_t pid, const char *what, char *out, size_t cap)
{
    char path[128];
    snprintf(path, sizeof path, "/proc/%d/%s", pid, what);
    ssize_t n = readlink(path, out, cap - 1);
    out[n < 0 ? 0 : n] = 0;
}

static bool status_has(pid_t pid, const char *line)
{
    char path[64], text[4096];
    snprintf(path, sizeof path, "/proc/%d/status", pid);
    return os_read_file(path, text, sizeof text) > 0 && strstr(text, line);
}

/* Nothing of who started it lives on in it. */
static void is_clean(pid_t pid)
{
    char path[64], text[256];
    EXPECT(SOON(status_has(pid, "Name:\tusf-monitor\n"), 5));
    EXPECT(SOON(status_has(pid, "SigBlk:\t0000000000000000\n"), 5));      /* SIGCHLD is blocked but while it waits */
    EXPECT(getpgid(pid) != getpgrp(), "group %d", getpgid(pid));
    EXPECT_EQ(getsid(pid), getsid(0));      /* it gets the CPU when we do */
    link_of(pid, "cwd", text, sizeof text);
    EXPECT(!strcmp(text, "/"), "%s", text);
    snprintf(path, sizeof path, "/proc/%d/environ", pid);
    EXPECT_EQ(os_read_file(path, text, sizeof text), 0);
    snprintf(path, sizeof path, "/proc/%d/fd", pid);
    DIR *d = opendir(path);
    for (struct dirent *e; d && (e = readdir(d));) {
        if (e->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "fd/%.8s", e->d_name);
        link_of(pid, path, text, sizeof text);
        bool segment = strstr(text, test_config.name) != NULL;
        EXPECT(atoi(e->d_name) < 3 ? !strcmp(text, "/dev/null") : !strncmp(text, "anon_inode:", 11) || segment, "%s: %s", path, text);
    }
    closedir(d);
    struct os_cpuset cpus;
    EXPECT_EQ(os_getaffinity(pid, &cpus), 0);
    EXPECT_EQ(os_cpu_count(&cpus), test_shm.h->nr_cores);
}

/* The process that would start the monitor anew; 0: it has none yet. */
static pid_t supervisor_of(pid_t monitor)
{
    char path[64], text[32] = "";
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", monitor, monitor);
    FILE *f = fopen(path, "r");
    if (f && !fgets(text, sizeof text, f)) text[0] = 0;
    if (f) fclose(f);
    return atoi(text);
}

static void end_monitor(int sig)
{
    pid_t pid = atomic_load(&test_shm.h->namespace[0].monitor_pid), supervisor = 0;
    EXPECT(SOON((supervisor = supervisor_of(pid)), 5));
    kill(pid, SIGSTOP);                 /* it is not to start another */
    kill(supervisor, SIGKILL);
    kill(pid, sig);
    kill(pid, SIGCONT);
    EXPECT(SOON(!monitor_is_alive(test_shm.h->namespace), 5));
}

static bool has_open_file(pid_t pid)
{
    bool has = os_process_maps(pid, test_shm.dev, test_shm.ino);
    char path[64], text[256];
    snprintf(path, sizeof path, "/proc/%d/fd", pid);
    DIR *d = opendir(path);
    for (struct dirent *e; d && (e = readdir(d));) {
        snprintf(path, sizeof path, "fd/%.8s", e->d_name);
        link_of(pid, path, text, sizeof text);
        has |= strstr(text, test_config.name) != NULL;
    }
    if (d) closedir(d);
    return has;
}

/* The supervisor takes over; another one takes its place.  Both can be killed. */
static void test_supervisor(void)
{
    for (int i = 0; i < 3; i++) {
        pid_t monitor = atomic_load(&test_shm.h->namespace[0].monitor_pid), first = 0, supervisor = 0;
        EXPECT(SOON((first = supervisor_of(monitor)), 5));
        kill(first, SIGKILL);
        EXPECT(SOON((supervisor = supervisor_of(monitor)) && supervisor != first, 5));
        EXPECT(SOON(!has_open_file(supervisor), 5));     /* it would keep the monitor's locks */
        kill(monitor, SIGKILL);
        EXPECT(SOON(atomic_load(&test_shm.h->namespace[0].monitor_pid) == supervisor && monitor_is_alive(test_shm.h->namespace), 5));
    }
}

static volatile sig_atomic_t children;
static void child_ended(int sig) { children++; }

int test_daemon(void)
{
    test_make(0);
    EXPECT_EQ(monitor_spawn("/nowhere/usf", test_config.name), -ENOENT);
    EXPECT_EQ(monitor_spawn("/etc/passwd", test_config.name), -EACCES);
    EXPECT_EQ(monitor_spawn("/bin/true", test_config.name), -ECANCELED);
    EXPECT_EQ(monitor_spawn("/proc/self/exe", "there-is-no-such-instance"), -ENOENT);
    EXPECT(!monitor_is_alive(test_shm.h->namespace));

    int inherited = open("/etc/passwd", O_RDONLY);      /* not to be inherited, though it could be */
    sigset_t blocked;
    sigfillset(&blocked);
    sigprocmask(SIG_BLOCK, &blocked, NULL);
    signal(SIGTERM, SIG_IGN);
    EXPECT_EQ(monitor_ensure(test_shm.h, 0, test_config.name, 5 * SECOND), 0);
    EXPECT_EQ(monitor_ensure(test_shm.h, 0, test_config.name, 2 * SECOND), 0);
    EXPECT(SOON(monitor_is_alive(test_shm.h->namespace), 5));
    EXPECT_EQ(monitor_ensure(test_shm.h, 0, test_config.name, 2 * SECOND), 0);
    EXPECT_EQ(test_shm.h->monitor_linger_ns, 2 * SECOND);
    EXPECT(waitpid(-1, NULL, __WALL) < 0 && errno == ECHILD, "a child is left");
    pid_t pid = atomic_load(&test_shm.h->namespace[0].monitor_pid);
    is_clean(pid);
    test_supervisor();
    end_monitor(SIGTERM);               /* neither blocked nor ignored there */
    close(inherited);
    EXPECT(shm_retire_if_empty(&test_shm, NULL));
    return check_end();
}

/* What a program could notice of a revival. */
static _Atomic unsigned long other_thread_rounds;
static _Atomic int stop;

static void *other_thread(void *arg)
{
    while (!atomic_load(&stop)) {
        atomic_fetch_add(&other_thread_rounds, 1);
        /* a shell-like program that waits for any child at any time */
        EXPECT(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD, "a child was seen");
    }
    return arg;
}

static unsigned open_files(void)
{
    unsigned n = 0;
    DIR *d = opendir("/proc/self/fd");
    while (readdir(d)) n++;
    closedir(d);
    return n;
}

static int revive(const char *exe, const char *instance)
{
    int r = monitor_revive(exe, instance);
    return r ? r : monitor_await_revival(0);
}

/* Each has a name of its own: the shell of an earlier one may not have opened its script yet, and
 * would open this one, which then cannot be leased. */
static void make_program(char *path, size_t cap, const char *text)
{
    static unsigned made;
    snprintf(path, cap, "/tmp/usf-revive-%d-%u", getpid(), made++);
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0700);
    EXPECT(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
}

/* Whoever starts a monitor must not wait for its exec.  A lease makes that take as long as we please: the exec opens the file
 * only when we give it back. */
static void slow_exec(void)
{
    char path[64];
    make_program(path, sizeof path, "#!/bin/sh\n");
    signal(SIGIO, SIG_IGN);
    int fd = open(path, O_RDONLY);
    EXPECT_EQ(fcntl(fd, F_SETLEASE, F_WRLCK), 0);
    EXPECT_EQ(monitor_revive(path, "x"), 0);
    EXPECT_EQ(monitor_revive(path, "x"), -EALREADY);
    pid_t child = fork();
    if (child == 0) _exit(revive("/bin/true", "x") ? 1 : 0);      /* that was its parent's */
    int status;
    EXPECT(waitpid(child, &status, 0) == child && status == 0, "status %x", status);
    EXPECT(SOON(fcntl(fd, F_GETLEASE) == F_RDLCK, 5));      /* being broken, by one who waits: it may not be there yet */
    EXPECT_EQ(fcntl(fd, F_SETLEASE, F_UNLCK), 0);
    close(fd);
    EXPECT_EQ(monitor_await_revival(0), 0);
    EXPECT_EQ(revive("/bin/true", "x"), 0);
    unlink(path);
}

/* In another pid namespace it is 2: who that is here is not touched.  0: so it is, or there can be none. */
static int is_not_known(const char *path)
{
    if (unshare(CLONE_NEWPID) && unshare(CLONE_NEWUSER | CLONE_NEWPID)) return 0;
    pid_t init = fork();
    if (!init) pause();
    bool late = !monitor_revive(path, "x") && monitor_await_revival(os_now() + SECOND / 20) == -ETIMEDOUT;
    int r = monitor_drop_revival();
    kill(init, SIGKILL);
    waitpid(init, NULL, 0);         /* once the others of the namespace have ended */
    return !late ? 1 : r != -EXDEV ? 2 : 0;
}

/* Who cannot wait any longer ends it, and nothing else. */
static void no_exec(void)
{
    char path[64], ran[80];
    make_program(path, sizeof path, "#!/bin/sh\ntouch $0.ran\n");
    snprintf(ran, sizeof ran, "%s.ran", path);
    int fd = open(path, O_RDONLY);
    EXPECT_EQ(monitor_drop_revival(), 0);           /* there is none */
    EXPECT_EQ(fcntl(fd, F_SETLEASE, F_WRLCK), 0);
    EXPECT_EQ(monitor_revive(path, "x"), 0);
    EXPECT_EQ(monitor_await_revival(os_now() + SECOND / 20), -ETIMEDOUT);
    EXPECT_EQ(monitor_drop_revival(), 0);
    EXPECT_EQ(monitor_await_revival(os_now() + 20 * SECOND), 0);
    EXPECT_EQ(monitor_drop_revival(), 0);
    EXPECT_EQ(fcntl(fd, F_SETLEASE, F_UNLCK), 0);
    EXPECT(SOON(fcntl(fd, F_SETLEASE, F_WRLCK) == 0, 5));     /* the kernel closes what it had opened a little later */
    if (!fork()) _exit(is_not_known(path));
    int status;
    EXPECT(wait(&status) > 0 && status == 0, "status %x", status);
    EXPECT_EQ(fcntl(fd, F_SETLEASE, F_UNLCK), 0);
    close(fd);
    EXPECT_EQ(revive("/bin/true", "x"), 0);
    EXPECT(access(ran, F_OK) < 0);
    unlink(path);
}

/* Nor is it bound to the CPU of who starts it. */
static void exec_on_any_cpu(void)
{
    char path[64], out[80], text[4096] = "";
    struct os_cpuset cpus, allowed;
    size_t bad;
    make_program(path, sizeof path, "#!/bin/sh\nset -- $(grep Cpus_allowed_list: /proc/self/status)\nprintf %s $2 > $0.new && mv $0.new $0.out\n");
    snprintf(out, sizeof out, "%s.out", path);
    EXPECT_EQ(revive(path, "x"), 0);
    EXPECT(SOON(os_read_file(out, text, sizeof text) > 0, 5));
    EXPECT_EQ(os_cpulist_parse(text, &cpus, &bad), 0);
    EXPECT_EQ(os_cpuset_allowed(&allowed), 0);
    EXPECT(!memcmp(&cpus, &allowed, sizeof cpus), "%s", text);
    unlink(path);
    unlink(out);
}

int test_revive(void)
{
    pthread_t t;
    sigset_t before, after;
    struct sigaction a = {.sa_handler = child_ended}, was;
    test_make(0);
    setenv("LD_PRELOAD", "", 1);
    EXPECT_EQ(monitor_keep(test_shm.h, 0), 0);     /* nobody knows how to start one */
    EXPECT_EQ(monitor_ensure(test_shm.h, 0, test_config.name, 2 * SECOND), 0);
    EXPECT(SOON(monitor_is_alive(test_shm.h->namespace), 5));
    EXPECT_EQ(monitor_keep(test_shm.h, 0), 0);
    end_monitor(SIGKILL);

    int inherited = open("/etc/passwd", O_RDONLY);
    sigaction(SIGCHLD, &a, NULL);
    signal(SIGTERM, SIG_IGN);
    sigemptyset(&before);
    sigaddset(&before, SIGUSR2);
    sigprocmask(SIG_SETMASK, &before, NULL);
    os_pin(0, shm_cores(test_shm.h)[0].pol.cpu);
    pthread_create(&t, NULL, other_thread, NULL);
    while (!atomic_load(&other_thread_rounds)) sched_yield();
    unsigned files = open_files();
    uint64_t start = os_now();
    EXPECT_EQ(monitor_keep(test_shm.h, 0), 1);
    printf("revived in %lu us\n", (unsigned long)(os_now() - start) / 1000);
    EXPECT(monitor_keep(test_shm.h, 0) >= 0);       /* it was just tried, or lives */
    EXPECT_EQ(open_files(), files);
    sigprocmask(SIG_SETMASK, NULL, &after);
    EXPECT(!memcmp(&before, &after, 8));
    sigaction(SIGCHLD, NULL, &was);
    EXPECT(was.sa_handler == child_ended);
    EXPECT(SOON(monitor_is_alive(test_shm.h->namespace), 5));
    EXPECT(waitpid(-1, NULL, __WALL | WNOHANG) < 0 && errno == ECHILD, "a child is left");
    is_clean(atomic_load(&test_shm.h->namespace[0].monitor_pid));
    end_monitor(SIGTERM);

    EXPECT_EQ(revive("/nowhere/usf", test_config.name), -ENOENT);
    EXPECT_EQ(revive("/etc/passwd", test_config.name), -EACCES);
    for (int i = 0; i < 20; i++) EXPECT_EQ(revive("/bin/true", "x"), 0);
    atomic_store(&stop, 1);
    pthread_join(t, NULL);
    EXPECT_EQ(children, 0);
    EXPECT(waitpid(-1, NULL, __WALL | WNOHANG) < 0 && errno == ECHILD, "a child is left");
    close(inherited);
    EXPECT(shm_retire_if_empty(&test_shm, NULL));
    return check_end();
}

int test_exec(void)
{
    test_make(0);
    os_pin(0, shm_cores(test_shm.h)[0].pol.cpu);
    slow_exec();
    no_exec();
    exec_on_any_cpu();
    EXPECT(shm_retire_if_empty(&test_shm, NULL));
    return check_end();
}
