/* src/context/python.h - what the Python package `usf` calls beside usf/context.h.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef USF_CONTEXT_PYTHON_H
#define USF_CONTEXT_PYTHON_H

#include "context/context.h"

struct shim_python_calls;
extern const struct shim_python_calls python_calls;

/* The context's modules, builtins and interpreter state: dictionaries that the caller keeps for
 * ever. */
int usf_context_python(usf_context_t *c, void *modules_dict, void *builtins_dict, void *state_dict);
/* The context whose extension module has asked the interpreter for a module, in this thread, and
 * waits for it; or null. */
usf_context_t *usf_context_python_caller(void);

/* Gives a class of Python whose objects have an attribute `_address`, an int (0: it was closed),
 * the methods __enter__ and __exit__.  late: is called in place of leaving, with the object, when
 * it is not what the thread has entered last, or usf_context_python_late has said so.  0, or -1
 * with an error of Python's. */
int usf_context_python_methods(void *type, void *late);
/* Contexts remain to be left in this thread, as soon as it gets to them: n of them. */
void usf_context_python_late(unsigned n);
/* As usf_context_enter and usf_context_leave; under `usf run` the thread changes its group as
 * well. */
int usf_context_python_enter(usf_context_t *c);
int usf_context_python_leave(void);
/* The globals of the code that has entered what this thread is in, to be compared by address; null:
 * not known. */
const void *usf_context_python_entered_by(void);
/* `with` refuses it from now on. */
void usf_context_python_close(usf_context_t *c);
/* The thread does something for the program: it is in no context until usf_context_python_back gets
 * the result. */
usf_context_t *usf_context_python_outside(void);
void usf_context_python_back(usf_context_t *c);

#endif
