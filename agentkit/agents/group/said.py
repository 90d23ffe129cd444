"""What a text in a group says: which agents it names, and the command CLEAR HISTORY."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from agentkit.messages import text_of

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
    if not isinstance(reply, dict) or reply.get("role") not in ("user", "tool"):
        return False
    return isinstance(reply.get("content"), str) and _COMMAND.search(reply["content"]) is not None


def clearing_in(content: str, names: Iterable[str]) -> Clearing:
    """The command in the content: right behind it may stand names of agents and the number of
    messages to keep.
    """
    found = _COMMAND.search(content)
    before, rest = (content[: found.start()], content[found.end() :]) if found else (content, "")
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
    parts = (before.strip(), rest[at:].lstrip(_BETWEEN).rstrip())
    return Clearing(chosen, preserve, " ".join(part for part in parts if part))


def mentions(
    content: str | list[Mapping[str, object]] | None, names: Sequence[str]
) -> dict[str, int]:
    """How often each name stands in the content as words of its own, for those that do.

    Upper and lower case count. A name with `_` is also found with spaces or with `\\_` (as some
    models write it). Where names overlap (`Writer` in `Writer_2`, `c` in `c++`), only the longest
    counts.
    """
    written: dict[str, str] = {}
    for underscore in ("_", " ", r"\_"):
        for name in names:
            written.setdefault(name.replace("_", underscore), name)
    if not written:
        return {}
    longest_first = sorted(written, key=len, reverse=True)
    pattern = rf"(?<!\w)(?:{'|'.join(map(re.escape, longest_first))})(?!\w)"
    return dict(Counter(written[found] for found in re.findall(pattern, text_of(content))))
