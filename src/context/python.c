/* src/context/python.c - modules of Python, as a context's extension modules find them.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The package `usf` gives each context three dictionaries.  Without them the interpreter's own
 * functions answer.  Its functions are found by name in the program at their first use: this
 * library is not linked against any Python.
 *
 * A call of an extension module concerns its own context, whatever the thread is in.  Such a call
 * is noted for the thread (called_by), because the interpreter asks the package for modules, and
 * frames of Python tell it less than the library that calls. */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "context/python.h"
#include "context/shim/python.h"
#include "usf/usf.h"

static __thread struct usf_context *called_by __attribute__((tls_model("initial-exec")));

/* ---- the interpreter's functions ------------------------------------------------------------------- */

static void *find(_Atomic(void *) *known, const char *name)
{
    void *f = atomic_load_explicit(known, memory_order_relaxed);
    if (!f) atomic_store_explicit(known, f = dlsym(RTLD_DEFAULT, name), memory_order_relaxed);
    return f;
}

/* Calls one of them; null where this Python has none of that name. */
#define REAL(result, name, types, args) ({ \
    static _Atomic(void *) known_; \
    result(*f_) types = (result(*) types)find(&known_, #name); \
    f_ ? f_ args : (result)0; \
})

static void *text(const char *name) { return REAL(void *, PyUnicode_FromString, (const char *), (name)); }
static void *drop(void *object)
{
    if (object) REAL(int, Py_DecRef, (void *), (object));
    return 0;
}
static void *keep(void *object)
{
    REAL(int, Py_IncRef, (void *), (object));
    return object;
}
static void *get_real(void *name) { return REAL(void *, PyImport_GetModule, (void *), (name)); }
static int has_error(void) { return REAL(void *, PyErr_Occurred, (void), ()) != 0; }

static void *fail(const char *kind, void *value)
{
    void **type = dlsym(RTLD_DEFAULT, kind);
    if (type && value) REAL(int, PyErr_SetObject, (void *, void *), (*type, value));
    return 0;
}

/* ---- a call ------------------------------------------------------------------------------------------ */

struct call { struct usf_context *inside, *by; };

static struct call begin(struct usf_context *c)
{
    struct call before = {context_current, called_by};
    if (!c->python.modules) return before;
    context_set(c);
    called_by = c;
    return before;
}

static void *end(struct call before, void *result)
{
    context_set(before.inside);
    called_by = before.by;
    return result;
}

#define IN(c, result) ({ struct call before_ = begin(c); end(before_, result); })

/* ---- what the shim calls ------------------------------------------------------------------------------ */

static void *level_real(void *name, void *globals, void *locals, void *fromlist, int level)
{ return REAL(void *, PyImport_ImportModuleLevelObject, (void *, void *, void *, void *, int), (name, globals, locals, fromlist, level)); }

/* PyImport_Import asks the `__import__` of the frame that is executed: it may be another context's.
 * The import itself gives the topmost package. */
static void *import_real(void *name)
{
    void *top = level_real(name, 0, 0, 0, 0);
    if (!top) return 0;
    drop(top);
    void *module = get_real(name);
    return module || has_error() ? module : fail("PyExc_KeyError", name);
}

static void *import(struct usf_context *c, void *name)
{ return c->python.modules ? IN(c, import_real(name)) : REAL(void *, PyImport_Import, (void *), (name)); }

static void *import_text(struct usf_context *c, const char *name)
{
    void *object = text(name), *module = object ? import(c, object) : 0;
    drop(object);
    return module;
}

static void *import_level(struct usf_context *c, void *name, void *globals, void *locals, void *fromlist, int level)
{ return IN(c, level_real(name, globals, locals, fromlist, level)); }

static void *import_level_text(struct usf_context *c, const char *name, void *globals, void *locals, void *fromlist, int level)
{
    void *object = text(name), *module = object ? import_level(c, object, globals, locals, fromlist, level) : 0;
    drop(object);
    return module;
}

