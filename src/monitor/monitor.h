/* src/monitor/monitor.h - the watchman of an instance.  SPDX-License-Identifier: Apache-2.0
 *
 * One small process.  It sleeps while nothing waits; it takes the tasks of dead processes off,
 * gives on cores that make no progress or are released provisionally for too long (sched_watch),
 * and retires the instance some time after its last process has left.
 *
 * Two threads:
 *   deaths   waits on pidfds of all registered processes, and retires the instance;
 *   watch    waits on the header's monitor_event, ticks while tasks wait (and, more seldom, while
 *            some run), tells `deaths` of new processes.
 * Both call the scheduler, one at a time (struct monitor's lock): to the scheduler they are one.
 *
 * A child, the supervisor, waits for its death and becomes the next one (supervisor.c).
 *
 * There is one per instance and pid namespace: the `monitor` word of the namespace's record (pid
 * and start time) is taken over by a compare-and-swap from a monitor that is dead, or was ended
 * because it hung (hung.c).  If it is killed, the process that misses it starts another
 * (monitor_keep): nothing of its state is needed.
 */
#ifndef USF_MONITOR_H
#define USF_MONITOR_H

#include <stdbool.h>
#include <stdint.h>

struct usf_header;
struct usf_namespace;

/* How a thread is told to look at itself: this signal, SI_QUEUE, value MONITOR_PREEMPT_MAGIC ^ task
 * in its low half and 0 above.  Task ids are below 1 << 15: the magic's upper 16 bits stay. */
#define MONITOR_PREEMPT_SIGNAL SIGURG
#define MONITOR_PREEMPT_MAGIC  0x75736600u

/* ---- in the tool (spawn.c, main.c) ----------------------------------------------------------- */

struct monitor_options {
    const char *name;
    const char *dir;            /* null: /dev/shm */
    uint64_t min_life_ns;       /* earliest end after the start; 0: 1 s */
    bool no_pidfd;              /* as on a kernel without them: look into /proc */
    bool kept;                  /* started anew at once if it is killed (supervisor.c): it is `EXE monitor NAME` */
    int report;                 /* descriptor: an int is written there once it watches (0), or cannot (the error); 0: none */
};
/* Watch until the instance ends.  Exit code: 0 done, or another watches already; 1 no such
 * instance. */
int monitor_run(const struct monitor_options *o);
/* `usf monitor NAME [REPORT]`: monitor_run as a daemon's process. */
int usf_monitor_main(const char *instance, int report);

/* Start `usf_exe monitor instance` as a daemon, and wait until it watches.  0, or -errno (also of
 * the exec); -ECANCELED: it ended without a word. */
int monitor_spawn(const char *usf_exe, const char *instance);
/* See that this pid namespace of the instance of this name has a monitor; remember this tool's path
 * and the linger time in it, so that others can start it anew.  0 or -errno. */
int monitor_ensure(struct usf_header *h, uint32_t namespace, const char *name, uint64_t linger_ns);

/* ---- in any process (revive.c): no libc, async-signal-safe ----------------------------------- */

/* (Of the caller's own pid namespace.) */
bool monitor_is_alive(const struct usf_namespace *sp);
/* Start `exe monitor instance` from within any program, without a child, signal or descriptor that
 * the program could notice.  0: it is on its way; -EALREADY: the last one that this process has
 * started still is; -errno. */
int monitor_revive(const char *exe, const char *instance);
/* Until that one no longer shares this process's memory, as it does until its exec, by the deadline
 * (0: none).  0, the exec's error, or -ETIMEDOUT.  Also to be called before this process gives up
 * rights that the other has. */
int monitor_await_revival(uint64_t deadline);
/* End it if it still does: from then on it executes nothing any more, whatever its exec waits for.
 * 0 or -errno. */
int monitor_drop_revival(void);
/* What is not taken from the segment of an instance that other users share, as they can write it:
 * the tool that the monitor is started from ("": none), the instance's name, its file.  The texts
 * must stay. */
struct monitor_own {
    const char *exe, *name;
    uint64_t dev, ino;
};
void monitor_use_own(struct monitor_own own);
/* End a monitor that lives and has not done anything for long while there was something to do:
 * stopped, frozen.  1: it does nothing any more, and its place is free; 0: it does not hang;
 * -EPERM: it does, and is not ours to end.  own: null, or as above; then it is ended only if it is
 * sure to have that file mapped. */
int monitor_end_hung(struct usf_header *h, uint32_t namespace, const struct monitor_own *own);
/* True: the monitor has given a sign of life since the last such call by any process; or its
 * process exists, and the last sign of life is less than 250 ms old.  Then it need not be looked
 * for in /proc, which takes a descriptor for a moment: a file that another thread of the program
 * opens meanwhile gets another number. */
bool monitor_shows_life(struct usf_namespace *sp);
/* If the monitor is dead or hangs, start it (at most once in 100 ms for the whole pid namespace).
 * 0: it lives, or no process knows how to start one.  1: this process or another one has just tried
 * to start it; a later look tells whether it lives.  -errno: it cannot be started, or it hangs and
 * cannot be ended. */
int monitor_keep(struct usf_header *h, uint32_t namespace);

#endif
