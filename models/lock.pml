/* models/lock.pml - the scheduler lock and its recovery.  SPDX-License-Identifier: Apache-2.0
 *
 * src/sched/lock.c, both kinds: the word with its sleepers' bit and, with -DDT, the queue of slots in front
 * of it with delegation.  USERS threads enter their section ROUNDS times, by acquiring or (DT) by leaving
 * a request; up to DEATHS of them are killed between any two steps.  The monitor recovers the lock after
 * each death.  Users' sleeps have no timeout here, so that a wake-up that is lost shows; losing patience in
 * the queue is possible at any time.
 *
 *   L1  one owner: nobody enters a section that another is in (assert on inside);
 *   L2  everybody alive comes to an end (invalid end states);
 *   L3  a request is served once if it was answered, and not at all if its owner acquired the lock, unless
 *       a dead owner had begun to serve it (assert on served).
 *
 * -DSPACES: two containers, with a monitor each.  User i is of container i % 2, whose monitor recovers the lock after its deaths.  The
 * second container ends as a whole at some time, its monitor perhaps in the middle of a recovery; once nobody of it is left the first's
 * monitor recovers the lock from those.
 *
 * Mutations that must fail: -DSPACES -DTOO_SOON (it does so while some of them still run); -DNO_MARK (recovery takes the word without the sleepers' bit, although a dead
 * thread may have taken a wake-up with it); -DBARE_NAME (who has slept takes it so); -DSTALE_DEATHS (recovery believes only in deaths that it has heard of);
 * -DDT -DNO_SLOTS (recovery leaves the slots as they are). */
#ifndef USERS
#define USERS 2
#endif
#ifndef ROUNDS
#define ROUNDS 1
#endif
#ifndef DEATHS
#define DEATHS 1
#endif
#define N 2                  /* slots */
#define MONITOR 9
#define NOBODY 0

/* names: user i is i + 1 */
byte owner = NOBODY;
bool sleepers = false;       /* owner and sleepers are one word */
bool asleep[USERS];          /* in the kernel on the word */
bool dead[USERS], known[USERS];
byte deaths = DEATHS, alive = USERS;
byte unheard[2];
#ifdef SPACES
#define space(i) ((i) % 2)
bool ends = false;           /* the second container */
byte there = USERS / 2 + 1;  /* of it, its monitor among them */
bool gone = false;           /* the first's monitor knows that there is nobody */
#define leave(n) there = there - (n)
#define is_over gone
#else
#define space(i) 0
#define ends false
#define leave(n) skip
#define is_over true
#endif
byte inside = NOBODY;
byte served[USERS];
bool begun[USERS];           /* an owner died while it served the request */

#ifdef DT
mtype = { FREE, CLAIMED, WAITS, FIRST, TAKEN, SERVED, AGAIN, ABANDONED };
typedef slot { mtype code; byte lap; byte who; bool request };
slot s[N];
byte next = 0, serving = 0;
#define lap_of(t) ((t) / N)
#endif

#define DIE unheard[space(me % USERS)]++; alive--; dead[me % USERS] = true; asleep[me % USERS] = false; leave(space(me % USERS)); goto died
#define DOOMED(n) (ends && mortal && space((n) % USERS))
#define MAY_DIE if \
    :: atomic { mortal && deaths > 0 -> deaths--; DIE } \
    :: atomic { DOOMED(me) -> DIE } \
    :: atomic { ends && number -> leave(1); goto died } \
    :: true fi

/* ---- the word ---- */
inline try_word(name, mark) {
    atomic { if :: owner == NOBODY -> owner = name; sleepers = mark; ok = true :: else -> ok = false fi }
}
/* the word was `seen` when it was looked at: mark it, then sleep unless it has changed */
inline sleep_on_word(me) {
    if
    :: atomic { owner == NOBODY -> skip }
    :: atomic { owner != NOBODY -> seen = owner; sleepers = true };
       MAY_DIE;
       atomic { if :: owner == seen && sleepers -> asleep[me] = true :: else fi };
       if
       :: !asleep[me]
       :: atomic { DOOMED(me) -> DIE }
       fi
    fi;
    seen = NOBODY
}
inline wake_one() {
    atomic {
        if
        :: asleep[0] -> asleep[0] = false
        :: asleep[1] -> asleep[1] = false
#if USERS > 2
        :: asleep[2] -> asleep[2] = false
#endif
        :: else
        fi
    }
}

