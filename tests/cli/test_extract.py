"""`extract`: a table for people, a file for programs, JSON for scripts; one bad document is one bad
row.
"""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet

from tests.cli.conftest import Cli
from tests.servers.openai_server import Answer, OpenAIServer

FIELDS = "total (number): with tax, date (date), paid (boolean)"


@pytest.fixture
def bills(tmp_path: Path) -> Path:
    folder = tmp_path / "bills"
    folder.mkdir()
    (folder / "a.txt").write_text("Total: 12.50 EUR\nDate: 2025-03-03\nPaid: no\n")
    (folder / "b.md").write_text("# Bill\n\n**Total:** 7\n")
    (folder / "broken.pdf").write_bytes(b"%PDF-1.7 and nothing else")
    return folder


def test_people_see_the_table_and_what_went_wrong(cli: Cli, bills: Path) -> None:
    ended = cli("extract", FIELDS, bills)
    assert ended.code == 1
    header, first, second, third = ended.out.splitlines()
    assert header.split() == ["document", "total", "date", "paid"]
    assert first.split() == ["a.txt", "12.5", "2025-03-03", "false"]
    assert second.split() == ["b.md", "7"]
    assert third.split() == ["broken.pdf"]
    assert "broken.pdf: " in ended.err


def test_json_has_the_citations(cli: Cli, bills: Path) -> None:
    (bills / "broken.pdf").unlink()
    ended = cli("extract", FIELDS, bills / "a.txt", bills / "b.md", "--json")
    assert ended.code == 0
    first, second = ended.json["rows"]
    assert first["values"] == {"total": 12.5, "date": "2025-03-03", "paid": False}
    assert first["citations"]["total"] == {
        "document": "a.txt",
        "page": None,
        "place": "line 1",
        "heading": "",
        "span": [0, 16],
        "text": "Total: 12.50 EUR",
    }
    assert second["values"] == {"total": 7, "date": None, "paid": None}


def test_a_schema_file_and_files_for_programs(cli: Cli, bills: Path, tmp_path: Path) -> None:
    schema = tmp_path / "bill.json"
    schema.write_text(
        json.dumps(
            {
                "properties": {
                    "total": {"type": "number"},
                    "date": {"type": "string", "format": "date"},
                }
            }
        )
    )
    (bills / "broken.pdf").unlink()
    for kind in ("csv", "parquet", "json"):
        ended = cli("extract", schema, bills, "--out", tmp_path / f"t.{kind}")
        assert (ended.code, ended.out) == (0, "")
        assert f"2 rows in {tmp_path / f't.{kind}'}" in ended.err
    rows: Any = list(csv.DictReader(io.StringIO((tmp_path / "t.csv").read_text())))
    assert [(row["document"], row["total"]) for row in rows] == [("a.txt", "12.5"), ("b.md", "7")]
    assert parquet.read_table(tmp_path / "t.parquet")["total"].to_pylist() == [12.5, 7]
    assert len(json.loads((tmp_path / "t.json").read_text())["rows"]) == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["total (money)", "."], "unknown type 'money'"),
        (["none.json", "."], "cannot be read"),
        ([FIELDS, "{empty}"], "There are no documents"),
        ([FIELDS, "{bills}", "--out", "table.doc"], "must end in .csv, .parquet or .json"),
        ([FIELDS, "{bills}", "--out", "no/such/folder/t.csv"], "does not exist"),
        ([FIELDS, "{bills}", "--model", "nothing"], "There is no model 'nothing'"),
    ],
)
def test_what_cannot_be_is_told_in_one_line(
    cli: Cli, bills: Path, tmp_path: Path, arguments: list[str], message: str
) -> None:
    (tmp_path / "empty").mkdir()
    ended = cli(
        "extract",
        *(each.format(bills=bills, empty=tmp_path / "empty") for each in arguments),
        "--json",
    )
    assert ended.code == 1
    assert message in ended.json["error"]
    assert ended.err.count("\n") == 1


def test_a_file_that_is_not_there_is_a_row_with_its_error(cli: Cli, bills: Path) -> None:
    ended = cli("extract", FIELDS, bills / "a.txt", bills / "missing.txt", "--json")
    assert ended.code == 1
    assert [bool(row["error"]) for row in ended.json["rows"]] == [False, True]


@pytest.fixture
def model(data: Path, server: OpenAIServer, monkeypatch: pytest.MonkeyPatch) -> OpenAIServer:
    """The server of a language model that reads a bill."""
    assert data.exists()  # its environment has no server: this one comes after it
    monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
    monkeypatch.setenv("OPENAI_MODEL", "test-model")
    said = {
        "total": {"value": 12.5, "quote": "Total: 12.50"},
        "date": {"value": "2025-03-03", "quote": "in March"},
        "paid": None,
    }
    server.script = lambda body: Answer(json.dumps(said))
    return server


def test_the_limit_of_a_run_holds(
    cli: Cli, bills: Path, model: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENTKIT_RUN_TOKENS", "10")
    ended = cli("extract", FIELDS, bills / "a.txt")
    assert ended.code == 1
    assert "The limit of 10 tokens was reached" in ended.err
    assert model.chats == []


@pytest.mark.parametrize("scope", ["question", "day"])
def test_a_budget_holds_where_nobody_else_has_the_folder(
    cli: Cli, bills: Path, model: OpenAIServer, held: bool, scope: str
) -> None:
    cli("budgets", "set", scope, 10, "--in", "tokens", "--zone", "UTC")
    ended = cli("extract", FIELDS, bills / "a.txt")
    assert ended.code == (0 if held else 1)
    assert (f"The budget of 10 tokens a {scope} is used up" in ended.err) != held
    assert bool(model.chats) == held


def test_with_a_model_the_calls_are_counted(cli: Cli, bills: Path, model: OpenAIServer) -> None:
    ended = cli("extract", FIELDS, bills / "a.txt")
    assert ended.code == 0
    assert ended.out.splitlines()[1].split() == ["a.txt", "12.5", "2025-03-03", "(?)"]
    (run,) = cli("runs", "--json").json["runs"]
    assert (run["kind"], run["calls"]) == ("extract", 1)
