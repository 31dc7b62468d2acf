/* src/shm/check.c - is this a segment of ours, and a sound one?
 * SPDX-License-Identifier: Apache-2.0
 *
 * The bytes may be anything: another version, another program's file, damage.  Nothing is used
 * before it has been checked, and every answer says what to do. */
#include "internal.h"
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#define PAGE 4096u

static uint64_t up(uint64_t v) { return (v + PAGE - 1) & ~(uint64_t)(PAGE - 1); }

void shm_layout_of(const struct shm_sizes *n, struct shm_layout *l)
{
    l->off_cores = up(sizeof(struct usf_header));
    l->off_runs = up(l->off_cores + (uint64_t)n->cores * sizeof(struct usf_core));
    l->off_procs = up(l->off_runs + (uint64_t)n->runs * sizeof(struct usf_run));
    l->off_groups = up(l->off_procs + (uint64_t)n->procs * sizeof(struct usf_proc));
    l->off_threads = up(l->off_groups + (uint64_t)n->groups * sizeof(struct usf_group));
    l->off_tasks = up(l->off_threads + (uint64_t)n->tasks * sizeof(struct usf_thread));
    l->total = up(l->off_tasks + (uint64_t)n->tasks * sizeof(struct usf_task));
}

void shm_note_layout(struct usf_header *h, const struct shm_layout *l)
{
    h->total_size = l->total;
    h->off_cores = l->off_cores;
    h->off_procs = l->off_procs;
    h->off_groups = l->off_groups;
    h->off_threads = l->off_threads;
    h->off_tasks = l->off_tasks;
    h->off_runs = l->off_runs;
    h->max_cores = USF_MAX_CORES;
    h->max_procs = USF_MAX_PROCS;
    h->max_groups = USF_MAX_GROUPS;
    h->max_tasks = USF_MAX_TASKS;
    h->max_runs = USF_MAX_RUNS;
}

int shm_explain(int error, const char *doing, const char *path, char *why, size_t cap)
{
    static const struct { int error; const char *text; } known[] = {
        {-EACCES, "no permission; is the directory writable?"},
        {-EROFS, "the file system is read-only"},
        {-ENOSPC, "no space is left; free some there, or mount it larger"},
        {-EDQUOT, "the disk quota is used up"},
        {-ENOENT, "the directory does not exist"},
        {-ENOTDIR, "part of the path is not a directory"},
        {-EMFILE, "too many open files in this process"},
        {-ENFILE, "too many open files in the system"},
        {-ENOMEM, "out of memory"},
        {-EFBIG, "it is larger than files may be here (ulimit -f)"},
        {-EPERM, "not permitted"},
        {-EWOULDBLOCK, "another process keeps it locked; try again"},
    };
    for (unsigned i = 0; i < sizeof known / sizeof known[0]; i++)
        if (known[i].error == error) {
            usf_format(why, cap, "cannot %s %s: %s", doing, path, known[i].text);
            return error;
        }
    usf_format(why, cap, "cannot %s %s: error %d", doing, path, -error);
    return error;
}

/* What a group shares belongs to that group: only its members can make such a file. */
static int check_owner(const struct os_stat *st, const char *path, const char *name, char *why, size_t cap)
{
    struct shm_scope s;
    if (!shm_scope_of(name, &s)) return -EINVAL;
    if (s.level == SHM_USER && st->uid != os_geteuid()) {
        usf_format(why, cap, "%s belongs to user %u, not to you (user %u); choose another --instance", path, st->uid,
                   os_geteuid());
        return -EPERM;
    }
    if (s.level == SHM_GROUP && st->gid != s.gid) {
        usf_format(why, cap, "%s belongs to group %u, not to group %u: user %u, who is perhaps no member, has put it there; choose "
                   "another --instance", path, st->gid, s.gid, st->uid);
        return -EPERM;
    }
    return 0;
}

