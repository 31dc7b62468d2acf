/* tests/context/machine.h - a library that asks libc about the machine, in all ways, and starts programs.  SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* The file's text. -1: it cannot be opened. */
long machine_read(const char *path, char *buf, size_t size);
int machine_opens(const char *path);
int machine_opens_nothing(void);     /* the errno value of opening a null pointer */
/* What glob with GLOB_NOCHECK finds: one path, in `buf`, or how many. */
int machine_glob_nocheck(const char *pattern, char *buf, size_t size);
/* How many "cpuN" a listing of the folder has, or a walk from there (only at its first level), and their bits.  -1: it cannot be listed. */
enum { BY_READDIR, BY_READDIR_R, BY_FDOPENDIR, BY_SCANDIR, BY_GLOB, BY_NFTW, BY_FTW, BY_FTS, NR_WAYS };
int machine_list(int way, const char *folder, uint64_t *bits);
/* How many of all entries. */
int machine_count(const char *folder);

struct machine_memory { uint64_t total, free, pages, free_pages, phys, avphys; };      /* bytes */
void machine_memory(struct machine_memory *m);

/* A command of the shell, started in one of these ways. */
enum { BY_SYSTEM, BY_POPEN, BY_EXECV, BY_EXECVP, BY_EXECL, BY_EXECLP, BY_EXECLE, BY_VFORK, BY_SPAWN, BY_SPAWNP, NR_STARTS };
int machine_start(int way, const char *command, const char *path);     /* the output goes to the file */
int machine_system_status(const char *command);
int machine_write_to(const char *command, const char *text);    /* popen and pclose: the status */
int machine_two_pipes(void);
FILE *machine_popen(const char *command);   /* to read */
int machine_fclose(const char *command);    /* popen and fclose: the status */
int machine_bind(int cpu);      /* the calling thread */
int machine_bind_all(void);
int machine_set(const char *name, const char *value);
const char *machine_get(const char *name);
char **machine_environ(void);
void machine_set_environ(char **env);
int machine_thread(pthread_t *thread, void *(*routine)(void *), void *arg);
