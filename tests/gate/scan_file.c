/* tests/gate/scan_file.c - print the sites of ELF files, one line each.  SPDX-License-Identifier: Apache-2.0
 * ADDRESS CLASS WINDOW-START WINDOW-LENGTH WHY */
#include "gate/gate.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static void print(const struct gate_site *s, void *arg)
{
    static const char *const names[] = {"patchable", "clone", "cancel", "left"};
    printf("%lx %s %lx %u %s\n", (unsigned long)s->vaddr, names[s->cls], (unsigned long)(s->vaddr - s->window_before),
           s->window_len, s->why);
}

int main(int argc, char **argv)
{
    struct stat st;
    int fd = argc == 2 ? open(argv[1], O_RDONLY) : -1;
    if (fd < 0 || fstat(fd, &st)) return 2;
    void *image = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (image == MAP_FAILED) return 2;
    int n = gate_scan_image(image, (size_t)st.st_size, print, NULL);
    if (n < 0) fprintf(stderr, "error %d\n", n);
    return n < 0;
}
