"""The teams that there are, as data; how one works is loaded with its first question."""

from __future__ import annotations

import threading
from collections.abc import Callable
from importlib import import_module

from agentkit.errors import NotFound
from agentkit.teams.roster import (
    ASSISTANT,
    CRITIC,
    EXTRACTOR,
    LIBRARY,
    MAX_DAYS,
    METHODS,
    MODERATOR,
    PLANNER,
    PLAYERS,
    RESEARCHER,
    ROUNDS,
    RUNNER,
    SOLVER,
    TALKING,
    WITH_TOOLS,
    WRITER,
)
from agentkit.teams.task import Answer, Task, Team

_loading = threading.Lock()
"""Of two threads that import the same at once, one may find it half done."""


def _by(module: str, **options: object) -> Callable[[Task], Answer]:
    """The `work` of that module of this folder, with these options."""

    def work(task: Task) -> Answer:
        with _loading:
            loaded = import_module(f"agentkit.teams.{module}")
        answer: Answer = loaded.work(task, **options)
        return answer

    return work


_TEAMS = (
    Team(
        "answer",
        "Answer with citations",
        "One agent looks the question up and answers from the passages.",
        (ASSISTANT,),
        _by("answer"),
        answers_at_once=True,
        goes_on=True,
    ),
    Team(
        "research",
        "Researcher and writer",
        "Two agents: one looks each part of the question up, one writes the answer.",
        (RESEARCHER, WRITER),
        _by("research"),
        answers_at_once=True,
        goes_on=True,
    ),
    Team(
        "plan",
        "Plan first",
        "Plans what to look up and compute, does it step by step or at once, and answers from all"
        " of it.",
        (PLANNER, SOLVER),
        _by("planning.team"),
        calls_tools=True,
        goes_on=True,
        plans=True,
    ),
    Team(
        "table",
        "Table from documents",
        "Reads the fields that you name out of each document: one row a document, with a citation"
        " for every value.",
        (PLANNER, EXTRACTOR),
        _by("extraction.team"),
        speaks_in_fields=True,
    ),
    Team(
        TALKING,
        "Assistant",
        "One agent that talks with you and looks into the documents when it needs to.",
        (LIBRARY, ASSISTANT),
        _by("assistant"),
        goes_on=True,
        takes_part=True,
    ),
    Team(
        WITH_TOOLS,
        "Assistant with tools and code",
        "Looks things up and runs code in isolation. What may change something you see and approve"
        " before it runs.",
        (RUNNER, ASSISTANT),
        _by("tools"),
        needs_language_model=True,
        calls_tools=True,
        goes_on=True,
        takes_part=True,
    ),
    *(
        Team(
            f"group:{method}",
            "Group of three",
            f"A researcher, a critic and a writer talk it over, in at most {ROUNDS} messages.",
            (RESEARCHER, CRITIC, WRITER),
            _by("group", method=method),
            needs_language_model=True,
            goes_on=True,
            hears=True,
            takes_part=True,
            variant=words,
        )
        for method, words in METHODS.items()
    ),
    Team(
        "werewolf",
        "Werewolf for six",
        f"Two werewolves, two villagers, a seer and a witch play, at most {MAX_DAYS} days; you"
        " watch. Write anything to begin.",
        (*PLAYERS, MODERATOR),
        _by("werewolf.team"),
        needs_language_model=True,
        speaks_in_fields=True,
        variant="You watch",
    ),
    Team(
        "werewolf:seat",
        "Werewolf for six",
        f"You are one of the six, with five models, at most {MAX_DAYS} days: you are told your"
        " role, speak, vote and act at night. Write anything to begin.",
        (*PLAYERS, MODERATOR),
        _by("werewolf.team", seat=True),
        needs_language_model=True,
        speaks_in_fields=True,
        keeps_secrets=True,
        variant="You play",
    ),
)


def teams() -> tuple[Team, ...]:
    """All of them; variants of one kind stand together, the usual one first."""
    return _TEAMS


def team(team_id: str) -> Team:
    """The team of that id, for a kind alone its usual variant; raises NotFound naming those there
    are.
    """
    for known in teams():
        if team_id in (known.id, known.kind):
            return known
    raise NotFound(
        f"There is no team {team_id!r}; choose one of: {', '.join(known.id for known in teams())}."
    )


def variants(kind: str) -> list[Team]:
    """All teams of a kind."""
    return [known for known in teams() if known.kind == kind]
