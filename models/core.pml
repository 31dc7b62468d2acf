/* models/core.pml - a core changes hands.  SPDX-License-Identifier: Apache-2.0
 *
 * src/sched/core.c, park.c and wait.c (core_place, claim, core_fill, core_give, core_take, park_leave_poll, sched_block,
 * sched_wake, give_way, sched_leave_core, begin_kernel_run, sched_return_core, sched_detach): one core, TASKS threads that
 * block, yield and make system calls, a waker of the blocked, and the monitor, which takes provisionally
 * released cores.  The core's word, the idle bit, the count of ready tasks, the mailbox of the idle poller and
 * the states of tasks are changed in the same steps and the same order as there; the scheduler lock is a
 * lock, and what is done without it interleaves.  Parking is one flag per task (models/park.pml shows
 * that this is what park and wake amount to).
 *
 * Never two threads in user code on the core (assert).  No core, task or wake-up lost: everybody comes to
 * an end (invalid end states), though nobody but those involved looks twice: the monitor's second
 * look at idle cores is left out.
 *
 * A system call may wait for what others do: then it returns only when no task waits for the core any more
 * (S5: no core is free while a task that may run on it is ready).
 *
 * A core is released provisionally by a store and taken back by a compare-and-swap of the task's own word
 * (`release`).  A taker swaps TAKEN in first, and may die between that and the rest.
 *
 * Mutations that must fail: -DBLIND_END (the release is ended by a store, too); -DNO_RESTORE (a claimer that has cleared the idle bit and fails does not look again);
 * -DSLOPPY_MAIL (a leaving poller drops what it finds); -DCHECK_FIRST (who goes away looks for waiting
 * tasks before it offers the core); -DNO_LOOK_BACK (who queues a task does not look at idle cores
 * again); -DGO_ON (a thread that is kernel-scheduled no more does not queue for a core). */
#ifndef TASKS
#define TASKS 3
#endif
#ifndef ROUNDS
#define ROUNDS 2
#endif
#define NOBODY 15
#define MAIL 16

mtype = { IDLE, RUN, RELEASED };                             /* core */
mtype = { NONE, PROVISIONAL, TAKEN };                        /* release of a task */
mtype = { NEW, READY, RUNNING, BLOCKED, IN_KERNEL, BY_KERNEL, GONE };        /* task */

mtype cstate = IDLE;         /* the core's word: state and task change together */
byte ctask = NOBODY;
bool fresh[TASKS + 2];       /* its sequence: no change since this process has loaded the word */
mtype release[TASKS] = NONE; /* of the core, to a system call that may block */
bool idle = true;            /* its bit in the idle mask */
byte nr_ready = 0;
bool queued[TASKS];
mtype state[TASKS] = NEW;
bool woken[TASKS];
bool pending_wake[TASKS];
byte poller = 0;             /* 0, task + 1, or MAIL + task */
bool locked = false;
byte on_core = 0;            /* threads in user code */
byte alive = TASKS;

#define is_free(s) (s == IDLE || s == RELEASED)
/* The edges of a task's state (core_edges in core.c) that this model has. */
#define is_edge(from, to) ((to == READY && (from == NEW || from == RUNNING || from == BLOCKED || from == IN_KERNEL || from == BY_KERNEL)) \
    || (to == RUNNING && from == READY) || (to == BLOCKED && from == RUNNING) || (to == IN_KERNEL && from == RUNNING) \
    || (to == BY_KERNEL && from == IN_KERNEL) || (to == GONE && from == RUNNING))

inline go(t, to) { d_step { assert(is_edge(state[t], to)); state[t] = to } }

inline set_word(s, t) {
    d_step {
        cstate = s; ctask = t;
        fresh[0] = false; fresh[1] = false; fresh[2] = false; fresh[3] = false
#if TASKS > 2
        ; fresh[4] = false
#endif
    }
}
inline load_word() { d_step { ws = cstate; wt = ctask; fresh[self] = true } }
inline cas_word(s, t) {
    atomic {
        if
        :: fresh[self] -> set_word(s, t); ok = true
        :: else -> ok = false
        fi
    }
}
inline lock() { atomic { !locked -> locked = true } }
inline unlock() {
    locked = false;
    d_step {
        if :: wakes[0] && self != 0 -> woken[0] = true :: else fi;
        if :: wakes[1] && self != 1 -> woken[1] = true :: else fi;
#if TASKS > 2
        if :: wakes[2] && self != 2 -> woken[2] = true :: else fi;
#endif
        wakes[0] = false; wakes[1] = false; wakes[2] = false
    };
    forget()
}
/* so that states differ only where it matters */
inline forget() { d_step { ws = IDLE; wt = NOBODY; next = NOBODY; seen = 0; ok = false; fresh[self] = false } }

