"""Chats that look only into a part of a collection, and what they say when nothing of it counts as
evidence.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import date, datetime
from typing import Any

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from agentkit.events import MessageSent, Retrieved
from agentkit.llm.calls.scripted import scripted_model
from agentkit.retrieval.options import DEFAULT
from agentkit.retrieval.types import Scope
from agentkit.teams.question import EVERYTHING, Question, scope_to_json
from agentkit.ui.shared import filters
from agentkit.ui.steps import draw
from tests.app.conftest import ScriptableWorkspace
from tests.app.driver import OWNER, open_page, settle, texts

QUESTION = "At how many degrees is tea brewed?"


@pytest.fixture
def kitchen(workspace: ScriptableWorkspace, ingest: Callable[[str, dict[str, str]], None]) -> str:
    """The id of a collection in which two documents answer the question, one of them tagged."""
    ingest(
        "Kitchen",
        {
            "green.md": "Green tea is brewed at 70 degrees.",
            "black.md": "Black tea is brewed at 95 degrees.",
        },
    )
    green = next(
        one for one in workspace.library.documents(OWNER, "Kitchen") if one.name == "green.md"
    )
    workspace.library.tag_documents(OWNER, [green.id], add=["mild"])
    return workspace.library.collection(OWNER, "Kitchen").id


def narrowed(kitchen: str) -> AppTest:
    """A new chat that looks only into what is tagged as mild."""
    app = open_page("chat")
    app.button(key="narrow").click().run()
    app.multiselect(key=f"narrow-new-{kitchen}-tags").set_value(["mild"]).run()
    app.button(key="narrow-done").click().run()
    assert not app.exception
    return app


def ask(app: AppTest, question: str = QUESTION) -> AppTest:
    app.chat_input[0].set_value(question).run()
    return settle(app)


def found_in(workspace: ScriptableWorkspace, chat: str) -> list[set[str]]:
    """The documents of the passages that each question of a chat was answered from."""
    asked = [said for said in workspace.ledger.thread(OWNER, chat) if said.role != "user"]
    return [{citation["document"] for citation in said.extra["citations"]} for said in asked]


def links(app: AppTest) -> list[Any]:
    found: Any = app.get("page_link")
    return list(found)


def test_a_filter_that_is_set_while_a_linked_search_is_being_drawn_counts(
    kitchen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as interrupted:
        interrupted.setattr(filters, "_write_address", lambda key: st.stop())
        app = open_page("retrieval_lab", collection="Kitchen", tags="mild")
    app.session_state[f"filter-{kitchen}-tags"] = []
    app.run()
    assert not app.exception
    assert app.session_state[f"filter-{kitchen}-tags"] == []
    assert "tags" not in app.query_params


def test_a_chat_stays_narrowed_until_it_is_cleared(
    workspace: ScriptableWorkspace, kitchen: str
) -> None:
    app = narrowed(kitchen)
    assert "Only: tag mild" in texts(app)
    ask(app)
    chat = str(app.query_params["chat"])
    ask(app)
    assert found_in(workspace, chat) == [{"green.md"}] * 2
    app.button(key=f"narrow-{chat}-{kitchen}-clear").click().run()
    ask(app, "At how many degrees is black tea brewed?")
    assert "black.md" in found_in(workspace, chat)[2]
    questions = [said for said in workspace.ledger.thread(OWNER, chat) if said.role == "user"]
    assert [Question.from_message(said).scope.tags for said in questions] == [
        ["mild"],
        ["mild"],
        (),
    ]
    assert open_page("chat").get("chat_input"), "a new chat is there"
    assert "Only:" not in texts(open_page("chat"))


def test_what_a_chat_is_narrowed_to_belongs_to_the_chat(
    workspace: ScriptableWorkspace, kitchen: str
) -> None:
    narrowed(kitchen)
    app = open_page("chat")  # refreshed before the first question
    assert "Only: tag mild" in texts(app)
    ask(app)
    chat = str(app.query_params["chat"])
    refreshed = open_page("chat", chat=chat)
    assert "Only: tag mild" in texts(refreshed)
    ask(refreshed)
    assert found_in(workspace, chat) == [{"green.md"}] * 2
    other = open_page("chat", chat=chat)
    other.button(key="narrow").click().run()
    assert other.multiselect(key=f"narrow-{chat}-{kitchen}-tags").value == ["mild"]
    other.date_input(key=f"narrow-{chat}-{kitchen}-from").set_value(date(2020, 1, 2)).run()
    other.button(key="narrow-done").click().run()
    refreshed.button(key="narrow").click().run()  # the other tab has been changed meanwhile
    assert refreshed.date_input(key=f"narrow-{chat}-{kitchen}-from").value == date(2020, 1, 2)
    assert "tag mild, added from" in texts(refreshed)
    refreshed.button(key="narrow-clear").click().run()
    assert "tag mild, added from" not in texts(open_page("chat", chat=chat))


def test_attached_files_belong_to_the_chosen_documents(
    workspace: ScriptableWorkspace, kitchen: str
) -> None:
    green = next(
        one for one in workspace.library.documents(OWNER, "Kitchen") if one.name == "green.md"
    )
    app = open_page("chat")
    app.button(key="narrow").click().run()
    app.multiselect(key=f"narrow-new-{kitchen}-documents").set_value([green.id]).run()
    app.button(key="narrow-done").click().run()
    box: Any = app.chat_input[0]
    box.upload("soup.txt", b"Soup is cooked for an hour.", "text/plain")
    box.set_value("How long is soup cooked?").run()
    settle(app)
    assert "soup.txt" in found_in(workspace, str(app.query_params["chat"]))[0]
    assert texts(app).count("Only: green.md") == 2, "above the composer, and below the question"
    assert "1 document" not in texts(app)


def test_what_a_chat_looks_into_is_named(workspace: ScriptableWorkspace, kitchen: str) -> None:
    green, black = (
        next(one.id for one in workspace.library.documents(OWNER, "Kitchen") if one.name == name)
        for name in ("green.md", "black.md")
    )
    assert filters.in_words(Scope([green])) == "green\\.md"
    assert (
        filters.in_words(Scope([black, green, "x"], tags=["mild"]))
        == "black\\.md and 2 more, tag mild"
    )
    workspace.library.delete_documents(OWNER, [black])
    assert filters.in_words(Scope([black, green])) == "2 documents"
    assert filters.in_words(Scope([])) == "0 documents"


def test_weak_evidence_is_told_with_a_way_to_see_it(
    workspace: ScriptableWorkspace, kitchen: str
) -> None:
    workspace.library.set_options(OWNER, "Kitchen", replace(DEFAULT, min_score=1.0))
    app = ask(narrowed(kitchen))
    shown = texts(app)
    assert "Weak evidence only." in shown
    assert "1 passage scored below 1" in shown
    assert "Clear what the question is narrowed to." in shown
    [link] = [one for one in links(app) if one.label == "See this search in the retrieval lab"]
    assert "collection=Kitchen" in link.proto.query_string


def test_nothing_found_is_told_and_an_answer_with_sources_is_left_alone(
    workspace: ScriptableWorkspace, kitchen: str
) -> None:
    workspace.library.set_options(OWNER, "Kitchen", replace(DEFAULT, mode="lexical"))
    assert "No passage was found." in texts(ask(open_page("chat"), "zebra"))
    app = ask(open_page("chat"))
    assert "No passage was found." not in texts(app)
    assert "Weak evidence" not in texts(app)


def test_agents_look_for_exact_words_in_the_scope(
    workspace: ScriptableWorkspace, kitchen: str
) -> None:
    calls = [
        {
            "id": text,
            "type": "function",
            "function": {"name": "find_exact", "arguments": json.dumps({"text": text})},
        }
        for text in ("95 degrees", "70 degrees")
    ]
    script: list[str | dict[str, Any]] = [
        *({"content": None, "tool_calls": [call]} for call in calls),
        "It is brewed at 70 degrees [1].\n\nTERMINATE",
    ]
    model = scripted_model(script)
    workspace.added.insert(0, model)
    run = workspace.ask(
        OWNER,
        QUESTION,
        collection="Kitchen",
        team_id="assistant",
        model_id=model.id,
        scope=Scope(tags=["mild"]),
    )
    assert [citation.document for citation in run.result().citations] == ["green.md"]
    first, second = [one.event for one in run.events() if isinstance(one.event, Retrieved)]
    assert (first.query, first.hits) == ("95 degrees", [])
    assert [hit["document"] for hit in second.hits] == ["green.md"]


def test_what_is_narrowed_survives_the_way_through_the_ledger(
    workspace: ScriptableWorkspace,
) -> None:
    scope = Scope(
        ["a", "b"],
        ["application/pdf"],
        ["*x*"],
        datetime.fromisoformat("2026-01-02T03:00"),
        datetime.fromisoformat("2026-01-04"),
        2,
        9,
    )
    said = MessageSent(
        "1", None, "user", "team", "user", "?", extra={"scope": scope_to_json(scope)}
    )
    assert Question.from_message(said).scope == scope
    assert scope_to_json(EVERYTHING) == {}
    assert (
        filters.in_words(scope)
        == "2 documents, PDF, tag \\*x\\*, added from 2 Jan 2026, added to 3 Jan 2026, from page 2,"
        " to page 9"
    )
    assert filters.in_words(EVERYTHING) == ""


@pytest.mark.parametrize(
    ("left_out", "mode", "seconds", "line"),
    [
        ({}, "hybrid", 0.0041, "Looked up “tea”: 0 passages, 4.1 ms"),
        (
            {"weak": 3, "duplicate": 1},
            "hybrid",
            0.04,
            "Looked up “tea”: 0 passages, 40 ms; 3 weak and 1 duplicate left out",
        ),
        (
            {"duplicate": 2},
            "dense",
            0.4,
            "Looked up “tea”: 0 passages, 0.40 s; 2 duplicates left out",
        ),
        ({}, "exact", 3.0, "Looked for exactly “tea”: 0 passages, 3.0 s"),
    ],
)
def test_the_line_of_a_search_tells_what_was_left_out(
    left_out: dict[str, int], mode: str, seconds: float, line: str
) -> None:
    found = Retrieved("tea", "Kitchen", mode, [], seconds, left_out=left_out)
    assert draw.describe(found) == f":material/search: {line}"
