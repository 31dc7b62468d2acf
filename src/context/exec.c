/* src/context/exec.c - see exec.h.  SPDX-License-Identifier: Apache-2.0
 *
 * libc's system and popen give a program libc's own environment, so they are made anew here from
 * posix_spawn.  The exec functions may be called in a child of vfork: they change nothing but the
 * child's mask. */
#include "context/exec.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "context/shim.h"

/* With the context's CPUs; the result of `call`. */
#define ON_CPUS(c, call) ({ \
    struct os_cpuset own_; \
    bool entered_ = affinity_enter(c, &own_); \
    int result_ = call, error_ = errno; \
    if (entered_) os_setaffinity(0, &own_); \
    errno = error_; \
    result_; })

int exec_execve(struct usf_context *c, const char *path, char *const argv[], char *const env[]) { return ON_CPUS(c, execve(path, argv, env)); }
int exec_execvpe(struct usf_context *c, const char *file, char *const argv[], char *const env[]) { return ON_CPUS(c, execvpe(file, argv, env)); }
int exec_fexecve(struct usf_context *c, int fd, char *const argv[], char *const env[]) { return ON_CPUS(c, fexecve(fd, argv, env)); }

int exec_spawn(struct usf_context *c, pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attr,
               char *const argv[], char *const env[])
{ return ON_CPUS(c, posix_spawn(pid, path, actions, attr, argv, env)); }

int exec_spawnp(struct usf_context *c, pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attr,
                char *const argv[], char *const env[])
{ return ON_CPUS(c, posix_spawnp(pid, file, actions, attr, argv, env)); }

/* Guards what follows. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned nr_systems;                             /* calls of system that wait */
static struct sigaction interrupts, quits;              /* what the program had before the first of them */
static struct piped {
    struct piped *next;
    FILE *stream;
    pid_t pid;
    int fd;                     /* of the stream: a pipe of this number, unless the stream was closed elsewhere */
    ino_t pipe;
} *_Atomic pipes;

void exec_before_fork(void) { pthread_mutex_lock(&lock); }
void exec_after_fork(void) { pthread_mutex_unlock(&lock); }

static int spawn_shell(struct usf_context *c, pid_t *pid, const char *command, const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attr,
                       char *const env[])
{
    const char *argv[] = {"sh", "-c", command, 0};
    return exec_spawn(c, pid, "/bin/sh", actions, attr, (char *const *)(uintptr_t)argv, env);
}

static int wait_for(pid_t pid)
{
    int status;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR) return -1;
    return status;
}

/* ---- system ---------------------------------------------------------------------------------------- */

/* While a command is executed, the process ignores interrupts and quits (from the terminal, which
 * go to the command), and the calling thread has SIGCHLD blocked. */
static void ignore_signals(void)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    pthread_mutex_lock(&lock);
    if (!nr_systems++) {
        sigaction(SIGINT, &ignore, &interrupts);
        sigaction(SIGQUIT, &ignore, &quits);
    }
    pthread_mutex_unlock(&lock);
}

static void heed_signals(void)
{
    pthread_mutex_lock(&lock);
    if (!--nr_systems) {
        sigaction(SIGINT, &interrupts, 0);
        sigaction(SIGQUIT, &quits, 0);
    }
    pthread_mutex_unlock(&lock);
}

/* The command has the signals as the program had them. */
static int spawn_for_system(struct usf_context *c, pid_t *pid, const char *command, const sigset_t *mask, char *const env[])
{
    posix_spawnattr_t attr;
    sigset_t defaults;
    sigemptyset(&defaults);
    if (interrupts.sa_handler != SIG_IGN) sigaddset(&defaults, SIGINT);
    if (quits.sa_handler != SIG_IGN) sigaddset(&defaults, SIGQUIT);
    int r = posix_spawnattr_init(&attr);
    if (r) return r;
    posix_spawnattr_setsigmask(&attr, mask);
    posix_spawnattr_setsigdefault(&attr, &defaults);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    r = spawn_shell(c, pid, command, 0, &attr, env);
    posix_spawnattr_destroy(&attr);
    return r;
}

int exec_system(struct usf_context *c, const char *command, char *const env[])
{
    sigset_t child, before;
    pid_t pid;
    int cancel, status, error;
    if (!command) return access("/bin/sh", X_OK) == 0;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);      /* or the signals would stay as they are here */
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    ignore_signals();
    pthread_sigmask(SIG_BLOCK, &child, &before);
    int r = spawn_for_system(c, &pid, command, &before, env);
    status = r ? 127 << 8 : wait_for(pid);      /* as a shell that cannot be executed ends */
    error = r ? r : errno;
    heed_signals();
    pthread_sigmask(SIG_SETMASK, &before, 0);
    pthread_setcancelstate(cancel, 0);
    errno = error;
    return status;
}

