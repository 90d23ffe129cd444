"""Migrations of a file with something in it: a backup first, and all or nothing."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from agentkit.database import Database, Migration, backups
from agentkit.database.copies import KEPT
from agentkit.errors import DatabaseDamaged, StoreError
from agentkit.retrieval import FakeEmbedder
from agentkit.settings import Settings
from agentkit.workspace import Workspace
from tests.retrieval.full_disk import at_most

MEBIBYTE = 2**20


def first(database: Database) -> None:
    database.execute("create table numbers (value integer)")


def second(database: Database) -> None:
    database.execute("alter table numbers add column name varchar default 'none'")


def third(database: Database) -> None:
    database.execute("update numbers set value = value + 100")


def failing(database: Database) -> None:
    database.execute("drop table numbers")
    raise RuntimeError("half way")


def filled(path: Path, rows: int = 3) -> None:
    """A file of the first version with something in it."""
    with_steps(path, [first], lambda opened: fill(opened, rows))


def fill(database: Database, rows: int) -> None:
    with database.transaction():
        database.execute("insert into numbers select range from range(?)", [rows])


def with_steps(
    path: Path, steps: Sequence[Migration], work: Callable[[Database], None] | None = None
) -> None:
    """Open the file with a program that knows these steps."""
    database = Database(path)
    database.migrate("numbers", steps)
    if work:
        work(database)
    database.close()


def values(path: Path) -> list[int]:
    database = Database(path)
    found = [row["value"] for row in database.rows("select value from numbers order by value")]
    database.close()
    return found


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "agentkit.duckdb"


def test_a_new_file_and_one_that_is_up_to_date_need_no_backup(path: Path) -> None:
    filled(path)
    with_steps(path, [first])
    assert backups(path) == []


def test_before_a_change_the_file_is_copied_once(path: Path) -> None:
    filled(path)
    database = Database(path)
    database.migrate("numbers", [first, second, third])
    database.migrate("others", [lambda opened: opened.execute("create table others (x integer)")])
    assert [row["value"] for row in database.rows("from numbers order by value")] == [100, 101, 102]
    database.close()
    (backup,) = backups(path)
    assert backup.path.name.startswith("agentkit.numbers-1.20")
    assert backup.bytes == backup.path.stat().st_size
    assert backup.path.stat().st_mode & 0o777 == 0o600
    assert backup.path.parent.stat().st_mode & 0o777 == 0o700
    assert values(backup.path) == [0, 1, 2]


def test_what_stands_only_in_the_log_is_in_the_backup(path: Path) -> None:
    filled(path)
    code = f"""
import os, pathlib
from agentkit.database import Database
database = Database(pathlib.Path({str(path)!r}))
with database.transaction():
    database.execute("insert into numbers values (77)")
os.kill(os.getpid(), 9)
"""
    subprocess.run([sys.executable, "-c", code], check=False)
    assert path.with_name("agentkit.duckdb.wal").stat().st_size > 0
    with_steps(path, [first, third])
    (backup,) = backups(path)
    assert values(backup.path) == [0, 1, 2, 77]


def test_a_migration_that_fails_leaves_everything_as_it_was(path: Path) -> None:
    filled(path)
    for _ in range(KEPT + 1):
        database = Database(path)
        with pytest.raises(
            StoreError, match=r"could not be changed .*half way.* a copy of it lies in"
        ) as told:
            database.migrate("numbers", [first, second, third, failing])
        (backup,) = backups(path)  # the same content is not copied again
        assert str(backup.path) in str(told.value)
    assert values(path) == [0, 1, 2]
    with_steps(path, [first])  # the older program goes on with it
    assert not list(path.parent.glob("*.restored"))


def test_a_failing_migration_of_another_series_takes_all_back(path: Path) -> None:
    filled(path)
    database = Database(path)
    database.migrate("numbers", [first, third])
    with pytest.raises(StoreError, match="as it was before"):
        database.migrate("others", [failing])
    assert values(path) == [0, 1, 2]


def test_a_failing_migration_of_an_empty_file_says_its_own_reason(path: Path) -> None:
    with_steps(path, [first])
    database = Database(path)
    with pytest.raises(RuntimeError, match="half way"):
        database.migrate("numbers", [first, failing])
    assert backups(path) == []
    database.close()


def test_the_newest_backups_stay(path: Path) -> None:
    filled(path)
    steps = [first]
    for number in range(KEPT + 2):
        steps.append(third)
        with_steps(path, steps)
        copies = backups(path)
        made = copies[-1].path
        # Several in one second are told apart by the version; the order is that of the time.
        made.rename(
            made.with_name(f"agentkit.numbers-{number + 1}.2026-01-01T00000{number}.duckdb")
        )
    assert [copy.path.name.split(".")[1] for copy in backups(path)] == [
        f"numbers-{number + 1}" for number in range(KEPT + 2)
    ][-KEPT:]


@pytest.mark.parametrize("moment", ["fsync", "replace"])
def test_killed_while_copying_the_old_file_is_usable(path: Path, moment: str) -> None:
    filled(path, rows=200_000)
    code = f"""
