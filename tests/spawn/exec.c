/* tests/spawn/exec.c - exec from everywhere, and exec that fails.  SPDX-License-Identifier: Apache-2.0 */
#include "../asleep.h"
#include "case.h"

#include <sys/stat.h>

extern char **environ;

/* ---- what the new program finds ---------------------------------------------------------------------------- */
static int threads_here(void)
{
    char line[256];
    int n = 0;
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f)) sscanf(line, "Threads: %d", &n);
    if (f) fclose(f);
    return n;
}

CASE(reached)
{
    sigset_t mask;
    cpu_set_t cpus;
    char comm[32] = "";
    int blocked = 0, caught = 0;
    struct sigaction sa;
    sigprocmask(SIG_BLOCK, NULL, &mask);
    for (int s = 1; s < 65; s++) {
        blocked += sigismember(&mask, s) == 1;
        caught += sigaction(s, NULL, &sa) == 0 && sa.sa_handler != SIG_DFL;
    }
    sched_getaffinity(0, sizeof cpus, &cpus);
    prctl(PR_GET_NAME, comm);
    printf("reached %s: leader %d threads %d blocked %d actions %d cpus %d comm %s", spawn_argv[0] ? spawn_argv[0] : "", gettid() == getpid(),
           threads_here(), blocked, caught, CPU_COUNT(&cpus), comm);
    printf(" works %d\n", works());
    fflush(stdout);
    if (spawn_argv[0] && spawn_argv[1]) {       /* once more */
        char *argv[] = {(char *)spawn_self, "reached", spawn_argv[1], NULL};
        execv(spawn_self, argv);
    }
}

static char *go[] = {NULL, "reached", "there", NULL};

static void *execs(void *arg)
{
    go[0] = (char *)spawn_self;
    nap_ms((int)(intptr_t)arg);
    execv(spawn_self, go);
    perror(spawn_self);
    _exit(1);
}

/* ---- from a thread ------------------------------------------------------------------------------------------- */
CASE(from_a_thread)
{
    pthread_t t;
    crowd_start(8);
    pthread_create(&t, NULL, execs, (void *)20L);
    pthread_join(t, NULL);
}

static void *nothing(void *arg) { return arg; }

CASE(beside_kept_threads)       /* some have ended and wait for work, some wait to be joined */
{
    pthread_t t[8];
    for (int i = 0; i < 8; i++) pthread_create(&t[i], NULL, nothing, NULL);
    for (int i = 0; i < 4; i++) pthread_join(t[i], NULL);
    pthread_create(&t[0], NULL, execs, (void *)1L);
    pthread_join(t[0], NULL);
}

static void *execs_alone(void *arg)
{
    while (state_of(getpid()) != 'Z') nap_ms(1);
    return execs(arg);
}

CASE(after_first_thread_has_ended)
{
    pthread_t t;
    pthread_create(&t, NULL, execs_alone, NULL);
    pthread_exit(NULL);
}

CASE(two_at_once)
{
    pthread_t t[2];
    crowd_start(4);
    for (int i = 0; i < 2; i++) pthread_create(&t[i], NULL, execs, (void *)5L);
    pause();
}

static void *forks(void *arg)
{
    while (true) {
        pid_t pid = fork();
        if (pid == 0) _exit(0);
        end_of(pid);
    }
    return arg;
}

CASE(beside_forks)
{
    pthread_t t[2];
    for (int i = 0; i < 2; i++) pthread_create(&t[i], NULL, forks, NULL);
    execs((void *)5L);
}

CASE(exit_beside_exec)      /* whoever is first */
{
    for (int i = 0; i < 10; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            pthread_t t;
            go[2] = NULL;
            go[1] = "quiet";
            pthread_create(&t, NULL, execs, (void *)(intptr_t)(i % 3));
            nap_ms(1);
            exit(0);
        }
        EXPECT(!strcmp(end_of(pid), "exit 0"));
    }
}
CASE(quiet) {}

