"""`search` and `ask`: the same objects for scripts, readable text for people."""

from __future__ import annotations

import json
import os
import re
import signal
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from agentkit.settings import Settings
from agentkit.workspace import chat_settings
from tests.cli.conftest import Cli, program
from tests.cli.program import open_with_fake
from tests.servers.openai_server import Answer, OpenAIServer

QUESTION = "How long is the Danube?"
WRITTEN = "It is 2,850 kilometres long [1]."


@pytest.fixture
def server(
    shared_server: OpenAIServer, data: Path, monkeypatch: pytest.MonkeyPatch
) -> OpenAIServer:
    monkeypatch.setenv("OPENAI_BASE_URL", shared_server.base_url)
    monkeypatch.setenv("OPENAI_MODEL", "test-model")
    shared_server.script = lambda body: Answer(WRITTEN)
    return shared_server


@pytest.mark.parametrize("mode", ["hybrid", "dense", "lexical"])
def test_hits_say_where_they_are(filled: Cli, papers: Path, mode: str) -> None:
    found = filled("search", "warranty of the pump", "--mode", mode, "-k", 2, "--json").json
    assert (found["query"], found["mode"], found["collection"]) == (
        "warranty of the pump",
        mode,
        "Documents",
    )
    assert 1 <= len(found["hits"]) <= 2
    first = found["hits"][0]
    assert set(first) == {
        "rank",
        "score",
        "document",
        "chunk",
        "page",
        "span",
        "text",
        "scores",
        "heading",
        "place",
        "also_in",
    }
    assert (first["rank"], first["document"], first["page"]) == (1, "deep/pump.txt", None)
    start, end = first["span"]
    assert (papers / "deep" / "pump.txt").read_text()[start:end] == first["text"]
    assert first["scores"]
    ranked = [hit["score"] for hit in found["hits"]]
    assert ranked == sorted(ranked, reverse=True)


def test_people_see_the_passages(filled: Cli) -> None:
    ended = filled("search", "green tea")
    assert ended.code == 0
    assert ended.out.startswith("1. deep/tea.html, Tea  (score ")
    assert "brewed at 80 degrees" in ended.out


def test_without_documents_both_say_what_to_do(cli: Cli) -> None:
    for command in ("search", "ask"):
        ended = cli(command, QUESTION, "--json")
        assert ended.code == 1
        assert "There are no documents yet" in ended.json["error"]
        assert ended.err == f"Error: {ended.json['error']}\n"


def test_the_only_collection_is_taken_and_of_several_one_must_be_named(
    cli: Cli, papers: Path
) -> None:
    cli("ingest", papers / "rivers.md", "--collection", "Rivers")
    assert cli("search", "Danube", "--json").json["collection"] == "Rivers"
    cli("ingest", papers / "deep", "--collection", "Pumps")
    ended = cli("search", "Danube", "--json")
    assert (
        ended.json["error"]
        == "There are several collections; choose one with --collection: Pumps, Rivers."
    )
    assert cli("search", "Danube", "--collection", "Pumps", "--json").json["collection"] == "Pumps"
    cli("ingest", papers / "rivers.md")
    assert cli("search", "Danube", "--json").json["collection"] == "Documents"
    missing = cli("search", "Danube", "--collection", "Lakes", "--json")
    assert (missing.code, missing.json["error_type"]) == (1, "NotFound")


def test_an_answer_as_an_object(filled: Cli, server: OpenAIServer) -> None:
    ended = filled("ask", QUESTION, "--json")
    assert ended.code == 0
    assert ended.err == ""
    answer = ended.json
    assert set(answer) == {
        "answer",
        "citations",
        "checks",
        "usage",
        "stopped_because",
        "end",
        "cut",
        "thinking",
        "fallback",
        "chat",
        "run",
    }
    assert answer["answer"] == WRITTEN
    (citation,) = answer["citations"]
    assert set(citation) == {
        "marker",
        "document_id",
        "document",
        "chunk",
        "collection",
        "page",
        "place",
        "heading",
        "span",
        "text",
        "score",
    }
    assert (citation["marker"], citation["document"]) == (1, "rivers.md")
    usage = answer["usage"]
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"] > 100
    assert (usage["cost"], usage["unpriced"]) == (0.0, 0)  # the server is on this machine
    assert usage["seconds"] > 0
    assert (answer["stopped_because"], answer["cut"]) == ("answered", None)
    assert [run["id"] for run in filled("runs", "--limit", 1, "--json").json["runs"]] == [
        answer["run"]
    ]


