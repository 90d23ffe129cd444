"""What a person may want to ask next: headings of what was found, or what a model drafts."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from itertools import chain, zip_longest
from typing import TYPE_CHECKING

from agentkit.errors import AgentkitError
from agentkit.events import Purpose, Retrieved
from agentkit.ledger import Ledger, queries
from agentkit.llm import Model
from agentkit.llm.calls.client import call
from agentkit.llm.calls.limits import Limit, limited
from agentkit.llm.calls.room import shorten
from agentkit.messages import message
from agentkit.retrieval import Library
from agentkit.workspace.answering import sum_usage

if TYPE_CHECKING:
    from agentkit.workspace.workspace import Workspace

MOST = 3
PURPOSE: Purpose = "follow-up"
_AGENT = "Follow-ups"
_LONGEST, _SHORTEST = 70, 4  # characters of a heading that says what something is about
_LONGEST_QUESTION = 200
_TOLD = 4_000  # characters of the answer that the model is shown
_DOCUMENTS, _CHUNKS = 6, 30
_STEM = 5  # characters of a word that its other forms have, too
_MARK = re.compile(r"^\s*(?:[-*•]|\d{1,2}[.)])?\s*")
_NUMBER = re.compile(r"^\d{1,2}(?:\.\d{1,2})*\.\s+|^\d{1,2}(?:\.\d{1,2})+\s+")
_CELLS = "|"  # between the names of a table's columns, which nobody asks about
_WORD = re.compile(r"\w{3,}")
_INSTRUCTIONS = (
    "Write the three questions that the person is likely to ask next about the same documents, in"
    " the language of their question: one a line, each below 12 words, without numbers or any other"
    " text."
)


def find_headings(ledger: Ledger, owner: str, run_id: str, asked: str) -> list[str]:
    """Headings of passages that were found for a question and that it does not name itself."""
    found = []
    for _, event in queries.told(ledger, owner, [run_id], Retrieved):
        for hit in event.hits:
            passage = (str(hit.get("heading", "")), str(hit.get("text", "")))
            found.append(passage)
    known = _words(asked)
    return [one for one in _choose(found, len(found)) if not _words(one) <= known][:MOST]


def list_headings(library: Library, owner: str, collection: str, most: int) -> list[str]:
    """Headings of the newest documents of a collection, of each document in turn; raises
    NotFound.
    """
    ready = [one for one in library.documents(owner, collection) if one.status == "indexed"]
    of_each = []
    for document in ready[:_DOCUMENTS]:
        passages = _read_headings(library, owner, document.id)
        of_each.append(_choose(passages, most))
    in_turn = filter(None, chain.from_iterable(zip_longest(*of_each)))
    return list(dict.fromkeys(in_turn))[:most]


def draft(workspace: Workspace, chat_id: str, model: Model, asked: str, answer: str) -> list[str]:
    """Questions that a language model drafts, in one call with a purpose of its own.

    Empty where it does not answer, or a limit of the chat is reached: nobody waits for them.
    """
    owner, settings = workspace.settings.owner, workspace.settings
    told = f"Question:\n{shorten(asked, _TOLD)}\n\nAnswer:\n{shorten(answer, _TOLD)}"
    most = Limit(settings.chat_tokens, settings.chat_dollars)
    chat = workspace.ledger.chat(owner, chat_id)
    with (
        suppress(AgentkitError),
        workspace.counted(owner, _AGENT, PURPOSE),
        limited(Limit(), most, sum_usage(workspace.ledger, chat)),
    ):
        messages = [message("system", _INSTRUCTIONS), message("user", told)]
        return read_questions(call(model, messages, agent=_AGENT, attempts=1).text)
    return []


def read_questions(reply: str) -> list[str]:
    """The questions of a reply, one a line, without the marks of a list."""
    questions: dict[str, None] = {}
    for line in reply.splitlines():
        text = " ".join(_MARK.sub("", line).split())
        asks = "?" in text or "？" in text
        if asks and len(text) <= _LONGEST_QUESTION:
            questions[text] = None
    return list(questions)[:MOST]


def _read_headings(library: Library, owner: str, document_id: str) -> list[tuple[str, str]]:
    chunks = library.chunks(owner, document_id, limit=_CHUNKS)
    return [(chunk.heading, chunk.text) for chunk in chunks]


def _choose(passages: Iterable[tuple[str, str]], most: int) -> list[str]:
    """The headings of passages that say what something is about, each once."""
    headings = {_last_part(heading): text for heading, text in reversed(list(passages))}
    fitting = [one for one in reversed(headings) if _is_spoken_of(one, headings[one])]
    return fitting[:most]


def _is_spoken_of(heading: str, text: str) -> bool:
    """Whether a word of the heading comes again below it, so that a question about it finds it."""
    if _CELLS in heading or not _SHORTEST <= len(heading) <= _LONGEST:
        return False
    below = text.replace(heading, " ", 1).lower()
    return any(word[:_STEM].removesuffix("s") in below for word in _words(heading))


def _last_part(heading: str) -> str:
    """Without those above it, and without its number."""
    return _NUMBER.sub("", " ".join(heading.rpartition(" > ")[2].split()))


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.lower()))
