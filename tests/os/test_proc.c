/* tests/os/test_proc.c - processes and threads.  SPDX-License-Identifier: Apache-2.0 */
#include "check.h"
#include "os/os.h"
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

static void stat_text(void)
{
    static const struct { const char *text; uint64_t want; } t[] = {
        {"1 (a) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711 20 21\n", 4711},
        {"1 (a) b) R 1 2) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711 20\n", 4711},
        {"1 () R) S 1 2 -3 4 -5 6 7 8 9 10 11 12 13 14 15 16 17 18 99\n", 99},
        {"1 (\n) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 18446744073709551615 1\n", UINT64_MAX},
        {"1 (a) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18", 0},
        {"1 (a) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 ", 0},
        {"1 (a) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 x 1", 0},
        {"1 (a) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 99999999999999999999 1", 0},
        {"", 0}, {")", 0}, {") ", 0}, {"no parenthesis at all", 0}, {"1 (a)", 0}, {"1 (a)S 1", 0},
    };
    for (unsigned i = 0; i < sizeof t / sizeof *t; i++)
        EXPECT(os_start_time_in(t[i].text, (long)strlen(t[i].text)) == t[i].want, "case %u", i);
    for (int i = 0; i < 100000; i++) {
        static const char letters[] = "0123 ()S\n";
        char text[128];
        size_t n = check_below(sizeof text);
        for (size_t k = 0; k < n; k++) text[k] = letters[check_below(sizeof letters - 1)];
        text[n] = 0;
        os_start_time_in(text, (long)n);
    }
}