def test_people_see_the_answer_then_its_sources(filled: Cli, server: OpenAIServer) -> None:
    ended = filled("ask", QUESTION)
    answer, sources = ended.out.split("\n\n")
    assert answer == WRITTEN
    assert sources == "[1] rivers.md, lines 1-3, Rivers\n"
    assert "tokens" in ended.err
    assert "--chat " in ended.err


def test_a_doubtful_citation_says_why(filled: Cli, server: OpenAIServer) -> None:
    server.script = lambda body: Answer("It is 2,580 kilometres long [1]. It is blue [9].")
    ended = filled("ask", QUESTION)
    assert ended.out.split("\n")[-6:-1] == [
        "[1?] rivers.md, lines 1-3, Rivers",
        "",
        "Check before you rely on it:",
        'It is 2,580 kilometres long [1?] does not say "2,580 kilometres"',
        "It is 2,580 kilometres long . It is blue [9?] names no passage",
    ]
    checks = filled("ask", QUESTION, "--json").json["checks"]
    assert [(one["marker"], one["verdict"], one["kind"]) for one in checks] == [
        (1, "doubtful", "number"),
        (9, "missing", None),
    ]


def test_an_answer_that_is_not_whole_says_so(filled: Cli, server: OpenAIServer) -> None:
    server.script = lambda body: Answer(WRITTEN, finish="length")
    ended = filled("ask", QUESTION)
    assert ended.out.startswith(f"{WRITTEN}\n\n[1] ")
    assert "The answer is not whole: the model reached its limit of tokens." in ended.err
    server.script = lambda body: Answer(WRITTEN, finish=None, done=False)
    assert filled("ask", QUESTION, "--json").json["cut"] == "broken_off"


def test_the_team_of_two_talks_on_stderr_and_answers_on_stdout(
    filled: Cli, server: OpenAIServer
) -> None:
    server.script = lambda body: Answer(
        "Danube" if "Break the" in body["messages"][0]["content"] else WRITTEN
    )
    ended = filled("ask", QUESTION, "--team", "research")
    assert ended.out.startswith(f"{WRITTEN}\n\n[1] ")
    assert "Researcher: Looked up:\n- Danube (" in ended.err


WORD = "I look that up first."


def _says_a_word_first(body: dict[str, Any]) -> Answer:
    """A model that says what it is about to do beside the call that does it."""
    if body["messages"][-1]["role"] == "tool":
        return Answer(WRITTEN)
    function = {"name": "search_documents", "arguments": '{"query": "Danube"}'}
    return Answer(WORD, [{"id": "call_1", "type": "function", "function": function}])


def test_a_word_beside_a_tool_call_is_no_part_of_the_answer(
    filled: Cli, server: OpenAIServer
) -> None:
    server.script = _says_a_word_first
    ended = filled("ask", QUESTION, "--team", "assistant")
    assert ended.out == f"{WRITTEN}\n\n[1] rivers.md, lines 1-3, Rivers\n"
    assert f"Assistant: {WORD}\n" in ended.err


