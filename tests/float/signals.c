/* tests/float/signals.c CASE - signals of threads that share kernel threads.  SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "../asleep.h"
#include "subjects.h"

static void send(pid_t tid, int sig) { CHECK(!syscall(SYS_tgkill, getpid(), tid, sig)); }

/* ---- signals -------------------------------------------------------------------------------------- */
static __thread volatile sig_atomic_t got;
static _Atomic int total, sent;
static void on_signal(int sig) { (void)sig; got++; atomic_fetch_add(&total, 1); }

static _Atomic pid_t target[SUBJECTS];
static _Atomic int acknowledged[SUBJECTS];

static void *signal_subject(void *arg)
{
    long me = (long)arg;
    sem_t never;
    int fd[2];
    char c;
    sem_init(&never, 0, 0);
    CHECK(!pipe(fd));
    target[me] = own_tid();
    for (int seen = 0; seen < ROUNDS / 3; ) {
        struct timespec t;
        if (seen % 3 == 0) {
            mix();
        } else if (seen % 3 == 1) {
            clock_gettime(CLOCK_REALTIME, &t);
            t.tv_sec += 20;
            CHECK(sem_timedwait(&never, &t) && errno == EINTR);      /* or nobody has sent any for long */
        } else {
            CHECK(read(fd[0], &c, 1) == -1 && errno == EINTR);
        }
        if (got == seen) continue;
        acknowledged[me] = seen = got;
    }
    return 0;
}

static void *signal_sender(void *arg)
{
    long to = (long)arg;
    while (!target[to]) sched_yield();
    while (acknowledged[to] < ROUNDS / 3) {
        int was = acknowledged[to];
        atomic_fetch_add(&sent, 1);
        send(target[to], SIGUSR1);
        for (int i = 0; i < 100 && acknowledged[to] == was; i++) mix();        /* it may have come before the wait began: send another */
        CHECK(!got);
    }
    return 0;
}

static void signals(void)
{
    struct sigaction a = {.sa_handler = on_signal};
    pthread_t s[SUBJECTS];
    sigaction(SIGUSR1, &a, 0);
    for (long i = 0; i < SUBJECTS; i++) CHECK(!pthread_create(&s[i], 0, signal_sender, (void *)i));
    with_subjects(signal_subject);
    for (int i = 0; i < SUBJECTS; i++) CHECK(!pthread_join(s[i], 0));
    CHECK(total >= SUBJECTS * (ROUNDS / 3) && total <= sent);
}

/* raise() has run the handler when it returns. */
static void *raise_subject(void *arg)
{
    for (int i = 0; i < ROUNDS; i++) {
        mix();
        CHECK(got == i);
        CHECK(!raise(SIGUSR1));
        CHECK(got == i + 1);
    }
    return arg;
}
static void raises(void)
{
    struct sigaction a = {.sa_handler = on_signal};
    sigaction(SIGUSR1, &a, 0);
    with_subjects(raise_subject);
}

/* Each blocks another signal: a thread gets none that it blocks, and what is sent to it waits for it. */
static const int blocked_by[SUBJECTS] = {SIGUSR1, SIGUSR2, SIGPIPE};
static __thread int blocks;
static __thread volatile sig_atomic_t last;
static void on_blocked(int sig) { last = sig; atomic_fetch_add(&total, 1); if (sig == blocks) atomic_fetch_add(&total, 1000000); }
static void *mask_subject(void *arg)
{
    int sig = blocked_by[(long)arg];
    sigset_t set, now;
    sigemptyset(&set);
    sigaddset(&set, sig);
    for (int i = 0; i < ROUNDS; i++) {
        CHECK(!pthread_sigmask(SIG_BLOCK, &set, 0));
        blocks = sig;
        mix();
        CHECK(!pthread_sigmask(SIG_BLOCK, 0, &now));
        for (int k = 0; k < SUBJECTS; k++) CHECK(sigismember(&now, blocked_by[k]) == (blocked_by[k] == sig));
        CHECK(!kill(getpid(), blocked_by[(i + (long)arg + 1) % SUBJECTS]));
        last = 0;
        CHECK(!pthread_kill(pthread_self(), sig));
        mix();
        CHECK(!last || last != sig);
        blocks = last = 0;
        CHECK(!pthread_sigmask(SIG_UNBLOCK, &set, 0));
        CHECK(last);
        mix();
    }
    return 0;
}
static void masks(void)
{
    struct sigaction a = {.sa_handler = on_blocked, .sa_flags = SA_RESTART};
    for (int i = 0; i < SUBJECTS; i++) sigaction(blocked_by[i], &a, 0);
    with_subjects(mask_subject);
    CHECK(total < 1000000);
}

