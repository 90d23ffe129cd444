"""A calculator for what models write: arithmetic and a few functions, bounded in time and size;
nothing else runs.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping
from typing import Annotated, Any

from agentkit.core.tools import effects
from agentkit.errors import WrongArgument

Number = int | float
_LONGEST = 300
_MOST_BITS = 4000
_MOST_PLACES = 15


@effects("none")
def calculate(
    expression: Annotated[
        str, "Numbers with operators, parentheses and functions, such as `round(29 * 12 / 7, 2)`."
    ],
) -> str:
    """The value of an arithmetic expression, with up to 12 significant digits where it is no whole
    number.

    Raises WrongArgument for everything that is no arithmetic, or too large.
    """
    text = " ".join(expression.translate(_SIGNS).split())
    if not text or len(text) > _LONGEST:
        raise _refusal(expression, f"write 1 to {_LONGEST} characters")
    try:
        return _shown(_value(ast.parse(text, mode="eval").body))
    except SyntaxError as error:
        raise _refusal(
            expression, "it is no arithmetic; write plain numbers without units and separators"
        ) from error
    except _Wrong as error:
        raise _refusal(expression, str(error)) from error
    except ZeroDivisionError as error:
        raise _refusal(expression, "it divides by zero") from error
    except (OverflowError, MemoryError, RecursionError) as error:
        raise _refusal(expression, "a number in it is too large") from error
    except (ValueError, TypeError) as error:
        raise _refusal(expression, str(error)) from error


class _Wrong(Exception):
    """What is wrong with a part, in words."""


def _value(node: ast.expr) -> Number:
    match node:
        case ast.Constant(value=value) if type(value) in (int, float):
            return _bounded(value)
        case ast.UnaryOp(op=ast.UAdd() | ast.USub(), operand=operand):
            return -_value(operand) if isinstance(node.op, ast.USub) else _value(operand)
        case ast.BinOp() if type(node.op) in _OPERATORS:
            return _bounded(_OPERATORS[type(node.op)](_value(node.left), _value(node.right)))
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in _FUNCTIONS:
            return _bounded(_FUNCTIONS[name](*map(_value, args)))
        case ast.BinOp(op=ast.BitXor()):
            raise _Wrong("powers are written with **")
        case _:
            raise _Wrong(
                f"{ast.unparse(node)!r:.80} is not allowed; there are numbers, + - * / // % ** ( ),"
                f" {', '.join(_FUNCTIONS)}"
            )


def _bounded(value: Any) -> Number:
    if isinstance(value, int) and value.bit_length() <= _MOST_BITS:
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    raise _Wrong(
        "there is no real number for it"
        if isinstance(value, complex)
        else "a number in it is too large"
    )


def _power(base: Number, exponent: Number) -> Any:
    if (
        isinstance(base, int)
        and isinstance(exponent, int)
        and base.bit_length() * exponent > _MOST_BITS
    ):
        raise OverflowError
    return base**exponent


def _round(value: Number, places: Number = 0) -> Number:
    if not isinstance(places, int) or abs(places) > _MOST_PLACES:
        raise _Wrong(f"round takes whole places from -{_MOST_PLACES} to {_MOST_PLACES}")
    return round(value, places) if places else round(value)


def _shown(value: Number) -> str:
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        value = int(value)
    return str(value) if isinstance(value, int) else f"{value:.12g}"


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
