/* sim/cli/jobs.c - simulations in processes of their own.  SPDX-License-Identifier: Apache-2.0
 *
 * The engine runs one simulation at a time in a process; and a policy that crashes takes only its
 * own run with it.  What a child has found comes back through a pipe: struct outcome, then its
 * programs.  The order of results is that of the jobs. */
#include "sim/cli/cli.h"
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

struct child { pid_t pid; int fd; uint32_t job; char *buf; size_t nr, cap; };

static bool write_all(int fd, const void *p, size_t n)
{
    for (const char *s = p; n;) {
        ssize_t w = write(fd, s, n);
        if (w < 0 && errno == EINTR) continue;
        if (w <= 0) return false;
        s += w;
        n -= (size_t)w;
    }
    return true;
}

static void __attribute__((noreturn)) in_child(const struct job *j, int fd, pid_t parent)
{
    struct outcome o = {.seed = j->seed, .point = j->point};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    snprintf(o.policy, sizeof o.policy, "%s", j->policy);
    job_run(j, &o);
    fflush(stdout);
    bool good = write_all(fd, &o, sizeof o) && write_all(fd, o.program, o.nr_programs * sizeof *o.program);
    _exit(good ? 0 : 1);
}

/* False: errno says why. */
static bool start(struct child *c, const struct job *jobs, uint32_t i)
{
    int fd[2];
    pid_t parent = getpid();
    fflush(stdout);
    fflush(stderr);
    if (pipe(fd)) return false;
    pid_t pid = fork();
    if (!pid) {
        close(fd[0]);
        in_child(&jobs[i], fd[1], parent);
    }
    close(fd[1]);
    if (pid < 0) {
        close(fd[0]);
        return false;
    }
    *c = (struct child){.pid = pid, .fd = fd[0], .job = i};
    return true;
}

static void finish(struct child *c, const struct job *jobs, struct outcome *out)
{
    int status = 0;
    close(c->fd);
    while (waitpid(c->pid, &status, 0) < 0 && errno == EINTR) { }
    struct outcome *o = &out[c->job], *got = (struct outcome *)(void *)c->buf;
    size_t programs = c->nr >= sizeof *got ? got->nr_programs * sizeof *got->program : 0;
    bool whole = WIFEXITED(status) && !WEXITSTATUS(status) && c->nr >= sizeof *got && c->nr == sizeof *got + programs;
    struct out_program *p = whole ? malloc(programs ? programs : 1) : NULL;
    if (p) {
        *o = *got;
        o->program = memcpy(p, c->buf + sizeof *got, programs);
    } else {
        *o = (struct outcome){.seed = jobs[c->job].seed, .point = jobs[c->job].point, .code = -ECANCELED};
        snprintf(o->policy, sizeof o->policy, "%s", jobs[c->job].policy);
        if (WIFSIGNALED(status)) snprintf(o->why, sizeof o->why, "the simulation was ended by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
        else snprintf(o->why, sizeof o->why, "the simulation ended without a result");
    }
    free(c->buf);
    c->pid = 0;
}

/* False: the child is done. */
static bool receive(struct child *c)
{
    if (c->nr + 65536 > c->cap) {
        size_t cap = c->cap ? c->cap * 2 : 131072;
        char *b = realloc(c->buf, cap);
        if (!b) return false;
        c->buf = b;
        c->cap = cap;
    }
    ssize_t n = read(c->fd, c->buf + c->nr, c->cap - c->nr);
    if (n < 0 && errno == EINTR) return true;
    if (n <= 0) return false;
    c->nr += (size_t)n;
    return true;
}

static void progress(uint32_t done, uint32_t nr)
{
    static int terminal = -1;
    if (terminal < 0) terminal = isatty(STDERR_FILENO);
    if (!terminal || nr < 2) return;
    fprintf(stderr, "\r%u of %u simulations%s", done, nr, done == nr ? "\r                              \r" : "");
    fflush(stderr);
}

bool jobs_run(const struct job *jobs, uint32_t nr, uint32_t at_once, struct outcome *out)
{
    struct child *child = calloc(at_once, sizeof *child);
    struct pollfd *fds = calloc(at_once, sizeof *fds);
    uint32_t started = 0, done = 0, alive = 0;
    bool good = child && fds;
    while (good && done < nr) {
        for (uint32_t k = 0; k < at_once && started < nr && good; k++)
            if (!child[k].pid) {
                if (start(&child[k], jobs, started)) started++, alive++;
                else if (alive) break;      /* fewer at a time, then */
                else good = false, trouble("a process cannot be started: %s", strerror(errno));
            }
        if (!alive) break;
        for (uint32_t k = 0; k < at_once; k++) fds[k] = (struct pollfd){.fd = child[k].pid ? child[k].fd : -1, .events = POLLIN};
        progress(done, nr);
        if (poll(fds, at_once, -1) < 0 && errno != EINTR) good = false;
        for (uint32_t k = 0; k < at_once; k++)
            if (child[k].pid && fds[k].revents && !receive(&child[k])) finish(&child[k], jobs, out), done++, alive--;
    }
    progress(done, nr);
    for (uint32_t k = 0; child && k < at_once; k++)
        if (child[k].pid) {
            kill(child[k].pid, SIGKILL);
            finish(&child[k], jobs, out);
        }
    free(child);
    free(fds);
    return good;
}
