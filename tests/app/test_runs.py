"""The Runs page: every run found, looked into step by step, and what can be done with a step."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from agentkit.events import (
    CodeRan,
    Compressed,
    Event,
    HumanAnswered,
    HumanInputRequested,
    ModelCalled,
    ModelReplied,
    PlanMade,
    Recorded,
    Retrieved,
    RunFailed,
    RunStarted,
    SpeakerSelected,
    StepDone,
    ToolCalled,
    ToolReturned,
    Unknown,
    Usage,
)
from agentkit.ledger import LedgerWriter, RunKey, queries, run_list
from agentkit.ledger.spans import Trace
from agentkit.ledger.trace import build_trace
from agentkit.workspace import Workspace
from tests.app.conftest import ScriptableWorkspace
from tests.app.driver import OWNER, open_page, texts

Ingest = Callable[[str, dict[str, str]], None]
QUESTION = "How hot is green tea?"


def ask(workspace: Workspace, text: str = QUESTION) -> str:
    run = workspace.ask(OWNER, text, collection="Kitchen", model_id="offline")
    run.result()
    return run.id


def keep(workspace: Workspace, *events: Event, run_id: str = "odd", kind: str = "script") -> str:
    """A run of these events, a second each, without an end if there is none among them."""
    writer = LedgerWriter(workspace.ledger, RunKey(run_id, OWNER))
    for seq, event in enumerate([RunStarted(kind, "a script"), *events], start=1):
        writer.write(Recorded(seq, 1_700_000_000.0 + seq, event))
    writer.flush()
    return run_id


def trace_of(workspace: Workspace, run_id: str) -> Trace:
    return build_trace(queries.events(workspace.ledger, OWNER, run_id))


def find_step(workspace: Workspace, run_id: str, kind: str) -> str:
    found = (one for one in trace_of(workspace, run_id).spans if one.kind == kind)
    return str(next(found).seq)


def data_of(app: AppTest, name: str) -> dict[str, Any]:
    """What the page gives to a piece of our own."""
    (piece,) = [
        one for one in app.get("bidi_component") if one.proto.component_name == f"agentkit_{name}"
    ]
    data: dict[str, Any] = json.loads(piece.proto.json)
    return data


def listed(app: AppTest) -> list[str]:
    """The titles of the runs on the page."""
    return [row["cells"][0] for row in data_of(app, "run_table")["rows"]]


def steps(app: AppTest) -> list[list[Any]]:
    """Kind, name and what is told of each step on the page."""
    return [[row[2], row[3], row[8]] for row in data_of(app, "trace")["rows"]]


def test_an_empty_ledger_leads_to_the_chat(workspace: ScriptableWorkspace) -> None:
    app = open_page("runs")
    assert "Nothing was run yet" in texts(app)
    assert [link.label for link in app.page_link] == ["Ask a question"]


def test_what_was_chosen_is_in_the_address_before_the_runs_are_drawn(
    kitchen: ScriptableWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who opens one of them then ends the drawing; the way back leads to what was chosen all the
    same.
    """
    ask(kitchen)
    app = open_page("runs")
    monkeypatch.setattr(run_list, "list_runs", lambda *_: st.stop())
    app.text_input(key="runs-q").set_value("HOT tea").run()
    assert app.query_params["q"] == "HOT tea"


