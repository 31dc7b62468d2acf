/* src/os/cgroup.c - the cgroup's CPU quota, and whether it is frozen.
 * SPDX-License-Identifier: Apache-2.0
 *
 * /proc/PID/cgroup names the process's group in each hierarchy as we see it, our mountinfo where
 * hierarchies are mounted and which part of them (containers see a subtree).  A quota binds all
 * groups below it, so every level from the process's group up to the mount is looked at and the
 * least bound counts.  Frozen is what the group itself says: that of those above it is in it. */
#include "base/base.h"
#include "os/os.h"
#include "os/text.h"
#include <string.h>

#define PATH_LEN 512

struct groups {
    char v1[PATH_LEN];           /* path in the hierarchy that has the controller; "" none */
    char v2[PATH_LEN];
};
struct mount {
    const char *root, *point, *fstype, *options;
};

/* Is `word` one of the comma-separated words of [list, end)? */
static bool has_word(const char *list, const char *end, const char *word)
{
    size_t len = strlen(word);
    while (list < end) {
        const char *stop = list;
        while (stop < end && *stop != ',') stop++;
        if ((size_t)(stop - list) == len && !strncmp(list, word, len)) return true;
        list = stop + 1;
    }
    return false;
}

static const char *find_char(const char *s, char c)
{
    while (*s && *s != c) s++;
    return s;
}

/* Lines "ID:controller,controller:/path"; the v2 hierarchy is "0::/path". */
static void read_groups(const char *path, const char *controller, struct groups *g)
{
    struct text_lines t;
    char line[PATH_LEN];
    g->v1[0] = g->v2[0] = 0;
    if (!text_open(&t, path)) return;
    while (text_next(&t, line, sizeof line)) {
        const char *controllers = find_char(line, ':');
        if (!*controllers++) continue;
        const char *end = find_char(controllers, ':');
        if (!*end || end[1] != '/') continue;
        if (end == controllers && line[0] == '0') usf_format(g->v2, sizeof g->v2, "%s", end + 1);
        else if (has_word(controllers, end, controller)) usf_format(g->v1, sizeof g->v1, "%s", end + 1);
    }
    text_close(&t);
}

/* mountinfo writes blanks and the like as \ooo. */
static void unescape(char *s)
{
    char *out = s;
    for (; *s; s++) {
        if (s[0] == '\\' && s[1] >= '0' && s[1] <= '3' && s[2] >= '0' && s[2] <= '7' && s[3] >= '0' && s[3] <= '7') {
            *out++ = (char)((s[1] - '0') << 6 | (s[2] - '0') << 3 | (s[3] - '0'));
            s += 3;
        } else {
            *out++ = *s;
        }
    }
    *out = 0;
}

static char *next_field(char **line)
{
    char *field = *line, *s = field;
    while (*s && *s != ' ') s++;
    if (*s) *s++ = 0;
    *line = s;
    return field;
}

/* "ID PARENT MAJ:MIN ROOT POINT OPTIONS [TAG...] - FSTYPE SOURCE SUPEROPTIONS" */
static bool parse_mount(char *line, struct mount *m)
{
    for (int i = 0; i < 3; i++) next_field(&line);
    char *root = next_field(&line), *point = next_field(&line), *tag;
    do tag = next_field(&line);
    while (*tag && strcmp(tag, "-"));
    if (!*tag) return false;
    m->fstype = next_field(&line);
    next_field(&line);
    m->options = next_field(&line);
    unescape(root);
    unescape(point);
    m->root = root;
    m->point = point;
    return *root == '/' && *point == '/';
}

static unsigned cpus_of(uint64_t quota, uint64_t period)
{
    if (!quota || !period) return 0;
    uint64_t n = quota / period + (quota % period != 0);
    return n > OS_CPUSET_WORDS * 64u ? 0 : (unsigned)n;
}

static unsigned quota_v2(const char *dir)
{
    char path[2 * PATH_LEN], text[64];
    const char *s = text;
    uint64_t quota, period;
    if (usf_format(path, sizeof path, "%s/cpu.max", dir) >= (int)sizeof path) return 0;
    if (os_read_file(path, text, sizeof text) <= 0) return 0;
    if (!text_number(&s, &quota) || *s++ != ' ' || !text_number(&s, &period)) return 0;   /* "max ..." */
    return cpus_of(quota, period);
}

static bool read_number_in(const char *dir, const char *file, uint64_t *out)
{
    char path[2 * PATH_LEN], text[32];
    const char *s = text;
    if (usf_format(path, sizeof path, "%s/%s", dir, file) >= (int)sizeof path) return false;
    return os_read_file(path, text, sizeof text) > 0 && text_number(&s, out);   /* no quota: "-1" */
}

static unsigned quota_v1(const char *dir)
{
    uint64_t quota, period;
    if (!read_number_in(dir, "cpu.cfs_quota_us", &quota)) return 0;
    return read_number_in(dir, "cpu.cfs_period_us", &period) ? cpus_of(quota, period) : 0;
}

/* The group's path below the mount: what is left of it behind the mounted root.  Null: it is
 * outside of what is mounted (another cgroup namespace). */
static const char *below(const char *group, const char *root)
{
    size_t n = strlen(root);
    if (n == 1) n = 0;                                  /* "/" */
    if (!strncmp(group, "/..", 3) || strncmp(group, root, n) || (group[n] && group[n] != '/')) return NULL;
    return group[n] && group[n + 1] ? group + n : "";
}

