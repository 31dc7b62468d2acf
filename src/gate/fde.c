/* src/gate/fde.c - function bounds and landing pads from .eh_frame.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The binary search table of .eh_frame_hdr gives the FDE of an address, the FDE the function's
 * bounds and its language-specific data, where C++ and cleanup handlers are entered (landing
 * pads). */
#include "gate/image.h"

/* DWARF exception header encodings: value format in the low nibble, base in the high one. */
enum { ENC_ABS = 0, ENC_ULEB = 1, ENC_U2 = 2, ENC_U4 = 3, ENC_U8 = 4, ENC_SLEB = 9, ENC_S2 = 10, ENC_S4 = 11,
       ENC_S8 = 12, ENC_PCREL = 0x10, ENC_DATAREL = 0x30, ENC_INDIRECT = 0x80, ENC_OMIT = 0xff };

/* A cursor over the image's bytes.  Once `bad`, every read gives 0. */
struct cursor { const struct gate_image *im; uint64_t at; bool bad; };

static uint64_t get(struct cursor *c, unsigned size)
{
    const uint8_t *p = c->bad ? NULL : gate_at(c->im, c->at, size);
    if (!p) {
        c->bad = true;
        return 0;
    }
    c->at += size;
    uint64_t v = 0;
    for (unsigned i = 0; i < size; i++) v |= (uint64_t)p[i] << 8 * i;
    return v;
}

static uint64_t get_leb(struct cursor *c, bool is_signed)
{
    uint64_t v = 0;
    unsigned shift = 0, byte;
    do {
        byte = (unsigned)get(c, 1);
        if (shift < 64) v |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
    } while (byte & 0x80 && !c->bad);
    if (is_signed && byte & 0x40 && shift < 64) v |= ~0ull << shift;
    return v;
}

/* An encoded pointer; null pointers stay null whatever their base. */
static uint64_t get_pointer(struct cursor *c, unsigned enc)
{
    uint64_t at = c->at, v;
    if (enc == ENC_OMIT) return 0;
    switch (enc & 0x0f) {
    case ENC_ABS: case ENC_U8: case ENC_S8: v = get(c, 8); break;
    case ENC_ULEB: v = get_leb(c, false); break;
    case ENC_SLEB: v = get_leb(c, true); break;
    case ENC_U2: v = get(c, 2); break;
    case ENC_S2: v = (uint64_t)(int64_t)(int16_t)get(c, 2); break;
    case ENC_U4: v = get(c, 4); break;
    case ENC_S4: v = (uint64_t)(int64_t)(int32_t)get(c, 4); break;
    default: c->bad = true; return 0;
    }
    if (!v) return 0;
    switch (enc & 0x70) {
    case 0: break;
    case ENC_PCREL: v += at; break;
    case ENC_DATAREL: v += c->im->eh_hdr; break;
    default: c->bad = true;
    }
    return v;
}

struct cie { unsigned fde_enc, lsda_enc; bool augmented, signal; };

static bool read_cie(const struct gate_image *im, uint64_t addr, struct cie *out)
{
    struct cursor c = {im, addr, false};
    *out = (struct cie){ENC_ABS, ENC_OMIT, false, false};
    uint64_t len = get(&c, 4);
    if (len == 0xffffffff || get(&c, 4) != 0) return false;
    unsigned version = (unsigned)get(&c, 1);
    uint64_t aug = c.at;
    while (get(&c, 1) && !c.bad) ;
    get_leb(&c, false);
    get_leb(&c, true);
    if (version == 1) get(&c, 1);
    else get_leb(&c, false);
    struct cursor a = {im, aug, false};
    for (unsigned ch = (unsigned)get(&a, 1); ch && !a.bad; ch = (unsigned)get(&a, 1))
        switch (ch) {
        case 'z': out->augmented = true; get_leb(&c, false); break;
        case 'R': out->fde_enc = (unsigned)get(&c, 1); break;
        case 'L': out->lsda_enc = (unsigned)get(&c, 1); break;
        case 'P': { unsigned e = (unsigned)get(&c, 1); get_pointer(&c, e & ~(unsigned)ENC_INDIRECT); break; }
        case 'S': out->signal = true; break;
        case 'B': break;
        default: return false;
        }
    return !c.bad && !a.bad;
}

