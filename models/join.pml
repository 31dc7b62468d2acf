/* models/join.pml - waiting for tasks to complete.  SPDX-License-Identifier: Apache-2.0
 *
 * src/tasks/join.c, and tk_sleep with a time limit.  One waiter waits for TASKS tasks at once, again and again until they have all completed;
 * its time may be over at any moment, LIMITS times.  Each task is submitted and completes while the waiter comes, waits or leaves.  A record of the
 * waiter is on its stack: wait number `w` is alive while the waiter is in it.
 *
 *   J1  nobody touches a record of a wait that is over (assert in touch);
 *   J2  nobody but the waiter's own time ends a sleep that is not this wait's (assert in the teller);
 *   J3  the wait ends when all tasks have completed (invalid end state), and says so only then.
 *
 * Mutations that must fail: -DFORGET (the submission sets the word to 0); -DREAD_LATE (who tells reads the record after it has counted);
 * -DNO_LEFT (the waiter does not wait for the last teller); -DHASTY (it leaves without those whose words it could not take back). */
#ifndef TASKS
#define TASKS 2
#endif
#ifndef LIMITS
#define LIMITS 2
#endif
#define DONE 100             /* a word: 0, the number of a wait, DONE, or both */
byte joiner[TASKS];
bool completed[TASKS];
byte alive = 0;              /* the wait that the waiter is in; 0: none */
byte told, over;             /* its record */
bool asleep = false, queued = false;

#define touch(w) assert(alive == w)

inline tell(w, last) {
#ifdef READ_LATE
    atomic { touch(w); told++; n = told }
    atomic { touch(w); last = n == TASKS }
#else
    atomic { touch(w); told++; last = told == TASKS }
#endif
}

proctype task(byte i) {
    byte w, n;
    bool last, mine;
#ifdef FORGET
    joiner[i] = 0;
#else
    atomic { if :: joiner[i] >= DONE -> joiner[i] = 0 :: else fi }
#endif
    atomic { w = joiner[i]; joiner[i] = DONE; completed[i] = true }
    if
    :: w == 0
    :: else ->
       tell(w, last);
       if
       :: !last
       :: last ->
          atomic { touch(w); mine = asleep; asleep = false }
          atomic { touch(w); over = 1 }
          if :: mine -> assert(!queued); queued = true :: else fi
       fi
    fi
}

active proctype waiter() {
    byte wait = 0, i, out, limits = LIMITS;
    bool told_last, last, ended = false;
    byte n;
    atomic { i = 0; do :: i < TASKS -> run task(i); i++ :: else -> break od }
    do
    :: ended -> break
    :: else ->
       wait++;
       atomic { alive = wait; told = 0; over = 0; told_last = false; out = 0 }
       asleep = true;
       i = 0;
       do
       :: i < TASKS ->
          if
          :: atomic { joiner[i] == 0 -> joiner[i] = wait }
          :: atomic { joiner[i] == DONE -> joiner[i] = DONE + wait } tell(wait, last); told_last = last
          fi;
          i++
       :: else -> break
       od;
       if
       :: told_last -> asleep = false; over = 1
       :: else ->
          if
          :: atomic { queued -> queued = false }
          :: atomic { limits > 0 -> limits-- }          /* its time is over */
             if
             :: atomic { asleep -> asleep = false }
             :: atomic { !asleep -> skip } atomic { queued -> queued = false }
             fi
          fi
       fi;
       i = 0;
       do
       :: i < TASKS ->
          if
          :: atomic { joiner[i] == wait -> joiner[i] = 0; out++ }
          :: atomic { joiner[i] == DONE + wait -> joiner[i] = DONE }
          :: atomic { joiner[i] != wait && joiner[i] != DONE + wait -> skip }
          fi;
          i++
       :: else -> break
       od;
#ifndef HASTY
#ifdef NO_LEFT
       told + out >= TASKS;
#else
       told + out >= TASKS && (told != TASKS || over == 1);
#endif
#endif
       atomic { ended = told == TASKS; alive = 0 }
    od;
    for (i : 0 .. TASKS - 1) { assert(completed[i]) }
    assert(!asleep && !queued)
}
