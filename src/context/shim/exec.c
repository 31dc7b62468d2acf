/* src/context/shim/exec.c - programs that the context's libraries start.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The rules of shim.c hold here.  Where a function names no environment, libc takes its own
 * `environ`, and these take the context's. */
#include "context/shim/shim.h"

#include <stdarg.h>
#include <unistd.h>

SHIM int execve(const char *path, char *const argv[], char *const env[]) { return CALL(execve, path, argv, env); }
SHIM int execv(const char *path, char *const argv[]) { return CALL(execve, path, argv, environ); }
SHIM int execvpe(const char *file, char *const argv[], char *const env[]) { return CALL(execvpe, file, argv, env); }
SHIM int execvp(const char *file, char *const argv[]) { return CALL(execvpe, file, argv, environ); }
SHIM int fexecve(int fd, char *const argv[], char *const env[]) { return CALL(fexecve, fd, argv, env); }

/* The arguments, from the first to a null pointer, as an array `argv`; `rest` is after that. */
#define ARGV(first) \
    unsigned n_ = 1; \
    va_list count_, rest; \
    va_start(count_, first); \
    while (va_arg(count_, char *)) n_++; \
    va_end(count_); \
    char *argv[n_ + 1]; \
    va_start(rest, first); \
    argv[0] = (char *)(unsigned long)(first); \
    for (unsigned i_ = 1; i_ <= n_; i_++) argv[i_] = va_arg(rest, char *)

SHIM int execl(const char *path, const char *first, ...)
{
    ARGV(first);
    va_end(rest);
    return CALL(execve, path, argv, environ);
}
SHIM int execlp(const char *file, const char *first, ...)
{
    ARGV(first);
    va_end(rest);
    return CALL(execvpe, file, argv, environ);
}
SHIM int execle(const char *path, const char *first, ...)
{
    ARGV(first);
    char **env = va_arg(rest, char **);
    va_end(rest);
    return CALL(execve, path, argv, env);
}

SHIM int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attr, char *const argv[], char *const env[])
{ return CALL(spawn, pid, path, actions, attr, argv, env); }
SHIM int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attr, char *const argv[], char *const env[])
{ return CALL(spawnp, pid, file, actions, attr, argv, env); }

SHIM int system(const char *command) { return CALL(system, command, environ); }
SHIM FILE *popen(const char *command, const char *mode) { return CALL(popen, command, mode, environ); }
SHIM int pclose(FILE *stream) { return CALL(pclose, stream); }
SHIM int fclose(FILE *stream) { return CALL(pclose, stream); }
