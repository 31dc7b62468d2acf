/* tests/spawn/ends.c - threads and processes that end in other ways than by return.  SPDX-License-Identifier: Apache-2.0 */
#include "../asleep.h"
#include "case.h"

#include <dirent.h>
#include <linux/sched.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <time.h>

#define SOON 4          /* seconds: less than kept threads wait for work */

static void *nothing(void *arg) { return arg; }
static void *is_last(void *arg)
{
    while (state_of(getpid()) != 'Z') nap_ms(1);
    return arg;
}

/* Kept threads: some wait for work, one to be joined. */
static void keep(int joined)
{
    pthread_t t[6];
    for (int i = 0; i < 6; i++) pthread_create(&t[i], NULL, nothing, NULL);
    for (int i = 0; i < joined; i++) pthread_join(t[i], NULL);
}
static void keep_some(void) { keep(5); }

static _Atomic pid_t raw_tid;
static void *exits_raw(void *arg)
{
    raw_tid = gettid();
    syscall(SYS_exit, 0);
    return arg;
}

static void *cancels_first(void *arg)
{
    while (!any_sleeps_in(SYS_pause, -1)) nap_ms(1);
    pthread_cancel(*(pthread_t *)arg);
    return NULL;
}

static pthread_t first;
static void end_first(int how)
{
    pthread_t t;
    first = pthread_self();
    keep_some();
    switch (how) {
    case 0: pthread_exit(NULL);
    case 1: syscall(SYS_exit, 0); break;
    case 2: pthread_create(&t, NULL, is_last, NULL); pthread_exit(NULL);
    case 3: pthread_create(&t, NULL, is_last, NULL); syscall(SYS_exit, 0); break;
    case 4: pthread_create(&t, NULL, exits_raw, NULL); syscall(SYS_exit, 0); break;
    case 5: pthread_create(&t, NULL, exits_raw, NULL); pthread_exit(NULL);
    case 6:
        pthread_create(&t, NULL, cancels_first, &first);
        while (true) pause();
    }
}

/* ---- ended threads are gone for those who look --------------------------------------------------------------------------- */
static int listed(const char *dir, pid_t *ids)
{
    int n = 0;
    DIR *d = opendir(dir);
    for (struct dirent *e; d && (e = readdir(d));)
        if (*e->d_name != '.' && n++ < 20 && ids) ids[n - 1] = atoi(e->d_name);
    if (d) closedir(d);
    return n;
}

static int told(const char *file)
{
    char line[200];
    int n = -1;
    FILE *f = fopen(file, "r");
    while (f && fgets(line, sizeof line, f)) sscanf(line, "Threads: %d", &n);
    if (f) fclose(f);
    return n;
}

/* A joined thread may be listed for some microseconds more, bare as well. */
#define SOON_IS(what) ({ \
    bool is_ = false; \
    for (int i_ = 0; i_ < 1000 && !(is_ = (what)); i_++) nap_ms(1); \
    is_; })

CASE(ended_threads_are_not_listed)
{
    char own[40];
    snprintf(own, sizeof own, "/proc/%d/task", getpid());
    keep(6);
    printf("number: %d\n", SOON_IS(told("/proc/self/status") == 1));
    keep(6);
    printf("list: %d\n", SOON_IS(listed("/proc/self/task", NULL) == 1));
    keep(5);                        /* one is still to be joined */
    printf("by id: %d\n", SOON_IS(listed(own, NULL) == 1));
}

static sem_t end_now;
static void *waits(void *arg)
{
    while (sem_wait(&end_now)) {}
    return arg;
}

/* Their ids are known from a look while they ran. */
CASE(ids_of_ended_threads)
{
    pthread_t t[4];
    pid_t ids[20];
    sem_init(&end_now, 0, 0);
    for (int i = 0; i < 4; i++) pthread_create(&t[i], NULL, waits, NULL);
    int n = listed("/proc/self/task", ids);
    printf("%d\n", n);
    for (int i = 0; i < 4; i++) sem_post(&end_now);
    for (int i = 0; i < 4; i++) pthread_join(t[i], NULL);
    for (int i = 0; i < n && i < 20; i++)
        if (ids[i] != getpid()) printf("gone: %d\n", SOON_IS(syscall(SYS_tgkill, getpid(), ids[i], 0) && errno == ESRCH));
    EXPECT(works());
}

/* The process ends with its last own thread; kept ones are nobody. */
CASE(first_thread_ends)
{
    for (int how = 0; how < 7; how++) {
        struct timespec a, b;
        fflush(stdout);
        clock_gettime(CLOCK_MONOTONIC, &a);
        pid_t pid = fork();
        if (pid == 0) {
            end_first(how);
            abort();
        }
        printf("%d: %s\n", how, end_of(pid));
        clock_gettime(CLOCK_MONOTONIC, &b);
        EXPECT(b.tv_sec - a.tv_sec < SOON);
    }
}

