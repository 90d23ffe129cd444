"""Word documents (.docx, .docm, .dotx): body in reading order, tables as rows, footnotes, headers;
and rich text (.rtf).

The XML is walked directly: libraries skip what stands in content controls, text boxes and tracked
insertions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from agentkit.core.given import list_known
from agentkit.documents.assembly import Outline, Part, Reading
from agentkit.documents.decoding import clean
from agentkit.documents.document import Limits
from agentkit.documents.readers.package import (
    Package,
    Relation,
    attribute,
    find_attribute,
    find_outermost,
    local,
)
from agentkit.errors import DamagedDocument

_HEADING = re.compile(r"(?:heading|title)\s*(\d?)\Z", re.IGNORECASE)
_ITEM = 0
"""Stands for a level where a style is one of list items."""
_OUTLINE_LEVELS = tuple("012345678")
_SKIPPED = frozenset({"del", "moveFrom", "Fallback", "rPr", "pPr", "instrText", "sectPr"})
_CHARACTERS = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-", "p": "\n"}
"""What stands for an element within a paragraph; another paragraph there is in a text box."""


def read_docx(data: bytes, name: str, limits: Limits) -> Reading:
    """Read a Word document; sections follow its headings."""
    package = Package(data, name)
    main = package.main("word/document.xml")
    root = package.xml(main)
    body = root.find("{*}body")
    if body is None:
        raise DamagedDocument(f"{name} has no body. Open it in Word and save it again.")
    relations = package.relations(main)
    styles = _find_members(relations, "styles")
    outline = Outline()
    levels: dict[str, int | None] = {}
    if styles:
        levels = _find_levels(package.xml(styles[0]))
    _Walk(outline, levels).add_all(body)
    outline.cut()
    _add_apart(package, outline, _find_members(relations, "footnotes", "endnotes"), "notes")
    _add_apart(package, outline, sorted(_find_members(relations, "header"))[:3], "header")
    title = package.xml_if_there("docProps/core.xml").findtext("{*}title", "")
    return Reading(outline.parts(), title, pictures=package.has_pictures())


def _find_members(relations: list[Relation], *kinds: str) -> list[str]:
    return [relation.target for relation in relations if relation.kind in kinds]


def _add_apart(package: Package, outline: Outline, members: list[str], place: str) -> None:
    """Add what stands outside the body; the same text only once."""
    outline.place = place
    texts: dict[str, None] = {}
    for member in list_known(members, package.members):
        for paragraph in find_outermost(package.xml(member), "p"):
            texts[_read_text(paragraph).strip()] = None
    for text in texts:
        outline.add(text, "\n")
    outline.cut()
    outline.place = ""


@dataclass(frozen=True, slots=True)
class _Walk:
    """Adds the blocks that it comes across to the outline."""

    outline: Outline
    levels: dict[str, int | None]
    """Of styles, as `_find_levels` gives them."""

    def add_all(self, parent: Any) -> None:
        """Add all that is in the element."""
        for node in parent:
            _ADD.get(local(node), _Walk.skip)(self, node)

    def add_paragraph(self, node: Any) -> None:
        """Add a paragraph, as a heading or an item of a list where it is one."""
        text = _read_text(node).strip()
        level = self.levels.get(find_attribute(node, "{*}pPr/{*}pStyle", "val"))
        if level:
            self.outline.heading(level, text)
        elif level == _ITEM or node.find("{*}pPr/{*}numPr") is not None:
            self.outline.add(text, "\n", mark="- ")
        else:
            self.outline.add(text)

    def add_table(self, node: Any) -> None:
        """Add a table, one line a row."""
        self.outline.add("\n".join(_read_rows(node)))

    def skip(self, node: Any) -> None:
        """Add nothing."""


_ADD = {
    "p": _Walk.add_paragraph,
    "tbl": _Walk.add_table,
    **dict.fromkeys(("sdt", "sdtContent", "customXml", "ins", "moveTo"), _Walk.add_all),
}
"""What is done with an element in the body; what is not listed is skipped."""


def _read_text(paragraph: Any) -> str:
    """Text of a paragraph with its text boxes, without deleted text."""
    pieces: list[str] = []
    pending = list(reversed(paragraph))
    while pending:
        node = pending.pop()
        tag = local(node)
        if tag in _SKIPPED:
            continue
        if tag == "t":
            pieces.append(node.findtext("."))
        else:
            pieces.append(_CHARACTERS.get(tag, ""))
        pending.extend(reversed(node))
    return "".join(pieces)


def _read_rows(table: Any) -> Iterator[str]:
    """One line a row; a table inside a cell stays in its cell."""
    for row in _find_own(table, "tr", "tbl"):
        cells = list(map(_read_cell, _find_own(row, "tc", "tr")))
        if any(cells):
            yield " | ".join(cells)


def _read_cell(cell: Any) -> str:
    """The paragraphs of a cell on one line."""
    paragraphs = " ".join(map(_read_text, find_outermost(cell, "p")))
    return " ".join(paragraphs.split())


def _find_own(parent: Any, tag: str, parent_tag: str) -> Iterator[Any]:
    """The elements below the parent that are not in another of its kind within it."""
    for node in parent.iter("{*}" + tag):
        if next(node.iterancestors("{*}" + parent_tag)) is parent:
            yield node


def _find_levels(styles: Any) -> dict[str, int | None]:
    """Style id -> level of heading, or _ITEM; names are English in every language's Word, ids are
    not.
    """
    levels = {attribute(style, "styleId"): _find_level(style) for style in styles.iter("{*}style")}
    return levels | {"": None}


def _find_level(style: Any) -> int | None:
    """The level of heading that a style gives, or _ITEM; None for a style of plain text."""
    if heading := _HEADING.match(find_attribute(style, "{*}name", "val")):
        return int(heading[1] or 1)
    outline = find_attribute(style, "{*}pPr/{*}outlineLvl", "val")
    if outline in _OUTLINE_LEVELS:
        return _OUTLINE_LEVELS.index(outline) + 1
    if style.find("{*}pPr/{*}numPr") is None:
        return None
    return _ITEM


def read_rtf(data: bytes, name: str, limits: Limits) -> Reading:
    """Read the text of an RTF file; it knows no headings."""
    from striprtf.striprtf import rtf_to_text

    convert: Callable[..., str] = rtf_to_text  # the library has no types
    text = clean(convert(data.decode("cp1252", errors="replace"), errors="ignore")).strip()
    return Reading([Part(text)], pictures=b"\\pict" in data)
