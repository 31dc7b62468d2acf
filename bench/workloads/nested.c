/* bench/workloads/nested.c - tasks of an outer runtime that call a parallel BLAS.
 * SPDX-License-Identifier: Apache-2.0
 *
 * dgemm:    C = A B on n x n doubles in tiles; one task per tile of C.
 * cholesky: A = L L^T in tiles, right-looking; the tasks of one step are a parallel loop.
 *
 * The BLAS is a shared object named at run time.  The number of inner threads is the library's own
 * business (OPENBLAS_NUM_THREADS, OMP_NUM_THREADS, BLIS_NUM_THREADS); OpenBLAS caps its variable at the
 * number of cores, so that --inner also calls its openblas_set_num_threads.
 */
#include "outer.h"
#include "workload.h"

#include <dlfcn.h>
#include <math.h>

enum { ROW = 101, COL = 102, NOTRANS = 111, TRANS = 112, UPPER = 121, LOWER = 122, NONUNIT = 131, RIGHT = 142 };

static void (*dgemm)(int, int, int, int, int, int, double, const double *, int, const double *, int, double,
                     double *, int);
static void (*dtrsm)(int, int, int, int, int, int, int, double, const double *, int, double *, int);
static void (*dsyrk)(int, int, int, int, int, double, const double *, int, double, double *, int);

static long n, tile, nt;       /* matrix order, tile order, tiles per row */
static double *mat_a, *mat_b, *mat_c; /* tile-major: tile (i, j) is contiguous, row-major inside */
static long step;              /* Cholesky: current column of tiles */

static double *at(double *m, long i, long j) { return m + (i * nt + j) * tile * tile; }
static double *elem(double *m, long i, long j)
{ return at(m, i / tile, j / tile) + (i % tile) * tile + j % tile; }

static void *need(void *lib, const char *name)
{
    void *p = dlsym(lib, name);
    if (!p) {
        fprintf(stderr, "%s: not in the library\n", name);
        exit(2);
    }
    return p;
}

static void load_blas(const char *path, long inner)
{
    void *lib = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (!lib) {
        fprintf(stderr, "%s\n", dlerror());
        exit(2);
    }
    *(void **)&dgemm = need(lib, "cblas_dgemm");
    *(void **)&dtrsm = need(lib, "cblas_dtrsm");
    *(void **)&dsyrk = need(lib, "cblas_dsyrk");
    void (*set_threads)(int);
    *(void **)&set_threads = dlsym(lib, "openblas_set_num_threads");
    if (set_threads && inner > 0) set_threads((int)inner);
}

static void gemm_task(long t, void *unused)
{
    long i = t / nt, j = t % nt;
    int b = (int)tile;
    (void)unused;
    for (long k = 0; k < nt; k++)
        dgemm(ROW, NOTRANS, NOTRANS, b, b, b, 1.0, at(mat_a, i, k), b, at(mat_b, k, j), b, k ? 1.0 : 0.0,
              at(mat_c, i, j), b);
}

/* Cholesky of a b x b block inside a row of length ld: recursive, so that it is BLAS as well. */
static void potrf(double *a, long b, int ld)
{
    if (b <= 32) {
        for (long j = 0; j < b; j++) {
            double d = a[j * ld + j];
            for (long k = 0; k < j; k++) d -= a[j * ld + k] * a[j * ld + k];
            d = sqrt(d);
            a[j * ld + j] = d;
            for (long i = j + 1; i < b; i++) {
                double s = a[i * ld + j];
                for (long k = 0; k < j; k++) s -= a[i * ld + k] * a[j * ld + k];
                a[i * ld + j] = s / d;
            }
        }
        return;
    }
    long h = b / 2, r = b - h;
    double *low = a + h * ld, *rest = low + h;
    potrf(a, h, ld);
    dtrsm(ROW, RIGHT, LOWER, TRANS, NONUNIT, (int)r, (int)h, 1.0, a, ld, low, ld);
    dsyrk(ROW, LOWER, NOTRANS, (int)r, (int)h, -1.0, low, ld, 1.0, rest, ld);
    potrf(rest, r, ld);
}

static void trsm_task(long t, void *unused)
{
    int b = (int)tile;
    (void)unused;
    dtrsm(ROW, RIGHT, LOWER, TRANS, NONUNIT, b, b, 1.0, at(mat_a, step, step), b, at(mat_a, step + 1 + t, step), b);
}

static void update_task(long t, void *unused)
{
    int b = (int)tile;
    long i = 0;
    (void)unused;
    while (t > i) t -= ++i; /* t-th element of the lower triangle: row i, column t */
    i += step + 1;
    long j = step + 1 + t;
    if (i == j)
        dsyrk(ROW, LOWER, NOTRANS, b, b, -1.0, at(mat_a, i, step), b, 1.0, at(mat_a, i, i), b);
    else
        dgemm(ROW, NOTRANS, TRANS, b, b, b, -1.0, at(mat_a, i, step), b, at(mat_a, j, step), b, 1.0, at(mat_a, i, j),
              b);
}

