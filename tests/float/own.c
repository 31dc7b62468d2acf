/* tests/float/own.c CASE - a thread's kernel thread gets a state of its own.  SPDX-License-Identifier: Apache-2.0
 *
 * The thread, or another (cases ..._by_other), makes the call after the thread has floated.  From then on it has that state whenever it looks, and so has the child that it forks; the threads
 * that float around it never have it.  A thread that it creates has the state, if the kernel hands it on; threads that are created
 * after it has ended do not.  Where the first thread has the state before there is a second one, all threads have it, and float.
 * They look by calls that usf does not see, since some of those that it sees have a thread stay at home.  The same cases pass bare.  Exit status 0, 1, or 77 if the kernel refuses the call. */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>

#include "raw.h"
#include "subjects.h"

/* What the headers of older systems lack. */
enum { NR_IO_URING_SETUP = 425, NR_IO_URING_ENTER = 426, NR_IO_URING_REGISTER = 427, NR_CLOSE_RANGE = 436, NR_LANDLOCK_CREATE_RULESET = 444, NR_LANDLOCK_RESTRICT_SELF = 446 };
enum { FREE_DESCRIPTOR = 200, SOME_ID = 12345, LOOKS = 30 };
#define SOME_NAME "float-own"

/* ---- how a state is looked at: by a call that usf sees, or does not ---------------------------------- */
typedef long look(long nr, long a, long b, long c);
static long seen(long nr, long a, long b, long c)
{
    long r = syscall(nr, a, b, c);
    return r == -1 ? -errno : r;
}

static pid_t named;                     /* whose state is set; 0: the caller's */

static long get_nice(look *at) { return at(SYS_getpriority, PRIO_PROCESS, 0, 0); }
static bool set_nice(void) { return !setpriority(PRIO_PROCESS, (id_t)named, getpriority(PRIO_PROCESS, (id_t)named) + 3); }

static long get_io(look *at) { return at(SYS_ioprio_get, 1 /* IOPRIO_WHO_PROCESS */, 0, 0); }
static bool set_io(void) { return !syscall(SYS_ioprio_set, 1, named, 2 << 13 | 7 /* best effort, the lowest */); }

static long get_policy(look *at) { return at(SYS_sched_getscheduler, 0, 0, 0); }
static bool set_policy(void) { return !sched_setscheduler(named, SCHED_BATCH, &(struct sched_param){0}); }

static long get_personality(look *at) { return at(SYS_personality, 0xffffffff, 0, 0); }
static bool set_personality(void) { return syscall(SYS_personality, syscall(SYS_personality, 0xffffffffu) | 0x0200000 /* ADDR_COMPAT_LAYOUT */) >= 0; }

static long get_memory(look *at)
{
    int mode = -1;
    long r = at(SYS_get_mempolicy, (long)&mode, 0, 0);
    return r ? r : mode;
}
static bool set_memory(void)
{
    unsigned long first = 1;
    return !syscall(SYS_set_mempolicy, 1 /* MPOL_PREFERRED */, &first, 64);
}

static long get_slack(look *at) { return at(SYS_prctl, PR_GET_TIMERSLACK, 0, 0); }
static bool set_slack(void) { return !prctl(PR_SET_TIMERSLACK, 123456); }

static long get_privileges(look *at) { return at(SYS_prctl, PR_GET_NO_NEW_PRIVS, 0, 0); }
static bool set_privileges(void) { return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); }

static long get_death(look *at)
{
    int sig = -1;
    long r = at(SYS_prctl, PR_GET_PDEATHSIG, (long)&sig, 0);
    return r ? r : sig;
}
static bool set_death(void) { return !prctl(PR_SET_PDEATHSIG, SIGWINCH); }

