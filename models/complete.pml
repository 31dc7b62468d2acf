/* models/complete.pml - a task's executions and events end, and it completes.  SPDX-License-Identifier: Apache-2.0
 *
 * src/tasks/run.c tk_end_work, complete, end_completion and resume, event.c nosv_decrease_event_counter, task.c nosv_destroy.  A worker executes a body that
 * has EVENTS events, each of which another thread ends at some time.  One thread destroys the task at any time after its submission.  -DCALLBACK:
 * the type has a completed callback, during which a thread may submit the task once more.  -DRESUME: the first body suspends itself until
 * its events are 0 (NOSV_SUSPEND_MODE_EVENT_SUBMIT), and the second ends the task.
 *
 * `life` is one word: the counts and flags below change in one step each, as atomic operations of the code do.
 *
 *   E1  the task completes once for each time that it was submitted, and not before its counts are 0 (asserts in complete);
 *   E2  it is freed once, and not used afterwards, but for a compare-and-swap that fails (asserts in touch and free);
 *   E3  in the end it is freed (invalid end states).
 *
 * Mutations that must fail: -DSPLIT_SUB (the counts are read after the subtraction); -DFREE_ACTIVE (nosv_destroy frees a task that is active);
 * -DCALLBACK -DNO_ROUND (completions have no numbers); -DRESUME -DLOSE_DESTROYED (resume forgets the destruction). */
#ifndef EVENTS
#define EVENTS 2
#endif
#define touch assert(!freed)

/* life */
byte events, executions, round;
bool alive, completed, destroyed;

bool ready, again, freed, over;
byte submissions, completions, decrements, wants = 0;
byte bodies;

inline free() { atomic { assert(!freed); freed = true } }

/* A thread has taken it from rest.  (Its destroyer comes later, or it belongs to who submits.) */
inline submit() {
    atomic { touch; assert(!alive || completed); submissions++; alive = true; completed = false; executions = 1; events = 0 }
    ready = true
}

inline complete() {
    atomic { touch; completions++; assert(completions == submissions && executions + events <= 1) }
#ifdef CALLBACK
    atomic { mine = completions; was_destroyed = destroyed; alive = true; completed = true; destroyed = false; executions = 0; events = 0; round = mine }
    if
    :: was_destroyed -> free()
    :: else ->
       if
       :: !again -> again = true; submit()       /* the callback, or another thread meanwhile */
       :: true
       fi;
       atomic {
           if
#ifdef NO_ROUND
           :: alive && completed && !destroyed ->
#else
           :: alive && completed && !destroyed && round == mine ->
#endif
              touch; assert(round == mine); alive = false; completed = false
           :: alive && completed && destroyed && round == mine -> assert(!freed); freed = true
           :: else
           fi
       }
    fi
#else
    atomic { was_destroyed = destroyed; alive = false; executions = 0; events = 0 }
    if :: was_destroyed -> free() :: else fi
#endif
}

/* resume: its events are 0, and the next body begins. */
inline resume() {
    suspended = false;
    atomic {
        touch; executions = 1; events = 0;
#ifdef LOSE_DESTROYED
        destroyed = false
#endif
    }
    ready = true
}

bool suspended;

/* ex executions (1 or 0), ev events: what the caller ends. */
inline end_work(ex, ev) {
    atomic { touch; last = executions == ex && events == ev }
    if
    :: last
    :: else ->
#ifdef SPLIT_SUB
       atomic { touch; executions = executions - ex; events = events - ev }
       last = executions + events == 0
#else
       atomic { touch; last = executions == ex && events == ev; executions = executions - ex; events = events - ev }
#endif
    fi;
    if
    :: last && suspended -> resume()
    :: last && !suspended -> complete()
    :: else
    fi
}

active proctype worker() {
    bool last, was_destroyed;
    byte mine, i;
    submit();
    wants = 1;
    do
    :: atomic { ready -> ready = false }
       bodies++;
       i = 0;
       do
       :: bodies == 1 && i < EVENTS -> i++; atomic { touch; events++; decrements++ }
       :: else -> break
       od;
#ifdef RESUME
       if :: bodies == 1 -> suspended = true :: else fi;
#endif
       end_work(1, 0)
    :: over && freed && !ready -> break
    od
}

active [EVENTS] proctype decreaser() {
    bool last, was_destroyed;
    byte mine;
    atomic { decrements > 0 -> decrements-- }
    end_work(0, 1)
}

active proctype destroyer() {
    bool was_active;
    /* A program destroys a task that it may submit again only when that is done. */
#ifdef CALLBACK
    wants == 1 && (again || completions > 0);
#else
    wants == 1;
#endif
#ifdef FREE_ACTIVE
    free();
#else
    atomic { touch; was_active = alive; if :: alive -> destroyed = true :: else fi }
    if :: was_active :: else -> free() fi;
#endif
    over = true
}
