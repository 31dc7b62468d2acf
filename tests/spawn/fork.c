/* tests/spawn/fork.c - fork, from everywhere, and children that live.  SPDX-License-Identifier: Apache-2.0 */
#include "case.h"

#include <link.h>
#include <linux/sched.h>

static void *forks(void *arg)
{
    for (int i = 0; i < 4; i++) child_works();
    return arg;
}

CASE(from_threads)
{
    pthread_t t[4];
    crowd_start(8);
    for (int i = 0; i < 4; i++) pthread_create(&t[i], NULL, forks, NULL);
    for (int i = 0; i < 4; i++) pthread_join(t[i], NULL);
    crowd_end();
}

/* The child's first thread was another one in the parent: it ends as a thread does, and the process with it. */
static void *forks_and_returns(void *arg)
{
    pid_t pid = fork();
    if (pid == 0) {
        EXPECT(works());
        if (arg) pthread_exit(NULL);
        return NULL;
    }
    EXPECT(!strcmp(end_of(pid), "exit 0"));
    return NULL;
}

CASE(child_thread_returns)
{
    pthread_t t;
    for (intptr_t how = 0; how < 2; how++) {
        pthread_create(&t, NULL, forks_and_returns, (void *)how);
        pthread_join(t, NULL);
    }
}

/* A thread of the parent's is in dl_iterate_phdr: the child's copy of the lock of the list of objects stays locked. */
static sem_t in_walk, forked;

static int stays(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)info, (void)size, (void)arg;
    sem_post(&in_walk);
    while (sem_wait(&forked)) continue;
    return 1;
}

static void *walks(void *arg)
{
    dl_iterate_phdr(stays, NULL);
    return arg;
}

static void *forks_during_walk(void *arg)
{
    while (sem_wait(&in_walk)) continue;
    EXPECT(child_works());
    sem_post(&forked);
    return arg;
}

CASE(objects_locked)
{
    void *(*const ways[][2])(void *) = {{walks, forks_during_walk}, {forks_during_walk, walks}};
    for (int i = 0; i < 2; i++) {
        pthread_t other;
        sem_init(&in_walk, 0, 0);
        sem_init(&forked, 0, 0);
        EXPECT(pthread_create(&other, NULL, ways[i][0], NULL) == 0);
        ways[i][1](NULL);
        pthread_join(other, NULL);
    }
}

CASE(chain)
{
    for (int depth = 0; depth < 12; depth++) {
        EXPECT(works());
        pid_t pid = fork();
        if (pid) {
            EXPECT(!strcmp(end_of(pid), "exit 0"));
            if (depth) _exit(check_failed());
            return;
        }
    }
    end_working();
}

/* Children that stay while their parents go: what they say comes through a pipe. */
CASE(parent_ends_first)
{
    int to[2];
    char text[32];
    EXPECT(pipe(to) == 0);
    pid_t pid = fork();
    if (pid == 0) {
        if (fork()) _exit(0);
        for (int i = 0; i < 20 && works(); i++) nap_ms(2);
        bool good = works();
        EXPECT(write(to[1], good ? "good" : "bad", 4) == 4);
        _exit(0);
    }
    close(to[1]);
    printf("parent: %s\n", end_of(pid));
    ssize_t n = read(to[0], text, sizeof text);
    printf("child: %.*s\n", n > 0 ? (int)n : 0, text);
}

CASE(many_at_once)
{
    pid_t pid[12];
    crowd_start(6);
    for (int i = 0; i < 12; i++)
        if ((pid[i] = fork()) == 0) {
            for (int k = 0; k < 5; k++) if (!works()) _exit(1);
            end_working();
        }
    for (int i = 0; i < 12; i++) EXPECT(!strcmp(end_of(pid[i]), "exit 0"));
    crowd_end();
}