static int check_mode(const struct os_stat *st, const char *path, const char *name, char *why, size_t cap)
{
    char command[80];
    unsigned m = st->mode & 07777, right = sharing_mode_of(name);
    if (m == right) return 0;
    int n = usf_format(why, cap, "%s has mode 0%u%u%u instead of 0%u%u%u, others could have changed it; ", path, m >> 6 & 7,
                       m >> 3 & 7, m & 7, right >> 6 & 7, right >> 3 & 7, right & 7);
    if ((size_t)n >= cap) return -EPERM;
    if (st->uid == os_geteuid()) usf_format(why + n, cap - (size_t)n, "run '%s'", shm_clean_command(path, command, sizeof command));
    else usf_format(why + n, cap - (size_t)n, "choose another --instance: user %u made it", st->uid);
    return -EPERM;
}

int shm_check_file(int fd, const char *path, const char *name, struct os_stat *st, char *why, size_t cap)
{
    char command[80];
    int r = os_fstat(fd, st);
    if (r) return shm_explain(r, "examine", path, why, cap);
    if (!S_ISREG(st->mode)) {
        usf_format(why, cap, "%s is not a regular file; remove it, or choose another --instance", path);
        return -EBADMSG;
    }
    r = check_owner(st, path, name, why, cap);
    if (!r) r = check_mode(st, path, name, why, cap);
    if (r) return r;
    if (st->size < sizeof(struct usf_header)) {
        usf_format(why, cap, "%s is damaged: %lu bytes, a header has %lu; run '%s'", path,
                   (unsigned long)st->size, (unsigned long)sizeof(struct usf_header),
                   shm_clean_command(path, command, sizeof command));
        return -EBADMSG;
    }
    return 0;
}

const char *shm_clean_command(const char *path, char *buf, size_t cap)
{
    const char *file = path;
    char name[USF_NAME_MAX];
    uint32_t uid;
    for (const char *p = path; *p; p++)
        if (*p == '/') file = p + 1;
    bool given = shm_name_of_file(file, &uid, name) && strcmp(name, SHM_DEFAULT_NAME);
    usf_format(buf, cap, "usf clean%s%s --force", given ? " -i " : "", given ? name : "");
    return buf;
}

static bool is_text(const char *s, size_t cap)
{
    for (size_t i = 0; i < cap; i++) {
        if (!s[i]) return true;
        if (s[i] < 0x20 || s[i] == 0x7f) return false;
    }
    return false;
}

const char *(*shm_library_build)(void);

static void our_build_id(const char *given, char *buf, size_t cap)
{
    if (!given || !*given) given = shm_library_build ? shm_library_build() : NULL;
    if (given && *given) usf_format(buf, cap, "%s", given);
    else os_build_id(buf, cap);
}

/* Enough of a build-id to tell it from others. */
static void shorten(char *id)
{
    if (!*id) usf_format(id, 16, "unknown");
    else if (strlen(id) > 12) id[12] = 0;
}

int shm_check_prefix(const struct usf_header *h, const char *path, const char *our_build, char *why, size_t cap)
{
    char ours[64], theirs[64] = "unreadable", command[80];
    if (h->magic != USF_SHM_MAGIC) {
        usf_format(why, cap, "%s is damaged: it does not begin as an instance does; run '%s'", path,
                   shm_clean_command(path, command, sizeof command));
        return -EBADMSG;
    }
    if (h->abi != USF_SHM_ABI || h->layout_hash != USF_LAYOUT_HASH || h->header_size != sizeof(struct usf_header)) {
        if (is_text(h->build_id, sizeof h->build_id)) usf_format(theirs, sizeof theirs, "%s", h->build_id);
        our_build_id(our_build, ours, sizeof ours);
        shorten(ours);
        shorten(theirs);
        usf_format(why, cap,
                   "%s was made by another version of usf (ABI %u layout %lx build %s, this is ABI %u layout %lx "
                   "build %s); choose another --instance, or, where none of its programs runs any more, run '%s'",
                   path, h->abi, (unsigned long)h->layout_hash, theirs, USF_SHM_ABI, (unsigned long)USF_LAYOUT_HASH,
                   ours, shm_clean_command(path, command, sizeof command));
        return -EPROTO;
    }
    return 0;
}

