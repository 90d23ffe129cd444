"""The example "Asking documents" of docs/agents.md: what the model server is asked, and what comes
out, sync and async.
"""

from __future__ import annotations

import pytest

from agentkit.agents.retrieve_chat.vectordb import default_embedding_function
from agentkit.core import bus
from agentkit.events import Event, Retrieved
from tests.examples.page import blocks, one_after_the_other, roles, run
from tests.servers.openai_server import Answer, OpenAIServer


@pytest.fixture(scope="module", autouse=True)
def _model_is_loaded() -> None:
    """Loading takes long on a busy machine, and is not what is looked at here."""
    default_embedding_function()(["warm"])


@pytest.mark.parametrize("as_coroutine", [False, True], ids=["sync", "async"])
def test_asking_documents(as_coroutine: bool) -> None:
    heard: list[Event] = []
    script = one_after_the_other(Answer("UPDATE CONTEXT"), Answer("From Ethiopia."))
    with OpenAIServer(script) as server, bus.listening(heard.append):
        names = run(blocks()["Asking documents"], server, as_coroutine=as_coroutine)
    first, second = (body["messages"][-1]["content"] for body in server.chats)
    assert "Coffee comes from Ethiopia." in first
    assert "Green tea" not in first
    assert "Green tea is grown in China and Japan." in second
    assert "Where does coffee come from?" in second
    assert [roles(body) for body in server.chats] == [["system", "user"]] * 2, (
        "the conversation begins anew"
    )
    assert names["result"].summary == "From Ethiopia."
    assert names["result"].stop_reason == "assistant sent a termination message"
    assert [len(event.hits) for event in heard if isinstance(event, Retrieved)] == [1, 2]
