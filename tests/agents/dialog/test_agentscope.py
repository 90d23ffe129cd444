"""What AgentScope's scripts begin with and what they do with models: init, wrappers of their own,
streams, people.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import agentkit.agentscope as agentscope
from agentkit import runs
from agentkit.agents.dialog import wrappers
from agentkit.agentscope import (
    AgentBase,
    DialogAgent,
    ModelResponse,
    ModelWrapperBase,
    Msg,
    UserAgent,
)
from agentkit.core import bus
from agentkit.core.io import IOStream
from agentkit.errors import AgentkitError, BadModelReply, ConfigError, WrongArgument, WrongType
from agentkit.events import Event, HumanInputRequested, MessageSent
from tests.agents.dialog.cast import says
from tests.conversation.cast import Console
from tests.servers.openai_server import Answer, OpenAIServer

X = Msg("user", "hi", "user")


# init


def test_init_takes_all_arguments_of_agentscope_and_gives_the_agents(tmp_path: Path) -> None:
    configs = [
        {
            "class": "DialogAgent",
            "args": {"name": "Ann", "sys_prompt": "You are Ann.", "model_config_name": "mine"},
        },
        {"class": "UserAgent", "args": {"name": "Me"}},
    ]
    model = {
        "config_name": "mine",
        "model_type": "openai_chat",
        "model_name": "gpt-4o",
        "api_key": "k",
    }
    ann, me = agentscope.init(
        model_configs=[model],
        project="A project",
        name="main",
        disable_saving=True,
        save_dir="./runs",
        save_log=False,
        save_code=False,
        save_api_invoke=True,
        cache_dir=str(tmp_path),
        use_monitor=False,
        logger_level="DEBUG",
        runtime_id="1",
        agent_configs=configs,
        studio_url=None,
    )
    assert (ann.name, ann.sys_prompt, type(me)) == ("Ann", "You are Ann.", UserAgent)
    file = tmp_path / "agents.json"
    file.write_text(json.dumps(configs), "utf-8")
    assert [agent.name for agent in agentscope.init(agent_configs=str(file))] == ["Ann", "Me"]
    assert agentscope.init([model]) == []


@pytest.mark.parametrize(
    "asked", [{"studio_url": "http://127.0.0.1:5000"}, {"save_api_invoke": True}]
)
def test_what_has_no_effect_though_it_was_asked_for_is_told(asked: dict[str, Any]) -> None:
    with pytest.warns(UserWarning, match="has no effect here"):
        agentscope.init(**asked)


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"class": "Other", "args": {}}, r"no agent class 'Other'; known are .*DialogAgent"),
        ({"class": "UserAgent", "args": {"nam": "x"}}, r"args of the UserAgent.*nam"),
        ("x", "dict with class and args"),
    ],
)
def test_a_configuration_that_makes_no_agent_is_told(config: Any, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        agentscope.init(agent_configs=[config])


def test_name_and_role_can_be_set() -> None:
    config, client = says(["Hello."])
    agent = DialogAgent("Ann", "You are Ann.", llm_config=config)
    agent.name, agent.sys_prompt = "Bea", "You are Bea."
    assert agent(X).name == "Bea"
    assert client.requests[0]["messages"][0]["content"] == "You are Bea."
    with pytest.raises(WrongArgument):
        agent.name = ""


# Models of one's own


@pytest.fixture(autouse=True)
def _known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wrappers, "_registered", {})


class Parrot(ModelWrapperBase):
    """As the tutorial has it: a format of its own, and an answer from it."""

    model_type = "parrot"

    def __init__(self, config_name: str, model_name: str, mark: str = "", **kwargs: Any) -> None:
        super().__init__(config_name=config_name, model_name=model_name)
        self.mark = mark

    def format(self, *args: Msg | Sequence[Msg] | None) -> str:
        return "|".join(
            f"{message['role']}={message['content']}" for message in super().format(*args)
        )

    def __call__(self, prompt: str, **kwargs: Any) -> ModelResponse:
        return ModelResponse(text=f"{prompt}{self.mark}")


class Talker(ModelWrapperBase):
    """One that streams."""

    model_type = "talker"

    def __call__(self, messages: list[dict[str, Any]], **kwargs: Any) -> ModelResponse:
        return ModelResponse(stream=iter(["Good", "Good day", "Good day to you."]))


def test_a_wrapper_class_of_a_script_is_asked_as_it_wants() -> None:
    agentscope.register_model_wrapper_class(Parrot)
    agentscope.init({"config_name": "p", "model_type": "parrot", "model_name": "grey", "mark": "!"})
    agent = DialogAgent("Ann", "You are Ann.", "p")
    assert agent(X).content == "system=You are Ann.|user=hi!"


def test_a_wrapper_that_streams_is_heard_word_by_word() -> None:
    agentscope.register_model_wrapper_class(Talker)
    agentscope.init({"config_name": "t", "model_type": "talker", "model_name": "x", "stream": True})
    model = DialogAgent("Ann", "You are Ann.", "t").model
    assert model is not None
    assert list(model("hi").stream or ()) == [
        (False, "Good"),
        (False, "Good day"),
        (True, "Good day to you."),
    ]


def test_wrapper_classes_are_checked_as_in_agentscope() -> None:
    class Other(Parrot):
        pass

    class Nameless(ModelWrapperBase):
        def __call__(self) -> ModelResponse:
            return "text"  # type: ignore[return-value]

    agentscope.register_model_wrapper_class(Parrot)
    agentscope.register_model_wrapper_class(Parrot)  # the same once more, as in a notebook
    with pytest.raises(WrongArgument, match="exist_ok"):
        agentscope.register_model_wrapper_class(Other)
    agentscope.register_model_wrapper_class(Other, exist_ok=True)
    with pytest.raises(WrongArgument, match="model_type"):
        agentscope.register_model_wrapper_class(Nameless)
    with pytest.raises(WrongType):
        agentscope.register_model_wrapper_class(dict)  # type: ignore[arg-type]
    agentscope.init({"config_name": "s", "model_type": "talker", "model_name": "x"})
    with pytest.raises(ConfigError, match="register_model_wrapper_class"):
        DialogAgent("a", "You are a.", "s")
    with pytest.raises(WrongArgument, match="model_name"):
        Talker("c")


def test_a_wrapper_that_gives_no_response_is_told() -> None:
    class Mute(ModelWrapperBase):
        model_type = "mute"

        def __call__(self, messages: Any) -> ModelResponse:
            return "text"  # type: ignore[return-value]

    agentscope.register_model_wrapper_class(Mute)
    agentscope.init({"config_name": "m", "model_type": "mute", "model_name": "x"})
    with pytest.raises(BadModelReply, match="Mute gave 'text'"):
        DialogAgent("Ann", "You are Ann.", "m")(X)


# Streams


class Speaker(AgentBase):
    """Speaks while its model streams, as AgentScope's tutorial shows it."""

    def reply(self, x: Msg | Sequence[Msg] | None = None) -> Msg:
        assert self.memory is not None
        assert self.model is not None
        self.memory.add(x)
        response = self.model(self.model.format(self.memory.get_memory()))
        self.speak(response.stream or response.text)
        return Msg(self.name, response.text, "assistant")