#ifdef DT
inline set_free(i) { d_step { s[i].code = FREE; s[i].lap = s[i].lap + 1; s[i].who = NOBODY; s[i].request = false } }
/* holds the lock */
inline settle() {
    do
    :: w = serving;
       if
       :: atomic { s[w % N].lap == lap_of(w) && (s[w % N].code == FREE || s[w % N].code == CLAIMED
                   || s[w % N].code == FIRST || s[w % N].code == TAKEN) -> break }
       :: atomic { s[w % N].lap == lap_of(w) && s[w % N].code == WAITS -> s[w % N].code = FIRST; break }
       :: atomic { s[w % N].lap == lap_of(w) && s[w % N].code == ABANDONED -> set_free(w % N) };
          MAY_DIE; serving = w + 1
       :: atomic { s[w % N].lap == lap_of(w) && (s[w % N].code == SERVED || s[w % N].code == AGAIN) -> serving = w + 1 }
       :: atomic { s[w % N].lap + 1 == lap_of(w) -> break }
       :: atomic { s[w % N].lap > lap_of(w) -> serving = w + 1 }
       fi
    od;
    w = 0
}
#endif

inline section(name) {
    assert(inside == NOBODY);
    inside = name;
    MAY_DIE;
    inside = NOBODY
}

inline release(name) {
#ifdef DT
    if :: next == serving :: else -> settle() fi;
#endif
    atomic { assert(owner == name); owner = NOBODY; ok = sleepers; sleepers = false };
    MAY_DIE;
    if :: ok -> wake_one() :: else fi
}

proctype user(byte me) {
    bool ok, slept, mortal = true, asks, answered;
    byte round, seen, t, w, number;
    do
    :: round == ROUNDS -> break
    :: else ->
       round++;
       answered = false;
#ifdef DT
       if :: asks = true :: asks = false fi;
#endif
       try_word(me + 1, false);
       if :: ok -> goto owned :: else fi;
#ifdef DT
       /* claim a slot */
       do
       :: t = next;
          if
          :: atomic { s[t % N].lap + 1 == lap_of(t) -> if :: next == t -> t = 0; goto patience_lost :: else fi }
          :: atomic { s[t % N].lap == lap_of(t) && s[t % N].code == FREE ->
                      s[t % N].code = CLAIMED; s[t % N].who = me + 1; s[t % N].request = asks };
             MAY_DIE;
             atomic { if :: next == t -> next = t + 1 :: else fi };
             break
          :: atomic { s[t % N].lap > lap_of(t) || (s[t % N].lap == lap_of(t) && s[t % N].code != FREE) ->
                      if :: next == t -> next = t + 1 :: else fi }
          fi
       od;
       atomic { served[me] = 0; begun[me] = false };
       MAY_DIE;
       s[t % N].code = WAITS;
       do
       :: atomic { s[t % N].code == SERVED -> set_free(t % N); answered = true; assert(served[me] == 1); goto round_over }
       :: atomic { s[t % N].code == AGAIN -> set_free(t % N); goto patience_lost }
       :: (s[t % N].code == FIRST || (s[t % N].code == WAITS && serving == t)) && owner == NOBODY ->
          try_word(me + 1, false);
          MAY_DIE;
          if
          :: ok ->
             if :: s[t % N].code == SERVED -> answered = true; assert(served[me] == 1) :: else fi;
             set_free(t % N);
             MAY_DIE;
             settle();
             if
             :: answered -> release(me + 1); goto round_over
             :: else -> goto owned
             fi
          :: else
          fi
       :: atomic { s[t % N].code == WAITS || s[t % N].code == FIRST -> s[t % N].code = ABANDONED; goto patience_lost }
       od;
patience_lost:
#endif
       t = 0;
       slept = false;
       do
       :: try_word(me + 1, slept); if :: ok -> break :: else fi;
          sleep_on_word(me);
#ifndef BARE_NAME
          slept = true
#endif
       od;
owned:
       MAY_DIE;
       section(me + 1);
#ifdef DT
       assert(!asks || served[me] == 0 || begun[me]);
       /* serve whoever stands first with a request */
       if
       :: asks ->
          settle();
          w = serving;
          if
          :: atomic { s[w % N].lap == lap_of(w) && s[w % N].code == FIRST && s[w % N].request -> s[w % N].code = TAKEN };
             atomic { seen = s[w % N].who - 1; served[seen]++; begun[seen] = true };
             section(me + 1);
             begun[seen] = false;
             s[w % N].code = SERVED;
             MAY_DIE;
             serving = w + 1
          :: else
          fi;
          w = 0; seen = 0
       :: else
       fi;
#endif
       MAY_DIE;
       release(me + 1);
round_over:
#ifdef DT
       atomic { t = 0; ok = false; served[me] = 0; begun[me] = false };
#endif
       skip
    od;
    atomic { alive--; leave(space(me)) };
died:
    skip
}

