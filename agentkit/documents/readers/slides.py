"""PowerPoint presentations (.pptx): one part a slide, with tables, diagrams and speaker notes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from agentkit.documents.assembly import Part, Reading
from agentkit.documents.document import Limits
from agentkit.documents.readers.package import Package, attribute, local
from agentkit.documents.refusals import check_pages


def read_pptx(data: bytes, name: str, limits: Limits) -> Reading:
    """Read a presentation; the page of a part is the number of its slide."""
    package = Package(data, name)
    main = package.main("ppt/presentation.xml")
    targets = {relation.id: relation.target for relation in package.relations(main)}
    listed = [_relation_id(node) for node in package.xml(main).iter("{*}sldId")]
    slides = [targets[key] for key in listed if targets.get(key, "") in package.members]
    check_pages(name, len(slides), "slides", limits)
    return Reading(_parts(package, slides), pages=len(slides), pictures=package.has_pictures())


def _relation_id(node: Any) -> str:
    for key, value in node.attrib.items():
        if key.endswith("}id"):
            return str(value)
    return ""


def _parts(package: Package, slides: list[str]) -> Iterator[Part]:
    for number, member in enumerate(slides, 1):
        title, blocks = _slide(package.xml(member))
        blocks += _related(package, member)
        text = "\n\n".join(filter(str.strip, [title, *blocks]))
        yield Part(text, " ".join(title.split()), number)


def _related(package: Package, slide: str) -> Iterator[str]:
    """The texts of a slide that are members of their own: diagrams and notes."""
    for relation in package.relations(slide):
        if relation.target not in package.members:
            continue
        if relation.kind == "diagramData":
            yield "\n".join(_paragraphs(package.xml(relation.target)))
        elif relation.kind == "notesSlide" and (notes := _notes(package.xml(relation.target))):
            yield "Notes: " + notes


def _slide(root: Any) -> tuple[str, list[str]]:
    """The title, and the other shapes' texts in file order."""
    title, blocks = "", []
    for node in root.iter("{*}sp", "{*}tbl"):
        if local(node) == "tbl":
            blocks.append("\n".join(_rows(node)))
        elif not title and _role(node) in {"title", "ctrTitle"}:
            title = " ".join(_paragraphs(node))
        elif _role(node) not in {"sldNum", "dt", "ftr"}:
            blocks.append("\n".join(_paragraphs(node)))
    return title, blocks


def _notes(root: Any) -> str:
    texts: list[str] = []
    for shape in root.iter("{*}sp"):
        if _role(shape) == "body":
            texts += _paragraphs(shape)
    return "\n".join(texts)


def _role(shape: Any) -> str:
    placeholder = shape.find("{*}nvSpPr/{*}nvPr/{*}ph")
    return attribute(placeholder, "type") if placeholder is not None else ""


def _paragraphs(node: Any) -> list[str]:
    texts = ("".join(_runs(paragraph)).strip() for paragraph in node.iter("{*}p"))
    return list(filter(None, texts))


def _runs(paragraph: Any) -> Iterator[str]:
    for node in paragraph.iter("{*}t", "{*}br"):
        yield "\n" if local(node) == "br" else node.text or ""


def _rows(table: Any) -> list[str]:
    return [
        " | ".join(" ".join(_paragraphs(cell)) for cell in row.iterfind("{*}tc"))
        for row in table.iterfind("{*}tr")
    ]
