/* src/monitor/supervisor.c - the monitor supervisor, which starts it anew when it dies.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A process that misses the monitor starts another one (monitor_keep), but it has to run for that.
 * If the monitor is killed together with the processes that have the cores, all others may sleep.
 * So the monitor has a child, which waits for its death and becomes the next monitor.  The monitor
 * starts another child when that one dies. */
#include "monitor/internal.h"
#include "os/os.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LOOK_NS 200000000           /* at who the parent is, where the kernel does not tell */
#define SHORT_LIFE_NS 100000000u    /* of a monitor that may be dying of the instance's contents */

static _Noreturn void keep(struct monitor *m, pid_t monitor, sigset_t *death)
{
    char name[USF_NAME_MAX], path[SHM_PATH_MAX];
    char *argv[] = {"usf", "monitor", name, NULL}, *envp[] = {NULL};
    const struct timespec look = {.tv_nsec = LOOK_NS};
    uint64_t born = os_now();
    shm_close(&m->shm);     /* an open file that both have keeps a dead monitor's locks of it */
    close_range(3, ~0u, 0); /* the monitor's files in /proc would keep that file system from being unmounted */
    prctl(PR_SET_NAME, "usf-supervisor");
    /* Where a filter refuses this, or the wait, the death is noticed at the next look. */
    bool told = prctl(PR_SET_PDEATHSIG, SIGCHLD) == 0;
    while (getppid() == monitor)
        if (sigtimedwait(death, NULL, told ? NULL : &look) < 0 && errno != EAGAIN && errno != EINTR) nanosleep(&look, NULL);
    if (os_now() - born < SHORT_LIFE_NS) usleep(SHORT_LIFE_NS / 1000);
    snprintf(name, sizeof name, "%s", m->options->name);
    /* Not if it has ended with the instance; but it may have died before it removed the file. */
    if (shm_path(m->options->dir, name, geteuid(), path, sizeof path) > 0 && access(path, F_OK) == 0)
        execve("/proc/self/exe", argv, envp);
    _exit(0);
}

static void child_died(int sig) { (void)sig; }

/* SIGCHLD is blocked but while deaths_loop waits, which it ends. */
void supervisor_look(struct monitor *m)
{
    sigset_t death;
    pid_t monitor = getpid();
    if (!m->options->kept || (m->supervisor > 0 && waitpid(m->supervisor, NULL, WNOHANG) == 0)) return;
    sigemptyset(&death);
    sigaddset(&death, SIGCHLD);
    sigprocmask(SIG_BLOCK, &death, NULL);
    signal(SIGCHLD, child_died);
    m->supervisor = fork();
    if (m->supervisor == 0) keep(m, monitor, &death);
}
