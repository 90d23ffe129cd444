"""`ingest`: one line per document, durable when written, and a clean end in every case."""

from __future__ import annotations

import io
import json
import os
import signal
from pathlib import Path

import pytest
from rich.console import Console
from rich.progress import Progress

from agentkit.cli.ingest import Bar
from agentkit.database import Database
from agentkit.events import ModelReplied
from agentkit.retrieval import FakeEmbedder
from agentkit.settings import Settings
from agentkit.workspace import Workspace
from tests.cli.conftest import Cli, program


def statuses(lines: list[dict[str, str]]) -> dict[str, str]:
    return {line["document"]: line["status"] for line in lines}


def test_a_line_for_each_document(cli: Cli, papers: Path) -> None:
    ended = cli("ingest", papers, "--json")
    assert ended.code == 1  # for the broken one
    assert ended.err == ""
    assert statuses(ended.lines) == {
        "rivers.md": "indexed",
        "deep/pump.txt": "indexed",
        "deep/tea.html": "indexed",
        "broken.pdf": "failed",
    }
    for line in ended.lines:
        assert list(line) == [
            "document",
            "status",
            "chunks",
            "tokens",
            "seconds",
            "error",
            "note",
            "same_as",
            "updated",
        ]
        assert (line["chunks"] > 0 and line["tokens"] > 0 and not line["error"]) == (
            line["status"] == "indexed"
        )
        assert line["seconds"] >= 0
    assert next(line["error"] for line in ended.lines if line["status"] == "failed")


def test_the_same_again_is_unchanged_and_a_changed_one_is_replaced(cli: Cli, papers: Path) -> None:
    (papers / "broken.pdf").unlink()
    assert cli("ingest", papers, "--json").code == 0
    (papers / "rivers.md").write_text("The Volga is longer.")
    ended = cli("ingest", papers, "--json")
    assert ended.code == 0
    assert statuses(ended.lines) == {
        "rivers.md": "indexed",
        "deep/pump.txt": "unchanged",
        "deep/tea.html": "unchanged",
    }
    hits = cli("search", "Danube Volga rivers", "--json").json["hits"]
    assert [hit["text"] for hit in hits if hit["document"] == "rivers.md"] == [
        "The Volga is longer."
    ]


def test_a_document_with_the_content_of_another_one_says_so(cli: Cli, papers: Path) -> None:
    (papers / "copy.md").write_bytes((papers / "rivers.md").read_bytes())
    (papers / "broken.pdf").unlink()
    ended = cli("ingest", papers, "--json")
    assert {line["document"]: (line["status"], line["same_as"]) for line in ended.lines} == {
        "copy.md": ("indexed", ""),
        "rivers.md": ("indexed", "copy.md"),
        "deep/pump.txt": ("indexed", ""),
        "deep/tea.html": ("indexed", ""),
    }
    ended = cli("ingest", papers / "rivers.md", papers / "copy.md", "--collection", "Work")
    assert "indexed   copy.md: same content as rivers.md; 1 chunk, " in ended.err
    assert ended.out == "Work: 2 added (2 new chunks).\n"
    (hit,) = cli(
        "search", "Danube rivers", "--json", "--document", "rivers.md", "--collection", "Work"
    ).json["hits"]
    assert hit["document"] == "rivers.md"


def test_a_missing_path_and_a_refused_address_fail_and_the_rest_goes_on(
    cli: Cli, papers: Path
) -> None:
    ended = cli(
        "ingest",
        papers / "none.pdf",
        papers / "rivers.md",
        "http://127.0.0.1:9/secret.txt",
        "--json",
    )
    assert ended.code == 1
    assert statuses(ended.lines) == {
        "none.pdf": "failed",
        "rivers.md": "indexed",
        "http://127.0.0.1:9/secret.txt": "failed",
    }
    assert all(line["error"] for line in ended.lines if line["status"] == "failed")


def test_for_people_there_are_lines_on_stderr_and_a_summary_on_stdout(
    cli: Cli, papers: Path
) -> None:
    ended = cli("ingest", papers, "--collection", "Work")
    assert ended.code == 1
    assert ended.out == "Work: 3 added, 1 failed (3 new chunks).\n"
    assert "indexed   deep/pump.txt: 1 chunk," in ended.err
    assert "failed    broken.pdf: " in ended.err