static void *reload(struct usf_context *c, void *module) { return IN(c, REAL(void *, PyImport_ReloadModule, (void *), (module))); }
static void *add(struct usf_context *c, void *name) { return IN(c, REAL(void *, PyImport_AddModuleObject, (void *), (name))); }
static void *add_text(struct usf_context *c, const char *name) { return IN(c, REAL(void *, PyImport_AddModule, (const char *), (name))); }
static void *add_ref(struct usf_context *c, const char *name) { return IN(c, REAL(void *, PyImport_AddModuleRef, (const char *), (name))); }
static void *get(struct usf_context *c, void *name) { return IN(c, get_real(name)); }
static void *modules(struct usf_context *c) { return c->python.modules ? c->python.modules : REAL(void *, PyImport_GetModuleDict, (void), ()); }
static void *builtins(struct usf_context *c) { return c->python.builtins ? c->python.builtins : REAL(void *, PyEval_GetBuiltins, (void), ()); }

static void *frame_builtins(struct usf_context *c)
{
    if (!c->python.builtins) return REAL(void *, PyEval_GetFrameBuiltins, (void), ());
    REAL(int, Py_IncRef, (void *), (c->python.builtins));
    return c->python.builtins;
}

static void *state(struct usf_context *c, void *interpreter)
{ return c->python.state ? c->python.state : REAL(void *, PyInterpreterState_GetDict, (void *), (interpreter)); }

/* An attribute of `object`, which is released. */
static void *attribute(void *object, const char *name)
{
    void *value = REAL(void *, PyObject_GetAttrString, (void *, const char *), (object, name));
    drop(object);
    return value;
}

/* "package.module.NAME": the topmost package is imported, the rest are attributes. */
static void *capsule(struct usf_context *c, const char *name)
{
    char *parts = strdup(name), *rest = 0;
    if (!parts) return REAL(void *, PyErr_NoMemory, (void), ());
    void *object = import_text(c, strtok_r(parts, ".", &rest)), *pointer = 0;
    for (char *part; object && (part = strtok_r(0, ".", &rest));) object = attribute(object, part);
    free(parts);
    if (!object) return 0;
    if (REAL(int, PyCapsule_IsValid, (void *, const char *), (object, name))) {
        pointer = REAL(void *, PyCapsule_GetPointer, (void *, const char *), (object, name));
    } else {
        void *message = REAL(void *, PyUnicode_FromFormat, (const char *, ...), ("PyCapsule_Import \"%s\" is not valid", name));
        fail("PyExc_AttributeError", message);
        drop(message);
    }
    drop(object);
    return pointer;
}

const struct shim_python_calls python_calls = {
    import, import_text, import_level, import_level_text, reload, add, add_text, add_ref, get, modules, capsule, builtins, frame_builtins, state,
};

/* ---- what the package calls ---------------------------------------------------------------------------- */

CONTEXT_API int usf_context_python(usf_context_t *c, void *modules_dict, void *builtins_dict, void *state_dict)
{
    c->python.modules = modules_dict;
    c->python.builtins = builtins_dict;
    c->python.state = state_dict;
    return 0;
}

CONTEXT_API usf_context_t *usf_context_python_caller(void) { return called_by; }

/* ---- `with context:` ------------------------------------------------------------------------------------
 *
 * Context.__enter__ and __exit__ are C: the interpreter looks for signals in Python code only, so
 * that no KeyboardInterrupt comes between entering and the first line of the block, or between its
 * last line and leaving. */

#define ENTERED_MAX 4u

/* Globals of the code that has entered, by the depth of entering; further in they are not known.
 * They are compared, never read. */
static __thread struct { const void *by[ENTERED_MAX]; unsigned n, late; } entered;
static void *address_name, *leave_late;         /* "_address"; see usf_context_python_methods */

static uint32_t group_of(const struct usf_context *c) { return c ? c->group : USF_GROUP_FIRST; }

/* Under `usf run` the thread counts as the context's. */
static void change_group(const struct usf_context *from, const struct usf_context *to)
{
    if (USF_UNLIKELY(group_of(from) != group_of(to))) usf_group_enter(group_of(to));
}

