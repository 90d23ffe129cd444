"""The public names: sorted, all there, and the same for the type checker and at run time."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import agentkit


def test_names_agree() -> None:
    assert sorted(agentkit.__all__) == sorted(agentkit._HOME) == dir(agentkit)


@pytest.mark.parametrize("name", agentkit.__all__)
def test_every_name_resolves_to_something_documented(name: str) -> None:
    assert getattr(agentkit, name).__doc__


def test_the_type_checker_sees_the_same_names() -> None:
    tree = ast.parse(Path(agentkit.__file__).read_text(encoding="utf-8"))
    guarded = next(node for node in tree.body if isinstance(node, ast.If))
    seen = {alias.name: node.module for node in guarded.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert seen == agentkit._HOME


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Nonsense'"):
        _ = agentkit.Nonsense
