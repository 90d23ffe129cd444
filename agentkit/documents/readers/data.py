"""Data: JSON, lines of JSON, XML and Jupyter notebooks."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import filterfalse, groupby, repeat
from operator import attrgetter
from typing import Any

from agentkit.core.lenient import find_below
from agentkit.documents.assembly import Outline, Part, Reading
from agentkit.documents.decoding import decode
from agentkit.documents.document import Limits
from agentkit.documents.places import span
from agentkit.documents.readers.package import local, parse_xml
from agentkit.documents.readers.plain import find_outside_fences
from agentkit.documents.refusals import AS_TEXT
from agentkit.errors import DamagedDocument
from agentkit.messages import mappings_in, text_or_empty

_SHORT = re.compile(r"(?=.*\S).{1,600}")
"""A record of so few characters on one line stays on it."""
_LONGEST_PATH = 300
_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_TITLE = re.compile(r"(#{1,6})( .*)", re.DOTALL)
_DECLARATION = re.compile(r"\A\s*<\?xml[^>]*\?>")


def read_json(data: bytes, name: str, limits: Limits) -> Reading:
    """Read JSON as "path: value" lines; `place` is the path of the value, or "$.items[0-41]" for
    short records.
    """
    return Reading(_cut_value(_parse(decode(data), name), "$"))


def read_jsonl(data: bytes, name: str, limits: Limits) -> Reading:
    """Read one JSON value a line; `place` is the range of lines."""
    return Reading(_cut_lines(decode(data).split("\n"), name))


def read_xml(data: bytes, name: str, limits: Limits) -> Reading:
    """Read XML: one part for each child of the root, "tag: text" lines."""
    text = _DECLARATION.sub("", decode(data, _find_encoding(data)))
    root = parse_xml(text.encode(), name)
    return Reading(_cut_element(root))


def read_notebook(data: bytes, name: str, limits: Limits) -> Reading:
    """Read a notebook's cells with their textual outputs; `place` is the number of the cell."""
    cells = find_below(_parse(decode(data), name), "cells")
    if not isinstance(cells, list):
        raise DamagedDocument(
            f"{name} has no cells (format 3 and older is not read). Open it in Jupyter and save it"
            " again."
        )
    return Reading(_cut_cells(mappings_in(cells)))


