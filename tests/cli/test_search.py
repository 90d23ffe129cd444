"""`search` in parts of a collection, and for exact words."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from agentkit.retrieval.embedding.engines import machine_precision
from tests.cli.conftest import PROJECT, Cli, take_in

LEAVE = "days of paid annual leave"


@pytest.fixture(scope="module")
def folder_with_papers(folder_with_papers: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The handbook is there as well."""
    data = shutil.copytree(folder_with_papers, tmp_path_factory.mktemp("handbook") / "data")
    return take_in(data, PROJECT / "data" / "samples" / "employee-handbook.pdf")


def names(found: Any) -> set[str]:
    return {hit["document"] for hit in found["hits"]}


@pytest.mark.parametrize(
    ("arguments", "documents"),
    [
        (["--type", "pdf"], {"employee-handbook.pdf"}),
        (["--type", ".TXT", "--type", "text/html"], {"deep/pump.txt", "deep/tea.html"}),
        (
            ["--document", "rivers.md", "--document", "deep/pump.txt"],
            {"rivers.md", "deep/pump.txt"},
        ),
        (["--tag", "none"], set()),
        (["--page", "1-2"], {"employee-handbook.pdf"}),
        (["--since", "2000-01-01", "--type", "md"], {"rivers.md"}),
        (["--since", "2100-01-01"], set()),
        (["--until", "2000-01-01T12:30"], set()),
        (["--min-score", "1"], set()),
    ],
)
def test_only_a_part_is_searched(filled: Cli, arguments: list[str], documents: set[str]) -> None:
    assert (
        names(filled("search", LEAVE, "--mode", "dense", "-k", 20, "--json", *arguments).json)
        == documents
    )


def test_until_today_holds_what_was_added_today(filled: Cli) -> None:
    from datetime import datetime

    today = f"{datetime.now().astimezone():%Y-%m-%d}"
    assert (
        len(names(filled("search", LEAVE, "--until", today, "--mode", "dense", "--json").json)) > 1
    )


def test_pages_of_hits_are_those_asked_for(filled: Cli) -> None:
    found = filled("search", LEAVE, "--page", "2", "--json").json
    assert {hit["page"] for hit in found["hits"]} == {2}


def test_a_search_loads_only_what_it_needs(data: Path, tmp_path: Path) -> None:
    (tmp_path / "tea.txt").write_text("Green tea is steeped at 80 degrees.")
    searching = """
import sys
from agentkit.cli import main
code = main(["search", "How hot is green tea?", "--json"])
needless = ["torch", "sentence_transformers", "pandas", "openai", "agentkit.teams.research"]
needless += ["agentkit.conversation.conversable", "agentkit.retrieval.evaluation"]
needless += ["pyarrow.compute"]
print(next((line for line in open("/proc/self/status") if line.startswith("VmHWM")), ""))
print([name for name in needless if name in sys.modules])
"""
    for command in (["-m", "agentkit", "ingest", str(tmp_path / "tea.txt")], ["-c", searching]):
        ended = subprocess.run(
            [sys.executable, *command], capture_output=True, text=True, check=True, cwd=PROJECT
        )
    assert "80 degrees" in ended.stdout
    *_, peak, _, needless = ended.stdout.splitlines()
    assert needless == "[]"
    most_mb = 350 if machine_precision() == "bfloat16" else 420  # the weights are half as large
    assert int(peak.split()[1]) < most_mb * 1024, "KB of memory"


def test_a_search_is_among_the_calls(filled: Cli) -> None:
    def calls() -> int:
        rows = filled("usage", "--by", "agent", "--json").json["rows"]
        return sum(row["calls"] for row in rows if row["key"] == "Command search")

    filled("search", "warranty", "--mode", "lexical")
    assert calls() == 0, "that asks no model"
    filled("search", "warranty", "--mode", "dense")
    assert calls() == 1


def test_exact_words_and_expressions(filled: Cli) -> None:
    found = filled("search", "DANUBE is 2,850", "--exact", "--json").json
    (match,) = found["matches"]
    assert set(match) == {"document", "chunk", "page", "place", "heading", "line", "span"}
    assert (match["document"], match["line"]) == (
        "rivers.md",
        "The Danube is 2,850 kilometres long and ends in the Black Sea.",
    )
    expression = filled("search", r"\d+ degrees", "--regex")
    assert expression.out == "deep/tea.html, Tea\n   Green tea is brewed at 80 degrees.\n\n"
    assert filled("search", r"\d+ degrees", "--exact").err == "It stands nowhere in Documents.\n"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--page", "9-3"], "The page is '9-3'"),
        (["--page", "0"], "The page is '0'"),
        (["--page", "two"], "The page is 'two'"),
        (["--document", "river"], "There is no document 'river' in Documents"),
        (
            ["--type", "video"],
            (
                "There is no kind of file 'video'; give an ending such as pdf, or a media type (the"
                " collection has"
            ),
        ),
        (["--reranker", "best"], "There is no reranker 'best' here"),
        (["--regex"], "')' is not a regular expression"),
    ],
)
def test_what_cannot_be_is_told_in_one_line(filled: Cli, arguments: list[str], says: str) -> None:
    ended = filled("search", ")", "--mode", "dense", "--json", *arguments)
    assert ended.code == 1
    assert ended.json["error"].startswith(says)
    assert ended.err.count("\n") == 1