/* ---- popen ------------------------------------------------------------------------------------------- */

static ino_t pipe_of(int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 && S_ISFIFO(st.st_mode) ? st.st_ino : 0;
}

/* holds `lock`.  The program closes streams with libc's own functions, which know nothing of
 * these. */
static void forget_closed(void)
{
    struct piped *first = pipes, **at = &first, *p;
    while ((p = *at)) {
        if (pipe_of(p->fd) == p->pipe) {
            at = &p->next;
            continue;
        }
        *at = p->next;
        free(p);
    }
    pipes = first;
}

/* holds `lock`.  ends: of the pipe, the program's and the command's, which becomes its standard
 * input or output.  Other streams are closed in the command: the end of one that it kept would
 * never come. */
static int spawn_for_popen(struct usf_context *c, struct piped *p, const char *command, const int ends[2], bool reads, char *const env[])
{
    posix_spawn_file_actions_t actions;
    int r = posix_spawn_file_actions_init(&actions);
    if (r) return r;
    forget_closed();
    for (const struct piped *other = pipes; other && !r; other = other->next) r = posix_spawn_file_actions_addclose(&actions, other->fd);
    if (!r) r = posix_spawn_file_actions_adddup2(&actions, ends[1], reads ? STDOUT_FILENO : STDIN_FILENO);
    if (!r) r = spawn_shell(c, &p->pid, command, &actions, 0, env);
    posix_spawn_file_actions_destroy(&actions);
    return r;
}

/* "r" or "w", and "e": the stream is closed by exec. */
static bool parse_mode(const char *mode, bool *reads, bool *cloexec)
{
    char direction = 0;
    for (*cloexec = false; *mode; mode++) {
        if (*mode == 'e') *cloexec = true;
        else if ((*mode == 'r' || *mode == 'w') && !direction) direction = *mode;
        else return false;
    }
    *reads = direction == 'r';
    return direction;
}

FILE *exec_popen(struct usf_context *c, const char *command, const char *mode, char *const env[])
{
    int ends[2], r;
    bool reads, cloexec;
    if (!parse_mode(mode, &reads, &cloexec)) {
        errno = EINVAL;
        return 0;
    }
    struct piped *p = calloc(1, sizeof *p);
    if (!p || pipe2(ends, O_CLOEXEC)) {
        free(p);
        return 0;
    }
    if (!reads) {
        int end = ends[0];
        ends[0] = ends[1];
        ends[1] = end;
    }
    FILE *stream = p->stream = fdopen(ends[0], reads ? "r" : "w");
    p->fd = ends[0];
    p->pipe = pipe_of(ends[0]);
    pthread_mutex_lock(&lock);
    r = stream ? spawn_for_popen(c, p, command, ends, reads, env) : errno;
    if (!r) {
        if (!cloexec) fcntl(ends[0], F_SETFD, 0);
        p->next = pipes;
        pipes = p;
    }
    pthread_mutex_unlock(&lock);
    close(ends[1]);
    if (r) {
        if (stream) fclose(stream);
        else close(ends[0]);
        free(p);
        errno = r;
        return 0;
    }
    return stream;
}

/* The stream's entry, taken out; null: libc has opened it. */
static struct piped *take_out(FILE *stream)
{
    if (!atomic_load_explicit(&pipes, memory_order_relaxed)) return 0;
    pthread_mutex_lock(&lock);
    struct piped *first = pipes, **at = &first, *p;
    while (*at && (*at)->stream != stream) at = &(*at)->next;
    if ((p = *at)) *at = p->next;
    pipes = first;
    pthread_mutex_unlock(&lock);
    if (!p || (fileno(stream) == p->fd && pipe_of(p->fd) == p->pipe)) return p;
    free(p);                    /* that one was closed elsewhere, and this is another stream at its address */
    return 0;
}

/* fclose as well: libc's waits for the command, too. */
int exec_pclose(struct usf_context *c, FILE *stream)
{
    (void)c;
    struct piped *p = take_out(stream);
    if (!p) return fclose(stream);      /* libc's pclose is the same function */
    pid_t pid = p->pid;
    free(p);
    fclose(stream);
    return wait_for(pid);
}