CASE(first_thread_ends_raw)         /* the program itself, not a child */
{
    keep(6);                        /* none is left that could be the last to end, with 0 */
    syscall(SYS_exit, 3);
}

CASE(first_thread_ends_others_go_on)
{
    pthread_t t;
    keep_some();
    pthread_create(&t, NULL, is_last, NULL);
    pthread_exit(NULL);
}

static void *joins_and_exits(void *arg)
{
    EXPECT(pthread_join(*(pthread_t *)arg, NULL) == 0);
    EXPECT(works());
    printf("joined\n");
    exit(6);
}

CASE(first_thread_is_joined)
{
    pthread_t t;
    first = pthread_self();
    pthread_create(&t, NULL, joins_and_exits, &first);
    pthread_exit(NULL);
}

static void *exits_raw_late(void *arg)
{
    nap_ms(10);
    return exits_raw(arg);
}

static int joined_late;
static void *joins(void *arg)
{
    EXPECT(pthread_join(*(pthread_t *)arg, NULL) == 0);
    joined_late++;
    return NULL;
}

CASE(thread_ends_raw)       /* and is joined by one who waits already, later, with a timeout, by a try; or was detached */
{
    pthread_t t, j;
    struct timespec until;
    int r;
    for (int round = 0; round < 3; round++) {
        pthread_create(&t, NULL, exits_raw_late, NULL);
        pthread_create(&j, NULL, joins, &t);
        EXPECT(pthread_join(j, NULL) == 0);
        raw_tid = 0;
        pthread_create(&t, NULL, exits_raw, NULL);
        while (!raw_tid || state_of(raw_tid)) nap_ms(1);
        EXPECT(pthread_join(t, NULL) == 0);
        pthread_create(&t, NULL, exits_raw_late, NULL);
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += 20;
        EXPECT((errno = pthread_timedjoin_np(t, NULL, &until)) == 0);
        pthread_create(&t, NULL, exits_raw, NULL);
        while ((r = pthread_tryjoin_np(t, NULL)) == EBUSY) nap_ms(1);
        EXPECT(r == 0);
        pthread_create(&t, NULL, exits_raw_late, NULL);
        EXPECT(pthread_detach(t) == 0);
        EXPECT(works());
    }
    printf("%d\n", joined_late);
}

static void *exits_process(void *arg)
{
    nap_ms(5);
    exit((int)(intptr_t)arg);
}

CASE(exit_from_threads)
{
    for (int i = 0; i < 8; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            pthread_t t[3];
            crowd_start(4);
            for (int k = 0; k < 3; k++) pthread_create(&t[k], NULL, exits_process, (void *)5L);
            nap_ms(5);
            _exit(5);
        }
        EXPECT(!strcmp(end_of(pid), "exit 5"));
    }
}

static void at_exit(void) { printf("at exit: works %d\n", works()); }

CASE(exit_handlers_use_threads)
{
    atexit(at_exit);
    keep_some();
    exit(2);
}

CASE(last_thread_runs_exit_handlers)
{
    pthread_t t;
    atexit(at_exit);
    keep_some();
    pthread_create(&t, NULL, is_last, NULL);
    pthread_exit(NULL);
}

/* ---- deaths -------------------------------------------------------------------------------------------------------- */
static void *dies(void *arg)
{
    nap_ms(5);
    switch ((intptr_t)arg) {
    case 0: abort();
    case 1: *(volatile int *)8 = 1; break;
    case 2: raise(SIGKILL); break;
    case 3: raise(SIGTERM); break;
    case 4: __builtin_trap();
    case 5: raise(SIGALRM); break;
    }
    return NULL;
}

CASE(core_dumps)        /* the limit of 0 says whether one would have been written */
{
    struct rlimit no = {0, 0};
    setrlimit(RLIMIT_CORE, &no);
    for (intptr_t i = 0; i < 6; i++) {
        fflush(stdout);
        pid_t pid = fork();
        if (pid == 0) {
            pthread_t t;
            crowd_start(4);
            pthread_create(&t, NULL, dies, (void *)i);
            pthread_join(t, NULL);
            _exit(0);
        }
        printf("%d: %s\n", (int)i, end_of(pid));
    }
}

/* ---- tracing ---------------------------------------------------------------------------------------------------- */
CASE(trace_me)
{
    int status;
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        EXPECT(ptrace(PTRACE_TRACEME, 0, 0, 0) == 0);
        raise(SIGSTOP);
        EXPECT(works());
        execl("/bin/true", "true", NULL);
        _exit(1);
    }
    int stops = 0;
    while (waitpid(pid, &status, 0) == pid && WIFSTOPPED(status)) {
        int sig = WSTOPSIG(status);
        if (sig == SIGSTOP || sig == SIGTRAP) stops++;
        ptrace(PTRACE_CONT, pid, 0, sig == SIGSTOP || sig == SIGTRAP ? 0 : sig);
    }
    printf("stops %d, end %d\n", stops, status);
}

