/* src/threads/init.c - switch the cache on.  SPDX-License-Identifier: Apache-2.0 */
#include "threads/real.h"
#include "threads/record.h"
#include "threads/threads.h"

#include <dlfcn.h>
#include <link.h>

void (*threads_is_off)(const char *why);

#define SANITIZED "the program is built with a sanitizer"

/* Not libc's: the program's own, which those would be, are not ready before its start. */
static bool begins(const char *s, const char *with)
{
    while (*with && *s == *with)
        s++, with++;
    return !*with;
}

/* One that is linked into the program shows at least in the names of what it would call if it were there. */
static bool names_sanitizer(const struct link_map *m)
{
    const char *names = NULL;
    size_t size = 0;
    for (const ElfW(Dyn) *d = m->l_ld; d && d->d_tag != DT_NULL; d++)
        if (d->d_tag == DT_STRTAB)
            names = (const char *)d->d_un.d_ptr;
        else if (d->d_tag == DT_STRSZ)
            size = d->d_un.d_val;
    if ((uintptr_t)names < m->l_addr)        /* libc leaves it as it is in the file where that is not writable (-z rodynamic) */
        names += m->l_addr;
    for (size_t i = 0; names && i + 1 < size; i++)
        if (!names[i] && begins(names + i + 1, "__sanitizer_"))
            return true;
    return false;
}

/* Sanitizers keep books on threads of their own and cannot follow one that comes back to life. */
static const char *sanitizer(void)
{
    static const char *const markers[] = { "__asan_init", "__tsan_init", "__msan_init", "__hwasan_init" };
    for (size_t i = 0; i < sizeof markers / sizeof *markers; i++)
        if (dlsym(RTLD_DEFAULT, markers[i]))
            return SANITIZED;
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
    if (!enabled)
        return "switched off";
    if (names_sanitizer(_r_debug.r_map))     /* without a look-up: its malloc, which a failing one calls, is not ready yet */
        return SANITIZED;
    cache_adopt_process();
    atomic_store(&threads_flags.on, true);
    return NULL;
}

static const char *look_up(void)
{
    const char *why;
    real_init();
    if (!all_there())
        return "this libc lacks thread functions";
    if ((why = sanitizer()) || (why = fresh_init()))
        return why;
    attr_init();
    pthread_atfork(NULL, NULL, threads_after_fork);
    return NULL;
}

bool threads_prepare(void)
{
    int state = THREADS_UNTRIED;
    /* Another thread is at it, or this one, in a malloc that makes threads of its own: theirs are libc's. */
    if (!atomic_compare_exchange_strong(&threads_flags.ready, &state, THREADS_TRYING))
        return state == THREADS_READY;
    const char *off = look_up();
    if (off) {
        atomic_store(&threads_flags.closed, true);
        if (threads_is_off)
            threads_is_off(off);
        return false;
    }
    atomic_store(&threads_flags.ready, THREADS_READY);
    return true;
}
