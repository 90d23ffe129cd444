"""A team whose MCP server dies, changes a tool, fails and floods: its agents are told in words."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from agentkit.events import ToolReturned
from agentkit.llm.calls.scripted import scripted_model
from agentkit.mcp.connecting import open_connection
from agentkit.mcp.servers import AllowedTool, ServerList
from agentkit.mcp.serving import ServedTools
from agentkit.teams.built.document import read_document
from agentkit.teams.built.team import build_team
from tests.mcp.conftest import make_program
from tests.teams.built import drafts
from tests.teams.stage import call, play

TOOLS = ["stock", "fail", "flood", "die", "warmth"]


def test_what_a_server_does_badly_is_told_in_words(tmp_path: Path) -> None:
    program = make_program(tmp_path)
    with open_connection(program) as opened:
        listed = {one.name: one for one in opened.list_tools()}
    given = [(listed[name].description, listed[name].parameters) for name in TOOLS]
    tools = [
        AllowedTool(name, *told, marked="harmless") for name, told in zip(TOOLS, given, strict=True)
    ]
    server = replace(program, tools={one.name: one for one in tools})
    (tmp_path / "changed").touch()
    names = ["shop/gone", *(f"shop/{name}" for name in TOOLS)]
    team = build_team(
        read_document(drafts.single(tools=[{"name": name} for name in names])), "my-team:1"
    )
    calls = [
        call("shop__die"),
        call("shop__stock", product="tea"),
        call("shop__stock", amount=3),
        call("shop__warmth"),
        call("shop__fail", why="no \x00\ud800"),
        call("shop__flood", count=6_000_000),
        call("shop__flood", count=100_000),
    ]
    model = scripted_model([*calls, "Done."])
    played = play(team, model, more={"served": ServedTools(ServerList([server]))})
    assert played.final.content == "Done."
    told = [one.content for one in played.of(ToolReturned)]
    for said, words in zip(told, WORDS, strict=True):
        assert words in said
    assert max(map(len, told)) < 31_000


WORDS = [
    "did not answer die",
    "7 tea in Vienna",
    "product",
    "says something else of warmth",
    "fail",
    "characters, more than 5,000,000",
    "[cut: it gave 100,000 characters]",
]
