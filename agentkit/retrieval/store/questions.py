"""Sets of questions whose right documents are known, and what a search scored on them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from agentkit.core.given import pick_filled
from agentkit.database import Database, Row
from agentkit.errors import ConfigError, NotFound
from agentkit.messages import new_id
from agentkit.retrieval.names import check_name, utf8
from agentkit.retrieval.options import SearchOptions
from agentkit.retrieval.store.courses import Course, describe_contents, find_courses
from agentkit.retrieval.types import utc_now

HIGHEST_GRADE = 1_000


@dataclass(frozen=True, slots=True)
class Question:
    """A question and the documents that answer it, by name, each with how well it does: 1, or more
    for a better one.

    Raises ConfigError when the question is empty, no document is named, or a grade cannot be.
    """

    text: str
    expected: Mapping[str, int]

    def __post_init__(self) -> None:
        if not self.text.strip():
            raise ConfigError("A question is empty; type what is asked.")
        if not self.expected or not all(map(str.strip, self.expected)):
            raise ConfigError(
                f"The question {self.text[:80]!r} has no expected document; name at least one that"
                " answers it."
            )
        for name, grade in self.expected.items():
            is_whole = type(grade) is int  # files may have anything
            if not is_whole or grade not in range(1, HIGHEST_GRADE + 1):
                raise ConfigError(
                    f"The grade of {name!r} is {grade!r}; give a whole number from 1 to"
                    f" {HIGHEST_GRADE:,}."
                )


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """A named set of questions of one owner."""

    id: str
    owner: str
    name: str
    collection: str
    """Name of the collection that it was made for; empty for none. It can be measured on others
    too.
    """
    created_at: datetime
    questions: int
    """How many there are."""
    repeats: bool = False
    """Whether it is measured again by itself when what it was measured on changes."""
    asks_teams: bool = False
    """Whether it is put to a team again by itself when that has a newer version or another model
    is chosen, which may cost money.
    """


@dataclass(frozen=True, slots=True)
class QuestionResult:
    """What a search found for one question."""

    question: str
    ranks: Mapping[str, int | None]
    """Place of every expected document among the documents found, from 1; None when it was not
    found.
    """
    ndcg_10: float
    hit: bool
    """Whether one of them is among the passages that a chat gets."""
    seconds: float
    """That the search took with the settings of the chat."""

    @property
    def best_rank(self) -> int | None:
        """Place of the first expected document; None when none was found."""
        return min((rank for rank in self.ranks.values() if rank is not None), default=None)


@dataclass(frozen=True, slots=True)
class Measurement:
    """What a set scored on a version of a collection with these options."""

    id: str
    set_id: str
    collection: str
    """Its name then."""
    version_id: str
    options: SearchOptions
    figures: Mapping[str, float]
    """Means over the questions, 0 to 1: `recall_1`, `recall_5`, `recall_10`, `recall_100`,
    `ndcg_10`, `mrr_10`, `hit_rate`;
    seconds of a search: `mean_s`, `p50_s`, `p95_s`; and `questions`, how many there were.
    """
    created_at: datetime
    results: tuple[QuestionResult, ...] = ()
    """By question; a history leaves them out."""
    contents: str = ""
    """What the documents of the collection were, as `Questions.describe_contents` tells; empty
    where nobody noted it.
    """
    is_usual: bool = False
    """Whether chats searched like this then."""


class Questions:
    """The question sets of all owners; share it between threads."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def sets(self, owner: str) -> list[QuestionSet]:
        """The owner's sets by name."""
        return [
            QuestionSet(**row)
            for row in self._database.rows(f"{_SETS} order by lower(s.name), s.name", [owner])
        ]

    def one(self, owner: str, set_id: str) -> QuestionSet:
        """The set; raises NotFound."""
        row = self._database.row(f"{_SETS} and s.id = ?", [owner, set_id])
        if row is None:
            raise NotFound(f"There is no question set {set_id!r}; it may have been deleted.")
        return QuestionSet(**row)

    def named(self, owner: str, name: str) -> QuestionSet:
        """The set of that name; raises NotFound."""
        known = {one.name: one for one in self.sets(owner)}
        if name not in known:
            there = "there are none yet. Make one in the retrieval lab."
            if known:
                there = f"there are: {', '.join(known)}."
            raise NotFound(f"There is no question set {name!r}; {there}")
        return known[name]

    def create(
        self, owner: str, name: str, collection: str = "", questions: Sequence[Question] = ()
    ) -> QuestionSet:
        """A new set, for a collection; raises ConfigError when the name cannot be used or is
        taken.
        """
        with self._database.transaction():
            row = {
                "id": new_id(),
                "owner": owner,
                "name": self._free_name(owner, name),
                "collection": collection,
            }
            self._database.insert("question_sets", {**row, "created_at": utc_now()})
            self._insert(row["id"], questions)
        return self.one(owner, row["id"])

    def rename(self, owner: str, set_id: str, name: str) -> QuestionSet:
        """Give it another name; raises NotFound, and ConfigError when the name cannot be used or is
        taken.
        """
        with self._database.transaction():
            if name.strip() != self.one(owner, set_id).name:
                self._database.execute(
                    "update question_sets set name = ? where id = ?",
                    [self._free_name(owner, name), set_id],
                )
        return self.one(owner, set_id)

    def set_repeats(self, owner: str, set_id: str, *, repeats: bool) -> QuestionSet:
        """Let it be measured again by itself, or not; raises NotFound."""
        self.one(owner, set_id)
        self._database.execute(
            "update question_sets set repeats = ? where id = ?", [repeats, set_id]
        )
        return self.one(owner, set_id)

    def set_asks_teams(self, owner: str, set_id: str, *, asks_teams: bool) -> QuestionSet:
        """Let it be put to teams again by itself, or not; raises NotFound."""
        self.one(owner, set_id)
        self._database.execute(
            "update question_sets set asks_teams = ? where id = ?", [asks_teams, set_id]
        )
        return self.one(owner, set_id)

    def accept(self, owner: str, set_id: str, made_id: str) -> None:
        """Warn no more of what this measurement, or this evaluation of a team, scored with the set;
        raises NotFound.
        """
        with self._database.transaction():
            self.one(owner, set_id)
            self._database.insert("accepted", {"set_id": set_id, "made_id": made_id})

    def accepted(self, owner: str) -> frozenset[str]:
        """The ids of measurements and evaluations that the owner took as they are."""
        rows = self._database.rows(
            """select made_id from accepted a join question_sets s on s.id = a.set_id
            where s.owner = ?""",
            [owner],
        )
        return frozenset([row["made_id"] for row in rows])

    def delete(self, owner: str, set_id: str) -> None:
        """Remove a set with its questions, measurements and marks; raises NotFound."""
        with self._database.transaction():
            self.one(owner, set_id)
            for table in ("questions", "measurements", "marks", "accepted"):
                self._database.execute(f"delete from {table} where set_id = ?", [set_id])
            self._database.execute("delete from question_sets where id = ?", [set_id])

    def questions(self, owner: str, set_id: str) -> list[Question]:
        """The set's questions in order; raises NotFound."""
        self.one(owner, set_id)
        rows = self._database.rows(
            "select text, expected from questions where set_id = ? order by ordinal", [set_id]
        )
        return [Question(row["text"], json.loads(row["expected"])) for row in rows]

    def replace_questions(
        self, owner: str, set_id: str, questions: Sequence[Question]
    ) -> QuestionSet:
        """Let the set have these questions instead of those it had; its measurements stay. Raises
        NotFound.
        """
        with self._database.transaction():
            self.one(owner, set_id)
            self._database.execute("delete from questions where set_id = ?", [set_id])
            self._insert(set_id, questions)
        return self.one(owner, set_id)

    def find_expected(self, owner: str, set_id: str, question: str) -> dict[str, int]:
        """The documents that answer this question of the set, with their grades; none where the
        set does not have it. Raises NotFound.
        """
        self.one(owner, set_id)
        sql = (
            "select expected from questions where set_id = ? and text = ? order by ordinal limit 1"
        )
        found = self._database.value(sql, [set_id, utf8(question.strip())])
        return dict(json.loads(found or "{}"))

    def expect(
        self, owner: str, set_id: str, question: str, document: str, grade: int
    ) -> QuestionSet:
        """Let the document answer the question so well, 0 for not at all. A question that the set
        lacks is put at its end; one that no document answers any more leaves it. Raises NotFound.
        """
        text = utf8(question.strip())
        with self._database.transaction():
            expected = self.find_expected(owner, set_id, text)
            expected[utf8(document)] = grade
            kept = pick_filled(expected)
            place = self._remove(set_id, text)
            if kept:
                self._insert(set_id, [Question(text, kept)], place)
        return self.one(owner, set_id)

    def _remove(self, set_id: str, text: str) -> int:
        """Take the question out; gives its place, or that after the last."""
        places = "select coalesce(min(ordinal) filter (text = ?), max(ordinal) + 1, 0)"
        found = self._database.value(f"{places} from questions where set_id = ?", [text, set_id])
        self._database.execute(
            "delete from questions where set_id = ? and text = ?", [set_id, text]
        )
        return int(found)

    def keep(self, owner: str, measurement: Measurement) -> None:
        """Store what a set scored; raises NotFound when the set was deleted meanwhile."""
        figures = {
            "means": measurement.figures,
            "results": [asdict(one) for one in measurement.results],
            "noted": {"contents": measurement.contents, "is_usual": measurement.is_usual},
        }
        with self._database.transaction():
            self.one(owner, measurement.set_id)
            self._database.insert(
                "measurements",
                {
                    "id": measurement.id,
                    "set_id": measurement.set_id,
                    "collection": measurement.collection,
                    "version_id": measurement.version_id,
                    "settings": measurement.options.to_json(),
                    "figures": json.dumps(figures),
                    "created_at": measurement.created_at,
                },
            )

    def history(self, owner: str, set_id: str) -> list[Measurement]:
        """What the set scored so far, newest first, without the results by question; raises
        NotFound.
        """
        self.one(owner, set_id)
        rows = self._database.rows(
            f"{_MEASUREMENTS} where m.set_id = ? order by m.created_at desc, m.id desc", [set_id]
        )
        return [_measurement(row, ()) for row in rows]

    def describe_contents(self, owner: str, collection: str) -> str:
        """A short text that stays the same as long as the collection has the same documents."""
        return describe_contents(self._database, owner, collection)

    def courses(self, owner: str, collection: str = "") -> list[Course]:
        """How each set stands on each collection that it was measured on, or on one alone."""
        return find_courses(self._database, owner, collection)

    def measurement(self, owner: str, measurement_id: str) -> Measurement:
        """What a set scored, with the results by question; raises NotFound."""
        sql = (
            f"{_MEASUREMENTS_WHOLE} join question_sets s on s.id = m.set_id where s.owner = ? and"
            " m.id = ?"
        )
        row = self._database.row(sql, [owner, measurement_id])
        if row is None:
            raise NotFound(
                f"There is no measurement {measurement_id!r}; its question set may have been"
                " deleted."
            )
        return _measurement(row, json.loads(row.pop("results")))

    def _insert(self, set_id: str, questions: Sequence[Question], first: int = 0) -> None:
        import pyarrow

        if not questions:
            return
        rows = [
            {
                "set_id": set_id,
                "ordinal": number,
                "text": utf8(one.text.strip()),
                "expected": json.dumps({utf8(name): grade for name, grade in one.expected.items()}),
            }
            for number, one in enumerate(questions, start=first)
        ]
        kinds = {"ordinal": pyarrow.int32()}
        schema = pyarrow.schema([(name, kinds.get(name, pyarrow.string())) for name in rows[0]])
        self._database.insert_arrow("questions", pyarrow.Table.from_pylist(rows, schema=schema))

    def _free_name(self, owner: str, name: str) -> str:
        name = check_name(name, "question set")
        if any(one.name == name for one in self.sets(owner)):
            raise ConfigError(f"There is a question set {name!r} already; choose another name.")
        return name


def _measurement(row: Row, results: Sequence[Mapping[str, Any]]) -> Measurement:
    return Measurement(
        row["id"],
        row["set_id"],
        row["collection"],
        row["version_id"],
        SearchOptions.from_json(row["settings"]),
        json.loads(row["means"]),
        row["created_at"],
        tuple(QuestionResult(**one) for one in results),
        **json.loads(row["noted"] or "{}"),
    )


_SETS = """select s.id, s.owner, s.name, s.collection, s.created_at,
    (select count(*) from questions q where q.set_id = s.id) as questions, s.repeats, s.asks_teams
    from question_sets s
    where s.owner = ?"""
_COLUMNS = (
    "m.id, m.set_id, m.collection, m.version_id, m.settings, m.created_at, m.figures->'means' as"
    " means, m.figures->'noted' as noted"
)
_MEASUREMENTS = f"select {_COLUMNS} from measurements m"
_MEASUREMENTS_WHOLE = f"select {_COLUMNS}, m.figures->'results' as results from measurements m"
