"""Documents into a collection: read, cut, given ids, and put in beside or over what is there."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from agentkit.agents.retrieve_chat.chunks import split_files_to_chunks
from agentkit.agents.retrieve_chat.config import RetrieveConfig
from agentkit.agents.retrieve_chat.files import get_files_from_dir
from agentkit.core.given import coalesce

if TYPE_CHECKING:
    from agentkit.agents.retrieve_chat.vectordb.base import Document, VectorDB

_ID_LENGTH = 8
"""Of the digits of the hash, as in AutoGen, so that its collections are gone on with."""
_AT_ONCE = 500
Chunk = tuple[str, dict[str, str]]
"""A text, and its metadata."""


def fill(database: VectorDB, config: RetrieveConfig) -> None:
    """Put the documents of `docs_path` into the collection, which is made, emptied or taken as the
    settings say.

    They are read first: when that fails, the collection is as it was. Raises a DocumentError,
    WrongArgument (a ValueError) for a path that does not exist, and what the database raises, a
    ValueError when there is such a collection and it may not be.
    """
    chunks = _read_chunks(config)
    name: Any = config.collection_name
    database.create_collection(name, overwrite=config.overwrite, get_or_create=config.may_exist)
    try:
        give_ids = _number if config.vector_db is None else _hash_ids
        if documents := give_ids(database, config, chunks):
            database.insert_docs(documents, collection_name=name, upsert=True)
    except BaseException:
        if not config.may_exist and not config.overwrite:
            # It is new, and half of it would bar the way for the next try.
            database.delete_collection(name)
        raise


def _read_chunks(config: RetrieveConfig) -> list[Chunk]:
    files = get_files_from_dir(
        coalesce(config.docs_path, []), config.custom_text_types, config.recursive
    )
    split = config.custom_text_split_function
    texts, sources = split_files_to_chunks(
        files,
        config.chunk_tokens,
        config.chunk_mode.lower(),
        config.must_break_at_empty_line,
        split,
        count=config.count,
    )
    return list(zip(texts, sources, strict=True))


def _hash_ids(
    database: VectorDB, config: RetrieveConfig, chunks: Iterable[Chunk]
) -> list[Document]:
    """Documents whose ids are hashes of their content; with `new_docs` only those that are not
    there.
    """
    wanted = dict(reversed(list(chunks)))  # of equal ones the first
    hashes = {content: _hash(content) for content in reversed(wanted)}
    known = _find_known(database, config.collection_name, list(map(_shorten, hashes.values())))
    documents: list[Document] = []
    for content, digest in hashes.items():
        short = _shorten(digest)
        # Two contents may share so short an id: the second is known by its whole hash.
        id_ = short
        if known.get(short, content) != content:
            id_ = digest
        if id_ not in known or not config.new_docs:
            documents.append({"id": id_, "content": content, "metadata": wanted[content]})
        known[id_] = content
    return documents


def _shorten(digest: str) -> str:
    return digest[:_ID_LENGTH]


def _find_known(database: VectorDB, name: str | None, ids: list[str]) -> dict[str, str]:
    """Those of the ids that are there, and their contents."""
    found: dict[str, str] = {}
    for start in range(0, len(ids), _AT_ONCE):
        some = ids[start : start + _AT_ONCE]
        there = database.get_docs_by_ids(list(some), collection_name=name)
        found.update({str(one["id"]): one["content"] for one in coalesce(there, [])})
    return found


def _number(database: VectorDB, config: RetrieveConfig, chunks: Iterable[Chunk]) -> list[Document]:
    """Documents with numbers for ids, as AutoGen gave them with `client`; `extra_docs` goes on
    behind those that are there.
    """
    first = 0
    if config.extra_docs:
        first = len(database.get_docs_by_ids(None, collection_name=config.collection_name))
    return [
        {"id": f"doc_{number}", "content": content, "metadata": source}
        for number, (content, source) in enumerate(chunks, first)
    ]


def _hash(content: str) -> str:
    return hashlib.blake2b(content.encode("utf-8", "surrogatepass")).hexdigest()
