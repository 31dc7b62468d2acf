/* src/cli/dump.c - usf dump: everything there is to know about an instance, as text.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Made for instances that are wedged, retired or damaged: it reads a copy, takes no lock, sends no
 * signal, and believes nothing. The copy is not one instant. */
#include "cli/cli.h"
#include "cli/dump.h"
#include "cli/preload.h"
#include "monitor/monitor.h"
#include "sched/sched.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

void dump_bytes(const char *what, const uint8_t *p, size_t n)
{
    while (n && !p[n - 1]) n--;
    if (!n) return;
    printf("%s:", what);
    for (size_t i = 0; i < n; i++) printf("%s%02x", i % 32 == 0 ? "\n    " : i % 8 == 0 ? " " : "", p[i]);
    putchar('\n');
}

static void dump_machine(void)
{
    static struct preload lib;
    struct utsname u;
    char why[512], now[64], cpus[256];
    struct os_cpuset all;
    time_t t = time(NULL);
    strftime(now, sizeof now, "%Y-%m-%d %H:%M:%S UTC", gmtime(&t));
    printf("usf dump: version " USF_VERSION ", ABI %u, %s, monotonic %lu ns\n", USF_SHM_ABI, now, os_now());
    if (preload_find(&lib, why, sizeof why)) printf("library: %s\n", why);
    else printf("library: %s, build %s\n", lib.path, *lib.build_id ? lib.build_id : "unknown");
    if (uname(&u) == 0) printf("kernel: %s %s %s %s\n", u.sysname, u.release, u.version, u.machine);
    if (os_getaffinity(0, &all) == 0) {
        os_cpulist_format(&all, cpus, sizeof cpus);
        printf("cpus: %ld online, this tool may use %s\n", sysconf(_SC_NPROCESSORS_ONLN), cpus);
    }
    printf("user: %u, pid namespace %u\n", os_geteuid(), os_pidns_inode(os_pidns()));
}

static const char *instance_state(uint32_t s)
{
    static const char *const names[] = {"empty", "ready", "retired"};
    return s < sizeof names / sizeof *names ? names[s] : "?";
}

/* As it was found, whether that makes sense or not. */
static void dump_header(const struct usf_header *h, uint64_t now)
{
    char text[USF_POLICY_PATH_MAX];
    printf("\n== header ==\n");
    printf("magic %lx%s, ABI %u, header %u bytes, layout %lx, build %s\n", h->magic,
           h->magic == USF_SHM_MAGIC ? "" : " (wrong)", h->abi, h->header_size, h->layout_hash,
           view_bounded(h->build_id, sizeof h->build_id, text, sizeof text));
    printf("state %u (%s), user %u, size %lu, name %s\n", atomic_load(&h->state), instance_state(atomic_load(&h->state)),
           h->uid, (unsigned long)h->total_size, view_bounded(h->name, sizeof h->name, text, sizeof text));
    printf("tables: cores at %lu (%u), runs at %lu (%u), processes at %lu (%u), groups at %lu (%u), threads at %lu, tasks at %lu (%u)\n",
           (unsigned long)h->off_cores, h->max_cores, (unsigned long)h->off_runs, h->max_runs, (unsigned long)h->off_procs,
           h->max_procs, (unsigned long)h->off_groups, h->max_groups, (unsigned long)h->off_threads, (unsigned long)h->off_tasks, h->max_tasks);
    printf("made by process %u in pid namespace %u, %ld ms ago; file %lx:%lu\n", h->init_tgid, os_pidns_inode(h->pidns),
           ((long)now - (long)h->created_ns) / 1000000, (unsigned long)h->file_dev, (unsigned long)h->file_ino);
    printf("made by tool %s\n", view_bounded(h->usf_exe, sizeof h->usf_exe, text, sizeof text));

    printf("\n== configuration ==\n");
    printf("policy %s", view_bounded(h->policy, sizeof h->policy, text, sizeof text));
    printf(", object %s",
           h->policy_path[0] ? view_bounded(h->policy_path, sizeof h->policy_path, text, sizeof text) : "none");
    printf(", generation %u%s%s\n", atomic_load(&h->policy_gen), h->policy_why[0] ? ", because: " : "",
           view_bounded(h->policy_why, sizeof h->policy_why, text, sizeof text));
    printf("%u cores, quantum %lu ns, poll %lu ns, progress %lu ns, lend %lu ns, slice %lu ns%s, linger %lu ns\n", h->nr_cores,
           (unsigned long)h->quantum_ns, (unsigned long)h->poll_max_ns, (unsigned long)h->progress_ns,
           (unsigned long)h->lend_ns, (unsigned long)h->slice_ns, h->blind ? ", topology-blind" : "",
           (unsigned long)h->monitor_linger_ns);

    printf("\n== scheduler ==\n");
    printf("ready %u, idle cores", atomic_load(&h->nr_ready));
    for (unsigned w = USF_CORE_WORDS; w--;) printf(" %lx", atomic_load(&h->idle[w]));
    printf(", tasks below %u, groups below %u, processes below %u, %u taken\n",
           atomic_load(&h->task_hwm), atomic_load(&h->group_hwm), atomic_load(&h->proc_hwm), atomic_load(&h->nr_procs_active));
    dump_bytes("policy's data", h->pol_data, sizeof h->pol_data);
}