static int enter(struct usf_context *c, const void *by)
{
    struct usf_context *from = context_current;
    int r = usf_context_enter(c);
    if (r) return r;
    if (entered.n < ENTERED_MAX) entered.by[entered.n] = by;
    entered.n++;
    change_group(from, c);
    return 0;
}

static int leave(void)
{
    struct usf_context *from = context_current;
    int r = usf_context_leave();
    if (r) return r;
    if (entered.n) entered.n--;
    change_group(from, context_current);
    return 0;
}

static void *globals(void) { return REAL(void *, PyEval_GetGlobals, (void), ()); }

CONTEXT_API int usf_context_python_enter(usf_context_t *c) { return enter(c, globals()); }
CONTEXT_API int usf_context_python_leave(void) { return leave(); }
CONTEXT_API const void *usf_context_python_entered_by(void) { return entered.n && entered.n <= ENTERED_MAX ? entered.by[entered.n - 1] : 0; }
CONTEXT_API void usf_context_python_late(unsigned n) { entered.late = n; }
CONTEXT_API void usf_context_python_close(usf_context_t *c) { c->python.closed = true; }

CONTEXT_API usf_context_t *usf_context_python_outside(void)
{
    struct usf_context *c = context_current;
    context_set(0);
    return c;
}
CONTEXT_API void usf_context_python_back(usf_context_t *c) { context_set(c); }

/* Of an object of class Context; null with RuntimeError: it was closed. */
static struct usf_context *context_of(void *self)
{
    void *number = REAL(void *, PyObject_GetAttr, (void *, void *), (self, address_name));
    if (!number) return 0;
    struct usf_context *c = REAL(void *, PyLong_AsVoidPtr, (void *), (number));
    drop(number);
    return c;
}

static void *refuse(void *message)
{
    fail("PyExc_RuntimeError", message);
    return drop(message);
}

static void *refuse_closed(void *self)
{
    void *name = attribute(keep(self), "name");
    refuse(REAL(void *, PyUnicode_FromFormat, (const char *, ...), ("%S is closed", name)));
    return drop(name);
}

static void *method_enter(void *self, void *none)
{
    (void)none;
    struct usf_context *c = context_of(self);
    if (!c && has_error()) return 0;
    if (!c || c->python.closed) return refuse_closed(self);
    if (enter(c, globals())) return refuse(text(usf_context_error()));
    return keep(self);
}

static void *method_exit(void *self, void *const *args, ssize_t n)
{
    static _Atomic(void *) none;
    (void)args, (void)n;
    struct usf_context *c = context_of(self);
    if (has_error()) return 0;
    if (c != context_current || !c || entered.late) return REAL(void *, PyObject_CallFunctionObjArgs, (void *, ...), (leave_late, self, (void *)0));
    leave();
    return keep(find(&none, "_Py_NoneStruct"));
}

/* struct PyMethodDef, and its flags */
struct method { const char *name; void *function; int flags; const char *doc; };
#define METH_NOARGS 0x4
#define METH_FASTCALL 0x80

CONTEXT_API int usf_context_python_methods(void *type, void *late)
{
    static struct method methods[] = {
        {"__enter__", (void *)method_enter, METH_NOARGS, "Make it the calling thread's context, until the end of the block."},
        {"__exit__", (void *)method_exit, METH_FASTCALL, "Leave it. RuntimeError: it is not what this thread has entered last."},
    };
    address_name = REAL(void *, PyUnicode_InternFromString, (const char *), ("_address"));
    leave_late = keep(late);
    for (unsigned i = 0; i < sizeof methods / sizeof *methods; i++) {
        void *method = REAL(void *, PyDescr_NewMethod, (void *, struct method *), (type, &methods[i]));
        int r = method ? REAL(int, PyObject_SetAttrString, (void *, const char *, void *), (type, methods[i].name, method)) : -1;
        drop(method);
        if (r) return r;
    }
    return 0;
}
