"""How teams stand on question sets: whether their newest version and the model of today were tried
with a set that earlier ones were, and whether they are worse.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from agentkit.ledger.evaluations.differences import Differences, compare
from agentkit.ledger.evaluations.results import Evaluation, find_team

Cause = Literal["version", "model"]


@dataclass(frozen=True, slots=True)
class TeamCourse:
    """A team on a set and a collection."""

    team_id: str
    """Its newest version."""
    model_id: str
    """The model that speaks where the team names none."""
    now: Evaluation | None
    """The newest of that version with that model."""
    before: Evaluation | None
    """The newest before that, of another version or with another model."""

    @property
    def latest(self) -> Evaluation:
        """The newest of both; there is one."""
        found = self.now or self.before
        assert found is not None
        return found

    @property
    def is_due(self) -> bool:
        """Whether it is to be tried again."""
        return self.now is None

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
    def is_worse(self) -> bool:
        """Whether it is worse by more than chance."""
        return self.found is not None and self.found.verdict == "worse"


def find_courses(
    history: Iterable[Evaluation], newest: Mapping[str, str], model_id: str
) -> list[TeamCourse]:
    """How each team that is still there stands on each set and collection.

    `history` is newest first; `newest` has the key of the newest version of each team by its id.
    """
    groups: dict[tuple[str, str, str], list[Evaluation]] = {}
    for one in history:
        began = one.began
        team = find_team(began.team_id)
        is_done = one.state == "finished" and one.is_whole
        if is_done and team in newest:
            groups.setdefault((team, began.set_id, began.collection), []).append(one)
    courses = []
    for (team, _, _), made in groups.items():
        course = _find(made, newest[team], model_id)
        courses.append(course)
    return courses


def _find(made: Sequence[Evaluation], team_id: str, model_id: str) -> TeamCourse:
    """Of evaluations of one team on one set and collection, newest first."""
    wanted = (team_id, model_id)
    first: Evaluation | None = None
    before: Evaluation | None = None
    for one in made:
        is_wanted = (one.began.team_id, one.began.model_id) == wanted
        if first is None and is_wanted:
            first = one
        elif first is not None and not is_wanted:
            before = one
            break
    if first is None:
        return TeamCourse(team_id, model_id, None, made[0])
    return TeamCourse(team_id, model_id, first, before)
