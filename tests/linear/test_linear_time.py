"""Every function that reads what others wrote takes linear time, whatever they wrote."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.linear import feeding
from tests.linear.eaters import EATERS
from tests.linear.feeding import Eater, Worst, eaten

ROOT = Path(__file__).parents[2]
MEALS = [
    pytest.param(which, course, id=f"{eater.name}-{meal}")
    for which, eater in enumerate(EATERS)
    for course, meal in enumerate(eater.meals)
]
Feed = Callable[[int, int], str]


@pytest.fixture(scope="module")
def feed() -> Iterator[Feed]:
    """Feeds an eater with a meal, by their numbers; gives what went wrong."""
    command = [sys.executable, "-m", "tests.linear.serving"]
    environment = {**os.environ, "PYTHONUTF8": "1", "PYTHONHASHSEED": "0"}
    with subprocess.Popen(
        command,
        cwd=ROOT,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as server:
        asked, answered = server.stdin, server.stdout
        assert asked is not None
        assert answered is not None

        def ask(which: int, course: int) -> str:
            asked.write(f"{which} {course}\n")
            asked.flush()
            return str(ast.literal_eval(answered.readline()))

        yield ask
        asked.close()


@pytest.mark.soak
@pytest.mark.parametrize(("which", "course"), MEALS)
def test_long_texts_of_the_worst_are_read_in_linear_time(
    which: int, course: int, feed: Feed
) -> None:
    assert feed(which, course) == ""


def test_no_two_eaters_have_the_same_name() -> None:
    names = [eater.name for eater in EATERS]
    assert len(names) == len(set(names))


def _squares(text: str) -> int:
    return sum(text.count("x", start) for start in range(len(text)))


def _fails(text: str) -> None:
    raise KeyError(text[:3])


def test_the_square_of_the_time_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feeding, "LIMIT_S", 1)
    assert "processor time" in eaten(Eater("squares", _squares), Worst("a"))
    assert "KeyError: 'aaa'" in eaten(Eater("fails", _fails), Worst("a"))
    assert eaten(Eater("linear", len), Worst("a")) == ""
