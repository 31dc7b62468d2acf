/* sim/machine.h - the simulated machine.  SPDX-License-Identifier: Apache-2.0
 *
 * Whoever reads a machine from text or hwloc's XML fills this struct; the engine only reads it.
 * All indices are dense, from 0: cpu[] is ordered as the instance's cores will be, so that core i
 * of the scheduler is cpu[i]. */
#ifndef USF_SIM_MACHINE_H
#define USF_SIM_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

#define SIM_SMT_MAX 8u

struct sim_cpu {                /* one hardware thread */
    uint32_t phys, llc, node, package;      /* dense, over the whole machine */
};

/* What things take, ns.  Defaults: sim_costs_default. */
struct sim_costs {
    uint64_t switch_ns;         /* the kernel changes threads on a CPU */
    uint64_t block_ns;          /* a thread enters the kernel to sleep (futex wait, read), until the switch */
    uint64_t wake_ns;           /* ... to wake one: what the waker pays */
    uint64_t wake_latency_ns;   /* from there until the woken one is runnable on a CPU that is awake */
    uint64_t idle_wake_ns;      /* ... the more on one that has idled (interrupt, sleep state) */
    uint64_t idle_after_ns;     /* a CPU that has idled for less is still awake */
    uint64_t idle_deep_ns;      /* ... and the more on one that has idled for half a ms or longer; in proportion before that */
    uint64_t idle_kick_ns;      /* ... and the more that its waker pays (to send the interrupt; in a virtual machine the host does that) */
    uint64_t yield_ns;          /* sched_yield, without the switch */
    uint64_t float_ns;          /* a kernel thread goes on with another thread of its process (usf's option float), without the decision */
    uint64_t pin_ns;            /* to bind a thread to a CPU: what the binder pays */
    uint64_t migrate_ns;        /* a running or runnable thread is moved to another CPU's queue */
    uint64_t signal_ns;         /* the monitor's preemption signal: delivery and handler, at the thread */
    uint64_t sched_ns;          /* a decision of usf's scheduler, outside the lock */
    uint64_t lock_ns;           /* ... and inside: so long is the scheduler lock held */
    uint64_t spin_ns;           /* a round of a busy-wait loop: how late the end of a wait is seen */
    uint64_t sync_ns;           /* an uncontended lock, barrier, channel operation */
    uint64_t create_ns;         /* a new thread: what its creator pays */
    /* Cold caches: what a thread with a working set of normal size (100 %) loses in its first while
     * on a CPU, by where it last ran. */
    uint64_t cold_same_ns;      /* the same CPU, but others have run there since */
    uint64_t cold_core_ns;      /* another core below the same last-level cache */
    uint64_t cold_llc_ns;       /* another last-level cache of the same node */
    uint64_t cold_node_ns;      /* another node */
};

struct sim_machine {
    char name[64];
    uint32_t nr_cpus, nr_phys, nr_llcs, nr_nodes, nr_packages;
    struct sim_cpu *cpu;        /* [nr_cpus] */
    /* Speed of each hardware thread of a core, per mille, by how many of its core are busy.  [1] is
     * 1000. */
    uint32_t smt_speed[SIM_SMT_MAX + 1];
    uint16_t *distance;         /* [nr_nodes * nr_nodes], as ACPI's: 10 is local; null: all 10 and 20 */
    uint64_t *bandwidth;        /* [nr_nodes] of each node's memory, MB/s; 0, or a null pointer: no bound */
    struct sim_costs cost;
    /* For the energy proxy, mW per CPU: computing, busy-waiting, idle. */
    uint32_t busy_mw, spin_mw, idle_mw;
};

void sim_costs_default(struct sim_costs *c);
/* A regular one: packages of nodes of last-level caches of cores of hardware threads, defaults for
 * all else.  CPU numbers run through the first hardware threads of all cores first, as Linux's do.
 * 0, or -ENOMEM, -EINVAL (a factor is 0, or more than the build allows). */
int  sim_machine_regular(struct sim_machine *m, uint32_t packages, uint32_t nodes, uint32_t llcs, uint32_t cores, uint32_t smt);
/* Is it sound?  False: why says what is not. */
bool sim_machine_is_valid(const struct sim_machine *m, char *why, unsigned cap);
void sim_machine_free(struct sim_machine *m);

static inline uint32_t sim_distance(const struct sim_machine *m, uint32_t from, uint32_t to)
{ return m->distance ? m->distance[from * m->nr_nodes + to] : from == to ? 10 : 20; }

#endif
