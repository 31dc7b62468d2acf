/* tests/fuzz/segment.c - the contents of an instance's file, for all who only look.  SPDX-License-Identifier: Apache-2.0
 *
 * An input is a list of changes to a sound instance: what kind of record (a byte), which (two), where in it (two), how many
 * bytes (one) and these.  Built with -DSHM_DIR="." so that nothing of the machine's is touched. */
#include "cli/cli.h"
#include "cli/doctor.h"
#include "fuzz.h"
#include "shm/internal.h"

#include <fcntl.h>
#include <unistd.h>

#define NAME "fuzz"

static struct shm_config config = {.name = NAME, .dir = "."};
static char path[SHM_PATH_MAX];
static unsigned char *image;
static struct shm_layout at;
static size_t top, threads, tasks;     /* bytes that are no hole: at the beginning, and of threads and tasks */

/* `usf doctor` looks again after a while: that it does is enough. */
int usleep(useconds_t us)
{
    (void)us;
    return 0;
}

/* A few processes and tasks in every state; the numbers are of processes that do not exist. */
static void fill(struct shm *m)
{
    struct usf_proc *p = shm_procs(m->h);
    struct usf_group *g = shm_groups(m->h);
    struct usf_thread *thread = shm_threads(m->h);
    struct usf_task *t = shm_tasks(m->h);
    for (uint32_t i = 0; i < 3; i++) {
        atomic_store(&p[i].state, 1 + i % 3);
        p[i].pid = i ? 4194304 + (int32_t)i : getpid();
        p[i].group = i;
        p[i].nr_groups = 1;
        atomic_store(&g[i].state, USF_GROUP_ACTIVE);
        g[i].proc = g[i].pol.id = g[i].pol.proc = i;
        snprintf(p[i].comm, sizeof p[i].comm, "program-%u", i);
    }
    for (uint32_t i = 0; i < 24; i++) {
        atomic_store(&t[i].state, i % 7);
        t[i].proc = t[i].pol.group = i % 3;
        t[i].thread = i;
        thread[i].tid = i ? 4194400 + (int32_t)i : getpid();
        t[i].core = USF_NONE;
        t[i].pol.id = i;
        atomic_store(&t[i].wait_kind, i % 4);
        atomic_store(&t[i].wait_addr, i % 4 == 2 ? usf_wait_call(i * 13, i) : 0x1000 * i);
        snprintf(t[i].name, sizeof t[i].name, "thread-%u", i);
    }
    atomic_store(&m->h->nr_ready, 4);       /* every seventh of 24, from 2 on */
    snprintf(m->h->policy_why, sizeof m->h->policy_why, "for no reason");
}

void fuzz_start(void)
{
    struct shm m;
    shm_path(config.dir, NAME, os_geteuid(), path, sizeof path);
    if (shm_open_instance(&config, true, &m)) fuzz_fail(__FILE__, __LINE__, m.why);
    FUZZ_CHECK(shm_reserve_tasks(m.h, config.dir, 64) == 0 && shm_join_begin(m.h, config.dir, 0, getpid(), 0) >= 0);
    fill(&m);
    shm_layout_of(SHM_FULL_SIZES, &at);
    top = at.off_groups + USF_GROUP_CHUNK * sizeof(struct usf_group);
    threads = USF_TASK_CHUNK * sizeof(struct usf_thread);
    tasks = USF_TASK_CHUNK * sizeof(struct usf_task);
    image = malloc(top + threads + tasks);
    if (!image) exit(1);
    memcpy(image, m.h, top);
    memcpy(image + top, shm_threads(m.h), threads);
    memcpy(image + top + threads, shm_tasks(m.h), tasks);
    shm_close(&m);
}

static void change(int fd, struct fuzz_input *in)
{
    const size_t sizes[] = {sizeof(struct usf_header), sizeof(struct usf_core), sizeof(struct usf_run), sizeof(struct usf_proc),
                            sizeof(struct usf_group), sizeof(struct usf_thread), sizeof(struct usf_task)};
    const uint64_t from[] = {0, at.off_cores, at.off_runs, at.off_procs, at.off_groups, at.off_threads, at.off_tasks};
    const uint32_t many[] = {1, 8, 8, 16, 16, 64, 64};
    unsigned char bytes[64];
    unsigned kind = fuzz_u8(in) % 8, which = fuzz_u16(in), where = fuzz_u16(in), n = fuzz_u8(in) % sizeof bytes;
    if (kind == 7) {
        if (ftruncate(fd, (off_t)((which << 16 | where) % at.total))) exit(1);
        return;
    }
    for (unsigned i = 0; i < n; i++) bytes[i] = fuzz_u8(in);
    uint64_t off = from[kind] + which % many[kind] * sizes[kind] + where % sizes[kind];
    if (pwrite(fd, bytes, n, (off_t)off) != (ssize_t)n) exit(1);
}

