/* tests/spin/loops.c - loops that wait (yes_*) and loops that do not (no_*).  SPDX-License-Identifier: Apache-2.0
 * Compiled by several compilers at several levels; recognise.c looks at each function of the result. */
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <x86intrin.h>

#define NOPS __asm__ volatile("nop; nop; nop; nop; nop; nop; nop; nop")
typedef volatile int vint;
struct list { struct list *next; long key; };
struct obj { long pad; vint flag; struct obj *volatile other; volatile uint64_t word; };
void external(void);
int answer(int);
static _Thread_local __attribute__((tls_model("initial-exec"))) vint tls_flag;
vint global_flag;
static atomic_long global_word;

/* ---- waits ------------------------------------------------------------------------------------ */
void yes_flag(vint *f) { while (!*f) { } }
void yes_flag_pause(vint *f) { while (!*f) _mm_pause(); }
void yes_flag_nops(vint *f) { while (!*f) NOPS; }
void yes_byte(volatile char *f) { while (!*f) { } }
void yes_short(volatile short *f) { while (*f != 7) { } }
void yes_long(volatile uint64_t *f, uint64_t v) { while (*f != v) _mm_pause(); }
void yes_less(volatile uint64_t *f, uint64_t v) { while (*f < v) _mm_pause(); }
void yes_bit(volatile unsigned *f) { while (*f & 0x10) _mm_pause(); }
void yes_field(struct obj *o) { while (!o->flag) { } }
void yes_element(vint *f, long i) { while (!f[i * 16]) _mm_pause(); }
void yes_global(void) { while (!global_flag) { } }
void yes_tls(void) { while (!tls_flag) _mm_pause(); }
void yes_reload_pointer(struct obj *o) { while (!o->other->flag) _mm_pause(); }
void yes_two(vint *a, vint *b) { while (!*a && !*b) _mm_pause(); }
void yes_both(vint *a, vint *b) { while (!*a || !*b) _mm_pause(); }
void yes_compare_two(volatile long *a, volatile long *b) { while (*a != *b) { } }
void yes_acquire(atomic_int *f) { while (!atomic_load_explicit(f, memory_order_acquire)) { } }
void yes_double(volatile double *d) { while (*d == 0.0) { } }
int  yes_counts_rounds(vint *f) { int n = 0; while (!*f) n++; return n; }
int  yes_bounded(vint *f, int n) { for (int i = 0; i < n; i++) { if (*f) return 1; _mm_pause(); } return 0; }
int  yes_bounded_down(vint *f, unsigned n) { while (n--) { if (*f) return 1; _mm_pause(); } return 0; }
int  yes_bounded_reload(vint *f, volatile long *n) { for (long i = 0; i < *n; i++) { if (*f) return 1; _mm_pause(); } return 0; }
int  yes_timeout(vint *f, unsigned long t) { while (!*f) { if (__rdtsc() > t) return 0; _mm_pause(); } return 1; }
int  yes_server(volatile uint64_t *q, volatile unsigned *timeout)
{
    unsigned t = (unsigned)__rdtsc();
    while (*q < 2) { NOPS; if ((unsigned)__rdtsc() - t > *timeout) return 0; }
    return 1;
}
void yes_xchg(atomic_int *l) { while (atomic_exchange(l, 1)) _mm_pause(); }
void yes_xchg_bare(atomic_int *l) { while (atomic_exchange(l, 1)) { } }
void yes_ttas(atomic_int *l)
{
    for (;;) {
        if (!atomic_exchange(l, 1)) return;
        while (atomic_load_explicit(l, memory_order_relaxed)) _mm_pause();
    }
}
void yes_cas_lock(atomic_int *l)
{
    for (;;) {
        int expect = 0;
        if (atomic_compare_exchange_weak(l, &expect, 1)) return;
        _mm_pause();
    }
}
void yes_test_and_set(atomic_flag *l) { while (atomic_flag_test_and_set(l)) _mm_pause(); }
void yes_backoff(atomic_int *l)
{
    for (unsigned wait = 1; atomic_exchange(l, 1);) {
        for (unsigned i = 0; i < wait; i++) _mm_pause();
        wait = wait < 1024 ? wait * 2 : 1024;
    }
}
void yes_delay(vint *f) { while (!*f) for (int i = 0; i < 50; i++) _mm_pause(); }
void yes_ticket(atomic_uint *next, volatile unsigned *serving)
{
    unsigned mine = atomic_fetch_add(next, 1);
    while (*serving != mine) _mm_pause();
}
void yes_ticket_proportional(atomic_uint *next, volatile unsigned *serving)
{
    unsigned mine = atomic_fetch_add(next, 1), now;
    while ((now = *serving) != mine)
        for (unsigned i = (mine - now) * 8; i; i--) _mm_pause();
}
void yes_barrier(atomic_int *arrived, volatile int *sense, int n)
{
    int old = *sense;
    if (atomic_fetch_add(arrived, 1) + 1 == n) { atomic_store(arrived, 0); *sense = !old; }
    else while (*sense == old) { }
}
void yes_seqlock(atomic_uint *seq, volatile long *data, long *out)
{
    unsigned a, b;
    do {
        while ((a = atomic_load_explicit(seq, memory_order_acquire)) & 1) _mm_pause();
        *out = *data;
        atomic_thread_fence(memory_order_acquire);
        b = atomic_load_explicit(seq, memory_order_relaxed);
    } while (a != b);
}
void yes_mcs(_Atomic(vint *) *tail, vint *mine)
{
    *mine = 1;
    vint *before = atomic_exchange(tail, mine);
    if (before) while (*mine) _mm_pause();
}
void yes_read_lock(atomic_int *l)
{
    for (;;) {
        int v;
        while ((v = atomic_load(l)) < 0) _mm_pause();
        if (atomic_compare_exchange_strong(l, &v, v + 1)) return;
    }
}
void yes_each_in_turn(vint *f, int n)
{
    for (int i = 0; i < n; i++) while (!f[i]) NOPS;
}
void yes_each_listed(struct obj *o)
{
    for (; o; o = o->other) while (o->word) NOPS;
}
void yes_yields_rarely(vint *f)
{
    unsigned n = 1000;
    while (!*f) { _mm_pause(); if (!--n) { external(); n = 1000; } }
}
void yes_helps_when_told(vint *f, vint *work) { while (!*f) { if (*work) external(); } }
void yes_then_works(struct obj *o)      /* the wait is one loop of several */
{
    for (int i = 0; i < 10; i++) { while (o->flag != i) { } external(); }
}
void yes_scale(volatile uint64_t *base, volatile uint64_t *index)   /* the address is loaded each round */
{
    while (base[*index << 4]) NOPS;
}
long yes_scan(volatile uint64_t *slot, volatile long *slots)        /* until one is free */
{
    long i = 0;
    while (slot[i * 4]) { i++; if (i >= *slots - 1) { __asm__ volatile(""); i = 0; } }     /* a branch: no cmov */
    return i;
}
long yes_scan_again(volatile uint64_t *slot)
{
    for (;;)
        for (long i = 0; i < 8; i++) if (!slot[i * 4]) return i;
}
/* A consumer that changes its place only when it finds something; both ways end in the loop's condition. */
void yes_consumer(struct obj *volatile *place, vint *quit)
{
    struct obj *o = *place;
    while (!*quit) {
        struct obj *next = o->other;
        if (!next) continue;
        o = next;
        answer(o->flag);
    }
}
void yes_ring(volatile uint64_t *ring, uint64_t mask, vint *quit)
{
    uint64_t head = 0;
    while (!*quit) {
        if (ring[head & mask] != head + 1) continue;
        answer((int)head);
        head++;
    }
}
void yes_serves_slots(volatile uint64_t *slot, vint *quit)
{
    while (!*quit)
        for (long i = 0; i < 8; i++) if (slot[i * 4]) answer((int)i);
}
void yes_serves_slots_for_ever(volatile uint64_t *slot)
{
    for (;;)
        for (long i = 0; i < 8; i++) if (slot[i * 4]) answer((int)i);
}
int  yes_rounds_then_helps(vint *f, vint *help)
{
    for (int n = 0;; n++) { if (*f) return n; if (*help) { external(); n = 0; } }
}
void yes_fence(vint *f) { while (!*f) atomic_thread_fence(memory_order_seq_cst); }
void yes_random_backoff(vint *f)
{
    uint32_t x = 12345;
    while (!*f) {
        x = x * 1103515245u + 12345u;
        for (uint32_t i = x >> 27; i; i--) _mm_pause();
    }
}
int yes_local(void)      /* the flag is in our frame, others know its address */
{
    vint done = 0;
    answer((int)(intptr_t)&done);
    while (!done) { }
    return done;
}

