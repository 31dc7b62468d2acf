/* src/context/elf.h - a shared library's file, as far as a private copy of it is concerned.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The file is mapped privately and writable, so that it can be changed in memory.  Nothing in it is
 * trusted: elf_open checks that each table lies in the file, and every later access goes by what it
 * has found. */
#ifndef USF_CONTEXT_ELF_H
#define USF_CONTEXT_ELF_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ELF_PAGE 4096u

struct elf {
    uint8_t *at;                /* the file */
    size_t size;
    Elf64_Ehdr *eh;
    Elf64_Phdr *ph;             /* eh->e_phnum of them */
    Elf64_Dyn *dyn;             /* nr_dyn entries before DT_NULL */
    size_t nr_dyn;
    char *str;                  /* ends with 0 */
    size_t str_size;
    Elf64_Sym *sym;
    size_t nr_sym;
    uint16_t *versym;           /* null: the symbols have no versions */
    const char *soname;         /* or null */
    /* DT_GNU_HASH, for elf_exports; bloom null: it has none. */
    uint32_t nr_buckets, first_hashed, bloom_shift, nr_bloom;
    const uint64_t *bloom;
    const uint32_t *bucket, *chain;
    bool resolves;              /* code of it is executed while it is relocated (IFUNC), or its text is relocated */
    bool is_static_tls;
};

/* Null: e is valid.  Else what is wrong with the file, as the end of "NAME: ...". */
const char *elf_open(struct elf *e, void *at, size_t size);
/* The file's bytes at an address of the loaded library; null if they are not in the file. */
void *elf_at(const struct elf *e, uint64_t addr, size_t size);
/* A string of the dynamic string table; "" where there is none. */
const char *elf_string(const struct elf *e, uint64_t offset);
/* The first dynamic entry with the tag, or null. */
Elf64_Dyn *elf_dyn(const struct elf *e, int64_t tag);
/* Does it export this symbol?  hash: elf_hash(name). */
bool elf_exports(const struct elf *e, const char *name, uint32_t hash);
uint32_t elf_hash(const char *name);
/* What a note of this name and type says, size bytes; null: there is none. */
const void *elf_note(const struct elf *e, const char *name, uint32_t type, size_t *size);
/* Calls f for each needed version: of which file. */
void elf_each_verneed(const struct elf *e, void (*f)(void *, Elf64_Verneed *), void *arg);
/* Calls f for each range of file bytes that the dynamic linker reads in pages that are not
 * writable. */
void elf_each_table(const struct elf *e, void (*f)(void *, size_t from, size_t size), void *arg);

#endif
