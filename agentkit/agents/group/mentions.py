"""What a text in a group says: which agents it names, and the command CLEAR HISTORY."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from agentkit.messages import text_of, text_or_empty

_COMMAND = re.compile("clear history", re.IGNORECASE)
_BETWEEN = " \t\n.,;:"
_DIGITS = 9  # of a number of messages


@dataclass(frozen=True, slots=True)
class Clearing:
    """What to forget."""

    names: list[str]
    """Agents that forget; empty for all, and the transcript."""
    preserve: int
    """How many of the newest messages stay."""
    text: str
    """The rest of the message."""


def asks_to_clear(reply: object) -> bool:
    """Whether a reply is a person's message with the command."""
    if not isinstance(reply, dict):
        return False
    if reply.get("role") not in ("user", "tool"):
        return False
    content = text_or_empty(reply.get("content"))
    return _COMMAND.search(content) is not None


def read_clearing(content: str, names: Iterable[str]) -> Clearing:
    """The command in the content: right behind it may stand names of agents and the number of
    messages to keep.
    """
    before, *rests = _COMMAND.split(content, maxsplit=1)
    rest = "".join(rests)
    longest_first = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    word = re.compile(
        rf"[{_BETWEEN}]*(?:(?P<count>\d++)|(?P<name>{longest_first or '(?!)'}))(?!\w)"
    )
    chosen: list[str] = []
    preserve = 0
    at = 0
    while match := word.match(rest, at):
        if match["count"]:
            preserve = int(match["count"].lstrip("0")[:_DIGITS] or 0)
        else:
            chosen.append(match["name"])
        at = match.end()
    text = f"{before.strip()} {rest[at:].lstrip(_BETWEEN).rstrip()}"
    return Clearing(chosen, preserve, text.strip())


def count_mentions(
    content: str | list[Mapping[str, object]] | None, names: Sequence[str]
) -> dict[str, int]:
    """How often each name stands in the content as words of its own, for those that do.

    Upper and lower case count. A name with `_` is also found with spaces, but at its ends, or with
    `\\_` (as some models write it). Where names overlap (`Writer` in `Writer_2`, `c` in `c++`),
    only the longest counts.
    """
    by_spelling: dict[str, str] = {}
    for underscore, name in product(("_", " ", r"\_"), names):
        spelling = name.replace("_", underscore)
        ends_in_space = spelling != spelling.strip()
        if spelling == name or not ends_in_space:
            by_spelling.setdefault(spelling, name)
    longest_first = sorted(by_spelling, key=len, reverse=True)
    any_name = "|".join(map(re.escape, longest_first)) or "(?!)"
    pattern = rf"(?<!\w)(?:{any_name})(?!\w)"
    found = re.findall(pattern, text_of(content))
    counts = Counter(by_spelling[spelling] for spelling in found)
    return dict(counts)
