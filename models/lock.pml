/* models/lock.pml - the scheduler lock and its recovery.  SPDX-License-Identifier: Apache-2.0
 *
 * src/sched/lock.c: the word with its sleepers' bit.  USERS threads enter their section ROUNDS
 * times.  Up to DEATHS of them are killed between any two steps.  The monitor recovers the lock
 * after each death.  Users' sleeps have no timeout here, so a lost wake-up shows.
 *
 *   O1  one owner: no thread enters a section that another is in (assert on inside), and only the
 *       owner frees the lock (assert in release);
 *   O2  every thread that is alive comes to an end (invalid end states).
 *
 * -DNAMESPACES: two pid namespaces, with a monitor each.  User i is in namespace i % 2, whose monitor
 * recovers the lock after the deaths there.  The second namespace ends as a whole at some time; its
 * monitor may be in the middle of a recovery.  Once all of it are gone, the first one's monitor
 * recovers the lock from them.
 *
 * Mutations that must fail:
 *   -DNAMESPACES -DTOO_SOON  it does so while some of them still run;
 *   -DNO_MARK        recovery takes the word without the sleepers' bit, although the dead thread may
 *                    have been woken;
 *   -DBARE_NAME      a thread that has slept takes the word without the bit;
 *   -DSTALE_DEATHS   recovery believes only in the deaths that it was told of. */
#ifndef USERS
#define USERS 2
#endif
#ifndef ROUNDS
#define ROUNDS 1
#endif
#ifndef DEATHS
#define DEATHS 1
#endif
#define MONITOR 9
#define NOBODY 0

/* names: user i is i + 1 */
byte owner = NOBODY;
bool sleepers = false;       /* owner and sleepers are one word */
bool asleep[USERS];          /* in the kernel on the word */
bool dead[USERS], known[USERS];
byte deaths = DEATHS, alive = USERS;
byte unheard[2];
#ifdef NAMESPACES
#define ns(i) ((i) % 2)
bool ends = false;           /* the second namespace */
byte there = USERS / 2 + 1;  /* in it, with its monitor */
bool gone = false;           /* the first's monitor knows that all of it are gone */
#define leave(n) there = there - (n)
#define is_over gone
#else
#define ns(i) 0
#define ends false
#define leave(n) skip
#define is_over true
#endif
byte inside = NOBODY;

#define DIE unheard[ns(me % USERS)]++; alive--; dead[me % USERS] = true; asleep[me % USERS] = false; \
    leave(ns(me % USERS)); goto died
#define DOOMED(n) (ends && mortal && ns((n) % USERS))
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
       fi;
       MAY_DIE              /* a death in its sleep is that before the sleep, or after the wake-up */
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

inline section(name) {
    assert(inside == NOBODY);
    inside = name;
    MAY_DIE;
    inside = NOBODY
}

inline release(name) {
    atomic { assert(owner == name); owner = NOBODY; ok = sleepers; sleepers = false };
    MAY_DIE;
    if :: ok -> wake_one() :: else fi
}

proctype user(byte me) {
    bool ok, slept, mortal = true;
    byte round, seen, number;
    do
    :: round == ROUNDS -> break
    :: else ->
       round++;
       try_word(me + 1, false);
       if :: ok -> goto owned :: else fi;
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
       MAY_DIE;
       release(me + 1)
    od;
    atomic { alive--; leave(ns(me)) };
died:
    skip
}

#ifdef STALE_DEATHS
#define is_dead(n) (n >= 1 && n <= USERS && known[n - 1])
#elif !defined(NAMESPACES)
#define is_dead(n) (n >= 1 && n <= USERS && dead[n - 1])
#else
#ifdef TOO_SOON
#define is_gone ends
#else
#define is_gone gone
#endif
#define is_user(n) (n >= 1 && n <= USERS)
#define of_name(n) ((n + USERS - 1) % USERS)
#define is_dead(n) ((is_user(n) && ns(of_name(n)) == number && dead[of_name(n)]) \
                    || (number == 0 && is_gone && ((is_user(n) && ns(of_name(n))) || n == MONITOR + 1)))
#endif
#define is_news(i) (dead[i] && !known[i] && ns(i) == number)

proctype monitor(byte number) {
    bool ok, mortal = false;
    byte me = USERS;
    do
#ifdef NAMESPACES
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
          :: atomic { owner != NOBODY && is_dead(owner) ->
                      owner = MONITOR + number; sleepers = true; inside = NOBODY }; break
          :: atomic { owner == NOBODY -> skip }
          :: atomic { owner != NOBODY && !is_dead(owner) -> sleepers = true };
             if
             :: owner == NOBODY || is_dead(owner)         /* its sleep is short, and it looks again */
#ifdef NAMESPACES
             :: atomic { ends && number -> leave(1); goto died }
             :: atomic { number == 0 && ends && there == 0 && !gone -> gone = true }
#endif
             fi
          fi
       od;
       section(MONITOR + number);
       release(MONITOR + number)
    :: atomic { alive == 0 && unheard[number] == 0 && (!ends || number || is_over) -> leave(number); break }
    od;
died:
    skip
}

#ifdef NAMESPACES
active proctype fate() { ends = true }
#endif

init { atomic {
    run monitor(0);
#ifdef NAMESPACES
    run monitor(1);
#endif
    run user(0); run user(1);
#if USERS > 2
    run user(2)
#endif
} }
