"""A damaged file is told as such by every way to read it, and what can be saved is known."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentkit.database import Database, rescue, survey
from agentkit.errors import DatabaseDamaged, DatabaseInUse, StoreError
from tests.database.damaging import cut, flip, flip_block, flip_blocks

ROWS = 12_000
"""So many that a table fills some dozen blocks."""


def steps() -> list[Callable[[Database], None]]:
    return [
        lambda opened: opened.execute("create sequence changes"),
        lambda opened: opened.execute(
            "create table things (id bigint primary key, name varchar, vector float[], more json)"
        ),
        lambda opened: opened.execute(
            "create table few (id varchar, made timestamp default now())"
        ),
    ]


def fill(opened: Database) -> None:
    with opened.transaction():
        opened.execute(
            """insert into things select nextval('changes'), repeat(md5(range::varchar), 2),
            [range, hash(range) / 1e12], '{"n": ' || range || '}' from range(?)""",
            [ROWS],
        )
        opened.execute("insert into few (id) values ('a'), ('b')")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file, and beside it the log of a process that was killed."""
    path = tmp_path_factory.mktemp("made") / "agentkit.duckdb"
    opened = Database(path)
    opened.migrate("things", steps())
    fill(opened)
    opened.close()
    code = f"""
import os, pathlib
from agentkit.database import Database
opened = Database(pathlib.Path({str(path)!r}))
for number in range(40):
    with opened.transaction():
        opened.insert("few", {{"id": "late " * 40 + str(number)}})
os.kill(os.getpid(), 9)
"""
    subprocess.run([sys.executable, "-c", code], check=False)
    return path


@pytest.fixture
def path(made: Path, tmp_path: Path) -> Path:
    """A copy of the file without the log."""
    shutil.copy(made, tmp_path)
    return tmp_path / made.name


@pytest.fixture
def log(made: Path, path: Path) -> Path:
    """A copy of the log beside the file."""
    shutil.copy(f"{made}.wal", path.parent)
    return Path(f"{path}.wal")


READS: dict[str, Callable[[Database], Any]] = {
    "rows": lambda opened: opened.rows("select * from things"),
    "row": lambda opened: opened.row("select * from things order by name"),
    "value": lambda opened: opened.value("select max(hash(t)) from things t"),
    "frame": lambda opened: opened.frame("select * from things"),
    "arrow": lambda opened: opened.arrow("select * from things"),
    "execute": lambda opened: opened.execute("create table copied as from things"),
    "insert_arrow": lambda opened: opened.insert_arrow("things", pa.table({"id": [1, 2]})),
    "transaction": lambda opened: update(opened),
}


def update(opened: Database) -> None:
    with opened.transaction():
        opened.execute("update things set name = name || 'x', more = more")


@pytest.mark.parametrize("how", sorted(set(READS) - {"insert_arrow"}))
def test_every_way_to_read_tells_of_damage(path: Path, how: str) -> None:
    flip_blocks(path, "things")
    opened = Database(path)
    with pytest.raises(
        DatabaseDamaged, match=r"is damaged \(Corrupt .*doctor` says what can be saved"
    ):
        READS[how](opened)
    opened.close()


def use(path: Path) -> None:
    """All that may be done with a file."""
    opened = Database(path)
    try:
        opened.migrate("things", steps())
        for read in READS.values():
            with suppress(StoreError):
                read(opened)
            assert not opened.in_transaction
    finally:
        opened.close()


@given(at=st.floats(0, 1, exclude_max=True), length=st.sampled_from([0, 1, 8, 4_096]))
@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
def test_wherever_a_file_is_damaged_only_our_errors_come_out(
    made: Path, tmp_path: Path, at: float, length: int
) -> None:
    path = tmp_path / "agentkit.duckdb"
    path.with_name("agentkit.duckdb.wal").unlink(missing_ok=True)
    shutil.copy(made, path)
    if length:
        flip(path, at, length)
    else:
        cut(path, at)
    with suppress(StoreError, *DUPLICATES):
        use(path)
    found = survey(path) if at < 0.1 else None  # a process each
    assert found is None or found.problem or found.tables


