/* tests/context/shapes_test.cpp - a C++ library by its stub (--data).  SPDX-License-Identifier: Apache-2.0 */
#include <usf/context.hpp>

#include <memory>
#include <unistd.h>

#include "../check.h"
#include "shapes.hpp"

struct Circle : shapes::Shape {
    using Shape::Shape;
    double area() const override { return 3 * size_ * size_; }
};

static double refuse_it(const shapes::Shape &) { shapes::refuse("this"); }
static double area_of(const shapes::Shape &s) { return s.area(); }

static void use(int expected)
{
    shapes::Shape square(2);
    Circle circle(2);
    auto third = std::make_unique<shapes::Shape>(1);
    CHECK_EQ(square.copy(), expected);
    CHECK_EQ(third->copy(), expected);
    CHECK(square.area() == 4 && circle.area() == 12);
    CHECK(shapes::describe(circle).compare(0, 7, "area 12") == 0);
    CHECK(shapes::sum({1, 2, 3.5}) == 6.5);
    CHECK(shapes::total(std::vector<int>{1, 2, 3}) == 6);
    CHECK(shapes::apply(circle, area_of) == 12);
    CHECK(shapes::apply(circle, refuse_it) == -1);
    try {
        shapes::refuse("that");
    } catch (const shapes::Refused &e) {
        CHECK(std::string(e.what()) == "refused: that");
    }
    try {
        shapes::refuse("that");
    } catch (const std::runtime_error &e) {
        CHECK(std::string(e.what()) == "refused: that");
    }
}

int main()
{
    alarm(60);
    use(3);
    CHECK_EQ(shapes::made, 3);
    usf::Context a, b;
    a.call([] { use(3); });
    b.call([] { use(3); });
    a.call([] { use(6); });
    CHECK_EQ(shapes::made, 3);      /* the program's own, in contexts as well */
    use(6);
    shapes::Shape *made_in_a = a.call([] { return new shapes::Shape(5); });
    CHECK_EQ(made_in_a->copy(), 7);     /* an object stays with its copy */
    delete made_in_a;
    std::puts("ok");
}
