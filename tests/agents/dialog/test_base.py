"""AgentBase, DialogAgent and the callable model: the call style, agents of one's own,
configurations by name.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import agentkit
from agentkit import ConversableAgent, DialogAgent, Msg, ResponseParsingError
from agentkit.agents.dialog import base, configs
from agentkit.agentscope import AgentBase, ModelResponse, init
from agentkit.core import stopping
from agentkit.errors import BadModelReply, ConfigError, Stopped
from agentkit.events import MessageSent
from tests.agents.dialog.cast import asked_last, hearing, says
from tests.conversation.cast import Console


class Echo(AgentBase):
    """An agent as AgentScope's scripts write them."""

    def reply(self, x: Msg | Sequence[Msg] | None = None) -> Msg:
        assert isinstance(x, Msg)
        return Msg(self.name, f"{x.content}!", "assistant")


@pytest.mark.parametrize("is_async", [False, True])
def test_a_reply_of_ones_own_counts_in_both_faces(is_async: bool) -> None:
    echo, listener = Echo("Echo"), AgentBase("Listener")
    echo.reset_audience([listener])
    x = Msg("user", "hi", "user")
    assert (asyncio.run(echo.a_call(x)) if is_async else echo(x)).content == "hi!"
    assert [message.content for message in listener.memory.get_memory()] == ["hi!"]  # type: ignore[union-attr]
    assert echo.model is None


class Counter(AgentBase):
    """Asks its model with a parse function, as in AgentScope."""

    def reply(self, x: Msg | Sequence[Msg] | None = None) -> Msg:
        assert self.memory is not None
        assert self.model is not None
        self.memory.add(x)
        prompt = self.model.format(
            Msg("system", self.sys_prompt, "system"),
            self.memory.get_memory(),
            "Reply with a number.",
        )
        found = self.model(
            prompt,
            parse_func=lambda response: ModelResponse(parsed=int(response.text or "")),
            max_retries=1,
        )
        return Msg(self.name, str(found.parsed + 1), "assistant")


def test_the_model_as_a_callable_asks_again_with_what_was_wrong() -> None:
    config, client = says(["many", "41"])
    assert (
        Counter("Cid", "You count.", llm_config=config)(Msg("user", "How many?", "user")).content
        == "42"
    )
    assert asked_last(client)[:2] == [
        ("system", "You count."),
        ("user", "How many?\n\nsystem: Reply with a number."),
    ]
    assert "invalid literal for int()" in asked_last(client)[3][1]


def test_the_model_as_a_callable_raises_or_has_a_fault_handler() -> None:
    agent = AgentBase("Ann", llm_config=says(lambda request: "many")[0])
    assert agent.model is not None
    with pytest.raises(ResponseParsingError, match="after 2 tries") as raised:
        agent.model(
            "How many?", parse_func=lambda response: int(response.text or ""), max_retries=1
        )
    assert raised.value.raw_response == "many"
    handled = agent.model(
        "How many?", lambda response: int(response.text or ""), lambda response: 7, 0
    )
    assert (handled.parsed, handled.text) == (7, "many")
    assert agent.model("How many?").text == "many"
    assert asyncio.run(agent.model.a_call("How many?")).text == "many"


def test_a_dialog_agent_remembers_what_was_said() -> None:
    config, client = says(["one", "two"])
    ann = DialogAgent("Ann", "You are Ann.", llm_config=config)
    with hearing():
        ann([Msg("user", "a", "user"), Msg("Bob", "b", "assistant")])
        ann()
    assert asked_last(client) == [
        ("system", "You are Ann."),
        ("user", "a\n\nBob: b"),
        ("assistant", "one"),
    ]


def test_without_memory_only_what_is_given_counts() -> None:
    config, client = says(["one", "two"])
    ann = DialogAgent("Ann", None, use_memory=False, llm_config=config)
    ann.observe(Msg("user", "unheard", "user"))
    with hearing():
        ann(Msg("user", "a", "user"))
        ann(Msg("user", "b", "user"))
    assert asked_last(client) == [("user", "b")]
    assert ann.memory is None


def test_pictures_are_handed_on() -> None:
    config, client = says(["a cat"])
    picture = Msg("user", "What is this?", "user", url="https://example.org/cat.png")
    with hearing():
        DialogAgent("Ann", None, llm_config=config)(picture)
    [asked] = client.requests[-1]["messages"]
    assert [part["type"] for part in asked["content"]] == ["text", "image_url"]


