"""The command CLEAR HISTORY in what a person says: whose memory it concerns, and what else was said."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

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


def asked_for(reply: object) -> bool:
    """Whether a reply is a person's message with the command."""
    if not isinstance(reply, dict) or reply.get("role") not in ("user", "tool"):
        return False
    return isinstance(reply.get("content"), str) and _COMMAND.search(reply["content"]) is not None


def read(content: str, names: Iterable[str]) -> Clearing:
    """The command in the content: right behind it may stand names of agents and the number of messages to keep."""
    found = _COMMAND.search(content)
    before, rest = (content[: found.start()], content[found.end() :]) if found else (content, "")
    longest_first = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    word = re.compile(rf"[{_BETWEEN}]*(?:(?P<count>\d++)|(?P<name>{longest_first or '(?!)'}))(?!\w)")
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
