/* models/fl.pml - the queues of the policy fl.  SPDX-License-Identifier: Apache-2.0
 *
 * src/policy/fl.c: enqueue and pick without a lock, by several cores at the same time, each atomic operation a step.  TASKS tasks
 * are enqueued by a thread each, all to the first queue; cores pick them, and AGAIN times enqueue one anew, to its own queue or to
 * the other.  A chain that was taken off a stack belongs to one alone, so what is done to it is one step.
 *
 *   F1  who is picked was enqueued, and not picked since (assert on held);
 *   F3  nobody is left behind: a core that finds nothing says that it is idle, looks once more and sleeps; whoever has
 *       enqueued or picked wakes idle cores as long as anybody waits.  A task that is lost or not seen leaves all asleep
 *       (invalid end state).
 *
 * -DTHIEVES: the cores take from a queue that is neither's own, as where its own core computes, and go by the hint alone.
 * -DPICKY: the first task may run on the second core alone.
 * -DLOADED: the first two are in the queue at the beginning, which leaves room for more rounds.
 *
 * Mutations that must fail, with -DLOADED: -DAGAIN=2 -DNO_TAG (a swap compares the top alone); -DSPLIT_TAKE (a stack is taken by a load and
 * a store); -DTASKS=3 -DBLIND_PUBLISH (a chain is published over whatever is there); -DTHIEVES -DHINT_FIRST (who enqueues looks at the
 * hint before it pushes); -DTHIEVES -DNO_LOOK_BACK (who clears the hint does not look at the queue after); -DTHIEVES -DNO_HINT
 * (who publishes does not look at the hint); -DPICKY -DNO_DUTY (who picks wakes nobody, although it may have had others' tasks in its hands). */
#ifndef TASKS
#define TASKS 2
#endif
#ifndef AGAIN
#define AGAIN 1
#endif
#define IN 0
#define OUT 2
#ifdef THIEVES
#define QUEUES 1
#else
#define QUEUES 2
#endif
#ifdef PICKY
#define FITS(t, me) ((t) != 1 || (me) == 1)
#else
#define FITS(t, me) true
#endif

/* stacks: index queue + IN or OUT; tasks are 1 .. TASKS, 0 is none */
byte top[4], tag[4], next[5];
bool hint[2], held[5], idle[2];
byte again = AGAIN, begun = 0;

#ifdef NO_TAG
#define UNCHANGED(s) (top[s] == w)
#else
#define UNCHANGED(s) (top[s] == w && tag[s] == g)
#endif
#define load(s) atomic { w = top[s]; g = tag[s] }
#define store(s, t) top[s] = t; tag[s] = tag[s] + 1

#if TASKS == 2
#define ANY_HELD (held[1] || held[2])
#else
#define ANY_HELD (held[1] || held[2] || held[3] || held[4])
#endif
#define OVER (begun == TASKS && !ANY_HELD)

inline note_filled(q) { if :: hint[q] :: else -> hint[q] = true fi }
inline wake_idle() {
    if
    :: d_step { ANY_HELD && (idle[0] || idle[1]) -> idle[0] = false; idle[1] = false }
    :: else
    fi
}

inline push(q, t) {
    do
    :: load(q + IN);
       next[t] = w;
       if
       :: atomic { UNCHANGED(q + IN) -> store(q + IN, t) }; break
       :: else
       fi
    od
}
inline enqueue(q, t) {
    d_step { assert(!held[t]); held[t] = true };
#ifdef HINT_FIRST
    note_filled(q); push(q, t);
#else
    push(q, t); note_filled(q);
#endif
    atomic { w = 0; g = 0 }
}

/* `chain` of ours, turned round; `last` is then its end */
inline turn_round() {
    d_step {
        i = chain; last = chain; chain = 0;
        do :: i == 0 -> break :: else -> n = next[i]; next[i] = chain; chain = i; i = n od;
        n = 0
    }
}
inline publish(q) {
    if
    :: chain == 0
    :: else ->
       load(q + OUT);
       if
#ifdef BLIND_PUBLISH
       :: atomic { store(q + OUT, chain) }
#else
       :: atomic { w == 0 && UNCHANGED(q + OUT) -> store(q + OUT, chain) }
       :: else ->
          turn_round();
          do
          :: load(q + IN);
             next[last] = w;
             if
             :: atomic { UNCHANGED(q + IN) -> store(q + IN, chain) }; break
             :: else
             fi
          od
#endif
       fi;
#ifndef NO_HINT
       note_filled(q)
#endif
    fi;
    atomic { chain = 0; last = 0; w = 0; g = 0 }
}

