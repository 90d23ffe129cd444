"""How question sets stand on collections: what chats' search scored last, and whether what it was
measured on has changed since.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from agentkit.database import Database

Cause = Literal["documents", "index", "settings"]
"""Other documents, another index version, or another way of searching."""


@dataclass(frozen=True, slots=True)
class Course:
    """A set on a collection that it was measured on and that is still there."""

    set_id: str
    set_name: str
    questions: int
    repeats: bool
    """Whether it is measured again by itself."""
    collection: str
    now_id: str
    """The newest measurement of the search as chats search now; empty for none."""
    before_id: str
    """The newest before that, of chats' search as it was then; empty for none."""
    causes: tuple[Cause, ...]
    """What changed in between."""
    state: str
    """A text that is another one with each change of these."""
    is_accepted: bool
    """Whether a person took what it scores now for granted."""

    @property
    def is_due(self) -> bool:
        """Whether it is to be measured again."""
        return not self.now_id and bool(self.before_id)

    @property
    def begins_by_itself(self) -> bool:
        """Whether it is measured again as soon as it can be."""
        return self.is_due and self.repeats


def find_courses(database: Database, owner: str, collection: str = "") -> list[Course]:
    """How each set of the owner stands on each collection, or on one alone, by name."""
    rows = database.rows(_COURSES, [owner, owner, collection, collection])
    return [Course(**{**row, "causes": tuple(row["causes"])}) for row in rows]


def describe_contents(database: Database, owner: str, collection: str) -> str:
    """A short text that stays the same as long as the collection has the same documents."""
    found = database.value(
        f"""select {_CONTENTS} from documents where status = 'indexed' and collection_id =
        (select id from collections where owner = ? and name = ?)""",
        [owner, collection],
    )
    return str(found)


_CONTENTS = "count(*) || ':' || coalesce(bit_xor(md5_number(name || ':' || sha256)), 0)"
_COURSES = f"""
with states as (
    select c.name as collection, v.id as version_id, coalesce(c.settings::varchar, '{{}}') as
    settings, (select {_CONTENTS} from documents where collection_id = c.id and status = 'indexed')
    as contents
    from collections c join index_versions v on v.collection_id = c.id and v.state = 'active'
    where c.owner = ?),
noted as (
    select m.*, coalesce(m.figures->'noted'->>'contents', '') as contents,
    coalesce(cast(m.figures->'noted'->>'is_usual' as boolean), true) as is_usual
    from measurements m),
made as (
    select m.id, m.set_id, m.collection, m.created_at, m.is_usual, s.name as set_name, s.repeats,
    m.id in (select made_id from accepted) as is_accepted,
    (select count(*) from questions q where q.set_id = s.id) as questions,
    concat_ws(' ', t.contents, t.version_id, t.settings) as state,
    list_filter([
        case when m.contents not in ('', t.contents) then 'documents' end,
        case when m.version_id <> t.version_id then 'index' end,
        case when m.settings::varchar <> t.settings then 'settings' end],
        lambda cause: cause is not null) as causes
    from noted m join question_sets s on s.id = m.set_id
    join states t on t.collection = m.collection
    where s.owner = ? and (? = '' or m.collection = ?)),
placed as (
    select *, max(created_at) filter (len(causes) = 0) over (partition by set_id, collection)
    as now_at from made),
earlier as (
    select *, is_usual and len(causes) > 0 and (now_at is null or created_at < now_at) as is_before
    from placed)
select set_id, set_name, questions, repeats, collection, state,
coalesce(arg_max(id, created_at) filter (len(causes) = 0), '') as now_id,
coalesce(arg_max(id, created_at) filter (is_before), '') as before_id,
coalesce(arg_max(causes, created_at) filter (is_before), []) as causes,
coalesce(bool_or(is_accepted and len(causes) = 0), false) as is_accepted
from earlier where questions > 0
group by set_id, set_name, questions, repeats, collection, state
order by lower(set_name), set_id, collection"""
"""Older measurements know nothing of documents, nor whether chats searched like them: for these the
documents count as the same, and the settings as those of chats.
"""
