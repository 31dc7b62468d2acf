/* src/context/shim/python.c - Python's functions that find modules, for a context's extension
 * modules.  SPDX-License-Identifier: Apache-2.0
 *
 * An extension module of a context finds these before the interpreter's, so that it gets its own
 * context's modules, in whatever thread and context it is called.  Programs without Python do not
 * call them.  The rules of shim.c hold here. */
#include "context/shim/python.h"

#define SHIM __attribute__((visibility("default")))
#define CALL(name, ...) usf_shim_python->name(usf_shim_context, __VA_ARGS__)

extern SHIM struct usf_context *usf_shim_context;
/* Set once by libusf-context, before any code of the context's libraries runs. */
SHIM const struct shim_python_calls *usf_shim_python;

SHIM void *PyImport_Import(void *name) { return CALL(import, name); }
SHIM void *PyImport_ImportModule(const char *name) { return CALL(import_text, name); }
SHIM void *PyImport_ImportModuleNoBlock(const char *name) { return CALL(import_text, name); }
SHIM void *PyImport_ImportModuleLevelObject(void *name, void *globals, void *locals, void *fromlist, int level)
{ return CALL(import_level, name, globals, locals, fromlist, level); }
SHIM void *PyImport_ImportModuleLevel(const char *name, void *globals, void *locals, void *fromlist, int level)
{ return CALL(import_level_text, name, globals, locals, fromlist, level); }
SHIM void *PyImport_ReloadModule(void *module) { return CALL(reload, module); }
SHIM void *PyImport_AddModuleObject(void *name) { return CALL(add, name); }
SHIM void *PyImport_AddModule(const char *name) { return CALL(add_text, name); }
SHIM void *PyImport_AddModuleRef(const char *name) { return CALL(add_ref, name); }
SHIM void *PyImport_GetModule(void *name) { return CALL(get, name); }
SHIM void *PyImport_GetModuleDict(void) { return usf_shim_python->modules(usf_shim_context); }
SHIM void *PyCapsule_Import(const char *name, int no_block)
{
    (void)no_block;     /* has no effect since Python 3.3 */
    return CALL(capsule, name);
}
SHIM void *PyEval_GetBuiltins(void) { return usf_shim_python->builtins(usf_shim_context); }
SHIM void *PyEval_GetFrameBuiltins(void) { return usf_shim_python->frame_builtins(usf_shim_context); }
SHIM void *PyInterpreterState_GetDict(void *interpreter) { return CALL(state, interpreter); }