/* ---- user, groups, capabilities: the system calls alone, not those of libc, which are for all threads -- */
struct capabilities { struct { uint32_t version; int pid; } head; struct { uint32_t effective, permitted, inheritable; } set[2]; };
static long get_capabilities(look *at)
{
    struct capabilities c = {.head = {0x20080522, 0}};
    long r = at(SYS_capget, (long)&c.head, (long)c.set, 0);
    return r ? r : (long)c.set[0].effective;
}
static bool set_capabilities(void)
{
    struct capabilities c = {.head = {0x20080522, 0}};
    if (syscall(SYS_capget, &c.head, c.set)) return false;
    errno = EPERM;
    if (!(c.set[0].effective & 1u << 27)) return false;
    c.set[0].effective &= ~(1u << 27);      /* CAP_MKNOD */
    return !syscall(SYS_capset, &c.head, c.set);
}

static long get_user(look *at) { return at(SYS_geteuid, 0, 0, 0); }
static bool set_user(void) { return !syscall(SYS_setresuid, -1, SOME_ID, -1); }

static long get_group(look *at) { return at(SYS_getegid, 0, 0, 0); }
static bool set_group(void) { return !syscall(SYS_setresgid, -1, SOME_ID, -1); }

static long get_groups(look *at)
{
    gid_t list[64] = {0};
    long n = at(SYS_getgroups, sizeof list / sizeof *list, (long)list, 0);
    return n > 0 ? (long)list[0] << 20 | n : n;
}
static bool set_groups(void)
{
    gid_t one = SOME_ID;
    return !syscall(SYS_setgroups, 1, &one);
}

static long get_file_user(look *at) { return at(SYS_setfsuid, -1, 0, 0); }
static bool set_file_user(void)
{
    syscall(SYS_setfsuid, SOME_ID);
    errno = EPERM;
    return syscall(SYS_setfsuid, -1) == SOME_ID;
}

static long get_keyring(look *at) { return at(SYS_keyctl, 0 /* KEYCTL_GET_KEYRING_ID */, -3 /* KEY_SPEC_SESSION_KEYRING */, 0); }
static bool set_keyring(void) { return syscall(SYS_keyctl, 1 /* KEYCTL_JOIN_SESSION_KEYRING */, 0) > 0; }

/* Keys in the thread's own keyring, and in that of the process, which a thread shares with those that it creates. */
enum { THREAD_KEYRING = -1, PROCESS_KEYRING = -2, USER_KEYRING = -4 };
static long find_key(look *at, long keyring)
{
    long key = at == raw ? raw_code(SYS_keyctl, 10 /* KEYCTL_SEARCH */, keyring, (long)"user", (long)SOME_NAME, 0, 0)
               : syscall(SYS_keyctl, 10, keyring, "user", SOME_NAME, 0);
    return key > 0;
}
static bool add_key(long keyring) { return syscall(SYS_add_key, "user", SOME_NAME, "", 1, keyring) > 0; }
static long get_thread_key(look *at) { return find_key(at, THREAD_KEYRING); }
static bool set_thread_key(void) { return add_key(THREAD_KEYRING); }
static long get_process_key(look *at) { return find_key(at, PROCESS_KEYRING); }
static bool set_process_key(void) { return add_key(PROCESS_KEYRING); }
/* A key of the user's. */
static bool request_key(void)
{
    long key = raw_code(SYS_add_key, (long)"user", (long)SOME_NAME, (long)"", 1, USER_KEYRING, 0);
    errno = (int)-key;
    if (key < 0) return false;
    bool found = syscall(SYS_request_key, "user", SOME_NAME, 0, THREAD_KEYRING) == key;
    raw(SYS_keyctl, 9 /* KEYCTL_UNLINK */, key, USER_KEYRING);
    return found;
}

/* May it make a symbolic link? */
static long get_landlock(look *at)
{
    char path[64];
    static _Atomic int nr;
    snprintf(path, sizeof path, "/tmp/float-own-%d-%d", getpid(), nr++);
    long r = at(SYS_symlink, (long)"nothing", (long)path, 0);
    if (r == 0) unlink(path);
    return r;
}
static bool set_landlock(void)
{
    struct { uint64_t files; } attr = {1u << 12 /* LANDLOCK_ACCESS_FS_MAKE_SYM */};
    long rules = syscall(NR_LANDLOCK_CREATE_RULESET, &attr, sizeof attr, 0);
    if (rules < 0) return false;
    return !syscall(NR_LANDLOCK_RESTRICT_SELF, rules, 0)            /* as root */
           || (!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) && !syscall(NR_LANDLOCK_RESTRICT_SELF, rules, 0));
}

