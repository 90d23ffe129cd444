"""What reasoning models think: told apart from the answer, counted, and never sent again."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentkit.agents import AssistantAgent, UserProxyAgent
from agentkit.core import bus
from agentkit.errors import BadModelReply
from agentkit.event_json import from_json, to_json
from agentkit.events import Event, ModelReplied, ThinkingDelta, TokenDelta
from agentkit.llm.calls.client import call
from agentkit.llm.calls.openai_client import OpenAIClient
from agentkit.llm.calls.scripted import scripted_model
from agentkit.llm.calls.thinking import Part, Splitter, split_thinking
from agentkit.llm.compatible.wrapper import OpenAIWrapper
from agentkit.llm.model import Model, Reply
from agentkit.messages import message
from tests.servers.openai_server import Answer, OpenAIServer

THOUGHT = "Six times seven, TERMINATE [1]."
FORTY_TWO = "It is 42."
Delta = dict[str, Any]


@pytest.fixture(scope="module")
def running() -> Iterator[OpenAIServer]:
    with OpenAIServer() as started:
        yield started


@pytest.fixture
def server(running: OpenAIServer) -> OpenAIServer:
    running.requests.clear()
    running.script = lambda body: Answer(FORTY_TWO)
    return running


def _model(server: OpenAIServer, name: str = "test-model") -> Model:
    return Model("m", "M", OpenAIClient(server.base_url), name, "here")


def _sent(*deltas: Delta, usage: dict[str, Any] | None = None, finish: str = "stop") -> Answer:
    """A stream of these pieces."""
    events: list[dict[str, Any]] = [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    events.append({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    if usage:
        events.append({"choices": [], "usage": usage})
    said = [f"data: {json.dumps({'model': 'test-model', **event})}\n\n" for event in events]
    return Answer(body="".join(said) + "data: [DONE]\n\n")


def _whole(message: dict[str, Any], usage: dict[str, Any] | None = None) -> Answer:
    made = {"model": "test-model", "choices": [{"index": 0, "message": message}]}
    return Answer(body=json.dumps(made | ({"usage": usage} if usage else {})))


def _asked(
    server: OpenAIServer, answer: Answer, *, stream: bool = True
) -> tuple[Reply, list[Event]]:
    server.script = lambda body: answer
    heard: list[Event] = []
    with bus.listening(heard.append):
        reply = call(_model(server), [message("user", "What is 6 x 7?")], agent="A", stream=stream)
    return reply, heard


def _shown(heard: list[Event]) -> tuple[str, str]:
    """What somebody who looks on sees at the end: thinking and text."""
    thinking = text = ""
    for event in heard:
        if isinstance(event, ThinkingDelta):
            thinking, text = (text, "") if event.was_text else (thinking + event.text, text)
        elif isinstance(event, TokenDelta):
            text += event.text
    return thinking.strip(), text


STREAMS: dict[str, list[Delta]] = {
    "DeepSeek": [
        {"reasoning_content": "Six times ", "content": None},
        {"reasoning_content": "seven, TERMINATE [1]."},
        {"content": "It is "},
        {"content": "42.", "reasoning_content": None},
    ],
    "vLLM": [
        {"reasoning": "Six times ", "reasoning_content": "Six times "},
        {"reasoning": "seven, TERMINATE [1]."},
        {"content": FORTY_TWO},
    ],
    "Ollama": [{"role": "assistant", "content": "", "reasoning": THOUGHT}, {"content": FORTY_TWO}],
    "OpenRouter": [
        {"content": "", "reasoning_details": [{"type": "reasoning.text", "text": THOUGHT}]},
        {"content": FORTY_TWO, "reasoning_details": []},
    ],
    "Mistral": [
        {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": THOUGHT}]}]},
        {"content": [{"type": "text", "text": FORTY_TWO}]},
    ],
    "tags": [{"content": f"<think>\n{THOUGHT}\n</think>\n\n{FORTY_TWO}"}],
    "split tags": [
        {"content": piece}
        for piece in [
            "\n<th",
            "ink",
            ">",
            "Six times ",
            "seven, TERMINATE [1].",
            "</",
            "thin",
            "k>\n",
            "\nIt is 42.",
        ]
    ],
    "only the closing tag": [
        {"content": piece}
        for piece in ["Six times ", "seven, TERMINATE [1].\n</thi", "nk>", "\n\nIt is", " 42."]
    ],
}


@pytest.mark.parametrize("deltas", STREAMS.values(), ids=STREAMS)
def test_thinking_is_no_part_of_a_streamed_answer(
    server: OpenAIServer, deltas: list[Delta]
) -> None:
    reply, heard = _asked(server, _sent(*deltas))
    assert (reply.text, reply.message) == (FORTY_TWO, {"role": "assistant", "content": FORTY_TWO})
    assert reply.thinking is not None
    assert reply.thinking.text == THOUGHT
    assert reply.thinking.seconds is not None
    assert 0 <= reply.thinking.seconds <= reply.seconds
    assert _shown(heard) == (THOUGHT, FORTY_TWO)
    [replied] = [event for event in heard if isinstance(event, ModelReplied)]
    assert (replied.text, replied.thinking) == (FORTY_TWO, reply.thinking)
    assert from_json(json.loads(json.dumps(to_json(replied)))) == replied


@pytest.mark.parametrize(
    "said",
    [
        {"content": FORTY_TWO, "reasoning_content": THOUGHT},
        {"content": FORTY_TWO, "reasoning": THOUGHT},
        {"content": f"<think>{THOUGHT}</think>{FORTY_TWO}"},
        {"content": f"{THOUGHT}\n</think>\n\n{FORTY_TWO}"},
        {
            "content": [
                {"type": "thinking", "thinking": THOUGHT},
                {"type": "text", "text": FORTY_TWO},
            ]
        },
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_nor_of_an_answer_in_one_piece(
    server: OpenAIServer, said: dict[str, Any], stream: bool
) -> None:
    """Also where a stream was asked for."""
    answer = _whole(said)
    answer.headers["content-type"] = "application/json"
    reply, _ = _asked(server, answer, stream=stream)
    assert reply.text == FORTY_TWO
    assert reply.thinking is not None
    assert reply.thinking.text == THOUGHT
    assert (reply.thinking.seconds is None) == (not stream)


def test_it_lasts_until_the_answer_begins(server: OpenAIServer) -> None:
    """Not only until its last piece: then the model may still think without a word."""
    server.script = lambda body: Answer(FORTY_TWO, thinking="Six times", halt_after=2)
    server.go_on.clear()
    thought: list[str] = []

    def go_on(event: Event) -> None:
        if isinstance(event, ThinkingDelta):
            thought.append(event.text)
            if len(thought) == 2:
                threading.Timer(0.2, server.go_on.set).start()

    with bus.listening(go_on):
        reply = call(_model(server), [message("user", "What is 6 x 7?")])
    assert reply.thinking is not None
    assert reply.thinking.seconds is not None
    assert reply.thinking.seconds >= 0.2
    assert reply.first_token_s is not None
    assert reply.first_token_s >= reply.thinking.seconds


def test_its_tokens_are_the_servers_or_estimated(server: OpenAIServer) -> None:
    figures = {"prompt_tokens": 20, "completion_tokens": 60, "total_tokens": 80}
    said = {**figures, "completion_tokens_details": {"reasoning_tokens": 50}}
    deltas = STREAMS["DeepSeek"]
    told, _ = _asked(server, _sent(*deltas, usage=said))
    assert told.thinking is not None
    assert (told.usage.output, told.usage.reasoning) == (10, 50)
    assert (told.thinking.tokens, told.thinking.estimated) == (50, False)
    guessed, _ = _asked(server, _sent(*deltas, usage=figures))
    assert guessed.thinking is not None
    assert guessed.usage.completion == 60
    assert not guessed.usage.estimated
    assert 5 < guessed.usage.reasoning < 20
    assert (guessed.thinking.tokens, guessed.thinking.estimated) == (guessed.usage.reasoning, True)
    unsaid, _ = _asked(server, _sent(*deltas))
    assert unsaid.usage.estimated
    assert unsaid.usage.reasoning == guessed.usage.reasoning


def test_thinking_without_an_answer_says_so(server: OpenAIServer) -> None:
    with pytest.raises(BadModelReply, match="thought, but gave no answer; allow more tokens"):
        _asked(server, _sent({"content": f"<think>{THOUGHT}"}, finish="length"))


def test_tags_in_the_middle_are_words() -> None:
    for text in (
        "Qwen writes <think>first</think> and then answers.",
        "The sign is `</think>`.\nIt ends the thinking.",
        "```\n<think>\nx\n</think>\n```\nThat is how it looks.",
        "  A < B",
        "<thing>is no tag</thing>",
    ):
        assert split_thinking(text) == ("", text)


@given(
    st.lists(st.sampled_from(["<think>", "</think>", "\n", " ", "a b", "```\n", "</", "<"])),
    st.data(),
)
def test_it_does_not_matter_how_a_text_is_cut(parts: list[str], data: st.DataObject) -> None:
    text = "".join(parts)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)))))
    pieces = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    splitter = Splitter()
    heard = [part for piece in pieces for part in splitter.feed(piece)] + splitter.close()
    assert _put_together(heard) == split_thinking(text)


def _put_together(parts: list[Part]) -> tuple[str, str]:
    thinking = answer = ""
    for part in parts:
        if part.kind == "was_thinking":
            thinking, answer = answer, ""
        elif part.kind == "thinking":
            thinking += part.text
        else:
            answer += part.text
    return thinking.strip(), answer


@pytest.mark.parametrize("text", ["<think></think>" * 100_000, "a\n```\n" + "</think>\n" * 200_000])
def test_a_flood_of_tags_is_read_in_one_go(text: str) -> None:
    """Read by the square, this would take minutes."""
    thinking, answer = split_thinking(text)
    assert len(thinking) + len(answer) > len(text) // 2


def test_no_request_carries_what_was_thought_before(server: OpenAIServer) -> None:
    earlier: Any = {
        "role": "assistant",
        "content": "Yes.",
        "reasoning_content": "hm",
        "reasoning": "hm",
    }
    call(_model(server), [message("user", "Well?"), earlier, message("user", "Sure?")])
    assert server.chats[0]["messages"][1] == {"role": "assistant", "content": "Yes."}


def test_agents_keep_the_thinking_and_send_the_content(server: OpenAIServer) -> None:
    server.script = lambda body: _whole({"content": FORTY_TWO, "reasoning": THOUGHT})
    entry = {"model": "test-model", "base_url": server.base_url, "api_key": "none"}
    agent = AssistantAgent("Sage", llm_config={"config_list": [entry], "cache_seed": None})
    user = UserProxyAgent(
        "User", human_input_mode="NEVER", code_execution_config=False, max_consecutive_auto_reply=0
    )
    user.initiate_chat(agent, message="What is 6 x 7?")
    user.initiate_chat(agent, message="Sure?", clear_history=False)
    own = [each for each in agent.chat_messages[user] if each["role"] == "assistant"]
    assert [(each["content"], each["reasoning_content"]) for each in own] == [
        (FORTY_TWO, THOUGHT)
    ] * 2
    assert "Six" not in str(user.chat_messages[agent])
    assert [each["content"] for each in server.chats[1]["messages"][1:]] == [
        "What is 6 x 7?",
        FORTY_TWO,
        "Sure?",
    ]
    assert "Six" not in str(server.chats[1])


def test_a_response_of_the_wrapper_has_both(server: OpenAIServer) -> None:
    server.script = lambda body: _whole({"content": f"<think>{THOUGHT}</think>{FORTY_TWO}"})
    wrapper = OpenAIWrapper(
        model="test-model", base_url=server.base_url, api_key="none", cache_seed=None
    )
    response = wrapper.create(messages=[message("user", "What is 6 x 7?")])
    said = response.choices[0].message
    assert (said.content, said.reasoning_content) == (FORTY_TWO, THOUGHT)
    assert wrapper.extract_text_or_completion_object(response) == [FORTY_TWO]


def test_scripts_can_think() -> None:
    reply = call(
        scripted_model([{"content": FORTY_TWO, "reasoning_content": THOUGHT}]),
        [message("user", "?")],
    )
    assert reply.thinking is not None
    assert (reply.thinking.text, reply.text) == (THOUGHT, FORTY_TWO)
