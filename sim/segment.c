/* sim/segment.c - an instance's segment in the simulator's own memory.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The same tables as src/shm/create.c makes in a file; pages that nobody touches take no memory. */
#include "sim/internal.h"
#include "shm/shm.h"
#include <sys/mman.h>

static uint64_t or_default(uint64_t v, uint64_t def) { return v ? v : def; }

static uint64_t page(uint64_t n) { return (n + 4095) / 4096 * 4096; }

static void fill(struct usf_header *h, const struct sim_config *c)
{
    h->magic = USF_SHM_MAGIC;
    h->abi = USF_SHM_ABI;
    h->header_size = sizeof *h;
    h->layout_hash = USF_LAYOUT_HASH;
    h->max_cores = USF_MAX_CORES;
    h->max_procs = USF_MAX_PROCS;
    h->max_groups = USF_MAX_GROUPS;
    h->max_tasks = USF_MAX_TASKS;
    h->max_runs = USF_MAX_RUNS;
    usf_format(h->name, sizeof h->name, "sim");
    h->quantum_ns = or_default(c->quantum_ns, SHM_DEFAULT_QUANTUM_NS);
    h->progress_ns = or_default(c->progress_ns, SHM_DEFAULT_PROGRESS_NS);
    h->lend_ns = or_default(c->lend_ns, SHM_DEFAULT_LEND_NS);
    h->poll_max_ns = c->poll_max_ns;
    h->slice_ns = or_default(c->slice_ns, SHM_DEFAULT_SLICE_NS);
    h->blind = c->topology_blind;
    usf_format(h->policy, sizeof h->policy, "%s", c->policy);
    if (c->policy_ops) usf_format(h->policy_path, sizeof h->policy_path, "%s", "-");
    h->pidns = 1;
    atomic_store(&h->namespace[0].ns, 1);
    h->created_ns = SIM_T0;
    atomic_store(&h->proc_hwm, USF_PROC_CHUNK);
    atomic_store(&h->group_hwm, USF_GROUP_CHUNK);
    atomic_store(&h->state, USF_INST_READY);
}

static void fill_cores(struct usf_header *h, const struct sim_config *c)
{
    struct usf_core *core = (struct usf_core *)(void *)((char *)h + h->off_cores);
    h->nr_cores = c->machine->nr_cpus;
    for (uint32_t i = 0; i < h->nr_cores; i++) {
        const struct sim_cpu *p = &c->machine->cpu[i];
        core[i].pol = (struct usf_pol_core){.id = i, .cpu = i, .node = p->node, .llc = p->llc, .package = p->package, .phys = p->phys,
                                            .current = USF_NONE};
        core[i].idle_since = SIM_T0;
        atomic_store(&core[i].word, USF_CORE_IDLE);
        atomic_fetch_or(&h->idle[i / 64], 1ull << (i % 64));
    }
}

struct usf_header *sim_segment_new(const struct sim_config *c, size_t *size)
{
    uint64_t cores = page(sizeof(struct usf_header)), runs = cores + page(USF_MAX_CORES * sizeof(struct usf_core));
    uint64_t procs = runs + page(USF_MAX_RUNS * sizeof(struct usf_run)), groups = procs + page(USF_MAX_PROCS * sizeof(struct usf_proc));
    uint64_t threads = groups + page((uint64_t)USF_MAX_GROUPS * sizeof(struct usf_group));
    uint64_t tasks = threads + page((uint64_t)USF_MAX_TASKS * sizeof(struct usf_thread));
    *size = tasks + page((uint64_t)USF_MAX_TASKS * sizeof(struct usf_task));
    struct usf_header *h = mmap(0, *size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (h == MAP_FAILED) return 0;
    if (c->machine->nr_cpus > 256) madvise(h, *size, MADV_HUGEPAGE);
    fill(h, c);
    h->total_size = *size;
    h->off_cores = cores;
    h->off_runs = runs;
    h->off_procs = procs;
    h->off_groups = groups;
    h->off_threads = threads;
    h->off_tasks = tasks;
    fill_cores(h, c);
    return h;
}

void sim_segment_free(struct usf_header *h, size_t size) { munmap(h, size); }
