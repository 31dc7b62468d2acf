/* tests/spawn/late.c - a process that stands by at first, as it is told by lines (test_late.py).  SPDX-License-Identifier: Apache-2.0
 *
 * late: commands on stdin, an answer to each.  late NAME: one case, whose output is the same bare and under usf. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "usf/usf.h"

#define MS 1000000ll
#define BUSY (30 * MS)         /* of CPU time: more than a process that shares memory can stand by */

/* Of the process, by a call that the gate leaves alone. */
static int64_t cpu(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec * 1000 * MS + t.tv_nsec;
}

static void burn(int64_t ns)
{
    int64_t end = cpu() + ns;
    while (cpu() < end)
        for (volatile int i = 0; i < 20000; i++) { }
}

/* A line: an exec must not take the next one with it. */
static bool read_line(char *line, size_t size)
{
    size_t n = 0;
    while (n < size && read(0, &line[n], 1) == 1 && line[n] != '\n') n++;
    if (n == size || line[n] != '\n') return false;
    line[n] = 0;
    return true;
}

/* ---- commands ------------------------------------------------------------------------------------- */

static void *shared;
static void *nothing(void *arg) { return arg; }
static void on_signal(int sig) { (void)sig; }

/* An executable that imports pthread_create joins when it sets an alternate stack. */
static pthread_t new_thread(void *(*fn)(void *))
{
    int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) = dlsym(RTLD_DEFAULT, "pthread_create");
    pthread_t t = 0;
    create(&t, NULL, fn, NULL);
    return t;
}

static void make_thread(void) { pthread_join(new_thread(nothing), NULL); }

static int shares(void *arg) { (void)arg; return 0; }

static void make_clone(void)
{
    static char stack[64 << 10] __attribute__((aligned(16)));
    waitpid(clone(shares, stack + sizeof stack, CLONE_VM | SIGCHLD, NULL), NULL, 0);
}

static char room[64 << 10] __attribute__((aligned(16)));
static void set_stack(void *at) { sigaltstack(&(stack_t){.ss_sp = at, .ss_size = sizeof room}, NULL); }

static void handle(int sig, void (*handler)(int), int flags)
{
    struct sigaction a = {.sa_handler = handler, .sa_flags = flags};
    sigaction(sig, &a, NULL);
}

static void command(const char *what)
{
    cpu_set_t set;
    sigset_t all;
    stack_t stack;
    if (!strcmp(what, "thread")) make_thread();
    else if (!strcmp(what, "burn")) burn(BUSY);
    else if (!strcmp(what, "burn_long")) burn(6 * BUSY);
    else if (!strcmp(what, "alone")) munmap(shared, 4096);
    else if (!strcmp(what, "where")) sched_getaffinity(0, sizeof set, &set);
    else if (!strcmp(what, "affinity")) sched_getaffinity(0, sizeof set, &set), sched_setaffinity(0, sizeof set, &set);
    else if (!strcmp(what, "stack")) sigaltstack(NULL, &stack);
    else if (!strcmp(what, "allocated")) set_stack(malloc(sizeof room));
    else if (!strcmp(what, "early")) handle(SIGSEGV, on_signal, SA_ONSTACK);
    else if (!strcmp(what, "guard")) set_stack(room), handle(SIGSEGV, on_signal, SA_ONSTACK);
    else if (!strcmp(what, "share")) make_clone();
    else if (!strcmp(what, "namespace")) unshare(0);
    else if (!strcmp(what, "asks")) prctl(USF_PRCTL, USF_PRCTL_ASK, 0, 0, 0);
    else if (!strcmp(what, "nice")) setpriority(PRIO_PROCESS, 0, 1);
    else if (!strcmp(what, "cpus")) sysconf(_SC_NPROCESSORS_ONLN);
    else if (!strcmp(what, "urgent")) signal(SIGURG, on_signal);
    else if (!strcmp(what, "sleep")) usleep(1);
    else if (!strcmp(what, "alarm")) signal(SIGALRM, on_signal);
    else if (!strcmp(what, "block")) sigfillset(&all), sigprocmask(SIG_BLOCK, &all, NULL);
    else if (!strcmp(what, "trace")) ptrace(PTRACE_DETACH, 0x7fffffff, 0, 0);
    else if (!strcmp(what, "setuid")) (void)!setresuid(1234, 1234, 1234);
    else if (!strcmp(what, "die")) raise(SIGKILL);
    else if (!strcmp(what, "leave")) exit(0);
}

