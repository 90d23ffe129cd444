"""Data: JSON, lines of JSON, XML and Jupyter notebooks."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from agentkit.documents.assembly import Outline, Part, Reading
from agentkit.documents.decoding import decode
from agentkit.documents.document import Limits
from agentkit.documents.places import span
from agentkit.documents.readers.package import local, parse_xml
from agentkit.documents.refusals import AS_TEXT
from agentkit.errors import DamagedDocument

_LINE = 600
"""A record that is shorter when written on one line stays on one line."""
_LONGEST_PATH = 300
_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_TITLE = re.compile(r"(#{1,6})( .*)", re.DOTALL)
_DECLARATION = re.compile(r"\A\s*<\?xml[^>]*\?>")


def read_json(data: bytes, name: str, limits: Limits) -> Reading:
    """Read JSON as "path: value" lines; `place` is the path of the value, or "$.items[0-41]" for
    short records.
    """
    return Reading(_values(_load(decode(data), name), "$"))


def read_jsonl(data: bytes, name: str, limits: Limits) -> Reading:
    """Read one JSON value a line; `place` is the range of lines."""
    return Reading(_lines(decode(data).split("\n"), name))


def read_xml(data: bytes, name: str, limits: Limits) -> Reading:
    """Read XML: one part for each child of the root, "tag: text" lines."""
    text = _DECLARATION.sub("", decode(data, _declared(data)))
    root = parse_xml(text.encode(), name)
    return Reading(_elements(root))


def read_notebook(data: bytes, name: str, limits: Limits) -> Reading:
    """Read a notebook's cells with their textual outputs; `place` is the number of the cell."""
    book = _load(decode(data), name)
    cells = book.get("cells") if isinstance(book, dict) else None
    if not isinstance(cells, list):
        raise DamagedDocument(
            f"{name} has no cells (format 3 and older is not read). Open it in Jupyter and save it"
            " again."
        )
    return Reading(_cells([cell for cell in cells if isinstance(cell, dict)]))


