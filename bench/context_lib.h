/* bench/context_lib.h - a library for context_bench.c, with two prefixes.  SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTEXT_LIB_H
#define CONTEXT_LIB_H
#define DECLARE(prefix) \
    void prefix##_nothing(void); \
    void prefix##_getaffinity(long n); \
    void prefix##_open_cpuinfo(long n); \
    void prefix##_open_null(long n);
DECLARE(stub)
DECLARE(direct)
#endif
