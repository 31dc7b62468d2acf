/* tests/nosv/mix.c - everything at once, at random.  SPDX-License-Identifier: Apache-2.0
 *
 * A tree of tasks.  Each does a random sequence of calls, creates children in a random way, and waits for them in a random way.  Every task
 * runs its body to the end once, and completes once. */
#include <nosv/compat.h>

#include "nosv_test.h"

enum { DEPTH = 6, MUTEXES = 3 };
struct work { uint64_t random; int depth, stage; nosv_task_t parent; };

static nosv_task_type_t type, joinable, leaf;
static nosv_mutex_t mutex[MUTEXES];
static int held[MUTEXES], created, begun, ended, completions, parallel_runs, leaves;

static uint64_t draw(struct work *w, uint64_t below)
{
    w->random = w->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (w->random >> 33) % below;
}

/* ---- tasks that end events, and others that are waited for -------------------------------------- */

static void decrease(nosv_task_t task)
{
    struct work *w = (struct work *)nosv_get_task_metadata(task);
    if (draw(w, 2)) OK(nosv_yield(NOSV_YIELD_NONE));
    if (w->stage) OK(nosv_decrease_event_counter(w->parent, 1));
    else OK(nosv_submit(w->parent, draw(w, 2) ? NOSV_SUBMIT_NONE : NOSV_SUBMIT_UNLOCKED));
}
static void leaf_done(nosv_task_t task) { OK(nosv_destroy(task, NOSV_DESTROY_NONE)); add(&leaves, -1); }
static nosv_task_t helper(struct work *w, bool ends_event)
{
    nosv_task_t task;
    add(&leaves, 1);
    OK(nosv_create(&task, leaf, sizeof(struct work), NOSV_CREATE_NONE));
    struct work *h = (struct work *)nosv_get_task_metadata(task);
    memset(h, 0, sizeof(*h));
    h->random = w->random + 1;
    h->stage = ends_event;
    h->parent = nosv_self();
    if (draw(w, 4) == 0) nosv_set_task_priority(task, (int)draw(w, 5) - 2);
    if (draw(w, 4) == 0) pinned(task);
    return task;
}

/* ---- what a body does --------------------------------------------------------------------------- */

static void locks(struct work *w)
{
    uint64_t m = draw(w, MUTEXES);
    if (draw(w, 3) == 0) { if (nosv_mutex_trylock(&mutex[m])) return; }
    else CHECK_EQ(nosv_mutex_lock(&mutex[m]), 0);
    CHECK_EQ(add(&held[m], 1), 1);
    if (draw(w, 2)) OK(nosv_yield(NOSV_YIELD_NONE));
    add(&held[m], -1);
    CHECK_EQ(nosv_mutex_unlock(&mutex[m]), 0);
}
static void acts(struct work *w)
{
    switch (draw(w, 9)) {
    case 0: OK(nosv_yield(draw(w, 2) ? NOSV_YIELD_NONE : NOSV_YIELD_NOFLUSH)); break;
    case 1: OK(nosv_waitfor(draw(w, 100000), NULL)); break;
    case 2: OK(nosv_schedpoint(NOSV_SCHEDPOINT_NONE)); break;
    case 3: locks(w); break;
    case 4: OK(nosv_submit(nosv_self(), NOSV_SUBMIT_NONE)); OK(nosv_pause(NOSV_PAUSE_NONE)); break;
    case 5: OK(nosv_submit(helper(w, false), draw(w, 2) ? NOSV_SUBMIT_IMMEDIATE : NOSV_SUBMIT_NONE)); OK(nosv_pause(NOSV_PAUSE_NONE)); break;
    case 6: OK(nosv_increase_event_counter(1)); OK(nosv_submit(helper(w, true), NOSV_SUBMIT_NONE)); break;
    case 7: OK(nosv_set_submit_window_size(1 + draw(w, 4))); break;
    case 8: OK(nosv_submit(helper(w, false), draw(w, 2) ? NOSV_SUBMIT_INLINE : NOSV_SUBMIT_BLOCKING)); OK(nosv_pause(NOSV_PAUSE_NONE)); break;
    }
}

