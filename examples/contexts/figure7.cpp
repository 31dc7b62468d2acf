/* examples/contexts/figure7.cpp - Figure 7 of the paper: two threads, two contexts, one library.  SPDX-License-Identifier: Apache-2.0
 *
 * make -C examples/contexts figure7; examples/contexts/figure7 [OPTION]...
 *
 * The program calls dgemm_ by its name.  It is linked with a stub of OpenBLAS (`usf shim`), which calls
 * the copy of the context that the thread is in, and the program's own copy where the thread is in none.
 * ("Virtual Library Contexts", SoCC '25.) */
#include <usf/vlc.hpp>

#include "compared.h"

#include <future>
#include <vector>

extern "C" void dgemm_(const char *, const char *, const int *, const int *, const int *, const double *, const double *, const int *, const double *,
                       const int *, const double *, double *, const int *);

namespace {

constexpr const char *BLAS = "libopenblas.so.0";

/* The n-th power of a matrix that moves each row by one place: n steps are none. */
double computation(int n)
{
    const double one = 1, zero = 0;
    const auto size = static_cast<std::size_t>(n);
    std::vector<double> move(size * size), b(size * size), c(size * size);
    for (std::size_t i = 0; i < size; i++) {
        move[i * size + (i + 1) % size] = 1;
        for (std::size_t j = 0; j < size; j++) b[i * size + j] = static_cast<double>((3 * i + 5 * j) % 11);
    }
    const std::vector<double> start = b;
    for (int t = 0; t < n; t++) {
        dgemm_("N", "N", &n, &n, &n, &one, move.data(), &n, b.data(), &n, &zero, c.data(), &n);
        std::swap(b, c);
    }
    if (b != start) compared_fail("dgemm", "a wrong result");
    double sum = 0;
    for (std::size_t i = 0; i < b.size(); i++) sum += b[i] * static_cast<double>(i % 13);
    return sum;
}

void plain(compared &c, const int *sizes)
{
    if (compared_does(&c, "sequential")) {
        const double start = compared_now(), results[] = {computation(sizes[0]), computation(sizes[1])};
        compared_report(&c, "sequential", compared_now() - start, results);
    }
    if (compared_does(&c, "threads")) {
        const double start = compared_now();
        auto one = std::async(std::launch::async, computation, sizes[0]), two = std::async(std::launch::async, computation, sizes[1]);
        const double results[] = {one.get(), two.get()};
        compared_report(&c, "threads", compared_now() - start, results);
    }
}

/* As in the paper.  `std::async` starts a thread only where it is told to, and its result waits for it. */
void figure_7(compared &c, const int *sizes)
{
    const double start = compared_now();
    VLC::Runtime monitor;
    monitor.initialize();
    auto one = std::async(std::launch::async, [&]() { /* on thread 1 */
        VLC::Context a(1, gettid());
        a.set_allowed_cpus(c.cpus[0]);
        VLC::Loader loader(&a, BLAS, true);
        return computation(sizes[0]);
    });
    auto two = std::async(std::launch::async, [&]() { /* on thread 2 */
        VLC::Context b(2, gettid());
        b.set_allowed_cpus(c.cpus[1]);
        VLC::Loader loader(&b, BLAS, true);
        return computation(sizes[1]);
    });
    const double results[] = {one.get(), two.get()};
    compared_report(&c, "contexts", compared_now() - start, results);
}

} // namespace

int main(int argc, char **argv)
{
    compared c = {};
    c.names[0] = "a";
    c.names[1] = "b";
    c.n = 2;
    compared_options(&c, argc, argv, "Two threads that multiply matrices: with one BLAS, and each in a context with its own.");
    const int sizes[] = {compared_size(&c, 220, 4), compared_size(&c, 230, 4)};
    try {
        if (strcmp(c.mode, "contexts") != 0) plain(c, sizes);
        if (compared_does(&c, "contexts")) figure_7(c, sizes);
    } catch (const usf::ContextError &e) {
        compared_fail("figure7", e.what());
    }
}
