/* tests/signals/storm.c - timers at 10 kHz, and handlers of every kind, over programs of every kind.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Usage: storm [THREADS [ROUNDS]].  Each round meets each kind of work with each kind of handler that comes back, under a kind of timer
 * and flags drawn by the seed, and leaves each kind of wait by each way out of a handler. */
#include "storm.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <ucontext.h>

#define SLICE_US 20000
#define HANDLER_ROOM 8192      /* what handlers here need of a stack of their own, with the C library and usf's own signal on top */

static _Atomic bool stop;
static _Atomic long handled;
static long storms;

/* ---- handlers that come back -------------------------------------------------------------------- */

static sem_t posts, got;
static int sink[2];
static pthread_mutex_t handlers_lock = PTHREAD_MUTEX_INITIALIZER;
static long guarded;
static _Atomic int shot;

static void on_count(int s, siginfo_t *info, void *uc) { (void)s, (void)info, (void)uc, handled++; }
static void on_post(int s, siginfo_t *info, void *uc)
{
    (void)s, (void)info, (void)uc;
    handled++;
    CHECK_EQ(sem_post(&posts), 0);
}
static void on_write(int s, siginfo_t *info, void *uc)
{
    int e = errno;
    (void)s, (void)info, (void)uc;
    handled++;
    CHECK(write(sink[1], "x", 1) == 1 || errno == EAGAIN);
    errno = e;
}
/* A lock that is taken nowhere but in handlers, which do not interrupt each other. */
static void on_lock(int s, siginfo_t *info, void *uc)
{
    int e = errno;
    (void)s, (void)info, (void)uc;
    handled++;
    CHECK_EQ(pthread_mutex_lock(&handlers_lock), 0);
    long g = guarded++;
    if (g % 64 == 0)
        sleep_us(20);
    CHECK_EQ(guarded, g + 1);
    CHECK_EQ(pthread_mutex_unlock(&handlers_lock), 0);
    errno = e;
}
static void on_wait(int s, siginfo_t *info, void *uc)
{
    int e = errno;
    struct timespec t = after_us(CLOCK_REALTIME, 50);
    (void)s, (void)info, (void)uc;
    if (handled++ % 16 == 0)
        sem_timedwait(&got, &t);
    sched_yield();
    errno = e;
}
static const struct { const char *name; void (*fn)(int, siginfo_t *, void *); bool nests; } handlers[] = {
    { "count", on_count, true }, { "post", on_post, true }, { "write", on_write, true }, { "lock", on_lock, false }, { "wait", on_wait, false },
};
#define NR(a) (sizeof(a) / sizeof *(a))

