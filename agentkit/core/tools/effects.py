"""What calling a tool changes: the attribute `effects`, on functions, methods and classes."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Literal, TypeVar

from agentkit.errors import WrongArgument

Effects = Literal["none", "some"]
"""`none`: calling it changes nothing, as often as it is called. `some`: it may, so people are
asked.
"""
F = TypeVar("F", bound=Callable[..., Any])


def effects(kind: Effects) -> Callable[[F], F]:
    """Declare what calling a tool changes: `@effects("none")` for one that only looks something up.

    Sets the function's attribute `effects`, which may be set by hand as well. What declares
    nothing has `some`. Raises WrongArgument for another kind.
    """
    checked = _check_effects(kind, "effects()")

    def declared(function: F) -> F:
        vars(function)["effects"] = checked
        return function

    return declared


def effects_of(tool: object) -> Effects:
    """What the tool declares, `some` when it declares nothing; raises WrongArgument for another
    word.
    """
    while isinstance(tool, functools.partial):
        tool = tool.func
    return _check_effects(
        getattr(tool, "effects", "some"), getattr(tool, "__name__", type(tool).__name__)
    )


def _check_effects(kind: object, where: str) -> Effects:
    if kind == "none":
        return "none"
    if kind == "some":
        return "some"
    raise WrongArgument(f'{where}: effects are "none" or "some", not {kind!r:.80}.')
