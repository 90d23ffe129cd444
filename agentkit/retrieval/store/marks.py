"""What people said of passages that a search found: whether one answers the question. Each mark
goes on into a question set, so that looking becomes measuring.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agentkit.database import Database
from agentkit.retrieval.names import utf8
from agentkit.retrieval.store.questions import Question, Questions, QuestionSet
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
        return self.document == utf8(hit.document) and self._meets(hit.start, hit.end)

    def _meets(self, start: int, end: int) -> bool:
        return self.start < end and start < self.end


class Marks:
    """The marks of all owners; share it between threads."""

    def __init__(self, database: Database, questions: Questions) -> None:
        self._database, self._questions = database, questions

    def of(self, owner: str, set_id: str, question: str) -> list[Mark]:
        """What was marked for a question, the oldest first; raises NotFound."""
        self._questions.one(owner, set_id)
        rows = self._database.rows(_MARKS, [set_id, _asked(question)])
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
        with self._database.transaction():
            known = self._marks_of(owner, set_id, question, hit)
            questions = self._questions.questions(owner, set_id)
            grade = _grade_in(questions, question, hit.document)
            before = known[0].grade if known else grade
            said = self._replace(set_id, question, hit, right, before)
            left = [mark for mark in known if not mark.is_of(hit)]
            verdicts = {*[mark.right for mark in left], *said}
            changed = _with_grade(
                questions, question, hit.document, _decide(verdicts, grade, before)
            )
            return self._questions.replace_questions(owner, set_id, changed)

    def _marks_of(self, owner: str, set_id: str, question: str, hit: Hit) -> list[Mark]:
        """What was marked in the hit's document."""
        marks = self.of(owner, set_id, question)
        return [mark for mark in marks if mark.document == utf8(hit.document)]

    def _replace(
        self, set_id: str, question: str, hit: Hit, right: bool | None, grade: int
    ) -> list[bool]:
        """Keep the mark in the place of those it meets; gives what was said."""
        place = [set_id, _asked(question), utf8(hit.document)]
        self._database.execute(_REMOVE, [*place, hit.end, hit.start])
        if right is None:
            return []
        row = {
            **dict(zip(("set_id", "question", "document"), place, strict=True)),
            "start_at": hit.start,
            "end_at": hit.end,
            "text": utf8(hit.text),
            "answers": right,
            "grade": grade,
            "created_at": utc_now(),
        }
        self._database.insert("marks", row)
        return [right]


def _decide(verdicts: set[bool], grade: int, before: int) -> int:
    """The grade of a document of whose passages this was said; 0 for one that is not expected."""
    if True in verdicts:
        return max(grade, before, 1)
    if verdicts:
        return 0
    return before


def _asked(question: str) -> str:
    """As it stands in a set."""
    return utf8(question.strip())


def _grade_in(questions: Sequence[Question], question: str, document: str) -> int:
    """How well the document answers the question, as the set has it; 0 if it does not."""
    found = [one.expected for one in questions if one.text == _asked(question)]
    return found[0].get(utf8(document), 0) if found else 0


def _with_grade(
    questions: Sequence[Question], question: str, document: str, grade: int
) -> list[Question]:
    """The questions, with the document expected like this."""
    text, name = _asked(question), utf8(document)
    expected = dict[str, int]()
    for one in questions:
        if one.text == text:
            expected.update(one.expected)
    expected[name] = grade
    if not grade:
        del expected[name]
    changed = [Question(text, expected)] if expected else []
    texts = [one.text for one in questions]
    place = texts.index(text) if text in texts else len(texts)
    return [*questions[:place], *changed, *questions[place + 1 :]]


_MARKS = """select document, start_at as start, end_at as "end", text, answers as right, grade
    from marks where set_id = ? and question = ? order by created_at, start_at"""
_REMOVE = """delete from marks where set_id = ? and question = ? and document = ?
    and start_at < ? and end_at > ?"""
