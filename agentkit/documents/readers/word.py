"""Word documents (.docx, .docm, .dotx): body in reading order, tables as rows, footnotes, headers;
and rich text (.rtf).

The XML is walked directly: libraries skip what stands in content controls, text boxes and tracked
insertions.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from agentkit.documents.assembly import Outline, Part, Reading
from agentkit.documents.decoding import clean
from agentkit.documents.document import Limits
from agentkit.documents.readers.package import Package, attribute, local
from agentkit.errors import DamagedDocument

_HEADING = re.compile(r"(?:heading|title)\s*(\d?)\Z", re.IGNORECASE)
_ITEM = 0
"""Stands for a level where a style is one of list items."""
_SKIPPED = frozenset({"del", "moveFrom", "Fallback", "rPr", "pPr", "instrText", "sectPr"})
_CHARACTERS = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}


def read_docx(data: bytes, name: str, limits: Limits) -> Reading:
    """Read a Word document; sections follow its headings."""
    package = Package(data, name)
    main = package.main("word/document.xml")
    root = package.xml(main)
    body = next((node for node in root if local(node) == "body"), None)
    if body is None:
        raise DamagedDocument(f"{name} has no body. Open it in Word and save it again.")
    relations = package.relations(main)
    styles, notes, headers = (
        [relation.target for relation in relations if relation.kind in kinds]
        for kinds in ({"styles"}, {"footnotes", "endnotes"}, {"header"})
    )
    outline = Outline()
    levels = _levels(package.xml(styles[0])) if styles else {}
    _blocks(body, outline, levels)
    outline.cut()
    _apart(package, outline, notes, "notes")
    _apart(package, outline, sorted(headers)[:3], "header")
    return Reading(outline.parts(), _title(package), pictures=package.has_pictures())


def _apart(package: Package, outline: Outline, members: list[str], place: str) -> None:
    """Add what stands outside the body; the same text only once."""
    outline.place = place
    present = filter(package.members.__contains__, members)
    texts = (_text(node).strip() for each in present for node in package.xml(each).iter("{*}p"))
    for text in filter(None, dict.fromkeys(texts)):
        outline.add(text, "\n")
    outline.cut()
    outline.place = ""


def _blocks(parent: Any, outline: Outline, levels: dict[str, int]) -> None:
    for node in parent:
        tag = local(node)
        if tag == "p":
            _paragraph(node, outline, levels)
        elif tag == "tbl":
            outline.add("\n".join(_rows(node)))
        elif tag in {"sdt", "sdtContent", "customXml", "ins", "moveTo"}:
            _blocks(node, outline, levels)


def _paragraph(node: Any, outline: Outline, levels: dict[str, int]) -> None:
    text = _text(node).strip()
    properties = node.find("{*}pPr")
    if properties is None:
        outline.add(text)
        return

    style = properties.find("{*}pStyle")
    level = None if style is None else levels.get(attribute(style, "val"))
    if level:
        outline.heading(level, text)
    elif level == _ITEM or properties.find("{*}numPr") is not None:
        outline.add("- " + text if text else "", "\n")
    else:
        outline.add(text)


def _text(node: Any) -> str:
    """Text of a paragraph with its text boxes, without deleted text."""
    pieces: list[str] = []
    pending = [node]
    while pending:
        current = pending.pop()
        tag = local(current)
        if tag in _SKIPPED:
            continue
        if tag == "t":
            pieces.append(current.text or "")
        elif tag in _CHARACTERS:
            pieces.append(_CHARACTERS[tag])
        elif tag == "p" and current is not node:
            pieces.append("\n")
        pending.extend(reversed(current))
    return "".join(pieces)


def _rows(table: object) -> list[str]:
    """One line a row; a table inside a cell stays in its cell."""
    rows = []
    for row in _own(table, "tr", "tbl"):
        cells = list(map(_cell, _own(row, "tc", "tr")))
        if any(cells):
            rows.append(" | ".join(cells))
    return rows


def _cell(cell: Any) -> str:
    """The paragraphs of a cell on one line."""
    paragraphs = " ".join(map(_text, cell.iter("{*}p")))
    return " ".join(paragraphs.split())


def _own(parent: Any, tag: str, parent_tag: str) -> list[Any]:
    return [
        node
        for node in parent.iter("{*}" + tag)
        if next(node.iterancestors("{*}" + parent_tag)) is parent
    ]


def _levels(styles: Any) -> dict[str, int]:
    """Style id -> level of heading, or _ITEM; names are English in every language's Word, ids are
    not.
    """
    levels: dict[str, int] = {}
    for style in styles.iter("{*}style"):
        level = _level(style)
        if level is not None:
            levels[attribute(style, "styleId")] = level
    return levels


def _level(style: Any) -> int | None:
    """The level of heading that a style gives, or _ITEM; None for a style of plain text."""
    heading = _HEADING.match(_value(style, "{*}name"))
    if heading:
        return int(heading[1] or 1)

    outline = _value(style, "{*}pPr/{*}outlineLvl")
    if outline.isdigit() and int(outline) < 9:
        return int(outline) + 1
    return None if style.find("{*}pPr/{*}numPr") is None else _ITEM


def _value(node: Any, path: str) -> str:
    """The "val" of the element below the node, or "" when either is missing."""
    found = node.find(path)
    return "" if found is None else attribute(found, "val")


def _title(package: Package) -> str:
    if "docProps/core.xml" not in package.members:
        return ""
    return next(
        (node.text or "" for node in package.xml("docProps/core.xml") if local(node) == "title"), ""
    )


def read_rtf(data: bytes, name: str, limits: Limits) -> Reading:
    """Read the text of an RTF file; it knows no headings."""
    from striprtf.striprtf import rtf_to_text

    convert: Callable[..., str] = rtf_to_text  # the library has no types
    text = clean(convert(data.decode("cp1252", errors="replace"), errors="ignore")).strip()
    return Reading([Part(text)], pictures=b"\\pict" in data)
