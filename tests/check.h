/* tests/check.h - a check that ends the program, whichever thread makes it.  SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_CHECK_H
#define TESTS_CHECK_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(c) \
    do { \
        if (!(c)) { \
            fprintf(stderr, "%s:%d: %s: failed: %s (errno %d)\n", __FILE__, __LINE__, __func__, #c, errno); \
            fflush(stdout); \
            _Exit(1); \
        } \
    } while (0)
#define CHECK_EQ(a, b) \
    do { \
        long long a_ = (long long)(a), b_ = (long long)(b); \
        if (a_ != b_) { \
            fprintf(stderr, "%s:%d: %s: %s is %lld, not %lld\n", __FILE__, __LINE__, __func__, #a, a_, b_); \
            fflush(stdout); \
            _Exit(1); \
        } \
    } while (0)

#endif
