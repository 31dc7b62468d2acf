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

/* What the dynamic linker has relocated in place is an address; what it has left alone (-z
 * rodynamic) is relative to the object's. */
static const void *table(const struct link_map *m, const ElfW(Dyn) *d)
{
    return (const void *)(d->d_un.d_ptr < m->l_addr ? m->l_addr + d->d_un.d_ptr : d->d_un.d_ptr);
}

/* One that is linked into the program shows at least in the names of what it would call if it were
 * there.  Undefined symbols come before those of the hash table, which tells where it begins; the
 * older table has all, and tells how many.  The hash table of a program that exports nothing does
 * not tell: that one's names are few. */
static bool names_sanitizer(const struct link_map *m)
{
    const char *names = NULL;
    const ElfW(Sym) *symbols = NULL;
    const uint32_t *hash = NULL, *older = NULL;
    size_t size = 0;
    for (const ElfW(Dyn) *d = m->l_ld; d && d->d_tag != DT_NULL; d++)
        if (d->d_tag == DT_STRTAB)
            names = table(m, d);
        else if (d->d_tag == DT_STRSZ)
            size = d->d_un.d_val;
        else if (d->d_tag == DT_SYMTAB)
            symbols = table(m, d);
        else if (d->d_tag == DT_GNU_HASH)
            hash = table(m, d);
        else if (d->d_tag == DT_HASH)
            older = table(m, d);
    uint32_t n = hash ? hash[1] : older ? older[1] : 0;
    for (size_t i = 0; n <= 1 && names && i + 1 < size; i++)
        if (!names[i] && begins(names + i + 1, "__sanitizer_"))
            return true;
    for (uint32_t i = 1; names && symbols && i < n; i++)
        if (symbols[i].st_shndx == SHN_UNDEF && begins(names + symbols[i].st_name, "__sanitizer_"))
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
    /* Another thread is at it, or this one, in a malloc that makes threads of its own: theirs are
     * libc's. */
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