/* ---- namespaces, the current folder, descriptors ------------------------------------------------------ */
static long get_host(look *at)
{
    struct utsname u;
    long r = at(SYS_uname, (long)&u, 0, 0);
    return r ? r : !strcmp(u.nodename, SOME_NAME);
}
static bool set_host(void) { return !unshare(CLONE_NEWUTS) && !sethostname(SOME_NAME, strlen(SOME_NAME)); }

static long get_folder(look *at)
{
    char path[4096] = "";
    long r = at(SYS_getcwd, (long)path, sizeof path, 0);
    return r < 0 ? r : !strcmp(path, "/proc");
}
static bool set_folder(void) { return !unshare(CLONE_FS) && !chdir("/proc"); }

static long get_descriptor(look *at) { return at(SYS_fcntl, FREE_DESCRIPTOR, F_GETFD, 0); }
static bool set_descriptor(void) { return !unshare(CLONE_FILES) && dup2(2, FREE_DESCRIPTOR) >= 0; }
static bool set_range(void) { return !syscall(NR_CLOSE_RANGE, FREE_DESCRIPTOR, FREE_DESCRIPTOR + 9, 2 /* CLOSE_RANGE_UNSHARE */) && dup2(2, FREE_DESCRIPTOR) >= 0; }

/* ---- what the kernel has for this kernel thread --------------------------------------------------------- */
static _Atomic int the_fd = -1;
static __thread bool is_owner;

/* Only the owner's own signal is to be found. */
static long get_signalfd(look *at)
{
    struct signalfd_siginfo info;
    if (is_owner) CHECK(!raise(SIGUSR2));
    return at(SYS_read, the_fd, (long)&info, sizeof info) == sizeof info && info.ssi_signo == SIGUSR2;
}
static bool set_signalfd(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    CHECK(!pthread_sigmask(SIG_BLOCK, &set, 0));
    the_fd = signalfd(-1, &set, SFD_NONBLOCK);
    return the_fd >= 0;
}

/* A ring that takes calls of one kernel thread alone. */
static long get_ring(look *at)
{
    (void)at;
    return the_fd >= 0 && raw_code(NR_IO_URING_ENTER, the_fd, 0, 0, 1 /* IORING_ENTER_GETEVENTS */, 0, 0) == 0;
}
static bool set_ring(void)
{
    uint32_t parameters[30] = {[2] = 1u << 12 | 1u << 13};      /* IORING_SETUP_SINGLE_ISSUER, IORING_SETUP_DEFER_TASKRUN */
    the_fd = (int)syscall(NR_IO_URING_SETUP, 4, parameters);
    return the_fd >= 0;
}

/* A ring that another thread has made. */
static void *make_ring(void *flags)
{
    uint32_t parameters[30] = {[2] = *(const uint32_t *)flags};
    long fd = syscall(NR_IO_URING_SETUP, 4, parameters);
    the_fd = fd < 0 ? -errno : (int)fd;
    return flags;
}
static bool have_ring_made(uint32_t flags)
{
    pthread_t t;
    CHECK(!pthread_create(&t, 0, make_ring, &flags) && !pthread_join(t, 0));
    errno = -the_fd;
    return the_fd >= 0;
}

/* It takes calls of the kernel thread alone that has enabled it. */
static bool set_enabled(void)
{
    return have_ring_made(1u << 6 | 1u << 12 | 1u << 13 /* IORING_SETUP_R_DISABLED and set_ring's */)
           && !syscall(NR_IO_URING_REGISTER, the_fd, 12 /* IORING_REGISTER_ENABLE_RINGS */, 0, 0);
}

