"""The README's example of agents runs without a server and prints what it promises."""

from __future__ import annotations

import re

import pytest

from tests.examples.page import PAGE

README = PAGE.parents[1] / "README.md"


def test_the_example_prints_the_answer(capsys: pytest.CaptureFixture[str]) -> None:
    _workspace, example = re.findall(
        r"```python\n(.*?)```", README.read_text(encoding="utf-8"), flags=re.DOTALL
    )
    names: dict[str, object] = {"__name__": "example"}
    exec(example, names)
    printed = capsys.readouterr().out
    assert printed.splitlines()[-1] == "You have 18 days left."
    assert re.search(r"Response from 1 \*+\n18\n", printed), "the tool was executed"
