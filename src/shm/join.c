/* src/shm/join.c - the registry of processes.  SPDX-License-Identifier: Apache-2.0 */
#include "internal.h"
#include <errno.h>

static uint64_t claim_word(uint16_t state, uint32_t namespace, int32_t pid)
{ return state | (uint64_t)namespace << 16 | (uint64_t)(uint32_t)pid << 32; }
static uint16_t state_in(uint64_t word) { return (uint16_t)word; }

static bool claim(struct usf_proc *p, uint64_t word)
{
    uint64_t was = atomic_load_explicit(&p->claim, memory_order_relaxed);
    /* a free record may still show the pid that it had */
    return state_in(was) == USF_PROC_FREE && atomic_compare_exchange_strong(&p->claim, &was, word);
}

static int claim_any(struct usf_header *h, const char *dir, uint64_t word)
{
    struct usf_proc *procs = shm_procs(h);
    uint32_t i = 0;
    for (;;) {
        uint32_t hwm = atomic_load(&h->proc_hwm);
        for (; i < hwm; i++)
            if (claim(&procs[i], word)) return (int)i;
        int r = shm_reserve_procs(h, dir, hwm + USF_PROC_CHUNK);
        if (r) return r;
    }
}

int shm_join_begin(struct usf_header *h, const char *dir, uint32_t namespace, int32_t pid, uint64_t start_time)
{
    int i = claim_any(h, dir, claim_word(USF_PROC_JOINING, namespace, pid));
    if (i < 0) return i;
    struct usf_proc *p = &shm_procs(h)[i];
    p->start_time = start_time;
    atomic_fetch_add(&h->nr_procs_active, 1);
    USF_POINT("shm.join.claimed");
    /* The claim is visible before the state is read, and a retirer's state before it reads the
     * claims (both sequentially consistent): one of us sees the other. */
    if (atomic_load(&h->state) == USF_INST_READY) return i;
    shm_leave(h, (uint32_t)i);
    return -ESTALE;
}

void shm_leave(struct usf_header *h, uint32_t proc)
{
    struct usf_proc *p = &shm_procs(h)[proc];
    p->start_time = 0;          /* before the record can be another's, who may die before it writes its own */
    atomic_store(&p->replaced, 0);
    if (state_in(atomic_exchange(&p->claim, claim_word(USF_PROC_FREE, 0, 0))) == USF_PROC_FREE) return;
    atomic_fetch_sub(&h->nr_procs_active, 1);
}

bool shm_replace(struct usf_header *h, uint32_t namespace, int32_t pid, uint64_t start_time)
{
    struct usf_proc *procs = shm_procs(h);
    uint32_t hwm = atomic_load(&h->proc_hwm);
    bool any = false;
    for (uint32_t i = 0; i < hwm; i++) {
        if (atomic_load(&procs[i].state) == USF_PROC_FREE || procs[i].namespace != namespace || procs[i].pid != pid
            || procs[i].start_time != start_time) continue;
        atomic_store(&procs[i].replaced, 1);
        any = true;
    }
    return any;
}

bool shm_proc_is_alive(const struct usf_proc *p)
{
    uint64_t word = atomic_load(&p->claim), start = p->start_time;
    int32_t pid = (int32_t)(word >> 32);
    if (state_in(word) == USF_PROC_FREE || pid <= 0 || atomic_load(&p->replaced) || os_process_ended(pid)) return false;
    uint64_t now = os_start_time(pid);
    return !start || !now || start == now;      /* where either is unknown the pid alone decides */
}

uint32_t shm_nr_members(const struct usf_header *h, uint32_t namespace)
{
    const struct usf_proc *procs = shm_procs(h);
    uint32_t hwm = atomic_load(&h->proc_hwm), n = 0;
    for (uint32_t i = 0; i < hwm; i++)
        if (atomic_load(&procs[i].state) != USF_PROC_FREE && (procs[i].namespace != namespace || shm_proc_is_alive(&procs[i]))) n++;
    return n;
}