def test_an_empty_folder_is_told(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    ended = cli("ingest", tmp_path / "empty", "--json")
    assert ended.code == 1
    assert "There are no documents in" in ended.json["error"]
    assert ended.err.startswith("Error: There are no documents in")


def test_a_name_that_is_no_text_does_not_stop_the_output(cli: Cli, tmp_path: Path) -> None:
    path = os.fsencode(tmp_path) + b"/caf\xe9\x1b[31m.txt"
    with open(path, "wb") as file:
        file.write(b"Coffee from Chiapas.")
    for flags in (["--json"], []):
        ended = cli("ingest", os.fsdecode(path), *flags)
        assert ended.code == 0
        assert "\x1b" not in ended.out + ended.err


def test_a_document_that_was_told_is_durable(data: Path, papers: Path) -> None:
    (papers / "broken.pdf").unlink()
    for number in range(40):
        (papers / f"more{number}.txt").write_text(
            f"Paper number {number} is about subject {number}."
        )
    with program("ingest", papers, "--json", EMBEDDING_DELAY_S="0.05") as running:
        assert running.stdout
        told = [json.loads(running.stdout.readline())["document"] for _ in range(3)]
        os.killpg(running.pid, signal.SIGKILL)
        told += [json.loads(line)["document"] for line in running.stdout if line.endswith("}\n")]
    stored = indexed(data)
    assert set(told) <= stored


def indexed(data: Path) -> set[str]:
    workspace = Workspace(Settings(data=data), FakeEmbedder())
    assert workspace.library.check() == []
    found = {
        one.name
        for one in workspace.library.documents("local", "Documents")
        if one.status == "indexed"
    }
    workspace.close()
    return found


def test_an_interrupt_ends_the_ingest_cleanly(data: Path, tmp_path: Path) -> None:
    folder = tmp_path / "many"
    folder.mkdir()
    for number in range(600):
        (folder / f"{number:03}.txt").write_text(
            f"Paper number {number} is about subject {number}."
        )
    with program("ingest", folder, "--json", EMBEDDING_DELAY_S="0.2") as running:
        assert running.stdout
        assert running.stderr
        told = [json.loads(running.stdout.readline())]
        os.killpg(running.pid, signal.SIGINT)  # as a terminal does: to the whole group
        told += [json.loads(line) for line in running.stdout]
        errors = running.stderr.read()
    assert running.returncode == 130
    assert errors == "Stopped. What was finished before is kept.\n"
    stored = indexed(data)
    assert stored == {line["document"] for line in told if line["status"] == "indexed"}
    assert 0 < len(stored) < 600


def test_a_reader_that_goes_away_is_no_crash(data: Path, papers: Path) -> None:
    with program("ingest", papers, "--json", EMBEDDING_DELAY_S="0.1") as running:
        assert running.stdout
        assert running.stderr
        running.stdout.close()
        errors = running.stderr.read()
    assert running.returncode == 1
    assert errors == ""


def test_a_server_that_is_asked_again_is_told_beside_the_bar() -> None:
    shown = io.StringIO()
    with Progress(console=Console(file=shown, width=200)) as progress:
        bar = Bar(progress, 1)
        bar.listeners[ModelReplied](
            ModelReplied(
                "1",
                "",
                "p",
                "bge at here",
                "embedding",
                "failed",
                error_type="RateLimited",
                retry_in_s=7.2,
            )
        )
        bar.listeners[ModelReplied](ModelReplied("2", "", "p", "bge at here", "embedding", "ok"))
    assert "bge at here: rate limited, next try in 8 s\n" in shown.getvalue()
    assert shown.getvalue().count("bge at here") == 1


def test_a_second_process_is_told_that_the_store_is_in_use(data: Path, papers: Path) -> None:
    database = Database(data / "agentkit.duckdb")
    with program("ingest", papers, "--json") as running:
        out, err = running.communicate()
    database.close()
    assert running.returncode == 1
    assert err.startswith("Error: ")
    assert err.count("\n") == 1
    assert f"in use by process {os.getpid()} " in err
    assert "Stop that one first" in err
    assert json.loads(out) == {
        "error": err.removeprefix("Error: ").strip(),
        "error_type": "DatabaseInUse",
    }


@pytest.mark.parametrize(
    "arguments",
    [
        ["ingest"],
        ["ingest", "x", "--colection", "y"],
        ["nonsense"],
        ["search", "x", "--mode", "odd"],
    ],
)
def test_wrong_usage_is_exit_2(cli: Cli, arguments: list[str]) -> None:
    ended = cli(*arguments)
    assert ended.code == 2
    assert ended.out == ""
    assert "Error" in ended.err