/* The kernel thread knows it by a number of its own, the first. */
static long get_registered(look *at)
{
    (void)at;
    return raw_code(NR_IO_URING_ENTER, 0, 0, 0, 1 | 1 << 4 /* IORING_ENTER_GETEVENTS, IORING_ENTER_REGISTERED_RING */, 0, 0) == 0;
}
static bool set_registered(void)
{
    struct { uint32_t at, reserved; uint64_t fd; } update = {.at = UINT32_MAX};
    if (!have_ring_made(0)) return false;
    update.fd = (uint64_t)the_fd;
    return syscall(NR_IO_URING_REGISTER, the_fd, 20 /* IORING_REGISTER_RING_FDS */, &update, 1) == 1 && update.at == 0;
}

/* What the kernel has is not to be seen. */
static long get_owner(look *at)
{
    (void)at;
    return is_owner;
}

/* What the kernel thread has submitted ends with it. */
static bool set_submits(void) { return have_ring_made(0) && syscall(NR_IO_URING_ENTER, the_fd, 1, 0, 0, 0, 0) >= 0; }

/* ---- what a thread writes into files --------------------------------------------------------------------- */
static long read_file(look *at, const char *path, char *text, size_t size)
{
    long fd = at(SYS_openat, AT_FDCWD, (long)path, O_RDONLY), n = fd < 0 ? fd : at(SYS_read, fd, (long)text, (long)size - 1);
    if (fd >= 0) at(SYS_close, fd, 0, 0);
    text[n > 0 ? n : 0] = 0;
    return n;
}
static bool write_file(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY);
    if (fd < 0) return false;
    bool written = write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    int error = errno;
    close(fd);
    errno = error;
    return written;
}

/* A control group.  The process that main runs in removes it. */
static char group[600];
static pid_t main_pid;
static void remove_group(void)
{
    for (int i = 0; group[0] && rmdir(group) && errno == EBUSY && i < 1000; i++) usleep(1000);     /* its last thread ends */
}
static bool make_group(const char *type, const char *option)
{
    char line[1000], at[256] = "", kind[32], options[256];
    FILE *f = fopen("/proc/self/mounts", "r");
    while (f && fgets(line, sizeof line, f) && (sscanf(line, "%*s %255s %31s %255s", at, kind, options) != 3 || strcmp(kind, type) || !strstr(options, option))) at[0] = 0;
    if (f) fclose(f);
    errno = ENOENT;
    if (!at[0]) return false;
    snprintf(group, sizeof group, "%s/%s-%d", at, SOME_NAME, main_pid);
    return !mkdir(group, 0700) || errno == EEXIST;
}
static bool enter_group(const char *file)
{
    char path[650];
    snprintf(path, sizeof path, "%s/%s", group, file);
    return write_file(path, "0");
}
static long get_group_of_threads(look *at)
{
    char text[4096];
    long n = read_file(at, "/proc/thread-self/cgroup", text, sizeof text);
    return n < 0 ? n : strstr(text, SOME_NAME) != NULL;
}
static bool set_tasks(void) { return make_group("cgroup", "freezer") && enter_group("tasks"); }
static bool set_cgroup_threads(void)
{
    char path[650];
    if (!make_group("cgroup2", "")) return false;
    snprintf(path, sizeof path, "%s/cgroup.type", group);
    return write_file(path, "threaded") && enter_group("cgroup.threads");
}

/* Refused, if at all, to the process that has it from the start: the first to ask. */
static long get_login(look *at)
{
    char text[32];
    long n = read_file(at, "/proc/thread-self/loginuid", text, sizeof text);
    return n < 0 ? n : atol(text);
}
static bool set_login(void)
{
    bool written = write_file("/proc/thread-self/loginuid", "12345");
    CHECK(written || !is_owner);
    return written;
}

static bool set_attribute(void)
{
    int fd = open("/proc/thread-self/attr/exec", O_WRONLY);
    if (fd >= 0) close(fd);
    return fd >= 0;
}

static long get_base(look *at)
{
    uint64_t base = 1;
    long r = at(SYS_arch_prctl, 0x1004 /* ARCH_GET_GS */, (long)&base, 0);
    return r ? r : (long)base;
}
static bool set_base(void) { return !syscall(SYS_arch_prctl, 0x1001 /* ARCH_SET_GS */, 0x123000); }

