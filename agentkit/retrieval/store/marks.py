"""What people said of passages that a search found: whether one answers the question. Each mark
goes on into a question set, so that looking becomes measuring.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agentkit.database import Database
from agentkit.retrieval.names import utf8
from agentkit.retrieval.store.questions import Questions, QuestionSet
from agentkit.retrieval.types import Hit, utc_now


@dataclass(frozen=True, slots=True)
class Mark:
    """That a passage answers a question, or does not."""

    document: str
    """The document's name."""
    start: int
    end: int
    """The passage is the document's text from `start` to `end`."""
    text: str
    right: bool
    grade: int
    """Of the document in the set before anything of it was marked; 0 for none."""

    def is_of(self, hit: Hit) -> bool:
        """Whether the hit shares text with the marked passage."""
        meets = range(max(self.start, hit.start), min(self.end, hit.end))
        return self.document == utf8(hit.document) and len(meets) > 0


class Marks:
    """The marks of all owners; share it between threads."""

    def __init__(self, database: Database, questions: Questions) -> None:
        self._database, self._questions = database, questions

    def of(self, owner: str, set_id: str, question: str) -> list[Mark]:
        """What was marked for a question, the oldest first; raises NotFound."""
        self._questions.one(owner, set_id)
        rows = self._database.rows(_MARKS, [set_id, _normalize(question)])
        return [Mark(**row) for row in rows]

    def keep(
        self, owner: str, set_id: str, question: str, hit: Hit, *, right: bool | None
    ) -> QuestionSet:
        """Say of a hit whether it answers the question; None takes back what was said.

        A document with a passage that is right is expected by the question from then on, which
        joins the set if it is not in it. One whose passages are all wrong is no longer expected;
        a question without any expected document leaves the set. When nothing is said of a document
        any more, it stands as it stood before. Raises NotFound.
        """
        place = [set_id, _normalize(question), utf8(hit.document)]
        with self._database.transaction():
            grade = self._questions.find_expected(owner, set_id, question).get(place[2], 0)
            before = self._find_grade(place, grade)
            self._database.execute(_REMOVE, [*place, hit.end, hit.start])
            if right is not None:
                self._insert(place, hit, right, before)
            decided = _decide(self._find_said(place), grade, before)
            return self._questions.expect(owner, set_id, question, hit.document, decided)

    def _find_grade(self, place: Sequence[str], now: int) -> int:
        """The grade that the document had before it was marked; that of now if it was not."""
        found = self._database.value(f"select max(grade) from marks where {_OF_DOCUMENT}", place)
        if found is None:
            return now
        return int(found)

    def _find_said(self, place: Sequence[str]) -> str:
        """What was said of its passages: `right` if that was said of any, `wrong` or nothing."""
        sql = f"select max(answers::int) from marks where {_OF_DOCUMENT}"
        return _SAID[self._database.value(sql, place)]

    def _insert(self, place: Sequence[str], hit: Hit, right: bool, grade: int) -> None:
        set_id, question, document = place
        row = {
            "set_id": set_id,
            "question": question,
            "document": document,
            "start_at": hit.start,
            "end_at": hit.end,
            "text": utf8(hit.text),
            "answers": right,
            "grade": grade,
            "created_at": utc_now(),
        }
        self._database.insert("marks", row)


def _decide(said: str, grade: int, before: int) -> int:
    """The grade of a document of whose passages this was said; 0 for one that is not expected."""
    grades = {"right": max(grade, before, 1), "wrong": 0, "": before}
    return grades[said]


def _normalize(question: str) -> str:
    """As it stands in a set."""
    return utf8(question.strip())


_SAID = {None: "", 0: "wrong", 1: "right"}
_OF_DOCUMENT = "set_id = ? and question = ? and document = ?"
_MARKS = """select document, start_at as start, end_at as "end", text, answers as right, grade
    from marks where set_id = ? and question = ? order by created_at, start_at"""
_REMOVE = f"delete from marks where {_OF_DOCUMENT} and start_at < ? and end_at > ?"