CASE(many_in_a_row)
{
    int n = spawn_argv[0] ? atoi(spawn_argv[0]) : 20;
    char text[16];
    char *argv[] = {(char *)spawn_self, "many_in_a_row", text, NULL};
    EXPECT(works());
    if (!n) {
        printf("done\n");
        return;
    }
    snprintf(text, sizeof text, "%d", n - 1);
    execv(spawn_self, argv);
}

/* ---- failing ---------------------------------------------------------------------------------------------------- */
static char dir[64];
static const char *file(const char *name, const char *text, int mode)
{
    static char path[4][128];
    static int n;
    char *p = path[n++ % 4];
    snprintf(p, 128, "%s/%s", dir, name);
    int fd = open(p, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    EXPECT(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text) && fchmod(fd, (mode_t)mode) == 0);
    close(fd);
    return p;
}

static void make_dir(void)
{
    strcpy(dir, "/tmp/usf-spawn-XXXXXX");
    EXPECT(mkdtemp(dir) != NULL);
}

static void remove_dir(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", dir);
    EXPECT(system(command) == 0);
}

static void failing(const char *title, const char *path, char *const argv[], char *const envp[])
{
    int r = execve(path, argv, envp);
    printf("%s: %d %s, works %d\n", title, r, strerror(errno), works());
}

static void fail_all(void)
{
    char *volatile nowhere = (char *)8;
    char *argv[] = {"x", NULL};
    static char big[3 << 20], longer[5000];
    memset(big, 'x', sizeof big - 1);
    memset(longer, 'x', sizeof longer - 1);
    char *too_big[] = {"x", big, NULL};
    failing("no file", "/nowhere/at/all", argv, environ);
    failing("a directory", "/tmp", argv, environ);
    failing("not a directory", "/etc/passwd/x", argv, environ);
    failing("not executable", file("plain", "x", 0644), argv, environ);
    failing("no format", file("garbage", "\1\2\3 garbage", 0755), argv, environ);
    failing("empty", file("empty", "", 0755), argv, environ);
    failing("no interpreter", file("script", "#!/nowhere/sh\n", 0755), argv, environ);
    failing("broken ELF", file("elf", "\177ELF\2\1\1", 0755), argv, environ);
    failing("too big", "/bin/true", too_big, environ);
    failing("name too long", longer, argv, environ);
    failing("name nowhere", nowhere, argv, environ);
    failing("arguments nowhere", "/bin/true", (char *const *)nowhere, environ);
    failing("environment nowhere", "/bin/true", argv, (char *const *)nowhere);
    const char *loop = file("loop", "", 0755);
    EXPECT(unlink(loop) == 0);
    EXPECT(symlink(loop, loop) == 0);
    failing("loop", loop, argv, environ);
    EXPECT(unlink(loop) == 0);
    const char *busy = file("busy", "#!/bin/sh\n", 0755);
    int fd = open(busy, O_WRONLY | O_CLOEXEC);
    failing("busy", busy, argv, environ);
    close(fd);
    int r = (int)syscall(SYS_execveat, -1, "", argv, environ, 0x1000);
    printf("no descriptor: %d %s\n", r, strerror(errno));
    r = (int)syscall(SYS_execveat, AT_FDCWD, "/bin/true", argv, environ, 0x7fff);
    printf("no such flags: %d %s, works %d\n", r, strerror(errno), works());
}

CASE(fails)
{
    make_dir();
    fail_all();
    crowd_start(6);
    fail_all();
    crowd_end();
    remove_dir();
}

static void *fails_often(void *arg)
{
    char *argv[] = {"x", NULL};
    for (int i = 0; i < 10; i++) {
        execve(arg, argv, environ);
        EXPECT(errno == ENOEXEC);
    }
    return NULL;
}

CASE(fails_in_threads)
{
    pthread_t t[3];
    make_dir();
    const char *path = file("garbage", "\1\2", 0755);
    crowd_start(6);
    for (int i = 0; i < 3; i++) pthread_create(&t[i], NULL, fails_often, (void *)path);
    for (int i = 0; i < 3; i++) pthread_join(t[i], NULL);
    crowd_end();
    EXPECT(works());
    remove_dir();
}

