"""A whole workspace given odd names: every file is taken in, and every run is in the ledger."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from agentkit.errors import FetchFailed
from agentkit.retrieval import FakeEmbedder, Source
from agentkit.settings import Settings
from agentkit.teams import Question
from agentkit.workspace import Workspace

OWNER = "ann"
NAMES = ["\ud800.txt", "a\0b.txt", "報" * 300, "x\u202efdp.txt", ".."]


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    opened = Workspace(Settings(data=tmp_path / "data"), FakeEmbedder())
    yield opened
    opened.close()


def sources(folder: Path) -> list[Source]:
    found = []
    for number, name in enumerate(NAMES):
        path = folder / str(number)
        path.write_text(f"Tea number {number} is brewed at 8{number} degrees.", encoding="utf-8")
        found.append(Source(name, path, f"upload:{name}"))
    return found


def test_files_attached_to_a_chat(workspace: Workspace, tmp_path: Path) -> None:
    workspace.library.create_collection(OWNER, "Docs")
    run = workspace.ask(OWNER, "How hot is tea?", collection="Docs", attachments=sources(tmp_path))
    assert "degrees" in run.result().text
    asked = workspace.ledger.thread(OWNER, run.chat_id or "")[0]
    shown = ["\N{REPLACEMENT CHARACTER}.txt", "ab.txt", "報" * 300, "xfdp.txt", ".."]
    assert [one.name for one in Question.from_message(asked).attachments] == shown


def test_a_run_for_one_file_and_one_for_an_address(workspace: Workspace, tmp_path: Path) -> None:
    for source in sources(tmp_path):
        [done] = workspace.ingest(OWNER, "Docs", [source]).result()
        assert done.status == "indexed"
    for url in ("http://\ud800/", "\ud800"):
        with pytest.raises(FetchFailed):
            workspace.ingest_url(OWNER, "Docs", url).result()
    for url in ("http://a\0b/", "http://x\u202ey/"):
        [done] = workspace.ingest_url(OWNER, "Docs", url).result()
        assert (done.status, bool(done.error)) == ("failed", True)
