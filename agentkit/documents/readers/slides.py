"""PowerPoint presentations (.pptx): one part a slide, with tables, diagrams and speaker notes."""

from __future__ import annotations

from collections.abc import Iterator
from operator import attrgetter
from typing import Any

from agentkit.core.given import list_known
from agentkit.documents.assembly import Part, Reading
from agentkit.documents.document import Limits
from agentkit.documents.readers.package import Package, find_attribute, local
from agentkit.documents.refusals import check_pages


def read_pptx(data: bytes, name: str, limits: Limits) -> Reading:
    """Read a presentation; the page of a part is the number of its slide."""
    package = Package(data, name)
    main = package.main("ppt/presentation.xml")
    targets = dict(map(attrgetter("id", "target"), package.relations(main)))
    listed = map(targets.get, map(_find_id, package.xml(main).iter("{*}sldId")))
    slides = list_known(filter(None, listed), package.members)
    check_pages(name, len(slides), "slides", limits)
    return Reading(_cut_slides(package, slides), pages=len(slides), pictures=package.has_pictures())


def _find_id(node: Any) -> str:
    """The id of the relation, not that of the slide."""
    return str(node.xpath("string(@*[local-name() = 'id' and namespace-uri() != ''])"))


def _cut_slides(package: Package, slides: list[str]) -> Iterator[Part]:
    for number, member in enumerate(slides, 1):
        title, blocks = _read_slide(package.xml(member))
        blocks += _read_related(package, member)
        text = "\n\n".join(filter(str.strip, [title, *blocks]))
        yield Part(text, " ".join(title.split()), number)


def _read_slide(root: Any) -> tuple[str, list[str]]:
    """The title, and the other shapes' texts in file order."""
    title, blocks = "", []
    for node in root.iter("{*}sp", "{*}tbl"):
        role, lines = _find_role(node), list(_LINES[local(node)](node))
        if not title and role in _TITLES:
            title = " ".join(lines)
        elif role not in _AROUND:
            blocks.append("\n".join(lines))
    return title, blocks


def _read_related(package: Package, slide: str) -> Iterator[str]:
    """The texts of a slide that are members of their own: diagrams and notes."""
    for relation in package.relations(slide):
        if relation.kind in _RELATED and relation.target in package.members:
            yield _RELATED[relation.kind](package.xml(relation.target))


def _read_diagram(root: Any) -> str:
    return "\n".join(_read_paragraphs(root))


def _read_notes(root: Any) -> str:
    lines: list[str] = []
    for shape in root.iter("{*}sp"):
        if _find_role(shape) == "body":
            lines += _read_paragraphs(shape)
    if not lines:
        return ""
    return "Notes: " + "\n".join(lines)


_RELATED = {"diagramData": _read_diagram, "notesSlide": _read_notes}
_BREAKS = {"br": "\n"}


_TITLES = frozenset({"title", "ctrTitle"})
_AROUND = frozenset({"sldNum", "dt", "ftr"})
"""Numbers, dates and footers of slides, which are not read."""


def _find_role(shape: Any) -> str:
    """What the shape is in the layout of the slide, "" for nothing special."""
    return find_attribute(shape, "{*}nvSpPr/{*}nvPr/{*}ph", "type")


def _read_paragraphs(node: Any) -> list[str]:
    return list(filter(None, map(_read_paragraph, node.iter("{*}p"))))


def _read_paragraph(paragraph: Any) -> str:
    return "".join(map(_read_run, paragraph.iter("{*}t", "{*}br"))).strip()


def _read_run(node: Any) -> str:
    return _BREAKS.get(local(node), str(node.findtext(".")))


def _read_rows(table: Any) -> Iterator[str]:
    for row in table.iterfind("{*}tr"):
        yield " | ".join(map(_read_cell, row.iterfind("{*}tc")))


def _read_cell(cell: Any) -> str:
    return " ".join(_read_paragraphs(cell))


_LINES = {"sp": _read_paragraphs, "tbl": _read_rows}
"""The lines of text in what a slide shows."""
