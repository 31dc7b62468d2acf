/* tests/monitor/monitor_test.h - an instance, a monitor and members to watch.  SPDX-License-Identifier: Apache-2.0 */
#ifndef USF_TESTS_MONITOR_H
#define USF_TESTS_MONITOR_H

#include "check.h"
#include "monitor/monitor.h"
#include "os/os.h"
#include "sched/sched.h"
#include "shm/shm.h"
#include <sys/wait.h>

#define SECOND 1000000000ull

/* Wait until it holds; false: it did not within so many seconds. */
#define SOON(condition, seconds) __extension__({ \
    uint64_t end_ = os_now() + (seconds) * SECOND; \
    bool held_; \
    while (!(held_ = (condition)) && os_now() < end_) usleep(1000); \
    held_; })

extern struct shm_config test_config;
extern struct shm test_shm;

void test_make(unsigned nr_cores);                 /* the instance test_config names; 0: all cores */
pid_t test_monitor(bool no_pidfd);                 /* a monitor of it, as our child */
void test_bind(struct sched *s);                   /* in a member: the scheduler, joined */
int test_exit_code(pid_t child);

int test_daemon(void);
int test_revive(void);
int test_exec(void);

#endif
