"""Words looked for in what was said: accents and capitals do not matter, quotes keep a phrase
together.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from agentkit.database import Database, Row

Part = tuple[str, bool]
"""A piece of a snippet, and whether it is one of the words that were looked for."""

LONGEST = 300
"""Letters of a search that are looked for; what is longer is cut."""
_BEFORE, _LENGTH = 60, 200
"""Letters of a snippet before the first word that was found, and in all."""
_OF_A_CHAT = 3
"""Messages of one chat that a search through all chats gives."""
_TERMS = re.compile(r'"([^"]*)"?|(\S+)')


@dataclass(frozen=True, slots=True)
class FoundMessage:
    """A message that has all the words; times are UTC without zone."""

    chat_id: str
    title: str
    """Of its chat."""
    message_id: str
    run_id: str | None
    role: str
    sender: str
    said_at: datetime
    snippet: tuple[Part, ...]


def fold(text: str) -> str:
    """The text without capitals and accents, as it is compared."""
    if text.isascii():
        return text.lower()
    apart = unicodedata.normalize("NFD", text.lower())
    return "".join(letter for letter in apart if not unicodedata.combining(letter))


def read_terms(words: str) -> list[str]:
    """What each message has to have: words, and what stood in quotes; folded, each once."""
    found = (quoted or word for quoted, word in _TERMS.findall(words[:LONGEST]))
    terms = (" ".join(fold(term).split()) for term in found)
    return list(dict.fromkeys(filter(None, terms)))


def has_terms(column: str, terms: list[str]) -> str:
    """The SQL condition that a folded column has all of them; its values are the terms."""
    return " and ".join([f"contains({column}, ?)"] * len(terms)) or "true"


FOLDED_MESSAGE = "coalesce(m.folded, strip_accents(lower(m.content)))"
"""What a message says, folded; messages of older versions are folded when they are read."""
FOLDED_TITLE = "strip_accents(lower(c.title))"


def find_messages(
    database: Database, owner: str, words: str, chat_id: str = "", limit: int = 30
) -> list[FoundMessage]:
    """The messages that have all the words, newest first; in one chat, or at most three of each."""
    terms = read_terms(words)
    if not terms:
        return []
    of_one = "c.id = ?" if chat_id else "? = ''"
    most = limit if chat_id else _OF_A_CHAT
    found = database.rows(
        f"""with found as (
            select m.id, m.chat_id, m.created_at from messages m
            where {has_terms(FOLDED_MESSAGE, terms)}),
        of_owner as (
            select f.*, c.title from found f join chats c on c.id = f.chat_id
            where c.owner = ? and c.deleted_at is null and {of_one}
            qualify row_number() over (
                partition by f.chat_id order by f.created_at desc, f.id) <= ?
            order by f.created_at desc, f.id limit ?)
        select o.title, m.* exclude (folded) from of_owner o join messages m on m.id = o.id
        order by m.created_at desc, m.id""",
        [*terms, owner, chat_id, most, limit],
    )
    return [_read_found(row, terms) for row in found]


def _read_found(row: Row, terms: list[str]) -> FoundMessage:
    return FoundMessage(
        row["chat_id"],
        row["title"],
        row["id"],
        row["run_id"],
        row["role"],
        row["sender"],
        row["created_at"],
        make_snippet(row["content"], terms),
    )


def make_snippet(text: str, terms: list[str]) -> tuple[Part, ...]:
    """A line out of the text around the first of the terms, in parts: the terms and what is
    between them.
    """
    folded, places = _fold_with_places(text)
    spans = [(places[start], places[end]) for start, end in _find_spans(folded, terms)]
    first = spans[0][0] if spans else 0
    begin = max(0, first - _BEFORE)
    end = min(len(text), begin + _LENGTH)
    parts: list[Part] = [("…", False)] if begin else []
    at = begin
    for start, stop in spans:
        if start < at or stop > end:
            continue
        parts += [(text[at:start], False), (text[start:stop], True)]
        at = stop
    parts.append((text[at:end], False))
    if end < len(text):
        parts.append(("…", False))
    lines = ((re.sub(r"\s+", " ", piece), marked) for piece, marked in parts)
    return tuple((piece, marked) for piece, marked in lines if piece)


def _fold_with_places(text: str) -> tuple[str, list[int]]:
    """The folded text, and where each of its letters, and its end, stands in the text."""
    if text.isascii():
        return text.lower(), list(range(len(text) + 1))
    letters: list[str] = []
    places: list[int] = []
    for place, letter in enumerate(text):
        plain = fold(letter)
        letters.append(plain)
        places += [place] * len(plain)
    return "".join(letters), [*places, len(text)]


def _find_spans(folded: str, terms: list[str]) -> list[tuple[int, int]]:
    """Where the terms stand, in the order of the text."""
    any_term = "|".join(map(re.escape, sorted(terms, key=len, reverse=True)))
    return [match.span() for match in re.finditer(any_term, folded)] if terms else []


def find_head(messages: list[dict[str, Any]], head_id: str | None, message_id: str) -> str | None:
    """Where the branch ends that has this message: the one shown, else the newest below it; None
    when there is no such message.

    `messages` have `id` and `parent_id`, and are in the order in which they were said.
    """
    parents = {message["id"]: message["parent_id"] for message in messages}
    if message_id not in parents:
        return None
    if message_id in _list_branch(parents, head_id):
        return head_id
    below, newest = {message_id}, message_id
    for one, parent in parents.items():
        if parent in below:
            below.add(one)
            newest = one
    return newest


def _list_branch(parents: dict[str, str | None], head_id: str | None) -> set[str]:
    """The messages that lead to this one, itself among them."""
    branch: set[str] = set()
    at = head_id
    while at in parents and at not in branch:
        branch.add(at)
        at = parents[at]
    return branch
