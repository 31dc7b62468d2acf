/* tests/spawn/plugin.c - an object that starts threads when it is loaded.  SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_t mine;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int ended;
#ifdef WITHOUT_TLS
static int touched = 41;
#else
static __thread int touched = 41;
#endif
int plugin_use(int n);
void plugin_touch(void);
int plugin_threads(void);
int plugin_fork(void);

static void *waits(void *arg)
{
    pthread_mutex_lock(&lock);
    while (!ended) pthread_cond_wait(&cond, &lock);
    pthread_mutex_unlock(&lock);
    return arg;
}

__attribute__((constructor)) static void begin(void) { pthread_create(&mine, NULL, waits, NULL); }

__attribute__((destructor)) static void end(void)
{
    pthread_mutex_lock(&lock);
    ended = 1;
    pthread_cond_signal(&cond);
    pthread_mutex_unlock(&lock);
    pthread_join(mine, NULL);
}

int plugin_use(int n)
{
    touched++;
    return n + (touched > 41);
}

extern int __cxa_thread_atexit_impl(void (*)(void *), void *, void *);
extern void *__dso_handle;
static void destroyed(void *arg)
{
    if (*(int *)arg >= 42) setenv("PLUGIN_DESTROYED", "yes", 1);
}

void plugin_touch(void)
{
    touched++;
    __cxa_thread_atexit_impl(destroyed, &touched, &__dso_handle);
}

static int turns;
static void *turn(void *arg)
{
    for (int i = 0; i < 20; i++) {
        pthread_mutex_lock(&lock);
        turns++;
        pthread_mutex_unlock(&lock);
        sched_yield();
    }
    return arg;
}

int plugin_threads(void)
{
    pthread_t t[3];
    turns = 0;
    for (int i = 0; i < 3; i++) if (pthread_create(&t[i], NULL, turn, NULL)) return -2;
    for (int i = 0; i < 3; i++) pthread_join(t[i], NULL);
    return turns;
}

int plugin_fork(void)
{
    int status;
    pid_t pid = fork();
    if (pid == 0) _exit(plugin_threads() == 60 ? 0 : 1);
    return pid < 0 || waitpid(pid, &status, 0) != pid ? -1 : status;
}
