/* sim/kernels.c - which models of a kernel there are.  SPDX-License-Identifier: Apache-2.0 */
#include "sim/kernel.h"
#include <string.h>

const struct sim_kernel_ops *const sim_kernels[] = {&sim_kernel_plain, 0};

const struct sim_kernel_ops *sim_kernel_find(const char *name)
{
    for (const struct sim_kernel_ops *const *k = sim_kernels; *k; k++)
        if (!strcmp((*k)->name, name)) return *k;
    return 0;
}
