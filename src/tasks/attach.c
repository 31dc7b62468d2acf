/* src/tasks/attach.c - a thread of the program becomes a task. 
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "tasks/tasks.h"

/* The type of all attached threads without a label of their own. */
static struct nosv_task_type unlabelled = {.external = true};

/* The calling thread's kernel id, which costs a system call; 0: not asked for yet. */
static __thread int32_t own_tid;

void tk_forget_tid(void) { own_tid = 0; }

static struct tk_exec *new_exec(void)
{
    struct tk_exec *e = aligned_alloc(TK_LINE, sizeof *e);
    if (!own_tid) own_tid = os_gettid();
    if (e) *e = (struct tk_exec){.bound = TK_UNBOUND, .window_size = 1, .tid = own_tid};
    return e;
}

void tk_free_attached(struct nosv_task *t)
{
    if (t->type != &unlabelled) tk_type_free(t->type);
    tk_task_free(t);
}

static struct nosv_task *new_task(struct tk_exec *e, const char *label, const nosv_affinity_t *affinity)
{
    struct nosv_task_type *type = &unlabelled;
    struct nosv_task *t = tk_task_alloc(0);
    if (!t) return 0;
    if (label && !(type = tk_type_new(label, true, false))) {
        tk_task_free(t);
        return 0;
    }
    tk_task_init(t, type, 0, TK_F_ATTACHED);
    if (affinity) t->affinity = *affinity;
    t->exec = e;
    atomic_store_explicit(&t->blocking, 0, memory_order_relaxed);
    atomic_store_explicit(&t->life, TK_ACTIVE | TK_EXECUTION, memory_order_relaxed);
    return t;
}

static void begin_attach(struct tk_exec *me)
{
    me->thread = pthread_self();
    tk_watch_thread(me);
    me->task = me->attached;
    tk_self_exec = me;
    tk_go_on(me);
    if (tk.turbo) me->own_mxcsr = tk_turbo();
}

TK_API int nosv_attach(nosv_task_t *out, nosv_affinity_t *affinity, const char *label, nosv_flags_t flags)
{
    struct tk_exec *me = tk_me();
    if (!tk_is_on()) return NOSV_ERR_NOT_INITIALIZED;
    if (!out || flags & ~(NOSV_ATTACH_INSTRUMENT | NOSV_ATTACH_UNBOUND) || (affinity && !tk_is_place(*affinity))) return NOSV_ERR_INVALID_PARAMETER;
    if (me && (me->is_worker || me->inlined)) return NOSV_ERR_INVALID_OPERATION;
    if (me) {
        me->nested++;
        *out = me->task;
        return NOSV_SUCCESS;
    }
    uint32_t visit = tk_visit();
    if (!visit) return NOSV_ERR_NOT_INITIALIZED;
    bool attached = (me = new_exec()) && (me->attached = new_task(me, label, affinity));
    if (attached) atomic_fetch_add(&tk.nr_attached, 1);     /* from now on the runtime stays */
    else free(me);
    tk_end_visit(visit);
    if (!attached) return NOSV_ERR_OUT_OF_MEMORY;
    me->unbound = flags & NOSV_ATTACH_UNBOUND;
    begin_attach(me);
    *out = me->task;
    return NOSV_SUCCESS;
}

/* The thread is no task any more; its slot is another's. */
static void end_attach(struct tk_exec *me, bool restore)
{
    struct tk_slot *s = me->slot;
    tk_end_window(me);
    me->task->exec = 0;
    atomic_fetch_or(&me->task->life, TK_DESTROYED);     /* with the last of its events */
    tk_end_work(me->task, TK_EXECUTION);
    tk_self_exec = 0;
    if (tk.turbo) tk_end_turbo(me->own_mxcsr);
    if (me->masked) tk_mask_remove(me, restore);
    tk_end_place(me);
    if (s) {
        tk_tell_counts(s);
        tk_pass_on(s);
    }
    atomic_fetch_sub(&tk.nr_attached, 1);
    free(me);
}

TK_API int nosv_detach(nosv_flags_t flags)
{
    struct tk_exec *me;
    int r = tk_in_task(&me);
    if (r) return r;
    if (flags & ~(NOSV_DETACH_NO_RESTORE_AFFINITY | NOSV_DETACH_INSTRUMENT)) return NOSV_ERR_INVALID_PARAMETER;
    if (me->is_worker || me->inlined) return NOSV_ERR_INVALID_OPERATION;
    if (me->nested) {
        me->nested--;
        return NOSV_SUCCESS;
    }
    tk_watch_thread(0);
    end_attach(me, !(flags & NOSV_DETACH_NO_RESTORE_AFFINITY));
    return NOSV_SUCCESS;
}

/* ---- threads that end before they should ---------------------------------------------------------- */

static pthread_key_t key;
static pthread_once_t key_once = PTHREAD_ONCE_INIT;

/* A thread that is attached is detached by its end.  One that has ended in a callback, by
 * pthread_exit or pthread_cancel, gives its slot back, and the task of that callback never
 * completes. */
static void thread_ends(void *arg)
{
    struct tk_exec *me = arg;
    if (me != tk_self_exec) return;
    if (me->is_worker) {
        tk_lose_worker(me);
        return;
    }
    me->task = me->attached;
    me->phase = TK_IN_BODY;
    end_attach(me, false);
}

/* Without a key a thread has to detach before it ends. */
static bool has_key;
static void make_key(void) { has_key = pthread_key_create(&key, thread_ends) == 0; }

void tk_watch_thread(struct tk_exec *me)
{
    pthread_once(&key_once, make_key);
    if (has_key) pthread_setspecific(key, me);
}
