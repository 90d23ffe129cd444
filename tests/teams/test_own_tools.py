"""Functions of the user's own as tools: which are offered, and what is wrong with others."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agentkit.errors import ConfigError
from agentkit.teams.own_tools import load_tools

GOOD = '''
"""Tools of ours."""
from math import sqrt as _root
from pathlib import Path

def stock(product: str) -> int:
    """How many of a product are there."""
    return {"lamp": 12}[product]

def _hidden() -> None:
    """Not for models."""
'''


def file(folder: Path, text: str, name: str = "mine.py") -> str:
    path = folder / name
    path.write_text(text, "utf-8")
    return str(path)


def test_the_public_functions_of_the_files(tmp_path: Path) -> None:
    other = file(
        tmp_path,
        'def price(product: str) -> float:\n    """What it costs."""\n    return 9.5\n',
        "other.py",
    )
    found = load_tools(os.pathsep.join([file(tmp_path, GOOD), other]))
    assert [(tool.__name__, tool("lamp")) for tool in found] == [("stock", 12), ("price", 9.5)]
    assert load_tools("") == []


def test_a_file_that_changes_is_run_again(tmp_path: Path) -> None:
    path = file(tmp_path, GOOD)
    first = load_tools(path)
    assert load_tools(path)[0] is first[0]
    file(tmp_path, GOOD.replace("12", "13"))
    os.utime(path, ns=(1, 1))
    assert load_tools(path)[0]("lamp") == 13


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("x = 1", "has no public function"),
        ("def stock(product: str) -> int:\n    return 1", "stock in .* needs a docstring"),
        (
            'def search_documents(query: str) -> str:\n    """Mine."""\n    return ""',
            "search_documents, which there is already",
        ),
        ("import nothing_of_that_name", "cannot be run: ModuleNotFoundError"),
        ("def (", "cannot be run: SyntaxError"),
        ("raise SystemExit", "cannot be run: SystemExit"),
    ],
)
def test_what_cannot_be_offered_is_told(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        load_tools(file(tmp_path, text))


def test_files_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        load_tools(str(tmp_path / "none.py"))
    with pytest.raises(ConfigError, match="is no Python file"):
        load_tools(file(tmp_path, "x", "tools.txt"))


def test_two_of_the_same_name(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="stock, which there is already"):
        load_tools(os.pathsep.join([file(tmp_path, GOOD), file(tmp_path, GOOD, "again.py")]))
