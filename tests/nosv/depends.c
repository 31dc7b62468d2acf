/* tests/nosv/depends.c - a runtime with data dependencies, as programs build one on tasks.  SPDX-License-Identifier: Apache-2.0
 *
 * The metadata of a task is a pointer to the runtime's own record.  The completed callback releases the successors: the first of them with
 * IMMEDIATE, the others with UNLOCKED.  It runs in a worker, or in the thread that decreased the last event.  Whoever drops the last
 * reference of a record destroys its task, which may be the parent of the task that completes. */
#include "nosv_test.h"

#define WIDTH 4
#define STEPS 25

struct node {
    nosv_task_t task;
    struct node *parent, *successors[WIDTH + 1];
    int nr_successors, predecessors;    /* those that have not completed */
    int blockers;                       /* children that have not completed, and 1 for a parent that does not wait for them */
    int references;                     /* children that are not destroyed, and 1 of its own */
    int iterations, width;              /* how often it is executed yet; predecessors of each iteration */
    int ran;
    bool with_event, alone;             /* if0: its parent has paused for it */
    void (*body)(struct node *);
};

static nosv_task_type_t type;
static int destroyed, from_outside;

static struct node *node_of(nosv_task_t task) { return pointer_of(task); }
static struct node *self(void) { return node_of(nosv_self()); }

static struct node *new_node(struct node *parent, void (*body)(struct node *))
{
    struct node *n = calloc(1, sizeof(*n));
    CHECK(n);
    *n = (struct node){.parent = parent, .body = body, .predecessors = 1, .blockers = 1, .references = 1, .iterations = 1};
    n->task = task_of(type, n, NOSV_CREATE_NONE);
    if (parent) {
        add(&parent->blockers, 1);
        add(&parent->references, 1);
    }
    return n;
}

static void precedes(struct node *first, struct node *second)
{
    first->successors[first->nr_successors++] = second;
    add(&second->predecessors, 1);
    second->width++;
}

static void start(struct node *n, nosv_flags_t flags) { if (!add(&n->predecessors, -1)) OK(nosv_submit(n->task, flags)); }

static void taskwait(void)
{
    struct node *n = self();
    if (add(&n->blockers, -1)) OK(nosv_pause(NOSV_PAUSE_NONE));
    CHECK_EQ(get(&n->blockers), 0);
    add(&n->blockers, 1);
}

static void run(nosv_task_t task)
{
    struct node *n = node_of(task);
    CHECK(nosv_self() == task && nosv_get_current_logical_cpu() >= 0);
    n->body(n);
    if (n->alone) OK(nosv_submit(n->parent->task, NOSV_SUBMIT_UNLOCKED));
}

static void end(nosv_task_t task) { CHECK(nosv_self() == task && nosv_get_current_logical_cpu() < nosv_get_num_cpus()); }

static void release(struct node *n)
{
    nosv_flags_t flags = NOSV_SUBMIT_IMMEDIATE;
    for (int i = 0; i < n->nr_successors; i++) {
        struct node *next = n->successors[i];
        if (!get(&next->iterations) || add(&next->predecessors, -1)) continue;
        OK(nosv_submit(next->task, flags));
        flags = NOSV_SUBMIT_UNLOCKED;
    }
}

/* Up to the root: parents that have completed already are gone with their last child. */
static void drop(struct node *n)
{
    for (struct node *parent; n && !add(&n->references, -1); n = parent) {
        parent = n->parent;
        OK(nosv_destroy(n->task, NOSV_DESTROY_NONE));
        free(n);
        add(&destroyed, 1);
    }
}

static void completed(nosv_task_t task)
{
    struct node *n = node_of(task), *parent = n->parent;
    if (!nosv_self()) add(&from_outside, 1);
    if (add(&n->iterations, -1)) {
        add(&n->predecessors, n->width);
        release(n);                     /* perhaps itself; then it is not this thread's any more */
        return;
    }
    release(n);
    if (parent && !add(&parent->blockers, -1)) OK(nosv_submit(parent->task, NOSV_SUBMIT_UNLOCKED));
    drop(n);
}

/* ---- events that a thread outside of tasks ends ------------------------------------------------- */

static nosv_task_t in_flight[WIDTH * STEPS * 2];
static int nr_in_flight, fulfilled, stop;

static void *fulfils(void *arg)
{
    while (!get(&stop) || get(&fulfilled) < get(&nr_in_flight)) {
        nosv_task_t task = fulfilled < get(&nr_in_flight) ? __atomic_load_n(&in_flight[fulfilled], __ATOMIC_SEQ_CST) : NULL;
        if (task) {
            add(&fulfilled, 1);
            OK(nosv_decrease_event_counter(task, 1));
        } else {
            usleep(20);
        }
    }
    return arg;
}

static void begin_event(void)
{
    OK(nosv_increase_event_counter(1));
    __atomic_store_n(&in_flight[add(&nr_in_flight, 1) - 1], nosv_self(), __ATOMIC_SEQ_CST);
}

