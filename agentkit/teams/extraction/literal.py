"""Without a language model: fields that stand literally in a document, and nothing that would be a
guess.

A value counts when the document labels it with the field's name (in a line, a table, a sentence)
and it is of the field's type. Labels that say more count less: first come those with the field's
very words, then those with words of its description or of the heading around them, then sentences.
When the best ones differ the field stays empty, and the row says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from agentkit.core.text import sentences
from agentkit.teams.extraction import values
from agentkit.teams.extraction.labels import Pair, bullets, core, pairs, words
from agentkit.teams.extraction.quoting import Paper
from agentkit.teams.extraction.schema import Field, Schema
from agentkit.teams.extraction.table import Cell, Remark
from agentkit.teams.extraction.values import Found, Style, style_of, unit_of

_EXACT, _NEAR, _DESCRIBED, _SENTENCE = range(4)
_LONGEST = 300
_CLAUSE = re.compile(r"[^,;:()]+(?:(?<=\d),(?=\d)[^,;:()]+)*")
_LONGEST_SENTENCE = 600
_ABBREVIATED = re.compile(
    r"(?:\b(?:Inc|Ltd|Co|Corp|Bros|Jr|Sr|St|Ave|etc)|\w\.\w)\.\Z", re.IGNORECASE
)
# Words that may stand between a name and its value in a sentence without making it the value of
# something else.
_LINKING = frozenset(
    words(
        "the a an is are was were be will has have had of at to for in on by from since until up"
        " about around only exactly least most stays costs lasts takes amounts totals weighs"
        " measures runs comes falls due ends begins starts dated paid per each every it"
    )
)
_TURNING = frozenset(
    words("under without beyond except before after despite no not less plus outside within")
)
_AND = re.compile(r"(?:(?<!\s)\s++)?+[,;]\s++(?:and\s++)?|(?<!\s)\s++and\s++")


@dataclass(frozen=True, slots=True)
class _Evidence:
    rank: int
    value: Any
    start: int
    end: int
    """The span to quote: the value with what names it."""


def literal(schema: Schema, paper: Paper) -> tuple[dict[str, Cell], list[Remark]]:
    """A cell for each field, empty where the document is not clear, and what is to be told about
    the row.
    """
    reader = _Reader(schema, paper)
    cells: dict[str, Cell] = {}
    told: list[Remark] = []
    for field in schema.fields:
        cells[field.name], problem = _decided(field, reader.evidence(field), paper)
        told += [Remark(field.name, problem)] if problem else []
    misfits = schema.misfits({name: cell.value for name, cell in cells.items()})
    for name, wrong in misfits.items():
        told.append(Remark(name, f"{name}: {wrong}" if name else wrong))
    return {name: Cell() if name in misfits else cell for name, cell in cells.items()}, told


def _decided(field: Field, evidence: Sequence[_Evidence], paper: Paper) -> tuple[Cell, str]:
    best = min((each.rank for each in evidence), default=_SENTENCE)
    chosen: dict[str, _Evidence] = {}
    for each in evidence:
        if each.rank == best:
            chosen.setdefault(str(each.value).casefold(), each)
    if not chosen:
        return Cell(), ""
    if field.kind == "list":
        items = list(dict.fromkeys(item for each in chosen.values() for item in each.value))
        spans = [(each.start, each.end) for each in chosen.values()]
        return (
            Cell(
                items,
                paper.quotation(spans[0][0], spans[0][1] if len(spans) == 1 else spans[-1][1]),
            ),
            "",
        )
    if len(chosen) > 1:
        shown = ", ".join(f"{each.value}" for each in list(chosen.values())[:4])
        return (
            Cell(),
            (
                f"{field.name}: {len(chosen)} different values stand in the document"
                f" ({shown:.200}), so none is taken"
            ),
        )
    (only,) = chosen.values()
    return Cell(only.value, paper.quotation(only.start, only.end)), ""


class _Reader:
    """What one document labels and states, read once for all fields."""

    def __init__(self, schema: Schema, paper: Paper) -> None:
        self.text, self.paper = paper.text, paper
        self.style: Style = style_of(self.text)
        self.labels: dict[tuple[str, ...], list[Pair]] = {}
        for pair in pairs(self.text):
            self.labels.setdefault(pair.label, []).append(pair)
        self.title = frozenset(words(schema.title))
        self.about = frozenset(
            words(
                f"{_first_line(self.text)} {paper.document.title} {paper.name.rpartition('.')[0]}"
            )
        )
        self.clauses = [
            (clause, words(self.text[slice(*clause)])) for clause in _clauses(self.text)
        ]

    def evidence(self, field: Field) -> list[_Evidence]:
        """All that speaks for a value of this field."""
        wanted = _Wanted(field, self.title)
        found = [
            each
            for label, pairs_ in self.labels.items()
            for each in self._of_label(field, wanted, label, pairs_)
        ]
        if not found and field.kind not in ("list", "boolean"):
            found = list(self._stated(field, wanted))
        return [each for each in found if not field.misfit(each.value)]

    def _of_label(
        self, field: Field, wanted: _Wanted, label: tuple[str, ...], at: list[Pair]
    ) -> Iterator[_Evidence]:
        rank = wanted.rank(label)
        lacking = frozenset() if rank is not None else wanted.full - frozenset(label)
        if rank is None and (not lacking or not frozenset(label) <= wanted.full):
            return
        unit = wanted.unit if not wanted.spelled_out(label) else ""
        for pair in at:
            if lacking and not lacking <= self._around(pair):
                continue
            for value in self._values(field, pair, unit):
                yield _Evidence(_NEAR if rank is None else rank, value.value, pair.begin, value.end)

    def _around(self, pair: Pair) -> frozenset[str]:
        """What the document is about where the pair stands: its title and its heading."""
        section = self.paper.section_at(pair.start)
        return self.about | frozenset(words(section.heading if section else ""))

    def _values(self, field: Field, pair: Pair, unit: str) -> Iterator[Found]:
        """The one value of the field's type that stands at a label."""
        if field.kind == "list":
            yield from self._list(field, pair)
            return
        if pair.end <= pair.start:
            return
        text = self.text[pair.start : pair.end]
        found = (
            _typed(field, text, self.style, unit)
            if field.choices or field.kind != "string"
            else _whole(text, pair.loose)
        )
        first = (
            found[0]
            if found and (found[0].start == 0 or len(found) == 1) and not _is_range(field, text)
            else None
        )
        if first is not None and (first.start == 0 or not pair.loose):
            yield Found(first.value, pair.start + first.start, pair.start + first.end)

    def _list(self, field: Field, pair: Pair) -> Iterator[Found]:
        in_line = pair.end > pair.start
        spans = [(pair.start, pair.end)] if in_line else bullets(self.text, pair.end)
        parts = [self.text[start:end].strip() for start, end in spans]
        items = _AND.split(parts[0].rstrip(".")) if in_line and not pair.column else parts
        known = {str(choice).casefold(): choice for choice in field.choices}
        items = [
            str(known.get(item.casefold(), item))
            for item in items
            if item and (not known or item.casefold() in known)
        ]
        if items and not pair.loose:
            yield Found(items, spans[0][0], spans[-1][1])

    def _stated(self, field: Field, wanted: _Wanted) -> Iterator[_Evidence]:
        """Sentences that state it: one value of the type in a clause, and beside it all words of
        the name.
        """
        for (start, end), said in self.clauses:
            if not wanted.core <= frozenset(said):
                continue
            text = self.text[start:end]
            if field.kind == "string" and not field.choices:
                found = _defined(text, wanted)
            else:
                unit = wanted.unit if not wanted.spelled_out(said) else ""
                found = [] if _is_range(field, text) else _typed(field, text, self.style, unit)
                if wanted.numeric:
                    found = [
                        each for each in found if len(found) == 1 and wanted.beside(text, each)
                    ]
            if len(found) == 1:
                yield _Evidence(
                    _SENTENCE,
                    found[0].value,
                    start + len(text) - len(text.lstrip()),
                    start + len(text.rstrip()),
                )


