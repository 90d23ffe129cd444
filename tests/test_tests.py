"""What holds for the tests themselves: none is decided by a clock on the wall, no fixture is
copied.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.parsing import parse_all

ROOT = Path(__file__).parents[1]
CLOCKS = {"time.time", "time.monotonic", "time.perf_counter"}
MAY_MEASURE = ("tests/bench/", "tests/differential/record.py")
"""These measure, and no test is decided by it."""
SHORT = 130
"""Characters of a body that may stand in two files, unless it is a fixture's."""

Trees = dict[str, ast.Module]
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def trees(root: Path) -> Trees:
    """The trees of all test files, by their paths below the root."""
    files = sorted((root / "tests").rglob("*.py"))
    texts = [(str(f.relative_to(root)), f.read_text(encoding="utf-8")) for f in files]
    return dict(zip((path for path, _ in texts), parse_all(texts), strict=True))


def measured(found: Trees) -> list[str]:
    """Where the difference of two looks at a clock on the wall is taken."""
    return [
        f"{path}:{node.lineno} {ast.unparse(node)}"
        for path, tree in found.items()
        if not path.startswith(MAY_MEASURE)
        for node in ast.walk(tree)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub) and _reads_a_clock(node)
    ]


def _reads_a_clock(node: ast.BinOp) -> bool:
    sides = (node.left, node.right)
    return any(isinstance(one, ast.Call) and ast.unparse(one.func) in CLOCKS for one in sides)


def copied(found: Trees) -> list[str]:
    """Fixtures, and functions that are not short, which several files define alike."""
    places: dict[str, list[str]] = defaultdict(list)
    for path, tree in found.items():
        own = {node.name: ast.unparse(node) for node in tree.body if isinstance(node, Definition)}
        for node in _helpers(tree):
            places[_meaning(node, own)].append(f"{path} {node.name}")
    several = [names for names in places.values() if len({n.split()[0] for n in names}) > 1]
    return [", ".join(names) for names in several]


def _helpers(tree: ast.Module) -> Iterator[Definition]:
    for node in tree.body:
        if isinstance(node, Definition) and not node.name.startswith("test_"):
            is_fixture = any("fixture" in ast.unparse(one) for one in node.decorator_list)
            if is_fixture or len(_body(node)) > SHORT:
                yield node


def _meaning(node: Definition, own: dict[str, str]) -> str:
    """What it does, with what it uses of its own file."""
    used = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)} & own.keys()
    return "\n".join([_body(node), *(own[name] for name in sorted(used - {node.name}))])


def _body(node: Definition) -> str:
    described = ast.get_docstring(node) is not None
    return "\n".join(ast.unparse(one) for one in node.body[described:])


@pytest.fixture(scope="module")
def ours() -> Trees:
    return trees(ROOT)


def test_no_test_is_decided_by_a_clock_on_the_wall(ours: Trees) -> None:
    assert measured(ours) == []


def test_no_fixture_is_copied(ours: Trees) -> None:
    assert copied(ours) == []


MADE_UP = """
import time, pytest

@pytest.fixture
def ten():
    \"\"\"Some words.\"\"\"
    return number()

def number():
    return {}

def test_quick():
    began = time.monotonic()
    assert time.monotonic() - began < 1
"""


def test_a_clock_and_a_copy_are_seen(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    for name, number in (("a", 10), ("b", 10), ("c", 11)):
        (tmp_path / "tests" / f"{name}.py").write_text(MADE_UP.replace("{}", str(number)))
    found = trees(tmp_path)
    assert [one.split()[0] for one in measured(found)] == [f"tests/{n}.py:14" for n in "abc"]
    assert copied(found) == ["tests/a.py ten, tests/b.py ten"]


def test_what_one_tier_leaves_out_is_in_the_next_and_all_are_checked() -> None:
    makefile, checks = (
        (ROOT / name).read_text(encoding="utf-8") for name in ("Makefile", ".ci/run")
    )
    left_out = re.search(r'^main-tests:\n.*-m "not (\w+) and not (\w+)"$', makefile, re.MULTILINE)
    assert left_out
    further = rf'^long:.*\n.*\n.*-m "{left_out[1]} or {left_out[2]}"$'
    assert re.search(further, makefile, re.MULTILINE)
    assert checks.endswith("\nmake check\nmake test\nmake long\n")
