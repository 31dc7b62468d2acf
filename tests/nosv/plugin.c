/* tests/nosv/plugin.c - a library that begins to use tasks when it is loaded, and ends when it is unloaded.  SPDX-License-Identifier: Apache-2.0 */
#include "nosv_test.h"

__attribute__((constructor)) static void loaded(void) { OK(nosv_init()); }
__attribute__((destructor)) static void unloaded(void) { OK(nosv_shutdown()); }

static void run(nosv_task_t task) { add(pointer_of(task), 1); }

int plugin_work(int n);
int plugin_work(int n)
{
    int ran = 0;
    nosv_task_type_t type = type_of(run, NULL, NULL);
    attach();
    for (int i = 0; i < n; i++) {
        nosv_task_t task = task_of(type, &ran, NOSV_CREATE_JOINABLE);
        OK(nosv_submit(task, NOSV_SUBMIT_NONE));
        OK(nosv_join(task, NULL, FOREVER));
    }
    OK(nosv_detach(NOSV_DETACH_NONE));
    OK(nosv_type_destroy(type, NOSV_TYPE_DESTROY_NONE));
    return ran;
}
