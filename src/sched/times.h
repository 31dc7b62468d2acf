/* src/sched/times.h - the wait protocol in numbers.  SPDX-License-Identifier: Apache-2.0
 *
 * A thread that waits looks, spins, yields and parks.  Other threads probe its busy-wait.  The
 * monitor preempts a thread that runs.  This header has each time and count of these steps in
 * src/sched and src/sync, with its unit and its reason; docs/design.md, sections 3 and 8, has the
 * steps.  Sizes of arrays are beside the arrays (SCHED_SPINNERS_MAX, SCHED_WAKE_BATCH), and times
 * that src/runtime alone uses are beside its code.  The times that users choose (poll_max, lend,
 * progress) are options (src/config/table.c).
 *
 * _NS: nanoseconds.  _CYCLES: of the time stamp counter, at the 2 to 4 GHz that CPUs have. */
#ifndef USF_SCHED_TIMES_H
#define USF_SCHED_TIMES_H

/* ---- look: before a thread blocks, and at its idle core after that -------------------------- */

/* After long waits on its core a thread looks for poll_max / LOOK_LESS: so it notices when waits
 * become short again.  The latest wait is one part in LOOK_WEIGHT of the average, and counts as
 * LOOK_LONG * poll_max at most: a few short waits outweigh a very long one. */
#define LOOK_LESS   8u
#define LOOK_WEIGHT 4u
#define LOOK_LONG   4u
/* Rounds from one reading of the clock to the next: readings take a small part of the time. */
#define LOOK_ROUNDS 16u
#define POLL_ROUNDS 32u                 /* ... of the poller of an idle core */
/* The real-time clock may be set forward, and goes on while the machine is suspended: a wait until a
 * time on it looks again after a part of what is left, 1 to 30 s. */
#define REALTIME_LOOK_MIN_NS 1000000000ull
#define REALTIME_LOOK_MAX_NS 30000000000ull
#define REALTIME_LOOK_PART   16u

/* ---- spin: a recognised busy-wait loop (spinwait.h) ----------------------------------------- */

/* Rounds as the loop was written, before the first look: many waits end within them. */
#define SPIN_FREE_ROUNDS 16u
/* While tasks are ready, a thread goes on for so long before it gives way.  A release comes within
 * some hundred nanoseconds if the awaited thread runs.  A wait that ends within the time that a
 * yield takes costs less than the yield: up to 0.5 us of a thread that floats (0.1 us of them for
 * the switch of registers and stacks), 2 to 3 us where the kernel switches. */
#define SPIN_PATIENCE_CYCLES      1500u
#define SPIN_PATIENCE_HOME_CYCLES 6000u /* of a thread that does not float */
#define SPIN_CHUNK_CYCLES 1000u         /* from one look to the next: shorter than the patience */
#define SPIN_MAX_CHUNK    512u          /* rounds, also those of another loop that comes next */
/* One long wait may be many short ones: a bounded loop within another loop.  Looks that are no
 * further apart than SPIN_SOON_CYCLES are of a thread that does little else than wait. */
#define SPIN_SOON_CYCLES     16000u
#define SPIN_IN_A_ROW_CYCLES 100000u
/* So many waits in a row that took long: the loop's waits do, and threads give way at once.  One
 * wait in SPIN_RETRY does not: so they notice when waits become short again. */
#define SPIN_LONG_WAITS 2u
#define SPIN_RETRY      16u
/* At most so many rounds between two looks that find no task for the core: each of these looks
 * takes the scheduler lock.  SPIN_NO_PAUSE times as many where no pause instruction makes rounds
 * long. */
#define SPIN_UNPRODUCTIVE 32u
#define SPIN_NO_PAUSE     16u
/* Policy `linux`: a yield to the kernel that took longer let another thread run.  One that did not
 * is not repeated for SPIN_ALONE_CYCLES. */
#define SPIN_SWITCHED_CYCLES 5000u
#define SPIN_ALONE_CYCLES    50000u
/* While no task is ready, the kernel gets to choose once in so long: a program outside of the
 * instance may wait for the CPU.  More often in sched_yield, which asks for that. */
#define SPIN_STRANGERS_NS  1000000u
#define YIELD_STRANGERS_NS 200000u

/* ---- yield and probe ------------------------------------------------------------------------ */

/* Turns in a row that a waiting thread could give to no task.  After YIELD_NEAR_TURNS, some 100 us,
 * it takes yielding tasks of other cores too: to fetch one takes longer than most waits.  One turn
 * in YIELD_ANY_TURNS goes by the policy's order: the list of busy-waiting tasks is not used, and a
 * task is taken even if the probes of all say that their waits go on. */