static bool sizes_are_valid(const struct usf_header *h, size_t file_size, char *why, size_t cap)
{
    struct shm_layout l;
    if (!h->max_cores || h->max_cores > USF_MAX_CORES || !h->max_procs || h->max_procs > USF_MAX_PROCS ||
        !h->max_groups || h->max_groups > USF_MAX_GROUPS || !h->max_tasks || h->max_tasks > USF_MAX_TASKS || !h->max_runs ||
        h->max_runs > USF_MAX_RUNS) {
        usf_format(why, cap, "table sizes %u/%u/%u/%u/%u are out of range", h->max_cores, h->max_procs, h->max_groups,
                   h->max_tasks, h->max_runs);
        return false;
    }
    const struct shm_sizes n = {h->max_cores, h->max_runs, h->max_procs, h->max_groups, h->max_tasks};
    shm_layout_of(&n, &l);
    if (h->off_cores != l.off_cores || h->off_runs != l.off_runs || h->off_procs != l.off_procs ||
        h->off_groups != l.off_groups || h->off_threads != l.off_threads || h->off_tasks != l.off_tasks || h->total_size != l.total) {
        usf_format(why, cap, "tables do not lie where their sizes put them");
        return false;
    }
    if (h->total_size > file_size) {
        usf_format(why, cap, "truncated: %lu of %lu bytes", (unsigned long)file_size, (unsigned long)h->total_size);
        return false;
    }
    return true;
}

static bool texts_are_valid(const struct usf_header *h, char *why, size_t cap)
{
    const char *bad = NULL;
    if (!is_text(h->build_id, sizeof h->build_id)) bad = "build id";
    else if (!is_text(h->name, sizeof h->name) || !shm_name_is_valid(h->name)) bad = "name";
    else if (!is_text(h->policy, sizeof h->policy) || !h->policy[0]) bad = "policy name";
    else if (!is_text(h->policy_path, sizeof h->policy_path)) bad = "policy path";
    else if (!is_text(h->policy_why, sizeof h->policy_why)) bad = "policy message";
    else if (!is_text(h->policy_was, sizeof h->policy_was)) bad = "last policy's name";
    else if (!is_text(h->usf_exe, sizeof h->usf_exe)) bad = "path of the tool";
    if (bad) usf_format(why, cap, "its %s is not text", bad);
    return !bad;
}

static bool marks_are_valid(const struct usf_header *h, char *why, size_t cap)
{
    const char *bad = NULL;
    uint32_t task_hwm = atomic_load(&h->task_hwm), proc_hwm = atomic_load(&h->proc_hwm), group_hwm = atomic_load(&h->group_hwm);
    if (!h->nr_cores || h->nr_cores > h->max_cores) bad = "number of cores";
    else if (atomic_load(&h->state) != USF_INST_READY && atomic_load(&h->state) != USF_INST_RETIRED) bad = "state";
    else if (task_hwm > h->max_tasks || task_hwm % USF_TASK_CHUNK) bad = "number of real tasks";
    else if (proc_hwm > h->max_procs || proc_hwm % USF_PROC_CHUNK) bad = "number of real processes";
    else if (group_hwm > h->max_groups || group_hwm % USF_GROUP_CHUNK) bad = "number of real groups";
    else if (!h->quantum_ns || !h->progress_ns || !h->lend_ns || !h->slice_ns) bad = "set of time limits";
    if (bad) usf_format(why, cap, "its %s is out of range", bad);
    return !bad;
}

bool shm_header_is_valid(const struct usf_header *h, size_t file_size, char *why, size_t cap)
{
    if (file_size < sizeof *h) {
        usf_format(why, cap, "truncated: %lu bytes, a header has %lu", (unsigned long)file_size,
                   (unsigned long)sizeof *h);
        return false;
    }
    return shm_check_prefix(h, "it", NULL, why, cap) == 0 && sizes_are_valid(h, file_size, why, cap) &&
           texts_are_valid(h, why, cap) && marks_are_valid(h, why, cap);
}

