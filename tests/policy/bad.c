/* tests/policy/bad.c - policies with one fault each, which `usf policy check` must find.  SPDX-License-Identifier: Apache-2.0
 * One object per -DBAD_x.  Without any of them: a policy without a fault. */
#include <usf/policy.h>

struct USF_POLICY_STATE inst { struct usf_fifo ready, yielded; uint32_t overdue, calls; struct usf_pol_task *kept; };
struct USF_POLICY_STATE mark { uint32_t yielded; };
static struct inst *inst(struct usf_pol *p) { return (struct inst *)(void *)p->data; }
static struct mark *mark(struct usf_pol *p, uint32_t t) { return (struct mark *)(void *)usf_task(p, t)->data; }

#ifdef BAD_variable
static uint32_t counter;
#endif
#ifdef BAD_import
extern void *malloc(size_t);
#endif

static void enqueue(struct usf_pol *p, uint32_t task, enum usf_why why)
{
    struct inst *in = inst(p);
    in->calls++;
#ifdef BAD_loop
    if (in->calls == 500) for (;;) __asm__ volatile("");
#endif
#ifdef BAD_lost
    if (in->calls % 64 == 0) return;
#endif
#ifdef BAD_address
    if (in->kept && in->calls % 16 == 0) in->kept->queued = 1;
    if (in->calls % 16 == 1) in->kept = usf_task(p, task);
#endif
#ifdef BAD_variable
    counter++;
#endif
#ifdef BAD_syscall
    if (in->calls % 32 == 0) {
        long r = 39;    /* getpid */
        __asm__ volatile("syscall" : "+a"(r) : : "rcx", "r11", "memory");
    }
#endif
#ifdef BAD_import
    if (in->calls == UINT32_MAX) in->kept = malloc(8);
#endif
#ifdef BAD_foreign
    if (in->calls % 32 == 0) usf_task(p, task)->priority++;
#endif
#ifdef BAD_share
    if (in->calls % 32 == 0) usf_group(p, usf_task(p, task)->group)->share[0] ^= 1;
#endif
#ifdef BAD_exit
    if (in->calls == 100) {
        long r = 231;   /* exit_group */
        __asm__ volatile("syscall" : "+a"(r) : "D"(0) : "rcx", "r11", "memory");
    }
#endif
    mark(p, task)->yielded = why == USF_WHY_YIELD;
#ifdef BAD_greedy
    mark(p, task)->yielded = 0;
    if (why == USF_WHY_YIELD || why == USF_WHY_RETURN) {     /* to the front: it runs again at once */
        struct usf_pol_task *t = usf_task(p, task);
        t->queued = 1;
        t->prev = 0;
        t->next = in->ready.head;
        if (in->ready.head) usf_task(p, in->ready.head - 1)->prev = task + 1;
        else in->ready.tail = task + 1;
        in->ready.head = task + 1;
        in->ready.len++;
        return;
    }
#endif
    usf_fifo_push(p, mark(p, task)->yielded ? &in->yielded : &in->ready, task);
}

static void dequeue(struct usf_pol *p, uint32_t task)
{
#ifdef BAD_dequeue
    (void)p, (void)task;        /* stays where it is */
    return;
#endif
    usf_fifo_remove(p, mark(p, task)->yielded ? &inst(p)->yielded : &inst(p)->ready, task);
}

#ifdef BAD_vector
static volatile double ratio = 1.5;
#endif

static uint32_t pick(struct usf_pol *p, uint32_t core)
{
    struct inst *in = inst(p);
    in->calls++;
#ifdef BAD_crash
    if (in->calls == 777) return *(volatile uint32_t *)8;
#endif
#ifdef BAD_divide
    if (p->quantum / (uint64_t)usf_group(p, 0)->weight == UINT64_MAX) return USF_NONE;
#endif
#ifdef BAD_idle
    if (in->calls % 50 == 0) return USF_NONE;
#endif
#ifdef BAD_anywhere
    return in->ready.head ? usf_fifo_pop(p, &in->ready) : usf_fifo_pop(p, &in->yielded);
#endif
#ifdef BAD_twice
    if (in->ready.head && in->calls % 20 == 0 && usf_may_run(p, in->ready.head - 1, core)) return in->ready.head - 1;
#endif
#ifdef BAD_vector
    if (ratio * (double)in->calls < 0) return USF_NONE;
#endif
#ifdef BAD_yielders
    uint32_t task = usf_fifo_pop_allowed(p, &in->ready, core);
    return task != USF_NONE ? task : usf_fifo_pop_allowed(p, &in->yielded, core);
#endif
    uint32_t first = in->yielded.head;
    in->overdue = first && !in->overdue && p->now - usf_task(p, first - 1)->ready_since >= p->quantum;
    uint32_t t = usf_fifo_pop_allowed(p, in->overdue ? &in->yielded : &in->ready, core);
    return t != USF_NONE ? t : usf_fifo_pop_allowed(p, in->overdue ? &in->ready : &in->yielded, core);
}

#ifdef BAD_keeps
static bool yield(struct usf_pol *p, uint32_t core, uint32_t task)
{
    (void)task;
    usf_keep(usf_core(p, core), p->now + p->quantum);
    return inst(p)->ready.len > 1;      /* and does not ask again when they have come */
}
#endif

static int init(struct usf_pol *p)
{
    (void)p;
#ifdef BAD_wipe
    if (p->now != 1000000000) return 1;     /* the first time only */
#endif
    return 0;
}

USF_POLICY_EXPORT const struct usf_policy_ops usf_policy = {
    .api = USF_POLICY_API & ~USF_POLICY_API_VECTOR,
    .size = sizeof(struct usf_policy_ops),
    .name = "bad",
#ifdef BAD_greedy_and_says_so
    .flags = USF_POLICY_CAN_STARVE,
#endif
    .init = init,
    .enqueue = enqueue,
    .pick = pick,
    .dequeue = dequeue,
#ifdef BAD_keeps
    .yield = yield,
#endif
};
