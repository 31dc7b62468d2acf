/* tests/context/shapes.cpp - see shapes.hpp.  SPDX-License-Identifier: Apache-2.0 */
#include "shapes.hpp"

namespace shapes {

int made;

Refused::Refused(const std::string &text) : std::runtime_error(text) {}
Refused::~Refused() = default;
Shape::Shape(double size) : size_(size) { made++; }
Shape::~Shape() = default;
double Shape::area() const { return size_ * size_; }
int Shape::copy() const { return made; }
double sum(const std::vector<double> &all) { return total(all); }
std::string describe(const Shape &shape) { return "area " + std::to_string(shape.area()); }
void refuse(const std::string &what) { throw Refused("refused: " + what); }

double apply(const Shape &shape, double (*f)(const Shape &))
{
    try {
        return f(shape);
    } catch (const Refused &) {
        return -1;
    }
}

} // namespace shapes
