/* tests/gate/fuzz.c - damaged files must not lead the scanner astray.  SPDX-License-Identifier: Apache-2.0
 *
 * fuzz FILE [rounds [seed]]: the file's image, followed by a page that cannot be read, with random bytes
 * changed: anywhere, in the headers, in .eh_frame_hdr and .eh_frame; and cut short. */
#include "gate/gate.h"
#include "gate/image.h"
#include "test.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static void seen(const struct gate_site *s, void *arg) { (*(int *)arg)++; }

static size_t random_below(size_t n) { return ((size_t)rand() << 15 ^ (size_t)rand()) % n; }

static void damage(uint8_t *p, size_t from, size_t len, int n)
{
    static const uint8_t odd[] = {0, 1, 0x7f, 0x80, 0xff};
    for (; n > 0 && len; n--) p[from + random_below(len)] = rand() % 2 ? (uint8_t)rand() : odd[rand() % 5];
}

int main(int argc, char **argv)
{
    struct stat st;
    int fd = argc > 1 ? open(argv[1], O_RDONLY) : -1, rounds = argc > 2 ? atoi(argv[2]) : 300;
    unsigned seed = argc > 3 ? (unsigned)atoi(argv[3]) : (unsigned)time(NULL);
    printf("seed %u\n", seed);
    srand(seed);
    kill_after(170);
    CHECK(fd >= 0 && fstat(fd, &st) == 0);
    size_t size = (size_t)st.st_size, room = (size + 4095) & ~4095ul;
    uint8_t *file = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
    uint8_t *map = mmap(NULL, room + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(file != MAP_FAILED && map != MAP_FAILED && mprotect(map + room, 4096, PROT_NONE) == 0);
    struct gate_image im;
    CHECK(gate_image_from_file(&im, file, size) == 0);
    const uint8_t *hdr = gate_at(&im, im.eh_hdr, 16);
    CHECK(hdr);
    size_t eh = (size_t)(hdr - file), good = 0;
    for (int i = 0; i < rounds; i++) {
        size_t len = i % 7 == 0 ? 64 + random_below(size - 64) : size;
        uint8_t *p = map + (len == size ? room - size : room - len);    /* ends at the page that cannot be read */
        p = (uint8_t *)((uintptr_t)p & ~7ul);
        memcpy(p, file, len);
        switch (i % 4) {
        case 0: damage(p, 0, len < 1000 ? len : 1000, 1 + rand() % 8); break;
        case 1: if (len == size) damage(p, eh, 64, 1 + rand() % 4); break;
        case 2: if (len == size) damage(p, eh, size - eh < 60000 ? size - eh : 60000, 200); break;
        default: damage(p, 0, len, 2000);
        }
        int calls = 0, n = gate_scan_image(p, len, seen, &calls);
        CHECK(n < 0 || n == calls);
        good += n > 0;
    }
    printf("%d rounds, %zu with sites\n", rounds, good);
    return 0;
}