def test_at_a_terminal_the_word_stands_on_a_line_of_its_own(
    filled: Cli, server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    server.script = _says_a_word_first
    ended = filled("ask", QUESTION, "--team", "assistant")
    assert ended.out == f"{WORD}\n{WRITTEN}\n\n[1] rivers.md, lines 1-3, Rivers\n"
    assert WORD not in ended.err


def test_at_a_terminal_the_sign_that_ends_a_chat_repeats_no_answer(
    filled: Cli, server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    server.script = lambda body: Answer(f"{WRITTEN} TERMINATE")
    assert filled("ask", QUESTION, "--team", "tools").out.count(WRITTEN) == 1
    monkeypatch.setattr(sys.stdout, "isatty", lambda: False)
    doubt = WRITTEN.replace("[1].", "[1?] names no passage")
    whole = f"{WRITTEN}\n\nCheck before you rely on it:\n{doubt}\n"
    assert filled("ask", QUESTION, "--team", "tools").out == whole


def test_what_the_model_thought_is_counted_and_not_printed(
    filled: Cli, server: OpenAIServer
) -> None:
    server.script = lambda body: Answer(WRITTEN, thinking="Rivers are long [9].")
    ended = filled("ask", QUESTION)
    assert ended.out == f"{WRITTEN}\n\n[1] rivers.md, lines 1-3, Rivers\n"
    assert re.search(r"\nThought for \d+\.\d s \(5 tokens\)\.\n", ended.err)
    assert "Rivers are long" not in ended.err
    thinking = filled("ask", QUESTION, "--json").json["thinking"]
    assert (thinking["text"], thinking["tokens"]) == ("Rivers are long [9].", 5)


def test_offline_it_costs_nothing(filled: Cli) -> None:
    answer = filled("ask", QUESTION, "--json").json
    assert answer["answer"]
    assert (answer["stopped_because"] == "answered") == bool(answer["citations"])
    assert (answer["usage"]["cost"], answer["usage"]["unpriced"]) == (0, 0)


def test_a_chat_goes_on_in_its_own_collection(cli: Cli, papers: Path, server: OpenAIServer) -> None:
    cli("ingest", papers / "rivers.md", "--collection", "Rivers")
    first = cli("ask", QUESTION, "--json").json
    cli("ingest", papers / "deep", "--collection", "Pumps")
    second = cli("ask", "Where does the Danube end?", "--chat", first["chat"], "--json").json
    assert second["chat"] == first["chat"]
    assert second["citations"][0]["document"] == "rivers.md"
    assert [run["kind"] for run in cli("runs", "--json").json["runs"]] == [
        "chat",
        "ingest",
        "chat",
        "ingest",
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--team", "nobody"], "There is no team 'nobody'"),
        (["--model", "nothing"], "There is no model 'nothing'"),
        (["--chat", "none"], "There is no chat 'none'"),
        (["--collection", "Lakes"], "There is no collection 'Lakes'"),
    ],
)
def test_what_is_not_there_is_told_in_one_line(
    filled: Cli, arguments: list[str], message: str
) -> None:
    ended = filled("ask", QUESTION, *arguments, "--json")
    assert ended.code == 1
    assert ended.json["error"].startswith(message)
    assert ended.err.count("\n") == 1


def test_a_model_that_fails_is_told_in_one_line_without_a_traceback(
    filled: Cli, server: OpenAIServer
) -> None:
    server.script = lambda body: Answer(status=401, error={"message": "wrong key"})
    with program("ask", QUESTION, "--json") as running:
        out, err = running.communicate()
    assert running.returncode == 1
    assert json.loads(out)["error_type"] == "ModelAuthFailed"
    assert err.startswith("Error: ")
    assert err.count("\n") == 1


def test_an_interrupted_answer_is_kept(filled: Cli, data: Path, server: OpenAIServer) -> None:
    server.script = lambda body: Answer("one " * 3_000, delay_s=0.02)
    with program("ask", QUESTION) as running:
        assert running.stdout
        written = running.stdout.read(3)
        os.killpg(running.pid, signal.SIGINT)
        written += running.stdout.read()
        assert running.stderr
        running.stderr.read()
    assert running.returncode == 130
    workspace = open_with_fake(Settings(data=data))
    (chat,) = workspace.ledger.chats("local")
    last = workspace.ledger.thread("local", chat.id)[-1]
    workspace.close()
    assert last.status == "stopped"
    assert last.content
    assert written.strip() == last.content.strip()


def test_what_a_model_says_does_not_steer_the_terminal(filled: Cli, server: OpenAIServer) -> None:
    server.script = lambda body: Answer("\x1b]0;title\x07 red \x1b[31m [1]")
    ended = filled("ask", QUESTION)
    assert "\x1b" not in ended.out
    assert "\x07" not in ended.out


def test_what_a_chat_is_asked_with_is_sent_kept_and_gone_on_with(
    filled: Cli, papers: Path, server: OpenAIServer
) -> None:
    server.requests.clear()
    assert filled("ingest", papers / "rivers.md", "--collection", "Water").code == 0
    options = ("--instructions", "Answer in French.", "--temperature", 0.2, "--seed", 7)
    both = ("--collection", "Documents", "--collection", "Water", "--document", "rivers.md")
    first = filled("ask", QUESTION, *options, *both, "--reply-tokens", 90, "--json").json
    filled("ask", QUESTION, "--chat", first["chat"], "--seed", 8, "--json")
    answering = [body for body in server.chats if "temperature" in body]
    assert [(body["temperature"], body["max_tokens"], body["seed"]) for body in answering] == [
        (0.2, 90, 7),
        (0.2, 90, 8),
    ]
    assert all("Answer in French." in str(body["messages"][0]) for body in answering)
    assert "Water: rivers.md" in str(answering[1]["messages"][0])
    assert "pump" not in str(answering[0]["messages"][0])


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (("--temperature", 99), "temperature is 99.0; it must be a number from 0 to 2"),
        (("--seed", "abc"), "valid integer"),
        (("--instructions", "a" * 30_000), "30,000 characters"),
        (("--document", "nowhere.md"), "no document 'nowhere.md' in Documents"),
        (("--collection", "Documents", "--collection", "Lost"), "Lost"),
    ],
)
def test_what_no_model_or_search_takes_is_told(
    filled: Cli, wrong: tuple[object, ...], told: str
) -> None:
    ended = filled("ask", QUESTION, *wrong)
    assert ended.code
    assert told in ended.err


