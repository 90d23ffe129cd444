"""The blocks of docs/plans.md run against a local server; what the page names exists; its figures
are those of the benchmark.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import agentkit
from agentkit.agents import rewoo
from agentkit.agents.rewoo import ReWOOAgent
from agentkit.database import Database
from agentkit.ledger import Ledger
from tests.bench.bench_plans import LEAST_RATIO, SHAPE_STEPS, measured
from tests.examples.page import PAGE as AGENTS
from tests.examples.page import blocks, one_after_the_other, run
from tests.servers.openai_server import Answer, OpenAIServer

PAGE = AGENTS.with_name("plans.md")
BLOCKS = blocks(PAGE)
CITIES = "Plan: Lisbon\n#E1 = search[Lisbon]\nPlan: Porto\n#E2 = search[{}]\n"


def played(title: str, *replies: str) -> tuple[dict[str, Any], OpenAIServer]:
    with OpenAIServer(one_after_the_other(*map(Answer, replies))) as server:
        return run(BLOCKS[title], server), server


def test_a_question_with_two_tools(capsys: pytest.CaptureFixture[str]) -> None:
    plan = CITIES.format("Porto") + "Plan: add\n#E3 = add[1, 2.5]"
    _, server = played("A question with two tools", plan, "Lisbon is larger.")
    assert capsys.readouterr().out.splitlines() == [
        "Lisbon is larger.",
        "search {'query': 'Lisbon'} -> Lisbon has 567,000 inhabitants.",
        "search {'query': 'Porto'} -> Porto has 249,000 inhabitants.",
        "add {'numbers': '1, 2.5'} -> 3.5",
    ]
    assert len(server.chats) == 2


def test_the_plan_that_the_page_shows_can_be_read() -> None:
    [shown] = re.findall(
        r"^```\n(Plan:.*?)^```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE
    )
    assert [(step.label, step.arguments) for step in rewoo.parse_plan(shown).steps] == [
        ("#E1", "Lisbon"),
        ("#E2", "Porto"),
    ]


def test_in_chats(capsys: pytest.CaptureFixture[str]) -> None:
    replies = (
        (
            "Plan: stock\n#E1 = stock[lamp]\nPlan: terms\n#E2 = lawyer[With #E1 in stock, may lamps"
            " be sent back?]"
        ),
        "Within 30 days.",
        "Yes, and for 30 days.",
    )
    names, server = played("In chats", *replies)
    assert isinstance(names["agent"], ReWOOAgent)
    assert capsys.readouterr().out.splitlines()[-2:] == [
        "Yes, and for 30 days.",
        "[('stock', 'SUCCESS'), ('lawyer', 'SUCCESS')]",
    ]
    assert "With 12 in stock" in server.chats[1]["messages"][-1]["content"]
    assert "Knows the terms of sale." in server.chats[0]["messages"][0]["content"]


def test_changing_a_plan(capsys: pytest.CaptureFixture[str]) -> None:
    names, server = played("Changing a plan", CITIES.format("Prto"), "I do not know.", "Lisbon.")
    assert capsys.readouterr().out.splitlines() == ["Lisbon. ['#E1', '#E2']"]
    assert [action.errmsg for action in names["first"].actions] == [None, "'Prto'"]
    assert [action.errmsg for action in names["second"].actions] == [None, None]
    assert len(server.chats) == 3


def test_when_a_step_fails(capsys: pytest.CaptureFixture[str]) -> None:
    again = "Plan: guess\n#E3 = guess[Porto]"
    _, server = played("When a step fails", CITIES.format("Porto"), again, "Lisbon, probably.")
    assert capsys.readouterr().out.splitlines() == [
        "Lisbon, probably.",
        (
            "{'#E1': 'Lisbon has 567,000 inhabitants.', '#E3': 'Porto may have some 250,000"
            " inhabitants.'}"
        ),
    ]
    assert "[failed: 'Porto']" in server.chats[1]["messages"][-1]["content"]


def test_every_block_is_run_by_a_test() -> None:
    assert set(BLOCKS) == {
        "A question with two tools",
        "In chats",
        "Changing a plan",
        "When a step fails",
    }


def test_every_class_that_the_page_names_exists() -> None:
    named = set(re.findall(r"`([A-Z][a-z]+[A-Z]\w+)[`(.]", PAGE.read_text(encoding="utf-8")))
    homes = (rewoo, agentkit, agentkit.events)
    assert len(named) > 6
    assert [name for name in sorted(named) if not any(hasattr(home, name) for home in homes)] == []


@pytest.mark.parametrize("examples", [True, False], ids=["examples", "bare"])
def test_the_figures_are_those_of_the_benchmark(tmp_path: Path, examples: bool) -> None:
    [row] = re.findall(
        rf"^\| {SHAPE_STEPS} \|(.*)\|$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE
    )
    told = [float(each.replace(",", "")) for each in row.split("|")][0 if examples else 3 :][:3]
    database = Database(tmp_path / "bench.duckdb")
    one, other = (
        measured(Ledger(database), kind, SHAPE_STEPS, examples).prompt_tokens
        for kind in ("ReAct", "ReWOO")
    )
    database.close()
    assert [one, other, one / other] == pytest.approx(told, rel=0.05)
    assert not examples or one / other >= LEAST_RATIO
