/* src/context/stub_code.h - the machine code of stub libraries, of the architecture (src/arch).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef USF_CONTEXT_STUB_CODE_H
#define USF_CONTEXT_STUB_CODE_H

#include <elf.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes: of a function, its resolver, the way to usf_context_stub_resolve, the constructor; of the
 * unwind tables. */
#define STUB_CODE_SIZE     32u
#define STUB_RESOLVER_SIZE 16u
#define STUB_COMMON_SIZE   16u
#define STUB_INIT_SIZE     32u
#define STUB_EH_HDR_SIZE   28u
#define STUB_EH_FRAME_SIZE 80u

enum { STUB_GOT_TABLES, STUB_GOT_ADD, STUB_GOT_RESOLVE, STUB_GOT_HEADER, STUB_NR_GOT };

/* Where things are in the file. */
struct stub_places {
    uint8_t *file;
    uint32_t nr;                /* functions */
    size_t code, resolvers, common, init;
    size_t header, index;       /* struct stub_header; the word that libusf-context writes */
    size_t got[STUB_NR_GOT];
    size_t eh_hdr, eh_frame;
};
void stub_write_code(const struct stub_places *p);
void stub_write_unwind(const struct stub_places *p);
/* STUB_NR_GOT relocations: the tables' offset in the thread, two functions, and first the header.
 * symbol: of each. */
void stub_write_relocations(const struct stub_places *p, Elf64_Rela *r, const uint32_t symbol[STUB_NR_GOT]);

#endif