def test_runs_are_found_and_the_address_says_which(kitchen: ScriptableWorkspace) -> None:
    ask(kitchen)
    keep(kitchen, RunFailed("the server went away", "ModelUnreachable"))
    app = open_page("runs")
    assert listed(app) == [QUESTION, "tea.txt into Kitchen", "a script"]
    (_, ingest, failed) = data_of(app, "run_table")["rows"]
    assert ingest["cells"][1:4] == ["Documents taken in", "", "finished"]
    assert (failed["below"], failed["bad"]) == ("The server went away", 3)
    app.text_input(key="runs-q").set_value("HOT tea").run()
    assert listed(app) == [QUESTION]
    assert app.query_params["q"] == "HOT tea"
    app.button(key="runs-clear").click().run()
    app.multiselect(key="runs-team").set_value(["answer"]).run()
    assert listed(app) == [QUESTION]
    assert dict(app.query_params) == {"team": "answer"}
    app = open_page("runs", state="failed", sort="dearest")
    assert listed(app) == ["a script"]
    href = data_of(app, "run_table")["rows"][0]["href"]
    assert href == "?state=failed&sort=dearest&run=odd"
    app.multiselect(key="runs-column").set_value(["Cost", "State"]).run()
    table = data_of(app, "run_table")
    assert [name for name, _ in table["columns"]] == ["Run", "State", "Cost"]
    assert (table["rows"][0]["cells"][:2], table["rows"][0]["bad"]) == (["a script", "failed"], 1)
    assert app.query_params["column"] == ["Cost", "State"]
    app = open_page("runs", column="Took")
    assert [name for name, _ in data_of(app, "run_table")["columns"]] == ["Run", "Took"]
    app = open_page("runs", state="unheard", sort="none", page="x", **{"from": "never"})
    assert "No runs fit these filters" in texts(app)


def test_a_document_leads_to_the_runs_that_took_it_in_found_it_and_cited_it(
    kitchen: ScriptableWorkspace,
) -> None:
    ask(kitchen)
    (document,) = kitchen.library.documents(OWNER, "Kitchen")
    app = open_page("runs", document=document.id)
    assert listed(app) == [QUESTION, "tea.txt into Kitchen"]
    assert "Only runs with tea.txt" in texts(app)
    app.button_group(key="runs-how").set_value(["cited"]).run()
    assert listed(app) == [QUESTION]
    assert dict(app.query_params) == {"document": document.id, "how": "cited"}
    app = open_page("runs", document=document.id, how="taken in")
    assert listed(app) == ["tea.txt into Kitchen"]
    app = open_page("runs", document="gone", how="dreamt of")
    assert "No runs fit these filters" in texts(app)


def test_long_lists_stand_on_pages(workspace: ScriptableWorkspace) -> None:
    for number in range(51):
        keep(workspace, run_id=f"run-{number}")
    app = open_page("runs", page="2")
    assert len(listed(app)) == 1
    app.text_input(key="runs-q").set_value("script").run()
    assert len(listed(app)) == 50
    assert "page" not in app.query_params


def test_a_question_is_seen_step_by_step(kitchen: ScriptableWorkspace) -> None:
    run_id = ask(kitchen)
    app = open_page("runs", run=run_id)
    assert app.title[0].value == QUESTION
    assert "Question · Answer with citations · finished" in texts(app)
    assert "Critical path" in texts(app)
    assert [kind for kind, _, _ in steps(app)][:3] == ["Run", "Message", "Look-up"]
    assert [link.label for link in app.page_link] == ["Open the chat"]
    app.button(key="go-largest").click().run()
    assert app.query_params["step"] == find_step(kitchen, run_id, "model")
    shown = texts(app)
    assert "2 messages" in shown
    assert "extractive of offline replied" in shown
    assert "Tokens: about" in shown
    assert any("80 degrees" in block.value for block in app.code)
    app.button(key="close-step").click().run()
    assert "step" not in app.query_params
    app.button(key="all-runs").click().run()
    assert listed(app) == [QUESTION, "tea.txt into Kitchen"]


def test_a_text_is_found_among_the_steps(kitchen: ScriptableWorkspace) -> None:
    run_id = ask(kitchen)
    app = open_page("runs", run=run_id, find="STEEPED")
    found = [row[3] for row in data_of(app, "trace")["rows"] if row[11]]
    assert QUESTION in found
    assert "extractive" in found
    assert f"{len(found)} steps with STEEPED" in texts(app)
    app.text_input(key=f"find-{run_id}").set_value("nowhere").run()
    assert "0 steps with nowhere" in texts(app)
    assert app.query_params["find"] == "nowhere"