/* ---- all below down to the next line hold the lock ---- */
inline enqueue(t) { atomic { assert(!queued[t]); queued[t] = true; nr_ready++ } }
inline pick() {
    atomic {
        next = NOBODY;
        if
        :: nr_ready > 0 ->
           if
           :: queued[0] -> next = 0
           :: queued[1] -> next = 1
#if TASKS > 2
           :: queued[2] -> next = 2
#endif
           fi;
           queued[next] = false;
           nr_ready--
        :: else
        fi
    }
}
inline started(t) {
    seen = poller;
    go(t, RUNNING);
    atomic {
        if
        :: seen != 0 && seen < MAIL && poller == seen ->
           if :: seen - 1 == t -> poller = 0 :: else -> poller = MAIL + t fi
        :: else -> wakes[t] = true
        fi
    }
}
inline claim(t) {
    idle = false;
    do
    :: load_word();
       if
       :: !is_free(ws) -> ok = false; break
       :: else ->
          cas_word(RUN, t);
          if
          :: ok ->
             if :: ws == RELEASED -> assert(state[wt] == RUNNING); go(wt, IN_KERNEL) :: else fi;
             started(t);
             ok = true;
             break
          :: else
          fi
       fi
    od
}
inline fill() {
    do
    :: atomic { !is_free(cstate) -> break }
    :: atomic { is_free(cstate) -> skip };
       pick();
       if
       :: next == NOBODY -> break
       :: else -> claim(next); if :: ok -> break :: else -> enqueue(next) fi
       fi
    od
}
inline place(t) {
    go(t, READY);
    ok = false;
    if :: idle -> claim(t) :: else fi;
    if
    :: ok
#ifdef NO_LOOK_BACK
    :: else -> enqueue(t)
#else
    :: else -> enqueue(t); if :: idle -> fill() :: else fi
#endif
    fi
}
inline give(t) {                     /* the core to `next`, or to nobody */
    assert(cstate == RUN && ctask == t);
    if
    :: next != NOBODY -> set_word(RUN, next); started(next)
    :: else -> set_word(IDLE, NOBODY); idle = true
    fi
}
inline take() {                          /* the core, whose word has been loaded */
    idle = false;
    cas_word(IDLE, NOBODY);
    if
    :: ok -> go(wt, IN_KERNEL); idle = true; fill()
    :: else -> if :: is_free(cstate) -> idle = true :: else fi
    fi
}
/* ---- without the lock ---- */

inline leave_poll(t) {
    if
    :: atomic { poller == t + 1 -> poller = 0 }
    :: atomic { poller != t + 1 -> mail = poller };
       if
       :: mail >= MAIL ->
#ifdef SLOPPY_MAIL
          poller = 0
#else
          atomic { mail = poller; poller = 0 };
          if :: mail >= MAIL -> woken[mail - MAIL] = true :: else fi
#endif
       :: else
       fi
    fi;
    polls = false; mail = 0
}
inline park(t) {
    if
    :: polls ->
       do
       :: state[t] == RUNNING -> break
       :: poller != t + 1 -> break
       :: true -> break                /* long enough */
       od;
       leave_poll(t)
    :: else
    fi;
    do
    :: state[t] == RUNNING -> break
    :: else -> woken[t]; woken[t] = false
    od
}

