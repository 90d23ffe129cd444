"""Where a citation stands, in texts and on pages."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from agentkit.database import Database
from agentkit.documents import Limits, read_document
from agentkit.retrieval import FakeEmbedder, Hit, Library, sources_from_paths
from agentkit.settings import Settings
from agentkit.teams import Citation
from agentkit.teams.citing import cite_hits
from agentkit.ui.shared.passage import (
    find_leaning,
    find_place,
    find_quotes,
    heading_at,
    mark,
    page_span,
)

OWNER = "local"


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    settings = Settings(data=tmp_path_factory.mktemp("passage"))
    database = Database(settings.data / "test.duckdb")
    opened = Library(database, settings, FakeEmbedder())
    opened.ingest(
        OWNER, "Samples", sources_from_paths([settings.samples / "employee-handbook.pdf"])
    )
    yield opened
    opened.close()
    database.close()


def citation(hit: Hit) -> Citation:
    (made,) = cite_hits("[1]", [hit])
    return made


def test_every_chunk_is_found_on_its_own_page(library: Library) -> None:
    (document,) = library.documents(OWNER, "Samples")
    read = read_document(library.original(OWNER, document.id), document.name, Limits())
    pages = {section.page: section.text for section in read.sections}
    chunks = library.chunks(OWNER, document.id, 0, 1_000)
    assert len({chunk.page for chunk in chunks}) > 1
    for chunk in chunks:
        start, end = page_span(
            library, OWNER, document.id, chunk.page or 0, (chunk.start, chunk.end)
        )
        assert pages[chunk.page][start:end] == chunk.text


def test_a_merged_passage_is_found_on_its_page_as_a_whole(library: Library) -> None:
    (document,) = library.documents(OWNER, "Samples")
    read = read_document(library.original(OWNER, document.id), document.name, Limits())
    pages = {section.page: section.text for section in read.sections}
    chunks = library.chunks(OWNER, document.id, 0, 1_000)
    first, second = next((one, two) for one, two in pairwise(chunks) if one.page == two.page != 1)
    start, end = page_span(library, OWNER, document.id, first.page or 0, (first.start, second.end))
    assert (
        pages[first.page][start:end] == library.text(OWNER, document.id)[first.start : second.end]
    )


def test_a_passage_is_shown_in_its_text_with_the_quoted_sentence_marked(library: Library) -> None:
    hit = library.retrieve(OWNER, "Samples", "days of paid annual leave")[0]
    place = find_place(
        library, OWNER, citation(hit).to_json(), "Everybody has 27 days of paid annual leave. [1]"
    )
    text = library.text(OWNER, hit.document_id)
    assert place.document == "as cited"
    assert "".join(part for part, kind in place.parts if kind) == hit.text
    assert "".join(part for part, _ in place.parts).strip("… ") in text
    (sentence,) = [part for part, kind in place.parts if kind == "sentence"]
    assert "27 days" in sentence


def test_a_passage_that_moved_is_found_and_one_that_is_gone_keeps_its_own_text(
    library: Library,
) -> None:
    hit = library.retrieve(OWNER, "Samples", "days of paid annual leave")[0]
    known = citation(hit).to_json()
    assert find_place(library, OWNER, {**known, "start": 3, "end": 9}, "").document == "as cited"
    changed = find_place(
        library, OWNER, {**known, "text": "Nobody has leave."}, "Nobody has leave [1]."
    )
    assert (changed.document, changed.parts) == ("changed", [("Nobody has leave.", "sentence")])
    assert find_place(library, OWNER, {**known, "document_id": "gone"}, "").document == "deleted"
    assert find_place(library, "somebody else", known, "").document == "deleted"


def test_an_answer_leans_on_the_sentences_that_carry_the_marker() -> None:
    answer = "Tea is hot. [1] Coffee is hotter [2, 3]. And [4] so on. Milk is cold [12]."
    assert find_leaning(answer, 1) == "Tea is hot."
    assert find_leaning(answer, 3) == "Coffee is hotter ."
    assert find_leaning(answer, 2) == "Coffee is hotter ."
    assert find_leaning(answer, 4) == "And  so on."
    assert find_leaning(answer, 9) == ""


def test_an_answer_leans_at_each_marker_on_its_own_sentence() -> None:
    answer = "Tea is hot. [1] Milk is cold [2, 1]. Ice is colder [1]."
    assert [find_leaning(answer, 1, nth) for nth in range(3)] == [
        "Tea is hot.",
        "Milk is cold .",
        "Ice is colder .",
    ]
    assert find_leaning(answer, 1, 7) == find_leaning(
        answer, 1
    )  # an answer of which another text was shown


def test_a_sentence_has_its_own_heading_within_a_merged_passage(tmp_path: Path) -> None:
    tea = "Tea is steeped at eighty degrees. " + "Leaves are kept in a tin box. " * 14
    milk = "Milk is kept cold. " + "Jugs are made of blue glass. " * 14
    (tmp_path / "tea.md").write_text(f"# Drinks\n\n## Tea\n\n{tea}\n\n## Milk\n\n{milk}")
    settings = Settings(data=tmp_path / "data")
    database = Database(settings.data / "test.duckdb")
    library = Library(database, settings, FakeEmbedder())
    library.ingest(OWNER, "Kitchen", sources_from_paths([tmp_path / "tea.md"]))
    (hit,) = library.retrieve(OWNER, "Kitchen", "How is tea steeped, and is milk kept cold?")
    assert len(hit.chunk_ids) == 2  # merged: it carries the heading of the first
    assert hit.heading == "Drinks"
    place = find_place(library, OWNER, citation(hit).to_json(), "Milk is kept cold [1].")
    ((start, end),) = place.sentences
    assert library.text(OWNER, hit.document_id)[start:end] == "Milk is kept cold."
    assert heading_at(library, OWNER, hit.document_id, start) == "Drinks > Milk"
    assert heading_at(library, OWNER, hit.document_id, hit.start) == "Drinks"
    library.close()
    database.close()


def test_no_sentence_is_marked_where_none_is_repeated() -> None:
    passage = "Tea is hot. Milk is cold."
    assert mark(passage, find_quotes(passage, "Entirely different words here")) == [
        (passage, "passage")
    ]
    assert mark(passage, find_quotes(passage, "")) == [(passage, "passage")]
    assert ("Milk is cold.", "sentence") in mark(
        passage, find_quotes(passage, "Milk is always cold")
    )
