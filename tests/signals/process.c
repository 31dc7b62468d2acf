/* tests/signals/process.c - signals that meet fork and exec.  SPDX-License-Identifier: Apache-2.0
 *
 * Whatever arrives while a process forks, execs or fails to: nobody's mask changes, ignored signals stay ignored, a handler runs
 * or not, but a program never starts with signals blocked that nobody has blocked.  And faults that are ignored end it. */
#include "../pthread/stress.h"

#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>

extern char **environ;
static const char *self;

/* What SIGSEGV, SIGBUS and SIGURG are to a program that has just been started: one letter each; and its mask. */
static int report(const char *expected)
{
    static const int sigs[] = { SIGSEGV, SIGBUS, SIGURG };
    sigset_t mask;
    char got[4] = "";
    sigprocmask(SIG_BLOCK, NULL, &mask);
    for (int s = 1; s < NSIG; s++)
        if (sigismember(&mask, s) == 1) {
            fprintf(stderr, "started with signal %d blocked\n", s);
            return 1;
        }
    for (int i = 0; i < 3; i++) {
        struct sigaction sa;
        sigaction(sigs[i], NULL, &sa);
        got[i] = sa.sa_handler == SIG_DFL ? 'd' : sa.sa_handler == SIG_IGN ? 'i' : '?';
    }
    if (strcmp(got, expected) != 0) {
        fprintf(stderr, "started with actions %s instead of %s\n", got, expected);
        return 1;
    }
    return 0;
}

static bool nothing_blocked(void)
{
    sigset_t mask;
    sigprocmask(SIG_BLOCK, NULL, &mask);
    for (int s = 1; s < NSIG; s++)
        if (sigismember(&mask, s) == 1)
            return false;
    return true;
}

static _Atomic long handled;
static void count(int s)
{
    (void)s;
    handled++;
}

static void handle(int s, void (*fn)(int), int flags)
{
    struct sigaction sa = { .sa_handler = fn, .sa_flags = flags };
    sigemptyset(&sa.sa_mask);
    CHECK_EQ(sigaction(s, &sa, NULL), 0);
}

static void tick(long us)
{
    struct itimerval it = { { 0, us }, { 0, us } };
    CHECK_EQ(setitimer(ITIMER_REAL, &it, NULL), 0);
}

static void expect_exit(pid_t pid, const char *what)
{
    int status;
    CHECK(pid > 0);
    while (waitpid(pid, &status, 0) < 0)
        CHECK_EQ(errno, EINTR);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return;
    fprintf(stderr, "%s: child ended with status 0x%x\n", what, (unsigned)status);
    exit(1);
}

/* A timer at 10 kHz: each child has the mask that its parent has. */
static void fork_under_timer(void)
{
    handle(SIGALRM, count, SA_RESTART);
    tick(100);
    for (long i = 0; i < 40 * rounds; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            struct itimerval off = { 0 };
            setitimer(ITIMER_REAL, &off, NULL);
            _exit(!nothing_blocked());
        }
        expect_exit(pid, "fork under a timer");
        CHECK(nothing_blocked());
    }
    tick(0);
}

/* A child that execs while it gets signals that are handled here, and ignored in what it starts. */
static void exec_under_signals(void)
{
    handle(SIGWINCH, count, SA_RESTART);
    for (long i = 0; i < 20 * rounds; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            execl(self, self, "report", "ddd", NULL);
            _exit(2);
        }
        int status;
        pid_t r;
        while ((r = waitpid(pid, &status, WNOHANG)) == 0 || (r < 0 && errno == EINTR)) {
            kill(pid, SIGWINCH);
            sleep_us(i % 50);
        }
        CHECK_EQ(r, pid);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
}

