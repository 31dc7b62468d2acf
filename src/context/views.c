/* src/context/views.c - files that tell of CPUs, as a context has them.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>

#include "context/view.h"

static bool add_list(const struct os_cpuset *cpus, struct text *out)
{
    char list[1024];
    int n = os_cpulist_format(cpus, list, sizeof list);
    return n >= 0 && (size_t)n < sizeof list && text_add(out, list, (size_t)n) && text_add(out, "\n", 1);
}

bool view_cpu_list(const struct view *v, const char *path, const char *real, struct text *out)
{
    (void)path, (void)real;
    return add_list(&v->cpus, out);
}

static uint32_t word_of(const struct os_cpuset *cpus, int i) { return (uint32_t)(cpus->w[i / 2] >> 32 * (i % 2)); }

/* 32 bits in each word, the highest first; at least `words` of them. */
static bool add_mask(const struct os_cpuset *cpus, int words, struct text *out)
{
    int n = OS_CPUSET_WORDS * 2;
    while (n > 1 && n > words && !word_of(cpus, n - 1)) n--;
    for (int i = n; i-- > 0;) {
        char word[16];
        int len = snprintf(word, sizeof word, i == n - 1 ? "%x" : "%08x", word_of(cpus, i));
        if (!text_add(out, word, (size_t)len) || !text_add(out, i ? "," : "\n", 1)) return false;
    }
    return true;
}

static bool parse_list(const char *real, struct os_cpuset *out)
{
    char list[1024];
    size_t bad, len = strcspn(real, "\n");
    if (len >= sizeof list) return false;
    memcpy(list, real, len);
    list[len] = 0;
    return len && os_cpulist_parse(list, out, &bad) == 0;
}

/* Words of 32 bits; their number, or 0: it is no mask. */
static int parse_mask(const char *real, struct os_cpuset *out)
{
    int words = 1;
    for (const char *p = real; *p && *p != '\n'; p++) words += *p == ',';
    *out = (struct os_cpuset){0};
    if (words > OS_CPUSET_WORDS * 2) return 0;
    for (int i = words; i-- > 0;) {
        char *end;
        out->w[i / 2] |= (uint64_t)(uint32_t)strtoul(real, &end, 16) << 32 * (i % 2);
        if (end == real || *end != (i ? ',' : '\n')) return 0;
        real = end + 1;
    }
    return words;
}

/* What of the real list, or mask, the context has; may be none of them. */
static bool list_part(const struct view *v, const char *real, bool may_be_none, struct text *out)
{
    struct os_cpuset cpus;
    if (!parse_list(real, &cpus)) return false;
    os_cpu_and(&cpus, &v->cpus);
    return (may_be_none || os_cpu_count(&cpus)) && add_list(&cpus, out);
}

static bool map_part(const struct view *v, const char *real, bool may_be_none, struct text *out)
{
    struct os_cpuset cpus;
    int words = parse_mask(real, &cpus);
    if (!words) return false;
    os_cpu_and(&cpus, &v->cpus);
    return (may_be_none || os_cpu_count(&cpus)) && add_mask(&cpus, words, out);
}

/* The CPUs of a NUMA node. */
bool view_node_list(const struct view *v, const char *path, const char *real, struct text *out) { return (void)path, list_part(v, real, true, out); }
bool view_node_map(const struct view *v, const char *path, const char *real, struct text *out) { return (void)path, map_part(v, real, true, out); }

/* CPUs that have something in common, as said in the folder of one of them or of a control group.
 * Where the context has none of them, the text is not about its CPUs, and stays. */
bool view_list_part(const struct view *v, const char *path, const char *real, struct text *out) { return (void)path, list_part(v, real, false, out); }
bool view_map_part(const struct view *v, const char *path, const char *real, struct text *out) { return (void)path, map_part(v, real, false, out); }

/* Paragraphs "processor : N". */
bool view_cpuinfo(const struct view *v, const char *path, const char *real, struct text *out)
{
    (void)path;
    while (*real) {
        const char *end = strstr(real, "\n\n"), *colon = strchr(real, ':');
        size_t len = end ? (size_t)(end + 2 - real) : strlen(real);
        bool is_cpu = strncmp(real, "processor", 9) == 0 && colon;
        if ((!is_cpu || os_cpu_isset(&v->cpus, (unsigned)strtoul(colon + 1, 0, 10))) && !text_add(out, real, len)) return false;
        real += len;
    }
    return true;
}

/* Lines "cpuN ...". */
bool view_stat(const struct view *v, const char *path, const char *real, struct text *out)
{
    (void)path;
    for (size_t len; *real; real += len) {
        len = text_line(real);
        bool is_cpu = strncmp(real, "cpu", 3) == 0 && real[3] >= '0' && real[3] <= '9';
        if ((!is_cpu || os_cpu_isset(&v->cpus, (unsigned)strtoul(real + 3, 0, 10))) && !text_add(out, real, len)) return false;
    }
    return true;
}

/* Of the calling thread; another's is the kernel's. */
bool view_status(const struct view *v, const char *path, const char *real, struct text *out)
{
    (void)path;
    for (size_t len; *real; real += len) {
        len = text_line(real);
        bool good = strncmp(real, "Cpus_allowed:\t", 14) == 0        ? text_add(out, real, 14) && add_mask(&v->cpus, 0, out)
                    : strncmp(real, "Cpus_allowed_list:\t", 19) == 0 ? text_add(out, real, 19) && add_list(&v->cpus, out)
                                                                      : text_add(out, real, len);
        if (!good) return false;
    }
    return true;
}