def test_a_look_up_tells_what_was_cited_and_what_was_not_given_and_why(
    workspace: ScriptableWorkspace, ingest: Ingest
) -> None:
    notes = {f"{name}.txt": f"Green {name} tea is hot." for name in ("sencha", "matcha", "hojicha")}
    ingest("Kitchen", {"tea.txt": "Green tea is steeped at 80 degrees.", **notes})
    options = workspace.library.options(OWNER, "Kitchen")
    workspace.library.set_options(OWNER, "Kitchen", options.__class__(top_k=1, min_score=0.01))
    run_id = ask(workspace)
    app = open_page("runs", run=run_id, step=find_step(workspace, run_id, "search"))
    assert "1 passage given" in texts(app)
    assert "cited as 1" in texts(app)
    app.session_state[f"not-given-{find_step(workspace, run_id, 'search')}"] = True
    app.run()
    assert "2, and 1 were asked for" in texts(app)
    (link,) = [one for one in app.page_link if "retrieval lab" in one.label]
    assert "%22top_k%22%3A+1" in link.proto.query_string
    settings = json.dumps({"mode": "lexical", "top_k": 3})
    app = open_page("retrieval_lab", collection="Kitchen", q="green", settings=settings)
    assert "Words · 3 passages" in texts(app)
    assert "settings" not in app.query_params
    open_page("retrieval_lab", collection="Kitchen", q="green", settings="{}[")


def test_a_question_goes_into_a_question_set(kitchen: ScriptableWorkspace) -> None:
    run_id = ask(kitchen)
    step = find_step(kitchen, run_id, "message")
    app = open_page("runs", run=run_id, step=step)
    assert app.multiselect(key=f"add-question-{step}-documents").value == ["tea.txt"]
    app.button(key=f"add-question-{step}-add").click().run()
    (made,) = kitchen.library.questions.sets(OWNER)
    (kept,) = kitchen.library.questions.questions(OWNER, made.id)
    assert (made.name, made.collection) == ("From runs", "Kitchen")
    assert (kept.text, kept.expected) == (QUESTION, {"tea.txt": 1})
    app.text_area(key=f"add-question-{step}-text").set_value("How hot?")
    app.button(key=f"add-question-{step}-add").click().run()
    texts_kept = [one.text for one in kitchen.library.questions.questions(OWNER, made.id)]
    assert texts_kept == [QUESTION, "How hot?"]


KINDS: Sequence[tuple[str, Event, str]] = [
    ("tool", ToolCalled("t", "Reader", "search", '{"q": "tea"}'), '{"q": "tea"}'),
    ("tool", ToolReturned("u", "Reader", "search", False, "no such thing"), "no such thing"),
    ("code", CodeRan("Runner", "python", "print(7)", 1, "seven"), "seven"),
    ("compression", Compressed("Writer", "window", True, 9, 3, 800, 90, summary="In short"), "800"),
    (
        "plan",
        PlanMade("Planner", "p", 2, [{"label": "#E1", "tool": "search", "arguments": "x"}], "bad"),
        "search[x]",
    ),
    ("step", StepDone("Planner", "p", "#E1", "search", "x", False, "", error="gone"), "gone"),
    ("wait", HumanInputRequested("r", "Writer", "May it?", ["approve"], "rm -r", "sh"), "rm -r"),
    ("wait", HumanAnswered("s", "", waited_s=30.0), "nobody answered within 30 seconds"),
    ("speaker", SpeakerSelected("Chair", "Bob", "auto", 2, ["Bob"]), "Round 2"),
    ("unknown", Unknown("Dreamt", {"of": "sheep"}), "sheep"),
    (
        "model",
        ModelReplied("c", "Writer", "far", "lost", status="failed", error="it is gone"),
        "it is gone",
    ),
    ("search", Retrieved("tea", "Gone", "hybrid", [], 0.1), "its collection or its settings"),
]


def _called(number: int, *texts: str, agent: str = "Writer") -> tuple[Event, Event]:
    """A call of the agent's model that was sent these texts, and its reply."""
    sent: Sequence[dict[str, Any]] = [{"role": "user", "content": text} for text in texts]
    return (
        ModelCalled(f"call-{number}", agent, "far", "small", messages=list(sent)),
        ModelReplied(f"call-{number}", agent, "far", "small", text="ok", seconds=0.5),
    )


