"""The expressions of ``$(eval ...)``, without Python's `eval`.

Conditions and arithmetic are all that launch files need; a file that is only looked at must not be able to run code.
What is understood gives the same text as under `ros2 launch`; everything else is refused by name.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable
from typing import Any

from assay_bringup.launch.source import Where
from assay_core.errors import ConfigError

__all__ = ["evaluate"]

_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}

_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
}

_UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.Not: operator.not_,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
}

_FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: value for name, value in vars(math).items() if callable(value) and not name.startswith("_")},
    "abs": abs,
    "bool": bool,
    "float": float,
    "int": int,
    "len": len,
    "max": max,
    "min": min,
    "round": round,
    "str": str,
}
for _unbounded in ("factorial", "comb", "perm", "pow"):
    _FUNCTIONS.pop(_unbounded, None)

_CONSTANTS = {"pi": math.pi, "e": math.e, "inf": math.inf, "nan": math.nan, "tau": math.tau}

_METHODS = ("endswith", "lower", "replace", "split", "startswith", "strip", "upper")

_LONGEST = 10_000
"""Characters of a result; keeps ``'a' * 10**9`` from filling the memory."""


def evaluate(text: str, where: Where) -> str:
    """Return the value of a Python expression as text.

    Raises:
        ConfigError: It is not an expression, uses what is not understood, or fails.
    """
    try:
        tree = ast.parse(text.strip(), mode="eval")
        return str(_value(tree.body))
    except _Refused as error:
        got = str(error)
    except (SyntaxError, ValueError, TypeError, ZeroDivisionError, OverflowError, IndexError, RecursionError) as error:
        got = f"{type(error).__name__}: {error}"
    raise ConfigError(
        f"{where}: $(eval ...) of {text!r}",
        expected="an expression of constants, arithmetic, comparisons and math",
        got=got,
        fix="simplify it, or put text into quotes inside the expression",
    )


class _Refused(Exception):
    """Names what is not understood."""


def _value(node: ast.expr) -> Any:
    """Return the value of one node."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name):
        if node.id in _CONSTANTS:
            return _CONSTANTS[node.id]
        raise _Refused(f"the name '{node.id}'")
    if isinstance(node, (ast.List, ast.Tuple)):
        items = [_value(item) for item in node.elts]
        return items if isinstance(node, ast.List) else tuple(items)
    if isinstance(node, ast.UnaryOp) and type(node.op) in _UNARY:
        return _UNARY[type(node.op)](_value(node.operand))
    if isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
        return _arithmetic(node)
    if isinstance(node, ast.BoolOp):
        return _boolean(node)
    if isinstance(node, ast.Compare):
        return _comparison(node)
    if isinstance(node, ast.IfExp):
        return _value(node.body) if _value(node.test) else _value(node.orelse)
    if isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Slice):
        return _value(node.value)[_value(node.slice)]
    if isinstance(node, ast.Call) and not node.keywords:
        return _call(node)
    if isinstance(node, ast.Attribute):
        if isinstance(node.value, ast.Name) and node.value.id == "math" and node.attr in _CONSTANTS:
            return _CONSTANTS[node.attr]
        raise _Refused(f"the attribute '.{node.attr}'")
    raise _Refused(f"'{ast.unparse(node)}'")


def _arithmetic(node: ast.BinOp) -> Any:
    left, right = _value(node.left), _value(node.right)
    if isinstance(node.op, ast.Mult) and not all(isinstance(x, (int, float)) for x in (left, right)):
        count = left if isinstance(left, int) else right
        text = right if isinstance(left, int) else left
        if isinstance(count, int) and isinstance(text, (str, list, tuple)) and count * len(text) > _LONGEST:
            raise _Refused(f"a result longer than {_LONGEST}")
    if isinstance(node.op, ast.Mod) and isinstance(left, str):
        raise _Refused("'%' on text")
    return _BINARY[type(node.op)](left, right)


def _boolean(node: ast.BoolOp) -> Any:
    stop_at = isinstance(node.op, ast.Or)
    result: Any = None
    for item in node.values:
        result = _value(item)
        if bool(result) is stop_at:
            break
    return result


def _comparison(node: ast.Compare) -> bool:
    left = _value(node.left)
    for op, item in zip(node.ops, node.comparators, strict=True):
        right = _value(item)
        if not _COMPARE[type(op)](left, right):
            return False
        left = right
    return True


def _call(node: ast.Call) -> Any:
    arguments = [_value(item) for item in node.args]
    function = node.func
    if isinstance(function, ast.Name) and function.id in _FUNCTIONS:
        return _FUNCTIONS[function.id](*arguments)
    if isinstance(function, ast.Attribute):
        if isinstance(function.value, ast.Name) and function.value.id == "math" and hasattr(math, function.attr):
            known = _FUNCTIONS.get(function.attr)
            if known is not None:
                return known(*arguments)
        elif function.attr in _METHODS:
            subject = _value(function.value)
            if isinstance(subject, str):
                return getattr(subject, function.attr)(*arguments)
    raise _Refused(f"the call of '{ast.unparse(function)}'")
