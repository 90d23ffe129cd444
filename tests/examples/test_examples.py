"""The five examples of docs/agents.md: what the model server is asked, and what comes out, sync and
async.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agentkit.coding import bubblewrap_works, docker_works
from agentkit.core import bus
from agentkit.errors import Stopped
from agentkit.events import (
    ChatEnded,
    CodeRan,
    Event,
    MessageSent,
    SpeakerSelected,
    TokenDelta,
    ToolReturned,
)
from tests.examples.page import blocks, one_after_the_other, roles, run, tool_call
from tests.servers.openai_server import Answer, OpenAIServer

EXAMPLES = blocks()
FACES = pytest.mark.parametrize("as_coroutine", [False, True], ids=["sync", "async"])
CONVERT = {
    "type": "function",
    "function": {
        "name": "convert",
        "description": "Convert US dollars into another currency.",
        "parameters": {
            "type": "object",
            "properties": {
                "amount": {"type": "number", "description": "US dollars"},
                "to": {"type": "string", "description": "Currency, such as EUR", "default": "EUR"},
            },
            "required": ["amount"],
        },
    },
}


def tools_script(body: dict[str, Any]) -> Answer:
    """Calls the tool twice, then reads the results."""
    results = [message["content"] for message in body["messages"] if message["role"] == "tool"]
    if not results:
        calls = [
            tool_call("convert", {"amount": 100}),
            tool_call("convert", {"amount": 100, "to": "GBP"}, "call_2"),
        ]
        return Answer(tool_calls=calls)
    return Answer(f"{results[0]} euros or {results[1]} pounds. TERMINATE")


@FACES
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_tools(as_coroutine: bool, stream: bool) -> None:
    code = EXAMPLES["Calling tools"]
    if stream:
        code = code.replace('"config_list": [', '"stream": True, "config_list": [')
    heard: list[Event] = []
    with OpenAIServer(tools_script) as server, bus.listening(heard.append):
        result = run(code, server, as_coroutine=as_coroutine)["result"]
    first, second = server.chats
    assert (first.get("stream"), second.get("stream")) == ((True, True) if stream else (None, None))
    assert first["tools"] == second["tools"] == [CONVERT]
    assert roles(first) == ["system", "user"]
    assert roles(second) == ["system", "user", "assistant", "tool", "tool"]
    assert second["messages"][1]["content"] == "How much is 100 US dollars in euros?"
    assert second["messages"][2]["tool_calls"] == tools_script(first).tool_calls, (
        "calls in pieces are put together"
    )
    assert [(each["tool_call_id"], each["content"]) for each in second["messages"][3:]] == [
        ("call_1", "92.0"),
        ("call_2", "79.0"),
    ]
    assert result.summary == "92.0 euros or 79.0 pounds. "
    assert result.stop_reason == "assistant sent a termination message"
    assert [event.ok for event in heard if isinstance(event, ToolReturned)] == [True, True]


class GroupScript:
    """Chooses writer and critic in turn, but answers the first question for a name with none."""

    def __init__(self) -> None:
        self.chosen = ["Hm.", "writer", "critic", "writer", "critic"]
        self.texts = {
            "writer": ["Tea for all.", "Tea, warmly."],
            "critic": ["Make it warmer.", "Good. TERMINATE"],
        }
        self.bodies: dict[str, list[dict[str, Any]]] = {"selection": [], "writer": [], "critic": []}

    def __call__(self, body: dict[str, Any]) -> Answer:
        system = body["messages"][0]["content"]
        who = (
            "writer"
            if system == "You write short texts."
            else "critic"
            if system.startswith("Name one")
            else "selection"
        )
        self.bodies[who].append(body)
        return Answer(self.chosen.pop(0) if who == "selection" else self.texts[who].pop(0))


@FACES
def test_group_chat(as_coroutine: bool) -> None:
    script, heard = GroupScript(), list[Event]()
    with OpenAIServer(script) as server, bus.listening(heard.append):
        names = run(EXAMPLES["A group chat"], server, as_coroutine=as_coroutine)
    said = [(message["name"], message["content"]) for message in names["group"].messages]
    assert said == [
        ("user", "Write a slogan for a tea shop."),
        ("writer", "Tea for all."),
        ("critic", "Make it warmer."),
        ("writer", "Tea, warmly."),
        ("critic", "Good. TERMINATE"),
    ]
    assert names["result"].stop_reason == "critic sent a termination message"
    assert [message["content"] for message in names["result"].chat_history] == [
        text for _, text in said
    ]

    selections = script.bodies["selection"]
    assert len(selections) == 5, (
        "one for each of four turns, and one more because the first answer named nobody"
    )
    told = selections[0]["messages"]
    assert told[0]["role"] == "system"
    assert "writer: Writes and improves the text." in told[0]["content"]
    assert "Write a slogan for a tea shop." in [message["content"] for message in told]
    again = selections[1]["messages"]
    assert again[-2]["content"] == "Hm."
    assert "none of the names" in again[-1]["content"]
    last_writer = script.bodies["writer"][-1]["messages"]
    assert [
        (message["role"], message.get("name"), message["content"]) for message in last_writer[1:]
    ] == [
        ("user", "user", "Write a slogan for a tea shop."),
        ("assistant", "writer", "Tea for all."),
        ("user", "critic", "Make it warmer."),
    ]
    floor = [event for event in heard if isinstance(event, SpeakerSelected)]
    assert [event.speaker for event in floor] == ["writer", "critic", "writer", "critic"]
    assert {event.method for event in floor} == {"auto"}
    assert "critic" not in floor[2].candidates, "who has just spoken may not go on"


@pytest.mark.parametrize(
    ("as_coroutine", "use_async"), [(False, False), (True, False), (True, True)]
)
def test_nested_chat(as_coroutine: bool, use_async: bool) -> None:
    def script(body: dict[str, Any]) -> Answer:
        asked = body["messages"]
        if asked[0]["content"].startswith("Say in one sentence"):
            return Answer("Name a country.")
        return Answer("Tea is drunk in China." if len(asked) > 2 else "Tea is drunk.")

    code, heard = EXAMPLES["A nested chat"], list[Event]()
    if use_async:
        code = code.replace('[{"recipient"', '[{"chat_id": 1, "recipient"').replace(
            "trigger=writer", "trigger=writer, use_async=True"
        )
    with OpenAIServer(script) as server, bus.listening(heard.append):
        result = run(code, server, as_coroutine=as_coroutine)["result"]
    draft, review, better = (body["messages"] for body in server.chats)
    assert draft[-1]["content"] == "Write one sentence about tea."
    assert [message["content"] for message in review] == [
        "Say in one sentence what to improve.",
        "Review this text:\n\nTea is drunk.",
    ]
    assert [(message["role"], message["content"]) for message in better[1:]] == [
        ("user", "Write one sentence about tea."),
        ("assistant", "Tea is drunk."),
        ("user", "Name a country."),
    ]
    assert result.summary == "Tea is drunk in China."
    assert result.stop_reason == "the limit of 2 turns was reached"
    assert [(event.sender, event.recipient) for event in heard if isinstance(event, ChatEnded)] == [
        ("user", "critic"),
        ("user", "writer"),
    ]


PROGRAM = """First the numbers:
```python
squares = [n * n for n in range(1, 11)]
open("squares.txt", "w").write("\\n".join(map(str, squares)))
print(sum(squares))
```"""


@FACES
@pytest.mark.skipif(
    not (bubblewrap_works() or docker_works()), reason="neither bubblewrap nor Docker works here"
)
def test_running_code(as_coroutine: bool, tmp_path: Path) -> None:
    heard: list[Event] = []
    script = one_after_the_other(
        Answer("```python\nprint(1 / 0)\n```"), Answer(PROGRAM), Answer("The sum is 385. TERMINATE")
    )
    with OpenAIServer(script) as server, bus.listening(heard.append):
        result = run(EXAMPLES["Running code"], server, as_coroutine=as_coroutine)["result"]
    _, failed, worked = (body["messages"][-1]["content"] for body in server.chats)
    assert failed.startswith("exitcode: 1 (execution failed)\nCode output: ")
    assert "ZeroDivisionError" in failed
    assert worked == "exitcode: 0 (execution succeeded)\nCode output: 385\n"
    assert result.summary == "The sum is 385. "
    assert (tmp_path / "results" / "squares.txt").read_text().split() == [
        str(n * n) for n in range(1, 11)
    ]
    ran = [(event.language, event.exit_code) for event in heard if isinstance(event, CodeRan)]
    assert ran == [("python", 1), ("python", 0)]


@FACES
def test_streaming(as_coroutine: bool, capsys: pytest.CaptureFixture[str]) -> None:
    heard: list[Event] = []
    with OpenAIServer(lambda _: Answer("Tea is a leaf of grief relief", halt_after=3)) as server:

        def watch(event: Event) -> None:
            heard.append(event)
            if sum(isinstance(one, TokenDelta) for one in heard) == 3:
                # the server sends the rest only when the first three pieces were heard
                server.go_on.set()

        with bus.listening(watch):
            names = run(EXAMPLES["Streaming"], server, as_coroutine=as_coroutine)
    assert server.chats[0]["stream"] is True
    assert names["pieces"] == ["Tea", " is", " a", " leaf", " of", " grief", " relief"]
    order = [
        type(event).__name__ for event in heard if isinstance(event, (TokenDelta, MessageSent))
    ]
    assert order == ["MessageSent", *["TokenDelta"] * 7, "MessageSent"]
    assert "7 pieces make up: Tea is a leaf of grief relief" in capsys.readouterr().out
    assert names["result"].summary == "Tea is a leaf of grief relief"


def test_a_stop_in_the_middle_of_a_stream_ends_the_chat_at_once() -> None:
    from agentkit.runs import start

    with OpenAIServer(lambda _: Answer("one two three four", halt_after=2)) as server:
        run_of_it = start(lambda: run(EXAMPLES["Streaming"], server), kind="chat")
        for recorded in run_of_it:
            if isinstance(recorded.event, TokenDelta) and recorded.event.text == " two":
                run_of_it.stop()
        with pytest.raises(Stopped):
            run_of_it.result()
        assert server.broken_off.wait(60), "the connection is cut, not read to its end"
