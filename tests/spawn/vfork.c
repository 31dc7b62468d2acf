/* tests/spawn/vfork.c - vfork, posix_spawn, system, popen, daemon.  SPDX-License-Identifier: Apache-2.0 */
#include "../asleep.h"
#include "case.h"

#include <spawn.h>
#include <sys/time.h>

extern char **environ;

/* ---- vfork -------------------------------------------------------------------------------------------------- */
static char *const true_argv[] = {"true", NULL};

static __attribute__((noinline)) pid_t vfork_that(int what)
{
    pid_t pid = vfork();
    if (pid) return pid;
    switch (what) {
    case 0: execv("/bin/true", true_argv); break;
    case 1: _exit(7);
    case 2: kill(getpid(), SIGKILL); break;
    case 3: execv("/nowhere/true", true_argv); _exit(errno == ENOENT ? 8 : 9);
    case 4: kill(getpid(), SIGSTOP); _exit(10);
    case 5: {
        pid_t inner = vfork();
        if (inner == 0) execv("/bin/true", true_argv), _exit(1);
        _exit(inner > 0 && !strcmp(end_of(inner), "exit 0") ? 11 : 12);
    }
    case 6: setsid(), setpgid(0, 0), close(0), dup2(1, 5), execv("/bin/true", true_argv); break;
    }
    _exit(1);
}

static const char *const vfork_ends[] = {"exit 0", "exit 7", "signal 9", "exit 8", "exit 10", "exit 11", "exit 0"};
enum { VFORKS = 7 };

/* A child that stops keeps its parent waiting: somebody else has to continue it. */
static void *continues(void *arg)
{
    pid_t main_pid = getpid();
    char path[64], text[4096];
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)(intptr_t)arg);
    while (true) {
        FILE *f = fopen(path, "r");
        pid_t pid;
        if (f && fscanf(f, "%d", &pid) == 1) {
            fclose(f);
            snprintf(path, sizeof path, "/proc/%d/stat", pid);
            f = fopen(path, "r");
            if (f && fgets(text, sizeof text, f) && strstr(text, ") T")) {
                fclose(f);
                kill(pid, SIGCONT);
                return NULL;
            }
            snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)(intptr_t)arg);
        }
        if (f) fclose(f);
        if (getpid() != main_pid) return NULL;
        nap_ms(1);
    }
}

static void vfork_all(int from)
{
    for (int i = 0; i < VFORKS; i++) {
        int what = (from + i) % VFORKS;
        pthread_t t;
        if (what == 4) pthread_create(&t, NULL, continues, (void *)(intptr_t)gettid());
        const char *end = end_of(vfork_that(what));
        EXPECT(!strcmp(end, vfork_ends[what]), "vfork %d ended with %s", what, end);
        if (what == 4) pthread_join(t, NULL);
    }
}

CASE(vfork) { vfork_all(0); }

static void *vforks(void *arg)
{
    for (int i = 0; i < 3; i++) vfork_all((int)(intptr_t)arg);
    return NULL;
}

CASE(vfork_from_threads)
{
    pthread_t t[3];
    crowd_start(6);
    for (intptr_t i = 0; i < 3; i++) pthread_create(&t[i], NULL, vforks, (void *)(2 * i));
    for (int i = 0; i < 3; i++) pthread_join(t[i], NULL);
    crowd_end();
    EXPECT(works());
}

static volatile int handled;
static void on_alarm(int sig) { handled += sig == SIGALRM; }

CASE(vfork_under_a_timer)
{
    struct itimerval it = {{0, 500}, {0, 500}};
    struct sigaction sa = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    sigaction(SIGALRM, &sa, NULL);
    setitimer(ITIMER_REAL, &it, NULL);
    for (int i = 0; i < 60; i++) {
        int what = i % 2 ? 1 : 0;
        EXPECT(!strcmp(end_of(vfork_that(what)), vfork_ends[what]));
    }
    EXPECT(works());
}

static volatile pid_t vforked;
static void *killer(void *in_call)
{
    while (!vforked || (in_call && !sleeps_in(vforked, SYS_pause))) nap_ms(1);
    kill(vforked, SIGKILL);
    return NULL;
}

CASE(vfork_child_is_killed)     /* by another thread, while it is in a call and while it computes */
{
    for (int how = 0; how < 2; how++) {
        pthread_t t;
        vforked = 0;
        pthread_create(&t, NULL, killer, (void *)(intptr_t)how);
        pid_t pid = vfork();
        if (pid == 0) {
            vforked = getpid();
            while (true) if (how) pause();
        }
        printf("%s\n", end_of(pid));
        pthread_join(t, NULL);
    }
    EXPECT(works());
}

