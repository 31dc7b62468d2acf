/* src/teams/find.c - is an object an OpenMP runtime, and where are its functions?
 * SPDX-License-Identifier: Apache-2.0 */
#include "teams/internal.h"

#include "gate/scan.h"

#include <string.h>

static const struct { const char *name; enum teams_role role; } hooked[] = {
    {"GOMP_parallel", TEAMS_REGION}, {"GOMP_parallel_start", TEAMS_REGION}, {"GOMP_parallel_sections", TEAMS_REGION},
    {"GOMP_parallel_sections_start", TEAMS_REGION}, {"GOMP_parallel_reductions", TEAMS_REGION},
    {"GOMP_parallel_loop_static", TEAMS_REGION}, {"GOMP_parallel_loop_dynamic", TEAMS_REGION},
    {"GOMP_parallel_loop_guided", TEAMS_REGION}, {"GOMP_parallel_loop_runtime", TEAMS_REGION},
    {"GOMP_parallel_loop_nonmonotonic_dynamic", TEAMS_REGION}, {"GOMP_parallel_loop_nonmonotonic_guided", TEAMS_REGION},
    {"GOMP_parallel_loop_nonmonotonic_runtime", TEAMS_REGION}, {"GOMP_parallel_loop_maybe_nonmonotonic_runtime", TEAMS_REGION},
    {"GOMP_parallel_loop_static_start", TEAMS_REGION}, {"GOMP_parallel_loop_dynamic_start", TEAMS_REGION},
    {"GOMP_parallel_loop_guided_start", TEAMS_REGION}, {"GOMP_parallel_loop_runtime_start", TEAMS_REGION},
    {"__kmpc_fork_call", TEAMS_FORK}, {"__kmpc_push_num_threads", TEAMS_PUSH}, {"__kmpc_push_num_threads_strict", TEAMS_PUSH},
    {"__kmpc_push_num_threads_list", TEAMS_PUSH_LIST}, {"__kmpc_push_num_threads_list_strict", TEAMS_PUSH_LIST},
    {"__kmpc_serialized_parallel", TEAMS_SERIAL},
    {"omp_set_num_threads", TEAMS_SET_SIZE}, {"omp_set_num_threads_", TEAMS_SET_SIZE}, {"omp_set_num_threads_8_", TEAMS_SET_SIZE},
    {"omp_set_dynamic", TEAMS_SET_DYNAMIC}, {"omp_set_dynamic_", TEAMS_SET_DYNAMIC_4}, {"omp_set_dynamic_8_", TEAMS_SET_DYNAMIC_8},
    {"kmp_set_defaults", TEAMS_SET_ANY}, {"omp_get_max_threads", TEAMS_MAX}, {"omp_get_max_threads_", TEAMS_MAX},
};
static const char *const called[TEAMS_CALLS] = {
    [TEAMS_GET_LEVEL] = "omp_get_level", [TEAMS_GET_DYNAMIC] = "omp_get_dynamic", [TEAMS_GET_TEAMS] = "omp_get_num_teams",
    [TEAMS_GET_LIMIT] = "omp_get_thread_limit", [TEAMS_GTID] = "__kmpc_global_thread_num",
};

/* Names may stand for one function. */
static void add(struct teams_found *f, uint64_t at, enum teams_role role)
{
    for (unsigned i = 0; i < f->nr; i++)
        if (f->hook[i].at == at) return;
    if (f->nr == TEAMS_MAX_HOOKS) return;
    f->hook[f->nr].at = at;
    f->hook[f->nr++].role = role;
}

/* Tools that stand before a runtime have the beginnings of regions alone; they pass them on to
 * it. */
bool teams_find(const struct gate_image *im, uintptr_t base, struct teams_found *f)
{
    struct gate_symbols s;
    uint32_t at = 0;
    memset(f, 0, sizeof *f);
    if (!gate_symbols_find(im, base, &s)) return false;
    bool gomp = gate_symbols_function(&s, "GOMP_parallel", &at);
    at = 0;
    if (!gate_symbols_function(&s, "__kmpc_fork_call", &at) && !gomp) return false;
    bool kmp = at;
    for (unsigned i = 0; i < TEAMS_CALLS; i++) {
        at = 0;
        f->call[i] = gate_symbols_function(&s, called[i], &at);
        if (!f->call[i] && i < TEAMS_OPTIONAL) return false;
    }
    bool sets = false;
    for (unsigned i = 0; i < sizeof hooked / sizeof *hooked; i++) {
        uint64_t v;
        for (at = 0; (v = gate_symbols_function(&s, hooked[i].name, &at));) {
            if (hooked[i].role == TEAMS_MAX && !f->max) f->max = v;
            if (!strcmp(hooked[i].name, "__kmpc_push_num_threads") && !f->push) f->push = v;    /* (others take more arguments) */
            if (hooked[i].role == TEAMS_SET_SIZE) sets = true;
            add(f, v, hooked[i].role);
        }
    }
    return f->max && sets && (!kmp || (f->push && f->call[TEAMS_GTID]));
}

/* ---- offline -------------------------------------------------------------------------------------- */

/* A function of that name in a file's full symbol table. */
static bool has_symbol(const uint8_t *image, size_t size, const char *name)
{
    const Elf64_Ehdr *h = (const void *)image;
    if (h->e_shentsize != sizeof(Elf64_Shdr) || h->e_shoff > size || h->e_shoff % 8 || h->e_shnum > (size - h->e_shoff) / sizeof(Elf64_Shdr))
        return false;
    const Elf64_Shdr *sh = (const void *)(image + h->e_shoff);
    for (unsigned i = 0; i < h->e_shnum; i++) {
        if (sh[i].sh_type != SHT_SYMTAB || sh[i].sh_link >= h->e_shnum || sh[i].sh_offset % 8) continue;
        const Elf64_Shdr *str = &sh[sh[i].sh_link];
        if (sh[i].sh_offset > size || sh[i].sh_size > size - sh[i].sh_offset || str->sh_offset > size || str->sh_size > size - str->sh_offset)
            return false;
        const Elf64_Sym *y = (const void *)(image + sh[i].sh_offset);
        for (uint64_t k = 0; k < sh[i].sh_size / sizeof *y; k++) {
            size_t n = strlen(name) + 1;
            if (ELF64_ST_TYPE(y[k].st_info) == STT_FUNC && y[k].st_shndx != SHN_UNDEF && y[k].st_name < str->sh_size
                && n <= str->sh_size - y[k].st_name && !memcmp(image + str->sh_offset + y[k].st_name, name, n))
                return true;
        }
        return false;           /* a file has one */
    }
    return false;
}

int teams_scan_image(const void *image, size_t size, const char **why, bool *hidden)
{
    struct gate_image im;
    struct teams_found f;
    *hidden = false;
    if (gate_image_from_file(&im, image, size)) return 0;
    if (!teams_find(&im, 0, &f)) {
        *hidden = has_symbol(image, size, "GOMP_parallel") || has_symbol(image, size, "__kmpc_fork_call");
        return 0;
    }
    for (unsigned i = 0; i < f.nr; i++)
        if ((*why = gate_hook_refuses(&im, f.hook[i].at))) return -1;
    return (int)f.nr;
}
