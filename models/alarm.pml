/* models/alarm.pml - deadlines of threads that float.  SPDX-License-Identifier: Apache-2.0
 *
 * src/sched/alarm.c; claim, publish, retire and be_spare of src/sched/carrier.c.  Of all idle carriers one sleeps until the
 * earliest deadline of the threads that wait.  Each of THREADS threads waits ROUNDS times, each time with a deadline.  A thread
 * that waits leaves its carrier idle, or claims another waiting thread's and executes that thread.  A waker of another process
 * wakes a thread WAKES times; a wake may come late.  A thread that ends away from home leaves a carrier without an owner, which
 * takes over from the carrier without a home.
 *
 * Holds: each wait ends, and a thread is executed by one carrier at a time.  Spin finds a thread that waits for ever as an invalid end state.
 *
 * Steps that nothing else can tell apart are one: a compare-and-swap and the futex wake that always follows it, a look at all deadlines
 * (with -DSTEPS each deadline is looked at in a step of its own), and the reads of two words of which one only its owner writes.
 *
 * Mutations that must fail: -DNO_LOOK (a carrier is woken, and its park word does not tell); -DNO_KEEP (a carrier that was claimed before it
 * has looked does not look later); -DNO_PASS (a carrier that ends, or executes a thread, keeps the alarm); -DNO_RETRY (the alarm goes to a
 * carrier that is about to execute its owner); -DLATE_CLEAR (the alarm is cleared after the look at the deadlines); -DNO_CLAIM (a carrier without
 * an owner is not claimed before it has one, and a late waker has it resume that thread); -DLATE_BY (a carrier is told before it has the
 * alarm). */
#ifndef THREADS
#define THREADS 2
#endif
#ifndef ROUNDS
#define ROUNDS 2
#endif
#ifndef WAKES
#define WAKES 1
#endif
#define LATEST 2
#define NOBODY 255
mtype = { NONE, GO, IDLE, LOOK, CLAIMED };
#define is_kept(c) (park[c] == IDLE || park[c] == LOOK)

mtype park[THREADS] = NONE;
byte owner[THREADS] = NOBODY;       /* of a carrier */
byte thread[THREADS] = NOBODY;      /* the carrier that executes a thread, or is kept for it */
byte deadline[THREADS] = 0;
byte waits[THREADS] = ROUNDS;       /* that a thread has left */
bool asleep[THREADS] = false;       /* the carrier is queued on the futex */
bool executed[THREADS] = false;     /* the registers of the thread are in a processor */
bool look[THREADS] = false;
bool orphan[THREADS] = false;
bool spare[THREADS] = false;
bool lock = false;                  /* alarm_lock */
byte now = 0, alarm = 0, by = NOBODY;

/* have_look, and the wake-up */
inline tell(c) {
    d_step {
        ok = is_kept(c);
        if
        :: ok ->
#ifndef NO_LOOK
           park[c] = LOOK;
#endif
           asleep[c] = false
        :: else
        fi
    }
}

/* core_wake, of a carrier */
inline wake_thread(c) {
    if
    :: is_kept(c) -> park[c] = GO; asleep[c] = false
    :: park[c] == NONE -> park[c] = GO
    :: else
    fi
}

inline look_at(t) {
    if
    :: deadline[t] && is_kept(thread[t]) ->
       if
       :: deadline[t] <= now -> wake_thread(thread[t])
       :: deadline[t] > now && (least == 0 || deadline[t] < least) -> least = deadline[t]; next = t
       :: else
       fi
    :: else
    fi
}

inline find_earliest() {
#ifdef STEPS
    atomic { next = NOBODY; least = 0; i = 0 }
    do
    :: atomic { i < THREADS -> look_at(i); i++ }
    :: else -> break
    od;
    i = 0
#else
    atomic {
        next = NOBODY; least = 0; i = 0;
        do
        :: i < THREADS -> look_at(i); i++
        :: else -> break
        od;
        i = 0
    }
#endif
}

inline clear() {
#ifndef LATE_CLEAR
    alarm = 0
#else
    skip
#endif
}

inline give_alarm(stays) { by = (next == NOBODY -> NOBODY : (stays -> self : successor)) }

inline alarm_move(stays) {
    if
    :: by != self
    :: atomic { by == self && !lock -> lock = true; clear() }
       do
       :: find_earliest();
          d_step {
              successor = (next == NOBODY || stays -> NOBODY : thread[next]);
              alarm = least;
              least = 0;
#ifndef LATE_BY
              give_alarm(stays)
#endif
          }
          ok = true;
          if
          :: successor == NOBODY
          :: else -> tell(successor)
          fi;
#ifdef LATE_BY
          give_alarm(stays);
#endif
#ifdef NO_RETRY
          ok = true;
#endif
          if
          :: ok -> break
          :: else -> clear()
          fi
       od;
       atomic { ok = false; next = NOBODY; successor = NOBODY; lock = false }
    fi
}

