"""Exact search: where a text or an expression stands, to the character."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentkit.core import bus
from agentkit.errors import ConfigError, DatabaseDamaged, NotFound, StoreError
from agentkit.events import Event, Retrieved
from agentkit.retrieval import Library, sources_from_paths
from agentkit.retrieval.store.exact_search import Match, find_passages
from agentkit.retrieval.types import Scope
from tests.retrieval.conftest import OWNER, Shelf
from tests.retrieval.full_disk import at_most
from tests.timing import processor_time

LEASE = (
    "# Rent\n\nThe rent is EUR 1.250 a month.\nIt is due on the 3rd.\n\n# Notice\n\nNotice is three"
    " months; the rent goes on.\n\nMüller & Söhne (GmbH) 🤦🏼 signs: rent?\n"
)
TEA = "# Tea\n\nGreen tea costs EUR 3.\n"
LONG = "start " + "filler " * 300 + "needle in the hay " + "filler " * 300 + "end"


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    shelf = Shelf(tmp_path_factory.mktemp("finding"))
    texts = {"lease.md": LEASE, "tea.md": TEA, "long.txt": LONG}
    shelf.library.ingest(OWNER, "Docs", [shelf.source(name, text) for name, text in texts.items()])
    yield shelf.library
    shelf.close()


def found(
    library: Library,
    pattern: str,
    *,
    regex: bool = False,
    match_case: bool = False,
    limit: int = 100,
    scope: Scope | None = None,
) -> list[Match]:
    matches = library.find(
        OWNER, "Docs", pattern, regex=regex, match_case=match_case, limit=limit, scope=scope
    )
    for match in matches:
        chunk = library.chunk(OWNER, match.chunk_id)
        assert chunk.document_id == match.document_id
        assert (chunk.page, chunk.heading, chunk.place) == (match.page, match.heading, match.place)
        assert max(chunk.start, match.start) <= min(chunk.end, match.end)
    return matches


def test_a_database_that_broke_off_is_not_told_as_a_wrong_expression(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path)
    shelf.library.ingest(OWNER, "Docs", [shelf.source("tea.md", TEA)])
    with at_most(10), pytest.raises(StoreError, match=r"could not be written .* then start again"):
        shelf.database.execute("checkpoint")
    with pytest.raises(StoreError, match="check free space") as told:
        shelf.library.find(OWNER, "Docs", "tea", regex=True)
    assert not isinstance(told.value, DatabaseDamaged)
    shelf.library.indexes.close()
    shelf.database.close()


def words(library: Library, matches: list[Match]) -> list[tuple[str, str]]:
    return [
        (match.document, library.text(OWNER, match.document_id)[match.start : match.end])
        for match in matches
    ]


def test_a_text_is_found_by_document_and_place(library: Library) -> None:
    matches = found(library, "rent")
    assert words(library, matches) == [
        ("lease.md", text) for text in ("Rent", "rent", "rent", "rent")
    ]
    assert [match.start for match in matches] == [
        each.start() for each in re.finditer("(?i)rent", LEASE)
    ]
    assert [match.heading for match in matches] == ["Rent", "Rent", "Notice", "Notice"]
    assert matches[1].line == "The rent is EUR 1.250 a month."
    assert len(found(library, "rent", match_case=True)) == 3
    assert len(found(library, "rent", limit=2)) == 2
    assert words(library, found(library, "EUR", limit=10)) == [
        ("lease.md", "EUR"),
        ("tea.md", "EUR"),
    ]
    assert found(library, "no such words") == []


def test_a_text_is_no_expression(library: Library) -> None:
    assert words(library, found(library, "1.250")) == [("lease.md", "1.250")]
    assert words(library, found(library, "(GmbH) 🤦🏼")) == [("lease.md", "(GmbH) 🤦🏼")]
    assert found(library, "r.nt") == []
    assert words(library, found(library, "MÜLLER & S")) == [("lease.md", "Müller & S")]
    assert words(library, found(library, "month.\nIt")) == [("lease.md", "month.\nIt")]


def test_expressions(library: Library) -> None:
    assert words(library, found(library, r"EUR\s+[\d.]+", regex=True)) == [
        ("lease.md", "EUR 1.250"),
        ("tea.md", "EUR 3."),
    ]
    assert words(library, found(library, r"^\w+ is", regex=True)) == [
        ("lease.md", "It is"),
        ("lease.md", "Notice is"),
    ]
    assert words(library, found(library, r"\bent\b", regex=True)) == []
    assert words(library, found(library, r"signs.*", regex=True)) == [("lease.md", "signs: rent?")]
    assert words(library, found(library, r"(ne)+edle", regex=True, match_case=True)) == [
        ("long.txt", "needle")
    ]


def test_a_long_line_is_cut_around_what_was_found(library: Library) -> None:
    (match,) = found(library, "needle")
    assert "needle in the hay" in match.line
    assert match.line.startswith("…")
    assert match.line.endswith("…")
    assert len(match.line) <= 225
    (whole,) = found(library, r"(?s)start.*hay", regex=True)
    assert len(whole.line) <= 225


@pytest.mark.parametrize(
    ("pattern", "regex", "says"),
    [
        ("", False, "nothing to look for"),
        ("  \n", True, "nothing to look for"),
        ("(", True, r"'\(' is not a regular expression that can be used \(missing \)"),
        ("(?=a)b", True, "without look-around"),
        (r"(a)\1", True, "RE2"),
        ("x*", True, "fits where nothing stands"),
        ("rent|", True, "fits where nothing stands"),
        (r"\b", True, "fits where nothing stands"),
        ("a" * 1_001, False, "1,001 characters; give at most 1,000"),
    ],
)
def test_patterns_that_cannot_be_are_told(
    library: Library, pattern: str, regex: bool, says: str
) -> None:
    with pytest.raises(ConfigError, match=says):
        found(library, pattern, regex=regex)


def test_other_impossible_wishes_are_told(library: Library) -> None:
    with pytest.raises(ConfigError, match="The limit is 0"):
        found(library, "rent", limit=0)
    with pytest.raises(NotFound, match="no collection 'Nothing'"):
        library.find(OWNER, "Nothing", "rent")
    with pytest.raises(NotFound):
        library.find("somebody else", "Docs", "rent")


def test_an_expression_that_would_hang_others_does_not(library: Library) -> None:
    with processor_time(5):
        assert found(library, r"(f+i*l*)+(l+e*r* *)+(e+r* *)+#$", regex=True) == []


def test_a_scope_narrows_to_documents_and_pages(shelf: Shelf) -> None:
    shelf.library.ingest(
        OWNER, "Samples", sources_from_paths([shelf.settings.samples / "employee-handbook.pdf"])
    )
    (document,) = shelf.library.documents(OWNER, "Samples")
    everything = shelf.library.find(OWNER, "Samples", "days")
    pages = [match.page for match in everything]
    assert len(set(pages)) > 1
    assert pages == sorted(pages, key=lambda page: page or 0)
    last = max(page for page in pages if page)
    narrowed = shelf.library.find(OWNER, "Samples", "days", scope=Scope(first_page=last))
    assert narrowed == [match for match in everything if match.page == last]
    assert shelf.library.find(OWNER, "Samples", "days", scope=Scope(document_ids=[])) == []
    assert (
        shelf.library.find(OWNER, "Samples", "days", scope=Scope(document_ids=[document.id]))
        == everything
    )
    assert (
        shelf.library.find(OWNER, "Samples", "days", scope=Scope(media_types=["text/plain"])) == []
    )


def test_the_chunk_is_of_the_version_that_answers(shelf: Shelf) -> None:
    shelf.library.ingest(OWNER, "Docs", [shelf.source("long.txt", LONG)])
    (before,) = shelf.library.find(OWNER, "Docs", "needle")
    made = shelf.library.versions.add(OWNER, "Docs", embedder="fake", max_tokens=20)
    shelf.library.versions.promote(OWNER, made.id)
    (after,) = shelf.library.find(OWNER, "Docs", "needle")
    assert (after.start, after.end) == (before.start, before.end)
    assert after.chunk_id != before.chunk_id
    assert "needle" in shelf.library.chunk(OWNER, after.chunk_id).text


@settings(
    deadline=None, max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    pattern=st.text("ren ti\n.EURüß🤦", min_size=1, max_size=5).filter(str.strip),
    match_case=st.booleans(),
)
def test_places_agree_with_a_search_by_hand(
    library: Library, pattern: str, match_case: bool
) -> None:
    matches = library.find(OWNER, "Docs", pattern, match_case=match_case, limit=5_000)
    wanted = [
        (document.name, each.start(), each.end())
        for document in sorted(library.documents(OWNER, "Docs"), key=lambda one: one.name)
        for each in re.finditer(
            re.escape(pattern), library.text(OWNER, document.id), 0 if match_case else re.IGNORECASE
        )
    ]
    assert [(match.document, match.start, match.end) for match in matches] == wanted


def test_passages_with_a_text_are_given_once_each(library: Library) -> None:
    version = library.store.version(library.collection(OWNER, "Docs").id)
    events: list[Event] = []
    with bus.listening(events.append):
        hits = find_passages(library.store.chunk_table, [version], Scope(), "RENT", 5, "Docs")
    assert [(hit.rank, hit.document, hit.heading) for hit in hits] == [
        (1, "lease.md", "Rent"),
        (2, "lease.md", "Notice"),
    ]
    for hit in hits:
        assert library.text(OWNER, hit.document_id)[hit.start : hit.end] == hit.text
    (event,) = events
    assert isinstance(event, Retrieved)
    assert (event.mode, event.query, len(event.hits)) == ("exact", "RENT", 2)
    assert (
        len(
            find_passages(
                library.store.chunk_table, [version, version], Scope(), "filler", 1, "Docs"
            )
        )
        == 1
    )
