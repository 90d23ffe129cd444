"""The assistant with tools and code: nothing runs unseen, and the person's word reaches the
model.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agentkit import coding
from agentkit.core.tools import effects
from agentkit.errors import ConfigError, Stopped
from agentkit.events import CodeRan, Compressed, Noted, ToolCalled, ToolReturned
from agentkit.llm.calls.scripted import scripted_model
from agentkit.llm.tokens.counting import count_messages
from agentkit.teams import tools
from agentkit.teams.allowed import AllowedTools
from agentkit.teams.roster import RUNNER
from tests.teams.stage import asked, call, play

CODE = "```python\nprint(6 * 7)\n```"
isolated = pytest.mark.skipif(
    not (coding.bubblewrap_works() or coding.docker_works()), reason="nothing to isolate code with"
)


@pytest.fixture
def nothing_to_isolate(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A machine on which neither bubblewrap nor Docker is installed."""
    coding.bubblewrap_works.cache_clear()
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere")
    yield
    coding.bubblewrap_works.cache_clear()


def last_said(model: object) -> str:
    return str(asked(model)[-1][-1]["content"])  # type: ignore[arg-type]


def book(place: str) -> str:
    """Book a ferry to a place."""
    return f"booked for {place}"


@effects("none")
def stock(product: str) -> int:
    """How many of a product are there."""
    return {"lamp": 12}[product]


def test_what_changes_nothing_runs_unasked() -> None:
    model = scripted_model(
        [
            call("search_documents", query="Danube"),
            call("todays_date"),
            call("stock", product="lamp"),
            "2,850 km [1].\nTERMINATE",
        ]
    )
    played = play("tools", model, tools=[stock])
    assert played.questions == []
    assert [event.ok for event in played.of(ToolReturned)] == [True, True, True]
    assert (played.final.content, len(played.final.extra["citations"])) == ("2,850 km [1].", 1)


def test_a_call_runs_when_it_is_approved() -> None:
    model = scripted_model([call("book", place="Riga"), "Booked.\nTERMINATE"])
    played = play("tools", model, answers=["approve"], tools=[book])
    (question,) = played.questions
    assert (question.agent, question.options, question.language) == (
        "Runner",
        ["approve", "approve_all", "always", "edit", "reject"],
        "json",
    )
    assert json.loads(question.draft) == {"place": "Riga"}
    assert "`book`" in question.prompt
    assert [event.content for event in played.of(ToolReturned)] == ["booked for Riga"]
    assert last_said(model) == "booked for Riga"
    assert played.final.content == "Booked."


@pytest.mark.parametrize(
    ("key", "label"),
    [
        ("approve", "Approve"),
        ("approve_all", "Approve all"),
        ("always", "Always allow"),
        ('edit\n{"place": "Oslo"}', 'Edit\n{"place": "Oslo"}'),
        ("reject\ntoo far", "Reject\ntoo far"),
    ],
)
def test_an_answer_in_the_words_of_older_versions_means_the_same(key: str, label: str) -> None:
    ends = [
        play(
            "tools",
            scripted_model([call("book", place="Riga"), "Done."]),
            answers=[answer],
            tools=[book],
        )
        for answer in (key, label)
    ]
    told = [[event.arguments for event in played.of(ToolCalled)] for played in ends]
    heard = [[said.content for said in played.inner] for played in ends]
    assert told[0] == told[1]
    assert heard[0] == heard[1]
    assert bool(told[0]) == ("too far" not in key)


def test_a_tool_that_is_always_allowed_is_asked_about_once(tmp_path: Path) -> None:
    allowed = AllowedTools(tmp_path)
    twice: list[Any] = [call("book", place="Riga"), call("book", place="Oslo"), "Booked."]
    played = play("tools", scripted_model(twice), answers=["always"], tools=[book], allowed=allowed)
    assert len(played.of(ToolReturned)) == 2
    assert (
        play("tools", scripted_model(twice), tools=[book], allowed=AllowedTools(tmp_path)).questions
        == []
    )
    allowed.remove("book")
    assert len(play("tools", scripted_model(twice), tools=[book], allowed=allowed).questions) == 1


def test_code_cannot_be_allowed_for_always() -> None:
    played = play("tools", scripted_model([CODE, "Fine."]), answers=["always"])
    assert played.of(CodeRan) == []


