"""Kept originals that changed or are gone: found, told, and put right by the file itself."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from agentkit.retrieval import Source, StoredDocument
from agentkit.retrieval.types import Problem
from tests.retrieval.conftest import OWNER, Shelf

TEA = "Green tea is brewed at 80 degrees."


def kept(shelf: Shelf, name: str) -> tuple[StoredDocument, Path]:
    one = next(one for one in shelf.library.documents(OWNER, "Docs") if one.name == name)
    return one, shelf.library.original(OWNER, one.id)


def files(shelf: Shelf) -> set[str]:
    """What stands in all that is kept."""
    folder = shelf.settings.data / "files"
    return {path.read_text() for path in folder.rglob("*") if path.is_file()}


def told(problems: list[Problem]) -> str:
    return "\n".join(problem.what for problem in problems)


def test_all_is_well(shelf: Shelf) -> None:
    shelf.library.ingest(OWNER, "Docs", [shelf.source("tea.md", TEA), shelf.source("empty.md", "")])
    assert shelf.library.check_originals() == []


def test_what_changed_or_is_gone_is_found_with_all_documents_that_need_it(shelf: Shelf) -> None:
    tea, bad = shelf.source("tea.md", TEA), shelf.source("bad.pdf", "%PDF-1.4 nothing of the sort")
    shelf.library.ingest(OWNER, "Docs", [tea, bad, shelf.source("other.md", "Something else.")])
    shelf.library.ingest("bob", "His", [tea])
    changed, gone = kept(shelf, "tea.md")[1], kept(shelf, "bad.pdf")[1]
    changed.write_text(TEA.replace("80", "90"))  # of the same size
    gone.unlink()
    found = shelf.library.check_originals()
    assert [problem.what for problem in found] == [
        f"The original of bad.pdf in Docs is not whole: it is missing ({gone}).",
        "The original of tea.md in Docs, tea.md in His is not whole: its content has changed "
        f"({changed}).",
    ]
    assert all("Take these files in once more" in problem.advice for problem in found)
    assert "tea.md" not in told(shelf.library.check()), "what is looked at often reads no file"


def test_what_cannot_be_read_is_found(shelf: Shelf) -> None:
    shelf.library.ingest(OWNER, "Docs", [shelf.source("tea.md", TEA)])
    path = kept(shelf, "tea.md")[1]
    path.unlink()
    path.symlink_to("/proc/self/mem")
    assert "tea.md in Docs is not whole: it cannot be read (Input/output error)" in told(
        shelf.library.check_originals()
    )


def test_taking_the_file_in_once_more_puts_the_original_right(shelf: Shelf) -> None:
    tea = shelf.source("tea.md", TEA)
    shelf.library.ingest(OWNER, "Docs", [tea])
    for harm in (lambda path: path.write_text("x"), Path.unlink):
        path = kept(shelf, "tea.md")[1]
        harm(path)
        [done] = shelf.library.ingest(OWNER, "Docs", [tea])
        assert done.status == "unchanged"
        assert path.read_text() == TEA
        assert shelf.library.check_originals() == []


def test_a_damaged_original_is_not_taken_in_as_if_it_were_the_file(shelf: Shelf) -> None:
    shelf.library.ingest(OWNER, "Docs", [shelf.source("tea.md", TEA)])
    one, path = kept(shelf, "tea.md")
    path.write_text("Green tea is brewed at 10 degrees.")
    [done] = shelf.library.retry(OWNER, [one.id])
    assert done.status == "failed"
    assert f"The kept original of tea.md, {path}, is not any more what was taken in" in done.error
    assert shelf.library.text(OWNER, one.id) == TEA, "what answers is as it was"


def test_what_a_document_had_before_is_deleted(shelf: Shelf) -> None:
    for text in ("The salaries of May.", "The salaries of June.", "%PDF", "The salaries of July."):
        name = "list.pdf" if text == "%PDF" else "list.md"
        source = shelf.source(name, text)
        shelf.library.ingest(OWNER, "Docs", [Source(name, source.path, "upload:list")])
        assert text in files(shelf)
    assert files(shelf) == {"The salaries of July."}
    assert shelf.library.check() == []


def test_what_another_document_has_too_stays_when_it_is_replaced_in_one(shelf: Shelf) -> None:
    for text in (TEA, "Black tea is brewed at 95 degrees."):
        shelf.library.ingest(OWNER, "Docs", [shelf.source("tea.md", text)])
        shelf.library.ingest("bob", "His", [shelf.source("his.md", TEA)])
    assert files(shelf) == {TEA, "Black tea is brewed at 95 degrees."}
    shelf.library.delete_collection("bob", "His")
    assert files(shelf) == {"Black tea is brewed at 95 degrees."}


def test_of_what_is_replaced_and_could_not_be_taken_in_the_kept_copy_stays(shelf: Shelf) -> None:
    """As it may be the only one there is."""
    shelf.library.ingest(OWNER, "Docs", [shelf.source("bad.pdf", "%PDF")])
    shelf.library.ingest(OWNER, "Docs", [Source("bad.pdf", Path("gone"), "upload:bad.pdf")])
    assert files(shelf) == {"%PDF"}


def test_what_is_taken_in_while_its_last_document_is_deleted_is_kept(shelf: Shelf) -> None:
    shelf.library.ingest(OWNER, "Docs", [shelf.source("tea.md", TEA)])
    old = kept(shelf, "tea.md")[0]

    def sources() -> Iterator[Source]:
        yield shelf.source("again.md", TEA)
        shelf.library.delete_documents(OWNER, [old.id])
        assert files(shelf) == set()

    (done,) = shelf.library.ingest(OWNER, "Others", sources())
    assert (done.status, files(shelf)) == ("indexed", {TEA})
    assert shelf.library.check() == []


def test_what_came_in_after_its_last_document_was_deleted_is_kept(shelf: Shelf) -> None:
    library = shelf.library
    library.ingest(OWNER, "Docs", [shelf.source("tea.md", TEA)])
    deleted, contents = library.store.delete_documents(OWNER, [kept(shelf, "tea.md")[0].id])
    library.ingest(OWNER, "Others", [shelf.source("again.md", TEA)])
    library.originals.remove_unused(library.store, contents)
    assert (deleted, files(shelf)) == (1, {TEA})


def test_what_was_deleted_and_is_gone_where_it_came_from_is_told(shelf: Shelf) -> None:
    shelf.library.ingest(OWNER, "Docs", [shelf.source("tea.md", TEA)])
    old = kept(shelf, "tea.md")[0]

    def sources() -> Iterator[Source]:
        again = shelf.source("again.md", TEA)
        yield again
        shelf.library.delete_documents(OWNER, [old.id])
        again.path.unlink()

    (done,) = shelf.library.ingest(OWNER, "Others", sources())
    assert (done.status, "check the path" in done.error) == ("failed", True)
