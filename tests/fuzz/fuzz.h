/* tests/fuzz/fuzz.h - what a fuzz target provides, and main.c drives.  SPDX-License-Identifier: Apache-2.0 */
#ifndef USF_TEST_FUZZ_H
#define USF_TEST_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Once, before all else.  The current directory is a fresh one of its own, on /dev/shm. */
void fuzz_start(void);
/* One input.  What must hold is checked with FUZZ_CHECK; the sanitizers see the rest. */
void fuzz_one(const uint8_t *data, size_t size);
/* The n-th input to begin with: its length, 0 = there are no more. */
size_t fuzz_seed(unsigned n, uint8_t *buf, size_t cap);

/* An input of 256 bytes that begins with the header of a shared library; 0: there is no room. */
static inline size_t fuzz_elf_header(uint8_t *buf, size_t cap)
{
    static const uint8_t head[64] = {0x7f, 'E', 'L', 'F', 2, 1, 1, 0, [16] = 3, 0, 62, 0, 1, [32] = 64, [52] = 64, 0, 56, 0, 1};
    if (cap < 256) return 0;
    memset(buf, 0x90, 256);
    memcpy(buf, head, sizeof head);
    return 256;
}

/* The code under test speaks into /dev/null (USF_SHOW=1: not); this is heard. */
void fuzz_fail(const char *file, int line, const char *what) __attribute__((noreturn));
#define FUZZ_CHECK(c) do { if (!(c)) fuzz_fail(__FILE__, __LINE__, #c " does not hold"); } while (0)

/* An input that is read piece by piece; behind its end there are zeros. */
struct fuzz_input { const uint8_t *p, *end; };
static inline bool fuzz_more(const struct fuzz_input *in) { return in->p < in->end; }
static inline uint8_t fuzz_u8(struct fuzz_input *in) { return fuzz_more(in) ? *in->p++ : 0; }
static inline uint32_t fuzz_u16(struct fuzz_input *in)
{
    uint32_t low = fuzz_u8(in);
    return low | (uint32_t)fuzz_u8(in) << 8;
}
static inline uint32_t fuzz_u32(struct fuzz_input *in)
{
    uint32_t low = fuzz_u16(in);
    return low | fuzz_u16(in) << 16;
}

/* The n-th of some texts. */
static inline size_t fuzz_seed_text(const char *const *texts, unsigned nr, unsigned n, uint8_t *buf, size_t cap)
{
    if (n >= nr || strlen(texts[n]) > cap) return 0;
    memcpy(buf, texts[n], strlen(texts[n]));
    return strlen(texts[n]);
}
#endif
