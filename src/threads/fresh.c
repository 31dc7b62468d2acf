/* src/threads/fresh.c - make a used thread like a new one.  SPDX-License-Identifier: Apache-2.0
 *
 * Three groups: what libc and the libraries keep per thread (thread-local storage, locale, errno ...) is put back to its
 * first state when a job has ended; what clone copies from the creator (signal mask, floating-point control, name,
 * affinity) is captured in the creator and applied at the next start; what can be put back by neither way makes the
 * thread really end. */
#include "threads/real.h"
#include "threads/record.h"

#include <cpuid.h>
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
static bool has_pkru;

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

/* A running thread's libc state must survive; all that matters in it is reset through its own interfaces. */
static int find_kept(struct dl_phdr_info *m, size_t size, void *arg)
{
    const void *const *members = arg;
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

bool (*threads_tls_is_settled)(void);

struct walk { bool begun, stopped; };
_Atomic int fresh_walks;

static bool is_settled(void) { return !threads_tls_is_settled || threads_tls_is_settled(); }

/* dlpi_tls_data is this thread's block, null where it never used the module.  The first object is the program, whose block every
 * thread has. */
static int reset_block(struct dl_phdr_info *m, size_t size, void *arg)
{
    struct walk *w = arg;
    if (!w->begun && !is_settled())
        return w->stopped = true;
    w->begun = true;
    if (!m->dlpi_tls_modid || !m->dlpi_tls_data || is_kept(m->dlpi_tls_modid))
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

/* ---- floating point and protection keys -------------------------------------------------------------- */
static uint32_t read_pkru(void)
{
    uint32_t value, edx;
    __asm__ volatile(".byte 0x0f, 0x01, 0xee" : "=a"(value), "=d"(edx) : "c"(0));
    return value;
}

static void write_pkru(uint32_t value)
{
    __asm__ volatile(".byte 0x0f, 0x01, 0xef" : : "a"(value), "c"(0), "d"(0) : "memory");
}

static void capture_registers(struct inherited *from)
{
    __asm__ volatile("stmxcsr %0; fnstcw %1" : "=m"(from->mxcsr), "=m"(from->x87_control));
    from->pkru = has_pkru ? read_pkru() : 0;
}

static void apply_registers(const struct inherited *from)
{
    uint32_t mxcsr;
    __asm__ volatile("fninit; fldcw %1; stmxcsr %0" : "=m"(mxcsr) : "m"(from->x87_control));
    if (mxcsr != from->mxcsr)
        __asm__ volatile("ldmxcsr %0" : : "m"(from->mxcsr));
    if (has_pkru && read_pkru() != from->pkru)
        write_pkru(from->pkru);
}

/* ---- the room's interface -------------------------------------------------------------------------------- */
const char *fresh_init(void)
{
    unsigned a, b, c, d;
    call_tls_dtors = (void (*)(void))dlvsym(RTLD_NEXT, "__call_tls_dtors", "GLIBC_PRIVATE");
    if (!call_tls_dtors)
        return "this libc does not offer __call_tls_dtors";
    has_pkru = __get_cpuid_count(7, 0, &a, &b, &c, &d) && (c & 1u << 4);
    /* Looked up before the walk, which holds a lock that a look-up's comes before: another thread may be in dlopen. */
    const void *members[NR_MEMBERS] = {
        (const void *)fresh_init, (const void *)real.pthread_create, (const void *)gnu_get_libc_version,
        dlsym(RTLD_DEFAULT, "__tls_get_addr"),
    };
    dl_iterate_phdr(find_kept, members);
    return kept_count < MAX_KEPT ? NULL : "too many parts of libc";
}

void fresh_capture(struct inherited *from)
{
    pthread_sigmask(SIG_BLOCK, NULL, &from->mask);
    capture_registers(from);
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
    apply_registers(from);
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
    /* Signals for this thread alone die with it; which of the pending ones those are is not to be had cheaply. */
    if (sigpending(&pending) != 0 || !sigisemptyset(&pending))
        return false;
    return drop_altstack();
}

void (*threads_is_fresh)(void);

bool fresh_reset(void)
{
    struct walk w = { false, false };
    if (threads_is_fresh)
        threads_is_fresh();
    uselocale(LC_GLOBAL_LOCALE);
    dlerror();
    h_errno = 0;
    if (!is_settled())                       /* in a forked child the lock may be that of a thread that is not there */
        return false;
    atomic_fetch_add(&fresh_walks, 1);
    dl_iterate_phdr(reset_block, &w);
    atomic_fetch_sub(&fresh_walks, 1);
    return !w.stopped;
}