static void write_file(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {data, data + size};
    int fd = open(path, O_CREAT | O_RDWR | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || pwrite(fd, image, top, 0) != (ssize_t)top || ftruncate(fd, (off_t)at.total) ||
        pwrite(fd, image + top, threads, (off_t)at.off_threads) != (ssize_t)threads ||
        pwrite(fd, image + top + threads, tasks, (off_t)at.off_tasks) != (ssize_t)tasks) exit(1);
    while (fuzz_more(&in)) change(fd, &in);
    close(fd);
}

static void command(const char *name, const char *a, const char *b)
{
    char *argv[] = {(char *)name, (char *)"-i", (char *)NAME, (char *)a, (char *)b, NULL};
    int argc = a ? b ? 5 : 4 : 3;
    const struct cli_command *c = cli_find(name);
    int r = c->main(c, argc, argv);
    FUZZ_CHECK(r == CLI_OK || r == CLI_FAILED);
}

/* What looks, and says what is wrong with it. */
static void show(void)
{
    command("ps", NULL, NULL);
    command("ps", "--why", NULL);
    command("ps", "--json", "--why");
    command("dump", NULL, NULL);
    doctor_instances();
}

static bool ends(const char *why, size_t cap)
{ return *why && memchr(why, 0, cap) && !strchr(why, '\n'); }

void fuzz_one(const uint8_t *data, size_t size)
{
    struct shm m, s;
    char why[160];
    write_file(data, size);
    show();
    int q = shm_snapshot(config.dir, NAME, &s);
    if (q) FUZZ_CHECK(ends(s.why, sizeof s.why));
    else FUZZ_CHECK(shm_header_is_valid(s.h, s.size, why, sizeof why) && shm_tables_are_valid(s.h, why, sizeof why));
    if (!q) shm_close(&s);
    /* The participants' way in; it may replace or revive a retired one. */
    int r = shm_open_instance(&config, false, &m);
    if (r) FUZZ_CHECK(ends(m.why, sizeof m.why));
    else FUZZ_CHECK(shm_header_is_valid(m.h, m.size, why, sizeof why));
    if (!r) shm_close(&m);
}

#define AT(f) offsetof(struct usf_header, f) & 0xff, offsetof(struct usf_header, f) >> 8
#define IN(s, f) offsetof(struct s, f) & 0xff, offsetof(struct s, f) >> 8

size_t fuzz_seed(unsigned n, uint8_t *buf, size_t cap)
{
    static const uint8_t seeds[][24] = {
        /* its length; kind 0 is the header */
        {10, 0, 0, 0, AT(task_hwm), 4, 0, 4, 0, 0},
        {10, 0, 0, 0, AT(nr_cores), 4, 3, 0, 0, 0},
        {10, 0, 0, 0, AT(state), 4, 2, 0, 0, 0},
        {10, 0, 0, 0, AT(proc_hwm), 4, 16, 1, 0, 0},
        {8, 0, 0, 0, AT(pidns), 2, 1, 1},
        {10, 0, 0, 0, AT(lock), 4, 7, 0, 0, 0},
        {10, 0, 0, 0, AT(namespace[0].monitor), 4, 1, 0, 0, 0},
        {9, 0, 0, 0, AT(policy_why), 3, 27, '[', 'A'},
        {14, 1, 0, 0, IN(usf_core, word), 8, 1, 5, 0, 0, 0, 1, 0, 0},
        {10, 1, 1, 0, IN(usf_core, poller), 4, 3, 0, 0, 0x80},
        {10, 3, 1, 0, IN(usf_proc, pid), 4, 1, 0, 0, 0},
        {10, 3, 2, 0, IN(usf_proc, comm), 4, 0xff, 0xfe, 27, 7},
        {10, 4, 1, 0, IN(usf_group, proc), 4, 0xff, 0xff, 0, 0},
        {10, 4, 2, 0, IN(usf_group, state), 4, 2, 0, 0, 0},
        {10, 4, 2, 0, IN(usf_group, name), 4, 0xff, 0xfe, 27, 7},
        {10, 6, 3, 0, IN(usf_task, pol.group), 4, 0, 8, 0, 0},
        {10, 6, 3, 0, IN(usf_task, state), 4, 3, 0, 0, 0},
        {10, 6, 4, 0, IN(usf_task, core), 4, 1, 0, 0, 0},
        {14, 6, 5, 0, IN(usf_task, wait_addr), 8, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 0, 0},
        {10, 6, 6, 0, IN(usf_task, pol.next), 4, 9, 0, 0, 0},
        {10, 6, 7, 0, IN(usf_task, thread), 4, 1, 0, 0, 0},
        {10, 5, 7, 0, IN(usf_thread, tid), 4, 1, 0, 0, 0},
        {5, 7, 1, 0, 0, 0x20},
    };
    if (n >= sizeof seeds / sizeof *seeds || seeds[n][0] > cap) return 0;
    memcpy(buf, seeds[n] + 1, seeds[n][0]);
    return seeds[n][0];
}