#define YIELD_NEAR_TURNS 64u
#define YIELD_ANY_TURNS  256u
/* For so long a task that yielded is left to the core that it waits for.  Not for ever: where a
 * policy has one queue for all cores, each look from another core puts the task behind those that
 * yield at its own, and these may be found before it each time. */
#define YIELD_LEFT_NS 1000000u
/* For one pick.  A probe takes some 20 ns and a queue two times as long; a thread that runs and
 * only waits on takes two switches of the kernel. */
#define PROBES_MAX 32u
/* So many calls in a row that find nothing are a yield hint (src/runtime/hints.c), no further apart
 * than HINT_SOON_NS: a thread that computes between its looks does not yield at each.  A turn of
 * threads that compute is longer than the sleep that it replaces: after one of HINT_LONG_NS so many
 * calls are no hints, twice as many after each further one. */
#define HINT_CALLS       8u
#define HINT_SOON_NS     10000u
#define HINT_LONG_NS     1000000u
#define HINT_FIRST_PAUSE 64u
#define HINT_LAST_PAUSE  16384u

/* ---- park: a thread sleeps until its task has a core ---------------------------------------- */

/* A thread that waits for a core looks after the monitor, which may have been killed together with
 * the thread that had the core: then no other thread may be there to notice.  Few threads wait for
 * so long while all is well, so the first look costs little.  Later looks come ever less often. */
#define PARK_FIRST_LOOK_NS 40000000ull
#define PARK_LAST_LOOK_NS  1000000000ull
/* Rounds of waiting for a waker that is just binding the thread: it takes moments, unless the waker
 * was preempted or killed.  First pauses, then yields to the kernel; a carrier's idle loop yields
 * at once. */
#define PARK_PAUSES 200u
#define PARK_YIELDS 1000u
/* At one turn in so many a thread asks which CPU it is on: that costs a tenth of a switch. */
#define PARK_ARRIVALS 8u
/* From one request for its home to the next: the thread there may be in a critical section. */
#define PARK_POKE_NS 10000000u
/* A process's threads float once cores have passed between them so often: to prepare takes as long
 * as the kernel needs for a hundred hand-overs, and many programs have few. */
#define CARRIER_PAYS 16u
/* After a longer turn a carrier's CPU clock is read, at a cost of 0.5 % then: the thread may have
 * been preempted meanwhile, or have slept in a system call. */
#define CPU_READ_NS 50000u
/* A CPU is contended (contend.c) if the kernel runs a woken thread so late: it takes some 35 us on
 * an idle CPU, and 3 ms on a busy one.  Its core is avoided for CONTENDED_MIN_MS, for twice as long
 * each time in a row, and tried again after CONTENDED_MAX_MS at the latest. */
#define CONTENDED_LATE_NS 500000u
#define CONTENDED_MIN_MS  1u
#define CONTENDED_MAX_MS  100u
/* A thread whose waits are short goes on later (src/sync/delay.c). */
#define HOT_CYCLES       20000u         /* a wait, and at a lock the time before it, that are short */
#define HOT_WAITS        3u             /* in a row, before the first delay at a lock */
#define DELAY_CYCLES     4000u          /* the first, and at a lock between two looks; doubled in each wait, */
#define DELAY_DOUBLED    5u             /* ... so often: some 40 us, or four wake-ups */
#define DELAY_COLD_WAITS 1000u          /* without a delay, after one that had no reason */
#define HOT_LOOK_CYCLES  2000u          /* the longest look at whether others use the lock */
/* A delay was right if the thread waits again within FUTILE_CYCLES, at the same word or within
 * FUTILE_NEAR of it: a condition variable has two.  That is the time of a look, and of the way
 * back: 600 to 6,000 cycles on a virtual Xeon, and 9,000 to 13,000 with a section of 2 us between.
 * A right delay makes up for FUTILE_WORTH wrong ones, since a lock may be free by chance.  After
 * FUTILE_WRONG that nothing makes up for, FUTILE_COLD_WAITS waits have none: so to try costs 2 %
 * where wake-ups are 2 us apart. */
#define FUTILE_CYCLES       7000u
#define FUTILE_NEAR         64u           /* bytes */
#define FUTILE_DELAY_CYCLES 12000u        /* the first delay; twice as long after each that was right, */
#define FUTILE_DOUBLED      3u            /* ... so often */
#define FUTILE_WORTH        4u
#define FUTILE_WRONG        16u
#define FUTILE_COLD_WAITS   4000u
#define FUTILE_FIRST_WAITS  100u          /* of a thread, without a delay: many threads do not wait more often */
#define FUTILE_CALL_CYCLES  10000u        /* a waker that is in one system call for so long waits */

