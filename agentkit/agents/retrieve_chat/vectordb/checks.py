"""What may go into a vector database: names, ids, contents and metadata that every one of them can
hold.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from agentkit.agents.retrieve_chat.vectordb.base import Document
from agentkit.conversation.checks import is_whole_number
from agentkit.errors import WrongArgument, WrongType
from agentkit.messages import text_or_empty

_LONGEST_NAME = 120
_NAME = re.compile(rf"(?=.*\S).{{1,{_LONGEST_NAME}}}")
"""Not only spaces."""
_INTEGERS = range(-(2**63), 2**63)
_SHOWN = 5


def check_name(name: Any) -> str:
    """The name of a collection; raises WrongArgument."""
    text = text_or_empty(name)
    if not _NAME.fullmatch(text) or not text.isprintable():
        raise WrongArgument(
            f"{name!r} cannot be the name of a collection; use 1 to {_LONGEST_NAME} printable"
            " characters."
        )
    return text


def check_id(doc: Any) -> str:
    """The document's id as text; raises WrongArgument and WrongType."""
    if not isinstance(doc, Mapping):
        raise WrongType(f"A document is a dict with id and content, not {doc!r}.")
    if doc.get("id") is None:
        raise WrongArgument(f"The document id is required; it is missing in {dict(doc)!r:.120}.")
    return _read_id(doc["id"])


def check(doc: Any) -> Document:
    """The document in its own copy, with texts that every database can hold; raises WrongArgument
    and WrongType.
    """
    number = check_id(doc)
    content = doc.get("content")
    if content is None:
        raise WrongArgument(
            f"The document content is required; it is missing in document {number!r}."
        )
    if not isinstance(content, str):
        raise WrongArgument(
            f"The content of document {number!r} must be a text, not {content!r:.120}."
        )
    return Document(
        id=number,
        content=_to_utf8(content),
        metadata=_check_metadata(number, doc.get("metadata")),
        embedding=doc.get("embedding"),
    )


def _check_metadata(number: str, metadata: Any) -> dict[str, Any] | None:
    if metadata is None:
        return None
    if not isinstance(metadata, Mapping):
        raise WrongArgument(
            f"The metadata of document {number!r} must be a dict, not {metadata!r:.120}."
        )
    checked: dict[str, Any] = {}
    for key, value in metadata.items():
        if not text_or_empty(key) or not _can_be_stored(value):
            raise WrongArgument(
                f"Metadata {key!r}: {value!r:.80} of document {number!r} cannot be stored; "
                "keys are texts, values are texts, booleans, 64-bit integers or finite numbers."
            )
        checked[_to_utf8(key)] = _to_utf8(value)
    return checked


def _can_be_stored(value: Any) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, int):
        return value in _INTEGERS
    return isinstance(value, str)


def _to_utf8(value: Any) -> Any:
    """Half surrogate pairs as `?` and NUL as the replacement character: not every database can hold
    them.
    """
    if not isinstance(value, str):
        return value
    return value.encode("utf-8", "replace").decode("utf-8").replace("\0", "\ufffd")


def read_ids(ids: Any) -> list[str]:
    """The ids as texts; raises WrongArgument."""
    if isinstance(ids, str):
        raise WrongArgument(f"ids must be a list, not the text {ids!r}; put it into a list.")
    return list(map(_read_id, ids))


def _read_id(value: Any) -> str:
    if not is_whole_number(value) and not text_or_empty(value):
        raise WrongArgument(f"A document id must be a text or an integer, not {value!r}.")
    return str(_to_utf8(str(value)))


def list_duplicates(docs: Sequence[Document]) -> str:
    """The ids that several of the documents have."""
    ids = Counter(map(check_id, docs))
    return list_some(list(ids - Counter(set(ids))))


def list_some(ids: Sequence[str]) -> str:
    """The first ids, and how many more there are."""
    text = ", ".join(ids[:_SHOWN])
    more = len(ids[_SHOWN:])
    if not more:
        return text
    return f"{text} and {more:,} more"