CASE(traced_forks)
{
    int status, events = 0;
    fflush(stdout);
    pid_t pid = fork(), p;
    if (pid == 0) {
        ptrace(PTRACE_TRACEME, 0, 0, 0);
        raise(SIGSTOP);
        pid_t inner = fork();
        if (inner == 0) end_working();
        _exit(strcmp(end_of(inner), "exit 0") ? 1 : 0);
    }
    EXPECT(waitpid(pid, &status, 0) == pid);
    ptrace(PTRACE_SETOPTIONS, pid, 0, PTRACE_O_TRACEFORK | PTRACE_O_TRACECLONE);
    ptrace(PTRACE_CONT, pid, 0, 0);
    int last = -1;
    while ((p = waitpid(-1, &status, __WALL)) > 0) {
        if (p == pid && WIFEXITED(status)) last = WEXITSTATUS(status);
        if (!WIFSTOPPED(status)) continue;
        events += status >> 16 == PTRACE_EVENT_FORK;
        int sig = WSTOPSIG(status);
        ptrace(PTRACE_CONT, p, 0, sig == SIGSTOP || sig == SIGTRAP || status >> 16 ? 0 : sig);
    }
    printf("forks %d, exit %d\n", events, last);
}

/* ---- threads apart ------------------------------------------------------------------------------------------------- */
static void *moves_apart(void *arg)
{
    char dir[64];
    EXPECT(unshare(CLONE_FS) == 0 && unshare(CLONE_FILES) == 0);
    EXPECT(chdir("/usr") == 0);
    for (int fd = 3; fd < 30; fd++) close(fd);
    EXPECT(getcwd(dir, sizeof dir) != NULL && works() && child_works());
    return arg;
}

CASE(unshare_in_threads)
{
    pthread_t t[3];
    char dir[64];
    EXPECT(chdir("/tmp") == 0);
    int fd = open("/dev/null", O_RDONLY);
    crowd_start(4);
    for (int i = 0; i < 3; i++) pthread_create(&t[i], NULL, moves_apart, NULL);
    for (int i = 0; i < 3; i++) pthread_join(t[i], NULL);
    crowd_end();
    printf("%s %d\n", getcwd(dir, sizeof dir), fcntl(fd, F_GETFD));
    EXPECT(works());
}

/* ---- threads without libc ------------------------------------------------------------------------------------------ */
static _Atomic int raw_ran;
static int raw_thread(void *arg)
{
    atomic_fetch_add(&raw_ran, 1);
    syscall(SYS_sched_yield);
    (void)arg;
    return 0;
}

CASE(raw_threads)       /* they share the creator's thread-local storage, as some runtimes have it */
{
    enum { N = 4, SIZE = 65536 };
    static char stack[N][SIZE] __attribute__((aligned(16)));
    static _Atomic int tid[N];
    for (int i = 0; i < N; i++) {
        int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;
        EXPECT(clone(raw_thread, stack[i] + SIZE, flags, NULL, &tid[i], NULL, &tid[i]) > 0);
        for (int v; (v = atomic_load(&tid[i]));) syscall(SYS_futex, &tid[i], 0, v, NULL, NULL, 0);
    }
    printf("%d\n", raw_ran);
    EXPECT(works());
}

CASE(raw_processes_that_share_memory)
{
    enum { SIZE = 65536 };
    static char stack[SIZE] __attribute__((aligned(16)));
    for (int i = 0; i < 4; i++) {
        int status;
        pid_t pid = clone(raw_thread, stack + SIZE, CLONE_VM | (i % 2 ? CLONE_VFORK : 0) | SIGCHLD, NULL);
        EXPECT(waitpid(pid, &status, 0) == pid && status == 0);
    }
    printf("%d\n", raw_ran);
    EXPECT(works());
}

CASE(pidfds)
{
    siginfo_t si;
    pid_t pid = fork();
    if (pid == 0) while (true) pause();
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    EXPECT(fd >= 0 && fcntl(fd, F_GETFD) == FD_CLOEXEC);
    int theirs = (int)syscall(SYS_pidfd_getfd, fd, 1, 0);
    EXPECT(theirs >= 0 || errno == EPERM);
    EXPECT(waitid(P_PIDFD, (id_t)fd, &si, WEXITED | WNOHANG) == 0 && si.si_pid == 0);
    EXPECT(syscall(SYS_pidfd_send_signal, fd, SIGTERM, NULL, 0) == 0);
    EXPECT(waitid(P_PIDFD, (id_t)fd, &si, WEXITED) == 0);
    printf("%d %d\n", si.si_code, si.si_status);
    EXPECT(works());
}
