/* src/context/root.h - the library that needs all others of one load.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef USF_CONTEXT_ROOT_H
#define USF_CONTEXT_ROOT_H

#include <stddef.h>

/* A library without symbols that needs those of these names (in this order), and has one
 * constructor.  Its size, or 0: no memory.  The caller frees *file. */
size_t root_make(void **file, const char *const *needed, size_t n, void (*constructor)(void));

#endif
