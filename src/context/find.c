/* src/context/find.c - libraries that contexts have already. 
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "context/context.h"

static bool has(const struct library *l, uintptr_t address)
{
    const struct elf *e = &l->image->elf;
    for (unsigned i = 0; l->map && i < e->eh->e_phnum; i++) {
        const Elf64_Phdr *p = &e->ph[i];
        if (p->p_type == PT_LOAD && address - l->map->l_addr - p->p_vaddr < p->p_memsz) return true;
    }
    return false;
}

struct library *find_address(const struct usf_context *c, const void *address)
{
    struct library *l = c->libraries;
    while (l && !has(l, (uintptr_t)address)) l = l->next;
    return l;
}

CONTEXT_API usf_context_t *usf_context_of(const void *address)
{
    struct usf_context *found = 0;
    pthread_mutex_lock(&contexts.lock);
    for (struct usf_context *c = contexts.first; c && !found; c = c->next)
        if (find_address(c, address)) found = c;
    pthread_mutex_unlock(&contexts.lock);
    return found;
}

CONTEXT_API void *usf_context_find(usf_context_t *c, const char *library)
{
    void *handle = 0;
    if (!c || !library) {
        context_fail(EINVAL, "no context, or no library's name");
        return 0;
    }
    char *path = strchr(library, '/') ? realpath(library, 0) : 0;
    pthread_mutex_lock(&contexts.lock);
    for (struct library *l = c->libraries; l && !handle; l = l->next)
        if (l->handle && (path ? strcmp(l->path, path) : strcmp(l->image->soname, library)) == 0) handle = l->handle;
    pthread_mutex_unlock(&contexts.lock);
    free(path);
    if (!handle) context_fail(ENOENT, "%s: it has not loaded %s", c->label, library);
    return handle;
}
