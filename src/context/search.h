/* src/context/search.h - where the dynamic linker would find a library.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef USF_CONTEXT_SEARCH_H
#define USF_CONTEXT_SEARCH_H

#include <limits.h>

/* The library that asks, and those that have loaded it. */
struct search_from {
    const struct search_from *loader;   /* or null */
    const char *rpath, *runpath;        /* or null */
    const char *path;                   /* where it lies */
};

/* Opens a library by its name in DT_NEEDED, or by a path.  A descriptor and its path; or -1. */
int search_open(const struct search_from *from, const char *name, const char *library_path, char path[PATH_MAX]);

/* For src/context/search.c: folders below each folder of libraries, with versions for newer
 * processors (glibc-hwcaps), that this processor can execute.  The newest first; returns how
 * many. */
#define SEARCH_VERSIONS 3
unsigned search_versions(const char *names[SEARCH_VERSIONS]);

#endif
