/* tests/sched/scribble.c INSTANCE states|queue|cores - write nonsense over an instance's records.
 * SPDX-License-Identifier: Apache-2.0
 *
 *   states   all threads are in a state that does not exist
 *   queue    a thread that waits for another is said to wait for a core, in no queue
 *   cores    nobody runs on any core */
#include <stdio.h>
#include <string.h>

#include "os/os.h"
#include "sched/core.h"
#include "shm/shm.h"

int main(int argc, char **argv)
{
    struct shm_config c = {0};
    struct shm shm;
    uint32_t done = 0;
    if (argc != 3) return 2;
    c.name = argv[1];
    if (shm_open_instance(&c, false, &shm)) return fprintf(stderr, "%s\n", shm.why), 1;
    struct usf_task *tasks = shm_tasks(shm.h);
    struct usf_core *cores = shm_cores(shm.h);
    for (uint32_t i = 0; i < atomic_load(&shm.h->task_hwm) && !strcmp(argv[2], "states"); i++)
        if (atomic_load(&tasks[i].state) != USF_TASK_FREE) atomic_store(&tasks[i].state, 99), done++;
    /* Now and then no thread is blocked. */
    for (uint64_t end = os_now() + 10000000000; !strcmp(argv[2], "queue") && !done && os_now() < end;)
        for (uint32_t i = 0; i < atomic_load(&shm.h->task_hwm) && !done; i++) {
            unsigned blocked = USF_TASK_BLOCKED;
            done = atomic_compare_exchange_strong(&tasks[i].state, &blocked, USF_TASK_READY);
        }
    for (uint32_t i = 0; i < shm.h->nr_cores && !strcmp(argv[2], "cores"); i++) atomic_store(&cores[i].word, 0), done++;
    return done ? 0 : 3;
}
