"""A chat of 100 questions about the sample documents stays under its limit, and what it cites stays
with its passage.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from agentkit import ConversableAgent, RetrieveAssistantAgent, RetrieveUserProxyAgent
from agentkit.agents.compressible import CompressibleAgent
from agentkit.agents.retrieve_chat import split_files_to_chunks
from agentkit.agents.retrieve_chat.vectordb import DuckDBVectorDB
from agentkit.conversation.compression import (
    Compression,
    Extraction,
    ModelSummary,
    SlidingWindow,
    ToolOutput,
)
from agentkit.conversation.compression.citing import find_cited, find_passages
from agentkit.conversation.compression.meter import Meter
from agentkit.core.io import IOStream, Quiet
from agentkit.events import Compressed
from agentkit.llm.calls.scripted import ScriptedClient, scripted_model
from agentkit.llm.model import Model
from agentkit.llm.offline.passages import Passage, format_passages, parse_passages
from tests.agents.retrieve_chat.desk import embed
from tests.bench.bench_compression import summarising
from tests.conversation.cast import hearing

SAMPLES = Path(__file__).parents[3] / "data" / "samples"
QUESTIONS = [
    each["question"]
    for each in json.loads(SAMPLES.with_name("sample-questions.json").read_text(encoding="utf-8"))
]
TURNS, LIMIT = 100, 4_000
RETURN = 2
"""Every so many questions somebody comes back to one of the first passages: what nobody speaks of
any more may be forgotten.
"""
PROMPT = "{input_question}\n{input_context}"
METER = Meter("scripted")
Params = Mapping[str, Any]


@pytest.fixture(scope="module")
def library() -> DuckDBVectorDB:
    """The passages of the sample documents, numbered."""
    texts, sources = split_files_to_chunks(
        [str(file) for file in sorted(SAMPLES.iterdir())], max_tokens=150
    )
    database = DuckDBVectorDB(embedding_function=embed)
    database.create_collection("samples")
    found = [
        Passage(number, Path(source["source"]).name, text)
        for number, (text, source) in enumerate(zip(texts, sources, strict=True), start=1)
    ]
    database.insert_docs(
        [{"id": str(one.marker), "content": format_passages([one])} for one in found], "samples"
    )
    return database


def answer(params: Params) -> str:
    """Cites the first passage of the question, and what the question itself names."""
    if str(params["messages"][0]["content"]).startswith("You shorten conversations."):
        return summarising(params)
    last = str(params["messages"][-1]["content"])
    named = sorted(find_cited([params["messages"][-1]]))
    (found, *_) = parse_passages(last)
    return f"{found.text.split('.')[0]} [{found.marker}]." + "".join(
        f" See also [{number}]." for number in named
    )


def retrieving(model: Model, *strategies: Any) -> ConversableAgent:
    made = RetrieveAssistantAgent(
        "assistant", "You help.", {"config_list": [{"model": model}], "cache_seed": None}
    )
    Compression(list(strategies), limit=LIMIT).add_to_agent(made)
    return made


def compressible(model: Model) -> ConversableAgent:
    config = {
        "mode": "COMPRESS",
        "trigger_count": int(0.7 * LIMIT),
        "leave_last_n": 4,
        "broadcast": False,
    }
    return CompressibleAgent(
        "assistant",
        "You help.",
        llm_config={"config_list": [{"model": model}], "cache_seed": None},
        compress_config=config,
    )


AGENTS: dict[str, Callable[[Model], ConversableAgent]] = {
    "extraction": lambda model: retrieving(model, ToolOutput(), Extraction()),
    "sliding window": lambda model: retrieving(model, SlidingWindow()),
    "summary by a model": lambda model: retrieving(model, SlidingWindow(ModelSummary())),
    "CompressibleAgent": compressible,
}


def talk(user: RetrieveUserProxyAgent, helper: ConversableAgent) -> int:
    """Ask; gives the number of the early passage that the questions come back to, one that the
    first question has not found.
    """
    early = 0
    for turn in range(TURNS):
        back = f" And what about [{early}]?" if early and turn % RETURN == 0 else ""
        problem = QUESTIONS[turn % len(QUESTIONS)] + back
        settings: dict[str, Any] = {
            "message": user.message_generator,
            "problem": problem,
            "n_results": 3,
            "silent": True,
        }
        user.initiate_chat(helper, clear_history=False, **settings)
        (first, *_), newest = helper.chat_messages[user], helper.chat_messages[user][-1]
        early = early or min(find_cited([newest]) - set(find_passages([first])), default=0)
    return early


@pytest.mark.parametrize("kind", list(AGENTS))
def test_a_hundred_questions(kind: str, library: DuckDBVectorDB) -> None:
    model = scripted_model(answer)
    helper = AGENTS[kind](model)
    config = {"vector_db": library, "collection_name": "samples", "customized_prompt": PROMPT}
    user = RetrieveUserProxyAgent(
        "user", "NEVER", code_execution_config=False, retrieve_config=config
    )
    with hearing() as events, IOStream.set_default(Quiet()):
        early = talk(user, helper)
    assert isinstance(model.client, ScriptedClient)
    requests = [
        each["messages"]
        for each in model.client.requests
        if each["messages"][0]["content"] == "You help."
    ]
    assert len(requests) == TURNS
    assert max(METER.count_fixed([], {}) + METER.count(each) for each in requests) <= LIMIT
    assert METER.count(user.chat_messages[helper]) > 10 * LIMIT, "there was something to shorten"
    told = [event for event in events if isinstance(event, Compressed)]
    assert len(told) > 5
    assert [event.error for event in told if not event.ok] == []
    assert len({each[1]["content"] for each in requests}) == 1, "the first message stays as it was"
    for messages in requests:
        assert find_cited(messages) <= set(find_passages(messages)), "what is cited is there"
    (newest,) = {find_passages(messages)[early].source for messages in requests[RETURN:]}
    assert newest == find_passages(user.chat_messages[helper])[early].source
    assert early not in find_passages([requests[-1][1]])
