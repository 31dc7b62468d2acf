/* src/monitor/hung.c - a monitor that lives and does nothing.  SPDX-License-Identifier: Apache-2.0
 *
 * It may be stopped, or frozen with the job that happened to start it (it is in that one's cgroup).
 * Without it no core is taken back, no death is seen, and a stall of the lock is not declared: so
 * it is ended, and another started.
 *
 * Nothing of it may run beside its successor, as both have one name for the scheduler's lock.  It
 * need not be dead for that: who is sent SIGKILL and does not run at that moment never runs a
 * further instruction of its own, however long its cgroup keeps it from dying.  Who does run goes
 * on until its processor is interrupted for it, some microseconds: that is waited for.
 *
 * Another user's cannot be ended, and none may run beside it: who finds that out leaves the
 * instance, as where no monitor can be had (runtime/thread.c), unless that user's programs come
 * before and end it.
 *
 * Runs in the user's programs: no libc. */
#include "base/base.h"
#include "monitor/monitor.h"
#include "os/os.h"
#include "sched/owner.h"
#include "shm/layout.h"
#include <errno.h>
#include <signal.h>

/* Without any sign of life while there was something to do, in so many looks, this long apart at
 * least: those who look may not have had the CPU for long, either. */
#define HUNG_NS    300000000u
#define HUNG_LOOKS 4u
#define LOOK_NS    50000000u
/* Not sooner: a file that is open for a moment changes the number of the descriptor that another
 * thread of the program gets. */
#define SILENT_NS  250000000u   /* without a sign of life, until it is looked for in /proc; only then the looks begin to count */
#define LOOPS_NS    200000000u  /* of CPU time in one go with the lock: usf's own work takes milliseconds at most */
#define PATIENCE_NS 5000000000u /* for that, where the CPU is scarce */
#define STOP_NS    1000000u     /* for a processor to notice the signal */

/* ns since then; negative: another thread has begun anew since `now` was read. */
static int64_t passed(uint64_t now, uint64_t then) { return (int64_t)(now - then); }

static bool has_work(struct usf_header *h, uint32_t namespace)
{
    bool sleeps = atomic_load(&h->monitor_asleep) & (USF_MONITOR_ASLEEP(namespace) | USF_MONITOR_NAPS(namespace));
    return (atomic_load(&h->nr_ready) && !sleeps) || atomic_load(&h->lock_stuck) >> namespace & 1;
}

/* 0: not known to this process. */
static uint32_t cpu_us(const struct usf_namespace *sp) { return (uint32_t)(os_process_cpu_ns(atomic_load(&sp->monitor_pid)) / 1000); }

/* It has the scheduler's lock, and has used the CPU all the while: only an operation of the policy
 * can take that long.  The policy would have the next monitor as well.  What it had used at first
 * is the note of the process that looked then, which may not have known. */
static bool is_in_policy(struct usf_header *h, uint32_t namespace)
{
    bool owns = lock_owner(&h->lock) == LOCK_NAME_MONITOR + namespace;
    uint32_t is = cpu_us(&h->namespace[namespace]), was = atomic_load(&h->namespace[namespace].missed.cpu_us);
    return owns && is && was && is - was < 1u << 31 && is - was >= LOOPS_NS / 1000;
}

/* Is it to be given time?  It is runnable, and may only not get the CPU, which another in its place
 * would not get either; or it is lost in the policy, which its CPU time tells in the end.  One that
 * cannot be seen may be stopped; but while it has the lock it is safer to believe that it runs. */
static bool is_to_be_waited_for(struct usf_header *h, uint32_t namespace)
{
    const struct usf_namespace *sp = &h->namespace[namespace];
    int32_t pid = atomic_load(&sp->monitor_pid), tid = atomic_load(&sp->monitor_tid);
    bool owns = lock_owner(&h->lock) == LOCK_NAME_MONITOR + namespace;
    char first = os_thread_state(pid, pid), other = tid > 0 ? os_thread_state(pid, tid) : 0;
    bool runs = first == 'R' || other == 'R', unseen = !first && !other;
    bool patient = passed(os_now(), atomic_load(&sp->missed.since)) < (int64_t)PATIENCE_NS;
    return (runs || (owns && unseen)) && patient && !is_in_policy(h, namespace);
}

