/* models/slots.pml - no ready task beside an idle slot.  SPDX-License-Identifier: Apache-2.0
 *
 * src/tasks/slot.c and queue.c, rule T2 of tasks.h: tk_queue, wake_any, tk_find, stop_searching, tk_pass_on, let_idle, refill.  A process
 * `slot` is whichever thread holds the slot.  A submitter queues a task and then looks at `searching` and at the idle bits; a holder that finds
 * nothing stops searching, sets its bit, and looks once more.  What a holder takes from another's queue it may take in a batch: the rest is in
 * no queue until it has put that into its own.  A task ends or runs for ever.
 *
 *   T2  when nobody can do anything any more, no task is ready while a slot is idle (assert in the watcher).
 *
 * Mutations that must fail: -DNO_LOOK_BACK (a holder does not look once more); -DLOOK_FIRST (it looks, then sets its bit); -DSILENT_STOP (the last that
 * searched wakes nobody); -DSILENT_PASS (who has found a task for an idle slot does not see to the next); -DSILENT_MOVE (who has put a batch into its queue wakes nobody); -DWAKE_FIRST (a submitter looks, then queues). */
#ifndef SLOTS
#define SLOTS 3
#endif
#ifndef TASKS
#define TASKS 3
#endif
#define NONE 9
byte ready = 0;              /* tasks in queues */
byte searching = 0;
bool idle[SLOTS];
bool given[SLOTS];           /* an idle slot was claimed for a task, and its thread has been woken */
byte submits = TASKS;

#define any_idle (idle[0] || idle[1] || idle[2 % SLOTS])

/* A thread that holds slot `x` for a moment gives it to who executes a task there, or leaves it idle; where it has found a task and there are
 * more, it goes on with another idle slot.  stop_searching() and wake_any() begin it by a claim. */
inline pass_on() {
    do
    :: atomic { ready > 0 -> ready-- }
       given[x] = true;
#ifndef SILENT_PASS
       if
       :: any_idle && ready > 0 && searching == 0 -> claim_any(); if :: x == NONE -> break :: else fi
       :: else -> break
       fi
#else
       break
#endif
    :: atomic { ready == 0 -> skip }
#ifdef LOOK_FIRST
       if
       :: ready > 0
       :: ready == 0 -> idle[x] = true; break
       fi
#else
       idle[x] = true;
#ifdef NO_LOOK_BACK
       break
#else
       if
       :: ready > 0 ->
          if
          :: atomic { idle[x] -> idle[x] = false }
          :: atomic { !idle[x] -> break }
          fi
       :: ready == 0 -> break
       fi
#endif
#endif
    od
}

inline claim_any() {
    if
    :: atomic { idle[0] -> idle[0] = false; x = 0 }
    :: atomic { idle[1] -> idle[1] = false; x = 1 }
    :: atomic { idle[2 % SLOTS] -> idle[2 % SLOTS] = false; x = 2 % SLOTS }
    :: atomic { !any_idle -> x = NONE }
    fi
}

inline wake_any() {
    if
    :: searching > 0
    :: searching == 0 -> claim_any(); if :: x == NONE :: else -> pass_on() fi
    fi;
    x = 0
}

inline stop_searching() {
    atomic { searching--; last = searching == 0 }
#ifndef SILENT_STOP
    if
    :: last && any_idle && ready > 0 -> last = false; wake_any()
    :: else -> last = false
    fi
#endif
}

inline submit() {
#ifdef WAKE_FIRST
    wake_any();
    ready++
#else
    ready++;
    wake_any()
#endif
}

active proctype outside() {
    byte x;
    do
    :: atomic { submits > 0 -> submits-- } submit()
    :: submits == 0 -> break
    od
}

active [SLOTS] proctype slot() {
    byte x, batch;
    bool last, mine = true;
begin:
    goto next;
work:
    do                                          /* the task that it has taken */
    :: atomic { submits > 0 -> submits-- } submit()
    :: goto next
    :: break
    od;
end_for_ever:
    false;
next:
    if
    :: atomic { ready > 0 -> ready--; batch = 0 } goto work
    :: atomic { ready > 1 -> ready = ready - 2; batch = 1 }
    :: ready == 0 -> goto search
    fi;
moved:
    ready = ready + batch;                      /* into its own queue */
#ifndef SILENT_MOVE
    wake_any();
#endif
    goto work;
search:
    searching++;
    if
    :: atomic { ready > 0 -> ready-- } stop_searching(); goto work
    :: mine && submits > 0 -> mine = false; stop_searching(); goto work   /* its own task goes on here: another took it out of the queue */
    :: skip                                     /* it gives up */
    fi;
    stop_searching();
    x = _pid - 1;
    pass_on();
    x = 0;
end_idle:
    atomic { given[_pid - 1] -> given[_pid - 1] = false };
    goto work
}

active proctype watcher() {
end_watch:
    timeout -> assert(ready == 0 || !any_idle)
}
