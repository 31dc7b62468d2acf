/* sim/mach/write.c - a machine as a file.  SPDX-License-Identifier: Apache-2.0 */
#include "sim/mach/mach.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const char *mach_describe(const struct sim_machine *m, char *buf, size_t cap)
{
    snprintf(buf, cap, "%u package%s, %u node%s, %u cache%s, %u cores, %u CPUs", m->nr_packages, m->nr_packages == 1 ? "" : "s", m->nr_nodes,
             m->nr_nodes == 1 ? "" : "s", m->nr_llcs, m->nr_llcs == 1 ? "" : "s", m->nr_phys, m->nr_cpus);
    return buf;
}

static void write_time(FILE *f, const char *name, uint64_t ns)
{
    if (ns % 1000000 == 0 && ns) fprintf(f, " %s=%" PRIu64 "ms", name, ns / 1000000);
    else if (ns % 1000 == 0 && ns) fprintf(f, " %s=%" PRIu64 "us", name, ns / 1000);
    else fprintf(f, " %s=%" PRIu64 "ns", name, ns);
}

/* Irregular shapes are rounded to the nearest regular one in text; hwloc's file says them
 * exactly. */
void mach_write(FILE *f, const struct sim_machine *m)
{
    fprintf(f, "machine \"%s\"\n", m->name);
    fprintf(f, "topology package:%u numa:*%u l3:*%u core:*%u pu:%u\n", m->nr_packages, m->nr_nodes / m->nr_packages, m->nr_llcs / m->nr_nodes,
            m->nr_phys / m->nr_llcs, m->nr_cpus / m->nr_phys);
    unsigned n = 0;
    for (const struct mach_cost *c = mach_costs; c->name; c++) {
        uint64_t v;
        memcpy(&v, (const char *)&m->cost + c->field, sizeof v);
        if (n++ % 6 == 0) fprintf(f, "%scost", n > 1 ? "\n" : "");
        write_time(f, c->name, v);
    }
    fputc('\n', f);
    if (m->distance && m->nr_nodes > 1) {
        fputs("distance", f);
        for (uint32_t i = 0; i < m->nr_nodes * m->nr_nodes; i++) fprintf(f, " %u", m->distance[i]);
        fputc('\n', f);
    }
    if (m->bandwidth) {
        fputs("bandwidth", f);
        for (uint32_t i = 0; i < m->nr_nodes; i++) fprintf(f, " %" PRIu64 "MB/s", m->bandwidth[i]);
        fputc('\n', f);
    }
    fputs("smt", f);
    for (unsigned i = 1; i <= SIM_SMT_MAX; i++) fprintf(f, " %u", m->smt_speed[i] ? m->smt_speed[i] : 1000);
    fprintf(f, "\npower busy=%umW spin=%umW idle=%umW\n", m->busy_mw, m->spin_mw, m->idle_mw);
}
