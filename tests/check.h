/* tests/check.h - the checks of tests in C and C++.  SPDX-License-Identifier: Apache-2.0
 *
 * CHECK ends the program with status 1, whichever thread makes it.  EXPECT counts the failure, has the
 * value of its condition, and goes on: for programs that have children to end or files to remove.  In C
 * both take a format and its arguments after the condition, which are printed with the failure.  CHECK_EQ
 * and EXPECT_EQ print both values.  A failure is one write without a lock of stdio, so that a signal
 * handler and the child of a vfork may report one. */
#ifndef TESTS_CHECK_H
#define TESTS_CHECK_H

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A program of several files has one of each. */
__attribute__((weak)) uint64_t check_seed;                  /* printed with each failure; 0: there is none */
__attribute__((weak)) int check_failures_here;
__attribute__((weak)) int *check_failures = &check_failures_here;   /* or in memory that processes share */
__attribute__((weak)) void check_describe(void);            /* a program may define it: prints its state */

static inline bool check_failed(void) { return __atomic_load_n(check_failures, __ATOMIC_RELAXED) != 0; }

__attribute__((cold, format(printf, 5, 6)))
static inline bool check_fail(const char *file, int line, const char *function, const char *what, const char *format, ...)
{
    int error = errno;
    char more[400], seed[40] = "", text[1024];
    va_list ap;
    va_start(ap, format);
    vsnprintf(more, sizeof more, format, ap);
    va_end(ap);
    if (check_seed) snprintf(seed, sizeof seed, ", seed %llu", (unsigned long long)check_seed);
    snprintf(text, sizeof text, "%s:%d: %s: failed: %.300s%s%s (errno %d%s)\n", file, line, function, what, more[1] ? ":" : "",
             more[1] ? more : "", error, seed);
    if (write(2, text, strlen(text)) < 0) perror(file);
    if (check_describe) check_describe();
    __atomic_fetch_add(check_failures, 1, __ATOMIC_RELAXED);
    errno = error;
    return false;
}

static inline bool check_equal(long long is, long long wanted, const char *file, int line, const char *function, const char *what)
{ return is == wanted || check_fail(file, line, function, what, " it is %lld, not %lld", is, wanted); }

__attribute__((noreturn, cold))
static inline void check_end_program(void)
{
    fflush(stdout);
    _Exit(1);
}

#ifdef __cplusplus
}
#endif

#ifdef __cplusplus      /* before C++20 "..." is not to be empty */
#define EXPECT(c) ((c) ? true : check_fail(__FILE__, __LINE__, __func__, #c, " "))
#define CHECK(c) ((c) ? (void)0 : (check_fail(__FILE__, __LINE__, __func__, #c, " "), check_end_program()))
#else
#define EXPECT(c, ...) ((c) ? true : check_fail(__FILE__, __LINE__, __func__, #c, " " __VA_ARGS__))
#define CHECK(c, ...) ((c) ? (void)0 : (check_fail(__FILE__, __LINE__, __func__, #c, " " __VA_ARGS__), check_end_program()))
#endif
#define EXPECT_EQ(is, wanted) check_equal((long long)(is), (long long)(wanted), __FILE__, __LINE__, __func__, #is)
#define CHECK_EQ(is, wanted) (EXPECT_EQ(is, wanted) ? (void)0 : check_end_program())

#endif
