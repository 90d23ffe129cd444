"""`kill -9` at many points of everything that writes: what was acknowledged is there, whole; the
indexes agree with the store.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentkit.database import Database
from agentkit.retrieval import FakeEmbedder, Library
from agentkit.retrieval.index import indexes
from agentkit.retrieval.ingest.ingest import chunk_tokens
from agentkit.retrieval.options import SearchOptions
from agentkit.settings import Settings
from tests.retrieval.crash_child import DOCS, EXACT_BELOW, OWNER
from tests.soak import TIMES

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = 40
KILLS = 20
LEAST_KINDS = 7
NEAREST = SearchOptions(mode="dense", merge=False, collapse=1.0)
Text = str | None
"""What a document says; None when it is not there."""


class Killer:
    """The program that does work on a data folder and is killed at it."""

    def __init__(self, data: Path) -> None:
        self._data = data
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.retrieval.crash_child"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        )

    def order(
        self, do: str, kind: str = "", nth: int = 0, delay: float | None = None, **more: Any
    ) -> dict[str, Any]:
        """Have it done, and killed at the n-th point of that kind, or `delay` seconds later; gives
        what came of it.
        """
        given = {
            "data": str(self._data),
            "do": do,
            "kind": kind,
            "nth": nth,
            "delay": delay,
            "reader": False,
            **more,
        }
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(given) + "\n")
        self._process.stdin.flush()
        ended: dict[str, Any] = json.loads(self._process.stdout.readline())
        assert not ended["error"], (given, ended["error"])
        return ended

    def close(self) -> None:
        self._process.communicate()


class World:
    """A data folder, the files that are taken in, and what may be in the store."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.chance = random.Random(seed)
        self.folder, self.files, self.file = folder, folder / "files", folder / "docs.zip"
        self.data = folder / "data"
        self.killer = Killer(self.data)
        self.may: dict[str, set[Text]] = {}
        """The texts that each document may have now; one, unless the last work was cut short."""
        self.words: dict[str, list[str]] = {}
        """Words that only one edition of each document has, of all editions so far."""
        self.copies: dict[str, set[bool]] = {}
        """Whether imported collections may be there."""
        self.tokens = {chunk_tokens(FakeEmbedder())}
        """Sizes of chunks of the version that may answer."""
        self.round = 0
        self.asked = self.missed = 0
        """Questions for a vector that is there, and those that the graph did not find."""
        self.files.mkdir()
        self.work("ingest")
        self.killer.order("export", file=str(self.file))
        self.exported = set(self.may)
        self.counts = {
            do: self.work(do)["counts"] for do in ("delete", "ingest", *2 * ("promote", "import"))
        }
        """How often work that is not killed comes by each kind of point."""

    def work(
        self,
        do: str,
        kind: str = "",
        nth: int = 0,
        delay: float | None = None,
        reader: bool = False,
    ) -> dict[str, Any]:
        """Do some work of that kind, killed or not, and note what may be in the store then."""
        self.round += 1
        prepared: dict[str, Any] = getattr(self, f"_{do}")()
        ended = self.killer.order(do, kind, nth, delay, reader=reader, **prepared)
        getattr(self, f"_{do}_done")(ended["acknowledged"])
        return ended

    def _part(self, part: int, word: str) -> str:
        return f"# Part {part}\n\n{word} is said here, with {self._others(word)}."

    def _others(self, word: str) -> str:
        """Words that make its vector different from all others."""
        chance = random.Random(word)
        return " ".join(f"x{chance.randrange(1_000)}" for _ in range(12))

    def _ingest(self) -> dict[str, Any]:
        for number in range(DOCUMENTS):
            name = f"{number}.md"
            if self.may.get(name, {None}) == {None} or self.chance.random() < 0.4:
                word = f"w{number}r{self.round}"
                text = "\n\n".join(self._part(part, word) for part in range(number % 4 + 1))
                self.words.setdefault(name, []).append(word)
                (self.files / name).write_text(text)
            self.may.setdefault(name, {None}).add((self.files / name).read_text())
        return {"files": str(self.files)}

    def _ingest_done(self, names: list[str]) -> None:
        self.may.update({name: {(self.files / name).read_text()} for name in names})

    def _delete(self) -> dict[str, Any]:
        there = sorted(name for name, texts in self.may.items() if texts != {None})
        self.names = self.chance.sample(there, min(10, len(there)))
        for name in self.names:
            self.may[name].add(None)
        return {"names": self.names}

    def _delete_done(self, names: list[str]) -> None:
        self.may.update({name: {None} for name in names})

    def _promote(self) -> dict[str, Any]:
        self.tokens.add(20 + self.round)
        return {"tokens": 20 + self.round}

    def _promote_done(self, steps: list[str]) -> None:
        if "promoted" in steps:
            self.tokens = {20 + self.round}

    def _import(self) -> dict[str, Any]:
        for maybe in self.copies.values():
            maybe.add(False)
        self.copies[f"Copy {self.round}"] = {True, False}
        return {"file": str(self.file), "name": f"Copy {self.round}"}

    def _import_done(self, names: list[str]) -> None:
        self.copies.update({name.removeprefix("-"): {not name.startswith("-")} for name in names})

    def check(self) -> None:
        """Open a copy of what the killed process left, and look whether all is as it may be."""
        shutil.copytree(self.data, self.folder / "copy", ignore=shutil.ignore_patterns("files"))
        (self.folder / "copy" / "files").symlink_to(
            self.data / "files"
        )  # many small ones, which nothing here changes
        settings = Settings(data=self.folder / "copy")
        database = Database(settings.data / "agentkit.duckdb")
        library = Library(database, settings, FakeEmbedder())
        library.interrupt_orphans()
        assert library.check() == []
        self._check_documents(library)
        self._check_versions(library)
        self._check_copies(library)
        library.close()
        database.close()
        shutil.rmtree(self.folder / "copy")

    def _check_documents(self, library: Library) -> None:
        stored = library.store.database
        version = library.store.version(library.collection(OWNER, DOCS).id)
        rows = {row.name: row for row in library.documents(OWNER, DOCS)}
        texts = {
            row["document_id"]: row["text"]
            for row in stored.rows("select document_id, text from texts")
        }
        sql = (
            "select document_id, list((text, start_at, end_at)) as found from chunks where"
            " version_id = ? group by document_id"
        )
        chunks = {row["document_id"]: row["found"] for row in stored.rows(sql, [version.id])}
        assert {row.status for row in rows.values()} <= {"indexed", "failed"}
        for name, allowed in self.may.items():
            row = rows.get(name)
            text = texts[row.id] if row and row.chunks else None
            assert text in allowed, name
            found = chunks.get(row.id, []) if row else []
            assert len(found) == (row.chunks if row else 0)
            assert all(text is not None and text[start:end] == part for part, start, end in found)
            self.may[name] = {text}
        for name in self.chance.sample(sorted(self.may), 6):
            self._check_answers(library, name)

    def _check_answers(self, library: Library, name: str) -> None:
        (text,) = self.may[name]
        for word in self.words[name][-3:]:
            said = text is not None and f"{word} " in text
            found = {hit.document for hit in library.retrieve(OWNER, DOCS, word, mode="lexical")}
            assert found == ({name} if said else set()), word
            if said:
                near = library.retrieve(
                    OWNER, DOCS, f"{word} {self._others(word)}", options=NEAREST
                )
                self.asked += 1
                self.missed += not any(hit.document == name and word in hit.text for hit in near)

    def _check_versions(self, library: Library) -> None:
        listed = [status.version for status in library.versions.listed(OWNER, DOCS)]
        (active,) = [version for version in listed if version.active]
        assert active.max_tokens in self.tokens
        self.tokens = {active.max_tokens}

    def _check_copies(self, library: Library) -> None:
        there = {collection.name for collection in library.collections(OWNER)}
        for name, maybe in self.copies.items():
            assert (name in there) in maybe
            if name in there:
                assert {
                    row.name for row in library.documents(OWNER, name) if row.chunks
                } == self.exported
                hits = library.retrieve(OWNER, name, "what is said here", top_k=3)
                assert {hit.document for hit in hits} <= self.exported
                assert len(hits) == 3
            self.copies[name] = {name in there}
        assert there <= {DOCS, *self.copies}