class _Wanted:
    """How a field may be called in a document."""

    def __init__(self, field: Field, title: frozenset[str]) -> None:
        name = words(
            re.sub(r"\bin\s+(?=\w{1,8}$)", " ", field.name.replace(".", " ").replace("_", " "))
        )
        self.unit = unit_of(name[-1]) if len(name) > 1 else ""
        self.numeric = field.kind in ("number", "integer")
        self.full = frozenset(name)
        self.core = core(name[:-1]) if self.unit else core(name)
        meaning = re.split(r"\b(?:not|without|except)\b", field.description, maxsplit=1)[0]
        self.described = tuple(word for word in words(meaning))
        self.phrases = {
            core(words(phrase))
            for phrase in re.split(r"[,;/()]|\bor\b", meaning)
            if len(words(phrase)) in range(1, 5)
        }
        self.allowed = frozenset(self.described) | title | ({self.unit} if self.unit else set())
        self.with_unit = core(name)

    def spelled_out(self, label: Sequence[str]) -> bool:
        """Whether the label itself names the unit, so that its values need none."""
        return any(unit_of(word) == self.unit for word in label)

    def rank(self, label: Sequence[str]) -> int | None:
        """How well a label fits the name; None when it does not."""
        said = core(label)
        if said in (self.core, self.with_unit):
            return _EXACT
        bare = core([word for word in label if not unit_of(word)])
        if self.numeric and bare and bare in (self.core, self.with_unit):  # "Weight (kg)"
            return _EXACT
        if self.core < said and said - self.core <= self.allowed:
            return _NEAR
        return (
            _DESCRIBED
            if said in self.phrases or (len(said) > 1 and self._is_phrase(label))
            else None
        )

    def beside(self, clause: str, value: Found) -> bool:
        """Whether the name stands before or behind a number, with nothing around it that makes it
        the number of something else.

        In "a repair under warranty takes 12 days" they are not the warranty's.
        """
        before, behind = (
            words(clause[: value.start]),
            words(clause[value.start :].lstrip("$€£+-.,0123456789")),
        )
        size = self._reached(before[::-1])
        leading = [word for word in before[: len(before) - size] if word not in ("the", "a", "an")]
        return bool(size and not (leading and leading[-1] in _TURNING)) or bool(
            self._reached(behind)
        )

    def _reached(self, said: Sequence[str]) -> int:
        """How many words it takes to have the whole name; 0 when something else stands before
        that.
        """
        missing = set(self.core)
        for count, word in enumerate(said, start=1):
            missing.discard(word)
            if not missing:
                return count
            if word not in _LINKING | self.full | self.allowed and not unit_of(word):
                return 0
        return 0

    def _is_phrase(self, label: Sequence[str]) -> bool:
        size = len(label)
        return any(
            self.described[at : at + size] == tuple(label)
            for at in range(len(self.described) - size + 1)
        )


