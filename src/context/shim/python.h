/* src/context/shim/python.h - what the shim's Python functions call.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef USF_CONTEXT_SHIM_PYTHON_H
#define USF_CONTEXT_SHIM_PYTHON_H

struct usf_context;

/* Functions of libusf-context.  Each has the context of the calling library first; the rest and
 * results are as in CPython, with `void *` for its objects.  fromlist null, level 0: the module
 * itself is the result, not its topmost package (PyImport_Import). */
struct shim_python_calls {
    void *(*import)(struct usf_context *, void *name);
    void *(*import_text)(struct usf_context *, const char *name);
    void *(*import_level)(struct usf_context *, void *name, void *globals, void *locals, void *fromlist, int level);
    void *(*import_level_text)(struct usf_context *, const char *name, void *globals, void *locals, void *fromlist, int level);
    void *(*reload)(struct usf_context *, void *module);
    void *(*add)(struct usf_context *, void *name);
    void *(*add_text)(struct usf_context *, const char *name);
    void *(*add_ref)(struct usf_context *, const char *name);
    void *(*get)(struct usf_context *, void *name);
    void *(*modules)(struct usf_context *);
    void *(*capsule)(struct usf_context *, const char *name);
    void *(*builtins)(struct usf_context *);
    void *(*frame_builtins)(struct usf_context *);
    void *(*state)(struct usf_context *, void *interpreter);
};

#endif