/* The child goes on with the commands. */
static void change_process(bool by_fork)
{
    pid_t pid = by_fork ? fork() : (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (!pid) return;
    int status;
    waitpid(pid, &status, 0);
    exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

static int obey(char **argv)
{
    char line[64] = "";
    while (read_line(line, sizeof line)) {
        if (!strcmp(line, "fork")) change_process(true);
        else if (!strcmp(line, "clone")) change_process(false);
        else if (!strcmp(line, "exec")) execv("/proc/self/exe", argv);
        else command(line);
        dprintf(1, "%d %lld\n", getpid(), (long long)cpu());
    }
    return 0;
}

/* ---- cases ---------------------------------------------------------------------------------------- */

static unsigned interrupted;
static void count(long r) { interrupted += r < 0 && errno == EINTR; }

/* Calls that end with EINTR after any signal.  The time comes in the middle of them: usf looks at it once in 2 ms. */
static void eintr_once(void)
{
    int ends[2], ep = epoll_create1(0);
    struct pollfd p = {.events = POLLIN};
    struct epoll_event e = {.events = EPOLLIN};
    (void)!pipe(ends);
    p.fd = ends[0];
    epoll_ctl(ep, EPOLL_CTL_ADD, ends[0], &e);
    burn(BUSY - 7 * MS - cpu());
    for (int i = 0; cpu() < BUSY; i++) {
        struct timespec short_time = {.tv_nsec = 1000};
        struct timeval tv = {.tv_usec = 1};
        fd_set set;
        FD_ZERO(&set);
        FD_SET(ends[0], &set);
        count(nanosleep(&short_time, NULL));
        count(ppoll(&p, 1, &short_time, NULL));
        count(select(ends[0] + 1, &set, NULL, NULL, &tv));
        if (i % 16 == 0) count(epoll_wait(ep, &e, 1, 1));
        if (i % 16 == 8) count(poll(&p, 1, 1));
        if (clock_nanosleep(CLOCK_MONOTONIC, 0, &short_time, NULL) == EINTR) interrupted++;
    }
    _exit(interrupted != 0);
}

static void eintr(void)
{
    unsigned bad = 0;
    for (int i = 0; i < 20; i++) {
        int status = 0;
        pid_t pid = fork();
        if (!pid) eintr_once();
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR) { }
        bad += status != 0;
    }
    printf("interrupted: %u\n", bad);
}

/* Nothing but the first comes to a thread that blocks all signals. */
static void blocked(void)
{
    sigset_t all, pending;
    struct timespec no_time = {0};
    siginfo_t info;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    int fd = signalfd(-1, &all, SFD_NONBLOCK);
    burn(20 * MS);
    struct signalfd_siginfo s;
    ssize_t n = read(fd, &s, sizeof s);
    sigpending(&pending);
    printf("signalfd %zd, pending %d", n, sigismember(&pending, SIGURG));
    int r = sigtimedwait(&all, &info, &no_time);
    printf(", waited %d\n", r);
    raise(SIGURG);
    sigpending(&pending);
    r = sigtimedwait(&all, &info, &no_time);
    printf("pending %d, waited %d\n", sigismember(&pending, SIGURG), r == SIGURG);
}

/* SIGURG is blocked and has become pending when another program is executed. */
static void handed_on(void)
{
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    burn(20 * MS);
    execlp("sh", "sh", "-c", "grep -e SigPnd -e ShdPnd /proc/self/status", NULL);
}

/* The kernel restarts or ends these after a signal, and a pipe's write is cut short by one. */
static void transfers(void)
{
    static char data[1 << 20];
    int ends[2];
    (void)!pipe(ends);
    pid_t pid = fork();
    if (!pid) {
        size_t all = 0;
        ssize_t n;
        close(ends[1]);
        while ((n = read(ends[0], data, 100)) > 0) all += (size_t)n;
        printf("read %zu\n", all);
        fflush(stdout);
        _exit(0);
    }
    close(ends[0]);
    for (int i = 0; i < 3; i++) {
        ssize_t n = write(ends[1], data, sizeof data);
        if (n != sizeof data) printf("short: %zd\n", n);
    }
    close(ends[1]);
    waitpid(pid, NULL, 0);
}

static void on_urgent(int sig, siginfo_t *info, void *uc)
{
    (void)sig, (void)uc;
    char c = info->si_code == SI_TIMER ? 'T' : 'u';
    (void)!write(1, &c, 1);
}

/* A program's own handler of the same signal is called for its own signals alone. */
static void urgent(void)
{
    struct sigaction a = {.sa_sigaction = on_urgent, .sa_flags = SA_SIGINFO};
    sigaction(SIGURG, &a, NULL);
    burn(20 * MS);
    raise(SIGURG);
    burn(5 * MS);
    (void)!write(1, "\n", 1);
}

static volatile sig_atomic_t ticks;
static void on_tick(int sig) { (void)sig; ticks++; }

/* Its own timers of CPU time tick as they do bare. */
static void own_timers(void)
{
    struct sigevent e = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN};
    struct itimerspec every = {.it_interval = {.tv_nsec = 1000000}, .it_value = {.tv_nsec = 1000000}};
    struct itimerval prof = {.it_interval = {.tv_usec = 1000}, .it_value = {.tv_usec = 1000}};
    timer_t t;
    signal(SIGRTMIN, on_tick);
    printf("%d\n", timer_create(CLOCK_PROCESS_CPUTIME_ID, &e, &t));
    timer_settime(t, 0, &every, NULL);
    burn(20 * MS);
    printf("%d %d\n", ticks > 0, timer_delete(t));
    ticks = 0;
    signal(SIGPROF, on_tick);
    setitimer(ITIMER_PROF, &prof, NULL);
    burn(20 * MS);
    printf("%d\n", ticks > 0);
}

