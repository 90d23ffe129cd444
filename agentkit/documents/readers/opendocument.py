"""OpenDocument texts (.odt)."""

from __future__ import annotations

from typing import Any

from agentkit.documents.assembly import Outline, Reading
from agentkit.documents.document import Limits
from agentkit.documents.readers.package import Package, attribute, local
from agentkit.documents.refusals import locked
from agentkit.errors import DamagedDocument

_CHARACTERS = {"tab": "\t", "line-break": "\n"}
_SKIPPED = frozenset(
    {"annotation", "tracked-changes", "sequence-decls", "forms", "table-of-content"}
)


def read_odt(data: bytes, name: str, limits: Limits) -> Reading:
    """Read an OpenDocument text; sections follow its headings."""
    package = Package(data, name)
    if "META-INF/manifest.xml" in package.members and b"encryption-data" in package.bytes(
        "META-INF/manifest.xml"
    ):
        raise locked(name)
    body = package.xml("content.xml").find("{*}body/{*}text")
    if body is None:
        raise DamagedDocument(f"{name} holds no text document. Save it as .odt again.")
    outline = Outline()
    _blocks(body, outline, "\n\n")
    title = ""
    if "meta.xml" in package.members:
        title = package.xml("meta.xml").findtext("{*}meta/{*}title", "")
    return Reading(outline.parts(), title, pictures=package.has_pictures())


def _blocks(parent: Any, outline: Outline, between: str, mark: str = "") -> None:
    for node in parent:
        tag = local(node)
        if tag == "h":
            level = attribute(node, "outline-level")
            outline.heading(int(level) if level.isdigit() else 1, _text(node))
        elif tag == "p":
            text = _text(node).strip()
            outline.add(mark + text if text else "", between)
        elif tag == "table":
            outline.add("\n".join(_rows(node)))
        elif tag == "list-item":
            _blocks(node, outline, "\n", "- ")
        elif tag not in _SKIPPED:
            _blocks(node, outline, between, mark)


def _rows(table: Any) -> list[str]:
    rows = []
    for row in table.iter("{*}table-row"):
        cells = list(map(_cell, row.iterfind("{*}table-cell")))
        if any(cells):
            rows.append(" | ".join(cells).rstrip(" |"))
    return rows


def _cell(cell: Any) -> str:
    """The paragraphs of a cell on one line."""
    paragraphs = " ".join(map(_text, cell.iter("{*}p")))
    return " ".join(paragraphs.split())


def _spaces(count: str) -> str:
    """So many spaces, at most 100; one where that is not a number."""
    return " " * min(int(count[:3]), 100) if count.isdecimal() else " "


def _text(node: Any) -> str:
    pieces = [node.text or ""]
    for child in node:
        tag = local(child)
        if tag == "s":
            pieces.append(_spaces(attribute(child, "c") or "1"))
        elif tag in _CHARACTERS:
            pieces.append(_CHARACTERS[tag])
        elif tag == "note":
            note = "".join(map(_text, child.iter("{*}p")))
            pieces.append(f" ({note.strip()})")
        elif tag not in _SKIPPED:
            pieces.append(_text(child))
        pieces.append(child.tail or "")
    return "".join(pieces)