/* ---- the ways to ask for it -------------------------------------------------------------------------------- */
CASE(raw)
{
    pid_t pid = (pid_t)syscall(SYS_fork);
    if (pid == 0) end_working();
    printf("fork: %s\n", end_of(pid));
    pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (pid == 0) end_working();
    printf("clone: %s\n", end_of(pid));
    struct clone_args a = {.exit_signal = SIGCHLD};
    pid = (pid_t)syscall(SYS_clone3, &a, sizeof a);
    if (pid == 0) end_working();
    printf("clone3: %s\n", end_of(pid));
    pid = _Fork();
    if (pid == 0) end_working();
    printf("_Fork: %s\n", end_of(pid));
}

static long clone3(struct clone_args a)
{
    long r = syscall(SYS_clone3, &a, sizeof a);
    if (r == 0) end_working();
    return r < 0 ? -errno : r;
}

CASE(odd_flags)
{
    int pidfd = -1, status;
    pid_t tid = 0, pid;
    siginfo_t si;
    pid = (pid_t)clone3((struct clone_args){.flags = CLONE_PIDFD | CLONE_PARENT_SETTID, .pidfd = (uintptr_t)&pidfd, .parent_tid = (uintptr_t)&tid,
                                            .exit_signal = SIGCHLD});
    EXPECT(pid == tid && pidfd >= 0);
    EXPECT(waitid(P_PIDFD, (id_t)pidfd, &si, WEXITED) == 0);
    printf("pidfd: %d\n", si.si_status);
    pid = (pid_t)clone3((struct clone_args){.flags = CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID, .child_tid = (uintptr_t)&tid, .exit_signal = SIGCHLD});
    printf("child tid: %s\n", end_of(pid));
    pid = (pid_t)clone3((struct clone_args){.exit_signal = 0});
    EXPECT(waitpid(pid, &status, __WCLONE) == pid);
    printf("no signal: %d\n", status);
    pid = (pid_t)clone3((struct clone_args){.flags = CLONE_FILES | CLONE_FS | CLONE_IO | CLONE_SYSVSEM, .exit_signal = SIGCHLD});
    printf("shared files: %s\n", end_of(pid));
    pid = (pid_t)clone3((struct clone_args){.flags = CLONE_CLEAR_SIGHAND, .exit_signal = SIGCHLD});
    printf("clear sighand: %s\n", end_of(pid));
    pid = (pid_t)clone3((struct clone_args){.flags = CLONE_UNTRACED, .exit_signal = SIGCHLD});
    printf("untraced: %s\n", end_of(pid));
    printf("refused: %ld %ld\n", clone3((struct clone_args){.flags = CLONE_THREAD, .exit_signal = 0}), clone3((struct clone_args){.flags = 1ull << 60}));
    errno = 0;
    printf("no arguments: %ld %d", syscall(SYS_clone3, 8, 64), errno);
    errno = 0;
    printf(" %ld %d\n", syscall(SYS_clone3, NULL, 0), errno);
}

CASE(clone_parent)      /* the child is its parent's sibling */
{
    int pass[2], status;
    pid_t sibling = 0;
    EXPECT(pipe(pass) == 0);
    pid_t pid = fork();
    if (pid == 0) {
        struct clone_args a = {.flags = CLONE_PARENT};
        pid_t s = (pid_t)syscall(SYS_clone3, &a, sizeof a);
        if (s == 0) end_working();
        EXPECT(write(pass[1], &s, sizeof s) == sizeof s);
        _exit(s < 0);
    }
    printf("parent: %s\n", end_of(pid));
    EXPECT(read(pass[0], &sibling, sizeof sibling) == sizeof sibling);
    EXPECT(waitpid(sibling, &status, __WALL) == sibling);
    printf("sibling: %d\n", status);
}

/* ---- handlers ------------------------------------------------------------------------------------------------ */
static int prepared, in_parent, in_child;
static void prepare(void) { prepared++; }
static void parent(void) { in_parent++; }
static void child(void)
{
    in_child++;
    EXPECT(works());
}