/* ---- posix_spawn -------------------------------------------------------------------------------------------- */
/* What a program finds of its attributes.  Signals are told by set bits. */
CASE(told)
{
    sigset_t mask;
    char dir[256];
    int ignored = 0, fds = 0;
    struct sigaction sa;
    sigprocmask(SIG_BLOCK, NULL, &mask);
    for (int s = 1; s < 32; s++) ignored += sigaction(s, NULL, &sa) == 0 && sa.sa_handler == SIG_IGN;
    for (int fd = 3; fd < 200; fd++) fds += fcntl(fd, F_GETFD) >= 0;
    printf("session %d group %d blocked %d%d%d ignored %d policy %d dir %s fds %d user %d %d\n", getsid(0) == getpid(), getpgrp() == getpid(),
           sigismember(&mask, SIGUSR1), sigismember(&mask, SIGTERM), sigismember(&mask, SIGURG), ignored, sched_getscheduler(0),
           getcwd(dir, sizeof dir), fds, geteuid() == getuid(), getegid() == getgid());
    printf("works %d\n", works());
}

static void told(const char *title, posix_spawn_file_actions_t *fa, posix_spawnattr_t *at)
{
    pid_t pid;
    char *argv[] = {(char *)spawn_self, "told", NULL};
    printf("%s: ", title);
    fflush(stdout);
    int e = posix_spawn(&pid, spawn_self, fa, at, argv, environ);
    if (e) printf("%s\n", strerror(e));
    else printf("%s\n", end_of(pid));
}

static void attributes(void)
{
    static const struct { const char *name; short flags; } a[] = {
        {"plain", 0}, {"session", POSIX_SPAWN_SETSID}, {"group", POSIX_SPAWN_SETPGROUP}, {"ids", POSIX_SPAWN_RESETIDS}, {"mask", POSIX_SPAWN_SETSIGMASK},
        {"defaults", POSIX_SPAWN_SETSIGDEF}, {"scheduler", POSIX_SPAWN_SETSCHEDULER}, {"parameters", POSIX_SPAWN_SETSCHEDPARAM},
        {"vfork", POSIX_SPAWN_USEVFORK},
        {"all", POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_RESETIDS | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSCHEDULER},
    };
    for (unsigned i = 0; i < sizeof a / sizeof *a; i++) {
        posix_spawnattr_t at;
        sigset_t mask, defaults;
        struct sched_param p = {0};
        posix_spawnattr_init(&at);
        posix_spawnattr_setflags(&at, a[i].flags);
        sigemptyset(&mask);
        sigaddset(&mask, SIGTERM);
        sigaddset(&mask, SIGURG);
        posix_spawnattr_setsigmask(&at, &mask);
        sigfillset(&defaults);
        posix_spawnattr_setsigdefault(&at, &defaults);
        posix_spawnattr_setschedpolicy(&at, a[i].flags & POSIX_SPAWN_SETSCHEDULER ? SCHED_BATCH : SCHED_OTHER);
        posix_spawnattr_setschedparam(&at, &p);
        told(a[i].name, NULL, &at);
        posix_spawnattr_destroy(&at);
    }
}

static void file_actions(void)
{
    posix_spawn_file_actions_t fa;
    for (int fd = 20; fd < 30; fd++) dup2(0, fd);
    posix_spawn_file_actions_init(&fa);
    posix_spawn_file_actions_addopen(&fa, 10, "/dev/null", O_RDWR, 0);
    posix_spawn_file_actions_adddup2(&fa, 10, 11);
    posix_spawn_file_actions_addclose(&fa, 20);
    posix_spawn_file_actions_addchdir_np(&fa, "/usr");
    told("open, dup2, close, chdir", &fa, NULL);
    posix_spawn_file_actions_addclosefrom_np(&fa, 3);
    told("and closefrom", &fa, NULL);
    posix_spawn_file_actions_destroy(&fa);
    posix_spawn_file_actions_init(&fa);
    posix_spawn_file_actions_addopen(&fa, 10, "/nowhere", O_RDONLY, 0);
    told("no such file", &fa, NULL);
    posix_spawn_file_actions_destroy(&fa);
    for (int fd = 20; fd < 30; fd++) close(fd);
}

CASE(posix_spawn)
{
    sigset_t block;
    sigemptyset(&block);
    sigaddset(&block, SIGUSR1);
    sigprocmask(SIG_BLOCK, &block, NULL);
    signal(SIGUSR2, SIG_IGN);
    attributes();
    file_actions();
}

static void *spawns(void *arg)
{
    for (int i = 0; i < 6; i++) {
        pid_t pid = -1;
        char *argv[] = {"true", NULL};
        int e = posix_spawnp(&pid, i % 3 == 2 ? "no-such-program" : "true", NULL, NULL, argv, environ);
        if (i % 3 == 2) EXPECT(e == ENOENT);
        else EXPECT(e == 0 && !strcmp(end_of(pid), "exit 0"));
    }
    return arg;
}

CASE(posix_spawn_from_threads)
{
    pthread_t t[4];
    crowd_start(6);
    for (int i = 0; i < 4; i++) pthread_create(&t[i], NULL, spawns, NULL);
    for (int i = 0; i < 4; i++) pthread_join(t[i], NULL);
    crowd_end();
}

