"""OpenDocument texts (.odt)."""

from __future__ import annotations

from typing import Any

from agentkit.documents.assembly import Outline, Reading
from agentkit.documents.document import Limits
from agentkit.documents.readers.package import Package, attribute, local
from agentkit.documents.refusals import locked
from agentkit.errors import DamagedDocument

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
    title = (
        package.xml("meta.xml").find("{*}meta/{*}title") if "meta.xml" in package.members else None
    )
    return Reading(
        outline.parts(),
        (title.text or "") if title is not None else "",
        pictures=package.has_pictures(),
    )


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
        cells = [
            " ".join(" ".join(_text(p) for p in cell.iter("{*}p")).split())
            for cell in row.iterfind("{*}table-cell")
        ]
        if any(cells):
            rows.append(" | ".join(cells).rstrip(" |"))
    return rows


def _text(node: Any) -> str:
    pieces = [node.text or ""]
    for child in node:
        tag = local(child)
        if tag == "s":
            pieces.append(" " * min(int(attribute(child, "c") or 1), 100))
        elif tag in {"tab", "line-break"}:
            pieces.append("\t" if tag == "tab" else "\n")
        elif tag == "note":
            pieces.append(" (" + "".join(_text(part) for part in child.iter("{*}p")).strip() + ")")
        elif tag not in _SKIPPED:
            pieces.append(_text(child))
        pieces.append(child.tail or "")
    return "".join(pieces)
