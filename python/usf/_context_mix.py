# python/usf/_context_mix.py - numpy and torch meet objects of another context.  SPDX-License-Identifier: Apache-2.0
"""numpy asks functions of its own in Python what to do with operands and types that it does not know.

C code keeps these functions once it has found them: so their code is replaced, not they themselves.
"""
import functools
import types

from ._context_import import after


def _replace(module, name, code, helper):
    """The function's code becomes that of `code`, which finds the old function and the helper by their names in the module."""
    function = getattr(module, name, None)
    if not isinstance(function, types.FunctionType) or "_usf_old_" + name in vars(module) or function.__code__.co_freevars:
        return
    old = types.FunctionType(function.__code__, function.__globals__, name, function.__defaults__)
    old.__kwdefaults__ = function.__kwdefaults__
    setattr(module, "_usf_old_" + name, old)
    setattr(module, "_usf_" + name, helper)
    function.__code__ = code.__code__


# ---- operands of two contexts: the message says so ----------------------------------------------------


def _write(dummy, ufunc, method, *inputs, **kwargs):
    return _usf_array_ufunc_errmsg_formatter(_usf_old_array_ufunc_errmsg_formatter, dummy, ufunc, method, *inputs, **kwargs)  # noqa: F821


def _name(context):
    return "the program" if context is None else repr(context.name)


def _writer(context):
    from ._context_view import context_of

    def write(old, dummy, ufunc, method, *inputs, **kwargs):
        text = old(dummy, ufunc, method, *inputs, **kwargs)
        operands = [x for x in (*inputs, *(kwargs.get("out") or ())) if type(x).__module__.partition(".")[0] == "numpy"]
        foreign = {_name(c) for c in map(context_of, operands) if c is not context}
        if not foreign:
            return text
        return f"{text}\nOperands are numpy arrays of {', '.join(sorted(foreign))}, and this is the numpy of {_name(context)}: convert them by usf.view(array)."

    return write


# ---- scalar types of another numpy: the own ones of these names ----------------------------------------


def _check(cls):
    return _usf_npy_ctypes_check(cls) is not None or _usf_old_npy_ctypes_check(cls)  # noqa: F821


def _convert(t):
    return _usf_dtype_from_ctypes_type(t) or _usf_old_dtype_from_ctypes_type(t)  # noqa: F821


def _own_dtype(numpy):
    """numpy asks whether a class that it does not know is one of ctypes, and then for its dtype."""

    def find(cls):
        mro = getattr(cls, "__mro__", ())
        if len(mro) < 3 or mro[-2].__name__ != "generic" or mro[-2].__module__ != "numpy" or mro[-2] is numpy.generic:
            return None
        own = getattr(numpy, cls.__name__, None)
        return numpy.dtype(own) if isinstance(own, type) and issubclass(own, numpy.generic) else None

    return find


def _change_internal(module, context):
    _replace(module, "array_ufunc_errmsg_formatter", _write, _writer(context))
    _change_types(module, context)


def _change_types(module, context):
    import sys

    numpy = (context._modules if context else sys.modules)["numpy"]

    def find(cls):
        return _own_dtype(numpy)(cls) if hasattr(numpy, "generic") else None        # it is imported still

    _replace(module, "npy_ctypes_check", _check, find)
    _replace(module, "dtype_from_ctypes_type", _convert, find)


# ---- tensors of two contexts ---------------------------------------------------------------------------


def _is_foreign(x, torch):
    return type(x).__name__ in ("Tensor", "Parameter") and type(x).__module__.startswith("torch") and not isinstance(x, torch.Tensor)


def _change_torch(torch, context):
    """A tensor of another torch is taken for one of a subclass, whose method would call the first torch again, for ever."""
    from ._context_view import context_of

    old = torch.Tensor.__torch_function__.__func__

    @functools.wraps(old)
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        for x in (*args, *(kwargs or {}).values()):
            for y in x if isinstance(x, (tuple, list)) else (x,):
                if _is_foreign(y, torch):
                    raise TypeError(f"{getattr(func, '__name__', func)}: tensors of {_name(context_of(y))} and of {_name(context)} cannot be combined: "
                                    "convert them by usf.view(tensor)")
        return old(cls, func, types, args, kwargs)

    torch.Tensor.__torch_function__ = classmethod(__torch_function__)


after["torch"] = _change_torch
for _core in ("numpy.core", "numpy._core"):
    after[_core + "._internal"] = _change_internal
    after[_core + "._dtype_ctypes"] = _change_types
