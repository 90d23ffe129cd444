"""How teams stand on question sets: whether their newest version and the model of today were tried
with a set that earlier ones were, and whether they are worse.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from agentkit.core.given import find_first
from agentkit.ledger.evaluations.differences import Differences, compare
from agentkit.ledger.evaluations.results import Evaluation, find_team

Cause = Literal["version", "model"]


@dataclass(frozen=True, slots=True)
class TeamCourse:
    """A team on a set and a collection, which it answered before."""

    team_id: str
    """Its newest version."""
    model_id: str
    """The model that speaks where the team names none."""
    now: Evaluation | None
    """The newest whole one of that version with that model."""
    before: Evaluation | None
    """The newest whole one before that, of another version or with another model."""
    is_begun: bool
    """Whether one of that version with that model was begun, whatever became of it."""
    is_accepted: bool
    """Whether a person took what it scores now as it is."""

    @property
    def latest(self) -> Evaluation:
        """The newest of both; there is one."""
        found = self.now or self.before
        assert found is not None
        return found

    @property
    def is_due(self) -> bool:
        """Whether it is to be tried again; one that broke off is to be gone on with instead."""
        return not self.is_begun

    @property
    def causes(self) -> tuple[Cause, ...]:
        """What changed in between."""
        if self.before is None:
            return ()
        began = self.before.began
        differs: dict[Cause, bool] = {
            "version": began.team_id != self.team_id,
            "model": began.model_id != self.model_id,
        }
        return tuple(cause for cause in differs if differs[cause])

    @property
    def found(self) -> Differences | None:
        """What changed from one to the other; None where there are not both."""
        if self.now is None or self.before is None:
            return None
        return compare(self.before.results, self.now.results)

    @property
    def is_warned(self) -> bool:
        """Whether people have to be told that it got worse by more than chance."""
        if self.is_accepted or self.found is None:
            return False
        return self.found.verdict == "worse"


def find_courses(
    history: Iterable[Evaluation],
    newest: Mapping[str, str],
    model_id: str,
    accepted: Collection[str] = (),
) -> list[TeamCourse]:
    """How each team that is still there stands on each set and collection.

    `history` is newest first; `newest` has the key of the newest version of each team by its id,
    where variants of a team that comes with the app have ids of their own; `accepted` are runs of
    evaluations that a person took as they are.
    """
    groups: dict[tuple[str, str, str], list[Evaluation]] = {}
    for one in history:
        began = one.began
        team = newest.get(began.team_id) or newest.get(find_team(began.team_id), "")
        groups.setdefault((team, began.set_id, began.collection), []).append(one)
    there = [(key[0], made) for key, made in groups.items() if key[0]]
    found = [_find(made, team, model_id, accepted) for team, made in there]
    return [one for one in found if one is not None]


def _find(
    made: Sequence[Evaluation], team_id: str, model_id: str, accepted: Collection[str]
) -> TeamCourse | None:
    """Of evaluations of one team on one set and collection, newest first; None where no whole one
    is among them.
    """
    wanted = (team_id, model_id)
    begun = [one for one in made if (one.began.team_id, one.began.model_id) == wanted]
    whole = [one for one in made if one.state == "finished" and one.is_whole]
    if not whole:
        return None
    now = find_first(whole, lambda one: one in begun)
    after = whole.index(now) if now else 0
    before = find_first(whole[after:], lambda one: one not in begun)
    is_accepted = any(one.run_id in accepted for one in begun)
    return TeamCourse(team_id, model_id, now, before, bool(begun), is_accepted)