/* What the kernel clears at its end. */
static int the_word, *usual_word;
static long get_word(look *at)
{
    int *word = 0;
    long r = at(SYS_prctl, PR_GET_TID_ADDRESS, (long)&word, 0);
    return r ? r : word == &the_word;
}
static bool set_word(void)
{
    if (prctl(PR_GET_TID_ADDRESS, &usual_word)) return false;
    return syscall(SYS_set_tid_address, &the_word) > 0;
}
static void undo_word(void) { CHECK(syscall(SYS_set_tid_address, usual_word) == own_tid()); }

/* ---- cases ----------------------------------------------------------------------------------------------- */
enum {
    QUIET = 1,              /* to ask in the usual way has a thread stay at home, too */
    NOT_IN_CHILD = 2,       /* of a fork */
    NOT_IN_THREADS = 4,     /* that it creates */
    LEAVES = 8,             /* the process leaves its instance */
    BY_OTHER = 16,
};
static const struct own {
    const char *name;
    bool (*set)(void);                  /* false: refused, see errno */
    long (*get)(look *);
    unsigned flags;
    void (*undo)(void);
} owns[] = {
    {"nice", set_nice, get_nice, 0, 0},
    {"io_priority", set_io, get_io, 0, 0},
    {"policy", set_policy, get_policy, 0, 0},
    {"nice_by_other", set_nice, get_nice, BY_OTHER, 0},
    {"io_priority_by_other", set_io, get_io, BY_OTHER, 0},
    {"policy_by_other", set_policy, get_policy, BY_OTHER, 0},
    {"personality", set_personality, get_personality, QUIET, 0},
    {"memory_policy", set_memory, get_memory, 0, 0},
    {"timer_slack", set_slack, get_slack, QUIET, 0},
    {"no_new_privileges", set_privileges, get_privileges, QUIET, 0},
    {"death_signal", set_death, get_death, QUIET | NOT_IN_CHILD | NOT_IN_THREADS, 0},
    {"capabilities", set_capabilities, get_capabilities, 0, 0},
    {"user", set_user, get_user, LEAVES, 0},
    {"group", set_group, get_group, 0, 0},
    {"groups", set_groups, get_groups, 0, 0},
    {"file_user", set_file_user, get_file_user, QUIET, 0},
    {"keyring", set_keyring, get_keyring, QUIET, 0},
    {"thread_key", set_thread_key, get_thread_key, QUIET | NOT_IN_CHILD | NOT_IN_THREADS, 0},
    {"process_key", set_process_key, get_process_key, QUIET | NOT_IN_CHILD, 0},
    {"request_key", request_key, get_thread_key, QUIET | NOT_IN_CHILD | NOT_IN_THREADS, 0},
    {"landlock", set_landlock, get_landlock, 0, 0},
    {"host", set_host, get_host, 0, 0},
    {"folder", set_folder, get_folder, 0, 0},
    {"descriptors", set_descriptor, get_descriptor, 0, 0},
    {"close_range", set_range, get_descriptor, 0, 0},
    {"signalfd", set_signalfd, get_signalfd, NOT_IN_THREADS, 0},
    {"io_uring", set_ring, get_ring, NOT_IN_CHILD | NOT_IN_THREADS, 0},
    {"io_uring_enabled", set_enabled, get_ring, NOT_IN_CHILD | NOT_IN_THREADS, 0},
    {"io_uring_registered", set_registered, get_registered, NOT_IN_CHILD | NOT_IN_THREADS, 0},
    {"io_uring_submits", set_submits, get_owner, NOT_IN_CHILD | NOT_IN_THREADS, 0},
    {"tasks", set_tasks, get_group_of_threads, 0, 0},
    {"cgroup_threads", set_cgroup_threads, get_group_of_threads, 0, 0},
    {"login", set_login, get_login, 0, 0},
    {"attribute", set_attribute, get_owner, NOT_IN_CHILD | NOT_IN_THREADS, 0},
    {"gs_base", set_base, get_base, QUIET, 0},
    {"tid_address", set_word, get_word, QUIET | NOT_IN_CHILD | NOT_IN_THREADS, undo_word},
};
static const struct own *own;
static pthread_barrier_t all_floated, is_set;
static long usual;
static _Atomic bool called, done;
static int refused;

