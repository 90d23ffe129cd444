"""Our index against Chroma's PersistentClient, on the same vectors and texts:
`python tests/bench/bench_index.py`.

By default 50,000 chunks of 384 dimensions, synthetic: hundreds of clusters on 50 latent dimensions
and noise, whose graph needs about the same effort as that of sentence embeddings; texts of 40 words
by Zipf's law, and questions of 10 without the 50 most frequent words, which are stop words in a
language. Embedding takes no time here.

--chunks N     so many chunks
--million [N]  only the vector index, of 1,000,000 (or N) chunks in a DuckDB file: memory, build,
               p50, size
"""

from __future__ import annotations

import argparse
import resource
import shutil
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

# The project is run from its folder, it is not installed.
from agentkit.database import Database  # noqa: E402
from agentkit.documents import Piece  # noqa: E402
from agentkit.retrieval import Library  # noqa: E402
from agentkit.retrieval.index.indexes import CollectionIndex, VersionChanges  # noqa: E402
from agentkit.retrieval.index.vector_index import VectorIndex  # noqa: E402
from agentkit.retrieval.ingest.ingest import GroupWriter  # noqa: E402
from agentkit.retrieval.ingest.intake import Ready  # noqa: E402
from agentkit.retrieval.store.store import Store  # noqa: E402
from agentkit.retrieval.types import IndexVersion, StoredDocument  # noqa: E402
from agentkit.settings import Settings  # noqa: E402

DIMENSION, LATENT, CLUSTERS = 384, 50, 400
WORDS, ASKED, VOCABULARY, STOP_WORDS = 40, 10, 30_000, 50
BATCH, PIECES = 5_000, 25
QUERIES, MORE = 300, 1_000
OWNER, NAME = "bench", "Bench"


class Given:
    """An embedder that hands out vectors that are known for the texts."""

    name, provider, dimension, max_tokens = "given", "local", DIMENSION, 256
    is_ready, precision = True, "float32"

    def __init__(self) -> None:
        self.known: dict[str, np.ndarray] = {}
        self.other = vectors(1, 0)[0]

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        return (
            np.stack([self.known.get(text, self.other) for text in texts])
            if texts
            else np.empty((0, DIMENSION), np.float32)
        )

    def offsets(self, text: str) -> list[tuple[int, int]]:
        return []

    def cost(self, tokens: int) -> float | None:
        return 0.0


def vectors(count: int, seed: int) -> np.ndarray:
    """Vectors (count, 384) of length 1, of the same clusters for every seed."""
    world, chance = np.random.default_rng(1), np.random.default_rng([2, seed])
    axes = (
        world.normal(size=(LATENT, DIMENSION)).astype(np.float32)
        * (np.arange(1, LATENT + 1) ** -0.35)[:, None]
    )
    centres = world.normal(size=(CLUSTERS, LATENT)).astype(np.float32)
    found = np.empty((count, DIMENSION), dtype=np.float32)
    for start in range(0, count, 50_000):
        size = min(50_000, count - start)
        latent = centres[chance.zipf(1.3, size) % CLUSTERS] + chance.normal(
            size=(size, LATENT)
        ).astype(np.float32)
        part = latent @ axes + 0.35 * chance.normal(size=(size, DIMENSION)).astype(np.float32)
        found[start : start + size] = part / np.linalg.norm(part, axis=1, keepdims=True)
    return found


def texts(count: int, seed: int) -> list[str]:
    chance = np.random.default_rng([3, seed])
    numbers = np.minimum(chance.zipf(1.15, (count, WORDS)), VOCABULARY)
    return [
        f"n{seed}x{row} " + " ".join(f"word{number}" for number in line)
        for row, line in enumerate(numbers)
    ]


def questions(count: int) -> list[str]:
    chance = np.random.default_rng(4)
    words = chance.zipf(1.15, 200 * count)
    words = words[(words > STOP_WORDS) & (words <= VOCABULARY)][: ASKED * count].reshape(
        count, ASKED
    )
    return [" ".join(f"word{number}" for number in line) for line in words]


def nearest(base: np.ndarray, queries: np.ndarray, k: int = 10) -> list[set[int]]:
    """The rows of the exact nearest, for each query."""
    return [set(np.argpartition(-(base @ query), k)[:k].tolist()) for query in queries]


def timed(
    *works: Callable[[int], Any], count: int = QUERIES
) -> list[tuple[float, list[list[int]]]]:
    """For each the median of the milliseconds, and what was found; they take turns, so that all
    meet the same machine.
    """
    took: list[list[float]] = [[] for _ in works]
    found: list[list[list[int]]] = [[] for _ in works]
    for number in range(count):
        for work, times, answers in zip(works, took, found, strict=True):
            started = time.perf_counter()
            answers.append(work(number))
            times.append((time.perf_counter() - started) * 1000)
    return [(statistics.median(times), answers) for times, answers in zip(took, found, strict=True)]


