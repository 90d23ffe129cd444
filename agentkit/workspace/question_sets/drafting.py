"""Questions that a model drafts from documents, each with the document that answers it, for a
person to choose from.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING

from agentkit import runs
from agentkit.core import bus, stopping
from agentkit.errors import ConfigError
from agentkit.events import QuestionDrafted, Usage
from agentkit.ledger import Ledger, queries, run_list
from agentkit.ledger.queries import RunTotals
from agentkit.ledger.run_list import RunFilter
from agentkit.llm import Model
from agentkit.llm.calls.budgets import budgeted
from agentkit.llm.calls.client import call
from agentkit.llm.calls.room import shorten
from agentkit.llm.tokens.counting import count_text
from agentkit.messages import message
from agentkit.retrieval import Library, StoredDocument
from agentkit.runs import Run
from agentkit.workspace.followups import read_questions

if TYPE_CHECKING:
    from agentkit.workspace.workspace import Workspace

KIND = "draft questions"
"""The kind of such a run."""
MOST = 100
"""Questions that one run drafts at most."""
_AGENT = "Drafting"
_CHUNKS = 3  # of a document that the model reads
_LONGEST = 6_000  # characters of them
_OF_REPLY = 40  # tokens that a question takes, about
_SEARCHED = 50  # newest runs among which the last of a collection is looked for
_INSTRUCTIONS = (
    "Write one question that somebody who does not know this text would ask and that it answers, in"
    " the language of the text, below 25 words. Name what it is about, so that the question is"
    " understood without the text; do not speak of a text, document or passage. Reply with the"
    " question alone, or with NONE if the text answers no question that anybody would ask."
)


@dataclass(frozen=True, slots=True)
class DraftCost:
    """What drafting will probably take."""

    calls: int
    tokens: int
    """Of prompts and replies together, about."""
    cost: float | None
    """US dollars, about; None where the price is unknown."""


@dataclass(frozen=True, slots=True)
class Drafted:
    """A run that drafted questions, and what it has drafted so far."""

    run_id: str
    started_at: datetime
    """UTC without zone."""
    drafts: tuple[QuestionDrafted, ...]


def choose_documents(
    library: Library, owner: str, collection: str, number: int, known: Sequence[str] = ()
) -> list[StoredDocument]:
    """So many documents from all over the collection; those that are `known` by name only when
    there are too few others. Raises NotFound.
    """
    asked = frozenset(known)
    there = list(filter(_CHUNKS_OF, library.documents(owner, collection)))
    there.sort(key=lambda one: (one.name in asked, one.name))
    new = len(there) - sum(each in asked for each in map(_NAME_OF, there))
    return [*_spread(there[:new], number), *_spread(there[new:], max(0, number - new))]


_CHUNKS_OF: Callable[[StoredDocument], int] = attrgetter("chunks")
_NAME_OF: Callable[[StoredDocument], str] = attrgetter("name")


def _spread(documents: Sequence[StoredDocument], number: int) -> list[StoredDocument]:
    """So many of them at even distances, all where there are no more."""
    count = min(number, len(documents))
    return [documents[place * len(documents) // count] for place in range(count)]


def estimate_cost(model: Model, documents: Sequence[StoredDocument]) -> DraftCost:
    """What it will take to draft a question from each of these."""
    asked, _ = count_text(_INSTRUCTIONS, model.name)
    read = sum(map(_estimate_read, documents))
    usage = Usage(asked * len(documents) + read, output=_OF_REPLY * len(documents))
    return DraftCost(len(documents), usage.total, model.price(usage))


def _estimate_read(document: StoredDocument) -> int:
    """Tokens that the model reads of the document, by what its chunks have on average."""
    return round(document.tokens / document.chunks * min(_CHUNKS, document.chunks))


def draft_questions(
    workspace: Workspace, owner: str, collection: str, model: Model, documents: Sequence[str]
) -> Run[int]:
    """Draft a question from each document by id, in a run; gives how many there are.

    Each is told by QuestionDrafted once it is there, so a run that is stopped or fails keeps what
    it had. Raises ConfigError at once for a model that only quotes.
    """
    if not model.is_language_model:
        raise ConfigError(f"{model.label} only quotes and cannot write questions; choose another.")
    name = workspace.library.collection(owner, collection).name

    def work() -> int:
        run = runs.current()
        assert run is not None  # started below
        with budgeted(workspace.bill.purse(owner, "", run.id)):
            drafts = [_draft(workspace.library, owner, name, model, one) for one in documents]
        return len(list(filter(None, drafts)))

    return runs.start(
        work,
        kind=KIND,
        title=f"{len(documents)} questions from {name}",
        owner=owner,
        ledger=workspace.ledger,
        size=len(documents),
    )


def _draft(library: Library, owner: str, collection: str, model: Model, document_id: str) -> str:
    """Draft one and tell it; empty where the model finds nothing to ask."""
    stopping.check()
    document = library.document(owner, document_id)
    messages = [
        message("system", _INSTRUCTIONS),
        message("user", _excerpt(library, owner, document)),
    ]
    reply = call(model, messages, agent=_AGENT).text
    stopping.check()  # a reply that was cut off is not JSON
    question = "".join(read_questions(reply)[:1])
    bus.emit(QuestionDrafted(collection, document.id, document.name, question))
    return question


def _excerpt(library: Library, owner: str, document: StoredDocument) -> str:
    """Some chunks that follow each other, from another place in each document."""
    last = max(0, document.chunks - _CHUNKS)
    first = zlib.crc32(document.id.encode()) % (last + 1)
    chunks = library.chunks(owner, document.id, first, _CHUNKS)
    told = "\n".join([f"{chunk.heading}\n{chunk.text}" for chunk in chunks])
    return shorten(told, _LONGEST)


def find_drafted(ledger: Ledger, owner: str, collection: str) -> Drafted | None:
    """The newest run that drafted questions from this collection; None where there is none."""
    newest = run_list.list_runs(ledger, RunFilter(owner, kinds=(KIND,)), limit=_SEARCHED)
    started: dict[str, datetime] = dict(map(_START_OF, reversed(newest)))
    told = queries.told(ledger, owner, list(started), QuestionDrafted)
    for run_id, events in groupby(told, itemgetter(0)):
        drafts = tuple(map(_EVENT_OF, events))[::-1]
        if drafts[0].collection == collection:
            return Drafted(run_id, started[run_id], drafts)
    return None


_START_OF: Callable[[RunTotals], tuple[str, datetime]] = attrgetter("id", "started_at")
_EVENT_OF: Callable[[tuple[str, QuestionDrafted]], QuestionDrafted] = itemgetter(1)
