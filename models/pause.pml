/* models/pause.pml - a task pauses, and sleeps for a time.  SPDX-License-Identifier: Apache-2.0
 *
 * src/tasks/pause.c nosv_pause, submit.c nosv_submit, slot.c leave_slot, tk_goes_on, tk_hand_over, tk_sleep, go_on_late.  The task's thread passes
 * ROUNDS pauses, or with -DTIMED as many sleeps with a time limit.  It says that it blocks before it gives its slot away, so that it may be
 * ready again, and be in another holder's hand, while it still looks for work in its own slot.  Two others hold what slots are free, take the
 * task out of the queue, and let it go on: in the slot that it looks for work in (KEEP), or in theirs (GO).
 *
 *   P1  a slot has one holder (assert in hold);
 *   P2  the task is queued once at a time, and is in one hand (assert in enqueue);
 *   P3  each submission lets one pause pass, and none is lost (invalid end states).
 *
 * Mutations that must fail: -DLATE_COUNT (the thread gives its slot away, then counts); -DBARE_KEEP (who has the task stores KEEP without comparing);
 * -DUNRESPONSIVE (the thread goes to sleep although KEEP has come); -DTIMED -DBARE_END (who ends a sleep does not compare). */
#ifndef ROUNDS
#define ROUNDS 3
#endif
#define NOBODY 0
#define THREAD 1             /* the task's thread; others are 2 and 3 */
mtype = { NONE, SEARCHING, KEEP, GO };
mtype go = NONE;
byte holder[2];              /* of the slots */
byte given;
byte blocking = 10;          /* the count, 0 is 10 */
bool waiting = false;        /* TIMED: it sleeps */
bool queued = false, in_hand = false;
byte submits = ROUNDS;
bool began = false, finished = false;

inline hold(s, who) { atomic { assert(holder[s] == NOBODY); holder[s] = who } }
inline enqueue() { atomic { assert(!queued && !in_hand); queued = true } }

/* The thread holds slot s, and its task waits.  kept: it goes on there. */
inline leave_slot() {
    kept = false;
    do
    :: atomic { go == NONE -> go = SEARCHING }
       mine = false; other = false;
       if
       :: atomic { queued -> queued = false; mine = true }
       :: other = true                          /* another task */
       :: go == KEEP || go == GO
       :: true                                  /* it gives up */
       fi;
       if
       :: mine -> go = NONE; kept = true
       :: else ->
          if
          :: atomic { go == KEEP -> go = NONE; kept = true }
          :: atomic { go != KEEP -> skip }
             if
#ifdef UNRESPONSIVE
             :: atomic { go == SEARCHING || go == KEEP -> go = NONE }
#else
             :: atomic { go == SEARCHING -> go = NONE }
             :: atomic { go == KEEP -> go = NONE; kept = true }
#endif
             :: go == GO
             fi
          fi
       fi;
       if
       :: kept -> break
       :: else ->
          if
          :: other && go != GO && again -> again = false        /* the other task's thread has a slot already */
          :: true -> holder[s] = NOBODY; break
          fi
       fi
    :: go == GO -> holder[s] = NOBODY; break
    od
}

inline park() { atomic { go == GO -> go = NONE; s = given } }

active proctype thread() {
    byte s = 0, round = 0;
    bool kept, mine, other, blocks, again, late;
    atomic { holder[0] = THREAD; began = true }
    do
    :: round == ROUNDS -> break
    :: else ->
       round++;
       again = true;
#ifdef TIMED
       late = false;
       waiting = true;
       leave_slot();
       if
       :: kept
       :: else ->
          do
          :: go == GO -> park(); break
          :: !late ->                           /* its time is over */
             late = true;
             if
             :: atomic { waiting -> waiting = false }
                if
                :: atomic { holder[0] == NOBODY -> holder[0] = THREAD; s = 0 } break
                :: atomic { holder[1] == NOBODY -> holder[1] = THREAD; s = 1 } break
                :: true -> enqueue(); park(); break
                fi
             :: atomic { !waiting -> skip }
             fi
          od
       fi;
#else
#ifdef LATE_COUNT
       blocks = true;
       leave_slot();
       if :: !kept -> atomic { blocking++; blocks = blocking > 10 } if :: blocks -> park() :: else -> hold(0, THREAD); s = 0 fi :: else fi;
#else
       atomic { blocking++; blocks = blocking > 10 }
       if
       :: !blocks
       :: blocks -> leave_slot(); if :: kept :: else -> park() fi
       fi;
#endif
#endif
       assert(holder[s] == THREAD && !queued && !in_hand && holder[1 - s] != THREAD)
    od;
    holder[s] = NOBODY;
    finished = true
}

active proctype submitter() {
    bool missing;
    do
    :: submits > 0 ->
       submits--;
#ifdef TIMED
       if
#ifdef BARE_END
       :: waiting -> waiting = false; enqueue()
#else
       :: atomic { waiting -> waiting = false } enqueue()
#endif
       :: !waiting
       fi
#else
       atomic { blocking--; missing = blocking == 10 }
       if :: missing -> enqueue() :: else fi
#endif
    :: submits == 0 || finished -> break
    od
}

/* Another thread holds slot s for a moment. */
inline look() {
    if
    :: atomic { queued -> queued = false; in_hand = true }
       if
#ifdef BARE_KEEP
       :: go == SEARCHING -> in_hand = false; go = KEEP; holder[s] = NOBODY
#else
       :: atomic { go == SEARCHING -> in_hand = false; go = KEEP } holder[s] = NOBODY
#endif
       :: true ->                               /* it does not search, or may not run there: it gets this slot */
          holder[s] = THREAD;
          given = s;
          atomic { in_hand = false; go = GO }
       fi
    :: !queued -> holder[s] = NOBODY
    fi;
    s = 0
}

active [2] proctype others() {
    byte s = 0;
    began;
    do
    :: finished -> break
    :: atomic { queued && holder[0] == NOBODY -> holder[0] = _pid; s = 0 } look()
    :: atomic { queued && holder[1] == NOBODY -> holder[1] = _pid; s = 1 } look()
    od
}
