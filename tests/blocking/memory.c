/* tests/blocking/memory.c - page faults that wait.  SPDX-License-Identifier: Apache-2.0 */
#include "blocking.h"
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/uio.h>

static void unmap(void) { munmap(w.page, 4096); }

/* A page that is not there until the main thread says so. */
static void make_page(void)
{
    struct uffdio_api api = {.api = UFFD_API};
    w.fd[0] = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
    if (w.fd[0] < 0 || ioctl(w.fd[0], UFFDIO_API, &api)) {
        skip("no userfaultfd here");
        return;
    }
    w.page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct uffdio_register r = {.range = {(uintptr_t)w.page, 4096}, .mode = UFFDIO_REGISTER_MODE_MISSING};
    MUST(ioctl(w.fd[0], UFFDIO_REGISTER, &r));
    w.remove = unmap;
    MUST(w.fd[1] = memfd_create("blocking", 0));
    put(w.fd[1]);
}
static void give_page(void)
{
    struct uffdio_zeropage z = {.range = {(uintptr_t)w.page, 4096}};
    MUST(ioctl(w.fd[0], UFFDIO_ZEROPAGE, &z));
}
static long do_touch(void)
{
    *(volatile char *)w.page = 5;
    return *(volatile char *)w.page;
}
/* The kernel's own fault, in a call that itself does not wait: with a signal pending the kernel tries it again and again. */
static long do_pread(void) { return pread(w.fd[1], w.page, 1, 0); }
static long do_uname(void) { return syscall(SYS_uname, w.page); }
static long do_vm_readv(void)
{
    static char here;
    struct iovec to = {&here, 1}, from = {w.page, 1};
    return process_vm_readv(getpid(), &to, 1, &from, 1, 0);
}
static long do_populate(void) { return madvise(w.page, 4096, 22 /* MADV_POPULATE_READ */); }

const struct blocking memory_cases[] = {
    {"page-fault", -1, 0, make_page, do_touch, give_page, UNINTERRUPTED},
    {"page-fault-pread", SYS_pread64, 0, make_page, do_pread, give_page, UNINTERRUPTED | NOT_OURS},
    {"page-fault-uname", SYS_uname, 0, make_page, do_uname, give_page, UNINTERRUPTED | NOT_OURS},
    {"process-vm-readv", SYS_process_vm_readv, 0, make_page, do_vm_readv, give_page, UNINTERRUPTED | NOT_OURS},
    {"madvise-populate", SYS_madvise, 0, make_page, do_populate, give_page, UNINTERRUPTED | NOT_OURS},
    {0},
};
