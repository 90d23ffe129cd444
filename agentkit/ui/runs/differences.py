"""What differs between two runs, in words: groups of rows, to be drawn or written."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import filterfalse
from operator import attrgetter
from typing import Any

from agentkit.ledger.aligning import How, Piece, compare_texts, count_same
from agentkit.ledger.comparing import Comparison, Fact, Found, PassagePair, StepPair
from agentkit.ledger.spans import Span, Trace
from agentkit.ui.runs import words
from agentkit.ui.steps import wording
from agentkit.ui.text import figures

Pieces = list[Piece]
_CUT, _BEFORE = 400, 60
"""Characters of a value that are told; of them before the first difference."""
_MOST_NAME = 120
_MOST_ANSWER = 20_000
_NONE = "none"


@dataclass(frozen=True, slots=True)
class Row:
    """Something as it is in each run."""

    name: str
    first: Pieces
    second: Pieces
    is_same: bool
    steps: tuple[int | None, int | None] = (None, None)
    """The steps that it is about, by `seq`."""


@dataclass(frozen=True, slots=True)
class Group:
    """Rows of one kind, in their order."""

    name: str
    rows: Sequence[Row]

    @property
    def differing(self) -> list[Row]:
        """The rows that differ."""
        return list(filterfalse(attrgetter("is_same"), self.rows))

    @property
    def is_same(self) -> bool:
        """Whether no row differs."""
        return not self.differing


def list_groups(found: Comparison) -> list[Group]:
    """All that was compared: groups with differences first, empty ones left out."""
    describe_step = partial(_describe_step, found)
    groups = [
        Group("What it took", list(map(_describe_took, found.took))),
        Group("Settings", list(map(_describe_setting, found.settings))),
        Group("Plan", list(map(_describe_text, found.plan))),
        Group("Answer", _describe_answer(found.answer)),
        Group("Passages", list(map(_describe_passage, found.passages))),
        Group("Steps", list(map(describe_step, found.steps))),
    ]
    there = filter(attrgetter("rows"), groups)
    return sorted(there, key=attrgetter("is_same"))


def list_lines(found: Comparison) -> Iterator[str]:
    """The same as lines of text, without what is the same."""
    for group in list_groups(found):
        count = len(group.differing)
        yield ""
        yield f"{group.name}: {figures.count(count, 'difference')}"
        for row in group.differing:
            yield f"  {row.name}".rstrip()
            yield f"    A  {_write_pieces(row.first)}"
            yield f"    B  {_write_pieces(row.second)}"


def _write_pieces(pieces: Pieces) -> str:
    text = "".join(map(attrgetter("text"), pieces))
    return " ".join(text.split())


def describe_beginning(found: Comparison) -> str:
    """Where they differ first, as plain text."""
    pair = found.first_difference
    if pair is None:
        return "Every step is the same."
    place = found.steps.index(pair)
    differs = f"They differ from “{_name_pair(found, pair)}” on: {_describe_how(pair)}."
    if not place:
        return differs
    same = figures.count(place, "step")
    return f"The first {same} are the same. {differs}"


def describe_early(found: Comparison) -> str:
    """What a run that repeats another one did otherwise before its step, as plain text."""
    pair = found.difference_too_early
    if pair is None:
        return ""
    where = _name_pair(found, pair)
    how = _describe_how(pair)
    return (
        f"What was to be taken over differs at {where}: {how}. Documents, tools or the team have"
        " changed since."
    )


def _name_pair(found: Comparison, pair: StepPair) -> str:
    """The name of the step of the first run, else of that of the second."""
    if pair.first is not None:
        return _name(pair.first, found.first.trace)
    assert pair.second is not None, "each pair has a step"
    return _name(pair.second, found.second.trace)


def _describe_how(pair: StepPair) -> str:
    if pair.second is None:
        return "only A has it"
    if pair.first is None:
        return "only B has it"
    names = map(attrgetter("name"), pair.differs)
    return f"another {', '.join(names)}"


def _name(span: Span, trace: Trace) -> str:
    shown = words.of_step(span, trace)[:_MOST_NAME]
    name = " ".join([words.STEPS[span.kind], *shown.split()])
    return f"{name} of {wording.name_agent(span.lane)}" if span.lane else name


# Rows


def _describe_took(fact: Fact) -> Row:
    name, write = _TOOK[fact.name]
    first = _write(write, fact.first)
    second = _write(write, fact.second)
    change = _describe_change(fact)
    return Row(name, _plain(first), _plain(second + change), fact.is_same)


def _write(write: Callable[[Any], str], value: object) -> str:
    return _NONE if value is None else write(value)


_TOOK: dict[str, tuple[str, Callable[[Any], str]]] = {
    "state": ("State", words.of_state),
    "seconds": ("Time", figures.seconds),
    "calls": ("Model calls", figures.count),
    "prompt_tokens": ("Tokens in", figures.count),
    "completion_tokens": ("Tokens out", figures.count),
    "tokens": ("Tokens", figures.count),
    "cost": ("Cost", figures.dollars),
    "steps": ("Steps", figures.count),
}


def _describe_change(fact: Fact) -> str:
    """By how much a number is another one."""
    try:
        share = fact.second / fact.first - 1
    except (TypeError, ZeroDivisionError):  # words; or one is not known, or is nothing
        return ""
    told = f"{share:+.0%}"
    if told in ("+0%", "-0%"):
        return ""
    return f" ({told})"


def _describe_setting(fact: Fact) -> Row:
    kind, _, rest = fact.name.partition(": ")
    known = _SETTINGS[kind]
    name = known.format(rest.replace("_", " "))
    write = _WRITTEN.get(fact.name, _write_value)
    return _compare(name, _write(write, fact.first), _write(write, fact.second))


_SETTINGS = {
    "kind": "Kind",
    "question": "Question",
    "team_id": "Team",
    "models": "Models",
    "model_id": "Model that was chosen",
    "instructions": "Instructions",
    "parameters": "Parameters",
    "collection": "Collection",
    "also": "Further collections",
    "scope": "Narrowed to",
    "max_tokens": "Most tokens",
    "planning": "How is planned",
    "human_input": "When you are asked",
    "again": "Run again: {}",
    "search": "Search: {}",
    "system": "What {} is told",
}
_WRITTEN: dict[str, Callable[[Any], str]] = {
    "kind": words.of_kind,
    "team_id": words.of_team,
    "models": ", ".join,
    "also": ", ".join,
}


def _write_value(value: object) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, default=str)


def _describe_text(fact: Fact) -> Row:
    first = _write(str, fact.first)
    second = _write(str, fact.second)
    return _compare(fact.name, first, second)


def _describe_answer(answer: Pieces) -> list[Row]:
    """Both answers as they are; none where there is none."""
    if not answer:
        return []
    shown = list(map(_shorten_piece, answer))
    hows = set(map(attrgetter("how"), shown))
    is_same = hows == {"same"}
    return [Row("", _leave_out("added", shown), _leave_out("removed", shown), is_same)]


def _shorten_piece(piece: Piece) -> Piece:
    return Piece(piece.how, _shorten(piece.text, _MOST_ANSWER))


def _describe_passage(pair: PassagePair) -> Row:
    hit = pair.hit
    page = hit.get("page")
    where = f"p. {page}" if page else hit.get("place")
    parts = filter(None, [hit.get("document"), where, hit.get("heading")])
    name = ", ".join(map(str, parts))
    text = " ".join(str(hit.get("text", "")).split())
    named = f"{name}: {_shorten(text, _MOST_NAME)}"
    first = _tell_found(pair.first)
    second = _tell_found(pair.second)
    return Row(named, first, second, pair.is_same)


def _tell_found(found: Found | None) -> Pieces:
    if found is None:
        return _plain("not found")
    cited = f"cited as {found.cited}" if found.cited else "not cited"
    return _plain(f"rank {found.rank}, {cited}")


def _describe_step(found: Comparison, pair: StepPair) -> Row:
    first, second = _tell_there(pair.first), _tell_there(pair.second)
    for fact in pair.differs:
        told, other = _describe_fact(fact)
        row = _compare(fact.name, told, other)
        first += _put_under(row.name, row.first)
        second += _put_under(row.name, row.second)
    seqs = (getattr(pair.first, "seq", None), getattr(pair.second, "seq", None))
    return Row(_name_pair(found, pair), first, second, pair.is_same, seqs)


def _describe_fact(fact: Fact) -> tuple[str, str]:
    """Both values; of what was sent, which is known by its hash, that it is another one."""
    if fact.name == "request" and fact.first and fact.second:
        return "as sent", "other messages were sent"
    return _write(_write_value, fact.first), _write(_write_value, fact.second)


def _put_under(name: str, pieces: Pieces) -> Iterable[Piece]:
    return [Piece("same", f"\n{name}: "), *pieces]


def _tell_there(span: Span | None) -> Pieces:
    if span is None:
        return _plain("not done")
    return _plain(words.describe_span(span) or "done")


def _compare(name: str, first: str, second: str) -> Row:
    """Two values, of long ones from shortly before their first difference on, marked by word."""
    is_same = first == second
    begin = count_same(first, second) - _BEFORE
    if is_same:
        begin = 0
    pieces = compare_texts(_cut(first, begin), _cut(second, begin))
    return Row(name, _leave_out("added", pieces), _leave_out("removed", pieces), is_same)


def _cut(text: str, begin: int) -> str:
    if begin <= 0:
        return _shorten(text, _CUT)
    return "…" + _shorten(text[begin : begin + _CUT + 1], _CUT)


def _shorten(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    return f"{text[:most]}…"


def _plain(text: str) -> Pieces:
    return [Piece("same", text)]


def _leave_out(how: How, pieces: Pieces) -> Pieces:
    return [one for one in pieces if one.how != how]