/* ---- work --------------------------------------------------------------------------------------- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static long count, turns;
static _Atomic long total, word;

static void mutexes(struct worker *w)
{
    long mine = 0;
    for (; !stop; mine++) {
        CHECK_EQ(pthread_mutex_lock(&lock), 0);
        long c = count;
        if (w->index == 0)
            work(50);
        count = c + 1;
        CHECK_EQ(pthread_mutex_unlock(&lock), 0);
    }
    total += mine;
}
static void conditions(struct worker *w)
{
    while (!stop) {
        CHECK_EQ(pthread_mutex_lock(&lock), 0);
        while (turns % threads != w->index && !stop) {
            struct timespec t = after_us(CLOCK_REALTIME, 2000);
            int r = pthread_cond_timedwait(&cond, &lock, &t);
            CHECK(r == 0 || r == ETIMEDOUT);
        }
        turns++;
        CHECK_EQ(pthread_cond_broadcast(&cond), 0);
        CHECK_EQ(pthread_mutex_unlock(&lock), 0);
    }
}
static void spins(struct worker *w)
{
    while (!stop) {
        while (word % threads != w->index && !stop)
            __builtin_ia32_pause();
        if (!stop)
            word++;
    }
}
static void *born(void *arg)
{
    total++;
    return arg;
}
static void births(struct worker *w)
{
    for (long n = 0; !stop; n++) {
        pthread_t th;
        void *r;
        CHECK_EQ(pthread_create(&th, NULL, born, w), 0);
        CHECK_EQ(pthread_join(th, &r), 0);
        CHECK(r == w);
    }
}
static void forks(struct worker *w)
{
    while (!stop) {
        int status;
        pid_t r, pid = fork();
        if (pid == 0)
            _exit(w->index);
        CHECK(pid > 0);
        while ((r = waitpid(pid, &status, 0)) < 0)
            CHECK_EQ(errno, EINTR);
        CHECK(r == pid && WIFEXITED(status) && WEXITSTATUS(status) == w->index);
    }
}
static void pipes(struct worker *w)
{
    static const char out[40000];
    char in[4096];
    int fd[2];
    CHECK_EQ(pipe(fd), 0);
    CHECK_EQ(fcntl(fd[1], F_SETFL, O_NONBLOCK), 0);
    for (long sent = 0, received = 0; !stop;) {
        long r = write(fd[1], out, 1 + next_random(&w->random) % sizeof out);
        CHECK(r > 0 || errno == EINTR || errno == EAGAIN);
        sent += r > 0 ? r : 0;
        while (received < sent) {
            r = read(fd[0], in, sizeof in);
            CHECK(r > 0 || errno == EINTR);
            received += r > 0 ? r : 0;
        }
        CHECK_EQ(received, sent);
    }
    close(fd[0]);
    close(fd[1]);
}
static void naps(struct worker *w)
{
    while (!stop) {
        struct pollfd p = { .fd = -1 };
        struct timespec t = { 0, 1 + next_random(&w->random) % 300000 };
        CHECK(nanosleep(&t, &t) == 0 || errno == EINTR);
        CHECK(poll(&p, 1, 1) == 0 || errno == EINTR);
        sched_yield();
    }
}
static void faults(struct worker *w)
{
    (void)w;
    while (!stop) {
        char *p = mmap(NULL, 16 << 12, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        CHECK(p != MAP_FAILED);
        for (int i = 0; i < 16; i++)
            p[i << 12] = 1;
        CHECK_EQ(munmap(p, 16 << 12), 0);
        CHECK(syscall(SYS_futex, NULL, 128, 0, NULL) == -1 && errno == EFAULT);
    }
}
static const struct { const char *name; void (*fn)(struct worker *); } kinds[] = {
    { "mutexes", mutexes }, { "conditions", conditions }, { "spins", spins }, { "births", births },
    { "forks", forks }, { "pipes", pipes }, { "naps", naps }, { "faults", faults },
};

struct storm { unsigned kind; enum storm_timer timer; bool stacks; };

static void *body(void *arg)
{
    struct worker *w = arg;
    const struct storm *s = w->arg;
    void *stack = s->stacks ? storm_stack(HANDLER_ROOM) : NULL;
    timer_t timer = s->timer == TIMER_THREAD ? storm_start(TIMER_THREAD) : NULL;
    kinds[s->kind].fn(w);
    if (s->timer == TIMER_THREAD)
        storm_end(TIMER_THREAD, timer);
    if (stack)
        storm_no_stack(stack);
    return NULL;
}

static void *timekeeper(void *arg)
{
    sleep_us(SLICE_US);
    stop = true;
    return arg;
}

static void returning(unsigned kind, unsigned handler, unsigned random)
{
    struct storm s = { .kind = kind, .timer = random % NR_STORM_TIMERS, .stacks = random >> 4 & 1 };
    int flags = (random >> 5 & 1 ? SA_RESTART : 0) | (s.stacks ? SA_ONSTACK : 0)
              | (handlers[handler].nests && !s.stacks && random >> 6 & 1 ? (int)SA_NODEFER : 0);
    pthread_t keeper;
    timer_t timer = NULL;
    stop = false;
    total = 0;
    word = 0;
    handled = 0;
    count = turns = 0;
    storm_handler(storm_signal[s.timer], handlers[handler].fn, flags);
    storm_mask(SIG_BLOCK, storm_signal[s.timer]);
    CHECK_EQ(pthread_create(&keeper, NULL, timekeeper, NULL), 0);
    storm_mask(SIG_UNBLOCK, storm_signal[s.timer]);
    if (s.timer != TIMER_THREAD)
        timer = storm_start(s.timer);
    void *stack = s.stacks ? storm_stack(HANDLER_ROOM) : NULL;      /* the timers of processes come to this one, too */
    run(body, &s);
    if (s.timer != TIMER_THREAD)
        storm_end(s.timer, timer);
    CHECK_EQ(pthread_join(keeper, NULL), 0);
    if (stack)
        storm_no_stack(stack);
    signal(storm_signal[s.timer], SIG_IGN);
    CHECK(kind != 0 || total == count);
    storms += handled;
    char drop[4096];
    while (read(sink[0], drop, sizeof drop) > 0)
        ;
}

