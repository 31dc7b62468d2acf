/* src/tasks/process.c - the runtime of one process comes and goes.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arch/control.h"
#include "tasks/tasks.h"
#include "usf/usf.h"

struct tk_process tk;
__thread struct tk_exec *tk_self_exec __attribute__((tls_model("initial-exec")));
__thread struct nosv_task *tk_completing __attribute__((tls_model("initial-exec")));

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;    /* of init and shutdown */
static bool left_behind;                    /* a shutdown has left all as it was, since threads were attached */
static _Atomic uint32_t inits;              /* of the process; changed under the lock */
static __thread uint32_t own_inits __attribute__((tls_model("initial-exec")));

bool tk_is_on(void) { return atomic_load_explicit(&inits, memory_order_relaxed) != 0; }

/* ---- threads without a slot ------------------------------------------------------------------ */

/* A thread outside of tasks may still be inside nosv_submit when others have seen what it has done,
 * and one of them has called the last nosv_shutdown.  That waits until there is no such thread.  A
 * thread that comes when all slots are the shutdown's waits for its end. */
static _Atomic uint32_t visitors;
static _Atomic bool closed;
static uint32_t era = 1;            /* changes in the child of a fork, where there are no visitors */
static __thread uint32_t own_visits __attribute__((tls_model("initial-exec")));

uint32_t tk_visit(void)
{
    for (;;) {
        atomic_fetch_add(&visitors, 1);
        if (!atomic_load(&closed) && tk_is_on()) {
            own_visits++;
            return era;
        }
        atomic_fetch_sub(&visitors, 1);
        if (!tk_is_on()) return 0;
        os_sched_yield();
    }
}

void tk_end_visit(uint32_t visit)
{
    if (visit != era) return;
    own_visits--;
    atomic_fetch_sub(&visitors, 1);
}

/* ---- how threads compute --------------------------------------------------------------------- */

void tk_default_math(void) { arch_math_default(arch_saves_all_vectors()); }

/* `turbo.enabled` */
uint32_t tk_turbo(void) { return arch_math_fast(); }
void tk_end_turbo(uint32_t before) { arch_math_restore(before); }

/* ---- fork ------------------------------------------------------------------------------------ */

static void before_fork(void) { pthread_mutex_lock(&lock); }
static void in_parent(void) { pthread_mutex_unlock(&lock); }

/* The child has none of the threads, and begins anew.  The parent's records stay where they are,
 * unused. */
static void in_child(void)
{
    lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    atomic_store(&inits, 0);
    left_behind = false;
    own_inits = 0;
    atomic_store(&visitors, 0);
    atomic_store(&closed, false);
    own_visits = 0;
    era++;
    tk_mask_forget();
    tk_forget_tid();
    tk_self_exec = 0;
    tk_pool_reset(false);
    tk_forget_timer();
    tk_forget_workers();
    tk_forget_types();
    memset(&tk, 0, sizeof tk);
}

static void watch_forks(void) { pthread_atfork(before_fork, in_parent, in_child); }

/* ---- init ------------------------------------------------------------------------------------ */

static uint64_t usable_stack_size(uint64_t size)
{
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    bool usable = !size || pthread_attr_setstacksize(&attr, size) == 0;
    pthread_attr_destroy(&attr);
    if (!usable) usf_warn("nosv: misc.stack_size: no thread can have a stack of %llu bytes", (unsigned long long)size);
    return usable ? size : 0;
}

static int begin(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct tk_config c;
    pthread_once(&once, watch_forks);
    memset(&tk, 0, sizeof tk);
    tk_config_read(&c);
    tk.quantum_ns = c.quantum_ns;
    tk.spins = !strcmp(c.policy, "idle") ? 0 : !strcmp(c.policy, "busy") || c.spins > UINT32_MAX ? UINT32_MAX : (uint32_t)c.spins;
    tk.successors = c.successors;
    tk.turbo = c.turbo;
    tk_join_instance(&c);
    tk.places = usf_task_is_scheduled() == 0;
    tk.recorded = tk.places && usf_is_recorded() == 0;
    tk.binds = !tk.places;
    tk.stack_size = usable_stack_size(c.stack_size);
    pthread_sigmask(SIG_SETMASK, 0, &tk.signals);
    os_getaffinity(0, &tk.cpus);
    int r = tk_topology_make(&c);
    if (r == NOSV_SUCCESS && !tk_start_timer()) {
        tk_topology_drop();
        r = NOSV_ERR_OUT_OF_MEMORY;
    }
    return r;
}

