"""Every command over a damaged folder: an error in words; `doctor` says what can be saved."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from agentkit.cli import main
from agentkit.database import Database
from agentkit.settings import Settings
from agentkit.workspace import Workspace
from tests.cli.conftest import Cli
from tests.database.damaging import cut, flip, flip_block

QUESTION = "How long is the Danube?"
COMMANDS = (("search", QUESTION), ("ask", QUESTION), ("usage",), ("runs",), ("doctor",))
Damage = Callable[[Path], None]
DAMAGES: dict[str, Damage] = {
    **{
        f"cut to {share:.0%}": lambda file, share=share: cut(file, share)  # type: ignore[misc]
        for share in (0.001, 0.2, 0.6, 0.95)
    },
    **{
        f"changed at {share:.0%}": lambda file, share=share: flip(file, share, 4_096)  # type: ignore[misc]
        for share in (0, 0.1, 0.3, 0.5, 0.7, 0.9)
    },
}


@pytest.fixture
def held() -> bool:
    """Nobody holds the folder: files are not damaged under the hands of who has them open."""
    return False


@pytest.fixture
def stored(cli: Cli, papers: Path, data: Path) -> Path:
    """The database of a folder with documents, a chat and calls."""
    assert cli("ingest", papers, "--json").code == 1  # one of them is broken
    assert cli("ask", QUESTION).code == 0
    return data / "agentkit.duckdb"


@pytest.mark.parametrize("how", DAMAGES)
def test_every_command_says_it_in_words(cli: Cli, stored: Path, how: str) -> None:
    DAMAGES[how](stored)
    for command in COMMANDS:
        ended = cli(*command, "--json")
        assert ended.code in (0, 1)
        assert "Traceback" not in ended.err
        found = [json.loads(line) for line in ended.out.splitlines()]
        assert found
        if command != ("doctor",):
            assert ended.code == 0 or found[-1]["error_type"] == "DatabaseDamaged"
    assert {"sandbox", "model", "backups"} <= {check["name"] for check in found[0]["checks"]}
    assert "Traceback" not in cli("doctor").out


def database_check(cli: Cli, *given: str) -> dict[str, str]:
    found = {check["name"]: check for check in cli("doctor", *given, "--json").json["checks"]}
    check: dict[str, str] = found["rescue" if given else "database"]
    return check


def test_what_can_be_read_is_counted_and_saved(cli: Cli, stored: Path) -> None:
    flip_block(stored, "llm_calls", "model")
    assert cli("usage").code == 1
    told = database_check(cli)
    assert not told["ok"]
    assert "1 of 1 chats, 2 of 2 messages" in told["detail"]
    assert "4 of 4 documents" in told["detail"]
    assert "0 of" in told["detail"]
    assert "Damaged: llm_calls (Corrupt" in told["detail"]
    assert "doctor --rescue" in told["advice"]
    assert "The originals, 4 files, are still in" in told["advice"]

    saved = database_check(cli, "--rescue")
    assert saved["ok"]
    target = stored.with_name("agentkit.rescued.duckdb")
    assert str(target) in saved["detail"]
    assert target.stat().st_mode & 0o777 == 0o600
    stored.rename(stored.with_name("damaged"))
    target.rename(stored)
    assert cli("doctor").code == 0
    assert cli("search", "Danube", "--json").json["hits"][0]["document"] == "rivers.md"
    assert cli("usage", "--json").json["totals"]["calls"] == 1  # that search


def test_a_backup_is_named_as_the_way_out(cli: Cli, stored: Path) -> None:
    database = Database(stored)
    database.execute("delete from migrations where series = 'retrieval' and number > 1")
    for table, column in (
        ("collections", "settings"),
        ("documents", "tags"),
        ("texts", "sections"),
    ):
        database.execute(f"alter table {table} drop {column}")
    for table in ("questions", "question_sets", "measurements", "marks", "accepted"):
        database.execute(f"drop table {table}")
    database.close()
    shutil.copy(stored, stored.with_name("before"))
    assert cli("search", "Danube").code == 0  # the migration of retrieval makes a backup
    backups = [
        check for check in cli("doctor", "--json").json["checks"] if check["name"] == "backups"
    ]
    assert backups[0]["detail"].startswith("1, ")
    (copy,) = stored.with_name("agentkit.duckdb.backups").iterdir()
    assert copy.read_bytes() == stored.with_name("before").read_bytes()
    assert str(copy) in backups[0]["detail"]
    flip(stored, 0, 10_000)
    told = database_check(cli)
    assert f"copy {copy} over {stored}" in told["advice"]
    shutil.copy(copy, stored)
    assert cli("search", "Danube", "--json").json["hits"]


def test_without_its_damaged_log_the_database_opens(cli: Cli, stored: Path) -> None:
    code = f"""
import os, pathlib
from agentkit.database import Database
database = Database(pathlib.Path({str(stored)!r}))
database.execute("update chats set title = 'named late'")
database.execute("update chats set title = 'and once more'")
os.kill(os.getpid(), 9)
"""
    subprocess.run([sys.executable, "-c", code], check=False)
    log = stored.with_name("agentkit.duckdb.wal")
    log.write_bytes(log.read_bytes().replace(b"named late", b"nam3d late"))
    assert cli("usage").code == 1
    told = database_check(cli)
    assert "Its newest changes are lost" in told["detail"]
    assert f"Move {log} away" in told["advice"]
    log.unlink()
    assert cli("doctor").code == 0


def test_doctor_ends_well_whatever_goes_wrong(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(settings: Settings) -> Workspace:
        raise ValueError("nobody thought of this")

    assert main(["doctor", "--json"], broken) == 1
    found = {check["name"]: check for check in json.loads(capsys.readouterr().out)["checks"]}
    assert found["database"]["detail"] == "it does not open: ValueError: nobody thought of this"
    assert "sandbox" in found
