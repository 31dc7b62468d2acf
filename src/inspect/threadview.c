/* src/inspect/threadview.c - what the kernel tells of a thread.
 * SPDX-License-Identifier: Apache-2.0 */
#include "inspect/threadview.h"
#include "os/os.h"
#include "text/text.h"
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FIELD_STATE 3
#define FIELD_CPU   39

static bool read_small(const char *path, char *buf, size_t cap)
{
    long n = os_read_file(path, buf, cap);
    return n > 0 || n == -EFBIG;
}

/* /proc/PID/task/TID/stat: "TID (comm) S ...", where comm may hold anything. */
static bool read_stat(int32_t tid, struct thread_view *v)
{
    char path[OS_THREAD_FILE_MAX], buf[1024];
    os_thread_file(path, tid, "stat");
    char *p = read_small(path, buf, sizeof buf) ? strrchr(buf, ')') : NULL;
    if (!p || p[1] != ' ') return false;
    p += 2;
    v->state = *p;
    for (int field = FIELD_STATE; field < FIELD_CPU && p; field++)
        if ((p = strchr(p, ' '))) p++;
    v->cpu = p ? atoi(p) : -1;
    return true;
}

bool thread_look(int32_t pid, int32_t tid, struct thread_view *v)
{
    char path[OS_THREAD_FILE_MAX], buf[256];
    *v = (struct thread_view){.cpu = -1};
    if (!os_thread_state(pid, tid) || !read_stat(tid, v)) return false;     /* the first: the number may be another process's thread by now */
    os_thread_file(path, tid, "wchan");
    if (read_small(path, buf, sizeof buf) && strcmp(buf, "0")) snprintf(v->wchan, sizeof v->wchan, "%.63s", buf);
    os_thread_file(path, tid, "syscall");
    if (!read_small(path, buf, sizeof buf)) return true;
    uint64_t *a = v->arg;
    v->call_known = sscanf(buf, "%ld %lx %lx %lx %lx %lx %lx %lx %lx", &v->call, a, a + 1, a + 2, a + 3, a + 4, a + 5,
                           &v->sp, &v->pc) == 9 &&
                    v->call >= 0;
    return true;
}

void status_field(int32_t pid, int32_t tid, const char *field, char *buf, size_t cap)
{
    char path[OS_THREAD_FILE_MAX], text[4096];
    size_t n = strlen(field);
    buf[0] = 0;
    if (tid) os_thread_file(path, tid, "status");
    else snprintf(path, sizeof path, "/proc/%d/status", pid);
    if (!read_small(path, text, sizeof text)) return;
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        if (strncmp(line, field, n) || line[n] != ':') continue;
        snprintf(buf, cap, "%s", line + n + 1 + strspn(line + n + 1, " \t"));
        return;
    }
}

/* ---- descriptors ------------------------------------------------------------------------------ */
static const char *tcp_state(unsigned s)
{
    static const char *const names[] = {"?",         "established", "syn-sent",   "syn-received", "fin-wait-1", "fin-wait-2",
                                        "time-wait", "closed",      "close-wait", "last-ack",     "listening",  "closing"};
    return s < sizeof names / sizeof *names ? names[s] : "?";
}

/* An address of /proc/net/tcp and its like: words in the machine's order, as hex. */
static void address_text(const char *hex, unsigned port, char *buf, size_t cap)
{
    unsigned char b[16];
    size_t n = strlen(hex) / 2;
    for (size_t i = 0; i < n && i < sizeof b; i++) {
        unsigned byte;
        if (sscanf(hex + 2 * i, "%2x", &byte) != 1) return;
        b[(i & ~3ul) + 3 - (i & 3)] = (unsigned char)byte;
    }
    if (n == 4) {
        snprintf(buf, cap, "%u.%u.%u.%u:%u", b[0], b[1], b[2], b[3], port);
        return;
    }
    int at = snprintf(buf, cap, "[");
    for (unsigned i = 0; i < 16 && at < (int)cap; i += 2)
        at += snprintf(buf + at, cap - (size_t)at, "%s%x", i ? ":" : "", b[i] << 8 | b[i + 1]);
    if (at < (int)cap) snprintf(buf + at, cap - (size_t)at, "]:%u", port);
}

static bool inet_socket(int32_t pid, const char *file, const char *kind, unsigned long ino, char *buf, size_t cap)
{
    char path[64], line[512], from[40], to[40], a[80], b[80];
    unsigned fp, tp, state;
    unsigned long inode;
    bool found = false;
    snprintf(path, sizeof path, "/proc/%d/net/%s", pid, file);
    FILE *f = fopen(path, "re");
    while (f && !found && fgets(line, sizeof line, f)) {
        if (sscanf(line, "%*d: %39[0-9A-F]:%x %39[0-9A-F]:%x %x %*s %*s %*s %*u %*u %lu", from, &fp, to, &tp, &state,
                   &inode) != 6 ||
            inode != ino)
            continue;
        address_text(from, fp, a, sizeof a);
        address_text(to, tp, b, sizeof b);
        if (tp)
            snprintf(buf, cap, "%s %s -> %s%s%s", kind, a, b, kind[0] == 'T' ? ", " : "",
                     kind[0] == 'T' ? tcp_state(state) : "");
        else snprintf(buf, cap, "%s %s%s", kind, a, kind[0] == 'T' && state == 10 ? ", listening" : "");
        found = true;
    }
    if (f) fclose(f);
    return found;
}

static bool unix_socket(int32_t pid, unsigned long ino, char *buf, size_t cap)
{
    char path[64], line[512], name[256];
    unsigned long inode;
    bool found = false;
    snprintf(path, sizeof path, "/proc/%d/net/unix", pid);
    FILE *f = fopen(path, "re");
    while (f && !found && fgets(line, sizeof line, f)) {
        *name = 0;
        if (sscanf(line, "%*x: %*x %*x %*x %*x %*x %lu %255[^\n]", &inode, name) < 1 || inode != ino) continue;
        snprintf(buf, cap, "unix socket%s%s", *name ? " " : "", name);
        found = true;
    }
    if (f) fclose(f);
    return found;
}

void fd_target(int32_t pid, int fd, char *buf, size_t cap)
{
    char path[64], link[PATH_MAX], words[400];
    unsigned long ino;
    buf[0] = 0;
    snprintf(path, sizeof path, "/proc/%d/fd/%d", pid, fd);
    ssize_t n = readlink(path, link, sizeof link - 1);
    if (n <= 0) return;
    link[n] = 0;
    bool socket = sscanf(link, "socket:[%lu]", &ino) == 1 &&
                  (inet_socket(pid, "tcp", "TCP", ino, words, sizeof words) ||
                   inet_socket(pid, "tcp6", "TCP", ino, words, sizeof words) ||
                   inet_socket(pid, "udp", "UDP", ino, words, sizeof words) ||
                   inet_socket(pid, "udp6", "UDP", ino, words, sizeof words) || unix_socket(pid, ino, words, sizeof words));
    text_clean(socket ? words : link, buf, cap);
}

unsigned epoll_members(int32_t pid, int fd, int *out, unsigned max)
{
    char path[64], line[256];
    unsigned n = 0;
    int member;
    snprintf(path, sizeof path, "/proc/%d/fdinfo/%d", pid, fd);
    FILE *f = fopen(path, "re");
    while (f && fgets(line, sizeof line, f)) {
        if (sscanf(line, "tfd: %d", &member) != 1) continue;
        if (n < max) out[n] = member;
        n++;
    }
    if (f) fclose(f);
    return n;
}
