/* sim/cli/lists.c - usf sim machines, workloads, policies, check, calibrate.
 * SPDX-License-Identifier: Apache-2.0 */
#include "policy/policy.h"
#include "sim/cli/cli.h"
#include "sim/linux/kernel.h"
#include "text/json.h"
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A list for --json, while one is printed. */
static struct json *machine;
static struct json json_list;

static void list_begin(const struct options *o)
{
    if (!o->json) return;
    json_start(&json_list, stdout);
    json_open(&json_list, NULL, '[');
    machine = &json_list;
}

static void list_entry(const char *kind, const char *name, const char *text)
{
    json_open(machine, NULL, '{');
    if (kind) json_string(machine, "kind", kind);
    json_string(machine, "name", name);
    json_string(machine, "description", text);
    json_close(machine, '}');
}

static int list_end(int code)
{
    if (machine) {
        json_close(machine, ']');
        json_end(machine);
    }
    return code;
}

static const char *ending;
static int with_ending(const struct dirent *d)
{
    size_t n = strlen(d->d_name), e = strlen(ending);
    return n > e && !strcmp(d->d_name + n - e, ending);
}

/* Calls fn with each name of the library, without its ending. */
static int each(const char *kind, const char *end, void (*fn)(const char *name))
{
    char dir[1024];
    struct dirent **list;
    ending = end;
    int n = sim_library(kind, dir, sizeof dir) ? scandir(dir, &list, with_ending, alphasort) : -1;
    if (n < 0) {
        trouble("there is no library of %s beside this program", kind);
        return SIM_FAILED;
    }
    for (int i = 0; i < n; i++) {
        list[i]->d_name[strlen(list[i]->d_name) - strlen(end)] = 0;
        fn(list[i]->d_name);
        free(list[i]);
    }
    free(list);
    return SIM_OK;
}

static void show_machine(const char *name)
{
    struct sim_machine m;
    char shape[160];
    if (!load_machine(name, &m)) return;
    if (machine) list_entry(NULL, name, mach_describe(&m, shape, sizeof shape));
    else printf("%-14s %s (%s)\n", name, m.name, mach_describe(&m, shape, sizeof shape));
    sim_machine_free(&m);
}

int cmd_sim_machines(struct options *o)
{
    struct sim_machine m;
    if (!o->nr_rest) return list_begin(o), list_end(each("machines", ".machine", show_machine));
    if (o->json) return usage("--json is for the list; a machine is printed as a file");
    if (!load_machine(o->rest[0], &m)) return SIM_USAGE;
    mach_write(stdout, &m);
    sim_machine_free(&m);
    return SIM_OK;
}

static void show_workload(const char *name)
{
    struct lang_workload *w = load_workload(name, NULL);
    if (!w) return;
    if (machine) list_entry(NULL, name, w->title ? w->title : "");
    else printf("%-24s %s\n", name, w->title ? w->title : "");
    for (const struct lang_param *q = w->params; q && !machine; q = q->next) printf("%26s--set %s=...\n", "", q->name);
    lang_free(w);
}

int cmd_sim_workloads(struct options *o)
{
    char dir[1024], path[1400], why[128];
    size_t size;
    if (!o->nr_rest) return list_begin(o), list_end(each("workloads", ".usfw", show_workload));
    if (o->json) return usage("--json is for the list; a workload is printed as a file");
    if (strchr(o->rest[0], '/') || !sim_library("workloads", dir, sizeof dir)) return usage("'%.60s' is no name of the library", o->rest[0]);
    snprintf(path, sizeof path, "%s/%s.usfw", dir, o->rest[0]);
    char *text = sim_read_file(path, LANG_FILE_MAX, &size, why, sizeof why);
    if (!text) return usage("there is no workload '%.60s' ('usf sim workloads' lists them)", o->rest[0]);
    fwrite(text, 1, size, stdout);
    free(text);
    return SIM_OK;
}

