/* tests/monitor/owner.c - the owner of the scheduler lock is runnable, and gets no CPU.  SPDX-License-Identifier: Apache-2.0
 *
 * The monitor's looks at it, with a clock, a state and a CPU time of the test's own. */
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../check.h"
#include "monitor/internal.h"
#include "os/os.h"
#include "sched/owner.h"

#define MS 1000000ull

static uint64_t now = 1000000 * MS, cpu_ns;
static struct monitor m;
static struct sched s;
static struct sched_self me = {.task = USF_NONE};

uint64_t __wrap_os_now(void);
uint64_t __wrap_os_now(void) { return now; }
char __wrap_os_thread_state(int32_t pid, int32_t tid);
char __wrap_os_thread_state(int32_t pid, int32_t tid) { return (void)pid, (void)tid, 'R'; }
uint64_t __wrap_os_thread_cpu_ns(int32_t pid, int32_t tid);
uint64_t __wrap_os_thread_cpu_ns(int32_t pid, int32_t tid) { return (void)pid, (void)tid, cpu_ns; }

static void bind_to(struct sched *to, const char *dir)
{
    char why[160];
    sched_bind(to, m.shm.h);
    to->shm_dir = dir;
    CHECK(sched_use_policy(to, NULL, why, sizeof why) == 0, "%s", why);
}

static void look_for(uint64_t ns)
{
    for (uint64_t end = now + ns; now < end; now += 10 * MS) look_at_owner(&m, lock_owner(&m.shm.h->lock), s.proc);
}

static bool has_mask(const struct os_cpuset *mask)
{
    struct os_cpuset is;
    return os_getaffinity(0, &is) == 0 && !memcmp(&is, mask, sizeof is);
}

int main(void)
{
    char dir[] = "/tmp/usf-owner-XXXXXX";
    struct os_cpuset all, one = {0};
    alarm(30);
    if (!mkdtemp(dir)) return 77;
    CHECK(os_getaffinity(0, &all) == 0);
    struct shm_config c = {.name = "owner", .dir = dir, .cpus = all};
    CHECK(shm_open_instance(&c, true, &m.shm) == 0, "%s", m.shm.why);
    bind_to(&m.sched, dir);
    m.sched.remote_pin = true;
    bind_to(&s, dir);
    CHECK(sched_proc_join(&s, getpid(), os_start_time(getpid()), "owner", &all, 0) >= 0);
    CHECK(sched_attach(&s, &me, (int32_t)syscall(SYS_gettid), "owner") == 0);
    os_cpu_set(&one, s.cores[atomic_load(&s.tasks[me.task].core)].pol.cpu);
    atomic_store(&m.shm.h->waited_ns, UINT64_MAX / 2);
    atomic_store(&m.shm.h->binding, USF_BOUND);
    sched_place_self(&s, &me);
    CHECK(has_mask(&one));

    atomic_store(&m.shm.h->lock.word, lock_name(me.task, s.proc, 0));
    look_for(500 * MS);                 /* it may be that this kernel does not tell */
    CHECK(has_mask(&one));
    for (cpu_ns = 1; cpu_ns < 500; cpu_ns++) look_for(40 * MS);         /* it runs now and then */
    CHECK(has_mask(&one) && !atomic_load(&m.shm.h->stalled));
    look_for(200 * MS);
    CHECK(has_mask(&all));              /* it is unbound, */
    for (cpu_ns = 1000; cpu_ns < 1500; cpu_ns++) look_for(40 * MS);     /* ... and goes on */
    CHECK(!atomic_load(&m.shm.h->stalled));
    look_for(4800 * MS);
    CHECK(!atomic_load(&m.shm.h->stalled));
    look_for(400 * MS);
    CHECK(atomic_load(&m.shm.h->stalled) == s.proc + 1);

    atomic_store(&m.shm.h->stalled, 0);
    atomic_store(&m.shm.h->lock.word, 0);
    sched_detach(&s, &me, false);
    sched_proc_remove(&s, s.proc, false);
    CHECK(shm_retire_if_empty(&m.shm, dir));
    shm_close(&m.shm);
    CHECK(rmdir(dir) == 0);
    return 0;
}
