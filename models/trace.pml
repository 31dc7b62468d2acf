/* models/trace.pml - event rings of a recording.  SPDX-License-Identifier: Apache-2.0
 *
 * src/sched/ring.c: trace_put and trace_get on the ring that belongs to whoever holds the scheduler lock.  WRITERS take turns
 * with the lock, and one of them may be killed between any two of its steps; the monitor then takes the lock from it.  The reader reads while they
 * write.  An event has two words, each written and read by itself.
 *
 * Holds: what the reader gets is whole (both words are of one event), each event is got once and in the order in which heads were raised, and at
 * the end written = read + left, with nothing but a killed writer's last event missing.
 *
 * Mutations that must fail: -DHEAD_FIRST (the head is raised before the event is there); -DTAIL_FIRST (the reader frees the place before it has
 * read it); -DNO_BOUND (a full ring is written over); -DNO_LOCK (two writers at once). */
#define SIZE 2
#define WRITERS 2
#define EVENTS 3                /* of each writer */

byte head, tail;                /* so far */
byte word1[SIZE], word2[SIZE];
byte owner;                     /* of the lock, 0: free */
byte told;                      /* events whose head was raised, as numbered by the ghost */
byte seq[16];                   /* ghost: the event that was raised as number i */
byte got, dropped, began;
byte alive = WRITERS;
bool died;

#define MAY_DIE if :: atomic { !died -> died = true; goto dead } :: true fi

proctype writer(byte me) {
    byte i, h, t, e;
    do
    :: i == EVENTS -> break
    :: else ->
#ifdef NO_LOCK
       skip;
#else
       atomic { owner == 0 -> owner = me };
#endif
       i++;
       e = me * 16 + i;
       began++;
       h = head;
       t = tail;
       if
#ifndef NO_BOUND
       :: h - t >= SIZE -> dropped++
#endif
       :: else ->
#ifdef HEAD_FIRST
          d_step { seq[told] = e; told++; head = h + 1 };
          MAY_DIE;
          word1[h % SIZE] = e;
          word2[h % SIZE] = e
#else
          word1[h % SIZE] = e;
          MAY_DIE;
          word2[h % SIZE] = e;
          MAY_DIE;
          d_step { seq[told] = e; told++; head = h + 1 }
#endif
       fi;
       MAY_DIE;
#ifndef NO_LOCK
       owner = 0
#endif
    od;
dead:
    atomic {                    /* the monitor takes the lock from the dead */
        if :: owner == me -> owner = 0 :: else fi;
        alive--
    }
}

proctype reader() {
    byte there, a, b, t;
    do
    :: head != tail ->
       t = tail;
       there = head - t;
       assert(there <= SIZE);
#ifdef TAIL_FIRST
       tail = t + 1;
#endif
       a = word1[t % SIZE];
       b = word2[t % SIZE];
       assert(a == b);          /* whole */
       assert(a == seq[got]);   /* once, and in order */
       got++;
#ifndef TAIL_FIRST
       tail = t + 1
#endif
    :: alive == 0 && head == tail -> break
    od;
    assert(got == told);
    /* None is missing but the last of one that was killed. */
    assert(began - got - dropped == 0 || (died && began - got - dropped == 1))
}

init {
    atomic {
        run writer(1);
        run writer(2);
        run reader()
    }
}