@given(at=st.floats(0, 1, exclude_max=True), length=st.sampled_from([0, 1, 8, 4_096]))
@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
def test_wherever_the_log_is_damaged_only_our_errors_come_out(
    made: Path, tmp_path: Path, at: float, length: int
) -> None:
    path, log = tmp_path / "agentkit.duckdb", tmp_path / "agentkit.duckdb.wal"
    shutil.copy(made, path)
    shutil.copy(f"{made}.wal", log)
    if length:
        flip(log, at, length)
    else:
        cut(log, at)
    with suppress(StoreError, *DUPLICATES):
        use(path)


def duplicates() -> tuple[type[Exception], ...]:
    import duckdb

    return (duckdb.ConstraintException,)


DUPLICATES = duplicates()
"""What is wrong with the statements above, and not with the file."""


def test_a_whole_file_is_read_without_being_touched(made: Path, path: Path, log: Path) -> None:
    before = [(file.name, file.stat().st_mtime_ns) for file in sorted(path.parent.iterdir())]
    found = survey(path)
    assert found.is_whole
    assert (found.readable("things"), found.readable("few")) == (ROWS, 42)
    after = [(file.name, file.stat().st_mtime_ns) for file in sorted(path.parent.iterdir())]
    assert after == before


def test_around_a_damaged_block_the_rest_is_found_and_saved(path: Path) -> None:
    flip_block(path, "things", "name")
    found = survey(path)
    assert not found.is_whole
    (table,) = [table for table in found.tables if table.problem]
    assert table.name == "things"
    assert table.rows == ROWS
    assert 0 < table.readable < ROWS
    assert "checksum" in table.problem
    target = path.with_name("saved.duckdb")
    assert rescue(path, target).readable("things") == table.readable
    saved = Database(target)
    saved.migrate("things", steps())  # its version is known
    assert saved.value("select count(*) from things") == table.readable
    assert saved.value("select count(*) from few") == 2
    assert saved.value("select nextval('changes')") == ROWS + 1
    with pytest.raises(DUPLICATES, match="uplicate key"):
        saved.execute("insert into things (id) select max(id) from things")
    saved.close()


def test_a_damaged_log_costs_only_what_is_in_it(path: Path, log: Path) -> None:
    changed = log.read_bytes().replace(b"late 20", b"late xx")
    log.write_bytes(changed)
    with pytest.raises(DatabaseDamaged, match="WAL"):
        Database(path)
    found = survey(path)
    assert not found.is_whole
    assert "WAL" in found.log_problem
    assert not any(table.problem for table in found.tables)
    assert found.readable("few") == 2
    target = path.with_name("saved.duckdb")
    rescue(path, target)
    assert survey(target).is_whole
    assert sorted(file.name for file in path.parent.iterdir()) == [
        "agentkit.duckdb",
        "agentkit.duckdb.wal",
        "saved.duckdb",
    ]


@pytest.mark.parametrize("content", [b"", b"no database " * 9_999])
def test_a_file_that_is_no_database_has_nothing_to_save(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "agentkit.duckdb"
    path.write_bytes(content)
    found = survey(path)
    assert not found.is_whole
    assert found.problem
    with pytest.raises(DatabaseDamaged, match="Nothing can be saved"):
        rescue(path, tmp_path / "saved.duckdb")
    assert [file.name for file in tmp_path.iterdir()] == ["agentkit.duckdb"]


def test_a_file_in_use_is_told(path: Path) -> None:
    opened = Database(path)
    with pytest.raises(DatabaseInUse, match="Stop that one first"):
        survey(path)
    opened.close()


def test_a_reader_that_does_not_end_is_ended(path: Path) -> None:
    found = survey(path, timeout_s=0)
    assert not found.is_whole
    assert "not done within 0 s" in found.problem