TK_API int nosv_init(void)
{
    int r = NOSV_SUCCESS;
    pthread_mutex_lock(&lock);
    if (!atomic_load(&inits) && !left_behind) r = begin();
    if (r == NOSV_SUCCESS) {
        atomic_fetch_add(&inits, 1);
        own_inits++;
    }
    pthread_mutex_unlock(&lock);
    return r;
}

/* ---- shutdown -------------------------------------------------------------------------------- */

/* Everything that is ready is executed first, and what will be ready at a time.  Then all slots are
 * idle; the caller claims them all. */
static bool is_drained(void)
{
    bool work = tk_timed() != 0 || atomic_load(&tk.nr_timed) != 0;
    for (uint32_t i = 0; i < tk.nr_slots && !work; i++) work = tk_is_work(&tk.slots[i]);
    return !work;
}

static uint32_t claim_all(void)
{
    uint32_t n = 0;
    while (n < tk.nr_slots && tk_claim(&tk.slots[n])) n++;
    return n;
}

/* Holds all slots.  True: no thread uses the runtime any more, nor will. */
static bool close_down(void)
{
    atomic_store(&closed, true);
    if (atomic_load(&visitors) == 0 && is_drained()) return true;
    atomic_store(&closed, false);
    return false;
}

/* Claimed slots keep others from working: where not all are idle, they are given back, and it looks
 * again. */
static void drain(void)
{
    for (uint32_t round = 0;; round++) {
        uint32_t n = claim_all();
        if (n == tk.nr_slots && close_down()) return;
        while (n) tk_pass_on(&tk.slots[--n]);
        if (round < 100) os_sched_yield();
        else os_sleep(round < 1000 ? 20000 : 1000000);
    }
}

/* Holds the lock and all slots. */
static void stop(void)
{
    for (uint32_t i = 0; i < tk.nr_slots; i++) tk_tell_idle(&tk.slots[i]);
    tk_stop_timer();
    tk_stop_workers();
    tk_types_drop();
    tk_topology_drop();
    tk_pool_reset(true);
}

/* Threads that are attached go on using all of it: then it stays, for the next init. */
static void end_last(void)
{
    left_behind = atomic_load(&tk.nr_attached) != 0;
    if (left_behind) return;
    /* Without the lock: a task that this waits for may fork, or use nosv_init. */
    atomic_store(&tk.stopping, 1);      /* no thread looks for work for long */
    pthread_mutex_unlock(&lock);
    drain();
    pthread_mutex_lock(&lock);
    bool again = atomic_load(&inits) != 1;
    left_behind = !again && atomic_load(&tk.nr_attached) != 0;
    if (!again && !left_behind) {
        stop();
        return;
    }
    atomic_store(&tk.stopping, 0);
    atomic_store(&closed, false);
    for (uint32_t n = tk.nr_slots; n;) tk_pass_on(&tk.slots[--n]);
}

TK_API int nosv_shutdown(void)
{
    if (!tk_is_on()) return NOSV_ERR_NOT_INITIALIZED;
    if (!own_inits) return NOSV_ERR_UNKNOWN;
    pthread_mutex_lock(&lock);
    bool last = atomic_load(&inits) == 1;
    if (last && (own_visits || (tk_me() && tk_me()->is_worker))) {
        pthread_mutex_unlock(&lock);
        return NOSV_ERR_INVALID_OPERATION;
    }
    if (last) end_last();
    own_inits--;
    atomic_fetch_sub(&inits, 1);
    atomic_store(&closed, false);
    pthread_mutex_unlock(&lock);
    return NOSV_SUCCESS;
}