@pytest.fixture
def streaming() -> Iterator[OpenAIServer]:
    with OpenAIServer(lambda body: Answer("Good day to you.")) as server:
        args = {"base_url": server.base_url}
        agentscope.init(
            {
                "config_name": "s",
                "model_type": "openai_chat",
                "api_key": "k",
                "client_args": args,
                "stream": True,
            }
        )
        yield server


def test_an_agent_that_speaks_a_stream_is_heard(streaming: OpenAIServer) -> None:
    console, heard = Console(), list[Event]()
    with IOStream.set_default(console), bus.listening(heard.append):
        said = Speaker("Ann", model_config_name="s")(X)
    assert said.content == "Good day to you."
    assert len(streaming.chats) == 1
    assert streaming.chats[0]["stream"] is True
    assert console.text.count("Good day to you.") == 1
    assert "Ann (to everyone):" in console.text
    assert [event.content for event in heard if isinstance(event, MessageSent)] == [
        "Good day to you."
    ]


def test_a_stream_gives_the_text_so_far_and_whether_it_is_the_last(streaming: OpenAIServer) -> None:
    model = Speaker("Ann", model_config_name="s").model
    assert model is not None
    response = model("hi")
    assert list(response.stream or ()) == [
        (False, "Good"),
        (False, "Good day"),
        (False, "Good day to"),
        (True, "Good day to you."),
    ]
    assert response.text == "Good day to you."
    assert model("hi").text == "Good day to you."
    assert model("hi", stream=False).stream is None
    assert asyncio.run(model.a_call("hi")).text == "Good day to you."