def _load(text: str, name: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise DamagedDocument(f"{name} is not valid JSON ({error}). {AS_TEXT}") from error


def _values(value: object, path: str) -> Iterator[Part]:
    if isinstance(value, dict) and _holds_containers(value.values()):
        simple: list[str] = []
        nested: dict[str, object] = {}
        for key, item in value.items():
            if _nested(item):
                nested[key] = item
            else:
                simple.append(f"{key}: {_scalar(item)}")

        yield Part("\n".join(simple), _heading(path), place=path)
        for key, item in nested.items():
            yield from _values(item, _below(path, f".{key}"))
    elif isinstance(value, list):
        yield from _items(value, path)
    else:
        yield Part("\n".join(_flat(value, "")), _heading(path), place=path)


def _items(items: list[Any], path: str) -> Iterator[Part]:
    """Consecutive short records share one part, a line each; a long one is a part of its own."""
    short: list[str] = []
    for index, item in enumerate(items):
        lines = _flat(item, "")
        line = "; ".join(lines)
        if len(line) <= _LINE and "\n" not in line and line.strip():
            short.append(line)
            continue
        yield from _records(short, path, index - len(short))
        short = []
        yield Part("\n".join(lines), _heading(path), place=_below(path, f"[{index}]"))
    yield from _records(short, path, len(items) - len(short))


def _records(lines: list[str], path: str, first: int) -> Iterator[Part]:
    if lines:
        yield Part(
            "\n".join(lines),
            _heading(path),
            place=span(f"{path}[", first, first + len(lines) - 1, "]"),
        )


def _heading(path: str) -> str:
    return path.removeprefix("$").removeprefix(".")


def _nested(value: object) -> bool:
    if isinstance(value, list):
        return _holds_containers(value)
    return isinstance(value, dict)


def _holds_containers(items: Iterable[object]) -> bool:
    return any(isinstance(item, (dict, list)) for item in items)


def _flat(value: Any, path: str) -> list[str]:
    """Lines "path: value" for everything below."""
    lines: list[str] = []
    if isinstance(value, dict):
        prefix = "." if path else ""
        for key, item in value.items():
            lines += _flat(item, _below(path, f"{prefix}{key}"))
    elif _nested(value):
        for index, item in enumerate(value):
            lines += _flat(item, _below(path, f"[{index}]"))
    else:
        prefix = f"{path}: " if path else ""
        lines.append(prefix + _scalar(value))
    return lines


def _below(path: str, step: str) -> str:
    """The path one step further; of a very long one, which every line below it would repeat, the
    end is kept.
    """
    path += step
    if len(path) <= _LONGEST_PATH:
        return path
    return "\N{HORIZONTAL ELLIPSIS}" + path[1 - _LONGEST_PATH :]


def _scalar(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(_scalar, value))
    return value if isinstance(value, str) else json.dumps(value)


def _lines(lines: list[str], name: str) -> Iterator[Part]:
    block: list[str] = []
    first = 1
    for number, line in enumerate([*lines, ""], 1):
        if line.strip():
            block.append("; ".join(_flat(_record(line, number, name), "")).replace("\n", " "))
            continue
        if block:
            yield Part("\n".join(block), place=span("lines ", first, number - 1))
        block, first = [], number + 1


def _record(line: str, number: int, name: str) -> Any:
    try:
        return json.loads(line)
    except json.JSONDecodeError as error:
        raise DamagedDocument(
            f"{name}, line {number}: not valid JSON ({error.msg}). {AS_TEXT}"
        ) from error


def _declared(data: bytes) -> str:
    found = re.match(rb"""\s*<\?xml[^>]{0,200}encoding\s*=\s*["']([\w.:-]+)""", data)
    return found[1].decode("ascii") if found else ""


def _elements(root: Any) -> Iterator[Part]:
    children = [node for node in root if isinstance(node.tag, str)]
    if _mixed(root) or not children:
        yield Part("\n".join(_element_lines(root)), local(root), place=local(root))
        return
    yield Part("\n".join(_own_lines(root)), local(root), place=local(root))
    for number, child in enumerate(children, 1):
        yield Part("\n".join(_element_lines(child)), local(root), place=f"{local(child)} {number}")


def _element_lines(top: Any) -> Iterator[str]:
    """Lines of an element and all below; the words of a mixed one (text between tags) stay
    together.
    """
    pending = [top]
    while pending:
        node = pending.pop()
        if not isinstance(node.tag, str):
            continue
        yield from _own_lines(node)
        if not _mixed(node):
            pending.extend(reversed(node))


def _own_lines(node: Any) -> Iterator[str]:
    tag = local(node)
    for key, value in node.attrib.items():
        yield f"{tag} {key.rpartition('}')[2]}: {value}"

    written = "".join(node.itertext()) if _mixed(node) else node.text or ""
    if text := " ".join(written.split()):
        yield f"{tag}: {text}"


def _mixed(node: Any) -> bool:
    return any((child.tail or "").strip() for child in node)


def _cells(cells: list[dict[str, Any]]) -> Iterator[Part]:
    outline = Outline()
    for number, cell in enumerate(cells, 1):
        outline.place = f"cell {number}"
        source = _joined(cell.get("source"))
        if cell.get("cell_type") == "markdown":
            _markdown_cell(source, outline)
        else:
            outline.add(source)
            for output in cell.get("outputs") or []:
                outline.add(_output(output))
        outline.cut()
    yield from outline.parts()


def _markdown_cell(source: str, outline: Outline) -> None:
    for line in source.split("\n"):
        if title := _TITLE.match(line):
            outline.heading(len(title[1]), title[2])
        else:
            outline.add(line or "\n", "\n")


def _output(output: object) -> str:
    """The textual form of an output; pictures have none."""
    if not isinstance(output, dict):
        return ""
    if output.get("output_type") == "error":
        return _ANSI.sub("", f"{output.get('ename')}: {output.get('evalue')}")

    text = _joined(output.get("text"))
    data = output.get("data")
    if not text and isinstance(data, dict):
        text = _joined(data.get("text/plain"))
    return _ANSI.sub("", text)


def _joined(value: object) -> str:
    """Notebooks keep texts as one string or as a list of lines."""
    if isinstance(value, list):
        return "".join(map(str, value))
    return value if isinstance(value, str) else ""
