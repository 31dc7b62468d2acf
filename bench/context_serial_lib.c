/* bench/context_serial_lib.c - a serial computation for context_serial.c, of which each round allocates, reads a file and looks at the environment.
 * SPDX-License-Identifier: Apache-2.0 */
#include <complex.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

double serial_round(unsigned seed);

enum { N = 1 << 12 };

static void fft(double complex *x, double complex *work, unsigned n, unsigned stride)
{
    if (n == 1) {
        *work = *x;
        return;
    }
    fft(x, work, n / 2, 2 * stride);
    fft(x + stride, work + n / 2, n / 2, 2 * stride);
    for (unsigned k = 0; k < n / 2; k++) {
        double complex odd = work[k + n / 2] * cexp(-2 * M_PI * I * k / n), even = work[k];
        work[k] = even + odd;
        work[k + n / 2] = even - odd;
    }
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static unsigned read_some(void)
{
    char text[256];
    unsigned sum = 0;
    int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    ssize_t n = read(fd, text, sizeof text);
    for (ssize_t i = 0; i < n; i++) sum += (unsigned)text[i];
    close(fd);
    return sum;
}

/* A spectrum of noise, sorted: its median. */
double serial_round(unsigned seed)
{
    double complex *x = malloc(2 * N * sizeof *x), *spectrum = x + N;
    double **size = malloc(N * sizeof *size), *sizes = malloc(N * sizeof *sizes);
    if (!x || !size || !sizes) abort();
    for (unsigned i = 0; i < N; i++) x[i] = (seed = seed * 1664525 + 1013904223) / 4294967296.0;
    fft(x, spectrum, N, 1);
    for (unsigned i = 0; i < N; i++) {
        size[i] = malloc(sizeof **size);
        if (!size[i]) abort();
        sizes[i] = *size[i] = cabs(spectrum[i]);
    }
    qsort(sizes, N, sizeof *sizes, by_value);
    double median = sizes[N / 2] + read_some() + (getenv("CONTEXT_SERIAL_NOTHING") != 0);
    for (unsigned i = 0; i < N; i++) free(size[i]);
    free(x);
    free(size);
    free(sizes);
    return median;
}