static void until_away(void) { while (floats() && !is_away()) mix(); }

/* ... and is executed by its own kernel thread. */
static void check_owner(int rounds, long mine, bool stays)
{
    for (int i = 0; i < rounds; i++) {
        mix();
        CHECK_EQ(own->get(raw), mine);
        CHECK_EQ(own->get(seen), mine);
        CHECK(!stays || !is_away());
    }
}

static void check_in_child(long mine)
{
    int status;
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        alarm(100);     /* a child of a fork has none */
        token_lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
        token_moved = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
        begin();
        check_owner(LOOKS, mine, floats() && !named);      /* all threads of the child have it */
        _exit(0);
    }
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
}

static void call(void)
{
    if (!own->set()) refused = errno;
    called = true;
}

static void *heir(void *arg)
{
    for (int i = 0; i < LOOKS; i++) {
        mix();
        CHECK_EQ(own->get(raw), *(long *)arg);
    }
    return arg;
}

static void *owner(void *arg)
{
    is_owner = true;
    until_away();
    if (own->flags & BY_OTHER) named = own_tid();
    pthread_barrier_wait(&all_floated);
    if (!named) until_away(), call();
    while (!called) mix();
    if (named && !refused) while (floats() && is_away()) mix();     /* the call is made after 0.1 s all the same */
    pthread_barrier_wait(&is_set);
    if (refused) return arg;
    long mine = own->get(raw);
    CHECK(mine != usual);
    check_owner(3 * LOOKS, mine, floats());
    if (!(own->flags & NOT_IN_THREADS)) {
        pthread_t t;
        CHECK(!pthread_create(&t, 0, heir, &mine));
        check_owner(LOOKS, mine, floats());
        CHECK(!pthread_join(t, 0));
    }
    if (!(own->flags & NOT_IN_CHILD)) check_in_child(mine);
    check_owner(LOOKS, mine, floats());
    if (own->undo) own->undo();
    done = true;
    return arg;
}

static void *other(void *arg)
{
    bool was_away = false;
    until_away();
    pthread_barrier_wait(&all_floated);
    if (named && (long)arg == 1) call();
    pthread_barrier_wait(&is_set);
    if (refused) return arg;
    if (own->flags & LEAVES || !floats()) was_away = true;
    while (!done || !was_away) {
        mix();
        CHECK_EQ(own->get(raw), usual);
        if (!(own->flags & QUIET)) CHECK_EQ(own->get(seen), usual);
        was_away = was_away || is_away();
    }
    return arg;
}

static void *owner_or_other(void *arg) { return arg ? other(arg) : owner(arg); }

/* usf serves a new thread with a kernel thread that has executed another, if that has asked for none of this; such a thread's id is not
 * asked for, either. */
static void *brief_owner(void *arg)
{
    CHECK(own->set());
    return arg;
}
static void *later(void *arg)
{
    CHECK_EQ(own->get(raw), usual);
    return arg;
}
static void check_later_threads(void)
{
    pthread_t t;
    named = 0;
    for (int i = 0; i < 10; i++) {
        CHECK(!pthread_create(&t, 0, brief_owner, 0) && !pthread_join(t, 0));
        CHECK(!pthread_create(&t, 0, later, 0) && !pthread_join(t, 0));
    }
}

/* In a process whose first thread has it before there is a second one. */
static void *has_from_start(void *arg)
{
    bool was_away = own->flags & LEAVES || !floats();
    for (int i = 0; i < LOOKS || !was_away; i++) {
        mix();
        CHECK_EQ(own->get(raw), usual);
        was_away = was_away || is_away();
    }
    return arg;
}
static void check_from_start(void)
{
    int status;
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        alarm(100);     /* a child of a fork has none */
        if (!own->set()) {
            int error = errno;
            remove_group();
            _exit(100 + error);     /* a failed CHECK: 1 */
        }
        usual = own->get(raw);
        begin();
        with_subjects(has_from_start);
        end();
        _exit(0);
    }
    CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) != 1);
    refused = status ? WEXITSTATUS(status) - 100 : 0;
}

