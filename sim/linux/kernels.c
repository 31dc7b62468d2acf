/* sim/linux/kernels.c - which models of a kernel there are.  SPDX-License-Identifier: Apache-2.0 */
#include "sim/linux/kernel.h"
#include <string.h>

const struct sim_kernel_ops *const sim_kernels[] = {
    &sim_kernel_plain, &sim_kernel_eevdf, &sim_kernel_eevdf_1000, &sim_kernel_eevdf_forfeit, &sim_kernel_cfs, &sim_kernel_cfs_1000,
    &sim_kernel_rr, &sim_kernel_fifo, &sim_kernel_static, &sim_kernel_dlb, &sim_kernel_dlb_busy, 0,
};

const struct sim_kernel_ops *sim_kernel_find(const char *name)
{
    for (const struct sim_kernel_ops *const *k = sim_kernels; *k; k++)
        if (!strcmp((*k)->name, name)) return *k;
    return 0;
}
