"""What may go into a vector database: names, ids, contents and metadata that every one of them can
hold.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from agentkit.agents.retrieve_chat.vectordb.base import Document
from agentkit.errors import WrongArgument, WrongType

_LONGEST_NAME = 120
_MOST_INTEGER = 2**63
_SHOWN = 5


def checked_name(name: Any) -> str:
    """The name of a collection; raises WrongArgument."""
    if (
        not isinstance(name, str)
        or not name.strip()
        or len(name) > _LONGEST_NAME
        or not name.isprintable()
    ):
        raise WrongArgument(
            f"{name!r} cannot be the name of a collection; use 1 to {_LONGEST_NAME} printable"
            " characters."
        )
    return name


def checked_id(doc: Any) -> str:
    """The document's id as text; raises WrongArgument and WrongType."""
    if not isinstance(doc, Mapping):
        raise WrongType(f"A document is a dict with id and content, not {doc!r}.")
    if doc.get("id") is None:
        raise WrongArgument(f"The document id is required; it is missing in {dict(doc)!r:.120}.")
    return id_texts([doc["id"]])[0]


def checked(doc: Any) -> Document:
    """The document in its own copy, with texts that every database can hold; raises WrongArgument
    and WrongType.
    """
    number = checked_id(doc)
    if doc.get("content") is None:
        raise WrongArgument(
            f"The document content is required; it is missing in document {number!r}."
        )
    if not isinstance(doc["content"], str):
        raise WrongArgument(
            f"The content of document {number!r} must be a text, not {doc['content']!r:.120}."
        )
    metadata = doc.get("metadata")
    if metadata is not None:
        if not isinstance(metadata, Mapping):
            raise WrongArgument(
                f"The metadata of document {number!r} must be a dict, not {metadata!r:.120}."
            )
        for key, value in metadata.items():
            if not isinstance(key, str) or not key or not _storable(value):
                raise WrongArgument(
                    f"Metadata {key!r}: {value!r:.80} of document {number!r} cannot be stored; "
                    "keys are texts, values are texts, booleans, 64-bit integers or finite numbers."
                )
        metadata = {_utf8(key): _utf8(value) for key, value in metadata.items()}
    return Document(
        id=number, content=_utf8(doc["content"]), metadata=metadata, embedding=doc.get("embedding")
    )


def _storable(value: Any) -> bool:
    if isinstance(value, float):
        return value - value == 0  # neither NaN nor infinite
    if isinstance(value, int):
        return -_MOST_INTEGER <= value < _MOST_INTEGER
    return isinstance(value, str)


def _utf8(value: Any) -> Any:
    """Half surrogate pairs as `?` and NUL as the replacement character: not every database can hold
    them.
    """
    return (
        value.encode("utf-8", "replace").decode("utf-8").replace("\0", "\ufffd")
        if isinstance(value, str)
        else value
    )


def id_texts(ids: Any) -> list[str]:
    """The ids as texts; raises WrongArgument."""
    if isinstance(ids, str):
        raise WrongArgument(f"ids must be a list, not the text {ids!r}; put it into a list.")
    for one in ids:
        if not isinstance(one, str | int) or isinstance(one, bool) or one == "":
            raise WrongArgument(f"A document id must be a text or an integer, not {one!r}.")
    return [_utf8(str(one)) for one in ids]


def duplicates(docs: Sequence[Document]) -> str:
    """The ids that several of the documents have."""
    counts = Counter(checked_id(doc) for doc in docs)
    return shown([one for one, count in counts.items() if count > 1])


def shown(ids: Sequence[str]) -> str:
    """The first ids, and how many more there are."""
    return ", ".join(ids[:_SHOWN]) + (
        f" and {len(ids) - _SHOWN:,} more" if len(ids) > _SHOWN else ""
    )
