/* src/cli/dump.h - between the files of `usf dump`.  SPDX-License-Identifier: Apache-2.0 */
#ifndef USF_CLI_DUMP_H
#define USF_CLI_DUMP_H

#include "inspect/view.h"
#include "inspect/why.h"

/* Where an instance's bytes are to be had. */
struct dump_source {
    int fd;                 /* the file, or the memory of a process that has it mapped */
    uint64_t base, size;    /* in fd */
    char text[200];         /* in words; path, size, owner, mode */
};
/* 0, or -1 with why. */
int dump_open_instance(const char *name, struct dump_source *s, char *why, size_t cap);
int dump_open_process(int32_t pid, struct dump_source *s, char *why, size_t cap);

/* "0x12 = thread 7 of ...", the name in a word of the scheduler's lock. */
void dump_owner(const struct view *v, uint32_t name, char *buf, size_t cap);
void dump_lock(const struct view *v);
void dump_cores(const struct view *v);
void dump_processes(struct why_reader *r);
/* Threads of a process that have no task of proc in v (null: all). */
void dump_threads(int32_t pid, const struct view *v, uint32_t proc);
void dump_runs(const struct view *v);
/* Bytes as hex, without the zeros behind the last that is none; nothing if all are. */
void dump_bytes(const char *what, const uint8_t *p, size_t n);

#endif
