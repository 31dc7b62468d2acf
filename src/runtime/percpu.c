/* src/runtime/percpu.c - which affinity masks are more than hints.  SPDX-License-Identifier: Apache-2.0
 *
 * A program that keeps data per CPU, and binds a thread to a CPU to work on that CPU's part, computes something else if the thread runs
 * elsewhere.  Two things show such a program: its executable imports a function that says where a thread runs, or it registers
 * restartable sequences (rseq) of its own.  The first one is looked for when a thread is first bound to one CPU, which few programs do. */
#include <elf.h>

#include "runtime/runtime.h"

USF_EARLY static const Elf64_Phdr *headers;       /* the executable's */
USF_EARLY static uint64_t nr_headers;
static bool own_rseq;

static uint64_t auxiliary(char **envp, uint64_t type)
{
    while (envp && *envp) envp++;
    for (const Elf64_auxv_t *a = envp ? (const Elf64_auxv_t *)(envp + 1) : 0; a && a->a_type != AT_NULL; a++)
        if (a->a_type == type) return a->a_un.a_val;
    return 0;
}

void rt_note_executable(char **envp)
{
    nr_headers = auxiliary(envp, AT_PHNUM);
    headers = (const Elf64_Phdr *)auxiliary(envp, AT_PHDR);
}

static bool same(const char *a, const char *b)
{
    while (*a && *a == *b) a++, b++;
    return *a == *b;
}

/* What the dynamic linker has relocated in place is an address, what it has left alone is one relative to the executable's. */
static const void *at(uintptr_t base, uint64_t where) { return (const void *)(where < base ? base + where : where); }

struct relocations { const Elf64_Rela *first; uint64_t size; };

static bool any_names(const struct relocations *r, const Elf64_Sym *symbols, const char *strings, const char *const *names, unsigned n)
{
    for (uint64_t i = 0; r->first && i < r->size / sizeof *r->first; i++) {
        uint64_t symbol = ELF64_R_SYM(r->first[i].r_info);
        for (unsigned k = 0; k < n && symbol; k++)
            if (same(strings + symbols[symbol].st_name, names[k])) return true;
    }
    return false;
}

/* What an executable imports is what its relocations name.  The symbol need not be undefined: a variable is copied into an executable at
 * a fixed address.  The hash table does not tell how many symbols there are: one of an executable that exports none says 1. */
static bool imports(const Elf64_Dyn *d, uintptr_t base, const char *const *names, unsigned n)
{
    const Elf64_Sym *symbols = 0;
    const char *strings = 0;
    struct relocations all = {0}, calls = {0};
    for (; d->d_tag != DT_NULL; d++) {
        if (d->d_tag == DT_SYMTAB) symbols = at(base, d->d_un.d_ptr);
        if (d->d_tag == DT_STRTAB) strings = at(base, d->d_un.d_ptr);
        if (d->d_tag == DT_RELA) all.first = at(base, d->d_un.d_ptr);
        if (d->d_tag == DT_RELASZ) all.size = d->d_un.d_val;
        if (d->d_tag == DT_JMPREL) calls.first = at(base, d->d_un.d_ptr);
        if (d->d_tag == DT_PLTRELSZ) calls.size = d->d_un.d_val;
    }
    return symbols && strings && (any_names(&all, symbols, strings, names, n) || any_names(&calls, symbols, strings, names, n));
}

bool rt_executable_imports(const char *const *names, unsigned n)
{
    const Elf64_Phdr *dynamic = 0;
    uintptr_t base = 0;
    for (uint64_t i = 0; headers && i < nr_headers; i++) {
        if (headers[i].p_type == PT_PHDR) base = (uintptr_t)headers - headers[i].p_vaddr;
        if (headers[i].p_type == PT_DYNAMIC) dynamic = &headers[i];
    }
    return dynamic && imports((const Elf64_Dyn *)(base + dynamic->p_vaddr), base, names, n);
}

static bool asks_where_it_runs(void)
{
    static const char *const names[] = {"sched_getcpu", "getcpu", "__rseq_offset"};
    return rt_executable_imports(names, sizeof names / sizeof *names);
}

static bool has_data_per_cpu(void)
{
    static _Atomic int known;   /* 0: not yet, 1: no, 2: yes */
    if (own_rseq) return true;
    if (!atomic_load(&known)) atomic_store(&known, asks_where_it_runs() ? 2 : 1);
    return atomic_load(&known) == 2;
}

void rt_note_rseq(const struct gate_frame *f, long r)
{
    /* libc has registered its own for the first thread before this library began, and the kernel keeps one for a thread. */
    if (r == 0 && f->rdx == 0 && os_gettid() == rt.pid) own_rseq = true;
}

bool rt_mask_is_strict(const struct os_cpuset *mask)
{
    switch (rt.settings.affinity) {
    case RT_AFFINITY_STRICT: return true;
    case RT_AFFINITY_AUTO: return os_cpu_count(mask) == 1 && has_data_per_cpu();
    }
    return false;
}
