/* src/tcm/listen.c - the thread that hears of new shares.  SPDX-License-Identifier: Apache-2.0
 *
 * It starts with the process's first request, and stays: its life is how other processes know that
 * this one lives.  It sleeps unless the share changes, a lower demand is to be told, or the process
 * has less than it asks for: then it looks ten times a second whether another process has been
 * killed, since no process tells of that. */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>

#include "tcm/tcm.h"

#define LOOK_NS 100000000u

void tcm_poke(void)
{
    tcm.watching = true;
    if (!(atomic_fetch_or(tcm_row_word(tcm.row), TCM_POKED) & TCM_POKED)) os_futex_wake(tcm_row_word(tcm.row), 1);
}

static void started(struct tcm_row *row)
{
    tcm.row = row;
    tcm.listening = row ? TCM_SHARING : TCM_NO_TABLE;
    pthread_cond_broadcast(&tcm.called);
}

static void *listener(void *unused)
{
    pthread_setname_np(pthread_self(), "usf-tcm");
    pthread_mutex_lock(&tcm.lock);
    started(tcm_row_claim(&tcm.cpus));
    if (tcm.row) {
        _Atomic uint32_t *word = tcm_row_word(tcm.row);
        for (int r = 0;;) {
            uint32_t seen = atomic_fetch_and(word, ~TCM_POKED) & ~TCM_POKED;
            if (r == -ETIMEDOUT && tcm.short_of) tcm_row_set(tcm.row, &tcm.published);
            tcm_arbitrate(NULL);
            tcm_tell();
            uint64_t until = tcm.short_of ? os_now() + LOOK_NS : 0;
            if (tcm.lower_at && (!until || tcm.lower_at < until)) until = tcm.lower_at;
            tcm.watching = until != 0;
            pthread_mutex_unlock(&tcm.lock);
            r = os_futex_wait(word, seen, until);
            pthread_mutex_lock(&tcm.lock);
        }
    }
    pthread_mutex_unlock(&tcm.lock);
    return unused;
}

void tcm_listen(void)
{
    while (tcm.listening == TCM_STARTING) pthread_cond_wait(&tcm.called, &tcm.lock);
    if (tcm.listening != TCM_ALONE) return;
    tcm.listening = TCM_STARTING;
    sigset_t all, old;
    pthread_t thread;
    pthread_attr_t attr;
    sigfillset(&all);
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int r = pthread_create(&thread, &attr, listener, NULL);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attr);
    if (r != 0) started(NULL);
    while (tcm.listening == TCM_STARTING) pthread_cond_wait(&tcm.called, &tcm.lock);
}
