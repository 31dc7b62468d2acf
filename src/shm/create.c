/* src/shm/create.c - make an instance.  SPDX-License-Identifier: Apache-2.0 */
#include "internal.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

/* A file that no process can see yet: without a name where the file system can do that, else under
 * one that no listing of instances shows. */
struct unborn {
    int fd;
    char temporary[SHM_PATH_MAX];   /* "" if it has no name */
};

static int make_file(const char *dir, const char *name, struct unborn *u)
{
    u->temporary[0] = 0;
    u->fd = os_open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (u->fd == -EOPNOTSUPP || u->fd == -EISDIR || u->fd == -EINVAL) {
        int n = usf_format(u->temporary, sizeof u->temporary, "%s/.usf-%u-%d-%lx", dir, os_geteuid(), os_gettid(),
                           (unsigned long)os_now());
        if (n >= (int)sizeof u->temporary) return -ENAMETOOLONG;
        u->fd = os_open(u->temporary, O_CREAT | O_EXCL | O_RDWR | O_NOFOLLOW | O_CLOEXEC, 0600);
    }
    if (u->fd < 0) return u->fd;
    struct shm_scope s;
    int r = shm_scope_of(name, &s) && s.level == SHM_GROUP ? os_chgrp(u->fd, s.gid) : 0;
    return r ? r : os_chmod(u->fd, sharing_mode_of(name));      /* whatever the umask */
}

static int name_file(struct unborn *u, const char *path)
{
    return u->temporary[0] ? os_link(u->temporary, path) : os_link_fd(u->fd, path);
}

static void drop_file(struct unborn *u)
{
    if (u->fd >= 0) os_close(u->fd);
    if (u->temporary[0]) os_unlink(u->temporary);
}

static uint64_t or_default(uint64_t v, uint64_t def) { return v ? v : def; }

static void fill_header(struct usf_header *h, const struct shm_config *c, const struct shm_layout *l,
                        const struct os_stat *st)
{
    char own[sizeof h->build_id];
    const char *build = c->build_id;
    if (!build) {
        os_build_id(own, sizeof own);
        build = own;
    }
    h->magic = USF_SHM_MAGIC;
    h->abi = USF_SHM_ABI;
    h->header_size = sizeof *h;
    h->layout_hash = USF_LAYOUT_HASH;
    usf_format(h->build_id, sizeof h->build_id, "%s", build);
    h->uid = st->uid;
    shm_note_layout(h, l);
    usf_format(h->name, sizeof h->name, "%s", c->name);
    h->quantum_ns = or_default(c->quantum_ns, SHM_DEFAULT_QUANTUM_NS);
    h->poll_max_ns = c->poll_max_ns == SHM_NO_POLL ? 0 : or_default(c->poll_max_ns, SHM_DEFAULT_POLL_NS);
    h->progress_ns = or_default(c->progress_ns, SHM_DEFAULT_PROGRESS_NS);
    h->lend_ns = or_default(c->lend_ns, SHM_DEFAULT_LEND_NS);
    h->slice_ns = or_default(c->slice_ns, SHM_DEFAULT_SLICE_NS);
    h->blind = c->blind;
    usf_format(h->policy, sizeof h->policy, "%s", c->policy && *c->policy ? c->policy : SHM_DEFAULT_POLICY);
    usf_format(h->policy_path, sizeof h->policy_path, "%s", c->policy_path);
    h->init_tgid = (uint32_t)os_getpid();
    h->pidns = os_pidns();
    atomic_store(&h->namespace[0].ns, h->pidns ? h->pidns : USF_NS_UNKNOWN);
    h->created_ns = h->policy_since = os_now();
    h->file_dev = st->dev;
    h->file_ino = st->ino;
    h->monitor_linger_ns = c->tool ? c->linger_ns : SHM_DEFAULT_LINGER_NS;
    if (!shm_is_shared(c->name)) usf_format(h->usf_exe, sizeof h->usf_exe, "%s", c->tool);
    atomic_store(&h->proc_hwm, USF_PROC_CHUNK);
    atomic_store(&h->group_hwm, USF_GROUP_CHUNK);
    atomic_store(&h->state, USF_INST_READY);
}

