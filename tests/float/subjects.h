/* tests/float/subjects.h - threads whose cases are looked at, and the cases of a program.  SPDX-License-Identifier: Apache-2.0
 *
 * The same cases pass bare.  Around what a case looks at, other threads yield, hand a token round and wait for a time, so that the thread
 * is most often executed by another's kernel thread.  Exit status 0 or 1. */
#ifndef TESTS_FLOAT_SUBJECTS_H
#define TESTS_FLOAT_SUBJECTS_H

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include "mix.h"

#define ROUNDS 300

static inline pid_t own_tid(void) { return (pid_t)syscall(SYS_gettid); }

#define SUBJECTS 3
static inline void with_subjects(void *(*subject)(void *))
{
    pthread_t t[SUBJECTS];
    for (long i = 0; i < SUBJECTS; i++) CHECK(!pthread_create(&t[i], 0, subject, (void *)i));
    for (int i = 0; i < SUBJECTS; i++) CHECK(!pthread_join(t[i], 0));
}

/* without_alarm: the case has a use for the alarm clock. */
struct subject_case { const char *name; void (*run)(void); bool without_alarm; };
static inline int run_case(const struct subject_case *cases, unsigned n, int argc, char **argv)
{
    alarm(100);
    for (unsigned i = 0; argc == 2 && i < n; i++) {
        if (strcmp(cases[i].name, argv[1])) continue;
        if (cases[i].without_alarm) alarm(0);
        begin();
        cases[i].run();
        if (!over) end();
        return 0;
    }
    fprintf(stderr, "usage: %s CASE\n", argv[0]);
    return 2;
}

#endif
