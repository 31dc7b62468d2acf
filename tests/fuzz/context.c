/* tests/fuzz/context.c - ELF files, as library contexts copy and change them.  SPDX-License-Identifier: Apache-2.0 */
#include "../../src/context/image.c"    /* (its cache is emptied after each input) */
#include "fuzz.h"

#include <sys/mman.h>
#include <unistd.h>

static int file;

void fuzz_start(void)
{
    file = memfd_create("fuzz-context", MFD_CLOEXEC);
    if (file < 0) exit(1);
}

static void seen(void *arg, size_t from, size_t size)
{
    const struct image *im = arg;
    FUZZ_CHECK(from <= im->elf.size && size <= im->elf.size - from);
}

static void examine(struct image *im, const struct image *shared)
{
    for (size_t i = 0; im->needed && im->needed[i]; i++) FUZZ_CHECK(image_needs(im, im->needed[i]));
    for (uint32_t i = 0; i < im->nr_tags; i++) FUZZ_CHECK(im->tags[i] + IMAGE_TAG < im->elf.size);
    FUZZ_CHECK(!im->nr_init || elf_at(&im->elf, im->init_array, im->nr_init * 8));
    if (shared) image_yield(im, shared);
    image_complete(im);
    elf_each_table(&im->elf, seen, im);
    for (size_t page = 0; page < pages_of(im); page++) FUZZ_CHECK(im->copied[page] || !im->changed_page[page]);
}

void fuzz_one(const uint8_t *data, size_t size)
{
    const char *why = 0;
    if (ftruncate(file, 0) || pwrite(file, data, size, 0) != (ssize_t)size) exit(1);
    struct image *shared = image_of(file, "/somewhere/libfuzz.so", true, &why), *im = image_of(file, "/somewhere/libfuzz.so", false, &why);
    FUZZ_CHECK(im || (why && *why));
    FUZZ_CHECK(!im || image_of(file, "/somewhere/libfuzz.so", false, &why) == im);
    if (im) examine(im, shared);
    for (struct image *next; images; images = next) {
        next = images->next;
        drop(images);
    }
}

/* Whole libraries come as files (seed_object.c). */
size_t fuzz_seed(unsigned n, uint8_t *buf, size_t cap)
{
    return n ? 0 : fuzz_elf_header(buf, cap);
}
