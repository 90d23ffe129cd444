"""`mcp`: servers of tools added, started once their command was confirmed, allowed and removed."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from agentkit.mcp.servers import ToolServers
from tests.cli.conftest import Cli
from tests.servers import mcp_server

pytestmark = pytest.mark.parametrize("held", [False], indirect=True)
"""No data folder is opened."""


@pytest.fixture
def shop(cli: Cli, tmp_path: Path) -> Path:
    """The folder of a server that was added, with a secret."""
    folder = tmp_path / "shop"
    folder.mkdir()
    command = (sys.executable, mcp_server.__file__, folder)
    added = cli("mcp", "add", "shop", "--variable", "TOKEN=s3cret", "--", *command)
    assert added.code == 0, added.err
    assert "nothing of it has run" in added.out
    return folder


def answer(monkeypatch: pytest.MonkeyPatch, typed: str) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(typed))


def test_a_program_is_shown_whole_and_starts_once_it_was_confirmed(
    cli: Cli, shop: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k-9")
    for typed in ("", "n\n", "perhaps\n"):
        answer(monkeypatch, typed)
        refused = cli("mcp", "test", "shop")
        assert refused.code == 1
        assert f"  2: {shop}\n" in refused.err
        assert "Variables: TOKEN" in refused.err
        assert "was not started" in refused.err
        assert not (shop / "started").exists()
    answer(monkeypatch, "y\n")
    listed = cli("mcp", "test", "shop")
    assert "stock (not allowed): How many of a product are there." in listed.out
    environment = json.loads((shop / "started").read_text())
    assert environment["TOKEN"] == "s3cret"
    assert "OPENAI_API_KEY" not in environment
    answer(monkeypatch, "")  # not asked again
    assert cli("mcp", "test", "shop").code == 0


def test_tools_are_allowed_changed_and_taken_back(cli: Cli, shop: Path, data: Path) -> None:
    assert cli("mcp", "allow", "shop", "warmth", "--yes").code == 0
    ended = cli("mcp", "allow", "shop", "stock", "--harmless")
    assert "2 tools of shop allowed to teams: warmth, stock" in ended.out
    tools = ToolServers(data).find("shop").tools
    assert {name: one.marked for name, one in tools.items()} == {
        "warmth": "dangerous",
        "stock": "harmless",
    }
    (shop / "changed").touch()
    assert "warmth (says something else than when" in cli("mcp", "test", "shop").out
    shown = cli("mcp", "show", "shop").out
    assert "stock (harmless): How many" in shown
    assert "s3cret" not in shown
    assert cli("mcp", "remove", "shop", "stock").code == 0
    assert "warmth" in cli("mcp", "list").out
    assert list(ToolServers(data).find("shop").tools) == ["warmth"]
    assert cli("mcp", "remove", "shop").code == 0
    assert "no server of tools yet" in cli("mcp", "list").err


def test_what_nobody_would_see_in_a_command_is_written_out(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cli("mcp", "add", "odd", "--", "echo", "a\x1b[2A\u202eb\nc").code == 0
    answer(monkeypatch, "no\n")
    assert "  1: a⟨U+001B⟩[2A⟨U+202E⟩b⟨U+000A⟩c\n" in cli("mcp", "test", "odd").err


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("show", "gone"), "There is no server of tools 'gone'"),
        (("test", "gone"), "There is no server of tools 'gone'"),
        (("remove", "gone"), "There is no server of tools 'gone'"),
        (("add", "a b", "--url", "https://x.test"), "is not a name for a server"),
        (("add", "x"), "Give either a command to start, or an address."),
        (("add", "x", "--url", "https://x.test", "--", "run"), "Give either a command"),
        (("add", "x", "--url", "file:///etc"), "is not a web address"),
        (("add", "x", "--variable", "TOKEN", "--", "run"), "'TOKEN' has no '='"),
        (("add", "shop", "--", "run"), "There is a server shop already"),
        (("allow", "shop", "fly", "--yes"), "shop has no tool 'fly'; it lists stock"),
        (("remove", "shop", "fly"), "shop has no allowed tool 'fly'"),
    ],
)
@pytest.mark.usefixtures("shop")
def test_what_cannot_be_done_is_told(cli: Cli, arguments: tuple[str, ...], why: str) -> None:
    ended = cli("mcp", *arguments)
    assert (ended.code, ended.out) == (1, "")
    assert why in ended.err
