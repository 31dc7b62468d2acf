/* src/context/python.h - what the Python package `usf` calls beside usf/context.h.  SPDX-License-Identifier: Apache-2.0 */
#ifndef USF_CONTEXT_PYTHON_H
#define USF_CONTEXT_PYTHON_H

#include "context/context.h"

struct shim_python_calls;
extern const struct shim_python_calls python_calls;

/* The context's modules, builtins and interpreter state: dictionaries that the caller keeps for ever. */
int usf_context_python(usf_context_t *c, void *modules_dict, void *builtins_dict, void *state_dict);
/* The context whose extension module has asked the interpreter for a module, in this thread, and waits for it; or null. */
usf_context_t *usf_context_python_caller(void);

#endif
