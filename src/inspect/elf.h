/* src/inspect/elf.h - what `usf run` must know of a program's file.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef USF_INSPECT_ELF_H
#define USF_INSPECT_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_facts {
    bool is_elf;            /* all below is meaningless otherwise */
    bool bits64, little;
    uint16_t machine, type;
    bool has_interp;        /* PT_INTERP: dynamically linked */
    char interp[256];       /* the dynamic loader's path */
    bool is_loader;         /* it is a dynamic loader itself, run as a program */
    bool is_go;             /* made by the Go toolchain */
    bool needs_asan;        /* linked with libasan.so */
    char build_id[64];      /* as hex, cut to what fits; "": none */
};
/* Reads, never maps: a file that shrinks meanwhile is an error and not a SIGBUS.  0 or -errno; a
 * file that is no sound ELF is 0 with is_elf false or as much as could be read. */
int elf_inspect(int fd, struct elf_facts *f);
/* All of that place of the file; false: there is less, or it cannot be read. */
bool elf_read(int fd, uint64_t off, void *buf, size_t n);
const char *elf_machine_name(uint16_t machine);

#endif
