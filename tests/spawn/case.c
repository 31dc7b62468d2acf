/* tests/spawn/case.c - cases, children, and threads in the way.  SPDX-License-Identifier: Apache-2.0 */
#include "case.h"

#include <time.h>

static struct { const char *name; void (*fn)(void); } cases[128];
static int count;
char **spawn_argv;
const char *spawn_self;

void spawn_add(const char *name, void (*fn)(void))
{
    cases[count].name = name;
    cases[count++].fn = fn;
}

/* ---- does it work? ------------------------------------------------------------------------------------------ */
struct game {
    pthread_mutex_t lock;
    pthread_cond_t cond;
    int turn;
};

static void play(struct game *g, int me)
{
    for (int i = 0; i < 20; i++) {
        pthread_mutex_lock(&g->lock);
        while (g->turn % 2 != me) pthread_cond_wait(&g->cond, &g->lock);
        g->turn++;
        pthread_cond_broadcast(&g->cond);
        pthread_mutex_unlock(&g->lock);
    }
}

static void *other(void *arg)
{
    char *text = malloc(1000);
    if (!text) return NULL;
    snprintf(text, 1000, "%p", arg);
    play(arg, 1);
    free(text);
    return arg;
}

bool works(void)
{
    struct game *g = malloc(sizeof *g);
    pthread_t t;
    void *back = NULL;
    *g = (struct game){.lock = PTHREAD_MUTEX_INITIALIZER, .cond = PTHREAD_COND_INITIALIZER};
    if (!EXPECT((errno = pthread_create(&t, NULL, other, g)) == 0)) return false;
    play(g, 0);
    EXPECT(pthread_join(t, &back) == 0);
    bool good = back == g && g->turn == 40;
    free(g);
    return good;
}

const char *end_of(pid_t pid)
{
    static _Thread_local char text[32];
    int status;
    pid_t r;
    while ((r = waitpid(pid, &status, 0)) < 0 && errno == EINTR);
    if (r < 0) return strerror(errno);
    if (WIFEXITED(status)) snprintf(text, sizeof text, "exit %d", WEXITSTATUS(status));
    else snprintf(text, sizeof text, "signal %d%s", WTERMSIG(status), WCOREDUMP(status) ? ", core" : "");
    return text;
}

_Noreturn void end_working(void) { _exit(works() && !check_failed() ? 0 : 1); }

bool child_works(void)
{
    pid_t pid = fork();
    if (pid == 0) end_working();
    return EXPECT(!strcmp(end_of(pid), "exit 0"));
}

bool shell_works(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        execl("/bin/sh", "sh", "-c", "exit 4", NULL);
        _exit(9);
    }
    return EXPECT(!strcmp(end_of(pid), "exit 4"));
}

void nap_ms(int ms)
{
    struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};
    nanosleep(&t, NULL);
}

/* ---- a crowd ---------------------------------------------------------------------------------------------- */
static pthread_t crowd[64];
static int crowd_n;
static _Atomic bool crowd_stop;
static pthread_mutex_t crowd_mutex = PTHREAD_MUTEX_INITIALIZER;
static sem_t crowd_sem;
static int crowd_pipe[2];

static void *ends_at_once(void *arg) { return arg; }

static void step(int kind)
{
    pthread_t t;
    char c = 'x';
    switch (kind) {
    case 0: for (volatile int n = 0; n < 20000; n++); break;
    case 1:
        pthread_mutex_lock(&crowd_mutex);
        sched_yield();
        pthread_mutex_unlock(&crowd_mutex);
        break;
    case 2: if (pthread_create(&t, NULL, ends_at_once, NULL) == 0) pthread_join(t, NULL); break;
    case 3: sem_wait(&crowd_sem); break;
    case 4: if (read(crowd_pipe[0], &c, 1) == 1) nap_ms(1); break;
    case 5:
        sem_post(&crowd_sem);
        if (write(crowd_pipe[1], &c, 1) == 1) nap_ms(1);
        break;
    case 6: free(malloc(100000)); break;
    default: {
        void *m = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (m != MAP_FAILED) munmap(m, 65536);
    }
    }
}

static void *one_of_crowd(void *arg)
{
    while (!atomic_load(&crowd_stop)) step((int)(intptr_t)arg % 8);
    return NULL;
}

void crowd_start(int n)
{
    crowd_stop = false;
    crowd_n = n;
    sem_init(&crowd_sem, 0, 0);
    EXPECT(pipe2(crowd_pipe, O_CLOEXEC) == 0);
    for (int i = 0; i < n; i++) EXPECT(pthread_create(&crowd[i], NULL, one_of_crowd, (void *)(intptr_t)i) == 0);
}

void crowd_end(void)
{
    char text[64] = "";
    atomic_store(&crowd_stop, true);
    for (int i = 0; i < crowd_n; i++) sem_post(&crowd_sem);
    EXPECT(write(crowd_pipe[1], text, sizeof text) == sizeof text);
    for (int i = 0; i < crowd_n; i++) pthread_join(crowd[i], NULL);
    close(crowd_pipe[0]);
    close(crowd_pipe[1]);
}

/* ------------------------------------------------------------------------------------------------------------ */
int main(int argc, char **argv)
{
    static char self[4096];
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc < 2) {
        for (int i = 0; i < count; i++) puts(cases[i].name);
        return 0;
    }
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    spawn_self = n > 0 ? self : argv[0];
    spawn_argv = argv + 2;
    alarm(40);
    for (int i = 0; i < count; i++)
        if (!strcmp(cases[i].name, argv[1])) {
            cases[i].fn();
            return check_failed();
        }
    fprintf(stderr, "no case %s\n", argv[1]);
    return 2;
}