/* ---- system and popen ---------------------------------------------------------------------------------------- */
static void *systems(void *arg)
{
    for (int i = 0; i < 4; i++) {
        int r = system(i % 2 ? "exit 5" : "kill -9 $$");
        EXPECT(i % 2 ? WIFEXITED(r) && WEXITSTATUS(r) == 5 : WIFSIGNALED(r) && WTERMSIG(r) == 9);
    }
    return arg;
}

static void *popens(void *arg)
{
    for (int i = 0; i < 4; i++) {
        char text[64] = "";
        FILE *f = popen("read x; echo \"<$x>\"", "r");
        EXPECT(f && fgets(text, sizeof text, f) && !strcmp(text, "<>\n"));
        EXPECT(pclose(f) >= 0);
        f = popen("read x; exit $x", "w");
        EXPECT(f && fprintf(f, "%d\n", i) > 0);
        int r = pclose(f);
        EXPECT(WIFEXITED(r) && WEXITSTATUS(r) == i);
    }
    return arg;
}

CASE(system_and_popen)
{
    pthread_t t[4];
    signal(SIGPIPE, SIG_IGN);
    crowd_start(6);
    for (int i = 0; i < 4; i++) pthread_create(&t[i], NULL, i % 2 ? systems : popens, NULL);
    for (int i = 0; i < 4; i++) pthread_join(t[i], NULL);
    crowd_end();
}

static void close_stream(void *f) { EXPECT(pclose(f) >= 0); }

static void *reads_for_ever(void *arg)
{
    char text[64];
    FILE *f = popen("echo begun; read x < /dev/null; exec sleep 0.2", "r");
    pthread_cleanup_push(close_stream, f);
    while (fgets(text, sizeof text, f)) sem_post(arg);
    pause();
    pthread_cleanup_pop(1);
    return NULL;
}

static void *system_for_ever(void *arg)
{
    sem_post(arg);
    system("exec sleep 100");
    return NULL;
}

CASE(cancelled)         /* in popen's stream; in system, which ends its child */
{
    for (int i = 0; i < 6; i++) {
        sem_t begun;
        pthread_t t;
        void *result = NULL;
        sem_init(&begun, 0, 0);
        pthread_create(&t, NULL, i % 2 ? system_for_ever : reads_for_ever, &begun);
        sem_wait(&begun);
        while (!any_sleeps_in(i % 2 ? SYS_wait4 : SYS_read, -1)) nap_ms(1);
        pthread_cancel(t);
        pthread_join(t, &result);
        printf("%d\n", result == PTHREAD_CANCELED);
    }
    EXPECT(works());
    errno = 0;
    printf("children left: %d\n", wait(NULL) < 0 && errno == ECHILD);
}

/* ---- daemons --------------------------------------------------------------------------------------------------- */
static int answer[2];

static void say_works(void)
{
    bool good = works();
    EXPECT(write(answer[1], good ? "good" : "bad ", 4) == 4);
    _exit(0);
}

static void hear(const char *title)
{
    char text[8];
    ssize_t n = read(answer[0], text, sizeof text);
    printf("%s: %.*s\n", title, n > 0 ? (int)n : 0, text);
}

CASE(daemon)
{
    EXPECT(pipe(answer) == 0);
    crowd_start(4);
    pid_t pid = fork();
    if (pid == 0) {
        pid_t parent = getpid();
        if (daemon(0, 0)) _exit(1);
        while (getppid() == parent) nap_ms(1);
        say_works();
    }
    printf("%s\n", end_of(pid));
    hear("daemon");
    crowd_end();
}

CASE(double_fork)
{
    int go[2];
    char c = 'x';
    EXPECT(pipe(answer) == 0 && pipe(go) == 0);
    pid_t pid = fork();
    if (pid == 0) {
        setsid();
        if (fork()) _exit(0);
        EXPECT(read(go[0], &c, 1) == 1);     /* the first process has printed how the parent ended */
        EXPECT(works());
        execl(spawn_self, spawn_self, "told", NULL);
        _exit(1);
    }
    close(answer[1]);
    printf("%s\n", end_of(pid));
    EXPECT(write(go[1], &c, 1) == 1);
    hear("gone");           /* ends with the grandchild */
}

CASE(ends_at_once)          /* the driver waits for what the orphan says */
{
    pid_t parent = getpid();
    if (fork()) _exit(4);
    while (getppid() == parent) nap_ms(1);
    printf("orphan works %d\n", works());
}

CASE(subreaper)
{
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    pid_t pid = fork();
    if (pid == 0) {
        pid_t parent = getpid();
        if (fork() == 0) {
            while (getppid() == parent) nap_ms(1);
            end_working();
        }
        _exit(3);
    }
    printf("%s\n", end_of(pid));
    printf("its child, too: %s\n", end_of(-1 * (pid > 0)));
}

CASE(parent_death_signal)
{
    EXPECT(pipe(answer) == 0);
    pid_t pid = fork();
    if (pid == 0) {
        pid_t inner = fork();
        if (inner == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            EXPECT(works());
            EXPECT(write(answer[1], "set", 3) == 3);
            while (true) pause();
        }
        hear("child");
        _exit(0);
    }
    close(answer[1]);
    printf("%s\n", end_of(pid));
    hear("ended");
}