static void body(nosv_task_t task);
static nosv_task_t child_of(struct work *w, nosv_flags_t flags)
{
    nosv_task_t task;
    OK(nosv_create(&task, flags & NOSV_CREATE_JOINABLE ? joinable : type, sizeof(struct work), flags));
    struct work *c = (struct work *)nosv_get_task_metadata(task);
    memset(c, 0, sizeof(*c));
    c->random = w->random * 31 + 7;
    c->depth = w->depth - 1;
    draw(w, 2);
    switch (draw(w, 6)) {
    case 0: pinned(task); break;
    case 1: nosv_set_task_priority(task, (int)draw(w, 7) - 3); break;
    default: break;
    }
    add(&created, 1);
    return task;
}
static void children(struct work *w)
{
    nosv_task_t joined[4];
    size_t n = 0;
    for (uint64_t i = draw(w, 3); i < 4 && w->depth; i++) {
        uint64_t how = draw(w, 6);
        nosv_task_t task = child_of(w, how < 2 ? NOSV_CREATE_JOINABLE : NOSV_CREATE_NONE);
        if (how < 2) joined[n++] = task;
        OK(nosv_submit(task, how == 2 ? NOSV_SUBMIT_IMMEDIATE : how == 3 ? NOSV_SUBMIT_BLOCKING : NOSV_SUBMIT_NONE));
        if (draw(w, 3) == 0) acts(w);
    }
    if (!n) return;
    int r;
    while ((r = nosv_join_all(joined, NULL, n, draw(w, 2) ? FOREVER : draw(w, 2) * 50000)) == NOSV_ERR_TIMEOUT) acts(w);
    OK(r);
}

static void body(nosv_task_t task)
{
    struct work *w = (struct work *)nosv_get_task_metadata(task);
    CHECK(nosv_self() == task);
    if (w->stage == 0) {
        add(&begun, 1);
        for (uint64_t i = draw(w, 4); i < 4; i++) acts(w);
        w->stage = 1;
        if (draw(w, 4) == 0) {
            uint64_t mode = draw(w, 3);     /* without pending events EVENT_SUBMIT resumes at once */
            OK(nosv_set_suspend_mode((nosv_suspend_mode_t)(mode + 1), mode == 1 ? draw(w, 50000) : mode == 0 ? draw(w, 2) : 0));
            OK(nosv_suspend());
            return;
        }
    }
    CHECK_EQ(w->stage, 1);
    w->stage = 2;
    children(w);
    OK(nosv_flush_submit_window());
    CHECK_EQ(w->stage, 2);
}
static void end(nosv_task_t task) { CHECK(nosv_self() == task); add(&ended, 1); }
static void completed(nosv_task_t task) { OK(nosv_destroy(task, NOSV_DESTROY_NONE)); add(&completions, 1); }
static void completed_joinable(nosv_task_t task) { (void)task; add(&completions, 1); }      /* its waiter destroys it */

static void run_parallel(nosv_task_t task) { (void)task; add(&parallel_runs, 1); }

int main(int argc, char **argv)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : (uint64_t)t.tv_nsec ^ (uint64_t)getpid() << 32;
    printf("seed %llu\n", (unsigned long long)seed);
    fflush(stdout);
    begin();
    OK(nosv_init());
    type = type_of(body, end, completed);
    joinable = type_of(body, end, completed_joinable);
    leaf = type_of(decrease, NULL, leaf_done);
    nosv_task_type_t parallel = type_of(run_parallel, NULL, NULL);
    nosv_task_t wide = task_of(parallel, NULL, NOSV_CREATE_PARALLEL | NOSV_CREATE_JOINABLE);
    nosv_set_task_degree(wide, 50);
    struct work root;
    memset(&root, 0, sizeof(root));
    root.random = seed;
    root.depth = DEPTH;
    attach();
    for (int round = 0; round < 10; round++) {
        OK(nosv_submit(wide, NOSV_SUBMIT_NONE));
        OK(nosv_submit(child_of(&root, NOSV_CREATE_NONE), round % 2 ? NOSV_SUBMIT_NONE : NOSV_SUBMIT_BLOCKING));
        OK(nosv_wait(wide, FOREVER));
        CHECK_EQ(get(&parallel_runs), 50 * (round + 1));
    }
    UNTIL(get(&completions) == get(&created) && get(&leaves) == 0);
    OK(nosv_join(wide, NULL, FOREVER));
    OK(nosv_detach(NOSV_DETACH_NONE));
    CHECK_EQ(get(&begun), get(&created));
    CHECK_EQ(get(&ended), get(&created));
    CHECK_EQ(get(&completions), get(&created));
    for (int i = 0; i < MUTEXES; i++) CHECK_EQ(nosv_mutex_destroy(&mutex[i]), 0);
    OK(nosv_shutdown());
    printf("%d tasks\n", get(&created));
    return 0;
}
