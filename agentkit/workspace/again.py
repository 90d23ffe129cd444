"""A question that is asked once more: with the files and in the documents that it had at first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentkit.errors import ConfigError, NotFound
from agentkit.events import MessageSent
from agentkit.ledger import Ledger, StoredMessage, queries
from agentkit.retrieval import Library, Source
from agentkit.teams import team
from agentkit.teams.continuing import Begun, said_by_agents
from agentkit.teams.task import Team
from agentkit.teams.written import passages_in, whole_words


@dataclass(frozen=True, slots=True)
class Earlier:
    """What is left of what a question had when it was asked first."""

    collection: str
    """The name of its collection."""
    attached: tuple[str, ...] = ()
    """Names of the files that went along."""
    kept: bool = False
    """Whether they were taken into the collection."""
    files: tuple[Source, ...] = ()
    """Those that were not taken in."""
    unread: tuple[str, ...] = ()
    """Ids of those documents that could not be read then."""
    missing: tuple[str, ...] = ()
    """Names of those that are no longer there."""


def facts_of(collection_id: str, team_id: str, files: Sequence[Source], kept: bool) -> dict[str, Any]:
    """What travels with a question, so that it can be asked once more."""
    facts: dict[str, Any] = {"collection_id": collection_id, "team": team_id}
    if files:
        facts |= {"attachments": [file.name for file in files], "kept": kept}
        facts["files"] = [[file.name, str(file.path), file.origin] for file in files]
    return facts


def earlier(
    library: Library, question: StoredMessage, owner: str, collection: str, own: str
) -> Earlier:
    """What is left of it; `own` is the collection of what was attached to the chat alone.

    A question of a collection that is gone, or that names none, is asked of `collection`.
    """
    known = {one.id: one.name for one in library.collections(owner)}
    name = known.get(str(question.extra.get("collection_id")), collection)
    attached = tuple(question.extra.get("attachments", ()))
    kept = bool(question.extra.get("kept"))
    if not attached:
        return Earlier(name)
    given = {
        str(label): Source(str(label), Path(path), str(origin))
        for label, path, origin in question.extra.get("files", ())
    }
    place = name if kept else own
    hidden = [one.name for one in library.collections(owner, hidden=True)]
    there = library.documents(owner, place) if place in (*known.values(), *hidden) else []
    files, unread, missing = [], [], []
    for label in attached:
        origin = given[label].origin if label in given else f"upload:{label}"
        found = next((one for one in there if one.source == origin), None)
        if found is not None and found.status == "indexed":
            continue
        if label in given and given[label].path.is_file():
            files.append(given[label])
        elif found is not None:
            unread.append(found.id)
        else:
            missing.append(label)
    return Earlier(name, attached, kept, tuple(files), tuple(unread), tuple(missing))


def begun(ledger: Ledger, owner: str, question: StoredMessage) -> Begun:
    """What there is of the answer to a question; raises ConfigError when nobody could go on."""
    events = [one.event for one in queries.events(ledger, owner, question.run_id or "")]
    answers = [
        one.content
        for one in events
        if isinstance(one, MessageSent) and one.role == "assistant" and not one.extra.get("inner")
    ]
    found = Begun(
        whole_words(answers[-1]) if answers else "",
        said_by_agents(events),
        passages_in(events),
    )
    if not (found.text or found.said):
        raise ConfigError("Nothing of that answer had been written; ask the question again.")
    return found


def writer_of(question: StoredMessage, team_id: str) -> tuple[Team, str]:
    """The team that a question was asked, and who of it writes the answer.

    Raises ConfigError for one whose answers nobody can go on with.
    """
    try:
        asked = team(str(question.extra.get("team") or team_id))
    except NotFound:
        asked = team(team_id)
    if not asked.goes_on:
        raise ConfigError(f"Answers of the team “{asked.name}” cannot be gone on with; ask again.")
    return asked, asked.agents[-1]
