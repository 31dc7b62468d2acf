/* src/context/env.h - a context's environment.  SPDX-License-Identifier: Apache-2.0 */
#ifndef USF_CONTEXT_ENV_H
#define USF_CONTEXT_ENV_H

#include "context/context.h"

/* The program's, with these changes.  0, or an errno value, said. */
int env_make(struct usf_context *c, const char *const *changes);
void env_free(struct usf_context *c);
const char *env_get(struct usf_context *c, const char *name);
/* value null: unset.  0, or an errno value. */
int env_set(struct usf_context *c, const char *name, const char *value, bool overwrite);
int env_clear(struct usf_context *c);
/* Around a fork; holds contexts.lock. */
void env_before_fork(void);
void env_after_fork(void);

#endif
