"""Teams that answer in structures, on the chat page: tables out of documents, and the game that one
watches.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from agentkit import runs
from agentkit.core import stopping
from agentkit.errors import Stopped
from agentkit.llm.calls.scripted import scripted_model
from agentkit.runs import Run
from agentkit.teams import Answer
from tests.app.conftest import ScriptableWorkspace
from tests.app.driver import open_page, settle
from tests.teams.werewolf.table import Turn, players

Ingest = Callable[[str, dict[str, str]], None]
BILLS = {"a.txt": "Total: 12.50 EUR\nDate: 2025-03-03", "b.txt": "Total: 7 EUR"}
WANTED = "table of: total (number), date (date)"
PROSE = "I would rather talk."


def texts(app: AppTest) -> list[str]:
    shown = [*app.markdown, *app.caption, *app.error]
    return [re.sub(r"\\(.)", r"\1", one.value) for one in shown]


def begin(team: str, question: str) -> tuple[AppTest, Run[Answer]]:
    """Choose the team for a new chat and ask; gives the page and the run."""
    app = open_page("chat")
    app.selectbox(key="team-new").set_value(team).run()
    app.chat_input[0].set_value(question).run()
    assert not app.exception, app.exception[0].stack_trace
    (run,) = [run for run in runs._registry.values() if run.chat_id == app.query_params["chat"]]
    return app, run


def steps(app: AppTest, run: Run[Answer], level: str) -> list[str]:
    """What the page shows at this level, with the steps unfolded."""
    app.segmented_control(key="level-choice").set_value(level).run()
    if level != "answer":
        app.session_state[f"steps-{run.id}"] = True  # what a click on the expander does
        app.run()
    assert not app.exception, app.exception[0].stack_trace
    return texts(app)


def test_a_table_of_what_stands_literally_in_the_documents(
    workspace: ScriptableWorkspace, ingest: Ingest
) -> None:
    ingest("Bills", BILLS)
    app, run = begin("table", WANTED)
    settle(app)
    (table,) = [shown.value for shown in app.markdown if "| Document |" in shown.value]
    assert table.splitlines()[:4] == [
        "| Document | total | date |",
        "| --- | --- | --- |",
        (
            f"| a.txt | 12.5\u00a0[\\[1\\]](#cite-{run.message_id}-1) |"
            f" 2025-03-03\u00a0[\\[2\\]](#cite-{run.message_id}-2) |"
        ),
        f"| b.txt | 7\u00a0[\\[3\\]](#cite-{run.message_id}-3) |  |",
    ]
    below = [pills.key for pills in app.pills if pills.key != "warm-sources"]
    assert not below, "the markers stand in the table, so there are no chips below it"
    assert [button.label for button in app.download_button] == ["CSV", "Parquet", "JSON"]
    shown = steps(app, run, "calls")
    assert any("a.txt: 2 of 2 fields" in text for text in shown)
    app.session_state["open_source"] = f"{run.message_id}-3"  # what a click on the marker does
    app.run()
    assert any("[3] b.txt" in text for text in texts(app))


@pytest.mark.parametrize(
    ("documents", "question", "told"),
    [
        (BILLS, "How is the weather?", "The question names no fields."),
        ({}, WANTED, "There are no documents"),
    ],
)
def test_without_fields_or_documents_it_says_what_to_do(
    workspace: ScriptableWorkspace,
    ingest: Ingest,
    documents: dict[str, str],
    question: str,
    told: str,
) -> None:
    ingest("Bills", documents)
    app, _ = begin("table", question)
    settle(app)
    assert any(text.startswith(told) for text in texts(app))
    assert not app.download_button


def test_a_reply_that_cannot_be_read_is_told_with_its_reason_only_where_everything_is(
    workspace: ScriptableWorkspace, ingest: Ingest
) -> None:
    ingest("Bills", {"b.txt": BILLS["b.txt"]})
    workspace.script(PROSE, json.dumps({"total": {"value": 7, "quote": "Total: 7 EUR"}}))
    app, run = begin("table", "table of: total (number)")
    settle(app)
    assert not any("could not be read" in text or PROSE in text for text in texts(app))
    calls = steps(app, run, "calls")
    assert ":material/rule: Extractor: reply 1 could not be read" in calls
    assert not any(PROSE in text for text in calls)
    everything = steps(app, run, "everything")
    assert any("reply 1 could not be read" in text and PROSE in text for text in everything)
    assert "total: value: 7, quote: Total: 7 EUR" in everything, "in words, not as JSON"


def test_thoughts_are_shown_only_with_everything(workspace: ScriptableWorkspace) -> None:
    workspace.added.insert(0, scripted_model(players()))
    app, run = begin("werewolf", "Play!")
    settle(app)
    assert any(
        "The werewolves win: they are at least as many as the others." in text
        for text in texts(app)
    )
    calls = steps(app, run, "calls")
    assert any("**Moderator** to everyone" in text for text in calls)
    assert any(text.endswith(" speaks") for text in calls), "what a player says to all"
    assert not any("Secretly" in text or "thought" in text or "{" in text for text in calls)
    everything = steps(app, run, "everything")
    assert sum("thought: Secretly, Player" in text for text in everything) > 10
    assert "finish_discussion: yes" in everything
    assert not any("Night 1" in text or "Secretly" in text for text in steps(app, run, "answer"))


def test_nights_and_days_of_a_game_are_headings_among_its_steps(
    workspace: ScriptableWorkspace,
) -> None:
    workspace.added.insert(0, scripted_model(players()))
    app, run = begin("werewolf", "Play!")
    settle(app)
    calls = steps(app, run, "calls")
    headings = [text for text in calls if text.startswith("###### ")]
    assert headings[:2] == [
        "###### :material/bedtime: Night 1",
        "###### :material/light_mode: Day 1",
    ]
    assert len(headings) == len(set(headings)), "each once"
    assert any(text.startswith("Alive: Player1") for text in calls)
    assert not any("begins" in text for text in calls), "said by the heading"


class Pausing:
    """Plays harmlessly until the first talk by day, then waits to go on, or to be stopped."""

    def __init__(self) -> None:
        self.paused, self.go_on = threading.Event(), threading.Event()
        self._reply = players(talk=self._talk)

    def __call__(self, request: Mapping[str, Any]) -> str:
        return self._reply(request)

    def _talk(self, turn: Turn) -> None:
        self.paused.set()
        signal = stopping.current()
        while not self.go_on.is_set():
            if signal.wait(0.01):
                raise Stopped("stopped by the user")


Watched = tuple[AppTest, Run[Answer], Pausing]


@pytest.fixture
def watched(workspace: ScriptableWorkspace) -> Iterator[Watched]:
    """A game that halts where the first player is to talk by day."""
    script = Pausing()
    workspace.added.insert(0, scripted_model(script))
    app, run = begin("werewolf", "Play!")
    assert script.paused.wait(120)
    app.run()
    yield app, run, script
    script.go_on.set()


def test_a_game_is_watched_while_it_goes_on_and_after_a_refresh(watched: Watched) -> None:
    app, _, script = watched
    for page in (app, open_page("chat", chat=app.query_params["chat"])):
        (unfolded,) = [
            expander for expander in page.expander if expander.label.endswith("is thinking")
        ]
        assert unfolded.proto.expanded
        assert any("Talk about who may be a werewolf." in said.value for said in unfolded.markdown)
        assert any(text.startswith(f"{unfolded.label} · ") for text in texts(page)), (
            "told beside Stop, too: the label is out of sight by then"
        )
        assert not any("Secretly" in text for text in texts(page))
    script.go_on.set()
    settle(app)
    assert any("The werewolves win" in text for text in texts(app))


def test_what_players_write_for_the_game_is_not_shown_while_they_write(
    workspace: ScriptableWorkspace,
) -> None:
    client = workspace.halting("Secretly, in prose: ", "nothing.")
    app, run = begin("werewolf", "Play!")
    assert client.halted.wait(120)
    app.run()
    assert any("is thinking" in text for text in texts(app)), texts(app)
    assert not any("Secretly" in text for text in texts(app))
    run.stop()
    run.wait(120)


def test_a_game_that_is_stopped_tells_how_far_it_came(watched: Watched) -> None:
    app, run, _ = watched
    app.button(key=f"stop-{run.id}").click().run()
    settle(app)
    assert any("The game was stopped on day 1; nobody has won." in text for text in texts(app))
    assert any("Stopped. What had been written by then is kept." in text for text in texts(app))
