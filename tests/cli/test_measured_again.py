"""`eval --again`, and what `ingest` says of question sets that were measured before."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentkit.retrieval.store.questions import Question
from tests.cli.conftest import Cli
from tests.cli.test_figures import opened_store

NAMES = ("one", "two", "three", "four", "five", "six", "seven", "eight")
OWNER = "local"


@pytest.fixture
def measured(cli: Cli, tmp_path: Path) -> Path:
    """Eight documents that were taken in, and a set of questions that was measured on them."""
    folder = tmp_path / "rooms"
    folder.mkdir()
    for name in NAMES:
        (folder / f"{name}.md").write_text(f"The room {name} is {name}.")
    cli("ingest", folder, "--collection", "Rooms")
    with opened_store() as workspace:
        questions = [Question(f"room {name}", {f"{name}.md": 1}) for name in NAMES]
        workspace.library.questions.create(OWNER, "Doors", "Rooms", questions)
    assert cli("eval", "--set", "Doors").code == 0
    return folder


def forget(left: int) -> None:
    """Delete all documents but some."""
    with opened_store() as workspace:
        there = workspace.library.documents(OWNER, "Rooms")
        workspace.library.delete_documents(OWNER, [one.id for one in there[left:]])


def test_what_is_out_of_date_is_measured_again_and_worse_is_an_exit_code(
    cli: Cli, measured: Path
) -> None:
    ended = cli("eval", "--again")
    assert (ended.code, ended.err.strip()) == (0, "No measurement is out of date.")
    assert cli("eval", "--again", "--json").json == {"measured": []}
    forget(7)
    ended = cli("eval", "--again")
    assert (ended.code, "Measuring 1 question set again" in ended.err) == (0, True)
    assert "too few differ to tell it from chance" in ended.out
    forget(1)
    ended = cli("eval", "--again", "--collection", "Rooms", "--json")
    [found] = ended.json["measured"]
    assert (ended.code, found["verdict"], found["questions"]) == (1, "worse", 8)
    assert (found["set"], found["collection"], found["causes"]) == ("Doors", "Rooms", ["documents"])
    assert found["interval"][0] < found["difference"] < 0
    assert cli("eval", "--again", "--set", "Doors").code == 2


def test_ingest_tells_of_sets_and_measures_those_that_are_set_to_it(
    cli: Cli, measured: Path
) -> None:
    other = measured / "nine.md"
    other.write_text("The room nine is nine.")
    assert (
        "Doors was measured before this: `agentkit eval --again`"
        in cli("ingest", other, "--collection", "Rooms").err
    )
    with opened_store() as workspace:
        made = workspace.library.questions.named(OWNER, "Doors")
        workspace.library.questions.set_repeats(OWNER, made.id, repeats=True)
    (measured / "ten.md").write_text("The room ten is ten.")
    ended = cli("ingest", measured / "ten.md", "--collection", "Rooms")
    assert "Doors measured again: nDCG@10 " in ended.err
    assert cli("eval", "--again").err.strip() == "No measurement is out of date."
