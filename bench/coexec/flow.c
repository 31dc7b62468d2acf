/* bench/coexec/flow.c - loops and tasks with dependencies over nosv.h.  SPDX-License-Identifier: Apache-2.0 */
#include "flow.h"

#include <float.h>
#include <nosv.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static nosv_task_type_t loop_type, task_type;
static nosv_task_t creator;     /* the task of the thread that has called flow_begin */

static void must(int result, const char *call)
{
    if (result == NOSV_SUCCESS) return;
    fprintf(stderr, "%s: %s\n", call, nosv_get_error_string(result));
    _Exit(1);
}
#define MUST(call) must(call, #call)

static void *allocate(size_t size)
{
    void *p = malloc(size);
    if (p) return p;
    fprintf(stderr, "no memory for %zu bytes\n", size);
    _Exit(1);
}

/* ---- loops -------------------------------------------------------------------------------------- */

struct loop {
    long n, chunk;
    flow_body *body;    /* or null: part */
    flow_part *part;
    double *results;    /* one for each chunk */
    void *arg;
};

static void run_chunk(nosv_task_t task)
{
    const struct loop *l = nosv_get_task_metadata(task);
    long i = (long)nosv_get_execution_id(), from = i * l->chunk;
    long to = l->n - from < l->chunk ? l->n : from + l->chunk;
    if (l->body) l->body(l->arg, from, to);
    else l->results[i] = l->part(l->arg, from, to);
}

static void run_loop(const struct loop *l, long chunks)
{
    nosv_task_t task;
    MUST(nosv_create(&task, loop_type, sizeof *l, NOSV_CREATE_PARALLEL));
    memcpy(nosv_get_task_metadata(task), l, sizeof *l);
    nosv_set_task_degree(task, (int32_t)chunks);
    MUST(nosv_submit(task, NOSV_SUBMIT_BLOCKING));
    MUST(nosv_destroy(task, NOSV_DESTROY_NONE));
}

static long chunks_of(long n, long chunk) { return n <= 0 ? 0 : (n - 1) / chunk + 1; }

void flow_for(long n, long chunk, flow_body *body, void *arg)
{
    struct loop l = {.n = n, .chunk = chunk, .body = body, .arg = arg};
    long chunks = chunks_of(n, chunk);
    if (chunks) run_loop(&l, chunks);
}

static double reduce(long n, long chunk, flow_part *part, void *arg, bool least)
{
    long chunks = chunks_of(n, chunk);
    struct loop l = {.n = n, .chunk = chunk, .part = part, .arg = arg};
    double all = least ? DBL_MAX : 0;
    if (!chunks) return all;
    l.results = allocate((size_t)chunks * sizeof *l.results);
    run_loop(&l, chunks);
    for (long i = 0; i < chunks; i++) {
        if (!least) all += l.results[i];
        else if (l.results[i] < all) all = l.results[i];
    }
    free(l.results);
    return all;
}

double flow_sum(long n, long chunk, flow_part *part, void *arg) { return reduce(n, chunk, part, arg, false); }
double flow_min(long n, long chunk, flow_part *part, void *arg) { return reduce(n, chunk, part, arg, true); }

/* ---- memory of links: the creator's, reused after each flow_wait ---------------------------------- */

struct node;
struct link { struct link *next; struct node *node; };

#define BLOCK_LINKS 4096
static struct block { struct block *next; struct link links[BLOCK_LINKS]; } *blocks, *block;
static size_t block_used;

static struct link *new_link(struct node *node, struct link *next)
{
    if (!block || block_used == BLOCK_LINKS) {
        struct block **at = block ? &block->next : &blocks;
        if (!*at) {
            *at = allocate(sizeof **at);
            (*at)->next = NULL;
        }
        block = *at;
        block_used = 0;
    }
    struct link *l = &block->links[block_used++];
    *l = (struct link){next, node};
    return l;
}

/* ---- tasks -------------------------------------------------------------------------------------- */

/* A task's record, in its metadata. It stays until flow_wait, so that the table of addresses may name it. */
struct node {
    nosv_task_t task;
    struct node *next;                      /* in `nodes` */
    flow_task_body *body;
    _Atomic(struct link *) successors;      /* CLOSED: the task has ended */
    _Atomic long missing;                   /* predecessors that have not ended, and 1 while it is being created */
    _Alignas(16) char args[];
};
static struct link closed;
#define CLOSED (&closed)

static struct node *nodes;
static _Atomic long open_tasks = 1;         /* tasks that have not ended, and 1 while the creator does not wait */