/* ---- not waits -------------------------------------------------------------------------------- */
size_t no_strlen(const volatile char *s) { size_t n = 0; while (s[n]) n++; return n; }
const volatile char *no_memchr(const volatile char *s, char c, size_t n)
{ for (; n--; s++) if (*s == c) return s; return NULL; }
int no_strcmp(const volatile char *a, const volatile char *b)
{ while (*a && *a == *b) { a++; b++; } return *a - *b; }
struct list *no_list_find(struct list *l, long key) { while (l && l->key != key) l = l->next; return l; }
long no_list_length(struct list *l) { long n = 0; while (l) { n++; l = l->next; } return n; }
long no_sum(const volatile long *p, long n) { long s = 0; for (long i = 0; i < n; i++) s += p[i]; return s; }
uint32_t no_hash(const uint8_t *p, long n) { uint32_t h = 5381; for (long i = 0; i < n; i++) h = h * 33 ^ p[i]; return h; }
uint64_t no_hash_cancel(vint *cancel, long n)
{ uint64_t h = 1; for (long i = 0; i < n; i++) { if (*cancel) break; h = h * 31 + (uint64_t)i; } return h; }
long no_search(const volatile long *p, long key) { long i = 0; while (p[i] != key) i++; return i; }
void no_store(vint *f, vint *g) { while (!*f) *g = 1; }
void no_store_count(vint *f, volatile long *n) { while (!*f) (*n)++; }
void no_atomic_count(vint *f) { while (!*f) atomic_fetch_add(&global_word, 1); }
void no_call(vint *f) { while (!*f) external(); }
int  no_call_result(int x) { while (answer(x)) { } return x; }
void no_indirect(vint *f, void (*fn)(void)) { while (!*f) fn(); }
uint64_t no_lcg(vint *stop) { uint64_t x = 1; while (!*stop) x = x * 6364136223846793005ull + 1442695040888963407ull; return x; }
uint64_t no_xorshift(vint *stop) { uint64_t x = 88172645463325252ull; while (!*stop) { x ^= x << 13; x ^= x >> 7; x ^= x << 17; } return x; }
double no_float(vint *stop) { double x = 1; while (!*stop) x = x * 1.0000001 + 0.5; return x; }
uint64_t no_fibonacci(vint *stop) { uint64_t a = 0, b = 1; while (!*stop) { uint64_t t = a + b; a = b; b = t; } return a; }
uint64_t no_same_sum(volatile uint64_t *p, vint *stop) { uint64_t s = 0; while (!*stop) s += *p; return s; }
void no_delay(int n) { for (int i = 0; i < n; i++) _mm_pause(); }
void no_delay_nops(volatile int n) { while (n--) NOPS; }
void no_tsc_delay(unsigned long t) { while (__rdtsc() < t) _mm_pause(); }
void no_cas_add(atomic_long *p, long v)
{ long o = atomic_load(p); while (!atomic_compare_exchange_weak(p, &o, o + v)) { } }
void no_cas_max(atomic_long *p, long v)
{ long o = atomic_load(p); while (o < v && !atomic_compare_exchange_weak(p, &o, v)) { } }
void no_cas_push(_Atomic(struct list *) *head, struct list *l)
{ l->next = atomic_load(head); while (!atomic_compare_exchange_weak(head, &l->next, l)) { } }
unsigned no_gcd(unsigned a, unsigned b) { while (b) { unsigned t = a % b; a = b; b = t; } return a; }
int no_popcount(uint64_t x) { int n = 0; for (; x; x &= x - 1) n++; return n; }
long no_bisect(const volatile long *p, long n, long key)
{ long a = 0, b = n; while (a < b) { long m = (a + b) / 2; if (p[m] < key) a = m + 1; else b = m; } return a; }
void no_copy(volatile char *d, const volatile char *s, long n) { while (n--) *d++ = *s++; }
void no_fill(volatile long *d, long n) { for (long i = 0; i < n; i++) d[i] = i; }
int  no_collatz(uint64_t n) { int k = 0; while (n != 1) { n = n & 1 ? 3 * n + 1 : n / 2; k++; } return k; }
int  no_mandelbrot(double cr, double ci)
{ double r = 0, i = 0; int n = 0; while (r * r + i * i < 4 && n++ < 1000) { double t = r * r - i * i + cr; i = 2 * r * i + ci; r = t; } return n; }
uint32_t no_crc(const volatile uint8_t *p, vint *more) { uint32_t c = ~0u; while (*more) { c ^= *p; for (int k = 0; k < 8; k++) c = c >> 1 ^ (0xedb88320u & -(c & 1)); } return c; }
long no_ring(const volatile long *ring, long mask, long i) { while (!ring[i & mask]) i++; return i; }
long no_scan_on(const volatile long *p, long n)      /* rows, each from its start */
{
    for (;; p += n)
        for (long i = 0; i < n; i++) if (p[i]) return p[i];
}
long no_scan_sum(const volatile long *p, long n)
{
    long s = 0;
    for (;;) {
        for (long i = 0; i < n; i++) s += p[i];
        if (s > 1000) return s;
    }
}
/* Walks with a path on which nothing changes but the place. */
struct entry { uint64_t a, b, c; unsigned low, high; };
struct entries { uint64_t nr, room; struct entry *at; };
void no_filter(struct entries *from, struct entries *to, uint64_t *limit, vint *mode, uint64_t bits)
{
    for (uint64_t i = 0; i < from->nr; i++) {
        struct entry *e = &from->at[i];
        if (*mode != -1 && answer(*mode)) { external(); to->nr--; }
        if (*limit) continue;
        if (to->nr && to->at[to->nr - 1].high <= bits) continue;
        to->at[to->nr++] = (struct entry){ e->a, e->b, e->c | bits, e->low, e->high };
    }
}
struct request { volatile int flag; int kind; volatile long arg, result; char pad[40]; };
void yes_serves_until_told(struct request *r, int n)
{
    long sum = 0;
    for (;;) {
        for (int i = 0; i < n; i++) {
            if (!r[i].flag) continue;
            if (r[i].kind == 7) return;
            sum += r[i].arg;
            r[i].result = sum;
            r[i].flag = 0;
        }
        __builtin_ia32_pause();
    }
}
struct stack { volatile long top; char pad[56]; volatile long bottom; char pad2[56]; void *volatile *items; char pad3[56]; };
void *yes_steals_and_counts(struct stack *d, int n, long *fails)
{
    for (;;) {
        for (int v = 0; v < n; v++) {
            long t = d[v].top, b = d[v].bottom;
            if (t >= b) continue;
            void *x = d[v].items[t];
            if (__sync_bool_compare_and_swap(&d[v].top, t, t + 1)) return x;
            ++*fails;
        }
        __builtin_ia32_pause();
    }
}
int yes_says_whether(volatile long *f)
{
    int got;
    do {
        got = 0;
        if (*f) { *f = 0; got = 1; }
    } while (!got);
    return 0;
}
void yes_consumes_ring(volatile int *ring, int size, vint *quit)
{
    int i = 0;
    do {
        if (ring[i] == 1) { answer(i); ring[i] = 0; i = (i + 1) & (size - 1); } else __builtin_ia32_pause();
    } while (!*quit);
}
struct link { struct link *volatile next; volatile long key; };
void yes_follows_list(struct link *o, vint *quit)
{
    while (!*quit) {
        struct link *n = o->next;
        if (n) { o = n; answer((int)o->key); }
    }
}
struct shape { uintptr_t kind; struct shape *parent; unsigned bits; struct shape *none; };
static struct shape *volatile root_shape;
const struct shape *no_owner(const struct shape *m, const struct shape *end, int field)
{
    for (;;) {
        const struct shape *p = m->parent, *root = root_shape;
        if (!((uintptr_t)p & 1) || p->kind != root->kind) p = root->none;
        if (p == end || (int)(p->bits >> 10 & 1023) <= field) return m;
        m = p;
    }
}
struct bucket { int valid; const void *key; uint64_t size; void *value; };
void *no_probe(const struct bucket *table, uint64_t nr, const void *key, uint64_t size, uint64_t hash,
               int (*differ)(const void *, const void *, uint64_t))
{
    for (uint64_t i = hash % nr;; i++) {
        if (i == nr) i = 0;
        if (!table[i].valid) return NULL;
        if (table[i].size == size && !differ(table[i].key, key, size)) return table[i].value;
    }
}
void no_comb_sort(volatile unsigned *from, uint64_t n)
{
    uint64_t gap = n;
    bool swapped;
    do {
        if (gap > 2) { gap = gap * 10 / 13; if (gap == 9 || gap == 10) gap = 11; }
        swapped = false;
        for (volatile unsigned *p = from; p < from + n - gap; p++) {
            unsigned a = *p, b = p[gap];
            if (b < a) { *p = b; p[gap] = a; swapped = true; }
        }
    } while (swapped || gap > 2);
}
void no_two_halves(volatile int *nr, const volatile int *from, volatile int *to)
{
    for (int side = 0; side < 2; side++) {
        int n = nr[side];
        for (int i = 0; i < n; i++) to[side * 64 + i] = from[i] | side;
    }
}
int no_mask_walk(const unsigned long *mask, unsigned long bits, volatile unsigned long *count, unsigned long most)
{
    for (unsigned long i = 0; i < bits && *count < most; i++)
        if (mask[i / 64] >> i % 64 & 1) answer((int)i);
    return 0;
}
void no_system_call(vint *f)
{
    long r;
    do __asm__ volatile("syscall" : "=a"(r) : "0"(39) : "rcx", "r11", "memory"); while (r != *f);
}
int no_string(const char *a, const char *b, long n)
{
    unsigned char ne;
    do __asm__ volatile("repe cmpsb; setne %0" : "=q"(ne), "+S"(a), "+D"(b), "+c"(n) : : "memory", "cc"); while (!ne && n);
    return ne;
}
