"""A run that asks the person at the terminal: approving, rejecting, choosing, and nobody there."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

from agentkit import runs
from agentkit.cli.asking import ask_person
from agentkit.cli.words import OPTIONS
from agentkit.events import HumanInputRequested, WantedCall
from tests.cli.conftest import Cli
from tests.servers.openai_server import Answer, OpenAIServer

PROGRAM = "```python\nprint(6 * 7)\n```"


def _typing(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(text))


@pytest.fixture
def server(
    shared_server: OpenAIServer, data: Path, monkeypatch: pytest.MonkeyPatch
) -> OpenAIServer:
    """A model that writes a program, then says how it went."""
    monkeypatch.setenv("OPENAI_BASE_URL", shared_server.base_url)
    monkeypatch.setenv("OPENAI_MODEL", "test-model")

    def script(body: dict[str, Any]) -> Answer:
        said = str(body["messages"][-1]["content"])
        if "exitcode: 0" in said and "42" in said:
            return Answer("It is 42. TERMINATE")
        return Answer("You did not want it. TERMINATE") if "too dear" in said else Answer(PROGRAM)

    shared_server.script = script
    return shared_server


@pytest.mark.parametrize(
    ("typed", "answer"),
    [("1\n", "It is 42."), ("no\n1\n", "It is 42."), ("3 too dear\n", "You did not want it.")],
)
def test_code_runs_when_the_person_agrees(
    filled: Cli,
    server: OpenAIServer,
    monkeypatch: pytest.MonkeyPatch,
    typed: str,
    answer: str,
) -> None:
    _typing(monkeypatch, typed)
    ended = filled("ask", "What is 6 times 7?", "--team", "tools")
    assert (ended.code, answer in ended.out) == (0, True), ended.err
    assert "    print(6 * 7)" in ended.err
    assert "1: Approve" in ended.err
    assert ("'no' does not begin with a number" in ended.err) == typed.startswith("no")


def test_when_nobody_is_there_the_run_is_stopped(
    filled: Cli, server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    _typing(monkeypatch, "")
    ended = filled("ask", "What is 6 times 7?", "--team", "tools")
    assert ended.code == 130
    assert "nobody to ask" in ended.err


def test_a_plan_is_seen_before_it_runs(filled: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    _typing(monkeypatch, "1\n")
    question = "How long is the Danube? What is the Volga?"
    seen = filled("ask", question, "--team", "plan", "--see-plan", "--max-lookups", "3")
    assert seen.code == 0, seen.err
    assert "search_documents[" in seen.err
    assert "By estimate: 2 look-ups, 1 model call, " in seen.err
    _typing(monkeypatch, "")
    unseen = filled("ask", question, "--team", "plan")
    assert unseen.code == 0, unseen.err
    assert "By estimate" not in unseen.err


@pytest.mark.parametrize(
    ("mode", "typed", "answer"),
    [
        ("terminate", "\n", "It is 42."),
        ("TERMINATE", "In words.\n\n", "Forty-two."),
        ("always", "In words.\n\n", "Forty-two."),
        ("never", "", "It is 42."),
    ],
)
def test_a_person_takes_part_at_the_terminal(
    filled: Cli,
    server: OpenAIServer,
    monkeypatch: pytest.MonkeyPatch,
    mode: str,
    typed: str,
    answer: str,
) -> None:
    def script(body: dict[str, Any]) -> Answer:
        last = str(body["messages"][-1]["content"])
        return Answer("Forty-two." if last == "In words." else "It is 42.")

    server.script = script
    _typing(monkeypatch, typed)
    ended = filled("ask", "What is 6 times 7?", "--team", "assistant", "--human-input", mode)
    assert (ended.code, ended.out.splitlines()[0]) == (0, answer), ended.err
    assert ("Assistant is done. Say what is still missing" in ended.err) == (mode != "never")


def test_an_unknown_way_to_take_part_is_refused(filled: Cli) -> None:
    ended = filled("ask", "Well?", "--human-input", "often")
    assert ended.code == 2
    assert "'often' is not one of" in ended.err


def test_an_answer_that_comes_too_late_at_the_terminal_is_told(
    filled: Cli, server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.script = lambda body: Answer("It is 42.")
    monkeypatch.setenv("AGENTKIT_ANSWER_S", "0.01")

    class Slow:
        def readline(self) -> str:
            (run,) = runs.live("local")
            assert run.wait(60), "it went on without"
            return "too late\n"

    monkeypatch.setattr("sys.stdin", Slow())
    ended = filled("ask", "Well?", "--team", "assistant", "--human-input", "terminate")
    assert ended.code == 0, ended.err
    assert "That came too late: it went on without you." in ended.err
    assert "It is 42." in ended.out


@pytest.mark.parametrize("typed", ["²", "9" * 5_000])
def test_a_number_of_no_option_is_asked_for_again(
    typed: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _typing(monkeypatch, f"{typed}\n2\n")
    assert ask_person(HumanInputRequested("1", "Clerk", "Which?", ["tea", "milk"])) == "milk"
    assert "does not begin with a number from 1 to 2" in capsys.readouterr().err


def test_a_question_without_options_takes_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    _typing(monkeypatch, "as you like\n")
    assert ask_person(HumanInputRequested("1", "Clerk", "Shall I?")) == "as you like"


@pytest.mark.parametrize(
    ("approve", "edit", "reject"), [("approve", "edit", "reject"), ("Approve", "Edit", "Reject")]
)
def test_an_option_is_answered_as_it_was_asked_and_called_by_our_words(
    approve: str,
    edit: str,
    reject: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for key in ("approve", "reject"):
        monkeypatch.setitem(OPTIONS, key, f"zzz {key}")
    _typing(monkeypatch, "2 too dear\n")
    request = HumanInputRequested(
        "1", "Runner", "May this code run?", [approve, edit, reject], "print(1)\n", "python"
    )
    assert ask_person(request) == f"{reject}\ntoo dear"
    assert "  1: zzz approve\n  2: zzz reject\n" in capsys.readouterr().err


def test_a_name_among_the_options_stands_for_itself(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _typing(monkeypatch, "1\n")
    assert (
        ask_person(HumanInputRequested("1", "Group", "Who speaks next?", ["Writer", "finish"]))
        == "Writer"
    )
    assert "  1: Writer\n  2: Finish here\n" in capsys.readouterr().err


def test_the_terminal_shows_what_hides_in_code(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _typing(monkeypatch, "1\n")
    code = "a = 1  # \u202eb = 2\nprint(a)\rprint(b)\x1b[2A\n\n"
    request = HumanInputRequested(
        "1", "Runner", "May this code run?", ["approve", "reject"], code, "python"
    )
    assert ask_person(request) == "approve"
    shown = capsys.readouterr().err
    assert (
        "    a = 1  # ⟨U+202E⟩b = 2\n    print(a)⟨U+000D⟩print(b)⟨U+001B⟩[2A\n  2 lines\n" in shown
    )
    assert "contains 3 invisible characters" in shown


def test_the_terminal_counts_the_lines_of_harmless_code(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _typing(monkeypatch, "1\n")
    ask_person(
        HumanInputRequested(
            "1", "Runner", "May this code run?", ["approve", "reject"], "print(1)\n", "python"
        )
    )
    shown = capsys.readouterr().err
    assert "    print(1)\n  1 line\n" in shown
    assert "invisible" not in shown


def test_whoever_wants_a_tool_and_its_server_are_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _typing(monkeypatch, "1\n")
    wants = WantedCall("Reader", "stock", "shop", again=True)
    asked = HumanInputRequested("1", "Library", "May `shop__stock` run?", ["approve"], wants=wants)
    assert ask_person(asked) == "approve"
    shown = capsys.readouterr().err
    assert "Reader asks: May I use stock of the MCP server shop?" in shown
    assert "it is not known whether it was done" in shown
    assert "shop__stock" not in shown


def test_what_is_silent_among_the_agents_is_not_told(filled: Cli, server: OpenAIServer) -> None:
    def script(body: dict[str, Any]) -> Answer:
        system = str(body["messages"][0]["content"])
        return Answer("Writer" if "You moderate" in system else "It is long.\n\nTERMINATE")

    server.script = script
    ended = filled("ask", "How long is it?", "--team", "group")
    assert (ended.code, ended.out.strip()) == (0, "It is long."), ended.err
    assert "Choose" not in ended.err
    assert "_agent" not in ended.err


def test_the_wait_for_another_try_is_told(filled: Cli, server: OpenAIServer) -> None:
    replies = [
        Answer(status=429, error={"message": "slow down"}),
        Answer("It is 1,236 km long [1]."),
    ]
    server.script = lambda body: replies.pop(0)
    ended = filled("ask", "How long is it?", "--json")
    assert ended.code == 0, ended.err
    assert "test-model: rate limited, next try in 1 s" in ended.err