def recall(found: list[list[int]], right: list[set[int]]) -> float:
    return sum(len(set(one) & best) for one, best in zip(found, right, strict=True)) / sum(
        map(len, right)
    )


class Ours:
    """A library in a folder; a chunk's text begins with its number."""

    def __init__(self, folder: Path, embedder: Given) -> None:
        self.settings, self.embedder = Settings(data=folder), embedder
        self.open()

    def open(self) -> None:
        self.database = Database(self.settings.data / "agentkit.duckdb")
        self.library = Library(self.database, self.settings, self.embedder)

    def close(self) -> None:
        self.library.close()
        self.database.close()

    def add(self, seed: int, contents: Sequence[str]) -> None:
        """As an ingest does; on the disk and searchable when it returns."""
        store = self.library.store
        version = store.version(self.library.collection(OWNER, NAME).id)
        parts = (store, self.library.originals, self.library.indexes)
        writer = GroupWriter(*parts, self.embedder, version, threading.Lock())
        for batch in range(0, len(contents), BATCH):
            group = [
                ready(
                    version,
                    f"{seed}-{batch + start}",
                    contents[batch + start : batch + start + PIECES],
                )
                for start in range(0, min(BATCH, len(contents) - batch), PIECES)
            ]
            with self.database.transaction():
                store.register(version, [one.document for one in group], [])
            writer.write(group)
        writer.settle()

    def query(self, text: str, mode: Any) -> list[int]:
        hits = self.library.retrieve(OWNER, NAME, text, top_k=10, mode=mode)
        return [self.row(hit.chunk_id) for hit in hits]

    def row(self, chunk_id: int) -> int:
        """Where the chunk's vector is among those that were added."""
        if not hasattr(self, "ids"):
            self.ids = np.sort(self.library.store.chunk_table.chunk_ids(self.index.version))
        return int(np.searchsorted(self.ids, chunk_id))

    @property
    def index(self) -> CollectionIndex:
        return self.library.indexes.of(
            self.library.store.version(self.library.collection(OWNER, NAME).id)
        )


def ready(version: IndexVersion, name: str, contents: Sequence[str]) -> Ready:
    document = StoredDocument(
        name, version.collection_id, name, f"memory:{name}", "", sum(map(len, contents))
    )
    text, pieces = "\n".join(contents), []
    for start, content in zip(
        np.cumsum([0] + [len(one) + 1 for one in contents]).tolist(), contents, strict=False
    ):
        pieces.append(Piece(content, start, start + len(content), "", None, "", WORDS))
    return Ready(document, text, pieces, 0.0)


class Comparison:
    """Both with the same data, one after the other."""

    def __init__(self, count: int, folder: Path) -> None:
        import chromadb

        self.base, self.contents = vectors(count, 1), texts(count, 1)
        self.more, self.more_contents = vectors(MORE, 2), texts(MORE, 2)
        self.queries, self.asked = vectors(QUERIES, 3), questions(QUERIES)
        embedder = Given()
        for block, rows in (
            (self.contents, self.base),
            (self.more_contents, self.more),
            (self.asked, self.queries),
        ):
            embedder.known.update(zip(block, rows, strict=True))
        client = chromadb.PersistentClient(f"{folder}/chroma")
        self.theirs = client.create_collection(
            NAME, metadata={"hnsw:space": "cosine"}, embedding_function=None
        )
        self.ours = Ours(folder / "ours", embedder)
        self.ours.library.create_collection(OWNER, NAME)

    def run(self) -> None:
        print(f"{len(self.base):,} chunks of {DIMENSION} dimensions        ours     Chroma   ratio")
        line("adding, until searchable, s", seconds(self.add_to_ours), seconds(self.add_to_theirs))
        right = nearest(self.base, self.queries)
        self.ask_ours("hybrid")(0)  # the first of each loads what it needs
        ways = (
            self.ask_theirs,
            self.ask_index(None),
            self.ask_ours("dense"),
            self.ask_ours("hybrid"),
        )
        (p50, found), (index_p50, index_found), (dense_p50, _), (hybrid_p50, _) = timed(*ways)
        line("recall@10", recall(index_found, right), recall(found, right))
        line("vector index alone, p50 ms", index_p50, p50)
        line("retrieve(), dense, p50 ms", dense_p50, p50)
        line("retrieve(), hybrid, p50 ms", hybrid_p50, p50)
        self.among()
        print(self.ours.index.figures())
        line("closing, s", seconds(self.ours.close))
        line("opening, until the first answer, s", seconds(self.open_and_ask))
        line(f"catching up with {MORE:,} more, s", self.catch_up())
        self.ours.close()

    def open_and_ask(self) -> None:
        self.ours.open()
        self.ask_ours("dense")(0)

    def add_to_ours(self) -> None:
        self.ours.add(1, self.contents)
        self.ours.query(self.asked[0], "dense")

    def add_to_theirs(self) -> None:
        for start in range(0, len(self.base), BATCH):
            part = slice(start, start + BATCH)
            ids = [str(row) for row in range(len(self.base))[part]]
            self.theirs.add(ids=ids, embeddings=self.base[part], documents=self.contents[part])
        self.ask_theirs(0)

    def ask_ours(self, mode: str) -> Callable[[int], list[int]]:
        return lambda number: self.ours.query(self.asked[number], mode)

    def ask_theirs(self, number: int) -> list[int]:
        found: Any = self.theirs.query(
            query_embeddings=self.queries[number : number + 1], n_results=10
        )
        return [int(one) for one in found["ids"][0]]

    def ask_index(self, allowed: np.ndarray | None) -> Callable[[int], list[int]]:
        index = self.ours.index
        return lambda number: [
            self.ours.row(one) for one in index.nearest(self.queries[number], 10, allowed)[0]
        ]

    def among(self) -> None:
        """Among a random part of the chunks, as a filter leaves it."""
        for share in (0.001, 0.01, 0.1, 0.5):
            rows = np.sort(
                np.random.default_rng(5).choice(
                    len(self.base), max(20, int(share * len(self.base))), replace=False
                )
            )
            [(p50, found)] = timed(self.ask_index(self.ours.ids[rows]))
            right = [
                set(rows[list(one)].tolist()) for one in nearest(self.base[rows], self.queries)
            ]
            print(
                f"  among {share:6.1%} of them: p50 {p50:.2f} ms, recall@10"
                f" {recall(found, right):.4f}"
            )

    def catch_up(self) -> float:
        """The seconds that a start needs after so many chunks were stored that the files do not
        have.
        """
        self.ours.close()
        saved = self.ours.settings.data / "saved"
        shutil.copytree(self.ours.settings.data / "indexes", saved)
        self.ours.open()
        self.ours.add(2, self.more_contents)
        self.ours.close()
        shutil.rmtree(self.ours.settings.data / "indexes")
        saved.rename(self.ours.settings.data / "indexes")
        return seconds(self.open_and_ask)