def test_permissions_that_cannot_be_read_are_told(tmp_path: Path) -> None:
    for text in ("{", '{"book": true}', "[1]"):
        (tmp_path / "allowed-tools.json").write_text(text)
        with pytest.raises(ConfigError, match=r"allowed-tools\.json cannot be read"):
            AllowedTools(tmp_path).add("book")
    assert (tmp_path / "allowed-tools.json").read_text() == "[1]"


def test_a_rejected_call_does_not_run_and_the_model_is_told_why() -> None:
    model = scripted_model([call("book", place="Riga"), "Then I cannot say."])
    played = play("tools", model, answers=["reject\nask about the Volga"], tools=[book])
    assert played.of(ToolCalled) == []
    assert asked(model)[-1][-1]["role"] == "tool"
    assert "rejected this call" in last_said(model)
    assert "ask about the Volga" in last_said(model)


def test_changed_arguments_are_what_runs() -> None:
    model = scripted_model([call("book", place="Riga"), "Booked."])
    played = play("tools", model, answers=['edit\n{"place": "Oslo"}'], tools=[book])
    assert [json.loads(event.arguments) for event in played.of(ToolCalled)] == [{"place": "Oslo"}]
    assert "changed the arguments" in last_said(model)
    assert "booked for Oslo" in last_said(model)


def test_approving_all_of_a_kind_asks_for_the_other_kinds_still() -> None:
    def cancel(place: str) -> str:
        """Cancel what was booked."""
        return "cancelled"

    model = scripted_model(
        [
            call("book", place="Riga"),
            call("book", place="Oslo"),
            call("cancel", place="Oslo"),
            "Done.",
        ]
    )
    played = play("tools", model, answers=["approve_all", "approve"], tools=[book, cancel])
    assert ["book" in question.prompt for question in played.questions] == [True, False]
    assert [event.name for event in played.of(ToolCalled)] == ["book", "book", "cancel"]


@pytest.mark.parametrize("answer", ["", "maybe", "reject", "Approved", "APPROVE"])
def test_what_is_no_consent_runs_nothing(answer: str) -> None:
    played = play(
        "tools",
        scripted_model([call("book", place="Riga"), "Fine."]),
        answers=[answer],
        tools=[book],
    )
    assert played.of(ToolCalled) == []


@pytest.mark.parametrize("arguments", ["not json", "[1]"])
def test_arguments_that_cannot_be_run_are_not_asked_about(arguments: str) -> None:
    broken = {
        "id": "c",
        "type": "function",
        "function": {"name": "search_documents", "arguments": arguments},
    }
    model = scripted_model([{"content": None, "tool_calls": [broken]}, "Sorry."])
    played = play("tools", model)
    assert played.questions == []
    assert "Error" in last_said(model)


@isolated
def test_code_runs_in_isolation_when_it_is_approved() -> None:
    model = scripted_model([f"Let me see.\n{CODE}", "It is 42.\nTERMINATE"])
    played = play("tools", model, answers=["approve"])
    assert (played.questions[0].draft, played.questions[0].language) == ("print(6 * 7)", "python")
    (ran,) = played.of(CodeRan)
    assert (ran.code, ran.exit_code, ran.output.strip()) == ("print(6 * 7)", 0, "42")
    assert last_said(model).startswith("exitcode: 0")
    assert played.final.content == "It is 42."


@isolated
def test_changed_code_is_what_runs() -> None:
    model = scripted_model([CODE, "It is 43."])
    played = play("tools", model, answers=["edit\nprint(43)"])
    assert [ran.code for ran in played.of(CodeRan)] == ["print(43)"]
    assert "The user changed the code to:\nprint(43)" in last_said(model)


@isolated
def test_blocks_are_asked_about_one_by_one_until_one_is_rejected() -> None:
    model = scripted_model([f"{CODE}\n```sh\necho two\n```\n```python\nprint(3)\n```", "Enough."])
    played = play("tools", model, answers=["approve", "reject"])
    assert [question.language for question in played.questions] == ["python", "sh"]
    assert [ran.output.strip() for ran in played.of(CodeRan)] == ["42"]
    assert "42" in last_said(model)
    assert "They gave no reason." in last_said(model)


@isolated
def test_failing_code_is_told_with_its_exit_code() -> None:
    model = scripted_model(["```python\nraise SystemExit(3)\n```", "It failed."])
    play("tools", model, answers=["approve_all"])
    assert last_said(model).startswith("exitcode: 3")