def test_a_compression_is_told_by_the_messages_before_and_after_it(
    workspace: ScriptableWorkspace,
) -> None:
    shorter = Compressed("Writer", "summary", True, 4, 2, 800, 90, 30, seconds=2.5)
    run_id = keep(
        workspace,
        *_called(1, "be brief", "the first tea", "the second tea"),
        *_called(2, "elsewhere", agent="Reader"),
        *_called(3, "write a summary of the teas"),  # within the compression
        shorter,
        *_called(4, "be brief", "two teas, in short"),
        Compressed("Writer", "window", True, 9, 3, 800, 90),
    )
    step = find_step(workspace, run_id, "compression")
    app = open_page("runs", run=run_id, step=step)
    assert "**Call before** 3 messages · **call after** 2 messages" in texts(app)
    labels = ["2 messages no longer sent", "1 message new or shortened", "1 message sent as before"]
    assert [one.label for one in app.expander if one.label in labels] == labels
    for part in ("gone", "came", "stayed"):
        app.session_state[f"{part}-{step}"] = True
    app.run()
    shown = [block.value for block in app.code]
    order = ["the first tea", "the second tea", "two teas, in short", "be brief"]
    assert [text for text in shown if text in order] == order
    assert "write a summary of the teas" not in shown
    app.query_params["step"] = str(max(trace_of(workspace, run_id).events))
    app.run()
    assert "was not called after it" in texts(app)


def test_every_kind_of_step_is_told_also_of_an_odd_run(workspace: ScriptableWorkspace) -> None:
    run_id = keep(workspace, *(event for _, event, _ in KINDS))
    workspace.database.execute("update events set seq = 99 where seq = 5")
    app = open_page("runs", run=run_id)
    assert "What was stored of this run is odd" in texts(app)
    assert "the run has no end" in texts(app)
    trace = trace_of(workspace, run_id)
    for kind, event, told in KINDS:
        (span,) = [one for one in trace.spans if event in trace.events_of(one)]
        assert span.kind == kind
        app.query_params["step"] = str(span.seq)
        app.run()
        assert not app.exception, app.exception[0].stack_trace
        shown = "\n".join([texts(app), *(block.value for block in app.code)])
        assert told in shown, kind
    app.query_params["step"] = "c"  # the call
    app.run()
    assert "it is gone" in texts(app)
    app.query_params["step"] = "4711"
    app.run()
    assert "This run has no step 4711" in texts(app)
    assert "There is no run 'nowhere'" in texts(open_page("runs", run="nowhere"))


def test_of_a_huge_reply_the_beginning_is_shown(workspace: ScriptableWorkspace) -> None:
    said = [{"role": "user", "content": "Write all of it"}]
    more = [*said, {"role": "assistant", "content": "x"}, {"role": "user", "content": "More"}]
    raw = {"prompt_tokens": 7}
    run_id = keep(
        workspace,
        ModelCalled("a", "Writer", "server", "small", messages=said),
        ModelReplied("a", "Writer", "server", "small", text="A" * 10_000_000),
        ModelCalled("b", "Writer", "server", "small", messages=more),
        ModelReplied("b", "Writer", "server", "small", usage=Usage(7, 1, 2, 3, 4), raw_usage=raw),
    )
    app = open_page("runs", run=run_id, step="2")
    assert "9,980,000 characters more are in the file" in texts(app)
    assert max(len(block.value) for block in app.code) == 20_000
    app.query_params["step"] = "4"
    app.run()
    shown = texts(app)
    assert "3 messages · 2 of them new since the call before" in shown
    assert shown.count(":green-badge[new]") == 2
    spent = "7 in, 1 read from the cache, 2 written to the cache, 3 out, 4 reasoning"
    assert f"Tokens: {spent} · price unknown" in shown
    assert any("prompt_tokens" in block.value for block in app.code)


def test_an_answer_and_a_call_lead_to_their_run(kitchen: ScriptableWorkspace) -> None:
    run_id = ask(kitchen)
    (chat,) = kitchen.ledger.chats(OWNER)
    app = open_page("chat", chat=chat.id)
    (link,) = [one for one in app.page_link if one.label == "Run"]
    assert f"run={run_id}" in link.proto.query_string
    app.session_state["open_source"] = f"{kitchen.ledger.chat(OWNER, chat.id).head_id}-1"
    app.run()
    (link,) = [one for one in app.page_link if one.label == "Runs with this document"]
    (document,) = kitchen.library.documents(OWNER, "Kitchen")
    assert link.proto.query_string == f"document={document.id}"