/* The looks first: a thread that reads them before this, and `since` after it, finds that no time
 * has passed. */
static void begin_anew(struct usf_namespace *sp, uint64_t beat, uint64_t now)
{
    struct usf_missed *m = &sp->missed;
    atomic_store(&m->looks, 0);
    atomic_store(&m->last, now);
    atomic_store(&m->since, now);
    atomic_store(&m->cpu_us, cpu_us(sp));
    atomic_store(&m->beat, beat);       /* last: until then others, who note the same, begin anew as well */
}

static bool has_moved(struct usf_namespace *sp, uint64_t now)
{
    uint64_t beat = atomic_load(&sp->beat);
    if (beat == atomic_load(&sp->missed.beat)) return false;
    begin_anew(sp, beat, now);
    return true;
}

/* Several look at a time, and it may not have moved since the one before.  Nor has it where it did
 * not get a CPU: on a busy machine that takes 50 ms now and then.  kill() succeeds also on a
 * process that has ended and has not been reaped: such a monitor is missed after SILENT_NS. */
bool monitor_shows_life(struct usf_namespace *sp)
{
    uint64_t now = os_now();
    int32_t pid = (int32_t)atomic_load(&sp->monitor);
    if (has_moved(sp, now)) return true;
    return pid > 0 && passed(now, atomic_load(&sp->missed.since)) < (int64_t)SILENT_NS && os_kill(pid, 0) != -ESRCH;
}

static bool is_hung(struct usf_header *h, uint32_t namespace)
{
    struct usf_namespace *sp = &h->namespace[namespace];
    struct usf_missed *m = &sp->missed;
    uint64_t now = os_now();
    if (has_moved(sp, now)) return false;
    if (!has_work(h, namespace) || !atomic_load(&m->since)) {
        begin_anew(sp, atomic_load(&m->beat), now);
        return false;
    }
    /* Those that wait look each at their own times: a look that comes too early does not count, nor
     * put off the next. */
    uint64_t last = atomic_load(&m->last);
    if (passed(now, last) >= (int64_t)LOOK_NS && atomic_compare_exchange_strong(&m->last, &last, now)) atomic_fetch_add(&m->looks, 1);
    return atomic_load(&m->looks) >= HUNG_LOOKS && passed(now, atomic_load(&m->since)) >= (int64_t)HUNG_NS;
}

/* The pid is from the segment, which other users may write.  So a process is killed only if it has
 * the segment mapped. */
static bool is_monitor(const struct usf_header *h, int32_t pid, const struct monitor_own *own)
{
    if (pid <= 1 || pid == os_getpid()) return false;      /* 1: the kernel spares a namespace's first process */
    return own ? os_process_surely_maps(pid, own->dev, own->ino) : os_process_maps(pid, h->file_dev, h->file_ino);
}

int monitor_end_hung(struct usf_header *h, uint32_t namespace, const struct monitor_own *own)
{
    struct usf_namespace *sp = &h->namespace[namespace];
    uint64_t word = atomic_load(&sp->monitor);
    int32_t pid = (int32_t)word;
    if (!is_hung(h, namespace) || is_to_be_waited_for(h, namespace)) return 0;
    bool in_policy = is_in_policy(h, namespace);
    if (!is_monitor(h, pid, own)) return -EPERM;
    if (atomic_load(&sp->monitor) != word) return 0;
    /* Before: its successor, which has coop take over then, may begin as soon as this one is
     * dead. */
    uint32_t told = in_policy ? atomic_exchange(&sp->looped, 1) : 1;
    long r = os_kill(pid, SIGKILL);
    if (r && r != -ESRCH) {
        if (!told) atomic_store(&sp->looped, 0);
        return -EPERM;
    }
    atomic_store(&sp->missed.since, 0);
    os_sleep(STOP_NS);
    return atomic_compare_exchange_strong(&sp->monitor, &word, 0);
}