def million(count: int) -> None:
    """The vector index of a collection of so many chunks, in a DuckDB file, without texts."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        database = Database(folder / "agentkit.duckdb")
        store = Store(database)
        with database.transaction():
            store.add_collection(OWNER, NAME, False, IndexVersion("", "", "given", DIMENSION, 200))
        found = store.collection(OWNER, NAME)
        assert found is not None
        version = store.version(found.id)
        started = time.perf_counter()
        for seed, start in enumerate(range(0, count, 10 * BATCH)):
            rows = vectors(min(10 * BATCH, count - start), 10 + seed)
            pieces = [
                (f"document-{start + row}", 0, Piece("", 0, 0, "", None, "", 0))
                for row in range(len(rows))
            ]
            with database.transaction():
                store.chunk_table.insert(version, pieces, rows)
        line(f"storing {count:,} chunks in DuckDB, s", time.perf_counter() - started)
        changes = VersionChanges(store.chunk_table, version)
        index = VectorIndex(changes, DIMENSION, "cosine", folder / "index")
        line("building the index, s", seconds(index.refresh))
        line("peak memory, GB", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20)
        line("saving, s", seconds(index.save))
        queries = vectors(QUERIES, 3)
        [(p50, answers)] = timed(partial(searched, index, queries, None))
        line("search, p50 ms", p50)
        everything = np.sort(np.array(store.chunk_table.chunk_ids(version)))
        right = [set(index._vectors.nearest(query, 10)[0].tolist()) for query in queries]
        line("recall@10", recall(answers, right))
        for share in (0.001, 0.01, 0.1, 0.5):
            some = np.sort(
                np.random.default_rng(5).choice(everything, int(share * count), replace=False)
            )
            line(f"among {share:.1%}, p50 ms", timed(partial(searched, index, queries, some))[0][0])
        line("database, GB", (folder / "agentkit.duckdb").stat().st_size / 2**30)
        line("index files, GB", index.figures().bytes / 2**30)
        print(index.figures())
        line(
            "opening, s",
            seconds(lambda: VectorIndex(changes, DIMENSION, "cosine", folder / "index").refresh()),
        )
        database.close()


def searched(
    index: VectorIndex, queries: np.ndarray, allowed: np.ndarray | None, number: int
) -> list[int]:
    found: list[int] = index.search(queries[number], 10, allowed)[0].tolist()
    return found


def seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def line(what: str, ours: float, theirs: float | None = None) -> None:
    print(
        f"{what:36}{ours:9.3f}"
        + (f"{theirs:11.3f}{theirs / ours:7.2f}x" if theirs is not None else ""),
        flush=True,
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--chunks", type=int, default=50_000)
    parser.add_argument("--million", type=int, nargs="?", const=1_000_000)
    arguments = parser.parse_args()
    if arguments.million:
        million(arguments.million)
    else:
        with tempfile.TemporaryDirectory() as temporary:
            Comparison(arguments.chunks, Path(temporary)).run()
