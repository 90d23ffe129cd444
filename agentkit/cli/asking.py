"""What agents ask the person, at the command line."""

from __future__ import annotations

import sys
from functools import partial

from agentkit.cli.output import count, note, plain
from agentkit.cli.words import MOMENTS, OPTIONS, describe_wanted
from agentkit.core.given import join_filled
from agentkit.core.lenient import read_whole
from agentkit.core.unseen import reveal
from agentkit.events import HumanInputRequested
from agentkit.options import END, PLAN, key_of


def ask_person(request: HumanInputRequested) -> str | None:
    """The person's answer, in the form that the request describes; None when nobody is there (end
    of input).
    """
    asked = f"{request.agent} asks: {request.prompt}"
    if request.wants:
        asked = describe_wanted(request.wants)
    if request.moment:
        asked = MOMENTS[request.moment].format(to=request.to, end=END)
    note(f"\n{asked}")
    if request.language == PLAN:
        _show_plan(request.draft)
    elif request.draft:
        _show_draft(request.draft)
    # To edit needs more than a line; who wants to change something rejects with a reason.
    options = [option for option in request.options if key_of(option) != "edit"]
    if options:
        return _choose(options)
    return _read_line("> ")


def _choose(options: list[str]) -> str | None:
    """The option whose number the person types, and on a further line the reason behind it."""
    numbered = dict(enumerate(options, 1))
    for number, option in numbered.items():
        note(f"  {number}: {OPTIONS.get(key_of(option), option)}")
    prompt = f"1 to {len(options)}, and a reason behind it if you like: "
    for line in iter(partial(_read_line, prompt), None):
        typed, _, reason = line.strip().partition(" ")
        chosen = numbered.get(read_whole(typed) or 0)
        if chosen is not None:
            return join_filled("\n", [chosen, reason])
        note(f"{line!r} does not begin with a number from 1 to {len(options)}.")
    return None


def _show_plan(draft: str) -> None:
    """The steps, and about what they take."""
    from agentkit.teams.planning.review import Proposal, list_steps

    proposal = Proposal.from_draft(draft)
    takes = proposal.estimate(proposal.plan)
    note("    " + plain(list_steps(draft)).replace("\n", "\n    "))
    note(
        f"  By estimate: {count(takes.lookups, 'look-up')}, {count(takes.calls, 'model call')},"
        f" {takes.tokens:,} tokens. Rejected with a reason, it is planned again."
    )


def _show_draft(draft: str) -> None:
    """What is to run, with its number of lines: the first may have left the screen."""
    found = reveal(draft)
    note("    " + found.text.rstrip("\n").replace("\n", "\n    "))
    note(f"  {count(found.lines, 'line')}")
    if found.unseen:
        note(
            f"  It contains {count(found.unseen, 'invisible character')},"
            " shown by their numbers, like ⟨U+202E⟩. They can make code look like something else"
            " than what runs."
        )


def _read_line(prompt: str) -> str | None:
    sys.stderr.write(plain(prompt))
    sys.stderr.flush()
    line = sys.stdin.readline()
    if line:
        return line.rstrip("\n")
    return None
