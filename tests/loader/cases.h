/* tests/loader/cases.h - what the tests of copies of libraries share: each case is executed in a child.  SPDX-License-Identifier: Apache-2.0
 * usage of such a test: PROGRAM FOLDER [CASE]; FOLDER has the libraries of this folder. */
#ifndef TESTS_LOADER_CASES_H
#define TESTS_LOADER_CASES_H

#include <dlfcn.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <usf/context.h>

#include "tests/check.h"
#include "tests/loader/state.h"

static char folder[4000];

static inline const char *path_of(const char *name)
{
    static __thread char paths[4][4200];
    static __thread unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static inline usf_context_t *make(const char *cpus, const char *const *env)
{
    usf_context_t *c = usf_context_create(&(struct usf_context_options){.cpus = cpus, .env = env});
    if (!c) fprintf(stderr, "%s\n", usf_context_error());
    CHECK(c);
    return c;
}

static inline void *open_in(usf_context_t *c, const char *name)
{
    void *h = usf_context_open(c, path_of(name));
    if (!h) fprintf(stderr, "%s\n", usf_context_error());
    CHECK(h);
    return h;
}

/* Pointers to functions and objects are both addresses here. */
#define IN(handle, name) ({ void *p_ = dlsym(handle, #name); CHECK(p_); (__typeof__(&name))p_; })

static inline int get(int *n) { return __atomic_load_n(n, __ATOMIC_SEQ_CST); }
static inline void set(int *n, int value) { __atomic_store_n(n, value, __ATOMIC_SEQ_CST); }

/* The child's exit status is 0. */
static inline void child_is_good(pid_t pid)
{
    int status;
    CHECK(pid > 0);
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK_EQ(status, 0);
}

struct test_case { const char *name; void (*run)(void); bool alone; };     /* alone: only when its name is given */

static inline void run_cases(int argc, char **argv, const struct test_case *cases)
{
    CHECK(argc >= 2 && realpath(argv[1], folder));
    alarm(100);
    for (; cases->name; cases++) {
        int status;
        if (argc > 2 ? strcmp(argv[2], cases->name) : cases->alone) continue;
        fflush(stdout);
        pid_t pid = fork();
        if (!pid) {
            alarm(60);
            cases->run();
            _exit(0);
        }
        CHECK_EQ(waitpid(pid, &status, 0), pid);
        if (status) fprintf(stderr, "%s: status %x\n", cases->name, (unsigned)status);
        CHECK_EQ(status, 0);
    }
}

#endif