/* The ids that the kernel gives, where it lets usf have one of its own. */
static void timer_ids(void)
{
    bool choose = prctl(77 /* PR_TIMER_CREATE_RESTORE_IDS */, 2, 0, 0, 0) == 0;
    struct sigevent e = {.sigev_notify = SIGEV_NONE};
    int id[2];
    for (int i = 0; i < 2; i++) {
        syscall(SYS_timer_create, CLOCK_MONOTONIC, &e, &id[i]);
        if (i == 0) burn(20 * MS);
    }
    if (choose) printf("%d %d\n", id[0], id[1]);
    else printf("%d\n", id[1] - id[0]);
}

/* An instance's memory, in a program that never takes part. */
static void segment(void)
{
    char line[512];
    FILE *f = fopen("/proc/self/maps", "r");
    bool found = false;
    while (fgets(line, sizeof line, f)) found |= strstr(line, "/dev/shm/usf-") != NULL;
    puts(found ? "segment" : "no segment");
}

/* A filter that the next program inherits: it does not allow a timer. */
static void filtered(void)
{
    struct sock_filter f[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_timer_create, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog all = {.len = sizeof f / sizeof *f, .filter = f};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &all)) perror("seccomp");
    burn(BUSY);
    execl("/proc/self/exe", "late", "run_on", NULL);
}

static void run_on(void)
{
    burn(BUSY);
    puts("runs");
}

/* It can open nothing, and descriptor 2 is a file of the program's: nobody writes to that. */
static void no_files(void)
{
    char name[] = "/tmp/usf-late-XXXXXX";
    int fd = mkstemp(name);
    unlink(name);
    dup2(fd, 2);
    close(fd);
    setrlimit(RLIMIT_NOFILE, &(struct rlimit){.rlim_cur = 3, .rlim_max = 3});
    burn(BUSY);
    make_thread();
    printf("%lld\n", (long long)lseek(2, 0, SEEK_END));
}