/* `ps` reads the same field in its own way. */
static void own_start(void)
{
    char path[64], line[1024];
    unsigned long long want = 0;
    prctl(PR_SET_NAME, ") R 1 2 (x)");
    snprintf(path, sizeof path, "/proc/%d/stat", getpid());
    FILE *f = fopen(path, "r");
    if (!f || !fgets(line, sizeof line, f)) exit(SKIP);
    fclose(f);
    sscanf(strstr(line, "(x)) ") + 5, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu", &want);
    EXPECT_EQ(os_start_time(getpid()), want);
    EXPECT(want != 0);
    EXPECT_EQ(os_start_time(0x7ffffff0), 0);
    EXPECT_EQ(os_getpid(), getpid());
    EXPECT_EQ(os_gettid(), gettid());
    char link[64] = "";
    if (readlink("/proc/self/ns/pid", link, sizeof link - 1) < 0) exit(SKIP);
    EXPECT_EQ(os_pidns_inode(os_pidns()), strtoll(link + strlen("pid:["), NULL, 10));
}

static char state_soon(pid_t pid, pid_t tid, char wanted)
{
    char c = 0;
    for (int i = 0; i < 2000 && (c = os_thread_state(pid, tid)) != wanted; i++) usleep(1000);
    return c;
}

/* As libc names another process's clock. */
static void cpu_time(void)
{
    struct timespec before, after;
    clockid_t clock;
    pid_t child = fork();
    if (child == 0) for (;;) pause();
    EXPECT_EQ(state_soon(child, child, 'S'), 'S');
    EXPECT(clock_getcpuclockid(child, &clock) == 0 && clock_gettime(clock, &before) == 0);
    uint64_t ns = os_process_cpu_ns(child);
    clock_gettime(clock, &after);
    EXPECT(ns && ns >= (uint64_t)(before.tv_sec * 1000000000L + before.tv_nsec) && ns <= (uint64_t)(after.tv_sec * 1000000000L + after.tv_nsec));
    kill(child, SIGKILL);
    EXPECT(waitpid(child, NULL, 0) == child);
    EXPECT_EQ(os_process_cpu_ns(child), 0);
}

static void states(void)
{
    pid_t child = fork();
    if (child == 0) for (;;) pause();
    EXPECT_EQ(state_soon(child, child, 'S'), 'S');
    EXPECT(!os_process_ended(child));
    kill(child, SIGSTOP);
    EXPECT_EQ(state_soon(child, child, 'T'), 'T');
    EXPECT(!os_process_ended(child));
    kill(child, SIGKILL);
    EXPECT_EQ(state_soon(child, child, 'Z'), 'Z');
    EXPECT(os_process_ended(child), "a zombie has ended");
    EXPECT(os_start_time(child) != 0);
    waitpid(child, NULL, 0);
    EXPECT_EQ(os_thread_state(child, child), 0);
    EXPECT(os_process_ended(child));
    EXPECT_EQ(os_thread_state(getpid(), getpid()), 'R');
}

static _Atomic int32_t waits_as;

static void *waits(void *arg)
{
    (void)arg;
    waits_as = gettid();
    while (pause() < 0) continue;
    return NULL;
}

/* A thread that is not its process's first: it is found by its own number (why: os_thread_file), and only as one of its process. */
static void thread_of_process(void)
{
    static struct os_looks looks;
    pthread_t thread;
    EXPECT_EQ(pthread_create(&thread, NULL, waits, NULL), 0);
    while (!waits_as) usleep(100);
    EXPECT_EQ(state_soon(getpid(), waits_as, 'S'), 'S');
    EXPECT(os_thread_cpu_ns(getpid(), waits_as) > 0);
    EXPECT_EQ(os_thread_state(getppid(), waits_as), 0);
    EXPECT_EQ(os_look_at_thread(&looks, getpid(), waits_as).state, 'S');
    char link[64], is[64] = "", should[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", looks.at[(uint32_t)waits_as % OS_KEPT_LOOKS].fd);
    snprintf(should, sizeof should, "/proc/%d/task/%d/stat", waits_as, waits_as);
    EXPECT(readlink(link, is, sizeof is - 1) > 0);
    EXPECT(strcmp(is, should) == 0, "%s is not %s", is, should);
    os_forget_looks(&looks);
}

/* What a kept file tells is of now; a thread that has ended, and more threads than files are kept. */
static void kept_looks(void)
{
    static struct os_looks looks;
    int32_t self = getpid();
    sigset_t urg;
    EXPECT_EQ(os_look_at_thread(&looks, self, self).state, 'R');
    EXPECT_EQ(os_look_at_thread(&looks, self, self).state, 'R');
    EXPECT_EQ(os_look_at_thread(&looks, self, self).blocked >> (SIGURG - 1) & 1, 0);
    sigemptyset(&urg);
    sigaddset(&urg, SIGURG);
    sigprocmask(SIG_BLOCK, &urg, NULL);
    EXPECT_EQ(os_look_at_thread(&looks, self, self).blocked >> (SIGURG - 1) & 1, 1);
    sigprocmask(SIG_UNBLOCK, &urg, NULL);
    pid_t first = fork();
    if (first == 0) for (;;) pause();
    EXPECT_EQ(state_soon(first, first, 'S'), 'S');
    EXPECT_EQ(os_look_at_thread(&looks, first, first).state, 'S');
    kill(first, SIGKILL);
    waitpid(first, NULL, 0);
    EXPECT_EQ(os_look_at_thread(&looks, first, first).state, 0);
    int before = open("/dev/null", O_RDONLY | O_CLOEXEC);
    close(before);
    for (int i = 0; i < 200; i++) {
        pid_t child = fork();
        if (child == 0) _exit(0);
        EXPECT_EQ(state_soon(child, child, 'Z'), 'Z');
        EXPECT_EQ(os_look_at_thread(&looks, child, child).state, 'Z');
        waitpid(child, NULL, 0);
        EXPECT_EQ(os_look_at_thread(&looks, self, self).state, 'R');
    }
    int last = open("/dev/null", O_RDONLY | O_CLOEXEC);
    EXPECT(last <= before + (int)OS_KEPT_LOOKS, "descriptor %d after %d: the older ones are closed", last, before);
    close(last);
    struct rlimit was, none;
    getrlimit(RLIMIT_NOFILE, &was);
    none = was;
    none.rlim_cur = (rlim_t)last;           /* all below it are in use */
    setrlimit(RLIMIT_NOFILE, &none);
    EXPECT_EQ(os_look_at_thread(&looks, 1, 1).state != 0, 1);
    setrlimit(RLIMIT_NOFILE, &was);
    os_forget_looks(&looks);
    last = open("/dev/null", O_RDONLY | O_CLOEXEC);
    EXPECT_EQ(last <= before, 1);
    close(last);
}

/* In a pid namespace with the /proc of the outer one: number 1 is another process there. */
static void foreign_proc(void)
{
    EXPECT(os_proc_is_ours());
    pid_t child = fork();
    if (child == 0) {
        if (unshare(CLONE_NEWUSER | CLONE_NEWPID) && unshare(CLONE_NEWPID)) _exit(0);
        pid_t inner = fork();
        if (inner) {
            int status = 1;
            waitpid(inner, &status, 0);
            _exit(status != 0);
        }
        EXPECT(getpid() == 1 && !os_proc_is_ours());
        EXPECT_EQ(os_start_time(1), 0);
        EXPECT_EQ(os_thread_state(1, 1), 0);
        EXPECT(!os_thread_ended(1, 1) && !os_process_ended(1));
        EXPECT(os_process_maps(1, 1, 1) && !os_process_surely_maps(1, 1, 1), "it cannot be told");
        EXPECT(os_cgroup_key(1) == 0);
        _exit(check_failed());
    }
    int status = 1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
}

static void *wait_for_ever(void *arg)
{
    for (;;) pause();
    return arg;
}

/* The first thread has ended and shows as a zombie, the process lives. */
static void headless(void)
{
    pid_t child = fork();
    if (child == 0) {
        pthread_t t;
        pthread_create(&t, NULL, wait_for_ever, NULL);
        syscall(SYS_exit, 0);
    }
    EXPECT_EQ(state_soon(child, child, 'Z'), 'Z');
    EXPECT(!os_process_ended(child), "its other thread lives");
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    EXPECT(os_process_ended(child));
}

static volatile sig_atomic_t got;
static uint64_t got_value;
static int got_code, got_pid;

static void handler(int sig, siginfo_t *info, void *context)
{
    got_value = (uint64_t)info->si_value.sival_ptr;
    got_code = info->si_code;
    got_pid = info->si_pid;
    got = sig;
}

static void signals(void)
{
    struct sigaction a = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
    sigaction(SIGURG, &a, NULL);
    EXPECT_EQ(os_signal_thread(getpid(), gettid(), SIGURG, 0x123456789abcdef0), 0);
    EXPECT(got == SIGURG && got_value == 0x123456789abcdef0 && got_code == SI_QUEUE && got_pid == getpid());
    EXPECT_EQ(os_signal_thread(getpid(), 0x7ffffff0, SIGURG, 0), -ESRCH);

    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGURG);
    sigprocmask(SIG_BLOCK, &set, NULL);
    EXPECT_EQ(os_own_pending(), 0);
    raise(SIGURG);
    EXPECT_EQ(os_own_pending(), 1ull << (SIGURG - 1));
    EXPECT_EQ(sigtimedwait(&set, NULL, &(struct timespec){0}), SIGURG);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
}

static void users_of_files(void)
{
    char path[128];
    struct os_stat st;
    snprintf(path, sizeof path, "%s/mapped", check_dir);
    int fd = open(path, O_CREAT | O_RDWR, 0600);
    if (ftruncate(fd, 8192)) exit(1);
    EXPECT_EQ(os_fstat(fd, &st), 0);
    EXPECT_EQ(os_file_user(st.dev, st.ino), 0);
    void *p = mmap(NULL, 8192, PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    EXPECT_EQ(os_file_user(st.dev, st.ino), getpid());
    munmap(p, 8192);
    EXPECT_EQ(os_file_user(st.dev, st.ino), 0);
}

int main(void)
{
    check_begin(50);
    check_tempdir();
    stat_text();
    own_start();
    cpu_time();
    states();
    thread_of_process();
    kept_looks();
    foreign_proc();
    headless();
    signals();
    users_of_files();
    check_remove();
    return check_end();
}