/* ---- bind: to one CPU (bind.c), while tasks wait -------------------------------------------- */

/* Threads are unbound when no task has waited for so long: two calls of the kernel for each thread
 * and change are then some 0.1 % of the time at most.  The time of the latest wait is kept no more
 * exactly than UNBIND_NOTE_NS, since all cores read it. */
#define UNBIND_NS      10000000u
#define UNBIND_NOTE_NS 100000u
/* From one attempt of the monitor to bind a thread rightly that runs on to the next, at first and
 * at most. */
#define ASTRAY_NS      2000000u
#define ASTRAY_MAX_NS  512000000u
/* A thread that is about to poll looks so seldom whether another of the instance is on its CPU:
 * some 300 us.  Another is believed to be where it began to poll for some 1 ms. */
#define SPREAD_CYCLES      1000000u
#define SPREAD_SEEN_CYCLES 3000000u
/* A thread that stays on its CPU notes that once in so long: others read the note, and it is four
 * times as new as they ask for. */
#define SPREAD_NOTE_CYCLES (SPREAD_SEEN_CYCLES / 4)

/* ---- call: system calls that block (call.c, src/runtime/calls.c) ---------------------------- */

/* After so many short bursts between calls that blocked a thread becomes kernel-scheduled.  That
 * ends when its bursts take KERNEL_RUN_NS of CPU time in the mean of KERNEL_RUN_SAMPLE at least.  A
 * thread that runs for less than a KERNEL_RUN_SHARE-th of the time may use KERNEL_RUN_SELDOM_NS,
 * and becomes kernel-scheduled once its bursts are found to be such. Bursts that are over within
 * KERNEL_RUN_CYCLES, some 300 us, are short: the CPU time is read after a longer one. */
#define KERNEL_RUN_CALLS  16u
#define KERNEL_RUN_CYCLES 900000u
#define KERNEL_RUN_NS     200000u
#define KERNEL_RUN_SAMPLE 16u
#define KERNEL_RUN_SHARE  16u
#define KERNEL_RUN_SELDOM_NS 800000u
/* A burst of so much CPU time, as far as the kernel has counted it (at its ticks), ends it as
 * well. */
#define KERNEL_RUN_LONG_NS 300000u
/* So does so much CPU time without a sleep, as long as a thread may keep a core.  A
 * kernel-scheduled thread looks at that and at its mean once in some 2 ms, at a call. */
#define KERNEL_RUN_THROUGH_NS   5000000u
#define KERNEL_RUN_CHECK_CYCLES 6000000u
/* Such a thread enters the scheduler once in so long, some MONITOR_LOOK_NS: it looks for the
 * monitor there. */
#define KERNEL_RUN_LOOK_CYCLES 120000000u
/* The monitor asks for so many kernel-scheduled threads in one look: up to 10 us each. */
#define KERNEL_RUN_LOOKS  8u
/* After a call that blocked so many of its kind are taken to block as well; one in CALL_LOOK_EVERY
 * of these looks nevertheless: a thread that reads what is there already pays for the guess. */
#define CALL_SURE       8u
#define CALL_LOOK_EVERY 16u
/* Of so many provisional releases a thread looks whether it only passes data on: it has slept
 * PASSES_WAITS times at least, and computed for less than PASSES_CPU_NS between two sleeps.  Then
 * PASSES_IN_A_ROW releases in a row decide. */
#define PASSES_RELEASES 256u
#define PASSES_WAITS    32u
#define PASSES_IN_A_ROW 16u
#define PASSES_CPU_NS   300000u
/* A provisional release may be taken up to a PROVISIONAL_LOOK_PART-th of `lend` late: so seldom the
 * scheduler looks at the cores of all. */
#define PROVISIONAL_LOOK_PART 8u

/* ---- the scheduler lock --------------------------------------------------------------------- */

/* Leases (lease.c): how long one lasts at most, ns and turns.  One is worth its price if each of
 * its tasks has had so many turns; else the next one comes so many yields later, twice as many each
 * time in a row. */
#define LEASE_NS        1000000u
#define LEASE_TURNS     128u
#define LEASE_PAUSE_MIN 4u
#define LEASE_PAUSE_MAX 2048u
#define LEASE_ALL       16u             /* of a core's yields that take the lock, each such one ends the leases of all cores */
#define LEASE_PROBES    4u              /* busy-waits that are probed in one turn: 20 ns each, 100 and more if their words have just changed */
#define LEASE_ASK       16u             /* turns in a row that find no task, until the policy is asked, which has other cores' too */
#define LEASE_SPINS     40u             /* rounds of pause until a thread has given way, which takes some 0.1 us, and the probes: with the lock, and without it */
#define LEASE_SLEEP_NS  100000u         /* then it has been interrupted in that: the sleep until the next look */
#define LEASE_DROPS     1000u           /* times LEASE_SPINS before the policy is replaced nevertheless */

