/* tests/context/counter.h - see counter.c.  SPDX-License-Identifier: Apache-2.0 */
#ifndef COUNTER_H
#define COUNTER_H
#ifdef __cplusplus
extern "C" {
#endif
struct counter_result { int a; double b; long more[20]; int count; };
struct counter_two { double a; long b; };
typedef double counter_wide __attribute__((vector_size(32)));

extern int counter_variable;
int counter_next(void);
int counter_constructed(void);
int counter_per_thread(void);
void *counter_address(void);
int counter_errno(void);
const char *counter_env(const char *name);
int counter_cpus(void);
double counter_doubles(double a, double b, double c, double d, double e, double f, double g, double h);
long counter_ints(long a, long b, long c, long d, long e, long f, long g, long h, long i, long j);
double counter_sum(int n, ...);
struct counter_result counter_big(int a, double b);
struct counter_two counter_pair(double a, long b);
long double counter_long(long double a);
counter_wide counter_add_wide(counter_wide a, counter_wide b);
int counter_ifunc(void);
int counter_call(int (*f)(int), int x);
int counter_in_thread(int (*f)(void));
int counter_version(void);
#ifdef __cplusplus
}
#endif
#endif
