"""Columns laid out byte by byte are what pyarrow makes of the same values, without pandas."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentkit.database import Database, columns

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
WHOLE = st.integers(-(2**63), 2**63 - 1)
TIMES = st.datetimes()
INGEST = """
import sys
from pathlib import Path
from agentkit.database import Database
from agentkit.retrieval import FakeEmbedder, Library, sources_from_paths
from agentkit.settings import Settings

data, files = Path(sys.argv[1]), Path(sys.argv[2])
database = Database(data / "agentkit.duckdb")
library = Library(database, Settings(data=data), FakeEmbedder())
done = library.ingest("local", "Notes", sources_from_paths([files]))
library.close()
database.close()
print([one.status for one in done], "pandas" in sys.modules)
"""


@given(st.lists(st.none() | TEXTS))
def test_texts(values: list[str | None]) -> None:
    column = columns.texts(values)
    column.validate(full=True)
    assert column.to_pylist() == values


@given(st.lists(st.none() | WHOLE))
def test_whole_numbers(values: list[int | None]) -> None:
    column = columns.whole_numbers(values)
    column.validate(full=True)
    assert column.to_pylist() == values


@given(st.lists(st.floats(allow_nan=False)))
def test_numbers(values: list[float]) -> None:
    assert columns.numbers(values).to_pylist() == values


@given(st.lists(TIMES))
def test_times(values: list[datetime]) -> None:
    assert columns.times(values).to_pylist() == values


@given(st.lists(st.booleans()))
def test_truths(values: list[bool]) -> None:
    assert columns.truths(np.array(values, dtype=bool)).to_pylist() == values


@given(st.lists(st.lists(TEXTS, max_size=4)))
def test_lists_of_texts(values: list[list[str]]) -> None:
    column = columns.lists_of_texts(values)
    column.validate(full=True)
    assert column.to_pylist() == values


def test_vectors() -> None:
    rows = np.arange(12, dtype=np.float64).reshape(4, 3)[::-1]
    column = columns.vectors(rows)
    column.validate(full=True)
    assert column.to_pylist() == rows.tolist()


def test_half_a_surrogate_pair_is_refused() -> None:
    with pytest.raises(UnicodeEncodeError):
        columns.texts(["\ud800"])


def test_the_database_takes_them(tmp_path: Path) -> None:
    database = Database(tmp_path / "a.duckdb")
    database.execute(
        "create table kept (word varchar, page integer, came timestamp, tags varchar[],"
        " part json, vector float[])"
    )
    now = datetime(2026, 3, 1, 12, 30, 15, 250_000, UTC).replace(tzinfo=None)
    row = {
        "word": columns.texts(["Öl", ""]),
        "page": columns.whole_numbers([3, None]),
        "came": columns.times([now, now]),
        "tags": columns.lists_of_texts([["a", "b"], []]),
        "part": columns.texts([None, "[1]"]),
        "vector": columns.vectors(np.eye(2)),
    }
    database.insert_arrow("kept", pyarrow.table(row))
    assert database.rows("select * from kept") == [
        dict(word="Öl", page=3, came=now, tags=["a", "b"], part=None, vector=[1.0, 0.0]),
        dict(word="", page=None, came=now, tags=[], part="[1]", vector=[0.0, 1.0]),
    ]
    database.close()


def test_taking_documents_in_loads_no_pandas(tmp_path: Path) -> None:
    files = tmp_path / "files"
    files.mkdir()
    for number in range(3):
        (files / f"{number}.txt").write_text(f"Note {number} tells of the harbour.")
    command = [sys.executable, "-c", INGEST, str(tmp_path / "data"), str(files)]
    ended = subprocess.run(command, check=True, capture_output=True, text=True)
    assert ended.stdout.split("]")[1].strip() == "False", ended.stdout
    assert ended.stdout.count("indexed") == 3
