/* tests/sched/groups_instance.c - see groups.h.  SPDX-License-Identifier: Apache-2.0 */
#include "groups.h"

struct shm shm;
char dir[] = "/tmp/usf-groups-XXXXXX";

static struct sched_self nobody;
static struct wakes wakes;

void make_instance(const char *policy, uint32_t cores)
{
    char name[USF_NAME_MAX];
    snprintf(name, sizeof name, "groups-%d", getpid());
    struct shm_config c = {.name = name, .dir = dir, .policy = policy};
    strcpy(dir + strlen(dir) - 6, "XXXXXX");
    CHECK(mkdtemp(dir));
    if (shm_open_instance(&c, true, &shm)) printf("%s\n", shm.why), exit(1);
    struct usf_core *core = shm_cores(shm.h);
    shm.h->nr_cores = cores;
    for (uint32_t i = 0; i < USF_CORE_WORDS; i++) atomic_store(&shm.h->idle[i], 0);
    for (uint32_t i = 0; i < cores; i++) {
        core[i].pol = (struct usf_pol_core){.id = i, .cpu = i, .phys = i, .current = USF_NONE};
        atomic_store(&core[i].word, USF_CORE_IDLE);
        atomic_fetch_or(&shm.h->idle[i / 64], 1ull << (i % 64));
    }
}

void end_instance(void)
{
    struct sched cleaner;
    bind_view(&cleaner);
    for (uint32_t i = 0; i < atomic_load(&shm.h->proc_hwm); i++) sched_proc_remove(&cleaner, i, false);
    for (uint32_t i = 0; i < atomic_load(&shm.h->group_hwm); i++) CHECK(atomic_load(&cleaner.groups[i].state) == USF_GROUP_FREE);
    CHECK(shm_retire_if_empty(&shm, dir));
    shm_close(&shm);
    CHECK(rmdir(dir) == 0);
}

void bind_view(struct sched *s)
{
    char why[160];
    memset(s, 0, sizeof *s);
    sched_bind(s, shm.h);
    s->shm_dir = dir;
    CHECK(sched_use_policy(s, NULL, why, sizeof why) == 0);
}

uint32_t join(struct sched *s)
{
    struct os_cpuset cpus = {0};
    for (uint32_t i = 0; i < shm.h->nr_cores; i++) os_cpu_set(&cpus, i);
    bind_view(s);
    int i = sched_proc_join(s, getpid(), os_start_time(getpid()), "groups", &cpus, 0);
    CHECK(i >= 0);
    return (uint32_t)i;
}

uint64_t now = 1000000000000ull;
uint64_t __wrap_os_now(void);
uint64_t __wrap_os_now(void) { return now; }

void enter(struct sched *s)
{
    nobody = (struct sched_self){.task = USF_NONE};
    wakes.n = 0;
    CHECK(core_enter(s, &nobody));
}

void leave(struct sched *s)
{
    wakes.n = 0;        /* there is no thread to be woken */
    core_leave(s, &nobody, &wakes);
}

uint32_t add_task(struct sched *s)
{
    uint32_t i = 0;
    while (i < atomic_load(&s->h->task_hwm) && state_of(s, i) != USF_TASK_FREE) i++;
    CHECK(shm_reserve_tasks(s->h, dir, i + 1) == 0);
    struct usf_task *t = &s->tasks[i];
    enter(s);
    memset(t, 0, sizeof *t);
    atomic_store(&t->core, USF_NONE);
    atomic_store(&t->thread, i);
    atomic_store(&s->threads[i].pinned, USF_NONE);
    s->threads[i].tid = NO_THREAD;
    t->proc = s->proc;
    t->claim = (uint16_t)(s->proc + 1);
    t->pol = (struct usf_pol_task){.id = i, .group = first_of(s), .last_core = USF_NONE};
    group(s, t->pol.group)->nr_tasks++;
    s->ops.task_add(&s->pol, i);
    atomic_store(&t->state, USF_TASK_NEW);
    core_place(s, i, USF_WHY_NEW, &wakes);
    leave(s);
    return i;
}

void end_task(struct sched *s, uint32_t task)
{
    struct sched_self me = {.task = task};
    sched_detach(s, &me, false);
}

uint32_t switch_from(struct sched *s, uint32_t core, unsigned to, enum usf_why why)
{
    uint32_t old = s->cores[core].pol.current;
    if (old == USF_NONE) return old;
    if (to != USF_TASK_READY) s->cores[core].pol.current = USF_NONE;
    uint32_t next = core_pick(s, core, CORE_ANY);
    if (to == USF_TASK_READY && next == USF_NONE) return old;
    core_set_state(s, old, ST(USF_TASK_RUNNING), to);
    core_give(s, core, old, next, &wakes);
    if (to == USF_TASK_READY) core_enqueue(s, old, why);
    wakes.n = 0;
    return next;
}

uint32_t count_groups(struct sched *s, uint32_t proc)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < atomic_load(&s->h->group_hwm); i++)
        n += atomic_load(&s->groups[i].state) == USF_GROUP_ACTIVE && s->groups[i].proc == proc;
    return n;
}
