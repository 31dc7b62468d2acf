/* tests/cache/limits.c - how many threads are kept and for how long, and limits that would notice them.
 * SPDX-License-Identifier: Apache-2.0
 *
 * With the cache: run with CACHE_TEST_MAX=4 CACHE_TEST_IDLE_MS=200. */
#include "check.h"

#include <dirent.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>

static void *nothing(void *arg) { return arg; }

static void *napper(void *arg)
{
    sleep_ms(10);
    return arg;
}

static int kernel_threads(void)
{
    int n = 0;
    DIR *d = opendir("/proc/self/task");
    CHECK(d != NULL);
    for (struct dirent *e; (e = readdir(d));)
        n += e->d_name[0] != '.';
    closedir(d);
    return n;
}

static void wait_alone(void)
{
    for (int i = 0; kernel_threads() > 1; i++) {
        CHECK(i < 500);
        sleep_ms(10);
    }
}

/* A thread that has been joined may be counted for a moment more. */
static void wait_for_kept_alone(void)
{
    for (int i = 0; kernel_threads() > 1 + (int)parked(); i++) {
        CHECK(i < 500);
        sleep_ms(10);
    }
}

static void burst(int n, const pthread_attr_t *attr)
{
    pthread_t th[64];
    for (int i = 0; i < n; i++)
        CHECK_EQ(pthread_create(&th[i], attr, napper, NULL), 0);
    for (int i = 0; i < n; i++)
        CHECK_EQ(pthread_join(th[i], NULL), 0);
}

static void bounds(void)
{
    burst(20, NULL);
    CHECK(parked() <= 4);
    wait_alone();
    CHECK_EQ(parked(), 0);
    if (cached())
        CHECK(left() >= 16);
    for (int i = 0; i < 3; i++)
        burst(20, NULL);
    wait_alone();
}

/* Ended for longer than a thread is kept, and only then joined, detached, or joined behind the cache's back. */
static void late(void)
{
    pthread_t th;
    void *result;
    CHECK_EQ(pthread_create(&th, NULL, nothing, (void *)5), 0);
    wait_alone();
    CHECK_EQ(pthread_tryjoin_np(th, &result), 0);
    CHECK_EQ(result, 5);
    CHECK_EQ(pthread_create(&th, NULL, nothing, (void *)6), 0);
    wait_alone();
    CHECK_EQ(pthread_join(th, &result), 0);
    CHECK_EQ(result, 6);
    CHECK_EQ(pthread_create(&th, NULL, nothing, NULL), 0);
    wait_alone();
    CHECK_EQ(pthread_kill(th, 0), 0);
    CHECK_EQ(pthread_detach(th), 0);
    void *libc = dlopen("libc.so.6", RTLD_NOW);
    int (*libc_join)(pthread_t, void **) = (int (*)(pthread_t, void **))dlsym(libc, "pthread_join");
    CHECK_EQ(pthread_create(&th, NULL, nothing, (void *)7), 0);
    CHECK_EQ(libc_join(th, &result), 0);
    CHECK_EQ(result, 7);
    dlclose(libc);
}

static int in_child(int (*f)(void))
{
    int status;
    fflush(NULL);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        alarm(20);
        _exit(f());
    }
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* A limit on threads counts kept ones of a size that nobody wants now. */
static int few_threads(void)
{
    pthread_attr_t attr;
    struct rlimit limit = { 6, 6 };
    uid_t uid = 1000000u + (uid_t)getpid();          /* nobody else's processes count */
    if (setresuid(uid, uid, uid) != 0 || setrlimit(RLIMIT_NPROC, &limit) != 0)
        return 77;
    burst(4, NULL);
    wait_for_kept_alone();
    pthread_attr_init(&attr);
    CHECK_EQ(pthread_attr_setstacksize(&attr, 1 << 20), 0);
    burst(4, &attr);
    wait_for_kept_alone();
    burst(4, NULL);
    return 0;
}

/* Only a process with one thread may enter a user namespace of its own. */
static int try_unshare(void) { return unshare(CLONE_NEWUSER) == 0 ? 0 : errno; }
static int unshare_alone(void) { return try_unshare(); }
static int unshare_after(void)
{
    burst(4, NULL);
    wait_alone();
    return try_unshare();
}

static int unshare_kept(void)
{
    burst(4, NULL);
    return cached() ? try_unshare() : unshare_after();
}

int main(void)
{
    test_start(60);
    bounds();
    late();
    int few = in_child(few_threads);
    CHECK(few == 0 || few == 77);
    CHECK_EQ(in_child(unshare_kept), in_child(unshare_alone));
    return 0;
}