def test_a_call_may_ask_for_a_stream_and_for_other_parameters() -> None:
    config, client = says(["Good day."])
    model = Speaker("Ann", llm_config=config).model
    assert model is not None
    assert list(model("hi", stream=True, temperature=0.5).stream or ())[-1] == (True, "Good day.")
    assert (client.requests[0]["stream"], client.requests[0]["temperature"]) == (True, 0.5)


def test_what_fails_in_a_stream_is_raised_where_it_is_read(streaming: OpenAIServer) -> None:
    streaming.script = lambda body: Answer(status=400, error={"message": "no such thing"})
    model = Speaker("Ann", model_config_name="s").model
    assert model is not None
    response = model("hi")
    with pytest.raises(AgentkitError, match="no such thing"):
        list(response.stream or ())


def test_a_stream_that_nobody_reads_on_is_ended(streaming: OpenAIServer) -> None:
    streaming.script = lambda body: Answer("word " * 1000, halt_after=3)
    model = Speaker("Ann", model_config_name="s").model
    assert model is not None
    stream = model("hi").stream
    assert stream is not None
    assert next(stream) == (False, "word")
    stream.close()  # type: ignore[attr-defined]
    assert streaming.broken_off.wait(60)


def test_nothing_is_said_of_nothing() -> None:
    console = Console()
    with IOStream.set_default(console):
        AgentBase("Ann").speak(None)
    assert console.text == ""


# People


class Away(Console):
    """Somebody who answers only when it is too late."""

    def __init__(self) -> None:
        super().__init__()
        self.back = threading.Event()

    def input(self, prompt: str = "", *, password: bool = False) -> str:
        self.back.wait(60)
        return "late"


@pytest.mark.parametrize("is_async", [False, True])
def test_a_person_has_so_long(is_async: bool) -> None:
    user, away = UserAgent("Me"), Away()

    def ask() -> Msg:
        said: Msg = asyncio.run(user.a_call(timeout=0.05)) if is_async else user(timeout=0.05)
        return said

    with (
        IOStream.set_default(away),
        pytest.raises(TimeoutError, match=r"Me was asked .*no answer in 0.05 s") as caught,
    ):
        ask()
    assert isinstance(caught.value, AgentkitError)
    away.back.set()


def test_a_person_who_answers_in_time_is_heard() -> None:
    with IOStream.set_default(Console("Yes.", "http://127.0.0.1/a.png")):
        said = UserAgent("Me", require_url=True)(timeout=60)
    assert said.get_text_content() == "Yes."
    assert said.content[1]["image_url"]["url"] == "http://127.0.0.1/a.png"


def test_a_question_of_a_run_is_withdrawn() -> None:
    def work() -> str:
        try:
            UserAgent("Me")(timeout=1)
        except TimeoutError:
            return "went on"
        return "answered"

    run = runs.start(work, kind="chat", owner="me")
    assert run.result() == "went on"
    assert run.waiting_for is None
    assert any(isinstance(recorded.event, HumanInputRequested) for recorded in run)