/* detach: a walk over a stack that changes meanwhile may find anything */
inline detach(s) {
    do
    :: load(s);
       atomic {
           i = top[s]; some = false;
           do :: i == 0 || some -> break :: else -> some = FITS(i, me); i = next[i] od;
           i = 0;
           if :: !UNCHANGED(s) -> some = true :: !UNCHANGED(s) -> some = false :: UNCHANGED(s) fi
       };
       if
#ifdef SPLIT_TAKE
       :: some && top[s] -> chain = top[s]; atomic { store(s, 0) }; break
#else
       :: atomic { some && UNCHANGED(s) -> chain = w; store(s, 0) }; break
#endif
       :: atomic { !some && UNCHANGED(s) -> break }
       :: else
       fi
    od;
    atomic { w = 0; g = 0; some = false }
}

inline sift(q, from) {
    detach(q + from);
    if :: from == IN -> turn_round() :: else fi;
    d_step {
        i = chain; last = 0;
        do
        :: i == 0 || FITS(i, me) -> break
        :: else -> last = i; i = next[i]
        od;
        if
        :: i && last -> next[last] = next[i]
        :: i && !last -> chain = next[i]
        :: else
        fi;
        assert(i || !chain);        /* it has been taken for one that fits */
        got = i; i = 0; last = 0
    };
    publish(q)
}

inline take(q) {
    picky = false;
    do
    :: load(q + OUT);
       if
       :: w == 0 -> break
       :: w && !FITS(w, me) ->
          picky = true;
          sift(q, OUT);
          if :: !got -> sift(q, IN) :: else fi;
          break
       :: w && FITS(w, me) ->
          n = next[w];
          atomic { if :: UNCHANGED(q + OUT) -> store(q + OUT, n); got = w :: else fi; n = 0 };
          if :: got -> break :: else fi
       fi
    od;
    atomic { w = 0; g = 0 };
    if
    :: !got && !picky -> sift(q, IN)
    :: else
    fi;
    picky = false
}

inline steal(q) {
    if
    :: hint[q] ->
       take(q);
       if
       :: !got && !top[q + OUT] ->
          if
          :: !top[q + IN] ->
             hint[q] = false;
#ifndef NO_LOOK_BACK
             if
             :: top[q + OUT] || top[q + IN] -> note_filled(q)    /* two loads; neither fills while both are empty without a push */
             :: else
             fi
#endif
          :: else
          fi
       :: else
       fi
    :: else
    fi
}

inline pick() {
    got = 0;
#if QUEUES == 2
    take(me);
    if :: !got -> steal(1 - me) :: else fi;
#else
    steal(0);
#endif
    if
    :: got -> d_step { assert(held[got]); held[got] = false; next[0] = 0 }
    :: else
    fi
}

proctype core(byte me) {
    byte w, g, i, n, chain, last, got;
    bool some, picky;
    do
    :: pick();
       if
       :: got ->
          if
          :: atomic { again > 0 -> again--; begun-- };
             if
             :: enqueue(0, got)
#if QUEUES == 2
             :: enqueue(1, got)
#endif
             fi;
             begun++
          :: true
          fi;
#ifndef NO_DUTY
          wake_idle();
#endif
          got = 0
       :: else ->
          idle[me] = true;
          pick();
          if
          :: got ->
             idle[me] = false;
#ifndef NO_DUTY
             wake_idle();
#endif
             got = 0
          :: else ->
             if
             :: !idle[me]
             :: OVER -> break
             fi
          fi
       fi
    od
}

proctype thread(byte t) {
    byte w, g;
    enqueue(0, t);
    begun++;
    wake_idle()
}

init {
    atomic {
#ifdef LOADED
        begun = 2; hint[0] = true; top[IN] = 2; next[2] = 1; held[1] = true; held[2] = true;
#else
        run thread(1); run thread(2);
#endif
#if TASKS > 2
        run thread(3);
#endif
#if TASKS > 3
        run thread(4);
#endif
        run core(0); run core(1)
    }
}