static void dump_namespace(const struct view *v, uint32_t i)
{
    const struct usf_namespace *sp = &v->h->namespace[i];
    uint64_t tried = atomic_load(&sp->tried), ns = atomic_load(&sp->ns);
    int32_t pid = atomic_load(&sp->monitor_pid);
    if (ns == USF_NS_UNKNOWN) printf("pid namespace %u: ", i);
    else printf("pid namespace %u (inode %u): ", i, os_pidns_inode(ns));
    printf("process %d (start %u)%s, looks %lu", pid, sp->monitor_start,
           i != v->namespace          ? ", of another pid namespace"
           : monitor_is_alive(sp) ? ", alive"
                                  : ", dead",
           atomic_load(&sp->beat));
    if (tried) printf(", a process tried to start one %ld ms ago", ((long)v->now - (long)tried) / 1000000);
    putchar('\n');
    if (i == v->namespace && pid > 0) dump_threads(pid, NULL, USF_NONE);
}

static void dump_monitors(const struct view *v)
{
    const struct usf_header *h = v->h;
    printf("\n== monitor ==\n");
    for (uint32_t i = 0; i < USF_MAX_NAMESPACES; i++)
        if (atomic_load(&h->namespace[i].ns)) dump_namespace(v, i);
    printf("event %u, asleep %x, lock stuck %x, stalled by process record %d, liveness unknown %x\n", atomic_load(&h->monitor_event),
           atomic_load(&h->monitor_asleep), atomic_load(&h->lock_stuck), (int)atomic_load(&h->stalled) - 1, atomic_load(&h->liveness_unknown));
}

static void dump_consistency(const struct shm *m)
{
    static struct sched s;
    char why[200];
    printf("\n== consistency ==\n");
    if (m->why[0]) printf("damaged: %s\n", m->why);
    else {
        sched_bind(&s, m->h);
        printf("%s\n", sched_is_valid(&s, why, sizeof why) ? "sound" : why);
    }
}

static int dump(struct dump_source *src)
{
    static struct usf_header raw;
    struct shm m;
    struct view v;
    struct why_reader r;
    printf("\n==== instance: %s ====\n", src->text);
    int e = shm_salvage(src->fd, src->base, src->size, &raw, &m);
    close(src->fd);
    if (e) {
        printf("%s: nothing but the header's beginning can be told\n",
               e == -EPROTO ? "made by another version of usf" : strerror(-e));
        printf("magic %lx, ABI %u, layout %lx; %s\n", raw.magic, raw.abi, raw.layout_hash, m.why);
        dump_bytes("header", (const uint8_t *)&raw, 256);
        return CLI_OK;
    }
    view_bind(&v, &m);
    why_begin(&r, &v);
    dump_header(&raw, v.now);
    if (raw.magic != USF_SHM_MAGIC) dump_bytes("header", (const uint8_t *)&raw, 256);
    dump_consistency(&m);
    dump_lock(&v);
    dump_monitors(&v);
    dump_cores(&v);
    dump_processes(&r);
    dump_runs(&v);
    why_end(&r);
    shm_close(&m);
    return CLI_OK;
}

static int failed(const char *why)
{
    usf_warn("%s", why);
    return CLI_FAILED;
}

static int dump_all(void)
{
    struct dump_source src;
    char **names, why[400];
    int n = view_instances(&names), shown = 0;
    if (n < 0) return failed("the instances cannot be listed");
    for (int i = 0; i < n; i++)
        if (dump_open_instance(names[i], &src, why, sizeof why) == 0) shown += dump(&src) == CLI_OK;
    if (!shown) puts("\nno instances");
    if (n > 0) view_free(names, n);
    return CLI_OK;
}

int cmd_dump(const struct cli_command *self, int argc, char **argv)
{
    static struct cli_args a;
    struct dump_source src;
    char why[400], *end;
    int code = cli_parse(self, &a, argc, argv);
    if (code >= 0) return code;
    bool named = config_value_of(&a.config, "instance")->origin == ORIGIN_CLI;
    const char *word = a.rest < argc ? argv[a.rest++] : NULL;
    if ((code = cli_no_more(&a, argc, argv)) >= 0) return code;
    if (word && named) return cli_usage("a process and --instance exclude each other");
    long pid = word ? strtol(word, &end, 10) : 0;
    if (word && (*end || pid <= 0 || pid > INT32_MAX)) return cli_usage("'%.40s' is not the number of a process", word);
    if (word && dump_open_process((int32_t)pid, &src, why, sizeof why)) return failed(why);
    if (named && dump_open_instance(a.config.s.instance, &src, why, sizeof why)) return failed(why);
    dump_machine();
    return word || named ? dump(&src) : dump_all();
}
