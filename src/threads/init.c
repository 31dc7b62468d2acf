/* src/threads/init.c - switch the cache on.  SPDX-License-Identifier: Apache-2.0 */
#include "threads/real.h"
#include "threads/record.h"
#include "threads/threads.h"

#include <dlfcn.h>

/* Sanitizers keep books on threads of their own and cannot follow one that comes back to life. */
static const char *sanitizer(void)
{
    static const char *const markers[] = { "__asan_init", "__tsan_init", "__msan_init", "__hwasan_init" };
    for (size_t i = 0; i < sizeof markers / sizeof *markers; i++)
        if (dlsym(RTLD_DEFAULT, markers[i]))
            return "the program is built with a sanitizer";
    return NULL;
}

static bool all_there(void)
{
    return real.pthread_create && real.pthread_join && real.pthread_tryjoin_np && real.pthread_timedjoin_np &&
           real.pthread_clockjoin_np && real.pthread_detach && real.pthread_exit && real.pthread_cancel &&
           real.pthread_kill && real.pthread_key_create;
}

const char *threads_init(bool enabled)
{
    const char *why;
    if (!enabled)
        return "switched off";
    real_init();
    if (!all_there())
        return "this libc lacks thread functions";
    if ((why = sanitizer()) || (why = fresh_init()))
        return why;
    attr_init();
    cache_adopt_process();
    pthread_atfork(NULL, NULL, threads_after_fork);
    atomic_store(&threads_flags.on, true);
    return NULL;
}
