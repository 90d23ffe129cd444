"""The blocks of docs/long-chats.md run against a local server; what the page names exists; its
defaults are the real ones.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from agentkit import autogen, errors, events
from agentkit.agents.compressible import CompressibleAgent
from agentkit.conversation import compression
from agentkit.llm.calls.limits import Limit
from agentkit.llm.tokens import families
from agentkit.llm.tokens import windows as token_limits
from agentkit.teams.memory import long_memory
from tests.bench import bench_compression
from tests.examples.page import PAGE as AGENTS
from tests.examples.page import blocks, run
from tests.servers.openai_server import Answer, OpenAIServer

PAGE = AGENTS.with_name("long-chats.md")
TEXT = PAGE.read_text(encoding="utf-8")
BLOCKS = blocks(PAGE)


def is_summarising(body: dict[str, Any]) -> bool:
    return str(body["messages"][0]["content"]).startswith("You shorten conversations.")


def talking(body: dict[str, Any]) -> Answer:
    """A model that has much to say, and little when it summarises."""
    if is_summarising(body):
        return Answer("##USER## went on asking.")
    return Answer(
        f"Message {len(body['messages'])}: the keeper lit the lamp again, and the ships of the"
        " night went by. " * 2
    )


def played(
    title: str, model: Callable[[dict[str, Any]], Answer] = talking
) -> tuple[dict[str, Any], OpenAIServer]:
    with OpenAIServer(model) as server:
        return run(BLOCKS[title], server), server


@pytest.fixture
def windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the block registers is forgotten afterwards."""
    monkeypatch.setattr(token_limits, "_own", {})


def longest(server: OpenAIServer) -> int:
    return max(
        token_limits.count_token(body["messages"], "llama3.2")
        for body in server.chats
        if not is_summarising(body)
    )


def test_counting(capsys: pytest.CaptureFixture[str], windows: None) -> None:
    played("Counting")
    assert capsys.readouterr().out.splitlines() == ["7 14", "128000 127986 0.0109%", "8178"]


def test_an_assistant_that_compresses(capsys: pytest.CaptureFixture[str]) -> None:
    names, server = played("An assistant that compresses")
    left = len(names["teller"].chat_messages[names["listener"]])
    assert capsys.readouterr().out.splitlines() == [f"{left} messages are left"]
    assert left < 30 < len([body for body in server.chats if not is_summarising(body)]) + 10
    assert any(is_summarising(body) for body in server.chats)
    assert longest(server) <= 600
    assert len(names["listener"].chat_messages[names["teller"]]) < 42, "it is broadcast"


def test_any_agent(capsys: pytest.CaptureFixture[str]) -> None:
    names, server = played("Any agent")
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) >= 2
    assert all(
        re.fullmatch(
            r"\d+ messages to \d+ by tool output, then sliding window, summary by the model", each
        )
        for each in lines
    )
    assert longest(server) <= 600
    assert len(names["user"].chat_messages[names["assistant"]]) == 42


def test_a_strategy_of_ones_own(capsys: pytest.CaptureFixture[str]) -> None:
    names, _ = played("A strategy of your own")
    assert capsys.readouterr().out.splitlines()[-2:] == [
        "4 -> 3 Summary of the earlier conversation:",
        "It was about Rain, Iron.",
    ]
    assert isinstance(names["Topics"](), compression.Strategy)


def test_group_chats(capsys: pytest.CaptureFixture[str]) -> None:
    names, server = played("Group chats")
    histories = [
        len(messages) for member in names["members"] for messages in member.chat_messages.values()
    ]
    assert capsys.readouterr().out.splitlines()[-1] == f"{histories} 30"
    assert max(histories) < 20
    assert len([body for body in server.chats if is_summarising(body)]) < 4, (
        "one summary does for all"
    )
    assert longest(server) <= 600


def test_limits(capsys: pytest.CaptureFixture[str]) -> None:
    _, server = played("Limits")
    (line,) = capsys.readouterr().out.splitlines()
    assert line.endswith("the limit of 1,000 tokens was reached")
    assert 1 < len(server.chats) < 10
    assert Limit().warn_at == 0.8


def test_every_block_is_run_by_a_test() -> None:
    assert set(BLOCKS) == {
        "Counting",
        "An assistant that compresses",
        "Any agent",
        "A strategy of your own",
        "Group chats",
        "Limits",
    }


def test_what_the_page_says_of_defaults_and_names_is_so() -> None:
    defaults = CompressibleAgent.DEFAULT_COMPRESS_CONFIG
    assert (defaults["mode"], defaults["broadcast"], defaults["leave_last_n"]) == (
        "TERMINATE",
        True,
        0,
    )
    assert (long_memory.LONGEST, long_memory.SHARE) == (16_000, 3)
    assert bench_compression.LIMIT == 8_000
    assert callable(families.register_token_counter)
    named = set(re.findall(r"`([A-Z][a-z]+[A-Z]\w+)[`(.]", TEXT))
    assert len(named) > 6
    places = [autogen, compression, errors, events]
    assert [
        name for name in sorted(named) if not any(hasattr(place, name) for place in places)
    ] == []
