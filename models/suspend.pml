/* models/suspend.pml - a task that suspends itself with NOSV_SUSPEND_MODE_NONE.  SPDX-License-Identifier: Apache-2.0
 *
 * src/tasks/run.c set_aside, submit.c nosv_submit and revive, task.c nosv_destroy.  A worker executes the body, which suspends itself. Two threads
 * submit the task, SUBMITS times in all, one of them before the body has returned or after; when each submission has led to a body, and the
 * last body has begun, one destroys the task.
 *
 *   S1  the task is queued once at a time (assert in enqueue);
 *   S2  it is freed once, and not touched afterwards (assert in touch);
 *   S3  each submission leads to one execution, and in the end it is freed (invalid end states).
 *
 * Mutations that must fail: -DQUEUE_AT_ONCE (a submission queues it although its worker has not set it aside); -DSEPARATE (the worker looks at the
 * flags, then sets its own); -DFREE_AT_ONCE (nosv_destroy frees it whether or not its worker has set it aside). */
#ifndef SUBMITS
#define SUBMITS 4
#endif
#define BLOCKED 10           /* the blocking count is 0 here */
byte blocking = BLOCKED + 1;
bool rest = true;            /* state: TK_REST, else TK_SUSPENDED or running */
bool resumed, aside, destroyed, queued, freed;
byte submits = SUBMITS, bodies = 0;

#define touch assert(!freed)
inline enqueue() { atomic { touch; assert(!queued); queued = true } }
inline free() { atomic { touch; freed = true } }

active [2] proctype submitter() {
    bool missing, was;
    do
    :: atomic { submits > 0 -> submits-- }
       atomic { touch; blocking--; missing = blocking == BLOCKED }
       if
       :: !missing
       :: missing ->
          if
          :: rest -> rest = false; enqueue()
          :: else ->
#ifdef QUEUE_AT_ONCE
             enqueue()
#else
             atomic { touch; was = aside; resumed = true }
             if
             :: was -> atomic { touch; aside = false; resumed = false } enqueue()
             :: else
             fi
#endif
          fi
       fi
    :: submits == 0 -> break
    od
}

active proctype destroyer() {
    bool was;
    bodies == SUBMITS;
    atomic { touch; was = aside; destroyed = true }
#ifdef FREE_AT_ONCE
    was = true;
#endif
    if
    :: was -> free()
    :: else
    fi
}

active proctype worker() {
    bool was_destroyed, was_resumed, early;
    do
    :: atomic { queued -> queued = false }
       touch;
       bodies++;                                /* the body has told of it, and suspends itself */
       atomic { touch; blocking++; early = blocking <= BLOCKED }
       if
       :: early -> enqueue()
       :: else ->
#ifdef SEPARATE
          touch; was_destroyed = destroyed; was_resumed = resumed;
          atomic { touch; aside = true }
#else
          atomic { touch; was_destroyed = destroyed; was_resumed = resumed; aside = true }
#endif
          if
          :: was_destroyed -> free()
          :: !was_destroyed && was_resumed -> atomic { touch; aside = false; resumed = false } enqueue()
          :: else
          fi
       fi
    :: freed -> break
    od
}