/* A process's signal reaches it while all of its threads wait. */
static sem_t rung;
static void on_alarm(int sig) { (void)sig; sem_post(&rung); }
static void alarms(void)
{
    struct sigaction a = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    struct timespec t = {.tv_nsec = 2000000};
    end();
    sem_init(&rung, 0, 0);
    sigaction(SIGALRM, &a, 0);
    timer_t timer;
    CHECK(!timer_create(CLOCK_MONOTONIC, &(struct sigevent){.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM}, &timer));
    CHECK(!timer_settime(timer, 0, &(struct itimerspec){.it_interval = t, .it_value = t}, 0));
    for (int i = 0; i < 50; i++)
        while (sem_wait(&rung)) CHECK(errno == EINTR);
    timer_delete(timer);
}

/* A process's signal interrupts its first thread, wherever that is executed, as Ctrl-C does: one at a
 * time, for which the kernel chooses no other thread.  No call of another thread ends for it. */
static sem_t handled;
static void on_process(int sig) { (void)sig; got++; sem_post(&handled); }
static _Atomic int armed;
static void *process_sender(void *arg)
{
    for (int i = 1; i <= ROUNDS; i++) {
        while (armed < i) mix();
        CHECK(!kill(getpid(), SIGUSR1) && !got);
    }
    return arg;
}
static void *call_maker(void *arg)
{
    while (armed < ROUNDS) {
        mix();
        CHECK(!poll(0, 0, 1) && !got);
    }
    return arg;
}
static void signal_process(int flags)
{
    struct sigaction a = {.sa_handler = on_process, .sa_flags = flags};
    pthread_t sender, caller;
    sem_init(&handled, 0, 0);
    sigaction(SIGUSR1, &a, 0);
    CHECK(!pthread_create(&sender, 0, process_sender, 0) && !pthread_create(&caller, 0, call_maker, 0));
    for (int i = 1; i <= ROUNDS; i++) {
        mix();
        sigaction(SIGUSR1, &a, 0);
        armed = i;
        while (sem_wait(&handled)) CHECK(errno == EINTR);
        CHECK_EQ(got, i);
    }
    CHECK(!pthread_join(sender, 0) && !pthread_join(caller, 0));
}
static void processes(void) { signal_process(0); }
static void one_shot(void) { signal_process((int)SA_RESETHAND); }

/* Only the first thread lets the signal in, and waits.  Another one goes home meanwhile, maybe to
 * where the first one's place is. */
static _Atomic int round_of_first;
static void *home_goer(void *arg)
{
    int *cleared;
    for (int i = 0; i < ROUNDS; i++) {
        while (round_of_first < i + 1) mix();
        for (int tries = 0; round_of_first == i + 1; tries++) {
            CHECK(!prctl(PR_GET_TID_ADDRESS, &cleared));
            if (!tries) CHECK(!kill(getpid(), SIGUSR1));
            mix();
            if (tries % 100 == 99) CHECK(!kill(getpid(), SIGUSR1));     /* it may have come before the wait began */
        }
    }
    return arg;
}
static void homings(void)
{
    struct sigaction a = {.sa_handler = on_signal};
    sigset_t one;
    pthread_t t;
    sem_t never;
    sem_init(&never, 0, 0);
    sigemptyset(&one);
    sigaddset(&one, SIGUSR1);
    end();
    CHECK(!pthread_sigmask(SIG_BLOCK, &one, 0));
    sigaction(SIGUSR1, &a, 0);
    over = false;
    begin();
    CHECK(!pthread_create(&t, 0, home_goer, 0));
    for (int i = 0; i < ROUNDS; i++) {
        mix();
        CHECK(!pthread_sigmask(SIG_UNBLOCK, &one, 0));
        round_of_first = i + 1;
        CHECK(sem_wait(&never) == -1 && errno == EINTR);
        CHECK(!pthread_sigmask(SIG_BLOCK, &one, 0));
        round_of_first = -1;
    }
    round_of_first = ROUNDS + 1;
    CHECK(!pthread_join(t, 0));
}

