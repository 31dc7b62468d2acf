/* sim/os.c - src/os as the simulated machine has it.  SPDX-License-Identifier: Apache-2.0
 *
 * What src/sched and src/shm call of src/os/os.h, and no more: a call that the simulator does not
 * know does not link. */
#include "os/os.h"
#include "sim/internal.h"
#include <errno.h>
#include <stddef.h>

uint64_t os_now(void) { return sim_the->now; }
void os_init_time(void) {}
uint64_t os_cycles(void) { return sim_the->now * SIM_CYCLES_PER_NS; }
uint32_t os_cpu(void) { return sim_the->self ? sim_the->self->k.cpu : 0; }

/* A poller's round: some 64 of them, or until something changes on its core, rather than each
 * one. */
void os_pause(void)
{
    struct sim *s = sim_the;
    uint64_t ns = s->h ? s->h->poll_max_ns / 64 : 0;
    if (!s->self) return;
    s->self->in_os++;
    sim_busy(s->self, SIM_MODE_SPIN, ns > 100 ? ns : 100);
    s->self->in_os--;
}

/* ---- sleeping --------------------------------------------------------------------------------------- */

static struct sim_thread *sleeper_on(struct sim *s, const void *word)
{
    size_t at = (size_t)((const char *)word - (const char *)s->h) - s->h->off_threads;
    if ((const char *)word < (const char *)s->h + s->h->off_threads) return 0;
    struct sim_thread *t = sim_usf_thread(s, (uint32_t)(at / sizeof(struct usf_thread)));
    return t && t->sp && t->futex == word ? t : 0;
}

/* Deadlines on a thread's own park word have no effect but a look after the monitor, which the
 * simulator does not lose. */
int os_futex_wait(const void *word, uint32_t val, uint64_t deadline)
{
    struct sim *s = sim_the;
    struct sim_thread *t = s->self;
    if (__atomic_load_n((const uint32_t *)word, __ATOMIC_RELAXED) != val) return -EAGAIN;
    usf_assert(t);              /* the monitor, alone at this instant, finds nothing to wait for */
    t->futex = word;
    t->debt += s->m->cost.block_ns;
    t->in_os++;
    sim_request(t, SIM_REQ_SLEEP);
    t->in_os--;
    return 0;
}

int os_futex_wake(const void *word, int n)
{
    struct sim *s = sim_the;
    if (word == &s->h->monitor_event) {
        s->looks = true;
        return 1;
    }
    struct sim_thread *t = sleeper_on(s, word);
    if (s->self) {
        s->self->debt += s->m->cost.wake_ns;
        s->wake_delay = s->self->debt;
    }
    if (!t || t->k.state != SIM_K_ASLEEP) return 0;
    sim_wake(s, t, SIM_K_WAKE);
    return 1;
}

/* The kernel thread that executes the caller goes on with `to`, and the caller waits. */
void sim_float_to(struct sim_thread *to)
{
    struct sim *s = sim_the;
    struct sim_thread *t = s->self;
    t->futex = to->futex;       /* its kernel thread sleeps there */
    t->float_to = to->k.id;
    t->debt += s->m->cost.float_ns;
    t->in_os++;
    sim_request(t, SIM_REQ_FLOAT);
    t->in_os--;
}

bool os_futex_wake_at_end(void *word, uint32_t from) { return false; }

void os_sched_yield(void)
{
    struct sim *s = sim_the;
    struct sim_thread *t = s->self;
    t->debt += s->m->cost.yield_ns;
    t->in_os++;
    if (s->cpu[t->k.cpu].nr_queued) sim_request(t, SIM_REQ_YIELD);
    else sim_busy(t, SIM_MODE_SPIN, 1);
    t->in_os--;
}

static uint64_t ran(struct sim *s, const struct sim_thread *t)
{ return t->k.ran_ns + (t->k.state == SIM_K_RUNNING ? s->now - s->cpu[t->k.cpu].begin : 0); }

/* The one clock besides the time that is asked for: the thread's own CPU time. */
uint64_t os_clock_ns(int clock) { return sim_the->self && clock == OS_CLOCK_OWN_CPU ? ran(sim_the, sim_the->self) : 0; }
uint64_t os_thread_cpu_ns(int32_t pid, int32_t tid) { return tid > 0 ? ran(sim_the, sim_thread(sim_the, (uint32_t)tid - 1)) : 0; }

/* A kernel-scheduled thread sleeps in each call: it has done so since it last asked. */
void os_own_waits(uint64_t *waits, uint64_t *cpu_ns)
{
    *waits = sim_the->now;
    *cpu_ns = os_clock_ns(OS_CLOCK_OWN_CPU);
}

void os_sleep(uint64_t ns) { if (sim_the->self) sim_kernel_sleep(sim_the->self, ns); }

/* ---- CPUs -------------------------------------------------------------------------------------------- */

int os_pin(int32_t tid, uint32_t cpu)
{
    struct sim *s = sim_the;
    struct sim_thread *t = tid ? sim_thread(s, (uint32_t)tid - 1) : s->self;
    if (cpu >= s->m->nr_cpus) return -EINVAL;
    if (t->k.allowed && !(t->k.allowed[cpu / 64] >> (cpu % 64) & 1)) return -EINVAL;
    if (s->self) s->self->debt += s->m->cost.pin_ns;
    if (s->self) s->self->in_os++;
    sim_bind(s, t, cpu);
    if (s->self) s->self->in_os--;
    return 0;
}

/* Only ever what a thread's process may use. */
int os_setaffinity(int32_t tid, const struct os_cpuset *set)
{
    struct sim *s = sim_the;
    struct sim_thread *t = tid ? sim_thread(s, (uint32_t)tid - 1) : s->self;
    if (s->self) s->self->debt += s->m->cost.pin_ns;
    t->k.bound = SIM_NONE;
    return 0;
}

/* ---- what there is nothing of ------------------------------------------------------------------------- */

int os_populate(void *p, size_t len) { return 0; }
bool os_process_ended(int32_t pid) { return false; }
uint64_t os_start_time(int32_t pid) { return 1; }
uint32_t os_geteuid(void) { return 0; }
void os_build_id(char *hex, size_t cap) { if (cap) *hex = 0; }
/* Only where os_populate fails, which it does not. */
int os_open(const char *path, int flags, unsigned mode) { return -ENOENT; }
int os_close(int fd) { return 0; }
int os_fstat(int fd, struct os_stat *out) { return -EBADF; }
int os_allocate(int fd, uint64_t off, uint64_t len) { return -EBADF; }
bool os_in_group(uint32_t gid) { return false; }
bool os_has_user(uint32_t uid) { return false; }
bool os_is_privileged(void) { return false; }
bool os_sees_others(void) { return true; }
int os_list_dir(const char *path, bool (*fn)(const char *name, void *arg), void *arg) { return -ENOENT; }
int os_cpuset_allowed(struct os_cpuset *out)
{
    *out = (struct os_cpuset){0};
    for (uint32_t i = 0; i < sim_the->m->nr_cpus; i++) os_cpu_set(out, i);
    return 0;
}
