"""A question that is asked once more: with the files and in the documents that it had at first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from agentkit.core.given import list_known, pick_kind
from agentkit.errors import ConfigError, NotFound
from agentkit.events import Event, MessageSent, events_of
from agentkit.ledger import Chat, Ledger, StoredMessage, queries
from agentkit.retrieval import Library, Source, StoredDocument
from agentkit.teams import Question, Team
from agentkit.teams.drafts import Begun, drop_broken_word, find_passages, find_talk


@dataclass(frozen=True, slots=True)
class Earlier:
    """A question that was asked before, and what is to be done for its files to be there again."""

    question: Question
    files: tuple[Source, ...] = ()
    """Those that were not taken in."""
    unread: tuple[str, ...] = ()
    """Ids of those documents that could not be read then."""
    missing: tuple[str, ...] = ()
    """Names of those that are no longer there."""


def find_earlier(library: Library, said: StoredMessage, chat: Chat, own: str) -> Earlier:
    """The question of a message; `own` is the collection of what was attached to the chat alone.

    One of a collection that is gone, or that names none, is asked of the chat's.
    """
    owner = chat.owner
    known = {one.id: one.name for one in library.collections(owner)}
    name = known.get(str(said.extra.get("collection_id")), chat.collection)
    question = replace(Question.from_message(said, chat.team), collection=name)
    if also_ids := said.extra.get("also_ids"):  # under their names of today, without those gone
        also = [known[one] for one in list_known(also_ids, known)]
        question = replace(question, also=tuple(also))
    holder = own
    if question.keep_attachments:
        holder = name
    there = _find_documents(library, owner, holder)
    files, unread, missing = [], [], []
    for file in question.attachments:
        found = there.get(file.origin)
        if found is not None and found.status == "indexed":
            continue
        if file.path.is_file():
            files.append(file)
        elif found is not None:
            unread.append(found.id)
        else:
            missing.append(file.name)
    return Earlier(question, tuple(files), tuple(unread), tuple(missing))


def _find_documents(library: Library, owner: str, collection: str) -> dict[str, StoredDocument]:
    """The documents of a collection by where they are from; none if it is gone."""
    shown, hidden = library.collections(owner), library.collections(owner, hidden=True)
    if collection not in [one.name for one in (*shown, *hidden)]:
        return {}
    documents = library.documents(owner, collection)
    return {one.source: one for one in reversed(documents)}


def find_begun(ledger: Ledger, owner: str, question: StoredMessage) -> Begun:
    """What there is of the answer to a question; raises ConfigError when nobody could go on."""
    recorded = queries.events(ledger, owner, question.run_id or "")
    events = events_of(recorded)
    text = drop_broken_word(_read_last_answer(events))
    found = Begun(text, find_talk(events), find_passages(events))
    if found.text or found.said:
        return found
    raise ConfigError("Nothing of that answer had been written; ask the question again.")


def _read_last_answer(events: Sequence[Event]) -> str:
    """What was said last to the person; empty where nothing was."""
    answer = ""
    for said in pick_kind(events, MessageSent):
        if said.role == "assistant" and not said.extra.get("inner"):
            answer = said.content
    return answer


def find_writer(
    find_team: Callable[[str], Team], question: Question, team_id: str
) -> tuple[Team, str]:
    """The team that a question was asked, else that of `team_id`, and who of it writes the answer.

    Raises ConfigError for one whose answers nobody can go on with.
    """
    try:
        asked = find_team(question.team_id)
    except NotFound:
        asked = find_team(team_id)
    if not asked.goes_on:
        raise ConfigError(f"Answers of the team “{asked.name}” cannot be gone on with; ask again.")
    return asked, asked.agents[-1]
