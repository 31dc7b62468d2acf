/* src/check/calls.c - each call of the policy, watched.  SPDX-License-Identifier: Apache-2.0
 *
 * The records lie in a memory file that is mapped three times: the model uses one mapping, the
 * policy is shown the other two by turns, and the one that it was shown before is inaccessible
 * meanwhile.  A policy that has kept an address is killed by its first use of it.  struct usf_pol
 * is process-private in real life, too: it moves along.
 *
 * System calls inside an operation raise SIGSYS where the kernel can do that (syscall user
 * dispatch). */
#include "check/internal.h"
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

const char *const check_ops[OP_NR] = {
    "no operation", "init", "group_add", "group_remove", "task_add", "task_remove", "select_core", "enqueue", "pick", "dequeue",
    "yield", "started", "stopped", "tick", "group_changed",
};

struct check_call check_call;

enum check_op machine_op(void) { return check_call.op; }

/* ---- mappings ------------------------------------------------------------------------------------ */
enum { PAGE = 4096, AREAS = 4 };
static const size_t area_size[AREAS] = {
    (MAX_TASKS * sizeof(struct usf_pol_task) + PAGE - 1) / PAGE * PAGE, (MAX_CORES * sizeof(struct usf_pol_core) + PAGE - 1) / PAGE * PAGE,
    (MAX_GROUPS * sizeof(struct usf_pol_group) + PAGE - 1) / PAGE * PAGE, (USF_POL_DATA + PAGE - 1) / PAGE * PAGE,
};

static size_t area_offset(unsigned area)
{
    size_t at = PAGE;
    for (unsigned i = 0; i < area; i++) at += area_size[i] + PAGE;
    return at;
}

static void *map_area(char *base, unsigned area, int fd)
{
    size_t at = area_offset(area);
    void *p = mmap(base + at, area_size[area], PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, (off_t)at);
    return p == MAP_FAILED ? NULL : p;
}

static void no_memory(void)
{
    fprintf(stderr, "usf: no memory for the records of a machine\n");
    _Exit(1);
}

void machine_map(struct machine *m)
{
    int fd = (int)syscall(SYS_memfd_create, "usf-check", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, (off_t)area_offset(AREAS))) no_memory();
    for (unsigned v = 0; v < 3; v++) {
        char *base = mmap(NULL, area_offset(AREAS), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (base == MAP_FAILED) no_memory();
        struct view *w = &m->view[v];
        w->tasks = map_area(base, 0, fd);
        w->cores = map_area(base, 1, fd);
        w->groups = map_area(base, 2, fd);
        w->data = map_area(base, 3, fd);
        if (!w->tasks || !w->cores || !w->groups || !w->data) no_memory();
    }
    close(fd);
    m->tasks = m->view[0].tasks;
    m->cores = m->view[0].cores;
    m->groups = m->view[0].groups;
    m->data = m->view[0].data;
    m->seen = 1;
}

void machine_unmap(struct machine *m)
{
    for (unsigned v = 0; v < 3; v++) munmap((char *)m->view[v].tasks - PAGE, area_offset(AREAS));
}

static void allow(const struct view *v, int prot)
{
    mprotect(v->tasks, area_size[0], prot);
    mprotect(v->cores, area_size[1], prot);
    mprotect(v->groups, area_size[2], prot);
    mprotect(v->data, area_size[3], prot);
}

bool check_is_other_view(const struct machine *m, const void *address)
{
    const char *base = (const char *)m->view[3 - m->seen].tasks - PAGE;
    return m->moves && (const char *)address >= base && (const char *)address < base + area_offset(AREAS);
}

/* ---- fields that are not the policy's ------------------------------------------------------------ */
enum { WATCH_CORES = 8, WATCH_TASKS = 64, WATCH_GROUPS = 8 };
static struct {
    struct usf_pol_task task[WATCH_TASKS];
    struct usf_pol_core core[WATCH_CORES];
    struct usf_pol_group group[WATCH_GROUPS];      /* without their data */
    uint32_t tasks, cores, groups;
} before;

static uint32_t least(uint32_t a, uint32_t b) { return a < b ? a : b; }

static void remember(const struct machine *m)
{
    before.tasks = least(m->watch_tasks, WATCH_TASKS);
    before.groups = least(m->watch_groups, WATCH_GROUPS);
    before.cores = before.tasks ? least(m->pol.nr_cores, WATCH_CORES) : 0;
    memcpy(before.task, m->tasks, before.tasks * sizeof *before.task);
    memcpy(before.core, m->cores, before.cores * sizeof *before.core);
    for (uint32_t i = 0; i < before.groups; i++) memcpy(&before.group[i], &m->groups[i], offsetof(struct usf_pol_group, data));
}

static const char *changed_task(const struct usf_pol_task *a, const struct usf_pol_task *b)
{
    if (a->id != b->id || a->group != b->group) return "changed a task's id or group";
    if (a->last_core != b->last_core) return "changed a task's last_core";
    if (a->held != b->held) return "changed a task's mark 'held'";
    if (a->ready_since != b->ready_since) return "changed a task's ready_since";
    if (a->priority != b->priority || a->deadline != b->deadline) return "changed a task's priority or deadline";
    if (a->affinity != b->affinity || a->affinity_id != b->affinity_id || a->strict != b->strict
        || memcmp(a->mask, b->mask, sizeof a->mask)) return "changed a task's affinity";
    return memcmp(a->pad, b->pad, sizeof a->pad) ? "wrote behind a task's data" : NULL;
}