/* The group's directory, and in *top the length of the mount point's.  0: too long, or it cannot be
 * seen.  Of our own the mount point itself is what can be. */
static int group_dir(char *dir, int cap, const char *sysroot, const struct mount *m, const char *group, bool own, int *top)
{
    const char *path = below(group, m->root);
    if (!path && !own) return 0;
    *top = (int)(strlen(sysroot) + strlen(m->point));
    int n = usf_format(dir, (size_t)cap, "%s%s%s", sysroot, m->point, path ? path : "");
    return n < cap ? n : 0;
}

/* visit(dir, top, v2, arg) for the process's group in every mount of the controller's hierarchy. */
typedef void visitor(char *dir, int len, int top, bool v2, void *arg);
static void visit_groups(const char *sysroot, int32_t pid, const char *controller, visitor *visit, void *arg)
{
    struct groups g;
    struct text_lines t;
    struct mount m;
    char who[16] = "self", path[PATH_LEN], line[2 * PATH_LEN], dir[2 * PATH_LEN];
    if (pid) usf_format(who, sizeof who, "%d", pid);
    usf_format(path, sizeof path, "%s/proc/%s/cgroup", sysroot, who);
    read_groups(path, controller, &g);
    usf_format(path, sizeof path, "%s/proc/self/mountinfo", sysroot);
    if ((!g.v1[0] && !g.v2[0]) || !text_open(&t, path)) return;
    while (text_next(&t, line, sizeof line)) {
        if (!parse_mount(line, &m)) continue;
        const char *end = m.options + strlen(m.options);
        bool v2 = g.v2[0] && !strcmp(m.fstype, "cgroup2");
        if (!v2 && !(g.v1[0] && !strcmp(m.fstype, "cgroup") && has_word(m.options, end, controller))) continue;
        int top, n = group_dir(dir, sizeof dir, sysroot, &m, v2 ? g.v2 : g.v1, !pid || pid == os_getpid(), &top);
        if (n) visit(dir, n, top, v2, arg);
    }
    text_close(&t);
}

/* ---- quota ------------------------------------------------------------------------------------- */

/* FNV-1a; never 0 */
#define HASH_START 2166136261u
static uint32_t hash_on(uint32_t h, const char *text)
{
    while (*text) h = (h ^ (uint8_t)*text++) * 16777619u;
    return h ? h : 1;
}

struct bound {
    unsigned cpus;              /* 0: none */
    uint32_t group;
};

/* Which group that is.  Not by its path: containers with cgroup namespaces of their own see
 * different groups at the same one, and the same group at different ones. */
static uint32_t group_at(const char *dir)
{
    struct os_stat st;
    char name[40];
    if (os_lstat(dir, &st)) return 0;
    usf_format(name, sizeof name, "%lx:%lx", (unsigned long)st.dev, (unsigned long)st.ino);
    return hash_on(HASH_START, name);
}

static void bind_by(struct bound *b, unsigned cpus, const char *dir)
{
    uint32_t group;
    if (!cpus || (b->cpus && b->cpus <= cpus) || !(group = group_at(dir))) return;
    b->cpus = cpus;
    b->group = group;
}

static void look_at_quota(char *dir, int n, int top, bool v2, void *arg)
{
    for (;;) {
        bind_by(arg, v2 ? quota_v2(dir) : quota_v1(dir), dir);
        if (n <= top) return;
        while (n > top && dir[n - 1] != '/') n--;
        if (n > top) n--;                               /* the slash */
        dir[n] = 0;
    }
}

unsigned os_cgroup_quota(const char *sysroot, int32_t pid, uint32_t *group)
{
    struct bound b = {0};
    visit_groups(sysroot, pid, "cpu", look_at_quota, &b);
    if (group) *group = b.group;
    return b.cpus;
}

uint32_t os_cgroup_key(int32_t pid)
{
    struct text_lines t;
    char path[32], line[2 * PATH_LEN];
    uint32_t h = HASH_START;
    usf_format(path, sizeof path, "/proc/%d/cgroup", pid);
    if (!os_proc_is_ours() || !text_open(&t, path)) return 0;
    while (text_next(&t, line, sizeof line)) h = hash_on(h, line);
    text_close(&t);
    return h != HASH_START ? h : 0;
}

/* ---- frozen ------------------------------------------------------------------------------------ */

static bool has_text(const char *s, const char *text)
{
    size_t n = strlen(text);
    for (; *s; s++)
        if (!strncmp(s, text, n)) return true;
    return false;
}

/* v1: "FROZEN" in freezer.state; v2: a line "frozen 1" in cgroup.events. */
static void look_at_freezer(char *dir, int len, int top, bool v2, void *arg)
{
    bool *frozen = arg;
    char path[2 * PATH_LEN], text[128];
    if (usf_format(path, sizeof path, "%s/%s", dir, v2 ? "cgroup.events" : "freezer.state") >= (int)sizeof path) return;
    if (os_read_file(path, text, sizeof text) <= 0) return;
    if (has_text(text, v2 ? "frozen 1" : "FROZEN")) *frozen = true;
}

bool os_cgroup_frozen(const char *sysroot, int32_t pid)
{
    bool frozen = false;
    if (os_proc_is_ours()) visit_groups(sysroot, pid, "freezer", look_at_freezer, &frozen);
    return frozen;
}