/* What comes of a thread's own write is its own. */
static void *pipe_subject(void *arg)
{
    int fd[2];
    CHECK(!pipe(fd) && !close(fd[0]));
    for (int i = 0; i < ROUNDS; i++) {
        mix();
        CHECK(write(fd[1], "", 1) == -1 && errno == EPIPE && got == i + 1);
    }
    return arg;
}
static void pipes(void)
{
    struct sigaction a = {.sa_handler = on_signal};
    sigaction(SIGPIPE, &a, 0);
    with_subjects(pipe_subject);
}

/* A handler with SA_ONSTACK runs on its thread's own alternate stack. */
static __thread char *stack_from, *stack_to;
static void on_stack(int sig)
{
    char here;
    (void)sig;
    CHECK(&here > stack_from && &here < stack_to);
    got++;
}
static void *stack_subject(void *arg)
{
    size_t size = 65536;
    stack_t s = {.ss_sp = malloc(size), .ss_size = size}, now;
    CHECK(!sigaltstack(&s, 0));
    stack_from = s.ss_sp;
    stack_to = stack_from + size;
    for (int i = 0; i < ROUNDS; i++) {
        mix();
        CHECK(!pthread_kill(pthread_self(), SIGUSR1) && got == i + 1);
        CHECK(!sigaltstack(0, &now) && now.ss_sp == s.ss_sp && now.ss_size == size && !now.ss_flags);
    }
    return arg;
}
static void stacks(void)
{
    struct sigaction a = {.sa_handler = on_stack, .sa_flags = SA_ONSTACK};
    sigaction(SIGUSR1, &a, 0);
    with_subjects(stack_subject);
}

static sigset_t waited;
static void *sigwait_subject(void *arg)
{
    long me = (long)arg;
    int sig;
    target[me] = own_tid();
    for (int i = 0; i < ROUNDS / 3; i++) {
        CHECK(!sigwait(&waited, &sig) && sig == SIGUSR2);
        acknowledged[me] = i + 1;
        mix();
    }
    return 0;
}
static void *sigwait_sender(void *arg)
{
    long to = (long)arg;
    while (!target[to]) sched_yield();
    for (int i = 0; i < ROUNDS / 3; i++) {
        send(target[to], SIGUSR2);
        while (acknowledged[to] == i) mix();
    }
    return 0;
}
static void sigwaits(void)
{
    pthread_t s[SUBJECTS];
    sigemptyset(&waited);
    sigaddset(&waited, SIGUSR2);
    CHECK(!pthread_sigmask(SIG_BLOCK, &waited, 0));
    for (long i = 0; i < SUBJECTS; i++) CHECK(!pthread_create(&s[i], 0, sigwait_sender, (void *)i));
    with_subjects(sigwait_subject);
    for (int i = 0; i < SUBJECTS; i++) CHECK(!pthread_join(s[i], 0));
}

/* ---- a handler that is left by siglongjmp ----------------------------------------------------------- */
static __thread sigjmp_buf back;
static void leave(int sig) { siglongjmp(back, sig); }
static void *jump_subject(void *arg)
{
    pid_t tid = own_tid();
    volatile int jumps = 0;
    sem_t never;
    sem_init(&never, 0, 0);
    for (volatile int i = 0; i < ROUNDS; i++) {
        if (sigsetjmp(back, 1)) jumps++;
        else if (i % 3 == 0) raise(SIGUSR1);
        else mix();
        CHECK(own_tid() == tid);
        mix();
    }
    CHECK(jumps == ROUNDS / 3);
    return arg;
}
static void jumps(void)
{
    struct sigaction a = {.sa_handler = leave};
    CHECK(!sigaction(SIGUSR1, &a, 0));
    with_subjects(jump_subject);
}

