"""OpenDocument texts (.odt)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from agentkit.core.lenient import read_whole
from agentkit.documents.assembly import BETWEEN, Outline, Reading
from agentkit.documents.document import Limits
from agentkit.documents.readers.package import Package, attribute, find_outermost, local
from agentkit.documents.readers.tables import join_cells
from agentkit.documents.refusals import refuse_locked
from agentkit.errors import DamagedDocument

_NOT_READ = ("annotation", "tracked-changes", "sequence-decls", "forms", "table-of-content")
"""Elements whose content is not the document's text."""


def read_odt(data: bytes, name: str, limits: Limits) -> Reading:
    """Read an OpenDocument text; sections follow its headings."""
    package = Package(data, name)
    if _is_locked(package):
        raise refuse_locked(name)
    body = package.xml("content.xml").find("{*}body/{*}text")
    if body is None:
        raise DamagedDocument(f"{name} holds no text document. Save it as .odt again.")
    outline = Outline()
    _Walk(outline).add_all(body)
    title = package.xml_if_there("meta.xml").findtext("{*}meta/{*}title", "")
    return Reading(outline.parts(), title, pictures=package.has_pictures())


def _is_locked(package: Package) -> bool:
    manifest = "META-INF/manifest.xml"
    return manifest in package.members and b"encryption-data" in package.bytes(manifest)


@dataclass(frozen=True, slots=True)
class _Walk:
    """Adds what it comes across to the outline; within a list, paragraphs are its items."""

    outline: Outline
    between: str = BETWEEN
    mark: str = ""

    def add_all(self, parent: Any) -> None:
        """Add all that is in the element."""
        for node in parent:
            _ADD.get(local(node), _Walk.add_all)(self, node)

    def add_heading(self, node: Any) -> None:
        """Begin a section."""
        level = attribute(node, "outline-level")
        self.outline.heading(read_whole(level) or 1, _read_text(node))

    def add_paragraph(self, node: Any) -> None:
        """Add a paragraph."""
        self.outline.add(_read_text(node).strip(), self.between, self.mark)

    def add_table(self, node: Any) -> None:
        """Add a table, one line a row."""
        self.outline.add("\n".join(_read_rows(node)))

    def add_item(self, node: Any) -> None:
        """Add the paragraphs of an item of a list."""
        _Walk(self.outline, "\n", "- ").add_all(node)

    def skip(self, node: Any) -> None:
        """Add nothing."""


_ADD = {
    "h": _Walk.add_heading,
    "p": _Walk.add_paragraph,
    "table": _Walk.add_table,
    "list-item": _Walk.add_item,
    **dict.fromkeys(_NOT_READ, _Walk.skip),
}


def _read_rows(table: Any) -> Iterator[str]:
    for row in table.iter("{*}table-row"):
        cells = list(map(_read_cell, row.iterfind("{*}table-cell")))
        if any(cells):
            yield join_cells(cells).rstrip(" |")


def _read_cell(cell: Any) -> str:
    """The paragraphs of a cell on one line."""
    paragraphs = " ".join(map(_read_text, find_outermost(cell, "p")))
    return " ".join(paragraphs.split())


def _read_text(node: Any) -> str:
    """The text in an element, with notes in brackets."""
    pieces = [node.text or ""]
    for child in node:
        read = _READ.get(local(child), _read_text)
        pieces += (read(child), child.tail or "")
    return "".join(pieces)


def _read_spaces(node: Any) -> str:
    """So many spaces as it says, at most 100; one where that is not a number."""
    count = attribute(node, "c")
    if count.isdecimal():
        return " " * min(int(count[:3]), 100)
    return " "


def _read_note(node: Any) -> str:
    note = "".join(map(_read_text, node.iter("{*}p")))
    return f" ({note.strip()})"


_READ: dict[str, Callable[[Any], str]] = {
    "s": _read_spaces,
    "tab": lambda node: "\t",
    "line-break": lambda node: "\n",
    "note": _read_note,
    **dict.fromkeys(_NOT_READ, lambda node: ""),
}