static void round_gemm(void) { outer_for(nt * nt, gemm_task, NULL); }

static void round_cholesky(void)
{
    memcpy(mat_a, mat_b, sizeof(double) * (size_t)(n * n));
    for (step = 0; step < nt; step++) {
        long rest = nt - step - 1;
        potrf(at(mat_a, step, step), tile, (int)tile);
        if (rest) {
            outer_for(rest, trsm_task, NULL);
            outer_for(rest * (rest + 1) / 2, update_task, NULL);
        }
    }
}

static double hash_unit(long i, long j)
{
    uint64_t x = (uint64_t)i * 0x9e3779b97f4a7c15u ^ ((uint64_t)j + 0x7f4a7c15u) * 0xbf58476d1ce4e5b9u;
    x ^= x >> 31;
    x *= 0x94d049bb133111ebu;
    return (double)(x >> 12) / (double)(1ull << 52) - 0.5;
}

static void fill(int cholesky)
{
    size_t bytes = sizeof(double) * (size_t)(n * n);
    if (posix_memalign((void **)&mat_a, 64, bytes) || posix_memalign((void **)&mat_b, 64, bytes) ||
        posix_memalign((void **)&mat_c, 64, bytes))
        die("out of memory");
    for (long i = 0; i < n; i++)
        for (long j = 0; j < n; j++) {
            *elem(mat_a, i, j) = hash_unit(i, j);
            if (cholesky) /* symmetric and diagonally dominant: positive definite */
                *elem(mat_b, i, j) = i == j ? (double)n : hash_unit(i < j ? i : j, i < j ? j : i);
            else
                *elem(mat_b, i, j) = hash_unit(j, i + n);
        }
    memset(mat_c, 0, bytes);
}

/* y = m x, or y = m^T x; only the lower triangle if `lower`. */
static void mul_vec(double *m, const double *x, double *y, int trans, int lower)
{
    memset(y, 0, sizeof(double) * (size_t)n);
    for (long i = 0; i < n; i++)
        for (long j = 0; j < (lower ? i + 1 : n); j++) {
            if (trans) y[j] += *elem(m, i, j) * x[i];
            else y[i] += *elem(m, i, j) * x[j];
        }
}

/* The result applied to a vector must equal the factors applied one after the other. */
static int check(int cholesky)
{
    double *x = calloc((size_t)n, sizeof *x), *y = calloc((size_t)n, sizeof *y), *z = calloc((size_t)n, sizeof *z);
    double *want = calloc((size_t)n, sizeof *want);
    double worst = 0;
    if (!x || !y || !z || !want) die("out of memory");
    for (long i = 0; i < n; i++) x[i] = hash_unit(i, 7);
    if (cholesky) {
        mul_vec(mat_a, x, y, 1, 1);
        mul_vec(mat_a, y, z, 0, 1);
        mul_vec(mat_b, x, want, 0, 0);
    } else {
        mul_vec(mat_b, x, y, 0, 0);
        mul_vec(mat_a, y, want, 0, 0);
        mul_vec(mat_c, x, z, 0, 0);
    }
    for (long i = 0; i < n; i++)
        if (!(fabs(z[i] - want[i]) <= worst)) worst = fabs(z[i] - want[i]); /* written so that NaN is worst */
    free(x);
    free(y);
    free(z);
    free(want);
    return worst < 1e-6 * (double)n;
}

int main(int argc, char **argv)
{
    opt_check(argc, argv, "--blas --op --n --tile --outer --inner --rounds --seconds");
    const char *op = opt_str(argc, argv, "--op", "dgemm");
    int cholesky = !strcmp(op, "cholesky");
    if (!cholesky && strcmp(op, "dgemm")) die("--op: dgemm or cholesky");
    n = opt_long(argc, argv, "--n", 1024);
    tile = opt_long(argc, argv, "--tile", 256);
    long outer = opt_long(argc, argv, "--outer", 2);
    long min_rounds = opt_long(argc, argv, "--rounds", 1);
    double limit = opt_num(argc, argv, "--seconds", 0.5);
    if (n < 1 || tile < 1 || n % tile || outer < 1) die("--n must be a multiple of --tile, --outer positive");
    nt = n / tile;
    load_blas(opt_str(argc, argv, "--blas", "libblas.so.3"), opt_long(argc, argv, "--inner", 0));
    fill(cholesky);
    outer_start((int)outer);
    double flop = (cholesky ? 1.0 / 3 : 2.0) * (double)n * (double)n * (double)n * 1e-9;
    begin_line("nested", flop, "GFLOP");

    long rounds = 0;
    double t0 = now_s(), t = 0;
    do {
        if (cholesky) round_cholesky();
        else round_gemm();
        rounds++;
        t = now_s() - t0;
    } while (t < limit || rounds < min_rounds);
    outer_stop();
    char more[200];
    snprintf(more, sizeof more, "outer=%s op=%s n=%ld tile=%ld threads=%ld rounds=%ld", outer_name, op, n, tile, outer,
             rounds);
    return result_line("nested", flop * (double)rounds, t, "GFLOP", check(cholesky), more);
}