inline block(t) {
    lock();
    if
    :: pending_wake[t] -> pending_wake[t] = false; unlock()
    :: else ->
       assert(state[t] == RUNNING);
       go(t, BLOCKED);
       pick();
       give(t);
       if :: next == NOBODY -> poller = t + 1; polls = true :: else fi;
       unlock();
       park(t)
    fi
}
inline yield(t) {
    if
    :: nr_ready == 0
    :: else ->
       lock();
       pick();
       if
       :: next == NOBODY -> unlock()
       :: else ->
          go(t, READY);
          give(t);
          enqueue(t);
          if :: idle -> fill() :: else fi;
          unlock();
          park(t)
       fi
    fi
}
inline begin_release(t) {            /* a store: the task may have lost the core unseen */
    assert(release[t] == NONE);
    release[t] = PROVISIONAL
}
inline leave(t, to) {
    load_word();
#ifdef CHECK_FIRST
    seen = nr_ready;
#endif
    ok = false;
    if :: ws == RUN && wt == t -> cas_word(to, t) :: else fi;      /* else taken unseen */
    if
    :: ok ->
       idle = true;
#ifndef CHECK_FIRST
       seen = nr_ready;
#endif
       if :: seen > 0 -> lock(); fill(); unlock() :: else fi
    :: else
    fi;
    forget()
}
inline take_back(t) {
    load_word();
    ok = false;
    if
    :: wt == t && ws == RELEASED -> idle = false; cas_word(RUN, t)
    :: wt == t && ws == RUN -> ok = true
    :: else
    fi
}
inline return_core(t) {
#ifdef BLIND_END
    release[t] = NONE; ok = true;       /* a store here as well */
#else
    atomic { if :: release[t] == TAKEN -> ok = false :: else -> release[t] = NONE; ok = true fi };
#endif
    if :: ok -> take_back(t) :: else fi;
    if
    :: ok -> forget()
    :: else ->
       lock();
       release[t] = NONE;
       take_back(t);
       if
       :: ok -> unlock()
       :: else ->
#ifndef NO_RESTORE
          if :: is_free(cstate) -> idle = true; fill() :: else fi;
#endif
          if :: state[t] == IN_KERNEL -> place(t) :: else fi;
          unlock();
          park(t)
       fi
    fi
}

/* A thread that becomes kernel-scheduled (begin_kernel_run) goes on without a core, until it yields
 * (give_way). */
inline by_kernel(t) {
    leave(t, RELEASED);                  /* which also looks for waiting tasks, unlike the code */
    lock();
    load_word();
    if :: ws == RELEASED && wt == t -> take() :: else fi;
    if :: state[t] == IN_KERNEL -> go(t, BY_KERNEL) :: else fi;
    unlock();
    if
    :: state[t] == BY_KERNEL -> skip;
#ifndef GO_ON
       lock();
       place(t);
       unlock();
       park(t)
#endif
    :: else -> return_core(t)
    fi
}

inline in_call() { if :: true :: true -> nr_ready == 0 fi }
inline user_code() { on_core++; assert(on_core == 1); on_core-- }

#define LOCALS mtype ws = IDLE; byte wt = NOBODY, next = NOBODY, seen, mail, self; bool ok, polls, wakes[3]

proctype thread(byte me) {
    LOCALS;
    byte round = 0;
    self = me;
    lock();
    place(me);
    unlock();
    park(me);
    do
    :: round == ROUNDS -> break
    :: else ->
       round++;
       user_code();
       if
       :: block(me)
       :: yield(me)
       :: leave(me, RELEASED); in_call(); return_core(me)
       :: begin_release(me); in_call(); return_core(me)
       :: by_kernel(me)
       fi
    od;
    user_code();
    lock();                              /* detach */
    next = NOBODY;
    give(me);
    fill();
    go(me, GONE);
    atomic { unlock(); alive-- }
}

active proctype waker() {                /* what the blocked wait for happens, once for each wait */
    LOCALS;
    byte t;
    self = TASKS;
    do
    :: alive == 0 -> break
    :: atomic {
          if
          :: state[0] == BLOCKED -> t = 0
          :: state[1] == BLOCKED -> t = 1
#if TASKS > 2
          :: state[2] == BLOCKED -> t = 2
#endif
          fi
       };
       lock();
       if
       :: state[t] == BLOCKED -> place(t)
#if TASKS < 3
       :: state[t] == BLOCKED ->         /* as one of several: queued first, then cores are filled */
          go(t, READY);
          enqueue(t);
          if :: idle -> fill() :: else fi
#endif
       :: state[t] != BLOCKED -> pending_wake[t] = true
       fi;
       unlock()
    od
}

active proctype monitor() {              /* takes a provisionally released core while a task waits */
    LOCALS;
    bool died = false;
    self = TASKS + 1;
    do
    :: alive == 0 -> break
    :: atomic { cstate == RUN && nr_ready > 0 && release[ctask] != NONE -> skip };
       lock();
       load_word();
       if
       :: ws == RUN ->
          atomic { if :: release[wt] != NONE -> release[wt] = TAKEN; ok = true :: else -> ok = false fi };
          if
          :: ok && !died ->              /* it dies here at most once, and another has the lock */
             if
             :: died = true
             :: take()
             fi
          :: ok && died -> take()
          :: else
          fi
       :: else
       fi;
       unlock()
    od
}

init { atomic { run thread(0); run thread(1);
#if TASKS > 2
                run thread(2)
#endif
} }
