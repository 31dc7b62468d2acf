// tests/loader/throws.cpp - exceptions, templates' statics, thread_local objects.  SPDX-License-Identifier: Apache-2.0
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

template <class T> struct counter { static int n; };
template <class T> int counter<T>::n = 0;
inline int &unique_word() { static int n = 0; return n; }

struct noisy {
    int *word;
    ~noisy() { if (word) ++*word; }
};
static thread_local noisy at_end{nullptr};

extern "C" {
int throws_count() { return ++counter<int>::n + ++unique_word(); }
void throws_error(const char *text) { throw std::runtime_error(text); }
int throws_catches(void (*f)(const char *))
{
    try {
        f("from outside");
    } catch (const std::runtime_error &e) {
        return std::string(e.what()) == "from outside" ? 1 : 2;
    }
    return 0;
}
int throws_thread_end(int *word)
{
    std::thread([&] { at_end.word = word; }).join();
    return *word;
}
unsigned throws_hardware() { return std::thread::hardware_concurrency(); }
int throws_async(void *(*current)())
{
    void *here = std::async(std::launch::async, current).get(), *there = nullptr;
    std::thread([&] { there = current(); }).join();
    return here == there && here != nullptr;
}
}
