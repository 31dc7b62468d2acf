// examples/tasks-cpp/sum.cpp - the sum of an array, by a group of tasks.  SPDX-License-Identifier: Apache-2.0
//
//   make -C examples/tasks-cpp && examples/tasks-cpp/sum [NUMBERS]
//
// Each call divides its part in two: one half is a task, the other half it does itself.  Parts that are small are summed at once,
// since a task costs some 100 ns.
#include <nosv.hpp>

#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <vector>

namespace {

constexpr std::ptrdiff_t SMALL = 10000;

double sum(const double *first, const double *last)
{
    if (last - first <= SMALL) return std::accumulate(first, last, 0.0);
    const double *middle = first + (last - first) / 2;
    double left = 0;
    nosv::group halves;
    halves.run([&] { left = sum(first, middle); });
    double right = sum(middle, last);
    halves.wait();
    return left + right;
}

} // namespace

int main(int argc, char **argv)
{
    std::size_t n = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 10000000;
    std::vector<double> numbers(n);
    std::iota(numbers.begin(), numbers.end(), 1.0);

    nosv::runtime runtime;
    nosv::attached here("sum");         // so that this thread is a task, too, and shares the cores with the others
    double total = sum(numbers.data(), numbers.data() + n), expected = 0.5 * static_cast<double>(n) * (static_cast<double>(n) + 1);
    std::printf("1 + ... + %zu = %.0f\n", n, total);
    return total == expected ? 0 : 1;
}
