/* src/tcm/call.c - clients are told of new grants.  SPDX-License-Identifier: Apache-2.0
 *
 * The thread that changes a permit calls its client, without the lock: callbacks ask for permits'
 * data, and may ask for more.  One thread at a time calls for a permit, and goes on while there is
 * news of it; so the last call comes after the last change.  A permit is not released while another
 * thread calls for it, since its client frees what the callback uses. */
#include "tcm/tcm.h"

void tcm_note(struct tcm_permit *p, uint8_t news)
{
    if (!p->news && news) tcm.waiting_news++;
    p->news |= news;
}

static void call(struct tcm_permit *p)
{
    tcm_callback_t callback = tcm.client[p->client].callback;
    tcm_permit_handle_t handle = (tcm_permit_handle_t)(uintptr_t)p->handle;
    tcm_callback_flags_t reason = {.new_concurrency = (p->news & TCM_NEW_CONCURRENCY) != 0, .new_state = (p->news & TCM_NEW_STATE) != 0};
    void *arg = p->arg;
    p->news = 0;
    tcm.waiting_news--;
    if (!callback) return;
    p->calling = true;
    p->caller = pthread_self();
    pthread_mutex_unlock(&tcm.lock);
    callback(handle, arg, reason);
    pthread_mutex_lock(&tcm.lock);
    if ((tcm_permit_handle_t)(uintptr_t)p->handle == handle) p->calling = false;    /* else the callback has released it */
    pthread_cond_broadcast(&tcm.called);
}

void tcm_tell(void)
{
    for (struct tcm_permit *p = tcm.permits; tcm.waiting_news && p;) {
        if (p->news && !p->calling) {
            call(p);
            p = tcm.permits;    /* the list may have changed */
        } else {
            p = p->next;
        }
    }
}

void tcm_wait_for_calls(const struct tcm_permit *p)
{
    while (p->calling && !pthread_equal(p->caller, pthread_self())) pthread_cond_wait(&tcm.called, &tcm.lock);
}