int shm_check_header(const struct usf_header *h, size_t file_size, const char *name, const char *path, char *why,
                     size_t cap)
{
    char what[160], command[80];
    if (!shm_header_is_valid(h, file_size, what, sizeof what)) {
        usf_format(why, cap, "%s is damaged: %s; run '%s'", path, what,
                   shm_clean_command(path, command, sizeof command));
        return -EBADMSG;
    }
    if (strcmp(h->name, name) || (h->uid != os_geteuid() && !shm_is_shared(name))) {
        usf_format(why, cap, "%s is damaged: it says it is '%s' of user %u; run '%s'", path, h->name, h->uid,
                   shm_clean_command(path, command, sizeof command));
        return -EBADMSG;
    }
    return 0;
}

static bool cores_are_valid(const struct usf_header *h, char *why, size_t cap)
{
    const struct usf_core *cores = shm_cores(h);
    for (uint32_t i = 0; i < h->nr_cores; i++) {
        unsigned state = (unsigned)(atomic_load(&cores[i].word) & 0xff);
        if (cores[i].pol.id == i && cores[i].pol.cpu < OS_CPUSET_WORDS * 64 && state <= USF_CORE_RELEASED) continue;
        usf_format(why, cap, "core %u is damaged (id %u, CPU %u, state %u)", i, cores[i].pol.id, cores[i].pol.cpu,
                   state);
        return false;
    }
    return true;
}

static bool procs_are_valid(const struct usf_header *h, char *why, size_t cap)
{
    const struct usf_proc *procs = shm_procs(h);
    uint32_t hwm = atomic_load(&h->proc_hwm);
    for (uint32_t i = 0; i < hwm; i++) {
        uint32_t state = atomic_load(&procs[i].state);
        if (state == USF_PROC_FREE) continue;
        if (state <= USF_PROC_LEAVING && procs[i].namespace < USF_MAX_NAMESPACES && procs[i].pid > 0 && procs[i].run <= h->max_runs
            && (state != USF_PROC_ACTIVE || procs[i].group < h->max_groups)) continue;
        usf_format(why, cap, "process record %u is damaged (state %u, pid %d, run %u)", i, state, procs[i].pid,
                   procs[i].run);
        return false;
    }
    return true;
}

static bool groups_are_valid(const struct usf_header *h, char *why, size_t cap)
{
    const struct usf_group *groups = shm_groups(h);
    uint32_t hwm = atomic_load(&h->group_hwm);
    for (uint32_t i = 0; i < hwm; i++) {
        uint32_t state = atomic_load(&groups[i].state);
        if (state == USF_GROUP_FREE) continue;
        if (state == USF_GROUP_ACTIVE && groups[i].proc < h->max_procs && groups[i].pol.id == i) continue;
        usf_format(why, cap, "group %u is damaged (state %u, process %u, id %u)", i, state, groups[i].proc, groups[i].pol.id);
        return false;
    }
    return true;
}

static bool tasks_are_valid(const struct usf_header *h, char *why, size_t cap)
{
    const struct usf_task *tasks = shm_tasks(h);
    uint32_t hwm = atomic_load(&h->task_hwm);
    for (uint32_t i = 0; i < hwm; i++) {
        uint32_t state = atomic_load(&tasks[i].state), core = atomic_load(&tasks[i].core);
        if (!usf_task_is_known(state)) continue;
        if (state < USF_TASK_GONE && tasks[i].proc < h->max_procs && tasks[i].pol.group < h->max_groups && tasks[i].thread < h->max_tasks
            && (core == USF_NONE || core < h->nr_cores)) continue;
        usf_format(why, cap, "task %u is damaged (state %u, process %u, group %u, thread %u, core %u)", i, state, tasks[i].proc,
                   tasks[i].pol.group, tasks[i].thread, core);
        return false;
    }
    return true;
}

bool shm_tables_are_valid(const struct usf_header *h, char *why, size_t cap)
{
    return cores_are_valid(h, why, cap) && procs_are_valid(h, why, cap) && groups_are_valid(h, why, cap) &&
           tasks_are_valid(h, why, cap);
}