/* Calls all the time: the signal comes right after one, where code is patched.  depth: in a handler, in one on top of it ... */
static volatile unsigned sum;

static void make_calls(int64_t until)
{
    char c[64];
    int fd = open("/dev/zero", O_RDWR | O_CLOEXEC);
    while (cpu() < until) {
        struct timespec t = {0};
        struct timeval tv;
        sum += getppid() == 0;
        sum += read(fd, c, sizeof c) != sizeof c;
        sum += write(fd, c, sizeof c) != sizeof c;
        sum += sched_yield() != 0;
        sum += lseek(fd, 0, SEEK_CUR) < 0;
        sum += nanosleep(&t, NULL) != 0 && errno != EINTR;
        sum += syscall(SYS_gettimeofday, &tv, NULL) != 0;
        sum += poll(NULL, 0, 0) != 0 && errno != EINTR;
        sum += getpriority(PRIO_PROCESS, 0) != 0;
        sum += umask(022) != 022;
        sum += kill(getpid(), 0) != 0;
    }
    close(fd);
}

static volatile int depth;
static void on_alarm(int sig)
{
    (void)sig;
    if (depth > 2) return;
    depth++;
    make_calls(cpu() + MS / 4);
    depth--;
}

static void calls_once(bool nested)
{
    struct sigaction a = {.sa_handler = on_alarm, .sa_flags = SA_RESTART | SA_NODEFER | (nested ? SA_ONSTACK : 0)};
    struct itimerval every = {.it_interval = {.tv_usec = 200}, .it_value = {.tv_usec = 100}};
    struct itimerval never = {.it_value = {0}};
    umask(022);
    sigaction(SIGALRM, &a, NULL);
    setitimer(ITIMER_REAL, &every, NULL);
    make_calls(BUSY);
    setitimer(ITIMER_REAL, &never, NULL);
    make_thread();
    make_calls(BUSY + MS);
}

static void calls(void)
{
    for (int i = 0; i < 40; i++) {
        int status = 0;
        char *argv[] = {"late", i % 2 ? "calls_once" : "calls_on_stack", NULL};
        pid_t pid = fork();
        if (!pid && i % 4 < 2) execv("/proc/self/exe", argv);
        if (!pid) {
            calls_once(i % 2);
            _exit(sum != 0);
        }
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR) { }
        if (status) printf("%d: status %x\n", i, (unsigned)status);
    }
}

static void calls_in_program(void) { calls_once(false), exit(sum != 0); }
static void calls_on_stack(void) { calls_once(true), exit(sum != 0); }

/* A call on a stack that is not the thread's, which a handler interrupts that has the process join. */
static int ends[2];
static volatile bool computes;

static void in_the_way(int sig)
{
    (void)sig;
    int e = errno;
    if (computes) burn(BUSY);
    else sysconf(_SC_NPROCESSORS_ONLN);
    errno = e;
}

static void wait_for_data(void)
{
    char c;
    ssize_t n = read(ends[0], &c, 1);
    printf("read %zd %d\n", n, n < 0 ? errno : 0);
}

static void interrupted_wait(bool onstack)
{
    struct sigaction a = {.sa_handler = in_the_way, .sa_flags = onstack ? SA_ONSTACK : 0};
    struct itimerval soon = {.it_value = {.tv_usec = 20000}};
    (void)!pipe(ends);
    sigaction(SIGALRM, &a, NULL);
    setitimer(ITIMER_REAL, &soon, NULL);
}

