"""The imports in the code of a Jupyter notebook, changed in place: all else stays as it is
written.
"""

from __future__ import annotations

import dataclasses
import json
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, compress, count, filterfalse
from operator import attrgetter
from typing import Any

from agentkit.cli.imports import MODELS, Edit, Finding, Ported, apply_edits, port_source

_TEXT = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_CHARACTER = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.|[^\\]",
    re.DOTALL,
)
_MENTIONED = re.compile(rf"^.*\b(?:import|from)\b.*\b(?:{'|'.join(MODELS)})\b", re.MULTILINE)
_MAGIC = re.compile(
    r"^([ \t]*)((?:[%!?]|[^#'\"\n]*\?[ \t]*$|[\w., \t]+=[ \t]*[%!]).*(?:(?<=\\)\n.*)*)",
    re.MULTILINE,
)
"""A statement of IPython: the space before it, and its lines."""
_OF_PYTHON = ("%%time", "%%timeit", "%%capture", "%%prun")
"""Magics above a cell that leave it Python."""
_BLANK = re.compile(r"\s*0?\s*")
"""A line of which a statement of IPython is all."""


def port_notebook(text: str) -> tuple[str, list[Finding]]:
    """A notebook's text with its imports rewritten, and what is said of them.

    Cells in other languages stay as they are, and are told of where they name one of the packages.
    Raises ValueError for anything but a notebook of format 4 in Python.
    """
    json.loads(text)  # so that what is taken for a text below is one
    edits: list[Edit] = []
    findings: list[Finding] = []
    bound: dict[str, str] = {}
    for number, pieces in _Notebook(text).cells():
        ported = _port_cell("".join(map(attrgetter("text"), pieces)), bound)
        ported = _place(ported, pieces)
        edits += ported.edits
        in_cell = partial(dataclasses.replace, cell=number)
        findings += map(in_cell, ported.findings)
    edits.sort(key=lambda edit: edit.start)
    return apply_edits(text, edits), findings


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

    def find_place(self, characters: int) -> int:
        """Where the notebook is after so many characters of the text."""
        return self.start + sum(map(len, self.written[:characters]))


class _Notebook:
    """A notebook's JSON in which the number of each text stands in its place."""

    def __init__(self, text: str) -> None:
        self._texts = list(_TEXT.finditer(text))
        numbers = iter(range(len(self._texts)))
        self._tree: Any = json.loads(_TEXT.sub(lambda _: f'"{next(numbers)}"', text))

    def cells(self) -> Iterator[tuple[int, list[_Piece]]]:
        """The cells of code with their numbers, from 1; raises ValueError for other
        files.
        """
        notebook = self._read_object(self._tree)
        if "nbformat" not in notebook or not isinstance(notebook.get("cells"), list):
            raise ValueError("it is not a notebook of format 4")
        self._check_language(self._read_object(notebook.get("metadata")))
        for number, cell in enumerate(map(self._read_object, notebook["cells"]), 1):
            if self._read_text(cell.get("cell_type")) == "code":
                source = cell.get("source", [])
                texts = source
                if not isinstance(source, list):
                    texts = [source]
                yield number, list(map(self._read_piece, texts))

    def _check_language(self, metadata: dict[str, Any]) -> None:
        spec = self._read_object(metadata.get("kernelspec"))
        info = self._read_object(metadata.get("language_info"))
        languages = map(self._read_text, (spec.get("language"), info.get("name")))
        language = next(filter(None, languages), "python")
        if language not in ("python", "ipython"):
            raise ValueError(f"it is a notebook in {language}, not in Python")

    def _read_object(self, value: object) -> dict[str, Any]:
        """An object with its keys as texts; an empty one for any other value."""
        items = value.items() if isinstance(value, dict) else ()
        return {self._read_text(key): inner for key, inner in items}

    def _read_text(self, number: object) -> str:
        """The text of this number; an empty one for any other value."""
        if isinstance(number, str):
            return str(json.loads(self._texts[int(number)][0]))
        return ""

    def _read_piece(self, number: object) -> _Piece:
        if not isinstance(number, str):
            raise ValueError("the source of a cell is not a text")
        literal = self._texts[int(number)]
        return _Piece(literal.start() + 1, _CHARACTER.findall(literal[0][1:-1]))


def _place(ported: Ported, pieces: Sequence[_Piece]) -> Ported:
    """With the edits of a cell as edits of the notebook; without any where one is spread over
    several texts.
    """
    starts = list(accumulate(map(len, map(attrgetter("written"), pieces)), initial=0))
    edits = []
    for edit in ported.edits:
        number = bisect_right(starts, edit.start) - 1
        if edit.end > starts[number + 1]:
            left = filterfalse(attrgetter("done"), ported.findings)
            split = Finding(1, "an import is split in a way that is not rewritten")
            return Ported([], [*left, split])
        piece, offset = pieces[number], starts[number]
        start, end = piece.find_place(edit.start - offset), piece.find_place(edit.end - offset)
        edits.append(Edit(start, end, edit.text))
    return Ported(edits, ported.findings)


def _port_cell(source: str, bound: dict[str, str]) -> Ported:
    """What becomes of a cell; lines with imports that stay although they may be meant are found."""
    known = [each for each in (*MODELS, *bound) if each in source]
    if not known:
        return Ported([], [])
    hidden = _find_hidden(source)
    if _is_other_language(source):
        return Ported([], hidden)
    with suppress(SyntaxError):
        return port_source(source, bound)
    python = _MAGIC.sub(_blank, source)
    try:
        ported = port_source(python, bound)
    except SyntaxError as error:
        if not hidden:
            return Ported([], [])
        told = f"not Python ({error.msg}); it stays as it is"
        return Ported([], [Finding(error.lineno or 1, told)])
    seen = set(map(attrgetter("line"), ported.findings))
    blank = compress(count(1), map(_BLANK.fullmatch, python.split("\n")))
    of_magics = frozenset(blank) - seen
    in_magics = [found for found in hidden if found.line in of_magics]
    return Ported(ported.edits, [*ported.findings, *in_magics])


def _find_hidden(source: str) -> list[Finding]:
    """Imports in magics, which Python itself cannot read."""
    hidden: list[Finding] = []
    for at in _MENTIONED.finditer(source):
        line = source.count("\n", 0, at.start()) + 1
        hidden.append(Finding(line, "an import in a magic stays as it is"))
    return hidden


def _is_other_language(source: str) -> bool:
    """Whether a magic above the cell hands it to something else than Python."""
    first = next(iter(source.split()), "")
    return first.startswith("%%") and first not in _OF_PYTHON


def _blank(magic: re.Match[str]) -> str:
    """A `0` in place of a statement of IPython, as long as that."""
    indent, statement = magic.groups()
    rest = re.sub(r"[^\n]", " ", statement[1:])
    return f"{indent}0{rest}"
