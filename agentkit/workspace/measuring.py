"""Question sets that are measured again, and put to teams again, when what they were tried on has
changed.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from agentkit import runs
from agentkit.errors import AgentkitError
from agentkit.ledger.evaluations import results
from agentkit.ledger.evaluations.results import Evaluation
from agentkit.retrieval.store.courses import Course
from agentkit.retrieval.store.questions import Measurement
from agentkit.runs import Run
from agentkit.workspace.team_runs import TeamRuns

if TYPE_CHECKING:
    from agentkit.ledger.evaluations.courses import TeamCourse

KIND = "measure"
"""The kind of such a run."""
log = logging.getLogger(__name__)


class Measuring(TeamRuns):
    """What sets score, and which have to be measured or put to teams again; what begins by itself
    is tried once for each change, as what fails would fail again.
    """

    _tried: set[tuple[str, ...]]
    _trying: threading.Lock

    def begin_measuring(self) -> None:
        """Nothing was tried so far."""
        self._tried, self._trying = set(), threading.Lock()

    def measure_again(self, owner: str, courses: Sequence[Course]) -> Run[list[Measurement]]:
        """Measure these (one at least) as chats search now, one after the other, in one run."""

        def work() -> list[Measurement]:
            return [self._measure(owner, one) for one in courses]

        return runs.start(
            work,
            kind=KIND,
            title=_name(courses),
            owner=owner,
            ledger=self.ledger,
            size=sum(one.questions for one in courses),
        )

    def _measure(self, owner: str, course: Course) -> Measurement:
        from agentkit.retrieval.evaluation.measuring import measure  # a search does without

        usual = self.library.options(owner, course.collection)
        return measure(self.library, owner, course.set_id, course.collection, usual)

    def measure_due(self, owner: str, courses: Sequence[Course]) -> Run[list[Measurement]] | None:
        """Measure those again that are due and set to do so by themselves; None where there are
        none, or others are being measured, or documents still come in.
        """
        with self._trying:
            if runs.live(owner, kind=KIND) or runs.live(owner, kind="ingest"):
                return None
            due = {(one.set_id, one.state): one for one in courses if one.begins_by_itself}
            new = self._keep_new(due)
            if not new:
                return None
            return self.measure_again(owner, new)

    def _keep_new(self, due: Mapping[tuple[str, str], Course]) -> list[Course]:
        """Those that were not tried yet; they count as tried from now on."""
        new = sorted(due.keys() - self._tried)
        self._tried.update(new)
        return [due[key] for key in new]

    def team_courses(self, owner: str, set_id: str = "") -> list[TeamCourse]:
        """How teams stand on the sets that they were tried with and that are still there, or on one
        alone.
        """
        from agentkit.ledger.evaluations.courses import find_courses
        from agentkit.teams import teams

        history = self.evaluations.history(owner, set_id)
        if not history:
            return []
        questions = self.library.questions
        sets = {one.id for one in questions.sets(owner)}
        known = [one for one in history if one.began.set_id in sets]
        newest = {team.id: team.id for team in teams()}
        newest |= {one.id: one.key for one in self.kept_teams.newest(owner)}
        return find_courses(known, newest, self.model().id, questions.accepted(owner))

    def evaluate_again(self, owner: str, course: TeamCourse) -> Run[Evaluation]:
        """Put the set to the team once more, as it is now; raises what `evaluate_team` does."""
        began = course.latest.began
        return self.evaluate_team(
            owner,
            course.team_id,
            self.library.questions.one(owner, began.set_id).name,
            collection=began.collection,
            model_id=course.model_id,
            at_once=began.at_once,
        )

    def evaluate_due(self, owner: str, courses: Iterable[TeamCourse]) -> list[Run[Evaluation]]:
        """Put those sets to teams again that are due and that people set to it, though it may cost
        money; nothing while others are being tried. What cannot begin is left to a click, which
        tells why.
        """
        by_itself = {one.id for one in self.library.questions.sets(owner) if one.asks_teams}
        due = [one for one in courses if one.is_due and one.latest.began.set_id in by_itself]
        begun: list[Run[Evaluation]] = []
        with self._trying:
            if runs.live(owner, kind=results.KIND):
                return []
            for one in due:
                begun += self._try_once(owner, one)
        return begun

    def _try_once(self, owner: str, course: TeamCourse) -> list[Run[Evaluation]]:
        """The run that begins; none where it was tried already, or cannot begin."""
        began = course.latest.began
        key = (began.set_id, began.collection, course.team_id, course.model_id)
        if key in self._tried:
            return []
        self._tried.add(key)
        try:
            return [self.evaluate_again(owner, course)]
        except AgentkitError as error:
            log.warning("%s was not tried again: %s", course.team_id, error)
            return []


def _name(courses: Sequence[Course]) -> str:
    """`Drinks on Kitchen and 2 more`."""
    first, others = courses[0], len(courses) - 1
    name = f"{first.set_name} on {first.collection}"
    if others:
        name += f" and {others} more"
    return name