static void on_other_stack(bool will_compute)
{
    static char other[256 << 10] __attribute__((aligned(64)));
    computes = will_compute;
    interrupted_wait(false);
    __asm__ volatile("mov %%rsp, %%rbx\n mov %0, %%rsp\n call *%1\n mov %%rbx, %%rsp"
                     : : "r"(other + sizeof other), "r"(wait_for_data)
                     : "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "cc", "memory");
    burn(BUSY);
    make_thread();
}

static void elsewhere_asks(void) { on_other_stack(false); }
static void elsewhere_computes(void) { on_other_stack(true); }
static void onstack_asks(void) { interrupted_wait(true), wait_for_data(); }

/* A handler that wants an alternate stack, where there is none, has the room of the thread's own. */
static void fill(int sig)
{
    volatile char room[200 << 10];
    (void)sig;
    for (size_t i = 0; i < sizeof room; i += 1024) room[i] = 1;
}

static void large_handler(void)
{
    struct sigaction a = {.sa_handler = fill, .sa_flags = SA_ONSTACK};
    sigaction(SIGUSR1, &a, NULL);
    raise(SIGUSR1);
    puts("ok");
}

/* Whether it has joined or not, it has no alternate stack. */
static void alternate_stack(void)
{
    stack_t s;
    dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), 2);
    setrlimit(RLIMIT_NOFILE, &(struct rlimit){.rlim_cur = 3, .rlim_max = 3});
    burn(BUSY);
    sigaltstack(NULL, &s);
    printf("%d %zu\n", s.ss_flags, s.ss_size);
}

/* Overflows of the stack are handled on a stack of the program's, before the join and after it. */
static sigjmp_buf out;
static void (*in_overflow)(void);

static void tell_stack(void)
{
    stack_t s;
    sigaltstack(NULL, &s);
    printf(" %s %d %zu", s.ss_sp == room ? "its own" : s.ss_sp ? "another" : "none", s.ss_flags, s.ss_size);
}

static void on_overflow(int sig)
{
    char here;
    (void)sig;
    printf("%s", &here >= room && &here < room + sizeof room ? " on it" : " elsewhere");
    if (in_overflow) in_overflow();
    siglongjmp(out, 1);
}

static int __attribute__((noinline)) deep(int n)
{
    volatile char frame[512];
    frame[n % 512] = 1;
    return n ? deep(n - 1) + frame[n % 512] : 0;
}

static void overflow(void)
{
    if (sigsetjmp(out, 1) == 0) printf("%d", deep(1 << 30));
    else printf(" over\n");
}

static void guard(void)
{
    setrlimit(RLIMIT_STACK, &(struct rlimit){.rlim_cur = 256 << 10, .rlim_max = RLIM_INFINITY});
    set_stack(room);
    handle(SIGSEGV, on_overflow, SA_ONSTACK | SA_NODEFER);
}

static void overflows(void)
{
    for (int i = 0; i < 4; i++) {
        overflow();
        if (i == 1) burn(BUSY);
        if (i == 2) make_thread();
    }
    tell_stack();
}

static void compute(void) { burn(BUSY), tell_stack(); }
static void ask(void) { make_thread(), tell_stack(); }
static void leave(void) { ptrace(PTRACE_DETACH, 0x7fffffff, 0, 0), tell_stack(); }
static void one_more(void) { in_overflow = NULL, raise(SIGSEGV); }
static void overflow_plain(void) { guard(), overflows(); }
static void overflow_computes(void) { in_overflow = compute, guard(), overflows(); }
static void overflow_asks(void) { in_overflow = ask, guard(), overflows(); }
static void overflow_leaves(void) { in_overflow = leave, guard(), overflows(); }
static void overflow_nested(void) { in_overflow = one_more, guard(), overflows(); }

/* Handlers that return: one on it, and one that was under way when the process joined. */
static char *page;
static void let_in(int sig) { (void)sig, burn(BUSY), tell_stack(), mprotect(page, 4096, PROT_READ | PROT_WRITE); }
static void on_time(int sig) { (void)sig, burn(BUSY), tell_stack(); }

static void guarded_page(void)
{
    page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    set_stack(room);
    handle(SIGSEGV, let_in, SA_ONSTACK);
    for (int i = 0; i < 2; i++) {
        page[5] = 1;
        mprotect(page, 4096, PROT_NONE);
        tell_stack();
    }
}

static void guarded_wait(void)
{
    guard();
    handle(SIGALRM, on_time, 0);
    raise(SIGALRM);
    overflows();
}

