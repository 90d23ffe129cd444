"""What differs between two runs, in words: groups of rows, to be drawn or written."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from agentkit.ledger.aligning import Piece, compare_texts, count_same
from agentkit.ledger.comparing import Comparison, Fact, Found, PassagePair, StepPair
from agentkit.ledger.spans import Span, Trace
from agentkit.ui.runs import words
from agentkit.ui.steps import wording
from agentkit.ui.text import figures

Pieces = list[Piece]
_CUT, _BEFORE = 400, 60
"""Characters of a value that are told; of them before the first difference."""
_NONE = "none"
_MOST_ANSWER = 20_000


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
        return [row for row in self.rows if not row.is_same]


def list_groups(found: Comparison) -> list[Group]:
    """All that was compared: groups with differences first, empty ones left out."""
    groups = [
        Group("What it took", list(map(_describe_took, found.took))),
        Group("Settings", list(map(_describe_setting, found.settings))),
        Group("Plan", list(map(_describe_text, found.plan))),
        Group("Answer", [_describe_answer(found)]),
        Group("Passages", list(map(_describe_passage, found.passages))),
        Group("Steps", list(map(partial(_describe_step, found), found.steps))),
    ]
    return sorted((one for one in groups if one.rows), key=_is_equal)


def list_lines(found: Comparison) -> Iterator[str]:
    """The same as lines of text, without what is the same."""
    for group in list_groups(found):
        yield f"\n{group.name}: {figures.count(len(group.differing), 'difference')}"
        for row in group.differing:
            yield f"  {row.name}".rstrip()
            yield f"    A  {_write_pieces(row.first)}"
            yield f"    B  {_write_pieces(row.second)}"


def _write_pieces(pieces: Pieces) -> str:
    return " ".join("".join(piece.text for piece in pieces).split())


def _is_equal(group: Group) -> bool:
    return not group.differing


def describe_beginning(found: Comparison) -> str:
    """Where they differ first, as plain text."""
    pair = found.first_difference
    if pair is None:
        return "Every step is the same."
    place = found.steps.index(pair)
    same = f"The first {figures.count(place, 'step')} are the same. " if place else ""
    span, trace = _choose(found, pair)
    return f"{same}They differ from {_name(span, trace)} on: {_describe_how(pair)}."


def describe_early(found: Comparison) -> str:
    """What a run that repeats another one did otherwise before its step, as plain text."""
    pair = found.difference_too_early
    if pair is None:
        return ""
    span, trace = _choose(found, pair)
    return (
        f"What was to be taken over differs at step {span.seq}, {_name(span, trace)}:"
        f" {_describe_how(pair)}. Documents, tools or the team have changed since."
    )


def _choose(found: Comparison, pair: StepPair) -> tuple[Span, Trace]:
    """The step of the first run, else that of the second."""
    if pair.first is not None:
        return pair.first, found.first.trace
    assert pair.second is not None
    return pair.second, found.second.trace


def _describe_how(pair: StepPair) -> str:
    if pair.second is None:
        return "only A has it"
    if pair.first is None:
        return "only B has it"
    named = ", ".join(fact.name for fact in pair.differs)
    return f"another {named}"


def _name(span: Span, trace: Trace) -> str:
    who = f" of {wording.called(span.lane)}" if span.lane else ""
    name = " ".join(words.of_step(span, trace)[:80].split())
    return f"{words.STEPS[span.kind]} {name}".rstrip() + who


# Rows


def _describe_took(fact: Fact) -> Row:
    name, write = _TOOK[fact.name]
    first, second = _write(write, fact.first), _write(write, fact.second)
    more = _describe_change(fact)
    return Row(name, _plain(first), _plain(f"{second}{more}"), fact.is_same)


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
    if isinstance(fact.first, str) or not fact.first or not fact.second:
        return ""
    share = round(100 * (fact.second / fact.first - 1))
    return f" ({share:+d} %)" if share else ""


def _describe_setting(fact: Fact) -> Row:
    kind, _, rest = fact.name.partition(": ")
    name = _KINDS[kind].format(rest.replace("_", " ")) if rest else _SETTINGS[fact.name]
    write = words.of_team if fact.name == "team_id" else _write_value
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
}
_KINDS = {
    "again": "Run again: {}",
    "search": "Search: {}",
    "system": "What {} is told",
}


def _write_value(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return ", ".join(value)
    return json.dumps(value, ensure_ascii=False)


def _describe_text(fact: Fact) -> Row:
    return _compare(fact.name, _write(str, fact.first), _write(str, fact.second))


def _describe_answer(found: Comparison) -> Row:
    pieces = [Piece(one.how, _shorten(one.text, _MOST_ANSWER)) for one in found.answer]
    is_same = all(piece.how == "same" for piece in pieces)
    return Row("", _of_first(pieces), _of_second(pieces), is_same)


def _describe_passage(pair: PassagePair) -> Row:
    page, place = pair.hit.get("page"), pair.hit.get("place")
    parts = [pair.hit.get("document"), f"p. {page}" if page else place, pair.hit.get("heading")]
    name = ", ".join(str(part) for part in parts if part)
    text = " ".join(str(pair.hit.get("text", "")).split())
    named = f"{name}: {_shorten(text, 120)}"
    return Row(named, _tell_found(pair.first), _tell_found(pair.second), pair.is_same)


def _tell_found(found: Found | None) -> Pieces:
    if found is None:
        return _plain("not found")
    cited = f"cited as {found.cited}" if found.cited else "not cited"
    return _plain(f"rank {found.rank}, {cited}")


def _describe_step(found: Comparison, pair: StepPair) -> Row:
    span, trace = _choose(found, pair)
    first, second = Pieces(), Pieces()
    for fact in pair.differs:
        row = _compare(
            fact.name, _write(_write_value, fact.first), _write(_write_value, fact.second)
        )
        first += [Piece("same", f"{fact.name}: "), *row.first, Piece("same", "\n")]
        second += [Piece("same", f"{fact.name}: "), *row.second, Piece("same", "\n")]
    if not pair.differs:
        first, second = _tell_there(pair.first), _tell_there(pair.second)
    seqs = (pair.first and pair.first.seq, pair.second and pair.second.seq)
    return Row(_name(span, trace), first, second, pair.is_same, seqs)


def _tell_there(span: Span | None) -> Pieces:
    return _plain(words.told(span) or "done" if span else "not done")


def _compare(name: str, first: str, second: str) -> Row:
    """Two values, of long ones from shortly before their first difference on, marked by word."""
    is_same = first == second
    begin = 0 if is_same else max(0, count_same(first, second) - _BEFORE)
    pieces = compare_texts(_cut(first, begin), _cut(second, begin))
    return Row(name, _of_first(pieces), _of_second(pieces), is_same)


def _cut(text: str, begin: int) -> str:
    before = "…" if begin else ""
    return before + _shorten(text[begin : begin + _CUT + 1], _CUT)


def _shorten(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}…"


def _plain(text: str) -> Pieces:
    return [Piece("same", text)]


def _of_first(pieces: Pieces) -> Pieces:
    return [one for one in pieces if one.how != "added"]


def _of_second(pieces: Pieces) -> Pieces:
    return [one for one in pieces if one.how != "removed"]
