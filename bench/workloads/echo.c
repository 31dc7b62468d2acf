/* bench/workloads/echo.c - a threaded TCP server and its clients, saturated.  SPDX-License-Identifier: Apache-2.0
 * A process with one thread per connection sends back what --clients threads of another process send and wait for, --bytes at a
 * time: for --seconds, or until --requests have been answered. */
#include "workload.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_BYTES = 65536 };
static long bytes, each;        /* requests of a client; 0: until `stop` */
static struct sockaddr_in address;
static atomic_bool stop;
static atomic_int bad;

static int whole(ssize_t (*io)(int, void *, size_t), int fd, char *p)
{
    for (long n = 0; n < bytes;) {
        ssize_t r = io(fd, p + n, (size_t)(bytes - n));
        if (r <= 0) return 0;
        n += r;
    }
    return 1;
}
static ssize_t put(int fd, void *p, size_t n) { return write(fd, p, n); }
static ssize_t get(int fd, void *p, size_t n) { return read(fd, p, n); }

static void no_delay(int fd)
{
    int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

static void *serve(void *arg)
{
    int fd = (int)(intptr_t)arg;
    char buf[MAX_BYTES];
    no_delay(fd);
    while (whole(get, fd, buf) && whole(put, fd, buf)) {}
    close(fd);
    return NULL;
}

static void server(int listener)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) {
        pthread_t t;
        int fd = accept(listener, NULL, NULL);
        if (fd < 0 || pthread_create(&t, NULL, serve, (void *)(intptr_t)fd)) _exit(1);
        pthread_detach(t);
    }
}

static void *client(void *arg)
{
    long *done = arg;
    char out[MAX_BYTES], in[MAX_BYTES];
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address)) die("cannot connect");
    no_delay(fd);
    for (; each ? *done < each : !atomic_load_explicit(&stop, memory_order_relaxed); ++*done) {
        memset(out, (int)*done, (size_t)bytes);
        if (!whole(put, fd, out) || !whole(get, fd, in) || memcmp(in, out, (size_t)bytes)) bad = 1;
    }
    close(fd);
    return NULL;
}

int main(int argc, char **argv)
{
    opt_check(argc, argv, "--clients --bytes --seconds --requests");
    long clients = opt_long(argc, argv, "--clients", 8), sum = 0;
    double limit = opt_num(argc, argv, "--seconds", 0.5);
    bytes = opt_long(argc, argv, "--bytes", 64);
    long requests = opt_long(argc, argv, "--requests", 0);
    if (clients < 1 || requests < 0 || bytes < 1 || bytes > MAX_BYTES) die("--clients, --requests or --bytes is out of range");
    each = (requests + clients - 1) / clients;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    socklen_t len = sizeof address;
    address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (listener < 0 || bind(listener, (struct sockaddr *)&address, len) || listen(listener, 128)
        || getsockname(listener, (struct sockaddr *)&address, &len))
        die("cannot listen on the loopback interface");
    pid_t pid = fork();
    if (pid < 0) die("fork failed");
    if (!pid) server(listener);
    close(listener);
    pthread_t *t = calloc((size_t)clients, sizeof *t);
    long (*done)[8] = calloc((size_t)clients, sizeof *done);      /* a line each */
    if (!t || !done) die("out of memory");
    begin_line("echo", 1, "request");
    double t0 = now_s();
    for (long i = 0; i < clients; i++)
        if (pthread_create(&t[i], NULL, client, done[i])) die("pthread_create failed");
    if (!each) usleep((useconds_t)(limit * 1e6));
    atomic_store(&stop, true);
    for (long i = 0; i < clients; i++) {
        pthread_join(t[i], NULL);
        sum += done[i][0];
    }
    double s = now_s() - t0;
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    char more[60];
    snprintf(more, sizeof more, "clients=%ld bytes=%ld", clients, bytes);
    return result_line("echo", (double)sum, s, "request", !bad, more);
}