def _parse(text: str, name: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise DamagedDocument(f"{name} is not valid JSON ({error}). {AS_TEXT}") from error


def _cut_value(value: object, path: str) -> Iterator[Part]:
    if isinstance(value, list):
        yield from _cut_list(value, path)
    elif isinstance(value, dict) and _holds_containers(value.values()):
        yield from _cut_object(value, path)
    else:
        yield _make_part(_flatten(value, ""), path, path)


def _cut_object(fields: dict[str, Any], path: str) -> Iterator[Part]:
    """The simple fields share one part."""
    nested = list(filter(_is_nested_field, fields.items()))
    simple = filterfalse(_is_nested_field, fields.items())
    yield _make_part((f"{key}: {_to_text(item)}" for key, item in simple), path, path)
    for key, item in nested:
        yield from _cut_value(item, _go_below(path, f".{key}"))


def _is_nested_field(field: tuple[str, object]) -> bool:
    return _is_nested(field[1])


def _cut_list(items: list[Any], path: str) -> Iterator[Part]:
    """Consecutive short records share one part, a line each; a long one is a part of its own."""
    records = enumerate(map(list, map(_flatten, items, repeat(""))))
    for short, run in groupby(records, key=lambda record: _is_short(record[1])):
        indexes, texts = zip(*run, strict=True)
        if short:
            place = span(f"{path}[", indexes[0], indexes[-1], "]")
            yield _make_part(map("; ".join, texts), path, place)
            continue
        for index, lines in zip(indexes, texts, strict=True):
            yield _make_part(lines, path, _go_below(path, f"[{index}]"))


def _make_part(lines: Iterable[str], path: str, place: str) -> Part:
    return Part("\n".join(lines), path.removeprefix("$").removeprefix("."), place=place)


def _is_short(lines: list[str]) -> bool:
    return _SHORT.fullmatch("; ".join(lines)) is not None


def _is_nested(value: object) -> bool:
    if isinstance(value, list):
        return _holds_containers(value)
    return isinstance(value, dict)


def _holds_containers(items: Iterable[object]) -> bool:
    return not _STEPS.keys().isdisjoint(map(type, items))


def _flatten(value: Any, path: str) -> Iterator[str]:
    """Lines "path: value" for everything below."""
    if not _is_nested(value):
        yield f"{path}: {_to_text(value)}".removeprefix(".").removeprefix(": ")
        return
    name_below, form = _STEPS[type(value)]
    for name, item in name_below(value):
        yield from _flatten(item, _go_below(path, form.format(name)))


_STEPS: Mapping[type, tuple[Callable[[Any], Iterable[tuple[object, object]]], str]] = {
    dict: (dict.items, ".{}"),
    list: (enumerate, "[{}]"),
}
"""What is below a container of JSON, and the step of a path that leads there."""


def _go_below(path: str, step: str) -> str:
    """The path one step further; of a very long one, which every line below it would repeat, the
    end is kept.
    """
    path += step
    if len(path) <= _LONGEST_PATH:
        return path
    return "\N{HORIZONTAL ELLIPSIS}" + path[1 - _LONGEST_PATH :]


def _to_text(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(_to_text, value))
    if isinstance(value, str):
        return value
    return json.dumps(value)


def _cut_lines(lines: list[str], name: str) -> Iterator[Part]:
    """One part for all lines up to a blank one."""
    for filled, run in groupby(enumerate(lines, 1), key=lambda line: bool(line[1].strip())):
        if filled:
            numbers, texts = zip(*run, strict=True)
            records = map(_read_record, texts, numbers, repeat(name))
            yield Part("\n".join(records), place=span("lines ", numbers[0], numbers[-1]))


def _read_record(line: str, number: int, name: str) -> str:
    """The values of one line of JSON, on one line."""
    try:
        record = json.loads(line)
    except json.JSONDecodeError as error:
        raise DamagedDocument(
            f"{name}, line {number}: not valid JSON ({error.msg}). {AS_TEXT}"
        ) from error
    return "; ".join(_flatten(record, "")).replace("\n", " ")


def _find_encoding(data: bytes) -> str:
    """The encoding that an XML declaration names, or ""."""
    found = re.match(rb"""\s*<\?xml[^>]{0,200}encoding\s*=\s*["']([\w.:-]+)""", data)
    if found is None:
        return ""
    return found[1].decode("ascii")


def _cut_element(root: Any) -> Iterator[Part]:
    tag = local(root)
    children = list(root.iterchildren("*"))
    if _is_mixed(root) or not children:
        yield Part("\n".join(_walk_elements(root)), tag, place=tag)
        return
    yield Part("\n".join(_write_element(root)), tag, place=tag)
    for number, child in enumerate(children, 1):
        yield Part("\n".join(_walk_elements(child)), tag, place=f"{local(child)} {number}")


def _walk_elements(top: Any) -> Iterator[str]:
    """Lines of an element and all below; the words of a mixed one (text between tags) stay
    together.
    """
    pending = [top]
    while pending:
        node = pending.pop()
        yield from _write_element(node)
        if not _is_mixed(node):
            pending.extend(node.iterchildren("*", reversed=True))


def _write_element(node: Any) -> Iterator[str]:
    """Lines of the element itself: its attributes and its text."""
    tag = local(node)
    for key, value in node.attrib.items():
        yield f"{tag} {key.rpartition('}')[2]}: {value}"

    written = node.findtext(".")
    if _is_mixed(node):
        written = "".join(node.itertext())
    if text := " ".join(written.split()):
        yield f"{tag}: {text}"


def _is_mixed(node: Any) -> bool:
    """Whether there is text between the elements below the node."""
    between = filter(None, map(attrgetter("tail"), node))
    return any(map(str.strip, between))


def _cut_cells(cells: list[Mapping[str, Any]]) -> Iterator[Part]:
    outline = Outline()
    for number, cell in enumerate(cells, 1):
        outline.place = f"cell {number}"
        if cell.get("cell_type") == "markdown":
            _add_markdown(cell, outline)
        else:
            _add_code(cell, outline)
        outline.cut()
    yield from outline.parts()


def _add_markdown(cell: Mapping[str, Any], outline: Outline) -> None:
    lines = _join_lines(cell.get("source")).split("\n")
    outside = set(find_outside_fences(lines, 0))
    for index, line in enumerate(lines):
        title = _TITLE.match(line)
        if title and index in outside:
            outline.heading(len(title[1]), title[2])
        else:
            outline.add(line, "\n")


def _add_code(cell: Mapping[str, Any], outline: Outline) -> None:
    outline.add(_join_lines(cell.get("source")))
    for output in cell.get("outputs") or []:
        outline.add(_read_output(output))


def _read_output(output: object) -> str:
    """The textual form of an output; pictures have none."""
    if find_below(output, "output_type") == "error":
        name, told = find_below(output, "ename"), find_below(output, "evalue")
        text = f"{name}: {told}"
    else:
        shown = _join_lines(find_below(output, "data", "text/plain"))
        printed = _join_lines(find_below(output, "text"))
        text = printed or shown
    return _ANSI.sub("", text)


def _join_lines(value: object) -> str:
    """Notebooks keep texts as one string or as a list of lines."""
    if isinstance(value, list):
        return "".join(map(str, value))
    return text_or_empty(value)
