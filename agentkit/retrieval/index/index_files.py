"""The files of a large vector index: hnswlib's graph, the vectors, and a description that names both and their checksums.

The description is written last and replaced in one step, so that a crash at any moment leaves the old index or the new one.
"""

from __future__ import annotations

import json
import os
import zlib
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentkit import private
from agentkit.retrieval.index.nearest import ExactIndex, Graph, Metric, load_graph

if TYPE_CHECKING:
    import numpy as np

_DESCRIPTION = "vectors.json"
_TEMPORARY = "vectors.tmp"
_READ = 1 << 22


@dataclass(frozen=True, slots=True)
class Tuned:
    """How hard the graph searches, and what that was measured to find."""

    ef: int
    """Candidates that are looked at for ten results."""
    recall: float
    """The share of the ten nearest that are found."""
    sample: int
    """Queries that it was measured with."""
    vectors: int
    """Vectors that there were then."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """What the files hold."""

    rows: ExactIndex
    graph: Graph
    tuned: Tuned
    change: int
    """The number of the last change in them."""


def write(folder: Path, rows: ExactIndex, graph: Graph, tuned: Tuned, change: int) -> None:
    """Write an index that contains all changes up to that number; `rows` then reads from the file.

    Raises OSError, a full disk included; what was there before stays then.
    """
    import numpy as np

    private.make_folder(folder)
    try:
        files = {"graph": _write_graph(folder, graph, change), "rows": _write_rows(folder, rows, change)}
        description: dict[str, Any] = {
            "files": {kind: [file.name, _checksum(file)] for kind, file in files.items()},
            "change": change, "dimension": rows.dimension, "metric": rows.metric, "tuned": asdict(tuned),
            "removed": rows.removed.tolist(),
        }  # fmt: skip
        temporary = folder / _TEMPORARY
        temporary.write_text(json.dumps(description), encoding="utf-8")
        _publish(temporary, folder / _DESCRIPTION)
    finally:
        _sweep(folder)
    rows.rest_on(np.load(files["rows"], mmap_mode="r"))


def read(folder: Path, dimension: int, metric: Metric) -> Loaded | None:
    """The saved index; None when it is missing, damaged, or of another kind: a cache is built again then."""
    try:
        description = json.loads((folder / _DESCRIPTION).read_text(encoding="utf-8"))
        if (description["dimension"], description["metric"]) != (dimension, metric):
            return None
        files = {kind: folder / Path(name).name for kind, (name, _) in description["files"].items()}
        if any(_checksum(files[kind]) != value for kind, (_, value) in description["files"].items()):
            return None
        graph = load_graph(str(files["graph"]), dimension, metric)
        rows = _read_rows(files["rows"], graph.ids, dimension, metric)
        rows.remove(description["removed"])
        with suppress(OSError):
            _sweep(folder)
        return Loaded(rows, graph, Tuned(**description["tuned"]), int(description["change"]))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RuntimeError):
        return None


def clear(folder: Path) -> None:
    """Remove the files; raises OSError."""
    if (folder / _DESCRIPTION).exists():
        (folder / _DESCRIPTION).unlink()
        _settle(folder)
    _sweep(folder)


def size(folder: Path) -> int:
    """Bytes of the files."""
    return sum(file.stat().st_size for file in folder.glob("vectors*") if file.is_file())


def _write_graph(folder: Path, graph: Graph, change: int) -> Path:
    temporary, file = folder / _TEMPORARY, folder / f"vectors-{change}.hnsw"
    expected = graph.save(str(temporary))
    written = temporary.stat().st_size
    if written != expected:
        raise OSError(f"only {written:,} of {expected:,} bytes could be written to {temporary}; is the disk full?")
    _publish(temporary, file)
    return file


def _write_rows(folder: Path, rows: ExactIndex, change: int) -> Path:
    temporary, file = folder / _TEMPORARY, folder / f"vectors-{change}.npy"
    with temporary.open("wb") as opened:
        rows.write(opened)
    _publish(temporary, file)
    return file


def _read_rows(file: Path, ids: np.ndarray, dimension: int, metric: Metric) -> ExactIndex:
    import numpy as np

    vectors = np.load(file, mmap_mode="r")
    if vectors.shape != (len(ids), dimension):
        raise ValueError(f"{file} has vectors of shape {vectors.shape}, the graph {len(ids)}.")
    return ExactIndex(dimension, metric, ids, vectors)


def _publish(temporary: Path, file: Path) -> None:
    """Make what was written durable, then put it in its place in one step."""
    with temporary.open("rb") as written:
        os.fsync(written.fileno())
    private.close_to_others(temporary)
    temporary.replace(file)
    _settle(file.parent)


def _settle(folder: Path) -> None:
    """Make the names in a folder durable: what the database forgets next must never be missing in the files."""
    if os.name == "posix":
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)


def _sweep(folder: Path) -> None:
    """Remove what no description names: files of older or of interrupted saves."""
    try:
        named = {name for name, _ in json.loads((folder / _DESCRIPTION).read_text(encoding="utf-8"))["files"].values()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        named = set()
    for file in folder.glob("vectors*"):
        if file.name not in {*named, _DESCRIPTION}:
            file.unlink(missing_ok=True)


def _checksum(file: Path) -> int:
    value = 0
    with file.open("rb") as opened:
        while block := opened.read(_READ):
            value = zlib.crc32(block, value)
    return value
