"""What a data folder holds, as its users find it: recorded when it is made, found again later."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from agentkit.ledger import queries
from agentkit.llm import connections
from agentkit.retrieval import Collection, Library
from agentkit.agents.retrieve_chat.vectordb import Document, DuckDBVectorDB
from agentkit.workspace import Workspace

OWNER = "ann"
QUERIES = ("How long is the Danube?", "warranty of the pump", "Schiffshebewerk")
VECTORS = "vectors.duckdb"


def contents(workspace: Workspace, heads: dict[str, list[str]]) -> dict[str, Any]:
    """Everything, as JSON values; `heads` has by chat the messages at which its branches end."""
    found = {
        "chats": {chat_id: _chat(workspace, chat_id, ends) for chat_id, ends in heads.items()},
        "runs": {run["id"]: _run(workspace, run) for run in _runs(workspace)},
        "calls": _calls(workspace),
        "collections": {
            one.name: _collection(workspace.library, one)
            for hidden in (False, True)
            for one in workspace.library.collections(OWNER, hidden)
        },
        "question_sets": _question_sets(workspace.library),
        "connections": _each(connections(workspace.settings)),
        "vectors": _vectors(workspace.settings.data / VECTORS),
    }
    return plain(found)


def plain(value: dict[str, Any]) -> dict[str, Any]:
    """The values as JSON keeps them."""
    kept: dict[str, Any] = json.loads(json.dumps(value, default=str))
    return kept


def _runs(workspace: Workspace) -> list[dict[str, Any]]:
    return queries.runs(workspace.ledger, OWNER, limit=1_000)


def _run(workspace: Workspace, run: dict[str, Any]) -> dict[str, Any]:
    told = queries.events(workspace.ledger, OWNER, run["id"])
    return {**run, "events": [{"seq": one.seq, "at": one.at, **_event(one.event)} for one in told]}


def _event(event: Any) -> dict[str, Any]:
    return {"kind": type(event).__name__, **dataclasses.asdict(event)}


def _chat(workspace: Workspace, chat_id: str, ends: list[str]) -> dict[str, Any]:
    chat = workspace.ledger.chat(OWNER, chat_id)
    branches = {head: workspace.ledger.thread(OWNER, chat_id, head) for head in ends}
    return {
        **dataclasses.asdict(chat),
        "shown": [one.id for one in workspace.ledger.thread(OWNER, chat_id)],
        "branches": {head: _each(said) for head, said in branches.items()},
    }


def _calls(workspace: Workspace) -> dict[str, Any]:
    frame = queries.calls(workspace.ledger, queries.CallFilter(OWNER)).astype(object)
    rows = frame.where(frame.notna(), None).to_dict("records")
    return {f"{row['id']} {row['attempt']}": row for row in rows}


def _collection(library: Library, collection: Collection) -> dict[str, Any]:
    name = collection.name
    return {
        **dataclasses.asdict(collection),
        "options": library.options(OWNER, name).to_dict(),
        "tags": library.tags(OWNER, name),
        "versions": _each(library.versions.listed(OWNER, name)),
        "documents": {
            one.name: _document(library, one.id) for one in library.documents(OWNER, name)
        },
        "best": {query: _best(library, name, query) for query in QUERIES},
    }


def _best(library: Library, name: str, query: str) -> str:
    """The document that fits best; which passages stand where is not the store's to promise."""
    return next((hit.document for hit in library.retrieve(OWNER, name, query)), "")


def _document(library: Library, document_id: str) -> dict[str, Any]:
    document = library.document(OWNER, document_id)
    original = library.original(OWNER, document_id).read_bytes()
    read = document.status == "indexed"
    return {
        **dataclasses.asdict(document),
        "original": hashlib.sha256(original).hexdigest(),
        "text": library.text(OWNER, document_id) if read else None,
        "sections": _each(library.reading(OWNER, document_id).sections) if read else [],
        "all_chunks": _each(library.chunks(OWNER, document_id, limit=1_000)),
    }


def _question_sets(library: Library) -> dict[str, Any]:
    return {
        one.name: {
            **dataclasses.asdict(one),
            "all_questions": _each(library.questions.questions(OWNER, one.id)),
            "history": _each(
                library.questions.measurement(OWNER, each.id)
                for each in library.questions.history(OWNER, one.id)
            ),
        }
        for one in library.questions.sets(OWNER)
    }


def _each(things: Iterable[Any]) -> list[dict[str, Any]]:
    return [dataclasses.asdict(one) for one in things]


def _vectors(file: Path) -> dict[str, Any]:
    with DuckDBVectorDB(path=file, embedding_function=measured) as database:
        near = database.retrieve_docs(["12345"], "notes", n_results=1)
        documents = database.get_docs_by_ids(None, "notes", include=["embeddings"])
    return {
        "documents": [{**one, "embedding": _numbers(one)} for one in documents],
        "nearest": near[0][0][0]["id"],
    }


def _numbers(document: Document) -> list[float]:
    return [float(number) for number in document.get("embedding") or ()]


def measured(texts: list[str]) -> list[list[float]]:
    """Vectors that say how long a text is."""
    return [[1.0, float(len(text)), float(text.count(" "))] for text in texts]
