/* src/cli/supervise.c - run a program as a child, transparently.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/supervise.h"
#include "os/os.h"
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

/* What a fork does not hand on to the child, or what we change for ourselves. */
struct inherited {
    sigset_t mask;
    struct sigaction child;
    struct itimerval timer;
    pid_t parent;
};

/* All that can be waited for: not those that our own faults raise. */
static void waited_signals(sigset_t *set)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
    sigfillset(set);
    for (unsigned i = 0; i < sizeof faults / sizeof *faults; i++) sigdelset(set, faults[i]);
}

static _Noreturn void become_child(const struct inherited *in, int (*exec)(void *), void *arg)
{
    /* kill -9 of the run must not leave the program behind. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != in->parent) raise(SIGKILL);
    sigaction(SIGCHLD, &in->child, 0);
    setitimer(ITIMER_REAL, &in->timer, 0);
    sigprocmask(SIG_SETMASK, &in->mask, 0);
    _exit(exec(arg));
}

/* The terminal and the kernel send these to the whole foreground group: the child has it
 * already. */
static bool child_has_it(const siginfo_t *si, pid_t child)
{
    /* From the child, to its group or parent. */
    if (si->si_pid == child && si->si_code <= 0) return true;
    return si->si_code == SI_KERNEL;
}

static void hand_on(const siginfo_t *si, pid_t child)
{
    if (child_has_it(si, child)) return;
    if (si->si_code == SI_QUEUE) sigqueue(child, si->si_signo, si->si_value);
    else kill(child, si->si_signo);
}

/* The child has stopped: stop as it did, for the shell to see; go on with it. */
static void stop_as(int sig, pid_t child)
{
    sigset_t one, old, cont;
    siginfo_t si;
    /* A SIGCONT to the group may have come in between; then there is nothing to stop for. */
    if (os_thread_state(child, child) != 'T') return;
    sigemptyset(&one);
    sigaddset(&one, sig);
    raise(sig);
    sigprocmask(SIG_UNBLOCK, &one, &old);
    sigprocmask(SIG_SETMASK, &old, 0);
    /* The child gets one SIGCONT, now: handed on later, ours would end its next stop. */
    sigemptyset(&cont);
    sigaddset(&cont, SIGCONT);
    if (sigtimedwait(&cont, &si, &(struct timespec){0}) > 0 && !child_has_it(&si, child))
        hand_on(&si, child);
    else
        kill(child, SIGCONT);
}

#define BLIND_NS 10000000u     /* where signals cannot be waited for */

static int wait_for(pid_t child, const sigset_t *set)
{
    for (;;) {
        int status;
        pid_t p = waitpid(child, &status, WNOHANG | WUNTRACED);
        if (p == child && WIFSTOPPED(status)) {
            stop_as(WSTOPSIG(status), child);
            continue;
        }
        if (p == child) return status;
        if (p < 0 && errno != EINTR) return -errno;
        siginfo_t si;
        int sig = sigwaitinfo(set, &si);
        if (sig > 0 && sig != SIGCHLD) hand_on(&si, child);
        if (sig < 0 && errno != EINTR) os_sleep(BLIND_NS);
    }
}

/* A signal that came before the child was born would be lost between us: take it first. */
static void take_pending(const sigset_t *set, const sigset_t *old)
{
    sigset_t now;
    sigpending(&now);
    for (int s = 1; s < SIGRTMAX; s++)
        if (sigismember(&now, s) == 1 && sigismember(set, s) == 1 && sigismember(old, s) == 0) {
            sigprocmask(SIG_SETMASK, old, 0);
            sigprocmask(SIG_BLOCK, set, 0);
            return;
        }
}

int supervise(int (*exec)(void *arg), void *arg)
{
    struct inherited in = {.parent = getpid()};
    sigset_t set;
    waited_signals(&set);
    sigprocmask(SIG_BLOCK, &set, &in.mask);
    /* With SIGCHLD ignored there would be nothing to wait for. */
    sigaction(SIGCHLD, &(struct sigaction){.sa_handler = SIG_DFL}, &in.child);
    setitimer(ITIMER_REAL, &(struct itimerval){0}, &in.timer);
    take_pending(&set, &in.mask);
    pid_t child = fork();
    if (child == 0) become_child(&in, exec, arg);
    int status = child < 0 ? -errno : wait_for(child, &set);
    if (child < 0) {
        setitimer(ITIMER_REAL, &in.timer, 0);
        sigaction(SIGCHLD, &in.child, 0);
        sigprocmask(SIG_SETMASK, &in.mask, 0);
    }
    return status;
}

void end_as(int status)
{
    if (WIFSIGNALED(status)) {
        int sig = WTERMSIG(status);
        sigset_t one;
        /* The core file, if any, was the program's; a pipe for cores ignores the limit. */
        setrlimit(RLIMIT_CORE, &(struct rlimit){0});
        prctl(PR_SET_DUMPABLE, 0);
        signal(sig, SIG_DFL);
        sigemptyset(&one);
        sigaddset(&one, sig);
        raise(sig);
        sigprocmask(SIG_UNBLOCK, &one, 0);
        _exit(128 + sig);           /* not reached: each signal that kills, kills */
    }
    exit(WEXITSTATUS(status));
}
