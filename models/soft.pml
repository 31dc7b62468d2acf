/* models/soft.pml - waiting softly, and taking turns.  SPDX-License-Identifier: Apache-2.0
 *
 * src/sched/soft.c, park.c and wait.c: soft_take, soft_leave, soft_park, offer_turn, core_park, core_wait_turn, core_arrive, core_kick,
 * give_way, sched_yield_core, sched_interrupt and (-DBLOCK) sched_block, and core_take of core.c: one core, two tasks that
 * offer their turn and give way ROUNDS times, or block, and then somebody of another core wakes them; the monitor, which
 * TAKES times takes the core from one that was given it and has not gone on; SIGNALS to threads that wait softly.  Each
 * atomic operation is a step, the scheduler lock is a lock.  Whoever kicks does so after the lock, and may be late by as
 * much as it likes.  Where the code waits for a while only (for PINNING to end, for the next round), the model may stop
 * waiting at once.
 *
 * At most one thread goes on as the owner of the core, and it is the one that the core's word names (assert).  No turn is
 * lost: everybody comes to an end (invalid end states), for a soft waiter may go to sleep at any time, and nothing wakes a
 * sleeper but its kick.
 *
 * -DDEATH: thread 0 is killed between any two steps, anywhere.  The monitor seizes the lock, mends what it protects
 *    (recover.c), takes the dead one off and wakes those asleep whose tasks are RUNNING.
 * -DSTOP: thread 0 stops between any two steps, for ever.  If it holds the lock, the others leave: whoever waits for the
 *    lock, sleeps, or waits for one that takes its turn.
 *
 * Mutations that must fail: -DLATE_GO (a kicker stores GO instead of replacing its PINNING: over a later round's TAKEN);
 * -DTWICE (one whose offer was taken is SOFT already when it begins to wait softly: its second exchange may hit a TAKEN);
 * -DBLOCK -DHASTY (who is interrupted while it blocks goes on without looking whether its turn was taken after the handler);
 * -DPASS_TAKEN (a soft waiter goes on whatever the word says); -DBARE_TAKE (a taker does not mark the one it takes from);
 * -DDEATH -DKEEP_TAKEN (recovery leaves TAKEN as it is); -DSTOP -DBLIND (who finds TAKEN waits for it alone). */
#ifndef ROUNDS
#define ROUNDS 1
#endif
#ifndef TAKES
#define TAKES 0              /* by the monitor */
#endif
#ifndef SIGNALS
#define SIGNALS 0
#endif
#define TASKS 2
#define WAKER 2
#define MONITOR 3
#define NOBODY 7

mtype = { NONE, GO, ASLEEP, PINNING, SOFT, TAKEN };             /* park word */
mtype = { NEW, READY, RUNNING, BLOCKED, IN_KERNEL, GONE };      /* task */

mtype park[TASKS] = NONE;
mtype state[TASKS] = NEW;
bool queued[TASKS], token[TASKS], asleep[TASKS];
bool going[TASKS];           /* goes on: from here on its core is taken unseen at most */
bool fresh[TASKS];           /* no change of the core's word since it was loaded by this one */
byte core = NOBODY;          /* the core's word */
byte owner = NOBODY;         /* of the scheduler lock */
bool in[TASKS];              /* believes to have the core */
bool done[TASKS];
byte takes = TAKES, signals = SIGNALS;
bool hit = false;            /* thread 0 is dead, or stopped */
bool off = false;            /* ... and taken off */
bool stalled = false;        /* the others are to leave */

#define over (done[1] && (done[0] || hit))
#define has_turn(t) (state[t] == RUNNING || state[t] == IN_KERNEL || state[t] == GONE)

#ifdef STOP
#define OR_LEAVE :: stalled -> goto out
#else
#define OR_LEAVE
#endif

inline set_core(t) { d_step { core = t; fresh[0] = false; fresh[1] = false } }
inline lock(who) { if :: atomic { owner == NOBODY -> owner = who } OR_LEAVE fi }
inline unlock() { owner = NOBODY }

/* ---- down to the next line: holds the lock; kick_whom is woken after it ---- */
inline enqueue(t) { assert(!queued[t]); queued[t] = true }
inline put_on(t) { set_core(t); state[t] = RUNNING; kick_whom = t }
inline pick() {
    d_step {
        next = NOBODY;
        if
        :: queued[0] -> next = 0; queued[0] = false
        :: !queued[0] && queued[1] -> next = 1; queued[1] = false
        :: else
        fi
    }
}
inline fill() { if :: core == NOBODY -> pick(); if :: next != NOBODY -> put_on(next) :: else fi :: else fi }
inline place(t) {
    state[t] = READY;
    if :: core == NOBODY -> put_on(t) :: else -> enqueue(t) fi
}
/* ---- without the lock ---- */

