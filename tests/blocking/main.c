/* tests/blocking/main.c - block, make progress beside it, end it, tell.  SPDX-License-Identifier: Apache-2.0
 *
 * usage: [BLOCKING_KERNEL_RUN=1] blocking GROUP|CASE [WAY]     standard output: results, for comparison; standard error: times
 *
 * The main thread goes on only when it gets the core that the blocked one has left: with one core, a call that keeps
 * it hangs the test.  Ways to end the call: */
#include "blocking.h"
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <time.h>

enum way {
    PLAIN,      /* by what it waits for */
    EINTR_WAY,  /* by a signal whose handler was installed without SA_RESTART */
    RESTART,    /* a signal with SA_RESTART, and then by what it waits for, if it goes on waiting */
    OURS,       /* usf's own signal, which the program must not notice, and then by what it waits for */
    CANCEL,     /* by pthread_cancel */
    NR_WAYS
};
static const char *const way_names[NR_WAYS] = {"plain", "eintr", "restart", "ours", "cancel"};

struct work w;
static const struct blocking *c;
static sem_t entered;
volatile sig_atomic_t finished;
static volatile sig_atomic_t handled, returned;
static long result;
static int error;
static uint64_t before;

static uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void fatal(const char *what)
{
    fprintf(stderr, "FAIL %s: %s: %s\n", c ? c->name : "", what, strerror(errno));
    fflush(stdout);
    _exit(1);
}
void skip(const char *why) { w.skip = why; }

static void on_signal(int sig) { (void)sig; handled = handled + 1; }
static void on_alarm(int sig)
{
    (void)sig;
    static const char text[] = "FAIL: hangs in ";
    (void)!write(2, text, sizeof text - 1);
    (void)!write(2, c->name, strlen(c->name));
    (void)!write(2, "\n", 1);
    _exit(1);
}

static void handler(int sig, int flags)
{
    struct sigaction a = {.sa_handler = on_signal, .sa_flags = flags};
    sigaction(sig, &a, NULL);
}

void interrupt_it(void) { MUST(syscall(SYS_tgkill, getpid(), w.tid, SIGUSR2)); }

/* ---- the thread that blocks ---------------------------------------------------------------------- */
static void at_end(void *arg) { (void)arg; finished = 1; }

/* So many waits with nothing between them make the thread kernel-scheduled (docs/design.md, section
 * 3). */
static void begin_kernel_run(void)
{
    for (int i = 0; i < 100; i++) nanosleep(&(struct timespec){.tv_nsec = 1}, NULL);
}

static void *blocker(void *arg)
{
    (void)arg;
    w.tid = (pid_t)syscall(SYS_gettid);
    pthread_cleanup_push(at_end, NULL);
    if (getenv("BLOCKING_KERNEL_RUN")) begin_kernel_run();
    before = now();
    sem_post(&entered);
    errno = 0;
    result = c->block();
    error = result == -1 ? errno : 0;
    returned = 1;
    pthread_testcancel();
    pthread_cleanup_pop(1);
    return NULL;
}

/* The call that it sleeps in; 0: it runs, or has ended. */
static bool sleeps_in(int nr)
{
    char path[64], text[64] = "";
    snprintf(path, sizeof path, "/proc/self/task/%d/syscall", (int)w.tid);
    int fd = open(path, O_RDONLY);
    if (fd < 0) return false;
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    return n > 0 && text[0] != 'r' && atoi(text) == nr;
}

static void pause_us(long us) { nanosleep(&(struct timespec){.tv_nsec = us * 1000}, NULL); }

/* Until it is blocked, or has ended. */
static void wait_for_it(void)
{
    for (unsigned calm = 0; !finished && calm < 2; pause_us(200))
        calm = sleeps_in(c->nr) || (c->nr2 && sleeps_in(c->nr2)) ? calm + 1 : 0;
}

/* ---- ways to end it ------------------------------------------------------------------------------ */
static long send_own_signal(pid_t pid, pid_t tid)
{
    siginfo_t i = {.si_signo = SIGURG, .si_code = SI_QUEUE, .si_pid = getpid(), .si_uid = getuid()};
    i.si_value.sival_ptr = (void *)(0x75736600ul ^ 1);
    return syscall(SYS_rt_tgsigqueueinfo, pid, tid, SIGURG, &i);
}

