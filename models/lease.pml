/* models/lease.pml - yields without the scheduler lock.  SPDX-License-Identifier: Apache-2.0
 *
 * src/sched/lease.c, core.c own_all, recover.c.  A core and TASKS tasks, all yielders.  The thread whose task runs
 * there gives way to any other, or to none: with a lease, else under the lock, and then it makes a lease for the others.  LOOKERS other
 * threads take the lock, end the lease and give its tasks back, and see what the lock protects.  Up to DEATHS times the
 * process of the yielders is killed between any two steps; the monitor then mends the instance, and another one
 * begins with the same tasks.
 *
 *   E1  whoever has the lock, and has ended the lease, sees one task RUNNING, the core's, and all others READY and
 *       in the policy's queue, once (assert in check);
 *   E2  no two change that at once (assert on changing);
 *   E4  everybody comes to an end (invalid end states).
 *
 * Mutations that must fail: -DIGNORE_NAME (the lock's owner takes a lease in use for ended); -DBLIND_NAME (who
 * gives way stores its name without comparing); -DNO_MEND (the monitor ends a dead thread's lease, and mends
 * nothing); -DKEEP_LOCK (the lock's owner waits with the lock for a name: the monitor cannot mend). */
#ifndef TASKS
#define TASKS 3
#endif
#ifndef LOOKERS
#define LOOKERS 1
#endif
#ifndef DEATHS
#define DEATHS 1
#endif
#ifndef YIELDS
#define YIELDS 3
#endif
#define NONE 0
#define OPEN 200
#define NAME 100             /* + task */
#define MONITOR 9
#define LOOKER 20

mtype = { READY, RUNNING };
mtype state[TASKS] = READY;
byte core = 0;               /* the task that its word names */
bool held[TASKS];            /* by the policy */
bool leased[TASKS];
byte word = NONE;
byte lock = NONE;
byte changing = NONE;
byte deaths = DEATHS, yields = YIELDS;
bool dead = false, unheard = false;
byte lookers = LOOKERS;

inline change(who) { assert(changing == NONE); changing = who }
inline changed() { changing = NONE }

/* holds the lock, and no lease is open */
inline check() {
    d_step {
        i = 0;
        do
        :: i < TASKS ->
           assert(i == core -> state[i] == RUNNING && !held[i] : state[i] == READY && held[i]);
           i++
        :: else -> break
        od;
        i = 0
    }
}

inline give_back() {
    d_step {
        i = 0;
        do
        :: i < TASKS -> if :: leased[i] -> assert(!held[i]); held[i] = true; leased[i] = false :: else fi; i++
        :: else -> break
        od;
        i = 0
    }
}

/* Takes the lock and ends the lease.  ok: it has both. */
inline own_all(name) {
    do
    :: atomic { lock == NONE -> lock = name };
       if
       :: atomic { word == OPEN -> word = NONE; ok = true }
       :: atomic { word == NONE -> ok = true }
#ifdef IGNORE_NAME
       :: atomic { word >= NAME && word < OPEN -> ok = true }
#else
       :: atomic { word >= NAME && word < OPEN -> ok = false }
#endif
       fi;
       if
       :: ok -> give_back(); break
       :: else ->
#ifdef KEEP_LOCK
          word == NONE || word == OPEN;
#endif
          lock = NONE
       fi
    od
}

proctype looker(byte me) {
    byte i, n = 0;
    bool ok;
    do
    :: n == 2 -> break
    :: else ->
       n++;
       own_all(LOOKER + me);
       change(LOOKER + me);
       check();
       changed();
       lock = NONE
    od;
    lookers--
}

#define MAY_DIE if :: atomic { deaths > 0 && !dead -> deaths--; dead = true; unheard = true; if :: changing == 1 -> changing = NONE :: else fi; goto died } :: true fi

/* What executes on the core: of several threads one at a time. */
proctype yielder() {
    byte i, next, was;
    bool ok;
    do
    :: yields == 0 -> break
    :: else ->
       yields--;
       ok = false;
#ifdef BLIND_NAME
       if
       :: word == OPEN -> MAY_DIE; word = NAME + core; ok = true
       :: word != OPEN
       fi;
#else
       atomic { if :: word == OPEN -> word = NAME + core; ok = true :: else fi };
#endif
       MAY_DIE;
       if
       :: ok ->
          change(1);
          was = core;
          next = TASKS;
          i = 0;
          do
          :: i < TASKS -> if :: leased[i] -> next = i :: true fi; i++     /* any of them, or none: all busy-wait on */
          :: else -> break
          od;
          i = 0;
          if
          :: next < TASKS ->
             state[was] = READY;
             MAY_DIE;
             leased[next] = false;
             MAY_DIE;
             leased[was] = true;
             MAY_DIE;
             core = next;
             MAY_DIE;
             state[next] = RUNNING
          :: else
          fi;
          changed();
          MAY_DIE;
          atomic { if :: word == NAME + was -> word = OPEN :: else fi }
       :: else ->
          own_all(NAME + core);
          MAY_DIE;
          change(1);
          check();
          was = core;
          if
          :: next = (was + 1) % TASKS
          :: next = (was + 2) % TASKS
          fi;
          held[next] = false;
          state[was] = READY;
          MAY_DIE;
          core = next;
          MAY_DIE;
          state[next] = RUNNING;
          held[was] = true;
          MAY_DIE;
          d_step {
              i = 0;
              do
              :: i < TASKS -> if :: held[i] -> held[i] = false; leased[i] = true :: else fi; i++
              :: else -> break
              od;
              i = 0
          }
          changed();
          MAY_DIE;
          word = OPEN;
          MAY_DIE;
          lock = NONE
       fi
    od;
died:
    skip
}

/* Mends after a death, and lets another process begin in the place of the dead one. */
active proctype monitor() {
    byte i;
    bool broken;
    do
    :: atomic { unheard -> unheard = false };
       /* the lock: from its owner, if that is the dead one */
       broken = false;
       if
       :: atomic { lock == NONE -> lock = MONITOR }
       :: atomic { lock >= NAME -> lock = MONITOR; broken = true }
       fi;
       if
       :: atomic { word >= NAME && word < OPEN -> word = NONE; broken = true }
       :: atomic { broken && word == OPEN -> word = NONE }
       :: else
       fi;
#ifdef NO_MEND
       broken = false;
#endif
       change(MONITOR);
       if
       :: broken ->
          d_step {               /* the truth is in the records: see recover.c */
              if :: state[core] != RUNNING -> core = 0 :: else fi;
              i = 0;
              do
              :: i < TASKS ->
                 state[i] = (i == core -> RUNNING : READY);
                 held[i] = (i != core);
                 leased[i] = false;
                 i++
              :: else -> break
              od;
              i = 0
          }
       :: else
       fi;
       changed();
       dead = false;
       lock = NONE;
       run yielder()
    :: lookers == 0 && yields == 0 && !unheard -> break
    od
}

init {
    byte i;
    atomic {
        state[0] = RUNNING;
        i = 1;
        do :: i < TASKS -> held[i] = true; i++ :: else -> break od;
        run yielder();
        i = 0;
        do :: i < LOOKERS -> run looker(i); i++ :: else -> break od
    }
}
