/* tests/context/shapes.hpp - a C++ library: classes, exceptions, templates, variables.  SPDX-License-Identifier: Apache-2.0 */
#ifndef SHAPES_HPP
#define SHAPES_HPP
#include <stdexcept>
#include <string>
#include <vector>

namespace shapes {

extern int made;        /* by the constructor of Shape */

struct Refused : std::runtime_error {
    explicit Refused(const std::string &text);
    ~Refused() override;
};

class Shape {
public:
    explicit Shape(double size);
    virtual ~Shape();
    virtual double area() const;
    virtual int copy() const;       /* how many shapes this copy of the library has made */

protected:
    double size_;
};

template <class T> T total(const std::vector<T> &all)
{
    static int calls;
    T sum{};
    calls++;
    for (const T &x : all) sum += x;
    return sum;
}

double sum(const std::vector<double> &all);
std::string describe(const Shape &shape);
[[noreturn]] void refuse(const std::string &what);
double apply(const Shape &shape, double (*f)(const Shape &));

} // namespace shapes
#endif