/* ---- ways out of a wait -------------------------------------------------------------------------- */

enum way { JUMP, CONTEXT, COROUTINE, EXIT, NR_WAYS };
static const char *const way_names[] = { "siglongjmp", "setcontext", "swapcontext and back", "pthread_exit" };

struct leaver {
    pthread_mutex_t held, plain;
    sem_t none;
    int pipe[2], socket[2];
    _Atomic int never, armed, cleaned;
    sigjmp_buf out;
    ucontext_t home, here, other;
    char *stack;
    enum way way;
    unsigned wait;
};
static __thread struct leaver *volatile leaver;

static void wait_nap(struct leaver *l) { struct timespec t = { 10, 0 }; nanosleep(&t, NULL); (void)l; }
static void wait_poll(struct leaver *l) { struct pollfd p = { .fd = l->pipe[0], .events = POLLIN }; poll(&p, 1, -1); }
static void wait_read(struct leaver *l) { char c; CHECK(read(l->pipe[0], &c, 1) < 0); }
static void wait_recv(struct leaver *l) { char c; CHECK(recv(l->socket[0], &c, 1, 0) < 0); }
static void wait_sem(struct leaver *l) { sem_wait(&l->none); }
static void wait_futex(struct leaver *l) { syscall(SYS_futex, &l->never, 128, 0, NULL); }
static void wait_shared(struct leaver *l) { syscall(SYS_futex, &l->never, 0, 0, NULL); }
static void wait_mutex(struct leaver *l) { CHECK(pthread_mutex_lock(&l->held) != 0); }
static void wait_spin(struct leaver *l)
{
    while (!atomic_load_explicit(&l->never, memory_order_relaxed))
        __builtin_ia32_pause();
}
static void wait_yield(struct leaver *l) { while (!l->never) sched_yield(); }
static void wait_compute(struct leaver *l) { for (volatile long i = 0; !l->never; i++) ; }
static void wait_signal(struct leaver *l) { pause(); (void)l; }
static void wait_lock(struct leaver *l)
{
    while (!l->never) {
        struct timespec t = after_us(CLOCK_REALTIME, 20);
        int r = pthread_mutex_timedlock(&l->held, &t);
        CHECK(r == ETIMEDOUT);
    }
}
static const struct { const char *name; void (*fn)(struct leaver *); } waits[] = {
    { "nanosleep", wait_nap }, { "poll", wait_poll }, { "read", wait_read }, { "recv", wait_recv }, { "sem_wait", wait_sem },
    { "futex", wait_futex }, { "shared futex", wait_shared }, { "pthread_mutex_lock", wait_mutex }, { "spin", wait_spin },
    { "sched_yield", wait_yield }, { "compute", wait_compute }, { "pause", wait_signal }, { "timedlock", wait_lock },
};

static void on_leave(int s, siginfo_t *info, void *uc)
{
    struct leaver *l = leaver;
    int e = errno;
    (void)s, (void)info, (void)uc;
    if (!l || l->armed == 0)
        return;
    l->armed--;
    switch (l->way) {
    case JUMP:
        siglongjmp(l->out, 1);
    case CONTEXT:
        setcontext(&l->home);
        break;
    case COROUTINE:
        CHECK_EQ(swapcontext(&l->here, &l->other), 0);
        break;
    default:
        pthread_exit(l);
    }
    errno = e;
}

