/* tests/nosv/plugin_host.c - loads a library that uses tasks, and unloads it; it is linked with none itself.  SPDX-License-Identifier: Apache-2.0
 * usage: nosv-plugin-host LIBRARY */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "../check.h"

typedef int work_fn(int);
static work_fn *work;

static void *from_thread(void *arg)
{
    (void)arg;
    CHECK_EQ(work(50), 50);
    return NULL;
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    alarm(60);
    for (int i = 0; i < 20; i++) {
        pthread_t thread;
        void *library = dlopen(argv[1], RTLD_NOW | (i % 2 ? RTLD_GLOBAL : RTLD_LOCAL));
        if (!library) fprintf(stderr, "%s\n", dlerror());
        CHECK(library);
        *(void **)&work = dlsym(library, "plugin_work");
        CHECK(work);
        CHECK_EQ(work(100), 100);
        CHECK_EQ(pthread_create(&thread, NULL, from_thread, NULL), 0);
        CHECK_EQ(pthread_join(thread, NULL), 0);
        CHECK_EQ(dlclose(library), 0);
    }
    return 0;
}
