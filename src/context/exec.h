/* src/context/exec.h - programs that a context's libraries start.
 * SPDX-License-Identifier: Apache-2.0
 *
 * They have the context's environment where the library names none, and its CPUs: as a mask, since
 * the program is in no context.  A thread that has set a mask of its own in the context passes that
 * on. */
#ifndef USF_CONTEXT_EXEC_H
#define USF_CONTEXT_EXEC_H

#include <spawn.h>
#include <stdio.h>

struct usf_context;

/* As in libc; `env` is what the context's libraries have as `environ`. */
int exec_execve(struct usf_context *c, const char *path, char *const argv[], char *const env[]);
int exec_execvpe(struct usf_context *c, const char *file, char *const argv[], char *const env[]);
int exec_fexecve(struct usf_context *c, int fd, char *const argv[], char *const env[]);
int exec_spawn(struct usf_context *c, pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attr,
               char *const argv[], char *const env[]);
int exec_spawnp(struct usf_context *c, pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attr,
                char *const argv[], char *const env[]);
int exec_system(struct usf_context *c, const char *command, char *const env[]);
FILE *exec_popen(struct usf_context *c, const char *command, const char *mode, char *const env[]);
int exec_pclose(struct usf_context *c, FILE *stream);     /* and fclose */

/* Around a fork. */
void exec_before_fork(void);
void exec_after_fork(void);

#endif
