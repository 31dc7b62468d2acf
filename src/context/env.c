/* src/context/env.c - see env.h.  SPDX-License-Identifier: Apache-2.0
 *
 * A new value takes the place of the old one in the array; a new variable, or one that is taken
 * out, makes a new array.  Threads that walk through an old array, or keep a string of it, go on:
 * what has been replaced is kept until the context ends, as libc does. */
#include "context/env.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct kept { struct kept *next; };     /* before each block */

static pthread_mutex_t changing = PTHREAD_MUTEX_INITIALIZER;

void env_before_fork(void) { pthread_mutex_lock(&changing); }
void env_after_fork(void) { pthread_mutex_unlock(&changing); }

static void *keep(struct usf_context *c, size_t size)
{
    struct kept *k = malloc(sizeof *k + size);
    if (!k) return 0;
    k->next = c->environment_lists;
    c->environment_lists = k;
    return k + 1;
}

static size_t length(char **env)
{
    size_t n = 0;
    while (env && env[n]) n++;
    return n;
}

static char **find(char **env, const char *name, size_t len)
{
    for (; env && *env; env++)
        if (strncmp(*env, name, len) == 0 && (*env)[len] == '=') return env;
    return 0;
}

/* A library may have given `environ` an array of its own, or null. */
static char **array(const struct usf_context *c)
{
    char ***shims = atomic_load_explicit(&c->shim_environment, memory_order_acquire);
    return shims ? __atomic_load_n(shims, __ATOMIC_ACQUIRE) : atomic_load_explicit(&c->environment, memory_order_acquire);
}

static void publish(struct usf_context *c, char **env)
{
    char ***shims = atomic_load(&c->shim_environment);
    atomic_store_explicit(&c->environment, env, memory_order_release);
    if (shims) __atomic_store_n(shims, env, __ATOMIC_RELEASE);
}

const char *env_get(struct usf_context *c, const char *name)
{
    size_t len = strlen(name);
    char **at = find(array(c), name, len);
    return at ? *at + len + 1 : 0;
}


/* holds `changing`.  text: "NAME=VALUE", or null: NAME is taken out. */
static int replace(struct usf_context *c, const char *name, size_t len, char *text)
{
    char **old = array(c), **at = find(old, name, len);
    size_t n = length(old), out = 0;
    if (!at && !text) return 0;
    if (at && text) {
        __atomic_store_n(at, text, __ATOMIC_RELEASE);
        return 0;
    }
    char **env = keep(c, (n + 2) * sizeof *env);
    if (!env) return ENOMEM;
    for (size_t i = 0; i < n; i++)
        if (&old[i] != at) env[out++] = old[i];
    if (text) env[out++] = text;
    env[out] = 0;
    publish(c, env);
    return 0;
}

int env_set(struct usf_context *c, const char *name, const char *value, bool overwrite)
{
    size_t len = strlen(name);
    if (!len || strchr(name, '=')) return EINVAL;
    pthread_mutex_lock(&changing);
    int r = 0;
    const char *now = env_get(c, name);
    if (!value) {
        r = replace(c, name, len, 0);
    } else if (!now || (overwrite && strcmp(now, value) != 0)) {
        size_t size = strlen(value) + 1;
        char *text = keep(c, len + 1 + size);
        if (text) {
            memcpy(text, name, len);
            text[len] = '=';
            memcpy(text + len + 1, value, size);
        }
        r = text ? replace(c, name, len, text) : ENOMEM;
    }
    pthread_mutex_unlock(&changing);
    return r;
}

int env_clear(struct usf_context *c)
{
    pthread_mutex_lock(&changing);
    char **env = keep(c, sizeof *env);
    if (env) {
        *env = 0;
        publish(c, env);
    }
    pthread_mutex_unlock(&changing);
    return env ? 0 : ENOMEM;
}

static int copy_all(struct usf_context *c, char **from)
{
    size_t n = length(from);
    char **env = keep(c, (n + 1) * sizeof *env);
    for (size_t i = 0; env && i < n; i++) {
        size_t size = strlen(from[i]) + 1;
        if (!(env[i] = keep(c, size))) return ENOMEM;
        memcpy(env[i], from[i], size);
    }
    if (!env) return ENOMEM;
    env[n] = 0;
    atomic_store(&c->environment, env);
    return 0;
}

int env_make(struct usf_context *c, const char *const *changes)
{
    int r = copy_all(c, environ);
    for (; !r && changes && *changes; changes++) {
        const char *value = strchr(*changes, '=');
        char *name = strndup(*changes, value ? (size_t)(value - *changes) : strlen(*changes));
        r = name ? env_set(c, name, value ? value + 1 : 0, true) : ENOMEM;
        free(name);
    }
    return r == EINVAL ? context_fail(EINVAL, "environment: '%s' is neither NAME=VALUE nor NAME", *(changes - 1)) : r ? context_fail(r, "out of memory") : 0;
}

void env_free(struct usf_context *c)
{
    for (struct kept *k = c->environment_lists, *next; k; k = next) {
        next = k->next;
        free(k);
    }
}

/* ---- usf/context.h -------------------------------------------------------------------------------- */

CONTEXT_API const char *usf_context_getenv(usf_context_t *c, const char *name) { return c && name ? env_get(c, name) : 0; }

CONTEXT_API int usf_context_setenv(usf_context_t *c, const char *name, const char *value, int overwrite)
{
    int r = c && name && value ? env_set(c, name, value, overwrite) : EINVAL;
    return r ? context_fail(r, "the variable '%s' cannot be set: %s", name ? name : "", strerror(r)) : 0;
}

CONTEXT_API int usf_context_unsetenv(usf_context_t *c, const char *name)
{
    int r = c && name ? env_set(c, name, 0, true) : EINVAL;
    return r ? context_fail(r, "the variable '%s' cannot be unset: %s", name ? name : "", strerror(r)) : 0;
}