/* After c is IDLE for x. */
inline alarm_look(c) {
    d_step { ok = (deadline[x] && (alarm == 0 || deadline[x] < alarm)); x = NOBODY }
    if
    :: ok -> tell(c); ok = false
    :: else
    fi
}

inline publish(c) {
    assert(!is_kept(c));
    if
    :: look[c] -> look[c] = false; park[c] = LOOK; asleep[c] = false
    :: else -> park[c] = IDLE
    fi
}

inline claim(c) {
#ifndef NO_KEEP
    look[c] = (park[c] == LOOK);
#endif
    park[c] = CLAIMED
}

inline begin(t) { assert(!executed[t]); executed[t] = true; deadline[t] = 0 }

inline hand_over(c) {
    is_kept(c) && c != self ->
    claim(c);
    o = c;
    x = owner[c]; owner[self] = x; thread[x] = self;
    owner[c] = me; thread[me] = c;
    executed[me] = false;
    begin(x);
    i = me; me = x; x = i; i = 0
}

proctype carrier(byte self)
{
    byte me = self, next = NOBODY, successor = NOBODY, i = 0, least = 0, till = 0, x = NOBODY, o = NOBODY;
    mtype word = NONE;
    bool ok = false;

    atomic { begin(me) }
execute:
    atomic {
        if
        :: waits[me] == 0 ->        /* the thread ends */
           executed[me] = false;
           if
           :: me == self -> goto over
           :: else -> orphan[me] = true; goto be_spare
           fi
        :: else -> waits[me]--
        fi;
        if :: deadline[me] = 1 :: deadline[me] = LATEST fi;
        if
        :: true -> owner[self] = me; executed[me] = false; x = me; publish(self); me = NOBODY; goto published
        :: hand_over(0)
        :: hand_over(1)
#if THREADS == 3
        :: hand_over(2)
#endif
        fi
    }
    d_step { publish(o) }
    alarm_look(o);
    o = NOBODY;
    goto execute;

published:
    alarm_look(self);
    goto idle;

be_spare:
    atomic {
        me = NOBODY;
        if
        :: orphan[self] -> goto over
        :: else -> owner[self] = NOBODY; park[self] = NONE; spare[self] = true
        fi
    }
end_spare:
    atomic {
        park[self] != NONE && park[self] != CLAIMED ->
        if
        :: owner[self] != NOBODY
        :: else -> park[self] = NONE; goto end_spare
        fi
    }

idle:
    atomic {
        word = park[self];
        if
        :: word == LOOK -> park[self] = IDLE; word = IDLE
        :: word == NONE || word == GO -> park[self] = NONE; word = NONE; goto resume
        :: else
        fi
    }
    atomic {
        if
        :: word == IDLE && orphan[self] && is_kept(self) && (spare[0] || spare[1]
#if THREADS == 3
           || spare[2]
#endif
           ) ->
           o = 0;
           do
           :: spare[o] -> break
           :: else -> o++
           od;
           spare[o] = false;
           park[self] = CLAIMED;
#ifndef NO_CLAIM
           park[o] = CLAIMED;
#endif
           word = NONE;
           goto retire
        :: else
        fi;
        least = (word == IDLE && owner[self] != NOBODY -> deadline[owner[self]] : 0);
        if
        :: least == 0 && by != self -> goto sleep
        :: else
        fi
    }
    atomic {            /* alarm_set */
        !lock ->
        if
        :: least && (alarm == 0 || least < alarm) -> by = self; alarm = least
        :: else
        fi;
        till = (by == self -> alarm : 0);
        least = 0
    }
sleep:
    atomic {
        if
        :: park[self] != word -> word = NONE; till = 0; goto idle
        :: else -> asleep[self] = true; word = NONE
        fi
    }
    if
    :: atomic { !asleep[self] -> till = 0; goto idle }
    :: atomic { till && now >= till -> asleep[self] = false; till = 0 }
    fi;
    alarm_move(true);
    goto idle;

resume:
#ifndef NO_PASS
    alarm_move(false);
#endif
    atomic { me = owner[self]; begin(me); goto execute }

retire:
    atomic { x = owner[self]; owner[o] = x; thread[x] = o }
    d_step { assert(!executed[x]); publish(o); asleep[o] = false }
    alarm_look(o);
    o = NOBODY;
#ifndef NO_PASS
    alarm_move(false);
#endif

over:
    skip
}

proctype clock() { do :: now < LATEST -> now++ :: else -> break od }

proctype waker()
{
    byte n = 0, c = NOBODY;
    do
    :: n < WAKES ->
       if
       :: c = thread[0]
       :: c = thread[1]
#if THREADS == 3
       :: c = thread[2]
#endif
       fi;
       d_step { wake_thread(c); c = NOBODY; n++ }
    :: else -> break
    od
}

init {
    atomic {
        byte c = 0;
        do
        :: c < THREADS -> thread[c] = c; c++
        :: else -> break
        od;
        c = 0;
        do
        :: c < THREADS -> run carrier(c); c++
        :: else -> break
        od;
        run clock();
        run waker()
    }
}
