"""The blocks of docs/retrieval.md, one after the other with the packaged model; and what the page
names exists.
"""

from __future__ import annotations

import contextlib
import dataclasses
import io
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import agentkit
from agentkit import retrieval
from agentkit.agents.retrieve_chat import vectordb as databases
from agentkit.agents.retrieve_chat.vectordb import VectorDBFactory
from agentkit.api import Held
from agentkit.retrieval import Scope, SearchOptions
from agentkit.retrieval.index.vector_index import EXACT_BELOW, TARGET
from agentkit.settings import Settings
from tests.examples.page import PAGE as AGENTS
from tests.examples.page import blocks

PAGE = AGENTS.with_name("retrieval.md")
ROOT = PAGE.parents[1]
TEXT = PAGE.read_text(encoding="utf-8")


@dataclass
class Played:
    """What the blocks left behind, and what each of them printed."""

    names: dict[str, Any]
    printed: dict[str, list[str]]


@pytest.fixture(scope="module", params=["alone", "while another process holds the folder"])
def played(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[Played]:
    names: dict[str, Any] = {"__name__": "example"}
    printed: dict[str, list[str]] = {}
    with contextlib.ExitStack() as around:
        around.enter_context(contextlib.chdir(tmp_path_factory.mktemp("page")))
        if request.param != "alone":
            around.callback(Held(Settings(data=Path("data"))).close)
        try:
            for title, code in blocks(PAGE).items():
                with contextlib.redirect_stdout(io.StringIO()) as said:
                    exec(compile(code, f"{PAGE.name}, {title}", "exec"), names)
                printed[title] = said.getvalue().splitlines()
        finally:
            if "workspace" in names:
                names["workspace"].close()
        yield Played(names, printed)


def test_a_first_search_finds_the_page(played: Played) -> None:
    lines = played.printed["A first search"]
    assert [line[:2] for line in lines] == ["1.", "2.", "3."]
    assert "employee-handbook.pdf, page 2" in lines[0]
    assert "27 days of paid annual leave" in lines[0]


def test_a_scope_and_options(played: Played) -> None:
    (pages,) = played.printed["Options"]
    assert re.match(r"\[2\b", pages)
    assert played.names["careful"] == SearchOptions(min_score=0.25, diversity=0.2)


def test_exact_text(played: Played) -> None:
    lines = played.printed["Exact text"]
    assert len(lines) == 5
    assert all(re.search(r"\bE\d\d\b", line) for line in lines)


def test_a_finer_version_finds_the_same_in_less_text(played: Played) -> None:
    (coarse, first, long), (fine, other, short) = (
        line.split() for line in played.printed["Index versions"]
    )
    assert first == other == "employee-handbook.pdf"
    assert (int(coarse) > int(fine), int(long) > int(short)) == (True, True)
    assert played.names["before"].id == played.names["answering"].id, "it was rolled back to"


def test_measuring(played: Played) -> None:
    lines = played.printed["Measuring"]
    assert [line.split(":")[0] for line in lines] == ["hybrid", "lexical"]
    assert "recall@5 1.00" in lines[0]


def test_a_collection_through_a_file(played: Played) -> None:
    (line,) = played.printed["Collections as files"]
    assert re.fullmatch(r"8 documents, \d+ chunks, searched with hybrid", line)


def test_figures_of_the_index(played: Played) -> None:
    (line,) = played.printed["The index"]
    assert line.startswith("IndexFigures(kind='exact', vectors=")


def test_the_table_of_options_has_all_with_their_defaults() -> None:
    section = TEXT.split("\n## Options\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (`\w+`(?:, `\w+`)*) \| ([^|]+) \|", section, flags=re.MULTILINE)
    told = [
        (name, value)
        for names, values in rows
        for name, value in zip(names.split(", "), values.split(", "), strict=True)
    ]
    assert {name.strip("`"): value.strip('`"').replace("none", "") for name, value in told} == {
        one.name: f"{one.default:g}" if isinstance(one.default, float) else str(one.default)
        for one in dataclasses.fields(SearchOptions)
    }


def test_every_field_of_a_scope_is_named() -> None:
    assert [one.name for one in dataclasses.fields(Scope) if f"`{one.name}`" not in TEXT] == []


def test_classes_and_settings_that_the_page_names_exist() -> None:
    homes = (agentkit, retrieval, databases)
    named = set(re.findall(r"`(?:[\w.]+\.)?([A-Z][a-z]+[A-Z]\w+)[`(.]", TEXT))
    assert {"RetrieveUserProxyAgent", "VectorDB"} <= named
    assert [name for name in sorted(named) if not any(hasattr(home, name) for home in homes)] == []
    settings = {name.lower() for name in re.findall(r"`AGENTKIT_(\w+)`", TEXT)}
    assert (
        settings
        == {"embedding_folders", "model_folder", "reranker_folders"}
        <= {one.name for one in dataclasses.fields(Settings)}
    )


def test_the_table_of_vector_databases_has_all() -> None:
    section = TEXT.split("\n## RetrieveChat\n")[1].split("\n## ")[0]
    assert (
        re.findall(r'^\| [^|]*`"(\w+)"` \|', section, flags=re.MULTILINE)
        == VectorDBFactory.PREDEFINED_VECTOR_DB
    )


def test_the_limits_of_the_index_are_those_of_the_code() -> None:
    assert f"Up to {EXACT_BELOW:,} chunks" in TEXT
    assert f"find {TARGET:.0%}".replace("%", " %") in TEXT


@pytest.mark.parametrize(
    "command", sorted(set(re.findall(r"python -m agentkit (collection \w+|\w+)", TEXT)))
)
def test_every_command_exists_with_its_options(command: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "agentkit", *command.split(), "--help"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    if command == "search":
        told = set(re.findall(r"`(?:search [A-Z]+ )?(--\w+)`", TEXT))
        assert len(told) >= 8
        assert {option for option in told if option not in done.stdout} == set()


def test_the_links_lead_somewhere() -> None:
    headings = {
        heading.lower().replace(" ", "-")
        for heading in re.findall(r"^#+ (.+)", TEXT, flags=re.MULTILINE)
    }
    assert set(re.findall(r"\]\(#([^)]+)\)", TEXT)) <= headings
    assert all((PAGE.parent / link).exists() for link in re.findall(r"\]\(([^#)h][^)#]*)", TEXT))
