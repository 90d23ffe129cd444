"""`team`: what comes with the app and what stands in files, looked into and written otherwise."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agentkit.mcp.servers import AllowedTool, ToolServer, ToolServers
from agentkit.teams import registry
from tests.cli.conftest import Cli
from tests.teams.built import drafts

pytestmark = pytest.mark.parametrize("held", [False], indirect=True)
"""No data folder is opened."""


def test_a_team_is_found_shown_and_read_again(cli: Cli, tmp_path: Path) -> None:
    listed = cli("team", "list", "--json").json["teams"]
    assert [one["team"] for one in listed] == [one.id for one in registry.teams()]
    assert "Group of three" in cli("team", "list").out
    shown = cli("team", "show", "plan").json
    assert (shown["name"], shown["flow"]["kind"]) == ("Plan first", "plan")
    file = tmp_path / "plan.json"
    assert cli("team", "export", "plan", "--out", file).code == 0
    assert cli("team", "show", file).json == shown


def test_the_help_of_a_question_names_every_team(cli: Cli) -> None:
    told = set(cli("ask", "--help").out.replace(",", " ").replace(".", " ").split())
    assert {one.id.partition(":")[0] for one in registry.teams()} - told == set()


def test_a_file_becomes_a_script_and_a_notebook(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "three.json"
    file.write_text(json.dumps(drafts.group()))
    compile(cli("team", "export", file, "--format", "py").out, "team.py", "exec")
    assert cli("team", "export", file, "--format", "ipynb").json["nbformat"] == 4


def test_a_script_has_the_servers_of_its_tools_without_secrets(
    cli: Cli, tmp_path: Path, data: Path
) -> None:
    tools = {"stock": AllowedTool("stock", "How many there are.", {"type": "object"})}
    server = ToolServer("shop", url="https://shop.test/mcp", headers={"KEY": "k-9"}, tools=tools)
    ToolServers(data).save(server)
    file = tmp_path / "shop.json"
    file.write_text(json.dumps(drafts.single(tools=[{"name": "shop/stock"}])))
    script = cli("team", "export", file, "--format", "py").out
    assert "https://shop.test/mcp" in script
    assert "k-9" not in script


def test_a_script_is_read_and_what_did_not_fit_is_told(cli: Cli, tmp_path: Path) -> None:
    script, file = tmp_path / "a.py", tmp_path / "a.json"
    script.write_text("a = AssistantAgent('solo', description=make())\nraise SystemExit(9)")
    ended = cli("team", "import", script, "--out", file)
    assert ended.code == 0
    assert "solo: " not in ended.out
    assert "a: description is computed, so it was not taken." in ended.err
    assert json.loads(file.read_text())["flow"]["agent"] == "solo"


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("show", "nothing"), "There is no team 'nothing'"),
        (("import", "gone.py"), "gone.py cannot be read"),
        (("export", "answer", "--out", "gone/x.json"), "cannot be written"),
    ],
)
def test_what_cannot_be_done_is_told(cli: Cli, arguments: tuple[str, ...], why: str) -> None:
    ended = cli("team", *arguments)
    assert (ended.code, ended.out) == (1, "")
    assert why in ended.err
