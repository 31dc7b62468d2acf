/* models/futex.pml - futexes in user space against the semantics of futex(2).  SPDX-License-Identifier: Apache-2.0
 *
 * src/sync/futex.c: wait_on, cancel, take, wake_taken, wake and requeue, over two buckets.  WAITERS threads
 * wait while the word is 0; one thread sets it to 1 and wakes, another wakes one waiter and requeues the
 * rest to a second address, in the other bucket.  Waits may time out or be ended by a signal.
 * Blocking is a pending wake-up per task: sched_block takes it, sched_wake leaves it.
 *
 *   F1  no lost wake-up: everybody comes to an end (invalid end states);
 *   F2  who was counted by a wake returns 0, and nobody else does (end of init);
 *   F3  nobody touches a wait entry after its owner has returned (assert on alive);
 *   F4  buckets count their entries (end of init).
 *
 * Mutations that must fail: -DCOUNT_LATE (a waiter reads the word before it counts itself: the waker's look
 * without the lock misses it); -DNO_LINGER (a waiter whose wait has ended does not wait for the waker that
 * has taken it); -DNO_SECOND_LOOK (cancel does not look at the bucket again under the lock). */
#ifndef WAITERS
#define WAITERS 2
#endif
mtype = { WAITING, WAKING, WOKEN, CANCELLED };

bit word = 0;
bool locked[2];
byte count[2];
mtype state[WAITERS] = CANCELLED;
bool queued[WAITERS], alive[WAITERS], pending_wake[WAITERS];
bit bucket[WAITERS];                    /* 0: of the first address, 1: of the second */
byte ended_early = 2;                   /* timeouts and signals still to come */
byte counted = 0, returned = 0;         /* by wakes; waits that returned 0 */
byte done = 0;

inline lock_bucket(b) { atomic { !locked[b] -> locked[b] = true } }
inline unlock_bucket(b) { locked[b] = false }

inline cancel(w) {
    do
    :: b = bucket[w];
       lock_bucket(b);
#ifndef NO_SECOND_LOOK
       if
       :: bucket[w] != b -> unlock_bucket(b)
       :: else ->
#endif
          mine = (state[w] == WAITING);
          if
          :: mine -> d_step { assert(queued[w] && bucket[w] == b); queued[w] = false; count[b]--; state[w] = CANCELLED }
          :: else
          fi;
          unlock_bucket(b);
          break
#ifndef NO_SECOND_LOOK
       fi
#endif
    od;
#ifdef NO_LINGER
    skip
#else
    state[w] != WAKING
#endif
}

proctype waiter(byte w) {
    bit b;
    bool mine;
    do
    :: word == 1 -> break
    :: else ->
       d_step { state[w] = WAITING; alive[w] = true; bucket[w] = 0 };
       lock_bucket(0);
#ifdef COUNT_LATE
       mine = (word == 0);
       d_step { queued[w] = true; count[0]++ };
#else
       d_step { queued[w] = true; count[0]++ };
       mine = (word == 0);
#endif
       if
       :: !mine -> d_step { queued[w] = false; count[0]--; alive[w] = false; state[w] = CANCELLED };
          unlock_bucket(0)              /* -EAGAIN */
       :: else ->
          unlock_bucket(0);
          do
          :: state[w] != WAITING -> break
          :: state[w] == WAITING ->
             if
             :: atomic { pending_wake[w] -> pending_wake[w] = false }
             :: atomic { ended_early > 0 -> ended_early--; break }
             fi
          od;
          cancel(w);
          d_step { alive[w] = false; if :: !mine -> returned++ :: else fi };
          mine = false; b = 0;
          if :: word == 0 && ended_early == 0 -> skip :: else -> break fi    /* timed out and content, or again */
       fi
    od;
    done++
}

#define wake_one(w) if :: taken[w] -> assert(alive[w]); state[w] = WOKEN; taken[w] = false; pending_wake[w] = true :: else fi

/* holds b's lock: up to n entries of bucket b */
inline take(b, n) {
    d_step {
        got = 0; i = 0;
        do
        :: i < WAITERS ->
           if
           :: queued[i] && bucket[i] == b && got < n ->
              queued[i] = false; count[b]--; state[i] = WAKING; taken[i] = true; got++
           :: else
           fi;
           i++
        :: else -> break
        od;
        counted = counted + got; i = 0
    }
}

inline wake(b, n) {
    if
    :: count[b] == 0                    /* the look without the lock */
    :: else ->
       lock_bucket(b);
       take(b, n);
       unlock_bucket(b);
       wake_one(0); wake_one(1)
#if WAITERS > 2
       ; wake_one(2)
#endif
    fi;
    got = 0
}

proctype waker() {
    byte got, i;
    bool taken[WAITERS];
    word = 1;
    wake(0, WAITERS);
    done++
}

proctype requeuer() {
    byte got, i;
    bool taken[WAITERS];
    lock_bucket(0); lock_bucket(1);
    if
    :: word == 0 ->                     /* the comparison of CMP_REQUEUE */
       take(0, 1);
       d_step {
           i = 0;
           do
           :: i < WAITERS ->
              if :: queued[i] && bucket[i] == 0 -> bucket[i] = 1; count[0]--; count[1]++ :: else fi;
              i++
           :: else -> break
           od;
           i = 0
       }
    :: else
    fi;
    unlock_bucket(0); unlock_bucket(1);
    wake_one(0); wake_one(1);
#if WAITERS > 2
    wake_one(2);
#endif
    wake(1, WAITERS);                   /* the second address' own wake */
    done++
}

init {
    atomic { run waiter(0); run waiter(1);
#if WAITERS > 2
             run waiter(2);
#endif
             run waker(); run requeuer() };
    done == WAITERS + 2;
    assert(counted == returned);
    assert(count[0] == 0 && count[1] == 0)
}