@isolated
def test_code_that_cannot_be_run_is_the_models_to_mend() -> None:
    model = scripted_model(["```python\n# filename: ../../outside.py\nprint(1)\n```", "Sorry."])
    played = play("tools", model, answers=["approve"])
    assert last_said(model).startswith("exitcode: 1")
    assert [ran.exit_code for ran in played.of(CodeRan)] == [1]
    assert played.final.content == "Sorry."


@pytest.mark.parametrize(
    "text",
    ["```\n42\n```", "```text\nprint(1)\n```", f"Run this:\n{CODE}\nTERMINATE", "Just words."],
)
def test_what_is_only_shown_or_comes_with_the_end_is_not_run(text: str) -> None:
    played = play("tools", scripted_model([text]))
    assert played.questions == []
    assert played.of(CodeRan) == []


def test_stopped_while_it_waits_for_the_person_what_was_written_is_kept() -> None:
    played = play("tools", scripted_model([f"Let me see.\n{CODE}"]))
    assert (played.final.status, played.final.content) == ("stopped", f"Let me see.\n{CODE}")
    alone = play("tools", scripted_model([call("book", place="Riga")]), tools=[book])
    assert isinstance(alone.error, Stopped)


@pytest.mark.usefixtures("nothing_to_isolate")
def test_without_isolation_code_is_refused_and_tools_go_on() -> None:
    model = scripted_model([CODE, call("book", place="Riga"), "Without code then.\nTERMINATE"])
    played = play("tools", model, answers=["approve"], tools=[book])
    assert [question.language for question in played.questions] == ["json"]
    assert "nothing to isolate" in str(asked(model)[1][-1]["content"])
    (noted,) = played.of(Noted)
    assert "bubblewrap" in noted.detail
    assert "Docker" in noted.detail
    assert played.final.extra["notes"] == [{"text": noted.text, "detail": noted.detail}]


def test_when_the_steps_are_used_up_the_answer_is_made_from_what_came_out() -> None:
    def work(request: Mapping[str, Any]) -> dict[str, Any] | str:
        return call("stock", product="lamp") if "tools" in request else "There are 12."

    model = scripted_model(work)
    played = play("tools", model, tools=[stock])
    assert len(played.of(ToolCalled)) == tools.STEPS
    assert played.final.content == "There are 12."
    assert played.final.extra["end"] == {
        "kind": "replies",
        "agent": RUNNER,
        "limit": tools.STEPS,
    }
    material = str(asked(model)[-1][0]["content"])
    assert 'stock({"product": "lamp"})\ngave:\n12' in material


@isolated
def test_a_program_that_prints_much_stays_below_the_window_and_whole_in_the_events() -> None:
    program = "```python\nfor n in range(20_000):\n    print('line', n)\n```"
    model = replace(
        scripted_model([program, program, "It counted.\nTERMINATE"]), context_window=8_000
    )
    played = play("tools", model, answers=["approve", "approve"])
    assert played.final.content == "It counted."
    assert [ran.output.count("\n") for ran in played.of(CodeRan)] == [20_000] * 2
    sizes = [count_messages(messages, "scripted")[0] for messages in asked(model)]
    assert max(sizes) < 8_000
    sent = last_said(model)
    assert "line 0\n" in sent
    assert "line 19999\n" in sent
    assert " lines, " in sent
    assert played.of(Compressed)


@pytest.mark.parametrize("window", [None, 1_000_000])
def test_a_long_result_is_cut_in_the_middle_however_large_the_window(window: int | None) -> None:
    def log() -> str:
        """The log of the pump."""
        return "".join(f"{n}: all is well\n" for n in range(20_000))

    model = replace(scripted_model([call("log"), "All is well.\nTERMINATE"]), context_window=window)
    played = play("tools", model, answers=["approve"], tools=[log])
    assert len(last_said(model)) < tools.LONGEST + 200
    assert last_said(model).startswith("0: all is well\n")
    assert last_said(model).endswith("19999: all is well\n")
    assert [returned.content for returned in played.of(ToolReturned)] == [log()]


def test_steps_have_a_limit() -> None:
    played = play("tools", scripted_model(lambda request: call("todays_date")))
    assert len(played.of(ToolCalled)) == tools.STEPS
    assert f"the limit of {tools.STEPS} steps was reached" in str(played.error)
