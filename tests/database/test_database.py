"""The database: transactions, threads, migrations, and files that cannot be used."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from agentkit.database import Database
from agentkit.database.columns import texts
from agentkit.errors import DatabaseDamaged, DatabaseInUse, StoreError
from tests.retrieval.full_disk import at_most


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    database = Database(tmp_path / "data" / "agentkit.duckdb")
    database.execute("create table things (name varchar primary key, size integer)")
    yield database
    database.close()


def names(database: Database) -> list[str]:
    return [row["name"] for row in database.rows("select name from things order by name")]


def test_reading_in_every_form(database: Database) -> None:
    database.insert("things", {"name": "a", "size": 1})
    database.insert_arrow("things", pa.table({"size": [2, 3], "name": ["b", "c"]}))
    assert database.rows("select * from things where size > $least order by 1", {"least": 1})[
        0
    ] == {"name": "b", "size": 2}
    assert database.row("select * from things where name = ?", ["none"]) is None
    assert database.value("select sum(size) from things") == 6
    assert database.value("select size from things where name = 'none'") is None
    assert list(
        database.frame("select name from things where size < ? order by 1", [3])["name"]
    ) == ["a", "b"]
    assert database.arrow("select size from things where size > ? order by 1", [1]).column(
        "size"
    ).to_pylist() == [2, 3]


def test_rows_are_written_in_small_groups(database: Database) -> None:
    """Else much memory is needed to write the last one anew."""
    for start in range(0, 30_000, 1_000):
        rows = {"name": [str(start + number) for number in range(1_000)], "size": [1] * 1_000}
        database.insert_arrow("things", pa.table(rows))
        if start % 10_000 == 0:
            database.execute("checkpoint")
    found = group_sizes(database)
    assert (max(found), sum(found)) == (8_192, 30_000)


def test_a_file_with_larger_groups_of_rows_grows_on(tmp_path: Path) -> None:
    path = tmp_path / "old.duckdb"
    with duckdb.connect(str(path)) as old:
        old.execute("create table things (name varchar primary key, size integer)")
        old.execute("insert into things select range, 1 from range(50_000)")
    for start in (50_000, 56_000):
        opened = Database(path)
        more = [str(number) for number in range(start, start + 6_000)]
        opened.insert_arrow("things", pa.table({"name": more, "size": [1] * 6_000}))
        opened.execute("delete from things where name = '7'")
        opened.execute("checkpoint")
        assert group_sizes(opened)[0] == 50_000
        opened.close()
    with duckdb.connect(str(path)) as again:
        (found,) = again.execute("select count(*), sum(size), min(name) from things").fetchall()
    assert found == (61_999, 61_999, "0")


def group_sizes(database: Database) -> list[int]:
    """Rows in each group of the table `things`."""
    found = database.rows(
        "select max(start + count) as rows from pragma_storage_info('things')"
        " where column_name = 'size' and segment_type = 'INTEGER'"
        " group by row_group_id order by row_group_id"
    )
    return [row["rows"] for row in found]


def test_what_memory_cannot_hold_goes_beside_the_file(database: Database) -> None:
    folder = database.value("select current_setting('temp_directory')")
    assert folder == f"{database.path}.tmp"


def test_once_a_file_broke_off_every_thread_is_told_and_nothing_is_lost(
    database: Database,
) -> None:
    database.insert("things", {"name": "a", "size": 1})
    with at_most(10), pytest.raises(StoreError, match="then start again"):
        database.execute("checkpoint")
    more = pa.table({"name": ["b"], "size": [2]})
    with ThreadPoolExecutor(1) as pool, pytest.raises(StoreError, match="then start again"):
        pool.submit(database.insert_arrow, "things", more).result()
    database.close()

    again = Database(database.path)
    assert names(again) == ["a"]
    again.insert_arrow("things", more)
    assert names(again) == ["a", "b"]
    again.close()


def test_a_file_that_is_open_under_another_name_is_shared(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "data")
    one = Database(tmp_path / "data" / "agentkit.duckdb")
    other = Database(tmp_path / "link" / "agentkit.duckdb")
    one.execute("create table things (name varchar)")
    other.insert("things", {"name": "a"})
    assert one.value("select name from things") == "a"
    one.close()
    assert other.value("select name from things") == "a"
    other.close()


@pytest.mark.parametrize("name", ["it's", "a;b", 'a"b', "ä ö", "md:a", "a.db"])
def test_a_file_may_lie_in_any_folder(tmp_path: Path, name: str) -> None:
    path = tmp_path / name / name
    for number in range(2):
        opened = Database(path)
        opened.execute("create table if not exists things (name varchar)")
        opened.insert("things", {"name": str(number)})
        opened.close()
    assert path.stat().st_size
    with duckdb.connect(str(path)) as found:
        assert found.execute("select name from things").fetchall() == [("0",), ("1",)]


def test_a_block_is_kept_whole_or_not_at_all(database: Database) -> None:
    with database.transaction():
        database.insert("things", {"name": "kept", "size": 1})

    def fail() -> None:
        with database.transaction():
            database.insert("things", {"name": "lost", "size": 1})
            raise RuntimeError("inside")

    with pytest.raises(RuntimeError, match="inside"):
        fail()
    assert names(database) == ["kept"]


def test_nested_blocks_join_the_outer_one(database: Database) -> None:
    def fail() -> None:
        with database.transaction():
            with database.transaction():
                database.insert("things", {"name": "inner", "size": 1})
            assert names(database) == ["inner"]
            raise RuntimeError("outer")

    with pytest.raises(RuntimeError, match="outer"):
        fail()
    assert names(database) == []
    with database.transaction():
        database.insert("things", {"name": "after", "size": 1})
    assert names(database) == ["after"]


def test_a_refused_row_rolls_back_and_the_next_block_works(database: Database) -> None:
    def insert_twice() -> None:
        with database.transaction():
            database.insert("things", {"name": "twice", "size": 1})
            database.insert("things", {"name": "twice", "size": 2})

    with pytest.raises(duckdb.ConstraintException):
        insert_twice()
    with database.transaction():
        database.insert("things", {"name": "next", "size": 1})
    assert names(database) == ["next"]


def test_writers_take_turns_and_readers_see_only_what_is_committed(database: Database) -> None:
    written, read_on = threading.Event(), threading.Event()

    def write_slowly() -> None:
        with database.transaction():
            database.insert("things", {"name": "slow", "size": 1})
            written.set()
            read_on.wait(120)

    def write(number: int) -> None:
        with database.transaction():
            size = database.value("select count(*) from things")
            database.insert("things", {"name": f"n{number:02}", "size": size})

    threads = [threading.Thread(target=write_slowly)]
    threads[0].start()
    assert written.wait(120)
    threads += [threading.Thread(target=write, args=[number]) for number in range(12)]
    for thread in threads[1:]:
        thread.start()
    assert names(database) == []
    read_on.set()
    for thread in threads:
        thread.join(120)
    sizes = [
        row["size"]
        for row in database.rows("select size from things where name <> 'slow' order by size")
    ]
    assert sizes == list(range(1, 13))


def test_the_cursor_of_a_thread_ends_with_it(database: Database) -> None:
    for _ in range(5):
        thread = threading.Thread(target=names, args=[database])
        thread.start()
        thread.join()
    gc.collect()
    assert len(database._cursors) == 1


def test_half_a_surrogate_pair_is_stored_as_a_question_mark(database: Database) -> None:
    database.insert("things", {"name": "a\ud800b\x00", "size": 1})
    assert names(database) == ["a?b\x00"]
    assert database.value("select size from things where name = ?", ["a\ud800b\x00"]) == 1


def test_migrations_run_once_and_in_order(tmp_path: Path) -> None:
    def first(database: Database) -> None:
        database.execute("create table numbers (value integer)")

    def second(database: Database) -> None:
        database.execute("insert into numbers values (7)")

    path = tmp_path / "agentkit.duckdb"
    for steps in ((first,), (first, second), (first, second)):
        database = Database(path)
        database.migrate("test", steps)
        database.migrate("other", ())
        database.close()
    database = Database(path)
    assert database.rows("select * from numbers") == [{"value": 7}]
    with pytest.raises(DatabaseDamaged, match=r"newer version of agentkit \(test 2, known 1\)"):
        database.migrate("test", (first,))
    database.close()


def test_a_failing_migration_leaves_no_trace(tmp_path: Path) -> None:
    def half(database: Database) -> None:
        database.execute("create table numbers (value integer)")
        raise RuntimeError("half way")

    database = Database(tmp_path / "agentkit.duckdb")
    with pytest.raises(RuntimeError, match="half way"):
        database.migrate("test", (half,))
    assert (
        database.value(
            "select count(*) from information_schema.tables where table_name = 'numbers'"
        )
        == 0
    )
    database.migrate("test", (lambda inner: inner.execute("create table numbers (value integer)"),))
    database.close()


def test_what_was_committed_survives_a_killed_process(tmp_path: Path) -> None:
    path = tmp_path / "agentkit.duckdb"
    code = f"""