/* Some kernel threads are free for later ones. */
static void *nothing(void *arg) { return arg; }
static void have_threads_ended(void)
{
    pthread_t t[SUBJECTS];
    for (int i = 0; i < SUBJECTS; i++) CHECK(!pthread_create(&t[i], 0, nothing, 0));
    for (int i = 0; i < SUBJECTS; i++) CHECK(!pthread_join(t[i], 0));
}

static void check_own(void)
{
    usual = own->get(raw);
    have_threads_ended();
    CHECK(!pthread_barrier_init(&all_floated, 0, SUBJECTS) && !pthread_barrier_init(&is_set, 0, SUBJECTS));
    with_subjects(owner_or_other);
    if (!refused && !(own->flags & NOT_IN_THREADS)) check_later_threads();
}

/* ---- counters and timers of one thread ---------------------------------------------------------------------- */
/* The others do something in each turn of the owner's; meanwhile it waits, and what it has for itself does not count that. */
enum { TURNS = 20 };
static _Atomic int turn, nr_done;
static void (*act)(void);
static void *acts(void *arg)
{
    until_away();
    for (int i = 1; i <= TURNS; i++) {
        while (turn < i) mix();
        act();
        nr_done++;
    }
    return arg;
}
static void have_others_act(void)
{
    nr_done = 0;
    turn++;
    while (nr_done < SUBJECTS - 1) mix();
}

enum { PAGES = 512 };
static void touch(void)
{
    volatile char *p = mmap(0, PAGES * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(p != MAP_FAILED);
    madvise((void *)p, PAGES * 4096, MADV_NOHUGEPAGE);
    for (int i = 0; i < PAGES; i++) p[i * 4096] = 1;
    CHECK(!munmap((void *)p, PAGES * 4096));
}

static uint64_t nr_faults(void)
{
    uint64_t n;
    CHECK(read(the_fd, &n, sizeof n) == sizeof n);
    return n;
}

/* A counter of page faults. */
static void *event_subject(void *arg)
{
    if (arg) return acts(arg);
    struct { uint32_t type, size; uint64_t config, period, sample, format, flags, rest[6]; } attr =
        {.type = 1 /* PERF_TYPE_SOFTWARE */, .size = 64, .config = 2 /* PERF_COUNT_SW_PAGE_FAULTS */, .flags = 1 << 5 | 1 << 6 /* not the kernel's */};
    until_away();
    the_fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
    if (the_fd < 0) refused = errno;
    for (int i = 0; i < TURNS; i++) {
        uint64_t first = refused ? 0 : nr_faults();
        have_others_act();
        if (refused) continue;
        uint64_t then = nr_faults();
        CHECK(then - first < PAGES / 2, "%d faults of others are counted", (int)(then - first));
        touch();
        CHECK(nr_faults() - then >= PAGES, "%d faults of its own are counted", (int)(nr_faults() - then));
        CHECK(!floats() || !is_away());
    }
    return arg;
}
static void events(void)
{
    act = touch;
    with_subjects(event_subject);
}

static int64_t ns_of(struct timespec t) { return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec; }
static int64_t own_ns(void)
{
    struct timespec t;
    CHECK(!clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t));
    return ns_of(t);
}
enum { WORK_NS = 5000000 };
static void work(void) { for (int64_t from = own_ns(); own_ns() < from + WORK_NS;) {} }

