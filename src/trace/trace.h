/* src/trace/trace.h - take part in a recording (`usf trace`).  SPDX-License-Identifier: Apache-2.0
 *
 * What programs and the monitor need of a recording's file.  src/sched/ring.h has the rings in it,
 * and who writes them. */
#ifndef USF_TRACE_TRACE_H
#define USF_TRACE_TRACE_H

#include "sched/ring.h"

/* sched.follow: usf_header.trace is another than this process goes by.  Without the lock.  Also
 * when the process has left for good (sched.leaving): then nothing of a recording stays in its
 * memory. */
void trace_follow(struct sched *s);
#define TRACE_SUFFIX ".trace"
/* The path of the file: its length, or -errno (-EINVAL: no name, or an instance that users
 * share). */
int  trace_path(const char *dir, const char *instance, uint32_t uid, char *buf, size_t cap);
/* The file goes, and the number is taken back, if their recorder has died.  True: there is no file
 * now.  A number without a file stays: no process can go by it, the next recorder takes its place,
 * and the file may be one that only another container sees. */
bool trace_clean(struct usf_header *h, const char *dir, const char *instance);
/* Remove the path if it is this file, of our own.  Who calls has it locked. */
bool trace_remove(int fd, const char *path);

#endif
