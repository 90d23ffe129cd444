"""`export` and `import`: a chat goes out in three forms, and comes back from one of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Cli


@pytest.fixture
def chat(filled: Cli) -> str:
    """A chat about a river."""
    found: str = filled("ask", "How long is the Danube?", "--json").json["chat"]
    return found


def test_a_chat_goes_out_in_three_forms_and_comes_back(cli: Cli, chat: str, tmp_path: Path) -> None:
    out = cli("export", chat, "--out", tmp_path)
    path = tmp_path / "How long is the Danube.md"
    assert (out.code, out.err) == (0, "")
    assert out.out.startswith(f"How long is the Danube?: 2 messages in {path} (")
    assert "[^1]: rivers.md" in path.read_text()
    page = tmp_path / "river.html"
    assert cli("export", chat, "--format", "html", "--out", page).code == 0
    assert '<a href="#source-1-1">[1]</a>' in page.read_text()
    whole = tmp_path / "river.json"
    assert cli("export", chat, "--format", "json", "--out", whole).code == 0
    assert len(json.loads(whole.read_text())["messages"]) == 2
    made = cli("import", whole, "--json").json
    assert made["title"] == "How long is the Danube?"
    assert made["chat"] != chat
    again = tmp_path / "again.json"
    cli("export", made["chat"], "--format", "json", "--out", again)
    assert json.loads(again.read_text())["requests"] == json.loads(whole.read_text())["requests"]
    assert cli("import", whole).out.startswith("How long is the Danube?: imported as chat ")


def test_what_is_wrong_is_told(cli: Cli, chat: str, tmp_path: Path) -> None:
    path = tmp_path / "river.md"
    path.write_text("mine")
    taken = cli("export", chat, "--out", path)
    assert (taken.code, taken.out) == (1, "")
    assert f"{path} is there already; give another name, or --force" in taken.err
    assert path.read_text() == "mine"
    assert cli("export", chat, "--out", path, "--force").code == 0
    assert "There is no chat 'none'" in cli("export", "none", "--out", tmp_path).err
    nowhere = tmp_path / "none" / "river.md"
    assert f"{nowhere} cannot be written" in cli("export", chat, "--out", nowhere).err
    assert cli("export", chat, "--format", "pdf", "--out", tmp_path).code == 2
    wrong = cli("import", path, "--json")
    assert wrong.code == 1
    assert wrong.json["error_type"] == "DamagedDocument"
    assert "river.md is not JSON" in wrong.json["error"]