/* Handlers run also during an exec that fails, and after it all is as before. */
static void failing_exec(void)
{
    char dir[] = "/tmp/usf-test-exec-XXXXXX", path[64];
    CHECK(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/script", dir);
    FILE *f = fopen(path, "w");
    CHECK(f && fputs("#!/nonexistent/interpreter\n", f) >= 0 && fclose(f) == 0 && chmod(path, 0700) == 0);
    handle(SIGALRM, count, SA_RESTART);
    signal(SIGURG, SIG_IGN);
    signal(SIGSEGV, SIG_IGN);
    long before = handled;
    tick(100);
    for (long i = 0; i < 20 * rounds; i++) {
        CHECK(execl(path, path, NULL) == -1 && errno == ENOENT);
        CHECK(nothing_blocked());
    }
    while (handled < before + 20)
        sleep_us(1000);
    tick(0);
    CHECK(syscall(SYS_futex, (void *)64, 128, 0, NULL) == -1 && errno == EFAULT);
    signal(SIGURG, SIG_DFL);
    signal(SIGSEGV, SIG_DFL);
    unlink(path);
    rmdir(dir);
}

static void spawn(const posix_spawnattr_t *attr, const char *expected)
{
    char *argv[] = { (char *)self, "report", (char *)expected, NULL };
    pid_t pid;
    CHECK_EQ(posix_spawn(&pid, self, NULL, attr, argv, environ), 0);
    expect_exit(pid, "posix_spawn");
    if (attr)
        return;
    pid = fork();
    if (pid == 0) {
        execv(self, argv);
        _exit(2);
    }
    expect_exit(pid, "fork and exec");
}

/* Ignored signals are inherited, handled ones are reset; the three are also those that usf handles itself. */
static void inherited(void)
{
    static const int sigs[] = { SIGSEGV, SIGBUS, SIGURG };
    posix_spawnattr_t attr;
    sigset_t set;
    spawn(NULL, "ddd");
    for (int i = 0; i < 3; i++)
        signal(sigs[i], SIG_IGN);
    spawn(NULL, "iii");
    sigemptyset(&set);
    sigaddset(&set, SIGURG);
    CHECK_EQ(posix_spawnattr_init(&attr), 0);
    CHECK_EQ(posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGDEF), 0);
    CHECK_EQ(posix_spawnattr_setsigdefault(&attr, &set), 0);
    spawn(&attr, "iid");
    posix_spawnattr_destroy(&attr);
    for (int i = 0; i < 3; i++)
        signal(sigs[i], count);
    spawn(NULL, "ddd");
    for (int i = 0; i < 3; i++)
        signal(sigs[i], SIG_DFL);
}

/* Children that set handlers while another thread of their parent's was doing so. */
/* Ignored, a fault ends the program all the same, and one that is sent does not. */
static void ignored_fault(void)
{
    static const int faults[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP };
    for (unsigned i = 0; i < sizeof faults / sizeof *faults; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            struct rlimit no_core = { 0, 0 };
            setrlimit(RLIMIT_CORE, &no_core);
            handle(faults[i], SIG_IGN, 0);
            kill(getpid(), faults[i]);
            switch (faults[i]) {
            case SIGSEGV: *(volatile int *)NULL = 1; break;
            case SIGBUS: {
                int fd = memfd_create("empty", 0);
                *(volatile int *)mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) = 1;
                break;
            }
            case SIGFPE: __asm__ volatile("idivl %0" :: "r"(0), "a"(1), "d"(0)); break;
            case SIGILL: __asm__ volatile("ud2"); break;
            default: __asm__ volatile("int3"); break;
            }
            _exit(0);
        }
        int status;
        CHECK_EQ(waitpid(pid, &status, 0), pid);
        CHECK(WIFSIGNALED(status) && WTERMSIG(status) == faults[i]);
    }
}

static _Atomic bool quit;
static void *set_handlers(void *arg)
{
    while (!quit) {
        for (int i = 0; i < 20; i++) {
            signal(SIGUSR2, count);
            signal(SIGUSR2, SIG_IGN);
        }
        sched_yield();
    }
    return arg;
}

