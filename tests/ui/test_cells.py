"""Cells of a kernel as steps, live and stored alike, and words for what is seen in them."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from agentkit.coding.chat_kernel.following import EndReason
from agentkit.events import Cell, CodeBegan, CodeOutput, CodeRan, Event, MessageSent, Recorded
from agentkit.teams.cells import RESTARTED
from agentkit.ui.steps import cells, draw
from agentkit.ui.steps.step import CellRun
from agentkit.ui.steps.turns import steps
from agentkit.ui.text import results

BEGAN = CodeBegan("c", "Runner", "python", "print(1)", "chat")


def recorded(*events: Event) -> list[Recorded]:
    return [Recorded(seq, float(seq), event) for seq, event in enumerate(events, start=1)]


def printed(text: str) -> dict[str, Any]:
    return {"kind": "text", "text": text, "stream": "stdout"}


def test_a_cell_is_one_step_from_its_beginning_to_its_end() -> None:
    running = Cell("c", "running", chat_id="chat")
    assert steps(recorded(BEGAN)) == [CellRun("python", "print(1)", running)]
    pieces = [CodeOutput("c", "Runner", printed(text)) for text in "ab"]
    (run,) = steps(recorded(BEGAN, *pieces))
    assert isinstance(run, CellRun)
    assert run.cell.outputs == [printed("a"), printed("b")]
    assert draw.describe_doing(run) == "Running Python"
    cell = Cell("c", "ok", [printed("ab")], chat_id="chat")
    ran = CodeRan("Runner", "python", "print(1)", 0, "ab", seconds=0.5, cell=cell)
    ended = CellRun("python", "print(1)", cell, 0.5)
    handed_on = MessageSent("m", None, "Runner", "Assistant", "user", "exitcode: 0")
    inner = [handed_on] if handed_on.extra.update(inner=True) is None else []
    assert steps(recorded(BEGAN, *pieces, ran, *inner)) == [ended]
    assert steps(recorded(ran)) == [ended], "as it is stored"
    assert draw.describe_doing(ended) == "Working on the answer"


def test_code_that_ran_in_no_kernel_is_a_step_by_itself() -> None:
    ran = CodeRan("Runner", "sh", "echo", 0, "")
    assert steps(recorded(ran)) == [ran]


def test_output_of_a_cell_that_nobody_saw_begin_shows_nothing() -> None:
    assert steps(recorded(CodeOutput("other", "Runner", printed("a")))) == []


def test_every_end_of_a_kernel_has_its_words() -> None:
    assert cells.ENDS.keys() == {*get_args(EndReason), RESTARTED}


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ('plt.title("Fares by month")\nax.set_title(f"x")', "Plot: Fares by month; x"),
        ("plt.plot([1])", "A picture that the code made"),
    ],
)
def test_a_picture_is_told_by_the_titles_in_its_code(code: str, told: str) -> None:
    assert results.describe_picture(code) == told


def test_a_chart_is_told_by_its_title_and_fields() -> None:
    encoding = {"x": {"field": "month"}, "y": {"field": "boats", "title": "Boats"}}
    spec = {"title": "By month", "encoding": encoding, "datasets": {"d": [{"field": "secret"}]}}
    assert results.describe_chart(spec) == "Chart: By month, month, boats, Boats"


def test_columns_of_one_name_are_told_apart() -> None:
    assert results.name_apart(["a", "b", "a", ""]) == ["a (1)", "b", "a (3)", ""]