static bool read_fde(const struct gate_image *im, uint64_t addr, struct gate_fde *out)
{
    struct cursor c = {im, addr, false};
    struct cie cie;
    uint64_t len = get(&c, 4), id_at = c.at, id = get(&c, 4);
    if (c.bad || len == 0xffffffff || !id || !read_cie(im, id_at - id, &cie)) return false;
    out->start = get_pointer(&c, cie.fde_enc);
    out->end = out->start + get_pointer(&c, cie.fde_enc & 0x0f);
    out->signal = cie.signal;
    out->lsda = 0;
    if (cie.augmented) {
        get_leb(&c, false);
        out->lsda = get_pointer(&c, cie.lsda_enc);
    }
    return !c.bad && out->end > out->start;
}

/* The search table: pairs of (start, FDE), both relative to eh_hdr, ascending.  Null: none or
 * unreadable. */
static const int32_t *search_table(const struct gate_image *im, uint64_t *n)
{
    if (!im->eh_hdr) return NULL;
    struct cursor c = {im, im->eh_hdr, false};
    if (get(&c, 1) != 1) return NULL;
    unsigned ptr_enc = (unsigned)get(&c, 1), count_enc = (unsigned)get(&c, 1), table_enc = (unsigned)get(&c, 1);
    get_pointer(&c, ptr_enc);
    *n = get_pointer(&c, count_enc);
    if (c.bad || !*n || table_enc != (ENC_DATAREL | ENC_S4) || *n > UINT32_MAX) return NULL;
    return (const void *)gate_at(im, c.at, *n * 8);
}

/* The FDE with the greatest start <= pc; *next: where the one after it starts, 0 = it is the
 * last. */
static bool fde_below(const struct gate_image *im, uint64_t pc, struct gate_fde *out, uint64_t *next)
{
    uint64_t n;
    const int32_t *table = search_table(im, &n);
    int64_t want = (int64_t)(pc - im->eh_hdr);
    if (!table || table[0] > want) return false;
    uint64_t lo = 0, hi = n;            /* table[lo] <= want < table[hi] */
    while (hi - lo > 1) {
        uint64_t mid = lo + (hi - lo) / 2;
        if (table[2 * mid] <= want) lo = mid;
        else hi = mid;
    }
    *next = hi < n ? im->eh_hdr + (uint64_t)(int64_t)table[2 * hi] : 0;
    return read_fde(im, im->eh_hdr + (uint64_t)(int64_t)table[2 * lo + 1], out);
}

bool gate_fde_find(const struct gate_image *im, uint64_t pc, struct gate_fde *out)
{
    uint64_t next;
    return fde_below(im, pc, out, &next) && pc >= out->start && pc < out->end;
}

bool gate_fde_before(const struct gate_image *im, uint64_t pc, struct gate_fde *out)
{
    uint64_t next;
    if (!fde_below(im, pc, out, &next) || out->end != pc || !next) return false;
    out->end = next;
    return true;
}

bool gate_landing_pads(const struct gate_image *im, const struct gate_fde *f, void (*fn)(uint64_t, void *), void *arg)
{
    if (!f->lsda) return true;
    struct cursor c = {im, f->lsda, false};
    unsigned enc = (unsigned)get(&c, 1);
    uint64_t base = enc == ENC_OMIT ? f->start : get_pointer(&c, enc);
    enc = (unsigned)get(&c, 1);
    if (enc != ENC_OMIT) get_leb(&c, false);
    enc = (unsigned)get(&c, 1);
    uint64_t len = get_leb(&c, false), end = c.at + len;
    while (c.at < end && !c.bad) {
        get_pointer(&c, enc);
        get_pointer(&c, enc);
        uint64_t pad = get_pointer(&c, enc);
        get_leb(&c, false);
        if (pad && !c.bad) fn(base + pad, arg);
    }
    return !c.bad;
}
