"""The tree drawn in the docstring is the tree of the classes."""

from __future__ import annotations

import re

import pytest

from agentkit import errors

_LINE = re.compile(r"^ {4}(?P<indent>[│ ]*)(?:[├└]── )?(?P<name>\w+)(?: {2,}.*)?$")


def drawn() -> dict[str, str]:
    """Each drawn class with the class that it hangs from."""
    parents: dict[str, str] = {}
    above: list[str] = []
    for line in (errors.__doc__ or "").splitlines():
        found = _LINE.match(line)
        if not found:
            continue
        depth = 0 if "──" not in line else len(found["indent"]) // 4 + 1
        above[depth:] = [found["name"]]
        parents[found["name"]] = above[depth - 1] if depth else "Exception"
    return parents


def test_the_drawing_is_true() -> None:
    classes = {name: thing for name, thing in vars(errors).items() if isinstance(thing, type)}
    assert drawn() == {name: thing.__bases__[0].__name__ for name, thing in classes.items()}
    assert len(classes) > 20


@pytest.mark.parametrize("name", sorted(set(drawn()) - {"AgentkitError"}))
def test_every_error_is_caught_by_the_base(name: str) -> None:
    kind = getattr(errors, name)
    assert issubclass(kind, errors.AgentkitError)
    assert kind.__doc__
    assert str(kind("what to do")) == "what to do"