static void fork_beside_sigaction(void)
{
    pthread_t th;
    quit = false;
    CHECK_EQ(pthread_create(&th, NULL, set_handlers, NULL), 0);
    for (long i = 0; i < 20 * rounds; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            alarm(20);
            signal(SIGUSR1, count);
            raise(SIGUSR1);
            _exit(handled == 0);
        }
        expect_exit(pid, "fork beside sigaction");
    }
    quit = true;
    pthread_join(th, NULL);
}

/* A handler that forks on top of a wait.  Parent and child both return into it, and go on waiting. */
static sem_t *posted;
static sem_t private_sem;
static _Atomic pid_t child;
static _Atomic bool is_child;
static pid_t fork_child(void)
{
    pid_t pid = fork();
    child = pid;
    return pid;
}

static void fork_here(int s)
{
    int e = errno;
    struct itimerval it = { { 0, 0 }, { 0, 2000 } };
    (void)s;
    if (is_child) {                                 /* some time after it has gone back to its wait */
        sem_post(&private_sem);
        alarm(20);
    } else if (fork_child() == 0) {
        is_child = true;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        setitimer(ITIMER_REAL, &it, NULL);
    }
    errno = e;
}

static void *post_later(void *arg)
{
    while (child == 0)
        sleep_us(500);
    sleep_us(3000);
    for (int i = 0; i < 50; i++) {                  /* the waiter's word changes hands again and again */
        sem_post(&private_sem);
        sleep_us(200);
    }
    return arg;
}

static void fork_in_handler(int flags)
{
    pthread_t th;
    sigset_t alarms;
    handle(SIGALRM, fork_here, flags);
    for (long n = 0; n < rounds / 2 + 1; n++) {
        child = 0;
        CHECK_EQ(sem_init(&private_sem, 0, 0), 0);
        sigemptyset(&alarms);
        sigaddset(&alarms, SIGALRM);
        CHECK_EQ(pthread_sigmask(SIG_BLOCK, &alarms, NULL), 0);
        CHECK_EQ(pthread_create(&th, NULL, post_later, NULL), 0);
        CHECK_EQ(pthread_sigmask(SIG_UNBLOCK, &alarms, NULL), 0);
        struct itimerval it = { { 0, 0 }, { 0, 2000 } };
        CHECK_EQ(setitimer(ITIMER_REAL, &it, NULL), 0);
        for (int i = 0; i < 50 && !is_child; i++)
            while (!is_child && sem_wait(&private_sem) != 0)
                CHECK_EQ(errno, EINTR);
        if (is_child) {
            for (int i = 0; i < 20; i++) {
                struct timespec t = after_us(CLOCK_REALTIME, 1000);
                sem_post(posted);
                CHECK(sem_timedwait(&private_sem, &t) == 0 || errno == ETIMEDOUT || errno == EINTR);
            }
            _exit(0);
        }
        pthread_join(th, NULL);
        expect_exit(child, "fork in a handler");
        for (int i = 0; i < 20; i++)
            CHECK_EQ(sem_trywait(posted), 0);
        sem_destroy(&private_sem);
    }
}

int main(int argc, char **argv)
{
    if (argc > 2 && strcmp(argv[1], "report") == 0)
        return report(argv[2]);
    stress_start(argc, argv, 10);
    self = argv[0];
    posted = shared_memory(sizeof *posted);
    CHECK_EQ(sem_init(posted, 1, 0), 0);
    static const struct { const char *name; void (*fn)(void); } parts[] = {
        { "inherited", inherited }, { "fork under a timer", fork_under_timer }, { "exec under signals", exec_under_signals },
        { "failing exec", failing_exec }, { "ignored fault", ignored_fault }, { "fork beside sigaction", fork_beside_sigaction },
    };
    for (unsigned i = 0; i < sizeof parts / sizeof *parts; i++) {
        printf("%s\n", parts[i].name);
        fflush(stdout);
        if (!getenv("PART") || strcmp(getenv("PART"), parts[i].name) == 0)
            parts[i].fn();
    }
    printf("fork in a handler\n");
    fflush(stdout);
    fork_in_handler(SA_RESTART);
    fork_in_handler(0);
    return 0;
}
