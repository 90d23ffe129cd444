"""Kept originals that changed or are gone: found, told, and put right by the file itself."""

from __future__ import annotations

from pathlib import Path

from agentkit.retrieval import StoredDocument
from agentkit.retrieval.types import Problem
from tests.retrieval.conftest import OWNER, Shelf

TEA = "Green tea is brewed at 80 degrees."


def kept(shelf: Shelf, name: str) -> tuple[StoredDocument, Path]:
    one = next(one for one in shelf.library.documents(OWNER, "Docs") if one.name == name)
    return one, shelf.library.original(OWNER, one.id)


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