int cmd_sim_policies(struct options *o)
{
    if (o->json) {
        list_begin(o);
        for (const struct usf_policy_ops *const *p = usf_builtin_policies; *p; p++) list_entry("policy", (*p)->name, (*p)->description);
        for (const struct sim_kernel_ops *const *k = sim_kernels; *k; k++) list_entry("kernel", (*k)->name, (*k)->description);
        return list_end(SIM_OK);
    }
    puts("Policies of usf (also: the path of a policy's shared object):");
    for (const struct usf_policy_ops *const *p = usf_builtin_policies; *p; p++) printf("  %-16s %s\n", (*p)->name, (*p)->description);
    puts("\nModels of a kernel, without usf (POLICY@MODEL: usf over that one; plain if nothing is said):");
    for (const struct sim_kernel_ops *const *k = sim_kernels; *k; k++) printf("  %-16s %s\n", (*k)->name, (*k)->description);
    return SIM_OK;
}

/* ---- check ---------------------------------------------------------------------------------------- */
struct size { uint64_t programs, codes, ops, tasks; };

static struct size size_of(const struct sim_workload *w)
{
    struct size s = {.programs = w->nr_programs};
    for (uint32_t i = 0; i < w->nr_programs; i++) {
        const struct sim_program *p = &w->program[i];
        s.codes += p->nr_codes;
        for (uint32_t k = 0; k < p->nr_codes; k++) s.ops += p->code[k].nr;
        for (uint32_t k = 0; k < p->nr_graphs; k++) s.tasks += p->graph[k].nr_tasks;
    }
    return s;
}

static void say_size(const struct options *o, const struct lang_workload *w, const struct lang_lowered *l)
{
    struct size s = size_of(&l->w);
    struct json j;
    char buf[24];
    uint64_t last = l->w.program[l->w.nr_programs - 1].start_ns;
    if (o->json) {
        json_start(&j, stdout);
        json_open(&j, NULL, '{');
        json_string(&j, "workload", w->title ? w->title : o->rest[0]);
        json_uint(&j, "programs", s.programs);
        json_uint(&j, "codes", s.codes);
        json_uint(&j, "operations", s.ops);
        json_uint(&j, "tasks", s.tasks);
        json_uint(&j, "last_arrival_ns", last);
        json_close(&j, '}');
        json_end(&j);
        return;
    }
    printf("%s: good\n%" PRIu64 " programs, the last one arrives at %s; %" PRIu64 " codes with %" PRIu64 " operations, %" PRIu64 " tasks in graphs\n",
           w->title ? w->title : o->rest[0], s.programs, out_time(last, buf), s.codes, s.ops, s.tasks);
}

int cmd_sim_check(struct options *o)
{
    struct sim_machine m;
    struct lang_error e;
    char why[256];
    if (!load_machine(o->machine, &m)) return SIM_USAGE;
    struct lang_workload *w = load_workload(o->rest[0], &o->sets);
    struct lang_lowered *l = w ? lang_lower(w, &m, o->seed, &e) : NULL;
    bool good = l && sim_workload_is_valid(&l->w, why, sizeof why);
    if (w && !l) say_error(&e);
    else if (l && !good) trouble("%.100s: %s", o->rest[0], why);
    if (good) say_size(o, w, l);
    lang_lowered_free(l);
    lang_free(w);
    sim_machine_free(&m);
    return good ? SIM_OK : SIM_FAILED;
}

/* ---- calibrate ------------------------------------------------------------------------------------ */
static void say(const char *what)
{
    if (isatty(STDERR_FILENO)) fprintf(stderr, "measuring %s\n", what);
}

static void warn(const char *what) { trouble("%s", what); }

int cmd_sim_calibrate(struct options *o)
{
    struct sim_machine m;
    struct mach_error e;
    double load;
    if (getloadavg(&load, 1) == 1 && load > 0.5 * (double)sysconf(_SC_NPROCESSORS_ONLN))
        trouble("this machine is not idle (load %.1f): yields, switches and caches will look dearer than they are", load);
    if (mach_calibrate(&m, say, warn, &e)) {
        say_machine_error(&e);
        sim_machine_free(&m);
        return SIM_FAILED;
    }
    FILE *f = o->output && strcmp(o->output, "-") ? fopen(o->output, "we") : stdout;
    if (!f) trouble("cannot write '%.150s': %s", o->output, strerror(errno));
    else mach_write(f, &m);
    bool bad = !f || ferror(f);
    if (f && f != stdout) bad |= fclose(f) != 0;
    sim_machine_free(&m);
    return bad ? SIM_FAILED : SIM_OK;
}
