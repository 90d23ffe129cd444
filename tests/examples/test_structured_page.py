"""The blocks of docs/structured.md run against a local server; and what the page names exists."""

from __future__ import annotations

import re
from typing import Any

import pytest

import agentkit
from agentkit import agentscope
from agentkit.core import bus
from agentkit.events import ReplyParsed
from tests.examples.page import PAGE as AGENTS
from tests.examples.page import blocks, one_after_the_other, run
from tests.servers.openai_server import Answer, OpenAIServer
from tests.teams.werewolf.table import players

PAGE = AGENTS.with_name("structured.md")
BLOCKS = blocks(PAGE)


def played(title: str, *replies: str) -> tuple[dict[str, Any], OpenAIServer]:
    with OpenAIServer(one_after_the_other(*map(Answer, replies))) as server:
        return run(BLOCKS[title], server), server


def test_a_discussion_and_a_vote(capsys: pytest.CaptureFixture[str]) -> None:
    replies = (
        '{"thought": "hungry", "speak": "Pizza?", "end_discussion": false}',
        "Let us end this.",
        "Here:\n```json\n{'thought': 'enough', 'speak': 'Sushi!', 'end_discussion': 'true',}\n```",
        '{"thought": "fish", "vote": "sushi"}',
    )
    heard: list[Any] = []
    with bus.listening(heard.append):
        _, server = played("A discussion and a vote", *replies)
    lines = [
        line
        for line in capsys.readouterr().out.splitlines()
        if line.startswith(("assistant says:", "The vote:"))
    ]
    assert lines == ["assistant says: Pizza?", "assistant says: Sushi!", "The vote: sushi"]
    assert [event.ok for event in heard if isinstance(event, ReplyParsed)] == [
        True,
        False,
        True,
        True,
    ]
    assert len(server.chats) == 4


def test_parsers_alone(capsys: pytest.CaptureFixture[str]) -> None:
    played("Parsers")
    assert capsys.readouterr().out.splitlines() == [
        "{'thought': 'hm', 'vote': 'sushi', 'sure': True}",
        "JsonParsingError True",
    ]


def test_hubs_and_pipelines(capsys: pytest.CaptureFixture[str]) -> None:
    names, _ = played(
        "Hubs and pipelines",
        "I am Ann.",
        "I am Bob.",
        "I am Cid.",
        "They are kind.",
        "Ann is, too.",
    )
    lines = capsys.readouterr().out.splitlines()
    assert "['Introduce yourselves.', 'I am Ann.', 'I am Bob.']" in lines
    assert lines[-1] == "Ann is, too."
    assert names["bob"].audience is None


def test_a_reply_of_ones_own(capsys: pytest.CaptureFixture[str]) -> None:
    _, server = played("A reply of your own", "two", "2")
    assert capsys.readouterr().out.splitlines() == ["2"]
    assert "invalid literal" in server.chats[1]["messages"][-1]["content"]


def test_werewolf(capsys: pytest.CaptureFixture[str]) -> None:
    with OpenAIServer(lambda body: Answer(players()(body))) as server:
        names = run(BLOCKS["Werewolf"], server)
    assert names["outcome"].winner in ("village", "werewolves", "draw")
    assert capsys.readouterr().out.splitlines()[-1].startswith(names["outcome"].winner)


def test_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    played("A table out of documents")
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(" from ")[0] for line in lines] == [
        "vendor = Miller & Sons",
        "date = 2026-05-03",
        "total = 1250",
    ]
    assert all("invoice.txt" in line for line in lines)


def test_every_block_is_run_by_a_test() -> None:
    assert set(BLOCKS) == {
        "A discussion and a vote",
        "Parsers",
        "Hubs and pipelines",
        "A reply of your own",
        "Werewolf",
        "A table out of documents",
    }


def test_every_class_that_the_page_names_exists() -> None:
    named = set(re.findall(r"`([A-Z][a-z]+[A-Z]\w+)[`(.]", PAGE.read_text(encoding="utf-8"))) - {
        "ReplyParsed"
    }
    assert len(named) > 8
    homes = (agentscope, agentkit)
    assert [name for name in sorted(named) if not any(hasattr(home, name) for home in homes)] == []
