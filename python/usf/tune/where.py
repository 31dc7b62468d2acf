# python/usf/tune/where.py - constraints on candidates.  SPDX-License-Identifier: Apache-2.0
"""A constraint is an expression over the parameters, like "a * b <= 4" or "policy != 'fl' or n > 2".

The expression is walked as a syntax tree that has a few kinds of nodes. It is never handed to eval, so a constraint from
a file or a web form can compute nothing but numbers and comparisons.
"""
import ast
import operator

from .trouble import TuneError

# No power and no shift: a short expression must not take all memory.
_BINARY = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv, ast.FloorDiv: operator.floordiv,
           ast.Mod: operator.mod}
_UNARY = {ast.UAdd: operator.pos, ast.USub: operator.neg, ast.Not: operator.not_}
_COMPARE = {ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
            ast.In: lambda a, b: a in b, ast.NotIn: lambda a, b: a not in b}
_CALLS = {"min": min, "max": max, "abs": abs, "sum": lambda *numbers: sum(numbers)}
_LONGEST = 1000


def spelled(name):
    """A parameter's name in an expression: `run.topology-blind` is written run.topology_blind."""
    return name.replace("-", "_")


class Where:
    """One constraint. Call it with a candidate."""

    def __init__(self, text, names):
        self.text = text
        self._names = {spelled(name): name for name in names}
        if len(text) > _LONGEST:
            raise TuneError("--where: the expression is longer than %d characters" % _LONGEST)
        try:
            self._tree = ast.parse(text.strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise TuneError("--where '%s': not an expression (like 'a * b <= 4')" % text) from None
        try:
            self._check(self._tree)
        except RecursionError:
            raise TuneError("--where: the expression is nested too deeply") from None

    def _name(self, node):
        """The parameter that a name, or a name with dots, stands for."""
        parts = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return None
        return ".".join([node.id] + parts[::-1])

    def _check(self, node):
        """Refuse what is not known before anything is measured."""
        name = self._name(node)
        if name is not None:
            if name not in self._names:
                raise TuneError("--where '%s': there is no variable '%s' (variables: %s)" % (self.text, name, ", ".join(sorted(self._names)) or "none"))
            return
        if isinstance(node, ast.Call):
            if node.keywords or not isinstance(node.func, ast.Name) or node.func.id not in _CALLS or not node.args:
                raise TuneError("--where '%s': only %s can be called" % (self.text, ", ".join(sorted(_CALLS))))
            children = node.args
        elif isinstance(node, ast.Constant) and isinstance(node.value, (bool, int, float, str)):
            children = []
        elif isinstance(node, (ast.Tuple, ast.List, ast.Set)):
            children = node.elts
        elif isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
            children = [node.left, node.right]
        elif isinstance(node, ast.UnaryOp) and type(node.op) in _UNARY:
            children = [node.operand]
        elif isinstance(node, ast.BoolOp):
            children = node.values
        elif isinstance(node, ast.Compare) and all(type(op) in _COMPARE for op in node.ops):
            children = [node.left, *node.comparators]
        else:
            raise TuneError("--where '%s': only numbers, texts, variables, + - * / // %%, comparisons, and, or, not, in are allowed" % self.text)
        for child in children:
            self._check(child)

    def _binary(self, node, candidate):
        left, right = self._value(node.left, candidate), self._value(node.right, candidate)
        if isinstance(left, str) or isinstance(right, str):
            raise TypeError("text cannot be computed with")
        return _BINARY[type(node.op)](left, right)

    def _compare(self, node, candidate):
        left = self._value(node.left, candidate)
        for op, comparator in zip(node.ops, node.comparators):
            right = self._value(comparator, candidate)
            if not _COMPARE[type(op)](left, right):
                return False
            left = right
        return True

    def _value(self, node, candidate):
        name = self._name(node)
        if name is not None:
            return candidate[self._names[name]]
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Call):
            return _CALLS[node.func.id](*[self._value(a, candidate) for a in node.args])
        if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
            return [self._value(e, candidate) for e in node.elts]
        if isinstance(node, ast.BinOp):
            return self._binary(node, candidate)
        if isinstance(node, ast.UnaryOp):
            return _UNARY[type(node.op)](self._value(node.operand, candidate))
        if isinstance(node, ast.BoolOp):
            some = isinstance(node.op, ast.Or)
            return any(self._value(v, candidate) for v in node.values) if some else all(self._value(v, candidate) for v in node.values)
        return self._compare(node, candidate)

    def __call__(self, candidate):
        try:
            return bool(self._value(self._tree, candidate))
        except ZeroDivisionError:
            return False
        except (TypeError, OverflowError, ValueError) as e:
            raise TuneError("--where '%s': %s" % (self.text, e)) from None
