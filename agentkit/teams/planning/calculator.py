"""A calculator for what models write: arithmetic and a few functions, bounded in time and size;
nothing else runs.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping
from functools import partial
from typing import Annotated, Any

from agentkit.core.given import find_value
from agentkit.core.tools import effects
from agentkit.errors import WrongArgument

Number = int | float
_LONGEST = 300
_MOST_BITS = 4000
_MOST_PLACES = 15
_EXACT = 1e15  # floats below are exact to the unit
_TOO_LARGE = "a number in it is too large"
_PROBLEMS: Mapping[type[Exception], str] = {
    SyntaxError: "it is not arithmetic; write plain numbers without units and separators",
    ZeroDivisionError: "it divides by zero",
    OverflowError: _TOO_LARGE,
    MemoryError: _TOO_LARGE,
    RecursionError: _TOO_LARGE,
}
"""What the errors of parsing and computing mean."""


@effects("none")
def calculate(
    expression: Annotated[
        str, "Numbers with operators, parentheses and functions, such as `round(29 * 12 / 7, 2)`."
    ],
) -> str:
    """The value of an arithmetic expression, with up to 12 significant digits where it is not a
    whole number.

    Raises WrongArgument for anything but arithmetic, and for numbers that are too large.
    """
    text = " ".join(expression.translate(_SIGNS).split())
    if len(text) not in range(1, _LONGEST + 1):
        raise _refusal(expression, f"write 1 to {_LONGEST} characters")
    try:
        tree = ast.parse(text, mode="eval")
        value = _compute(tree.body)
        return _format(value)
    except _EXPECTED as error:
        problem = _explain(error)
        raise _refusal(expression, problem) from error


def _explain(error: Exception) -> str:
    """What went wrong in parsing or computing."""
    return find_value(_PROBLEMS.items(), partial(isinstance, error), str(error))


class _Wrong(Exception):
    """What is wrong with a part, in words."""


_EXPECTED: tuple[type[Exception], ...] = (_Wrong, ValueError, TypeError, *_PROBLEMS)


def _compute(node: ast.expr) -> Number:
    match node:
        case ast.Constant(value=value) if type(value) in (int, float):
            return _check_size(value)
        case ast.UnaryOp(op=ast.UAdd() | ast.USub(), operand=operand):
            sign = _SIGNED[type(node.op)]
            return sign(_compute(operand))
        case ast.BinOp() if type(node.op) in _OPERATORS:
            operate = _OPERATORS[type(node.op)]
            left, right = _compute(node.left), _compute(node.right)
            return _check_size(operate(left, right))
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in _FUNCTIONS:
            function = _FUNCTIONS[name]
            values = [_compute(arg) for arg in args]
            return _check_size(function(*values))
        case ast.BinOp(op=ast.BitXor()):
            raise _Wrong("powers are written with **")
    raise _Wrong(
        f"{ast.unparse(node)!r:.80} is not allowed; there are numbers, + - * / // % ** ( ),"
        f" {', '.join(_FUNCTIONS)}"
    )


def _check_size(value: Any) -> Number:
    match value:
        case int() if value.bit_length() <= _MOST_BITS:
            return value
        case float() if math.isfinite(value):
            return value
        case complex():
            raise _Wrong("there is no real number for it")
    raise _Wrong(_TOO_LARGE)


def _power(base: Number, exponent: Number) -> Any:
    if isinstance(base, int) and isinstance(exponent, int):
        bits = base.bit_length() * exponent
        if bits > _MOST_BITS:
            raise OverflowError
    return base**exponent


def _round(value: Number, places: Number = 0) -> Number:
    if not isinstance(places, int) or abs(places) > _MOST_PLACES:
        limits = f"-{_MOST_PLACES} to {_MOST_PLACES}"
        raise _Wrong(f"round takes whole places from {limits}")
    if places:
        return round(value, places)
    return round(value)


def _format(value: Number) -> str:
    if isinstance(value, int):
        return str(int(value))
    is_whole = value == int(value)
    is_exact = abs(value) < _EXACT
    if is_whole and is_exact:
        return str(int(value))
    return f"{value:.12g}"


def _refusal(expression: str, problem: str) -> WrongArgument:
    return WrongArgument(f"{expression!r:.120} cannot be computed: {problem}.")


_SIGNS = str.maketrans({"×": "*", "·": "*", "÷": "/", "−": "-"})
_OPERATORS: Mapping[type[ast.operator], Callable[[Number, Number], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: _power,
}
_SIGNED: Mapping[type[ast.unaryop], Callable[[Number], Number]] = {
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
}
_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "abs": abs,
    "ceil": math.ceil,
    "exp": math.exp,
    "floor": math.floor,
    "log": math.log,
    "log10": math.log10,
    "max": lambda *values: max(values),
    "min": lambda *values: min(values),
    "round": _round,
    "sqrt": math.sqrt,
    "sum": lambda *values: sum(values),
}