@pytest.fixture(params=range(20, 20 + TIMES))
def world(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> Iterator[World]:
    monkeypatch.setattr(indexes, "EXACT_BELOW", EXACT_BELOW)
    made = World(tmp_path, request.param)
    yield made
    made.killer.close()


@pytest.mark.soak
def test_nothing_acknowledged_is_lost(world: World) -> None:
    assert world.counts["ingest"]["save graph"]
    assert world.counts["promote"]["save graph"]
    killed: Counter[tuple[str, str]] = Counter()
    middle = 0
    while killed.total() < KILLS:
        assert world.round < 2 * KILLS
        do = world.chance.choice(["ingest", "ingest", "delete", "promote", "import"])
        kind, most = world.chance.choice(sorted(world.counts[do].items()))
        delay = world.chance.choice([None, None, 0.0, world.chance.uniform(0, 0.01)])
        ended = world.work(
            do, kind, world.chance.randint(1, most), delay, reader=world.round % 16 == 0
        )
        world.check()
        if ended["killed"]:
            killed[do, kind] += 1
            middle += bool(ended["acknowledged"]) or kind not in {"statement", "close database"}
    assert middle > KILLS / 2
    assert len({kind for _, kind in killed}) >= LEAST_KINDS
    assert {do for do, _ in killed} == set(world.counts)
    assert world.work("ingest")["killed"] is False
    assert all(texts != {None} for texts in world.may.values())
    world.check()
    assert world.missed <= world.asked / 50
