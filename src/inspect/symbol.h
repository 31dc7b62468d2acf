/* src/inspect/symbol.h - the name of an address in an ELF file.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef USF_INSPECT_SYMBOL_H
#define USF_INSPECT_SYMBOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The addresses that the file's segments take, as linked: [lo, hi), lo at a page's start.  False:
 * no ELF that runs here. */
bool elf_extent(int fd, uint64_t *lo, uint64_t *hi);
/* The function or object that contains the address (as linked): its name and the offset within.
 * False: none is known.  The file may be anything: nothing in it is believed. */
bool elf_symbol(int fd, uint64_t vaddr, char *name, size_t cap, uint64_t *offset);

#endif