#ifdef STALE_DEATHS
#define is_dead(n) (n >= 1 && n <= USERS && known[n - 1])
#elif !defined(SPACES)
#define is_dead(n) (n >= 1 && n <= USERS && dead[n - 1])
#else
#ifdef TOO_SOON
#define is_gone ends
#else
#define is_gone gone
#endif
#define is_user(n) (n >= 1 && n <= USERS)
#define is_dead(n) ((is_user(n) && space((n + USERS - 1) % USERS) == number && dead[(n + USERS - 1) % USERS]) \
                    || (number == 0 && is_gone && ((is_user(n) && space((n + USERS - 1) % USERS)) || n == MONITOR + 1)))
#endif
#define is_news(i) (dead[i] && !known[i] && space(i) == number)

#ifdef DT
inline recover_slot(i) {
    atomic {
        t = serving + ((i + N * 4 - serving) % N);
        if
        :: s[i].code == FREE
        :: else ->
           if
           :: is_dead(s[i].who) ->
              if
              :: s[i].code == SERVED || s[i].code == AGAIN || s[i].lap != lap_of(t) -> set_free(i)
              :: else -> s[i].code = ABANDONED
              fi
           :: else ->
              if
              :: s[i].code == TAKEN -> s[i].code = AGAIN
              :: s[i].code == ABANDONED && s[i].lap != lap_of(t) -> set_free(i)
              :: else
              fi
           fi
        fi;
        t = 0
    }
}
#endif

proctype monitor(byte number) {
    bool ok, mortal = false;
    byte me = USERS, w, t;
    do
#ifdef SPACES
    :: atomic { ends && number -> leave(1); goto died }
    :: atomic { number == 0 && ends && there == 0 && !gone -> gone = true };
       goto recover
#endif
    :: atomic { unheard[number] > 0 -> unheard[number]--; if :: is_news(0) -> known[0] = true
                                              :: is_news(1) -> known[1] = true
#if USERS > 2
                                              :: is_news(2) -> known[2] = true
#endif
                                              fi };
recover:
       do
#ifdef NO_MARK
       :: try_word(MONITOR + number, false);
#else
       :: try_word(MONITOR + number, true);
#endif
          if :: ok -> break :: else fi;
          if
          :: atomic { owner != NOBODY && is_dead(owner) -> owner = MONITOR + number; sleepers = true; inside = NOBODY }; break
          :: atomic { owner == NOBODY -> skip }
          :: atomic { owner != NOBODY && !is_dead(owner) -> sleepers = true };
             if
             :: owner == NOBODY || is_dead(owner)         /* its sleep is short, and it looks again */
#ifdef SPACES
             :: atomic { ends && number -> leave(1); goto died }
             :: atomic { number == 0 && ends && there == 0 && !gone -> gone = true }
#endif
             fi
          fi
       od;
#if defined(DT) && !defined(NO_SLOTS)
       recover_slot(0); recover_slot(1);
       settle();
#endif
       section(MONITOR + number);
       release(MONITOR + number)
    :: atomic { alive == 0 && unheard[number] == 0 && (!ends || number || is_over) -> leave(number); break }
    od;
died:
    skip
}

#ifdef SPACES
active proctype fate() { ends = true }
#endif

init { atomic {
    run monitor(0);
#ifdef SPACES
    run monitor(1);
#endif
#ifdef DT
    s[0].code = FREE; s[1].code = FREE;
#endif
    run user(0); run user(1);
#if USERS > 2
    run user(2)
#endif
} }