/* ---- a handler that has the thread go on elsewhere, as virtual machines do -------------------------- */
/* The thread is free to float after that, so those whose kernel threads it is executed by can come home: the answer is one's. */
static sem_t asked, answered;
static void skip(int sig, siginfo_t *info, void *ctx)
{
    (void)sig, (void)info;
    ((ucontext_t *)ctx)->uc_mcontext.gregs[REG_RIP] += 2;      /* behind the ud2 */
}
/* Below the handler's frame. */
static __attribute__((noinline)) void ask(void)
{
    volatile char deep[65536];
    deep[0] = 1;
    CHECK(!sem_post(&asked));
    while (sem_wait(&answered)) CHECK(errno == EINTR);
    CHECK(deep[0] == 1);
}
static void *asker(void *arg)
{
    pid_t tid = own_tid();
    for (int i = 0; i < ROUNDS; i++) {
        mix();
        if (i % 2) __asm__ volatile("ud2" ::: "memory");
        CHECK(own_tid() == tid);
        ask();
    }
    return arg;
}
static void *answerer(void *arg)
{
    for (int i = 0; i < ROUNDS; i++) {
        while (sem_wait(&asked)) CHECK(errno == EINTR);
        CHECK(!prctl(PR_SET_NAME, "answers"));                  /* at home */
        CHECK(!sem_post(&answered));
        mix();
    }
    return arg;
}
static void skips(void)
{
    pthread_t t[2];
    struct sigaction a = {.sa_sigaction = skip, .sa_flags = SA_SIGINFO};
    CHECK(!sigaction(SIGILL, &a, 0) && !sem_init(&asked, 0, 0) && !sem_init(&answered, 0, 0));
    begin();
    CHECK(!pthread_create(&t[0], 0, asker, 0) && !pthread_create(&t[1], 0, answerer, 0));
    for (int i = 0; i < 2; i++) CHECK(!pthread_join(t[i], 0));
    end();
}

/* ---- signals that another process sends to a thread ------------------------------------------------ */
static void *foreign_subject(void *arg)
{
    long me = (long)arg;
    target[me] = own_tid();
    while (got < 20) {
        mix();
        acknowledged[me] = got;
    }
    acknowledged[me] = got;
    return 0;
}
static void foreign(void)
{
    struct sigaction a = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    pthread_t t[SUBJECTS];
    int *shared = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(shared != MAP_FAILED && !sigaction(SIGUSR1, &a, 0));
    for (long i = 0; i < SUBJECTS; i++) CHECK(!pthread_create(&t[i], 0, foreign_subject, (void *)i));
    for (int i = 0; i < SUBJECTS; i++)
        while (!target[i]) mix();
    pid_t parent = getpid(), p = fork();
    if (!p) {
        for (int n = 0; !shared[0]; n++) {
            syscall(SYS_tgkill, parent, target[n % SUBJECTS], SIGUSR1);
            usleep(500);
        }
        _exit(0);
    }
    for (int i = 0; i < SUBJECTS; i++)
        while (acknowledged[i] < 20) {
            mix();
            CHECK(!got);        /* none is for this thread */
        }
    shared[0] = 1;
    CHECK(waitpid(p, 0, 0) == p);
    for (int i = 0; i < SUBJECTS; i++) CHECK(!pthread_join(t[i], 0));
}

/* ---- signals that a call lets in -------------------------------------------------------------------- */
static void *ppoll_subject(void *arg)
{
    long me = (long)arg;
    sigset_t blocked, none;
    struct timespec limit = {20, 0};
    sigemptyset(&none);
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR1);
    CHECK(!pthread_sigmask(SIG_BLOCK, &blocked, 0));
    target[me] = own_tid();
    for (int i = 0; i < 40; i++) {
        int seen = got;
        for (int k = 0; k < 3; k++) {
            mix();
            CHECK(got == seen);
        }
        if (i % 2) CHECK(ppoll(0, 0, &limit, &none) == -1 && errno == EINTR && got > seen);
        else CHECK(sigsuspend(&none) == -1 && errno == EINTR && got > seen);
        acknowledged[me] = i + 1;
    }
    return 0;
}
static void ppolls(void)
{
    struct sigaction a = {.sa_handler = on_signal};
    pthread_t t[SUBJECTS];
    CHECK(!sigaction(SIGUSR1, &a, 0));
    for (long i = 0; i < SUBJECTS; i++) CHECK(!pthread_create(&t[i], 0, ppoll_subject, (void *)i));
    for (int i = 0; i < SUBJECTS; i++)
        while (!target[i]) mix();
    for (int busy = 1; busy; ) {
        busy = 0;
        for (int i = 0; i < SUBJECTS; i++) {
            if (acknowledged[i] == 40) continue;
            int was = acknowledged[i];
            busy = 1;
            send(target[i], SIGUSR1);       /* before the call, or during it */
            for (int k = 0; k < 200 && acknowledged[i] == was; k++) mix();
        }
        CHECK(!got);
    }
    for (int i = 0; i < SUBJECTS; i++) CHECK(!pthread_join(t[i], 0));
}

