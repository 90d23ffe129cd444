"""The imports in the code of a Jupyter notebook, changed in place: all else stays as it is
written.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from agentkit.cli.imports import MODELS, Edit, Ported, applied, ported

_TEXT = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_CHARACTER = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.|[^\\]",
    re.DOTALL,
)
_MENTIONED = re.compile(rf"^.*\b(?:import|from)\b.*\b(?:{'|'.join(MODELS)})\b", re.MULTILINE)
_MAGIC = re.compile(r"[ \t]*(?:[%!?]|[^#'\"]*\?[ \t]*$|[\w., \t]+=[ \t]*[%!])")
_OF_PYTHON = ("%%time", "%%timeit", "%%capture", "%%prun")
"""Magics above a cell that leave it Python."""


@dataclass(frozen=True, slots=True)
class Told:
    """What is told of a line of a cell, both counted from 1."""

    cell: int
    line: int
    told: str
    done: bool


def ported_notebook(text: str) -> tuple[str, list[Told]]:
    """A notebook's text with its imports rewritten, and what is told of them.

    Cells that are no Python stay as they are, and are told of where they name one of the packages.
    Raises ValueError for what is no notebook of format 4 in Python.
    """
    json.loads(text)
    notebook = _Notebook(text)
    edits: list[Edit] = []
    told: list[Told] = []
    bound: dict[str, str] = {}
    for number, pieces in notebook.cells():
        source = "".join(piece.text for piece in pieces)
        found, problems = _of_cell(source, bound)
        made, split = _in_place(pieces, found.edits)
        edits += made
        told += [
            Told(number, each.line, each.told, each.done)
            for each in found.findings
            if not split or not each.done
        ]
        told += [Told(number, line, problem, False) for line, problem in problems]
        if split:
            told.append(Told(number, 1, "an import is split in a way that is not rewritten", False))
    edits.sort(key=lambda edit: edit.start)
    return applied(text, edits), told


@dataclass(frozen=True, slots=True)
class _Piece:
    """A text of a cell: where its literal begins, and how each of its characters is written
    there.
    """

    start: int
    written: list[str]

    @property
    def text(self) -> str:
        return str(json.loads(f'"{"".join(self.written)}"', strict=False))


class _Notebook:
    """A notebook's JSON in which each text is known by its place."""

    def __init__(self, text: str) -> None:
        self._texts = list(_TEXT.finditer(text))
        numbers = iter(range(len(self._texts)))
        self._tree: Any = json.loads(_TEXT.sub(lambda _: f'"{next(numbers)}"', text))

    def cells(self) -> Iterator[tuple[int, list[_Piece]]]:
        """The cells of code with their numbers, from 1; raises ValueError for what is no
        notebook.
        """
        notebook = self._named(self._tree)
        if "nbformat" not in notebook or not isinstance(notebook.get("cells"), list):
            raise ValueError("it is no notebook of format 4")
        self._check_language(notebook)
        for number, cell in enumerate(map(self._named, notebook["cells"]), 1):
            if self._value(cell.get("cell_type")) == "code":
                source = cell.get("source", [])
                if not isinstance(source, list):
                    source = [source]
                yield number, list(map(self._piece, source))

    def _check_language(self, notebook: dict[str, Any]) -> None:
        metadata = self._named(notebook.get("metadata"))
        spec, info = (
            self._named(metadata.get("kernelspec")),
            self._named(metadata.get("language_info")),
        )
        language = self._value(spec.get("language")) or self._value(info.get("name")) or "python"
        if language not in ("python", "ipython"):
            raise ValueError(f"it is a notebook in {language}, not in Python")

    def _named(self, value: object) -> dict[str, Any]:
        """An object with its keys as texts; an empty one for what is none."""
        return (
            {self._value(key): inner for key, inner in value.items()}
            if isinstance(value, dict)
            else {}
        )

    def _value(self, number: object) -> str:
        return str(json.loads(self._texts[int(number)][0])) if isinstance(number, str) else ""

    def _piece(self, number: object) -> _Piece:
        if not isinstance(number, str):
            raise ValueError("the source of a cell is no text")
        literal = self._texts[int(number)]
        return _Piece(literal.start() + 1, _CHARACTER.findall(literal[0][1:-1]))


def _in_place(pieces: Sequence[_Piece], edits: Sequence[Edit]) -> tuple[list[Edit], bool]:
    """The edits of a cell as edits of the notebook; none, and True, where one is spread over
    several texts.
    """
    made = []
    for edit in edits:
        start = 0
        for piece in pieces:
            end = start + len(piece.written)
            if start <= edit.start < end and edit.end <= end:
                before = piece.start + sum(map(len, piece.written[: edit.start - start]))
                length = sum(map(len, piece.written[edit.start - start : edit.end - start]))
                made.append(Edit(before, before + length, edit.text))
            start = end
    return (made, False) if len(made) == len(edits) else ([], True)


def _of_cell(source: str, bound: dict[str, str]) -> tuple[Ported, list[tuple[int, str]]]:
    """What becomes of a cell, and the lines with imports that stay although they may be meant."""
    nothing = Ported([], [])
    if not any(name in source for name in [*MODELS, *bound]):
        return nothing, []
    shown = _without_magics(source)
    mentioned = [_line(source, at.start()) for at in _MENTIONED.finditer(source)]
    hidden = [(line, "an import in a magic stays as it is") for line in mentioned]
    if shown is None:
        return nothing, hidden
    try:
        return ported(source, bound), []
    except SyntaxError:
        pass
    try:
        found = ported(shown, bound)
    except SyntaxError as error:
        problem = (error.lineno or 1, f"no Python ({error.msg}); it stays as it is")
        return nothing, [problem] if mentioned else []
    seen = {each.line for each in found.findings}
    return found, [
        (line, why) for line, why in hidden if line not in seen and _is_blank(shown, line)
    ]


def _line(source: str, at: int) -> int:
    return source.count("\n", 0, at) + 1


def _is_blank(shown: str, line: int) -> bool:
    return shown.split("\n")[line - 1].strip() in ("", "0")


def _zero(line: str) -> str:
    """A `0` in place of what stands on a line, as long as that."""
    indent = len(line) - len(line.lstrip())
    return line[:indent] + "0".ljust(len(line) - indent)


def _without_magics(source: str) -> str | None:
    """The cell with a `0` in place of each line of IPython, as long as before; None for what is no
    Python.
    """
    lines = source.split("\n")
    first = next((line for line in lines if line.strip()), "").strip()
    if first.startswith("%%") and first.split()[0] not in _OF_PYTHON:
        return None
    shown, goes_on = [], False
    for line in lines:
        magic = goes_on or _MAGIC.match(line) is not None
        nothing = " " * len(line) if goes_on or not line.strip() else _zero(line)
        shown.append(nothing if magic else line)
        goes_on = magic and line.endswith("\\")
    return "\n".join(shown)
