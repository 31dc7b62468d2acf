/* models/park.pml - park and wake.  SPDX-License-Identifier: Apache-2.0
 *
 * src/sched/park.c: core_park, core_arrive and core_wake.  One sleeper blocks ROUNDS times;
 * wakers make it RUNNING under the scheduler lock (one atomic step) and then wake it without the lock,
 * in as many pieces as the code has atomic operations.  A waker of an earlier round may still be
 * waking it in a later one.  The kernel may wake the sleeper for nothing, and its wait may time out.
 *
 * No lost wake-up: a sleeper that was made RUNNING does not stay asleep.  Spin finds a violation as an
 * invalid end state, because nothing else wakes the sleeper: needless wakes and timeouts are bounded.
 *
 * A waker whose thread ends leaves the wake-up to the kernel, which looks at the word when the thread has gone: AT_END then
 * stays, with the bit that it is known by.
 *
 * -DDEATH: a waker is killed between any two of its steps, once.  The monitor, which sees a thread asleep
 * although its task is RUNNING, wakes it whatever the park word says.
 *
 * Mutations that must fail: -DLATE_GO (the waker stores GO instead of replacing its PINNING);
 * -DAWAKE_AT_END (a waker that finds AT_END takes the sleeper for awake);
 * -DNO_RECHECK (the sleeper does not look at its state between ASLEEP and the kernel);
 * -DDEATH -DTRUST_PARK (the monitor wakes only whom the park word calls ASLEEP). */
#ifndef ROUNDS
#define ROUNDS 3
#endif
#define WAKERS 2
mtype = { NONE, GO, ASLEEP, PINNING, AT_END };      /* park word */
mtype = { RUNNING, BLOCKED };                     /* task state */

mtype park = NONE;
mtype state = RUNNING;
bool in_kernel = false;      /* the sleeper is queued on the futex */
byte to_wake = 0;            /* rounds begun that no waker has taken on */
byte needless = 2;           /* wakes that the kernel may give for nothing */
byte timeouts = 1;
bool finished = false;
bool died = false;
#ifdef DEATH
#define MAY_DIE if :: atomic { !died -> died = true; goto dead } :: true fi
#else
#define MAY_DIE skip
#endif

/* futex(FUTEX_WAIT): compares and queues in one step */
inline futex_wait() {
    timed_out = false;
    if
    :: atomic { park == ASLEEP -> in_kernel = true }
       if
       :: !in_kernel
       :: atomic { needless > 0 -> needless--; in_kernel = false }
       :: atomic { timeouts > 0 && may_time_out -> timeouts--; in_kernel = false; timed_out = true }
       fi
    :: atomic { park != ASLEEP -> skip }          /* -EAGAIN */
    fi
}

inline core_park() {
    do
    :: state == RUNNING -> break
    :: else ->
       park = ASLEEP;                             /* exchange */
       if
#ifndef NO_RECHECK
       :: state == RUNNING -> break
#endif
       :: else -> futex_wait(); if :: timed_out -> break :: else fi
       fi
    od
}

inline core_arrive() {
    if :: park != PINNING :: true fi;             /* waits for a waker that is binding us, but not for ever */
    park = NONE
}

active proctype sleeper() {
    byte round = 0;
    bool timed_out, may_time_out;
    do
    :: round == ROUNDS -> break
    :: else ->
       round++;
       atomic { state = BLOCKED; to_wake++ }      /* under the scheduler lock */
       may_time_out = true;
       core_park();
       if
       :: timed_out ->                            /* ready by our own doing, unless a waker was first */
          if
          :: atomic { state == BLOCKED -> state = RUNNING; to_wake-- }
          :: atomic { state == RUNNING -> skip }
          fi
       :: else
       fi;
       may_time_out = false;
       core_park();
       core_arrive();
       assert(state == RUNNING)
    od;
    finished = true
}

active [WAKERS] proctype waker() {
    mtype was;
    do
    :: atomic { state == BLOCKED && to_wake > 0 -> state = RUNNING; to_wake-- }   /* under the lock */
       MAY_DIE;
       atomic { was = park; park = PINNING }      /* exchange */
       MAY_DIE;
#ifdef LATE_GO
       park = GO;
#else
       atomic { if :: park == PINNING -> park = GO :: else fi };
#endif
       if
#ifdef AWAKE_AT_END
       :: was != ASLEEP
#else
       :: was != ASLEEP && was != AT_END
#endif
       :: else ->
          MAY_DIE;
          if
          :: in_kernel = false                    /* futex wake */
          :: atomic { park == GO -> park = AT_END };      /* the waker's thread ends, killed or not */
             if
             :: atomic { park == AT_END -> in_kernel = false }
             :: atomic { park == NONE -> in_kernel = false }
             :: atomic { park != AT_END && park != NONE -> skip }
             fi
          fi
       fi
    :: finished -> break
    od;
dead:
    skip
}

#ifdef DEATH
active proctype monitor() {
    do
#ifdef TRUST_PARK
    :: atomic { died && state == RUNNING && in_kernel && park == ASLEEP -> park = GO; in_kernel = false }
#else
    :: atomic { died && state == RUNNING && in_kernel -> park = GO; in_kernel = false }
#endif
    :: finished -> break
    od
}
#endif