def _typed(field: Field, text: str, style: Style, unit: str) -> list[Found]:
    """All values of the type in a text, in order."""
    if field.choices:
        chosen = {found.value: found for found in values.members(text, field.choices)}
        return list(chosen.values()) if len(chosen) == 1 else []
    if field.kind == "date":
        return values.dates(text, style)
    if field.kind == "boolean":
        answer = values.yes_no(text)
        return [answer] if answer else []
    found = values.numbers(text, style)
    if unit:
        found = [each for each in found if each.unit == unit]
    if field.kind == "integer":
        found = [
            Found(int(each.value), each.start, each.end)
            for each in found
            if float(each.value).is_integer()
        ]
    return found


def _whole(text: str, loose: bool) -> list[Found]:
    """The text itself; without a sign between label and value only when it is one word with a
    digit.
    """
    ends = text.endswith(("..", ",", ";")) or (
        text.count(". ") == 0 and not _ABBREVIATED.search(text)
    )
    shown = text.rstrip(" .,;") if ends else text
    fits = 0 < len(shown) <= _LONGEST and (not loose or re.fullmatch(r"[^\s]*\d[^\s]*", shown))
    return [Found(shown, 0, len(shown))] if fits else []


def _defined(text: str, wanted: _Wanted) -> list[Found]:
    """`The author is Jane Doe`: what follows the name and `is` to the end of the clause."""
    found = re.match(
        r"\s*(?:(?:The|Its|Our|Their)\s+)?(?P<name>[\w\s'-]{1,60}?)\s+(?:is|was)"
        r"\s+(?P<value>\S[^\n]{0,79}?)[.\s]*$",
        text,
    )
    if (
        found is None
        or core(words(found["name"])) != wanted.core
        or len(found["value"].split()) > 8
    ):
        return []
    return [Found(found["value"], found.start("value"), found.end("value"))]


def _is_range(field: Field, text: str) -> bool:
    """Whether the text begins with "0.3 to 15 m", which is no single number."""
    return field.kind in ("number", "integer") and not field.choices and values.starts_range(text)


def _first_line(text: str) -> str:
    line = text.lstrip().partition("\n")[0]
    return line if len(line.split()) <= 8 else ""


def _clauses(text: str) -> Iterator[tuple[int, int]]:
    for start, end in sentences(text):
        if end - start <= _LONGEST_SENTENCE and " | " not in text[start:end]:
            for found in _CLAUSE.finditer(text, start, end):
                yield found.span()
