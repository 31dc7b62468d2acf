/* src/os/point.c - perturbation points.  SPDX-License-Identifier: Apache-2.0
 *
 * USF_POINTS="seed=N,delay=PERMILLE,yield=PERMILLE,kill=NAME[:COUNT],log=PATH" delay: that many of
 * 1000 visits spin for up to 20 us; yield: that many give the CPU away; kill: the COUNT-th visit of
 * the point NAME ends the process as kill -9 would; log: where it says so first. */
#include "arch/arch.h"
#include "base/base.h"
#include "os/os.h"
#include "os/syscall.h"
#include <fcntl.h>
#include <string.h>

#ifdef USF_POINTS
extern char **environ;

static struct plan { int ready; unsigned delay, yield, count; uint64_t seed; char kill[64], log[160]; } plan;
static uint64_t visits;

static unsigned number(const char *s) { unsigned v = 0; while (*s >= '0' && *s <= '9') v = v * 10 + (unsigned)(*s++ - '0'); return v; }

static void read_plan(void)
{
    if (!environ) return;       /* a preloaded library's first visits come before libc has set it */
    plan = (struct plan){.ready = 1};
    for (char **e = environ; *e; e++) {
        if (strncmp(*e, "USF_POINTS=", 11)) continue;
        for (const char *s = *e + 11; *s;) {
            if (!strncmp(s, "seed=", 5)) plan.seed = number(s + 5);
            else if (!strncmp(s, "delay=", 6)) plan.delay = number(s + 6);
            else if (!strncmp(s, "yield=", 6)) plan.yield = number(s + 6);
            else if (!strncmp(s, "kill=", 5)) {
                size_t n = 0;
                for (s += 5; *s && *s != ',' && *s != ':' && n + 1 < sizeof plan.kill;) plan.kill[n++] = *s++;
                plan.kill[n] = 0;
                plan.count = *s == ':' ? number(s + 1) : 1;
            }
            else if (!strncmp(s, "log=", 4)) {
                size_t n = 0;
                for (s += 4; *s && *s != ',' && n + 1 < sizeof plan.log;) plan.log[n++] = *s++;
                plan.log[n] = 0;
            }
            while (*s && *s != ',') s++;
            if (*s) s++;
        }
    }
}

void usf_points_again(void) { plan.ready = 0; }

static void die(const char *name)
{
    char line[96];
    int n = usf_format(line, sizeof line, "killed at %s\n", name);
    long fd = plan.log[0] ? usf_syscall(__NR_openat, AT_FDCWD, plan.log, O_WRONLY | O_CREAT | O_APPEND, 0600) : -1;
    if (fd >= 0) usf_syscall(__NR_write, fd, line, n);
    usf_syscall(__NR_kill, usf_syscall(__NR_getpid), 9);
}

void usf_point(const char *name)
{
    if (!plan.ready) read_plan();
    if (plan.kill[0] && !strcmp(name, plan.kill) && __atomic_sub_fetch(&plan.count, 1, __ATOMIC_RELAXED) == 0) die(name);
    if (!plan.delay && !plan.yield) return;
    uint64_t x = __atomic_add_fetch(&visits, 1, __ATOMIC_RELAXED) + plan.seed * 0x9e3779b97f4a7c15ull;
    x ^= x >> 30, x *= 0xbf58476d1ce4e5b9ull, x ^= x >> 27, x *= 0x94d049bb133111ebull, x ^= x >> 31;
    if (x % 1000 < plan.delay)
        for (unsigned n = (x >> 32) % 2000; n; n--) arch_pause();
    else if (x % 1000 < plan.delay + plan.yield) usf_syscall(__NR_sched_yield);
}
#endif
