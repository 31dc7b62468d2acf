/* tests/tcm/processes.c - grants of several processes of one instance, on eight pretended CPUs.  SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <sys/stat.h>

#include "tcm_test.h"

/* A peer does what it is told, one word at a time, and answers. */
enum { ASK, RIGID, AGAIN, SEE, CALLS, LOWER, IDLE, TOLD, FORK, LEAVE, QUIT };
struct word { int what; int32_t min, max; };
struct peer { pid_t pid; int to, from; };

static atomic_int calls;
static tcm_result_t hear(tcm_permit_handle_t handle, void *arg, tcm_callback_flags_t why)
{
    (void)handle, (void)arg, (void)why;
    atomic_fetch_add(&calls, 1);
    return TCM_RESULT_SUCCESS;
}

/* The child of a peer: its permits are there, and have no threads; it takes part by itself. */
static int forked(tcm_permit_handle_t p)
{
    pid_t child = fork();
    if (child == 0) {
        HAS(p, 0, INACTIVE);
        OK(tcmActivatePermit(p));
        _exit((int)see(p).threads);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
    return WEXITSTATUS(status);
}

static tcm_permit_request_t rigid_of(int32_t min, int32_t max)
{
    tcm_permit_request_t r = of(min, max);
    r.flags.rigid_concurrency = 1;
    return r;
}

/* Has the table been told what this process asks for? */
static bool is_told(void)
{
    pthread_mutex_lock(&tcm.lock);
    bool told = !tcm.lower_at;
    pthread_mutex_unlock(&tcm.lock);
    return told;
}

static void serve(int in, int out)
{
    tcm_client_id_t c = client(hear);
    tcm_permit_handle_t p = NULL;
    struct word w;
    alarm(60);
    while (read(in, &w, sizeof(w)) == (ssize_t)sizeof(w)) {
        int answer = 0;
        switch (w.what) {
        case ASK: OK(tcmRequestPermit(c, of(w.min, w.max), NULL, &p, NULL)); answer = (int)see(p).threads; break;
        case RIGID: OK(tcmRequestPermit(c, rigid_of(w.min, w.max), NULL, &p, NULL)); answer = (int)see(p).threads; break;
        case AGAIN: OK(tcmActivatePermit(p)); answer = (int)see(p).threads; break;
        case SEE: answer = (int)see(p).threads; break;
        case CALLS: answer = atomic_load(&calls); break;
        case LOWER: OK(tcmDeactivatePermit(p)); break;
        case IDLE: OK(tcmIdlePermit(p)); break;
        case TOLD: answer = is_told(); break;
        case FORK: answer = forked(p); break;
        case LEAVE: OK(tcmDisconnect(c)); break;
        case QUIT: exit(0);
        }
        CHECK(write(out, &answer, sizeof(answer)) == (ssize_t)sizeof(answer));
    }
    exit(0);
}

static struct peer start(uint32_t from_cpu, uint32_t cpus)
{
    int to[2], from[2];
    CHECK(!pipe(to) && !pipe(from));
    pid_t pid = fork();
    if (pid == 0) {
        close(to[1]);
        close(from[0]);
        memset(&tcm.cpus, 0, sizeof(tcm.cpus));
        for (uint32_t i = 0; i < cpus; i++) os_cpu_set(&tcm.cpus, from_cpu + i);
        tcm.ncpus = cpus;
        serve(to[0], from[1]);
    }
    close(to[0]);
    close(from[1]);
    return (struct peer){pid, to[1], from[0]};
}

static int say(const struct peer *p, int what, int32_t min, int32_t max)
{
    struct word w = {what, min, max};
    int answer;
    CHECK(write(p->to, &w, sizeof(w)) == (ssize_t)sizeof(w));
    CHECK(read(p->from, &answer, sizeof(answer)) == (ssize_t)sizeof(answer));
    return answer;
}
static int threads(const struct peer *p) { return say(p, SEE, 0, 0); }

static void finish(struct peer *p, bool kill_it)
{
    int status;
    struct word quit = {QUIT, 0, 0};
    if (kill_it) kill(p->pid, SIGKILL);
    else CHECK(write(p->to, &quit, sizeof(quit)) == (ssize_t)sizeof(quit));
    CHECK(waitpid(p->pid, &status, 0) == p->pid);
    CHECK(kill_it ? WIFSIGNALED(status) : WIFEXITED(status) && WEXITSTATUS(status) == 0);
    close(p->to);
    close(p->from);
}

static void evenly(void)
{
    struct peer a = start(0, 8), b = start(0, 8), c = start(0, 8);
    CHECK_EQ(say(&a, ASK, 1, 8), 8);
    CHECK_EQ(say(&b, ASK, 1, 8), 4);
    UNTIL(threads(&a) == 4);
    CHECK(say(&a, CALLS, 0, 0) > 0);
    CHECK_EQ(say(&c, ASK, 1, 2), 2);
    UNTIL(threads(&a) + threads(&b) == 6);
    say(&b, LOWER, 0, 0);
    UNTIL(threads(&a) == 6);
    CHECK_EQ(say(&b, ASK, 1, 8), 3);
    UNTIL(threads(&a) == 3);
    say(&c, LEAVE, 0, 0);
    UNTIL(threads(&a) == 4 && threads(&b) == 4);
    finish(&b, true);           /* nobody tells of a death */
    UNTIL(threads(&a) == 8);
    finish(&a, false);
    finish(&c, false);
}

/* A minimum is granted whatever others have; threads of their own count. */
static void minima(void)
{
    struct peer a = start(0, 8), b = start(0, 8);
    CHECK_EQ(say(&a, ASK, 8, 8), 8);
    CHECK_EQ(say(&b, ASK, 6, 8), 6);
    CHECK_EQ(threads(&a), 8);
    say(&b, ASK, 0, 7);
    UNTIL(threads(&b) == 0);    /* its lower demand is told a little later */
    finish(&a, false);
    UNTIL(threads(&b) == 7);
    struct peer c = start(0, 8);
    CHECK_EQ(say(&c, ASK, 0, 7), 3);
    UNTIL(threads(&b) == 3);
    finish(&b, false);
    finish(&c, false);
}

static void idle(void)
{
    struct peer a = start(0, 8), b = start(0, 8);
    CHECK_EQ(say(&a, ASK, 1, 6), 6);
    say(&a, IDLE, 0, 0);
    UNTIL(say(&a, TOLD, 0, 0));         /* the lower demand is told a little later */
    CHECK_EQ(say(&b, ASK, 1, 2), 2);
    CHECK_EQ(threads(&a), 6);
    say(&b, ASK, 1, 8);
    UNTIL(threads(&b) == 8);
    UNTIL(threads(&a) == 0);
    finish(&a, false);
    finish(&b, false);
}

/* Processes of other CPUs take nothing away. */
static void masks(void)
{
    struct peer a = start(0, 4), b = start(4, 4), c = start(0, 8);
    CHECK_EQ(say(&a, ASK, 1, 4), 4);
    CHECK_EQ(say(&b, ASK, 1, 4), 4);
    CHECK_EQ(threads(&a), 4);
    say(&c, ASK, 1, 8);
    UNTIL(threads(&a) + threads(&b) + threads(&c) == 8);
    CHECK(threads(&a) >= 2 && threads(&b) >= 2 && threads(&c) >= 2);
    finish(&c, true);
    UNTIL(threads(&a) == 4 && threads(&b) == 4);
    finish(&a, true);
    finish(&b, true);
}

static void forks(void)
{
    struct peer a = start(0, 8);
    CHECK_EQ(say(&a, ASK, 1, 8), 8);
    CHECK_EQ(say(&a, FORK, 0, 0), 4);       /* beside its parent */
    UNTIL(threads(&a) == 8);
    finish(&a, false);
}

/* The death of another process is noticed also where no grant may change: a rigid permit has more when
 * its client asks again. */
static void rigid(void)
{
    struct peer a = start(0, 8), b = start(0, 8);
    CHECK_EQ(say(&a, ASK, 1, 8), 8);
    CHECK_EQ(say(&b, RIGID, 1, 8), 4);
    finish(&a, true);
    UNTIL(say(&b, AGAIN, 0, 0) == 8);
    finish(&b, false);
}

/* One that is stopped keeps what it has, and makes nobody wait. */
static void stopped(void)
{
    struct peer a = start(0, 8), b = start(0, 8);
    CHECK_EQ(say(&a, ASK, 1, 8), 8);
    kill(a.pid, SIGSTOP);
    CHECK_EQ(say(&b, ASK, 1, 8), 4);
    kill(a.pid, SIGCONT);
    UNTIL(threads(&a) == 4);
    finish(&a, false);
    UNTIL(threads(&b) == 8);
    finish(&b, false);
}

/* Peers that are killed at any moment leave a table that works. */
static void killed(void)
{
    struct peer a = start(0, 8);
    CHECK_EQ(say(&a, ASK, 1, 8), 8);
    for (int i = 0; i < 40; i++) {
        pid_t busy = fork();
        if (busy == 0) {
            pretend(8, false);
            tcm_client_id_t c = client(NULL);
            tcm_permit_handle_t p = permit(c, of(1, 8), NULL);
            for (int32_t n = 0;; n++) OK(tcmRequestPermit(c, of(1, 1 + n % 8), NULL, &p, NULL));
        }
        usleep((unsigned)(i * 131 % 3000));
        kill(busy, SIGKILL);
        CHECK(waitpid(busy, NULL, 0) == busy);
    }
    UNTIL(threads(&a) == 8);
    finish(&a, false);
}

/* The table has room for 128: the others go by their own CPUs, and later ones have the room of those that have left. */
static void too_many(void)
{
    enum { N = 140 };
    static struct peer peer[N];
    for (int i = 0; i < N; i++) {
        peer[i] = start(0, 8);
        CHECK(say(&peer[i], ASK, 1, 8) >= 1);
    }
    CHECK_EQ(threads(&peer[N - 1]), 8);
    for (int i = 0; i < N; i++) finish(&peer[i], i % 2);
    struct peer a = start(0, 8), b = start(0, 8);
    CHECK_EQ(say(&a, ASK, 1, 8), 8);
    CHECK_EQ(say(&b, ASK, 1, 8), 4);
    UNTIL(threads(&a) == 4);
    finish(&a, false);
    finish(&b, false);
}

static void is_alone(void)
{
    struct peer a = start(0, 8), b = start(0, 8);
    CHECK_EQ(say(&a, ASK, 1, 8), 8);
    CHECK_EQ(say(&b, ASK, 1, 8), 8);
    CHECK_EQ(say(&a, FORK, 0, 0), 8);
    finish(&a, false);
    finish(&b, false);
}

/* Something else has the table's name, or it is another user's: each process goes by its own CPUs. */
static void no_table(void)
{
    const char *path = table_path();
    unlink(path);
    CHECK(!mkdir(path, 0700));
    is_alone();
    CHECK(!rmdir(path));
    CHECK(!symlink("/dev/null", path));
    is_alone();
    CHECK(!unlink(path));
    CHECK(!mkfifo(path, 0600));
    is_alone();
    CHECK(!unlink(path));
    if (geteuid() == 0) {
        close(open(path, O_CREAT | O_EXCL | O_WRONLY, 0600));
        CHECK(!chown(path, 65534, 65534));
        is_alone();
        CHECK(!unlink(path));
    }
}

/* A file of a size and content that nobody uses is begun anew. */
static void rubbish(void)
{
    static const off_t sizes[] = {0, 1, 4096, 100000};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        unlink(table_path());
        int fd = open(table_path(), O_CREAT | O_EXCL | O_WRONLY, 0600);
        CHECK(fd >= 0);
        for (off_t n = 0; n < sizes[i]; n++) CHECK(write(fd, "\xff\x01", 1 + n % 2) > 0);
        close(fd);
        struct peer a = start(0, 8), b = start(0, 8);
        CHECK_EQ(say(&a, ASK, 1, 8), 8);
        CHECK_EQ(say(&b, ASK, 1, 8), 4);
        finish(&a, true);
        UNTIL(threads(&b) == 8);
        finish(&b, false);
    }
}

int main(void)
{
    begin();
    void (*const all[])(void) = {evenly, minima, idle, masks, forks, rigid, stopped, killed, too_many, no_table, rubbish};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) all[i]();
    end();
    return 0;
}
