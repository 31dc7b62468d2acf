/* models/ring.pml - a slot's ring of ready tasks.  SPDX-License-Identifier: Apache-2.0
 *
 * src/tasks/queue.c: ring_push, ring_pop, ring_take_half.  The owner appends TASKS tasks and takes some itself; THIEVES take the older
 * half at once, TRIES times each.  All move head by compare-and-swap; the owner alone writes tail and the entries.  Indices
 * wrap around in the code at 2^32; here they do not.
 *
 *   R1  each task is taken once (assert on taken);
 *   R2  none is lost: in the end each has been taken (assert in the owner);
 *   R3  a thief takes at most half of the ring, rounded up: it has no room for more.
 *
 * Mutations that must fail: -DBLIND_PUSH (the owner does not look whether the ring is full); -DTAIL_FIRST (it appends the entry after tail);
 * -DBARE_POP (it stores head, without comparing); -DREAD_LATE (a thief reads the entries after it has moved head); -DTRUST_COUNT (a thief
 * believes in any number of entries, although others have moved both ends since it has read head). */
#define RING 2
#ifndef TASKS
#define TASKS 4
#endif
#ifndef THIEVES
#define THIEVES 2
#endif
#ifndef TRIES
#define TRIES 2
#endif
byte head = 0, tail = 0, at[RING];
byte taken[TASKS + 1];          /* tasks are 1 .. TASKS */
byte thieves = THIEVES;

inline take(t) { atomic { assert(t > 0); taken[t]++; assert(taken[t] == 1) } }

inline push() {
    h = head;
    if
#ifndef BLIND_PUSH
    :: tail - h == RING
#endif
    :: else ->
       next++;
#ifdef TAIL_FIRST
       tail++;
       at[(tail - 1) % RING] = next
#else
       at[tail % RING] = next;
       tail++
#endif
    fi
}

inline pop() {
    h = head;
    do
    :: h == tail -> break
    :: else ->
       t = at[h % RING];
#ifdef BARE_POP
       head = h + 1; take(t); break
#else
       if
       :: atomic { head == h -> head = h + 1 } take(t); break
       :: atomic { head != h -> h = head }
       fi
#endif
    od
}

active proctype owner() {
    byte next = 0, h, t, i;
    do
    :: next < TASKS -> push()
    :: pop()
    :: next == TASKS && thieves == 0 && head == tail -> break
    od;
    for (i : 1 .. TASKS) { assert(taken[i] == 1) }
}

active [THIEVES] proctype thief() {
    byte tries = 0, h, e, n, i, mine[RING];
    do
    :: tries == TRIES -> break
    :: else ->
       tries++;
       h = head;
       e = tail;
       if
#ifndef TRUST_COUNT
       :: e - h > RING                          /* head was read before others moved both: again */
#endif
       :: e == h
       :: else ->
          n = e - h - (e - h) / 2;
          assert(n <= (RING + 1) / 2);
#ifndef READ_LATE
          i = 0;
          do
          :: i < n -> mine[i] = at[(h + i) % RING]; i++
          :: else -> break
          od;
#endif
          if
          :: atomic { head == h -> head = h + n }
             i = 0;
             do
             :: i < n ->
#ifdef READ_LATE
                mine[i] = at[(h + i) % RING];
#endif
                take(mine[i]); i++
             :: else -> break
             od
          :: atomic { head != h -> skip }
          fi
       fi
    od;
    thieves--
}
