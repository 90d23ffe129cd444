"""The other blocks of docs/agents.md run too, and what the page names exists."""

from __future__ import annotations

import builtins
import re
from pathlib import Path
from typing import Any

import pytest

import agentkit
from agentkit import coding, errors, events
from agentkit.conversation import transforms
from agentkit.llm.compatible import entries
from tests.examples.page import PAGE, blocks, one_after_the_other, run
from tests.servers.openai_server import PROMPT_TOKENS, Answer, OpenAIServer

TEXT = PAGE.read_text(encoding="utf-8")


def played(title: str, *answers: Answer) -> tuple[dict[str, Any], OpenAIServer]:
    with OpenAIServer(one_after_the_other(*answers)) as server:
        return run(blocks()[title], server), server


def test_a_reply_function_of_ones_own(capsys: pytest.CaptureFixture[str]) -> None:
    played("How a reply is chosen")
    assert capsys.readouterr().out.splitlines()[-1] == "HELLO"


def test_a_person_answers_through_a_run(capsys: pytest.CaptureFixture[str]) -> None:
    names, _ = played("A person in the chat")
    assert capsys.readouterr().out.splitlines() == ["the person behind person ended the chat"]
    said = [message["content"] for message in names["run"].result().chat_history]
    assert said == [
        "A ticket to Rome, please.",
        "Anything else?",
        "A window seat.",
        "Anything else?",
    ]


def test_a_kernel_keeps_its_variables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names, _ = played("A kernel for a chat")
    names["pool"].end("chat-1")
    (table,) = names["result"].outputs
    assert table.columns == ("a",)
    assert capsys.readouterr().out.startswith("ok (Table(")


def test_failover_and_cache(capsys: pytest.CaptureFixture[str]) -> None:
    broken = Answer(status=500, error={"message": "out of order"})
    names, server = played("Models", broken, Answer("Paris"), broken)
    assert [body["model"] for body in server.chats] == ["gpt-4o-mini", "llama3.2", "gpt-4o-mini"], (
        "then the cache answers"
    )
    assert [server.chats[1]["temperature"], server.chats[1]["messages"][-1]["content"]] == [
        0,
        "The capital of France?",
    ]
    assert names["again"].summary == "Paris"
    assert names["assistant"].get_actual_usage()["llama3.2"]["prompt_tokens"] == PROMPT_TOKENS
    assert names["assistant"].get_total_usage()["llama3.2"]["prompt_tokens"] == 2 * PROMPT_TOKENS
    assert capsys.readouterr().out.splitlines()[-1].startswith("Paris {'total_cost': 0")


def test_every_block_is_run_by_a_test() -> None:
    here = {"How a reply is chosen", "A person in the chat", "Models", "A kernel for a chat"}
    examples = {
        "Calling tools",
        "A group chat",
        "A nested chat",
        "Running code",
        "Streaming",
        "Asking documents",
    }
    assert set(blocks()) == here | examples


def test_every_class_that_the_page_names_exists() -> None:
    homes = (agentkit, builtins, coding, errors, events, transforms)
    named = set(re.findall(r"`@?(?:\w+\.)?([A-Z][a-z]+[A-Z]\w+)[`(.]", TEXT))
    assert len(named) > 20
    assert [name for name in sorted(named) if not any(hasattr(home, name) for home in homes)] == []


def test_the_page_lists_the_kinds_of_servers() -> None:
    listed = re.search(r"an `api_type` of ([\w, \n]+)\.", TEXT)
    assert listed
    assert set(re.findall(r"\w+", listed[1])) - {"or"} == {"azure", *entries.ADDRESSES}


def test_the_links_lead_somewhere() -> None:
    headings = {
        heading.lower().replace(" ", "-")
        for heading in re.findall(r"^#+ (.+)", TEXT, flags=re.MULTILINE)
    }
    assert set(re.findall(r"\]\(#([^)]+)\)", TEXT)) <= headings
    assert all((PAGE.parent / link).exists() for link in re.findall(r"\]\(([^#)h][^)#]*)", TEXT))
