"""`kill -9` in the middle of an ingest: what was acknowledged is there, whole; the indexes agree with the store."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
from pathlib import Path

from agentkit.database import Database
from agentkit.retrieval import FakeEmbedder, Library, sources_from_paths
from agentkit.settings import Settings
from tests.retrieval.conftest import OWNER

ROUNDS = 6
DOCUMENTS = 120
_ROOT = Path(__file__).resolve().parents[2]

CHILD = """
import sys
from pathlib import Path
from agentkit.core import bus
from agentkit.database import Database
from agentkit.events import DocumentDone
from agentkit.retrieval import FakeEmbedder, Library, sources_from_paths
from agentkit.retrieval import indexes, ingest
from agentkit.settings import Settings

indexes.EXACT_BELOW, indexes._FAR, ingest._GROUP_DOCUMENTS = 50, 40, 8
settings = Settings(data=Path(sys.argv[1]))
database = Database(settings.data / "agentkit.duckdb")
library = Library(database, settings, FakeEmbedder())
library.interrupt_orphans()

def acknowledge(event):
    if isinstance(event, DocumentDone) and event.status in ("indexed", "unchanged"):
        sys.stdout.write(event.document + "\\n")
        sys.stdout.flush()

with bus.listening(acknowledge):
    library.ingest("ann", "Docs", sources_from_paths([Path(sys.argv[2])]))
library.close()
database.close()
"""


def text(number: int, edition: int) -> str:
    return "\n\n".join(f"# Part {part}\n\nedition{edition} of document{number}, part {part}." for part in range(number % 4 + 1))


def run_until_killed(data: Path, files: Path, after: int, delay: float) -> set[str]:
    """Ingest in a child, kill it some time after so many acknowledgements; gives all that it acknowledged."""
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, str(data), str(files)], stdout=subprocess.PIPE, text=True, cwd=_ROOT, start_new_session=True
    )
    assert child.stdout is not None
    acknowledged: list[str] = []
    timer = threading.Timer(delay, os.killpg, (child.pid, signal.SIGKILL))
    for line in child.stdout:
        acknowledged.append(line.strip())
        if len(acknowledged) == after:
            timer.start()
    child.wait()
    timer.cancel()
    child.stdout.close()
    return set(acknowledged)


def test_nothing_acknowledged_is_lost(tmp_path: Path) -> None:
    chance = random.Random(20)
    settings, files = Settings(data=tmp_path / "data"), tmp_path / "files"
    files.mkdir()
    promised: dict[str, int] = {}
    cut_short = 0
    for edition in range(ROUNDS):
        for number in range(DOCUMENTS):
            if edition == 0 or chance.random() < 0.5:
                (files / f"{number}.md").write_text(text(number, edition))
        acknowledged = run_until_killed(settings.data, files, chance.randint(1, 60), chance.uniform(0, 0.1))
        assert acknowledged
        cut_short += len(acknowledged) < DOCUMENTS
        written = {path.name: path.read_text() for path in files.iterdir()}
        promised.update({name: edition for name in acknowledged})
        database = Database(settings.data / "agentkit.duckdb")
        library = Library(database, settings, FakeEmbedder())
        library.interrupt_orphans()
        assert library.check() == []
        rows = {row.name: row for row in library.documents(OWNER, "Docs")}
        for name in acknowledged:
            assert library.text(OWNER, rows[name].id) == written[name].strip()
        assert set(promised) <= {name for name, row in rows.items() if row.chunks}
        for row in rows.values():
            assert row.status in {"indexed", "failed"}
            assert len(library.chunks(OWNER, row.id, limit=100)) == row.chunks
        some = sorted(acknowledged)[0]
        assert library.retrieve(OWNER, "Docs", f"document{some.removesuffix('.md')},", mode="lexical")[0].document == some
        library.close()
        database.close()
    assert cut_short
    database = Database(settings.data / "agentkit.duckdb")
    library = Library(database, settings, FakeEmbedder())
    assert {one.status for one in library.ingest(OWNER, "Docs", sources_from_paths([files]))} <= {"indexed", "unchanged"}
    assert {row.status for row in library.documents(OWNER, "Docs")} == {"indexed"}
    assert library.check() == []
    library.close()
    database.close()
