/* src/threads/fresh.c - make a used thread like a new one.  SPDX-License-Identifier: Apache-2.0
 *
 * Three groups: what libc and the libraries keep per thread (thread-local storage, locale, errno
 * ...) is put back to its first state when a job has ended; what clone copies from the creator
 * (signal mask, floating-point control, name, affinity) is captured in the creator and applied at
 * the next start; what can be put back by neither way makes the thread really end. */
#include "arch/arch.h"
#include "threads/real.h"
#include "threads/record.h"

#include <dlfcn.h>
#include <errno.h>
#include <gnu/libc-version.h>
#include <link.h>
#include <locale.h>
#include <netdb.h>
#include <resolv.h>
#include <string.h>
#include <sys/syscall.h>

#undef p_type                               /* a macro of <resolv.h>, a field here */

#define MAX_KEPT 8
#define NR_MEMBERS 4

static void (*call_tls_dtors)(void);
static size_t kept_modules[MAX_KEPT];        /* TLS modules that stay: libc's parts and this library */
static int kept_count;
static bool has_keys, has_xsave;

/* ---- thread-local storage ------------------------------------------------------------------------- */
static bool contains(const struct dl_phdr_info *m, const void *address)
{
    for (int i = 0; i < m->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &m->dlpi_phdr[i];
        uintptr_t offset = (uintptr_t)address - (m->dlpi_addr + p->p_vaddr);
        if (p->p_type == PT_LOAD && offset < p->p_memsz)
            return true;
    }
    return false;
}

/* Of libc's list of objects: dl_iterate_phdr takes it.  Null: not found.  It lies in _rtld_global,
 * at a place that libc does not tell; so it is looked for while the calling thread owns it. */
static const pthread_mutex_t *objects_lock;

struct look {
    const void *const *members;
    const char *globals;
    size_t size;
    const pthread_mutex_t *held_before;
};

static const pthread_mutex_t *find_own_lock(const struct look *l)
{
    pid_t tid = (pid_t)REAL(syscall)(SYS_gettid);
    for (size_t at = 0; at + sizeof(pthread_mutex_t) <= l->size; at += _Alignof(pthread_mutex_t)) {
        const pthread_mutex_t *m = (const void *)(l->globals + at);
        if (m->__data.__kind == PTHREAD_MUTEX_RECURSIVE_NP && m->__data.__owner == tid && m->__data.__lock && m->__data.__count == 1 &&
            m != l->held_before)
            return m;
    }
    return NULL;
}

/* A running thread's libc state must survive; all that matters in it is reset through its own
 * interfaces. */
static int find_kept(struct dl_phdr_info *m, size_t size, void *arg)
{
    const struct look *l = arg;
    const void *const *members = l->members;
    if (!objects_lock)
        objects_lock = find_own_lock(l);
    for (size_t i = 0; m->dlpi_tls_modid && i < NR_MEMBERS; i++)
        if (members[i] && contains(m, members[i])) {
            kept_modules[kept_count++] = m->dlpi_tls_modid;
            break;
        }
    return kept_count == MAX_KEPT;
}

static bool is_kept(size_t module)
{
    for (int i = 0; i < kept_count; i++)
        if (kept_modules[i] == module)
            return true;
    return false;
}

/* glibc's table of a thread's blocks has its length, in modules, before its first entry of two
 * words. */
static size_t modules_with_place(void)
{
    return arch_thread_blocks()[-2];
}

/* dlpi_tls_data is this thread's block, null where it never used the module.  While another thread
 * is in dlopen, glibc takes it from a table that may be too short for the new modules: what lies
 * behind the table is no block. */
static int reset_block(struct dl_phdr_info *m, size_t size, void *most)
{
    if (!m->dlpi_tls_modid || m->dlpi_tls_modid > *(const size_t *)most || !m->dlpi_tls_data || is_kept(m->dlpi_tls_modid))
        return 0;
    for (int i = 0; i < m->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &m->dlpi_phdr[i];
        if (p->p_type != PT_TLS)
            continue;
        memcpy(m->dlpi_tls_data, (const char *)m->dlpi_addr + p->p_vaddr, p->p_filesz);
        memset((char *)m->dlpi_tls_data + p->p_filesz, 0, p->p_memsz - p->p_filesz);
        break;
    }
    return 0;
}

