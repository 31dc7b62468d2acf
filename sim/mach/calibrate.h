/* sim/mach/calibrate.h - the real machine, for calibrate.c.  SPDX-License-Identifier: Apache-2.0 */
#ifndef USF_SIM_CALIBRATE_H
#define USF_SIM_CALIBRATE_H

#include "sim/mach/mach.h"
#include <sched.h>
#include <stdatomic.h>

/* From sysfs: the CPUs that this process may use, with their places.  0, or -1 with *err. */
int cal_topology(struct sim_machine *m, struct mach_error *err);
int cal_topology_of(struct sim_machine *m, const cpu_set_t *set, struct mach_error *err);   /* of these */
unsigned cal_cpu(uint32_t index);       /* Linux's number of the machine's CPU */
void cal_bind(unsigned cpu);            /* the calling thread, to a CPU by Linux's number */
uint64_t cal_now(void);
uint64_t cal_cpu_now(bool process);      /* CPU time of this thread, or of all of the process */
void cal_wait(atomic_uint *word, unsigned value);
void cal_wake(atomic_uint *word);

#endif