static void run_node(nosv_task_t task)
{
    struct node *me = nosv_get_task_metadata(task);
    nosv_flags_t how = NOSV_SUBMIT_IMMEDIATE;   /* the first successor follows on this CPU */
    me->body(me->args);
    for (struct link *l = atomic_exchange(&me->successors, CLOSED); l; l = l->next) {
        if (atomic_fetch_sub(&l->node->missing, 1) != 1) continue;
        MUST(nosv_submit(l->node->task, how));
        how = NOSV_SUBMIT_NONE;
    }
    if (atomic_fetch_sub(&open_tasks, 1) == 1) MUST(nosv_submit(creator, NOSV_SUBMIT_NONE));
}

static void depend(struct node *node, struct node *on)
{
    struct link *head = atomic_load(&on->successors), *l;
    if (head == CLOSED || on == node) return;
    atomic_fetch_add(&node->missing, 1);
    l = new_link(node, head);
    while (!atomic_compare_exchange_weak(&on->successors, &l->next, l))
        if (l->next == CLOSED) {
            atomic_fetch_sub(&node->missing, 1);
            return;
        }
}

/* ---- addresses: a hash table with open addressing, at most half full ------------------------------ */

struct entry { const void *address; struct node *writer; struct link *readers; };
static struct entry *table;
static size_t table_size, table_used;

static struct entry *entry_of(const void *address)
{
    size_t i = (size_t)((uintptr_t)address * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (table_size - 1);
    while (table[i].address && table[i].address != address) i = (i + 1) & (table_size - 1);
    return &table[i];
}

static void make_room(void)
{
    struct entry *old = table;
    size_t n = table_size;
    if (table_used * 2 < table_size) return;
    table_size = n ? 2 * n : 1024;
    table = allocate(table_size * sizeof *table);
    memset(table, 0, table_size * sizeof *table);
    for (size_t i = 0; i < n; i++)
        if (old[i].address) *entry_of(old[i].address) = old[i];
    free(old);
}

static void add_access(struct node *node, const struct flow_access *a)
{
    make_room();
    struct entry *e = entry_of(a->address);
    if (!e->address) {
        e->address = a->address;
        table_used++;
    }
    if (a->mode == FLOW_IN) {
        if (e->writer) depend(node, e->writer);
        e->readers = new_link(node, e->readers);
        return;
    }
    for (struct link *l = e->readers; l; l = l->next) depend(node, l->node);
    if (e->writer) depend(node, e->writer);
    e->writer = node;
    e->readers = NULL;
}

void flow_task(flow_task_body *body, const void *args, size_t size, const struct flow_access *accesses, size_t n)
{
    nosv_task_t task;
    MUST(nosv_create(&task, task_type, sizeof(struct node) + size, NOSV_CREATE_NONE));
    struct node *node = nosv_get_task_metadata(task);
    node->task = task;
    node->body = body;
    node->next = nodes;
    nodes = node;
    atomic_init(&node->successors, NULL);
    atomic_init(&node->missing, 1);
    memcpy(node->args, args, size);
    atomic_fetch_add(&open_tasks, 1);
    for (size_t i = 0; i < n; i++) add_access(node, &accesses[i]);
    if (atomic_fetch_sub(&node->missing, 1) == 1) MUST(nosv_submit(task, NOSV_SUBMIT_NONE));
}

void flow_wait(void)
{
    if (atomic_fetch_sub(&open_tasks, 1) != 1) MUST(nosv_pause(NOSV_PAUSE_NONE));
    atomic_store(&open_tasks, 1);
    while (nodes) {
        struct node *node = nodes;
        nodes = node->next;
        MUST(nosv_destroy(node->task, NOSV_DESTROY_NONE));
    }
    if (table) memset(table, 0, table_size * sizeof *table);
    table_used = 0;
    block = NULL;
}

/* ---- begin and end ------------------------------------------------------------------------------ */

void flow_begin(const char *name)
{
    MUST(nosv_init());
    MUST(nosv_attach(&creator, NULL, name, NOSV_ATTACH_NONE));
    MUST(nosv_type_init(&loop_type, run_chunk, NULL, NULL, name, NULL, NULL, NOSV_TYPE_INIT_NONE));
    MUST(nosv_type_init(&task_type, run_node, NULL, NULL, name, NULL, NULL, NOSV_TYPE_INIT_NONE));
}

void flow_end(void)
{
    flow_wait();
    MUST(nosv_type_destroy(loop_type, NOSV_TYPE_DESTROY_NONE));
    MUST(nosv_type_destroy(task_type, NOSV_TYPE_DESTROY_NONE));
    MUST(nosv_detach(NOSV_DETACH_NONE));
    MUST(nosv_shutdown());
    while (blocks) {
        struct block *next = blocks->next;
        free(blocks);
        blocks = next;
    }
    block = NULL;
    free(table);
    table = NULL;
    table_size = 0;
}