/* What the handler swaps to: it waits, too, and lets the interrupted context go on. */
static void elsewhere(void)
{
    struct leaver *l = leaver;
    for (;;) {
        sched_yield();
        CHECK(sem_trywait(&l->none) == -1);
        CHECK_EQ(pthread_mutex_lock(&l->plain), 0);
        sleep_us(1);
        CHECK_EQ(pthread_mutex_unlock(&l->plain), 0);
        if (l->armed == 0)
            siglongjmp(l->out, 2);
        CHECK_EQ(swapcontext(&l->other, &l->here), 0);
    }
}

static void cleanup(void *arg) { ((struct leaver *)arg)->cleaned++; }

#define LEAVES 12
static void *leave(void *arg)
{
    struct leaver *l = arg;
    timer_t timer = storm_start(TIMER_THREAD);
    volatile int n = 0;
    leaver = l;
    pthread_cleanup_push(cleanup, l);
    if (l->way == COROUTINE) {
        CHECK_EQ(getcontext(&l->other), 0);
        sigaddset(&l->other.uc_sigmask, SIGUSR2);      /* else it would be interrupted, too, and swap with itself */
        l->other.uc_stack.ss_sp = l->stack;
        l->other.uc_stack.ss_size = 64 << 10;
        makecontext(&l->other, elsewhere, 0);
        /* Armed when there is a place to jump to: all the signals may come before the next instruction. */
        if (sigsetjmp(l->out, 1) == 0) {
            l->armed = LEAVES;
            for (;;)
                waits[l->wait].fn(l);
        }
    } else if (l->way == EXIT) {
        for (;;) {
            l->armed = 1;
            waits[l->wait].fn(l);
        }
    } else {
        if (l->way == CONTEXT)
            CHECK_EQ(getcontext(&l->home), 0);
        else
            sigsetjmp(l->out, 1);
        if (n++ < LEAVES)
            for (;;) {
                l->armed = 1;
                waits[l->wait].fn(l);
            }
    }
    leaver = NULL;
    pthread_cleanup_pop(1);
    storm_mask(SIG_BLOCK, SIGUSR2);
    storm_end(TIMER_THREAD, timer);
    /* All that it left in the middle of a wait is of use still. */
    CHECK_EQ(pthread_mutex_unlock(&l->plain), 0);
    CHECK_EQ(pthread_mutex_lock(&l->held), 0);
    CHECK_EQ(pthread_mutex_unlock(&l->held), 0);
    while (sem_wait(&l->none) != 0)
        ;
    return NULL;
}

static void leaving(struct leaver *all, unsigned wait, enum way way)
{
    pthread_t th[MAX_THREADS];
    storm_handler(SIGUSR2, on_leave, 0);
    for (int i = 0; i < threads; i++) {
        struct leaver *l = &all[i];
        char *stack = l->stack;
        memset(l, 0, sizeof *l);
        l->stack = stack;
        l->wait = wait;
        l->way = way;
        CHECK_EQ(pthread_mutex_init(&l->held, NULL) | pthread_mutex_init(&l->plain, NULL), 0);
        CHECK_EQ(pthread_mutex_lock(&l->held), 0);
        CHECK_EQ(sem_init(&l->none, 0, 0) | pipe(l->pipe) | socketpair(AF_UNIX, SOCK_STREAM, 0, l->socket), 0);
        CHECK_EQ(pthread_create(&th[i], NULL, leave, l), 0);
    }
    for (int i = 0; i < threads; i++) {
        struct leaver *l = &all[i];
        void *result;
        while (!l->cleaned)
            sleep_us(100);
        CHECK_EQ(pthread_mutex_unlock(&l->held), 0);
        CHECK_EQ(sem_post(&l->none), 0);
        CHECK_EQ(pthread_join(th[i], &result), 0);
        CHECK_EQ(l->cleaned, 1);
        CHECK(way == EXIT ? result == l : result == NULL);
        close(l->pipe[0]), close(l->pipe[1]), close(l->socket[0]), close(l->socket[1]);
    }
}

/* ---- one shot, and for ever ------------------------------------------------------------------------ */

