# python/usf/_context_view.py - objects of one context in another.  SPDX-License-Identifier: Apache-2.0
"""Which context an object belongs to, and arrays that share their memory with another context's."""
from __future__ import annotations

import importlib
import types
from typing import TYPE_CHECKING, Any, Optional

from ._context_who import MARK, by_address, lib, who

if TYPE_CHECKING:
    from ._context import Context


def _of_globals(values):
    found = values.get("__builtins__") if isinstance(values, dict) else None
    return found.get(MARK) if isinstance(found, dict) else None


def _of_class(cls):
    """A class of C code lies in its library, or is an attribute of its module; one of Python has functions."""
    address = lib.usf_context_of(id(cls))
    if address is not None:
        return by_address.get(address)
    for context in by_address.values():
        found = context._modules.get(cls.__module__)
        for part in cls.__qualname__.split(".") if found is not None else ():
            found = getattr(found, part, None)
        if found is cls:
            return context
    for value in vars(cls).values():
        value = getattr(value, "__func__", value)
        if isinstance(value, types.FunctionType) and value.__module__ == cls.__module__:
            return _of_globals(value.__globals__)
    return None


def context_of(obj: Any) -> Optional[Context]:
    """The context that a module, function, class or object comes from; None: the program.

    >>> import usf, json
    >>> usf.context_of(json) is None
    True
    """
    if isinstance(obj, types.ModuleType):
        found = _of_globals(vars(obj))
        if found is not None:
            return found
        return next((c for c in by_address.values() if any(m is obj for m in list(c._modules.values()))), None)
    if isinstance(obj, types.FunctionType):
        return _of_globals(obj.__globals__)
    if isinstance(obj, types.MethodType):
        return context_of(obj.__func__)
    if isinstance(obj, types.BuiltinFunctionType) and obj.__self__ is not None:
        return context_of(obj.__self__)
    return _of_class(obj if isinstance(obj, type) else type(obj))


def _is_from(obj, package, *names):
    cls = type(obj)
    return cls.__module__.partition(".")[0] == package and cls.__name__ in names


def _same_memory(new, old):
    a, b = new.__array_interface__, getattr(old, "__array_interface__", None)
    return b is None or (a["data"][0] == b["data"][0] or new.size == 0) and a["shape"] == b["shape"] and a["typestr"] == b["typestr"]


def _array(numpy, obj):
    if _is_from(obj, "numpy", "ndarray"):
        if obj.dtype.kind in "mM":              # no format of buffers has times
            return numpy.asarray(obj.view("i8")).view(obj.dtype.str)
        new = numpy.asarray(obj)
    elif type(obj).__module__.partition(".")[0] == "numpy":
        raise TypeError(f"{type(obj).__name__} has more than the memory of an array, which a view would lose: give its parts, as numpy.ndarray")
    elif hasattr(obj, "__array_interface__") or hasattr(obj, "__array_struct__"):
        new = numpy.asarray(obj)
    else:
        try:
            new = numpy.asarray(memoryview(obj))
        except TypeError:
            raise TypeError(f"{type(obj).__name__} has neither the array protocol, nor DLPack, nor a buffer: there is no memory to share") from None
    if not _same_memory(new, obj):
        raise ValueError(f"this {type(obj).__name__} of {getattr(obj, 'dtype', '?')} cannot be shared without a copy")
    return new


def _descriptor(numpy, dtype):
    """The same dtype of another numpy."""
    if dtype.fields is None and dtype.subdtype is None:
        return numpy.dtype(dtype.str)
    return numpy.dtype(dtype.descr)


def _import(name, context):
    return importlib.import_module(name) if context is None else context.run(importlib.import_module, name)


def view(obj: Any, module: Any = None) -> Any:
    """The same memory as an object of the calling context: that of the calling module, or else that the thread is in.

    obj: an array of numpy, a tensor of torch, or whatever has the array protocol or a buffer; a dtype or scalar type of numpy. Changes
    of one are seen in the other. The memory lives as long as one of them.
    module: another `numpy` (or `torch`) to make it of than the one that `import numpy` gives here.

    TypeError: it has no memory that can be shared; ValueError: not without a copy.

        with a:
            import numpy as one
            x = one.arange(3.0)
        with b:
            y = usf.view(x)             # b's array
            y[0] = 5                    # x[0] is 5
    """
    if _is_from(obj, "torch", "Tensor", "Parameter"):
        torch = module or _import("torch", who())
        return obj if isinstance(obj, torch.Tensor) else torch.utils.dlpack.from_dlpack(obj.detach())
    numpy = module or _import("numpy", who())
    if isinstance(obj, (numpy.ndarray, numpy.dtype)):
        return obj
    if isinstance(obj, type) and obj.__module__.partition(".")[0] == "numpy" and hasattr(numpy, obj.__name__):
        return getattr(numpy, obj.__name__)
    if type(obj).__module__.startswith("numpy") and any(c.__name__ == "dtype" for c in type(obj).__mro__):
        return _descriptor(numpy, obj)
    return _array(numpy, obj)
