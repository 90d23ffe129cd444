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
_TERMS = re.compile(r'"[^"]*"?|\S+')
_MARK = "[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]"
_MARKS = re.compile(f"{_MARK}+")
"""Accents, as they stand behind their letters in decomposed text."""


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
    """The text without capitals and accents, and with one small sigma, as it is compared."""
    if text.isascii():
        return text.lower()
    plain = _MARKS.sub("", unicodedata.normalize("NFD", text.lower()))
    return plain.replace("ς", "σ")


def read_terms(words: str) -> list[str]:
    """What each message has to have: words, and what stood in quotes; folded, each once."""
    found = _TERMS.findall(fold(words[:LONGEST]))
    terms = (" ".join(term.replace('"', " ").split()) for term in found)
    return list(dict.fromkeys(filter(None, terms)))


def has_terms(column: str, terms: list[str]) -> str:
    """The SQL condition that a folded column has all of them; its values are the terms."""
    return " and ".join(_has_term(column, term) for term in terms) or "true"


def _has_term(column: str, term: str) -> str:
    """What an older version or DuckDB has folded may have the sigma that ends words."""
    if "σ" in term:
        column = f"replace({column}, 'ς', 'σ')"
    return f"contains({column}, ?)"


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
    most = limit if chat_id else _OF_A_CHAT
    found = database.rows(
        f"""with found as (
            select m.id, m.chat_id, m.created_at from messages m
            where {has_terms(FOLDED_MESSAGE, terms)}),
        of_owner as (
            select f.*, c.title from found f join chats c on c.id = f.chat_id
            where c.owner = ? and c.deleted_at is null and (? = '' or c.id = ?)
            qualify row_number() over (
                partition by f.chat_id order by f.created_at desc, f.id) <= ?
            order by f.created_at desc, f.id limit ?)
        select o.title, m.* exclude (folded) from of_owner o join messages m on m.id = o.id
        order by m.created_at desc, m.id""",
        [*terms, owner, chat_id, chat_id, most, limit],
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
    apart, pattern = unicodedata.normalize("NFD", text), _make_pattern(terms)
    first = pattern.search(apart)
    begin = max(0, first.start() - _BEFORE) if first else 0
    pieces = pattern.split(_cut(apart, begin))  # every second is a term
    parts = [(_put_in_line(piece), number % 2 == 1) for number, piece in enumerate(pieces)]
    return tuple(part for part in parts if part[0])


def _make_pattern(terms: list[str]) -> re.Pattern[str]:
    """What finds each of the terms in decomposed text, where letters may have accents."""
    longest_first = sorted(terms, key=len, reverse=True)
    accented = (
        "".join(f"{re.escape(letter)}{_MARK}*" for letter in term) for term in longest_first
    )
    return re.compile(f"({'|'.join(accented)})", re.IGNORECASE)


def _cut(text: str, begin: int) -> str:
    end = begin + _LENGTH
    before = "…" if begin else ""
    after = "…" if end < len(text) else ""
    return f"{before}{text[begin:end]}{after}"


def _put_in_line(piece: str) -> str:
    return unicodedata.normalize("NFC", re.sub(r"\s+", " ", piece))


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