/* The looks' helper: until it is killed. */
static int send_all_the_time(char **argv)
{
    cpu_set_t all;
    memset(&all, 0xff, sizeof all);
    sched_setaffinity(0, sizeof all, &all);     /* the thread's own CPU is no good: it would not be in the middle of a call */
    alarm(60);
    while (send_own_signal(atoi(argv[0]), atoi(argv[1])) == 0) pause_us(20);
    return 0;
}

static void interfere(enum way way)
{
    if (way == EINTR_WAY || way == RESTART) {
        MUST(syscall(SYS_tgkill, getpid(), w.tid, SIGUSR1));
        while (!handled) pause_us(100);
    } else if (way == OURS) {
        /* bare it would end some calls */
        if (getenv("USF_INSTANCE") && send_own_signal(getpid(), w.tid) && !finished) fatal("signal");
    }
    if (way == RESTART || way == OURS) wait_for_it();
}

static bool tried(enum way way)
{
    if (way == PLAIN) return true;
    if (way == CANCEL) return !(c->flags & (BY_ITSELF | UNINTERRUPTED));
    if (way == OURS) return !(c->flags & NOT_OURS);
    return !(c->flags & (BY_ITSELF | UNINTERRUPTED | IN_PART));
}

static void tidy(void)
{
    for (unsigned i = 0; i < 4; i++)
        if (w.fd[i] >= 0) close(w.fd[i]);
    if (w.path) unlink(w.path);
    if (w.remove) w.remove();
    free(w.path);
}

static void tell(enum way way, void *joined, uint64_t took)
{
    printf("%s %s: ", c->name, way_names[way]);
    if (way == CANCEL) printf("%s, %s", joined == PTHREAD_CANCELED ? "cancelled" : "not cancelled", returned ? "after it" : "in it");
    else printf("%ld %s, seen %ld, handled %d", result, error ? strerrorname_np(error) : "-", w.seen, (int)handled);
    printf("\n");
    if (way == PLAIN) fprintf(stderr, "%-24s the core was free after %8.1f us\n", c->name, (double)took / 1000);
}

static void run(enum way way)
{
    pthread_t thread;
    void *joined;
    w = (struct work){.fd = {-1, -1, -1, -1}, .id = -1};
    handled = finished = returned = 0;
    handler(SIGUSR1, way == RESTART ? SA_RESTART : 0);
    handler(SIGUSR2, 0);
    alarm(20);
    c->prepare();
    if (w.skip) {
        printf("%s %s: skipped: %s\n", c->name, way_names[way], w.skip);
        tidy();
        return;
    }
    sem_init(&entered, 0, 0);
    if (pthread_create(&thread, NULL, blocker, NULL)) fatal("pthread_create");
    sem_wait(&entered);
    uint64_t took = now() - before;
    if (!(c->flags & BY_ITSELF)) wait_for_it();
    interfere(way);
    if (way == CANCEL) pthread_cancel(thread);
    if (!(c->flags & BY_ITSELF) && !(way == CANCEL && c->flags & POINT) && !(way == EINTR_WAY && finished)) {
        if (way == EINTR_WAY) wait_for_it();
        if (!finished) c->end();
    }
    pthread_join(thread, &joined);
    alarm(0);
    tell(way, joined, took);
    tidy();
}

int main(int argc, char **argv)
{
    static const struct { const char *name; const struct blocking *cases; } groups[] = {
        {"pipe", pipe_cases}, {"socket", socket_cases}, {"file", file_cases}, {"ipc", ipc_cases}, {"wait", wait_cases},
        {"memory", memory_cases},
    };
    struct sigaction a = {.sa_handler = on_alarm};
    unsigned n = 0;
    if (argc > 3 && !strcmp(argv[1], "send")) return send_all_the_time(argv + 2);
    sigaction(SIGALRM, &a, NULL);
    signal(SIGPIPE, SIG_IGN);
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (unsigned g = 0; argc > 1 && g < sizeof groups / sizeof *groups; g++)
        for (c = groups[g].cases; c->name; c++) {
            if (strcmp(groups[g].name, argv[1]) && strcmp(c->name, argv[1])) continue;
            for (enum way way = PLAIN; way < NR_WAYS; way++)
                if (tried(way) && (argc < 3 || !strcmp(argv[2], way_names[way]))) run(way), n++;
        }
    return n ? 0 : 1;
}