static void on_shot(int s, siginfo_t *info, void *uc)
{
    struct sigaction now;
    (void)info, (void)uc;
    CHECK_EQ(sigaction(s, NULL, &now), 0);
    CHECK(now.sa_handler == SIG_DFL);
    shot++;
    storm_handler(s, on_shot, (int)SA_RESETHAND);
}

/* One at a time: sent while its action is the default one it is the end of the program, at once. */
static _Atomic int shots_wanted;
static void *shooter(void *target)
{
    unsigned random = seed;
    for (int n = 1; n <= 200; n++) {
        while (shots_wanted < n)
            sched_yield();
        work(next_random(&random) % 20000);
        CHECK_EQ(pthread_kill(*(pthread_t *)target, SIGALRM), 0);
    }
    return NULL;
}

static void one_shot(void)
{
    pthread_t th, self = pthread_self();
    storm_handler(SIGALRM, on_shot, (int)SA_RESETHAND);
    shot = shots_wanted = 0;
    CHECK_EQ(pthread_create(&th, NULL, shooter, &self), 0);
    for (int n = 1; n <= 200; n++) {
        shots_wanted = n;
        while (shot < n) {
            struct timespec t = after_us(CLOCK_REALTIME, 100);
            CHECK(sem_timedwait(&got, &t) == -1);
            sched_yield();
            CHECK(syscall(SYS_futex, NULL, 128, 0, NULL) == -1 && errno == EFAULT);
        }
        CHECK_EQ(shot, n);
    }
    CHECK_EQ(pthread_join(th, NULL), 0);
    signal(SIGALRM, SIG_DFL);
}

static _Atomic int lost;
static void on_never(int s, siginfo_t *info, void *uc)
{
    (void)s, (void)info, (void)uc;
    lost++;
    for (;;)
        sleep_us(500);
}
static void *never_back(void *arg)
{
    struct leaver l = { .wait = (unsigned)((struct worker *)arg)->index % NR(waits) };
    CHECK_EQ(pthread_mutex_lock(&l.held), 0);
    CHECK_EQ(sem_init(&l.none, 0, 0) | pipe(l.pipe) | socketpair(AF_UNIX, SOCK_STREAM, 0, l.socket), 0);
    leaver = &l;
    storm_start(TIMER_THREAD);
    for (;;)
        waits[l.wait].fn(&l);
}
/* Threads that are in their handlers for the rest of the program: the others go on, and the program ends. */
static void for_ever(void)
{
    int n = (int)NR(waits), status;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        alarm(30);
        storm_handler(SIGUSR2, on_never, 0);
        for (int i = 0; i < n; i++) {
            workers[i] = (struct worker){ .index = i };
            CHECK_EQ(pthread_create(&workers[i].th, NULL, never_back, &workers[i]), 0);
        }
        while (lost < n)
            sleep_us(500);
        exit(0);
    }
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void say(const char *a, const char *b)
{
    if (getenv("VERBOSE"))
        printf("%s, %s\n", a, b), fflush(stdout);
}

int main(int argc, char **argv)
{
    static struct leaver all[MAX_THREADS];
    stress_start(argc, argv, 1);
    if (argc <= 1)
        threads = 3;
    storm_watchdog(60 + 20 * rounds);
    unsigned random = seed;
    CHECK_EQ(sem_init(&posts, 0, 0) | sem_init(&got, 0, 0) | pipe2(sink, O_NONBLOCK), 0);
    for (int i = 0; i < threads; i++)
        CHECK((all[i].stack = malloc(64 << 10)));
    for (long r = 0; r < rounds; r++) {
        for (unsigned h = 0; h < NR(handlers); h++)
            for (unsigned k = 0; k < NR(kinds); k++) {
                say(handlers[h].name, kinds[k].name);
                returning(k, h, next_random(&random));
            }
        for (unsigned w = 0; w < NR(waits); w++)
            for (enum way way = 0; way < NR_WAYS; way++) {
                say(way_names[way], waits[w].name);
                leaving(all, w, way);
            }
        one_shot();
        for_ever();
    }
    CHECK(storms > 0);
    return 0;
}