def test_a_stopped_run_asks_nobody() -> None:
    config, client = says(["one"])
    ending = stopping.StopSignal()
    ending.set()
    with stopping.stoppable(ending), pytest.raises(Stopped):
        DialogAgent("Ann", None, llm_config=config)(Msg("user", "a", "user"))
    assert client.requests == []


def test_an_empty_reply_is_an_error_and_is_not_remembered() -> None:
    ann = DialogAgent("Ann", None, llm_config=says([""])[0])
    with hearing(), pytest.raises(BadModelReply, match="Ann"):
        ann(Msg("user", "a", "user"))
    assert ann.memory is not None
    assert ann.memory.size() == 1


def test_tools_without_an_end_are_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "CALLS", 3)
    call = {"id": "1", "type": "function", "function": {"name": "again", "arguments": "{}"}}
    ann = DialogAgent(
        "Ann", None, llm_config=says(lambda request: {"content": None, "tool_calls": [call]})[0]
    )
    agentkit.register_function(
        lambda: "more", caller=ann, executor=ann, name="again", description="More."
    )
    with hearing(), pytest.raises(BadModelReply, match="still calls tools after 3 rounds"):
        ann(Msg("user", "a", "user"))


def test_speaking_is_shown_and_told_once() -> None:
    host, console = AgentBase("Host"), Console()
    said = Msg("Host", "Good morning.", "assistant")
    heard: list[Any] = []
    with agentkit.IOStream.set_default(console), agentkit.core.bus.listening(heard.append):
        host.speak("Night falls.")
        host.speak(said)
        host.speak(said)
    assert [event.content for event in heard if isinstance(event, MessageSent)] == [
        "Night falls.",
        "Good morning.",
    ]
    assert console.text.count("Good morning.") == 1


def test_it_is_a_conversable_agent() -> None:
    ann = DialogAgent("Ann", "You are Ann.", llm_config=says(["pong"])[0], description="Plays.")
    bob = ConversableAgent("Bob", human_input_mode="NEVER", llm_config=False)
    with hearing():
        result = bob.initiate_chat(ann, message="ping", max_turns=1)
    assert (result.summary, ann.description, ann.human_input_mode) == ("pong", "Plays.", "NEVER")


@pytest.fixture
def _no_configs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(configs, "_known", {})


@pytest.mark.usefixtures("_no_configs")
def test_models_by_the_name_of_their_configuration(tmp_path: Path) -> None:
    init(
        {
            "config_name": "mine",
            "model_type": "openai_chat",
            "model_name": "gpt-4o",
            "api_key": "k",
            "client_args": {"base_url": "http://localhost:1/v1"},
            "generate_args": {"temperature": 0},
        }
    )
    file = tmp_path / "models.json"
    file.write_text(
        json.dumps(
            [
                {
                    "config_name": "local",
                    "model_type": "ollama_chat",
                    "model_name": "qwen",
                    "host": "http://h:1",
                }
            ]
        )
    )
    init(model_configs=str(file))
    mine, local = (DialogAgent("a", "You are a.", name).llm_config for name in ("mine", "local"))
    assert mine == {
        "config_list": [{"model": "gpt-4o", "base_url": "http://localhost:1/v1", "api_key": "k"}],
        "cache_seed": None,
        "temperature": 0,
    }
    assert local["config_list"] == [  # type: ignore[index]
        {"model": "qwen", "base_url": "http://h:1/v1", "api_key": "ollama"}
    ]
    assert DialogAgent("a", "mine").llm_config == mine


@pytest.mark.usefixtures("_no_configs")
@pytest.mark.parametrize(
    ("config", "problem"),
    [
        ({"model_name": "x", "api_key": "secret"}, r"has: \['api_key', 'model_name'\]"),
        ("none.json", "holds no model configurations"),
        ([1], "this one is or has: int"),
    ],
)
def test_configurations_that_are_none(config: Any, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        init(config)
    assert configs._known == {}


@pytest.mark.usefixtures("_no_configs")
def test_a_configuration_of_another_kind_stops_nobody_who_does_not_use_it() -> None:
    init(
        [
            {"config_name": "x", "model_type": "magic"},
            {"config_name": "mine", "model_name": "gpt-4o", "api_key": "k"},
        ]
    )
    assert DialogAgent("a", "You are a.", "mine").llm_config
    with pytest.raises(
        ConfigError, match="'x' has the model_type 'magic'; known are openai_chat, ollama_chat"
    ):
        DialogAgent("a", "You are a.", "x")
    init({"config_name": "x", "model_name": "gpt-4o", "api_key": "k"})
    assert DialogAgent("a", "You are a.", "x").llm_config