/* A handler on top of such a call, which it leaves, or makes one itself: what the call below lets in is not let in on top of it. */
enum { SUSPEND, PPOLL, PSELECT, EPOLL, SIGWAIT, CALLS };
static _Atomic enum { NOTHING, WAITS, IS_OUT, SENT, DONE } phase;
static int epoll;
static sigset_t lets_in;
static void wait_by(int call)
{
    struct epoll_event event;
    switch (call) {
    case SUSPEND: sigsuspend(&lets_in); break;
    case PPOLL: ppoll(0, 0, 0, &lets_in); break;
    case PSELECT: pselect(0, 0, 0, 0, 0, &lets_in); break;
    case EPOLL: epoll_pwait(epoll, &event, 1, -1, &lets_in); break;
    case SIGWAIT: sigtimedwait(&waited, 0, 0); break;
    }
}

/* Threads are executed by each other's kernel threads if they block the same signals. */
static void have_all_block(const sigset_t *set)
{
    end();
    over = false;
    CHECK(!pthread_sigmask(SIG_BLOCK, set, 0));
    begin();
}

/* It may not run before the thread lets it in, nor in another thread. */
static __thread volatile bool may_come;
static void on_second(int sig)
{
    (void)sig;
    CHECK_EQ(own_tid(), target[0]);
    CHECK(may_come);
    got++;
}

/* It is sent the second signal, which it blocks, and floats. */
static void check_second(void)
{
    int was = got;
    sigset_t now;
    for (int i = 0; i < 20; i++) mix();
    CHECK(got == was && !sigpending(&now) && sigismember(&now, SIGUSR2));
    may_come = true;
    CHECK(!pthread_sigmask(SIG_UNBLOCK, &waited, 0) && got == was + 1);
    may_come = false;
    CHECK(!pthread_sigmask(SIG_BLOCK, &waited, 0));
}

static sigset_t both;
static void *leave_subject(void *arg)
{
    sigset_t first;
    sigemptyset(&first);
    sigaddset(&first, SIGUSR1);
    target[0] = own_tid();
    for (volatile int i = 0; i < 8 * CALLS; i++) {
        mix();
        if (i % CALLS == SIGWAIT) CHECK(!pthread_sigmask(SIG_UNBLOCK, &first, 0));
        if (!sigsetjmp(back, 1)) {
            phase = WAITS;
            wait_by(i % CALLS);
            CHECK(false, "the call returned");
        }
        phase = IS_OUT;
        while (phase == IS_OUT) {}      /* where the runtime's signal finds it */
        CHECK(!pthread_sigmask(SIG_BLOCK, &first, 0));
        check_second();
        phase = NOTHING;
    }
    phase = DONE;
    return arg;
}
static void begin_calls(const struct sigaction *first, const struct sigaction *second)
{
    sigemptyset(&lets_in);
    sigemptyset(&waited);
    sigaddset(&waited, SIGUSR2);
    both = waited;
    sigaddset(&both, SIGUSR1);
    epoll = epoll_create1(0);
    CHECK(epoll >= 0 && !sigaction(SIGUSR1, first, 0) && !sigaction(SIGUSR2, second, 0));
    have_all_block(&both);
}
static void leaves(void)
{
    struct sigaction first = {.sa_handler = leave}, second = {.sa_handler = on_second};
    pthread_t t;
    begin_calls(&first, &second);
    CHECK(!pthread_create(&t, 0, leave_subject, 0));
    for (int i = 0; phase != DONE; i++) {
        while (phase != WAITS && phase != DONE) mix();
        if (phase == DONE) break;
        while (i % CALLS == SIGWAIT && !any_sleeps_in(SYS_rt_sigtimedwait, -1)) mix();
        send(target[0], SIGUSR1);
        while (phase != IS_OUT) mix();
        send(target[0], SIGUSR2);
        phase = SENT;
        while (phase == SENT) mix();
    }
    CHECK(!pthread_join(t, 0));
}

