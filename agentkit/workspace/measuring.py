"""Question sets that are measured again when what they were measured on has changed."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from agentkit import runs
from agentkit.ledger import Ledger
from agentkit.retrieval import Library
from agentkit.retrieval.evaluation.measuring import measure
from agentkit.retrieval.store.courses import Course
from agentkit.retrieval.store.questions import Measurement
from agentkit.runs import Run

KIND = "measure"
"""The kind of such a run."""


class Measuring:
    """What sets score, and which have to be measured again; by itself a set is tried once for each
    change, as one that fails would fail again.
    """

    library: Library
    ledger: Ledger
    _tried: set[tuple[str, str]]
    _trying: threading.Lock

    def begin_measuring(self) -> None:
        """Nothing was tried so far."""
        self._tried, self._trying = set(), threading.Lock()

    def measure_again(self, owner: str, courses: Sequence[Course]) -> Run[list[Measurement]]:
        """Measure these (one at least) as chats search now, one after the other, in one run."""

        def work() -> list[Measurement]:
            return [_measure(self.library, owner, one) for one in courses]

        first = courses[0]
        others = len(courses) - 1
        return runs.start(
            work,
            kind=KIND,
            title=f"{first.set_name} on {first.collection}" + f" and {others} more" * bool(others),
            owner=owner,
            ledger=self.ledger,
            size=sum(one.questions for one in courses),
        )

    def measure_due(self, owner: str, courses: Sequence[Course]) -> Run[list[Measurement]] | None:
        """Measure those again that are due and set to do so by themselves; None where there are
        none, or others are being measured, or documents still come in.
        """
        with self._trying:
            if runs.live(owner, kind=KIND) or runs.live(owner, kind="ingest"):
                return None
            known = {(one.set_id, one.state): one for one in courses if one.repeats and one.is_due}
            new = known.keys() - self._tried
            self._tried |= new
            if not new:
                return None
            return self.measure_again(owner, [known[key] for key in sorted(new)])


def _measure(library: Library, owner: str, course: Course) -> Measurement:
    usual = library.options(owner, course.collection)
    return measure(library, owner, course.set_id, course.collection, usual)