/* ---- programs ----------------------------------------------------------------------------------- */

/* A stencil: a block depends on itself and its neighbours in the step before. */
static int steps[WIDTH];
static void block(struct node *n)
{
    int at = n->ran >> 16, step = n->ran & 0xffff;
    CHECK_EQ(get(&steps[at]), step);
    for (int i = at ? at - 1 : 0; i <= at + 1 && i < WIDTH; i++) CHECK(get(&steps[i]) == step || get(&steps[i]) == step + 1);
    set(&steps[at], step + 1);
    if (n->with_event) begin_event();
}

static void stencil(struct node *root)
{
    struct node *last[WIDTH] = {0}, *now[WIDTH];
    memset(steps, 0, sizeof(steps));
    for (int step = 0; step < STEPS; step++) {
        for (int i = 0; i < WIDTH; i++) {
            now[i] = new_node(root, block);
            now[i]->with_event = i % 2;
            now[i]->ran = i << 16 | step;
        }
        for (int i = 0; i < WIDTH && step; i++)
            for (int k = i ? i - 1 : 0; k <= i + 1 && k < WIDTH; k++) precedes(last[k], now[i]);
        for (int i = 0; i < WIDTH && step; i++) start(last[i], NOSV_SUBMIT_NONE);
        memcpy(last, now, sizeof(now));
    }
    for (int i = 0; i < WIDTH; i++) start(last[i], NOSV_SUBMIT_UNLOCKED);
    taskwait();
    for (int i = 0; i < WIDTH; i++) CHECK_EQ(get(&steps[i]), STEPS);
}

/* An iterative graph: the same tasks are submitted again.  The first depends on itself alone. */
static int loops[2];
static void counts(struct node *n) { add(&loops[n->ran], 1); if (n->with_event) begin_event(); }
static void iterates(struct node *root)
{
    struct node *loop = new_node(root, counts), *other = new_node(root, counts);
    precedes(loop, loop);
    precedes(other, other);
    other->ran = 1;
    other->with_event = true;
    loop->iterations = other->iterations = STEPS;
    memset(loops, 0, sizeof(loops));
    for (int i = 0; i < 2; i++) {
        struct node *n = i ? other : loop;
        add(&n->predecessors, -1);      /* nothing comes before the first iteration */
        start(n, NOSV_SUBMIT_NONE);
    }
    taskwait();
    CHECK(get(&loops[0]) == STEPS && get(&loops[1]) == STEPS);
}

/* Tasks of tasks: parents complete before their children, and are destroyed by them. */
static int leaves;
static void tree(struct node *n)
{
    if (n->ran == 5) {
        add(&leaves, 1);
        return;
    }
    for (int i = 0; i < 2; i++) {
        struct node *child = new_node(n, tree);
        child->ran = n->ran + 1;
        start(child, NOSV_SUBMIT_NONE);
    }
    if (n->ran % 2) taskwait();
}

/* if0: the parent executes the task inline, or pauses until it has run when it must wait for others. */
static int at_once;
static void inner(struct node *n) { (void)n; taskwait(); add(&at_once, 1); }
static void alone(struct node *n)
{
    struct node *first = new_node(n, inner), *second = new_node(n, inner), *third = new_node(n, inner);
    add(&first->predecessors, -1);
    OK(nosv_submit(first->task, NOSV_SUBMIT_INLINE));
    CHECK_EQ(get(&at_once), 1);
    precedes(second, third);
    third->alone = true;
    start(third, NOSV_SUBMIT_NONE);
    start(second, NOSV_SUBMIT_NONE);
    OK(nosv_pause(NOSV_PAUSE_NONE));
    CHECK_EQ(get(&at_once), 3);
    taskwait();
}

static void whole(struct node *root)
{
    stencil(root);
    iterates(root);
    set(&leaves, 0);
    tree(root);
    taskwait();
    set(&at_once, 0);
    alone(root);
}

int main(void)
{
    begin();
    for (int round = 0; round < 3; round++) {
        pthread_t thread;
        nosv_task_t main_task;
        set(&nr_in_flight, 0);
        set(&fulfilled, 0);
        set(&stop, 0);
        memset(in_flight, 0, sizeof(in_flight));
        OK(nosv_init());
        OK(nosv_attach(&main_task, NULL, "main", NOSV_ATTACH_NONE));
        type = type_of(run, end, completed);
        CHECK_EQ(pthread_create(&thread, NULL, fulfils, NULL), 0);
        set(&destroyed, 0);
        struct node *root = new_node(NULL, whole);
        start(root, NOSV_SUBMIT_NONE);
        UNTIL(get(&destroyed) == WIDTH * STEPS + 2 + 62 + 3 + 1);
        set(&stop, 1);
        OK(nosv_type_destroy(type, NOSV_TYPE_DESTROY_NONE));
        OK(nosv_detach(NOSV_DETACH_NONE));
        CHECK_EQ(pthread_join(thread, NULL), 0);
        OK(nosv_shutdown());
    }
    CHECK(get(&from_outside) > 0);
    return 0;
}
