"""An evaluation as its run told it: what a team answered to each question of a set, and how many
of its citations are right.

Right is a citation of a document that, as the set says, answers the question.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from agentkit.core.given import pick_kind
from agentkit.errors import NotFound
from agentkit.event_json import from_json
from agentkit.events import EvaluationBegan, Event, QuestionBegan, QuestionTried
from agentkit.ledger import run_list
from agentkit.ledger.queries import RunTotals
from agentkit.ledger.run_list import RunFilter
from agentkit.ledger.store import Ledger

KIND = "evaluation"
"""The kind of such a run."""
MOST = 200
"""Evaluations of a history at most, the newest."""


def count_cited(tried: QuestionTried) -> int:
    """The passages that the answer cites."""
    return sum(map(int, tried.cited.values()))


def count_right(tried: QuestionTried) -> int:
    """Those of them that are from an expected document."""
    cited = [int(number) for name, number in tried.cited.items() if name in tried.expected]
    return sum(cited)


def measure_precision(tried: QuestionTried) -> float:
    """The share of its citations that are right; 0 where it cites nothing."""
    return _divide(count_right(tried), count_cited(tried))


def measure_recall(tried: QuestionTried) -> float:
    """The share of the expected documents that it cites."""
    found = tried.expected.keys() & tried.cited.keys()
    return _divide(len(found), len(tried.expected))


def measure_score(tried: QuestionTried) -> float:
    """From 0 to 1, one figure of both: their harmonic mean (F1)."""
    precision, recall = measure_precision(tried), measure_recall(tried)
    return _divide(2 * precision * recall, precision + recall)


def _divide(part: float, whole: float) -> float:
    """The share; 0 of nothing."""
    if not whole:
        return 0.0
    return part / whole


AT_ONCE = 2
"""So many questions of a set are asked at a time."""
Range = tuple[int, int | None]
"""The fewest and the most; None where nothing limits them."""
Basis = Literal["earlier", "chats", "team"]
"""What a forecast is made from: earlier evaluations, chats, or the limits of the team alone."""


@dataclass(frozen=True, slots=True)
class Expected:
    """How many calls of models an evaluation will probably take."""

    questions: int
    each: Range
    """Of one question."""
    basis: Basis

    @property
    def calls(self) -> Range:
        """Of all questions."""
        fewest, most = self.each
        return fewest * self.questions, None if most is None else most * self.questions


@dataclass(frozen=True, slots=True)
class Sums:
    """What a team scored and took over all questions that were asked."""

    asked: int
    failed: int
    no_evidence: int
    """Answers that cite nothing."""
    updates: int
    """How often an agent asked for other passages (UPDATE CONTEXT)."""
    cited: int
    right: int
    """Citations that are right."""
    recall: float
    """Mean share of the expected documents that are cited."""
    score: float
    """Mean of the questions' scores; one that failed has 0."""
    calls: int
    input_tokens: int
    output_tokens: int
    cost: float | None
    """US dollars, as far as prices are known; None where none is."""
    unpriced: int
    seconds: float
    """Of all questions, one after the other."""
    mean_s: float


def sum_up(results: Sequence[QuestionTried]) -> Sums:
    """The sums over these."""

    def add(measure: Callable[[QuestionTried], int]) -> int:
        return sum(map(measure, results))

    costs = [one.cost for one in results if one.cost is not None]
    seconds = [one.seconds for one in results]
    return Sums(
        asked=len(results),
        failed=add(lambda one: one.status == "failed"),
        no_evidence=add(lambda one: one.status == "ok" and not one.cited),
        updates=add(lambda one: one.updates),
        cited=add(count_cited),
        right=add(count_right),
        recall=find_mean(list(map(measure_recall, results))),
        score=find_mean(list(map(measure_score, results))),
        calls=add(lambda one: one.calls),
        input_tokens=add(lambda one: one.input_tokens),
        output_tokens=add(lambda one: one.output_tokens),
        cost=sum(costs) if costs else None,
        unpriced=add(lambda one: one.unpriced),
        seconds=sum(seconds),
        mean_s=find_mean(seconds),
    )


def find_mean(values: Sequence[float]) -> float:
    """The mean; 0 of nothing."""
    return _divide(math.fsum(values), len(values))


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A set of questions that was put to a team; times are UTC without zone."""

    run_id: str
    state: str
    """How its run stands, such as `running`, `finished`, `stopped` or `interrupted`."""
    started_at: datetime
    finished_at: datetime | None
    began: EvaluationBegan
    results: tuple[QuestionTried, ...] = ()
    """By question, as far as they were asked."""
    begun: tuple[QuestionBegan, ...] = ()
    """Of which questions runs began, in their order; of one that is gone on with, a newer one."""

    @property
    def sums(self) -> Sums:
        """What it scored and took."""
        return sum_up(self.results)

    def is_of(self, set_id: str, team: str) -> bool:
        """Whether it is of this set and team; an empty one stands for all."""
        return set_id in ("", self.began.set_id) and team in ("", find_team(self.began.team_id))

    @property
    def is_whole(self) -> bool:
        """Whether all questions were asked."""
        return len(self.results) == self.began.questions


class Evaluations:
    """The evaluations of everybody; each method takes the owner and sees nothing of others."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def history(self, owner: str, set_id: str = "", team_id: str = "") -> list[Evaluation]:
        """The evaluations with a set, by default all, newest first; of a team those of all its
        versions. What was made before its first event was stored is left out, and what is gone on
        with in another one.
        """
        chosen = RunFilter(owner, kinds=(KIND,))
        found = self._read(run_list.list_runs(self._ledger, chosen, limit=MOST))
        team = find_team(team_id)
        whole = [one for one in found if one.state != "continued"]
        return [one for one in whole if one.is_of(set_id, team)]

    def one(self, owner: str, run_id: str) -> Evaluation:
        """An evaluation by the id of its run; raises NotFound."""
        read = self._read([run_list.one(self._ledger, owner, run_id)])
        if not read:
            raise NotFound(f"The run {run_id!r} put no question set to a team.")
        return read[0]

    def _read(self, runs: Sequence[RunTotals]) -> list[Evaluation]:
        told = self._find_told([run.id for run in runs])
        made = [_make(run, told.get(run.id, [])) for run in runs]
        return [one for one in made if one is not None]

    def _find_told(self, run_ids: Sequence[str]) -> Mapping[str, list[Event]]:
        """The events of these runs that tell of evaluations, in their order."""
        if not run_ids:
            return {}
        rows = self._ledger.database.rows(
            """select run_id, kind, data::varchar as data from events
            where list_contains(?, run_id)
            and kind in ('EvaluationBegan', 'QuestionBegan', 'QuestionTried')
            order by run_id, seq""",
            [list(run_ids)],
        )
        found: dict[str, list[Event]] = {}
        for row in rows:
            event = from_json({**json.loads(row["data"]), "kind": row["kind"]})
            found.setdefault(row["run_id"], []).append(event)
        return found


def find_team(team_id: str) -> str:
    """The team itself, whatever its version or variant."""
    return team_id.partition(":")[0]


def _make(run: RunTotals, told: Sequence[object]) -> Evaluation | None:
    began = pick_kind(told, EvaluationBegan)
    if not began:
        return None
    results = sorted(pick_kind(told, QuestionTried), key=lambda one: one.number)
    begun = pick_kind(told, QuestionBegan)
    times = (run.started_at, run.finished_at)
    return Evaluation(run.id, run.state, *times, began[0], tuple(results), tuple(begun))