static void fill_cores(struct usf_header *h, const struct os_cpuset *cpus, const struct os_cpu_place *place)
{
    struct usf_core *core = shm_cores(h);
    uint32_t n = 0;
    for (unsigned cpu = 0; cpu < OS_CPUSET_WORDS * 64; cpu++) {
        if (!os_cpu_isset(cpus, cpu)) continue;
        core[n].pol.id = n;
        core[n].pol.cpu = cpu;
        core[n].pol.node = place[cpu].node;
        core[n].pol.llc = place[cpu].llc;
        core[n].pol.package = place[cpu].package;
        core[n].pol.phys = place[cpu].phys;
        core[n].pol.current = USF_NONE;
        core[n].idle_since = h->created_ns;
        atomic_store(&core[n].word, USF_CORE_IDLE);
        atomic_fetch_or(&h->idle[n / 64], 1ull << (n % 64));
        n++;
    }
    h->nr_cores = n;
}

/* Everything but most processes and groups, and the tasks, is real from now on: no SIGBUS later. */
static int fill_file(int fd, const struct shm_config *c, const struct os_cpuset *cpus, const struct os_cpu_place *place,
                     struct shm *m)
{
    struct shm_layout l;
    struct os_stat st;
    shm_layout_of(SHM_FULL_SIZES, &l);
    int r = os_truncate(fd, l.total);
    if (!r) r = os_allocate(fd, 0, l.off_procs + USF_PROC_CHUNK * sizeof(struct usf_proc));
    if (!r) r = os_allocate(fd, l.off_groups, USF_GROUP_CHUNK * sizeof(struct usf_group));
    if (!r) r = os_fstat(fd, &st);
    if (r) return r;
    void *map = shm_map(fd, l.total);
    if (os_is_error(map)) return (int)(intptr_t)map;
    m->h = map;
    m->size = l.total;
    m->dev = st.dev;
    m->ino = st.ino;
    fill_header(m->h, c, &l, &st);
    m->pidns = m->h->pidns;
    fill_cores(m->h, cpus, place);
    return sharing_enter_first(fd, m);
}

static int check_config(const struct shm_config *c, char *why, size_t cap)
{
    if (c->policy && strlen(c->policy) >= sizeof(((struct usf_header *)0)->policy)) {
        usf_format(why, cap, "the policy's name is too long: %s", c->policy);
        return -EINVAL;
    }
    if (c->policy_path && strlen(c->policy_path) >= USF_POLICY_PATH_MAX) {
        usf_format(why, cap, "the path of the policy is longer than %u bytes", USF_POLICY_PATH_MAX - 1);
        return -EINVAL;
    }
    return 0;
}

static int create_with(const struct shm_config *c, const char *dir, const char *path, struct os_cpu_place *place,
                       struct shm *m)
{
    struct os_cpuset cpus;
    struct unborn u = {.fd = -1};
    int r = check_config(c, m->why, sizeof m->why);
    if (!r) r = shm_choose_cpus(&c->cpus, &cpus, place, m->why, sizeof m->why);
    if (r) return r;
    r = make_file(dir, c->name, &u);
    if (!r) r = fill_file(u.fd, c, &cpus, place, m);
    if (!r) r = name_file(&u, path);
    drop_file(&u);
    if (r) shm_close(m);
    if (r && r != -EEXIST) shm_explain(r, "make", path, m->why, sizeof m->why);
    m->created = !r;
    return r;
}

int shm_create(const struct shm_config *c, const char *dir, const char *path, struct shm *m)
{
    /* 12 KiB: too much for a stack that may be a user's */
    size_t len = OS_CPUSET_WORDS * 64 * sizeof(struct os_cpu_place);
    void *place = os_map(len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (os_is_error(place)) return shm_explain((int)(intptr_t)place, "make", path, m->why, sizeof m->why);
    int r = create_with(c, dir, path, place, m);
    os_unmap(place, len);
    return r;
}