@pytest.mark.parametrize(
    "wrong",
    [
        ("--collection", "Documents", "--collection", "Lost"),
        ("--document", "nowhere.md", "--instructions", "Be brief."),
        ("--picture", "nowhere.png", "--instructions", "Be brief."),
    ],
)
def test_what_is_refused_does_not_stay_with_the_chat(
    filled: Cli, data: Path, wrong: tuple[str, ...]
) -> None:
    chat = filled("ask", QUESTION, "--json").json["chat"]
    assert filled("ask", QUESTION, "--chat", chat, *wrong).code == 1
    with closing(open_with_fake(Settings(data=data))) as workspace:
        assert chat_settings.read(workspace.ledger, "local", chat) == chat_settings.UNSET
    again = filled("ask", QUESTION, "--chat", chat, "--json")
    assert (again.code, again.json["chat"]) == (0, chat), again.err


def test_a_further_collection_that_is_gone_is_told_and_left_out(
    filled: Cli, papers: Path, data: Path
) -> None:
    filled("ingest", papers / "rivers.md", "--collection", "Water")
    both = ("--collection", "Documents", "--collection", "Water")
    chat = filled("ask", QUESTION, *both, "--json").json["chat"]
    with closing(open_with_fake(Settings(data=data))) as workspace:
        workspace.library.delete_collection("local", "Water")
    again = filled("ask", QUESTION, "--chat", chat, "--seed", 7, "--json")
    assert (again.code, again.json["chat"]) == (0, chat), again.err
    assert again.err == "No longer there, and not looked into: Water.\n"
    with closing(open_with_fake(Settings(data=data))) as workspace:
        assert chat_settings.read(workspace.ledger, "local", chat).also == ("Water",)