import os, pathlib
from agentkit.database import Database
from tests.database.test_backups import first, third
database = Database(pathlib.Path({str(path)!r}))
end = lambda *given: os.kill(os.getpid(), 9)
os.{moment} = end
pathlib.os.{moment} = end
database.migrate("numbers", [first, third])
"""
    ended = subprocess.run([sys.executable, "-c", code], check=False)
    assert ended.returncode == -signal.SIGKILL
    assert backups(path) == []
    assert [file.suffix for file in path.with_name("agentkit.duckdb.backups").iterdir()] == [".tmp"]
    assert values(path) == list(range(200_000))
    with_steps(path, [first, third])
    assert [one.suffix for one in path.with_name("agentkit.duckdb.backups").iterdir()] == [
        ".duckdb"
    ]
    assert values(path)[0] == 100


def test_killed_between_two_steps_the_next_start_goes_on(path: Path) -> None:
    filled(path)
    code = f"""
import os, pathlib
from agentkit.database import Database
from tests.database.test_backups import first, second, third
database = Database(pathlib.Path({str(path)!r}))
database.migrate("numbers", [first, third, lambda opened: os.kill(os.getpid(), 9)])
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -signal.SIGKILL
    (backup,) = backups(path)
    assert values(backup.path) == [0, 1, 2]
    with_steps(path, [first, third, second])
    assert values(path) == [100, 101, 102]


def test_without_room_for_a_backup_nothing_is_changed(path: Path) -> None:
    filled(path, rows=500_000)
    database = Database(path)
    with (
        at_most(MEBIBYTE),
        pytest.raises(StoreError, match=r"No backup .* could be made .* MB are free: make room"),
    ):
        database.migrate("numbers", [first, third])
    assert backups(path) == []
    assert values(path)[:2] == [0, 1]


def test_a_file_in_memory_needs_no_backup() -> None:
    database = Database(Path(":memory:"))
    database.migrate("numbers", [first])
    fill(database, 3)
    database.migrate("numbers", [first, third])
    assert database.value("select min(value) from numbers") == 100
    database.close()


def test_the_file_is_locked_again_after_the_backup(path: Path) -> None:
    filled(path)
    database = Database(path)
    database.migrate("numbers", [first, third])
    code = f"import duckdb; duckdb.connect({str(path)!r})"
    tried = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert "Could not set lock" in tried.stderr
    database.close()


def test_a_backup_put_in_place_opens(path: Path) -> None:
    filled(path)
    with_steps(path, [first, third])
    shutil.copy(backups(path)[0].path, path)
    assert values(path) == [0, 1, 2]


def test_a_newer_file_is_refused_and_left_alone(path: Path) -> None:
    filled(path)
    with_steps(path, [first, second])
    before = path.read_bytes()
    database = Database(path)
    with pytest.raises(
        DatabaseDamaged, match=r"newer version of agentkit \(numbers 2, known 1\); update"
    ):
        database.migrate("numbers", [first])
    assert path.read_bytes() == before
    with_steps(path, [first, second])  # it was let go


def test_tables_that_nobody_knows_are_of_a_newer_version(path: Path) -> None:
    filled(path)
    database = Database(path)
    with pytest.raises(DatabaseDamaged, match=r"newer version of agentkit .*numbers"):
        database.refuse_newer()
    with_steps(path, [first], lambda opened: opened.refuse_newer())


@pytest.mark.parametrize("series", ["ledger", "retrieval", "of_the_future"])
def test_a_workspace_of_a_newer_version_is_refused_before_anything_is_written(
    tmp_path: Path, series: str
) -> None:
    settings = Settings(data=tmp_path / "data")
    Workspace(settings, FakeEmbedder()).close()
    database = Database(settings.database)
    database.insert("migrations", {"series": series, "number": 99})
    database.execute(
        "insert into runs (id, owner, kind, title, state, reason, started_at)"
        " values ('r', 'o', 'chat', '', 'running', '', now())"
    )
    database.close()
    before = settings.database.read_bytes()
    with pytest.raises(DatabaseDamaged, match=r"newer version of agentkit .* update agentkit"):
        Workspace(settings, FakeEmbedder())
    assert settings.database.read_bytes() == before
    assert backups(settings.database) == []
