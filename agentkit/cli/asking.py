"""A run asks the person at the terminal: what it wants to know goes to stderr, the answer is read from stdin."""

from __future__ import annotations

import sys

from agentkit.cli.output import note, plain
from agentkit.cli.words import OPTIONS
from agentkit.core.unseen import reveal
from agentkit.events import HumanInputRequested
from agentkit.options import key_of


def asked(request: HumanInputRequested) -> str | None:
    """The person's answer, in the form that the request describes; None when nobody is there (end of input)."""
    note(f"\n{request.agent} asks: {request.prompt}")
    if request.draft:
        _show(request.draft)
    # To edit needs more than a line; who wants to change something rejects with a reason.
    options = [option for option in request.options if key_of(option) != "edit"]
    if not options:
        return _line("> ")
    for number, option in enumerate(options, 1):
        note(f"  {number}: {OPTIONS.get(key_of(option), option)}")
    while (text := _line(f"1 to {len(options)}, and a reason behind it if you like: ")) is not None:
        chosen, _, rest = text.strip().partition(" ")
        if chosen.isdecimal() and 1 <= int(chosen) <= len(options):
            return f"{options[int(chosen) - 1]}\n{rest}" if rest else options[int(chosen) - 1]
        note(f"{text!r} does not begin with a number from 1 to {len(options)}.")
    return None


def _show(draft: str) -> None:
    """What is to run, with its number of lines: the first may have left the screen."""
    found = reveal(draft)
    note("\n".join(f"    {line}" for line in found.text.rstrip("\n").split("\n")))
    note(f"  {found.lines:,} line{'' if found.lines == 1 else 's'}")
    if found.unseen:
        note(
            f"  It contains {found.unseen:,} invisible character{'' if found.unseen == 1 else 's'}, shown by"
            " their numbers, like ⟨U+202E⟩. They can make code look like something else than what runs."
        )


def _line(prompt: str) -> str | None:
    sys.stderr.write(plain(prompt))
    sys.stderr.flush()
    line = sys.stdin.readline()
    return line.rstrip("\n") if line else None