inline kick(who) {
    if
    :: kick_whom != NOBODY && kick_whom != who ->
       atomic { was = park[kick_whom]; if :: there = true :: there = false fi };     /* bound to its core already? */
       do
       :: was == SOFT && there -> break
       :: was == TAKEN -> break
       :: else ->
          if
          :: atomic { park[kick_whom] == was -> park[kick_whom] = PINNING };
             if
             :: was == ASLEEP ->
#ifdef LATE_GO
                park[kick_whom] = GO;
#else
                atomic { if :: park[kick_whom] == PINNING -> park[kick_whom] = GO :: else fi };
#endif
                asleep[kick_whom] = false           /* futex wake */
             :: else -> atomic { if :: park[kick_whom] == PINNING -> park[kick_whom] = GO :: else fi }
             fi;
             break
          :: atomic { park[kick_whom] != was -> was = park[kick_whom] }
          fi
       od
    :: else
    fi;
    atomic { kick_whom = NOBODY; was = NONE; there = false; next = NOBODY }
}

inline leave_soft(t) {
    if
#ifdef PASS_TAKEN
    :: park[t] = NONE
#else
    :: atomic { park[t] != TAKEN -> park[t] = NONE }
#endif
#if defined(STOP) && !defined(BLIND)
    :: park[t] == TAKEN && stalled -> goto out      /* it tries to take the lock */
#endif
    fi;
    turn = has_turn(t)
}

inline take_turn(t) {
    atomic { other = core; fresh[t] = true };
    if
    :: other != NOBODY && other != t && park[other] == SOFT ->
       lock(t);
       if
       :: atomic { state[t] == READY && fresh[t] && park[other] == SOFT ->
#ifndef BARE_TAKE
             park[other] = TAKEN
#endif
          };
          queued[t] = false;
          state[other] = READY;
          set_core(t);
          state[t] = RUNNING;
          enqueue(other);
          park[other] = GO
       :: else
       fi;
       unlock()
    :: else
    fi;
    atomic { other = NOBODY; fresh[t] = false }
}

inline core_park(t) {
    do
    :: has_turn(t) -> break
    :: else ->
       park[t] = ASLEEP;
       if
       :: has_turn(t) -> break
       :: else ->
          if
          :: atomic { park[t] == ASLEEP -> asleep[t] = true };
             if :: !asleep[t] OR_LEAVE fi
          :: atomic { park[t] != ASLEEP -> skip }
          fi
       fi
    od
}

inline wait_turn(t) {
    do
    :: atomic { state[t] == RUNNING -> going[t] = true }; break
    :: else ->
       core_park(t);
       if
       :: state[t] == IN_KERNEL ->
          lock(t);
          if :: state[t] == IN_KERNEL -> place(t) :: else fi;
          unlock();
          kick(t)
       :: else
       fi
    od;
    arrive(t)
}

inline arrive(t) { assert(park[t] != SOFT && park[t] != TAKEN); park[t] = NONE }

/* Goes on: program code, and the way there. */
#define check(t) assert(core == t && state[t] == RUNNING && (!in[1 - t] || (hit && t == 1)))
inline user(t) {
    d_step { in[t] = true; check(t) };
    d_step { check(t); in[t] = false };
    going[t] = false
}

/* sched_interrupt, a handler, and its return. */
inline interrupt(t) {
    leave_soft(t);
    if
    :: state[t] == BLOCKED ->
       lock(t);
       if :: state[t] == BLOCKED -> place(t); interrupted = true :: else fi;
       unlock();
       kick(t)
    :: else
    fi;
    wait_turn(t);
    user(t)
}

inline park_softly(t) {
    park[t] = SOFT;
    do
    :: !has_turn(t) ->
       if
       :: state[t] == READY -> take_turn(t)
       :: else
       fi;
       atomic { if :: park[t] == GO -> park[t] = SOFT :: else fi }
    :: atomic { signals > 0 -> signals-- };
       interrupt(t)
    :: has_turn(t) ->
       leave_soft(t);
       if :: turn -> break :: else -> park[t] = SOFT fi
    :: !has_turn(t) -> leave_soft(t); break         /* for long enough */
    od;
    turn = false
}

inline offer_turn(t) {
    park[t] = SOFT;
    if
    :: atomic { signals > 0 -> signals-- };
       interrupt(t)
    :: true                                         /* sched_yield */
    fi;
    leave_soft(t);
    if
    :: atomic { turn && state[t] == RUNNING -> going[t] = true };
       arrive(t)
    :: else ->
       turn = false;
       if
       :: state[t] == READY ->
#ifdef TWICE
          park[t] = SOFT;
#endif
          take_turn(t)
       :: else
       fi;
       if :: state[t] != RUNNING -> park_softly(t) :: else fi;
#ifdef TWICE
       leave_soft(t);
#endif
       wait_turn(t)
    fi;
    turn = false
}

inline give_way(t) {
    lock(t);
    if
    :: state[t] != RUNNING -> assert(state[t] == IN_KERNEL); place(t)
    :: else ->
       pick();
       if
       :: next != NOBODY ->
          state[t] = READY;
          put_on(next);
          enqueue(t)
       :: else
       fi
    fi;
    unlock();
    kick(t);
    if :: park_softly(t) :: true fi;
    wait_turn(t)
}

