/* tests/spin/doubles.c - the gate's services for tests of the spin room alone.  SPDX-License-Identifier: Apache-2.0 */
#include "gate/gate.h"
#include "doubles.h"
#include <sys/mman.h>
#include <string.h>
#include <errno.h>
#include <unistd.h>
#include <fcntl.h>

struct gate_object test_object;
uintptr_t test_fstart[TEST_MAX_FUNCTIONS], test_fend[TEST_MAX_FUNCTIONS];
unsigned test_nr_functions;

bool gate_find_object(uintptr_t pc, struct gate_object *out)
{
    if (pc < test_object.text || pc >= test_object.text_end) return false;
    *out = test_object;
    return true;
}
bool gate_function_bounds(const struct gate_object *o, uintptr_t pc, uintptr_t *start, uintptr_t *end)
{
    for (unsigned i = 0; i < test_nr_functions; i++)
        if (pc >= test_fstart[i] && pc < test_fend[i]) {
            *start = test_fstart[i];
            *end = test_fend[i];
            return true;
        }
    return false;
}
static uint8_t *arena;
bool gate_contains_pc(uintptr_t pc) { return arena && pc - (uintptr_t)arena < 1 << 20; }
void *gate_alloc_stub(uintptr_t near, size_t len)
{
    static size_t used;
    if (!arena) {
        for (uintptr_t at = (near & ~0xfffffull) + (1 << 24); at < near + (1ull << 30); at += 1 << 20) {
            void *p = mmap((void *)at, 1 << 20, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE,
                           -1, 0);
            if (p == (void *)at) {
                arena = p;
                break;
            }
            if (p != MAP_FAILED) munmap(p, 1 << 20);
        }
        if (!arena) return NULL;
    }
    len = (len + 15) & ~15ull;
    if (used + len > 1 << 20) return NULL;
    used += len;
    return arena + used - len;
}
int gate_write_code(void *dst, const void *src, size_t len)
{
    int fd = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
    if (fd < 0) return -errno;
    ssize_t n = pwrite(fd, src, len, (off_t)(uintptr_t)dst);
    close(fd);
    return n == (ssize_t)len ? 0 : -EIO;
}
