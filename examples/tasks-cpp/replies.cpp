// examples/tasks-cpp/replies.cpp - many coroutines that wait, on few threads.  SPDX-License-Identifier: Apache-2.0
//
//   make -C examples/tasks-cpp && examples/tasks-cpp/replies [CLIENTS]
//
// Each client asks, waits for the reply, works on it in a task of its own, and asks again.  A client that waits has no thread.
#include <nosv.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

using namespace std::chrono_literals;

// The time stands for a network.
nosv::task<int> ask(int client, int question)
{
    co_await nosv::sleep_for(1ms * (1 + client % 5));
    co_return client + question;
}

nosv::task<long> client(int number)
{
    long sum = 0;
    for (int question = 0; question < 3; question++) {
        int reply = co_await ask(number, question);
        sum += co_await nosv::spawn([reply] { return 2L * reply; });
    }
    co_return sum;
}

nosv::task<long> all(int clients)
{
    std::vector<nosv::handle<long>> running;
    for (int i = 0; i < clients; i++) running.push_back(nosv::spawn(client(i)));
    long sum = 0;
    for (auto &c : running) sum += co_await c;
    co_return sum;
}

} // namespace

int main(int argc, char **argv)
{
    int clients = argc > 1 ? std::atoi(argv[1]) : 1000;
    nosv::runtime runtime;
    long sum = nosv::spawn(all(clients)).get(), expected = 3L * clients * (clients - 1) + 6L * clients;
    std::printf("%d clients, sum %ld\n", clients, sum);
    return sum == expected ? 0 : 1;
}
