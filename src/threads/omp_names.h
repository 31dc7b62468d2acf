/* src/threads/omp_names.h - functions of OpenMP runtimes that the library stands before.  SPDX-License-Identifier: Apache-2.0
 *
 * Numbered for omp.S, which passes the number on, and omp.c, which looks the real one up by it.  Of the first kind the third argument is
 * the team's size, 0: the default one. */
#ifndef USF_THREADS_OMP_NAMES_H
#define USF_THREADS_OMP_NAMES_H

#define OMP_REGIONS(X) \
    X(GOMP_parallel, 0) X(GOMP_parallel_start, 1) X(GOMP_parallel_sections, 2) X(GOMP_parallel_sections_start, 3) \
    X(GOMP_parallel_reductions, 4) X(GOMP_parallel_loop_static, 5) X(GOMP_parallel_loop_dynamic, 6) \
    X(GOMP_parallel_loop_guided, 7) X(GOMP_parallel_loop_runtime, 8) X(GOMP_parallel_loop_nonmonotonic_dynamic, 9) \
    X(GOMP_parallel_loop_nonmonotonic_guided, 10) X(GOMP_parallel_loop_nonmonotonic_runtime, 11) \
    X(GOMP_parallel_loop_maybe_nonmonotonic_runtime, 12) X(GOMP_parallel_loop_static_start, 13) \
    X(GOMP_parallel_loop_dynamic_start, 14) X(GOMP_parallel_loop_guided_start, 15) X(GOMP_parallel_loop_runtime_start, 16)
#define OMP_LAST_REGION 16
#define OMP_OTHERS(X) \
    X(__kmpc_fork_call, 17) X(__kmpc_push_num_threads, 18) X(omp_set_num_threads, 19) X(omp_set_num_threads_, 20) \
    X(omp_set_num_threads_8_, 21) X(omp_get_max_threads, 22) X(omp_get_max_threads_, 23)
/* Not stood before: called. */
#define OMP_CALLED(X) X(omp_get_level, 24) X(__kmpc_global_thread_num, 25)
#define OMP_NAMES 26

#endif
