/* tests/fuzz/machine.c - the simulator's machines: files, and hwloc's XML.  SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"
#include "sim/mach/mach.h"

static void check(struct sim_machine *m, int r, const struct mach_error *e)
{
    char why[160], buf[200];
    if (r) {
        FUZZ_CHECK(*e->text && memchr(e->text, 0, sizeof e->text) && memchr(e->file, 0, sizeof e->file) && !strchr(e->text, '\n'));
    } else {
        FUZZ_CHECK(sim_machine_is_valid(m, why, sizeof why));
        FUZZ_CHECK(m->nr_cpus <= MACH_CPUS_MAX && *mach_describe(m, buf, sizeof buf));
    }
    sim_machine_free(m);
}

void fuzz_start(void) {}

void fuzz_one(const uint8_t *data, size_t size)
{
    struct sim_machine m;
    struct mach_error e;
    char *text = malloc(size + 1);
    memcpy(text, data, size);
    text[size] = 0;
    bool xml = size && *text == '<';
    check(&m, xml ? mach_parse_xml(&m, "m", text, size, &e) : mach_parse(&m, "m", text, size, &e), &e);
    if (size < 200 && !memchr(text, '/', size) && memchr(text, ':', strlen(text))) check(&m, mach_find(&m, text, &e), &e);
    free(text);
}

size_t fuzz_seed(unsigned n, uint8_t *buf, size_t cap)
{
    static const char *const texts[] = {
        "machine \"a\" # b\ntopology package:2 numa:4 l3:*2 core:16 pu:2\ncost switch=1.5us cold-node=3ms\nbandwidth 3GB/s\nsmt 1000 600\npower busy=3W spin=2500mW idle=1W\n",
        "topology numa:2 core:2\ndistance 10 20 20 10\nbandwidth 1GB/s 2GB/s\n",
        "package:2 core:*4 wake=3us", "hwloc \"none.xml\"\n",
        "<topology version=\"2.0\"><object type=\"Machine\" cpuset=\"0x0000000f\"><object type='Package' cpuset=\"0x3\"><object type=\"NUMANode\" os_index=\"1\" cpuset=\"0x3,,0x3\"/>"
        "<object type=\"L3Cache\" cpuset=\"0x3\"/><object type=\"Core\" cpuset=\"0x1\"><object type=\"PU\" os_index=\"0\"/></object></object></object>"
        "<distances2 type=\"NUMANode\" nbobjs=\"1\" kind=\"5\"><indexes length=\"2\">1 </indexes><u64values length=\"3\">10 </u64values></distances2></topology>",
        "<!-- x --><topology><object type=\"Cache\" depth=\"2\" cpuset=\"0x1\"/><object type=\"PU\" os_index=\"3\"/><distances nbobjs=\"1\"><latency value=\"1.0\"/></distances></topology>",
    };
    return fuzz_seed_text(texts, sizeof texts / sizeof *texts, n, buf, cap);
}
