/* src/shm/reserve.c - storage behind records before they are touched.
 * SPDX-License-Identifier: Apache-2.0 */
#include "internal.h"
#include <errno.h>
#include <fcntl.h>

/* Kernels before 5.14, and some sandboxes, cannot do it through the mapping: through the file, if
 * the path still names it. */
static int reserve_by_file(const struct usf_header *h, const char *dir, uint64_t off, uint64_t len)
{
    char path[SHM_PATH_MAX];
    struct os_stat st;
    int r = shm_path(dir, h->name, h->uid, path, sizeof path);
    if (r < 0) return r;
    int fd = os_open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0);
    if (fd < 0) return fd == -ENOENT ? -ESTALE : fd;
    r = os_fstat(fd, &st);
    if (!r && (st.dev != h->file_dev || st.ino != h->file_ino)) r = -ESTALE;
    if (!r) r = os_allocate(fd, off, len);
    os_close(fd);
    return r;
}

static int make_real(struct usf_header *h, const char *dir, uint64_t off, uint64_t len)
{
    int r = os_populate((char *)h + off, len);
    return r && r != -ENOSPC && r != -ENOMEM ? reserve_by_file(h, dir, off, len) : r;
}

/* Make records [hwm, n) of a table real and raise its mark.  Several processes may do it at once:
 * the pages are the same, and the mark only rises. */
static int reserve(struct usf_header *h, const char *dir, uint64_t table, uint64_t record, _Atomic uint32_t *hwm,
                   uint32_t n)
{
    uint32_t have = atomic_load(hwm);
    if (n <= have) return 0;
    int r = make_real(h, dir, table + have * record, (n - have) * record);
    if (r) return r;
    while (have < n && !atomic_compare_exchange_weak(hwm, &have, n)) {}
    return 0;
}

int shm_reserve_tasks(struct usf_header *h, const char *dir, uint32_t n)
{
    if (n > h->max_tasks) return -ENOSPC;
    n = (n + USF_TASK_CHUNK - 1) / USF_TASK_CHUNK * USF_TASK_CHUNK;
    uint32_t have = atomic_load(&h->task_hwm);
    int r = n <= have ? 0 : make_real(h, dir, h->off_threads + have * sizeof(struct usf_thread), (n - have) * sizeof(struct usf_thread));
    return r ? r : reserve(h, dir, h->off_tasks, sizeof(struct usf_task), &h->task_hwm, n);
}

int shm_reserve_groups(struct usf_header *h, const char *dir, uint32_t n)
{
    if (n > h->max_groups) return -EAGAIN;
    n = (n + USF_GROUP_CHUNK - 1) / USF_GROUP_CHUNK * USF_GROUP_CHUNK;
    return reserve(h, dir, h->off_groups, sizeof(struct usf_group), &h->group_hwm, n);
}

int shm_reserve_procs(struct usf_header *h, const char *dir, uint32_t n)
{
    if (n > h->max_procs) return -EAGAIN;
    return reserve(h, dir, h->off_procs, sizeof(struct usf_proc), &h->proc_hwm, n);
}
