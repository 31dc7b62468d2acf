/* sim/mach/mach.h - machines from text, hwloc's XML and measurement.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef USF_SIM_MACH_H
#define USF_SIM_MACH_H

#include "sim/machine.h"
#include <stddef.h>
#include <stdio.h>

#define MACH_CPUS_MAX 16384u
#define MACH_FILE_MAX (16u << 20)

struct mach_error { char file[256]; unsigned line, col; char text[320]; };

/* A machine file's text: lines of
 *   machine "NAME"
 *   topology package:2 numa:4 l3:8 core:56 pu:2      totals over the machine; pu: hardware threads of a core; `l3:*2`: per parent
 *   hwloc FILE                                       ... or from hwloc's XML, beside this file
 *   cost KEY=TIME...    distance N...    bandwidth BANDWIDTH...    smt MILLE...    power KEY=POWER...
 * 0, or -1 with *err; m is to be freed in both cases. */
int mach_parse(struct sim_machine *m, const char *path, const char *text, size_t size, struct mach_error *err);
/* hwloc's XML, as lstopo writes it (versions 1 and 2). */
int mach_parse_xml(struct sim_machine *m, const char *path, const char *text, size_t size, struct mach_error *err);
/* What --machine says: a description (it has a ':', like `core:16` or `package:2 core:8
 * switch=2us`), a file, or a ready one's name. */
int mach_find(struct sim_machine *m, const char *spec, struct mach_error *err);
/* Write it as a machine file that gives the same again. */
void mach_write(FILE *f, const struct sim_machine *m);
/* "4 packages, 4 nodes, 24 cores, 24 CPUs" */
const char *mach_describe(const struct sim_machine *m, char *buf, size_t cap);

/* Costs by name, for text: ends with a null name. */
struct mach_cost { const char *name; size_t field; const char *help; };
extern const struct mach_cost mach_costs[];

/* ---- files.c: where ready machines and workloads lie --------------------------------------------- */
/* Beside the program: KIND ("machines", "workloads") in sim/ of a build, or in share/usf/ of an
 * installation.  False: there is none. */
bool sim_library(const char *kind, char *path, size_t cap);
/* Whole, NUL-terminated, malloc'd; null with *why. */
char *sim_read_file(const char *path, size_t max, size_t *size, char *why, size_t cap);

/* ---- calibrate.c --------------------------------------------------------------------------------- */
/* Measure this machine: its topology, and what switches and their like cost.  Takes some seconds.
 * 0, or -1 with *err. */
int mach_calibrate(struct sim_machine *m, void (*say)(const char *what), void (*warn)(const char *what), struct mach_error *err);

#endif
