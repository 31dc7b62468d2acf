/* src/gate/vdso.c - system calls of the vDSO.  SPDX-License-Identifier: Apache-2.0
 *
 * The vDSO makes a system call for a clock that it cannot read itself.  Threads may be executing it
 * when it is patched.  So a copy with the jumps in it takes the place of the whole at once, which
 * the kernel does while no thread can fetch code from there.  A jump replaces one instruction,
 * which sets the call's number: a thread that has executed that goes on in the copy with the call
 * itself. */
#include "gate/objects.h"

#include "arch/code.h"
#include "os/os.h"
#include "os/syscall.h"

#include <sys/auxv.h>
#include <sys/mman.h>

#define PAGE     4096ul

static bool is_patchable(const struct gate_rec *r)
{
    return r->cls == GATE_SITE_PATCHABLE && r->nr >= 0 && r->nr < USF_NR_SYSCALLS && usf_gate_handlers[r->nr]
           && arch_is_numbered_call(r->bytes, r->before, r->len);
}

/* The springboards into buf, for execution at code; the jumps to them into the copy.  Bytes of
 * springboards. */
static size_t build(const struct gate_list *l, uintptr_t base, uint8_t *buf, uintptr_t code, uint8_t *copy)
{
    size_t at = GATE_CHUNK_HEAD;
    gate_chunk_head(buf);
    for (uint32_t i = 0; i < l->nr; i++) {
        const struct gate_rec *r = &l->rec[i];
        uint64_t start = r->at - r->before;
        uintptr_t enter;
        size_t n = is_patchable(r) ? gate_springboard(r, &(struct gate_chunk){.base = base, .code = code}, buf + at, code + at, &enter) : 0;
        if (n) gate_encode_jump(copy + start, r, base + start, enter);
        at += n;
    }
    return at + GATE_CHUNK_END;       /* buf is zeroed */
}

static bool replaced;

static bool replace(uintptr_t base, uint8_t *copy, size_t size)
{
    if (usf_syscall(__NR_mprotect, copy, size, PROT_READ | PROT_EXEC)) return false;
    return replaced = usf_syscall(__NR_mremap, copy, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, base) == (long)base;
}

/* Nothing else lies on these pages, and no thread executes them yet.  mprotect refuses code that
 * does not begin a page.  Other threads run, and the lowest free descriptor is theirs: no file is
 * opened. */
static bool write_new(void *code, const uint8_t *from, size_t len)
{
    if (usf_syscall(__NR_mprotect, code, len, PROT_READ | PROT_WRITE)) return false;
    __builtin_memcpy(code, from, len);
    return !usf_syscall(__NR_mprotect, code, len, PROT_READ | PROT_EXEC);
}

static bool patch(const struct gate_image *im, uintptr_t base, const struct gate_list *l)
{
    size_t room = GATE_CHUNK_HEAD + GATE_CHUNK_END, size = (im->high + PAGE - 1) & -PAGE;
    for (uint32_t i = 0; i < l->nr; i++)
        if (is_patchable(&l->rec[i])) room += gate_springboard_room(&l->rec[i]);
    if (room == GATE_CHUNK_HEAD + GATE_CHUNK_END) return true;    /* it makes no such call, or is patched: a fork came right after that */
    uint8_t *copy = os_map(size + room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (os_is_error(copy)) return false;
    void *code = gate_new_code(base, base + size, room);
    __builtin_memcpy(copy, (const void *)base, size);
    size_t len = code ? build(l, base, copy + size, (uintptr_t)code, copy) : 0;
    bool good = len && write_new(code, copy + size, len);
    os_unmap(copy + size, room);
    if (good) {
        gate_vdso_code.len = room;
        __atomic_store_n(&gate_vdso_code.code, code, __ATOMIC_RELEASE);
        good = replace(base, copy, size);
    }
    if (!good) os_unmap(copy, size);
    return good;
}

/* Not published: to the rest of usf the vDSO's code is the kernel's. */
bool gate_patch_vdso(void)
{
    uintptr_t base = getauxval(AT_SYSINFO_EHDR);
    const Elf64_Ehdr *eh = (const void *)base;
    struct gate_list sites = {0};
    struct gate_image im;
    if (!base || replaced) return true;
    gate_image_from_phdrs(&im, base, (const void *)(base + eh->e_phoff), eh->e_phnum);
    bool good = !im.low && im.nr_segs == 1 && !gate_scan(&im, &sites) && patch(&im, base, &sites);
    gate_list_free(&sites);
    return good;
}