/* ---- other ways --------------------------------------------------------------------------------------------------- */
static int self_fd(bool cloexec)
{
    char buffer[65536];
    ssize_t n;
    int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), to = memfd_create("spawned", cloexec ? MFD_CLOEXEC : 0);
    while ((n = read(from, buffer, sizeof buffer)) > 0) EXPECT(write(to, buffer, (size_t)n) == n);
    close(from);
    return to;
}

static void in_child(const char *title, int how)
{
    char *argv[] = {"spawn", "reached", "by descriptor", NULL}, *sh[] = {"script", NULL};
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        int fd;
        switch (how) {
        case 0: fexecve(open("/proc/self/exe", O_RDONLY | O_CLOEXEC), argv, environ); break;
        case 1: fexecve(self_fd(true), argv, environ); break;
        case 2: fexecve(self_fd(false), argv, environ); break;
        case 3: case 4:
            fd = memfd_create("script", how == 3 ? MFD_CLOEXEC : 0);
            EXPECT(write(fd, "#!/bin/sh\nexit 6\n", 17) == 17);
            fexecve(fd, sh, environ);
            _exit(errno == ENOENT ? 9 : 10);
        case 5: syscall(SYS_execveat, open("/bin", O_PATH), "true", argv, environ, 0); break;
        case 6: syscall(SYS_execveat, AT_FDCWD, "/proc/self/exe", argv, environ, AT_SYMLINK_NOFOLLOW); _exit(errno == ELOOP ? 11 : 12);
        case 7: execlp("spawn-no-such", "x", NULL); _exit(errno == ENOENT ? 13 : 14);
        }
        _exit(1);
    }
    printf("%s: %s\n", title, end_of(pid));
}

CASE(by_descriptor)
{
    in_child("own file", 0);
    in_child("memory, close on exec", 1);
    in_child("memory", 2);
    in_child("script in memory, close on exec", 3);
    in_child("script in memory", 4);
    in_child("in a directory", 5);
    in_child("a link", 6);
    in_child("not in PATH", 7);
}

/* A static program, a script, a setuid program in between: those after it are dynamic again. */
CASE(through)
{
    char *argv[] = {spawn_argv[0], spawn_argv[1], (char *)spawn_self, "reached", "after it", NULL};
    EXPECT(works());
    execv(argv[0], argv + (strcmp(argv[1], "-") ? 0 : 1));
    perror(argv[0]);
}

/* ---- the environment ------------------------------------------------------------------------------------------------ */
static void *environment(void *arg)
{
    char *argv[] = {(char *)spawn_self, "reached", arg, (char *)(strcmp(arg, "twice") ? NULL : "again"), NULL};
    nap_ms(5);
    execve(spawn_self, argv, environ);
    return NULL;
}

static void exec_without(const char *title, bool (*drop)(const char *), bool thread)
{
    char *kept[512], **old = environ;
    int n = 0;
    pthread_t t;
    fflush(stdout);
    for (char **e = environ; *e && n < 511; e++) if (!drop(*e)) kept[n++] = *e;
    kept[n] = NULL;
    environ = kept;
    pid_t pid = fork();
    if (pid == 0) {
        if (!thread) environment((void *)title);
        crowd_start(6);
        pthread_create(&t, NULL, environment, (void *)title);
        pthread_join(t, NULL);
    }
    printf("without %s: %s\n", title, end_of(pid));
    environ = old;
}

static bool all(const char *e) { (void)e; return true; }
static bool preload(const char *e) { return !strncmp(e, "LD_PRELOAD=", 11); }
static bool ours(const char *e) { return !strncmp(e, "USF_", 4); }
static bool none(const char *e) { (void)e; return false; }

CASE(environment)
{
    for (int i = 0; i < 2; i++) {
        exec_without("anything", all, i);
        exec_without("LD_PRELOAD", preload, i);
        exec_without("USF_*", ours, i);
        exec_without("twice", none, i);
    }
    clearenv();
    printf("system: %d\n", system("/bin/true"));
    EXPECT(works());
}
