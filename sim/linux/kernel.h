/* sim/linux/kernel.h - the Linux baselines behind sim/kernel.h.  SPDX-License-Identifier: Apache-2.0
 *
 *   eevdf             from 6.6 on, 250 Hz      cfs               until 6.5, 250 Hz
 *   eevdf-1000hz      1000 Hz                  cfs-1000hz        1000 Hz
 *   eevdf-forfeit     6.18's sched_yield       static            equal partitions, EEVDF within
 *   sched-rr, sched-fifo  all real time        dlb, dlb-busy     ... lending CPUs that idle (or whose task busy-waits)
 *
 * Spin-waits turned into yields are the workload's affair: sim_spins_to_yields. */
#ifndef USF_SIM_LINUX_KERNEL_H
#define USF_SIM_LINUX_KERNEL_H

#include "sim/kernel.h"
#include "sim/program.h"

extern const struct sim_kernel_ops sim_kernel_eevdf, sim_kernel_eevdf_1000, sim_kernel_eevdf_forfeit, sim_kernel_cfs, sim_kernel_cfs_1000,
    sim_kernel_rr, sim_kernel_fifo, sim_kernel_static, sim_kernel_dlb, sim_kernel_dlb_busy;

/* All models, the plain one too.  Ends with null. */
extern const struct sim_kernel_ops *const sim_kernels[];
const struct sim_kernel_ops *sim_kernel_find(const char *name);

/* All busy-waits of the workload look and yield instead; answers with how many operations it
 * changed. */
uint32_t sim_spins_to_yields(struct sim_workload *w);

#endif
