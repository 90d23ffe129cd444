"""What changed in the figures of a search after what they were measured on had changed."""

from __future__ import annotations

from agentkit.core.intervals import Verdict
from agentkit.retrieval.evaluation.comparing import Difference, compare
from agentkit.retrieval.library import Library
from agentkit.retrieval.store.courses import Course

DECIDING = "ndcg_10"
"""The figure that says whether a search got worse."""


def compare_course(library: Library, owner: str, course: Course) -> Difference | None:
    """By how much the deciding figure changed; None where there is nothing to compare."""
    if "" in (course.now_id, course.before_id):
        return None
    now = library.questions.measurement(owner, course.now_id)
    before = library.questions.measurement(owner, course.before_id)
    return compare(before.results, now.results)[DECIDING]


def is_warned(course: Course, verdict: Verdict) -> bool:
    """Whether people have to be told that it got worse by more than chance."""
    return verdict == "worse" and not course.is_accepted
