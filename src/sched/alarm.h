/* src/sched/alarm.h - deadlines of threads that float.  SPDX-License-Identifier: Apache-2.0
 *
 * Of all idle carriers of a process one sleeps until the earliest deadline of the threads that
 * wait, whichever threads these are: it has the alarm (sched.alarm_by, sched.alarm).  It gives the
 * alarm to another carrier before it executes a thread, and before it ends.  models/alarm.pml
 * checks this. */
#ifndef USF_SCHED_ALARM_H
#define USF_SCHED_ALARM_H

#include "sched/sched.h"

static inline uint64_t alarm_deadline(const struct sched *s, uint32_t task) { return atomic_load(&s->floating[task].deadline); }

/* The carrier is about to sleep.  Its owner's deadline, or 0.  Returns until when it sleeps, or 0:
 * without a limit. */
uint64_t alarm_set(struct sched *s, uint32_t carrier, uint64_t deadline);
/* The carrier's sleep is over, and it will sleep again (stays), or not.  Threads whose deadline is
 * over are woken.  Does nothing if the carrier does not have the alarm. */
void alarm_move(struct sched *s, uint32_t carrier, bool stays);
/* The carrier, which may be asleep, is kept for the task from now on: does it sleep too long? */
void alarm_look(struct sched *s, uint32_t carrier, uint32_t task);

#endif