#define LOCK_SPINS    200u              /* rounds of pause before a waiter sleeps: the lock is held for less */
#define BUCKET_SPINS  100u              /* ... of a bucket of futexes (src/sync), which is held for less still */
#define LOCK_SLEEP_NS 20000000u         /* longest sleep: a woken waiter may have died */
#define LOCK_STUCK_NS 50000000u         /* between calls of usf_lock_on_stuck: the owner may be dead */

/* Is there a monitor?  One member of each pid namespace looks so often, and each process at what
 * concerns itself.  The lock's owner shows so often that the lock lives. */
#define MONITOR_LOOK_NS 40000000u
#define MEMBER_LOOK_NS  1000000000u
#define LOCK_MOVED_NS   40000000u

/* ---- preempt: the monitor's looks (watch.c) ------------------------------------------------- */

/* From one look to the next while tasks wait; also a thread's age at its first preemption
 * signal. */
#define WATCH_TICK_NS  1000000ull
/* ... while none waits.  A thread that makes a task wait has the monitor look sooner, but not
 * sooner than WATCH_LEAST_NS: tasks that never wait for long do not wake it more often. */
#define WATCH_BUSY_NS  10000000ull
#define WATCH_LEAST_NS 1000000u
/* After so many looks that find no task waiting or running the monitor sleeps without a timer.  It
 * naps before that, and looks: that finds what came as it went to sleep. */
#define WATCH_QUIET    5u
#define WATCH_DOZE_NS  20000000u
/* A thread that was awake is asked for its state at every second tick: that takes most of a
 * look. */
#define WATCH_AWAKE_NS 1500000u
/* So many looks wake a dispatched thread that sleeps before its core is taken: its waker may have
 * died, or have no CPU. */
#define WATCH_WAKES    8u
/* So many looks in a row find a dispatched thread asleep before anything is done: one that is just
 * being woken is asleep at the first. */
#define WATCH_ASLEEP   2u
/* So long without a tick: the monitor that ticks for all has ended. */
#define WATCH_TICKER_NS 10000000ull
/* A policy that has left a core free for so long, and for so many looks, although a task may run
 * there, is starving it.  Both are needed: the monitor may have had no CPU. */
#define STARVING_NS    1000000000u
#define STARVING_LOOKS 16u
/* The next preemption signal comes at so many times the age of the last one.  Its handler searches
 * for a busy-wait, for a millisecond in a large function, and a thread that computes is found busy
 * again and again. */
#define PREEMPT_AGAIN  8u
/* A thread that makes calls while tasks wait for a core looks every 0.6 to 1.3 ms whether it must give
 * way, about as often as the monitor.  One that has not looked for DUE_LOOK_LAST times as long does
 * not give way at once: its time on the core counts from the dispatch, and it may have slept there in
 * a call while nobody wanted the core.  A thread that computes between its calls for a millisecond
 * or more gets the monitor's signal instead. */
#define DUE_LOOK_CYCLES 2500000u
#define DUE_LOOK_LAST   4u
/* An unresponsive thread loses its core: one that has had more than so many signals, the first of
 * them at least UNRESPONSIVE_NS ago, and has not given way.  The time alone does not suffice,
 * because the monitor itself may have had no CPU meanwhile.  The time is longer than the kernel
 * leaves a healthy thread without a CPU (a CPU quota stops a group for less than its period, 100 ms
 * by default), so it does not depend on the progress guarantee.  The monitor of another container
 * comes first for that one's threads, if it lives. */
#define UNRESPONSIVE_SIGNALS      8u
#define UNRESPONSIVE_NS           100000000u
#define UNRESPONSIVE_ELSEWHERE_NS 200000000u
/* A core is due by its give_way_at.  From one look to the next, however soon that is; and from one
 * signal to the next: the first may have come in a critical section. */
#define GIVE_LEAST_NS 20000u
#define GIVE_AGAIN_NS 1000000u
/* Threads that spin and then block may end their waits before a tick.  So the monitor looks at the
 * thread on a core that has switched so often since the last look.  The time between looks grows
 * while they find nothing; with the policy `linux`, which has no cores, by doublings. */
#define SAMPLE_SWITCHES 8u
#define SAMPLE_NS       4000000ull
#define SAMPLE_MAX_NS   256000000ull
#define SAMPLE_BACKOFF  6u
#define SAMPLE_PAUSE_PART 4u             /* the time between looks grows by one part in so many at each that finds nothing */

#endif
