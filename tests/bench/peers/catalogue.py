"""Who is measured against whom, at what, and in which environment."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.bench.peers import data
from tests.bench.peers.worker import ADDED

_OPENAI = ("openai==1.58.1", "pydantic==2.10.6")


@dataclass(frozen=True)
class Side:
    """One library, as a module of `sides/` runs it."""

    name: str
    module: str
    arguments: tuple[str, ...] = ()
    environment: str = ""
    """Its folder; the project's own environment without one."""
    pins: tuple[str, ...] = ()
    gains: str = ""
    """What it does not do or does otherwise; told where it is faster."""


@dataclass(frozen=True)
class Task:
    """What is measured; the sides of the same name in several tasks share a process."""

    name: str
    """What the sides call it."""
    title: str
    about: str
    unit: str
    per_unit: float
    """Units in a second of a round: 1000 / 50 for milliseconds of each of 50."""
    ours: Side
    peers: tuple[Side, ...]
    rounds: int
    quality: str = ""
    """What the last column tells."""
    judge: Callable[[Path, Any, Any], str] | None = None
    """That column, of the data, a side's answer and ours."""
    beside: str = ""
    """What ours does beside that; told where a peer is faster."""


_SEARCHED = (
    "Ours looks whether the database has changed, leaves out near-duplicates, joins neighbours,"
    " and gives passages with their place and scores."
)
_STORE = Side("agentkit", "ours_store")
_CHAT = Side("agentkit", "chat", ("agentkit.autogen",))
_STORES = (
    Side(
        "Chroma",
        "chroma",
        environment="chroma",
        pins=("chromadb==1.5.9",),
        gains="it indexes the vectors and gives the texts of what is nearest.",
    ),
    Side(
        "LanceDB, no index",
        "lancedb",
        environment="lancedb",
        pins=("lancedb==0.40.0",),
        gains="it appends rows to a file and builds no index at all; a search compares with all,"
        " which takes longer the more there are.",
    ),
    Side(
        "Qdrant, local mode",
        "qdrant",
        environment="qdrant",
        pins=("qdrant-client==1.20.0",),
        gains="it builds no graph and compares with all, in memory.",
    ),
    Side(
        "FAISS, HNSW",
        "faiss",
        ("graph",),
        "faiss",
        ("faiss-cpu==1.15.1",),
        gains="it is the graph alone: numbers in memory, one file at the end. Texts, deleting,"
        " filters, several processes and what a crash leaves are its user's to write.",
    ),
    Side(
        "FAISS, flat",
        "faiss",
        ("flat",),
        "faiss",
        ("faiss-cpu==1.15.1",),
        gains="it copies the vectors and compares with all of them, on all processors; texts and"
        " what a crash leaves are its user's to write.",
    ),
)
_BM25S = Side(
    "bm25s",
    "bm25s",
    environment="bm25s",
    pins=("bm25s==0.3.16",),
    gains="all scores are computed when it is built, into one matrix in memory: to add or delete a"
    " text it is built anew. It knows no languages and no filters, and returns texts only.",
)
_EMBEDDERS = (
    Side(
        "sentence-transformers",
        "sentence_transformers",
        gains="on processors without bfloat16 both compute in float32.",
    ),
    Side(
        "fastembed",
        "fastembed",
        environment="fastembed",
        pins=("fastembed==0.9.1", "onnx==1.23.2"),
        gains="ONNX Runtime, and batches of 256 against our 16.",
    ),
)
_AUTOGENS = (
    Side("AutoGen 0.2", "chat", ("autogen",), "autogen", ("pyautogen==0.2.34", *_OPENAI)),
    Side("AG2", "chat", ("autogen",), "ag2", ("pyautogen==0.6.0", *_OPENAI)),
)


def tasks(chunks: int) -> tuple[tuple[Task, ...], ...]:
    """All tasks, with so many chunks to search; those of a group share processes."""
    searched = f"among {chunks:,} chunks of 384 dimensions, as `tests/bench/bench_index.py` makes"
    return (
        (
            Task(
                "embed",
                "Embedding texts",
                f"{data.PASSAGES} texts of eight sentences of the sample documents, all by the"
                " packaged all-MiniLM-L6-v2.",
                "ms a text",
                1000 / data.PASSAGES,
                Side("agentkit", "ours_embedder"),
                _EMBEDDERS,
                5,
                "least cosine with ours",
                data.least_cosine,
            ),
        ),
        (
            Task(
                "add",
                "Adding chunks to a store",
                f"{ADDED:,} chunks with their vectors into an empty store, until they are on the"
                " disk and one question is answered. Ours stores documents, texts, an index of"
                " words and one of vectors.",
                "s",
                1,
                _STORE,
                _STORES,
                3,
                beside="Ours keeps documents and texts in a database, and indexes words as well.",
            ),
            Task(
                "dense",
                "Searching by meaning",
                f"The ten nearest {searched} them, with their texts; the question's vector is"
                " given. Ours is `retrieve(mode='dense')`; Qdrant holds its chunks in memory.",
                "ms a question",
                1000 / data.ASKED,
                _STORE,
                _STORES,
                5,
                "recall@10",
                data.recall_at_ten,
                _SEARCHED,
            ),
            Task(
                "lexical",
                "Searching by words",
                f"Ten passages for questions of ten words {searched} them. Ours is"
                " `retrieve(mode='lexical')`.",
                "ms a question",
                1000 / data.ASKED,
                _STORE,
                (_BM25S,),
                5,
                "of our ten",
                data.shared_with_ours,
                _SEARCHED,
            ),
        ),
        tuple(
            Task(
                face,
                f"A chat of two agents, {face}",
                "2,000 messages of agents that answer each other with a fixed reply, without a"
                " model; ours is `agentkit.autogen`. AutoGen runs in a thread with a deep stack and"
                " a raised recursion limit, without which it ends near 400 messages.",
                "µs a message",
                1e6 / 2_000,
                _CHAT,
                _AUTOGENS,
                5,
                "messages",
                data.number_said,
            )
            for face in ("sync", "async")
        ),
    )