#ifdef BLOCK
inline block(t) {
    lock(t);
    if
    :: token[t] -> token[t] = false; unlock()
    :: else ->
       had = (state[t] == RUNNING);
       interrupted = false;
       state[t] = BLOCKED;
       if
       :: had -> pick(); if :: next != NOBODY -> put_on(next) :: else -> set_core(NOBODY) fi
       :: else
       fi;
       had = false;
       unlock();
       kick(t);
       if
       :: atomic { signals > 0 -> signals-- };      /* came while it held the lock */
          interrupt(t)
       :: true
       fi;
       if :: park_softly(t) :: true fi;
#ifdef HASTY
       if :: interrupted -> going[t] = true :: else -> core_park(t); wait_turn(t) fi;
       interrupted = false
#else
       core_park(t);
       wait_turn(t)
#endif
    fi
}
#endif

#define LOCALS mtype was = NONE; byte kick_whom = NOBODY, next = NOBODY; bool there = false

proctype thread(byte me) {
    LOCALS;
    byte other = NOBODY, round = 0;
    bool turn = false, had = false, interrupted = false;
    {
        lock(me);
        place(me);
        unlock();
        kick(me);
        wait_turn(me);
        user(me);
        do
        :: round == ROUNDS -> break
        :: else ->
           round++;
           if
           :: offer_turn(me)
           :: give_way(me)
#ifdef BLOCK
           :: block(me)
#endif
           fi;
           user(me)
        od;
        lock(me);                                   /* detach */
        if :: core == me -> set_core(NOBODY) :: else fi;
        state[me] = GONE;
        fill();
        unlock();
        kick(me);
out:
        done[me] = true
    } unless { (hit && me == 0) }
#ifdef STOP
    ;
end_stopped:
    me != 0                                         /* for ever */
#endif
}

#ifdef BLOCK
inline wake(t) {
    lock(WAKER);
    if :: state[t] == BLOCKED -> place(t) :: else -> token[t] = true fi;
    unlock();
    kick(WAKER)
}

/* Of another core. */
active proctype waker() {
    LOCALS;
    byte t = 0;
    do
    :: over -> break
    OR_LEAVE
    :: atomic { state[0] == BLOCKED && !hit -> t = 0 }; wake(t)
    :: atomic { state[1] == BLOCKED -> t = 1 }; wake(t)
    od;
out:
    skip
}
#endif

/* holds the lock: core_take, of one that has been given the core and sleeps, or is stopped, since.  It does not go on meanwhile:
 * what happens if it does is not the business of this model. */
inline core_take(t) {
    if
    :: d_step { core == t && state[t] == RUNNING && !going[t] ->
          core = NOBODY; fresh[0] = false; fresh[1] = false; state[t] = IN_KERNEL
       };
       park[t] = GO;
       asleep[t] = false;
       fill()
    :: else
    fi
}

#define READY_TASKS (queued[0] || queued[1])

#ifdef DEATH
inline mend_task(i) {
    if
    :: state[i] != GONE && state[i] != NEW ->
#ifndef KEEP_TAKEN
       atomic { if :: park[i] == TAKEN -> park[i] = GO :: else fi };
#endif
       if :: state[i] == RUNNING && core != i -> state[i] = IN_KERNEL :: else fi;
       queued[i] = (state[i] == READY)
    :: else
    fi
}
/* sched_recover */
inline mend() {
    if
    :: atomic { owner == 0 -> owner = MONITOR };
       if
       :: core < TASKS -> if :: state[core] != RUNNING -> set_core(NOBODY) :: else fi
       :: else
       fi;
       mend_task(0);
       mend_task(1);
       fill();
       unlock();
       kick(MONITOR);
       if :: state[1] == RUNNING -> kick_whom = 1; kick(MONITOR) :: else fi
    :: owner != 0
    fi
}
/* sched_proc_remove */
inline take_off() {
    lock(MONITOR);
    if :: core == 0 -> set_core(NOBODY) :: else fi;
    d_step {
        queued[0] = false; state[0] = GONE
    };
    fill();
    unlock();
    kick(MONITOR);
    off = true
}
#endif

active proctype monitor() {
    LOCALS;
    byte t = 0;
#ifdef STOP
end_idle:
#endif
    do
    :: over && (!hit || off) -> break
    :: atomic { takes > 0 && core < TASKS && !going[core] && READY_TASKS -> takes--; t = core };
       lock(MONITOR);
       core_take(t);
       unlock();
       kick(MONITOR)
#ifdef DEATH
    :: hit && !off -> mend(); take_off()
#endif
#ifdef STOP
    :: hit && owner == 0 && !stalled -> stalled = true
    :: atomic { hit && owner != 0 && core == 0 && state[0] == RUNNING -> going[0] = false };
       lock(MONITOR);
       core_take(0);
       unlock();
       kick(MONITOR)
    OR_LEAVE
#endif
    :: atomic { hit && asleep[1] && state[1] == RUNNING -> asleep[1] = false }
    od;
out:
    skip
}

#if defined(DEATH) || defined(STOP)
active proctype killer() { if :: atomic { !done[0] -> hit = true } :: true fi }
#endif

init { atomic { run thread(0); run thread(1) } }
