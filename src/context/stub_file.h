/* src/context/stub_file.h - a stub library's file (stub.h) is made.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef USF_CONTEXT_STUB_FILE_H
#define USF_CONTEXT_STUB_FILE_H

#include "context/elf.h"

struct stub_request {
    const char *original;       /* path by which it is loaded at run time */
    const char *original_name;  /* its SONAME, or its file's name */
    const char *soname;         /* of the stub */
    const char *runpath;        /* where libusf-context is, if not in the system's folders; or null */
    bool needs_original;        /* the original is loaded with the stub: it defines the data symbols */
};

enum stub_kind { STUB_NOTHING, STUB_FUNCTION, STUB_DATA };
/* What symbol i of a library is to a stub. */
enum stub_kind stub_kind(const struct elf *e, size_t i);

/* Stubs of the symbols with left_out[i] == 0 that are functions.  The file's size; the caller frees
 * *file.  0: no memory, or more than STUB_MAX_FUNCTIONS. *nr: the number of functions. */
size_t stub_make(void **file, uint32_t *nr, const struct elf *e, const uint8_t *left_out, const struct stub_request *r);

#endif
