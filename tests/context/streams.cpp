// tests/context/streams.cpp - a library that reads the machine's files as C++ programs do.  SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <system_error>

namespace {

enum { NR_STREAMS = 8 };

template <class Stream> std::string text_of(Stream &stream)
{
    std::stringstream all;
    all << stream.rdbuf();
    return all.str();
}

struct Derived : std::ifstream {
    explicit Derived(const std::string &path) : std::ifstream(path) {}
};

std::string read(int way, const std::string &path)
{
    std::ifstream in;
    std::fstream both;
    std::filebuf buffer;
    std::stringstream all;
    switch (way) {
    case 0: { std::ifstream f(path.c_str()); return text_of(f); }
    case 1: { std::ifstream f(path); return text_of(f); }
    case 2: in.open(path.c_str()); return text_of(in);
    case 3: in.open(path, std::ios::binary); return text_of(in);
    case 4: both.open(path, std::ios::in); return text_of(both);
    case 5: if (buffer.open(path.c_str(), std::ios::in)) all << &buffer; return all.str();
    case 6: { Derived f(path); return text_of(f); }
    default: { std::ifstream f{std::filesystem::path(path)}; return text_of(f); }
    }
}

bool cpu_of(const std::filesystem::path &path, std::uint64_t *bits)
{
    const std::string name = path.filename();
    if (name.size() < 4 || name.compare(0, 3, "cpu") || name.find_first_not_of("0123456789", 3) != std::string::npos) return false;
    *bits |= 1ull << std::stoul(name.substr(3));
    return true;
}

template <class Iterator> int list(const char *folder, std::uint64_t *bits)
{
    int n = 0;
    for (const auto &entry : Iterator(folder)) n += entry.path().parent_path() == folder && cpu_of(entry.path(), bits);
    return n;
}

int list_with_codes(const char *folder, std::uint64_t *bits)
{
    std::error_code error;
    int n = 0;
    for (std::filesystem::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) n += cpu_of(it->path(), bits);
    return error ? -1 : n;
}

} // namespace

extern "C" {
int streams_ways() { return NR_STREAMS; }
long streams_read(int way, const char *path, char *buf, std::size_t size)
{
    const std::string text = read(way, path);
    std::strncpy(buf, text.c_str(), size - 1);
    buf[size - 1] = 0;
    return static_cast<long>(text.size());
}
int streams_opens(const char *path) { return std::ifstream(path).is_open(); }
int streams_writes(const char *path)
{
    std::ofstream(path) << "text";
    std::fstream both(path, std::ios::in | std::ios::out | std::ios::app);
    both << " more";
    both.seekg(0);
    std::string text;
    std::getline(both, text);
    return text == "text more";
}
int streams_list(int way, const char *folder, std::uint64_t *bits)
{
    *bits = 0;
    return way == 0 ? list<std::filesystem::directory_iterator>(folder, bits)
         : way == 1 ? list<std::filesystem::recursive_directory_iterator>(folder, bits) : list_with_codes(folder, bits);
}
int streams_throws(const char *folder)
{
    try {
        std::filesystem::directory_iterator it(folder);
    } catch (const std::filesystem::filesystem_error &) {
        return 1;
    }
    return 0;
}
}