import os, pathlib
from agentkit.database import Database
from agentkit.database.columns import texts
database = Database(pathlib.Path({str(path)!r}))
database.execute("create table things (name varchar)")
with database.transaction():
    database.insert("things", {{"name": "kept"}})
with database.transaction():
    database.insert("things", {{"name": "lost"}})
    os.kill(os.getpid(), 9)
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -9
    database = Database(path)
    assert names(database) == ["kept"]
    database.close()


def test_another_process_is_named(database: Database) -> None:
    code = (
        "from pathlib import Path; from agentkit.database import Database;"
        f" Database(Path({str(database.path)!r}))"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    last = ended.stderr.strip().splitlines()[-1]
    assert last.startswith("agentkit.errors.DatabaseInUse")
    assert f"in use by process {os.getpid()} " in last
    assert "AGENTKIT_DATA" in last


@pytest.mark.parametrize("content", [b"", b"hello world " * 1000])
def test_a_file_that_is_no_database_is_told(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "blocks" / "agentkit.duckdb"  # the word "lock" in the path must not mislead
    path.parent.mkdir()
    path.write_bytes(content)
    with pytest.raises(DatabaseDamaged, match="restore it from a backup"):
        Database(path)
    assert path.read_bytes() == content


def test_a_data_folder_that_cannot_be_one_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StoreError, match="AGENTKIT_DATA") as caught:
        Database(tmp_path / "file" / "agentkit.duckdb")
    assert not isinstance(caught.value, (DatabaseDamaged, DatabaseInUse))


def test_a_closed_database_is_free_for_others_and_of_no_use_here(database: Database) -> None:
    database.close()
    Database(database.path).close()
    with pytest.raises(StoreError, match="was closed"):
        database.rows("select 1")


def test_the_revision_of_a_series_rises_when_a_change_is_committed(database: Database) -> None:
    before = database.revision("a series")
    with database.transaction():
        database.insert("things", {"name": "a", "size": 1})
        database.touch("a series")
        assert database.revision("a series") == before
    assert (database.revision("a series"), database.revision("others")) == (before + 1, 0)
    with (  # noqa: PT012
        pytest.raises(duckdb.CatalogException),
        database.transaction(),
    ):  # it is the second that fails
        database.touch("a series")
        database.execute("select * from nothing")
    assert database.revision("a series") == before + 1
    with database.transaction():
        database.insert("things", {"name": "b", "size": 1})
    assert database.revision("a series") == before + 1
    with pytest.raises(AssertionError):
        database.touch("a series")


@pytest.mark.parametrize(
    "change",
    [
        lambda database: database.insert("things", {"name": "b", "size": 2}),
        lambda database: database.execute("\n  UPDATE things set size = 2"),
        lambda database: database.execute("delete from things where name = 'a'"),
        lambda database: database.execute(
            "with more(name) as (values (?))\ninsert into things select name, 1 from more", ["b"]
        ),
        lambda database: database.insert_arrow(
            "things", pa.table({"size": [1, 2], "name": ["c", "d"]})
        ),
    ],
)
def test_what_was_read_is_remembered_until_its_table_changes(
    database: Database, change: Callable[[Database], None]
) -> None:
    database.insert("things", {"name": "a", "size": 1})
    database.execute("create table others (name varchar)")
    read: list[str] = []

    def look() -> list[dict[str, Any]]:
        read.append("looked")
        return database.rows("select name, size from things order by name")

    def remember() -> list[dict[str, Any]]:
        return database.remembered.read(("things", "others"), "all of them", look)

    before = remember()
    assert remember() is before
    database.execute("with few as (from things) select count(*) from few")
    assert (remember() is before, len(read)) == (True, 1)
    with database.transaction():  # what others do not see yet is not remembered for them
        change(database)
        assert remember() != before
        with ThreadPoolExecutor() as others:
            assert others.submit(remember).result() is before
    after = remember()
    assert (after != before, remember() is after) == (True, True)
    database.insert("others", {"name": "another"})
    assert (remember() is after, remember() == after) == (False, True)


def test_what_is_taken_back_is_not_remembered(database: Database) -> None:
    def names_of() -> list[str]:
        return database.remembered.read(("things",), "names", lambda: names(database))

    assert names_of() == []
    with pytest.raises(RuntimeError), database.transaction():  # noqa: PT012
        database.insert("things", {"name": "lost"})
        assert names_of() == ["lost"]
        raise RuntimeError("taken back")
    assert names_of() == []


def test_a_failed_insert_in_a_transaction_tells_the_reason(database: Database) -> None:
    with pytest.raises(duckdb.ConstraintException, match="duplicate key"), database.transaction():
        database.insert_arrow("things", pa.table({"size": [1, 2], "name": ["a", "a"]}))
    database.insert_arrow("things", pa.table({"size": [1], "name": ["a"]}))
    assert names(database) == ["a"]


@pytest.mark.parametrize("block", [True, False])
def test_a_full_disk_is_told_and_with_space_again_all_goes_on(
    database: Database, block: bool
) -> None:
    database.insert("things", {"name": "kept"})
    with (  # noqa: PT012
        at_most(10),
        pytest.raises(StoreError, match=r"could not be written .* check free space"),
    ):
        if block:
            with database.transaction():
                database.insert("things", {"name": "lost"})
                database.touch("a series")
        else:
            database.insert("things", {"name": "lost"})
    assert not database.in_transaction
    assert database.revision("a series") == 0
    assert database.revision("things") == 1
    assert names(database) == ["kept"]
    with database.transaction():
        database.insert("things", {"name": "later"})
    database.close()
    again = Database(database.path)
    assert names(again) == ["kept", "later"]
    again.close()


def test_a_conflict_of_two_writers_is_no_full_disk(database: Database) -> None:
    database.insert("things", {"name": "a", "size": 1})
    other = database._new_cursor()
    other.execute("begin")
    other.execute("update things set size = 2")
    with pytest.raises(duckdb.TransactionException, match="onflict"):
        database.execute("update things set size = 3")
    other.execute("rollback")
    other.close()
    database.execute("update things set size = 4")
    assert database.value("select size from things") == 4


def test_texts_are_kept_compressed(tmp_path: Path) -> None:
    """What was said is long, and made of the same words."""
    chance = Random(1)
    words = [f"{chance.getrandbits(40):x}" for _ in range(1_000)]
    lengths = (*[20] * 12, 2_000)
    said = [" ".join(chance.choices(words, k=chance.choice(lengths))) for _ in range(1_000)]
    database = Database(tmp_path / "agentkit.duckdb")
    database.execute("create table said (text varchar)")
    database.insert_arrow("said", pa.table({"text": texts(said)}))
    database.execute("checkpoint")
    kept = database.rows(
        """select distinct compression from pragma_storage_info('said')
        where column_name = 'text' and segment_type = 'VARCHAR'"""
    )
    assert kept == [{"compression": "ZSTD"}]
    assert database.bytes() < sum(map(len, said)) / 2
    database.close()