CASE(atfork_handlers_use_threads)
{
    pthread_atfork(prepare, parent, child);
    crowd_start(4);
    pid_t pid = fork();
    if (pid == 0) _exit(prepared != 1 || in_child != 1 || in_parent || !works() || check_failed());
    printf("%s\n", end_of(pid));
    crowd_end();
    printf("%d %d %d\n", prepared, in_parent, in_child);
}

static _Atomic int forked_in_handler;
static void on_signal(int sig)
{
    int status;
    pid_t pid = fork();
    if (pid == 0) _exit(works() ? 0 : 1);
    if (pid > 0 && waitpid(pid, &status, 0) == pid && status == 0) atomic_fetch_add(&forked_in_handler, 1);
    (void)sig;
}

static sem_t never;
static void *waits(void *arg)
{
    while (sem_wait(&never)) ;
    return arg;
}

CASE(in_a_handler)      /* on top of waits of all kinds */
{
    pthread_t t;
    signal(SIGUSR1, on_signal);
    sem_init(&never, 0, 0);
    pthread_create(&t, NULL, waits, NULL);
    for (int i = 0; i < 3; i++) {
        raise(SIGUSR1);
        pthread_kill(t, SIGUSR1);
        while (atomic_load(&forked_in_handler) < 2 * i + 2) nap_ms(1);
    }
    sem_post(&never);
    pthread_join(t, NULL);
    printf("%d\n", forked_in_handler);
}

/* ---- until there is no room ---------------------------------------------------------------------------------- */
static void *sleeps(void *arg)
{
    sem_wait(arg);
    return NULL;
}

CASE(until_full)        /* the driver runs it as a user of its own, with a limit */
{
    static sem_t go;
    pthread_t t[256];
    pid_t pid[256];
    int error = 0, n = 0;
    struct rlimit limit = {60, 60};
    EXPECT(setrlimit(RLIMIT_NPROC, &limit) == 0);
    sem_init(&go, 0, 0);
    while (n < 256 && (error = pthread_create(&t[n], NULL, sleeps, &go)) == 0) n++;
    printf("threads: %s%s\n", strerror(error), n > 10 && n < 60 ? "" : ", too few or many");
    for (int i = 0; i < n; i++) sem_post(&go);
    for (int i = 0; i < n; i++) pthread_join(t[i], NULL);
    for (n = 0; n < 256 && (pid[n] = fork()) >= 0; n++)
        if (pid[n] == 0) {
            pause();
            _exit(0);
        }
    printf("processes: %s%s\n", strerror(errno), n > 10 && n < 60 ? "" : ", too few or many");
    error = pthread_create(&t[0], NULL, sleeps, &go);       /* under usf a kept one serves */
    EXPECT(error == 0 || error == EAGAIN);
    if (error == 0) EXPECT(sem_post(&go) == 0 && pthread_join(t[0], NULL) == 0);
    errno = 0;
    printf("system: %d %s\n", system("true"), strerror(errno));
    printf("vfork: %d %s\n", (int)syscall(SYS_vfork), strerror(errno));
    for (int i = 0; i < n; i++) {
        kill(pid[i], SIGKILL);
        end_of(pid[i]);
    }
    printf("again: %d\n", works());
}

CASE(until_cgroup_is_full)      /* the driver runs it in a cgroup with few pids */
{
    static sem_t go;
    pthread_t t[128];
    int error = 0, n = 0;
    sem_init(&go, 0, 0);
    while (n < 128 && (error = pthread_create(&t[n], NULL, sleeps, &go)) == 0) n++;
    printf("threads: %s\n", strerror(error));
    pid_t pid = fork();
    if (pid == 0) _exit(3);
    printf("fork: %s\n", pid < 0 ? strerror(errno) : "done");
    for (int i = 0; i < n; i++) sem_post(&go);
    for (int i = 0; i < n; i++) pthread_join(t[i], NULL);
    printf("again: %d\n", works());
}
