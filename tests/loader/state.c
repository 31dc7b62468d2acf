/* tests/loader/state.c - a library with one of everything that a copy must get right.  SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "tests/loader/state.h"

int state_data = 7;
static int state_static;
static __thread int tls_own = 5;
__thread int state_tls __attribute__((tls_model("initial-exec"))) = 6;
const char *const state_text = "a text that is relocated";
static int order[8], nr_order;

extern int state_nowhere(void) __attribute__((weak));
static int chosen(void) { return 41; }
static int (*choose(void))(void) { return chosen; }
int state_ifunc(void) __attribute__((ifunc("choose")));

__attribute__((constructor)) static void constructed(int argc, char **argv, char **envp)
{
    order[nr_order++] = 10 + dep_constructed();
    state_static = 100 + (argc > 0 && argv && argv[0] && envp);
}
__attribute__((destructor)) static void destructed(void)
{
    const char *word = getenv("STATE_WORD");
    if (word) *(int *)strtoull(word, 0, 0) += 1;
}

int state_count(void) { return ++state_static; }
int state_order(void) { return nr_order == 1 ? order[0] : -1; }
int state_count_tls(void) { return ++tls_own * 100 + ++state_tls; }
int state_count_dep(void) { return dep_count(); }
int state_weak(void) { return state_nowhere ? state_nowhere() : -1; }
int state_calls_ifunc(void) { return state_ifunc(); }
int *state_data_at(void) { return &state_data; }
const char *state_env(const char *name) { return getenv(name); }
int state_environ(const char *text)
{
    for (char **e = environ; e && *e; e++)
        if (!strcmp(*e, text)) return 1;
    return 0;
}
int state_setenv(const char *name, const char *value) { return setenv(name, value, 1); }
int state_nprocs(void) { return get_nprocs() == sysconf(_SC_NPROCESSORS_ONLN) ? get_nprocs() : -1; }
int state_affinity(cpu_set_t *set) { return sched_getaffinity(0, sizeof *set, set); }
int state_set_affinity(const cpu_set_t *set) { return sched_setaffinity(0, sizeof *set, set); }
int state_thread(pthread_t *thread, void *(*routine)(void *), void *arg) { return pthread_create(thread, 0, routine, arg); }
static pthread_key_t key;
static void at_end(void *p)
{
    if (p == &key) pthread_setspecific(key, p = &nr_order);     /* once more, in the next round */
    else usleep(2000);
}
void *state_keyed(void *arg)
{
    if (!pthread_key_create(&key, at_end)) pthread_setspecific(key, &key);
    return arg;
}
void *state_dlopen(const char *path, int flags) { return dlopen(path, flags); }

/* The file's text, up to size - 1 bytes; -1: it cannot be opened. */
long state_read(const char *path, char *buf, size_t size)
{
    FILE *f = fopen(path, "r");
    if (!f) return -1;
    size_t n = fread(buf, 1, size - 1, f);
    buf[n] = 0;
    fclose(f);
    return (long)n;
}
