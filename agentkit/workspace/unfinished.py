"""Evaluations that broke off: what they had told, and what the runs of their questions had done, so
that nothing is asked or paid for twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agentkit import runs
from agentkit.core.given import pick_kind
from agentkit.core.replay import Recording
from agentkit.errors import ConfigError
from agentkit.events import QuestionTried, RunStarted, events_of
from agentkit.ledger import Ledger, RunKey, queries
from agentkit.ledger.evaluations.results import KIND, Evaluation, Evaluations
from agentkit.retrieval.store.questions import Question
from agentkit.workspace import resuming


@dataclass(frozen=True, slots=True)
class Unfinished:
    """An evaluation that broke off or was stopped."""

    run: RunKey
    evaluation: Evaluation

    @property
    def told(self) -> Mapping[int, QuestionTried]:
        """What came of the questions that were asked, by their place in the set."""
        return {one.number: one for one in self.evaluation.results}

    @property
    def begun(self) -> Mapping[int, str]:
        """The runs of those that were being asked, by their place in the set."""
        told = self.told
        return {one.number: one.run_id for one in self.evaluation.begun if one.number not in told}

    def check_questions(self, questions: Sequence[Question]) -> None:
        """Raise ConfigError when these are not the questions of then."""
        began = self.evaluation.began
        now = {number: one.text for number, one in enumerate(questions, start=1)}
        asked = {number: one.question for number, one in self.told.items()}
        if len(questions) != began.questions or not asked.items() <= now.items():
            raise ConfigError(
                f"The question set {began.set_name!r} has changed since then; put it to the team"
                " anew."
            )


def find_unfinished(
    ledger: Ledger, evaluations: Evaluations, owner: str, run_id: str
) -> Unfinished:
    """The evaluation of that run; raises NotFound, and ConfigError where there is nothing to go on
    with.
    """
    found = evaluations.one(owner, run_id)
    known = queries.run_state(ledger, owner, run_id)
    resumed = [run.resumes for run in runs.live(owner, kind=KIND)]
    if run_id in resumed or known.state == "continued":
        raise ConfigError(f"The evaluation {run_id} is gone on with already.")
    if found.is_whole:
        raise ConfigError(f"All questions of the evaluation {run_id} were asked.")
    goes_on = known.state == "running" and not runs.find_error(run_id, owner)
    if goes_on:
        raise ConfigError(f"The evaluation {run_id} goes on still.")
    return Unfinished(known.key, found)


@dataclass(frozen=True, slots=True)
class TakenUp:
    """What the run of a question had done by the time it broke off."""

    run_id: str
    recording: Recording
    seconds: float
    """How long it took for that."""


def take_up(ledger: Ledger, owner: str, run_id: str) -> TakenUp | None:
    """What is served to the run that goes on with the one of a question; None where there is
    nothing of it.
    """
    if not run_id:
        return None
    chosen = _find_holder(ledger, owner, run_id)
    recorded = queries.events(ledger, owner, chosen, with_requests=False)
    events = events_of(recorded)
    has_begun = bool(pick_kind(events, RunStarted))
    if not has_begun or not resuming.is_complete(events):
        return None
    key = queries.run_state(ledger, owner, chosen).key
    root = resuming.find_root(ledger, owner, events) or chosen
    recording = resuming.make_recording(ledger, key, events, root)
    return TakenUp(chosen, recording, recorded[-1].at - recorded[0].at)


def _find_holder(ledger: Ledger, owner: str, run_id: str) -> str:
    """The run that has all that was done: one that died before it did anything of its own leaves
    that to the run it had gone on with.
    """
    before = queries.find_resumed(ledger, owner, run_id)
    if before and queries.run_state(ledger, owner, before).state != "continued":
        return _find_holder(ledger, owner, before)
    return run_id