/* A timer on the CPU time of a thread. */
static void *timer_subject(void *arg)
{
    if (arg) return acts(arg);
    struct sigevent none = {.sigev_notify = SIGEV_NONE};
    struct itimerspec first, then;
    timer_t t;
    until_away();
    CHECK(!timer_create(CLOCK_THREAD_CPUTIME_ID, &none, &t));
    CHECK(!timer_settime(t, 0, &(struct itimerspec){.it_value = {1000, 0}}, 0));
    CHECK(!timer_gettime(t, &first));
    int64_t own_first = own_ns();
    for (int i = 0; i < TURNS; i++) {
        have_others_act();
        work();
        CHECK(!floats() || !is_away());
    }
    CHECK(!timer_gettime(t, &then));
    int64_t own_time = own_ns() - own_first, counted = ns_of(first.it_value) - ns_of(then.it_value);
    printf("its own time: %lld us, its timer: %lld us\n", (long long)own_time / 1000, (long long)counted / 1000);
    CHECK(own_time >= (int64_t)TURNS * WORK_NS);
    CHECK(counted >= own_time - own_time / 10 && counted <= own_time + own_time / 2);      /* others: twice as much as the owner */
    return arg;
}
static void timer(void)
{
    act = work;
    with_subjects(timer_subject);
}

/* Signals of a descriptor, or of a timer, which another thread has given this one. */
static bool by_timer;
static _Atomic pid_t receiver;
static _Atomic int nr_signals;
static _Atomic bool is_home;
static void on_io(int sig)
{
    (void)sig;
    CHECK_EQ(own_tid(), receiver);
    nr_signals++;
}
static void *descriptor_subject(void *arg)
{
    int ends[2];
    char c = 1;
    until_away();
    if (!arg) receiver = own_tid();
    if (!arg) {
        while (!called || (floats() && is_away())) mix();       /* the call is made after 0.1 s all the same */
        is_home = true;
    }
    if ((long)arg != 1) {
        while (!done) mix();
        return arg;
    }
    while (!receiver) mix();
    struct f_owner_ex to = {.type = F_OWNER_TID, .pid = receiver};
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGIO, ._sigev_un = {._tid = receiver}};
    timer_t t;
    if (by_timer) CHECK(!timer_create(CLOCK_MONOTONIC, &event, &t));
    else CHECK(!pipe(ends) && !fcntl(ends[0], F_SETOWN_EX, &to) && !fcntl(ends[0], F_SETFL, O_ASYNC | O_NONBLOCK));
    called = true;
    while (!is_home) mix();
    for (int i = 0; i < LOOKS; i++) {
        if (by_timer) CHECK(!timer_settime(t, 0, &(struct itimerspec){.it_value = {0, 1}}, 0));
        else CHECK(write(ends[1], &c, 1) == 1);
        while (nr_signals <= i) mix();
        if (!by_timer) CHECK(read(ends[0], &c, 1) == 1);
    }
    done = true;
    return arg;
}
static void descriptor_owner(void)
{
    CHECK(!sigaction(SIGIO, &(struct sigaction){.sa_handler = on_io, .sa_flags = SA_RESTART}, 0));
    with_subjects(descriptor_subject);
}
static void timer_owner(void)
{
    by_timer = true;
    descriptor_owner();
}

int main(int argc, char **argv)
{
    static const struct { const char *name; void (*run)(void); } more[] = {{"events", events}, {"timer", timer}, {"descriptor_owner", descriptor_owner},
        {"timer_owner", timer_owner}};
    void (*run)(void) = 0;
    alarm(100);
    for (unsigned i = 0; argc == 2 && i < sizeof owns / sizeof *owns; i++)
        if (!strcmp(owns[i].name, argv[1])) own = &owns[i], run = check_own;
    for (unsigned i = 0; argc == 2 && i < sizeof more / sizeof *more; i++)
        if (!strcmp(more[i].name, argv[1])) run = more[i].run;
    if (!run) {
        fprintf(stderr, "usage: own CASE\n");
        return 2;
    }
    main_pid = getpid();
    if (own && !(own->flags & (BY_OTHER | NOT_IN_THREADS))) check_from_start();
    if (!refused) {
        begin();
        run();
        end();
    }
    remove_group();
    if (refused) printf("skipped: %s: the kernel refuses it (%s)\n", argv[1], strerror(refused));
    return refused ? 77 : 0;
}