/* ---- the room's interface -------------------------------------------------------------------------------- */
const char *fresh_init(void)
{
    call_tls_dtors = (void (*)(void))dlvsym(RTLD_NEXT, "__call_tls_dtors", "GLIBC_PRIVATE");
    if (!call_tls_dtors)
        return "this libc does not offer __call_tls_dtors";
    has_keys = arch_has_keys();
    has_xsave = arch_saves_all_vectors();
    /* Looked up before the walk, which holds a lock that a look-up's comes before: another thread
     * may be in dlopen. */
    const void *members[NR_MEMBERS] = {
        (const void *)fresh_init, (const void *)real.pthread_create, (const void *)gnu_get_libc_version,
        dlsym(RTLD_DEFAULT, "__tls_get_addr"),
    };
    struct look look = { .members = members, .globals = dlsym(RTLD_DEFAULT, "_rtld_global") };
    const ElfW(Sym) *symbol = NULL;
    Dl_info info;
    if (look.globals && dladdr1(look.globals, &info, (void **)&symbol, RTLD_DL_SYMENT) && symbol)
        look.size = symbol->st_size;
    look.held_before = find_own_lock(&look);         /* in a constructor: that of dlopen */
    dl_iterate_phdr(find_kept, &look);
    return kept_count < MAX_KEPT ? NULL : "too many parts of libc";
}

void fresh_capture(struct inherited *from)
{
    pthread_sigmask(SIG_BLOCK, NULL, &from->mask);
    arch_control_get(&from->control, has_keys);
    from->named = atomic_load_explicit(&threads_flags.names, memory_order_relaxed) &&
                  REAL(prctl)(PR_GET_NAME, from->name) == 0;
    from->placed = atomic_load_explicit(&threads_flags.places, memory_order_relaxed) &&
                   sched_getaffinity(0, sizeof from->cpus, (cpu_set_t *)from->cpus) == 0;
}

void fresh_apply(const struct inherited *from)
{
    if (from->named)
        REAL(prctl)(PR_SET_NAME, from->name);
    if (from->placed)
        REAL(sched_setaffinity)(0, sizeof from->cpus, (const cpu_set_t *)from->cpus);
    arch_control_set(&from->control, has_keys, has_xsave);
    errno = 0;
}

void fresh_born(struct thread_rec *r)
{
    size_t size;
    const void *const *head = NULL;
    if (REAL(syscall)(SYS_get_robust_list, 0, &head, &size) != 0)
        head = NULL;
    r->robust = head;
}

void fresh_call_tls_dtors(void) { call_tls_dtors(); }

static bool drop_altstack(void)
{
    stack_t s;
    if (!threads_self.altstack)
        return true;
    if (REAL(sigaltstack)(NULL, &s) != 0)
        return false;
    if (s.ss_flags & SS_DISABLE)
        return true;
    s = (stack_t){ .ss_flags = SS_DISABLE };
    return REAL(sigaltstack)(&s, NULL) == 0;
}

bool fresh_possible(const struct thread_rec *r)
{
    sigset_t pending;
    if (self_is_odd() || threads_self.spent || atomic_load(&r->spent))
        return false;
    if (!r->robust || r->robust[0] != (const void *)r->robust)
        return false;                        /* the kernel passes on robust mutexes only at the end of a thread */
    if (_res.options & RES_INIT)
        return false;                        /* resolver state: sockets, options */
    /* Signals for this thread alone die with it; which of the pending ones those are is not to be
     * had cheaply. */
    if (sigpending(&pending) != 0 || !sigisemptyset(&pending))
        return false;
    return drop_altstack();
}

void (*threads_is_fresh)(void);

void fresh_reset(void)
{
    size_t most = modules_with_place();
    if (threads_is_fresh)
        threads_is_fresh();
    uselocale(LC_GLOBAL_LOCALE);
    dlerror();
    h_errno = 0;
    dl_iterate_phdr(reset_block, &most);
}

/* A thread of the parent's may have been in dlopen or dl_iterate_phdr.  libc does not reset this
 * lock in a child. */
bool fresh_is_impossible(void) { return !objects_lock || objects_lock->__data.__lock; }
