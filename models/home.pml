/* models/home.pml - a floating thread comes home.  SPDX-License-Identifier: Apache-2.0
 *
 * src/sched/carrier.c: carrier_await_home, carrier_try_home, and `wanted` and `homeward` in look_after.  Thread 0 began as carrier 0 and is
 * executed by carrier 1; thread 1 the other way round.  Thread 0 wants to go home, for a system call that it has to make there.  Thread 1
 * blocks ROUNDS times, and then for good; a waker of another process wakes it, and a wake may come late.  The time limit after which thread 0
 * looks again by itself is left out: no wake-up may depend on it.
 *
 * Holds: a thread is executed by one carrier at a time; thread 0 comes home, and thread 1 is executed each time that it was woken.  Spin finds
 * a thread that waits for ever as an invalid end state.
 *
 * Mutations that must fail: -DNO_WANTED (who leaves a carrier does not look whether a thread wants it); -DNO_HOMEWARD (a thread that has left
 * its carrier to wait for its home does not look whether that is free by then); -DNO_RECHECK (the carrier that thread 0 leaves to thread 1 is
 * published without a look at that one's state); -DSEND_EARLY (the home is woken before the registers of thread 0 are saved). */
#ifndef ROUNDS
#define ROUNDS 2
#endif
mtype = { NONE, GO, IDLE, PINNING, CLAIMED };
mtype = { RUNNING, BLOCKED };

mtype park[2] = NONE;
mtype state[2] = RUNNING;
byte owner[2];                       /* of a carrier */
byte thread[2];                      /* the carrier that executes a thread, or is kept for it */
bool executed[2];                    /* its registers are in a processor */
bool asleep[2];                      /* the carrier is queued on the futex */
bool wanted;                         /* carrier 0, by thread 0, whose `homeward` is set as long */
byte woken = 0, blocked = 0;
bool is_home;

inline begin(x) { atomic { assert(!executed[x]); executed[x] = true } }
inline end(x) { executed[x] = false }

/* core_wake of task x */
inline wake_carrier(x) {
    at = thread[x];
    atomic {
        was = park[at];
        if
        :: was == CLAIMED
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

/* publish carrier n, and look_after it */
inline publish(n) {
    park[n] = IDLE;
    kept = owner[n];
    if
#ifndef NO_WANTED
    :: n == 0 && wanted -> wake_carrier(0)
    :: !(n == 0 && wanted) ->
#else
    :: true ->
#endif
       if
#ifndef NO_HOMEWARD
       :: kept == 0 && wanted -> if :: park[0] == IDLE -> wake_carrier(0) :: else fi
#endif
#ifndef NO_RECHECK
       :: kept == 1 && state[1] == RUNNING -> wake_carrier(1)
#endif
       :: else
       fi
    fi;
    kept = 0
}

proctype carrier(byte k) {
    byte me = 1 - k, at, kept;
    mtype was;
    begin(me);
again:                                                    /* `me` is executed here */
    if
    :: me == 0 && thread[0] == 0 ->
       assert(k == 0);
       atomic { wanted = false; is_home = true }
end_home:
       false                                              /* it computes there from now on */
    :: me == 0 && thread[0] == 1 ->                       /* carrier_await_home */
       assert(k == 1);
       wanted = true;
       if
       :: atomic { park[0] == IDLE -> park[0] = CLAIMED } /* carrier_try_home */
          owner[1] = owner[0];
          thread[owner[1]] = 1;
          owner[0] = 0;
          thread[0] = 0;
#ifdef SEND_EARLY
          park[0] = GO; asleep[0] = false;
          end(0);
          publish(1)
#else
          end(0);
          publish(1);
          park[0] = GO; asleep[0] = false
#endif
       :: atomic { park[0] != IDLE -> skip }              /* carrier_leave */
          owner[1] = 0;
          end(0);
          publish(1)
       fi
    :: me == 1 && state[1] == BLOCKED ->                  /* it was resumed for nothing */
       owner[k] = 1;
       thread[1] = k;
       end(1);
       publish(k)
    :: me == 1 && state[1] == RUNNING ->
       atomic { state[1] = BLOCKED; blocked++ };
       owner[k] = 1;
       thread[1] = k;
       end(1);
       publish(k)
    fi;
idle:
    was = park[k];
    if
    :: was == PINNING -> goto idle
    :: was == IDLE || was == CLAIMED ->
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
    goto again
}

/* Of another process. */
proctype waker() {
    byte at;
    mtype was;
    do
    :: woken == ROUNDS -> break
    :: atomic { woken < ROUNDS && state[1] == BLOCKED -> state[1] = RUNNING; woken++ } wake_carrier(1)
    od
}

init {
    atomic {
        thread[0] = 1;
        thread[1] = 0;
        run carrier(0);
        run carrier(1);
        run waker()
    }
    /* All wake-ups have come, each block but the last has ended, and thread 0 is home. */
    is_home && blocked == ROUNDS + 1
}
