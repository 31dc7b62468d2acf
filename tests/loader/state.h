/* tests/loader/state.h - what the libraries of these tests have.  SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>

int dep_count(void);            /* dep.c */
int dep_constructed(void);
int dep_spin(int n);
int under_count(void);          /* under.c, which sees dep.c's symbols without needing it */

int tls_count(void);            /* tls.c */

void hook_constructed(void);    /* of the program: hook.c's constructor */
int hook_count(void);           /* hook.c: how often it was constructed */
int hooked_count(void);         /* hooked.c: the same of itself, times 100, and of hook.c */
int hooked_count_dep(void);

void *caller_opens(const char *name);   /* caller.c */

int watched_table(int i);        /* watched.c */
char *watched_copy(const char *text);
int watched_read(const char *at);

int state_count(void);
int state_order(void);
int state_count_tls(void);
int state_count_dep(void);
int state_weak(void);
int state_calls_ifunc(void);
int state_ifunc(void);
int *state_data_at(void);
const char *state_env(const char *name);
int state_environ(const char *text);
int state_setenv(const char *name, const char *value);
int state_nprocs(void);
int state_affinity(cpu_set_t *set);
int state_set_affinity(const cpu_set_t *set);
int state_thread(pthread_t *thread, void *(*routine)(void *), void *arg);
void *state_keyed(void *arg);     /* a thread whose destructor of a key comes late */
void *state_dlopen(const char *path, int flags);
long state_read(const char *path, char *buf, size_t size);
