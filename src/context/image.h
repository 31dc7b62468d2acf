/* src/context/image.h - libraries as private copies are made of them.  SPDX-License-Identifier: Apache-2.0
 *
 * An image is a library's file, changed in memory so that the dynamic linker can load it again
 * beside the original:
 *   - names of private libraries (its own, and those that it needs) begin with the context's tag instead of their first three characters;
 *   - what it needs of shared libraries is not looked for any more: they are loaded already;
 *   - it has no constructors: load.c calls them when the context is whole;
 *   - symbols that exist once in a process (STB_GNU_UNIQUE) are ordinary ones;
 *   - a symbol without a version that a shared library defines, too, is the shared library's.
 * Nothing changes its size or place.  Images are made once per file, and kept for the contexts that
 * follow.
 *
 * All functions that make or change images are called under ld.so's lock. */
#ifndef USF_CONTEXT_IMAGE_H
#define USF_CONTEXT_IMAGE_H

#include <sys/stat.h>

#include "context/elf.h"

#define IMAGE_TAG 3u

struct image {
    struct image *next;
    struct elf elf;             /* of the changed file, but for `shared` ones, which are as they are */
    dev_t dev;
    ino_t ino;
    struct timespec changed;
    uint64_t rules;             /* share_rules() when it was made */
    bool shared;
    bool complete;              /* image_complete */
    char *soname;               /* as in the file; its base name where it has none */
    bool has_soname;
    const char *rpath, *runpath;    /* or null */
    char **needed;              /* names as in the file, null at the end */
    uint32_t *tags, nr_tags;    /* offsets of the names that get the context's tag */
    uint64_t init, init_array, nr_init;     /* addresses; the constructors that were taken out */
    /* A byte per page of the file: it is copied for the dynamic linker; differs from the file;
     * belongs to a writable segment. */
    uint8_t *copied, *changed_page, *writable;
    uint8_t *executable;        /* a byte per program header: the segment is, in the file */
};

/* The image of an open file, from the cache or new; null: *why says what is wrong with the file, as
 * the end of "NAME: ...". */
struct image *image_of(int fd, const char *path, bool shared, const char **why);
/* Is it the file, unchanged, that the image was made of? */
bool image_is_of(const struct image *im, const struct stat *st);
/* Of a new private image, in this order: symbols that a shared image defines are the shared
 * library's; nothing changes any more. */
void image_yield(struct image *im, const struct image *shared);
void image_complete(struct image *im);
/* The dynamic linker does not look for this one of `needed` any more. */
void image_drop_need(struct image *im, const char *name);
/* Is this one of the names in `needed`, whatever tag it has now? */
bool image_needs(const struct image *im, const char *name);

#endif
