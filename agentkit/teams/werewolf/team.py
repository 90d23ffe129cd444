"""Werewolf as a team that one watches."""

from __future__ import annotations

from random import Random
from typing import Any

from agentkit.conversation import telling
from agentkit.core.io import IOStream
from agentkit.errors import LimitReached, Stopped
from agentkit.events import MessageStatus
from agentkit.llm.calls.limits import end_of
from agentkit.reasons import ANSWERED, STOPPED, EndReason
from agentkit.teams.conversing import Quiet, voice
from agentkit.teams.task import Answer, Task, Team
from agentkit.teams.werewolf.game import MODERATOR, Game
from agentkit.teams.werewolf.report import report
from agentkit.teams.werewolf.rules import MAX_DAYS, PLAYERS, Village, Winner, deal


def work(task: Task) -> Answer:
    """Play a game; whatever was asked is what begins it. Stopped, it tells how far it came, if anything happened."""
    village = Village(deal(PLAYERS, Random()))
    try:
        winner = _watched(task, Game(village, voice(task)))
    except (Stopped, LimitReached) as error:
        if not village.ballots:
            raise
        if isinstance(error, Stopped):
            return _say(task, village, None, "stopped", STOPPED)
        return _say(task, village, None, "complete", end_of(error))
    return _say(task, village, winner, "complete", ANSWERED)


def _watched(task: Task, game: Game) -> Winner:
    with IOStream.set_default(Quiet()), telling.following(task.parent_id) as last:
        try:
            return game.play().winner
        finally:
            task.parent_id = last()


def _say(task: Task, village: Village, winner: Winner | None, status: MessageStatus, end: EndReason) -> Answer:
    text = report(village, winner)
    extra: dict[str, Any] = {"citations": [], "model": task.model.id, "winner": winner, "roles": village.roles}
    extra |= {} if winner else {"end": end.to_json()}
    task.say(MODERATOR, "user", text, status=status, final=True, extra=extra)
    return Answer(text, (), end)


TEAM = Team(
    "werewolf",
    "Werewolf (six players)",
    f"Two werewolves, two villagers, a seer and a witch play, at most {MAX_DAYS} days; you watch. Write anything to begin.",
    (*PLAYERS, MODERATOR),
    work,
    needs_language_model=True,
    watched=True,
)
