"""The files of a vector index: hnswlib's graph, and a description that names it and its checksum.

The description is written last and replaced in one step, so that a crash at any moment leaves the
old index or the new one.
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
from agentkit.retrieval.index.graph import Graph, Metric, load_graph, map_vectors
from agentkit.retrieval.index.vectors import Vectors

if TYPE_CHECKING:
    import numpy as np

_DESCRIPTION = "vectors.json"
_TEMPORARY = "vectors.tmp"
_READ = 1 << 22
FAR, FAR_SHARE = 1_000, 0.1
"""So many changes after the last save make another one worth it; in a large index this share."""


@dataclass(frozen=True, slots=True)
class Tuned:
    """How hard the graph searches, and what that was measured to find."""

    ef: int
    """Candidates that are looked at for ten results; 0 when all are to be compared."""
    recall: float
    """The share of the ten nearest that are found."""
    sample: int
    """Queries that it was measured with."""
    vectors: int
    """Vectors that there were then."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """What the files hold."""

    vectors: Vectors
    """Mapped from the graph's file."""
    graph: Graph
    tuned: Tuned
    change: int
    """The number of the last change in them."""


def write(
    folder: Path, vectors: Vectors, graph: Graph, tuned: Tuned, change: int
) -> tuple[np.ndarray, np.ndarray]:
    """Write an index that contains all changes up to that number; gives what `vectors` can rest on
    from then on.

    The graph has a node for each of the vectors.
    Raises OSError, a full disk included; what was there before stays then.
    """
    private.make_folder(folder)
    try:
        file = _write_graph(folder, graph, change)
        description: dict[str, Any] = {
            "files": {"graph": [file.name, checksum(file)]},
            "change": change,
            "dimension": vectors.dimension,
            "metric": vectors.metric,
            "tuned": asdict(tuned),
            "removed": vectors.removed.tolist(),
        }
        temporary = folder / _TEMPORARY
        temporary.write_text(json.dumps(description), encoding="utf-8")
        publish(temporary, folder / _DESCRIPTION)
    finally:
        _sweep(folder)
    return map_vectors(file, vectors.dimension)


def read(folder: Path, dimension: int, metric: Metric) -> Loaded | None:
    """The saved index; None when it is missing, damaged, or of another kind.

    A cache is built again then.
    """
    try:
        description = json.loads((folder / _DESCRIPTION).read_text(encoding="utf-8"))
        if (description["dimension"], description["metric"]) != (dimension, metric):
            return None
        name, value = description["files"]["graph"]
        file = folder / Path(name).name
        if checksum(file) != value:
            return None
        graph, vectors = (
            load_graph(str(file), dimension, metric),
            Vectors(dimension, metric, folder),
        )
        vectors.rest_on(*map_vectors(file, dimension))
        vectors.remove(description["removed"])
        with suppress(OSError):
            _sweep(folder)
        return Loaded(vectors, graph, Tuned(**description["tuned"]), int(description["change"]))
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


def publish(temporary: Path, file: Path) -> None:
    """Make what was written durable, then put it in its place in one step; raises OSError."""
    with temporary.open("rb") as written:
        os.fsync(written.fileno())
    private.close_to_others(temporary)
    temporary.replace(file)
    _settle(file.parent)


def checksum(file: Path) -> int:
    """Of all that is in the file; raises OSError."""
    value = 0
    with file.open("rb") as opened:
        while block := opened.read(_READ):
            value = zlib.crc32(block, value)
    return value


def _write_graph(folder: Path, graph: Graph, change: int) -> Path:
    temporary, file = folder / _TEMPORARY, folder / f"vectors-{change}.hnsw"
    expected = graph.save(str(temporary))
    written = temporary.stat().st_size
    if written != expected:
        raise OSError(
            f"only {written:,} of {expected:,} bytes could be written to {temporary}; "
            "is the disk full?"
        )
    publish(temporary, file)
    return file


def _settle(folder: Path) -> None:
    """Make names durable: what the database forgets next must never be missing in the files."""
    if os.name == "posix":
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)


def _sweep(folder: Path) -> None:
    """Remove the files that the description does not name: of older or interrupted saves."""
    try:
        text = (folder / _DESCRIPTION).read_text(encoding="utf-8")
        named = json.loads(text)["files"]["graph"][0]
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        named = ""
    for file in folder.glob("vectors*"):
        if file.name not in {named, _DESCRIPTION}:
            file.unlink(missing_ok=True)