static const char *changed_core(const struct usf_pol_core *a, const struct usf_pol_core *b)
{
    if (a->current != b->current || a->since != b->since) return "changed a core's current or since";
    return memcmp(a, b, offsetof(struct usf_pol_core, current)) || a->phys != b->phys ? "changed a core's place" : NULL;
}

static const char *changed_group(const struct usf_pol_group *a, const struct usf_pol_group *b)
{
    if (memcmp(a, b, offsetof(struct usf_pol_group, share)) || a->width != b->width) return "changed a group's fields";
    return memcmp(a->share, b->share, sizeof a->share) && a->share_gen == b->share_gen
        ? "changed a group's share and did not raise share_gen" : NULL;
}

static void compare(struct machine *m)
{
    const char *bad = NULL;
    for (uint32_t i = 0; i < before.tasks && !bad; i++) bad = changed_task(&before.task[i], &m->tasks[i]);
    for (uint32_t i = 0; i < before.cores && !bad; i++) bad = changed_core(&before.core[i], &m->cores[i]);
    for (uint32_t i = 0; i < before.groups && !bad; i++) bad = changed_group(&before.group[i], &m->groups[i]);
    if (bad) machine_fail(m, CHECK_FOREIGN, bad);
}

/* ---- calls ------------------------------------------------------------------------------------- */

static struct machine *of(struct usf_pol *p) { return (struct machine *)(void *)((char *)p - offsetof(struct machine, pol)); }

/* What the policy is given: the records at another place than in the last call. */
static struct usf_pol *enter(struct machine *m, enum check_op op)
{
    static struct usf_pol shown[3];
    if (m->moves) {
        allow(&m->view[m->seen], PROT_NONE);
        m->seen = 3 - m->seen;
        allow(&m->view[m->seen], PROT_READ | PROT_WRITE);
    }
    const struct view *v = &m->view[m->seen];
    struct usf_pol *p = &shown[m->seen];
    *p = m->pol;
    p->tasks = (char *)v->tasks;
    p->cores = (char *)v->cores;
    p->groups = (char *)v->groups;
    p->data = v->data;
    if (m->watch_tasks) remember(m);
    check_call.machine = m;
    check_call.op = op;
    check_call.number++;
    check_call.under_way = 1;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    check_call.blocks = check_call.dispatches;
    return p;
}

static void leave(struct machine *m)
{
    check_call.blocks = 0;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    check_call.under_way = 0;
    if (m->watch_tasks) compare(m);
}

bool check_forbid_syscalls(void)
{
#ifdef PR_SET_SYSCALL_USER_DISPATCH
    check_call.dispatches = !prctl(PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_ON, 0, 0, &check_call.blocks);
#endif
    return check_call.dispatches;
}

#define RECORD(name) static void call_##name(struct usf_pol *p, uint32_t id) \
    { struct machine *m = of(p); m->real.name(enter(m, OP_##name), id); leave(m); }
RECORD(group_add)
RECORD(group_remove)
RECORD(task_add)
RECORD(task_remove)
RECORD(dequeue)
RECORD(group_changed)
#define SWITCH(name) static void call_##name(struct usf_pol *p, uint32_t core, uint32_t task) \
    { struct machine *m = of(p); m->real.name(enter(m, OP_##name), core, task); leave(m); }
SWITCH(started)
SWITCH(stopped)

static int call_init(struct usf_pol *p)
{
    struct machine *m = of(p);
    int r = m->real.init(enter(m, OP_init));
    leave(m);
    return r;
}

static uint32_t call_select_core(struct usf_pol *p, uint32_t task, const uint64_t idle[USF_CORE_WORDS])
{
    struct machine *m = of(p);
    uint32_t core = m->real.select_core(enter(m, OP_select_core), task, idle);
    leave(m);
    return core;
}

static void call_enqueue(struct usf_pol *p, uint32_t task, enum usf_why why)
{
    struct machine *m = of(p);
    m->real.enqueue(enter(m, OP_enqueue), task, why);
    leave(m);
}

static uint32_t call_pick(struct usf_pol *p, uint32_t core)
{
    struct machine *m = of(p);
    uint32_t task = m->real.pick(enter(m, OP_pick), core);
    leave(m);
    return task;
}

static bool call_yield(struct usf_pol *p, uint32_t core, uint32_t task)
{
    struct machine *m = of(p);
    bool r = m->real.yield(enter(m, OP_yield), core, task);
    leave(m);
    return r;
}

static void call_tick(struct usf_pol *p)
{
    struct machine *m = of(p);
    m->real.tick(enter(m, OP_tick));
    leave(m);
}

void machine_wrap(struct machine *m, const struct usf_policy_ops *ops)
{
    policy_resolve(ops, &m->real);
    m->ops = (struct usf_policy_ops){
        .api = m->real.api, .size = m->real.size, .name = m->real.name, .description = m->real.description, .flags = m->real.flags,
        .init = call_init, .group_add = call_group_add, .group_remove = call_group_remove, .task_add = call_task_add,
        .task_remove = call_task_remove, .select_core = call_select_core, .enqueue = call_enqueue, .pick = call_pick,
        .dequeue = call_dequeue, .yield = call_yield, .started = call_started, .stopped = call_stopped, .tick = call_tick,
        .group_changed = call_group_changed,
    };
}