static __thread int inner;
static void on_third(int sig) { (void)sig; }
static void wait_again(int sig)
{
    sigset_t third;
    (void)sig;
    sigfillset(&third);
    sigdelset(&third, SIGPIPE);
    if (inner == PPOLL) ppoll(0, 0, 0, &third);
    else sigsuspend(&third);
}
static void *nest_subject(void *arg)
{
    target[0] = own_tid();
    for (int i = 0; i < 8 * SIGWAIT; i++) {
        int was = got;
        mix();
        inner = i % 2;
        send(target[0], SIGUSR2);       /* the handler of the first blocks it, and the call ends with that */
        send(target[0], SIGUSR1);
        phase = WAITS;
        wait_by(i % SIGWAIT);
        CHECK(got == was);
        check_second();
        phase = NOTHING;
    }
    phase = DONE;
    return arg;
}
static void nests(void)
{
    struct sigaction first = {.sa_handler = wait_again}, second = {.sa_handler = on_second}, third = {.sa_handler = on_third};
    pthread_t t;
    sigaddset(&first.sa_mask, SIGUSR2);
    sigaddset(&first.sa_mask, SIGPIPE);
    CHECK(!sigaction(SIGPIPE, &third, 0));
    begin_calls(&first, &second);
    CHECK(!pthread_create(&t, 0, nest_subject, 0));
    while (phase != DONE) {
        if (phase == WAITS) send(target[0], SIGPIPE);
        mix();
    }
    CHECK(!pthread_join(t, 0));
}

/* ... but what the handler lets in as well comes at once, also where the call blocks all else. */
static _Atomic bool on_top;
static void await_second(int sig)
{
    int was = got;
    (void)sig;
    may_come = true;
    on_top = true;
    while (got == was) {}
    may_come = false;
}
static void *top_subject(void *arg)
{
    sigset_t all_but_ours;
    sigfillset(&all_but_ours);
    sigdelset(&all_but_ours, SIGUSR1);
    sigdelset(&all_but_ours, SIGUSR2);
    target[0] = own_tid();
    for (int i = 0; i < 4 * SIGWAIT; i++) {
        if (i & 1) lets_in = all_but_ours;
        else sigemptyset(&lets_in);
        mix();
        send(target[0], SIGUSR1);
        wait_by(i / 2 % SIGWAIT);
        CHECK_EQ(got, i + 1);
    }
    phase = DONE;
    return arg;
}
static void tops(void)
{
    struct sigaction first = {.sa_handler = await_second}, second = {.sa_handler = on_second};
    pthread_t t;
    begin_calls(&first, &second);
    CHECK(!pthread_create(&t, 0, top_subject, 0));
    while (phase != DONE) {
        bool yes = true;
        if (atomic_compare_exchange_strong(&on_top, &yes, false)) send(target[0], SIGUSR2);
        mix();
    }
    CHECK(!pthread_join(t, 0));
}

