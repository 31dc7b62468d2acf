/* src/threads/worker.c - the start routine of every thread that the cache makes.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Built without -fexceptions on purpose: pthread_cleanup_push then uses libc's own jump buffers and
 * the library needs no unwinder.  C++ exceptions find no handler here, as in a bare thread, and end
 * in std::terminate. */
#include "threads/record.h"

/* pthread_exit or cancellation: the thread is being unwound and will really end.  libc runs the
 * rest. */
static void unwound(void *rec) { cache_leave(rec); }

static void *run(struct thread_rec *r)
{
    void *result;
    pthread_cleanup_push(unwound, r);
    if (r->job.c11)
        result = (void *)(uintptr_t)((int (*)(void *))(void *)r->job.start)(r->job.arg);
    else
        result = r->job.start(r->job.arg);
    fresh_call_tls_dtors();
    keys_run_destructors();
    pthread_cleanup_pop(0);
    return result;
}

/* Also after main's pthread_exit, when the last thread runs the exit handlers: not with signals
 * blocked. */
static void restore_mask(const struct thread_rec *r) { pthread_sigmask(SIG_SETMASK, &r->last_mask, NULL); }

/* The user's thread is over.  True: the worker is waiting for the next.  Signals stay blocked until
 * then: nothing of the user's may run on a thread that does not exist, nor on one whose
 * thread-local storage has been reset. */
static bool retire(struct thread_rec *r)
{
    sigset_t all;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, NULL);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &r->last_mask);
    atomic_store(&r->state, REC_EXITING);
    /* A thread that saw RUNNING has counted itself in before it looked, see signals.c. */
    bool kept = atomic_load(&r->kills) == 0 && fresh_possible(r);
    if (kept) {
        fresh_reset();
        if (cache_publish(r))
            return true;
    }
    if (!kept || !cache_usable())
        restore_mask(r);
    return false;
}

static void begin(struct thread_rec *r)
{
    threads_self.spent = threads_self.altstack = false;
    fresh_apply(&r->from);
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
    pthread_sigmask(SIG_SETMASK, &r->from.mask, NULL);
}

void *worker_main(void *rec)
{
    struct thread_rec *r = rec;
    rec_born(r);
    fresh_born(r);
    threads_self.odd = r->odd;
    for (;;) {
        /* In a local: the record is not ours after cache_leave. */
        void *result = run(r);
        r->result = result;
        if (!retire(r)) {
            cache_leave(r);
            return result;
        }
        if (!cache_next_job(r)) {
            if (!cache_usable())
                restore_mask(r);
            cache_leave(r);
            return result;
        }
        begin(r);
    }
}
