/* src/tasks/mask_exec.c - programs that a task executes begin with the thread's own mask.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A new program inherits the mask that the kernel has for the calling thread, which is that of its
 * slot's CPU (mask.c).  So the thread has its own mask while libc executes the program, and is
 * bound again if libc returns.  The child of a vfork calls exec* with its parent's record: it sets
 * its own mask in the kernel and writes nothing. */
#include <errno.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tasks/tasks.h"

static struct tk_exec *let_go(void)
{
    struct tk_exec *me = tk_me();
    struct os_cpuset own;
    if (!me || me->bound == TK_UNBOUND) return 0;
    tk_own_mask(me, &own);
    os_setaffinity(0, &own);
    return me;
}

/* errno stays as it is. */
static void bind_again(struct tk_exec *me)
{
    struct os_cpuset one = {0};
    if (!me) return;
    os_cpu_set(&one, me->bound);
    os_setaffinity(0, &one);
}

#define UNBOUND(type, call) ({ struct tk_exec *me_ = let_go(); type r_ = call; bind_again(me_); r_; })

TK_API int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attr, char *const argv[],
                       char *const envp[])
{ return UNBOUND(int, TK_REAL(posix_spawn)(pid, path, actions, attr, argv, envp)); }

TK_API int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attr, char *const argv[],
                        char *const envp[])
{ return UNBOUND(int, TK_REAL(posix_spawnp)(pid, file, actions, attr, argv, envp)); }

TK_API int system(const char *command) { return UNBOUND(int, TK_REAL(system)(command)); }
TK_API FILE *popen(const char *command, const char *type) { return UNBOUND(FILE *, TK_REAL(popen)(command, type)); }
TK_API int execve(const char *path, char *const argv[], char *const envp[]) { return UNBOUND(int, TK_REAL(execve)(path, argv, envp)); }
TK_API int execv(const char *path, char *const argv[]) { return UNBOUND(int, TK_REAL(execv)(path, argv)); }
TK_API int execvp(const char *file, char *const argv[]) { return UNBOUND(int, TK_REAL(execvp)(file, argv)); }
TK_API int execvpe(const char *file, char *const argv[], char *const envp[]) { return UNBOUND(int, TK_REAL(execvpe)(file, argv, envp)); }
TK_API int fexecve(int fd, char *const argv[], char *const envp[]) { return UNBOUND(int, TK_REAL(fexecve)(fd, argv, envp)); }

/* The arguments of execl and its like, from the first on, as an array on the stack of the caller;
 * `rest` is behind the null pointer then. */
static size_t count(const char *first, va_list rest)
{
    size_t n = 0;
    for (const char *a = first; a; a = va_arg(rest, const char *)) n++;
    return n;
}

static void fill(char **argv, const char *first, va_list rest)
{
    for (const char *a = first; a; a = va_arg(rest, const char *)) *argv++ = (char *)(uintptr_t)a;
    *argv = 0;
}

#define LIST(argv, first) \
    va_list counted_, rest_; \
    va_start(counted_, first); \
    char *argv[count(first, counted_) + 1]; \
    va_end(counted_); \
    va_start(rest_, first); \
    fill(argv, first, rest_)

TK_API int execl(const char *path, const char *first, ...)
{
    LIST(argv, first);
    va_end(rest_);
    return execv(path, argv);
}

TK_API int execlp(const char *file, const char *first, ...)
{
    LIST(argv, first);
    va_end(rest_);
    return execvp(file, argv);
}

TK_API int execle(const char *path, const char *first, ...)
{
    LIST(argv, first);
    char *const *envp = va_arg(rest_, char *const *);
    va_end(rest_);
    return execve(path, argv, envp);
}
