/* tests/blocking/unseen.c - sleep in the kernel unseen, then compute without a call.  SPDX-License-Identifier: Apache-2.0
 *
 * One thread touches a page that is not there until the main thread, which gets the core meanwhile, gives it. Then both compute
 * until a line comes: as threads of the scheduler. */
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static volatile int over, touched, computes;
static volatile char *page;

/* Work that is not taken for a busy-wait: it writes here and there. */
static void *compute(void *arg)
{
    static __thread unsigned numbers[1024];
    computes = 1;
    for (unsigned n = 1; !over; n = n * 1103515245u + 12345u) numbers[n >> 22] ^= n;
    return arg;
}

static void *touch(void *arg)
{
    prctl(PR_SET_NAME, "touches");
    *page = 1;
    touched = 1;
    return compute(arg);
}

int main(void)
{
    struct uffdio_api api = {.api = UFFD_API};
    pthread_t t[2];
    alarm(100);
    int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
    if (fd < 0 || ioctl(fd, UFFDIO_API, &api)) {
        puts("no userfaultfd here");
        return 77;
    }
    page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct uffdio_register r = {.range = {(uintptr_t)page, 4096}, .mode = UFFDIO_REGISTER_MODE_MISSING};
    struct uffdio_zeropage z = {.range = {(uintptr_t)page, 4096}};
    if (ioctl(fd, UFFDIO_REGISTER, &r) || pthread_create(&t[0], NULL, touch, NULL)) return 1;
    struct uffd_msg fault;          /* it has the core, and sleeps: we get it back because that is seen */
    if (read(fd, &fault, sizeof fault) != sizeof fault || fault.event != UFFD_EVENT_PAGEFAULT || touched) return 1;
    pthread_create(&t[1], NULL, compute, NULL);
    while (!computes) usleep(1000);
    if (ioctl(fd, UFFDIO_ZEROPAGE, &z)) return 1;
    puts("up");
    fflush(stdout);
    getchar();
    over = 1;
    for (int i = 0; i < 2; i++) pthread_join(t[i], NULL);
    return 0;
}
