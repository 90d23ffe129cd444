"""What the tests of the retrieval agents share: proxies over our database with vectors of words,
and their prompts.
"""

from __future__ import annotations

import zlib
from typing import Any

from agentkit import RetrieveAssistantAgent, RetrieveUserProxyAgent
from agentkit.agents.retrieve_chat.vectordb import DuckDBVectorDB
from agentkit.llm.calls.scripted import scripted_model

PROMPT = "Q {input_question} C {input_context}"
DIMENSION = 512


def embed(texts: list[str]) -> list[list[float]]:
    """Vectors that are nearer the more words two texts share."""
    return [_vector(text) for text in texts]


def _vector(text: str) -> list[float]:
    vector = [0.01] + [0.0] * (DIMENSION - 1)
    for word in text.lower().split():
        vector[1 + zlib.crc32(word.strip(".,?!").encode()) % (DIMENSION - 1)] += 1.0
    return vector


def words(text: str, model: str) -> int:
    """The number of words, as a count of tokens."""
    return len(text.split())


def database(*contents: str, name: str = "autogen-docs") -> DuckDBVectorDB:
    """A database in memory whose collection holds these texts."""
    made = DuckDBVectorDB(embedding_function=embed)
    if contents:
        made.create_collection(name)
        made.insert_docs(
            [
                {"id": str(n), "content": text, "metadata": {"source": f"s{n}"}}
                for n, text in enumerate(contents, 1)
            ],
            name,
        )
    return made


def proxy(
    *contents: str, kind: type[RetrieveUserProxyAgent] = RetrieveUserProxyAgent, **config: Any
) -> RetrieveUserProxyAgent:
    """A proxy that asks nobody, counts words and has a short prompt."""
    chosen = {
        "vector_db": database(*contents),
        "custom_token_count_function": words,
        "customized_prompt": PROMPT,
        **config,
    }
    return kind("rag", "NEVER", code_execution_config=False, retrieve_config=chosen)


def assistant(*replies: Any) -> RetrieveAssistantAgent:
    """An assistant whose model says this."""
    config = {"config_list": [{"model": scripted_model(list(replies))}], "cache_seed": None}
    return RetrieveAssistantAgent("assistant", "You help.", config)