static __thread int values[32];
static __thread volatile int nr_values;
static void on_value(int sig, siginfo_t *info, void *ctx)
{
    (void)sig, (void)ctx;
    if (nr_values < 32) values[nr_values] = info->si_value.sival_int;
    nr_values++;
}
static _Atomic int queued[SUBJECTS];
static void *queue_subject(void *arg)
{
    long me = (long)arg;
    sigset_t rt;
    sigemptyset(&rt);
    sigaddset(&rt, SIGRTMIN);
    CHECK(!pthread_sigmask(SIG_BLOCK, &rt, 0));
    target[me] = own_tid();
    while (!queued[me]) mix();
    CHECK(!nr_values);
    CHECK(!pthread_sigmask(SIG_UNBLOCK, &rt, 0));
    CHECK(nr_values == 20);
    bool seen[20] = {0};        /* docs/threads.md: their order is not kept */
    for (int i = 0; i < 20; i++) {
        int k = values[i] - 100 * (int)me;
        CHECK(k >= 0 && k < 20 && !seen[k]);
        seen[k] = true;
    }
    return 0;
}
static void queues(void)
{
    struct sigaction a = {.sa_sigaction = on_value, .sa_flags = SA_SIGINFO | SA_RESTART};
    pthread_t t[SUBJECTS];
    CHECK(!sigaction(SIGRTMIN, &a, 0));
    for (long i = 0; i < SUBJECTS; i++) CHECK(!pthread_create(&t[i], 0, queue_subject, (void *)i));
    for (int i = 0; i < SUBJECTS; i++) {
        while (!target[i]) mix();
        for (int k = 0; k < 20; k++) {
            CHECK(!pthread_sigqueue(t[i], SIGRTMIN, (union sigval){.sival_int = 100 * i + k}));
            if (k % 5 == 0) mix();
        }
        queued[i] = 1;
    }
    for (int i = 0; i < SUBJECTS; i++) CHECK(!pthread_join(t[i], 0));
}

/* Garbage collectors stop threads in a handler that blocks all signals, until another signal comes: the call that waits for it lets in that
 * one alone. */
static _Atomic int collections;
static sem_t stopped, resumed;
static __thread long how;
static void on_go(int sig) { (void)sig; }
static void on_stop(int sig)
{
    int was = collections, before = errno;
    sigset_t all_but_go;
    (void)sig;
    sigfillset(&all_but_go);
    sigdelset(&all_but_go, SIGUSR2);
    sem_post(&stopped);
    while (collections == was) {
        if (how == 0) sigsuspend(&all_but_go);
        if (how == 1) ppoll(0, 0, 0, &all_but_go);
        if (how == 2) pselect(0, 0, 0, 0, 0, &all_but_go);
    }
    sem_post(&resumed);
    errno = before;
}

static void *stopped_subject(void *arg)
{
    how = (long)arg;
    target[how] = own_tid();
    while (collections >= 0) mix();
    return 0;
}

static void wait_for_all(sem_t *s)
{
    for (int i = 0; i < SUBJECTS; i++)
        while (sem_wait(s)) {}
}

static void world(void)
{
    struct sigaction stop = {.sa_handler = on_stop, .sa_flags = SA_RESTART}, go = {.sa_handler = on_go};
    pthread_t t[SUBJECTS];
    sigfillset(&stop.sa_mask);
    CHECK(!sigaction(SIGUSR1, &stop, 0) && !sigaction(SIGUSR2, &go, 0) && !sem_init(&stopped, 0, 0) && !sem_init(&resumed, 0, 0));
    for (long i = 0; i < SUBJECTS; i++) CHECK(!pthread_create(&t[i], 0, stopped_subject, (void *)i));
    for (int i = 0; i < SUBJECTS; i++)
        while (!target[i]) mix();
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < SUBJECTS; i++) send(target[i], SIGUSR1);
        wait_for_all(&stopped);
        collections++;
        for (int i = 0; i < SUBJECTS; i++) send(target[i], SIGUSR2);
        wait_for_all(&resumed);
        mix();
    }
    collections = -1;
    for (int i = 0; i < SUBJECTS; i++) CHECK(!pthread_join(t[i], 0));
}

int main(int argc, char **argv)
{
    static const struct subject_case cases[] = {
        {"signals", signals, false}, {"raise", raises, false}, {"masks", masks, false}, {"alarms", alarms, true}, {"stacks", stacks, false},
        {"sigwait", sigwaits, false}, {"jumps", jumps, false}, {"skips", skips, false}, {"foreign", foreign, false}, {"ppoll", ppolls, false},
        {"leaves", leaves, false}, {"nests", nests, false}, {"tops", tops, false},
        {"queued", queues, false}, {"world", world, false}, {"process", processes, false}, {"pipes", pipes, false}, {"homing", homings, false}, {"one_shot", one_shot, false},
    };
    return run_case(cases, sizeof cases / sizeof *cases, argc, argv);
}