/* The program's alternate stack keeps its content while no handler runs on it. */
static void untouched(void)
{
    int others = 3, n = 0;
    set_stack(room);
    handle(SIGSEGV, on_overflow, SA_ONSTACK);
    memset(room, 0x5a, sizeof room);
    make_thread();
    for (int i = 0; i < others; i++)
        if (!fork()) {
            burn(200 * MS);
            _exit(0);
        }
    burn(200 * MS);
    for (size_t i = 0; i < sizeof room; i++) n += room[i] != 0x5a;
    while (wait(NULL) > 0) { }
    printf("%d written\n", n);
}

/* The thread pointer is the program's own for a while. */
static void __attribute__((optimize("no-stack-protector"))) own_tls(void)
{
    static char other[64 << 10] __attribute__((aligned(64)));
    unsigned long fs, n = 0;
    long r;
    __asm__ volatile("syscall" : "=a"(r) : "a"(SYS_arch_prctl), "D"(0x1003), "S"(&fs) : "rcx", "r11", "memory");
    __asm__ volatile("syscall" : "=a"(r) : "a"(SYS_arch_prctl), "D"(0x1002), "S"(other + sizeof other / 2) : "rcx", "r11", "memory");
    for (volatile long i = 0; i < 20000000; i++) { }
    for (size_t i = 0; i < sizeof other; i++) n += other[i] != 0;
    __asm__ volatile("syscall" : "=a"(r) : "a"(SYS_arch_prctl), "D"(0x1002), "S"(fs) : "rcx", "r11", "memory");
    printf("%lu written\n", n);
}

/* libc's handler of the same signal is in place where setuid needs it. */
static void *sleeps(void *arg) { pause(); return arg; }

static void setuid_below(void)
{
    new_thread(sleeps);
    for (int i = 0; i < 2; i++) {
        int status = 0;
        pid_t pid = fork();
        if (!pid) continue;
        waitpid(pid, &status, 0);
        _exit(status ? 1 : 0);
    }
    new_thread(sleeps);
    alarm(10);
    printf("%d\n", setuid(getuid()));
    fflush(stdout);
    _exit(0);
}

/* Only read, write, exit and the return from a handler are allowed then. */
static void strict(void)
{
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
    for (volatile long i = 0; i < 20000000; i++) { }
    (void)!write(1, "done\n", 5);
    syscall(SYS_exit, 0);
}

/* Until it is killed, without a call. */
static void computes_alone(void)
{
    setrlimit(RLIMIT_CPU, &(struct rlimit){.rlim_cur = 30, .rlim_max = 30});
    dprintf(1, "%d\n", getpid());
    for (volatile long i = 0;; i++) { }
}

static const struct { const char *name; void (*run)(void); } cases[] = {
    {"eintr", eintr}, {"blocked", blocked}, {"handed_on", handed_on}, {"transfers", transfers}, {"urgent", urgent},
    {"own_timers", own_timers}, {"timer_ids", timer_ids}, {"segment", segment},
    {"filtered", filtered}, {"run_on", run_on}, {"no_files", no_files}, {"calls", calls},
    {"elsewhere_asks", elsewhere_asks}, {"elsewhere_computes", elsewhere_computes}, {"onstack_asks", onstack_asks},
    {"large_handler", large_handler}, {"alternate_stack", alternate_stack}, {"own_tls", own_tls}, {"setuid_below", setuid_below},
    {"strict", strict}, {"overflow_plain", overflow_plain}, {"overflow_computes", overflow_computes}, {"overflow_asks", overflow_asks},
    {"overflow_leaves", overflow_leaves}, {"overflow_nested", overflow_nested}, {"guarded_page", guarded_page},
    {"guarded_wait", guarded_wait}, {"untouched", untouched},
    {"computes_alone", computes_alone}, {"calls_once", calls_in_program}, {"calls_on_stack", calls_on_stack},
};

int main(int argc, char **argv)
{
    alarm(60);
    shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (argc < 2) return obey(argv);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (strcmp(argv[1], cases[i].name)) continue;
        cases[i].run();
        return 0;
    }
    return 2;
}
