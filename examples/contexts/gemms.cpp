/* examples/contexts/gemms.cpp - twenty small matrix products beside a large one.  SPDX-License-Identifier: Apache-2.0
 *
 * make -C examples/contexts gemms; examples/contexts/gemms [OPTION]...
 *
 * The nested products of "Virtual Library Contexts" (SoCC '25, section 6.4), as gemms.py, with
 * usf/context.hpp and OpenBLAS. */
#include <usf/context.hpp>

#include "compared.h"

#include <future>
#include <numeric>

namespace {

constexpr const char *BLAS = "libopenblas.so.0";
constexpr int SMALL_ONES = 20;

using dgemm_t = void(const char *, const char *, const int *, const int *, const int *, const double *, const double *, const int *, const double *,
                     const int *, const double *, double *, const int *);

/* Reflects a matrix again and again: after an even number of times it is as before. */
double products(dgemm_t *dgemm, int n, int times)
{
    const double one = 1, zero = 0;
    const auto size = static_cast<std::size_t>(n);
    std::vector<double> mirror(size * size), b(size * size), c(size * size), v(size);
    for (std::size_t i = 0; i < size; i++) v[i] = 1 + static_cast<double>(i % 7);
    const double length = std::inner_product(v.begin(), v.end(), v.begin(), 0.0);
    for (std::size_t i = 0; i < size; i++)
        for (std::size_t j = 0; j < size; j++) {
            mirror[i * size + j] = (i == j) - 2 * v[i] * v[j] / length;
            b[i * size + j] = static_cast<double>((3 * i + 5 * j) % 11);
        }
    const std::vector<double> start = b;
    for (int t = 0; t < 2 * times; t++) {
        dgemm("N", "N", &n, &n, &n, &one, mirror.data(), &n, b.data(), &n, &zero, c.data(), &n);
        std::swap(b, c);
    }
    for (std::size_t i = 0; i < b.size(); i++)
        if (!(std::fabs(b[i] - start[i]) < 1e-9)) compared_fail("dgemm", "a wrong result");
    double sum = 0;
    for (std::size_t i = 0; i < b.size(); i++) sum += b[i] * static_cast<double>(i % 13);
    return sum;
}

struct Work {
    int small, large;
    double smalls(dgemm_t *dgemm) const
    {
        double sum = 0;
        for (int i = 0; i < SMALL_ONES; i++) sum += products(dgemm, small, 20);
        return sum;
    }
    double one(dgemm_t *dgemm) const { return products(dgemm, large, 2); }
};

/* A plain program. */
void plain(compared &c, const Work &work)
{
    void *library = dlopen(BLAS, RTLD_NOW | RTLD_LOCAL);
    if (!library) compared_fail(BLAS, dlerror());
    auto *dgemm = usf::Library(library).function<dgemm_t>("dgemm_");
    if (compared_does(&c, "sequential")) {
        const double start = compared_now(), results[] = {work.smalls(dgemm), work.one(dgemm)};
        compared_report(&c, "sequential", compared_now() - start, results);
    }
    if (compared_does(&c, "threads")) {
        const double start = compared_now();
        std::vector<std::future<double>> smalls;
        auto large = std::async(std::launch::async, [&] { return work.one(dgemm); });
        for (int i = 0; i < SMALL_ONES; i++) smalls.push_back(std::async(std::launch::async, [&] { return products(dgemm, work.small, 20); }));
        double results[2] = {};
        for (auto &f : smalls) results[0] += f.get();
        results[1] = large.get();
        compared_report(&c, "threads", compared_now() - start, results);
    }
}

void contexts(compared &c, const Work &work)
{
    usf::Context small(usf::ContextOptions().name("small").cpus(c.cpus[0])), large(usf::ContextOptions().name("large").cpus(c.cpus[1]));
    auto *small_dgemm = small.open(BLAS).function<dgemm_t>("dgemm_"), *large_dgemm = large.open(BLAS).function<dgemm_t>("dgemm_");
    const double start = compared_now();
    auto first = std::async(std::launch::async, [&] { return small.call([&] { return work.smalls(small_dgemm); }); });
    auto second = std::async(std::launch::async, [&] { return large.call([&] { return work.one(large_dgemm); }); });
    const double results[] = {first.get(), second.get()};
    compared_report(&c, "contexts", compared_now() - start, results);
}

} // namespace

int main(int argc, char **argv)
{
    compared c = {};
    c.names[0] = "small";
    c.names[1] = "large";
    c.n = 2;
    compared_options(&c, argc, argv, "Twenty small matrix products beside a large one, with one BLAS and with a BLAS for each of two contexts.");
    const Work work = {compared_size(&c, 256, 3), compared_size(&c, 1536, 3)};
    try {
        if (strcmp(c.mode, "contexts") != 0) plain(c, work);
        if (compared_does(&c, "contexts")) contexts(c, work);
    } catch (const usf::ContextError &e) {
        compared_fail("gemms", e.what());
    }
}
