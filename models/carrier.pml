/* models/carrier.pml - threads that float between kernel threads.  SPDX-License-Identifier: Apache-2.0
 *
 * src/sched/carrier.c: carrier_claims, carrier_leave, publish, look_after and the idle loop; core_wake of park.c.  THREADS threads begin on as
 * many carriers.  Each blocks ROUNDS times.  What has to wake it is a waker of another process, which wakes it without the lock, or a thread
 * that blocks and hands its core over: it claims the other's carrier and switches to it, or wakes it if that fails.  A wake may come late.
 *
 * Holds: a thread is executed by one carrier at a time (C1, C2), and a thread that was made RUNNING is executed (C3).  Spin finds a thread
 * that is not as an invalid end state, because nothing else wakes it.
 *
 * Mutations that must fail: -DNO_RECHECK (the publisher does not look at the state after IDLE); -DEARLY (a thread is published before its
 * registers are saved); -DLATE_THREAD (`thread` is written after IDLE); -DNO_OWNER (who claims a carrier does not look for whom it is
 * kept); -DSLEEP_PINNING (an idle carrier sleeps while a waker is at its word); -DGO_OVER_CLAIMED (a waker wakes a carrier that is claimed). */
#ifndef THREADS
#define THREADS 2
#endif
#ifndef ROUNDS
#define ROUNDS 1
#endif
#define NOBODY 255
mtype = { NONE, GO, IDLE, PINNING, CLAIMED };
mtype = { RUNNING, BLOCKED, ENDED };

mtype park[THREADS] = NONE;
mtype state[THREADS] = RUNNING;
byte owner[THREADS] = NOBODY;        /* of a carrier */
byte thread[THREADS];                /* the carrier that executes a thread, or is kept for it */
bool executed[THREADS];              /* its registers are in a processor */
bool asleep[THREADS];                /* the carrier is queued on the futex */
byte ended = 0;
byte done[THREADS];                  /* times that a thread has blocked */

inline begin(x) { atomic { assert(!executed[x]); executed[x] = true } }
inline end(x) { executed[x] = false }

/* core_wake of task x: reads the carrier, then works on its word */
inline wake_carrier(x) {
    at = thread[x];
    atomic {                                              /* a compare-and-swap that is repeated until it succeeds, from what it last saw */
        was = park[at];
        if
#ifdef GO_OVER_CLAIMED
        :: was == CLAIMED -> park[at] = GO; asleep[at] = false
#else
        :: was == CLAIMED
#endif
        :: else -> park[at] = PINNING
        fi
    }
    if
    :: was != CLAIMED ->
       atomic { if :: park[at] == PINNING -> park[at] = GO :: else fi };
       atomic { if :: was == IDLE -> asleep[at] = false :: else fi; was = NONE }     /* futex wake */
    :: else
    fi;
    atomic { was = NONE; at = 0 }
}

/* publish carrier n, which is kept for its owner */
inline publish(n) {
    park[n] = IDLE;
#ifndef NO_RECHECK
    kept = owner[n];
    if :: state[kept] == RUNNING -> wake_carrier(kept) :: else fi;
    kept = 0
#endif
}

proctype carrier(byte k) {
    byte me = k, n, at, kept, next, left;
    mtype was;
    begin(me);
again:                                                    /* `me` is executed here */
    if
    :: done[me] == ROUNDS ->
       atomic { state[me] = ENDED; ended++; end(me); goto spare }
    :: else
    fi;
    next = NOBODY;
    atomic { done[me]++; state[me] = BLOCKED }            /* under the lock, where it may choose who goes on */
    if
    :: true
    :: atomic { me != 0 && state[0] == BLOCKED -> state[0] = RUNNING; next = 0 }
    :: atomic { me != 1 && state[1] == BLOCKED -> state[1] = RUNNING; next = 1 }
#if THREADS == 3
    :: atomic { me != 2 && state[2] == BLOCKED -> state[2] = RUNNING; next = 2 }
#endif
    fi;
    if
    :: next != NOBODY ->                                  /* carrier_claims */
       n = thread[next];
       if
       :: atomic { park[n] == IDLE -> park[n] = CLAIMED }
#ifndef NO_OWNER
          if
          :: owner[n] == next
          :: else -> publish(n); wake_carrier(next); next = NOBODY
          fi
#endif
       :: atomic { park[n] != IDLE -> skip }
          wake_carrier(next);
          next = NOBODY
       fi
    :: else
    fi;
park_loop:
    if
    :: state[me] == RUNNING ->                            /* its turn has come meanwhile */
       if
       :: next != NOBODY -> n = thread[next]; park[n] = GO; asleep[n] = false; next = NOBODY     /* carrier_flush */
       :: else
       fi;
       park[thread[me]] = NONE;                           /* core_arrive */
       goto again
    :: else
    fi;
    if
    :: next != NOBODY ->                                  /* carrier_leave: a direct switch */
       left = me;
       n = thread[next];
       thread[next] = k;
       owner[n] = me;
#ifndef LATE_THREAD
       thread[me] = n;
#endif
       me = next;
       next = NOBODY;
#ifdef EARLY
       publish(n);
       end(left);
       begin(me);
#else
       end(left);
       begin(me);
       publish(n);
#endif
#ifdef LATE_THREAD
       thread[left] = n;
#endif
       atomic { left = 0; n = 0; goto park_loop }
    :: else ->
       owner[k] = me;
       thread[me] = k;
       end(me);
       publish(k)
    fi;
idle:
    was = park[k];
    if
#ifdef SLEEP_PINNING
    :: was == IDLE || was == CLAIMED || was == PINNING ->
#else
    :: was == PINNING -> goto idle
    :: was == IDLE || was == CLAIMED ->
#endif
       if
       :: atomic { park[k] == was -> asleep[k] = true }
end_idle: !asleep[k]
       :: atomic { park[k] != was -> skip }
       fi;
       goto idle
    :: else
    fi;
    park[k] = NONE;
    me = owner[k];
    begin(me);
    goto park_loop;
spare:
    skip
}

/* Of another process: wakes whoever is blocked. */
proctype waker() {
    byte x, at;
    mtype was;
    do
    :: ended == THREADS -> break
    :: atomic { state[0] == BLOCKED -> state[0] = RUNNING; x = 0 } wake_carrier(x)
    :: atomic { state[1] == BLOCKED -> state[1] = RUNNING; x = 1 } wake_carrier(x)
#if THREADS == 3
    :: atomic { state[2] == BLOCKED -> state[2] = RUNNING; x = 2 } wake_carrier(x)
#endif
    od
}

init {
    byte i;
    atomic {
        for (i : 0 .. THREADS - 1) { thread[i] = i }
        for (i : 0 .. THREADS - 1) { run carrier(i) }
        run waker()
    }
}
